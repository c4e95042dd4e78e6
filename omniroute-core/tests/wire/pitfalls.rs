//! What goes wrong elsewhere, each with bytes that show it. All of these streams are synthetic.

use omniroute_core::Doc;
use omniroute_core::hub::WriteContext;
use omniroute_core::wire::{ANTHROPIC, OPENAI_CHAT, by_id};
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

#[test]
fn p01_p02_p03_p04_calls_and_text() {
    let chunks = [
        chunk(json!({"role": "assistant", "content": "Look: ", "tool_calls": []}), None),
        chunk(
            json!({"content": "now", "tool_calls": [call(Some(0), Some("a"), Some("read"), "{\"p\":1}")]}),
            None,
        ),
        chunk(json!({"tool_calls": [call(Some(0), Some("a"), Some("read"), "")]}), None),
        chunk(json!({"tool_calls": null}), Some("tool_calls")),
        done(),
    ];
    assert_eq!(read(&chunks), Ok(("Look: now".into(), vec![one("a", "read", json!({"p": 1}))])));
}

#[test]
fn p05_p06_parallel_calls_with_odd_numbers() {
    for (first, second) in [
        ((Some(0), Some("a")), (Some(1), Some("b"))),
        ((None, Some("a")), (None, Some("b"))),
        ((Some(0), Some("a")), (Some(0), Some("b"))),
    ] {
        let piece = |c: Value| chunk(json!({"tool_calls": [c]}), None);
        let chunks = [
            piece(call(first.0, first.1, Some("f"), "{\"x\":")),
            piece(call(first.0, if first.0.is_none() { first.1 } else { None }, None, "1}")),
            piece(call(second.0, second.1, Some("f"), "{}")),
            chunk(json!({}), Some("tool_calls")),
            done(),
        ];
        let wanted = vec![one("a", "f", json!({"x": 1})), one("b", "f", json!({}))];
        assert_eq!(read(&chunks), Ok((String::new(), wanted)), "{first:?} {second:?}");
    }
}

#[test]
fn p05_interleaved_calls_do_not_overlap_on_a_wire_of_blocks() {
    let piece = |c: Value| chunk(json!({"tool_calls": [c]}), None);
    let chunks = [
        piece(call(Some(0), Some("a"), Some("f"), "{\"x\"")),
        piece(call(Some(1), Some("b"), Some("g"), "{\"y\"")),
        piece(call(Some(0), None, None, ":1}")),
        piece(call(Some(1), None, None, ":2}")),
        chunk(json!({}), Some("tool_calls")),
        done(),
    ];
    let bytes = chunks.concat().into_bytes();
    let mut writer = ANTHROPIC.stream_writer(&WriteContext::default()).unwrap();
    let mut out = Vec::new();
    items(OPENAI_CHAT, &bytes, &[]).iter().flat_map(|i| &i.events).for_each(|e| writer.write(e, &mut out));
    let text = String::from_utf8(out.clone()).unwrap();
    let mut open = None;
    for line in text.lines().filter_map(|l| l.strip_prefix("data: ")) {
        let event: Value = serde_json::from_str(line).unwrap();
        match event["type"].as_str().unwrap() {
            "content_block_start" => {
                assert_eq!(open.replace(event["index"].clone()), None, "two open blocks")
            }
            "content_block_delta" => assert_eq!(open.as_ref(), Some(&event["index"])),
            "content_block_stop" => assert_eq!(open.take().as_ref(), Some(&event["index"])),
            _ => {}
        }
    }
    let back = assemble(ANTHROPIC, &items(ANTHROPIC, &out, &[]), "blocks").unwrap();
    let calls = neutral::of(&back)["choices"]["0"]["calls"].clone();
    assert_eq!(calls[0]["arguments"], json!({"x": 1}));
    assert_eq!(calls[1]["arguments"], json!({"y": 2}));
}

#[test]
fn p20_usage_on_a_chunk_without_choices_reaches_the_other_wire() {
    let usage =
        json!({"prompt_tokens": 40, "completion_tokens": 9, "prompt_tokens_details": {"cached_tokens": 32}});
    let chunks = [
        chunk(json!({"content": "hi"}), Some("stop")),
        format!("data: {}\n\n", json!({"choices": [], "usage": usage})),
        done(),
    ];
    let mut writer = ANTHROPIC.stream_writer(&WriteContext::default()).unwrap();
    let mut out = Vec::new();
    let bytes = chunks.concat().into_bytes();
    items(OPENAI_CHAT, &bytes, &[]).iter().flat_map(|i| &i.events).for_each(|e| writer.write(e, &mut out));
    let text = String::from_utf8(out).unwrap();
    let delta = text.lines().find(|l| l.contains("\"message_delta\"") && l.starts_with("data")).unwrap();
    let event: Value = serde_json::from_str(delta.trim_start_matches("data: ")).unwrap();
    assert_eq!(event["usage"], json!({"input_tokens": 8, "cache_read_input_tokens": 32, "output_tokens": 9}));
}

#[test]
fn p24_p25_p26_errors_cuts_and_missing_ends() {
    let hi = || chunk(json!({"content": "hi"}), None);
    let error = "data: {\"error\":{\"message\":\"over\",\"code\":\"x\"}}\n\n".to_owned();
    assert!(read(&[hi(), error]).unwrap_err().contains("over"));
    assert!(read(&[hi()]).unwrap_err().contains("truncated_stream"));
    assert!(read(&[hi(), "data: {\"choices\":[{\"del".to_owned()]).unwrap_err().contains("truncated_stream"));
    assert!(read(&[hi(), "data: <html>\n\n".to_owned()]).unwrap_err().contains("invalid_stream_payload"));
    assert!(read(&[done()]).unwrap_err().contains("empty_reply"));
    assert!(read(&["<html><title>502</title>".to_owned()]).unwrap_err().contains("502"));
    assert!(read(&["{\"error\":\"busy\"}".to_owned()]).unwrap_err().contains("busy"));
    let text = |r: Result<(String, Vec<_>), String>| r.unwrap().0;
    let stop = || chunk(json!({}), Some("stop"));
    assert_eq!(text(read(&[hi(), stop()])), "hi", "the end of the bytes is an end after a reason");
    assert_eq!(text(read(&[hi(), done(), done()])), "hi", "nothing follows the end");
    assert_eq!(text(read(&[hi(), stop(), stop(), done()])), "hi");
}

/// Twin: a reader that takes the end of the bytes for the end of the answer would not see the cut.
#[test]
fn p25_twin_a_finished_stream_is_not_an_error() {
    assert!(read(&[chunk(json!({"content": "hi"}), None), done()]).is_ok());
}

#[test]
fn p37_none_stays_none() {
    let body = r#"{"model":"m","tool_choice":"none","tools":[{"type":"function","function":{"name":"f","parameters":{"type":"object"}}}],"messages":[{"role":"user","content":"x"}]}"#;
    let doc = Doc::parse(body).unwrap();
    let request = OPENAI_CHAT.read_request(&doc).unwrap().value;
    for wire in ["openai-responses", "anthropic-messages", "gemini"] {
        let wire = by_id(wire).unwrap();
        let written = wire.write(&request, &WriteContext::default()).unwrap();
        let doc = Doc::parse(written.body).unwrap();
        let back = wire.read_request(&doc).unwrap().value.tool_choice;
        assert_eq!(back, Some(omniroute_core::hub::ToolChoice::None), "{}", wire.id());
    }
}

#[test]
fn hosts_get_what_they_want_beyond_their_wire() {
    let body = r#"{"model":"m","max_tokens":9,"system":"One.","messages":[
        {"role":"user","content":"a"},{"role":"user","content":"b"},{"role":"assistant","content":[{"type":"tool_use","id":"toolu_1","name":"f","input":{}}]},
        {"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_1","content":"r"}]},{"role":"system","content":"Two."},{"role":"user","content":"c"}]}"#;
    let doc = Doc::parse(body).unwrap();
    let request = ANTHROPIC.read_request(&doc).unwrap().value;
    let mut cx = WriteContext::default();
    cx.quirks.system_first_only = true;
    cx.quirks.strict_alternation = true;
    cx.quirks.short_ids = true;
    let written = OPENAI_CHAT.write(&request, &cx).unwrap();
    let sent: Value = serde_json::from_slice(&written.body).unwrap();
    let roles: Vec<_> =
        sent["messages"].as_array().unwrap().iter().map(|m| m["role"].as_str().unwrap()).collect();
    assert_eq!(roles, ["system", "user", "assistant", "tool", "user"]);
    assert_eq!(sent["messages"][0]["content"], "One.\n\nTwo.");
    let id = &sent["messages"][2]["tool_calls"][0]["id"];
    assert_eq!((id.as_str().unwrap().len(), id), (9, &sent["messages"][3]["tool_call_id"]));
}

/// An item that nobody knows is never dropped in silence.
#[test]
fn unknown_items_make_a_foreign_target_incapable() {
    for (wire, body) in [
        (
            "openai-responses",
            r#"{"model":"m","input":[{"type":"compaction","encrypted_content":"x"},{"role":"user","content":"x"}]}"#,
        ),
        (
            "openai-responses",
            r#"{"model":"m","input":[{"type":"new_sort_of_tools","tools":[]},{"role":"user","content":"x"}]}"#,
        ),
        (
            "anthropic-messages",
            r#"{"model":"m","max_tokens":9,"messages":[{"role":"user","content":[{"type":"new_block","x":1}]}]}"#,
        ),
        (
            "openai-chat",
            r#"{"model":"m","messages":[{"role":"user","content":[{"type":"new_part","x":1}]}]}"#,
        ),
        ("gemini", r#"{"contents":[{"role":"user","parts":[{"newPart":1}]}]}"#),
    ] {
        let source = by_id(wire).unwrap();
        let doc = Doc::parse(body).unwrap();
        let request = source.read_request(&doc).unwrap().value;
        for target in omniroute_core::wire::WIRES {
            let written = target.write(&request, &WriteContext::default());
            if *target == source {
                assert!(written.unwrap().notes.is_empty(), "{wire}");
            } else {
                assert_eq!(
                    written.unwrap_err().code(),
                    "unsupported_content_part",
                    "{wire} -> {}",
                    target.id()
                );
            }
        }
    }
}

#[test]
fn seals_of_another_vendor_come_back_through_the_clients_own_form() {
    let body = r#"{"candidates":[{"index":0,"content":{"role":"model","parts":[{"text":"Two lookups.","thought":true},{"functionCall":{"id":"call_a","name":"f","args":{}},"thoughtSignature":"c2Vh+Lw=="}]},"finishReason":"STOP"}],"responseId":"r"}"#;
    let gemini = by_id("gemini").unwrap();
    let doc = Doc::parse(body).unwrap();
    let reply = gemini.read_reply(&doc).unwrap().value;
    for (wire, wrap) in [
        (
            "anthropic-messages",
            json!({"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": "x"}]}),
        ),
        ("openai-chat", json!({"model": "m", "messages": [{"role": "user", "content": "x"}]})),
        ("openai-responses", json!({"model": "m", "input": [{"role": "user", "content": "x"}]})),
    ] {
        let client = by_id(wire).unwrap();
        let told = client.write_reply(&reply, &WriteContext::default()).unwrap();
        let told: Value = serde_json::from_slice(&told.body).unwrap();
        // The client sends back what it was told, and the result.
        let mut history = wrap.clone();
        match wire {
            "anthropic-messages" => {
                let messages = history["messages"].as_array_mut().unwrap();
                messages.push(json!({"role": "assistant", "content": told["content"]}));
                messages.push(json!({"role": "user", "content": [{"type": "tool_result", "tool_use_id": "call_a", "content": "1"}]}));
            }
            "openai-chat" => {
                let messages = history["messages"].as_array_mut().unwrap();
                messages.push(told["choices"][0]["message"].clone());
                messages.push(json!({"role": "tool", "tool_call_id": "call_a", "content": "1"}));
            }
            _ => {
                let input = history["input"].as_array_mut().unwrap();
                input.extend(told["output"].as_array().unwrap().iter().cloned());
                input.push(json!({"type": "function_call_output", "call_id": "call_a", "output": "1"}));
            }
        }
        let doc = Doc::parse(history.to_string()).unwrap();
        let request = client.read_request(&doc).unwrap().value;
        let written = gemini.write(&request, &WriteContext::default()).unwrap();
        let sent: Value = serde_json::from_slice(&written.body).unwrap();
        let parts = sent["contents"][1]["parts"].as_array().unwrap();
        let call = parts.iter().find(|p| p.get("functionCall").is_some()).unwrap();
        assert_eq!(call["thoughtSignature"], "c2Vh+Lw==", "{wire}: {sent}");
        // And nobody else is sent it.
        let other = ANTHROPIC.write(&request, &WriteContext::default()).unwrap();
        if client != ANTHROPIC {
            assert!(!String::from_utf8_lossy(&other.body).contains("omr1."), "{wire}");
        }
    }
}

/// A block that nobody knows stays in the message it stands in.
#[test]
fn unknown_blocks_stay_in_their_message() {
    let responses = by_id("openai-responses").unwrap();
    for content in
        [json!([{"type": "new_part"}]), json!([{"type": "input_text", "text": "x"}, {"type": "new_part"}])]
    {
        let message = json!({"type": "message", "role": "user", "content": content});
        let doc = Doc::parse(json!({"model": "m", "input": [message]}).to_string()).unwrap();
        let request = responses.read_request(&doc).unwrap().value;
        let written = responses.write(&request, &WriteContext::default()).unwrap();
        let sent: Value = serde_json::from_slice(&written.body).unwrap();
        assert_eq!(sent["input"], json!([message]));
    }
}
