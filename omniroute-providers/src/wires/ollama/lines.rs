//! Cuts a stream of JSON lines and keeps the rules of every stream reader: any cut of the bytes gives the same items.

use bytes::Bytes;
use omniroute_core::hub::{ErrorBody, Event, StreamItem};
use omniroute_core::wire::frame::Buffer;
use omniroute_core::wire::read::error_body;
use omniroute_core::wire::{Sink, StreamReader, WireError};
use omniroute_core::{Diagnostic, Doc};

use super::reply::read;
use super::stream::ChatDecoder;

/// Longest line, and longest body that is no stream: 64 MiB.
const MOST: usize = 64 << 20;

/// Reads lines of JSON.
#[derive(Debug, Default)]
pub(super) struct LineReader {
    buffer: Buffer,
    /// How much of the buffer is known to hold no line end.
    seen: usize,
    decoder: ChatDecoder,
    sink: Sink,
    /// The first line is no JSON: the body is one document, or a page.
    whole: bool,
    over: bool,
}

impl LineReader {
    /// One line that is cut off; `complete` if its end was seen.
    fn line(&mut self, length: usize, complete: bool, out: &mut Vec<StreamItem>) {
        let raw = self.buffer.cut(length);
        self.seen = 0;
        let text = raw.trim_ascii();
        if !text.is_empty() && !self.sink.ended() {
            match parse(text) {
                Some((doc, clean)) => {
                    if !clean {
                        self.sink.note("invalid_utf8", "", "wrong bytes replaced");
                    }
                    self.decoder.object(&doc, &mut self.sink);
                }
                None if complete => {
                    let action = "a line of the stream is not JSON";
                    self.sink.error(ErrorBody::own("invalid_stream_payload", action));
                }
                None => self.sink.truncated(),
            }
        }
        out.push(StreamItem { raw, events: self.sink.take() });
    }

    /// Whether the first line shows that this is no stream.
    fn is_whole(&self, line: &[u8]) -> bool {
        let text = line.trim_ascii();
        !self.sink.started() && !self.sink.ended() && !text.is_empty() && parse(text).is_none()
    }

    fn too_long(&mut self, out: &mut Vec<StreamItem>) {
        self.over = true;
        self.sink.error(ErrorBody::own("response_too_large", "a line of the answer is longer than 64 MiB"));
        let length = self.buffer.bytes().len();
        out.push(StreamItem { raw: self.buffer.cut(length), events: self.sink.take() });
    }

    fn body(&mut self, out: &mut Vec<StreamItem>) {
        let length = self.buffer.bytes().len();
        let raw = self.buffer.cut(length);
        let events = match Doc::parse_with_limit(raw.clone(), MOST).as_ref().map(read) {
            Ok(Ok(reply)) => self.sink.replay(reply.value),
            Ok(Err(WireError::Vendor(error))) => vec![Event::Error(*error)],
            _ if raw.trim_ascii_start().starts_with(b"{") => {
                vec![Event::Error(ErrorBody::own(
                    "truncated_stream",
                    "the stream ended before the answer did",
                ))]
            }
            _ => vec![Event::Error(ErrorBody { status: None, ..error_body(200, &raw) })],
        };
        out.push(StreamItem { raw, events });
    }
}

/// A line as a document, and whether its bytes were text.
fn parse(line: &[u8]) -> Option<(Doc, bool)> {
    match Doc::parse_with_limit(Bytes::copy_from_slice(line), usize::MAX) {
        Ok(doc) => Some((doc, true)),
        Err(_) if std::str::from_utf8(line).is_err() => {
            let text = String::from_utf8_lossy(line).into_owned();
            Doc::parse_with_limit(text, usize::MAX).ok().map(|doc| (doc, false))
        }
        Err(_) => None,
    }
}

impl StreamReader for LineReader {
    fn feed(&mut self, bytes: Bytes, out: &mut Vec<StreamItem>) {
        if self.over {
            return out.push(StreamItem { raw: bytes, events: Vec::new() });
        }
        self.buffer.push(bytes);
        while !self.whole {
            let bytes = self.buffer.bytes();
            let found = bytes.get(self.seen..).and_then(|rest| rest.iter().position(|b| *b == b'\n'));
            let Some(found) = found else {
                self.seen = bytes.len();
                break;
            };
            let length = self.seen + found + 1;
            if bytes.get(..length).is_some_and(|line| self.is_whole(line)) {
                self.whole = true;
                break;
            }
            self.line(length, true, out);
        }
        if self.buffer.bytes().len() > MOST {
            self.too_long(out);
        }
    }

    fn end(&mut self, out: &mut Vec<StreamItem>) {
        if std::mem::replace(&mut self.over, true) {
            return;
        }
        let left = self.buffer.bytes().len();
        if self.whole || (left > 0 && self.is_whole(self.buffer.bytes())) {
            return self.body(out);
        }
        if left > 0 {
            self.line(left, false, out);
        }
        self.decoder.end(&mut self.sink);
        let events = self.sink.take();
        if !events.is_empty() {
            out.push(StreamItem { raw: Bytes::new(), events });
        }
    }

    fn notes(&mut self) -> Vec<Diagnostic> {
        self.sink.take_notes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const STREAM: &str = "{\"model\":\"m\",\"created_at\":\"t\",\"message\":{\"role\":\"assistant\",\"content\":\"caf\u{e9}\"},\"done\":false}\n\r\n{\"model\":\"m\",\"message\":{\"content\":\"\"},\"done\":true,\"done_reason\":\"stop\",\"eval_count\":1}";

    fn items(pieces: &[&[u8]]) -> Vec<StreamItem> {
        let mut reader = LineReader::default();
        let mut out = Vec::new();
        pieces.iter().for_each(|piece| reader.feed(Bytes::copy_from_slice(piece), &mut out));
        reader.end(&mut out);
        out
    }

    #[test]
    fn any_cut_gives_the_same_items() {
        let pretty = STREAM.replace(",\"mess", ",\n\"mess").replace("\n\r\n", "");
        for text in [STREAM, "<html>\n<title>no</title>", "{\"error\":\"m\"}\n", &pretty] {
            let bytes = text.as_bytes();
            let whole = items(&[bytes]);
            assert_eq!(whole.iter().map(|i| i.raw.len()).sum::<usize>(), bytes.len());
            for at in 0..bytes.len() {
                assert_eq!(items(&[&bytes[..at], &bytes[at..]]), whole, "cut at {at}");
            }
        }
    }

    /// The twin: a reader that takes the end of a chunk for the end of a line sees something else.
    #[test]
    fn a_reader_without_patience_is_caught() {
        let impatient = |chunks: &[&str]| chunks.iter().flat_map(|c| c.lines()).count();
        assert_ne!(impatient(&["{\"a\":1}\n"]), impatient(&["{\"a\"", ":1}\n"]));
    }

    #[test]
    fn what_is_no_answer_is_an_error() {
        for (text, code) in [
            ("", "truncated_stream"),
            ("{\"model\":\"m\",\"message\":{\"content\":\"x\"},\"done\":false}\n", "truncated_stream"),
            (
                "{\"model\":\"m\",\"message\":{\"content\":\"x\"},\"done\":false}\nnonsense\n",
                "invalid_stream_payload",
            ),
            ("{\"model\":\"m\",\"mess", "truncated_stream"),
            (
                "{\"model\":\"m\",\"message\":{\"content\":\"\"},\"done\":true,\"done_reason\":\"stop\"}\n",
                "empty_reply",
            ),
        ] {
            let events: Vec<_> = items(&[text.as_bytes()]).into_iter().flat_map(|i| i.events).collect();
            let Some(Event::Error(error)) = events.last() else { panic!("{text}: {events:?}") };
            assert_eq!(error.code.as_deref(), Some(code), "{text}");
        }
    }
}
