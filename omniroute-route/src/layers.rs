//! What may still change an order after the strategy: a session's connection, a prefix's connection, what worked last.
//! A weaker rule only chooses among what a stronger one calls equal.

use omniroute_core::route::{
    Candidates, Layer, Owns, Pick, Reason, RouteContext, Sequence, StrategyTraits, Why,
};

use crate::gates::{Behind, Gates};
use crate::last_good::LastGood;
use crate::strategies::cache_optimized::owner;

/// Applies the rules to an order; each pick says which of them put it where it is.
pub(crate) fn apply(
    cx: &RouteContext<'_>,
    candidates: &Candidates<'_>,
    traits: StrategyTraits,
    last_good: &LastGood,
    gates: &Gates,
    sequence: &mut Sequence,
) {
    if traits.many {
        return;
    }
    let explored = sequence.picks.first().is_some_and(|pick| pick.why.reason == Reason::Explored);
    if !explored {
        let pinned = cx.options.session_affinity && session(cx, candidates, traits, sequence);
        if !pinned && cx.options.cache_affinity && !traits.by_prefix && pin(cx).is_none() {
            prefix(cx, candidates, sequence);
        }
        if !pinned && cx.options.last_good && traits.scored && traits.owns == Owns::Nothing {
            last(cx, candidates, last_good, sequence);
        }
    }
    if gates.some_uncertain && traits.owns == Owns::Nothing {
        put_behind(gates, Behind::Uncertain, sequence);
    } else if gates.some_uncertain {
        inside_steps(candidates, gates, sequence);
    }
    if gates.some_full {
        put_behind(gates, Behind::Full, sequence);
    }
    if candidates.len() == 1 {
        if let Some(pick) = sequence.picks.first_mut() {
            pick.why.layer = Layer::Gates;
        }
    } else if cx.request.connection.is_some()
        && let Some(pick) = sequence.picks.first_mut()
    {
        pick.why.layer = Layer::Request;
    }
}

fn pin<'a>(cx: &RouteContext<'a>) -> Option<&'a (omniroute_core::ProviderId, omniroute_core::ConnectionId)> {
    cx.session?.pin.as_ref()
}

/// The session's connection: inside the steps where the strategy owns their order, else to the front.
fn session(
    cx: &RouteContext<'_>,
    candidates: &Candidates<'_>,
    traits: StrategyTraits,
    sequence: &mut Sequence,
) -> bool {
    let Some((provider, connection)) = pin(cx) else { return false };
    let entries = candidates.pool().entries();
    let pinned = |pick: &Pick| {
        let target = &entries[pick.candidate as usize].target;
        target.provider == *provider && target.connection == *connection
    };
    let Some(at) = sequence.picks.iter().position(pinned) else { return false };
    let (at, to) = match traits.owns {
        Owns::Nothing => {
            // A request that ends with a tool's result stays with its model, too.
            let last = cx.session.filter(|session| session.tool_result_tail).and_then(|s| s.last.as_ref());
            let same = |pick: &Pick| pinned(pick) && last == Some(&entries[pick.candidate as usize].target);
            (sequence.picks.iter().position(same).unwrap_or(at), 0)
        }
        Owns::Steps => {
            let step = entries[sequence.picks[at].candidate as usize].step;
            (at, first_of_step(candidates, sequence, step))
        }
    };
    bring(sequence, at, to, Why::of(Layer::Session, Reason::Named));
    to == 0
}

/// The connection whose cache may know the request's beginning, inside the first step.
fn prefix(cx: &RouteContext<'_>, candidates: &Candidates<'_>, sequence: &mut Sequence) {
    let Some(key) = cx.request.prefix_key.as_deref() else { return };
    let Some(first) = sequence.picks.first() else { return };
    let entries = candidates.pool().entries();
    let step = entries[first.candidate as usize].step;
    let members = sequence.picks.iter().filter(|pick| entries[pick.candidate as usize].step == step);
    if members.clone().nth(1).is_none() {
        return;
    }
    let winner = owner(key, candidates, members.map(|pick| pick.candidate));
    let at = winner.and_then(|winner| sequence.picks.iter().position(|pick| pick.candidate == winner));
    if let Some(at) = at.filter(|at| *at > 0) {
        bring(sequence, at, 0, Why::of(Layer::PrefixCache, Reason::Prefix));
    }
}

/// What worked last, among those whose score is exactly that of the first.
fn last(cx: &RouteContext<'_>, candidates: &Candidates<'_>, last_good: &LastGood, sequence: &mut Sequence) {
    let Some(first) = sequence.picks.first() else { return };
    let score = first.score;
    if sequence.picks.get(1).is_none_or(|second| second.score != score) {
        return;
    }
    let Some(position) = last_good.position(cx, candidates) else { return };
    let index = candidates.indices()[position];
    let at = sequence.picks.iter().position(|pick| pick.candidate == index && pick.score == score);
    if let Some(at) = at {
        bring(sequence, at, 0, Why::of(Layer::LastGood, Reason::LastGood));
    }
}

/// Moves one pick forward and gives it the reason, keeping its score.
fn bring(sequence: &mut Sequence, at: usize, to: usize, why: Why) {
    let top = sequence.picks[at].why.top;
    sequence.picks[to..=at].rotate_right(1);
    sequence.picks[to].why = Why { top, ..why };
}

fn first_of_step(candidates: &Candidates<'_>, sequence: &Sequence, step: u32) -> usize {
    let entries = candidates.pool().entries();
    let of_step = |pick: &Pick| entries[pick.candidate as usize].step == step;
    sequence.picks.iter().position(of_step).unwrap_or(0)
}

/// Those that stand behind go to the end, in their order.
fn put_behind(gates: &Gates, what: Behind, sequence: &mut Sequence) {
    let stands = |pick: &Pick| gates.behind[pick.candidate as usize] == what;
    if sequence.picks.first().is_some_and(stands) {
        let reason = if what == Behind::Full { Reason::Room } else { Reason::Certain };
        if let Some(next) = sequence.picks.iter_mut().find(|pick| !stands(pick)) {
            next.why = Why { top: next.why.top, ..Why::of(Layer::Gates, reason) };
        }
    }
    sequence.picks.sort_by_key(stands);
}

/// The same, but nobody leaves its step.
fn inside_steps(candidates: &Candidates<'_>, gates: &Gates, sequence: &mut Sequence) {
    let entries = candidates.pool().entries();
    let step = |pick: &Pick| entries[pick.candidate as usize].step;
    for group in sequence.picks.chunk_by_mut(|a, b| step(a) == step(b)) {
        group.sort_by_key(|pick| gates.behind[pick.candidate as usize] == Behind::Uncertain);
    }
}
