//! What holds for every answer: names and pages are checked first, every answer has its name and its version, errors
//! have one shape, pages of allowed origins may read.

use std::convert::Infallible;
use std::sync::Arc;

use axum::body::Body;
use axum::extract::{RawPathParams, Request, State};
use axum::response::Response;
use axum::routing::on;
use bytes::Bytes;
use futures::FutureExt;
use http::header::{
    ACCESS_CONTROL_ALLOW_HEADERS, ACCESS_CONTROL_ALLOW_METHODS, ACCESS_CONTROL_ALLOW_ORIGIN,
    ACCESS_CONTROL_EXPOSE_HEADERS, ACCESS_CONTROL_MAX_AGE, CONTENT_TYPE, VARY,
};
use http::{HeaderMap, HeaderValue, Method, StatusCode, Uri};
use tower::ServiceExt;

use super::control::request_id;
use super::fault::{Dialect, Fault};
use super::gateway::{Gateway, Telling};
use super::guard::Page;
use super::intake;
use super::keys::Caller;
use super::ops::{Ask, Op, Run, Takes, ops};

const ALLOWED_HEADERS: &str = "authorization, content-type, x-api-key, anthropic-version, anthropic-beta, \
    x-goog-api-key, x-session-id, x-codex-session-id, x-request-id, idempotency-key, x-omniroute-session, \
    x-omniroute-compression, x-omniroute-mode, x-omniroute-connection, x-omniroute-tag, x-omniroute-budget-usd, \
    x-omniroute-explain, x-omniroute-lease-owner, x-omniroute-lease-generation";
const EXPOSED: &str = "x-request-id, x-omniroute-version, x-omniroute-decision, x-omniroute-compression, \
    x-omniroute-tokens-in, x-omniroute-tokens-out, x-omniroute-cost-usd, x-omniroute-receipt-id, x-omniroute-note, \
    x-omniroute-modality-bridge, retry-after";

/// Everything that answers.
#[derive(Debug, Clone)]
pub(super) struct Outer {
    gateway: Arc<Gateway>,
    routes: axum::Router,
}

impl Outer {
    pub(super) fn new(gateway: Arc<Gateway>) -> Outer {
        let mut routes = axum::Router::new();
        for op in ops() {
            let handler =
                move |State(gateway): State<Arc<Gateway>>, path: RawPathParams, request: Request| {
                    let path = path.iter().map(|(_, value)| value.to_owned()).collect();
                    run(gateway, op, path, request)
                };
            routes = routes.route(op.path, on(op.method.filter(), handler));
        }
        let routes = routes
            .fallback(|request: Request| async move { lost(&request) })
            .method_not_allowed_fallback(
                |uri: Uri, request: Request| async move { wrong_method(&uri, &request) },
            )
            .with_state(Arc::clone(&gateway));
        Outer { gateway, routes }
    }

    /// Answers a request.
    pub(super) async fn serve(&self, mut request: Request) -> Result<Response, Infallible> {
        let id: Arc<str> = request_id(request.headers(), || self.gateway.request_id()).into();
        let dialect = Dialect::of(request.uri().path());
        request.extensions_mut().insert(Arc::clone(&id));
        request.extensions_mut().insert(dialect);
        let page = self.gateway.guard.check(request.method(), request.uri(), request.headers());
        let stopping = self.gateway.stopping.begun.clone().now_or_never().is_some();
        let mut response = match &page {
            Err(fault) => fault.response(dialect, &id),
            Ok(_) if stopping => {
                Fault::new(503, "shutting_down", "the gateway is shutting down").response(dialect, &id)
            }
            Ok(_) if request.method() == Method::OPTIONS => {
                let mut response = Response::new(Body::empty());
                *response.status_mut() = StatusCode::NO_CONTENT;
                response
            }
            Ok(_) => {
                canonical(&mut request);
                let Ok(response) = self.routes.clone().oneshot(request).await;
                response
            }
        };
        let headers = response.headers_mut();
        let mut set = |name: &'static str, value: &str| {
            if let Ok(value) = HeaderValue::from_str(value) {
                headers.insert(name, value);
            }
        };
        if self.gateway.telling != Telling::Nothing {
            set("x-request-id", &id);
            if dialect == Dialect::Anthropic {
                set("request-id", &id);
            }
        }
        if self.gateway.telling == Telling::Full {
            set("x-omniroute-version", env!("CARGO_PKG_VERSION"));
        }
        set("x-content-type-options", "nosniff");
        if let Ok(Page::Other(origin)) = &page {
            open_to(headers, origin);
        }
        headers.append(VARY, HeaderValue::from_static("Origin"));
        Ok(response)
    }
}

/// A page of this origin may read the answer.
fn open_to(headers: &mut HeaderMap, origin: &str) {
    if let Ok(origin) = HeaderValue::from_str(origin) {
        headers.insert(ACCESS_CONTROL_ALLOW_ORIGIN, origin);
    }
    headers.insert(ACCESS_CONTROL_ALLOW_METHODS, HeaderValue::from_static("GET, POST, PUT, PATCH, DELETE"));
    headers.insert(ACCESS_CONTROL_ALLOW_HEADERS, HeaderValue::from_static(ALLOWED_HEADERS));
    headers.insert(ACCESS_CONTROL_EXPOSE_HEADERS, HeaderValue::from_static(EXPOSED));
    headers.insert(ACCESS_CONTROL_MAX_AGE, HeaderValue::from_static("600"));
}

/// The same path, however it is spelled: `/api/v1` is `/v1`, a slash at the end does not count.
fn canonical(request: &mut Request) {
    let path = request.uri().path();
    let kept = ["/api/v1/session-leases", "/api/v1/me"].contains(&path.trim_end_matches('/'));
    let short = path.strip_prefix("/api").filter(|rest| rest.starts_with("/v1/") && !kept).unwrap_or(path);
    let short = if short.len() > 1 { short.trim_end_matches('/') } else { short };
    if short == path {
        return;
    }
    let query = request.uri().query().map_or_else(String::new, |query| format!("?{query}"));
    if let Ok(uri) = format!("{short}{query}").parse() {
        *request.uri_mut() = uri;
    }
}

fn named(request: &Request) -> (Dialect, Arc<str>) {
    let dialect = request.extensions().get().copied().unwrap_or(Dialect::OpenAi);
    (dialect, request.extensions().get().cloned().unwrap_or_else(|| "".into()))
}

/// Carries out a row.
async fn run(gateway: Arc<Gateway>, op: &'static Op, path: Vec<String>, request: Request) -> Response {
    let (dialect, id) = named(&request);
    let answer =
        std::panic::AssertUnwindSafe(carried(gateway, op, path, request, dialect)).catch_unwind().await;
    match answer {
        Ok(Ok(response)) => response,
        Ok(Err(fault)) => fault.response(dialect, &id),
        Err(_) => Fault::new(500, "internal_error", "something is wrong with us").response(dialect, &id),
    }
}

async fn carried(
    gateway: Arc<Gateway>,
    op: &'static Op,
    path: Vec<String>,
    request: Request,
    dialect: Dialect,
) -> Result<Response, Fault> {
    let (head, body) = request.into_parts();
    let caller: Caller = if op.open() {
        // Who shows a key is told more.
        match gateway.keys.caller(&head.headers, false) {
            Ok(caller) => caller,
            Err(fault) if fault.code == "missing_api_key" => super::keys::Caller::nobody(),
            Err(fault) => return Err(fault),
        }
    } else {
        let caller = gateway.admit(&head.headers, dialect == Dialect::Gemini, op);
        caller.map_err(|fault| super::ops::refused(op, fault))?
    };
    let inference = head.uri.path().starts_with("/v1");
    let body = match op.takes {
        Takes::Nothing => Bytes::new(),
        Takes::Upload => intake::read(&head.headers, body, gateway.limits.body).await?,
        Takes::Request => {
            intake::json_type(&head.headers, inference || op.path == "/api/chat")?;
            intake::read(&head.headers, body, gateway.limits.body).await?
        }
        Takes::Fields => {
            let bytes = intake::read(&head.headers, body, op.longest(&gateway)).await?;
            if !bytes.is_empty() {
                intake::json_type(&head.headers, false).map_err(|fault| super::ops::refused(op, fault))?;
            }
            bytes
        }
    };
    match op.run {
        Run::Whole(run) => run(Ask { gateway, caller, head, body, path }).await,
        Run::Value(run) => {
            let input = op.input(&path, head.uri.query().unwrap_or_default(), &body)?;
            let value = run(gateway, caller, input).await?;
            let mut response = Response::new(Body::from(value.to_string()));
            response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
            response.headers_mut().insert("cache-control", HeaderValue::from_static("no-store"));
            Ok(response)
        }
    }
}

/// Nothing is there.
fn lost(request: &Request) -> Response {
    let (dialect, id) = named(request);
    let path = request.uri().path();
    let hint = if path.starts_with("/v1/v1/") {
        "; a base URL should end in /v1, not /v1/v1".to_owned()
    } else {
        String::new()
    };
    let path: String = path.chars().take(100).collect();
    Fault::new(404, "not_found", format!("there is nothing at {path}{hint}")).response(dialect, &id)
}

/// Something is there, for another method.
fn wrong_method(uri: &Uri, request: &Request) -> Response {
    let (dialect, id) = named(request);
    let rule =
        format!("{} is not for {}", uri.path().chars().take(100).collect::<String>(), request.method());
    Fault::new(405, "method_not_allowed", rule).response(dialect, &id)
}
