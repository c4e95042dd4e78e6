//! The store inside this process: compact, bounded, sharded, without background work.

use std::sync::atomic::{AtomicI64, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use hashbrown::HashTable;
use omniroute_core::{
    Change, Clock, Commit, Durability, Key, Record, ResilienceStore, StoreError, StoreTraits, UnixMs,
};

use crate::rng;

/// A power of two. Enough that 16 threads seldom meet.
const SHARDS: usize = 64;
/// Expired records that every call clears on its way, at most.
const SWEEP: usize = 8;
/// Records looked at to find one to drop when the store is full.
const SAMPLE: usize = 64;

/// All state of one process, or of several that are simulated inside one. Forgets everything at its end.
///
/// Holds at most `max_records` (default 4 000 000). When full, expired records go first, then of a sample the
/// one that ends first; records without an end are never dropped.
#[derive(Debug)]
pub struct MemoryStore {
    clock: Arc<dyn Clock>,
    shards: Box<[Mutex<Shard>]>,
    version: AtomicU64,
    time: AtomicI64,
    records: AtomicUsize,
    dropped: AtomicU64,
    max_records: usize,
    shared: bool,
    durable: bool,
}

/// How full a [`MemoryStore`] is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MemoryUse {
    /// Records held, expired ones that nobody met yet included.
    pub records: usize,
    /// Live records that had to go because it was full.
    pub dropped: u64,
}

#[derive(Debug, Default)]
struct Shard {
    index: HashTable<u32>,
    entries: Vec<Option<Box<[u8]>>>,
    free: Vec<u32>,
    cursor: usize,
}

/// One allocation for a record: key length, expiry, version, key, value.
const HEAD: usize = 2 + 8 + 8;

fn pack(key: &[u8], version: u64, expires: Option<UnixMs>, value: &[u8]) -> Option<Box<[u8]>> {
    let length = u16::try_from(key.len()).ok()?;
    let mut out = Vec::with_capacity(HEAD + key.len() + value.len());
    out.extend_from_slice(&length.to_le_bytes());
    out.extend_from_slice(&expires.map_or(i64::MAX, |at| at.0).to_le_bytes());
    out.extend_from_slice(&version.to_le_bytes());
    out.extend_from_slice(key);
    out.extend_from_slice(value);
    Some(out.into_boxed_slice())
}

struct Unpacked<'a> {
    expires: i64,
    version: u64,
    key: &'a [u8],
    value: &'a [u8],
}

fn unpack(entry: &[u8]) -> Unpacked<'_> {
    let read = || {
        let (length, rest) = entry.split_first_chunk::<2>()?;
        let (expires, rest) = rest.split_first_chunk::<8>()?;
        let (version, rest) = rest.split_first_chunk::<8>()?;
        let (key, value) = rest.split_at_checked(usize::from(u16::from_le_bytes(*length)))?;
        Some(Unpacked {
            expires: i64::from_le_bytes(*expires),
            version: u64::from_le_bytes(*version),
            key,
            value,
        })
    };
    read().expect("entries are only written by pack")
}

impl Unpacked<'_> {
    fn record(&self) -> Record {
        Record {
            version: self.version,
            value: Bytes::copy_from_slice(self.value),
            expires: (self.expires != i64::MAX).then_some(UnixMs(self.expires)),
        }
    }
}

impl Shard {
    fn find(&self, hash: u64, key: &[u8]) -> Option<u32> {
        self.index.find(hash, |at| self.entry(*at).is_some_and(|entry| unpack(entry).key == key)).copied()
    }

    fn entry(&self, at: u32) -> Option<&[u8]> {
        self.entries.get(at as usize)?.as_deref()
    }

    fn live(&self, hash: u64, key: &[u8], now: i64) -> Option<Unpacked<'_>> {
        let entry = self.entry(self.find(hash, key)?)?;
        Some(unpack(entry)).filter(|entry| entry.expires > now)
    }

    fn put(&mut self, hash: u64, key: &[u8], packed: Box<[u8]>) -> bool {
        if let Some(at) = self.find(hash, key) {
            if let Some(slot) = self.entries.get_mut(at as usize) {
                *slot = Some(packed);
            }
            return false;
        }
        let at = match self.free.pop() {
            Some(at) => at,
            None => {
                self.entries.push(None);
                u32::try_from(self.entries.len() - 1).unwrap_or(u32::MAX)
            }
        };
        if let Some(slot) = self.entries.get_mut(at as usize) {
            *slot = Some(packed);
        }
        let entries = &self.entries;
        self.index.insert_unique(hash, at, |at| hash_at(entries, *at));
        true
    }

    fn remove_at(&mut self, at: u32) -> bool {
        let Some(entry) = self.entries.get_mut(at as usize).and_then(Option::take) else { return false };
        let hash = rng::hash(unpack(&entry).key);
        if let Ok(found) = self.index.find_entry(hash, |other| *other == at) {
            found.remove();
        }
        self.free.push(at);
        true
    }

    /// Removes a few expired records. How many it removed.
    fn sweep(&mut self, now: i64) -> usize {
        let mut removed = 0;
        for _ in 0..SWEEP.min(self.entries.len()) {
            self.cursor = (self.cursor + 1) % self.entries.len();
            let at = u32::try_from(self.cursor).unwrap_or(0);
            if self.entry(at).is_some_and(|entry| unpack(entry).expires <= now) && self.remove_at(at) {
                removed += 1;
            }
        }
        removed
    }

    /// Of a sample, drops the record that ends first. True if one could go.
    fn evict(&mut self) -> bool {
        let mut first: Option<(i64, u32)> = None;
        for _ in 0..SAMPLE.min(self.entries.len()) {
            self.cursor = (self.cursor + 1) % self.entries.len();
            let at = u32::try_from(self.cursor).unwrap_or(0);
            if let Some(entry) = self.entry(at) {
                let expires = unpack(entry).expires;
                if expires != i64::MAX && first.is_none_or(|(earliest, _)| expires < earliest) {
                    first = Some((expires, at));
                }
            }
        }
        first.is_some_and(|(_, at)| self.remove_at(at))
    }
}

fn hash_at(entries: &[Option<Box<[u8]>>], at: u32) -> u64 {
    entries.get(at as usize).and_then(Option::as_deref).map_or(0, |entry| rng::hash(unpack(entry).key))
}

fn shard_of(hash: u64) -> usize {
    usize::try_from(hash >> 32).unwrap_or(0) % SHARDS
}

impl MemoryStore {
    /// A store of one process, on this clock.
    pub fn new(clock: Arc<dyn Clock>) -> Self {
        MemoryStore {
            clock,
            shards: (0..SHARDS).map(|_| Mutex::default()).collect(),
            version: AtomicU64::new(0),
            time: AtomicI64::new(i64::MIN),
            records: AtomicUsize::new(0),
            dropped: AtomicU64::new(0),
            max_records: 4_000_000,
            shared: false,
            durable: false,
        }
    }

    /// Says that others write to it too, so that what was read from it grows old. For simulated processes.
    #[must_use]
    pub fn shared(mut self) -> Self {
        self.shared = true;
        self
    }

    /// Says that it outlasts a crash. For simulated crashes.
    #[must_use]
    pub fn durable(mut self) -> Self {
        self.durable = true;
        self
    }

    /// At most this many records.
    #[must_use]
    pub fn max_records(mut self, max: usize) -> Self {
        self.max_records = max;
        self
    }

    /// How full it is.
    pub fn usage(&self) -> MemoryUse {
        MemoryUse {
            records: self.records.load(Ordering::Relaxed),
            dropped: self.dropped.load(Ordering::Relaxed),
        }
    }

    fn now(&self) -> i64 {
        let wall = self.clock.now().wall.0;
        wall.max(self.time.fetch_max(wall, Ordering::Relaxed))
    }

    fn lock(&self, shard: usize) -> MutexGuard<'_, Shard> {
        self.shards[shard].lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn read(&self, keys: &[Key]) -> (Vec<Option<Record>>, UnixMs) {
        let now = self.now();
        let records = keys
            .iter()
            .map(|key| {
                let text = key.encode();
                let hash = rng::hash(text.as_bytes());
                self.lock(shard_of(hash)).live(hash, text.as_bytes(), now).map(|entry| entry.record())
            })
            .collect();
        (records, UnixMs(now))
    }

    fn write(&self, changes: &[Change], not_after: Option<UnixMs>) -> Result<(Commit, UnixMs), StoreError> {
        let texts: Vec<(String, u64)> = changes
            .iter()
            .map(|change| {
                let text = change.key().encode();
                let hash = rng::hash(text.as_bytes());
                (text, hash)
            })
            .collect();
        if let Some((text, _)) = texts.iter().find(|(text, _)| text.len() > usize::from(u16::MAX)) {
            return Err(StoreError::Invalid(format!("a key has {} bytes, 65535 are allowed", text.len())));
        }
        let mut involved: Vec<usize> = texts.iter().map(|(_, hash)| shard_of(*hash)).collect();
        involved.sort_unstable();
        involved.dedup();
        let mut locked: Vec<(usize, MutexGuard<'_, Shard>)> =
            involved.iter().map(|shard| (*shard, self.lock(*shard))).collect();
        let at = |hash: u64| involved.binary_search(&shard_of(hash)).unwrap_or(0);
        let now = self.now();
        if not_after.is_some_and(|limit| now > limit.0) {
            return Ok((Commit::TooLate, UnixMs(now)));
        }
        let mut conflicts = Vec::new();
        for (change, (text, hash)) in changes.iter().zip(&texts) {
            let found = locked[at(*hash)].1.live(*hash, text.as_bytes(), now);
            if found.as_ref().map(|entry| entry.version) != change.expected() {
                conflicts.push((change.key().clone(), found.map(|entry| entry.record())));
            }
        }
        if !conflicts.is_empty() {
            return Ok((Commit::Conflict(conflicts), UnixMs(now)));
        }
        for (_, shard) in &mut locked {
            let removed = shard.sweep(now);
            self.records.fetch_sub(removed, Ordering::Relaxed);
        }
        let new =
            changes.iter().filter(|change| matches!(change, Change::Put { expected: None, .. })).count();
        self.make_room(new, &mut locked)?;
        let version = self.version.fetch_add(1, Ordering::Relaxed) + 1;
        for (change, (text, hash)) in changes.iter().zip(&texts) {
            let shard = &mut locked[at(*hash)].1;
            match change {
                Change::Put { value, expires, .. } => {
                    let packed = pack(text.as_bytes(), version, *expires, value)
                        .ok_or_else(|| StoreError::Invalid("a key is too long".to_owned()))?;
                    if shard.put(*hash, text.as_bytes(), packed) {
                        self.records.fetch_add(1, Ordering::Relaxed);
                    }
                }
                Change::Delete { .. } => {
                    if let Some(found) = shard.find(*hash, text.as_bytes())
                        && shard.remove_at(found)
                    {
                        self.records.fetch_sub(1, Ordering::Relaxed);
                    }
                }
                Change::Check { .. } => {}
            }
        }
        Ok((Commit::Done(version), UnixMs(now)))
    }

    /// Makes room in the shards that are locked anyway.
    fn make_room(&self, new: usize, locked: &mut [(usize, MutexGuard<'_, Shard>)]) -> Result<(), StoreError> {
        while self.records.load(Ordering::Relaxed) + new > self.max_records {
            if new == 0 || !locked.iter_mut().any(|(_, shard)| shard.evict()) {
                return if new == 0 { Ok(()) } else { Err(StoreError::Full(self.max_records, "any")) };
            }
            self.records.fetch_sub(1, Ordering::Relaxed);
            self.dropped.fetch_add(1, Ordering::Relaxed);
        }
        Ok(())
    }
}

#[async_trait::async_trait]
impl ResilienceStore for MemoryStore {
    fn traits(&self) -> StoreTraits {
        StoreTraits::new("memory", self.durable, self.shared)
    }

    async fn get(&self, keys: &[Key]) -> Result<(Vec<Option<Record>>, UnixMs), StoreError> {
        Ok(self.read(keys))
    }

    async fn commit(
        &self,
        changes: &[Change],
        not_after: Option<UnixMs>,
        _durability: Durability,
    ) -> Result<(Commit, UnixMs), StoreError> {
        self.write(changes, not_after)
    }

    async fn scan(
        &self,
        prefix: &str,
        visit: &mut (dyn for<'r> FnMut(&'r Key, &'r Record) + Send),
    ) -> Result<UnixMs, StoreError> {
        let now = self.now();
        for shard in 0..SHARDS {
            let found: Vec<(Key, Record)> = {
                let shard = self.lock(shard);
                let live = shard
                    .entries
                    .iter()
                    .flatten()
                    .map(|entry| unpack(entry))
                    .filter(|entry| entry.expires > now && entry.key.starts_with(prefix.as_bytes()));
                live.filter_map(|entry| {
                    Some((Key::decode(std::str::from_utf8(entry.key).ok()?)?, entry.record()))
                })
                .collect()
            };
            for (key, record) in &found {
                visit(key, record);
            }
        }
        Ok(UnixMs(now))
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use futures::FutureExt;
    use omniroute_core::testing::VirtualClock;

    use super::*;

    fn key(n: usize) -> Key {
        Key::Meta(format!("k{n}").into())
    }

    fn put(n: usize, expected: Option<u64>, expires: Option<i64>) -> Change {
        Change::Put {
            key: key(n),
            expected,
            value: Bytes::from(format!("v{n}")),
            expires: expires.map(UnixMs),
        }
    }

    fn commit(store: &MemoryStore, changes: &[Change]) -> Commit {
        store.commit(changes, None, Durability::Relaxed).now_or_never().unwrap().unwrap().0
    }

    fn get(store: &MemoryStore, n: usize) -> Option<Record> {
        store.get(&[key(n)]).now_or_never().unwrap().unwrap().0.remove(0)
    }

    #[test]
    fn all_or_nothing_and_versions_that_never_come_back() {
        let store = MemoryStore::new(Arc::new(VirtualClock::default()));
        let Commit::Done(first) = commit(&store, &[put(1, None, None), put(2, None, None)]) else { panic!() };
        let conflict = commit(&store, &[put(3, None, None), put(1, None, None)]);
        assert!(matches!(&conflict, Commit::Conflict(c) if c.len() == 1 && c[0].0 == key(1)), "{conflict:?}");
        assert_eq!(get(&store, 3), None);
        assert!(matches!(
            commit(&store, &[Change::Delete { key: key(1), expected: first }]),
            Commit::Done(_)
        ));
        let Commit::Done(second) = commit(&store, &[put(1, None, None)]) else { panic!() };
        assert!(second > first);
        let stale = Change::Check { key: key(1), expected: Some(first) };
        assert!(matches!(commit(&store, &[stale]), Commit::Conflict(_)), "no old version after a delete");
    }

    #[test]
    fn expired_is_absent_to_every_call() {
        let clock = VirtualClock::default();
        let store = MemoryStore::new(Arc::new(clock.clone()));
        let Commit::Done(version) = commit(&store, &[put(1, None, Some(10))]) else { panic!() };
        clock.advance(Duration::from_millis(9));
        assert!(get(&store, 1).is_some());
        clock.advance(Duration::from_millis(1));
        assert_eq!(get(&store, 1), None);
        assert!(matches!(commit(&store, &[put(1, Some(version), None)]), Commit::Conflict(_)));
        assert!(matches!(commit(&store, &[put(1, None, None)]), Commit::Done(_)));
        let changes = [put(9, None, None)];
        let late = store.commit(&changes, Some(UnixMs(9)), Durability::Relaxed).now_or_never();
        assert_eq!(late.unwrap().unwrap().0, Commit::TooLate);
    }

    #[test]
    fn p41_it_is_bounded_and_what_has_no_end_is_never_dropped() {
        let clock = VirtualClock::default();
        let store = MemoryStore::new(Arc::new(clock.clone())).max_records(200);
        for n in 0..10 {
            commit(&store, &[put(n, None, None)]);
        }
        for n in 10..5_000 {
            let expires = i64::try_from(n).unwrap() + 1_000_000;
            // A shard may hold only endless records: then the store says that it is full.
            let _full =
                store.commit(&[put(n, None, Some(expires))], None, Durability::Relaxed).now_or_never();
        }
        assert!(store.usage().records <= 200, "{:?}", store.usage());
        assert!(store.usage().dropped > 4_000);
        assert!((0..10).all(|n| get(&store, n).is_some()));
        let mut seen = 0;
        store.scan("me/", &mut |_, _| seen += 1).now_or_never().unwrap().unwrap();
        assert_eq!(seen, store.usage().records);
    }
}
