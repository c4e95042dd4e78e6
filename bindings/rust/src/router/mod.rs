//! A router for hosts that have an event loop of their own. Feature `router`.
//!
//! Nothing here sends, waits or starts a thread. A [`Call`] is polled; what it waits for are [`Job`]s that its host does
//! with its own means, and moments that its host waits for.
//!
//! ```
//! use omniroute::router::{CallOptions, Job, Parts, Progress, Router, RouterConfig};
//! let config = RouterConfig::from_toml("[[connections]]\nid = \"openai/work\"\nkey = \"not-a-key\"\n")?;
//! let router = Router::new(&config, Parts::default())?;
//! let body = r#"{"model":"openai/gpt-5","messages":[{"role":"user","content":"hello"}]}"#;
//! let mut call = router.chat(body, &CallOptions::default())?;
//! let polled = call.poll();
//! let [Job::Send { id, request }] = polled.jobs.as_slice() else { panic!("a request is sent") };
//! assert_eq!(request.uri(), "https://api.openai.com/v1/chat/completions");
//! let answer = r#"{"id":"1","object":"chat.completion","created":1,"model":"gpt-5","choices":[{"index":0,
//!   "message":{"role":"assistant","content":"Hello."},"finish_reason":"stop"}]}"#;
//! call.teller().answered(*id, 200, [], answer, true);
//! let Progress::Reply(reply) = call.poll().progress else { panic!("there is an answer") };
//! assert_eq!(reply.told()?.text, "Hello.");
//! # Ok::<(), omniroute::Error>(())
//! ```

mod build;
mod call;
mod config;
mod desk;
mod exchange;
mod fault;
mod parts;
mod reply;
mod time;

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use omniroute_core::wire::{self, Wire};
use omniroute_core::{ChatRequest, Clock, ConnectionId, Doc, Env, Kind, Moment, SessionId, UnixMs};
use omniroute_route::ChatOptions;

pub use call::{Call, Polled, Progress, Teller};
pub use config::RouterConfig;
pub use desk::{Job, Work};
pub use parts::{FAILURE_HEADER, HostProvider, Parts};
pub use reply::{Events, Reply, Told, ToldCall, ToldEvent, ToldUsage};

use crate::engine::guarded;
use crate::error::Error;
use call::Shared;
use time::Time;

/// The model of requests that name none.
const USUAL_MODEL: &str = "auto";

/// What one request asks for beside its body.
#[derive(Debug, Clone, Copy, Default)]
pub struct CallOptions<'a> {
    /// The wire of the body, by id or alias; guessed if absent.
    pub wire: Option<&'a str>,
    /// The conversation.
    pub session: Option<&'a str>,
    /// Another model than the body's.
    pub model: Option<&'a str>,
    /// Whether the answer is to be streamed; as the body says if absent.
    pub stream: Option<bool>,
    /// When the caller gives up.
    pub timeout: Option<Duration>,
    /// Tags that a step has to carry.
    pub tags: &'a [String],
    /// Only this connection.
    pub connection: Option<&'a str>,
    /// The plan of compression, by name.
    pub plan: Option<&'a str>,
    /// The name of the request; made up if absent.
    pub request: Option<&'a str>,
}

/// Answers requests through its host. Cloning shares it.
#[derive(Debug, Clone)]
pub struct Router {
    inner: omniroute_route::Router,
    shared: Arc<Shared>,
}

impl Router {
    /// A router on the time of the machine.
    ///
    /// # Errors
    /// Code `config` with every mistake.
    pub fn new(config: &RouterConfig, parts: Parts) -> Result<Router, Error> {
        Router::with(config, parts, Time::machine())
    }

    /// A router whose time stands still at `wall` until [`Router::advance`] moves it.
    ///
    /// # Errors
    /// As [`Router::new`].
    pub fn on_told_time(config: &RouterConfig, parts: Parts, wall: UnixMs) -> Result<Router, Error> {
        Router::with(config, parts, Time::told(wall))
    }

    fn with(config: &RouterConfig, parts: Parts, time: Time) -> Result<Router, Error> {
        guarded(|| {
            let time = Arc::new(time);
            let clock: Arc<dyn Clock> = Arc::clone(&time) as Arc<dyn Clock>;
            let env = Env { clock, http: Arc::new(exchange::HostHttp), offload: Arc::new(desk::Handed) };
            Ok(Router { inner: build::router(config, parts, env)?, shared: Shared::new(time) })
        })
    }

    /// Starts to answer a request. Nothing happens before the call is polled.
    ///
    /// # Errors
    /// `bad_request`, `unknown_wire`: the body is no request.
    pub fn chat(&self, body: impl Into<Bytes>, options: &CallOptions<'_>) -> Result<Call, Error> {
        let body = body.into();
        guarded(|| {
            let (request, asked) = read(body, options)?;
            let (wire, router) = (request.wire(), self.inner.clone());
            let answer = Box::pin(async move { router.chat_with(request, &asked).await });
            Ok(Call::new(&self.shared, wire, options.timeout, answer))
        })
    }

    /// Who would be asked, and why; for people.
    ///
    /// # Errors
    /// As for a request.
    pub fn explain(&self, body: impl Into<Bytes>, options: &CallOptions<'_>) -> Result<Explained, Error> {
        let body = body.into();
        guarded(|| {
            let (request, asked) = read(body, options)?;
            let told = self.inner.explain_with(&request, &asked).map_err(|error| fault::of_chat(&error))?;
            let json = serde_json::to_string(&told).expect("an explanation has finite numbers only");
            Ok(Explained { text: told.to_string(), json })
        })
    }

    /// How everything stands, as JSON text.
    pub fn health_json(&self) -> String {
        serde_json::to_string(&self.inner.health()).expect("health has finite numbers only")
    }

    /// Names that requests may use.
    pub fn models(&self) -> Vec<String> {
        self.inner.models()
    }

    /// How good the answer of a request was, 0 to 1; `weight` is how much the judgement counts. False: nobody remembers
    /// the request.
    pub fn feedback(&self, request: &str, reward: f32, weight: f32) -> bool {
        self.inner.feedback(request, reward, weight)
    }

    /// What is odd about the combos but not wrong.
    pub fn warnings(&self) -> &[String] {
        self.inner.warnings()
    }

    /// The time.
    pub fn now(&self) -> Moment {
        self.shared.time.now()
    }

    /// Moves the time of [`Router::on_told_time`]; false for a router on the time of the machine.
    pub fn advance(&self, by: Duration) -> bool {
        self.shared.time.advance(by)
    }

    /// Whether the time stands still until it is moved: nobody has to wait for it.
    pub fn is_on_told_time(&self) -> bool {
        self.shared.time.is_told()
    }

    /// Calls that can go on although nobody told them anything: to be asked after a call was dropped.
    pub fn woken(&self) -> Vec<u64> {
        self.shared.woken()
    }
}

/// Who would be asked, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Explained {
    /// For people.
    pub text: String,
    /// For programs: JSON text.
    pub json: String,
}

fn read(body: Bytes, options: &CallOptions<'_>) -> Result<(ChatRequest, ChatOptions), Error> {
    let doc = Doc::parse(body).map_err(|error| Error::new("bad_request", error.to_string()))?;
    if doc.kind(doc.root()) != Kind::Object {
        return Err(Error::new("bad_request", "the body is no JSON object"));
    }
    let wire: Wire = match options.wire {
        Some(name) => wire::by_id(name).ok_or_else(|| crate::engine::unknown_wire(name))?,
        None => wire::detect(&doc).ok_or_else(|| {
            Error::new("unknown_wire", "no wire knows the body: it has no messages, input or contents")
        })?,
    };
    let mut request = ChatRequest::from_doc(wire, doc);
    let said = request.model().trim().to_owned();
    let model = match options.model {
        Some(model) => model.to_owned(),
        None if said.is_empty() => USUAL_MODEL.to_owned(),
        None => said.clone(),
    };
    let streamed = request.streamed();
    let stream = options.stream.unwrap_or(streamed);
    if model != said || stream != streamed {
        request = request.with_address(model, stream);
    }
    if let Some(session) = options.session {
        request = request.with_session(SessionId::new(session));
    }
    let mut asked = ChatOptions::default();
    asked.tags = options.tags.iter().map(|tag| tag.as_str().into()).collect();
    asked.connection = options.connection.map(ConnectionId::new);
    asked.profile = options.plan.map(str::to_owned);
    asked.request = options.request.map(Into::into);
    Ok((request, asked))
}
