//! A streamed answer on its way to the client: pieces as they come, a sign of life in silence, an honest end when the
//! program ends.

use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use futures::Stream;
use futures::future::BoxFuture;
use omniroute_route::ReplyStream;
use tokio::time::{Instant, Sleep};

/// A comment that says that we are still here; readers of server-sent events skip it.
const PING: &[u8] = b": ping\n\n";

/// How pieces are framed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Framing {
    /// Server-sent events.
    Events,
    /// One JSON value a line.
    Lines,
    /// One JSON array, for clients of Gemini that do not ask for events.
    Array,
}

impl Framing {
    pub(super) fn content_type(self) -> &'static str {
        match self {
            Framing::Events => "text/event-stream; charset=utf-8",
            Framing::Lines => "application/x-ndjson",
            Framing::Array => "application/json",
        }
    }
}

/// The body of a streamed answer. Dropping it ends the call at the vendor.
pub(super) struct Told {
    reply: Option<ReplyStream>,
    framing: Framing,
    begun: bool,
    silence: Duration,
    sleep: Option<Pin<Box<Sleep>>>,
    stop: BoxFuture<'static, ()>,
    stopped: bool,
    /// Told when all is over, or when the client went away.
    end: Option<Box<dyn FnOnce() + Send>>,
}

impl Told {
    /// `stop` ends when the program does not want to wait any longer; `end` is called once at the end.
    pub(super) fn new(
        reply: ReplyStream,
        framing: Framing,
        silence: Duration,
        stop: BoxFuture<'static, ()>,
        end: impl FnOnce() + Send + 'static,
    ) -> Told {
        Told {
            reply: Some(reply),
            framing,
            begun: false,
            silence,
            sleep: None,
            stop,
            stopped: false,
            end: Some(Box::new(end)),
        }
    }

    fn framed(&mut self, bytes: Bytes) -> Bytes {
        if self.framing != Framing::Array {
            return bytes;
        }
        let mut out = Vec::with_capacity(bytes.len() + 1);
        for line in bytes.split(|byte| *byte == b'\n') {
            let line = line.strip_suffix(b"\r").unwrap_or(line);
            if let Some(value) = line.strip_prefix(b"data:") {
                out.push(if self.begun { b',' } else { b'[' });
                self.begun = true;
                out.extend_from_slice(value.trim_ascii());
            }
        }
        Bytes::from(out)
    }

    /// The end of the array.
    fn last(&mut self) -> Option<Bytes> {
        if self.framing != Framing::Array {
            return None;
        }
        let end: &[u8] = if self.begun { b"]" } else { b"[]" };
        self.framing = Framing::Lines;
        Some(Bytes::from_static(end))
    }
}

impl Drop for Told {
    fn drop(&mut self) {
        self.reply = None;
        if let Some(end) = self.end.take() {
            end();
        }
    }
}

impl Stream for Told {
    type Item = Result<Bytes, Infallible>;

    fn poll_next(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let this = self.get_mut();
        loop {
            let Some(reply) = &mut this.reply else {
                return Poll::Ready(this.last().map(Ok));
            };
            match Pin::new(reply).poll_next(cx) {
                Poll::Ready(Some(bytes)) => {
                    this.sleep = None;
                    let bytes = this.framed(bytes);
                    if !bytes.is_empty() {
                        return Poll::Ready(Some(Ok(bytes)));
                    }
                }
                Poll::Ready(None) => {
                    this.reply = None;
                    if let Some(end) = this.end.take() {
                        end();
                    }
                }
                Poll::Pending => {
                    if !this.stopped && this.stop.as_mut().poll(cx).is_ready() {
                        this.stopped = true;
                        if let Some(reply) = &mut this.reply {
                            reply.interrupt("shutting_down", "the gateway is shutting down");
                        }
                        continue;
                    }
                    if this.framing != Framing::Events || this.silence.is_zero() {
                        return Poll::Pending;
                    }
                    let silence = this.silence;
                    let sleep = this.sleep.get_or_insert_with(|| Box::pin(tokio::time::sleep(silence)));
                    if sleep.as_mut().poll(cx).is_pending() {
                        return Poll::Pending;
                    }
                    sleep.as_mut().reset(Instant::now() + silence);
                    return Poll::Ready(Some(Ok(Bytes::from_static(PING))));
                }
            }
        }
    }
}
