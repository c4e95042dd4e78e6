//! Writes messages and blocks: of requests and of replies.

use super::blocks::NAME;
use crate::conversation::Role;
use crate::diagnostic::Diagnostic;
use crate::hub::{Answer, Call, Issuer, Media, MediaKind, Part, Source, Text, Thought, Turn};
use crate::wire::common::{no_part, write_input};
use crate::wire::json::JsonWriter;
use crate::wire::normal::is_opaque;
use crate::wire::read::write_cache_mark;
use crate::wire::{WireError, ids};

type Notes = Vec<Diagnostic>;

pub(super) fn write_turn(
    turn: &Turn<'_>,
    at: usize,
    own: bool,
    out: &mut JsonWriter,
    notes: &mut Notes,
) -> Result<(), WireError> {
    if own && is_opaque(turn) {
        if let Some(Part::Opaque(opaque)) = turn.parts.first() {
            out.json(&opaque.raw);
        }
        return Ok(());
    }
    let role = match turn.role {
        Role::Assistant => "assistant",
        Role::System | Role::Developer => "system",
        _ => "user",
    };
    out.object().key("role").text(role).key("content");
    match turn.parts.as_slice() {
        [Part::Text(text)] if turn.plain && text.cache.is_none() => drop(out.str(&text.text)),
        parts => {
            out.array();
            for (index, part) in parts.iter().enumerate() {
                write_part(part, own, &format!("/messages/{at}/content/{index}"), out, notes)?;
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

/// Whether a part says something on this wire.
pub(super) fn is_sent(part: &Part<'_>, notes: &mut Notes) -> bool {
    match part {
        Part::Text(text) | Part::Refusal(text) => !text.text.decode().trim().is_empty(),
        Part::Thought(thought) => {
            let own = thought.seal.as_ref().is_some_and(|s| s.issuer == Issuer::Anthropic);
            if !own {
                let action = "reasoning that the model did not sign is not sent";
                notes.push(Diagnostic::new("reasoning_dropped", "/messages", action));
            }
            own
        }
        _ => true,
    }
}

fn write_part(
    part: &Part<'_>,
    own: bool,
    pointer: &str,
    out: &mut JsonWriter,
    notes: &mut Notes,
) -> Result<(), WireError> {
    match part {
        Part::Text(text) | Part::Refusal(text) => write_text(text, own, out),
        Part::Call(call) => write_call(call, own, out, notes),
        Part::Result(answer) => return write_result(answer, own, pointer, out, notes),
        Part::Thought(thought) => write_thought(thought, own, out),
        Part::Media(media) => return write_media(media, own, pointer, out),
        Part::Opaque(opaque) if own || opaque.wire == NAME => drop(out.json(&opaque.raw)),
        Part::Opaque(_) => return Err(no_part(NAME, pointer)),
    }
    Ok(())
}

pub(super) fn write_text(text: &Text<'_>, own: bool, out: &mut JsonWriter) {
    out.object().key("type").text("text").key("text").str(&text.text);
    if own && !text.citations.is_empty() {
        out.key("citations").array();
        text.citations.iter().for_each(|c| _ = out.json(&c.raw));
        out.end_array();
    }
    write_cache_mark(out, text.cache);
    if own {
        out.extra(&text.extra);
    }
    out.end_object();
}

pub(super) fn write_call(call: &Call<'_>, own: bool, out: &mut JsonWriter, notes: &mut Notes) {
    out.object().key("type").text("tool_use").key("id");
    match own {
        true => out.str(&call.id),
        false => out.text(&ids::fit(&call.id.decode(), &ids::ANTHROPIC)),
    };
    out.key("name").str(&call.name).key("input");
    write_input(call, "/messages", out, notes);
    write_cache_mark(out, call.cache);
    if own {
        out.extra(&call.extra);
    }
    out.end_object();
}

fn write_result(
    answer: &Answer<'_>,
    own: bool,
    pointer: &str,
    out: &mut JsonWriter,
    notes: &mut Notes,
) -> Result<(), WireError> {
    out.object().key("type").text("tool_result").key("tool_use_id");
    match own {
        true => out.str(&answer.id),
        false => out.text(&ids::fit(&answer.id.decode(), &ids::ANTHROPIC)),
    };
    let sent: Vec<_> = if own {
        answer.parts.iter().collect()
    } else {
        answer.parts.iter().filter(|p| is_sent(p, notes)).collect()
    };
    match (&answer.value, sent.as_slice()) {
        (Some(value), _) => drop(out.key("content").text(value.raw())),
        (None, []) => {}
        (None, [Part::Text(text)]) if (answer.plain || !own) && text.cache.is_none() => {
            out.key("content").str(&text.text);
        }
        (None, parts) => {
            out.key("content").array();
            for part in parts {
                write_part(part, own, pointer, out, notes)?;
            }
            out.end_array();
        }
    }
    if own || answer.error == Some(true) {
        out.opt_bool("is_error", answer.error);
    }
    write_cache_mark(out, answer.cache);
    if own {
        out.extra(&answer.extra);
    }
    out.end_object();
    Ok(())
}

/// Only signed thoughts, or anything on the own wire.
fn write_thought(thought: &Thought<'_>, own: bool, out: &mut JsonWriter) {
    out.object().key("type");
    if thought.is_redacted() {
        out.text("redacted_thinking");
        out.opt_str("data", thought.seal.as_ref().map(|s| &s.data));
    } else {
        out.text("thinking").key("thinking").texts(thought.text.iter());
        out.opt_str("signature", thought.seal.as_ref().map(|s| &s.data));
    }
    if own {
        out.extra(&thought.extra);
    }
    out.end_object();
}

fn write_media(media: &Media<'_>, own: bool, pointer: &str, out: &mut JsonWriter) -> Result<(), WireError> {
    let kind = match media.kind {
        MediaKind::Image => "image",
        MediaKind::File => "document",
        MediaKind::Audio | MediaKind::Video => {
            let message = format!("wire \"{NAME}\" carries neither sound nor video");
            return Err(WireError::incapable("unsupported_modality", pointer, message));
        }
    };
    out.object().key("type").text(kind).key("source");
    match &media.source {
        Source::Raw(raw) => drop(out.json(raw)),
        source => {
            out.object().key("type");
            match source {
                Source::Base64 { mime, data } => {
                    out.text("base64").key("media_type");
                    match mime {
                        Some(mime) if mime.is("image/jpg") => out.text("image/jpeg"),
                        Some(mime) => out.str(mime),
                        None => out.text(if media.kind == MediaKind::Image {
                            "image/png"
                        } else {
                            "application/pdf"
                        }),
                    };
                    out.key("data").str(data);
                }
                Source::Url { url, .. } => drop(out.text("url").key("url").str(url)),
                Source::FileId(id) => drop(out.text("file").key("file_id").str(id)),
                Source::Text(text) => {
                    out.text("text").key("media_type").text("text/plain").key("data").str(text);
                }
                Source::Raw(_) => {}
            }
            out.end_object();
        }
    }
    if media.kind == MediaKind::File {
        out.opt_str("title", media.name.as_ref()).opt_str("context", media.context.as_ref());
        if let Some(cite) = media.cite {
            out.key("citations").object().key("enabled").bool(cite).end_object();
        }
    }
    write_cache_mark(out, media.cache);
    if own {
        out.extra(&media.extra);
    }
    out.end_object();
    Ok(())
}
