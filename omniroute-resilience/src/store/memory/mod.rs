//! The store inside this process: compact, bounded, sharded, without background work.

mod shard;

use std::sync::atomic::{AtomicI64, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use omniroute_core::{
    Change, Clock, Commit, Durability, Key, Record, ResilienceStore, StoreError, StoreTraits, UnixMs,
};

use self::shard::{Shard, pack, unpack};
use crate::rng;

/// A power of two. Enough that 16 threads seldom meet.
const SHARDS: usize = 64;

/// All state of one process, or of several that are simulated inside one. Forgets everything at its end.
///
/// Holds at most `max_records` (default 4 000 000). When full, expired records go first, then of a sample the
/// one that ends first; records without an end are never dropped.
#[derive(Debug)]
pub struct MemoryStore {
    clock: Arc<dyn Clock>,
    shards: Box<[Mutex<Shard>]>,
    version: AtomicU64,
    /// What was told last, and by how much the wall clock was ahead of the monotonic one at most, ms.
    time: AtomicI64,
    offset: AtomicI64,
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

fn shard_of(hash: u64) -> usize {
    usize::try_from(hash >> 32).unwrap_or(0) % SHARDS
}

/// A shard, by its number, that nobody else changes.
type Locked<'s> = (usize, MutexGuard<'s, Shard>);

impl MemoryStore {
    /// A store of one process, on this clock.
    pub fn new(clock: Arc<dyn Clock>) -> Self {
        MemoryStore {
            clock,
            shards: (0..SHARDS).map(|_| Mutex::default()).collect(),
            version: AtomicU64::new(0),
            time: AtomicI64::new(i64::MIN),
            offset: AtomicI64::new(i64::MIN),
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

    /// Never back, and never still: where the wall clock is set back, the other one carries the time on.
    fn now(&self) -> i64 {
        let read = self.clock.now();
        let passed = i64::try_from(read.mono.0 / 1_000_000).unwrap_or(i64::MAX);
        let offset = read.wall.0.saturating_sub(passed);
        let mut most = self.offset.load(Ordering::Relaxed);
        if offset > most {
            most = offset.max(self.offset.fetch_max(offset, Ordering::Relaxed));
        }
        let time = passed.saturating_add(most);
        time.max(self.time.fetch_max(time, Ordering::Relaxed))
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
                let hash = rng::quick(text.as_bytes());
                self.lock(shard_of(hash)).live(hash, text.as_bytes(), now).map(|entry| entry.record())
            })
            .collect();
        (records, UnixMs(now))
    }

    fn write(&self, changes: &[Change], not_after: Option<UnixMs>) -> Result<(Commit, UnixMs), StoreError> {
        let name = |change: &Change| {
            let text = change.key().encode();
            let hash = rng::quick(text.as_bytes());
            (text, hash)
        };
        // Most commits write one record: nothing to sort, nothing to collect.
        if let [change] = changes {
            let names = [name(change)];
            let shard = shard_of(names[0].1);
            return self.write_locked(changes, &names, not_after, &mut [(shard, self.lock(shard))]);
        }
        let names: Vec<(String, u64)> = changes.iter().map(name).collect();
        let mut involved: Vec<usize> = names.iter().map(|(_, hash)| shard_of(*hash)).collect();
        involved.sort_unstable();
        involved.dedup();
        let mut locked: Vec<Locked<'_>> =
            involved.into_iter().map(|shard| (shard, self.lock(shard))).collect();
        self.write_locked(changes, &names, not_after, &mut locked)
    }

    /// With the shards of all names locked, in their order.
    fn write_locked(
        &self,
        changes: &[Change],
        names: &[(String, u64)],
        not_after: Option<UnixMs>,
        locked: &mut [Locked<'_>],
    ) -> Result<(Commit, UnixMs), StoreError> {
        if let Some((text, _)) = names.iter().find(|(text, _)| text.len() > usize::from(u16::MAX)) {
            return Err(StoreError::Invalid(format!("a key has {} bytes, 65535 are allowed", text.len())));
        }
        let at = |locked: &[Locked<'_>], hash: u64| {
            locked.binary_search_by_key(&shard_of(hash), |(shard, _)| *shard).unwrap_or(0)
        };
        let now = self.now();
        if not_after.is_some_and(|limit| now > limit.0) {
            return Ok((Commit::TooLate, UnixMs(now)));
        }
        let mut conflicts = Vec::new();
        for (change, (text, hash)) in changes.iter().zip(names) {
            let found = locked[at(locked, *hash)].1.live(*hash, text.as_bytes(), now);
            if found.as_ref().map(|entry| entry.version) != change.expected() {
                conflicts.push((change.key().clone(), found.map(|entry| entry.record())));
            }
        }
        if !conflicts.is_empty() {
            return Ok((Commit::Conflict(conflicts), UnixMs(now)));
        }
        for (_, shard) in locked.iter_mut() {
            let removed = shard.sweep(now);
            self.records.fetch_sub(removed, Ordering::Relaxed);
        }
        let new =
            changes.iter().filter(|change| matches!(change, Change::Put { expected: None, .. })).count();
        self.make_room(new, locked)?;
        let version = self.version.fetch_add(1, Ordering::Relaxed) + 1;
        for (change, (text, hash)) in changes.iter().zip(names) {
            let place = at(locked, *hash);
            let shard = &mut locked[place].1;
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
    fn make_room(&self, new: usize, locked: &mut [Locked<'_>]) -> Result<(), StoreError> {
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
mod tests;
