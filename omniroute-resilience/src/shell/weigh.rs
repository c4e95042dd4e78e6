//! What a candidate looks like from what is remembered, without asking anybody.

use std::sync::atomic::Ordering::Relaxed;

use omniroute_core::{Key, Moment, Mono, Purpose};

use crate::shell::admit::*;
use crate::shell::core::{Core, Row, lock};
use crate::shell::denial::{Blocked, Refusal};
use crate::shell::report::locks;
use crate::shell::table::{CLOSED, DEGRADED, FLAG_REENTRY, HALF_OPEN, Handle, NONE, Table};

/// What a candidate looks like from here.
pub(crate) enum Weighed {
    Free,
    Reserve,
    Blocked(Blocked, Option<u64>),
}

/// Keys of what is remembered and has grown old.
pub(crate) fn stale(core: &Core, picks: &[Handle], cx: &AdmitContext, now: Moment) -> Vec<(Key, Row)> {
    let table = core.table();
    let mut wanted: Vec<(Key, Row)> = Vec::new();
    let mut breakers: Vec<u32> = Vec::new();
    let leases = core.config.lease.enabled && cx.lease.is_none();
    for pick in picks {
        let Some((row, conn, breaker)) = table.rows(*pick) else { continue };
        if conn.seen.stale(now.mono, core.max_age) {
            wanted.push((table.conn_key(row.conn), Row::Conn(row.conn)));
        }
        if row.own.seen.stale(now.mono, core.max_age) {
            wanted.push((table.own_lock_key(row), Row::Own(pick.index)));
        }
        for shared in [row.quota, row.wide] {
            if shared != NONE
                && let Some((lock, key)) = table.locks.get(shared as usize)
                && lock.seen.stale(now.mono, core.max_age)
            {
                wanted.push((key.clone(), Row::Lock(shared)));
            }
        }
        if breaker.seen.stale(now.mono, core.max_age) && !breakers.contains(&conn.breaker) {
            breakers.push(conn.breaker);
            wanted.push((table.breaker_key(conn.breaker), Row::Breaker(conn.breaker)));
        }
        if leases && conn.lease_seen.stale(now.mono, core.max_age) {
            wanted.push((table.lease_key(row.conn), Row::Lease(row.conn)));
        }
    }
    if wanted.len() > 1 {
        // The same connection or lock may stand behind several candidates.
        let mut seen = std::collections::HashSet::new();
        wanted.retain(|(key, _)| seen.insert(key.clone()));
    }
    wanted
}

/// The first candidate from `next` on that can be granted or tried to reserve; refusals of those before it.
pub(crate) fn first(
    core: &Core,
    picks: &[Handle],
    cx: &AdmitContext,
    now: Moment,
    next: usize,
    refusals: &mut Vec<Refusal>,
) -> Option<(usize, bool)> {
    let table = core.table();
    for (position, pick) in picks.iter().enumerate().skip(next) {
        match weigh(core, &table, *pick, cx, now) {
            Weighed::Free => return Some((position, false)),
            Weighed::Reserve => return Some((position, true)),
            Weighed::Blocked(reason, at) => {
                refusals.push(Refusal { position, reason, not_before: at.map(Mono) });
            }
        }
    }
    None
}

/// Order of checks: switched off, lease, terminal, rest, locks, quota, budget, queue, breaker.
pub(crate) fn weigh(core: &Core, table: &Table, pick: Handle, cx: &AdmitContext, now: Moment) -> Weighed {
    let Some((row, conn, breaker)) = table.rows(pick) else {
        return Weighed::Blocked(Blocked::NotConfigured, None);
    };
    if conn.profile.disabled {
        return Weighed::Blocked(Blocked::Disabled, None);
    }
    let leased = conn.lease_until.load(Relaxed);
    if core.config.lease.enabled && cx.lease.is_none() && leased > now.mono.0 {
        return Weighed::Blocked(Blocked::LeaseHeld, Some(leased));
    }
    if cx.purpose != Purpose::Production {
        return Weighed::Free;
    }
    if let Some((reason, until)) = conn.blocked(now.mono) {
        return Weighed::Blocked(reason, Some(until).filter(|at| *at != u64::MAX));
    }
    let locked =
        locks(table, row).filter_map(|(_, lock)| lock.blocked(now.mono)).max_by_key(|(_, until)| *until);
    if let Some((reason, until)) = locked {
        return Weighed::Blocked(reason, Some(until));
    }
    let quota = conn.quota_until.load(Relaxed);
    if quota > now.mono.0 {
        return Weighed::Blocked(Blocked::QuotaExhausted, Some(quota));
    }
    if let Some(budget) = &cx.budget {
        let target = table.target(row);
        match budget.fits(&target, &core.config.retry) {
            None => return Weighed::Blocked(Blocked::Attempts, None),
            Some(true) => {
                let provider = &table.providers[conn.provider as usize];
                if !lock(&provider.local).retries.left(now.mono, &core.config.retry) {
                    return Weighed::Blocked(Blocked::RetryBudget, None);
                }
            }
            Some(false) => {}
        }
    }
    if core.waiting.ahead(row.conn, cx.waiter) {
        return Weighed::Blocked(Blocked::Slots, None);
    }
    match breaker.state.load(Relaxed) {
        CLOSED | DEGRADED => {}
        _ => {
            let until = breaker.until.load(Relaxed);
            if until > now.mono.0 {
                // A probe may end any moment: nobody is sent away for longer than five seconds because of it.
                let held = breaker.state.load(Relaxed) == HALF_OPEN;
                let until = if held { until.min(now.mono.0.saturating_add(5_000_000_000)) } else { until };
                return Weighed::Blocked(Blocked::Breaker, Some(until).filter(|at| *at != u64::MAX));
            }
            return Weighed::Reserve;
        }
    }
    if let Some((limit, next)) = breaker.ramp(now.mono, &core.config.breaker)
        && breaker.in_flight.load(Relaxed) >= limit
    {
        return Weighed::Blocked(Blocked::ProviderRamp, Some(next));
    }
    let limits = &conn.profile.limits;
    let slots = &core.config.slots;
    let counted = slots.global.is_some()
        || slots.per_provider.is_some()
        || limits.concurrent().is_some()
        || limits.counts()
        || conn.flag(FLAG_REENTRY)
        || cx.lease.is_some()
        || !core.pools.read().unwrap_or_else(std::sync::PoisonError::into_inner).is_empty();
    if counted { Weighed::Reserve } else { Weighed::Free }
}
