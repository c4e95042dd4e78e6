//! What was sent exactly as it came, found by comparing the bytes of two bodies.

use std::collections::BTreeMap;

use bytes::Bytes;
use omniroute_core::wire::Wire;
use omniroute_core::{ChatRequest, SegmentKind, Transcript};

use crate::Failure;
use crate::session::message_list;

/// How many of a thing there are and how many of them were left alone.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Share {
    pub(crate) same: u64,
    pub(crate) all: u64,
}

/// What a compressed body has in common with the original, byte for byte.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Untouched {
    pub(crate) messages: Share,
    pub(crate) texts: BTreeMap<SegmentKind, Share>,
    /// Of the tool results, those of tools that read files.
    pub(crate) reads: Share,
}

impl Untouched {
    /// Compares the messages and texts of two bodies.
    ///
    /// # Errors
    /// [`Failure::Broken`] if a body cannot be read or their structures differ.
    pub(crate) fn between(wire: Wire, plain: &Bytes, packed: &Bytes) -> Result<Untouched, Failure> {
        let unreadable = |e| Failure::Broken(format!("a body cannot be read: {e}"));
        let plain = ChatRequest::parse(wire, plain.clone()).map_err(unreadable)?;
        let packed = ChatRequest::parse(wire, packed.clone()).map_err(unreadable)?;
        let mut found = Untouched::default();
        let (ours, theirs) = (raw_messages(&plain), raw_messages(&packed));
        let (before, after) = (Transcript::of(&plain), Transcript::of(&packed));
        let (before, after) = (before.map_err(unreadable)?, after.map_err(unreadable)?);
        if !plain.doc().same_shape(packed.doc()) {
            return Err(Failure::Broken("the compressed body has another structure".to_owned()));
        }
        ours.iter().zip(&theirs).for_each(|(a, b)| found.messages.count(a == b));
        // Values of no literal of their own, such as a call's arguments, are found by their order.
        let mut values = after.segments().iter().filter(|segment| segment.node().is_none());
        for a in before.segments() {
            let same = match a.node() {
                Some(node) => plain.doc().raw(node) == packed.doc().raw(node),
                None => values.next().is_some_and(|b| a.raw() == b.raw()),
            };
            found.texts.entry(a.kind).or_default().count(same);
            if a.kind == SegmentKind::ToolResult
                && before.call_of(a).is_some_and(|call| reads_files(&call.tool))
            {
                found.reads.count(same);
            }
        }
        Ok(found)
    }
}

impl Share {
    fn count(&mut self, same: bool) {
        self.all += 1;
        self.same += u64::from(same);
    }
}

/// By the tool's name: `read_file`, `Read`, `view`.
fn reads_files(tool: &str) -> bool {
    let tool = tool.to_ascii_lowercase();
    tool.contains("read") || tool.contains("view")
}

fn raw_messages(request: &ChatRequest) -> Vec<&str> {
    let doc = request.doc();
    let list = message_list(request.wire(), doc);
    list.map(|list| doc.elements(list).map(|node| doc.raw(node)).collect()).unwrap_or_default()
}
