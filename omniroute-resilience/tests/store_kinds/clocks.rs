//! A clock that can be set, back as well as forward.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures::future::BoxFuture;
use omniroute_core::{Clock, Moment, Mono, UnixMs};

/// Shows what it is told. Its timers never end: waits of stores are bounded by other means in these tests.
#[derive(Debug, Clone)]
pub(crate) struct SetClock(Arc<Mutex<Moment>>);

impl SetClock {
    pub(crate) fn new() -> SetClock {
        SetClock(Arc::new(Mutex::new(Moment { mono: Mono(0), wall: UnixMs(1_700_000_000_000) })))
    }

    /// Lets time pass on both clocks.
    pub(crate) fn pass(&self, by: Duration) {
        let mut now = self.0.lock().unwrap();
        now.mono = now.mono.after(by);
        now.wall.0 += i64::try_from(by.as_millis()).unwrap();
    }

    /// Somebody sets the date.
    pub(crate) fn jump(&self, ms: i64) {
        self.0.lock().unwrap().wall.0 += ms;
    }
}

impl Clock for SetClock {
    fn now(&self) -> Moment {
        *self.0.lock().unwrap()
    }

    fn sleep_until(&self, _: Mono) -> BoxFuture<'static, ()> {
        Box::pin(std::future::pending())
    }
}
