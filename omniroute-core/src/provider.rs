//! Somebody who answers chat calls: the trait, what a call is told, what it gives back.

use std::fmt;
use std::pin::Pin;
use std::task::{Context, Poll};

use futures::Stream;
use http::HeaderMap;

use crate::clock::Mono;
use crate::diagnostic::Diagnostic;
use crate::doc::Doc;
use crate::failure::Failure;
use crate::host::Env;
use crate::hub::{StreamItem, WriteContext};
use crate::outcome::LimitSeen;
use crate::request::ChatRequest;
use crate::target::{ConnectionId, ProviderId};
use crate::wire::{ToolNames, Wire};

/// A vendor, a local server, or code of yours.
#[async_trait::async_trait]
pub trait Provider: Send + Sync + fmt::Debug + 'static {
    /// Whose API it is.
    fn id(&self) -> &ProviderId;

    /// One attempt of a chat call, whole or streamed as the call or the request says.
    ///
    /// # Behavior
    /// - Never sleeps, never tries another target, touches no state that others share.
    /// - Dropping the future, or the stream of the answer, ends the call at the vendor.
    /// - An error inside a success and an empty answer are failures.
    /// - The answer is written in [`ChatResponse::wire`], which need not be the request's.
    ///
    /// # Errors
    /// [`Failure`], with no secret in it.
    async fn chat(&self, request: &ChatRequest, call: CallContext<'_>) -> Result<ChatResponse, Failure>;
}

/// What one attempt is told.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct CallContext<'a> {
    /// The host's services.
    pub env: &'a Env,
    /// Which credential is meant, where a provider has several.
    pub connection: &'a ConnectionId,
    /// The provider's name of the model.
    pub model: &'a str,
    /// Whether the answer is to be streamed; none: as the body says. Two wires say it in the address alone.
    pub stream: Option<bool>,
    /// When the caller gives up; none: never.
    pub deadline: Option<Mono>,
    /// What the writer of the request is told; its model is [`CallContext::model`].
    pub write: WriteContext,
    /// Headers of the caller. Providers pass a few names on, never keys.
    pub headers: HeaderMap,
}

impl<'a> CallContext<'a> {
    /// A call of a model, without a deadline.
    pub fn new(env: &'a Env, connection: &'a ConnectionId, model: &'a str) -> Self {
        CallContext {
            env,
            connection,
            model,
            stream: None,
            deadline: None,
            write: WriteContext::default(),
            headers: HeaderMap::new(),
        }
    }
}

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
    /// Whether the call was sent again once: with another credential, or changed as the notes say.
    pub resent: bool,
    /// What the tools were called in the request, if not what the client calls them: [`ToolNames::restore`] gives the
    /// calls of a whole answer their names again; the events of a stream have them already.
    pub names: ToolNames,
    /// The answer itself.
    pub body: ChatBody,
}

impl ChatResponse {
    /// An answer without limits and notes.
    pub fn new(wire: Wire, body: ChatBody) -> Self {
        ChatResponse {
            wire,
            limits: Vec::new(),
            notes: Vec::new(),
            request_id: None,
            resent: false,
            names: ToolNames::default(),
            body,
        }
    }
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

/// Items of a streamed answer. The last one is `Err` unless the answer is complete; nothing follows it. Dropping it
/// ends the call at the vendor.
pub struct EventStream(Pin<Box<dyn Stream<Item = Result<StreamItem, Failure>> + Send>>);

impl EventStream {
    /// A stream of these items.
    pub fn new(items: impl Stream<Item = Result<StreamItem, Failure>> + Send + 'static) -> Self {
        EventStream(Box::pin(items))
    }
}

impl fmt::Debug for EventStream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("EventStream(..)")
    }
}

impl Stream for EventStream {
    type Item = Result<StreamItem, Failure>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.0.as_mut().poll_next(cx)
    }
}
