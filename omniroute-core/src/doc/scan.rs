//! One validating pass over the bytes that writes the flat index.
//!
//! Agrees with `serde_json` on what is accepted, except that nesting up to 128 containers is allowed
//! and numbers may have any magnitude.

use super::error::Rule;
use super::lex::{LexError, fail, number_end, skip_space, string_end};
use super::{Kind, Node};

/// Containers may be nested this deep.
pub(crate) const MAX_DEPTH: usize = 128;

/// Receives the nodes in document order.
pub(crate) trait Sink {
    fn open(&mut self, kind: Kind, start: usize) -> u32;
    fn close(&mut self, node: u32, end: usize);
    fn leaf(&mut self, kind: Kind, start: usize, end: usize, escaped: bool);
}

/// Writes the index.
impl Sink for Vec<Node> {
    fn open(&mut self, kind: Kind, start: usize) -> u32 {
        let id = self.len() as u32;
        self.push(Node::new(kind, start, 0, 0, false));
        id
    }

    fn close(&mut self, node: u32, end: usize) {
        let next = self.len() as u32;
        if let Some(n) = self.get_mut(node as usize) {
            n.end = end as u32;
            n.next = next;
        }
    }

    fn leaf(&mut self, kind: Kind, start: usize, end: usize, escaped: bool) {
        let next = self.len() as u32 + 1;
        self.push(Node::new(kind, start, end, next, escaped));
    }
}

/// Keeps nothing: validation only.
pub(crate) struct Discard;

impl Sink for Discard {
    fn open(&mut self, _: Kind, _: usize) -> u32 {
        0
    }
    fn close(&mut self, _: u32, _: usize) {}
    fn leaf(&mut self, _: Kind, _: usize, _: usize, _: bool) {}
}

/// Scans one JSON document that fills `bytes`, white space around it allowed.
pub(crate) fn scan(bytes: &[u8], sink: &mut impl Sink) -> Result<(), LexError> {
    let mut stack = [(0u32, Kind::Null); MAX_DEPTH];
    let mut depth = 0usize;
    let mut at = skip_space(bytes, 0);
    loop {
        // A value starts at `at`.
        at = match bytes.get(at) {
            Some(b'"') => {
                let (end, escaped) = string_end(bytes, at)?;
                sink.leaf(Kind::String, at, end, escaped);
                end
            }
            Some(open @ (b'{' | b'[')) => {
                if depth == MAX_DEPTH {
                    return fail(Rule::Depth, at, "containers are nested more than 128 deep");
                }
                let kind = if *open == b'{' { Kind::Object } else { Kind::Array };
                let node = sink.open(kind, at);
                let inner = skip_space(bytes, at + 1);
                match (kind, bytes.get(inner)) {
                    (Kind::Object, Some(b'}')) | (Kind::Array, Some(b']')) => {
                        sink.close(node, inner + 1);
                        inner + 1
                    }
                    _ => {
                        if let Some(slot) = stack.get_mut(depth) {
                            *slot = (node, kind);
                        }
                        depth += 1;
                        at = if kind == Kind::Object { key(bytes, inner, sink)? } else { inner };
                        continue;
                    }
                }
            }
            Some(b'-' | b'0'..=b'9') => {
                let end = number_end(bytes, at)?;
                sink.leaf(Kind::Number, at, end, false);
                end
            }
            Some(b't') => word(bytes, at, b"true", Kind::Bool, sink)?,
            Some(b'f') => word(bytes, at, b"false", Kind::Bool, sink)?,
            Some(b'n') => word(bytes, at, b"null", Kind::Null, sink)?,
            Some(_) => return fail(Rule::Json, at, "expected a value"),
            None => return fail(Rule::Json, bytes.len(), "unexpected end of the document"),
        };
        // A value ended at `at`: close what closes, or go on to the next one.
        loop {
            at = skip_space(bytes, at);
            let Some(&(node, kind)) = depth.checked_sub(1).and_then(|top| stack.get(top)) else {
                return if at == bytes.len() {
                    Ok(())
                } else {
                    fail(Rule::Trailing, at, "something follows the document")
                };
            };
            match (kind, bytes.get(at)) {
                (Kind::Object, Some(b',')) => {
                    at = key(bytes, skip_space(bytes, at + 1), sink)?;
                    break;
                }
                (_, Some(b',')) => {
                    at = skip_space(bytes, at + 1);
                    break;
                }
                (Kind::Object, Some(b'}')) | (Kind::Array, Some(b']')) => {
                    sink.close(node, at + 1);
                    depth -= 1;
                    at += 1;
                }
                (_, None) => return fail(Rule::Json, bytes.len(), "unexpected end of the document"),
                (Kind::Object, _) => return fail(Rule::Json, at, "expected `,` or `}`"),
                (_, _) => return fail(Rule::Json, at, "expected `,` or `]`"),
            }
        }
    }
}

/// Reads a key and its colon; returns where the value starts.
fn key(bytes: &[u8], at: usize, sink: &mut impl Sink) -> Result<usize, LexError> {
    match bytes.get(at) {
        Some(b'"') => {}
        Some(_) => return fail(Rule::Json, at, "expected a key in double quotes"),
        None => return fail(Rule::Json, bytes.len(), "unexpected end of the document"),
    }
    let (end, escaped) = string_end(bytes, at)?;
    sink.leaf(Kind::String, at, end, escaped);
    let colon = skip_space(bytes, end);
    match bytes.get(colon) {
        Some(b':') => Ok(skip_space(bytes, colon + 1)),
        Some(_) => fail(Rule::Json, colon, "expected `:` after a key"),
        None => fail(Rule::Json, bytes.len(), "unexpected end of the document"),
    }
}

fn word(bytes: &[u8], at: usize, word: &[u8], kind: Kind, sink: &mut impl Sink) -> Result<usize, LexError> {
    let end = at + word.len();
    if bytes.get(at..end) != Some(word) {
        return fail(Rule::Json, at, "expected a value");
    }
    sink.leaf(kind, at, end, false);
    Ok(end)
}
