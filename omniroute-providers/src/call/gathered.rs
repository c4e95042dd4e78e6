//! A whole answer from a host that only streams: asked for as a stream, put together here.

use bytes::Bytes;
use futures::StreamExt;
use omniroute_core::hub::{Assembler, WriteContext};
use omniroute_core::wire::{Wire, WireError};
use omniroute_core::{Doc, Failure, Patch};

use super::steps::{refused, unreadable};
use omniroute_core::EventStream;

/// The same request, streamed.
///
/// # Errors
/// [`Failure`] if the body cannot be edited.
pub(super) fn streamed(body: Bytes) -> Result<Bytes, Failure> {
    let doc = Doc::parse_with_limit(body, usize::MAX).map_err(|error| refused(WireError::Shape(error)))?;
    let mut patch = Patch::new();
    let edit = match doc.get(doc.root(), "stream") {
        Some(node) => patch.set_json(node, "true"),
        None => patch.push_member(doc.root(), "stream", "true"),
    };
    edit.map_err(|error| refused(WireError::Shape(error)))?;
    let bad =
        |error: omniroute_core::PatchError| refused(WireError::invalid("bad_edit", "", error.to_string()));
    doc.splice(&patch).map_err(bad)
}

/// Reads a stream to its end and writes what it says as a whole answer.
///
/// # Errors
/// The failure of the stream.
pub(super) async fn whole(mut items: EventStream, wire: Wire) -> Result<Doc, Failure> {
    let mut assembler = Assembler::new(wire.id());
    while let Some(item) = items.next().await {
        item?.events.into_iter().for_each(|event| assembler.push(event));
    }
    let reply = assembler.finish().map_err(|error| unreadable("empty_reply", &error.message))?;
    let written = wire.write_reply(&reply, &WriteContext::default()).map_err(refused)?;
    Doc::parse_with_limit(written.body, usize::MAX).map_err(|error| refused(WireError::Shape(error)))
}
