//! Thresholds and times that depend on what kind of credential a connection has.

use super::knob::{ConfigError, Knob, knobs};
use crate::span::Span;

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
