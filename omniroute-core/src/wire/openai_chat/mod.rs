//! OpenAI chat completions: `{"model", "messages": [{"role", "content", "tool_calls"}], "tools"}`.

mod encode;
mod media;
mod message;
mod reply;
mod request;
mod stream;
mod turn;
mod write;

pub(super) use media::write_address;
pub(super) use request::thinking_of;
pub(super) use write::thinking_word;

use super::fields::{array, error, expect, fields, last, pick, present, root_object, text};
use super::params::{Fate, ParamTable};
use super::stream::{SseReader, StreamReader, StreamWriter};
use super::{Read, WireError, WireFormat, Written};
use crate::conversation::{
    Arguments, Conversation, Head, Part, Role, Text, Tool, ToolCall, ToolResult, Turn,
};
use crate::doc::{Doc, DocError, Kind, NodeId, Rule};
use crate::hub::{Param, Reply, Request, WriteContext};

#[derive(Debug)]
pub(super) struct OpenAiChat;

/// Simple parameters.
pub(super) const PARAMS: ParamTable = ParamTable {
    wire: "openai-chat",
    rows: &[
        (Param::MaxOutput, Fate::Own),
        (Param::Temperature, Fate::Key("temperature")),
        (Param::TopP, Fate::Key("top_p")),
        (Param::TopK, Fate::Host("top_k")),
        (Param::MinP, Fate::Host("min_p")),
        (Param::RepetitionPenalty, Fate::Host("repetition_penalty")),
        (Param::TypicalP, Fate::Host("typical_p")),
        (Param::Stop, Fate::List("stop", 4)),
        (Param::Seed, Fate::Key("seed")),
        (Param::FrequencyPenalty, Fate::Key("frequency_penalty")),
        (Param::PresencePenalty, Fate::Key("presence_penalty")),
        (Param::LogitBias, Fate::Key("logit_bias")),
        (Param::Logprobs, Fate::Key("logprobs")),
        (Param::TopLogprobs, Fate::Key("top_logprobs")),
        (Param::Candidates, Fate::Key("n")),
        (Param::User, Fate::Key("user")),
        (Param::ParallelTools, Fate::Key("parallel_tool_calls")),
        (Param::ServiceTier, Fate::Key("service_tier")),
        (Param::Speed, Fate::Drop),
        (Param::CacheKey, Fate::Key("prompt_cache_key")),
        (Param::CacheRetention, Fate::Key("prompt_cache_retention")),
        (Param::CacheOptions, Fate::Drop),
        (Param::CachedContent, Fate::Incapable("unsupported_param")),
        (Param::KeepAlive, Fate::Silent),
        (Param::Metadata, Fate::Key("metadata")),
        (Param::Store, Fate::Key("store")),
        (Param::PreviousResponse, Fate::Incapable("previous_response_not_found")),
        (Param::Conversation, Fate::Incapable("unsupported_param")),
        (Param::Include, Fate::Silent),
        (Param::Truncation, Fate::Drop),
        (Param::MaxToolCalls, Fate::Drop),
        (Param::Verbosity, Fate::Key("verbosity")),
        (Param::Modalities, Fate::Key("modalities")),
        (Param::Prediction, Fate::Key("prediction")),
        (Param::SafetySettings, Fate::Drop),
        (Param::MediaResolution, Fate::Drop),
        (Param::SpeechConfig, Fate::Drop),
        (Param::ContextManagement, Fate::Incapable("unsupported_param")),
        (Param::Documents, Fate::Incapable("unsupported_param")),
    ],
    also: &[
        ("max_completion_tokens", Param::MaxOutput),
        ("max_tokens", Param::MaxOutput),
        ("safety_identifier", Param::User),
    ],
};

impl WireFormat for OpenAiChat {
    fn id(&self) -> &'static str {
        "openai-chat"
    }

    fn aliases(&self) -> &'static [&'static str] {
        &["openai", "chat", "openai_chat"]
    }

    fn claims(&self, doc: &Doc) -> bool {
        doc.get(doc.root(), "messages").is_some() // whatever it holds: reading tells what is wrong with it
    }

    fn head<'d>(&self, doc: &'d Doc) -> Head<'d> {
        let get = |key| doc.get(doc.root(), key);
        let limit = get("max_completion_tokens").or_else(|| get("max_tokens"));
        Head {
            model: text(doc, get("model")),
            stream: get("stream").and_then(|n| doc.bool(n)).unwrap_or(false),
            max_output: limit.and_then(|n| doc.integer(n)),
        }
    }

    fn read<'d>(&self, doc: &'d Doc) -> Result<Conversation<'d>, DocError> {
        let root = root_object(doc)?;
        let mut out = Conversation { head: self.head(doc), ..Conversation::default() };
        let (once, rest) = (["messages", "model"], ["tools", "functions"]);
        let ([messages, _], [tools, functions]) =
            fields(doc, root, once, rest, |key, value| out.extra.push((key, value)))?;
        for list in [tools, functions].into_iter().flatten() {
            for node in doc.elements(list) {
                let inner = doc.get(node, "function").unwrap_or(node);
                out.tools.push(Tool { name: text(doc, doc.get(inner, "name")), node });
            }
        }
        let messages = array(doc, root, messages, "messages")?;
        for (index, node) in doc.elements(messages).enumerate() {
            out.turns.push(message(doc, node, index as u32)?);
        }
        Ok(out)
    }

    fn read_request<'d>(&self, doc: &'d Doc) -> Result<Read<Request<'d>>, WireError> {
        request::read(doc)
    }

    fn write(&self, request: &Request<'_>, cx: &WriteContext) -> Result<Written, WireError> {
        write::write(request, cx)
    }

    fn read_reply<'d>(&self, doc: &'d Doc) -> Result<Read<Reply<'d>>, WireError> {
        reply::read(doc)
    }

    fn write_reply(&self, reply: &Reply<'_>, cx: &WriteContext) -> Result<Written, WireError> {
        reply::write(reply, cx)
    }

    fn stream_reader(&self) -> Option<Box<dyn StreamReader>> {
        Some(Box::new(SseReader::new(stream::ChatDecoder::default())))
    }

    fn stream_writer(&self, cx: &WriteContext) -> Option<Box<dyn StreamWriter>> {
        Some(Box::new(encode::ChatWriter::new(cx)))
    }
}

fn message(doc: &Doc, node: NodeId, index: u32) -> Result<Turn<'_>, DocError> {
    expect(doc, node, Kind::Object, "a message")?;
    let names = [
        "tool_calls",
        "tool_call_id",
        "function_call",
        "name",
        "refusal",
        "reasoning_content",
        "reasoning",
        "reasoning_details",
    ];
    let ([role, content], [calls, call_id, legacy_call, name, refusal, thoughts @ ..]) =
        pick(doc, node, ["role", "content"], names)?;
    let role = role_of(doc, node, role)?;
    let content = content_parts(doc, content)?;
    let Some(role) = role else { return Ok(opaque_turn(node, index)) };
    let mut parts = Vec::new();
    // Each vendor has its own word for it; some carry signatures in the last one.
    for reasoning in thoughts.into_iter().flatten().filter(|r| present(doc, Some(*r))) {
        parts.push(Part::Reasoning { node: reasoning, text: doc.json_str(reasoning) });
    }
    if role == Role::Tool {
        parts.push(Part::ToolResult(ToolResult {
            node,
            id: text(doc, call_id),
            name: text(doc, name),
            parts: content,
            is_error: false,
            exit_code: None,
        }));
    } else {
        parts.extend(content);
    }
    if let Some(refusal) = refusal.filter(|r| present(doc, Some(*r))) {
        parts.push(Part::Opaque { node: refusal });
    }
    for call in calls.into_iter().flat_map(|c| doc.elements(c)) {
        parts.push(Part::ToolCall(tool_call(doc, call)));
    }
    if let Some(call) = legacy_call.filter(|c| doc.kind(*c) == Kind::Object) {
        parts.push(Part::ToolCall(function(doc, call, None)));
    }
    Ok(Turn { role, index: Some(index), node, parts })
}

/// Who speaks in the message `node`; `None` for a role that no wire knows: the message is opaque then.
pub(super) fn role_of(doc: &Doc, node: NodeId, role: Option<NodeId>) -> Result<Option<Role>, DocError> {
    let Some(role) = role else {
        return Err(error(doc, node, Rule::Shape, "a message has no \"role\"".into()));
    };
    expect(doc, role, Kind::String, "\"role\"")?;
    Ok(match doc.str(role).as_deref() {
        Some("system") => Some(Role::System),
        Some("developer") => Some(Role::Developer),
        Some("user") => Some(Role::User),
        Some("assistant" | "model") => Some(Role::Assistant),
        Some("tool" | "function") => Some(Role::Tool),
        _ => None,
    })
}

/// A message of an unknown role: nothing in it is read or edited.
pub(super) fn opaque_turn<'d>(node: NodeId, index: u32) -> Turn<'d> {
    Turn { role: Role::User, index: Some(index), node, parts: vec![Part::Opaque { node }] }
}

fn content_parts(doc: &Doc, content: Option<NodeId>) -> Result<Vec<Part<'_>>, DocError> {
    let Some(content) = content else { return Ok(Vec::new()) };
    match doc.kind(content) {
        Kind::Null => Ok(Vec::new()),
        Kind::String => {
            Ok(doc.json_str(content).map(|t| Part::Text(Text::new(content, t))).into_iter().collect())
        }
        Kind::Array => Ok(doc.elements(content).map(|node| content_part(doc, node)).collect()),
        // One vendor's clients send a single part without its array.
        Kind::Object => Ok(vec![content_part(doc, content)]),
        _ => Err(error(doc, content, Rule::Shape, "\"content\" is neither text nor a list of parts".into())),
    }
}

fn content_part(doc: &Doc, node: NodeId) -> Part<'_> {
    if let Some(t) = doc.json_str(node) {
        return Part::Text(Text::new(node, t));
    }
    let [kind, value] = last(doc, node, ["type", "text"]);
    let is = |name| text(doc, kind).is_some_and(|k| k.is(name));
    match (is("text"), value.and_then(|v| Some((v, doc.json_str(v)?)))) {
        (true, Some((value, t))) => Part::Text(Text::new(value, t)),
        _ if is("image_url") || is("input_audio") || is("file") => Part::Media { node },
        _ => Part::Opaque { node },
    }
}

fn tool_call(doc: &Doc, node: NodeId) -> ToolCall<'_> {
    let [id, called, custom] = last(doc, node, ["id", "function", "custom"]);
    match called.or(custom) {
        Some(inner) if doc.kind(inner) == Kind::Object => {
            let mut call = function(doc, inner, id);
            call.node = node;
            call
        }
        _ => ToolCall { node, id: text(doc, id), name: None, arguments: Arguments::None },
    }
}

fn function<'d>(doc: &'d Doc, node: NodeId, id: Option<NodeId>) -> ToolCall<'d> {
    let [name, arguments, input] = last(doc, node, ["name", "arguments", "input"]);
    let arguments = match arguments {
        Some(_) => arguments_of(doc, arguments),
        None => free_text_of(doc, input),
    };
    ToolCall { node, id: text(doc, id), name: text(doc, name), arguments }
}

/// A string of JSON in most clients, a plain object in some.
pub(super) fn arguments_of(doc: &Doc, value: Option<NodeId>) -> Arguments<'_> {
    match value {
        None => Arguments::None,
        Some(node) => match doc.json_str(node) {
            Some(t) => Arguments::Text(node, t),
            None => Arguments::Json(node),
        },
    }
}

/// What a custom tool is called with: any text.
pub(super) fn free_text_of(doc: &Doc, value: Option<NodeId>) -> Arguments<'_> {
    match arguments_of(doc, value) {
        Arguments::Text(node, t) => Arguments::Free(node, t),
        other => other,
    }
}
