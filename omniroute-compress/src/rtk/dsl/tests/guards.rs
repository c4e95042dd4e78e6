//! What production adds to a filter: nothing that matters gets lost whatever its rules say.

use super::*;

fn shown(rules: &str, preserve: &str, exit_code: Option<i32>, input: &str) -> String {
    let loaded = json(&tool(rules, preserve));
    assert_eq!(messages(&loaded), [""; 0]);
    run(&loaded.set, "tool", exit_code, Level::Standard, input).unwrap()
}

#[test]
fn dropped_lines_are_counted_and_errors_come_back() {
    let input = format!("{}error: disk is full\n{}", numbered(0..5), numbered(5..9));
    assert_eq!(
        shown(r#""dropPatterns": ["entry", "error"]"#, "", None, &input),
        "[rtk: 5 lines omitted]\nerror: disk is full\n[rtk: 4 lines omitted]\n"
    );
}

#[test]
fn preserve_wins_over_drop_and_keep() {
    let input = format!("{}entry number 4 of the total\nkept line\n", numbered(0..3));
    let rules = r#""dropPatterns": ["entry"], "includePatterns": ["^kept"]"#;
    assert_eq!(
        shown(rules, r#""summaryPatterns": ["total$"]"#, None, &input),
        "[rtk: 3 lines omitted]\nentry number 4 of the total\nkept line\n"
    );
}

#[test]
fn a_keep_list_keeps_continuations() {
    let input = format!("kept: a\n  detail of a\n    more of a\n{}  not of a\n", numbered(0..3));
    assert_eq!(
        shown(r#""includePatterns": ["^kept"]"#, "", None, &input),
        "kept: a\n  detail of a\n    more of a\n[rtk: 4 lines omitted]\n"
    );
    let broken = "kept: a\n\n  detail after a blank line is not kept\n  and neither is this one\n";
    assert!(shown(r#""includePatterns": ["^kept"]"#, "", None, broken).ends_with("[rtk: 2 lines omitted]\n"));
}

#[test]
fn messages_stand_only_where_nothing_is_wrong() {
    let rules = r#""matchOutput": [{"pattern": "finished", "message": "tool: ok"}]"#;
    let fine = format!("{}finished\n", numbered(0..4));
    assert_eq!(shown(rules, "", None, &fine), "tool: ok\n[rtk: 5 lines omitted]\n");
    assert_eq!(shown(rules, "", Some(0), &fine), "tool: ok\n[rtk: 5 lines omitted]\n");
    for (exit_code, text) in [
        (Some(1), fine.clone()),
        (None, format!("{fine}error: late\n")),
        (None, format!("{fine}warning: late\n")),
        (None, format!("{fine}2 failed\n")),
    ] {
        assert!(!shown(rules, "", exit_code, &text).contains("tool: ok"), "{exit_code:?} {text}");
    }
    assert!(!shown(rules, r#""summaryPatterns": ["number 3"]"#, None, &fine).contains("tool: ok"));
    assert_eq!(shown(rules, "", None, "finished"), "finished", "a message that is not shorter says nothing");
}

#[test]
fn an_empty_result_is_named_only_where_nothing_is_wrong() {
    let rules = r#""dropPatterns": ["entry", "oops"], "onEmpty": "tool: quiet""#;
    assert_eq!(shown(rules, "", None, &numbered(0..4)), "tool: quiet\n[rtk: 4 lines omitted]\n");
    assert!(!shown(rules, "", Some(2), &numbered(0..4)).contains("quiet"));
    assert!(!shown(rules, "", None, &format!("{}oops, 1 failed\n", numbered(0..4))).contains("quiet"));
    assert_eq!(shown(rules, "", None, "\n\n"), "\n", "a blank input stays blank");
}

#[test]
fn replacements_cannot_hide_errors() {
    let rules = r#""replace": [{"pattern": "CRITICAL|error", "replacement": "info"}, {"pattern": "entry", "replacement": "e"}]"#;
    assert_eq!(
        shown(rules, "", None, "error: CRITICAL hole\nan entry\nCRITICAL words\n"),
        "error: CRITICAL hole\nan e\ninfo words\n"
    );
}

#[test]
fn budgets_select_by_place_not_by_value() {
    let input =
        "same line of text here\n".repeat(2) + &numbered(0..20) + &"same line of text here\n".repeat(2);
    let rules = r#""maxLines": 6, "headLines": 1, "tailLines": 2"#;
    let expected =
        "same line of text here\n[rtk: 21 lines omitted]\nsame line of text here\nsame line of text here\n";
    assert_eq!(shown(rules, "", None, &input), expected);
    let middle = shown(rules, r#""summaryPatterns": ["number 7 "]"#, None, &input);
    assert!(
        middle.contains("[rtk: 8 lines omitted]\nentry number 7 of the list\n[rtk: 12 lines omitted]\n"),
        "{middle}"
    );
}

#[test]
fn lines_are_cut_between_characters_and_behind_places() {
    let rules = r#""truncateLineAt": 10"#;
    assert_eq!(shown(rules, "", None, "你好世界你好世界你好世界\n"), "你好世界你好世...\n");
    assert_eq!(shown(rules, "", None, "x😀😀😀😀😀😀😀😀😀😀\n"), "x😀😀😀😀😀😀...\n");
    let place = format!("src/deep/folder/file.rs:120:7: error: {}\n", "long ".repeat(8));
    assert!(
        shown(rules, "", None, &place).starts_with("src/deep/folder/file.rs:120:7: error"),
        "the place stays"
    );
}

#[test]
fn different_lines_never_become_equal_by_cutting() {
    let input: String = (0..5).map(|n| format!("a common beginning of line {n}\n")).collect();
    let result = shown(r#""truncateLineAt": 12, "deduplicate": true"#, "", None, &input);
    assert_eq!(result.lines().count(), 5, "{result}");
}

#[test]
fn collapsing_counts_in_place() {
    let input = "retry of the upload\nstep one\nretry of the upload\n  retry of the upload\nstep two\n";
    assert_eq!(
        shown(r#""collapsePatterns": ["^\\s*retry"]"#, "", None, input),
        "retry of the upload (x3)\nstep one\nstep two\n"
    );
}

#[test]
fn the_minimal_level_only_counts() {
    let rules = r#""includePatterns": ["^kept"], "truncateLineAt": 5, "maxLines": 2, "dropPatterns": ["number [0-3] "],
        "replace": [{"pattern": "kept", "replacement": "k"}], "matchOutput": [{"pattern": "kept", "message": "ok"}]"#;
    let loaded = json(&tool(rules, ""));
    let input = format!("kept as it is\n{}", numbered(0..6));
    let result = run(&loaded.set, "tool", None, Level::Minimal, &input).unwrap();
    assert_eq!(result, format!("kept as it is\n[rtk: 4 lines omitted]\n{}", numbered(4..6)));
}

#[test]
fn details_that_were_asked_for_make_a_filter_gentler() {
    let loaded = json(&tool(r#""includePatterns": ["^kept"]"#, ""));
    let text = format!("kept\n{}", numbered(0..4));
    let out = Output { words: &["tool", "-v"], detail: true, ..Output::new(&text, Level::Standard) };
    let mut draft = Draft::new(out.len());
    loaded.set.run_custom("unknown", &out, &mut draft).unwrap();
    assert!(draft.is_untouched());
}
