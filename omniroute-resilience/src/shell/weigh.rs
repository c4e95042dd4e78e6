//! What a candidate looks like from what is remembered, without asking anybody.

use std::sync::atomic::Ordering::Relaxed;

use omniroute_core::{Key, Moment, Mono, Purpose};

use crate::shell::admit::*;
use crate::shell::core::{Core, Row, lock};
use crate::shell::denial::{Blocked, Refusal};
use crate::shell::report::locks;
use crate::shell::table::{
    CLOSED, Conn, DEGRADED, HALF_OPEN, Handle, LEARNED, NONE, REENTRY, Table, TargetRow,
};
use crate::shell::wait::Line;

/// What a candidate looks like from here.
pub(crate) enum Weighed {
    Free,
    Reserve,
    Blocked(Blocked, Option<u64>),
}

/// Keys of what is remembered and has grown old. With `along`: once something has, what is half as old comes along,
/// for asking takes its time and that must not grow too old meanwhile.
pub(crate) fn stale(
    core: &Core,
    table: &Table,
    picks: &[Handle],
    cx: &AdmitContext,
    now: Moment,
    along: bool,
) -> Vec<(Key, Row)> {
    let old = older(core, table, picks, cx, now, core.max_age);
    if old.is_empty() || !along {
        return old;
    }
    older(core, table, picks, cx, now, core.max_age.map(|age| age / 2))
}

fn older(
    core: &Core,
    table: &Table,
    picks: &[Handle],
    cx: &AdmitContext,
    now: Moment,
    age: Option<u64>,
) -> Vec<(Key, Row)> {
    let mut wanted: Vec<(Key, Row)> = Vec::new();
    let mut breakers: Vec<u32> = Vec::new();
    let leases = core.config.lease.enabled && cx.lease.is_none();
    for pick in picks {
        let Some((row, conn, breaker)) = table.rows(*pick) else { continue };
        if conn.fetched.stale(now.mono, age) {
            wanted.push((table.conn_key(row.conn), Row::Conn(row.conn)));
        }
        if row.own.fetched.stale(now.mono, age) {
            wanted.push((table.own_lock_key(row), Row::Own(pick.index)));
        }
        for shared in [row.quota, row.wide] {
            if shared != NONE
                && let Some((lock, key)) = table.locks.get(shared as usize)
                && lock.fetched.stale(now.mono, age)
            {
                wanted.push((key.clone(), Row::Lock(shared)));
            }
        }
        let breaker_at = conn.profile.breaker;
        if breaker.fetched.stale(now.mono, age) && !breakers.contains(&breaker_at) {
            breakers.push(breaker_at);
            wanted.push((table.breaker_key(breaker_at), Row::Breaker(breaker_at)));
        }
        if leases
            && let Some(lease) = table.leases.get(row.conn as usize)
            && lease.fetched.stale(now.mono, age)
        {
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
    table: &Table,
    picks: &[Handle],
    cx: &AdmitContext,
    now: Moment,
    next: usize,
    refusals: &mut Vec<Refusal>,
) -> Option<(usize, bool)> {
    for (position, pick) in picks.iter().enumerate().skip(next) {
        match weigh(core, table, *pick, cx, now) {
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
    let leased = table.leased_until(row.conn);
    if cx.lease.is_none() && leased > now.mono.0 {
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
    let quota = table.quota_until(row.conn);
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
    let state = breaker.state.load(Relaxed);
    let shut = state != CLOSED && state != DEGRADED;
    if shut {
        let until = breaker.until.load(Relaxed);
        if until > now.mono.0 {
            // A probe may end any moment: nobody is sent away for longer than five seconds because of it.
            let soon = now.mono.0.saturating_add(5_000_000_000);
            let until = if state == HALF_OPEN { until.min(soon) } else { until };
            return Weighed::Blocked(Blocked::Breaker, Some(until).filter(|at| *at != u64::MAX));
        }
    } else if let Some((limit, next)) = breaker.ramp(now.mono, &core.config.breaker)
        && breaker.in_flight.load(Relaxed) >= limit
    {
        return Weighed::Blocked(Blocked::ProviderRamp, Some(next));
    }
    // Those who wait for what is to be had now come first.
    if core.waiting.ahead(Line::Breaker(conn.profile.breaker), cx.waiter) {
        let soon = now.mono.0.saturating_add(1_000_000_000);
        return Weighed::Blocked(if shut { Blocked::Breaker } else { Blocked::ProviderRamp }, Some(soon));
    }
    if core.waiting.ahead(Line::Conn(row.conn), cx.waiter) {
        // Whoever waits already is counted among those who wait.
        let place = core.waiting.queued(Line::Conn(row.conn)) + usize::from(cx.waiter.is_none());
        return Weighed::Blocked(Blocked::Slots, Some(table.slot_due(row.conn, place, now.mono)));
    }
    if shut {
        return Weighed::Reserve;
    }
    if counted(core, table, row, conn, cx, now) { Weighed::Reserve } else { Weighed::Free }
}

/// Whether an attempt has to be written down somewhere before it starts.
fn counted(core: &Core, table: &Table, row: &TargetRow, conn: &Conn, cx: &AdmitContext, now: Moment) -> bool {
    let (limits, slots) = (&conn.profile.limits, &core.config.slots);
    slots.global.is_some()
        || slots.per_provider.is_some()
        || limits.concurrent().is_some()
        || limits.counts()
        || (!conn.profile.model_limits.is_empty() && table.rates(row, conn).1.counts())
        || conn.word.has(REENTRY)
        || cx.lease.is_some()
        || (!table.pools_of.is_empty() && table.pools_of.contains_key(&row.conn))
        || (conn.word.has(LEARNED)
            && (core.learning.scarce(row.conn, None, now.mono)
                || core.learning.scarce(row.conn, Some(table.own_scope(row)), now.mono)))
}
