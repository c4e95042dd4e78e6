//! The one grammar of everything we leave in a text instead of something else.
//!
//! A marker is one line of ASCII in square brackets that a model understands without instructions:
//!
//! ```text
//! [unchanged: identical to <source> above (<n> lines)]
//! [same as <source> above, lines <a>-<b>, <n> lines omitted]
//! [<n> rows] <columns>
//! [CCR retrieve hash=<24 hex digits> chars=<n>]
//! [ionizer: kept <k>/<n> rows; ...]
//! [omitted: <n> lines, ...]
//! [older read of <path>, <n> lines: superseded by a later read below]
//! [summary of <n> earlier messages: ...]
//! [rtk: ...]
//! ```

/// How marker lines start, apart from `[<n> rows] `.
const STARTS: [&[u8]; 8] = [
    b"unchanged: ",
    b"same as ",
    b"CCR retrieve ",
    b"ionizer: ",
    b"omitted: ",
    b"older read of ",
    b"summary of ",
    b"rtk: ",
];

/// Whether a line of `text` is one of our markers. Such a text has been through here and is left alone.
pub(crate) fn contains(text: &str) -> bool {
    let bytes = text.as_bytes();
    memchr::memchr_iter(b'[', bytes).any(|at| {
        let line_start = at == 0 || bytes.get(at - 1) == Some(&b'\n') || after_table_number(bytes, at);
        line_start && bytes.get(at + 1..).is_some_and(starts)
    })
}

/// Whether `line` is a marker.
pub(crate) fn is_marker(line: &[u8]) -> bool {
    line.strip_prefix(b"[").is_some_and(starts)
}

/// `@3 [12 rows] ...`: a table inside a document is numbered. Looks back a few bytes only.
fn after_table_number(bytes: &[u8], bracket: usize) -> bool {
    let tail = bytes.get(bracket.saturating_sub(12)..bracket).unwrap_or(&[]);
    match tail.rsplit(|b| *b == b'\n').next() {
        Some([b'@', digits @ .., b' ']) => !digits.is_empty() && digits.iter().all(u8::is_ascii_digit),
        _ => false,
    }
}

fn starts(rest: &[u8]) -> bool {
    if STARTS.iter().any(|s| rest.starts_with(s)) {
        return true;
    }
    let digits = rest.iter().take(20).take_while(|b| b.is_ascii_digit()).count();
    digits > 0 && rest.get(digits..).is_some_and(|r| r.starts_with(b" rows] "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_markers_at_line_starts_only() {
        for text in [
            "[unchanged: identical to read a.rs above (3 lines)]",
            "x\n[same as bash ls above, lines 1-9, 7 lines omitted]\ny",
            "[8 rows] id:n\n1",
            "{\"items\":@1}\n@1 [240 rows] id:n",
            "[CCR retrieve hash=0 chars=1]",
            "[older read of src/a.rs, 60 lines: superseded by a later read below]",
        ] {
            assert!(contains(text), "{text}");
        }
        for text in
            ["see [same as above]", "[rows]", "[1, 2]", "[12 rows affected]", "[info] done", "a [8 rows] b"]
        {
            assert!(!contains(text), "{text}");
        }
    }
}
