//! Playwright: list, line and dot reporters; failures with their call logs and attempts.

use std::collections::HashSet;

use super::detail::{Repeats, cap};
use super::frame::fold_code;
use super::jest::is_cause;
use super::lines::{after_number, has, hash, indent, is_blank, is_number, is_short, without_time};
use super::trace::fold_frames;
use crate::rtk::kit::{Draft, Level, Output, Verdict, What};

/// Lines of a call log that are shown.
const CALLS: usize = 12;

/// Renders what `playwright test` wrote.
pub(crate) fn render(out: &Output<'_>, draft: &mut Draft) -> Verdict {
    let mine = (0..out.len())
        .any(|i| is_start(out.line(i)) || block(out.line(i)).is_some() || row(out.line(i)).is_some());
    if !mine {
        return Verdict::NotMine;
    }
    if is_short(out) {
        return Verdict::Done;
    }
    let starts: Vec<usize> = (0..out.len()).filter(|i| block(out.line(*i)).is_some()).collect();
    let titles: HashSet<u64> = starts.iter().filter_map(|i| block(out.line(*i))).map(hash).collect();
    rows(out, draft, &titles);
    let totals = (0..out.len())
        .rev()
        .find(|i| is_total(out.line(*i)) && !is_total_inside(out, *i))
        .unwrap_or(out.len());
    let first_total =
        (starts.last().copied().unwrap_or(0)..out.len()).find(|i| is_total(out.line(*i))).unwrap_or(totals);
    let mut repeats = Repeats::default();
    for (n, start) in starts.iter().copied().enumerate() {
        let end = starts.get(n + 1).copied().unwrap_or(first_total.max(start + 1));
        if out.level != Level::Minimal {
            draft.replace(start, out.line(start).trim_end_matches('\u{2500}').trim_end());
            if repeats.hide(out, draft, start + 1..end, |i| owner(out, i)) {
                continue;
            }
            attempts(out, draft, start + 1, end);
            fold_code(out, draft, start + 1..end);
            fold_frames(out, draft, start + 1..end);
        }
        calls(out, draft, start + 1, end);
        cap(out, draft, start + 1..end, is_cause);
    }
    if out.level != Level::Minimal {
        for i in first_total..out.len() {
            let title = out.line(i).trim_end_matches('\u{2500}').trim();
            if indent(out.line(i)) >= 4 && titles.contains(&hash(title)) {
                draft.cover(i);
            }
        }
    }
    Verdict::Done
}

/// `Running 3 tests using 1 worker`.
fn is_start(line: &str) -> bool {
    line.strip_prefix("Running ")
        .and_then(after_number)
        .is_some_and(|r| r.starts_with(" test") && has(r, " using "))
}

/// Sign and title of `  ✘  1 [chromium] › a.spec.js:2:1 › adds (82ms)`.
fn row(line: &str) -> Option<(char, &str)> {
    let text = line.trim_start();
    let mut chars = text.chars();
    let sign = chars.next()?;
    let rest = chars.as_str().strip_prefix(' ')?.trim_start();
    let title = after_number(rest)?.strip_prefix(' ')?;
    let known = matches!(sign, '\u{2713}' | '\u{2714}' | '\u{2718}' | '\u{b1}' | '-' | 'x')
        || text.starts_with("ok ");
    if indent(line) > 0 && known && has(title, " \u{203a} ") { Some((sign, title)) } else { None }
}

/// `  ok  1 …` where signs cannot be shown.
fn is_ascii_ok(line: &str) -> bool {
    line.starts_with("  ok ") && has(line, " \u{203a} ")
}

fn rows(out: &Output<'_>, draft: &mut Draft, titles: &HashSet<u64>) {
    let terse = out.level != Level::Minimal;
    for i in 0..out.len() {
        let line = out.line(i);
        if is_ascii_ok(line) {
            draft.drop_known(i, What::PassingTests);
        } else if let Some((sign, title)) = row(line) {
            match sign {
                '\u{2713}' | '\u{2714}' => draft.drop_known(i, What::PassingTests),
                '-' if terse => draft.drop_known(i, What::SkippedTests),
                '\u{2718}' | 'x' if terse => {
                    let title = without_time(title);
                    if titles.contains(&hash(title.split_once(" (retry #").map_or(title, |(t, _)| t))) {
                        draft.cover(i);
                    }
                }
                _ => {}
            }
        } else if is_step(line) || is_dots(line) {
            draft.drop_known(i, What::Progress);
        }
    }
}

/// `[3/41] [chromium] › a.spec.js:2:1 › adds` of the line reporter.
fn is_step(line: &str) -> bool {
    line.starts_with('[') && has(line, " \u{203a} ") && line.split_once(']').is_some_and(|(n, _)| has(n, "/"))
}

fn is_dots(line: &str) -> bool {
    line.chars().count() > 20 && line.chars().all(|c| matches!(c, '\u{b7}' | '\u{b0}'))
}

/// The title in `  1) a.spec.js:2:1 › adds ─────`.
fn block(line: &str) -> Option<&str> {
    let (number, title) = line.strip_prefix("  ")?.split_once(") ")?;
    let title = title.trim_end_matches('\u{2500}').trim();
    if is_number(number) && has(title, " \u{203a} ") { Some(title) } else { None }
}

fn owner<'t>(out: &Output<'t>, i: usize) -> &'t str {
    (0..i).rev().find_map(|j| block(out.line(j))).unwrap_or("above")
}

fn is_total(line: &str) -> bool {
    let word = line.strip_prefix("  ").and_then(after_number).and_then(|r| r.strip_prefix(' '));
    word.is_some_and(|w| {
        ["passed", "failed", "flaky", "skipped", "interrupted", "did not run", "error"]
            .iter()
            .any(|t| w.starts_with(t))
    })
}

fn is_total_inside(out: &Output<'_>, i: usize) -> bool {
    indent(out.line(i)) > 2
}

/// Attempts after the first: `    Retry #1 ─────`.
fn attempts(out: &Output<'_>, draft: &mut Draft, start: usize, end: usize) {
    let retries: Vec<usize> =
        (start..end).filter(|i| out.line(*i).trim_start().starts_with("Retry #")).collect();
    let Some(first) = retries.first().copied() else { return };
    let mut repeats = Repeats::default();
    repeats.hide(out, draft, start..first, |_| "");
    for (n, at) in retries.iter().copied().enumerate() {
        let body = at + 1..retries.get(n + 1).copied().unwrap_or(end);
        draft.replace(at, out.line(at).trim_end_matches('\u{2500}').trim_end());
        repeats.hide(out, draft, body, |_| "the attempt before");
    }
}

/// Long call logs, and the frame of boxes.
fn calls(out: &Output<'_>, draft: &mut Draft, start: usize, end: usize) {
    let mut count = None;
    for i in start..end {
        let line = out.line(i);
        let text = line.trim();
        if text == "Call log:" {
            count = Some(0);
        } else if let Some(n) = count.as_mut() {
            if text.starts_with("- ") || (indent(line) >= 4 && !is_blank(line)) {
                *n += 1;
                if *n > CALLS {
                    draft.drop(i, What::Lines);
                }
            } else {
                count = None;
            }
        } else if out.level != Level::Minimal && is_box(text) {
            draft.noise(i);
        }
    }
}

/// `╔════╗`, `╚════╝`, `║    ║`.
fn is_box(text: &str) -> bool {
    !text.is_empty()
        && text.chars().all(|c| {
            matches!(c, '\u{2550}' | '\u{2551}' | '\u{2554}' | '\u{2557}' | '\u{255a}' | '\u{255d}' | ' ')
        })
}
