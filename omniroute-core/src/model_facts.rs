//! What may be asked about a model without knowing who keeps the answers: facts, cost, version.

use std::fmt;

/// Facts about models, for whoever chooses among them. The catalogue implements it.
pub trait ModelFacts: Send + Sync + fmt::Debug + 'static {
    /// Facts about `model` at `provider`; `None` if there is no row.
    ///
    /// # Behavior
    /// - What is not known is `None` in the answer, never zero and never false.
    /// - Never the facts of another provider.
    fn lookup(&self, provider: &str, model: &str) -> Option<ModelFact>;

    /// What a call costs.
    ///
    /// # Behavior
    /// - [`Cost::Unknown`] as soon as one used part has no price.
    /// - A cost that the vendor reported wins.
    fn cost(&self, provider: &str, model: &str, usage: &Usage) -> Cost;

    /// Changes whenever an answer may change; begins with the day of the facts.
    fn version(&self) -> &str;
}

/// Facts about one model at one provider. `None` is unknown.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ModelFact {
    /// Input and output together, in tokens.
    pub context_window: Option<u64>,
    /// Longest input, in tokens.
    pub max_input: Option<u64>,
    /// Longest output, in tokens.
    pub max_output: Option<u64>,
    /// What the model can do.
    pub capabilities: Capabilities,
    /// Rough class by name, a hint for a start without measurements: 0 small, 1 mid, 2 frontier.
    pub tier: Option<u8>,
    /// Price of an input token, in 1e-12 USD.
    pub input_price: Option<u64>,
    /// Price of an output token, in 1e-12 USD.
    pub output_price: Option<u64>,
    /// Price of an input token from the vendor's cache, in 1e-12 USD.
    pub cache_read_price: Option<u64>,
    /// Calls cost nothing.
    pub free: bool,
}

impl ModelFact {
    /// Prices as people write them, in US dollars for a million tokens; none: unknown. Both 0: calls cost nothing.
    ///
    /// ```
    /// let fact = omniroute_core::ModelFact::default().usd(Some(3.0), Some(15.0));
    /// assert_eq!((fact.input_price, fact.free), (Some(3_000_000), false));
    /// ```
    #[must_use]
    pub fn usd(mut self, input: Option<f64>, output: Option<f64>) -> Self {
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "a price; `as` stops at the bounds"
        )]
        let pico = |usd: f64| (usd * 1e6).round() as u64;
        (self.input_price, self.output_price) = (input.map(pico), output.map(pico));
        self.free = input == Some(0.0) && output == Some(0.0);
        self
    }
}

/// Something a model can or cannot do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Capability {
    /// Calls tools.
    Tools,
    /// Several tool calls in one turn.
    ParallelTools,
    /// Holds to a JSON schema.
    JsonSchema,
    /// Reasons before it answers.
    Reasoning,
    /// The vendor caches prefixes.
    PromptCache,
    /// Reads images.
    ImageInput,
    /// Reads PDF files.
    PdfInput,
    /// Reads audio.
    AudioInput,
    /// Reads video.
    VideoInput,
    /// Speaks.
    AudioOutput,
}

/// What is known about each [`Capability`]: yes, no, or nothing.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Capabilities {
    yes: u64,
    no: u64,
}

impl Capabilities {
    /// Whether the model can; `None` if nobody knows.
    pub fn get(self, capability: Capability) -> Option<bool> {
        let bit = 1 << capability as u32;
        if self.yes & bit != 0 {
            Some(true)
        } else if self.no & bit != 0 {
            Some(false)
        } else {
            None
        }
    }

    /// Notes what is known.
    pub fn set(&mut self, capability: Capability, can: Option<bool>) {
        let bit = 1 << capability as u32;
        self.yes &= !bit;
        self.no &= !bit;
        match can {
            Some(true) => self.yes |= bit,
            Some(false) => self.no |= bit,
            None => {}
        }
    }
}

/// Tokens of one call, as billed. The four kinds of input are disjoint.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Usage {
    /// Input that no cache served or stored.
    pub input: u64,
    /// Input read from the vendor's cache.
    pub cache_read: u64,
    /// Input written to the cache for five minutes, or without a stated time.
    pub cache_write: u64,
    /// Input written to the cache for an hour.
    pub cache_write_1h: u64,
    /// All output, reasoning included.
    pub output: u64,
    /// The part of the output that was reasoning.
    pub reasoning: u64,
    /// The cost, if the vendor reported it.
    pub reported: Option<Usd>,
}

impl Usage {
    /// All input.
    pub fn input_total(&self) -> u64 {
        [self.cache_read, self.cache_write, self.cache_write_1h]
            .into_iter()
            .fold(self.input, u64::saturating_add)
    }
}

/// An amount of money in whole 1e-12 USD.
///
/// Shown with six decimals, half to even.
///
/// ```
/// assert_eq!(omniroute_core::Usd::from_pico(16_650_000_000).to_string(), "0.016650");
/// ```
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Usd(u128);

impl Usd {
    /// Nothing.
    pub const ZERO: Usd = Usd(0);

    /// This many 1e-12 USD.
    pub const fn from_pico(pico: u128) -> Self {
        Usd(pico)
    }

    /// In 1e-12 USD.
    pub const fn pico(self) -> u128 {
        self.0
    }

    /// The sum, at most the largest amount.
    #[must_use]
    pub const fn plus(self, other: Usd) -> Usd {
        Usd(self.0.saturating_add(other.0))
    }
}

impl fmt::Display for Usd {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const STEP: u128 = 1_000_000;
        let (whole, rest) = (self.0 / STEP, self.0 % STEP);
        let up = rest > STEP / 2 || (rest == STEP / 2 && whole % 2 == 1);
        let micro = whole + u128::from(up);
        write!(f, "{}.{:06}", micro / STEP, micro % STEP)
    }
}

/// What a call costs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Cost {
    /// Nobody knows.
    Unknown,
    /// Nothing.
    Free,
    /// Covered by a subscription; the estimate is what the same tokens cost elsewhere at the row's prices.
    Flat {
        /// Worth of the tokens, if the row has prices.
        estimate: Option<Usd>,
    },
    /// This much.
    Known(Usd),
}

impl Cost {
    /// What one more call adds to the bill; `None` if unknown.
    pub fn marginal(self) -> Option<Usd> {
        match self {
            Cost::Unknown => None,
            Cost::Free | Cost::Flat { .. } => Some(Usd::ZERO),
            Cost::Known(amount) => Some(amount),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unknown_is_neither_yes_nor_no() {
        let mut known = Capabilities::default();
        assert_eq!(known.get(Capability::Tools), None);
        for can in [Some(true), Some(false), None] {
            known.set(Capability::Tools, can);
            assert_eq!(known.get(Capability::Tools), can);
            assert_eq!(known.get(Capability::AudioOutput), None);
        }
    }

    #[test]
    fn money_is_shown_half_to_even() {
        let cases = [
            (0, "0.000000"),
            (500_000, "0.000000"),
            (500_001, "0.000001"),
            (1_500_000, "0.000002"),
            (2_500_000, "0.000002"),
            (999_999_500_000, "1.000000"),
            (1_234_567_000_000, "1.234567"),
        ];
        for (pico, shown) in cases {
            assert_eq!(Usd::from_pico(pico).to_string(), shown, "{pico}");
        }
    }

    #[test]
    fn unknown_cost_is_not_nothing() {
        assert_eq!(Cost::Unknown.marginal(), None);
        assert_eq!(Cost::Free.marginal(), Some(Usd::ZERO));
        assert_eq!(Cost::Known(Usd::from_pico(3)).marginal(), Some(Usd::from_pico(3)));
    }
}
