//! Words as numbers: equal for words that differ only in case and in the form of the apostrophe.

use crate::hash;
use crate::protect::Word;

/// The number of each word.
pub(super) fn hashes(text: &str, words: &[Word]) -> Vec<u64> {
    let bytes = text.as_bytes();
    words.iter().map(|w| of(bytes.get(w.start as usize..w.end as usize).unwrap_or(&[]))).collect()
}

/// The number of a word.
pub(super) fn of(word: &[u8]) -> u64 {
    let mut short = [0_u8; 32];
    if word.is_ascii()
        && let Some(room) = short.get_mut(..word.len())
    {
        for (to, from) in room.iter_mut().zip(word) {
            *to = from.to_ascii_lowercase();
        }
        return hash::hash(room);
    }
    hash::hash(normal(std::str::from_utf8(word).unwrap_or("")).as_bytes())
}

/// Whether `normal` is the normal form of `word`.
pub(super) fn is(word: &str, normal: &str) -> bool {
    word.eq_ignore_ascii_case(normal) || (!word.is_ascii() && self::normal(word) == normal)
}

/// The word in small letters with a straight apostrophe.
pub(super) fn normal(word: &str) -> String {
    word.chars().flat_map(char::to_lowercase).map(|c| if matches!(c, '’' | '‘') { '\'' } else { c }).collect()
}
