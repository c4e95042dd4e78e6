//! What goes in and comes out, as the description for machines tells it. A row that is not named here takes an object
//! and gives one.

use serde_json::{Map, Value, json};

use super::super::fault::Dialect;
use super::{Op, Takes, Verb};

/// What a value is.
#[derive(Debug, Clone, Copy)]
enum Shape {
    Text,
    Whole,
    Number,
    Flag,
    /// Text or null.
    TextOrNone,
    /// A name that ends with a question mark may be absent; more members than these are no mistake.
    Object(&'static [(&'static str, Shape)]),
    List(&'static Shape),
}

use Shape::{Flag, List, Number, Object, Text, TextOrNone, Whole};

const ANY: Shape = Object(&[]);
const ANYS: Shape = List(&ANY);
const TEXTS: Shape = List(&Text);

const MODEL: Shape = Object(&[
    ("id", Text),
    ("object", Text),
    ("created", Whole),
    ("owned_by", Text),
    ("kind", Text),
    ("status?", Text),
    ("context_length?", Whole),
    ("max_output_tokens?", Whole),
    ("capabilities?", TEXTS),
]);

const TRIED: Shape = Object(&[
    ("plan", Object(&[("mode", Text), ("fingerprint", Text)])),
    ("body?", ANY),
    ("text?", Text),
    ("tokens_before", Whole),
    ("tokens_after", Whole),
    ("saved", Whole),
    ("saved_ratio", Number),
    ("receipt", ANY),
    ("duration_us", Whole),
]);

const DECISION: Shape = Object(&[
    ("id", Text),
    ("at", Text),
    ("caller", Text),
    ("model", Text),
    ("session?", Text),
    ("outcome", Text),
    ("receipt", ANY),
]);

/// Answers by row.
const ANSWERS: &[(&str, Shape)] = &[
    ("health.ready", READY),
    ("health.get", Object(&[("status", Text), ("version", Text), ("uptime_s", Number), ("time", Text)])),
    (
        "resilience.reset",
        Object(&[
            ("ok", Flag),
            ("dry_run", Flag),
            (
                "reset",
                Object(&[("breaker", Whole), ("cooldown", Whole), ("lockout", Whole), ("terminal", Whole)]),
            ),
        ]),
    ),
    ("models.list", Object(&[("object", Text), ("data", List(&MODEL))])),
    ("models.get", MODEL),
    (
        "models.gemini",
        Object(&[(
            "models",
            List(&Object(&[
                ("name", Text),
                ("displayName", Text),
                ("supportedGenerationMethods", TEXTS),
                ("inputTokenLimit?", Whole),
                ("outputTokenLimit?", Whole),
            ])),
        )]),
    ),
    ("ollama.tags", Object(&[("models", List(&Object(&[("name", Text), ("model", Text)])))])),
    ("ollama.version", Object(&[("version", Text)])),
    (
        "connections.list",
        Object(&[(
            "items",
            List(&Object(&[
                ("ref", Text),
                ("provider", Text),
                ("label", Text),
                ("auth", Text),
                ("tags", TEXTS),
                ("state", Text),
                ("models", Whole),
            ])),
        )]),
    ),
    ("me", Object(&[("name", Text), ("keyed", Flag), ("scopes", TEXTS)])),
    ("route.decisions", Object(&[("items", List(&DECISION)), ("next_cursor", TextOrNone)])),
    ("route.decision", DECISION),
    (
        "route.strategies",
        Object(&[(
            "items",
            List(&Object(&[("id", Text), ("summary", Text), ("aliases", TEXTS), ("options", ANY)])),
        )]),
    ),
    ("route.explain", Object(&[("picks", ANYS), ("dropped", ANYS)])),
    ("compress.preview", TRIED),
    (
        "compress.compare",
        Object(&[(
            "items",
            List(&Object(&[
                ("engine", Text),
                ("tokens_before", Whole),
                ("tokens_after", Whole),
                ("saved_ratio", Number),
                ("duration_us", Whole),
                ("lossless", Flag),
            ])),
        )]),
    ),
    (
        "compress.engines",
        Object(&[(
            "items",
            List(&Object(&[
                ("id", Text),
                ("summary", Text),
                ("priority", Whole),
                ("loss", Text),
                ("scope", Text),
                ("enabled", Flag),
                ("settings", List(&Object(&[("key", Text), ("summary", Text)]))),
            ])),
        )]),
    ),
    (
        "lease",
        Object(&[
            ("state", Text),
            ("generation", Whole),
            ("acquiredAt", Text),
            ("renewedAt", Text),
            ("expiresAt", Text),
        ]),
    ),
    ("chat.completions", COMPLETION),
    ("chat.provider", COMPLETION),
    ("chat.responses", Object(&[("id", Text), ("object", Text), ("status?", Text), ("output", ANYS)])),
    (
        "chat.messages",
        Object(&[("id", Text), ("type", Text), ("role", Text), ("content", ANYS), ("usage", ANY)]),
    ),
    ("chat.count", Object(&[("input_tokens", Whole)])),
    ("chat.ollama", Object(&[("message?", ANY), ("done", Flag)])),
];

const READY: Shape = Object(&[("ready", Flag), ("reasons", TEXTS)]);
const COMPLETION: Shape =
    Object(&[("id?", Text), ("object?", Text), ("choices", ANYS), ("model?", Text), ("usage?", ANY)]);

/// Requests that work wherever `auto` has somebody to ask.
fn example(op: &Op) -> Option<Value> {
    let hi = json!([{ "role": "user", "content": "hi" }]);
    Some(match op.name {
        "chat.completions" | "chat.provider" | "chat.ollama" => {
            json!({ "model": "auto", "messages": hi, "stream": false })
        }
        "chat.responses" => json!({ "model": "auto", "input": "hi" }),
        "chat.messages" => json!({ "model": "auto", "max_tokens": 100, "messages": hi }),
        "chat.count" => json!({ "model": "auto", "messages": hi }),
        "chat.gemini" | "chat.gemini.v1" => {
            json!({ "contents": [{ "role": "user", "parts": [{ "text": "hi" }] }] })
        }
        "route.explain" => json!({ "model": "auto", "input_tokens": 1_000 }),
        "compress.preview" | "compress.compare" => json!({ "text": "ok\nok\nok\n", "command": "make" }),
        "resilience.reset" => json!({ "kinds": ["breaker"], "dry_run": true }),
        _ => return None,
    })
}

fn written(shape: &Shape) -> Value {
    match shape {
        Text => json!({ "type": "string" }),
        Whole => json!({ "type": "integer" }),
        Number => json!({ "type": "number" }),
        Flag => json!({ "type": "boolean" }),
        TextOrNone => json!({ "type": ["string", "null"] }),
        List(item) => json!({ "type": "array", "items": written(item) }),
        Object(members) => {
            let needed: Vec<&str> =
                members.iter().map(|(name, _)| *name).filter(|name| !name.ends_with('?')).collect();
            let properties: Map<String, Value> = members
                .iter()
                .map(|(name, shape)| (name.trim_end_matches('?').to_owned(), written(shape)))
                .collect();
            let mut out = json!({ "type": "object" });
            if !properties.is_empty() {
                out["properties"] = Value::Object(properties);
            }
            if !needed.is_empty() {
                out["required"] = json!(needed);
            }
            out
        }
    }
}

fn content(kind: &str, schema: &Value) -> Value {
    json!({ kind: { "schema": schema } })
}

/// The body of a row that takes a request for a model.
pub(super) fn request(op: &Op) -> Value {
    let mut schema = json!({ "type": "object" });
    if matches!(op.name, "chat.completions" | "chat.provider" | "chat.responses" | "chat.messages") {
        schema["properties"] = json!({
            "model": { "type": "string", "description": "provider/model, a combo, an alias, auto; absent: auto" },
            "stream": { "type": ["boolean", "null"], "description": "events instead of one object" },
        });
    }
    schema
}

/// Adds an example to the body of a row that has one.
pub(super) fn with_example(op: &Op, media: &mut Value) {
    if let Some(example) = example(op) {
        media["example"] = example;
    }
}

/// All answers of a row, by status.
pub(super) fn responses(op: &Op) -> Value {
    let found = ANSWERS.iter().find(|(name, _)| *name == op.name);
    let schema = written(&found.map_or(ANY, |(_, shape)| *shape));
    let mut done = content("application/json", &schema);
    match op.name {
        "health.alive" => done = content("text/plain", &json!({ "type": "string" })),
        "events" | "events.resilience" => {
            done = content("text/event-stream", &json!({ "type": "string" }));
        }
        // Anything that sounds, or what the vendor says of it.
        "speech" => done = json!({ "*/*": {} }),
        "chat.ollama" => done["application/x-ndjson"] = json!({}),
        name if name.starts_with("chat.") && name != "chat.count" => done["text/event-stream"] = json!({}),
        _ => {}
    }
    let mut out = json!({
        "200": { "description": "Done", "content": done },
        "default": { "description": "Why not", "content": content("application/json", &refusal(op)) },
    });
    if matches!(op.name, "models.list" | "models.get" | "models.gemini" | "ollama.tags") {
        out["304"] = json!({ "description": "As before" });
    }
    if op.name == "health.ready" {
        let content = content("application/json", &schema);
        out["503"] = json!({ "description": "Not now", "content": content });
    }
    out
}

/// Why a row does not answer: in the words of the API that its path belongs to.
fn refusal(op: &Op) -> Value {
    let named = |name: &str| json!({ "$ref": format!("#/components/schemas/{name}") });
    match Dialect::of(op.path) {
        Dialect::Anthropic => named("AnthropicError"),
        Dialect::Gemini => named("GeminiError"),
        Dialect::OpenAi if op.name == "lease" => named("LeaseError"),
        // Whether a client of Gemini calls shows in what follows the name.
        Dialect::OpenAi if op.path == "/v1/models/{*id}" && op.method == Verb::Post => {
            json!({ "anyOf": [named("Error"), named("GeminiError")] })
        }
        // A vendor's own words may pass.
        Dialect::OpenAi if op.takes == Takes::Request && !op.name.starts_with("chat.") => written(&ANY),
        Dialect::OpenAi => named("Error"),
    }
}

/// Bodies of refusals.
pub(super) fn refusals() -> Value {
    let error = |members: &'static [(&'static str, Shape)]| {
        json!({
            "type": "object", "properties": { "error": written(&Object(members)) }, "required": ["error"],
        })
    };
    json!({
        "Error": error(&[
            ("message", Text), ("type", Text), ("code", Text), ("param", TextOrNone),
            ("request_id?", Text), ("retry_at?", TextOrNone), ("details?", ANY),
        ]),
        "LeaseError": error(&[("message", Text), ("type", Text), ("code", Text)]),
        "AnthropicError": written(&Object(&[
            ("type", Text), ("error", Object(&[("type", Text), ("message", Text)])), ("request_id", Text),
        ])),
        "GeminiError": error(&[("code", Whole), ("message", Text), ("status", Text)]),
    })
}

#[cfg(test)]
mod tests {
    use super::super::ops;
    use super::*;

    #[test]
    fn only_rows_are_told_of() {
        for (name, _) in ANSWERS {
            assert!(ops().any(|op| op.name == *name), "{name}");
        }
    }

    #[test]
    fn a_shape_is_written_as_a_schema() {
        let shape = Object(&[("a", List(&Whole)), ("b?", TextOrNone)]);
        assert_eq!(
            written(&shape),
            json!({
                "type": "object", "required": ["a"],
                "properties": {
                    "a": { "type": "array", "items": { "type": "integer" } },
                    "b": { "type": ["string", "null"] },
                },
            })
        );
    }
}
