//! Finds the document in a text: the whole text, JSON Lines, or one document on whole lines.
//!
//! A fenced block needs no rule of its own: its document stands on whole lines between the fences.

use std::ops::Range;

use omniroute_core::{Doc, DocError, Rule};

use super::Refusal;
use super::json::{byte, is_space, part, space};

/// A document that has been checked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Found {
    /// Bytes of the text that hold it, without white space around.
    pub(crate) place: Range<usize>,
    /// It is a sequence of objects, one a line.
    pub(crate) lines: bool,
}

/// Markers of ours that may stand anywhere in a line.
const MARKERS: [&[u8]; 5] = [b"[same as ", b"[unchanged: ", b"[CCR retrieve ", b"[ionizer: ", b"[omitted: "];

/// Whether the text already holds one of our markers.
pub(crate) fn has_marker(text: &str) -> bool {
    let b = text.as_bytes();
    memchr::memchr_iter(b'[', b).any(|at| {
        let rest = part(b, at, b.len());
        MARKERS.iter().any(|marker| rest.starts_with(marker)) || (is_count(rest) && starts_table(part(b, 0, at)))
    })
}

/// `[N rows] `
fn is_count(rest: &[u8]) -> bool {
    let digits = part(rest, 1, rest.len()).iter().take(10).take_while(|c| c.is_ascii_digit()).count();
    digits > 0 && part(rest, digits + 1, rest.len()).starts_with(b" rows] ")
}

/// Whether `before` ends where a line begins, or with the `@k ` of a table.
fn starts_table(before: &[u8]) -> bool {
    let tail = part(before, before.len().saturating_sub(12), before.len());
    match tail.rsplit(|c| *c == b'\n').next().unwrap_or(&[]) {
        [] => true,
        [b'@', digits @ .., b' '] => !digits.is_empty() && digits.iter().all(u8::is_ascii_digit),
        _ => false,
    }
}

/// Finds the document. `min_chars`: smaller ones inside other output are passed over.
///
/// Work is bounded: embedded candidates may cost at most four times the text.
///
/// # Errors
/// [`Refusal::NotJson`], [`Refusal::Surrogate`], [`Refusal::TooDeep`].
pub(crate) fn locate(text: &str, min_chars: usize) -> Result<Found, Refusal> {
    let b = text.as_bytes();
    let whole = trim(b, 0..b.len());
    if !matches!(byte(b, whole.start), b'{' | b'[') {
        return embedded(text, min_chars);
    }
    match check(text, whole.clone()) {
        Ok(()) => Ok(Found { place: whole, lines: false }),
        Err(error) => match error.rule() {
            Rule::Surrogate => Err(Refusal::Surrogate),
            Rule::Depth => Err(Refusal::TooDeep),
            Rule::Trailing if is_lines(text, &whole) => Ok(Found { place: whole, lines: true }),
            _ => embedded(text, min_chars),
        },
    }
}

/// Checks the document at `range`. Its ends lie at ASCII bytes or at the ends of the text.
fn check(text: &str, range: Range<usize>) -> Result<(), DocError> {
    Doc::check(text.get(range).unwrap_or(""))
}

fn trim(b: &[u8], range: Range<usize>) -> Range<usize> {
    let start = space(b, range.start).min(range.end);
    let mut end = range.end;
    while end > start && is_space(byte(b, end - 1)) {
        end -= 1;
    }
    start..end
}

/// Whether every line that is not blank is one object.
fn is_lines(text: &str, whole: &Range<usize>) -> bool {
    let b = text.as_bytes();
    let mut at = whole.start;
    while at < whole.end {
        let end = memchr::memchr(b'\n', part(b, at, whole.end)).map_or(whole.end, |p| at + p);
        let line = trim(b, at..end);
        if !line.is_empty() && (byte(b, line.start) != b'{' || check(text, line).is_err()) {
            return false;
        }
        at = end + 1;
    }
    true
}

/// The largest document that fills whole lines of other output.
fn embedded(text: &str, min_chars: usize) -> Result<Found, Refusal> {
    let b = text.as_bytes();
    let mut budget = 4 * b.len() + 4096;
    let mut best = 0..0;
    let mut line = 0;
    // A larger document cannot fit into what is left.
    while b.len() - line > best.len().max(min_chars) {
        let end = memchr::memchr(b'\n', part(b, line, b.len())).map_or(b.len(), |p| line + p);
        let start = space(b, line);
        let mut next = end + 1;
        if start < end && matches!(byte(b, start), b'{' | b'[') {
            let (value_end, cost) = value_end(text, start);
            budget = budget.saturating_sub(cost + 64);
            if budget == 0 {
                break;
            }
            if let Some(value_end) = value_end {
                let tail = memchr::memchr(b'\n', part(b, value_end, b.len())).map_or(b.len(), |p| value_end + p);
                if trim(b, value_end..tail).is_empty() {
                    if value_end - start > best.len() {
                        best = start..value_end;
                    }
                    next = tail + 1;
                }
            }
        }
        if next > b.len() {
            break;
        }
        line = next;
    }
    if best.is_empty() || best.len() < min_chars {
        return Err(Refusal::NotJson);
    }
    Ok(Found { place: best, lines: false })
}

/// End of the JSON value that starts at `start`, if there is one, and the bytes looked at.
fn value_end(text: &str, start: usize) -> (Option<usize>, usize) {
    match check(text, start..text.len()) {
        Ok(()) => (Some(trim(text.as_bytes(), start..text.len()).end), text.len() - start),
        Err(error) => {
            let end = trim(text.as_bytes(), start..start + error.offset()).end;
            ((error.rule() == Rule::Trailing).then_some(end), error.offset())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markers() {
        for yes in [
            "[8 rows] a:n",
            "x\n[8 rows] a:n",
            "{\"a\":@1}\n@1 [8 rows] a:n",
            "a [same as bash ls above, lines 1-2, 2 lines omitted]",
            "[CCR retrieve hash=0 chars=1]",
            "[\"[omitted: 3 lines, 20 chars, not recoverable]\"]",
        ] {
            assert!(has_marker(yes), "{yes}");
        }
        for no in ["", "[8 rows]", "x [8 rows] a:n", "[\"[8 rows] a:n\"]", "[same] [CCR]", "[rows] ", "[ rows] "] {
            assert!(!has_marker(no), "{no}");
        }
    }

    #[test]
    fn places() {
        for (text, expected) in [
            (" [1, 2]\n", Ok(("[1, 2]", false))),
            ("{\"a\":1}\n\n {\"a\":2}\r\n", Ok(("{\"a\":1}\n\n {\"a\":2}", true))),
            ("< HTTP/1.1 200 OK\n<\n{\"a\": [1,\n2]}\nbye", Ok(("{\"a\": [1,\n2]}", false))),
            ("see\n```json\n[1,2]\n```\nend", Ok(("[1,2]", false))),
            ("[1] x\n[1,\n2]\n[3]", Ok(("[1,\n2]", false))),
            ("[2024-01-01] log\n  {\"a\":1}  \n", Ok(("{\"a\":1}", false))),
            ("{\"a\":1}\n{\"a\":\n", Ok(("{\"a\":1}", false))),
            ("{\"a\": 1} trailing", Err(Refusal::NotJson)),
            ("text", Err(Refusal::NotJson)),
            ("", Err(Refusal::NotJson)),
            ("{\"a\":\"\\ud800\"}", Err(Refusal::Surrogate)),
            (&"[".repeat(200), Err(Refusal::TooDeep)),
        ] {
            let found = locate(text, 1);
            let shown = found.map(|f| (text.get(f.place).unwrap().to_owned(), f.lines));
            assert_eq!(shown, expected.map(|(t, l): (&str, bool)| (t.to_owned(), l)), "{text:?}");
        }
    }

    #[test]
    fn many_openings_are_bounded_work() {
        // Each line opens something that never closes: without the budget this is quadratic.
        let text = format!("x\n{}", "[\"a\",\n".repeat(200_000));
        assert_eq!(locate(&text, 1), Err(Refusal::NotJson));
        let text = format!("x\n{}", "{\"a\":\n".repeat(200_000));
        assert_eq!(locate(&text, 1), Err(Refusal::NotJson));
    }
}
