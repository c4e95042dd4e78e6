//! Lists of changed files, one per line with a letter before it, and how paths are grouped by directory.

use crate::rtk::kit::{Draft, Level, Output, Severity, Verdict, severity};

use super::bytes::is_short;

/// Shorter lists stay as they are.
const MIN: usize = 4;

/// Appends one line per run of paths in one directory: `src/a/: x.rs, y.rs`. `item` writes one of them under the name
/// it is given: the last part of the path in a group, all of it alone.
pub(super) fn groups<'t, R>(
    text: &mut String,
    indent: &str,
    rows: &[R],
    path: impl Fn(&R) -> &'t str,
    mut item: impl FnMut(&mut String, &R, &'t str),
) {
    let mut rest = rows;
    while let Some(first) = rest.first() {
        let dir = directory(path(first));
        let same = |r: &&R| dir.is_some() && directory(path(r)) == dir;
        let count = rest.iter().take_while(same).count().max(1);
        let (run, tail) = rest.split_at(count);
        rest = tail;
        text.push_str(indent);
        let dir = dir.filter(|_| count > 1).unwrap_or("");
        if !dir.is_empty() {
            text.push_str(dir);
            text.push_str(": ");
        }
        for (n, row) in run.iter().enumerate() {
            if n > 0 {
                text.push_str(", ");
            }
            item(text, row, path(row).strip_prefix(dir).unwrap_or(""));
        }
        text.push('\n');
    }
    text.truncate(text.strip_suffix('\n').map_or(text.len(), str::len));
}

/// The directory of a path with its `/`; `None` if the path cannot stand in a group.
fn directory(path: &str) -> Option<&str> {
    let (mut before, mut end) = (0, 0);
    for (i, byte) in path.bytes().enumerate() {
        match byte {
            b'"' | b'\t' => return None,
            // `a, b`, `a: b` and `a => b`.
            b' ' if matches!(before, b',' | b':' | b'>') => return None,
            b'/' => end = i + 1,
            _ => {}
        }
        before = byte;
    }
    if path.is_empty() { None } else { path.get(..end) }
}

/// Marks a list of `M<tab>path` rows that begins at line `at`; the line behind it.
pub(super) fn block(out: &Output<'_>, draft: &mut Draft, at: usize) -> Option<usize> {
    let rows = rows(out, at);
    let end = at + rows.len();
    if rows.len() >= MIN && !is_short(out) && out.level != Level::Minimal {
        draft.insert_with(at, |text| write(text, &rows));
        (at..end).for_each(|i| draft.cover(i));
    }
    (end > at).then_some(end)
}

/// Letters and paths of the `M<tab>path` rows that begin at line `at`.
pub(super) fn rows<'t>(out: &Output<'t>, at: usize) -> Vec<(&'t str, &'t str)> {
    (at..out.len()).map_while(|i| row(out.line(i))).collect()
}

/// Appends rows, grouped by directory.
pub(super) fn write(text: &mut String, rows: &[(&str, &str)]) {
    groups(
        text,
        "",
        rows,
        |r| r.1,
        |text, (letter, _), name| {
            text.push_str(letter);
            text.push(' ');
            text.push_str(name);
        },
    );
}

/// Marks an output that is nothing but paths.
pub(super) fn bare(out: &Output<'_>, draft: &mut Draft) -> Verdict {
    if out.len() >= MIN
        && !is_short(out)
        && out.level != Level::Minimal
        && !out.lines.iter().any(|l| severity(l) == Severity::Error || l.is_empty())
    {
        draft.insert_with(0, |text| write_bare(text, out, 0..out.len()));
        (0..out.len()).for_each(|i| draft.cover(i));
    }
    Verdict::Done
}

/// Appends lines that are paths and nothing else, grouped by directory.
pub(super) fn write_bare(text: &mut String, out: &Output<'_>, lines: std::ops::Range<usize>) {
    let rows: Vec<&str> = lines.map(|i| out.line(i)).collect();
    groups(text, "", &rows, |r| r, |text, _, name| text.push_str(name));
}

/// Letter and path; the two paths of a rename with the tab between them.
fn row(line: &str) -> Option<(&str, &str)> {
    let at = line.bytes().take(5).position(|b| b == b'\t')?;
    let (letter, path) = line.split_at_checked(at)?;
    let path = path.get(1..)?;
    let (first, score) = letter.as_bytes().split_first()?;
    let known = matches!(first, b'A' | b'C' | b'D' | b'M' | b'R' | b'T' | b'U' | b'X' | b'B');
    (known && score.len() <= 3 && score.iter().all(u8::is_ascii_digit) && !path.is_empty())
        .then_some((letter, path))
}
