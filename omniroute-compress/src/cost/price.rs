//! Prices and sums of money as whole numbers of 1e-12 USD, and a small table of known models.

use std::error::Error;
use std::fmt;
use std::iter::Sum;
use std::ops::Add;

/// Date of the prices behind [`Prices::of_model`].
pub const PRICES_AS_OF: &str = "2026-10-26";

/// The price of one token in 1e-12 USD, which is the same number as 1e-6 USD per million tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Price(u64);

/// What one model's tokens cost.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub struct Prices {
    /// A token of plain input.
    pub input: Price,
    /// A token of output.
    pub output: Price,
    /// A token read from the prompt cache.
    pub cache_read: Price,
    /// A token written to the prompt cache. Where writes are free: the price of plain input.
    pub cache_write: Price,
    /// A token written to the prompt cache for an hour. Default: twice plain input.
    pub cache_write_1h: Price,
}

/// A sum of money in 1e-12 USD. Adding saturates.
///
/// Displays as dollars with six decimals, or as many as asked for (`{:.2}`, at most 12), rounded
/// half up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Usd(u128);

/// Why a text is not a price.
#[non_exhaustive]
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PriceError {
    /// Not a plain decimal number such as `3` or `0.30`.
    NotANumber {
        /// The text, cut to 32 characters.
        text: String,
    },
    /// More than six digits after the point: not a whole number of 1e-12 USD per token.
    TooFine {
        /// The text, cut to 32 characters.
        text: String,
    },
    /// More than about 1.8e13 USD per million tokens.
    TooLarge {
        /// The text, cut to 32 characters.
        text: String,
    },
}

impl Price {
    /// A price in 1e-12 USD per token: 3 USD per million tokens are 3,000,000.
    #[must_use]
    pub const fn from_pico(pico_usd_per_token: u64) -> Self {
        Self(pico_usd_per_token)
    }

    /// The price in 1e-12 USD per token.
    #[must_use]
    pub const fn pico(self) -> u64 {
        self.0
    }

    /// Reads a price list's number of USD per million tokens, such as `3` or `0.075`, exactly.
    ///
    /// # Errors
    ///
    /// [`PriceError`] when the text is not a plain decimal number, has more than six digits after
    /// the point or is too large.
    pub fn from_usd_per_million(text: &str) -> Result<Self, PriceError> {
        let shown = || text.chars().take(32).collect::<String>();
        let (whole, decimals) = text.split_once('.').unwrap_or((text, "0"));
        let is_digits = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
        if !is_digits(whole) || !is_digits(decimals) {
            return Err(PriceError::NotANumber { text: shown() });
        }
        if decimals.len() > 6 {
            return Err(PriceError::TooFine { text: shown() });
        }
        let padding = std::iter::repeat_n(b'0', 6 - decimals.len());
        let mut micro = 0_u64;
        for digit in whole.bytes().chain(decimals.bytes()).chain(padding) {
            let next = micro.checked_mul(10).and_then(|sum| sum.checked_add(u64::from(digit - b'0')));
            micro = next.ok_or_else(|| PriceError::TooLarge { text: shown() })?;
        }
        Ok(Self(micro))
    }

    /// What this many tokens cost.
    #[must_use]
    pub const fn of(self, tokens: u64) -> Usd {
        Usd(self.0 as u128 * tokens as u128)
    }
}

impl Prices {
    /// Prices in 1e-12 USD per token; writes for an hour cost twice plain input.
    #[must_use]
    pub const fn from_pico(input: u64, output: u64, cache_read: u64, cache_write: u64) -> Self {
        Self {
            input: Price(input),
            output: Price(output),
            cache_read: Price(cache_read),
            cache_write: Price(cache_write),
            cache_write_1h: Price(input.saturating_mul(2)),
        }
    }

    /// Reads the four numbers of a price list, in USD per million tokens.
    ///
    /// # Errors
    ///
    /// [`PriceError`] of the first number that [`Price::from_usd_per_million`] refuses.
    ///
    /// ```
    /// use omniroute_compress::cost::Prices;
    /// let prices = Prices::from_usd_per_million("3", "15", "0.30", "3.75")?;
    /// assert_eq!(Some(prices), Prices::of_model("claude-sonnet-4-5"));
    /// # Ok::<(), omniroute_compress::cost::PriceError>(())
    /// ```
    pub fn from_usd_per_million(
        input: &str,
        output: &str,
        cache_read: &str,
        cache_write: &str,
    ) -> Result<Self, PriceError> {
        let pico = |text| Price::from_usd_per_million(text).map(Price::pico);
        Ok(Self::from_pico(pico(input)?, pico(output)?, pico(cache_read)?, pico(cache_write)?))
    }

    /// List prices of a well-known model by its vendor's own id, as of [`PRICES_AS_OF`].
    ///
    /// The base tier: some vendors charge more beyond a prompt length. `None` for other names;
    /// a name is never guessed at.
    #[must_use]
    pub fn of_model(name: &str) -> Option<Self> {
        let row = TABLE.iter().find(|row| row.0 == name)?;
        let &(_, input, output, cache_read, cache_write) = row;
        Some(Self::from_pico(input * KILO, output * KILO, cache_read * KILO, cache_write * KILO))
    }

    /// The names [`of_model`](Self::of_model) knows.
    pub fn known_models() -> impl Iterator<Item = &'static str> {
        TABLE.iter().map(|row| row.0)
    }
}

impl Usd {
    /// A sum in 1e-12 USD.
    #[must_use]
    pub const fn from_pico(pico_usd: u128) -> Self {
        Self(pico_usd)
    }

    /// The sum in 1e-12 USD.
    #[must_use]
    pub const fn pico(self) -> u128 {
        self.0
    }

    /// The sum in USD, for display and ratios only.
    #[must_use]
    pub fn to_f64(self) -> f64 {
        self.0 as f64 / PICO_PER_USD as f64
    }
}

impl Add for Usd {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }
}

impl Sum for Usd {
    fn sum<I: Iterator<Item = Self>>(iter: I) -> Self {
        iter.fold(Self::default(), Add::add)
    }
}

impl fmt::Display for Usd {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let digits = f.precision().unwrap_or(6).min(12);
        let unit = (digits..12).fold(1_u128, |unit, _| unit * 10);
        let shown = self.0.saturating_add(unit / 2) / unit;
        let per_dollar = PICO_PER_USD / unit;
        write!(f, "{}", shown / per_dollar)?;
        if digits > 0 {
            write!(f, ".{:0digits$}", shown % per_dollar)?;
        }
        Ok(())
    }
}

impl fmt::Display for PriceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (text, rule) = match self {
            Self::NotANumber { text } => (text, "a plain decimal number of usd per million tokens is needed"),
            Self::TooFine { text } => (text, "at most six digits may follow the point"),
            Self::TooLarge { text } => (text, "a price may not exceed 1.8e13 usd per million tokens"),
        };
        write!(f, "price {text:?}: {rule}")
    }
}

impl Error for PriceError {}

const PICO_PER_USD: u128 = 1_000_000_000_000;
const KILO: u64 = 1_000;

/// Id; then input, output, cache read and cache write in thousandths of a USD per million tokens.
///
/// A vendor without a price for writes has that of plain input.
type Row = (&'static str, u64, u64, u64, u64);

#[rustfmt::skip]
const TABLE: [Row; 18] = [
    ("claude-haiku-4-5",  1_000,  5_000,   100, 1_250),
    ("claude-opus-4-5",   5_000, 25_000,   500, 6_250),
    ("claude-opus-4-6",   5_000, 25_000,   500, 6_250),
    ("claude-opus-4-8",   5_000, 25_000,   500, 6_250),
    ("claude-opus-5",     5_000, 25_000,   500, 6_250),
    ("claude-sonnet-4-5", 3_000, 15_000,   300, 3_750),
    ("claude-sonnet-4-6", 3_000, 15_000,   300, 3_750),
    ("claude-sonnet-5",   2_000, 10_000,   200, 2_500),
    ("deepseek-chat",       280,    420,    28,   280),
    ("gemini-2.5-flash",    300,  2_500,    30,   300),
    ("gemini-2.5-pro",    1_250, 10_000,   125, 1_250),
    ("gpt-4.1",           2_000,  8_000,   500, 2_000),
    ("gpt-4o",            2_500, 10_000, 1_250, 2_500),
    ("gpt-4o-mini",         150,    600,    75,   150),
    ("gpt-5",             1_250, 10_000,   125, 1_250),
    ("gpt-5-mini",          250,  2_000,    25,   250),
    ("gpt-5.2",           1_750, 14_000,   175, 1_750),
    ("gpt-5.4",           2_500, 15_000,   250, 2_500),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decimal_prices_are_read_exactly() {
        let rows = [("3", 3_000_000), ("0.30", 300_000), ("0.075", 75_000), ("0.000001", 1), ("0", 0)];
        for (text, pico) in rows {
            assert_eq!(Price::from_usd_per_million(text), Ok(Price(pico)), "{text}");
        }
    }

    #[test]
    fn refused_prices_say_why() {
        let rows = [
            ("", "a plain decimal"),
            (".5", "a plain decimal"),
            ("5.", "a plain decimal"),
            ("-1", "a plain decimal"),
            ("1e3", "a plain decimal"),
            ("0.0000001", "at most six digits"),
            ("99999999999999", "may not exceed"),
        ];
        for (text, rule) in rows {
            let shown = Price::from_usd_per_million(text).unwrap_err().to_string();
            assert!(shown.starts_with(&format!("price {text:?}: ")) && shown.contains(rule), "{shown}");
        }
        let long = Price::from_usd_per_million(&"x".repeat(1_000)).unwrap_err().to_string();
        assert!(long.len() < 120, "{long}");
    }

    #[test]
    fn money_is_shown_without_floats() {
        let sum = Usd::from_pico(30_312_745_200_000);
        assert_eq!(format!("{sum} {sum:.2} {sum:.0} {sum:.20}"), "30.312745 30.31 30 30.312745200000");
        assert_eq!(format!("{:.2}", Usd::from_pico(995_000_000_000)), "1.00");
        assert!((sum.to_f64() - 30.312_745_2).abs() < 1e-9);
        assert_eq!(Price(u64::MAX).of(u64::MAX) + Usd(u128::MAX), Usd(u128::MAX));
    }

    #[test]
    fn the_table_is_sorted_and_reads_cost_least() {
        assert!(TABLE.is_sorted_by(|a, b| a.0 < b.0));
        for name in Prices::known_models() {
            let prices = Prices::of_model(name).unwrap();
            assert!(prices.cache_read < prices.input && prices.input <= prices.cache_write, "{name}");
        }
        assert_eq!(Prices::of_model("claude-sonnet"), None);
    }
}
