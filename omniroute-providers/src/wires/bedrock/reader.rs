//! Reads streams of frames into events, whatever way the bytes are cut.

use bytes::Bytes;
use omniroute_core::hub::{ErrorBody, Event, StreamItem};
use omniroute_core::wire::read::error_body;
use omniroute_core::wire::{Sink, StreamReader, WireError};
use omniroute_core::{Diagnostic, Doc};

use super::frames::{Frame, FrameError, Frames};
use super::reply::read;
use super::stream::ConverseDecoder;

/// Longest body that is no stream: 64 MiB.
const MOST_WHOLE: usize = 64 << 20;

/// Reads frames.
#[derive(Debug, Default)]
pub(super) struct FrameReader {
    frames: Frames,
    decoder: ConverseDecoder,
    sink: Sink,
    shape: Shape,
    over: bool,
}

/// What the body turned out to be.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum Shape {
    #[default]
    Unknown,
    Frames,
    Whole,
}

impl FrameReader {
    /// A length whose first byte were a bracket would be far beyond every limit.
    fn sniff(&mut self) {
        self.shape = match self.frames.rest().first() {
            Some(b'{' | b'[' | b'<' | b' ' | b'\n' | b'\r') => Shape::Whole,
            Some(_) => Shape::Frames,
            None => Shape::Unknown,
        };
    }

    fn frame(&mut self, frame: &Frame) {
        if self.sink.ended() {
            return;
        }
        let payload = frame.payload();
        if frame.header(":message-type").is_some_and(|kind| kind != "event") {
            let name = frame.header(":exception-type").or_else(|| frame.header(":error-code"));
            let message = frame.header(":error-message").unwrap_or_default();
            return self.sink.error(exception(name.unwrap_or_default(), message, &payload));
        }
        let name = frame.header(":event-type").unwrap_or_default();
        match Doc::parse_with_limit(payload, usize::MAX) {
            Ok(doc) => self.decoder.event(name, &doc, &mut self.sink),
            Err(_) => {
                let action = "an event of the stream is not JSON";
                self.sink.error(ErrorBody::own("invalid_stream_payload", action));
            }
        }
    }

    fn broken(&mut self, code: &str, message: &str, out: &mut Vec<StreamItem>) {
        self.over = true;
        self.sink.error(ErrorBody::own(code, message));
        out.push(StreamItem { raw: self.frames.take_rest(), events: self.sink.take() });
    }

    fn body(&mut self, out: &mut Vec<StreamItem>) {
        let raw = self.frames.take_rest();
        let events = match Doc::parse_with_limit(raw.clone(), MOST_WHOLE).as_ref().map(read) {
            Ok(Ok(reply)) => self.sink.replay(reply.value),
            Ok(Err(WireError::Vendor(error))) => vec![Event::Error(*error)],
            _ => vec![Event::Error(ErrorBody { status: None, ..error_body(200, &raw) })],
        };
        out.push(StreamItem { raw, events });
    }
}

fn words(error: FrameError) -> (&'static str, &'static str) {
    match error {
        FrameError::Long => ("response_too_large", "a frame of the stream is longer than 32 MiB"),
        FrameError::Many => ("response_too_large", "the stream has more than a million frames"),
        FrameError::Checksum => ("invalid_stream_payload", "a checksum of the stream is wrong"),
        FrameError::Shape => ("invalid_stream_payload", "a frame of the stream has no sense"),
    }
}

/// An exception inside a stream: its name says which status it would have had.
fn exception(name: &str, message: &str, payload: &[u8]) -> ErrorBody {
    let mut error = if payload.is_empty() { ErrorBody::default() } else { error_body(200, payload) };
    error.status = STATUS.iter().find(|(known, _)| *known == name).map(|(_, status)| *status);
    if !name.is_empty() {
        error.kind = Some(name.to_owned());
    }
    if !message.is_empty() {
        error.message = message.to_owned();
    }
    if error.message.is_empty() {
        error.message = "the vendor broke the answer off".to_owned();
    }
    error
}

/// Exceptions and the status that each stands for.
pub(super) const STATUS: [(&str, u16); 5] = [
    ("throttlingException", 429),
    ("serviceUnavailableException", 503),
    ("internalServerException", 500),
    ("modelStreamErrorException", 424),
    ("validationException", 400),
];

impl StreamReader for FrameReader {
    fn feed(&mut self, bytes: Bytes, out: &mut Vec<StreamItem>) {
        if self.over {
            return out.push(StreamItem { raw: bytes, events: Vec::new() });
        }
        self.frames.push(bytes);
        if self.shape == Shape::Unknown {
            self.sniff();
        }
        if self.shape != Shape::Frames {
            if self.frames.rest().len() > MOST_WHOLE {
                self.broken("response_too_large", "the answer is longer than 64 MiB", out);
            }
            return;
        }
        loop {
            match self.frames.next_frame() {
                Ok(Some(frame)) => {
                    self.frame(&frame);
                    out.push(StreamItem { raw: frame.raw, events: self.sink.take() });
                }
                Ok(None) => return,
                Err(error) => {
                    let (code, message) = words(error);
                    return self.broken(code, message, out);
                }
            }
        }
    }

    fn end(&mut self, out: &mut Vec<StreamItem>) {
        if std::mem::replace(&mut self.over, true) {
            return;
        }
        if self.shape == Shape::Whole {
            return self.body(out);
        }
        let raw = self.frames.take_rest();
        match raw.is_empty() {
            true => self.decoder.end(&mut self.sink),
            false if self.sink.ended() => {}
            false => self.sink.truncated(),
        }
        let events = self.sink.take();
        if !events.is_empty() || !raw.is_empty() {
            out.push(StreamItem { raw, events });
        }
    }

    fn notes(&mut self) -> Vec<Diagnostic> {
        self.sink.take_notes()
    }
}
