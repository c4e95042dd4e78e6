//! The framing of AWS event streams: lengths, a checksum of the lengths, headers, payload, a checksum of all.

use std::ops::Range;

use bytes::Bytes;
use omniroute_core::wire::frame::Buffer;

/// Longest frame: 32 MiB. The vendor's own limit is lower.
const MOST: usize = 32 << 20;
/// Most frames of a stream.
const MOST_FRAMES: u32 = 1_000_000;
/// Two lengths and their checksum; and with the checksum at the end.
const HEAD: usize = 12;
const LEAST: usize = 16;

/// One frame as it was sent.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Frame {
    /// Its bytes.
    pub(super) raw: Bytes,
    /// Where its payload stands.
    payload: Range<usize>,
    /// Its headers that are texts.
    headers: Vec<(String, String)>,
}

impl Frame {
    /// The text of a header.
    pub(super) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
    }

    /// The payload, sharing the frame's bytes.
    pub(super) fn payload(&self) -> Bytes {
        self.raw.slice(self.payload.clone())
    }
}

/// A stream that cannot be read on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FrameError {
    /// A length or a header makes no sense.
    Shape,
    /// A checksum is wrong.
    Checksum,
    /// A frame is too long.
    Long,
    /// There are too many frames.
    Many,
}

/// Cuts a stream into frames. Any cut of the bytes gives the same frames.
#[derive(Debug, Default)]
pub(super) struct Frames {
    buffer: Buffer,
    count: u32,
}

impl Frames {
    /// Adds a chunk.
    pub(super) fn push(&mut self, chunk: Bytes) {
        self.buffer.push(chunk);
    }

    /// What is not cut off yet.
    pub(super) fn rest(&self) -> &[u8] {
        self.buffer.bytes()
    }

    /// Cuts off all that is left.
    pub(super) fn take_rest(&mut self) -> Bytes {
        let left = self.buffer.bytes().len();
        self.buffer.cut(left)
    }

    /// The next frame that is complete and whose checksums are right.
    pub(super) fn next_frame(&mut self) -> Result<Option<Frame>, FrameError> {
        let bytes = self.buffer.bytes();
        let Some(head) = bytes.get(..HEAD) else { return Ok(None) };
        let (total, headers) = (word(head, 0) as usize, word(head, 4) as usize);
        if crc32fast::hash(head.get(..8).unwrap_or(&[])) != word(head, 8) {
            return Err(FrameError::Checksum);
        }
        if total > MOST {
            return Err(FrameError::Long);
        }
        if self.count >= MOST_FRAMES {
            return Err(FrameError::Many);
        }
        if total < LEAST || headers > total - LEAST {
            return Err(FrameError::Shape);
        }
        let Some(frame) = bytes.get(..total) else { return Ok(None) };
        let (body, sum) = frame.split_at(total - 4);
        if crc32fast::hash(body) != word(sum, 0) {
            return Err(FrameError::Checksum);
        }
        let found = read_headers(body.get(HEAD..HEAD + headers).unwrap_or(&[])).ok_or(FrameError::Shape)?;
        self.count += 1;
        Ok(Some(Frame { raw: self.buffer.cut(total), payload: HEAD + headers..total - 4, headers: found }))
    }
}

fn word(bytes: &[u8], at: usize) -> u32 {
    let four = bytes.get(at..at + 4).and_then(|b| <[u8; 4]>::try_from(b).ok());
    four.map_or(0, u32::from_be_bytes)
}

/// Texts are kept, values of other types are skipped.
fn read_headers(mut bytes: &[u8]) -> Option<Vec<(String, String)>> {
    let mut out = Vec::new();
    while let Some((length, rest)) = bytes.split_first() {
        let (name, rest) = rest.split_at_checked(usize::from(*length))?;
        let (kind, rest) = rest.split_first()?;
        let (skip, rest) = match kind {
            0 | 1 => (0, rest),
            2 => (1, rest),
            3 => (2, rest),
            4 => (4, rest),
            5 | 8 => (8, rest),
            9 => (16, rest),
            6 | 7 => {
                let (size, rest) = rest.split_at_checked(2)?;
                (usize::from(u16::from_be_bytes([size[0], size[1]])), rest)
            }
            _ => return None,
        };
        let (value, rest) = rest.split_at_checked(skip)?;
        if *kind == 7 {
            out.push((
                String::from_utf8_lossy(name).into_owned(),
                String::from_utf8_lossy(value).into_owned(),
            ));
        }
        bytes = rest;
    }
    Some(out)
}

/// Appends a frame.
pub(super) fn write_frame(headers: &[(&str, &str)], payload: &[u8], out: &mut Vec<u8>) {
    let mut head = Vec::with_capacity(128);
    for (name, value) in headers {
        head.push(u8::try_from(name.len()).unwrap_or(0));
        head.extend_from_slice(name.as_bytes());
        head.push(7);
        head.extend_from_slice(&u16::try_from(value.len()).unwrap_or(0).to_be_bytes());
        head.extend_from_slice(value.as_bytes());
    }
    let from = out.len();
    let total = u32::try_from(LEAST + head.len() + payload.len()).unwrap_or(u32::MAX);
    out.extend_from_slice(&total.to_be_bytes());
    out.extend_from_slice(&u32::try_from(head.len()).unwrap_or(u32::MAX).to_be_bytes());
    let sum = crc32fast::hash(out.get(from..).unwrap_or(&[]));
    out.extend_from_slice(&sum.to_be_bytes());
    out.extend_from_slice(&head);
    out.extend_from_slice(payload);
    let sum = crc32fast::hash(out.get(from..).unwrap_or(&[]));
    out.extend_from_slice(&sum.to_be_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stream() -> Vec<u8> {
        let mut out = Vec::new();
        write_frame(&[(":message-type", "event"), (":event-type", "a")], b"{}", &mut out);
        write_frame(&[], "caf\u{e9}".as_bytes(), &mut out);
        write_frame(&[(":message-type", "exception")], b"", &mut out);
        out
    }

    fn frames(pieces: &[&[u8]]) -> (Vec<Frame>, Option<FrameError>, usize) {
        let mut frames = Frames::default();
        let mut out = Vec::new();
        for piece in pieces {
            frames.push(Bytes::copy_from_slice(piece));
            loop {
                match frames.next_frame() {
                    Ok(Some(frame)) => out.push(frame),
                    Ok(None) => break,
                    Err(error) => return (out, Some(error), frames.rest().len()),
                }
            }
        }
        (out, None, frames.rest().len())
    }

    #[test]
    fn any_cut_gives_the_same_frames() {
        let bytes = stream();
        let whole = frames(&[&bytes]);
        assert_eq!((whole.0.len(), whole.1, whole.2), (3, None, 0));
        assert_eq!(whole.0[0].header(":event-type"), Some("a"));
        assert_eq!(whole.0[1].payload(), "caf\u{e9}");
        for a in 0..bytes.len() {
            assert_eq!(frames(&[&bytes[..a], &bytes[a..]]), whole, "cut at {a}");
        }
        let each: Vec<&[u8]> = bytes.chunks(1).collect();
        assert_eq!(frames(&each), whole);
    }

    /// The twin of a right stream: with any byte changed it is noticed, at the latest when the bytes end.
    #[test]
    fn every_wrong_byte_is_noticed() {
        let bytes = stream();
        let whole = frames(&[&bytes]);
        for at in 0..bytes.len() {
            let mut wrong = bytes.clone();
            wrong[at] ^= 0x20;
            let found = frames(&[&wrong]);
            assert!(found.1.is_some() || found.2 > 0, "byte {at}");
            assert_ne!(found, whole, "byte {at}");
        }
    }

    /// A known sum, so that writer and reader cannot be wrong together.
    #[test]
    fn the_checksum_is_the_usual_one() {
        assert_eq!(crc32fast::hash(b"123456789"), 0xCBF4_3926);
    }
}
