//! The JSON Schema of the file, made from the list of keys.

use serde_json::{Map, Value, json};

use super::check::sections;
use super::schema::{Key, Kind, ROOT, SCOPES, STEP, wires};

/// The whole document.
pub(crate) fn document() -> Value {
    let mut out = table(ROOT);
    if let Some(out) = out.as_object_mut() {
        out.insert("$schema".to_owned(), json!("https://json-schema.org/draft/2020-12/schema"));
        out.insert("title".to_owned(), json!("omniroute.toml"));
    }
    out
}

fn table(keys: &[Key]) -> Value {
    let mut properties = Map::new();
    for key in keys {
        let mut value = of(key.kind);
        if let Some(value) = value.as_object_mut() {
            value.insert("description".to_owned(), json!(key.about));
            // Defaults are written as in TOML, which for these is JSON too.
            if let Ok(default) = serde_json::from_str::<Value>(key.default) {
                value.insert("default".to_owned(), default);
            }
            if key.name == "scopes" {
                value.insert("items".to_owned(), json!({ "enum": SCOPES }));
            }
        }
        properties.insert(key.name.to_owned(), value);
    }
    let required: Vec<&str> = keys.iter().filter(|key| key.required()).map(|key| key.name).collect();
    let mut out = json!({ "type": "object", "additionalProperties": false, "properties": properties });
    if !required.is_empty() {
        out["required"] = json!(required);
    }
    out
}

fn of(kind: Kind) -> Value {
    let list = |items: Value| json!({ "type": "array", "items": items });
    match kind {
        Kind::Flag => json!({ "type": "boolean" }),
        Kind::Whole(from, to) => json!({ "type": "integer", "minimum": from, "maximum": to }),
        Kind::Number(from, to) => json!({ "type": "number", "minimum": from, "maximum": to }),
        Kind::Text | Kind::Strategy => json!({ "type": "string", "minLength": 1 }),
        Kind::Words(words) => json!({ "enum": words }),
        Kind::Wire => json!({ "enum": wires() }),
        Kind::Span(..) => json!({ "type": "string", "pattern": "^[0-9]+(ms|s|m|h|d)$" }),
        Kind::Size(..) => json!({ "type": "string", "pattern": "^[0-9]+(B|KiB|MiB|GiB)$" }),
        Kind::Texts => list(json!({ "type": "string" })),
        Kind::Secret => secret(),
        Kind::Secrets => list(secret()),
        Kind::Hash => json!({ "type": "string", "pattern": "^sha256:[0-9a-fA-F]{64}$" }),
        Kind::Table(keys) => table(keys),
        Kind::Tables(keys) => list(table(keys)),
        Kind::Steps => list(json!({ "anyOf": [{ "type": "string" }, table(STEP)] })),
        Kind::Names => json!({ "type": "object", "additionalProperties": { "type": "string" } }),
        Kind::Numbers => json!({ "type": "object", "additionalProperties": { "type": "number" } }),
        Kind::Options => json!({ "type": "object" }),
        Kind::Compression => compression(),
        Kind::Resilience => tree(&serde_json::to_value(sections::built_in()).unwrap_or_default()),
    }
}

fn secret() -> Value {
    let one = |key: &str| {
        json!({
            "type": "object", "additionalProperties": false, "required": [key],
            "properties": { key: { "type": "string", "minLength": 1 } },
        })
    };
    json!({ "anyOf": [one("env"), one("file"), { "type": "string" }] })
}

/// Numbers with their defaults.
fn tree(value: &Value) -> Value {
    match value {
        Value::Object(members) => {
            let properties: Map<String, Value> =
                members.iter().map(|(key, value)| (key.clone(), tree(value))).collect();
            json!({ "type": "object", "additionalProperties": false, "properties": properties })
        }
        Value::String(_) => {
            json!({ "anyOf": [{ "type": "string" }, { "type": "integer", "minimum": 0 }], "default": value })
        }
        Value::Bool(_) => json!({ "type": "boolean", "default": value }),
        Value::Number(_) => json!({ "type": "integer", "minimum": 0, "default": value }),
        _ => json!({ "anyOf": [{ "type": "string" }, { "type": "integer", "minimum": 0 }] }),
    }
}

fn compression() -> Value {
    let settings = omniroute_compress::settings_json();
    let mut engines = Map::new();
    for engine in settings.as_array().map(Vec::as_slice).unwrap_or_default() {
        let list = engine["settings"].as_array().map(Vec::as_slice).unwrap_or_default();
        let one = |setting: &Value| {
            let mut out = match setting["type"].as_str() {
                Some("switch") => json!({ "type": "boolean" }),
                Some("int") => {
                    json!({ "type": "integer", "minimum": setting["min"], "maximum": setting["max"] })
                }
                Some("choice") => json!({ "enum": setting["choices"] }),
                _ => json!({ "type": "array", "items": { "type": "string" }, "maxItems": setting["most"] }),
            };
            out["default"] = setting["default"].clone();
            out["description"] = setting["summary"].clone();
            (setting["key"].as_str().unwrap_or_default().to_owned(), out)
        };
        let properties: Map<String, Value> = list.iter().map(one).collect();
        let id = engine["id"].as_str().unwrap_or_default().to_owned();
        let out = json!({
            "type": "object", "additionalProperties": false, "description": engine["summary"], "properties": properties,
        });
        engines.insert(id, out);
    }
    let languages =
        omniroute_compress::caveman::Language::ALL.map(omniroute_compress::caveman::Language::tag);
    let whole = |to: u64| json!({ "type": "integer", "minimum": 0, "maximum": to });
    let step = json!({
        "type": "object", "additionalProperties": false, "required": ["engine"],
        "properties": { "engine": { "type": "string" }, "level": { "type": "string" }, "config": { "type": "object" } },
    });
    json!({
        "type": "object", "additionalProperties": false,
        "properties": {
            "enabled": { "type": "boolean", "default": true },
            "plan": { "type": "string", "default": "safe", "description": "a plan, an engine, engines separated by commas, or a combo" },
            "mode": { "type": "string", "description": "the same as plan" },
            "strict": { "type": "boolean", "default": false, "description": "a body that cannot be read is an error" },
            "max_body_bytes": { "type": "integer", "minimum": 1, "maximum": u32::MAX },
            "count": { "enum": ["estimate", "exact"], "default": "estimate" },
            "memo": {
                "type": "object", "additionalProperties": false,
                "properties": { "entries": whole(1 << 24), "bytes": whole(1 << 40), "ttl_s": whole(31_536_000) },
            },
            "preserve_patterns": { "type": "array", "items": { "type": "string" }, "maxItems": 50 },
            "engines": { "type": "object", "additionalProperties": false, "properties": engines },
            "combos": {
                "type": "array",
                "items": {
                    "type": "object", "additionalProperties": false, "required": ["name"],
                    "properties": {
                        "name": { "type": "string" },
                        "steps": { "type": "array", "items": { "anyOf": [{ "type": "string" }, step] } },
                        "languages": { "type": "array", "items": { "enum": languages } },
                        "gates": {
                            "type": "object", "additionalProperties": false,
                            "properties": { "min_gain": whole(90), "min_bytes": whole(4 << 20) },
                        },
                        "rewrite": { "enum": ["never", "cold_only", "threshold", "always"] },
                        "output_style": { "type": "string" },
                    },
                },
            },
        },
    })
}
