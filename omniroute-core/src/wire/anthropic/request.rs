//! Reads requests.

use super::PARAMS;
use super::blocks::{NAME, content};
use crate::conversation::Role;
use crate::doc::{Doc, Kind, NodeId, Rule};
use crate::hub::{
    Extra, Json, Opaque, Output, Param, Part, Reasoning, Request, Tool, ToolChoice, ToolKind, Turn, Weight,
};
use crate::wire::common::sort_members;
use crate::wire::fields::{array, error, expect, fields, pick as pick_once, root_object};
use crate::wire::openai_chat::{role_of, thinking_of};
use crate::wire::read::{boolean, cache_mark, chars, is, json, pick, string, take};
use crate::wire::{Read, WireError};

pub(super) fn read(doc: &Doc) -> Result<Read<Request<'_>>, WireError> {
    let root = root_object(doc)?;
    let mut out = Request { wire: NAME, ..Request::default() };
    let rest = [
        "system",
        "tools",
        "tool_choice",
        "thinking",
        "output_config",
        "metadata",
        "stream",
        "cache_control",
    ];
    let mut others = Vec::new();
    let ([messages, model], found) =
        fields(doc, root, ["messages", "model"], rest, |key, value| others.push((key, value)))?;
    let [system, tools, choice, thinking, config, metadata, stream, cache] =
        found.map(|n| n.filter(|n| doc.kind(*n) != Kind::Null));
    sort_members(doc, others, &PARAMS, &mut out);
    out.model = string(doc, model);
    out.stream = boolean(doc, stream);
    out.cache = cache_mark(doc, cache);
    if let Some(node) = metadata {
        user(doc, node, &mut out);
    }
    out.tools = tools.into_iter().flat_map(|t| doc.elements(t)).map(|n| tool(doc, n)).collect();
    if let Some(node) = choice {
        let parallel = boolean(doc, doc.get(node, "disable_parallel_tool_use"));
        out.params
            .extend(parallel.map(|off| (Param::ParallelTools, Json::of(if off { "false" } else { "true" }))));
        out.tool_choice = Some(tool_choice(doc, node));
    }
    settings(doc, thinking, config, &mut out);
    if let Some(node) = system {
        let (parts, plain) = content(doc, node)?;
        out.turns.push(Turn { plain, ..Turn::new(Role::System, parts) });
    }
    for node in doc.elements(array(doc, root, messages, "messages")?) {
        out.turns.push(message(doc, node)?);
    }
    Ok(Read::clean(out))
}

fn message(doc: &Doc, node: NodeId) -> Result<Turn<'_>, WireError> {
    expect(doc, node, Kind::Object, "a message")?;
    let ([role, body], []) = pick_once(doc, node, ["role", "content"], [])?;
    let Some(role) = role_of(doc, node, role)? else {
        let raw = Opaque { wire: NAME, raw: Json::at(doc, node), weight: Weight::Meaning };
        return Ok(Turn { item: true, ..Turn::new(Role::User, vec![Part::Opaque(raw)]) });
    };
    let body = body.ok_or_else(|| error(doc, node, Rule::Shape, "a message has no \"content\"".into()))?;
    let (parts, plain) = content(doc, body)?;
    let mut turn = Turn { plain, ..Turn::new(role, parts) };
    let [_, _] = take(doc, node, ["role", "content"], &mut turn.extra);
    Ok(turn)
}

fn user<'d>(doc: &'d Doc, node: NodeId, out: &mut Request<'d>) {
    let mut extra = Extra::new();
    let [user] = take(doc, node, ["user_id"], &mut extra);
    match user.filter(|_| extra.is_empty()) {
        Some(user) => out.params.push((Param::User, Json::at(doc, user))),
        None => out.extra.push(("metadata".into(), Json::at(doc, node))),
    }
}

fn tool(doc: &Doc, node: NodeId) -> Tool<'_> {
    let mut extra = Extra::new();
    let names = ["type", "name", "description", "input_schema", "strict", "cache_control"];
    let [kind, name, description, schema, strict, cache] = take(doc, node, names, &mut extra);
    let name = string(doc, name).unwrap_or_default();
    let sort = chars(doc, kind).unwrap_or_else(|| "custom".into());
    if sort != "custom" {
        let raw = Json::at(doc, node);
        let kind =
            if sort.starts_with("web_search") { ToolKind::WebSearch(raw) } else { ToolKind::Server(raw) };
        return Tool { cache: cache_mark(doc, cache), ..Tool::of(kind, name) };
    }
    Tool {
        name,
        description: string(doc, description),
        schema: json(doc, schema),
        strict: boolean(doc, strict),
        kind: ToolKind::Function,
        cache: cache_mark(doc, cache),
        extra,
    }
}

fn tool_choice(doc: &Doc, node: NodeId) -> ToolChoice<'_> {
    let [kind, name] = pick(doc, node, ["type", "name"]);
    match (chars(doc, kind).as_deref(), string(doc, name)) {
        (Some("auto"), _) => ToolChoice::Auto,
        (Some("none"), _) => ToolChoice::None,
        (Some("any"), _) => ToolChoice::Required,
        (Some("tool"), Some(name)) => ToolChoice::Named { name, custom: false },
        _ => ToolChoice::Raw(Json::at(doc, node)),
    }
}

/// `thinking` and `output_config`.
fn settings<'d>(doc: &'d Doc, thinking: Option<NodeId>, config: Option<NodeId>, out: &mut Request<'d>) {
    let mut asked = Reasoning::default();
    if let Some(node) = thinking {
        let [kind, budget] = take(doc, node, ["type", "budget_tokens"], &mut asked.extra);
        asked.thinking = thinking_of(doc, kind);
        asked.budget = budget.and_then(|n| doc.integer(n));
        if asked.thinking.is_none() {
            out.extra.push(("thinking".into(), Json::at(doc, node)));
        }
    }
    if let Some(node) = config {
        let mut unknown = Extra::new();
        let [effort, format] = take(doc, node, ["effort", "format"], &mut unknown);
        asked.effort = string(doc, effort);
        let schema =
            format.filter(|f| is(doc, doc.get(*f, "type"), "json_schema")).and_then(|f| doc.get(f, "schema"));
        match schema {
            Some(schema) => {
                let schema = Json::at(doc, schema);
                out.output = Some(Output::Schema { schema, name: None, description: None, strict: None });
            }
            None => unknown.extend(format.map(|f| ("format".into(), Json::at(doc, f)))),
        }
        for (key, value) in unknown {
            let name = format!("output_config/{}", key.decode());
            out.extra.push((name.into(), value));
        }
    }
    if asked.thinking.is_some() || asked.effort.is_some() {
        out.reasoning = Some(asked);
    }
}
