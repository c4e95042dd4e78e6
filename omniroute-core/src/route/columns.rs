//! What changes from minute to minute, one array per number. NaN is unknown and never a value.

use super::drop::DropReason;
use crate::clock::{Mono, UnixMs};

/// How a provider's breaker stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Hash, serde::Serialize)]
#[serde(rename_all = "snake_case")]
#[repr(u8)]
pub enum Health {
    /// Works.
    #[default]
    Closed,
    /// Works, with failures.
    Degraded,
    /// Is being tried again.
    HalfOpen,
    /// Does not work.
    Open,
}

/// The spans over which allowances are counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Window {
    /// Five hours.
    Session,
    /// Seven days.
    Weekly,
    /// Thirty days.
    Monthly,
}

impl Window {
    /// Every span, shortest first.
    pub const ALL: [Window; 3] = [Window::Session, Window::Weekly, Window::Monthly];

    /// Its length in milliseconds.
    pub const fn millis(self) -> i64 {
        match self {
            Window::Session => 5 * 3_600_000,
            Window::Weekly => 7 * 86_400_000,
            Window::Monthly => 30 * 86_400_000,
        }
    }
}

/// What is known about one candidate now. `None` is unknown, never zero.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
#[non_exhaustive]
pub struct Facts {
    /// Its provider's breaker.
    pub health: Health,
    /// What cannot be used now, and why; with [`Facts::blocked_until`].
    pub blocked: Option<DropReason>,
    /// When that ends, if time ends it.
    pub blocked_until: Option<Mono>,
    /// Left of the tightest allowance, 0..1.
    pub quota_left: Option<f32>,
    /// Used of each window, 0..1, see [`Window`].
    pub used: [Option<f32>; 3],
    /// When each window starts anew.
    pub resets_at: [Option<UnixMs>; 3],
    /// USD for a million tokens of input.
    pub price_in: Option<f32>,
    /// USD for a million tokens of output.
    pub price_out: Option<f32>,
    /// USD for a million tokens read from the vendor's cache.
    pub price_cache: Option<f32>,
    /// Mean time to the whole answer, ms.
    pub mean_ms: Option<f32>,
    /// 95 of 100 answers come within this, ms.
    pub p95_ms: Option<f32>,
    /// Time to the first token, ms.
    pub ttft_ms: Option<f32>,
    /// Tokens of an answer in a second, once it has begun.
    pub tokens_per_s: Option<f32>,
    /// Standard deviation of the time, ms.
    pub sd_ms: Option<f32>,
    /// Share of attempts that failed, 0..1.
    pub error_rate: Option<f32>,
    /// Attempts behind [`Facts::error_rate`].
    pub samples: f32,
    /// Attempts that run on the connection.
    pub in_flight: u32,
    /// As many may run.
    pub cap: Option<u32>,
    /// Attempts lately, older ones counting less.
    pub usage: Option<f32>,
    /// Other sessions that live on the connection.
    pub sessions: u32,
    /// How good the answers were in shape, 0..1.
    pub quality: Option<f32>,
    /// Under lasting load beyond its share of a shared pool: put behind others.
    pub over_share: bool,
    /// A vendor's cache reported a hit for this request's prefix a moment ago.
    pub warm: bool,
}

/// The facts of all candidates of a pool, by index.
#[derive(Debug, Clone, Default)]
#[expect(missing_docs, reason = "one array per field of Facts, which says what it is")]
pub struct Columns {
    pub health: Vec<Health>,
    pub blocked: Vec<Option<DropReason>>,
    pub blocked_until: Vec<Mono>,
    pub quota_left: Vec<f32>,
    pub used: [Vec<f32>; 3],
    pub resets_at: [Vec<UnixMs>; 3],
    pub price_in: Vec<f32>,
    pub price_out: Vec<f32>,
    pub price_cache: Vec<f32>,
    pub mean_ms: Vec<f32>,
    pub p95_ms: Vec<f32>,
    pub ttft_ms: Vec<f32>,
    pub tokens_per_s: Vec<f32>,
    pub sd_ms: Vec<f32>,
    pub error_rate: Vec<f32>,
    pub samples: Vec<f32>,
    pub in_flight: Vec<u32>,
    pub cap: Vec<u32>,
    pub usage: Vec<f32>,
    pub sessions: Vec<u32>,
    pub quality: Vec<f32>,
    pub over_share: Vec<bool>,
    pub warm: Vec<bool>,
}

/// No limit of attempts.
const NO_CAP: u32 = u32::MAX;
/// No known time.
const NEVER: UnixMs = UnixMs(i64::MIN);

impl Columns {
    /// Nothing known about `len` candidates.
    pub fn unknown(len: usize) -> Self {
        let mut columns = Columns::default();
        columns.reset(len);
        columns
    }

    /// Forgets everything, keeps the memory.
    pub fn reset(&mut self, len: usize) {
        fn fill<T: Clone>(column: &mut Vec<T>, len: usize, value: T) {
            column.clear();
            column.resize(len, value);
        }
        fill(&mut self.health, len, Health::Closed);
        fill(&mut self.blocked, len, None);
        fill(&mut self.blocked_until, len, Mono(u64::MAX));
        self.used.iter_mut().for_each(|column| fill(column, len, f32::NAN));
        self.resets_at.iter_mut().for_each(|column| fill(column, len, NEVER));
        for column in [
            &mut self.quota_left,
            &mut self.price_in,
            &mut self.price_out,
            &mut self.price_cache,
            &mut self.mean_ms,
            &mut self.p95_ms,
            &mut self.ttft_ms,
            &mut self.tokens_per_s,
            &mut self.sd_ms,
            &mut self.error_rate,
            &mut self.usage,
            &mut self.quality,
        ] {
            fill(column, len, f32::NAN);
        }
        fill(&mut self.samples, len, 0.0);
        fill(&mut self.in_flight, len, 0);
        fill(&mut self.cap, len, NO_CAP);
        fill(&mut self.sessions, len, 0);
        fill(&mut self.over_share, len, false);
        fill(&mut self.warm, len, false);
    }

    /// Number of candidates.
    pub fn len(&self) -> usize {
        self.health.len()
    }

    /// True without candidates.
    pub fn is_empty(&self) -> bool {
        self.health.is_empty()
    }

    /// Writes what is known about one candidate. Numbers that are none become unknown. Out of range: nothing happens.
    pub fn set(&mut self, index: usize, facts: &Facts) {
        if index >= self.len() {
            return;
        }
        let number = |value: Option<f32>| value.filter(|value| value.is_finite()).unwrap_or(f32::NAN);
        self.health[index] = facts.health;
        self.blocked[index] = facts.blocked;
        self.blocked_until[index] = facts.blocked_until.unwrap_or(Mono(u64::MAX));
        self.quota_left[index] = number(facts.quota_left);
        for window in 0..3 {
            self.used[window][index] = number(facts.used[window]);
            self.resets_at[window][index] = facts.resets_at[window].unwrap_or(NEVER);
        }
        self.price_in[index] = number(facts.price_in);
        self.price_out[index] = number(facts.price_out);
        self.price_cache[index] = number(facts.price_cache);
        self.mean_ms[index] = number(facts.mean_ms);
        self.p95_ms[index] = number(facts.p95_ms);
        self.ttft_ms[index] = number(facts.ttft_ms);
        self.tokens_per_s[index] = number(facts.tokens_per_s);
        self.sd_ms[index] = number(facts.sd_ms);
        self.error_rate[index] = number(facts.error_rate);
        self.samples[index] = if facts.samples.is_finite() { facts.samples } else { 0.0 };
        self.in_flight[index] = facts.in_flight;
        self.cap[index] = facts.cap.unwrap_or(NO_CAP);
        self.usage[index] = number(facts.usage);
        self.sessions[index] = facts.sessions;
        self.quality[index] = number(facts.quality);
        self.over_share[index] = facts.over_share;
        self.warm[index] = facts.warm;
    }

    /// Reads what is known about one candidate; nothing is known about one out of range.
    pub fn get(&self, index: usize) -> Facts {
        if index >= self.len() {
            return Facts::default();
        }
        let known = |value: f32| value.is_finite().then_some(value);
        let at = |time: UnixMs| (time != NEVER).then_some(time);
        Facts {
            health: self.health[index],
            blocked: self.blocked[index],
            blocked_until: (self.blocked_until[index].0 != u64::MAX).then_some(self.blocked_until[index]),
            quota_left: known(self.quota_left[index]),
            used: [0, 1, 2].map(|window| known(self.used[window][index])),
            resets_at: [0, 1, 2].map(|window| at(self.resets_at[window][index])),
            price_in: known(self.price_in[index]),
            price_out: known(self.price_out[index]),
            price_cache: known(self.price_cache[index]),
            mean_ms: known(self.mean_ms[index]),
            p95_ms: known(self.p95_ms[index]),
            ttft_ms: known(self.ttft_ms[index]),
            tokens_per_s: known(self.tokens_per_s[index]),
            sd_ms: known(self.sd_ms[index]),
            error_rate: known(self.error_rate[index]),
            samples: self.samples[index],
            in_flight: self.in_flight[index],
            cap: (self.cap[index] != NO_CAP).then_some(self.cap[index]),
            usage: known(self.usage[index]),
            sessions: self.sessions[index],
            quality: known(self.quality[index]),
            over_share: self.over_share[index],
            warm: self.warm[index],
        }
    }

    /// Milliseconds until a window starts anew: zero if it has, none if unknown.
    #[inline]
    pub fn until_reset(&self, window: Window, index: usize, now: UnixMs) -> Option<i64> {
        let at = self.resets_at[window as usize][index];
        (at != NEVER).then(|| at.0.saturating_sub(now.0).max(0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_set_is_read() {
        let mut columns = Columns::unknown(2);
        assert_eq!(columns.get(1), Facts::default());
        let facts = Facts {
            health: Health::HalfOpen,
            quota_left: Some(0.5),
            used: [Some(0.1), None, Some(0.3)],
            resets_at: [None, Some(UnixMs(5_000)), None],
            price_in: Some(3.0),
            cap: Some(4),
            samples: 12.0,
            blocked: Some(DropReason::Cooling),
            blocked_until: Some(Mono(7)),
            ..Facts::default()
        };
        columns.set(1, &facts);
        assert_eq!(columns.get(1), facts);
        assert_eq!(columns.get(0), Facts::default());
        assert_eq!(columns.until_reset(Window::Weekly, 1, UnixMs(2_000)), Some(3_000));
        assert_eq!(columns.until_reset(Window::Weekly, 1, UnixMs(9_000)), Some(0));
        assert_eq!(columns.until_reset(Window::Session, 1, UnixMs(0)), None);
        columns.set(9, &facts);
    }

    #[test]
    fn a_number_that_is_none_is_unknown() {
        let mut columns = Columns::unknown(1);
        for odd in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY] {
            columns.set(0, &Facts { quota_left: Some(odd), samples: odd, ..Facts::default() });
            assert_eq!(columns.get(0), Facts::default());
        }
    }
}
