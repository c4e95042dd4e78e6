//! Virtual time and the one thread that everything runs on: timers, tasks, hosts whose wall clocks may jump.

use std::cell::RefCell;
use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap, VecDeque};
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Wake, Waker};

use futures::future::{BoxFuture, LocalBoxFuture};
use omniroute_core::{Clock, Moment, Mono, UnixMs};

/// Wall date at the start of every run.
pub(crate) const START: i64 = 1_760_000_000_000;

/// The shared clock. Host 0 is the store.
#[derive(Clone, Default)]
pub(crate) struct Time(Arc<Mutex<Inner>>);

#[derive(Default)]
struct Inner {
    now: u64,
    next: u64,
    heap: BinaryHeap<Reverse<(u64, u64)>>,
    wakers: HashMap<u64, Waker>,
    ready: VecDeque<usize>,
    queued: Vec<bool>,
    offsets: Vec<i64>,
    /// When the store's clock last went back.
    set_back: Option<i64>,
}

impl Inner {
    fn queue(&mut self, id: usize) {
        if self.queued.len() <= id {
            self.queued.resize(id + 1, false);
        }
        if !std::mem::replace(&mut self.queued[id], true) {
            self.ready.push_back(id);
        }
    }

    fn next_ready(&mut self) -> Option<usize> {
        let id = self.ready.pop_front()?;
        self.queued[id] = false;
        Some(id)
    }
}

impl Time {
    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Milliseconds since the start.
    pub(crate) fn ms(&self) -> i64 {
        i64::try_from(self.lock().now / 1_000_000).unwrap_or(i64::MAX)
    }

    /// Both clocks as one host sees them.
    pub(crate) fn moment(&self, host: usize) -> Moment {
        let inner = self.lock();
        let ms = i64::try_from(inner.now / 1_000_000).unwrap_or(i64::MAX);
        let offset = inner.offsets.get(host).copied().unwrap_or(0);
        Moment { mono: Mono(inner.now), wall: UnixMs(START + ms + offset) }
    }

    /// Moves a host's wall clock.
    pub(crate) fn jump(&self, host: usize, by: i64) {
        let mut inner = self.lock();
        if inner.offsets.len() <= host {
            inner.offsets.resize(host + 1, 0);
        }
        inner.offsets[host] += by;
        if host == 0 && by < 0 {
            inner.set_back = i64::try_from(inner.now / 1_000_000).ok();
        }
    }

    /// When the store's clock last went back, ms since the start.
    pub(crate) fn set_back(&self) -> Option<i64> {
        self.lock().set_back
    }

    /// A host's clock for the code under test.
    pub(crate) fn clock(&self, host: usize) -> Arc<dyn Clock> {
        Arc::new(HostClock { time: self.clone(), host })
    }

    /// Ready at `ms` after the start.
    pub(crate) fn sleep_until(&self, ms: i64) -> Sleep {
        self.sleep_until_ns(u64::try_from(ms).unwrap_or(0).saturating_mul(1_000_000))
    }

    /// Ready at this many nanoseconds after the start.
    pub(crate) fn sleep_until_ns(&self, at: u64) -> Sleep {
        Sleep { time: self.clone(), at, id: None }
    }

    /// Ready `ms` from now.
    pub(crate) fn sleep(&self, ms: i64) -> Sleep {
        self.sleep_until(self.ms().saturating_add(ms))
    }
}

impl fmt::Debug for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Time({} ms)", self.ms())
    }
}

#[derive(Debug)]
struct HostClock {
    time: Time,
    host: usize,
}

impl Clock for HostClock {
    fn now(&self) -> Moment {
        self.time.moment(self.host)
    }

    fn sleep_until(&self, at: Mono) -> BoxFuture<'static, ()> {
        Box::pin(self.time.sleep_until_ns(at.0))
    }
}

/// A timer. Dropping it cancels it.
pub(crate) struct Sleep {
    time: Time,
    at: u64,
    id: Option<u64>,
}

impl Future for Sleep {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let time = self.time.clone();
        let mut inner = time.lock();
        if inner.now >= self.at {
            return Poll::Ready(());
        }
        let id = match self.id {
            Some(id) => id,
            None => {
                inner.next += 1;
                let id = inner.next;
                inner.heap.push(Reverse((self.at, id)));
                self.id = Some(id);
                id
            }
        };
        inner.wakers.insert(id, cx.waker().clone());
        Poll::Pending
    }
}

impl Drop for Sleep {
    fn drop(&mut self) {
        if let Some(id) = self.id {
            let _waker = self.time.lock().wakers.remove(&id);
        }
    }
}

struct TaskWaker {
    time: Time,
    id: usize,
}

impl Wake for TaskWaker {
    fn wake(self: Arc<Self>) {
        self.time.lock().queue(self.id);
    }
}

struct Task {
    host: usize,
    future: LocalBoxFuture<'static, ()>,
    waker: Waker,
}

/// Work to start, and the host that dies with it.
pub(crate) type Spawn = (usize, LocalBoxFuture<'static, ()>);

/// Starts tasks from inside tasks.
#[derive(Clone, Default)]
pub(crate) struct Spawner(Rc<RefCell<Vec<Spawn>>>);

impl Spawner {
    /// Starts a task on a host.
    pub(crate) fn spawn(&self, host: usize, future: impl Future<Output = ()> + 'static) {
        self.0.borrow_mut().push((host, Box::pin(future)));
    }
}

/// Runs tasks in the order in which they became ready, and time forward when none is.
pub(crate) struct Executor {
    /// The clock.
    pub(crate) time: Time,
    /// To start tasks.
    pub(crate) spawner: Spawner,
    tasks: Vec<Option<Task>>,
    free: Vec<usize>,
}

impl Executor {
    /// Nothing runs, time is zero.
    pub(crate) fn new() -> Executor {
        Executor { time: Time::default(), spawner: Spawner::default(), tasks: Vec::new(), free: Vec::new() }
    }

    /// Runs until nothing is left before `until_ms`, which it is then. After every step `after` is called; it may name hosts to kill.
    pub(crate) fn run(&mut self, until_ms: i64, mut after: impl FnMut() -> Vec<usize>) {
        let until = u64::try_from(until_ms).unwrap_or(0).saturating_mul(1_000_000);
        loop {
            self.start_new();
            let ready = self.time.lock().next_ready();
            if let Some(id) = ready {
                self.poll(id);
                for host in after() {
                    self.kill(host);
                }
                continue;
            }
            if !self.advance(until) {
                let mut inner = self.time.lock();
                inner.now = inner.now.max(until);
                return;
            }
        }
    }

    /// Drops everything that still runs.
    pub(crate) fn stop(&mut self) {
        self.spawner.0.borrow_mut().clear();
        self.tasks.clear();
        self.free.clear();
    }

    fn start_new(&mut self) {
        let new: Vec<Spawn> = std::mem::take(&mut *self.spawner.0.borrow_mut());
        for (host, future) in new {
            let id = self.free.pop().unwrap_or_else(|| {
                self.tasks.push(None);
                self.tasks.len() - 1
            });
            let waker = Waker::from(Arc::new(TaskWaker { time: self.time.clone(), id }));
            self.tasks[id] = Some(Task { host, future, waker });
            self.time.lock().queue(id);
        }
    }

    fn poll(&mut self, id: usize) {
        let Some(mut task) = self.tasks.get_mut(id).and_then(Option::take) else { return };
        let waker = task.waker.clone();
        match task.future.as_mut().poll(&mut Context::from_waker(&waker)) {
            Poll::Pending => self.tasks[id] = Some(task),
            Poll::Ready(()) => {
                drop(task);
                self.free.push(id);
            }
        }
    }

    fn kill(&mut self, host: usize) {
        for id in 0..self.tasks.len() {
            if self.tasks[id].as_ref().is_some_and(|task| task.host == host) {
                self.tasks[id] = None;
                self.free.push(id);
            }
        }
    }

    /// To the next timer. False if there is none before `until`.
    fn advance(&mut self, until: u64) -> bool {
        let mut due = Vec::new();
        {
            let mut inner = self.time.lock();
            let mut to = None;
            while let Some(Reverse((at, id))) = inner.heap.peek().copied() {
                if to.is_some_and(|to| at > to) || at > until {
                    break;
                }
                inner.heap.pop();
                if let Some(waker) = inner.wakers.remove(&id) {
                    to = Some(at);
                    due.push(waker);
                }
            }
            let Some(to) = to else { return false };
            inner.now = inner.now.max(to);
        }
        due.into_iter().for_each(Waker::wake);
        true
    }
}
