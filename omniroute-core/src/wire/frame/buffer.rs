//! Bytes that are not yet a whole event. Chunks that hold whole events are cut without copying.

use bytes::{Bytes, BytesMut};

/// What has arrived and is not yet cut off.
///
/// Each byte is copied at most once, and only if its event came in several chunks.
#[derive(Debug, Default)]
pub struct Buffer {
    rest: BytesMut,
    whole: Bytes,
}

impl Buffer {
    /// Adds a chunk.
    pub fn push(&mut self, chunk: Bytes) {
        if self.rest.is_empty() && self.whole.is_empty() {
            self.whole = chunk;
            return;
        }
        self.spill();
        self.rest.extend_from_slice(&chunk);
    }

    /// Everything that is there.
    pub fn bytes(&self) -> &[u8] {
        if self.rest.is_empty() { &self.whole } else { &self.rest }
    }

    /// Cuts off the first `count` bytes.
    pub fn cut(&mut self, count: usize) -> Bytes {
        if self.rest.is_empty() {
            return self.whole.split_to(count.min(self.whole.len()));
        }
        if count < self.rest.len() {
            // From now on the rest is shared, not copied.
            self.whole = std::mem::take(&mut self.rest).freeze();
            return self.whole.split_to(count);
        }
        std::mem::take(&mut self.rest).freeze()
    }

    /// Keeps what is left in a buffer of its own, so that a chunk of which everything else is used is freed.
    fn spill(&mut self) {
        if !self.whole.is_empty() {
            self.rest.extend_from_slice(&self.whole);
            self.whole = Bytes::new();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cuts_what_was_pushed() {
        let mut buffer = Buffer::default();
        buffer.push(Bytes::from_static(b"abc"));
        assert_eq!(buffer.cut(2), "ab");
        buffer.push(Bytes::from_static(b"de"));
        assert_eq!(buffer.bytes(), b"cde");
        assert_eq!(buffer.cut(1), "c");
        buffer.push(Bytes::from_static(b"f"));
        assert_eq!(buffer.cut(9), "def");
        assert!(buffer.bytes().is_empty());
    }
}
