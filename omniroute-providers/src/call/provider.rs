//! One provider of the catalogue, called over the host's HTTP. It keeps no state of its own.

use std::sync::Arc;

use bytes::Bytes;
use http::HeaderMap;
use omniroute_core::hub::WriteContext;
use omniroute_core::wire::{Wire, translate};
use omniroute_core::{
    CallContext, ChatBody, ChatRequest, ChatResponse, Env, Failure, FailureKind, Mono, Phase, Provider,
    ProviderId,
};

use super::body;
use super::clocked::{Limit, Timeouts, What};
use super::correct::{self, Correction};
use super::exchange::Sending;
use super::gathered;
use super::lessons::Lessons;
use super::patience;
use super::steps::refused;
use super::wires::wire_of;
use crate::catalog::Catalog;
use crate::classify::Dialect;
use crate::credentials::{CredentialSource, Fixed, Held};
use crate::data::{ProviderRow, WireId};
use crate::prepare::{PrepareError, Settings, prepare};

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
    pub(crate) lessons: Option<Arc<dyn Lessons>>,
    pub(crate) format: Wire,
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
    lessons: Option<Arc<dyn Lessons>>,
}

/// One call.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Call<'a> {
    /// The provider's name of the model.
    pub model: &'a str,
    /// Whether the answer is to be streamed. Default: as the body says; two wires say it in the address alone.
    pub stream: Option<bool>,
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

    /// Where habits of the host are kept for a day, so that a request is right at once the next time; default nowhere.
    #[must_use]
    pub fn lessons(mut self, lessons: Arc<dyn Lessons>) -> Self {
        self.lessons = Some(lessons);
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
            lessons: self.lessons,
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
            lessons: None,
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
    /// - Never sleeps, and sends again at once and once only where the refusal says what helps: after a 401 with
    ///   another credential, if the source has one; after a 400 that names it with another name of the output limit,
    ///   without a parameter, or without reasoning whose signatures are not accepted. Each change is noted.
    /// - Dropping the future, or the stream of the answer, ends the call at the vendor.
    /// - Where the row streams only, a whole answer is put together from the stream.
    /// - A whole answer is checked: an error inside a success and an empty answer are failures. An answer without
    ///   content that the vendor itself ended as complete (`stop`, `end_turn`, `completed`) is none: it passes, whole
    ///   as it is, streamed with the error `empty_reply` as its last event, and the caller decides. Put
    ///   together from a stream it stays a failure.
    /// - More tools than the vendor takes (128 at OpenAI) are refused before anything is sent.
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
        context.quirks.max_tools = context.quirks.max_tools.or_else(|| max_tools(&row));
        let said = request.head().stream;
        let wanted = call.stream.unwrap_or(said);
        let stream = wanted || row.force_stream;
        let mut written = translate(request, inner.format, &context).map_err(refused)?;
        let forced = stream && !wanted;
        if stream != said || forced {
            // A whole answer has its usage, also where it comes as a stream.
            let quirks = &context.quirks;
            let never = quirks.no_stream_options || quirks.drop_params.iter().any(|p| p == "stream_options");
            written.body = body::with_stream(written.body, inner.wire, stream, forced && !never)?;
        }
        written.body = body::for_cloud(written.body, &row, inner.wire)?;
        for lesson in inner.lessons.iter().flat_map(|l| l.known(call.model, env.clock.now().wall)) {
            if let Some((body, note)) = correct::apply(Correction::Lesson(lesson), &written.body, inner.wire)
            {
                written.body = body;
                written.notes.push(note);
            }
        }
        let make = |held: &Held, values: &[(&str, &str)], body: &Bytes| {
            prepare(&row, &inner.settings(held, values, call.model, stream), body.clone())
        };
        let sending = Sending { body: written.body.clone(), stream, correct: true };
        let total = Limit::after(env.clock.now().mono, inner.timeouts.total, What::Total);
        let exchange = inner.exchange(env, call, sending, &make).await?;
        let timeouts = stream.then(|| {
            let own_host = inner.id.as_str() == "anthropic";
            let usual = inner.timeouts.first_event;
            let first_event = patience::first_event(usual, request, inner.wire, own_host);
            Timeouts { first_event, ..inner.timeouts }
        });
        let mut response = inner.answer(env, call, timeouts, exchange, written).await?;
        response.body = match response.body {
            ChatBody::Stream(items) if forced => {
                let whole = gathered::whole(items, inner.format);
                ChatBody::Whole(total.hold(&*env.clock, Phase::MidStream, whole).await??)
            }
            body => body,
        };
        Ok(response)
    }
}

/// Most tools that a vendor is known to take.
fn max_tools(row: &ProviderRow<'_>) -> Option<usize> {
    matches!(row.id.as_ref(), "openai" | "azure-openai").then_some(128)
}

#[async_trait::async_trait]
impl Provider for HttpProvider {
    fn id(&self) -> &ProviderId {
        HttpProvider::id(self)
    }

    async fn chat(&self, request: &ChatRequest, cx: CallContext<'_>) -> Result<ChatResponse, Failure> {
        let CallContext { model, stream, deadline, write, headers, .. } = cx;
        let call = Call { model, stream, deadline, context: write, headers };
        HttpProvider::chat(self, cx.env, request, &call).await
    }
}

impl Inner {
    pub(crate) fn row(&self) -> Result<ProviderRow<'_>, Failure> {
        let missing =
            || Failure::local(FailureKind::Unavailable, "unknown_provider", "the catalogue has no such row");
        self.catalog.provider(self.id.as_str()).ok_or_else(missing)
    }

    /// What a request is prepared with.
    pub(crate) fn settings<'a>(
        &'a self,
        held: &'a Held,
        values: &'a [(&'a str, &'a str)],
        model: &'a str,
        stream: bool,
    ) -> Settings<'a> {
        let (base_url, credential) = (self.base_url.as_deref(), held.as_credential());
        Settings { model, wire: Some(self.wire), stream, base_url, values, credential }
    }
}
