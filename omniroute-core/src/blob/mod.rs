//! Where texts that were taken out of a request can be fetched back.

mod memory;

use std::fmt;
use std::sync::Arc;

use sha2::{Digest, Sha256};

use crate::clock::UnixMs;
use crate::ids::Principal;

pub use memory::MemoryBlobs;

/// Content address of a blob: the first 12 bytes of its SHA-256, written as 24 hex digits.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BlobId([u8; 12]);

impl BlobId {
    /// The address of `content`.
    pub fn of(content: &[u8]) -> Self {
        let digest = Sha256::digest(content);
        let mut id = [0u8; 12];
        id.copy_from_slice(digest.get(..12).unwrap_or(&[0; 12]));
        BlobId(id)
    }

    /// Reads 24 hex digits.
    pub fn parse(hex: &str) -> Option<Self> {
        let digits = hex.as_bytes();
        if digits.len() != 24 {
            return None;
        }
        let mut id = [0u8; 12];
        for (byte, pair) in id.iter_mut().zip(digits.chunks_exact(2)) {
            let [high, low] = pair else { return None };
            *byte = (hex_digit(*high)? << 4) | hex_digit(*low)?;
        }
        Some(BlobId(id))
    }
}

fn hex_digit(byte: u8) -> Option<u8> {
    (byte as char).to_digit(16).map(|d| d as u8)
}

impl fmt::Display for BlobId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|b| write!(f, "{b:02x}"))
    }
}

impl fmt::Debug for BlobId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "BlobId({self})")
    }
}

/// Keeps original texts, apart per principal.
///
/// A store has no clock: [`BlobStore::tick`] tells it the time, and the latest time told counts. A store that was
/// never told any keeps what it has until room is needed.
pub trait BlobStore: Send + Sync + fmt::Debug + 'static {
    /// Keeps `content` and returns its address.
    ///
    /// # Behavior
    /// - The same content has the same address; keeping it again costs no more room and starts its time anew.
    /// - What one principal keeps no other can get.
    ///
    /// # Errors
    /// [`BlobError`] if it cannot be kept; nothing may then be taken out of a request for it.
    fn put(&self, principal: &Principal, content: &[u8]) -> Result<BlobId, BlobError>;

    /// The content behind an address, if this principal has kept it and it is still there.
    ///
    /// # Errors
    /// [`BlobError`] if the store cannot be read.
    fn get(&self, principal: &Principal, id: BlobId) -> Result<Option<Arc<[u8]>>, BlobError>;

    /// As [`BlobStore::get`], and tells what is gone from what this principal never kept. By default nothing is
    /// known of what is gone.
    ///
    /// # Errors
    /// [`BlobError`] if the store cannot be read.
    fn look(&self, principal: &Principal, id: BlobId) -> Result<Held, BlobError> {
        Ok(self.get(principal, id)?.map_or(Held::Never, |content| Held::Here { content, kept: UnixMs(0) }))
    }

    /// Starts the time of blobs anew that are still needed; returns those that are not there.
    ///
    /// # Errors
    /// [`BlobError`] if the store cannot be read.
    fn touch(&self, principal: &Principal, ids: &[BlobId]) -> Result<Vec<BlobId>, BlobError> {
        let mut missing = Vec::new();
        for id in ids {
            if self.get(principal, *id)?.is_none() {
                missing.push(*id);
            }
        }
        Ok(missing)
    }

    /// How long a blob is kept that is not used, in milliseconds; none if the store does not say.
    fn ttl_ms(&self) -> Option<u64> {
        None
    }

    /// Tells the time. By default nothing ages.
    fn tick(&self, now: UnixMs) {
        let _ = now;
    }

    /// Forgets a blob, also that it was ever kept; returns whether it was there. By default nothing is forgotten.
    ///
    /// # Errors
    /// [`BlobError`] if the store cannot be changed.
    fn remove(&self, principal: &Principal, id: BlobId) -> Result<bool, BlobError> {
        let _ = (principal, id);
        Ok(false)
    }

    /// What this principal keeps, the latest first, at most `limit`. By default nothing is told.
    ///
    /// # Errors
    /// [`BlobError`] if the store cannot be read.
    fn list(&self, principal: &Principal, limit: usize) -> Result<Vec<BlobFacts>, BlobError> {
        let _ = (principal, limit);
        Ok(Vec::new())
    }
}

/// What a store knows of an address.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Held {
    /// The content is there.
    Here {
        /// The content.
        content: Arc<[u8]>,
        /// When it was last kept; 0 if no time was told.
        kept: UnixMs,
    },
    /// It was kept once and is gone: too old, or room was needed.
    Gone,
    /// This principal never kept it.
    Never,
}

impl fmt::Debug for Held {
    /// The size of the content only: it may hold secrets.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Held::Here { content, kept } => write!(f, "Here({} bytes, {})", content.len(), kept.0),
            Held::Gone => f.write_str("Gone"),
            Held::Never => f.write_str("Never"),
        }
    }
}

/// What can be told of a blob without its content.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct BlobFacts {
    /// Its address.
    pub id: BlobId,
    /// Its size in bytes.
    pub bytes: u64,
    /// When it was last kept; 0 if no time was told.
    pub kept: UnixMs,
}

impl BlobFacts {
    /// Facts of one blob.
    pub const fn new(id: BlobId, bytes: u64, kept: UnixMs) -> Self {
        BlobFacts { id, bytes, kept }
    }
}

/// Bounds of a blob store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct BlobLimits {
    /// Largest blob in bytes; default 2 MiB.
    pub blob_bytes: usize,
    /// Room of one principal in bytes; default 16 MiB.
    pub principal_bytes: usize,
    /// Room of all in bytes; default 64 MiB.
    pub bytes: usize,
    /// Number of blobs; default 5,000.
    pub entries: usize,
    /// How long a blob is kept that is not used, in milliseconds; default 24 hours.
    pub ttl_ms: u64,
}

impl Default for BlobLimits {
    fn default() -> Self {
        BlobLimits {
            blob_bytes: 2 << 20,
            principal_bytes: 16 << 20,
            bytes: 64 << 20,
            entries: 5_000,
            ttl_ms: 24 * 3_600_000,
        }
    }
}

impl BlobLimits {
    /// Sets the largest blob.
    #[must_use]
    pub const fn blob_bytes(mut self, bytes: usize) -> Self {
        self.blob_bytes = bytes;
        self
    }

    /// Sets the room of one principal.
    #[must_use]
    pub const fn principal_bytes(mut self, bytes: usize) -> Self {
        self.principal_bytes = bytes;
        self
    }

    /// Sets the room of all.
    #[must_use]
    pub const fn bytes(mut self, bytes: usize) -> Self {
        self.bytes = bytes;
        self
    }

    /// Sets the number of blobs.
    #[must_use]
    pub const fn entries(mut self, entries: usize) -> Self {
        self.entries = entries;
        self
    }

    /// Sets how long an unused blob is kept: at least 60 s, at most 7 days.
    #[must_use]
    pub fn ttl(mut self, ttl: std::time::Duration) -> Self {
        let ms = u64::try_from(ttl.as_millis()).unwrap_or(u64::MAX);
        self.ttl_ms = ms.clamp(60_000, 7 * 24 * 3_600_000);
        self
    }

    /// The largest blob that can be kept at all.
    pub fn largest(&self) -> usize {
        self.blob_bytes.min(self.principal_bytes).min(self.bytes)
    }
}

/// A store that cannot keep or give.
#[non_exhaustive]
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BlobError {
    /// One blob is larger than the store takes.
    #[error("a text of {bytes} bytes is larger than the store's limit of {limit} bytes")]
    TooLarge {
        /// Size of the text.
        bytes: usize,
        /// Limit of the store.
        limit: usize,
    },
    /// The store behind it failed.
    #[error("the blob store failed: {0}")]
    Failed(String),
    /// Two different texts have the same address; the first one stays.
    #[error("address {0} is taken by another text")]
    Taken(BlobId),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_read_back_from_their_text() {
        let id = BlobId::of(b"text");
        assert_eq!(BlobId::parse(&id.to_string()), Some(id));
        for wrong in
            ["", "zz", "0123456789abcdef0123456", "0123456789abcdef01234567f", "0123456789abcdef0123456g"]
        {
            assert_eq!(BlobId::parse(wrong), None, "{wrong}");
        }
    }
}
