//! Reads and writes whole replies.

use omniroute_core::hub::{
    Choice, ErrorBody, Extra, Json, Part, Reply, Stop, StopReason, Str, Turn, Usage, WriteContext,
};
use omniroute_core::wire::lost::foreign_reply;
use omniroute_core::wire::read::{chars, count, pick, string, structured, take};
use omniroute_core::wire::{JsonWriter, Read, WireError, Written};
use omniroute_core::{Doc, Kind, NodeId, Role};

use super::NAME;
use super::blocks::content;
use super::turn::Blocks;
use crate::wires::common::{
    Notes, correct, empty, is_blank, is_unfinished, left_out, object, root_object, shape, unfinished,
};

pub(super) fn read(doc: &Doc) -> Result<Read<Reply<'_>>, WireError> {
    let root = root_object(doc)?;
    let mut out = Reply { wire: NAME, ..Reply::default() };
    let names = ["output", "stopReason", "usage", "serviceTier", "message", "Message", "error"];
    let [output, reason, usage, tier, message, other, error] = take(doc, root, names, &mut out.extra);
    if output.is_none() && (message.is_some() || other.is_some() || error.is_some()) {
        let mut error = structured(doc, root);
        if error.message.is_empty() {
            error.message = chars(doc, other).unwrap_or_default();
        }
        return Err(WireError::Vendor(Box::new(error)));
    }
    let output = output.ok_or_else(|| shape(doc, root, "key \"output\" is missing"))?;
    let told = doc.get(output, "message").ok_or_else(|| shape(doc, output, "key \"message\" is missing"))?;
    object(doc, told, "\"message\"")?;
    out.usage = usage.filter(|n| doc.kind(*n) == Kind::Object).map(|n| read_usage(doc, n));
    out.tier = tier.and_then(|t| string(doc, doc.get(t, "type")));
    let mut parts = content(doc, told, doc.get(told, "content"))?;
    parts.retain(|p| !is_blank(p));
    let mut stop =
        string(doc, reason).map(|word| Stop { raw: Some(word.clone()), ..Stop::new(reason_of(&word)) });
    if stop.as_ref().is_some_and(|s| s.reason == StopReason::Malformed) && parts.is_empty() {
        let message = "the model wrote a call that cannot be read";
        return Err(WireError::Vendor(Box::new(ErrorBody::own("upstream_malformed_tool_call", message))));
    }
    correct(&mut stop, &parts);
    let turn = Turn::new(Role::Assistant, parts);
    out.choices.push(Choice { index: 0, turn, stop, logprobs: None, extra: Extra::new() });
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
        "content_filtered" | "guardrail_intervened" => StopReason::ContentFilter,
        "malformed_model_output" | "malformed_tool_use" => StopReason::Malformed,
        _ => StopReason::Unknown,
    }
}

pub(super) fn stop_word(stop: Option<&Stop<'_>>, own: bool) -> String {
    let Some(stop) = stop else { return "end_turn".into() };
    if let (true, Some(raw)) = (own, &stop.raw) {
        return raw.decode().into_owned();
    }
    match stop.reason {
        StopReason::StopSequence => "stop_sequence",
        StopReason::Length | StopReason::Pause => "max_tokens",
        StopReason::ContextFull => "model_context_window_exceeded",
        StopReason::ToolCalls => "tool_use",
        StopReason::ContentFilter | StopReason::Refusal => "content_filtered",
        StopReason::Malformed => "malformed_model_output",
        _ => "end_turn",
    }
    .into()
}

/// Input is what was neither read from nor written to the cache.
pub(super) fn read_usage(doc: &Doc, node: NodeId) -> Usage {
    let names = [
        "inputTokens",
        "outputTokens",
        "cacheReadInputTokens",
        "cacheWriteInputTokens",
        "cacheDetails",
        "cacheReadInputTokenCount",
        "cacheWriteInputTokenCount",
    ];
    let [input, output, read, written, details, old_read, old_written] = pick(doc, node, names);
    let mut usage = Usage {
        uncached: count(doc, input).unwrap_or(0),
        cache_read: count(doc, read.or(old_read)),
        cache_write: count(doc, written.or(old_written)),
        output: count(doc, output).unwrap_or(0),
        raw: Some(Json::at(doc, node).into_owned()),
        ..Usage::default()
    };
    for node in details.into_iter().flat_map(|d| doc.elements(d)) {
        let [ttl, tokens] = pick(doc, node, ["ttl", "inputTokens"]);
        match chars(doc, ttl).as_deref() {
            Some("5m") => usage.write_5m = count(doc, tokens),
            Some("1h") => usage.write_1h = count(doc, tokens),
            _ => {}
        }
    }
    usage
}

pub(super) fn write_usage(usage: &Usage, own: bool, out: &mut JsonWriter) {
    if let (true, Some(raw)) = (own, &usage.raw) {
        out.json(raw);
        return;
    }
    out.object().key("inputTokens").number(usage.uncached).key("outputTokens").number(usage.output);
    out.key("totalTokens").number(usage.total());
    if let Some(read) = usage.cache_read {
        out.key("cacheReadInputTokens").number(read);
    }
    if let Some(written) = usage.cache_write {
        out.key("cacheWriteInputTokens").number(written);
    }
    if usage.write_5m.is_some() || usage.write_1h.is_some() {
        out.key("cacheDetails").array();
        for (ttl, tokens) in [("5m", usage.write_5m), ("1h", usage.write_1h)] {
            if let Some(tokens) = tokens {
                out.object().key("ttl").text(ttl).key("inputTokens").number(tokens).end_object();
            }
        }
        out.end_array();
    }
    out.end_object();
}

pub(super) fn write(reply: &Reply<'_>, cx: &WriteContext) -> Result<Written, WireError> {
    let own = reply.wire == NAME;
    let mut notes = Notes::new();
    let mut out = JsonWriter::with_capacity(4 << 10);
    let first = reply.choices.first();
    out.object().key("output").object().key("message").object();
    out.key("role").text("assistant").key("content").array();
    if let Some(choice) = first {
        message(choice, own, cx, &mut out, &mut notes)?;
    }
    if reply.choices.len() > 1 {
        notes.push(left_out("choices"));
    }
    out.end_array().end_object().end_object();
    out.key("stopReason").text(&stop_word(first.and_then(|c| c.stop.as_ref()), own)).key("usage");
    write_usage(reply.usage.as_ref().unwrap_or(&Usage::default()), own, &mut out);
    if let (true, Some(tier)) = (own, &reply.tier) {
        out.key("serviceTier").object().key("type").str(tier).end_object();
    }
    if own {
        out.extra(&reply.extra);
    } else {
        out.key("metrics").object().key("latencyMs").number(0).end_object();
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
    let mut lost = Vec::new();
    let mut sent = Vec::new();
    for part in &choice.turn.parts {
        match part {
            _ if own => sent.push(part),
            Part::Thought(t) if cx.options.hide_reasoning || t.copy => {}
            Part::Call(_) if is_unfinished(choice, part) => lost.push(unfinished()),
            Part::Text(_) | Part::Refusal(_) | Part::Thought(_) | Part::Call(_) => sent.push(part),
            _ => lost.push(left_out("output/message/content")),
        }
    }
    let mut blocks = Blocks { own, fitted: false, out, notes, documents: 0 };
    for part in sent {
        blocks.part(part, "/output/message/content")?;
    }
    notes.append(&mut lost);
    Ok(())
}
