//! Sentences: where they start and end, how one goes whole, and which were said before.

use std::collections::HashSet;

use super::Finder;
use crate::caveman::class::SAFE;
use crate::caveman::edit::Edit;
use crate::hash::{ByHash, hash};
use crate::protect::line_end;

/// Bytes in which the end of a sentence is looked for.
const SENTENCE: usize = 400;
/// Bytes of a sentence from which on it is said only once.
const REPEATED: usize = 40;

impl<'p> Finder<'_, 'p, '_> {
    pub(super) fn is_sentence_start(&self, at: usize) -> bool {
        let Some(word) = self.word(at) else { return false };
        let mut n = word.start as usize;
        // Blanks, a bracket, the sign of an item.
        while matches!(self.before(n), Some(b' ' | b'\t' | b'(' | b'*' | b'-')) {
            n -= 1;
        }
        match self.before(n) {
            // Behind a colon may stand what somebody is to say.
            None | Some(b'.' | b'!' | b'?') => {
                n < word.start as usize || n == self.place.paragraph.bytes.start
            }
            Some(b'\n') => {
                let mut m = n - 1;
                while matches!(self.before(m), Some(b' ' | b'\r' | b'\t')) {
                    m -= 1;
                }
                let item = self.byte(n).is_some_and(|b| matches!(b, b'-' | b'*'));
                item || matches!(self.before(m), None | Some(b'.' | b'!' | b'?' | b'\n'))
                    || self
                        .place
                        .text
                        .get(self.place.paragraph.bytes.start..m)
                        .is_some_and(|t| t.ends_with(['¿', '¡', '。']))
            }
            // The opening signs of Spanish.
            Some(0xBF | 0xA1) => self.place.text.get(..n).is_some_and(|t| t.ends_with(['¿', '¡'])),
            _ => false,
        }
    }

    /// Whether the sentence of a word is a question, or too long to tell.
    pub(super) fn is_asked(&self, at: usize) -> bool {
        let from = self.word(at).map_or(0, |word| word.end as usize);
        let rest = self.place.text.as_bytes().get(from..self.place.paragraph.bytes.end).unwrap_or(&[]);
        let near = rest.get(..SENTENCE.min(rest.len())).unwrap_or(&[]);
        match near.iter().position(|b| matches!(b, b'.' | b'!' | b'?')) {
            Some(end) => near.get(end) == Some(&b'?'),
            None => rest.len() > near.len(),
        }
    }

    /// Whether a sentence or a line that is the end of its paragraph ends at `end`.
    pub(super) fn is_sentence_end(&self, end: usize) -> bool {
        match self.byte(end) {
            None | Some(b'.' | b'!' | b'?') => true,
            Some(b',') => matches!(self.byte(end + 1), None | Some(b'\n')),
            Some(b'\n' | b'\r') => {
                let next = line_end(self.place.text.as_bytes(), end);
                next >= self.place.paragraph.bytes.end
            }
            _ => false,
        }
    }

    /// What goes with a phrase in the middle of a text: a blank, and commas that have nothing to separate any more.
    pub(super) fn cut(&self, start: usize, end: usize) -> (usize, usize) {
        let comma_before = self.before(start) == Some(b' ') && self.before(start - 1) == Some(b',');
        let comma_after = self.byte(end) == Some(b',');
        let ends = matches!(self.byte(end), None | Some(b'.' | b'!' | b'?' | b'\n' | b'\r'));
        match (comma_before, comma_after) {
            (true, true) if self.byte(end + 1) == Some(b' ') => (start - 2, end + 1),
            (true, false) if ends => (start - 2, end),
            (false, true) if self.byte(end + 1) == Some(b' ') => (start, end + 2),
            _ if self.byte(end) == Some(b' ') => (start, end + 1),
            _ if self.before(start) == Some(b' ') => (start - 1, end),
            _ => (start, end),
        }
    }

    /// A whole sentence with its end and the blank behind it; with its line if nothing else stands there.
    pub(super) fn sentence(&self, start: usize, end: usize) -> Option<(usize, usize)> {
        if matches!(self.before(start), Some(b'(')) || self.is_item(start) {
            return None;
        }
        let mut to = end;
        while matches!(self.byte(to), Some(b'.' | b'!' | b',')) {
            to += 1;
        }
        match self.byte(to) {
            Some(b'?') => None,
            Some(b' ') => Some((start, to + 1)),
            Some(b'\n') if matches!(self.before(start), None | Some(b'\n')) => Some((start, to + 1)),
            None | Some(b'\n' | b'\r') if self.before(start) == Some(b' ') => Some((start - 1, to)),
            None | Some(b'\n' | b'\r') => Some((start, to)),
            _ => None,
        }
    }

    /// Whether the sign of an item stands before on the line.
    fn is_item(&self, start: usize) -> bool {
        let from = self.place.paragraph.bytes.start;
        let line = self.place.text.as_bytes().get(from..start).unwrap_or(&[]);
        let line = line.get(line.len().saturating_sub(8)..).unwrap_or(&[]);
        let line = line.rsplit(|b| *b == b'\n').next().unwrap_or(&[]);
        line.iter().any(|b| matches!(b, b'-' | b'*' | b'#' | b'0'..=b'9'))
    }

    /// A sentence without any fact that was said before, from the word `at` on, and the word behind it.
    pub(super) fn repeated(&self, at: usize, said: &mut HashSet<u64, ByHash>) -> Option<(Edit<'p>, usize)> {
        let start = self.word(at)?.start as usize;
        let mut last = at;
        let mut kept = self.bits(at) & SAFE != 0;
        while let (true, Some(word)) = (self.joined(last) || self.comma_joined(last), self.word(last + 1)) {
            if word.end as usize - start > 2_000 {
                return None;
            }
            last += 1;
            kept |= self.bits(last) & SAFE != 0;
        }
        let end = self.word(last)?.end as usize;
        if kept
            || end - start < REPEATED
            || start < self.floor
            || !matches!(self.byte(end), Some(b'.' | b'!'))
        {
            return None;
        }
        if said.insert(hash(self.place.text.as_bytes().get(start..end)?)) {
            return None;
        }
        let (start, end) = self.sentence(start, end)?;
        let edit = Edit { start, end, to: String::new(), rule: "repeat", takes: &[], gives: &[] };
        Some((edit, last + 1))
    }

    fn comma_joined(&self, at: usize) -> bool {
        match (self.word(at), self.word(at + 1)) {
            (Some(a), Some(b)) => a.end + 2 == b.start && self.byte(a.end as usize) == Some(b','),
            _ => false,
        }
    }
}
