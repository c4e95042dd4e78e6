//! Why a body was refused: the rule, the place, and a short reason.

use std::borrow::Cow;
use std::fmt;

use super::lex::LexError;

/// The rule a body broke. Stable codes for programs are given by [`Rule::code`].
#[non_exhaustive]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Rule {
    /// The bytes are not UTF-8.
    Utf8,
    /// The text is not JSON (RFC 8259).
    Json,
    /// A `\u` escape names half of a surrogate pair.
    Surrogate,
    /// A value is followed by something else.
    Trailing,
    /// Containers are nested more than 128 deep.
    Depth,
    /// The body is larger than the limit.
    Size,
    /// A key that decides the meaning of a request (`messages`, `role`, `content`, ...) is given twice.
    DuplicateKey,
    /// Valid JSON that is not a request of this wire format.
    Shape,
}

impl Rule {
    /// Stable lower-case code, as printed in receipts: `"json"`, `"duplicate-key"`, ...
    pub fn code(self) -> &'static str {
        match self {
            Rule::Utf8 => "utf8",
            Rule::Json => "json",
            Rule::Surrogate => "surrogate",
            Rule::Trailing => "trailing",
            Rule::Depth => "depth",
            Rule::Size => "size",
            Rule::DuplicateKey => "duplicate-key",
            Rule::Shape => "shape",
        }
    }
}

/// A body that cannot be read as a request.
///
/// The message names the rule and the place, never the content.
///
/// ```
/// use omniroute_core::Doc;
/// let error = Doc::parse("{\"a\": 01}").unwrap_err();
/// assert_eq!(error.to_string(), "json at line 1 column 8 (byte 7): expected `,` or `}`");
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DocError {
    rule: Rule,
    offset: usize,
    line: u32,
    column: u32,
    detail: Cow<'static, str>,
}

impl DocError {
    /// An error at byte `offset` of `source`; line and column (both from 1, column in characters) are derived.
    pub fn at(rule: Rule, source: &[u8], offset: usize, detail: impl Into<Cow<'static, str>>) -> Self {
        let offset = offset.min(source.len());
        let before = source.get(..offset).unwrap_or(source);
        let line = memchr::memchr_iter(b'\n', before).count() as u32 + 1;
        let start = memchr::memrchr(b'\n', before).map_or(0, |p| p + 1);
        let last_line = before.get(start..).unwrap_or(&[]);
        // Characters, not bytes: continuation bytes do not start one.
        let column = last_line.iter().filter(|&&b| b & 0xC0 != 0x80).count() as u32 + 1;
        DocError { rule, offset, line, column, detail: detail.into() }
    }

    pub(crate) fn from_lex(error: LexError, source: &[u8]) -> Self {
        DocError::at(error.rule, source, error.offset, error.detail)
    }

    /// The rule that was broken.
    pub fn rule(&self) -> Rule {
        self.rule
    }

    /// Byte offset into the body, from 0.
    pub fn offset(&self) -> usize {
        self.offset
    }

    /// Line, from 1.
    pub fn line(&self) -> u32 {
        self.line
    }

    /// Column in characters, from 1.
    pub fn column(&self) -> u32 {
        self.column
    }

    /// The reason in words, without the place.
    pub fn detail(&self) -> &str {
        &self.detail
    }
}

impl fmt::Display for DocError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let DocError { rule, offset, line, column, detail } = self;
        write!(f, "{} at line {line} column {column} (byte {offset}): {detail}", rule.code())
    }
}

impl std::error::Error for DocError {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn place_counts_lines_and_characters() {
        let source = "{\n  \"é\": ?}".as_bytes();
        let at = source.iter().position(|&b| b == b'?').unwrap();
        let error = DocError::at(Rule::Json, source, at, "expected a value");
        assert_eq!((error.line(), error.column(), error.offset()), (2, 8, at));
    }
}
