//! Writes turns and parts: of requests and of replies.

use std::borrow::Cow;

use super::parts::NAME;
use super::request::place;
use crate::conversation::Role;
use crate::diagnostic::Diagnostic;
use crate::doc::Doc;
use crate::hub::{Answer, Call, Issuer, Media, MediaKind, Part, Seal, Source, Turn, WriteContext};
use crate::wire::common::{no_part, write_input};
use crate::wire::ids::made;
use crate::wire::json::JsonWriter;
use crate::wire::normal::is_opaque;
use crate::wire::{WireError, seal};

type Notes = Vec<Diagnostic>;

/// Whether there is no seal that this vendor's models could read.
pub(super) fn lacks_seal(seal: Option<&Seal<'_>>) -> bool {
    seal.is_none_or(|s| s.issuer != Issuer::Gemini)
}

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
    let role = if turn.role == Role::Assistant { "model" } else { "user" };
    out.object().key("role").text(role).key("parts").array();
    for (index, part) in turn.parts.iter().enumerate() {
        let ids = !cx.quirks.no_call_ids;
        let made_here = own && matches!(part, Part::Call(c) if c.id.is(&made(0, place(at, index))));
        write_part(part, own, ids && !made_here, &format!("/contents/{at}/parts/{index}"), out, notes)?;
    }
    out.end_array();
    if own {
        out.extra(&turn.extra);
    }
    out.end_object();
    Ok(())
}

pub(super) fn write_part(
    part: &Part<'_>,
    own: bool,
    ids: bool,
    pointer: &str,
    out: &mut JsonWriter,
    notes: &mut Notes,
) -> Result<(), WireError> {
    match part {
        Part::Text(text) | Part::Refusal(text) => {
            out.object().key("text").str(&text.text);
            signature(text.seal.as_ref(), None, out);
            if own {
                out.extra(&text.extra);
            }
            out.end_object();
        }
        Part::Thought(thought) => {
            out.object().key("text").texts(thought.text.iter()).key("thought").bool(true);
            signature(thought.seal.as_ref(), None, out);
            if own {
                out.extra(&thought.extra);
            }
            out.end_object();
        }
        Part::Call(call) => write_call(call, own, ids, out, notes),
        Part::Result(answer) => return write_result(answer, own, ids, pointer, out, notes),
        Part::Media(media) => return write_media(media, own, pointer, out),
        Part::Opaque(opaque) if own || opaque.wire == NAME => drop(out.json(&opaque.raw)),
        Part::Opaque(_) => return Err(no_part(NAME, pointer)),
    }
    Ok(())
}

/// The vendor's own seal, or an envelope around another's (for clients only: requests drop foreign seals before).
fn signature(seal: Option<&Seal<'_>>, call: Option<&str>, out: &mut JsonWriter) {
    match seal {
        None => {}
        Some(seal) if seal.issuer == Issuer::Gemini => drop(out.key("thoughtSignature").str(&seal.data)),
        Some(other) => drop(out.key("thoughtSignature").text(&seal::close(other, call))),
    }
}

pub(super) fn write_call(call: &Call<'_>, own: bool, ids: bool, out: &mut JsonWriter, notes: &mut Notes) {
    out.object().key("functionCall").object();
    if ids && !call.id.is_empty() {
        out.key("id").str(&call.id);
    }
    out.key("name").str(&call.name).key("args");
    write_input(call, "/contents", out, notes);
    out.end_object();
    signature(call.seal.as_ref(), None, out);
    if own {
        out.extra(&call.extra);
    }
    out.end_object();
}

fn write_result(
    answer: &Answer<'_>,
    own: bool,
    ids: bool,
    pointer: &str,
    out: &mut JsonWriter,
    notes: &mut Notes,
) -> Result<(), WireError> {
    out.object().key("functionResponse").object();
    // Ids that were made when the request was read are not sent back.
    let made_id = own && answer.id.decode().starts_with("call_") && answer.id.decode().len() == 29;
    if ids && !made_id && !answer.id.is_empty() {
        out.key("id").str(&answer.id);
    }
    out.key("name").str(answer.name.as_ref().unwrap_or(&answer.id)).key("response");
    let media: Vec<_> = answer.parts.iter().filter(|p| matches!(p, Part::Media(_))).collect();
    match &answer.value {
        Some(value) if value.raw().starts_with('{') => drop(out.json(value)),
        Some(value) => drop(out.object().key("output").json(value).end_object()),
        None => {
            let texts: Vec<Cow<'_, str>> = answer
                .parts
                .iter()
                .filter_map(|p| {
                    if let Part::Text(t) | Part::Refusal(t) = p { Some(t.text.decode()) } else { None }
                })
                .collect();
            let text = match texts.as_slice() {
                [one] => one.clone(),
                more => Cow::Owned(more.join("\n")),
            };
            let object = !own && answer.error != Some(true) && text.trim_start().starts_with('{');
            if object && Doc::check(text.trim()).is_ok() {
                out.raw(text.trim());
            } else {
                let key = if answer.error == Some(true) { "error" } else { "output" };
                out.object().key(key).text(&text).end_object();
            }
        }
    }
    if own && !media.is_empty() {
        out.key("parts").array();
        for part in &media {
            write_part(part, own, ids, pointer, out, notes)?;
        }
        out.end_array();
    }
    if own {
        out.extra(&answer.extra);
    }
    out.end_object().end_object();
    if !own {
        for part in media {
            write_part(part, own, ids, pointer, out, notes)?;
        }
    }
    Ok(())
}

fn write_media(media: &Media<'_>, own: bool, pointer: &str, out: &mut JsonWriter) -> Result<(), WireError> {
    let usual = match media.kind {
        MediaKind::Image => "image/png",
        MediaKind::Audio => "audio/wav",
        MediaKind::Video => "video/mp4",
        MediaKind::File => "application/pdf",
    };
    out.object();
    match &media.source {
        Source::Base64 { mime, data } => {
            out.key("inlineData").object().key("mimeType");
            match mime {
                Some(mime) if mime.is("image/jpg") => out.text("image/jpeg"),
                Some(mime) => out.str(mime),
                None => out.text(usual),
            };
            out.key("data")
                .str(data)
                .opt_str("displayName", media.name.as_ref().filter(|_| own))
                .end_object();
        }
        Source::Url { url, mime } => {
            out.key("fileData").object();
            match mime {
                Some(mime) => drop(out.key("mimeType").str(mime)),
                None if own => {}
                None => drop(out.key("mimeType").text(usual)),
            }
            out.key("fileUri").str(url).end_object();
        }
        Source::FileId(id) => drop(out.key("fileData").object().key("fileUri").str(id).end_object()),
        Source::Text(text) => {
            let head = media.name.as_ref().map(|n| format!("[{}]\n", n.decode()).into());
            out.key("text").texts(head.iter().chain([text]));
        }
        Source::Raw(_) => {
            let message = format!("wire \"{NAME}\" cannot carry this form of a document");
            return Err(WireError::incapable("unsupported_modality", pointer, message));
        }
    }
    if own {
        out.extra(&media.extra);
    }
    out.end_object();
    Ok(())
}
