//! A chat request: one wire's document plus who sends it.

use std::borrow::Cow;
use std::sync::Arc;

use bytes::Bytes;

use crate::conversation::{Conversation, Head};
use crate::doc::{Doc, DocError, Patch, PatchError};
use crate::ids::{Principal, SessionId};
use crate::wire::Wire;

/// A request body in its own wire format. Cloning is cheap.
///
/// Edits are applied at once: [`ChatRequest::apply`] splices them into new bytes and indexes these, so a
/// reading always shows what will be sent.
///
/// ```
/// use omniroute_core::{ChatRequest, wire};
/// let body = r#"{"model": "gpt-5", "messages": [{"role": "user", "content": "hi"}]}"#;
/// let request = ChatRequest::parse(wire::OPENAI_CHAT, body)?;
/// assert_eq!(request.conversation()?.turns.len(), 1);
/// assert_eq!(request.to_bytes(), body); // untouched bytes are the same bytes
/// # Ok::<(), omniroute_core::DocError>(())
/// ```
#[derive(Debug, Clone)]
pub struct ChatRequest {
    wire: Wire,
    doc: Doc,
    principal: Principal,
    session: Option<SessionId>,
    address: Option<Address>,
}

/// What the address says where a wire does not put it into the body.
#[derive(Debug, Clone)]
struct Address {
    model: Arc<str>,
    stream: bool,
}

impl ChatRequest {
    /// Parses a body of the given wire, at most [`crate::DEFAULT_MAX_BYTES`].
    ///
    /// # Errors
    /// [`DocError`] if it is not JSON. Whether it is a request shows when it is read.
    pub fn parse(wire: Wire, body: impl Into<Bytes>) -> Result<Self, DocError> {
        Ok(ChatRequest::from_doc(wire, Doc::parse(body)?))
    }

    /// A request over a document that is parsed already.
    pub fn from_doc(wire: Wire, doc: Doc) -> Self {
        ChatRequest { wire, doc, principal: Principal::default(), session: None, address: None }
    }

    /// Sets the tenant; default `"embedded"`.
    #[must_use]
    pub fn with_principal(mut self, principal: Principal) -> Self {
        self.principal = principal;
        self
    }

    /// Sets the session.
    #[must_use]
    pub fn with_session(mut self, session: SessionId) -> Self {
        self.session = Some(session);
        self
    }

    /// Says what the address said, on wires whose bodies name neither: it counts instead of the body's own words.
    #[must_use]
    pub fn with_address(mut self, model: impl Into<Arc<str>>, stream: bool) -> Self {
        self.address = Some(Address { model: model.into(), stream });
        self
    }

    /// The model asked for: the address's word, else the body's; empty if neither says.
    ///
    /// ```
    /// use omniroute_core::{ChatRequest, wire};
    /// let body = r#"{"contents": [{"role": "user", "parts": [{"text": "hi"}]}]}"#;
    /// let request = ChatRequest::parse(wire::GEMINI, body)?.with_address("auto/fast", true);
    /// assert_eq!((&*request.model(), request.streamed()), ("auto/fast", true));
    /// # Ok::<(), omniroute_core::DocError>(())
    /// ```
    pub fn model(&self) -> Cow<'_, str> {
        match &self.address {
            Some(address) => Cow::Borrowed(&address.model),
            None => {
                self.head().model.map(|model| Cow::Owned(model.decode().into_owned())).unwrap_or_default()
            }
        }
    }

    /// Whether the answer is to be streamed: the address's word, else the body's.
    pub fn streamed(&self) -> bool {
        self.address.as_ref().map_or_else(|| self.head().stream, |address| address.stream)
    }

    /// The wire format of the body.
    pub fn wire(&self) -> Wire {
        self.wire
    }

    /// The body as a document.
    pub fn doc(&self) -> &Doc {
        &self.doc
    }

    /// The tenant.
    pub fn principal(&self) -> &Principal {
        &self.principal
    }

    /// The session, if the caller named one.
    pub fn session(&self) -> Option<&SessionId> {
        self.session.as_ref()
    }

    /// Model, stream flag and output limit.
    pub fn head(&self) -> Head<'_> {
        self.wire.head(&self.doc)
    }

    /// The common reading of the request; borrows and decodes nothing.
    ///
    /// # Errors
    /// [`DocError`] if the body is not a request of this wire.
    pub fn conversation(&self) -> Result<Conversation<'_>, DocError> {
        self.wire.read(&self.doc)
    }

    /// Applies edits to the document. Node ids of the old document mean nothing afterwards.
    ///
    /// # Errors
    /// [`ApplyError`] if edits overlap or the result would be no document; the request is unchanged then.
    pub fn apply(&mut self, patch: &Patch) -> Result<(), ApplyError> {
        if patch.is_empty() {
            return Ok(());
        }
        let bytes = self.doc.splice(patch)?;
        self.doc = Doc::parse_with_limit(bytes, usize::MAX)?;
        Ok(())
    }

    /// Puts another document in place of this one; wire, tenant and session stay.
    pub fn replace_doc(&mut self, doc: Doc) {
        self.doc = doc;
    }

    /// The body. The same buffer as long as nothing was edited.
    pub fn to_bytes(&self) -> Bytes {
        self.doc.bytes().clone()
    }
}

/// Edits that could not be applied.
#[non_exhaustive]
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ApplyError {
    /// The edits do not fit together.
    #[error(transparent)]
    Patch(#[from] PatchError),
    /// The edited body is no document.
    #[error("the edited body is not a document: {0}")]
    Doc(#[from] DocError),
}
