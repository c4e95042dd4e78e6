//! Where vendors are played: a clock, and requests that are seen through to their ends.

use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use omniroute_core::testing::{VirtualClock, host};
use omniroute_core::{ChatRequest, Clock, Env, Mono, UnixMs};
use omniroute_route::{ChatError, ReplyBody, RouteReceipt, Router};

use crate::script::Script;
use crate::vendor::Vendor;

/// The day on which every play begins.
const DAY: UnixMs = UnixMs(1_800_000_000_000);
/// Allowances of further attempts fill with time: a play begins with full ones.
const BEFORE: Duration = Duration::from_secs(60);
/// The clock moves by this when nobody can go on.
const TICK: Duration = Duration::from_millis(10);
/// Ticks after which nothing is expected any more: an hour.
const PATIENCE: u32 = 360_000;

/// A clock and a host for played vendors.
#[derive(Debug)]
pub struct Stage {
    clock: VirtualClock,
    began: Mono,
}

/// What became of one request.
#[derive(Debug)]
pub struct Turn {
    /// When it was sent, counted from the start.
    pub at: Duration,
    /// When it ended.
    pub ended: Duration,
    /// Who was asked, and why; none: the request was not understood.
    pub receipt: Option<RouteReceipt>,
    /// Why there is no answer.
    pub error: Option<Box<ChatError>>,
}

impl Default for Stage {
    fn default() -> Self {
        let clock = VirtualClock::at(UnixMs(DAY.0 - 60_000));
        clock.advance(BEFORE);
        let began = clock.now().mono;
        Stage { clock, began }
    }
}

impl Stage {
    /// A stage at its start.
    pub fn new() -> Self {
        Stage::default()
    }

    /// The host for a router.
    pub fn env(&self) -> Env {
        host(&self.clock)
    }

    /// A connection that does what a script says.
    pub fn vendor(&self, provider: &str, connection: &str, script: Script) -> Arc<Vendor> {
        Arc::new(Vendor::new(provider, connection, script, self.clock.clone()))
    }

    /// Time since the start.
    pub fn at(&self) -> Duration {
        self.clock.now().mono.since(self.began)
    }

    /// Lets time pass until then; not at all if it is later already.
    pub fn wait_until(&self, at: Duration) {
        self.clock.advance(at.saturating_sub(self.at()));
    }

    /// Sends a request and reads its answer to the end.
    pub fn chat(&self, router: &Router, request: ChatRequest) -> Turn {
        let at = self.at();
        let (receipt, error) = match self.drive(router.chat(request)) {
            None => (None, None),
            Some(Err(error)) => (error.receipt(), Some(error)),
            Some(Ok(reply)) => {
                let receipt = reply.receipt_handle();
                if let ReplyBody::Stream(stream) = reply.body {
                    let _pieces: Option<Vec<_>> = self.drive(futures::StreamExt::collect(stream));
                }
                (Some(receipt.now()), None)
            }
        };
        Turn { at, ended: self.at(), receipt, error }
    }

    /// Polls to the end, moving the clock whenever nothing else happens; none: nothing happens any more.
    fn drive<T>(&self, work: impl Future<Output = T>) -> Option<T> {
        let mut work = pin!(work);
        for _ in 0..PATIENCE {
            match work.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
                Poll::Ready(done) => return Some(done),
                Poll::Pending => self.clock.advance(TICK),
            }
        }
        None
    }
}
