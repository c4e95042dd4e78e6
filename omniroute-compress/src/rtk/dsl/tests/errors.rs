//! Every kind of error with its full message.

use super::super::limits::{FILE_BYTES, VERIFY_WORK};
use super::*;

/// JSON files and the messages they give.
#[test]
fn json_mistakes_name_place_field_value_and_rule() {
    let head = r#""id": "a", "label": "A", "category": "git""#;
    let rules = |body: &str| format!("{{{head},\n \"rules\": {{{body}}}}}");
    let filter = "project filters filters.json";
    for (text, expected) in [
        ("{".to_owned(), vec![format!("{filter}:1:2: not JSON: unexpected end of the document")]),
        (r#"{"id": "a", "id": "b"}"#.to_owned(), vec![format!("{filter}:1:13: key \"id\" is given twice")]),
        ("3".to_owned(), vec![format!("{filter}:1:1: expected a table, got a number")]),
        (
            r#"{"id": "a"}"#.to_owned(),
            vec![
                format!("{filter}:1:1: filter \"a\": key \"label\" is missing"),
                format!("{filter}:1:1: filter \"a\": key \"category\" is missing"),
            ],
        ),
        (
            rules(r#""dropPattern": []"#),
            vec![format!(
                "{filter}:2:12: filter \"a\", rules: key \"dropPattern\" is not known; did you mean \"dropPatterns\"?"
            )],
        ),
        (
            rules(r#""maxLines": "many", "headLines": -1, "tailLines": 1.5"#),
            vec![
                format!("{filter}:2:24: filter \"a\", rules.maxLines: expected a whole number, got a string"),
                format!(
                    "{filter}:2:45: filter \"a\", rules.headLines: -1 is not allowed; allowed is a whole number from 0 to 100000"
                ),
                format!(
                    "{filter}:2:62: filter \"a\", rules.tailLines: expected a whole number, got a number that is not whole"
                ),
            ],
        ),
        (
            r#"{"id": "A b", "label": "x", "category": "gti"}"#.to_owned(),
            vec![
                format!(
                    "{filter}:1:2: id: id \"A b\" is not 1 to 64 of a-z, 0-9, '.', '_', '-' that start with a letter or digit"
                ),
                format!(
                    "{filter}:1:41: category: \"gti\" is not allowed; allowed is one of \"git\", \"test\", \"build\", \"package\", \"shell\", \"docker\", \"infra\", \"cloud\", \"generic\""
                ),
            ],
        ),
        (
            rules(r#""dropPatterns": ["ok", "a(b"]"#),
            vec![format!(
                "{filter}:2:37: filter \"a\", rules.dropPatterns[1]: not a regular expression: unclosed group (column 2 of the pattern)"
            )],
        ),
        (
            rules(
                r#""includePatterns": ["a(?!b)"], "collapsePatterns": ["(?<=x)y"], "dropPatterns": ["(a)\\1"]"#,
            ),
            vec![
                format!(
                    "{filter}:2:34: filter \"a\", rules.includePatterns[0]: look-ahead is not supported by the linear-time engine; name the exceptions in preserve.errorPatterns (column 2 of the pattern)"
                ),
                format!(
                    "{filter}:2:93: filter \"a\", rules.dropPatterns[0]: a back-reference is not supported by the linear-time engine; write the alternatives out (column 4 of the pattern)"
                ),
                format!(
                    "{filter}:2:65: filter \"a\", rules.collapsePatterns[0]: look-behind is not supported by the linear-time engine; name the exceptions in preserve.errorPatterns (column 1 of the pattern)"
                ),
            ],
        ),
        (
            format!(r#"{{{head}, "match": {{"commands": ["kubectl get (?!.*json)"]}}}}"#),
            vec![format!(
                "{filter}:1:82: filter \"a\", match.commands[0]: look-ahead is not supported by the linear-time engine; use match.notCommands (column 13 of the pattern)"
            )],
        ),
        (
            rules(r#""dropPatterns": ["x*"]"#),
            vec![format!(
                "{filter}:2:30: filter \"a\", rules.dropPatterns[0]: the pattern matches every line, because it matches no character at all"
            )],
        ),
        (
            rules(&format!(r#""dropPatterns": ["{}"]"#, "a".repeat(1001))),
            vec![format!(
                "{filter}:2:30: filter \"a\", rules.dropPatterns[0]: the pattern has 1001 bytes, the limit is 1000"
            )],
        ),
        (
            rules(r#""dropPatterns": ["((x{900}){900}){90}"]"#),
            vec![format!(
                "{filter}:2:30: filter \"a\", rules.dropPatterns[0]: the compiled pattern takes more than 1048576 bytes"
            )],
        ),
        (
            rules(&format!(r#""dropPatterns": [{}"x"]"#, r#""x","#.repeat(256))),
            vec![format!("{filter}:1:1: filter \"a\": the filter has 257 patterns, the limit is 256")],
        ),
        (
            rules(r#""replace": [{"pattern": "a", "replacement": "b\nc"}]"#),
            vec![format!(
                "{filter}:2:41: filter \"a\", rules.replace[0].replacement: \"b c\" is not allowed; allowed is text without line ends"
            )],
        ),
        (
            format!(r#"{{{head}, "match": {{"exitCodes": "bad"}}}}"#),
            vec![format!(
                "{filter}:1:69: filter \"a\", match.exitCodes: \"bad\" is not allowed; allowed is one of \"zero\", \"nonzero\""
            )],
        ),
        (
            format!("[{{{head}}}, {{{head}}}]"),
            vec![format!("{filter}:1:48: filter \"a\": id \"a\" is already used by another filter")],
        ),
        (
            r#"{"name": "x", "stripPatterns": []}"#.to_owned(),
            vec![format!(
                "{filter}:1:1: filter \"x\", commandTypes: at least one entry of \"commandTypes\" is missing"
            )],
        ),
    ] {
        let mut expected = expected;
        let mut found = messages(&json(&text));
        found.sort();
        expected.sort();
        assert_eq!(found, expected, "{text}");
    }
}

#[test]
fn toml_mistakes_name_place_field_value_and_rule() {
    let file = "project filters filters.toml";
    for (text, expected) in [
        (
            "a = \n",
            vec![format!("{file}:1:5: not TOML: string values must be quoted, expected literal string")],
        ),
        ("", vec![format!("{file}:1:1: key \"schema_version\" is missing")]),
        (
            "schema_version = 3",
            vec![format!("{file}:1:18: schema_version: schema_version 3 is not known; known are 1 and 2")],
        ),
        ("schema_version = 1", vec![format!("{file}:1:1: a table [filters.<name>] is missing")]),
        (
            "schema_version = 1\n[filters.a]\nstrip_lines_matching = ['x']\nkeep_lines_matching = ['y']\nbogus = 1\n",
            vec![
                format!("{file}:2:10: filter \"a\": key \"match_command\" is missing"),
                format!(
                    "{file}:4:1: filter \"a\": strip_lines_matching and keep_lines_matching cannot be combined; split the filter"
                ),
                format!("{file}:5:1: filter \"a\": key \"bogus\" is not known"),
            ],
        ),
        (
            "schema_version = 1\n[filters.a]\nmatch_command = 'a(?!b)'\npriority = 3\n",
            vec![
                format!(
                    "{file}:3:19: filter \"a\", match_command: look-ahead is not supported by the linear-time engine; schema_version 2 has not_command (column 2 of the pattern)"
                ),
                format!("{file}:4:1: filter \"a\": key \"priority\" is not known"),
            ],
        ),
        (
            "schema_version = 1\n[filters.a]\nmatch_command = 'a'\n[[tests.b]]\nname = 'x'\ninput = ''\nexpected = ''\n",
            vec![format!("{file}:4:9: tests: tests are given for \"b\", which is no filter of this file")],
        ),
        (
            "schema_version = 2\n[filters.a]\ncategory = 'git'\ncommands = ['git  x']\nrenderer = 'git-diff'\n",
            vec![
                format!(
                    "{file}:4:13: filter \"a\", commands[0]: \"git  x\" is not allowed; allowed is words with one blank between them"
                ),
                format!("{file}:5:1: filter \"a\": key \"renderer\" is not known"),
            ],
        ),
        (
            "schema_version = 2\n[filters.a]\ncategory = 'git'\n",
            vec![format!(
                "{file}:2:10: filter \"a\": one of \"commands\", \"match_command\", \"match_class\", \"match_output_text\" is missing"
            )],
        ),
    ] {
        assert_eq!(messages(&toml(text)), expected, "{text}");
    }
}

#[test]
fn built_in_files_have_rules_of_their_own() {
    let read = |body: &str| {
        let text = format!("schema_version = 2\n[filters.a]\ncategory = 'git'\ncommands = ['a']\n{body}");
        let parsed = super::super::toml::read(FilterSource::Builtin, "a", text.as_bytes());
        parsed.errors.iter().map(ToString::to_string).collect::<Vec<_>>()
    };
    assert_eq!(read(""), ["built-in filters a:2:1: filter \"a\": key \"capture\" is missing"]);
    assert_eq!(
        read("capture = 'none'\ndescription = 'x'\nhead_lines = 3"),
        [
            "built-in filters a:7:1: filter \"a\": capture = \"none\" and head_lines cannot be combined; without a recorded output only exact repeats may be folded",
            "built-in filters a:6:1: filter \"a\", description: \"x\" is not allowed; allowed is a description that says there is \"no capture\"",
        ]
    );
    for key in ["strip_lines_matching = ['x']", "noise = ['x']", "max_lines = 3", "on_empty = 'x'"] {
        assert_eq!(read(&format!("description = 'no capture'\ncapture = 'none'\n{key}")).len(), 1, "{key}");
    }
    assert!(read("description = 'no capture'\ncapture = 'none'\ncollapse = ['x']").is_empty());
}

#[test]
fn files_as_a_whole_are_checked() {
    let large = " ".repeat(FILE_BYTES + 1);
    assert_eq!(
        messages(&json(&large)),
        ["project filters filters.json: the file has 1048577 bytes, the limit is 1048576"]
    );
    let loaded =
        FilterSet::builder().file(FilterSource::User, FilterFormat::Toml, "f.toml", b"a = \"\xff\"").build();
    assert_eq!(messages(&loaded), ["user filters f.toml: byte 5 is not UTF-8"]);
    let many: Vec<String> =
        (0..513).map(|n| format!(r#"{{"id": "a{n}", "label": "a", "category": "git"}}"#)).collect();
    assert_eq!(
        messages(&json(&format!("[{}]", many.join(",")))),
        ["project filters filters.json:1:1: the file has 513 filters, the limit is 512"]
    );
    let deep = format!("{}{}", "[".repeat(65), "]".repeat(65));
    assert_eq!(
        messages(&json(&deep)),
        ["project filters filters.json:1:65: tables and lists are nested more than 64 deep"]
    );
}

#[test]
fn tests_have_limits() {
    let test = |input: &str| format!(r#"{{"name": "t", "input": "{input}", "expected": "x"}}"#);
    let filter =
        |tests: &str| format!(r#"{{"id": "a", "label": "A", "category": "git", "tests": [{tests}]}}"#);
    let many = vec![test("x"); 65].join(",");
    assert_eq!(
        messages(&json(&filter(&many))),
        ["project filters filters.json:1:56: filter \"a\", tests: the filter has 65 tests, the limit is 64"]
    );
    assert_eq!(
        messages(&json(&filter(&test(&"x".repeat(65_537))))),
        [
            "project filters filters.json:1:70: filter \"a\", tests[0].input: the text has 65537 bytes, the limit is 65536"
        ]
    );
    assert_eq!(
        messages(&json(&filter(r#"{"name": "t", "input": "x", "expected": "x", "mode": "fast"}"#))),
        [
            "project filters filters.json:1:109: filter \"a\", tests[0].mode: \"fast\" is not allowed; allowed is one of \"exact\", \"guarded\""
        ]
    );
}

#[test]
fn a_failing_test_keeps_the_filter_out() {
    let text = r#"[{"id": "a", "label": "A", "category": "git", "match": {"commands": ["^a"]}, "rules": {"dropPatterns": ["^-"]},
        "tests": [{"name": "drops dashes", "input": "a\n-b\nc", "expected": "a\nb\nc"}]},
        {"id": "b", "label": "B", "category": "git", "match": {"commands": ["^b"]}}]"#;
    let loaded = json(text);
    assert_eq!(
        messages(&loaded),
        [
            "project filters filters.json:2:19: filter \"a\": test \"drops dashes\" failed: line 2 is \"c\", expected \"b\""
        ]
    );
    let crate::rtk::dsl::FilterErrorKind::TestFailed { diff, actual, .. } = &loaded.errors[0].kind else {
        panic!("a test")
    };
    assert_eq!(diff, "@@ -1,3 +1,2 @@\n a\n-b\n c");
    assert_eq!(actual, "a\nc");
    assert_eq!(custom(&loaded.set), ["b"], "the other filter of the file loads");
    let toml_text = "schema_version = 1\n[filters.a]\nmatch_command = '^a'\n[filters.b]\nmatch_command = '^b'\n[[tests.a]]\nname = 't'\ninput = 'x'\nexpected = 'y'\n";
    let loaded = toml(toml_text);
    assert_eq!(
        messages(&loaded),
        [
            "project filters filters.toml:6:1: filter \"a\": test \"t\" failed: line 1 is \"x\", expected \"y\""
        ]
    );
    assert!(custom(&loaded.set).is_empty(), "a TOML file loads as a whole or not at all");
}

#[test]
fn filters_that_hide_errors_are_refused() {
    let text = tool(r#""includePatterns": [" 200 "]"#, "").replace("^tool\\\\b", "^docker logs");
    assert_eq!(
        messages(&json(&text)),
        [
            "project filters filters.json:1:1: filter \"tool\": filter hides error lines: \"POST /orders HTTP/1.1\" 502 (sample \"HTTP 5xx\")"
        ]
    );
    let allowed = text.replace("\"label\"", "\"allowHidingErrors\": true, \"label\"");
    assert_eq!(messages(&json(&allowed)).len(), 1, "a project may not allow it");
    assert!(messages(&load(FilterSource::User, FilterFormat::Json, &allowed)).is_empty(), "the user may");
}

#[test]
fn replacements_that_belittle_are_refused() {
    let text = tool(r#""replace": [{"pattern": "critical", "replacement": "info"}]"#, "")
        .replace("^tool\\\\b", "^npm audit");
    assert_eq!(
        messages(&json(&text)),
        [
            "project filters filters.json:1:1: filter \"tool\": filter hides error lines: Severity: critical; 1 critical severity vulnerability (sample \"vulnerability\")"
        ]
    );
}

#[test]
fn results_that_change_again_are_refused() {
    let text = r#"{"id": "a", "label": "A", "category": "git", "match": {"commands": ["^a"]},
        "rules": {"replace": [{"pattern": "xx", "replacement": "x"}]},
        "tests": [{"name": "t", "input": "xxxx", "expected": "xx"}]}"#;
    assert_eq!(
        messages(&json(text)),
        [
            "project filters filters.json:3:19: filter \"a\": test \"t (filtered twice)\" failed: line 1 is \"x\", expected \"xx\""
        ]
    );
}

#[test]
fn work_of_tests_is_bounded_by_a_count() {
    let test = format!(r#"{{"name": "t", "input": "{}", "expected": ""}}"#, "ab".repeat(30_000));
    let text = |states: usize| {
        format!(
            r#"{{"id": "a", "label": "A", "category": "git", "rules": {{"dropPatterns": ["(a|b){{{states}}}"]}}, "tests": [{test}]}}"#
        )
    };
    let work = |text: &str| {
        let parsed = super::super::json::read(FilterSource::Project, "f", text.as_bytes());
        parsed.filters[0].test_work()
    };
    let small = text(300);
    let large = text(5_000);
    assert!(work(&small) < VERIFY_WORK && work(&large) > VERIFY_WORK, "{} {}", work(&small), work(&large));
    let loaded = json(&small);
    assert_eq!(messages(&loaded), [""; 0]);
    assert_eq!(
        messages(&json(&large)),
        [format!(
            "project filters filters.json: the tests of the file take {} steps, the limit is {VERIFY_WORK}",
            work(&large)
        )]
    );
}

#[test]
fn kinds_that_others_make_read_well() {
    use crate::rtk::dsl::FilterErrorKind as K;
    for (kind, code, message) in [
        (K::Io("permission denied".into()), "io", "the file cannot be read: permission denied"),
        (
            K::Untrusted("no entry in trust.json".into()),
            "untrusted",
            "the file is not trusted: no entry in trust.json",
        ),
        (K::ChangedSinceTrust, "changed-since-trust", "the file has changed since it was trusted"),
        (
            K::VerifyTimeout { work: 5, limit: 4 },
            "verify-timeout",
            "the tests of the file take 5 steps, the limit is 4",
        ),
    ] {
        assert_eq!((kind.code(), kind.to_string().as_str()), (code, message));
    }
}
