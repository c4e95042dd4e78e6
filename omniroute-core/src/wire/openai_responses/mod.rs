//! OpenAI Responses: `{"model", "instructions", "input": text or [items], "tools"}`.

mod encode;
mod item_out;
mod items;
mod reply;
mod request;
mod stream;
mod told;
mod write;

use super::fields::{error, expect, fields, last, pick, present, root_object, text};
use super::openai_chat::{arguments_of, free_text_of, opaque_turn, role_of};
use super::params::{Fate, ParamTable};
use super::stream::{SseReader, StreamReader, StreamWriter};
use super::{Read, WireError, WireFormat, Written};
use crate::conversation::{
    Arguments, Conversation, Head, Part, Role, Text, Tool, ToolCall, ToolResult, Turn,
};
use crate::doc::{Doc, DocError, Kind, NodeId, Rule};
use crate::hub::{Param, Reply, Request, WriteContext};

#[derive(Debug)]
pub(super) struct OpenAiResponses;

/// Simple parameters.
pub(super) const PARAMS: ParamTable = ParamTable {
    wire: "openai-responses",
    rows: &[
        (Param::MaxOutput, Fate::Own),
        (Param::Temperature, Fate::Key("temperature")),
        (Param::TopP, Fate::Key("top_p")),
        (Param::TopK, Fate::Drop),
        (Param::MinP, Fate::Drop),
        (Param::RepetitionPenalty, Fate::Drop),
        (Param::TypicalP, Fate::Drop),
        (Param::Stop, Fate::Drop),
        (Param::Seed, Fate::Drop),
        (Param::FrequencyPenalty, Fate::Drop),
        (Param::PresencePenalty, Fate::Drop),
        (Param::LogitBias, Fate::Drop),
        (Param::Logprobs, Fate::Own),
        (Param::TopLogprobs, Fate::Key("top_logprobs")),
        (Param::Candidates, Fate::Incapable("unsupported_param")),
        (Param::User, Fate::Key("user")),
        (Param::ParallelTools, Fate::Key("parallel_tool_calls")),
        (Param::ServiceTier, Fate::Key("service_tier")),
        (Param::Speed, Fate::Drop),
        (Param::CacheKey, Fate::Key("prompt_cache_key")),
        (Param::CacheRetention, Fate::Key("prompt_cache_retention")),
        (Param::CacheOptions, Fate::Key("prompt_cache_options")),
        (Param::CachedContent, Fate::Incapable("unsupported_param")),
        (Param::KeepAlive, Fate::Silent),
        (Param::Metadata, Fate::Key("metadata")),
        (Param::Store, Fate::Key("store")),
        (Param::PreviousResponse, Fate::Key("previous_response_id")),
        (Param::Conversation, Fate::Key("conversation")),
        (Param::Include, Fate::Key("include")),
        (Param::Truncation, Fate::Key("truncation")),
        (Param::MaxToolCalls, Fate::Key("max_tool_calls")),
        (Param::Verbosity, Fate::Own),
        (Param::Modalities, Fate::Drop),
        (Param::Prediction, Fate::Drop),
        (Param::SafetySettings, Fate::Drop),
        (Param::MediaResolution, Fate::Drop),
        (Param::SpeechConfig, Fate::Drop),
        (Param::ContextManagement, Fate::Key("context_management")),
        (Param::Documents, Fate::Incapable("unsupported_param")),
    ],
    also: &[("max_output_tokens", Param::MaxOutput), ("safety_identifier", Param::User)],
};

impl WireFormat for OpenAiResponses {
    fn id(&self) -> &'static str {
        "openai-responses"
    }

    fn aliases(&self) -> &'static [&'static str] {
        &["responses", "openai_responses"]
    }

    fn claims(&self, doc: &Doc) -> bool {
        let root = doc.root();
        if doc.get(root, "messages").is_some() {
            return false;
        }
        let model = text(doc, doc.get(root, "model")).map(|m| m.decode());
        match doc.get(root, "input").map(|n| doc.kind(n)) {
            None => false,
            Some(Kind::Array) => true,
            // Embedding requests have a model and a text under `input`, too.
            Some(Kind::String) => {
                let own = [
                    "instructions",
                    "max_output_tokens",
                    "previous_response_id",
                    "reasoning",
                    "tools",
                    "store",
                ];
                own.iter().any(|k| doc.get(root, k).is_some()) || model.is_some_and(|m| !m.contains("embed"))
            }
            // Wrong, and reading will tell.
            Some(_) => model.is_some(),
        }
    }

    fn head<'d>(&self, doc: &'d Doc) -> Head<'d> {
        let get = |key| doc.get(doc.root(), key);
        Head {
            model: text(doc, get("model")),
            stream: get("stream").and_then(|n| doc.bool(n)).unwrap_or(false),
            max_output: get("max_output_tokens").and_then(|n| doc.integer(n)),
        }
    }

    fn read<'d>(&self, doc: &'d Doc) -> Result<Conversation<'d>, DocError> {
        let root = root_object(doc)?;
        let mut out = Conversation { head: self.head(doc), ..Conversation::default() };
        let (once, rest) = (["input", "model"], ["tools", "instructions", "previous_response_id"]);
        let ([input, _], [tools, instructions, previous]) =
            fields(doc, root, once, rest, |key, value| out.extra.push((key, value)))?;
        out.continues = present(doc, previous);
        for node in tools.into_iter().flat_map(|t| doc.elements(t)) {
            out.tools.push(Tool { name: text(doc, doc.get(node, "name")), node });
        }
        if let Some((node, t)) = instructions.and_then(|n| Some((n, doc.json_str(n)?))) {
            let parts = vec![Part::Text(Text::new(node, t))];
            out.turns.push(Turn { role: Role::System, index: None, node, parts });
        }
        let Some(input) = input else {
            return Err(error(doc, root, Rule::Shape, "key \"input\" is missing".into()));
        };
        match (doc.kind(input), doc.json_str(input)) {
            (Kind::Array, _) => {
                for (index, node) in doc.elements(input).enumerate() {
                    out.turns.push(item(doc, node, index as u32)?);
                }
            }
            (_, Some(t)) => {
                // A text stands for a list of one message.
                let parts = vec![Part::Text(Text::new(input, t))];
                out.turns.push(Turn { role: Role::User, index: Some(0), node: input, parts });
            }
            _ => {
                return Err(error(
                    doc,
                    input,
                    Rule::Shape,
                    "\"input\" is neither text nor a list of items".into(),
                ));
            }
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
        Some(Box::new(SseReader::new(stream::ResponseDecoder::default())))
    }

    fn stream_writer(&self, cx: &WriteContext) -> Option<Box<dyn StreamWriter>> {
        Some(Box::new(encode::ResponseWriter::new(cx)))
    }
}

fn item(doc: &Doc, node: NodeId, index: u32) -> Result<Turn<'_>, DocError> {
    expect(doc, node, Kind::Object, "an input item")?;
    let names = ["type", "call_id", "name", "arguments", "input", "action", "output", "operation", "summary"];
    let ([role, content], [kind, call_id, name, arguments, input, action, output, operation, summary]) =
        pick(doc, node, ["role", "content"], names)?;
    let kind = text(doc, kind);
    let is = |name| kind.is_some_and(|k| k.is(name));
    let turn = |role, parts| Turn { role, index: Some(index), node, parts };
    let call = |name, arguments| {
        turn(
            Role::Assistant,
            vec![Part::ToolCall(ToolCall { node, id: text(doc, call_id), name, arguments })],
        )
    };
    if is("message") || (kind.is_none() && role.is_some()) {
        let parts = message_parts(doc, content)?;
        return Ok(
            role_of(doc, node, role)?.map_or_else(|| opaque_turn(node, index), |role| turn(role, parts))
        );
    }
    if is("function_call") {
        return Ok(call(text(doc, name), arguments_of(doc, arguments)));
    }
    if is("custom_tool_call") {
        return Ok(call(text(doc, name), free_text_of(doc, input)));
    }
    if is("local_shell_call") || is("shell_call") {
        return Ok(call(kind, action.map_or(Arguments::None, Arguments::Json)));
    }
    if is("apply_patch_call") {
        return Ok(call(kind, operation.map_or(Arguments::None, Arguments::Json)));
    }
    let answers = [
        "function_call_output",
        "custom_tool_call_output",
        "local_shell_call_output",
        "shell_call_output",
        "apply_patch_call_output",
    ];
    if answers.into_iter().any(is) {
        let id = text(doc, call_id);
        let parts = output_parts(doc, output);
        let exit_code = output.and_then(|o| exit_code(doc, o));
        let result = ToolResult { node, id, name: None, parts, is_error: false, exit_code };
        return Ok(turn(Role::Tool, vec![Part::ToolResult(result)]));
    }
    if is("reasoning") {
        let first = summary.and_then(|s| doc.elements(s).next());
        let readable = first.and_then(|block| text(doc, doc.get(block, "text")));
        return Ok(turn(Role::Assistant, vec![Part::Reasoning { node, text: readable }]));
    }
    // An item without a type is a reference to one that the provider keeps.
    Ok(turn(Role::Assistant, vec![Part::Opaque { node }]))
}

fn message_parts(doc: &Doc, content: Option<NodeId>) -> Result<Vec<Part<'_>>, DocError> {
    let Some(content) = content else { return Ok(Vec::new()) };
    if let Some(t) = doc.json_str(content) {
        return Ok(vec![Part::Text(Text::new(content, t))]);
    }
    if doc.kind(content) == Kind::Null {
        return Ok(Vec::new());
    }
    expect(doc, content, Kind::Array, "\"content\"")?;
    Ok(doc.elements(content).map(|node| block(doc, node)).collect())
}

fn block(doc: &Doc, node: NodeId) -> Part<'_> {
    let [kind, value, annotations] = last(doc, node, ["type", "text", "annotations"]);
    let kind = text(doc, kind);
    let is = |name| kind.is_some_and(|k| k.is(name));
    let texts = ["input_text", "output_text", "text"];
    match value.and_then(|v| Some((v, doc.json_str(v)?))) {
        Some((at, t)) if texts.into_iter().any(is) => {
            // Annotations point into the text by index.
            let sealed = annotations.is_some_and(|a| doc.elements(a).next().is_some());
            Part::Text(Text { sealed, ..Text::new(at, t) })
        }
        _ if is("input_image") || is("input_file") || is("input_audio") => Part::Media { node },
        _ => Part::Opaque { node },
    }
}

fn output_parts(doc: &Doc, output: Option<NodeId>) -> Vec<Part<'_>> {
    let Some(output) = output else { return Vec::new() };
    match (doc.kind(output), doc.json_str(output)) {
        (Kind::Array, _) => doc.elements(output).flat_map(|node| streams_or_block(doc, node)).collect(),
        (_, Some(t)) => vec![Part::Text(Text { envelope: true, ..Text::new(output, t) })],
        (Kind::Object, _) => {
            let inner = doc.get(output, "output").and_then(|n| Some((n, doc.json_str(n)?)));
            inner.map(|(n, t)| Part::Text(Text::new(n, t))).into_iter().collect()
        }
        _ => Vec::new(),
    }
}

/// What one command of `shell_call` printed, or a content block.
fn streams_or_block(doc: &Doc, node: NodeId) -> Vec<Part<'_>> {
    let [stdout, stderr, kind] = last(doc, node, ["stdout", "stderr", "type"]);
    if kind.is_some() || (stdout.is_none() && stderr.is_none()) {
        return vec![block(doc, node)];
    }
    let streams = [stdout, stderr].into_iter().flatten();
    streams.filter_map(|at| Some(Part::Text(Text::new(at, doc.json_str(at)?)))).collect()
}

/// The exit code beside the text: of an output object, or of the last command of a `shell_call`.
fn exit_code(doc: &Doc, output: NodeId) -> Option<i32> {
    let holder = match doc.kind(output) {
        Kind::Object => doc.get(output, "metadata").unwrap_or(output),
        _ => doc.get(doc.elements(output).last()?, "outcome")?,
    };
    doc.integer(doc.get(holder, "exit_code")?).and_then(|code| i32::try_from(code).ok())
}
