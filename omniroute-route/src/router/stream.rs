//! A committed stream: pieces of one target, and of no other, until its end.

use std::collections::VecDeque;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use futures::Stream;
use futures::future::BoxFuture;
use omniroute_core::hub::{ErrorBody, Event, StreamItem, WriteContext, replay};
use omniroute_core::wire::{StreamWriter, Wire};
use omniroute_core::{Clock, Doc, EventStream, Failure, FailureKind, Phase, Scope};

use super::books::Books;
use super::relay::PATIENCE;
use super::reply::of_error;
use crate::receipt::Receipt;

/// The bytes of a streamed answer, in the client's wire. Errors do not end it: the client is told in its own wire, and
/// the receipt says so. Dropping it ends the call at the vendor.
pub struct ReplyStream(Box<Live>);

struct Live {
    items: Option<EventStream>,
    queue: VecDeque<Bytes>,
    /// None: the provider speaks the client's wire, and its bytes pass.
    writer: Option<Box<dyn StreamWriter>>,
    wire: Wire,
    context: WriteContext,
    /// How the answer began, for a writer that has to end it.
    start: Option<Event>,
    finished: bool,
    books: Option<Books>,
    closing: Option<BoxFuture<'static, ()>>,
    /// What is done beside it, and what is done about it when the answer is complete.
    side: Option<Side>,
}

/// Work beside a stream, which the end of the stream waits for a little.
pub(super) struct Side {
    pub(super) work: BoxFuture<'static, ()>,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) receipt: Receipt,
    pub(super) patience: Option<BoxFuture<'static, ()>>,
}

impl Side {
    /// True when nobody has to wait for it any more. `over`: the answer is complete.
    fn poll(&mut self, cx: &mut Context<'_>, over: bool) -> bool {
        if self.work.as_mut().poll(cx).is_ready() {
            return true;
        }
        if !over {
            return false;
        }
        let Side { clock, patience, receipt, .. } = self;
        let patience = patience.get_or_insert_with(|| clock.sleep_until(clock.now().mono.after(PATIENCE)));
        let late = patience.as_mut().poll(cx).is_ready();
        if late {
            receipt.note("no_summary");
        }
        late
    }
}

impl std::fmt::Debug for ReplyStream {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ReplyStream").field("wire", &self.0.wire.id()).finish_non_exhaustive()
    }
}

impl ReplyStream {
    /// Of an answer that is there as a whole, in this wire; none: it cannot be streamed.
    pub(super) fn told(body: Bytes, wire: Wire, context: WriteContext) -> Option<ReplyStream> {
        let doc = Doc::parse_with_limit(body, usize::MAX).ok()?;
        let reply = wire.read_reply(&doc).ok()?.value;
        let mut writer = wire.stream_writer(&context)?;
        let mut out = Vec::new();
        replay(reply).iter().for_each(|event| writer.write(event, &mut out));
        Some(ReplyStream(Box::new(Live {
            items: None,
            queue: VecDeque::from([Bytes::from(out)]),
            writer: None,
            wire,
            context,
            start: None,
            finished: true,
            books: None,
            closing: None,
            side: None,
        })))
    }

    /// Of a provider's items, the first of which have been looked at already.
    pub(super) fn new(
        ready: Vec<StreamItem>,
        items: EventStream,
        writer: Option<Box<dyn StreamWriter>>,
        wire: Wire,
        context: WriteContext,
        books: Books,
    ) -> ReplyStream {
        let mut live = Live {
            items: Some(items),
            queue: VecDeque::new(),
            writer,
            wire,
            context,
            start: None,
            finished: false,
            books: Some(books),
            closing: None,
            side: None,
        };
        for item in ready {
            live.take(item);
        }
        ReplyStream(Box::new(live))
    }

    /// Ends the answer here with an error in the client's wire: the host cannot go on. The call at the vendor ends, and
    /// nobody is blamed. Nothing happens to an answer that is complete.
    pub fn interrupt(&mut self, code: &str, message: &str) {
        if self.0.finished || self.0.items.is_none() {
            return;
        }
        self.0.tell(ErrorBody::own(code, message));
        self.0.books = None;
    }

    /// Does something beside the stream. Whoever drops the stream drops it.
    pub(super) fn beside(&mut self, side: Side) {
        self.0.side = Some(side);
    }
}

impl Live {
    fn take(&mut self, item: StreamItem) {
        let mut out = Vec::new();
        for event in &item.events {
            match event {
                // Of an answer that is none although its wire allows that, the bytes pass.
                Event::Error(error) if !(self.writer.is_none() && empty(error)) => {
                    let failure = of_error(error, Phase::MidStream);
                    return self.fail(failure);
                }
                Event::Error(_) | Event::Finish => self.finished = true,
                Event::Usage(usage) => {
                    if let Some(books) = &mut self.books {
                        books.usage = Some(usage.clone());
                    }
                }
                Event::Start(_) => self.start = Some(event.clone()),
                _ => {}
            }
            if let Some(writer) = &mut self.writer {
                writer.write(event, &mut out);
            }
        }
        let bytes = if self.writer.is_some() { Bytes::from(out) } else { item.raw };
        if !bytes.is_empty() {
            self.queue.push_back(bytes);
        }
        // Nothing of the answer follows its end, and clients may stop reading there.
        if self.finished {
            self.close();
        }
    }

    /// The answer is complete.
    fn close(&mut self) {
        if let Some(books) = self.books.take() {
            self.closing = Some(books.close(None));
        }
    }

    /// The provider broke off: the client is told, and nobody else is asked.
    fn fail(&mut self, mut failure: Failure) {
        let said = format!("the answer was interrupted: the provider broke off, {}", failure.kind.code());
        self.tell(ErrorBody::own("upstream_interrupted", said));
        failure.phase = Phase::MidStream;
        if let Some(books) = self.books.take() {
            self.closing = Some(books.close(Some(failure)));
        }
    }

    /// An error as the last thing the client reads.
    fn tell(&mut self, error: ErrorBody) {
        self.items = None;
        let error = Event::Error(error);
        let mut out = Vec::new();
        let fresh = || {
            let mut writer = self.wire.stream_writer(&self.context)?;
            if let Some(start) = &self.start {
                writer.write(start, &mut Vec::new());
            }
            Some(writer)
        };
        if let Some(mut writer) = self.writer.take().or_else(fresh) {
            writer.write(&error, &mut out);
        }
        if !out.is_empty() {
            self.queue.push_back(Bytes::from(out));
        }
    }

    fn end(&mut self) {
        self.items = None;
        if !self.finished {
            let failure =
                Failure::new(FailureKind::BadReply, Scope::Request, "the stream ended before the answer did");
            return self.fail(failure);
        }
        self.close();
    }
}

impl Stream for ReplyStream {
    type Item = Bytes;

    fn poll_next(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Bytes>> {
        let this = &mut *self.get_mut().0;
        if this.side.as_mut().is_some_and(|side| side.poll(cx, false)) {
            this.side = None;
        }
        loop {
            let closed = this.closing.as_mut().is_none_or(|closing| closing.as_mut().poll(cx).is_ready());
            if closed {
                this.closing = None;
            }
            if let Some(bytes) = this.queue.pop_front() {
                return Poll::Ready(Some(bytes));
            }
            if !closed {
                return Poll::Pending;
            }
            let Some(items) = &mut this.items else {
                if this.side.as_mut().is_some_and(|side| !side.poll(cx, true)) {
                    return Poll::Pending;
                }
                this.side = None;
                return Poll::Ready(None);
            };
            if let Some(books) = &mut this.books {
                books.permit.touch(cx);
            }
            match Pin::new(items).poll_next(cx) {
                Poll::Pending => return Poll::Pending,
                Poll::Ready(Some(Ok(item))) => this.take(item),
                // What breaks after the answer's own end takes nothing from it.
                Poll::Ready(Some(Err(_))) if this.finished => this.end(),
                Poll::Ready(Some(Err(failure))) => this.fail(failure),
                Poll::Ready(None) => this.end(),
            }
        }
    }
}

/// An answer that says nothing.
pub(super) fn empty(error: &ErrorBody) -> bool {
    error.code.as_deref() == Some("empty_reply")
}
