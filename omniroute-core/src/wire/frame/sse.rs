//! Server-sent events: lines end with LF, CR or CRLF, a blank line ends an event.

use std::borrow::Cow;

use bytes::Bytes;
use memchr::memchr2;

use super::Buffer;

/// Longest event: 32 MiB.
const MAX_EVENT: usize = 32 << 20;
/// Most events of a stream.
const MAX_EVENTS: u32 = 1_000_000;

/// Cuts a stream of server-sent events. Any cut of the bytes gives the same frames.
#[derive(Debug, Default)]
pub struct Sse {
    buffer: Buffer,
    /// Where to go on looking, and where the line begins that is being read.
    at: usize,
    line: usize,
    count: u32,
    begun: bool,
}

/// One event as it was sent.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Frame {
    /// Its bytes, blank line included.
    pub raw: Bytes,
    /// Where its data stands in `raw`, if it is on one line.
    data: Option<(usize, usize)>,
    /// Its data, if it is on several lines.
    joined: Option<Vec<u8>>,
    /// Where its name stands in `raw`.
    name: Option<(usize, usize)>,
}

impl Frame {
    /// The name of the event, if it has one.
    pub fn name(&self) -> Option<&str> {
        let (from, to) = self.name?;
        std::str::from_utf8(self.raw.get(from..to)?).ok()
    }

    /// The data; nothing for comments.
    pub fn data(&self) -> Option<&[u8]> {
        match (&self.joined, self.data) {
            (Some(joined), _) => Some(joined),
            (None, Some((from, to))) => self.raw.get(from..to),
            (None, None) => None,
        }
    }

    /// The data as bytes that share the frame's.
    pub fn data_bytes(&self) -> Option<Bytes> {
        match (&self.joined, self.data) {
            (Some(joined), _) => Some(Bytes::copy_from_slice(joined)),
            (None, Some((from, to))) => Some(self.raw.slice(from..to)),
            (None, None) => None,
        }
    }

    /// The data as text; wrong bytes are replaced.
    pub fn text(&self) -> Cow<'_, str> {
        String::from_utf8_lossy(self.data().unwrap_or(&[]))
    }
}

/// A stream that breaks a limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum FrameError {
    /// An event is too long.
    #[error("an event of the stream is longer than {MAX_EVENT} bytes")]
    Long,
    /// There are too many events.
    #[error("the stream has more than {MAX_EVENTS} events")]
    Many,
}

impl Sse {
    /// Adds a chunk.
    pub fn push(&mut self, chunk: Bytes) {
        self.buffer.push(chunk);
    }

    /// What is not cut off yet.
    pub fn rest(&self) -> &[u8] {
        self.buffer.bytes()
    }

    /// The next event that is complete.
    ///
    /// # Errors
    /// [`FrameError`] if a limit is broken; the stream cannot go on then.
    pub fn next_frame(&mut self) -> Result<Option<Frame>, FrameError> {
        self.frame(false)
    }

    /// The last event, if the stream ended without a blank line.
    ///
    /// # Errors
    /// As [`Sse::next_frame`].
    pub fn last_frame(&mut self) -> Result<Option<Frame>, FrameError> {
        if let Some(frame) = self.frame(true)? {
            return Ok(Some(frame));
        }
        let left = self.buffer.bytes().len();
        if left == 0 {
            return Ok(None);
        }
        Ok(Some(self.cut(left)))
    }

    fn frame(&mut self, ended: bool) -> Result<Option<Frame>, FrameError> {
        loop {
            let bytes = self.buffer.bytes();
            let Some(found) = bytes.get(self.at..).and_then(|rest| memchr2(b'\n', b'\r', rest)) else {
                self.at = bytes.len();
                if bytes.len() > MAX_EVENT {
                    return Err(FrameError::Long);
                }
                return Ok(None);
            };
            let end = self.at + found;
            let next = match (bytes.get(end), bytes.get(end + 1)) {
                (Some(b'\r'), Some(b'\n')) => end + 2,
                // Whether a line feed belongs to it shows with the next chunk.
                (Some(b'\r'), None) if !ended => {
                    self.at = end;
                    return Ok(None);
                }
                _ => end + 1,
            };
            let blank = end == self.line;
            self.at = next;
            self.line = next;
            if blank {
                if next > MAX_EVENT {
                    return Err(FrameError::Long);
                }
                self.count += 1;
                if self.count > MAX_EVENTS {
                    return Err(FrameError::Many);
                }
                return Ok(Some(self.cut(next)));
            }
        }
    }

    fn cut(&mut self, count: usize) -> Frame {
        let raw = self.buffer.cut(count);
        self.at = 0;
        self.line = 0;
        let mark = !self.begun && raw.starts_with(b"\xEF\xBB\xBF");
        self.begun = true;
        fields(raw, if mark { 3 } else { 0 })
    }
}

/// Reads the fields of one event.
fn fields(raw: Bytes, mut at: usize) -> Frame {
    let mut frame = Frame::default();
    while at < raw.len() {
        let rest = raw.get(at..).unwrap_or(&[]);
        let end = at + memchr2(b'\n', b'\r', rest).unwrap_or(rest.len());
        let line = raw.get(at..end).unwrap_or(&[]);
        if let Some(value) = value_of(line, b"data") {
            let span = (end - value.len(), end);
            match (&mut frame.joined, frame.data) {
                (None, None) => frame.data = Some(span),
                (Some(joined), _) => {
                    joined.push(b'\n');
                    joined.extend_from_slice(value);
                }
                (joined @ None, Some((from, to))) => {
                    let mut lines = raw.get(from..to).unwrap_or(&[]).to_vec();
                    lines.push(b'\n');
                    lines.extend_from_slice(value);
                    *joined = Some(lines);
                }
            }
        } else if let Some(value) = value_of(line, b"event") {
            frame.name = Some((end - value.len(), end));
        }
        at = end + 1;
    }
    frame.raw = raw;
    frame
}

/// The value of the field `name`, without one space in front.
fn value_of<'a>(line: &'a [u8], name: &[u8]) -> Option<&'a [u8]> {
    match line.strip_prefix(name)? {
        [] => Some(&[]),
        [b':', b' ', value @ ..] | [b':', value @ ..] => Some(value),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frames(chunks: &[&[u8]]) -> Vec<(Option<String>, Option<String>, usize)> {
        let mut sse = Sse::default();
        let mut out = Vec::new();
        let mut keep = |f: Frame| {
            let data = f.data().map(|d| String::from_utf8(d.to_vec()).unwrap());
            out.push((f.name().map(str::to_owned), data, f.raw.len()));
        };
        for chunk in chunks {
            sse.push(Bytes::copy_from_slice(chunk));
            while let Some(frame) = sse.next_frame().unwrap() {
                keep(frame);
            }
        }
        while let Some(frame) = sse.last_frame().unwrap() {
            keep(frame);
        }
        out
    }

    #[test]
    fn line_ends_fields_and_comments() {
        let text = "\u{feff}event: a\r\ndata: 1\r\n\r\n: ping\n\ndata:x\ndata:y\rid: 7\n\rdata\n\ndata: é";
        let found = frames(&[text.as_bytes()]);
        let data: Vec<_> = found.iter().map(|(n, d, _)| (n.as_deref(), d.as_deref())).collect();
        assert_eq!(
            data,
            [(Some("a"), Some("1")), (None, None), (None, Some("x\ny")), (None, Some("")), (None, Some("é"))]
        );
        assert_eq!(found.iter().map(|f| f.2).sum::<usize>(), text.len(), "every byte is in one frame");
    }

    #[test]
    fn any_cut_gives_the_same_frames() {
        let text = "event: a\r\ndata: 1\r\n\r\n: ping\n\ndata:x\rdata:é\r\rdata: z\n\n\ndata: end".as_bytes();
        let whole = frames(&[text]);
        for a in 0..text.len() {
            for b in a..text.len() {
                assert_eq!(frames(&[&text[..a], &text[a..b], &text[b..]]), whole, "cut at {a} and {b}");
            }
        }
    }

    /// The twin: a reader that takes a carriage return at the end of a chunk for a line end sees another line.
    #[test]
    fn a_reader_without_patience_is_caught() {
        let ends = |chunk: &&str| {
            let pairs = chunk.matches("\r\n").count();
            chunk.matches(['\r', '\n']).count() - pairs
        };
        let impatient = |chunks: &[&str]| chunks.iter().map(ends).sum::<usize>();
        assert_ne!(impatient(&["data: 1\r\n\r\n"]), impatient(&["data: 1\r", "\n\r\n"]));
    }
}
