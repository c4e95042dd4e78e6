//! Layer 3: one model rests while the connection's others serve.

use crate::codec::{Reader, Value, Writer};
use crate::config::LockoutConfig;
use crate::layers::bump;
use crate::rng::Rng;

/// Why a model is locked.
#[non_exhaustive]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Reason {
    /// Too many calls.
    #[default]
    RateLimited,
    /// An allowance is used up.
    QuotaExhausted,
    /// The connection does not have it.
    NotFound,
    /// The connection may not use it.
    Forbidden,
    /// No capacity.
    Capacity,
    /// It fails.
    ServerError,
    /// It answers with nothing.
    EmptyContent,
}

const REASONS: [Reason; 7] = [
    Reason::RateLimited,
    Reason::QuotaExhausted,
    Reason::NotFound,
    Reason::Forbidden,
    Reason::Capacity,
    Reason::ServerError,
    Reason::EmptyContent,
];

/// How long to lock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wait {
    /// By count, from the first and up to the longest, ms.
    Computed {
        /// First.
        base: i64,
        /// Longest.
        max: i64,
    },
    /// This many ms; the count stays.
    Fixed(i64),
    /// The provider said: this many ms from now. It only ever extends.
    Declared(i64),
    /// Only after several in a row, then computed.
    InRow {
        /// How many.
        of: u32,
        /// First.
        base: i64,
        /// Longest.
        max: i64,
    },
}

/// State of one lock.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Lock {
    /// Grows on every change.
    pub epoch: u64,
    /// Locked until then; 0: not.
    pub until: i64,
    /// Whether the provider named that date.
    pub declared: bool,
    /// Why.
    pub reason: Reason,
    /// Failures that count for the next lock's length.
    pub count: u32,
    /// When the last one was.
    pub last_at: i64,
    /// How long the last lock was, ms.
    pub last_ms: i64,
    /// When a long declared lock may be tried out next; 0: not.
    pub verify_at: i64,
    /// Failures in a row that do not lock yet, and the last one's date.
    pub row: u32,
    /// When that row was last right.
    pub row_at: i64,
}

/// The numbers a lock works with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rules {
    /// How often it doubles.
    pub steps: u32,
    /// Whether it doubles.
    pub backoff: bool,
    /// How long after a lock's end a failure still counts on, ms.
    pub window: i64,
    /// Longest declared lock, ms.
    pub declared_max: i64,
    /// From this declared lock on it is verified, ms.
    pub verify_after: i64,
    /// How often, ms.
    pub verify_every: i64,
}

impl Rules {
    /// The rules, with the numbers that come from the connection.
    pub fn new(config: &LockoutConfig, window: i64, declared_max: i64, verify: (i64, i64)) -> Rules {
        Rules {
            steps: config.steps,
            backoff: config.backoff,
            window,
            declared_max,
            verify_after: verify.0,
            verify_every: verify.1,
        }
    }

    /// Length of the lock after `count` failures, without jitter, ms.
    pub fn computed(&self, base: i64, max: i64, count: u32) -> i64 {
        let doublings = if self.backoff { count.min(self.steps + 1).saturating_sub(1).min(40) } else { 0 };
        base.saturating_mul(1_i64 << doublings).min(max)
    }
}

impl Lock {
    /// Cuts dates that no clock of ours could have written.
    pub fn settle(&mut self, now: i64, rules: &Rules) {
        let longest = rules.declared_max.saturating_add(2_000).max(2 * 86_400_000);
        self.until = self.until.min(now.saturating_add(longest));
        self.last_at = self.last_at.min(now);
    }

    /// Takes in a failure. `fresh`: its attempt began after the last change. True if something changed.
    pub fn fail(
        &mut self,
        wait: Wait,
        reason: Reason,
        fresh: bool,
        now: i64,
        rules: &Rules,
        rng: &Rng,
    ) -> bool {
        self.settle(now, rules);
        let (base, max) = match wait {
            Wait::Declared(ms) => return self.declare(ms, reason, fresh, now, rules, rng),
            _ if !fresh => return false,
            Wait::Fixed(ms) => {
                self.lock(now.saturating_add(ms), reason);
                self.epoch = bump(self.epoch, now);
                return true;
            }
            Wait::InRow { of, base, max } => {
                let going_on = now.saturating_sub(self.row_at) <= 300_000;
                self.row = if going_on { self.row + 1 } else { 1 };
                self.row_at = now;
                if self.row < of {
                    return true;
                }
                self.row = 0;
                (base, max)
            }
            Wait::Computed { base, max } => (base, max),
        };
        let going_on = now.saturating_sub(self.last_at) <= rules.window.saturating_add(self.last_ms);
        self.count = if self.count > 0 && going_on { self.count.saturating_add(1) } else { 1 };
        let ms = rng.stretch(rules.computed(base, max, self.count), 1_000_000, 1_100_000);
        self.last_at = now;
        self.last_ms = ms;
        self.lock(now.saturating_add(ms), reason);
        self.epoch = bump(self.epoch, now);
        true
    }

    /// Takes in a success: the count halves, a lock ends. True if something changed.
    pub fn succeed(&mut self, fresh: bool, now: i64) -> bool {
        if !fresh || self.clean() {
            return false;
        }
        self.count /= 2;
        self.until = 0;
        self.declared = false;
        self.verify_at = 0;
        self.row = 0;
        self.epoch = bump(self.epoch, now);
        true
    }

    /// A verification of a long lock failed: the date stays, the next try is an hour away.
    pub fn verification_failed(&mut self, declared: Option<i64>, now: i64, rules: &Rules, rng: &Rng) -> bool {
        if let Some(ms) = declared {
            self.declare(ms, self.reason, false, now, rules, rng);
        }
        self.verify_at = now.saturating_add(rules.verify_every);
        true
    }

    /// Whether nothing is left that a success could change: the record can go.
    pub fn clean(&self) -> bool {
        self.count == 0 && self.until == 0 && self.row == 0
    }

    fn lock(&mut self, until: i64, reason: Reason) {
        if until > self.until {
            self.until = until;
            self.declared = false;
            self.reason = reason;
            self.verify_at = 0;
        }
    }

    fn declare(&mut self, ms: i64, reason: Reason, fresh: bool, now: i64, rules: &Rules, rng: &Rng) -> bool {
        let ms = ms.clamp(1_000, rules.declared_max);
        let slack = u64::try_from((ms / 20).min(2_000)).unwrap_or(0);
        let until = now.saturating_add(ms).saturating_add(rng.between(0, slack).cast_signed());
        let longer = until > self.until;
        if longer {
            self.until = until;
            self.declared = true;
            self.reason = reason;
            self.verify_at = if ms > rules.verify_after { now.saturating_add(rules.verify_after) } else { 0 };
        }
        if fresh {
            self.epoch = bump(self.epoch, now);
        }
        longer || fresh
    }
}

impl Value for Lock {
    fn encode(&self, tail: &[u8]) -> Vec<u8> {
        let mut out = Writer::new();
        out.u(self.epoch).i(self.until).bool(self.declared);
        out.u(REASONS.iter().position(|r| *r == self.reason).unwrap_or(0) as u64);
        out.u(u64::from(self.count)).i(self.last_at).i(self.last_ms).i(self.verify_at);
        out.u(u64::from(self.row)).i(self.row_at);
        out.finish(tail)
    }

    fn decode(bytes: &[u8]) -> Option<(Self, &[u8])> {
        let mut input = Reader::new(bytes)?;
        let lock = Lock {
            epoch: input.u()?,
            until: input.i()?,
            declared: input.bool()?,
            reason: *REASONS.get(input.small::<usize>()?)?,
            count: input.small()?,
            last_at: input.i()?,
            last_ms: input.i()?,
            verify_at: input.i()?,
            row: input.small()?,
            row_at: input.i()?,
        };
        Some((lock, input.rest()))
    }
}

#[cfg(test)]
mod tests;
