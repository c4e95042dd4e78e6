//! Fewer unchanged lines around changes, with headers that stay true.
//!
//! A hunk whose context shrinks gets new ranges; a hunk with a long unchanged stretch between two changes becomes
//! two. What results is a patch that tools still apply. The first line of the original hunk stays in the header, so
//! that both numberings can be found.

use std::fmt::Write as _;

use crate::rtk::kit::{Draft, Output};

use super::hunk::{Header, Side, is_note};

/// An unchanged stretch is cut out only if its lines hold more bytes than another header.
const HEADER: usize = 56;
/// Unchanged lines before the first change go only if they hold more bytes than the note of the old start.
const NOTE: usize = 16;

/// A part of a hunk that is written as a hunk of its own.
struct Part {
    /// Its first line.
    from: usize,
    old: Side,
    new: Side,
}

/// Marks the hunk with its header at `at` and its body up to `end`. At most `context` unchanged lines stay at either
/// side of a change. In a hunk that was `cut` the last lines stay and the last header promises what the old one did.
pub(super) fn reduce(
    out: &Output<'_>,
    draft: &mut Draft,
    at: usize,
    end: usize,
    header: &Header<'_>,
    context: usize,
    cut: bool,
) {
    let first = at + 1;
    let is_context = |i: usize| matches!(out.line(i).as_bytes().first(), Some(b' ') | None);
    let bytes = |a: usize, b: usize| (a..b).map(|i| out.line(i).len() + 1).sum::<usize>();
    let mut old = position(header.old);
    let mut new = position(header.new);
    let mut part =
        Part { from: first, old: Side { start: old, count: 0 }, new: Side { start: new, count: 0 } };
    let (mut i, mut parts, mut reduced) = (first, 0, false);
    while i < end {
        if !is_context(i) {
            match out.line(i).as_bytes().first() {
                Some(b'-') => {
                    old += 1;
                    part.old.count += 1;
                }
                Some(b'+') => {
                    new += 1;
                    part.new.count += 1;
                }
                _ => {}
            }
            draft.pin(i);
            i += 1;
            continue;
        }
        let run = (i..end).take_while(|j| is_context(*j)).count();
        let (head, tail, worth) = if i == first {
            (0, context, NOTE)
        } else if i + run == end && cut {
            (run, 0, 0)
        } else if i + run == end {
            (context, 0, 0)
        } else {
            (context, context, HEADER)
        };
        // The note on a missing line end belongs to the line before it.
        let head = if is_note(out.line(i + run)) { run } else { head.min(run) };
        let gap = (i + head, i + run.saturating_sub(tail).max(head));
        let drops = gap.1 > gap.0 && bytes(gap.0, gap.1) > worth;
        let (kept, gone, behind) = if drops { (head, gap.1 - gap.0, i + run - gap.1) } else { (run, 0, 0) };
        for j in (i..i + kept).chain(i + kept + gone..i + run) {
            draft.pin(j);
        }
        add(&mut part, kept);
        old += (kept + gone) as u64;
        new += (kept + gone) as u64;
        if drops {
            reduced = true;
            (gap.0..gap.1).for_each(|j| draft.cover(j));
            if i > first {
                write(draft, &part, header, parts);
                parts += 1;
            }
            part =
                Part { from: gap.1, old: Side { start: old, count: 0 }, new: Side { start: new, count: 0 } };
            add(&mut part, behind);
            old += behind as u64;
            new += behind as u64;
        }
        i += run;
    }
    if !reduced {
        draft.pin(at);
        return;
    }
    draft.cover(at);
    if cut {
        part.old.count = (position(header.old) + header.old.count).saturating_sub(part.old.start);
        part.new.count = (position(header.new) + header.new.count).saturating_sub(part.new.start);
    }
    if part.from < end {
        write(draft, &part, header, parts);
    }
}

fn add(part: &mut Part, lines: usize) {
    part.old.count += lines as u64;
    part.new.count += lines as u64;
}

/// Number of the next line of a side; the start of an empty side names the line before it.
fn position(side: Side) -> u64 {
    side.start + u64::from(side.count == 0)
}

/// The start that a header names.
fn first_line(side: Side) -> u64 {
    side.start.saturating_sub(u64::from(side.count == 0))
}

/// Writes the header of a part before its first line.
fn write(draft: &mut Draft, part: &Part, header: &Header<'_>, number: usize) {
    draft.insert_with(part.from, |text| {
        text.push_str("@@ -");
        range(text, part.old);
        text.push_str(" +");
        range(text, part.new);
        text.push_str(" @@");
        if number == 0 {
            if first_line(part.old) != header.old.start {
                let _ = write!(text, " (@@ -{})", header.old.start);
            }
            text.push_str(header.section.trim_end());
        }
    });
}

fn range(text: &mut String, side: Side) {
    let _ = match side.count {
        1 => write!(text, "{}", first_line(side)),
        count => write!(text, "{},{count}", first_line(side)),
    };
}
