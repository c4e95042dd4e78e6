//! The time of a router: that of the machine, or one that a test moves.

use std::sync::{Mutex, PoisonError};
use std::task::{Context, Poll};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use futures::future::BoxFuture;
use omniroute_core::{Clock, Moment, Mono, UnixMs};

use super::desk;

/// Tells the time. Timers are kept by the call that waits, and its host is told when the first is due.
#[derive(Debug)]
pub(super) enum Time {
    Machine { start: Instant },
    Told(Mutex<Moment>),
}

impl Time {
    /// That of the machine.
    pub(super) fn machine() -> Time {
        #[expect(clippy::disallowed_methods, reason = "where a host without a clock of its own reads one")]
        let start = Instant::now();
        Time::Machine { start }
    }

    /// One that stands still until it is moved.
    pub(super) fn told(wall: UnixMs) -> Time {
        Time::Told(Mutex::new(Moment { mono: Mono(0), wall }))
    }

    /// Moves it; false for the time of the machine, which nobody moves.
    pub(super) fn advance(&self, by: Duration) -> bool {
        let Time::Told(now) = self else { return false };
        let mut now = now.lock().unwrap_or_else(PoisonError::into_inner);
        // Both at once and by the sum: many short steps are as long as one.
        let before = now.mono.0 / 1_000_000;
        now.mono = now.mono.after(by);
        let millis = i64::try_from(now.mono.0 / 1_000_000 - before).unwrap_or(i64::MAX);
        now.wall = UnixMs(now.wall.0.saturating_add(millis));
        true
    }

    pub(super) fn is_told(&self) -> bool {
        matches!(self, Time::Told(_))
    }
}

impl Clock for Time {
    fn now(&self) -> Moment {
        match self {
            Time::Machine { start } => {
                #[expect(
                    clippy::disallowed_methods,
                    reason = "where a host without a clock of its own reads one"
                )]
                let wall = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
                let mono = u64::try_from(start.elapsed().as_nanos()).unwrap_or(u64::MAX);
                let wall = i64::try_from(wall.as_millis()).unwrap_or(i64::MAX);
                Moment { mono: Mono(mono), wall: UnixMs(wall) }
            }
            Time::Told(now) => *now.lock().unwrap_or_else(PoisonError::into_inner),
        }
    }

    fn sleep_until(&self, at: Mono) -> BoxFuture<'static, ()> {
        Box::pin(Sleep { at, timer: None })
    }
}

/// Waits until its call says that the moment has come.
struct Sleep {
    at: Mono,
    timer: Option<desk::Timer>,
}

impl Future for Sleep {
    type Output = ();

    fn poll(mut self: std::pin::Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let Some((desk, now)) = desk::current() else {
            return Poll::Pending; // outside of a call nobody would wake it
        };
        if now >= self.at {
            self.timer = None;
            return Poll::Ready(());
        }
        let at = self.at;
        match &mut self.timer {
            Some(timer) if timer.is_of(&desk) => timer.renew(cx.waker()),
            timer => *timer = Some(desk::Timer::set(desk, at, cx.waker())),
        }
        Poll::Pending
    }
}
