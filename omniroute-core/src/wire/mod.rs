//! Wire formats: how each vendor writes a chat request.
//!
//! A wire is one file here and one line in [`WIRES`]. Reading is liberal about what it does not know
//! (it becomes opaque) and strict about what decides the meaning of a request: its messages, roles and
//! contents, each given once.

mod anthropic;
mod fields;
mod gemini;
mod openai_chat;
mod openai_responses;

use crate::conversation::{Conversation, Head};
use crate::doc::{Doc, DocError};

/// A wire format. Compare by [`WireFormat::id`].
pub type Wire = &'static dyn WireFormat;

/// How one vendor writes requests.
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
}

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
