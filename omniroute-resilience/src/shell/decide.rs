//! Decides over the records as they are now, and takes everything or nothing.

use std::sync::Arc;

use omniroute_core::{Failure, FailureKind, Key, PermitId, Target};

use crate::join::share::Share;
use crate::layers::breaker::{Answer, Asking, Breaker, Reaction};
use crate::layers::connection::Connection;
use crate::lease::record::{Holder, Lease};
use crate::limits::quota::{Gate, Usage, consumer_number, gate};
use crate::limits::rate::Rate;
use crate::limits::slots::Slots;
use crate::shell::admit::*;
use crate::shell::apply::{breaker_expires, conn_expires};
use crate::shell::core::Core;
use crate::shell::denial::Blocked;
use crate::shell::events::{About, EventKind};
use crate::shell::grant::*;
use crate::shell::needs::*;
use crate::shell::table::Handle;
use crate::shell::ticket::Ticket;

/// What the store's state made of it.
#[derive(Default)]
pub(crate) struct Decided {
    pub(crate) now: i64,
    pub(crate) refused: Option<(Blocked, Option<i64>)>,
    pub(crate) probe: bool,
    pub(crate) generation: Option<u64>,
    pub(crate) fence: Option<u64>,
    /// What is full, and the settings let it go without.
    pub(crate) bypassed: Vec<Key>,
    pub(crate) conn: Option<Connection>,
    pub(crate) breaker: Option<(Breaker, Reaction)>,
    pub(crate) gates: Vec<(Arc<str>, u64, u64, u64, Gate)>,
}

/// Decides and reserves. Stages changes only if everything is to be had; the breaker comes last. Dates from before
/// the store's clock went back are written anew in any case, or they would move on with the time.
pub(crate) fn decide(
    core: &Core,
    needs: &Needs,
    id: PermitId,
    cx: &AdmitContext,
    extra: Extra,
    draft: &mut crate::shell::txn::Draft,
) -> Decided {
    let now = draft.now;
    let mut out = Decided { now, ..Decided::default() };
    let refuse =
        |draft: &mut crate::shell::txn::Draft, mut out: Decided, reason: Blocked, at: Option<i64>| {
            draft.forget();
            out.refused = Some((reason, at));
            out
        };
    let (mut conn, exists) = draft.load::<Connection>(needs.conn);
    if exists {
        out.conn = Some(conn.clone());
    }
    if let (Some((at, holder_at)), Some(claim)) = (needs.lease, &cx.lease) {
        let (mut lease, held) = draft.load::<Lease>(at);
        if let Err(reason) = claim_fits(claim, &lease, held, cx, needs.target.as_ref(), now) {
            return refuse(draft, out, reason, None);
        }
        out.fence = Some(lease.fence);
        draft.check(at);
        let ttl = lease.expires_at.saturating_sub(lease.renewed_at);
        let quarter = now.saturating_sub(lease.renewed_at) >= ttl / 4;
        let (mut holder, there) = draft.load::<Holder>(holder_at);
        if core.config.lease.renew_on_use
            && core.config.lease.max_age.is_none()
            && quarter
            && there
            && holder.fence == lease.fence
        {
            (lease.renewed_at, lease.expires_at) = (now, now.saturating_add(ttl));
            holder.expires_at = lease.expires_at;
            draft.durable = true;
            let keep = core.config.lease.keep_ended.signed();
            draft.put(at, &lease, Some(lease.expires_at.saturating_add(keep)));
            draft.put(holder_at, &holder, Some(lease.expires_at));
        }
    }
    if let Some((terminal, _)) = conn.terminal {
        return refuse(draft, out, Blocked::Terminal(terminal), None);
    }
    match extra {
        Extra::No | Extra::Anyway if conn.until > now => {
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
                out.conn = Some(conn.clone());
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
        Extra::No | Extra::Anyway => {}
    }
    let share = Share::of(&*core.store);
    let consumer = consumer_number(cx.consumer.as_str());
    for need in &needs.quota {
        let need = &*share.quota(draft.key(need.at), need, consumer, now);
        let (mut usage, _) = draft.load::<Usage>(need.at);
        let moved = usage.settle(need.window, now);
        let own = usage.sum(Some(consumer), need.window, now);
        let total = usage.sum(None, need.window, now);
        // A cap of one consumer on one model looks at that consumer alone.
        let whole = if need.allocation.is_some() { total } else { own };
        let strict_from = core.config.quota.strict_from_ppm;
        let mut word = match &need.allocation {
            Some(allocation) => gate(allocation, own, total, need.limit, strict_from),
            None if own >= need.limit => Gate::Block,
            None => Gate::Allow,
        };
        if whole > 0 && whole.saturating_add(need.amount) > need.limit {
            word = Gate::Block;
        }
        out.gates.push((Arc::clone(&need.pool), own, total, need.limit, word));
        if word == Gate::Block {
            let whose = need.allocation.is_none().then_some(consumer);
            let (whose, below) = match &need.allocation {
                Some(allocation) if total.saturating_add(need.amount) <= need.limit => {
                    let fair = need.limit / 100 * u64::from(allocation.weight);
                    (Some(consumer), allocation.hard_cap.unwrap_or(fair.max(1)))
                }
                _ => (whose, need.limit.saturating_sub(need.amount).max(1)),
            };
            let at = usage.falls_below(whose, below, need.window, now);
            let out = refuse(draft, out, Blocked::QuotaShare, Some(at));
            if moved {
                draft.put(need.at, &usage, Some(usage.ends(need.window, now)));
            }
            return out;
        }
        let until = now.saturating_add(core.config.quota.reservation.signed());
        usage.reserve(id, consumer, need.amount, until);
        draft.put(need.at, &usage, Some(usage.ends(need.window, now)));
    }
    for (at, limits) in &needs.rates {
        let (mut rate, _) = draft.load::<Rate>(*at);
        let moved = rate.settle(core.config.quota.learned_age.signed(), now);
        let limits = draft.key(*at).map_or(*limits, |key| share.rate(key, *limits, now));
        if let Err(due) = rate.start(&limits, cx.estimate, now) {
            let out = refuse(draft, out, Blocked::RateLimit, Some(due));
            if moved {
                draft.put(*at, &rate, Some(rate.ends()));
            }
            return out;
        }
        let expires = rate.ends();
        draft.put(*at, &rate, Some(expires));
    }
    let until = now.saturating_add(core.config.slots.lease.signed());
    let reentry = conn.reentry.filter(|_| matches!(extra, Extra::No | Extra::Anyway));
    for (at, limit) in &needs.slots {
        let own = matches!(draft.key(*at), Some(Key::Slots { connection: Some(_), .. }));
        let limit = limit.iter().copied().chain(reentry.filter(|_| own)).min().unwrap_or(u32::MAX);
        let (mut slots, _) = draft.load::<Slots>(*at);
        let limit = share.slots(limit, &slots, id, now);
        let moved = slots.last().is_some_and(|end| end > until);
        let full = slots.take(id, limit, until, now).err();
        match full {
            Some(_) if core.config.slots.fail_open => out.bypassed.extend(draft.key(*at).cloned()),
            Some(free) => out = refuse(draft, out, Blocked::Slots, Some(free)),
            None => {}
        }
        if full.is_none() || moved {
            draft.put(*at, &slots, slots.last());
        }
        if out.refused.is_some() {
            return out;
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
    out
}

pub(crate) fn claim_fits(
    claim: &LeaseClaim,
    lease: &Lease,
    held: bool,
    cx: &AdmitContext,
    target: Option<&Target>,
    now: i64,
) -> Result<(), Blocked> {
    if !held || lease.ended.is_some() {
        return Err(Blocked::LeaseRequired);
    }
    if lease.consumer != cx.consumer.as_str()
        || lease.generation != claim.generation
        || lease.expires_at <= now
    {
        return Err(Blocked::LeaseStale);
    }
    let same = target
        .is_some_and(|target| target.provider == lease.provider && target.connection == lease.connection);
    if same { Ok(()) } else { Err(Blocked::LeaseMismatch) }
}

/// Shows in the rows what the transaction read or wrote.
pub(crate) fn show(core: &Core, handle: Handle, needs: &Needs, decided: &Decided) {
    let now = core.now();
    let table = core.table();
    let Some((row, _, breaker)) = table.rows(handle) else { return };
    if let Some(state) = &decided.conn {
        let quota = state.exhausted_until(decided.now, &core.config.quota);
        table.note_conn(row.conn, Some(state), quota, decided.now, now);
    }
    if let Some((state, reaction)) = &decided.breaker {
        breaker.note(Some(state), decided.now, now);
        if let Some((from, to)) = reaction.transition {
            let about = About {
                provider: needs.target.as_ref().map(|target| target.provider.clone()),
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
    let lease = records
        .first()
        .and_then(Option::as_ref)
        .and_then(|record| <Lease as crate::codec::Value>::decode(&record.value).map(|(lease, _)| lease));
    let Some(lease) = lease else { return Err(gone("LEASE_REQUIRED")) };
    let same = lease.ended.is_none()
        && lease.expires_at > now.0
        && lease.generation == claim.generation
        && Some(lease.fence) == ticket.fence;
    if same { Ok(()) } else { Err(gone("LEASE_FENCE_STALE")) }
}
