//! Byte-level JSON lexing: where a string, a number or a run of white space ends.
//!
//! Everything here works on offsets into one buffer that is known to be UTF-8, allocates nothing
//! and looks at every byte once.

use super::error::Rule;

/// What went wrong and where; [`super::DocError`] adds line and column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct LexError {
    pub(crate) rule: Rule,
    pub(crate) offset: usize,
    pub(crate) detail: &'static str,
}

pub(crate) fn fail<T>(rule: Rule, offset: usize, detail: &'static str) -> Result<T, LexError> {
    Err(LexError { rule, offset, detail })
}

const LOW: u64 = 0x0101_0101_0101_0101;
const HIGH: u64 = 0x8080_8080_8080_8080;

/// Offset of the first byte at or after `at` that is `"`, `\` or a control character.
pub(crate) fn special(bytes: &[u8], mut at: usize) -> usize {
    while let Some(word) = bytes.get(at..at + 8) {
        let mut eight = [0u8; 8];
        eight.copy_from_slice(word);
        let x = u64::from_le_bytes(eight);
        let quote = x ^ (LOW * b'"' as u64);
        let slash = x ^ (LOW * b'\\' as u64);
        let hit = (x.wrapping_sub(LOW * 0x20) & !x)
            | (quote.wrapping_sub(LOW) & !quote)
            | (slash.wrapping_sub(LOW) & !slash);
        let hit = hit & HIGH;
        if hit != 0 {
            // Borrows only disturb bytes above the first true hit, so the lowest one is exact.
            return at + (hit.trailing_zeros() / 8) as usize;
        }
        at += 8;
    }
    while let Some(&b) = bytes.get(at) {
        if b == b'"' || b == b'\\' || b < 0x20 {
            return at;
        }
        at += 1;
    }
    at
}

/// End of the string literal whose opening quote is at `open`: offset after the closing quote, and
/// whether it holds escapes.
pub(crate) fn string_end(bytes: &[u8], open: usize) -> Result<(usize, bool), LexError> {
    let mut at = open + 1;
    let mut escaped = false;
    loop {
        at = special(bytes, at);
        match bytes.get(at) {
            None => return fail(Rule::Json, bytes.len(), "string is not closed"),
            Some(b'"') => return Ok((at + 1, escaped)),
            Some(b'\\') => {
                escaped = true;
                at = escape_end(bytes, at)?;
            }
            Some(_) => return fail(Rule::Json, at, "control character inside a string must be escaped"),
        }
    }
}

/// Offset after the escape sequence (a surrogate pair counts as one) that starts at `at`.
fn escape_end(bytes: &[u8], at: usize) -> Result<usize, LexError> {
    match bytes.get(at + 1) {
        Some(b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't') => Ok(at + 2),
        Some(b'u') => {
            let unit = hex4(bytes, at + 2)?;
            match unit {
                0xD800..=0xDBFF => {
                    if bytes.get(at + 6) != Some(&b'\\') || bytes.get(at + 7) != Some(&b'u') {
                        return fail(Rule::Surrogate, at, "high surrogate without its low half");
                    }
                    match hex4(bytes, at + 8)? {
                        0xDC00..=0xDFFF => Ok(at + 12),
                        _ => fail(Rule::Surrogate, at, "high surrogate without its low half"),
                    }
                }
                0xDC00..=0xDFFF => fail(Rule::Surrogate, at, "low surrogate without its high half"),
                _ => Ok(at + 6),
            }
        }
        Some(_) => fail(Rule::Json, at, "unknown escape sequence"),
        None => fail(Rule::Json, bytes.len(), "string is not closed"),
    }
}

pub(crate) fn hex4(bytes: &[u8], at: usize) -> Result<u32, LexError> {
    let mut value = 0u32;
    for i in at..at + 4 {
        let digit = match bytes.get(i) {
            Some(b @ b'0'..=b'9') => b - b'0',
            Some(b @ b'a'..=b'f') => b - b'a' + 10,
            Some(b @ b'A'..=b'F') => b - b'A' + 10,
            Some(_) => return fail(Rule::Json, i, "\\u needs four hexadecimal digits"),
            None => return fail(Rule::Json, bytes.len(), "string is not closed"),
        };
        value = value * 16 + u32::from(digit);
    }
    Ok(value)
}

/// End of the number that starts at `at`. Any magnitude is fine: numbers are kept as written.
pub(crate) fn number_end(bytes: &[u8], at: usize) -> Result<usize, LexError> {
    let mut i = at;
    if bytes.get(i) == Some(&b'-') {
        i += 1;
    }
    match bytes.get(i) {
        Some(b'0') => i += 1,
        Some(b'1'..=b'9') => i = digits_end(bytes, i),
        _ => return fail(Rule::Json, i.min(bytes.len()), "expected a digit"),
    }
    if bytes.get(i) == Some(&b'.') {
        let end = digits_end(bytes, i + 1);
        if end == i + 1 {
            return fail(Rule::Json, end, "expected a digit after the decimal point");
        }
        i = end;
    }
    if let Some(b'e' | b'E') = bytes.get(i) {
        i += 1;
        if let Some(b'+' | b'-') = bytes.get(i) {
            i += 1;
        }
        let end = digits_end(bytes, i);
        if end == i {
            return fail(Rule::Json, end, "expected a digit in the exponent");
        }
        i = end;
    }
    Ok(i)
}

fn digits_end(bytes: &[u8], mut at: usize) -> usize {
    while let Some(b'0'..=b'9') = bytes.get(at) {
        at += 1;
    }
    at
}

pub(crate) fn skip_space(bytes: &[u8], mut at: usize) -> usize {
    while let Some(b' ' | b'\t' | b'\n' | b'\r') = bytes.get(at) {
        at += 1;
    }
    at
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn special_agrees_with_a_plain_search() {
        let mut seed = 7u64;
        for len in 0..64usize {
            for _ in 0..200 {
                let bytes: Vec<u8> = (0..len)
                    .map(|_| {
                        seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
                        let b = (seed >> 33) as u8;
                        if b.is_multiple_of(5) { b } else { b | 0x40 }
                    })
                    .collect();
                let plain = bytes.iter().position(|&b| b == b'"' || b == b'\\' || b < 0x20).unwrap_or(len);
                assert_eq!(special(&bytes, 0), plain, "{bytes:?}");
            }
        }
    }

    #[test]
    fn numbers() {
        for ok in ["0", "-0", "1.0", "1E5", "1e+5", "12345678901234567890", "0.1e-400", "1e999"] {
            assert_eq!(number_end(ok.as_bytes(), 0), Ok(ok.len()), "{ok}");
        }
        for bad in ["-", "1.", ".5", "1e", "1e+", "+1"] {
            assert!(number_end(bad.as_bytes(), 0).is_err(), "{bad}");
        }
        assert_eq!(number_end(b"01", 0), Ok(1), "the scanner then refuses the second digit");
    }
}
