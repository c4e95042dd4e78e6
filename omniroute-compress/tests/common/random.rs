//! Random conversations with an agent: files read in parts and again, commands, edits, lists, on every wire.

use omniroute_core::wire::{self, Wire};
use proptest::prelude::*;
use serde_json::{Value, json};

use super::Session;

/// Wires a conversation can be written on.
pub const WIRES: [Wire; 4] = [wire::OPENAI_CHAT, wire::ANTHROPIC, wire::OPENAI_RESPONSES, wire::GEMINI];

const TOOLS: [&str; 5] = ["read", "bash", "edit", "lookup", "write_file"];
const PATHS: [&str; 3] = ["src/lib.rs", "src/main.rs", "notes.md"];
const COMMANDS: [&str; 5] =
    ["cargo test", "cat src/lib.rs", "git diff", "npm install 2>&1 | tail -40", "docker logs web"];

/// One exchange.
#[derive(Debug, Clone)]
pub enum Turn {
    Said(String),
    /// `in_two`: the answer comes in two blocks if it has an empty line.
    Used {
        tool: usize,
        target: usize,
        text: String,
        written: String,
        is_error: bool,
        in_two: bool,
    },
}

#[derive(Debug, Clone)]
enum Piece {
    /// Lines of one of a few files, so that texts overlap.
    Part {
        file: usize,
        from: usize,
        count: usize,
    },
    Run {
        line: usize,
        count: usize,
    },
    Rows(usize),
    Free(String),
}

/// Texts with lines from a small pool, with and without line numbers, with any end of line.
pub fn texts() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        6 => (0..3usize, 0..40usize, 1..60usize).prop_map(|(file, from, count)| Piece::Part { file, from, count }),
        1 => (0..6usize, 1..30usize).prop_map(|(line, count)| Piece::Run { line, count }),
        1 => (1..30usize).prop_map(Piece::Rows),
        1 => "[ -~\t\u{e9}\r\n]{0,80}".prop_map(Piece::Free),
    ];
    let layout = (0..8usize, prop::bool::weighted(0.1), any::<bool>());
    (prop::collection::vec(piece, 1..4), layout).prop_map(|(pieces, (gutter, crlf, end))| {
        let lines: Vec<String> = pieces.iter().flat_map(|p| lines(p, gutter)).collect();
        lines.join(if crlf { "\r\n" } else { "\n" }) + if end { "\n" } else { "" }
    })
}

/// Line `n` of a file; some lines stand in all files, some are empty, one is huge.
pub fn file_line(file: usize, n: usize) -> String {
    match n % 11 {
        3 => String::new(),
        5 => "    }".to_owned(),
        7 => format!("    let shared_{n} = compute(input, {n});"),
        9 if n == 9 => "x".repeat(2000),
        _ => format!("fn name_{file}_{n}() {{ return {}; }}  ", n * 31 + file),
    }
}

fn lines(piece: &Piece, gutter: usize) -> Vec<String> {
    let number = |n: usize, line: String| match gutter {
        0 => format!("{n:6}\t{line}"),
        1 => format!("{n}→{line}"),
        2 => format!("{n}: {line}"),
        3 if !n.is_multiple_of(13) => format!("{n:5}|{line}"),
        _ => line,
    };
    match piece {
        Piece::Part { file, from, count } => {
            (*from..from + count).map(|n| number(n + 1, file_line(*file, n))).collect()
        }
        Piece::Run { line, count } => {
            vec![format!("warning: repeated line number {line} of the output"); *count]
        }
        Piece::Rows(count) => {
            let row =
                |i: usize| json!({"id": i, "name": format!("item {i}"), "state": "ready", "size": i * 7});
            let rows = Value::Array((0..*count).map(row).collect());
            vec![if count % 2 == 0 { rows.to_string() } else { serde_json::to_string_pretty(&rows).unwrap() }]
        }
        Piece::Free(text) => vec![text.clone()],
    }
}

/// Conversations of up to `max` exchanges.
pub fn talks(max: usize) -> impl Strategy<Value = Vec<Turn>> {
    let used =
        (0..TOOLS.len(), 0..5usize, texts(), texts(), prop::bool::weighted(0.15), prop::bool::weighted(0.3));
    let turn = prop_oneof![
        1 => "[ -~]{0,40}".prop_map(Turn::Said),
        6 => used.prop_map(|(tool, target, text, written, is_error, in_two)| {
            Turn::Used { tool, target, text, written, is_error, in_two }
        }),
    ];
    let again = prop::bool::weighted(0.2);
    prop::collection::vec((turn, again), 1..max).prop_map(|turns| {
        let mut out: Vec<Turn> = Vec::new();
        for (mut turn, again) in turns {
            // Sometimes the answer before comes once more.
            if let (true, Turn::Used { text, .. }, Some(Turn::Used { text: before, .. })) =
                (again, &mut turn, out.last())
            {
                text.clone_from(before);
            }
            out.push(turn);
        }
        out
    })
}

/// The conversation as a request of `wire`.
pub fn session(wire: Wire, talk: &[Turn]) -> Session {
    let mut list = vec![said(wire, "please start")];
    for (n, turn) in talk.iter().enumerate() {
        match turn {
            Turn::Said(text) => list.push(said(wire, text)),
            Turn::Used { tool, target, text, written, is_error, in_two } => {
                let arguments = match TOOLS[*tool] {
                    "read" => json!({"path": PATHS[target % 3]}),
                    "bash" => json!({"command": COMMANDS[target % 5]}),
                    "edit" => json!({"path": PATHS[target % 3], "old_string": "x", "new_string": written}),
                    "write_file" => json!({"path": PATHS[target % 3], "content": written}),
                    _ => json!({"key": target}),
                };
                let texts = match text.split_once("\n\n").filter(|_| *in_two) {
                    Some((a, b)) => vec![a, b],
                    None => vec![text.as_str()],
                };
                list.extend(used(wire, n, TOOLS[*tool], &arguments, &texts, *is_error));
            }
        }
    }
    let key = match wire.id() {
        "openai-responses" => "input",
        "gemini" => "contents",
        _ => "messages",
    };
    let mut body = json!({"model": "gpt-4o"});
    body[key] = Value::Array(list);
    Session { name: format!("random on {}", wire.id()), wire, body }
}

fn said(wire: Wire, text: &str) -> Value {
    match wire.id() {
        "gemini" => json!({"role": "user", "parts": [{"text": text}]}),
        _ => json!({"role": "user", "content": text}),
    }
}

fn used(wire: Wire, n: usize, tool: &str, arguments: &Value, texts: &[&str], is_error: bool) -> [Value; 2] {
    let id = format!("call_{n}");
    let blocks = |kind: &str| match texts {
        [text] => json!(text),
        several => several.iter().map(|text| json!({"type": kind, "text": text})).collect(),
    };
    match wire.id() {
        "openai-chat" => {
            let call = json!({"id": id, "type": "function", "function": {"name": tool, "arguments": arguments.to_string()}});
            let role = json!({"role": "assistant", "content": null, "tool_calls": [call]});
            [role, json!({"role": "tool", "tool_call_id": id, "content": blocks("text")})]
        }
        "anthropic-messages" => {
            let call = json!([{"type": "tool_use", "id": id, "name": tool, "input": arguments}]);
            let result = json!([{"type": "tool_result", "tool_use_id": id, "content": blocks("text"), "is_error": is_error}]);
            [json!({"role": "assistant", "content": call}), json!({"role": "user", "content": result})]
        }
        "openai-responses" => {
            let call = json!({"type": "function_call", "call_id": id, "name": tool, "arguments": arguments.to_string()});
            // Some shells report in a document of their own.
            let wrapped =
                json!({"output": texts[0], "metadata": {"exit_code": i32::from(is_error)}}).to_string();
            let output =
                if tool == "bash" && texts.len() == 1 { json!(wrapped) } else { blocks("input_text") };
            [call, json!({"type": "function_call_output", "call_id": id, "output": output})]
        }
        _ => {
            let call =
                json!({"role": "model", "parts": [{"functionCall": {"name": tool, "args": arguments}}]});
            let texts = match texts {
                [text] => json!({"output": text}),
                several => json!({"error": several[0], "output": several[1]}),
            };
            let response = json!({"functionResponse": {"name": tool, "response": texts}});
            [call, json!({"role": "user", "parts": [response]})]
        }
    }
}

/// The body with every letter outside ASCII as an escape, as some clients write it.
pub fn escaped(body: &[u8]) -> Vec<u8> {
    let mut out = String::new();
    for c in std::str::from_utf8(body).unwrap().chars() {
        match c.is_ascii() {
            true => out.push(c),
            false => out.extend(c.encode_utf16(&mut [0; 2]).iter().map(|unit| format!("\\u{unit:04x}"))),
        }
    }
    out.into_bytes()
}
