//! A request as its cache sees it: blocks of tokens, when it was sent, how long the reply was.

/// One block of a request, in the order the provider hashes them: tools, system, messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Block {
    /// Its length in tokens.
    pub tokens: u64,
    /// A hash of its content: equal blocks have equal hashes, others differ.
    pub hash: u64,
    /// Whether the request sets a cache breakpoint at the end of this block.
    pub breakpoint: bool,
}

impl Block {
    /// A block without a breakpoint.
    #[must_use]
    pub const fn new(tokens: u64, hash: u64) -> Self {
        Self { tokens, hash, breakpoint: false }
    }

    /// A block known by a 32-byte digest, of which the first 8 bytes serve as its hash.
    #[must_use]
    pub const fn of_digest(tokens: u64, digest: &[u8; 32]) -> Self {
        let [a, b, c, d, e, f, g, h, ..] = *digest;
        Self::new(tokens, u64::from_le_bytes([a, b, c, d, e, f, g, h]))
    }

    /// The same block with a breakpoint at its end.
    #[must_use]
    pub const fn with_breakpoint(mut self) -> Self {
        self.breakpoint = true;
        self
    }
}

/// One call of a model, as its cache sees it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Request {
    /// When it was sent, in milliseconds from any fixed point. `None`: unknown, never cold.
    ///
    /// A time before that of an earlier request counts as that earlier time.
    pub at: Option<u64>,
    /// Whether the cache was cold. Wins over `at`; `None`: the times decide.
    pub cold: Option<bool>,
    /// Everything that was sent, first to last.
    pub blocks: Vec<Block>,
    /// Tokens of the reply.
    pub output_tokens: u64,
}

impl Request {
    /// A request without time or cold flag.
    pub fn new(blocks: impl IntoIterator<Item = Block>, output_tokens: u64) -> Self {
        Self { at: None, cold: None, blocks: blocks.into_iter().collect(), output_tokens }
    }

    /// The same request, sent at this time (milliseconds).
    #[must_use]
    pub fn at(mut self, milliseconds: u64) -> Self {
        self.at = Some(milliseconds);
        self
    }

    /// The same request with the cold flag set.
    #[must_use]
    pub fn cold(mut self, cold: bool) -> Self {
        self.cold = Some(cold);
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_digest_is_known_by_its_first_eight_bytes() {
        let mut digest = [7; 32];
        digest[31] = 9;
        assert_eq!(Block::of_digest(1, &digest), Block::of_digest(1, &[7; 32]));
        digest[7] = 9;
        assert_ne!(Block::of_digest(1, &digest), Block::of_digest(1, &[7; 32]));
    }
}
