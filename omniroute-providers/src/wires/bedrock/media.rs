//! Images, sound, video and documents: read and written.

use omniroute_core::hub::{Extra, Json, Media, MediaKind, Part, Source, Str};
use omniroute_core::wire::read::{boolean, chars, pick, string, take};
use omniroute_core::wire::{JsonWriter, WireError};
use omniroute_core::{Doc, NodeId};

use super::NAME;
use crate::wires::common::{no_modality, no_remote};

/// Formats of this wire and the media types they stand for.
const FORMATS: [(MediaKind, &str, &str); 25] = [
    (MediaKind::Image, "png", "image/png"),
    (MediaKind::Image, "jpeg", "image/jpeg"),
    (MediaKind::Image, "gif", "image/gif"),
    (MediaKind::Image, "webp", "image/webp"),
    (MediaKind::File, "pdf", "application/pdf"),
    (MediaKind::File, "txt", "text/plain"),
    (MediaKind::File, "md", "text/markdown"),
    (MediaKind::File, "csv", "text/csv"),
    (MediaKind::File, "html", "text/html"),
    (MediaKind::File, "doc", "application/msword"),
    (MediaKind::File, "docx", "application/vnd.openxmlformats-officedocument.wordprocessingml.document"),
    (MediaKind::File, "xls", "application/vnd.ms-excel"),
    (MediaKind::File, "xlsx", "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"),
    (MediaKind::Video, "mp4", "video/mp4"),
    (MediaKind::Video, "mov", "video/quicktime"),
    (MediaKind::Video, "mkv", "video/x-matroska"),
    (MediaKind::Video, "webm", "video/webm"),
    (MediaKind::Video, "flv", "video/x-flv"),
    (MediaKind::Video, "mpeg", "video/mpeg"),
    (MediaKind::Audio, "mp3", "audio/mpeg"),
    (MediaKind::Audio, "wav", "audio/wav"),
    (MediaKind::Audio, "flac", "audio/flac"),
    (MediaKind::Audio, "ogg", "audio/ogg"),
    (MediaKind::Audio, "aac", "audio/aac"),
    (MediaKind::Audio, "opus", "audio/opus"),
];

fn mime_of(kind: MediaKind, format: &str) -> Option<&'static str> {
    FORMATS.iter().find(|(k, f, _)| *k == kind && *f == format).map(|(.., mime)| *mime)
}

fn format_of(kind: MediaKind, mime: &str) -> Option<&'static str> {
    let mime = match mime {
        "image/jpg" => "image/jpeg",
        "audio/mp3" => "audio/mpeg",
        "audio/x-wav" | "audio/wave" => "audio/wav",
        other => other,
    };
    FORMATS.iter().find(|(k, _, m)| *k == kind && *m == mime).map(|(_, format, _)| *format)
}

/// A block's media; nothing if it has no source.
pub(super) fn media(doc: &Doc, node: NodeId, kind: MediaKind) -> Option<Part<'_>> {
    let mut extra = Extra::new();
    let names = ["format", "source", "name", "context", "citations"];
    let [format, source, name, context, citations] = take(doc, node, names, &mut extra);
    let source = source?;
    let [bytes, place] = pick(doc, source, ["bytes", "s3Location"]);
    let mime = chars(doc, format).and_then(|f| mime_of(kind, &f));
    let owned = place.is_some_and(|p| doc.members(p).count() > 1);
    let source = match (string(doc, bytes), place.and_then(|p| string(doc, doc.get(p, "uri")))) {
        (Some(data), _) if mime.is_some() || format.is_none() => {
            Source::Base64 { mime: mime.map(Str::from), data }
        }
        (None, Some(uri)) if !owned => Source::FileId(uri),
        _ => Source::Raw(Json::at(doc, source)),
    };
    if !matches!(source, Source::Base64 { .. })
        && let Some(format) = format
    {
        extra.push(("format".into(), Json::at(doc, format)));
    }
    let cite = citations.and_then(|c| boolean(doc, doc.get(c, "enabled")));
    let (name, context) = (string(doc, name), string(doc, context));
    Some(Part::Media(Media { name, context, cite, extra, ..Media::new(kind, source) }))
}

/// Writes the block; `number` names documents without a good name.
pub(super) fn write_media(
    media: &Media<'_>,
    own: bool,
    number: usize,
    pointer: &str,
    out: &mut JsonWriter,
) -> Result<(), WireError> {
    let key = match media.kind {
        MediaKind::Image => "image",
        MediaKind::Audio => "audio",
        MediaKind::Video => "video",
        MediaKind::File => "document",
    };
    let format = match &media.source {
        Source::Base64 { mime, .. } => Some(format(media.kind, mime.as_ref(), pointer)?),
        Source::Text(_) => Some("txt"),
        Source::Url { .. } => return Err(no_remote(NAME, pointer)),
        Source::FileId(id) if own || id.decode().starts_with("s3://") => None,
        Source::Raw(_) if own => None,
        _ => return Err(no_modality(NAME, "a file that is only an id", pointer)),
    };
    out.object().key(key).object();
    if let Some(format) = format {
        out.key("format").text(format);
    }
    if media.kind == MediaKind::File {
        out.key("name");
        match (&media.name, own) {
            (Some(name), true) => out.str(name),
            (name, _) => out.text(&document_name(name.as_ref(), number)),
        };
    }
    out.key("source");
    match &media.source {
        Source::Base64 { data, .. } => drop(out.object().key("bytes").str(data).end_object()),
        Source::Text(text) => {
            out.object().key("bytes").text(&base64(text.decode().as_bytes())).end_object();
        }
        Source::FileId(id) => {
            out.object().key("s3Location").object().key("uri").str(id).end_object().end_object();
        }
        Source::Raw(raw) => drop(out.json(raw)),
        _ => drop(out.null()), // refused above
    }
    out.opt_str("context", media.context.as_ref());
    if let Some(cite) = media.cite {
        out.key("citations").object().key("enabled").bool(cite).end_object();
    }
    if own {
        out.extra(&media.extra);
    }
    out.end_object().end_object();
    Ok(())
}

fn format(kind: MediaKind, mime: Option<&Str<'_>>, pointer: &str) -> Result<&'static str, WireError> {
    let Some(mime) = mime else {
        return match kind {
            MediaKind::Image => Ok("png"),
            MediaKind::File => Ok("pdf"),
            MediaKind::Audio | MediaKind::Video => {
                Err(no_modality(NAME, "media of an unknown type", pointer))
            }
        };
    };
    let mime = mime.decode();
    let word: String = mime.chars().take(64).collect();
    format_of(kind, &mime).ok_or_else(|| no_modality(NAME, &format!("media of type \"{word}\""), pointer))
}

/// Letters, digits, single spaces and a few signs; any other name is replaced.
fn document_name(name: Option<&Str<'_>>, number: usize) -> String {
    let name = name.map(|n| n.decode().into_owned()).unwrap_or_default();
    let good = |c: char| c.is_ascii_alphanumeric() || " -()[]".contains(c);
    let fine = !name.is_empty() && name.len() <= 200 && name.chars().all(good) && !name.contains("  ");
    if fine { name } else { format!("document-{number}") }
}

fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut out = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for chunk in bytes.chunks(3) {
        let group = chunk.iter().fold(0u32, |sum, b| sum << 8 | u32::from(*b)) << (8 * (3 - chunk.len()));
        for place in 0..4 {
            let digit = DIGITS[(group >> (18 - 6 * place) & 63) as usize];
            out.push(if place <= chunk.len() { char::from(digit) } else { '=' });
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_digits() {
        for (name, found) in
            [("Plan (2)", "Plan (2)"), ("a_b.pdf", "document-3"), ("a  b", "document-3"), ("", "document-3")]
        {
            assert_eq!(document_name(Some(&name.into()), 3), found);
        }
        for (bytes, text) in [("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foob", "Zm9vYg==")]
        {
            assert_eq!(base64(bytes.as_bytes()), text);
        }
    }

    #[test]
    fn formats_go_both_ways() {
        for (kind, format, mime) in FORMATS {
            assert_eq!((mime_of(kind, format), format_of(kind, mime)), (Some(mime), Some(format)));
        }
    }
}
