//! Finds the document in a text: the whole text, JSON Lines, or the largest of both on whole lines.
//!
//! A fenced block needs no rule of its own: its document stands on whole lines between the fences.

use std::ops::Range;

use omniroute_core::{Doc, DocError, Rule};

use super::json::{byte, is_space, part, space};
use super::{Options, Refusal};

/// A document that has been checked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Found {
    /// Bytes of the text that hold it, without white space around.
    pub(crate) place: Range<usize>,
    /// It is a sequence of objects, one a line.
    pub(crate) lines: bool,
}

/// Finds the document. Inside other output, smaller ones than `min_chars` are passed over.
///
/// Work is bounded: embedded candidates may cost at most four times the text.
///
/// # Errors
/// [`Refusal::NotJson`], [`Refusal::Surrogate`], [`Refusal::TooDeep`].
pub(crate) fn locate(text: &str, options: &Options) -> Result<Found, Refusal> {
    let b = text.as_bytes();
    let whole = trim(b, 0..b.len());
    if !matches!(byte(b, whole.start), b'{' | b'[') {
        return embedded(text, options);
    }
    match check(text, whole.clone()) {
        Ok(()) => Ok(Found { place: whole, lines: false }),
        Err(error) => match error.rule() {
            Rule::Surrogate => Err(Refusal::Surrogate),
            Rule::Depth => Err(Refusal::TooDeep),
            Rule::Trailing if is_lines(text, &whole) => Ok(Found { place: whole, lines: true }),
            _ => embedded(text, options),
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

/// The largest document that fills whole lines of other output: one value, or objects on lines that
/// follow each other.
fn embedded(text: &str, options: &Options) -> Result<Found, Refusal> {
    let b = text.as_bytes();
    let line_end = |at: usize| memchr::memchr(b'\n', part(b, at, b.len())).map_or(b.len(), |p| at + p);
    let mut budget = 4 * b.len() + 4096;
    let mut best = Found { place: 0..0, lines: false };
    let (mut run, mut run_rows) = (0..0, 0u32);
    let mut line = 0;
    // What is left, with the open run, must be able to beat the best.
    while b.len() > best.place.len().max(options.min_chars) + if run_rows > 0 { run.start } else { line } {
        let end = line_end(line);
        let start = space(b, line);
        let mut next = end + 1;
        let mut run_goes_on = false;
        if start < end && matches!(byte(b, start), b'{' | b'[') {
            let (value_end, cost) = value_end(text, start);
            budget = budget.saturating_sub(cost + 64);
            if budget == 0 {
                break;
            }
            let tail = value_end.map(line_end);
            if let (Some(value_end), Some(tail)) = (value_end, tail)
                && trim(b, value_end..tail).is_empty()
            {
                next = tail + 1;
                run_goes_on = byte(b, start) == b'{' && tail == end;
                if value_end - start > best.place.len() {
                    best = Found { place: start..value_end, lines: false };
                }
                if run_goes_on {
                    run = if run_rows > 0 { run.start..value_end } else { start..value_end };
                    run_rows += 1;
                    if run_rows >= options.min_rows && run.len() > best.place.len() {
                        best = Found { place: run.clone(), lines: true };
                    }
                }
            }
        }
        if !run_goes_on {
            run_rows = 0;
        }
        if next > b.len() {
            break;
        }
        line = next;
    }
    if best.place.is_empty() || best.place.len() < options.min_chars {
        return Err(Refusal::NotJson);
    }
    Ok(best)
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

    fn all() -> Options {
        Options { min_chars: 1, min_rows: 2, ..Options::default() }
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
            ("$ cat log\n{\"a\":1}\n{\"a\":2}\n[exit code 0]", Ok(("{\"a\":1}\n{\"a\":2}", true))),
            ("$ cat log\n{\"a\":1}\n\n{\"a\":22}\n", Ok(("{\"a\":22}", false))),
            ("{\"a\": 1} trailing", Err(Refusal::NotJson)),
            ("text", Err(Refusal::NotJson)),
            ("", Err(Refusal::NotJson)),
            ("{\"a\":\"\\ud800\"}", Err(Refusal::Surrogate)),
            (&"[".repeat(200), Err(Refusal::TooDeep)),
        ] {
            let found = locate(text, &all());
            let shown = found.map(|f| (text.get(f.place).unwrap().to_owned(), f.lines));
            assert_eq!(shown, expected.map(|(t, l): (&str, bool)| (t.to_owned(), l)), "{text:?}");
        }
    }

    #[test]
    fn many_openings_are_bounded_work() {
        // Each line opens something that never closes: without the budget this is quadratic.
        let text = format!("x\n{}", "[\"a\",\n".repeat(200_000));
        assert_eq!(locate(&text, &all()), Err(Refusal::NotJson));
        let text = format!("x\n{}", "{\"a\":\n".repeat(200_000));
        assert_eq!(locate(&text, &all()), Err(Refusal::NotJson));
    }
}
