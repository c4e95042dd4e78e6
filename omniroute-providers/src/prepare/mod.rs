//! A provider row, settings and a body become one HTTP request. No I/O, no clock, no environment.

mod auth;
mod error;
mod secret;
mod url;

use bytes::Bytes;
use http::header::{ACCEPT, CONTENT_TYPE, HeaderValue, USER_AGENT};
use http::{HeaderMap, HeaderName, Method, Request};

use crate::availability::Availability;
use crate::data::{Auth, ProviderRow, WireId};

pub use error::PrepareError;
pub use secret::{Credential, KeyOrigin, Secret, key_from};
#[cfg(feature = "transport-reqwest")]
pub(crate) use url::is_loopback;
pub(crate) use url::is_vertex;

/// What a call needs beside the row and the body. Everything but `model` has a default.
#[derive(Clone, Debug, Default)]
pub struct Settings<'a> {
    /// The provider's name of the model. Some wires have it in the path.
    pub model: &'a str,
    /// Wire to speak; default the row's main wire.
    pub wire: Option<WireId>,
    /// The answer is to be streamed. The body must say the same; some wires say it in the path.
    pub stream: bool,
    /// Base address instead of the row's. A key from the row's environment variable does not go there.
    pub base_url: Option<&'a str>,
    /// Values of the placeholders of the address, by name, and `deployment` and `api_version` for Azure's older form.
    pub values: &'a [(&'a str, &'a str)],
    /// The right to call.
    pub credential: Credential<'a>,
}

/// The request that carries `body` to the provider.
///
/// # Behavior
/// - The body goes as it is.
/// - The key travels in a header that is marked sensitive; it is in no `Debug` output and in no error.
/// - A key from the row's environment variable goes to the host of the row only.
/// - Plain `http` to loopback addresses only.
///
/// # Errors
/// [`PrepareError`] says what is missing or refused, and for rows that are not built, why.
///
/// ```
/// use omniroute_providers::{Catalog, Credential, KeyOrigin, Secret, Settings, prepare};
///
/// let catalog = Catalog::embedded();
/// let row = catalog.provider("groq").ok_or("no row")?;
/// let key = Secret::new("gsk_example");
/// let settings = Settings {
///     model: "llama-3.3-70b-versatile",
///     credential: Credential::Key { secret: &key, origin: KeyOrigin::RowVariable },
///     ..Settings::default()
/// };
/// let request = prepare(&row, &settings, r#"{"model":"llama-3.3-70b-versatile","messages":[]}"#)?;
/// assert_eq!(request.uri(), "https://api.groq.com/openai/v1/chat/completions");
/// assert!(!format!("{request:?}").contains("gsk_example"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn prepare(
    row: &ProviderRow<'_>,
    settings: &Settings<'_>,
    body: impl Into<Bytes>,
) -> Result<Request<Bytes>, PrepareError> {
    Availability::of(row).allows(row, settings.base_url.is_some())?;
    let wire = settings.wire.unwrap_or(row.wire);
    let point = Endpoint::of(row, wire)?;
    let target = url::build(row, &point, settings)?;
    let mut headers = HeaderMap::new();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    headers.insert(ACCEPT, accept(wire, settings.stream));
    headers.insert(USER_AGENT, HeaderValue::from_static(concat!("omniroute/", env!("CARGO_PKG_VERSION"))));
    if wire == WireId::AnthropicMessages && !url::is_vertex(row) {
        let version = HeaderValue::from_static("2023-06-01");
        headers.insert(HeaderName::from_static("anthropic-version"), version);
    }
    auth::apply(row, &point, &target, settings, &mut headers)?;
    let mut request = Request::new(body.into());
    *request.method_mut() = Method::POST;
    *request.uri_mut() = target.uri;
    *request.headers_mut() = headers;
    Ok(request)
}

/// Whether the catalogue may hold this address: https, or http on this machine; a whole placeholder is filled later.
pub(crate) fn is_address(url: &str) -> bool {
    let whole = url.starts_with('{') && url.ends_with('}') && url.matches('{').count() == 1;
    let plain = url.split('?').next().unwrap_or(url);
    whole
        || url::Origin::of(plain)
            .is_some_and(|origin| origin.scheme == "https" || url::is_loopback(origin.host))
}

/// Whether secrets may be sent to this address: https, or http on this machine.
pub(crate) fn is_secure_address(url: &str) -> bool {
    url::Origin::of(url).is_some_and(|origin| origin.scheme == "https" || url::is_loopback(origin.host))
}

/// Where and how one wire of a provider is served.
#[derive(Debug)]
pub(crate) struct Endpoint<'r> {
    pub(crate) wire: WireId,
    pub(crate) base_url: Option<&'r str>,
    pub(crate) path: Option<&'r str>,
    pub(crate) auth: &'r Auth<'r>,
}

impl<'r> Endpoint<'r> {
    pub(crate) fn of(row: &'r ProviderRow<'_>, wire: WireId) -> Result<Self, PrepareError> {
        let refused = || PrepareError::Wire { provider: row.id.to_string(), wire };
        if !wire.is_written() {
            return Err(refused());
        }
        if wire == row.wire {
            let (base_url, path) = (row.base_url.as_deref(), row.path.as_deref());
            return Ok(Endpoint { wire, base_url, path, auth: &row.auth });
        }
        let alt = row.alt_wire(wire).filter(|alt| alt.known).ok_or_else(refused)?;
        Ok(Endpoint {
            wire,
            base_url: alt.base_url.as_deref().or(row.base_url.as_deref()),
            path: alt.path.as_deref(),
            auth: alt.auth.as_ref().unwrap_or(&row.auth),
        })
    }
}

/// What is asked for: whole, or the kind of stream that the wire has.
pub(crate) fn accept(wire: WireId, stream: bool) -> HeaderValue {
    HeaderValue::from_static(match (stream, wire) {
        (false, _) => "application/json",
        (true, WireId::BedrockConverse) => "application/vnd.amazon.eventstream",
        (true, WireId::Ollama) => "application/x-ndjson",
        (true, _) => "text/event-stream",
    })
}
