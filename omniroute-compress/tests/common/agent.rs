//! A conversation of an agent that grows call by call, written in any of the four wires.

use omniroute_core::wire::{self, Wire};
use serde_json::{Value, json};

pub const WIRES: [Wire; 4] = [wire::OPENAI_CHAT, wire::ANTHROPIC, wire::OPENAI_RESPONSES, wire::GEMINI];

/// What happens in a conversation.
#[derive(Debug, Clone)]
pub enum Turn {
    /// The model calls a tool and gets an answer.
    Call { tool: String, arguments: Value, text: String, is_error: bool },
    /// The model says something, the user says something else.
    Said { model: String, user: String },
    /// The model leaves something signed or opaque behind, as its vendor does.
    Opaque(String),
}

/// A conversation so far.
#[derive(Debug, Clone)]
pub struct Agent {
    pub wire: Wire,
    pub tools: Vec<String>,
    pub question: String,
    pub turns: Vec<Turn>,
}

impl Agent {
    pub fn new(wire: Wire, tools: &[&str], question: &str) -> Agent {
        let tools = tools.iter().map(|name| (*name).to_owned()).collect();
        Agent { wire, tools, question: question.to_owned(), turns: Vec::new() }
    }

    pub fn call(&mut self, tool: &str, arguments: Value, text: impl Into<String>) {
        let (tool, text) = (tool.to_owned(), text.into());
        self.turns.push(Turn::Call { tool, arguments, text, is_error: false });
    }

    /// The conversation after the first `n` turns.
    pub fn first(&self, n: usize) -> Agent {
        Agent { turns: self.turns[..n].to_vec(), ..self.clone() }
    }

    pub fn bytes(&self) -> Vec<u8> {
        serde_json::to_vec(&self.body()).unwrap()
    }

    pub fn body(&self) -> Value {
        let tools: Vec<Value> = self.tools.iter().map(|name| tool(self.wire, name)).collect();
        let mut list = match self.wire.id() {
            "openai-chat" => vec![
                json!({"role": "system", "content": "You help."}),
                json!({"role": "user", "content": self.question}),
            ],
            "gemini" => vec![json!({"role": "user", "parts": [{"text": self.question}]})],
            _ => vec![json!({"role": "user", "content": self.question})],
        };
        for (n, turn) in self.turns.iter().enumerate() {
            match self.wire.id() {
                "openai-chat" => chat(&mut list, n, turn),
                "anthropic-messages" => anthropic(&mut list, n, turn),
                "openai-responses" => responses(&mut list, n, turn),
                _ => gemini(&mut list, turn),
            }
        }
        match self.wire.id() {
            "openai-chat" => json!({"model": "gpt-5", "tools": tools, "messages": list}),
            "anthropic-messages" => {
                json!({"model": "claude-sonnet-4-5", "system": "You help.", "tools": tools, "messages": list})
            }
            "openai-responses" => {
                json!({"model": "gpt-5", "instructions": "You help.", "tools": tools, "input": list})
            }
            _ => {
                json!({"systemInstruction": {"parts": [{"text": "You help."}]}, "tools": tools, "contents": list})
            }
        }
    }
}

/// The definition of a tool.
pub fn tool(wire: Wire, name: &str) -> Value {
    let schema = json!({"type": "object"});
    match wire.id() {
        "openai-chat" => json!({"type": "function", "function": {"name": name, "parameters": schema}}),
        "openai-responses" => json!({"type": "function", "name": name, "parameters": schema}),
        "anthropic-messages" => json!({"name": name, "input_schema": schema}),
        _ => json!({"functionDeclarations": [{"name": name}]}),
    }
}

fn chat(list: &mut Vec<Value>, n: usize, turn: &Turn) {
    match turn {
        Turn::Call { tool, arguments, text, .. } => {
            let function = json!({"name": tool, "arguments": arguments.to_string()});
            let call = json!({"id": format!("c{n}"), "type": "function", "function": function});
            list.push(json!({"role": "assistant", "tool_calls": [call]}));
            list.push(json!({"role": "tool", "tool_call_id": format!("c{n}"), "content": text}));
        }
        Turn::Said { model, user } => {
            list.push(json!({"role": "assistant", "content": model}));
            list.push(json!({"role": "user", "content": user}));
        }
        Turn::Opaque(text) => {
            let opaque = json!([{"type": "reasoning.encrypted", "data": text}]);
            list.push(json!({"role": "assistant", "content": "Hm.", "reasoning_content": text, "reasoning_details": opaque}));
            list.push(json!({"role": "user", "content": "Go on."}));
        }
    }
}

fn anthropic(list: &mut Vec<Value>, n: usize, turn: &Turn) {
    let id = format!("c{n}");
    match turn {
        Turn::Call { tool, arguments, text, is_error } => {
            let call = json!({"type": "tool_use", "id": id, "name": tool, "input": arguments});
            list.push(json!({"role": "assistant", "content": [call]}));
            let result = json!({"type": "tool_result", "tool_use_id": id, "is_error": is_error, "content": [{"type": "text", "text": text}]});
            list.push(json!({"role": "user", "content": [result]}));
        }
        Turn::Said { model, user } => {
            list.push(json!({"role": "assistant", "content": model}));
            list.push(json!({"role": "user", "content": user}));
        }
        Turn::Opaque(text) => {
            let blocks = json!([
                {"type": "thinking", "thinking": text, "signature": format!("sig-{text}")},
                {"type": "redacted_thinking", "data": text},
                {"type": "server_tool_use", "id": format!("s{n}"), "name": "web_search", "input": {"query": text}},
                {"type": "web_search_tool_result", "tool_use_id": format!("s{n}"), "content": [
                    {"type": "web_search_result", "encrypted_content": text, "title": text, "url": "https://example.org"}
                ]},
            ]);
            list.push(json!({"role": "assistant", "content": blocks}));
            list.push(json!({"role": "user", "content": "Go on."}));
        }
    }
}

fn responses(list: &mut Vec<Value>, n: usize, turn: &Turn) {
    match turn {
        Turn::Call { tool, arguments, text, .. } => {
            let id = format!("c{n}");
            list.push(json!({"type": "function_call", "call_id": id, "name": tool, "arguments": arguments.to_string()}));
            list.push(json!({"type": "function_call_output", "call_id": id, "output": text}));
        }
        Turn::Said { model, user } => {
            list.push(json!({"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": model}]}));
            list.push(json!({"type": "message", "role": "user", "content": user}));
        }
        Turn::Opaque(text) => {
            list.push(
                json!({"type": "reasoning", "id": format!("r{n}"), "summary": [], "encrypted_content": text}),
            );
            list.push(json!({"type": "web_search_call", "id": format!("w{n}"), "status": "completed", "action": {"query": text}}));
            list.push(json!({"type": "message", "role": "user", "content": "Go on."}));
        }
    }
}

fn gemini(list: &mut Vec<Value>, turn: &Turn) {
    match turn {
        Turn::Call { tool, arguments, text, .. } => {
            list.push(json!({"role": "model", "parts": [{"functionCall": {"name": tool, "args": arguments}, "thoughtSignature": "c2ln"}]}));
            let response = json!({"name": tool, "response": {"output": text}});
            list.push(json!({"role": "user", "parts": [{"functionResponse": response}]}));
        }
        Turn::Said { model, user } => {
            list.push(json!({"role": "model", "parts": [{"text": model}]}));
            list.push(json!({"role": "user", "parts": [{"text": user}]}));
        }
        Turn::Opaque(text) => {
            let parts = json!([{"text": text, "thought": true, "thoughtSignature": text}, {"inlineData": {"mimeType": "image/png", "data": text}}]);
            list.push(json!({"role": "model", "parts": parts}));
            list.push(json!({"role": "user", "parts": [{"text": "Go on."}]}));
        }
    }
}

/// A long answer of an API; every one is different.
pub fn records(seed: usize, count: usize) -> String {
    let row = |n: usize| json!({"id": seed * 100_000 + n, "state": if n.is_multiple_of(3) { "open" } else { "closed" }, "owner": format!("user{}", n % 7)});
    serde_json::to_string(&(0..count).map(row).collect::<Vec<_>>()).unwrap()
}

/// A long text of which every line is its own.
pub fn long(seed: usize, lines: usize) -> String {
    (0..lines)
        .map(|n| format!("entry {seed}.{n}: value {} of the series\n", n * 7919 % 1009 + seed))
        .collect()
}
