//! The exit code that a harness writes around a command's output.

/// The exit code a harness wrote around an output, if it did.
///
/// Read from a whole line at the end (`[exit code 1]`, `Exit code: 1`, `exit status 1`, …; the last three non-blank
/// lines, trailer lines of a harness apart) or in a header (the first line, or one of the first six above an
/// `Output:` line). Never from within a line, so prose about exit codes is not read.
pub(crate) fn exit_code(text: &str) -> Option<i32> {
    header(text).or_else(|| closing(text))
}

fn header(text: &str) -> Option<i32> {
    // Blank lines at the ends may be many.
    let mut lines = text.trim_start().lines().map(str::trim).filter(|line| !line.is_empty()).take(8);
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
    let lines = text.trim_end().lines().rev().map(str::trim).filter(|line| !line.is_empty());
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
    let number = if header { number } else { number.strip_suffix('.').unwrap_or(number) };
    let digits = number.strip_prefix('-').unwrap_or(number);
    (!digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit()))
        .then(|| number.parse().ok())
        .flatten()
}

#[cfg(test)]
mod tests {
    use super::exit_code;

    #[test]
    fn exit_codes_are_read_from_the_frame_only() {
        for (text, code) in [
            ("ok\n[exit code 1]", Some(1)),
            ("ok\n[exit code: 101]\n", Some(101)),
            ("a\n\nCommand exited with code 2\n", Some(2)),
            ("Exit code: 0\nWall time: 0.2 seconds\nOutput:\nx\n", Some(0)),
            ("Chunk ID: 1\nWall time: 1\nProcess exited with code 127\nOutput:\nx", Some(127)),
            ("Exit code 128\nfatal: no", Some(128)),
            (
                "Output: x\nError: (none)\nExit Code: 1\nSignal: 0\nBackground PIDs: (none)\nProcess Group PGID: 5",
                Some(1),
            ),
            ("--- FAIL\nexit status 1\nFAIL\tpkg\t0.1s\n", Some(1)),
            ("(exit code -1)", Some(-1)),
            ("Process exited with code 3.", Some(3)),
            ("Exit code: 1\nWall time: 1 s\nOutput:\nmore\n[exit code 2]", Some(1)),
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
}
