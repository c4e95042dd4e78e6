//! Requests for models on the four wires, and on Ollama's.

use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::response::Response;
use bytes::Bytes;
use futures::FutureExt;
use http::header::{CACHE_CONTROL, CONTENT_TYPE};
use http::request::Parts;
use http::{HeaderName, HeaderValue};
use omniroute_core::wire::Wire;
use omniroute_core::{ChatRequest, Doc, Kind};
use omniroute_route::{ChatReply, CompressedBy, PlanSource, ReplyBody, RouteReceipt};

use super::control::{self, Control};
use super::fault::{Fault, parts};
use super::gateway::{Gateway, Place, Telling, receipt_id};
use super::keys::Caller;
use super::streams::{Framing, Told};

/// What the address says.
#[derive(Debug, Clone, Default)]
pub(super) struct Address {
    pub(super) model: Option<String>,
    pub(super) stream: Option<bool>,
    pub(super) framing: Option<Framing>,
    /// Only this provider, which the path names.
    pub(super) provider: Option<String>,
}

/// Answers a request for a model.
///
/// # Errors
/// Why there is no answer.
pub(super) async fn chat(
    gateway: &Arc<Gateway>,
    caller: &Caller,
    head: &Parts,
    body: Bytes,
    wire: Wire,
    address: Address,
) -> Result<Response, Fault> {
    let place = gateway.place()?;
    let doc = super::intake::doc(body)?;
    let Control { mut options, session, notes, explain } =
        control::read(&head.headers, &doc, caller, &gateway.defaults, &gateway.section)?;
    let mut request = request(gateway, doc, wire, &address)?.with_principal(caller.principal.clone());
    let name: Option<&Arc<str>> = head.extensions.get();
    options.request = name.cloned();
    let model = request.model().into_owned();
    let told_session = session.as_ref().map(|id| id.as_str().to_owned());
    if let Some(session) = session {
        request = request.with_session(session);
    }
    let framing = address.framing.unwrap_or(Framing::Events);
    let answered = gateway.router.chat_with(request, &options).await;
    let (receipt, reply) = match answered {
        Ok(reply) => (Some(reply.receipt_handle()), Ok(reply)),
        Err(error) => (error.receipt_handle(), Err(error)),
    };
    let id = receipt.map(|receipt| gateway.keep(caller, &model, told_session.as_deref(), receipt));
    let reply = reply.map_err(|error| Fault::of_chat(&error, gateway.env.clock.now().wall))?;
    let told = Telled { notes, explain: explain.then_some(id).flatten() };
    Ok(answer(gateway, reply, framing, place, &told))
}

/// What the headers of an answer say beside its receipt.
struct Telled {
    notes: Vec<&'static str>,
    explain: Option<u64>,
}

/// The request, with what address and configuration say of model and stream.
fn request(gateway: &Gateway, doc: Doc, wire: Wire, address: &Address) -> Result<ChatRequest, Fault> {
    if doc.kind(doc.root()) != Kind::Object {
        return Err(Fault::bad("invalid_request", "the body is no JSON object"));
    }
    if address.stream.is_none()
        && let Some(node) = doc.get(doc.root(), "stream")
        && !matches!(doc.kind(node), Kind::Bool | Kind::Null)
    {
        let rule = format!("stream is {}, allowed are true, false and null", short(doc.raw(node)));
        return Err(Fault::bad("invalid_stream", rule).at("stream"));
    }
    if let Some(node) = doc.get(doc.root(), "model")
        && !matches!(doc.kind(node), Kind::String | Kind::Null)
    {
        let rule = format!("model is {}, it has to be a text", short(doc.raw(node)));
        return Err(Fault::bad("invalid_model", rule).at("model"));
    }
    let request = ChatRequest::from_doc(wire, doc);
    let said = address.model.clone().unwrap_or_else(|| request.model().trim().to_owned());
    let stream = address.stream.unwrap_or_else(|| request.streamed());
    let mut model = if said.is_empty() {
        let missing = || Fault::bad("missing_model", "the request names no model").at("model");
        gateway.default_model.clone().ok_or_else(missing)?
    } else {
        said.clone()
    };
    if let Some(provider) = &address.provider {
        match model.split_once('/') {
            Some((named, _)) if named == provider => {}
            Some((named, _)) if gateway.lines.iter().any(|line| &*line.provider == named) => {
                let rule = format!("the path names provider {provider:?}, the model another: {model:?}");
                return Err(Fault::bad("provider_mismatch", rule).at("model"));
            }
            _ => model = format!("{provider}/{model}"),
        }
    }
    let changed = model != said || address.model.is_some() || address.stream.is_some();
    Ok(if changed { request.with_address(model, stream) } else { request })
}

/// A value for a message, cut.
fn short(raw: &str) -> String {
    let mut text: String = raw.chars().take(40).collect();
    if text.len() < raw.len() {
        text.push('…');
    }
    text
}

fn answer(
    gateway: &Arc<Gateway>,
    reply: ChatReply,
    framing: Framing,
    place: Place,
    told: &Telled,
) -> Response {
    let (receipt, wire) = (reply.receipt(), reply.wire);
    let mut response = match reply.body {
        ReplyBody::Whole(body) => {
            let mut response = Response::new(Body::from(body));
            response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
            response
        }
        ReplyBody::Stream(stream) => {
            let streams = Place::of(&gateway.streams);
            let end = move || drop((place, streams));
            let now = gateway.stopping.now.clone().boxed();
            // Clients of Gemini take a comment for data.
            let ping =
                if wire == omniroute_core::wire::GEMINI { Duration::ZERO } else { gateway.limits.ping };
            let body = Told::new(stream, framing, ping, now, end);
            let mut response = Response::new(Body::from_stream(body));
            let headers = response.headers_mut();
            headers.insert(CONTENT_TYPE, HeaderValue::from_static(framing.content_type()));
            headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-cache, no-transform"));
            headers.insert("x-accel-buffering", HeaderValue::from_static("no"));
            response
        }
    };
    if gateway.telling == Telling::Full {
        tell(&mut response, &receipt, told);
    }
    if let Some(id) = told.explain {
        put(&mut response, "x-omniroute-receipt-id", &receipt_id(id));
    }
    response
}

/// What is known of the answer when its head is sent.
fn tell(response: &mut Response, receipt: &RouteReceipt, told: &Telled) {
    let strategy = receipt.plan.as_ref().map_or("-", |plan| plan.strategy.as_str());
    let (provider, model) = receipt.answered.as_deref().map_or(("-", "-"), parts);
    let ms =
        receipt.attempts.iter().rev().find_map(|attempt| attempt.first_ms.or(attempt.ended_ms)).unwrap_or(0);
    let attempts = receipt.attempts.len();
    let decision =
        format!("strategy={strategy}; provider={provider}; model={model}; attempts={attempts}; ms={ms}");
    put(response, "x-omniroute-decision", &decision);
    if let (Some((before, after)), Some(by)) = (receipt.compressed, &receipt.compression) {
        put(response, "x-omniroute-compression", &compression((before, after), by));
    }
    if !receipt.bridged.is_empty() {
        let told =
            |b: &omniroute_route::Bridged| format!("{}->text; model={}; parts={}", b.kind, b.model, b.parts);
        let all: Vec<String> = receipt.bridged.iter().map(told).collect();
        put(response, "x-omniroute-modality-bridge", &all.join(", "));
    }
    if !receipt.streamed {
        put(response, "x-omniroute-tokens-in", &receipt.tokens.input.to_string());
        put(response, "x-omniroute-tokens-out", &receipt.tokens.output.to_string());
        let (usd, rest) = (receipt.micro_usd / 1_000_000, receipt.micro_usd % 1_000_000);
        put(response, "x-omniroute-cost-usd", &format!("{usd}.{rest:06}0000"));
    }
    if !told.notes.is_empty() {
        put(response, "x-omniroute-note", &told.notes.join(", "));
    }
}

/// What was done to the body that was sent.
fn compression((before, after): (u64, u64), by: &CompressedBy) -> String {
    let source = match by.source {
        PlanSource::Request => "request-header",
        PlanSource::Route => "routing-override",
        PlanSource::Overflow => "context-limit",
        _ => "default",
    };
    let mut out = format!("{}; source={source}; tokens={before}->{after}", by.plan);
    for (number, (rule, count)) in by.rules.iter().enumerate() {
        let start = if number == 0 { "; rules: " } else { ", " };
        out.push_str(&format!("{start}{rule} x{count}"));
    }
    out
}

/// Sets a header; what cannot stand in one is left out.
pub(super) fn put(response: &mut Response, name: &'static str, value: &str) {
    let plain: String = value.chars().filter(|c| c.is_ascii_graphic() || *c == ' ').take(512).collect();
    if let Ok(value) = HeaderValue::from_str(&plain) {
        response.headers_mut().insert(HeaderName::from_static(name), value);
    }
}
