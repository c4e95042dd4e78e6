//! Waiting for something that will be free soon: who is next, and who wakes them. Fair inside one process.

use std::collections::HashMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed, Ordering::SeqCst};
use std::task::{Poll, Waker};
use std::time::Duration;

use futures::future::{BoxFuture, Either, FutureExt, poll_fn, select};
use omniroute_core::{Mono, Permit};

use crate::Resilience;
use crate::config::Config;
use crate::limits::drr::Drr;
use crate::limits::quota::consumer_number;
use crate::shell::admit::AdmitContext;
use crate::shell::budget::Budget;
use crate::shell::core::lock;
use crate::shell::denial::{Blocked, Denial};
use crate::shell::events::{About, EventKind};
use crate::shell::table::Handle;

/// Those who wait, by connection.
#[derive(Debug)]
pub(crate) struct Waiting {
    quantum: u32,
    queues: Mutex<HashMap<u32, Drr<u64>>>,
    /// How many queues there are, to look without a lock.
    open: AtomicU64,
    next: AtomicU64,
    changes: AtomicU64,
    wakers: Mutex<Vec<(u64, Waker)>>,
    /// Futures that wait for a change, to wake without a lock when there are none.
    asleep: AtomicU64,
}

impl Waiting {
    pub(crate) fn new(config: &Config) -> Waiting {
        Waiting {
            quantum: config.slots.quantum,
            queues: Mutex::default(),
            open: AtomicU64::new(0),
            next: AtomicU64::new(0),
            changes: AtomicU64::new(0),
            wakers: Mutex::default(),
            asleep: AtomicU64::new(0),
        }
    }

    /// Something became free or eligible: whoever waits looks again.
    pub(crate) fn changed(&self) {
        self.changes.fetch_add(1, SeqCst);
        if self.asleep.load(SeqCst) == 0 {
            return;
        }
        for (_, waker) in lock(&self.wakers).drain(..) {
            waker.wake();
        }
    }

    /// Ready when something has changed since `seen`.
    fn change(&self, seen: u64) -> impl Future<Output = ()> + Send + '_ {
        let id = self.next.fetch_add(1, Relaxed);
        self.asleep.fetch_add(1, SeqCst);
        let leave = Leave(self, id);
        poll_fn(move |cx| {
            let _keep = &leave;
            if self.changes.load(SeqCst) != seen {
                return Poll::Ready(());
            }
            let mut wakers = lock(&self.wakers);
            wakers.retain(|(other, _)| *other != id);
            wakers.push((id, cx.waker().clone()));
            drop(wakers);
            if self.changes.load(SeqCst) == seen { Poll::Pending } else { Poll::Ready(()) }
        })
    }

    /// Whether somebody else is to be served first at this connection.
    pub(crate) fn ahead(&self, conn: u32, waiter: Option<u64>) -> bool {
        if self.open.load(Relaxed) == 0 {
            return false;
        }
        let mut queues = lock(&self.queues);
        queues.get_mut(&conn).and_then(|queue| queue.head().copied()).is_some_and(|head| Some(head) != waiter)
    }

    fn join(&self, conn: u32, consumer: u64, weight: u32, cost: u64, most: u32) -> Option<u64> {
        let mut queues = lock(&self.queues);
        let queue = queues.entry(conn).or_insert_with(|| Drr::new(self.quantum));
        if queue.len() >= most as usize {
            return None;
        }
        let waiter = self.next.fetch_add(1, Relaxed);
        queue.push(consumer, weight, cost, waiter);
        self.open.store(queues.len() as u64, Relaxed);
        Some(waiter)
    }

    fn leave(&self, conn: u32, waiter: u64) {
        let mut queues = lock(&self.queues);
        if let Some(queue) = queues.get_mut(&conn) {
            // Whoever is served leaves from the head and pays; whoever gives up leaves from the middle.
            if queue.head() == Some(&waiter) {
                queue.pop();
            } else {
                queue.remove(&waiter);
            }
            if queue.is_empty() {
                queues.remove(&conn);
            }
        }
        self.open.store(queues.len() as u64, Relaxed);
        drop(queues);
        self.changed();
    }

    /// How many wait.
    pub(crate) fn count(&self) -> usize {
        lock(&self.queues).values().map(Drr::len).sum()
    }
}

struct Leave<'a>(&'a Waiting, u64);

impl Drop for Leave<'_> {
    fn drop(&mut self) {
        lock(&self.0.wakers).retain(|(id, _)| *id != self.1);
        self.0.asleep.fetch_sub(1, SeqCst);
    }
}

/// A place in a queue; dropping it leaves the queue.
struct Place<'a> {
    waiting: &'a Waiting,
    conn: u32,
    waiter: u64,
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        self.waiting.leave(self.conn, self.waiter);
    }
}

impl Resilience {
    /// As [`Resilience::admit`], but waits where that is worth it: something is due soon, its reason passes by
    /// itself, and the budget and deadline of `cx` allow. Waiters of one connection are served by weighted turns.
    ///
    /// # Errors
    /// The denial at which waiting ended. A caller that goes away leaves at once.
    pub async fn admit_or_wait(&self, picks: &[Handle], cx: &AdmitContext) -> Result<Permit, Denial> {
        let began = self.core.now();
        let mut cx = cx.clone();
        let budget = cx.budget.clone().unwrap_or_default();
        let mut place: Option<Place<'_>> = None;
        loop {
            let seen = self.core.waiting.changes.load(SeqCst);
            let denial = match self.admit(picks, &cx).await {
                Ok(permit) => return Ok(permit),
                Err(denial) => denial,
            };
            let now = self.core.now();
            let waited = now.mono.since(began.mono);
            let Some((conn, until)) = self.worth_waiting(&denial, picks, &cx, &budget, waited, now.mono)
            else {
                return Err(denial);
            };
            if place.as_ref().is_none_or(|place| place.conn != conn) {
                drop(place.take());
                let most = match denial.reason {
                    Blocked::Slots => self.core.config.slots.queue_size,
                    _ => self.core.config.wait.waiters,
                };
                let consumer = consumer_number(cx.consumer.as_str());
                let Some(waiter) = self.core.waiting.join(conn, consumer, cx.weight, cx.estimate, most)
                else {
                    return Err(denial);
                };
                place = Some(Place { waiting: &self.core.waiting, conn, waiter });
                cx.waiter = Some(waiter);
            }
            let timer: BoxFuture<'static, ()> = self.core.clock.sleep_until(until);
            let change = self.core.waiting.change(seen);
            match select(timer, Box::pin(change)).await {
                Either::Left(_) | Either::Right(_) => {}
            }
            let after = self.core.now();
            let this = after.mono.since(now.mono);
            cx.waited = after.mono.since(began.mono);
            if denial.reason != Blocked::Slots {
                budget.wait_done(this);
            }
            let ms = u64::try_from(this.as_millis()).unwrap_or(u64::MAX);
            self.core.events.push(after.wall.0, About::default(), EventKind::Waited { ms });
        }
    }

    /// Resolves when something may have become eligible after this call: a slot given back, a rest cleared.
    pub fn changed(&self) -> BoxFuture<'static, ()> {
        let core = std::sync::Arc::clone(&self.core);
        let seen = core.waiting.changes.load(SeqCst);
        async move { core.waiting.change(seen).await }.boxed()
    }

    /// At which connection, and until when at most.
    fn worth_waiting(
        &self,
        denial: &Denial,
        picks: &[Handle],
        cx: &AdmitContext,
        budget: &Budget,
        waited: Duration,
        now: Mono,
    ) -> Option<(u32, Mono)> {
        let config = &self.core.config;
        if !config.wait.enabled || !denial.reason.waitable() {
            return None;
        }
        let decided = |refusal: &&crate::Refusal| {
            refusal.reason == denial.reason && refusal.not_before == denial.not_before
        };
        let refusal = denial.refusals.iter().find(decided)?;
        let conn = {
            let table = self.core.table();
            let (row, ..) = table.rows(*picks.get(refusal.position)?)?;
            row.conn
        };
        let due = if denial.reason == Blocked::Slots {
            let left = Duration::from(config.slots.queue_timeout).checked_sub(waited)?;
            if left.is_zero() {
                return None;
            }
            now.after(left)
        } else {
            let due = denial.not_before?.after(config.wait.margin.into());
            let wait = due.since(now);
            if wait > Duration::from(config.wait.single) || !budget.wait_fits(wait, &config.wait) {
                return None;
            }
            due
        };
        cx.deadline.is_none_or(|deadline| due < deadline).then_some((conn, due))
    }
}
