//! The wire that belongs to a catalogue id.

use omniroute_core::wire::{self, Wire};

use crate::data::WireId;

/// The wire, if it is written.
pub(crate) fn wire_of(id: WireId) -> Option<Wire> {
    match id {
        WireId::OpenaiChat => Some(wire::OPENAI_CHAT),
        WireId::OpenaiResponses => Some(wire::OPENAI_RESPONSES),
        WireId::AnthropicMessages => Some(wire::ANTHROPIC),
        WireId::Gemini => Some(wire::GEMINI),
        WireId::Cohere => Some(crate::wires::COHERE),
        WireId::Ollama => Some(crate::wires::OLLAMA),
        #[cfg(feature = "bedrock")]
        WireId::BedrockConverse => Some(crate::wires::BEDROCK_CONVERSE),
        _ => None,
    }
}
