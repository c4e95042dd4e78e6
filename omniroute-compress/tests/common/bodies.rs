//! What stands in a body: its messages byte for byte, its literals without cache markers, its structure.

use omniroute_core::{Doc, Kind, NodeId};
use serde_json::Value;

/// The list of messages of a request.
pub fn list(doc: &Doc) -> NodeId {
    ["messages", "input", "contents"].into_iter().find_map(|k| doc.get(doc.root(), k)).unwrap()
}

/// The raw bytes of every message.
pub fn raw_messages(body: &[u8]) -> Vec<String> {
    let doc = Doc::parse(body.to_vec()).unwrap();
    doc.elements(list(&doc)).map(|n| doc.raw(n).to_owned()).collect()
}

/// Every literal of every message with cache markers taken away. A text block and a bare text look alike.
pub fn literals(body: &[u8]) -> Vec<Vec<String>> {
    let doc = Doc::parse(body.to_vec()).unwrap();
    let one = |n| {
        let mut out = Vec::new();
        collect(&doc, n, &mut out);
        out
    };
    doc.elements(list(&doc)).map(one).collect()
}

fn collect(doc: &Doc, node: NodeId, out: &mut Vec<String>) {
    match doc.kind(node) {
        Kind::Array => doc.elements(node).for_each(|n| collect(doc, n, out)),
        Kind::Object => {
            let is_text = doc.get(node, "type").and_then(|n| doc.str(n)).is_some_and(|t| t == "text");
            for (key, value) in doc.members(node) {
                let key = doc.str(key).unwrap();
                if key == "cache_control" || (is_text && key == "type") {
                    continue;
                }
                collect(doc, value, out);
            }
        }
        _ => out.push(doc.raw(node).to_owned()),
    }
}

/// Members whose value belongs to the structure of a request, not to its texts.
const STRUCTURAL: [&str; 11] = [
    "role",
    "type",
    "id",
    "tool_call_id",
    "tool_use_id",
    "call_id",
    "name",
    "status",
    "model",
    "signature",
    "previous_response_id",
];

/// The body with every text blanked: what must be equal before and after compression.
pub fn structure(body: &[u8]) -> Value {
    let mut value: Value = serde_json::from_slice(body).unwrap();
    blank(&mut value, true);
    value
}

fn blank(value: &mut Value, text: bool) {
    match value {
        Value::String(s) if text => s.clear(),
        Value::Array(items) => items.iter_mut().for_each(|v| blank(v, true)),
        Value::Object(members) => {
            for (key, member) in members.iter_mut() {
                blank(member, !STRUCTURAL.contains(&key.as_str()));
            }
        }
        _ => {}
    }
}

/// Whether every result answers a call that stands before it, by the ids of all wires but the one without ids.
pub fn paired(body: &[u8]) -> usize {
    let value: Value = serde_json::from_slice(body).unwrap();
    let (mut calls, mut answered) = (std::collections::HashSet::new(), 0);
    ids(&value, &mut |key, kind, id| match (key, kind) {
        ("id", _) | ("call_id", "function_call" | "custom_tool_call" | "local_shell_call") => {
            calls.insert(id.to_owned());
        }
        _ => answered += usize::from(calls.contains(id)),
    });
    answered
}

fn ids(value: &Value, seen: &mut impl FnMut(&str, &str, &str)) {
    match value {
        Value::Array(items) => items.iter().for_each(|v| ids(v, seen)),
        Value::Object(members) => {
            let kind = members.get("type").and_then(Value::as_str).unwrap_or_default();
            for key in ["id", "call_id", "tool_call_id", "tool_use_id"] {
                if let Some(id) = members.get(key).and_then(Value::as_str) {
                    seen(key, kind, id);
                }
            }
            members.values().for_each(|v| ids(v, seen));
        }
        _ => {}
    }
}
