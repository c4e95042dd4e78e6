//! Cuts 64 bytes at once into the pieces that `scan` would find one by one: classes as bit masks, starts by algebra.
//!
//! Bit `n` of every mask is byte `n` of the block, and a block begins where a piece begins. Whatever is not plain ASCII
//! prose or code (characters outside ASCII, carriage returns, contractions, line ends inside a run of blanks, a slash
//! behind the line end of a run of marks) ends the block early: the pieces from there on are left to `scan`.

use std::hint::select_unpredictable;

use super::super::scan::{Kind, Sink, step};
use super::{LONGEST_WORD, Sum, TOKEN, masked, mix, place};

/// Bytes of a block.
const BLOCK: usize = 64;
/// Bytes that are read of a block and behind it.
const WINDOW: usize = BLOCK + LONGEST_WORD;

/// Adds the price of every piece of `text` to `sum`.
#[inline]
pub(super) fn price<const CL100K: bool>(text: &[u8], sum: &mut Sum<CL100K>) {
    let mut at = 0;
    while at < text.len() {
        // Behind the text stands what nothing is known about.
        let mut copy = [0x80; WINDOW];
        let window = text[at..].first_chunk().unwrap_or_else(|| {
            copy.iter_mut().zip(&text[at..]).for_each(|(byte, &known)| *byte = known);
            &copy
        });
        let block = Block::of(Classes::of(window));
        let plain = at + block.plain.max(1);
        if block.end > 0 {
            sum.block(text, at, window, &block);
            at += block.end;
        }
        while at < plain && at < text.len() {
            at = step(text, at, sum);
        }
    }
}

impl<const CL100K: bool> Sum<CL100K> {
    #[inline]
    fn block(&mut self, text: &[u8], start: usize, window: &[u8; WINDOW], block: &Block) {
        let Block { starts, words, marks, blanks, letter, small, digit, .. } = *block;
        let before = if start > 0 { text[start - 1] } else { 0 };
        let solid = letter | digit;
        let glued = starts & solid & (solid << 1 | u64::from(before.is_ascii_alphanumeric()));
        if !self.glue.skip(starts, glued, starts & block.white) {
            return self.noisy_block(text, start, block);
        }
        // One token: a single byte, blanks all alike, up to three digits.
        let single = starts & (starts | 1 << block.end) >> 1;
        let shaped = (words | marks) & !single;
        let mut tokens = (starts & !shaped).count_ones();
        let mut groups = more_digits(starts & digit, digit);
        while groups != 0 {
            tokens += groups.count_ones();
            groups = more_digits(groups, digit);
        }
        if block.mixed {
            tokens -= (blanks & !single).count_ones();
            each(blanks & !single, |bit| {
                self.blank_price(text, start + bit, start + bit + block.length(bit))
            });
        }
        self.units += u64::from(tokens) * TOKEN as u64;
        let long = block.longer_than_sixteen() & shaped;
        self.shapes(text, start, window, block, shaped & !long);
        each(long, |bit| {
            self.units += self.work_out(block.kind(bit), text, start + bit, start + bit + block.length(bit))
        });
        if CL100K {
            let joined = starts & letter & !small & (small << 1 | u64::from(before.is_ascii_lowercase()));
            self.units -= u64::from(joined.count_ones()) * u64::from(self.vocabulary.join.unsigned_abs());
        }
    }

    /// Words and marks of two to sixteen bytes: first what was met before, without a branch on it, then all the others.
    #[inline]
    fn shapes(&mut self, text: &[u8], start: usize, window: &[u8; WINDOW], block: &Block, shaped: u64) {
        let mut missed = 0;
        each(shaped, |bit| {
            let length = block.length(bit);
            let (low, high) = masked(&window[bit..bit + LONGEST_WORD], length);
            let hash = mix(low, high, length);
            let (key, units) = self.known[place(hash)];
            let hit = key == hash ^ (block.marks >> bit & 1);
            self.units += select_unpredictable(hit, units, 0);
            self.misses[missed % 32] = (bit, hash);
            missed += usize::from(!hit);
        });
        for n in 0..missed {
            let (bit, hash) = self.misses[n % 32];
            self.units +=
                self.learn(block.kind(bit), text, start + bit, start + bit + block.length(bit), hash);
        }
    }

    /// A block where letters may be noise: piece by piece.
    #[cold]
    fn noisy_block(&mut self, text: &[u8], start: usize, block: &Block) {
        each(block.starts, |bit| {
            let (first, end) = (start + bit, start + bit + block.length(bit));
            if block.words >> bit & 1 != 0 {
                self.word(text, first, end);
            } else if block.marks >> bit & 1 != 0 {
                self.mark(text, first, end);
            } else if block.blanks >> bit & 1 != 0 {
                self.blank(text, first, end);
            } else {
                self.digits(text, first, end);
            }
        });
    }
}

/// Calls `each` with the number of every bit of `mask`, from the lowest on.
#[inline]
fn each(mut mask: u64, mut each: impl FnMut(usize)) {
    while mask != 0 {
        each(mask.trailing_zeros() as usize % 64);
        mask &= mask - 1;
    }
}

/// Where the next groups of digits begin, three digits behind those of `groups`.
#[inline]
const fn more_digits(groups: u64, digit: u64) -> u64 {
    groups << 3 & digit & digit << 1 & digit << 2
}

/// The pieces that begin in a block, except the last one, whose end is not known.
#[derive(Clone, Copy, Debug, Default)]
struct Block {
    /// Where pieces begin.
    starts: u64,
    /// Where the last piece begins, which belongs to the next block: what `starts` tells about is before it.
    end: usize,
    /// Before which byte of the block `scan` has to find the pieces from `end` on; 0 when the next block may.
    plain: usize,
    /// Starts of words.
    words: u64,
    /// Starts of runs of marks.
    marks: u64,
    /// Starts of blanks.
    blanks: u64,
    /// Whether a blank differs from the blank before it in the same piece.
    mixed: bool,
    /// Letters, small letters, digits and white space.
    letter: u64,
    small: u64,
    digit: u64,
    white: u64,
}

/// The classes of the bytes of a block.
#[derive(Clone, Copy, Debug, Default)]
struct Classes {
    letter: u64,
    small: u64,
    digit: u64,
    space: u64,
    tab: u64,
    line: u64,
    quote: u64,
    slash: u64,
    /// Anything outside ASCII and the blanks that are rare.
    odd: u64,
}

impl Block {
    #[inline]
    fn of(classes: Classes) -> Self {
        let Classes { letter, small, digit, space, tab, line, quote, slash, odd } = classes;
        let gap = space | tab;
        let blank = gap | line;
        let mark = !(letter | digit | blank | odd);

        // A run of marks begins with the space before it; a mark alone before a letter begins a word.
        let first_mark = mark & !after(mark);
        let led = first_mark & after(space);
        let lone = first_mark & !led & before(letter);
        // Line ends behind marks belong to them; the sum carries through their run.
        let taken = line & !line.wrapping_add(line & after(mark));
        // Blanks: where the run begins, behind its last line end, and at the last one, which leads what follows.
        let loose = blank & !taken;
        let indent = gap & after(line) & !after(gap);
        let blank_starts = (loose & !after(loose)) | indent | (gap & !before(blank));
        let letter_starts = (letter & !after(letter | gap | lone)) | (letter & !small & after(small));
        let starts = (first_mark & !led) | (digit & !after(digit)) | blank_starts | letter_starts;

        // What the algebra above does not hold for.
        let contraction = quote & after(letter) & (before(letter) | 1 << 63);
        let mut rare = odd | contraction | (slash & after(taken));
        if gap.wrapping_add(indent) & !gap & line != 0 {
            rare |= indent;
        }
        // A run of blanks that touches the end of what is known may go on.
        let known = (rare & rare.wrapping_neg()).wrapping_sub(1);
        let known = up_to_highest(known & !gap);
        let starts = starts & known;
        let last = highest(starts);
        let starts = starts & !last;
        let words = starts & (letter | lone | (gap & before(letter)));
        let marks = starts & !words & (mark | (space & before(mark)));
        let same = (space & after(space)) | (tab & after(tab)) | (line & after(line));
        Self {
            starts,
            end: last.trailing_zeros() as usize % 64,
            plain: if rare == 0 { 0 } else { BLOCK - rare.leading_zeros() as usize },
            words,
            marks,
            blanks: starts & blank & !words & !marks,
            mixed: blank & after(blank) & !same & !starts & last.wrapping_sub(1) != 0,
            letter,
            small,
            digit,
            white: blank,
        }
    }

    /// The kind of a word or of marks.
    #[inline]
    fn kind(&self, bit: usize) -> Kind {
        if self.marks >> bit & 1 != 0 { Kind::Mark } else { Kind::Word }
    }

    /// Starts of pieces of more than sixteen bytes.
    #[inline]
    fn longer_than_sixteen(&self) -> u64 {
        let mut soon = (self.starts | 1 << self.end) >> 1;
        for step in [1, 2, 4, 8] {
            soon |= soon >> step;
        }
        self.starts & !soon
    }

    /// The length of the piece that begins at bit `start`.
    #[inline]
    fn length(&self, start: usize) -> usize {
        let next = (self.starts | 1 << self.end) >> start >> 1;
        next.trailing_zeros() as usize + 1
    }
}

impl Classes {
    #[inline]
    fn of(bytes: &[u8; WINDOW]) -> Self {
        let [p0, p1, p2, p3, p4, p5, p6, p7] = planes(bytes);
        let letter = !p7 & p6 & (p0 | p1 | p2 | p3 | p4) & !(p4 & p3 & (p2 | (p1 & p0)));
        // The rows of the ASCII table: controls, signs with the space first, digits.
        let control = !(p7 | p6 | p5 | p4);
        let sign = !(p7 | p6 | p4) & p5;
        let number = !(p7 | p6) & p5 & p4;
        Self {
            letter,
            small: letter & p5,
            digit: number & !(p3 & (p2 | p1)),
            space: sign & !(p3 | p2 | p1 | p0),
            tab: control & p3 & !p2 & !p1 & p0,
            line: control & p3 & !p2 & p1 & !p0,
            quote: sign & !p3 & p2 & p1 & p0,
            slash: sign & p3 & p2 & p1 & p0,
            odd: p7 | (control & p3 & ((p2 & !p1) | (!p2 & p1 & p0))),
        }
    }
}

/// The bytes of the block as eight masks: bit `n` of mask `k` is bit `k` of byte `n`.
#[inline]
fn planes(bytes: &[u8; WINDOW]) -> [u64; 8] {
    let mut rows = [0u64; 8];
    for (row, chunk) in rows.iter_mut().zip(bytes.chunks_exact(8)) {
        *row = chunk.try_into().map_or(0, u64::from_le_bytes);
    }
    // Each row is eight bytes by eight bits: change the two.
    for row in &mut rows {
        for (shift, mask) in
            [(7, 0x00AA_00AA_00AA_00AA_u64), (14, 0x0000_CCCC_0000_CCCC), (28, 0x0000_0000_F0F0_F0F0)]
        {
            let change = (*row ^ *row >> shift) & mask;
            *row ^= change ^ change << shift;
        }
    }
    // Then byte `k` of every row to row `k`.
    for (step, mask) in
        [(4, 0x0000_0000_FFFF_FFFF_u64), (2, 0x0000_FFFF_0000_FFFF), (1, 0x00FF_00FF_00FF_00FF)]
    {
        for n in (0..8).filter(|n| n & step == 0) {
            let change = (rows[n] >> (step * 8) ^ rows[n + step]) & mask;
            rows[n + step] ^= change;
            rows[n] ^= change << (step * 8);
        }
    }
    rows
}

/// The bytes behind those of `mask`.
#[inline]
const fn after(mask: u64) -> u64 {
    mask << 1
}

/// The bytes before those of `mask`.
#[inline]
const fn before(mask: u64) -> u64 {
    mask >> 1
}

#[inline]
const fn highest(mask: u64) -> u64 {
    if mask == 0 { 0 } else { 1 << (63 - mask.leading_zeros()) }
}

/// The highest bit of `mask` and all bits below it.
#[inline]
const fn up_to_highest(mask: u64) -> u64 {
    if mask == 0 { 0 } else { u64::MAX >> mask.leading_zeros() }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use proptest::test_runner::{Config, RngSeed, TestCaseError, TestRunner};

    use super::super::super::scan::scan;
    use super::super::coefficients;
    use super::*;

    type Price = fn(&[u8]) -> (u64, u64);

    fn in_blocks(text: &[u8]) -> (u64, u64) {
        let (mut o200k, mut cl100k) = sums();
        price(text, &mut o200k);
        price(text, &mut cl100k);
        (o200k.units, cl100k.units)
    }

    fn in_pieces(text: &[u8]) -> (u64, u64) {
        let (mut o200k, mut cl100k) = sums();
        scan(text, &mut o200k);
        scan(text, &mut cl100k);
        (o200k.units, cl100k.units)
    }

    /// Broken: forgets at the end of a block what comes before the next one.
    fn chopped(text: &[u8]) -> (u64, u64) {
        text.chunks(BLOCK).map(in_blocks).fold((0, 0), |sum, part| (sum.0 + part.0, sum.1 + part.1))
    }

    fn sums() -> (Sum<false>, Sum<true>) {
        (Sum::new(&coefficients::O200K), Sum::new(&coefficients::CL100K))
    }

    /// The law: the price in blocks is the price piece by piece, for both vocabularies.
    fn law(price: Price, parts: &'static str) -> Result<(), String> {
        let seed = RngSeed::Fixed(64);
        let config = Config { cases: 1000, rng_seed: seed, failure_persistence: None, ..Config::default() };
        let part = prop::sample::select(parts.split('|').collect::<Vec<_>>());
        let times = prop_oneof![9 => 1..4_usize, 1 => 4..40_usize];
        let text = prop::collection::vec((part, times), 0..60)
            .prop_map(|parts| parts.into_iter().map(|(part, times)| part.repeat(times)).collect::<String>());
        let check = |text: String| {
            let same = price(text.as_bytes()) == in_pieces(text.as_bytes());
            if same { Ok(()) } else { Err(TestCaseError::fail(text)) }
        };
        TestRunner::new(config).run(&text, check).map_err(|failure| failure.to_string())
    }

    const CODE: &str =
        "a|A|get|Value|0|12| |  |\n|\n    |\t|.|_|(|);|\"|'|/|aB1cD2eF3gH4iJ5k|The| of|identification|=|,";
    const ANY: &str =
        "A|b|s|t|ll|re|7| |\t|\n|\r|\r\n|\u{b}|\u{c}|\0|\u{1b}[|\u{7f}|-|\"|'|/|`|{|@|é|×|中|、|😀|—|\u{301}";

    #[test]
    fn blocks_cost_what_their_pieces_cost() {
        for parts in [CODE, ANY] {
            assert_eq!(law(in_blocks, parts), Ok(()));
            assert!(law(chopped, parts).is_err(), "the chopped text passed");
        }
    }

    #[test]
    fn starts_of_a_block() {
        for (text, starts) in [
            ("let fooBar = get(1234);\n    // don't\n", vec![0, 3, 7, 10, 12, 16, 17, 21, 24, 27]),
            ("a  b\n\n\tc - \"d\" é", vec![0, 1, 2, 4, 6, 8, 10, 12]),
        ] {
            let mut bytes = [0x80; WINDOW];
            bytes[..text.len()].copy_from_slice(text.as_bytes());
            let block = Block::of(Classes::of(&bytes));
            let mut found = Vec::new();
            each(block.starts, |bit| found.push(bit));
            assert_eq!(found, starts, "{text:?}");
        }
    }
}
