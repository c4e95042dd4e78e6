//! Reads content blocks: of requests, of replies, and the heads of blocks in streams.

use crate::doc::{Doc, DocError, Kind, NodeId, Rule};
use crate::hub::{
    Answer, Arguments, Call, Citation, Extra, Issuer, Json, Media, MediaKind, Opaque, Part, Seal, Source,
    Spelling, Str, Text, Thought, Weight,
};
use crate::wire::fields::{error, expect};
use crate::wire::read::{boolean, cache_mark, chars, count, is, pick, string, take};
use crate::wire::seal::open;

pub(super) const NAME: &str = "anthropic-messages";

/// The blocks of a message, and whether they were given as plain text.
pub(super) fn content(doc: &Doc, node: NodeId) -> Result<(Vec<Part<'_>>, bool), DocError> {
    match doc.kind(node) {
        Kind::String => {
            let text = Str::at(doc, node).unwrap_or_default();
            Ok((vec![Part::Text(Text { text, ..Text::default() })], true))
        }
        Kind::Array => {
            let mut parts = doc.elements(node).map(|n| block(doc, n)).collect::<Result<Vec<_>, _>>()?;
            unpack(&mut parts);
            Ok((parts, false))
        }
        Kind::Null => Ok((Vec::new(), false)),
        _ => Err(error(doc, node, Rule::Shape, "\"content\" is neither text nor a list of blocks".into())),
    }
}

/// Puts seals that belong to calls back on them.
fn unpack(parts: &mut [Part<'_>]) {
    let mut found = Vec::new();
    for part in parts.iter_mut() {
        if let Part::Thought(thought) = part {
            let sealed = thought.seal.as_ref().and_then(|s| open(&s.data.decode()));
            if let Some((seal, call)) = sealed {
                thought.seal = None;
                match call {
                    Some(call) => found.push((call, seal)),
                    None => thought.seal = Some(seal),
                }
            }
        }
    }
    for (id, seal) in found {
        let of = |p: &&mut Part<'_>| matches!(p, Part::Call(c) if c.id.is(&id));
        if let Some(Part::Call(call)) = parts.iter_mut().find(of) {
            call.seal = Some(seal);
        }
    }
}

pub(super) fn block(doc: &Doc, node: NodeId) -> Result<Part<'_>, DocError> {
    expect(doc, node, Kind::Object, "a content block")?;
    let kind = chars(doc, doc.get(node, "type"));
    Ok(match kind.as_deref() {
        Some("text") => text(doc, node),
        Some("tool_use") => call(doc, node),
        Some("tool_result") => return result(doc, node),
        Some("thinking" | "redacted_thinking") => thought(doc, node),
        Some("image") => media(doc, node, MediaKind::Image),
        Some("document") => media(doc, node, MediaKind::File),
        _ => None,
    }
    .unwrap_or_else(|| opaque(doc, node)))
}

pub(super) fn opaque(doc: &Doc, node: NodeId) -> Part<'_> {
    Part::Opaque(Opaque { wire: NAME, raw: Json::at(doc, node), weight: Weight::Meaning })
}

fn text(doc: &Doc, node: NodeId) -> Option<Part<'_>> {
    let mut extra = Extra::new();
    let [_, text, cache, citations] =
        take(doc, node, ["type", "text", "cache_control", "citations"], &mut extra);
    let citations = citations.into_iter().flat_map(|c| doc.elements(c)).map(|n| citation(doc, n)).collect();
    Some(Part::Text(Text {
        text: string(doc, text)?,
        citations,
        cache: mark(doc, cache, &mut extra),
        extra,
        ..Text::default()
    }))
}

/// A mark of a sort that is not known is kept as it is.
fn mark<'d>(doc: &'d Doc, node: Option<NodeId>, extra: &mut Extra<'d>) -> Option<crate::hub::CacheMark> {
    let found = cache_mark(doc, node);
    if let (None, Some(node)) = (found, node) {
        extra.push(("cache_control".into(), Json::at(doc, node)));
    }
    found
}

pub(super) fn citation(doc: &Doc, node: NodeId) -> Citation<'_> {
    let names = ["url", "title", "document_title", "cited_text", "start_char_index", "end_char_index"];
    let [url, title, document, cited, start, end] = pick(doc, node, names);
    Citation {
        url: string(doc, url),
        title: string(doc, title.or(document)),
        cited: string(doc, cited),
        start: count(doc, start),
        end: count(doc, end),
        raw: Json::at(doc, node),
    }
}

fn call(doc: &Doc, node: NodeId) -> Option<Part<'_>> {
    let mut extra = Extra::new();
    let [_, id, name, input, cache] =
        take(doc, node, ["type", "id", "name", "input", "cache_control"], &mut extra);
    let arguments = input.map_or(Arguments::Json(Json::of("{}")), |n| Arguments::Json(Json::at(doc, n)));
    let call = Call::new(string(doc, id).unwrap_or_default(), string(doc, name)?, arguments);
    Some(Part::Call(Call { cache: mark(doc, cache, &mut extra), extra, ..call }))
}

fn result(doc: &Doc, node: NodeId) -> Result<Part<'_>, DocError> {
    let mut extra = Extra::new();
    let names = ["type", "tool_use_id", "content", "is_error", "cache_control"];
    let [_, id, body, failed, cache] = take(doc, node, names, &mut extra);
    let (parts, plain) = match body {
        Some(body) => content(doc, body)?,
        None => (Vec::new(), false),
    };
    let answer = Answer::new(string(doc, id).unwrap_or_default(), parts);
    let cache = mark(doc, cache, &mut extra);
    Ok(Part::Result(Answer { plain, error: boolean(doc, failed), cache, extra, ..answer }))
}

fn thought(doc: &Doc, node: NodeId) -> Option<Part<'_>> {
    let mut extra = Extra::new();
    let [_, text, signature, data] = take(doc, node, ["type", "thinking", "signature", "data"], &mut extra);
    let redacted = is(doc, doc.get(node, "type"), "redacted_thinking");
    let seal = string(doc, if redacted { data } else { signature }).filter(|s| redacted || !s.is_empty());
    Some(Part::Thought(Thought {
        text: string(doc, text).into_iter().collect(),
        summary: false,
        seal: seal.map(|data| Seal { issuer: Issuer::Anthropic, data }),
        spelling: if redacted { Spelling::Redacted } else { Spelling::Block },
        copy: false,
        item: None,
        status: None,
        extra,
    }))
}

fn media(doc: &Doc, node: NodeId, kind: MediaKind) -> Option<Part<'_>> {
    let mut extra = Extra::new();
    let names = ["type", "source", "cache_control", "title", "context", "citations"];
    let [_, source, cache, title, context, citations] = take(doc, node, names, &mut extra);
    let source = source_of(doc, source?);
    Some(Part::Media(Media {
        name: string(doc, title),
        context: string(doc, context),
        cite: citations.and_then(|c| boolean(doc, doc.get(c, "enabled"))),
        cache: mark(doc, cache, &mut extra),
        extra,
        ..Media::new(kind, source)
    }))
}

fn source_of(doc: &Doc, node: NodeId) -> Source<'_> {
    let [kind, data, mime, url, file] = pick(doc, node, ["type", "data", "media_type", "url", "file_id"]);
    let (data, url, file) = (string(doc, data), string(doc, url), string(doc, file));
    match (chars(doc, kind).as_deref(), data, url, file) {
        (Some("base64"), Some(data), ..) => Source::Base64 { mime: string(doc, mime), data },
        (Some("text"), Some(data), ..) => Source::Text(data),
        (Some("url"), _, Some(url), _) => Source::Url { url, mime: None },
        (Some("file"), .., Some(id)) => Source::FileId(id),
        _ => Source::Raw(Json::at(doc, node)),
    }
}
