//! Pins in the store: looked up, made, moved, kept alive, removed.

use omniroute_core::{ConnectionId, Key, Principal, ProviderId, SessionId, StoreError};

use crate::Resilience;
use crate::affinity::{Pin, session_key};
use crate::codec::{Reader, Value, Writer};
use crate::shell::events::{About, EventKind};
use crate::shell::txn::transact;

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
