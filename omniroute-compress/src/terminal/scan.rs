//! Finds the next byte that a terminal would not simply print.

const BLOCK: usize = 32;

/// True when `byte`, followed by `next`, needs the replay.
///
/// A carriage return before a line feed is part of the line end and does not;
/// a run of carriage returns is looked at by [`next_control`].
#[inline]
fn suspicious(byte: u8, next: u8) -> bool {
    (byte == 0x1b)
        | (byte == 0x08)
        | (byte == 0x07)
        | (byte == 0x0e)
        | (byte == 0x0f)
        | ((byte == b'\r') & (next != b'\n'))
        | ((byte == 0xc2) & ((next == 0x9b) | (next == 0x9d)))
}

/// Position at or after `from` of the next control byte, skipping line ends.
pub(crate) fn next_control(bytes: &[u8], from: usize) -> Option<usize> {
    let mut at = from;
    loop {
        at = next_suspicious(bytes, at)?;
        if bytes.get(at) != Some(&b'\r') {
            return Some(at);
        }
        let end = at + returns(bytes, at);
        if bytes.get(end) != Some(&b'\n') {
            return Some(at);
        }
        at = end;
    }
}

/// Number of carriage returns in a row at `at`.
pub(crate) fn returns(bytes: &[u8], at: usize) -> usize {
    let rest = bytes.get(at..).unwrap_or_default();
    rest.iter().take_while(|&&b| b == b'\r').count()
}

fn next_suspicious(bytes: &[u8], from: usize) -> Option<usize> {
    let mut at = from;
    while let Some(block) = bytes.get(at..at + BLOCK + 1) {
        let (now, next) = (&block[..BLOCK], &block[1..]);
        let mut hit = 0u8;
        for (&byte, &after) in now.iter().zip(next) {
            hit |= u8::from(suspicious(byte, after));
        }
        if hit != 0 {
            return block.windows(2).position(found).map(|offset| at + offset);
        }
        at += BLOCK;
    }
    let rest = bytes.get(at..)?;
    if let Some(offset) = rest.windows(2).position(found) {
        return Some(at + offset);
    }
    let last = *rest.last()?;
    suspicious(last, 0).then_some(bytes.len() - 1)
}

/// The same test for a pair of bytes; the first comparison rules out text.
fn found(pair: &[u8]) -> bool {
    matches!(*pair, [byte, next] if (byte < 0x20 || byte == 0xc2) && suspicious(byte, next))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_controls_and_skips_line_ends() {
        let rows: &[(&str, Option<usize>)] = &[
            ("", None),
            ("plain\ntext\twith tab\n", None),
            ("a\r\nb\r\r\nc\r\r\r\n", None),
            ("a\rb", Some(1)),
            ("a\r", Some(1)),
            ("a\r\r", Some(1)),
            ("a\r\r\n\x1b[0m", Some(4)),
            ("x\u{8}", Some(1)),
            ("caf\u{e9} \u{a9} \u{85} \u{92}", None),
            ("\u{e9}\u{9b}1m", Some(2)),
        ];
        for (text, expected) in rows {
            assert_eq!(next_control(text.as_bytes(), 0), *expected, "{text:?}");
        }
    }

    #[test]
    fn finds_a_control_at_every_offset_around_blocks() {
        for offset in 0..300 {
            let text = format!("{}\x1b[0m{}", "x".repeat(offset), "y".repeat(100));
            assert_eq!(next_control(text.as_bytes(), 0), Some(offset));
            let split = format!("{}\r\r\n\r", "x".repeat(offset));
            assert_eq!(next_control(split.as_bytes(), 0), Some(offset + 3));
        }
    }
}
