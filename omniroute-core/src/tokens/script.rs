//! Groups the characters outside ASCII by their writing system, as far as tokenizers treat them alike.

use super::scan::wide_len;

/// The code point at `at` of well-formed UTF-8 text.
pub(crate) fn code_point(piece: &[u8], at: usize) -> u32 {
    let lead = piece[at];
    let length = wide_len(lead);
    let mut point = u32::from(lead) & (0x7F >> length);
    for offset in 1..length {
        point = point << 6 | u32::from(piece.get(at + offset).copied().unwrap_or(0) & 0x3F);
    }
    point
}

/// The group of a character outside ASCII: an index into `Vocabulary::scripts`.
pub(crate) const fn script(point: u32) -> usize {
    match point {
        0..=0xBF => 0,           // Latin-1 signs
        0xC0..=0x24F => 1,       // Latin letters
        0x250..=0x36F => 2,      // phonetic, combining
        0x370..=0x3FF => 3,      // Greek
        0x400..=0x52F => 4,      // Cyrillic
        0x530..=0x58F => 5,      // Armenian
        0x590..=0x5FF => 6,      // Hebrew
        0x600..=0x7FF => 7,      // Arabic
        0x800..=0x97F => 8,      // Devanagari
        0x980..=0xDFF => 9,      // other Indic
        0xE00..=0xEFF => 10,     // Thai, Lao
        0xF00..=0x10FF => 11,    // Tibetan, Myanmar, Georgian
        0x1100..=0x1DFF => 12,   // Jamo, Khmer, others
        0x1E00..=0x1FFF => 13,   // Latin and Greek with several accents
        0x2000..=0x206F => 14,   // punctuation
        0x2070..=0x218F => 15,   // super- and subscripts, currency
        0x2190..=0x21FF => 16,   // arrows
        0x2200..=0x24FF => 17,   // mathematics, technical
        0x2500..=0x25FF => 18,   // boxes, blocks
        0x2600..=0x27BF => 19,   // dingbats
        0x27C0..=0x2FFF => 20,   // Braille, more arrows
        0x3000..=0x303F => 21,   // CJK punctuation
        0x3040..=0x309F => 22,   // Hiragana
        0x30A0..=0x30FF => 23,   // Katakana
        0x3100..=0x4DFF => 24,   // CJK, rare
        0x4E00..=0x9FFF => 25,   // CJK
        0xA000..=0xABFF => 26,   // Yi and others
        0xAC00..=0xD7FF => 27,   // Hangul
        0xFF00..=0xFFEF => 28,   // full-width forms
        0xD800..=0xFFFF => 29,   // private, presentation forms
        0x1F000..=0x1FAFF => 30, // emoji
        _ => 31,
    }
}
