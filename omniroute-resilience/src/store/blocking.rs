//! Running blocking calls of a store on the host's [`Offload`], never on the thread that polls.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use futures::channel::oneshot;
use omniroute_core::{Offload, StoreError};

/// A store that may block its caller for longer than this refuses to do so.
const INLINE_LIMIT: Duration = Duration::from_millis(50);

/// A way to run blocking jobs, for one process.
#[derive(Debug, Clone)]
pub(crate) struct Blocking {
    offload: Arc<dyn Offload>,
    process: u32,
}

impl Blocking {
    /// Refuses an offload that runs jobs on the calling thread, unless a call blocks at most 50 ms.
    pub(crate) fn new(offload: Arc<dyn Offload>, longest: Duration) -> Result<Blocking, StoreError> {
        if longest > INLINE_LIMIT && runs_inline(&*offload) {
            return Err(StoreError::Invalid(format!(
                "calls may block for {} ms, with an offload that runs them inline 50 ms are allowed",
                longest.as_millis()
            )));
        }
        Ok(Blocking { offload, process: std::process::id() })
    }

    /// An error in a child process that inherited the store.
    pub(crate) fn same_process(&self) -> Result<(), StoreError> {
        if std::process::id() == self.process {
            Ok(())
        } else {
            Err(StoreError::Unsupported("use in another process than the one that opened it; open it again"))
        }
    }

    /// Runs a job to its end even if the future is dropped.
    pub(crate) async fn run<T: Send + 'static>(
        &self,
        job: impl FnOnce() -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        self.same_process()?;
        let (sender, receiver) = oneshot::channel();
        self.start(move || {
            // A caller that has gone does not need the answer.
            let _ = sender.send(job());
        });
        receiver.await.unwrap_or_else(|_| Err(dropped()))
    }

    /// Runs a job that nobody waits for.
    pub(crate) fn start(&self, job: impl FnOnce() + Send + 'static) {
        self.offload.run(Box::new(job));
    }
}

/// Waits for an answer, but not longer than `limit`. None: it did not come in time.
#[cfg(any(test, feature = "store-redis"))]
pub(crate) async fn within<T>(
    clock: &dyn omniroute_core::Clock,
    limit: Duration,
    mut answer: impl Future<Output = T> + Unpin,
) -> Option<T> {
    use std::task::Poll;

    use futures::FutureExt;

    let until = clock.now().mono.after(limit);
    let mut timer = None;
    futures::future::poll_fn(move |cx| {
        if let Poll::Ready(result) = answer.poll_unpin(cx) {
            return Poll::Ready(Some(result));
        }
        let timer = timer.get_or_insert_with(|| clock.sleep_until(until));
        timer.poll_unpin(cx).map(|()| None)
    })
    .await
}

/// What a caller is told when the offload threw its job away.
pub(crate) fn dropped() -> StoreError {
    StoreError::Unavailable("the offload dropped the job".to_owned())
}

#[cfg(any(test, feature = "store-redis"))]
pub(crate) fn timed_out(limit: Duration) -> StoreError {
    StoreError::Timeout(u64::try_from(limit.as_millis()).unwrap_or(u64::MAX))
}

fn runs_inline(offload: &dyn Offload) -> bool {
    let here = thread::current().id();
    let inline = Arc::new(AtomicBool::new(false));
    let seen = inline.clone();
    offload.run(Box::new(move || seen.store(thread::current().id() == here, Ordering::Release)));
    inline.load(Ordering::Acquire)
}

#[cfg(test)]
mod tests {
    use futures::FutureExt;
    use omniroute_core::Inline;
    use omniroute_core::testing::VirtualClock;

    use super::*;

    #[derive(Debug)]
    struct Threads;
    impl Offload for Threads {
        fn run(&self, job: Box<dyn FnOnce() + Send>) {
            thread::spawn(job);
        }
    }

    #[derive(Debug)]
    struct Never;
    impl Offload for Never {
        fn run(&self, job: Box<dyn FnOnce() + Send>) {
            drop(job);
        }
    }

    /// Keeps jobs and never runs them.
    #[derive(Debug)]
    struct Stuck;
    impl Offload for Stuck {
        fn run(&self, job: Box<dyn FnOnce() + Send>) {
            std::mem::forget(job);
        }
    }

    #[test]
    fn inline_is_refused_unless_calls_are_short() {
        let limit = |ms| Duration::from_millis(ms);
        assert!(Blocking::new(Arc::new(Inline), limit(50)).is_ok());
        assert!(Blocking::new(Arc::new(Threads), limit(5_000)).is_ok());
        let error = Blocking::new(Arc::new(Inline), limit(51)).unwrap_err().to_string();
        assert_eq!(
            error,
            "store call is wrong: calls may block for 51 ms, with an offload that runs them inline 50 ms are allowed"
        );
    }

    #[test]
    fn a_job_that_is_thrown_away_or_stuck_is_an_error() {
        let long = Duration::from_secs(5);
        let never = Blocking::new(Arc::new(Never), long).unwrap();
        assert_eq!(never.run(|| Ok(1)).now_or_never(), Some(Err(dropped())));

        let stuck = Blocking::new(Arc::new(Stuck), long).unwrap();
        let clock = VirtualClock::default();
        let mut call = Box::pin(within(&clock, long, Box::pin(stuck.run(|| Ok(1)))));
        assert_eq!((&mut call).now_or_never(), None);
        clock.advance(long);
        assert_eq!(call.now_or_never(), Some(None));
        assert_eq!(timed_out(long), StoreError::Timeout(5_000));
    }
}
