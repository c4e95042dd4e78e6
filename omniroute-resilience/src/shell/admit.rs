//! May one of these targets be used now? The first that may is granted, with all it needs, in one step.

use std::sync::Arc;
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use omniroute_core::{Moment, Mono, Permit, Principal, Purpose, SessionId, StoreError, Unit};

use crate::Resilience;
use crate::lease::OwnerHash;
use crate::shell::budget::Budget;
use crate::shell::core::Core;
use crate::shell::decide::*;
use crate::shell::denial::{Blocked, Denial, Refusal};
use crate::shell::events::{About, EventKind};
use crate::shell::grant::*;
use crate::shell::needs::*;
use crate::shell::table::{FLAG_DECLARED, FORCED_OPEN, HALF_OPEN, Handle, OPEN};
use crate::shell::ticket::{Held, Ticket, Work};
use crate::shell::txn::transact;
use crate::shell::weigh::*;

/// The lease a managed request runs under.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LeaseClaim {
    /// Who claims it.
    pub owner: OwnerHash,
    /// Of which generation it is.
    pub generation: u64,
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
            self.core.later(Work::release(Arc::new(ticket), now));
        }
    }
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
        let mut now = core.now();
        let stale = stale(core, picks, cx, now);
        if !stale.is_empty() && core.store_here(now.mono) {
            core.refresh(stale).await;
            now = core.now();
        }
        let mut refusals = Vec::new();
        let mut next = 0;
        while next < picks.len() {
            let Some((position, reserve)) = first(core, picks, cx, now, next, &mut refusals) else { break };
            let handle = picks[position];
            if !reserve {
                if let Some(ticket) = ticket(core, handle, cx, now, core.next_permit()) {
                    return Ok(granted(core, ticket, position, cx, now, Extra::No));
                }
            } else {
                match self.reserve(handle, cx, now, Extra::No).await {
                    Ok(ticket) => return Ok(granted(core, ticket, position, cx, now, Extra::No)),
                    Err((reason, at)) => {
                        refusals.push(Refusal { position, reason, not_before: at.map(Mono) })
                    }
                }
                now = core.now();
            }
            next = position + 1;
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

    /// Everything is blocked: a long declared block may be verified, a guess of ours may be overruled once.
    async fn way_out(
        &self,
        picks: &[Handle],
        refusals: &[Refusal],
        cx: &AdmitContext,
        now: Moment,
    ) -> Option<Permit> {
        let core = &self.core;
        if cx.purpose != Purpose::Production || cx.lease.is_some() || !core.store_here(now.mono) {
            return None;
        }
        for refusal in refusals {
            let due = {
                let table = core.table();
                let Some((row, conn, _)) = picks.get(refusal.position).and_then(|pick| table.rows(*pick))
                else {
                    continue;
                };
                let due = |at: u64| at > 0 && at <= now.mono.0;
                match refusal.reason {
                    Blocked::RateLimited | Blocked::QuotaExhausted => {
                        conn.flag(FLAG_DECLARED) && due(conn.verify_at.load(Relaxed))
                    }
                    Blocked::ModelLocked | Blocked::ModelQuota => due(row.own.verify_at.load(Relaxed)),
                    _ => false,
                }
            };
            if due
                && let Ok(ticket) = self.reserve(picks[refusal.position], cx, now, Extra::Verification).await
            {
                let permit = granted(core, ticket, refusal.position, cx, now, Extra::Verification);
                core.events.push(now.wall.0, About::default(), EventKind::Verify);
                return Some(permit);
            }
        }
        let config = &core.config.last_resort;
        let connections = {
            let table = core.table();
            let mut seen: Vec<u32> =
                picks.iter().filter_map(|pick| table.rows(*pick)).map(|(row, ..)| row.conn).collect();
            seen.sort_unstable();
            seen.dedup();
            seen.len()
        };
        if !config.enabled || connections < config.from as usize {
            return None;
        }
        let within = config.within.as_ms().saturating_mul(1_000_000);
        let best = refusals
            .iter()
            .filter(|refusal| refusal.reason.guess() && !self.declared(picks, refusal))
            .filter_map(|refusal| Some((refusal.not_before?, refusal)))
            .filter(|(at, refusal)| {
                let soon = at.0.saturating_sub(now.mono.0) <= within;
                soon || matches!(refusal.reason, Blocked::Breaker | Blocked::Transport)
            })
            .filter(|(at, _)| at.0 != u64::MAX)
            .min_by_key(|(at, refusal)| (*at, refusal.position))?
            .1;
        let ticket = self.reserve(picks[best.position], cx, now, Extra::LastResort).await.ok()?;
        core.events.push(now.wall.0, About::default(), EventKind::LastResort);
        Some(granted(core, ticket, best.position, cx, now, Extra::LastResort))
    }

    fn declared(&self, picks: &[Handle], refusal: &Refusal) -> bool {
        let table = self.core.table();
        let Some((row, conn, breaker)) = picks.get(refusal.position).and_then(|pick| table.rows(*pick))
        else {
            return true;
        };
        match refusal.reason {
            Blocked::ModelLocked => row.own.flags.load(Relaxed) & FLAG_DECLARED != 0,
            Blocked::Breaker => matches!(breaker.state.load(Relaxed), FORCED_OPEN | HALF_OPEN),
            _ => conn.flag(FLAG_DECLARED),
        }
    }

    /// Takes everything one candidate needs, in one commit.
    async fn reserve(
        &self,
        handle: Handle,
        cx: &AdmitContext,
        now: Moment,
        extra: Extra,
    ) -> Result<Ticket, (Blocked, Option<u64>)> {
        let core = &self.core;
        let id = core.next_permit();
        let Some(mut made) = ticket(core, handle, cx, now, id) else {
            return Err((Blocked::NotConfigured, None));
        };
        let Some(needs) = needs(core, handle, cx, extra) else { return Err((Blocked::NotConfigured, None)) };
        if !core.store_here(now.mono) {
            return self.without_store(handle, cx, now, made, &needs);
        }
        made.held = needs.held.clone();
        made.verification = extra == Extra::Verification;
        made.probe = needs.breaker.is_some();
        made.lease = cx.lease;
        let mut guard = Reserving { core: Arc::clone(core), ticket: Some(made) };
        core.counters.commits.fetch_add(1, Relaxed);
        let keys = needs.keys.clone();
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
                        if let Some(bypassed) = decided.bypassed {
                            core.counters.slot_bypasses.fetch_add(bypassed, Relaxed);
                            made.held.slots.clear();
                            core.events.push(now.wall.0, About::default(), EventKind::SlotBypass);
                        }
                        Ok(made)
                    }
                    Some((reason, at)) => {
                        let at = at.map(|at| crate::shell::table::mono(core.now(), decided.now, at));
                        Err((reason, at))
                    }
                }
            }
            // Whether it happened is not known: give it back when the store is there again.
            Err(StoreError::Unavailable(_) | StoreError::Timeout(_)) => {
                let fallback = ticket(core, handle, cx, now, core.next_permit());
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
            && conn.in_flight.load(Relaxed) >= limit
        {
            return Err((Blocked::Slots, retry));
        }
        if !needs.held.slots.is_empty() {
            core.counters.slot_bypasses.fetch_add(1, Relaxed);
        }
        made.held = Held::default();
        Ok(made)
    }
}
