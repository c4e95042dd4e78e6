//! What a chat call gives.

use omniroute_core::wire::Wire;
use omniroute_core::{Diagnostic, Doc, LimitSeen};

use super::stream::EventStream;

/// An answer.
#[derive(Debug)]
#[non_exhaustive]
pub struct ChatResponse {
    /// The wire it is written in.
    pub wire: Wire,
    /// What its headers say about allowances.
    pub limits: Vec<LimitSeen>,
    /// What was lost or changed in the request on the way.
    pub notes: Vec<Diagnostic>,
    /// The vendor's name for the call, if it gave one.
    pub request_id: Option<String>,
    /// Whether the call was sent again once with a renewed credential.
    pub resent: bool,
    /// The answer itself.
    pub body: ChatBody,
}

/// Whole or in pieces.
#[derive(Debug)]
#[non_exhaustive]
pub enum ChatBody {
    /// Whole; it has content.
    Whole(Doc),
    /// In pieces.
    Stream(EventStream),
}
