//! The lines of an output while replacements change some of them.

use super::Ready;

/// A line may grow to twice its length and this many bytes by replacements.
const LINE_SLACK: usize = 1_000;
/// All changed lines together may have twice the bytes of the text and this many.
const TEXT_SLACK: usize = 64 << 10;

/// Lines with their changes.
#[derive(Debug)]
pub(crate) struct Lines<'t> {
    original: &'t [&'t str],
    /// Empty until a line is changed.
    changed: Vec<Option<Box<str>>>,
    /// What the gate says of every line; empty if nothing is gated.
    candidates: Vec<bool>,
}

impl<'t> Lines<'t> {
    /// The lines as they are.
    pub(crate) fn new(filter: Ready<'_>, text: &str, original: &'t [&'t str]) -> Lines<'t> {
        Lines { original, changed: Vec::new(), candidates: filter.compiled.candidates(text, original) }
    }

    /// Number of lines.
    pub(crate) fn len(&self) -> usize {
        self.original.len()
    }

    /// The line as it is now.
    pub(crate) fn get(&self, i: usize) -> &str {
        match self.changed.get(i) {
            Some(Some(line)) => line,
            _ => self.original(i),
        }
    }

    /// The line as it came.
    pub(crate) fn original(&self, i: usize) -> &'t str {
        self.original.get(i).copied().unwrap_or("")
    }

    /// Whether a gated pattern may match: the gate saw the line as it came, so a changed line always may.
    pub(crate) fn candidate(&self, i: usize) -> bool {
        self.candidates.get(i).copied().unwrap_or(false) || self.is_changed(i)
    }

    /// Whether a replacement changed the line.
    pub(crate) fn is_changed(&self, i: usize) -> bool {
        matches!(self.changed.get(i), Some(Some(_)))
    }

    /// Whether any line was changed.
    pub(crate) fn any_changed(&self) -> bool {
        !self.changed.is_empty()
    }

    /// Takes prefixes of standard error away and applies the replacements, rule by rule.
    pub(crate) fn rewrite(&mut self, filter: Ready<'_>, text_len: usize) {
        let strips = filter.def.rules.filter_stderr;
        if !strips && filter.compiled.replace.is_empty() {
            return;
        }
        let mut left = text_len.saturating_mul(2).saturating_add(TEXT_SLACK);
        for i in 0..self.len() {
            if strips && let Some(rest) = without_prefix(self.original(i)) {
                let rest: Box<str> = rest.into();
                self.set(i, rest);
            }
            let max = self.original(i).len().saturating_mul(2).saturating_add(LINE_SLACK);
            for rule in &filter.compiled.replace {
                if let Some(line) = rule.apply(self.get(i), self.candidate(i), max.min(left)) {
                    left -= line.len();
                    self.set(i, line.into());
                }
            }
        }
    }

    fn set(&mut self, i: usize, line: Box<str>) {
        if self.changed.is_empty() {
            self.changed.resize_with(self.original.len(), || None);
        }
        if let Some(slot) = self.changed.get_mut(i) {
            *slot = Some(line);
        }
    }

    /// All lines joined, if they differ from the text they came from.
    pub(crate) fn joined(&self) -> String {
        let mut text = String::with_capacity((0..self.len()).map(|i| self.get(i).len() + 1).sum());
        for i in 0..self.len() {
            if i > 0 {
                text.push('\n');
            }
            text.push_str(self.get(i));
        }
        text
    }
}

/// The line behind `stderr:`, `stderr|`, `err:` or `err|`.
fn without_prefix(line: &str) -> Option<&str> {
    let trimmed = line.trim_ascii_start();
    let colon = trimmed.bytes().take(9).position(|b| b == b':' || b == b'|')?;
    let (word, rest) = trimmed.split_at(colon);
    let known = ["stderr", "err"].iter().any(|w| word.trim_ascii_end().eq_ignore_ascii_case(w));
    let rest = rest.get(1..)?;
    known.then(|| rest.strip_prefix(' ').unwrap_or(rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn knows_prefixes_of_standard_error() {
        for (line, expected) in [
            ("stderr: boom", Some("boom")),
            ("  err| boom", Some("boom")),
            ("STDERR | x", Some("x")),
            ("stderr:", Some("")),
            ("error: boom", None),
            ("err", None),
            ("", None),
        ] {
            assert_eq!(without_prefix(line), expected, "{line}");
        }
    }
}
