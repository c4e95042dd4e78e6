//! Which filter an output gets.

use super::*;
use crate::rtk::dsl::select::By;

fn filter(id: &str, body: &str) -> String {
    format!(r#"{{"id": "{id}", "label": "x", "category": "generic", {body}}}"#)
}

fn chosen(
    set: &FilterSet,
    command: &str,
    class: &str,
    exit_code: Option<i32>,
    text: &str,
) -> Option<(String, By)> {
    let words: Vec<&str> = command.split_ascii_whitespace().collect();
    let out = Output { words: &words, exit_code, ..Output::new(text, Level::Standard) };
    set.choose(class, &out).map(|(entry, by)| (entry.def.id.clone(), by))
}

#[test]
fn project_before_user_toml_before_json_priority_then_id() {
    let file = |filters: &[String]| format!("[{}]", filters.join(","));
    let commands = r#""match": {"commands": ["^tool"]}"#;
    let user = file(&[filter("u-high", &format!(r#"{commands}, "priority": 100"#))]);
    let project = file(&[
        filter("b-low", &format!(r#"{commands}, "priority": 10"#)),
        filter("c-mid", commands),
        filter("a-mid", commands),
    ]);
    let toml = "schema_version = 1\n[filters.z-toml]\nmatch_command = '^tool'\n";
    let build = |with_toml: bool, without: &[&str]| {
        let mut builder = FilterSet::builder()
            .file(FilterSource::User, FilterFormat::Json, "u.json", user.as_bytes())
            .file(FilterSource::Project, FilterFormat::Json, "p.json", project.as_bytes());
        if with_toml {
            builder = builder.file(FilterSource::Project, FilterFormat::Toml, "p.toml", toml.as_bytes());
        }
        builder.without(without.iter().copied()).build().set
    };
    let first = |set: &FilterSet| chosen(set, "tool x", "unknown", None, "").map(|(id, _)| id);
    let all = build(true, &[]);
    assert_eq!(custom(&all), ["z-toml", "a-mid", "c-mid", "b-low", "u-high"]);
    for (set, expected) in [
        (all, Some("z-toml")),
        (build(false, &[]), Some("a-mid")),
        (build(true, &["z-toml", "a-mid"]), Some("c-mid")),
        (build(true, &["z-toml", "a-mid", "c-mid", "b-low"]), Some("u-high")),
        (build(true, &["z-toml", "a-mid", "c-mid", "b-low", "u-high"]), None),
    ] {
        assert_eq!(first(&set).as_deref(), expected);
    }
}

#[test]
fn command_then_class_then_text() {
    let text = format!(
        "[{},{},{}]",
        filter("by-text", r#""match": {"patterns": ["^alpha", "^omega$"]}, "priority": 90"#),
        filter("by-class", r#""match": {"outputTypes": ["tool-run"]}, "priority": 80"#),
        filter(
            "by-command",
            r#""match": {"commands": ["^tool run"], "notCommands": ["--json"], "exitCodes": "zero"}"#
        ),
    );
    let set = json(&text).set;
    let body = "alpha\nomega\n";
    for (command, class, exit_code, expected) in [
        ("tool run x", "tool-run", None, Some(("by-command", By::Command))),
        ("tool run x", "tool-run", Some(0), Some(("by-command", By::Command))),
        ("tool run x", "tool-run", Some(1), Some(("by-class", By::Class))),
        ("tool run --json", "tool-run", None, Some(("by-class", By::Class))),
        ("tool walk", "tool-run", None, Some(("by-class", By::Class))),
        ("", "unknown", None, Some(("by-text", By::Text))),
        ("tool walk", "unknown", None, None),
        ("", "git-status", None, None),
    ] {
        let found = chosen(&set, command, class, exit_code, body);
        assert_eq!(
            found.as_ref().map(|(id, by)| (id.as_str(), *by)),
            expected,
            "{command} {class} {exit_code:?}"
        );
    }
    assert_eq!(chosen(&set, "", "unknown", None, "alpha only"), None, "all patterns are needed");
    let single = json(&filter("one", r#""match": {"patterns": ["^alpha"]}"#)).set;
    assert_eq!(chosen(&single, "", "unknown", None, body), None, "one pattern is no evidence");
}

#[test]
fn lists_of_allowed_and_denied_filters() {
    let denied = FilterSet::builder().without(["git-status"]).build().set;
    assert_eq!(denied.class_of(&["git", "status"]), None);
    assert_eq!(denied.class_of(&["git", "diff"]), Some("git-diff"));
    let only = FilterSet::builder().only(["git-diff"]).build().set;
    assert_eq!(
        (only.class_of(&["git", "status"]), only.class_of(&["git", "diff"])),
        (None, Some("git-diff"))
    );
    assert_eq!(
        FilterSet::builder().only([""; 0]).build().set.class_of(&["make"]),
        Some("make"),
        "an empty list means all"
    );
}

#[test]
fn a_filter_with_a_built_in_id_replaces_it() {
    let loaded = json(&filter("make", r#""match": {"commands": ["^make"]}"#));
    let warnings: Vec<String> = loaded.warnings.iter().map(ToString::to_string).collect();
    assert!(
        warnings.contains(
            &"project filters filters.json: filter \"make\": it replaces the built-in filter of this id"
                .to_owned()
        )
    );
    assert_eq!(loaded.set.class_of(&["make"]), None);
}

#[test]
fn first_words_select_without_a_pattern() {
    let text = "schema_version = 2\n[filters.t]\ncategory = 'build'\ncommands = ['tool run']\nnot_command = '--watch'\n";
    let set = toml(text).set;
    let id = |command: &str| chosen(&set, command, "unknown", None, "").map(|(id, _)| id);
    assert_eq!(id("tool run -x").as_deref(), Some("t"));
    assert_eq!((id("tool runner"), id("tool"), id("tool run --watch")), (None, None, None));
}

#[test]
fn the_same_id_twice_in_one_scope_is_refused() {
    let text = filter("a", r#""match": {"commands": ["^a"]}"#);
    let loaded = FilterSet::builder()
        .file(FilterSource::User, FilterFormat::Json, "one.json", text.as_bytes())
        .file(FilterSource::User, FilterFormat::Json, "two.json", text.as_bytes())
        .build();
    assert_eq!(
        messages(&loaded),
        ["user filters two.json:1:1: filter \"a\": id \"a\" is already used by another filter"]
    );
}
