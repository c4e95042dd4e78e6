//! Sessions that stay on one connection. Pins are kept here; what they may override is the router's contract.

use std::collections::{BTreeMap, HashMap};
use std::sync::Mutex;

use omniroute_core::{ConnectionId, Key, Moment, Mono, Principal, ProviderId, SessionId, StoreError, Target};
use sha2::{Digest, Sha256};

use crate::Resilience;
use crate::codec::{Reader, Value, Writer};
use crate::config::AffinityConfig;
use crate::shell::core::{Core, lock};
use crate::shell::denial::Blocked;
use crate::shell::events::{About, EventKind};
use crate::shell::txn::transact;

/// Where a session stays.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Pin {
    /// The connection.
    pub connection: ConnectionId,
    /// Grows with every move; a move from an older number loses.
    pub version: u64,
    /// Requests in a row that were served elsewhere.
    pub diversions: u32,
    /// When it was made, on the store's clock, ms.
    pub created_at: i64,
}

/// What to do about a pin, from what is known of its connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Advice {
    /// Use it.
    Use,
    /// Wait for it until then.
    Wait(Mono),
    /// Use another connection for this request and keep the pin.
    Divert,
    /// Move the pin.
    Rebind,
    /// Remove the pin, then choose anew.
    Delete,
}

/// The table of what to do: by what blocks the pinned connection and for how long.
pub fn advise(
    config: &AffinityConfig,
    blocked: Option<(Blocked, Option<Mono>)>,
    diversions: u32,
    may_wait: bool,
    now: Mono,
) -> Advice {
    use Blocked as B;
    let Some((reason, until)) = blocked else { return Advice::Use };
    match reason {
        B::Terminal(_) | B::Disabled | B::NotConfigured => return Advice::Delete,
        B::Breaker | B::ProviderRamp => return Advice::Divert,
        B::QuotaExhausted => return Advice::Rebind,
        _ => {}
    }
    let left = until.map(|at| at.since(now));
    match left {
        Some(left) if left <= config.grace.into() && may_wait => Advice::Wait(until.unwrap_or(now)),
        _ if diversions + 1 >= config.diversions => Advice::Rebind,
        Some(left) if left <= config.keep.into() => Advice::Divert,
        None if matches!(reason, B::Slots | B::Attempts | B::RetryBudget) => Advice::Divert,
        _ => Advice::Rebind,
    }
}

/// What a pin is stored under: consumer, provider and session, hashed together.
pub fn session_key(consumer: &Principal, provider: &ProviderId, session: &SessionId) -> [u8; 32] {
    let mut hash = Sha256::new();
    hash.update(consumer.as_str());
    hash.update([0]);
    hash.update(provider.as_str());
    hash.update([0]);
    hash.update(session.as_str());
    hash.finalize().into()
}

#[derive(Debug, Clone, PartialEq, Eq, Default)]
struct Stored {
    connection: String,
    version: u64,
    diversions: u32,
    created_at: i64,
}

impl Value for Stored {
    fn encode(&self, tail: &[u8]) -> Vec<u8> {
        let mut out = Writer::new();
        out.text(&self.connection).u(self.version).u(u64::from(self.diversions)).i(self.created_at);
        out.finish(tail)
    }

    fn decode(bytes: &[u8]) -> Option<(Self, &[u8])> {
        let mut input = Reader::new(bytes)?;
        let pin = Stored {
            connection: input.text()?.to_owned(),
            version: input.u()?,
            diversions: input.small()?,
            created_at: input.i()?,
        };
        Some((pin, input.rest()))
    }
}

impl Stored {
    fn pin(&self) -> Pin {
        Pin {
            connection: ConnectionId::new(self.connection.as_str()),
            version: self.version,
            diversions: self.diversions,
            created_at: self.created_at,
        }
    }
}

#[derive(Debug)]
struct Entry {
    pin: Pin,
    consumer: Principal,
    seen: Mono,
    written: Mono,
    used: u64,
}

/// Pins of this process: the least recently used ones go.
#[derive(Debug, Default)]
struct Inner {
    entries: HashMap<[u8; 32], Entry>,
    order: BTreeMap<u64, [u8; 32]>,
    consumers: HashMap<Principal, BTreeMap<u64, [u8; 32]>>,
    next: u64,
}

#[derive(Debug)]
pub(crate) struct Pins {
    max: usize,
    max_consumer: usize,
    inner: Mutex<Inner>,
}

impl Inner {
    fn remove(&mut self, key: &[u8; 32]) {
        if let Some(entry) = self.entries.remove(key) {
            self.order.remove(&entry.used);
            if let Some(own) = self.consumers.get_mut(&entry.consumer) {
                own.remove(&entry.used);
                if own.is_empty() {
                    self.consumers.remove(&entry.consumer);
                }
            }
        }
    }
}

impl Pins {
    pub(crate) fn new(config: &AffinityConfig) -> Pins {
        Pins {
            max: config.max_pins as usize,
            max_consumer: config.max_pins_per_consumer as usize,
            inner: Mutex::default(),
        }
    }

    pub(crate) fn len(&self) -> usize {
        lock(&self.inner).entries.len()
    }

    fn keep(&self, key: [u8; 32], consumer: &Principal, pin: Pin, now: Mono) {
        let mut inner = lock(&self.inner);
        inner.remove(&key);
        let own = inner.consumers.get(consumer);
        let oldest_own =
            own.filter(|own| own.len() >= self.max_consumer).and_then(|own| own.values().next().copied());
        if let Some(oldest) = oldest_own {
            inner.remove(&oldest);
        }
        if inner.entries.len() >= self.max
            && let Some(oldest) = inner.order.values().next().copied()
        {
            inner.remove(&oldest);
        }
        inner.next += 1;
        let used = inner.next;
        inner.order.insert(used, key);
        inner.consumers.entry(consumer.clone()).or_default().insert(used, key);
        inner.entries.insert(key, Entry { pin, consumer: consumer.clone(), seen: now, written: now, used });
    }

    fn look(&self, key: &[u8; 32], now: Mono, max_age: Option<u64>, ttl: u64) -> Option<(Pin, Mono)> {
        let inner = lock(&self.inner);
        let entry = inner.entries.get(key)?;
        let age = now.0.saturating_sub(entry.seen.0);
        let fresh = max_age.is_none_or(|most| age <= most) && now.0.saturating_sub(entry.written.0) < ttl;
        fresh.then(|| (entry.pin.clone(), entry.written))
    }

    fn forget(&self, key: &[u8; 32]) {
        lock(&self.inner).remove(key);
    }

    /// A failure that moves the session. The store's record goes with the next look at the pin.
    pub(crate) fn evict_local(
        &self,
        consumer: &Principal,
        session: &SessionId,
        target: &Target,
        now: Moment,
        core: &Core,
    ) {
        let key = session_key(consumer, &target.provider, session);
        let mut inner = lock(&self.inner);
        let Some(entry) = inner.entries.get_mut(&key) else { return };
        if entry.pin.connection == target.connection {
            // Two diversions: the next choice moves it.
            entry.pin.diversions = u32::MAX / 2;
            let about = About { connection: Some(target.connection.clone()), ..About::default() };
            core.events.push(now.wall.0, about, EventKind::PinEvicted);
        }
    }
}

impl Resilience {
    /// Where a session stays, if it does. Off (ttl 0): never asks anybody.
    ///
    /// # Errors
    /// [`StoreError`] if the store had to be asked and did not answer; going on without a pin is right then.
    pub async fn pin(
        &self,
        consumer: &Principal,
        provider: &ProviderId,
        session: &SessionId,
    ) -> Result<Option<Pin>, StoreError> {
        let Some((key, ttl)) = self.pin_key(consumer, provider, session) else { return Ok(None) };
        let now = self.core.now();
        if let Some((pin, _)) = self.core.pins.look(&key, now.mono, self.core.max_age, ttl) {
            return Ok(Some(pin));
        }
        let (records, store_now) = self.core.store.get(&[Key::Affinity(key)]).await?;
        let found = records.first().and_then(Option::as_ref).and_then(|record| Stored::decode(&record.value));
        let found = found.map(|(stored, _)| stored).filter(|stored| self.young(stored, store_now.0));
        match found {
            Some(stored) => {
                self.core.pins.keep(key, consumer, stored.pin(), now.mono);
                Ok(Some(stored.pin()))
            }
            None => {
                self.core.pins.forget(&key);
                Ok(None)
            }
        }
    }

    /// Pins a session to `proposed` unless it is pinned already; the pin that holds comes back, so that of many
    /// that start at once all end on one connection.
    ///
    /// # Errors
    /// [`StoreError`] if the store did not answer.
    pub async fn bind(
        &self,
        consumer: &Principal,
        provider: &ProviderId,
        session: &SessionId,
        proposed: &ConnectionId,
    ) -> Result<Option<Pin>, StoreError> {
        self.move_pin(consumer, provider, session, None, proposed).await
    }

    /// Moves a pin from the version the caller saw. If somebody moved it before, theirs comes back.
    ///
    /// # Errors
    /// [`StoreError`] if the store did not answer.
    pub async fn rebind(
        &self,
        consumer: &Principal,
        provider: &ProviderId,
        session: &SessionId,
        from: &Pin,
        to: &ConnectionId,
    ) -> Result<Option<Pin>, StoreError> {
        self.move_pin(consumer, provider, session, Some(from.version), to).await
    }

    /// The session was used at its pin: it lives on. Written at most every tenth of its life.
    ///
    /// # Errors
    /// [`StoreError`] if the store did not answer.
    pub async fn touch_pin(
        &self,
        consumer: &Principal,
        provider: &ProviderId,
        session: &SessionId,
        diverted: bool,
    ) -> Result<(), StoreError> {
        let Some((key, ttl)) = self.pin_key(consumer, provider, session) else { return Ok(()) };
        let now = self.core.now();
        if let Some((pin, written)) = self.core.pins.look(&key, now.mono, None, ttl)
            && !diverted
            && pin.diversions == 0
            && now.mono.0.saturating_sub(written.0) < ttl / 10
        {
            return Ok(());
        }
        let ttl_ms = self.core.config.affinity.ttl.signed();
        let pin = transact(&*self.core.store, vec![Key::Affinity(key)], |draft| {
            let (mut stored, exists) = draft.load::<Stored>(0);
            if !exists {
                return None;
            }
            stored.diversions = if diverted { stored.diversions.saturating_add(1) } else { 0 };
            draft.put(0, &stored, Some(draft.now.saturating_add(ttl_ms)));
            Some(stored.pin())
        })
        .await?;
        match pin {
            Some(pin) => self.core.pins.keep(key, consumer, pin, now.mono),
            None => self.core.pins.forget(&key),
        }
        Ok(())
    }

    /// Removes a pin if it still points to `connection`. True if it did.
    ///
    /// # Errors
    /// [`StoreError`] if the store did not answer.
    pub async fn evict_pin(
        &self,
        consumer: &Principal,
        provider: &ProviderId,
        session: &SessionId,
        connection: &ConnectionId,
    ) -> Result<bool, StoreError> {
        let Some((key, _)) = self.pin_key(consumer, provider, session) else { return Ok(false) };
        self.core.pins.forget(&key);
        let evicted = transact(&*self.core.store, vec![Key::Affinity(key)], |draft| {
            let (stored, exists) = draft.load::<Stored>(0);
            let same = exists && stored.connection == connection.as_str();
            if same {
                draft.delete(0);
            }
            same
        })
        .await?;
        if evicted {
            self.pin_event(connection, EventKind::PinEvicted);
        }
        Ok(evicted)
    }

    async fn move_pin(
        &self,
        consumer: &Principal,
        provider: &ProviderId,
        session: &SessionId,
        from: Option<u64>,
        to: &ConnectionId,
    ) -> Result<Option<Pin>, StoreError> {
        let Some((key, _)) = self.pin_key(consumer, provider, session) else { return Ok(None) };
        let ttl = self.core.config.affinity.ttl.signed();
        let (pin, moved) = transact(&*self.core.store, vec![Key::Affinity(key)], |draft| {
            let (stored, exists) = draft.load::<Stored>(0);
            let exists = exists && self.young(&stored, draft.now);
            if exists && from != Some(stored.version) {
                return (stored.pin(), false);
            }
            let next = Stored {
                connection: to.as_str().to_owned(),
                version: stored.version + 1,
                diversions: 0,
                created_at: draft.now,
            };
            draft.put(0, &next, Some(draft.now.saturating_add(ttl)));
            (next.pin(), true)
        })
        .await?;
        self.core.pins.keep(key, consumer, pin.clone(), self.core.now().mono);
        if moved {
            let kind = if from.is_some() { EventKind::PinRebound } else { EventKind::PinCreated };
            self.pin_event(to, kind);
        }
        Ok(Some(pin))
    }

    fn pin_key(
        &self,
        consumer: &Principal,
        provider: &ProviderId,
        session: &SessionId,
    ) -> Option<([u8; 32], u64)> {
        let ttl = self.core.config.affinity.ttl.as_ms().saturating_mul(1_000_000);
        (ttl > 0).then(|| (session_key(consumer, provider, session), ttl))
    }

    fn young(&self, stored: &Stored, now: i64) -> bool {
        let most = self.core.config.affinity.max_age.signed();
        most == 0 || now.saturating_sub(stored.created_at) < most
    }

    fn pin_event(&self, connection: &ConnectionId, kind: EventKind) {
        let about = About { connection: Some(connection.clone()), ..About::default() };
        self.core.events.push(self.core.now().wall.0, about, kind);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::layers::connection::Terminal;

    #[test]
    fn p18_t_5_03_the_table_row_by_row() {
        use Blocked as B;
        let config = AffinityConfig::default();
        let now = Mono(1_000_000_000);
        let at = |seconds: u64| Some(Mono(now.0 + seconds * 1_000_000_000));
        for (blocked, diversions, may_wait, expected) in [
            (None, 0, true, Advice::Use),
            (Some((B::RateLimited, at(10))), 0, true, Advice::Wait(Mono(11_000_000_000))),
            (Some((B::RateLimited, at(10))), 0, false, Advice::Divert),
            (Some((B::ModelLocked, at(60))), 0, true, Advice::Divert),
            (Some((B::ModelLocked, at(60))), 1, true, Advice::Rebind),
            (Some((B::RateLimited, at(61))), 0, true, Advice::Rebind),
            (Some((B::QuotaExhausted, at(1))), 0, true, Advice::Rebind),
            (Some((B::Terminal(Terminal::Banned), None)), 0, true, Advice::Delete),
            (Some((B::NotConfigured, None)), 0, true, Advice::Delete),
            (Some((B::Breaker, at(900))), 5, true, Advice::Divert),
            (Some((B::Slots, None)), 0, true, Advice::Divert),
        ] {
            assert_eq!(
                advise(&config, blocked, diversions, may_wait, now),
                expected,
                "{blocked:?} {diversions}"
            );
        }
    }

    #[test]
    fn p41_t_5_05_pins_are_bounded_for_all_and_for_each() {
        let config = AffinityConfig { max_pins: 100, max_pins_per_consumer: 10, ..AffinityConfig::default() };
        let pins = Pins::new(&config);
        let pin = Pin { connection: ConnectionId::new("c"), version: 1, diversions: 0, created_at: 0 };
        for n in 0..10_000_u32 {
            let mut key = [0; 32];
            key[..4].copy_from_slice(&n.to_be_bytes());
            pins.keep(key, &Principal::new(format!("p{}", n % 7)), pin.clone(), Mono(1));
        }
        assert_eq!(pins.len(), 70);
        for n in 0..10_000_u32 {
            let mut key = [1; 32];
            key[..4].copy_from_slice(&n.to_be_bytes());
            pins.keep(key, &Principal::new(format!("q{n}")), pin.clone(), Mono(1));
        }
        assert_eq!(pins.len(), 100);
        assert!(lock(&pins.inner).consumers.len() <= 100);
    }

    #[test]
    fn t_5_06_two_consumers_never_share_a_pin() {
        let (provider, session) = (ProviderId::new("p"), SessionId::new("session-1"));
        let key = |consumer: &str| session_key(&Principal::new(consumer), &provider, &session);
        assert_ne!(key("a"), key("b"));
    }
}
