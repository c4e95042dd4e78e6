//! A list of byte records with random access: count, offsets, records.

use std::cmp::Ordering;
use std::ops::Range;

/// Collects records.
#[derive(Debug, Default)]
pub(crate) struct TableWriter {
    ends: Vec<u32>,
    data: Vec<u8>,
}

impl TableWriter {
    /// Adds a record behind the others.
    pub(crate) fn push(&mut self, record: &[u8]) {
        self.data.extend_from_slice(record);
        self.ends.push(self.data.len() as u32);
    }

    /// Appends the table to `out`.
    pub(crate) fn finish(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&(self.ends.len() as u32).to_le_bytes());
        out.extend(self.ends.iter().flat_map(|end| end.to_le_bytes()));
        out.extend_from_slice(&self.data);
    }
}

/// Where a table lies inside some bytes.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Table {
    len: usize,
    ends: usize,
    data: usize,
}

impl Table {
    /// The table that starts at `at`, and where it ends.
    pub(crate) fn at(bytes: &[u8], at: usize) -> (Table, usize) {
        let len = word(bytes, at);
        let table = Table { len, ends: at + 4, data: at + 4 + 4 * len };
        (table, table.data + table.end(bytes, len))
    }

    /// Number of records.
    pub(crate) fn len(self) -> usize {
        self.len
    }

    /// Record number `index`; empty if there is none.
    pub(crate) fn get(self, bytes: &[u8], index: usize) -> &[u8] {
        let Range { start, end } = self.end(bytes, index)..self.end(bytes, index + 1);
        bytes.get(self.data + start..self.data + end).unwrap_or_default()
    }

    /// The records for which `order` says equal, in a table sorted that way.
    pub(crate) fn equal<'a>(self, bytes: &'a [u8], order: impl Fn(&'a [u8]) -> Ordering) -> Range<usize> {
        let first = self.first(bytes, |record| order(record) != Ordering::Less);
        first..self.first(bytes, |record| order(record) == Ordering::Greater)
    }

    /// The first record for which `reached` holds, where it holds for all behind it too.
    fn first<'a>(self, bytes: &'a [u8], reached: impl Fn(&'a [u8]) -> bool) -> usize {
        let (mut low, mut high) = (0, self.len);
        while low < high {
            let middle = low + (high - low) / 2;
            if reached(self.get(bytes, middle)) { high = middle } else { low = middle + 1 }
        }
        low
    }

    /// Where the records before `index` end.
    fn end(self, bytes: &[u8], index: usize) -> usize {
        index.checked_sub(1).map_or(0, |before| word(bytes, self.ends + 4 * before.min(self.len)))
    }
}

/// Four bytes as a number; zero outside.
fn word(bytes: &[u8], at: usize) -> usize {
    bytes
        .get(at..at + 4)
        .and_then(|four| four.try_into().ok())
        .map_or(0, |four| u32::from_le_bytes(four) as usize)
}
