//! One trace: which of its frames stay.

use std::collections::HashSet;
use std::ops::Range;

use super::frame::{Frame, frame, is_carets};
use super::library::Origin;
use super::sanitizer::dump;
use crate::rtk::kit::{Draft, Level, Output, What, marker};

/// Longest cycle of a recursion that is looked for.
const MAX_CYCLE: usize = 8;
/// A cycle is folded when it comes at least this often.
const MIN_CYCLES: usize = 3;
/// Frames of the program or a framework at the top that always stay.
const TOP: usize = 4;
/// A line of at most this many bytes is not longer than a marker.
const SHORT_PLACE: usize = 48;
/// Without a frame of the program: this many first and last frames stay.
const BLIND: (usize, usize) = (6, 2);

/// Folds the traces among the lines `range` of an output; the number of traces found.
pub(crate) fn fold_traces(out: &Output<'_>, draft: &mut Draft, range: Range<usize>) -> usize {
    Traces::default().fold(out, draft, range)
}

/// Folds traces and remembers them, so that equal ones are shown once.
#[derive(Debug, Default)]
pub(crate) struct Traces {
    seen: HashSet<u64>,
    frames: Vec<Frame>,
    fates: Vec<Fate>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fate {
    Stay,
    /// Repeats frames before it, as the text at the start of the repeats says.
    Cycle,
    Drop,
}

impl Traces {
    /// Folds the traces among the lines `range`; the number of traces found.
    pub(crate) fn fold(&mut self, out: &Output<'_>, draft: &mut Draft, range: Range<usize>) -> usize {
        let (mut i, end, mut found) = (range.start, range.end.min(out.len()), 0);
        while i < end {
            if let Some(f) = frame(&out.lines, i, !self.frames.is_empty()) {
                i = f.end.min(end);
                self.frames.push(Frame { end: i, place: f.place.min(i.saturating_sub(1)), ..f });
                continue;
            }
            found += self.flush(out, draft);
            let behind = dump(out, draft, i, end);
            found += usize::from(behind > i);
            i = behind.max(i + 1);
        }
        found + self.flush(out, draft)
    }

    /// Decides on the frames of one trace.
    fn flush(&mut self, out: &Output<'_>, draft: &mut Draft) -> usize {
        if self.frames.is_empty() {
            return 0;
        }
        self.fates.clear();
        self.fates.resize(self.frames.len(), Fate::Stay);
        let hash = self.frames.iter().fold(17_u64, |h, f| (h ^ f.key).wrapping_mul(0x9e37_79b9_7f4a_7c15));
        if self.frames.len() > 2 && !self.seen.insert(hash) && out.level > Level::Minimal {
            for (fate, f) in self.fates.iter_mut().zip(&self.frames) {
                *fate = if f.hold { Fate::Stay } else { Fate::Drop };
            }
        } else {
            self.cycles(draft);
            self.choose(out.level);
        }
        self.mark(out, draft);
        let found = usize::from(self.frames.len() > 1);
        self.frames.clear();
        found
    }

    /// Finds runs of equal cycles with a frame of the program; the first one stays.
    fn cycles(&mut self, draft: &mut Draft) {
        let mut i = 0;
        while i < self.frames.len() {
            let best = (1..=MAX_CYCLE).find_map(|period| {
                // A cycle without a frame of the program is left to the dropping of library frames.
                let cycle = self.frames.get(i..i + period)?;
                cycle.iter().any(|f| f.origin == Origin::User).then_some(())?;
                let times = self.times(i, period);
                (times >= MIN_CYCLES).then_some((period, times))
            });
            let Some((period, times)) = best else {
                i += 1;
                continue;
            };
            let repeats = i + period..i + period * times;
            if let Some(fates) = self.fates.get_mut(repeats.clone()) {
                fates.fill(Fate::Cycle);
            }
            if let Some(first) = self.frames.get(repeats.start) {
                draft.insert(first.start, &format!("[rtk: frame cycle of {period} x {times}]"));
            }
            i = repeats.end;
        }
    }

    /// How often the `period` frames at `i` come in a row.
    fn times(&self, i: usize, period: usize) -> usize {
        let same = |n: usize| {
            let (a, b) = (self.frames.get(n), self.frames.get(n + period));
            a.zip(b).is_some_and(|(a, b)| a.key == b.key && !a.hold && !b.hold)
        };
        let equal = (i..).take_while(|n| same(*n)).count();
        equal / period + 1
    }

    /// Drops what is neither at the top nor the program's.
    fn choose(&mut self, level: Level) {
        let limit = level.pick(usize::MAX, 5, TOP);
        let live = |fate: &Fate| *fate != Fate::Cycle;
        let users = self
            .frames
            .iter()
            .zip(&self.fates)
            .filter(|(f, fate)| f.origin == Origin::User && live(fate))
            .count();
        let total = self.fates.iter().filter(|f| live(f)).count();
        let (mut user, mut near, mut seen) = (0, 0, 0);
        for (f, fate) in self.frames.iter().zip(&mut self.fates) {
            if !live(fate) {
                near += usize::from(f.origin != Origin::System);
                continue;
            }
            seen += 1;
            let mut stays = f.hold;
            if f.origin == Origin::User {
                user += 1;
                let last = if f.inner_last { 2 } else { 1 };
                stays |= user <= limit || user + last > users;
            }
            if f.origin != Origin::System {
                near += 1;
                stays |= near <= TOP;
            }
            stays |= users == 0 && (seen <= BLIND.0 || seen + BLIND.1 > total);
            if !stays {
                *fate = Fate::Drop;
            }
        }
    }

    /// Writes the fates into the draft: of a frame that goes, one line is counted and the others go with it.
    fn mark(&self, out: &Output<'_>, draft: &mut Draft) {
        let mut i = 0;
        while let Some(f) = self.frames.get(i) {
            match self.fates.get(i) {
                Some(Fate::Drop) => {
                    let run =
                        self.fates.get(i..).unwrap_or(&[]).iter().take_while(|f| **f == Fate::Drop).count();
                    let gap = self.frames.get(i..i + run).unwrap_or(&[]);
                    let what = if gap.iter().all(|f| f.origin != Origin::User) {
                        What::LibraryFrames
                    } else {
                        What::Frames
                    };
                    leave_out(out, draft, gap, what);
                    i += run;
                    continue;
                }
                Some(Fate::Cycle) => cover(draft, f),
                _ if out.level > Level::Minimal && f.inner_last => {
                    for n in (f.start..f.end).filter(|n| is_carets(out.line(*n).as_bytes())) {
                        draft.noise(n);
                    }
                }
                _ => {}
            }
            i += 1;
        }
    }
}

/// Leaves a run of frames out. Where a line with a place is so short that a gap of its own would be no gain, the run
/// gets its marker here and not from the draft, which looks at each line.
fn leave_out(out: &Output<'_>, draft: &mut Draft, gap: &[Frame], what: What) {
    let text = marker(gap.len() as u64, what, None);
    let bytes = |n: usize| out.line(n).len() + 1;
    let total: usize = gap.iter().flat_map(|f| f.start..f.end).map(bytes).sum();
    if total <= text.len() + 1 {
        return;
    }
    let split = gap.iter().any(|f| f.end - f.start > 1);
    if split && gap.iter().any(|f| bytes(f.place) <= SHORT_PLACE) {
        gap.iter().for_each(|f| cover(draft, f));
        draft.insert(gap.first().map_or(0, |f| f.start), &text);
        return;
    }
    for f in gap {
        cover(draft, f);
        draft.drop_known(f.place, what);
    }
}

fn cover(draft: &mut Draft, f: &Frame) {
    for n in f.start..f.end {
        draft.cover(n);
    }
}
