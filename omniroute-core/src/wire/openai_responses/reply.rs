//! Reads and writes whole replies.

use super::item_out::{write_call, write_summary, write_text, write_thought};
use super::items::{NAME, item};
use crate::conversation::Role;
use crate::diagnostic::Diagnostic;
use crate::doc::{Doc, Kind, NodeId};
use crate::hub::{
    Choice, Extra, Issuer, Json, Part, Reply, Seal, Stop, StopReason, Str, Text, Thought, Turn, Usage,
    WriteContext,
};
use crate::wire::common::{empty, is_blank, is_unfinished, left_out, unfinished, write_tier};
use crate::wire::fields::{array, root_object};
use crate::wire::json::JsonWriter;
use crate::wire::lost::foreign_reply;
use crate::wire::read::{count, is, json, pick, string, structured, take};
use crate::wire::{Read, WireError, Written, seal};

/// Names under which a text remembers the message item it stands in.
const OF_ITEM: [&str; 3] = ["item/id", "item/status", "item/phase"];

pub(super) fn read(doc: &Doc) -> Result<Read<Reply<'_>>, WireError> {
    let root = root_object(doc)?;
    reply(doc, root).map(Read::clean)
}

/// A response object: a body, or part of an event.
pub(super) fn reply(doc: &Doc, root: NodeId) -> Result<Reply<'_>, WireError> {
    let mut out = Reply { wire: NAME, ..Reply::default() };
    let names = [
        "id",
        "model",
        "created_at",
        "output",
        "status",
        "incomplete_details",
        "usage",
        "service_tier",
        "error",
        "object",
    ];
    let [id, model, created, output, status, details, usage, tier, error, _] =
        take(doc, root, names, &mut out.extra);
    if error.is_some() || is(doc, status, "failed") || (output.is_none() && status.is_none()) {
        return Err(WireError::Vendor(Box::new(structured(doc, root))));
    }
    out.id = string(doc, id);
    out.model = string(doc, model);
    out.created = json(doc, created);
    out.tier = string(doc, tier);
    out.usage = usage.filter(|n| doc.kind(*n) == Kind::Object).map(|n| read_usage(doc, n));
    let mut parts = Vec::new();
    for node in doc.elements(array(doc, root, output, "output")?) {
        parts.extend(parts_of(doc, node)?);
    }
    let stop = stop_of(doc, status, details, &parts);
    let turn = Turn::new(Role::Assistant, parts);
    out.choices.push(Choice { index: 0, turn, stop, logprobs: None, extra: Vec::new() });
    if out.is_empty() {
        return Err(empty());
    }
    Ok(out)
}

/// The parts of one output item; a text remembers which message it is of.
fn parts_of(doc: &Doc, node: NodeId) -> Result<Vec<Part<'_>>, WireError> {
    let turn = item(doc, node)?;
    let mut remembered = Extra::new();
    remembered.extend(turn.id.map(|id| (OF_ITEM[0].into(), literal(&id))));
    remembered.extend(turn.status.map(|status| (OF_ITEM[1].into(), literal(&status))));
    let phase = turn.extra.into_iter().find(|(key, _)| key.is("phase"));
    remembered.extend(phase.map(|(_, value)| (OF_ITEM[2].into(), value)));
    let mut parts = turn.parts;
    parts.retain(|p| !is_blank(p));
    for part in &mut parts {
        if let Part::Text(text) | Part::Refusal(text) = part {
            text.extra.extend(remembered.iter().cloned());
        }
    }
    Ok(parts)
}

fn literal(text: &Str<'_>) -> Json<'static> {
    let mut out = JsonWriter::default();
    out.str(text);
    Json::of(out.finish())
}

pub(super) fn stop_of(
    doc: &Doc,
    status: Option<NodeId>,
    details: Option<NodeId>,
    parts: &[Part<'_>],
) -> Option<Stop<'static>> {
    let status = string(doc, status)?;
    let reason = details.and_then(|d| string(doc, doc.get(d, "reason")));
    let raw = reason.unwrap_or_else(|| status.clone());
    let found = match (status.decode().as_ref(), raw.decode().as_ref()) {
        ("completed", _) if parts.iter().any(|p| matches!(p, Part::Call(_))) => StopReason::ToolCalls,
        ("completed", _) if parts.iter().any(|p| matches!(p, Part::Refusal(_))) => StopReason::Refusal,
        ("completed", _) => StopReason::Stop,
        ("incomplete", "max_output_tokens") => StopReason::Length,
        ("incomplete", "content_filter") => StopReason::ContentFilter,
        ("incomplete", _) => StopReason::Pause,
        _ => StopReason::Unknown,
    };
    Some(Stop { raw: Some(raw.into_owned()), ..Stop::new(found) })
}

pub(super) fn read_usage(doc: &Doc, node: NodeId) -> Usage {
    let names = ["input_tokens", "output_tokens", "input_tokens_details", "output_tokens_details"];
    let [input, output, input_details, output_details] = pick(doc, node, names);
    let inner = |node: Option<NodeId>, key| node.and_then(|n| count(doc, doc.get(n, key)));
    let (read, written) = (inner(input_details, "cached_tokens"), inner(input_details, "cache_write_tokens"));
    Usage {
        output: count(doc, output).unwrap_or(0),
        reasoning: inner(output_details, "reasoning_tokens"),
        raw: Some(Json::at(doc, node).into_owned()),
        ..Usage::gross(count(doc, input).unwrap_or(0), read, written)
    }
}

pub(super) fn write_usage(usage: &Usage, own: bool, out: &mut JsonWriter) {
    if let (true, Some(raw)) = (own, &usage.raw) {
        out.json(raw);
        return;
    }
    out.object().key("input_tokens").number(usage.input()).key("input_tokens_details").object();
    out.key("cached_tokens").number(usage.cache_read.unwrap_or(0));
    // Clients of this wire demand the number.
    out.key("cache_write_tokens").number(usage.cache_write.unwrap_or(0));
    out.end_object().key("output_tokens").number(usage.output).key("output_tokens_details").object();
    out.key("reasoning_tokens").number(usage.reasoning.unwrap_or(0)).end_object();
    out.key("total_tokens").number(usage.total()).end_object();
}

/// How a reply ended: status and, where it is incomplete, why.
pub(super) fn status_of(stop: Option<&Stop<'_>>) -> (&'static str, Option<&'static str>) {
    match stop.map(|s| s.reason) {
        Some(StopReason::Length | StopReason::ContextFull) => ("incomplete", Some("max_output_tokens")),
        Some(StopReason::ContentFilter) => ("incomplete", Some("content_filter")),
        Some(StopReason::Pause) => ("incomplete", Some("pause")),
        _ => ("completed", None),
    }
}

/// The members in front of `output`, up to and without it.
pub(super) fn head(
    id: &str,
    created: u64,
    model: &str,
    status: &str,
    why: Option<&str>,
    out: &mut JsonWriter,
) {
    out.key("id").text(id).key("object").text("response").key("created_at").number(created);
    out.key("status").text(status).key("error").null().key("incomplete_details");
    match why {
        Some(why) => out.object().key("reason").text(why).end_object(),
        None => out.null(),
    };
    out.key("model").text(model);
}

/// Members that clients expect and that no other wire has.
pub(super) fn tail(out: &mut JsonWriter) {
    out.key("instructions").null().key("metadata").object().end_object();
    out.key("parallel_tool_calls").bool(true).key("temperature").null().key("tool_choice").text("auto");
    out.key("tools").array().end_array().key("top_p").null();
}

pub(super) fn write(reply: &Reply<'_>, cx: &WriteContext) -> Result<Written, WireError> {
    let own = reply.wire == NAME;
    let mut notes = Vec::new();
    let mut out = JsonWriter::with_capacity(4 << 10);
    let first = reply.choices.first();
    if reply.choices.len() > 1 {
        notes.push(left_out("choices"));
    }
    let (status, mut why) = status_of(first.and_then(|c| c.stop.as_ref()));
    let raw = first.and_then(|c| c.stop.as_ref()).and_then(|s| s.raw.as_ref()).map(|r| r.decode());
    if own && why.is_some() {
        why = raw.as_deref();
    }
    out.object();
    let id = reply.id.as_ref().map_or_else(|| format!("resp_{:016x}", cx.ids), |id| id.decode().into_owned());
    let model = reply.model.as_ref().map(|m| m.decode().into_owned()).or_else(|| cx.model.clone());
    let created = reply.created.as_ref().and_then(|c| c.count()).unwrap_or(0);
    head(&id, created, &model.unwrap_or_default(), status, why, &mut out);
    out.key("output").array();
    output(first, own, cx, &mut out, &mut notes);
    out.end_array();
    if let Some(usage) = &reply.usage {
        out.key("usage");
        write_usage(usage, own, &mut out);
    }
    write_tier(reply, own, &mut out, &mut notes);
    if own {
        out.extra(&reply.extra);
    } else {
        tail(&mut out);
        foreign_reply(reply, &mut notes);
    }
    out.end_object();
    Ok(Written::new(out.finish(), notes))
}

fn output(
    choice: Option<&Choice<'_>>,
    own: bool,
    cx: &WriteContext,
    out: &mut JsonWriter,
    notes: &mut Vec<Diagnostic>,
) {
    let parts = choice.map_or(&[][..], |c| c.turn.parts.as_slice());
    let mut made = 0;
    let mut rest = parts;
    while let Some((part, after)) = rest.split_first() {
        rest = after;
        match part {
            Part::Text(text) | Part::Refusal(text) => {
                // Texts of one message stand together.
                let same =
                    |p: &Part<'_>| matches!(p, Part::Text(t) | Part::Refusal(t) if id_of(t) == id_of(text));
                let more = rest.iter().take_while(|p| same(p)).count();
                let (inside, after) = rest.split_at(more);
                rest = after;
                let id =
                    id_of(text).and_then(|id| id.text()).unwrap_or_else(|| made_id("msg", cx.ids, &mut made));
                message(&id, text, std::iter::once(part).chain(inside), own, out);
            }
            Part::Call(_) if !own && choice.is_some_and(|c| is_unfinished(c, part)) => {
                notes.push(unfinished())
            }
            Part::Call(call) => {
                if let Some(seal) = &call.seal {
                    envelope(
                        &seal::close(seal, Some(&call.id.decode())),
                        &made_id("rs", cx.ids, &mut made),
                        out,
                    );
                }
                let mut call = call.clone();
                if call.item.is_none() {
                    call.item = Some(made_id("fc", cx.ids, &mut made).into());
                }
                if call.status.is_none() && !own {
                    call.status = Some("completed".into());
                }
                call.extra.retain(|_| own);
                write_call(&call, true, false, out);
            }
            Part::Thought(thought) if own => write_thought(thought, true, out),
            Part::Thought(thought) if cx.options.hide_reasoning || thought.copy => {}
            Part::Thought(thought) => foreign_thought(thought, &made_id("rs", cx.ids, &mut made), out),
            Part::Opaque(opaque) if own => drop(out.json(&opaque.raw)),
            _ => notes.push(left_out("output")),
        }
    }
}

pub(super) fn made_id(prefix: &str, seed: u64, made: &mut u32) -> String {
    *made += 1;
    format!("{prefix}_{seed:016x}{made:04x}")
}

fn id_of<'a, 'd>(text: &'a Text<'d>) -> Option<&'a Json<'d>> {
    text.extra.iter().find(|(key, _)| key.is(OF_ITEM[0])).map(|(_, value)| value)
}

fn message<'a, 'd: 'a>(
    id: &str,
    first: &Text<'_>,
    parts: impl Iterator<Item = &'a Part<'d>>,
    own: bool,
    out: &mut JsonWriter,
) {
    let remembered = |name: &str| first.extra.iter().find(|(key, _)| key.is(name)).map(|(_, value)| value);
    out.object().key("type").text("message").key("id").text(id).key("role").text("assistant").key("status");
    match remembered(OF_ITEM[1]).filter(|_| own) {
        Some(status) => out.json(status),
        None => out.text("completed"),
    };
    out.opt_json("phase", remembered(OF_ITEM[2]).filter(|_| own)).key("content").array();
    for part in parts {
        match part {
            Part::Text(text) if own => {
                let mut text = text.clone();
                text.extra.retain(|(key, _)| !OF_ITEM.iter().any(|name| key.is(name)));
                write_text(&text, "output_text", true, out);
            }
            Part::Text(text) => foreign_text(text, out),
            Part::Refusal(text) => {
                out.object().key("type").text("refusal").key("refusal").str(&text.text).end_object();
            }
            _ => {}
        }
    }
    out.end_array().end_object();
}

fn foreign_text(text: &Text<'_>, out: &mut JsonWriter) {
    out.object().key("type").text("output_text").key("text").str(&text.text).key("annotations").array();
    for citation in text.citations.iter().filter(|c| c.url.is_some()) {
        out.object().key("type").text("url_citation").opt_str("url", citation.url.as_ref());
        out.key("title").str(citation.title.as_ref().unwrap_or(&"".into()));
        out.key("start_index").number(citation.start.unwrap_or(0));
        out.key("end_index").number(citation.end.unwrap_or(0)).end_object();
    }
    out.end_array().opt_json("logprobs", text.logprobs.as_ref()).end_object();
}

/// What stands in `encrypted_content`: the vendor's own, or an envelope around another's.
pub(super) fn sealed(seal: &Seal<'_>) -> String {
    if seal.issuer == Issuer::OpenAi { seal.data.decode().into_owned() } else { seal::close(seal, None) }
}

pub(super) fn foreign_thought(thought: &Thought<'_>, id: &str, out: &mut JsonWriter) {
    out.object().key("type").text("reasoning").key("id").text(id);
    let told: Vec<_> = thought.text.iter().filter(|t| !t.is_empty()).cloned().collect();
    write_summary(&Thought { text: told, summary: true, ..thought.clone() }, out);
    if let Some(seal) = &thought.seal {
        out.key("encrypted_content").text(&sealed(seal));
    }
    out.end_object();
}

/// A reasoning item that only carries the seal of a call.
fn envelope(text: &str, id: &str, out: &mut JsonWriter) {
    out.object().key("type").text("reasoning").key("id").text(id).key("summary").array().end_array();
    out.key("encrypted_content").text(text).end_object();
}
