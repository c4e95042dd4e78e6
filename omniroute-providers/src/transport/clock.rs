//! The clock of a tokio runtime.

use std::time::{Duration, SystemTime};

use futures::future::BoxFuture;
use omniroute_core::{Clock, Moment, Mono, UnixMs};
use tokio::time::{Instant, sleep_until};

/// A wait that outlives every program: 100 years.
const EVER: Duration = Duration::from_secs(100 * 365 * 86_400);

/// Real time, waits by tokio's timers. Waits need a runtime with time enabled; reading the clock needs none.
#[derive(Clone, Copy, Debug)]
pub struct TokioClock {
    start: Instant,
}

impl TokioClock {
    /// A clock whose count begins now.
    pub fn new() -> Self {
        TokioClock { start: Instant::now() }
    }
}

impl Default for TokioClock {
    fn default() -> Self {
        TokioClock::new()
    }
}

impl Clock for TokioClock {
    #[expect(clippy::disallowed_methods, reason = "this is the clock of the host")]
    fn now(&self) -> Moment {
        let mono = Mono(0).after(self.start.elapsed());
        let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        Moment { mono, wall: UnixMs(i64::try_from(since.as_millis()).unwrap_or(i64::MAX)) }
    }

    fn sleep_until(&self, at: Mono) -> BoxFuture<'static, ()> {
        let span = at.since(Mono(0)).min(EVER);
        let at = self.start.checked_add(span).unwrap_or(self.start);
        // The timer is made when it is first asked, inside the runtime.
        Box::pin(async move { sleep_until(at).await })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_are_made_anywhere_and_end_inside_a_runtime() {
        let clock = TokioClock::new();
        let before = clock.now();
        assert!(before.wall.0 > 1_700_000_000_000);
        let wait = clock.sleep_until(before.mono.after(Duration::from_millis(3)));
        let never = clock.sleep_until(Mono(u64::MAX));
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async move {
            wait.await;
            assert!(tokio::time::timeout(Duration::from_millis(1), never).await.is_err());
        });
        assert!(clock.now().mono >= before.mono.after(Duration::from_millis(3)));
    }
}
