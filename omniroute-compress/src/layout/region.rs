//! Finds lines that layout rules must not touch: fences, diffs and patches.

/// Follows a text line by line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Region {
    /// Ordinary text.
    Free,
    /// Inside a fence of that sign and length.
    Fence(u8, usize),
    /// Inside a diff; old and new lines which the hunk header still announces.
    Diff(usize, usize),
}

impl Region {
    /// Takes in the next line (without its line end) and says whether it is
    /// protected. `after` gives the line that follows it.
    #[inline]
    pub(crate) fn protects<'t>(&mut self, line: &[u8], after: impl FnOnce() -> &'t [u8]) -> bool {
        match *self {
            Self::Free => {
                let sign = line.first().copied().unwrap_or(b'\n');
                // Only these bytes can begin a fence or a diff.
                if !matches!(sign, b' ' | b'`' | b'~' | b'd' | b'-' | b'@' | b'I' | b'*' | b'G' | b'0'..=b'9')
                {
                    return false;
                }
                self.begins(line, after)
            }
            Self::Fence(sign, length) => {
                if fence(line).is_some_and(|(s, l, bare)| s == sign && l >= length && bare) {
                    *self = Self::Free;
                }
                true
            }
            Self::Diff(old, new) => self.continues(line, old, new, after),
        }
    }

    fn begins<'t>(&mut self, line: &[u8], after: impl FnOnce() -> &'t [u8]) -> bool {
        if let Some((sign, length, _)) = fence(line) {
            *self = Self::Fence(sign, length);
            return true;
        }
        let begins = match line.first() {
            Some(b'@') => {
                let counts = hunk(line);
                if let Some((old, new)) = counts {
                    *self = Self::Diff(old, new);
                }
                return counts.is_some();
            }
            Some(b'd') => line.starts_with(b"diff -"),
            Some(b'I') => line.starts_with(b"Index: "),
            Some(b'G') => line.starts_with(b"GIT binary patch"),
            Some(b'-') => line.starts_with(b"--- ") && after().starts_with(b"+++ "),
            Some(b'*') => line.starts_with(b"*** ") && after().starts_with(b"--- "),
            Some(b'0'..=b'9') => is_change_command(line),
            _ => false,
        };
        if begins {
            *self = Self::Diff(0, 0);
        }
        begins
    }

    fn continues<'t>(
        &mut self,
        line: &[u8],
        old: usize,
        new: usize,
        after: impl FnOnce() -> &'t [u8],
    ) -> bool {
        let announced = old > 0 || new > 0;
        let (less_old, less_new) = match line.first() {
            Some(b'-') if announced => (1, 0),
            Some(b'+') if announced => (0, 1),
            Some(b' ') | None if announced => (1, 1),
            Some(b'+' | b'-' | b' ' | b'\\' | b'!' | b'<' | b'>') => (0, 0),
            _ if HEADERS.iter().any(|header| line.starts_with(header)) => (0, 0),
            _ => {
                *self = Self::Free;
                return self.protects(line, after);
            }
        };
        *self = match hunk(line) {
            Some((old, new)) => Self::Diff(old, new),
            None => Self::Diff(old.saturating_sub(less_old), new.saturating_sub(less_new)),
        };
        true
    }
}

const HEADERS: &[&[u8]] = &[
    b"@@",
    b"index ",
    b"new file mode ",
    b"deleted file mode ",
    b"old mode ",
    b"new mode ",
    b"similarity index ",
    b"dissimilarity index ",
    b"rename ",
    b"copy ",
    b"Binary files ",
    b"GIT binary patch",
    b"***",
    b"===",
    b"literal ",
    b"delta ",
];

/// Sign, length and whether nothing follows, of a fence line.
pub(crate) fn fence(line: &[u8]) -> Option<(u8, usize, bool)> {
    let body = line.trim_ascii_start();
    let sign = *body.first().filter(|&&b| b == b'`' || b == b'~')?;
    let length = body.iter().take_while(|&&b| b == sign).count();
    let info = &body[length..];
    let fits = length >= 3 && line.len() - body.len() <= 3;
    (fits && (sign == b'~' || !info.contains(&b'`'))).then(|| (sign, length, info.trim_ascii().is_empty()))
}

/// Old and new line counts of `@@ -a,b +c,d @@`; a combined header gives 0, 0.
fn hunk(line: &[u8]) -> Option<(usize, usize)> {
    let Some(ranges) = line.strip_prefix(b"@@ -") else {
        return line.starts_with(b"@@@ -").then_some((0, 0));
    };
    let mut words = ranges.split(|&b| b == b' ');
    let old = count(words.next()?)?;
    let new = count(words.next()?.strip_prefix(b"+")?)?;
    words.next()?.starts_with(b"@@").then_some((old, new))
}

fn count(range: &[u8]) -> Option<usize> {
    let mut parts = range.splitn(2, |&b| b == b',');
    let start = parts.next()?;
    let digits = parts.next().unwrap_or(b"1");
    let numeric =
        |field: &[u8]| !field.is_empty() && field.len() < 10 && field.iter().all(u8::is_ascii_digit);
    (numeric(start) && numeric(digits))
        .then(|| digits.iter().fold(0, |sum, b| sum * 10 + usize::from(b - b'0')))
}

/// True for the commands of a plain diff: `3c3`, `1,2d0`, `5a6,7`.
fn is_change_command(line: &[u8]) -> bool {
    let line = line.trim_ascii_end();
    let Some(at) = line.iter().position(|b| matches!(b, b'a' | b'c' | b'd')) else {
        return false;
    };
    let is_range = |part: &[u8]| {
        part.first().is_some_and(u8::is_ascii_digit)
            && part.last().is_some_and(u8::is_ascii_digit)
            && part.iter().all(|b| b.is_ascii_digit() || *b == b',')
            && part.iter().filter(|b| **b == b',').count() < 2
    };
    is_range(&line[..at]) && is_range(&line[at + 1..])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn marks(text: &str) -> String {
        let lines: Vec<&str> = text.lines().collect();
        let mut region = Region::Free;
        let mark = |(at, line): (usize, &&str)| {
            let next = lines.get(at + 1).map_or(&b""[..], |l| l.as_bytes());
            if region.protects(line.as_bytes(), || next) { 'x' } else { '.' }
        };
        lines.iter().enumerate().map(mark).collect()
    }

    #[test]
    fn fences_and_diffs_are_protected() {
        let rows = [
            ("a\n```rust\nb\n``\n```\nc", ".xxxx."),
            ("~~~~\n~~~\n~~~~ \nc", "xxx."),
            ("    ```\nc", ".."),
            ("``` a`b\nc", ".."),
            ("@@ -1,2 +1,2 @@\n a\n\n\nb", "xxx.."),
            ("@@ -1 +1 @@ fn x\n-a\n+b\ntext", "xxx."),
            ("@@ note\n-a", ".."),
            ("--- a\nb", ".."),
            ("--- a\n+++ b\n@@ -1 +1 @@\n--- x\n+++ y\nz", "xxxxx."),
            ("diff --git a b\nnew file mode 1\nindex 1..2\nz", "xxx."),
            ("diff --cc a\n@@@ -1 -1 +1 @@@\n- a\n", "xxx"),
            ("12d11\n< a\nz", "xx."),
            ("3c3x\n< a", ".."),
        ];
        for (text, expected) in rows {
            assert_eq!(marks(text), expected, "{text:?}");
        }
    }
}
