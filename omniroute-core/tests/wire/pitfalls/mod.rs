//! What goes wrong elsewhere, each with bytes that show it: one test for each known fault, named after its number. All
//! of these bytes are synthetic. Those that only show in calls over HTTP stand with the providers' tests.

mod calls;
mod history;
mod requests;
mod streams;

use omniroute_core::Doc;
use omniroute_core::hub::WriteContext;
use omniroute_core::wire::{OPENAI_CHAT, Wire};
use serde_json::{Value, json};

use crate::neutral;
use crate::replies::{assemble, items};

fn chunk(delta: Value, finish: Option<&str>) -> String {
    let choice = json!({"index": 0, "delta": delta, "finish_reason": finish});
    format!("data: {}\n\n", json!({"id": "c", "model": "m", "choices": [choice]}))
}

fn call(index: Option<u32>, id: Option<&str>, name: Option<&str>, arguments: &str) -> Value {
    let mut call = json!({"function": {"arguments": arguments}});
    if let Some(index) = index {
        call["index"] = index.into();
    }
    if let Some(id) = id {
        call["id"] = id.into();
    }
    if let Some(name) = name {
        call["function"]["name"] = name.into();
    }
    call
}

/// Id, name and arguments of a call.
type Called = (String, String, Value);

/// The calls that a stream of chunks tells, and its text; an error as its code.
fn read(chunks: &[String]) -> Result<(String, Vec<Called>), String> {
    let bytes = chunks.concat().into_bytes();
    let reply = assemble(OPENAI_CHAT, &items(OPENAI_CHAT, &bytes, &[]), "synthetic")?;
    let found = neutral::of(&reply);
    let choice = &found["choices"]["0"];
    let text = |v: &Value| v.as_str().unwrap().to_owned();
    let calls = choice["calls"].as_array().unwrap().iter();
    let calls = calls.map(|c| (text(&c["id"]), text(&c["name"]), c["arguments"].clone())).collect();
    Ok((text(&choice["text"]), calls))
}

fn done() -> String {
    "data: [DONE]\n\n".to_owned()
}

fn one(id: &str, name: &str, arguments: Value) -> (String, String, Value) {
    (id.to_owned(), name.to_owned(), arguments)
}

/// Events with their names.
fn events(objects: &[Value]) -> String {
    objects.iter().map(|o| format!("event: {}\ndata: {o}\n\n", o["type"].as_str().unwrap())).collect()
}

/// The stream `text` of one wire as a client of another sees it.
fn told(source: Wire, text: &str, target: Wire) -> Vec<u8> {
    let mut cx = WriteContext::default();
    cx.options.stream_usage = true;
    let mut writer = target.stream_writer(&cx).unwrap();
    let mut out = Vec::new();
    let read = items(source, text.as_bytes(), &[]);
    read.iter().flat_map(|i| &i.events).for_each(|event| writer.write(event, &mut out));
    out
}

/// The data of every event that is JSON.
fn data(bytes: &[u8]) -> Vec<Value> {
    let text = std::str::from_utf8(bytes).unwrap();
    let lines = text.lines().filter_map(|l| l.strip_prefix("data: "));
    lines.filter(|l| *l != "[DONE]").map(|l| serde_json::from_str(l).unwrap()).collect()
}

/// A request of one wire as another sends it, and the codes of the remarks.
fn sent(source: Wire, target: Wire, body: &Value, cx: &WriteContext) -> (Value, Vec<&'static str>) {
    let doc = Doc::parse(body.to_string()).unwrap();
    let request = source.read_request(&doc).unwrap().value;
    let written = target.write(&request, cx).unwrap_or_else(|e| panic!("{}: {e}", target.id()));
    (serde_json::from_slice(&written.body).unwrap(), written.notes.iter().map(|n| n.code).collect())
}
