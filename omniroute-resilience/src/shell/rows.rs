//! One row each: numbers that repeat what the store said, and until when.

use std::collections::{BTreeMap, HashMap};
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU32, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex};

use omniroute_core::{ConnectionId, Moment, Mono, ProviderId};

use crate::config::Class;
use crate::layers::breaker::{self, Breaker, State};
use crate::layers::connection::{self, Connection};
use crate::layers::effect::Trust;
use crate::layers::lockout::{self, Lock};
use crate::limits::rate::Limits;
use crate::shell::budget::Retries;
use crate::shell::denial::Blocked;
use crate::shell::table::*;

/// What connections have in common, shared by all that have it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Profile {
    pub(crate) class: Class,
    pub(crate) trust: Trust,
    pub(crate) per_model: bool,
    pub(crate) no_cooldown: bool,
    pub(crate) disabled: bool,
    pub(crate) limits: Limits,
    pub(crate) egress: u32,
    pub(crate) scopes: Arc<[(Arc<str>, Arc<str>)]>,
}

pub(crate) const FLAG_DIRTY: u8 = 1;

pub(crate) const FLAG_REENTRY: u8 = 2;

pub(crate) const FLAG_DECLARED: u8 = 4;

/// Reasons as small numbers, for the rows.
pub(crate) const REASONS: [Blocked; 17] = [
    Blocked::RateLimited,
    Blocked::QuotaExhausted,
    Blocked::Overloaded,
    Blocked::AuthRetry,
    Blocked::Forbidden,
    Blocked::Transport,
    Blocked::ServerError,
    Blocked::Manual,
    Blocked::Terminal(connection::Terminal::Banned),
    Blocked::Terminal(connection::Terminal::Expired),
    Blocked::Terminal(connection::Terminal::CreditsExhausted),
    Blocked::ModelNotFound,
    Blocked::ModelLocked,
    Blocked::ModelQuota,
    Blocked::Breaker,
    Blocked::Disabled,
    Blocked::LeaseHeld,
];

pub(crate) fn number(reason: Blocked) -> u8 {
    REASONS.iter().position(|r| *r == reason).and_then(|at| u8::try_from(at).ok()).unwrap_or(0)
}

pub(crate) fn reason(number: u8) -> Blocked {
    REASONS.get(usize::from(number)).copied().unwrap_or(Blocked::RateLimited)
}

/// When and until when a row repeats what the store said.
#[derive(Debug, Default)]
pub(crate) struct Seen {
    /// Nanoseconds plus one; 0: never.
    pub(crate) fetched: AtomicU64,
    pub(crate) expires: AtomicU64,
}

impl Seen {
    pub(crate) fn stale(&self, now: Mono, max_age: Option<u64>) -> bool {
        let fetched = self.fetched.load(Relaxed);
        fetched == 0 || max_age.is_some_and(|age| now.0.saturating_sub(fetched - 1) > age)
    }

    fn forget(&self) {
        self.fetched.store(0, Relaxed);
    }

    fn note(&self, now: Mono, expires: u64) {
        self.fetched.store(now.0.saturating_add(1), Relaxed);
        self.expires.store(expires, Relaxed);
    }

    fn gone(&self, now: Mono) -> bool {
        self.expires.load(Relaxed) <= now.0
    }
}

/// A date of the store on our monotonic clock.
pub(crate) fn mono(now: Moment, store_now: i64, at: i64) -> u64 {
    if at == i64::MAX {
        return u64::MAX;
    }
    let ms = u64::try_from(at.saturating_sub(store_now)).unwrap_or(0);
    now.mono.0.saturating_add(ms.saturating_mul(1_000_000))
}

/// One connection.
#[derive(Debug)]
pub(crate) struct Conn {
    pub(crate) id: ConnectionId,
    pub(crate) profile: Arc<Profile>,
    pub(crate) provider: u32,
    pub(crate) breaker: u32,
    pub(crate) group: u32,
    pub(crate) gen_: u32,
    pub(crate) tag: u16,
    pub(crate) removed: bool,
    pub(crate) seen: Seen,
    pub(crate) lease_seen: Seen,
    pub(crate) epoch: AtomicU64,
    pub(crate) until: AtomicU64,
    pub(crate) quota_until: AtomicU64,
    pub(crate) verify_at: AtomicU64,
    pub(crate) lease_until: AtomicU64,
    pub(crate) credential: AtomicU64,
    pub(crate) success_at: AtomicU64,
    pub(crate) in_flight: AtomicU32,
    pub(crate) level: AtomicU8,
    pub(crate) why: AtomicU8,
    pub(crate) flags: AtomicU8,
}

/// One lock of models.
#[derive(Debug, Default)]
pub(crate) struct LockRow {
    pub(crate) seen: Seen,
    pub(crate) epoch: AtomicU64,
    pub(crate) until: AtomicU64,
    pub(crate) verify_at: AtomicU64,
    pub(crate) why: AtomicU8,
    pub(crate) flags: AtomicU8,
}

/// One model at one connection.
#[derive(Debug)]
pub(crate) struct TargetRow {
    pub(crate) conn: u32,
    pub(crate) gen_: u32,
    pub(crate) model: u32,
    /// Lock of the shared quota; `NONE`: it shares none.
    pub(crate) quota: u32,
    /// Lock of the model everywhere.
    pub(crate) wide: u32,
    pub(crate) own: LockRow,
}

pub(crate) const NONE: u32 = u32::MAX;

/// One breaker.
#[derive(Debug)]
pub(crate) struct BreakerRow {
    pub(crate) provider: u32,
    pub(crate) origin: Option<Arc<str>>,
    pub(crate) dialled: Arc<str>,
    pub(crate) rules: breaker::Rules,
    pub(crate) seen: Seen,
    pub(crate) state: AtomicU8,
    pub(crate) generation: AtomicU64,
    pub(crate) until: AtomicU64,
    pub(crate) failures: AtomicU32,
    pub(crate) pending: AtomicU32,
    pub(crate) flushed: AtomicU64,
    pub(crate) recovered_at: AtomicU64,
    pub(crate) in_flight: AtomicU32,
    /// Highest number in flight in this and the last half minute.
    pub(crate) peak: [AtomicU32; 2],
    pub(crate) peak_at: AtomicU64,
    /// Highest number before the breaker last opened.
    pub(crate) peak_before: AtomicU32,
    /// When this origin was last noted as dialled and as answering; often enough is once a second.
    pub(crate) dialled_at: AtomicU64,
    pub(crate) answered_at: AtomicU64,
    /// A probe of this process while the store is away runs until then.
    pub(crate) local_probe: AtomicU64,
}

pub(crate) const CLOSED: u8 = 0;

pub(crate) const DEGRADED: u8 = 1;

pub(crate) const OPEN: u8 = 2;

pub(crate) const HALF_OPEN: u8 = 3;

pub(crate) const FORCED_OPEN: u8 = 4;

/// One provider.
#[derive(Debug)]
pub(crate) struct Provider {
    pub(crate) id: ProviderId,
    pub(crate) connections: u32,
    pub(crate) in_flight: AtomicU32,
    pub(crate) local: Mutex<Local>,
}

/// What only this process knows of a provider.
#[derive(Debug, Default)]
pub(crate) struct Local {
    pub(crate) retries: Retries,
    /// The last successes of two different connections.
    pub(crate) successes: [Option<(u32, Mono)>; 2],
    /// Connections that rest after errors of service or network, and until when.
    pub(crate) ejected: BTreeMap<u32, u64>,
    /// Where a model last had no capacity.
    pub(crate) capacity: HashMap<u32, (u32, Mono)>,
}

impl Local {
    pub(crate) fn success(&mut self, conn: u32, now: Mono) {
        match &mut self.successes {
            [Some((first, at)), _] if *first == conn => *at = now,
            [first, second] => {
                *second = *first;
                *first = Some((conn, now));
            }
        }
    }

    /// Whether another connection succeeded within `span` nanoseconds.
    pub(crate) fn sibling(&self, conn: u32, now: Mono, span: u64) -> bool {
        self.successes
            .iter()
            .flatten()
            .any(|(other, at)| *other != conn && now.0.saturating_sub(at.0) <= span)
    }
}

impl Conn {
    /// Takes over what the store says.
    pub(crate) fn note(
        &self,
        record: Option<(&Connection, Option<i64>)>,
        quota: Option<i64>,
        store_now: i64,
        now: Moment,
    ) {
        let Some((state, expires)) = record else {
            self.seen.note(now.mono, u64::MAX);
            for cell in [&self.epoch, &self.until, &self.quota_until, &self.verify_at] {
                cell.store(0, Relaxed);
            }
            self.flags.store(0, Relaxed);
            self.level.store(0, Relaxed);
            return;
        };
        self.seen.note(now.mono, expires.map_or(u64::MAX, |at| mono(now, store_now, at)));
        self.epoch.store(state.epoch, Relaxed);
        self.credential.store(state.credential, Relaxed);
        let (until, why) = match state.terminal {
            Some((terminal, _)) => (u64::MAX, Blocked::Terminal(terminal)),
            None if state.until > store_now => (mono(now, store_now, state.until), rest_reason(state.reason)),
            None => (0, Blocked::RateLimited),
        };
        self.until.store(until, Relaxed);
        self.why.store(number(why), Relaxed);
        self.quota_until.store(quota.map_or(0, |at| mono(now, store_now, at)), Relaxed);
        let verify = if state.verify_at > 0 { mono(now, store_now, state.verify_at) } else { 0 };
        self.verify_at.store(verify, Relaxed);
        self.level.store(u8::try_from(state.level).unwrap_or(u8::MAX), Relaxed);
        let mut flags = 0;
        flags |= if state.clean() { 0 } else { FLAG_DIRTY };
        flags |= if state.reentry.is_some() { FLAG_REENTRY } else { 0 };
        flags |= if state.declared { FLAG_DECLARED } else { 0 };
        self.flags.store(flags, Relaxed);
    }

    pub(crate) fn note_lease(&self, until: Option<i64>, store_now: i64, now: Moment) {
        self.lease_seen.note(now.mono, u64::MAX);
        self.lease_until.store(until.map_or(0, |at| mono(now, store_now, at)), Relaxed);
    }

    pub(crate) fn epoch_at(&self, now: Mono) -> u64 {
        if self.seen.gone(now) { 0 } else { self.epoch.load(Relaxed) }
    }

    pub(crate) fn flag(&self, flag: u8) -> bool {
        self.flags.load(Relaxed) & flag != 0
    }

    pub(crate) fn blocked(&self, now: Mono) -> Option<(Blocked, u64)> {
        let until = self.until.load(Relaxed);
        if until > now.0 {
            return Some((reason(self.why.load(Relaxed)), until));
        }
        None
    }
}

pub(crate) fn rest_reason(reason: connection::Reason) -> Blocked {
    use connection::Reason as R;
    match reason {
        R::RateLimited => Blocked::RateLimited,
        R::QuotaExhausted => Blocked::QuotaExhausted,
        R::Overloaded => Blocked::Overloaded,
        R::AuthRetry => Blocked::AuthRetry,
        R::Forbidden | R::GeoBlocked => Blocked::Forbidden,
        R::Transport => Blocked::Transport,
        R::HtmlPage | R::ServerError => Blocked::ServerError,
        R::Manual => Blocked::Manual,
    }
}

impl LockRow {
    /// The next look reads it anew.
    pub(crate) fn forget(&self) {
        self.until.store(0, Relaxed);
        self.seen.forget();
    }

    pub(crate) fn note(&self, record: Option<(&Lock, Option<i64>)>, store_now: i64, now: Moment) {
        let Some((state, expires)) = record else {
            self.seen.note(now.mono, u64::MAX);
            for cell in [&self.epoch, &self.until, &self.verify_at] {
                cell.store(0, Relaxed);
            }
            self.flags.store(0, Relaxed);
            return;
        };
        self.seen.note(now.mono, expires.map_or(u64::MAX, |at| mono(now, store_now, at)));
        self.epoch.store(state.epoch, Relaxed);
        let until = if state.until > store_now { mono(now, store_now, state.until) } else { 0 };
        self.until.store(until, Relaxed);
        let why = match state.reason {
            lockout::Reason::NotFound | lockout::Reason::Forbidden => Blocked::ModelNotFound,
            lockout::Reason::QuotaExhausted => Blocked::ModelQuota,
            _ => Blocked::ModelLocked,
        };
        self.why.store(number(why), Relaxed);
        let verify = if state.verify_at > 0 { mono(now, store_now, state.verify_at) } else { 0 };
        self.verify_at.store(verify, Relaxed);
        let declared = if state.declared { FLAG_DECLARED } else { 0 };
        self.flags.store(declared | if state.clean() { 0 } else { FLAG_DIRTY }, Relaxed);
    }

    pub(crate) fn epoch_at(&self, now: Mono) -> u64 {
        if self.seen.gone(now) { 0 } else { self.epoch.load(Relaxed) }
    }

    pub(crate) fn blocked(&self, now: Mono) -> Option<(Blocked, u64)> {
        let until = self.until.load(Relaxed);
        (until > now.0).then(|| (reason(self.why.load(Relaxed)), until))
    }

    pub(crate) fn dirty(&self, now: Mono) -> bool {
        self.flags.load(Relaxed) & FLAG_DIRTY != 0 && !self.seen.gone(now)
    }
}

/// True once a second: what only has to be noted now and then costs no lock in between.
pub(crate) fn due(last: &AtomicU64, now: Mono) -> bool {
    let before = last.load(Relaxed);
    let due = before == 0 || now.0.saturating_sub(before - 1) >= 1_000_000_000;
    if due {
        last.store(now.0.saturating_add(1), Relaxed);
    }
    due
}

impl BreakerRow {
    pub(crate) fn note(&self, record: Option<&Breaker>, store_now: i64, now: Moment) {
        self.seen.note(now.mono, u64::MAX);
        let absent = Breaker::default();
        let state = record.unwrap_or(&absent);
        let shown = match (state.forced, state.state) {
            (breaker::Forced::Open, _) => FORCED_OPEN,
            (breaker::Forced::Closed, _) | (_, State::Closed) => CLOSED,
            (_, State::Degraded) => DEGRADED,
            (_, State::Open) => OPEN,
            (_, State::HalfOpen) => HALF_OPEN,
        };
        let until = match state.blocked_until(store_now) {
            Some(until) => mono(now, store_now, until),
            None => 0,
        };
        let before = self.state.swap(shown, Relaxed);
        if before < OPEN && shown == OPEN {
            self.peak_before.store(self.highest(now.mono), Relaxed);
        }
        self.until.store(until, Relaxed);
        self.generation.store(state.generation, Relaxed);
        self.failures.store(next_index(state.failures.len()), Relaxed);
        let recovered = if state.recovered_at > 0 {
            let ago = u64::try_from(store_now.saturating_sub(state.recovered_at)).unwrap_or(0);
            now.mono.0.saturating_sub(ago.saturating_mul(1_000_000)).max(1)
        } else {
            0
        };
        self.recovered_at.store(recovered, Relaxed);
    }

    /// Another attempt runs. Keeps the peak of the last minute.
    pub(crate) fn started(&self, now: Mono) {
        let running = self.in_flight.fetch_add(1, Relaxed) + 1;
        let half_minute = now.0 / 30_000_000_000;
        let at = self.peak_at.swap(half_minute, Relaxed);
        let [current, last] = &self.peak;
        if at != half_minute {
            last.store(if half_minute == at + 1 { current.load(Relaxed) } else { 0 }, Relaxed);
            current.store(running, Relaxed);
        } else {
            current.fetch_max(running, Relaxed);
        }
    }

    fn highest(&self, now: Mono) -> u32 {
        let fresh = now.0 / 30_000_000_000 <= self.peak_at.load(Relaxed) + 2;
        if fresh { self.peak[0].load(Relaxed).max(self.peak[1].load(Relaxed)) } else { 0 }
    }

    /// The most attempts at once while the provider comes back, and when that next grows.
    pub(crate) fn ramp(&self, now: Mono, config: &crate::config::BreakerConfig) -> Option<(u32, u64)> {
        let (from, peak) = (self.recovered_at.load(Relaxed), self.peak_before.load(Relaxed));
        if from == 0 || peak < config.ramp_from {
            return None;
        }
        let (ramp, step) = (config.ramp.as_ms() * 1_000_000, config.ramp_step.as_ms() * 1_000_000);
        let since = now.0.saturating_sub(from);
        if since >= ramp {
            return None;
        }
        let doublings = u32::try_from(since / step.max(1)).unwrap_or(31).min(31);
        let limit = u64::from(peak.div_ceil(10).max(1)) << doublings;
        let next = from + (u64::from(doublings) + 1) * step;
        Some((u32::try_from(limit).unwrap_or(u32::MAX), next))
    }
}

/// Whether somebody already wakes waiters; kept here for rows that share it.
#[derive(Debug, Default)]
pub(crate) struct Once(AtomicBool);

impl Once {
    /// True the first time.
    pub(crate) fn first(&self) -> bool {
        !self.0.swap(true, Relaxed)
    }

    pub(crate) fn again(&self) {
        self.0.store(false, Relaxed);
    }

    pub(crate) fn set(&self) -> bool {
        self.0.load(Relaxed)
    }
}
