//! What the end of an attempt teaches, decided at once; writing it down comes after.

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use omniroute_core::{FailureKind, Moment, Outcome, Phase, Purpose, StoreError};

use crate::layers::breaker::Verdict;
use crate::layers::connection::Seen;
use crate::layers::effect::{Effect, Facts, LockTarget, effect};
use crate::layers::lockout::{self};
use crate::shell::apply::*;
use crate::shell::core::{Core, lock};
use crate::shell::egress::Meaning;
use crate::shell::events::{About, EventKind};
use crate::shell::learn::lessons;
use crate::shell::show::*;
use crate::shell::table::{DEGRADED, DIRTY, LockRow, NONE, Table, TargetRow, at, due};
use crate::shell::ticket::{CONTENT, Carrier, Ticket, Work};

/// Members of a group or path that one answer reaches at most.
pub(crate) const REACH: usize = 1_024;

/// The first valid content: success for the layers. None if nothing has to be written.
pub(crate) fn content(ticket: &Arc<Ticket>, now: Moment) -> Option<Work> {
    if !ticket.first(CONTENT) || ticket.purpose != Purpose::Production {
        return None;
    }
    success(ticket, &ticket.core.table(), now, false)
}

/// The end of an attempt. None if nothing has to be written.
pub(crate) fn settle(ticket: &Arc<Ticket>, outcome: Outcome, now: Moment) -> Option<Work> {
    if !ticket.first(crate::shell::ticket::SETTLED) {
        return None;
    }
    let core = &ticket.core;
    let table = core.table();
    ended(&table, ticket);
    let ok = outcome.failure.is_none();
    let mut work = if ticket.purpose != Purpose::Production {
        let kind = EventKind::OtherPurpose { purpose: ticket.purpose, ok };
        core.events.push(now.wall.0, about_row(&table, ticket), kind);
        let mut work = Work::release(Arc::clone(ticket), now);
        work.clear = ok && ticket.purpose == (Purpose::OperatorTest { clear_on_success: true });
        work
    } else if let Some(failure) = &outcome.failure {
        failed(ticket, &table, failure, now)
    } else {
        let lesson = if ticket.is(CONTENT) { None } else { success(ticket, &table, now, true) };
        let nothing = ticket.held.nothing() && !ticket.probe && outcome.limits.is_empty();
        match lesson {
            Some(work) => work,
            None if nothing => return None,
            None => Work { failed: false, ..Work::release(Arc::clone(ticket), now) },
        }
    };
    work.spend = outcome.spend;
    work.seen = notable(ticket, &table, &outcome, now);
    work.lessons = lessons(ticket, &table, &outcome.limits, now);
    matters(ticket, &work).then_some(work)
}

/// Nobody reported. Neutral; only what was held goes back.
pub(crate) fn abandoned(ticket: Arc<Ticket>) {
    let core = Arc::clone(&ticket.core);
    ended(&core.table(), &ticket);
    core.counters.abandoned.fetch_add(1, Relaxed);
    let now = core.now();
    if !ticket.held.nothing() || ticket.probe {
        core.later(Work::release(ticket, now));
    }
    core.waiting.changed();
}

fn ended(table: &Table, ticket: &Ticket) {
    at(&table.breakers, ticket.breaker).in_flight.fetch_sub(1, Relaxed);
    if let Some((_, conn, _)) = table.rows(ticket.handle) {
        if !ticket.held.slots.is_empty() {
            table.occupied(ticket.conn, ticket.core.now().mono.since(ticket.started.mono));
        }
        conn.in_flight.fetch_sub(1, Relaxed);
    }
}

pub(crate) fn matters(ticket: &Ticket, work: &Work) -> bool {
    let held = work.release && !ticket.held.nothing();
    let lesson = work.effect.is_some() || work.success || work.verdict == Verdict::ProviderFailure;
    held || lesson || work.clear || !work.seen.is_empty() || !work.lessons.is_empty() || ticket.probe
}

/// A success. None if nobody remembers anything bad.
fn success(ticket: &Arc<Ticket>, table: &Table, now: Moment, release: bool) -> Option<Work> {
    let core = &ticket.core;
    let (row, conn, breaker) = table.rows(ticket.handle)?;
    if due(&breaker.answered_at, now.mono) {
        answered(core, table, conn.profile.egress, now);
    }
    if let Some(provider) = table.providers.get(conn.provider as usize)
        && provider.connections > 1
        && conn.success_due(now.mono)
    {
        lock(&provider.local).success(ticket.conn, now.mono);
    }
    let dirty = conn.word.has(DIRTY) || locks(table, row).any(|(_, lock)| lock.word.has(DIRTY));
    // Successes take failures back; they are added up and written now and then, and at once where that heals.
    let failures = breaker.failures.load(Relaxed);
    let mut pops = false;
    if failures > 0 && !ticket.probe && breaker.generation.load(Relaxed) == ticket.generation.load(Relaxed) {
        let pending = breaker.pending.fetch_add(1, Relaxed) + 1;
        let since = now.mono.0.saturating_sub(breaker.flushed.load(Relaxed));
        let left = failures.saturating_sub(pending) as usize;
        let heals = breaker.state.load(Relaxed) == DEGRADED && left <= breaker.rules.healthy_at();
        pops = since >= core.config.breaker.success_flush.as_ms() * 1_000_000 || heals;
    }
    if !dirty && !pops && !ticket.probe {
        return None;
    }
    let mut work = Work::release(Arc::clone(ticket), now);
    (work.verdict, work.success, work.release, work.failed) = (Verdict::Success, true, release, false);
    Some(work)
}

fn failed(ticket: &Arc<Ticket>, table: &Table, failure: &omniroute_core::Failure, now: Moment) -> Work {
    let core = &ticket.core;
    let mut work = Work::release(Arc::clone(ticket), now);
    work.status = failure.status;
    let Some((_, conn, breaker)) = table.rows(ticket.handle) else { return work };
    let facts = Facts {
        class: conn.profile.class,
        trust: conn.profile.trust,
        per_model: conn.profile.per_model,
        now: now.wall.0,
    };
    let mut effect = effect(failure, &facts, &core.config);
    if failure.phase != Phase::Transport && !failure.origin_local && failure.kind != FailureKind::Cancelled {
        answered(core, table, conn.profile.egress, now);
    }
    if effect.transport {
        let meaning = table.egresses.get(conn.profile.egress as usize).map(|(name, egress)| {
            let mut egress = lock(egress);
            let before = egress.suspect;
            let meaning = egress.failed(&breaker.dialled, ticket.started.mono, now.mono, &core.config.egress);
            if egress.suspect && !before {
                let kind = EventKind::EgressSuspect { egress: name.to_string() };
                core.events.push(now.wall.0, About::default(), kind);
            }
            meaning
        });
        match meaning {
            Some(Meaning::Suspect) => {
                effect = Effect { verdict: Verdict::Neutral, connection: None, lock: None, ..effect }
            }
            Some(Meaning::Unsure) => effect = Effect { connection: None, lock: None, ..effect },
            Some(Meaning::Uncorroborated) => work.uncorroborated = true,
            _ => {}
        }
    }
    if effect.operator {
        let kind = EventKind::OperatorActionNeeded { rule: failure.rule.to_string() };
        core.events.push(now.wall.0, about_row(table, ticket), kind);
    }
    if !core.config.lockout.enabled {
        effect.lock = None;
    }
    if let Some(hit) = &mut effect.lock
        && hit.reason == lockout::Reason::Capacity
        && hit.target == LockTarget::Model
        && seen_elsewhere(core, table, ticket, now)
    {
        hit.target = LockTarget::Everywhere;
        hit.wait = lockout::Wait::Fixed(core.config.lockout.capacity.signed());
    }
    if effect.evict_pin
        && let Some(session) = &ticket.session
    {
        core.pins.evict_local(&ticket.consumer, session, &table.target(table_row(table, ticket)), now, core);
    }
    work.verdict = effect.verdict;
    work.effect = Some(effect);
    work
}

pub(crate) fn table_row<'t>(table: &'t Table, ticket: &Ticket) -> &'t TargetRow {
    &table.targets[ticket.handle.index as usize]
}

/// Whether another connection said the same about this model a moment ago.
pub(crate) fn seen_elsewhere(core: &Core, table: &Table, ticket: &Ticket, now: Moment) -> bool {
    let row = table_row(table, ticket);
    let Some(provider) =
        table.conns.get(ticket.conn as usize).and_then(|conn| table.providers.get(conn.provider as usize))
    else {
        return false;
    };
    let window = core.config.lockout.capacity_window.as_ms() * 1_000_000;
    let mut local = lock(&provider.local);
    local.capacity.retain(|_, (_, at)| now.mono.0.saturating_sub(at.0) <= window);
    let before = local.capacity.insert(row.model, (ticket.conn, now.mono));
    before.is_some_and(|(conn, _)| conn != ticket.conn)
}

pub(crate) fn answered(core: &Core, table: &Table, egress: u32, now: Moment) {
    if let Some((name, egress)) = table.egresses.get(egress as usize)
        && lock(egress).answered(now.mono)
    {
        let kind = EventKind::EgressRecovered { egress: name.to_string() };
        core.events.push(now.wall.0, About::default(), kind);
    }
}

/// Allowances that are used up, or were.
fn notable(ticket: &Ticket, table: &Table, outcome: &Outcome, now: Moment) -> Vec<Seen> {
    if outcome.limits.is_empty() || ticket.purpose != Purpose::Production {
        return Vec::new();
    }
    let core = &ticket.core;
    let per_model = table.conns.get(ticket.conn as usize).is_some_and(|conn| conn.profile.per_model);
    if per_model {
        // What one model has used says nothing of the others; what is scarce is spread for it alone.
        return Vec::new();
    }
    let was_full = table.quota_until(ticket.conn) > now.mono.0;
    let sights = outcome.limits.iter().filter(|limit| limit.scope.is_none());
    sights
        .filter_map(|limit| {
            let used_ppm = limit.used()?;
            (was_full || used_ppm >= core.config.quota.cutoff_ppm).then(|| Seen {
                window: limit.window,
                used_ppm,
                resets_at: limit.resets_at.map(|at| at.0),
                at: now.wall.0,
                polled: false,
            })
        })
        .collect()
}

/// The locks a target meets: its own, its quota's, the model's everywhere.
pub(crate) fn locks<'t>(table: &'t Table, row: &'t TargetRow) -> impl Iterator<Item = (usize, &'t LockRow)> {
    let shared = |at: u32| (at != NONE).then(|| table.locks.get(at as usize).map(|(row, _)| row)).flatten();
    [Some(&row.own), shared(row.quota), shared(row.wide)]
        .into_iter()
        .enumerate()
        .filter_map(|(at, lock)| Some((at, lock?)))
}

/// Work that was left, seen through.
pub(crate) async fn see_through(core: &Arc<Core>, work: Work) {
    see(core, Carrier::new(core, work)).await;
}

/// Writes work down. If the store is away it stays in the outbox, and the rows show it meanwhile.
pub(crate) async fn see(core: &Arc<Core>, carrier: Carrier) {
    let Some(work) = carrier.work() else { return };
    let now = core.now();
    if !core.store_here(now.mono) {
        show_locally(core, work);
        return;
    }
    let result = apply(core, work, now).await;
    core.heard(&result);
    match result {
        Ok(()) => carrier.arrived(),
        Err(StoreError::Unavailable(_) | StoreError::Timeout(_)) => show_locally(core, work),
        Err(_) => carrier.arrived(),
    }
}
