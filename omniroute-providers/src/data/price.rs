//! Prices of one model at one provider, in whole 1e-12 USD.

use serde::{Deserialize, Serialize};

use super::codec::Codec;

/// Prices of a token, in 1e-12 USD. `None` is unknown, never zero.
///
/// 3 USD for a million tokens is `3_000_000`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Prices {
    /// Input that no cache served.
    #[serde(rename = "in", skip_serializing_if = "Option::is_none")]
    pub input: Option<u64>,
    /// Output.
    #[serde(rename = "out", skip_serializing_if = "Option::is_none")]
    pub output: Option<u64>,
    /// Input read from the vendor's cache; where unknown, input counts.
    #[serde(rename = "cr", skip_serializing_if = "Option::is_none")]
    pub cache_read: Option<u64>,
    /// Input written to the cache for five minutes; where unknown, input counts.
    #[serde(rename = "cw", skip_serializing_if = "Option::is_none")]
    pub cache_write: Option<u64>,
    /// Input written to the cache for an hour; where unknown, the five-minute price counts.
    #[serde(rename = "cw1h", skip_serializing_if = "Option::is_none")]
    pub cache_write_1h: Option<u64>,
    /// Output spent on reasoning; where unknown, output counts.
    #[serde(rename = "reason", skip_serializing_if = "Option::is_none")]
    pub reasoning: Option<u64>,
    /// Prices of long requests, shortest first.
    #[serde(rename = "over", skip_serializing_if = "Vec::is_empty")]
    pub long: Vec<LongContext>,
}

/// Prices that hold for a whole request whose input is longer than `tokens`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct LongContext {
    /// The input must be longer than this.
    pub tokens: u64,
    /// Input.
    #[serde(rename = "in", skip_serializing_if = "Option::is_none")]
    pub input: Option<u64>,
    /// Output.
    #[serde(rename = "out", skip_serializing_if = "Option::is_none")]
    pub output: Option<u64>,
    /// Cache read.
    #[serde(rename = "cr", skip_serializing_if = "Option::is_none")]
    pub cache_read: Option<u64>,
    /// Cache write, five minutes.
    #[serde(rename = "cw", skip_serializing_if = "Option::is_none")]
    pub cache_write: Option<u64>,
    /// Cache write, one hour.
    #[serde(rename = "cw1h", skip_serializing_if = "Option::is_none")]
    pub cache_write_1h: Option<u64>,
}

impl Prices {
    /// The prices that hold for a request with this much input, as a plain list without long-context prices.
    ///
    /// # Behavior
    /// - The longest matching entry replaces the prices of the whole request.
    /// - A part that the entry does not name keeps its proportion to input (reasoning: to output), rounded up.
    pub fn at(&self, input_tokens: u64) -> Prices {
        let plain = Prices { long: Vec::new(), ..self.clone() };
        let matching = self.long.iter().filter(|entry| input_tokens > entry.tokens);
        let Some(entry) = matching.max_by_key(|entry| entry.tokens) else { return plain };
        let input = entry.input.or(self.input);
        let output = entry.output.or(self.output);
        let beside_input = |part: Option<u64>| scaled(part, input, self.input);
        Prices {
            cache_read: entry.cache_read.or_else(|| beside_input(self.cache_read)),
            cache_write: entry.cache_write.or_else(|| beside_input(self.cache_write)),
            cache_write_1h: entry.cache_write_1h.or_else(|| beside_input(self.cache_write_1h)),
            reasoning: scaled(self.reasoning, output, self.output),
            input,
            output,
            long: Vec::new(),
        }
    }

    pub(crate) fn fields<'a>(&mut self, codec: &mut impl Codec<'a>) {
        for part in [
            &mut self.input,
            &mut self.output,
            &mut self.cache_read,
            &mut self.cache_write,
            &mut self.cache_write_1h,
            &mut self.reasoning,
        ] {
            codec.maybe_number(part);
        }
        codec.list(&mut self.long, |codec, entry| {
            codec.number(&mut entry.tokens);
            for part in [
                &mut entry.input,
                &mut entry.output,
                &mut entry.cache_read,
                &mut entry.cache_write,
                &mut entry.cache_write_1h,
            ] {
                codec.maybe_number(part);
            }
        });
    }
}

/// `part * now / before`, rounded up.
fn scaled(part: Option<u64>, now: Option<u64>, before: Option<u64>) -> Option<u64> {
    let (part, now, before) = (part?, now?, before.filter(|before| *before > 0)?);
    u64::try_from((u128::from(part) * u128::from(now)).div_ceil(u128::from(before))).ok()
}
