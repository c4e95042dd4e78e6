//! Why a filter was not loaded: the file, the place in it, the filter, the field and the rule.

use std::fmt;

/// Where a filter file comes from. Later ones are asked first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum FilterSource {
    /// Compiled into the library.
    Builtin,
    /// The user's own folder.
    User,
    /// The project that is worked on.
    Project,
}

impl FilterSource {
    /// Lower-case name: `built-in`, `user`, `project`.
    pub fn name(self) -> &'static str {
        match self {
            FilterSource::Builtin => "built-in",
            FilterSource::User => "user",
            FilterSource::Project => "project",
        }
    }
}

/// How a filter file is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum FilterFormat {
    /// The JSON pack format.
    Json,
    /// TOML, schema version 1 or 2.
    Toml,
}

/// One reason why a file or a filter was not loaded.
///
/// The message is one line with place, filter, field, value and rule; it never holds the output of a command.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct FilterError {
    /// Whose file it is.
    pub source: FilterSource,
    /// How the file is written.
    pub format: FilterFormat,
    /// The file, as the caller named it.
    pub path: String,
    /// Id of the filter, if the error is inside one that has an id.
    pub filter: Option<String>,
    /// The field inside the filter, such as `rules.dropPatterns[3]`.
    pub field: Option<String>,
    /// Line from 1; 0 if the error has no place in the file.
    pub line: u32,
    /// Column in characters from 1; 0 if the error has no place in the file.
    pub column: u32,
    /// The rule that was broken.
    pub kind: FilterErrorKind,
}

/// The rule a filter file broke.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum FilterErrorKind {
    /// The file could not be read; the text is the system's.
    Io(String),
    /// Something is larger than its limit.
    TooLarge {
        /// What is too large, such as `the file`.
        what: &'static str,
        /// Its size in `unit`.
        size: u64,
        /// The limit in `unit`.
        limit: u64,
        /// `bytes`, `filters`, `tests`.
        unit: &'static str,
    },
    /// The file is not UTF-8; the offset is that of the first wrong byte.
    NotUtf8 {
        /// Byte offset from 0.
        offset: usize,
    },
    /// The file is not JSON or not TOML, or a key is given twice.
    Syntax(String),
    /// A key that the format does not know.
    UnknownKey {
        /// The key.
        key: String,
        /// A known key that is nearly the same.
        hint: Option<String>,
    },
    /// A key that must be there.
    MissingKey {
        /// The key, or the keys of which one is needed.
        key: String,
    },
    /// A value of another type.
    WrongType {
        /// The type that is needed.
        expected: &'static str,
        /// The type that was given.
        got: &'static str,
    },
    /// A value outside of what is allowed.
    OutOfRange {
        /// The value, shortened.
        value: String,
        /// What is allowed.
        allowed: String,
    },
    /// An id that is not 1 to 64 of `a-z 0-9 . _ -`, the first a letter or digit.
    BadId {
        /// The id, shortened.
        id: String,
    },
    /// An id that a filter of the same file or scope has.
    DuplicateId {
        /// The id.
        id: String,
    },
    /// A pattern that is not a regular expression.
    BadRegex {
        /// What is wrong.
        detail: String,
        /// Column in characters inside the pattern, from 1.
        column: u32,
    },
    /// A pattern that the linear-time engine cannot run.
    UnsupportedRegex {
        /// What is not supported, such as `look-ahead`.
        feature: &'static str,
        /// What to write instead.
        advice: &'static str,
        /// Column in characters inside the pattern, from 1.
        column: u32,
    },
    /// A filter with too many patterns.
    TooManyPatterns {
        /// Their number.
        count: usize,
        /// The limit.
        limit: usize,
    },
    /// A pattern that is too long, or too large once compiled.
    PatternTooLarge {
        /// `pattern`, `compiled pattern`, or `compiled patterns of all custom filters`.
        what: &'static str,
        /// Its size in bytes; the limit itself where only "more than" is known.
        size: usize,
        /// The limit in bytes.
        limit: usize,
    },
    /// A pattern for lines that matches a part without characters, and so every line.
    EmptyMatch,
    /// Keys that exclude each other.
    MutuallyExclusive {
        /// The keys.
        keys: String,
        /// What to do.
        advice: &'static str,
    },
    /// Tests for a filter that the file does not have.
    UnknownTest {
        /// The name in the file.
        name: String,
    },
    /// A test of the filter gave something else.
    TestFailed {
        /// Name of the test.
        name: String,
        /// What the file expects.
        expected: String,
        /// What came out.
        actual: String,
        /// Unified difference, at most 20 lines.
        diff: String,
    },
    /// An error line of a sample output, or of a test's input, is gone after the filter.
    HidesErrors {
        /// The sample or test.
        sample: String,
        /// The lines, shortened, at most three.
        lines: Vec<String>,
    },
    /// The tests of the file are too much work.
    VerifyTimeout {
        /// Bytes of input times states of the patterns.
        work: u64,
        /// The limit.
        limit: u64,
    },
    /// The file is not trusted; the text says why.
    Untrusted(String),
    /// The file is not the one that was trusted.
    ChangedSinceTrust,
    /// A `schema_version` that is not known.
    UnsupportedSchema(u32),
}

impl FilterErrorKind {
    /// Stable name of the rule for programs, such as `unknown-key`.
    pub fn code(&self) -> &'static str {
        use FilterErrorKind as K;
        match self {
            K::Io(_) => "io",
            K::TooLarge { .. } => "too-large",
            K::NotUtf8 { .. } => "not-utf8",
            K::Syntax(_) => "syntax",
            K::UnknownKey { .. } => "unknown-key",
            K::MissingKey { .. } => "missing-key",
            K::WrongType { .. } => "wrong-type",
            K::OutOfRange { .. } => "out-of-range",
            K::BadId { .. } => "bad-id",
            K::DuplicateId { .. } => "duplicate-id",
            K::BadRegex { .. } => "bad-regex",
            K::UnsupportedRegex { .. } => "unsupported-regex",
            K::TooManyPatterns { .. } => "too-many-patterns",
            K::PatternTooLarge { .. } => "pattern-too-large",
            K::EmptyMatch => "empty-match",
            K::MutuallyExclusive { .. } => "mutually-exclusive",
            K::UnknownTest { .. } => "unknown-test",
            K::TestFailed { .. } => "test-failed",
            K::HidesErrors { .. } => "hides-errors",
            K::VerifyTimeout { .. } => "verify-timeout",
            K::Untrusted(_) => "untrusted",
            K::ChangedSinceTrust => "changed-since-trust",
            K::UnsupportedSchema(_) => "unsupported-schema",
        }
    }
}

impl fmt::Display for FilterErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        use FilterErrorKind as K;
        match self {
            K::Io(reason) => write!(f, "the file cannot be read: {reason}"),
            K::TooLarge { what, size, limit, unit } => {
                write!(f, "{what} has {size} {unit}, the limit is {limit}")
            }
            K::NotUtf8 { offset } => write!(f, "byte {offset} is not UTF-8"),
            K::Syntax(detail) => f.write_str(detail),
            K::UnknownKey { key, hint: None } => write!(f, "key \"{key}\" is not known"),
            K::UnknownKey { key, hint: Some(hint) } => {
                write!(f, "key \"{key}\" is not known; did you mean \"{hint}\"?")
            }
            K::MissingKey { key } => write!(f, "{key} is missing"),
            K::WrongType { expected, got } => write!(f, "expected {expected}, got {got}"),
            K::OutOfRange { value, allowed } => write!(f, "{value} is not allowed; allowed is {allowed}"),
            K::BadId { id } => {
                write!(
                    f,
                    "id \"{id}\" is not 1 to 64 of a-z, 0-9, '.', '_', '-' that start with a letter or digit"
                )
            }
            K::DuplicateId { id } => write!(f, "id \"{id}\" is already used by another filter"),
            K::BadRegex { detail, column } => write!(f, "{detail} (column {column} of the pattern)"),
            K::UnsupportedRegex { feature, advice, column } => {
                write!(
                    f,
                    "{feature} is not supported by the linear-time engine; {advice} (column {column} of the pattern)"
                )
            }
            K::TooManyPatterns { count, limit } => {
                write!(f, "the filter has {count} patterns, the limit is {limit}")
            }
            K::PatternTooLarge { what, size, limit } if size == limit => {
                write!(f, "the {what} takes more than {limit} bytes")
            }
            K::PatternTooLarge { what, size, limit } => {
                write!(f, "the {what} has {size} bytes, the limit is {limit}")
            }
            K::EmptyMatch => {
                f.write_str("the pattern matches every line, because it matches no character at all")
            }
            K::MutuallyExclusive { keys, advice } => write!(f, "{keys} cannot be combined; {advice}"),
            K::UnknownTest { name } => {
                write!(f, "tests are given for \"{name}\", which is no filter of this file")
            }
            K::TestFailed { name, expected, actual, .. } => {
                write!(f, "test \"{name}\" failed: {}", first_difference(expected, actual))
            }
            K::HidesErrors { sample, lines } => {
                write!(f, "filter hides error lines: {} (sample \"{sample}\")", lines.join("; "))
            }
            K::VerifyTimeout { work, limit } => {
                write!(f, "the tests of the file take {work} steps, the limit is {limit}")
            }
            K::Untrusted(reason) => write!(f, "the file is not trusted: {reason}"),
            K::ChangedSinceTrust => f.write_str("the file has changed since it was trusted"),
            K::UnsupportedSchema(version) => {
                write!(f, "schema_version {version} is not known; known are 1 and 2")
            }
        }
    }
}

impl fmt::Display for FilterError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} filters {}", self.source.name(), self.path)?;
        if self.line > 0 {
            write!(f, ":{}:{}", self.line, self.column)?;
        }
        f.write_str(": ")?;
        match (&self.filter, &self.field) {
            (Some(filter), Some(field)) => write!(f, "filter \"{filter}\", {field}: ")?,
            (Some(filter), None) => write!(f, "filter \"{filter}\": ")?,
            (None, Some(field)) => write!(f, "{field}: ")?,
            (None, None) => {}
        }
        self.kind.fmt(f)
    }
}

impl std::error::Error for FilterError {}

/// Something about a filter file that its author should know; the filter is loaded.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct FilterWarning {
    /// Whose file it is.
    pub source: FilterSource,
    /// The file, as the caller named it.
    pub path: String,
    /// Id of the filter.
    pub filter: String,
    /// What it is about.
    pub message: String,
}

impl fmt::Display for FilterWarning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} filters {}: filter \"{}\": {}",
            self.source.name(),
            self.path,
            self.filter,
            self.message
        )
    }
}

/// `text` cut to `max` characters on one line, for messages.
pub(crate) fn short(text: &str, max: usize) -> String {
    let mut out: String = text.chars().take(max).map(|c| if c.is_control() { ' ' } else { c }).collect();
    if text.chars().nth(max).is_some() {
        out.push_str("...");
    }
    out
}

fn first_difference(expected: &str, actual: &str) -> String {
    let (mut wanted, mut got) = (expected.lines(), actual.lines());
    for number in 1.. {
        let (a, b) = (wanted.next(), got.next());
        if a.is_none() && b.is_none() {
            break;
        }
        if a != b {
            let name = |line: Option<&str>| match line {
                Some(line) => format!("\"{}\"", short(line, 60)),
                None => "the end".to_owned(),
            };
            return format!("line {number} is {}, expected {}", name(b), name(a));
        }
    }
    "only line ends differ".to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_the_first_difference() {
        assert_eq!(first_difference("a\nb", "a\nc"), "line 2 is \"c\", expected \"b\"");
        assert_eq!(first_difference("a\nb", "a"), "line 2 is the end, expected \"b\"");
        assert_eq!(first_difference("a", "a\nb"), "line 2 is \"b\", expected the end");
        assert_eq!(short("a\nb\u{e9}cd", 4), "a b\u{e9}...");
    }
}
