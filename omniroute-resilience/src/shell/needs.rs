//! What one candidate needs from the store: slots, rate, quotas, the probe, a lease.

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use omniroute_core::{Key, ModelId, Moment, QuotaWindow, Target, Unit};

use crate::limits::quota::{Allocation, Policy};
use crate::limits::rate::Limits;
use crate::shell::admit::*;
use crate::shell::core::Core;
use crate::shell::grant::*;
use crate::shell::table::{Handle, LEARNED, OPEN, REENTRY, Table};
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
    /// None: a cap of one consumer on one model, that nobody else counts in.
    pub(crate) allocation: Option<Allocation>,
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
    pub(crate) rates: Vec<(usize, Limits)>,
    pub(crate) quota: Vec<QuotaNeed>,
    pub(crate) breaker: Option<usize>,
    pub(crate) last_resort: Option<usize>,
    pub(crate) own_lock: Option<usize>,
    pub(crate) held: Held,
    pub(crate) tag: u16,
    pub(crate) others: bool,
    pub(crate) rules: Option<crate::layers::breaker::Rules>,
}

pub(crate) fn needs(
    core: &Core,
    handle: Handle,
    cx: &AdmitContext,
    extra: Extra,
    now: Moment,
) -> Option<Needs> {
    let table = core.table();
    let (row, conn, breaker) = table.rows(handle)?;
    let target = table.target(row);
    let provider = &table.providers[conn.provider as usize];
    let mut needs = Needs {
        tag: table.tag(conn),
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
    if limits.concurrent().is_some() || conn.word.has(REENTRY) {
        let key = Key::Slots {
            provider: Some(target.provider.clone()),
            connection: Some(target.connection.clone()),
        };
        needs.held.slots.push(key.clone());
        needs.slots.push((push(&mut needs.keys, key), limits.concurrent()));
    }
    let learned = conn.word.has(LEARNED);
    let (whole, own) = table.rates(row, conn);
    let scope = || Some(table.own_scope(row));
    if whole.counts() || (learned && core.learning.scarce(row.conn, None, now.mono)) {
        needs.rate(table.rate_key(row.conn, None), whole);
    }
    if own.counts() || (learned && core.learning.scarce(row.conn, scope(), now.mono)) {
        needs.rate(table.rate_key(row.conn, scope()), own);
    }
    for place in table.pools_of.get(&row.conn).into_iter().flatten() {
        needs.pool(&table, *place, &target.model, cx);
    }
    if extra == Extra::LastResort {
        let key = Key::LastResort(target.provider.clone(), target.model.clone());
        needs.last_resort = Some(push(&mut needs.keys, key));
    } else if extra != Extra::Anyway && breaker.state.load(Relaxed) >= OPEN {
        needs.breaker = Some(push(&mut needs.keys, table.breaker_key(conn.profile.breaker)));
    }
    if extra == Extra::Verification {
        needs.own_lock = Some(push(&mut needs.keys, table.own_lock_key(row)));
    }
    needs.target = Some(target);
    Some(needs)
}

impl Needs {
    fn rate(&mut self, key: Key, limits: Limits) {
        self.held.rates.push((key.clone(), limits));
        self.rates.push((push(&mut self.keys, key), limits));
    }

    fn pool(&mut self, table: &Table, place: u32, model: &ModelId, cx: &AdmitContext) {
        let Some(pool) = table.pools.get(place as usize).map(|pool| &pool.spec) else { return };
        let consumer = cx.consumer.as_str();
        let listed = pool.allocations.iter().find(|allocation| *allocation.consumer == *consumer);
        let allocation = listed.cloned().unwrap_or_else(|| Allocation {
            consumer: Arc::from(consumer),
            weight: 0,
            hard_cap: None,
            policy: Policy::Burst,
        });
        for dimension in &pool.dimensions {
            let limit = dimension.limit.saturating_mul(pool.members.len() as u64);
            let of = (dimension.unit, dimension.window, None);
            self.quota(&pool.id, of, limit, Some(allocation.clone()), cx);
        }
        for cap in pool.caps.iter().filter(|cap| *cap.consumer == *consumer && cap.model == *model) {
            self.quota(&pool.id, (cap.unit, cap.window, Some(model.clone())), cap.limit, None, cx);
        }
    }

    fn quota(
        &mut self,
        pool: &Arc<str>,
        (unit, window, model): (Unit, QuotaWindow, Option<ModelId>),
        limit: u64,
        allocation: Option<Allocation>,
        cx: &AdmitContext,
    ) {
        let amount = match unit {
            Unit::Requests => 1,
            Unit::Tokens => cx.estimate,
            _ => 0,
        };
        let key = Key::Quota { pool: Arc::clone(pool), unit, window, model };
        self.held.quota.push((key.clone(), unit, window));
        let at = push(&mut self.keys, key);
        self.quota.push(QuotaNeed { at, pool: Arc::clone(pool), unit, window, limit, amount, allocation });
    }
}

/// Where a key is from now on.
pub(crate) fn push(keys: &mut Vec<Key>, key: Key) -> usize {
    keys.push(key);
    keys.len() - 1
}
