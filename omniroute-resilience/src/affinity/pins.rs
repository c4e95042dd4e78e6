//! Pins that this process has seen: the least recently used ones go.

use std::collections::{BTreeMap, HashMap};
use std::sync::Mutex;

use omniroute_core::{Moment, Mono, Principal, SessionId, Target};

use crate::affinity::{Pin, session_key};
use crate::config::AffinityConfig;
use crate::shell::core::{Core, lock};
use crate::shell::events::{About, EventKind};

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

/// The pins this process knows, bounded for all and for each consumer.
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

    pub(crate) fn keep(&self, key: [u8; 32], consumer: &Principal, pin: Pin, now: Mono) {
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

    pub(crate) fn look(
        &self,
        key: &[u8; 32],
        now: Mono,
        max_age: Option<u64>,
        ttl: u64,
    ) -> Option<(Pin, Mono)> {
        let inner = lock(&self.inner);
        let entry = inner.entries.get(key)?;
        let age = now.0.saturating_sub(entry.seen.0);
        let fresh = max_age.is_none_or(|most| age <= most) && now.0.saturating_sub(entry.written.0) < ttl;
        fresh.then(|| (entry.pin.clone(), entry.written))
    }

    pub(crate) fn forget(&self, key: &[u8; 32]) {
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

#[cfg(test)]
mod tests {
    use omniroute_core::ConnectionId;

    use super::*;

    #[test]
    fn pins_are_bounded_for_all_and_for_each() {
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
}
