//! How one attempt ended: what strategies observe and what resilience learns from.

use std::sync::Arc;
use std::time::Duration;

use crate::clock::UnixMs;
use crate::failure::{Failure, QuotaWindow};
use crate::ids::Principal;
use crate::permit::{PermitId, Purpose};
use crate::target::Target;

/// What one attempt used up. Integers only.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, serde::Serialize)]
pub struct Spend {
    /// Tokens in and out, as the provider counts them.
    pub tokens: u64,
    /// Millionths of a US dollar.
    pub micro_usd: u64,
}

/// What a limit counts.
#[non_exhaustive]
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Unit {
    /// Share of an unknown whole, in millionths.
    Percent,
    /// Calls.
    Requests,
    /// Tokens in and out.
    Tokens,
    /// Millionths of a US dollar.
    Usd,
}

/// What an answer said about one allowance, whether the call failed or not.
#[non_exhaustive]
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LimitSeen {
    /// What is counted.
    pub unit: Unit,
    /// Over which span.
    pub window: QuotaWindow,
    /// A part of the connection's models, by the dialect's name for it; none: the whole connection.
    pub scope: Option<Arc<str>>,
    /// The whole allowance.
    pub limit: Option<u64>,
    /// What is left of it.
    pub remaining: Option<u64>,
    /// The used share in millionths, where the answer gives only that.
    pub used_ppm: Option<u32>,
    /// When it starts anew.
    pub resets_at: Option<UnixMs>,
}

impl LimitSeen {
    /// Nothing known yet about one allowance.
    pub fn new(unit: Unit, window: QuotaWindow) -> Self {
        LimitSeen { unit, window, scope: None, limit: None, remaining: None, used_ppm: None, resets_at: None }
    }

    /// The used share in millionths, if it can be told: given, or from limit and remaining.
    pub fn used(&self) -> Option<u32> {
        if let Some(used) = self.used_ppm {
            return Some(used);
        }
        let (limit, remaining) = (self.limit?, self.remaining?);
        if limit == 0 || remaining > limit {
            return None;
        }
        let used = u128::from(limit - remaining) * 1_000_000 / u128::from(limit);
        u32::try_from(used).ok()
    }
}

/// One attempt from its grant to its end. [`crate::Permit::outcome`] fills in who and what; the caller adds the rest.
#[non_exhaustive]
#[derive(Debug, Clone)]
pub struct Outcome {
    /// The client request the attempt belongs to.
    pub request: Option<Arc<str>>,
    /// The permit it ran under.
    pub permit: PermitId,
    /// Where it went.
    pub target: Target,
    /// The task class of the request, if it was told.
    pub class: Option<Arc<str>>,
    /// True if the target was chosen to learn about it.
    pub explored: bool,
    /// Why the attempt was made.
    pub purpose: Purpose,
    /// For whom.
    pub consumer: Principal,
    /// When it ended.
    pub at: UnixMs,
    /// From grant to end.
    pub latency: Duration,
    /// From grant to the first valid content, if there was any.
    pub first_content: Option<Duration>,
    /// What it used up, if known.
    pub spend: Option<Spend>,
    /// What the answer said about allowances.
    pub limits: Vec<LimitSeen>,
    /// Why it failed; none: it did not.
    pub failure: Option<Failure>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn used_share_comes_from_what_is_known() {
        let mut seen = LimitSeen::new(Unit::Requests, QuotaWindow::Minute);
        assert_eq!(seen.used(), None, "unknown is not zero");
        seen.limit = Some(60);
        assert_eq!(seen.used(), None);
        seen.remaining = Some(15);
        assert_eq!(seen.used(), Some(750_000));
        seen.remaining = Some(61);
        assert_eq!(seen.used(), None, "more left than there is");
        seen.used_ppm = Some(10);
        assert_eq!(seen.used(), Some(10));
    }
}
