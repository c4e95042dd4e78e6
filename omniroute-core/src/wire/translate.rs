//! A request for a target: the same bytes where the wire is the same, else through the hub.

use super::common::dropped;
use super::{Wire, WireError, Written};
use crate::doc::{Doc, Patch};
use crate::hub::WriteContext;
use crate::request::ChatRequest;

/// Writes a request for a target.
///
/// # Behavior
/// - Same wire: the bytes as they are but for the model, and parameters that the host refuses (`drop_params`).
/// - Another wire: [`super::WireFormat::read_request`] and [`super::WireFormat::write`].
///
/// ```
/// use omniroute_core::hub::WriteContext;
/// use omniroute_core::{ChatRequest, wire};
/// let body = r#"{"model": "a", "messages": [{"role": "user", "content": "caf\u00e9"}]}"#;
/// let request = ChatRequest::parse(wire::OPENAI_CHAT, body)?;
/// let mut cx = WriteContext::default();
/// cx.model = Some("b".into());
/// let same = wire::translate(&request, wire::OPENAI_CHAT, &cx)?;
/// assert_eq!(same.body, body.replace("\"a\"", "\"b\""));
/// let other = wire::translate(&request, wire::ANTHROPIC, &cx)?;
/// assert!(other.body.starts_with(br#"{"model":"b","max_tokens":4096"#));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// As the two methods.
pub fn translate(request: &ChatRequest, target: Wire, cx: &WriteContext) -> Result<Written, WireError> {
    if request.wire() == target {
        return same(request.doc(), cx);
    }
    let read = request.wire().read_request(request.doc())?;
    let mut written = target.write(&read.value, cx)?;
    written.notes.splice(..0, read.notes);
    Ok(written)
}

fn same(doc: &Doc, cx: &WriteContext) -> Result<Written, WireError> {
    let (mut patch, mut notes) = (Patch::new(), Vec::new());
    if let Some(model) = &cx.model {
        match doc.get(doc.root(), "model") {
            Some(node) if doc.json_str(node).is_some_and(|m| m.is(model)) => {}
            Some(node) => patch.set_str(node, model),
            None => {} // the wire names it in the address
        }
    }
    for (key, _) in doc.members(doc.root()) {
        let name = doc.str(key).unwrap_or_default();
        if cx.quirks.drop_params.iter().any(|p| *p == name) {
            notes.push(dropped(&name));
            patch.remove(key);
        }
    }
    if patch.is_empty() {
        return Ok(Written { body: doc.bytes().clone(), notes });
    }
    let body = doc.splice(&patch).map_err(|e| WireError::invalid("bad_edit", "", e.to_string()))?;
    Ok(Written { body, notes })
}
