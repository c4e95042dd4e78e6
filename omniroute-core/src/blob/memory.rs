//! Blobs in memory.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::{BlobError, BlobFacts, BlobId, BlobLimits, BlobStore, Held};
use crate::clock::UnixMs;
use crate::ids::Principal;

/// Addresses remembered of one principal after their content has gone.
const MAX_REMEMBERED: usize = 20_000;

/// Blobs in memory, within [`BlobLimits`]. When room is needed, what the same principal has not used for longest
/// goes first, then what anybody has not used for longest.
#[derive(Default)]
pub struct MemoryBlobs {
    inner: Mutex<Inner>,
    limits: BlobLimits,
}

type Key = (Principal, BlobId);

#[derive(Default)]
struct Inner {
    blobs: HashMap<Key, Entry>,
    /// By last use, the oldest first.
    order: BTreeMap<u64, Key>,
    owners: HashMap<Principal, Owner>,
    next: u64,
    /// The last use before any time was told: of what was not used since, nobody knows how old it is.
    untimed: u64,
    bytes: usize,
    now: UnixMs,
}

struct Entry {
    stamp: u64,
    kept: UnixMs,
    used: UnixMs,
    content: Arc<[u8]>,
}

/// What one principal has.
#[derive(Default)]
struct Owner {
    order: BTreeMap<u64, BlobId>,
    bytes: usize,
    /// Everything it ever kept, as long as that is not too much.
    issued: HashSet<BlobId>,
}

impl MemoryBlobs {
    /// 64 MiB for all principals together.
    pub const DEFAULT_LIMIT: usize = 64 << 20;

    /// A store of at most `limit` bytes, all of which one principal and one blob may take.
    pub fn with_limit(limit: usize) -> Self {
        let limits = BlobLimits::default().bytes(limit).principal_bytes(limit).blob_bytes(limit);
        MemoryBlobs::with_limits(limits)
    }

    /// A store with these bounds.
    pub fn with_limits(limits: BlobLimits) -> Self {
        MemoryBlobs { inner: Mutex::default(), limits }
    }

    /// Bytes kept now.
    pub fn bytes(&self) -> usize {
        self.lock().bytes
    }

    /// Blobs kept now.
    pub fn len(&self) -> usize {
        self.lock().blobs.len()
    }

    /// Whether nothing is kept.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for MemoryBlobs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MemoryBlobs").field("bytes", &self.bytes()).field("limits", &self.limits).finish()
    }
}

impl BlobStore for MemoryBlobs {
    fn put(&self, principal: &Principal, content: &[u8]) -> Result<BlobId, BlobError> {
        let limit = self.limits.largest();
        if content.len() > limit {
            return Err(BlobError::TooLarge { bytes: content.len(), limit });
        }
        let id = BlobId::of(content);
        let mut inner = self.lock();
        let key = (principal.clone(), id);
        match inner.blobs.get(&key) {
            Some(entry) if *entry.content != *content => return Err(BlobError::Taken(id)),
            Some(_) => {
                inner.used(&key, true);
            }
            None => inner.add(key, content),
        }
        inner.make_room(principal, id, &self.limits);
        Ok(id)
    }

    fn get(&self, principal: &Principal, id: BlobId) -> Result<Option<Arc<[u8]>>, BlobError> {
        Ok(self.lock().blobs.get(&(principal.clone(), id)).map(|entry| entry.content.clone()))
    }

    fn look(&self, principal: &Principal, id: BlobId) -> Result<Held, BlobError> {
        let inner = self.lock();
        if let Some(entry) = inner.blobs.get(&(principal.clone(), id)) {
            return Ok(Held::Here { content: entry.content.clone(), kept: entry.kept });
        }
        let issued = inner.owners.get(principal).is_some_and(|owner| owner.issued.contains(&id));
        Ok(if issued { Held::Gone } else { Held::Never })
    }

    fn touch(&self, principal: &Principal, ids: &[BlobId]) -> Result<Vec<BlobId>, BlobError> {
        let mut inner = self.lock();
        Ok(ids.iter().copied().filter(|id| !inner.used(&(principal.clone(), *id), false)).collect())
    }

    fn ttl_ms(&self) -> Option<u64> {
        Some(self.limits.ttl_ms)
    }

    fn tick(&self, now: UnixMs) {
        let mut inner = self.lock();
        if inner.now == UnixMs(0) {
            inner.untimed = inner.next;
        }
        inner.now = inner.now.max(now);
        let ttl = i64::try_from(self.limits.ttl_ms).unwrap_or(i64::MAX);
        let end = inner.now.0.saturating_sub(ttl);
        while let Some(key) = inner.oldest(end) {
            inner.drop_content(&key);
        }
    }

    fn remove(&self, principal: &Principal, id: BlobId) -> Result<bool, BlobError> {
        let mut inner = self.lock();
        let was = inner.drop_content(&(principal.clone(), id));
        if let Some(owner) = inner.owners.get_mut(principal) {
            owner.issued.remove(&id);
        }
        Ok(was)
    }

    fn list(&self, principal: &Principal, limit: usize) -> Result<Vec<BlobFacts>, BlobError> {
        let inner = self.lock();
        let Some(owner) = inner.owners.get(principal) else { return Ok(Vec::new()) };
        let facts = |id: &BlobId| {
            let entry = inner.blobs.get(&(principal.clone(), *id))?;
            Some(BlobFacts::new(*id, entry.content.len() as u64, entry.kept))
        };
        Ok(owner.order.values().rev().filter_map(facts).take(limit).collect())
    }
}

impl Inner {
    fn add(&mut self, key: Key, content: &[u8]) {
        let stamp = self.stamp();
        self.bytes += content.len();
        let owner = self.owners.entry(key.0.clone()).or_default();
        owner.bytes += content.len();
        owner.order.insert(stamp, key.1);
        if owner.issued.len() < MAX_REMEMBERED {
            owner.issued.insert(key.1);
        }
        self.order.insert(stamp, key.clone());
        let entry = Entry { stamp, kept: self.now, used: self.now, content: content.into() };
        self.blobs.insert(key, entry);
    }

    /// Notes that a blob is used; false if it is not there.
    fn used(&mut self, key: &Key, kept: bool) -> bool {
        let (stamp, now) = (self.stamp(), self.now);
        let Some(entry) = self.blobs.get_mut(key) else { return false };
        self.order.remove(&entry.stamp);
        self.order.insert(stamp, key.clone());
        if let Some(owner) = self.owners.get_mut(&key.0) {
            owner.order.remove(&entry.stamp);
            owner.order.insert(stamp, key.1);
        }
        (entry.stamp, entry.used) = (stamp, now);
        if kept {
            entry.kept = now;
        }
        true
    }

    fn stamp(&mut self) -> u64 {
        self.next += 1;
        self.next
    }

    /// What was not used for longest, if that is longer than since `end`.
    fn oldest(&self, end: i64) -> Option<Key> {
        let (_, key) = self.order.range(self.untimed + 1..).next()?;
        self.blobs.get(key).filter(|entry| entry.used.0 < end).map(|_| key.clone())
    }

    /// Lets go of what was not used for longest, never of `newest`.
    fn make_room(&mut self, principal: &Principal, newest: BlobId, limits: &BlobLimits) {
        let over = |inner: &Inner| inner.bytes > limits.bytes || inner.blobs.len() > limits.entries;
        loop {
            let Some(owner) = self.owners.get(principal) else { return };
            if owner.bytes <= limits.principal_bytes && !over(self) {
                return;
            }
            let Some(id) = owner.order.values().copied().find(|id| *id != newest) else { break };
            self.drop_content(&(principal.clone(), id));
        }
        while over(self) {
            let other = self.order.values().find(|key| **key != (principal.clone(), newest)).cloned();
            let Some(key) = other else { return };
            self.drop_content(&key);
        }
    }

    fn drop_content(&mut self, key: &Key) -> bool {
        let Some(entry) = self.blobs.remove(key) else { return false };
        self.order.remove(&entry.stamp);
        self.bytes -= entry.content.len();
        if let Some(owner) = self.owners.get_mut(&key.0) {
            owner.order.remove(&entry.stamp);
            owner.bytes -= entry.content.len();
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keeps_apart_per_principal() {
        let store = MemoryBlobs::default();
        let (a, b) = (Principal::new("a"), Principal::new("b"));
        let id = store.put(&a, b"text").unwrap();
        assert_eq!(store.get(&a, id).unwrap().as_deref(), Some(&b"text"[..]));
        assert_eq!(store.get(&b, id).unwrap(), None);
        assert_eq!(store.look(&b, id).unwrap(), Held::Never);
        assert_eq!(store.list(&b, 9).unwrap(), []);
        assert!(!store.remove(&b, id).unwrap());
        assert_eq!(store.touch(&b, &[id]).unwrap(), [id]);
    }

    #[test]
    fn forgets_the_oldest_first_and_counts_once() {
        let store = MemoryBlobs::with_limit(10);
        let p = Principal::default();
        let first = store.put(&p, b"12345").unwrap();
        let second = store.put(&p, b"abcde").unwrap();
        assert_eq!(store.put(&p, b"12345").unwrap(), first, "same content, same address, now the newest");
        store.put(&p, b"x").unwrap();
        assert_eq!(store.look(&p, second).unwrap(), Held::Gone, "told apart from what never was");
        assert!(store.get(&p, first).unwrap().is_some());
        assert_eq!(store.bytes(), 6);
        assert!(matches!(store.put(&p, &[0; 11]), Err(BlobError::TooLarge { bytes: 11, limit: 10 })));
    }

    #[test]
    fn one_who_keeps_much_pushes_out_its_own_first() {
        let limits = BlobLimits::default().bytes(24).principal_bytes(12).blob_bytes(10);
        let store = MemoryBlobs::with_limits(limits);
        let (a, b) = (Principal::new("a"), Principal::new("b"));
        let of_b = store.put(&b, b"12345").unwrap();
        let first = store.put(&a, b"first").unwrap();
        let second = store.put(&a, b"second").unwrap();
        let third = store.put(&a, b"third").unwrap();
        let here = |p: &Principal, id| store.get(p, id).unwrap().is_some();
        assert_eq!((here(&a, first), here(&a, second), here(&a, third)), (false, true, true));
        assert!(here(&b, of_b));
        store.put(&b, b"1234567890").unwrap();
        assert!(!here(&b, of_b), "b's own oldest went, a's stay");
        assert!(here(&a, second));
        assert_eq!(store.bytes(), 21);
    }

    #[test]
    fn ages_only_when_told_the_time() {
        let ttl = std::time::Duration::from_secs(60);
        let store = MemoryBlobs::with_limits(BlobLimits::default().ttl(ttl));
        let p = Principal::default();
        store.tick(UnixMs(1_000));
        let (old, used) = (store.put(&p, b"old").unwrap(), store.put(&p, b"used").unwrap());
        store.tick(UnixMs(50_000));
        assert!(store.touch(&p, &[used]).unwrap().is_empty());
        store.tick(UnixMs(70_000));
        assert_eq!(store.look(&p, old).unwrap(), Held::Gone);
        assert!(matches!(store.look(&p, used).unwrap(), Held::Here { kept: UnixMs(1_000), .. }));
        store.tick(UnixMs(0));
        assert_eq!(store.len(), 1, "time never goes back");
        assert_eq!(store.put(&p, b"old").unwrap(), old, "and it comes back when it is kept again");
    }

    #[test]
    fn what_was_kept_before_a_time_was_told_keeps_nothing_else_from_ageing() {
        let store = MemoryBlobs::with_limits(BlobLimits::default().ttl(std::time::Duration::from_secs(60)));
        let p = Principal::default();
        let (untimed, used) = (store.put(&p, b"untimed").unwrap(), store.put(&p, b"used").unwrap());
        store.tick(UnixMs(1_000));
        let old = store.put(&p, b"old").unwrap();
        assert!(store.touch(&p, &[used]).unwrap().is_empty());
        store.tick(UnixMs(70_000));
        assert_eq!((store.look(&p, old).unwrap(), store.look(&p, used).unwrap()), (Held::Gone, Held::Gone));
        assert!(store.get(&p, untimed).unwrap().is_some(), "nobody knows how old it is");
    }
}
