//! Writes items: of requests and of replies.

use super::items::NAME;
use crate::conversation::Role;
use crate::diagnostic::Diagnostic;
use crate::hub::{
    Answer, Arguments, Call, CallKind, Issuer, Media, MediaKind, Part, Source, Str, Text, Thought, Turn,
};
use crate::wire::common::no_part;
use crate::wire::json::JsonWriter;
use crate::wire::openai_chat::write_address;
use crate::wire::{WireError, ids};

type Notes = Vec<Diagnostic>;

/// A turn becomes a message item for each run of text, and an item for each call, result and thought.
pub(super) fn write_turn(
    turn: &Turn<'_>,
    at: usize,
    own: bool,
    out: &mut JsonWriter,
    notes: &mut Notes,
) -> Result<(), WireError> {
    let mut run: Vec<&Part<'_>> = Vec::new();
    // A block beside others stands in a message, one alone is an item.
    let inside = own && turn.parts.len() > 1;
    for part in &turn.parts {
        if matches!(part, Part::Text(_) | Part::Refusal(_) | Part::Media(_))
            || (inside && matches!(part, Part::Opaque(_)))
        {
            run.push(part);
            continue;
        }
        message(turn, &std::mem::take(&mut run), at, own, out)?;
        match part {
            Part::Call(call) => write_call(call, own, !own, out),
            Part::Result(answer) => write_result(answer, at, own, out, notes)?,
            Part::Thought(thought) => {
                let known = thought.seal.as_ref().is_some_and(|s| s.issuer == Issuer::OpenAi);
                if own || known {
                    write_thought(thought, own, out);
                } else {
                    let action = "reasoning of another model is not sent";
                    notes.push(Diagnostic::new("reasoning_dropped", "/input", action));
                }
            }
            Part::Opaque(opaque) if own || opaque.wire == NAME => drop(out.json(&opaque.raw)),
            _ => return Err(no_part(NAME, &format!("/input/{at}"))),
        }
    }
    if !run.is_empty() || turn.parts.is_empty() {
        message(turn, &run, at, own, out)?;
    }
    Ok(())
}

fn message(
    turn: &Turn<'_>,
    run: &[&Part<'_>],
    at: usize,
    own: bool,
    out: &mut JsonWriter,
) -> Result<(), WireError> {
    if run.is_empty() && !(own && turn.parts.is_empty()) {
        return Ok(());
    }
    let role = if turn.role == Role::Tool { Role::User } else { turn.role };
    out.object().key("type").text("message").key("role").text(role.as_str());
    out.opt_str("id", turn.id.as_ref().filter(|_| own))
        .opt_str("status", turn.status.as_ref().filter(|_| own));
    out.key("content");
    match run {
        [Part::Text(text)] if turn.plain => drop(out.str(&text.text)),
        run => {
            out.array();
            for (index, part) in run.iter().enumerate() {
                write_part(part, role, own, &format!("/input/{at}/content/{index}"), out)?;
            }
            out.end_array();
        }
    }
    if own {
        out.extra(&turn.extra);
    }
    out.end_object();
    Ok(())
}

fn write_part(
    part: &Part<'_>,
    role: Role,
    own: bool,
    pointer: &str,
    out: &mut JsonWriter,
) -> Result<(), WireError> {
    match part {
        Part::Text(text) => {
            let kind = if role == Role::Assistant { "output_text" } else { "input_text" };
            write_text(text, kind, own, out);
        }
        Part::Refusal(text) => {
            out.object().key("type").text("refusal").key("refusal").str(&text.text).end_object();
        }
        Part::Media(media) => return write_media(media, own, pointer, out),
        Part::Opaque(opaque) if own => drop(out.json(&opaque.raw)),
        _ => return Err(no_part(NAME, pointer)),
    }
    Ok(())
}

pub(super) fn write_text(text: &Text<'_>, kind: &str, own: bool, out: &mut JsonWriter) {
    out.object().key("type").text(kind).key("text").str(&text.text);
    if own && !text.citations.is_empty() {
        out.key("annotations").array();
        text.citations.iter().for_each(|c| _ = out.json(&c.raw));
        out.end_array();
    }
    if own {
        out.opt_json("logprobs", text.logprobs.as_ref());
        out.extra(&text.extra);
    }
    out.end_object();
}

fn write_media(media: &Media<'_>, own: bool, pointer: &str, out: &mut JsonWriter) -> Result<(), WireError> {
    let cannot = |what: &str| {
        let message = format!("wire \"{NAME}\" cannot carry {what}");
        Err(WireError::incapable("unsupported_modality", pointer, message))
    };
    match (media.kind, &media.source) {
        (MediaKind::Video, _) => return cannot("video"),
        (_, Source::Raw(_)) => return cannot("this form of a document"),
        (MediaKind::Image, source) => {
            out.object().key("type").text("input_image");
            match source {
                Source::FileId(id) => drop(out.key("file_id").str(id)),
                source => {
                    out.key("image_url");
                    write_address(source, out);
                }
            }
            out.opt_str("detail", media.detail.as_ref());
        }
        (MediaKind::Audio, Source::Base64 { mime, data }) => {
            let mime = mime.as_ref().map(|m| m.decode().into_owned()).unwrap_or_default();
            let format = if mime == "audio/mpeg" { "mp3" } else { mime.trim_start_matches("audio/") };
            out.object().key("type").text("input_audio").key("input_audio").object().key("data").str(data);
            out.key("format").text(if format.is_empty() { "wav" } else { format }).end_object();
        }
        (MediaKind::Audio, _) => return cannot("sound that is not in the request"),
        (MediaKind::File, Source::Text(text)) => {
            let head = media.name.as_ref().map(|n| format!("[{}]\n", n.decode()).into());
            out.object().key("type").text("input_text").key("text").texts(head.iter().chain([text]));
        }
        (MediaKind::File, source) => {
            out.object().key("type").text("input_file");
            match source {
                Source::FileId(id) => drop(out.key("file_id").str(id)),
                Source::Url { url, .. } => drop(out.key("file_url").str(url)),
                source => {
                    out.key("file_data");
                    write_address(source, out);
                }
            }
            match &media.name {
                Some(name) => drop(out.key("filename").str(name)),
                None if !own && matches!(source, Source::Base64 { .. }) => {
                    out.key("filename").text("document.pdf");
                }
                None => {}
            }
            out.opt_str("detail", media.detail.as_ref());
        }
    }
    if own {
        out.extra(&media.extra);
    }
    out.end_object();
    Ok(())
}

/// Ids are fitted to the host in requests; a client gets them as they are.
pub(super) fn write_call(call: &Call<'_>, own: bool, fitted: bool, out: &mut JsonWriter) {
    let custom = call.kind == CallKind::Custom;
    out.object().key("type").text(if custom { "custom_tool_call" } else { "function_call" });
    out.opt_str("id", call.item.as_ref().filter(|_| own)).key("call_id");
    match fitted {
        true => out.text(&ids::fit(&call.id.decode(), &ids::RESPONSES)),
        false => out.str(&call.id),
    };
    out.key("name").str(&call.name).key(if custom { "input" } else { "arguments" });
    match &call.arguments {
        Arguments::Text(text) if text.is_empty() && !own => out.text("{}"),
        Arguments::Text(text) | Arguments::Free(text) => out.str(text),
        Arguments::Json(json) => out.text(json.raw()),
    };
    if own {
        out.opt_str("status", call.status.as_ref()).extra(&call.extra);
    }
    out.end_object();
}

fn write_result(
    answer: &Answer<'_>,
    at: usize,
    own: bool,
    out: &mut JsonWriter,
    notes: &mut Notes,
) -> Result<(), WireError> {
    let custom = answer.kind == CallKind::Custom;
    out.object().key("type").text(if custom { "custom_tool_call_output" } else { "function_call_output" });
    out.opt_str("id", answer.item.as_ref().filter(|_| own)).key("call_id");
    match own {
        true => out.str(&answer.id),
        false => out.text(&ids::fit(&answer.id.decode(), &ids::RESPONSES)),
    };
    if answer.error == Some(true) && !own {
        let action = "the target cannot tell a failed call from a good one";
        notes.push(Diagnostic::new("tool_error_flag_dropped", "/input", action));
    }
    out.key("output");
    match (&answer.value, answer.parts.as_slice()) {
        (Some(value), _) if own => drop(out.json(value)),
        (Some(value), _) => drop(out.text(value.raw())),
        (None, []) if own && !answer.plain => drop(out.array().end_array()),
        (None, []) => drop(out.text("")),
        (None, [Part::Text(text)]) if answer.plain || !own => drop(out.str(&text.text)),
        (None, parts) => {
            out.array();
            for part in parts {
                write_part(part, Role::User, own, &format!("/input/{at}/output"), out)?;
            }
            out.end_array();
        }
    }
    if own {
        out.opt_str("status", answer.status.as_ref()).extra(&answer.extra);
    }
    out.end_object();
    Ok(())
}

pub(super) fn write_thought(thought: &Thought<'_>, own: bool, out: &mut JsonWriter) {
    out.object().key("type").text("reasoning").opt_str("id", thought.item.as_ref());
    write_summary(thought, out);
    out.opt_str("encrypted_content", thought.seal.as_ref().map(|s| &s.data));
    if own {
        out.opt_str("status", thought.status.as_ref()).extra(&thought.extra);
    }
    out.end_object();
}

pub(super) fn write_summary(thought: &Thought<'_>, out: &mut JsonWriter) {
    let texts = |out: &mut JsonWriter, kind: &str, texts: &[Str<'_>]| {
        out.array();
        for text in texts {
            out.object().key("type").text(kind).key("text").str(text).end_object();
        }
        out.end_array();
    };
    if thought.summary {
        texts(out.key("summary"), "summary_text", &thought.text);
    } else {
        texts(out.key("summary"), "summary_text", &[]);
        texts(out.key("content"), "reasoning_text", &thought.text);
    }
}
