//! Reads parts: of requests, of replies, and of chunks. Both spellings of names are known.

use crate::doc::{Doc, DocError, Kind, NodeId};
use crate::hub::{
    Answer, Arguments, Call, Extra, Issuer, Json, Media, MediaKind, Opaque, Part, Seal, Source, Spelling,
    Str, Text, Thought, Weight,
};
use crate::wire::fields::expect;
use crate::wire::read::{boolean, json, pick, string, take};
use crate::wire::seal::open;

pub(super) const NAME: &str = "gemini";

/// A member under its camel-case or its snake-case name.
pub(super) fn either(doc: &Doc, node: NodeId, camel: &str, snake: &str) -> Option<NodeId> {
    doc.get(node, camel).or_else(|| doc.get(node, snake)).filter(|n| doc.kind(*n) != Kind::Null)
}

/// One part. Calls that have no id keep an empty one here.
pub(super) fn part(doc: &Doc, node: NodeId) -> Result<Part<'_>, DocError> {
    expect(doc, node, Kind::Object, "a part")?;
    let mut extra = Extra::new();
    let names =
        ["text", "thought", "functionCall", "functionResponse", "inlineData", "fileData", "thoughtSignature"];
    let [text, thought, call, response, inline, file, signature] = take(doc, node, names, &mut extra);
    let snake = |extra: &mut Extra<'_>, name: &str, found: Option<NodeId>| {
        found.or_else(|| {
            let at = extra.iter().position(|(key, _)| key.is(name))?;
            extra.remove(at);
            doc.get(node, name)
        })
    };
    let call = snake(&mut extra, "function_call", call);
    let response = snake(&mut extra, "function_response", response);
    let inline = snake(&mut extra, "inline_data", inline);
    let file = snake(&mut extra, "file_data", file);
    let signature = snake(&mut extra, "thought_signature", signature);
    let seal = string(doc, signature).map(|data| match open(&data.decode()) {
        Some((seal, _)) => seal,
        None => Seal { issuer: Issuer::Gemini, data },
    });
    if let Some(call) = call {
        return Ok(Part::Call(Call { seal, ..called(doc, call, extra) }));
    }
    if let Some(response) = response {
        return Ok(Part::Result(answered(doc, response, extra)));
    }
    if let Some(media) = inline.map(|n| inline_data(doc, n)).or(file.map(|n| file_data(doc, n))).flatten() {
        return Ok(Part::Media(Media { extra, ..media }));
    }
    Ok(match string(doc, text) {
        Some(text) if boolean(doc, thought) == Some(true) => {
            Part::Thought(Thought { seal, extra, ..Thought::new(text, Spelling::Block) })
        }
        Some(text) => Part::Text(Text { text, seal, extra, ..Text::default() }),
        None => opaque(doc, node),
    })
}

pub(super) fn opaque(doc: &Doc, node: NodeId) -> Part<'_> {
    Part::Opaque(Opaque { wire: NAME, raw: Json::at(doc, node), weight: Weight::Meaning })
}

fn called<'d>(doc: &'d Doc, node: NodeId, extra: Extra<'d>) -> Call<'d> {
    let [id, name, args] = pick(doc, node, ["id", "name", "args"]);
    let arguments = Arguments::Json(json(doc, args).unwrap_or_else(|| Json::of("{}")));
    Call {
        extra,
        ..Call::new(string(doc, id).unwrap_or_default(), string(doc, name).unwrap_or_default(), arguments)
    }
}

/// A response is any object; `{"output": text}` and `{"error": text}` are how other wires' texts are put into one.
fn answered<'d>(doc: &'d Doc, node: NodeId, mut extra: Extra<'d>) -> Answer<'d> {
    let [id, name, body, more] = take(doc, node, ["id", "name", "response", "parts"], &mut extra);
    let only = |key: &str| {
        let body = body.filter(|b| doc.members(*b).count() == 1)?;
        string(doc, doc.get(body, key))
    };
    let (text, error) = match (only("output"), only("error")) {
        (Some(text), _) => (Some(text), None),
        (None, Some(text)) => (Some(text), Some(true)),
        (None, None) => (None, None),
    };
    let value = if text.is_some() { None } else { json(doc, body) };
    let mut parts: Vec<Part<'d>> =
        text.map(|text| Part::Text(Text { text, ..Text::default() })).into_iter().collect();
    parts.extend(more.into_iter().flat_map(|m| doc.elements(m)).filter_map(|n| part(doc, n).ok()));
    let answer = Answer::new(string(doc, id).unwrap_or_default(), parts);
    Answer { name: string(doc, name), plain: true, value, error, extra, ..answer }
}

fn kind_of(mime: Option<&Str<'_>>) -> MediaKind {
    match mime.map(|m| m.decode()).as_deref() {
        Some(m) if m.starts_with("image/") => MediaKind::Image,
        Some(m) if m.starts_with("audio/") => MediaKind::Audio,
        Some(m) if m.starts_with("video/") => MediaKind::Video,
        _ => MediaKind::File,
    }
}

fn inline_data(doc: &Doc, node: NodeId) -> Option<Media<'_>> {
    let [data, name] = pick(doc, node, ["data", "displayName"]);
    let mime = string(doc, either(doc, node, "mimeType", "mime_type"));
    let kind = kind_of(mime.as_ref());
    let media = Media::new(kind, Source::Base64 { mime, data: string(doc, data)? });
    Some(Media { name: string(doc, name), ..media })
}

fn file_data(doc: &Doc, node: NodeId) -> Option<Media<'_>> {
    let url = string(doc, either(doc, node, "fileUri", "file_uri"))?;
    let mime = string(doc, either(doc, node, "mimeType", "mime_type"));
    Some(Media::new(kind_of(mime.as_ref()), Source::Url { url, mime }))
}
