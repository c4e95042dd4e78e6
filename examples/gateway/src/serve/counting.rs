//! How many tokens a request has, as it would be sent: counted by the vendor that would get it, where that is one call
//! on its own wire; estimated otherwise, and then the answer says so.

use axum::body::Body;
use axum::response::Response;
use http::HeaderValue;
use http::header::CONTENT_TYPE;
use omniroute_core::wire::{self, Wire};
use omniroute_core::{ChatRequest, Estimator, Tokenizer, Transcript};
use omniroute_providers::Call;
use serde_json::json;

use super::control;
use super::fault::Fault;
use super::gateway::Gateway;
use super::ops::Ask;

/// A count, and who counted.
struct Count {
    tokens: u64,
    by: String,
}

/// `/v1/messages/count_tokens`.
pub(super) async fn anthropic(ask: &Ask) -> Result<Response, Fault> {
    let count = count(ask, wire::ANTHROPIC, None).await?;
    Ok(told(json!({ "input_tokens": count.tokens }), &count))
}

/// `:countTokens`. The request may stand one level down.
pub(super) async fn gemini(ask: &Ask, model: String) -> Result<Response, Fault> {
    let count = count(ask, wire::GEMINI, Some(model)).await?;
    Ok(told(json!({ "totalTokens": count.tokens }), &count))
}

fn told(body: serde_json::Value, count: &Count) -> Response {
    let mut response = Response::new(Body::from(body.to_string()));
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    super::chat::put(&mut response, "x-omniroute-counter", &count.by);
    response
}

async fn count(ask: &Ask, wire: Wire, model: Option<String>) -> Result<Count, Fault> {
    let gateway = &*ask.gateway;
    let mut doc = super::intake::doc(ask.body.clone())?;
    if wire == wire::GEMINI
        && let Some(inner) = doc.get(doc.root(), "generateContentRequest")
    {
        doc = super::intake::doc(ask.body.slice(doc.span(inner)))?;
    }
    let defaults = omniroute_core::route::RouteOptions::default();
    let control = control::read(&ask.head.headers, &doc, &ask.caller, &defaults, &gateway.section)?;
    let mut request = ChatRequest::from_doc(wire, doc).with_principal(ask.caller.principal.clone());
    if let Some(session) = control.session {
        request = request.with_session(session);
    }
    let said = model.unwrap_or_else(|| request.model().trim().to_owned());
    let missing = || Fault::bad("missing_model", "the request names no model").at("model");
    let model = if said.is_empty() { gateway.default_model.clone().ok_or_else(missing)? } else { said };
    request = request.with_address(model, false);
    let wrong = |error: omniroute_core::DocError| Fault::bad("invalid_request", error.to_string());
    request.conversation().map_err(wrong)?;
    let now = gateway.env.clock.now();
    // Nothing is remembered of a request that is only counted.
    let of_route = gateway.router.compression_of(&request.model());
    let profile = control.options.profile.as_deref().or(of_route.as_deref());
    if let Some(plain) = gateway.preview(profile) {
        plain.compress_with(&mut request, omniroute_compress::CallOptions::default(), now);
    }
    let explained = gateway.router.explain_with(&request, &control.options);
    let explained = match explained {
        Ok(explained) => Some(explained),
        // Whoever rests now may answer later: that is no reason not to count.
        Err(error) if matches!(error.status, 429 | 503) => None,
        Err(error) => return Err(Fault::of_chat(&error, now.wall)),
    };
    if let Some(first) = explained.as_ref().and_then(|explained| explained.picks.first()) {
        let (provider, rest) = first.key.split_once('/').unwrap_or((&first.key, ""));
        let (connection, model) = rest.split_once('/').unwrap_or((rest, ""));
        let line = gateway.lines.iter().find(|line| &*line.provider == provider && &*line.name == connection);
        if let Some(line) = line.filter(|line| line.http.wire() == wire) {
            let counted = line.http.count_tokens(&gateway.env, request.to_bytes(), &Call::new(model)).await;
            if let Ok(tokens) = counted {
                return Ok(Count { tokens, by: format!("vendor; provider={provider}; model={model}") });
            }
        }
    }
    Ok(estimate(&request))
}

fn estimate(request: &ChatRequest) -> Count {
    let estimator = Estimator::for_model(&request.model());
    let doc = request.doc();
    let tokens = match request.conversation() {
        Ok(conversation) => Transcript::from_conversation(doc, &conversation)
            .segments()
            .iter()
            .map(|segment| u64::from(estimator.count(segment.original())))
            .sum(),
        Err(_) => 0,
    };
    Count { tokens, by: format!("estimate; {}", estimator.id()) }
}

impl Gateway {
    /// A compressor that remembers nothing; none: nothing is compressed.
    pub(super) fn preview(&self, profile: Option<&str>) -> Option<omniroute_compress::Compress> {
        let plan = profile.or(self.compress.as_ref().map(|_| self.plan.as_str()))?;
        self.section.builder(plan).ok()?.memo(omniroute_compress::MemoLimits::none()).build().ok()
    }
}
