//! Reads and writes whole replies.

use super::blocks::{NAME, content};
use super::turn::write_text;
use crate::conversation::Role;
use crate::diagnostic::Diagnostic;
use crate::doc::{Doc, NodeId};
use crate::hub::{
    Call, Choice, Extra, Issuer, Json, Part, Reply, Seal, Stop, StopReason, Str, Thought, Turn, Usage,
    WriteContext,
};
use crate::wire::common::{empty, is_blank, is_unfinished, left_out, unfinished, write_input};
use crate::wire::fields::{array, root_object};
use crate::wire::json::JsonWriter;
use crate::wire::lost::foreign_reply;
use crate::wire::read::{count, is, json, pick, string, structured, take};
use crate::wire::{Read, WireError, Written, seal};

pub(super) fn read(doc: &Doc) -> Result<Read<Reply<'_>>, WireError> {
    let root = root_object(doc)?;
    let mut out = Reply { wire: NAME, ..Reply::default() };
    let mut stop_extra = Extra::new();
    let names = [
        "type",
        "content",
        "id",
        "model",
        "role",
        "stop_reason",
        "stop_sequence",
        "usage",
        "error",
        "stop_details",
    ];
    let [kind, body, id, model, _, reason, sequence, usage, error, details] =
        take(doc, root, names, &mut out.extra);
    if error.is_some() || is(doc, kind, "error") {
        return Err(WireError::Vendor(Box::new(structured(doc, root))));
    }
    out.id = string(doc, id);
    out.model = string(doc, model);
    out.usage = usage.map(|n| Counts::default().with(doc, n).usage(Some(Json::at(doc, n).into_owned())));
    let (mut parts, _) = content(doc, array(doc, root, body, "content")?)?;
    parts.retain(|p| !is_blank(p));
    stop_extra.extend(json(doc, details).map(|d| ("stop_details".into(), d)));
    let stop = string(doc, reason).map(|word| Stop {
        raw: Some(word.clone()),
        sequence: string(doc, sequence),
        extra: stop_extra,
        ..Stop::new(reason_of(&word))
    });
    let turn = Turn::new(Role::Assistant, parts);
    out.choices.push(Choice { index: 0, turn, stop, logprobs: None, extra: Vec::new() });
    if out.is_empty() {
        return Err(empty());
    }
    Ok(Read::clean(out))
}

pub(super) fn reason_of(word: &Str<'_>) -> StopReason {
    match word.decode().as_ref() {
        "end_turn" => StopReason::Stop,
        "stop_sequence" => StopReason::StopSequence,
        "max_tokens" => StopReason::Length,
        "model_context_window_exceeded" => StopReason::ContextFull,
        "tool_use" => StopReason::ToolCalls,
        "refusal" => StopReason::Refusal,
        "pause_turn" => StopReason::Pause,
        _ => StopReason::Unknown,
    }
}

/// Counts as this wire gives them; in streams a later one replaces an earlier one.
#[derive(Debug, Default, Clone)]
pub(super) struct Counts {
    input: Option<u64>,
    output: Option<u64>,
    read: Option<u64>,
    written: Option<u64>,
    minutes: Option<u64>,
    hour: Option<u64>,
    thinking: Option<u64>,
}

impl Counts {
    pub(super) fn with(mut self, doc: &Doc, node: NodeId) -> Self {
        let names = [
            "input_tokens",
            "output_tokens",
            "cache_read_input_tokens",
            "cache_creation_input_tokens",
            "cache_creation",
            "output_tokens_details",
        ];
        let [input, output, read, written, by_age, details] = pick(doc, node, names);
        let inner = |node: Option<NodeId>, key| node.and_then(|n| count(doc, doc.get(n, key)));
        let news = [
            (&mut self.input, count(doc, input)),
            (&mut self.output, count(doc, output)),
            (&mut self.read, count(doc, read)),
            (&mut self.written, count(doc, written)),
            (&mut self.minutes, inner(by_age, "ephemeral_5m_input_tokens")),
            (&mut self.hour, inner(by_age, "ephemeral_1h_input_tokens")),
            (&mut self.thinking, inner(details, "thinking_tokens")),
        ];
        for (old, new) in news {
            *old = new.or(*old);
        }
        self
    }

    pub(super) fn usage(&self, raw: Option<Json<'static>>) -> Usage {
        Usage {
            uncached: self.input.unwrap_or(0),
            cache_read: self.read,
            cache_write: self.written,
            write_5m: self.minutes,
            write_1h: self.hour,
            output: self.output.unwrap_or(0),
            reasoning: self.thinking,
            estimated: false,
            raw,
        }
    }
}

pub(super) fn write_usage(usage: &Usage, own: bool, out: &mut JsonWriter) {
    if let (true, Some(raw)) = (own, &usage.raw) {
        out.json(raw);
        return;
    }
    out.object().key("input_tokens").number(usage.uncached);
    if let Some(written) = usage.cache_write {
        out.key("cache_creation_input_tokens").number(written);
    }
    if let Some(read) = usage.cache_read {
        out.key("cache_read_input_tokens").number(read);
    }
    if usage.write_5m.is_some() || usage.write_1h.is_some() {
        out.key("cache_creation").object();
        out.key("ephemeral_5m_input_tokens").number(usage.write_5m.unwrap_or(0));
        out.key("ephemeral_1h_input_tokens").number(usage.write_1h.unwrap_or(0)).end_object();
    }
    out.key("output_tokens").number(usage.output);
    if let Some(thinking) = usage.reasoning {
        out.key("output_tokens_details").object().key("thinking_tokens").number(thinking).end_object();
    }
    out.end_object();
}

pub(super) fn write(reply: &Reply<'_>, cx: &WriteContext) -> Result<Written, WireError> {
    let own = reply.wire == NAME;
    let mut notes = Vec::new();
    let mut out = JsonWriter::with_capacity(4 << 10);
    out.object().key("id");
    match &reply.id {
        Some(id) => out.str(id),
        None => out.text(&format!("msg_{:016x}", cx.ids)),
    };
    out.key("type").text("message").key("role").text("assistant").key("model");
    match &reply.model {
        Some(model) => out.str(model),
        None => out.text(cx.model.as_deref().unwrap_or_default()),
    };
    out.key("content").array();
    let first = reply.choices.first();
    if reply.choices.len() > 1 {
        notes.push(left_out("choices"));
    }
    for part in first.into_iter().flat_map(|c| &c.turn.parts) {
        if !own && first.is_some_and(|choice| is_unfinished(choice, part)) {
            notes.push(unfinished());
        } else {
            write_part(part, own, cx, &mut out, &mut notes);
        }
    }
    out.end_array();
    let stop = first.and_then(|c| c.stop.as_ref());
    out.key("stop_reason").text(&stop_word(stop, own)).key("stop_sequence");
    match stop.and_then(|s| s.sequence.as_ref()) {
        Some(sequence) => out.str(sequence),
        None => out.null(),
    };
    out.key("usage");
    write_usage(reply.usage.as_ref().unwrap_or(&Usage::default()), own, &mut out);
    if own {
        stop.into_iter().for_each(|s| _ = out.extra(&s.extra));
        out.extra(&reply.extra);
    } else {
        foreign_reply(reply, &mut notes);
        notes.extend(reply.tier.iter().map(|_| left_out("service_tier")));
    }
    out.end_object();
    Ok(Written::new(out.finish(), notes))
}

fn write_part(
    part: &Part<'_>,
    own: bool,
    cx: &WriteContext,
    out: &mut JsonWriter,
    notes: &mut Vec<Diagnostic>,
) {
    match part {
        Part::Text(text) | Part::Refusal(text) => write_text(text, own, out),
        Part::Call(call) => write_call(call, own, out, notes),
        Part::Thought(thought) if own || !(cx.options.hide_reasoning || thought.copy) => {
            thought_of(thought, own, out)
        }
        Part::Thought(_) => {}
        Part::Opaque(opaque) if own => drop(out.json(&opaque.raw)),
        _ => notes.push(left_out("content")),
    }
}

fn write_call(call: &Call<'_>, own: bool, out: &mut JsonWriter, notes: &mut Vec<Diagnostic>) {
    if let Some(seal) = &call.seal {
        let envelope = seal::close(seal, Some(&call.id.decode()));
        out.object().key("type").text("thinking").key("thinking").text("");
        out.key("signature").text(&envelope).end_object();
    }
    out.object()
        .key("type")
        .text("tool_use")
        .key("id")
        .str(&call.id)
        .key("name")
        .str(&call.name)
        .key("input");
    write_input(call, "/messages", out, notes);
    if own {
        out.extra(&call.extra);
    }
    out.end_object();
}

/// What stands in `signature`: the vendor's own, an envelope around another's, or nothing.
pub(super) fn signature(seal: Option<&Seal<'_>>) -> String {
    match seal {
        Some(seal) if seal.issuer == Issuer::Anthropic => seal.data.decode().into_owned(),
        Some(other) => seal::close(other, None),
        None => String::new(),
    }
}

fn thought_of(thought: &Thought<'_>, own: bool, out: &mut JsonWriter) {
    let native = thought.seal.as_ref().is_none_or(|s| s.issuer == Issuer::Anthropic);
    if native && thought.is_redacted() {
        out.object().key("type").text("redacted_thinking");
        out.key("data").text(&signature(thought.seal.as_ref()));
    } else {
        out.object().key("type").text("thinking").key("thinking").texts(thought.text.iter());
        out.key("signature").text(&signature(thought.seal.as_ref()));
    }
    if own {
        out.extra(&thought.extra);
    }
    out.end_object();
}

pub(super) fn stop_word(stop: Option<&Stop<'_>>, own: bool) -> String {
    let Some(stop) = stop else { return "end_turn".into() };
    if let (true, Some(raw)) = (own, &stop.raw) {
        return raw.decode().into_owned();
    }
    match stop.reason {
        StopReason::StopSequence => "stop_sequence",
        StopReason::Length => "max_tokens",
        StopReason::ContextFull => "model_context_window_exceeded",
        StopReason::ToolCalls => "tool_use",
        StopReason::ContentFilter | StopReason::Refusal => "refusal",
        StopReason::Pause => "pause_turn",
        _ => "end_turn",
    }
    .into()
}
