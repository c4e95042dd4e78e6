//! Exclusive leases of connections.

use std::sync::Arc;

use axum::body::Body;
use axum::response::Response;
use futures::FutureExt;
use http::header::{CONTENT_TYPE, RETRY_AFTER};
use http::{HeaderValue, StatusCode};
use omniroute_core::{ChatRequest, ConnectionId, ModelId, ProviderId, Target, UnixMs, wire};
use omniroute_resilience::{
    AcquireLease, Acquired, EndReason, FenceError, LeaseView, OwnerToken, Renewed, Span, Status,
};
use omniroute_route::ChatOptions;
use serde_json::{Value, json};

use super::super::control::lease_fault;
use super::super::fault::Fault;
use super::super::gateway::Gateway;
use super::super::keys::{Caller, Scope};
use super::super::moment::rfc3339;
use super::{Ask, Effect, Field, Op, Place, Run, Takes, Type, Verb};

const fn body(name: &'static str, kind: Type, needed: bool, about: &'static str) -> Field {
    Field { name, place: Place::Body, kind, needed, about }
}

const FIELDS: &[Field] = &[
    body("action", Type::Text, true, "acquire, renew, release or status"),
    body("model", Type::Text, false, "what is to be asked, with acquire; 1 to 512 characters"),
    body("generation", Type::Integer, false, "the lease's generation, with all but acquire"),
    body("ttl_ms", Type::Integer, false, "how long without renewal, 1000 to 1800000"),
    body("reason", Type::Text, false, "OWNER_EXIT or CLIENT_CANCELLED, with release"),
];

/// The rows.
pub(super) const OPS: &[Op] = &[Op {
    name: "lease",
    summary: "Hold a connection for one owner: acquire, renew, release, status",
    scopes: &[&[Scope::Lease]],
    effect: Effect::Write,
    method: Verb::Post,
    path: "/api/v1/session-leases",
    takes: Takes::Fields,
    fields: FIELDS,
    run: Run::Whole(|ask| async move { lease(&ask).await }.boxed()),
}];

/// A refusal in the words of leases.
pub(super) fn refused(fault: Fault) -> Fault {
    let code = match fault.code.as_str() {
        "missing_api_key" => "LEASE_AUTHENTICATION_REQUIRED",
        "invalid_api_key" => "LEASE_API_KEY_INVALID",
        "insufficient_scope" => "LEASE_SCOPE_REQUIRED",
        "unsupported_media_type" => "LEASE_CONTENT_TYPE_REQUIRED",
        _ => return Fault { kind: Some("lease_error"), ..fault },
    };
    Fault { kind: Some("lease_error"), code: code.to_owned(), ..fault }
}

async fn lease(ask: &Ask) -> Result<Response, Fault> {
    let Ask { gateway, caller, head, .. } = ask;
    if caller.connections.is_empty() {
        return Err(lease_fault(403, "LEASE_KEY_CONFIGURATION_INVALID", "this key names no connections"));
    }
    let op = OPS.first().expect("there is one row");
    let input = op.input(&ask.path, head.uri.query().unwrap_or_default(), &ask.body);
    let input = input.map_err(|fault| lease_fault(400, "LEASE_ACTION_INVALID", &fault.message))?;
    let owner = head.headers.get("x-omniroute-lease-owner");
    let missing =
        || lease_fault(400, "LEASE_CONTEXT_REQUIRED", "the header x-omniroute-lease-owner is missing");
    let owner = owner.ok_or_else(missing)?.to_str().ok().and_then(|text| OwnerToken::parse(text.trim()).ok());
    let malformed =
        || lease_fault(400, "LEASE_CONTEXT_INVALID", "the header x-omniroute-lease-owner is malformed");
    let owner = owner.ok_or_else(malformed)?.hash();
    let wrong = |rule: &str| lease_fault(400, "LEASE_ACTION_INVALID", rule);
    let text = |name: &str| input.get(name).and_then(Value::as_str);
    let ttl = match input.get("ttl_ms").map(Value::as_u64) {
        None => None,
        Some(Some(ms)) if (1_000..=1_800_000).contains(&ms) => Some(Span::ms(ms)),
        Some(_) => return Err(wrong("ttl_ms is out of 1000 to 1800000")),
    };
    let action = text("action").unwrap_or_default();
    let allowed: &[&str] = match action {
        "acquire" => &["action", "model", "ttl_ms"],
        "renew" => &["action", "generation", "ttl_ms"],
        "release" => &["action", "generation", "reason"],
        "status" => &["action", "generation"],
        _ => return Err(wrong("action is none of acquire, renew, release, status")),
    };
    if let Some(name) = input.keys().find(|name| !allowed.contains(&name.as_str())) {
        return Err(wrong(&format!("{name} does not belong to {action}")));
    }
    let leases = gateway.resilience.leases();
    if action == "acquire" {
        let model = text("model").filter(|model| (1..=512).contains(&model.chars().count()));
        let model = model.ok_or_else(|| wrong("a model of 1 to 512 characters is needed"))?;
        let candidates = candidates(gateway, caller, model)?;
        let ask = AcquireLease { owner, consumer: caller.principal.clone(), candidates, ttl };
        let now = gateway.env.clock.now().wall;
        return match leases.acquire(&ask).await.map_err(|error| fenced(&error))? {
            Acquired::Acquired(view) | Acquired::Reused(view) | Acquired::Transitioned(view) => {
                Ok(told(shown(&view)))
            }
            Acquired::CapacityUnavailable { retry_at, eligible } => Ok(busy(retry_at, eligible, now)),
            Acquired::NoEligible(Some(_)) => {
                Err(lease_fault(429, "LEASE_ELIGIBILITY_UNAVAILABLE", "every allowed connection rests"))
            }
            Acquired::NoEligible(None) => Err(lease_fault(
                409,
                "LEASE_NO_ELIGIBLE_CONNECTION",
                "no allowed connection offers the model",
            )),
            Acquired::OwnerActiveElsewhere => Err(stale()),
        };
    }
    let generation = input.get("generation").and_then(Value::as_u64).filter(|n| (1..=1 << 53).contains(n));
    let generation = generation.ok_or_else(|| wrong("a generation of 1 or more is needed"))?;
    let consumer = &caller.principal;
    let done = match action {
        "renew" => leases.renew(owner, consumer, generation, ttl).await,
        "release" => {
            let reason = match text("reason") {
                None | Some("OWNER_EXIT") => EndReason::OwnerExit,
                Some("CLIENT_CANCELLED") => EndReason::ClientCancelled,
                Some(_) => return Err(wrong("reason is none of OWNER_EXIT, CLIENT_CANCELLED")),
            };
            leases.release(owner, consumer, generation, reason).await
        }
        _ => {
            let status = leases.status(owner, consumer, generation).await.map_err(|error| fenced(&error))?;
            let Status::Active(view, provider, connection) = status else { return Err(stale()) };
            let mut out = shown(&view);
            out["connection"] = json!({ "displayName": connection.as_str(), "provider": provider.as_str() });
            return Ok(told(out));
        }
    };
    match done.map_err(|error| fenced(&error))? {
        Renewed::Done(view) => Ok(told(shown(&view))),
        Renewed::Stale => Err(stale()),
    }
}

/// Connections of this key that offer the model, best first.
fn candidates(
    gateway: &Arc<Gateway>,
    caller: &Caller,
    model: &str,
) -> Result<Vec<omniroute_resilience::Handle>, Fault> {
    let body = json!({ "model": model, "messages": [{ "role": "user", "content": "." }] }).to_string();
    let request = ChatRequest::parse(wire::OPENAI_CHAT, body)
        .map_err(|error| Fault::new(500, "internal_error", error.to_string()))?;
    let explained = gateway.router.explain_with(&request, &ChatOptions::default());
    let keys: Vec<String> = match explained {
        Ok(told) => {
            let dropped = told.dropped.iter().map(|drop| drop.key.to_string());
            told.picks.iter().map(|pick| pick.key.to_string()).chain(dropped).collect()
        }
        Err(error) if error.code.contains("model") => {
            return Err(lease_fault(400, "LEASE_MODEL_INVALID", "the model is not known"));
        }
        Err(error) => error.receipt().map_or_else(Vec::new, |receipt| {
            receipt.skipped.iter().map(|drop| drop.key.to_string()).collect()
        }),
    };
    let targets: Vec<Target> = keys
        .iter()
        .filter_map(|key| {
            let (provider, rest) = key.split_once('/')?;
            let (connection, model) = rest.split_once('/')?;
            let allowed = caller.connections.iter().any(|own| *own == format!("{provider}/{connection}"));
            allowed.then(|| Target {
                provider: ProviderId::new(provider),
                connection: ConnectionId::new(connection),
                model: ModelId::new(model),
            })
        })
        .collect();
    let handles: Vec<_> = gateway.resilience.register(&targets).into_iter().flatten().collect();
    if handles.is_empty() {
        return Err(lease_fault(
            409,
            "LEASE_NO_ELIGIBLE_CONNECTION",
            "no allowed connection offers the model",
        ));
    }
    Ok(handles)
}

fn shown(view: &LeaseView) -> Value {
    json!({
        "state": view.state, "generation": view.generation, "acquiredAt": rfc3339(view.acquired_at),
        "renewedAt": rfc3339(view.renewed_at), "expiresAt": rfc3339(view.expires_at),
    })
}

fn told(value: Value) -> Response {
    let mut response = Response::new(Body::from(value.to_string()));
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response.headers_mut().insert("cache-control", HeaderValue::from_static("no-store"));
    response
}

fn busy(retry_at: UnixMs, eligible: usize, now: UnixMs) -> Response {
    let seconds = ((retry_at.0.saturating_sub(now.0).max(0) + 999) / 1_000).clamp(1, 3_600);
    let mut response = told(json!({
        "state": "WAITING_FOR_CAPACITY",
        "error": {
            "type": "lease_error", "code": "LEASE_CAPACITY_UNAVAILABLE",
            "message": "every connection that would do is leased by others",
        },
        "reason": "NO_FREE_ELIGIBLE_CONNECTION", "retryAfter": seconds, "eligibleCount": eligible, "freeCount": 0,
    }));
    *response.status_mut() = StatusCode::TOO_MANY_REQUESTS;
    response.headers_mut().insert(RETRY_AFTER, HeaderValue::from(seconds));
    response
}

fn stale() -> Fault {
    lease_fault(409, "LEASE_FENCE_STALE", "this lease does not hold")
}

fn fenced(error: &FenceError) -> Fault {
    match error {
        FenceError::Ttl(..) => lease_fault(400, "LEASE_ACTION_INVALID", &error.to_string()),
        FenceError::NoConnections => {
            lease_fault(403, "LEASE_KEY_CONFIGURATION_INVALID", "this key names no connections")
        }
        FenceError::Store(_) => lease_fault(503, "LEASE_SERVICE_UNAVAILABLE", "the store does not answer"),
        FenceError::Off | FenceError::Volatile(_) => {
            lease_fault(503, "LEASE_SERVICE_UNAVAILABLE", &error.to_string())
        }
    }
}
