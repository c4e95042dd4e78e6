//! What the readers and writers of all wires share: remarks, refusals, and small readings and writings of parts.

use super::WireError;
use super::json::{JsonWriter, object_of};
use super::params::ParamTable;
use crate::diagnostic::Diagnostic;
use crate::doc::{Doc, JsonStr, Kind, NodeId};
use crate::hub::{
    Arguments, Call, CallKind, Choice, ErrorBody, Json, Part, Reply, Request, Stop, StopReason, Str, Tool,
    WriteContext,
};

/// The schema of a custom tool where a wire only has functions.
pub const FREE_INPUT: &str =
    r#"{"type":"object","properties":{"input":{"type":"string"}},"required":["input"]}"#;
/// The schema of a tool that takes nothing.
pub const NO_INPUT: &str = r#"{"type":"object","properties":{}}"#;

/// A parameter that was left out.
pub fn dropped(row: &str) -> Diagnostic {
    Diagnostic::new("param_dropped", format!("/{row}"), "not sent: the target has no such parameter")
}

/// A member of a reply that the client's wire has no place for.
pub fn left_out(key: &str) -> Diagnostic {
    let action = "not told: the client's wire has no such member";
    Diagnostic::new("reply_field_dropped", format!("/{key}"), action)
}

/// Writes which service tier answered, for clients that know only the words of one vendor.
pub(super) fn write_tier(reply: &Reply<'_>, own: bool, out: &mut JsonWriter, notes: &mut Vec<Diagnostic>) {
    const WORDS: [&str; 5] = ["auto", "default", "flex", "scale", "priority"];
    match &reply.tier {
        Some(tier) if own || WORDS.contains(&tier.decode().as_ref()) => {
            _ = out.key("service_tier").str(tier);
        }
        Some(_) => notes.push(left_out("service_tier")),
        None => {}
    }
}

/// An answer that says nothing.
pub fn empty() -> WireError {
    WireError::Vendor(Box::new(ErrorBody::own("empty_reply", "the answer has no content")))
}

/// The target cannot take a block of another wire.
pub fn no_part(wire: &str, pointer: &str) -> WireError {
    let message = format!("a content part of another wire has no form on wire \"{wire}\"");
    WireError::incapable("unsupported_content_part", pointer, message)
}

/// The target cannot take a tool that its vendor runs.
pub fn no_tool(wire: &str, tool: &Tool<'_>) -> WireError {
    let name = tool.name.decode();
    let message = format!("tool \"{name}\" is run by its vendor; wire \"{wire}\" has no such tool");
    WireError::incapable("unsupported_tool", format!("/tools/{name}"), message)
}

/// What says nothing: an empty text, or an unsigned thought without words.
pub fn is_blank(part: &Part<'_>) -> bool {
    match part {
        Part::Text(text) | Part::Refusal(text) => text.text.is_empty() && text.seal.is_none(),
        Part::Thought(thought) => {
            thought.seal.is_none() && thought.extra.is_empty() && thought.text.iter().all(Str::is_empty)
        }
        _ => false,
    }
}

/// What a vendor says and what it sent must agree.
pub fn correct(stop: &mut Option<Stop<'_>>, parts: &[Part<'_>]) {
    let calls = parts.iter().any(|p| matches!(p, Part::Call(_)));
    let refused = parts.iter().any(|p| matches!(p, Part::Refusal(_)));
    if let Some(stop) = stop.as_mut().filter(|s| s.reason == StopReason::Stop) {
        if calls {
            stop.reason = StopReason::ToolCalls;
        } else if refused {
            stop.reason = StopReason::Refusal;
        }
    }
}

/// Whether a part is a call that the output limit cut: its arguments are no JSON.
pub fn is_unfinished(choice: &Choice<'_>, part: &Part<'_>) -> bool {
    let cut = choice
        .stop
        .as_ref()
        .is_some_and(|s| matches!(s.reason, StopReason::Length | StopReason::ContextFull));
    match part {
        Part::Call(call) if cut => match &call.arguments {
            Arguments::Text(text) => !text.is_empty() && Doc::check(text.decode().trim()).is_err(),
            _ => false,
        },
        _ => false,
    }
}

/// The remark for a call that [`is_unfinished`].
pub fn unfinished() -> Diagnostic {
    Diagnostic::new("unfinished_call_removed", "/tool_calls", "the output limit cut the call; it is not told")
}

/// Puts members of a request's top level where they belong: into the parameters that `table` knows, else into the
/// extras. `null` is the same as absent; of two members for one parameter the first counts.
pub fn sort_members<'d>(
    doc: &'d Doc,
    members: impl IntoIterator<Item = (JsonStr<'d>, NodeId)>,
    table: &ParamTable,
    out: &mut Request<'d>,
) {
    for (key, value) in members.into_iter().filter(|(_, v)| doc.kind(*v) != Kind::Null) {
        match table.param(key).filter(|param| out.param(*param).is_none()) {
            Some(param) => out.params.push((param, Json::at(doc, value))),
            None => out.extra.push((Str::Literal(key), Json::at(doc, value))),
        }
    }
}

/// Writes the member `model`: the one that is told, else the one that was asked for.
pub fn write_model(request: &Request<'_>, cx: &WriteContext, out: &mut JsonWriter) {
    match (&cx.model, &request.model) {
        (Some(model), _) => drop(out.key("model").text(model)),
        (None, model) => drop(out.opt_str("model", model.as_ref())),
    }
}

/// Writes a call's arguments as an object, whatever they were.
pub fn write_input(call: &Call<'_>, pointer: &str, out: &mut JsonWriter, notes: &mut Vec<Diagnostic>) {
    match &call.arguments {
        Arguments::Json(json) if json.raw().starts_with('{') => drop(out.json(json)),
        Arguments::Json(json) if json.raw() == "null" => drop(out.raw("{}")),
        Arguments::Json(json) => drop(out.object().key("value").json(json).end_object()),
        Arguments::Free(text) => drop(out.object().key("input").str(text).end_object()),
        Arguments::Text(text) if call.kind == CallKind::Custom => {
            out.object().key("input").str(text).end_object();
        }
        Arguments::Text(text) => {
            let text = text.decode();
            let (object, lossy) = object_of(&text);
            out.raw(&object);
            if lossy {
                let action = "arguments that are no JSON are sent as text";
                notes.push(Diagnostic::new("tool_args_invalid", pointer, action));
            }
        }
    }
}
