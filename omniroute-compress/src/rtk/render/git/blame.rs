//! `git blame`: who and when once per commit, then only its hash; nothing for the next lines of the same commit.

use std::collections::HashMap;

use crate::rtk::kit::{Draft, Level, Output, Severity, Verdict, severity};

use super::bytes::{hex_len, split, squeeze};

/// One line of the default format.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Row<'t> {
    /// Hash with its `^`.
    sha: &'t str,
    /// The file where the line came from, if it is shown.
    path: &'t str,
    /// Who and when.
    origin: &'t str,
    /// Number and text: `12) code`.
    code: &'t str,
}

/// Renders `git blame` and `git annotate` in their default form; the machine formats stay.
pub(super) fn render(out: &Output<'_>, draft: &mut Draft) -> Verdict {
    if !out.lines.iter().any(|l| row(l).is_some()) {
        return Verdict::NotMine;
    }
    let mut known: HashMap<&str, (&str, &str)> = HashMap::new();
    let mut before: Option<Row<'_>> = None;
    for i in 0..out.len() {
        let row = row(out.line(i)).filter(|_| out.level != Level::Minimal);
        let Some(row) = row else {
            draft.pin(i);
            before = None;
            continue;
        };
        let same = before.is_some_and(|b| (b.sha, b.path, b.origin) == (row.sha, row.path, row.origin));
        let told = known.insert(row.sha, (row.path, row.origin)) == Some((row.path, row.origin));
        let (same, told) = if stands_alone(row.code) { (false, false) } else { (same, told) };
        draft.insert_with(i, |text| {
            if !same {
                text.push_str(row.sha);
                if !told {
                    text.push(' ');
                    if !row.path.is_empty() {
                        text.push_str(row.path);
                        text.push(' ');
                    }
                    text.push('(');
                    squeeze(text, row.origin);
                }
            }
            text.push(' ');
            text.push_str(row.code.trim_end());
        });
        draft.cover(i);
        before = Some(row);
    }
    Verdict::Done
}

/// Whether a line may be searched for by itself: it tells of an error, or names one thing after another.
fn stands_alone(code: &str) -> bool {
    code.contains("->") || code.contains("up-to-date") || severity(code) != Severity::None
}

/// Reads `^9d1e619 path (A U Thor 2016-02-27 11:07:26 -0500  12) code`.
fn row(line: &str) -> Option<Row<'_>> {
    let mark = usize::from(line.starts_with('^'));
    let len = mark + hex_len(line.as_bytes().get(mark..)?);
    let (sha, rest) = split(line, len)?;
    if len - mark < 7 {
        return None;
    }
    let (path, rest) = rest.strip_prefix(' ')?.split_once('(')?;
    let bytes = rest.as_bytes();
    let mut at = 0;
    loop {
        at += memchr::memchr(b')', bytes.get(at..)?)?;
        let digits = bytes.get(..at)?.iter().rev().take_while(|b| b.is_ascii_digit()).count();
        let start = at - digits;
        if digits > 0
            && start > 1
            && bytes.get(start - 1) == Some(&b' ')
            && matches!(bytes.get(at + 1), Some(b' ') | None)
        {
            let (origin, code) = split(rest, start)?;
            return Some(Row { sha, path: path.trim(), origin: origin.trim(), code });
        }
        at += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rtk::kit::assemble;

    fn shown(text: &str) -> String {
        let out = Output::new(text, Level::Standard);
        let mut draft = Draft::new(out.len());
        assert_eq!(render(&out, &mut draft), Verdict::Done);
        assemble(&out, &mut draft, &mut || None).text
    }

    #[test]
    fn tells_every_origin_once() {
        let text = "^9d1e619 (A B (x)    2016-02-27 11:07:26 -0500   1) [package]\n\
            ^9d1e619 (A B (x)    2016-02-27 11:07:26 -0500   2)   name(1) x\n\
            a744ec13 old/x.rs (C  2016-09-08 16:15:44 -0400   3)\n\
            ^9d1e619 (A B (x)    2016-02-27 11:07:26 -0500   4) end\n\
            a744ec13 new/x.rs (C  2016-09-08 16:15:44 -0400   5) }\n";
        let expected = "^9d1e619 (A B (x) 2016-02-27 11:07:26 -0500 1) [package]\n 2)   name(1) x\n\
            a744ec13 old/x.rs (C 2016-09-08 16:15:44 -0400 3)\n^9d1e619 4) end\n\
            a744ec13 new/x.rs (C 2016-09-08 16:15:44 -0400 5) }\n";
        assert_eq!(shown(text), expected);
        assert_eq!(shown(expected), expected);
    }

    #[test]
    fn leaves_other_text_alone() {
        for line in ["", "abc (x 1) y", "0123456 (x) y", "deadbeef (x1) y", "fatal: no such path"] {
            assert_eq!(row(line), None, "{line}");
        }
    }
}
