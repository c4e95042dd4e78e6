//! Minitest: dots or one line for each case, numbered failures, counts.

use super::detail::{Repeats, cap};
use super::lines::{after_number, has, is_number, is_short};
use super::trace::fold_frames;
use crate::rtk::kit::{Draft, Level, Output, Verdict, What};

/// Renders what Minitest wrote.
pub(crate) fn render(out: &Output<'_>, draft: &mut Draft) -> Verdict {
    let Some(totals) = (0..out.len()).rev().find(|i| is_total(out.line(*i))) else { return Verdict::NotMine };
    if is_short(out) {
        return Verdict::Done;
    }
    let terse = out.level != Level::Minimal;
    let mut dots = Vec::new();
    for i in 0..totals {
        let line = out.line(i);
        match result(line) {
            Some(".") => draft.drop_known(i, What::PassingTests),
            Some("S") if terse => draft.drop_known(i, What::SkippedTests),
            _ if !line.is_empty() && line.bytes().all(|b| matches!(b, b'.' | b'F' | b'E' | b'S')) => {
                dots.push(i)
            }
            _ => {}
        }
    }
    if dots.iter().map(|i| out.line(*i).len()).sum::<usize>() > 160 {
        dots.into_iter().for_each(|i| draft.drop_known(i, What::Progress));
    }
    let starts: Vec<usize> = (0..totals).filter(|i| is_failure(out.line(*i))).collect();
    let mut repeats = Repeats::default();
    for (n, start) in starts.iter().copied().enumerate() {
        let end = starts.get(n + 1).copied().unwrap_or(totals);
        if terse {
            if repeats.hide(out, draft, start + 2..end.max(start + 2), |i| out.line(i.saturating_sub(1))) {
                continue;
            }
            fold_frames(out, draft, start + 1..end);
        }
        cap(out, draft, start + 1..end, |l| {
            has(l, "#") || has(l, "Error") || l.starts_with("Expected") || l.starts_with("  Actual")
        });
    }
    Verdict::Done
}

/// `5 runs, 3 assertions, 2 failures, 1 errors, 1 skips`.
fn is_total(line: &str) -> bool {
    after_number(line).is_some_and(|r| {
        (r.starts_with(" runs, ") || r.starts_with(" tests, "))
            && has(r, " assertions, ")
            && has(r, " failures")
    })
}

/// The sign in `OkTest#test_n8 = 0.00 s = .`.
fn result(line: &str) -> Option<&str> {
    let (name, rest) = line.split_once(" = ")?;
    let (time, sign) = rest.split_once(" s = ")?;
    if name.contains('#') && time.bytes().all(|b| b.is_ascii_digit() || b == b'.') {
        Some(sign.trim_end())
    } else {
        None
    }
}

/// `  1) Failure:`.
fn is_failure(line: &str) -> bool {
    line.trim_start().split_once(") ").is_some_and(|(n, kind)| {
        is_number(n) && matches!(kind.trim_end(), "Failure:" | "Error:" | "Skipped:")
    })
}
