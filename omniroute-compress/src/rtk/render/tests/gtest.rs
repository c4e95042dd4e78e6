//! GoogleTest and CTest: the frame around the cases goes, failures and their output stay.

use std::collections::HashSet;

use super::lines::{after_number, has, hash, is_blank, is_short, without_time};
use crate::rtk::kit::{Draft, Level, Output, Verdict, What};

/// Renders what a GoogleTest program wrote.
pub(crate) fn render(out: &Output<'_>, draft: &mut Draft) -> Verdict {
    if !(0..out.len()).any(|i| tag(out.line(i)).is_some()) {
        return Verdict::NotMine;
    }
    if is_short(out) {
        return Verdict::Done;
    }
    cases(out, draft);
    Verdict::Done
}

/// Renders what `ctest` wrote; with `--output-on-failure` that holds the output of GoogleTest programs.
pub(crate) fn render_ctest(out: &Output<'_>, draft: &mut Draft) -> Verdict {
    let mine = (0..out.len()).any(|i| {
        let line = out.line(i);
        result(line).is_some() || line.starts_with("Test project ") || has(line, "% tests passed, ")
    });
    if !mine {
        return Verdict::NotMine;
    }
    if is_short(out) {
        return Verdict::Done;
    }
    cases(out, draft);
    for i in 0..out.len() {
        let line = out.line(i);
        if let Some(outcome) = result(line) {
            if outcome.starts_with("Passed ") {
                draft.drop_known(i, What::PassingTests);
            }
        } else if is_start(line) || (out.level != Level::Minimal && is_hint(line)) {
            draft.noise(i);
        }
    }
    Verdict::Done
}

/// Word and rest of `[  FAILED  ] Suite.Case (0 ms)`.
fn tag(line: &str) -> Option<(&str, &str)> {
    let (word, rest) = line.strip_prefix('[')?.split_once(']')?;
    let name = word.trim();
    let known = matches!(name, "RUN" | "OK" | "FAILED" | "PASSED" | "SKIPPED" | "DISABLED")
        || (word.len() == 10 && name.bytes().all(|b| matches!(b, b'-' | b'=')));
    if word.len() == 10 && known { Some((name, rest.trim())) } else { None }
}

fn cases(out: &Output<'_>, draft: &mut Draft) {
    let terse = out.level != Level::Minimal;
    let mut told = HashSet::new();
    let mut running = None;
    for i in 0..out.len() {
        let line = out.line(i);
        match tag(line) {
            Some(("RUN", _)) => {
                draft.noise(i);
                running = Some(i);
            }
            Some(("OK", _)) => {
                draft.drop_known(i, What::PassingTests);
                let output = running.take().map_or(i..i, |start| start + 1..i);
                for j in output.filter(|j| terse && !is_blank(out.line(*j))) {
                    draft.drop(j, What::Lines);
                }
            }
            Some(("FAILED" | "SKIPPED", name)) => {
                running = None;
                if !told.insert(hash(without_time(name))) && terse {
                    draft.cover(i);
                }
            }
            Some(("PASSED" | "DISABLED", _)) => {}
            Some((sign, rest)) if terse && (sign.starts_with('-') || rest.starts_with("Running ")) => {
                draft.noise(i)
            }
            None if terse
                && (line.starts_with("Running main() from ")
                    || line.starts_with("Note: Google Test filter = ")) =>
            {
                draft.noise(i)
            }
            _ => {}
        }
    }
}

/// `      Start  3: Matrix.Shape`.
fn is_start(line: &str) -> bool {
    let rest = line.trim_start().strip_prefix("Start ").map(str::trim_start);
    line.starts_with("    ") && rest.and_then(after_number).is_some_and(|r| r.starts_with(": "))
}

/// Where the log is and how to run again.
fn is_hint(line: &str) -> bool {
    line.starts_with("Use \"--rerun-failed ") || line.starts_with("Output from these tests are in:")
}

/// The outcome in ` 1/15 Test  #1: Matrix.Identity ....   Passed    0.02 sec`.
fn result(line: &str) -> Option<&str> {
    let rest = after_number(line.trim_start())?.strip_prefix('/')?;
    let rest = after_number(rest)?.trim_start().strip_prefix("Test ")?.trim_start().strip_prefix('#')?;
    let rest = after_number(rest)?.strip_prefix(": ")?;
    let (_, outcome) =
        rest.split_once(" ..").or_else(|| rest.split_once(" .")).or_else(|| rest.split_once("***"))?;
    Some(outcome.trim_start_matches(['.', '*', ' ']))
}
