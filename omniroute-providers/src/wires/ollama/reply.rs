//! Reads and writes whole replies.

use omniroute_core::hub::{
    Choice, ErrorBody, Extra, Json, Part, Reply, Stop, StopReason, Str, Usage, WriteContext,
};
use omniroute_core::wire::lost::foreign_reply;
use omniroute_core::wire::read::{boolean, count, json, string, structured, take};
use omniroute_core::wire::{JsonWriter, Read, WireError, Written, ids};
use omniroute_core::{Doc, Kind, NodeId};

use super::NAME;
use super::message::{Links, read_message, words};
use super::turn::write_call;
use crate::wires::common::{
    Notes, correct, empty, is_blank, is_unfinished, left_out, root_object, shape, unfinished,
};

pub(super) fn read(doc: &Doc) -> Result<Read<Reply<'_>>, WireError> {
    let root = root_object(doc)?;
    let mut out = Reply { wire: NAME, ..Reply::default() };
    let names = [
        "model",
        "created_at",
        "message",
        "done",
        "done_reason",
        "prompt_eval_count",
        "eval_count",
        "logprobs",
        "error",
    ];
    let [model, created, message, done, reason, input, output, logprobs, error] =
        take(doc, root, names, &mut out.extra);
    if error.is_some() {
        return Err(WireError::Vendor(Box::new(structured(doc, root))));
    }
    let message = message.ok_or_else(|| shape(doc, root, "key \"message\" is missing"))?;
    if boolean(doc, done) == Some(false) {
        let action = "the answer ended before it was done";
        return Err(WireError::Vendor(Box::new(ErrorBody::own("truncated_stream", action))));
    }
    out.model = string(doc, model);
    out.created = json(doc, created);
    out.usage = read_usage(doc, input, output);
    let mut turn = read_message(doc, message, &mut Links::default())?;
    turn.parts.retain(|p| !is_blank(p));
    let place = string(doc, created).map(|c| c.decode().into_owned()).unwrap_or_default();
    let mut called = 0;
    for part in &mut turn.parts {
        if let Part::Call(call) = part {
            if !call.extra.iter().any(|(key, _)| key.is("id")) {
                call.id = ids::made_for(&place, 0, called).into();
            }
            call.extra.retain(|(key, _)| !key.is("id"));
            called += 1;
        }
        if let (Part::Text(text), Some(list)) = (&mut *part, logprobs) {
            text.logprobs = (doc.kind(list) == Kind::Array).then(|| Json::at(doc, list));
        }
    }
    let mut stop = Some(stop_of(string(doc, reason)));
    correct(&mut stop, &turn.parts);
    out.choices.push(Choice { index: 0, turn, stop, logprobs: None, extra: Extra::new() });
    if out.is_empty() {
        return Err(empty());
    }
    Ok(Read::clean(out))
}

pub(super) fn stop_of(word: Option<Str<'_>>) -> Stop<'static> {
    let Some(word) = word else { return Stop::new(StopReason::Stop) };
    let reason = match word.decode().as_ref() {
        "stop" => StopReason::Stop,
        "length" => StopReason::Length,
        _ => StopReason::Unknown,
    };
    Stop { raw: Some(word.into_owned()), ..Stop::new(reason) }
}

/// The count of a prompt that was read before is not told.
pub(super) fn read_usage(doc: &Doc, input: Option<NodeId>, output: Option<NodeId>) -> Option<Usage> {
    if input.is_none() && output.is_none() {
        return None;
    }
    Some(Usage {
        uncached: count(doc, input).unwrap_or(0),
        output: count(doc, output).unwrap_or(0),
        estimated: input.is_none(),
        ..Usage::default()
    })
}

pub(super) fn done_word(stop: Option<&Stop<'_>>, own: bool) -> String {
    let Some(stop) = stop else { return "stop".into() };
    if let (true, Some(raw)) = (own, &stop.raw) {
        return raw.decode().into_owned();
    }
    match stop.reason {
        StopReason::Length | StopReason::ContextFull | StopReason::Pause => "length",
        _ => "stop",
    }
    .into()
}

/// The members behind the message of the last object.
pub(super) fn write_end(stop: &str, usage: Option<&Usage>, out: &mut JsonWriter) {
    out.key("done").bool(true).key("done_reason").text(stop);
    if let Some(usage) = usage {
        if !usage.estimated {
            out.key("prompt_eval_count").number(usage.input());
        }
        out.key("eval_count").number(usage.output);
    }
}

/// Model and time, as every object has them.
pub(super) fn write_head(model: &str, created: Option<&str>, out: &mut JsonWriter) {
    out.key("model").text(model);
    out.key("created_at").text(created.unwrap_or("1970-01-01T00:00:00Z"));
}

pub(super) fn write(reply: &Reply<'_>, cx: &WriteContext) -> Result<Written, WireError> {
    let own = reply.wire == NAME;
    let mut notes = Notes::new();
    let mut out = JsonWriter::with_capacity(4 << 10);
    out.object();
    let model = reply.model.as_ref().map(|m| m.decode().into_owned()).or_else(|| cx.model.clone());
    let created = reply.created.as_ref().and_then(Json::text);
    write_head(&model.unwrap_or_default(), created.as_deref(), &mut out);
    let first = reply.choices.first();
    if reply.choices.len() > 1 {
        notes.push(left_out("choices"));
    }
    out.key("message").object().key("role").text("assistant");
    if let Some(choice) = first {
        message(choice, own, cx, &mut out, &mut notes);
    }
    out.end_object();
    let stop = done_word(first.and_then(|c| c.stop.as_ref()), own);
    write_end(&stop, reply.usage.as_ref(), &mut out);
    if own {
        let texts = first.into_iter().flat_map(|c| &c.turn.parts).filter_map(words);
        out.opt_json("logprobs", texts.filter_map(|t| t.logprobs.as_ref()).next());
        out.extra(&reply.extra);
    } else {
        foreign_reply(reply, &mut notes);
    }
    out.end_object();
    Ok(Written::new(out.finish(), notes))
}

fn message(choice: &Choice<'_>, own: bool, cx: &WriteContext, out: &mut JsonWriter, notes: &mut Notes) {
    let parts = &choice.turn.parts;
    out.key("content").texts(parts.iter().filter_map(words).map(|t| &t.text));
    if parts.iter().filter_map(words).any(|t| !t.citations.is_empty()) {
        notes.push(left_out("message/citations"));
    }
    let mut thoughts: Vec<&Str<'_>> = Vec::new();
    let mut calls = Vec::new();
    for part in parts {
        match part {
            Part::Thought(t) if !cx.options.hide_reasoning && !t.copy => thoughts.extend(t.text.iter()),
            Part::Call(_) if !own && is_unfinished(choice, part) => notes.push(unfinished()),
            Part::Call(call) => calls.push(call),
            Part::Media(_) | Part::Opaque(_) => notes.push(left_out("message/content")),
            _ => {}
        }
    }
    if !thoughts.iter().all(|t| t.is_empty()) {
        out.key("thinking").texts(thoughts.into_iter());
    }
    if !calls.is_empty() {
        out.key("tool_calls").array();
        for (number, call) in calls.into_iter().enumerate() {
            write_call(call, own, Some(number), out, notes);
        }
        out.end_array();
    }
}
