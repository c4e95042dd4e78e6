//! Error lines: whether the result of an edit tool says that the edit failed.

/// True when the result of an edit tool shows that the edit failed.
///
/// Looks for `error:` (also at the end of a longer word), `failed`, `not found`, `no match`, `traceback` and
/// `exception` as words in any case, and for a line that starts with `error`.
pub(crate) fn error_line(text: &str) -> bool {
    let bytes = text.as_bytes();
    let mut line_start = true;
    let mut at = 0;
    while let Some(&byte) = bytes.get(at) {
        if !byte.is_ascii_alphabetic() {
            line_start =
                byte == b'\n' || line_start && matches!(byte, b' ' | b'\t' | b'<' | b'[' | b'*' | b'\r');
            at += 1;
            continue;
        }
        let length = bytes.iter().skip(at).take_while(|byte| byte.is_ascii_alphabetic()).count();
        let word = bytes.get(at..at + length).unwrap_or_default();
        let rest = bytes.get(at + length..).unwrap_or_default();
        if is_error(word, rest, line_start) {
            return true;
        }
        line_start = false;
        at += length;
    }
    false
}

fn is_error(word: &[u8], rest: &[u8], line_start: bool) -> bool {
    let is = |text: &str| word.eq_ignore_ascii_case(text.as_bytes());
    let ends = |text: &str| {
        word.len() >= text.len()
            && word
                .get(word.len() - text.len()..)
                .is_some_and(|end| end.eq_ignore_ascii_case(text.as_bytes()))
    };
    let next =
        |text: &str| rest.get(1..=text.len()).is_some_and(|next| next.eq_ignore_ascii_case(text.as_bytes()));
    ends("error") && (matches!(rest.first(), Some(b':' | b'>' | b']')) || line_start && is("error"))
        || is("failed")
        || is("traceback")
        || ends("exception")
        || is("not") && next("found")
        || is("no") && next("match")
}

#[cfg(test)]
mod tests {
    use super::error_line;

    #[test]
    fn error_lines_of_edit_tools() {
        for (text, error) in [
            ("Error: old_string was not unique", true),
            ("<tool_use_error>String to replace not found in file.", true),
            ("File updated\nValueError: bad", true),
            ("No matches for the pattern", true),
            ("Hunk #2 FAILED at 3", true),
            ("Traceback (most recent call last):", true),
            ("java.io.IOException at x", true),
            ("  error editing the file", true),
            ("The file was updated.\n 12\tlet errors = 0;", false),
            ("Success. Updated the following files:\nM src/error.rs", false),
            ("notfound nomatch", false),
            ("", false),
        ] {
            assert_eq!(error_line(text), error, "{text:?}");
        }
    }
}
