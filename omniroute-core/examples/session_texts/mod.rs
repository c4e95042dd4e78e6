//! Reads the texts and the billed usage of a recorded session, whichever wire it was recorded on.

use serde_json::Value;

/// The sessions that belong to this repository.
pub(crate) const OWN: [&str; 6] = [
    "ledger.openai.json",
    "shardkv.anthropic.json",
    "shardkv.gemini.json",
    "shardkv.openai.json",
    "shardkv.responses.json",
    "shopapi.openai.json",
];

/// Who wrote a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    /// The system prompt, developer and user messages.
    User,
    /// What the model said.
    Assistant,
    /// The name and the arguments of a tool call.
    Call,
    /// What a tool gave back.
    Output,
}

/// One text of a session.
#[derive(Debug)]
pub(crate) struct SessionText {
    /// The place of its message, item or content in the session.
    pub(crate) index: usize,
    /// Who wrote it.
    pub(crate) role: Role,
    /// The text itself; arguments given as objects are compact JSON.
    pub(crate) text: String,
}

/// What one model call was billed.
#[derive(Debug)]
pub(crate) struct Usage {
    /// The place of the answer in the session.
    pub(crate) index: usize,
    /// The model's name.
    pub(crate) model: String,
    /// All tokens of the prompt, cached or not.
    pub(crate) input: i64,
    /// Tokens of the answer that come back with the next prompt.
    pub(crate) output: i64,
}

/// The sessions of a file: its `sessions`, or the file itself.
pub(crate) fn sessions(file: Value) -> Vec<Value> {
    match file {
        Value::Object(mut members) if members.contains_key("sessions") => match members.remove("sessions") {
            Some(Value::Array(list)) => list,
            _ => Vec::new(),
        },
        file => vec![file],
    }
}

/// All texts of a session in the order they are sent.
pub(crate) fn texts(session: &Value) -> Vec<SessionText> {
    let mut out = Vec::new();
    for key in ["system", "instructions", "systemInstruction"] {
        content(&mut out, 0, Role::User, &session[key]);
        content(&mut out, 0, Role::User, &session[key]["parts"]);
    }
    for key in ["messages", "input", "contents"] {
        for (index, message) in session[key].as_array().into_iter().flatten().enumerate() {
            entry(&mut out, index, message);
        }
    }
    out
}

/// What the calls of a session were billed, in order; empty when the recording does not say.
pub(crate) fn usage(session: &Value) -> Vec<Usage> {
    let number = |call: &Value, key: &str| call[key].as_i64().unwrap_or(0);
    let read = |call: &Value| Usage {
        index: ["message_index", "item_index", "content_index"]
            .iter()
            .find_map(|key| call[*key].as_u64())
            .map_or(0, |index| usize::try_from(index).unwrap_or(usize::MAX)),
        model: call["model"].as_str().unwrap_or("unknown").to_owned(),
        input: ["input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens", "input"]
            .iter()
            .map(|key| number(call, key))
            .sum(),
        output: number(call, "output_tokens") + number(call, "output"),
    };
    session["provider_usage"].as_array().into_iter().flatten().map(read).collect()
}

fn entry(out: &mut Vec<SessionText>, index: usize, message: &Value) {
    match message["type"].as_str().unwrap_or("") {
        "function_call" | "custom_tool_call" => {
            for key in ["name", "arguments", "input"] {
                push(out, index, Role::Call, &message[key]);
            }
            return;
        }
        "function_call_output" | "custom_tool_call_output" => {
            return content(out, index, Role::Output, &message["output"]);
        }
        "reasoning" => return,
        _ => {}
    }
    let role = match message["role"].as_str().unwrap_or("") {
        "assistant" | "model" => Role::Assistant,
        "tool" => Role::Output,
        _ => Role::User,
    };
    content(out, index, role, &message["content"]);
    content(out, index, role, &message["parts"]);
    for call in message["tool_calls"].as_array().into_iter().flatten() {
        push(out, index, Role::Call, &call["function"]["name"]);
        push(out, index, Role::Call, &call["function"]["arguments"]);
    }
}

fn content(out: &mut Vec<SessionText>, index: usize, role: Role, value: &Value) {
    match value {
        Value::Array(blocks) => blocks.iter().for_each(|inner| block(out, index, role, inner)),
        Value::String(_) => push(out, index, role, value),
        _ => {}
    }
}

fn block(out: &mut Vec<SessionText>, index: usize, role: Role, block: &Value) {
    match block["type"].as_str().unwrap_or("") {
        // Thoughts are not sent back as text.
        "thinking" => {}
        "tool_use" => {
            push(out, index, Role::Call, &block["name"]);
            push(out, index, Role::Call, &block["input"]);
        }
        "tool_result" => content(out, index, Role::Output, &block["content"]),
        _ if block["thought"] == true => {}
        _ => {
            push(out, index, role, &block["text"]);
            push(out, index, Role::Call, &block["functionCall"]["name"]);
            push(out, index, Role::Call, &block["functionCall"]["args"]);
            push(out, index, Role::Output, &block["functionResponse"]["response"]);
        }
    }
}

fn push(out: &mut Vec<SessionText>, index: usize, role: Role, value: &Value) {
    let text = match value {
        Value::Null => return,
        Value::String(text) => text.clone(),
        // A response that is one text in an object.
        Value::Object(members) if role == Role::Output && members.len() == 1 => {
            match members.values().next().and_then(Value::as_str) {
                Some(text) => text.to_owned(),
                None => value.to_string(),
            }
        }
        value => value.to_string(),
    };
    if !text.is_empty() {
        out.push(SessionText { index, role, text });
    }
}
