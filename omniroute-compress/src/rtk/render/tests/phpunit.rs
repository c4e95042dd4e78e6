//! PHPUnit: progress lines or the testdox tree, numbered failures, counts.

use std::collections::HashSet;
use std::ops::Range;

use super::detail::{Repeats, cap};
use super::lines::{add_hash, after_number, has, hash, indent, is_blank, is_number, is_short};
use super::trace::fold_frames;
use super::tree::drop_empty_headings;
use crate::rtk::kit::{Draft, Level, Output, Verdict, What};

/// Renders what `phpunit` wrote.
pub(crate) fn render(out: &Output<'_>, draft: &mut Draft) -> Verdict {
    let mine = (0..out.len()).any(|i| {
        let line = out.line(i);
        line.starts_with("PHPUnit ")
            || (line.starts_with("Tests: ") && has(line, ", Assertions: "))
            || (line.starts_with("OK (") && has(line, " assertion"))
    });
    if !mine {
        return Verdict::NotMine;
    }
    if is_short(out) {
        return Verdict::Done;
    }
    let progress: Vec<usize> = (0..out.len()).filter(|i| is_progress(out.line(*i))).collect();
    if progress.len() > 1 {
        progress.into_iter().for_each(|i| draft.drop_known(i, What::Progress));
    }
    testdox(out, draft);
    failures(out, draft);
    Verdict::Done
}

/// `.FF.EE      12 / 12 (100%)`.
fn is_progress(line: &str) -> bool {
    let Some((before, share)) = line.trim_end().strip_suffix("%)").and_then(|l| l.rsplit_once(" / ")) else {
        return false;
    };
    let dots = before.trim_end_matches(|c: char| c.is_ascii_digit()).trim_end();
    after_number(share).is_some()
        && !dots.is_empty()
        && dots.bytes().all(|b| matches!(b, b'.' | b'F' | b'E' | b'S' | b'I' | b'R' | b'W' | b'D' | b'N'))
}

/// The sign of a row of the testdox tree.
fn row(line: &str) -> Option<char> {
    let sign = line.trim_start().chars().next()?;
    if indent(line) == 1 && !sign.is_ascii() && sign != '\u{2502}' { Some(sign) } else { None }
}

fn is_bar(line: &str) -> bool {
    indent(line) == 3 && line.trim_start().starts_with('\u{2502}')
}

fn testdox(out: &Output<'_>, draft: &mut Draft) {
    let Some(first) = (0..out.len()).find(|i| row(out.line(*i)).is_some()) else { return };
    let terse = out.level != Level::Minimal;
    let summary = (first..out.len()).find(|i| out.line(*i).starts_with("Summary of non-successful tests"));
    let end = summary.unwrap_or_else(|| {
        (first..out.len()).find(|i| out.line(*i).starts_with("Time: ")).unwrap_or(out.len())
    });
    let mut seen = HashSet::new();
    let mut i = first.saturating_sub(1);
    while i < out.len() {
        let line = out.line(i);
        if matches!(row(line), Some('\u{2714}' | '\u{2713}')) {
            draft.drop_known(i, What::PassingTests);
        } else if row(line).is_some() {
            let block = i..(i + 1..out.len()).find(|j| !is_bar(out.line(*j))).unwrap_or(out.len());
            let sum = block.clone().fold(0, |h, j| add_hash(h, out.line(j)));
            let again = !seen.insert(sum) && i > end;
            for j in block.clone() {
                if again && terse {
                    draft.cover(j);
                } else if terse && out.line(j).trim() == "\u{2502}" {
                    draft.noise(j);
                }
            }
            if !again {
                cap(out, draft, block.clone(), |l| !is_bar(l));
            }
            i = block.end;
            continue;
        } else if i < end {
            seen.insert(hash(line));
        }
        i += 1;
    }
    if terse {
        drop_empty_headings(out, draft, first.saturating_sub(1)..end, |l| indent(l) == 0);
        if let Some(start) = summary {
            let stop = (start..out.len()).find(|i| out.line(*i).ends_with('!')).unwrap_or(out.len());
            if (start + 1..stop).all(|i| !draft.stays(i) || is_blank(out.line(i)) || indent(out.line(i)) == 0)
            {
                (start..stop).for_each(|i| draft.cover(i));
            }
        }
    }
}

/// `1) CartTest::testError` and what follows.
fn failures(out: &Output<'_>, draft: &mut Draft) {
    let starts: Vec<usize> = (0..out.len()).filter(|i| title(out.line(*i)).is_some()).collect();
    let mut repeats = Repeats::default();
    for (n, start) in starts.iter().copied().enumerate() {
        let next = starts.get(n + 1).copied().unwrap_or(out.len());
        let end = (start + 1..next).find(|i| is_end(out.line(*i))).unwrap_or(next);
        let body: Range<usize> = start + 1..end;
        if out.level != Level::Minimal {
            if repeats.hide(out, draft, body.clone(), |i| {
                (0..i).rev().find_map(|j| title(out.line(j))).unwrap_or("above")
            }) {
                continue;
            }
            fold_frames(out, draft, body.clone());
        }
        cap(out, draft, body, |l| {
            l.starts_with("Failed asserting")
                || l.starts_with(['-', '+', '/'])
                || has(l, "Error")
                || has(l, "Exception")
        });
    }
}

fn title(line: &str) -> Option<&str> {
    let (number, title) = line.split_once(") ")?;
    if is_number(number) && has(title, "::") { Some(title.trim_end()) } else { None }
}

fn is_end(line: &str) -> bool {
    line == "--"
        || line.starts_with("There w")
        || matches!(line, "FAILURES!" | "ERRORS!" | "WARNINGS!")
        || line.starts_with("OK")
}
