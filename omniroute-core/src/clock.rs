//! Time as a value that the caller gives, and the one trait through which we read it ourselves.

use std::fmt::Debug;
use std::time::Duration;

use futures::future::BoxFuture;

/// Nanoseconds on a clock that never goes back; for waits and durations inside one process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Mono(pub u64);

impl Mono {
    /// This moment plus `duration`, at most the end of time.
    #[must_use]
    pub fn after(self, duration: Duration) -> Mono {
        Mono(self.0.saturating_add(u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)))
    }

    /// Time from `earlier` to here; zero if `earlier` is later.
    pub fn since(self, earlier: Mono) -> Duration {
        Duration::from_nanos(self.0.saturating_sub(earlier.0))
    }
}

/// Milliseconds since 1970-01-01 UTC; for what is stored and for vendors' times.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, serde::Serialize, serde::Deserialize,
)]
pub struct UnixMs(pub i64);

/// One reading of both clocks, taken together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Moment {
    /// For durations.
    pub mono: Mono,
    /// For dates.
    pub wall: UnixMs,
}

/// Now and timers in one trait, so that a simulated clock cannot disagree with itself.
pub trait Clock: Send + Sync + Debug + 'static {
    /// Reads both clocks.
    fn now(&self) -> Moment;

    /// Ready at `at` or later; at once if that has passed. Dropping the future cancels the timer.
    fn sleep_until(&self, at: Mono) -> BoxFuture<'static, ()>;
}
