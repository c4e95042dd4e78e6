//! Nothing may be used: one answer, with status, code and time from one and the same candidate.

use std::time::Duration;

use omniroute_core::{Failure, FailureKind, Moment, Mono, UnixMs};

use crate::layers::connection::Terminal;

/// Why a candidate cannot be used now.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, serde::Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Blocked {
    /// No such connection, or not any more.
    NotConfigured,
    /// Switched off by an operator.
    Disabled,
    /// Somebody else holds it exclusively.
    LeaseHeld,
    /// The caller must hold a lease and does not.
    LeaseRequired,
    /// The caller's lease is of an older generation, moved, or has ended.
    LeaseStale,
    /// The caller's lease is on another connection.
    LeaseMismatch,
    /// Leases cannot be checked: the store is away.
    LeaseUnavailable,
    /// It is over with this connection.
    Terminal(Terminal),
    /// It rests after too many calls.
    RateLimited,
    /// An allowance is used up.
    QuotaExhausted,
    /// It rests after an overload.
    Overloaded,
    /// It rests after its credential was refused.
    AuthRetry,
    /// It rests after it was forbidden something.
    Forbidden,
    /// It rests after failures of the network.
    Transport,
    /// It rests after failures of the service.
    ServerError,
    /// An operator put it to rest.
    Manual,
    /// The model is locked: it is not there.
    ModelNotFound,
    /// The model is locked: too many calls, no capacity, errors.
    ModelLocked,
    /// The model's allowance is used up.
    ModelQuota,
    /// Our own limit of starts.
    RateLimit,
    /// Our own limit of attempts at once.
    Slots,
    /// The consumer has had its share of the pool.
    QuotaShare,
    /// The provider's breaker is open or probing.
    Breaker,
    /// The provider has just come back and is spared.
    ProviderRamp,
    /// The request has had all the attempts it may have.
    Attempts,
    /// The provider has had all the retries it may have.
    RetryBudget,
}

impl Blocked {
    /// Whether it is worth waiting for: short by nature, and not for what nobody can change by waiting.
    pub fn waitable(self) -> bool {
        use Blocked as B;
        matches!(
            self,
            B::RateLimited
                | B::Overloaded
                | B::Transport
                | B::ServerError
                | B::ModelLocked
                | B::RateLimit
                | B::Slots
                | B::Breaker
                | B::ProviderRamp
                | B::LeaseHeld
        )
    }

    /// Our own guess, that a last attempt may overrule.
    pub(crate) fn guess(self) -> bool {
        use Blocked as B;
        matches!(
            self,
            B::RateLimited
                | B::Overloaded
                | B::AuthRetry
                | B::Forbidden
                | B::Transport
                | B::ServerError
                | B::ModelLocked
                | B::Breaker
        )
    }

    fn local(self) -> bool {
        use Blocked as B;
        matches!(
            self,
            B::RateLimit | B::Slots | B::LeaseHeld | B::RetryBudget | B::Attempts | B::ProviderRamp
        )
    }

    /// Status and code for the caller.
    fn answer(self) -> (u16, &'static str) {
        use Blocked as B;
        match self {
            B::NotConfigured => (404, "no_connection_configured"),
            B::Disabled | B::Terminal(_) => (401, "all_credentials_terminal"),
            B::LeaseRequired => (409, "LEASE_REQUIRED"),
            B::LeaseStale => (409, "LEASE_FENCE_STALE"),
            B::LeaseMismatch => (409, "LEASE_CONNECTION_MISMATCH"),
            B::LeaseUnavailable => (503, "LEASE_SERVICE_UNAVAILABLE"),
            B::LeaseHeld => (429, "LEASE_CAPACITY_UNAVAILABLE"),
            B::ModelNotFound | B::ModelLocked | B::ModelQuota => (429, "model_cooldown"),
            B::RateLimit | B::Slots | B::Attempts | B::RetryBudget => (429, "local_capacity"),
            B::QuotaShare => (429, "quota_share_exceeded"),
            B::Breaker | B::ProviderRamp => (503, "provider_circuit_open"),
            _ => (429, "all_connections_cooling"),
        }
    }
}

/// One candidate that cannot be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Refusal {
    /// Its place among the candidates.
    pub position: usize,
    /// Why.
    pub reason: Blocked,
    /// When that ends, if time ends it; on our monotonic clock.
    pub not_before: Option<Mono>,
}

/// Nothing could be granted.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Denial {
    /// For each candidate, in their order.
    pub refusals: Vec<Refusal>,
    /// What decided.
    pub reason: Blocked,
    /// HTTP status for a gateway.
    pub status: u16,
    /// Stable code.
    pub code: &'static str,
    /// When the deciding candidate is due, if time ends its block.
    pub retry_at: Option<UnixMs>,
    /// The same on our monotonic clock.
    pub not_before: Option<Mono>,
    /// Whole seconds for a header: rounded up, 1 to 86 400.
    pub retry_after: Option<u32>,
}

impl Denial {
    /// The one answer: the candidate that is due first decides status, code and time together. Candidates that
    /// time does not help decide only when there are no others.
    pub(crate) fn new(refusals: Vec<Refusal>, now: Moment) -> Denial {
        let due = refusals
            .iter()
            .filter_map(|refusal| Some((refusal.not_before?, refusal.reason)))
            .min_by_key(|(at, _)| *at);
        let (reason, not_before) = match due {
            Some((at, reason)) => (reason, Some(at)),
            None => {
                // A capacity of our own says more than a terminal state beside it.
                let local = refusals.iter().find(|refusal| refusal.reason.local());
                let lease = refusals.iter().find(|refusal| refusal.reason.answer().1.starts_with("LEASE"));
                let other = refusals.iter().find(|refusal| refusal.reason != Blocked::NotConfigured);
                let chosen = local.or(lease).or(other).or(refusals.first());
                (chosen.map_or(Blocked::NotConfigured, |refusal| refusal.reason), None)
            }
        };
        let (status, code) = reason.answer();
        let wait = not_before.map(|at| at.since(now.mono));
        Denial {
            refusals,
            reason,
            status,
            code,
            retry_at: wait.map(|wait| {
                let ms = wait.as_nanos().div_ceil(1_000_000);
                UnixMs(now.wall.0.saturating_add(i64::try_from(ms).unwrap_or(i64::MAX)))
            }),
            not_before,
            retry_after: wait.map(seconds),
        }
    }

    /// How many candidates each reason kept away, most first.
    pub fn counts(&self) -> Vec<(Blocked, usize)> {
        let mut counts: Vec<(Blocked, usize)> = Vec::new();
        for refusal in &self.refusals {
            match counts.iter_mut().find(|(reason, _)| *reason == refusal.reason) {
                Some((_, count)) => *count += 1,
                None => counts.push((refusal.reason, 1)),
            }
        }
        counts.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
        counts
    }

    /// The denial as a failure of our own making: nobody is punished for it.
    pub fn failure(&self) -> Failure {
        let kind = match self.status {
            401 => FailureKind::Unauthorized,
            404 => FailureKind::ModelUnavailable,
            409 => FailureKind::Forbidden,
            429 => FailureKind::RateLimited,
            _ => FailureKind::Unavailable,
        };
        let message = match self.retry_after {
            Some(seconds) => format!("{}: try again in {seconds} s", self.code),
            None => self.code.to_owned(),
        };
        let mut failure = Failure::local(kind, self.code, message);
        failure.status = Some(self.status);
        failure.retry_at = self.retry_at;
        failure
    }
}

fn seconds(wait: Duration) -> u32 {
    let up = wait.as_nanos().div_ceil(1_000_000_000);
    u32::try_from(up).unwrap_or(u32::MAX).clamp(1, 86_400)
}

impl std::fmt::Display for Denial {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}", self.failure().message)
    }
}

impl std::error::Error for Denial {}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: u64 = 1_000_000_000;

    fn denial(refusals: &[(Blocked, Option<u64>)]) -> (u16, &'static str, Option<u32>) {
        let refusals = refusals
            .iter()
            .enumerate()
            .map(|(position, (reason, at))| Refusal { position, reason: *reason, not_before: at.map(Mono) })
            .collect();
        let denial = Denial::new(refusals, Moment { mono: Mono(SECOND), wall: UnixMs(5_000) });
        (denial.status, denial.code, denial.retry_after)
    }

    #[test]
    fn one_candidate_decides_everything() {
        use Blocked as B;
        let terminal = (B::Terminal(Terminal::Banned), None);
        for (refusals, expected) in [
            (vec![], (404, "no_connection_configured", None)),
            (vec![terminal, terminal], (401, "all_credentials_terminal", None)),
            (
                vec![terminal, (B::RateLimited, Some(4 * SECOND)), (B::Breaker, Some(9 * SECOND))],
                (429, "all_connections_cooling", Some(3)),
            ),
            (
                vec![(B::RateLimited, Some(4 * SECOND)), (B::Breaker, Some(3 * SECOND - 1))],
                (503, "provider_circuit_open", Some(2)),
            ),
            (vec![(B::ModelLocked, Some(SECOND))], (429, "model_cooldown", Some(1))),
            (vec![(B::Slots, Some(SECOND + 1)), terminal], (429, "local_capacity", Some(1))),
            (vec![terminal, (B::RetryBudget, None)], (429, "local_capacity", None)),
            (vec![(B::RateLimited, Some(u64::MAX))], (429, "all_connections_cooling", Some(86_400))),
        ] {
            assert_eq!(denial(&refusals), expected, "{refusals:?}");
        }
    }
}
