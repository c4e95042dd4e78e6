//! Reads messages: of requests and of replies.

use std::collections::HashMap;

use omniroute_core::hub::{
    Answer, Arguments, Call, Extra, Json, Media, MediaKind, Opaque, Part, Source, Spelling, Str, Text,
    Thought, Turn, Weight,
};
use omniroute_core::wire::ids;
use omniroute_core::wire::read::{chars, string, take};
use omniroute_core::{Doc, DocError, Kind, NodeId, Role};

use super::NAME;
use crate::wires::common::{object, once, shape, text_part};

/// Gives calls that came without ids one, and results the id of the call they answer: the earliest of the tool's
/// name that still waits.
#[derive(Debug, Default)]
pub(super) struct Links {
    made: u64,
    waiting: HashMap<String, std::collections::VecDeque<String>>,
}

impl Links {
    fn call(&mut self, id: Option<String>, name: &str) -> String {
        self.made += 1;
        let id = id.unwrap_or_else(|| ids::made(0, self.made));
        self.waiting.entry(name.to_owned()).or_default().push_back(id.clone());
        id
    }

    fn result(&mut self, id: Option<String>, name: &str) -> String {
        let waiting = self.waiting.get_mut(name);
        let first = waiting.and_then(|ids| match &id {
            None => ids.pop_front(),
            Some(id) => ids.iter().position(|i| i == id).and_then(|at| ids.remove(at)),
        });
        id.or(first).unwrap_or_else(|| {
            self.made += 1;
            ids::made(1, self.made) // of a call that nobody made
        })
    }
}

pub(super) fn read_message<'d>(doc: &'d Doc, node: NodeId, links: &mut Links) -> Result<Turn<'d>, DocError> {
    object(doc, node, "a message")?;
    once(doc, node, ["role", "content"])?;
    let role = match chars(doc, doc.get(node, "role")).as_deref() {
        Some("system" | "developer") => Role::System,
        Some("user") => Role::User,
        Some("assistant") => Role::Assistant,
        Some("tool") => Role::Tool,
        Some(_) => {
            let raw = Json::at(doc, node);
            let part = Part::Opaque(Opaque { wire: NAME, raw, weight: Weight::Meaning });
            return Ok(Turn { item: true, ..Turn::new(Role::User, vec![part]) });
        }
        None => return Err(shape(doc, node, "a message has no \"role\"")),
    };
    let mut turn = Turn::new(role, Vec::new());
    let names = ["role", "content", "thinking", "images", "tool_calls", "tool_name", "tool_call_id"];
    let [_, content, thinking, images, calls, name, id] = take(doc, node, names, &mut turn.extra);
    let mut parts = Vec::new();
    if let Some(content) = content {
        if doc.kind(content) != Kind::String {
            return Err(shape(doc, content, "\"content\" is not text"));
        }
        parts.extend(Str::at(doc, content).map(text_part));
    }
    for image in images.into_iter().flat_map(|i| doc.elements(i)) {
        let data = Str::at(doc, image).ok_or_else(|| shape(doc, image, "an image is not text"))?;
        parts.push(Part::Media(Media::new(MediaKind::Image, Source::Base64 { mime: None, data })));
    }
    if role == Role::Tool {
        let told = chars(doc, id);
        if let Some(id) = &told {
            turn.extra.push(("tool_call_id".into(), Json::of(quoted(id))));
        }
        let id = links.result(told, &chars(doc, name).unwrap_or_default());
        let answer = Answer::new(id.into(), parts);
        turn.parts.push(Part::Result(Answer { name: string(doc, name), plain: true, ..answer }));
        return Ok(turn);
    }
    turn.plain = true;
    if let Some(text) = string(doc, thinking) {
        turn.parts.push(Part::Thought(Thought::new(text, Spelling::Block)));
    }
    turn.parts.append(&mut parts);
    for call in calls.into_iter().flat_map(|c| doc.elements(c)) {
        turn.parts.push(Part::Call(read_call(doc, call, links)));
    }
    Ok(turn)
}

/// An id that the client gave goes back to it; one that is made here does not.
fn read_call<'d>(doc: &'d Doc, node: NodeId, links: &mut Links) -> Call<'d> {
    let mut extra = Extra::new();
    let [id, _, function] = take(doc, node, ["id", "type", "function"], &mut extra);
    let inner = function.filter(|n| doc.kind(*n) == Kind::Object);
    let mut unknown = Extra::new();
    let [name, arguments, _] =
        inner.map_or([None; 3], |n| take(doc, n, ["name", "arguments", "index"], &mut unknown));
    let told = chars(doc, id).filter(|id| !id.is_empty());
    if let Some(id) = &told {
        extra.push(("id".into(), Json::of(quoted(id))));
    }
    let arguments = match arguments.map(|n| (n, Str::at(doc, n))) {
        Some((_, Some(text))) => Arguments::Text(text),
        Some((node, None)) => Arguments::Json(Json::at(doc, node)),
        None => Arguments::Json(Json::of("{}")),
    };
    let id = links.call(told, &chars(doc, name).unwrap_or_default());
    Call { extra, ..Call::new(id.into(), string(doc, name).unwrap_or_default(), arguments) }
}

fn quoted(text: &str) -> String {
    let mut out = String::new();
    omniroute_core::escape_into(text, &mut out);
    out
}

/// All texts of a message as one, with an empty line between them.
pub(super) fn joined<'a>(texts: impl Iterator<Item = std::borrow::Cow<'a, str>>) -> String {
    let mut out = String::new();
    for text in texts.filter(|t| !t.is_empty()) {
        if !out.is_empty() {
            out.push_str("\n\n");
        }
        out.push_str(&text);
    }
    out
}

/// The text of a part that is words.
pub(super) fn words<'a>(part: &'a Part<'_>) -> Option<&'a Text<'a>> {
    match part {
        Part::Text(text) | Part::Refusal(text) => Some(text),
        _ => None,
    }
}
