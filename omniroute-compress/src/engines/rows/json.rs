//! A cursor over JSON that has already been checked: offsets in, offsets out, no values.
//!
//! Every function is total: on bytes that are not JSON it returns some offset inside the buffer, so
//! the decoder may use the same functions to find an end and check what lies between afterwards.

const LOW: u64 = 0x0101_0101_0101_0101;
const HIGH: u64 = 0x8080_8080_8080_8080;

/// The byte at `at`, or 0, which stands nowhere outside strings.
#[inline]
pub(crate) fn byte(b: &[u8], at: usize) -> u8 {
    b.get(at).copied().unwrap_or(0)
}

/// The bytes of a range, or nothing when it does not lie inside.
#[inline]
pub(crate) fn part(b: &[u8], from: usize, to: usize) -> &[u8] {
    b.get(from..to).unwrap_or(&[])
}

/// Whether `b` is JSON white space.
#[inline]
pub(crate) fn is_space(b: u8) -> bool {
    matches!(b, b' ' | b'\t' | b'\n' | b'\r')
}

/// Offset of the first byte at or after `at` that is not white space.
#[inline]
pub(crate) fn space(b: &[u8], mut at: usize) -> usize {
    while is_space(byte(b, at)) {
        at += 1;
    }
    at
}

#[inline]
fn word(b: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_le_bytes(*b.get(at..)?.first_chunk::<8>()?))
}

/// Marks bytes of `x` that equal `want`; exact for the lowest one.
#[inline]
fn equal(x: u64, want: u8) -> u64 {
    let v = x ^ (LOW * want as u64);
    v.wrapping_sub(LOW) & !v & HIGH
}

/// Offset after the string literal that opens at `open`.
#[inline]
pub(crate) fn string_end(b: &[u8], open: usize) -> usize {
    let mut at = open + 1;
    loop {
        at = quote_or_slash(b, at);
        match b.get(at) {
            Some(b'"') => return at + 1,
            Some(_) => at += 2,
            None => return b.len(),
        }
    }
}

#[inline]
fn quote_or_slash(b: &[u8], mut at: usize) -> usize {
    while let Some(x) = word(b, at) {
        let hit = equal(x, b'"') | equal(x, b'\\');
        if hit != 0 {
            return at + (hit.trailing_zeros() / 8) as usize;
        }
        at += 8;
    }
    while at < b.len() && !matches!(byte(b, at), b'"' | b'\\') {
        at += 1;
    }
    at
}

/// What one look at a string literal tells.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Literal {
    /// Offset after the closing quote.
    pub(crate) end: usize,
    /// Printable ASCII without `|` and `\`.
    pub(crate) simple: bool,
}

/// Looks at the string literal that opens at `open`.
#[inline]
pub(crate) fn literal(b: &[u8], open: usize) -> Literal {
    let mut at = open + 1;
    while let Some(x) = word(b, at) {
        let odd = equal(x, b'\\') | equal(x, b'|') | equal(x, 0x7f) | (x & HIGH);
        let quote = equal(x, b'"');
        let hit = odd | quote;
        if hit != 0 {
            let first = hit & hit.wrapping_neg();
            if first & quote != 0 {
                return Literal { end: at + (hit.trailing_zeros() / 8) as usize + 1, simple: true };
            }
            return Literal { end: string_end(b, at - 1), simple: false };
        }
        at += 8;
    }
    loop {
        match byte(b, at) {
            b'"' => {
                return Literal { end: at + 1, simple: true };
            }
            b' '..=b'[' | b']'..=b'{' | b'}' | b'~' => at += 1,
            _ => {
                return Literal { end: string_end(b, at - 1), simple: false };
            }
        }
    }
}

/// Where a cell without quotes ends.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Bare {
    /// Offset of the `|`, line feed or end.
    pub(crate) end: usize,
    /// Printable ASCII without `"` and `\`.
    pub(crate) simple: bool,
}

/// Looks for the end of the cell that starts at `at`.
#[inline]
pub(crate) fn bare(b: &[u8], start: usize) -> Bare {
    let mut at = start;
    while let Some(x) = word(b, at) {
        let low = x.wrapping_sub(LOW * 0x20) & !x & HIGH;
        let odd = equal(x, b'"') | equal(x, b'\\') | equal(x, 0x7f) | (x & HIGH) | low;
        let hit = odd | equal(x, b'|');
        if hit != 0 {
            let found = at + (hit.trailing_zeros() / 8) as usize;
            if matches!(byte(b, found), b'|' | b'\n') {
                return Bare { end: found, simple: true };
            }
            return Bare { end: separator(b, found), simple: false };
        }
        at += 8;
    }
    while let Some(&c) = b.get(at) {
        match c {
            b'|' | b'\n' => {
                return Bare { end: at, simple: true };
            }
            b' '..=b'~' if c != b'"' && c != b'\\' => at += 1,
            _ => {
                return Bare { end: separator(b, at), simple: false };
            }
        }
    }
    Bare { end: at, simple: true }
}

/// Offset of the first `|` or line feed at or after `at`, or the end.
pub(crate) fn separator(b: &[u8], at: usize) -> usize {
    b.get(at..).and_then(|rest| memchr::memchr2(b'|', b'\n', rest)).map_or(b.len(), |p| at + p)
}

/// Offset after the number that starts at `at`.
#[inline]
pub(crate) fn number_end(b: &[u8], mut at: usize) -> usize {
    while matches!(byte(b, at), b'0'..=b'9' | b'.' | b'-' | b'+' | b'e' | b'E') {
        at += 1;
    }
    at
}

/// Whether `b` is exactly one JSON number.
pub(crate) fn is_number(b: &[u8]) -> bool {
    let digits = |mut at: usize| {
        while byte(b, at).is_ascii_digit() {
            at += 1;
        }
        at
    };
    let mut at = usize::from(byte(b, 0) == b'-');
    match byte(b, at) {
        b'0' => at += 1,
        b'1'..=b'9' => at = digits(at),
        _ => return false,
    }
    if byte(b, at) == b'.' {
        let end = digits(at + 1);
        if end == at + 1 {
            return false;
        }
        at = end;
    }
    if matches!(byte(b, at), b'e' | b'E') {
        at += 1 + usize::from(matches!(byte(b, at + 1), b'+' | b'-'));
        let end = digits(at);
        if end == at {
            return false;
        }
        at = end;
    }
    at == b.len()
}

/// Offset after the container that opens at `open`; strings are respected, nothing else is checked.
pub(crate) fn container_end(b: &[u8], open: usize) -> usize {
    let mut depth = 0usize;
    let mut at = open;
    while let Some(&c) = b.get(at) {
        match c {
            b'"' => {
                at = string_end(b, at);
                continue;
            }
            b'{' | b'[' => depth += 1,
            b'}' | b']' => {
                depth = depth.saturating_sub(1);
                if depth == 0 {
                    return at + 1;
                }
            }
            _ => {}
        }
        at += 1;
    }
    at
}

/// Offset after the value that starts at `at`.
#[inline]
pub(crate) fn value_end(b: &[u8], at: usize) -> usize {
    match byte(b, at) {
        b'"' => string_end(b, at),
        b'{' | b'[' => container_end(b, at),
        b't' | b'n' => b.len().min(at + 4),
        b'f' => b.len().min(at + 5),
        _ => number_end(b, at),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn word_scans_agree_with_plain_ones() {
        let mut seed = 3u64;
        let alphabet: &[u8] = b"ab \"\\|\x7f\x80\xff~-\n\x01zZ[]{}!";
        for _ in 0..20_000 {
            let bytes: Vec<u8> = (0..(seed >> 60) + 9)
                .map(|_| {
                    seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
                    alphabet[(seed >> 33) as usize % alphabet.len()]
                })
                .collect();
            let found = bare(&bytes, 0);
            let end = bytes.iter().position(|b| matches!(b, b'|' | b'\n')).unwrap_or(bytes.len());
            let simple = |s: &[u8]| s.iter().all(|b| matches!(b, b' '..=b'~') && !matches!(b, b'"' | b'\\'));
            assert_eq!((found.end, found.simple), (end, simple(&bytes[..end])), "{bytes:?}");

            let inside: Vec<u8> = bytes.iter().map(|b| (*b).max(b' ')).collect();
            let quoted = [b"\"", &inside[..], b"\"\""].concat();
            let got = literal(&quoted, 0);
            assert_eq!(got.end, string_end(&quoted, 0), "{bytes:?}");
            let inner = &quoted[1..got.end - 1];
            assert_eq!(got.simple, simple(inner) && !inner.contains(&b'|'), "{bytes:?}");
        }
    }

    #[test]
    fn numbers() {
        for ok in ["0", "-0", "1.0", "1E5", "1e+5", "12345678901234567890", "0.1e-400"] {
            assert!(is_number(ok.as_bytes()), "{ok}");
        }
        for bad in ["", "-", "1.", ".5", "1e", "1e+", "+1", "01", "1 ", "--1", "0x1", "1.0.0"] {
            assert!(!is_number(bad.as_bytes()), "{bad}");
        }
    }
}
