//! One line with what the rules look at, and the small byte tests they share.

/// A line without its terminator.
#[derive(Debug, Clone, Copy)]
pub(super) struct Line<'t> {
    /// The whole line, trailing blanks removed.
    pub(super) raw: &'t [u8],
    /// The line behind its indentation.
    pub(super) body: &'t [u8],
    /// Bytes of indentation.
    pub(super) indent: usize,
    /// The line before, trailing blanks removed.
    pub(super) before: &'t [u8],
    /// Its number, from 0.
    pub(super) number: u32,
    /// A path and a line number at the start, and what follows them.
    pub(super) place: Option<(&'t [u8], &'t [u8])>,
    /// Index of the first colon of the line.
    pub(super) colon: Option<usize>,
}

impl<'t> Line<'t> {
    /// Cuts `raw` into its parts.
    pub(super) fn new(raw: &'t [u8], before: &'t [u8], number: u32) -> Self {
        let raw = raw.trim_ascii_end();
        let body = raw.trim_ascii_start();
        let indent = raw.len() - body.len();
        let colon = memchr::memchr(b':', raw);
        let place = if indent <= 2 && colon.is_some() { place(body) } else { None };
        Self { raw, body, indent, before, number, place, colon }
    }
}

impl Line<'_> {
    /// A single name or path: no anchor looks like that.
    pub(super) fn is_bare(&self) -> bool {
        self.indent == 0
            && self.colon.is_none()
            && self.raw.first().is_some_and(|byte| byte.is_ascii_lowercase() || *byte == b'.')
            && !self.raw.ends_with(b"%]")
            && memchr::memchr2(b' ', b'\t', self.raw).is_none()
    }
}

/// The rest of `bytes` behind at least one digit.
pub(super) fn digits(bytes: &[u8]) -> Option<&[u8]> {
    let count = bytes.iter().take(20).take_while(|byte| byte.is_ascii_digit()).count();
    if count == 0 { None } else { bytes.get(count..) }
}

/// The rest behind a decimal number such as `12` or `0.34`.
pub(super) fn decimal(bytes: &[u8]) -> Option<&[u8]> {
    let rest = digits(bytes)?;
    Some(rest.strip_prefix(b".").or_else(|| rest.strip_prefix(b",")).and_then(digits).unwrap_or(rest))
}

/// `bytes` starts with `head`, then digits, then `tail`; returns what follows.
pub(super) fn counted<'b>(bytes: &'b [u8], head: &[u8], tail: &[u8]) -> Option<&'b [u8]> {
    digits(bytes.strip_prefix(head)?)?.strip_prefix(tail)
}

/// The bytes before and behind the first `mark` within the first 512 bytes.
pub(super) fn split<'b>(bytes: &'b [u8], mark: &[u8]) -> Option<(&'b [u8], &'b [u8])> {
    let window = bytes.get(..bytes.len().min(512)).unwrap_or_default();
    // A rare byte of the mark is looked for; building a searcher would cost more than the search.
    let anchor = mark
        .iter()
        .position(|byte| !byte.is_ascii_lowercase() && *byte != b' ')
        .or_else(|| mark.iter().position(|byte| *byte != b' '))
        .unwrap_or(0);
    let rare = *mark.get(anchor)?;
    let mut from = anchor;
    loop {
        let at = from + memchr::memchr(rare, window.get(from..)?)? - anchor;
        if window.get(at..at + mark.len())? == mark {
            return Some((bytes.get(..at)?, bytes.get(at + mark.len()..)?));
        }
        from = at + anchor + 1;
    }
}

/// True when `mark` stands in the first 512 bytes.
pub(super) fn has(bytes: &[u8], mark: &[u8]) -> bool {
    split(bytes, mark).is_some()
}

/// True when one of `marks` is how `bytes` starts.
pub(super) fn starts(bytes: &[u8], marks: &[&[u8]]) -> bool {
    let first = bytes.first();
    marks.iter().any(|mark| mark.first() == first && bytes.starts_with(mark))
}

/// True when one of `marks` is how `bytes` ends.
pub(super) fn ends(bytes: &[u8], marks: &[&[u8]]) -> bool {
    let last = bytes.last();
    marks.iter().any(|mark| mark.last() == last && bytes.ends_with(mark))
}

/// Length of the run of `byte` at the start.
pub(super) fn run(bytes: &[u8], byte: u8) -> usize {
    bytes.iter().take_while(|other| **other == byte).count()
}

/// The first blank-separated word and the rest behind the blanks.
pub(super) fn word(bytes: &[u8]) -> (&[u8], &[u8]) {
    let end = bytes.iter().take(4096).position(u8::is_ascii_whitespace).unwrap_or(bytes.len());
    let (head, rest) = bytes.split_at_checked(end).unwrap_or((bytes, b""));
    (head, rest.trim_ascii_start())
}

/// `path:12` at the start: the path and what follows the number. A drive letter is part of the path.
pub(super) fn place(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    if !bytes.first().is_some_and(|byte| {
        byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'/' | b'_' | b'@' | b'~' | b'<' | b'-' | b'\\')
    }) {
        return None;
    }
    let window = bytes.get(..bytes.len().min(400))?;
    let mut from =
        usize::from(window.get(1) == Some(&b':') && matches!(window.get(2), Some(b'\\' | b'/'))) * 2;
    for _ in 0..3 {
        let at = from + memchr::memchr(b':', window.get(from..)?)?;
        let path = bytes.get(..at)?;
        let rest = bytes.get(at + 1..)?;
        if let Some(rest) = digits(rest)
            && is_path(path)
        {
            return Some((path, rest));
        }
        from = at + 1;
    }
    None
}

/// `path:12:5:` or `path:12:5 `: what follows the second colon or the column.
pub(super) fn place_column(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let (path, rest) = place(bytes)?;
    Some((path, digits(rest.strip_prefix(b":")?)?))
}

/// A name that can be a file: an extension or a directory, no blanks at its ends, nothing of prose.
pub(super) fn is_path(path: &[u8]) -> bool {
    !path.is_empty()
        && path.len() < 300
        && !path.ends_with(b"//")
        && !starts(path, &[b"http://", b"https://", b"file://", b"ssh://", b"git://"])
        && !path.first().is_some_and(|byte| {
            matches!(byte, b' ' | b'\t' | b'"' | b'\'' | b'(' | b'[' | b'{' | b'`' | b'*' | b'#')
        })
        && path.iter().any(|byte| matches!(byte, b'.' | b'/' | b'\\'))
        && !path
            .iter()
            .any(|byte| matches!(byte, b' ' | b'\t' | b'"' | b'\'' | b'`' | b'<' | b'>' | b'|' | b',' | b';'))
}

/// At least `least` hex digits and no other character.
pub(super) fn is_hex(bytes: &[u8], least: usize) -> bool {
    bytes.len() >= least && bytes.iter().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

/// A name of letters, digits, `_`, `-`, `.`.
pub(super) fn is_name(bytes: &[u8]) -> bool {
    !bytes.is_empty()
        && bytes.iter().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.'))
}

#[cfg(test)]
mod tests {
    use super::{place, place_column};

    #[test]
    fn places_in_files() {
        for (line, found) in [
            ("src/a.rs:12: x", Some(("src/a.rs", ": x"))),
            ("C:\\a\\b.c:3: x", Some(("C:\\a\\b.c", ": x"))),
            ("a:b.txt:7", Some(("a:b.txt", ""))),
            ("at 10:30 we met", None),
            ("note: 12", None),
            ("http://x:80/", None),
            ("", None),
        ] {
            let want = found.map(|(a, b)| (a.as_bytes(), b.as_bytes()));
            assert_eq!(place(line.as_bytes()), want, "{line}");
        }
        assert!(place_column(b"a.c:1:2: error").is_some());
        assert!(place_column(b"a.c:1: error").is_none());
    }
}
