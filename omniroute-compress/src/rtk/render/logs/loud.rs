//! Words in capitals and names of exceptions that make a line worth keeping, whatever its level says.

use std::sync::OnceLock;

use aho_corasick::{AhoCorasick, FindIter, MatchKind};

/// What a line shouts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Loud {
    /// Nothing.
    No,
    /// A warning.
    Warn,
    /// An error or an exception.
    Error,
}

const WORDS: [&str; 12] = [
    "WARN",
    "Exception",
    "Caused by",
    "ERROR",
    "FATAL",
    "CRITICAL",
    "PANIC",
    "SEVERE",
    "Out of memory",
    "oom-kill",
    "segfault at",
    "=exited, status=",
];
/// Words that count wherever they stand begin at this number, except for the next ones.
const WHOLE: std::ops::Range<usize> = 3..8;

/// One pass over a text that tells for each line, in order, what it shouts.
pub(super) struct LoudLines<'t> {
    text: &'t str,
    found: FindIter<'static, 't>,
    next: Option<(usize, Loud)>,
}

impl std::fmt::Debug for LoudLines<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("LoudLines").field("next", &self.next).finish_non_exhaustive()
    }
}

impl<'t> LoudLines<'t> {
    /// Begins a pass.
    pub(super) fn new(text: &'t str) -> Self {
        static SEARCHER: OnceLock<AhoCorasick> = OnceLock::new();
        let searcher = SEARCHER.get_or_init(|| {
            AhoCorasick::builder()
                .match_kind(MatchKind::LeftmostFirst)
                .build(WORDS)
                .expect("the words are few and short")
        });
        let mut pass = LoudLines { text, found: searcher.find_iter(text), next: None };
        pass.advance();
        pass
    }

    /// What `line`, a part of the text behind all lines asked for before, shouts.
    pub(super) fn line(&mut self, line: &str) -> Loud {
        let start = (line.as_ptr() as usize).saturating_sub(self.text.as_ptr() as usize);
        let end = start + line.len();
        let mut loud = Loud::No;
        while let Some((at, found)) = self.next.filter(|(at, _)| *at < end) {
            if at >= start {
                loud = loud.max(found);
            }
            self.advance();
        }
        loud
    }

    fn advance(&mut self) {
        let bytes = self.text.as_bytes();
        let word = |at: Option<usize>| {
            at.and_then(|at| bytes.get(at)).is_some_and(|b| b.is_ascii_alphanumeric() || *b == b'_')
        };
        self.next = self.found.by_ref().find_map(|m| {
            let number = m.pattern().as_usize();
            let before = word(m.start().checked_sub(1));
            match number {
                0 => (!before).then_some((m.start(), Loud::Warn)),
                n if WHOLE.contains(&n) => {
                    (!before && !word(Some(m.end()))).then_some((m.start(), Loud::Error))
                }
                _ => Some((m.start(), Loud::Error)),
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tells_line_by_line() {
        let text = "a\nx ERROR y\nERRORS\nWARNING\njava.io.IOException: x\n\nCaused by: y\nFORWARN\n";
        let mut pass = LoudLines::new(text);
        let found: Vec<Loud> = text.lines().map(|l| pass.line(l)).collect();
        assert_eq!(
            found,
            [Loud::No, Loud::Error, Loud::No, Loud::Warn, Loud::Error, Loud::No, Loud::Error, Loud::No]
        );
    }
}
