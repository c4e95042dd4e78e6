//! Where state lives that must outlast a request: three methods, many kinds of store, no rules inside.

use std::fmt;
use std::sync::Arc;

use bytes::Bytes;

use crate::clock::UnixMs;
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

/// What a store keeps under a key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Record {
    /// Grows with every commit of the whole store; two values of one key never share one, even over a delete.
    pub version: u64,
    /// Bytes that the store does not look into.
    pub value: Bytes,
    /// From this time of the store on the record counts as absent; none: it stays.
    pub expires: Option<UnixMs>,
}

/// One part of a commit. `expected` is the version the change was computed from; none: no record (an expired
/// one counts as none).
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Change {
    /// Writes a record.
    Put {
        /// Where.
        key: Key,
        /// What must be there now.
        expected: Option<u64>,
        /// What to write.
        value: Bytes,
        /// When it ends.
        expires: Option<UnixMs>,
    },
    /// Removes a record.
    Delete {
        /// Where.
        key: Key,
        /// What must be there now.
        expected: u64,
    },
    /// Only demands that nothing has changed.
    Check {
        /// Where.
        key: Key,
        /// What must be there now.
        expected: Option<u64>,
    },
}

impl Change {
    /// The key it is about.
    pub fn key(&self) -> &Key {
        match self {
            Change::Put { key, .. } | Change::Delete { key, .. } | Change::Check { key, .. } => key,
        }
    }

    /// The version it demands.
    pub fn expected(&self) -> Option<u64> {
        match self {
            Change::Put { expected, .. } | Change::Check { expected, .. } => *expected,
            Change::Delete { expected, .. } => Some(*expected),
        }
    }
}

/// How a commit ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Commit {
    /// All of it happened. Every record it wrote has this version.
    Done(u64),
    /// None of it happened; what is there now, for every key whose version was not the expected one.
    Conflict(Vec<(Key, Option<Record>)>),
    /// None of it happened: the store's time was past `not_after`.
    TooLate,
}

/// How sure a commit must be before it is acknowledged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub enum Durability {
    /// A crash of the machine may lose it.
    #[default]
    Relaxed,
    /// It outlasts the process and, where the store can, the machine. A store that is not durable still accepts
    /// it; whoever needs more asks [`StoreTraits::durable`] first.
    Durable,
}

/// What a store can do.
#[non_exhaustive]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StoreTraits {
    /// For messages: `"memory"`, `"sqlite"`, `"redis"`.
    pub name: &'static str,
    /// Acknowledged durable commits outlast a crash.
    pub durable: bool,
    /// Others may write to it, so what was read grows old.
    pub shared: bool,
}

impl StoreTraits {
    /// Traits of a store.
    pub const fn new(name: &'static str, durable: bool, shared: bool) -> Self {
        StoreTraits { name, durable, shared }
    }
}

/// Why a store could not answer.
#[non_exhaustive]
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum StoreError {
    /// It cannot be reached or cannot write. Try again later.
    #[error("store is unavailable: {0}")]
    Unavailable(String),
    /// It did not answer in time. A commit may or may not have happened.
    #[error("store did not answer in {0} ms")]
    Timeout(u64),
    /// A record cannot be read.
    #[error("record {0} cannot be read")]
    Corrupt(String),
    /// It was written by a newer version.
    #[error("store has schema {found}, this version knows {supported}")]
    SchemaTooNew {
        /// What is there.
        found: u32,
        /// The newest we know.
        supported: u32,
    },
    /// It is full and nothing in it may be dropped.
    #[error("store is full: {0} records of kind {1}")]
    Full(usize, &'static str),
    /// It cannot do what was asked.
    #[error("store cannot do this: {0}")]
    Unsupported(&'static str),
    /// Others kept changing the same records.
    #[error("{0} attempts to commit met a conflict each")]
    Contended(u32),
    /// The call itself was wrong.
    #[error("store call is wrong: {0}")]
    Invalid(String),
}

/// Shared state. All rules are outside: a store compares versions and keeps bytes.
///
/// # Behavior
/// - Time is the store's own and never goes back as seen by one caller.
/// - An expired record is absent to `get`, `commit` and `scan` alike, at the very millisecond it names.
/// - Versions grow over the whole store and are never used twice.
/// - A future that is dropped leaves the commit done or not done, never half.
#[async_trait::async_trait]
pub trait ResilienceStore: Send + Sync + fmt::Debug + 'static {
    /// What this store can do.
    fn traits(&self) -> StoreTraits;

    /// Reads records, in the order of `keys`, and the store's time.
    ///
    /// # Errors
    /// [`StoreError`] if nothing could be read.
    async fn get(&self, keys: &[Key]) -> Result<(Vec<Option<Record>>, UnixMs), StoreError>;

    /// All changes or none. No key may occur twice. Refused as a whole when the store's time is past `not_after`.
    ///
    /// # Errors
    /// [`StoreError`] if it is not known to have happened.
    async fn commit(
        &self,
        changes: &[Change],
        not_after: Option<UnixMs>,
        durability: Durability,
    ) -> Result<(Commit, UnixMs), StoreError>;

    /// Visits every record whose encoded key starts with `prefix`, in no particular order, each at most once.
    /// For start-up and listings, not for requests.
    ///
    /// # Errors
    /// [`StoreError`] if reading stopped early.
    async fn scan(
        &self,
        prefix: &str,
        visit: &mut (dyn for<'r> FnMut(&'r Key, &'r Record) + Send),
    ) -> Result<UnixMs, StoreError>;

    /// Writes what is still held back and lets go of resources. Calls after it may fail.
    ///
    /// # Errors
    /// [`StoreError`] if something could not be written.
    async fn close(&self) -> Result<(), StoreError> {
        Ok(())
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

const HEX: &[u8; 16] = b"0123456789abcdef";

fn part(out: &mut String, text: &str) {
    out.push('/');
    for c in text.chars() {
        if matches!(c, '%' | '/' | '-') && (c != '-' || text.len() == 1) || c.is_ascii_control() {
            let byte = c as u32 as u8;
            out.push('%');
            out.push(char::from(HEX[usize::from(byte >> 4)]));
            out.push(char::from(HEX[usize::from(byte & 15)]));
        } else {
            out.push(c);
        }
    }
}

/// An absent part is a lone `-`; a part that is just `-` is escaped.
fn optional(out: &mut String, text: Option<&str>) {
    match text {
        Some(text) => part(out, text),
        None => out.push_str("/-"),
    }
}

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

fn hashed(out: &mut String, kind: &str, hash: &[u8; 32]) {
    out.push_str(kind);
    out.push('/');
    for byte in hash {
        out.push(char::from(HEX[usize::from(byte >> 4)]));
        out.push(char::from(HEX[usize::from(byte & 15)]));
    }
}

/// Outer none: not our writing. Inner none: an absent part.
fn unescape(part: &str) -> Option<Option<String>> {
    if part == "-" {
        return Some(None);
    }
    let mut bytes = Vec::with_capacity(part.len());
    let mut rest = part.as_bytes();
    while let Some((&first, tail)) = rest.split_first() {
        if first == b'%' {
            let (&[high, low], after) = tail.split_first_chunk::<2>()?;
            bytes.push(digit(high)? << 4 | digit(low)?);
            rest = after;
        } else {
            bytes.push(first);
            rest = tail;
        }
    }
    String::from_utf8(bytes).ok().map(Some)
}

fn digit(byte: u8) -> Option<u8> {
    match byte {
        b'0'..=b'9' => Some(byte - b'0'),
        b'a'..=b'f' => Some(byte - b'a' + 10),
        _ => None,
    }
}

fn unhex(text: &str) -> Option<[u8; 32]> {
    let (pairs, []) = text.as_bytes().as_chunks::<2>() else { return None };
    let mut out = [0; 32];
    if pairs.len() != out.len() {
        return None;
    }
    for (byte, [high, low]) in out.iter_mut().zip(pairs) {
        *byte = digit(*high)? << 4 | digit(*low)?;
    }
    Some(out)
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
