//! HTTP/1.1 by reqwest, TLS by rustls with the certificates of the system.

use std::error::Error;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::{Request, Response, Uri};
use omniroute_core::{Body, HttpTransport, TransportError};
use reqwest::{Client, Proxy, redirect, retry};
use rustls_platform_verifier::BuilderVerifierExt;

use super::proxy::{ProxySpec, Via};
use crate::redact::Redactor;

/// Longest message of an error, in bytes.
const MESSAGE: usize = 300;

/// How a [`ReqwestTransport`] connects.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ReqwestOptions {
    /// Longest time until a connection stands, TLS included; default 10 s. It is measured by real time; every other
    /// limit of a call is measured by the clock of the host.
    pub connect: Duration,
    /// How calls leave this machine; default as the environment says.
    pub via: Via,
}

impl Default for ReqwestOptions {
    fn default() -> Self {
        ReqwestOptions { connect: Duration::from_secs(10), via: Via::Environment }
    }
}

/// HTTP over reqwest, for programs that run on tokio.
///
/// # Behavior
/// - No retries, no redirects, no cookies, no compression: what is asked is sent once, what comes is given on as it is.
/// - Bodies stream. Dropping a call or its body closes the connection.
/// - Connections that were read to their end are kept for the next call.
/// - Cloning shares the connections.
#[derive(Clone)]
pub struct ReqwestTransport {
    direct: Client,
    proxied: Option<(ProxySpec, Client)>,
    redactor: Arc<Redactor>,
}

impl fmt::Debug for ReqwestTransport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ReqwestTransport")
            .field("proxy", &self.proxied.as_ref().map(|(spec, _)| spec))
            .finish()
    }
}

impl ReqwestTransport {
    /// A transport with the usual options.
    ///
    /// # Errors
    /// As [`ReqwestTransport::with`].
    pub fn new() -> Result<Self, TransportError> {
        ReqwestTransport::with(ReqwestOptions::default())
    }

    /// A transport with these options.
    ///
    /// # Errors
    /// [`TransportError`]: phase `proxy` if the address of the proxy cannot be used, `tls` if the certificates of the
    /// system cannot be read.
    pub fn with(options: ReqwestOptions) -> Result<Self, TransportError> {
        let spec = options.via.resolve(|name| std::env::var(name).ok());
        let direct = client(options.connect, None)?;
        let mut redactor = Redactor::default();
        let proxied = match spec {
            None => None,
            Some(spec) => {
                spec.secrets().iter().for_each(|secret| redactor.learn(secret));
                // The error would show the address.
                let proxy = Proxy::all(spec.address()?)
                    .map_err(|_| TransportError::new("proxy", "the address of the proxy cannot be used"))?;
                Some((spec, client(options.connect, Some(proxy))?))
            }
        };
        Ok(ReqwestTransport { direct, proxied, redactor: Arc::new(redactor) })
    }

    fn client_for(&self, uri: &Uri) -> (&Client, bool) {
        let host = uri.host().unwrap_or_default();
        match &self.proxied {
            Some((spec, client)) if spec.takes(host) => (client, true),
            _ => (&self.direct, false),
        }
    }
}

#[async_trait::async_trait]
impl HttpTransport for ReqwestTransport {
    async fn send(&self, request: Request<Bytes>) -> Result<Response<Body>, TransportError> {
        if tokio::runtime::Handle::try_current().is_err() {
            return Err(TransportError::new("send", "this transport needs a tokio runtime"));
        }
        let (client, proxied) = self.client_for(request.uri());
        let told = |error: &reqwest::Error| told(error, proxied, &self.redactor);
        let request = reqwest::Request::try_from(request).map_err(|error| told(&error))?;
        let mut answer = client.execute(request).await.map_err(|error| told(&error))?;
        let mut response = Response::new(());
        *response.status_mut() = answer.status();
        *response.version_mut() = answer.version();
        std::mem::swap(response.headers_mut(), answer.headers_mut());
        let redactor = Arc::clone(&self.redactor);
        let pieces = futures::stream::unfold(Some((answer, redactor)), move |state| async move {
            let (mut answer, redactor) = state?;
            match answer.chunk().await {
                Ok(Some(piece)) => Some((Ok(piece), Some((answer, redactor)))),
                Ok(None) => None,
                Err(error) => Some((Err(self::told(&error, proxied, &redactor)), None)),
            }
        });
        Ok(response.map(|()| Body::stream(pieces)))
    }
}

fn client(connect: Duration, proxy: Option<Proxy>) -> Result<Client, TransportError> {
    let builder = Client::builder()
        .no_proxy()
        .redirect(redirect::Policy::none())
        .retry(retry::never())
        .referer(false)
        .connect_timeout(connect)
        .tls_backend_preconfigured(tls()?);
    let builder = match proxy {
        Some(proxy) => builder.proxy(proxy),
        None => builder,
    };
    builder.build().map_err(|error| TransportError::new("tls", chain(&error)))
}

fn tls() -> Result<rustls::ClientConfig, TransportError> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = rustls::ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
    let builder = builder.and_then(BuilderVerifierExt::with_platform_verifier);
    let builder = builder.map_err(|error| TransportError::new("tls", error.to_string()))?;
    Ok(builder.with_no_client_auth())
}

/// What went wrong, without address and secrets.
fn told(error: &reqwest::Error, proxied: bool, redactor: &Redactor) -> TransportError {
    let phase = if is_tls(error) {
        "tls"
    } else if error.is_connect() {
        if proxied { "proxy" } else { "connect" }
    } else if error.is_body() || error.is_decode() {
        "read"
    } else {
        "send"
    };
    TransportError::new(phase, redactor.clean(&chain(error)))
}

fn is_tls(error: &(dyn Error + 'static)) -> bool {
    let io = error.downcast_ref::<std::io::Error>();
    // Who closes the line in the middle of a handshake sends nothing that could be wrong.
    let ended = io.is_some_and(|io| io.to_string().starts_with("tls handshake"));
    let wrapped = io.and_then(std::io::Error::get_ref).is_some_and(|inner| is_tls(inner));
    error.is::<rustls::Error>() || ended || wrapped || error.source().is_some_and(is_tls)
}

/// The causes below the client's own words, which name the address.
fn chain(error: &reqwest::Error) -> String {
    let mut out = String::new();
    let mut next = error.source();
    while let Some(cause) = next {
        let words = cause.to_string();
        if !out.contains(&words) {
            out.push_str(if out.is_empty() { "" } else { ": " });
            out.push_str(&words);
        }
        next = cause.source();
    }
    if out.is_empty() {
        out.push_str(if error.is_timeout() { "no connection in time" } else { "the exchange failed" });
    }
    let end = (0..=MESSAGE.min(out.len())).rev().find(|at| out.is_char_boundary(*at)).unwrap_or(0);
    out.truncate(end);
    out
}
