//! How many attempts and how much waiting one client request may cost, and how many retries a provider takes.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use omniroute_core::{Mono, ProviderId, Target};

use crate::config::{RetryConfig, WaitConfig};

/// The budget of one client request. Clones share it; nested strategies never add budgets up.
#[derive(Debug, Clone, Default)]
pub struct Budget(Arc<Mutex<Spent>>);

#[derive(Debug, Default)]
struct Spent {
    attempts: u32,
    targets: HashMap<Target, u32>,
    providers: HashMap<ProviderId, u32>,
    waits: u32,
    waited: Duration,
}

impl Budget {
    /// Nothing spent yet.
    pub fn new() -> Self {
        Budget::default()
    }

    /// Attempts so far.
    pub fn attempts(&self) -> u32 {
        self.lock().attempts
    }

    /// Time waited so far.
    pub fn waited(&self) -> Duration {
        self.lock().waited
    }

    /// Whether another attempt at this target fits, and whether it is a further one at its provider.
    pub(crate) fn fits(&self, target: &Target, config: &RetryConfig) -> Option<bool> {
        let spent = self.lock();
        let at_target = spent.targets.get(target).copied().unwrap_or(0);
        let at_provider = spent.providers.get(&target.provider).copied().unwrap_or(0);
        let fits = spent.attempts < config.total
            && at_target < config.per_target
            && at_provider < config.per_provider;
        fits.then_some(at_provider > 0)
    }

    pub(crate) fn attempt(&self, target: &Target) {
        let mut spent = self.lock();
        spent.attempts += 1;
        *spent.targets.entry(target.clone()).or_default() += 1;
        *spent.providers.entry(target.provider.clone()).or_default() += 1;
    }

    /// Whether a wait of this length fits.
    pub(crate) fn wait_fits(&self, wait: Duration, config: &WaitConfig) -> bool {
        let spent = self.lock();
        spent.waits < config.attempts && spent.waited + wait <= Duration::from(config.total)
    }

    pub(crate) fn wait_done(&self, waited: Duration) {
        let mut spent = self.lock();
        spent.waits += 1;
        spent.waited += waited;
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Spent> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Further attempts at one provider: a share of first ones plus a steady trickle.
#[derive(Debug, Default)]
pub(crate) struct Retries {
    /// In hundredths of an attempt.
    tokens: u64,
    at: Mono,
}

impl Retries {
    fn most(config: &RetryConfig) -> u64 {
        let window = config.window.as_ms() / 1_000;
        u64::from(config.reserve_per_second) * 100 * window.max(1)
    }

    fn fill(&mut self, now: Mono, config: &RetryConfig) {
        let ms = u64::try_from(now.since(self.at).as_millis()).unwrap_or(u64::MAX);
        let gained = u64::from(config.reserve_per_second).saturating_mul(ms) / 10;
        if gained > 0 {
            self.tokens = self.tokens.saturating_add(gained).min(Self::most(config).max(self.tokens));
            self.at = now;
        }
    }

    /// A first attempt earns a share of a retry.
    pub(crate) fn first(&mut self, now: Mono, config: &RetryConfig) {
        self.fill(now, config);
        let most = Self::most(config).max(10_000);
        self.tokens = (self.tokens + u64::from(config.percent)).min(most);
    }

    /// Whether there is a retry left.
    pub(crate) fn left(&mut self, now: Mono, config: &RetryConfig) -> bool {
        self.fill(now, config);
        self.tokens >= 100
    }

    /// A retry costs one. False: there is none left.
    pub(crate) fn take(&mut self, now: Mono, config: &RetryConfig) -> bool {
        self.fill(now, config);
        let enough = self.tokens >= 100;
        if enough {
            self.tokens -= 100;
        }
        enough
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn retries_are_a_fifth_and_three_a_second() {
        let config = RetryConfig::default();
        let mut retries = Retries::default();
        let mut taken = 0;
        for second in 1..=100_u64 {
            for n in 0..50 {
                let now = Mono(second * 1_000_000_000 + n * 20_000_000);
                retries.first(now, &config);
                taken += u32::from(retries.take(now, &config));
            }
        }
        let (first, most) = (5_000, 5_000 / 5 + 100 * 3 + 30);
        assert!(taken <= most && taken >= most * 8 / 10, "{taken} of {first}, at most {most}");
    }

    #[test]
    fn a_request_has_one_budget() {
        let config = RetryConfig::default();
        let budget = Budget::new();
        let nested = budget.clone();
        let target = |n: usize| Target::new(format!("p{n}"), "c", "m");
        assert_eq!(budget.fits(&target(0), &config), Some(false));
        nested.attempt(&target(0));
        assert_eq!(budget.fits(&target(0), &config), Some(true));
        budget.attempt(&target(0));
        assert_eq!(budget.fits(&target(0), &config), None, "two at one target");
        for n in 1..7 {
            budget.attempt(&target(n));
        }
        assert_eq!(nested.fits(&target(9), &config), None, "eight in all");
        assert!(budget.wait_fits(Duration::from_secs(5), &WaitConfig::default()));
        budget.wait_done(Duration::from_secs(5));
        assert!(!nested.wait_fits(Duration::from_secs(4), &WaitConfig::default()));
    }
}
