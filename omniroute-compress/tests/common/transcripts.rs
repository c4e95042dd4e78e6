//! A second reading of bodies, from `serde_json` values alone: tool calls and results with their texts.

use omniroute_core::{Doc, NodeId, wire::Wire};
use serde_json::Value;

/// A call or a result, with the text of the same place in two bodies.
#[derive(Debug, Clone, Default)]
pub struct Item {
    pub is_call: bool,
    pub tool: String,
    /// For a call: all strings of its arguments. For a result: those of its call.
    pub arguments: Vec<String>,
    /// Which call it is or answers, from 1.
    pub call: Option<usize>,
    /// Texts of a result as they are in the first body, and as they are in the second.
    pub texts: Vec<(String, String)>,
}

/// Calls and results in order. The bodies must have the same shape.
pub fn items(wire: Wire, first: &Value, second: &Value) -> Vec<Item> {
    let mut reader = Reader::default();
    let key = ["messages", "input", "contents"].into_iter().find(|k| first[*k].is_array()).unwrap();
    for (a, b) in first[key].as_array().unwrap().iter().zip(second[key].as_array().unwrap()) {
        match wire.id() {
            "openai-chat" => {
                for call in a["tool_calls"].as_array().into_iter().flatten() {
                    reader.call(&call["id"], &call["function"]["name"], &call["function"]["arguments"]);
                }
                if a["role"] == "tool" {
                    reader.result(&a["tool_call_id"], &a["content"], &b["content"]);
                }
            }
            "anthropic-messages" => {
                let blocks = |v: &Value| v["content"].as_array().cloned().unwrap_or_default();
                for (a, b) in blocks(a).iter().zip(&blocks(b)) {
                    match a["type"].as_str() {
                        Some("tool_use") => reader.call(&a["id"], &a["name"], &a["input"]),
                        Some("tool_result") => reader.result(&a["tool_use_id"], &a["content"], &b["content"]),
                        _ => {}
                    }
                }
            }
            "openai-responses" => match a["type"].as_str() {
                Some("function_call") => reader.call(&a["call_id"], &a["name"], &a["arguments"]),
                Some("custom_tool_call") => reader.call(&a["call_id"], &a["name"], &a["input"]),
                Some("local_shell_call") => reader.call(&a["call_id"], &a["type"], &a["action"]),
                Some(kind) if kind.ends_with("_output") => {
                    reader.result(&a["call_id"], &a["output"], &b["output"])
                }
                _ => {}
            },
            _ => {
                let parts = |v: &Value| v["parts"].as_array().cloned().unwrap_or_default();
                for (a, b) in parts(a).iter().zip(&parts(b)) {
                    if a["functionCall"].is_object() {
                        let call = &a["functionCall"];
                        let id = if call["id"].is_string() { &call["id"] } else { &call["name"] };
                        reader.call(id, &call["name"], &call["args"]);
                    }
                    if a["functionResponse"].is_object() {
                        let (x, y) = (&a["functionResponse"], &b["functionResponse"]);
                        let id = if x["id"].is_string() { &x["id"] } else { &x["name"] };
                        reader.result(id, &x["response"], &y["response"]);
                    }
                }
            }
        }
    }
    reader.items
}

#[derive(Default)]
struct Reader {
    items: Vec<Item>,
    calls: usize,
    /// Ids of calls with their place in `items`; a name stands for its first unanswered call on Gemini.
    waiting: Vec<(String, usize)>,
}

impl Reader {
    fn call(&mut self, id: &Value, tool: &Value, arguments: &Value) {
        self.calls += 1;
        // A value of `serde_json` is sorted by key, and here the order of a document counts.
        let document = arguments.as_str().map_or_else(|| arguments.to_string(), str::to_owned);
        let mut leaves = Vec::new();
        match Doc::parse(document.clone()) {
            Ok(doc) => strings(&doc, doc.root(), &mut leaves),
            Err(_) => leaves.push(document),
        }
        self.waiting.push((id.as_str().unwrap_or_default().to_owned(), self.items.len()));
        let tool = tool.as_str().unwrap_or_default().to_owned();
        self.items.push(Item {
            is_call: true,
            tool,
            arguments: leaves,
            call: Some(self.calls),
            texts: Vec::new(),
        });
    }

    fn result(&mut self, id: &Value, first: &Value, second: &Value) {
        let at = self.waiting.iter().position(|(w, _)| Some(w.as_str()) == id.as_str());
        let call = at.map(|at| self.items[self.waiting.remove(at).1].clone()).unwrap_or_default();
        let mut item = Item { is_call: false, ..call };
        item.texts = texts(first, second);
        self.items.push(item);
    }
}

/// Texts of a result; of content blocks only the texts.
fn texts(first: &Value, second: &Value) -> Vec<(String, String)> {
    match (first, second) {
        (Value::String(a), Value::String(b)) => vec![(unwrapped(a), unwrapped(b))],
        (Value::Array(a), Value::Array(b)) => a.iter().zip(b).flat_map(|(a, b)| texts(a, b)).collect(),
        (Value::Object(a), Value::Object(b)) => {
            let names = a.iter().filter(|(k, _)| !["type", "cache_control", "source"].contains(&k.as_str()));
            names.flat_map(|(k, v)| texts(v, b.get(k).unwrap_or(&Value::Null))).collect()
        }
        _ => Vec::new(),
    }
}

/// The text in a document such as shells of the Responses API report.
fn unwrapped(text: &str) -> String {
    let inner = || serde_json::from_str::<Value>(text).ok()?["output"].as_str().map(str::to_owned);
    if text.starts_with('{') { inner().unwrap_or_else(|| text.to_owned()) } else { text.to_owned() }
}

fn strings(doc: &Doc, node: NodeId, out: &mut Vec<String>) {
    let text = |n| doc.str(n).map(|t| t.into_owned());
    out.extend(text(node));
    doc.elements(node).for_each(|n| strings(doc, n, out));
    doc.members(node).for_each(|(_, n)| strings(doc, n, out));
    let words: Vec<String> = doc.elements(node).filter_map(text).collect();
    if words.len() > 1 {
        out.push(words.join(" "));
    }
}
