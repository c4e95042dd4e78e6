//! Money: list prices of a model and the cache of its vendor.

use omniroute_compress::cost::{CachePolicy, PRICES_AS_OF, Price, Prices, Usd};
use omniroute_compress::gain::Gain;

use crate::exit::Failure;

/// Prices of a model.
#[derive(Debug, Clone)]
pub(crate) struct Market {
    model: String,
    prices: Prices,
    cache: CachePolicy,
}

impl Market {
    /// The list prices of a model, by its vendor's own name with or without the vendor in front.
    pub(crate) fn of(model: &str) -> Result<Market, Failure> {
        let name = model.rsplit('/').next().unwrap_or(model);
        let Some(prices) = Prices::of_model(name) else {
            let shown: String = model.chars().take(60).collect();
            let known: Vec<&str> = Prices::known_models().collect();
            return Err(Failure::usage(format!(
                "no prices of {shown:?} are known; --model takes {}",
                known.join(", ")
            )));
        };
        Ok(Market { model: name.to_owned(), prices, cache: CachePolicy::of_model(name) })
    }

    /// One line about one request: plain, new to the cache, read from it.
    pub(crate) fn line(&self, before: u64, after: u64) -> String {
        let pair = |price: Price| format!("{:.6} -> {:.6} USD", price.of(before), price.of(after));
        format!(
            "input: {} uncached, {} new to the cache, {} read from it ({}, list prices of {PRICES_AS_OF})",
            pair(self.prices.input),
            pair(self.cache.write_price(&self.prices)),
            pair(self.prices.cache_read),
            self.model
        )
    }

    /// Lines about all requests of receipts.
    pub(crate) fn bill(&self, gain: &Gain) -> String {
        let costs = gain.costs(&self.prices, &self.cache);
        let pair = |[before, after]: [Usd; 2]| format!("{before:.4} -> {after:.4} USD");
        format!(
            "\ninput at the list prices of {} ({PRICES_AS_OF})\n  without a prompt cache  {}\n  with its prompt cache   {}{}\n",
            self.model,
            pair(costs.uncached),
            pair(costs.cached),
            match costs.cold {
                0 => String::new(),
                1 => ", 1 request found it cold".to_owned(),
                cold => format!(", {cold} requests found it cold"),
            }
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_request_has_three_prices() {
        let line = Market::of("anthropic/claude-sonnet-4-5").unwrap().line(1_000_000, 500_000);
        assert!(
            line.starts_with(
                "input: 3.000000 -> 1.500000 USD uncached, 3.750000 -> 1.875000 USD new to the cache, \
                 0.300000 -> 0.150000 USD read from it (claude-sonnet-4-5, list prices of "
            ),
            "{line}"
        );
        assert!(Market::of("no-such-model").is_err());
    }
}
