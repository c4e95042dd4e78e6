//! Reads one escape sequence; never looks past the end of its line.

/// One complete escape sequence.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Sequence<'a> {
    /// Control sequence: parameter bytes and final byte.
    Csi(&'a [u8], u8),
    /// OSC 8: start of a hyperlink, or its end when the URL is empty.
    Link(&'a str),
    /// Save the cursor.
    Save,
    /// Go back to the saved cursor.
    Restore,
    /// Anything else that shows nothing.
    Silent,
}

/// Reads the sequence at `at` and returns it with the offset after it, or
/// `None` when it is not complete on this line.
pub(crate) fn read(text: &str, at: usize) -> Option<(Sequence<'_>, usize)> {
    let bytes = text.as_bytes();
    let kind = *bytes.get(at + 1)?;
    let body = at + 2;
    if bytes.get(at) == Some(&0xc2) {
        return match kind {
            0x9b => csi(bytes, body).filter(|(seq, _)| certain(seq)),
            0x9d if bytes.get(body)?.is_ascii_digit() => osc(text, body),
            _ => None,
        };
    }
    match kind {
        b'[' => csi(bytes, body),
        b']' => osc(text, body),
        b'P' | b'X' | b'^' | b'_' => {
            let (_, end) = string(bytes, body, false)?;
            Some((Sequence::Silent, end))
        }
        b'7' => Some((Sequence::Save, body)),
        b'8' => Some((Sequence::Restore, body)),
        0x20..=0x2f => {
            let end = body + run(bytes, body, 0x20..=0x2f);
            matches!(bytes.get(end)?, 0x30..=0x7e).then_some((Sequence::Silent, end + 1))
        }
        0x30..=0x7e => Some((Sequence::Silent, body)),
        _ => None,
    }
}

/// A parameter of a control sequence: number `index`, or `default` when it is
/// absent or zero.
pub(crate) fn parameter(params: &[u8], index: usize, default: usize) -> usize {
    let field = params.split(|&b| b == b';').nth(index).unwrap_or_default();
    let mut value = 0usize;
    for byte in field {
        if !byte.is_ascii_digit() {
            return default;
        }
        value = (value * 10 + usize::from(byte - b'0')).min(100_000);
    }
    if value == 0 { default } else { value }
}

fn run(bytes: &[u8], from: usize, set: std::ops::RangeInclusive<u8>) -> usize {
    let rest = bytes.get(from..).unwrap_or_default();
    rest.iter().take_while(|b| set.contains(b)).count()
}

fn csi(bytes: &[u8], body: usize) -> Option<(Sequence<'_>, usize)> {
    let middle = body + run(bytes, body, 0x30..=0x3f);
    let end = middle + run(bytes, middle, 0x20..=0x2f);
    let last = *bytes.get(end)?;
    if !(0x40..=0x7e).contains(&last) {
        return None;
    }
    let seq = if middle == end { Sequence::Csi(bytes.get(body..middle)?, last) } else { Sequence::Silent };
    Some((seq, end + 1))
}

/// The 8-bit introducer also appears in wrongly decoded text, so it counts
/// only before a common sequence.
fn certain(seq: &Sequence<'_>) -> bool {
    let Sequence::Csi(params, last) = seq else {
        return false;
    };
    matches!(last, b'm' | b'K')
        || (!params.is_empty() && matches!(last, b'A'..=b'H' | b'J' | b'f' | b'h' | b'l'))
}

fn osc(text: &str, body: usize) -> Option<(Sequence<'_>, usize)> {
    let (stop, end) = string(text.as_bytes(), body, true)?;
    let content = text.get(body..stop)?;
    let link = content.strip_prefix("8;").and_then(|c| c.split_once(';'));
    let seq = link.map_or(Sequence::Silent, |(_, url)| Sequence::Link(url));
    Some((seq, end))
}

/// End of the content and end of the sequence of a control string.
fn string(bytes: &[u8], body: usize, bell: bool) -> Option<(usize, usize)> {
    let mut at = body;
    loop {
        match *bytes.get(at)? {
            0x07 if bell => return Some((at, at + 1)),
            0x1b => return (bytes.get(at + 1) == Some(&b'\\')).then_some((at, at + 2)),
            0xc2 => match *bytes.get(at + 1)? {
                0x9c => return Some((at, at + 2)),
                0x80..=0x9f => return None,
                _ => at += 2,
            },
            0x00..=0x1f => return None,
            _ => at += 1,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_complete_sequences() {
        let rows: &[(&str, Sequence<'_>, usize)] = &[
            ("\x1b[0;31mX", Sequence::Csi(b"0;31", b'm'), 7),
            ("\x1b[mX", Sequence::Csi(b"", b'm'), 3),
            ("\x1b[?25lX", Sequence::Csi(b"?25", b'l'), 6),
            ("\x1b[2 qX", Sequence::Silent, 5),
            ("\x1b]0;title\x07X", Sequence::Silent, 10),
            ("\x1b]8;;http://a\x1b\\X", Sequence::Link("http://a"), 15),
            ("\x1b]8;id=1;http://a\u{9c}X", Sequence::Link("http://a"), 19),
            ("\x1b]8;;\x07X", Sequence::Link(""), 6),
            ("\x1bPq#0\x1b\\X", Sequence::Silent, 7),
            ("\x1b(BX", Sequence::Silent, 3),
            ("\x1b7X", Sequence::Save, 2),
            ("\x1b=X", Sequence::Silent, 2),
            ("\u{9b}31mX", Sequence::Csi(b"31", b'm'), 5),
        ];
        for (text, seq, end) in rows {
            assert_eq!(read(text, 0), Some((*seq, *end)), "{text:?}");
        }
    }

    #[test]
    fn refuses_what_is_not_complete() {
        for text in [
            "\x1b",
            "\x1b[",
            "\x1b[12",
            "\x1b[12\nm",
            "\x1b[\u{e9}m",
            "\x1b]8;;http://a",
            "\x1b]0;t\nX\x07",
            "\x1bPabc\x07",
            "\x1b(",
            "\x1b\x1b[0m",
            "\x1b\u{e9}",
            "\u{9b}Next",
            "\u{9d}abc\x07",
        ] {
            assert_eq!(read(text, 0), None, "{text:?}");
        }
    }

    #[test]
    fn parameters_have_defaults_and_a_ceiling() {
        assert_eq!(parameter(b"", 0, 1), 1);
        assert_eq!(parameter(b"0", 0, 1), 1);
        assert_eq!(parameter(b"7;12", 1, 1), 12);
        assert_eq!(parameter(b"99999999999999999999999", 0, 1), 100_000);
        assert_eq!(parameter(b"?2", 0, 3), 3);
    }
}
