//! Writes messages: of requests and of replies.

use omniroute_core::Role;
use omniroute_core::hub::{
    Answer, Arguments, Call, Citation, Media, MediaKind, Part, Source, Spelling, Str, Text, Thought, Turn,
};
use omniroute_core::wire::normal::is_opaque;
use omniroute_core::wire::{JsonWriter, WireError};

use super::NAME;
use crate::wires::common::{
    Notes, error_flag_dropped, headed, no_modality, no_part, reasoning_dropped, spaced,
};

pub(super) fn write_turn(
    turn: &Turn<'_>,
    at: usize,
    own: bool,
    out: &mut JsonWriter,
    notes: &mut Notes,
) -> Result<(), WireError> {
    if let (true, Some(Part::Opaque(opaque))) = (own && is_opaque(turn), turn.parts.first()) {
        out.json(&opaque.raw);
        return Ok(());
    }
    if turn.role == Role::Tool {
        for part in &turn.parts {
            if let Part::Result(answer) = part {
                result(answer, turn, at, own, out, notes)?;
            }
        }
        return Ok(());
    }
    out.object().key("role").text(match turn.role {
        Role::Assistant => "assistant",
        Role::System | Role::Developer => "system",
        Role::User | Role::Tool => "user",
    });
    let parts: Vec<_> = turn.parts.iter().filter(|p| is_content(p, own)).collect();
    if !own && turn.parts.iter().any(|p| matches!(p, Part::Thought(_))) {
        notes.push(reasoning_dropped());
    }
    if own {
        plan(turn.parts.iter(), out);
    }
    content(&parts, turn, at, own, out)?;
    if own {
        citations(turn.parts.iter().filter_map(text_of), true, out);
    }
    calls(turn.parts.iter(), own, out);
    if own {
        out.extra(&turn.extra);
    }
    out.end_object();
    Ok(())
}

/// What stands in the content; reasoning does only on the own wire.
fn is_content(part: &Part<'_>, own: bool) -> bool {
    match part {
        Part::Call(_) | Part::Result(_) => false,
        Part::Thought(thought) => own && thought.spelling != Spelling::Plan,
        _ => true,
    }
}

fn content(
    parts: &[&Part<'_>],
    turn: &Turn<'_>,
    at: usize,
    own: bool,
    out: &mut JsonWriter,
) -> Result<(), WireError> {
    let has_calls = turn.parts.iter().any(|p| matches!(p, Part::Call(_)));
    match parts {
        [] if has_calls => {}
        [] if own && !turn.plain => drop(out.key("content").array().end_array()),
        [] => drop(out.key("content").text("")),
        [Part::Text(text) | Part::Refusal(text)] if turn.plain || !own => {
            out.key("content").str(&text.text);
        }
        parts => {
            out.key("content").array();
            for (index, part) in parts.iter().enumerate() {
                write_part(part, own, &format!("/messages/{at}/content/{index}"), out)?;
            }
            out.end_array();
        }
    }
    Ok(())
}

pub(super) fn write_part(
    part: &Part<'_>,
    own: bool,
    pointer: &str,
    out: &mut JsonWriter,
) -> Result<(), WireError> {
    match part {
        Part::Text(text) | Part::Refusal(text) => {
            out.object().key("type").text("text").key("text").str(&text.text);
            if own {
                out.extra(&text.extra);
            }
            out.end_object();
        }
        Part::Thought(thought) => write_thought(thought, own, out),
        Part::Media(media) => write_media(media, own, pointer, out)?,
        Part::Opaque(opaque) if own => drop(out.json(&opaque.raw)),
        _ => return Err(no_part(NAME, pointer)),
    }
    Ok(())
}

fn write_thought(thought: &Thought<'_>, own: bool, out: &mut JsonWriter) {
    out.object().key("type").text("thinking").key("thinking").texts(thought.text.iter());
    if own {
        out.extra(&thought.extra);
    }
    out.end_object();
}

fn write_media(media: &Media<'_>, own: bool, pointer: &str, out: &mut JsonWriter) -> Result<(), WireError> {
    match (media.kind, &media.source) {
        (MediaKind::Image, Source::Url { url, .. }) => image(&[url], media, own, out),
        (MediaKind::Image, Source::Base64 { mime, data }) => {
            let mime = mime.as_ref().map_or("image/png".into(), |m| m.decode());
            let mime = if mime == "image/jpg" { "image/jpeg" } else { mime.as_ref() };
            let head = Str::from(format!("data:{mime};base64,"));
            image(&[&head, data], media, own, out);
        }
        (MediaKind::File, Source::Text(text)) => {
            let text = headed(media.name.as_ref(), text);
            out.object().key("type").text("text").key("text").text(&text).end_object();
        }
        (MediaKind::Image, _) => return Err(no_modality(NAME, "an image that is only an id", pointer)),
        (MediaKind::Audio, _) => return Err(no_modality(NAME, "sound", pointer)),
        (MediaKind::Video, _) => return Err(no_modality(NAME, "video", pointer)),
        (MediaKind::File, _) => return Err(no_modality(NAME, "documents in messages", pointer)),
    }
    Ok(())
}

fn image(url: &[&Str<'_>], media: &Media<'_>, own: bool, out: &mut JsonWriter) {
    out.object().key("type").text("image_url").key("image_url").object();
    out.key("url").texts(url.iter().copied()).opt_str("detail", media.detail.as_ref()).end_object();
    if own {
        out.extra(&media.extra);
    }
    out.end_object();
}

fn text_of<'a, 'd>(part: &'a Part<'d>) -> Option<&'a Text<'d>> {
    match part {
        Part::Text(text) => Some(text),
        _ => None,
    }
}

/// The plan before calls.
pub(super) fn plan<'a, 'd: 'a>(parts: impl Iterator<Item = &'a Part<'d>>, out: &mut JsonWriter) {
    let plans: Vec<_> = parts
        .filter_map(|p| match p {
            Part::Thought(t) if t.spelling == Spelling::Plan => Some(&t.text),
            _ => None,
        })
        .collect();
    if !plans.is_empty() {
        out.key("tool_plan").texts(plans.into_iter().flatten());
    }
}

/// Sources beside the content: as they came, or made from what other wires say.
pub(super) fn citations<'a, 'd: 'a>(
    texts: impl Iterator<Item = &'a Text<'d>>,
    own: bool,
    out: &mut JsonWriter,
) {
    let all: Vec<_> = texts.flat_map(|t| &t.citations).collect();
    if all.is_empty() {
        return;
    }
    out.key("citations").array();
    for found in all {
        if own {
            out.json(&found.raw);
        } else {
            write_citation(found, out);
        }
    }
    out.end_array();
}

pub(super) fn write_citation(citation: &Citation<'_>, out: &mut JsonWriter) {
    out.object();
    for (key, at) in [("start", citation.start), ("end", citation.end)] {
        out.key(key).number(at.unwrap_or(0));
    }
    out.key("text");
    match &citation.cited {
        Some(text) => out.str(text),
        None => out.text(""),
    };
    out.key("sources").array();
    if let Some(url) = &citation.url {
        out.object().key("type").text("document").key("id").str(url).key("document").object();
        out.key("url").str(url).opt_str("title", citation.title.as_ref()).end_object().end_object();
    }
    out.end_array().key("type").text("TEXT_CONTENT").end_object();
}

fn calls<'a, 'd: 'a>(parts: impl Iterator<Item = &'a Part<'d>>, own: bool, out: &mut JsonWriter) {
    let calls: Vec<_> = parts.filter_map(|p| if let Part::Call(c) = p { Some(c) } else { None }).collect();
    if calls.is_empty() {
        return;
    }
    out.key("tool_calls").array();
    calls.into_iter().for_each(|call| write_call(call, own, out));
    out.end_array();
}

pub(super) fn write_call(call: &Call<'_>, own: bool, out: &mut JsonWriter) {
    out.object().key("id").str(&call.id).key("type").text("function").key("function").object();
    out.key("name").str(&call.name).key("arguments");
    match &call.arguments {
        Arguments::Text(text) if !own && text.decode().trim().is_empty() => out.text("{}"),
        Arguments::Text(text) => out.str(text),
        Arguments::Json(json) => out.text(json.raw()),
        Arguments::Free(text) => {
            let mut wrapped = JsonWriter::default();
            wrapped.object().key("input").str(text).end_object();
            out.text(&wrapped.finish())
        }
    };
    out.end_object();
    if own {
        out.extra(&call.extra);
    }
    out.end_object();
}

fn result(
    answer: &Answer<'_>,
    turn: &Turn<'_>,
    at: usize,
    own: bool,
    out: &mut JsonWriter,
    notes: &mut Notes,
) -> Result<(), WireError> {
    out.object().key("role").text("tool").key("tool_call_id").str(&answer.id);
    if answer.error == Some(true) {
        notes.push(error_flag_dropped());
    }
    if own && !answer.plain {
        out.key("content").array();
        for (index, part) in answer.parts.iter().enumerate() {
            write_part(part, own, &format!("/messages/{at}/content/{index}"), out)?;
        }
        out.end_array();
    } else if let Some(value) = &answer.value {
        out.key("content").text(value.raw());
    } else {
        let mut texts = Vec::new();
        for part in &answer.parts {
            match part {
                Part::Text(text) | Part::Refusal(text) => texts.push(&text.text),
                Part::Media(_) => {
                    return Err(no_modality(NAME, "media in results", &format!("/messages/{at}")));
                }
                _ => return Err(no_part(NAME, &format!("/messages/{at}"))),
            }
        }
        let gap = Str::from("\n");
        out.key("content").texts(spaced(&texts, &gap));
    }
    if own {
        out.extra(&turn.extra);
    }
    out.end_object();
    Ok(())
}
