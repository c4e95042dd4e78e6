//! Parts of the host's own: a provider that answers through its host.

use std::fmt;
use std::sync::Arc;

use bytes::BytesMut;
use futures::{StreamExt, stream};
use omniroute_core::route::RoutingStrategy;
use omniroute_core::wire::{self, StreamReader, WireError, translate};
use omniroute_core::{
    Body, CallContext, ChatBody, ChatRequest, ChatResponse, Doc, EventStream, Failure, FailureKind, Phase,
    Provider, ProviderId, Scope,
};

use super::desk::Job;
use super::exchange::exchange;

/// The header by which a provider of the host says what went wrong: a code of [`FailureKind`].
pub const FAILURE_HEADER: &str = "x-omniroute-failure";

/// What a host adds to a configuration.
#[derive(Default)]
pub struct Parts {
    /// Providers whose answers the host writes, in the wire of OpenAI chat; each has one connection, `host`.
    pub providers: Vec<HostProvider>,
    /// Strategies that combos name by their id.
    pub strategies: Vec<Arc<dyn RoutingStrategy>>,
}

impl fmt::Debug for Parts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Parts").field("providers", &self.providers).finish_non_exhaustive()
    }
}

/// A provider that asks its host: every call is a [`Job::Ask`].
#[derive(Debug, Clone)]
pub struct HostProvider {
    id: ProviderId,
    models: Vec<String>,
}

impl HostProvider {
    /// One of this name; `models` are those that `auto` may choose, others may be named all the same.
    pub fn new(id: &str, models: Vec<String>) -> HostProvider {
        HostProvider { id: ProviderId::new(id), models }
    }

    pub(super) fn models(&self) -> &[String] {
        &self.models
    }

    pub(super) fn shared(&self) -> Arc<dyn Provider> {
        Arc::new(self.clone())
    }
}

#[async_trait::async_trait]
impl Provider for HostProvider {
    fn id(&self) -> &ProviderId {
        &self.id
    }

    async fn chat(&self, request: &ChatRequest, call: CallContext<'_>) -> Result<ChatResponse, Failure> {
        let target = wire::OPENAI_CHAT;
        let mut context = call.write.clone();
        context.model = Some(call.model.to_owned());
        let written = translate(request, target, &context).map_err(|error| refused(&error))?;
        let stream = call.stream.unwrap_or_else(|| request.streamed());
        let (provider, model) = (Arc::from(self.id.as_str()), call.model.to_owned());
        let body = written.body.clone();
        let answer = exchange(|id| Job::Ask { id, provider, model, stream, body }).await;
        let answer = answer.map_err(|error| broken(error.message, Phase::Transport))?;
        let said =
            answer.headers().get(FAILURE_HEADER).and_then(|code| code.to_str().ok()).map(str::to_owned);
        if let Some(code) = said {
            let message = whole(answer.into_body()).await?;
            return Err(failure(&code, &String::from_utf8_lossy(&message)));
        }
        let mut response = if stream {
            let reader = written.stream_reader(target).expect("the wire of OpenAI chat streams");
            ChatResponse::new(target, ChatBody::Stream(events(answer.into_body(), reader)))
        } else {
            let body = whole(answer.into_body()).await?;
            let doc = Doc::parse(body.freeze()).map_err(|error| bad(&error.to_string()))?;
            target.read_reply(&doc).map_err(|error| bad(&error.to_string()))?;
            ChatResponse::new(target, ChatBody::Whole(doc))
        };
        response.names = written.names;
        response.notes = written.notes;
        Ok(response)
    }
}

async fn whole(mut body: Body) -> Result<BytesMut, Failure> {
    let mut out = BytesMut::new();
    while let Some(piece) = body.next().await {
        out.extend_from_slice(&piece.map_err(|error| broken(error.message, Phase::BodyComplete))?);
    }
    Ok(out)
}

fn events(body: Body, reader: Box<dyn StreamReader>) -> EventStream {
    let items = stream::unfold(Some((body, reader)), async |state| {
        let (mut body, mut reader) = state?;
        let mut items = Vec::new();
        let state = match body.next().await {
            Some(Ok(piece)) => {
                reader.feed(piece, &mut items);
                Some((body, reader))
            }
            Some(Err(error)) => {
                let failure = broken(error.message, Phase::MidStream);
                return Some((vec![Err(failure)], None));
            }
            None => {
                reader.end(&mut items);
                None
            }
        };
        Some((items.into_iter().map(Ok).collect::<Vec<_>>(), state))
    });
    EventStream::new(items.flat_map(stream::iter))
}

fn refused(error: &WireError) -> Failure {
    let kind = match error {
        WireError::Incapable { .. } | WireError::Unsupported { .. } => FailureKind::Unsupported,
        _ => FailureKind::InvalidRequest,
    };
    Failure::local(kind, error.code().to_owned(), error.to_string())
}

fn broken(message: String, phase: Phase) -> Failure {
    let mut failure = Failure::new(FailureKind::Unavailable, Scope::Provider, message);
    failure.phase = phase;
    failure
}

fn bad(why: &str) -> Failure {
    let message = format!("the provider's answer is none of OpenAI chat: {why}");
    Failure::new(FailureKind::BadReply, Scope::Provider, message)
}

fn failure(code: &str, message: &str) -> Failure {
    use FailureKind as K;
    let kind = K::ALL.into_iter().find(|kind| kind.code() == code).unwrap_or(K::Unavailable);
    let scope = match kind {
        K::RateLimited
        | K::QuotaExhausted
        | K::CreditsExhausted
        | K::Unauthorized
        | K::Forbidden
        | K::Banned => Scope::Connection,
        K::ModelUnavailable => Scope::Model,
        K::ContextTooLong | K::TooLarge | K::Filtered | K::InvalidRequest | K::Unsupported => Scope::Request,
        K::Cancelled => Scope::None,
        _ => Scope::Provider,
    };
    let mut failure = Failure::new(kind, scope, message);
    failure.code = Some(code.to_owned());
    failure
}
