//! Calls in streams.

use omniroute_core::hub::WriteContext;
use omniroute_core::wire::{ANTHROPIC, GEMINI, OPENAI_CHAT, OPENAI_RESPONSES};
use serde_json::{Value, json};

use super::{call, chunk, data, done, events, one, read, told};
use crate::neutral;
use crate::replies::{assemble, items};

/// Blocks of calls in a stream of messages: what stands at their start, and their arguments.
fn blocks(bytes: &[u8]) -> Vec<(Value, String)> {
    let mut out: Vec<(Value, String)> = Vec::new();
    for event in data(bytes) {
        match event["type"].as_str() {
            Some("content_block_start") if event["content_block"]["type"] == "tool_use" => {
                out.push((event["content_block"].clone(), String::new()));
            }
            Some("content_block_delta") if event["delta"]["type"] == "input_json_delta" => {
                out.last_mut().unwrap().1 += event["delta"]["partial_json"].as_str().unwrap();
            }
            _ => {}
        }
    }
    out
}

fn piece(c: Value) -> String {
    chunk(json!({"tool_calls": [c]}), None)
}

#[test]
fn p01_one_streamed_call_is_one_block() {
    let mut chunks = vec![piece(call(Some(0), Some("a"), Some("read"), ""))];
    chunks.extend(["{\"p\"", ":", "1}"].map(|text| piece(call(Some(0), Some("a"), Some("read"), text))));
    chunks.push(chunk(json!({}), Some("tool_calls")));
    chunks.push(done());
    let found = blocks(&told(OPENAI_CHAT, &chunks.concat(), ANTHROPIC));
    let start = json!({"type": "tool_use", "id": "a", "name": "read", "input": {}});
    assert_eq!(found, [(start, "{\"p\":1}".to_owned())]);
}

#[test]
fn p02_a_call_that_comes_in_one_chunk_keeps_its_arguments() {
    let chunks = [
        piece(call(Some(0), Some("a"), Some("read"), "{\"p\":1}")),
        chunk(json!({}), Some("tool_calls")),
        done(),
    ];
    let found = blocks(&told(OPENAI_CHAT, &chunks.concat(), ANTHROPIC));
    assert_eq!(found[0].1, "{\"p\":1}");
    // A wire that always sends calls as a whole.
    let whole = r#"data: {"candidates":[{"content":{"parts":[{"functionCall":{"id":"a","name":"f","args":{"x":1}}}]},"finishReason":"STOP"}]}"#;
    for target in [OPENAI_CHAT, OPENAI_RESPONSES, ANTHROPIC] {
        let bytes = told(GEMINI, &format!("{whole}\n\n"), target);
        let reply = assemble(target, &items(target, &bytes, &[]), "whole call").unwrap();
        let found = &neutral::of(&reply)["choices"]["0"]["calls"][0];
        assert_eq!((&found["name"], &found["arguments"]), (&json!("f"), &json!({"x": 1})), "{}", target.id());
    }
}

#[test]
fn p03_text_and_calls_of_one_chunk_both_arrive() {
    let both = json!({"content": "Look.", "tool_calls": [call(Some(0), Some("a"), Some("read"), "{}")]});
    let chunks = [chunk(both, None), chunk(json!({}), Some("tool_calls")), done()];
    assert_eq!(read(&chunks), Ok(("Look.".into(), vec![one("a", "read", json!({}))])));
    let bytes = told(OPENAI_CHAT, &chunks.concat(), ANTHROPIC);
    let kinds: Vec<_> = data(&bytes)
        .into_iter()
        .filter(|e| e["type"] == "content_block_start")
        .map(|e| e["content_block"]["type"].as_str().unwrap().to_owned())
        .collect();
    assert_eq!(kinds, ["text", "tool_use"], "text first");
}

#[test]
fn p04_empty_lists_of_calls_are_no_calls() {
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
fn p05_all_parallel_calls_survive_odd_numbers() {
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
fn p06_calls_are_numbered_from_0_without_gaps() {
    let tool = |n: u32| {
        [
            json!({"type": "content_block_start", "index": n, "content_block": {"type": "tool_use", "id": format!("toolu_{n}"), "name": "f", "input": {}}}),
            json!({"type": "content_block_stop", "index": n}),
        ]
    };
    let mut all = vec![
        json!({"type": "message_start", "message": {"id": "m", "model": "m", "content": [], "usage": {"input_tokens": 1, "output_tokens": 0}}}),
        json!({"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}}),
        json!({"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "hi"}}),
        json!({"type": "content_block_stop", "index": 0}),
    ];
    all.extend(tool(1));
    all.extend(tool(2));
    all.push(
        json!({"type": "message_delta", "delta": {"stop_reason": "tool_use"}, "usage": {"output_tokens": 1}}),
    );
    all.push(json!({"type": "message_stop"}));
    let bytes = told(ANTHROPIC, &events(&all), OPENAI_CHAT);
    let mut indexes: Vec<_> = data(&bytes)
        .iter()
        .filter_map(|c| c["choices"][0]["delta"]["tool_calls"].as_array().cloned())
        .flatten()
        .map(|c| c["index"].as_u64().expect("always there"))
        .collect();
    indexes.dedup();
    assert_eq!(indexes, [0, 1]);
    let ids: Vec<_> = told_calls(&bytes).iter().map(|c| c["id"].clone()).collect();
    assert_eq!(ids, ["toolu_1", "toolu_2"]);
}

fn told_calls(bytes: &[u8]) -> Vec<Value> {
    let reply = assemble(OPENAI_CHAT, &items(OPENAI_CHAT, bytes, &[]), "p06").unwrap();
    neutral::of(&reply)["choices"]["0"]["calls"].as_array().unwrap().clone()
}

#[test]
fn p17_arguments_are_passed_on_letter_by_letter() {
    let text = "{\"html\":\"</think><b> caf\u{e9} \\n\",\"n\":1.0}";
    let (a, b) = text.split_at(9);
    let chunks = [
        chunk(json!({"reasoning_content": "Hm."}), None),
        piece(call(Some(0), Some("a"), Some("f"), a)),
        piece(call(Some(0), None, None, b)),
        chunk(json!({}), Some("tool_calls")),
        done(),
    ];
    for target in [OPENAI_CHAT, OPENAI_RESPONSES, ANTHROPIC] {
        let bytes = told(OPENAI_CHAT, &chunks.concat(), target);
        let pieces: String = data(&bytes)
            .iter()
            .filter_map(|e| match target.id() {
                "openai-chat" => e["choices"][0]["delta"]["tool_calls"][0]["function"]["arguments"].as_str(),
                "anthropic-messages" => e["delta"]["partial_json"].as_str(),
                _ => e["delta"].as_str().filter(|_| e["type"] == "response.function_call_arguments.delta"),
            })
            .collect();
        assert_eq!(pieces, text, "{}", target.id());
        // Nothing marks the end of the reasoning inside of texts.
        let found = neutral::of(&assemble(target, &items(target, &bytes, &[]), "p17").unwrap());
        assert_eq!(found["choices"]["0"]["text"], "", "{}", target.id());
        assert_eq!(found["choices"]["0"]["reasoning"], "Hm.", "{}", target.id());
    }
}
