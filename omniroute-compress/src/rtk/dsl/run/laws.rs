//! The law between the modes: every line that the exact mode keeps, the guarded mode keeps too.

use proptest::prelude::*;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};

use super::super::compile::Compiled;
use super::super::error::FilterSource;
use super::super::model::FilterDef;
use super::super::{json, toml};
use super::{Ready, exact_lines, guarded};
use crate::rtk::kit::{Draft, Level, Output};

/// Parts of rules, each with a few values.
const RULES: &[&[&str]] = &[
    &["", r#""dropPatterns": ["^b", "x$"]"#, r#""dropPatterns": ["^\\s*$", "a"]"#],
    &["", r#""includePatterns": ["a"]"#, r#""includePatterns": ["^ ?[ab]", "never"]"#],
    &["", r#""collapsePatterns": ["a|b"]"#],
    &["", r#""deduplicate": true"#],
    &["", r#""truncateLineAt": 3"#],
    &[
        "",
        r#""maxLines": 4, "headLines": 1, "tailLines": 2"#,
        r#""maxLines": 2, "headLines": 5, "tailLines": 5"#,
    ],
    &[
        "",
        r#""replace": [{"pattern": "c", "replacement": "a"}]"#,
        r#""replace": [{"pattern": "^error", "replacement": "b"}]"#,
    ],
    &["", r#""onEmpty": "e""#],
    &["", r#""matchOutput": [{"pattern": "^abc$", "message": "m", "unless": "d"}]"#],
    &["", r#""filterStderr": true"#],
];
const LINES: &[&str] =
    &["", "a", "b", "abc", "  a b", "    deep a", "error: a", "cx", "d", "warning: b", "err: a", "é你a"];

fn json_filter(picks: &[usize], preserve: bool) -> FilterDef {
    let parts: Vec<&str> = RULES
        .iter()
        .zip(picks)
        .map(|(values, n)| values[n % values.len()])
        .filter(|p| !p.is_empty())
        .collect();
    let preserve = if preserve { r#""errorPatterns": ["d"]"# } else { "" };
    let text = format!(
        r#"{{"id": "t", "label": "t", "category": "git", "rules": {{{}}}, "preserve": {{{preserve}}}}}"#,
        parts.join(",")
    );
    let parsed = json::read(FilterSource::User, "f", text.as_bytes());
    assert!(parsed.errors.is_empty(), "{:?}", parsed.errors);
    parsed.filters.into_iter().next().unwrap()
}

fn toml_filter(picks: &[usize]) -> FilterDef {
    let options: [&[&str]; 5] = [
        &["", "strip_lines_matching = ['^b']\n", "keep_lines_matching = ['a', 'd']\n"],
        &["", "head_lines = 2\n", "head_lines = 0\n"],
        &["", "tail_lines = 1\n"],
        &["", "max_lines = 3\n"],
        &["", "truncate_lines_at = 3\n"],
    ];
    let parts: String = options.iter().zip(picks).map(|(values, n)| values[n % values.len()]).collect();
    let text = format!("schema_version = 1\n[filters.t]\nmatch_command = 't'\n{parts}");
    let parsed = toml::read(FilterSource::User, "f", text.as_bytes());
    assert!(parsed.errors.is_empty(), "{:?}", parsed.errors);
    parsed.filters.into_iter().next().unwrap()
}

/// The first line that the exact mode keeps and the draft loses.
fn lost(
    ready: Ready<'_>,
    text: &str,
    level: Level,
    mark: impl Fn(Ready<'_>, &Output<'_>, &mut Draft),
) -> Option<usize> {
    let kept = exact_lines(ready, text, level)?;
    let out = Output::new(text, level);
    let mut draft = Draft::new(out.len());
    mark(ready, &out, &mut draft);
    // A line in another form has an inserted text at its place.
    let rewritten: Vec<usize> = draft.inserts().map(|(line, _)| line).collect();
    kept.into_iter().find(|i| !draft.stays(*i) && !rewritten.contains(i))
}

fn cases(count: u32, mark: impl Fn(Ready<'_>, &Output<'_>, &mut Draft) + Copy) -> Result<(), String> {
    let config = Config { cases: count, failure_persistence: None, ..Config::default() };
    let mut runner = TestRunner::new_with_rng(config, TestRng::deterministic_rng(RngAlgorithm::ChaCha));
    let input = (
        prop::collection::vec(0..6_usize, RULES.len()),
        any::<bool>(),
        any::<bool>(),
        prop::collection::vec(prop::sample::select(LINES), 0..14),
        prop::sample::select(&Level::ALL[..]),
    );
    let result = runner.run(&input, |(picks, preserve, as_toml, lines, level)| {
        let def = if as_toml { toml_filter(&picks) } else { json_filter(&picks, preserve) };
        let compiled = Compiled::new(&def).map_err(|e| TestCaseError::fail(e.to_string()))?;
        let ready = Ready { def: &def, compiled: &compiled };
        let text = lines.join("\n");
        match lost(ready, &text, level, mark) {
            None => Ok(()),
            Some(line) => Err(TestCaseError::fail(format!("line {line} of {text:?} is lost"))),
        }
    });
    result.map_err(|e| e.to_string())
}

#[test]
fn guarded_keeps_what_exact_keeps() {
    cases(3_000, guarded).unwrap();
}

/// The same check notices a guarded mode that loses a line.
#[test]
fn the_check_notices_a_lost_line() {
    let broken = |ready: Ready<'_>, out: &Output<'_>, draft: &mut Draft| {
        guarded(ready, out, draft);
        if out.len() > 6 {
            draft.drop(5, crate::rtk::kit::What::Lines);
        }
    };
    assert!(cases(300, broken).unwrap_err().contains("is lost"));
}
