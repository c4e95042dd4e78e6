//! Writes messages: of requests and of replies.

use super::media::write_media;
use super::message::NAME;
use crate::conversation::Role;
use crate::diagnostic::Diagnostic;
use crate::hub::{
    Answer, Arguments, Call, CallKind, Issuer, Media, Part, Seal, Spelling, Text, Thought, Turn, WriteContext,
};
use crate::wire::common::no_part;
use crate::wire::json::JsonWriter;
use crate::wire::normal::is_opaque;
use crate::wire::read::write_cache_mark;
use crate::wire::{WireError, ids};

type Notes = Vec<Diagnostic>;

pub(super) fn write_turn(
    turn: &Turn<'_>,
    at: usize,
    own: bool,
    cx: &WriteContext,
    out: &mut JsonWriter,
    notes: &mut Notes,
) -> Result<(), WireError> {
    if own && is_opaque(turn) {
        if let Some(Part::Opaque(opaque)) = turn.parts.first() {
            out.json(&opaque.raw);
        }
        return Ok(());
    }
    if turn.role == Role::Tool {
        let mut moved = Vec::new();
        for part in &turn.parts {
            if let Part::Result(answer) = part {
                result(answer, turn, own, out, notes, &mut moved)?;
            }
        }
        if !moved.is_empty() {
            attachments(&moved, at, out)?;
        }
        return Ok(());
    }
    out.object().key("role").text(role(turn.role, cx));
    out.opt_str("name", turn.name.as_ref());
    let has_calls = turn.parts.iter().any(|p| matches!(p, Part::Call(_)));
    if turn.role == Role::Assistant {
        thoughts(turn, own, has_calls && cx.quirks.repeat_reasoning, out, notes);
    }
    content(turn, at, own, cx, has_calls, out)?;
    if has_calls {
        calls(turn, own, out);
    }
    if own {
        out.extra(&turn.extra);
    }
    out.end_object();
    Ok(())
}

fn role(role: Role, cx: &WriteContext) -> &'static str {
    match role {
        Role::Developer if cx.quirks.developer_role == Some(false) => "system",
        Role::System if cx.quirks.developer_role == Some(true) => "developer",
        other => other.as_str(),
    }
}

/// Text of a vendor's own is repeated as it was spelled; other reasoning is not sent, or only its words where the
/// host asks for them.
fn thoughts(turn: &Turn<'_>, own: bool, required: bool, out: &mut JsonWriter, notes: &mut Notes) {
    let all: Vec<&Thought<'_>> = turn.parts.iter().filter_map(thought).collect();
    if own {
        return write_thoughts(&all, out);
    }
    if required {
        out.key("reasoning_content").texts(all.iter().filter(|t| !t.copy).flat_map(|t| &t.text));
    } else if !all.is_empty() {
        notes.push(Diagnostic::new(
            "reasoning_dropped",
            "/messages",
            "reasoning of another model is not sent",
        ));
    }
}

pub(super) fn thought<'a, 'd>(part: &'a Part<'d>) -> Option<&'a Thought<'d>> {
    match part {
        Part::Thought(thought) => Some(thought),
        _ => None,
    }
}

pub(super) fn write_thoughts(all: &[&Thought<'_>], out: &mut JsonWriter) {
    for (name, spelling) in [("reasoning_content", Spelling::Content), ("reasoning", Spelling::Reasoning)] {
        if let Some(found) = all.iter().find(|t| t.spelling == spelling) {
            out.key(name).texts(found.text.iter());
        }
    }
    let details: Vec<_> = all.iter().filter(|t| t.spelling == Spelling::Details).collect();
    if details.is_empty() {
        return;
    }
    out.key("reasoning_details").array();
    for entry in details {
        let kind = match (entry.summary, entry.text.is_empty() && entry.seal.is_some()) {
            (true, _) => "reasoning.summary",
            (false, true) => "reasoning.encrypted",
            (false, false) => "reasoning.text",
        };
        out.object().key("type").text(kind);
        if !entry.text.is_empty() {
            out.key(if entry.summary { "summary" } else { "text" }).texts(entry.text.iter());
        }
        if let Some(seal) = &entry.seal {
            out.key(if kind == "reasoning.encrypted" { "data" } else { "signature" }).str(&seal.data);
        }
        out.opt_str("id", entry.item.as_ref());
        out.extra(&entry.extra);
        out.end_object();
    }
    out.end_array();
}

fn content(
    turn: &Turn<'_>,
    at: usize,
    own: bool,
    cx: &WriteContext,
    has_calls: bool,
    out: &mut JsonWriter,
) -> Result<(), WireError> {
    let shown = |p: &&Part<'_>| !matches!(p, Part::Call(_) | Part::Thought(_) | Part::Result(_));
    let assistant = turn.role == Role::Assistant;
    let refusal = |p: &&Part<'_>| matches!(p, Part::Refusal(_));
    let apart = assistant && turn.plain; // the refusal stands beside the content
    let parts: Vec<_> = turn.parts.iter().filter(shown).filter(|p| !(apart && refusal(p))).collect();
    out.key("content");
    match parts.as_slice() {
        [] if has_calls || (apart && turn.parts.iter().any(|p| refusal(&p))) => drop(out.null()),
        [] => drop(out.text("")),
        [Part::Text(text)] if turn.plain || !own => drop(out.str(&text.text)),
        parts if cx.quirks.plain_content && parts.iter().all(|p| matches!(p, Part::Text(_))) => {
            let gap = "\n\n".into();
            let texts = parts.iter().filter_map(|p| if let Part::Text(t) = p { Some(&t.text) } else { None });
            let spaced = texts.enumerate().flat_map(|(n, t)| (n > 0).then_some(&gap).into_iter().chain([t]));
            out.texts(spaced);
        }
        parts => {
            out.array();
            for (index, part) in parts.iter().enumerate() {
                write_part(part, own, &format!("/messages/{at}/content/{index}"), out)?;
            }
            out.end_array();
        }
    }
    if apart {
        for part in &turn.parts {
            if let Part::Refusal(text) = part {
                out.key("refusal").str(&text.text);
            }
            if let (true, Part::Text(text)) = (own, part) {
                annotations(text, out);
            }
        }
    }
    Ok(())
}

pub(super) fn annotations(text: &Text<'_>, out: &mut JsonWriter) {
    if !text.citations.is_empty() {
        out.key("annotations").array();
        text.citations.iter().for_each(|c| _ = out.json(&c.raw));
        out.end_array();
    }
}

fn write_part(part: &Part<'_>, own: bool, pointer: &str, out: &mut JsonWriter) -> Result<(), WireError> {
    match part {
        Part::Text(text) | Part::Refusal(text) => {
            let kind = if matches!(part, Part::Text(_)) { "text" } else { "refusal" };
            out.object().key("type").text(kind).key(kind).str(&text.text);
            write_cache_mark(out, text.cache.filter(|_| own));
            if own {
                out.extra(&text.extra);
            }
            out.end_object();
            Ok(())
        }
        Part::Media(media) => write_media(media, own, pointer, out),
        Part::Opaque(opaque) if own => {
            out.json(&opaque.raw);
            Ok(())
        }
        _ => Err(no_part(NAME, pointer)),
    }
}

fn calls(turn: &Turn<'_>, own: bool, out: &mut JsonWriter) {
    let all = || turn.parts.iter().filter_map(|p| if let Part::Call(call) = p { Some(call) } else { None });
    if let Some(call) = all().find(|c| c.kind == CallKind::Legacy) {
        out.key("function_call").object().key("name").str(&call.name).key("arguments");
        arguments(call, out);
        out.end_object();
    }
    if all().all(|c| c.kind == CallKind::Legacy) {
        return;
    }
    out.key("tool_calls").array();
    for call in all().filter(|c| c.kind != CallKind::Legacy) {
        write_call(call, own, !own, out);
    }
    out.end_array();
}

/// Ids are fitted to the host in requests; a client gets them as they are.
pub(super) fn write_call(call: &Call<'_>, own: bool, fitted: bool, out: &mut JsonWriter) {
    let custom = call.kind == CallKind::Custom;
    let kind = if custom { "custom" } else { "function" };
    out.object();
    out.key("id");
    match fitted {
        true => out.text(&ids::fit(&call.id.decode(), &ids::OPENAI)),
        false => out.str(&call.id),
    };
    out.key("type").text(kind).key(kind).object();
    out.key("name").str(&call.name).key(if custom { "input" } else { "arguments" });
    arguments(call, out);
    out.end_object();
    write_seal(call.seal.as_ref(), out);
    if own {
        out.extra(&call.extra);
    }
    out.end_object();
}

/// A signature on a call, as the one vendor has it whose calls are signed.
pub(super) fn write_seal(seal: Option<&Seal<'_>>, out: &mut JsonWriter) {
    if let Some(seal) = seal.filter(|s| s.issuer == Issuer::Gemini) {
        out.key("extra_content").object().key("google").object();
        out.key("thought_signature").str(&seal.data).end_object().end_object();
    }
}

fn arguments(call: &Call<'_>, out: &mut JsonWriter) {
    match &call.arguments {
        Arguments::Text(text) | Arguments::Free(text) => out.str(text),
        Arguments::Json(json) => out.text(json.raw()),
    };
}

fn result<'a, 'd>(
    answer: &'a Answer<'d>,
    turn: &Turn<'_>,
    own: bool,
    out: &mut JsonWriter,
    notes: &mut Notes,
    moved: &mut Vec<(&'a Answer<'d>, &'a Media<'d>)>,
) -> Result<(), WireError> {
    let legacy = answer.kind == CallKind::Legacy;
    out.object().key("role").text(if legacy { "function" } else { "tool" });
    if !legacy {
        out.key("tool_call_id");
        match own {
            true => out.str(&answer.id),
            false => out.text(&ids::fit(&answer.id.decode(), &ids::OPENAI)),
        };
    }
    if own {
        out.opt_str("name", answer.name.as_ref());
    }
    if answer.error == Some(true) {
        let action = "the target cannot tell a failed call from a good one";
        notes.push(Diagnostic::new("tool_error_flag_dropped", "/messages", action));
    }
    out.key("content");
    if own && !answer.plain {
        out.array();
        for (index, part) in answer.parts.iter().enumerate() {
            write_part(part, own, &format!("/content/{index}"), out)?;
        }
        out.end_array();
    } else if let Some(value) = &answer.value {
        out.text(value.raw());
    } else {
        let mut texts = Vec::new();
        for part in &answer.parts {
            match part {
                Part::Text(text) | Part::Refusal(text) => texts.push(&text.text),
                Part::Media(media) => moved.push((answer, media)),
                _ => {
                    let message = format!("a result holds a block that wire \"{NAME}\" has no form for");
                    return Err(WireError::incapable("unsupported_content_part", "/messages", message));
                }
            }
        }
        let gap = "\n".into();
        let spaced =
            texts.iter().enumerate().flat_map(|(n, t)| (n > 0).then_some(&gap).into_iter().chain([*t]));
        out.texts(spaced);
    }
    if own {
        out.extra(&turn.extra);
    }
    out.end_object();
    if moved.last().is_some_and(|(a, _)| std::ptr::eq(*a, answer)) {
        let action = "images of a tool result are sent in a message of the user";
        notes.push(Diagnostic::new("tool_result_media_moved", "/messages", action));
    }
    Ok(())
}

/// Media of results, in a message of the user that says where they come from.
fn attachments(
    moved: &[(&Answer<'_>, &Media<'_>)],
    at: usize,
    out: &mut JsonWriter,
) -> Result<(), WireError> {
    out.object().key("role").text("user").key("content").array();
    let mut last: Option<&Answer<'_>> = None;
    for (answer, media) in moved {
        if last.is_none_or(|l| !std::ptr::eq(l, *answer)) {
            let head = format!("[attachments of tool result {}]", answer.id.decode());
            out.object().key("type").text("text").key("text").text(&head).end_object();
            last = Some(answer);
        }
        write_media(media, false, &format!("/messages/{at}"), out)?;
    }
    out.end_array().end_object();
    Ok(())
}
