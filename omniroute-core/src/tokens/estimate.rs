//! The estimator: the price of every piece of a text from small fitted tables, in whole numbers only.
//!
//! A piece (see `scan`) found in the table of frequent pieces costs what the table says. Any other piece costs a fitted
//! amount for its length plus fitted amounts for every three neighbouring characters. Sums are in 1/1024 tokens, so that
//! every platform gives the same count.

mod blocks;

use super::coefficients;
use super::packed::{centre, decode};
use super::scan::{Glue, Kind, Sink, wide_len};
use super::script::{code_point, script};
use super::{Family, Tokenizer};

/// Units of one token.
const TOKEN: i32 = 1024;
/// Longest piece that the table of frequent pieces can hold.
const LONGEST_WORD: usize = 16;
/// Blanks that one token takes at most, roughly.
const BLANKS_PER_TOKEN: usize = 80;
/// A character repeated more often than this is priced as a ruler, see [`Vocabulary::rates`].
const RULER: usize = 16;
/// Letters in noise that have a price by length; every further one adds `NOISE_STEP`.
const NOISE_ROW: usize = 12;
const NOISE_STEP: u64 = 410;
/// The least that a character costs far inside a long piece.
const LEAST: i64 = 128;
/// Places for prices that were worked out in the same text.
const KNOWN: usize = 256;
const WORD_BITS: u32 = 12;
const GRAM_BITS: u32 = 12;

static WORDS: [u16; 1 << WORD_BITS] = decode(coefficients::WORDS);
pub(super) static O200K_GRAMS: [i16; 1 << GRAM_BITS] = centre(decode(coefficients::O200K_GRAMS));
pub(super) static CL100K_GRAMS: [i16; 1 << GRAM_BITS] = centre(decode(coefficients::CL100K_GRAMS));

/// The fitted numbers of one vocabulary, in 1/1024 tokens.
#[derive(Debug)]
pub(crate) struct Vocabulary {
    /// What three neighbouring characters add, by hash.
    pub(crate) grams: &'static [i16; 1 << GRAM_BITS],
    /// What a mark in front of a word adds.
    pub(crate) marks: [i16; 128],
    /// What a character outside ASCII adds, by `script`.
    pub(crate) scripts: [i16; 32],
    /// What a piece costs by its form (word, capitals, marks, blanks, noise in small letters, other noise) and its
    /// length in characters: up to 16, then 17 for less than 32, 18 for more.
    pub(crate) lengths: [[i16; 20]; 6],
    /// What is taken off where a capital continues a word (`fooBar`).
    pub(crate) join: i16,
    /// How many times one token holds an ASCII character that is repeated over and over.
    pub(crate) rates: [u8; 128],
}

/// Counts tokens without a vocabulary: one pass, a few kilobytes of tables, within a few per cent of the exact count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Estimator {
    family: Family,
}

impl Estimator {
    /// An estimator for one family of tokenizers.
    #[must_use]
    pub const fn new(family: Family) -> Self {
        Self { family }
    }

    /// An estimator for the family of a model's name, see [`Family::of_model`].
    #[must_use]
    pub fn for_model(model: &str) -> Self {
        Self::new(Family::of_model(model))
    }

    /// The family this estimator counts for.
    #[must_use]
    pub const fn family(&self) -> Family {
        self.family
    }
}

impl Tokenizer for Estimator {
    fn id(&self) -> &str {
        self.family.estimator_id()
    }

    fn count(&self, text: &str) -> u32 {
        if text.is_empty() {
            return 0;
        }
        let units = if self.family.is_cl100k() {
            price::<true>(text.as_bytes(), &coefficients::CL100K)
        } else {
            price::<false>(text.as_bytes(), &coefficients::O200K)
        };
        // A factor in 1/1000 on units of 1/1024; a `u64` holds both for any text in memory.
        let scale = TOKEN as u64 * 1000;
        let tokens = (units.saturating_mul(self.family.per_mille()) + scale / 2) / scale;
        u32::try_from(tokens.max(1)).unwrap_or(u32::MAX)
    }
}

fn price<const CL100K: bool>(text: &[u8], vocabulary: &'static Vocabulary) -> u64 {
    let mut sum = Sum::<CL100K>::new(vocabulary);
    blocks::price(text, &mut sum);
    sum.units
}

/// Adds up the price of the pieces.
struct Sum<const CL100K: bool> {
    vocabulary: &'static Vocabulary,
    units: u64,
    glue: Glue,
    /// Prices of pieces met in this text that are in no table, by hash: texts say the same names over and over.
    known: [(u64, u64); KNOWN],
    /// Pieces of a block (see `blocks`) that are not there, by their first bit and their hash.
    misses: [(usize, u64); 32],
}

impl<const CL100K: bool> Sink for Sum<CL100K> {
    #[inline(never)]
    fn word(&mut self, text: &[u8], start: usize, end: usize) {
        let noise = self.glue.is_noise(text, start);
        let units = if end - start == 1 {
            TOKEN as u64
        } else if noise {
            self.noise(text, start, end)
        } else {
            self.shape(Kind::Word, text, start, end)
        };
        let joined =
            CL100K && start > 0 && text[start].is_ascii_uppercase() && text[start - 1].is_ascii_lowercase();
        let join = if joined { u64::from(self.vocabulary.join.unsigned_abs()) } else { 0 };
        self.units += units - join.min(units);
    }

    #[inline]
    fn digits(&mut self, text: &[u8], start: usize, end: usize) {
        self.glue.is_noise(text, start);
        self.units += (end - start).div_ceil(3) as u64 * TOKEN as u64;
    }

    #[inline]
    fn mark(&mut self, text: &[u8], start: usize, end: usize) {
        self.glue.is_noise(text, start);
        self.units += match end - start {
            1 => TOKEN as u64,
            _ => self.shape(Kind::Mark, text, start, end),
        };
    }

    #[inline]
    fn blank(&mut self, text: &[u8], start: usize, end: usize) {
        self.glue = Glue::default();
        self.blank_price(text, start, end);
    }
}

impl<const CL100K: bool> Sum<CL100K> {
    #[inline]
    fn new(vocabulary: &'static Vocabulary) -> Self {
        let mut known = [(0, 0); KNOWN];
        // No hash has this key in this place, nor the key 0 in any other.
        known[0].0 = u64::MAX;
        Self { vocabulary, units: 0, glue: Glue::default(), known, misses: [(0, 0); 32] }
    }

    /// The price of a piece of [`Kind::Blank`].
    #[inline]
    fn blank_price(&mut self, text: &[u8], start: usize, end: usize) {
        let length = end - start;
        self.units += if length == 1 || text[start..end].iter().all(|&byte| byte == text[start]) {
            (1 + (length - 1) / BLANKS_PER_TOKEN) as u64 * TOKEN as u64
        } else {
            self.shape(Kind::Blank, text, start, end)
        };
    }

    /// The price of a word, of marks or of mixed blanks: from the table when it is frequent, else from its characters.
    #[inline]
    fn shape(&mut self, kind: Kind, text: &[u8], start: usize, end: usize) -> u64 {
        if end - start > LONGEST_WORD {
            return self.work_out(kind, text, start, end);
        }
        let hash = hash(text, start, end);
        let (key, units) = self.known[place(hash)];
        if key == hash ^ kind as u64 { units } else { self.learn(kind, text, start, end, hash) }
    }

    /// Works out the price of a piece and keeps it if it is short.
    #[inline(never)]
    fn learn(&mut self, kind: Kind, text: &[u8], start: usize, end: usize, hash: u64) -> u64 {
        if end - start > LONGEST_WORD {
            return self.work_out(kind, text, start, end);
        }
        let units = match listed::<CL100K>(hash) {
            Some(units) => units as u64,
            None => self.work_out(kind, text, start, end),
        };
        self.known[place(hash)] = (hash ^ kind as u64, units);
        units
    }

    /// The price of a piece that is in no table.
    #[inline]
    fn work_out(&self, kind: Kind, text: &[u8], start: usize, end: usize) -> u64 {
        let lead = text[start];
        if kind != Kind::Word || lead >= 0x80 || lead == b' ' || lead.is_ascii_alphabetic() {
            return self.characters(kind, text, start, end).max(i64::from(TOKEN)) as u64;
        }
        let mark = i64::from(self.vocabulary.marks[usize::from(lead)]);
        let frequent = || listed::<CL100K>(hash(text, start + 1, end));
        let rest = match end - start {
            2 => Some(i64::from(TOKEN)),
            3..=17 => frequent(),
            _ => None,
        };
        let rest = rest.unwrap_or_else(|| self.characters(kind, text, start + 1, end));
        (mark + rest).max(i64::from(TOKEN)) as u64
    }

    /// The price of letters inside a long string of letters and digits.
    fn noise(&self, text: &[u8], start: usize, end: usize) -> u64 {
        let small = text[start..end].iter().all(u8::is_ascii_lowercase);
        let row = if small { &self.vocabulary.lengths[4] } else { &self.vocabulary.lengths[5] };
        let length = end - start;
        let units = i32::from(row[length.min(NOISE_ROW)]).max(TOKEN) as u64;
        units + length.saturating_sub(NOISE_ROW) as u64 * NOISE_STEP
    }

    /// The fitted price of a piece from its form, its length and its characters.
    #[inline]
    fn characters(&self, kind: Kind, text: &[u8], start: usize, end: usize) -> i64 {
        let piece = &text[start..end];
        let form = match kind {
            Kind::Mark => 2,
            Kind::Blank => 3,
            Kind::Word => usize::from(matches!(piece, [_, b'A'..=b'Z', b'A'..=b'Z', ..])),
        };
        let (low, high) = words(text, start, piece.len());
        if piece.len() > RULER || (low | high) & 0x8080_8080_8080_8080 != 0 {
            return self.long_or_wide(form, piece);
        }
        let mut units = i64::from(self.vocabulary.lengths[form][piece.len()]);
        let mut window = (form as u32 + 1) << 8 | (low & 0xFF) as u32;
        for &byte in piece.iter().skip(1) {
            window = window << 8 | u32::from(byte);
            units += self.gram(window);
        }
        units + self.gram(window << 8)
    }

    /// The same for a piece that may hold a ruler or characters outside ASCII.
    #[inline(never)]
    fn long_or_wide(&self, form: usize, piece: &[u8]) -> i64 {
        let mut units = 0i64;
        let mut length = 0usize;
        let mut window = form as u32 + 1;
        let mut at = 0;
        // Where to look for a ruler next, so that no character is counted twice.
        let mut ruler = if piece.len() > RULER { 0 } else { usize::MAX };
        while at < piece.len() {
            let byte = piece[at];
            let (point, width) =
                if byte < 0x80 { (u32::from(byte), 1) } else { (code_point(piece, at), wide_len(byte)) };
            if at >= ruler {
                let more = repeats(piece, at, width);
                ruler = at + more * width + 1;
                let rate = if more >= RULER { self.rate(point) } else { 0 };
                if let Some(price) = (more * TOKEN as usize).checked_div(rate) {
                    units += price as i64;
                    at += more * width;
                }
            }
            at += width;
            let (symbol, own) = if byte < 0x80 {
                (point, 0)
            } else {
                let script = script(point);
                (0x80 + script as u32, i64::from(self.vocabulary.scripts[script]))
            };
            window = window << 8 | symbol;
            let more = own + if length > 0 { self.gram(window) } else { 0 };
            // What no real text has is kept between an eighth of a token and one token a byte.
            units += if length < 32 {
                more
            } else {
                more.clamp(LEAST * width as i64, i64::from(TOKEN) * width as i64)
            };
            length += 1;
        }
        units += self.gram(window << 8);
        units += i64::from(self.vocabulary.lengths[form][row_of(length)]);
        units.max(0)
    }

    /// How many times one token holds the character `point` that is repeated over and over; 0 when that is not known.
    fn rate(&self, point: u32) -> usize {
        let (o200k, cl100k) = match point {
            0..=0x7F => return usize::from(self.vocabulary.rates[point as usize]),
            0x2500 => (16, 8),
            0x2550 => (8, 2),
            0x2501 | 0x00B7 => (8, 4),
            0x2014 => (4, 2),
            0x2588 => (4, 4),
            _ => (0, 0),
        };
        if CL100K { cl100k } else { o200k }
    }

    #[inline]
    fn gram(&self, window: u32) -> i64 {
        let hash = (window & 0x00FF_FFFF).wrapping_mul(0x9E37_79B1);
        let hash = (hash ^ (hash >> 15)).wrapping_mul(0x85EB_CA77);
        i64::from(self.vocabulary.grams[(hash >> (32 - GRAM_BITS)) as usize])
    }
}

#[inline]
const fn place(hash: u64) -> usize {
    (hash >> 40) as usize % KNOWN
}

/// The price that the table of frequent pieces holds for a hash.
#[inline]
fn listed<const CL100K: bool>(hash: u64) -> Option<i64> {
    let hash = hash ^ (hash >> 32);
    let entry = WORDS[(hash >> (64 - WORD_BITS)) as usize];
    let tag = (hash >> 20) as u16 & 0x1FF;
    // An empty place, 8192, has the tag of no hash.
    if entry >> 4 != tag {
        return None;
    }
    let tokens = if CL100K { entry & 3 } else { entry >> 2 & 3 };
    Some((i64::from(tokens) + 1) * i64::from(TOKEN))
}

/// A hash of at most sixteen bytes, the same on every platform.
#[inline]
fn hash(text: &[u8], start: usize, end: usize) -> u64 {
    let (low, high) = words(text, start, end - start);
    mix(low, high, end - start)
}

#[inline]
const fn mix(low: u64, high: u64, length: usize) -> u64 {
    let hash = (low ^ length as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    (hash ^ (hash >> 29) ^ high).wrapping_mul(0xBF58_476D_1CE4_E5B9)
}

/// The first sixteen bytes of a piece as two words, zeros behind its end.
#[inline]
fn words(text: &[u8], start: usize, length: usize) -> (u64, u64) {
    if let Some(block) = text.get(start..start + LONGEST_WORD) {
        return masked(block, length);
    }
    let mut block = [0; LONGEST_WORD];
    block.iter_mut().zip(text.iter().skip(start)).for_each(|(byte, &known)| *byte = known);
    masked(&block, length)
}

/// The first `length` of sixteen bytes as two words.
#[inline]
fn masked(block: &[u8], length: usize) -> (u64, u64) {
    let (low, high) = block.split_at(8);
    let word = |bytes: &[u8]| bytes.try_into().map_or(0, u64::from_le_bytes);
    let (first, second) = LOW_BYTES[length.min(LONGEST_WORD)];
    (word(low) & first, word(high) & second)
}

/// Masks of the lowest bytes of two words, by how many.
static LOW_BYTES: [(u64, u64); LONGEST_WORD + 1] = {
    let mut masks = [(0, 0); LONGEST_WORD + 1];
    let mut count = 1;
    while count <= LONGEST_WORD {
        let (low, high) = masks[count - 1];
        masks[count] = if count <= 8 { (low << 8 | 0xFF, 0) } else { (low, high << 8 | 0xFF) };
        count += 1;
    }
    masks
};

/// The column of [`Vocabulary::lengths`] for a length in characters.
const fn row_of(length: usize) -> usize {
    match length {
        0..=16 => length,
        17..32 => 17,
        _ => 18,
    }
}

/// How often the character at `at`, `width` bytes wide, comes again right behind itself.
#[inline]
fn repeats(piece: &[u8], at: usize, width: usize) -> usize {
    // Equal to itself moved by one character, as far as that goes.
    let moved = piece.get(at + width..).unwrap_or(&[]);
    moved.iter().zip(&piece[at..]).take_while(|(next, byte)| next == byte).count() / width
}
