//! All built-in strategies. Parsing, documentation and bindings read this list.

use std::sync::Arc;

use omniroute_core::route::RoutingStrategy;

use crate::auto;
use crate::error::{ConfigCode, ConfigError};
use crate::names::nearest;
use crate::options::{OptionMap, OptionReader};
use crate::strategies as s;

/// A strategy as configurations know it.
#[derive(Debug)]
#[non_exhaustive]
pub struct StrategyEntry {
    /// Its name.
    pub id: &'static str,
    /// What it does, in one line.
    pub summary: &'static str,
    /// Other names for it.
    pub aliases: &'static [&'static str],
    /// It can choose among the accounts of one step.
    pub for_accounts: bool,
    /// Its settings: name, what it may be, default.
    pub options: &'static [(&'static str, &'static str)],
    /// Makes one from its settings; what is wrong stays with the reader.
    pub build: fn(&mut OptionReader<'_>) -> Arc<dyn RoutingStrategy>,
}

/// All strategies that a configuration may name, one line each.
pub const STRATEGIES: &[&StrategyEntry] = &[
    &s::priority::ENTRY,
    &s::weighted::ENTRY,
    &s::round_robin::ENTRY,
    &s::context_relay::ENTRY,
    &s::fill_first::ENTRY,
    &s::p2c::ENTRY,
    &s::random::ENTRY,
    &s::least_used::ENTRY,
    &s::cost_optimized::ENTRY,
    &s::reset_aware::ENTRY,
    &s::reset_window::ENTRY,
    &s::headroom::ENTRY,
    &s::strict_random::ENTRY,
    &auto::ENTRY,
    &s::lkgp::ENTRY,
    &s::context_optimized::ENTRY,
    &s::cache_optimized::ENTRY,
    &s::fusion::ENTRY,
    &s::pipeline::ENTRY,
];

/// Names that later versions may give to strategies; nobody else may.
pub const RESERVED: &[&str] = &["debate", "quota-weighted", "quota-share"];

/// The strategy of a name. Case does not count, `_` is `-`, other accepted names are found too.
///
/// # Errors
/// `unknown_strategy`, with the name that was probably meant. `path` says where the name stands.
pub fn strategy(name: &str, path: &str) -> Result<&'static StrategyEntry, ConfigError> {
    let wanted = name.trim().to_ascii_lowercase().replace('_', "-");
    let found =
        STRATEGIES.iter().find(|entry| entry.id == wanted || entry.aliases.contains(&wanted.as_str()));
    if let Some(entry) = found {
        return Ok(entry);
    }
    let shown: String = name.chars().take(40).collect();
    let hint = if RESERVED.contains(&wanted.as_str()) {
        "the name is reserved".to_owned()
    } else {
        match nearest(&wanted, STRATEGIES.iter().map(|entry| entry.id), 1).first() {
            Some(near) => format!("did you mean {near:?}"),
            None => {
                let all: Vec<_> = STRATEGIES.iter().map(|entry| entry.id).collect();
                format!("known are {}", all.join(", "))
            }
        }
    };
    let message = format!("{path} names strategy {shown:?}, which is not known; {hint}");
    Err(ConfigError::new(ConfigCode::UnknownStrategy, path, message))
}

impl StrategyEntry {
    /// A strategy with these settings. `path` says where they stand.
    ///
    /// # Errors
    /// Every setting that is unknown, of the wrong kind or out of bounds.
    pub fn with(
        &self,
        path: &str,
        options: &OptionMap,
    ) -> Result<Arc<dyn RoutingStrategy>, Vec<ConfigError>> {
        let mut reader = OptionReader::new(path, options);
        let strategy = (self.build)(&mut reader);
        reader.finish()?;
        Ok(strategy)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nineteen_with_distinct_names() {
        assert_eq!(STRATEGIES.len(), 19);
        let mut names: Vec<_> =
            STRATEGIES.iter().flat_map(|entry| entry.aliases.iter().chain([&entry.id])).collect();
        let all = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), all);
        for entry in STRATEGIES {
            let built = entry.with("x", &OptionMap::new()).unwrap();
            assert_eq!(built.id(), entry.id);
        }
    }

    #[test]
    fn names_are_found_in_every_accepted_form() {
        for (name, id) in [
            ("priority", "priority"),
            ("Round_Robin", "round-robin"),
            ("usage", "least-used"),
            ("context", "context-optimized"),
            ("weekly-reset", "reset-window"),
            ("reset_window_order", "reset-window"),
        ] {
            assert_eq!(strategy(name, "x").unwrap().id, id, "{name}");
        }
    }

    #[test]
    fn an_unknown_name_is_an_error_with_a_hint() {
        let said = |name| strategy(name, "combo.daily.strategy").unwrap_err().to_string();
        assert_eq!(
            said("priorty"),
            "combo.daily.strategy names strategy \"priorty\", which is not known; did you mean \"priority\""
        );
        assert!(said("debate").ends_with("the name is reserved"));
        assert!(said("quantum-annealing").contains("known are priority, weighted"));
    }
}
