//! A stream: what happens while a model answers.

use bytes::Bytes;

use super::error::ErrorBody;
use super::part::{CallKind, Citation, Part, Seal, Spelling};
use super::reply::{Stop, Usage};
use super::value::{Extra, Json};

/// One piece of a stream: the bytes as they came and what they say.
///
/// A target on the same wire is sent `raw`; every byte of the stream is in exactly one item.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct StreamItem {
    /// The bytes, framing included.
    pub raw: Bytes,
    /// What they say; empty for comments and for what means nothing elsewhere.
    pub events: Vec<Event>,
}

/// Something that happens in a stream. [`super::EventLaw`] says in which order.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Event {
    /// The answer begins.
    Start(Start),
    /// A part begins.
    PartStart {
        /// Number of the choice.
        choice: u32,
        /// Number of the part, from 0, without gaps.
        part: u32,
        /// What begins.
        kind: PartKind,
    },
    /// More of an open part.
    Delta {
        /// Number of the choice.
        choice: u32,
        /// Number of the part.
        part: u32,
        /// What is added.
        delta: Delta,
    },
    /// A part is complete.
    PartEnd {
        /// Number of the choice.
        choice: u32,
        /// Number of the part.
        part: u32,
    },
    /// Why a choice ended.
    Stop {
        /// Number of the choice.
        choice: u32,
        /// The reason.
        stop: Stop<'static>,
    },
    /// Tokens so far; a later one replaces an earlier one.
    Usage(Usage),
    /// A sign of life.
    Ping,
    /// A member that no event models; belongs to the stream's wire.
    Extra {
        /// The choice it stands in, or nothing for the whole answer.
        choice: Option<u32>,
        /// Its name.
        key: String,
        /// Its value.
        value: Json<'static>,
    },
    /// The end, and all is well.
    Finish,
    /// The end, and it is not.
    Error(ErrorBody),
}

/// What is known when an answer begins.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Start {
    /// The provider's name for the answer.
    pub id: Option<String>,
    /// The model that answers.
    pub model: Option<String>,
    /// When, as the wire writes it.
    pub created: Option<Json<'static>>,
    /// Members not modelled; belong to the stream's wire.
    pub extra: Extra<'static>,
}

/// What sort of part begins.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum PartKind {
    /// Text.
    Text,
    /// The model declines.
    Refusal,
    /// Reasoning.
    Thought {
        /// Whether it is a summary.
        summary: bool,
        /// How the source spells it.
        spelling: Spelling,
        /// Id of the item.
        item: Option<String>,
    },
    /// A call. Its arguments follow as text.
    Call {
        /// The final id; never empty once a reader has seen one.
        id: String,
        /// The name, never empty.
        name: String,
        /// How it takes its input.
        kind: CallKind,
        /// Id of the item.
        item: Option<String>,
        /// A signature on the call.
        seal: Option<Seal<'static>>,
    },
    /// A part that comes as a whole: media and blocks of one wire.
    Whole(Box<Part<'static>>),
}

/// What is added to an open part.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Delta {
    /// Characters: of a text, a refusal, a thought, or of a call's arguments.
    Text(String),
    /// Another paragraph of a summary begins.
    Paragraph,
    /// A signature of the part.
    Seal(Seal<'static>),
    /// A source of the text.
    Citation(Box<Citation<'static>>),
    /// Token probabilities, as the wire writes them.
    Logprobs(Json<'static>),
}
