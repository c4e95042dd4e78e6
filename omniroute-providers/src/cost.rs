//! What a call costs, part by part, in whole 1e-12 USD.

use omniroute_core::{UnixMs, Usage, Usd};

use crate::data::Prices;

/// Days after which prices count as stale.
pub const STALE_AFTER_DAYS: i64 = 60;

/// A kind of token on the bill.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Part {
    /// Input that no cache served or stored.
    Input,
    /// Input read from the cache.
    CacheRead,
    /// Input written to the cache for five minutes.
    CacheWrite,
    /// Input written to the cache for an hour.
    CacheWrite1h,
    /// Output without reasoning.
    Output,
    /// Reasoning.
    Reasoning,
}

/// One line of the bill.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct BillLine {
    /// What was used.
    pub part: Part,
    /// How much of it, never zero.
    pub tokens: u64,
    /// Price of one token in 1e-12 USD; `None` is unknown.
    pub price: Option<u64>,
    /// Tokens times price; `None` is unknown.
    pub amount: Option<Usd>,
}

/// A bill.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Bill {
    /// The sum; `None` as soon as one line is unknown.
    pub total: Option<Usd>,
    /// What was used, in the order of [`Part`].
    pub lines: Vec<BillLine>,
    /// The input length above which the prices of this request hold; `None` if it was not long.
    pub long_context: Option<u64>,
    /// The prices are older than [`STALE_AFTER_DAYS`]; `None` if no time was given.
    pub stale: Option<bool>,
}

/// The day the prices are from and the time of the call, to tell stale prices.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PriceAge<'a> {
    /// Day of the prices, `YYYY-MM-DD`.
    pub as_of: &'a str,
    /// Time of the call.
    pub now: UnixMs,
}

/// The bill for `usage` at `prices`.
///
/// # Behavior
/// - A part without a price of its own costs as the one it is a special case of: cache read and write as input,
///   the one-hour write as the five-minute write, reasoning as output.
/// - A used part whose price is unknown makes the total unknown. An unused part needs no price.
/// - Prices of long requests hold for the whole request, see [`Prices::at`].
/// - Whole numbers throughout; a sum beyond 128 bits stays at the largest amount.
///
/// ```
/// use omniroute_core::{Usage, Usd};
/// use omniroute_providers::{Prices, cost};
///
/// let prices = Prices {
///     input: Some(3_000_000),
///     output: Some(15_000_000),
///     cache_read: Some(300_000),
///     cache_write: Some(3_750_000),
///     ..Prices::default()
/// };
/// let usage = Usage { input: 1_000, cache_read: 8_000, cache_write: 1_000, output: 500, ..Usage::default() };
/// assert_eq!(cost(&usage, &prices, None).total, Some(Usd::from_pico(16_650_000_000)));
/// ```
pub fn cost(usage: &Usage, prices: &Prices, when: Option<PriceAge<'_>>) -> Bill {
    let input_tokens = usage.input_total();
    let long = prices.long.iter().map(|entry| entry.tokens).filter(|tokens| input_tokens > *tokens).max();
    let at = prices.at(input_tokens);
    let write = at.cache_write.or(at.input);
    let parts = [
        (Part::Input, usage.input, at.input),
        (Part::CacheRead, usage.cache_read, at.cache_read.or(at.input)),
        (Part::CacheWrite, usage.cache_write, write),
        (Part::CacheWrite1h, usage.cache_write_1h, at.cache_write_1h.or(write)),
        (Part::Output, usage.output.saturating_sub(usage.reasoning), at.output),
        (Part::Reasoning, usage.reasoning, at.reasoning.or(at.output)),
    ];
    let lines: Vec<BillLine> = parts
        .into_iter()
        .filter(|(_, tokens, _)| *tokens > 0)
        .map(|(part, tokens, price)| {
            let amount = price.map(|price| Usd::from_pico(u128::from(tokens) * u128::from(price)));
            BillLine { part, tokens, price, amount }
        })
        .collect();
    let total = lines.iter().try_fold(Usd::ZERO, |sum, line| Some(sum.plus(line.amount?)));
    Bill { total, lines, long_context: long, stale: when.map(|age| stale(age.as_of, age.now)) }
}

/// Whether something of the day `as_of` is stale at `now`; a day that is none counts as stale.
pub(crate) fn stale(as_of: &str, now: UnixMs) -> bool {
    day_number(as_of).is_none_or(|day| now.0.div_euclid(86_400_000) - day > STALE_AFTER_DAYS)
}

/// Days from 1970-01-01 to a day of the Gregorian calendar written `YYYY-MM-DD`.
pub(crate) fn day_number(day: &str) -> Option<i64> {
    let [year, month, date] = day.split('-').collect::<Vec<_>>().try_into().ok()?;
    if (year.len(), month.len(), date.len()) != (4, 2, 2)
        || !day.bytes().all(|b| b == b'-' || b.is_ascii_digit())
    {
        return None;
    }
    let (year, month, date): (i64, i64, i64) = (year.parse().ok()?, month.parse().ok()?, date.parse().ok()?);
    let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let lengths = [31, if leap { 29 } else { 28 }, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
    let length = lengths.get(usize::try_from(month - 1).ok()?)?;
    if !(1..=*length).contains(&date) {
        return None;
    }
    let before = (year - 1) * 365 + (year - 1) / 4 - (year - 1) / 100 + (year - 1) / 400;
    let in_year: i64 = lengths.iter().take(usize::try_from(month - 1).ok()?).sum();
    Some(before + in_year + date - 1 - 719_162)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_are_counted_from_1970() {
        let cases = [
            ("1970-01-01", Some(0)),
            ("2000-03-01", Some(11_017)),
            ("2024-02-29", Some(19_782)),
            ("2026-10-26", Some(20_752)),
            ("2026-02-29", None),
            ("2026-13-01", None),
            ("2026-1-01", None),
            ("+026-01-01", None),
            ("", None),
        ];
        for (day, number) in cases {
            assert_eq!(day_number(day), number, "{day}");
        }
    }

    #[test]
    fn prices_grow_old() {
        let at = |day: i64| UnixMs(day * 86_400_000);
        assert!(!stale("2026-10-26", at(20_752 + 60)));
        assert!(stale("2026-10-26", at(20_752 + 61)));
        assert!(stale("soon", at(0)));
    }
}
