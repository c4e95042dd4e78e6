//! Trying compression out; nothing is sent and nothing is remembered.

use futures::FutureExt;
use omniroute_compress::{CallOptions, Compress, ENGINES, MemoLimits};
use omniroute_core::{ChatRequest, Loss, wire};
use serde_json::{Map, Value, json};

use super::super::fault::Fault;
use super::super::gateway::Gateway;
use super::super::keys::Scope;
use super::{Effect, Field, Op, Place, Run, Takes, Type, Verb};

/// Longest text that may be tried, in characters.
const TEXT: usize = 500_000;

const fn body(name: &'static str, kind: Type, about: &'static str) -> Field {
    Field { name, place: Place::Body, kind, needed: false, about }
}

const PREVIEW: &[Field] = &[
    body("body", Type::Object, "a request of any wire"),
    body("messages", Type::Objects, "messages of OpenAI's chat API, instead of a whole request"),
    body("text", Type::Text, "what a tool printed, instead of a request; at most 500,000 characters"),
    body("command", Type::Text, "the command that printed the text"),
    body("wire", Type::Text, "the wire of the body, if it does not show"),
    body("plan", Type::Text, "a plan by name, or engines in order, separated by commas"),
];

const COMPARE: &[Field] = &[
    body("body", Type::Object, "a request of any wire"),
    body("text", Type::Text, "what a tool printed, instead of a request; at most 500,000 characters"),
    body("command", Type::Text, "the command that printed the text"),
    body("wire", Type::Text, "the wire of the body, if it does not show"),
    body("engines", Type::Texts, "which; all by default"),
];

const fn row(name: &'static str, path: &'static str, summary: &'static str, run: Run) -> Op {
    Op {
        name,
        summary,
        scopes: &[&[Scope::ReadCompression]],
        effect: Effect::Read,
        method: Verb::Post,
        path,
        takes: Takes::Fields,
        fields: PREVIEW,
        run,
    }
}

/// The rows.
pub(super) const OPS: &[Op] = &[
    row(
        "compress.preview",
        "/api/compression/preview",
        "What compression would do to a request or a text",
        Run::Value(|gateway, _, input| async move { preview(&gateway, &input) }.boxed()),
    ),
    Op {
        fields: COMPARE,
        ..row(
            "compress.compare",
            "/api/compression/compare",
            "What each engine would save, best first",
            Run::Value(|gateway, _, input| async move { compare(&gateway, &input) }.boxed()),
        )
    },
    Op {
        method: Verb::Get,
        takes: Takes::Nothing,
        fields: &[],
        ..row(
            "compress.engines",
            "/api/compression/engines",
            "All engines with their settings",
            Run::Value(|gateway, _, _| async move { Ok(engines(&gateway)) }.boxed()),
        )
    },
];

/// What is tried.
enum Tried {
    Request(ChatRequest),
    Text(String, Option<String>),
}

fn tried(input: &Map<String, Value>) -> Result<Tried, Fault> {
    let text = |name: &str| input.get(name).and_then(Value::as_str);
    let given = ["body", "messages", "text"].iter().filter(|name| input.contains_key(**name)).count();
    if given != 1 {
        return Err(
            Fault::bad("missing_field", "exactly one of body, messages and text is needed").at("/body")
        );
    }
    if let Some(printed) = text("text") {
        if printed.chars().count() > TEXT {
            return Err(
                Fault::bad("invalid_value", format!("text is longer than {TEXT} characters")).at("/text")
            );
        }
        return Ok(Tried::Text(printed.to_owned(), text("command").map(str::to_owned)));
    }
    let body = match (input.get("body"), input.get("messages")) {
        (Some(body), _) => body.to_string(),
        (_, messages) => json!({ "model": "", "messages": messages }).to_string(),
    };
    let doc = super::super::intake::doc(body.into())?;
    let wire = match text("wire") {
        Some(id) => wire::by_id(id),
        None => wire::detect(&doc),
    };
    let known: Vec<&str> = wire::WIRES.iter().map(|wire| wire.id()).collect();
    let rule = || Fault::bad("unknown_wire", format!("the wire is none of {}", known.join(", "))).at("/wire");
    let request = ChatRequest::from_doc(wire.ok_or_else(rule)?, doc);
    let wrong =
        |error: omniroute_core::DocError| Fault::bad("invalid_request", error.to_string()).at("/body");
    request.conversation().map_err(wrong)?;
    Ok(Tried::Request(request))
}

/// A compressor with the settings of the configuration that remembers nothing.
fn compressor(gateway: &Gateway, plan: &str) -> Result<Compress, Fault> {
    let wrong = |error: String| Fault::bad("unknown_plan", error).at("/plan");
    let builder = gateway.section.builder(plan).map_err(|error| wrong(error.to_string()))?;
    builder.memo(MemoLimits::none()).build().map_err(|error| wrong(error.to_string()))
}

#[expect(clippy::cast_precision_loss, reason = "a ratio for people")]
fn ratio(before: u64, after: u64) -> f64 {
    if before == 0 { 0.0 } else { ((1.0 - after as f64 / before as f64) * 10_000.0).round() / 10_000.0 }
}

fn preview(gateway: &Gateway, input: &Map<String, Value>) -> Result<Value, Fault> {
    let asked = input.get("plan").and_then(Value::as_str);
    let usual = if gateway.plan == "off" { "safe" } else { gateway.plan.as_str() };
    let compress = compressor(gateway, asked.unwrap_or(usual))?;
    let now = gateway.env.clock.now();
    let took = |gateway: &Gateway| {
        u64::try_from(gateway.env.clock.now().mono.since(now.mono).as_micros()).unwrap_or(u64::MAX)
    };
    match tried(input)? {
        Tried::Request(mut request) => {
            let done = compress.compress_with(&mut request, CallOptions::default(), now);
            let body: Value = serde_json::from_slice(&done.body).unwrap_or_default();
            let receipt = &done.receipt;
            Ok(json!({
                "plan": { "mode": receipt.plan, "fingerprint": receipt.fingerprint },
                "body": body, "tokens_before": receipt.tokens_before, "tokens_after": receipt.tokens_after,
                "saved": receipt.tokens_before.saturating_sub(receipt.tokens_after),
                "saved_ratio": ratio(receipt.tokens_before, receipt.tokens_after),
                "receipt": receipt, "duration_us": took(gateway),
            }))
        }
        Tried::Text(text, command) => {
            let mut output = omniroute_compress::ToolOutput::new(&text);
            output.command = command.as_deref();
            let done = compress.compress_output(output, now);
            let done = done.map_err(|error| Fault::bad("invalid_request", error.to_string()).at("/text"))?;
            Ok(json!({
                "plan": { "mode": done.receipt.plan, "fingerprint": done.receipt.fingerprint },
                "text": done.text, "tokens_before": done.receipt.tokens_before, "tokens_after": done.receipt.tokens_after,
                "saved": done.receipt.tokens_before.saturating_sub(done.receipt.tokens_after),
                "saved_ratio": ratio(done.receipt.tokens_before, done.receipt.tokens_after),
                "receipt": done.receipt, "duration_us": took(gateway),
            }))
        }
    }
}

fn compare(gateway: &Gateway, input: &Map<String, Value>) -> Result<Value, Fault> {
    let all: Vec<&str> = ENGINES.iter().map(|entry| entry.info.id).collect();
    let named: Vec<&str> = match input.get("engines").and_then(Value::as_array) {
        Some(names) => names.iter().filter_map(Value::as_str).collect(),
        None => all.clone(),
    };
    if let Some(wrong) = named.iter().find(|name| !all.contains(name)) {
        let rule = format!("engine {wrong:?} is not known; allowed are {}", all.join(", "));
        return Err(Fault::bad("unknown_engine", rule).at("/engines"));
    }
    // Also where nobody is asked.
    tried(input)?;
    let mut items = Vec::new();
    for name in named {
        let mut one = input.clone();
        one.remove("engines");
        one.insert("plan".to_owned(), json!(name));
        let told = preview(gateway, &one)?;
        let loss = ENGINES.iter().find(|entry| entry.info.id == name).map(|entry| entry.info.loss);
        items.push(json!({
            "engine": name, "tokens_before": told["tokens_before"], "tokens_after": told["tokens_after"],
            "saved_ratio": told["saved_ratio"], "duration_us": told["duration_us"],
            "lossless": matches!(loss, Some(Loss::Lossless | Loss::Layout)),
        }));
    }
    items.sort_by_key(|item| item["tokens_after"].as_u64().unwrap_or(u64::MAX));
    Ok(json!({ "items": items }))
}

fn engines(gateway: &Gateway) -> Value {
    let steps = gateway.section.steps(&gateway.plan).unwrap_or_default();
    let on = |id: &str| gateway.compress.is_some() && steps.iter().any(|step| step.engine() == id);
    let items: Vec<Value> = ENGINES
        .iter()
        .map(|entry| {
            let loss = match entry.info.loss {
                Loss::Lossless | Loss::Layout => "none",
                Loss::Recoverable => "recoverable",
                _ => "lossy",
            };
            let settings: Vec<Value> = entry.fields.iter().map(|field| json!({ "key": field.key, "summary": field.summary })).collect();
            json!({
                "id": entry.info.id, "summary": entry.info.summary, "priority": entry.info.priority, "loss": loss,
                "scope": if entry.info.history { "history" } else { "segment" },
                "enabled": on(entry.info.id), "settings": settings,
            })
        })
        .collect();
    json!({ "items": items })
}
