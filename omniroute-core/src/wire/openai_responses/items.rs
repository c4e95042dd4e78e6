//! Reads items: of requests, of replies, and of events.

use crate::conversation::Role;
use crate::doc::{Doc, DocError, Kind, NodeId, Rule};
use crate::hub::{
    Answer, Arguments, Call, CallKind, Citation, Extra, Issuer, Json, Media, MediaKind, Opaque, Part, Seal,
    Source, Spelling, Str, Text, Thought, Turn, Weight,
};
use crate::wire::fields::{error, expect};
use crate::wire::openai_chat::role_of;
use crate::wire::read::{chars, count, json, pick, source_of, string, take};

pub(super) const NAME: &str = "openai-responses";

/// One item as a turn of its own.
pub(super) fn item(doc: &Doc, node: NodeId) -> Result<Turn<'_>, DocError> {
    expect(doc, node, Kind::Object, "an input item")?;
    let [kind, role] = pick(doc, node, ["type", "role"]);
    let kind = chars(doc, kind).or_else(|| role.map(|_| "message".to_owned()));
    let alone = |role, part| Turn { item: true, ..Turn::new(role, vec![part]) };
    Ok(match kind.as_deref() {
        Some("message") => return message(doc, node),
        Some("function_call") => alone(Role::Assistant, Part::Call(call(doc, node, CallKind::Function))),
        Some("custom_tool_call") => alone(Role::Assistant, Part::Call(call(doc, node, CallKind::Custom))),
        Some("reasoning") => alone(Role::Assistant, Part::Thought(thought(doc, node))),
        Some("function_call_output") => {
            alone(Role::Tool, Part::Result(result(doc, node, CallKind::Function)?))
        }
        Some("custom_tool_call_output") => {
            alone(Role::Tool, Part::Result(result(doc, node, CallKind::Custom)?))
        }
        _ => alone(Role::Assistant, opaque(doc, node)),
    })
}

pub(super) fn opaque(doc: &Doc, node: NodeId) -> Part<'_> {
    Part::Opaque(Opaque { wire: NAME, raw: Json::at(doc, node), weight: Weight::Meaning })
}

fn message(doc: &Doc, node: NodeId) -> Result<Turn<'_>, DocError> {
    let mut extra = Extra::new();
    let [role, content, _, id, status] =
        take(doc, node, ["role", "content", "type", "id", "status"], &mut extra);
    let Some(role) = role_of(doc, node, role)? else {
        return Ok(Turn { item: true, ..Turn::new(Role::User, vec![opaque(doc, node)]) });
    };
    let (parts, plain) = content_of(doc, content)?;
    if matches!(parts.as_slice(), [Part::Opaque(_)]) {
        // Nothing in it is known: the message is kept as a whole.
        return Ok(Turn { item: true, ..Turn::new(role, vec![opaque(doc, node)]) });
    }
    Ok(Turn {
        plain,
        item: true,
        id: string(doc, id),
        status: string(doc, status),
        extra,
        ..Turn::new(role, parts)
    })
}

pub(super) fn content_of(doc: &Doc, content: Option<NodeId>) -> Result<(Vec<Part<'_>>, bool), DocError> {
    let Some(node) = content else { return Ok((Vec::new(), false)) };
    match doc.kind(node) {
        Kind::String => {
            let text = Str::at(doc, node).unwrap_or_default();
            Ok((vec![Part::Text(Text { text, ..Text::default() })], true))
        }
        Kind::Array => Ok((doc.elements(node).map(|n| part(doc, n)).collect(), false)),
        _ => Err(error(doc, node, Rule::Shape, "\"content\" is neither text nor a list of parts".into())),
    }
}

pub(super) fn part(doc: &Doc, node: NodeId) -> Part<'_> {
    let mut extra = Extra::new();
    let names = ["type", "text", "annotations", "logprobs", "refusal", "image_url", "file_id", "detail"];
    let [kind, text, annotations, logprobs, refusal, image, id, detail] = take(doc, node, names, &mut extra);
    let filled = |n: &NodeId| doc.elements(*n).next().is_some();
    match (chars(doc, kind).as_deref(), string(doc, text), string(doc, refusal)) {
        (Some("input_text" | "output_text" | "text"), Some(text), _) => Part::Text(Text {
            text,
            citations: annotations
                .into_iter()
                .flat_map(|a| doc.elements(a))
                .map(|n| citation(doc, n))
                .collect(),
            logprobs: json(doc, logprobs.filter(filled)),
            extra,
            ..Text::default()
        }),
        (Some("refusal"), _, Some(text)) => Part::Refusal(Text { text, extra, ..Text::default() }),
        (Some("input_image"), ..) => {
            let source = match (string(doc, image), string(doc, id)) {
                (Some(url), _) => source_of(url),
                (None, Some(id)) => Source::FileId(id),
                (None, None) => return opaque(doc, node),
            };
            Part::Media(Media { detail: string(doc, detail), extra, ..Media::new(MediaKind::Image, source) })
        }
        (Some("input_file"), ..) => file(doc, node).unwrap_or_else(|| opaque(doc, node)),
        (Some("input_audio"), ..) => sound(doc, node).unwrap_or_else(|| opaque(doc, node)),
        _ => opaque(doc, node),
    }
}

fn file(doc: &Doc, node: NodeId) -> Option<Part<'_>> {
    let mut extra = Extra::new();
    let names = ["type", "filename", "file_data", "file_url", "file_id", "detail"];
    let [_, name, data, url, id, detail] = take(doc, node, names, &mut extra);
    let source = match (string(doc, data), string(doc, url), string(doc, id)) {
        (Some(data), ..) => source_of(data),
        (_, Some(url), _) => Source::Url { url, mime: None },
        (.., Some(id)) => Source::FileId(id),
        _ => return None,
    };
    let media = Media::new(MediaKind::File, source);
    Some(Part::Media(Media { name: string(doc, name), detail: string(doc, detail), extra, ..media }))
}

fn sound(doc: &Doc, node: NodeId) -> Option<Part<'_>> {
    let [data, format] = pick(doc, doc.get(node, "input_audio")?, ["data", "format"]);
    let mime = string(doc, format).map(|f| match f.decode().as_ref() {
        "mp3" => "audio/mpeg".into(),
        other => format!("audio/{other}").into(),
    });
    let source = Source::Base64 { mime, data: string(doc, data)? };
    Some(Part::Media(Media::new(MediaKind::Audio, source)))
}

pub(super) fn citation(doc: &Doc, node: NodeId) -> Citation<'_> {
    let [url, title, start, end, file] =
        pick(doc, node, ["url", "title", "start_index", "end_index", "filename"]);
    Citation {
        url: string(doc, url),
        title: string(doc, title.or(file)),
        cited: None,
        start: count(doc, start),
        end: count(doc, end),
        raw: Json::at(doc, node),
    }
}

pub(super) fn call(doc: &Doc, node: NodeId, kind: CallKind) -> Call<'_> {
    let mut extra = Extra::new();
    let names = ["type", "id", "call_id", "name", "arguments", "input", "status"];
    let [_, item, id, name, arguments, input, status] = take(doc, node, names, &mut extra);
    let arguments = match (kind, arguments.map(|n| (n, Str::at(doc, n)))) {
        (CallKind::Custom, _) => Arguments::Free(string(doc, input).unwrap_or_default()),
        (_, Some((_, Some(text)))) => Arguments::Text(text),
        (_, Some((node, None))) => Arguments::Json(Json::at(doc, node)),
        (_, None) => Arguments::Text("".into()),
    };
    let call =
        Call::new(string(doc, id).unwrap_or_default(), string(doc, name).unwrap_or_default(), arguments);
    Call { kind, item: string(doc, item), status: string(doc, status), extra, ..call }
}

fn result(doc: &Doc, node: NodeId, kind: CallKind) -> Result<Answer<'_>, DocError> {
    let mut extra = Extra::new();
    let names = ["type", "id", "call_id", "output", "status"];
    let [_, item, id, output, status] = take(doc, node, names, &mut extra);
    let mut value = None;
    let (parts, plain) = match output.map(|n| (n, doc.kind(n))) {
        Some((node, Kind::String | Kind::Array)) => content_of(doc, Some(node))?,
        Some((node, _)) => {
            value = Some(Json::at(doc, node));
            (Vec::new(), true)
        }
        None => (Vec::new(), true),
    };
    let answer = Answer::new(string(doc, id).unwrap_or_default(), parts);
    Ok(Answer { plain, value, kind, item: string(doc, item), status: string(doc, status), extra, ..answer })
}

/// A reasoning item: its summary, or what was thought where there is none.
pub(super) fn thought(doc: &Doc, node: NodeId) -> Thought<'_> {
    let mut extra = Extra::new();
    let names = ["type", "id", "summary", "content", "encrypted_content", "status"];
    let [_, item, summary, content, sealed, status] = take(doc, node, names, &mut extra);
    let texts = |list: Option<NodeId>| -> Vec<Str<'_>> {
        let blocks = list.into_iter().flat_map(|l| doc.elements(l));
        blocks.filter_map(|b| string(doc, doc.get(b, "text"))).collect()
    };
    let (told, whole) = (texts(summary), texts(content));
    let summarised = !told.is_empty() || whole.is_empty();
    if summarised && !whole.is_empty() {
        extra.extend(content.map(|c| ("content".into(), Json::at(doc, c))));
    }
    Thought {
        text: if summarised { told } else { whole },
        summary: summarised,
        seal: string(doc, sealed).map(|data| Seal { issuer: Issuer::OpenAi, data }),
        spelling: Spelling::Block,
        copy: false,
        item: string(doc, item),
        status: string(doc, status),
        extra,
    }
}
