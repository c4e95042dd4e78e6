//! What is remembered of a session between its requests, beside the memo: whether the model was told of the
//! retrieval tool, when it last asked, and what was rewritten. A lost record costs a cache miss, nothing else.

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::sync::{Mutex, PoisonError};

use bytes::Bytes;
use omniroute_core::UnixMs;

/// Which session, as a digest over tenant, wire and session. Says nothing of its parts.
pub type SessionKey = [u8; 32];

/// Keeps one small record a session. Records hold no text of a request other than what stands for texts that were
/// taken out.
pub trait SessionStore: Send + Sync + fmt::Debug + 'static {
    /// The record, if it is still there.
    ///
    /// # Behavior
    /// What is returned was put for this very key. A store that fails returns nothing.
    fn get(&self, key: &SessionKey, now: UnixMs) -> Option<Bytes>;

    /// Keeps a record in place of the one before. A store that fails keeps nothing.
    fn put(&self, key: &SessionKey, record: Bytes, now: UnixMs);
}

/// Sessions in memory: at most 1,000 records of at most 2 MiB, 32 MiB in all, each for 24 hours after its last use;
/// the oldest go first.
#[derive(Default)]
pub struct MemorySessions {
    inner: Mutex<Inner>,
}

#[derive(Default)]
struct Inner {
    records: HashMap<SessionKey, (u64, UnixMs, Bytes)>,
    order: BTreeMap<u64, SessionKey>,
    next: u64,
    bytes: usize,
}

const MAX_RECORDS: usize = 1_000;
const MAX_RECORD: usize = 2 << 20;
const MAX_BYTES: usize = 32 << 20;
const TTL_MS: i64 = 24 * 3_600_000;

impl fmt::Debug for MemorySessions {
    /// Sizes only.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        f.debug_struct("MemorySessions")
            .field("records", &inner.records.len())
            .field("bytes", &inner.bytes)
            .finish()
    }
}

impl MemorySessions {
    /// Forgets everything.
    pub fn clear(&self) {
        *self.inner.lock().unwrap_or_else(PoisonError::into_inner) = Inner::default();
    }
}

impl SessionStore for MemorySessions {
    fn get(&self, key: &SessionKey, now: UnixMs) -> Option<Bytes> {
        let inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        let (_, used, record) = inner.records.get(key)?;
        (now.0.saturating_sub(used.0) <= TTL_MS).then(|| record.clone())
    }

    fn put(&self, key: &SessionKey, record: Bytes, now: UnixMs) {
        let mut inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        inner.remove(key);
        if record.len() > MAX_RECORD {
            return;
        }
        inner.next += 1;
        let stamp = inner.next;
        inner.bytes += record.len();
        inner.order.insert(stamp, *key);
        inner.records.insert(*key, (stamp, now, record));
        while inner.records.len() > MAX_RECORDS || inner.bytes > MAX_BYTES {
            let Some((_, oldest)) = inner.order.pop_first() else { break };
            inner.remove(&oldest);
        }
    }
}

impl Inner {
    fn remove(&mut self, key: &SessionKey) {
        if let Some((stamp, _, record)) = self.records.remove(key) {
            self.order.remove(&stamp);
            self.bytes -= record.len();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keeps_the_latest_within_its_bounds() {
        let store = MemorySessions::default();
        let key = |n: u16| {
            let mut key = [0; 32];
            key[..2].copy_from_slice(&n.to_le_bytes());
            key
        };
        for n in 0..1_200 {
            store.put(&key(n), Bytes::from(vec![1; 100]), UnixMs(5));
        }
        assert!(store.get(&key(0), UnixMs(5)).is_none() && store.get(&key(1_199), UnixMs(5)).is_some());
        store.put(&key(1_199), Bytes::from(vec![1; MAX_RECORD + 1]), UnixMs(5));
        assert!(store.get(&key(1_199), UnixMs(5)).is_none(), "too large is not kept, nor the one before");
        assert!(store.get(&key(1_198), UnixMs(5 + TTL_MS)).is_some());
        assert!(store.get(&key(1_198), UnixMs(6 + TTL_MS)).is_none());
        for n in 0..40 {
            store.put(&key(n), Bytes::from(vec![1; 1 << 20]), UnixMs(5));
        }
        assert!(store.inner.lock().unwrap().bytes <= MAX_BYTES);
        store.clear();
        assert!(store.get(&key(39), UnixMs(5)).is_none());
    }
}
