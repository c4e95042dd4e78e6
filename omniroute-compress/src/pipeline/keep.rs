//! Keeps alive what can be fetched back: every request that still shows a handle starts its time anew, and what
//! the store has lost is put back from the body, which still has the original.

use omniroute_core::{BlobId, BlobStore, CompressReceipt, Diagnostic, Principal};

use super::form::Form;
use crate::redact::redact;

/// Touches the texts behind all handles of a body and puts back those that are gone.
pub(super) fn alive(
    blobs: &dyn BlobStore,
    principal: &Principal,
    form: &Form<'_>,
    receipt: &mut CompressReceipt,
) {
    let mut ids: Vec<BlobId> = Vec::new();
    for sent in form.results.iter().filter_map(|result| result.sent.as_ref()) {
        ids.extend(&sent.recoverable);
    }
    if ids.is_empty() {
        return;
    }
    ids.sort_unstable();
    ids.dedup();
    let missing = match blobs.touch(principal, &ids) {
        Ok(missing) => missing,
        Err(error) => {
            receipt.notes.push(Diagnostic::new("blob_store", "", error.to_string()));
            return;
        }
    };
    if missing.is_empty() {
        return;
    }
    for (segment, result) in form.transcript.segments().iter().zip(&form.results) {
        let Some(sent) = &result.sent else { continue };
        for id in sent.recoverable.iter().filter(|id| missing.binary_search(id).is_ok()) {
            if !put_back(blobs, principal, *id, segment.original()) {
                let action = format!("the text behind {id} is gone and cannot be put back");
                receipt.notes.push(Diagnostic::new("blob_store", segment.id.to_string(), action));
            }
        }
    }
}

/// The original, or the original without its secrets: whichever has this address.
fn put_back(blobs: &dyn BlobStore, principal: &Principal, id: BlobId, original: &str) -> bool {
    if BlobId::of(original.as_bytes()) == id {
        return blobs.put(principal, original.as_bytes()).is_ok();
    }
    let redacted = redact(original);
    BlobId::of(redacted.as_bytes()) == id && blobs.put(principal, redacted.as_bytes()).is_ok()
}
