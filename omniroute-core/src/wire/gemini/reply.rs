//! Reads and writes whole replies.

use super::part_out::{write_call, write_part};
use super::parts::{NAME, part};
use super::stream::GeminiDecoder;
use crate::conversation::Role;
use crate::diagnostic::Diagnostic;
use crate::doc::{Doc, DocError, Kind, NodeId};
use crate::hub::{
    Assembler, Choice, Extra, Json, Part, Reply, Stop, StopReason, Str, Turn, Usage, WriteContext,
};
use crate::wire::common::{correct, empty, is_blank, is_unfinished, left_out, unfinished};
use crate::wire::fields::root_object;
use crate::wire::ids::made_for;
use crate::wire::json::JsonWriter;
use crate::wire::lost::foreign_reply;
use crate::wire::read::{count, json, pick, string, structured, take};
use crate::wire::{Decoder, Read, Sink, WireError, Written};

pub(super) fn read(doc: &Doc) -> Result<Read<Reply<'_>>, WireError> {
    if doc.kind(doc.root()) == Kind::Array {
        return list(doc).map(Read::clean);
    }
    let root = root_object(doc)?;
    let mut out = Reply { wire: NAME, ..Reply::default() };
    let names = [
        "candidates",
        "usageMetadata",
        "modelVersion",
        "responseId",
        "createTime",
        "promptFeedback",
        "error",
    ];
    let [candidates, usage, model, id, created, feedback, error] = take(doc, root, names, &mut out.extra);
    if error.is_some() {
        return Err(WireError::Vendor(Box::new(structured(doc, root))));
    }
    out.id = string(doc, id);
    out.model = string(doc, model);
    out.created = json(doc, created);
    out.usage = usage.map(|n| read_usage(doc, n));
    for (at, node) in candidates.into_iter().flat_map(|c| doc.elements(c)).enumerate() {
        out.choices.push(candidate(doc, node, at, id)?);
    }
    if let Some(feedback) = feedback {
        if let (true, Some(reason)) = (out.choices.is_empty(), string(doc, doc.get(feedback, "blockReason")))
        {
            out.choices.push(blocked(reason));
        }
        out.extra.push(("promptFeedback".into(), Json::at(doc, feedback)));
    }
    if out.is_empty() {
        return Err(empty());
    }
    Ok(Read::clean(out))
}

/// A stream that was sent as one JSON list.
fn list(doc: &Doc) -> Result<Reply<'_>, WireError> {
    let (mut decoder, mut sink, mut assembler) =
        (GeminiDecoder::default(), Sink::default(), Assembler::new(NAME));
    for node in doc.elements(doc.root()) {
        let one = Doc::parse_with_limit(doc.raw(node).to_owned(), usize::MAX)?;
        decoder.event(None, &one, &mut sink);
    }
    decoder.end(&mut sink);
    sink.take().into_iter().for_each(|event| assembler.push(event));
    assembler.finish().map_err(WireError::Vendor)
}

fn blocked(reason: Str<'_>) -> Choice<'_> {
    let stop = Stop { raw: Some(reason), ..Stop::new(StopReason::ContentFilter) };
    let turn = Turn::new(Role::Assistant, Vec::new());
    Choice { index: 0, turn, stop: Some(stop), logprobs: None, extra: Vec::new() }
}

fn candidate(doc: &Doc, node: NodeId, at: usize, id: Option<NodeId>) -> Result<Choice<'_>, DocError> {
    let mut extra = Extra::new();
    let [index, content, finish, message] =
        take(doc, node, ["index", "content", "finishReason", "finishMessage"], &mut extra);
    let list = content.and_then(|c| doc.get(c, "parts"));
    let mut parts = list
        .into_iter()
        .flat_map(|p| doc.elements(p))
        .map(|n| part(doc, n))
        .collect::<Result<Vec<_>, _>>()?;
    parts.retain(|p| !is_blank(p));
    let seed = string(doc, id).map(|s| s.decode().into_owned()).unwrap_or_default();
    let index = count(doc, index).and_then(|n| u32::try_from(n).ok()).unwrap_or(at as u32);
    let mut calls = 0;
    for part in &mut parts {
        if let Part::Call(call) = part {
            if call.id.is_empty() {
                call.id = made_for(&seed, index, calls).into();
            }
            calls += 1;
        }
    }
    let mut stop = string(doc, finish).map(|word| stop_of(&word));
    if let (Some(stop), Some(words)) = (&mut stop, json(doc, message)) {
        stop.extra.push(("finishMessage".into(), words));
    }
    correct(&mut stop, &parts);
    Ok(Choice { index, turn: Turn::new(Role::Assistant, parts), stop, logprobs: None, extra })
}

pub(super) fn stop_of<'d>(word: &Str<'d>) -> Stop<'d> {
    let reason = match word.decode().as_ref() {
        "STOP" => StopReason::Stop,
        "MAX_TOKENS" | "CONTINUATION" => StopReason::Length,
        "SAFETY"
        | "RECITATION"
        | "BLOCKLIST"
        | "PROHIBITED_CONTENT"
        | "SPII"
        | "IMAGE_SAFETY"
        | "IMAGE_PROHIBITED_CONTENT"
        | "IMAGE_RECITATION"
        | "MODEL_ARMOR"
        | "ESCALATION" => StopReason::ContentFilter,
        "MALFORMED_FUNCTION_CALL"
        | "UNEXPECTED_TOOL_CALL"
        | "MALFORMED_RESPONSE"
        | "TOO_MANY_TOOL_CALLS"
        | "MISSING_THOUGHT_SIGNATURE" => StopReason::Malformed,
        "PUP_LIMITED_DISABLED" | "OTHER" | "LANGUAGE" | "NO_IMAGE" | "IMAGE_OTHER" => StopReason::Failed,
        _ => StopReason::Unknown,
    };
    Stop { raw: Some(word.clone()), ..Stop::new(reason) }
}

pub(super) fn read_usage(doc: &Doc, node: NodeId) -> Usage {
    let names = [
        "promptTokenCount",
        "toolUsePromptTokenCount",
        "cachedContentTokenCount",
        "candidatesTokenCount",
        "thoughtsTokenCount",
    ];
    let [input, tools, cached, output, thoughts] = pick(doc, node, names);
    let number = |n| count(doc, n).unwrap_or(0);
    Usage {
        output: number(output).saturating_add(number(thoughts)),
        reasoning: count(doc, thoughts),
        raw: Some(Json::at(doc, node).into_owned()),
        ..Usage::gross(number(input).saturating_add(number(tools)), count(doc, cached), None)
    }
}

pub(super) fn write_usage(usage: &Usage, own: bool, out: &mut JsonWriter) {
    if let (true, Some(raw)) = (own, &usage.raw) {
        out.json(raw);
        return;
    }
    let thoughts = usage.reasoning.unwrap_or(0).min(usage.output);
    out.object().key("promptTokenCount").number(usage.input());
    if let Some(read) = usage.cache_read {
        out.key("cachedContentTokenCount").number(read);
    }
    out.key("candidatesTokenCount").number(usage.output.saturating_sub(thoughts));
    if usage.reasoning.is_some() {
        out.key("thoughtsTokenCount").number(thoughts);
    }
    out.key("totalTokenCount").number(usage.total()).end_object();
}

pub(super) fn finish_word(stop: Option<&Stop<'_>>, own: bool) -> String {
    let Some(stop) = stop else { return "STOP".into() };
    if let (true, Some(raw)) = (own, &stop.raw) {
        return raw.decode().into_owned();
    }
    match stop.reason {
        StopReason::Length | StopReason::ContextFull | StopReason::Pause => "MAX_TOKENS",
        StopReason::ContentFilter | StopReason::Refusal => "SAFETY",
        StopReason::Malformed => "MALFORMED_FUNCTION_CALL",
        StopReason::Failed | StopReason::Unknown => "OTHER",
        _ => "STOP",
    }
    .into()
}

pub(super) fn write(reply: &Reply<'_>, cx: &WriteContext) -> Result<Written, WireError> {
    let own = reply.wire == NAME;
    let mut notes = Vec::new();
    let mut out = JsonWriter::with_capacity(4 << 10);
    out.object().key("candidates").array();
    for choice in &reply.choices {
        write_candidate(choice, own, cx, &mut out, &mut notes)?;
    }
    out.end_array();
    if let Some(usage) = &reply.usage {
        out.key("usageMetadata");
        write_usage(usage, own, &mut out);
    }
    match &reply.model {
        Some(model) => drop(out.key("modelVersion").str(model)),
        None => drop(out.key("modelVersion").text(cx.model.as_deref().unwrap_or_default())),
    }
    match &reply.id {
        Some(id) => drop(out.key("responseId").str(id)),
        None => drop(out.key("responseId").text(&format!("{:016x}", cx.ids))),
    }
    if own {
        out.opt_json("createTime", reply.created.as_ref()).extra(&reply.extra);
    } else {
        foreign_reply(reply, &mut notes);
        notes.extend(reply.tier.iter().map(|_| left_out("service_tier")));
    }
    out.end_object();
    Ok(Written::new(out.finish(), notes))
}

fn write_candidate(
    choice: &Choice<'_>,
    own: bool,
    cx: &WriteContext,
    out: &mut JsonWriter,
    notes: &mut Vec<Diagnostic>,
) -> Result<(), WireError> {
    out.object().key("index").number(choice.index).key("content").object().key("role").text("model");
    out.key("parts").array();
    for part in &choice.turn.parts {
        match part {
            Part::Thought(thought) if !own && (cx.options.hide_reasoning || thought.copy) => {}
            Part::Opaque(opaque) if !own && opaque.wire != NAME => notes.push(left_out("candidates/content")),
            Part::Call(_) if !own && is_unfinished(choice, part) => notes.push(unfinished()),
            Part::Call(call) => write_call(call, own, true, out, notes),
            other => write_part(other, own, true, "/candidates", out, notes)?,
        }
    }
    out.end_array().end_object();
    out.key("finishReason").text(&finish_word(choice.stop.as_ref(), own));
    if own {
        choice.stop.iter().for_each(|s| _ = out.extra(&s.extra));
        out.extra(&choice.extra);
    }
    out.end_object();
    Ok(())
}
