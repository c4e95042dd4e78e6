//! The lines that are looked at: the head and the tail of a text, never more than a bounded number.

/// Bytes of the head.
const HEAD: usize = 64 * 1024;
/// Bytes of the tail.
const TAIL: usize = 16 * 1024;
/// Lines taken from the head and from the tail.
const LINES: (usize, usize) = (280, 120);

/// Sampled lines and their numbers. Numbers of tail lines are counted on from the head: exact for short texts.
#[derive(Debug)]
pub(super) struct Sample<'t> {
    /// The lines, with terminators removed.
    pub(super) lines: Vec<&'t [u8]>,
    /// Where the tail starts in `lines`; the line before it is not its neighbour.
    pub(super) gap: Option<usize>,
}

impl<'t> Sample<'t> {
    /// Takes the sample of a text.
    pub(super) fn new(text: &'t str) -> Self {
        let bytes = text.as_bytes();
        let mut lines = Vec::with_capacity((bytes.len() / 24).min(LINES.0 + LINES.1) + 1);
        let mut at = 0;
        let end = bytes.len().min(HEAD);
        while at < end && lines.len() < LINES.0 {
            let rest = bytes.get(at..).unwrap_or_default();
            let length = memchr::memchr(b'\n', rest).unwrap_or(rest.len());
            lines.push(rest.get(..length).unwrap_or_default());
            at += length + 1;
        }
        if at >= bytes.len() {
            return Self { lines, gap: None };
        }
        let gap = lines.len();
        let mut end = bytes.len() - usize::from(bytes.ends_with(b"\n"));
        let floor = at.max(bytes.len().saturating_sub(TAIL));
        while end > floor && lines.len() - gap < LINES.1 {
            let rest = bytes.get(floor..end).unwrap_or_default();
            let start = memchr::memrchr(b'\n', rest).map(|found| found + 1);
            // A piece of a line that started before the tail is no line.
            if start.is_none() && floor > at {
                break;
            }
            lines.push(rest.get(start.unwrap_or(0)..).unwrap_or_default());
            end = floor + start.unwrap_or(1) - 1;
        }
        lines.get_mut(gap..).unwrap_or_default().reverse();
        Self { lines, gap: Some(gap) }
    }
}

#[cfg(test)]
mod tests {
    use super::Sample;

    #[test]
    fn short_texts_are_whole_and_long_ones_bounded() {
        let short = Sample::new("a\nb\r\n\nc");
        assert_eq!(short.lines, [b"a".as_slice(), b"b\r", b"", b"c"]);
        assert!(short.gap.is_none());
        let text: String = (0..5000).map(|n| format!("line {n}\n")).collect();
        let long = Sample::new(&text);
        assert_eq!(long.lines.len(), 400);
        assert_eq!(long.lines.last(), Some(&b"line 4999".as_slice()));
        assert_eq!(long.gap, Some(280));
        assert_eq!(Sample::new(&"x".repeat(200_000)).lines.len(), 1);
        assert!(Sample::new("").lines.is_empty());
    }
}
