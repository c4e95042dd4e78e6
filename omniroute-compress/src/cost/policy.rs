//! How a provider's prompt cache behaves: what it keeps, for how long, and how a write is priced.

use super::price::{Price, Prices};

/// Which prefixes a cache keeps.
#[non_exhaustive]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum CacheKind {
    /// No cache: every token is plain input.
    None,
    /// Every prefix of a long enough prompt, without being asked.
    Automatic,
    /// Only prefixes that end at a breakpoint the request sets.
    Breakpoints,
}

/// How a token that enters the cache is priced.
#[non_exhaustive]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum WriteRule {
    /// Writing is free: the token is billed, and reported, as plain input.
    AsInput,
    /// At [`Prices::cache_write`](super::Prices::cache_write).
    Short,
    /// At [`Prices::cache_write_1h`](super::Prices::cache_write_1h).
    Long,
}

/// The rules of one provider's prompt cache.
///
/// Start from a constructor and change the fields that differ; facts as of 2026-10.
#[non_exhaustive]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct CachePolicy {
    /// Which prefixes are kept.
    pub kind: CacheKind,
    /// Milliseconds a prefix lives after it was last written or read. A gap of exactly this
    /// length still finds it.
    pub ttl_ms: u64,
    /// Shortest prefix, in tokens, that is kept or read. Below it everything is plain input.
    pub minimum_tokens: u64,
    /// Reads are rounded down to a multiple of this many tokens; 0 and 1 mean no rounding.
    pub step_tokens: u64,
    /// Positions looked at per breakpoint, the breakpoint's own included.
    pub lookback_blocks: usize,
    /// Breakpoints that count in one request; of more, the last ones do.
    pub max_breakpoints: usize,
    /// With [`CacheKind::Breakpoints`]: a request without any breakpoint is taken to have one at
    /// its end, as agents usually set it. `false`: such a request uses no cache.
    ///
    /// Agents that set another one after the system prompt keep that part when the history
    /// changes; mark that block to model them.
    pub auto_breakpoint: bool,
    /// How a written token is priced.
    pub write: WriteRule,
}

impl CachePolicy {
    /// Anthropic with the default lifetime: breakpoints (4 at most, looking back over 20 blocks),
    /// 300 s renewed by reads, priced writes, at least 1,024 tokens, automatic breakpoint.
    ///
    /// The minimum depends on the model (512 to 4,096 tokens): set `minimum_tokens`.
    #[must_use]
    pub const fn anthropic_5m() -> Self {
        Self {
            kind: CacheKind::Breakpoints,
            ttl_ms: 300_000,
            minimum_tokens: 1_024,
            step_tokens: 1,
            lookback_blocks: 20,
            max_breakpoints: 4,
            auto_breakpoint: true,
            write: WriteRule::Short,
        }
    }

    /// Anthropic with the one-hour lifetime and its own write price; else as
    /// [`anthropic_5m`](Self::anthropic_5m).
    #[must_use]
    pub const fn anthropic_1h() -> Self {
        Self { ttl_ms: 3_600_000, write: WriteRule::Long, ..Self::anthropic_5m() }
    }

    /// OpenAI: automatic, reads in steps of 128 tokens from 1,024 on, writes cost nothing extra.
    ///
    /// The lifetime is published as 5 to 10 minutes without use, up to an hour at quiet times;
    /// the default is the careful end, 300 s.
    #[must_use]
    pub const fn openai() -> Self {
        Self { step_tokens: 128, ..Self::automatic() }
    }

    /// An automatic prefix cache without steps: at least 1,024 tokens, 300 s, free writes.
    ///
    /// The assumption for a provider of which nothing better is known.
    #[must_use]
    pub const fn automatic() -> Self {
        Self {
            kind: CacheKind::Automatic,
            lookback_blocks: usize::MAX,
            max_breakpoints: 0,
            auto_breakpoint: false,
            write: WriteRule::AsInput,
            ..Self::anthropic_5m()
        }
    }

    /// No prompt cache.
    #[must_use]
    pub const fn none() -> Self {
        Self { kind: CacheKind::None, ..Self::automatic() }
    }

    /// The cache of a model's vendor, by the vendor's own name of the model:
    /// [`anthropic_5m`](Self::anthropic_5m) for Claude, else [`automatic`](Self::automatic).
    #[must_use]
    pub fn of_model(name: &str) -> Self {
        if name.starts_with("claude") { Self::anthropic_5m() } else { Self::automatic() }
    }

    /// The price of a token that is served from the cache; that of plain input without one.
    #[must_use]
    pub fn read_price(&self, prices: &Prices) -> Price {
        match self.kind {
            CacheKind::None => prices.input,
            CacheKind::Automatic | CacheKind::Breakpoints => prices.cache_read,
        }
    }

    /// The price of a token that enters the cache.
    #[must_use]
    pub fn write_price(&self, prices: &Prices) -> Price {
        match self.write {
            WriteRule::AsInput => prices.input,
            WriteRule::Short => prices.cache_write,
            WriteRule::Long => prices.cache_write_1h,
        }
    }
}
