//! Ends, errors, bytes and usage of streams.

use omniroute_core::Doc;
use omniroute_core::hub::{Event, Stop, StopReason, WriteContext};
use omniroute_core::wire::{ANTHROPIC, GEMINI, OPENAI_CHAT, OPENAI_RESPONSES, WIRES};
use serde_json::{Value, json};

use super::{chunk, data, done, events, read, told};
use crate::neutral;
use crate::replies::{assemble, items};

fn hi() -> String {
    chunk(json!({"content": "hi"}), None)
}

#[test]
fn p15_signed_parts_of_a_stream_stay_apart_and_in_order() {
    let part = |part: Value| {
        format!(
            "data: {}\r\n\r\n",
            json!({"candidates": [{"index": 0, "content": {"role": "model", "parts": [part]}}]})
        )
    };
    let text = [
        part(json!({"text": "Hm.", "thought": true})),
        part(json!({"text": "A", "thoughtSignature": "c2lnLWE="})),
        part(json!({"text": "B"})),
        part(json!({"functionCall": {"id": "a", "name": "f", "args": {}}, "thoughtSignature": "c2lnLWI="})),
        part(json!({"functionCall": {"id": "b", "name": "f", "args": {}}})),
        "data: {\"candidates\":[{\"index\":0,\"finishReason\":\"STOP\"}]}\r\n\r\n".to_owned(),
    ]
    .concat();
    let reply = assemble(GEMINI, &items(GEMINI, text.as_bytes(), &[]), "p15").unwrap();
    let written = GEMINI.write_reply(&reply, &WriteContext::default()).unwrap();
    let found: Value = serde_json::from_slice(&written.body).unwrap();
    let parts = found["candidates"][0]["content"]["parts"].as_array().unwrap();
    let seals: Vec<_> = parts.iter().map(|p| p["thoughtSignature"].as_str()).collect();
    assert_eq!(seals, [None, Some("c2lnLWE="), None, Some("c2lnLWI="), None], "{found}");
    assert_eq!((&parts[1]["text"], &parts[2]["text"]), (&json!("A"), &json!("B")));
}

#[test]
fn p16_reasoning_in_every_spelling_is_reasoning() {
    for delta in [
        json!({"reasoning_content": "Hm."}),
        json!({"reasoning": "Hm."}),
        json!({"reasoning_details": [{"type": "reasoning.text", "text": "Hm.", "index": 0}]}),
    ] {
        let chunks = [chunk(delta.clone(), None), hi(), chunk(json!({}), Some("stop")), done()];
        let bytes = chunks.concat().into_bytes();
        let found = neutral::of(&assemble(OPENAI_CHAT, &items(OPENAI_CHAT, &bytes, &[]), "p16").unwrap());
        let choice = &found["choices"]["0"];
        assert_eq!((&choice["reasoning"], &choice["text"]), (&json!("Hm."), &json!("hi")), "{delta}");
    }
}

/// One call as every wire tells its usage.
const USAGE: [(&str, &str); 4] = [
    (
        "openai-chat",
        r#"{"prompt_tokens":10000,"completion_tokens":500,"total_tokens":10500,"prompt_tokens_details":{"cached_tokens":8000,"cache_write_tokens":1000},"completion_tokens_details":{"reasoning_tokens":200}}"#,
    ),
    (
        "openai-responses",
        r#"{"input_tokens":10000,"input_tokens_details":{"cached_tokens":8000,"cache_write_tokens":1000},"output_tokens":500,"output_tokens_details":{"reasoning_tokens":200},"total_tokens":10500}"#,
    ),
    (
        "anthropic-messages",
        r#"{"input_tokens":1000,"cache_read_input_tokens":8000,"cache_creation_input_tokens":1000,"output_tokens":500}"#,
    ),
    (
        "gemini",
        r#"{"promptTokenCount":10000,"cachedContentTokenCount":8000,"candidatesTokenCount":300,"thoughtsTokenCount":200,"totalTokenCount":10500}"#,
    ),
];

fn usage_on(target: &str, usage: &omniroute_core::hub::Usage) -> Value {
    let body = r#"{"id":"r","model":"m","choices":[{"index":0,"message":{"role":"assistant","content":"x"},"finish_reason":"stop"}]}"#;
    let doc = Doc::parse(body).unwrap();
    let mut reply = OPENAI_CHAT.read_reply(&doc).unwrap().value;
    reply.usage = Some(usage.clone());
    reply.wire = "somewhere"; // no wire's own words are repeated
    let wire = omniroute_core::wire::by_id(target).unwrap();
    let written = wire.write_reply(&reply, &WriteContext::default()).unwrap();
    let found: Value = serde_json::from_slice(&written.body).unwrap();
    found[if target == "gemini" { "usageMetadata" } else { "usage" }].clone()
}

/// Cached input is counted once, wherever it is told and wherever it is read.
#[test]
fn p19_one_usage_on_every_wire() {
    let chat = format!(
        r#"{{"id":"r","model":"m","choices":[{{"index":0,"message":{{"role":"assistant","content":"x"}},"finish_reason":"stop"}}],"usage":{}}}"#,
        USAGE[0].1
    );
    let doc = Doc::parse(chat).unwrap();
    let usage = OPENAI_CHAT.read_reply(&doc).unwrap().value.usage.unwrap();
    assert_eq!((usage.uncached, usage.input(), usage.output, usage.total()), (1_000, 10_000, 500, 10_500));
    for (target, wanted) in USAGE {
        let mut wanted: Value = serde_json::from_str(wanted).unwrap();
        let found = usage_on(target, &usage);
        if target == "anthropic-messages" {
            wanted["output_tokens_details"] = found["output_tokens_details"].clone(); // told where it is known
        }
        if target == "gemini" {
            // There is no word for what was written to a cache: it is part of the prompt.
            assert_eq!(found["promptTokenCount"], 10_000);
        }
        for (key, value) in wanted.as_object().unwrap() {
            assert_eq!(found[key], *value, "{target}: {key}");
        }
    }
    // There and back again.
    let body = format!(
        r#"{{"id":"r","type":"message","role":"assistant","model":"m","content":[{{"type":"text","text":"x"}}],"stop_reason":"end_turn","usage":{}}}"#,
        usage_on("anthropic-messages", &usage)
    );
    let doc = Doc::parse(body).unwrap();
    let back = ANTHROPIC.read_reply(&doc).unwrap().value.usage.unwrap();
    assert_eq!(usage_on("openai-chat", &back), usage_on("openai-chat", &usage));
}

/// Twin: the input of one wire taken for the input of another counts the cached part twice or not at all.
#[test]
fn p19_twin_a_gross_number_is_not_a_net_one() {
    let gross: Value = serde_json::from_str(USAGE[0].1).unwrap();
    let net: Value = serde_json::from_str(USAGE[2].1).unwrap();
    assert_ne!(gross["prompt_tokens"], net["input_tokens"]);
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

/// Usage that only we asked for is read and not shown; usage that the client asked for is shown.
#[test]
fn p20_usage_the_client_did_not_ask_for_is_not_shown() {
    use omniroute_core::{ChatRequest, wire::translate};
    let mut cx = WriteContext::default();
    cx.options.ask_usage = true;
    let usage =
        r#"data: {"choices":[],"usage":{"prompt_tokens":4,"completion_tokens":9}}"#.to_owned() + "\n\n";
    let stream = [hi(), chunk(json!({}), Some("stop")), usage.clone(), done()].concat();
    for (options, sent, shown) in [
        ("", r#","stream_options":{"include_usage":true}"#, false),
        (
            r#","stream_options":{"include_usage":false}"#,
            r#","stream_options":{"include_usage":true}"#,
            false,
        ),
        (r#","stream_options":{"include_usage":true}"#, r#","stream_options":{"include_usage":true}"#, true),
        (r#","stream_options":{"x":1}"#, r#","stream_options":{"x":1,"include_usage":true}"#, false),
        (r#","stream_options":null"#, r#","stream_options":{"include_usage":true}"#, false),
    ] {
        let body = |options: &str| format!(r#"{{"model":"m","messages":[],"stream":true{options}}}"#);
        let request = ChatRequest::parse(OPENAI_CHAT, body(options)).unwrap();
        let written = translate(&request, OPENAI_CHAT, &cx).unwrap();
        assert_eq!(written.body, body(sent));
        let mut reader = written.stream_reader(OPENAI_CHAT).unwrap();
        let mut found = Vec::new();
        reader.feed(stream.clone().into(), &mut found);
        reader.end(&mut found);
        let raw: Vec<u8> = found.iter().flat_map(|i| i.raw.to_vec()).collect();
        let raw = String::from_utf8(raw).unwrap();
        assert_eq!(raw, if shown { stream.clone() } else { stream.replace(&usage, "") }, "{options}");
        let read = |e: &Event| matches!(e, Event::Usage(usage) if usage.output == 9);
        assert!(found.iter().flat_map(|i| &i.events).any(read), "it is read all the same");
    }
    // Nobody asks where the host refuses to be asked.
    cx.quirks.no_stream_options = true;
    let body = r#"{"model":"m","messages":[],"stream":true}"#;
    let request = ChatRequest::parse(OPENAI_CHAT, body).unwrap();
    assert_eq!(translate(&request, OPENAI_CHAT, &cx).unwrap().body, body);
}

#[test]
fn p21_usage_is_told_exactly() {
    let usage = |a: u64, b: u64| json!({"prompt_tokens": a, "completion_tokens": b});
    for (input, output) in [(0, 1), (7, 3), (123_456, 0)] {
        let chunks = [
            hi(),
            chunk(json!({}), Some("stop")),
            format!("data: {}\n\n", json!({"choices": [], "usage": usage(input, output)})),
            done(),
        ];
        for target in WIRES {
            let bytes = told(OPENAI_CHAT, &chunks.concat(), *target);
            let found = assemble(*target, &items(*target, &bytes, &[]), "p21").unwrap().usage.unwrap();
            assert_eq!((found.input(), found.output), (input, output), "{}", target.id());
        }
    }
}

#[test]
fn p22_characters_may_be_cut() {
    let chunks = [
        chunk(json!({"content": "caf\u{e9} \u{1f600} \u{4f60}"}), None),
        chunk(json!({}), Some("stop")),
        done(),
    ];
    let bytes = chunks.concat().into_bytes();
    let whole = items(OPENAI_CHAT, &bytes, &[]);
    for at in 0..bytes.len() {
        assert!(items(OPENAI_CHAT, &bytes, &[at]) == whole, "cut at {at}");
    }
    let found = neutral::of(&assemble(OPENAI_CHAT, &whole, "p22").unwrap());
    assert_eq!(found["choices"]["0"]["text"], "caf\u{e9} \u{1f600} \u{4f60}");
}

#[test]
fn p23_line_ends_and_spaces_are_read_in_every_form() {
    let chunks = [hi(), chunk(json!({}), Some("stop")), done()];
    let plain = chunks.concat();
    for text in [
        plain.replace('\n', "\r\n"),
        plain.replace('\n', "\r"),
        plain.replace("data: ", "data:"),
        format!("\u{feff}: hello\n\n{plain}"),
        plain.replace("data: ", "event: x\nid: 1\nretry: 5\ndata: "),
    ] {
        let whole = items(OPENAI_CHAT, text.as_bytes(), &[]);
        let found = neutral::of(&assemble(OPENAI_CHAT, &whole, "p23").unwrap());
        assert_eq!(found["choices"]["0"]["text"], "hi", "{text:?}");
        for at in 0..text.len() {
            assert!(items(OPENAI_CHAT, text.as_bytes(), &[at]) == whole, "{text:?} cut at {at}");
        }
    }
}

#[test]
fn p24_an_error_in_a_success_is_an_error() {
    let error = "data: {\"error\":{\"message\":\"over\",\"code\":\"x\"}}\n\n".to_owned();
    assert!(read(&[hi(), error]).unwrap_err().contains("over"));
    assert!(read(&[hi(), "data: <html>\n\n".to_owned()]).unwrap_err().contains("invalid_stream_payload"));
    assert!(read(&[done()]).unwrap_err().contains("empty_reply"));
    assert!(read(&["<html><title>502</title>".to_owned()]).unwrap_err().contains("502"));
    assert!(read(&["{\"error\":\"busy\"}".to_owned()]).unwrap_err().contains("busy"));
}

#[test]
fn p25_a_cut_answer_is_not_complete() {
    assert!(read(&[hi()]).unwrap_err().contains("truncated_stream"));
    assert!(read(&[hi(), "data: {\"choices\":[{\"del".to_owned()]).unwrap_err().contains("truncated_stream"));
    for target in WIRES {
        let bytes = told(OPENAI_CHAT, &hi(), *target);
        let text = String::from_utf8(bytes).unwrap();
        for end in
            ["[DONE]", "message_stop", "response.completed", "\"finishReason\"", "\"finish_reason\":\"stop\""]
        {
            assert!(!text.contains(end), "{}: {text}", target.id());
        }
    }
}

/// Twin: a reader that takes the end of the bytes for the end of the answer would not see the cut.
#[test]
fn p25_twin_a_finished_stream_is_not_an_error() {
    assert!(read(&[chunk(json!({"content": "hi"}), None), done()]).is_ok());
}

/// What the client sees of a stream that dies: its last event says so.
#[test]
fn p25_the_last_words_of_a_cut_stream() {
    let message = "the stream ended before the answer did";
    let last = |target| data(&told(OPENAI_CHAT, &hi(), target)).pop().unwrap();
    let chat = last(OPENAI_CHAT);
    assert_eq!(
        (&chat["error"]["code"], &chat["error"]["message"]),
        (&json!("truncated_stream"), &json!(message))
    );
    let messages = last(ANTHROPIC);
    assert_eq!((&messages["type"], &messages["error"]["message"]), (&json!("error"), &json!(message)));
    let responses = last(OPENAI_RESPONSES);
    assert_eq!(responses["type"], "response.failed");
    assert_eq!(responses["response"]["status"], "failed");
    assert_eq!(responses["response"]["error"]["code"], "truncated_stream");
    let count = data(&told(OPENAI_CHAT, &hi(), OPENAI_RESPONSES)).len();
    assert_eq!(responses["sequence_number"], count - 1);
    assert!(last(GEMINI)["error"].is_object());
}

#[test]
fn p26_a_missing_end_hurts_nobody_after_a_reason() {
    let text = |r: Result<(String, Vec<_>), String>| r.unwrap().0;
    let stop = || chunk(json!({}), Some("stop"));
    assert_eq!(text(read(&[hi(), stop()])), "hi", "the end of the bytes is an end after a reason");
    assert_eq!(text(read(&[hi(), done(), done()])), "hi", "nothing follows the end");
    assert_eq!(text(read(&[hi(), stop(), stop(), done()])), "hi");
    for (target, end) in [
        (OPENAI_CHAT, "data: [DONE]\n\n"),
        (ANTHROPIC, "data: {\"type\":\"message_stop\"}\n\n"),
        (OPENAI_RESPONSES, "}\n\n"),
    ] {
        let text = String::from_utf8(told(OPENAI_CHAT, &[hi(), stop()].concat(), target)).unwrap();
        assert!(text.ends_with(end), "{}: {text}", target.id());
        assert!(target != OPENAI_RESPONSES || text.contains("event: response.completed"));
    }
}

#[test]
fn p28_nothing_but_the_answer_stands_in_the_body() {
    let chunks = [hi(), chunk(json!({}), Some("stop")), done()].concat();
    for target in WIRES {
        let text = String::from_utf8(told(OPENAI_CHAT, &chunks, *target)).unwrap();
        let known = |l: &str| l.is_empty() || l.starts_with("data: ") || l.starts_with("event: ");
        assert!(text.lines().all(known), "{}: {text}", target.id());
        assert!(!text.contains("omniroute"), "{}", target.id());
    }
}

#[test]
fn p38_starts_and_ends_are_written_once_each() {
    let start = json!({"type": "message_start", "message": {"id": "m", "model": "m", "content": [], "usage": {"input_tokens": 1, "output_tokens": 0}}});
    // A vendor that begins twice and never closes its block.
    let source = events(&[
        start.clone(),
        start,
        json!({"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}}),
        json!({"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "hi"}}),
        json!({"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 1}}),
        json!({"type": "message_stop"}),
    ]);
    assemble(ANTHROPIC, &items(ANTHROPIC, source.as_bytes(), &[]), "p38").unwrap();
    let found: Vec<_> = data(&told(ANTHROPIC, &source, ANTHROPIC))
        .iter()
        .map(|e| e["type"].as_str().unwrap().to_owned())
        .collect();
    let wanted = [
        "message_start",
        "content_block_start",
        "content_block_delta",
        "content_block_stop",
        "message_delta",
        "message_stop",
    ];
    assert_eq!(found, wanted);
}

#[test]
fn p39_a_limit_that_was_hit_is_told() {
    let reason = |v: &Value| (v["status"].clone(), v["incomplete_details"]["reason"].clone());
    let wanted = (json!("incomplete"), json!("max_output_tokens"));
    let chunks = [hi(), chunk(json!({}), Some("length")), done()].concat();
    let last = data(&told(OPENAI_CHAT, &chunks, OPENAI_RESPONSES)).pop().unwrap();
    assert_eq!(
        (last["type"].as_str(), reason(&last["response"])),
        (Some("response.incomplete"), wanted.clone())
    );
    let reply = assemble(OPENAI_CHAT, &items(OPENAI_CHAT, chunks.as_bytes(), &[]), "p39").unwrap();
    assert_eq!(reply.choices[0].stop.as_ref().map(|s: &Stop<'_>| s.reason), Some(StopReason::Length));
    let whole = OPENAI_RESPONSES.write_reply(&reply, &WriteContext::default()).unwrap();
    assert_eq!(reason(&serde_json::from_slice(&whole.body).unwrap()), wanted);
}
