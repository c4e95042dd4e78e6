//! What the input of the recorded requests costs, with and without compression.

use super::tally::Gain;
use crate::cost::{CacheKind, CachePolicy, Prices, Usd};

/// Size of one request, and when it was sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Size {
    pub(super) tokens: [u64; 2],
    /// Milliseconds from any fixed point.
    pub(super) at: Option<u64>,
}

/// Cost of the input of all requests, each first without and then with compression.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Costs {
    /// Every token as plain input.
    pub uncached: [Usd; 2],
    /// As a provider with this cache bills: what the request before had is read, the rest is new.
    pub cached: [Usd; 2],
    /// Requests that found the cache cold, by their times.
    pub cold: u64,
}

impl Gain {
    /// What the input of the requests costs whose receipts were added, in their order.
    ///
    /// A request that is shorter than the one before it starts a conversation of its own. Where receipts tell no
    /// times, no request is ever cold, which understates the bill of a session with long breaks. A rewrite of older
    /// turns is billed as if what it left had been cached.
    pub fn costs(&self, prices: &Prices, cache: &CachePolicy) -> Costs {
        let (read, write) = (cache.read_price(prices), cache.write_price(prices));
        let mut out = Costs::default();
        let mut last: Option<Size> = None;
        for size in self.sizes() {
            let before = last.filter(|last| last.tokens[0] <= size.tokens[0]);
            let rested = before.and_then(|last| size.at?.checked_sub(last.at?));
            let cold = rested.is_some_and(|rested| rested > cache.ttl_ms);
            out.cold += u64::from(cold);
            let known = before.filter(|_| !cold && cache.kind != CacheKind::None);
            for side in 0..2 {
                let tokens = size.tokens.get(side).copied().unwrap_or(0);
                let held = known.and_then(|last| last.tokens.get(side).copied()).unwrap_or(0).min(tokens);
                let held = if held < cache.minimum_tokens { 0 } else { held };
                let plain = prices.input.of(tokens);
                let billed = match tokens < cache.minimum_tokens {
                    true => plain,
                    false => read.of(held) + write.of(tokens - held),
                };
                if let (Some(uncached), Some(cached)) = (out.uncached.get_mut(side), out.cached.get_mut(side))
                {
                    *uncached = *uncached + plain;
                    *cached = *cached + billed;
                }
            }
            last = Some(*size);
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn gain(rows: &[(u64, u64, Option<u64>)]) -> Gain {
        let mut gain = Gain::new();
        for (before, after, at) in rows {
            let at = at.map_or(String::new(), |at| format!(",\"at_ms\":{at}"));
            let line = format!("{{\"tokens_before\":{before},\"tokens_after\":{after}{at}}}\n");
            assert_eq!(gain.add_jsonl(line.as_bytes()).read, 1);
        }
        gain
    }

    #[test]
    fn what_was_sent_before_is_read_and_the_rest_is_new() {
        let prices = Prices::from_pico(3, 15, 1, 4);
        let policy = CachePolicy::anthropic_5m();
        let usd = |pico| Usd::from_pico(pico);
        let costs = gain(&[(2_000, 1_500, None), (3_000, 2_000, None)]).costs(&prices, &policy);
        assert_eq!(costs.uncached, [usd(15_000), usd(10_500)]);
        assert_eq!(costs.cached, [usd(8_000 + 2_000 + 4_000), usd(6_000 + 1_500 + 2_000)]);
        // A shorter one is another conversation; a long rest makes it cold; a short prompt is never cached.
        let costs = gain(&[(3_000, 3_000, None), (2_000, 2_000, None)]).costs(&prices, &policy);
        assert_eq!(costs.cached, [usd(20_000), usd(20_000)]);
        let rest =
            |ms: u64| gain(&[(2_000, 2_000, Some(1)), (2_000, 2_000, Some(1 + ms))]).costs(&prices, &policy);
        assert_eq!((rest(300_000).cold, rest(300_001).cold), (0, 1));
        assert_eq!((rest(300_000).cached[0], rest(300_001).cached[0]), (usd(10_000), usd(16_000)));
        let costs = gain(&[(100, 50, None), (200, 60, None)]).costs(&prices, &policy);
        assert_eq!(costs.cached, costs.uncached);
        let costs = gain(&[(2_000, 1_500, None), (3_000, 2_000, None)]).costs(&prices, &CachePolicy::none());
        assert_eq!(costs.cached, costs.uncached);
    }
}
