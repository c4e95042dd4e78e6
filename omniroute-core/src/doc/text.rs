//! String literals: decoding on demand and writing with minimal escapes.

use std::borrow::Cow;

use super::lex::{hex4, special};

/// The inside of a JSON string literal, not yet decoded. Copying is free.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct JsonStr<'d> {
    inner: &'d [u8],
    escaped: bool,
}

impl std::fmt::Debug for JsonStr<'_> {
    /// Length only: a text may hold secrets.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "JsonStr({} bytes)", self.inner.len())
    }
}

impl<'d> JsonStr<'d> {
    pub(crate) fn new(inner: &'d [u8], escaped: bool) -> Self {
        JsonStr { inner, escaped }
    }

    /// The literal as written, without its quotes.
    pub fn raw(&self) -> &'d [u8] {
        self.inner
    }

    /// The text; borrowed unless the literal has escapes.
    pub fn decode(&self) -> Cow<'d, str> {
        if self.escaped {
            return Cow::Owned(unescape(self.inner));
        }
        Cow::Borrowed(std::str::from_utf8(self.inner).unwrap_or(""))
    }

    /// Whether the text equals `other`.
    pub fn is(&self, other: &str) -> bool {
        if self.escaped { self.decode() == other } else { self.inner == other.as_bytes() }
    }

    /// Whether the text is empty.
    pub fn is_empty(&self) -> bool {
        self.inner.is_empty()
    }
}

/// Decodes a literal that the scanner has accepted.
fn unescape(inner: &[u8]) -> String {
    let mut out = Vec::with_capacity(inner.len());
    let mut at = 0;
    loop {
        at = copy_to_backslash(inner, at, &mut out);
        let (plain, used) = match inner.get(at + 1) {
            Some(b'n') => (b'\n', 2),
            Some(b't') => (b'\t', 2),
            Some(b'r') => (b'\r', 2),
            Some(b'b') => (8, 2),
            Some(b'f') => (12, 2),
            Some(b'u') => {
                at += unescape_unit(inner, at, &mut out);
                continue;
            }
            Some(&other) => (other, 2),
            None => break,
        };
        out.push(plain);
        at += used;
    }
    String::from_utf8(out).unwrap_or_default()
}

/// Copies up to the next backslash, eight bytes at a time: in tool output it is seldom more than a line away, too
/// near for a search and a copy that have to be set up each time. Returns where the backslash or the end is.
fn copy_to_backslash(inner: &[u8], mut at: usize, out: &mut Vec<u8>) -> usize {
    const LOW: u64 = 0x0101_0101_0101_0101;
    const HIGH: u64 = 0x8080_8080_8080_8080;
    while let Some(eight) = inner.get(at..).and_then(|rest| rest.first_chunk::<8>()) {
        let x = u64::from_le_bytes(*eight) ^ (LOW * b'\\' as u64);
        let hit = x.wrapping_sub(LOW) & !x & HIGH;
        if hit != 0 {
            let count = (hit.trailing_zeros() / 8) as usize;
            out.extend_from_slice(eight.get(..count).unwrap_or(&[]));
            return at + count;
        }
        out.extend_from_slice(eight);
        at += 8;
    }
    let rest = inner.get(at..).unwrap_or(&[]);
    let count = rest.iter().position(|b| *b == b'\\').unwrap_or(rest.len());
    out.extend_from_slice(rest.get(..count).unwrap_or(&[]));
    at + count
}

/// Decodes one `\uXXXX` or a surrogate pair; returns how many bytes of the literal it took.
fn unescape_unit(inner: &[u8], at: usize, out: &mut Vec<u8>) -> usize {
    let unit = hex4(inner, at + 2).unwrap_or(0xFFFD);
    let (code, used) = if (0xD800..0xDC00).contains(&unit) {
        let low = hex4(inner, at + 8).unwrap_or(0xDC00);
        (0x10000 + ((unit - 0xD800) << 10) + (low.wrapping_sub(0xDC00) & 0x3FF), 12)
    } else {
        (unit, 6)
    };
    let mut buffer = [0u8; 4];
    let c = char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER);
    out.extend_from_slice(c.encode_utf8(&mut buffer).as_bytes());
    used
}

/// `text` as a JSON string literal with quotes and only the escapes that JSON demands.
pub fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + text.len() / 16 + 2);
    escape_into(text, &mut out);
    out
}

/// Appends `text` to `out` as a JSON string literal.
pub fn escape_into(text: &str, out: &mut String) {
    const HEX: [char; 16] = ['0', '1', '2', '3', '4', '5', '6', '7', '8', '9', 'a', 'b', 'c', 'd', 'e', 'f'];
    let bytes = text.as_bytes();
    let mut at = 0;
    out.push('"');
    loop {
        let stop = special(bytes, at);
        // `stop` is at an ASCII byte or at the end, so both ends are character boundaries.
        out.push_str(text.get(at..stop).unwrap_or(""));
        let Some(&b) = bytes.get(stop) else { break };
        match b {
            b'"' => out.push_str("\\\""),
            b'\\' => out.push_str("\\\\"),
            b'\n' => out.push_str("\\n"),
            b'\r' => out.push_str("\\r"),
            b'\t' => out.push_str("\\t"),
            8 => out.push_str("\\b"),
            12 => out.push_str("\\f"),
            _ => {
                out.push_str("\\u00");
                out.push(HEX[usize::from(b >> 4)]);
                out.push(HEX[usize::from(b & 15)]);
            }
        }
        at = stop + 1;
    }
    out.push('"');
}

#[cfg(test)]
mod tests {
    use super::super::Doc;
    use super::*;

    #[test]
    fn decodes_every_escape() {
        let doc = Doc::parse(r#""\"\\\/\b\f\n\r\t\u00e9\ud83d\ude00x\u0000""#).unwrap();
        assert_eq!(doc.str(doc.root()).unwrap(), "\"\\/\u{8}\u{c}\n\r\té😀x\0");
    }

    #[test]
    fn escape_round_trips_and_agrees_with_serde_json() {
        for text in ["", "plain", "a\"b\\c\n\t\r\u{1}\u{8}\u{c}\u{1f}\u{7f}é😀\u{2028}", "\\\\\\"] {
            let literal = escape(text);
            assert_eq!(literal, serde_json::to_string(text).unwrap());
            let doc = Doc::parse(literal).unwrap();
            assert_eq!(doc.str(doc.root()).unwrap(), text);
        }
    }
}
