//! What earlier calls found out, so that a growing session costs only its new text.
//!
//! Two things are kept: the result for every text, under a key that covers everything the result depends
//! on, and what the engines remember of the texts so far, under the key of the last text. Both can go at any
//! time: a call that misses works the same thing out again.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use omniroute_core::{EngineMemory, Mono};

use crate::result::SegmentResult;

/// A digest over everything a result depends on.
pub(crate) type Key = [u8; 32];

/// Bounds of what a compressor remembers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct MemoLimits {
    /// Texts whose result is kept; 0 remembers nothing. Default 16,384.
    pub entries: usize,
    /// Room for results and engine memories together, in bytes. Default 64 MiB.
    pub bytes: usize,
    /// How long something unused is kept. Default 24 hours.
    pub ttl: Duration,
}

impl Default for MemoLimits {
    fn default() -> Self {
        MemoLimits { entries: 16_384, bytes: 64 << 20, ttl: Duration::from_secs(24 * 3600) }
    }
}

impl MemoLimits {
    /// Remembers nothing.
    pub fn none() -> Self {
        MemoLimits { entries: 0, ..MemoLimits::default() }
    }

    /// Sets the number of texts.
    #[must_use]
    pub fn entries(mut self, entries: usize) -> Self {
        self.entries = entries;
        self
    }

    /// Sets the room in bytes.
    #[must_use]
    pub fn bytes(mut self, bytes: usize) -> Self {
        self.bytes = bytes;
        self
    }

    /// Sets how long something unused is kept.
    #[must_use]
    pub fn ttl(mut self, ttl: Duration) -> Self {
        self.ttl = ttl;
        self
    }
}

/// One engine's memory after some text; `None` for engines without one and for engines that panicked.
pub(crate) type Memories = Vec<Slot>;

/// A place for an engine's memory.
#[derive(Debug)]
pub(crate) enum Slot {
    /// The engine does not look at earlier texts.
    Unused,
    /// What it remembers.
    Live(Box<dyn EngineMemory>),
    /// The engine panicked while it took notice of a text: it stays out for the rest of the session, so that the
    /// outcome does not depend on whether its memory survived.
    Broken,
}

/// Results and memories, shared by the calls of one compressor.
pub(crate) struct Memo {
    limits: MemoLimits,
    inner: Mutex<Inner>,
}

impl fmt::Debug for Memo {
    /// Sizes only: what is remembered may hold secrets.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let inner = self.lock();
        let entries = inner.young.len() + inner.old.len();
        f.debug_struct("Memo").field("limits", &self.limits).field("entries", &entries).finish()
    }
}

/// Results live in two generations: when the young one is full it becomes the old one and the old one goes.
/// Whatever is used moves to the young one. That keeps what is in use at constant cost a lookup.
#[derive(Default)]
struct Inner {
    young: HashMap<Key, Entry>,
    young_bytes: usize,
    old: HashMap<Key, Entry>,
    tips: HashMap<Key, Tip>,
    tip_bytes: usize,
    stamp: u64,
}

struct Entry {
    result: Arc<SegmentResult>,
    used: Mono,
}

struct Tip {
    memories: Memories,
    bytes: usize,
    stamp: u64,
    used: Mono,
}

impl Memo {
    pub(crate) fn new(limits: MemoLimits) -> Self {
        Memo { limits, inner: Mutex::default() }
    }

    pub(crate) fn is_off(&self) -> bool {
        self.limits.entries == 0
    }

    /// Looks up many keys under one lock.
    pub(crate) fn find(&self, keys: &[Key], now: Mono) -> Vec<Option<Arc<SegmentResult>>> {
        if self.is_off() {
            return vec![None; keys.len()];
        }
        let mut inner = self.lock();
        keys.iter().map(|key| inner.get(key, now, &self.limits)).collect()
    }

    pub(crate) fn store(&self, results: Vec<(Key, Arc<SegmentResult>)>, now: Mono) {
        if self.is_off() {
            return;
        }
        let mut inner = self.lock();
        for (key, result) in results {
            inner.put(key, Entry { result, used: now }, &self.limits);
        }
    }

    /// Takes out the memories that belong to the deepest of `keys` that has any, and says which one it was.
    pub(crate) fn take_tip(&self, keys: &[Key], now: Mono) -> Option<(usize, Memories)> {
        if self.is_off() || keys.is_empty() {
            return None;
        }
        let mut inner = self.lock();
        let index = keys.iter().rposition(|key| inner.tips.contains_key(key))?;
        let tip = inner.tips.remove(keys.get(index)?)?;
        inner.tip_bytes -= tip.bytes;
        let fresh = now.since(tip.used) <= self.limits.ttl;
        fresh.then_some((index, tip.memories))
    }

    pub(crate) fn put_tip(&self, key: Key, memories: Memories, now: Mono) {
        if self.is_off() {
            return;
        }
        let size = |slot: &Slot| match slot {
            Slot::Live(memory) => memory.bytes(),
            Slot::Unused | Slot::Broken => 0,
        };
        let bytes = 64 + memories.iter().map(size).sum::<usize>();
        let half = self.limits.bytes / 2;
        if bytes > half {
            return; // worked out again when needed
        }
        let mut inner = self.lock();
        inner.stamp += 1;
        let stamp = inner.stamp;
        if let Some(old) = inner.tips.insert(key, Tip { memories, bytes, stamp, used: now }) {
            inner.tip_bytes -= old.bytes;
        }
        inner.tip_bytes += bytes;
        while inner.tip_bytes > half {
            let Some(oldest) = inner.tips.iter().min_by_key(|(_, tip)| tip.stamp).map(|(key, _)| *key) else {
                break;
            };
            if let Some(tip) = inner.tips.remove(&oldest) {
                inner.tip_bytes -= tip.bytes;
            }
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Inner {
    fn get(&mut self, key: &Key, now: Mono, limits: &MemoLimits) -> Option<Arc<SegmentResult>> {
        if let Some(entry) = self.young.get_mut(key) {
            if now.since(entry.used) > limits.ttl {
                return None;
            }
            entry.used = now;
            return Some(entry.result.clone());
        }
        let entry = self.old.remove(key)?;
        if now.since(entry.used) > limits.ttl {
            return None;
        }
        let result = entry.result.clone();
        self.put(*key, Entry { used: now, ..entry }, limits);
        Some(result)
    }

    fn put(&mut self, key: Key, entry: Entry, limits: &MemoLimits) {
        // Each generation gets half of the entries, and a quarter of the room: engine memories have the rest.
        let full = self.young.len() >= limits.entries.div_ceil(2) || self.young_bytes > limits.bytes / 4;
        if full {
            self.old = std::mem::take(&mut self.young);
            self.young_bytes = 0;
        }
        self.young_bytes += entry.result.bytes();
        if let Some(before) = self.young.insert(key, entry) {
            self.young_bytes -= before.result.bytes();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(n: u8) -> Key {
        [n; 32]
    }

    fn known(memo: &Memo, n: u8, now: u64) -> bool {
        memo.find(&[key(n)], Mono(now))[0].is_some()
    }

    #[test]
    fn keeps_what_is_used_and_forgets_the_rest() {
        let memo = Memo::new(MemoLimits::default().entries(4));
        for n in 0..20 {
            memo.store(vec![(key(n), Arc::default())], Mono(0));
            assert!(known(&memo, 0, 0), "used all the time, entry {n}");
        }
        assert!(!known(&memo, 5, 0));
        assert!(known(&memo, 19, 0));
        let inner = memo.lock();
        assert!(inner.young.len() + inner.old.len() <= 4);
    }

    #[test]
    fn forgets_after_the_ttl_and_when_off() {
        let memo = Memo::new(MemoLimits::default().ttl(Duration::from_nanos(10)));
        memo.store(vec![(key(1), Arc::default())], Mono(0));
        assert!(known(&memo, 1, 10));
        assert!(!known(&memo, 1, 21));
        let off = Memo::new(MemoLimits::none());
        off.store(vec![(key(1), Arc::default())], Mono(0));
        assert!(!known(&off, 1, 0));
    }

    #[test]
    fn tips_are_taken_from_the_deepest_key() {
        let memo = Memo::new(MemoLimits::default());
        memo.put_tip(key(1), vec![Slot::Unused], Mono(0));
        memo.put_tip(key(2), vec![Slot::Broken], Mono(0));
        let (index, memories) = memo.take_tip(&[key(1), key(2), key(3)], Mono(0)).unwrap();
        assert!(index == 1 && matches!(memories[..], [Slot::Broken]));
        assert_eq!(memo.take_tip(&[key(1), key(2)], Mono(0)).unwrap().0, 0);
        assert!(memo.take_tip(&[key(1)], Mono(0)).is_none());
    }
}
