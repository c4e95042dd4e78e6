//! Collects facts, hashes them, and shows each to the watch at once.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use omniroute_core::UnixMs;

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
    /// What the store said last: when, ms since the start, and its time.
    told: Option<(i64, i64)>,
    keep: usize,
    last: Vec<Fact>,
}

impl Log {
    /// Starts empty. `keep` facts are kept for people.
    pub(crate) fn new(time: Time, watch: Watch, keep: usize) -> Log {
        let inner = Inner {
            watch,
            trace: Trace::default(),
            facts: 0,
            cause: Cause::None,
            told: None,
            keep,
            last: Vec::new(),
        };
        Log { inner: Arc::new(Mutex::new(inner)), time }
    }

    /// Notes a fact of now.
    pub(crate) fn note(&self, what: What) {
        let (at, wall) = (self.time.ms(), self.time.moment(0).wall.0);
        let mut inner = self.lock();
        // A store does not go back at once with the clock it has: dates are over when they are over by its time.
        let told = inner.told.map_or(i64::MIN, |(then, time)| time + (at - then));
        let fact = Fact { at, wall: wall.max(told), what };
        inner.facts += 1;
        inner.trace.add(&fact);
        inner.watch.see(&fact);
        if inner.last.len() < inner.keep {
            inner.last.push(fact);
        }
    }

    /// The store has told its time.
    pub(crate) fn told(&self, time: UnixMs) {
        let at = self.time.ms();
        self.lock().told = Some((at, time.0));
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

#[cfg(test)]
mod tests {
    use omniroute_core::PermitId;

    use super::*;
    use crate::sim::facts::{AccountSeen, Attempt, Change, Special};
    use crate::sim::invariants::Numbers;
    use crate::sim::time::{Executor, START};

    /// Rules that are broken by an attempt on an account whose rest has three seconds to go, when the clock went
    /// back by an hour and the store says that it is this much later than before.
    fn broken(later: i64) -> Vec<&'static str> {
        let mut executor = Executor::new();
        let time = executor.time.clone();
        let numbers =
            Numbers { longest_open: 480_000, probe_lease: 90_000, max_level: 5, longest_rest: 96_000 };
        let log = Log::new(time.clone(), Watch::new(vec![numbers], vec![0]), 0);
        let permit = PermitId { process: 1, number: 1 };
        let attempt = Attempt { permit, account: 0, vendor: 0, model: 0, at: 0, production: true };
        let new = AccountSeen { until: START + 3_000, ..AccountSeen::default() };
        let (seen, special) = (log.clone(), Special::default());
        executor.spawner.spawn(0, async move {
            seen.told(UnixMs(START));
            seen.changed(Change::Account { who: 0, old: AccountSeen::default(), new });
            time.jump(0, -3_600_000);
            time.sleep(1_000).await;
            seen.told(UnixMs(START + later));
            seen.note(What::Granted { attempt, host: 1, request: 1, special });
            seen.note(What::Sent { attempt, special });
        });
        executor.run(2_000, Vec::new);
        let inner = log.lock();
        inner.watch.violations.iter().map(|violation| violation.rule).collect()
    }

    #[test]
    fn a_rest_is_over_when_it_is_over_by_the_time_of_the_store() {
        assert!(broken(3_000).is_empty());
        assert_eq!(broken(2_999), ["cooling"]);
        assert_eq!(broken(-3_599_000), ["cooling"], "a store that went back with its clock");
    }
}
