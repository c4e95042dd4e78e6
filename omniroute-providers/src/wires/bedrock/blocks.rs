//! Reads content blocks: of requests and of replies.

use omniroute_core::hub::{
    Answer, Arguments, CacheMark, Call, Citation, Extra, Issuer, Json, MediaKind, Opaque, Part, Seal,
    Spelling, Str, Text, Thought, Weight,
};
use omniroute_core::wire::read::{chars, is, json, pick, string, take};
use omniroute_core::{Doc, DocError, Kind, NodeId};

use super::NAME;
use super::media::media;
use crate::wires::common::{array, object, text_part};

/// The blocks of a list. A cache point stands behind what it marks.
pub(super) fn content<'d>(
    doc: &'d Doc,
    owner: NodeId,
    list: Option<NodeId>,
) -> Result<Vec<Part<'d>>, DocError> {
    let list = array(doc, owner, list, "content")?;
    let mut parts = Vec::new();
    for node in doc.elements(list) {
        object(doc, node, "a content block")?;
        match doc.get(node, "cachePoint").map(|point| cache_point(doc, point)) {
            Some(Some(mark)) if set_mark(parts.last_mut(), mark) => {}
            Some(_) => parts.push(opaque(doc, node)),
            None => parts.push(block(doc, node)?),
        }
    }
    Ok(parts)
}

/// `{"type": "default", "ttl"}`
pub(super) fn cache_point(doc: &Doc, point: NodeId) -> Option<CacheMark> {
    let [kind, ttl] = pick(doc, point, ["type", "ttl"]);
    if is(doc, kind, "default") { CacheMark::of(chars(doc, ttl).as_deref()) } else { None }
}

/// Marks a part that bears marks and has none.
fn set_mark(part: Option<&mut Part<'_>>, mark: CacheMark) -> bool {
    let slot = match part {
        Some(Part::Text(text)) => &mut text.cache,
        Some(Part::Media(media)) => &mut media.cache,
        Some(Part::Call(call)) => &mut call.cache,
        Some(Part::Result(answer)) => &mut answer.cache,
        _ => return false,
    };
    slot.is_none() && slot.replace(mark).is_none()
}

pub(super) fn opaque(doc: &Doc, node: NodeId) -> Part<'_> {
    Part::Opaque(Opaque { wire: NAME, raw: Json::at(doc, node), weight: Weight::Meaning })
}

/// A block is an object with one member that names its sort.
fn block(doc: &Doc, node: NodeId) -> Result<Part<'_>, DocError> {
    let mut members = doc.members(node);
    let (Some((key, value)), None) = (members.next(), members.next()) else { return Ok(opaque(doc, node)) };
    let found = match doc.str(key).as_deref() {
        Some("text") => Str::at(doc, value).map(text_part),
        Some("toolUse") => Some(call(doc, value)),
        Some("toolResult") => return result(doc, value),
        Some("reasoningContent") => thought(doc, value),
        Some("image") => media(doc, value, MediaKind::Image),
        Some("document") => media(doc, value, MediaKind::File),
        Some("video") => media(doc, value, MediaKind::Video),
        Some("audio") => media(doc, value, MediaKind::Audio),
        Some("citationsContent") => cited(doc, value),
        _ => None,
    };
    Ok(found.unwrap_or_else(|| opaque(doc, node)))
}

fn call(doc: &Doc, node: NodeId) -> Part<'_> {
    let mut extra = Extra::new();
    let [id, name, input] = take(doc, node, ["toolUseId", "name", "input"], &mut extra);
    let arguments = Arguments::Json(json(doc, input).unwrap_or_else(|| Json::of("{}")));
    let call =
        Call::new(string(doc, id).unwrap_or_default(), string(doc, name).unwrap_or_default(), arguments);
    Part::Call(Call { extra, ..call })
}

fn result(doc: &Doc, node: NodeId) -> Result<Part<'_>, DocError> {
    object(doc, node, "\"toolResult\"")?;
    let mut extra = Extra::new();
    let [id, list, status] = take(doc, node, ["toolUseId", "content", "status"], &mut extra);
    let mut parts = Vec::new();
    let mut value = None;
    let nodes: Vec<_> = list.into_iter().flat_map(|l| doc.elements(l)).collect();
    for inner in &nodes {
        object(doc, *inner, "a block of a result")?;
        match doc.get(*inner, "json") {
            Some(found) if nodes.len() == 1 => value = Some(Json::at(doc, found)),
            Some(found) => {
                // Beside others: its text, and itself for the own wire.
                let raw = Json::at(doc, found);
                let text = Text { text: doc.raw(found).into(), ..Text::default() };
                parts.push(Part::Text(Text { extra: vec![("json".into(), raw)], ..text }));
            }
            None => parts.push(block(doc, *inner)?),
        }
    }
    let error = match chars(doc, status).as_deref() {
        Some("error") => Some(true),
        Some("success") => Some(false),
        _ => None,
    };
    let answer = Answer::new(string(doc, id).unwrap_or_default(), parts);
    Ok(Part::Result(Answer { value, error, extra, ..answer }))
}

fn thought(doc: &Doc, node: NodeId) -> Option<Part<'_>> {
    let [told, hidden] = pick(doc, node, ["reasoningText", "redactedContent"]);
    if let Some(data) = string(doc, hidden) {
        let seal = Some(Seal { issuer: Issuer::Anthropic, data });
        let empty = Thought::new("".into(), Spelling::Redacted);
        return Some(Part::Thought(Thought { text: Vec::new(), seal, ..empty }));
    }
    let mut extra = Extra::new();
    let [text, signature] =
        take(doc, told.filter(|n| doc.kind(*n) == Kind::Object)?, ["text", "signature"], &mut extra);
    let seal = string(doc, signature).filter(|s| !s.is_empty());
    let seal = seal.map(|data| Seal { issuer: Issuer::Anthropic, data });
    let thought = Thought::new(string(doc, text).unwrap_or_default(), Spelling::Block);
    Some(Part::Thought(Thought { seal, extra, ..thought }))
}

/// A text in pieces with its sources.
fn cited(doc: &Doc, node: NodeId) -> Option<Part<'_>> {
    let mut unknown = Extra::new();
    let [pieces, citations] = take(doc, node, ["content", "citations"], &mut unknown);
    let pieces: Vec<_> = pieces.into_iter().flat_map(|c| doc.elements(c)).collect();
    let text = match pieces.as_slice() {
        [one] => string(doc, doc.get(*one, "text"))?,
        all => all.iter().filter_map(|n| chars(doc, doc.get(*n, "text"))).collect::<String>().into(),
    };
    let citations = citations.into_iter().flat_map(|c| doc.elements(c)).map(|n| citation(doc, n)).collect();
    unknown.is_empty().then(|| Part::Text(Text { text, citations, ..Text::default() }))
}

pub(super) fn citation(doc: &Doc, node: NodeId) -> Citation<'_> {
    let [title, location, pieces] = pick(doc, node, ["title", "location", "sourceContent"]);
    let web = location.and_then(|l| doc.get(l, "web"));
    let piece = pieces.and_then(|p| doc.elements(p).next());
    Citation {
        url: web.and_then(|w| string(doc, doc.get(w, "url"))),
        title: string(doc, title),
        cited: piece.and_then(|p| string(doc, doc.get(p, "text"))),
        start: None,
        end: None,
        raw: Json::at(doc, node),
    }
}
