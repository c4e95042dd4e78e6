//! The user's store of files that were looked at, by canonical path.

use std::collections::BTreeMap;
use std::path::Path;

use omniroute_core::{Doc, Kind, UnixMs, escape_into};

use super::digest::Digest;
use super::read::{ReadError, Reader};
use super::write::write_private;

/// Larger stores are refused.
const MAX_BYTES: u64 = 1 << 20;

/// One file the user has looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TrustEntry {
    /// The hash it had then.
    pub sha256: Digest,
    /// When that was.
    pub trusted_at: UnixMs,
}

/// The user's store: `{"version":1,"trusted":{"<canonical path>":{"sha256":…,"trusted_at":<ms>}}}`.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct TrustStore {
    entries: BTreeMap<String, TrustEntry>,
}

impl std::fmt::Debug for TrustStore {
    /// The number of entries: paths are the user's business.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "TrustStore({} entries)", self.entries.len())
    }
}

/// A store that cannot be read or written. Names no path.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// It cannot be read.
    #[error("{0}")]
    Read(ReadError),
    /// It is not what a store looks like: the rule that is broken.
    #[error("{0}")]
    Format(String),
    /// It has a version that this program does not know.
    #[error("version {0:?} is not 1")]
    Version(String),
    /// Others can write it, and the policy is strict.
    #[error("others can write it")]
    OthersCanWrite,
    /// It cannot be written.
    #[error("it cannot be written: {0:?}")]
    Write(std::io::ErrorKind),
}

impl TrustStore {
    /// Reads a store once; one that does not exist is empty.
    ///
    /// # Errors
    /// [`StoreError`] if it cannot be read or understood; nothing in it counts then.
    pub fn load(path: &Path, reader: &dyn Reader, strict: bool) -> Result<TrustStore, StoreError> {
        match reader.read(path, None, MAX_BYTES) {
            Ok(snapshot) if strict && snapshot.world_writable => Err(StoreError::OthersCanWrite),
            Ok(snapshot) => TrustStore::parse(&snapshot.bytes),
            Err(ReadError::Missing) => Ok(TrustStore::default()),
            Err(error) => Err(StoreError::Read(error)),
        }
    }

    /// Reads the text of a store.
    ///
    /// # Errors
    /// [`StoreError`]; one bad entry spoils the whole, since nobody but us writes it.
    pub fn parse(bytes: &[u8]) -> Result<TrustStore, StoreError> {
        let format = |why: String| StoreError::Format(why);
        let doc = Doc::parse_with_limit(bytes.to_vec(), MAX_BYTES as usize)
            .map_err(|e| format(format!("not JSON, line {} column {}", e.line(), e.column())))?;
        let root = doc.root();
        if doc.kind(root) != Kind::Object {
            return Err(format("not an object".to_owned()));
        }
        match doc.get(root, "version") {
            Some(node) if doc.integer(node) == Some(1) => {}
            Some(node) => return Err(StoreError::Version(doc.raw(node).chars().take(20).collect())),
            None => return Err(StoreError::Version(String::new())),
        }
        let trusted = doc.get(root, "trusted").filter(|node| doc.kind(*node) == Kind::Object);
        let trusted = trusted.ok_or_else(|| format("trusted is not an object".to_owned()))?;
        let mut entries = BTreeMap::new();
        for (n, (key, value)) in doc.members(trusted).enumerate() {
            let sha256 = doc.get(value, "sha256").and_then(|node| Digest::parse(&doc.str(node)?));
            let at = doc.get(value, "trusted_at").and_then(|node| doc.integer(node));
            let (Some(path), Some(sha256), Some(at)) = (doc.str(key), sha256, at) else {
                return Err(format(format!("entry {} needs sha256 of 64 hex digits and trusted_at", n + 1)));
            };
            entries.insert(path.into_owned(), TrustEntry { sha256, trusted_at: UnixMs(at) });
        }
        Ok(TrustStore { entries })
    }

    /// What the store says about a file, by its canonical path.
    pub fn get(&self, canonical: &str) -> Option<TrustEntry> {
        self.entries.get(canonical).copied()
    }

    /// Records a file.
    pub fn insert(&mut self, canonical: impl Into<String>, sha256: Digest, at: UnixMs) {
        self.entries.insert(canonical.into(), TrustEntry { sha256, trusted_at: at });
    }

    /// Forgets a file; returns what was known.
    pub fn remove(&mut self, canonical: &str) -> Option<TrustEntry> {
        self.entries.remove(canonical)
    }

    /// Files in the store, sorted by path.
    pub fn entries(&self) -> impl Iterator<Item = (&str, TrustEntry)> {
        self.entries.iter().map(|(path, entry)| (path.as_str(), *entry))
    }

    /// The text of the store, sorted.
    pub fn to_json(&self) -> String {
        let mut out = String::from("{\"version\":1,\"trusted\":{");
        for (n, (path, entry)) in self.entries.iter().enumerate() {
            out.push_str(if n > 0 { ",\n  " } else { "\n  " });
            escape_into(path, &mut out);
            out.push_str(&format!(
                ":{{\"sha256\":\"{}\",\"trusted_at\":{}}}",
                entry.sha256, entry.trusted_at.0
            ));
        }
        out.push_str(if self.entries.is_empty() { "}}\n" } else { "\n}}\n" });
        out
    }

    /// Writes the store in one step: all of it or nothing, readable by the user alone.
    ///
    /// # Errors
    /// [`StoreError::Write`].
    pub fn save(&self, path: &Path) -> Result<(), StoreError> {
        write_private(path, self.to_json().as_bytes()).map_err(|error| StoreError::Write(error.kind()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_what_it_writes() {
        let mut store = TrustStore::default();
        assert_eq!(TrustStore::parse(store.to_json().as_bytes()), Ok(store.clone()));
        store.insert("/b \"quoted\"\n", Digest::of(b"b"), UnixMs(7));
        store.insert("/a", Digest::of(b"a"), UnixMs(-1));
        let text = store.to_json();
        assert!(text.find("/a") < text.find("/b"));
        assert_eq!(TrustStore::parse(text.as_bytes()), Ok(store.clone()));
        assert_eq!(store.remove("/a").map(|e| e.trusted_at), Some(UnixMs(-1)));
        assert_eq!(store.entries().count(), 1);
    }

    #[test]
    fn refuses_what_it_does_not_know() {
        for (text, why) in [
            ("", "not JSON, line 1 column 1"),
            ("[]", "not an object"),
            ("{\"version\":2,\"trusted\":{}}", "version \"2\" is not 1"),
            ("{\"trusted\":{}}", "version \"\" is not 1"),
            ("{\"version\":1}", "trusted is not an object"),
            (
                "{\"version\":1,\"trusted\":{\"/a\":{\"sha256\":\"ab\",\"trusted_at\":1}}}",
                "entry 1 needs sha256 of 64 hex digits and trusted_at",
            ),
        ] {
            assert_eq!(TrustStore::parse(text.as_bytes()).unwrap_err().to_string(), why, "{text}");
        }
    }
}
