//! A reply as the independent aggregator prints it.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

use omniroute_core::hub::{Arguments, Part, Reply};
use serde_json::{Value, json};

use crate::exchanges;

/// What the aggregator found, by label; nothing (and a line that says so) where Python or the recordings are absent.
pub(crate) fn expected(wire: &str) -> BTreeMap<String, Value> {
    let Some(folder) = exchanges::folder() else { return BTreeMap::new() };
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../omniroute-core/tests/wire/aggregate.py");
    let Ok(output) = Command::new("python3").arg(script).arg(folder).arg(wire).output() else {
        println!("skipped: needs python3");
        return BTreeMap::new();
    };
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let lines = String::from_utf8(output.stdout).unwrap();
    lines
        .lines()
        .map(|line| {
            let mut value: Value = serde_json::from_str(line).unwrap();
            let label = value["label"].as_str().unwrap().to_owned();
            let members = value.as_object_mut().unwrap();
            for key in ["label", "wire", "streamed"] {
                members.remove(key);
            }
            normal(&mut value);
            (label, value)
        })
        .collect()
}

/// What we read, in the same form.
pub(crate) fn of(reply: &Reply<'_>) -> Value {
    let mut choices = serde_json::Map::new();
    for choice in &reply.choices {
        let (mut text, mut refusal, mut reasoning) = (String::new(), String::new(), String::new());
        let (mut seals, mut calls) = (Vec::new(), Vec::new());
        for part in &choice.turn.parts {
            match part {
                Part::Text(t) => {
                    text.push_str(&t.text.decode());
                    seals.extend(t.seal.as_ref().map(|s| s.data.decode().into_owned()));
                }
                Part::Refusal(t) => refusal.push_str(&t.text.decode()),
                Part::Thought(t) => {
                    if !t.copy {
                        t.text.iter().for_each(|t| reasoning.push_str(&t.decode()));
                    }
                    seals.extend(t.seal.as_ref().map(|s| s.data.decode().into_owned()));
                }
                Part::Call(c) => {
                    let arguments = match &c.arguments {
                        Arguments::Text(t) | Arguments::Free(t) => t.decode().into_owned(),
                        Arguments::Json(j) => j.raw().to_owned(),
                    };
                    seals.extend(c.seal.as_ref().map(|s| s.data.decode().into_owned()));
                    calls.push(json!({"id": c.id.decode(), "name": c.name.decode(), "arguments": arguments}));
                }
                _ => {}
            }
        }
        let stop = choice.stop.as_ref().and_then(|s| s.raw.as_ref()).map(|r| r.decode().into_owned());
        let value = json!({"text": text, "refusal": refusal, "reasoning": reasoning, "seals": seals, "calls": calls, "stop": stop});
        choices.insert(choice.index.to_string(), value);
    }
    let usage = reply
        .usage
        .as_ref()
        .map(|u| json!({"input": u.input(), "output": u.output, "cache_read": u.cache_read}));
    let mut value = json!({"choices": choices, "usage": usage});
    normal(&mut value);
    value
}

/// Where a vendor gave a call no id, ours is one that was made.
pub(crate) fn without_made_ids(mut found: Value, wanted: &Value) -> Value {
    for (index, choice) in found["choices"].as_object_mut().into_iter().flatten() {
        for (at, call) in choice["calls"].as_array_mut().into_iter().flatten().enumerate() {
            if wanted["choices"][index]["calls"][at]["id"] == "" {
                assert!(call["id"].as_str().is_some_and(|id| id.starts_with("call_")));
                call["id"] = "".into();
            }
        }
    }
    found
}

/// Arguments are compared as JSON where they are JSON.
fn normal(value: &mut Value) {
    for choice in value["choices"].as_object_mut().into_iter().flat_map(|c| c.values_mut()) {
        for call in choice["calls"].as_array_mut().into_iter().flatten() {
            let arguments = call["arguments"].as_str().unwrap_or("{}");
            let text = if arguments.trim().is_empty() { "{}" } else { arguments };
            if let Ok(parsed) = serde_json::from_str::<Value>(text) {
                call["arguments"] = parsed;
            }
        }
    }
}
