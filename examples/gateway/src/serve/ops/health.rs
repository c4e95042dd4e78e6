//! How everything stands, and putting it right by hand.

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use axum::body::Body;
use axum::response::Response;
use futures::FutureExt;
use http::{HeaderValue, StatusCode};
use omniroute_core::{ConnectionId, Mono, ProviderId};
use omniroute_resilience::{Health, ResetFilter, connection_ref};
use serde_json::{Map, Value, json};

use super::super::fault::Fault;
use super::super::gateway::Gateway;
use super::super::keys::{Caller, Scope};
use super::super::moment::rfc3339;
use super::{Effect, Field, Op, Place, Run, Takes, Type, Verb};

const fn body(name: &'static str, kind: Type, about: &'static str) -> Field {
    Field { name, place: Place::Body, kind, needed: false, about }
}

const RESET: &[Field] = &[
    body(
        "kinds",
        Type::Texts,
        "what to clear: breaker, cooldown, lockout, terminal; by default breaker and lockout",
    ),
    body("provider", Type::Text, "only of this provider"),
    body("connection", Type::Text, "only of the connection with this ref"),
    body("dry_run", Type::Flag, "only count"),
];

const fn row(name: &'static str, path: &'static str, summary: &'static str, run: Run) -> Op {
    Op {
        name,
        summary,
        scopes: &[],
        effect: Effect::Read,
        method: Verb::Get,
        path,
        takes: Takes::Nothing,
        fields: &[],
        run,
    }
}

/// The rows.
pub(super) const OPS: &[Op] = &[
    row(
        "health.alive",
        "/healthz",
        "Whether the program runs",
        Run::Whole(|_| {
            async { Ok(plain(StatusCode::OK, "text/plain; charset=utf-8", "ok\n".to_owned())) }.boxed()
        }),
    ),
    row(
        "health.ready",
        "/readyz",
        "Whether requests can be answered",
        Run::Whole(|ask| {
            async move {
                let reasons = not_ready(&ask.gateway);
                let status =
                    if reasons.is_empty() { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
                let body = json!({ "ready": reasons.is_empty(), "reasons": reasons }).to_string();
                Ok(plain(status, "application/json", body))
            }
            .boxed()
        }),
    ),
    row(
        "health.get",
        "/api/monitoring/health",
        "How everything stands; all of it with scope read:health",
        Run::Value(|gateway, caller, _| {
            async move { Ok(health(&gateway, caller.scopes.has(Scope::ReadHealth))) }.boxed()
        }),
    ),
    Op {
        scopes: &[&[Scope::WriteResilience]],
        effect: Effect::Write,
        method: Verb::Post,
        takes: Takes::Fields,
        fields: RESET,
        ..row(
            "resilience.reset",
            "/api/resilience/reset",
            "Forget failures: breakers, rests, locks",
            Run::Value(|gateway, caller, input| {
                async move { reset(&gateway, &caller, &input).await }.boxed()
            }),
        )
    },
    Op {
        scopes: &[&[Scope::ReadHealth]],
        ..row(
            "resilience.config",
            "/api/resilience/config",
            "The limits in force",
            Run::Value(|gateway, _, _| {
                async move { serde_json::to_value(gateway.resilience.config()).map_err(odd) }.boxed()
            }),
        )
    },
];

fn odd(error: serde_json::Error) -> Fault {
    Fault::new(500, "internal_error", error.to_string())
}

fn plain(status: StatusCode, kind: &'static str, body: String) -> Response {
    let mut response = Response::new(Body::from(body));
    *response.status_mut() = status;
    response.headers_mut().insert(http::header::CONTENT_TYPE, HeaderValue::from_static(kind));
    response.headers_mut().insert("cache-control", HeaderValue::from_static("no-store"));
    response
}

fn not_ready(gateway: &Gateway) -> Vec<&'static str> {
    let health = gateway.resilience.health();
    let mut reasons = Vec::new();
    if health.store_degraded {
        reasons.push("store_degraded");
    }
    if !gateway.lines.iter().any(|line| line.ready) {
        reasons.push("no_connections");
    } else if usable(gateway, &health) == 0 {
        reasons.push("no_connection_usable");
    }
    reasons
}

/// Connections that could be asked now.
fn usable(gateway: &Gateway, health: &Health) -> usize {
    let open = |provider: &str| {
        let breakers = health.breakers.iter().filter(|breaker| breaker.provider.as_str() == provider);
        breakers.clone().next().is_some() && breakers.clone().all(|breaker| state(breaker) == "open")
    };
    let blocked = |line: &super::super::gateway::Line| {
        health
            .connections
            .iter()
            .any(|one| one.provider.as_str() == &*line.provider && one.connection.as_str() == &*line.name)
    };
    gateway.lines.iter().filter(|line| line.ready && !blocked(line) && !open(&line.provider)).count()
}

fn state(breaker: &omniroute_resilience::BreakerHealth) -> String {
    serde_json::to_value(breaker.state)
        .ok()
        .and_then(|v| v.as_str().map(str::to_ascii_lowercase))
        .unwrap_or_default()
}

/// The document of `/api/monitoring/health`.
fn health(gateway: &Gateway, all: bool) -> Value {
    let health = gateway.resilience.health();
    let now = gateway.env.clock.now();
    let any_open = health.breakers.iter().any(|breaker| state(breaker) == "open");
    let well = !any_open && !health.store_degraded && usable(gateway, &health) > 0;
    let mut out = json!({
        "status": if well { "healthy" } else { "degraded" },
        "version": env!("CARGO_PKG_VERSION"),
        "uptime_s": seconds(now.mono, gateway.started),
        "time": rfc3339(now.wall),
    });
    if !all {
        return out;
    }
    let count = |wanted: &str| health.breakers.iter().filter(|breaker| state(breaker) == wanted).count();
    let items: Vec<Value> = health
        .breakers
        .iter()
        .map(|breaker| {
            let wait = breaker.open_until.map(|until| (until.0 - now.wall.0).max(0));
            json!({
                "provider": breaker.provider.as_str(), "state": state(breaker), "forced": breaker.forced_open,
                "failure_count": breaker.failures, "degraded_at": breaker.degraded_at, "opens_at": breaker.opens_at,
                "open_until": breaker.open_until.map(rfc3339), "retry_after_ms": wait,
            })
        })
        .collect();
    let connections: Vec<Value> = gateway
        .lines
        .iter()
        .map(|line| {
            let blocked = health.connections.iter().find(|one| {
                one.provider.as_str() == &*line.provider && one.connection.as_str() == &*line.name
            });
            let reason = blocked.and_then(|one| serde_json::to_value(one.blocked).ok());
            let state = match blocked {
                _ if !line.ready => "no_credential",
                None => "ok",
                Some(one) if one.until.is_some() => "cooling",
                Some(_) => "terminal",
            };
            json!({
                "ref": connection_ref(&ConnectionId::new(&*line.name)), "provider": &*line.provider,
                "label": &*line.name, "state": state,
                "until": blocked.and_then(|one| one.until).map(rfc3339), "reason": reason,
            })
        })
        .collect();
    let more = json!({
        "breakers": {
            "closed": count("closed"), "degraded": count("degraded"), "open": count("open"),
            "half_open": count("half_open"), "items": items,
        },
        "connections": connections,
        "sessions": { "bound": health.pins },
        "in_flight": { "requests": gateway.running.load(Relaxed), "streams": gateway.streams.load(Relaxed) },
        "waiting": health.waiting,
        "store": { "ok": !health.store_degraded, "outbox": health.outbox },
        "counts": health.counts,
        "events": { "last_seq": gateway.resilience.events(u64::MAX).next },
    });
    if let (Value::Object(out), Value::Object(more)) = (&mut out, more) {
        out.extend(more);
    }
    out
}

fn seconds(now: Mono, then: Mono) -> f64 {
    (now.since(then).as_secs_f64() * 1_000.0).round() / 1_000.0
}

async fn reset(gateway: &Arc<Gateway>, _: &Caller, input: &Map<String, Value>) -> Result<Value, Fault> {
    const KINDS: [&str; 4] = ["breaker", "cooldown", "lockout", "terminal"];
    let kinds: Vec<&str> = match input.get("kinds").and_then(Value::as_array) {
        Some(kinds) => kinds.iter().filter_map(Value::as_str).collect(),
        None => vec!["breaker", "lockout"],
    };
    if let Some(wrong) = kinds.iter().find(|kind| !KINDS.contains(kind)) {
        let rule = format!("{wrong:?} is no kind; allowed are {}", KINDS.join(", "));
        return Err(Fault::bad("invalid_value", rule).at("/kinds"));
    }
    let text = |name: &str| input.get(name).and_then(Value::as_str);
    let provider = match text("provider") {
        Some(name) if !gateway.lines.iter().any(|line| &*line.provider == name) => {
            let rule = format!("provider {name:?} is not configured");
            return Err(Fault::new(404, "unknown_provider", rule).at("/provider"));
        }
        name => name.map(ProviderId::new),
    };
    let connection = match text("connection") {
        None => None,
        Some(wanted) => {
            let mut lines = gateway.lines.iter();
            let found = lines.find(|line| {
                let id = ConnectionId::new(&*line.name);
                let named = connection_ref(&id) == wanted;
                named && provider.as_ref().is_none_or(|provider| provider.as_str() == &*line.provider)
            });
            let missing =
                || Fault::new(404, "unknown_connection", "no connection has this ref").at("/connection");
            Some(ConnectionId::new(&*found.ok_or_else(missing)?.name))
        }
    };
    if kinds.contains(&"terminal") && connection.is_none() {
        return Err(
            Fault::bad("missing_field", "clearing a terminal state needs a connection").at("/connection")
        );
    }
    let dry_run = input.get("dry_run").and_then(Value::as_bool).unwrap_or(false);
    let mut counts = json!({ "breaker": 0, "cooldown": 0, "lockout": 0, "terminal": 0 });
    for kind in kinds {
        let mut filter = ResetFilter::default();
        filter.breakers = kind == "breaker";
        filter.cooldowns = kind == "cooldown";
        filter.lockouts = kind == "lockout";
        filter.terminal = kind == "terminal";
        filter.provider.clone_from(&provider);
        filter.connection.clone_from(&connection);
        filter.dry_run = dry_run;
        let away = |_| Fault::new(503, "store_unavailable", "the store does not answer");
        counts[kind] = json!(gateway.resilience.reset(&filter).await.map_err(away)?);
    }
    Ok(json!({ "ok": true, "dry_run": dry_run, "reset": counts }))
}
