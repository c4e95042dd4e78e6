//! The router, as JavaScript makes it and asks it. Nothing here waits, sends or starts a thread.

use std::sync::Arc;
use std::time::Duration;

use napi::bindgen_prelude::Uint8Array;
use napi_derive::napi;
use omniroute::core::UnixMs;
use omniroute::router as rust;
use omniroute::{Error, router::CallOptions};

use crate::call::Call;
use crate::errors::raised;
use crate::strategy::{Host, HostStrategy, within};

/// A provider that is written in JavaScript.
#[napi(object, object_to_js = false)]
#[derive(Debug)]
pub struct OwnProvider {
    /// Its name.
    pub id: String,
    /// What `auto` may choose of it.
    pub models: Vec<String>,
}

/// What a router is made from besides its configuration.
#[napi(object, object_to_js = false)]
#[derive(Debug)]
pub struct RouterParts {
    /// Where random numbers start.
    pub seed: Option<i64>,
    /// Providers that the host answers for.
    pub providers: Vec<OwnProvider>,
    /// Names of strategies of the host, in the order of their numbers.
    pub strategies: Vec<String>,
    /// The date at which time stands still until it is moved, in milliseconds since 1970.
    pub wall_ms: Option<i64>,
}

/// What one request asks for beside its body.
#[napi(object, object_to_js = false)]
#[derive(Debug, Default)]
pub struct CallSpec {
    /// The wire of the body.
    pub wire: Option<String>,
    /// The conversation.
    pub session: Option<String>,
    /// Another model than the body's.
    pub model: Option<String>,
    /// Whether the answer is to be streamed.
    pub stream: Option<bool>,
    /// When the caller gives up, in milliseconds.
    pub timeout_ms: Option<f64>,
    /// Tags that a step has to carry.
    pub tags: Option<Vec<String>>,
    /// Only this connection.
    pub connection: Option<String>,
    /// The plan of compression.
    pub plan: Option<String>,
}

impl CallSpec {
    fn with<T>(&self, use_it: impl FnOnce(&CallOptions<'_>) -> Result<T, Error>) -> napi::Result<T> {
        let timeout = self.timeout_ms.map(duration).transpose().map_err(|error| raised(&error))?;
        let options = CallOptions {
            wire: self.wire.as_deref(),
            session: self.session.as_deref(),
            model: self.model.as_deref(),
            stream: self.stream,
            timeout,
            tags: self.tags.as_deref().unwrap_or_default(),
            connection: self.connection.as_deref(),
            plan: self.plan.as_deref(),
            request: None,
        };
        use_it(&options).map_err(|error| raised(&error))
    }
}

/// Who would be asked, and why.
#[napi(object, object_from_js = false)]
#[derive(Debug)]
pub struct Explained {
    /// For people.
    pub text: String,
    /// For programs: JSON text.
    pub json: String,
}

/// A router. Belongs to the JavaScript thread that made it.
#[napi]
#[derive(Debug)]
pub struct RouterCore {
    router: rust::Router,
}

#[napi]
impl RouterCore {
    /// From the text of a configuration: TOML, or JSON if `json` is true.
    #[napi(constructor)]
    pub fn new(text: String, json: bool, given: RouterParts) -> napi::Result<Self> {
        let config =
            if json { rust::RouterConfig::from_json(&text) } else { rust::RouterConfig::from_toml(&text) };
        let mut config = config.map_err(|errors| raised(&Error::from(errors)))?;
        if let Some(seed) = given.seed {
            config = config.with_seed(seed.unsigned_abs());
        }
        let mut parts = rust::Parts::default();
        parts.providers.extend(given.providers.into_iter().map(|p| rust::HostProvider::new(&p.id, p.models)));
        for (number, id) in (0..).zip(given.strategies) {
            parts.strategies.push(Arc::new(HostStrategy::new(id, number)));
        }
        let router = match given.wall_ms {
            Some(ms) => rust::Router::on_told_time(&config, parts, UnixMs(ms)),
            None => rust::Router::new(&config, parts),
        };
        Ok(RouterCore { router: router.map_err(|error| raised(&error))? })
    }

    /// Starts a call. Nothing happens before it is polled.
    #[napi]
    pub fn chat(&self, body: Uint8Array, spec: CallSpec) -> napi::Result<Call> {
        // Bytes of JavaScript may change while the call is under way.
        let body = body.to_vec();
        let call = spec.with(|options| self.router.chat(body, options))?;
        Ok(Call::new(call, self.router.clone()))
    }

    /// Who would be asked, and why. Strategies of the host are asked through `host`.
    #[napi]
    pub fn explain(
        &self,
        env: napi::Env,
        body: Uint8Array,
        spec: CallSpec,
        host: Option<Host>,
    ) -> napi::Result<Explained> {
        let told = spec.with(|options| within(env, host, || self.router.explain(body.to_vec(), options)))?;
        Ok(Explained { text: told.text, json: told.json })
    }

    /// How everything stands, as JSON text.
    #[napi]
    pub fn health(&self) -> String {
        self.router.health_json()
    }

    /// Names that requests may use.
    #[napi]
    pub fn models(&self) -> Vec<String> {
        self.router.models()
    }

    /// How good the answer of a request was, 0 to 1. False: nobody remembers the request.
    #[napi]
    pub fn feedback(&self, request: String, reward: f64, weight: f64) -> bool {
        #[expect(clippy::cast_possible_truncation, reason = "judgements are rough")]
        self.router.feedback(&request, reward as f32, weight as f32)
    }

    /// What is odd about the combos but not wrong.
    #[napi]
    pub fn warnings(&self) -> Vec<String> {
        self.router.warnings().to_vec()
    }

    /// The time in milliseconds since 1970.
    #[napi]
    pub fn now(&self) -> i64 {
        self.router.now().wall.0
    }

    /// Moves a time that stands still, by nanoseconds; false if it is that of the machine.
    #[napi]
    pub fn advance(&self, nanoseconds: i64) -> bool {
        self.router.advance(Duration::from_nanos(nanoseconds.unsigned_abs()))
    }
}

fn duration(ms: f64) -> Result<Duration, Error> {
    Duration::try_from_secs_f64(ms / 1e3).map_err(|_| {
        Error::new("bad_argument", format!("timeoutMs is {ms}, it has to be milliseconds from 0 on"))
    })
}
