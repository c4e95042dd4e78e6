//! What there is: models, connections, free offers, and who asks.

use axum::body::Body;
use axum::response::Response;
use futures::FutureExt;
use http::header::{CONTENT_TYPE, ETAG, IF_NONE_MATCH};
use http::{HeaderValue, StatusCode};
use omniroute_core::{ConnectionId, ModelFacts};
use omniroute_providers::Medium;
use omniroute_providers::free_tiers::{Day, ForecastSettings, FreeTiers, Selection};
use omniroute_providers::report::FreeTiersReport;
use omniroute_resilience::connection_ref;
use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};

use super::super::fault::Fault;
use super::super::gateway::Gateway;
use super::super::keys::{Need, Scope};
use super::{Ask, Effect, Field, Op, Place, Run, Takes, Type, Verb, form};

const MODELS: Need = &[&[Scope::Chat], &[Scope::ReadCatalog]];

const LISTED: &[Field] = &[Field {
    name: "all",
    place: Place::Query,
    kind: Type::Flag,
    needed: false,
    about: "also models whose connections cannot sign in",
}];

const MODEL: &[Field] =
    &[Field { name: "id", place: Place::Path, kind: Type::Text, needed: true, about: "a model's name" }];

const FREE: &[Field] = &[
    Field {
        name: "exclude_avoid",
        place: Place::Query,
        kind: Type::Flag,
        needed: false,
        about: "leave out offers whose terms are against programs",
    },
    Field {
        name: "without_largest",
        place: Place::Query,
        kind: Type::Flag,
        needed: false,
        about: "leave out the largest",
    },
];

const fn row(name: &'static str, path: &'static str, summary: &'static str, scopes: Need, run: Run) -> Op {
    Op {
        name,
        summary,
        scopes,
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
    Op {
        fields: LISTED,
        ..row(
            "models.list",
            "/v1/models",
            "Names that requests may use",
            MODELS,
            Run::Whole(|ask| {
                async move {
                    let all = all(ask.head.uri.query().unwrap_or_default())?;
                    let data = models(&ask.gateway, all);
                    let empty = !data.iter().any(|model| model["kind"] == "model");
                    let mut response = tagged(&ask, json!({ "object": "list", "data": data }));
                    if empty {
                        super::super::chat::put(&mut response, "x-omniroute-note", "no_connections");
                    }
                    Ok(response)
                }
                .boxed()
            }),
        )
    },
    Op {
        fields: MODEL,
        ..row(
            "models.get",
            "/v1/models/{*id}",
            "One of them",
            MODELS,
            Run::Whole(|ask| {
                async move {
                    let wanted = ask.path.first().map(String::as_str).unwrap_or_default();
                    let found = models(&ask.gateway, true).into_iter().find(|model| model["id"] == wanted);
                    let missing = || {
                        let near = ask.gateway.catalog.suggest(wanted);
                        let hint =
                            near.first().map_or_else(String::new, |name| format!("; did you mean {name:?}?"));
                        Fault::new(404, "unknown_model", format!("model {wanted:?} is not known{hint}"))
                            .at("id")
                    };
                    Ok(tagged(&ask, found.ok_or_else(missing)?))
                }
                .boxed()
            }),
        )
    },
    row(
        "models.gemini",
        "/v1beta/models",
        "The same, as clients of Gemini read it",
        MODELS,
        Run::Whole(|ask| {
            async move {
            let models: Vec<Value> = models(&ask.gateway, false)
                .iter()
                .map(|model| {
                    let id = model["id"].as_str().unwrap_or_default();
                    let mut out = json!({
                        "name": format!("models/{id}"), "displayName": id,
                        "supportedGenerationMethods": ["generateContent", "streamGenerateContent", "countTokens"],
                    });
                    for (from, to) in [("context_length", "inputTokenLimit"), ("max_output_tokens", "outputTokenLimit")] {
                        if !model[from].is_null() {
                            out[to] = model[from].clone();
                        }
                    }
                    out
                })
                .collect();
            Ok(tagged(&ask, json!({ "models": models })))
        }
        .boxed()
        }),
    ),
    row(
        "ollama.tags",
        "/api/tags",
        "The same, as clients of Ollama read it",
        MODELS,
        Run::Whole(|ask| {
            async move {
                let models: Vec<Value> = models(&ask.gateway, false)
                    .iter()
                    .map(|model| json!({ "name": model["id"], "model": model["id"] }))
                    .collect();
                Ok(tagged(&ask, json!({ "models": models })))
            }
            .boxed()
        }),
    ),
    row(
        "connections.list",
        "/api/connections",
        "Configured connections, without secrets",
        &[&[Scope::ReadHealth]],
        Run::Value(|gateway, _, _| async move { Ok(connections(&gateway)) }.boxed()),
    ),
    row(
        "me",
        "/api/v1/me",
        "Who the key is, and what it may do",
        &[&[Scope::Chat], &[Scope::ReadHealth]],
        Run::Value(|_, caller, _| {
            async move {
                Ok(json!({
                    "name": caller.principal.as_str(), "keyed": caller.keyed, "scopes": caller.scopes.names(),
                }))
            }
            .boxed()
        }),
    ),
    Op {
        fields: FREE,
        ..row(
            "free.summary",
            "/api/free-tier/summary",
            "What is free each month",
            &[&[Scope::ReadCatalog]],
            Run::Value(|gateway, _, input| async move { free(&gateway, &input) }.boxed()),
        )
    },
];

/// An answer that a client may keep: it asks whether it still holds.
fn tagged(ask: &Ask, value: Value) -> Response {
    let body = value.to_string();
    let digest = Sha256::digest(body.as_bytes());
    let hex: String = digest.iter().take(8).map(|byte| format!("{byte:02x}")).collect();
    let tag = format!("\"{hex}\"");
    let known = ask.head.headers.get(IF_NONE_MATCH).and_then(|value| value.to_str().ok());
    let same = known.is_some_and(|known| {
        known == "*" || known.split(',').any(|one| one.trim().trim_start_matches("W/") == tag)
    });
    let mut response = if same {
        let mut response = Response::new(Body::empty());
        *response.status_mut() = StatusCode::NOT_MODIFIED;
        response
    } else {
        let mut response = Response::new(Body::from(body));
        response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        response
    };
    if let Ok(tag) = HeaderValue::from_str(&tag) {
        response.headers_mut().insert(ETAG, tag);
    }
    response
}

/// Whether all models are asked for. What else clients write behind the address, pages for instance, is not ours.
fn all(query: &str) -> Result<bool, Fault> {
    let mut said = form(query).filter(|(name, _)| name == "all");
    match (said.next(), said.next()) {
        (None, _) => Ok(false),
        (Some((_, value)), None) => value.parse().map_err(|_| super::wrong(&LISTED[0])),
        _ => Err(Fault::bad("repeated_field", "all is given twice").at("/all")),
    }
}

/// Combos, `auto` names, then models by name. What is not known is left out.
fn models(gateway: &Gateway, all: bool) -> Vec<Value> {
    let mut first = Vec::new();
    let mut rest = Vec::new();
    let ready = |provider: &str| gateway.lines.iter().any(|line| &*line.provider == provider && line.ready);
    for name in gateway.router.models() {
        let auto = name == "auto" || name.starts_with("auto/");
        let model = name
            .split_once('/')
            .filter(|(provider, _)| !auto && gateway.lines.iter().any(|line| &*line.provider == *provider));
        match model {
            Some((provider, id)) => {
                if all || ready(provider) {
                    rest.push((name.clone(), of(gateway, provider, id)));
                }
            }
            None => {
                let kind = if auto { "auto" } else { "combo" };
                first.push(json!({ "id": name, "object": "model", "created": 0, "owned_by": "omniroute", "kind": kind }));
            }
        }
    }
    rest.sort_by(|(a, _), (b, _)| a.cmp(b));
    rest.dedup_by(|(a, _), (b, _)| a == b);
    first.extend(rest.into_iter().map(|(_, model)| model));
    first
}

fn of(gateway: &Gateway, provider: &str, id: &str) -> Value {
    let mut out = Map::new();
    let mut put = |key: &str, value: Value| {
        out.insert(key.to_owned(), value);
    };
    put("id", json!(format!("{provider}/{id}")));
    put("object", json!("model"));
    put("created", json!(0));
    put("owned_by", json!(provider));
    put("kind", json!("model"));
    let ready = gateway.lines.iter().any(|line| &*line.provider == provider && line.ready);
    put("status", json!(if ready { "available" } else { "no_credential" }));
    let Some(row) = gateway.catalog.facts_of(provider, id) else { return Value::Object(out) };
    let facts = gateway.catalog.lookup(provider, id).unwrap_or_default();
    if let Some(window) = facts.context_window {
        put("context_length", json!(window));
    }
    if let Some(most) = facts.max_output {
        put("max_output_tokens", json!(most));
    }
    let media = [
        (Medium::Text, "text"),
        (Medium::Image, "image"),
        (Medium::Audio, "audio"),
        (Medium::Video, "video"),
    ];
    let names = |set: omniroute_providers::Modalities| -> Vec<&str> {
        media.iter().filter(|(medium, _)| set.has(*medium)).map(|(_, name)| *name).collect()
    };
    let mut modalities = Map::new();
    for (key, set) in [("input", row.inputs), ("output", row.outputs)] {
        if let Some(set) = set {
            modalities.insert(key.to_owned(), json!(names(set)));
        }
    }
    if !modalities.is_empty() {
        put("modalities", Value::Object(modalities));
    }
    let can = [
        (row.tools, "tools"),
        (row.json_schema, "json_schema"),
        (row.reasoning, "reasoning"),
        (row.prompt_cache, "prompt_cache"),
    ];
    let known: Vec<&str> = can.iter().filter(|(can, _)| *can == Some(true)).map(|(_, name)| *name).collect();
    if can.iter().any(|(can, _)| can.is_some()) {
        put("capabilities", json!(known));
    }
    let usd = |pico: u64| json!(std::format!("{}", pico as f64 / 1e6).parse::<f64>().unwrap_or_default());
    let mut pricing = Map::new();
    for (key, price) in [
        ("input", facts.input_price),
        ("output", facts.output_price),
        ("cached_input", facts.cache_read_price),
    ] {
        if let Some(price) = price {
            pricing.insert(key.to_owned(), usd(price));
        }
    }
    if !pricing.is_empty() {
        pricing.insert("unit".to_owned(), json!("usd_per_1m_tokens"));
        put("pricing", Value::Object(pricing));
    }
    Value::Object(out)
}

fn connections(gateway: &Gateway) -> Value {
    let health = gateway.resilience.health();
    let items: Vec<Value> = gateway
        .lines
        .iter()
        .map(|line| {
            let blocked = health.connections.iter().any(|one| {
                one.provider.as_str() == &*line.provider && one.connection.as_str() == &*line.name
            });
            let state = if !line.ready {
                "no_credential"
            } else if blocked {
                "blocked"
            } else {
                "ok"
            };
            json!({
                "ref": connection_ref(&ConnectionId::new(&*line.name)), "provider": &*line.provider,
                "label": &*line.name, "auth": line.auth, "tags": line.tags, "state": state,
                "models": gateway.catalog.models_of(&line.provider).count(),
            })
        })
        .collect();
    json!({ "items": items })
}

fn free(gateway: &Gateway, input: &Map<String, Value>) -> Result<Value, Fault> {
    let flag = |name: &str| input.get(name).and_then(Value::as_bool).unwrap_or(false);
    let selection =
        Selection { exclude_avoid: flag("exclude_avoid"), without_largest: flag("without_largest") };
    let tiers = FreeTiers::embedded();
    let missing = || Fault::new(503, "no_facts", "this build has no facts about free offers");
    let newest = tiers.newest().ok_or_else(missing)?;
    let today = Day::of(gateway.env.clock.now().wall);
    let settings = ForecastSettings::default();
    let report =
        FreeTiersReport::new(tiers, newest, today, selection, Some(&settings)).ok_or_else(missing)?;
    let mut out = serde_json::to_value(&report)
        .map_err(|error| Fault::new(500, "internal_error", error.to_string()))?;
    // Nothing is recorded by the month: that is not zero.
    out["used_this_month"] = Value::Null;
    out["used_source"] = Value::Null;
    Ok(out)
}
