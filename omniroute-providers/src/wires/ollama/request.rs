//! Reads requests.

use omniroute_core::hub::{Extra, Json, Output, Reasoning, Request, Str, Thinking, Tool, ToolKind};
use omniroute_core::wire::read::{boolean, chars, is, json, string, take};
use omniroute_core::wire::{Read, WireError};
use omniroute_core::{Doc, Kind, NodeId};

use super::message::{Links, read_message};
use super::{NAME, PARAMS, TOP};
use crate::wires::common::{array, once, root_object, server_tool, sort_params};

pub(super) fn read(doc: &Doc) -> Result<Read<Request<'_>>, WireError> {
    let root = root_object(doc)?;
    once(doc, root, ["messages", "model"])?;
    let mut out = Request { wire: NAME, ..Request::default() };
    let names = ["messages", "model", "tools", "stream", "format", "think", "options"];
    let [messages, model, tools, stream, format, think, options] = take(doc, root, names, &mut out.extra);
    for (param, key) in TOP {
        if let Some(at) = out.extra.iter().position(|(name, _)| name.is(key)) {
            out.params.push((param, out.extra.remove(at).1));
        }
    }
    let mut settings = Extra::new();
    if let Some(options) = options.filter(|n| doc.kind(*n) == Kind::Object) {
        let [] = take(doc, options, [], &mut settings);
    }
    for (key, value) in sort_params(settings, &PARAMS, &mut out.params) {
        out.extra.push((Str::from(format!("options/{}", key.decode())), value));
    }
    out.model = string(doc, model);
    out.stream = Some(boolean(doc, stream).unwrap_or(true)); // what the wire does when nothing is said
    for node in tools.into_iter().flat_map(|t| doc.elements(t)) {
        out.tools.push(tool(doc, node));
    }
    out.output = format.and_then(|n| output(doc, n));
    out.reasoning = think.map(|n| reasoning(doc, n));
    let mut links = Links::default();
    for node in doc.elements(array(doc, root, messages, "messages")?) {
        out.turns.push(read_message(doc, node, &mut links)?);
    }
    Ok(Read::clean(out))
}

fn tool(doc: &Doc, node: NodeId) -> Tool<'_> {
    let mut extra = Extra::new();
    let [kind, function] = take(doc, node, ["type", "function"], &mut extra);
    let Some(inner) = function.filter(|_| kind.is_none() || is(doc, kind, "function")) else {
        return server_tool(Json::at(doc, node), chars(doc, kind).unwrap_or_default().into());
    };
    let [name, description, parameters] = take(doc, inner, ["name", "description", "parameters"], &mut extra);
    Tool {
        name: string(doc, name).unwrap_or_default(),
        description: string(doc, description),
        schema: json(doc, parameters),
        strict: None,
        kind: ToolKind::Function,
        cache: None,
        extra,
    }
}

/// `"json"` or a schema; an empty text asks for nothing.
fn output(doc: &Doc, node: NodeId) -> Option<Output<'_>> {
    if is(doc, Some(node), "json") {
        return Some(Output::Object);
    }
    (doc.kind(node) == Kind::Object).then(|| Output::Schema {
        schema: Json::at(doc, node),
        name: None,
        description: None,
        strict: None,
    })
}

fn reasoning(doc: &Doc, node: NodeId) -> Reasoning<'_> {
    let thinking = doc.bool(node).map(|on| if on { Thinking::On } else { Thinking::Off });
    Reasoning { thinking, effort: Str::at(doc, node), ..Reasoning::default() }
}
