//! Google Gemini: `{"systemInstruction", "contents": [{"role", "parts"}], "tools"}`.

mod encode;
mod part_out;
mod parts;
mod reply;
mod request;
mod stream;
mod write;

use bytes::Bytes;

use super::fields::{array, expect, fields, last, pick, present, root_object, text};
use super::json::JsonWriter;
use super::openai_chat::{opaque_turn, role_of};
use super::params::{Fate, ParamTable};
use super::stream::{SseReader, StreamReader, StreamWriter};
use super::{Read, WireError, WireFormat, Written};
use crate::conversation::{
    Arguments, Conversation, Head, Part, Role, Text, Tool, ToolCall, ToolResult, Turn,
};
use crate::doc::{Doc, DocError, Kind, NodeId};
use crate::hub::{ErrorBody, Param, Reply, Request, WriteContext};

#[derive(Debug)]
pub(super) struct Gemini;

/// Simple parameters at the top.
pub(super) const TOP: ParamTable = ParamTable {
    wire: "gemini",
    rows: &[
        (Param::MaxOutput, Fate::Own),
        (Param::Temperature, Fate::Own),
        (Param::TopP, Fate::Own),
        (Param::TopK, Fate::Own),
        (Param::MinP, Fate::Drop),
        (Param::RepetitionPenalty, Fate::Drop),
        (Param::TypicalP, Fate::Drop),
        (Param::Stop, Fate::Own),
        (Param::Seed, Fate::Own),
        (Param::FrequencyPenalty, Fate::Own),
        (Param::PresencePenalty, Fate::Own),
        (Param::LogitBias, Fate::Drop),
        (Param::Logprobs, Fate::Own),
        (Param::TopLogprobs, Fate::Own),
        (Param::Candidates, Fate::Own),
        (Param::User, Fate::Drop),
        (Param::ParallelTools, Fate::Drop),
        (Param::ServiceTier, Fate::Drop),
        (Param::Speed, Fate::Drop),
        (Param::CacheKey, Fate::Silent),
        (Param::CacheRetention, Fate::Silent),
        (Param::CacheOptions, Fate::Silent),
        (Param::CachedContent, Fate::Key("cachedContent")),
        (Param::KeepAlive, Fate::Silent),
        (Param::Metadata, Fate::Key("labels")),
        (Param::Store, Fate::Silent),
        (Param::PreviousResponse, Fate::Incapable("previous_response_not_found")),
        (Param::Conversation, Fate::Incapable("unsupported_param")),
        (Param::Include, Fate::Silent),
        (Param::Truncation, Fate::Drop),
        (Param::MaxToolCalls, Fate::Drop),
        (Param::Verbosity, Fate::Drop),
        (Param::Modalities, Fate::Own),
        (Param::Prediction, Fate::Drop),
        (Param::SafetySettings, Fate::Key("safetySettings")),
        (Param::MediaResolution, Fate::Own),
        (Param::SpeechConfig, Fate::Own),
        (Param::ContextManagement, Fate::Incapable("unsupported_param")),
        (Param::Documents, Fate::Incapable("unsupported_param")),
    ],
    also: &[("safety_settings", Param::SafetySettings), ("cached_content", Param::CachedContent)],
};

/// Simple parameters in `generationConfig`; the others are the top's.
pub(super) const CONFIG: ParamTable = ParamTable {
    wire: "gemini",
    rows: &[
        (Param::MaxOutput, Fate::Own),
        (Param::Temperature, Fate::Key("temperature")),
        (Param::TopP, Fate::Key("topP")),
        (Param::TopK, Fate::Key("topK")),
        (Param::MinP, Fate::Own),
        (Param::RepetitionPenalty, Fate::Own),
        (Param::TypicalP, Fate::Own),
        (Param::Stop, Fate::List("stopSequences", 5)),
        (Param::Seed, Fate::Key("seed")),
        (Param::FrequencyPenalty, Fate::Key("frequencyPenalty")),
        (Param::PresencePenalty, Fate::Key("presencePenalty")),
        (Param::LogitBias, Fate::Own),
        (Param::Logprobs, Fate::Key("responseLogprobs")),
        (Param::TopLogprobs, Fate::Key("logprobs")),
        (Param::Candidates, Fate::Key("candidateCount")),
        (Param::User, Fate::Own),
        (Param::ParallelTools, Fate::Own),
        (Param::ServiceTier, Fate::Own),
        (Param::Speed, Fate::Own),
        (Param::CacheKey, Fate::Own),
        (Param::CacheRetention, Fate::Own),
        (Param::CacheOptions, Fate::Own),
        (Param::CachedContent, Fate::Own),
        (Param::KeepAlive, Fate::Own),
        (Param::Metadata, Fate::Own),
        (Param::Store, Fate::Own),
        (Param::PreviousResponse, Fate::Own),
        (Param::Conversation, Fate::Own),
        (Param::Include, Fate::Own),
        (Param::Truncation, Fate::Own),
        (Param::MaxToolCalls, Fate::Own),
        (Param::Verbosity, Fate::Own),
        (Param::Modalities, Fate::Key("responseModalities")),
        (Param::Prediction, Fate::Own),
        (Param::SafetySettings, Fate::Own),
        (Param::MediaResolution, Fate::Key("mediaResolution")),
        (Param::SpeechConfig, Fate::Key("speechConfig")),
        (Param::ContextManagement, Fate::Own),
        (Param::Documents, Fate::Own),
    ],
    also: &[
        ("maxOutputTokens", Param::MaxOutput),
        ("max_output_tokens", Param::MaxOutput),
        ("top_p", Param::TopP),
        ("top_k", Param::TopK),
        ("stop_sequences", Param::Stop),
        ("candidate_count", Param::Candidates),
    ],
};

/// The member `error` of an error body or event.
fn write_error_object(error: &ErrorBody, out: &mut JsonWriter) {
    let code = error.status.unwrap_or(500);
    let status = match (error.kind.as_deref(), code) {
        (Some(kind), _) if kind.bytes().all(|b| b.is_ascii_uppercase() || b == b'_') => kind,
        (_, 400) => "INVALID_ARGUMENT",
        (_, 401) => "UNAUTHENTICATED",
        (_, 403) => "PERMISSION_DENIED",
        (_, 404) => "NOT_FOUND",
        (_, 429) => "RESOURCE_EXHAUSTED",
        (_, 503) => "UNAVAILABLE",
        _ => "INTERNAL",
    };
    out.key("error").object().key("code").number(code).key("message").text(&error.message);
    out.key("status").text(status).end_object();
}

impl WireFormat for Gemini {
    fn id(&self) -> &'static str {
        "gemini"
    }

    fn aliases(&self) -> &'static [&'static str] {
        &["google", "gemini-generate-content"]
    }

    fn claims(&self, doc: &Doc) -> bool {
        doc.get(doc.root(), "contents").is_some()
    }

    fn head<'d>(&self, doc: &'d Doc) -> Head<'d> {
        let get = |key| doc.get(doc.root(), key);
        let config = get("generationConfig").or_else(|| get("generation_config"));
        let limit =
            config.and_then(|c| doc.get(c, "maxOutputTokens").or_else(|| doc.get(c, "max_output_tokens")));
        Head {
            model: text(doc, get("model")),
            stream: false, // a different URL, not a field
            max_output: limit.and_then(|n| doc.integer(n)),
        }
    }

    fn read<'d>(&self, doc: &'d Doc) -> Result<Conversation<'d>, DocError> {
        let root = root_object(doc)?;
        let mut out = Conversation { head: self.head(doc), ..Conversation::default() };
        let (once, rest) =
            (["contents", "model"], ["tools", "systemInstruction", "system_instruction", "cachedContent"]);
        let ([contents, _], [tools, camel, snake, cached]) =
            fields(doc, root, once, rest, |key, value| out.extra.push((key, value)))?;
        out.continues = present(doc, cached);
        for group in tools.into_iter().flat_map(|t| doc.elements(t)) {
            let declared =
                doc.get(group, "functionDeclarations").or_else(|| doc.get(group, "function_declarations"));
            match declared {
                Some(list) => out.tools.extend(
                    doc.elements(list).map(|node| Tool { name: text(doc, doc.get(node, "name")), node }),
                ),
                None => out.tools.push(Tool { name: None, node: group }),
            }
        }
        if let Some(node) = camel.or(snake) {
            let parts = match (doc.json_str(node), doc.get(node, "parts")) {
                (Some(t), _) => vec![Part::Text(Text::new(node, t))],
                (None, Some(list)) => parts(doc, list)?,
                (None, None) => Vec::new(),
            };
            out.turns.push(Turn { role: Role::System, index: None, node, parts });
        }
        let contents = array(doc, root, contents, "contents")?;
        for (index, node) in doc.elements(contents).enumerate() {
            expect(doc, node, Kind::Object, "an entry of \"contents\"")?;
            let ([role, list], []) = pick(doc, node, ["role", "parts"], [])?;
            // A single-turn request may leave the role out; it is the user's then.
            let role = if role.is_some() { role_of(doc, node, role)? } else { Some(Role::User) };
            let list = array(doc, node, list, "parts")?;
            let mut parts = parts(doc, list)?;
            // A signature in any part vouches for the whole answer of the model.
            if role == Some(Role::Assistant) && doc.elements(list).any(|part| signed(doc, part)) {
                for part in &mut parts {
                    if let Part::Text(text) = part {
                        text.sealed = true;
                    }
                }
            }
            out.turns.push(match role {
                Some(role) => Turn { role, index: Some(index as u32), node, parts },
                None => opaque_turn(node, index as u32),
            });
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
        out.object();
        write_error_object(error, &mut out);
        out.end_object();
        out.finish().into()
    }

    fn stream_reader(&self) -> Option<Box<dyn StreamReader>> {
        Some(Box::new(SseReader::new(stream::GeminiDecoder::default())))
    }

    fn stream_writer(&self, cx: &WriteContext) -> Option<Box<dyn StreamWriter>> {
        Some(Box::new(encode::GeminiWriter::new(cx)))
    }
}

fn signed(doc: &Doc, part: NodeId) -> bool {
    present(doc, doc.get(part, "thoughtSignature")) || present(doc, doc.get(part, "thought_signature"))
}

fn parts(doc: &Doc, list: NodeId) -> Result<Vec<Part<'_>>, DocError> {
    expect(doc, list, Kind::Array, "\"parts\"")?;
    doc.elements(list).map(|node| part(doc, node)).collect()
}

fn part(doc: &Doc, node: NodeId) -> Result<Part<'_>, DocError> {
    expect(doc, node, Kind::Object, "a part")?;
    let names = [
        "text",
        "thought",
        "functionCall",
        "function_call",
        "functionResponse",
        "function_response",
        "inlineData",
        "fileData",
        "inline_data",
        "file_data",
    ];
    let [value, thought, call, call2, response, response2, inline, file, inline2, file2] =
        last(doc, node, names);
    let sealed = signed(doc, node);
    if let Some(call) = call.or(call2) {
        let [id, name, args] = last(doc, call, ["id", "name", "args"]);
        let arguments = args.map_or(Arguments::None, Arguments::Json);
        return Ok(Part::ToolCall(ToolCall { node, id: text(doc, id), name: text(doc, name), arguments }));
    }
    if let Some(response) = response.or(response2) {
        let [id, name, body] = last(doc, response, ["id", "name", "response"]);
        let mut leaves = Vec::new();
        if let Some(body) = body {
            string_leaves(doc, body, sealed, &mut leaves);
        }
        let exit = body.and_then(|b| doc.get(b, "exitCode").or_else(|| doc.get(b, "exit_code")));
        return Ok(Part::ToolResult(ToolResult {
            node,
            id: text(doc, id),
            name: text(doc, name),
            parts: leaves,
            is_error: false,
            exit_code: exit.and_then(|n| doc.integer(n)).and_then(|n| i32::try_from(n).ok()),
        }));
    }
    Ok(match value.and_then(|v| Some((v, doc.json_str(v)?))) {
        Some((_, t)) if thought.and_then(|t| doc.bool(t)) == Some(true) => {
            Part::Reasoning { node, text: Some(t) }
        }
        Some((at, t)) => Part::Text(Text { sealed, ..Text::new(at, t) }),
        None if [inline, file, inline2, file2].iter().any(Option::is_some) => Part::Media { node },
        None => Part::Opaque { node },
    })
}

/// String leaves in document order. Depth is bounded by the document's own limit.
fn string_leaves<'d>(doc: &'d Doc, node: NodeId, sealed: bool, out: &mut Vec<Part<'d>>) {
    match doc.kind(node) {
        Kind::String => {
            if let Some(t) = doc.json_str(node) {
                out.push(Part::Text(Text { sealed, ..Text::new(node, t) }));
            }
        }
        Kind::Array => doc.elements(node).for_each(|n| string_leaves(doc, n, sealed, out)),
        Kind::Object => doc.members(node).for_each(|(_, n)| string_leaves(doc, n, sealed, out)),
        _ => {}
    }
}
