//! The time of a store that outlasts a process: never back, but not stuck for ever on a clock that was wrong.

use std::sync::{Mutex, PoisonError};

use omniroute_core::{Mono, UnixMs};

/// A clock that is behind by no more than this is waited for.
#[cfg(any(test, feature = "store-sqlite"))]
pub(crate) const SLACK_MS: i64 = 60_000;
/// A clock that stays behind by more is believed after this long.
#[cfg(any(test, feature = "store-sqlite"))]
pub(crate) const PATIENCE_MS: i64 = 600_000;

/// What a store remembers about time. The Redis script holds the same rule.
#[cfg(any(test, feature = "store-sqlite"))]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Anchor {
    /// The latest time that was ever acknowledged.
    pub(crate) high: i64,
    /// What the clock showed when it was first seen far behind.
    pub(crate) behind: Option<i64>,
    /// How often the store gave up its own time for the clock's.
    pub(crate) turns: i64,
}

#[cfg(any(test, feature = "store-sqlite"))]
impl Anchor {
    /// The anchor after the clock showed `clock`; its `high` is the time now. `floor` is what this process has
    /// already told, in the given turn.
    #[must_use]
    pub(crate) fn step(self, clock: i64, floor: Told) -> Anchor {
        let high = if floor.turns == self.turns { self.high.max(floor.time) } else { self.high };
        if clock >= high.saturating_sub(SLACK_MS) {
            return Anchor { high: high.max(clock), behind: None, turns: self.turns };
        }
        match self.behind {
            Some(since) if clock >= since && clock - since >= PATIENCE_MS => {
                Anchor { high: clock, behind: None, turns: self.turns + 1 }
            }
            Some(since) if clock >= since => Anchor { high, behind: Some(since), turns: self.turns },
            _ => Anchor { high, behind: Some(clock), turns: self.turns },
        }
    }

    /// Whether the store must be told about `next` although nothing else is written.
    pub(crate) fn must_write(self, next: Anchor) -> bool {
        (self.behind, self.turns) != (next.behind, next.turns)
    }
}

/// The latest time a process has told its callers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Told {
    pub(crate) turns: i64,
    pub(crate) time: i64,
}

/// [`Told`], shared by all calls of a process, with the moment at which it was learned.
#[derive(Debug)]
pub(crate) struct Seen(Mutex<(Told, Mono)>);

impl Seen {
    pub(crate) fn new() -> Seen {
        Seen(Mutex::new((Told { turns: -1, time: i64::MIN }, Mono(0))))
    }

    pub(crate) fn told(&self) -> Told {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).0
    }

    /// Takes note of the store's time and gives what may be told: never less than before in the same turn.
    pub(crate) fn tell(&self, turns: i64, time: i64, at: Mono) -> UnixMs {
        let mut seen = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if turns > seen.0.turns || (turns == seen.0.turns && time > seen.0.time) {
            *seen = (Told { turns, time }, at);
        }
        UnixMs(seen.0.time)
    }

    /// Another store with another clock stands where the old one was.
    #[cfg(feature = "store-redis")]
    pub(crate) fn forget(&self) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) =
            (Told { turns: -1, time: i64::MIN }, Mono(0));
    }

    /// The time as far as this process can carry it on by itself. None: it never heard one.
    #[cfg(feature = "store-redis")]
    pub(crate) fn carried(&self, now: Mono) -> Option<UnixMs> {
        let (told, at) = *self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let passed = i64::try_from(now.since(at).as_millis()).unwrap_or(i64::MAX);
        (told.turns >= 0).then(|| UnixMs(told.time.saturating_add(passed)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOBODY: Told = Told { turns: -1, time: 0 };

    #[test]
    fn small_steps_back_are_waited_out_and_big_ones_end_after_ten_minutes() {
        let hour = 3_600_000;
        let mut anchor = Anchor { high: i64::MIN, behind: None, turns: 0 };
        for (clock, expected, turns) in [
            (10 * hour, 10 * hour, 0),
            (10 * hour - 5_000, 10 * hour, 0),
            (10 * hour + 1, 10 * hour + 1, 0),
            (9 * hour, 10 * hour + 1, 0),
            (9 * hour + PATIENCE_MS - 1, 10 * hour + 1, 0),
            (9 * hour + PATIENCE_MS, 9 * hour + PATIENCE_MS, 1),
            (9 * hour + PATIENCE_MS + 7, 9 * hour + PATIENCE_MS + 7, 1),
            (87_600 * hour, 87_600 * hour, 1),
            (9 * hour, 87_600 * hour, 1),
            (8 * hour, 87_600 * hour, 1),
            (9 * hour, 9 * hour, 2),
        ] {
            anchor = anchor.step(clock, NOBODY);
            assert_eq!((anchor.high, anchor.turns), (expected, turns), "clock {clock}");
        }
    }

    #[test]
    fn what_a_process_told_binds_the_store_in_the_same_turn_only() {
        let anchor = Anchor { high: 1_000, behind: None, turns: 1 };
        assert_eq!(anchor.step(1_001, Told { turns: 1, time: 1_500 }).high, 1_500);
        assert_eq!(anchor.step(1_001, Told { turns: 0, time: 9_999_999 }).high, 1_001);
    }

    #[test]
    fn what_is_told_never_goes_back_within_a_turn() {
        let seen = Seen::new();
        for (turns, time, told) in
            [(0, 50, 50), (0, 40, 50), (0, 60, 60), (1, 10, 10), (0, 99, 10), (1, 11, 11)]
        {
            assert_eq!(seen.tell(turns, time, Mono(0)).0, told);
        }
    }
}
