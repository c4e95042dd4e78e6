//! Recorded requests, read into the hub and written again for the same wire: the same JSON but for a short list of
//! ways in which one thing can be said twice.

use omniroute_core::Doc;
use omniroute_core::hub::WriteContext;
use omniroute_core::wire::Wire;
use omniroute_providers::wires::{COHERE, HOSTED};
use serde_json::{Value, json};

use crate::exchanges;

/// The request through the hub, as JSON; nothing of it may end among the extras.
pub(crate) fn through(wire: Wire, body: &str) -> Result<Value, String> {
    let doc = Doc::parse(body.to_owned()).unwrap();
    let read = wire.read_request(&doc).map_err(|e| e.to_string())?;
    let extras: Vec<_> = read.value.extra.iter().map(|(k, _)| k.decode().into_owned()).collect();
    let known = ["guardrailConfig", "safety_mode"]; // mean something on their own wire only
    if extras.iter().any(|e| !known.contains(&e.as_str())) {
        return Err(format!("not understood: {extras:?}"));
    }
    let written = wire.write(&read.value, &WriteContext::default()).map_err(|e| e.to_string())?;
    assert!(written.notes.is_empty(), "{:?}", written.notes);
    Ok(serde_json::from_slice(&written.body).unwrap())
}

/// Ways to say one thing twice, put into one form. This is the whole list.
pub(crate) fn normal(wire: &str, value: &mut Value) {
    let body = value.as_object_mut().unwrap();
    body.retain(|_, v| !v.is_null());
    // No settings are the same as none.
    for key in ["options", "inferenceConfig"] {
        if body.get(key).is_some_and(|v| *v == json!({})) {
            body.remove(key);
        }
    }
    for message in body.get_mut("messages").and_then(Value::as_array_mut).into_iter().flatten() {
        let message = message.as_object_mut().unwrap();
        message.retain(|_, v| !v.is_null());
        // An empty list says nothing.
        for key in ["tool_calls", "citations"] {
            if message.get(key).is_some_and(|v| *v == json!([])) {
                message.remove(key);
            }
        }
        // No content and empty content beside calls are one.
        let calls = message.contains_key("tool_calls");
        if wire == "cohere" && calls && message.get("content").is_some_and(|c| *c == "" || *c == json!([])) {
            message.remove("content");
        }
    }
}

#[test]
fn recorded_requests_come_through() {
    for wire in HOSTED {
        let (mut count, mut wrong) = (0, Vec::new());
        for exchange in exchanges::of_wire(wire.id()) {
            let Some(body) = &exchange.request else { continue };
            count += 1;
            let mut wanted: Value = serde_json::from_str(body).unwrap();
            normal(wire.id(), &mut wanted);
            match through(*wire, body) {
                Ok(mut found) => {
                    normal(wire.id(), &mut found);
                    if found != wanted {
                        wrong.push(format!("{}\n  found  {found}\n  wanted {wanted}", exchange.label()));
                    }
                }
                Err(error) => wrong.push(format!("{}: {error}", exchange.label())),
            }
        }
        println!("{}: {count} requests, {} wrong", wire.id(), wrong.len());
        assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    }
}

/// Requests that were not recorded, with what each wire has beyond the recordings. Written by us.
#[test]
fn rich_requests_come_through() {
    for (id, body) in [
        ("cohere", include_str!("rich/cohere.json")),
        ("ollama", include_str!("rich/ollama.json")),
        ("bedrock-converse", include_str!("rich/bedrock-converse.json")),
    ] {
        let Some(wire) = HOSTED.iter().find(|w| w.id() == id) else { continue };
        let mut wanted: Value = serde_json::from_str(body).unwrap();
        let mut found = through(*wire, body).unwrap();
        normal(id, &mut wanted);
        normal(id, &mut found);
        assert_eq!(found, wanted, "{id}");
    }
}

/// Twin: a member that is lost shows in the comparison.
#[test]
fn a_lost_member_is_noticed() {
    let mut wanted: Value = json!({"model": "m", "k": 4, "messages": []});
    let mut found = through(COHERE, r#"{"model":"m","messages":[]}"#).unwrap();
    normal("cohere", &mut wanted);
    normal("cohere", &mut found);
    assert_ne!(found, wanted);
}

#[test]
fn a_deciding_key_is_given_once() {
    for wire in HOSTED {
        for body in [
            r#"{"messages":[],"messages":[]}"#,
            r#"{"messages":[{"role":"user","role":"user","content":[]}]}"#,
        ] {
            let doc = Doc::parse(body).unwrap();
            let error = wire.read_request(&doc).unwrap_err();
            assert_eq!(error.code(), omniroute_core::Rule::DuplicateKey.code(), "{}: {error}", wire.id());
        }
        for body in
            ["[]", "{}", r#"{"messages":{}}"#, r#"{"messages":[1]}"#, r#"{"messages":[{"content":[]}]}"#]
        {
            let doc = Doc::parse(body).unwrap();
            let error = wire.read_request(&doc).unwrap_err();
            assert_eq!(error.code(), omniroute_core::Rule::Shape.code(), "{}: {body}: {error}", wire.id());
        }
    }
}
