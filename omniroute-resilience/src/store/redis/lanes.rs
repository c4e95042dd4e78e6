//! Calls that come at the same time share exchanges with the server.
//!
//! Each lane is a job on the offload: it takes what waits, asks the server for all of it at once, and goes on until
//! nothing waits. While all lanes are busy calls gather; with few calls each has an exchange of its own.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures::channel::oneshot;
use omniroute_core::{StoreError, UnixMs};

use super::Shared;
use super::script::{Answer, Request};
use crate::store::blocking::{self, Blocking};

/// Calls and records that one exchange holds at most.
const CALLS: usize = 128;
const RECORDS: usize = 1_000;
/// Exchanges of one job; then other work of the host has its turn.
const EXCHANGES: usize = 64;

/// What a call is told.
pub(super) type Outcome = Result<(Answer, UnixMs), StoreError>;

/// A call that waits for its turn.
#[derive(Debug)]
pub(super) struct Waiting {
    pub(super) request: Request,
    pub(super) done: oneshot::Sender<Outcome>,
    ticket: u64,
}

/// Calls that wait, and how many lanes run. Reading and changing calls do not share exchanges: a server that cannot
/// write still answers, and only what reads may be asked twice.
#[derive(Debug, Default)]
pub(super) struct Lanes(Mutex<Queues>);

#[derive(Debug, Default)]
struct Queues {
    reads: VecDeque<Waiting>,
    writes: VecDeque<Waiting>,
    tickets: u64,
    running: usize,
}

/// Calls of one exchange.
#[derive(Debug)]
pub(super) struct Batch {
    pub(super) reads: bool,
    pub(super) calls: Vec<Waiting>,
}

impl Lanes {
    /// Lets a call wait. Whether another lane must be started for it.
    fn push(&self, request: Request, done: oneshot::Sender<Outcome>, most: usize) -> bool {
        let mut queues = self.lock();
        queues.tickets += 1;
        let waiting = Waiting { ticket: queues.tickets, done, request };
        match &waiting.request {
            Request::Get(_) => queues.reads.push_back(waiting),
            Request::Commit(..) => queues.writes.push_back(waiting),
        }
        let start = queues.running < most;
        queues.running += usize::from(start);
        start
    }

    /// What is to be asked next, those first who have waited longest. None: the lane ends.
    fn take(&self) -> Option<Batch> {
        let mut queues = self.lock();
        let (read, write) = (first(&mut queues.reads), first(&mut queues.writes));
        if read == u64::MAX && write == u64::MAX {
            queues.running -= 1;
            return None;
        }
        let reads = read < write;
        let queue = if reads { &mut queues.reads } else { &mut queues.writes };
        let (mut calls, mut records) = (Vec::new(), 0);
        while first(queue) != u64::MAX
            && let Some(next) = queue.front()
            && calls.len() < CALLS
            && (calls.is_empty() || records + next.request.records() <= RECORDS)
        {
            records += next.request.records();
            calls.extend(queue.pop_front());
        }
        Some(Batch { reads, calls })
    }

    /// A lane went away without having done its work. If it was the last one, nobody will do it.
    fn abandoned(&self) {
        let mut queues = self.lock();
        queues.running = queues.running.saturating_sub(1);
        if queues.running == 0 {
            let left = [std::mem::take(&mut queues.reads), std::mem::take(&mut queues.writes)];
            drop(queues);
            for waiting in left.into_iter().flatten() {
                let _ = waiting.done.send(Err(blocking::dropped()));
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, Queues> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The ticket of the first call, without those whose answer nobody waits for any more: nothing needs to happen.
fn first(queue: &mut VecDeque<Waiting>) -> u64 {
    while queue.front().is_some_and(|waiting| waiting.done.is_canceled()) {
        queue.pop_front();
    }
    queue.front().map_or(u64::MAX, |waiting| waiting.ticket)
}

/// Lets a call wait for an exchange, and starts a lane for it where one is free.
pub(super) fn ask(shared: &Arc<Shared>, blocking: &Blocking, request: Request) -> oneshot::Receiver<Outcome> {
    let (done, answer) = oneshot::channel();
    if shared.lanes.push(request, done, shared.config.connections as usize) {
        Lane { shared: shared.clone(), ended: false }.start(blocking.clone());
    }
    answer
}

/// One job. Thrown away unused, it leaves nobody waiting for it.
struct Lane {
    shared: Arc<Shared>,
    ended: bool,
}

impl Lane {
    fn start(self, blocking: Blocking) {
        blocking.clone().start(move || self.run(blocking));
    }

    fn run(mut self, blocking: Blocking) {
        for _ in 0..EXCHANGES {
            match self.shared.lanes.take() {
                Some(batch) => self.shared.serve(batch),
                None => {
                    self.ended = true;
                    return;
                }
            }
        }
        self.start(blocking);
    }
}

impl Drop for Lane {
    fn drop(&mut self) {
        if !self.ended {
            self.shared.lanes.abandoned();
        }
    }
}

#[cfg(test)]
mod tests {
    use omniroute_core::{Change, Key};

    use super::*;

    fn read(records: usize) -> Request {
        Request::Get(vec!["me/a".to_owned(); records])
    }

    fn write() -> Request {
        Request::Commit(vec![Change::Check { key: Key::LeaseFence, expected: None }], None)
    }

    fn wait(lanes: &Lanes, request: Request) -> (bool, oneshot::Receiver<Outcome>) {
        let (done, answer) = oneshot::channel();
        (lanes.push(request, done, 2), answer)
    }

    /// Whether it reads, and how many calls it holds.
    fn next(lanes: &Lanes) -> Option<(bool, usize)> {
        lanes.take().map(|batch| (batch.reads, batch.calls.len()))
    }

    #[test]
    fn kinds_do_not_mix_and_who_waits_longest_comes_first() {
        let lanes = Lanes::default();
        let waiting: Vec<_> =
            [read(1), write(), read(1), write(), write()].map(|request| wait(&lanes, request)).into();
        let started: Vec<bool> = waiting.iter().map(|(started, _)| *started).collect();
        assert_eq!(started, [true, true, false, false, false], "two lanes at most");
        assert_eq!([next(&lanes), next(&lanes)], [Some((true, 2)), Some((false, 3))]);
        assert_eq!([next(&lanes), next(&lanes)], [None, None]);
        assert!(wait(&lanes, read(1)).0, "both have ended");
    }

    #[test]
    fn an_exchange_is_bounded_in_calls_and_records() {
        let lanes = Lanes::default();
        let small: Vec<_> = (0..CALLS + 1).map(|_| wait(&lanes, read(1))).collect();
        assert_eq!([next(&lanes), next(&lanes)], [Some((true, CALLS)), Some((true, 1))]);
        let large = [500, 400, 200].map(|records| wait(&lanes, read(records)));
        assert_eq!([next(&lanes), next(&lanes)], [Some((true, 2)), Some((true, 1))]);
        drop((small, large));
    }

    #[test]
    fn calls_given_up_are_not_asked_and_nobody_waits_for_a_lane_that_went_away() {
        let lanes = Lanes::default();
        let (gone, mut kept) = (wait(&lanes, write()), wait(&lanes, write()));
        drop(gone);
        let batch = lanes.take().unwrap();
        assert_eq!(batch.calls.len(), 1);
        drop(batch);
        assert!(kept.1.try_recv().is_err(), "its lane went away with it");
        let mut left = wait(&lanes, write());
        lanes.abandoned();
        assert_eq!(left.1.try_recv().unwrap(), None, "the other lane may still come");
        lanes.abandoned();
        assert!(matches!(left.1.try_recv(), Ok(Some(Err(StoreError::Unavailable(_))))));
    }
}
