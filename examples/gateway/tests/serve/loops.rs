//! Ten turns of an agent's loop with compression on, as terminal agents send them on four wires: everything but the words of
//! results reaches the vendor as it was sent, and what was sent once is sent the same way again.

use serde_json::{Value, json};

use super::common::gateway::Gateway;
use super::common::http::{Message, Said, Vendor};
use super::common::session;

/// Wire, session, path at the gateway, path at the vendor, the list, an answer.
const WIRES: [(&str, &str, &str, &str, &str, &str); 4] = [
    (
        "openai-chat",
        "shardkv.openai.json",
        "/v1/chat/completions",
        "/chat/completions",
        "messages",
        super::WHOLE,
    ),
    (
        "anthropic-messages",
        "shardkv.anthropic.json",
        "/v1/messages",
        "/messages",
        "messages",
        r#"{"id":"m","type":"message","role":"assistant","model":"m","content":[{"type":"text","text":"ok"}],"stop_reason":"end_turn","usage":{"input_tokens":5,"output_tokens":2}}"#,
    ),
    (
        "openai-responses",
        "shardkv.responses.json",
        "/v1/responses",
        "/responses",
        "input",
        r#"{"id":"r","object":"response","status":"completed","model":"m","output":[{"type":"message","id":"o","role":"assistant","status":"completed","content":[{"type":"output_text","text":"ok","annotations":[]}]}],"usage":{"input_tokens":5,"output_tokens":2,"total_tokens":7}}"#,
    ),
    (
        "gemini",
        "shardkv.gemini.json",
        "/v1beta/models/v1/m:generateContent",
        ":generateContent",
        "contents",
        r#"{"candidates":[{"content":{"role":"model","parts":[{"text":"ok"}]},"finishReason":"STOP"}],"usageMetadata":{"promptTokenCount":5,"candidatesTokenCount":2}}"#,
    ),
];

/// Whether an agent asks after this message.
fn asks(message: &Value) -> bool {
    match (message["role"].as_str(), message["type"].as_str()) {
        (Some("assistant" | "model"), _) => false,
        (None, Some(kind)) => kind.ends_with("_output"),
        _ => true,
    }
}

/// The body of a turn, with a cache marker on the newest block where the wire has them.
fn turn(session: &Value, wire: &str, list: &str, length: usize) -> Value {
    let mut body = session.clone();
    for own in ["session", "wire", "provider_usage", "queries"] {
        body.as_object_mut().unwrap().remove(own);
    }
    body[list].as_array_mut().unwrap().truncate(length);
    match wire {
        "gemini" => {}
        "openai-responses" => {
            if let Some(system) = body.as_object_mut().unwrap().remove("system") {
                body["instructions"] = system;
            }
            body["model"] = "v1/m".into();
        }
        _ => body["model"] = "v1/m".into(),
    }
    if wire == "anthropic-messages" {
        body["max_tokens"] = 100.into();
        let last = body[list].as_array_mut().unwrap().last_mut().unwrap();
        if let Some(block) = last["content"].as_array_mut().and_then(|blocks| blocks.last_mut()) {
            block["cache_control"] = json!({"type": "ephemeral"});
        }
    }
    body
}

/// Without the words of results.
fn bare(value: &mut Value) {
    match value {
        Value::Array(items) => items.iter_mut().for_each(bare),
        Value::Object(members) => {
            let kind = members.get("type").and_then(Value::as_str).unwrap_or_default().to_owned();
            let tool = members.get("role").is_some_and(|role| role == "tool");
            for (name, member) in members.iter_mut() {
                match name.as_str() {
                    "content" if tool || kind == "tool_result" => *member = Value::Null,
                    "output" if kind.ends_with("_output") => *member = Value::Null,
                    "functionResponse" => member["response"] = Value::Null,
                    _ => bare(member),
                }
            }
        }
        _ => {}
    }
}

fn unmarked(value: &mut Value) {
    match value {
        Value::Array(items) => items.iter_mut().for_each(unmarked),
        Value::Object(members) => {
            members.remove("cache_control");
            members.values_mut().for_each(unmarked);
        }
        _ => {}
    }
}

/// All texts of a body in one.
fn words(value: &Value, out: &mut String) {
    match value {
        Value::String(text) => {
            out.push_str(text);
            out.push('\n');
        }
        Value::Array(items) => items.iter().for_each(|item| words(item, out)),
        Value::Object(members) => members.values().for_each(|member| words(member, out)),
        _ => {}
    }
}

/// What an agent acts on: panics, failed tests, errors with their codes.
fn facts(text: &str) -> Vec<&str> {
    let telling = |line: &&str| line.contains("panicked at") || line.starts_with("error[");
    text.lines().map(str::trim).filter(telling).collect()
}

#[test]
fn ten_turns_of_a_loop_on_every_wire() {
    for (wire, file, ours, theirs, list, answer) in WIRES {
        let text = std::fs::read_to_string(session(file)).unwrap();
        let recorded: Value = serde_json::from_str(&text).unwrap();
        let messages = recorded[list].as_array().unwrap();
        let ends: Vec<usize> =
            (1..=messages.len()).filter(|n| asks(&messages[n - 1])).skip(12).take(10).collect();
        assert_eq!(ends.len(), 10, "{wire}");
        let vendor = Vendor::new(move |message: &Message, _| match message.path().contains("count_tokens") {
            true => Said::whole(200, r#"{"input_tokens":4711}"#),
            false => Said::whole(200, answer),
        });
        let base = if wire == "gemini" { "v1beta" } else { "v1" };
        let config = format!(
            "[[providers]]\nid = \"v1\"\nwire = \"{wire}\"\nbase_url = \"http://127.0.0.1:{}/{base}\"\n\
             [[connections]]\nid = \"v1/a\"\n[compression]\nmode = \"safe\"\n",
            vendor.port
        );
        let gateway = Gateway::start(&config);
        let headers = [
            ("anthropic-version", "2023-06-01"),
            ("anthropic-beta", "context-1m-2025-08-07"),
            ("x-session-id", "loop"),
        ];
        let (mut given, mut sent, mut before) = (0, 0, Vec::<Value>::new());
        for (number, length) in ends.into_iter().enumerate() {
            let body = turn(&recorded, wire, list, length);
            let told = gateway.post_with(ours, &headers, &body);
            assert_eq!(told.status(), 200, "{wire} {number}: {}", told.text());
            let heard = vendor.heard();
            let got = heard.iter().rev().find(|message| message.path().ends_with(theirs)).unwrap();
            assert!(got.header("anthropic-beta").is_some() || wire != "anthropic-messages", "{wire}");
            let got = got.json();
            (given, sent) = (given + body.to_string().len(), sent + got.to_string().len());
            // Calls, results, ids, order, flags and markers: all as they were.
            let (mut mine, mut theirs) = (body.clone(), got.clone());
            for value in [&mut mine, &mut theirs] {
                value.as_object_mut().unwrap().remove("model");
                bare(value);
            }
            assert_eq!(theirs, mine, "{wire} {number}");
            // What was sent once is sent the same way again, wherever the marker stands now.
            let mut now = got[list].as_array().unwrap().clone();
            now.iter_mut().for_each(unmarked);
            assert_eq!(now[..before.len()], before[..], "{wire} {number}: the prefix");
            before = now;
            // What has to be acted on is there.
            let (mut all, mut seen) = (String::new(), String::new());
            words(&body[list], &mut all);
            words(&got[list], &mut seen);
            let lost: Vec<&str> = facts(&all).into_iter().filter(|fact| !seen.contains(fact)).collect();
            assert!(lost.is_empty(), "{wire} {number}: {lost:?}");
            if wire == "anthropic-messages" {
                let counted = gateway.post_with("/v1/messages/count_tokens", &headers, &body);
                assert_eq!(counted.json()["input_tokens"], 4711, "{}", counted.text());
                let asked = vendor.heard().pop().unwrap().json();
                assert_eq!(asked[list], got[list], "what is counted is what would be sent");
            }
        }
        assert!(sent < given, "{wire}: {sent} of {given} bytes");
    }
}

/// The twin of the comparison: every single thing that must not change is seen when it does.
#[test]
fn the_comparison_sees_what_must_not_change() {
    let body = json!([
        {"role": "assistant", "content": [{"type": "tool_use", "id": "t1", "name": "bash", "input": {"command": "ls"}}]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t1", "is_error": true, "content": "a"}]},
    ]);
    let same = |change: &dyn Fn(&mut Value)| {
        let (mut one, mut other) = (body.clone(), body.clone());
        change(&mut other);
        bare(&mut one);
        bare(&mut other);
        one == other
    };
    assert!(same(&|body| body[1]["content"][0]["content"] = "shorter".into()), "words of results may change");
    assert!(!same(&|body| body[1]["content"][0]["tool_use_id"] = "t2".into()));
    assert!(!same(&|body| body[1]["content"][0]["is_error"] = false.into()));
    assert!(!same(&|body| body[0]["content"][0]["input"]["command"] = "rm".into()));
    assert!(!same(&|body| body.as_array_mut().unwrap().reverse()));
    assert!(!same(&|body| drop(body.as_array_mut().unwrap().pop())));
}
