//! Names of records, and the text they have in every store.

use std::fmt;
use std::sync::Arc;

use super::key_text::{hashed, optional, part, unescape, unhex};
use crate::failure::QuotaWindow;
use crate::outcome::Unit;
use crate::target::{ConnectionId, ModelId, ProviderId};

/// Which models of a connection a lock holds for.
#[non_exhaustive]
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum LockScope {
    /// Exactly one model.
    Model(ModelId),
    /// All models that share a quota, by the dialect's name for it.
    Quota(Arc<str>),
}

/// Names one record. [`Key::encode`] is the same text in every store.
#[non_exhaustive]
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Key {
    /// The breaker of a provider, or of one of its origins.
    Breaker {
        /// Whose.
        provider: ProviderId,
        /// Scheme, host and port, where a provider has several.
        origin: Option<Arc<str>>,
    },
    /// Cooldown, terminal state and quota observations of a connection.
    Connection(ProviderId, ConnectionId),
    /// A lock of models; without a connection it holds for all of them.
    Lockout {
        /// Whose.
        provider: ProviderId,
        /// At which connection; none: at all.
        connection: Option<ConnectionId>,
        /// For which models.
        scope: LockScope,
    },
    /// Concurrency slots of everything, one provider, or one connection.
    Slots {
        /// None: the global level.
        provider: Option<ProviderId>,
        /// None: the provider level.
        connection: Option<ConnectionId>,
    },
    /// Rate state of a connection, or of one model or quota scope there.
    Rate {
        /// Whose.
        provider: ProviderId,
        /// At which connection.
        connection: ConnectionId,
        /// None: the whole connection.
        scope: Option<LockScope>,
    },
    /// What consumers used of one dimension of a pool.
    Quota {
        /// The pool.
        pool: Arc<str>,
        /// What is counted.
        unit: Unit,
        /// Over which span.
        window: QuotaWindow,
        /// None: all models.
        model: Option<ModelId>,
    },
    /// A session's pin, by the hash of its key.
    Affinity([u8; 32]),
    /// The active lease of an owner, by the hash of its token.
    LeaseOwner([u8; 32]),
    /// Who holds a connection exclusively.
    LeaseConnection(ProviderId, ConnectionId),
    /// The highest generation an owner ever had.
    LeaseGeneration([u8; 32]),
    /// The counter of fences.
    LeaseFence,
    /// A lease that has ended, kept for a while.
    LeaseEnded([u8; 32], u64),
    /// The lock under which a credential is refreshed: one connection, or a rotation group.
    Refresh(Arc<str>),
    /// When a model of a provider was last tried although everything was blocked.
    LastResort(ProviderId, ModelId),
    /// Facts about the store itself.
    Meta(Arc<str>),
}

impl Key {
    /// The key as text: kind, then its parts, each with `%`, `/` and control characters escaped, joined by `/`.
    pub fn encode(&self) -> String {
        let mut out = String::with_capacity(48);
        match self {
            Key::Breaker { provider, origin } => {
                out.push_str("br");
                part(&mut out, provider.as_str());
                optional(&mut out, origin.as_deref());
            }
            Key::Connection(provider, connection) => {
                out.push_str("cn");
                part(&mut out, provider.as_str());
                part(&mut out, connection.as_str());
            }
            Key::Lockout { provider, connection, scope } => {
                out.push_str("lk");
                part(&mut out, provider.as_str());
                optional(&mut out, connection.as_ref().map(ConnectionId::as_str));
                lock_scope(&mut out, scope);
            }
            Key::Slots { provider, connection } => {
                out.push_str("sl");
                optional(&mut out, provider.as_ref().map(ProviderId::as_str));
                optional(&mut out, connection.as_ref().map(ConnectionId::as_str));
            }
            Key::Rate { provider, connection, scope } => {
                out.push_str("rt");
                part(&mut out, provider.as_str());
                part(&mut out, connection.as_str());
                if let Some(scope) = scope {
                    lock_scope(&mut out, scope);
                }
            }
            Key::Quota { pool, unit, window, model } => {
                out.push_str("qb");
                part(&mut out, pool);
                part(&mut out, unit_code(*unit));
                part(&mut out, window_code(*window));
                optional(&mut out, model.as_ref().map(ModelId::as_str));
            }
            Key::Affinity(hash) => hashed(&mut out, "af", hash),
            Key::LeaseOwner(hash) => hashed(&mut out, "lo", hash),
            Key::LeaseConnection(provider, connection) => {
                out.push_str("lc");
                part(&mut out, provider.as_str());
                part(&mut out, connection.as_str());
            }
            Key::LeaseGeneration(hash) => hashed(&mut out, "lg", hash),
            Key::LeaseFence => out.push_str("lf"),
            Key::LeaseEnded(hash, fence) => {
                hashed(&mut out, "le", hash);
                part(&mut out, &format!("{fence:020}"));
            }
            Key::Refresh(name) => {
                out.push_str("rf");
                part(&mut out, name);
            }
            Key::LastResort(provider, model) => {
                out.push_str("lr");
                part(&mut out, provider.as_str());
                part(&mut out, model.as_str());
            }
            Key::Meta(name) => {
                out.push_str("me");
                part(&mut out, name);
            }
        }
        out
    }

    /// Reads what [`Key::encode`] wrote; none for anything else, for instance a kind of a newer version.
    pub fn decode(text: &str) -> Option<Key> {
        let mut parts = text.split('/');
        let kind = parts.next()?;
        let parts: Vec<Option<String>> = parts.map(unescape).collect::<Option<_>>()?;
        let at = |i: usize| parts.get(i).and_then(Option::as_deref);
        let provider = |i| at(i).map(ProviderId::new);
        let connection = |i| at(i).map(ConnectionId::new);
        Some(match (kind, parts.len()) {
            ("br", 2) => Key::Breaker { provider: provider(0)?, origin: at(1).map(Arc::from) },
            ("cn", 2) => Key::Connection(provider(0)?, connection(1)?),
            ("lk", 4) => Key::Lockout {
                provider: provider(0)?,
                connection: connection(1),
                scope: scope_of(at(2)?, at(3)?)?,
            },
            ("sl", 2) => Key::Slots { provider: provider(0), connection: connection(1) },
            ("rt", 2) => Key::Rate { provider: provider(0)?, connection: connection(1)?, scope: None },
            ("rt", 4) => Key::Rate {
                provider: provider(0)?,
                connection: connection(1)?,
                scope: Some(scope_of(at(2)?, at(3)?)?),
            },
            ("qb", 4) => Key::Quota {
                pool: at(0)?.into(),
                unit: UNITS.iter().find(|(_, code)| Some(*code) == at(1))?.0,
                window: WINDOWS.iter().find(|(_, code)| Some(*code) == at(2))?.0,
                model: at(3).map(ModelId::new),
            },
            ("af", 1) => Key::Affinity(unhex(at(0)?)?),
            ("lo", 1) => Key::LeaseOwner(unhex(at(0)?)?),
            ("lc", 2) => Key::LeaseConnection(provider(0)?, connection(1)?),
            ("lg", 1) => Key::LeaseGeneration(unhex(at(0)?)?),
            ("lf", 0) => Key::LeaseFence,
            ("le", 2) => Key::LeaseEnded(unhex(at(0)?)?, at(1)?.parse().ok()?),
            ("rf", 1) => Key::Refresh(at(0)?.into()),
            ("lr", 2) => Key::LastResort(provider(0)?, ModelId::new(at(1)?)),
            ("me", 1) => Key::Meta(at(0)?.into()),
            _ => return None,
        })
    }
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.encode())
    }
}

const UNITS: [(Unit, &str); 4] =
    [(Unit::Percent, "pct"), (Unit::Requests, "req"), (Unit::Tokens, "tok"), (Unit::Usd, "usd")];
const WINDOWS: [(QuotaWindow, &str); 6] = [
    (QuotaWindow::Minute, "min"),
    (QuotaWindow::Hour, "hour"),
    (QuotaWindow::FiveHours, "5h"),
    (QuotaWindow::Day, "day"),
    (QuotaWindow::Week, "week"),
    (QuotaWindow::Month, "month"),
];

fn unit_code(unit: Unit) -> &'static str {
    UNITS.iter().find(|(u, _)| *u == unit).map_or("?", |(_, code)| code)
}

fn window_code(window: QuotaWindow) -> &'static str {
    WINDOWS.iter().find(|(w, _)| *w == window).map_or("?", |(_, code)| code)
}

/// A scope as two parts: of which kind, and its name.
fn lock_scope(out: &mut String, scope: &LockScope) {
    match scope {
        LockScope::Model(model) => {
            part(out, "m");
            part(out, model.as_str());
        }
        LockScope::Quota(name) => {
            part(out, "q");
            part(out, name);
        }
    }
}

fn scope_of(kind: &str, name: &str) -> Option<LockScope> {
    match kind {
        "m" => Some(LockScope::Model(ModelId::new(name))),
        "q" => Some(LockScope::Quota(name.into())),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn keys_read_as_text() {
        let key = Key::Breaker { provider: ProviderId::new("a/b"), origin: None };
        assert_eq!(key.encode(), "br/a%2fb/-");
        let key = Key::Slots { provider: None, connection: None };
        assert_eq!(key.encode(), "sl/-/-");
        assert_eq!(Key::decode("zz/1"), None, "a kind of a newer version");
        assert_eq!(Key::decode("cn/a/b/c"), None);
    }

    fn name() -> impl Strategy<Value = String> {
        "[a-z/%\\-\u{1}é]{0,6}"
    }

    fn any_key() -> impl Strategy<Value = Key> {
        (
            0..15_u8,
            name(),
            proptest::option::of(name()),
            name(),
            any::<[u8; 32]>(),
            any::<u64>(),
            0..4_usize,
            0..6_usize,
        )
            .prop_map(|(kind, a, b, c, hash, n, unit, window)| {
                let provider = ProviderId::new(a.as_str());
                let connection = ConnectionId::new(c.as_str());
                let scope = if n % 2 == 0 {
                    LockScope::Model(ModelId::new(c.as_str()))
                } else {
                    LockScope::Quota(c.as_str().into())
                };
                match kind {
                    0 => Key::Breaker { provider, origin: b.map(Into::into) },
                    1 => Key::Connection(provider, connection),
                    2 => Key::Lockout { provider, connection: b.map(ConnectionId::new), scope },
                    3 => Key::Slots { provider: b.map(ProviderId::new), connection: Some(connection) },
                    4 => Key::Rate { provider, connection, scope: Some(scope).filter(|_| n % 3 > 0) },
                    5 => Key::Quota {
                        pool: a.into(),
                        unit: UNITS[unit].0,
                        window: WINDOWS[window].0,
                        model: b.map(ModelId::new),
                    },
                    6 => Key::Affinity(hash),
                    7 => Key::LeaseOwner(hash),
                    8 => Key::LeaseConnection(provider, connection),
                    9 => Key::LeaseGeneration(hash),
                    10 => Key::LeaseFence,
                    11 => Key::LeaseEnded(hash, n),
                    12 => Key::Refresh(a.into()),
                    13 => Key::LastResort(provider, ModelId::new(c)),
                    _ => Key::Meta(a.into()),
                }
            })
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 512, failure_persistence: None, ..ProptestConfig::default() })]
        #[test]
        fn every_key_comes_back_from_its_text(key in any_key(), other in any_key()) {
            prop_assert_eq!(Key::decode(&key.encode()), Some(key.clone()));
            prop_assert_eq!(key == other, key.encode() == other.encode());
        }
    }
}
