//! Finding the end of quotes, substitutions and heredocs: one pass with an explicit stack, no recursion.

/// Where a nested construct ended and whether its end was there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct End {
    /// Index of the first byte behind it (the length of the text when it never ends).
    pub(crate) at: usize,
    /// False when the text stopped first.
    pub(crate) closed: bool,
}

/// What kind of text is being skipped.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Inside {
    Command,
    Arithmetic,
    Double,
    Backtick,
    Parameter { quoted: bool },
}

/// A heredoc that was announced and whose body starts at the next line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Announced {
    delimiter: Vec<u8>,
    strip_tabs: bool,
}

/// Skips the construct that opens at `start`: `(`, `$(`, `$((`, `<(`, `${`, a backtick or a double quote.
pub(crate) fn skip(bytes: &[u8], start: usize) -> End {
    let mut stack = Vec::new();
    let mut at = open(bytes, start, &mut stack);
    let mut heredocs: Vec<Announced> = Vec::new();
    while let (Some(&inside), Some(&byte)) = (stack.last(), bytes.get(at)) {
        let quoting =
            matches!(inside, Inside::Command | Inside::Arithmetic | Inside::Parameter { quoted: false });
        match (inside, byte) {
            (_, b'\\') => at += 2,
            (Inside::Backtick, b'`') | (Inside::Double, b'"') | (Inside::Parameter { .. }, b'}') => {
                stack.pop();
                at += 1;
            }
            (Inside::Backtick, _) => at += 1,
            (Inside::Command | Inside::Arithmetic, b')') => {
                stack.pop();
                at += 1;
            }
            (_, b'\'') if quoting => match single(bytes, at) {
                End { at: end, closed: true } => at = end,
                end => return end,
            },
            (Inside::Command, b'#') if starts_word(bytes, at) => at = line_end(bytes, at),
            (Inside::Command, b'<') if bytes.get(at + 1) == Some(&b'<') => {
                if bytes.get(at + 2) == Some(&b'<') {
                    at += 3;
                } else {
                    let (announced, end) = announce(bytes, at + 2);
                    heredocs.push(announced);
                    at = end;
                }
            }
            (Inside::Command, b'\n') => {
                at += 1;
                for heredoc in heredocs.drain(..) {
                    let (_, end) = body(bytes, at, &heredoc);
                    if !end.closed {
                        return end;
                    }
                    at = end.at;
                }
            }
            (_, b'"' | b'`') if byte == b'`' || quoting => at = open(bytes, at, &mut stack),
            (_, b'$') if matches!(bytes.get(at + 1), Some(b'(' | b'{')) => at = open(bytes, at, &mut stack),
            (Inside::Command, b'(') => at = open(bytes, at, &mut stack),
            (Inside::Arithmetic, b'(') => {
                stack.push(Inside::Arithmetic);
                at += 1;
            }
            _ => at += 1,
        }
    }
    End { at: at.min(bytes.len()), closed: stack.is_empty() }
}

/// Pushes what opens at `at` and returns the index of its first inner byte.
fn open(bytes: &[u8], at: usize, stack: &mut Vec<Inside>) -> usize {
    let quoted = matches!(stack.last(), Some(Inside::Double | Inside::Parameter { quoted: true }));
    match bytes.get(at) {
        Some(b'"') => stack.push(Inside::Double),
        Some(b'`') => stack.push(Inside::Backtick),
        Some(b'(') => stack.push(Inside::Command),
        _ if bytes.get(at + 1) == Some(&b'{') => {
            stack.push(Inside::Parameter { quoted });
            return at + 2;
        }
        _ if bytes.get(at) == Some(&b'$') && bytes.get(at + 2) == Some(&b'(') => {
            stack.push(Inside::Arithmetic);
            return at + 2;
        }
        _ => {
            stack.push(Inside::Command);
            return at + 2;
        }
    }
    at + 1
}

/// The end of the single-quoted text that opens at `start`.
pub(crate) fn single(bytes: &[u8], start: usize) -> End {
    let rest = bytes.get(start + 1..).unwrap_or_default();
    match rest.iter().position(|byte| *byte == b'\'') {
        Some(offset) => End { at: start + offset + 2, closed: true },
        None => End { at: bytes.len(), closed: false },
    }
}

/// Reads the delimiter behind `<<`; returns it and the index behind it.
pub(crate) fn announce(bytes: &[u8], start: usize) -> (Announced, usize) {
    let strip_tabs = bytes.get(start) == Some(&b'-');
    let mut at = start + usize::from(strip_tabs);
    while matches!(bytes.get(at), Some(b' ' | b'\t')) {
        at += 1;
    }
    let mut delimiter = Vec::new();
    let mut quote = None;
    while let Some(&byte) = bytes.get(at) {
        match (quote, byte) {
            (Some(open), _) if byte == open => quote = None,
            (Some(_), b'\n') => break,
            (Some(_), _) => delimiter.push(byte),
            (None, b'\'' | b'"') => quote = Some(byte),
            (None, b'\\') => {}
            (None, b' ' | b'\t' | b'\r' | b'\n' | b';' | b'&' | b'|' | b'<' | b'>' | b'(' | b')') => break,
            (None, _) => delimiter.push(byte),
        }
        at += 1;
    }
    (Announced { delimiter, strip_tabs }, at)
}

/// The body of a heredoc whose first line starts at `start`: end of the body, and the index behind the delimiter line.
pub(crate) fn body(bytes: &[u8], start: usize, heredoc: &Announced) -> (usize, End) {
    let mut at = start;
    while at < bytes.len() {
        let end = line_end(bytes, at);
        let line = bytes.get(at..end).unwrap_or_default();
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        let tabs =
            if heredoc.strip_tabs { line.iter().take_while(|byte| **byte == b'\t').count() } else { 0 };
        if line.get(tabs..) == Some(heredoc.delimiter.as_slice()) {
            return (at, End { at: (end + 1).min(bytes.len()), closed: true });
        }
        at = end + 1;
    }
    (bytes.len(), End { at: bytes.len(), closed: false })
}

/// Index of the next line feed, or the end.
pub(crate) fn line_end(bytes: &[u8], start: usize) -> usize {
    let rest = bytes.get(start..).unwrap_or_default();
    rest.iter().position(|byte| *byte == b'\n').map_or(bytes.len(), |offset| start + offset)
}

/// True when a `#` at `at` starts a comment.
fn starts_word(bytes: &[u8], at: usize) -> bool {
    at.checked_sub(1)
        .and_then(|before| bytes.get(before))
        .is_none_or(|byte| matches!(byte, b' ' | b'\t' | b'\n' | b';' | b'('))
}

#[cfg(test)]
mod tests {
    use super::{End, skip};

    #[test]
    fn nested_constructs_end_where_the_shell_ends_them() {
        for (text, end, closed) in [
            ("$(a) b", 4, true),
            ("$(a $(b) 'c)' \")\") d", 18, true),
            ("$((1<<2)) x", 9, true),
            ("${a:-$(b})} x", 11, true),
            ("`a \\` b` c", 8, true),
            ("\"a $(echo \")\" ) b\" c", 18, true),
            ("$(cat <<'E'\nit's )\nE\n) x", 22, true),
            ("$(a # don't )\n) x", 15, true),
            ("$(a", 3, false),
            ("$(a '", 5, false),
            ("$(a\\", 4, false),
        ] {
            assert_eq!(skip(text.as_bytes(), 0), End { at: end, closed }, "{text}");
        }
    }
}
