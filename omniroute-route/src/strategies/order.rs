//! What nearly every strategy needs: rank order, one first and the rest by rank, best first with ties by rank.

use std::cmp::Ordering;

use omniroute_core::route::{
    Candidates, Columns, Layer, Pick, Plan, Reason, RouteContext, RouteError, RouteErrorKind, Sequence, Why,
};

/// The error for no candidates.
pub(crate) fn nothing(strategy: &str) -> RouteError {
    let message = format!("strategy {strategy} has no candidate to choose from");
    RouteError::new(RouteErrorKind::NoExecutableTargets, message)
}

/// Number of picks to list, at least one.
pub(crate) fn depth(cx: &RouteContext<'_>, candidates: &Candidates<'_>) -> usize {
    cx.options.depth.clamp(1, candidates.len().max(1))
}

/// All by rank.
pub(crate) fn by_rank(cx: &RouteContext<'_>, candidates: &Candidates<'_>, reason: Reason) -> Sequence {
    let depth = depth(cx, candidates);
    let why = Why::strategy(reason);
    let picks = candidates.indices().iter().take(depth).map(|index| Pick::new(*index, why)).collect();
    Sequence::new(picks, candidates.len() - depth)
}

/// The one at `position` first, the others by rank.
pub(crate) fn first_then_rank(
    cx: &RouteContext<'_>,
    candidates: &Candidates<'_>,
    position: usize,
    reason: Reason,
) -> Sequence {
    let depth = depth(cx, candidates);
    let indices = candidates.indices();
    let mut picks = Vec::with_capacity(depth);
    picks.push(Pick::new(indices[position], Why::strategy(reason)));
    let rest = Why::strategy(Reason::Rank);
    let others = indices.iter().enumerate().filter(|(at, _)| *at != position);
    picks.extend(others.take(depth - 1).map(|(_, index)| Pick::new(*index, rest)));
    Sequence::new(picks, candidates.len() - depth)
}

/// An order of positions that was already decided.
pub(crate) fn listed(
    cx: &RouteContext<'_>,
    candidates: &Candidates<'_>,
    positions: impl Iterator<Item = usize>,
    reason: Reason,
) -> Sequence {
    let depth = depth(cx, candidates);
    let why = Why::strategy(reason);
    let mut picks = Vec::with_capacity(depth);
    picks.extend(positions.take(depth).map(|position| Pick::new(candidates.indices()[position], why)));
    Sequence::new(picks, candidates.len() - depth)
}

/// Highest score first, ties by rank. `score` gets the index in the pool; a score that is no number comes last.
pub(crate) fn best(
    cx: &RouteContext<'_>,
    candidates: &Candidates<'_>,
    reason: Reason,
    score: impl FnMut(usize) -> f32,
) -> Sequence {
    best_rotating(cx, candidates, reason, score, |best| best, false)
}

/// Highest score first; those whose score is at least `band(best)` take turns by ticket if `rotate` says so.
pub(crate) fn best_rotating(
    cx: &RouteContext<'_>,
    candidates: &Candidates<'_>,
    reason: Reason,
    mut score: impl FnMut(usize) -> f32,
    band: impl Fn(f32) -> f32,
    rotate: bool,
) -> Sequence {
    let mut scores = cx.scratch.scores.borrow_mut();
    scores.clear();
    scores.extend(candidates.indices().iter().map(|index| finite(score(*index as usize))));
    ranked(
        cx,
        candidates,
        &scores,
        |position, score| {
            let why = if position == 0 || score > f32::MIN { reason } else { Reason::Rank };
            Why::strategy(why)
        },
        band,
        rotate,
    )
}

/// Orders by given scores, one per position; see [`best_rotating`].
pub(crate) fn ranked(
    cx: &RouteContext<'_>,
    candidates: &Candidates<'_>,
    scores: &[f32],
    why: impl Fn(usize, f32) -> Why,
    band: impl Fn(f32) -> f32,
    rotate: bool,
) -> Sequence {
    let depth = depth(cx, candidates);
    let mut order = cx.scratch.order.borrow_mut();
    order.clear();
    order.extend(0..u32::try_from(scores.len()).unwrap_or(u32::MAX));
    let by_score = |a: &u32, b: &u32| better(scores, *a, *b);
    let mut first = 0;
    if rotate {
        let top = scores.iter().copied().max_by(f32::total_cmp).unwrap_or(f32::MIN);
        let floor = band(top);
        let leaders = partition(&mut order, |position| top > f32::MIN && scores[*position as usize] >= floor);
        if leaders > 1 {
            order[..leaders].sort_unstable_by(by_score);
            let turn = usize::try_from(cx.ticket % leaders as u64).unwrap_or(0);
            order[..leaders].rotate_left(turn);
            first = leaders;
        }
    }
    if first < depth {
        let rest = &mut order[first..];
        let wanted = depth - first;
        if wanted < rest.len() {
            rest.select_nth_unstable_by(wanted - 1, by_score);
        }
        let sorted = wanted.min(rest.len());
        rest[..sorted].sort_unstable_by(by_score);
    }
    let indices = candidates.indices();
    let mut picks = Vec::with_capacity(depth);
    picks.extend(order.iter().take(depth).map(|position| {
        let position = *position as usize;
        Pick::scored(indices[position], scores[position], why(position, scores[position]))
    }));
    if let [a, b, ..] = picks.as_mut_slice()
        && a.score == b.score
        && first < 2
    {
        a.why.layer = Layer::Rank;
    }
    Sequence::new(picks, candidates.len() - depth)
}

/// A plan of a sequence, or the error for no candidates.
pub(crate) fn sequence(
    strategy: &str,
    candidates: &Candidates<'_>,
    make: impl FnOnce() -> Sequence,
) -> Result<Plan, RouteError> {
    if candidates.is_empty() { Err(nothing(strategy)) } else { Ok(Plan::Sequence(make())) }
}

/// A number for sorting: what is none is the smallest.
pub(crate) fn finite(score: f32) -> f32 {
    if score.is_finite() { score } else { f32::MIN }
}

/// From 0 to 1; what is no number is 0.
#[inline]
pub(crate) fn clamp01(value: f32) -> f32 {
    if value.is_nan() { 0.0 } else { value.clamp(0.0, 1.0) }
}

/// A known number, or the one for unknown.
#[inline]
pub(crate) fn known(value: f32, unknown: f32) -> f32 {
    if value.is_finite() { value } else { unknown }
}

/// Attempts that may run on a candidate's connection: its limit, or what is usual where none is set.
pub(crate) fn usual_cap(columns: &Columns, index: usize) -> u32 {
    const USUAL: u32 = 3;
    match columns.cap[index] {
        u32::MAX => USUAL,
        cap => cap,
    }
}

fn better(scores: &[f32], a: u32, b: u32) -> Ordering {
    scores[b as usize].total_cmp(&scores[a as usize]).then(a.cmp(&b))
}

/// Brings those that are meant to the front, in no particular order; says how many they are.
fn partition(order: &mut [u32], mut meant: impl FnMut(&u32) -> bool) -> usize {
    let mut front = 0;
    for at in 0..order.len() {
        if meant(&order[at]) {
            order.swap(at, front);
            front += 1;
        }
    }
    front
}
