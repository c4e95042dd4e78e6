//! Cache markers as clients set them: on the last blocks, moved with every turn.

use omniroute_core::wire;
use serde_json::{Value, json};

use super::Session;

/// The first `n` messages with cache markers on the last block of the last two messages; none on wires that have
/// no such markers.
pub fn marked(session: &Session, n: usize) -> Vec<u8> {
    let mut body = session.body.clone();
    let list = body[session.list()].as_array_mut().unwrap();
    list.truncate(n);
    if session.wire == wire::ANTHROPIC || session.wire == wire::OPENAI_CHAT {
        list.iter_mut().rev().filter(|m| !m["content"].is_null()).take(2).for_each(mark);
    }
    serde_json::to_vec(&body).unwrap()
}

/// Index of the first message with a marker.
pub fn first_marked(body: &Value) -> Option<usize> {
    let messages = body["messages"].as_array()?;
    messages.iter().position(|m| m.to_string().contains("\"cache_control\""))
}

fn mark(message: &mut Value) {
    let content = &mut message["content"];
    if let Value::String(text) = content.clone() {
        *content = json!([{"type": "text", "text": text}]);
    }
    if let Some(block) = content.as_array_mut().and_then(|blocks| blocks.last_mut()) {
        // Within a result, too: its own text may become a block.
        if let Some(Value::String(text)) = block.get("content").cloned() {
            block["content"] = json!([{"type": "text", "text": text}]);
        }
        block["cache_control"] = json!({"type": "ephemeral"});
    }
}
