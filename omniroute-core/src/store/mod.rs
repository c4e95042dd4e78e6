//! Where state lives that must outlast a request: three methods, many kinds of store, no rules inside.

mod error;
mod key;
mod key_text;

use std::fmt;

use bytes::Bytes;

pub use self::error::StoreError;
pub use self::key::{Key, LockScope};
use crate::clock::UnixMs;

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

/// How a store is doing at this moment.
#[non_exhaustive]
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
pub struct StoreStatus {
    /// It goes on without what it shares with other processes, and brings both together later.
    pub apart: bool,
    /// Processes that use it, this one included, as far as it has heard lately. While it is apart, whatever is
    /// limited is divided among so many. At least 1.
    pub processes: u32,
    /// Records that the others have not heard of yet.
    pub unsettled: u64,
    /// How often it went apart.
    pub outages: u64,
    /// Changes made apart that gave way when they were brought together with those of others.
    pub overruled: u64,
    /// Records that could not be remembered: there were too many.
    pub dropped: u64,
}

impl Default for StoreStatus {
    fn default() -> Self {
        StoreStatus { apart: false, processes: 1, unsettled: 0, outages: 0, overruled: 0, dropped: 0 }
    }
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

    /// How it is doing. Costs no exchange.
    fn status(&self) -> StoreStatus {
        StoreStatus::default()
    }

    /// While the store is apart: a record as all processes knew it, without what this one has changed since.
    fn common(&self, key: &Key) -> Option<Record> {
        let _ = key;
        None
    }

    /// Writes what is still held back and lets go of resources. Calls after it may fail.
    ///
    /// # Errors
    /// [`StoreError`] if something could not be written.
    async fn close(&self) -> Result<(), StoreError> {
        Ok(())
    }
}
