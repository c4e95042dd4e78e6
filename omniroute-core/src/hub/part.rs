//! What a message is made of.

use super::value::{Extra, Json, Str};

/// A piece of a message.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Part<'d> {
    /// Text.
    Text(Text<'d>),
    /// The model declines, in words.
    Refusal(Text<'d>),
    /// An image, sound, video or file.
    Media(Media<'d>),
    /// The model calls a tool.
    Call(Call<'d>),
    /// A tool's answer.
    Result(Answer<'d>),
    /// Reasoning, signed or not.
    Thought(Thought<'d>),
    /// A block that has no meaning on another wire.
    Opaque(Opaque<'d>),
}

/// A text block.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Text<'d> {
    /// The text.
    pub text: Str<'d>,
    /// Where it was taken from.
    pub citations: Vec<Citation<'d>>,
    /// Token probabilities, as the wire writes them.
    pub logprobs: Option<Json<'d>>,
    /// Everything up to here may be cached.
    pub cache: Option<CacheMark>,
    /// A signature that stands on this block.
    pub seal: Option<Seal<'d>>,
    /// Members not modelled.
    pub extra: Extra<'d>,
}

/// A source of a text.
#[derive(Debug, Clone, PartialEq)]
pub struct Citation<'d> {
    /// Address.
    pub url: Option<Str<'d>>,
    /// Title.
    pub title: Option<Str<'d>>,
    /// The words that were cited.
    pub cited: Option<Str<'d>>,
    /// First character of the citing text.
    pub start: Option<u64>,
    /// Character after the citing text.
    pub end: Option<u64>,
    /// As its wire wrote it.
    pub raw: Json<'d>,
}

/// How long a provider should keep what stands before a mark.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum CacheMark {
    /// As long as the provider likes.
    Default,
    /// Five minutes.
    FiveMinutes,
    /// Thirty minutes.
    ThirtyMinutes,
    /// One hour.
    OneHour,
}

impl CacheMark {
    /// The mark with this time to live: `5m`, `30m`, `1h`.
    pub fn of(ttl: Option<&str>) -> Option<CacheMark> {
        match ttl {
            None => Some(CacheMark::Default),
            Some("5m") => Some(CacheMark::FiveMinutes),
            Some("30m") => Some(CacheMark::ThirtyMinutes),
            Some("1h") => Some(CacheMark::OneHour),
            Some(_) => None,
        }
    }

    /// Its time to live as wires write it.
    pub fn ttl(self) -> Option<&'static str> {
        match self {
            CacheMark::Default => None,
            CacheMark::FiveMinutes => Some("5m"),
            CacheMark::ThirtyMinutes => Some("30m"),
            CacheMark::OneHour => Some("1h"),
        }
    }
}

/// Which sort of media.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum MediaKind {
    /// A picture.
    Image,
    /// Sound.
    Audio,
    /// Moving pictures.
    Video,
    /// A document or any other file.
    File,
}

/// An image, sound, video or file.
#[derive(Debug, Clone, PartialEq)]
pub struct Media<'d> {
    /// Which sort.
    pub kind: MediaKind,
    /// Where its bytes are.
    pub source: Source<'d>,
    /// How closely to look (`low`, `high`, `auto`).
    pub detail: Option<Str<'d>>,
    /// File name or title.
    pub name: Option<Str<'d>>,
    /// What the document is about, for the model.
    pub context: Option<Str<'d>>,
    /// Whether the model should cite from it.
    pub cite: Option<bool>,
    /// Everything up to here may be cached.
    pub cache: Option<CacheMark>,
    /// Members not modelled.
    pub extra: Extra<'d>,
}

impl<'d> Media<'d> {
    /// Media without anything but its bytes.
    pub fn new(kind: MediaKind, source: Source<'d>) -> Self {
        Media {
            kind,
            source,
            detail: None,
            name: None,
            context: None,
            cite: None,
            cache: None,
            extra: Vec::new(),
        }
    }
}

/// Where the bytes of media are.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Source<'d> {
    /// In the request, base64.
    Base64 {
        /// Media type, for instance `image/png`.
        mime: Option<Str<'d>>,
        /// The bytes.
        data: Str<'d>,
    },
    /// At an address.
    Url {
        /// The address.
        url: Str<'d>,
        /// Media type, if told.
        mime: Option<Str<'d>>,
    },
    /// Kept by the provider.
    FileId(Str<'d>),
    /// Plain text that stands for a file.
    Text(Str<'d>),
    /// Something only its own wire understands.
    Raw(Json<'d>),
}

/// A call of a tool.
#[derive(Debug, Clone, PartialEq)]
pub struct Call<'d> {
    /// Links the call to its result; empty where a wire has no ids.
    pub id: Str<'d>,
    /// Name of the tool.
    pub name: Str<'d>,
    /// What it is called with.
    pub arguments: Arguments<'d>,
    /// Who runs it.
    pub kind: CallKind,
    /// The id of the item that holds the call, where it has one of its own.
    pub item: Option<Str<'d>>,
    /// State of the item that holds the call.
    pub status: Option<Str<'d>>,
    /// A signature that stands on the call.
    pub seal: Option<Seal<'d>>,
    /// Everything up to here may be cached.
    pub cache: Option<CacheMark>,
    /// Members not modelled.
    pub extra: Extra<'d>,
}

impl<'d> Call<'d> {
    /// A function call with nothing else.
    pub fn new(id: Str<'d>, name: Str<'d>, arguments: Arguments<'d>) -> Self {
        Call {
            id,
            name,
            arguments,
            kind: CallKind::Function,
            item: None,
            status: None,
            seal: None,
            cache: None,
            extra: Vec::new(),
        }
    }
}

/// Who runs a tool and how it takes its input.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum CallKind {
    /// The client, with a JSON object.
    Function,
    /// The client, with free text.
    Custom,
    /// The client, with the one function that old clients know (`function_call`).
    Legacy,
}

/// Arguments of a call, in the form the wire gives them.
#[derive(Debug, Clone, PartialEq)]
pub enum Arguments<'d> {
    /// Text that should hold a JSON object; kept as written.
    Text(Str<'d>),
    /// A JSON value.
    Json(Json<'d>),
    /// Free text, as custom tools take it.
    Free(Str<'d>),
}

/// A tool's answer.
#[derive(Debug, Clone, PartialEq)]
pub struct Answer<'d> {
    /// The call it answers.
    pub id: Str<'d>,
    /// Name of the tool, where the wire repeats it.
    pub name: Option<Str<'d>>,
    /// What came back.
    pub parts: Vec<Part<'d>>,
    /// Whether the wire gave plain text instead of a list.
    pub plain: bool,
    /// An object instead of text, as some wires give it.
    pub value: Option<Json<'d>>,
    /// Whether the tool failed, if the wire says.
    pub error: Option<bool>,
    /// How the call took its input.
    pub kind: CallKind,
    /// The id of the item that holds the result.
    pub item: Option<Str<'d>>,
    /// State of the item that holds the result.
    pub status: Option<Str<'d>>,
    /// Everything up to here may be cached.
    pub cache: Option<CacheMark>,
    /// Members not modelled.
    pub extra: Extra<'d>,
}

impl<'d> Answer<'d> {
    /// The answer `parts` to the call `id`.
    pub fn new(id: Str<'d>, parts: Vec<Part<'d>>) -> Self {
        Answer {
            id,
            name: None,
            parts,
            plain: false,
            value: None,
            error: None,
            kind: CallKind::Function,
            item: None,
            status: None,
            cache: None,
            extra: Vec::new(),
        }
    }
}

/// Reasoning of a model.
#[derive(Debug, Clone, PartialEq)]
pub struct Thought<'d> {
    /// Readable text; several for the paragraphs of a summary.
    pub text: Vec<Str<'d>>,
    /// Whether the text is a summary of what was thought.
    pub summary: bool,
    /// What proves to the model that the thought is its own.
    pub seal: Option<Seal<'d>>,
    /// How the source spells it.
    pub spelling: Spelling,
    /// Whether the same words stand in another thought of the message; only the own wire repeats them.
    pub copy: bool,
    /// The id of the item or entry that holds it.
    pub item: Option<Str<'d>>,
    /// State of the item that holds it.
    pub status: Option<Str<'d>>,
    /// Members not modelled.
    pub extra: Extra<'d>,
}

impl<'d> Thought<'d> {
    /// A thought in readable words.
    pub fn new(text: Str<'d>, spelling: Spelling) -> Self {
        Thought {
            text: vec![text],
            summary: false,
            seal: None,
            spelling,
            copy: false,
            item: None,
            status: None,
            extra: Vec::new(),
        }
    }

    /// Whether nobody but its vendor can read it.
    pub fn is_redacted(&self) -> bool {
        let silent = self.text.iter().all(Str::is_empty);
        self.spelling == Spelling::Redacted || (self.spelling == Spelling::Details && silent)
    }
}

/// How a wire spells reasoning.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Spelling {
    /// `reasoning_content` of a message.
    Content,
    /// `reasoning` of a message.
    Reasoning,
    /// An entry of `reasoning_details`.
    Details,
    /// A block of its own that can be read.
    Block,
    /// A block of its own that cannot be read.
    Redacted,
    /// A plan before calls.
    Plan,
}

/// A signature or encrypted state that only its issuer understands. Never made up, changed or moved.
#[derive(Debug, Clone, PartialEq)]
pub struct Seal<'d> {
    /// Who made it.
    pub issuer: Issuer,
    /// The bytes as they came.
    pub data: Str<'d>,
}

/// Which family of models made a seal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Issuer {
    /// Claude models.
    Anthropic,
    /// Gemini models.
    Gemini,
    /// OpenAI models.
    OpenAi,
    /// Somebody else, or not told.
    Unknown,
}

impl Issuer {
    /// Name in envelopes and diagnostics.
    pub fn name(self) -> &'static str {
        match self {
            Issuer::Anthropic => "anthropic",
            Issuer::Gemini => "gemini",
            Issuer::OpenAi => "openai",
            Issuer::Unknown => "unknown",
        }
    }

    /// The family with this name.
    pub fn of(name: &str) -> Issuer {
        match name {
            "anthropic" => Issuer::Anthropic,
            "gemini" => Issuer::Gemini,
            "openai" => Issuer::OpenAi,
            _ => Issuer::Unknown,
        }
    }
}

/// A block that only its own wire understands.
#[derive(Debug, Clone, PartialEq)]
pub struct Opaque<'d> {
    /// The wire it came from.
    pub wire: &'static str,
    /// The block.
    pub raw: Json<'d>,
    /// What is lost without it.
    pub weight: Weight,
}

/// What is lost when an opaque block cannot be carried over.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Weight {
    /// It defines tools, instructions or results, or nobody knows: a target that cannot take it is incapable.
    Meaning,
    /// A remark is enough.
    Remark,
}

impl Default for Str<'_> {
    fn default() -> Self {
        Str::from("")
    }
}
