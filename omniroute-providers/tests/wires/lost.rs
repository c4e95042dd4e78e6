//! What another wire cannot carry is refused or noted, in whatever depth it stands, to and from the wires of this crate.

use omniroute_core::hub::WriteContext;
use omniroute_core::wire::{OPENAI_CHAT, WIRES, Wire};
use omniroute_core::{Diagnostic, Doc};
use omniroute_providers::wires::{HOSTED, by_id};
use serde_json::{Value, json};

use crate::replies::items;

/// A request of each wire with a member `new_N` that nobody knows in each object that may have one.
fn bodies() -> [(&'static str, Value, usize); 4] {
    let schema = json!({"type": "object", "properties": {}});
    let tool = json!({"type": "function", "function": {"name": "f", "parameters": schema, "new_1": 1}});
    let chat = json!({"model": "m", "new_0": 1, "tools": [tool],
        "messages": [{"role": "user", "new_2": 1, "content": [{"type": "text", "text": "x", "new_3": 1}]},
            {"role": "assistant", "new_4": 1, "tool_calls": [{"id": "a", "type": "function", "new_5": 1, "function": {"name": "f", "arguments": "{}"}}]},
            {"role": "tool", "tool_call_id": "a", "content": "1", "new_6": 1}]});
    let ollama = json!({"model": "m", "stream": false, "new_0": 1, "tools": [tool], "options": {"new_5": 1},
        "messages": [{"role": "user", "content": "x", "new_2": 1},
            {"role": "assistant", "content": "", "new_3": 1, "tool_calls": [{"function": {"name": "f", "arguments": {}}}]},
            {"role": "tool", "tool_name": "f", "content": "1", "new_4": 1}]});
    let cohere = json!({"model": "m", "new_0": 1, "tools": [tool],
        "messages": [{"role": "user", "new_2": 1, "content": [{"type": "text", "text": "x", "new_3": 1}]},
            {"role": "assistant", "new_4": 1, "tool_calls": [{"id": "a", "type": "function", "new_5": 1, "function": {"name": "f", "arguments": "{}"}}]},
            {"role": "tool", "tool_call_id": "a", "content": "1", "new_6": 1}]});
    let bedrock = json!({"new_0": 1, "inferenceConfig": {"maxTokens": 9, "new_1": 1},
        "toolConfig": {"tools": [{"toolSpec": {"name": "f", "inputSchema": {"json": schema}, "new_2": 1}}]},
        "messages": [{"role": "user", "new_3": 1, "content": [{"text": "x"}]},
            {"role": "assistant", "content": [{"toolUse": {"toolUseId": "a", "name": "f", "input": {}, "new_4": 1}}]},
            {"role": "user", "content": [{"toolResult": {"toolUseId": "a", "content": [{"text": "1"}], "new_5": 1}}]}]});
    [("openai-chat", chat, 7), ("ollama", ollama, 6), ("cohere", cohere, 7), ("bedrock-converse", bedrock, 6)]
}

/// The numbers of the unknown members that neither the body nor a remark names.
fn unheard(count: usize, body: &[u8], notes: &[Diagnostic]) -> Vec<usize> {
    let body = String::from_utf8_lossy(body);
    let told = |name: &str| body.contains(name) || notes.iter().any(|n| n.pointer.ends_with(name));
    (0..count).filter(|n| !told(&format!("new_{n}"))).collect()
}

fn all() -> impl Iterator<Item = Wire> {
    WIRES.iter().chain(HOSTED).copied()
}

#[test]
fn members_that_nobody_knows_are_noted_wherever_they_stand() {
    for (source, body, count) in bodies() {
        let Some(source) = by_id(source) else { continue };
        let doc = Doc::parse(body.to_string()).unwrap();
        let request = source.read_request(&doc).unwrap().value;
        for target in all() {
            let written = target.write(&request, &WriteContext::default()).unwrap();
            let lost = unheard(count, &written.body, &written.notes);
            let text = String::from_utf8_lossy(&written.body);
            assert!(lost.is_empty(), "{} -> {}: {lost:?} {text}", source.id(), target.id());
            assert_eq!(text.contains("new_"), target == source, "{} -> {}: {text}", source.id(), target.id());
        }
    }
}

/// What a stream or a whole reply says beyond its message, on another wire. Each is noted once.
#[test]
fn extras_of_replies_are_noted() {
    let choice = json!({"index": 0, "delta": {"content": "hi"}, "finish_reason": "stop", "new_1": 1});
    let stream = format!(
        "data: {}\n\ndata: [DONE]\n\n",
        json!({"id": "c", "model": "m", "new_0": 1, "choices": [choice]})
    );
    let events = items(OPENAI_CHAT, stream.as_bytes(), &[]);
    let message = json!({"role": "assistant", "content": "hi", "new_2": 1});
    let whole = json!({"id": "c", "model": "m", "new_0": 1,
        "choices": [{"index": 0, "message": message, "finish_reason": "stop", "new_1": 1}]});
    let doc = Doc::parse(whole.to_string()).unwrap();
    let reply = OPENAI_CHAT.read_reply(&doc).unwrap().value;
    for target in HOSTED {
        let mut writer = target.stream_writer(&WriteContext::default()).unwrap();
        let mut bytes = Vec::new();
        for _ in 0..2 {
            events.iter().flat_map(|i| &i.events).for_each(|e| writer.write(e, &mut bytes));
        }
        let notes = writer.notes();
        assert_eq!(unheard(2, &bytes, &notes), [0usize; 0], "{} streamed", target.id());
        assert_eq!(notes.len(), 2, "{}: {notes:?}", target.id());
        let written = target.write_reply(&reply, &WriteContext::default()).unwrap();
        assert_eq!(unheard(3, &written.body, &written.notes), [0usize; 0], "{} whole", target.id());
    }
}

/// Twin: without its remarks the same request loses members.
#[test]
fn a_member_without_a_remark_is_found() {
    let (source, body, count) = &bodies()[0];
    let doc = Doc::parse(body.to_string()).unwrap();
    let request = by_id(source).unwrap().read_request(&doc).unwrap().value;
    let written = HOSTED[0].write(&request, &WriteContext::default()).unwrap();
    assert_eq!(unheard(*count, &written.body, &[]).len(), *count);
    assert_eq!(unheard(*count, &written.body, &written.notes[1..]).len(), 1);
}
