//! Reads requests.

use omniroute_core::hub::{
    CacheMark, Extra, Json, Output, Param, Request, Str, Tool, ToolChoice, ToolKind, Turn,
};
use omniroute_core::wire::read::{boolean, chars, is, json, pick, string, take};
use omniroute_core::wire::{Read, WireError};
use omniroute_core::{Doc, DocError, Kind, NodeId, Role};

use super::blocks::{cache_point, content, opaque};
use super::thinking::read_thinking;
use super::{NAME, PARAMS};
use crate::wires::common::{array, object, once, root_object, server_tool, shape, sort_params};

pub(super) fn read(doc: &Doc) -> Result<Read<Request<'_>>, WireError> {
    let root = root_object(doc)?;
    once(doc, root, ["messages", "system"])?;
    let mut out = Request { wire: NAME, ..Request::default() };
    let names = [
        "messages",
        "system",
        "inferenceConfig",
        "toolConfig",
        "additionalModelRequestFields",
        "requestMetadata",
        "serviceTier",
        "outputConfig",
        "modelId",
    ];
    let [messages, system, config, tools, more, metadata, tier, output, model] =
        take(doc, root, names, &mut out.extra);
    out.model = string(doc, model);
    let mut settings = Extra::new();
    if let Some(config) = config.filter(|n| doc.kind(*n) == Kind::Object) {
        let [] = take(doc, config, [], &mut settings);
    }
    for (key, value) in sort_params(settings, &PARAMS, &mut out.params) {
        out.extra.push((Str::from(format!("inferenceConfig/{}", key.decode())), value));
    }
    out.params.extend(metadata.map(|m| user_or_data(doc, m)));
    out.params.extend(tier.and_then(|t| json(doc, doc.get(t, "type"))).map(|t| (Param::ServiceTier, t)));
    if let Some(more) = more.filter(|n| doc.kind(*n) == Kind::Object) {
        fields(doc, more, &mut out);
    }
    if let Some(output) = output {
        read_output(doc, output, &mut out);
    }
    if let Some(tools) = tools.filter(|n| doc.kind(*n) == Kind::Object) {
        read_tools(doc, tools, &mut out);
    }
    if let Some(system) = system {
        out.turns.push(read_system(doc, root, system)?);
    }
    for node in doc.elements(array(doc, root, messages, "messages")?) {
        out.turns.push(message(doc, node)?);
    }
    Ok(Read::clean(out))
}

/// The client's user alone, or an object of texts.
fn user_or_data(doc: &Doc, node: NodeId) -> (Param, Json<'_>) {
    let user = doc.get(node, "user_id").filter(|n| doc.json_str(*n).is_some());
    match user.filter(|_| doc.members(node).count() == 1) {
        Some(user) => (Param::User, Json::at(doc, user)),
        None => (Param::Metadata, Json::at(doc, node)),
    }
}

/// What one model takes and others do not.
fn fields<'d>(doc: &'d Doc, node: NodeId, out: &mut Request<'d>) {
    let mut rest = Extra::new();
    let [top_k, thinking] = take(doc, node, ["top_k", "thinking"], &mut rest);
    out.params.extend(json(doc, top_k).map(|k| (Param::TopK, k)));
    out.reasoning = thinking.map(|n| read_thinking(doc, n));
    for (key, value) in rest {
        out.extra.push((Str::from(format!("additionalModelRequestFields/{}", key.decode())), value));
    }
}

/// `textFormat` holds a schema as text; `effort` is a word.
fn read_output<'d>(doc: &'d Doc, node: NodeId, out: &mut Request<'d>) {
    let mut unknown = Extra::new();
    let [format, effort] = take(doc, node, ["textFormat", "effort"], &mut unknown);
    let inner = format
        .filter(|f| is(doc, doc.get(*f, "type"), "json_schema"))
        .and_then(|f| doc.get(f, "structure"))
        .and_then(|s| doc.get(s, "jsonSchema"));
    let schema = inner.and_then(|s| chars(doc, doc.get(s, "schema"))).filter(|s| Doc::check(s).is_ok());
    if !unknown.is_empty() || (format.is_some() && schema.is_none()) {
        return out.extra.push(("outputConfig".into(), Json::at(doc, node)));
    }
    if let (Some(schema), Some(inner)) = (schema, inner) {
        let [name, description] = pick(doc, inner, ["name", "description"]);
        let (name, description) = (string(doc, name), string(doc, description));
        out.output = Some(Output::Schema { schema: Json::of(schema), name, description, strict: None });
    }
    if let Some(word) = string(doc, effort) {
        out.reasoning.get_or_insert_default().effort = Some(word);
    }
}

fn read_tools<'d>(doc: &'d Doc, node: NodeId, out: &mut Request<'d>) {
    let [tools, choice] = pick(doc, node, ["tools", "toolChoice"]);
    for node in tools.into_iter().flat_map(|t| doc.elements(t)) {
        let mark = doc.get(node, "cachePoint").and_then(|point| cache_point(doc, point));
        match (mark, out.tools.last_mut()) {
            (Some(mark), Some(last)) if last.cache.is_none() => last.cache = Some(mark),
            _ => out.tools.push(tool(doc, node)),
        }
    }
    out.tool_choice = choice.map(|choice| {
        let [auto, any, named] = pick(doc, choice, ["auto", "any", "tool"]);
        match (auto, any, named.and_then(|t| string(doc, doc.get(t, "name")))) {
            (Some(_), None, None) => ToolChoice::Auto,
            (None, Some(_), None) => ToolChoice::Required,
            (None, None, Some(name)) => ToolChoice::Named { name, custom: false },
            _ => ToolChoice::Raw(Json::at(doc, choice)),
        }
    });
}

fn tool(doc: &Doc, node: NodeId) -> Tool<'_> {
    let [spec, system] = pick(doc, node, ["toolSpec", "systemTool"]);
    let Some(spec) = spec else {
        let name = system.and_then(|s| string(doc, doc.get(s, "name")));
        return server_tool(Json::at(doc, node), name.unwrap_or_default());
    };
    let mut extra = Extra::new();
    let [name, description, schema, strict] =
        take(doc, spec, ["name", "description", "inputSchema", "strict"], &mut extra);
    Tool {
        name: string(doc, name).unwrap_or_default(),
        description: string(doc, description),
        schema: schema.and_then(|s| json(doc, doc.get(s, "json"))),
        strict: boolean(doc, strict),
        kind: ToolKind::Function,
        cache: None::<CacheMark>,
        extra,
    }
}

fn read_system<'d>(doc: &'d Doc, root: NodeId, system: NodeId) -> Result<Turn<'d>, DocError> {
    if doc.kind(system) != Kind::Array {
        return Err(shape(doc, system, "\"system\" is not an array"));
    }
    Ok(Turn::new(Role::System, content(doc, root, Some(system))?))
}

fn message(doc: &Doc, node: NodeId) -> Result<Turn<'_>, DocError> {
    object(doc, node, "a message")?;
    once(doc, node, ["role", "content"])?;
    let mut extra = Extra::new();
    let [role, list] = take(doc, node, ["role", "content"], &mut extra);
    let role = match chars(doc, role).as_deref() {
        Some("user") => Role::User,
        Some("assistant") => Role::Assistant,
        Some(_) => return Ok(Turn { item: true, ..Turn::new(Role::User, vec![opaque(doc, node)]) }),
        None => return Err(shape(doc, node, "a message has no \"role\"")),
    };
    Ok(Turn { extra, ..Turn::new(role, content(doc, node, list)?) })
}
