//! Every number this crate uses, with its default and its range. Nothing else holds one.

use std::fmt::Display;
use std::ops::RangeInclusive;

use crate::span::Span;

/// A value that cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{key} = {value} is not allowed: must be {allowed}")]
pub struct ConfigError {
    /// Where, for instance `classes.oauth.opens_at`.
    pub key: String,
    /// What was given.
    pub value: String,
    /// What would do.
    pub allowed: String,
}

/// What kind of credential a connection has. It decides thresholds and times.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, serde::Serialize, serde::Deserialize,
)]
#[serde(rename_all = "snake_case")]
pub enum Class {
    /// An account that signs in.
    OAuth,
    /// A key.
    #[default]
    ApiKey,
    /// A server on this machine or network.
    Local,
    /// A cookie.
    WebSession,
    /// No credential.
    NoAuth,
}

impl Class {
    /// All classes.
    pub const ALL: [Class; 5] = [Class::OAuth, Class::ApiKey, Class::Local, Class::WebSession, Class::NoAuth];
}

trait Knob {
    type Allowed;
    fn check(&self, allowed: Self::Allowed, path: &str, errors: &mut Vec<ConfigError>);
}

fn within<T: PartialOrd + Display>(
    value: &T,
    allowed: &RangeInclusive<T>,
    path: &str,
    errors: &mut Vec<ConfigError>,
) {
    if !allowed.contains(value) {
        errors.push(ConfigError {
            key: path.to_owned(),
            value: value.to_string(),
            allowed: format!("{} to {}", allowed.start(), allowed.end()),
        });
    }
}

macro_rules! number_knobs {
    ($($ty:ty),*) => {$(
        impl Knob for $ty {
            type Allowed = RangeInclusive<$ty>;
            fn check(&self, allowed: Self::Allowed, path: &str, errors: &mut Vec<ConfigError>) {
                within(self, &allowed, path, errors);
            }
        }
        impl Knob for Option<$ty> {
            type Allowed = RangeInclusive<$ty>;
            fn check(&self, allowed: Self::Allowed, path: &str, errors: &mut Vec<ConfigError>) {
                if let Some(value) = self {
                    within(value, &allowed, path, errors);
                }
            }
        }
    )*};
}
number_knobs!(u32, u64, Span);

impl Knob for bool {
    type Allowed = ();
    fn check(&self, (): (), _: &str, _: &mut Vec<ConfigError>) {}
}

macro_rules! knobs {
    ($(#[$doc:meta])* $name:ident { $($(#[$field_doc:meta])* $field:ident: $ty:ty = $default:expr, $allowed:expr;)* }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
        #[serde(default, deny_unknown_fields)]
        #[non_exhaustive]
        pub struct $name { $($(#[$field_doc])* pub $field: $ty,)* }

        impl Default for $name {
            fn default() -> Self {
                $name { $($field: $default,)* }
            }
        }

        impl Knob for $name {
            type Allowed = ();
            fn check(&self, (): (), path: &str, errors: &mut Vec<ConfigError>) {
                $(
                    let mut at = String::from(path);
                    if !at.is_empty() {
                        at.push('.');
                    }
                    at.push_str(stringify!($field));
                    self.$field.check($allowed, &at, errors);
                )*
            }
        }
    };
}

knobs! {
    /// Thresholds and times of one class of connections.
    ClassConfig {
        /// Failures at which a provider counts as degraded; none: 60 % of `opens_at`, rounded up. 1 to 1000.
        degraded_at: Option<u32> = None, 1..=1_000;
        /// Failures inside the window at which the breaker opens. 1 to 1000.
        opens_at: u32 = 12, 1..=1_000;
        /// How long it stays open at first. 1 s to 24 h.
        reset: Span = Span::seconds(30), Span::seconds(1)..=Span::hours(24);
        /// How long a failure counts. 1 s to 24 h.
        failure_window: Span = Span::minutes(30), Span::seconds(1)..=Span::hours(24);
        /// Failed probes after which `reset` starts to double. 0 to 100.
        escalate_after: u32 = 3, 0..=100;
        /// How far it may grow, as a multiple of `reset`. 1 to 1000.
        max_multiplier: u32 = 4, 1..=1_000;
        /// First cooldown of a connection. 0 to 24 h.
        cooldown_base: Span = Span::seconds(3), Span::ZERO..=Span::hours(24);
        /// How often it doubles at most. 0 to 32.
        max_level: u32 = 5, 0..=32;
        /// Longest computed cooldown before jitter. 0 to 24 h.
        cooldown_ceiling: Span = Span::minutes(30), Span::ZERO..=Span::hours(24);
    }
}

impl ClassConfig {
    /// `degraded_at`, or what it is derived as: 60 % of `opens_at` rounded up, at least 1, below `opens_at`.
    pub fn degraded(&self) -> u32 {
        let derived = self.opens_at.saturating_mul(6).div_ceil(10);
        self.degraded_at.unwrap_or(derived).clamp(1, self.opens_at.saturating_sub(1).max(1))
    }
}

/// One [`ClassConfig`] for each [`Class`].
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct Classes {
    /// Accounts: degraded at 5, open at 8, 60 s, window 15 min, cooldown from 5 s up to level 8.
    pub oauth: ClassConfig,
    /// Keys: degraded at 7, open at 12, 30 s, window 30 min, cooldown from 3 s up to level 5.
    pub api_key: ClassConfig,
    /// Local servers: degraded at 1, open at 2, 15 s, window 5 min, cooldown from 2 s up to level 3, at most 60 s.
    pub local: ClassConfig,
    /// Cookies: as accounts.
    pub web_session: ClassConfig,
    /// No credential: as keys.
    pub no_auth: ClassConfig,
}

impl Default for Classes {
    fn default() -> Self {
        let api_key = ClassConfig { degraded_at: Some(7), ..ClassConfig::default() };
        let oauth = ClassConfig {
            degraded_at: Some(5),
            opens_at: 8,
            reset: Span::seconds(60),
            failure_window: Span::minutes(15),
            escalate_after: 2,
            max_multiplier: 8,
            cooldown_base: Span::seconds(5),
            max_level: 8,
            ..ClassConfig::default()
        };
        let local = ClassConfig {
            opens_at: 2,
            reset: Span::seconds(15),
            failure_window: Span::minutes(5),
            cooldown_base: Span::seconds(2),
            max_level: 3,
            cooldown_ceiling: Span::seconds(60),
            ..ClassConfig::default()
        };
        Classes { web_session: oauth.clone(), no_auth: api_key.clone(), oauth, api_key, local }
    }
}

impl Classes {
    /// The numbers of one class.
    pub fn of(&self, class: Class) -> &ClassConfig {
        match class {
            Class::OAuth => &self.oauth,
            Class::ApiKey => &self.api_key,
            Class::Local => &self.local,
            Class::WebSession => &self.web_session,
            Class::NoAuth => &self.no_auth,
        }
    }
}

impl Knob for Classes {
    type Allowed = ();
    fn check(&self, (): (), path: &str, errors: &mut Vec<ConfigError>) {
        for (name, class) in [
            ("oauth", &self.oauth),
            ("api_key", &self.api_key),
            ("local", &self.local),
            ("web_session", &self.web_session),
            ("no_auth", &self.no_auth),
        ] {
            class.check((), &format!("{path}.{name}"), errors);
            if let Some(degraded) = class.degraded_at
                && degraded > class.opens_at.saturating_sub(1).max(1)
            {
                errors.push(ConfigError {
                    key: format!("{path}.{name}.degraded_at"),
                    value: degraded.to_string(),
                    allowed: format!("below opens_at ({})", class.opens_at),
                });
            }
        }
    }
}

knobs! {
    /// The provider breaker, beyond what depends on the class.
    BreakerConfig {
        /// Failures of one connection this close together count once, unless the later attempt began after the earlier failure. 0 to 1 h.
        coalesce: Span = Span::seconds(5), Span::ZERO..=Span::hours(1);
        /// How long a probe may hold the half-open state. 1 s to 1 h.
        probe_lease: Span = Span::seconds(90), Span::seconds(1)..=Span::hours(1);
        /// Probes in a row without a verdict after which it opens again. 1 to 100.
        inconclusive: u32 = 3, 1..=100;
        /// A sibling's success this recent keeps one connection from opening the provider's breaker. 0 to 1 h.
        sibling_window: Span = Span::seconds(60), Span::ZERO..=Span::hours(1);
        /// Reset time while only one origin is in use and transport failures cannot be confirmed. 1 s to 24 h.
        uncorroborated_reset: Span = Span::seconds(15), Span::seconds(1)..=Span::hours(24);
        /// How long concurrency ramps up after recovery; 0 switches the ramp off. 0 to 10 min.
        ramp: Span = Span::seconds(30), Span::ZERO..=Span::minutes(10);
        /// How often the ramp's limit doubles. 1 s to 10 min.
        ramp_step: Span = Span::seconds(5), Span::seconds(1)..=Span::minutes(10);
        /// No ramp if fewer attempts than this ran at once before the outage. 1 to 1 000 000.
        ramp_from: u32 = 10, 1..=1_000_000;
    }
}

knobs! {
    /// The connection cooldown, beyond what depends on the class.
    CooldownConfig {
        /// Wait after "overloaded"; it never grows. 0 to 1 h.
        overload: Span = Span::seconds(10), Span::ZERO..=Span::hours(1);
        /// Wait after a 403 that names no model. 0 to 24 h.
        forbidden: Span = Span::seconds(60), Span::ZERO..=Span::hours(24);
        /// Wait when a quota is used up and nobody says until when. 1 s to 24 h.
        quota_unknown: Span = Span::hours(1), Span::seconds(1)..=Span::hours(24);
        /// Wait when a proxy says for the first time that the money is gone. 1 s to 24 h.
        credits_proxy: Span = Span::hours(1), Span::seconds(1)..=Span::hours(24);
        /// Longest declared wait of a direct connection. 1 s to 365 d.
        declared_max: Span = Span::days(31), Span::seconds(1)..=Span::days(365);
        /// Longest declared wait of a proxy. 1 s to 365 d.
        declared_max_proxy: Span = Span::minutes(10), Span::seconds(1)..=Span::days(365);
        /// Declared waits longer than this are verified from then on. 1 min to 31 d.
        verify_after: Span = Span::minutes(15), Span::minutes(1)..=Span::days(31);
        /// How often at most. 1 min to 31 d.
        verify_every: Span = Span::minutes(60), Span::minutes(1)..=Span::days(31);
        /// After cooldowns longer than this a connection starts with one attempt at a time. 0 to 24 h.
        reentry_over: Span = Span::seconds(10), Span::ZERO..=Span::hours(24);
        /// Attempts at once at which that slow start ends. 1 to 10 000.
        reentry_full: u32 = 32, 1..=10_000;
        /// Two reports this far apart confirm a dead credential. 0 to 24 h.
        confirm_after: Span = Span::seconds(30), Span::ZERO..=Span::hours(24);
        /// Failures in a row on one connection, with a healthy sibling, after which its cooldown starts to grow. 1 to 100.
        concentration: u32 = 3, 1..=100;
        /// Share of a provider's connections that computed cooldowns after server or transport errors may remove. 0 to 100.
        ejection_percent: u32 = 50, 0..=100;
    }
}

knobs! {
    /// The model lockout.
    LockoutConfig {
        /// Whether models are locked at all.
        enabled: bool = true, ();
        /// First lock. 5 s to 10 min.
        base: Span = Span::seconds(120), Span::seconds(5)..=Span::minutes(10);
        /// Longest computed lock. 5 s to 1 h, not below `base`.
        max: Span = Span::minutes(30), Span::seconds(5)..=Span::hours(1);
        /// How often it doubles at most. 0 to 20.
        steps: u32 = 10, 0..=20;
        /// Whether it doubles.
        backoff: bool = true, ();
        /// First lock of a model that a local server does not have. 1 s to 10 min.
        local_base: Span = Span::seconds(5), Span::seconds(1)..=Span::minutes(10);
        /// Longest of those. 1 s to 1 h.
        local_max: Span = Span::seconds(60), Span::seconds(1)..=Span::hours(1);
        /// Lock after "no capacity"; it never grows. 0 to 1 h.
        capacity: Span = Span::seconds(10), Span::ZERO..=Span::hours(1);
        /// "No capacity" from two connections this close together locks the model everywhere. 0 to 1 h.
        capacity_window: Span = Span::seconds(30), Span::ZERO..=Span::hours(1);
        /// Empty answers in a row that lock a model. 1 to 100.
        empty_in_row: u32 = 3, 1..=100;
    }
}

knobs! {
    /// Sessions that stay on one connection.
    AffinityConfig {
        /// How long an unused pin lives; 0 switches pins off. 0 to 24 h.
        ttl: Span = Span::ZERO, Span::ZERO..=Span::hours(24);
        /// How long any pin lives; 0: no limit. 0 to 365 d.
        max_age: Span = Span::hours(24), Span::ZERO..=Span::days(365);
        /// A pinned connection is worth waiting this long for. 0 to 5 min.
        grace: Span = Span::seconds(10), Span::ZERO..=Span::minutes(5);
        /// Blocked no longer than this, the pin is kept while another connection serves. 0 to 1 h.
        keep: Span = Span::seconds(60), Span::ZERO..=Span::hours(1);
        /// Requests in a row served elsewhere after which the pin moves. 1 to 100.
        diversions: u32 = 2, 1..=100;
        /// Pins held in this process. 1 to 10 000 000.
        max_pins: u32 = 50_000, 1..=10_000_000;
        /// Of those, pins of one consumer. 1 to 10 000 000.
        max_pins_per_consumer: u32 = 5_000, 1..=10_000_000;
    }
}

knobs! {
    /// Exclusive leases.
    LeaseConfig {
        /// Whether leases are looked at. Off costs nothing.
        enabled: bool = false, ();
        /// How long a lease lives without renewal. 1 s to 30 min.
        ttl: Span = Span::seconds(120), Span::seconds(1)..=Span::minutes(30);
        /// Longest time an owner may ask for. 1 s to 30 min.
        ttl_max: Span = Span::minutes(30), Span::seconds(1)..=Span::minutes(30);
        /// How long a lease lives even when renewed; none: no limit. 1 min to 365 d.
        max_age: Option<Span> = None, Span::minutes(1)..=Span::days(365);
        /// Accept a store that forgets on a crash.
        allow_volatile: bool = false, ();
        /// A granted request renews the lease it runs under, at most every quarter of its life. Not with `max_age`.
        renew_on_use: bool = true, ();
        /// How long ended leases are kept. 1 min to 365 d.
        keep_ended: Span = Span::days(7), Span::minutes(1)..=Span::days(365);
        /// How long an owner's last generation is remembered. 1 h to 3650 d.
        keep_generation: Span = Span::days(90), Span::hours(1)..=Span::days(3_650);
    }
}

knobs! {
    /// Concurrency slots and their queues.
    SlotConfig {
        /// Attempts at once in all processes; none: no limit. 1 to 1 000 000.
        global: Option<u32> = None, 1..=1_000_000;
        /// Attempts at once at one provider; none: no limit. 1 to 1 000 000.
        per_provider: Option<u32> = None, 1..=1_000_000;
        /// How long a slot lives without renewal. 5 s to 1 h.
        lease: Span = Span::seconds(120), Span::seconds(5)..=Span::hours(1);
        /// How often a running stream renews it. 1 s to 1 h.
        renew: Span = Span::seconds(40), Span::seconds(1)..=Span::hours(1);
        /// Longest wait for a slot. 0 to 10 min.
        queue_timeout: Span = Span::seconds(30), Span::ZERO..=Span::minutes(10);
        /// Waiters for one connection in this process. 0 to 100 000.
        queue_size: u32 = 20, 0..=100_000;
        /// Go on without a slot when none is free, instead of refusing.
        fail_open: bool = false, ();
        /// Credit a consumer of weight 1 gets in one round while it waits, in tokens. 1 to 1 000 000.
        quantum: u32 = 8_192, 1..=1_000_000;
    }
}

knobs! {
    /// Rates and quotas.
    QuotaConfig {
        /// Skip a connection once this share of a window is used, in millionths. 1 to 1 000 000.
        cutoff_ppm: u32 = 1_000_000, 1..=1_000_000;
        /// What headers said counts for this long. 1 s to 24 h.
        header_stale: Span = Span::minutes(5), Span::seconds(1)..=Span::hours(24);
        /// What a usage request said counts for this long. 1 s to 24 h.
        polled_stale: Span = Span::minutes(30), Span::seconds(1)..=Span::hours(24);
        /// A full window without a known end counts as full for this long at most. 1 s to 24 h.
        unknown_reset: Span = Span::minutes(30), Span::seconds(1)..=Span::hours(24);
        /// An unreported reservation is charged as estimated after this. 1 s to 24 h.
        reservation: Span = Span::minutes(10), Span::seconds(1)..=Span::hours(24);
        /// Used share of a pool from which consumers are held to their fair share, in millionths. 0 to 1 000 000.
        strict_from_ppm: u32 = 500_000, 0..=1_000_000;
        /// Refuse when the store is away and a hard cap in money applies.
        usd_caps_fail_closed: bool = true, ();
    }
}

knobs! {
    /// Waiting for something that will be free soon.
    WaitConfig {
        /// Whether to wait at all.
        enabled: bool = true, ();
        /// Longest single wait. 0 to 90 s.
        single: Span = Span::seconds(5), Span::ZERO..=Span::seconds(90);
        /// Waits per client request. 0 to 10.
        attempts: u32 = 2, 0..=10;
        /// Time spent waiting per client request. Not below `single`, at most 300 s.
        total: Span = Span::seconds(8), Span::ZERO..=Span::seconds(300);
        /// Added to every wait. 0 to 1 s.
        margin: Span = Span::ms(50), Span::ZERO..=Span::seconds(1);
        /// Waiters for one connection; more are refused at once. 1 to 10 000.
        waiters: u32 = 64, 1..=10_000;
    }
}

knobs! {
    /// How many attempts one request may cost.
    RetryConfig {
        /// Attempts at one target. 1 to 100.
        per_target: u32 = 2, 1..=100;
        /// Attempts at one provider. 1 to 100.
        per_provider: u32 = 4, 1..=100;
        /// Attempts in all. 1 to 100.
        total: u32 = 8, 1..=100;
        /// Further attempts at a provider, as a share of first ones. 0 to 100.
        percent: u32 = 20, 0..=100;
        /// Further attempts per second that are always allowed. 0 to 1 000 000.
        reserve_per_second: u32 = 3, 0..=1_000_000;
        /// How far back first attempts count. 1 s to 1 h.
        window: Span = Span::seconds(10), Span::seconds(1)..=Span::hours(1);
    }
}

knobs! {
    /// When everything is blocked by our own guesses.
    LastResortConfig {
        /// Try the target that is due first, although it is blocked.
        enabled: bool = true, ();
        /// How often at most, for one model of one provider. 100 ms to 1 h.
        every: Span = Span::seconds(2), Span::ms(100)..=Span::hours(1);
        /// Only if it is due within this time, or the block is about the provider or the network. 0 to 1 h.
        within: Span = Span::seconds(30), Span::ZERO..=Span::hours(1);
        /// Only if the request offered at least this many connections. 1 to 1000.
        from: u32 = 2, 1..=1_000;
    }
}

knobs! {
    /// Refreshing credentials once.
    RefreshConfig {
        /// How long the lock of a refresh lives. 1 s to 10 min.
        lock: Span = Span::seconds(45), Span::seconds(1)..=Span::minutes(10);
        /// Failures in a row after which a connection is not refreshed for `pause`. 1 to 100.
        failures: u32 = 5, 1..=100;
        /// How long. 1 s to 24 h.
        pause: Span = Span::minutes(30), Span::seconds(1)..=Span::hours(24);
    }
}

knobs! {
    /// Everything. `Config::default()` is what the documentation promises.
    Config {
        /// Thresholds by class of connection.
        classes: Classes = Classes::default(), ();
        /// Layer 1.
        breaker: BreakerConfig = BreakerConfig::default(), ();
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
mod tests {
    use super::*;

    #[test]
    fn defaults_are_valid_and_are_the_published_numbers() {
        let config = Config::default();
        config.validate().unwrap();
        for (class, degraded, opens, reset) in [
            (Class::OAuth, 5, 8, 60),
            (Class::ApiKey, 7, 12, 30),
            (Class::Local, 1, 2, 15),
            (Class::WebSession, 5, 8, 60),
            (Class::NoAuth, 7, 12, 30),
        ] {
            let numbers = config.classes.of(class);
            assert_eq!(
                (numbers.degraded(), numbers.opens_at, numbers.reset),
                (degraded, opens, Span::seconds(reset)),
                "{class:?}"
            );
        }
    }

    #[test]
    fn an_error_names_key_value_and_range() {
        let mut config = Config::default();
        config.classes.oauth.opens_at = 0;
        config.lockout.max = Span::seconds(60);
        let errors = config.validate().unwrap_err();
        let texts: Vec<String> = errors.iter().map(ConfigError::to_string).collect();
        assert_eq!(
            texts,
            [
                "classes.oauth.opens_at = 0 is not allowed: must be 1 to 1000",
                "classes.oauth.degraded_at = 5 is not allowed: must be below opens_at (0)",
                "lockout.max = 1min is not allowed: must be at least lockout.base (2min)",
            ]
        );
    }

    #[test]
    fn p42_every_number_is_in_the_config_tree_and_comes_back_from_it() {
        let text = serde_json::to_string(&Config::default()).unwrap();
        assert_eq!(serde_json::from_str::<Config>(&text).unwrap(), Config::default());
        let error = serde_json::from_str::<Config>(r#"{"breaker":{"rate_limit_reset":"60s"}}"#).unwrap_err();
        assert!(error.to_string().contains("rate_limit_reset"), "{error}");
        let partial: Config = serde_json::from_str(r#"{"wait":{"single":"2s","attempts":1}}"#).unwrap();
        assert_eq!((partial.wait.single, partial.wait.total), (Span::seconds(2), Span::seconds(8)));
    }
}
