//! What a host gives besides configuration: the time.

use std::time::Instant;

use omniroute_core::{Moment, Mono};

/// A clock for hosts without one of their own. Only ages what is remembered; no output depends on it.
#[derive(Debug, Clone, Copy)]
pub struct Stopwatch {
    start: Instant,
}

impl Stopwatch {
    /// Begins at zero.
    #[must_use]
    pub fn start() -> Self {
        #[expect(clippy::disallowed_methods, reason = "the one place where bindings read the clock")]
        let start = Instant::now();
        Stopwatch { start }
    }

    /// The time since the start; the date is left at zero.
    pub fn now(&self) -> Moment {
        let passed = self.start.elapsed();
        Moment { mono: Mono(u64::try_from(passed.as_nanos()).unwrap_or(u64::MAX)), ..Moment::default() }
    }
}
