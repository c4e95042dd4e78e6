//! Facts: what either process found out holds for both. Nothing that blocks becomes shorter.

use std::collections::BTreeMap;

use crate::join::Lattice;
use crate::layers::breaker::{Breaker, Forced, State};
use crate::layers::connection::{Connection, Seen, Terminal};
use crate::layers::lockout::Lock;
use crate::lease::record::{Counter, Holder, Lease};

/// Failures that a joined breaker remembers, the latest. As many as the highest threshold allowed.
const MARKS: usize = 1_000;

impl Lattice for Breaker {
    fn join(self, other: Breaker) -> Breaker {
        let forced = if strength(self.forced) >= strength(other.forced) { self.forced } else { other.forced };
        let generation = self.generation.max(other.generation);
        let mut failures: Vec<_> = self.failures.iter().chain(&other.failures).copied().collect();
        failures.sort_unstable_by_key(|mark| (mark.at, mark.connection, mark.permit));
        failures.dedup();
        failures.drain(..failures.len().saturating_sub(MARKS));
        let further = if reach(&self) >= reach(&other) { self } else { other };
        Breaker { forced, generation, failures, ..further }
    }
}

/// Sending nothing is the safer word.
fn strength(forced: Forced) -> u8 {
    match forced {
        Forced::No => 0,
        Forced::Closed => 1,
        Forced::Open => 2,
    }
}

/// How far a state reaches into time: an open breaker to its end, one that recovered to when it did. Then all
/// that is taken over with it, so that equals are the same.
fn reach(breaker: &Breaker) -> impl Ord + use<> {
    let (until, step) = match breaker.state {
        State::Closed => (breaker.recovered_at, 0),
        State::Degraded => (breaker.recovered_at, 1),
        State::Open => (breaker.open_until, 2),
        State::HalfOpen => (breaker.open_until, 3),
    };
    let probe = breaker
        .probe
        .map(|probe| (probe.lease_until, probe.permit.process, probe.permit.number, probe.connection));
    let dates = (breaker.opened_at, breaker.open_until, breaker.recovered_at);
    let counts = (breaker.cycle, breaker.cycle_at, breaker.inconclusive, breaker.uncorroborated);
    (until, step, dates, counts, probe, breaker.avoid)
}

impl Lattice for Connection {
    fn join(self, other: Connection) -> Connection {
        let rest = |c: &Connection| (c.until, c.declared, c.reason as u8, c.verify_at);
        let longer = if rest(&self) >= rest(&other) { &self } else { &other };
        let newer = if ended(&self) >= ended(&other) { &self } else { &other };
        let banned = |c: &Connection| c.terminal.filter(|(state, _)| *state == Terminal::Banned);
        let refreshed = |c: &Connection| (c.credential, c.refresh_failures, c.refresh_after);
        let (credential, refresh_failures, refresh_after) = refreshed(&self).max(refreshed(&other));
        let suspicion =
            |c: &Connection| c.suspect.map(|(state, count, first, last)| (count, first, last, state as u8));
        let suspect = if suspicion(&self) >= suspicion(&other) { self.suspect } else { other.suspect };
        Connection {
            epoch: self.epoch.max(other.epoch),
            until: longer.until,
            declared: longer.declared,
            reason: longer.reason,
            verify_at: longer.verify_at,
            level: self.level.max(other.level),
            touched: self.touched.max(other.touched),
            last_rest: self.last_rest.max(other.last_rest),
            terminal: later_ban(banned(&self), banned(&other)).or(newer.terminal),
            credential,
            refresh_failures,
            refresh_after,
            // No limit is the least strict one.
            reentry: match (self.reentry, other.reentry) {
                (Some(a), Some(b)) => Some(a.min(b)),
                (a, b) => a.or(b),
            },
            suspect,
            row: self.row.max(other.row),
            error: by_date(self.error).max(by_date(other.error)).map(|(at, status)| (status, at)),
            seen: newest(&self.seen, &other.seen),
        }
    }
}

/// A terminal state belongs to a credential: a newer one lifts it, unless the account itself is closed.
fn ended(connection: &Connection) -> impl Ord + use<> {
    let end = connection.terminal.filter(|(state, _)| *state != Terminal::Banned);
    (connection.credential, end.map(|(state, at)| (state as u8, at)))
}

fn later_ban(a: Option<(Terminal, i64)>, b: Option<(Terminal, i64)>) -> Option<(Terminal, i64)> {
    let at = |ban: Option<(Terminal, i64)>| ban.map(|(_, at)| at);
    if at(a) >= at(b) { a } else { b }
}

fn by_date(error: Option<(u16, i64)>) -> Option<(i64, u16)> {
    error.map(|(status, at)| (at, status))
}

/// The newest sight of each span.
fn newest(a: &[Seen], b: &[Seen]) -> Vec<Seen> {
    let mut spans = BTreeMap::new();
    let rank = |seen: &Seen| (seen.at, seen.used_ppm, seen.resets_at, seen.polled);
    for seen in a.iter().chain(b) {
        let known = spans.entry(seen.window).or_insert(*seen);
        if rank(seen) > rank(known) {
            *known = *seen;
        }
    }
    spans.into_values().collect()
}

impl Lattice for Lock {
    fn join(self, other: Lock) -> Lock {
        let rest = |lock: &Lock| (lock.until, lock.declared, lock.reason as u8, lock.verify_at);
        let longer = if rest(&self) >= rest(&other) { &self } else { &other };
        let (row_at, row) = (self.row_at, self.row).max((other.row_at, other.row));
        Lock {
            epoch: self.epoch.max(other.epoch),
            until: longer.until,
            declared: longer.declared,
            reason: longer.reason,
            verify_at: longer.verify_at,
            count: self.count.max(other.count),
            last_at: self.last_at.max(other.last_at),
            last_ms: self.last_ms.max(other.last_ms),
            row,
            row_at,
        }
    }
}

impl Lattice for Counter {
    fn join(self, other: Counter) -> Counter {
        Counter(self.0.max(other.0))
    }
}

impl Lattice for Lease {
    /// The one with the higher fence. Of one and the same, the one that has ended: it does not come back.
    fn join(self, other: Lease) -> Lease {
        let rank = |lease: &Lease| {
            let ended = lease.ended.map(|(at, reason)| (at, reason as u8));
            let dates = (lease.expires_at, lease.renewed_at, lease.acquired_at);
            let names = (lease.consumer.clone(), lease.provider.clone(), lease.connection.clone());
            (lease.fence, ended, lease.generation, dates, names)
        };
        if rank(&self) >= rank(&other) { self } else { other }
    }
}

impl Lattice for Holder {
    fn join(self, other: Holder) -> Holder {
        let rank = |holder: &Holder| (holder.fence, holder.expires_at, holder.owner);
        if rank(&self) >= rank(&other) { self } else { other }
    }
}
