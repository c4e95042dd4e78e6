//! Lines of the texts sent so far, findable by three lines in a row.

use std::collections::HashMap;
use std::sync::Mutex;

use omniroute_core::{EngineMemory, SegmentId};

use super::super::trail::{SourceId, Trail};
use super::lines::Lines;
use crate::hash::{ByHash, combine};

/// Lines of a shingle.
pub(super) const SHINGLE: usize = 3;

/// Places that are tried for one shingle, the latest first.
const MAX_PLACES: usize = 8;

/// Shingles with fewer characters in all say too little to find anything by.
const MIN_SHINGLE_CHARS: usize = 12;

/// A text that can be referred to.
#[derive(Debug)]
pub(super) struct Source {
    /// Position of the segment in the request.
    pub(super) index: usize,
    pub(super) id: SegmentId,
    /// For a tool call: which string of its arguments.
    pub(super) leaf: Option<u32>,
    /// Its number among the texts with several lines, if the arguments have several of these.
    pub(super) text: Option<u32>,
    /// Number in the trail.
    pub(super) name: SourceId,
    pub(super) lines: Lines,
}

/// Everything the engine remembers.
#[derive(Debug, Default)]
pub(super) struct Index {
    pub(super) trail: Trail,
    /// Lines of the segment at some position, split when it was searched, for when it is settled.
    pub(super) split: Mutex<Option<(usize, Lines)>>,
    sources: Vec<Source>,
    /// Number of `sources[0]` among all sources ever added.
    first: u32,
    /// Latest place of each shingle.
    heads: HashMap<u64, u32, ByHash>,
    places: Vec<Place>,
    /// Number of `places[0]` among all places ever added.
    first_place: u32,
    line_bytes: usize,
}

/// Where a shingle stands, and the place before it with the same shingle.
#[derive(Debug, Clone, Copy)]
struct Place {
    source: u32,
    line: u32,
    before: u32,
}

const NOWHERE: u32 = u32::MAX;

impl EngineMemory for Index {
    fn bytes(&self) -> usize {
        self.trail.bytes() + self.line_bytes + self.places.capacity() * 12 + self.heads.capacity() * 18
    }
}

impl Index {
    /// Adds a text that is sent. Of a text longer than `max_back_chars` only the end is ever within reach.
    pub(super) fn add(&mut self, source: Source, max_back_chars: u64) {
        let number = self.first + self.sources.len() as u32;
        let lines = &source.lines;
        let first = lines.first_within(max_back_chars);
        self.places.reserve(lines.keys.len().saturating_sub(first));
        for (line, keys) in lines.keys.windows(SHINGLE).enumerate().skip(first) {
            let chars = lines.span(line, SHINGLE) - SHINGLE;
            if keys.contains(&0) || chars < MIN_SHINGLE_CHARS {
                continue;
            }
            let place = self.first_place + self.places.len() as u32;
            let before = self.heads.insert(combine(keys), place).unwrap_or(NOWHERE);
            self.places.push(Place { source: number, line: line as u32, before });
        }
        self.line_bytes += lines.bytes() + size_of::<Source>();
        self.sources.push(source);
    }

    /// Forgets texts that are out of reach for good. The outcome of a search does not depend on it.
    pub(super) fn prune(&mut self, max_back_chars: u64) {
        let gone = self.sources.iter().take_while(|s| self.trail.distance(s.name) > max_back_chars).count();
        // Only when it pays: half of everything.
        if gone < 16 || gone * 2 < self.sources.len() {
            return;
        }
        self.first += gone as u32;
        for source in self.sources.drain(..gone) {
            self.line_bytes -= source.lines.bytes() + size_of::<Source>();
        }
        let dead = self.places.partition_point(|p| p.source < self.first);
        self.places.drain(..dead);
        self.first_place += dead as u32;
        let first_place = self.first_place;
        self.heads.retain(|_, place| *place >= first_place);
    }

    pub(super) fn source(&self, number: u32) -> Option<&Source> {
        self.sources.get(number.checked_sub(self.first)? as usize)
    }

    /// Places where these lines stand in texts not further back than `max_back_chars`, the latest first.
    pub(super) fn places(
        &self,
        keys: &[u64],
        max_back_chars: u64,
    ) -> impl Iterator<Item = (u32, usize)> + '_ {
        let mut at = match keys {
            [] => NOWHERE,
            keys if keys.contains(&0) => NOWHERE,
            keys => self.heads.get(&combine(keys)).copied().unwrap_or(NOWHERE),
        };
        let next = move || {
            let place = self.places.get(at.checked_sub(self.first_place)? as usize)?;
            let source = self.source(place.source)?;
            if self.trail.distance(source.name) > max_back_chars {
                return None; // and so are all before it
            }
            at = place.before;
            Some((place.source, place.line as usize))
        };
        std::iter::from_fn(next).take(MAX_PLACES)
    }
}
