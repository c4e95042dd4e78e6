//! The numbers a breaker works with.

use crate::config::{BreakerConfig, ClassConfig};

/// The numbers a breaker works with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rules {
    /// Failures that open it.
    pub opens_at: u32,
    /// Failures that degrade it.
    pub degraded_at: u32,
    /// How long a failure counts, ms.
    pub window: i64,
    /// First reset time, ms.
    pub reset: i64,
    /// Failed probes before it doubles.
    pub escalate_after: u32,
    /// How far it grows.
    pub max_multiplier: u32,
    /// Bursts count once, ms.
    pub coalesce: i64,
    /// How long a probe may take, ms.
    pub probe_lease: i64,
    /// Probes without a verdict before it opens again.
    pub inconclusive: u32,
    /// Reset time without corroboration, ms.
    pub uncorroborated_reset: i64,
}

impl Rules {
    /// The rules of one class.
    pub fn new(class: &ClassConfig, config: &BreakerConfig) -> Rules {
        Rules {
            opens_at: class.opens_at,
            degraded_at: class.degraded(),
            window: class.failure_window.signed(),
            reset: class.reset.signed(),
            escalate_after: class.escalate_after,
            max_multiplier: class.max_multiplier,
            coalesce: config.coalesce.signed(),
            probe_lease: config.probe_lease.signed().max(class.reset.signed()),
            inconclusive: config.inconclusive,
            uncorroborated_reset: config.uncorroborated_reset.signed(),
        }
    }

    /// The count at or below which a degraded breaker closes.
    pub fn healthy_at(&self) -> usize {
        self.degraded_at.saturating_sub(2) as usize
    }

    /// Reset time after `cycle` failed probes, without jitter, ms.
    pub fn timeout(&self, cycle: u32) -> i64 {
        let doublings = cycle.saturating_sub(self.escalate_after).min(32);
        let longest = self.reset.saturating_mul(i64::from(self.max_multiplier));
        self.reset.saturating_mul(1_i64 << doublings).min(longest)
    }

    /// No deadline of an open breaker is further away, ms.
    pub fn longest(&self) -> i64 {
        let longest = self.reset.saturating_mul(i64::from(self.max_multiplier));
        longest.saturating_add(longest / 10)
    }
}
