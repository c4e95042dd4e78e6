//! What production runs: the decisions of the exact mode as marks on a draft, and more lines that stay.
//!
//! The engine's failure guard then puts back every dropped line that tells of an error. Two kinds of rules could get
//! around it, because they write text of their own; both are checked here. A replacement may not lower what a line
//! tells of, and a message for the whole text, or for an empty result, stands only where no line tells of anything.

use std::fmt::Write as _;

use super::Ready;
use super::budget::Piece;
use super::exact::output_hit;
use super::lines::Lines;
use super::steps::{Decisions, Scope, decide};
use crate::rtk::kit::{Draft, Level, Output, Severity, What, location_len, severity, truncate};

/// More-indented lines after a kept one that stay with it.
const CONTINUATION: usize = 12;

/// Marks the draft. At the minimal level only drop lists, collapse and folding act: nothing goes without a count.
pub(crate) fn guarded(filter: Ready<'_>, out: &Output<'_>, draft: &mut Draft) {
    let level = if out.detail { out.level.gentler() } else { out.level };
    let minimal = level == Level::Minimal;
    let mut lines = Lines::new(filter, out.text, &out.lines);
    if !minimal {
        lines.rewrite(filter, out.text.len());
        if let Some(message) = message(filter, out, &lines) {
            draft.drop_range(0..lines.len(), What::Lines);
            draft.insert(0, message);
            return;
        }
    }
    let decisions = decide(filter, &lines, Scope { level, counted_only: minimal, default_budget: false });
    let stays = Stays::new(filter, &lines, &decisions);
    let mut marker = Marker {
        filter,
        lines: &lines,
        draft,
        minimal,
        dropped: &decisions.dropped,
        noise: &decisions.noise,
    };
    marker.mark(&stays);
    if !minimal && stays.nothing(&lines) && may_speak_for_all(filter, out, &lines) {
        let message = filter.def.rules.on_empty.as_deref();
        if let Some(message) = message.filter(|m| m.len() < out.text.len() && !out.text.trim().is_empty()) {
            draft.insert(0, message);
        }
    }
}

/// The message for the whole text, if its rule holds and nothing stands against it.
fn message<'f>(filter: Ready<'f>, out: &Output<'_>, lines: &Lines<'_>) -> Option<&'f str> {
    let rule = output_hit(filter, out.text, lines)?;
    let message = filter.def.rules.match_output.get(rule)?.message.as_str();
    (message.len() < out.text.len() && may_speak_for_all(filter, out, lines)).then_some(message)
}

/// Whether one message may stand for the whole output: it did not fail, is whole, and no line is protected.
fn may_speak_for_all(filter: Ready<'_>, out: &Output<'_>, lines: &Lines<'_>) -> bool {
    let preserve = &filter.compiled.preserve;
    let protected = |i: usize| {
        severity(lines.original(i)) != Severity::None || preserve.is_match(lines.get(i), lines.candidate(i))
    };
    !out.failed() && !out.partial && !(0..lines.len()).any(protected)
}

/// Which lines stay, and how often those that stand for others occurred.
#[derive(Debug)]
struct Stays {
    fates: Vec<Fate>,
    /// `(line, how often)` in the order of lines.
    counts: Vec<(usize, usize)>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fate {
    Drop,
    Keep,
    /// An equal line that stays carries its count.
    Counted,
}

impl Stays {
    fn new(filter: Ready<'_>, lines: &Lines<'_>, decisions: &Decisions) -> Stays {
        let mut fates = vec![Fate::Drop; lines.len()];
        let mut set = |i: usize, fate: Fate| {
            if let Some(slot) = fates.get_mut(i) {
                *slot = fate;
            }
        };
        let mut counts = Vec::new();
        for piece in &decisions.pieces {
            let Piece::Lines { start, len } = *piece else { continue };
            set(start, Fate::Keep);
            // Runs fold in the engine; only lines that a replacement made equal are folded here.
            if len > 1 {
                let others = members(lines, decisions, start, len);
                let fold = others.iter().any(|i| lines.is_changed(*i)) && !lines.get(start).trim().is_empty();
                others.iter().for_each(|i| set(*i, if fold { Fate::Counted } else { Fate::Keep }));
                if fold {
                    counts.push((start, others.len() + 1));
                }
            }
        }
        let mut stays = Stays { fates, counts };
        stays.collapse(decisions);
        stays.add_preserved(filter, lines, decisions);
        stays
    }

    /// Lines that equal an earlier one: counted there if it stays.
    fn collapse(&mut self, decisions: &Decisions) {
        let mut counts: Vec<(usize, usize)> = Vec::new();
        let mut sorted = decisions.collapsed.clone();
        sorted.sort_unstable_by_key(|(line, earlier)| (*earlier, *line));
        for (line, earlier) in sorted {
            if self.fates.get(earlier) != Some(&Fate::Keep) {
                continue;
            }
            if let Some(fate) = self.fates.get_mut(line) {
                *fate = Fate::Counted;
            }
            match counts.last_mut() {
                Some((first, count)) if *first == earlier => *count += 1,
                _ => counts.push((earlier, 2)),
            }
        }
        self.counts.extend(counts);
        self.counts.sort_unstable();
    }

    /// Lines that match `preserve`, and continuations of lines that the keep list kept.
    fn add_preserved(&mut self, filter: Ready<'_>, lines: &Lines<'_>, decisions: &Decisions) {
        let preserve = &filter.compiled.preserve;
        let mut open: Option<(usize, usize)> = None; // indentation of the kept line, lines that may follow
        for i in 0..lines.len() {
            let stays = self.fates.get(i) != Some(&Fate::Drop);
            let line = lines.get(i);
            if stays {
                open = (!decisions.kept.is_empty()).then(|| (indentation(line), CONTINUATION));
                continue;
            }
            let dropped = decisions.dropped.get(i).copied().unwrap_or(false);
            let follows = match open {
                Some((indent, left)) if left > 0 && !line.trim().is_empty() && indentation(line) > indent => {
                    open = Some((indent, left - 1));
                    !dropped
                }
                _ => {
                    open = None;
                    false
                }
            };
            if (follows || preserve.is_match(line, lines.candidate(i)))
                && let Some(fate) = self.fates.get_mut(i)
            {
                *fate = Fate::Keep;
            }
        }
    }

    fn nothing(&self, lines: &Lines<'_>) -> bool {
        self.fates.iter().enumerate().all(|(i, fate)| *fate == Fate::Drop || lines.get(i).trim().is_empty())
    }
}

/// The other lines of a run: the next ones that are left, neither dropped nor collapsed.
fn members(lines: &Lines<'_>, decisions: &Decisions, start: usize, len: usize) -> Vec<usize> {
    let left = |i: &usize| {
        let dropped = decisions.dropped.get(*i).copied().unwrap_or(false);
        let kept = decisions.kept.is_empty() || decisions.kept.get(*i).copied().unwrap_or(false);
        !dropped && kept && decisions.collapsed.binary_search_by_key(i, |(line, _)| *line).is_err()
    };
    (start + 1..lines.len()).filter(left).take(len - 1).collect()
}

fn indentation(line: &str) -> usize {
    line.len() - line.trim_ascii_start().len()
}

struct Marker<'a, 't, 'd> {
    filter: Ready<'a>,
    lines: &'a Lines<'t>,
    draft: &'d mut Draft,
    minimal: bool,
    dropped: &'a [bool],
    noise: &'a [bool],
}

impl Marker<'_, '_, '_> {
    fn mark(&mut self, stays: &Stays) {
        let mut counts = stays.counts.iter().peekable();
        for (i, fate) in stays.fates.iter().enumerate() {
            let count = counts.next_if(|(line, _)| *line == i).map_or(1, |(_, n)| *n);
            match fate {
                Fate::Drop if self.noise.get(i) == Some(&true) => self.draft.noise(i),
                Fate::Drop if self.dropped.get(i) == Some(&true) => {
                    self.draft.drop(i, self.filter.def.rules.counted_as)
                }
                Fate::Drop => self.draft.drop(i, What::Lines),
                Fate::Counted => self.draft.cover(i),
                Fate::Keep => self.show(i, count),
            }
        }
    }

    /// Keeps a line: replaced if that hides nothing, cut if it is too long, with its count.
    fn show(&mut self, i: usize, count: usize) {
        let original = self.lines.original(i);
        let mut line = self.lines.get(i);
        let told = if self.lines.is_changed(i) { severity(original) } else { Severity::None };
        if told > severity_of_changed(self.lines, i) {
            line = original;
        }
        let max = self.filter.def.rules.truncate_at;
        let cut = if max == 0 || self.minimal || line.len() <= max { None } else { self.cut(i, line, max) };
        if count < 2 && cut.is_none() {
            if line != original {
                self.draft.replace(i, line);
            }
            return;
        }
        let mut text = cut.unwrap_or_else(|| line.to_owned());
        if count > 1 {
            let _ = write!(text, " (x{count})");
        }
        self.draft.replace(i, &text);
    }

    /// A protected line keeps the place it starts with, and as much behind it as others have in all.
    fn cut(&self, i: usize, line: &str, max: usize) -> Option<String> {
        let preserve = &self.filter.compiled.preserve;
        let protected = severity(line) != Severity::None || preserve.is_match(line, self.lines.candidate(i));
        let max = if protected { max.saturating_add(location_len(line)) } else { max };
        truncate(line, max, "...")
    }
}

fn severity_of_changed(lines: &Lines<'_>, i: usize) -> Severity {
    if lines.is_changed(i) { severity(lines.get(i)) } else { Severity::None }
}
