//! Cuts a text into the pieces a byte-pair tokenizer of the o200k kind sees: words, digit groups, marks and blanks.
//!
//! One pass, no allocation, no regular expressions. On ASCII text the pieces are those of the o200k pattern; outside
//! ASCII the script of a character decides whether it belongs to a word or to a run of marks.

/// What a piece is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Letters, with at most one blank or mark in front and a contraction behind.
    Word,
    /// Marks, with at most one space in front and the line ends behind.
    Mark,
    /// White space that no other piece took.
    Blank,
}

/// Receives the pieces `text[start..end]` in order; none is empty, together they are the text, byte for byte. One method
/// a kind: the walk knows the kind at each place, so nobody has to ask again.
pub(crate) trait Sink {
    /// A piece of [`Kind::Word`].
    fn word(&mut self, text: &[u8], start: usize, end: usize);
    /// A whole run of digits; the tokenizers cut it into groups of three.
    fn digits(&mut self, text: &[u8], start: usize, end: usize);
    /// A piece of [`Kind::Mark`].
    fn mark(&mut self, text: &[u8], start: usize, end: usize);
    /// A piece of [`Kind::Blank`].
    fn blank(&mut self, text: &[u8], start: usize, end: usize);
}

/// Notices long strings of letters and digits without a break (base64, hashes), whose letters form no words.
#[derive(Debug, Default)]
pub(crate) struct Glue(u8);

impl Glue {
    /// Pieces without a break after which letters are taken as noise.
    const NOISE: u8 = 4;

    /// Takes note of the next piece and tells whether it stands in noise.
    #[inline]
    pub(crate) fn is_noise(&mut self, text: &[u8], start: usize) -> bool {
        let first = text[start];
        if first.is_ascii_alphanumeric() {
            let glued = start > 0 && text[start - 1].is_ascii_alphanumeric();
            self.0 = if glued { self.0.saturating_add(1).min(16) } else { self.0 / 2 };
            return self.0 >= Self::NOISE;
        }
        self.0 = if CLASS[usize::from(first)] == MARK { self.0 / 2 } else { 0 };
        false
    }

    /// Takes note of many pieces at once, given as bit masks of their `starts`, when none of them can stand in noise;
    /// otherwise leaves everything as it is and gives `false`. The pieces of `resets` begin with white space, those of
    /// `glued` with a letter or a digit right behind another one, the others with anything else in ASCII.
    #[inline]
    pub(crate) fn skip(&mut self, starts: u64, glued: u64, resets: u64) -> bool {
        let but_one = |mask: u64| mask & mask.wrapping_sub(1);
        let few = self.0 == 0 && but_one(but_one(but_one(glued))) == 0;
        if !few && self.may_reach(glued, resets) {
            return false;
        }
        let mut rest = starts;
        if resets != 0 {
            self.0 = 0;
            rest &= u64::MAX << (63 - resets.leading_zeros());
        }
        if self.0 > 0 || glued & rest != 0 {
            while rest != 0 {
                self.0 = if glued & rest & rest.wrapping_neg() == 0 { self.0 / 2 } else { self.0 + 1 };
                rest &= rest - 1;
            }
        }
        true
    }

    /// Whether enough of the pieces of `glued` follow each other between two of `resets`, or did before.
    fn may_reach(&self, mut glued: u64, resets: u64) -> bool {
        let mut level = u32::from(self.0);
        if level / 2 >= u32::from(Self::NOISE) {
            return true;
        }
        while glued != 0 {
            let first = glued & glued.wrapping_neg();
            if resets & (first - 1) != 0 {
                level = 0;
            }
            let later = resets & !(first - 1);
            let span = glued & (later & later.wrapping_neg()).wrapping_sub(1);
            if level + span.count_ones() >= u32::from(Self::NOISE) {
                return true;
            }
            glued &= !span;
        }
        false
    }
}

const UPPER: u8 = 1;
const LOWER: u8 = 2;
const DIGIT: u8 = 4;
const SPACE: u8 = 8;
const LINE_END: u8 = 16;
const MARK: u8 = 32;
const WIDE: u8 = 64;

/// The class of every byte; `WIDE` is a byte of a character outside ASCII.
static CLASS: [u8; 256] = classes();

const fn classes() -> [u8; 256] {
    let mut table = [0u8; 256];
    let mut byte = 0usize;
    while byte < 256 {
        table[byte] = match byte as u8 {
            b'A'..=b'Z' => UPPER,
            b'a'..=b'z' => LOWER,
            b'0'..=b'9' => DIGIT,
            b'\n' | b'\r' => LINE_END,
            b' ' | b'\t' | 0x0b | 0x0c => SPACE,
            0x80.. => WIDE,
            _ => MARK,
        };
        byte += 1;
    }
    table
}

/// Walks over `text` and hands every piece to `sink`; the law that `blocks` has to keep.
#[cfg(test)]
pub(crate) fn scan<S: Sink>(text: &[u8], sink: &mut S) {
    let mut at = 0;
    while at < text.len() {
        at = step(text, at, sink);
    }
}

/// Hands the piece that begins at `at` to `sink`, with a run of blanks all its pieces, and gives the next position.
#[inline]
pub(crate) fn step<S: Sink>(text: &[u8], at: usize, sink: &mut S) -> usize {
    match class_at(text, at) {
        DIGIT => {
            let end = run(text, at, DIGIT);
            sink.digits(text, at, end);
            end
        }
        // By far the most frequent piece: a word behind one space.
        SPACE if text.get(at + 1).is_some_and(u8::is_ascii_alphabetic) => word(text, at, at + 1, sink),
        SPACE | LINE_END => blanks(text, at, sink),
        MARK => marks(text, at, at, sink),
        WIDE if !wide_is_letter(text, at) => marks(text, at, at, sink),
        _ => word(text, at, at, sink),
    }
}

/// A run of white space and, when a single blank is left over, the piece it belongs to. Gives the next position.
#[inline]
fn blanks<S: Sink>(text: &[u8], start: usize, sink: &mut S) -> usize {
    let mut end = start + 1;
    let mut lines = if text[start] == b'\n' || text[start] == b'\r' { end } else { 0 };
    while let Some(&byte) = text.get(end) {
        match CLASS[usize::from(byte)] {
            SPACE => end += 1,
            LINE_END => {
                end += 1;
                lines = end;
            }
            _ => break,
        }
    }
    let mut at = start;
    if lines > 0 {
        sink.blank(text, at, lines);
        at = lines;
    }
    if at == end {
        return end;
    }
    if end == text.len() {
        sink.blank(text, at, end);
        return end;
    }
    if end - at > 1 {
        sink.blank(text, at, end - 1);
        at = end - 1;
    }
    match class_at(text, end) {
        UPPER | LOWER => return word(text, at, end, sink),
        WIDE if wide_is_letter(text, end) => return word(text, at, end, sink),
        MARK | WIDE if text[at] == b' ' => return marks(text, at, end, sink),
        _ => sink.blank(text, at, end),
    }
    end
}

/// A word whose letters begin at `letters`; `start` is one earlier when a blank or a mark leads it.
#[inline]
fn word<S: Sink>(text: &[u8], start: usize, letters: usize, sink: &mut S) -> usize {
    let mut end = letters_end(text, letters);
    if text.get(end) == Some(&b'\'') {
        end += contraction(text, end);
    }
    sink.word(text, start, end);
    end
}

/// Where the letters that begin at `at` end: capitals, then small letters; a caseless letter fits in both.
#[inline]
fn letters_end(text: &[u8], mut at: usize) -> usize {
    while text.get(at).is_some_and(u8::is_ascii_uppercase) {
        at += 1;
    }
    let end = small_letters_end(text, at);
    match text.get(end) {
        Some(0x80..) => wide_letters_end(text, end, end > at),
        _ => end,
    }
}

/// The same where a character outside ASCII comes; `small` tells that a small letter was seen.
#[cold]
fn wide_letters_end(text: &[u8], mut at: usize, mut small: bool) -> usize {
    while let Some(&byte) = text.get(at) {
        match CLASS[usize::from(byte)] {
            LOWER => {
                small = true;
                at += 1;
            }
            UPPER if !small => at += 1,
            WIDE if wide_is_letter(text, at) => at += wide_len(byte),
            _ => break,
        }
    }
    at.min(text.len())
}

/// Where the small ASCII letters from `at` on end; eight bytes a step, so that a word seldom needs a second one.
#[inline]
fn small_letters_end(text: &[u8], mut at: usize) -> usize {
    const HIGH: u64 = 0x8080_8080_8080_8080;
    const ONES: u64 = 0x0101_0101_0101_0101;
    while let Some(Ok(chunk)) = text.get(at..at + 8).map(<[u8; 8]>::try_from) {
        let bytes = u64::from_le_bytes(chunk);
        let low = bytes & !HIGH;
        let from_a = low + ONES * (0x80 - b'a' as u64);
        let past_z = low + ONES * (0x7F - b'z' as u64);
        let others = !(from_a & !past_z & !bytes) & HIGH;
        if others != 0 {
            return at + others.trailing_zeros() as usize / 8;
        }
        at += 8;
    }
    while text.get(at).is_some_and(u8::is_ascii_lowercase) {
        at += 1;
    }
    at
}

/// The length of an English contraction (`'s`, `'ll`, ...) at `at`, or 0.
fn contraction(text: &[u8], at: usize) -> usize {
    let letter = |n: usize| text.get(at + n).map_or(0, |byte| byte | 0x20);
    match (letter(1), letter(2)) {
        (b's' | b't' | b'm' | b'd', _) => 2,
        (b'r' | b'v', b'e') | (b'l', b'l') => 3,
        _ => 0,
    }
}

/// A run of marks that begins at `first`; `start` is one earlier when a space leads it. A single mark in front of a
/// letter belongs to the word.
#[inline]
fn marks<S: Sink>(text: &[u8], start: usize, first: usize, sink: &mut S) -> usize {
    let mut end = first + mark_len(text, first);
    if start == first && is_letter(text, end) {
        return word(text, start, end, sink);
    }
    loop {
        match text.get(end).map(|&byte| CLASS[usize::from(byte)]) {
            Some(MARK) => end += 1,
            Some(WIDE) if !wide_is_letter(text, end) => end += mark_len(text, end),
            _ => break,
        }
    }
    while matches!(text.get(end), Some(b'\n' | b'\r' | b'/')) {
        end += 1;
    }
    end = end.min(text.len());
    sink.mark(text, start, end);
    end
}

#[inline]
fn class_at(text: &[u8], at: usize) -> u8 {
    CLASS[usize::from(text[at])]
}

#[inline]
fn run(text: &[u8], mut at: usize, class: u8) -> usize {
    while text.get(at).is_some_and(|&byte| CLASS[usize::from(byte)] == class) {
        at += 1;
    }
    at
}

#[inline]
fn is_letter(text: &[u8], at: usize) -> bool {
    match text.get(at).map(|&byte| CLASS[usize::from(byte)]) {
        Some(UPPER | LOWER) => true,
        Some(WIDE) => wide_is_letter(text, at),
        _ => false,
    }
}

#[inline]
fn mark_len(text: &[u8], at: usize) -> usize {
    if text[at] < 0x80 { 1 } else { wide_len(text[at]).min(text.len() - at) }
}

/// The length of a character by its first byte; a stray continuation byte counts as one.
#[inline]
pub(crate) const fn wide_len(lead: u8) -> usize {
    match lead {
        0xF0.. => 4,
        0xE0.. => 3,
        0xC0.. => 2,
        _ => 1,
    }
}

/// Whether the character outside ASCII at `at` is a letter, by its block.
#[inline]
fn wide_is_letter(text: &[u8], at: usize) -> bool {
    let second = text.get(at + 1).copied().unwrap_or(0);
    match text[at] {
        // Latin-1 signs; times and division are the only signs among the Latin letters.
        0xC2 => matches!(second, 0xAA | 0xB5 | 0xBA),
        0xC3 => second != 0x97 && second != 0xB7,
        // General punctuation, arrows, mathematics, boxes, symbols.
        0xE2 => (0xB0..0xB8).contains(&second),
        // CJK punctuation; full-width forms and the private area.
        0xE3 => second != 0x80,
        0xEE => false,
        0xEF => (0xA4..0xB8).contains(&second),
        // Emoji and other symbols above the basic plane.
        0xF0 => second >= 0xA0,
        0xC0.. => true,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Default)]
    struct Pieces(Vec<String>);

    impl Pieces {
        fn push(&mut self, text: &[u8], start: usize, end: usize) {
            self.0.push(String::from_utf8(text[start..end].to_vec()).unwrap());
        }
    }

    impl Sink for Pieces {
        fn word(&mut self, text: &[u8], start: usize, end: usize) {
            self.push(text, start, end);
        }
        fn digits(&mut self, text: &[u8], start: usize, end: usize) {
            self.push(text, start, end);
        }
        fn mark(&mut self, text: &[u8], start: usize, end: usize) {
            self.push(text, start, end);
        }
        fn blank(&mut self, text: &[u8], start: usize, end: usize) {
            self.push(text, start, end);
        }
    }

    #[test]
    fn cuts_like_the_o200k_pattern() {
        for (text, pieces) in [
            ("Hello world, don't", &["Hello", " world", ",", " don't"] as &[&str]),
            ("fooBar HTTPServer", &["foo", "Bar", " HTTPServer"]),
            ("a_b(c) = 12345;", &["a", "_b", "(c", ")", " =", " ", "12345", ";"]),
            ("x\n\n    y", &["x", "\n\n", "   ", " y"]),
            ("{\n  \"k\": 1\n}", &["{\n", " ", " \"", "k", "\":", " ", "1", "\n", "}"]),
            ("\tif x  ", &["\tif", " x", "  "]),
            ("naïve — Grüße", &["naïve", " —", " Grüße"]),
            ("中文 😀!", &["中文", " 😀!"]),
        ] {
            let mut found = Pieces::default();
            scan(text.as_bytes(), &mut found);
            assert_eq!(found.0, pieces, "{text:?}");
        }
    }
}
