//! String literals and texts: compared by meaning, decoded, written in canonical form or bare.

use std::borrow::Cow;

use omniroute_core::escape_into;

use super::json::{byte, part, space, string_end};

/// Whether two string literals, quotes included, mean the same text.
#[inline]
pub(crate) fn same_string(a: &[u8], b: &[u8]) -> bool {
    a == b || ((has_escape(a) || has_escape(b)) && unquote(a) == unquote(b))
}

/// Whether a string literal, quotes included, means `text`.
#[inline]
pub(crate) fn same_text(text: &str, literal: &[u8]) -> bool {
    if has_escape(literal) {
        unquote(literal) == text
    } else {
        part(literal, 1, literal.len() - 1) == text.as_bytes()
    }
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
    push_unescaped(inner, &mut out);
    String::from_utf8(out).unwrap_or_default()
}

/// Appends the text of a literal without its quotes.
pub(crate) fn push_unescaped(inner: &[u8], out: &mut Vec<u8>) {
    let mut at = 0;
    while let Some(found) = memchr::memchr(b'\\', part(inner, at, inner.len())) {
        out.extend_from_slice(part(inner, at, at + found));
        at += found;
        let (c, end) = escape(inner, at);
        out.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
        at = end;
    }
    out.extend_from_slice(part(inner, at, inner.len()));
}

/// Whether the string literal, quotes included, means exactly `text`. Nothing is copied.
pub(crate) fn means(literal: &[u8], text: &[u8]) -> bool {
    let inner = part(literal, 1, literal.len().saturating_sub(1));
    let (mut at, mut rest) = (0, text);
    while let Some(found) = memchr::memchr(b'\\', part(inner, at, inner.len())) {
        let (c, end) = escape(inner, at + found);
        let Some(after) = rest.strip_prefix(part(inner, at, at + found)) else { return false };
        let Some(after) = after.strip_prefix(c.encode_utf8(&mut [0; 4]).as_bytes()) else { return false };
        (at, rest) = (end, after);
    }
    rest == part(inner, at, inner.len())
}

/// The character that the escape at `at` names, and the end of the escape. A surrogate pair is one.
#[inline]
fn escape(inner: &[u8], at: usize) -> (char, usize) {
    let c = match byte(inner, at + 1) {
        b'n' => '\n',
        b't' => '\t',
        b'r' => '\r',
        b'b' => '\u{8}',
        b'f' => '\u{c}',
        b'u' => {
            let unit = hex4(inner, at + 2);
            if !(0xD800..0xDC00).contains(&unit) {
                return (char::from_u32(unit).unwrap_or(char::REPLACEMENT_CHARACTER), at + 6);
            }
            let low = hex4(inner, at + 8).wrapping_sub(0xDC00) & 0x3FF;
            let code = 0x10000 + ((unit - 0xD800) << 10) + low;
            return (char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER), at + 12);
        }
        other => char::from(other),
    };
    (c, at + 2)
}

/// Four hexadecimal digits at `at`; anything else counts as the replacement character.
#[inline]
pub(crate) fn hex4(b: &[u8], at: usize) -> u32 {
    let Some(digits) = b.get(at..).and_then(|rest| rest.first_chunk::<4>()) else { return 0xFFFD };
    digits.iter().try_fold(0, |value, c| Some(value * 16 + char::from(*c).to_digit(16)?)).unwrap_or(0xFFFD)
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
    let Some((first, last)) = text.chars().next().zip(text.chars().next_back()) else { return false };
    if matches!(first, '"' | '@' | '[' | '{') || first.is_whitespace() || last.is_whitespace() {
        return false;
    }
    let b = text.as_bytes();
    !matches!(text, "-" | "~")
        && b.iter().enumerate().all(|(at, c)| match c {
            0..=0x1f | 0x7f | b'|' | b'"' => false,
            0xC2 => byte(b, at + 1) >= 0xA0, // U+0080-009F
            0xE2 => !matches!(b.get(at + 1..at + 3), Some([0x80, 0xA8 | 0xA9])), // U+2028, U+2029
            _ => true,
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
    fn means_what_unquote_says() {
        for literal in ["\"\"", "\"a\"", r#""\u00e9\n\"x\\""#, r#""\ud83d\ude00y""#, r#""a\/""#] {
            let text = unquote(literal.as_bytes()).into_owned();
            assert!(means(literal.as_bytes(), text.as_bytes()), "{literal}");
            assert!(!means(literal.as_bytes(), format!("{text}z").as_bytes()), "{literal}");
            assert!(!means(literal.as_bytes(), format!("z{text}").as_bytes()), "{literal}");
        }
        assert!(!means(b"\"ab\"", b"a"));
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
    fn bare_text() {
        for yes in ["a", "null", "00123", "日本", "a\\b", "-5", "~x", "x@", "a [b]"] {
            assert!(is_bare(yes), "{yes}");
        }
        for no in [
            "",
            "-",
            "~",
            "@1",
            "[x",
            "{",
            " a",
            "a ",
            "a|b",
            "a\"",
            "\u{a0}a",
            "a\u{3000}",
            "a\u{85}b",
            "a\u{2028}b",
        ] {
            assert!(!is_bare(no), "{no:?}");
        }
    }
}
