//! One hunk of a unified or combined diff, read by the counts of its header and never by first characters alone.

use crate::rtk::kit::Output;

use super::super::bytes::number;

/// Lines of one side: number of the first one, and how many.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Side {
    pub(super) start: u64,
    pub(super) count: u64,
}

/// `@@ -1,7 +1,8 @@ section`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Header<'t> {
    pub(super) old: Side,
    pub(super) new: Side,
    /// What stands behind the second `@@`, with its blank.
    pub(super) section: &'t str,
}

/// How the body of a hunk ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum End {
    /// Where its counts said.
    Whole,
    /// With the text.
    Cut,
    /// With a line that cannot be in a hunk, or without any change: no hunk of this format.
    Broken,
}

/// Reads a hunk header.
pub(super) fn header(line: &str) -> Option<Header<'_>> {
    let rest = line.strip_prefix("@@ -")?.as_bytes();
    let (old, rest) = side(rest)?;
    let (new, rest) = side(rest.strip_prefix(b" +")?)?;
    let rest = rest.strip_prefix(b" @@")?;
    let section = line.split_at_checked(line.len() - rest.len())?.1;
    Some(Header { old, new, section })
}

/// The line behind the last line of the hunk whose body begins at `start`.
pub(super) fn body(out: &Output<'_>, start: usize, header: &Header<'_>) -> (usize, End) {
    let (mut old, mut new) = (header.old.count, header.new.count);
    let (mut at, mut changed) = (start, false);
    while old > 0 || new > 0 {
        if at >= out.len() {
            return (at, if changed { End::Cut } else { End::Broken });
        }
        let (from_old, from_new) = match out.line(at).as_bytes().first() {
            Some(b'-') => (1, 0),
            Some(b'+') => (0, 1),
            Some(b' ') | None => (1, 1),
            Some(b'\\') => (0, 0),
            _ => return (at, End::Broken),
        };
        if from_old > old || from_new > new {
            return (at, End::Broken);
        }
        changed |= from_old != from_new;
        old -= from_old;
        new -= from_new;
        at += 1;
    }
    at += usize::from(is_note(out.line(at)));
    (at, if changed { End::Whole } else { End::Broken })
}

/// `\ No newline at end of file`, in any language.
pub(super) fn is_note(line: &str) -> bool {
    line.starts_with("\\ ")
}

/// The line behind the hunk of a combined diff whose header stands at `at`; `None` if there is no such hunk.
pub(super) fn combined(out: &Output<'_>, at: usize) -> Option<usize> {
    let line = out.line(at).as_bytes();
    let parents = line.iter().take_while(|b| **b == b'@').count().checked_sub(1).filter(|n| *n >= 2)?;
    let mut old = Vec::with_capacity(parents.min(64));
    let mut rest = line.get(parents + 1..)?;
    for _ in 0..parents {
        let (side, tail) = side(rest.strip_prefix(b" -")?)?;
        old.push(side.count);
        rest = tail;
    }
    let (new, rest) = side(rest.strip_prefix(b" +")?)?;
    rest.strip_prefix(b" @@")?;
    let mut new = new.count;
    let mut at = at + 1;
    while at < out.len() && (new > 0 || old.iter().any(|n| *n > 0)) {
        let bytes = out.line(at).as_bytes();
        let column = |p: usize| bytes.get(p).copied().unwrap_or(b' ');
        if bytes.first() != Some(&b'\\') {
            let removed = (0..parents).any(|p| column(p) == b'-');
            if (0..parents).any(|p| !matches!(column(p), b'-' | b'+' | b' ')) {
                break;
            }
            for (p, left) in old.iter_mut().enumerate() {
                let there = if removed { column(p) == b'-' } else { column(p) == b' ' };
                *left = left.saturating_sub(u64::from(there));
            }
            new = new.saturating_sub(u64::from(!removed));
        }
        at += 1;
    }
    Some(at + usize::from(is_note(out.line(at))))
}

/// `12,7` or `12`.
fn side(bytes: &[u8]) -> Option<(Side, &[u8])> {
    let (start, rest) = number(bytes)?;
    match rest.strip_prefix(b",") {
        Some(rest) => number(rest).map(|(count, rest)| (Side { start, count }, rest)),
        None => Some((Side { start, count: 1 }, rest)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rtk::kit::Level;

    #[test]
    fn reads_headers() {
        let h = header("@@ -3 +4,0 @@ fn x()").unwrap();
        assert_eq!((h.old.start, h.old.count, h.new.start, h.new.count, h.section), (3, 1, 4, 0, " fn x()"));
        for bad in ["@@ -3 +4,0", "@@@ -1 -1 +1 @@@", "@@ -x +1 @@", "@@ -1,99999999999 +1 @@", ""] {
            assert_eq!(header(bad), None, "{bad}");
        }
    }

    #[test]
    fn counts_decide_where_a_hunk_ends() {
        for (text, expected) in [
            ("@@ -1,2 +1 @@\n a\n--- comment\n--- a/next\n", (3, End::Whole)),
            ("@@ -1 +1,2 @@\n-a\n+b\n+++ c\n+++ d\n", (4, End::Whole)),
            (
                "@@ -1 +1 @@\n-a\n\\ No newline at end of file\n+b\n\\ No newline at end of file\nx",
                (5, End::Whole),
            ),
            ("@@ -1,3 +1,3 @@\n a\n-b\n", (3, End::Cut)),
            ("@@ -1,3 +1,3 @@\n a\nhint: x\n", (2, End::Broken)),
            ("@@ -1,2 +1,2 @@\n a\n b\n", (3, End::Broken)),
            ("@@ -1,2 +1,1 @@\n\n-b\n", (3, End::Whole)),
        ] {
            let out = Output::new(text, Level::Standard);
            assert_eq!(body(&out, 1, &header(out.line(0)).unwrap()), expected, "{text}");
        }
    }

    #[test]
    fn combined_hunks_have_a_column_per_parent() {
        let text = "@@@ -1,3 -1,3 +1,5 @@@ x\n  a\n++<<<<\n +b\n+ c\n- d\n -e\n  f\ndiff --cc y\n";
        let out = Output::new(text, Level::Standard);
        assert_eq!(combined(&out, 0), Some(8));
        assert_eq!(combined(&Output::new("@@ -1 +1 @@\n", Level::Standard), 0), None);
    }
}
