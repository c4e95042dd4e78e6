//! Writes requests.

use omniroute_core::Diagnostic;
use omniroute_core::hub::{
    Json, Output, Param, Part, Request, Tool, ToolChoice, ToolKind, Turn, WriteContext,
};
use omniroute_core::wire::fitted::Takes;
use omniroute_core::wire::{JsonWriter, WireError, Written, foreign_extras, names};

use super::order::foreign as in_order;
use super::thinking::{Plan, plan};
use super::turn::{Blocks, cache_point};
use super::{NAME, PARAMS};
use crate::wires::common::{FREE_INPUT, NO_INPUT, Notes, choice_dropped, dropped, is_offered, no_tool};
use crate::wires::foreign;

const FIELDS: &str = "additionalModelRequestFields/";
const CONFIG: &str = "inferenceConfig/";

/// What the vendor takes: four cache marks, bodies of 25 MiB.
const TAKES: Takes = Takes {
    names: Some(&names::PORTABLE),
    images: &["image/png", "image/jpeg", "image/gif", "image/webp"],
    marks: Some(4),
    body: 25 << 20,
};

/// Model and stream stand in the address.
pub(super) fn write(request: &Request<'_>, cx: &WriteContext) -> Result<Written, WireError> {
    let mut notes = Notes::new();
    let own = request.wire == NAME;
    let (request, tool_names) = TAKES.fit(request, own, &mut notes)?;
    let request = &*request;
    let plan = plan(request, cx, &mut notes);
    let mut out = JsonWriter::with_capacity(64 << 10);
    out.object();
    config(request, cx, own, &plan, &mut out, &mut notes)?;
    model_fields(request, cx, own, &plan, &mut out);
    elsewhere(request, own, &mut out, &mut notes);
    let by_prompt = asked_in_words(request, cx);
    output_config(request, &plan, by_prompt, &mut out);
    tools(request, own, &mut out, &mut notes)?;
    if own {
        for (key, value) in &request.extra {
            let key = key.decode();
            if !key.starts_with(FIELDS) && !key.starts_with(CONFIG) {
                out.key(&key).json(value);
            }
        }
    } else {
        foreign_extras(request, &mut notes)?;
    }
    messages(request, cx, own, by_prompt, &mut out, &mut notes)?;
    out.end_object();
    TAKES.written(out, notes, tool_names)
}

/// An object that is left out if nothing stands in it.
fn filled(key: &str, mut inner: JsonWriter, out: &mut JsonWriter) {
    inner.end_object();
    let inner = inner.finish();
    if inner != "{}" {
        out.key(key).raw(&inner);
    }
}

fn config(
    request: &Request<'_>,
    cx: &WriteContext,
    own: bool,
    plan: &Plan,
    out: &mut JsonWriter,
    notes: &mut Notes,
) -> Result<(), WireError> {
    let mut inner = JsonWriter::default();
    inner.object();
    if let Some(limit) = plan.limit {
        inner.key("maxTokens").number(limit);
    }
    let told = |param| plan.limit.is_some() && param == Param::MaxOutput;
    let rest: Vec<_> = request.params.iter().filter(|(param, _)| !told(*param)).cloned().collect();
    let rest = Request { wire: request.wire, params: rest, ..Request::default() };
    foreign::params(&PARAMS, &rest, cx, |param| plan.refuses(param), &mut inner, notes)?;
    for (key, value) in request.extra.iter().filter(|_| own) {
        if let Some(key) = key.decode().strip_prefix(CONFIG) {
            inner.key(key).json(value);
        }
    }
    filled("inferenceConfig", inner, out);
    Ok(())
}

fn model_fields(request: &Request<'_>, cx: &WriteContext, own: bool, plan: &Plan, out: &mut JsonWriter) {
    let mut inner = JsonWriter::default();
    inner.object();
    let refused = plan.refuses(Param::TopK) || cx.caps.no_sampling == Some(true);
    if let Some(top_k) = request.param(Param::TopK).filter(|k| !refused && k.raw() != "null") {
        inner.key("top_k").json(top_k);
    }
    if let Some(thinking) = &plan.thinking {
        inner.key("thinking").raw(thinking);
    }
    for (key, value) in request.extra.iter().filter(|_| own) {
        if let Some(key) = key.decode().strip_prefix(FIELDS) {
            inner.key(key).json(value);
        }
    }
    filled("additionalModelRequestFields", inner, out);
}

/// Parameters that have a place of their own.
fn elsewhere(request: &Request<'_>, own: bool, out: &mut JsonWriter, notes: &mut Notes) {
    metadata(request, out, notes);
    if let Some(tier) = request.param(Param::ServiceTier) {
        let known = ["\"default\"", "\"flex\"", "\"priority\"", "\"reserved\""].contains(&tier.raw());
        match own || known {
            true => drop(out.key("serviceTier").object().key("type").json(tier).end_object()),
            false => notes.push(dropped("service_tier")),
        }
    }
    if request.param(Param::SafetySettings).is_some() {
        notes.push(dropped("safety settings")); // of another wire; guardrails are extras of this one
    }
}

/// An object of texts; the client's user is one of them.
fn metadata(request: &Request<'_>, out: &mut JsonWriter, notes: &mut Notes) {
    let object = |p: Param| request.param(p).filter(|v| v.raw().starts_with('{'));
    let user = request.param(Param::User).filter(|u| u.raw().starts_with('"'));
    let found = object(Param::Metadata);
    if let (Some(found), None) = (found, user) {
        out.key("requestMetadata").json(found);
        return;
    }
    if found.is_some() {
        notes.push(dropped("metadata")); // two sources for one object: the user counts
    }
    if let Some(user) = user {
        out.key("requestMetadata").object().key("user_id").json(user).end_object();
    }
}

/// Whether the shape of the answer has to be asked for in words.
fn asked_in_words(request: &Request<'_>, cx: &WriteContext) -> bool {
    match &request.output {
        Some(Output::Object) => true,
        Some(Output::Schema { .. }) => cx.caps.json_schema == Some(false),
        _ => false,
    }
}

fn output_config(request: &Request<'_>, plan: &Plan, by_prompt: bool, out: &mut JsonWriter) {
    let mut inner = JsonWriter::default();
    inner.object();
    if let (Some(Output::Schema { schema, name, description, .. }), false) = (&request.output, by_prompt) {
        inner.key("textFormat").object().key("type").text("json_schema").key("structure").object();
        inner.key("jsonSchema").object().key("schema").text(schema.raw());
        match name {
            Some(name) => drop(inner.key("name").str(name)),
            None if request.wire == NAME => {}
            None => drop(inner.key("name").text("response")),
        }
        inner.opt_str("description", description.as_ref());
        inner.end_object().end_object().end_object();
    }
    if let Some(effort) = &plan.effort {
        inner.key("effort").text(effort);
    }
    filled("outputConfig", inner, out);
}

/// There is no choice of no tool: without calls in the history the tools are left out, else they stay.
fn tools(request: &Request<'_>, own: bool, out: &mut JsonWriter, notes: &mut Notes) -> Result<(), WireError> {
    let choice = request.tool_choice.as_ref();
    let mut offered = request.tools.iter().filter(|t| is_offered(t, choice, false)).peekable();
    if offered.peek().is_none() {
        return Ok(());
    }
    if choice == Some(&ToolChoice::None) && !own {
        let spoken = |p: &Part<'_>| matches!(p, Part::Call(_) | Part::Result(_));
        if !request.turns.iter().flat_map(|t| &t.parts).any(spoken) {
            return Ok(());
        }
        notes.push(choice_dropped());
    }
    out.key("toolConfig").object().key("tools").array();
    for tool in offered {
        write_tool(tool, own, out)?;
        cache_point(tool.cache, out);
    }
    out.end_array();
    match choice {
        Some(ToolChoice::Auto | ToolChoice::Allowed { required: false, .. }) => {
            out.key("toolChoice").raw(r#"{"auto":{}}"#);
        }
        Some(ToolChoice::Required | ToolChoice::Allowed { required: true, .. }) => {
            out.key("toolChoice").raw(r#"{"any":{}}"#);
        }
        Some(ToolChoice::Named { name, .. }) => {
            out.key("toolChoice").object().key("tool").object().key("name").str(name);
            out.end_object().end_object();
        }
        Some(ToolChoice::Raw(raw)) if own => drop(out.key("toolChoice").json(raw)),
        Some(ToolChoice::Raw(_)) => notes.push(dropped("tool_choice")),
        Some(ToolChoice::None) | None => {}
    }
    out.end_object();
    Ok(())
}

fn write_tool(tool: &Tool<'_>, own: bool, out: &mut JsonWriter) -> Result<(), WireError> {
    let custom = matches!(tool.kind, ToolKind::Custom(_));
    match &tool.kind {
        ToolKind::Server(raw) if own => {
            out.json(raw);
            return Ok(());
        }
        ToolKind::Server(_) | ToolKind::WebSearch(_) => return Err(no_tool(NAME, tool)),
        ToolKind::Function | ToolKind::Custom(_) => {}
    }
    out.object().key("toolSpec").object().key("name").str(&tool.name);
    let said = tool.description.as_ref().filter(|d| own || !d.is_empty()); // an empty one is refused
    out.opt_str("description", said).key("inputSchema").object().key("json");
    match &tool.schema {
        _ if custom => out.raw(FREE_INPUT),
        Some(schema) => out.json(schema),
        None => out.raw(NO_INPUT),
    };
    out.end_object();
    if own || tool.strict == Some(true) {
        out.opt_bool("strict", tool.strict);
    }
    if own {
        out.extra(&tool.extra);
    }
    out.end_object().end_object();
    Ok(())
}

fn messages<'d>(
    request: &Request<'d>,
    cx: &WriteContext,
    own: bool,
    by_prompt: bool,
    out: &mut JsonWriter,
    notes: &mut Notes,
) -> Result<(), WireError> {
    let head = request.turns.iter().take_while(|t| t.is_system()).count();
    let (system, rest) = request.turns.split_at(head);
    let turns = if own { rest.to_vec() } else { in_order(rest.to_vec(), cx, notes)? };
    write_system(system, request, own, by_prompt, out, notes)?;
    out.key("messages").array();
    let mut blocks = Blocks { own, fitted: !own, out, notes, documents: 0 };
    for (at, turn) in turns.iter().enumerate() {
        blocks.turn(turn, at)?;
    }
    out.end_array();
    Ok(())
}

fn write_system(
    system: &[Turn<'_>],
    request: &Request<'_>,
    own: bool,
    by_prompt: bool,
    out: &mut JsonWriter,
    notes: &mut Notes,
) -> Result<(), WireError> {
    let said = |p: &&Part<'_>| match p {
        Part::Text(text) => own || !text.text.decode().trim().is_empty(),
        _ => true,
    };
    let parts: Vec<_> = system.iter().flat_map(|t| &t.parts).filter(said).collect();
    if parts.is_empty() && !by_prompt {
        if own && !system.is_empty() {
            out.key("system").array().end_array();
        }
        return Ok(());
    }
    out.key("system").array();
    let mut blocks = Blocks { own, fitted: !own, out, notes, documents: 0 };
    for part in parts {
        match part {
            Part::Text(_) => blocks.part(part, "/system")?,
            Part::Opaque(_) if own => blocks.part(part, "/system")?,
            _ => {
                let message = "instructions may hold only text";
                return Err(WireError::invalid("unsupported_content_part", "/system", message));
            }
        }
    }
    if by_prompt {
        notes.push(Diagnostic::new(
            "structured_output_by_prompt",
            "/output",
            "asked for in the instructions",
        ));
        out.object().key("text").text(&prompt(request)).end_object();
    }
    out.end_array();
    Ok(())
}

fn prompt(request: &Request<'_>) -> String {
    match &request.output {
        Some(Output::Schema { schema, .. }) => {
            let head = "Reply with one JSON value that satisfies this JSON Schema and nothing else:";
            format!("{head}\n{}", Json::raw(schema))
        }
        _ => "Reply with one JSON object and nothing else.".to_owned(),
    }
}
