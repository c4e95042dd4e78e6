//! Patterns of the user: what they find stays as it is.

use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::Arc;

use regex::{Regex, RegexBuilder};

use crate::config::{ConfigError, ConfigErrors};
use crate::protect::{self, Kind, Scan};

/// Most patterns.
pub(crate) const MAX_PATTERNS: usize = 50;
/// Largest compiled pattern, in bytes.
const MAX_SIZE: usize = 1 << 20;

/// Patterns whose matches no rule touches. They run in linear time: no look-around, no back-references.
///
/// ```
/// use omniroute_compress::caveman::{Condenser, Level, Preserve};
/// let patterns = Preserve::of(["in order to [a-z]+"])?;
/// let text = "Please check it in order to sign, and rename the file in order to 2 things.";
/// let out = Condenser::new(Level::Lite).preserve(patterns).condense(text);
/// assert_eq!(out.text, "check it in order to sign, and rename the file to 2 things.");
/// let error = Preserve::of(["ok", "(a"]).unwrap_err().to_string();
/// assert_eq!(error, "preserve_patterns[1]: \"(a\" is no pattern: unclosed group");
/// # Ok::<(), omniroute_compress::ConfigErrors>(())
/// ```
#[derive(Debug, Clone, Default)]
pub struct Preserve {
    patterns: Arc<Vec<Regex>>,
}

impl PartialEq for Preserve {
    fn eq(&self, other: &Self) -> bool {
        self.patterns.iter().map(Regex::as_str).eq(other.patterns.iter().map(Regex::as_str))
    }
}

impl Eq for Preserve {}

impl Preserve {
    /// Compiles patterns, at most 50, of at most 1 MiB each when compiled.
    ///
    /// # Errors
    /// Every pattern that is none, with its number from 0 and what is wrong with it.
    pub fn of<P: AsRef<str>>(patterns: impl IntoIterator<Item = P>) -> Result<Preserve, ConfigErrors> {
        let (mut good, mut errors) = (Vec::new(), Vec::new());
        for (n, pattern) in patterns.into_iter().enumerate() {
            let pattern = pattern.as_ref();
            let wrong = |message: String| ConfigError::new(format!("preserve_patterns[{n}]"), message);
            if n >= MAX_PATTERNS {
                errors.push(wrong(format!("there are more than {MAX_PATTERNS} patterns")));
                break;
            }
            match RegexBuilder::new(pattern).size_limit(MAX_SIZE).dfa_size_limit(MAX_SIZE).build() {
                // One that finds nothing between letters would stand everywhere and protect nothing.
                Ok(regex) if regex.is_match("") => {
                    errors.push(wrong(format!("{pattern:?} also matches nothing at all")));
                }
                Ok(regex) => good.push(regex),
                Err(error) => errors.push(wrong(format!("{pattern:?} is no pattern: {}", reason(&error)))),
            }
        }
        if errors.is_empty() { Ok(Preserve { patterns: Arc::new(good) }) } else { Err(ConfigErrors(errors)) }
    }

    /// These and others.
    pub(crate) fn and(&self, other: &Preserve) -> Preserve {
        if other.patterns.is_empty() {
            return self.clone();
        }
        Preserve { patterns: Arc::new(self.patterns.iter().chain(other.patterns.iter()).cloned().collect()) }
    }

    /// Text form for fingerprints; empty without patterns.
    pub(crate) fn identity(&self) -> String {
        self.patterns.iter().map(|pattern| format!("preserve {:?}\n", pattern.as_str())).collect()
    }

    /// Whether something that the patterns find in `before` stands nowhere in `after`.
    pub(crate) fn loses(&self, before: &str, after: &str) -> bool {
        let mut seen = BTreeSet::new();
        let found = self.patterns.iter().flat_map(|pattern| pattern.find_iter(before)).map(|m| m.as_str());
        found.filter(|text| seen.insert(*text)).any(|text| !after.contains(text))
    }

    /// The parts of a text, with what the patterns find among the protected ones.
    pub(super) fn scan(&self, text: &str) -> Scan {
        let scan = protect::scan(text);
        if self.patterns.is_empty() { scan } else { scan.with(&self.ranges(text), Kind::Pattern) }
    }

    /// Whether the patterns find something else in `after` than in `before`.
    pub(super) fn differ(&self, before: &str, after: &str) -> bool {
        let found = |pattern: &Regex, text: &str| -> Vec<String> {
            pattern.find_iter(text).map(|m| m.as_str().to_owned()).collect()
        };
        self.patterns.iter().any(|pattern| found(pattern, before) != found(pattern, after))
    }

    /// Where the patterns match, in order and without overlaps.
    fn ranges(&self, text: &str) -> Vec<Range<usize>> {
        let mut all: Vec<Range<usize>> =
            self.patterns.iter().flat_map(|p| p.find_iter(text).map(|m| m.range())).collect();
        all.sort_unstable_by_key(|range| range.start);
        let mut out: Vec<Range<usize>> = Vec::new();
        for range in all.into_iter().filter(|range| !range.is_empty()) {
            match out.last_mut().filter(|last| range.start <= last.end) {
                Some(last) => last.end = last.end.max(range.end),
                None => out.push(range),
            }
        }
        out
    }
}

/// The last line of the error of a pattern, which says what is wrong.
fn reason(error: &regex::Error) -> String {
    match error {
        regex::Error::CompiledTooBig(limit) => format!("compiled it has over {limit} bytes"),
        other => {
            let text = other.to_string();
            let last = text.lines().last().unwrap_or("").trim();
            last.strip_prefix("error: ").unwrap_or(last).to_owned()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Condenser, Language, Level};
    use super::*;

    const TEXT: &str = "Please make use of the pool in order to read it. The pool is basically a queue.";

    fn condense(patterns: &[&str]) -> String {
        let condenser = Condenser::new(Level::Full).language(Language::En);
        condenser.preserve(Preserve::of(patterns).unwrap()).condense(TEXT).text.into_owned()
    }

    #[test]
    fn what_patterns_find_stays() {
        assert_eq!(
            condense(&[]),
            "use pool to read it. The pool is a queue."
                .replace("The pool", "pool")
                .replace("a queue", "queue")
        );
        for (pattern, part) in [
            ("make use of", "make use of"),
            ("(?i)please make", "Please make use of"),
            ("the pool", "the pool"),
            ("in order to read it. The", "in order to read it. The"),
            ("basically a", "basically a queue"),
        ] {
            assert!(condense(&[pattern]).contains(part), "{pattern}: {}", condense(&[pattern]));
            assert!(!condense(&[]).contains(part), "{pattern} is what keeps it");
        }
        assert_eq!(condense(&["(?s).+"]), TEXT);
        // A pattern that would find more afterwards keeps the whole text.
        assert_eq!(condense(&["use pool"]), TEXT);
    }

    #[test]
    fn mistakes_are_all_named() {
        let many: Vec<String> = (0..51).map(|n| format!("a{n}")).collect();
        for (patterns, part) in [
            (
                vec!["(a".to_owned(), "b)".to_owned()],
                "preserve_patterns[1]: \"b)\" is no pattern: unopened group",
            ),
            (vec!["a*".to_owned()], "preserve_patterns[0]: \"a*\" also matches nothing at all"),
            (vec!["(?=a)".to_owned()], "look-around"),
            (vec![r"(a)\1".to_owned()], "backreferences are not supported"),
            (vec!["(?:\\w{99}){99}".to_owned()], "compiled it has over 1048576 bytes"),
            (many, "there are more than 50 patterns"),
        ] {
            let error = Preserve::of(&patterns).unwrap_err().to_string();
            assert!(error.contains(part), "{part} in {error}");
        }
    }

    #[test]
    fn hard_patterns_take_linear_time() {
        let text = "a".repeat(200_000);
        let patterns = Preserve::of(["(a+)+$", "(a|aa)+b", "(.*a){12}"]).unwrap();
        let out = Condenser::new(Level::Ultra).preserve(patterns).condense(&text);
        assert_eq!(out.text, text);
    }
}
