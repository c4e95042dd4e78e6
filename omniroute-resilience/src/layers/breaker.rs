//! Layer 1: stops sending to a provider that fails as a service. One leased probe finds out when it is back.

mod record;
mod rules;
mod step;
mod talk;

use omniroute_core::PermitId;

pub use rules::Rules;
pub use talk::{Answer, Asking, Reaction, Report};

/// Where a breaker stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum State {
    /// All is well.
    #[default]
    Closed,
    /// Failures are piling up; still granted.
    Degraded,
    /// Nothing is sent until a date.
    Open,
    /// One probe at a time finds out.
    HalfOpen,
}

/// An operator's word, above everything the breaker sees.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Forced {
    /// None.
    #[default]
    No,
    /// Send nothing.
    Open,
    /// Send everything.
    Closed,
}

/// What an attempt says about its provider.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// Valid content came.
    Success,
    /// The provider failed as a service.
    ProviderFailure,
    /// The provider answered, with something else than success.
    Alive,
    /// Nothing is known about the provider.
    Neutral,
}

/// One counted failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Mark {
    /// When, in milliseconds of the store.
    pub at: i64,
    /// Which connection, as a short hash.
    pub connection: u16,
    /// Which permit, as a short hash: the same report never counts twice.
    pub permit: u32,
}

/// The attempt that decides.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Probe {
    /// Its permit.
    pub permit: PermitId,
    /// It holds the half-open state until then.
    pub lease_until: i64,
    /// Which connection, as a short hash.
    pub connection: u16,
}

/// State of one breaker.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Breaker {
    /// Where it stands.
    pub state: State,
    /// The operator's word.
    pub forced: Forced,
    /// Grows on every transition and every reclaimed probe.
    pub generation: u64,
    /// Counted failures, oldest first, at most as many as open it.
    pub failures: Vec<Mark>,
    /// When it opened.
    pub opened_at: i64,
    /// Until when it stays open. Set once at opening.
    pub open_until: i64,
    /// Failed probes in a row.
    pub cycle: u32,
    /// When `cycle` was last right, for its decay.
    pub cycle_at: i64,
    /// The probe that is out.
    pub probe: Option<Probe>,
    /// Probes in a row without a verdict.
    pub inconclusive: u32,
    /// The connection whose probe brought no verdict, and until when another one is preferred.
    pub avoid: Option<(u16, i64)>,
    /// Opened on transport failures that nothing could confirm: short and without escalation.
    pub uncorroborated: bool,
    /// When it last closed after a probe; the ramp starts here.
    pub recovered_at: i64,
}

#[cfg(test)]
mod model;
#[cfg(test)]
mod tests;
