//! How everything stands, as values: what can be looked at without asking the store.

use std::sync::atomic::Ordering::Relaxed;

use omniroute_core::{ConnectionId, Mono, ProviderId, StoreStatus, Target, UnixMs};

use crate::Resilience;
use crate::layers::breaker::State;
use crate::shell::denial::Blocked;
use crate::shell::report::locks;
use crate::shell::table::{DEGRADED, FORCED_OPEN, HALF_OPEN, Handle, OPEN, REMOVED};

/// How one target stands. Looking reserves nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Standing {
    /// Why it cannot be used, if it cannot.
    pub blocked: Option<Blocked>,
    /// When that ends, if time ends it.
    pub not_before: Option<Mono>,
    /// Attempts of this process that run on its connection.
    pub in_flight: u32,
    /// Its provider's breaker is degraded: still granted, worth less.
    pub degraded: bool,
    /// How often its connection's rest has doubled lately.
    pub level: u8,
}

/// Standings as columns, for those who look at thousands.
#[derive(Debug, Clone, Default)]
pub struct Columns {
    /// Nanoseconds of our monotonic clock until which it is blocked; 0: it is not; `u64::MAX`: time does not help.
    pub blocked_until: Vec<u64>,
    /// Attempts that run on its connection.
    pub in_flight: Vec<u32>,
    /// 10 healthy, 6 degraded, 0 blocked.
    pub health: Vec<u8>,
}

/// One breaker.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
#[non_exhaustive]
pub struct BreakerHealth {
    /// Whose.
    pub provider: ProviderId,
    /// Of which origin, where there are several.
    pub origin: Option<String>,
    /// Where it stands.
    pub state: State,
    /// An operator holds it open.
    pub forced_open: bool,
    /// Counted failures.
    pub failures: u32,
    /// Failures that degrade it.
    pub degraded_at: u32,
    /// Failures that open it.
    pub opens_at: u32,
    /// When it may be tried again, if it is open.
    pub open_until: Option<UnixMs>,
    /// Attempts that run.
    pub in_flight: u32,
}

/// One connection that something is wrong with.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
#[non_exhaustive]
pub struct ConnectionHealth {
    /// Whose.
    pub provider: ProviderId,
    /// Which.
    pub connection: ConnectionId,
    /// What blocks it.
    pub blocked: Blocked,
    /// When that ends, if time ends it.
    pub until: Option<UnixMs>,
    /// How often its rest has doubled.
    pub level: u8,
}

/// Everything at a glance.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
#[non_exhaustive]
pub struct Health {
    /// All breakers.
    pub breakers: Vec<BreakerHealth>,
    /// Connections that cannot be used, at most 1000.
    pub connections: Vec<ConnectionHealth>,
    /// Connections configured.
    pub configured: u32,
    /// Version of that configuration.
    pub version: u64,
    /// The store does not answer, or goes on without what it shares with other processes.
    pub store_degraded: bool,
    /// How the store is doing.
    pub store: StoreStatus,
    /// Reports and releases that wait for it.
    pub outbox: u64,
    /// Requests that wait.
    pub waiting: u64,
    /// Pins held in this process.
    pub pins: u64,
    /// What was counted since the start.
    pub counts: Counts,
}

/// Counts since the start.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Serialize)]
#[non_exhaustive]
pub struct Counts {
    /// Permits granted.
    pub granted: u64,
    /// Requests for which nothing could be granted.
    pub denied: u64,
    /// Permits that nobody reported.
    pub abandoned: u64,
    /// Failures that were too old to count.
    pub stale_failures: u64,
    /// Reports that a breaker had no use for any more.
    pub late_reports: u64,
    /// Reads of the store to refresh what is remembered.
    pub refreshes: u64,
    /// Transactions of admitting and reporting.
    pub commits: u64,
    /// Calls of the store that failed.
    pub store_errors: u64,
    /// Records that could not be read.
    pub corrupt: u64,
    /// Reports lost because too many waited.
    pub outbox_dropped: u64,
    /// Attempts that went on without a slot.
    pub slot_bypasses: u64,
}

impl Resilience {
    /// How one target stands, from what is remembered.
    pub fn look(&self, handle: Handle) -> Standing {
        let now = self.core.now().mono;
        let table = self.core.table();
        let Some((row, conn, breaker)) = table.rows(handle) else {
            return Standing {
                blocked: Some(Blocked::NotConfigured),
                not_before: None,
                in_flight: 0,
                degraded: false,
                level: 0,
            };
        };
        let found = block(&table, row, conn, breaker, now);
        Standing {
            blocked: found.map(|(reason, _)| reason),
            not_before: found.map(|(_, at)| at).filter(|at| *at != u64::MAX).map(Mono),
            in_flight: conn.in_flight.load(Relaxed),
            degraded: breaker.state.load(Relaxed) == DEGRADED,
            level: conn.word.level(),
        }
    }

    /// How many targets stand, into columns that are cleared first. No allocation once the columns are large
    /// enough.
    pub fn look_many(&self, handles: &[Handle], now: Mono, columns: &mut Columns) {
        columns.blocked_until.clear();
        columns.in_flight.clear();
        columns.health.clear();
        let table = self.core.table();
        for handle in handles {
            let Some((row, conn, breaker)) = table.rows(*handle) else {
                columns.blocked_until.push(u64::MAX);
                columns.in_flight.push(0);
                columns.health.push(0);
                continue;
            };
            let until = block(&table, row, conn, breaker, now).map_or(0, |(_, at)| at);
            let degraded = breaker.state.load(Relaxed) == DEGRADED;
            columns.blocked_until.push(until);
            columns.in_flight.push(conn.in_flight.load(Relaxed));
            columns.health.push(match (until, degraded) {
                (0, false) => 10,
                (0, true) => 6,
                _ => 0,
            });
        }
    }

    /// Everything at a glance.
    pub fn health(&self) -> Health {
        let core = &self.core;
        let now = core.now();
        let wall = |at: u64| {
            let ms = at.saturating_sub(now.mono.0) / 1_000_000;
            UnixMs(now.wall.0.saturating_add(i64::try_from(ms).unwrap_or(i64::MAX)))
        };
        let table = core.table();
        let breakers = table
            .breakers
            .iter()
            .map(|row| {
                let state = row.state.load(Relaxed);
                let until = row.until.load(Relaxed);
                BreakerHealth {
                    provider: table.providers[row.provider as usize].id.clone(),
                    origin: row.origin.as_ref().map(ToString::to_string),
                    state: match state {
                        DEGRADED => State::Degraded,
                        OPEN | FORCED_OPEN => State::Open,
                        HALF_OPEN => State::HalfOpen,
                        _ => State::Closed,
                    },
                    forced_open: state == FORCED_OPEN,
                    failures: row.failures.load(Relaxed),
                    degraded_at: row.rules.degraded_at,
                    opens_at: row.rules.opens_at,
                    open_until: (until > now.mono.0 && until != u64::MAX).then(|| wall(until)),
                    in_flight: row.in_flight.load(Relaxed),
                }
            })
            .collect();
        let connections = table
            .conns
            .iter()
            .filter(|conn| !conn.word.has(REMOVED))
            .filter_map(|conn| {
                let (blocked, until) = if conn.profile.disabled {
                    (Blocked::Disabled, u64::MAX)
                } else {
                    conn.blocked(now.mono)?
                };
                Some(ConnectionHealth {
                    provider: table.providers[conn.provider as usize].id.clone(),
                    connection: conn.id.clone(),
                    blocked,
                    until: (until != u64::MAX).then(|| wall(until)),
                    level: conn.word.level(),
                })
            })
            .take(1_000)
            .collect();
        let configured = table.providers.iter().map(|provider| provider.connections).sum();
        Health {
            breakers,
            connections,
            configured,
            version: table.version,
            store_degraded: core.degraded() || core.store.status().apart,
            store: core.store.status(),
            outbox: core.outbox_length(),
            waiting: core.waiting.count() as u64,
            pins: core.pins.len() as u64,
            counts: self.counts(),
        }
    }

    /// What was counted since the start.
    pub fn counts(&self) -> Counts {
        let counters = &self.core.counters;
        Counts {
            granted: self.core.granted(),
            denied: counters.denied.load(Relaxed),
            abandoned: counters.abandoned.load(Relaxed),
            stale_failures: counters.stale_failures.load(Relaxed),
            late_reports: counters.late_reports.load(Relaxed),
            refreshes: counters.refreshes.load(Relaxed),
            commits: counters.commits.load(Relaxed),
            store_errors: counters.store_errors.load(Relaxed),
            corrupt: counters.corrupt.load(Relaxed),
            outbox_dropped: counters.outbox_dropped.load(Relaxed),
            slot_bypasses: counters.slot_bypasses.load(Relaxed),
        }
    }

    /// Attempts of this process that run on a target's connection.
    pub fn in_flight(&self, target: &Target) -> u32 {
        let table = self.core.table();
        let index = table.connection(&target.provider, &target.connection);
        index.and_then(|index| table.conns.get(index as usize)).map_or(0, |conn| conn.in_flight.load(Relaxed))
    }
}

fn block(
    table: &crate::shell::table::Table,
    row: &crate::shell::table::TargetRow,
    conn: &crate::shell::table::Conn,
    breaker: &crate::shell::table::BreakerRow,
    now: Mono,
) -> Option<(Blocked, u64)> {
    if conn.profile.disabled {
        return Some((Blocked::Disabled, u64::MAX));
    }
    if let Some(found) = conn.blocked(now) {
        return Some(found);
    }
    let leased = table.leased_until(row.conn);
    if leased > now.0 {
        return Some((Blocked::LeaseHeld, leased));
    }
    if let Some(found) =
        locks(table, row).filter_map(|(_, lock)| lock.blocked(now)).max_by_key(|(_, until)| *until)
    {
        return Some(found);
    }
    let quota = table.quota_until(row.conn);
    if quota > now.0 {
        return Some((Blocked::QuotaExhausted, quota));
    }
    if conn.profile.limits.concurrent().is_some_and(|limit| conn.in_flight.load(Relaxed) >= limit) {
        return Some((Blocked::Slots, u64::MAX));
    }
    let until = breaker.until.load(Relaxed);
    (breaker.state.load(Relaxed) >= OPEN && until > now.0).then_some((Blocked::Breaker, until))
}
