//! Reads requests.

use omniroute_core::hub::{Extra, Json, Output, Reasoning, Request, Thinking, Tool, ToolChoice, ToolKind};
use omniroute_core::wire::read::{boolean, chars, is, json, pick, string, take};
use omniroute_core::wire::{Read, WireError};
use omniroute_core::{Doc, NodeId};

use super::message::read_message;
use super::{NAME, PARAMS};
use crate::wires::common::{array, once, root_object, server_tool, sort_params};

pub(super) fn read(doc: &Doc) -> Result<Read<Request<'_>>, WireError> {
    let root = root_object(doc)?;
    once(doc, root, ["messages", "model"])?;
    let mut out = Request { wire: NAME, ..Request::default() };
    let names = [
        "messages",
        "model",
        "tools",
        "tool_choice",
        "strict_tools",
        "stream",
        "response_format",
        "thinking",
    ];
    let mut others = Extra::new();
    let [messages, model, tools, choice, strict, stream, format, thinking] =
        take(doc, root, names, &mut others);
    out.extra = sort_params(others, &PARAMS, &mut out.params);
    out.model = string(doc, model);
    out.stream = boolean(doc, stream);
    let strict = boolean(doc, strict);
    for node in tools.into_iter().flat_map(|t| doc.elements(t)) {
        out.tools.push(tool(doc, node, strict));
    }
    out.tool_choice = choice.map(|n| tool_choice(doc, n));
    match format.map(|n| output(doc, n)) {
        Some(Some(output)) => out.output = Some(output),
        Some(None) => out.extra.extend(format.map(|n| ("response_format".into(), Json::at(doc, n)))),
        None => {}
    }
    out.reasoning = thinking.map(|n| reasoning(doc, n));
    for node in doc.elements(array(doc, root, messages, "messages")?) {
        out.turns.push(read_message(doc, node)?);
    }
    Ok(Read::clean(out))
}

/// Whether a definition is strict is told once for all of them.
fn tool(doc: &Doc, node: NodeId, strict: Option<bool>) -> Tool<'_> {
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
        strict,
        kind: ToolKind::Function,
        cache: None,
        extra,
    }
}

fn tool_choice(doc: &Doc, node: NodeId) -> ToolChoice<'_> {
    match chars(doc, Some(node)).map(|word| word.to_ascii_uppercase()).as_deref() {
        Some("REQUIRED") => ToolChoice::Required,
        Some("NONE") => ToolChoice::None,
        Some("AUTO") => ToolChoice::Auto,
        _ => ToolChoice::Raw(Json::at(doc, node)),
    }
}

fn output(doc: &Doc, node: NodeId) -> Option<Output<'_>> {
    let mut unknown = Extra::new();
    let [kind, schema, old] = take(doc, node, ["type", "json_schema", "schema"], &mut unknown);
    let kind = chars(doc, kind)?;
    match (kind.as_str(), schema.or(old), unknown.is_empty()) {
        ("text", None, true) => Some(Output::Text),
        ("json_object", None, true) => Some(Output::Object),
        ("json_object", Some(schema), true) => Some(Output::Schema {
            schema: Json::at(doc, schema),
            name: None,
            description: None,
            strict: None,
        }),
        _ => None,
    }
}

fn reasoning(doc: &Doc, node: NodeId) -> Reasoning<'_> {
    let [kind, budget] = pick(doc, node, ["type", "token_budget"]);
    let mut out = Reasoning { budget: budget.and_then(|n| doc.integer(n)), ..Reasoning::default() };
    match chars(doc, kind).as_deref() {
        Some("enabled") => out.thinking = Some(Thinking::On),
        Some("disabled") => out.thinking = Some(Thinking::Off),
        _ => out.extra.extend(kind.map(|n| ("type".into(), Json::at(doc, n)))),
    }
    out
}
