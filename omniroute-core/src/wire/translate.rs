//! A request for a target: the same bytes where the wire is the same, else through the hub.

use std::collections::HashSet;

use super::common::dropped;
use super::{OPENAI_CHAT, Wire, WireError, Written};
use crate::doc::{Kind, Patch};
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
/// As the two methods; [`WireError::Incapable`] `too_many_tools` if there are more tools than the host takes.
pub fn translate(request: &ChatRequest, target: Wire, cx: &WriteContext) -> Result<Written, WireError> {
    few_tools(request, cx)?;
    if request.wire() == target {
        return same(request, target, cx);
    }
    let read = request.wire().read_request(request.doc())?;
    let mut written = target.write(&read.value, cx)?;
    written.notes.splice(..0, read.notes);
    Ok(written)
}

/// The host takes only so many tools. What is no request of its wire is for others to find out.
fn few_tools(request: &ChatRequest, cx: &WriteContext) -> Result<(), WireError> {
    let Some(most) = cx.quirks.max_tools else { return Ok(()) };
    let Ok(read) = request.conversation() else { return Ok(()) };
    // A tool that is declared twice counts once: a translated request sends it once.
    let names: HashSet<_> =
        read.tools.iter().filter_map(|tool| tool.name.map(|name| name.decode())).collect();
    let count = names.len() + read.tools.iter().filter(|tool| tool.name.is_none()).count();
    if count <= most {
        return Ok(());
    }
    let message = format!("the request has {count} tools; the target takes {most} at most");
    Err(WireError::incapable("too_many_tools", "/tools", message))
}

fn same(request: &ChatRequest, wire: Wire, cx: &WriteContext) -> Result<Written, WireError> {
    let doc = request.doc();
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
    let asked_usage = cx.options.ask_usage && wire == OPENAI_CHAT && ask_usage(request, cx, &mut patch)?;
    if patch.is_empty() {
        return Ok(Written::new(doc.bytes().clone(), notes));
    }
    let body = doc.splice(&patch).map_err(|e| WireError::invalid("bad_edit", "", e.to_string()))?;
    Ok(Written { asked_usage, ..Written::new(body, notes) })
}

/// Asks for the usage of a stream, which this wire gives only on demand; false if it comes anyway, or cannot.
fn ask_usage(request: &ChatRequest, cx: &WriteContext, patch: &mut Patch) -> Result<bool, WireError> {
    let doc = request.doc();
    let refused = cx.quirks.no_stream_options || cx.quirks.drop_params.iter().any(|p| p == "stream_options");
    if !request.head().stream || refused {
        return Ok(false);
    }
    let options = doc.get(doc.root(), "stream_options").filter(|n| doc.kind(*n) != Kind::Null);
    let asked = options.and_then(|n| doc.get(n, "include_usage"));
    match (options, asked) {
        (_, Some(node)) if doc.raw(node) == "true" => return Ok(false),
        (_, Some(node)) => patch.set_json(node, "true")?,
        (Some(node), None) if doc.kind(node) == Kind::Object => {
            patch.push_member(node, "include_usage", "true")?;
        }
        (Some(_), None) => return Ok(false),
        (None, None) => match doc.get(doc.root(), "stream_options") {
            Some(null) => patch.set_json(null, r#"{"include_usage":true}"#)?,
            None => patch.push_member(doc.root(), "stream_options", r#"{"include_usage":true}"#)?,
        },
    }
    Ok(true)
}
