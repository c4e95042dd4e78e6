//! vitest: one line for a file or case, failure blocks between rulers, console blocks.

use std::collections::HashSet;

use super::coverage;
use super::detail::{Repeats, cap};
use super::frame::fold_code;
use super::jest::is_cause;
use super::lines::{has, hash, hide, indent, is_blank, is_ruler, is_short, without_time};
use super::trace::fold_frames;
use crate::rtk::kit::{Draft, Level, Output, Verdict, What};

/// Renders what `vitest` wrote.
pub(crate) fn render(out: &Output<'_>, draft: &mut Draft) -> Verdict {
    let mine = (0..out.len()).any(|i| {
        let line = out.line(i);
        is_total(line)
            || failing(line).is_some()
            || line.starts_with(" RUN  v")
            || line.starts_with(" DEV  v")
    });
    if !mine {
        return super::tap::render(out, draft);
    }
    if is_short(out) {
        return Verdict::Done;
    }
    let failed = failed(out);
    lines(out, draft, &failed);
    blocks(out, draft);
    if let Some(start) = (0..out.len()).find(|i| coverage::is_cross(out.line(*i)) && has(out.line(*i), "|")) {
        let end =
            (start..out.len()).rev().find(|i| coverage::is_cross(out.line(*i))).map_or(out.len(), |i| i + 1);
        coverage::table(out, draft, start..end);
    }
    Verdict::Done
}

fn is_total(line: &str) -> bool {
    let text = line.trim_start();
    indent(line) > 0 && (text.starts_with("Test Files  ") || text.starts_with("Tests  "))
}

/// The case in ` FAIL  path > suite > case`.
fn failing(line: &str) -> Option<&str> {
    line.strip_prefix(" FAIL  ").map(str::trim_end)
}

/// Hashes of every tail of the failing ids: `path > suite > case`, `suite > case`, `case`.
fn failed(out: &Output<'_>) -> HashSet<u64> {
    let mut ids = HashSet::new();
    for mut id in (0..out.len()).filter_map(|i| failing(out.line(i))) {
        ids.insert(hash(id));
        while let Some((_, tail)) = id.split_once(" > ") {
            ids.insert(hash(tail));
            id = tail;
        }
    }
    ids
}

/// Sign and name of ` ✓ path (25 tests) 16ms`.
fn row(line: &str) -> Option<(char, &str)> {
    let mut chars = line.trim_start().chars();
    let sign = chars.next()?;
    let name = chars.as_str().strip_prefix(' ')?;
    let known = matches!(
        sign,
        '\u{2713}' | '\u{2714}' | '\u{221a}' | '\u{d7}' | '\u{276f}' | '\u{2193}' | '\u{2192}' | '\u{b7}'
    );
    if known && indent(line) > 0 { Some((sign, name.trim_start())) } else { None }
}

fn lines(out: &Output<'_>, draft: &mut Draft, failed: &HashSet<u64>) {
    let terse = out.level != Level::Minimal;
    let end = (0..out.len()).find(|i| failing(out.line(*i)).is_some()).unwrap_or(out.len());
    let mut told = false;
    let mut i = 0;
    while i < out.len() {
        let line = out.line(i);
        if let Some((sign, name)) = row(line).filter(|_| i < end) {
            match sign {
                '\u{2713}' | '\u{2714}' | '\u{221a}' | '\u{b7}' => draft.drop_known(i, passing(line, name)),
                '\u{2193}' if terse && !has(name, " [") => draft.drop_known(i, What::SkippedTests),
                '\u{d7}' => told = terse && failed.contains(&hash(without_time(name))),
                '\u{2192}' if told => hide(out, draft, i),
                _ => {}
            }
        } else if let Some(id) = console(line).filter(|_| terse) {
            let end = (i..out.len()).find(|j| is_blank(out.line(*j))).unwrap_or(out.len());
            let passed = !failed.contains(&hash(id)) && has(id, " > ");
            if passed && !(i..end).any(|j| is_frame(out.line(j))) {
                draft.drop_range(i..end, What::Lines);
            }
            i = end;
            continue;
        } else if terse {
            decoration(draft, i, line);
        }
        i += 1;
    }
}

/// A stack frame: it may matter whoever wrote it.
fn is_frame(line: &str) -> bool {
    let text = line.trim_start();
    text.starts_with("at ") || text.starts_with("\u{276f} ")
}

/// The case in `stdout | path > suite > case`.
fn console(line: &str) -> Option<&str> {
    line.strip_prefix("stdout | ").or_else(|| line.strip_prefix("stderr | ")).map(str::trim_end)
}

/// A file with its number of tests, or one case.
fn passing(line: &str, name: &str) -> What {
    let is_file = indent(line) == 1 && !has(name, " > ") && has(name, " (");
    if is_file { What::PassingSuites } else { What::PassingTests }
}

fn decoration(draft: &mut Draft, i: usize, line: &str) {
    let text = line.trim_start();
    if line.starts_with(" RUN  v") || text.starts_with("Start at  ") || is_count_ruler(line) {
        draft.noise(i);
    } else if let Some((before, _)) =
        text.strip_prefix("Duration  ").and_then(|_| line.split_once(" (transform "))
    {
        draft.replace(i, before);
    }
}

/// `⎯⎯⎯⎯[1/3]⎯` between failures.
fn is_count_ruler(line: &str) -> bool {
    line.starts_with('\u{23af}')
        && (is_ruler(line)
            || line
                .trim_matches('\u{23af}')
                .bytes()
                .all(|b| b.is_ascii_digit() || matches!(b, b'[' | b']' | b'/')))
}

/// Failure blocks: from ` FAIL ` to the ruler, several titles may share one detail.
fn blocks(out: &Output<'_>, draft: &mut Draft) {
    let mut repeats = Repeats::default();
    let mut i = 0;
    while i < out.len() {
        if failing(out.line(i)).is_none() {
            i += 1;
            continue;
        }
        let start = (i..out.len()).find(|j| failing(out.line(*j)).is_none()).unwrap_or(out.len());
        let ends = |j: &usize| {
            let line = out.line(*j);
            line.starts_with('\u{23af}')
                || failing(line).is_some()
                || is_total(line)
                || coverage::is_cross(line)
        };
        let end = (start..out.len()).find(ends).unwrap_or(out.len());
        if out.level != Level::Minimal {
            if repeats.hide(out, draft, start..end, |j| owner(out, j)) {
                i = end;
                continue;
            }
            fold_code(out, draft, start..end);
            fold_frames(out, draft, start..end);
        }
        cap(out, draft, start..end, is_cause);
        i = end;
    }
    if out.level != Level::Minimal {
        let start = (0..out.len())
            .find(|j| has(out.line(*j), " Unhandled Errors ") && out.line(*j).starts_with('\u{23af}'));
        if let Some(start) = start {
            fold_code(out, draft, start..out.len());
            fold_frames(out, draft, start..out.len());
        }
    }
}

fn owner<'t>(out: &Output<'t>, i: usize) -> &'t str {
    (0..i).rev().find_map(|j| failing(out.line(j))).unwrap_or("above")
}
