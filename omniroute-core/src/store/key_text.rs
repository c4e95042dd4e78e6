//! Parts of a key as text that holds neither slashes nor control characters, and back.

const HEX: &[u8; 16] = b"0123456789abcdef";

pub(super) fn part(out: &mut String, text: &str) {
    out.push('/');
    for c in text.chars() {
        if matches!(c, '%' | '/' | '-') && (c != '-' || text.len() == 1) || c.is_ascii_control() {
            let byte = c as u32 as u8;
            out.push('%');
            out.push(char::from(HEX[usize::from(byte >> 4)]));
            out.push(char::from(HEX[usize::from(byte & 15)]));
        } else {
            out.push(c);
        }
    }
}

/// An absent part is a lone `-`; a part that is just `-` is escaped.
pub(super) fn optional(out: &mut String, text: Option<&str>) {
    match text {
        Some(text) => part(out, text),
        None => out.push_str("/-"),
    }
}

pub(super) fn hashed(out: &mut String, kind: &str, hash: &[u8; 32]) {
    out.push_str(kind);
    out.push('/');
    for byte in hash {
        out.push(char::from(HEX[usize::from(byte >> 4)]));
        out.push(char::from(HEX[usize::from(byte & 15)]));
    }
}

/// Outer none: not our writing. Inner none: an absent part.
pub(super) fn unescape(part: &str) -> Option<Option<String>> {
    if part == "-" {
        return Some(None);
    }
    let mut bytes = Vec::with_capacity(part.len());
    let mut rest = part.as_bytes();
    while let Some((&first, tail)) = rest.split_first() {
        if first == b'%' {
            let (&[high, low], after) = tail.split_first_chunk::<2>()?;
            bytes.push(digit(high)? << 4 | digit(low)?);
            rest = after;
        } else {
            bytes.push(first);
            rest = tail;
        }
    }
    String::from_utf8(bytes).ok().map(Some)
}

fn digit(byte: u8) -> Option<u8> {
    match byte {
        b'0'..=b'9' => Some(byte - b'0'),
        b'a'..=b'f' => Some(byte - b'a' + 10),
        _ => None,
    }
}

pub(super) fn unhex(text: &str) -> Option<[u8; 32]> {
    let (pairs, []) = text.as_bytes().as_chunks::<2>() else { return None };
    let mut out = [0; 32];
    if pairs.len() != out.len() {
        return None;
    }
    for (byte, [high, low]) in out.iter_mut().zip(pairs) {
        *byte = digit(*high)? << 4 | digit(*low)?;
    }
    Some(out)
}
