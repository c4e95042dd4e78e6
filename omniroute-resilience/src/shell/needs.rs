//! What one candidate needs from the store: slots, rate, quotas, the probe, a lease.

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use omniroute_core::{Key, QuotaWindow, Target, Unit};

use crate::limits::quota::{Allocation, Policy};
use crate::limits::rate::Limits;
use crate::shell::admit::*;
use crate::shell::core::Core;
use crate::shell::grant::*;
use crate::shell::table::{FLAG_REENTRY, Handle, OPEN};
use crate::shell::ticket::Held;

/// One dimension of a pool that an attempt counts in.
#[derive(Clone)]
pub(crate) struct QuotaNeed {
    pub(crate) at: usize,
    pub(crate) pool: Arc<str>,
    pub(crate) unit: Unit,
    pub(crate) window: QuotaWindow,
    pub(crate) limit: u64,
    pub(crate) amount: u64,
    pub(crate) allocation: Allocation,
}

/// What one candidate needs from the store, and where each record is in the transaction.
#[derive(Clone, Default)]
pub(crate) struct Needs {
    pub(crate) keys: Vec<Key>,
    pub(crate) target: Option<Target>,
    pub(crate) conn: usize,
    /// The lease, and who holds the connection.
    pub(crate) lease: Option<(usize, usize)>,
    pub(crate) slots: Vec<(usize, Option<u32>)>,
    pub(crate) rate: Option<(usize, Limits)>,
    pub(crate) quota: Vec<QuotaNeed>,
    pub(crate) breaker: Option<usize>,
    pub(crate) last_resort: Option<usize>,
    pub(crate) own_lock: Option<usize>,
    pub(crate) held: Held,
    pub(crate) tag: u16,
    pub(crate) others: bool,
    pub(crate) rules: Option<crate::layers::breaker::Rules>,
}

pub(crate) fn needs(core: &Core, handle: Handle, cx: &AdmitContext, extra: Extra) -> Option<Needs> {
    let table = core.table();
    let (row, conn, breaker) = table.rows(handle)?;
    let target = table.target(row);
    let provider = &table.providers[conn.provider as usize];
    let mut needs = Needs {
        tag: conn.tag,
        others: provider.connections > 1,
        rules: Some(breaker.rules.clone()),
        ..Needs::default()
    };
    needs.conn = push(&mut needs.keys, table.conn_key(row.conn));
    if let Some(claim) = &cx.lease {
        let owner = push(&mut needs.keys, Key::LeaseOwner(claim.owner.0));
        needs.lease = Some((owner, push(&mut needs.keys, table.lease_key(row.conn))));
    }
    let slots = &core.config.slots;
    let limits = conn.profile.limits;
    let levels = [
        (slots.global, Key::Slots { provider: None, connection: None }),
        (slots.per_provider, Key::Slots { provider: Some(target.provider.clone()), connection: None }),
    ];
    for (limit, key) in levels {
        if limit.is_some() {
            needs.held.slots.push(key.clone());
            needs.slots.push((push(&mut needs.keys, key), limit));
        }
    }
    if limits.concurrent().is_some() || conn.flag(FLAG_REENTRY) {
        let key = Key::Slots {
            provider: Some(target.provider.clone()),
            connection: Some(target.connection.clone()),
        };
        needs.held.slots.push(key.clone());
        needs.slots.push((push(&mut needs.keys, key), limits.concurrent()));
    }
    if limits.counts() {
        let key = Key::Rate {
            provider: target.provider.clone(),
            connection: target.connection.clone(),
            scope: None,
        };
        needs.held.rate = Some((key.clone(), limits));
        needs.rate = Some((push(&mut needs.keys, key), limits));
    }
    let pools = core.pools.read().unwrap_or_else(std::sync::PoisonError::into_inner);
    for pool in pools.iter().filter(|pool| has(pool, &target)) {
        let listed = pool.allocations.iter().find(|allocation| *allocation.consumer == *cx.consumer.as_str());
        let allocation = listed.cloned().unwrap_or_else(|| Allocation {
            consumer: Arc::from(cx.consumer.as_str()),
            weight: 0,
            hard_cap: None,
            policy: Policy::Burst,
        });
        for dimension in &pool.dimensions {
            let amount = match dimension.unit {
                Unit::Requests => 1,
                Unit::Tokens => cx.estimate,
                _ => 0,
            };
            let key = Key::Quota {
                pool: Arc::clone(&pool.id),
                unit: dimension.unit,
                window: dimension.window,
                model: None,
            };
            needs.held.quota.push((key.clone(), dimension.unit, dimension.window));
            needs.quota.push(QuotaNeed {
                at: push(&mut needs.keys, key),
                pool: Arc::clone(&pool.id),
                unit: dimension.unit,
                window: dimension.window,
                limit: dimension.limit.saturating_mul(pool.members.len() as u64),
                amount,
                allocation: allocation.clone(),
            });
        }
    }
    if extra == Extra::LastResort {
        let key = Key::LastResort(target.provider.clone(), target.model.clone());
        needs.last_resort = Some(push(&mut needs.keys, key));
    } else if breaker.state.load(Relaxed) >= OPEN {
        needs.breaker = Some(push(&mut needs.keys, table.breaker_key(conn.breaker)));
    }
    if extra == Extra::Verification {
        needs.own_lock = Some(push(&mut needs.keys, table.own_lock_key(row)));
    }
    needs.target = Some(target);
    Some(needs)
}

pub(crate) fn push(keys: &mut Vec<Key>, key: Key) -> usize {
    keys.push(key);
    keys.len() - 1
}
