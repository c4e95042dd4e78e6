//! Small parsers over bytes that all git renderers share.

use crate::rtk::kit::Output;

/// Up to this many bytes an output is shown line by line; only hints and padding go.
const SHORT: usize = 600;

/// Whether every line of the output stays, apart from hints.
pub(super) fn is_short(out: &Output<'_>) -> bool {
    out.text.len() <= SHORT
}

/// A decimal number of at most nine digits and what follows it.
pub(super) fn number(bytes: &[u8]) -> Option<(u64, &[u8])> {
    let digits = bytes.iter().take_while(|b| b.is_ascii_digit()).count();
    if digits == 0 || digits > 9 {
        return None;
    }
    let (number, rest) = bytes.split_at(digits);
    Some((number.iter().fold(0, |n, b| n * 10 + u64::from(b - b'0')), rest))
}

/// Number of lower-case hex digits at the start.
pub(super) fn hex_len(bytes: &[u8]) -> usize {
    bytes.iter().take_while(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f')).count()
}

/// The text before byte `at` and from there on; `None` inside a character or beyond the end.
pub(super) fn split(text: &str, at: usize) -> Option<(&str, &str)> {
    text.split_at_checked(at)
}

/// The first `bytes` bytes of a text that is ASCII up to there, or all of it.
pub(super) fn head(text: &str, bytes: usize) -> &str {
    text.split_at_checked(bytes).map_or(text, |(head, _)| head)
}

/// Appends `line` with runs of blanks as one, apart from those at its start.
pub(super) fn squeeze(text: &mut String, line: &str) {
    let body = line.trim_start();
    text.push_str(line.strip_suffix(body).unwrap_or(""));
    for (n, word) in body.split_ascii_whitespace().enumerate() {
        if n > 0 {
            text.push(' ');
        }
        text.push_str(word);
    }
}

/// Whether a line holds two blanks in a row behind its first word.
pub(super) fn is_padded(line: &str) -> bool {
    line.trim_start().as_bytes().windows(2).any(|w| w == b"  ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parses_and_squeezes() {
        assert_eq!(number(b"12 x"), Some((12, &b" x"[..])));
        assert_eq!(number(b"x"), None);
        assert_eq!(number(b"1234567890"), None);
        assert_eq!(hex_len(b"0af1g"), 4);
        let mut text = String::new();
        squeeze(&mut text, "   a  b\tc ");
        assert_eq!(text, "   a b c");
        assert!(is_padded("  a  b") && !is_padded("  a b"));
        assert_eq!((head("abc", 2), head("a", 2)), ("ab", "a"));
    }
}
