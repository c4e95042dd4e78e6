//! Reading and writing streams: what a wire has to say itself, and what is the same for all.

use bytes::Bytes;

use super::WireError;
use super::frame::{Frame, Sse};
use super::read::error_body;
use super::sink::Sink;
use crate::diagnostic::Diagnostic;
use crate::doc::Doc;
use crate::hub::{ErrorBody, Event, Reply, StreamItem};

/// Bytes in, events out.
///
/// # Behavior
/// - Any cut of the bytes gives the same items.
/// - Every byte is in the `raw` of exactly one item.
/// - Events obey [`crate::hub::EventLaw`]; the last one is `Finish` or `Error`.
/// - A stream that breaks off, an error inside it and an answer without content end with `Error`.
/// - Memory is bounded by the longest event that is accepted.
pub trait StreamReader: Send + std::fmt::Debug {
    /// Takes the next bytes and appends what they complete.
    fn feed(&mut self, bytes: Bytes, out: &mut Vec<StreamItem>);

    /// The bytes have ended.
    fn end(&mut self, out: &mut Vec<StreamItem>);

    /// Takes the remarks made so far.
    fn notes(&mut self) -> Vec<Diagnostic>;
}

/// Events in, bytes out.
///
/// # Behavior
/// - Takes lawful events of any wire.
/// - After `Finish` the stream is complete; after `Error` it says so and looks nothing like success.
pub trait StreamWriter: Send + std::fmt::Debug {
    /// Appends what the event looks like on the wire; nothing if it has to wait for others.
    fn write(&mut self, event: &Event, out: &mut Vec<u8>);

    /// Takes the remarks made so far.
    fn notes(&mut self) -> Vec<Diagnostic>;
}

/// What a wire has to know about its own events. [`SseReader`] does the rest.
pub trait Decoder: Send + std::fmt::Debug {
    /// One event with JSON data.
    fn event(&mut self, name: Option<&str>, doc: &Doc, sink: &mut Sink);

    /// The data `[DONE]`.
    fn done(&mut self, sink: &mut Sink) {
        self.end(sink);
    }

    /// The bytes have ended. Ends the answer, well or with [`Sink::truncated`].
    fn end(&mut self, sink: &mut Sink);

    /// Reads a body that is no stream although one was asked for.
    ///
    /// # Errors
    /// As [`super::WireFormat::read_reply`].
    fn whole<'d>(&self, doc: &'d Doc) -> Result<Reply<'d>, WireError>;

    /// Reads an error in a body that is no stream.
    fn failure(&self, body: &[u8]) -> ErrorBody {
        ErrorBody { status: None, ..error_body(200, body) }
    }
}

/// Longest body that is no stream although one was asked for: 64 MiB.
const MAX_WHOLE: usize = 64 << 20;

/// Reads server-sent events of any wire.
#[derive(Debug)]
pub struct SseReader<D> {
    decoder: D,
    sse: Sse,
    sink: Sink,
    shape: Shape,
    broken: bool,
}

/// What the body turned out to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Shape {
    Unknown,
    Events,
    Whole,
}

impl<D: Decoder> SseReader<D> {
    /// A reader for a wire's events.
    pub fn new(decoder: D) -> Self {
        SseReader {
            decoder,
            sse: Sse::default(),
            sink: Sink::default(),
            shape: Shape::Unknown,
            broken: false,
        }
    }

    fn frame(&mut self, frame: Frame, complete: bool, out: &mut Vec<StreamItem>) {
        self.data(&frame, complete);
        out.push(StreamItem { raw: frame.raw, events: self.sink.take() });
    }

    fn data(&mut self, frame: &Frame, complete: bool) {
        let Some(data) = frame.data() else { return };
        let trimmed = data.trim_ascii();
        if trimmed.is_empty() || self.sink.ended() {
            return;
        }
        if trimmed == b"[DONE]" {
            return self.decoder.done(&mut self.sink);
        }
        match Doc::parse_with_limit(frame.data_bytes().unwrap_or_default(), usize::MAX) {
            Ok(doc) => self.decoder.event(frame.name(), &doc, &mut self.sink),
            Err(_) if std::str::from_utf8(data).is_err() => {
                self.sink.note("invalid_utf8", "", "wrong bytes replaced");
                match Doc::parse_with_limit(frame.text().into_owned(), usize::MAX) {
                    Ok(doc) => self.decoder.event(frame.name(), &doc, &mut self.sink),
                    Err(_) => self.invalid(),
                }
            }
            Err(_) if !complete => self.sink.truncated(),
            Err(_) => self.invalid(),
        }
    }

    fn invalid(&mut self) {
        self.sink.error(ErrorBody::own("invalid_stream_payload", "an event of the stream is not JSON"));
    }

    fn sniff(&mut self) {
        let rest = self.sse.rest();
        let rest = rest.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(rest);
        match rest.trim_ascii_start().first() {
            Some(b'{' | b'[' | b'<') => self.shape = Shape::Whole,
            Some(_) => self.shape = Shape::Events,
            None => {}
        }
    }

    fn body(&mut self, out: &mut Vec<StreamItem>) {
        let raw = Bytes::copy_from_slice(self.sse.rest());
        if self.sink.ended() {
            return out.push(StreamItem { raw, events: self.sink.take() });
        }
        let doc = Doc::parse_with_limit(raw.clone(), MAX_WHOLE);
        let events = match doc.as_ref().map(|doc| self.decoder.whole(doc)) {
            Ok(Ok(reply)) => self.sink.replay(reply),
            Ok(Err(WireError::Vendor(error))) => vec![Event::Error(*error)],
            _ => vec![Event::Error(self.decoder.failure(&raw))],
        };
        out.push(StreamItem { raw, events });
    }
}

impl<D: Decoder> StreamReader for SseReader<D> {
    fn feed(&mut self, bytes: Bytes, out: &mut Vec<StreamItem>) {
        if self.broken {
            return out.push(StreamItem { raw: bytes, events: Vec::new() });
        }
        self.sse.push(bytes);
        if self.shape == Shape::Unknown {
            self.sniff();
        }
        if self.shape != Shape::Events {
            if self.sse.rest().len() > MAX_WHOLE {
                self.sink.error(ErrorBody::own("response_too_large", "the answer is longer than 64 MiB"));
                self.broken = true;
                self.body(out);
            }
            return;
        }
        loop {
            match self.sse.next_frame() {
                Ok(Some(frame)) => self.frame(frame, true, out),
                Ok(None) => break,
                Err(error) => {
                    self.sink.error(ErrorBody::own("response_too_large", error.to_string()));
                    self.broken = true;
                    let raw = Bytes::copy_from_slice(self.sse.rest());
                    out.push(StreamItem { raw, events: self.sink.take() });
                    break;
                }
            }
        }
    }

    fn end(&mut self, out: &mut Vec<StreamItem>) {
        if self.broken {
            return;
        }
        if self.shape == Shape::Whole {
            self.broken = true;
            return self.body(out);
        }
        while let Ok(Some(frame)) = self.sse.last_frame() {
            self.frame(frame, false, out);
        }
        if !self.sink.ended() {
            self.decoder.end(&mut self.sink);
            if !self.sink.ended() {
                self.sink.truncated();
            }
        }
        self.broken = true;
        let events = self.sink.take();
        if !events.is_empty() {
            out.push(StreamItem { raw: Bytes::new(), events });
        }
    }

    fn notes(&mut self) -> Vec<Diagnostic> {
        self.sink.take_notes()
    }
}
