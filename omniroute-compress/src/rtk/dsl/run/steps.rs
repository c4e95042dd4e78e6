//! The steps that decide about lines: drop, keep, collapse, deduplicate, budget. Both modes read their result.

use std::collections::HashMap;

use super::Ready;
use super::budget::{self, Limits, Piece};
use super::lines::Lines;
use crate::rtk::kit::Level;

/// Runs of at least this many equal lines fold.
const MIN_RUN: usize = 3;

/// What the steps found.
#[derive(Debug)]
pub(crate) struct Decisions {
    /// Lines that match a drop or noise pattern; empty if there is none.
    pub(crate) dropped: Vec<bool>,
    /// Lines that match a noise pattern; empty if there is none.
    pub(crate) noise: Vec<bool>,
    /// Lines that match a keep pattern; empty if the keep list is not in force.
    pub(crate) kept: Vec<bool>,
    /// Lines that repeat an earlier one and match a collapse pattern: `(line, the earlier one)`, in order.
    pub(crate) collapsed: Vec<(usize, usize)>,
    /// What is left, with gaps.
    pub(crate) pieces: Vec<Piece>,
}

/// Which steps run.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Scope {
    pub(crate) level: Level,
    /// Without a keep list and a budget: only what can be counted goes.
    pub(crate) counted_only: bool,
    /// Budget for filters that give none, as their authors know it.
    pub(crate) default_budget: bool,
}

/// Decides about all lines.
pub(crate) fn decide(filter: Ready<'_>, lines: &Lines<'_>, scope: Scope) -> Decisions {
    let compiled = filter.compiled;
    let every = |set: &super::super::compile::LineSet| -> Vec<bool> {
        if set.is_empty() {
            return Vec::new();
        }
        (0..lines.len()).map(|i| set.is_match(lines.get(i), lines.candidate(i))).collect()
    };
    let is = |marks: &[bool], i: usize| marks.get(i).copied().unwrap_or(false);
    let noise = every(&compiled.noise);
    let mut dropped = every(&compiled.drop);
    if dropped.is_empty() {
        dropped.clone_from(&noise);
    } else {
        dropped.iter_mut().zip(&noise).for_each(|(d, n)| *d |= n);
    }
    let mut kept = if scope.counted_only || compiled.keep.is_empty() {
        Vec::new()
    } else {
        let hit = |i: usize| !is(&dropped, i) && compiled.keep.is_match(lines.get(i), lines.candidate(i));
        (0..lines.len()).map(hit).collect()
    };
    if !kept.contains(&true) {
        kept = Vec::new(); // a keep list without a match is not in force
    }
    let mut live: Vec<usize> =
        (0..lines.len()).filter(|i| !is(&dropped, *i) && (kept.is_empty() || is(&kept, *i))).collect();
    let collapsed = collapse(filter, lines, &mut live);
    let runs = deduplicate(filter, lines, &live);
    let pieces = if scope.counted_only {
        runs.into_iter().map(|(start, len)| Piece::Lines { start, len }).collect()
    } else {
        let limits = Limits::of(filter.def, scope.level, scope.default_budget);
        let preserved = |run: usize| {
            let line = runs.get(run).and_then(|(start, _)| live.get(*start)).copied().unwrap_or(0);
            compiled.preserve.is_match(lines.get(line), lines.candidate(line))
        };
        budget::apply(&limits, &runs, preserved)
    };
    let pieces = pieces.into_iter().map(|piece| piece.resolve(&live)).collect();
    Decisions { dropped, noise, kept, collapsed, pieces }
}

/// Takes later lines that equal an earlier one out of `live`, where both match a collapse pattern.
fn collapse(filter: Ready<'_>, lines: &Lines<'_>, live: &mut Vec<usize>) -> Vec<(usize, usize)> {
    let mut collapsed = Vec::new();
    if filter.compiled.collapse.is_empty() {
        return collapsed;
    }
    let mut first: HashMap<&str, usize> = HashMap::new(); // looked up only, never walked through
    live.retain(|&i| {
        let line = lines.get(i);
        if !filter.compiled.collapse.is_match(line, lines.candidate(i)) {
            return true;
        }
        let earlier = *first.entry(line.trim()).or_insert(i);
        if earlier != i {
            collapsed.push((i, earlier));
        }
        earlier == i
    });
    collapsed
}

/// Runs of equal lines as `(first, number)` in `live`; of length 1 where nothing folds.
fn deduplicate(filter: Ready<'_>, lines: &Lines<'_>, live: &[usize]) -> Vec<(usize, usize)> {
    let mut runs = Vec::with_capacity(live.len());
    let on = filter.def.rules.deduplicate;
    let mut start = 0;
    while let Some(&first) = live.get(start) {
        let line = lines.get(first);
        let blank = line.trim_ascii().is_empty();
        let same = |i: &&usize| {
            let other = lines.get(**i);
            if blank { other.trim_ascii().is_empty() } else { other == line }
        };
        let len =
            if on { live.get(start..).unwrap_or(&[]).iter().take_while(same).count().max(1) } else { 1 };
        if len >= MIN_RUN || blank {
            runs.push((start, len));
        } else {
            runs.extend((start..start + len).map(|i| (i, 1)));
        }
        start += len;
    }
    runs
}
