//! Waiting for something that will be free soon: who is next, and who wakes them. Fair inside one process.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed, Ordering::SeqCst, fence};
use std::sync::{Arc, Mutex};
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
use crate::shell::core::{Core, lock};
use crate::shell::denial::{Blocked, Denial};
use crate::shell::events::{About, EventKind};
use crate::shell::table::Handle;

/// What a queue is for: the connections share the wait for their breaker, and have slots of their own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Line {
    /// A slot of this connection, or its rest.
    Conn(u32),
    /// This breaker, or its slow start.
    Breaker(u32),
}

/// Those who wait, by what for.
#[derive(Debug)]
pub(crate) struct Waiting {
    quantum: u32,
    queues: Mutex<HashMap<Line, Drr<u64>>>,
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

    /// Something became free or eligible: whoever waits looks again. Costs next to nothing while nobody does.
    pub(crate) fn changed(&self) {
        // What became free must be seen by whoever starts to wait now, or they by us.
        fence(SeqCst);
        if self.asleep.load(SeqCst) == 0 {
            return;
        }
        self.changes.fetch_add(1, SeqCst);
        for (_, waker) in lock(&self.wakers).drain(..) {
            waker.wake();
        }
    }

    /// From now on changes are counted. What they are counted from.
    fn listen(&self) -> u64 {
        self.asleep.fetch_add(1, SeqCst);
        self.changes.load(SeqCst)
    }

    fn stop(&self) {
        self.asleep.fetch_sub(1, SeqCst);
    }

    /// Ready when something has changed since `seen`, by those who listen.
    fn change(&self, seen: u64) -> impl Future<Output = ()> + Send + '_ {
        let id = self.next.fetch_add(1, Relaxed);
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

    /// Whether somebody else is to be served first in this line.
    pub(crate) fn ahead(&self, line: Line, waiter: Option<u64>) -> bool {
        if self.open.load(Relaxed) == 0 {
            return false;
        }
        let mut queues = lock(&self.queues);
        queues.get_mut(&line).and_then(|queue| queue.head().copied()).is_some_and(|head| Some(head) != waiter)
    }

    fn join(&self, line: Line, consumer: u64, weight: u32, cost: u64, most: u32) -> Option<u64> {
        let mut queues = lock(&self.queues);
        let queue = queues.entry(line).or_insert_with(|| Drr::new(self.quantum));
        if queue.len() >= most as usize {
            return None;
        }
        let waiter = self.next.fetch_add(1, Relaxed);
        queue.push(consumer, weight, cost, waiter);
        self.open.store(queues.len() as u64, Relaxed);
        Some(waiter)
    }

    fn leave(&self, line: Line, waiter: u64) {
        let mut queues = lock(&self.queues);
        if let Some(queue) = queues.get_mut(&line) {
            // Whoever is served leaves from the head and pays; whoever gives up leaves from the middle.
            if queue.head() == Some(&waiter) {
                queue.pop();
            } else {
                queue.remove(&waiter);
            }
            if queue.is_empty() {
                queues.remove(&line);
            }
        }
        self.open.store(queues.len() as u64, Relaxed);
        drop(queues);
        self.changed();
    }

    /// How many wait in this line.
    pub(crate) fn queued(&self, line: Line) -> usize {
        if self.open.load(Relaxed) == 0 {
            return 0;
        }
        lock(&self.queues).get(&line).map_or(0, Drr::len)
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
    }
}

/// Listens to changes until it is dropped.
pub(crate) struct Listening {
    core: Arc<Core>,
    /// What is to be seen changed.
    seen: u64,
}

impl Listening {
    pub(crate) fn new(core: &Arc<Core>) -> Listening {
        Listening { seen: core.waiting.listen(), core: Arc::clone(core) }
    }

    /// Looks from now on.
    pub(crate) fn again(&mut self) {
        self.seen = self.core.waiting.changes.load(SeqCst);
    }

    /// Ends at the next change, or at `until`.
    pub(crate) async fn wait_until(&self, until: Mono) {
        let timer: BoxFuture<'static, ()> = self.core.clock.sleep_until(until);
        let change = self.core.waiting.change(self.seen);
        match select(timer, Box::pin(change)).await {
            Either::Left(_) | Either::Right(_) => {}
        }
    }
}

impl Drop for Listening {
    fn drop(&mut self) {
        self.core.waiting.stop();
    }
}

/// A place in a queue; dropping it leaves the queue.
struct Place<'a> {
    waiting: &'a Waiting,
    line: Line,
    waiter: u64,
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        self.waiting.leave(self.line, self.waiter);
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
        let mut listening: Option<Listening> = None;
        loop {
            if let Some(listening) = &mut listening {
                listening.again();
            }
            let denial = match self.admit(picks, &cx).await {
                Ok(permit) => return Ok(permit),
                Err(denial) => denial,
            };
            let now = self.core.now();
            let waited = now.mono.since(began.mono);
            let here = place.as_ref().map(|place| place.line);
            let Some((line, until)) =
                self.worth_waiting(&denial, picks, (&cx, here), &budget, waited, now.mono)
            else {
                return Err(denial);
            };
            if place.as_ref().is_none_or(|place| place.line != line) {
                drop(place.take());
                let most = match denial.reason {
                    Blocked::Slots => self.core.config.slots.queue_size,
                    _ => self.core.config.wait.waiters,
                };
                let consumer = consumer_number(cx.consumer.as_str());
                let Some(waiter) = self.core.waiting.join(line, consumer, cx.weight, cx.estimate, most)
                else {
                    return Err(denial);
                };
                place = Some(Place { waiting: &self.core.waiting, line, waiter });
                cx.waiter = Some(waiter);
            }
            let Some(listening) = &listening else {
                // From here on no change is missed: look once more, then wait.
                listening = Some(Listening::new(&self.core));
                continue;
            };
            listening.wait_until(until).await;
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
        let listening = Listening::new(&self.core);
        async move { listening.core.waiting.change(listening.seen).await }.boxed()
    }

    /// In which line, and until when at most.
    fn worth_waiting(
        &self,
        denial: &Denial,
        picks: &[Handle],
        (cx, here): (&AdmitContext, Option<Line>),
        budget: &Budget,
        waited: Duration,
        now: Mono,
    ) -> Option<(Line, Mono)> {
        let config = &self.core.config;
        if !config.wait.enabled || !denial.reason.waitable() {
            return None;
        }
        let decided = |refusal: &&crate::Refusal| {
            refusal.reason == denial.reason && refusal.not_before == denial.not_before
        };
        let refusal = denial.refusals.iter().find(decided)?;
        let line = {
            let table = self.core.table();
            let at = |refusal: &crate::Refusal| {
                let (row, conn, _) = table.rows(*picks.get(refusal.position)?)?;
                Some(match refusal.reason {
                    Blocked::Breaker | Blocked::ProviderRamp => Line::Breaker(conn.profile.breaker),
                    _ => Line::Conn(row.conn),
                })
            };
            // Whoever waits for a slot keeps the place in that queue; estimates move, turns do not.
            let mut slots = denial.refusals.iter().filter(|refusal| refusal.reason == Blocked::Slots);
            let stays = denial.reason == Blocked::Slots && here.is_some() && slots.any(|r| at(r) == here);
            if stays { here? } else { at(refusal)? }
        };
        if denial.reason == Blocked::Slots {
            let left = Duration::from(config.slots.queue_timeout).checked_sub(waited)?;
            let end = cx.deadline.map_or(now.after(left), |deadline| deadline.min(now.after(left)));
            if end <= now {
                return None;
            }
            // What another process gives back nobody tells us: look again from time to time.
            let soon = now.after(config.wait.look_again.into());
            return Some((line, if self.core.max_age.is_some() { end.min(soon) } else { end }));
        }
        let due = denial.not_before?.after(config.wait.margin.into());
        let wait = due.since(now);
        if wait > Duration::from(config.wait.single) || !budget.wait_fits(wait, &config.wait) {
            return None;
        }
        cx.deadline.is_none_or(|deadline| due < deadline).then_some((line, due))
    }
}
