//! Writes messages of requests.

use omniroute_core::Role;
use omniroute_core::hub::{Answer, Call, Media, MediaKind, Part, Source, Str, Turn};
use omniroute_core::wire::normal::is_opaque;
use omniroute_core::wire::{JsonWriter, WireError};

use super::NAME;
use super::message::joined;
use crate::wires::common::{
    Notes, error_flag_dropped, headed, no_modality, no_part, no_remote, reasoning_dropped, write_input,
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
    let pointer = format!("/messages/{at}");
    if turn.role == Role::Tool {
        for part in &turn.parts {
            if let Part::Result(answer) = part {
                result(answer, turn, own, &pointer, out, notes)?;
            }
        }
        return Ok(());
    }
    out.object().key("role").text(match turn.role {
        Role::Assistant => "assistant",
        Role::System | Role::Developer => "system",
        Role::User | Role::Tool => "user",
    });
    let thoughts: Vec<_> =
        turn.parts.iter().filter_map(|p| if let Part::Thought(t) = p { Some(t) } else { None }).collect();
    if own && !thoughts.is_empty() {
        out.key("thinking").texts(thoughts.iter().flat_map(|t| &t.text));
    } else if !thoughts.is_empty() {
        notes.push(reasoning_dropped());
    }
    let shown: Vec<_> = turn
        .parts
        .iter()
        .filter(|p| !matches!(p, Part::Thought(_) | Part::Call(_) | Part::Result(_)))
        .collect();
    content(&shown, &pointer, out)?;
    let calls: Vec<_> =
        turn.parts.iter().filter_map(|p| if let Part::Call(c) = p { Some(c) } else { None }).collect();
    if !calls.is_empty() {
        out.key("tool_calls").array();
        for call in calls {
            write_call(call, own, None, out, notes);
        }
        out.end_array();
    }
    if own {
        out.extra(&turn.extra);
    }
    out.end_object();
    Ok(())
}

/// All texts as one, images beside it.
fn content(parts: &[&Part<'_>], pointer: &str, out: &mut JsonWriter) -> Result<(), WireError> {
    let (mut texts, mut images) = (Vec::new(), Vec::new());
    for part in parts {
        match part {
            Part::Text(text) | Part::Refusal(text) => texts.push(text.text.clone()),
            Part::Media(media) => match of_media(media, pointer)? {
                Shown::Image(data) => images.push(data),
                Shown::Text(text) => texts.push(text.into()),
            },
            _ => return Err(no_part(NAME, pointer)),
        }
    }
    out.key("content");
    match texts.as_slice() {
        [one] => drop(out.str(one)),
        texts => drop(out.text(&joined(texts.iter().map(Str::decode)))),
    }
    if !images.is_empty() {
        out.key("images").array();
        images.into_iter().for_each(|data| _ = out.str(data));
        out.end_array();
    }
    Ok(())
}

/// How media stands in a message.
enum Shown<'a, 'd> {
    Image(&'a Str<'d>),
    Text(String),
}

fn of_media<'a, 'd>(media: &'a Media<'d>, pointer: &str) -> Result<Shown<'a, 'd>, WireError> {
    match (media.kind, &media.source) {
        (MediaKind::Image, Source::Base64 { data, .. }) => Ok(Shown::Image(data)),
        (MediaKind::File, Source::Text(text)) => Ok(Shown::Text(headed(media.name.as_ref(), text))),
        (MediaKind::Image, Source::Url { .. }) => Err(no_remote(NAME, pointer)),
        (MediaKind::Image, _) => Err(no_modality(NAME, "an image that is only an id", pointer)),
        (MediaKind::Audio, _) => Err(no_modality(NAME, "sound", pointer)),
        (MediaKind::Video, _) => Err(no_modality(NAME, "video", pointer)),
        (MediaKind::File, _) => Err(no_modality(NAME, "documents", pointer)),
    }
}

/// Replies number their calls and give ids; requests do neither.
pub(super) fn write_call(
    call: &Call<'_>,
    own: bool,
    number: Option<usize>,
    out: &mut JsonWriter,
    notes: &mut Notes,
) {
    out.object();
    match number {
        Some(_) => drop(out.key("id").str(&call.id)),
        None => drop(out.key("type").text("function")),
    }
    out.key("function").object();
    if let Some(number) = number {
        out.key("index").number(number);
    }
    out.key("name").str(&call.name).key("arguments");
    write_input(call, "/messages", out, notes);
    out.end_object();
    if own && number.is_none() {
        out.extra(&call.extra);
    }
    out.end_object();
}

fn result(
    answer: &Answer<'_>,
    turn: &Turn<'_>,
    own: bool,
    pointer: &str,
    out: &mut JsonWriter,
    notes: &mut Notes,
) -> Result<(), WireError> {
    out.object().key("role").text("tool").opt_str("tool_name", answer.name.as_ref());
    if answer.error == Some(true) {
        notes.push(error_flag_dropped());
    }
    match &answer.value {
        Some(value) => drop(out.key("content").text(value.raw())),
        None => content(&answer.parts.iter().collect::<Vec<_>>(), pointer, out)?,
    }
    if own {
        out.extra(&turn.extra);
    }
    out.end_object();
    Ok(())
}
