//! Bringing together what was written apart, so that the order of doing it does not matter.

use std::fmt::Debug;

use bytes::Bytes;
use omniroute_core::{Change, Commit, Key, Record, StoreError, UnixMs};

use super::local::Unsettled;

/// What a record holds, as far as joining is concerned.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Joined {
    /// When it ends; none: never.
    pub expires: Option<UnixMs>,
    /// Its bytes.
    pub value: Bytes,
}

/// How two values that were written apart become one that holds what both knew.
///
/// # Behavior
/// - The order of the two does not matter, nor which of three are joined first, nor whether one is joined
///   twice. Anything else makes processes that come back in another order disagree.
pub trait Join: Send + Sync + Debug + 'static {
    /// The value that holds what both hold.
    fn join(&self, key: &Key, a: &Joined, b: &Joined) -> Joined;
}

/// Knows nothing about values: the one that ends later stays, of two that end together the greater one.
#[derive(Debug, Clone, Copy, Default)]
pub struct LaterEnd;

impl Join for LaterEnd {
    fn join(&self, _: &Key, a: &Joined, b: &Joined) -> Joined {
        let rank = |joined: &Joined| (joined.expires.map_or(i64::MAX, |at| at.0), joined.value.clone());
        if rank(a) >= rank(b) { a.clone() } else { b.clone() }
    }
}

/// What must be written so that the server holds what both know; none: it does already.
pub(super) fn change(told: &Unsettled, theirs: Option<&Record>, join: &dyn Join) -> Option<Change> {
    let expected = theirs.map(|record| record.version);
    let key = || told.key.clone();
    // Nobody else has touched it: ours simply comes next.
    let next = expected == told.base;
    match (&told.record, theirs) {
        (None, Some(theirs)) if next => Some(Change::Delete { key: key(), expected: theirs.version }),
        // Removing tells nothing that another's change could be joined with.
        (None, _) => None,
        (Some(ours), Some(theirs)) if !next => {
            let (ours, old) = (joined(ours), joined(theirs));
            let new = join.join(&told.key, &ours, &old);
            // Versions of one key grow for us, too.
            (new != old || theirs.version < told.version()).then(|| put(key(), expected, new))
        }
        (Some(ours), _) => Some(put(key(), expected, joined(ours))),
    }
}

/// What the server holds after a change.
pub(super) fn after(change: &Change, version: u64) -> Option<Record> {
    match change {
        Change::Put { value, expires, .. } => {
            Some(Record { version, value: value.clone(), expires: *expires })
        }
        _ => None,
    }
}

/// The server as far as joining needs it.
pub(super) trait Server {
    fn get(&mut self, keys: &[Key]) -> Result<Vec<Option<Record>>, StoreError>;
    fn commit(&mut self, changes: &[Change]) -> Result<Commit, StoreError>;
}

/// Tells the server some records. Gives those it has heard of, with what it holds now; the rest met a change of
/// somebody else and must be told again.
pub(super) fn tell(
    server: &mut impl Server,
    pending: &[Unsettled],
    join: &dyn Join,
) -> Result<Vec<(Unsettled, Option<Record>)>, StoreError> {
    let keys: Vec<Key> = pending.iter().map(|told| told.key.clone()).collect();
    let theirs = server.get(&keys)?;
    let mut settled = Vec::with_capacity(pending.len());
    let mut changes = Vec::new();
    for (told, theirs) in pending.iter().zip(theirs) {
        match change(told, theirs.as_ref(), join) {
            Some(change) => changes.push((told, change)),
            None => settled.push((told.clone(), theirs)),
        }
    }
    while !changes.is_empty() {
        let batch: Vec<Change> = changes.iter().map(|(_, change)| change.clone()).collect();
        match server.commit(&batch)? {
            Commit::Done(version) => {
                let done = changes.drain(..);
                settled.extend(done.map(|(told, change)| (told.clone(), after(&change, version))));
            }
            Commit::Conflict(conflicts) if !conflicts.is_empty() => {
                changes.retain(|(told, _)| !conflicts.iter().any(|(key, _)| *key == told.key));
            }
            Commit::Conflict(_) | Commit::TooLate => break,
        }
    }
    Ok(settled)
}

fn joined(record: &Record) -> Joined {
    Joined { expires: record.expires, value: record.value.clone() }
}

fn put(key: Key, expected: Option<u64>, new: Joined) -> Change {
    Change::Put { key, expected, value: new.value, expires: new.expires }
}

#[cfg(test)]
#[path = "join_tests.rs"]
mod tests;
