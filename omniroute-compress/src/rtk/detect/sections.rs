//! Splits the output of several commands where the text shows the boundary.
//!
//! Known separator lines and the anchors of the commands' classes are aligned with the commands. What lies between two
//! of them goes to the command whose edge is certain, or to the one command in between that has no anchors; what cannot
//! be told apart is unknown.

use super::align::{self, Owner, Run};
use super::board::{Board, EVERY, FIRST, LAST, OWN_LAST, Rule, STRUCTURAL, rules};
use super::classes::{self, Class, DIFFS};
use super::command;
use super::item::{Expect, Item};
use super::judge::{Parts, judge};
use super::model::Detection;
use super::needle::Needle;
use super::rules as anchors;
use super::runner;
use super::words::Lookup;
use crate::shell::lex;

/// Most runs that are aligned.
const MAX_RUNS: usize = 1024;
/// Deepest chain of scripts that start scripts.
const MAX_CHAIN: usize = 4;
/// What one known line weighs against anchors.
const KNOWN_LINE: u32 = 64;

/// The sections of `text`.
pub(super) fn split(items: &[Item], text: &str, is_command: &Lookup<'_>, depth: usize) -> Parts {
    let seen = See::new(items, text, is_command).look(text);
    let owners = if seen.runs.len() > MAX_RUNS { Vec::new() } else { align::align(&seen.runs, items.len()) };
    let mut extents: Vec<Extent> = Vec::new();
    let mut unsure: Vec<usize> = Vec::new();
    for (run, owner) in seen.runs.iter().zip(owners) {
        match owner {
            Owner::Nobody => {}
            Owner::Unsure => unsure.push(run.first),
            Owner::Item(item) => {
                let closes = run.closes >> item & 1 == 1;
                match extents.last_mut() {
                    Some(last) if last.item == Some(item) => (last.end, last.closes) = (run.last + 1, closes),
                    _ => extents.push(Extent {
                        item: Some(item),
                        start: run.first,
                        end: run.last + 1,
                        opens: run.opens >> item & 1 == 1,
                        closes,
                    }),
                }
            }
        }
    }
    let plan = fill(items, &seen, extents, &unsure);
    let mut parts = Parts::new();
    for (item, start, end) in plan {
        let (Some(from), Some(to)) = (seen.starts.get(start).copied(), seen.starts.get(end).copied()) else {
            continue;
        };
        let Some(part) = text.get(from..to).filter(|part| !part.is_empty()) else { continue };
        match item.and_then(|item| items.get(item)) {
            Some(item) => {
                let found = judge(item, part, is_command, depth);
                parts.extend(
                    found
                        .into_iter()
                        .map(|(range, detection)| (range.start + from..range.end + from, detection)),
                );
            }
            None => parts.push((from..to, Detection::unknown())),
        }
    }
    parts
}

/// Lines `start..end` that are one item's.
#[derive(Debug, Clone, Copy)]
struct Extent {
    item: Option<usize>,
    start: usize,
    end: usize,
    opens: bool,
    closes: bool,
}

/// Gives the lines between the extents away; the result covers all lines in order.
fn fill(
    items: &[Item],
    seen: &Seen,
    mut extents: Vec<Extent>,
    unsure: &[usize],
) -> Vec<(Option<usize>, usize, usize)> {
    let lines = seen.starts.len().saturating_sub(1);
    let count = extents.len();
    let mut between: Vec<(usize, Extent)> = Vec::new();
    for at in 0..=count {
        let before = at.checked_sub(1).and_then(|at| extents.get(at)).copied();
        let after = extents.get(at).copied();
        let (mut start, end) =
            (before.map_or(0, |extent| extent.end), after.map_or(lines, |extent| extent.start));
        while start < end && seen.blank.get(start).copied().unwrap_or(false) {
            start += 1;
        }
        if let Some(before) = at.checked_sub(1).and_then(|at| extents.get_mut(at)) {
            before.end = start;
        } else {
            start = 0;
        }
        if start >= end || at == 0 && (start..end).all(|line| seen.blank.get(line).copied().unwrap_or(false))
        {
            if let Some(after) = extents.get_mut(at) {
                after.start = start.min(after.start);
            }
            continue;
        }
        let from = before.and_then(|extent| extent.item).map_or(0, |item| item + 1);
        let to = after.and_then(|extent| extent.item).unwrap_or(items.len());
        let missing: Vec<usize> = (from..to)
            .filter(|item| items.get(*item).is_some_and(|item| !item.quiet && !item.is_separator()))
            .collect();
        let sharp = (before.is_none_or(|extent| extent.closes), after.is_none_or(|extent| extent.opens));
        let doubtful = unsure.iter().any(|line| (start..end).contains(line));
        let alike = missing.first().filter(|first| {
            missing.iter().all(|item| match (items.get(**first), items.get(*item)) {
                (Some(first), Some(item)) => first.alike(item),
                _ => false,
            })
        });
        let gap = Extent { item: None, start, end, opens: false, closes: false };
        match (alike, missing.is_empty(), sharp) {
            _ if doubtful => between.push((at, gap)),
            (Some(item), _, (true, true)) => between.push((at, Extent { item: Some(*item), ..gap })),
            (None, true, (true, false)) => extend_start(&mut extents, at, start),
            (None, true, (true, true)) if before.is_none() && after.is_some() => {
                extend_start(&mut extents, at, start)
            }
            (None, true, (true, true)) if after.is_none() => extend_end(&mut extents, at, end),
            (None, true, (false, true)) => extend_end(&mut extents, at, end),
            _ => between.push((at, gap)),
        }
    }
    let mut plan = Vec::with_capacity(count + between.len());
    let mut gaps = between.into_iter().peekable();
    for at in 0..=count {
        while let Some((_, gap)) = gaps.next_if(|(position, _)| *position == at) {
            plan.push((gap.item, gap.start, gap.end));
        }
        if let Some(extent) = extents.get(at) {
            plan.push((extent.item, extent.start, extent.end));
        }
    }
    plan
}

fn extend_start(extents: &mut [Extent], at: usize, start: usize) {
    if let Some(extent) = extents.get_mut(at) {
        extent.start = start;
    }
}

fn extend_end(extents: &mut [Extent], at: usize, end: usize) {
    if let Some(extent) = at.checked_sub(1).and_then(|at| extents.get_mut(at)) {
        extent.end = end;
    }
}

rules! {
    INSIDE = GitDiff 30 Line "line of a hunk" EVERY;
}
#[cfg(test)]
const _: &[&Rule] = ALL;

/// What is looked for.
struct See<'i> {
    items: &'i [Item],
    accepts: Vec<classes::Set>,
    mains: Vec<Option<Class>>,
    needles: Vec<(usize, Needle)>,
}

/// What was found.
#[derive(Debug, Default)]
struct Seen {
    runs: Vec<Run>,
    /// Byte offset of every line, and of the end.
    starts: Vec<usize>,
    blank: Vec<bool>,
}

impl<'i> See<'i> {
    fn new(items: &'i [Item], text: &str, is_command: &Lookup<'_>) -> Self {
        let needles = items.iter().enumerate().filter_map(|(index, item)| match &item.expect {
            Expect::Separator(needle) => Some((index, needle.clone())),
            _ => command::banner(item).map(|needle| (index, needle)),
        });
        let mut see = Self {
            items,
            accepts: items.iter().map(Item::accepts).collect(),
            mains: items.iter().map(|item| item.id().and_then(classes::main_class)).collect(),
            needles: needles.collect(),
        };
        see.announced(text, is_command);
        see
    }

    /// Package scripts print what the commands print that their banners announce.
    fn announced(&mut self, text: &str, is_command: &Lookup<'_>) {
        let scripts = self.items.iter().map(|item| match &item.expect {
            Expect::Runner { script, .. } => script.clone(),
            _ => None,
        });
        let scripts: Vec<Option<String>> = scripts.collect();
        if scripts.iter().all(Option::is_none) {
            return;
        }
        let banners = runner::banners(text);
        for ((script, accepts), main) in scripts.into_iter().zip(&mut self.accepts).zip(&mut self.mains) {
            let mut script = script;
            for _ in 0..MAX_CHAIN {
                let Some(banner) = banners.iter().find(|banner| script.as_deref() == Some(banner.script))
                else {
                    break;
                };
                let parsed = lex::parse(banner.command);
                let inner = command::items(&parsed, is_command).unwrap_or_default();
                *accepts |= inner.iter().fold(0, |set, item| set | item.accepts());
                *main = inner.last().and_then(Item::id).and_then(classes::main_class);
                script = inner.iter().rev().find_map(|item| match &item.expect {
                    Expect::Runner { script, .. } => script.clone(),
                    _ => None,
                });
            }
        }
    }

    /// One pass over the lines. Lines inside a hunk are counted off, so that what they quote is no anchor.
    fn look(&self, text: &str) -> Seen {
        let mut seen = Seen::default();
        let mut board = Board::new(true);
        let wanted = self.accepts.iter().fold(0, |all, set| all | set);
        let diffs = self.accepts.iter().any(|set| set & DIFFS != 0);
        let (mut old, mut new) = (0_u32, 0_u32);
        let (mut at, mut before): (usize, &[u8]) = (0, b"");
        for (number, line) in text.as_bytes().split_inclusive(|byte| *byte == b'\n').enumerate() {
            seen.starts.push(at);
            at += line.len();
            let raw = line.trim_ascii_end();
            seen.blank.push(raw.is_empty());
            if old + new > 0 {
                if let Some((o, n)) = hunk_line(raw) {
                    (old, new) = (old.saturating_sub(o), new.saturating_sub(n));
                    self.note(&mut seen, number, &[&INSIDE]);
                    before = raw;
                    continue;
                }
                (old, new) = (0, 0);
            }
            if raw.is_empty() {
                before = raw;
                continue;
            }
            let known = self
                .needles
                .iter()
                .filter(|(_, needle)| needle.is(raw))
                .fold(0_u32, |mask, (item, _)| mask | 1 << item);
            if known != 0 {
                let single = known & self.separators() == known;
                seen.runs.push(Run {
                    items: known,
                    weight: KNOWN_LINE,
                    single,
                    first: number,
                    last: number,
                    opens: known,
                    closes: self.separators() & known,
                });
                before = raw;
                continue;
            }
            if diffs && let Some(counts) = anchors::hunk_counts(raw) {
                (old, new) = counts;
            }
            anchors::scan(raw, before, 0, wanted, &mut board);
            if let Some(events) = &mut board.events {
                let rules: Vec<&'static Rule> = events.drain(..).map(|event| event.rule).collect();
                self.note(&mut seen, number, &rules);
            }
            before = raw;
        }
        seen.starts.push(at);
        seen
    }

    fn separators(&self) -> u32 {
        self.items
            .iter()
            .enumerate()
            .filter(|(_, item)| item.is_separator())
            .fold(0, |mask, (index, _)| mask | 1 << index)
    }

    /// Puts the rules that matched on one line into the runs.
    fn note(&self, seen: &mut Seen, line: usize, rules: &[&'static Rule]) {
        let (mut items, mut opens, mut closes, mut weight) = (0_u32, 0_u32, 0_u32, 1);
        for rule in rules {
            for (index, accepts) in self.accepts.iter().enumerate() {
                if accepts & rule.class.bit() == 0 {
                    continue;
                }
                let bit = 1_u32 << index;
                items |= bit;
                if rule.flags & (FIRST | EVERY) != 0 {
                    opens |= bit;
                }
                let main = self.mains.get(index).copied().flatten() == Some(rule.class);
                if rule.flags & (LAST | EVERY) != 0 || rule.flags & OWN_LAST != 0 && main {
                    closes |= bit;
                }
                if rule.flags & STRUCTURAL != 0 {
                    weight = 4;
                }
            }
        }
        if items == 0 {
            return;
        }
        let full = seen.runs.len() > MAX_RUNS;
        match seen.runs.last_mut() {
            Some(run) if run.items == items && !run.single => {
                (run.last, run.closes) = (line, closes);
                run.weight = run.weight.saturating_add(weight).min(1 << 20);
            }
            _ if full => {}
            _ => seen.runs.push(Run { items, weight, single: false, first: line, last: line, opens, closes }),
        }
    }
}

/// What a line of a hunk counts for on the old and the new side.
fn hunk_line(raw: &[u8]) -> Option<(u32, u32)> {
    match raw.first() {
        None | Some(b' ') => Some((1, 1)),
        Some(b'-') => Some((1, 0)),
        Some(b'+') => Some((0, 1)),
        Some(b'\\') => Some((0, 0)),
        _ => None,
    }
}
