//! From a decision to a permit.

use std::sync::Arc;
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering::Relaxed};

use omniroute_core::{Grant, Moment, Permit, PermitId, PermitSink, Target};

use crate::limits::share::Member;
use crate::shell::admit::*;
use crate::shell::core::{Core, lock};
use crate::shell::events::{About, EventKind};
use crate::shell::report::locks;
use crate::shell::table::{Handle, Pool, Table, at, due};
use crate::shell::ticket::{Held, Ticket};

/// Why a free way around a block is taken.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Extra {
    No,
    Verification,
    LastResort,
    /// The caller would rather have the least bad target than none.
    Anyway,
}

pub(crate) fn ticket(
    core: &Arc<Core>,
    table: &Table,
    handle: Handle,
    cx: &AdmitContext,
    now: Moment,
    id: PermitId,
) -> Option<Ticket> {
    let (row, conn, breaker) = table.rows(handle)?;
    let mut epochs = [0; 3];
    for (at, lock) in locks(table, row) {
        epochs[at] = lock.word.epoch();
    }
    Some(Ticket {
        core: Arc::clone(core),
        id,
        handle,
        conn: row.conn,
        breaker: conn.profile.breaker,
        model: row.model,
        purpose: cx.purpose,
        consumer: cx.consumer.clone(),
        session: cx.session.clone(),
        started: now,
        estimate: cx.estimate,
        credential: u64::from(conn.credential.load(Relaxed)),
        probe: false,
        verification: false,
        lease: None,
        fence: None,
        held: Held::default(),
        conn_epoch: AtomicU64::new(conn.word.epoch()),
        lock_epochs: epochs.map(AtomicU64::new),
        generation: AtomicU64::new(breaker.generation.load(Relaxed)),
        state: AtomicU8::new(0),
        renewed: AtomicU64::new(now.mono.0),
    })
}

pub(crate) fn granted(
    core: &Arc<Core>,
    table: &Table,
    ticket: Ticket,
    position: usize,
    cx: &AdmitContext,
    now: Moment,
    extra: Extra,
) -> Permit {
    let conn = at(&table.conns, ticket.conn);
    let breaker = at(&table.breakers, ticket.breaker);
    let provider = at(&table.providers, conn.provider);
    conn.in_flight.fetch_add(1, Relaxed);
    breaker.started(now.mono);
    if due(&breaker.dialled_at, now.mono)
        && let Some((_, egress)) = table.egresses.get(conn.profile.egress as usize)
    {
        lock(egress).dialled(&breaker.dialled, now.mono, &core.config.egress);
    }
    let target = Target {
        provider: provider.id.clone(),
        connection: conn.id.clone(),
        model: at(&table.models, ticket.model).clone(),
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
    if !table.pools_of.is_empty() {
        pay_shares(core, table, &ticket, &target, now);
    }
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
    grant.last_resort = matches!(extra, Extra::LastResort | Extra::Anyway);
    grant.fence = ticket.fence;
    let sink: Arc<dyn PermitSink> = Arc::new(ticket);
    Permit::new(grant, sink)
}

/// The members of a pool that are configured, as the scheduler sees them.
pub(crate) fn members(table: &Table, pool: &Pool, now: Moment) -> Vec<Member> {
    let rows = pool.spec.members.iter().zip(&pool.rows);
    rows.filter_map(|(member, row)| {
        let index = (*row)?;
        let conn = at(&table.conns, index);
        let in_flight = conn.in_flight.load(Relaxed);
        let full = conn.profile.disabled
            || table.quota_until(index) > now.mono.0
            || conn.blocked(now.mono).is_some()
            || conn.profile.limits.concurrent().is_some_and(|limit| in_flight >= limit);
        let (tier, weight) = (pool.spec.tier, member.weight);
        Some(Member { id: u64::from(index), tier, weight, full, in_flight })
    })
    .collect()
}

fn pay_shares(core: &Core, table: &Table, ticket: &Ticket, target: &Target, now: Moment) {
    for place in table.pools_of.get(&ticket.conn).into_iter().flatten() {
        let Some(pool) = table.pools.get(*place as usize) else { continue };
        let members = members(table, pool, now);
        let mut shares = lock(&core.shares);
        let deficits = shares.entry(Arc::clone(&pool.spec.id)).or_default();
        let deficit = deficits.of(u64::from(ticket.conn));
        deficits.pay(u64::from(ticket.conn), &members);
        drop(shares);
        let kind = EventKind::SharePick { pool: pool.spec.id.to_string(), tier: pool.spec.tier, deficit };
        let about = About { connection: Some(target.connection.clone()), ..About::default() };
        core.events.push(now.wall.0, about, kind);
    }
}
