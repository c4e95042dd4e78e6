//! Requests: caches, shapes, error results, reasons, every wire.

use omniroute_compress::{Compress, MemoLimits};
use omniroute_core::{Moment, wire};
use serde_json::{Value, json};

use super::{at, capture, lines, plan, rtk};

/// An Anthropic request with one call and its result; `extra` goes into the result block.
pub(super) fn anthropic(tool: &str, input: &Value, text: &str, extra: Value) -> Value {
    let mut block =
        json!({"type": "tool_result", "tool_use_id": "t1", "content": [{"type": "text", "text": text}]});
    for (key, value) in extra.as_object().unwrap() {
        block[key] = value.clone();
    }
    json!({"model": "m", "messages": [
        {"role": "user", "content": "go"},
        {"role": "assistant", "content": [{"type": "tool_use", "id": "t1", "name": tool, "input": input}]},
        {"role": "user", "content": [block]},
    ]})
}

fn send(compressor: &Compress, wire: wire::Wire, body: &Value) -> Value {
    let out = compressor.compress_body(Some(wire), body.to_string(), Moment::default()).unwrap();
    serde_json::from_slice(&out.body).unwrap()
}

/// What is sent of the result in a request made by [`anthropic`].
pub(super) fn result(body: &Value) -> String {
    text_of(&send(&plan("rtk"), wire::ANTHROPIC, body)).to_owned()
}

fn text_of(body: &Value) -> &str {
    body["messages"][2]["content"][0]["content"][0]["text"].as_str().unwrap()
}

fn cargo() -> String {
    capture("test/cargo-test-pass-long.txt").text
}

#[test]
fn pitfall_33_a_result_is_sent_the_same_way_in_every_turn() {
    let text = cargo();
    let input = json!({"command": "cargo test"});
    let first = anthropic("Bash", &input, &text, json!({}));
    let wanted = result(&first);
    assert!(wanted.len() * 4 < text.len());
    // A breakpoint of the cache changes nothing in the text, and stays where it is.
    let marked = anthropic("Bash", &input, &text, json!({"cache_control": {"type": "ephemeral"}}));
    let sent = send(&plan("rtk"), wire::ANTHROPIC, &marked);
    assert_eq!(text_of(&sent), wanted);
    assert_eq!(sent["messages"][2]["content"][0]["cache_control"]["type"], "ephemeral");
    // Later turns, among them the same output again and an error, do not reach back.
    let mut body = first;
    let compressor = plan("rtk");
    for turn in 0..8 {
        let more = [
            json!({"role": "assistant", "content": [{"type": "tool_use", "id": format!("u{turn}"), "name": "Bash", "input": {"command": "cargo test"}}]}),
            json!({"role": "user", "content": [{"type": "tool_result", "tool_use_id": format!("u{turn}"), "is_error": turn % 2 == 0, "content": text}]}),
        ];
        body["messages"].as_array_mut().unwrap().extend(more);
        assert_eq!(text_of(&send(&compressor, wire::ANTHROPIC, &body)), wanted, "turn {turn}");
        assert_eq!(
            text_of(&send(&plan("rtk"), wire::ANTHROPIC, &body)),
            wanted,
            "a new process in turn {turn}"
        );
    }
}

#[test]
fn pitfall_34_shapes_stay() {
    let text = cargo();
    let tail = r#", "metadata" : {"exit_code": 0, "duration_seconds": 1.50, "own": null}}"#;
    let output = format!("{{\"output\": {}{tail}", json!(text));
    let body = json!({"model": "m", "input": [
        {"type": "function_call", "call_id": "c", "name": "shell", "arguments": "{\"command\":[\"bash\",\"-lc\",\"cargo test\"]}"},
        {"type": "function_call_output", "call_id": "c", "output": output},
    ]});
    let sent = send(&plan("rtk"), wire::OPENAI_RESPONSES, &body);
    let inner = sent["input"][1]["output"].as_str().unwrap();
    let value: Value = serde_json::from_str(inner).unwrap();
    assert!(value["output"].as_str().unwrap().len() * 4 < text.len());
    assert!(inner.starts_with("{\"output\": \"") && inner.ends_with(tail), "{inner}");
    // Only the text differs: put back, the body is the one that came.
    let mut back = sent.clone();
    back["input"][1]["output"] = body["input"][1]["output"].clone();
    assert_eq!(back, body);
    // A list of blocks stays a list, an image beside it stays, an empty text stays.
    let blocks = json!([{"type": "text", "text": ""}, {"type": "text", "text": text, "own": 1}, {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AAAA"}}]);
    let body = anthropic(
        "Bash",
        &json!({"command": "cargo test"}),
        "",
        json!({"content": blocks, "is_error": false}),
    );
    let sent = send(&plan("rtk"), wire::ANTHROPIC, &body);
    let content = &sent["messages"][2]["content"][0]["content"];
    assert!(content[1]["text"].as_str().unwrap().len() * 4 < text.len());
    let mut back = sent.clone();
    back["messages"][2]["content"][0]["content"][1]["text"] = json!(text);
    assert_eq!(back, body);
}

#[test]
fn pitfall_35_errors_are_treated_gently() {
    let output = capture("build/mypy-strict-many.txt");
    let input = json!({"command": output.command});
    let error = result(&anthropic("Bash", &input, &output.text, json!({"is_error": true})));
    let fine = result(&anthropic("Bash", &input, &output.text, json!({})));
    let gentle = at("minimal", &output.text, Some(&output.command), None).text;
    assert_eq!(error, gentle);
    assert_ne!(error, fine, "the sample tells the two apart");
    assert_eq!(super::judge::judge(&output, &error).missing.len(), 0);
}

#[test]
fn pitfall_36_every_call_says_what_it_did() {
    let file = lines(60, |n| format!("let a{n} = {n};"));
    let text = cargo();
    let plain = lines(30, |n| format!("{n} {}", n * 70_007));
    for (text, command, why) in [
        ("hi\n".to_owned(), "echo hi", ""),
        (file, "cat a.rs", "file_view"),
        (plain.clone(), "./own-tool", "unknown_class"),
        (plain, "wc -l a b", "no_gain"),
        (text, "cargo test", ""),
    ] {
        let sent = rtk(&text, command);
        let changed = sent.text != text;
        assert_eq!(changed, !sent.done.is_empty(), "{command}: {:?}", sent.done);
        assert_eq!(changed, sent.skips.is_empty(), "{command}: {:?}", sent.skips);
        assert!(sent.skips.iter().all(|s| !s.is_empty()));
        assert!(why.is_empty() || sent.skips.contains(&why), "{command}: {:?}", sent.skips);
    }
    let announced =
        plan("rtk").compress_text(&cargo(), Some("cargo test"), Moment::default()).unwrap().receipt;
    assert!(announced.applied && announced.tokens_after < announced.tokens_before && announced.plan == "rtk");
}

#[test]
fn pitfall_37_every_wire_is_worked_on() {
    let text = cargo();
    let call = r#"{"command":"cargo test"}"#;
    let rows: [(wire::Wire, Value, &[&str]); 6] = [
        (
            wire::OPENAI_CHAT,
            json!({"model": "m", "messages": [
                {"role": "assistant", "tool_calls": [{"id": "c", "type": "function", "function": {"name": "bash", "arguments": call}}]},
                {"role": "tool", "tool_call_id": "c", "content": text},
            ]}),
            &["/messages/1/content"],
        ),
        (
            wire::OPENAI_CHAT,
            json!({"model": "m", "messages": [
                {"role": "assistant", "function_call": {"name": "bash", "arguments": call}, "content": null},
                {"role": "function", "name": "bash", "content": text},
            ]}),
            &["/messages/1/content"],
        ),
        (
            wire::ANTHROPIC,
            anthropic("Bash", &json!({"command": "cargo test"}), &text, json!({})),
            &["/messages/2/content/0/content/0/text"],
        ),
        (
            wire::OPENAI_RESPONSES,
            json!({"model": "m", "input": [
                {"type": "local_shell_call", "call_id": "c", "action": {"type": "exec", "command": ["bash", "-lc", "cargo test"]}},
                {"type": "local_shell_call_output", "call_id": "c", "output": text},
            ]}),
            &["/input/1/output"],
        ),
        (
            wire::OPENAI_RESPONSES,
            json!({"model": "m", "input": [
                {"type": "function_call", "call_id": "c", "name": "exec_command", "arguments": "{\"cmd\":\"cargo test\"}"},
                {"type": "function_call_output", "call_id": "c", "output": text},
            ]}),
            &["/input/1/output"],
        ),
        (
            wire::GEMINI,
            json!({"contents": [
                {"role": "model", "parts": [{"functionCall": {"name": "run_shell_command", "args": {"command": "cargo test"}}}]},
                {"role": "user", "parts": [{"functionResponse": {"name": "run_shell_command", "response": {"output": text}}}]},
            ]}),
            &["/contents/1/parts/0/functionResponse/response/output"],
        ),
    ];
    let wanted = rtk(&text, "cargo test").text;
    for (wire, body, places) in rows {
        let sent = send(&plan("rtk"), wire, &body);
        for place in places {
            assert_eq!(
                sent.pointer(place).and_then(Value::as_str),
                Some(wanted.as_str()),
                "{} {place}",
                wire.id()
            );
        }
        // The plan that is used by default does the same.
        let safe = Compress::builder().memo(MemoLimits::none()).build().unwrap();
        let sent = send(&safe, wire, &body);
        assert!(
            sent.pointer(places[0]).and_then(Value::as_str).unwrap().len() * 4 < text.len(),
            "safe, {}",
            wire.id()
        );
    }
}
