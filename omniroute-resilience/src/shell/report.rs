//! What the end of an attempt teaches: decided at once, written down in one commit, shown in the rows.

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use omniroute_core::{FailureKind, Key, LockScope, Moment, Outcome, Phase, Purpose, Spend, StoreError, Unit, UnixMs};

use crate::layers::breaker::{self, Breaker, Reaction, State, Verdict};
use crate::layers::connection::{self, Connection, Hit, Reason, Seen, Wait};
use crate::layers::effect::{Effect, Facts, LockTarget, Reach, Trust, effect};
use crate::layers::lockout::{self, Lock};
use crate::limits::quota::Usage;
use crate::limits::rate::Rate;
use crate::limits::slots::Slots;
use crate::shell::core::{Core, lock};
use crate::shell::egress::Meaning;
use crate::shell::events::{About, EventKind};
use crate::shell::table::{DEGRADED, FLAG_DIRTY, LockRow, NONE, Table, TargetRow};
use crate::shell::ticket::{CONTENT, Carrier, Ticket, Work};
use crate::shell::txn::{Draft, transact};

/// Members of a group or path that one answer reaches at most.
const REACH: usize = 1_024;

/// The first valid content: success for the layers. None if nothing has to be written.
pub(crate) fn content(ticket: &Arc<Ticket>, now: Moment) -> Option<Work> {
    if !ticket.first(CONTENT) || ticket.purpose != Purpose::Production {
        return None;
    }
    success(ticket, now, false)
}

/// The end of an attempt. None if nothing has to be written.
pub(crate) fn settle(ticket: &Arc<Ticket>, outcome: Outcome, now: Moment) -> Option<Work> {
    if !ticket.first(crate::shell::ticket::SETTLED) {
        return None;
    }
    ended(ticket);
    let core = &ticket.core;
    let mut work = if ticket.purpose != Purpose::Production {
        let ok = outcome.failure.is_none();
        let kind = EventKind::OtherPurpose { purpose: ticket.purpose, ok };
        core.events.push(now.wall.0, about(ticket), kind);
        let mut work = Work::release(Arc::clone(ticket), now);
        work.clear = ok && ticket.purpose == (Purpose::OperatorTest { clear_on_success: true });
        Some(work)
    } else if let Some(failure) = &outcome.failure {
        Some(failed(ticket, failure, now))
    } else if ticket.is(CONTENT) {
        Some(Work { failed: false, ..Work::release(Arc::clone(ticket), now) })
    } else {
        success(ticket, now, true)
            .or_else(|| Some(Work { failed: false, ..Work::release(Arc::clone(ticket), now) }))
    };
    if let Some(work) = &mut work {
        work.spend = outcome.spend;
        work.seen = notable(ticket, &outcome, now);
    }
    work.filter(|work| matters(ticket, work))
}

/// Nobody reported. Neutral; only what was held goes back.
pub(crate) fn abandoned(ticket: Arc<Ticket>) {
    let core = Arc::clone(&ticket.core);
    ended(&ticket);
    core.counters.abandoned.fetch_add(1, Relaxed);
    let now = core.now();
    if !ticket.held.nothing() || ticket.probe {
        core.later(Work::release(ticket, now));
    }
    core.waiting.changed();
}

fn ended(ticket: &Ticket) {
    let table = ticket.core.table();
    if let Some((_, conn, breaker)) = table.rows(ticket.handle) {
        conn.in_flight.fetch_sub(1, Relaxed);
        breaker.in_flight.fetch_sub(1, Relaxed);
        if let Some(provider) = table.providers.get(conn.provider as usize) {
            provider.in_flight.fetch_sub(1, Relaxed);
        }
    }
}

fn matters(ticket: &Ticket, work: &Work) -> bool {
    let held = work.release && !ticket.held.nothing();
    let lesson = work.effect.is_some() || work.success || work.verdict == Verdict::ProviderFailure;
    held || lesson || work.clear || !work.seen.is_empty() || ticket.probe
}

/// A success. None if nobody remembers anything bad.
fn success(ticket: &Arc<Ticket>, now: Moment, release: bool) -> Option<Work> {
    let core = &ticket.core;
    let table = core.table();
    let (row, conn, breaker) = table.rows(ticket.handle)?;
    answered(core, &table, conn.profile.egress, now);
    if let Some(provider) = table.providers.get(conn.provider as usize)
        && provider.connections > 1
    {
        lock(&provider.local).success(ticket.conn, now.mono);
    }
    let dirty = conn.flag(FLAG_DIRTY) || locks(&table, row).any(|(_, lock)| lock.dirty(now.mono));
    // Successes take failures back; they are added up and written at most every five seconds.
    let failures = breaker.failures.load(Relaxed);
    let mut pops = false;
    if failures > 0 && !ticket.probe && breaker.generation.load(Relaxed) == ticket.generation.load(Relaxed) {
        let pending = breaker.pending.fetch_add(1, Relaxed) + 1;
        let since = now.mono.0.saturating_sub(breaker.flushed.load(Relaxed));
        let left = failures.saturating_sub(pending) as usize;
        let heals = breaker.state.load(Relaxed) == DEGRADED && left <= breaker.rules.healthy_at();
        pops = since >= 5_000_000_000 || heals;
    }
    if !dirty && !pops && !ticket.probe {
        return None;
    }
    let mut work = Work::release(Arc::clone(ticket), now);
    (work.verdict, work.success, work.release, work.failed) = (Verdict::Success, true, release, false);
    Some(work)
}

fn failed(ticket: &Arc<Ticket>, failure: &omniroute_core::Failure, now: Moment) -> Work {
    let core = &ticket.core;
    let mut work = Work::release(Arc::clone(ticket), now);
    work.status = failure.status;
    work.rule = failure.rule.to_string();
    let table = core.table();
    let Some((_, conn, breaker)) = table.rows(ticket.handle) else { return work };
    let facts = Facts {
        class: conn.profile.class,
        trust: conn.profile.trust,
        per_model: conn.profile.per_model,
        now: now.wall.0,
    };
    let mut effect = effect(failure, &facts, &core.config);
    if failure.phase != Phase::Transport && !failure.origin_local && failure.kind != FailureKind::Cancelled {
        answered(core, &table, conn.profile.egress, now);
    }
    if effect.transport {
        let meaning = table.egresses.get(conn.profile.egress as usize).map(|(name, egress)| {
            let mut egress = lock(egress);
            let before = egress.suspect;
            let meaning = egress.failed(&breaker.dialled, now.mono);
            if egress.suspect && !before {
                let kind = EventKind::EgressSuspect { egress: name.to_string() };
                core.events.push(now.wall.0, About::default(), kind);
            }
            meaning
        });
        match meaning {
            Some(Meaning::Suspect) => effect = Effect { verdict: Verdict::Neutral, connection: None, lock: None, ..effect },
            Some(Meaning::Uncorroborated) => work.uncorroborated = true,
            _ => {}
        }
    }
    if effect.operator {
        let kind = EventKind::OperatorActionNeeded { rule: failure.rule.to_string() };
        core.events.push(now.wall.0, about(ticket), kind);
    }
    if !core.config.lockout.enabled {
        effect.lock = None;
    }
    if let Some(hit) = &mut effect.lock
        && hit.reason == lockout::Reason::Capacity
        && hit.target == LockTarget::Model
        && seen_elsewhere(core, &table, ticket, now)
    {
        hit.target = LockTarget::Everywhere;
        hit.wait = lockout::Wait::Fixed(core.config.lockout.capacity.signed());
    }
    if effect.evict_pin
        && let Some(session) = &ticket.session
    {
        core.pins.evict_local(&ticket.consumer, session, &table.target(table_row(&table, ticket)), now, core);
    }
    work.verdict = effect.verdict;
    work.effect = Some(effect);
    work
}

fn table_row<'t>(table: &'t Table, ticket: &Ticket) -> &'t TargetRow {
    &table.targets[ticket.handle.index as usize]
}

/// Whether another connection said the same about this model a moment ago.
fn seen_elsewhere(core: &Core, table: &Table, ticket: &Ticket, now: Moment) -> bool {
    let row = table_row(table, ticket);
    let Some(provider) = table.conns.get(ticket.conn as usize).and_then(|conn| table.providers.get(conn.provider as usize))
    else {
        return false;
    };
    let window = core.config.lockout.capacity_window.as_ms() * 1_000_000;
    let mut local = lock(&provider.local);
    local.capacity.retain(|_, (_, at)| now.mono.0.saturating_sub(at.0) <= window);
    let before = local.capacity.insert(row.model, (ticket.conn, now.mono));
    before.is_some_and(|(conn, _)| conn != ticket.conn)
}

fn answered(core: &Core, table: &Table, egress: u32, now: Moment) {
    if let Some((name, egress)) = table.egresses.get(egress as usize)
        && lock(egress).answered(now.mono)
    {
        let kind = EventKind::EgressRecovered { egress: name.to_string() };
        core.events.push(now.wall.0, About::default(), kind);
    }
}

/// Allowances that are used up, or were.
fn notable(ticket: &Ticket, outcome: &Outcome, now: Moment) -> Vec<Seen> {
    if outcome.limits.is_empty() || ticket.purpose != Purpose::Production {
        return Vec::new();
    }
    let core = &ticket.core;
    let table = core.table();
    let Some((_, conn, _)) = table.rows(ticket.handle) else { return Vec::new() };
    let was_full = conn.quota_until.load(Relaxed) > now.mono.0;
    let sights = outcome.limits.iter().filter(|limit| limit.scope.is_none());
    sights
        .filter_map(|limit| {
            let used_ppm = limit.used()?;
            (was_full || used_ppm >= core.config.quota.cutoff_ppm).then(|| Seen {
                window: limit.window,
                used_ppm,
                resets_at: limit.resets_at.map(|at| at.0),
                at: now.wall.0,
                polled: false,
            })
        })
        .collect()
}

pub(crate) fn about(ticket: &Ticket) -> About {
    let table = ticket.core.table();
    let conn = table.conns.get(ticket.conn as usize);
    About {
        provider: conn
            .and_then(|conn| table.providers.get(conn.provider as usize))
            .map(|provider| Arc::from(provider.id.as_str())),
        connection: conn.map(|conn| conn.id.clone()),
        model: Some(Arc::from(ticket.model.as_str())),
    }
}

/// The locks a target meets: its own, its quota's, the model's everywhere.
pub(crate) fn locks<'t>(table: &'t Table, row: &'t TargetRow) -> impl Iterator<Item = (usize, &'t LockRow)> {
    let shared = |at: u32| (at != NONE).then(|| table.locks.get(at as usize).map(|(row, _)| row)).flatten();
    [Some(&row.own), shared(row.quota), shared(row.wide)]
        .into_iter()
        .enumerate()
        .filter_map(|(at, lock)| Some((at, lock?)))
}

/// Work that was left, seen through.
pub(crate) async fn see_through(core: &Arc<Core>, work: Work) {
    see(core, Carrier::new(core, work)).await;
}

/// Writes work down. If the store is away it stays in the outbox, and the rows show it meanwhile.
pub(crate) async fn see(core: &Arc<Core>, carrier: Carrier) {
    let Some(work) = carrier.work() else { return };
    if !core.store_here(core.now().mono) {
        show_locally(core, work);
        return;
    }
    let result = apply(core, work).await;
    core.heard(&result);
    match result {
        Ok(()) => carrier.arrived(),
        Err(StoreError::Unavailable(_) | StoreError::Timeout(_)) => show_locally(core, work),
        Err(_) => carrier.arrived(),
    }
}

/// What there is to change, and where in the transaction each record is.
#[derive(Default)]
struct Plan {
    keys: Vec<Key>,
    conn: Option<usize>,
    breaker: Option<usize>,
    /// Place, which of the three locks (3: another one).
    locks: Vec<(usize, usize)>,
    hit_lock: Option<usize>,
    slots: Vec<usize>,
    rate: Option<usize>,
    quota: Vec<usize>,
}

/// What came out of it.
#[derive(Default)]
struct Out {
    now: i64,
    conn: Option<(Connection, Option<i64>, bool)>,
    breaker: Option<(Breaker, Reaction)>,
    locks: Vec<(usize, Option<(Lock, Option<i64>)>)>,
    ended: Option<connection::Terminal>,
    rested: bool,
    cleared: bool,
    stale: bool,
    leaked: usize,
    locked: Option<(i64, u32)>,
    corrupt: u32,
}

/// The numbers that the steps need, read from the rows.
struct Numbers {
    conn: connection::Rules,
    lock: lockout::Rules,
    breaker: breaker::Rules,
    tag: u16,
    single: bool,
    sibling: bool,
    may_eject: bool,
    pops: u32,
}

async fn apply(core: &Arc<Core>, work: &Work) -> Result<(), StoreError> {
    let ticket = &work.ticket;
    let Some((plan, numbers)) = plan(core, work) else { return Ok(()) };
    if plan.keys.is_empty() {
        return Ok(());
    }
    let now = core.now();
    let started_ago = i64::try_from(now.mono.since(ticket.started.mono).as_millis()).unwrap_or(i64::MAX);
    let late = i64::try_from(now.mono.since(work.at.mono).as_millis()).unwrap_or(0);
    let keys = plan.keys.clone();
    core.counters.commits.fetch_add(1, Relaxed);
    let result = transact(&*core.store, keys, |draft| {
        let mut out = Out { now: draft.now, ..Out::default() };
        step_connection(core, work, &plan, &numbers, draft, late, &mut out);
        step_breaker(core, work, &plan, &numbers, draft, draft.now.saturating_sub(started_ago), &mut out);
        step_locks(core, work, &plan, &numbers, draft, late, &mut out);
        give_back(work, &plan, draft, &mut out);
        out.corrupt = draft.corrupt;
        out
    })
    .await;
    if result.is_err() && numbers.pops > 0 {
        let table = core.table();
        if let Some((_, _, breaker)) = table.rows(ticket.handle) {
            breaker.pending.fetch_add(numbers.pops, Relaxed);
        }
    }
    let out = result?;
    show(core, work, &out);
    if let Some(effect) = &work.effect
        && effect.reach != Reach::One
        && let Some(Hit::Rest(wait, reason)) = effect.connection
        && let Some((conn, ..)) = &out.conn
    {
        reach(core, ticket, effect.reach, conn.until.saturating_sub(out.now), matches!(wait, Wait::Declared(_)), reason).await?;
    }
    Ok(())
}

fn plan(core: &Core, work: &Work) -> Option<(Plan, Numbers)> {
    let ticket = &work.ticket;
    let now = core.now();
    let table = core.table();
    let mut plan = Plan::default();
    let mut add = |key: Key| {
        plan.keys.push(key);
        plan.keys.len() - 1
    };
    let rows = table.rows(ticket.handle);
    let effect = work.effect.as_ref();
    let mut conn_at = None;
    let mut breaker_at = None;
    let mut lock_at = Vec::new();
    let mut hit_lock = None;
    let numbers = if let Some((row, conn, breaker)) = rows {
        let trips = work.verdict == Verdict::ProviderFailure;
        let teaches = effect.is_some_and(|effect| effect.connection.is_some()) || trips;
        if teaches || work.clear || !work.seen.is_empty() || (work.success && conn.flag(FLAG_DIRTY)) || (ticket.verification && work.failed) {
            conn_at = Some(add(table.conn_key(row.conn)));
        }
        let pops = if (work.success || trips) && breaker.failures.load(Relaxed) > 0 {
            breaker.pending.swap(0, Relaxed)
        } else {
            0
        };
        if trips || ticket.probe || pops > 0 {
            breaker.flushed.store(now.mono.0, Relaxed);
            breaker_at = Some(add(table.breaker_key(conn.breaker)));
        }
        if work.success {
            for (which, lock) in locks(&table, row) {
                if lock.dirty(now.mono) {
                    lock_at.push((add(lock_key(&table, row, which)), which));
                }
            }
        }
        if let Some(hit) = effect.and_then(|effect| effect.lock.as_ref()) {
            let which = match &hit.target {
                LockTarget::Model => 0,
                LockTarget::Quota(_) => 1,
                LockTarget::Everywhere => 2,
            };
            let key = match &hit.target {
                LockTarget::Quota(name) => {
                    let target = table.target(row);
                    Key::Lockout {
                        provider: target.provider,
                        connection: Some(target.connection),
                        scope: LockScope::Quota(Arc::clone(name)),
                    }
                }
                _ => lock_key(&table, row, which),
            };
            // A quota that the connection's settings do not know for this model is locked all the same.
            let known = which != 1 || (row.quota != NONE && table.locks.get(row.quota as usize).is_some_and(|(_, k)| *k == key));
            let place = add(key);
            lock_at.push((place, if known { which } else { 3 }));
            hit_lock = Some(lock_at.len() - 1);
        }
        numbers(core, &table, ticket, conn, breaker, now, pops)
    } else {
        // The connection is gone: only what was held goes back.
        return give_back_only(ticket, work);
    };
    let (conn, breaker, locks) = (conn_at, breaker_at, lock_at);
    let mut slots = Vec::new();
    let mut rate = None;
    let mut quota = Vec::new();
    if work.release {
        slots = ticket.held.slots.iter().cloned().map(&mut add).collect();
        rate = ticket.held.rate.as_ref().map(|(key, _)| add(key.clone()));
        quota = ticket.held.quota.iter().map(|(key, ..)| add(key.clone())).collect();
    }
    Some((Plan { conn, breaker, locks, hit_lock, slots, rate, quota, ..plan }, numbers))
}

fn give_back_only(ticket: &Ticket, work: &Work) -> Option<(Plan, Numbers)> {
    if !work.release || ticket.held.slots.is_empty() {
        return None;
    }
    let keys = ticket.held.slots.clone();
    let slots = (0..keys.len()).collect();
    let config = &ticket.core.config;
    let class = config.classes.of(crate::Class::ApiKey);
    let numbers = Numbers {
        conn: connection::Rules::new(class, &config.cooldown, false, false),
        lock: lockout::Rules::new(&config.lockout, 0, 0, (0, 0)),
        breaker: breaker::Rules::new(class, &config.breaker),
        tag: 0,
        single: false,
        sibling: false,
        may_eject: true,
        pops: 0,
    };
    Some((Plan { keys, slots, ..Plan::default() }, numbers))
}

fn lock_key(table: &Table, row: &TargetRow, which: usize) -> Key {
    let shared = |at: u32| table.locks.get(at as usize).map(|(_, key)| key.clone());
    match which {
        1 => shared(row.quota),
        2 => shared(row.wide),
        _ => None,
    }
    .unwrap_or_else(|| table.own_lock_key(row))
}

fn numbers(
    core: &Core,
    table: &Table,
    ticket: &Ticket,
    conn: &crate::shell::table::Conn,
    breaker: &crate::shell::table::BreakerRow,
    now: Moment,
    pops: u32,
) -> Numbers {
    let config = &core.config;
    let class = config.classes.of(conn.profile.class);
    let proxy = conn.profile.trust == Trust::Proxy;
    let rules = connection::Rules::new(class, &config.cooldown, proxy, conn.profile.no_cooldown);
    let provider = &table.providers[conn.provider as usize];
    let mut local = lock(&provider.local);
    let window = config.breaker.sibling_window.as_ms() * 1_000_000;
    let sibling = local.sibling(ticket.conn, now.mono, window);
    local.ejected.retain(|_, until| *until > now.mono.0);
    let most = (u64::from(provider.connections) * u64::from(config.cooldown.ejection_percent) / 100).max(1);
    let may_eject = local.ejected.contains_key(&ticket.conn) || (local.ejected.len() as u64) < most;
    let verify = (rules.verify_after, rules.verify_every);
    Numbers {
        lock: lockout::Rules::new(&config.lockout, class.reset.signed(), rules.declared_max, verify),
        conn: rules,
        breaker: breaker.rules.clone(),
        tag: conn.tag,
        single: provider.connections <= 1 || conn.profile.class == crate::Class::Local,
        sibling,
        may_eject,
        pops,
    }
}

fn step_connection(core: &Core, work: &Work, plan: &Plan, numbers: &Numbers, draft: &mut Draft, late: i64, out: &mut Out) {
    let Some(at) = plan.conn else { return };
    let ticket = &work.ticket;
    let now = draft.now;
    let (mut conn, exists) = draft.load::<Connection>(at);
    let fresh = !exists || conn.epoch == ticket.conn_epoch.load(Relaxed);
    let before = (conn.until, conn.terminal);
    let mut changed = false;
    for seen in &work.seen {
        let shift = now.saturating_sub(work.at.wall.0);
        let seen = Seen {
            at: seen.at.saturating_add(shift).min(now),
            resets_at: seen.resets_at.map(|at| at.saturating_add(shift)),
            ..*seen
        };
        changed |= conn.note(seen);
    }
    if work.clear {
        changed |= conn.clear(true, now);
    }
    if work.success {
        changed |= conn.succeed(fresh, now, &numbers.conn);
    }
    let hit = work.effect.as_ref().and_then(|effect| effect.connection);
    if work.verdict == Verdict::ProviderFailure && fresh {
        conn.row = conn.row.saturating_add(1);
        changed = true;
    }
    if let Some(hit) = hit {
        let hit = later(concentrated(core, hit, work, numbers, conn.row), late);
        if ticket.verification && !matches!(hit, Hit::End(_)) {
            let declared = match hit {
                Hit::Rest(Wait::Declared(ms), _) => Some(ms),
                _ => None,
            };
            changed |= conn.verification_failed(declared, now, &numbers.conn, &core.rng);
        } else if numbers.may_eject || !ejects(hit) {
            let did = conn.fail(hit, fresh, ticket.credential, now, &numbers.conn, &core.rng);
            out.stale = !did && !fresh;
            changed |= did;
            if did {
                conn.error = Some((work.status.unwrap_or(0), now));
            }
        }
    }
    if !changed {
        return;
    }
    out.ended = conn.terminal.filter(|_| before.1.is_none()).map(|(state, _)| state);
    out.rested = conn.until > before.0;
    out.cleared = conn.until < before.0 || (conn.terminal.is_none() && before.1.is_some());
    draft.durable |= conn.terminal != before.1;
    let expires = conn_expires(&conn, now);
    draft.put(at, &conn, expires);
    out.conn = Some((conn, expires, hit.is_some_and(ejects)));
}

/// Errors of service or network, that must not remove most of a provider's connections.
fn ejects(hit: Hit) -> bool {
    matches!(hit, Hit::Rest(Wait::Computed | Wait::Fixed(_), Reason::ServerError | Reason::Transport))
}

/// One connection keeps failing while a sibling works: it is the connection after all.
fn concentrated(core: &Core, hit: Hit, work: &Work, numbers: &Numbers, row: u32) -> Hit {
    match hit {
        Hit::Rest(Wait::Fixed(_), Reason::ServerError | Reason::Transport)
            if work.verdict == Verdict::ProviderFailure
                && numbers.sibling
                && row >= core.config.cooldown.concentration =>
        {
            Hit::Rest(Wait::Computed, Reason::ServerError)
        }
        hit => hit,
    }
}

/// A report that waited in the outbox: what the provider declared has run meanwhile.
fn later(hit: Hit, late: i64) -> Hit {
    match hit {
        Hit::Rest(Wait::Declared(ms), reason) => Hit::Rest(Wait::Declared(ms.saturating_sub(late)), reason),
        hit => hit,
    }
}

/// A record is kept while it says anything, and an hour longer.
pub(crate) fn conn_expires(conn: &Connection, now: i64) -> Option<i64> {
    if conn.terminal.is_some() || conn.credential > 0 {
        return None;
    }
    let decay = conn.last_rest.saturating_mul(4).max(60_000).saturating_mul(i64::from(conn.level) + 1);
    let seen = conn.seen.iter().map(|seen| seen.resets_at.unwrap_or(seen.at)).max().unwrap_or(0);
    Some(conn.until.max(now).max(seen).saturating_add(decay).saturating_add(3_600_000))
}

fn step_breaker(core: &Core, work: &Work, plan: &Plan, numbers: &Numbers, draft: &mut Draft, started: i64, out: &mut Out) {
    let Some(at) = plan.breaker else { return };
    let ticket = &work.ticket;
    let now = draft.now;
    let (mut breaker, exists) = draft.load::<Breaker>(at);
    let mut report = breaker::Report {
        verdict: Verdict::Success,
        generation: breaker.generation,
        permit: ticket.id,
        connection: numbers.tag,
        started,
        alone_may_open: !numbers.sibling,
        single: numbers.single,
        uncorroborated: work.uncorroborated,
    };
    let mut reaction = breaker.settle(now, &numbers.breaker);
    if matches!(breaker.state, State::Closed | State::Degraded) {
        let own = u32::from(work.success);
        for _ in 0..numbers.pops.saturating_sub(own) {
            report.generation = breaker.generation;
            merge(&mut reaction, breaker.report(&report, now, &numbers.breaker, &core.rng));
        }
    }
    report.verdict = work.verdict;
    report.generation = if exists { ticket.generation.load(Relaxed) } else { breaker.generation };
    merge(&mut reaction, breaker.report(&report, now, &numbers.breaker, &core.rng));
    if reaction.changed {
        let expires = breaker_expires(&breaker, now, &numbers.breaker);
        draft.put(at, &breaker, expires);
    }
    out.breaker = Some((breaker, reaction));
}

fn merge(into: &mut Reaction, other: Reaction) {
    into.changed |= other.changed;
    into.late |= other.late;
    into.reclaimed |= other.reclaimed;
    into.transition = match (into.transition, other.transition) {
        (Some((from, _)), Some((_, to))) => Some((from, to)),
        (first, second) => first.or(second),
    };
}

pub(crate) fn breaker_expires(breaker: &Breaker, now: i64, rules: &breaker::Rules) -> Option<i64> {
    if breaker.forced != breaker::Forced::No {
        return None;
    }
    Some(match breaker.state {
        State::Closed => now.saturating_add(rules.window.max(1_800_000)),
        _ => breaker.open_until.max(now).saturating_add(86_400_000),
    })
}

fn step_locks(core: &Core, work: &Work, plan: &Plan, numbers: &Numbers, draft: &mut Draft, late: i64, out: &mut Out) {
    let ticket = &work.ticket;
    let now = draft.now;
    for (nth, (at, which)) in plan.locks.iter().enumerate() {
        let (mut state, exists) = draft.load::<Lock>(*at);
        let seen = ticket.lock_epochs.get(*which).map_or(0, |epoch| epoch.load(Relaxed));
        let fresh = !exists || state.epoch == seen;
        let hit = work.effect.as_ref().and_then(|effect| effect.lock.as_ref()).filter(|_| plan.hit_lock == Some(nth));
        let changed = match hit {
            None => state.succeed(fresh, now),
            Some(hit) => {
                let wait = match hit.wait {
                    lockout::Wait::Declared(ms) => lockout::Wait::Declared(ms.saturating_sub(late)),
                    wait => wait,
                };
                if ticket.verification && state.until > now {
                    let declared = match wait {
                        lockout::Wait::Declared(ms) => Some(ms),
                        _ => None,
                    };
                    state.verification_failed(declared, now, &numbers.lock, &core.rng)
                } else {
                    let did = state.fail(wait, hit.reason, fresh, now, &numbers.lock, &core.rng);
                    out.stale |= !did && !fresh;
                    if did && state.until > now {
                        out.locked = Some((state.until, state.count));
                    }
                    did
                }
            }
        };
        if !changed {
            continue;
        }
        if state.clean() {
            draft.delete(*at);
            out.locks.push((*which, None));
        } else {
            let keep = numbers.lock.window.saturating_add(state.last_ms).saturating_add(60_000);
            let expires = Some(state.until.max(now).saturating_add(keep));
            draft.put(*at, &state, expires);
            out.locks.push((*which, Some((state, expires))));
        }
        out.cleared |= hit.is_none();
    }
}

fn give_back(work: &Work, plan: &Plan, draft: &mut Draft, out: &mut Out) {
    let ticket = &work.ticket;
    let now = draft.now;
    for at in &plan.slots {
        let (mut slots, _) = draft.load::<Slots>(*at);
        let leaked = slots.settle(now);
        let gave = slots.give(ticket.id);
        out.leaked += leaked;
        if slots.held.is_empty() {
            draft.delete(*at);
        } else if gave || leaked > 0 {
            let expires = slots.last();
            draft.put(*at, &slots, expires);
        }
    }
    if let (Some(at), Some((_, limits)), Some(spend)) = (plan.rate, &ticket.held.rate, work.spend) {
        let (mut rate, exists) = draft.load::<Rate>(at);
        if exists && spend.tokens != ticket.estimate {
            rate.correct(limits, ticket.estimate, spend.tokens);
            let expires = Some(rate.ends());
            draft.put(at, &rate, expires);
        }
    }
    for (at, (_, unit, window)) in plan.quota.iter().zip(&ticket.held.quota) {
        let (mut usage, _) = draft.load::<Usage>(*at);
        usage.settle(*window, now);
        if usage.finish(ticket.id, spent(work, *unit), *window, now) {
            let length = i64::try_from(window.length().as_millis()).unwrap_or(i64::MAX);
            draft.put(*at, &usage, Some(now.saturating_add(length).saturating_add(length / 4)));
        }
    }
}

/// What an attempt is charged: the real amount; for a failure nothing; for an unknown success the estimate.
fn spent(work: &Work, unit: Unit) -> u64 {
    let known = |pick: fn(&Spend) -> u64| match &work.spend {
        Some(spend) => pick(spend),
        None if work.failed => 0,
        None => work.ticket.estimate,
    };
    match unit {
        Unit::Requests => u64::from(!work.failed),
        Unit::Tokens => known(|spend| spend.tokens),
        Unit::Usd => work.spend.map_or(0, |spend| spend.micro_usd),
        _ => 0,
    }
}

/// Shows in the rows what was written, and tells the readers of events.
fn show(core: &Core, work: &Work, out: &Out) {
    let ticket = &work.ticket;
    let now = core.now();
    core.corrupt(out.corrupt);
    let table = core.table();
    let about = about_row(&table, ticket);
    let event = |kind| core.events.push(out.now, about.clone(), kind);
    if let Some((row, conn, breaker)) = table.rows(ticket.handle) {
        if let Some((state, expires, ejects)) = &out.conn {
            let quota = state.exhausted_until(out.now, &core.config.quota);
            conn.note(Some((state, *expires)), quota, out.now, now);
            if work.success {
                ticket.conn_epoch.store(state.epoch, Relaxed);
            }
            if let Some(provider) = table.providers.get(conn.provider as usize) {
                let mut local = lock(&provider.local);
                if *ejects && out.rested {
                    local.ejected.insert(ticket.conn, crate::shell::table::mono(now, out.now, state.until));
                } else if out.cleared {
                    local.ejected.remove(&ticket.conn);
                }
            }
            if let Some(ended) = out.ended {
                event(EventKind::Terminal { state: ended });
            } else if out.rested {
                let (declared, level) = (state.declared, state.level);
                event(EventKind::CooldownSet { until: UnixMs(state.until), declared, level });
            } else if out.cleared && work.success {
                event(EventKind::CooldownCleared);
            }
        }
        if let Some((state, reaction)) = &out.breaker {
            breaker.note(Some(state), out.now, now);
            if work.success && !reaction.late {
                ticket.generation.store(state.generation, Relaxed);
            }
            if reaction.late {
                core.counters.late_reports.fetch_add(1, Relaxed);
            }
            if let Some((from, to)) = reaction.transition {
                event(EventKind::Breaker {
                    from,
                    to,
                    failures: u32::try_from(state.failures.len()).unwrap_or(u32::MAX),
                    open_until: (to == State::Open).then_some(UnixMs(state.open_until)),
                    cycle: state.cycle,
                });
            }
        }
        for (which, state) in &out.locks {
            if let Some((_, lock)) = locks(&table, row).find(|(at, _)| at == which) {
                lock.note(state.as_ref().map(|(state, expires)| (state, *expires)), out.now, now);
                if work.success {
                    let epoch = state.as_ref().map_or(0, |(state, _)| state.epoch);
                    ticket.lock_epochs[*which].store(epoch, Relaxed);
                    event(EventKind::LockoutCleared);
                }
            }
        }
        if let Some((until, count)) = out.locked {
            event(EventKind::LockoutSet { until: UnixMs(until), count });
        }
    }
    if out.stale {
        core.counters.stale_failures.fetch_add(1, Relaxed);
    }
    if out.leaked > 0 {
        event(EventKind::SlotLeak { slots: u32::try_from(out.leaked).unwrap_or(u32::MAX) });
    }
    drop(table);
    if work.release || out.cleared || work.success {
        core.waiting.changed();
    }
}

fn about_row(table: &Table, ticket: &Ticket) -> About {
    let conn = table.conns.get(ticket.conn as usize);
    About {
        provider: conn.map(|conn| Arc::from(table.providers[conn.provider as usize].id.as_str())),
        connection: conn.map(|conn| conn.id.clone()),
        model: Some(Arc::from(ticket.model.as_str())),
    }
}

/// The store is away: what was learned holds in this process until it is back.
fn show_locally(core: &Core, work: &Work) {
    let ticket = &work.ticket;
    let now = core.now();
    let table = core.table();
    let Some((row, conn, breaker)) = table.rows(ticket.handle) else { return };
    let numbers = numbers(core, &table, ticket, conn, breaker, now, 0);
    if conn.epoch_at(now.mono) != ticket.conn_epoch.load(Relaxed) {
        return;
    }
    let wall = now.wall.0;
    if let Some(hit) = work.effect.as_ref().and_then(|effect| effect.connection) {
        let mut state =
            Connection { level: u32::from(conn.level.load(Relaxed)), touched: wall, ..Connection::default() };
        if state.fail(hit, true, ticket.credential, wall, &numbers.conn, &core.rng) {
            conn.note(Some((&state, None)), None, wall, now);
        }
    }
    if let Some(hit) = work.effect.as_ref().and_then(|effect| effect.lock.as_ref()) {
        let mut state = Lock::default();
        state.fail(hit.wait, hit.reason, true, wall, &numbers.lock, &core.rng);
        row.own.note(Some((&state, None)), wall, now);
    }
}

/// Everybody of the group, or of the provider on this path, rests at least as long.
async fn reach(core: &Arc<Core>, ticket: &Ticket, reach: Reach, ms: i64, declared: bool, reason: Reason) -> Result<(), StoreError> {
    let members: Vec<(u32, Key)> = {
        let table = core.table();
        let Some(conn) = table.conns.get(ticket.conn as usize) else { return Ok(()) };
        let same = |other: &crate::shell::table::Conn| match reach {
            Reach::One => false,
            Reach::Group => conn.group != NONE && other.group == conn.group,
            Reach::Egress => other.profile.egress == conn.profile.egress,
        };
        table
            .conns
            .iter()
            .enumerate()
            .filter(|(_, other)| !other.removed && other.provider == conn.provider && same(other))
            .filter_map(|(index, _)| u32::try_from(index).ok())
            .filter(|index| *index != ticket.conn)
            .take(REACH)
            .map(|index| (index, table.conn_key(index)))
            .collect()
    };
    for chunk in members.chunks(32) {
        let keys = chunk.iter().map(|(_, key)| key.clone()).collect();
        let states = transact(&*core.store, keys, |draft| {
            let now = draft.now;
            let until = now.saturating_add(ms);
            let mut states = Vec::new();
            for at in 0..chunk.len() {
                let (mut conn, _) = draft.load::<Connection>(at);
                if conn.terminal.is_none() && conn.until < until {
                    (conn.until, conn.declared, conn.reason) = (until, declared, reason);
                    conn.epoch = crate::layers::bump(conn.epoch, now);
                    let expires = conn_expires(&conn, now);
                    draft.put(at, &conn, expires);
                    states.push((at, conn, expires));
                }
            }
            (now, states)
        })
        .await?;
        let now = core.now();
        let table = core.table();
        for (at, state, expires) in states.1 {
            if let Some(conn) = table.conns.get(chunk[at].0 as usize) {
                conn.note(Some((&state, expires)), None, states.0, now);
            }
        }
    }
    Ok(())
}

/// A stream still runs: its slots live on.
pub(crate) async fn renew(ticket: &Arc<Ticket>) {
    let core = &ticket.core;
    let lease = core.config.slots.lease.signed();
    let keys = ticket.held.slots.clone();
    let count = keys.len();
    let result = transact(&*core.store, keys, |draft| {
        let until = draft.now.saturating_add(lease);
        for at in 0..count {
            let (mut slots, _) = draft.load::<Slots>(at);
            slots.settle(draft.now);
            slots.renew(ticket.id, until);
            let expires = slots.last();
            draft.put(at, &slots, expires);
        }
    })
    .await;
    core.heard(&result);
}
