//! `go test`, plain and `-v`.

use std::collections::HashMap;

use super::lines::{after_number, has, hash, indent, is_blank, is_short};
use super::trace::fold_frames;
use crate::rtk::kit::{Draft, Level, Output, Verdict, What};

/// Up to this many lines that passing cases logged with `t.Log` stay.
pub(crate) const MAX_LOGS: usize = 5;

/// Renders what `go test` wrote.
pub(crate) fn render(out: &Output<'_>, draft: &mut Draft) -> Verdict {
    if super::gojson::is_stream(out) {
        return super::gojson::render(out, draft);
    }
    let mine = (0..out.len()).any(|i| {
        let line = out.line(i);
        result(line).is_some()
            || is_package(line)
            || line.starts_with("=== RUN ")
            || line == "PASS"
            || is_bench(line)
    });
    if !mine {
        return Verdict::NotMine;
    }
    if is_short(out) {
        return Verdict::Done;
    }
    mark(out, draft);
    if out.level != Level::Minimal {
        fold_frames(out, draft, 0..out.len());
    }
    Verdict::Done
}

/// Word and name of `--- PASS: TestX (0.00s)`.
pub(crate) fn result(line: &str) -> Option<(&str, &str)> {
    let rest = line.trim_start().strip_prefix("--- ")?;
    let (word, name) = rest.split_once(": ")?;
    if !matches!(word, "PASS" | "FAIL" | "SKIP" | "BENCH") {
        return None;
    }
    Some((word, name.split_once(" (").map_or(name, |(n, _)| n)))
}

/// The name in `=== RUN   TestX`, `=== CONT  TestX`, `=== NAME  TestX`.
fn turn(line: &str) -> Option<&str> {
    let rest = line.strip_prefix("=== ")?;
    let (word, name) = rest.split_once(' ')?;
    if matches!(word, "RUN" | "PAUSE" | "CONT" | "NAME") { Some(name.trim()) } else { None }
}

/// `ok  pkg 0.1s`, `FAIL pkg 0.1s`, `?  pkg [no test files]`.
pub(crate) fn is_package(line: &str) -> bool {
    ["ok  \t", "FAIL\t", "?   \t", "---\t", "\t"]
        .iter()
        .any(|p| line.starts_with(p) && has(line, if *p == "\t" { "coverage: " } else { "\t" }))
}

fn is_bench(line: &str) -> bool {
    line.starts_with("Benchmark") && has(line, "ns/op")
}

/// `?   pkg [no test files]`.
pub(crate) fn has_no_tests(line: &str) -> bool {
    line.starts_with("?   \t") && line.ends_with("[no test files]")
}

fn mark(out: &Output<'_>, draft: &mut Draft) {
    let mut outcomes: HashMap<&str, &str> = HashMap::new();
    for i in 0..out.len() {
        if let Some((word, name)) = result(out.line(i)) {
            let known = outcomes.entry(name).or_insert(word);
            if word == "FAIL" {
                *known = word;
            }
        }
    }
    let passed = |name: &str| matches!(outcomes.get(name).copied(), Some("PASS" | "BENCH"));
    let mut reasons: HashMap<u64, usize> = HashMap::new();
    let mut owner: Option<&str> = None;
    let mut ended = false;
    let mut logs = Vec::new();
    for i in 0..out.len() {
        let line = out.line(i);
        if let Some(name) = turn(line) {
            (owner, ended) = (Some(name), false);
            draft.noise(i);
        } else if let Some((word, name)) = result(line) {
            (owner, ended) = (Some(name), true);
            if word == "PASS" {
                draft.drop_known(i, What::PassingTests);
            }
        } else if is_boundary(line) {
            owner = None;
            if has_no_tests(line) && out.level != Level::Minimal {
                draft.drop(i, What::Lines);
            }
        } else if line.starts_with("fuzz: elapsed: ") {
            draft.drop(i, What::Progress);
        } else if let Some(name) = owner {
            if ended && indent(line) < 4 {
                owner = None;
            } else if passed(name) && !is_blank(line) && out.level != Level::Minimal {
                if reason(line).is_some() {
                    logs.push(i);
                } else {
                    draft.drop(i, What::Lines);
                }
            } else if outcomes.get(name) == Some(&"SKIP") && out.level != Level::Minimal {
                skip(out, draft, i, &mut reasons);
            }
        }
    }
    drop_logs(draft, &logs);
}

/// What passing cases logged goes if it is much.
fn drop_logs(draft: &mut Draft, logs: &[usize]) {
    if logs.len() > MAX_LOGS {
        logs.iter().for_each(|i| draft.drop(*i, What::Lines));
    }
}

/// A reason for skipping that was told before goes.
fn skip(out: &Output<'_>, draft: &mut Draft, i: usize, reasons: &mut HashMap<u64, usize>) {
    let Some(reason) = reason(out.line(i)) else { return };
    if *reasons.entry(hash(reason)).or_insert(i) != i {
        draft.drop(i, What::SkippedTests);
    }
}

/// The text of `    x_test.go:12: text`.
pub(crate) fn reason(line: &str) -> Option<&str> {
    let (_, rest) = line.split_once(".go:")?;
    after_number(rest)?.strip_prefix(": ")
}

/// Lines that belong to a package, not to a case.
fn is_boundary(line: &str) -> bool {
    is_package(line)
        || is_bench(line)
        || matches!(line, "PASS" | "FAIL")
        || line.starts_with("panic: ")
        || line.starts_with("exit status ")
        || line.starts_with("coverage: ")
        || line.starts_with("# ")
        || line.starts_with("goos: ")
        || line.starts_with("==================")
        || line.starts_with("fatal error: ")
        || line.starts_with("testing: warning: ")
}
