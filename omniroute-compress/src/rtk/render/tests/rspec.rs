//! RSpec: dots or the documentation tree, pending and failing examples, counts.

use std::collections::HashSet;
use std::ops::Range;

use super::detail::{Repeats, cap};
use super::lines::{after_number, has, indent, is_blank, is_number, is_short};
use super::trace::fold_frames;
use super::tree::drop_empty_headings;
use crate::rtk::kit::{Draft, Level, Output, Verdict, What};

/// Renders what `rspec` wrote.
pub(crate) fn render(out: &Output<'_>, draft: &mut Draft) -> Verdict {
    let Some(totals) = (0..out.len()).find(|i| is_total(out.line(*i))) else { return Verdict::NotMine };
    if is_short(out) {
        return Verdict::Done;
    }
    let section = |title: &str| (0..totals).find(|i| out.line(*i).starts_with(title));
    let failures = section("Failures:");
    let end = [section("Pending:"), failures, section("Finished in ")]
        .into_iter()
        .flatten()
        .min()
        .unwrap_or(totals);
    let starts: Vec<usize> =
        failures.map_or_else(Vec::new, |f| (f..totals).filter(|i| number(out.line(*i)).is_some()).collect());
    let told: HashSet<&str> = starts.iter().filter_map(|i| number(out.line(*i))).collect();
    examples(out, draft, 0..end, &told);
    let mut repeats = Repeats::default();
    for (n, start) in starts.iter().copied().enumerate() {
        let next = starts.get(n + 1).copied().unwrap_or(totals);
        let end = (start + 1..next).find(|i| out.line(*i).starts_with("Finished in ")).unwrap_or(next);
        if out.level != Level::Minimal {
            if repeats.hide(out, draft, start + 1..end, |i| {
                (0..i).rev().find_map(|j| number(out.line(j))).unwrap_or("above")
            }) {
                continue;
            }
            fold_frames(out, draft, start + 1..end);
        }
        cap(out, draft, start + 1..end, is_cause);
    }
    Verdict::Done
}

/// `12 examples, 5 failures, 2 pending`.
fn is_total(line: &str) -> bool {
    after_number(line)
        .is_some_and(|r| (r.starts_with(" examples, ") || r.starts_with(" example, ")) && has(r, " failure"))
}

/// The number in `  3) title`.
fn number(line: &str) -> Option<&str> {
    let (number, title) = line.strip_prefix("  ")?.split_once(") ")?;
    if is_number(number) && !title.is_empty() { Some(number) } else { None }
}

fn examples(out: &Output<'_>, draft: &mut Draft, range: Range<usize>, told: &HashSet<&str>) {
    let terse = out.level != Level::Minimal;
    let mut dots = Vec::new();
    let mut parents: Vec<usize> = Vec::new();
    for i in range.clone() {
        let line = out.line(i);
        let depth = indent(line);
        if !is_blank(line) {
            while parents.pop_if(|d| *d >= depth).is_some() {}
        }
        if !line.is_empty() && line.bytes().all(|b| matches!(b, b'.' | b'F' | b'*')) {
            dots.push(i);
        } else if let Some((_, rest)) = line.rsplit_once(" (FAILED - ") {
            if terse && rest.strip_suffix(')').is_some_and(|n| told.contains(n)) {
                draft.cover(i);
            }
        } else if depth > 0
            && parents.last() == Some(&depth.saturating_sub(2))
            && is_leaf(out, i, range.end)
            && !has(line, " (PENDING: ")
        {
            draft.drop_known(i, What::PassingTests);
        }
        if !is_blank(line) {
            parents.push(depth);
        }
    }
    if dots.iter().map(|i| out.line(*i).len()).sum::<usize>() > 160 {
        dots.into_iter().for_each(|i| draft.drop_known(i, What::Progress));
    }
    if terse {
        drop_empty_headings(out, draft, range, |l| !has(l, " (PENDING: "));
    }
}

/// A line of the tree without a line below it.
fn is_leaf(out: &Output<'_>, i: usize, end: usize) -> bool {
    let depth = indent(out.line(i));
    let below = (i + 1..end).find(|j| !is_blank(out.line(*j))).map_or(0, |j| indent(out.line(j)));
    !is_blank(out.line(i)) && depth.is_multiple_of(2) && below <= depth
}

fn is_cause(line: &str) -> bool {
    let text = line.trim_start();
    ["Failure/Error:", "expected", "got:", "# ./", "-", "+", "@@"].iter().any(|p| text.starts_with(p))
        || has(text, "Error")
}
