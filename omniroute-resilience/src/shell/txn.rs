//! Read, decide, write if nothing changed, else decide again: the one way anything reaches a store.

use bytes::Bytes;
use omniroute_core::{Change, Commit, Durability, Key, Record, ResilienceStore, StoreError, UnixMs};

use crate::codec::Value;

/// Conflicts in a row before a caller is told.
const TRIES: u32 = 64;

#[derive(Debug, Clone)]
enum Next {
    Keep,
    Check,
    Put(Bytes, Option<i64>),
    Delete,
}

#[derive(Debug)]
struct Part {
    key: Key,
    record: Option<Record>,
    next: Next,
}

/// Records as they are now, and what is to become of them.
#[derive(Debug)]
pub(crate) struct Draft {
    /// The store's time.
    pub(crate) now: i64,
    /// Whether the commit must outlast a crash.
    pub(crate) durable: bool,
    /// The commit must not happen after this date of the store.
    pub(crate) not_after: Option<i64>,
    /// Records that could not be read and count as absent.
    pub(crate) corrupt: u32,
    parts: Vec<Part>,
}

impl Draft {
    /// The value at a place, or its default. `None` as second: there is no record.
    pub(crate) fn load<V: Value + Default>(&mut self, at: usize) -> (V, bool) {
        let Some(record) = self.parts.get(at).and_then(|part| part.record.as_ref()) else {
            return (V::default(), false);
        };
        match V::decode(&record.value) {
            Some((value, _)) => (value, true),
            None => {
                self.corrupt += 1;
                (V::default(), false)
            }
        }
    }

    /// The key at a place.
    pub(crate) fn key(&self, at: usize) -> Option<&Key> {
        self.parts.get(at).map(|part| &part.key)
    }

    /// Writes a value; what a newer version had appended is kept.
    pub(crate) fn put<V: Value>(&mut self, at: usize, value: &V, expires: Option<i64>) {
        let Some(part) = self.parts.get_mut(at) else { return };
        let tail =
            part.record.as_ref().and_then(|record| V::decode(&record.value)).map(|(_, tail)| tail.to_vec());
        part.next = Next::Put(Bytes::from(value.encode(&tail.unwrap_or_default())), expires);
    }

    /// Removes a record, if there is one.
    pub(crate) fn delete(&mut self, at: usize) {
        if let Some(part) = self.parts.get_mut(at) {
            part.next = if part.record.is_some() { Next::Delete } else { Next::Keep };
        }
    }

    /// Demands that a record stays as it was read.
    pub(crate) fn check(&mut self, at: usize) {
        if let Some(part) = self.parts.get_mut(at)
            && matches!(part.next, Next::Keep)
        {
            part.next = Next::Check;
        }
    }

    /// Takes back everything that was to be written.
    pub(crate) fn forget(&mut self) {
        self.durable = false;
        self.not_after = None;
        for part in &mut self.parts {
            part.next = Next::Keep;
        }
    }

    fn changes(&self) -> Vec<Change> {
        self.parts
            .iter()
            .filter_map(|part| {
                let (key, expected) = (part.key.clone(), part.record.as_ref().map(|record| record.version));
                match &part.next {
                    Next::Keep => None,
                    Next::Check => Some(Change::Check { key, expected }),
                    Next::Delete => Some(Change::Delete { key, expected: expected? }),
                    Next::Put(value, expires) => Some(Change::Put {
                        key,
                        expected,
                        value: value.clone(),
                        expires: expires.map(UnixMs),
                    }),
                }
            })
            .collect()
    }

    fn restart(&mut self, conflicts: Vec<(Key, Option<Record>)>, now: UnixMs) {
        self.now = now.0;
        self.forget();
        for (key, record) in conflicts {
            if let Some(part) = self.parts.iter_mut().find(|part| part.key == key) {
                part.record = record;
            }
        }
    }
}

/// Runs `decide` until what it decided could be committed as a whole. It may run several times.
pub(crate) async fn transact<T: Send>(
    store: &dyn ResilienceStore,
    keys: Vec<Key>,
    mut decide: impl FnMut(&mut Draft) -> T + Send,
) -> Result<T, StoreError> {
    let (records, now) = store.get(&keys).await?;
    let parts =
        keys.into_iter().zip(records).map(|(key, record)| Part { key, record, next: Next::Keep }).collect();
    let mut draft = Draft { now: now.0, durable: false, not_after: None, corrupt: 0, parts };
    for _ in 0..TRIES {
        let out = decide(&mut draft);
        let changes = draft.changes();
        if !changes.iter().any(|change| !matches!(change, Change::Check { .. })) {
            return Ok(out);
        }
        let durability = if draft.durable { Durability::Durable } else { Durability::Relaxed };
        match store.commit(&changes, draft.not_after.map(UnixMs), durability).await? {
            (Commit::Done(_), _) => return Ok(out),
            (Commit::Conflict(conflicts), now) => draft.restart(conflicts, now),
            (Commit::TooLate, now) => draft.restart(Vec::new(), now),
        }
    }
    Err(StoreError::Contended(TRIES))
}
