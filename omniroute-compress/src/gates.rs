//! Gates that a combo may set for all its steps, on top of those that every change passes anyway.

use crate::config::ConfigError;

/// Saved tokens from which a change is worth it whatever its share.
const WORTH: u32 = 40;

/// What a text and a change must bring with them to be worth it. Those that keep facts are not among them: they hold for
/// everybody.
///
/// ```
/// use omniroute_compress::Gates;
/// let gates = Gates::default().min_gain(20).min_bytes(2_000);
/// assert_eq!(gates.to_string(), "min_gain = 20 %, min_bytes = 2000");
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Gates {
    min_gain: u8,
    min_bytes: usize,
}

impl Gates {
    /// Share of a text's tokens that a step must save, in percent, or else 40 tokens: 0 to 90. By default 0: as each
    /// engine judges itself. What is refused has the reason `no_gain` in the receipt.
    #[must_use]
    pub fn min_gain(mut self, percent: u8) -> Self {
        self.min_gain = percent;
        self
    }

    /// Texts with fewer bytes stay as they are: 0 to 4,194,304. By default 0: as each engine judges itself. The reason
    /// in the receipt is `below_min_bytes`.
    #[must_use]
    pub fn min_bytes(mut self, bytes: usize) -> Self {
        self.min_bytes = bytes;
        self
    }

    /// Mistakes in the numbers.
    pub(crate) fn check(&self) -> Vec<ConfigError> {
        let mut errors = Vec::new();
        let mut wrong = |key: &str, value: usize, most: usize| {
            if value > most {
                let message = format!("key \"{key}\": {value} is not a whole number from 0 to {most}");
                errors.push(ConfigError::new("gates", message));
            }
        };
        wrong("min_gain", usize::from(self.min_gain), 90);
        wrong("min_bytes", self.min_bytes, 4 << 20);
        errors
    }

    /// The reason not to work on a text.
    pub(crate) fn refuse_text(&self, text: &str) -> Option<&'static str> {
        (text.len() < self.min_bytes).then_some("below_min_bytes")
    }

    /// The reason not to take a change from the one number of tokens to the other.
    pub(crate) fn refuse_gain(&self, before: u32, after: u32) -> Option<&'static str> {
        let saved = before.saturating_sub(after);
        let share = u64::from(saved) * 100 >= u64::from(before) * u64::from(self.min_gain);
        (!share && saved < WORTH).then_some("no_gain")
    }
}

impl std::fmt::Display for Gates {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "min_gain = {} %, min_bytes = {}", self.min_gain, self.min_bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_small_share_passes_if_it_is_worth_it_and_a_wrong_number_is_named() {
        let gates = Gates::default().min_gain(10);
        assert_eq!(gates.refuse_gain(100, 90), None);
        assert_eq!(gates.refuse_gain(100, 91), Some("no_gain"));
        assert_eq!(gates.refuse_gain(10_000, 9_960), None, "40 tokens are worth it");
        assert_eq!(gates.refuse_gain(10_000, 9_961), Some("no_gain"));
        assert_eq!(Gates::default().refuse_gain(10_000, 9_999), None);
        let errors = Gates::default().min_gain(91).min_bytes(5 << 20).check();
        let errors: Vec<String> = errors.iter().map(ToString::to_string).collect();
        assert_eq!(
            errors,
            [
                "gates: key \"min_gain\": 91 is not a whole number from 0 to 90",
                "gates: key \"min_bytes\": 5242880 is not a whole number from 0 to 4194304"
            ]
        );
    }
}
