//! Where the server is and how long it may take.

use std::fmt;

use omniroute_core::StoreError;

use super::link::Limits;
use crate::span::Span;

/// How a Redis or Valkey server is used.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct RedisConfig {
    /// `redis://[user:password@]host[:port][/database]` or `unix:` and a path. Never shown.
    pub url: String,
    /// Whose records. 1 to 64 letters, digits, `.`, `_`, `-`. Default `default`.
    pub namespace: String,
    /// Longest wait for a connection. Default 250 ms; 1 ms to 1 min. Calls do not wait for it, opening the store
    /// does.
    pub connect: Span,
    /// Longest wait for an answer, and longest time that a call takes from beginning to end, whatever happens to
    /// the server. Default 50 ms; 1 ms to 1 min.
    pub command: Span,
    /// Longest wait of listings and of coming back for one of the connections to be free. Default 20 ms; 0 to
    /// 1 min.
    pub queue: Span,
    /// Connections at once. Calls that find all of them busy share the next exchange. Default 4; 1 to 64.
    pub connections: u32,
    /// The server keeps every acknowledged write over a crash (`appendonly yes`, `appendfsync always`). It is asked
    /// when the store is opened, where it may be asked; else this is believed. Default off.
    pub durable: bool,
    /// Opening fails without a server. Default off: it starts apart from it.
    pub require: bool,
    /// Without a server go on with what this process knows, and bring it together later. Off: calls fail. Default
    /// on.
    pub fallback: bool,
    /// While apart, refuse to count money: a hard limit must hold over all processes. Default on.
    pub money_fails_closed: bool,
    /// How often a server that was given up is tried, give or take a fifth. Default 1 s; 10 ms to 1 min.
    pub probe: Span,
    /// Records remembered for the time without a server. Default 100 000; 16 to 10 000 000.
    pub remembered: u32,
    /// Seed of the variation between probes. Default 0.
    pub seed: u64,
    /// Take time from the clock instead of the server. For tests only. Default off.
    pub test_clock: bool,
}

impl RedisConfig {
    /// The defaults, for this server.
    pub fn new(url: impl Into<String>) -> RedisConfig {
        RedisConfig {
            url: url.into(),
            namespace: "default".to_owned(),
            connect: Span::ms(250),
            command: Span::ms(50),
            queue: Span::ms(20),
            connections: 4,
            durable: false,
            require: false,
            fallback: true,
            money_fails_closed: true,
            probe: Span::seconds(1),
            remembered: 100_000,
            seed: 0,
            test_clock: false,
        }
    }

    pub(super) fn limits(&self) -> Limits {
        Limits { connect: self.connect.into(), command: self.command.into(), queue: self.queue.into() }
    }

    pub(super) fn validate(&self) -> Result<(), StoreError> {
        let minute = Span::minutes(1);
        for (key, value, low, high) in [
            ("connect", self.connect, Span::ms(1), minute),
            ("command", self.command, Span::ms(1), minute),
            ("queue", self.queue, Span::ZERO, minute),
            ("probe", self.probe, Span::ms(10), minute),
        ] {
            if value < low || value > high {
                return Err(wrong(key, &value, &format!("{low} to {high}")));
            }
        }
        for (key, value, low, high) in
            [("connections", self.connections, 1, 64), ("remembered", self.remembered, 16, 10_000_000)]
        {
            if value < low || value > high {
                return Err(wrong(key, &value, &format!("{low} to {high}")));
            }
        }
        let allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-');
        if !(1..=64).contains(&self.namespace.len()) || !self.namespace.chars().all(allowed) {
            let rule = "1 to 64 letters, digits, dots, underscores or hyphens";
            return Err(wrong("namespace", &format!("{:?}", self.namespace), rule));
        }
        Ok(())
    }
}

pub(super) fn wrong(key: &str, value: &dyn fmt::Display, allowed: &str) -> StoreError {
    StoreError::Invalid(format!("store.redis.{key} = {value} is not allowed: must be {allowed}"))
}

impl fmt::Debug for RedisConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RedisConfig")
            .field("url", &"..")
            .field("namespace", &self.namespace)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_name_key_value_and_range_and_the_url_is_never_shown() {
        let mut config = RedisConfig::new("redis://u:secret@h");
        config.validate().unwrap();
        assert!(!format!("{config:?}").contains("secret"));
        config.command = Span::ZERO;
        let error = config.validate().unwrap_err().to_string();
        assert!(error.ends_with("store.redis.command = 0ms is not allowed: must be 1ms to 1min"), "{error}");
        config.command = Span::ms(50);
        for namespace in ["", "a b", "a}b", "ä"] {
            config.namespace = namespace.to_owned();
            assert!(config.validate().is_err(), "{namespace}");
        }
    }
}
