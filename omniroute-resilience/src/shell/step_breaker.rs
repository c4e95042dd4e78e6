//! The breaker's part in the end of an attempt, and successes that are written together.

use std::sync::atomic::Ordering::Relaxed;

use omniroute_core::{Key, PermitId};

use crate::layers::breaker::{self, Breaker, Reaction, State, Verdict};
use crate::shell::apply::Out;
use crate::shell::core::Core;
use crate::shell::plan::*;
use crate::shell::ticket::Work;
use crate::shell::txn::{Draft, transact};

pub(crate) fn step_breaker(
    core: &Core,
    work: &Work,
    plan: &Plan,
    numbers: &Numbers,
    draft: &mut Draft,
    started: i64,
    out: &mut Out,
) {
    let Some(at) = plan.breaker else { return };
    let ticket = &work.ticket;
    let now = draft.now;
    let (mut breaker, exists) = draft.load::<Breaker>(at);
    let mut report = breaker::Report {
        verdict: Verdict::Success,
        generation: breaker.generation,
        permit: ticket.id,
        connection: numbers.tag,
        started,
        alone_may_open: !numbers.sibling,
        single: numbers.single,
        uncorroborated: work.uncorroborated,
    };
    let mut reaction = breaker.settle(now, &numbers.breaker);
    if matches!(breaker.state, State::Closed | State::Degraded) {
        let own = u32::from(work.success);
        for _ in 0..numbers.pops.saturating_sub(own) {
            report.generation = breaker.generation;
            merge(&mut reaction, breaker.report(&report, now, &numbers.breaker, &core.rng));
        }
    }
    report.verdict = work.verdict;
    report.generation = if exists { ticket.generation.load(Relaxed) } else { breaker.generation };
    merge(&mut reaction, breaker.report(&report, now, &numbers.breaker, &core.rng));
    if reaction.changed {
        let expires = breaker_expires(&breaker, now, &numbers.breaker);
        draft.put(at, &breaker, expires);
    }
    out.breaker = Some((breaker, reaction));
}

/// Writes down the successes that no report has written yet.
pub(crate) async fn flush_successes(core: &Core) {
    let due: Vec<(u32, Key, breaker::Rules, u32)> = {
        let table = core.table();
        let rows = (0..).zip(&table.breakers);
        rows.filter_map(|(index, row)| {
            let pending = row.pending.swap(0, Relaxed);
            (pending > 0).then(|| (index, table.breaker_key(index), row.rules.clone(), pending))
        })
        .collect()
    };
    for (index, key, rules, pending) in due {
        let permit = PermitId { process: core.process, number: 0 };
        let result = transact(&*core.store, vec![key], |draft| {
            let now = draft.now;
            let (mut breaker, _) = draft.load::<Breaker>(0);
            let mut changed = breaker.settle(now, &rules).changed;
            for _ in 0..pending {
                let (verdict, generation) = (Verdict::Success, breaker.generation);
                let report = breaker::Report {
                    verdict,
                    generation,
                    permit,
                    connection: 0,
                    started: now,
                    alone_may_open: false,
                    single: false,
                    uncorroborated: false,
                };
                if matches!(breaker.state, State::Closed | State::Degraded) {
                    changed |= breaker.report(&report, now, &rules, &core.rng).changed;
                }
            }
            if changed {
                let expires = breaker_expires(&breaker, now, &rules);
                draft.put(0, &breaker, expires);
            }
            (breaker, now)
        })
        .await;
        core.heard(&result);
        let now = core.now();
        let table = core.table();
        let Some(row) = table.breakers.get(index as usize) else { continue };
        match result {
            Ok((breaker, store_now)) => row.note(Some(&breaker), store_now, now),
            Err(_) => drop(row.pending.fetch_add(pending, Relaxed)),
        }
    }
}

pub(crate) fn merge(into: &mut Reaction, other: Reaction) {
    into.changed |= other.changed;
    into.late |= other.late;
    into.reclaimed |= other.reclaimed;
    into.transition = match (into.transition, other.transition) {
        (Some((from, _)), Some((_, to))) => Some((from, to)),
        (first, second) => first.or(second),
    };
}

pub(crate) fn breaker_expires(breaker: &Breaker, now: i64, rules: &breaker::Rules) -> Option<i64> {
    if breaker.forced != breaker::Forced::No {
        return None;
    }
    Some(match breaker.state {
        State::Closed => now.saturating_add(rules.window.max(1_800_000)),
        _ => breaker.open_until.max(now).saturating_add(86_400_000),
    })
}
