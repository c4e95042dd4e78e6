//! Reads a block back. Works on any text: what breaks the grammar is an error with line and rule.
//!
//! The decoder writes pieces into a [`Sink`], so that the same code restores a document and proves,
//! against the source and without a copy, that an encoding is right.

use std::fmt;

use super::MAX_BYTES;
use super::block::{Broken, document};
use super::json::part;
use super::strings::{push_compact, push_quoted};

/// A block that breaks the grammar.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DecodeError {
    line: u32,
    rule: &'static str,
}

impl DecodeError {
    /// Line of the block, from 1.
    pub fn line(&self) -> u32 {
        self.line
    }

    /// The rule that was broken, in words.
    pub fn rule(&self) -> &'static str {
        self.rule
    }
}

impl fmt::Display for DecodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "rows block at line {}: {}", self.line, self.rule)
    }
}

impl std::error::Error for DecodeError {}

/// The document of a block as compact JSON: key order and number spelling kept, strings with minimal
/// escapes. At most 16 MiB.
///
/// ```
/// # use omniroute_compress::rows::decode;
/// let json = decode("[2 rows] id:n|kind=\"bug\"|note:s? ; ~=absent\n1|~\n2|two words")?;
/// assert_eq!(json, r#"[{"id":1,"kind":"bug"},{"id":2,"kind":"bug","note":"two words"}]"#);
/// # Ok::<(), omniroute_compress::rows::DecodeError>(())
/// ```
///
/// # Errors
/// [`DecodeError`] with line and rule; also when the document would be larger than 16 MiB.
pub fn decode(block: &str) -> Result<String, DecodeError> {
    decode_with_limit(block, MAX_BYTES)
}

/// [`decode`] with a limit in bytes for the document. A header of constants may stand for any number
/// of rows, so only this limit bounds the memory.
///
/// # Errors
/// As [`decode`].
pub fn decode_with_limit(block: &str, max_bytes: usize) -> Result<String, DecodeError> {
    let mut writer = Writer { out: Vec::new(), max_bytes };
    decode_into(block, max_bytes, &mut writer)?;
    String::from_utf8(writer.out)
        .map_err(|_| DecodeError { line: 1, rule: "a value is cut inside a character" })
}

/// Why a sink wants no more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stop {
    TooLarge,
    Differs,
}

pub(crate) type Step = Result<(), Stop>;

/// Receives a document in pieces of whole tokens.
pub(crate) trait Sink {
    /// A table begins.
    fn open(&mut self) -> Step;
    /// Another row follows.
    fn next(&mut self) -> Step;
    /// A table ends.
    fn close(&mut self) -> Step;
    /// Canonical tokens.
    fn text(&mut self, piece: &[u8]) -> Step;
    /// JSON tokens as found in the block.
    fn json(&mut self, piece: &[u8]) -> Step;
    /// A string that stands in the block without quotes; `simple`: nothing in it needs an escape.
    fn bare(&mut self, text: &[u8], simple: bool) -> Step;
}

struct Writer {
    out: Vec<u8>,
    max_bytes: usize,
}

impl Writer {
    fn checked(&self) -> Step {
        if self.out.len() > self.max_bytes { Err(Stop::TooLarge) } else { Ok(()) }
    }
}

impl Sink for Writer {
    fn open(&mut self) -> Step {
        self.text(b"[")
    }

    fn next(&mut self) -> Step {
        self.text(b",")
    }

    fn close(&mut self) -> Step {
        self.text(b"]")
    }

    fn text(&mut self, piece: &[u8]) -> Step {
        self.out.extend_from_slice(piece);
        self.checked()
    }

    fn json(&mut self, piece: &[u8]) -> Step {
        push_compact(piece, &mut self.out);
        self.checked()
    }

    fn bare(&mut self, text: &[u8], simple: bool) -> Step {
        if simple {
            self.out.push(b'"');
            self.out.extend_from_slice(text);
            self.out.push(b'"');
        } else {
            push_quoted(std::str::from_utf8(text).unwrap_or(""), &mut self.out);
        }
        self.checked()
    }
}

/// Decodes `block` into `sink`. `max_bytes` bounds what a header may promise.
///
/// # Errors
/// As [`decode`]; a sink that wants no more ends it too.
pub(crate) fn decode_into(block: &str, max_bytes: usize, sink: &mut impl Sink) -> Result<(), DecodeError> {
    let b = block.as_bytes();
    document(b, max_bytes, sink).map_err(|Broken { at, rule }| {
        let line = memchr::memchr_iter(b'\n', part(b, 0, at.min(b.len()))).count() as u32 + 1;
        DecodeError { line, rule }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refuses_with_line_and_rule() {
        for (block, line, rule) in [
            ("", 1, "a value is not JSON"),
            ("[1 2]", 1, "a value is not JSON"),
            ("[2 rows] a:n\n1", 2, "rows are missing"),
            ("[2 rows] a:n\n1\n2\n3", 4, "something follows the last row"),
            ("[2 rows] a:n\n1\n2\n", 4, "something follows the last row"),
            ("[2 rows] a:n\n1\n2|3", 3, "the line has more cells than the header has columns"),
            ("[2 rows] a:n|b:n\n1|2\n2", 3, "the line has fewer cells than the header has columns"),
            ("[2 rows] a:n\n1\n01", 3, "a cell does not fit the type of its column"),
            ("[2 rows] a:n\n1\n~", 3, "a cell does not fit the type of its column"),
            ("[2 rows] a:b\ntrue\nnull", 3, "a cell does not fit the type of its column"),
            ("[2 rows] a:s\nx\n", 3, "a text must be written as a JSON string"),
            ("[2 rows] a:s\nx\ny ", 3, "a text must be written as a JSON string"),
            ("[2 rows] a:s\nx\n[y]", 3, "a text must be written as a JSON string"),
            ("[2 rows] a:s\nx\n\"y", 3, "a value is not JSON"),
            ("[2 rows] a:s\nx\n\"y\\\"", 3, "a value is not JSON"),
            ("[2 rows] a:j\n{}\n{\"a\":]}", 3, "a value is not JSON"),
            ("[1000000000 rows] a=1", 1, "the document is larger than the limit"),
            ("[1000000 rows] a:n\n1", 2, "rows are missing"),
            ("{\"a\":@1}", 1, "expected the next table, `@k [N rows] `"),
            ("{\"a\":@2}\n@2 [1 rows] a:n\n1", 1, "tables are not numbered 1, 2, 3 in the first line"),
            ("{\"a\":@1 @2}\n@1 [1 rows] a:n\n1", 1, "the first line is neither a header nor JSON"),
            ("{@1:1}\n@1 [1 rows] a:n\n1", 1, "the first line is neither a header nor JSON"),
            ("{\"a\":@1}\n@1 [1 rows] a:n\nx", 3, "a cell does not fit the type of its column"),
            ("{\"a\":1}\n@1 [1 rows] a:n\n1", 1, "a value is not JSON"),
        ] {
            let error = decode(block).map_err(|e| (e.line(), e.rule()));
            assert_eq!(error, Err((line, rule)), "{block}");
        }
    }

    #[test]
    fn reads() {
        for (block, json) in [
            ("[0 rows] a:n", "[]"),
            ("[3 rows] a=1|b=-", r#"[{"a":1,"b":null},{"a":1,"b":null},{"a":1,"b":null}]"#),
            ("[2 rows] a:n?|b:s? ; ~=absent\n~|~\n~|x", r#"[{},{"b":"x"}]"#),
            ("[2 rows] a:s\n~x\n-5", r#"[{"a":"~x"},{"a":"-5"}]"#),
            ("[2 rows] a:j\n\"|\"\n{\"|\":[1, 2]}", r#"[{"a":"|"},{"a":{"|":[1,2]}}]"#),
            (
                "{\"a\":@1,\"b\":@2}\n@1 [1 rows] x=1\n@2 [1 rows] y:b\ntrue",
                r#"{"a":[{"x":1}],"b":[{"y":true}]}"#,
            ),
            ("{\"a\": \"@1\"}", r#"{"a":"@1"}"#),
        ] {
            assert_eq!(decode(block).as_deref(), Ok(json), "{block}");
        }
        assert!(decode_with_limit("[3 rows] a:n\n1\n2\n3", 20).is_err());
    }
}
