//! Why there is no plan, with the status and code that a client gets.

use std::fmt;

use super::drop::DropReason;
use crate::clock::UnixMs;

/// What is wrong. Each kind has one code and one HTTP status.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum RouteErrorKind {
    /// The request names no model.
    MissingModel,
    /// Several configured providers have a model of this name.
    AmbiguousModel,
    /// Nobody has a model of this name.
    UnknownModel,
    /// A name that begins like `auto` and is none of its forms.
    UnknownAutoName,
    /// The budget is no positive number.
    BadBudget,
    /// No candidate can do what the request needs.
    CapabilityMismatch,
    /// The request is larger than every known window.
    ContextLengthExceeded,
    /// A panel without members.
    EmptyPanel,
    /// A chain without steps.
    EmptyPipeline,
    /// More members than a panel may have.
    PanelTooLarge,
    /// Every candidate costs more than the request may.
    BudgetExceeded,
    /// Names, filters and expansion left nothing to try.
    NoExecutableTargets,
    /// Every credential is missing or refused.
    Unauthorized,
    /// Every allowance is below its cutoff.
    QuotaCutoff,
    /// Every connection rests.
    AllConnectionsCooling,
    /// Every connection has as many attempts as it may have.
    LocalCapacity,
    /// Every provider's breaker is open.
    ProviderCircuitOpen,
    /// A strategy of the host answered with something that is no plan.
    StrategyError,
}

impl RouteErrorKind {
    /// Every kind, in the order of declaration.
    pub const ALL: [RouteErrorKind; 18] = [
        RouteErrorKind::MissingModel,
        RouteErrorKind::AmbiguousModel,
        RouteErrorKind::UnknownModel,
        RouteErrorKind::UnknownAutoName,
        RouteErrorKind::BadBudget,
        RouteErrorKind::CapabilityMismatch,
        RouteErrorKind::ContextLengthExceeded,
        RouteErrorKind::EmptyPanel,
        RouteErrorKind::EmptyPipeline,
        RouteErrorKind::PanelTooLarge,
        RouteErrorKind::BudgetExceeded,
        RouteErrorKind::NoExecutableTargets,
        RouteErrorKind::Unauthorized,
        RouteErrorKind::QuotaCutoff,
        RouteErrorKind::AllConnectionsCooling,
        RouteErrorKind::LocalCapacity,
        RouteErrorKind::ProviderCircuitOpen,
        RouteErrorKind::StrategyError,
    ];

    /// Stable code for programs and other languages.
    pub const fn code(self) -> &'static str {
        self.row().0
    }

    /// The HTTP status a client gets.
    pub const fn status(self) -> u16 {
        self.row().1
    }

    const fn row(self) -> (&'static str, u16) {
        match self {
            RouteErrorKind::MissingModel => ("missing_model", 400),
            RouteErrorKind::AmbiguousModel => ("ambiguous_model", 400),
            RouteErrorKind::UnknownModel => ("unknown_model", 404),
            RouteErrorKind::UnknownAutoName => ("unknown_auto_name", 400),
            RouteErrorKind::BadBudget => ("bad_budget", 400),
            RouteErrorKind::CapabilityMismatch => ("capability_mismatch", 400),
            RouteErrorKind::ContextLengthExceeded => ("context_length_exceeded", 400),
            RouteErrorKind::EmptyPanel => ("empty_panel", 400),
            RouteErrorKind::EmptyPipeline => ("empty_pipeline", 400),
            RouteErrorKind::PanelTooLarge => ("panel_too_large", 400),
            RouteErrorKind::BudgetExceeded => ("budget_exceeded", 402),
            RouteErrorKind::NoExecutableTargets => ("no_executable_targets", 404),
            RouteErrorKind::Unauthorized => ("unauthorized", 401),
            RouteErrorKind::QuotaCutoff => ("quota_cutoff", 429),
            RouteErrorKind::AllConnectionsCooling => ("all_connections_cooling", 429),
            RouteErrorKind::LocalCapacity => ("local_capacity", 429),
            RouteErrorKind::ProviderCircuitOpen => ("provider_circuit_open", 503),
            RouteErrorKind::StrategyError => ("strategy_error", 500),
        }
    }
}

/// Why there is no plan.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct RouteError {
    /// What is wrong.
    pub kind: RouteErrorKind,
    /// In words: the value, the place and the rule.
    pub message: String,
    /// How many candidates were dropped for which reason, in the order of the reasons.
    pub dropped: Vec<(DropReason, u32)>,
    /// Names that may have been meant, or models that could serve.
    pub suggestions: Vec<String>,
    /// When trying again makes sense, if time helps.
    pub retry_at: Option<UnixMs>,
}

impl RouteError {
    /// An error with a message and nothing else.
    pub fn new(kind: RouteErrorKind, message: impl Into<String>) -> Self {
        RouteError {
            kind,
            message: message.into(),
            dropped: Vec::new(),
            suggestions: Vec::new(),
            retry_at: None,
        }
    }
}

impl fmt::Display for RouteError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)?;
        for (i, (reason, count)) in self.dropped.iter().enumerate() {
            write!(f, "{}{} {}", if i == 0 { "; dropped: " } else { ", " }, count, reason.code())?;
        }
        if !self.suggestions.is_empty() {
            write!(f, "; try {}", self.suggestions.join(", "))?;
        }
        Ok(())
    }
}

impl std::error::Error for RouteError {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_lists_what_was_dropped() {
        let mut error = RouteError::new(RouteErrorKind::NoExecutableTargets, "combo \"x\" has no target");
        error.dropped = vec![(DropReason::Disabled, 2), (DropReason::Cooling, 1)];
        error.suggestions = vec!["y".to_owned()];
        let text = "combo \"x\" has no target; dropped: 2 disabled, 1 cooling; try y";
        assert_eq!(error.to_string(), text);
        let mut codes: Vec<_> = RouteErrorKind::ALL.iter().map(|kind| kind.code()).collect();
        codes.sort_unstable();
        codes.dedup();
        assert_eq!(codes.len(), RouteErrorKind::ALL.len());
    }
}
