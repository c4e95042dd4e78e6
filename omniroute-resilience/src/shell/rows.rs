//! Rows of connections and of locks: numbers that repeat what the store said. A connection is one cache line.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};

use omniroute_core::{ConnectionId, Moment, Mono};

use crate::config::Class;
use crate::layers::connection;
use crate::layers::effect::Trust;
use crate::limits::rate::Limits;
use crate::shell::denial::Blocked;

/// What connections have in common, shared by all that have it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Profile {
    pub(crate) class: Class,
    pub(crate) trust: Trust,
    pub(crate) per_model: bool,
    pub(crate) no_cooldown: bool,
    pub(crate) disabled: bool,
    pub(crate) breaker: u32,
    pub(crate) group: u32,
    pub(crate) egress: u32,
    pub(crate) limits: Limits,
    pub(crate) model_limits: Arc<[(Arc<str>, Limits)]>,
    pub(crate) scopes: Arc<[(Arc<str>, Arc<str>)]>,
}

/// There is no such row.
pub(crate) const NONE: u32 = u32::MAX;

/// A success would change the record.
pub(crate) const DIRTY: u16 = 1;
/// It comes back slowly.
pub(crate) const REENTRY: u16 = 2;
/// The provider named the date.
pub(crate) const DECLARED: u16 = 4;
/// An allowance is used up; until when is among the rare facts.
pub(crate) const QUOTA: u16 = 8;
/// It may be tried out; when is among the rare facts.
pub(crate) const VERIFY: u16 = 16;
/// Answers have told how little is left; kept when the record is read anew.
pub(crate) const LEARNED: u16 = 32;
/// The connection is not configured any more; kept when the record is read anew.
pub(crate) const REMOVED: u16 = 64;

const FLAG_BITS: u32 = 9;
const WHY_BITS: u32 = 5;
const LEVEL_BITS: u32 = 6;
const EPOCH_AT: u32 = FLAG_BITS + WHY_BITS + LEVEL_BITS;

/// Epoch, level, reason and flags in one number, so that they are always read together. An epoch grows with the
/// date in milliseconds; 44 bits last until the year 2527.
#[derive(Debug, Default)]
pub(crate) struct Word(AtomicU64);

impl Word {
    pub(crate) fn epoch(&self) -> u64 {
        self.0.load(Relaxed) >> EPOCH_AT
    }

    pub(crate) fn level(&self) -> u8 {
        u8::try_from(self.bits(FLAG_BITS + WHY_BITS, LEVEL_BITS)).unwrap_or(u8::MAX)
    }

    pub(crate) fn why(&self) -> Blocked {
        let at = usize::try_from(self.bits(FLAG_BITS, WHY_BITS)).unwrap_or(0);
        REASONS.get(at).copied().unwrap_or(Blocked::RateLimited)
    }

    pub(crate) fn has(&self, flag: u16) -> bool {
        self.0.load(Relaxed) & u64::from(flag) != 0
    }

    pub(crate) fn mark(&self, flag: u16, on: bool) {
        if on {
            self.0.fetch_or(u64::from(flag), Relaxed);
        } else {
            self.0.fetch_and(!u64::from(flag), Relaxed);
        }
    }

    /// Writes everything but the flags that only this process knows.
    pub(crate) fn set(&self, epoch: u64, level: u32, why: Blocked, flags: u16) {
        let why = REASONS.iter().position(|reason| *reason == why).unwrap_or(0) as u64;
        let level = u64::from(level).min((1 << LEVEL_BITS) - 1);
        let new = epoch << EPOCH_AT | level << (FLAG_BITS + WHY_BITS) | why << FLAG_BITS | u64::from(flags);
        let keep = u64::from(LEARNED | REMOVED);
        let _ = self.0.fetch_update(Relaxed, Relaxed, |old| Some(new | (old & keep)));
    }

    fn bits(&self, from: u32, count: u32) -> u64 {
        (self.0.load(Relaxed) >> from) & ((1 << count) - 1)
    }
}

/// Reasons as small numbers, for the rows.
const REASONS: [Blocked; 14] = [
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
];

/// When a row last repeated what the store said.
#[derive(Debug, Default)]
pub(crate) struct Fetched(AtomicU64);

impl Fetched {
    /// Whether it never did, or too long ago.
    pub(crate) fn stale(&self, now: Mono, max_age: Option<u64>) -> bool {
        let fetched = self.0.load(Relaxed);
        fetched == 0 || max_age.is_some_and(|age| now.0.saturating_sub(fetched - 1) > age)
    }

    pub(crate) fn note(&self, now: Mono) {
        self.0.store(now.0.saturating_add(1), Relaxed);
    }

    pub(crate) fn forget(&self) {
        self.0.store(0, Relaxed);
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
    pub(crate) in_flight: AtomicU32,
    pub(crate) fetched: Fetched,
    pub(crate) until: AtomicU64,
    pub(crate) word: Word,
    /// Versions of the credential, as far as they fit.
    pub(crate) credential: AtomicU32,
    /// When a success was last told to the siblings, in seconds and plus one.
    pub(crate) success_at: AtomicU32,
}

#[cfg(target_pointer_width = "64")]
const _: () = assert!(size_of::<Conn>() == 64, "a million of them are in memory");

impl Conn {
    pub(crate) fn new(id: ConnectionId, profile: Arc<Profile>, provider: u32) -> Conn {
        Conn {
            id,
            profile,
            provider,
            in_flight: AtomicU32::new(0),
            fetched: Fetched::default(),
            until: AtomicU64::new(0),
            word: Word::default(),
            credential: AtomicU32::new(0),
            success_at: AtomicU32::new(0),
        }
    }

    pub(crate) fn blocked(&self, now: Mono) -> Option<(Blocked, u64)> {
        let until = self.until.load(Relaxed);
        (until > now.0).then(|| (self.word.why(), until))
    }

    /// True once a second.
    pub(crate) fn success_due(&self, now: Mono) -> bool {
        let second = u32::try_from(now.0 / 1_000_000_000).unwrap_or(u32::MAX - 1) + 1;
        let due = self.success_at.load(Relaxed) != second;
        if due {
            self.success_at.store(second, Relaxed);
        }
        due
    }
}

/// One lock of models.
#[derive(Debug, Default)]
pub(crate) struct LockRow {
    pub(crate) fetched: Fetched,
    pub(crate) until: AtomicU64,
    pub(crate) word: Word,
}

impl LockRow {
    /// The next look reads it anew.
    pub(crate) fn forget(&self) {
        self.until.store(0, Relaxed);
        self.fetched.forget();
    }

    pub(crate) fn blocked(&self, now: Mono) -> Option<(Blocked, u64)> {
        let until = self.until.load(Relaxed);
        (until > now.0).then(|| (self.word.why(), until))
    }
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

#[cfg(target_pointer_width = "64")]
const _: () = assert!(size_of::<TargetRow>() == 48, "a million of them are in memory");

/// Who holds a connection exclusively, as far as we know. Only there when leases are on.
#[derive(Debug, Default)]
pub(crate) struct LeaseRow {
    pub(crate) fetched: Fetched,
    pub(crate) until: AtomicU64,
}

/// Which row a rare fact belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Spot {
    /// A connection.
    Conn(u32),
    /// A target's own lock.
    Own(u32),
    /// A shared lock.
    Lock(u32),
}

/// Facts that few rows have.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Rare {
    pub(crate) quota_until: u64,
    pub(crate) verify_at: u64,
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_keeps_its_parts_apart_and_what_only_we_know() {
        let word = Word::default();
        word.mark(LEARNED, true);
        for (level, why) in [(0, Blocked::ModelQuota), (32, Blocked::RateLimited), (9, Blocked::Manual)] {
            word.set(1_800_000_000_123, level, why, DIRTY | VERIFY);
            assert_eq!((word.epoch(), u32::from(word.level()), word.why()), (1_800_000_000_123, level, why));
            assert!(word.has(DIRTY) && word.has(VERIFY) && word.has(LEARNED));
            assert!(!word.has(REENTRY) && !word.has(REMOVED));
        }
        word.mark(LEARNED, false);
        assert!(!word.has(LEARNED));
    }
}
