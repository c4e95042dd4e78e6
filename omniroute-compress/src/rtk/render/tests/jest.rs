//! jest: suites, trees of `--verbose`, failure blocks, console output, coverage.

use std::collections::HashSet;
use std::ops::Range;

use super::coverage;
use super::detail::{Repeats, cap};
use super::frame::fold_code;
use super::lines::{has, hash, indent, is_blank, is_short, without_time};
use super::trace::fold_frames;
use super::tree::drop_empty_headings;
use crate::rtk::kit::{Draft, Level, Output, Verdict, What};

/// What an area of the output belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Suite {
    None,
    Passed(usize),
    Failed,
}

/// Renders what `jest` wrote.
pub(crate) fn render(out: &Output<'_>, draft: &mut Draft) -> Verdict {
    let mine = (0..out.len()).any(|i| {
        let line = out.line(i);
        line.starts_with("Test Suites: ") || suite(line).is_some() || line.starts_with("  \u{25cf} ")
    });
    if !mine || out.text.starts_with('{') {
        return Verdict::NotMine;
    }
    if is_short(out) {
        return Verdict::Done;
    }
    let titles: HashSet<u64> =
        (0..out.len()).filter_map(|i| bullet(out.line(i))).map(|t| hash(last_part(t))).collect();
    suites(out, draft, &titles);
    blocks(out, draft);
    if let Some(start) = (0..out.len()).find(|i| coverage::is_cross(out.line(*i)) && has(out.line(*i), "|")) {
        let end =
            (start..out.len()).rev().find(|i| coverage::is_cross(out.line(*i))).map_or(out.len(), |i| i + 1);
        coverage::table(out, draft, start..end);
    }
    Verdict::Done
}

/// Whether a suite passed: `PASS path`, `FAIL path (5.1 s)`.
fn suite(line: &str) -> Option<bool> {
    let line = line.trim_end();
    let (word, path) = line.split_once(' ')?;
    let path = without_time(path.trim_start());
    let path = path.rsplit(' ').next().unwrap_or(path);
    if path.is_empty() || !path.contains('.') {
        return None;
    }
    match word {
        "PASS" => Some(true),
        "FAIL" => Some(false),
        _ => None,
    }
}

/// The title in `  ● suite › case`.
fn bullet(line: &str) -> Option<&str> {
    line.strip_prefix("  \u{25cf} ").map(str::trim_end)
}

fn last_part(title: &str) -> &str {
    title.rsplit(" \u{203a} ").next().unwrap_or(title)
}

/// Outcome sign and name of a line of a tree.
fn leaf(line: &str) -> Option<(char, &str)> {
    let mut chars = line.trim_start().chars();
    let sign = chars.next()?;
    let name = chars.as_str().strip_prefix(' ')?;
    let known = matches!(
        sign,
        '\u{2713}' | '\u{2714}' | '\u{221a}' | '\u{2715}' | '\u{d7}' | '\u{25cb}' | '\u{270e}'
    );
    if known && indent(line) > 0 { Some((sign, without_time(name))) } else { None }
}

/// Lines of passing suites, trees of cases, console output of passing suites.
fn suites(out: &Output<'_>, draft: &mut Draft, titles: &HashSet<u64>) {
    let terse = out.level != Level::Minimal;
    let mut current = Suite::None;
    let mut alone = false;
    let mut i = 0;
    while i < out.len() {
        let line = out.line(i);
        if let Some(passed) = suite(line) {
            end_of_suite(draft, current, alone);
            (current, alone) = (if passed { Suite::Passed(i) } else { Suite::Failed }, true);
        } else if leaf(line).is_some() {
            if let (Suite::Passed(at), true, true) = (current, alone, terse) {
                draft.noise(at);
            }
            alone = false;
            i = tree(out, draft, i, titles);
            continue;
        } else if line.starts_with("Test Suites: ") || line.starts_with("Tests: ") {
            end_of_suite(draft, current, alone);
            current = Suite::None;
        } else if bullet(line) == Some("Console") && matches!(current, Suite::Passed(_)) && terse {
            end_of_suite(draft, current, alone);
            alone = false;
            let end = end_of_block(out, i + 1);
            console(out, draft, i + 1..end);
            i = end;
            continue;
        }
        i += 1;
    }
    end_of_suite(draft, current, alone);
}

/// Console output of a passing suite: of the texts written at one place, the first is shown.
fn console(out: &Output<'_>, draft: &mut Draft, range: Range<usize>) {
    let mut places = HashSet::new();
    let mut start = range.start;
    for i in range {
        if let Some(place) = out.line(i).strip_prefix("      at ") {
            let more = out.line(i + 1).starts_with("      at ");
            if more {
                continue;
            }
            if !places.insert(hash(place)) {
                draft.drop_range(start..i + 1, What::Lines);
            }
            start = i + 1;
        }
    }
}

/// A passing suite without a tree is one line.
fn end_of_suite(draft: &mut Draft, suite: Suite, alone: bool) {
    if let (Suite::Passed(at), true) = (suite, alone) {
        draft.drop_known(at, What::PassingSuites);
    }
}

/// Marks the tree around its first case at `first`; the line behind it.
fn tree(out: &Output<'_>, draft: &mut Draft, first: usize, titles: &HashSet<u64>) -> usize {
    let terse = out.level != Level::Minimal;
    let is_tree = |line: &str| !is_blank(line) && indent(line) > 0 && bullet(line).is_none();
    let start = (0..first).rev().take_while(|i| is_tree(out.line(*i))).last().unwrap_or(first);
    let end = (first..out.len()).find(|i| !is_tree(out.line(*i))).unwrap_or(out.len());
    for i in start..end {
        let Some((sign, name)) = leaf(out.line(i)) else { continue };
        match sign {
            '\u{2713}' | '\u{2714}' | '\u{221a}' => draft.drop_known(i, What::PassingTests),
            '\u{25cb}' if terse => draft.drop_known(i, What::SkippedTests),
            '\u{2715}' | '\u{d7}' if terse && titles.contains(&hash(name)) => draft.cover(i),
            _ => {}
        }
    }
    if terse {
        drop_empty_headings(out, draft, start..end, |l| leaf(l).is_none());
    }
    end
}

/// The line behind the block whose first line is before `from`.
fn end_of_block(out: &Output<'_>, from: usize) -> usize {
    let ends = |i: &usize| {
        let line = out.line(*i);
        !line.starts_with(' ') && !is_blank(line) || bullet(line).is_some()
    };
    (from..out.len()).find(|i| ends(i) && !(is_text(out, *i))).unwrap_or(out.len())
}

/// A line at the margin inside a block: text of a message or of a console, not a line of jest.
fn is_text(out: &Output<'_>, i: usize) -> bool {
    let line = out.line(i);
    let own = suite(line).is_some()
        || bullet(line).is_some()
        || coverage::is_cross(line)
        || [
            "Test Suites:",
            "Tests:",
            "Snapshot",
            "Time:",
            "Ran all",
            "Summary of all",
            "Jest",
            "Force exiting",
            "A worker process",
        ]
        .iter()
        .any(|p| line.starts_with(p));
    !own
}

fn blocks(out: &Output<'_>, draft: &mut Draft) {
    let mut repeats = Repeats::default();
    let mut told = HashSet::new();
    let mut i = 0;
    while i < out.len() {
        let Some(title) = bullet(out.line(i)).filter(|_| draft.stays(i)) else {
            i += 1;
            continue;
        };
        let body = i + 1..end_of_block(out, i + 1);
        if out.level != Level::Minimal {
            advice(out, draft, body.clone());
            if title != "Console" && repeats.hide(out, draft, body.clone(), |j| owner(out, j)) {
                if !told.insert(hash(title)) {
                    draft.keep(i);
                }
                i = body.end;
                continue;
            }
            told.insert(hash(title));
            fold_frames(out, draft, body.clone());
            fold_code(out, draft, body.clone());
        }
        cap(out, draft, body.clone(), is_cause);
        i = body.end;
    }
}

fn owner<'t>(out: &Output<'t>, i: usize) -> &'t str {
    (0..i).rev().find_map(|j| bullet(out.line(j))).unwrap_or("above")
}

/// Advice that stands under every file jest could not parse.
fn advice(out: &Output<'_>, draft: &mut Draft, body: Range<usize>) {
    let start = body.clone().find(|i| out.line(*i).starts_with("    Jest failed to parse a file."));
    let end = body.clone().find(|i| out.line(*i) == "    Details:");
    if let (Some(start), Some(end)) = (start, end) {
        for i in start..end.max(start) {
            draft.drop_known(i, What::Lines);
        }
    }
}

/// Lines that say why a case failed.
pub(crate) fn is_cause(line: &str) -> bool {
    let text = line.trim_start();
    ["Expected", "Received", "expect(", "- ", "+ ", "> ", "Error", "Snapshot", "thrown", "at "]
        .iter()
        .any(|p| text.starts_with(p))
        || has(text, "Error: ")
}
