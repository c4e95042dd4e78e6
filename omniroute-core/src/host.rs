//! What the host program lends us: HTTP, a clock, a place for heavy work. We own none of them.

use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use futures::Stream;

use crate::clock::Clock;

/// The host's services, handed to everything that needs one. Cloning shares them.
#[derive(Clone, Debug)]
pub struct Env {
    /// Time.
    pub clock: Arc<dyn Clock>,
    /// Network.
    pub http: Arc<dyn HttpTransport>,
    /// CPU.
    pub offload: Arc<dyn Offload>,
}

/// One HTTP exchange.
#[async_trait::async_trait]
pub trait HttpTransport: Send + Sync + fmt::Debug + 'static {
    /// Sends a request; resolves when the head of the response is there, the body streams.
    ///
    /// # Behavior
    /// - Any status is `Ok`.
    /// - Dropping the future or the body aborts the exchange.
    /// - No retries and no time limits: those belong to the caller and use [`Clock`].
    async fn send(&self, request: http::Request<Bytes>) -> Result<http::Response<Body>, TransportError>;
}

/// A response body, piece by piece.
pub struct Body(Pin<Box<dyn Stream<Item = Result<Bytes, TransportError>> + Send>>);

impl Body {
    /// A body that arrives in pieces.
    pub fn stream(pieces: impl Stream<Item = Result<Bytes, TransportError>> + Send + 'static) -> Self {
        Body(Box::pin(pieces))
    }

    /// A body that is there at once.
    pub fn whole(bytes: impl Into<Bytes>) -> Self {
        Body::stream(futures::stream::iter([Ok(bytes.into())]))
    }
}

impl fmt::Debug for Body {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Body(..)")
    }
}

impl Stream for Body {
    type Item = Result<Bytes, TransportError>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.0.as_mut().poll_next(cx)
    }
}

/// An exchange that never got, or lost, its response.
#[non_exhaustive]
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{phase}: {message}")]
pub struct TransportError {
    /// What was being done: `"connect"`, `"tls"`, `"send"`, `"read"`.
    pub phase: &'static str,
    /// The transport's own words; never a secret, never a body.
    pub message: String,
}

impl TransportError {
    /// An error of one phase.
    pub fn new(phase: &'static str, message: impl Into<String>) -> Self {
        TransportError { phase, message: message.into() }
    }
}

/// Where CPU-heavy work may run.
pub trait Offload: Send + Sync + fmt::Debug + 'static {
    /// Runs `job`, now or on a pool of the host.
    fn run(&self, job: Box<dyn FnOnce() + Send>);
}

/// Runs work at once, on the caller's thread.
#[derive(Debug, Clone, Copy, Default)]
pub struct Inline;

impl Offload for Inline {
    fn run(&self, job: Box<dyn FnOnce() + Send>) {
        job();
    }
}
