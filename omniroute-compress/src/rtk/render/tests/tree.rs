//! Trees of suites and cases: a heading under which nothing is left says nothing.

use std::ops::Range;

use super::lines::{indent, is_blank};
use crate::rtk::kit::{Draft, Output};

/// Leaves out the headings of `range` that have lines below them (by indentation) of which none stays.
pub(crate) fn drop_empty_headings(
    out: &Output<'_>,
    draft: &mut Draft,
    range: Range<usize>,
    is_heading: impl Fn(&str) -> bool,
) {
    let mut below: Vec<(usize, bool)> = Vec::new();
    for i in range.rev() {
        let line = out.line(i);
        if is_blank(line) {
            continue;
        }
        let depth = indent(line);
        let (mut any, mut visible) = (false, false);
        while let Some((_, shows)) = below.pop_if(|(d, _)| *d > depth) {
            any = true;
            visible |= shows;
        }
        if any && !visible && draft.stays(i) && is_heading(line) {
            draft.noise(i);
        }
        below.push((depth, visible || draft.stays(i)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rtk::kit::{Level, What};

    #[test]
    fn headings_go_with_their_cases() {
        let out = Output::new("a\n  b\n    ok 1\n\n  c\n    bad\nd\n  ok\nout\n", Level::Standard);
        let mut draft = Draft::new(out.len());
        for i in [2, 7] {
            draft.drop(i, What::PassingTests);
        }
        drop_empty_headings(&out, &mut draft, 0..out.len(), |l| !l.ends_with("bad"));
        let kept: Vec<&str> = (0..out.len()).filter(|i| draft.stays(*i)).map(|i| out.line(i)).collect();
        assert_eq!(kept, ["a", "", "  c", "    bad", "out"]);
    }
}
