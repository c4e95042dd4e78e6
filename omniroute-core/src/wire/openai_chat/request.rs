//! Reads requests.

use super::PARAMS;
use super::message::{NAME, read_message};
use crate::doc::{Doc, Kind, NodeId};
use crate::hub::{Extra, Json, Output, Reasoning, Request, Str, Thinking, Tool, ToolChoice, ToolKind};
use crate::wire::common::sort_members;
use crate::wire::fields::{array, expect, fields, root_object};
use crate::wire::read::{boolean, cache_mark, chars, is, json, pick, string, take};
use crate::wire::{Read, WireError};

pub(super) fn read(doc: &Doc) -> Result<Read<Request<'_>>, WireError> {
    let root = root_object(doc)?;
    let mut out = Request { wire: NAME, ..Request::default() };
    let rest = [
        "tools",
        "functions",
        "tool_choice",
        "function_call",
        "stream",
        "stream_options",
        "response_format",
        "reasoning_effort",
        "reasoning",
        "thinking",
        "web_search_options",
        "cache_control",
    ];
    let mut others = Vec::new();
    let ([messages, model], found) =
        fields(doc, root, ["messages", "model"], rest, |key, value| others.push((key, value)))?;
    let [tools, functions, choice, call, stream, options, format, effort, reasoning, thinking, web, cache] =
        found.map(|n| n.filter(|n| doc.kind(*n) != Kind::Null));
    sort_members(doc, others, &PARAMS, &mut out);
    out.model = string(doc, model);
    out.stream = boolean(doc, stream);
    out.stream_usage = options.and_then(|o| boolean(doc, doc.get(o, "include_usage")));
    out.cache = cache_mark(doc, cache);
    for node in [tools, functions].into_iter().flatten().flat_map(|list| doc.elements(list)) {
        out.tools.push(tool(doc, node));
    }
    if let Some(options) = web {
        out.tools.push(Tool::of(ToolKind::WebSearch(Json::at(doc, options)), "web_search".into()));
    }
    out.tool_choice = choice.or(call).map(|n| tool_choice(doc, n));
    match format.map(|f| output(doc, f)) {
        Some(Some(output)) => out.output = Some(output),
        Some(None) => out.extra.extend(format.map(|f| ("response_format".into(), Json::at(doc, f)))),
        None => {}
    }
    out.reasoning = reasoning_of(doc, effort, reasoning, thinking, &mut out.extra);
    let messages = array(doc, root, messages, "messages")?;
    for node in doc.elements(messages) {
        expect(doc, node, Kind::Object, "a message")?;
        out.turns.push(read_message(doc, node)?);
    }
    Ok(Read::clean(out))
}

fn tool(doc: &Doc, node: NodeId) -> Tool<'_> {
    let mut extra = Extra::new();
    let [kind, function, custom, cache] =
        take(doc, node, ["type", "function", "custom", "cache_control"], &mut extra);
    let inner = function.or(custom).filter(|n| doc.kind(*n) == Kind::Object);
    let bare = doc.get(node, "parameters").or_else(|| doc.get(node, "input_schema")).is_some();
    let Some(inner) = inner.or((bare || kind.is_none()).then_some(node)) else {
        let name = chars(doc, doc.get(node, "name")).or_else(|| chars(doc, kind)).unwrap_or_default();
        let raw = Json::at(doc, node);
        return Tool::of(ToolKind::Server(raw), name.into());
    };
    if inner == node {
        extra.clear();
    }
    let names =
        ["name", "description", "parameters", "input_schema", "strict", "format", "type", "cache_control"];
    let [name, description, parameters, schema, strict, format, _, _] = take(doc, inner, names, &mut extra);
    Tool {
        name: string(doc, name).unwrap_or_default(),
        description: string(doc, description),
        schema: json(doc, parameters.or(schema)),
        strict: boolean(doc, strict),
        kind: if custom.is_some() { ToolKind::Custom(json(doc, format)) } else { ToolKind::Function },
        cache: cache_mark(doc, cache),
        extra,
    }
}

pub(super) fn tool_choice(doc: &Doc, node: NodeId) -> ToolChoice<'_> {
    let word = chars(doc, Some(node));
    match word.as_deref() {
        Some("auto") => return ToolChoice::Auto,
        Some("none") => return ToolChoice::None,
        Some("required" | "any") => return ToolChoice::Required,
        _ => {}
    }
    let [function, custom, allowed, name] = pick(doc, node, ["function", "custom", "allowed_tools", "name"]);
    let named = function.or(custom).and_then(|f| doc.get(f, "name")).or(name);
    if let Some(name) = string(doc, named) {
        return ToolChoice::Named { name, custom: custom.is_some() };
    }
    match allowed {
        Some(allowed) => {
            let required = is(doc, doc.get(allowed, "mode"), "required");
            let tools = doc.get(allowed, "tools").into_iter().flat_map(|t| doc.elements(t));
            let named = |t| doc.get(doc.get(t, "function").unwrap_or(t), "name");
            let names = tools.filter_map(|t| Str::at(doc, named(t)?)).collect();
            ToolChoice::Allowed { required, names }
        }
        None => ToolChoice::Raw(Json::at(doc, node)),
    }
}

fn output(doc: &Doc, node: NodeId) -> Option<Output<'_>> {
    let [kind, inner] = pick(doc, node, ["type", "json_schema"]);
    if is(doc, kind, "text") {
        return Some(Output::Text);
    }
    if is(doc, kind, "json_object") && inner.is_none() {
        return Some(Output::Object);
    }
    let mut unknown = Extra::new();
    let names = ["schema", "name", "description", "strict"];
    let [schema, name, description, strict] = take(doc, inner?, names, &mut unknown);
    if !unknown.is_empty() {
        return None; // kept as it is
    }
    Some(Output::Schema {
        schema: json(doc, schema)?,
        name: string(doc, name),
        description: string(doc, description),
        strict: boolean(doc, strict),
    })
}

/// Hosts spell it in three ways, sometimes in two at once.
fn reasoning_of<'d>(
    doc: &'d Doc,
    effort: Option<NodeId>,
    object: Option<NodeId>,
    thinking: Option<NodeId>,
    top: &mut Extra<'d>,
) -> Option<Reasoning<'d>> {
    let mut out = Reasoning { effort: string(doc, effort), ..Reasoning::default() };
    if let Some(node) = object {
        let names = ["effort", "max_tokens", "exclude", "enabled", "summary"];
        let [inner, budget, exclude, enabled, summary] = take(doc, node, names, &mut out.extra);
        out.nested = true;
        out.effort = string(doc, inner).or(out.effort);
        out.budget = budget.and_then(|n| doc.integer(n));
        out.expose = boolean(doc, exclude).map(|hidden| !hidden);
        out.summary = string(doc, summary);
        out.thinking = boolean(doc, enabled).map(|on| if on { Thinking::On } else { Thinking::Off });
    }
    if let Some(node) = thinking {
        let [kind, budget] = pick(doc, node, ["type", "budget_tokens"]);
        out.thinking = thinking_of(doc, kind);
        out.budget = budget.and_then(|n| doc.integer(n)).or(out.budget);
        if out.thinking.is_none() || out.nested {
            top.push(("thinking".into(), Json::at(doc, node)));
        }
    }
    (effort.is_some() || object.is_some() || out.thinking.is_some()).then_some(out)
}

pub(in crate::wire) fn thinking_of(doc: &Doc, kind: Option<NodeId>) -> Option<Thinking> {
    match chars(doc, kind).as_deref() {
        Some("enabled") => Some(Thinking::On),
        Some("disabled") => Some(Thinking::Off),
        Some("adaptive" | "auto") => Some(Thinking::Adaptive),
        _ => None,
    }
}

impl<'d> Tool<'d> {
    /// A tool of the provider.
    pub(in crate::wire) fn of(kind: ToolKind<'d>, name: Str<'d>) -> Self {
        Tool { name, description: None, schema: None, strict: None, kind, cache: None, extra: Vec::new() }
    }
}
