//! One request on its way. Nobody runs it but its host: it is polled, says what it waits for, and is told.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, Wake, Waker};
use std::time::Duration;
use std::{fmt, mem};

use bytes::Bytes;
use futures::Stream;
use futures::future::BoxFuture;
use omniroute_core::wire::Wire;
use omniroute_core::{Clock, Mono, TransportError};
use omniroute_route::{ChatError, ChatReply, Receipt, ReplyBody, ReplyStream};

use super::desk::{self, Desk, Job};
use super::fault;
use super::reply::Reply;
use super::time::Time;
use crate::error::Error;

/// Polls of one turn at most that a call may ask for itself.
const TURNS: usize = 1_000;

/// What all calls of a router share: the time, and who was woken by another call.
#[derive(Debug)]
pub(super) struct Shared {
    pub(super) time: Arc<Time>,
    woken: Mutex<Vec<u64>>,
    next: AtomicU64,
}

impl Shared {
    pub(super) fn new(time: Arc<Time>) -> Arc<Shared> {
        Arc::new(Shared { time, woken: Mutex::default(), next: AtomicU64::new(1) })
    }

    pub(super) fn woken(&self) -> Vec<u64> {
        mem::take(&mut *self.woken.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// Notes that a call can go on. Runs nothing.
#[derive(Debug)]
struct Bell {
    id: u64,
    rung: AtomicBool,
    shared: Arc<Shared>,
}

impl Wake for Bell {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        if !self.rung.swap(true, Ordering::AcqRel) {
            self.shared.woken.lock().unwrap_or_else(PoisonError::into_inner).push(self.id);
        }
    }
}

/// How far a call has come.
#[derive(Debug)]
#[non_exhaustive]
pub enum Progress {
    /// It waits for its jobs, for the time or for another call.
    Waiting,
    /// The answer is there, whole. Nothing follows.
    Reply(Reply),
    /// The answer begins; its pieces follow.
    Begun,
    /// More of the answer, in the wire of the request.
    Piece(Bytes),
    /// The answer is complete, or its last piece says why not.
    End,
    /// There is no answer. Nothing follows.
    Failed(Box<Error>),
}

/// What a poll has found.
#[derive(Debug)]
#[non_exhaustive]
pub struct Polled {
    /// How far the call has come.
    pub progress: Progress,
    /// What the host has to do, in this order.
    pub jobs: Vec<Job>,
    /// How long at most until the call has to be polled again; none: it waits for no time.
    pub wake_after: Option<Duration>,
    /// Other calls of the router that can go on now, by [`Call::id`].
    pub others: Vec<u64>,
}

enum State {
    Asking(BoxFuture<'static, Result<ChatReply, Box<ChatError>>>),
    Telling(ReplyStream),
    Over,
}

/// One request on its way.
///
/// # Behavior
/// - Is polled once at the start, and then whenever its host has told it something, when its time has come, or when a poll
///   of another call names it. Polls too many do no harm.
/// - Dropping it ends it: what the host still does for it is of no use any more.
pub struct Call {
    state: State,
    bell: Arc<Bell>,
    waker: Waker,
    desk: Arc<Desk>,
    shared: Arc<Shared>,
    deadline: Option<Mono>,
    wire: Wire,
    receipt: Option<Receipt>,
}

impl fmt::Debug for Call {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Call").field("id", &self.bell.id).finish_non_exhaustive()
    }
}

/// Tells a call what its host has done. May be used while the call is polled.
#[derive(Clone, Debug)]
pub struct Teller {
    desk: Arc<Desk>,
}

impl Call {
    pub(super) fn new(
        shared: &Arc<Shared>,
        wire: Wire,
        timeout: Option<Duration>,
        answer: BoxFuture<'static, Result<ChatReply, Box<ChatError>>>,
    ) -> Call {
        let id = shared.next.fetch_add(1, Ordering::Relaxed);
        let bell = Arc::new(Bell { id, rung: AtomicBool::new(false), shared: Arc::clone(shared) });
        Call {
            state: State::Asking(answer),
            waker: Waker::from(Arc::clone(&bell)),
            bell,
            desk: Arc::default(),
            deadline: timeout.map(|time| shared.time.now().mono.after(time)),
            shared: Arc::clone(shared),
            wire,
            receipt: None,
        }
    }

    /// Names the call among those of its router.
    pub fn id(&self) -> u64 {
        self.bell.id
    }

    /// The wire of the request and of the answer.
    pub fn wire(&self) -> Wire {
        self.wire
    }

    /// What tells the call.
    pub fn teller(&self) -> Teller {
        Teller { desk: Arc::clone(&self.desk) }
    }

    /// The receipt as JSON, from the head of the answer on; of a stream it is complete at its end.
    pub fn receipt_json(&self) -> Option<String> {
        self.receipt.as_ref().map(fault::receipt_json)
    }

    /// Goes on as far as it can.
    pub fn poll(&mut self) -> Polled {
        let now = self.shared.time.now().mono;
        let desk = Arc::clone(&self.desk);
        let progress = desk::within(&desk, now, || {
            catch_unwind(AssertUnwindSafe(|| self.step(now))).unwrap_or_else(|_| {
                let error =
                    Error::new("internal", "a bug in omniroute: please report the message on standard error");
                Progress::Failed(Box::new(error))
            })
        });
        if matches!(progress, Progress::Reply(_) | Progress::Failed(_) | Progress::End) {
            let state = mem::replace(&mut self.state, State::Over);
            desk::within(&desk, now, || drop(state));
        }
        let own = self.bell.id;
        let others = self.shared.woken().into_iter().filter(|id| *id != own).collect();
        let first = match self.state {
            State::Over => None,
            _ => [desk.first(), self.deadline].into_iter().flatten().min(),
        };
        Polled { progress, jobs: desk.jobs(), wake_after: first.map(|at| at.since(now)), others }
    }

    fn step(&mut self, now: Mono) -> Progress {
        if self.deadline.is_some_and(|at| now >= at) && !matches!(self.state, State::Over) {
            return Progress::Failed(Box::new(fault::late(self.receipt.as_ref())));
        }
        self.desk.ring(now);
        let waker = self.waker.clone();
        let mut cx = Context::from_waker(&waker);
        for _ in 0..TURNS {
            self.bell.rung.store(false, Ordering::Release);
            match self.turn(&mut cx) {
                Poll::Ready(progress) => return progress,
                Poll::Pending if self.bell.rung.load(Ordering::Acquire) => {}
                Poll::Pending => break,
            }
        }
        Progress::Waiting
    }

    fn turn(&mut self, cx: &mut Context<'_>) -> Poll<Progress> {
        match &mut self.state {
            State::Asking(answer) => match answer.as_mut().poll(cx) {
                Poll::Pending => Poll::Pending,
                Poll::Ready(Err(error)) => Poll::Ready(Progress::Failed(Box::new(fault::of_chat(&error)))),
                Poll::Ready(Ok(reply)) => {
                    let receipt = reply.receipt_handle();
                    self.receipt = Some(receipt.clone());
                    match reply.body {
                        ReplyBody::Whole(body) => {
                            Poll::Ready(Progress::Reply(Reply::new(reply.wire, body, receipt)))
                        }
                        ReplyBody::Stream(stream) => {
                            self.state = State::Telling(stream);
                            Poll::Ready(Progress::Begun)
                        }
                    }
                }
            },
            State::Telling(stream) => match Pin::new(stream).poll_next(cx) {
                Poll::Pending => Poll::Pending,
                Poll::Ready(Some(piece)) => Poll::Ready(Progress::Piece(piece)),
                Poll::Ready(None) => Poll::Ready(Progress::End),
            },
            State::Over => Poll::Ready(Progress::End),
        }
    }
}

impl Drop for Call {
    fn drop(&mut self) {
        let state = mem::replace(&mut self.state, State::Over);
        drop(state);
    }
}

impl Teller {
    /// The head of an answer, what is there of its body, and whether that is all of it. A number that is no status is
    /// taken for 502; a header that cannot be one is left out.
    pub fn answered<'h>(
        &self,
        id: u64,
        status: u16,
        headers: impl IntoIterator<Item = (&'h str, &'h [u8])>,
        piece: impl Into<Bytes>,
        whole: bool,
    ) {
        let piece = piece.into();
        let (mut head, ()) = http::Response::new(()).into_parts();
        head.status = http::StatusCode::from_u16(status).unwrap_or(http::StatusCode::BAD_GATEWAY);
        for (name, value) in headers {
            let (name, value) =
                (http::HeaderName::from_bytes(name.as_bytes()), http::HeaderValue::from_bytes(value));
            if let (Ok(name), Ok(value)) = (name, value) {
                head.headers.append(name, value);
            }
        }
        self.desk.tell(id, |exchange| exchange.answered(head, piece, whole));
    }

    /// More of the body of an answer.
    pub fn piece(&self, id: u64, piece: impl Into<Bytes>) {
        let piece = piece.into();
        self.desk.tell(id, |exchange| exchange.piece(piece));
    }

    /// The body is complete.
    pub fn ended(&self, id: u64) {
        self.desk.tell(id, |exchange| exchange.end(Ok(())));
    }

    /// The exchange failed. `phase` is `connect`, `tls`, `send` or `read`; the message must hold no secret.
    pub fn broke(&self, id: u64, phase: &str, message: impl Into<String>) {
        let phase = ["connect", "tls", "send", "read"].into_iter().find(|known| *known == phase);
        let error = TransportError::new(phase.unwrap_or("send"), message);
        self.desk.tell(id, |exchange| exchange.end(Err(error)));
    }
}
