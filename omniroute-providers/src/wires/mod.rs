//! Wire formats that only hosts speak: vendors are called in them, clients are not expected to.
//!
//! The registry is [`by_id`]: it knows these and the ones of the core. A new wire is one folder here and one line in
//! [`HOSTED`].

#[cfg(feature = "bedrock")]
mod bedrock;
mod cohere;
mod common;
mod foreign;
mod ollama;
#[cfg(test)]
mod table_tests;

use omniroute_core::wire::{self, Wire};

/// Amazon Bedrock `Converse` and `ConverseStream`.
#[cfg(feature = "bedrock")]
pub const BEDROCK_CONVERSE: Wire = &bedrock::BedrockConverse;
/// Cohere chat, version 2.
pub const COHERE: Wire = &cohere::Cohere;
/// Ollama's `/api/chat`.
pub const OLLAMA: Wire = &ollama::Ollama;

/// The wires of this crate.
pub const HOSTED: &[Wire] = &[
    OLLAMA,
    #[cfg(feature = "bedrock")]
    BEDROCK_CONVERSE,
    COHERE,
];

/// The wire with this id or alias, here or in the core.
///
/// ```
/// use omniroute_providers::wires::by_id;
/// assert_eq!(by_id("cohere-v2").map(|w| w.id()), Some("cohere"));
/// assert_eq!(by_id("anthropic").map(|w| w.id()), Some("anthropic-messages"));
/// assert!(by_id("soap").is_none());
/// ```
pub fn by_id(id: &str) -> Option<Wire> {
    let hosted = HOSTED.iter().copied().find(|w| w.id() == id || w.aliases().contains(&id));
    hosted.or_else(|| wire::by_id(id))
}
