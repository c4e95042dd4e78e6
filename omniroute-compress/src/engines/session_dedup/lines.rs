//! A text as lines with keys: what two lines must share to count as the same.

use crate::hash::hash;

/// Line numbers that a viewer puts in front of every line: `  12\tcode`, `12→code`, `12: code`, `12|code`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Gutter {
    /// Width to which numbers are padded with spaces on the left; 0 if they are not.
    width: u16,
    separator: Separator,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Separator {
    Tab,
    Arrow,
    Bar,
    Colon,
    ArrowSpace,
    BarSpace,
    ColonSpace,
}

const SEPARATORS: [(Separator, &[u8]); 7] = [
    (Separator::Tab, b"\t"),
    (Separator::ArrowSpace, "→ ".as_bytes()),
    (Separator::Arrow, "→".as_bytes()),
    (Separator::BarSpace, b"| "),
    (Separator::Bar, b"|"),
    (Separator::ColonSpace, b": "),
    (Separator::Colon, b":"),
];

impl Separator {
    fn bytes(self) -> &'static [u8] {
        SEPARATORS.iter().find(|(s, _)| *s == self).map_or(b"", |(_, bytes)| bytes)
    }
}

impl Gutter {
    /// The line with this number and content as the viewer prints it.
    pub(super) fn line(self, number: u64, content: &[u8], out: &mut Vec<u8>) {
        let digits = number.to_string();
        out.resize(out.len() + usize::from(self.width).saturating_sub(digits.len()), b' ');
        out.extend_from_slice(digits.as_bytes());
        out.extend_from_slice(self.separator.bytes());
        out.extend_from_slice(content);
    }

    /// Number and content of a line that the viewer may have printed.
    pub(super) fn split(self, line: &[u8]) -> Option<(u64, &[u8])> {
        let (number, digits_end) = leading_number(line)?;
        let content = line.get(digits_end..)?.strip_prefix(self.separator.bytes())?;
        Some((number, content))
    }

    /// Text form for undo instructions.
    pub(super) fn encode(self) -> String {
        let index = SEPARATORS.iter().position(|(s, _)| *s == self.separator).unwrap_or(0);
        format!("{}.{index}", self.width)
    }

    pub(super) fn decode(text: &str) -> Option<Gutter> {
        let (width, index) = text.split_once('.')?;
        let (separator, _) = SEPARATORS.get(index.parse::<usize>().ok()?)?;
        Some(Gutter { width: width.parse().ok()?, separator: *separator })
    }
}

fn leading_number(line: &[u8]) -> Option<(u64, usize)> {
    let start = line.iter().take(12).take_while(|b| **b == b' ').count();
    let count = line.iter().skip(start).take(10).take_while(|b| b.is_ascii_digit()).count();
    let digits = line.get(start..start + count).filter(|d| !d.is_empty())?;
    let number = digits.iter().fold(0u64, |n, d| n * 10 + u64::from(d - b'0'));
    Some((number, start + count))
}

/// The lines of one text.
#[derive(Debug, Default)]
pub(super) struct Lines {
    /// Start of each line and, last, the end of the text. A line's own end excludes its `\n`.
    starts: Vec<u32>,
    /// Hash of each line's content without gutter; 0 for lines that never match.
    pub(super) keys: Vec<u64>,
    pub(super) gutter: Option<Gutter>,
}

impl Lines {
    /// Splits and hashes. `skip` says which lines never match.
    pub(super) fn of(text: &[u8], skip: impl Fn(&[u8]) -> bool) -> Lines {
        let mut starts = Vec::with_capacity(text.len() / 32 + 2);
        starts.push(0u32);
        for end in memchr::memchr_iter(b'\n', text) {
            starts.push(end as u32 + 1);
        }
        let ends_with_newline = text.last() == Some(&b'\n');
        if !ends_with_newline {
            starts.push(text.len() as u32 + 1); // as if a newline followed
        }
        let mut lines = Lines { starts, keys: Vec::new(), gutter: None };
        lines.gutter = lines.find_gutter(text);
        lines.keys = (0..lines.count())
            .map(|i| {
                let line = lines.get(text, i);
                if skip(line) { 0 } else { lines.key(line) }
            })
            .collect();
        lines
    }

    pub(super) fn count(&self) -> usize {
        self.starts.len() - 1
    }

    /// Line `i` without its `\n`.
    pub(super) fn get<'t>(&self, text: &'t [u8], i: usize) -> &'t [u8] {
        match (self.starts.get(i), self.starts.get(i + 1)) {
            (Some(start), Some(end)) => text.get(*start as usize..*end as usize - 1).unwrap_or(&[]),
            _ => &[],
        }
    }

    /// Byte offset at which line `i` starts; the end of the text for the line after the last.
    pub(super) fn start(&self, text: &[u8], i: usize) -> usize {
        self.starts.get(i).map_or(text.len(), |s| (*s as usize).min(text.len()))
    }

    /// Number in the gutter of line `i`, if the text has a gutter and the line has a number.
    pub(super) fn number(&self, text: &[u8], i: usize) -> Option<u64> {
        self.gutter?.split(self.get(text, i)).map(|(n, _)| n)
    }

    /// Bytes of `count` lines from `i` on, their `\n` included.
    pub(super) fn span(&self, i: usize, count: usize) -> usize {
        match (self.starts.get(i), self.starts.get(i + count)) {
            (Some(start), Some(end)) => (end - start) as usize,
            _ => 0,
        }
    }

    /// The first line that starts not more than `bytes` before the end of the text.
    pub(super) fn first_within(&self, bytes: u64) -> usize {
        let end = self.starts.last().copied().unwrap_or(0);
        let from = u64::from(end).saturating_sub(bytes);
        self.starts.partition_point(|start| u64::from(*start) < from)
    }

    /// Room it takes, in bytes.
    pub(super) fn bytes(&self) -> usize {
        self.starts.capacity() * 4 + self.keys.capacity() * 8
    }

    fn key(&self, line: &[u8]) -> u64 {
        match self.gutter.and_then(|g| g.split(line)) {
            Some((_, content)) => hash(content),
            None => hash(line),
        }
    }

    /// A gutter counts if at least nine lines in ten have it and their numbers rise by one.
    fn find_gutter(&self, text: &[u8]) -> Option<Gutter> {
        let count = self.count();
        if count < 4 {
            return None;
        }
        let first = self.get(text, 0);
        let second = self.get(text, 1);
        // One of the first two lines must have it; a header line may stand above.
        [first, second].into_iter().find_map(|line| {
            let (_, digits_end) = leading_number(line)?;
            let rest = line.get(digits_end..)?;
            let (separator, _) = SEPARATORS.iter().find(|(_, bytes)| rest.starts_with(bytes))?;
            // `12| code` throughout is a bar with a space; one `12|code` shows that the space is content.
            let plain = match separator {
                Separator::ArrowSpace => Separator::Arrow,
                Separator::BarSpace => Separator::Bar,
                Separator::ColonSpace => Separator::Colon,
                other => *other,
            };
            let width = if line.starts_with(b" ") { digits_end as u16 } else { 0 };
            [*separator, plain]
                .into_iter()
                .map(|separator| Gutter { width, separator })
                .find(|gutter| self.fits(text, *gutter))
        })
    }

    fn fits(&self, text: &[u8], gutter: Gutter) -> bool {
        let mut good = 0;
        let mut expected = None;
        for i in 0..self.count() {
            let Some((number, _)) = gutter.split(self.get(text, i)) else { continue };
            if expected.is_none_or(|e| e == number) {
                good += 1;
            }
            expected = Some(number + 1);
        }
        good * 10 >= self.count() * 9
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(text: &str) -> Lines {
        Lines::of(text.as_bytes(), |_| false)
    }

    #[test]
    fn splits_like_an_editor() {
        for (text, count) in [("", 1), ("a", 1), ("a\n", 1), ("a\nb", 2), ("a\n\n", 2)] {
            let l = lines(text);
            assert_eq!(l.count(), count.max(1), "{text:?}");
            let joined: Vec<&[u8]> = (0..l.count()).map(|i| l.get(text.as_bytes(), i)).collect();
            let mut back = joined.join(&b'\n');
            if text.ends_with('\n') {
                back.push(b'\n');
            }
            assert_eq!(back, text.as_bytes());
        }
    }

    #[test]
    fn gutters_are_found_and_rebuilt() {
        for text in [
            "1\tfn a\n2\tfn b\n3\t\n4\tfn d",
            "     9→x\n    10→y\n    11→z\n    12→w\n",
            "10: x\n11: \n12: z\n13: w",
            "7|x\n8| y\n9|z\n10|w",
        ] {
            let l = lines(text);
            let gutter = l.gutter.unwrap_or_else(|| panic!("{text:?}"));
            assert_eq!(Gutter::decode(&gutter.encode()), Some(gutter));
            for i in 0..l.count() {
                let line = l.get(text.as_bytes(), i);
                let (number, content) = gutter.split(line).unwrap();
                let mut again = Vec::new();
                gutter.line(number, content, &mut again);
                assert_eq!(again, line, "{text:?}");
            }
        }
        for text in [
            "1\ta\n5\tb\n6\tc\n9\td",
            "a: b\nc: d\ne: f\ng: h",
            "1\n2\n3\n4",
            "10:20 a\n10:21 b\n10:22 c\n10:23 d",
        ] {
            assert_eq!(lines(text).gutter, None, "{text:?}");
        }
    }

    #[test]
    fn keys_ignore_the_gutter_and_nothing_else() {
        let (a, b) = (lines("1\tx\n2\ty \n3\tz\n4\tw"), lines("x\ny \nz\nw"));
        assert_eq!(a.keys, b.keys);
        assert_ne!(lines("x").keys, lines("x ").keys);
    }
}
