//! unittest, nose2 and the test runner of Django.

use std::collections::HashSet;

use super::detail::{Repeats, cap};
use super::lines::{hash, indent, is_blank, is_ruler, is_short};
use super::trace::fold_frames;
use crate::rtk::kit::{Draft, Level, Output, Verdict, What};

/// Renders what `python -m unittest` and its relatives wrote.
pub(crate) fn render(out: &Output<'_>, draft: &mut Draft) -> Verdict {
    let headers: Vec<usize> = (0..out.len()).filter(|i| is_header(out, *i)).collect();
    let ran = (0..out.len()).any(|i| is_ran(out.line(i)));
    if !ran && headers.is_empty() && !(0..out.len()).any(|i| out.line(i).ends_with(") ... ok")) {
        return Verdict::NotMine;
    }
    if is_short(out) {
        return Verdict::Done;
    }
    let told: HashSet<u64> =
        headers.iter().filter_map(|i| out.line(*i).split_once(": ")).map(|(_, id)| hash(id)).collect();
    let first = headers.first().map_or(out.len(), |i| i.saturating_sub(1));
    cases(out, draft, first, &told, !headers.is_empty() || ran);
    blocks(out, draft, &headers);
    Verdict::Done
}

fn is_ran(line: &str) -> bool {
    line.strip_prefix("Ran ")
        .and_then(|r| r.split_once(" test"))
        .is_some_and(|(n, _)| super::lines::is_number(n))
}

/// `ERROR: test_x (m.T.test_x)` under a ruler of `=`.
fn is_header(out: &Output<'_>, i: usize) -> bool {
    let line = out.line(i);
    let outcome =
        line.starts_with("ERROR: ") || line.starts_with("FAIL: ") || line.starts_with("UNEXPECTED SUCCESS: ");
    outcome && i > 0 && out.line(i - 1).starts_with("=====") && is_ruler(out.line(i - 1))
}

/// The lines before the failures: dots, or one line for each case.
fn cases(out: &Output<'_>, draft: &mut Draft, end: usize, told: &HashSet<u64>, has_totals: bool) {
    let terse = out.level != Level::Minimal;
    let mut reasons = HashSet::new();
    let mut dots = Vec::new();
    for i in 0..end {
        let line = out.line(i);
        if let Some((id, result)) = line.rsplit_once(" ... ") {
            match result.trim_end() {
                "ok" => {
                    draft.drop_known(i, What::PassingTests);
                    let named =
                        i > 0 && draft.stays(i - 1) && is_named(out.line(i - 1)) && !id.ends_with(')');
                    if named {
                        draft.cover(i - 1);
                    }
                }
                "OK" if indent(line) > 0 => draft.drop_known(i, What::Steps),
                "FAIL" | "ERROR" if terse && told.contains(&hash(id.trim_start())) => draft.cover(i),
                reason if terse && reason.starts_with("skipped") && !reasons.insert(hash(reason)) => {
                    draft.drop_known(i, What::SkippedTests);
                }
                _ => {}
            }
        } else if is_dots(line) && has_totals {
            dots.push(i);
        }
    }
    if dots.iter().map(|i| out.line(*i).len()).sum::<usize>() > 160 {
        dots.into_iter().for_each(|i| draft.drop_known(i, What::Progress));
    }
}

/// `test_x (m.T.test_x)` alone: the description of the case follows.
fn is_named(line: &str) -> bool {
    line.ends_with(')')
        && line.split_once(" (").is_some_and(|(name, _)| !name.is_empty() && !name.contains(' '))
}

fn is_dots(line: &str) -> bool {
    !is_blank(line) && line.trim_end().bytes().all(|b| matches!(b, b'.' | b'F' | b'E' | b's' | b'x' | b'u'))
}

fn blocks(out: &Output<'_>, draft: &mut Draft, headers: &[usize]) {
    let mut repeats = Repeats::default();
    for (n, start) in headers.iter().copied().enumerate() {
        let end = match headers.get(n + 1) {
            Some(next) => next - 1,
            None => (start + 2..out.len())
                .find(|i| is_ran(out.line(i + 1)) && is_ruler(out.line(*i)))
                .unwrap_or(out.len()),
        };
        if out.level != Level::Minimal {
            draft.noise(start - 1);
            if is_ruler(out.line(start + 1)) {
                draft.noise(start + 1);
            }
            if repeats.hide(out, draft, start + 2..end, |i| id(out, i)) {
                continue;
            }
            for i in start + 2..end {
                let marks = out.line(i).trim();
                if !marks.is_empty()
                    && indent(out.line(i)) >= 4
                    && marks.bytes().all(|b| matches!(b, b'^' | b'~'))
                {
                    draft.noise(i);
                }
            }
            fold_frames(out, draft, start + 2..end);
        }
        cap(out, draft, start + 1..end, is_cause);
    }
}

fn id<'t>(out: &Output<'t>, detail: usize) -> &'t str {
    (0..detail)
        .rev()
        .find(|i| is_header(out, *i))
        .and_then(|i| out.line(i).split_once(": "))
        .map_or("above", |(_, id)| id)
}

/// Lines at the margin: the error, the difference, captured output.
fn is_cause(line: &str) -> bool {
    indent(line) == 0 || line.trim_start().starts_with("File \"")
}
