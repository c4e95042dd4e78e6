//! Edits to a document, collected before they are applied.

use std::fmt;
use std::sync::Arc;

use super::{Doc, DocError, Kind, NodeId, escape};

/// Edits to one [`Doc`], collected in any order.
///
/// ```
/// use omniroute_core::{Doc, Patch};
/// let doc = Doc::parse(r#"{"a" : "x",  "b":[1.0 ]}"#)?;
/// let mut patch = Patch::new();
/// patch.set_str(doc.get(doc.root(), "a").expect("is there"), "say \"hi\"");
/// assert_eq!(doc.splice(&patch).expect("no overlap"), r#"{"a" : "say \"hi\"",  "b":[1.0 ]}"#);
/// # Ok::<(), omniroute_core::DocError>(())
/// ```
#[derive(Clone, Default)]
pub struct Patch {
    pub(super) ops: Vec<(NodeId, Op)>,
}

#[derive(Clone)]
pub(super) enum Op {
    Set(Arc<str>),
    Remove,
    Append { key: Option<Arc<str>>, value: Arc<str> },
    InsertBefore(Arc<str>),
}

impl fmt::Debug for Patch {
    /// Counts only: edits hold text.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Patch").field("ops", &self.ops.len()).finish()
    }
}

impl Patch {
    /// No edits.
    pub fn new() -> Self {
        Patch::default()
    }

    /// Whether there is nothing to do.
    pub fn is_empty(&self) -> bool {
        self.ops.is_empty()
    }

    /// Number of edits.
    pub fn len(&self) -> usize {
        self.ops.len()
    }

    /// Replaces a value by the string `text`.
    pub fn set_str(&mut self, node: NodeId, text: &str) {
        self.set_escaped(node, escape(text).into());
    }

    /// Replaces a value by a literal that [`escape`] made.
    pub fn set_escaped(&mut self, node: NodeId, literal: Arc<str>) {
        self.ops.push((node, Op::Set(literal)));
    }

    /// Replaces a value by the JSON document `json`.
    ///
    /// # Errors
    /// [`DocError`] if `json` is not one JSON document.
    pub fn set_json(&mut self, node: NodeId, json: impl Into<Arc<str>>) -> Result<(), DocError> {
        let json = json.into();
        Doc::check(&json)?;
        self.ops.push((node, Op::Set(json)));
        Ok(())
    }

    /// Removes an array element, or an object member when given the node of its key, with one comma.
    pub fn remove(&mut self, node: NodeId) {
        self.ops.push((node, Op::Remove));
    }

    /// Adds an element at the end of an array.
    ///
    /// # Errors
    /// [`DocError`] if `json` is not one JSON document.
    pub fn push_element(&mut self, array: NodeId, json: impl Into<Arc<str>>) -> Result<(), DocError> {
        let value = json.into();
        Doc::check(&value)?;
        self.ops.push((array, Op::Append { key: None, value }));
        Ok(())
    }

    /// Adds a member at the end of an object. The caller sees to it that the key is new.
    ///
    /// # Errors
    /// [`DocError`] if `json` is not one JSON document.
    pub fn push_member(
        &mut self,
        object: NodeId,
        key: &str,
        json: impl Into<Arc<str>>,
    ) -> Result<(), DocError> {
        let value = json.into();
        Doc::check(&value)?;
        self.ops.push((object, Op::Append { key: Some(key.into()), value }));
        Ok(())
    }

    /// Inserts an element in front of the array element `before`.
    ///
    /// # Errors
    /// [`DocError`] if `json` is not one JSON document.
    pub fn insert_before(&mut self, before: NodeId, json: impl Into<Arc<str>>) -> Result<(), DocError> {
        let value = json.into();
        Doc::check(&value)?;
        self.ops.push((before, Op::InsertBefore(value)));
        Ok(())
    }
}

/// Edits that cannot be applied together.
#[non_exhaustive]
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PatchError {
    /// Two edits touch the same bytes, for instance one sets a value inside a removed one.
    #[error("edits overlap at byte {offset}: a value and something inside it cannot both be changed")]
    Overlap {
        /// Where the second edit starts.
        offset: usize,
    },
    /// An element was to be added to something that is not a container of that sort.
    #[error("value at byte {offset} is {found:?}: elements go into arrays, members into objects")]
    NotAContainer {
        /// Where the value starts.
        offset: usize,
        /// What it is.
        found: Kind,
    },
    /// A string was to be replaced by another one, and one of the two is no string.
    #[error("value at byte {offset}: only a string can take the place of a string")]
    NotAString {
        /// Where the value starts.
        offset: usize,
    },
    /// The document would be larger than an index can describe.
    #[error("the edited document has {bytes} bytes, the limit is 4 GiB")]
    TooLarge {
        /// Its size.
        bytes: usize,
    },
    /// Something was to be removed or to get a neighbour that does not stand in a list.
    #[error("value at byte {offset} cannot be removed or get a neighbour: it is no array element and no key")]
    NotAnElement {
        /// Where the value starts.
        offset: usize,
    },
}
