//! Where texts that were taken out of a request can be fetched back.

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use sha2::{Digest, Sha256};

use crate::ids::Principal;

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
pub trait BlobStore: Send + Sync + fmt::Debug + 'static {
    /// Keeps `content` and returns its address.
    ///
    /// # Behavior
    /// - The same content has the same address; keeping it again costs no more room.
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
}

/// A store that cannot keep or give.
#[non_exhaustive]
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BlobError {
    /// One blob is larger than the whole store.
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
}

/// Blobs in memory, at most [`MemoryBlobs::DEFAULT_LIMIT`] bytes unless told otherwise; the oldest go first.
#[derive(Default)]
pub struct MemoryBlobs {
    inner: Mutex<Inner>,
    limit: Option<usize>,
}

type Key = (Principal, BlobId);

#[derive(Default)]
struct Inner {
    /// When it was last kept, and what.
    blobs: HashMap<Key, (u64, Arc<[u8]>)>,
    order: BTreeMap<u64, Key>,
    next: u64,
    bytes: usize,
}

impl MemoryBlobs {
    /// 64 MiB.
    pub const DEFAULT_LIMIT: usize = 64 << 20;

    /// A store of at most `limit` bytes.
    pub fn with_limit(limit: usize) -> Self {
        MemoryBlobs { inner: Mutex::default(), limit: Some(limit) }
    }

    /// Bytes kept now.
    pub fn bytes(&self) -> usize {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner).bytes
    }

    fn limit(&self) -> usize {
        self.limit.unwrap_or(Self::DEFAULT_LIMIT)
    }
}

impl fmt::Debug for MemoryBlobs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MemoryBlobs").field("bytes", &self.bytes()).field("limit", &self.limit()).finish()
    }
}

impl BlobStore for MemoryBlobs {
    fn put(&self, principal: &Principal, content: &[u8]) -> Result<BlobId, BlobError> {
        let limit = self.limit();
        if content.len() > limit {
            return Err(BlobError::TooLarge { bytes: content.len(), limit });
        }
        let id = BlobId::of(content);
        let mut guard = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        let inner = &mut *guard;
        let stamp = inner.next;
        inner.next += 1;
        let key = (principal.clone(), id);
        match inner.blobs.get_mut(&key) {
            Some((old, _)) => {
                inner.order.remove(old);
                *old = stamp;
            }
            None => {
                inner.bytes += content.len();
                inner.blobs.insert(key.clone(), (stamp, content.into()));
            }
        }
        inner.order.insert(stamp, key);
        while inner.bytes > limit {
            let Some((_, oldest)) = inner.order.pop_first() else { break };
            if let Some((_, blob)) = inner.blobs.remove(&oldest) {
                inner.bytes -= blob.len();
            }
        }
        Ok(id)
    }

    fn get(&self, principal: &Principal, id: BlobId) -> Result<Option<Arc<[u8]>>, BlobError> {
        let inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        Ok(inner.blobs.get(&(principal.clone(), id)).map(|(_, blob)| blob.clone()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keeps_apart_per_principal() {
        let store = MemoryBlobs::default();
        let (a, b) = (Principal::new("a"), Principal::new("b"));
        let id = store.put(&a, b"text").unwrap();
        assert_eq!(store.get(&a, id).unwrap().as_deref(), Some(&b"text"[..]));
        assert_eq!(store.get(&b, id).unwrap(), None);
        assert_eq!(BlobId::parse(&id.to_string()), Some(id));
        assert_eq!(BlobId::parse("zz"), None);
    }

    #[test]
    fn forgets_the_oldest_first_and_counts_once() {
        let store = MemoryBlobs::with_limit(10);
        let p = Principal::default();
        let first = store.put(&p, b"12345").unwrap();
        let second = store.put(&p, b"abcde").unwrap();
        assert_eq!(store.put(&p, b"12345").unwrap(), first, "same content, same address, now the newest");
        store.put(&p, b"x").unwrap();
        assert!(store.get(&p, second).unwrap().is_none());
        assert!(store.get(&p, first).unwrap().is_some());
        assert_eq!(store.bytes(), 6);
        assert!(matches!(store.put(&p, &[0; 11]), Err(BlobError::TooLarge { bytes: 11, limit: 10 })));
    }
}
