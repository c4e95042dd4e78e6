//! May one of these targets be used now? The first that may is granted, with all it needs, in one step.

use std::sync::Arc;
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use omniroute_core::{Key, Moment, Mono, Permit, Principal, Purpose, SessionId, StoreError, Unit};

use crate::Resilience;
use crate::join::share::Share;
use crate::lease::OwnerHash;
use crate::shell::budget::Budget;
use crate::shell::core::{Core, Row};
use crate::shell::decide::*;
use crate::shell::denial::{Blocked, Denial, Refusal};
use crate::shell::events::{About, EventKind};
use crate::shell::grant::*;
use crate::shell::needs::*;
use crate::shell::table::{Handle, OPEN};
use crate::shell::ticket::{Held, Ticket, Work};
use crate::shell::txn::transact;
use crate::shell::wait::Line;
use crate::shell::weigh::*;

/// The lease a managed request runs under.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LeaseClaim {
    /// Who claims it.
    pub owner: OwnerHash,
    /// Of which generation it is.
    pub generation: u64,
}

/// What to do when every target that is left is only blocked by a breaker, or by its ramp after recovery.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AllUnhealthy {
    /// Deny, with 503 `provider_circuit_open` and the time of the one that is due first.
    #[default]
    Deny,
    /// Grant the one that is due first all the same. Breakers that an operator forced open stay closed to it.
    TryAnyway,
}

/// For whom and why something is to be admitted.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct AdmitContext {
    /// Who calls.
    pub consumer: Principal,
    /// In which session.
    pub session: Option<SessionId>,
    /// Under which exclusive lease.
    pub lease: Option<LeaseClaim>,
    /// Why.
    pub purpose: Purpose,
    /// No waiting beyond this.
    pub deadline: Option<Mono>,
    /// Tokens the attempt may cost; charged to rates and quotas until the real number is known.
    pub estimate: u64,
    /// What the client request may still spend; none: nothing is counted.
    pub budget: Option<Budget>,
    /// The consumer's weight while it waits; 0 counts as 1.
    pub weight: u32,
    /// What to do when nothing but breakers stands in the way.
    pub all_unhealthy: AllUnhealthy,
    pub(crate) waiter: Option<u64>,
    pub(crate) waited: Duration,
}

impl AdmitContext {
    /// Production, for a consumer.
    pub fn new(consumer: Principal) -> Self {
        AdmitContext { consumer, ..AdmitContext::default() }
    }
}

/// A reservation on its way: if its future is dropped, whatever was taken goes back.
pub(crate) struct Reserving {
    pub(crate) core: Arc<Core>,
    pub(crate) ticket: Option<Ticket>,
}

impl Drop for Reserving {
    fn drop(&mut self) {
        if let Some(ticket) = self.ticket.take() {
            ticket.state.store(crate::shell::ticket::SETTLED, Relaxed);
            let now = self.core.now();
            self.core.unused();
            self.core.later(Work::release(Arc::new(ticket), now));
        }
    }
}

/// When a slot may be free: as slots were held lately, or when the first one ends by itself.
fn slot_due(core: &Core, handle: Handle, cx: &AdmitContext, ends: Option<u64>) -> Option<u64> {
    let table = core.table();
    let Some((row, ..)) = table.rows(handle) else { return ends };
    let now = core.now().mono;
    let place = core.waiting.queued(Line::Conn(row.conn)) + usize::from(cx.waiter.is_none());
    let due = table.slot_due(row.conn, place, now);
    Some(ends.map_or(due, |ends| ends.clamp(now.0.saturating_add(1_000_000_000), due)))
}

impl Resilience {
    /// Grants the first of `picks` that may be used now. Never changes their order. Reads the store only when
    /// what is remembered of it is too old, and writes only to reserve something.
    ///
    /// # Errors
    /// [`Denial`]: one answer for all of them. Dropping the future leaves nothing behind.
    pub async fn admit(&self, picks: &[Handle], cx: &AdmitContext) -> Result<Permit, Denial> {
        let core = &self.core;
        if core.outbox_length() > 0 {
            core.flush(64).await;
        }
        let now = core.now();
        let mut refusals = Vec::new();
        let stale = {
            let table = core.table();
            let stale = stale(core, &table, picks, cx, now, false);
            // What nearly all requests meet: all is known, nothing is to be written.
            if (stale.is_empty() || !core.store_here(now.mono))
                && let Some((position, false)) = first(core, &table, picks, cx, now, 0, &mut refusals)
                && let Some(ticket) = ticket(core, &table, picks[position], cx, now, core.next_permit())
            {
                return Ok(granted(core, &table, ticket, position, cx, now, Extra::No));
            }
            stale
        };
        refusals.clear();
        self.admit_slowly(picks, cx, now, stale, refusals).await
    }

    async fn admit_slowly(
        &self,
        picks: &[Handle],
        cx: &AdmitContext,
        mut now: Moment,
        stale: Vec<(Key, Row)>,
        mut refusals: Vec<Refusal>,
    ) -> Result<Permit, Denial> {
        let core = &self.core;
        if !stale.is_empty() && core.store_here(now.mono) {
            core.refresh(stale).await;
            let asked = std::mem::replace(&mut now, core.now());
            let took = now.mono.0.saturating_sub(asked.mono.0);
            // What was young enough may have grown old meanwhile; where an answer takes longer, all of it always is.
            if core.max_age.is_some_and(|age| (1..age).contains(&took)) {
                now = self.read_again(picks, cx, now).await;
            }
        }
        let mut next = 0;
        loop {
            let found = {
                let table = core.table();
                let found = first(core, &table, picks, cx, now, next, &mut refusals);
                if let Some((position, false)) = found
                    && let Some(ticket) = ticket(core, &table, picks[position], cx, now, core.next_permit())
                {
                    return Ok(granted(core, &table, ticket, position, cx, now, Extra::No));
                }
                found
            };
            let Some((position, _)) = found else { break };
            match self.reserve(picks[position], cx, now, Extra::No).await {
                Ok(ticket) => {
                    let table = core.table();
                    return Ok(granted(core, &table, ticket, position, cx, now, Extra::No));
                }
                Err((reason, at)) => {
                    refusals.push(Refusal { position, reason, not_before: at.map(Mono) });
                }
            }
            now = core.now();
            next = position + 1;
            // Looking in vain takes time with a slow store: the others are not judged by what has grown old meanwhile.
            now = self.read_again(picks.get(next..).unwrap_or_default(), cx, now).await;
        }
        if let Some(permit) = self.way_out(picks, &refusals, cx, now).await {
            return Ok(permit);
        }
        core.counters.denied.fetch_add(1, Relaxed);
        let denial = Denial::new(refusals, now);
        let candidates = u32::try_from(picks.len()).unwrap_or(u32::MAX);
        core.events.push(
            now.wall.0,
            About::default(),
            EventKind::Denied { reason: denial.reason, candidates },
        );
        Err(denial)
    }

    /// Reads what has grown too old since this admission began. Then it is this late.
    async fn read_again(&self, picks: &[Handle], cx: &AdmitContext, now: Moment) -> Moment {
        let core = &self.core;
        let stale = crate::shell::weigh::stale(core, &core.table(), picks, cx, now, true);
        if stale.is_empty() || !core.store_here(now.mono) {
            return now;
        }
        core.refresh(stale).await;
        core.now()
    }

    /// Takes everything one candidate needs, in one commit.
    pub(crate) async fn reserve(
        &self,
        handle: Handle,
        cx: &AdmitContext,
        now: Moment,
        extra: Extra,
    ) -> Result<Ticket, (Blocked, Option<u64>)> {
        let taken = self.try_reserve(handle, cx, now, extra).await;
        if taken.is_err() {
            self.core.unused();
        }
        taken
    }

    async fn try_reserve(
        &self,
        handle: Handle,
        cx: &AdmitContext,
        now: Moment,
        extra: Extra,
    ) -> Result<Ticket, (Blocked, Option<u64>)> {
        let core = &self.core;
        let id = core.next_permit();
        let made = ticket(core, &core.table(), handle, cx, now, id);
        let Some(mut made) = made else { return Err((Blocked::NotConfigured, None)) };
        let Some(mut needs) = needs(core, handle, cx, extra, now) else {
            return Err((Blocked::NotConfigured, None));
        };
        if !core.store_here(now.mono) {
            return self.without_store(handle, cx, now, made, &needs);
        }
        made.held = std::mem::take(&mut needs.held);
        made.verification = extra == Extra::Verification;
        made.probe = needs.breaker.is_some();
        made.lease = cx.lease;
        let mut guard = Reserving { core: Arc::clone(core), ticket: Some(made) };
        core.counters.commits.fetch_add(1, Relaxed);
        let keys = std::mem::take(&mut needs.keys);
        let result = transact(&*core.store, keys, |draft| decide(core, &needs, id, cx, extra, draft)).await;
        core.heard(&result);
        let mut made = match guard.ticket.take() {
            Some(made) => made,
            None => return Err((Blocked::NotConfigured, None)),
        };
        drop(guard);
        match result {
            Ok(decided) => {
                show(core, handle, &needs, &decided);
                match decided.refused {
                    None => {
                        made.probe = decided.probe;
                        made.fence = decided.fence;
                        if let Some(generation) = decided.generation {
                            made.generation = AtomicU64::new(generation);
                        }
                        if !decided.bypassed.is_empty() {
                            core.counters.slot_bypasses.fetch_add(1, Relaxed);
                            made.held.slots.retain(|key| !decided.bypassed.contains(key));
                            core.events.push(now.wall.0, About::default(), EventKind::SlotBypass);
                        }
                        Ok(made)
                    }
                    Some((reason, at)) => {
                        let at = at.map(|at| crate::shell::table::mono(core.now(), decided.now, at));
                        let at = if reason == Blocked::Slots { slot_due(core, handle, cx, at) } else { at };
                        Err((reason, at))
                    }
                }
            }
            // Whether it happened is not known: give it back when the store is there again.
            Err(StoreError::Unavailable(_) | StoreError::Timeout(_)) => {
                core.unused();
                let fallback = ticket(core, &core.table(), handle, cx, now, core.next_permit());
                made.state = AtomicU8::new(crate::shell::ticket::SETTLED);
                core.later(Work::release(Arc::new(made), now));
                match fallback {
                    Some(fallback) => self.without_store(handle, cx, now, fallback, &needs),
                    None => Err((Blocked::NotConfigured, None)),
                }
            }
            Err(_) => Err((Blocked::Slots, Some(now.mono.0 + 1_000_000_000))),
        }
    }

    /// The store is away: what this process knows decides. Leases and hard caps in money fail closed.
    fn without_store(
        &self,
        handle: Handle,
        cx: &AdmitContext,
        now: Moment,
        mut made: Ticket,
        needs: &Needs,
    ) -> Result<Ticket, (Blocked, Option<u64>)> {
        let core = &self.core;
        let retry = Some(now.mono.0.saturating_add(1_000_000_000));
        if cx.lease.is_some() {
            return Err((Blocked::LeaseUnavailable, retry));
        }
        if !needs.quota.is_empty() {
            core.events.push(now.wall.0, About::default(), EventKind::QuotaFailOpen);
        }
        if core.config.quota.usd_caps_fail_closed && needs.quota.iter().any(|q| q.unit == Unit::Usd) {
            return Err((Blocked::QuotaShare, retry));
        }
        let table = core.table();
        let Some((_, conn, breaker)) = table.rows(handle) else { return Err((Blocked::NotConfigured, None)) };
        if breaker.state.load(Relaxed) >= OPEN {
            // At most one probe for each process.
            let lease =
                now.mono.0.saturating_add(u64::try_from(breaker.rules.probe_lease).unwrap_or(0) * 1_000_000);
            let held = breaker.local_probe.load(Relaxed);
            let won = held <= now.mono.0
                && breaker.local_probe.compare_exchange(held, lease, Relaxed, Relaxed).is_ok();
            if !won {
                return Err((Blocked::Breaker, Some(held.max(now.mono.0 + 1_000_000_000))));
            }
        }
        if let Some(limit) = conn.profile.limits.concurrent()
            && conn.in_flight.load(Relaxed) >= Share::without(&*core.store).part(limit)
        {
            return Err((Blocked::Slots, retry));
        }
        if !needs.slots.is_empty() {
            core.counters.slot_bypasses.fetch_add(1, Relaxed);
        }
        made.held = Held::default();
        Ok(made)
    }
}
