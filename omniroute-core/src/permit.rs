//! The right to send one attempt to one target. Whoever holds none cannot reach a credential.

use std::fmt;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use futures::future::BoxFuture;

use crate::clock::{Moment, UnixMs};
use crate::failure::Failure;
use crate::ids::{Principal, SessionId};
use crate::outcome::Outcome;
use crate::target::Target;

/// Names a permit among all processes that share a store.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize)]
pub struct PermitId {
    /// The process.
    pub process: u64,
    /// Counts up inside the process, from 1.
    pub number: u64,
}

impl fmt::Display for PermitId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}-{}", self.process, self.number)
    }
}

/// Why an attempt is made. Only [`Purpose::Production`] teaches anything.
#[non_exhaustive]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Purpose {
    /// A client's request.
    #[default]
    Production,
    /// Somebody looks whether it works. Changes nothing.
    HealthProbe,
    /// An operator tries it out.
    OperatorTest {
        /// A success clears what blocks the connection.
        clear_on_success: bool,
    },
    /// Usage is read from the provider. Changes nothing.
    QuotaFetch,
}

/// What a permit says about itself.
#[non_exhaustive]
#[derive(Debug, Clone)]
pub struct Grant {
    /// Its name.
    pub id: PermitId,
    /// Position of the target among the candidates that were offered.
    pub position: usize,
    /// Where the attempt may go.
    pub target: Target,
    /// Why.
    pub purpose: Purpose,
    /// For whom.
    pub consumer: Principal,
    /// In which session, if any.
    pub session: Option<SessionId>,
    /// When it was granted.
    pub started: Moment,
    /// How long the caller waited for it.
    pub waited: Duration,
    /// True if this attempt decides whether the provider works again.
    pub probe: bool,
    /// True if it checks a long block that the provider declared.
    pub verification: bool,
    /// True if everything was blocked and this target was the best of them.
    pub last_resort: bool,
    /// The fence of the exclusive lease it runs under, if any.
    pub fence: Option<u64>,
}

impl Grant {
    /// A grant with nothing special about it.
    pub fn new(id: PermitId, target: Target, started: Moment) -> Self {
        Grant {
            id,
            position: 0,
            target,
            purpose: Purpose::Production,
            consumer: Principal::default(),
            session: None,
            started,
            waited: Duration::ZERO,
            probe: false,
            verification: false,
            last_resort: false,
            fence: None,
        }
    }
}

/// What stands behind one permit and hears how its attempt went. One sink per permit.
///
/// # Behavior
/// - `report` takes the outcome at once, before its future is polled. If that future is dropped, the next
///   call of the store does the rest; the effects happen once.
/// - `abandon` never blocks and never waits; it does nothing after `report`.
pub trait PermitSink: Send + Sync + fmt::Debug + 'static {
    /// The first valid content has arrived: for the provider this is success.
    fn first_content(self: Arc<Self>) -> BoxFuture<'static, ()>;

    /// Work that is due while a stream runs (renewing a slot, flushing what dropped permits left), if any.
    fn upkeep(self: Arc<Self>) -> Option<BoxFuture<'static, ()>>;

    /// Whether bytes may still be sent under this permit; asked before every (re)send.
    ///
    /// # Errors
    /// A local failure that names the reason, for instance a lease that is no longer held.
    fn check(self: Arc<Self>) -> BoxFuture<'static, Result<(), Failure>>;

    /// The attempt is over.
    fn report(self: Arc<Self>, outcome: Outcome) -> BoxFuture<'static, ()>;

    /// Nobody will ever report.
    fn abandon(self: Arc<Self>);
}

/// The right to send one attempt. Dropping it without a report says nothing about the target and frees what it held.
pub struct Permit {
    grant: Grant,
    sink: Arc<dyn PermitSink>,
    upkeep: Option<BoxFuture<'static, ()>>,
    settled: bool,
}

impl Permit {
    /// A permit over a sink. Only stores of permits call this.
    pub fn new(grant: Grant, sink: Arc<dyn PermitSink>) -> Self {
        Permit { grant, sink, upkeep: None, settled: false }
    }

    /// What was granted.
    pub fn grant(&self) -> &Grant {
        &self.grant
    }

    /// Where the attempt may go.
    pub fn target(&self) -> &Target {
        &self.grant.target
    }

    /// An outcome with everything the permit knows filled in; `now` gives end and latency.
    pub fn outcome(&self, now: Moment) -> Outcome {
        Outcome {
            request: None,
            permit: self.grant.id,
            target: self.grant.target.clone(),
            class: None,
            explored: false,
            purpose: self.grant.purpose,
            consumer: self.grant.consumer.clone(),
            at: UnixMs(now.wall.0),
            latency: now.mono.since(self.grant.started.mono),
            first_content: None,
            spend: None,
            limits: Vec::new(),
            failure: None,
        }
    }

    /// The first valid content (or the whole body) has arrived. A second call does nothing.
    pub fn first_content(&self) -> BoxFuture<'static, ()> {
        let sink = Arc::clone(&self.sink);
        Box::pin(async move { sink.first_content().await }) // nothing happens before it is awaited
    }

    /// Drives due upkeep; streams call it on every poll. Never blocks, costs nothing when nothing is due.
    pub fn touch(&mut self, cx: &mut Context<'_>) {
        if self.upkeep.is_none() {
            self.upkeep = Arc::clone(&self.sink).upkeep();
        }
        if let Some(work) = &mut self.upkeep
            && let Poll::Ready(()) = work.as_mut().poll(cx)
        {
            self.upkeep = None;
        }
    }

    /// Asks once more before bytes are sent, resent or moved to another target.
    ///
    /// # Errors
    /// A local failure: the attempt must not be sent.
    pub fn check(&self) -> BoxFuture<'static, Result<(), Failure>> {
        let sink = Arc::clone(&self.sink);
        Box::pin(async move { sink.check().await })
    }

    /// Ends the attempt. The outcome is taken at once; awaiting sees it through. If the future is dropped,
    /// the next call of the store finishes it.
    pub fn report(mut self, outcome: Outcome) -> BoxFuture<'static, ()> {
        self.settled = true;
        Arc::clone(&self.sink).report(outcome)
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        if !self.settled {
            Arc::clone(&self.sink).abandon();
        }
    }
}

impl fmt::Debug for Permit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Permit").field("grant", &self.grant).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering};

    use futures::FutureExt;

    use super::*;
    use crate::clock::Mono;

    #[derive(Debug, Default)]
    struct Count {
        contents: AtomicU32,
        checks: AtomicU32,
        reports: AtomicU32,
        abandons: AtomicU32,
    }

    impl PermitSink for Count {
        fn first_content(self: Arc<Self>) -> BoxFuture<'static, ()> {
            self.contents.fetch_add(1, Ordering::Relaxed);
            futures::future::ready(()).boxed()
        }
        fn upkeep(self: Arc<Self>) -> Option<BoxFuture<'static, ()>> {
            None
        }
        fn check(self: Arc<Self>) -> BoxFuture<'static, Result<(), Failure>> {
            self.checks.fetch_add(1, Ordering::Relaxed);
            futures::future::ready(Ok(())).boxed()
        }
        fn report(self: Arc<Self>, _: Outcome) -> BoxFuture<'static, ()> {
            self.reports.fetch_add(1, Ordering::Relaxed);
            futures::future::ready(()).boxed()
        }
        fn abandon(self: Arc<Self>) {
            self.abandons.fetch_add(1, Ordering::Relaxed);
        }
    }

    fn permit(sink: &Arc<Count>) -> Permit {
        let sink: Arc<dyn PermitSink> = sink.clone();
        let started = Moment { mono: Mono(5_000_000), wall: UnixMs(10) };
        Permit::new(Grant::new(PermitId { process: 1, number: 2 }, Target::new("p", "c", "m"), started), sink)
    }

    #[test]
    fn a_reported_permit_is_not_abandoned_and_a_dropped_one_is() {
        let sink = Arc::new(Count::default());
        let permit1 = permit(&sink);
        let outcome = permit1.outcome(Moment { mono: Mono(9_000_000), wall: UnixMs(14) });
        assert_eq!(outcome.latency, Duration::from_millis(4));
        permit1.report(outcome).now_or_never().unwrap();
        assert_eq!((sink.reports.load(Ordering::Relaxed), sink.abandons.load(Ordering::Relaxed)), (1, 0));
        drop(permit(&sink));
        let dropped = permit(&sink);
        let outcome = dropped.outcome(Moment::default());
        drop(dropped.report(outcome));
        assert_eq!(
            (sink.reports.load(Ordering::Relaxed), sink.abandons.load(Ordering::Relaxed)),
            (2, 1),
            "a report counts although nobody awaited it"
        );
    }

    /// A sink may work as soon as it is called: it is called when the future is awaited, not when it is made.
    #[test]
    fn a_check_and_the_first_content_begin_when_they_are_awaited() {
        let sink = Arc::new(Count::default());
        let permit = permit(&sink);
        let told = || (sink.checks.load(Ordering::Relaxed), sink.contents.load(Ordering::Relaxed));
        drop((permit.check(), permit.first_content()));
        let (check, first) = (permit.check(), permit.first_content());
        assert_eq!(told(), (0, 0), "nobody awaited them");
        check.now_or_never().unwrap().unwrap();
        assert_eq!(told(), (1, 0));
        first.now_or_never().unwrap();
        assert_eq!(told(), (1, 1));
    }
}
