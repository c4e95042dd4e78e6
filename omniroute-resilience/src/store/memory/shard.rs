//! Records packed into one allocation each, found by the hash of their key.

use bytes::Bytes;
use hashbrown::HashTable;
use omniroute_core::{Record, UnixMs};

use crate::rng;

/// Records that every commit looks at on its way, to clear those that have ended. It adds one to a shard at most, so
/// that two keep up with it.
const SWEEP: usize = 2;
/// Records looked at to find one to drop when the store is full.
const SAMPLE: usize = 64;

/// A part of the store under one lock.
#[derive(Debug, Default)]
pub(crate) struct Shard {
    index: HashTable<u32>,
    pub(crate) entries: Vec<Option<Box<[u8]>>>,
    free: Vec<u32>,
    cursor: usize,
}

/// One allocation for a record: lengths, dates and versions in as few bytes as they need, then key, then value.
pub(crate) fn pack(key: &[u8], version: u64, expires: Option<UnixMs>, value: &[u8]) -> Option<Box<[u8]>> {
    u16::try_from(key.len()).ok()?;
    let mut head = Head::default();
    head.number(key.len() as u64);
    // 0: it does not end.
    head.number(expires.map_or(0, |at| (at.0.max(0).cast_unsigned()).saturating_add(1)));
    head.number(version);
    let mut out = Vec::with_capacity(head.length + key.len() + value.len());
    out.extend_from_slice(head.bytes.get(..head.length)?);
    out.extend_from_slice(key);
    out.extend_from_slice(value);
    Some(out.into_boxed_slice())
}

/// Three numbers, seven bits a byte, the last byte of each without its highest bit.
#[derive(Default)]
struct Head {
    bytes: [u8; 24],
    length: usize,
}

impl Head {
    fn number(&mut self, mut number: u64) {
        loop {
            let more = number >= 0x80;
            let low = u8::try_from(number & 0x7f).unwrap_or(0);
            if let Some(byte) = self.bytes.get_mut(self.length) {
                *byte = if more { low | 0x80 } else { low };
            }
            self.length += 1;
            if !more {
                return;
            }
            number >>= 7;
        }
    }
}

fn number(bytes: &mut &[u8]) -> Option<u64> {
    let mut number = 0_u64;
    for shift in (0..64).step_by(7) {
        let (&byte, rest) = bytes.split_first()?;
        *bytes = rest;
        number |= u64::from(byte & 0x7f) << shift;
        if byte < 0x80 {
            return Some(number);
        }
    }
    None
}

/// A record, where it lies.
pub(crate) struct Unpacked<'a> {
    pub(crate) expires: i64,
    pub(crate) version: u64,
    pub(crate) key: &'a [u8],
    pub(crate) value: &'a [u8],
}

pub(crate) fn unpack(entry: &[u8]) -> Unpacked<'_> {
    let read = || {
        let mut rest = entry;
        let length = usize::try_from(number(&mut rest)?).ok()?;
        let expires = number(&mut rest)?;
        let version = number(&mut rest)?;
        let (key, value) = rest.split_at_checked(length)?;
        let expires = expires.checked_sub(1).map_or(i64::MAX, |at| i64::try_from(at).unwrap_or(i64::MAX));
        Some(Unpacked { expires, version, key, value })
    };
    read().expect("entries are only written by pack")
}

impl Unpacked<'_> {
    pub(crate) fn record(&self) -> Record {
        Record {
            version: self.version,
            value: Bytes::copy_from_slice(self.value),
            expires: (self.expires != i64::MAX).then_some(UnixMs(self.expires)),
        }
    }
}

impl Shard {
    pub(crate) fn find(&self, hash: u64, key: &[u8]) -> Option<u32> {
        self.index.find(hash, |at| self.entry(*at).is_some_and(|entry| unpack(entry).key == key)).copied()
    }

    pub(crate) fn entry(&self, at: u32) -> Option<&[u8]> {
        self.entries.get(at as usize)?.as_deref()
    }

    pub(crate) fn live(&self, hash: u64, key: &[u8], now: i64) -> Option<Unpacked<'_>> {
        let entry = self.entry(self.find(hash, key)?)?;
        Some(unpack(entry)).filter(|entry| entry.expires > now)
    }

    pub(crate) fn put(&mut self, hash: u64, key: &[u8], packed: Box<[u8]>) -> bool {
        if let Some(at) = self.find(hash, key) {
            if let Some(slot) = self.entries.get_mut(at as usize) {
                *slot = Some(packed);
            }
            return false;
        }
        let at = match self.free.pop() {
            Some(at) => at,
            None => {
                self.entries.push(None);
                u32::try_from(self.entries.len() - 1).unwrap_or(u32::MAX)
            }
        };
        if let Some(slot) = self.entries.get_mut(at as usize) {
            *slot = Some(packed);
        }
        let entries = &self.entries;
        self.index.insert_unique(hash, at, |at| hash_at(entries, *at));
        true
    }

    pub(crate) fn remove_at(&mut self, at: u32) -> bool {
        let Some(entry) = self.entries.get_mut(at as usize).and_then(Option::take) else { return false };
        let hash = rng::quick(unpack(&entry).key);
        if let Ok(found) = self.index.find_entry(hash, |other| *other == at) {
            found.remove();
        }
        self.free.push(at);
        true
    }

    /// Removes a few expired records. How many it removed.
    pub(crate) fn sweep(&mut self, now: i64) -> usize {
        let mut removed = 0;
        for _ in 0..SWEEP.min(self.entries.len()) {
            self.cursor = (self.cursor + 1) % self.entries.len();
            let at = u32::try_from(self.cursor).unwrap_or(0);
            if self.entry(at).is_some_and(|entry| unpack(entry).expires <= now) && self.remove_at(at) {
                removed += 1;
            }
        }
        removed
    }

    /// Of a sample, drops the record that ends first. True if one could go.
    pub(crate) fn evict(&mut self) -> bool {
        let mut first: Option<(i64, u32)> = None;
        for _ in 0..SAMPLE.min(self.entries.len()) {
            self.cursor = (self.cursor + 1) % self.entries.len();
            let at = u32::try_from(self.cursor).unwrap_or(0);
            if let Some(entry) = self.entry(at) {
                let expires = unpack(entry).expires;
                if expires != i64::MAX && first.is_none_or(|(earliest, _)| expires < earliest) {
                    first = Some((expires, at));
                }
            }
        }
        first.is_some_and(|(_, at)| self.remove_at(at))
    }
}

fn hash_at(entries: &[Option<Box<[u8]>>], at: u32) -> u64 {
    entries.get(at as usize).and_then(Option::as_deref).map_or(0, |entry| rng::quick(unpack(entry).key))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_comes_back_from_its_bytes() {
        for (key, version, expires, value) in [
            (&b""[..], 0, None, &b""[..]),
            (b"cn/p/c", 1, Some(UnixMs(0)), b"v"),
            (&[7; 300], u64::MAX, Some(UnixMs(1_800_000_000_000)), &[9; 100]),
        ] {
            let packed = pack(key, version, expires, value).unwrap();
            let entry = unpack(&packed);
            assert_eq!((entry.key, entry.value, entry.version), (key, value, version));
            assert_eq!(entry.record().expires, expires);
        }
        assert!(pack(&[0; 70_000], 1, None, b"").is_none());
        let small = pack(b"cn/openai/connection-1", 2_000_000, Some(UnixMs(1_800_000_000_000)), b"").unwrap();
        assert_eq!(small.len(), 22 + 1 + 6 + 3);
    }
}
