//! One provider of the catalogue, called over the host's HTTP. It keeps no state of its own.

use std::sync::Arc;

use bytes::Bytes;
use http::{HeaderMap, Request};
use omniroute_core::hub::WriteContext;
use omniroute_core::wire::{Wire, WireError, Written, translate};
use omniroute_core::{
    Body, CallContext, ChatBody, ChatRequest, ChatResponse, Doc, Env, EventStream, Failure, FailureKind,
    Mono, Phase, Provider, ProviderId,
};

use super::clocked::{Limit, Timeouts, What};
use super::gathered;
use super::steps::{classify_or_shape, gather, no_credential, not_made, pass_headers, refused, unreadable};
use super::stream::{Parts, items};
use super::wires::wire_of;
use crate::catalog::Catalog;
use crate::classify::{Dialect, Scene, classify, classify_error, classify_transport, limits_seen};
use crate::credentials::{CredentialSource, Fixed, Held};
use crate::data::{ProviderRow, WireId};
use crate::prepare::{PrepareError, Settings, prepare};
use crate::redact::Redactor;

/// Longest whole answer, in bytes.
const LONGEST: usize = 64 << 20;

/// Longest error answer that is read, in bytes.
const LONGEST_ERROR: usize = 64 << 10;

/// A provider with a credential and an address.
#[derive(Clone, Debug)]
pub struct HttpProvider {
    pub(crate) inner: Arc<Inner>,
}

#[derive(Debug)]
pub(crate) struct Inner {
    pub(crate) id: ProviderId,
    pub(crate) catalog: Catalog,
    pub(crate) wire: WireId,
    pub(crate) dialect: Dialect,
    pub(crate) base_url: Option<String>,
    pub(crate) values: Vec<(String, String)>,
    pub(crate) credentials: Arc<dyn CredentialSource>,
    pub(crate) timeouts: Timeouts,
    format: Wire,
}

/// Puts a provider together.
#[derive(Debug)]
pub struct ProviderBuilder {
    catalog: Catalog,
    id: String,
    wire: Option<WireId>,
    base_url: Option<String>,
    values: Vec<(String, String)>,
    credentials: Arc<dyn CredentialSource>,
    timeouts: Timeouts,
}

/// One call.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Call<'a> {
    /// The provider's name of the model.
    pub model: &'a str,
    /// When the caller gives up.
    pub deadline: Option<Mono>,
    /// What the writer of the request is told; its model is [`Call::model`].
    pub context: WriteContext,
    /// Headers of the caller. Only a few names go along, never keys.
    pub headers: HeaderMap,
}

impl<'a> Call<'a> {
    /// A call of a model.
    pub fn new(model: &'a str) -> Self {
        Call { model, ..Call::default() }
    }
}

impl ProviderBuilder {
    /// Wire to speak; default the row's main wire.
    #[must_use]
    pub fn wire(mut self, wire: WireId) -> Self {
        self.wire = Some(wire);
        self
    }

    /// Address instead of the row's.
    #[must_use]
    pub fn base_url(mut self, url: impl Into<String>) -> Self {
        self.base_url = Some(url.into());
        self
    }

    /// A value of a placeholder of the address.
    #[must_use]
    pub fn value(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.values.push((name.into(), value.into()));
        self
    }

    /// Where the right to call comes from; default none.
    #[must_use]
    pub fn credentials(mut self, source: impl CredentialSource) -> Self {
        self.credentials = Arc::new(source);
        self
    }

    /// Limits of time.
    #[must_use]
    pub fn timeouts(mut self, timeouts: Timeouts) -> Self {
        self.timeouts = timeouts;
        self
    }

    /// The provider.
    ///
    /// # Errors
    /// [`PrepareError`] if the row is not known or the wire is not written.
    pub fn build(self) -> Result<HttpProvider, PrepareError> {
        let unknown = || PrepareError::NotYet {
            provider: self.id.clone(),
            reason: "no row of the catalogue has this id".to_owned(),
        };
        let row = self.catalog.provider(&self.id).ok_or_else(unknown)?;
        let wire = self.wire.unwrap_or(row.wire);
        let format =
            wire_of(wire).ok_or_else(|| PrepareError::Wire { provider: row.id.to_string(), wire })?;
        let (id, dialect) = (ProviderId::new(row.id.as_ref()), Dialect::of(&row, wire));
        drop(row);
        let inner = Inner {
            id,
            catalog: self.catalog,
            wire,
            dialect,
            base_url: self.base_url,
            values: self.values,
            credentials: self.credentials,
            timeouts: self.timeouts,
            format,
        };
        Ok(HttpProvider { inner: Arc::new(inner) })
    }
}

impl HttpProvider {
    /// A provider of the catalogue by id or alias.
    pub fn builder(catalog: &Catalog, id: impl Into<String>) -> ProviderBuilder {
        ProviderBuilder {
            catalog: catalog.clone(),
            id: id.into(),
            wire: None,
            base_url: None,
            values: Vec::new(),
            credentials: Arc::new(Fixed(Held::Nothing)),
            timeouts: Timeouts::default(),
        }
    }

    /// Id of the row.
    pub fn id(&self) -> &ProviderId {
        &self.inner.id
    }

    /// The wire it is spoken to in.
    pub fn wire(&self) -> Wire {
        self.inner.format
    }

    /// One attempt of a chat call, whole or streamed as the request says.
    ///
    /// # Behavior
    /// - Never sleeps and never tries again, but for one thing: after a 401 the credential source is asked once for
    ///   another credential, and if it gives one the same request is sent again at once.
    /// - Dropping the future, or the stream of the answer, ends the call at the vendor.
    /// - Where the row streams only, a whole answer is put together from the stream.
    /// - A whole answer is checked: an error inside a success and an empty answer are failures.
    ///
    /// # Errors
    /// [`Failure`], with no secret in it.
    pub async fn chat(
        &self,
        env: &Env,
        request: &ChatRequest,
        call: &Call<'_>,
    ) -> Result<ChatResponse, Failure> {
        let inner = &*self.inner;
        let row = inner.row()?;
        let mut context = call.context.clone();
        context.model = Some(call.model.to_owned());
        context.quirks.drop_params.extend(row.drop_params.iter().map(ToString::to_string));
        context.quirks.plain_content |= row.plain_string_content;
        let wanted = request.head().stream;
        let mut written = translate(request, inner.format, &context).map_err(refused)?;
        let stream = wanted || row.force_stream;
        if stream && !wanted {
            written.body = gathered::streamed(written.body)?;
        }
        let settings = Settings { model: call.model, stream, ..inner.settings() };
        let make = |held: &Held, values: &[(&str, &str)]| {
            let settings = Settings {
                values,
                base_url: inner.base_url.as_deref(),
                credential: held.as_credential(),
                ..settings.clone()
            };
            prepare(&row, &settings, written.body.clone())
        };
        let exchange = inner.exchange(env, call, stream, &make).await?;
        let mut response = inner.answer(env, call, stream, exchange, written).await?;
        if let (ChatBody::Stream(items), false) = (&mut response.body, wanted) {
            let items = std::mem::replace(items, EventStream::new(futures::stream::empty()));
            response.body = ChatBody::Whole(gathered::whole(items, inner.format).await?);
        }
        Ok(response)
    }
}

#[async_trait::async_trait]
impl Provider for HttpProvider {
    fn id(&self) -> &ProviderId {
        HttpProvider::id(self)
    }

    async fn chat(&self, request: &ChatRequest, cx: CallContext<'_>) -> Result<ChatResponse, Failure> {
        let call = Call { model: cx.model, deadline: cx.deadline, context: cx.write, headers: cx.headers };
        HttpProvider::chat(self, cx.env, request, &call).await
    }
}

/// An answer with a good status.
pub(crate) struct Exchange {
    pub(crate) response: http::Response<Body>,
    pub(crate) redactor: Redactor,
    pub(crate) held: Held,
    pub(crate) sent: Bytes,
    pub(crate) resent: bool,
    pub(crate) limit: Limit,
}

/// Makes a request out of a credential and the values of placeholders.
pub(crate) type Make<'m> =
    dyn Fn(&Held, &[(&str, &str)]) -> Result<Request<Bytes>, PrepareError> + Send + Sync + 'm;

impl Inner {
    pub(crate) fn row(&self) -> Result<ProviderRow<'_>, Failure> {
        let missing =
            || Failure::local(FailureKind::Unavailable, "unknown_provider", "the catalogue has no such row");
        self.catalog.provider(self.id.as_str()).ok_or_else(missing)
    }

    pub(crate) fn settings(&self) -> Settings<'_> {
        Settings { wire: Some(self.wire), ..Settings::default() }
    }

    /// Sends, at most twice, and reads what is not a success.
    pub(crate) async fn exchange(
        &self,
        env: &Env,
        call: &Call<'_>,
        stream: bool,
        make: &Make<'_>,
    ) -> Result<Exchange, Failure> {
        let start = env.clock.now().mono;
        let times = &self.timeouts;
        let span = if stream { times.first_byte } else { times.whole_first_byte };
        let mut limit = Limit::deadline(call.deadline).min(Limit::after(start, span, What::FirstByte));
        let mut whole = Limit::deadline(call.deadline);
        if !stream {
            whole = whole.min(Limit::after(start, times.total, What::Total));
            limit = whole.min(limit);
        }
        let values: Vec<(&str, &str)> = self.values.iter().map(|(n, v)| (n.as_str(), v.as_str())).collect();
        let mut redactor = Redactor::default();
        let mut resent = false;
        let asked = limit.hold(&*env.clock, Phase::PreDispatch, self.credentials.get(env, None));
        let mut held = asked.await?.map_err(|error| no_credential(&error))?;
        loop {
            held.teach(&mut redactor);
            let mut request = make(&held, &values).map_err(|error| not_made(&error))?;
            pass_headers(&call.headers, request.headers_mut());
            self.sign(&held, &mut request, env)?;
            let sent = request.body().clone();
            let answered = limit.hold(&*env.clock, Phase::Transport, env.http.send(request)).await;
            let scene = |phase, headers| Scene {
                dialect: self.dialect,
                phase,
                headers,
                now: env.clock.now().wall,
                sent: &sent,
                redactor: Some(&redactor),
            };
            let failure = match answered {
                Err(late) => late,
                Ok(Err(error)) => classify_transport(&error, &scene(Phase::Transport, None)),
                Ok(Ok(response)) if response.status().is_success() => {
                    let sent = sent.clone();
                    return Ok(Exchange { response, redactor, held, sent, resent, limit: whole });
                }
                Ok(Ok(response)) => {
                    let (head, body) = response.into_parts();
                    // What can be read of it in time is enough.
                    let idle = Limit::after(env.clock.now().mono, times.idle, What::Idle).min(whole);
                    let read = idle.hold(&*env.clock, Phase::Headers, gather(body, LONGEST_ERROR)).await;
                    let bytes = read.ok().and_then(Result::ok).map_or_else(Bytes::new, |(bytes, _)| bytes);
                    classify(head.status.as_u16(), &bytes, &scene(Phase::Headers, Some(&head.headers)))
                }
            };
            self.credentials.heard(&held, Some(&failure), env.clock.now().wall);
            if failure.kind != FailureKind::Unauthorized || resent {
                return Err(failure);
            }
            // Another credential, or the end: the same one again would be refused again.
            let renewed = limit.hold(&*env.clock, Phase::PreDispatch, self.credentials.get(env, Some(&held)));
            match renewed.await {
                Ok(Ok(other)) if !other.is_same(&held) => (held, resent) = (other, true),
                _ => return Err(failure),
            }
        }
    }

    async fn answer(
        &self,
        env: &Env,
        call: &Call<'_>,
        stream: bool,
        exchange: Exchange,
        written: Written,
    ) -> Result<ChatResponse, Failure> {
        let Exchange { response, redactor, held, sent, resent, limit } = exchange;
        let (head, body) = response.into_parts();
        let now = env.clock.now().wall;
        let limits = limits_seen(&head.headers, self.dialect, now);
        let request_id = ["x-request-id", "request-id", "x-amzn-requestid"]
            .iter()
            .find_map(|name| head.headers.get(*name)?.to_str().ok())
            .map(|id| redactor.clean(id));
        let reader = if stream { written.stream_reader(self.format) } else { None };
        let body = match reader {
            Some(reader) => ChatBody::Stream(items(Parts {
                body,
                reader,
                clock: Arc::clone(&env.clock),
                timeouts: self.timeouts,
                deadline: call.deadline,
                dialect: self.dialect,
                headers: head.headers,
                sent,
                redactor,
            })),
            None => {
                let scene = Scene {
                    dialect: self.dialect,
                    phase: Phase::BodyComplete,
                    headers: Some(&head.headers),
                    now,
                    sent: &sent,
                    redactor: Some(&redactor),
                };
                let read = limit.hold(&*env.clock, Phase::Headers, gather(body, LONGEST)).await;
                let checked = read.and_then(|read| {
                    let (bytes, whole) = read.map_err(|error| classify_transport(&error, &scene))?;
                    if !whole {
                        return Err(unreadable("response_too_large", "the answer is longer than 64 MiB"));
                    }
                    self.check(head.status.as_u16(), bytes, &scene)
                });
                match checked {
                    Ok(doc) => ChatBody::Whole(doc),
                    Err(failure) => {
                        self.credentials.heard(&held, Some(&failure), now);
                        return Err(failure);
                    }
                }
            }
        };
        self.credentials.heard(&held, None, now);
        let mut response = ChatResponse::new(self.format, body);
        (response.limits, response.notes, response.names) = (limits, written.notes, written.names);
        (response.request_id, response.resent) = (request_id, resent);
        Ok(response)
    }

    /// A success has to be an answer.
    fn check(&self, status: u16, bytes: Bytes, scene: &Scene<'_>) -> Result<Doc, Failure> {
        let doc = match Doc::parse_with_limit(bytes.clone(), LONGEST) {
            Ok(doc) => doc,
            Err(_) if bytes.trim_ascii_start().first() == Some(&b'<') => {
                return Err(classify(status, &bytes, scene));
            }
            Err(error) => return Err(unreadable("bad_json", &format!("the answer is no JSON: {error}"))),
        };
        match self.format.read_reply(&doc) {
            Ok(_) => {}
            Err(WireError::Vendor(error)) if error.code.as_deref() == Some("empty_reply") => {
                return Err(unreadable("empty_reply", "the answer has no content"));
            }
            Err(WireError::Vendor(error)) => return Err(classify_error(&error, scene)),
            Err(WireError::Unsupported { .. }) => {} // the wire passes through and cannot be looked into
            Err(_) => return Err(classify_or_shape(status, &bytes, &doc, scene)),
        }
        Ok(doc)
    }

    #[cfg(feature = "sigv4")]
    fn sign(&self, held: &Held, request: &mut Request<Bytes>, env: &Env) -> Result<(), Failure> {
        let Held::Aws(keys) = held else { return Ok(()) };
        let region = self.values.iter().find(|(name, _)| name == "region").map(|(_, value)| value.as_str());
        super::sigv4::sign(request, keys, region.unwrap_or("us-east-1"), "bedrock", env.clock.now().wall)
            .map_err(|message| Failure::local(FailureKind::InvalidRequest, "cannot_sign", message))
    }

    #[cfg(not(feature = "sigv4"))]
    fn sign(&self, held: &Held, _: &mut Request<Bytes>, _: &Env) -> Result<(), Failure> {
        match held {
            Held::Aws(_) => Err(Failure::local(
                FailureKind::Unsupported,
                "cannot_sign",
                "AWS keys need the feature sigv4; an API key of Bedrock works without",
            )),
            _ => Ok(()),
        }
    }
}
