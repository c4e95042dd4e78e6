//! Lines of a text and what can be told from one line alone.

/// A line: offsets of its start, of the end of its content, of its line end
/// and of the next line.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Line {
    pub(crate) start: usize,
    pub(crate) content: usize,
    pub(crate) end: usize,
    pub(crate) next: usize,
}

/// The line at `start`; its content ends where its line end begins.
#[inline]
pub(crate) fn line_at(bytes: &[u8], start: usize) -> Line {
    let rest = &bytes[start..];
    let Some(feed) = memchr::memchr(b'\n', rest) else {
        let end = bytes.len();
        return Line { start, content: end, end, next: end };
    };
    let mut end = start + feed;
    while end > start && bytes[end - 1] == b'\r' {
        end -= 1;
    }
    Line { start, content: end, end, next: start + feed + 1 }
}

impl Line {
    /// True for `\n` and `\r\n`.
    pub(crate) fn has_usual_end(&self) -> bool {
        matches!(self.next - self.end, 1 | 2)
    }

    /// The same line with its content ending before trailing blanks, unless
    /// that would join them to a carriage return.
    #[inline]
    pub(crate) fn trimmed(mut self, bytes: &[u8]) -> Self {
        if !self.has_usual_end() {
            return self;
        }
        let mut content = self.end;
        while content > self.start && matches!(bytes[content - 1], b' ' | b'\t') {
            content -= 1;
        }
        if content == self.start || bytes[content - 1] != b'\r' {
            self.content = content;
        }
        self
    }
}

/// True when the content already ends in ` (x<digits>)`.
pub(crate) fn has_count(content: &[u8]) -> bool {
    let Some(head) = content.strip_suffix(b")") else {
        return false;
    };
    let digits = head.iter().rev().take_while(|b| b.is_ascii_digit()).count();
    digits > 0 && head[..head.len() - digits].ends_with(b" (x")
}

/// True when the line looks like a part of a JSON text.
pub(crate) fn is_json(content: &[u8]) -> bool {
    let body = content.trim_ascii();
    let body = body.strip_suffix(b",").unwrap_or(body);
    match body {
        [] => content.contains(&b','),
        [b'{' | b'}' | b']' | b'"', ..] | b"true" | b"false" | b"null" | b"[" => true,
        [b'[', rest @ ..] => {
            let first = rest.trim_ascii_start().first();
            matches!(first, Some(b'[' | b'{' | b'"' | b']' | b'-' | b'0'..=b'9' | b't' | b'f' | b'n'))
                && matches!(body.last(), Some(b']' | b'}' | b'[' | b'{' | b'"'))
        }
        _ => {
            body.iter().all(|b| b.is_ascii_digit() || matches!(b, b'-' | b'+' | b'.' | b'e' | b'E'))
                && body.iter().any(u8::is_ascii_digit)
        }
    }
}

/// True when the text has headings, lists, quotes, fences or links.
pub(crate) fn has_markdown(text: &str) -> bool {
    text.contains("](")
        || text.lines().any(|line| {
            let line = line.trim_start();
            let rest = line.trim_start_matches('#');
            let heading = (1..=6).contains(&(line.len() - rest.len())) && begins_word(rest);
            let listed = line.strip_prefix(['-', '*', '>']).is_some_and(begins_word);
            heading || listed || line.starts_with("```")
        })
}

fn begins_word(rest: &str) -> bool {
    rest.starts_with(' ') && !rest.trim().is_empty()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn knows_json_lines() {
        for line in ["{", "  },", "\"a\": 1,", "0,", " -1.5e3", "null,", "[1, 2]", "[", "[{\"a\":1}],"] {
            assert!(is_json(line.as_bytes()), "{line}");
        }
        for line in ["[INFO] x", "[1/3] build", "retry", "--", "a,", ".."] {
            assert!(!is_json(line.as_bytes()), "{line}");
        }
    }

    #[test]
    fn knows_counts_and_markdown() {
        assert!(has_count(b"a (x12)"));
        assert!(!has_count(b"a (x)") && !has_count(b"a(x1)") && !has_count(b"a (x1) "));
        assert!(has_markdown("x\n## T\n") && has_markdown("- a") && has_markdown("[a](b)"));
        assert!(!has_markdown("#!/bin/sh\n-x\nplain\n# \n"));
    }
}
