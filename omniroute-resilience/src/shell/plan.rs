//! Which records the end of an attempt touches, and the numbers its steps work with.

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use omniroute_core::{Key, LockScope, Moment};

use crate::layers::breaker::{self, Verdict};
use crate::layers::connection::{self};
use crate::layers::effect::{LockTarget, Trust};
use crate::layers::lockout::{self};
use crate::shell::core::{Core, lock};
use crate::shell::report::*;
use crate::shell::table::{DIRTY, NONE, Table, TargetRow};
use crate::shell::ticket::{Ticket, Work};

/// What there is to change, and where in the transaction each record is.
#[derive(Default)]
pub(crate) struct Plan {
    pub(crate) keys: Vec<Key>,
    pub(crate) conn: Option<usize>,
    pub(crate) breaker: Option<usize>,
    /// Place, which of the three locks (3: another one).
    pub(crate) locks: Vec<(usize, usize)>,
    pub(crate) hit_lock: Option<usize>,
    pub(crate) slots: Vec<usize>,
    /// Place, what was taken there (which of the ticket's), what was learned (which of the work's).
    pub(crate) rates: Vec<(usize, Option<usize>, Option<usize>)>,
    pub(crate) quota: Vec<usize>,
}

/// The numbers that the steps need, read from the rows.
pub(crate) struct Numbers {
    pub(crate) conn: connection::Rules,
    pub(crate) lock: lockout::Rules,
    pub(crate) breaker: breaker::Rules,
    pub(crate) tag: u16,
    pub(crate) single: bool,
    pub(crate) sibling: bool,
    pub(crate) may_eject: bool,
    pub(crate) pops: u32,
}

pub(crate) fn plan(core: &Core, work: &Work, now: Moment) -> Option<(Plan, Numbers)> {
    let ticket = &work.ticket;
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
        if teaches
            || work.clear
            || !work.seen.is_empty()
            || (work.success && conn.word.has(DIRTY))
            || (ticket.verification && work.failed)
        {
            conn_at = Some(add(table.conn_key(row.conn)));
        }
        let pops = if (work.success || trips) && breaker.failures.load(Relaxed) > 0 {
            breaker.pending.swap(0, Relaxed)
        } else {
            0
        };
        if trips || ticket.probe || pops > 0 {
            breaker.flushed.store(now.mono.0, Relaxed);
            breaker_at = Some(add(table.breaker_key(conn.profile.breaker)));
        }
        if work.success {
            for (which, lock) in locks(&table, row) {
                if lock.word.has(DIRTY) {
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
            let known = which != 1
                || (row.quota != NONE && table.locks.get(row.quota as usize).is_some_and(|(_, k)| *k == key));
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
    let mut rates = Vec::new();
    let mut quota = Vec::new();
    if work.release {
        slots = ticket.held.slots.iter().cloned().map(&mut add).collect();
        quota = ticket.held.quota.iter().map(|(key, ..)| add(key.clone())).collect();
    }
    let lesson_keys: Vec<Key> =
        work.lessons.iter().map(|lesson| table.rate_key(ticket.conn, lesson.scope.clone())).collect();
    // An estimate that was right needs no correction.
    let correct = work.release && work.spend.is_some_and(|spend| spend.tokens != ticket.estimate);
    for (taken, (key, _)) in ticket.held.rates.iter().enumerate() {
        let lesson = lesson_keys.iter().position(|other| other == key);
        if correct || lesson.is_some() {
            rates.push((add(key.clone()), correct.then_some(taken), lesson));
        }
    }
    for (lesson, key) in lesson_keys.into_iter().enumerate() {
        if !rates.iter().any(|(.., known)| *known == Some(lesson)) {
            rates.push((add(key), None, Some(lesson)));
        }
    }
    Some((Plan { conn, breaker, locks, hit_lock, slots, rates, quota, ..plan }, numbers))
}

pub(crate) fn give_back_only(ticket: &Ticket, work: &Work) -> Option<(Plan, Numbers)> {
    let held = &ticket.held;
    if !work.release || (held.slots.is_empty() && held.quota.is_empty()) {
        return None;
    }
    let amounts = held.quota.iter().map(|(key, ..)| key);
    let keys: Vec<Key> = held.slots.iter().chain(amounts).cloned().collect();
    let slots = (0..held.slots.len()).collect();
    let quota = (held.slots.len()..keys.len()).collect();
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
    Some((Plan { keys, slots, quota, ..Plan::default() }, numbers))
}

pub(crate) fn lock_key(table: &Table, row: &TargetRow, which: usize) -> Key {
    let shared = |at: u32| table.locks.get(at as usize).map(|(_, key)| key.clone());
    match which {
        1 => shared(row.quota),
        2 => shared(row.wide),
        _ => None,
    }
    .unwrap_or_else(|| table.own_lock_key(row))
}

pub(crate) fn numbers(
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
        tag: table.tag(conn),
        single: provider.connections <= 1 || conn.profile.class == crate::Class::Local,
        sibling,
        may_eject,
        pops,
    }
}
