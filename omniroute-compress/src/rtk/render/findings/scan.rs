//! Reading the head of a line: positions (`path:line:col`), rows below a file heading, headings, frames.

/// Where a finding is, and what is said about it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Position<'t> {
    /// The file as the tool wrote it.
    pub(crate) path: &'t str,
    /// The line number.
    pub(crate) line: &'t str,
    /// The column, empty if the tool gave none.
    pub(crate) col: &'t str,
    /// Everything behind the position, without leading blanks.
    pub(crate) rest: &'t str,
    /// Whether ` - ` stands between position and text.
    pub(crate) dashed: bool,
    /// A severity that stands before the position (`C: 12:  5: text`), else empty.
    pub(crate) tag: &'t str,
}

/// Longest file name that is believed to be one.
const MAX_PATH: usize = 400;

/// `path:12:5: text`, `path:12: text`, `path:12:5 text`, `path:12:5 - text`, `path(12,5): text` and
/// `path: line 12, col 5, text`, with or without leading blanks.
pub(crate) fn position(line: &str) -> Option<Position<'_>> {
    let text = line.trim_start();
    let bytes = text.as_bytes();
    let mut at = match bytes {
        [drive, b':', b'\\' | b'/', ..] if drive.is_ascii_alphabetic() => 2,
        _ => 0,
    };
    let window = bytes.len().min(MAX_PATH);
    loop {
        let head = bytes.get(at..window)?;
        at += memchr::memchr3(b':', b'(', b' ', head)?;
        match bytes.get(at..)? {
            [b':', b'0'..=b'9', ..] => return colons(text, at),
            [b'(', b'0'..=b'9', ..] => return parens(text, at),
            [b':', b' ', b'l', ..] => return words(text, at),
            [b' ', ..] => return None,
            _ => at += 1,
        }
    }
}

fn colons(text: &str, at: usize) -> Option<Position<'_>> {
    let path = text.get(..at).filter(|p| is_path(p))?;
    let (line, after) = digits(text.get(at + 1..)?)?;
    let (col, after) = match after.strip_prefix(':').and_then(digits) {
        Some((col, after)) => (col, after),
        None => ("", after),
    };
    // `3:5-9` and `3:5-4:2` are ranges: the start is the position, the rest is left as it is.
    let (rest, dashed) = match after.as_bytes() {
        [b':', b' ' | b'\t', ..] => (after.get(1..)?, false),
        [b' ', b'-', b' ', ..] => (after.get(3..)?, true),
        [b' ' | b'\t', ..] => (after, false),
        _ => return None,
    };
    let rest = rest.trim();
    (!rest.is_empty()).then_some(Position { path, line, col, rest, dashed, tag: "" })
}

fn parens(text: &str, at: usize) -> Option<Position<'_>> {
    let path = text.get(..at).filter(|p| is_path(p))?;
    let (line, after) = digits(text.get(at + 1..)?)?;
    let (col, after) = match after.strip_prefix(',').and_then(digits) {
        Some((col, after)) => (col, after),
        None => ("", after),
    };
    let after = after.strip_prefix(')')?.trim_start();
    let rest = after.strip_prefix(':')?.trim();
    (!rest.is_empty()).then_some(Position { path, line, col, rest, dashed: false, tag: "" })
}

fn words(text: &str, at: usize) -> Option<Position<'_>> {
    let path = text.get(..at).filter(|p| is_path(p))?;
    let (line, after) = digits(text.get(at..)?.strip_prefix(": line ")?)?;
    let (col, after) = digits(after.strip_prefix(", col ")?)?;
    let rest = after.strip_prefix(", ")?.trim();
    (!rest.is_empty()).then_some(Position { path, line, col, rest, dashed: false, tag: "" })
}

/// A number of at most nine digits at the start, and what follows.
pub(crate) fn digits(text: &str) -> Option<(&str, &str)> {
    let len = text.bytes().take_while(u8::is_ascii_digit).count();
    (1..=9).contains(&len).then(|| text.split_at(len))
}

/// A file name: with a dot or a slash in it, or one of the names without; or what stands for the standard input.
pub(crate) fn is_path(path: &str) -> bool {
    let bytes = path.as_bytes();
    let letter = bytes.iter().any(|b| b.is_ascii_alphabetic() || *b >= 0x80);
    let odd = |b: &u8| {
        matches!(b, b'"' | b'\'' | b'`' | b'<' | b'>' | b'{' | b'}' | b'=' | b',' | b';' | b'|' | b'*' | b'!')
    };
    if matches!(path, "-" | "<stdin>" | "stdin") {
        return true;
    }
    if !letter || bytes.iter().any(odd) || path.contains("://") {
        return false;
    }
    let dotted = bytes.iter().rev().skip(1).any(|b| *b == b'.');
    let named = path.len() > 4 && (path.ends_with("file") || path.ends_with("LISTS"));
    dotted || bytes.iter().any(|b| matches!(b, b'/' | b'\\')) || named
}

/// A row below a file heading: `  12:5  error  text`, `  12:5 CODE text`, or `C: 12:  5: text`.
pub(crate) fn row(line: &str) -> Option<Position<'_>> {
    let text = line.trim_start();
    match text.as_bytes() {
        [b'0'..=b'9', ..] if text.len() < line.len() => {
            let (number, after) = digits(text)?;
            let (col, after) = digits(after.strip_prefix(':')?)?;
            let rest = after.strip_prefix([' ', '\t'])?.trim();
            (!rest.is_empty()).then_some(Position {
                path: "",
                line: number,
                col,
                rest,
                dashed: false,
                tag: "",
            })
        }
        [b'C' | b'W' | b'E' | b'F' | b'R' | b'I', b':', b' ', ..] if text.len() == line.len() => {
            let (number, after) = digits(text.get(2..)?.trim_start())?;
            let (col, after) = digits(after.strip_prefix(':')?.trim_start())?;
            let rest = after.strip_prefix(": ")?.trim();
            (!rest.is_empty()).then_some(Position {
                path: "",
                line: number,
                col,
                rest,
                dashed: false,
                tag: text.get(..2)?,
            })
        }
        _ => None,
    }
}

/// A line that is nothing but a file name, perhaps with a colon behind it or `==` around it.
pub(crate) fn heading(line: &str) -> Option<&str> {
    let inner = line.strip_prefix("== ").and_then(|l| l.strip_suffix(" ==")).unwrap_or(line);
    let path = inner.strip_suffix(':').unwrap_or(inner);
    let fits = !path.is_empty() && path.len() <= MAX_PATH && !path.starts_with([' ', '\t', '-', '#', '<']);
    (fits && !path.as_bytes().iter().any(|b| matches!(b, b' ' | b'\t' | b':' | b'(')) && is_path(path))
        .then_some(path)
}

/// `   12 | code`, `      | ^^^`, `12 |`: a line of a code frame with a gutter.
pub(crate) fn is_gutter(line: &str) -> bool {
    let text = line.trim_start();
    let after = text.trim_start_matches(|c: char| c.is_ascii_digit());
    let bar = after.trim_start();
    let is_bar = bar.starts_with('|') || bar.starts_with('\u{2502}') || bar.starts_with('\u{2575}');
    is_bar && (text.len() < line.len() || after.len() < text.len())
}

/// Nothing but `^`, `~`, `-`, `|` and blanks, and at least one of the first two.
pub(crate) fn is_caret(line: &str) -> bool {
    let mut marks = false;
    let all = line.bytes().all(|b| {
        marks |= matches!(b, b'^' | b'~');
        matches!(b, b' ' | b'\t' | b'^' | b'~' | b'-' | b'|')
    });
    marks && all
}

/// Appends `text` with runs of blanks squeezed.
pub(crate) fn squeeze(to: &mut String, text: &str) {
    let mut rest = text.trim();
    while let Some(at) = rest.find([' ', '\t']) {
        let (word, tail) = rest.split_at(at);
        to.push_str(word);
        to.push(' ');
        rest = tail.trim_start();
    }
    to.push_str(rest);
}

/// Whether a line is empty or blank.
pub(crate) fn is_blank(line: &str) -> bool {
    line.bytes().all(|b| b.is_ascii_whitespace())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_of_all_forms() {
        for (text, path, line, col, rest) in [
            ("a/b.py:3:5: E711 x", "a/b.py", "3", "5", "E711 x"),
            ("a.py:3: error: x", "a.py", "3", "", "error: x"),
            ("README.md:3:81 MD013/line-length Line", "README.md", "3", "81", "MD013/line-length Line"),
            ("Dockerfile:3 DL3008 warning: pin", "Dockerfile", "3", "", "DL3008 warning: pin"),
            ("  /a/b.py:3:5 - error: x", "/a/b.py", "3", "5", "error: x"),
            ("src/a.ts(5,21): error TS2322: x", "src/a.ts", "5", "21", "error TS2322: x"),
            ("-:3 DL3008 warning: pin", "-", "3", "", "DL3008 warning: pin"),
            ("C:\\p\\a.cs(5,21): error CS1: x", "C:\\p\\a.cs", "5", "21", "error CS1: x"),
            ("/a.js: line 4, col 2, Error - no (rule)", "/a.js", "4", "2", "Error - no (rule)"),
        ] {
            let found = position(text).expect(text);
            assert_eq!((found.path, found.line, found.col, found.rest), (path, line, col, rest), "{text}");
        }
    }

    #[test]
    fn what_is_no_position() {
        for text in [
            "12:30:45 started",
            "at f (a.js:3:4)",
            "http://h:80/x y",
            "error: x",
            "a.py:3",
            "foo:3: x",
            "see a.py:3: x",
            "",
            ":3: x",
            "a.py:99999999999: x",
            "key=a.b:3: x",
            "\u{e9}",
            "a.py:3:5x: y",
        ] {
            assert_eq!(position(text), None, "{text}");
        }
    }

    #[test]
    fn rows_headings_and_frames() {
        let found = row("  10:7  error  'x' is bad  no-x").expect("a row");
        assert_eq!((found.line, found.col, found.rest), ("10", "7", "error  'x' is bad  no-x"));
        assert_eq!(row("C:  1: 12: [Correctable] A/B: c").map(|p| (p.line, p.col)), Some(("1", "12")));
        assert!(row("10:7 x").is_none() && row("  10:7").is_none());
        assert_eq!(heading("/home/u/a.ts"), Some("/home/u/a.ts"));
        assert_eq!(heading("== lib/a.rb =="), Some("lib/a.rb"));
        assert_eq!(heading("src/a.py:"), Some("src/a.py"));
        assert!(heading("Offenses:").is_none() && heading("two words.x").is_none());
        assert!(
            is_gutter("  12 | x") && is_gutter("     | ^") && is_gutter("3 |") && !is_gutter("| a | b |")
        );
        assert!(is_caret("   ^~~~") && !is_caret("  ---") && !is_caret("  ^ x"));
    }
}
