//! The same things without the document they were read from.

use super::part::{Answer, Arguments, Call, Citation, Media, Opaque, Part, Seal, Source, Text, Thought};
use super::reply::{Choice, Reply, Stop};
use super::request::Turn;
use super::value::{Json, Str, own_extra};

impl Part<'_> {
    /// The same part without the document.
    pub fn into_owned(self) -> Part<'static> {
        match self {
            Part::Text(t) => Part::Text(t.into_owned()),
            Part::Refusal(t) => Part::Refusal(t.into_owned()),
            Part::Media(m) => Part::Media(Media {
                kind: m.kind,
                source: m.source.into_owned(),
                detail: m.detail.map(Str::into_owned),
                name: m.name.map(Str::into_owned),
                context: m.context.map(Str::into_owned),
                cite: m.cite,
                cache: m.cache,
                extra: own_extra(m.extra),
            }),
            Part::Call(c) => Part::Call(c.into_owned()),
            Part::Result(r) => Part::Result(Answer {
                id: r.id.into_owned(),
                name: r.name.map(Str::into_owned),
                parts: r.parts.into_iter().map(Part::into_owned).collect(),
                plain: r.plain,
                value: r.value.map(Json::into_owned),
                error: r.error,
                kind: r.kind,
                item: r.item.map(Str::into_owned),
                status: r.status.map(Str::into_owned),
                cache: r.cache,
                extra: own_extra(r.extra),
            }),
            Part::Thought(t) => Part::Thought(t.into_owned()),
            Part::Opaque(o) => {
                Part::Opaque(Opaque { wire: o.wire, raw: o.raw.into_owned(), weight: o.weight })
            }
        }
    }
}

impl Text<'_> {
    /// The same text without the document.
    pub fn into_owned(self) -> Text<'static> {
        Text {
            text: self.text.into_owned(),
            citations: self.citations.into_iter().map(Citation::into_owned).collect(),
            logprobs: self.logprobs.map(Json::into_owned),
            cache: self.cache,
            seal: self.seal.map(Seal::into_owned),
            extra: own_extra(self.extra),
        }
    }
}

impl Citation<'_> {
    /// The same citation without the document.
    pub fn into_owned(self) -> Citation<'static> {
        Citation {
            url: self.url.map(Str::into_owned),
            title: self.title.map(Str::into_owned),
            cited: self.cited.map(Str::into_owned),
            start: self.start,
            end: self.end,
            raw: self.raw.into_owned(),
        }
    }
}

impl Source<'_> {
    /// The same source without the document.
    pub fn into_owned(self) -> Source<'static> {
        match self {
            Source::Base64 { mime, data } => {
                Source::Base64 { mime: mime.map(Str::into_owned), data: data.into_owned() }
            }
            Source::Url { url, mime } => {
                Source::Url { url: url.into_owned(), mime: mime.map(Str::into_owned) }
            }
            Source::FileId(id) => Source::FileId(id.into_owned()),
            Source::Text(text) => Source::Text(text.into_owned()),
            Source::Raw(raw) => Source::Raw(raw.into_owned()),
        }
    }
}

impl Call<'_> {
    /// The same call without the document.
    pub fn into_owned(self) -> Call<'static> {
        Call {
            id: self.id.into_owned(),
            name: self.name.into_owned(),
            arguments: match self.arguments {
                Arguments::Text(t) => Arguments::Text(t.into_owned()),
                Arguments::Json(j) => Arguments::Json(j.into_owned()),
                Arguments::Free(t) => Arguments::Free(t.into_owned()),
            },
            kind: self.kind,
            item: self.item.map(Str::into_owned),
            status: self.status.map(Str::into_owned),
            seal: self.seal.map(Seal::into_owned),
            cache: self.cache,
            extra: own_extra(self.extra),
        }
    }
}

impl Thought<'_> {
    /// The same thought without the document.
    pub fn into_owned(self) -> Thought<'static> {
        Thought {
            text: self.text.into_iter().map(Str::into_owned).collect(),
            summary: self.summary,
            seal: self.seal.map(Seal::into_owned),
            spelling: self.spelling,
            copy: self.copy,
            item: self.item.map(Str::into_owned),
            status: self.status.map(Str::into_owned),
            extra: own_extra(self.extra),
        }
    }
}

impl Seal<'_> {
    /// The same seal without the document.
    pub fn into_owned(self) -> Seal<'static> {
        Seal { issuer: self.issuer, data: self.data.into_owned() }
    }
}

impl Turn<'_> {
    /// The same turn without the document.
    pub fn into_owned(self) -> Turn<'static> {
        Turn {
            role: self.role,
            parts: self.parts.into_iter().map(Part::into_owned).collect(),
            plain: self.plain,
            item: self.item,
            id: self.id.map(Str::into_owned),
            name: self.name.map(Str::into_owned),
            status: self.status.map(Str::into_owned),
            extra: own_extra(self.extra),
        }
    }
}

impl Stop<'_> {
    /// The same stop without the document.
    pub fn into_owned(self) -> Stop<'static> {
        Stop {
            reason: self.reason,
            raw: self.raw.map(Str::into_owned),
            sequence: self.sequence.map(Str::into_owned),
            extra: own_extra(self.extra),
        }
    }
}

impl Reply<'_> {
    /// The same reply without the document.
    pub fn into_owned(self) -> Reply<'static> {
        Reply {
            wire: self.wire,
            id: self.id.map(Str::into_owned),
            model: self.model.map(Str::into_owned),
            created: self.created.map(Json::into_owned),
            choices: self.choices.into_iter().map(Choice::into_owned).collect(),
            usage: self.usage,
            tier: self.tier.map(Str::into_owned),
            extra: own_extra(self.extra),
        }
    }
}

impl Choice<'_> {
    /// The same choice without the document.
    pub fn into_owned(self) -> Choice<'static> {
        Choice {
            index: self.index,
            turn: self.turn.into_owned(),
            stop: self.stop.map(Stop::into_owned),
            logprobs: self.logprobs.map(Json::into_owned),
            extra: own_extra(self.extra),
        }
    }
}
