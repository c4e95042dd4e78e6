//! A JSON document as one immutable buffer plus a flat index.
//!
//! Nobody re-serialises the document: readers get slices of the original bytes, writers splice
//! ([`Patch`]), and every byte outside an edit stays what it was, down to key order, number spelling
//! and escapes.

mod error;
mod lex;
mod patch;
mod scan;
mod splice;
mod text;
mod texts;

use std::borrow::Cow;
use std::sync::Arc;

use bytes::Bytes;

pub use error::{DocError, Rule};
pub use patch::{Patch, PatchError};
pub use text::{JsonStr, escape, escape_into};

/// Bodies larger than this are refused unless the caller sets another limit: 16 MiB.
pub const DEFAULT_MAX_BYTES: usize = 16 << 20;

/// Number of a value inside one [`Doc`]; means nothing in another.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NodeId(pub(crate) u32);

/// What a value is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Kind {
    /// `null`
    Null,
    /// `true` or `false`
    Bool,
    /// A number, kept as written.
    Number,
    /// A string.
    String,
    /// `[...]`
    Array,
    /// `{...}`
    Object,
}

/// 16 bytes a value: its span, where its next sibling starts, and what it is.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Node {
    start: u32,
    end: u32,
    next: u32,
    kind: Kind,
    escaped: bool,
}

impl Node {
    fn new(kind: Kind, start: usize, end: usize, next: u32, escaped: bool) -> Self {
        Node { start: start as u32, end: end as u32, next, kind, escaped }
    }
}

/// A parsed JSON document: the original bytes and an index of 16 bytes a value. Cloning shares both.
///
/// ```
/// use omniroute_core::Doc;
/// let doc = Doc::parse(r#"{"n": 1.0, "text": "caf\u00e9"}"#)?;
/// let n = doc.get(doc.root(), "n").expect("is there");
/// let text = doc.get(doc.root(), "text").expect("is there");
/// assert_eq!(doc.raw(n), "1.0");                        // spelling kept
/// assert_eq!(doc.str(text).expect("a string"), "café"); // escapes resolved on demand
/// # Ok::<(), omniroute_core::DocError>(())
/// ```
#[derive(Clone)]
pub struct Doc {
    src: Bytes,
    nodes: Arc<Vec<Node>>,
}

impl std::fmt::Debug for Doc {
    /// Sizes only: a body may hold secrets.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Doc").field("bytes", &self.src.len()).field("nodes", &self.nodes.len()).finish()
    }
}

impl Doc {
    /// Parses strict JSON of at most [`DEFAULT_MAX_BYTES`].
    ///
    /// # Errors
    /// [`DocError`] with rule and place: not UTF-8, not JSON, lone surrogate, nesting over 128, too large.
    pub fn parse(src: impl Into<Bytes>) -> Result<Doc, DocError> {
        Doc::parse_with_limit(src, DEFAULT_MAX_BYTES)
    }

    /// Parses with a size limit in bytes; never more than 4 GiB.
    ///
    /// # Errors
    /// As [`Doc::parse`].
    pub fn parse_with_limit(src: impl Into<Bytes>, max_bytes: usize) -> Result<Doc, DocError> {
        let src = src.into();
        let max_bytes = max_bytes.min(u32::MAX as usize - 1);
        if src.len() > max_bytes {
            let detail = format!("the body has {} bytes, the limit is {max_bytes}", src.len());
            return Err(DocError::at(Rule::Size, &[], 0, detail));
        }
        if let Err(error) = std::str::from_utf8(&src) {
            return Err(DocError::at(Rule::Utf8, &src, error.valid_up_to(), "the bytes are not UTF-8"));
        }
        let mut nodes = Vec::with_capacity(src.len() / 64 + 8);
        scan::scan(&src, &mut nodes).map_err(|e| DocError::from_lex(e, &src))?;
        Ok(Doc { src, nodes: Arc::new(nodes) })
    }

    /// Checks that `text` is one JSON document without keeping an index.
    ///
    /// # Errors
    /// As [`Doc::parse`], without a size limit.
    pub fn check(text: &str) -> Result<(), DocError> {
        scan::scan(text.as_bytes(), &mut scan::Discard).map_err(|e| DocError::from_lex(e, text.as_bytes()))
    }

    /// The outermost value.
    pub fn root(&self) -> NodeId {
        NodeId(0)
    }

    /// The document as it was given.
    pub fn bytes(&self) -> &Bytes {
        &self.src
    }

    /// The document as it was given, as text.
    pub fn source(&self) -> &str {
        std::str::from_utf8(&self.src).unwrap_or("") // checked at parse
    }

    /// Number of values, keys included.
    pub fn node_count(&self) -> usize {
        self.nodes.len()
    }

    /// What `node` is.
    pub fn kind(&self, node: NodeId) -> Kind {
        self.node(node).kind
    }

    /// Byte offset of `node` in the document.
    pub fn offset(&self, node: NodeId) -> usize {
        self.node(node).start as usize
    }

    /// Byte range of `node` in the document.
    pub fn span(&self, node: NodeId) -> std::ops::Range<usize> {
        let n = self.node(node);
        n.start as usize..n.end as usize
    }

    /// The exact source text of `node`; a string keeps its quotes and escapes.
    pub fn raw(&self, node: NodeId) -> &str {
        let n = self.node(node);
        let slice = self.src.get(n.start as usize..n.end as usize).unwrap_or(&[]);
        // Checked once at parse; spans start and end at ASCII bytes.
        std::str::from_utf8(slice).unwrap_or("")
    }

    /// `node` as a string that is decoded when asked, or `None` if it is something else.
    pub fn json_str(&self, node: NodeId) -> Option<JsonStr<'_>> {
        let n = self.node(node);
        if n.kind != Kind::String {
            return None;
        }
        let slice = self.src.get(n.start as usize + 1..n.end as usize - 1)?;
        Some(JsonStr::new(slice, n.escaped))
    }

    /// `node` as a string, borrowed unless it has escapes; `None` if it is something else.
    pub fn str(&self, node: NodeId) -> Option<Cow<'_, str>> {
        self.json_str(node).map(|s| s.decode())
    }

    /// `node` as `true` or `false`; `None` if it is something else.
    pub fn bool(&self, node: NodeId) -> Option<bool> {
        (self.kind(node) == Kind::Bool).then(|| self.raw(node) == "true")
    }

    /// `node` as an integer; `None` if it is not a number, has a fraction or exponent, or is out of range.
    pub fn integer(&self, node: NodeId) -> Option<i64> {
        if self.kind(node) == Kind::Number { self.raw(node).parse().ok() } else { None }
    }

    /// Key and value nodes of an object, in order; nothing for other kinds.
    pub fn members(&self, object: NodeId) -> Members<'_> {
        Members { inner: self.children(object, Kind::Object) }
    }

    /// Elements of an array, in order; nothing for other kinds.
    pub fn elements(&self, array: NodeId) -> Elements<'_> {
        self.children(array, Kind::Array)
    }

    /// The value of `key` in an object. Of duplicate keys the last one counts.
    pub fn get(&self, object: NodeId, key: &str) -> Option<NodeId> {
        let mut found = None;
        for (k, v) in self.members(object) {
            if self.json_str(k).is_some_and(|s| s.is(key)) {
                found = Some(v);
            }
        }
        found
    }

    /// All keys of all objects, decoded, sorted, each once.
    pub fn keys(&self) -> Vec<String> {
        let objects = (0..self.nodes.len() as u32).map(NodeId).filter(|n| self.kind(*n) == Kind::Object);
        let keys = objects.flat_map(|object| self.members(object).map(|(key, _)| key));
        let mut keys: Vec<String> = keys.filter_map(|key| self.str(key)).map(Cow::into_owned).collect();
        keys.sort_unstable();
        keys.dedup();
        keys
    }

    /// Whether `other` has the same kinds of values, nested alike; texts and numbers may differ.
    pub fn same_shape(&self, other: &Doc) -> bool {
        self.nodes.len() == other.nodes.len()
            && self.nodes.iter().zip(other.nodes.iter()).all(|(a, b)| a.kind == b.kind && a.next == b.next)
    }

    fn node(&self, id: NodeId) -> Node {
        match self.nodes.get(id.0 as usize) {
            Some(n) => *n,
            None => Node::new(Kind::Null, 0, 0, id.0 + 1, false),
        }
    }

    fn children(&self, parent: NodeId, kind: Kind) -> Elements<'_> {
        let n = self.node(parent);
        let end = if n.kind == kind { n.next } else { parent.0 + 1 };
        Elements { doc: self, at: parent.0 + 1, end }
    }
}

/// Iterator over the elements of an array.
#[derive(Debug, Clone)]
pub struct Elements<'d> {
    doc: &'d Doc,
    at: u32,
    end: u32,
}

impl Iterator for Elements<'_> {
    type Item = NodeId;

    fn next(&mut self) -> Option<NodeId> {
        if self.at >= self.end {
            return None;
        }
        let id = NodeId(self.at);
        self.at = self.doc.node(id).next;
        Some(id)
    }
}

/// Iterator over the members of an object: key node, value node.
#[derive(Debug, Clone)]
pub struct Members<'d> {
    inner: Elements<'d>,
}

impl Iterator for Members<'_> {
    type Item = (NodeId, NodeId);

    fn next(&mut self) -> Option<(NodeId, NodeId)> {
        let key = self.inner.next()?;
        let value = self.inner.next()?;
        Some((key, value))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn walks_members_and_elements() {
        let doc = Doc::parse(r#" {"a": [1, {"b": []}, "x"], "c": {}, "a": null} "#).unwrap();
        let root = doc.root();
        let keys: Vec<_> = doc.members(root).map(|(k, _)| doc.str(k).unwrap().into_owned()).collect();
        assert_eq!(keys, ["a", "c", "a"]);
        assert_eq!(doc.kind(doc.get(root, "a").unwrap()), Kind::Null, "the last duplicate counts");
        let (_, first) = doc.members(root).next().unwrap();
        let raw: Vec<_> = doc.elements(first).map(|n| doc.raw(n)).collect();
        assert_eq!(raw, ["1", r#"{"b": []}"#, r#""x""#]);
        assert_eq!(doc.elements(root).count(), 0);
    }

    #[test]
    fn refuses_with_place_and_rule() {
        for (text, rule, offset) in [
            ("", Rule::Json, 0),
            ("{\"a\":1,}", Rule::Json, 7),
            ("[1 2]", Rule::Json, 3),
            ("{} x", Rule::Trailing, 3),
            ("\"\\ud800\"", Rule::Surrogate, 1),
            ("\"a\nb\"", Rule::Json, 2),
            ("[nul]", Rule::Json, 1),
            ("{\"a\":1", Rule::Json, 6),
        ] {
            let error = Doc::parse(text).unwrap_err();
            assert_eq!((error.rule(), error.offset()), (rule, offset), "{text}: {error}");
        }
        assert_eq!(Doc::parse(&b"\"\xff\""[..]).unwrap_err().rule(), Rule::Utf8);
        let deep = format!("{}{}", "[".repeat(128), "]".repeat(128));
        assert!(Doc::parse(deep).is_ok());
        let deeper = format!("{}{}", "[".repeat(129), "]".repeat(129));
        assert_eq!(Doc::parse(deeper).unwrap_err().rule(), Rule::Depth);
        assert_eq!(Doc::parse_with_limit("[1,2,3]", 4).unwrap_err().rule(), Rule::Size);
    }

    #[test]
    fn debug_shows_no_content() {
        let doc = Doc::parse("\"secret\"").unwrap();
        assert!(!format!("{doc:?}").contains("secret"));
    }
}
