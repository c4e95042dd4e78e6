//! Frozen zones: what must reach the provider as it came is never offered for editing.
//!
//! The expectation is read from a `serde_json` value by rules that share no code with the wires.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

#[path = "support/fixtures.rs"]
mod fixtures;

use fixtures::{Fixture, bodies};
use omniroute_core::wire::{self, Wire};
use omniroute_core::{ChatRequest, Frozen, SegmentKind, Transcript};
use serde_json::Value;

/// What a body holds, counted by zone.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
struct Zones {
    /// Texts that may be edited, in order.
    editable: Vec<String>,
    system: usize,
    calls: usize,
    definitions: usize,
    /// Readable reasoning.
    reasoning: usize,
    /// User, assistant and tool texts bound to a signature or to citations.
    sealed: usize,
}

impl Zones {
    fn text(&mut self, role: &str, sealed: bool, text: &str) {
        match role {
            "system" | "developer" => self.system += 1,
            _ if sealed => self.sealed += 1,
            _ => self.editable.push(text.to_owned()),
        }
    }

    fn expected(wire: Wire, body: &Value) -> Zones {
        let mut out = Zones::default();
        match wire.id() {
            "openai-chat" => out.chat(body),
            "anthropic-messages" => out.anthropic(body),
            "openai-responses" => out.responses(body),
            _ => out.gemini(body),
        }
        out
    }

    fn found(wire: Wire, body: &[u8]) -> Zones {
        let request = ChatRequest::parse(wire, body.to_vec()).unwrap();
        let transcript = Transcript::of(&request).unwrap();
        let mut out = Zones::default();
        for segment in transcript.segments() {
            match (segment.kind, segment.frozen) {
                (SegmentKind::System, Some(_)) => out.system += 1,
                (SegmentKind::ToolCall, Some(_)) => out.calls += 1,
                (SegmentKind::ToolDefinition, Some(_)) => out.definitions += 1,
                (SegmentKind::Reasoning, Some(_)) => out.reasoning += 1,
                (_, Some(Frozen::Sealed)) => out.sealed += 1,
                (_, Some(_)) => panic!("{segment:?} is frozen for its kind"),
                (_, None) => out.editable.push(segment.original().to_owned()),
            }
        }
        out
    }

    fn chat(&mut self, body: &Value) {
        self.definitions = list(body, "tools").len() + list(body, "functions").len();
        for message in list(body, "messages") {
            let role = string(message, "role");
            if !["system", "developer", "user", "assistant", "tool", "function"].contains(&role) {
                continue;
            }
            let thoughts = ["reasoning_content", "reasoning", "reasoning_details"].map(|key| &message[key]);
            self.reasoning += thoughts.iter().filter(|t| t.is_string()).count();
            let sealed = role == "assistant" && thoughts.iter().any(|t| !t.is_null());
            self.content(role, sealed, &message["content"], &["text"], &[]);
            self.calls +=
                list(message, "tool_calls").len() + usize::from(message["function_call"].is_object());
        }
    }

    fn anthropic(&mut self, body: &Value) {
        self.definitions = list(body, "tools").len();
        self.content("system", false, &body["system"], &["text"], &[]);
        for message in list(body, "messages") {
            let role = string(message, "role");
            if !["system", "developer", "user", "assistant"].contains(&role) {
                continue;
            }
            let thinks = |b: &Value| ["thinking", "redacted_thinking"].contains(&string(b, "type"));
            let sealed = role == "assistant" && list(message, "content").iter().any(thinks);
            if message["content"].is_string() {
                self.content(role, sealed, &message["content"], &["text"], &[]);
            }
            for block in list(message, "content") {
                match string(block, "type") {
                    "text" => self.content(
                        role,
                        sealed,
                        &Value::Array(vec![block.clone()]),
                        &["text"],
                        &["citations"],
                    ),
                    "tool_result" => {
                        self.content("tool", false, &block["content"], &["text"], &["citations"])
                    }
                    "tool_use" => self.calls += 1,
                    "thinking" => self.reasoning += 1,
                    _ => {}
                }
            }
        }
    }

    fn responses(&mut self, body: &Value) {
        self.definitions = list(body, "tools").len();
        self.system = usize::from(body["instructions"].is_string());
        self.content("user", false, &body["input"], &[], &[]);
        let texts = ["input_text", "output_text", "text"];
        for item in list(body, "input") {
            let kind = if item["type"].is_null() && item["role"].is_string() {
                "message"
            } else {
                string(item, "type")
            };
            match kind {
                "message" if ["system", "developer", "user", "assistant"].contains(&string(item, "role")) => {
                    self.content(string(item, "role"), false, &item["content"], &texts, &["annotations"]);
                }
                "reasoning" => self.reasoning += usize::from(item["summary"][0]["text"].is_string()),
                "shell_call_output" => {
                    for run in list(item, "output") {
                        for key in ["stdout", "stderr"] {
                            self.content("tool", false, &run[key], &[], &[]);
                        }
                    }
                }
                output if output.ends_with("_output") && output != "computer_call_output" => {
                    let inner = item["output"].as_str().and_then(|t| serde_json::from_str::<Value>(t).ok());
                    let inner = inner.as_ref().and_then(|v| v.as_object()?.get("output"));
                    let object = item["output"].as_object().and_then(|o| o.get("output"));
                    let output = inner.filter(|v| v.is_string()).or(object).unwrap_or(&item["output"]);
                    self.content("tool", false, output, &texts, &["annotations"]);
                }
                "function_call" | "custom_tool_call" | "local_shell_call" | "shell_call"
                | "apply_patch_call" => {
                    self.calls += 1;
                }
                _ => {}
            }
        }
    }

    fn gemini(&mut self, body: &Value) {
        let either =
            |value: &Value, a: &str, b: &str| value.get(a).or(value.get(b)).cloned().unwrap_or_default();
        for group in list(body, "tools") {
            let declared = either(group, "functionDeclarations", "function_declarations");
            self.definitions += declared.as_array().map_or(1, Vec::len);
        }
        let system = either(body, "systemInstruction", "system_instruction");
        self.system = list(&system, "parts").iter().filter(|p| p["text"].is_string()).count();
        for turn in list(body, "contents") {
            let role = turn["role"].as_str().unwrap_or("user");
            if !["user", "model", "function"].contains(&role) {
                continue;
            }
            let seal = |part: &Value| !either(part, "thoughtSignature", "thought_signature").is_null();
            let whole = list(turn, "parts").iter().any(|p| seal(p) || p["thought"] == true);
            for part in list(turn, "parts") {
                let (call, response) = (
                    either(part, "functionCall", "function_call"),
                    either(part, "functionResponse", "function_response"),
                );
                if call.is_object() {
                    self.calls += 1;
                } else if response.is_object() {
                    self.leaves(seal(part), &response["response"]);
                } else if part["thought"] == true && part["text"].is_string() {
                    self.reasoning += 1;
                } else if let Some(text) = part["text"].as_str() {
                    self.text(role, seal(part) || (role == "model" && whole), text);
                }
            }
        }
    }

    /// A text, or the texts of blocks of these types; a block with any member of `seals` is sealed.
    fn content(&mut self, role: &str, sealed: bool, content: &Value, types: &[&str], seals: &[&str]) {
        if let Some(text) = content.as_str() {
            self.text(role, sealed, text);
        }
        for block in content.as_array().into_iter().flatten() {
            let bound = |key: &&str| match &block[*key] {
                Value::Array(items) => *key == "citations" || !items.is_empty(),
                other => !other.is_null(),
            };
            match (block, block["text"].as_str()) {
                (Value::String(text), _) => self.text(role, sealed, text),
                (_, Some(text)) if types.contains(&string(block, "type")) => {
                    self.text(role, sealed || seals.iter().any(bound), text);
                }
                _ => {}
            }
        }
    }

    fn leaves(&mut self, sealed: bool, value: &Value) {
        match value {
            Value::String(text) => self.text("tool", sealed, text),
            Value::Array(items) => items.iter().for_each(|v| self.leaves(sealed, v)),
            Value::Object(members) => members.values().for_each(|v| self.leaves(sealed, v)),
            _ => {}
        }
    }
}

fn list<'v>(value: &'v Value, key: &str) -> &'v [Value] {
    value[key].as_array().map_or(&[], Vec::as_slice)
}

fn string<'v>(value: &'v Value, key: &str) -> &'v str {
    value[key].as_str().unwrap_or("")
}

/// The same zones; texts may stand in another order where a serialiser sorted the members.
fn same(fixture: &Fixture, found: &Zones) -> Result<(), String> {
    let value: Value = serde_json::from_slice(&fixture.body).unwrap();
    let mut expected = Zones::expected(fixture.wire, &value);
    let mut found = found.clone();
    expected.editable.sort();
    found.editable.sort();
    if found == expected { Ok(()) } else { Err(format!("{fixture}: {found:#?}\nexpected {expected:#?}")) }
}

#[test]
fn only_what_may_be_edited_is_offered() {
    for fixture in bodies() {
        let found = Zones::found(fixture.wire, &fixture.body);
        same(&fixture, &found).unwrap_or_else(|e| panic!("{e}"));
    }
}

/// The totals of all bodies of a wire: a walk that finds nothing would agree with a reading that finds nothing.
#[test]
fn the_fixtures_hold_something_of_every_zone() {
    for (wire, expected) in [
        (wire::OPENAI_CHAT, [91, 9, 32, 8, 3, 3]),
        (wire::ANTHROPIC, [81, 6, 33, 7, 3, 4]),
        (wire::OPENAI_RESPONSES, [68, 4, 38, 11, 2, 2]),
        (wire::GEMINI, [158, 4, 31, 7, 3, 4]),
    ] {
        let mut total = [0; 6];
        for fixture in bodies().iter().filter(|f| f.wire == wire) {
            let Zones { editable, system, calls, definitions, reasoning, sealed } =
                Zones::found(wire, &fixture.body);
            let counts = [editable.len(), system, calls, definitions, reasoning, sealed];
            total.iter_mut().zip(counts).for_each(|(t, n)| *t += n);
        }
        assert_eq!(total, expected, "{wire:?}: editable, system, calls, definitions, reasoning, sealed");
    }
}

/// Neighbours in one body: the sealed one is frozen, the other is not.
#[test]
fn seals_bind_their_message_and_no_other() {
    let cases: [(Wire, &str, &[&str], usize); 11] = [
        (
            wire::ANTHROPIC,
            r#"{"messages":[{"role":"assistant","content":[{"type":"thinking","thinking":"t","signature":"s"},
            {"type":"text","text":"sealed"}]},{"role":"assistant","content":[{"type":"text","text":"free"}]}]}"#,
            &["free"],
            1,
        ),
        (
            wire::ANTHROPIC,
            r#"{"messages":[{"role":"assistant","content":[{"type":"text","text":"sealed"},
            {"type":"redacted_thinking","data":"d"}]},{"role":"user","content":"free"}]}"#,
            &["free"],
            1,
        ),
        (
            wire::ANTHROPIC,
            r#"{"messages":[{"role":"assistant","content":[{"type":"text","text":"sealed","citations":[{}]},
            {"type":"text","text":"free","citations":null}]}]}"#,
            &["free"],
            1,
        ),
        (
            wire::ANTHROPIC,
            r#"{"system":[{"type":"text","text":"s"}],"messages":[{"role":"user","content":[{"type":"x","text":"no"},
            {"type":"tool_result","tool_use_id":"a","content":[{"type":"text","text":"free"},{"type":"x","text":"no"}]}]}]}"#,
            &["free"],
            0,
        ),
        (
            wire::GEMINI,
            r#"{"contents":[{"role":"model","parts":[{"text":"sealed"},{"functionCall":{"name":"n"},"thoughtSignature":"s"}]},
            {"role":"model","parts":[{"text":"free"}]}]}"#,
            &["free"],
            1,
        ),
        (
            wire::GEMINI,
            r#"{"contents":[{"role":"model","parts":[{"text":"t","thought":true},{"text":"sealed"}]},
            {"parts":[{"text":"free"},{"text":"sealed","thought_signature":"s"}]}]}"#,
            &["free"],
            2,
        ),
        (
            wire::OPENAI_CHAT,
            r#"{"messages":[{"role":"assistant","content":"sealed","reasoning_details":[{"type":"reasoning.text",
            "signature":"s"}]},{"role":"assistant","content":"free"}]}"#,
            &["free"],
            1,
        ),
        (
            wire::OPENAI_CHAT,
            r#"{"messages":[{"role":"assistant","content":"sealed","reasoning":"r"},
            {"role":"user","content":"free","reasoning":"r"},{"role":"developer","content":"d"}]}"#,
            &["free"],
            1,
        ),
        (
            wire::OPENAI_RESPONSES,
            r#"{"input":[{"role":"assistant","content":[{"type":"output_text","text":"sealed","annotations":[{}]},
            {"type":"output_text","text":"free","annotations":[]},{"type":"refusal","refusal":"no"}]}]}"#,
            &["free"],
            1,
        ),
        (wire::OPENAI_RESPONSES, r#"{"instructions":"i","input":"free"}"#, &["free"], 0),
        (
            wire::OPENAI_RESPONSES,
            r#"{"input":[{"type":"reasoning","summary":[{"type":"summary_text","text":"r"}],"encrypted_content":"e"},
            {"type":"mcp_call","output":"no"},{"id":"rs_1"},{"role":"system","content":"s"},{"role":"user","content":"free"}]}"#,
            &["free"],
            0,
        ),
    ];
    for (wire, body, editable, sealed) in cases {
        let found = Zones::found(wire, body.as_bytes());
        assert_eq!(
            (found.editable.as_slice(), found.sealed),
            (&editable.iter().map(|t| (*t).to_owned()).collect::<Vec<_>>()[..], sealed),
            "{body}"
        );
    }
}

/// Twins: readings that offer a sealed text, lose a text, or offer system text.
#[test]
fn twin_readings_are_caught() {
    let fixture = bodies().into_iter().find(|f| f.name == "02-thinking-seals").unwrap();
    let found = Zones::found(fixture.wire, &fixture.body);
    assert_eq!(same(&fixture, &found), Ok(()));
    let broken: [fn(&mut Zones); 4] = [
        |z| {
            z.sealed -= 1;
            z.editable.push("sealed text".to_owned());
        },
        |z| drop(z.editable.pop()),
        |z| z.system += 1,
        |z| z.editable[0].push(' '),
    ];
    for change in broken {
        let mut twin = found.clone();
        change(&mut twin);
        assert!(same(&fixture, &twin).is_err());
    }
}
