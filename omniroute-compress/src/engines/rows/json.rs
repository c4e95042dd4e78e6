//! A cursor over JSON that has already been checked: offsets in, offsets out, no values.
//!
//! Every function is total: on bytes that are not JSON it returns some offset inside the buffer, so
//! the decoder may use the same functions to find an end and check what lies between afterwards.

use std::borrow::Cow;

use omniroute_core::escape_into;

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
            b'"' => return Literal { end: at + 1, simple: true },
            b' '..=b'[' | b']'..=b'{' | b'}' | b'~' => at += 1,
            _ => return Literal { end: string_end(b, at - 1), simple: false },
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
            b'|' | b'\n' => return Bare { end: at, simple: true },
            b' '..=b'~' if c != b'"' && c != b'\\' => at += 1,
            _ => return Bare { end: separator(b, at), simple: false },
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

/// Whether two string literals, quotes included, mean the same text.
#[inline]
pub(crate) fn same_string(a: &[u8], b: &[u8]) -> bool {
    a == b || ((has_escape(a) || has_escape(b)) && unquote(a) == unquote(b))
}

#[inline]
fn has_escape(literal: &[u8]) -> bool {
    memchr::memchr(b'\\', literal).is_some()
}

/// The text of a string literal, quotes included.
pub(crate) fn unquote(literal: &[u8]) -> Cow<'_, str> {
    let inner = part(literal, 1, literal.len().saturating_sub(1));
    if has_escape(inner) {
        return Cow::Owned(unescape(inner));
    }
    Cow::Borrowed(std::str::from_utf8(inner).unwrap_or(""))
}

fn unescape(inner: &[u8]) -> String {
    let mut out = Vec::with_capacity(inner.len());
    let mut at = 0;
    while let Some(found) = memchr::memchr(b'\\', part(inner, at, inner.len())) {
        out.extend_from_slice(part(inner, at, at + found));
        at += found + 2;
        match byte(inner, at - 1) {
            b'n' => out.push(b'\n'),
            b't' => out.push(b'\t'),
            b'r' => out.push(b'\r'),
            b'b' => out.push(8),
            b'f' => out.push(12),
            b'u' => {
                let mut code = hex4(inner, at);
                at += 4;
                if (0xD800..0xDC00).contains(&code) {
                    let low = hex4(inner, at + 2);
                    code = 0x10000 + ((code - 0xD800) << 10) + (low.wrapping_sub(0xDC00) & 0x3FF);
                    at += 6;
                }
                let c = char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER);
                out.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
            }
            other => out.push(other),
        }
    }
    out.extend_from_slice(part(inner, at, inner.len()));
    String::from_utf8(out).unwrap_or_default()
}

/// Four hexadecimal digits at `at`; anything else counts as the replacement character.
pub(crate) fn hex4(b: &[u8], at: usize) -> u32 {
    std::str::from_utf8(part(b, at, at + 4)).ok().and_then(|s| u32::from_str_radix(s, 16).ok()).unwrap_or(0xFFFD)
}

/// Whether every escape in the literal is the one that [`escape_into`] would write.
fn is_canonical(literal: &[u8]) -> bool {
    let mut at = 0;
    while let Some(found) = memchr::memchr(b'\\', part(literal, at, literal.len())) {
        at += found + 2;
        match byte(literal, at - 1) {
            b'"' | b'\\' | b'n' | b'r' | b't' | b'b' | b'f' => {}
            b'u' => {
                let code = hex4(literal, at);
                let digits = part(literal, at, at + 4);
                if code >= 0x20
                    || matches!(code, 8 | 9 | 10 | 12 | 13)
                    || digits.iter().any(u8::is_ascii_uppercase)
                {
                    return false;
                }
                at += 4;
            }
            _ => return false,
        }
    }
    true
}

/// Appends a string literal in its canonical spelling: only the escapes that JSON demands.
#[inline]
pub(crate) fn push_literal(literal: &[u8], out: &mut Vec<u8>) {
    if !has_escape(literal) || is_canonical(literal) {
        out.extend_from_slice(literal);
    } else {
        push_quoted(&unquote(literal), out);
    }
}

/// Appends `text` as a string literal.
pub(crate) fn push_quoted(text: &str, out: &mut Vec<u8>) {
    let mut quoted = String::with_capacity(text.len() + 2);
    escape_into(text, &mut quoted);
    out.extend_from_slice(quoted.as_bytes());
}

/// Appends whole tokens of JSON without white space and with canonical strings.
pub(crate) fn push_compact(b: &[u8], out: &mut Vec<u8>) {
    let mut run = 0;
    let mut at = 0;
    while let Some(&c) = b.get(at) {
        match c {
            b'"' => {
                let end = string_end(b, at);
                let literal = part(b, at, end);
                if has_escape(literal) && !is_canonical(literal) {
                    out.extend_from_slice(part(b, run, at));
                    push_quoted(&unquote(literal), out);
                    run = end;
                }
                at = end;
            }
            b' ' | b'\t' | b'\n' | b'\r' => {
                out.extend_from_slice(part(b, run, at));
                at = space(b, at);
                run = at;
            }
            _ => at += 1,
        }
    }
    out.extend_from_slice(part(b, run, b.len()));
}

/// Whether two of the key literals mean the same text. Reorders the keys; `n log n` in their number.
pub(crate) fn has_duplicate(b: &[u8], keys: &mut [(u32, u32)]) -> bool {
    let key = |&(start, end): &(u32, u32)| part(b, start as usize, end as usize);
    if keys.len() < 2 {
        return false;
    }
    if keys.len() <= 12 {
        let mut rest = &*keys;
        while let Some((first, others)) = rest.split_first() {
            if others.iter().any(|other| same_string(key(first), key(other))) {
                return true;
            }
            rest = others;
        }
        return false;
    }
    if keys.iter().any(|k| has_escape(key(k))) {
        let mut texts: Vec<_> = keys.iter().map(|k| unquote(key(k))).collect();
        texts.sort_unstable();
        return texts.windows(2).any(|pair| pair.first() == pair.last());
    }
    keys.sort_unstable_by(|a, b| key(a).cmp(key(b)));
    keys.windows(2).any(|pair| pair.first().map(key) == pair.last().map(key))
}

/// Whether `text` may stand in a cell of strings without quotes.
pub(crate) fn is_bare(text: &str) -> bool {
    let edges = text.chars().next().zip(text.chars().next_back());
    edges.is_some_and(|(first, last)| {
        !matches!(first, '"' | '@' | '[' | '{') && !first.is_whitespace() && !last.is_whitespace()
    }) && !matches!(text, "-" | "~")
        && text.chars().all(|c| {
            !matches!(c, '|' | '"' | '\0'..='\u{1f}' | '\u{7f}'..='\u{9f}' | '\u{2028}' | '\u{2029}')
        })
}

/// [`is_bare`] for printable ASCII that is known to hold no `|` and no `"`.
#[inline]
pub(crate) fn is_bare_simple(text: &[u8]) -> bool {
    match text {
        [] | [b'-' | b'~'] => false,
        [first, ..] => !matches!(first, b'@' | b'[' | b'{' | b' ') && text.last() != Some(&b' '),
    }
}

/// Whether the inside of a key literal may stand in a header without quotes, as one step of a path.
pub(crate) fn is_bare_key(inner: &[u8]) -> bool {
    matches!(inner.first(), Some(b'A'..=b'Z' | b'a'..=b'z' | b'_'))
        && inner.iter().all(|c| matches!(c, b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'_' | b'-'))
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
    fn compact_and_canonical() {
        let source = " { \"a\\u0062\" : [ 1.0 , \"\\u00e9\\n\\u001F\\/\" , \"x\\u001f\" ] } ";
        let mut out = Vec::new();
        push_compact(source.as_bytes(), &mut out);
        assert_eq!(String::from_utf8(out).unwrap(), "{\"ab\":[1.0,\"é\\n\\u001f/\",\"x\\u001f\"]}");
    }

    #[test]
    fn duplicates_by_meaning() {
        let many: String = (0..20).map(|i| format!("\"k{i}\"")).collect();
        for (source, expected) in [
            ("\"a\"\"b\"", false),
            ("\"a\"\"b\"\"\\u0061\"", true),
            (many.as_str(), false),
            (&format!("{many}\"k7\""), true),
            (&format!("{many}\"\\u006b7\""), true),
        ] {
            let mut keys = Vec::new();
            let mut at = 0;
            while at < source.len() {
                let end = string_end(source.as_bytes(), at);
                keys.push((at as u32, end as u32));
                at = end;
            }
            assert_eq!(has_duplicate(source.as_bytes(), &mut keys), expected, "{source}");
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

    #[test]
    fn bare_text() {
        for yes in ["a", "null", "00123", "日本", "a\\b", "-5", "~x", "x@", "a [b]"] {
            assert!(is_bare(yes), "{yes}");
        }
        for no in ["", "-", "~", "@1", "[x", "{", " a", "a ", "a|b", "a\"", "\u{a0}a", "a\u{3000}", "a\u{85}b", "a\u{2028}b"] {
            assert!(!is_bare(no), "{no:?}");
        }
    }
}
