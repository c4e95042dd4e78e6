//! What whole lines are: fences, code, tables, headings, diffs, commands, or prose.

use std::ops::Range;

use memchr::memchr;

use super::{Kind, Span};
use crate::layout::fence;
use crate::marker;

/// A line, or several that belong together.
pub(super) enum Part {
    Prose(Range<usize>),
    Blank,
    Protected(Span),
}

/// Words that start a command line when a flag or a path follows.
const COMMANDS: [&[u8]; 40] = [
    b"git",
    b"cd",
    b"ls",
    b"cat",
    b"cp",
    b"mv",
    b"rm",
    b"mkdir",
    b"chmod",
    b"chown",
    b"curl",
    b"wget",
    b"grep",
    b"find",
    b"sed",
    b"awk",
    b"tar",
    b"ssh",
    b"scp",
    b"docker",
    b"kubectl",
    b"helm",
    b"terraform",
    b"npm",
    b"npx",
    b"yarn",
    b"pnpm",
    b"node",
    b"python",
    b"python3",
    b"pip",
    b"cargo",
    b"rustc",
    b"go",
    b"make",
    b"cmake",
    b"sudo",
    b"apt",
    b"brew",
    b"echo",
];

/// Hands the parts of a text to `take`, in order.
pub(super) fn each(bytes: &[u8], take: &mut dyn FnMut(Part)) {
    let mut at = 0;
    let mut after_blank = true;
    let mut in_code = false;
    let mut in_diff = false;
    while at < bytes.len() {
        let end = line_end(bytes, at);
        let line = trim_end(bytes.get(at..end).unwrap_or(&[]));
        let protect = |to: usize, kind| Part::Protected(Span { start: at, end: to, kind });
        let first = line.iter().position(|b| !matches!(b, b' ' | b'\t'));
        let Some(first) = first else {
            in_diff = false;
            after_blank = true;
            take(Part::Blank);
            at = end;
            continue;
        };
        let text = line.get(first..).unwrap_or(&[]);
        if at == 0
            && line == b"---"
            && let Some(to) = frontmatter(bytes, end)
        {
            take(protect(to, Kind::Frontmatter));
            (at, after_blank, in_code) = (to, false, false);
            continue;
        }
        if let Some((mark, count, _)) = fence(line) {
            let to = fence_end(bytes, end, mark, count);
            take(protect(to, Kind::Fence));
            (at, after_blank, in_code, in_diff) = (to, false, false, false);
            continue;
        }
        in_diff = starts_diff(line) || (in_diff && continues_diff(line));
        let indented = line.starts_with(b"    ") || line.first() == Some(&b'\t');
        in_code = indented && (after_blank || in_code);
        after_blank = false;
        let kind = if in_diff {
            Some(Kind::Diff)
        } else if in_code {
            Some(Kind::IndentedCode)
        } else {
            kind_of(text)
        };
        match kind {
            Some(kind) => take(protect(end, kind)),
            None => take(Part::Prose(at..end)),
        }
        at = end;
    }
}

/// First byte of the next line.
pub(crate) fn line_end(bytes: &[u8], at: usize) -> usize {
    memchr(b'\n', bytes.get(at..).unwrap_or(&[])).map_or(bytes.len(), |n| at + n + 1)
}

fn trim_end(mut line: &[u8]) -> &[u8] {
    while let [rest @ .., b'\n' | b'\r' | b' ' | b'\t'] = line {
        line = rest;
    }
    line
}

/// The kind of a single line without its indentation and its end.
fn kind_of(line: &[u8]) -> Option<Kind> {
    let (first, last) = (*line.first()?, *line.last()?);
    match first {
        b'#' if line.starts_with(b"#!") => return Some(Kind::Command),
        b'#' => {
            let marks = line.iter().take_while(|b| **b == b'#').count();
            match line.get(marks) {
                Some(b' ' | b'\t') if marks <= 6 => return Some(Kind::Heading),
                None => return Some(Kind::Heading),
                Some(b'0'..=b'9') => return Some(Kind::StackFrame),
                _ => {}
            }
        }
        b'$' if line.get(1) == Some(&b' ') => return Some(Kind::Command),
        b'>' | b'<' => return Some(Kind::Command),
        b'[' if marker::is_marker(line) => return Some(Kind::Marker),
        b'[' if line.get(1).is_some_and(|b| b.is_ascii_digit() || b.is_ascii_uppercase())
            && !line.contains(&b'(') =>
        {
            return Some(Kind::Command);
        }
        b'-' if line.starts_with(b"-->") => return Some(Kind::StackFrame),
        b'F' if line.starts_with(b"File \"") => return Some(Kind::StackFrame),
        b'a' if line.starts_with(b"at ") && line.contains(&b'(') && line.contains(&b':') => {
            return Some(Kind::StackFrame);
        }
        b'0'..=b'9' if is_stamp(line) => return Some(Kind::Command),
        _ => {}
    }
    if matches!(last, b'{' | b';' | b'\\') {
        return Some(Kind::Command);
    }
    let mut signs = 0;
    for (n, b) in line.iter().enumerate() {
        match b {
            b'|' => return Some(Kind::Table),
            0xE2 if matches!(line.get(n + 1), Some(0x94 | 0x95)) => return Some(Kind::Table),
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b' ' | b'\t' | 0x80.. => {}
            b'`' | b'"' | b'\'' | b'.' | b',' => {}
            _ => signs += 1,
        }
    }
    if signs * 4 >= line.len() && signs > 2 {
        return Some(Kind::Command);
    }
    is_command(line).then_some(Kind::Command)
}

/// A date or a time at the start of a line of a log.
fn is_stamp(line: &[u8]) -> bool {
    let digits = line.iter().take_while(|b| b.is_ascii_digit()).count();
    let sign = line.get(digits);
    let next = line.get(digits + 1).is_some_and(u8::is_ascii_digit);
    next && (matches!((digits, sign), (4, Some(b'-' | b'/'))) || matches!((digits, sign), (2, Some(b':'))))
}

/// A known command with a flag or a path behind it.
fn is_command(line: &[u8]) -> bool {
    let mut words = line.split(|b| *b == b' ').filter(|w| !w.is_empty());
    let Some(first) = words.next() else { return false };
    COMMANDS.contains(&first)
        && words.take(3).any(|w| w.starts_with(b"-") || w.contains(&b'/') || w.starts_with(b"."))
}

/// Behind the closing fence, or the end of the text.
fn fence_end(bytes: &[u8], mut at: usize, mark: u8, count: usize) -> usize {
    while at < bytes.len() {
        let end = line_end(bytes, at);
        let closing = fence(bytes.get(at..end).unwrap_or(&[]));
        if closing.is_some_and(|(other, length, bare)| other == mark && length >= count && bare) {
            return end;
        }
        at = end;
    }
    bytes.len()
}

/// Behind the line that ends the settings, which has to be there within 200 lines.
fn frontmatter(bytes: &[u8], mut at: usize) -> Option<usize> {
    for _ in 0..200 {
        if at >= bytes.len() {
            return None;
        }
        let end = line_end(bytes, at);
        if trim_end(bytes.get(at..end)?) == b"---" {
            return Some(end);
        }
        at = end;
    }
    None
}

fn starts_diff(line: &[u8]) -> bool {
    [b"diff --git ".as_slice(), b"@@ -", b"--- a/", b"+++ b/", b"--- /", b"+++ /", b"Index: "]
        .iter()
        .any(|start| line.starts_with(start))
}

fn continues_diff(line: &[u8]) -> bool {
    matches!(line.first(), Some(b'+' | b'-' | b' ' | b'@' | b'\\' | b'\t'))
        || [b"index ".as_slice(), b"new file", b"deleted file", b"similarity ", b"rename ", b"Binary "]
            .iter()
            .any(|start| line.starts_with(start))
}
