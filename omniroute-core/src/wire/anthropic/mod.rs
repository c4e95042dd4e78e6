//! Anthropic messages: `{"model", "system", "messages": [{"role", "content": [blocks]}], "tools"}`.

mod blocks;
mod encode;
mod order;
mod reply;
mod request;
mod stream;
mod turn;
mod write;

use bytes::Bytes;

use super::fields::{array, error, expect, fields, last, pick, present, root_object, text};
use super::json::JsonWriter;
use super::openai_chat::{opaque_turn, role_of};
use super::params::{Fate, ParamTable};
use super::stream::{SseReader, StreamReader, StreamWriter};
use super::{Read, WireError, WireFormat, Written};
use crate::conversation::{
    Arguments, Conversation, Head, Part, Role, Text, Tool, ToolCall, ToolResult, Turn,
};
use crate::doc::{Doc, DocError, Kind, NodeId, Rule};
use crate::hub::{ErrorBody, Param, Reply, Request, WriteContext};

#[derive(Debug)]
pub(super) struct Anthropic;

/// Simple parameters.
pub(super) const PARAMS: ParamTable = ParamTable {
    wire: "anthropic-messages",
    rows: &[
        (Param::MaxOutput, Fate::Own),
        (Param::Temperature, Fate::Clamp("temperature", "0", "1")),
        (Param::TopP, Fate::Key("top_p")),
        (Param::TopK, Fate::Key("top_k")),
        (Param::MinP, Fate::Drop),
        (Param::RepetitionPenalty, Fate::Drop),
        (Param::TypicalP, Fate::Drop),
        (Param::Stop, Fate::List("stop_sequences", usize::MAX)),
        (Param::Seed, Fate::Drop),
        (Param::FrequencyPenalty, Fate::Drop),
        (Param::PresencePenalty, Fate::Drop),
        (Param::LogitBias, Fate::Drop),
        (Param::Logprobs, Fate::Drop),
        (Param::TopLogprobs, Fate::Drop),
        (Param::Candidates, Fate::Incapable("unsupported_param")),
        (Param::User, Fate::Own),
        (Param::ParallelTools, Fate::Own),
        (Param::ServiceTier, Fate::Own),
        (Param::Speed, Fate::Key("speed")),
        (Param::CacheKey, Fate::Silent),
        (Param::CacheRetention, Fate::Silent),
        (Param::CacheOptions, Fate::Silent),
        (Param::CachedContent, Fate::Incapable("unsupported_param")),
        (Param::KeepAlive, Fate::Silent),
        (Param::Metadata, Fate::Drop),
        (Param::Store, Fate::Silent),
        (Param::PreviousResponse, Fate::Incapable("previous_response_not_found")),
        (Param::Conversation, Fate::Incapable("unsupported_param")),
        (Param::Include, Fate::Silent),
        (Param::Truncation, Fate::Drop),
        (Param::MaxToolCalls, Fate::Drop),
        (Param::Verbosity, Fate::Drop),
        (Param::Modalities, Fate::Drop),
        (Param::Prediction, Fate::Drop),
        (Param::SafetySettings, Fate::Drop),
        (Param::MediaResolution, Fate::Drop),
        (Param::SpeechConfig, Fate::Drop),
        (Param::ContextManagement, Fate::Key("context_management")),
        (Param::Documents, Fate::Incapable("unsupported_param")),
    ],
    also: &[("max_tokens", Param::MaxOutput), ("service_tier", Param::ServiceTier)],
};

/// The member `error` of an error body or event.
fn write_error_object(error: &ErrorBody, out: &mut JsonWriter) {
    out.key("error").object().key("type").text(error.kind.as_deref().unwrap_or("api_error"));
    out.key("message").text(&error.message).end_object();
}

impl WireFormat for Anthropic {
    fn id(&self) -> &'static str {
        "anthropic-messages"
    }

    fn aliases(&self) -> &'static [&'static str] {
        &["anthropic", "messages", "anthropic_messages"]
    }

    fn claims(&self, doc: &Doc) -> bool {
        let root = doc.root();
        let Some(messages) = doc.get(root, "messages").filter(|m| doc.kind(*m) == Kind::Array) else {
            return false;
        };
        if ["system", "anthropic_version", "anthropic_beta"].iter().any(|k| doc.get(root, k).is_some()) {
            return true;
        }
        let own_tool = |tool| doc.get(tool, "input_schema").is_some();
        if doc.get(root, "tools").is_some_and(|tools| doc.elements(tools).any(own_tool)) {
            return true;
        }
        doc.elements(messages).any(|message| {
            let content = doc.get(message, "content");
            content.is_some_and(|c| doc.elements(c).any(|block| own_block(doc, block)))
        })
    }

    fn head<'d>(&self, doc: &'d Doc) -> Head<'d> {
        let get = |key| doc.get(doc.root(), key);
        Head {
            model: text(doc, get("model")),
            stream: get("stream").and_then(|n| doc.bool(n)).unwrap_or(false),
            max_output: get("max_tokens").and_then(|n| doc.integer(n)),
        }
    }

    fn read<'d>(&self, doc: &'d Doc) -> Result<Conversation<'d>, DocError> {
        let root = root_object(doc)?;
        let mut out = Conversation { head: self.head(doc), ..Conversation::default() };
        let (once, rest) = (["messages", "model"], ["tools", "system"]);
        let ([messages, _], [tools, system]) =
            fields(doc, root, once, rest, |key, value| out.extra.push((key, value)))?;
        for node in tools.into_iter().flat_map(|t| doc.elements(t)) {
            out.tools.push(Tool { name: text(doc, doc.get(node, "name")), node });
        }
        if let Some(node) = system.filter(|s| present(doc, Some(*s))) {
            out.turns.push(Turn { role: Role::System, index: None, node, parts: content(doc, node)? });
        }
        let messages = array(doc, root, messages, "messages")?;
        for (index, node) in doc.elements(messages).enumerate() {
            expect(doc, node, Kind::Object, "a message")?;
            let ([role, body], []) = pick(doc, node, ["role", "content"], [])?;
            let role = role_of(doc, node, role)?;
            let parts = match body {
                Some(body) => content(doc, body)?,
                None => return Err(error(doc, node, Rule::Shape, "a message has no \"content\"".into())),
            };
            let Some(role) = role else {
                out.turns.push(opaque_turn(node, index as u32));
                continue;
            };
            out.turns.push(Turn { role, index: Some(index as u32), node, parts });
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

    fn write_error(&self, error: &ErrorBody) -> Bytes {
        let mut out = JsonWriter::default();
        out.object().key("type").text("error");
        write_error_object(error, &mut out);
        if let Some(id) = &error.request_id {
            out.key("request_id").text(id);
        }
        out.end_object();
        out.finish().into()
    }

    fn stream_reader(&self) -> Option<Box<dyn StreamReader>> {
        Some(Box::new(SseReader::new(stream::MessageDecoder::default())))
    }

    fn stream_writer(&self, cx: &WriteContext) -> Option<Box<dyn StreamWriter>> {
        Some(Box::new(encode::MessageWriter::new(cx)))
    }
}

/// Block types that only this wire has.
fn own_block(doc: &Doc, block: NodeId) -> bool {
    let own =
        ["tool_use", "tool_result", "thinking", "redacted_thinking", "server_tool_use", "image", "document"];
    text(doc, doc.get(block, "type")).is_some_and(|t| own.iter().any(|name| t.is(name)))
}

fn content(doc: &Doc, node: NodeId) -> Result<Vec<Part<'_>>, DocError> {
    match doc.kind(node) {
        Kind::String => Ok(doc.json_str(node).map(|t| Part::Text(Text::new(node, t))).into_iter().collect()),
        Kind::Array => doc.elements(node).map(|block| part(doc, block)).collect(),
        Kind::Null => Ok(Vec::new()),
        _ => Err(error(doc, node, Rule::Shape, "\"content\" is neither text nor a list of blocks".into())),
    }
}

fn part(doc: &Doc, node: NodeId) -> Result<Part<'_>, DocError> {
    expect(doc, node, Kind::Object, "a content block")?;
    let names = ["type", "text", "id", "name", "input", "tool_use_id", "is_error", "thinking", "citations"];
    let [kind, value, id, name, input, answers, is_error, thinking, citations] = last(doc, node, names);
    let kind = text(doc, kind);
    let is = |name| kind.is_some_and(|k| k.is(name));
    if is("text") {
        return Ok(match value.and_then(|v| Some((v, doc.json_str(v)?))) {
            Some((at, t)) => {
                let sealed = present(doc, citations);
                Part::Text(Text { sealed, ..Text::new(at, t) })
            }
            None => Part::Opaque { node },
        });
    }
    if is("tool_use") {
        let arguments = input.map_or(Arguments::None, Arguments::Json);
        return Ok(Part::ToolCall(ToolCall { node, id: text(doc, id), name: text(doc, name), arguments }));
    }
    if is("tool_result") {
        let ([body], []) = pick(doc, node, ["content"], [])?;
        let parts = match body {
            Some(body) => content(doc, body)?,
            None => Vec::new(),
        };
        let is_error = is_error.and_then(|e| doc.bool(e)).unwrap_or(false);
        let id = text(doc, answers);
        return Ok(Part::ToolResult(ToolResult { node, id, name: None, parts, is_error, exit_code: None }));
    }
    if is("thinking") {
        return Ok(Part::Reasoning { node, text: text(doc, thinking) });
    }
    Ok(if is("redacted_thinking") {
        Part::Reasoning { node, text: None }
    } else if is("image") || is("document") {
        Part::Media { node }
    } else {
        Part::Opaque { node }
    })
}
