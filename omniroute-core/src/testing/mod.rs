//! Helpers for tests: a clock that only moves when told, a network that is not there.

use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Poll, Waker};
use std::time::Duration;

use bytes::Bytes;
use futures::future::{BoxFuture, poll_fn};

use crate::clock::{Clock, Moment, Mono, UnixMs};
use crate::host::{Body, Env, HttpTransport, Inline, TransportError};

/// A network that is not there.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoNetwork;

#[async_trait::async_trait]
impl HttpTransport for NoNetwork {
    async fn send(&self, _: http::Request<Bytes>) -> Result<http::Response<Body>, TransportError> {
        Err(TransportError::new("connect", "there is no network here"))
    }
}

/// A host with this clock, no network, and no pool for heavy work.
pub fn host(clock: &VirtualClock) -> Env {
    Env { clock: Arc::new(clock.clone()), http: Arc::new(NoNetwork), offload: Arc::new(Inline) }
}

/// Virtual time: starts at zero (mono) and a given date (wall), moves by [`VirtualClock::advance`].
///
/// ```
/// use std::time::Duration;
/// use omniroute_core::{Clock, testing::VirtualClock};
/// let clock = VirtualClock::default();
/// clock.advance(Duration::from_secs(5));
/// assert_eq!(clock.now().wall.0, 5_000);
/// ```
#[derive(Debug, Clone, Default)]
pub struct VirtualClock {
    inner: Arc<Mutex<Inner>>,
}

#[derive(Debug, Default)]
struct Inner {
    now: Moment,
    sleepers: Vec<(Mono, Waker)>,
}

impl VirtualClock {
    /// A clock that shows `wall` at the start.
    pub fn at(wall: UnixMs) -> Self {
        let now = Moment { mono: Mono(0), wall };
        VirtualClock { inner: Arc::new(Mutex::new(Inner { now, sleepers: Vec::new() })) }
    }

    /// Moves both clocks forward and wakes whoever waited for it.
    pub fn advance(&self, by: Duration) {
        let mut inner = self.lock();
        inner.now.mono = inner.now.mono.after(by);
        let millis = i64::try_from(by.as_millis()).unwrap_or(i64::MAX);
        inner.now.wall = UnixMs(inner.now.wall.0.saturating_add(millis));
        let now = inner.now.mono;
        let (due, waiting) = std::mem::take(&mut inner.sleepers).into_iter().partition(|(at, _)| *at <= now);
        inner.sleepers = waiting;
        drop(inner);
        let due: Vec<(Mono, Waker)> = due;
        due.into_iter().for_each(|(_, waker)| waker.wake());
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Clock for VirtualClock {
    fn now(&self) -> Moment {
        self.lock().now
    }

    fn sleep_until(&self, at: Mono) -> BoxFuture<'static, ()> {
        let clock = self.clone();
        Box::pin(poll_fn(move |cx| {
            let mut inner = clock.lock();
            if inner.now.mono >= at {
                return Poll::Ready(());
            }
            inner.sleepers.push((at, cx.waker().clone()));
            Poll::Pending
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures::FutureExt;

    #[test]
    fn sleep_ends_when_time_has_come() {
        let clock = VirtualClock::default();
        let mut sleep = clock.sleep_until(Mono(0).after(Duration::from_secs(2)));
        assert!((&mut sleep).now_or_never().is_none());
        clock.advance(Duration::from_secs(1));
        assert!((&mut sleep).now_or_never().is_none());
        clock.advance(Duration::from_secs(1));
        assert!(sleep.now_or_never().is_some());
    }
}
