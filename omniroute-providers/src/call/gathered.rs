//! A whole answer from a host that only streams: put together here.

use futures::StreamExt;
use omniroute_core::hub::{Assembler, WriteContext};
use omniroute_core::wire::{Wire, WireError};
use omniroute_core::{Doc, EventStream, Failure};

use super::steps::{refused, unreadable};

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
