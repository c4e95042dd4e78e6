//! The numbers of the learning policy, the budget of trials, and the price of haste.

use omniroute_core::route::Mode;
use serde::{Deserialize, Serialize};

/// The numbers of the policy.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct Params {
    /// Observations that the catalogue's opinion is worth.
    pub n0: f64,
    /// The same where there is no opinion.
    pub n0_unknown: f64,
    /// Observations that hold back what all classes say about an offering.
    pub n1: f64,
    /// Spread of a belief with one observation.
    pub spread: f64,
    /// What the dearest answer loses.
    pub cost: f64,
    /// USD at which an answer counts as the dearest.
    pub dearest: f64,
    /// What the slowest answer loses.
    pub latency: f64,
    /// Seconds at which an answer counts as the slowest.
    pub slowest: f64,
    /// What a sure failure loses.
    pub failure: f64,
    /// Hours after which an observation counts half.
    pub half_life: f64,
    /// Surprise that is still usual.
    pub drift: f64,
    /// Sum of unusual surprise at which most is forgotten.
    pub alarm: f64,
    /// The part that is kept then.
    pub kept: f64,
    /// Share of requests that try something out.
    pub rate: f64,
    /// Share of requests that go to offerings nobody knows.
    pub newcomers: f64,
    /// Observations after which an offering is known.
    pub newcomer_until: f64,
}

impl Params {
    /// The numbers of a mode.
    pub fn of(mode: Mode) -> Params {
        let base = Params {
            n0: 8.0,
            n0_unknown: 2.0,
            n1: 4.0,
            spread: 0.15,
            cost: 0.30,
            dearest: 0.05,
            latency: 0.10,
            slowest: 20.0,
            failure: 0.03,
            half_life: 168.0,
            drift: 0.10,
            alarm: 12.0,
            kept: 0.1,
            rate: 0.0,
            newcomers: 0.05,
            newcomer_until: 30.0,
        };
        match mode {
            Mode::ShipFast => Params { latency: 0.40, cost: 0.10, ..base },
            Mode::CostSaver => Params { cost: 0.60, latency: 0.05, ..base },
            Mode::QualityFirst => Params { cost: 0.10, latency: 0.05, ..base },
            Mode::ReliabilityFirst => Params { failure: 0.30, ..base },
            _ => base,
        }
    }

    /// What cost (USD), time (seconds) and the chance of failure take from the worth of an answer.
    pub fn penalties(&self, cost: f64, seconds: f64, fails: f64) -> f64 {
        self.cost * (cost / self.dearest).min(1.0)
            + self.latency * (seconds / self.slowest).min(1.0)
            + self.failure * fails
    }
}

/// Trials that may be made: filled a little by each request, emptied by each trial.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Bucket {
    tokens: f64,
}

impl Bucket {
    /// Filled with what a hundred requests give.
    pub fn new(params: &Params) -> Bucket {
        Bucket { tokens: 100.0 * params.rate }
    }

    /// The same under other numbers: never more than five hundred requests give, and no deeper in debt than can be.
    pub(super) fn within(self, params: &Params) -> Bucket {
        Bucket { tokens: self.tokens.clamp(-101.0, 500.0 * params.rate) }
    }

    /// Whether a trial may be made.
    pub fn has_token(&self) -> bool {
        self.tokens >= 1.0
    }

    /// Whether so many trials went to newcomers that even they have to wait.
    pub fn deep_in_debt(&self) -> bool {
        self.tokens < -100.0
    }

    /// A trial was made.
    pub fn spend(&mut self) {
        self.tokens -= 1.0;
    }

    /// A request was made. Never more than five hundred requests give.
    pub fn refill(&mut self, params: &Params) {
        self.tokens = (self.tokens + params.rate).min(500.0 * params.rate);
    }
}

/// What the use of an allowance ahead of time costs: windows as (elapsed share, used share).
pub fn shadow(windows: impl Iterator<Item = (f64, f64)>) -> f64 {
    let ahead =
        windows.map(|(elapsed, used)| (used - elapsed) / (1.0 - elapsed).max(0.05)).fold(0.0, f64::max);
    0.25 * ahead.min(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_reference_pace() {
        assert!((shadow([(0.2, 0.4), (0.5, 0.4)].into_iter()) - 0.0625).abs() < 1e-12);
        assert_eq!(shadow(std::iter::empty()), 0.0);
        assert_eq!(shadow([(0.0, 2.0)].into_iter()), 0.25);
    }

    #[test]
    fn trials_never_exceed_the_rate_for_long() {
        let params = Params { rate: 0.05, ..Params::of(Mode::Default) };
        let mut bucket = Bucket::new(&params);
        let mut trials = 0;
        for _ in 0..10_000 {
            if bucket.has_token() {
                bucket.spend();
                trials += 1;
            }
            bucket.refill(&params);
        }
        assert!((500..=506).contains(&trials), "{trials}");
    }
}
