//! Reads messages: of requests and of replies.

use omniroute_core::hub::{
    Answer, Arguments, Call, Citation, Extra, Json, Media, MediaKind, Opaque, Part, Spelling, Str, Text,
    Thought, Turn, Weight,
};
use omniroute_core::wire::read::{chars, count, is, pick, source_of, string, take};
use omniroute_core::{Doc, DocError, Kind, NodeId, Role};

use super::NAME;
use crate::wires::common::{object, once, shape};

pub(super) fn read_message(doc: &Doc, node: NodeId) -> Result<Turn<'_>, DocError> {
    object(doc, node, "a message")?;
    once(doc, node, ["role", "content"])?;
    let role = match chars(doc, doc.get(node, "role")).as_deref() {
        Some("system" | "developer") => Role::System,
        Some("user") => Role::User,
        Some("assistant") => Role::Assistant,
        Some("tool") => Role::Tool,
        Some(_) => {
            let mut turn = Turn::new(Role::User, vec![opaque(doc, node)]);
            turn.item = true;
            return Ok(turn);
        }
        None => return Err(shape(doc, node, "a message has no \"role\"")),
    };
    let mut turn = Turn::new(role, Vec::new());
    let names = ["role", "content", "tool_calls", "tool_plan", "citations", "tool_call_id"];
    let [_, content, calls, plan, citations, id] = take(doc, node, names, &mut turn.extra);
    let (mut parts, plain) = content_of(doc, content)?;
    if role == Role::Tool {
        let answer = Answer::new(string(doc, id).unwrap_or_default(), parts);
        turn.parts.push(Part::Result(Answer { plain, ..answer }));
        return Ok(turn);
    }
    turn.plain = plain;
    if let Some(plan) = string(doc, plan).filter(|p| !p.is_empty()) {
        turn.parts.push(Part::Thought(Thought::new(plan, Spelling::Plan)));
    }
    cite(doc, citations, &mut parts);
    turn.parts.append(&mut parts);
    for call in calls.into_iter().flat_map(|c| doc.elements(c)) {
        turn.parts.push(Part::Call(read_call(doc, call)));
    }
    Ok(turn)
}

fn opaque(doc: &Doc, node: NodeId) -> Part<'_> {
    Part::Opaque(Opaque { wire: NAME, raw: Json::at(doc, node), weight: Weight::Meaning })
}

/// Sources stand beside the content and name the part they belong to; without a number it is the first text.
fn cite<'d>(doc: &'d Doc, list: Option<NodeId>, parts: &mut [Part<'d>]) {
    for node in list.into_iter().flat_map(|l| doc.elements(l)) {
        let at = count(doc, doc.get(node, "content_index")).and_then(|n| usize::try_from(n).ok());
        let at = at.filter(|at| matches!(parts.get(*at), Some(Part::Text(_))));
        let at = at.or_else(|| parts.iter().position(|p| matches!(p, Part::Text(_))));
        if let Some(Part::Text(text)) = at.and_then(|at| parts.get_mut(at)) {
            text.citations.push(citation(doc, node));
        }
    }
}

pub(super) fn citation(doc: &Doc, node: NodeId) -> Citation<'_> {
    let [start, end, text, sources] = pick(doc, node, ["start", "end", "text", "sources"]);
    let document = sources
        .and_then(|list| doc.elements(list).next())
        .and_then(|source| doc.get(source, "document"))
        .filter(|n| doc.kind(*n) == Kind::Object);
    let inner = |key| document.and_then(|d| string(doc, doc.get(d, key)));
    Citation {
        url: inner("url"),
        title: inner("title"),
        cited: string(doc, text),
        start: count(doc, start),
        end: count(doc, end),
        raw: Json::at(doc, node),
    }
}

/// The parts of a message, and whether they were given as plain text.
fn content_of(doc: &Doc, content: Option<NodeId>) -> Result<(Vec<Part<'_>>, bool), DocError> {
    let Some(content) = content else { return Ok((Vec::new(), true)) };
    match doc.kind(content) {
        Kind::String => {
            let text = Str::at(doc, content).unwrap_or_default();
            Ok((vec![Part::Text(Text { text, ..Text::default() })], true))
        }
        Kind::Array => {
            let parts = doc.elements(content).map(|n| part(doc, n)).collect::<Result<_, _>>()?;
            Ok((parts, false))
        }
        Kind::Object => Ok((vec![part(doc, content)?], false)),
        _ => Err(shape(doc, content, "\"content\" is neither text nor a list of parts")),
    }
}

fn part(doc: &Doc, node: NodeId) -> Result<Part<'_>, DocError> {
    object(doc, node, "a content part")?;
    let mut extra = Extra::new();
    let [kind, text, thinking, image] =
        take(doc, node, ["type", "text", "thinking", "image_url"], &mut extra);
    if let (true, Some(text)) = (is(doc, kind, "text"), string(doc, text)) {
        return Ok(Part::Text(Text { text, extra, ..Text::default() }));
    }
    if let (true, Some(text)) = (is(doc, kind, "thinking"), string(doc, thinking)) {
        return Ok(Part::Thought(Thought { extra, ..Thought::new(text, Spelling::Block) }));
    }
    if let Some(media) = image.filter(|_| is(doc, kind, "image_url")).and_then(|n| address(doc, n)) {
        return Ok(Part::Media(Media { extra, ..media }));
    }
    Ok(opaque(doc, node))
}

fn address(doc: &Doc, inner: NodeId) -> Option<Media<'_>> {
    let mut unknown = Extra::new();
    let [url, detail] = take(doc, inner, ["url", "detail"], &mut unknown);
    let source = source_of(string(doc, url.or(Some(inner)))?);
    unknown.is_empty().then(|| Media { detail: string(doc, detail), ..Media::new(MediaKind::Image, source) })
}

pub(super) fn read_call(doc: &Doc, node: NodeId) -> Call<'_> {
    let mut extra = Extra::new();
    let [id, _, function] = take(doc, node, ["id", "type", "function"], &mut extra);
    let inner = function.filter(|n| doc.kind(*n) == Kind::Object);
    let [name, arguments] = inner.map_or([None; 2], |n| take(doc, n, ["name", "arguments"], &mut extra));
    let arguments = match arguments.map(|n| (n, Str::at(doc, n))) {
        Some((_, Some(text))) => Arguments::Text(text),
        Some((node, None)) => Arguments::Json(Json::at(doc, node)),
        None => Arguments::Text("".into()),
    };
    let call =
        Call::new(string(doc, id).unwrap_or_default(), string(doc, name).unwrap_or_default(), arguments);
    Call { extra, ..call }
}
