//! Code frames that JavaScript runners print under a failure: of the source lines around the place, only the marked one
//! says something that the place does not.

use std::ops::Range;

use super::lines::{indent, is_number};
use crate::rtk::kit::{Draft, Level, Output};

/// Leaves out the source lines around the marked line of every code frame in `range`, and the caret under it: the
/// column stands in the stack frame. At minimal all stay.
pub(crate) fn fold_code(out: &Output<'_>, draft: &mut Draft, range: Range<usize>) {
    if out.level == Level::Minimal {
        return;
    }
    let mut i = range.start;
    while i < range.end {
        let end = (i..range.end).find(|j| code(out.line(*j)).is_none()).unwrap_or(range.end);
        if end - i >= 2 {
            frame(out, draft, i..end);
        }
        i = end.max(i + 1);
    }
}

/// A line of a code frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Code {
    /// `  3 | text` or `  3| text`.
    Line,
    /// `> 3 | text`.
    Marked,
    /// `    |   ^`.
    Caret,
}

fn code(line: &str) -> Option<Code> {
    let (before, after) = line.split_once('|')?;
    if indent(line) < 4 {
        return None;
    }
    let number = before.trim();
    if number.is_empty() {
        let marks = after.trim();
        return if !marks.is_empty() && marks.bytes().all(|b| matches!(b, b'^' | b'~')) {
            Some(Code::Caret)
        } else {
            None
        };
    }
    match number.strip_prefix('>') {
        Some(rest) if is_number(rest.trim()) => Some(Code::Marked),
        None if is_number(number) => Some(Code::Line),
        _ => None,
    }
}

fn frame(out: &Output<'_>, draft: &mut Draft, range: Range<usize>) {
    let kinds: Vec<Option<Code>> = range.clone().map(|i| code(out.line(i))).collect();
    let caret = kinds.iter().position(|k| *k == Some(Code::Caret));
    let marked =
        kinds.iter().position(|k| *k == Some(Code::Marked)).or_else(|| caret.and_then(|c| c.checked_sub(1)));
    let Some(marked) = marked else { return };
    for (n, i) in range.enumerate() {
        if n != marked {
            draft.noise(i);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_marked_line_stays() {
        for (text, kept) in [
            (
                "      2 | a\n    > 3 | b\n        | ^\n      4 | c\n\n      at x\n",
                vec!["    > 3 | b", "", "      at x"],
            ),
            ("      3| a\n      4| b\n       |   ^\n      5| c\n", vec!["      4| b"]),
            ("      3 | a\n      4 | b\n", vec!["      3 | a", "      4 | b"]),
            ("a | b\n    x | y\n", vec!["a | b", "    x | y"]),
        ] {
            let out = Output::new(text, Level::Standard);
            let mut draft = Draft::new(out.len());
            fold_code(&out, &mut draft, 0..out.len());
            let left: Vec<&str> = (0..out.len()).filter(|i| draft.stays(*i)).map(|i| out.line(i)).collect();
            assert_eq!(left, kept);
        }
    }
}
