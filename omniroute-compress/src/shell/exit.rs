//! What a result says about success: the exit code a harness wrote around it, and error lines of edit tools.

/// The exit code a harness wrote around an output, if it did.
///
/// Read from a whole line at the end (`[exit code 1]`, `Exit code: 1`, `exit status 1`, …; the last three non-blank
/// lines, trailer lines of a harness apart) or in a header (the first line, or one of the first six above an
/// `Output:` line). Never from within a line, so prose about exit codes is not read.
pub(crate) fn exit_code(text: &str) -> Option<i32> {
    header(text).or_else(|| closing(text))
}

fn header(text: &str) -> Option<i32> {
    let mut lines = text
        .lines()
        .map(str::trim)
        .filter(|line| !line.is_empty())
        .take(8);
    let first = code(lines.next()?, true);
    let (mut found, mut framed) = (None, false);
    for (index, line) in lines.enumerate() {
        framed |= line == "Output:" || line.starts_with("Wall time");
        if index < 5 && found.is_none() {
            found = code(line, true);
        }
    }
    first.or(found.filter(|_| framed))
}

fn closing(text: &str) -> Option<i32> {
    const TRAILERS: [&str; 3] = ["Signal: ", "Background PIDs: ", "Process Group PGID: "];
    let lines = text.lines().rev().map(str::trim).filter(|line| !line.is_empty());
    let lines = lines.filter(|line| !TRAILERS.iter().any(|trailer| line.starts_with(trailer)));
    // A bounded look: a text of many trailers is no trailer.
    lines.take(3).find_map(|line| code(line, false))
}

/// The code in a line that says nothing else.
fn code(line: &str, header: bool) -> Option<i32> {
    const PHRASES: [&str; 5] = [
        "process exited with code",
        "command exited with code",
        "exited with code",
        "exit code",
        "exit status",
    ];
    let inner = [('[', ']'), ('(', ')')]
        .into_iter()
        .find_map(|(open, close)| line.strip_prefix(open)?.strip_suffix(close));
    let line = inner.unwrap_or(line);
    let rest = PHRASES.iter().find_map(|phrase| {
        let (head, rest) = line.split_at_checked(phrase.len())?;
        head.eq_ignore_ascii_case(phrase).then_some(rest)
    })?;
    let number = rest.strip_prefix(':').unwrap_or(rest).strip_prefix(' ')?.trim();
    let number = if header {
        number
    } else {
        number.strip_suffix('.').unwrap_or(number)
    };
    let digits = number.strip_prefix('-').unwrap_or(number);
    (!digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit()))
        .then(|| number.parse().ok())
        .flatten()
}

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
        let length = bytes
            .iter()
            .skip(at)
            .take_while(|byte| byte.is_ascii_alphabetic())
            .count();
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
    let next = |text: &str| {
        rest.get(1..=text.len())
            .is_some_and(|next| next.eq_ignore_ascii_case(text.as_bytes()))
    };
    ends("error") && (matches!(rest.first(), Some(b':' | b'>' | b']')) || line_start && is("error"))
        || is("failed")
        || is("traceback")
        || ends("exception")
        || is("not") && next("found")
        || is("no") && next("match")
}

#[cfg(test)]
mod tests {
    use super::{error_line, exit_code};

    #[test]
    fn exit_codes_are_read_from_the_frame_only() {
        for (text, code) in [
            ("ok\n[exit code 1]", Some(1)),
            ("ok\n[exit code: 101]\n", Some(101)),
            ("a\n\nCommand exited with code 2\n", Some(2)),
            ("Exit code: 0\nWall time: 0.2 seconds\nOutput:\nx\n", Some(0)),
            (
                "Chunk ID: 1\nWall time: 1\nProcess exited with code 127\nOutput:\nx",
                Some(127),
            ),
            ("Exit code 128\nfatal: no", Some(128)),
            (
                "Output: x\nError: (none)\nExit Code: 1\nSignal: 0\nBackground PIDs: (none)\nProcess Group PGID: 5",
                Some(1),
            ),
            ("--- FAIL\nexit status 1\nFAIL\tpkg\t0.1s\n", Some(1)),
            ("(exit code -1)", Some(-1)),
            ("Process exited with code 3.", Some(3)),
            (
                "Exit code: 1\nWall time: 1 s\nOutput:\nmore\n[exit code 2]",
                Some(1),
            ),
            ("see exit code 3 for details", None),
            ("exit code 3\nis described\nin the\nhandbook\nof it", Some(3)),
            ("a\nexit code: 3\nb\nc\nd\ne", None),
            ("exit code: lots", None),
            ("exit code: 99999999999", None),
            ("", None),
        ] {
            assert_eq!(exit_code(text), code, "{text:?}");
        }
    }

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
