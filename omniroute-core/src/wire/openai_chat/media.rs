//! Writes images, sound, video and files.

use super::message::NAME;
use crate::hub::{Media, MediaKind, Source};
use crate::wire::WireError;
use crate::wire::json::JsonWriter;
use crate::wire::read::write_cache_mark;

pub(super) fn write_media(
    media: &Media<'_>,
    own: bool,
    pointer: &str,
    out: &mut JsonWriter,
) -> Result<(), WireError> {
    let cannot = |what: &str| {
        let message = format!("wire \"{NAME}\" cannot carry {what}");
        Err(WireError::incapable("unsupported_modality", pointer, message))
    };
    match (media.kind, &media.source) {
        (MediaKind::Image | MediaKind::Video, source) => {
            let key = if media.kind == MediaKind::Image { "image_url" } else { "video_url" };
            if media.kind == MediaKind::Video && !own {
                return cannot("video");
            }
            out.object().key("type").text(key).key(key).object().key("url");
            if !write_address(source, out) {
                return cannot("an image that is only an id");
            }
            out.opt_str("detail", media.detail.as_ref());
            out.end_object();
        }
        (MediaKind::Audio, Source::Base64 { mime, data }) => {
            let mime = mime.as_ref().map(|m| m.decode().into_owned()).unwrap_or_default();
            let format = if mime == "audio/mpeg" { "mp3" } else { mime.trim_start_matches("audio/") };
            out.object().key("type").text("input_audio").key("input_audio").object();
            out.key("data")
                .str(data)
                .key("format")
                .text(if format.is_empty() { "wav" } else { format })
                .end_object();
        }
        (MediaKind::Audio, _) => return cannot("sound that is not in the request"),
        (MediaKind::File, Source::Url { url, .. }) => {
            if !own {
                return cannot("a document by its address");
            }
            out.object().key("type").text("document_url").key("document_url").str(url);
            out.opt_str("document_name", media.name.as_ref());
        }
        (MediaKind::File, Source::Text(text)) => {
            let head = media.name.as_ref().map(|n| format!("[{}]\n", n.decode()).into());
            out.object().key("type").text("text").key("text").texts(head.iter().chain([text]));
        }
        (MediaKind::File, source) => {
            out.object().key("type").text("file").key("file").object();
            match source {
                Source::FileId(id) => drop(out.key("file_id").str(id)),
                source => {
                    out.key("file_data");
                    if !write_address(source, out) {
                        return cannot("this document");
                    }
                }
            }
            match &media.name {
                Some(name) => drop(out.key("filename").str(name)),
                None if !own => drop(out.key("filename").text("document.pdf")),
                None => {}
            }
            out.end_object();
        }
    }
    write_cache_mark(out, media.cache.filter(|_| own));
    if own {
        out.extra(&media.extra);
    }
    out.end_object();
    Ok(())
}

/// An address or a data address; false if the bytes are neither there nor at an address.
pub(in crate::wire) fn write_address(source: &Source<'_>, out: &mut JsonWriter) -> bool {
    match source {
        Source::Url { url, .. } => drop(out.str(url)),
        Source::Base64 { mime, data } => {
            let head = match mime {
                Some(mime) => format!("data:{};base64,", mime.decode()),
                None => "data:application/octet-stream;base64,".to_owned(),
            };
            out.texts([&head.into(), data].into_iter());
        }
        _ => {
            out.null();
            return false;
        }
    }
    true
}
