//! What another wire cannot carry is refused or noted, in whatever depth it stands, to and from the wires of this crate.

use omniroute_core::wire::WIRES;
use omniroute_providers::wires::{HOSTED, by_id};
use serde_json::{Value, json};

use crate::noted;

/// A request of each wire with a member `new_N` that nobody knows in each object that may have one.
fn bodies() -> [(&'static str, (Value, usize)); 4] {
    let schema = json!({"type": "object", "properties": {}});
    let tool = json!({"type": "function", "function": {"name": "f", "parameters": schema, "new_1": 1}});
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
    [
        ("openai-chat", noted::chat()),
        ("ollama", (ollama, 6)),
        ("cohere", (cohere, 7)),
        ("bedrock-converse", (bedrock, 6)),
    ]
}

#[test]
fn members_that_nobody_knows_are_noted_wherever_they_stand() {
    for (source, body) in bodies() {
        let Some(source) = by_id(source) else { continue };
        noted::requests(source, &body, WIRES.iter().chain(HOSTED).copied());
    }
}

#[test]
fn extras_of_replies_are_noted() {
    noted::replies(HOSTED);
}
