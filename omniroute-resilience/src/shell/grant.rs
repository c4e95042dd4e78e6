//! From a decision to a permit.

use std::sync::Arc;
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering::Relaxed};

use omniroute_core::{ConnectionId, Grant, Moment, Permit, PermitId, PermitSink, ProviderId, Target};

use crate::limits::share::Member;
use crate::shell::admit::*;
use crate::shell::core::{Core, lock};
use crate::shell::events::{About, EventKind};
use crate::shell::report::locks;
use crate::shell::table::{Handle, Table, due};
use crate::shell::ticket::{Held, Ticket};

/// Why a free way around a block is taken.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Extra {
    No,
    Verification,
    LastResort,
}

pub(crate) fn ticket(
    core: &Arc<Core>,
    handle: Handle,
    cx: &AdmitContext,
    now: Moment,
    id: PermitId,
) -> Option<Ticket> {
    let table = core.table();
    let (row, conn, breaker) = table.rows(handle)?;
    let mut epochs = [0; 3];
    for (at, lock) in locks(&table, row) {
        epochs[at] = lock.epoch_at(now.mono);
    }
    Some(Ticket {
        core: Arc::clone(core),
        id,
        handle,
        conn: row.conn,
        model: table.models[row.model as usize].clone(),
        purpose: cx.purpose,
        consumer: cx.consumer.clone(),
        session: cx.session.clone(),
        started: now,
        estimate: cx.estimate,
        credential: conn.credential.load(Relaxed),
        probe: false,
        verification: false,
        lease: None,
        fence: None,
        held: Held::default(),
        conn_epoch: AtomicU64::new(conn.epoch_at(now.mono)),
        lock_epochs: epochs.map(AtomicU64::new),
        generation: AtomicU64::new(breaker.generation.load(Relaxed)),
        state: AtomicU8::new(0),
        renewed: AtomicU64::new(now.mono.0),
    })
}

pub(crate) fn granted(
    core: &Arc<Core>,
    ticket: Ticket,
    position: usize,
    cx: &AdmitContext,
    now: Moment,
    extra: Extra,
) -> Permit {
    core.counters.granted.fetch_add(1, Relaxed);
    let target = {
        let table = core.table();
        let row = &table.targets[ticket.handle.index as usize];
        let conn = &table.conns[ticket.conn as usize];
        let breaker = &table.breakers[conn.breaker as usize];
        let provider = &table.providers[conn.provider as usize];
        conn.in_flight.fetch_add(1, Relaxed);
        breaker.started(now.mono);
        provider.in_flight.fetch_add(1, Relaxed);
        if due(&breaker.dialled_at, now.mono)
            && let Some((_, egress)) = table.egresses.get(conn.profile.egress as usize)
        {
            lock(egress).dialled(&breaker.dialled, now.mono);
        }
        let target = if row.conn == ticket.conn {
            table.target(row)
        } else {
            Target { provider: provider.id.clone(), connection: conn.id.clone(), model: ticket.model.clone() }
        };
        if let Some(budget) = &cx.budget {
            let mut local = lock(&provider.local);
            if budget.fits(&target, &core.config.retry) == Some(false) {
                local.retries.first(now.mono, &core.config.retry);
            } else {
                local.retries.take(now.mono, &core.config.retry);
            }
            drop(local);
            budget.attempt(&target);
        }
        pay_shares(core, &table, &target, now);
        target
    };
    if ticket.probe {
        let about = About {
            provider: Some(target.provider.clone()),
            connection: Some(target.connection.clone()),
            model: None,
        };
        core.events.push(now.wall.0, about, EventKind::Probe { reclaimed: false });
    }
    let mut grant = Grant::new(ticket.id, target, now);
    grant.position = position;
    grant.purpose = cx.purpose;
    grant.consumer = cx.consumer.clone();
    grant.session.clone_from(&cx.session);
    grant.waited = cx.waited;
    grant.probe = ticket.probe;
    grant.verification = extra == Extra::Verification;
    grant.last_resort = extra == Extra::LastResort;
    grant.fence = ticket.fence;
    let sink: Arc<dyn PermitSink> = Arc::new(ticket);
    Permit::new(grant, sink)
}

/// The pools of a connection, as the scheduler sees their members.
pub(crate) fn members(
    table: &Table,
    pool: &crate::PoolSpec,
    now: Moment,
) -> Vec<(Member, ProviderId, ConnectionId)> {
    pool.members
        .iter()
        .filter_map(|(provider, connection)| {
            let index = table.connection(provider, connection)?;
            let conn = &table.conns[index as usize];
            let in_flight = conn.in_flight.load(Relaxed);
            let full = conn.quota_until.load(Relaxed) > now.mono.0
                || conn.blocked(now.mono).is_some()
                || conn.profile.limits.concurrent().is_some_and(|limit| in_flight >= limit);
            let member = Member { id: u64::from(index), tier: pool.tier, weight: 1, full, in_flight };
            Some((member, provider.clone(), connection.clone()))
        })
        .collect()
}

pub(crate) fn pay_shares(core: &Core, table: &Table, target: &Target, now: Moment) {
    let pools = Arc::clone(&core.pools.read().unwrap_or_else(std::sync::PoisonError::into_inner));
    for pool in pools.iter().filter(|pool| has(pool, target)) {
        let Some(index) = table.connection(&target.provider, &target.connection) else { continue };
        let members: Vec<Member> = members(table, pool, now).into_iter().map(|(member, ..)| member).collect();
        let mut shares = lock(&core.shares);
        let deficits = shares.entry(Arc::clone(&pool.id)).or_default();
        let deficit = deficits.of(u64::from(index));
        deficits.pay(u64::from(index), &members);
        drop(shares);
        let kind = EventKind::SharePick { pool: pool.id.to_string(), deficit };
        core.events.push(
            now.wall.0,
            About { connection: Some(target.connection.clone()), ..About::default() },
            kind,
        );
    }
}

pub(crate) fn has(pool: &crate::PoolSpec, target: &Target) -> bool {
    pool.members
        .iter()
        .any(|(provider, connection)| *provider == target.provider && *connection == target.connection)
}
