//! The bill of a session: simulated, replayed from a usage log, and the break-even of a rewrite.

use std::borrow::Borrow;

use super::cache::PrefixCache;
use super::policy::CachePolicy;
use super::price::{Price, Prices, Usd};
use super::request::Request;

/// Tokens by price class and what they cost: one request, or the sum of many.
///
/// Counts are tokens; sums saturate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Bill {
    /// Input read from the prompt cache.
    pub read: u64,
    /// Input written to the prompt cache.
    pub write: u64,
    /// Input that neither came from the cache nor was written to it at a price.
    pub uncached_input: u64,
    /// Output.
    pub output: u64,
    /// What all of it costs.
    pub cost: Usd,
}

/// The bill of a session.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Simulation {
    /// One bill per request, in order.
    pub rows: Vec<Bill>,
    /// Their sum.
    pub total: Bill,
    /// Requests that found the session's cache gone. In a replay: turns that read nothing.
    pub cold: u64,
}

/// One line of a provider's usage log, in tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct UsageRow {
    /// Plain input, without cache reads and writes.
    pub input: u64,
    /// Read from the prompt cache.
    pub cache_read: u64,
    /// Written to the prompt cache.
    pub cache_write: u64,
    /// Output.
    pub output: u64,
}

/// Plays the requests of one session, in order, against a prompt cache and returns the bill.
///
/// A request reads the longest prefix it shares with what the cache holds and can reach; the rest
/// is written or plain input as the policy says. Whether the cache is still there is decided by
/// [`Request::cold`], else by [`Request::at`] and the policy's lifetime. **With neither, no
/// request is ever cold.** A bill with long breaks in it can only be met with times, with flags,
/// or, from its own usage log, with [`replay_billed`].
///
/// Time is linear in the number of blocks; requests may be built one by one by the iterator.
pub fn simulate<I>(requests: I, prices: &Prices, policy: &CachePolicy) -> Simulation
where
    I: IntoIterator<Item: Borrow<Request>>,
{
    let mut cache = PrefixCache::new();
    let mut result = Simulation::default();
    for request in requests {
        let request = request.borrow();
        let split = cache.apply(request, policy);
        let bill = Bill {
            read: split.read,
            write: split.write,
            uncached_input: split.uncached_input,
            output: request.output_tokens,
            cost: Usd::default(),
        };
        result.push(bill.priced(prices, policy.write_price(prices)), split.cold);
    }
    result
}

/// Works out a session's cache reads and writes anew from the log of what was billed.
///
/// With P = cache reads + cache writes of a turn: a turn reads min(P of the turn before, P) and
/// writes the rest; it is cold and reads nothing when the log says so. Plain input and output are
/// as logged, writes are priced at [`Prices::cache_write`].
///
/// It reproduces the billed totals **because it uses the log**: that is a check of the cache model
/// and of the prices, not a forecast. A session without a log goes through [`simulate`], which
/// needs times or explicit cold flags.
#[must_use]
pub fn replay_billed(rows: &[UsageRow], prices: &Prices) -> Simulation {
    let mut result = Simulation::default();
    let mut before = 0_u64;
    for row in rows {
        let prefix = row.cache_read.saturating_add(row.cache_write);
        let cold = row.cache_read == 0;
        let read = if cold { 0 } else { before.min(prefix) };
        let bill = Bill {
            read,
            write: prefix - read,
            uncached_input: row.input,
            output: row.output,
            cost: Usd::default(),
        };
        result.push(bill.priced(prices, prices.cache_write), cold);
        before = prefix;
    }
    result
}

/// How many further requests it takes until rewriting a cached prefix has paid, or `None` for
/// never.
///
/// A rewrite that saves `saved_tokens` has to send the `suffix_tokens` from the first changed byte
/// to the end at the write price instead of the read price, once. It pays after the smallest whole
/// K with `K · saved · read > suffix · (write − read)`: K above 11.5 · suffix / saved for
/// Anthropic's five minutes, 1 · where reads cost half of input, 9 · where they cost a tenth. At a
/// cold point nothing of this applies: the prefix is written anyway and every saving counts.
#[must_use]
pub fn break_even_turns(
    suffix_tokens: u64,
    saved_tokens: u64,
    prices: &Prices,
    policy: &CachePolicy,
) -> Option<u64> {
    let (read, write) = (policy.read_price(prices), policy.write_price(prices));
    if write < read && suffix_tokens > 0 {
        return Some(0);
    }
    let once = Price::from_pico(write.pico().saturating_sub(read.pico())).of(suffix_tokens).pico();
    let per_turn = read.of(saved_tokens).pico();
    let turns = once.checked_div(per_turn)?;
    u64::try_from(turns).ok()?.checked_add(1)
}

impl Bill {
    fn priced(self, prices: &Prices, write: Price) -> Self {
        let parts = [
            prices.cache_read.of(self.read),
            write.of(self.write),
            prices.input.of(self.uncached_input),
            prices.output.of(self.output),
        ];
        Self { cost: parts.into_iter().sum(), ..self }
    }
}

impl Simulation {
    fn push(&mut self, row: Bill, cold: bool) {
        self.rows.push(row);
        self.cold += u64::from(cold);
        self.total = Bill {
            read: self.total.read.saturating_add(row.read),
            write: self.total.write.saturating_add(row.write),
            uncached_input: self.total.uncached_input.saturating_add(row.uncached_input),
            output: self.total.output.saturating_add(row.output),
            cost: self.total.cost + row.cost,
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SONNET: Prices = Prices::from_pico(3_000_000, 15_000_000, 300_000, 3_750_000);

    #[test]
    fn break_even_follows_the_price_ratio() {
        let half = Prices::from_pico(2_500_000, 10_000_000, 1_250_000, 2_500_000);
        let tenth = Prices::from_pico(1_250_000, 10_000_000, 125_000, 1_250_000);
        let (short, long) = (CachePolicy::anthropic_5m(), CachePolicy::anthropic_1h());
        let (openai, none) = (CachePolicy::openai(), CachePolicy::none());
        let free = Prices::from_pico(0, 0, 0, 0);
        let rows = [
            ("anthropic, S' = saved: above 11.5", 1_000, 1_000, SONNET, short, Some(12)),
            ("anthropic, S' = 2 saved: above 23", 2_000, 1_000, SONNET, short, Some(24)),
            ("anthropic, S' = 10 saved: above 115", 10_000, 1_000, SONNET, short, Some(116)),
            ("one hour: above 19", 1_000, 1_000, SONNET, long, Some(20)),
            ("half-price reads: above 1", 1_000, 1_000, half, openai, Some(2)),
            ("a tenth: above 9", 1_000, 1_000, tenth, openai, Some(10)),
            ("no cache: at once", 1_000, 1, tenth, none, Some(1)),
            ("nothing after the change", 0, 1, SONNET, short, Some(1)),
            ("nothing saved", 1_000, 0, SONNET, short, None),
            ("free reads", 1_000, 1_000, free, short, None),
            ("extremes", u64::MAX, 1, SONNET, short, None),
            ("extremes", u64::MAX, u64::MAX, SONNET, short, Some(12)),
        ];
        for (what, suffix, saved, prices, policy, want) in rows {
            assert_eq!(break_even_turns(suffix, saved, &prices, &policy), want, "{what}");
        }
    }

    #[test]
    fn a_log_is_replayed_by_the_prefix_of_the_turn_before() {
        let row =
            |input, cache_read, cache_write, output| UsageRow { input, cache_read, cache_write, output };
        let log = [
            row(3, 0, 1_000, 5),
            row(1, 990, 510, 5),
            row(1, 1_500, 0, 5),
            row(1, 0, 2_000, 5),
            row(1, 1, 99, 5),
        ];
        let replay = replay_billed(&log, &SONNET);
        let pairs: Vec<_> = replay.rows.iter().map(|row| (row.read, row.write)).collect();
        assert_eq!(pairs, [(0, 1_000), (1_000, 500), (1_500, 0), (0, 2_000), (100, 0)]);
        assert_eq!((replay.cold, replay.total.uncached_input, replay.total.output), (2, 7, 25));
        let pico = 2_600 * 300_000 + 3_500 * 3_750_000 + 7 * 3_000_000 + 25 * 15_000_000;
        assert_eq!(replay.total.cost, Usd::from_pico(pico));
    }

    #[test]
    fn an_empty_session_costs_nothing() {
        let nothing = simulate(Vec::<Request>::new(), &SONNET, &CachePolicy::anthropic_5m());
        assert_eq!(nothing, Simulation::default());
        assert_eq!(replay_billed(&[], &SONNET), Simulation::default());
    }
}
