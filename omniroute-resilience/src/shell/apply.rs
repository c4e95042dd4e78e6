//! The end of an attempt, written down in one commit: connection, breaker, locks, and what was held.

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use omniroute_core::{Moment, Spend, StoreError, Unit};

use crate::layers::breaker::{Breaker, Reaction, Verdict};
use crate::layers::connection::{self, Connection, Hit, Reason, Seen, Wait};
use crate::layers::effect::Reach;
use crate::layers::lockout::{self, Lock};
use crate::limits::quota::Usage;
use crate::limits::rate::Rate;
use crate::limits::slots::Slots;
use crate::shell::core::Core;
use crate::shell::plan::*;
use crate::shell::show::*;
pub(crate) use crate::shell::step_breaker::*;
use crate::shell::ticket::Work;
use crate::shell::txn::{Draft, transact};

/// Which lock, how it is now (none: there is no record), and whether it was changed.
pub(crate) type LockNow = (usize, Option<Lock>, bool);

/// What came out of it.
#[derive(Default)]
pub(crate) struct Out {
    pub(crate) now: i64,
    /// As it is now, and whether it rests because of the service or the network.
    pub(crate) conn: Option<(Connection, bool)>,
    /// Whether that was written by this report.
    pub(crate) conn_changed: bool,
    pub(crate) breaker: Option<(Breaker, Reaction)>,
    pub(crate) locks: Vec<LockNow>,
    pub(crate) ended: Option<connection::Terminal>,
    pub(crate) rested: bool,
    pub(crate) cleared: bool,
    pub(crate) stale: bool,
    pub(crate) leaked: usize,
    pub(crate) locked: Option<(i64, u32)>,
    pub(crate) corrupt: u32,
}

pub(crate) async fn apply(core: &Arc<Core>, work: &Work, now: Moment) -> Result<(), StoreError> {
    let ticket = &work.ticket;
    let Some((mut plan, numbers)) = plan(core, work, now) else { return Ok(()) };
    if plan.keys.is_empty() {
        return Ok(());
    }
    let started_ago = i64::try_from(now.mono.since(ticket.started.mono).as_millis()).unwrap_or(i64::MAX);
    let late = i64::try_from(now.mono.since(work.at.mono).as_millis()).unwrap_or(0);
    let keys = std::mem::take(&mut plan.keys);
    core.counters.commits.fetch_add(1, Relaxed);
    let result = transact(&*core.store, keys, |draft| {
        let mut out = Out { now: draft.now, ..Out::default() };
        step_connection(core, work, &plan, &numbers, draft, late, &mut out);
        step_breaker(core, work, &plan, &numbers, draft, draft.now.saturating_sub(started_ago), &mut out);
        step_locks(core, work, &plan, &numbers, draft, late, &mut out);
        give_back(work, &plan, draft, &mut out);
        step_rates(core, work, &plan, draft);
        out.corrupt = draft.corrupt;
        out
    })
    .await;
    if result.is_err() && numbers.pops > 0 {
        let table = core.table();
        if let Some((_, _, breaker)) = table.rows(ticket.handle) {
            breaker.pending.fetch_add(numbers.pops, Relaxed);
        }
    }
    let out = result?;
    show(core, work, &out);
    if let Some(effect) = &work.effect
        && effect.reach != Reach::One
        && let Some(Hit::Rest(wait, reason)) = effect.connection
        && let Some((conn, _)) = &out.conn
    {
        reach(
            core,
            ticket,
            effect.reach,
            conn.until.saturating_sub(out.now),
            matches!(wait, Wait::Declared(_)),
            reason,
        )
        .await?;
    }
    Ok(())
}

pub(crate) fn step_connection(
    core: &Core,
    work: &Work,
    plan: &Plan,
    numbers: &Numbers,
    draft: &mut Draft,
    late: i64,
    out: &mut Out,
) {
    let Some(at) = plan.conn else { return };
    let ticket = &work.ticket;
    let now = draft.now;
    let (mut conn, exists) = draft.load::<Connection>(at);
    let fresh = !exists || conn.epoch == ticket.conn_epoch.load(Relaxed);
    let before = (conn.until, conn.terminal);
    let mut changed = false;
    for seen in &work.seen {
        let shift = now.saturating_sub(work.at.wall.0);
        let seen = Seen {
            at: seen.at.saturating_add(shift).min(now),
            resets_at: seen.resets_at.map(|at| at.saturating_add(shift)),
            ..*seen
        };
        changed |= conn.note(seen);
    }
    if work.clear {
        changed |= conn.clear(true, now);
    }
    if work.success {
        changed |= conn.succeed(fresh, now, &numbers.conn);
    }
    let hit = work.effect.as_ref().and_then(|effect| effect.connection);
    if work.verdict == Verdict::ProviderFailure && fresh {
        conn.row = conn.row.saturating_add(1);
        changed = true;
    }
    if let Some(hit) = hit {
        let hit = later(concentrated(core, hit, work, numbers, conn.row), late);
        if ticket.verification && !matches!(hit, Hit::End(_)) {
            let declared = match hit {
                Hit::Rest(Wait::Declared(ms), _) => Some(ms),
                _ => None,
            };
            changed |= conn.verification_failed(declared, now, &numbers.conn, &core.rng);
        } else if numbers.may_eject || !ejects(hit) {
            let did = conn.fail(hit, fresh, ticket.credential, now, &numbers.conn, &core.rng);
            out.stale = !did && !fresh;
            changed |= did;
            if did {
                conn.error = Some((work.status.unwrap_or(0), now));
            }
        }
    }
    if !changed {
        // The row may know less than the record, or the record may be gone.
        out.conn = Some((conn, false));
        return;
    }
    out.ended = conn.terminal.filter(|_| before.1.is_none()).map(|(state, _)| state);
    out.rested = conn.until > before.0;
    out.cleared = conn.until < before.0 || (conn.terminal.is_none() && before.1.is_some());
    draft.durable |= conn.terminal != before.1;
    let expires = conn_expires(&conn, now);
    draft.put(at, &conn, expires);
    out.conn = Some((conn, hit.is_some_and(ejects)));
    out.conn_changed = true;
}

/// Errors of service or network, that must not remove most of a provider's connections.
pub(crate) fn ejects(hit: Hit) -> bool {
    matches!(hit, Hit::Rest(Wait::Computed | Wait::Fixed(_), Reason::ServerError | Reason::Transport))
}

/// One connection keeps failing while a sibling works: it is the connection after all.
pub(crate) fn concentrated(core: &Core, hit: Hit, work: &Work, numbers: &Numbers, row: u32) -> Hit {
    match hit {
        Hit::Rest(Wait::Fixed(_), Reason::ServerError | Reason::Transport)
            if work.verdict == Verdict::ProviderFailure
                && numbers.sibling
                && row >= core.config.cooldown.concentration =>
        {
            Hit::Rest(Wait::Computed, Reason::ServerError)
        }
        hit => hit,
    }
}

/// A report that waited in the outbox: what the provider declared has run meanwhile.
pub(crate) fn later(hit: Hit, late: i64) -> Hit {
    match hit {
        Hit::Rest(Wait::Declared(ms), reason) => Hit::Rest(Wait::Declared(ms.saturating_sub(late)), reason),
        hit => hit,
    }
}

/// A record is kept while it says anything, and an hour longer.
pub(crate) fn conn_expires(conn: &Connection, now: i64) -> Option<i64> {
    if conn.terminal.is_some() || conn.credential > 0 {
        return None;
    }
    let decay = conn.last_rest.saturating_mul(4).max(60_000).saturating_mul(i64::from(conn.level) + 1);
    let seen = conn.seen.iter().map(|seen| seen.resets_at.unwrap_or(seen.at)).max().unwrap_or(0);
    Some(conn.until.max(now).max(seen).saturating_add(decay).saturating_add(3_600_000))
}

pub(crate) fn step_locks(
    core: &Core,
    work: &Work,
    plan: &Plan,
    numbers: &Numbers,
    draft: &mut Draft,
    late: i64,
    out: &mut Out,
) {
    let ticket = &work.ticket;
    let now = draft.now;
    for (nth, (at, which)) in plan.locks.iter().enumerate() {
        let (mut state, exists) = draft.load::<Lock>(*at);
        let seen = ticket.lock_epochs.get(*which).map_or(0, |epoch| epoch.load(Relaxed));
        let fresh = !exists || state.epoch == seen;
        let hit = work
            .effect
            .as_ref()
            .and_then(|effect| effect.lock.as_ref())
            .filter(|_| plan.hit_lock == Some(nth));
        let changed = match hit {
            None => state.succeed(fresh, now),
            Some(hit) => {
                let wait = match hit.wait {
                    lockout::Wait::Declared(ms) => lockout::Wait::Declared(ms.saturating_sub(late)),
                    wait => wait,
                };
                if ticket.verification && state.until > now {
                    let declared = match wait {
                        lockout::Wait::Declared(ms) => Some(ms),
                        _ => None,
                    };
                    state.verification_failed(declared, now, &numbers.lock, &core.rng)
                } else {
                    let did = state.fail(wait, hit.reason, fresh, now, &numbers.lock, &core.rng);
                    out.stale |= !did && !fresh;
                    if did && state.until > now {
                        out.locked = Some((state.until, state.count));
                    }
                    did
                }
            }
        };
        if !changed {
            out.locks.push((*which, exists.then_some(state), false));
            continue;
        }
        if state.clean() {
            draft.delete(*at);
            out.locks.push((*which, None, true));
        } else {
            let keep = numbers.lock.window.saturating_add(state.last_ms).saturating_add(60_000);
            let expires = Some(state.until.max(now).saturating_add(keep));
            draft.put(*at, &state, expires);
            out.locks.push((*which, Some(state), true));
        }
        out.cleared |= hit.is_none();
    }
}

pub(crate) fn give_back(work: &Work, plan: &Plan, draft: &mut Draft, out: &mut Out) {
    let ticket = &work.ticket;
    let now = draft.now;
    let latest = now.saturating_add(ticket.core.config.slots.lease.signed());
    for at in &plan.slots {
        let (mut slots, _) = draft.load::<Slots>(*at);
        let leaked = slots.settle(latest, now);
        let gave = slots.give(ticket.id);
        out.leaked += leaked;
        if slots.held.is_empty() {
            draft.delete(*at);
        } else if gave || leaked > 0 {
            let expires = slots.last();
            draft.put(*at, &slots, expires);
        }
    }
    for (at, (_, unit, window)) in plan.quota.iter().zip(&ticket.held.quota) {
        let (mut usage, _) = draft.load::<Usage>(*at);
        usage.settle(*window, now);
        if usage.finish(ticket.id, spent(work, *unit), *window, now) {
            draft.put(*at, &usage, Some(usage.ends(*window, now)));
        }
    }
}

/// Corrects estimates and writes down what answers told of limits.
fn step_rates(core: &Core, work: &Work, plan: &Plan, draft: &mut Draft) {
    let ticket = &work.ticket;
    let now = draft.now;
    let keep = core.config.quota.learned_age.signed();
    for (at, taken, lesson) in &plan.rates {
        let (mut rate, exists) = draft.load::<Rate>(*at);
        let mut changed = false;
        if let (Some((_, limits)), Some(spend)) =
            (taken.and_then(|taken| ticket.held.rates.get(taken)), work.spend)
            && exists
        {
            rate.correct(limits, ticket.estimate, spend.tokens);
            changed = true;
        }
        if let Some(lesson) = lesson.and_then(|lesson| work.lessons.get(lesson)) {
            rate.learn(&lesson.sights, keep, now);
            changed = true;
        }
        if changed {
            let expires = Some(rate.ends());
            draft.put(*at, &rate, expires);
        }
    }
}

/// What an attempt is charged: the real amount; for a failure nothing; for an unknown success the estimate.
pub(crate) fn spent(work: &Work, unit: Unit) -> u64 {
    let known = |pick: fn(&Spend) -> u64| match &work.spend {
        Some(spend) => pick(spend),
        None if work.failed => 0,
        None => work.ticket.estimate,
    };
    match unit {
        Unit::Requests => u64::from(!work.failed),
        Unit::Tokens => known(|spend| spend.tokens),
        Unit::Usd => work.spend.map_or(0, |spend| spend.micro_usd),
        _ => 0,
    }
}
