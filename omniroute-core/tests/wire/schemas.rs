//! Schemas of tools and answers on their way to Gemini: every keyword at every node is one that the dialect knows,
//! names stay, and nothing is left out without being named.

use std::collections::{BTreeMap, BTreeSet};

use omniroute_core::hub::{Output, WriteContext};
use omniroute_core::wire::schema::{Dialect, fit};
use omniroute_core::wire::{GEMINI, WIRES};
use omniroute_core::{ChatRequest, Doc};
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::exchanges;

const JSON_WORDS: &str = "$defs $ref $anchor $id type format title description enum items prefixItems minItems \
    maxItems minimum maximum anyOf oneOf properties additionalProperties required propertyOrdering";
const OPENAPI_WORDS: &str = "type format title description nullable enum items minItems maxItems properties required \
    minProperties maxProperties minimum maximum minLength maxLength pattern anyOf propertyOrdering default example";
/// Keywords whose members are names.
const NAMED: [&str; 5] = ["properties", "$defs", "definitions", "patternProperties", "dependentSchemas"];
/// Keywords that hold values, not schemas.
const VALUES: [&str; 6] = ["const", "enum", "default", "example", "examples", "required"];

fn words(dialect: Dialect) -> BTreeSet<&'static str> {
    match dialect {
        Dialect::GeminiJson => JSON_WORDS.split_whitespace().collect(),
        Dialect::GeminiOpenapi => OPENAPI_WORDS.split_whitespace().collect(),
    }
}

/// How often each keyword stands in a schema; below some keywords nobody looks.
fn count(schema: &Value, skip: &dyn Fn(&str) -> bool, out: &mut BTreeMap<String, usize>) {
    match schema {
        Value::Array(list) => list.iter().for_each(|inner| count(inner, skip, out)),
        Value::Object(members) => {
            for (key, value) in members {
                *out.entry(key.clone()).or_default() += 1;
                match value {
                    _ if skip(key) || VALUES.contains(&key.as_str()) => {}
                    Value::Object(named) if NAMED.contains(&key.as_str()) => {
                        named.values().for_each(|inner| count(inner, skip, out));
                    }
                    _ => count(value, skip, out),
                }
            }
        }
        _ => {}
    }
}

/// What is wrong with a schema on the target, judged without the converter.
fn judge(given: &Value, sent: &Value, changed: &BTreeSet<String>, dialect: Dialect) -> Result<(), String> {
    let (mut before, mut after) = (BTreeMap::new(), BTreeMap::new());
    let known = words(dialect);
    // What is left out whole is named by its own keyword; so are schemas that nobody refers to.
    let whole = ["$defs", "definitions", "additionalProperties"];
    let unused = |word: &str| whole.contains(&word) && changed.contains(word) && !known.contains(word);
    count(given, &unused, &mut before);
    count(sent, &|_| false, &mut after);
    if let Some(word) = after.keys().find(|word| !known.contains(word.as_str())) {
        return Err(format!("\"{word}\" is sent"));
    }
    // Where schemas are put together, or one of them is not used, keywords may become fewer, but none may vanish.
    let merged =
        ["allOf", "anyOf", "$defs", "definitions", "$ref", "nesting"].iter().any(|w| changed.contains(*w));
    for (word, times) in before {
        let left = after.get(&word).copied().unwrap_or(0);
        let fewer = if merged { left == 0 } else { left < times };
        if fewer && !changed.contains(&word) {
            return Err(format!("{times} times \"{word}\" given, {left} sent, and not named"));
        }
    }
    Ok(())
}

/// Every schema in the recorded requests, with the request's label.
fn recorded() -> Vec<(String, String)> {
    let mut out = Vec::new();
    for wire in WIRES.iter().filter(|wire| wire.id() != "gemini") {
        for exchange in exchanges::of_wire(wire.id()) {
            let Some(body) = &exchange.request else { continue };
            let doc = Doc::parse(body.clone()).unwrap();
            let Ok(request) = wire.read_request(&doc) else { continue };
            let request = request.value;
            out.extend(request.tools.iter().filter_map(|t| t.schema.as_ref()).map(|s| s.raw().to_owned()));
            if let Some(Output::Schema { schema, .. }) = &request.output {
                out.push(schema.raw().to_owned());
            }
        }
    }
    let mut seen = BTreeSet::new();
    out.retain(|schema| seen.insert(schema.clone()));
    out.into_iter().enumerate().map(|(at, schema)| (format!("schema {at}"), schema)).collect()
}

/// Fits a schema twice and judges it.
fn check(schema: &str, dialect: Dialect) -> Result<bool, String> {
    let fitted = fit(schema, dialect);
    let given: Value = serde_json::from_str(schema).map_err(|e| e.to_string())?;
    let sent: Value = serde_json::from_str(&fitted.schema).map_err(|e| e.to_string())?;
    judge(&given, &sent, &fitted.changed, dialect)?;
    if fitted.changed.is_empty() && fitted.schema != schema {
        return Err("changed, and nothing is named".to_owned());
    }
    let again = fit(&fitted.schema, dialect);
    if !again.changed.is_empty() {
        return Err(format!(
            "fitted again it changes: {:?}\n{}\n{}",
            again.changed, fitted.schema, again.schema
        ));
    }
    Ok(!fitted.changed.is_empty())
}

#[test]
fn recorded_schemas_fit_and_nothing_is_lost_in_silence() {
    let schemas = recorded();
    for dialect in [Dialect::GeminiJson, Dialect::GeminiOpenapi] {
        let mut changed = 0;
        for (label, schema) in &schemas {
            match check(schema, dialect) {
                Ok(other) => changed += usize::from(other),
                Err(error) => panic!("{label} in {dialect:?}: {error}\n{schema}"),
            }
        }
        println!("{} recorded schemas in {dialect:?}, {changed} said in another way", schemas.len());
    }
}

/// Twin: a converter that drops one keyword without a word. The same judge sees each.
#[test]
fn a_keyword_dropped_in_silence_is_noticed() {
    fn without(schema: &mut Value, word: &str) {
        match schema {
            Value::Array(list) => list.iter_mut().for_each(|inner| without(inner, word)),
            Value::Object(members) => {
                members.remove(word);
                for (key, value) in members.iter_mut() {
                    match value {
                        Value::Object(named) if NAMED.contains(&key.as_str()) => {
                            named.values_mut().for_each(|inner| without(inner, word));
                        }
                        _ => without(value, word),
                    }
                }
            }
            _ => {}
        }
    }
    let given = json!({"type": "object", "description": "d", "properties": {
        "format": {"type": "string", "format": "date-time", "pattern": "^a"},
        "n": {"type": "integer", "minimum": 1, "maximum": 9},
        "l": {"type": "array", "items": {"type": "string", "enum": ["a"]}, "minItems": 1}
    }, "required": ["n"]});
    let text = given.to_string();
    for dialect in [Dialect::GeminiJson, Dialect::GeminiOpenapi] {
        let fitted = fit(&text, dialect);
        let sent: Value = serde_json::from_str(&fitted.schema).unwrap();
        assert_eq!(judge(&given, &sent, &fitted.changed, dialect), Ok(()));
        for word in
            "type format description enum items minItems minimum maximum properties required".split(' ')
        {
            let mut twin = sent.clone();
            without(&mut twin, word);
            assert!(judge(&given, &twin, &fitted.changed, dialect).is_err(), "{word} is lost unseen");
        }
        for word in &fitted.changed {
            let mut silent = fitted.changed.clone();
            silent.remove(word);
            assert!(judge(&given, &sent, &silent, dialect).is_err(), "{word} is lost unseen");
        }
        let mut leaks = sent.clone();
        leaks["properties"]["n"]["uniqueItems"] = true.into();
        assert!(judge(&given, &leaks, &fitted.changed, dialect).is_err(), "an unknown keyword leaks");
    }
}

fn schemas() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(json!({"type": "string", "minLength": 1, "pattern": "^a", "format": "email"})),
        Just(json!({"type": ["integer", "null"], "exclusiveMinimum": 2, "multipleOf": 2})),
        Just(json!({"const": 5})),
        Just(json!({"enum": ["a", null]})),
        Just(json!({"$ref": "#/$defs/A", "description": "there"})),
        Just(json!({"$ref": "#/$defs/A"})),
        Just(json!({"$ref": "#/definitions/B"})),
        Just(json!({"$ref": "#"})),
        Just(json!({"type": "null"})),
        Just(json!(true)),
        Just(json!({})),
    ];
    let node = leaf.prop_recursive(4, 40, 4, |inner| {
        let list = || prop::collection::vec(inner.clone(), 0..4);
        prop_oneof![
            (list(), any::<bool>()).prop_map(|(list, open)| {
                let names = ["enum", "$ref", "default", "x"];
                let named: serde_json::Map<_, _> = names.iter().map(|n| (*n).to_owned()).zip(list).collect();
                json!({"type": "object", "properties": named, "additionalProperties": open,
                       "required": ["x", "enum", "x"]})
            }),
            list().prop_map(|list| json!({"anyOf": list, "description": "one"})),
            list().prop_map(|list| json!({"oneOf": list})),
            list().prop_map(|list| json!({"allOf": list, "type": "object"})),
            list().prop_map(|list| json!({"type": "array", "prefixItems": list})),
            inner.clone().prop_map(|one| json!({"type": "array", "items": one, "uniqueItems": true})),
            inner.prop_map(|one| json!({"type": "object", "additionalProperties": one})),
        ]
    });
    (node.clone(), node.clone(), node).prop_map(|(a, b, root)| {
        let mut root = if root.is_object() { root } else { json!({}) };
        root["$defs"] = json!({"A": a});
        root["definitions"] = json!({"B": b});
        root
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_schema_fits(schema in schemas()) {
        for dialect in [Dialect::GeminiJson, Dialect::GeminiOpenapi] {
            let checked = check(&schema.to_string(), dialect);
            prop_assert!(checked.is_ok(), "{:?} of {}: {}", dialect, schema, checked.unwrap_err());
        }
    }
}

/// Both dialects in a request of another wire: where the schemas stand, and what is said of them.
#[test]
fn a_request_for_gemini_has_its_dialect() {
    let body = json!({
        "model": "m",
        "messages": [{"role": "user", "content": "hi"}],
        "tools": [{"type": "function", "function": {"name": "t", "parameters":
            {"type": "object", "properties": {"a": {"type": ["string", "null"], "minLength": 1}}}}}],
        "response_format": {"type": "json_schema", "json_schema": {"name": "o", "schema":
            {"type": "object", "properties": {"b": {"const": "x"}}}}}
    });
    let request = ChatRequest::parse(omniroute_core::wire::OPENAI_CHAT, body.to_string()).unwrap();
    let mut cx = WriteContext::default();
    for older in [false, true] {
        cx.quirks.openapi_schemas = older;
        let written = omniroute_core::wire::translate(&request, GEMINI, &cx).unwrap();
        let sent: Value = serde_json::from_slice(&written.body).unwrap();
        let tool = &sent["tools"][0]["functionDeclarations"][0];
        let config = &sent["generationConfig"];
        let (schema, answer, one) = match older {
            false => (&tool["parametersJsonSchema"], &config["responseJsonSchema"], json!({"enum": ["x"]})),
            true => {
                (&tool["parameters"], &config["responseSchema"], json!({"type": "string", "enum": ["x"]}))
            }
        };
        let text = match older {
            false => json!({"type": ["string", "null"], "description": "(minLength 1)"}),
            true => json!({"type": "string", "nullable": true, "minLength": 1}),
        };
        assert_eq!(schema["properties"]["a"], text);
        assert_eq!(answer["properties"]["b"], one);
        let notes: Vec<_> = written
            .notes
            .iter()
            .filter(|n| n.code == "schema_simplified")
            .map(|n| n.pointer.as_str())
            .collect();
        assert_eq!(notes, ["/output", "/tools/t"]);
    }
}
