//! Reads and writes whole replies.

use omniroute_core::hub::{
    Choice, ErrorBody, Extra, Json, Part, Reply, Spelling, Stop, StopReason, Str, Usage, WriteContext,
};
use omniroute_core::wire::lost::foreign_reply;
use omniroute_core::wire::read::{count, json, pick, string, structured, take};
use omniroute_core::wire::{JsonWriter, Read, WireError, Written};
use omniroute_core::{Doc, Kind, NodeId};

use super::NAME;
use super::message::read_message;
use super::turn::{citations, plan, write_call, write_part};
use crate::wires::common::{
    Notes, correct, empty, is_blank, is_unfinished, left_out, root_object, shape, unfinished,
};

pub(super) fn read(doc: &Doc) -> Result<Read<Reply<'_>>, WireError> {
    let root = root_object(doc)?;
    let mut out = Reply { wire: NAME, ..Reply::default() };
    let names = ["id", "finish_reason", "message", "usage", "logprobs", "error"];
    let [id, finish, message, usage, logprobs, error] = take(doc, root, names, &mut out.extra);
    let told = message.is_some_and(|n| doc.kind(n) == Kind::Object);
    if error.is_some() || (!told && message.is_some()) {
        return Err(WireError::Vendor(Box::new(structured(doc, root))));
    }
    let message = message.ok_or_else(|| shape(doc, root, "key \"message\" is missing"))?;
    let stop = string(doc, finish).map(|word| stop_of(&word));
    if stop.as_ref().is_some_and(|s| s.reason == StopReason::Failed) {
        return Err(WireError::Vendor(Box::new(failed(stop.as_ref()))));
    }
    out.id = string(doc, id);
    out.usage = usage.map(|n| read_usage(doc, n));
    let mut turn = read_message(doc, message)?;
    turn.parts.retain(|p| !is_blank(p));
    let mut stop = stop;
    correct(&mut stop, &turn.parts);
    out.choices.push(Choice { index: 0, turn, stop, logprobs: json(doc, logprobs), extra: Extra::new() });
    if out.is_empty() {
        return Err(empty());
    }
    Ok(Read::clean(out))
}

/// An answer that broke off at the vendor.
pub(super) fn failed(stop: Option<&Stop<'_>>) -> ErrorBody {
    let word = stop.and_then(|s| s.raw.as_ref()).map(|w| w.decode().into_owned()).unwrap_or_default();
    ErrorBody { kind: Some(word), ..ErrorBody::own("upstream_failed", "the vendor broke the answer off") }
}

pub(super) fn stop_of(word: &Str<'_>) -> Stop<'static> {
    let text = word.decode();
    let reason = match text.as_ref() {
        "COMPLETE" => StopReason::Stop,
        "STOP_SEQUENCE" => StopReason::StopSequence,
        "MAX_TOKENS" => StopReason::Length,
        "TOOL_CALL" => StopReason::ToolCalls,
        "ERROR_TOXIC" => StopReason::ContentFilter,
        "ERROR_LIMIT" => StopReason::ContextFull,
        "ERROR" | "TIMEOUT" => StopReason::Failed,
        _ => StopReason::Unknown,
    };
    Stop { raw: Some(text.into_owned().into()), ..Stop::new(reason) }
}

pub(super) fn finish_word(stop: Option<&Stop<'_>>, own: bool) -> String {
    let Some(stop) = stop else { return "COMPLETE".into() };
    if let (true, Some(raw)) = (own, &stop.raw) {
        return raw.decode().into_owned();
    }
    match stop.reason {
        StopReason::StopSequence => "STOP_SEQUENCE",
        StopReason::Length | StopReason::ContextFull | StopReason::Pause => "MAX_TOKENS",
        StopReason::ToolCalls => "TOOL_CALL",
        StopReason::ContentFilter => "ERROR_TOXIC",
        _ => "COMPLETE",
    }
    .into()
}

/// Tokens; what is billed is not what was read, and is only a stand-in where that is all there is.
pub(super) fn read_usage(doc: &Doc, node: NodeId) -> Usage {
    let [tokens, billed, cached] = pick(doc, node, ["tokens", "billed_units", "cached_tokens"]);
    let names = ["input_tokens", "output_tokens", "reasoning_tokens"];
    let [input, output, reasoning] = tokens.or(billed).map_or([None; 3], |n| pick(doc, n, names));
    Usage {
        output: count(doc, output).unwrap_or(0),
        reasoning: count(doc, reasoning),
        raw: Some(Json::at(doc, node).into_owned()),
        ..Usage::gross(count(doc, input).unwrap_or(0), count(doc, cached), None)
    }
}

pub(super) fn write_usage(usage: &Usage, own: bool, out: &mut JsonWriter) {
    if let (true, Some(raw)) = (own, &usage.raw) {
        out.json(raw);
        return;
    }
    out.object();
    if let Some(read) = usage.cache_read {
        out.key("cached_tokens").number(read);
    }
    out.key("tokens").object().key("input_tokens").number(usage.input());
    out.key("output_tokens").number(usage.output);
    if let Some(reasoning) = usage.reasoning {
        out.key("reasoning_tokens").number(reasoning);
    }
    out.end_object().end_object();
}

pub(super) fn write(reply: &Reply<'_>, cx: &WriteContext) -> Result<Written, WireError> {
    let own = reply.wire == NAME;
    let mut notes = Notes::new();
    let mut out = JsonWriter::with_capacity(4 << 10);
    out.object().key("id");
    match &reply.id {
        Some(id) => out.str(id),
        None => out.text(&format!("{:016x}", cx.ids)),
    };
    let first = reply.choices.first();
    if reply.choices.len() > 1 {
        notes.push(left_out("choices"));
    }
    out.key("finish_reason").text(&finish_word(first.and_then(|c| c.stop.as_ref()), own));
    out.key("message").object().key("role").text("assistant");
    if let Some(choice) = first {
        message(choice, own, cx, &mut out, &mut notes)?;
    }
    out.end_object();
    if let Some(usage) = &reply.usage {
        out.key("usage");
        write_usage(usage, own, &mut out);
    }
    if own {
        out.opt_json("logprobs", first.and_then(|c| c.logprobs.as_ref()));
        out.extra(&reply.extra);
    } else {
        foreign_reply(reply, &mut notes);
    }
    out.end_object();
    Ok(Written::new(out.finish(), notes))
}

fn message(
    choice: &Choice<'_>,
    own: bool,
    cx: &WriteContext,
    out: &mut JsonWriter,
    notes: &mut Notes,
) -> Result<(), WireError> {
    let parts = &choice.turn.parts;
    let shown = |p: &&Part<'_>| match p {
        Part::Text(_) | Part::Refusal(_) => true,
        Part::Thought(t) if own => t.spelling != Spelling::Plan,
        Part::Thought(t) => !t.copy && !cx.options.hide_reasoning && !t.text.iter().all(Str::is_empty),
        Part::Opaque(_) => own,
        _ => false,
    };
    if own {
        plan(parts.iter(), out);
    }
    let content: Vec<_> = parts.iter().filter(shown).collect();
    if !content.is_empty() {
        out.key("content").array();
        for part in content {
            write_part(part, own, "/message/content", out)?;
        }
        out.end_array();
    }
    if parts.iter().any(|p| matches!(p, Part::Media(_)) || (!own && matches!(p, Part::Opaque(_)))) {
        notes.push(left_out("message/content"));
    }
    let texts = parts.iter().filter_map(|p| if let Part::Text(t) = p { Some(t) } else { None });
    citations(texts, own, out);
    let mut calls = Vec::new();
    for part in parts {
        match part {
            Part::Call(_) if !own && is_unfinished(choice, part) => notes.push(unfinished()),
            Part::Call(call) => calls.push(call),
            _ => {}
        }
    }
    if !calls.is_empty() {
        out.key("tool_calls").array();
        calls.into_iter().for_each(|call| write_call(call, own, out));
        out.end_array();
    }
    if own {
        out.extra(&choice.turn.extra);
    }
    Ok(())
}
