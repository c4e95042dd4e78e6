//! Puts a text away for the retrieval tool and what stands for it in its place.

use std::borrow::Cow;

use omniroute_core::{BlobError, EngineContext, EngineError, Replacement};

use super::Handle;
use crate::redact::redact;

/// Keeps `text` and gives its handle, or the reason why it has to stay where it is: what is kept is kept as it is,
/// and a text with a secret must not be.
///
/// # Errors
/// Those of the store.
pub(crate) fn keep(cx: &EngineContext<'_>, text: &str) -> Result<Result<Handle, &'static str>, EngineError> {
    if matches!(redact(text), Cow::Owned(_)) {
        return Ok(Err("holds_secret"));
    }
    match cx.blobs.put(cx.principal, text.as_bytes()) {
        Ok(id) => Ok(Ok(Handle::new(id, text))),
        Err(BlobError::TooLarge { .. }) => Ok(Err("too_large")),
        Err(error) => Err(EngineError::new("blob_store", error.to_string())),
    }
}

/// `shown` in place of `original`, all of which can be fetched by `handle`.
pub(crate) fn in_place_of(original: &str, handle: &Handle, shown: String) -> Replacement {
    let mut out = Replacement::new(shown);
    out.dropped.bytes = original.len().saturating_sub(out.text.len()) as u64;
    out.dropped.recoverable_bytes = out.dropped.bytes;
    out.recoverable = vec![handle.id];
    out
}
