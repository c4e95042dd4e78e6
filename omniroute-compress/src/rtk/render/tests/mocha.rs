//! mocha: the spec tree or dots, then the counts, then the failures.

use std::collections::HashSet;

use super::detail::{Repeats, cap};
use super::jest::is_cause;
use super::lines::{after_number, hash, indent, is_blank, is_number, is_short};
use super::trace::fold_frames;
use super::tree::drop_empty_headings;
use crate::rtk::kit::{Draft, Level, Output, Verdict, What};

/// Renders what `mocha` wrote.
pub(crate) fn render(out: &Output<'_>, draft: &mut Draft) -> Verdict {
    let Some(totals) = (0..out.len()).find(|i| is_total(out.line(*i))) else {
        return super::tap::render(out, draft);
    };
    if is_short(out) {
        return Verdict::Done;
    }
    let starts: Vec<usize> = (totals..out.len()).filter(|i| failure(out, *i)).collect();
    cases(out, draft, totals, !starts.is_empty());
    let mut repeats = Repeats::default();
    for (n, start) in starts.iter().copied().enumerate() {
        let end = starts.get(n + 1).copied().unwrap_or(out.len());
        let body =
            (start + 1..end).find(|i| out.line(*i).trim_end().ends_with(':')).map_or(start + 1, |i| i + 1);
        if out.level != Level::Minimal {
            if repeats.hide(out, draft, body..end, |i| owner(out, &starts, i)) {
                continue;
            }
            fold_frames(out, draft, body..end);
        }
        cap(out, draft, start..end, is_cause);
    }
    Verdict::Done
}

/// `  72 passing (151ms)`, `  5 failing`.
fn is_total(line: &str) -> bool {
    let text = line.trim_start();
    let word = after_number(text).and_then(|r| r.strip_prefix(' '));
    indent(line) == 2 && word.is_some_and(|w| w.starts_with("passing") || w.starts_with("failing"))
}

/// `  1) suite` at the margin of the failures.
fn failure(out: &Output<'_>, i: usize) -> bool {
    let line = out.line(i);
    indent(line) == 2 && numbered(line) && is_blank(out.line(i.wrapping_sub(1)))
}

fn numbered(line: &str) -> bool {
    line.trim_start().split_once(") ").is_some_and(|(n, name)| is_number(n) && !name.is_empty())
}

fn owner<'t>(out: &Output<'t>, starts: &[usize], i: usize) -> &'t str {
    let at = starts.partition_point(|s| *s <= i).checked_sub(1).and_then(|n| starts.get(n));
    out.line(at.copied().unwrap_or(0)).trim_start().split_once(") ").map_or("above", |(n, _)| n)
}

fn cases(out: &Output<'_>, draft: &mut Draft, end: usize, has_failures: bool) {
    let terse = out.level != Level::Minimal;
    let mut dots = Vec::new();
    let mut pending = HashSet::new();
    for i in 0..end {
        let line = out.line(i);
        let text = line.trim_start();
        if indent(line) == 0 {
            continue;
        }
        if is_passed(text) {
            draft.drop_known(i, What::PassingTests);
        } else if terse && has_failures && numbered(line) && indent(line) >= 4 {
            draft.cover(i);
        } else if terse && text.starts_with("- ") && indent(line) >= 4 {
            if pending.insert(hash(text)) && pending.len() > 3 {
                draft.drop_known(i, What::SkippedTests);
            }
        } else if is_dots(text) {
            dots.push(i);
        }
    }
    if dots.iter().map(|i| out.line(*i).len()).sum::<usize>() > 200 {
        dots.into_iter().for_each(|i| draft.drop_known(i, What::Progress));
    }
    if terse {
        drop_empty_headings(out, draft, 0..end, |l| {
            indent(l) >= 2 && indent(l).is_multiple_of(2) && !numbered(l)
        });
    }
}

fn is_passed(text: &str) -> bool {
    ["\u{2713} ", "\u{2714} ", "\u{221a} "].iter().any(|p| text.starts_with(p))
}

fn is_dots(text: &str) -> bool {
    !text.is_empty() && text.trim_end().chars().all(|c| matches!(c, '.' | '\u{2024}' | ',' | '!' | '\u{b7}'))
}
