//! Words of texts, for the question whether the agent could have taken its next step.

use std::collections::HashSet;
use std::hash::{DefaultHasher, Hash, Hasher};

use omniroute_core::{SegmentKind, Transcript};

/// Words that were seen, by where they stood. Texts are read once.
#[derive(Debug, Default)]
pub(crate) struct Words {
    read: HashSet<u64>,
    anywhere: HashSet<u64>,
    results: HashSet<u64>,
}

impl Words {
    /// Reads the texts of a request that were not read yet.
    pub(crate) fn add(&mut self, transcript: &Transcript<'_>) {
        for segment in transcript.segments() {
            if !self.read.insert(hash(segment.raw())) {
                continue;
            }
            for word in words(segment.original()) {
                let word = hash(word.as_bytes());
                self.anywhere.insert(word);
                if segment.kind == SegmentKind::ToolResult {
                    self.results.insert(word);
                }
            }
        }
    }

    /// Whether a word stood in any text.
    pub(crate) fn has(&self, word: &str) -> bool {
        self.anywhere.contains(&hash(word.as_bytes()))
    }

    /// Whether a word stood in a tool's result.
    pub(crate) fn in_results(&self, word: &str) -> bool {
        self.results.contains(&hash(word.as_bytes()))
    }
}

/// Paths and names: six characters and more, with a letter.
pub(crate) fn words(text: &str) -> impl Iterator<Item = &str> {
    let part = |c: char| c.is_alphanumeric() || matches!(c, '_' | '.' | '/' | '-');
    let words = text.split(move |c| !part(c)).map(|w| w.trim_matches(['.', '/', '-']));
    words.filter(|w| w.len() >= 6 && w.contains(char::is_alphabetic))
}

fn hash(bytes: &[u8]) -> u64 {
    let mut hasher = DefaultHasher::new();
    bytes.hash(&mut hasher);
    hasher.finish()
}
