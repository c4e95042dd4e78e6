//! What one call waits for: exchanges that its host carries out, moments that have to come.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};
use std::{fmt, mem};

use bytes::Bytes;
use omniroute_core::{Mono, Offload, TransportError};

use super::exchange::Exchange;

thread_local! {
    /// The call that is being polled on this thread, and the time of the poll.
    static CURRENT: RefCell<Option<(Arc<Desk>, Mono)>> = const { RefCell::new(None) };
}

/// The call that is being polled.
pub(super) fn current() -> Option<(Arc<Desk>, Mono)> {
    CURRENT.with(|current| current.borrow().clone())
}

/// Does `work` as the call of `desk`.
pub(super) fn within<T>(desk: &Arc<Desk>, now: Mono, work: impl FnOnce() -> T) -> T {
    /// Puts back what was there, also when `work` panics.
    struct Back(Option<(Arc<Desk>, Mono)>);
    impl Drop for Back {
        fn drop(&mut self) {
            let before = self.0.take();
            CURRENT.with(|current| *current.borrow_mut() = before);
        }
    }
    let before = CURRENT.with(|current| current.borrow_mut().replace((Arc::clone(desk), now)));
    let _back = Back(before);
    work()
}

/// Something that a host does for a call.
#[non_exhaustive]
pub enum Job {
    /// Sends a request; told with [`super::Teller::answered`] or [`super::Teller::broke`].
    Send {
        /// Names the exchange.
        id: u64,
        /// What is sent. Its headers hold keys.
        request: http::Request<Bytes>,
    },
    /// Lets a provider of the host answer; told like [`Job::Send`], with an answer in the wire of OpenAI chat.
    Ask {
        /// Names the exchange.
        id: u64,
        /// Which provider.
        provider: Arc<str>,
        /// Its name of the model.
        model: String,
        /// Whether the answer is to be streamed.
        stream: bool,
        /// The request in the wire of OpenAI chat.
        body: Bytes,
    },
    /// Reads on in an answer; told with [`super::Teller::piece`], [`super::Teller::ended`] or [`super::Teller::broke`].
    Read {
        /// Names the exchange.
        id: u64,
    },
    /// Nobody waits for the exchange any more: its connection is closed.
    Abort {
        /// Names the exchange.
        id: u64,
    },
    /// Heavy work, for a thread of the host or at once.
    Work(Work),
}

impl fmt::Debug for Job {
    /// No request: it holds keys.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Job::Send { id, .. } => write!(f, "Send({id})"),
            Job::Ask { id, provider, .. } => write!(f, "Ask({id}, {provider})"),
            Job::Read { id } => write!(f, "Read({id})"),
            Job::Abort { id } => write!(f, "Abort({id})"),
            Job::Work(_) => f.write_str("Work"),
        }
    }
}

/// Heavy work. Not doing it is an answer as well.
pub struct Work(Box<dyn FnOnce() + Send>);

impl Work {
    /// Does it, on the thread of whoever calls.
    pub fn run(self) {
        (self.0)();
    }
}

impl fmt::Debug for Work {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Work")
    }
}

/// What one call waits for.
#[derive(Debug, Default)]
pub(super) struct Desk {
    open: Mutex<Open>,
}

#[derive(Debug, Default)]
struct Open {
    next: u64,
    jobs: Vec<Job>,
    exchanges: BTreeMap<u64, Exchange>,
    timers: BTreeMap<(Mono, u64), Waker>,
}

impl Desk {
    fn open(&self) -> MutexGuard<'_, Open> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What is to be done since the last time this was asked.
    pub(super) fn jobs(&self) -> Vec<Job> {
        mem::take(&mut self.open().jobs)
    }

    /// When the first timer is due.
    pub(super) fn first(&self) -> Option<Mono> {
        self.open().timers.keys().next().map(|(at, _)| *at)
    }

    /// Wakes whoever waits for a moment that has come.
    pub(super) fn ring(&self, now: Mono) {
        let due = {
            let mut open = self.open();
            let later = open.timers.split_off(&(Mono(now.0.saturating_add(1)), 0));
            mem::replace(&mut open.timers, later)
        };
        due.into_values().for_each(Waker::wake);
    }

    /// Starts an exchange.
    pub(super) fn begin(self: &Arc<Self>, job: impl FnOnce(u64) -> Job) -> Line {
        let mut open = self.open();
        open.next += 1;
        let id = open.next;
        open.exchanges.insert(id, Exchange::default());
        open.jobs.push(job(id));
        drop(open);
        Line { desk: Arc::clone(self), id, over: false }
    }

    /// The host says something of an exchange; of one that nobody waits for any more, nothing happens.
    pub(super) fn tell(&self, id: u64, say: impl FnOnce(&mut Exchange)) {
        let woken = {
            let mut open = self.open();
            let Some(exchange) = open.exchanges.get_mut(&id) else { return };
            say(exchange);
            exchange.waker.take()
        };
        if let Some(waker) = woken {
            waker.wake();
        }
    }

    /// Forgets an exchange. `broken_off`: the host has to stop it.
    fn forget(&self, id: u64, broken_off: bool) {
        let mut open = self.open();
        if open.exchanges.remove(&id).is_none() {
            return;
        }
        // What the host has not begun it need not stop.
        let own = |job: &Job| matches!(job, Job::Send { id: of, .. } | Job::Ask { id: of, .. } if *of == id);
        let begun = !open.jobs.iter().any(own);
        open.jobs.retain(|job| !own(job) && !matches!(job, Job::Read { id: of } if *of == id));
        if broken_off && begun {
            open.jobs.push(Job::Abort { id });
        }
    }
}

/// The end of an exchange that the library holds. Dropping it breaks the exchange off.
pub(super) struct Line {
    desk: Arc<Desk>,
    id: u64,
    over: bool,
}

impl Line {
    /// Looks at the exchange until `ready` finds what it waits for.
    pub(super) fn poll<T>(
        &mut self,
        cx: &mut Context<'_>,
        ready: impl FnOnce(&mut Exchange) -> Poll<T>,
    ) -> Poll<T> {
        let mut open = self.desk.open();
        let Open { exchanges, jobs, .. } = &mut *open;
        let exchange = exchanges.entry(self.id).or_default();
        let found = ready(exchange);
        if found.is_pending() {
            exchange.waker = Some(cx.waker().clone());
            if exchange.wants_more() {
                exchange.reading = true;
                jobs.push(Job::Read { id: self.id });
            }
        }
        found
    }

    /// It has ended by itself.
    pub(super) fn over(&mut self) {
        self.over = true;
    }
}

impl Drop for Line {
    fn drop(&mut self) {
        self.desk.forget(self.id, !self.over);
    }
}

/// A timer of a call. Dropping it takes it away.
pub(super) struct Timer {
    desk: Arc<Desk>,
    key: (Mono, u64),
}

impl Timer {
    pub(super) fn set(desk: Arc<Desk>, at: Mono, waker: &Waker) -> Timer {
        let key = {
            let mut open = desk.open();
            open.next += 1;
            let key = (at, open.next);
            open.timers.insert(key, waker.clone());
            key
        };
        Timer { desk, key }
    }

    pub(super) fn is_of(&self, desk: &Arc<Desk>) -> bool {
        Arc::ptr_eq(&self.desk, desk)
    }

    pub(super) fn renew(&self, waker: &Waker) {
        match self.desk.open().timers.entry(self.key) {
            std::collections::btree_map::Entry::Occupied(known) if known.get().will_wake(waker) => {}
            std::collections::btree_map::Entry::Occupied(mut known) => {
                known.insert(waker.clone());
            }
            std::collections::btree_map::Entry::Vacant(free) => {
                free.insert(waker.clone());
            }
        }
    }
}

impl Drop for Timer {
    fn drop(&mut self) {
        self.desk.open().timers.remove(&self.key);
    }
}

/// Heavy work becomes a job of the call that needs it.
#[derive(Debug)]
pub(super) struct Handed;

impl Offload for Handed {
    fn run(&self, job: Box<dyn FnOnce() + Send>) {
        match current() {
            Some((desk, _)) => desk.open().jobs.push(Job::Work(Work(job))),
            None => job(),
        }
    }
}

/// There is no call around: a future of the library was polled by somebody else.
pub(super) fn nobody() -> TransportError {
    TransportError::new("send", "requests of this router are sent by its calls only")
}
