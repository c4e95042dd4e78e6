//! Every number this crate uses, with its default and its range. Nothing else holds one.

mod classes;
mod knob;
mod layers;
mod services;

pub use classes::{Class, ClassConfig, Classes};
pub use knob::ConfigError;
use knob::{Knob, knobs};
pub use layers::{BreakerConfig, CooldownConfig, EgressConfig, LockoutConfig};
pub use services::{
    AffinityConfig, LastResortConfig, LeaseConfig, QuotaConfig, RefreshConfig, RetryConfig, SlotConfig,
    WaitConfig,
};

use crate::span::Span;

knobs! {
    /// Everything. `Config::default()` is what the documentation promises.
    Config {
        /// Thresholds by class of connection.
        classes: Classes = Classes::default(), ();
        /// Layer 1.
        breaker: BreakerConfig = BreakerConfig::default(), ();
        /// Our own network.
        egress: EgressConfig = EgressConfig::default(), ();
        /// Layer 2.
        cooldown: CooldownConfig = CooldownConfig::default(), ();
        /// Layer 3.
        lockout: LockoutConfig = LockoutConfig::default(), ();
        /// Sessions.
        affinity: AffinityConfig = AffinityConfig::default(), ();
        /// Exclusive leases.
        lease: LeaseConfig = LeaseConfig::default(), ();
        /// Concurrency.
        slots: SlotConfig = SlotConfig::default(), ();
        /// Rates and quotas.
        quota: QuotaConfig = QuotaConfig::default(), ();
        /// Waiting.
        wait: WaitConfig = WaitConfig::default(), ();
        /// Attempts.
        retry: RetryConfig = RetryConfig::default(), ();
        /// The way out when all is blocked.
        last_resort: LastResortConfig = LastResortConfig::default(), ();
        /// Credentials.
        refresh: RefreshConfig = RefreshConfig::default(), ();
        /// How old what we remember of a shared store may be when a request is decided. 0 to 10 s.
        mirror_max_age: Span = Span::ms(250), Span::ZERO..=Span::seconds(10);
        /// How long a store that failed is left alone. 10 ms to 1 min.
        store_retry: Span = Span::seconds(1), Span::ms(10)..=Span::minutes(1);
        /// Events kept for readers. 1 to 1 000 000.
        events: u32 = 10_000, 1..=1_000_000;
        /// Reports and releases kept while the store cannot take them. 1 to 10 000 000.
        outbox: u32 = 100_000, 1..=10_000_000;
        /// Connections and targets known at once. 1 to 16 000 000.
        max_targets: u32 = 4_000_000, 1..=16_000_000;
    }
}

impl Config {
    /// Checks every value.
    ///
    /// # Errors
    /// All values that are not allowed, each with its key and range, in the order of the fields.
    pub fn validate(&self) -> Result<(), Vec<ConfigError>> {
        let mut errors = Vec::new();
        self.check((), "", &mut errors);
        for (key, value, least, name) in [
            ("lockout.max", self.lockout.max, self.lockout.base, "lockout.base"),
            ("wait.total", self.wait.total, self.wait.single, "wait.single"),
            ("lease.ttl_max", self.lease.ttl_max, self.lease.ttl, "lease.ttl"),
            ("slots.lease", self.slots.lease, self.slots.renew, "slots.renew"),
        ] {
            if value < least {
                errors.push(ConfigError {
                    key: key.to_owned(),
                    value: value.to_string(),
                    allowed: format!("at least {name} ({least})"),
                });
            }
        }
        if errors.is_empty() { Ok(()) } else { Err(errors) }
    }
}

#[cfg(test)]
mod tests;
