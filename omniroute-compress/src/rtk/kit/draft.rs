//! The draft: one mark for every line of an output, and texts to put between lines.

use super::what::What;

/// What a renderer says about an output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// The draft holds its marks.
    Done,
    /// The output is not of its grammar; the marks are forgotten.
    NotMine,
}

const KEEP: u8 = 0;
const PIN: u8 = 1;
const NOISE: u8 = 2;
const COVER: u8 = 3;
const DROP: u8 = 8;
/// Added to a drop that only strong evidence may take back.
const KNOWN: u8 = 64;

/// What becomes of one line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mark {
    /// It stays; repeats of it may be folded.
    Keep,
    /// It stays as it is, byte for byte.
    Pin,
    /// It goes without a marker.
    Noise,
    /// Its content stands in an inserted text.
    Cover,
    /// It goes and is counted; `known` if only strong evidence of an error takes that back.
    Drop {
        /// What the line is.
        what: What,
        /// Words such as `failed` in it are part of a name.
        known: bool,
    },
}

/// Marks for the lines of one output. Every line stays until it is marked otherwise.
#[derive(Debug, Clone, Default)]
pub(crate) struct Draft {
    marks: Vec<u8>,
    inserts: Vec<Insert>,
    side: String,
}

/// A text that stands before a line.
#[derive(Debug, Clone, Copy)]
struct Insert {
    line: u32,
    start: u32,
    end: u32,
}

impl Draft {
    /// A draft for `lines` lines, all of which stay.
    pub(crate) fn new(lines: usize) -> Self {
        Draft { marks: vec![KEEP; lines], inserts: Vec::new(), side: String::new() }
    }

    /// Leaves line `i` out; the gap gets a marker with the exact count. Comes back if it tells of an error.
    pub(crate) fn drop(&mut self, i: usize, what: What) {
        self.set(i, DROP + what as u8);
    }

    /// Like [`Draft::drop`] for every line of a range. Blank lines in it are not counted.
    pub(crate) fn drop_range(&mut self, range: std::ops::Range<usize>, what: What) {
        for i in range {
            self.drop(i, what);
        }
    }

    /// Like [`Draft::drop`] for a line that certainly is `what`, such as a passing test whose name says `failed`:
    /// only the form of an error message takes it back, not a word in it.
    pub(crate) fn drop_known(&mut self, i: usize, what: What) {
        self.set(i, DROP + KNOWN + what as u8);
    }

    /// Leaves decoration out, without a marker: rulers, hints, banners. Comes back if it tells of an error.
    pub(crate) fn noise(&mut self, i: usize) {
        self.set(i, NOISE);
    }

    /// Leaves line `i` out because an inserted text carries all of its content.
    pub(crate) fn cover(&mut self, i: usize) {
        self.set(i, COVER);
    }

    /// Keeps line `i`, as if it had never been marked.
    pub(crate) fn keep(&mut self, i: usize) {
        self.set(i, KEEP);
    }

    /// Keeps line `i` byte for byte: its trailing blanks stay and repeats of it are not folded.
    pub(crate) fn pin(&mut self, i: usize) {
        self.set(i, PIN);
    }

    /// Puts `text` (one or more lines, without a final line end) before line `before`.
    pub(crate) fn insert(&mut self, before: usize, text: &str) {
        let start = self.side.len();
        self.side.push_str(text);
        self.inserted(before, start);
    }

    /// Like [`Draft::insert`]; `write` appends the text to the string it is given.
    pub(crate) fn insert_with(&mut self, before: usize, write: impl FnOnce(&mut String)) {
        let start = self.side.len();
        write(&mut self.side);
        self.inserted(before, start);
    }

    /// Puts `text` in the place of line `i`.
    pub(crate) fn replace(&mut self, i: usize, text: &str) {
        self.cover(i);
        self.insert(i, text);
    }

    /// The mark of line `i`.
    pub(crate) fn mark(&self, i: usize) -> Mark {
        match self.marks.get(i).copied().unwrap_or(KEEP) {
            KEEP => Mark::Keep,
            PIN => Mark::Pin,
            NOISE => Mark::Noise,
            COVER => Mark::Cover,
            code => {
                let known = code >= DROP + KNOWN;
                let number = usize::from(code - DROP - if known { KNOWN } else { 0 });
                Mark::Drop { what: What::ALL.get(number).copied().unwrap_or(What::Lines), known }
            }
        }
    }

    /// Whether line `i` stays.
    pub(crate) fn stays(&self, i: usize) -> bool {
        matches!(self.marks.get(i), Some(&(KEEP | PIN)))
    }

    /// Number of lines.
    pub(crate) fn len(&self) -> usize {
        self.marks.len()
    }

    /// Whether nothing was marked or inserted.
    #[cfg(test)]
    pub(crate) fn is_untouched(&self) -> bool {
        self.inserts.is_empty() && self.marks.iter().all(|m| matches!(*m, KEEP | PIN))
    }

    /// Forgets all marks and texts.
    pub(crate) fn reset(&mut self) {
        self.marks.fill(KEEP);
        self.inserts.clear();
        self.side.clear();
    }

    /// The inserted texts in the order of the lines; texts for the same line in the order they came.
    pub(crate) fn inserts(&mut self) -> impl Iterator<Item = (usize, &str)> {
        self.inserts.sort_by_key(|i| i.line);
        self.inserts.iter().map(|insert| {
            let text = self.side.as_bytes().get(insert.start as usize..insert.end as usize);
            (insert.line as usize, text.and_then(|t| std::str::from_utf8(t).ok()).unwrap_or(""))
        })
    }

    fn set(&mut self, i: usize, code: u8) {
        if let Some(mark) = self.marks.get_mut(i) {
            *mark = code;
        }
    }

    fn inserted(&mut self, before: usize, start: usize) {
        let line = u32::try_from(before).unwrap_or(u32::MAX);
        let end = self.side.len();
        if let (Ok(start), Ok(end)) = (u32::try_from(start), u32::try_from(end)) {
            self.inserts.push(Insert { line, start, end });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_are_what_was_set() {
        let mut draft = Draft::new(6);
        assert!(draft.is_untouched());
        draft.drop(0, What::Repeats);
        draft.drop_known(1, What::PassingTests);
        draft.noise(2);
        draft.replace(3, "x");
        draft.pin(4);
        draft.drop(99, What::Lines);
        assert_eq!(draft.mark(0), Mark::Drop { what: What::Repeats, known: false });
        assert_eq!(draft.mark(1), Mark::Drop { what: What::PassingTests, known: true });
        assert_eq!((draft.mark(2), draft.mark(3)), (Mark::Noise, Mark::Cover));
        assert_eq!((draft.mark(4), draft.mark(5)), (Mark::Pin, Mark::Keep));
        draft.insert(1, "second");
        draft.insert(1, "third");
        assert_eq!(draft.inserts().collect::<Vec<_>>(), [(1, "second"), (1, "third"), (3, "x")]);
        draft.reset();
        assert!(draft.is_untouched() && draft.stays(0));
    }
}
