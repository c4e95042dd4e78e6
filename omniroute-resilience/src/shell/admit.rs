//! May one of these targets be used now? The first that may is granted, with all it needs, in one step.

use std::sync::Arc;
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use omniroute_core::{
    ConnectionId, Failure, FailureKind, Grant, Key, Moment, Mono, Permit, PermitId, PermitSink, Principal, ProviderId,
    Purpose, QuotaWindow, SessionId, StoreError, Target, Unit,
};

use crate::layers::breaker::{Answer, Asking, Breaker, Reaction};
use crate::layers::connection::Connection;
use crate::lease::OwnerHash;
use crate::lease::record::Lease;
use crate::limits::quota::{Allocation, Gate, Policy, Usage, consumer_number, gate};
use crate::limits::rate::{Limits, Rate};
use crate::limits::share::Member;
use crate::limits::slots::Slots;
use crate::shell::budget::Budget;
use crate::shell::core::{Core, Row, lock};
use crate::shell::denial::{Blocked, Denial, Refusal};
use crate::shell::events::{About, EventKind};
use crate::shell::report::{breaker_expires, conn_expires, locks};
use crate::shell::table::{CLOSED, DEGRADED, FLAG_DECLARED, FLAG_REENTRY, FORCED_OPEN, HALF_OPEN, Handle, NONE, OPEN, Table};
use crate::shell::ticket::{Held, Ticket, Work};
use crate::shell::txn::transact;
use crate::Resilience;

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

/// What a candidate looks like from here.
enum Weighed {
    Free,
    Reserve,
    Blocked(Blocked, Option<u64>),
}

/// Why a free way around a block is taken.
#[derive(Clone, Copy, PartialEq)]
enum Extra {
    No,
    Verification,
    LastResort,
}

/// A reservation on its way: if its future is dropped, whatever was taken goes back.
struct Reserving {
    core: Arc<Core>,
    ticket: Option<Ticket>,
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
                    Err((reason, at)) => refusals.push(Refusal { position, reason, not_before: at.map(Mono) }),
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
        core.events.push(now.wall.0, About::default(), EventKind::Denied { reason: denial.reason, candidates });
        Err(denial)
    }

    /// Everything is blocked: a long declared block may be verified, a guess of ours may be overruled once.
    async fn way_out(&self, picks: &[Handle], refusals: &[Refusal], cx: &AdmitContext, now: Moment) -> Option<Permit> {
        let core = &self.core;
        if cx.purpose != Purpose::Production || cx.lease.is_some() || !core.store_here(now.mono) {
            return None;
        }
        for refusal in refusals {
            let due = {
                let table = core.table();
                let Some((row, conn, _)) = picks.get(refusal.position).and_then(|pick| table.rows(*pick)) else {
                    continue;
                };
                let due = |at: u64| at > 0 && at <= now.mono.0;
                let long = match refusal.reason {
                    Blocked::RateLimited | Blocked::QuotaExhausted => {
                        conn.flag(FLAG_DECLARED) && due(conn.verify_at.load(Relaxed))
                    }
                    Blocked::ModelLocked | Blocked::ModelQuota => due(row.own.verify_at.load(Relaxed)),
                    _ => false,
                };
                long
            };
            if due && let Ok(ticket) = self.reserve(picks[refusal.position], cx, now, Extra::Verification).await {
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
        let Some((row, conn, breaker)) = picks.get(refusal.position).and_then(|pick| table.rows(*pick)) else {
            return true;
        };
        match refusal.reason {
            Blocked::ModelLocked => row.own.flags.load(Relaxed) & FLAG_DECLARED != 0,
            Blocked::Breaker => matches!(breaker.state.load(Relaxed), FORCED_OPEN | HALF_OPEN),
            _ => conn.flag(FLAG_DECLARED),
        }
    }

    /// Takes everything one candidate needs, in one commit.
    async fn reserve(&self, handle: Handle, cx: &AdmitContext, now: Moment, extra: Extra) -> Result<Ticket, (Blocked, Option<u64>)> {
        let core = &self.core;
        let id = core.next_permit();
        let Some(mut made) = ticket(core, handle, cx, now, id) else { return Err((Blocked::NotConfigured, None)) };
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
        let result =
            transact(&*core.store, keys, |draft| decide(core, &needs, id, cx, now, extra, draft)).await;
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
    fn without_store(&self, handle: Handle, cx: &AdmitContext, now: Moment, mut made: Ticket, needs: &Needs) -> Result<Ticket, (Blocked, Option<u64>)> {
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
            let lease = now.mono.0.saturating_add(u64::try_from(breaker.rules.probe_lease).unwrap_or(0) * 1_000_000);
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

/// Keys of what is remembered and has grown old.
fn stale(core: &Core, picks: &[Handle], cx: &AdmitContext, now: Moment) -> Vec<(Key, Row)> {
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
fn first(core: &Core, picks: &[Handle], cx: &AdmitContext, now: Moment, next: usize, refusals: &mut Vec<Refusal>) -> Option<(usize, bool)> {
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
fn weigh(core: &Core, table: &Table, pick: Handle, cx: &AdmitContext, now: Moment) -> Weighed {
    let Some((row, conn, breaker)) = table.rows(pick) else { return Weighed::Blocked(Blocked::NotConfigured, None) };
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
    let locked = locks(table, row).filter_map(|(_, lock)| lock.blocked(now.mono)).max_by_key(|(_, until)| *until);
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

fn ticket(core: &Arc<Core>, handle: Handle, cx: &AdmitContext, now: Moment, id: PermitId) -> Option<Ticket> {
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

fn granted(core: &Arc<Core>, ticket: Ticket, position: usize, cx: &AdmitContext, now: Moment, extra: Extra) -> Permit {
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
        if let Some((_, egress)) = table.egresses.get(conn.profile.egress as usize) {
            lock(egress).dialled(&breaker.dialled, now.mono);
        }
        let target = if row.conn == ticket.conn { table.target(row) } else {
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
            provider: Some(Arc::from(target.provider.as_str())),
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
pub(crate) fn members(table: &Table, pool: &crate::PoolSpec, now: Moment) -> Vec<(Member, ProviderId, ConnectionId)> {
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

fn pay_shares(core: &Core, table: &Table, target: &Target, now: Moment) {
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
        core.events.push(now.wall.0, About { connection: Some(target.connection.clone()), ..About::default() }, kind);
    }
}

fn has(pool: &crate::PoolSpec, target: &Target) -> bool {
    pool.members.iter().any(|(provider, connection)| *provider == target.provider && *connection == target.connection)
}

/// One dimension of a pool that an attempt counts in.
#[derive(Clone)]
struct QuotaNeed {
    at: usize,
    pool: Arc<str>,
    unit: Unit,
    window: QuotaWindow,
    limit: u64,
    amount: u64,
    allocation: Allocation,
}

/// What one candidate needs from the store, and where each record is in the transaction.
#[derive(Clone, Default)]
struct Needs {
    keys: Vec<Key>,
    target: Option<Target>,
    conn: usize,
    lease: Option<usize>,
    slots: Vec<(usize, Option<u32>)>,
    rate: Option<(usize, Limits)>,
    quota: Vec<QuotaNeed>,
    breaker: Option<usize>,
    last_resort: Option<usize>,
    own_lock: Option<usize>,
    held: Held,
    class: crate::Class,
    tag: u16,
    others: bool,
    rules: Option<crate::layers::breaker::Rules>,
}

fn needs(core: &Core, handle: Handle, cx: &AdmitContext, extra: Extra) -> Option<Needs> {
    let table = core.table();
    let (row, conn, breaker) = table.rows(handle)?;
    let target = table.target(row);
    let provider = &table.providers[conn.provider as usize];
    let mut needs = Needs {
        class: conn.profile.class,
        tag: conn.tag,
        others: provider.connections > 1,
        rules: Some(breaker.rules.clone()),
        ..Needs::default()
    };
    needs.conn = push(&mut needs.keys, table.conn_key(row.conn));
    if let Some(claim) = &cx.lease {
        needs.lease = Some(push(&mut needs.keys, Key::LeaseOwner(claim.owner.0)));
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
        let key = Key::Slots { provider: Some(target.provider.clone()), connection: Some(target.connection.clone()) };
        needs.held.slots.push(key.clone());
        needs.slots.push((push(&mut needs.keys, key), limits.concurrent()));
    }
    if limits.counts() {
        let key = Key::Rate { provider: target.provider.clone(), connection: target.connection.clone(), scope: None };
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

fn push(keys: &mut Vec<Key>, key: Key) -> usize {
    keys.push(key);
    keys.len() - 1
}

/// What the store's state made of it.
#[derive(Default)]
struct Decided {
    now: i64,
    refused: Option<(Blocked, Option<i64>)>,
    probe: bool,
    generation: Option<u64>,
    fence: Option<u64>,
    bypassed: Option<u64>,
    conn: Option<(Connection, Option<i64>)>,
    breaker: Option<(Breaker, Reaction)>,
    gates: Vec<(Arc<str>, u64, u64, u64, Gate)>,
}

/// Decides and reserves. Stages changes only if everything is to be had; the breaker comes last.
fn decide(core: &Core, needs: &Needs, id: PermitId, cx: &AdmitContext, ours: Moment, extra: Extra, draft: &mut crate::shell::txn::Draft) -> Decided {
    let now = draft.now;
    let mut out = Decided { now, ..Decided::default() };
    let refuse = |draft: &mut crate::shell::txn::Draft, mut out: Decided, reason: Blocked, at: Option<i64>| {
        draft.forget();
        out.refused = Some((reason, at));
        out
    };
    let (mut conn, exists) = draft.load::<Connection>(needs.conn);
    if exists {
        out.conn = Some((conn.clone(), conn_expires(&conn, now)));
    }
    if let (Some(at), Some(claim)) = (needs.lease, &cx.lease) {
        let (lease, held) = draft.load::<Lease>(at);
        if let Err((reason, fence)) = claim_fits(claim, &lease, held, cx, needs.target.as_ref(), now) {
            let _ = fence;
            return refuse(draft, out, reason, None);
        }
        out.fence = Some(lease.fence);
        draft.check(at);
    }
    if let Some((terminal, _)) = conn.terminal {
        return refuse(draft, out, Blocked::Terminal(terminal), None);
    }
    match extra {
        Extra::No if conn.until > now => {
            let (until, reason) = (conn.until, crate::shell::table::rest_reason(conn.reason));
            return refuse(draft, out, reason, Some(until));
        }
        Extra::Verification => {
            let every = core.config.cooldown.verify_every.signed();
            let mut found = false;
            if conn.until > now && conn.verify_at > 0 && conn.verify_at <= now {
                conn.verify_at = now.saturating_add(every);
                let expires = conn_expires(&conn, now);
                draft.put(needs.conn, &conn, expires);
                out.conn = Some((conn.clone(), expires));
                found = true;
            }
            if let Some(at) = needs.own_lock {
                let (mut lock, held) = draft.load::<crate::layers::lockout::Lock>(at);
                if held && lock.until > now && lock.verify_at > 0 && lock.verify_at <= now {
                    lock.verify_at = now.saturating_add(every);
                    let expires = Some(lock.until.saturating_add(3_600_000));
                    draft.put(at, &lock, expires);
                    found = true;
                }
            }
            if !found {
                return refuse(draft, out, Blocked::RateLimited, None);
            }
        }
        Extra::LastResort => {
            if let Some(at) = needs.last_resort {
                let (_, held) = draft.load::<crate::lease::record::Counter>(at);
                if held {
                    return refuse(draft, out, Blocked::RateLimited, None);
                }
                let expires = now.saturating_add(core.config.last_resort.every.signed());
                draft.put(at, &crate::lease::record::Counter(1), Some(expires));
            }
        }
        Extra::No => {}
    }
    let consumer = consumer_number(cx.consumer.as_str());
    for need in &needs.quota {
        let (mut usage, _) = draft.load::<Usage>(need.at);
        usage.settle(need.window, now);
        let own = usage.sum(Some(consumer), need.window, now);
        let total = usage.sum(None, need.window, now);
        let mut word = gate(&need.allocation, own, total, need.limit, core.config.quota.strict_from_ppm);
        if total > 0 && total.saturating_add(need.amount) > need.limit {
            word = Gate::Block;
        }
        out.gates.push((Arc::clone(&need.pool), own, total, need.limit, word));
        if word == Gate::Block {
            let fair = need.limit / 100 * u64::from(need.allocation.weight);
            let (whose, below) = if total.saturating_add(need.amount) > need.limit {
                (None, need.limit.saturating_sub(need.amount).max(1))
            } else {
                (Some(consumer), need.allocation.hard_cap.unwrap_or(fair.max(1)))
            };
            let at = usage.falls_below(whose, below, need.window, now);
            return refuse(draft, out, Blocked::QuotaShare, Some(at));
        }
        let until = now.saturating_add(core.config.quota.reservation.signed());
        usage.reserve(id, consumer, need.amount, until);
        let length = i64::try_from(need.window.length().as_millis()).unwrap_or(i64::MAX);
        draft.put(need.at, &usage, Some(until.saturating_add(length).saturating_add(length / 4)));
    }
    if let Some((at, limits)) = &needs.rate {
        let (mut rate, _) = draft.load::<Rate>(*at);
        if let Err(at) = rate.start(limits, cx.estimate, now) {
            return refuse(draft, out, Blocked::RateLimit, Some(at));
        }
        let expires = rate.ends();
        draft.put(*at, &rate, Some(expires));
    }
    let until = now.saturating_add(core.config.slots.lease.signed());
    for (at, limit) in &needs.slots {
        let reentry = if extra == Extra::No { conn.reentry } else { None };
        let own = needs.slots.last().is_some_and(|(last, _)| last == at);
        let limit = match (limit, reentry.filter(|_| own)) {
            (Some(limit), Some(allowed)) => (*limit).min(allowed),
            (Some(limit), None) => *limit,
            (None, Some(allowed)) => allowed,
            (None, None) => u32::MAX,
        };
        let (mut slots, _) = draft.load::<Slots>(*at);
        match slots.take(id, limit, until, now) {
            Ok(()) => {
                let expires = slots.last();
                draft.put(*at, &slots, expires);
            }
            Err(_) if core.config.slots.fail_open => out.bypassed = Some(1),
            Err(free) => return refuse(draft, out, Blocked::Slots, Some(free)),
        }
    }
    if let (Some(at), Some(rules)) = (needs.breaker, &needs.rules) {
        let (mut breaker, _) = draft.load::<Breaker>(at);
        let asking = Asking { permit: id, connection: needs.tag, others: needs.others };
        let (answer, reaction) = breaker.admit(&asking, now, rules, &core.rng);
        if let Answer::Deny(until) = answer {
            draft.forget();
            out.refused = Some((Blocked::Breaker, Some(until).filter(|at| *at != i64::MAX)));
        }
        if reaction.changed {
            let expires = breaker_expires(&breaker, now, rules);
            draft.put(at, &breaker, expires);
        }
        out.probe = answer == Answer::Probe;
        out.generation = Some(breaker.generation);
        out.breaker = Some((breaker, reaction));
    }
    let _ = ours;
    out
}

fn claim_fits(claim: &LeaseClaim, lease: &Lease, held: bool, cx: &AdmitContext, target: Option<&Target>, now: i64) -> Result<(), (Blocked, u64)> {
    if !held || lease.ended.is_some() {
        return Err((Blocked::LeaseRequired, 0));
    }
    if lease.consumer != cx.consumer.as_str() || lease.generation != claim.generation || lease.expires_at <= now {
        return Err((Blocked::LeaseStale, lease.fence));
    }
    let same = target.is_some_and(|target| target.provider == lease.provider && target.connection == lease.connection);
    if same { Ok(()) } else { Err((Blocked::LeaseMismatch, lease.fence)) }
}

/// Shows in the rows what the transaction read or wrote.
fn show(core: &Core, handle: Handle, needs: &Needs, decided: &Decided) {
    let now = core.now();
    let table = core.table();
    let Some((_, conn, breaker)) = table.rows(handle) else { return };
    if let Some((state, expires)) = &decided.conn {
        let quota = state.exhausted_until(decided.now, &core.config.quota);
        conn.note(Some((state, *expires)), quota, decided.now, now);
    }
    if let Some((state, reaction)) = &decided.breaker {
        breaker.note(Some(state), decided.now, now);
        if let Some((from, to)) = reaction.transition {
            let about = About {
                provider: needs.target.as_ref().map(|target| Arc::from(target.provider.as_str())),
                ..About::default()
            };
            let kind = EventKind::Breaker {
                from,
                to,
                failures: u32::try_from(state.failures.len()).unwrap_or(u32::MAX),
                open_until: None,
                cycle: state.cycle,
            };
            core.events.push(now.wall.0, about, kind);
        }
    }
    for (pool, own, total, limit, result) in &decided.gates {
        if *result != Gate::Allow {
            let kind = EventKind::QuotaDecision {
                pool: pool.to_string(),
                own: *own,
                total: *total,
                limit: *limit,
                result: *result,
            };
            core.events.push(now.wall.0, About::default(), kind);
        }
    }
}

/// Before bytes are sent under a lease: is it still the one the permit saw?
pub(crate) async fn recheck_lease(ticket: &Arc<Ticket>) -> Result<(), Failure> {
    let core = &ticket.core;
    let gone = |code: &'static str| {
        let mut failure = Failure::local(FailureKind::Forbidden, code, "the lease does not hold any more");
        failure.status = Some(if code == "LEASE_SERVICE_UNAVAILABLE" { 503 } else { 409 });
        failure
    };
    let Some(claim) = &ticket.lease else { return Ok(()) };
    let result = core.store.get(&[Key::LeaseOwner(claim.owner.0)]).await;
    core.heard(&result);
    let Ok((records, now)) = result else { return Err(gone("LEASE_SERVICE_UNAVAILABLE")) };
    let lease = records.first().and_then(Option::as_ref).and_then(|record| {
        <Lease as crate::codec::Value>::decode(&record.value).map(|(lease, _)| lease)
    });
    let Some(lease) = lease else { return Err(gone("LEASE_REQUIRED")) };
    let same = lease.ended.is_none()
        && lease.expires_at > now.0
        && lease.generation == claim.generation
        && Some(lease.fence) == ticket.fence;
    if same { Ok(()) } else { Err(gone("LEASE_FENCE_STALE")) }
}
