//! Reads messages: of requests, of replies, and pieces of them in streams.

use super::role_of;
use crate::conversation::Role;
use crate::doc::{Doc, DocError, Kind, NodeId, Rule};
use crate::hub::{
    Answer, Arguments, Call, CallKind, Citation, Extra, Issuer, Json, Media, MediaKind, Opaque, Part, Seal,
    Source, Spelling, Str, Text, Thought, Turn, Weight,
};
use crate::wire::fields::{error, pick as pick_once};
use crate::wire::read::{cache_mark, count, is, json, pick, source_of, string, take};

pub(super) const NAME: &str = "openai-chat";

pub(super) fn read_message(doc: &Doc, node: NodeId) -> Result<Turn<'_>, DocError> {
    let ([role, _], []) = pick_once(doc, node, ["role", "content"], [])?;
    let Some(role) = role_of(doc, node, role)? else {
        let mut turn = Turn::new(Role::User, vec![opaque(doc, node)]);
        turn.item = true;
        return Ok(turn);
    };
    let mut turn = Turn::new(role, Vec::new());
    let names = [
        "role",
        "content",
        "name",
        "tool_calls",
        "tool_call_id",
        "function_call",
        "refusal",
        "reasoning_content",
        "reasoning",
        "reasoning_details",
        "annotations",
    ];
    let [_, content, name, calls, call_id, legacy, refusal, thought, reasoning, details, annotations] =
        take(doc, node, names, &mut turn.extra);
    let details = details.filter(|n| doc.kind(*n) == Kind::Array);
    thoughts(doc, thought, reasoning, details, &mut turn.parts);
    let (mut parts, plain) = content_of(doc, content)?;
    if role == Role::Tool {
        let function = is(doc, doc.get(node, "role"), "function");
        let id = string(doc, call_id).unwrap_or_default();
        let kind = if function { CallKind::Legacy } else { CallKind::Function };
        let answer = Answer { name: string(doc, name), plain, kind, ..Answer::new(id, parts) };
        turn.parts.push(Part::Result(answer));
        return Ok(turn);
    }
    turn.name = string(doc, name);
    turn.plain = plain;
    if let (Some(list), Some(Part::Text(text))) = (annotations, parts.last_mut()) {
        text.citations = doc.elements(list).map(|n| citation(doc, n)).collect();
    }
    turn.parts.append(&mut parts);
    if let Some(text) = string(doc, refusal).filter(|t| !t.is_empty()) {
        turn.parts.push(Part::Refusal(Text { text, ..Text::default() }));
    }
    for call in calls.into_iter().flat_map(|c| doc.elements(c)) {
        turn.parts.push(Part::Call(read_call(doc, call)));
    }
    if let Some(function) = legacy.filter(|c| doc.kind(*c) == Kind::Object) {
        let mut call = called(doc, function, Extra::new());
        call.kind = CallKind::Legacy;
        turn.parts.push(Part::Call(call));
    }
    Ok(turn)
}

fn opaque(doc: &Doc, node: NodeId) -> Part<'_> {
    Part::Opaque(Opaque { wire: NAME, raw: Json::at(doc, node), weight: Weight::Meaning })
}

/// Reasoning stands in up to three places; the entries of a list may repeat the plain text.
fn thoughts<'d>(
    doc: &'d Doc,
    content: Option<NodeId>,
    reasoning: Option<NodeId>,
    details: Option<NodeId>,
    parts: &mut Vec<Part<'d>>,
) {
    let entries: Vec<_> = details.into_iter().flat_map(|d| doc.elements(d)).map(|n| detail(doc, n)).collect();
    let mut told = entries.iter().any(|t| t.text.iter().any(|s| !s.is_empty()));
    for (node, spelling) in [(content, Spelling::Content), (reasoning, Spelling::Reasoning)] {
        if let Some(text) = string(doc, node) {
            let filled = !text.is_empty();
            parts.push(Part::Thought(Thought { copy: told && filled, ..Thought::new(text, spelling) }));
            told |= filled;
        }
    }
    parts.extend(entries.into_iter().map(Part::Thought));
}

/// An entry of `reasoning_details`.
pub(super) fn detail(doc: &Doc, node: NodeId) -> Thought<'_> {
    let mut extra = Extra::new();
    let names = ["type", "text", "summary", "data", "signature", "id"];
    let [kind, text, summary, data, signature, id] = take(doc, node, names, &mut extra);
    let format = string(doc, doc.get(node, "format"));
    let issuer = format.map_or(Issuer::Unknown, |f| issuer_of(&f.decode()));
    Thought {
        text: string(doc, text.or(summary)).into_iter().collect(),
        summary: is(doc, kind, "reasoning.summary"),
        seal: string(doc, data.or(signature)).map(|data| Seal { issuer, data }),
        spelling: Spelling::Details,
        copy: false,
        item: string(doc, id),
        status: None,
        extra,
    }
}

fn issuer_of(format: &str) -> Issuer {
    let families = [
        ("anthropic", Issuer::Anthropic),
        ("google", Issuer::Gemini),
        ("gemini", Issuer::Gemini),
        ("openai", Issuer::OpenAi),
    ];
    families
        .iter()
        .find(|(start, _)| format.starts_with(start))
        .map_or(Issuer::Unknown, |(_, issuer)| *issuer)
}

pub(super) fn citation(doc: &Doc, node: NodeId) -> Citation<'_> {
    let inner = doc.get(node, "url_citation").unwrap_or(node);
    let [url, title, start, end] = pick(doc, inner, ["url", "title", "start_index", "end_index"]);
    Citation {
        url: string(doc, url),
        title: string(doc, title),
        cited: None,
        start: count(doc, start),
        end: count(doc, end),
        raw: Json::at(doc, node),
    }
}

pub(super) fn content_of(doc: &Doc, content: Option<NodeId>) -> Result<(Vec<Part<'_>>, bool), DocError> {
    let Some(content) = content else { return Ok((Vec::new(), true)) };
    match doc.kind(content) {
        Kind::String => {
            let text = Str::at(doc, content).unwrap_or_default();
            Ok((vec![Part::Text(Text { text, ..Text::default() })], true))
        }
        Kind::Array => Ok((doc.elements(content).map(|n| part(doc, n)).collect(), false)),
        Kind::Object => Ok((vec![part(doc, content)], false)),
        _ => Err(error(doc, content, Rule::Shape, "\"content\" is neither text nor a list of parts".into())),
    }
}

fn part(doc: &Doc, node: NodeId) -> Part<'_> {
    if let Some(text) = Str::at(doc, node) {
        return Part::Text(Text { text, ..Text::default() });
    }
    let mut extra = Extra::new();
    let names = ["type", "text", "cache_control", "refusal", "image_url", "input_audio", "file", "video_url"];
    let [kind, text, cache, refusal, image, audio, file, video] = take(doc, node, names, &mut extra);
    let cache = cache_mark(doc, cache);
    if let (true, Some(text)) = (is(doc, kind, "text"), string(doc, text)) {
        return Part::Text(Text { text, cache, extra, ..Text::default() });
    }
    if let (true, Some(text)) = (is(doc, kind, "refusal"), string(doc, refusal)) {
        return Part::Refusal(Text { text, cache, extra, ..Text::default() });
    }
    let media = match (image, audio, file, video) {
        (Some(inner), ..) => address(doc, inner, MediaKind::Image),
        (_, Some(inner), ..) => sound(doc, inner),
        (_, _, Some(inner), _) => document(doc, inner),
        (.., Some(inner)) => address(doc, inner, MediaKind::Video),
        _ => document_url(doc, &mut extra),
    };
    match media {
        Some(media) => Part::Media(Media { cache, extra, ..media }),
        None => opaque(doc, node),
    }
}

/// `{"url", "detail"}` or the address alone.
fn address(doc: &Doc, inner: NodeId, kind: MediaKind) -> Option<Media<'_>> {
    let mut unknown = Extra::new();
    let [url, detail] = take(doc, inner, ["url", "detail"], &mut unknown);
    let source = source_of(string(doc, url.or(Some(inner)))?);
    unknown.is_empty().then(|| Media { detail: string(doc, detail), ..Media::new(kind, source) })
}

fn sound(doc: &Doc, inner: NodeId) -> Option<Media<'_>> {
    let [data, format] = pick(doc, inner, ["data", "format"]);
    let mime = match string(doc, format) {
        Some(f) if f.is("mp3") => Some("audio/mpeg".into()),
        Some(f) => Some(format!("audio/{}", f.decode()).into()),
        None => None,
    };
    let source = Source::Base64 { mime, data: string(doc, data)? };
    Some(Media::new(MediaKind::Audio, source))
}

fn document(doc: &Doc, inner: NodeId) -> Option<Media<'_>> {
    let [data, name, id] = pick(doc, inner, ["file_data", "filename", "file_id"]);
    let source = match (string(doc, data), string(doc, id)) {
        (Some(data), _) => source_of(data),
        (None, Some(id)) => Source::FileId(id),
        (None, None) => return None,
    };
    Some(Media { name: string(doc, name), ..Media::new(MediaKind::File, source) })
}

/// One vendor's documents: `document_url` and `document_name` beside the type.
fn document_url<'d>(doc: &'d Doc, extra: &mut Extra<'d>) -> Option<Media<'d>> {
    let _ = doc;
    let mut part = |name: &str| {
        let at = extra.iter().position(|(key, _)| key.is(name))?;
        extra.remove(at).1.text()
    };
    let url = part("document_url")?;
    let name = part("document_name");
    let media = Media::new(MediaKind::File, Source::Url { url: url.into(), mime: None });
    Some(Media { name: name.map(Str::from), ..media })
}

pub(super) fn read_call(doc: &Doc, node: NodeId) -> Call<'_> {
    let mut extra = Extra::new();
    let [id, _, function, custom, content] =
        take(doc, node, ["id", "type", "function", "custom", "extra_content"], &mut extra);
    let inner = function.or(custom).filter(|n| doc.kind(*n) == Kind::Object);
    let mut call = match inner {
        Some(inner) => called(doc, inner, extra),
        None => Call { extra, ..Call::new("".into(), "".into(), Arguments::Text("".into())) },
    };
    call.id =
        string(doc, id).or_else(|| json(doc, id).map(|n| n.raw().to_owned().into())).unwrap_or_default();
    if let Some(content) = content {
        call.seal = signature(doc, content);
        if call.seal.is_none() {
            call.extra.push(("extra_content".into(), Json::at(doc, content)));
        }
    }
    if custom.is_some() {
        call.kind = CallKind::Custom;
    }
    call
}

/// `{"google": {"thought_signature": ..}}`
fn signature(doc: &Doc, content: NodeId) -> Option<Seal<'_>> {
    let data = doc.get(doc.get(content, "google")?, "thought_signature")?;
    Some(Seal { issuer: Issuer::Gemini, data: Str::at(doc, data)? })
}

fn called<'d>(doc: &'d Doc, node: NodeId, mut extra: Extra<'d>) -> Call<'d> {
    let [name, arguments, input] = take(doc, node, ["name", "arguments", "input"], &mut extra);
    let arguments = match (arguments.map(|n| (n, Str::at(doc, n))), string(doc, input)) {
        (Some((_, Some(text))), _) => Arguments::Text(text),
        (Some((node, None)), _) => Arguments::Json(Json::at(doc, node)),
        (None, Some(text)) => Arguments::Free(text),
        (None, None) => Arguments::Text("".into()),
    };
    Call { extra, ..Call::new("".into(), string(doc, name).unwrap_or_default(), arguments) }
}
