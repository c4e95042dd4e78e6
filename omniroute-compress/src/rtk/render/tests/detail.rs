//! The detail of a failing case: how much of it is shown, and equal details written once.

use std::collections::HashMap;
use std::ops::Range;

use super::lines::{add_hash, is_blank};
use crate::rtk::kit::{Draft, Output, What};

/// Leaves out what a case says beyond 120, 60 or 25 lines. Lines that tell the cause come first, then two thirds of
/// the rest from the start and one third from the end.
pub(crate) fn cap(out: &Output<'_>, draft: &mut Draft, range: Range<usize>, is_cause: impl Fn(&str) -> bool) {
    let limit = out.level.pick(120, 60, 25);
    if range.len() <= limit {
        return;
    }
    let shown = |draft: &Draft, i: usize| draft.stays(i) && !is_blank(out.line(i));
    let (mut total, mut causes) = (0, 0);
    for i in range.clone().filter(|i| shown(draft, *i)) {
        total += 1;
        causes += usize::from(is_cause(out.line(i)));
    }
    if total <= limit {
        return;
    }
    let budget = limit.saturating_sub(causes).max(6);
    let (head, rest) = (budget - budget / 3, total - causes);
    let tail = rest.saturating_sub(budget / 3);
    let mut seen = 0;
    for i in range {
        if !shown(draft, i) || is_cause(out.line(i)) {
            continue;
        }
        seen += 1;
        if seen > head && seen <= tail {
            draft.drop(i, What::Lines);
        }
    }
}

/// Details of failing cases, to write equal ones once.
#[derive(Debug, Default)]
pub(crate) struct Repeats {
    /// By number of lines and first line: where a detail of that shape was shown whole.
    shown: HashMap<(usize, u64), Range<usize>>,
}

impl Repeats {
    /// Hides the lines of `detail` that are equal to those of a detail that was shown before, at the same place in
    /// it, and says whose they are. Cases of one parametrised test differ in a few lines only: those stay. `owner`
    /// names the case that a line belongs to. False if the detail has to be shown whole.
    pub(crate) fn hide<'t>(
        &mut self,
        out: &Output<'t>,
        draft: &mut Draft,
        detail: Range<usize>,
        owner: impl Fn(usize) -> &'t str,
    ) -> bool {
        let lines = |range: Range<usize>| range.filter(|i| !is_blank(out.line(*i)));
        let count = lines(detail.clone()).count();
        let Some(shape) = lines(detail.clone()).map(|i| shape(out.line(i))).next() else { return false };
        let Some(before) = self.shown.get(&(count, shape)).cloned() else {
            self.shown.insert((count, shape), detail);
            return false;
        };
        let equal = |(a, b): &(usize, usize)| out.line(*a).trim_end() == out.line(*b).trim_end();
        let same = lines(before.clone()).zip(lines(detail.clone())).filter(equal).count();
        if count < 3 || same * 5 < count * 3 || count - same > 12 {
            return false;
        }
        for (_, i) in lines(before.clone()).zip(lines(detail.clone())).filter(equal) {
            draft.cover(i);
        }
        for i in detail.clone().filter(|i| is_blank(out.line(*i))) {
            draft.noise(i);
        }
        draft.insert_with(detail.start, |text| {
            text.push_str("    (as ");
            text.push_str(owner(before.start));
            text.push_str(if same == count { ")" } else { ", but:)" });
        });
        true
    }
}

/// The start of a line up to the first sign that differs between cases: enough to find candidates.
fn shape(line: &str) -> u64 {
    let end = line.bytes().position(|b| matches!(b, b'=' | b'\'' | b'"' | b':') || b.is_ascii_digit());
    add_hash(0, line.get(..end.unwrap_or(line.len())).unwrap_or(line))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rtk::kit::Level;

    #[test]
    fn cause_lines_come_first() {
        let text: String =
            (0..100).map(|n| if n == 70 { "E  cause\n".into() } else { format!("detail {n}\n") }).collect();
        let out = Output::new(&text, Level::Standard);
        let mut draft = Draft::new(out.len());
        cap(&out, &mut draft, 0..out.len(), |l| l.starts_with("E "));
        assert_eq!((0..100).filter(|i| draft.stays(*i)).count(), 60);
        assert!(draft.stays(0) && draft.stays(70) && draft.stays(99) && !draft.stays(60));
        let mut draft = Draft::new(out.len());
        cap(&out, &mut draft, 0..60, |_| false);
        assert!(draft.is_untouched());
    }

    #[test]
    fn equal_details_are_written_once() {
        let out = Output::new(
            "x = 1\nsource of it\n\nE  differs 1\nx = 2\nsource of it\nE  differs 2\nmore\nlines\n",
            Level::Standard,
        );
        let mut draft = Draft::new(out.len());
        let mut repeats = Repeats::default();
        assert!(!repeats.hide(&out, &mut draft, 0..4, |_| "t[1]"));
        assert!(!repeats.hide(&out, &mut draft, 4..7, |_| "t[1]"), "too much differs");
        let text = "a\nb\nc\nE 1\nd\na\nb\nc\nE 2\nd\n";
        let out = Output::new(text, Level::Standard);
        let mut draft = Draft::new(out.len());
        let mut repeats = Repeats::default();
        assert!(!repeats.hide(&out, &mut draft, 0..5, |_| "t[1]"));
        assert!(repeats.hide(&out, &mut draft, 5..10, |_| "t[1]"));
        let kept: Vec<&str> = (5..10).filter(|i| draft.stays(*i)).map(|i| out.line(i)).collect();
        assert_eq!(kept, ["E 2"]);
        assert_eq!(draft.inserts().next(), Some((5, "    (as t[1], but:)")));
    }
}
