//! Exact repeats and blank runs among the lines that stay.

use std::collections::HashSet;

use super::draft::{Draft, Mark};
use super::output::Output;

/// A run of at least this many equal lines becomes one.
const MIN_RUN: usize = 3;

/// What folding did.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Folded {
    /// Lines that were folded into another one.
    pub(crate) lines: u64,
    /// Blank lines left out.
    pub(crate) blanks: u64,
}

/// Folds runs of equal lines into ` (x<n>)` and runs of blank lines into one. Lines left out in between do not
/// separate a run of blanks; everything else does.
pub(crate) fn fold(out: &Output<'_>, draft: &mut Draft) -> Folded {
    let mut folded = Folded::default();
    let texts: HashSet<usize> = draft.inserts().map(|(line, _)| line).collect();
    let mut blank_before = false;
    let mut i = 0;
    while i < out.len() {
        let line = out.line(i).trim_end();
        blank_before &= !texts.contains(&i);
        match draft.mark(i) {
            Mark::Keep if line.is_empty() => {
                if blank_before {
                    draft.noise(i);
                    folded.blanks += 1;
                }
                blank_before = true;
                i += 1;
            }
            Mark::Keep => {
                blank_before = false;
                i += run(out, draft, i, line, &mut folded);
            }
            Mark::Noise | Mark::Cover => i += 1,
            _ => {
                blank_before = false;
                i += 1;
            }
        }
    }
    folded
}

/// Folds the run of lines equal to `line` that begins at `start`; the number of lines looked at.
fn run(out: &Output<'_>, draft: &mut Draft, start: usize, line: &str, folded: &mut Folded) -> usize {
    let same = |i: usize| draft.mark(i) == Mark::Keep && out.line(i).trim_end() == line;
    let count = (start..out.len()).take_while(|i| same(*i)).count();
    let suffix = 5 + count.ilog10() as usize;
    if count < MIN_RUN || is_counted(line) || suffix >= (line.len() + 1) * (count - 1) {
        return count.max(1);
    }
    draft.replace(start, &format!("{line} (x{count})"));
    for i in start + 1..start + count {
        draft.cover(i);
    }
    folded.lines += count as u64 - 1;
    count
}

/// Ends in ` (x<n>)` already.
fn is_counted(line: &str) -> bool {
    line.strip_suffix(')')
        .and_then(|l| l.rsplit_once(" (x"))
        .is_some_and(|(_, n)| !n.is_empty() && n.bytes().all(|b| b.is_ascii_digit()))
}
