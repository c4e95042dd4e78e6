//! What another wire does not get, each with a remark: members that no type models, in whatever depth they stand.

use super::WireError;
use super::common::{dropped, left_out};
use crate::diagnostic::Diagnostic;
use crate::doc::Doc;
use crate::hub::{Event, Extra, Json, Part, Reply, Request, ToolKind, Turn};

/// Members of one wire that no other wire can do without changing what is asked.
const BINDING: &[&str] = &["mcp_servers", "container", "conversation", "prompt", "background", "documents"];

/// Members below the top level without which nothing is lost: they describe what stands beside them, or tune how
/// their own vendor loads it.
const QUIET: &[&str] = &[
    "allowed_callers",
    "caller",
    "defer_loading",
    "eager_input_streaming",
    "index",
    "input_examples",
    "output_schema",
    "parameters",
    "phase",
    "response",
    "responseJsonSchema",
];

/// Most remarks of one stream.
const MOST: usize = 128;

/// Remarks for what a foreign wire does not get of a request: the extras of the request, of its turns, parts and
/// tools, names of speakers, and the options of a web search. Each name once.
///
/// # Errors
/// [`WireError::Incapable`] if one of them must be obeyed.
pub fn foreign_extras(request: &Request<'_>, notes: &mut Vec<Diagnostic>) -> Result<(), WireError> {
    for (key, value) in &request.extra {
        let key = key.decode();
        if BINDING.contains(&key.as_ref()) && !matches!(value.raw(), "false" | "[]" | "{}") {
            let message = format!("\"{key}\" of wire \"{}\" has no form on the target", request.wire);
            return Err(WireError::incapable("unsupported_param", format!("/{key}"), message));
        }
        notes.push(dropped(&key));
    }
    let mut found = Vec::new();
    if let Some(reasoning) = &request.reasoning {
        names("reasoning", &reasoning.extra, &mut found);
    }
    for tool in &request.tools {
        names("tools", &tool.extra, &mut found);
        if matches!(&tool.kind, ToolKind::WebSearch(raw) if has_options(raw)) {
            found.push("web search".to_owned());
        }
    }
    for turn in &request.turns {
        if turn.name.is_some() {
            found.push("message name".to_owned());
        }
        of_turn("messages", turn, &mut found);
    }
    notes.extend(once(found).iter().map(|name| dropped(name)));
    Ok(())
}

/// Remarks for what a client on another wire is not told of a reply. Each name once.
pub fn foreign_reply(reply: &Reply<'_>, notes: &mut Vec<Diagnostic>) {
    let mut found: Vec<String> = reply.extra.iter().map(|(key, _)| key.decode().into_owned()).collect();
    for choice in &reply.choices {
        names("choices", &choice.extra, &mut found);
        of_turn("choices/message", &choice.turn, &mut found);
        let sealed = |part: &Part<'_>| matches!(part, Part::Text(text) if text.seal.is_some());
        if choice.turn.parts.iter().any(sealed) {
            found.push("choices/message/text seal".to_owned());
        }
    }
    notes.extend(once(found).iter().map(|name| left_out(name)));
}

fn of_turn(place: &str, turn: &Turn<'_>, found: &mut Vec<String>) {
    names(place, &turn.extra, found);
    turn.parts.iter().for_each(|part| of_part(place, part, found));
}

/// Thoughts have a remark of their own.
fn of_part(place: &str, part: &Part<'_>, found: &mut Vec<String>) {
    match part {
        Part::Text(text) | Part::Refusal(text) => names(place, &text.extra, found),
        Part::Media(media) => names(place, &media.extra, found),
        Part::Call(call) => names(place, &call.extra, found),
        Part::Result(answer) => {
            names(place, &answer.extra, found);
            answer.parts.iter().for_each(|inner| of_part(place, inner, found));
        }
        Part::Thought(_) | Part::Opaque(_) => {}
    }
}

fn names(place: &str, extra: &Extra<'_>, found: &mut Vec<String>) {
    for (key, _) in extra {
        let key = key.decode();
        // A reader's own memory of an item is no member.
        if !QUIET.contains(&key.as_ref()) && !key.starts_with("item/") {
            found.push(format!("{place}/{key}"));
        }
    }
}

fn once(mut found: Vec<String>) -> Vec<String> {
    found.sort_unstable();
    found.dedup();
    found
}

/// Whether a vendor's web search, as its wire writes it, asks for more than a search.
fn has_options(raw: &Json<'_>) -> bool {
    let Ok(doc) = Doc::parse_with_limit(raw.raw().to_owned(), usize::MAX) else { return false };
    let asks = |(key, value)| match doc.str(key).unwrap_or_default().as_ref() {
        "type" | "name" | "cache_control" => false,
        "googleSearch" | "google_search" => doc.members(value).next().is_some(),
        _ => true,
    };
    doc.members(doc.root()).any(asks)
}

/// Remarks of a stream's writer, each once and at most 128.
#[derive(Debug, Default)]
pub struct Remarks {
    seen: Vec<(&'static str, String)>,
    notes: Vec<Diagnostic>,
}

impl Remarks {
    /// Adds a remark, unless there was one with the same code and place.
    pub fn push(&mut self, note: Diagnostic) {
        let known = self.seen.iter().any(|(code, place)| *code == note.code && *place == note.pointer);
        if !known && self.seen.len() < MOST {
            self.seen.push((note.code, note.pointer.clone()));
            self.notes.push(note);
        }
    }

    /// Adds a remark for the members that an event carries and that belong to the wire it came from.
    pub fn extras(&mut self, event: &Event) {
        match event {
            Event::Start(start) => {
                start.extra.iter().for_each(|(key, _)| self.push(left_out(&key.decode())));
            }
            Event::Extra { choice: Some(_), key, .. } => self.push(left_out(&format!("choices/{key}"))),
            Event::Extra { choice: None, key, .. } => self.push(left_out(key)),
            _ => {}
        }
    }

    /// Takes the remarks made since the last time.
    pub fn take(&mut self) -> Vec<Diagnostic> {
        std::mem::take(&mut self.notes)
    }
}
