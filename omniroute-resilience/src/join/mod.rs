//! Bringing together what processes wrote apart: one rule for each kind of record.

mod counts;
#[cfg(test)]
mod draw;
mod facts;
#[cfg(test)]
mod laws;
pub(crate) mod share;

use std::fmt::Debug;

use bytes::Bytes;
use omniroute_core::{Key, Record, UnixMs};

use crate::codec::Value;
use crate::layers::breaker::Breaker;
use crate::layers::connection::Connection;
use crate::layers::lockout::Lock;
use crate::lease::record::{Counter, Holder, Lease};
use crate::limits::quota::Usage;
use crate::limits::rate::Rate;
use crate::limits::slots::Slots;

/// What a record holds, as far as joining is concerned.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Joined {
    /// When it ends; none: never.
    pub expires: Option<UnixMs>,
    /// Its bytes.
    pub value: Bytes,
}

impl From<&Record> for Joined {
    fn from(record: &Record) -> Joined {
        Joined { expires: record.expires, value: record.value.clone() }
    }
}

/// How values that were written apart become one that holds what all knew.
pub trait Join: Send + Sync + Debug + 'static {
    /// The value that holds what both hold, where it is not known what they have in common.
    ///
    /// # Behavior
    /// - The order of the two does not matter, nor which of three are joined first, nor whether one is joined
    ///   twice. Anything else makes processes that come back in another order disagree.
    fn join(&self, key: &Key, a: &Joined, b: &Joined) -> Joined;

    /// What this process did to `base`, done to `theirs`. None: no record. A store does this exactly once for
    /// everything that was written apart, so amounts may be added. Unless there is more to say, the
    /// [join](Join::join) of `ours` and `theirs`, and a removal gives way.
    ///
    /// # Behavior
    /// - The order in which processes that started from one base come back does not matter.
    fn rebase(
        &self,
        key: &Key,
        base: Option<&Joined>,
        ours: Option<&Joined>,
        theirs: Option<&Joined>,
    ) -> Option<Joined> {
        let _ = base;
        match (ours, theirs) {
            (Some(ours), Some(theirs)) => Some(self.join(key, ours, theirs)),
            (Some(ours), None) => Some(ours.clone()),
            (None, theirs) => theirs.cloned(),
        }
    }
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

/// Knows every kind of record of this crate. What stores use unless told otherwise.
///
/// | record | rule |
/// |---|---|
/// | breaker | the state that reaches further into time, all failures of both, the higher generation |
/// | connection, lock of models | the later date, the higher level and count; a terminal state stays unless a newer credential lifts it |
/// | slots | by name: all that either took, without those that were given back |
/// | quota, calls and tokens of a day | what each added, added up; without a common start the greater amount |
/// | rate within a minute | the later date |
/// | fence, generation | the greater number |
/// | lease, holder of a connection | never from a process: what the server says, nothing if it says nothing |
/// | pin, refresh lock, last resort, others | the one that ends later |
#[derive(Debug, Clone, Copy, Default)]
pub struct ByKind;

impl Join for ByKind {
    fn join(&self, key: &Key, a: &Joined, b: &Joined) -> Joined {
        match key {
            Key::Breaker { .. } => join_as::<Breaker>(a, b),
            Key::Connection(..) => join_as::<Connection>(a, b),
            Key::Lockout { .. } => join_as::<Lock>(a, b),
            Key::Slots { .. } => join_as::<Slots>(a, b),
            Key::Rate { .. } => join_as::<Rate>(a, b),
            Key::Quota { .. } => join_as::<Usage>(a, b),
            Key::LeaseFence | Key::LeaseGeneration(_) => join_as::<Counter>(a, b),
            Key::LeaseOwner(_) | Key::LeaseEnded(..) => join_as::<Lease>(a, b),
            Key::LeaseConnection(..) => join_as::<Holder>(a, b),
            _ => LaterEnd.join(key, a, b),
        }
    }

    fn rebase(
        &self,
        key: &Key,
        base: Option<&Joined>,
        ours: Option<&Joined>,
        theirs: Option<&Joined>,
    ) -> Option<Joined> {
        match key {
            Key::Slots { .. } => rebase_as::<Slots>(base, ours, theirs),
            Key::Rate { .. } => rebase_as::<Rate>(base, ours, theirs),
            Key::Quota { .. } => rebase_as::<Usage>(base, ours, theirs),
            Key::LeaseOwner(_) | Key::LeaseConnection(..) => theirs.cloned(),
            _ => match (ours, theirs) {
                (Some(ours), Some(theirs)) => Some(self.join(key, ours, theirs)),
                (ours, theirs) => ours.or(theirs).cloned(),
            },
        }
    }
}

/// A value that can be joined with another one of its kind.
pub(crate) trait Lattice: Value + Default {
    /// Commutative, associative, idempotent.
    #[must_use]
    fn join(self, other: Self) -> Self;
}

/// A value that counts.
pub(crate) trait Counts: Lattice {
    /// What was done to `base` to become `ours`, done to `theirs`.
    #[must_use]
    fn rebase(base: Self, ours: Self, theirs: Self) -> Self;

    /// Nothing is counted.
    fn nothing(&self) -> bool;
}

fn join_as<V: Lattice>(a: &Joined, b: &Joined) -> Joined {
    match (V::decode(&a.value), V::decode(&b.value)) {
        (Some((x, x_tail)), Some((y, y_tail))) => Joined {
            expires: later(a.expires, b.expires),
            // What a newer version appended: of one of them, always the same one.
            value: x.join(y).encode(x_tail.max(y_tail)).into(),
        },
        // One that cannot be read counts as absent.
        (Some(_), None) => a.clone(),
        (None, Some(_)) => b.clone(),
        (None, None) => LaterEnd.join(&Key::LeaseFence, a, b),
    }
}

fn rebase_as<V: Counts>(
    base: Option<&Joined>,
    ours: Option<&Joined>,
    theirs: Option<&Joined>,
) -> Option<Joined> {
    fn read<V: Value>(joined: Option<&Joined>) -> (Option<V>, Option<&[u8]>) {
        joined.and_then(|joined| V::decode(&joined.value)).unzip()
    }
    let (base, _) = read::<V>(base);
    let ((mine, tail), (other, other_tail)) = (read::<V>(ours), read::<V>(theirs));
    let new = V::rebase(base.unwrap_or_default(), mine.unwrap_or_default(), other.unwrap_or_default());
    if new.nothing() {
        return None;
    }
    let end = |joined: Option<&Joined>| joined.map(|joined| joined.expires);
    let expires = match (end(ours), end(theirs)) {
        (Some(ours), Some(theirs)) => later(ours, theirs),
        (ours, theirs) => ours.or(theirs)?,
    };
    Some(Joined { expires, value: new.encode(tail.max(other_tail).unwrap_or_default()).into() })
}

/// The later of two ends; none is the latest.
fn later(a: Option<UnixMs>, b: Option<UnixMs>) -> Option<UnixMs> {
    Some(a?.max(b?))
}
