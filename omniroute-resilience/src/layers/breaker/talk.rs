//! What a breaker is asked and told, and what it answers.

use omniroute_core::PermitId;

use crate::layers::breaker::{State, Verdict};

/// Who asks to be let through.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Asking {
    /// Under which permit.
    pub permit: PermitId,
    /// With which connection, as a short hash.
    pub connection: u16,
    /// Whether another connection could probe instead.
    pub others: bool,
}

/// The answer to [`Breaker::admit`](super::Breaker::admit).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Answer {
    /// Go.
    Grant,
    /// Go; this attempt decides.
    Probe,
    /// Not before this date.
    Deny(i64),
}

/// What an attempt reports.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Report {
    /// What it says.
    pub verdict: Verdict,
    /// The generation its permit saw.
    pub generation: u64,
    /// Its permit.
    pub permit: PermitId,
    /// Its connection, as a short hash.
    pub connection: u16,
    /// When it started, on the store's clock.
    pub started: i64,
    /// Whether one connection alone may open the breaker: it is the only one, or no sibling succeeded lately.
    pub alone_may_open: bool,
    /// Whether there is only one eligible connection, so that breadth cannot be asked for.
    pub single: bool,
    /// A transport failure that nothing else confirms.
    pub uncorroborated: bool,
}

/// What a step did.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Reaction {
    /// Whether the record must be written.
    pub changed: bool,
    /// From where to where it went.
    pub transition: Option<(State, State)>,
    /// The report came too late to matter.
    pub late: bool,
    /// A hung probe lost its lease.
    pub reclaimed: bool,
}
