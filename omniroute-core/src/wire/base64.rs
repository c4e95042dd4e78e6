//! Whether text is base64, without decoding all of it.

/// Decoded size; `None` if the text is no base64. White space is passed over, padding may be left out.
pub(super) fn size(text: &str) -> Option<usize> {
    let (mut digits, mut padding) = (0usize, 0usize);
    for byte in text.bytes() {
        match byte {
            b'=' => padding += 1,
            _ if byte.is_ascii_whitespace() => {}
            _ if padding == 0 && value(byte).is_some() => digits += 1,
            _ => return None,
        }
    }
    let fits = match digits % 4 {
        0 => padding == 0,
        2 => padding == 2 || padding == 0,
        3 => padding == 1 || padding == 0,
        _ => false,
    };
    (fits && digits > 0).then_some(digits / 4 * 3 + (digits % 4).saturating_sub(1))
}

/// The first twelve bytes, or fewer if there are no more.
pub(super) fn head(text: &str) -> Option<Vec<u8>> {
    let (mut out, mut buffer, mut bits) = (Vec::with_capacity(12), 0u32, 0u32);
    for six in text.bytes().filter(|b| !b.is_ascii_whitespace() && *b != b'=').take(16).map(value) {
        buffer = (buffer << 6) | u32::from(six?);
        bits += 6;
        if bits >= 8 {
            bits -= 8;
            out.push(u8::try_from((buffer >> bits) & 0xFF).unwrap_or_default());
        }
    }
    Some(out)
}

/// The text without white space, padded.
pub(super) fn clean(text: &str) -> String {
    let mut out: String = text.chars().filter(|c| !c.is_ascii_whitespace()).collect();
    while !out.len().is_multiple_of(4) {
        out.push('=');
    }
    out
}

fn value(byte: u8) -> Option<u8> {
    match byte {
        b'A'..=b'Z' => Some(byte - b'A'),
        b'a'..=b'z' => Some(byte - b'a' + 26),
        b'0'..=b'9' => Some(byte - b'0' + 52),
        b'+' => Some(62),
        b'/' => Some(63),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn good_text_has_a_size_and_bad_text_has_none() {
        for (text, size_of) in
            [("aGk=", Some(2)), ("aGk", Some(2)), ("aGkh", Some(3)), ("aG k=\n", Some(2)), ("aA==", Some(1))]
        {
            assert_eq!(size(text), size_of, "{text}");
        }
        for bad in ["", "a", "aGk==", "a=Gk", "aG-k", "é", "data:,", "===="] {
            assert_eq!(size(bad), None, "{bad}");
        }
        assert_eq!(head("iVBORw0KGgoAAAAN").as_deref(), Some(&b"\x89PNG\r\n\x1a\n\0\0\0\r"[..]));
        assert_eq!(head("aGk=").as_deref(), Some(&b"hi"[..]));
        assert_eq!(clean("aG k\n"), "aGk=");
    }
}
