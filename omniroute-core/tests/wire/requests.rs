//! Recorded requests, read into the hub and written again for the same wire: the same JSON but for a short list of
//! ways in which one thing can be said twice.

use omniroute_core::Doc;
use omniroute_core::hub::WriteContext;
use omniroute_core::wire::{Wire, by_id};
use serde_json::Value;

use crate::exchanges;

/// The request through the hub, as JSON.
fn through(wire: Wire, body: &str) -> Result<(Value, Vec<String>), String> {
    let doc = Doc::parse(body.to_owned()).unwrap();
    let read = wire.read_request(&doc).map_err(|e| e.to_string())?;
    let extras = read.value.extra.iter().map(|(k, _)| k.decode().into_owned()).collect();
    let written = wire.write(&read.value, &WriteContext::default()).map_err(|e| e.to_string())?;
    assert!(written.notes.is_empty(), "{:?}", written.notes);
    Ok((serde_json::from_slice(&written.body).unwrap(), extras))
}

/// Ways to say one thing twice, put into one form. This is the whole list.
fn normal(wire: &str, value: &mut Value) {
    drop_nulls(value);
    if let ("anthropic-messages", Some(body)) = (wire, value.as_object_mut()) {
        for tool in body.get_mut("tools").and_then(Value::as_array_mut).into_iter().flatten() {
            // The sort that a tool is when it does not say.
            if tool["type"] == "custom" {
                tool.as_object_mut().unwrap().remove("type");
            }
        }
    }
    if wire == "gemini" {
        gemini(value);
    }
    if let ("openai-responses", Some(body)) = (wire, value.as_object_mut()) {
        let items = body.get_mut("input").and_then(Value::as_array_mut).into_iter().flatten();
        for item in items.filter_map(Value::as_object_mut) {
            // What has a role is a message.
            if item.contains_key("role") {
                item.insert("type".into(), "message".into());
            }
            let parts = item.get_mut("content").and_then(Value::as_array_mut).into_iter().flatten();
            for part in parts.filter_map(Value::as_object_mut) {
                // An empty list says nothing.
                for key in ["annotations", "logprobs"] {
                    if part.get(key).is_some_and(|v| v.as_array().is_some_and(Vec::is_empty)) {
                        part.remove(key);
                    }
                }
            }
        }
    }
    if let ("openai-chat", Some(body)) = (wire, value.as_object_mut()) {
        // Two names of one limit.
        if let Some(limit) = body.remove("max_completion_tokens") {
            body.insert("max_tokens".into(), limit);
        }
        // One stop sequence or a list of one.
        if let Some(stop @ Value::String(_)) = body.get("stop").cloned() {
            body.insert("stop".into(), Value::Array(vec![stop]));
        }
        // Framing only.
        if let Some(options) = body.get_mut("stream_options").and_then(Value::as_object_mut) {
            options.remove("include_obfuscation");
        }
        // Two words for one thing.
        if body.get("tool_choice").is_some_and(|c| c == "any") {
            body.insert("tool_choice".into(), "required".into());
        }
        for message in body.get_mut("messages").and_then(Value::as_array_mut).into_iter().flatten() {
            let message = message.as_object_mut().unwrap();
            // No content, empty content and none beside calls are one.
            if message.get("content").is_some_and(|c| c == "" || c.as_array().is_some_and(Vec::is_empty)) {
                message.remove("content");
            }
            // Calls stand in a list: their number is their place.
            for call in message.get_mut("tool_calls").and_then(Value::as_array_mut).into_iter().flatten() {
                call.as_object_mut().unwrap().remove("index");
            }
            if message.get("tool_calls").is_some_and(|c| c.as_array().is_some_and(Vec::is_empty)) {
                message.remove("tool_calls");
            }
        }
    }
}

fn gemini(value: &mut Value) {
    let body = value.as_object_mut().unwrap();
    // Instructions have no speaker.
    if let Some(system) = body.get_mut("systemInstruction").and_then(Value::as_object_mut) {
        system.remove("role");
    }
    // No settings are the same as none.
    for key in ["generationConfig", "toolConfig"] {
        if body.get(key).is_some_and(|v| v.as_object().is_some_and(|o| o.is_empty())) {
            body.remove(key);
        }
    }
    // Two spellings of one name.
    let calling = body.get_mut("toolConfig").and_then(|c| c.get_mut("functionCallingConfig"));
    if let Some(calling) = calling.and_then(Value::as_object_mut)
        && let Some(names) = calling.remove("allowed_function_names")
    {
        calling.insert("allowedFunctionNames".into(), names);
    }
    not_thoughts(value);
}

/// `"thought": false` is what a part is that does not say.
fn not_thoughts(value: &mut Value) {
    match value {
        Value::Object(members) => {
            if members.get("thought").is_some_and(|t| t == false) {
                members.remove("thought");
            }
            members.values_mut().for_each(not_thoughts);
        }
        Value::Array(elements) => elements.iter_mut().for_each(not_thoughts),
        _ => {}
    }
}

/// A member that is null is the same as none.
fn drop_nulls(value: &mut Value) {
    match value {
        Value::Object(members) => {
            members.retain(|_, v| !v.is_null());
            members.values_mut().for_each(drop_nulls);
        }
        Value::Array(elements) => elements.iter_mut().for_each(drop_nulls),
        _ => {}
    }
}

pub(crate) fn same(wire: Wire, body: &str) -> Result<Vec<String>, String> {
    let mut wanted: Value = serde_json::from_str(body).unwrap();
    let (mut found, extras) = through(wire, body)?;
    normal(wire.id(), &mut wanted);
    normal(wire.id(), &mut found);
    if found == wanted { Ok(extras) } else { Err(format!("\n  found  {found}\n  wanted {wanted}")) }
}

/// Extras that recorded requests of each wire have; everything else must be understood.
fn known_extras(wire: &str) -> &'static [&'static str] {
    match wire {
        "openai-chat" => &[
            "grammar",
            "include_reasoning",
            "json_schema",
            "provider",
            "response_format",
            "search_context_size",
            "venice_parameters",
        ],
        "openai-responses" => &[],
        _ => &[],
    }
}

fn check(wire_id: &str) {
    let wire = by_id(wire_id).unwrap();
    let (mut count, mut wrong) = (0, Vec::new());
    for exchange in exchanges::of_wire(wire_id) {
        let Some(body) = &exchange.request else { continue };
        count += 1;
        match same(wire, body) {
            Ok(extras) => {
                for extra in extras.iter().filter(|e| !known_extras(wire_id).contains(&e.as_str())) {
                    wrong.push(format!("{}: \"{extra}\" is not understood", exchange.label()));
                }
            }
            Err(error) => wrong.push(format!("{}: {error}", exchange.label())),
        }
    }
    println!("{wire_id}: {count} requests, {} wrong", wrong.len());
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn openai_chat_requests_come_through() {
    check("openai-chat");
}

#[test]
fn anthropic_requests_come_through() {
    check("anthropic-messages");
}

#[test]
fn openai_responses_requests_come_through() {
    check("openai-responses");
}

#[test]
fn gemini_requests_come_through() {
    check("gemini");
}

/// Twin: a member that is lost shows in the comparison.
#[test]
fn a_lost_member_is_noticed() {
    let mut wanted: Value = serde_json::from_str(r#"{"model":"m","seed":1,"messages":[]}"#).unwrap();
    let (mut found, _) = through(by_id("openai-chat").unwrap(), r#"{"model":"m","messages":[]}"#).unwrap();
    normal("openai-chat", &mut wanted);
    normal("openai-chat", &mut found);
    assert_ne!(found, wanted);
}
