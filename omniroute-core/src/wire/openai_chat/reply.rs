//! Reads and writes whole replies.

use super::message::{NAME, read_message};
use super::turn::{annotations, thought, write_call, write_thoughts};
use crate::conversation::Role;
use crate::diagnostic::Diagnostic;
use crate::doc::{Doc, Kind, NodeId};
use crate::hub::{
    Choice, Extra, Issuer, Json, Part, Reply, Seal, Spelling, Stop, StopReason, Str, Text, Thought, Usage,
    WriteContext,
};
use crate::wire::common::{correct, empty, is_blank, is_unfinished, left_out, unfinished, write_tier};
use crate::wire::fields::{array, root_object};
use crate::wire::json::JsonWriter;
use crate::wire::lost::foreign_reply;
use crate::wire::read::{count, json, pick, string, structured, take};
use crate::wire::{Read, WireError, Written};

pub(super) fn read(doc: &Doc) -> Result<Read<Reply<'_>>, WireError> {
    let root = root_object(doc)?;
    let mut out = Reply { wire: NAME, ..Reply::default() };
    let names = ["error", "choices", "id", "model", "created", "usage", "service_tier", "object"];
    let [error, choices, id, model, created, usage, tier, _] = take(doc, root, names, &mut out.extra);
    if error.is_some() || (choices.is_none() && doc.get(root, "message").is_some()) {
        return Err(WireError::Vendor(Box::new(structured(doc, root))));
    }
    out.id = string(doc, id);
    out.model = string(doc, model);
    out.created = json(doc, created);
    out.tier = string(doc, tier);
    out.usage = usage.map(|n| read_usage(doc, n));
    for (at, node) in doc.elements(array(doc, root, choices, "choices")?).enumerate() {
        out.choices.push(choice(doc, node, at)?);
    }
    if out.is_empty() {
        return Err(empty());
    }
    Ok(Read::clean(out))
}

fn choice(doc: &Doc, node: NodeId, at: usize) -> Result<Choice<'_>, WireError> {
    let mut extra = Extra::new();
    let names = ["index", "message", "delta", "finish_reason", "logprobs"];
    let [index, message, delta, finish, logprobs] = take(doc, node, names, &mut extra);
    let message = message.or(delta).filter(|n| doc.kind(*n) == Kind::Object);
    let message = message.ok_or_else(|| {
        let detail = "a choice has no \"message\"".to_owned();
        crate::wire::fields::error(doc, node, crate::doc::Rule::Shape, detail)
    })?;
    let mut turn = read_message(doc, message)?;
    // An empty text beside calls, or an answer cut before its first word, is no part.
    turn.parts.retain(|p| !is_blank(p));
    if let (Some(list), Some(Part::Text(text))) = (
        logprobs.and_then(|l| doc.get(l, "content")).filter(|n| doc.kind(*n) == Kind::Array),
        turn.parts.iter_mut().find(|p| matches!(p, Part::Text(_))),
    ) {
        text.logprobs = Some(Json::at(doc, list));
    }
    let mut stop = string(doc, finish).map(|word| stop_of(&word));
    correct(&mut stop, &turn.parts);
    let index = count(doc, index).and_then(|n| u32::try_from(n).ok()).unwrap_or(at as u32);
    Ok(Choice { index, turn, stop, logprobs: json(doc, logprobs), extra })
}

pub(super) fn stop_of(word: &Str<'_>) -> Stop<'static> {
    let text = word.decode();
    let reason = match text.as_ref() {
        "stop" | "eos" | "end_turn" => StopReason::Stop,
        "length" | "max_tokens" => StopReason::Length,
        "tool_calls" | "function_call" => StopReason::ToolCalls,
        "content_filter" => StopReason::ContentFilter,
        "error" => StopReason::Failed,
        _ => StopReason::Unknown,
    };
    Stop { raw: Some(text.into_owned().into()), ..Stop::new(reason) }
}

pub(super) fn read_usage(doc: &Doc, node: NodeId) -> Usage {
    let names = [
        "prompt_tokens",
        "completion_tokens",
        "prompt_tokens_details",
        "completion_tokens_details",
        "cached_tokens",
        "prompt_cache_hit_tokens",
        "cache_read_input_tokens",
        "cache_creation_input_tokens",
        "cache_creation",
        "reasoning_tokens",
    ];
    let [input, output, input_details, output_details, flat, hit, read, created, by_age, thinking] =
        pick(doc, node, names);
    let inner = |node: Option<NodeId>, key| node.and_then(|n| count(doc, doc.get(n, key)));
    let cached = inner(input_details, "cached_tokens")
        .or_else(|| [flat, hit, read].into_iter().find_map(|n| count(doc, n)));
    let written = inner(input_details, "cache_write_tokens").or_else(|| count(doc, created));
    let usage = Usage::gross(count(doc, input).unwrap_or(0), cached, written);
    Usage {
        output: count(doc, output).unwrap_or(0),
        reasoning: inner(output_details, "reasoning_tokens").or_else(|| count(doc, thinking)),
        write_5m: inner(by_age, "ephemeral_5m_input_tokens"),
        write_1h: inner(by_age, "ephemeral_1h_input_tokens"),
        raw: Some(Json::at(doc, node).into_owned()),
        ..usage
    }
}

pub(super) fn write_usage(usage: &Usage, own: bool, out: &mut JsonWriter) {
    if let (true, Some(raw)) = (own, &usage.raw) {
        out.json(raw);
        return;
    }
    out.object();
    out.key("prompt_tokens").number(usage.input());
    out.key("completion_tokens").number(usage.output);
    out.key("total_tokens").number(usage.total());
    if usage.cache_read.is_some() || usage.cache_write.is_some() {
        out.key("prompt_tokens_details").object();
        out.key("cached_tokens").number(usage.cache_read.unwrap_or(0));
        if let Some(written) = usage.cache_write {
            out.key("cache_write_tokens").number(written);
        }
        out.end_object();
    }
    if let Some(reasoning) = usage.reasoning {
        out.key("completion_tokens_details").object().key("reasoning_tokens").number(reasoning).end_object();
    }
    out.end_object();
}

pub(super) fn write(reply: &Reply<'_>, cx: &WriteContext) -> Result<Written, WireError> {
    let own = reply.wire == NAME;
    let mut notes = Vec::new();
    let mut out = JsonWriter::with_capacity(4 << 10);
    out.object();
    match &reply.id {
        Some(id) => drop(out.key("id").str(id)),
        None => drop(out.key("id").text(&format!("chatcmpl-{:016x}", cx.ids))),
    }
    out.key("object").text("chat.completion");
    match &reply.created {
        Some(created) if created.count().is_some() => drop(out.key("created").json(created)),
        _ => drop(out.key("created").number(0)),
    }
    match &reply.model {
        Some(model) => drop(out.key("model").str(model)),
        None => drop(out.key("model").text(cx.model.as_deref().unwrap_or_default())),
    }
    out.key("choices").array();
    for choice in &reply.choices {
        write_choice(choice, own, cx, &mut out, &mut notes);
    }
    out.end_array();
    if let Some(usage) = &reply.usage {
        out.key("usage");
        write_usage(usage, own, &mut out);
    }
    write_tier(reply, own, &mut out, &mut notes);
    if own {
        out.extra(&reply.extra);
    } else {
        foreign_reply(reply, &mut notes);
    }
    out.end_object();
    Ok(Written::new(out.finish(), notes))
}

fn write_choice(
    choice: &Choice<'_>,
    own: bool,
    cx: &WriteContext,
    out: &mut JsonWriter,
    notes: &mut Vec<Diagnostic>,
) {
    out.object().key("index").number(choice.index);
    out.key("message").object().key("role").text(Role::Assistant.as_str());
    let texts =
        || choice.turn.parts.iter().filter_map(|p| if let Part::Text(t) = p { Some(t) } else { None });
    let refusals =
        || choice.turn.parts.iter().filter_map(|p| if let Part::Refusal(t) = p { Some(t) } else { None });
    let told = |p: &&Part<'_>| own || !is_unfinished(choice, p);
    let calls: Vec<_> = choice
        .turn
        .parts
        .iter()
        .filter(told)
        .filter_map(|p| if let Part::Call(c) = p { Some(c) } else { None })
        .collect();
    if choice.turn.parts.iter().any(|p| !told(&p)) {
        notes.push(unfinished());
    }
    out.key("content");
    match texts().next() {
        None if calls.is_empty() && refusals().next().is_none() => drop(out.text("")),
        None => drop(out.null()),
        Some(_) => drop(out.texts(texts().map(|t| &t.text))),
    }
    if refusals().next().is_some() {
        out.key("refusal").texts(refusals().map(|t| &t.text));
    }
    let thoughts: Vec<_> = choice.turn.parts.iter().filter_map(thought).collect();
    if own {
        write_thoughts(&thoughts, out);
    } else if !cx.options.hide_reasoning {
        foreign_thoughts(&thoughts, out);
    }
    if own {
        texts().for_each(|t| annotations(t, out));
    } else {
        foreign_citations(texts(), out);
    }
    if !calls.is_empty() {
        out.key("tool_calls").array();
        for call in calls {
            write_call(call, own, false, out);
        }
        out.end_array();
    }
    if choice.turn.parts.iter().any(|p| matches!(p, Part::Media(_) | Part::Opaque(_))) {
        notes.push(left_out("choices/message/content"));
    }
    if own {
        out.extra(&choice.turn.extra);
    }
    out.end_object();
    match &choice.logprobs {
        Some(raw) if own => drop(out.key("logprobs").json(raw)),
        _ => foreign_logprobs(texts(), out),
    }
    out.key("finish_reason").text(finish_word(choice.stop.as_ref(), own).as_ref());
    if own {
        out.extra(&choice.extra);
    }
    out.end_object();
}

/// The words, and what the client has to send back so that the model knows its thoughts again.
fn foreign_thoughts(thoughts: &[&Thought<'_>], out: &mut JsonWriter) {
    let told = || thoughts.iter().filter(|t| !t.copy).flat_map(|t| &t.text).filter(|t| !t.is_empty());
    if told().next().is_some() {
        out.key("reasoning_content").texts(told());
    }
    let sealed: Vec<_> = thoughts.iter().filter(|t| t.seal.is_some()).collect();
    if sealed.is_empty() {
        return;
    }
    out.key("reasoning_details").array();
    for (index, thought) in sealed.into_iter().enumerate() {
        if let Some(seal) = &thought.seal {
            let redacted = thought.spelling == Spelling::Redacted;
            write_detail(seal, (!redacted).then_some(&thought.text), thought.item.as_ref(), index, out);
        }
    }
    out.end_array();
}

/// An entry of `reasoning_details` for a seal.
pub(super) fn write_detail(
    seal: &Seal<'_>,
    text: Option<&Vec<Str<'_>>>,
    item: Option<&Str<'_>>,
    index: usize,
    out: &mut JsonWriter,
) {
    let signed = seal.issuer == Issuer::Anthropic && text.is_some();
    out.object().key("type").text(if signed { "reasoning.text" } else { "reasoning.encrypted" });
    match text {
        Some(text) if signed => drop(out.key("text").texts(text.iter()).key("signature").str(&seal.data)),
        _ => drop(out.key("data").str(&seal.data)),
    }
    out.key("format").text(seal.issuer.name()).opt_str("id", item).key("index").number(index);
    out.end_object();
}

fn foreign_citations<'a, 'd: 'a>(texts: impl Iterator<Item = &'a Text<'d>>, out: &mut JsonWriter) {
    let all: Vec<_> = texts.flat_map(|t| &t.citations).filter(|c| c.url.is_some()).collect();
    if all.is_empty() {
        return;
    }
    out.key("annotations").array();
    for citation in all {
        out.object().key("type").text("url_citation").key("url_citation").object();
        out.opt_str("url", citation.url.as_ref()).opt_str("title", citation.title.as_ref());
        for (key, at) in [("start_index", citation.start), ("end_index", citation.end)] {
            out.key(key).number(at.unwrap_or(0));
        }
        out.end_object().end_object();
    }
    out.end_array();
}

fn foreign_logprobs<'a, 'd: 'a>(texts: impl Iterator<Item = &'a Text<'d>>, out: &mut JsonWriter) {
    let lists: Vec<_> = texts.filter_map(|t| t.logprobs.as_ref()).collect();
    let inner = |l: &&Json<'_>| l.raw().trim().trim_start_matches('[').trim_end_matches(']').to_owned();
    let joined = lists.iter().map(inner).filter(|l| !l.trim().is_empty()).collect::<Vec<_>>().join(",");
    if joined.is_empty() {
        out.key("logprobs").null();
    } else {
        out.key("logprobs")
            .object()
            .key("content")
            .raw(&format!("[{joined}]"))
            .key("refusal")
            .null()
            .end_object();
    }
}

pub(super) fn finish_word<'a>(stop: Option<&'a Stop<'_>>, own: bool) -> std::borrow::Cow<'a, str> {
    let Some(stop) = stop else { return "stop".into() };
    if let (true, Some(raw)) = (own, &stop.raw) {
        return raw.decode();
    }
    match stop.reason {
        StopReason::Length | StopReason::ContextFull | StopReason::Pause => "length",
        StopReason::ToolCalls => "tool_calls",
        StopReason::ContentFilter | StopReason::Refusal => "content_filter",
        _ => "stop",
    }
    .into()
}
