//! Wire formats: how each vendor writes a chat request.
//!
//! A wire is one file here and one line in [`WIRES`]. Reading is liberal about what it does not know
//! (it becomes opaque) and strict about what decides the meaning of a request: its messages, roles and
//! contents, each given once.

mod anthropic;
mod base64;
pub mod common;
pub mod effort;
mod error;
pub mod fields;
pub mod fitted;
pub mod frame;
mod gemini;
pub mod ids;
mod json;
pub mod lost;
pub mod names;
pub mod normal;
mod openai_chat;
mod openai_responses;
mod params;
pub mod read;
pub mod schema;
mod seal;
mod sink;
mod stream;
mod translate;

use bytes::Bytes;

use crate::conversation::{Conversation, Head};
use crate::diagnostic::Diagnostic;
use crate::doc::{Doc, DocError};
use crate::hub::{ErrorBody, Reply, Request, WriteContext};

pub use error::WireError;
pub use json::{JsonWriter, object_of};
pub use lost::foreign_extras;
pub use names::ToolNames;
pub use params::{Fate, ParamTable};
pub use sink::Sink;
pub use stream::{Decoder, SseReader, StreamReader, StreamWriter};
pub use translate::translate;

/// A wire format. Compare by [`WireFormat::id`].
pub type Wire = &'static dyn WireFormat;

/// What was read, and what was noticed.
#[derive(Debug, Clone)]
pub struct Read<T> {
    /// What was read.
    pub value: T,
    /// What was noticed.
    pub notes: Vec<Diagnostic>,
}

impl<T> Read<T> {
    /// Nothing was noticed.
    pub fn clean(value: T) -> Self {
        Read { value, notes: Vec::new() }
    }
}

/// A body, and what was lost or changed on the way.
#[derive(Debug, Clone, PartialEq)]
pub struct Written {
    /// The body.
    pub body: Bytes,
    /// What was lost or changed.
    pub notes: Vec<Diagnostic>,
    /// What the tools are called in the body. The calls of the answer have to be given their own names again.
    pub names: ToolNames,
    /// Whether the stream's usage is asked for although the client did not ask.
    pub asked_usage: bool,
}

impl Written {
    /// A body, and what was lost or changed.
    pub fn new(body: impl Into<Bytes>, notes: Vec<Diagnostic>) -> Self {
        Written { body: body.into(), notes, names: ToolNames::default(), asked_usage: false }
    }

    /// Reads the stream that answers this body: calls have the names that the client knows, and usage that the client
    /// did not ask for has no bytes.
    pub fn stream_reader(&self, target: Wire) -> Option<Box<dyn StreamReader>> {
        let inner = target.stream_reader()?;
        let (names, hide_usage) = (self.names.clone(), self.asked_usage);
        Some(Box::new(names::Restored { inner, names, hide_usage }))
    }
}

/// How one vendor writes requests, replies, streams and errors.
pub trait WireFormat: Send + Sync + std::fmt::Debug + 'static {
    /// Stable name, for instance `"openai-chat"`.
    fn id(&self) -> &'static str;

    /// Other names users may write.
    fn aliases(&self) -> &'static [&'static str];

    /// Whether the top level of `doc` looks like this wire, well formed or not. Asked in the order of [`WIRES`].
    fn claims(&self, doc: &Doc) -> bool;

    /// Model, stream flag and output limit, without reading the messages.
    fn head<'d>(&self, doc: &'d Doc) -> Head<'d>;

    /// Reads the request.
    ///
    /// # Behavior
    /// - Borrows from `doc`; decodes nothing.
    /// - Unknown blocks become [`crate::Part::Opaque`], unknown top-level members go to `extra`.
    ///
    /// # Errors
    /// [`DocError`] with [`crate::Rule::Shape`] or [`crate::Rule::DuplicateKey`] and the place.
    fn read<'d>(&self, doc: &'d Doc) -> Result<Conversation<'d>, DocError>;

    /// Reads everything a request says.
    ///
    /// # Behavior
    /// - Borrows from `doc`.
    /// - What no type models goes to the extras of its owner; a block nobody knows becomes opaque.
    ///
    /// # Errors
    /// [`WireError::Shape`] if the body is no request of this wire.
    fn read_request<'d>(&self, doc: &'d Doc) -> Result<Read<Request<'d>>, WireError> {
        let _ = doc;
        Err(self.cannot("read requests"))
    }

    /// Writes a request that was read from any wire.
    ///
    /// # Behavior
    /// - What the wire cannot say is left out with a diagnostic, or makes the target incapable: the matrix says which.
    /// - The same turns give the same bytes whatever follows them.
    ///
    /// # Errors
    /// [`WireError::Incapable`] if this target cannot serve the request, [`WireError::Invalid`] if nobody can.
    fn write(&self, request: &Request<'_>, cx: &WriteContext) -> Result<Written, WireError> {
        let _ = (request, cx);
        Err(self.cannot("write requests"))
    }

    /// Reads a whole reply.
    ///
    /// # Errors
    /// [`WireError::Shape`] if the body is no reply of this wire, [`WireError::Vendor`] if it holds an error or no
    /// content at all.
    fn read_reply<'d>(&self, doc: &'d Doc) -> Result<Read<Reply<'d>>, WireError> {
        let _ = doc;
        Err(self.cannot("read replies"))
    }

    /// Writes a reply that was read from any wire.
    ///
    /// # Errors
    /// [`WireError::Unsupported`] if no client speaks this wire.
    fn write_reply(&self, reply: &Reply<'_>, cx: &WriteContext) -> Result<Written, WireError> {
        let _ = (reply, cx);
        Err(self.cannot("write replies"))
    }

    /// Reads the body of a failed call. Never fails: what cannot be read is text.
    fn read_error(&self, status: u16, body: &[u8]) -> ErrorBody {
        read::error_body(status, body)
    }

    /// Writes an error for a client of this wire.
    fn write_error(&self, error: &ErrorBody) -> Bytes {
        read::write_plain_error(error)
    }

    /// Reads streams of this wire; `None` if it has none.
    fn stream_reader(&self) -> Option<Box<dyn StreamReader>> {
        None
    }

    /// Writes streams of this wire; `None` if no client speaks it.
    fn stream_writer(&self, cx: &WriteContext) -> Option<Box<dyn StreamWriter>> {
        let _ = cx;
        None
    }

    /// Says that the wire does not do something.
    fn cannot(&self, what: &'static str) -> WireError {
        WireError::Unsupported { wire: self.id(), what }
    }
}

/// What every wire can say, and what becomes of a field that another wire cannot say: one row a field, tab-separated.
/// The head of the file explains it.
pub const MATRIX: &str = include_str!("matrix.tsv");

/// OpenAI chat completions.
pub const OPENAI_CHAT: Wire = &openai_chat::OpenAiChat;
/// OpenAI Responses.
pub const OPENAI_RESPONSES: Wire = &openai_responses::OpenAiResponses;
/// Anthropic messages.
pub const ANTHROPIC: Wire = &anthropic::Anthropic;
/// Google Gemini `generateContent`.
pub const GEMINI: Wire = &gemini::Gemini;

/// All wires that requests can be read from, the most telling first.
pub const WIRES: &[Wire] = &[GEMINI, OPENAI_RESPONSES, ANTHROPIC, OPENAI_CHAT];

/// The wire with this id or alias.
///
/// ```
/// assert_eq!(omniroute_core::wire::by_id("anthropic").map(|w| w.id()), Some("anthropic-messages"));
/// assert!(omniroute_core::wire::by_id("soap").is_none());
/// ```
pub fn by_id(id: &str) -> Option<Wire> {
    WIRES.iter().copied().find(|w| w.id() == id || w.aliases().contains(&id))
}

/// Guesses the wire of a request from its top level; `None` if it is no chat request.
pub fn detect(doc: &Doc) -> Option<Wire> {
    WIRES.iter().copied().find(|w| w.claims(doc))
}

impl PartialEq for dyn WireFormat {
    fn eq(&self, other: &Self) -> bool {
        self.id() == other.id()
    }
}
