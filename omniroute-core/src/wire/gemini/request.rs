//! Reads requests.

use super::parts::{NAME, either, opaque, part};
use super::{CONFIG, TOP};
use crate::conversation::Role;
use crate::doc::{Doc, Kind, NodeId};
use crate::hub::{
    Extra, Json, Output, Part, Reasoning, Request, Str, Text, Tool, ToolChoice, ToolKind, Turn,
};
use crate::wire::common::sort_members;
use crate::wire::fields::{array, expect, fields, pick as pick_once, root_object};
use crate::wire::ids::made;
use crate::wire::openai_chat::role_of;
use crate::wire::read::{boolean, chars, json, string, take};
use crate::wire::{Read, WireError};

pub(super) fn read(doc: &Doc) -> Result<Read<Request<'_>>, WireError> {
    let root = root_object(doc)?;
    let mut out = Request { wire: NAME, ..Request::default() };
    let mut others = Vec::new();
    let ([contents, model], []) =
        fields(doc, root, ["contents", "model"], [], |key, value| others.push((key, value)))?;
    out.model = string(doc, model);
    let mut system = None;
    for (key, value) in others.into_iter().filter(|(_, v)| doc.kind(*v) != Kind::Null) {
        match key.decode().as_ref() {
            "systemInstruction" | "system_instruction" => system = Some(value),
            "tools" => doc.elements(value).for_each(|group| tools(doc, group, &mut out)),
            "toolConfig" | "tool_config" => tool_config(doc, value, &mut out),
            "generationConfig" | "generation_config" => config(doc, value, &mut out),
            _ => sort_members(doc, [(key, value)], &TOP, &mut out),
        }
    }
    if let Some(node) = system {
        out.turns.push(instructions(doc, node)?);
    }
    for node in doc.elements(array(doc, root, contents, "contents")?) {
        out.turns.push(content(doc, node)?);
    }
    name_calls(&mut out.turns);
    Ok(Read::clean(out))
}

fn instructions(doc: &Doc, node: NodeId) -> Result<Turn<'_>, WireError> {
    if let Some(text) = Str::at(doc, node) {
        let part = Part::Text(Text { text, ..Text::default() });
        return Ok(Turn { plain: true, ..Turn::new(Role::System, vec![part]) });
    }
    let mut turn = Turn::new(Role::System, Vec::new());
    let [parts, _] = take(doc, node, ["parts", "role"], &mut turn.extra);
    turn.parts =
        parts.into_iter().flat_map(|p| doc.elements(p)).map(|n| part(doc, n)).collect::<Result<_, _>>()?;
    Ok(turn)
}

fn content(doc: &Doc, node: NodeId) -> Result<Turn<'_>, WireError> {
    expect(doc, node, Kind::Object, "an entry of \"contents\"")?;
    let ([role, list], []) = pick_once(doc, node, ["role", "parts"], [])?;
    let role = match role {
        Some(_) => role_of(doc, node, role)?,
        None => Some(Role::User),
    };
    let Some(role) = role else {
        return Ok(Turn { item: true, ..Turn::new(Role::User, vec![opaque(doc, node)]) });
    };
    let list = array(doc, node, list, "parts")?;
    let parts = doc.elements(list).map(|n| part(doc, n)).collect::<Result<_, _>>()?;
    let mut turn = Turn::new(role, parts);
    let [_, _] = take(doc, node, ["role", "parts"], &mut turn.extra);
    Ok(turn)
}

/// The place of a part in a history; ids that are made are made from it.
pub(super) fn place(turn: usize, part: usize) -> u64 {
    (turn as u64) << 20 | part as u64
}

/// Gives ids to calls that have none, and to their results, which follow in order and by name.
fn name_calls(turns: &mut [Turn<'_>]) {
    let mut open: Vec<(String, String)> = Vec::new();
    for (t, turn) in turns.iter_mut().enumerate() {
        for (p, part) in turn.parts.iter_mut().enumerate() {
            match part {
                Part::Call(call) if call.id.is_empty() => {
                    let id = made(0, place(t, p));
                    open.push((call.name.decode().into_owned(), id.clone()));
                    call.id = id.into();
                }
                Part::Result(answer) if answer.id.is_empty() => {
                    let name = answer.name.as_ref().map(|n| n.decode().into_owned()).unwrap_or_default();
                    if let Some(at) = open.iter().position(|(n, _)| *n == name) {
                        answer.id = open.remove(at).1.into();
                    }
                }
                _ => {}
            }
        }
    }
}

fn tools<'d>(doc: &'d Doc, group: NodeId, out: &mut Request<'d>) {
    for (key, value) in doc.members(group).filter(|(_, v)| doc.kind(*v) != Kind::Null) {
        let name = doc.str(key).unwrap_or_default();
        if matches!(name.as_ref(), "functionDeclarations" | "function_declarations") {
            out.tools.extend(doc.elements(value).map(|n| function(doc, n)));
            continue;
        }
        let raw = Json::of(format!("{{{}:{}}}", doc.raw(key), doc.raw(value)));
        let search = matches!(name.as_ref(), "googleSearch" | "google_search");
        let kind = if search { ToolKind::WebSearch(raw) } else { ToolKind::Server(raw) };
        out.tools.push(Tool::of(kind, name.into_owned().into()));
    }
}

/// A schema in the older dialect stays in the extras too, so that it goes back where it was.
fn function(doc: &Doc, node: NodeId) -> Tool<'_> {
    let mut extra = Extra::new();
    let [name, description, schema] =
        take(doc, node, ["name", "description", "parametersJsonSchema"], &mut extra);
    let older = doc.get(node, "parameters").filter(|n| doc.kind(*n) != Kind::Null);
    Tool {
        description: string(doc, description),
        schema: json(doc, schema.or(older)),
        extra,
        ..Tool::of(ToolKind::Function, string(doc, name).unwrap_or_default())
    }
}

/// What stands beside the calling mode goes to the extras.
fn tool_config<'d>(doc: &'d Doc, node: NodeId, out: &mut Request<'d>) {
    let Some(calling) = either(doc, node, "functionCallingConfig", "function_calling_config") else {
        return out.extra.push(("toolConfig".into(), Json::at(doc, node)));
    };
    let names = either(doc, calling, "allowedFunctionNames", "allowed_function_names");
    let mut names: Vec<_> =
        names.into_iter().flat_map(|n| doc.elements(n)).filter_map(|n| Str::at(doc, n)).collect();
    let mode = chars(doc, doc.get(calling, "mode")).unwrap_or_default();
    out.tool_choice = Some(match (mode.as_str(), names.len()) {
        ("AUTO", 0) => ToolChoice::Auto,
        ("NONE", _) => ToolChoice::None,
        ("ANY", 0) => ToolChoice::Required,
        ("ANY", 1) => ToolChoice::Named { name: names.remove(0), custom: false },
        ("ANY", _) => ToolChoice::Allowed { required: true, names },
        ("VALIDATED" | "AUTO", 1..) => ToolChoice::Allowed { required: false, names },
        _ => ToolChoice::Raw(Json::at(doc, node)),
    });
    if matches!(out.tool_choice, Some(ToolChoice::Raw(_))) {
        return; // whole already
    }
    let beside = |(key, value)| Some((doc.json_str(key).filter(|_| value != calling)?, value));
    for (key, value) in doc.members(node).filter_map(beside) {
        out.extra.push((format!("toolConfig/{}", key.decode()).into(), Json::at(doc, value)));
    }
}

fn config<'d>(doc: &'d Doc, node: NodeId, out: &mut Request<'d>) {
    let mut unknown = Extra::new();
    let names = ["responseMimeType", "responseJsonSchema", "responseSchema", "thinkingConfig"];
    let [mime, schema, older, thinking] = take(doc, node, names, &mut unknown);
    let asked = schema.or(older);
    match (asked, chars(doc, mime).as_deref()) {
        (Some(schema), _) => {
            let schema = Json::at(doc, schema);
            out.output = Some(Output::Schema { schema, name: None, description: None, strict: None });
        }
        (None, Some("application/json")) => out.output = Some(Output::Object),
        (None, Some("text/plain")) => out.output = Some(Output::Text),
        (None, _) => {
            out.extra.extend(json(doc, mime).map(|m| ("generationConfig/responseMimeType".into(), m)))
        }
    }
    if schema.is_none() {
        out.extra.extend(json(doc, older).map(|s| ("generationConfig/responseSchema".into(), s)));
    }
    if let Some(node) = thinking {
        let mut asked = Reasoning { nested: true, ..Reasoning::default() };
        let names = ["thinkingBudget", "thinkingLevel", "includeThoughts"];
        let [budget, level, shown] = take(doc, node, names, &mut asked.extra);
        asked.budget = budget.and_then(|n| doc.integer(n));
        asked.effort = chars(doc, level).map(|l| l.to_ascii_lowercase().into());
        asked.expose = boolean(doc, shown);
        out.reasoning = Some(asked);
    }
    for (key, value) in unknown {
        let param = match &key {
            Str::Literal(literal) => CONFIG.param(*literal),
            Str::Chars(_) => None,
        };
        match param {
            Some(param) if out.param(param).is_none() => out.params.push((param, value)),
            _ => out.extra.push((format!("generationConfig/{}", key.decode()).into(), value)),
        }
    }
}
