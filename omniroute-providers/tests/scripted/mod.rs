//! A vendor that answers as it is told, byte by byte, and remembers what it was asked.

use std::collections::VecDeque;
use std::fmt;
use std::pin::pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};

use bytes::Bytes;
use futures::stream;
use http::{HeaderName, HeaderValue, Request, Response};
use omniroute_core::testing::VirtualClock;
use omniroute_core::{Body, Env, HttpTransport, Inline, TransportError, UnixMs};

/// What the vendor does next.
#[derive(Clone, Debug)]
pub(crate) enum Step {
    /// Head and pieces of the body; then the end, or silence.
    Answer { status: u16, headers: Vec<(String, String)>, pieces: Vec<Bytes>, hangs: bool },
    /// No answer at all.
    Refuse(&'static str, String),
    /// Nothing, for ever.
    Hang,
}

/// The vendor.
#[derive(Default)]
pub(crate) struct Vendor {
    steps: Mutex<VecDeque<Step>>,
    seen: Mutex<Vec<Request<Bytes>>>,
    open: Arc<AtomicUsize>,
}

impl fmt::Debug for Vendor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Vendor(..)")
    }
}

impl Step {
    pub(crate) fn json(status: u16, body: impl Into<Bytes>) -> Step {
        Step::of(status, &[("content-type", "application/json")], vec![body.into()])
    }

    pub(crate) fn of(status: u16, headers: &[(&str, &str)], pieces: Vec<Bytes>) -> Step {
        let headers = headers.iter().map(|(n, v)| ((*n).to_owned(), (*v).to_owned())).collect();
        Step::Answer { status, headers, pieces, hangs: false }
    }

    pub(crate) fn stream(text: &str, cut: usize) -> Step {
        let pieces = text.as_bytes().chunks(cut.max(1)).map(Bytes::copy_from_slice).collect();
        Step::of(200, &[("content-type", "text/event-stream")], pieces)
    }

    pub(crate) fn hanging(self) -> Step {
        match self {
            Step::Answer { status, headers, pieces, .. } => {
                Step::Answer { status, headers, pieces, hangs: true }
            }
            other => other,
        }
    }
}

impl Vendor {
    pub(crate) fn new(steps: impl IntoIterator<Item = Step>) -> Arc<Vendor> {
        Arc::new(Vendor { steps: Mutex::new(steps.into_iter().collect()), ..Vendor::default() })
    }

    /// What it was asked.
    pub(crate) fn seen(&self) -> Vec<Request<Bytes>> {
        self.seen.lock().expect("no panic while held").clone()
    }

    /// Bodies and exchanges that nobody has dropped yet.
    pub(crate) fn open(&self) -> usize {
        self.open.load(Ordering::SeqCst)
    }
}

struct Open(Arc<AtomicUsize>);

impl Open {
    fn new(count: &Arc<AtomicUsize>) -> Open {
        count.fetch_add(1, Ordering::SeqCst);
        Open(Arc::clone(count))
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

#[async_trait::async_trait]
impl HttpTransport for Vendor {
    async fn send(&self, request: Request<Bytes>) -> Result<Response<Body>, TransportError> {
        let open = Open::new(&self.open);
        self.seen.lock().expect("no panic while held").push(request);
        yield_once().await;
        let step = self.steps.lock().expect("no panic while held").pop_front();
        match step {
            None => Err(TransportError::new("connect", "the script is over")),
            Some(Step::Refuse(phase, message)) => Err(TransportError::new(phase, message)),
            Some(Step::Hang) => std::future::pending().await,
            Some(Step::Answer { status, headers, pieces, hangs }) => {
                let pieces = VecDeque::from(pieces);
                let body = stream::unfold((pieces, open), move |(mut pieces, open)| async move {
                    match pieces.pop_front() {
                        Some(piece) => Some((Ok(piece), (pieces, open))),
                        None if hangs => std::future::pending().await,
                        None => None,
                    }
                });
                let mut response = Response::new(Body::stream(body));
                *response.status_mut() = status.try_into().expect("a status");
                for (name, value) in headers {
                    let name: HeaderName = name.parse().expect("a header name");
                    response
                        .headers_mut()
                        .append(name, HeaderValue::from_str(&value).expect("a header value"));
                }
                Ok(response)
            }
        }
    }
}

/// Lets others run once.
async fn yield_once() {
    let mut done = false;
    std::future::poll_fn(|cx| {
        if std::mem::replace(&mut done, true) {
            return Poll::Ready(());
        }
        cx.waker().wake_by_ref();
        Poll::Pending
    })
    .await;
}

/// 2026-01-15T12:00:00Z.
pub(crate) const NOW: UnixMs = UnixMs(1_768_478_400_000);

/// The vendor and a clock that stands still.
pub(crate) fn env(vendor: &Arc<Vendor>) -> (Env, VirtualClock) {
    let clock = VirtualClock::at(NOW);
    let http: Arc<dyn HttpTransport> = vendor.clone();
    (Env { clock: Arc::new(clock.clone()), http, offload: Arc::new(Inline) }, clock)
}

/// Runs a future that needs nobody else; none: it waits for something.
pub(crate) fn run<T>(future: impl Future<Output = T>) -> Option<T> {
    let mut future = pin!(future);
    let mut cx = Context::from_waker(futures::task::noop_waker_ref());
    (0..10_000).find_map(|_| match future.as_mut().poll(&mut cx) {
        Poll::Ready(done) => Some(done),
        Poll::Pending => None,
    })
}
