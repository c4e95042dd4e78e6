//! Pools and tiers: which connection is due, and when a dearer tier may be used.

use std::time::Duration;

use omniroute_core::{ConnectionId, ModelId, Mono, Permit, ProviderId, Target};

use crate::shell::admit::AdmitContext;
use crate::shell::core::lock;
use crate::shell::denial::{Blocked, Denial};
use crate::shell::events::{About, EventKind};
use crate::shell::grant::members;
use crate::shell::table::{Handle, at};
use crate::shell::wait::Listening;
use crate::{Resilience, Span};

/// Pools of one tier: how long a request waits for them, and their targets in the order in which they are due.
struct Tier {
    number: u32,
    patience: Duration,
    picks: Vec<Handle>,
}

impl Resilience {
    /// In which order a pool's connections are due, by what they are owed. Paid when one is admitted.
    pub fn share_order(&self, pool: &str) -> Vec<(ProviderId, ConnectionId)> {
        let now = self.core.now();
        let table = self.core.table();
        let Some(pool) = table.pools.iter().find(|other| &*other.spec.id == pool) else { return Vec::new() };
        let rows = members(&table, pool, now);
        let order = lock(&self.core.shares).get(&pool.spec.id).cloned().unwrap_or_default().order(&rows);
        let conn = |id: u64| table.conns.get(usize::try_from(id).ok()?);
        let names = order.into_iter().filter_map(conn);
        names.map(|conn| (at(&table.providers, conn.provider).id.clone(), conn.id.clone())).collect()
    }

    /// Admits a model at one of these pools: the lowest tier first, inside a tier by what its connections are
    /// owed. A request waits `tier_patience` for a tier that is only busy before it spills to the next one.
    ///
    /// # Errors
    /// The denial over all pools, in the order in which they were tried.
    pub async fn admit_pools(
        &self,
        pools: &[&str],
        model: &ModelId,
        cx: &AdmitContext,
    ) -> Result<Permit, Denial> {
        let tiers = self.tiers(pools, model);
        let mut picks: Vec<Handle> = Vec::new();
        let mut last = None;
        for (place, tier) in tiers.iter().enumerate() {
            picks.extend(&tier.picks);
            if place + 1 == tiers.len() {
                return self.admit(&picks, cx).await;
            }
            match self.patiently(tier, &picks, cx).await {
                Ok(permit) => return Ok(permit),
                Err(denial) => last = Some(denial),
            }
        }
        match last {
            Some(denial) => Err(denial),
            None => self.admit(&[], cx).await,
        }
    }

    async fn patiently(&self, tier: &Tier, picks: &[Handle], cx: &AdmitContext) -> Result<Permit, Denial> {
        let core = &self.core;
        let began = core.now().mono;
        let end = began.after(tier.patience);
        let mut listening: Option<Listening> = None;
        loop {
            if let Some(listening) = &mut listening {
                listening.again();
            }
            let denial = match self.admit(picks, cx).await {
                Ok(permit) => return Ok(permit),
                Err(denial) => denial,
            };
            let now = core.now();
            let Some(due) = soon(&denial, end).filter(|due| *due > now.mono && now.mono < end) else {
                let waited_ms = u64::try_from(now.mono.since(began).as_millis()).unwrap_or(u64::MAX);
                let kind = EventKind::TierSpilled { tier: tier.number, waited_ms };
                core.events.push(now.wall.0, About::default(), kind);
                return Err(denial);
            };
            match &listening {
                Some(listening) => listening.wait_until(due).await,
                None => listening = Some(Listening::new(core)),
            }
        }
    }

    fn tiers(&self, pools: &[&str], model: &ModelId) -> Vec<Tier> {
        let standard = self.core.config.quota.tier_patience;
        let mut known: Vec<(u32, Span, &str)> = {
            let table = self.core.table();
            let named = |name: &&str| table.pools.iter().find(|pool| *pool.spec.id == **name);
            pools
                .iter()
                .filter_map(|name| Some((named(name)?, *name)))
                .map(|(pool, name)| (pool.spec.tier, pool.spec.tier_patience.unwrap_or(standard), name))
                .collect()
        };
        known.sort_by_key(|(tier, ..)| *tier);
        let mut tiers: Vec<Tier> = Vec::new();
        for (number, patience, name) in known {
            let targets: Vec<Target> = self
                .share_order(name)
                .into_iter()
                .map(|(provider, connection)| Target { provider, connection, model: model.clone() })
                .collect();
            let picks = self.register(&targets).into_iter().flatten();
            match tiers.last_mut().filter(|tier| tier.number == number) {
                Some(tier) => {
                    tier.picks.extend(picks);
                    tier.patience = tier.patience.max(patience.into());
                }
                None => tiers.push(Tier { number, patience: patience.into(), picks: picks.collect() }),
            }
        }
        tiers
    }
}

/// When the first of those that may start before `end` is due. A slot may come free at any time until then.
fn soon(denial: &Denial, end: Mono) -> Option<Mono> {
    denial
        .refusals
        .iter()
        .filter(|refusal| refusal.reason.waitable())
        .filter_map(|refusal| match refusal.reason {
            Blocked::Slots => Some(end),
            _ => refusal.not_before.filter(|at| *at <= end),
        })
        .min()
}
