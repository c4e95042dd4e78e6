//! What was written is shown in the rows and told to the readers of events; wide answers reach the others.

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use omniroute_core::{Key, StoreError, UnixMs};

use crate::layers::breaker::State;
use crate::layers::connection::{Connection, Reason};
use crate::layers::effect::Reach;
use crate::layers::lockout::Lock;
use crate::limits::slots::Slots;
use crate::shell::apply::*;
use crate::shell::core::{Core, lock};
use crate::shell::events::{About, EventKind};
use crate::shell::plan::*;
use crate::shell::report::*;
use crate::shell::table::{NONE, REMOVED, Spot, Table, TargetRow};
use crate::shell::ticket::{Ticket, Work};
use crate::shell::txn::transact;

/// Shows in the rows what was written, and tells the readers of events.
pub(crate) fn show(core: &Core, work: &Work, out: &Out) {
    let ticket = &work.ticket;
    let now = core.now();
    core.corrupt(out.corrupt);
    let table = core.table();
    let about = about_row(&table, ticket);
    let event = |kind| core.events.push(out.now, about.clone(), kind);
    if let Some((row, conn, breaker)) = table.rows(ticket.handle) {
        if let Some((state, ejects)) = &out.conn {
            let quota = state.exhausted_until(out.now, &core.config.quota);
            table.note_conn(row.conn, Some(state), quota, out.now, now);
            if work.success && out.conn_changed {
                ticket.conn_epoch.store(state.epoch, Relaxed);
            }
            if let Some(provider) = table.providers.get(conn.provider as usize) {
                let mut local = lock(&provider.local);
                if *ejects && out.rested {
                    local.ejected.insert(ticket.conn, crate::shell::table::mono(now, out.now, state.until));
                } else if out.cleared {
                    local.ejected.remove(&ticket.conn);
                }
            }
            if let Some(ended) = out.ended {
                event(EventKind::Terminal { state: ended });
            } else if out.rested {
                let (declared, level) = (state.declared, state.level);
                event(EventKind::CooldownSet { until: UnixMs(state.until), declared, level });
            } else if out.cleared && work.success {
                event(EventKind::CooldownCleared);
            }
        }
        if let Some((state, reaction)) = &out.breaker {
            breaker.note(Some(state), out.now, now);
            if work.success && !reaction.late {
                ticket.generation.store(state.generation, Relaxed);
            }
            if reaction.late {
                core.counters.late_reports.fetch_add(1, Relaxed);
            }
            if let Some((from, to)) = reaction.transition {
                event(EventKind::Breaker {
                    from,
                    to,
                    failures: u32::try_from(state.failures.len()).unwrap_or(u32::MAX),
                    open_until: (to == State::Open).then_some(UnixMs(state.open_until)),
                    cycle: state.cycle,
                });
            }
        }
        for (which, state, changed) in &out.locks {
            let Some(spot) = spot(ticket, row, *which) else { continue };
            table.note_lock(spot, state.as_ref(), out.now, now);
            if work.success && *changed {
                ticket.lock_epochs[*which].store(state.as_ref().map_or(0, |state| state.epoch), Relaxed);
                event(EventKind::LockoutCleared);
            }
        }
        if let Some((until, count)) = out.locked {
            event(EventKind::LockoutSet { until: UnixMs(until), count });
        }
    }
    if out.stale {
        core.counters.stale_failures.fetch_add(1, Relaxed);
    }
    if out.leaked > 0 {
        event(EventKind::SlotLeak { slots: u32::try_from(out.leaked).unwrap_or(u32::MAX) });
    }
    drop(table);
    if work.release || out.cleared || work.success {
        core.waiting.changed();
    }
}

pub(crate) fn about_row(table: &Table, ticket: &Ticket) -> About {
    let conn = table.conns.get(ticket.conn as usize);
    About {
        provider: conn.map(|conn| table.providers[conn.provider as usize].id.clone()),
        connection: conn.map(|conn| conn.id.clone()),
        model: table.models.get(ticket.model as usize).cloned(),
    }
}

/// Which row is one of the locks a target meets.
fn spot(ticket: &Ticket, row: &TargetRow, which: usize) -> Option<Spot> {
    match which {
        0 => Some(Spot::Own(ticket.handle.index)),
        1 => Some(row.quota).filter(|at| *at != NONE).map(Spot::Lock),
        2 => Some(row.wide).filter(|at| *at != NONE).map(Spot::Lock),
        _ => None,
    }
}

/// The store is away: what was learned holds in this process until it is back.
pub(crate) fn show_locally(core: &Core, work: &Work) {
    let ticket = &work.ticket;
    let now = core.now();
    let table = core.table();
    let Some((row, conn, breaker)) = table.rows(ticket.handle) else { return };
    let numbers = numbers(core, &table, ticket, conn, breaker, now, 0);
    if conn.word.epoch() != ticket.conn_epoch.load(Relaxed) {
        return;
    }
    let wall = now.wall.0;
    if let Some(hit) = work.effect.as_ref().and_then(|effect| effect.connection) {
        let mut state =
            Connection { level: u32::from(conn.word.level()), touched: wall, ..Connection::default() };
        if state.fail(hit, true, ticket.credential, wall, &numbers.conn, &core.rng) {
            table.note_conn(row.conn, Some(&state), None, wall, now);
        }
    }
    if let Some(hit) = work.effect.as_ref().and_then(|effect| effect.lock.as_ref()) {
        let mut state = Lock::default();
        state.fail(hit.wait, hit.reason, true, wall, &numbers.lock, &core.rng);
        table.note_lock(Spot::Own(ticket.handle.index), Some(&state), wall, now);
    }
}

/// Everybody of the group, or of the provider on this path, rests at least as long.
pub(crate) async fn reach(
    core: &Arc<Core>,
    ticket: &Ticket,
    reach: Reach,
    ms: i64,
    declared: bool,
    reason: Reason,
) -> Result<(), StoreError> {
    let members: Vec<(u32, Key)> = {
        let table = core.table();
        let Some(conn) = table.conns.get(ticket.conn as usize) else { return Ok(()) };
        let same = |other: &crate::shell::table::Conn| match reach {
            Reach::One => false,
            Reach::Group => conn.profile.group != NONE && other.profile.group == conn.profile.group,
            Reach::Egress => other.profile.egress == conn.profile.egress,
        };
        table
            .conns
            .iter()
            .enumerate()
            .filter(|(_, other)| !other.word.has(REMOVED) && other.provider == conn.provider && same(other))
            .filter_map(|(index, _)| u32::try_from(index).ok())
            .filter(|index| *index != ticket.conn)
            .take(REACH)
            .map(|index| (index, table.conn_key(index)))
            .collect()
    };
    for chunk in members.chunks(32) {
        let keys = chunk.iter().map(|(_, key)| key.clone()).collect();
        let states = transact(&*core.store, keys, |draft| {
            let now = draft.now;
            let until = now.saturating_add(ms);
            let mut states = Vec::new();
            for at in 0..chunk.len() {
                let (mut conn, _) = draft.load::<Connection>(at);
                if conn.terminal.is_none() && conn.until < until {
                    (conn.until, conn.declared, conn.reason) = (until, declared, reason);
                    conn.epoch = crate::layers::bump(conn.epoch, now);
                    let expires = conn_expires(&conn, now);
                    draft.put(at, &conn, expires);
                    states.push((at, conn));
                }
            }
            (now, states)
        })
        .await?;
        let now = core.now();
        let table = core.table();
        for (at, state) in states.1 {
            table.note_conn(chunk[at].0, Some(&state), None, states.0, now);
        }
    }
    Ok(())
}

/// A stream still runs: its slots live on.
pub(crate) async fn renew(ticket: &Arc<Ticket>) {
    let core = &ticket.core;
    let lease = core.config.slots.lease.signed();
    let keys = ticket.held.slots.clone();
    let count = keys.len();
    let result = transact(&*core.store, keys, |draft| {
        let until = draft.now.saturating_add(lease);
        for at in 0..count {
            let (mut slots, _) = draft.load::<Slots>(at);
            slots.settle(until, draft.now);
            slots.renew(ticket.id, until);
            let expires = slots.last();
            draft.put(at, &slots, expires);
        }
    })
    .await;
    core.heard(&result);
}
