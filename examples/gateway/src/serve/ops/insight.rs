//! Who would answer, who did, and why.

use std::sync::Arc;

use futures::FutureExt;
use omniroute_core::{ChatRequest, wire};
use omniroute_route::{ChatOptions, STRATEGIES};
use serde_json::{Map, Value, json};

use super::super::fault::Fault;
use super::super::gateway::{Gateway, receipt_id};
use super::super::keys::{Caller, Scope};
use super::{Effect, Field, Op, Place, Run, Takes, Type, Verb};

const READ: super::Need = &[&[Scope::ReadRouting]];

const EXPLAIN: &[Field] = &[
    Field {
        name: "model",
        place: Place::Body,
        kind: Type::Text,
        needed: false,
        about: "what a client would name",
    },
    Field {
        name: "body",
        place: Place::Body,
        kind: Type::Object,
        needed: false,
        about: "a request of any wire",
    },
    Field {
        name: "wire",
        place: Place::Body,
        kind: Type::Text,
        needed: false,
        about: "its wire, if it does not show",
    },
    Field {
        name: "input_tokens",
        place: Place::Body,
        kind: Type::Integer,
        needed: false,
        about: "size of a made-up request, 1 to 10,000,000",
    },
];

const PAGE: &[Field] = &[
    Field {
        name: "limit",
        place: Place::Query,
        kind: Type::Integer,
        needed: false,
        about: "1 to 200; 50 by default",
    },
    Field {
        name: "cursor",
        place: Place::Query,
        kind: Type::Text,
        needed: false,
        about: "where the page before ended",
    },
    Field {
        name: "model",
        place: Place::Query,
        kind: Type::Text,
        needed: false,
        about: "only requests for this model",
    },
    Field {
        name: "outcome",
        place: Place::Query,
        kind: Type::Text,
        needed: false,
        about: "answered, running or failed",
    },
];

const ONE: &[Field] =
    &[Field { name: "id", place: Place::Path, kind: Type::Text, needed: true, about: "a receipt's id" }];

const fn row(name: &'static str, path: &'static str, summary: &'static str, run: Run) -> Op {
    Op {
        name,
        summary,
        scopes: READ,
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
        method: Verb::Post,
        takes: Takes::Fields,
        fields: EXPLAIN,
        ..row(
            "route.explain",
            "/api/routing/explain",
            "Who would be asked, and why; nothing is sent",
            Run::Value(|gateway, caller, input| async move { explain(&gateway, &caller, &input) }.boxed()),
        )
    },
    Op {
        fields: PAGE,
        ..row(
            "route.decisions",
            "/api/routing/decisions",
            "Receipts of the last requests, newest first",
            Run::Value(|gateway, caller, input| async move { decisions(&gateway, &caller, &input) }.boxed()),
        )
    },
    Op {
        fields: ONE,
        ..row(
            "route.decision",
            "/api/routing/decisions/{id}",
            "One receipt",
            Run::Value(|gateway, caller, input| async move { decision(&gateway, &caller, &input) }.boxed()),
        )
    },
    row(
        "route.strategies",
        "/api/routing/strategies",
        "All strategies with their settings",
        Run::Value(|_, _, _| {
            async move {
                let items: Vec<Value> = STRATEGIES
                    .iter()
                    .map(|entry| {
                        let options: Map<String, Value> = entry
                            .options
                            .iter()
                            .map(|(key, about)| ((*key).to_owned(), json!(about)))
                            .collect();
                        json!({
                            "id": entry.id, "summary": entry.summary, "aliases": entry.aliases,
                            "for_accounts": entry.for_accounts, "options": options,
                        })
                    })
                    .collect();
                Ok(json!({ "items": items }))
            }
            .boxed()
        }),
    ),
];

fn explain(gateway: &Arc<Gateway>, caller: &Caller, input: &Map<String, Value>) -> Result<Value, Fault> {
    let text = |name: &str| input.get(name).and_then(Value::as_str);
    let request = match input.get("body") {
        Some(body) => {
            let doc = super::super::intake::doc(body.to_string().into())?;
            let wire = match text("wire") {
                Some(id) => wire::by_id(id).ok_or_else(|| {
                    let known: Vec<&str> = wire::WIRES.iter().map(|wire| wire.id()).collect();
                    Fault::bad(
                        "unknown_wire",
                        format!("wire {id:?} is not known; allowed are {}", known.join(", ")),
                    )
                    .at("/wire")
                })?,
                None => wire::detect(&doc).ok_or_else(|| {
                    Fault::bad("unknown_wire", "the body is no request of a known wire").at("/body")
                })?,
            };
            ChatRequest::from_doc(wire, doc)
        }
        None => {
            let tokens = input
                .get("input_tokens")
                .map_or(Some(100), Value::as_u64)
                .filter(|n| (1..=10_000_000).contains(n));
            let rule =
                || Fault::bad("invalid_value", "input_tokens is out of 1 to 10,000,000").at("/input_tokens");
            let bytes = usize::try_from(tokens.ok_or_else(rule)?).unwrap_or(100) * 4;
            let words = "word ".repeat(bytes.div_ceil(5));
            let body = json!({ "messages": [{ "role": "user", "content": words }] });
            let doc = super::super::intake::doc(body.to_string().into())?;
            ChatRequest::from_doc(wire::OPENAI_CHAT, doc)
        }
    };
    let said = text("model").map_or_else(|| request.model().into_owned(), str::to_owned);
    let missing = || Fault::bad("missing_field", "a model, or a body that names one, is needed").at("/model");
    let model = if said.is_empty() { gateway.default_model.clone().ok_or_else(missing)? } else { said };
    let request = request.with_address(model, false).with_principal(caller.principal.clone());
    let now = gateway.env.clock.now().wall;
    let explained = gateway.router.explain_with(&request, &ChatOptions::default());
    let explained = explained.map_err(|error| {
        let mut fault = Fault::of_chat(&error, now);
        if let Some(receipt) = error.receipt() {
            fault.details = Some(json!({ "dropped": receipt.skipped }));
        }
        fault
    })?;
    serde_json::to_value(&explained).map_err(|error| Fault::new(500, "internal_error", error.to_string()))
}

/// Who sees what: a key sees its own requests; one that may write sees all.
fn sees(caller: &Caller, whose: &str) -> bool {
    !caller.keyed || caller.scopes.has(Scope::WriteRouting) || caller.principal.as_str() == whose
}

fn decisions(gateway: &Gateway, caller: &Caller, input: &Map<String, Value>) -> Result<Value, Fault> {
    let limit = input.get("limit").and_then(Value::as_i64).unwrap_or(50);
    if !(1..=200).contains(&limit) {
        return Err(Fault::bad("invalid_value", format!("limit is {limit}, out of 1 to 200")).at("/limit"));
    }
    let text = |name: &str| input.get(name).and_then(Value::as_str);
    let below = match text("cursor") {
        None => u64::MAX,
        Some(cursor) => number(cursor).ok_or_else(|| {
            Fault::bad("invalid_cursor", "this cursor was not given out by us").at("/cursor")
        })?,
    };
    let outcome = text("outcome");
    if let Some(wrong) = outcome.filter(|word| !["answered", "running", "failed"].contains(word)) {
        let rule = format!("outcome {wrong:?} is not known; allowed are answered, running, failed");
        return Err(Fault::bad("invalid_value", rule).at("/outcome"));
    }
    let mut items = Vec::new();
    let mut next = None;
    for one in gateway.decisions().iter().rev().filter(|one| one.id < below && sees(caller, &one.caller)) {
        if text("model").is_some_and(|model| model != one.model) {
            continue;
        }
        let told = one.told();
        if outcome.is_some_and(|outcome| outcome != told.outcome) {
            continue;
        }
        if items.len() as i64 == limit {
            next = items.last().map(|(id, _): &(u64, _)| receipt_id(*id));
            break;
        }
        items.push((one.id, told));
    }
    let items: Vec<_> = items.into_iter().map(|(_, told)| told).collect();
    Ok(json!({ "items": items, "next_cursor": next }))
}

fn decision(gateway: &Gateway, caller: &Caller, input: &Map<String, Value>) -> Result<Value, Fault> {
    let wanted = input.get("id").and_then(Value::as_str).and_then(number);
    let decisions = gateway.decisions();
    let found = decisions.iter().find(|one| Some(one.id) == wanted && sees(caller, &one.caller));
    let missing = || Fault::new(404, "not_found", "no receipt has this id, or it is gone").at("/id");
    let told = found.ok_or_else(missing)?.told();
    serde_json::to_value(&told).map_err(|error| Fault::new(500, "internal_error", error.to_string()))
}

fn number(id: &str) -> Option<u64> {
    u64::from_str_radix(id.strip_prefix("rcp_")?, 16).ok()
}
