//! What a rewrite of the history decided: which old texts stand in which form from then on.
//!
//! Everything else is worked out from these and the request, so a record holds little, and losing it costs a cache
//! miss: the request is then sent in the form it had without the rewrite.

use std::collections::BTreeMap;

use omniroute_core::{BlobId, Dropped, Replacement};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::keys::{field, hex};
use crate::memo::Key;

/// One rewrite.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Epoch {
    /// How many texts the record speaks of: to the last call or result of the request, and to the last new form.
    pub(super) len: usize,
    /// Digest of their keys, in hex: the record belongs to histories that start so.
    pub(super) chain: String,
    /// Plan it was made for, in hex.
    pub(super) fingerprint: String,
    /// Thresholds that were passed, for rewrites at thresholds.
    pub(super) passed: u32,
    /// What stands in a new form, by place in the request.
    pub(super) pins: BTreeMap<usize, Pin>,
}

/// The form of one text.
#[derive(Clone, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Pin {
    pub(super) engine: String,
    pub(super) text: String,
    pub(super) undo: Option<String>,
    pub(super) kept: Vec<String>,
    pub(super) dropped: Dropped,
    pub(super) techniques: Vec<String>,
}

impl std::fmt::Debug for Pin {
    /// Sizes only: the text may hold secrets.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Pin({}, {} bytes)", self.engine, self.text.len())
    }
}

impl Pin {
    pub(super) fn of(engine: &str, new: &Replacement) -> Pin {
        Pin {
            engine: engine.to_owned(),
            text: new.text.clone(),
            undo: new.undo.clone(),
            kept: new.recoverable.iter().map(ToString::to_string).collect(),
            dropped: new.dropped,
            techniques: new.techniques.iter().map(|(name, _)| (*name).to_owned()).collect(),
        }
    }

    /// Addresses of what it stands for.
    pub(super) fn recoverable(&self) -> Vec<BlobId> {
        self.kept.iter().filter_map(|id| BlobId::parse(id)).collect()
    }
}

impl Epoch {
    /// Part of every key of what is worked out from it. Nothing rewritten: nothing added.
    pub(super) fn digest(&self) -> Option<Key> {
        if self.pins.is_empty() {
            return None;
        }
        let mut hash = Sha256::new();
        for (index, pin) in &self.pins {
            hash.update((*index as u64).to_le_bytes());
            field(&mut hash, pin.engine.as_bytes());
            field(&mut hash, pin.text.as_bytes());
        }
        Some(hash.finalize().into())
    }

    /// Says of which history it is: the first `len` texts, and those that stand in a new form.
    pub(super) fn anchored(mut self, keys: &[Key], len: usize) -> Epoch {
        let pinned = self.pins.last_key_value().map_or(0, |(last, _)| last + 1);
        self.len = len.max(pinned);
        self.chain = start(keys, self.len).unwrap_or_default();
        self
    }

    /// Whether it was made from the start of this very history.
    pub(super) fn fits(&self, keys: &[Key], fingerprint: &Key) -> bool {
        self.fingerprint == hex(fingerprint) && start(keys, self.len).is_some_and(|start| start == self.chain)
    }
}

/// What tells how a history starts; none if it is shorter, or if nothing is asked of it.
fn start(keys: &[Key], len: usize) -> Option<String> {
    let known = keys.get(..len).filter(|known| !known.is_empty())?;
    let mut hash = Sha256::new();
    known.iter().for_each(|key| hash.update(key));
    let start: Key = hash.finalize().into();
    Some(hex(&start))
}
