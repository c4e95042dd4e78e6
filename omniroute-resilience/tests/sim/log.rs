//! Collects facts, hashes them, and shows each to the watch at once.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::sim::facts::{Cause, Fact, Trace, What};
use crate::sim::invariants::Watch;
use crate::sim::time::Time;

/// Shared by everything in a run.
#[derive(Clone)]
pub(crate) struct Log {
    inner: Arc<Mutex<Inner>>,
    time: Time,
}

/// What is behind the lock.
pub(crate) struct Inner {
    /// Judges every fact.
    pub(crate) watch: Watch,
    /// The trace so far.
    pub(crate) trace: Trace,
    /// How many facts there were.
    pub(crate) facts: u64,
    cause: Cause,
    keep: usize,
    last: Vec<Fact>,
}

impl Log {
    /// Starts empty. `keep` facts are kept for people.
    pub(crate) fn new(time: Time, watch: Watch, keep: usize) -> Log {
        let inner =
            Inner { watch, trace: Trace::default(), facts: 0, cause: Cause::None, keep, last: Vec::new() };
        Log { inner: Arc::new(Mutex::new(inner)), time }
    }

    /// Notes a fact of now.
    pub(crate) fn note(&self, what: What) {
        let fact = Fact { at: self.time.ms(), wall: self.time.moment(0).wall.0, what };
        let mut inner = self.lock();
        inner.facts += 1;
        inner.trace.add(&fact);
        inner.watch.see(&fact);
        if inner.last.len() < inner.keep {
            inner.last.push(fact);
        }
    }

    /// Notes a change of a record, with the cause that is set.
    pub(crate) fn changed(&self, change: crate::sim::facts::Change) {
        let cause = self.lock().cause;
        self.note(What::Changed { change, cause });
    }

    /// Says which step runs now; gives back what was said before.
    pub(crate) fn cause(&self, cause: Cause) -> Cause {
        std::mem::replace(&mut self.lock().cause, cause)
    }

    /// The facts that were kept.
    pub(crate) fn kept(&self) -> Vec<Fact> {
        self.lock().last.clone()
    }

    /// Everything inside.
    pub(crate) fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
