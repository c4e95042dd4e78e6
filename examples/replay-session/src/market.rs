//! Whose prices, prompt cache and tokens count.

use omniroute_compress::cost::{CachePolicy, Prices};
use omniroute_core::Family;

use crate::Failure;

/// The model of whose vendor the bill is, if the session names none that has a price.
const DEFAULT: &str = "claude-sonnet-4-5";
/// The model of the comparison in the closing lines.
const COMPARED: &str = "gpt-5";

/// A model with its prices and its vendor's prompt cache.
#[derive(Debug)]
pub(crate) struct Market {
    pub(crate) model: String,
    pub(crate) prices: Prices,
    pub(crate) policy: CachePolicy,
    /// The cache in words.
    pub(crate) cache: &'static str,
}

impl Market {
    /// The model asked for, else the recorded one if it has a price, else the default.
    ///
    /// # Errors
    /// [`Failure::Usage`] if the model asked for has no price.
    pub(crate) fn choose(asked: Option<&str>, recorded: Option<&str>) -> Result<Market, Failure> {
        if let Some(asked) = asked {
            return Market::of(asked).ok_or_else(|| {
                let known: Vec<_> = Prices::known_models().collect();
                Failure::Usage(format!(
                    "--model {asked:?}: no price is known; known are {}",
                    known.join(", ")
                ))
            });
        }
        Ok(recorded.and_then(Market::of).unwrap_or_else(|| Market::known(DEFAULT)))
    }

    /// Another vendor's model, for comparison.
    pub(crate) fn other(&self) -> Market {
        let compared = Market::known(COMPARED);
        if compared.cache == self.cache { Market::known(DEFAULT) } else { compared }
    }

    fn of(model: &str) -> Option<Market> {
        let prices = Prices::of_model(model)?;
        let (policy, cache) = match Family::of_model(model) {
            Family::Claude | Family::ClaudeNew => {
                (CachePolicy::anthropic_5m(), "Anthropic's cache of 5 minutes")
            }
            Family::O200k | Family::Cl100k => (CachePolicy::openai(), "OpenAI's automatic cache"),
            _ => (CachePolicy::automatic(), "an automatic cache"),
        };
        Some(Market { model: model.to_owned(), prices, policy, cache })
    }

    fn known(model: &str) -> Market {
        Market::of(model).expect("both models named in this file are in the price list")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn models_are_chosen_in_order() {
        let chosen = |asked, recorded| Market::choose(asked, recorded).map(|m| m.model).ok();
        assert_eq!(chosen(Some("gpt-5"), Some("claude-sonnet-4-5")).as_deref(), Some("gpt-5"));
        assert_eq!(chosen(None, Some("gpt-5")).as_deref(), Some("gpt-5"));
        assert_eq!(chosen(None, Some("demo")).as_deref(), Some(DEFAULT));
        assert_eq!(chosen(Some("demo"), None), None);
        for model in Prices::known_models() {
            let market = Market::of(model).unwrap();
            assert_ne!(market.cache, market.other().cache, "{model}");
        }
    }
}
