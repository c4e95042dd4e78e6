//! Reads requests.

use super::PARAMS;
use super::items::{NAME, item};
use crate::conversation::Role;
use crate::doc::{Doc, Kind, NodeId, Rule};
use crate::hub::{
    Extra, Json, Output, Param, Part, Reasoning, Request, Seal, Str, Text, Tool, ToolChoice, ToolKind, Turn,
};
use crate::wire::common::sort_members;
use crate::wire::fields::{error, fields, root_object};
use crate::wire::read::{boolean, chars, is, json, pick, string, take};
use crate::wire::seal::open;
use crate::wire::{Read, WireError};

pub(super) fn read(doc: &Doc) -> Result<Read<Request<'_>>, WireError> {
    let root = root_object(doc)?;
    let mut out = Request { wire: NAME, ..Request::default() };
    let rest = ["tools", "tool_choice", "instructions", "text", "reasoning", "stream", "stream_options"];
    let mut others = Vec::new();
    let ([input, model], found) =
        fields(doc, root, ["input", "model"], rest, |key, value| others.push((key, value)))?;
    let [tools, choice, instructions, text, reasoning, stream, _] =
        found.map(|n| n.filter(|n| doc.kind(*n) != Kind::Null));
    sort_members(doc, others, &PARAMS, &mut out);
    let wanted = |list: &Json<'_>| list.raw().contains("\"message.output_text.logprobs\"");
    if out.param(Param::Include).is_some_and(wanted) {
        out.params.push((Param::Logprobs, Json::of("true")));
    }
    out.model = string(doc, model);
    out.stream = boolean(doc, stream);
    out.tools = tools.into_iter().flat_map(|t| doc.elements(t)).map(|n| tool(doc, n)).collect();
    out.tool_choice = choice.map(|n| tool_choice(doc, n));
    if let Some(node) = text {
        text_settings(doc, node, &mut out);
    }
    if let Some(node) = reasoning {
        let mut asked = Reasoning { nested: true, ..Reasoning::default() };
        let [effort, summary] = take(doc, node, ["effort", "summary"], &mut asked.extra);
        asked.effort = string(doc, effort);
        asked.summary = string(doc, summary);
        out.reasoning = Some(asked);
    }
    if let Some(text) = string(doc, instructions) {
        let part = Part::Text(Text { text, ..Text::default() });
        out.turns.push(Turn { plain: true, ..Turn::new(Role::System, vec![part]) });
    }
    let input = input.ok_or_else(|| error(doc, root, Rule::Shape, "key \"input\" is missing".into()))?;
    match (doc.kind(input), Str::at(doc, input)) {
        (Kind::Array, _) => {
            for node in doc.elements(input) {
                out.turns.push(item(doc, node)?);
            }
        }
        (_, Some(text)) => {
            let part = Part::Text(Text { text, ..Text::default() });
            out.turns.push(Turn { plain: true, ..Turn::new(Role::User, vec![part]) });
        }
        _ => {
            let detail = "\"input\" is neither text nor a list of items".to_owned();
            return Err(error(doc, input, Rule::Shape, detail).into());
        }
    }
    unpack(&mut out.turns);
    Ok(Read::clean(out))
}

/// Puts seals that belong to calls back on them.
fn unpack(turns: &mut [Turn<'_>]) {
    let mut found: Vec<(String, Seal<'static>)> = Vec::new();
    for part in turns.iter_mut().flat_map(|t| &mut t.parts) {
        match part {
            Part::Thought(thought) => {
                let Some((seal, call)) = thought.seal.as_ref().and_then(|s| open(&s.data.decode())) else {
                    continue;
                };
                thought.seal = None;
                match call {
                    Some(call) => found.push((call, seal)),
                    None => thought.seal = Some(seal),
                }
            }
            Part::Call(call) if !found.is_empty() => {
                if let Some(at) = found.iter().position(|(id, _)| call.id.is(id)) {
                    call.seal = Some(found.remove(at).1);
                }
            }
            _ => {}
        }
    }
}

fn tool(doc: &Doc, node: NodeId) -> Tool<'_> {
    let mut extra = Extra::new();
    let names = ["type", "name", "description", "parameters", "strict", "format"];
    let [kind, name, description, parameters, strict, format] = take(doc, node, names, &mut extra);
    let sort = chars(doc, kind).unwrap_or_else(|| "function".into());
    let name = string(doc, name);
    let kind = match sort.as_str() {
        "function" => ToolKind::Function,
        "custom" => ToolKind::Custom(json(doc, format)),
        sort => {
            let raw = Json::at(doc, node);
            let kind =
                if sort.starts_with("web_search") { ToolKind::WebSearch(raw) } else { ToolKind::Server(raw) };
            return Tool::of(kind, name.unwrap_or_else(|| sort.to_owned().into()));
        }
    };
    Tool {
        name: name.unwrap_or_default(),
        description: string(doc, description),
        schema: json(doc, parameters),
        strict: boolean(doc, strict),
        kind,
        cache: None,
        extra,
    }
}

fn tool_choice(doc: &Doc, node: NodeId) -> ToolChoice<'_> {
    match chars(doc, Some(node)).as_deref() {
        Some("auto") => return ToolChoice::Auto,
        Some("none") => return ToolChoice::None,
        Some("required") => return ToolChoice::Required,
        _ => {}
    }
    let [kind, name, mode, tools] = pick(doc, node, ["type", "name", "mode", "tools"]);
    match (chars(doc, kind).as_deref(), string(doc, name)) {
        (Some("function"), Some(name)) => ToolChoice::Named { name, custom: false },
        (Some("custom"), Some(name)) => ToolChoice::Named { name, custom: true },
        (Some("allowed_tools"), _) => {
            let tools = tools.into_iter().flat_map(|t| doc.elements(t));
            let names = tools.filter_map(|t| string(doc, doc.get(t, "name"))).collect();
            ToolChoice::Allowed { required: is(doc, mode, "required"), names }
        }
        _ => ToolChoice::Raw(Json::at(doc, node)),
    }
}

fn text_settings<'d>(doc: &'d Doc, node: NodeId, out: &mut Request<'d>) {
    let mut unknown = Extra::new();
    let [format, verbosity] = take(doc, node, ["format", "verbosity"], &mut unknown);
    out.params.extend(json(doc, verbosity).map(|v| (Param::Verbosity, v)));
    out.extra
        .extend(unknown.into_iter().map(|(key, value)| (format!("text/{}", key.decode()).into(), value)));
    let Some(format) = format else { return };
    let [kind, schema, name, description, strict] =
        pick(doc, format, ["type", "schema", "name", "description", "strict"]);
    out.output = match (chars(doc, kind).as_deref(), json(doc, schema)) {
        (Some("json_schema"), Some(schema)) => Some(Output::Schema {
            schema,
            name: string(doc, name),
            description: string(doc, description),
            strict: boolean(doc, strict),
        }),
        (Some("json_object"), _) => Some(Output::Object),
        (Some("text"), _) => Some(Output::Text),
        _ => {
            out.extra.push(("text/format".into(), Json::at(doc, format)));
            None
        }
    };
}
