//! Writes messages and blocks: of requests and of replies.

use omniroute_core::hub::{Answer, CacheMark, Call, Issuer, MediaKind, Part, Text, Thought, Turn};
use omniroute_core::wire::normal::is_opaque;
use omniroute_core::wire::{JsonWriter, WireError, ids};
use omniroute_core::{Doc, Role};

use super::NAME;
use super::media::write_media;
use super::order::is_sent;
use crate::wires::common::{Notes, no_part, write_input};

/// Writes blocks and counts documents.
pub(super) struct Blocks<'o> {
    pub(super) own: bool,
    /// Ids are fitted to the host in requests; a client gets them as they are.
    pub(super) fitted: bool,
    pub(super) out: &'o mut JsonWriter,
    pub(super) notes: &'o mut Notes,
    pub(super) documents: usize,
}

impl Blocks<'_> {
    pub(super) fn turn(&mut self, turn: &Turn<'_>, at: usize) -> Result<(), WireError> {
        if let (true, Some(Part::Opaque(opaque))) = (self.own && is_opaque(turn), turn.parts.first()) {
            self.out.json(&opaque.raw);
            return Ok(());
        }
        let role = if turn.role == Role::Assistant { "assistant" } else { "user" };
        self.out.object().key("role").text(role).key("content").array();
        for (index, part) in turn.parts.iter().enumerate() {
            self.part(part, &format!("/messages/{at}/content/{index}"))?;
        }
        self.out.end_array();
        if self.own {
            self.out.extra(&turn.extra);
        }
        self.out.end_object();
        Ok(())
    }

    pub(super) fn part(&mut self, part: &Part<'_>, pointer: &str) -> Result<(), WireError> {
        let mark = match part {
            Part::Text(text) | Part::Refusal(text) => {
                self.text(text);
                text.cache
            }
            Part::Call(call) => {
                self.call(call);
                call.cache
            }
            Part::Result(answer) => {
                self.result(answer, pointer)?;
                answer.cache
            }
            Part::Thought(thought) => {
                self.thought(thought);
                None
            }
            Part::Media(media) => {
                self.documents += usize::from(media.kind == MediaKind::File);
                write_media(media, self.own, self.documents, pointer, self.out)?;
                media.cache
            }
            Part::Opaque(opaque) if self.own => {
                self.out.json(&opaque.raw);
                None
            }
            _ => return Err(no_part(NAME, pointer)),
        };
        cache_point(mark, self.out);
        Ok(())
    }

    fn text(&mut self, text: &Text<'_>) {
        if self.own && !text.citations.is_empty() {
            self.out.object().key("citationsContent").object().key("content").array();
            self.out.object().key("text").str(&text.text).end_object().end_array().key("citations").array();
            text.citations.iter().for_each(|c| _ = self.out.json(&c.raw));
            self.out.end_array().end_object().end_object();
            return;
        }
        self.out.object();
        match text.extra.first() {
            // The block of a result that is a value.
            Some((key, value)) if self.own && key.is("json") => drop(self.out.key("json").json(value)),
            _ => drop(self.out.key("text").str(&text.text)),
        }
        self.out.end_object();
    }

    fn call(&mut self, call: &Call<'_>) {
        self.out.object().key("toolUse").object().key("toolUseId");
        match self.fitted {
            true => self.out.text(&ids::fit(&call.id.decode(), &ids::BEDROCK)),
            false => self.out.str(&call.id),
        };
        self.out.key("name").str(&call.name).key("input");
        write_input(call, "/messages", self.out, self.notes);
        if self.own {
            self.out.extra(&call.extra);
        }
        self.out.end_object().end_object();
    }

    fn result(&mut self, answer: &Answer<'_>, pointer: &str) -> Result<(), WireError> {
        self.out.object().key("toolResult").object().key("toolUseId");
        match self.fitted {
            true => self.out.text(&ids::fit(&answer.id.decode(), &ids::BEDROCK)),
            false => self.out.str(&answer.id),
        };
        self.out.key("content").array();
        let own = self.own;
        let sent: Vec<_> = answer.parts.iter().filter(|p| own || is_sent(p, self.notes)).collect();
        let object = if own { None } else { only_object(&sent, answer) };
        match &answer.value {
            Some(value) if own || value.raw().starts_with('{') => {
                self.out.object().key("json").json(value).end_object();
            }
            Some(value) => drop(self.out.object().key("text").text(value.raw()).end_object()),
            None if sent.is_empty() && !own => {
                self.out.object().key("text").text("(no output)").end_object();
            }
            None => {
                if let Some(object) = &object {
                    self.out.object().key("json").raw(object).end_object();
                }
            }
        }
        for part in sent.into_iter().filter(|_| answer.value.is_none() && object.is_none()) {
            match part {
                Part::Text(text) | Part::Refusal(text) => self.text(text),
                Part::Media(media) => {
                    self.documents += usize::from(media.kind == MediaKind::File);
                    write_media(media, own, self.documents, pointer, self.out)?;
                }
                Part::Opaque(opaque) if own => drop(self.out.json(&opaque.raw)),
                _ => return Err(no_part(NAME, pointer)),
            }
        }
        self.out.end_array();
        match answer.error {
            Some(true) => drop(self.out.key("status").text("error")),
            Some(false) if own => drop(self.out.key("status").text("success")),
            _ => {}
        }
        if own {
            self.out.extra(&answer.extra);
        }
        self.out.end_object().end_object();
        Ok(())
    }

    fn thought(&mut self, thought: &Thought<'_>) {
        self.out.object().key("reasoningContent").object();
        // A seal goes to its issuer only.
        let seal =
            thought.seal.as_ref().filter(|s| self.own || s.issuer == Issuer::Anthropic).map(|s| &s.data);
        if let (true, Some(data)) = (thought.is_redacted(), seal) {
            self.out.key("redactedContent").str(data);
        } else {
            self.out.key("reasoningText").object().key("text").texts(thought.text.iter());
            self.out.opt_str("signature", seal);
            if self.own {
                self.out.extra(&thought.extra);
            }
            self.out.end_object();
        }
        self.out.end_object().end_object();
    }
}

/// Marks what stands before it.
pub(super) fn cache_point(mark: Option<CacheMark>, out: &mut JsonWriter) {
    let Some(mark) = mark else { return };
    out.object().key("cachePoint").object().key("type").text("default");
    // Half an hour is a time of another vendor.
    if let Some(ttl) = mark.ttl().filter(|_| mark != CacheMark::ThirtyMinutes) {
        out.key("ttl").text(ttl);
    }
    out.end_object().end_object();
}

/// A result that is one text and says one JSON object: this wire has a form of its own for it.
fn only_object(sent: &[&Part<'_>], answer: &Answer<'_>) -> Option<String> {
    let [Part::Text(text)] = sent else { return None };
    let words = text.text.decode();
    let is_object = words.starts_with('{') && words.ends_with('}') && Doc::check(&words).is_ok();
    let plain = text.cache.is_none() && answer.error != Some(true) && answer.value.is_none();
    (is_object && plain).then(|| words.into_owned())
}
