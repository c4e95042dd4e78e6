//! Laws of the layout rules, each with a broken twin that its check catches.

use std::collections::BTreeSet;

use proptest::prelude::*;
use proptest::test_runner::{Config, RngAlgorithm, TestError, TestRng, TestRunner};

use super::{Counts, Rules, apply};
use crate::terminal;

type Twin = fn(&str) -> (String, Counts);
type Law = fn(&str, Twin) -> Result<(), TestCaseError>;

const LINES: &[&str] = &[
    "retry in 5 s",
    "retry in 5 s",
    "retry in 6 s",
    "retry in 5 s ",
    "retry in 5 s  ",
    "a",
    "",
    "",
    "  ",
    "\t",
    "```",
    "~~~ sh",
    "@@ -1,2 +1,2 @@",
    "-old ",
    "+new\t",
    " context ",
    "diff --git a/x b/x",
    "--- a/x",
    "+++ b/x",
    "# Title",
    "- item  ",
    "{\"a\": 1},",
    "0.5,",
    "done (x3)",
    "done (x3)",
    "\ttab\tinside  x",
    "\x1b[1mbold\x1b[0m ",
    "10 %\r90 %",
    "error: a\rfine    ",
    "cut \x1b[",
    "\x1b",
    "漢字 ",
    "3c3 ",
    "x\r",
    "\u{9b}",
];

fn real(text: &str) -> (String, Counts) {
    let layout = apply(text, Rules::default());
    (layout.text.into_owned(), layout.counts)
}

fn check(law: Law, twin: Twin) -> Result<(), TestError<String>> {
    let config = Config { cases: 600, failure_persistence: None, ..Config::default() };
    let rng = TestRng::deterministic_rng(RngAlgorithm::ChaCha);
    let line = (proptest::sample::select(LINES), 1..6usize, 0..12usize).prop_map(|(line, times, end)| {
        let end = match end {
            0 => "\r\n",
            1 => "\r\r\n",
            2 => "",
            _ => "\n",
        };
        format!("{line}{end}").repeat(times)
    });
    let texts = proptest::collection::vec(line, 0..20).prop_map(|lines| lines.concat());
    TestRunner::new_with_rng(config, rng).run(&texts, |text| law(&text, twin))
}

/// Every word of the visible text is still there.
fn facts(text: &str, twin: Twin) -> Result<(), TestCaseError> {
    let visible = terminal::normalise(text).text;
    let (out, _) = twin(text);
    let left: BTreeSet<&str> = out.split_whitespace().collect();
    for word in visible.split_whitespace() {
        prop_assert!(left.contains(word), "{:?} is gone from {:?}", word, out);
    }
    Ok(())
}

/// Non-blank lines in = non-blank lines out, each fold counted by its number.
fn exact_counts(text: &str, twin: Twin) -> Result<(), TestCaseError> {
    let visible = terminal::normalise(text).text;
    let (out, counts) = twin(text);
    let number = |line: &str| {
        let (_, tail) = line.trim_end().rsplit_once(" (x")?;
        tail.strip_suffix(')')?.parse::<u32>().ok()
    };
    let full = |text: &str| text.lines().filter(|l| !l.trim().is_empty()).count();
    let own = visible.lines().filter_map(number).sum::<u32>();
    let all = out.lines().filter_map(number).sum::<u32>();
    prop_assert_eq!(all - own, counts.folded_lines);
    let gone = usize::try_from(counts.folded_lines - counts.folded_runs).expect("small");
    prop_assert_eq!(full(&out) + gone, full(&visible), "{:?}", out);
    Ok(())
}

fn stable_and_short(text: &str, twin: Twin) -> Result<(), TestCaseError> {
    let (once, _) = twin(text);
    prop_assert!(once.len() <= text.len(), "{:?} became {:?}", text, once);
    prop_assert_eq!(twin(&once).0, once);
    Ok(())
}

/// Lines inside fences and hunks are there byte for byte, in order.
fn protected(text: &str, twin: Twin) -> Result<(), TestCaseError> {
    let fenced = format!("```\n{}\n", text.replace(['`', '\x1b', '\r', '\u{9b}'], ""));
    let (out, _) = twin(&fenced);
    prop_assert_eq!(out, fenced);
    Ok(())
}

/// Folds neighbours that differ only in digits.
fn folds_digits(text: &str) -> (String, Counts) {
    let key = |line: &str| line.replace(|c: char| c.is_ascii_digit(), "");
    let mut out: Vec<&str> = Vec::new();
    for line in text.split('\n') {
        if out.last().is_none_or(|last| key(last) != key(line) || line.is_empty()) {
            out.push(line);
        }
    }
    (out.join("\n"), Counts::default())
}

fn miscounts(text: &str) -> (String, Counts) {
    let (out, counts) = real(text);
    (out.replace(" (x4)", " (x3)"), counts)
}

fn marks_every_time(text: &str) -> (String, Counts) {
    let (out, counts) = real(text);
    (out.replacen("retry in 5 s", "retry in 5 s (x1)", 1), counts)
}

fn trims_everywhere(text: &str) -> (String, Counts) {
    let lines: Vec<&str> = text.split('\n').map(str::trim_end).collect();
    (lines.join("\n"), Counts::default())
}

#[test]
fn laws_hold_and_twins_are_caught() {
    let table: &[(Law, Twin)] = &[
        (facts, folds_digits),
        (exact_counts, miscounts),
        (stable_and_short, marks_every_time),
        (protected, trims_everywhere),
    ];
    for (law, twin) in table {
        assert_eq!(check(*law, real), Ok(()));
        assert!(check(*law, *twin).is_err());
    }
}
