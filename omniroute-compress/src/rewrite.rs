//! When older turns are rewritten, and what that costs.
//!
//! A provider's prompt cache makes everything behind the first changed byte new again. So older turns stay as they
//! were sent, except at a rewrite point: where the cache has gone anyway, where the caller says so, or every so many
//! tokens if the forecast says that it pays within ten turns.

use omniroute_core::{Segment, SegmentKind};

use crate::cost::{CacheKind, CachePolicy, Prices};

/// When older turns may be rewritten.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Rewrite {
    /// Never: a request is sent as its history was sent.
    Never,
    /// Where the provider's cache is certainly cold: the session rested for longer than the cache lives, the caller
    /// says so, the provider has no cache, or the client has changed the history itself. The default.
    #[default]
    ColdOnly,
    /// Each time the history has grown by so many tokens, if that pays within ten turns. Needs no memory: the same
    /// history is always rewritten at the same places.
    Threshold {
        /// Tokens, at least 1,000; 60,000 is a good start.
        every_tokens: u64,
    },
    /// On every request. Only for requests that no other one follows.
    Always,
}

impl Rewrite {
    /// Reads `never`, `cold_only`, `threshold` or `always`; `every_tokens` is for the third.
    pub fn parse(word: &str, every_tokens: u64) -> Option<Rewrite> {
        match word {
            "never" => Some(Rewrite::Never),
            "cold_only" => Some(Rewrite::ColdOnly),
            "threshold" => Some(Rewrite::Threshold { every_tokens: every_tokens.max(1_000) }),
            "always" => Some(Rewrite::Always),
            _ => None,
        }
    }
}

/// Turns in which a rewrite of a warm history must have paid.
pub(crate) const TURNS: u128 = 10;
/// Calls with their results at the end of a history that stay as they are, at least.
const LIVE_EXCHANGES: usize = 8;

/// Prices of input and the rules of the cache.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Market {
    pub(crate) prices: Prices,
    pub(crate) cache: CachePolicy,
}

impl Market {
    /// What is known of a model, else prices of a usual shape.
    pub(crate) fn of(wire: &str, model: &str) -> Market {
        let name = model.rsplit('/').next().unwrap_or(model);
        let prices =
            Prices::of_model(name).unwrap_or(Prices::from_pico(3_000_000, 15_000_000, 300_000, 3_750_000));
        let cache = match wire {
            "anthropic-messages" => CachePolicy::anthropic_5m(),
            _ => CachePolicy::of_model(name),
        };
        Market { prices, cache }
    }

    /// Price of a token that the cache serves.
    pub(crate) fn read(&self) -> u64 {
        self.cache.read_price(&self.prices).pico()
    }

    /// Price of a token that is new to the cache.
    pub(crate) fn write(&self) -> u64 {
        self.cache.write_price(&self.prices).pico()
    }

    /// Tokens of the shortest prompt that the cache keeps; 0 without a cache.
    pub(crate) fn minimum(&self) -> u64 {
        if self.cache.kind == CacheKind::None { 0 } else { self.cache.minimum_tokens }
    }

    /// Whether a rewrite pays: `saved` tokens a turn against `resent` tokens once.
    pub(crate) fn pays(&self, saved: u64, resent: u64, turns: u128) -> bool {
        let more = self.write().saturating_sub(self.read());
        saved > 0
            && turns * u128::from(saved) * u128::from(self.read()) > u128::from(resent) * u128::from(more)
    }
}

/// Where each answer of the model starts: everything before such a place was one request.
pub(crate) fn answers(segments: &[Segment<'_>]) -> Vec<usize> {
    let by_model = |s: &Segment<'_>| {
        matches!(s.kind, SegmentKind::Assistant | SegmentKind::Reasoning | SegmentKind::ToolCall)
    };
    let mut out = Vec::new();
    let mut before = false;
    for (index, segment) in segments.iter().enumerate() {
        let now = by_model(segment);
        if now && !before {
            out.push(index);
        }
        before = now;
    }
    out
}

/// The first text of the live tail: the last answers with their results, which no rewrite touches.
pub(crate) fn live_tail(answers: &[usize]) -> usize {
    answers.len().checked_sub(LIVE_EXCHANGES).and_then(|at| answers.get(at)).copied().unwrap_or(0)
}

/// Whether a body asks for a cache that lives for an hour.
pub(crate) fn asks_for_an_hour(body: &[u8]) -> bool {
    let behind = |at: usize| {
        let rest = body.get(at + 5..).unwrap_or_default();
        let rest = rest.iter().copied().filter(|b| !b.is_ascii_whitespace()).take(5);
        rest.eq(b":\"1h\"".iter().copied())
    };
    memchr::memmem::find_iter(body, b"\"ttl\"").any(behind)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rewrite_pays_by_the_ratio_of_the_prices() {
        let market = Market::of("anthropic-messages", "claude-sonnet-4-5");
        assert!(!market.pays(1_000, 1_000, 11) && market.pays(1_000, 1_000, 12), "above 11.5 turns");
        assert!(!market.pays(0, 0, 12));
        let half = Market::of("openai-chat", "openai/gpt-4o");
        assert!(!half.pays(1_000, 1_000, 1) && half.pays(1_000, 1_000, 2));
        let none = Market { cache: CachePolicy::none(), ..half };
        assert!(none.pays(1, 1_000_000, 1), "nothing is lost where nothing is cached");
    }

    #[test]
    fn an_hour_is_asked_for_in_any_spelling() {
        for (body, hour) in [
            (r#"{"cache_control":{"type":"ephemeral","ttl":"1h"}}"#, true),
            (r#"{"ttl" : "1h"}"#, true),
            (r#"{"ttl":"5m"}"#, false),
            (r#"{"ttl":"1h2"}"#, false),
            (r#"{"text":"ttl"}"#, false),
            (r#"{"ttl""#, false),
        ] {
            assert_eq!(asks_for_an_hour(body.as_bytes()), hour, "{body}");
        }
    }
}
