//! Limits of time, measured by the injected clock.

use std::time::Duration;

use futures::future::{Either, select};
use futures::pin_mut;
use omniroute_core::{Clock, Failure, FailureKind, Mono, Phase, Scope};

/// How long a call may take. A zero turns a limit off.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Timeouts {
    /// Until the head of a streamed answer; default 60 s.
    pub first_byte: Duration,
    /// Until the head of a whole answer; default 600 s.
    pub whole_first_byte: Duration,
    /// From the head of a stream to its first content; default 80 s. Long requests get more of it, up to 180 s.
    pub first_event: Duration,
    /// Between two pieces; default 90 s.
    pub idle: Duration,
    /// Between two pieces that say something; default 300 s.
    pub idle_useful: Duration,
    /// A whole answer from start to end; default 600 s. Streams have no such limit.
    pub total: Duration,
}

impl Default for Timeouts {
    fn default() -> Self {
        Timeouts {
            first_byte: Duration::from_secs(60),
            whole_first_byte: Duration::from_secs(600),
            first_event: Duration::from_secs(80),
            idle: Duration::from_secs(90),
            idle_useful: Duration::from_secs(300),
            total: Duration::from_secs(600),
        }
    }
}

/// A moment that must not pass, and what to say if it does.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limit {
    at: Option<Mono>,
    what: What,
}

/// Which limit it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum What {
    FirstByte,
    FirstEvent,
    Idle,
    Total,
    Deadline,
}

impl Limit {
    /// `span` after `from`; zero is no limit.
    pub(crate) fn after(from: Mono, span: Duration, what: What) -> Limit {
        Limit { at: (!span.is_zero()).then(|| from.after(span)), what }
    }

    /// The caller's own.
    pub(crate) fn deadline(at: Option<Mono>) -> Limit {
        Limit { at, what: What::Deadline }
    }

    /// The one that comes first.
    pub(crate) fn min(self, other: Limit) -> Limit {
        match (self.at, other.at) {
            (_, None) => self,
            (None, Some(_)) => other,
            (Some(one), Some(two)) => {
                if two < one {
                    other
                } else {
                    self
                }
            }
        }
    }

    /// Waits for `work`, at most until the limit. Dropping it drops the work.
    pub(crate) async fn hold<T>(
        self,
        clock: &dyn Clock,
        phase: Phase,
        work: impl Future<Output = T>,
    ) -> Result<T, Failure> {
        let Some(at) = self.at else { return Ok(work.await) };
        let late = clock.sleep_until(at);
        pin_mut!(work);
        match select(work, late).await {
            Either::Left((done, _)) => Ok(done),
            Either::Right(_) => Err(self.failure(phase)),
        }
    }

    fn failure(self, phase: Phase) -> Failure {
        let (rule, message) = match self.what {
            What::FirstByte => ("net.first_byte", "no answer in time"),
            What::FirstEvent => ("net.first_event", "the stream said nothing in time"),
            What::Idle => ("net.idle", "the answer stopped coming"),
            What::Total => ("net.total", "the answer took too long"),
            What::Deadline => {
                return Failure::local(FailureKind::Timeout, "deadline_exceeded", "the caller's time is up");
            }
        };
        // Before anything is sent it is the credential's source that is late.
        let scope = if phase == Phase::PreDispatch { Scope::Connection } else { Scope::Provider };
        let mut failure = Failure::new(FailureKind::Timeout, scope, message);
        failure.rule = rule.into();
        failure.phase = phase;
        failure
    }
}
