//! One request and its answer, carried out by the host.

use std::collections::VecDeque;
use std::task::{Poll, Waker, ready};

use bytes::Bytes;
use futures::Stream;
use futures::future::poll_fn;
use omniroute_core::{Body, HttpTransport, TransportError};

use super::desk::{self, Job, Line};

/// What the host has said so far.
#[derive(Debug, Default)]
pub(super) struct Exchange {
    head: Option<http::response::Parts>,
    pieces: VecDeque<Bytes>,
    end: Option<Result<(), TransportError>>,
    started: bool,
    /// The host was asked for the next piece.
    pub(super) reading: bool,
    pub(super) waker: Option<Waker>,
}

impl Exchange {
    /// The head of the answer, and what is there of its body already.
    pub(super) fn answered(&mut self, head: http::response::Parts, piece: Bytes, whole: bool) {
        self.head = Some(head);
        self.started = true;
        self.piece(piece);
        if whole {
            self.end = Some(Ok(()));
        }
    }

    pub(super) fn piece(&mut self, piece: Bytes) {
        self.reading = false;
        if !piece.is_empty() {
            self.pieces.push_back(piece);
        }
    }

    pub(super) fn end(&mut self, how: Result<(), TransportError>) {
        self.reading = false;
        self.end.get_or_insert(how);
    }

    /// Whether the host has to be asked for the next piece.
    pub(super) fn wants_more(&self) -> bool {
        self.started && !self.reading && self.end.is_none() && self.pieces.is_empty()
    }

    fn poll_head(&mut self) -> Poll<Result<http::response::Parts, TransportError>> {
        match (self.head.take(), self.end.take()) {
            (Some(head), end) => {
                self.end = end;
                Poll::Ready(Ok(head))
            }
            (None, Some(Err(error))) => Poll::Ready(Err(error)),
            (None, Some(Ok(()))) => Poll::Ready(Err(TransportError::new("read", "there was no answer"))),
            (None, None) => Poll::Pending,
        }
    }

    fn poll_piece(&mut self) -> Poll<Option<Result<Bytes, TransportError>>> {
        if let Some(piece) = self.pieces.pop_front() {
            return Poll::Ready(Some(Ok(piece)));
        }
        match self.end.take() {
            Some(Ok(())) => {
                self.end = Some(Ok(()));
                Poll::Ready(None)
            }
            Some(Err(error)) => {
                self.end = Some(Ok(()));
                Poll::Ready(Some(Err(error)))
            }
            None => Poll::Pending,
        }
    }
}

/// Requests become jobs of the call that sends them.
#[derive(Debug)]
pub(super) struct HostHttp;

#[async_trait::async_trait]
impl HttpTransport for HostHttp {
    async fn send(&self, request: http::Request<Bytes>) -> Result<http::Response<Body>, TransportError> {
        exchange(|id| Job::Send { id, request }).await
    }
}

/// Has the host carry out a job, up to the head of the answer.
pub(super) async fn exchange(
    job: impl FnOnce(u64) -> Job + Send,
) -> Result<http::Response<Body>, TransportError> {
    let (desk, _) = desk::current().ok_or_else(desk::nobody)?;
    let mut line = desk.begin(job);
    drop(desk);
    let head = poll_fn(|cx| line.poll(cx, Exchange::poll_head)).await.inspect_err(|_| line.over())?;
    Ok(http::Response::from_parts(head, Body::stream(pieces(line))))
}

fn pieces(line: Line) -> impl Stream<Item = Result<Bytes, TransportError>> {
    let mut line = Some(line);
    futures::stream::poll_fn(move |cx| {
        let Some(open) = &mut line else { return Poll::Ready(None) };
        let found = ready!(open.poll(cx, Exchange::poll_piece));
        if !matches!(found, Some(Ok(_))) {
            open.over();
            line = None;
        }
        Poll::Ready(found)
    })
}
