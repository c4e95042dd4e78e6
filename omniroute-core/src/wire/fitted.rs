//! A request of another wire made ready for a target before it is written: names of tools that it takes, no more
//! cache marks than it takes, and media that it will be able to read.

use std::borrow::Cow;

use super::json::JsonWriter;
use super::names::{NameRule, ToolNames};
use super::{WireError, Written, base64};
use crate::diagnostic::Diagnostic;
use crate::hub::{CacheMark, Media, MediaKind, Part, Request, Source, Tool, ToolChoice, ToolKind, Turn};

/// Most bytes of one image: 20 MiB.
const MAX_IMAGE: usize = 20 << 20;

/// What a target takes. The default takes everything.
#[derive(Debug, Clone, Copy)]
pub struct Takes {
    /// Names of tools; `None` takes any.
    pub names: Option<&'static NameRule>,
    /// Media types of images; empty takes any.
    pub images: &'static [&'static str],
    /// Most cache marks; `None` takes any number.
    pub marks: Option<usize>,
    /// Longest body, in bytes.
    pub body: usize,
}

impl Takes {
    /// A target that takes everything, in bodies of at most 100 MiB.
    pub const ALL: Takes = Takes { names: None, images: &[], marks: None, body: 100 << 20 };

    /// The request as this target takes it, borrowed if it is already, and what its tools are called there.
    ///
    /// # Behavior
    /// - A request of the target's own wire is not looked at: it goes as it is.
    /// - Tools that are declared twice with the same words are sent once.
    ///
    /// # Errors
    /// [`WireError::Invalid`] `duplicate_tool`, `invalid_base64` or `media_too_large`; [`WireError::Incapable`]
    /// `unsupported_media_type`.
    pub fn fit<'r, 'd>(
        &self,
        request: &'r Request<'d>,
        own: bool,
        notes: &mut Vec<Diagnostic>,
    ) -> Result<(Cow<'r, Request<'d>>, ToolNames), WireError> {
        let mut request = Cow::Borrowed(request);
        if own {
            return Ok((request, ToolNames::default()));
        }
        tools(&mut request, notes)?;
        self.media(&mut request, notes)?;
        if let Some(most) = self.marks.filter(|most| marks(&request) > *most) {
            fewer_marks(request.to_mut(), most);
            let action = format!("the last {most} marks are sent: the target takes no more");
            notes.push(Diagnostic::new("cache_mark_dropped", "/messages", action));
        }
        let names = match self.names {
            Some(rule) => ToolNames::fit(rule, called(&request)),
            None => ToolNames::default(),
        };
        if !names.is_plain() {
            rename(request.to_mut(), &names);
            let action = "names of tools that the target does not take are sent in another form";
            notes.push(Diagnostic::new("tool_name_changed", "/tools", action));
        }
        Ok((request, names))
    }

    /// The body that was written, unless the target takes none that long.
    ///
    /// # Errors
    /// [`WireError::Incapable`] `request_too_large`.
    pub fn written(
        &self,
        out: JsonWriter,
        notes: Vec<Diagnostic>,
        names: ToolNames,
    ) -> Result<Written, WireError> {
        let body = out.finish();
        if body.len() > self.body {
            let message =
                format!("the request has {} bytes; the target takes {} at most", body.len(), self.body);
            return Err(WireError::incapable("request_too_large", "", message));
        }
        Ok(Written { names, ..Written::new(body, notes) })
    }

    fn media(
        &self,
        request: &mut Cow<'_, Request<'_>>,
        notes: &mut Vec<Diagnostic>,
    ) -> Result<(), WireError> {
        let mut mended = Vec::new();
        for (at, turn) in request.turns.iter().enumerate() {
            for (index, part) in turn.parts.iter().enumerate() {
                let pointer = || format!("/messages/{at}/content/{index}");
                match part {
                    Part::Media(media) => {
                        mended.extend(self.medium(media, pointer)?.map(|new| (at, index, None, new)));
                    }
                    Part::Result(answer) => {
                        for (inner, part) in answer.parts.iter().enumerate() {
                            let Part::Media(media) = part else { continue };
                            let new = self.medium(media, pointer)?;
                            mended.extend(new.map(|new| (at, index, Some(inner), new)));
                        }
                    }
                    _ => {}
                }
            }
        }
        for (at, index, inner, new) in mended {
            let action = format!("its bytes are {}; it is sent as that", new.mime);
            notes.push(Diagnostic::new(new.code, format!("/messages/{at}/content/{index}"), action));
            let part = request.to_mut().turns.get_mut(at).and_then(|turn| turn.parts.get_mut(index));
            let part = match (part, inner) {
                (Some(Part::Result(answer)), Some(inner)) => answer.parts.get_mut(inner),
                (part, _) => part,
            };
            if let Some(Part::Media(Media { source: Source::Base64 { mime, data }, .. })) = part {
                *mime = Some(new.mime.into());
                if let Some(clean) = new.data {
                    *data = clean.into();
                }
            }
        }
        Ok(())
    }

    /// What has to be changed about bytes in a request.
    fn medium(&self, media: &Media<'_>, pointer: impl Fn() -> String) -> Result<Option<Mended>, WireError> {
        let Source::Base64 { mime, data } = &media.source else { return Ok(None) };
        let data = data.decode();
        let Some(size) = base64::size(&data) else {
            let message =
                "the bytes of the media are no base64: letters, digits, \"+\" and \"/\", padded with \"=\"";
            return Err(WireError::invalid("invalid_base64", pointer(), message));
        };
        if media.kind == MediaKind::Image && size > MAX_IMAGE {
            let message = format!("the image has {size} bytes; at most {MAX_IMAGE} are sent");
            return Err(WireError::invalid("media_too_large", pointer(), message));
        }
        let told = mime.as_ref().map(|m| usual(&m.decode()));
        let found = base64::head(&data).and_then(|head| sniff(&head)).filter(|f| is_sort(media.kind, f));
        let sent = found.map(Cow::Borrowed).or_else(|| told.clone());
        if let (MediaKind::Image, Some(sent)) = (media.kind, &sent)
            && !self.images.is_empty()
            && !self.images.contains(&sent.as_ref())
        {
            let message = format!("the target takes no images of type \"{sent}\"");
            return Err(WireError::incapable("unsupported_media_type", pointer(), message));
        }
        let wrong = found.filter(|found| told.as_deref() != Some(found));
        let clean = data.bytes().any(|b| b.is_ascii_whitespace()).then(|| base64::clean(&data));
        Ok(match (wrong, clean, sent) {
            (None, None, _) | (None, _, None) => None,
            (None, data, Some(sent)) => Some(Mended { code: "media_cleaned", mime: sent.into_owned(), data }),
            (Some(found), data, _) => {
                // Nothing told is nothing wrong.
                let code = if told.is_some() { "media_type_corrected" } else { "media_type_found" };
                Some(Mended { code, mime: found.to_owned(), data })
            }
        })
    }
}

struct Mended {
    code: &'static str,
    mime: String,
    data: Option<String>,
}

/// One spelling of types that have several.
fn usual(mime: &str) -> Cow<'static, str> {
    Cow::Borrowed(match mime {
        "image/jpg" => "image/jpeg",
        "image/heif" => "image/heic",
        "audio/mp3" => "audio/mpeg",
        "audio/x-wav" | "audio/wave" => "audio/wav",
        other => return Cow::Owned(other.to_owned()),
    })
}

fn is_sort(kind: MediaKind, mime: &str) -> bool {
    match kind {
        MediaKind::Image => mime.starts_with("image/"),
        MediaKind::Audio => mime.starts_with("audio/"),
        MediaKind::File => mime == "application/pdf",
        MediaKind::Video => false,
    }
}

/// What the first bytes say.
fn sniff(head: &[u8]) -> Option<&'static str> {
    let inner = |tag: &[u8]| head.get(8..12) == Some(tag);
    Some(match head {
        [0x89, b'P', b'N', b'G', ..] => "image/png",
        [0xFF, 0xD8, 0xFF, ..] => "image/jpeg",
        [b'G', b'I', b'F', b'8', ..] => "image/gif",
        [b'R', b'I', b'F', b'F', ..] if inner(b"WEBP") => "image/webp",
        [b'R', b'I', b'F', b'F', ..] if inner(b"WAVE") => "audio/wav",
        [_, _, _, _, b'f', b't', b'y', b'p', ..] if inner(b"heic") || inner(b"heix") || inner(b"mif1") => {
            "image/heic"
        }
        [b'%', b'P', b'D', b'F', b'-', ..] => "application/pdf",
        [b'I', b'D', b'3', ..] => "audio/mpeg",
        [b'O', b'g', b'g', b'S', ..] => "audio/ogg",
        [b'f', b'L', b'a', b'C', ..] => "audio/flac",
        _ => return None,
    })
}

fn is_clients(tool: &Tool<'_>) -> bool {
    matches!(tool.kind, ToolKind::Function | ToolKind::Custom(_))
}

fn tools(request: &mut Cow<'_, Request<'_>>, notes: &mut Vec<Diagnostic>) -> Result<(), WireError> {
    let mut again = Vec::new();
    let mut seen: std::collections::HashMap<Cow<'_, str>, &Tool<'_>> = std::collections::HashMap::new();
    for (at, tool) in request.tools.iter().enumerate().filter(|(_, t)| is_clients(t)) {
        match seen.get(&tool.name.decode()).copied() {
            None => drop(seen.insert(tool.name.decode(), tool)),
            Some(first) if Tool { cache: first.cache, ..tool.clone() } == *first => again.push(at),
            Some(_) => {
                let message = format!("two tools that differ are called \"{}\"", tool.name.decode());
                return Err(WireError::invalid("duplicate_tool", format!("/tools/{at}"), message));
            }
        }
    }
    drop(seen);
    for at in again.into_iter().rev() {
        notes.push(Diagnostic::new("duplicate_tool_removed", format!("/tools/{at}"), "sent once"));
        request.to_mut().tools.remove(at);
    }
    Ok(())
}

/// Every name of a tool that the request says, declared ones first.
fn called<'a>(request: &'a Request<'_>) -> impl Iterator<Item = Cow<'a, str>> {
    let declared = request.tools.iter().filter(|t| is_clients(t)).map(|t| t.name.decode());
    let used = request.turns.iter().flat_map(|t| &t.parts).filter_map(|part| match part {
        Part::Call(call) => Some(call.name.decode()),
        Part::Result(answer) => answer.name.as_ref().map(|name| name.decode()),
        _ => None,
    });
    declared.chain(used)
}

fn rename(request: &mut Request<'_>, names: &ToolNames) {
    let change = |name: &mut crate::hub::Str<'_>| {
        if let Some(sent) = names.sent(&name.decode()) {
            *name = sent.to_owned().into();
        }
    };
    request.tools.iter_mut().filter(|t| is_clients(t)).for_each(|tool| change(&mut tool.name));
    match &mut request.tool_choice {
        Some(ToolChoice::Named { name, .. }) => change(name),
        Some(ToolChoice::Allowed { names, .. }) => names.iter_mut().for_each(change),
        _ => {}
    }
    for part in request.turns.iter_mut().flat_map(|t| &mut t.parts) {
        match part {
            Part::Call(call) => change(&mut call.name),
            Part::Result(answer) => answer.name.iter_mut().for_each(change),
            _ => {}
        }
    }
}

fn marks(request: &Request<'_>) -> usize {
    let tools = request.tools.iter().filter(|t| t.cache.is_some()).count();
    tools + request.turns.iter().flat_map(|t| &t.parts).map(marks_of).sum::<usize>()
}

fn marks_of(part: &Part<'_>) -> usize {
    let mark = match part {
        Part::Text(text) | Part::Refusal(text) => text.cache,
        Part::Media(media) => media.cache,
        Part::Call(call) => call.cache,
        Part::Result(answer) => {
            return answer.parts.iter().map(marks_of).sum::<usize>() + usize::from(answer.cache.is_some());
        }
        _ => None,
    };
    usize::from(mark.is_some())
}

/// Keeps the last mark of the tools, the last of the instructions, and the latest of the messages.
fn fewer_marks(request: &mut Request<'_>, most: usize) {
    let mut left = most;
    keep_last(request.tools.iter_mut().rev().map(|t| &mut t.cache), 1, &mut left);
    let (system, rest): (Vec<&mut Turn<'_>>, Vec<_>) =
        request.turns.iter_mut().partition(|turn| turn.is_system());
    let of = |turns: Vec<&mut Turn<'_>>, room: usize, left: &mut usize| {
        let mut found = Vec::new();
        turns.into_iter().flat_map(|t| &mut t.parts).for_each(|part| mutable(part, &mut found));
        keep_last(found.into_iter().rev(), room, left);
    };
    of(system, 1, &mut left);
    of(rest, most, &mut left);
}

fn mutable<'a>(part: &'a mut Part<'_>, out: &mut Vec<&'a mut Option<CacheMark>>) {
    match part {
        Part::Text(text) | Part::Refusal(text) => out.push(&mut text.cache),
        Part::Media(media) => out.push(&mut media.cache),
        Part::Call(call) => out.push(&mut call.cache),
        Part::Result(answer) => {
            answer.parts.iter_mut().for_each(|part| mutable(part, out));
            out.push(&mut answer.cache);
        }
        _ => {}
    }
}

/// Of marks that come last first.
fn keep_last<'a>(marks: impl Iterator<Item = &'a mut Option<CacheMark>>, mut room: usize, left: &mut usize) {
    for mark in marks.filter(|mark| mark.is_some()) {
        if room == 0 || *left == 0 {
            *mark = None;
        } else {
            room -= 1;
            *left -= 1;
        }
    }
}
