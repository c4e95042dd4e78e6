//! Rows of breakers and providers: what is remembered of the store, and what only this process knows.

use std::collections::{BTreeMap, HashMap};
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU32, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex};

use omniroute_core::{Moment, Mono, ProviderId};

use crate::config::BreakerConfig;
use crate::layers::breaker::{self, Breaker, State};
use crate::shell::budget::Retries;
use crate::shell::rows::{Fetched, mono};

pub(crate) const CLOSED: u8 = 0;
pub(crate) const DEGRADED: u8 = 1;
pub(crate) const OPEN: u8 = 2;
pub(crate) const HALF_OPEN: u8 = 3;
pub(crate) const FORCED_OPEN: u8 = 4;

/// One breaker.
#[derive(Debug)]
pub(crate) struct BreakerRow {
    pub(crate) provider: u32,
    pub(crate) origin: Option<Arc<str>>,
    pub(crate) dialled: Arc<str>,
    pub(crate) rules: breaker::Rules,
    pub(crate) fetched: Fetched,
    pub(crate) state: AtomicU8,
    pub(crate) generation: AtomicU64,
    pub(crate) until: AtomicU64,
    pub(crate) failures: AtomicU32,
    /// Successes that are not written down yet; each takes back a failure.
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

impl BreakerRow {
    pub(crate) fn new(
        provider: u32,
        origin: Option<Arc<str>>,
        dialled: Arc<str>,
        rules: breaker::Rules,
    ) -> Self {
        BreakerRow {
            provider,
            origin,
            dialled,
            rules,
            fetched: Fetched::default(),
            state: AtomicU8::new(CLOSED),
            generation: AtomicU64::new(0),
            until: AtomicU64::new(0),
            failures: AtomicU32::new(0),
            pending: AtomicU32::new(0),
            flushed: AtomicU64::new(0),
            recovered_at: AtomicU64::new(0),
            in_flight: AtomicU32::new(0),
            peak: [AtomicU32::new(0), AtomicU32::new(0)],
            peak_at: AtomicU64::new(0),
            peak_before: AtomicU32::new(0),
            dialled_at: AtomicU64::new(0),
            answered_at: AtomicU64::new(0),
            local_probe: AtomicU64::new(0),
        }
    }

    pub(crate) fn note(&self, record: Option<&Breaker>, store_now: i64, now: Moment) {
        self.fetched.note(now.mono);
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
        self.failures.store(u32::try_from(state.failures.len()).unwrap_or(u32::MAX), Relaxed);
        let recovered = if state.recovered_at > 0 {
            let ago = u64::try_from(store_now.saturating_sub(state.recovered_at)).unwrap_or(0);
            now.mono.0.saturating_sub(ago.saturating_mul(1_000_000)).max(1)
        } else {
            0
        };
        self.recovered_at.store(recovered, Relaxed);
    }

    /// Another attempt runs. Keeps the peak of the last minute; writes to it only when it changes.
    pub(crate) fn started(&self, now: Mono) {
        let running = self.in_flight.fetch_add(1, Relaxed) + 1;
        let half_minute = now.0 / 30_000_000_000;
        let at = self.peak_at.load(Relaxed);
        let [current, last] = &self.peak;
        if at != half_minute {
            self.peak_at.store(half_minute, Relaxed);
            last.store(if half_minute == at + 1 { current.load(Relaxed) } else { 0 }, Relaxed);
            current.store(running, Relaxed);
        } else if current.load(Relaxed) < running {
            current.fetch_max(running, Relaxed);
        }
    }

    fn highest(&self, now: Mono) -> u32 {
        let fresh = now.0 / 30_000_000_000 <= self.peak_at.load(Relaxed) + 2;
        if fresh { self.peak[0].load(Relaxed).max(self.peak[1].load(Relaxed)) } else { 0 }
    }

    /// The most attempts at once while the provider comes back, and when that next grows.
    pub(crate) fn ramp(&self, now: Mono, config: &BreakerConfig) -> Option<(u32, u64)> {
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

/// One provider.
#[derive(Debug)]
pub(crate) struct Provider {
    pub(crate) id: ProviderId,
    pub(crate) connections: u32,
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

/// True once a second: what only has to be noted now and then costs no lock in between.
pub(crate) fn due(last: &AtomicU64, now: Mono) -> bool {
    let before = last.load(Relaxed);
    let due = before == 0 || now.0.saturating_sub(before - 1) >= 1_000_000_000;
    if due {
        last.store(now.0.saturating_add(1), Relaxed);
    }
    due
}

/// Something that is told once until it is over.
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
