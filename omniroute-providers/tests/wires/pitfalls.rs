//! What goes wrong elsewhere, each with bytes that show it, on the wires of this crate. All bytes are synthetic.

use omniroute_core::Doc;
use omniroute_core::hub::{Event, StopReason, WriteContext};
use omniroute_core::wire::{ANTHROPIC, OPENAI_CHAT, Wire};
use omniroute_providers::wires::{COHERE, HOSTED, OLLAMA};
use serde_json::{Value, json};

use crate::neutral;
use crate::replies::{assemble, items};

fn bedrock() -> Option<Wire> {
    HOSTED.iter().copied().find(|w| w.id() == "bedrock-converse")
}

fn written(source: Wire, target: Wire, body: &Value) -> (Value, Vec<&'static str>) {
    let doc = Doc::parse(body.to_string()).unwrap();
    let request = source.read_request(&doc).unwrap().value;
    let written = target.write(&request, &WriteContext::default()).unwrap();
    (serde_json::from_slice(&written.body).unwrap(), written.notes.iter().map(|n| n.code).collect())
}

fn calls(wire: Wire, bytes: &[u8]) -> Value {
    let reply = assemble(wire, &items(wire, bytes, &[]), "synthetic").unwrap();
    neutral::of(&reply)["choices"]["0"]["calls"].clone()
}

fn lines(objects: &[Value]) -> Vec<u8> {
    objects.iter().flat_map(|o| format!("{o}\n").into_bytes()).collect()
}

fn events(objects: &[Value]) -> Vec<u8> {
    let event = |o: &Value| format!("event: {}\ndata: {o}\n\n", o["type"].as_str().unwrap()).into_bytes();
    objects.iter().flat_map(event).collect()
}

#[test]
fn p02_p05_calls_that_come_as_a_whole_all_survive() {
    let call = |n: u32| json!({"function": {"name": "f", "arguments": {"n": n}}});
    let bytes = lines(&[
        json!({"model": "m", "created_at": "t", "message": {"content": "", "tool_calls": [call(1), call(2)]}, "done": false}),
        json!({"model": "m", "message": {"content": ""}, "done": true, "done_reason": "stop", "eval_count": 1}),
    ]);
    let found = calls(OLLAMA, &bytes);
    assert_eq!((&found[0]["arguments"], &found[1]["arguments"]), (&json!({"n": 1}), &json!({"n": 2})));
    assert_ne!(found[0]["id"], found[1]["id"], "ids are made and differ");
    let told: Vec<_> = items(OLLAMA, &bytes, &[]).into_iter().flat_map(|i| i.events).collect();
    let stop =
        told.iter().find_map(|e| if let Event::Stop { stop, .. } = e { Some(stop.reason) } else { None });
    assert_eq!(stop, Some(StopReason::ToolCalls), "a plain stop beside calls");
}

#[test]
fn p01_p05_parallel_calls_do_not_mix() {
    let start = |n: u32| json!({"type": "tool-call-start", "index": n, "delta": {"message": {"tool_calls": {"id": format!("c{n}"), "type": "function", "function": {"name": "f", "arguments": ""}}}}});
    let more = |n: u32, text: &str| json!({"type": "tool-call-delta", "index": n, "delta": {"message": {"tool_calls": {"function": {"arguments": text}}}}});
    let bytes = events(&[
        json!({"type": "message-start", "id": "r"}),
        start(0),
        start(1),
        more(0, "{\"a\""),
        more(1, "{\"b\""),
        more(0, ":1}"),
        more(1, ":2}"),
        json!({"type": "tool-call-end", "index": 0}),
        json!({"type": "tool-call-end", "index": 1}),
        json!({"type": "message-end", "delta": {"finish_reason": "TOOL_CALL"}}),
    ]);
    let found = calls(COHERE, &bytes);
    let wanted = json!([{"id": "c0", "name": "f", "arguments": {"a": 1}}, {"id": "c1", "name": "f", "arguments": {"b": 2}}]);
    assert_eq!(found, wanted);
}

fn parallel() -> Value {
    let call = |id: &str| json!({"id": id, "type": "function", "function": {"name": "f", "arguments": ""}});
    json!({"model": "m", "messages": [
        {"role": "user", "content": "go"},
        {"role": "assistant", "content": null, "tool_calls": [call("a"), call("b c")]},
        {"role": "tool", "tool_call_id": "b c", "content": ""},
        {"role": "tool", "tool_call_id": "a", "content": "1"},
        {"role": "user", "content": "on"}
    ]})
}

#[test]
fn p07_results_of_one_message_stand_together() {
    let Some(bedrock) = bedrock() else { return };
    let (body, _) = written(OPENAI_CHAT, bedrock, &parallel());
    let roles: Vec<_> =
        body["messages"].as_array().unwrap().iter().map(|m| m["role"].as_str().unwrap()).collect();
    assert_eq!(roles, ["user", "assistant", "user"]);
    let results = body["messages"][2]["content"].as_array().unwrap();
    assert_eq!(results[0]["toolResult"]["toolUseId"], "a");
    assert_eq!(
        results[1]["toolResult"]["toolUseId"],
        body["messages"][1]["content"][1]["toolUse"]["toolUseId"]
    );
    assert_eq!(results[1]["toolResult"]["content"], json!([{"text": "(no output)"}]), "p44: no empty text");
    assert_eq!(results[2], json!({"text": "on"}));
}

#[test]
fn p08_histories_are_mended() {
    for target in HOSTED {
        let mut body = parallel();
        let messages = body["messages"].as_array_mut().unwrap();
        messages.remove(3); // no result for the first call
        messages.insert(1, json!({"role": "tool", "tool_call_id": "x", "content": "lost"}));
        let (body, codes) = written(OPENAI_CHAT, *target, &body);
        assert!(codes.contains(&"missing_result") && codes.contains(&"orphan_result"), "{codes:?}");
        assert!(body.to_string().contains("no result was recorded for this call"), "{}", target.id());
        assert!(body.to_string().contains("[tool result without a call: x]"), "{}", target.id());
    }
}

/// Calls have no ids on one wire: results find theirs by name and order, and pairing leaves them alone.
#[test]
fn p08_results_without_ids_find_their_calls() {
    let call = |name: &str, n: u32| json!({"function": {"name": name, "arguments": {"n": n}}});
    let body = json!({"model": "m", "stream": false, "messages": [
        {"role": "user", "content": "go"},
        {"role": "assistant", "content": "", "tool_calls": [call("f", 1), call("g", 2), call("f", 3)]},
        {"role": "tool", "tool_name": "g", "content": "two"},
        {"role": "tool", "tool_name": "f", "content": "one"},
        {"role": "tool", "tool_name": "f", "content": "three"}
    ]});
    let (found, codes) = written(OLLAMA, OPENAI_CHAT, &body);
    assert!(codes.is_empty(), "{codes:?}");
    let messages = found["messages"].as_array().unwrap();
    for (at, text) in [(0, "one"), (1, "two"), (2, "three")] {
        assert_eq!(messages[2 + at]["content"], text);
        assert_eq!(messages[2 + at]["tool_call_id"], messages[1]["tool_calls"][at]["id"]);
    }
}

#[test]
fn p10_p12_reasoning_of_another_model_is_not_sent() {
    let body = json!({"model": "m", "max_tokens": 9, "messages": [
        {"role": "user", "content": "go"},
        {"role": "assistant", "content": [
            {"type": "thinking", "thinking": "Hm.", "signature": "c2ln"},
            {"type": "thinking", "thinking": "unsigned", "signature": ""},
            {"type": "text", "text": "Yes."}
        ]},
        {"role": "user", "content": "on"}
    ]});
    for target in HOSTED {
        let (found, codes) = written(ANTHROPIC, *target, &body);
        let text = found.to_string();
        assert!(
            codes.contains(&"reasoning_dropped") && !text.contains("unsigned"),
            "{}: {text}",
            target.id()
        );
        // The same family of models behind another host knows its own seal, byte for byte.
        let sealed = json!({"reasoningContent": {"reasoningText": {"text": "Hm.", "signature": "c2ln"}}});
        assert_eq!(text.contains(&sealed.to_string()), target.id() == "bedrock-converse", "{text}");
        assert_eq!(text.contains("c2ln"), target.id() == "bedrock-converse", "{text}");
    }
}

#[test]
fn p16_plans_and_thoughts_are_reasoning() {
    let told = |m: Value| json!({"message": m});
    let bytes = events(&[
        json!({"type": "message-start", "id": "r"}),
        json!({"type": "tool-plan-delta", "delta": told(json!({"tool_plan": "Plan."}))}),
        json!({"type": "content-start", "index": 0, "delta": told(json!({"content": {"type": "thinking", "thinking": ""}}))}),
        json!({"type": "content-delta", "index": 0, "delta": told(json!({"content": {"thinking": "Hm."}}))}),
        json!({"type": "content-end", "index": 0}),
        json!({"type": "content-start", "index": 1, "delta": told(json!({"content": {"type": "text", "text": "Yes"}}))}),
        json!({"type": "content-end", "index": 1}),
        json!({"type": "message-end", "delta": {"finish_reason": "COMPLETE"}}),
    ]);
    let found = neutral::of(&assemble(COHERE, &items(COHERE, &bytes, &[]), "p16").unwrap());
    let choice = &found["choices"]["0"];
    assert_eq!((&choice["reasoning"], &choice["text"]), (&json!("Plan.Hm."), &json!("Yes")));
}

#[test]
fn p19_cached_input_is_counted_once() {
    let Some(bedrock) = bedrock() else { return };
    let body = r#"{"output":{"message":{"role":"assistant","content":[{"text":"x"}]}},"stopReason":"end_turn","usage":{"inputTokens":5,"outputTokens":7,"cacheReadInputTokens":90,"cacheWriteInputTokens":3}}"#;
    let doc = Doc::parse(body).unwrap();
    let reply = bedrock.read_reply(&doc).unwrap().value;
    let usage = reply.usage.as_ref().unwrap();
    assert_eq!((usage.input(), usage.uncached, usage.total()), (98, 5, 105));
    let chat = OPENAI_CHAT.write_reply(&reply, &WriteContext::default()).unwrap().body;
    let chat: Value = serde_json::from_slice(&chat).unwrap();
    assert_eq!(chat["usage"]["prompt_tokens"], 98);
    let cohere = COHERE.write_reply(&reply, &WriteContext::default()).unwrap().body;
    let cohere: Value = serde_json::from_slice(&cohere).unwrap();
    assert_eq!(
        cohere["usage"],
        json!({"cached_tokens": 90, "tokens": {"input_tokens": 98, "output_tokens": 7}})
    );
}

#[test]
fn p22_p23_characters_and_line_ends_may_be_cut() {
    let ollama = concat!(
        "{\"model\":\"m\",\"message\":{\"content\":\"caf\u{e9} \u{1f600}\"},\"done\":false}\r\n\r\n",
        "{\"model\":\"m\",\"message\":{\"content\":\"\"},\"done\":true,\"done_reason\":\"stop\"}"
    );
    let cohere = concat!(
        "data:{\"type\":\"message-start\",\"id\":\"r\"}\r\n\r\n",
        "data:{\"type\":\"content-start\",\"index\":0,\"delta\":{\"message\":{\"content\":{\"text\":\"caf\u{e9} \u{1f600}\"}}}}\r\n\r\n",
        "data:{\"type\":\"message-end\",\"delta\":{\"finish_reason\":\"COMPLETE\"}}\r\n\r\n"
    );
    for (wire, text) in [(OLLAMA, ollama), (COHERE, cohere)] {
        let whole = items(wire, text.as_bytes(), &[]);
        let found = neutral::of(&assemble(wire, &whole, "p22").unwrap());
        assert_eq!(found["choices"]["0"]["text"], "caf\u{e9} \u{1f600}", "{}", wire.id());
        for at in 0..text.len() {
            assert!(items(wire, text.as_bytes(), &[at]) == whole, "{} cut at {at}", wire.id());
        }
    }
}

#[test]
fn p24_p25_errors_and_cuts_in_a_success_are_failures() {
    let begun = json!({"model": "m", "message": {"role": "assistant", "content": "x"}, "done": false});
    let start = json!({"type": "message-start", "id": "r"});
    for (wire, bytes, message) in [
        (OLLAMA, lines(&[begun.clone(), json!({"error": "out of memory"})]), "out of memory"),
        (OLLAMA, lines(&[json!({"error": "no such model"})]), "no such model"),
        (OLLAMA, lines(&[begun]), "the stream ended before the answer did"),
        (COHERE, events(std::slice::from_ref(&start)), "the stream ended before the answer did"),
        (
            COHERE,
            events(&[start.clone(), json!({"type": "message-end", "delta": {"error": "too hot"}})]),
            "too hot",
        ),
        (
            COHERE,
            events(&[start, json!({"type": "message-end", "delta": {"finish_reason": "ERROR"}})]),
            "the vendor broke the answer off",
        ),
    ] {
        let last = items(wire, &bytes, &[]).into_iter().flat_map(|i| i.events).last();
        let Some(Event::Error(error)) = last else { panic!("{}: {last:?}", wire.id()) };
        assert_eq!(error.message, message);
    }
}

#[test]
fn p26_a_finished_stream_says_so() {
    let events = [
        Event::Start(Default::default()),
        Event::Stop { choice: 0, stop: omniroute_core::hub::Stop::new(StopReason::Length) },
        Event::Finish,
    ];
    for wire in HOSTED {
        let mut writer = wire.stream_writer(&WriteContext::default()).unwrap();
        let mut bytes = Vec::new();
        events.iter().for_each(|e| writer.write(e, &mut bytes));
        let told: Vec<_> = items(*wire, &bytes, &[]).into_iter().flat_map(|i| i.events).collect();
        assert_eq!(told.last(), Some(&Event::Finish), "{}", wire.id());
    }
}

#[test]
fn p34_tools_of_a_vendor_are_not_made_functions() {
    let body = json!({"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": "go"}],
        "tools": [{"type": "web_search_20250305", "name": "web_search"}]});
    let doc = Doc::parse(body.to_string()).unwrap();
    let request = ANTHROPIC.read_request(&doc).unwrap().value;
    for target in HOSTED {
        let error = target.write(&request, &WriteContext::default()).unwrap_err();
        assert_eq!(error.code(), "unsupported_tool", "{}", target.id());
    }
}

#[test]
fn p37_no_tool_is_no_tool() {
    let body = json!({"model": "m", "messages": [{"role": "user", "content": "go"}], "tool_choice": "none",
        "tools": [{"type": "function", "function": {"name": "f"}}]});
    for target in HOSTED {
        let (found, _) = written(OPENAI_CHAT, *target, &body);
        match target.id() {
            "cohere" => assert_eq!(found["tool_choice"], "NONE"),
            _ => assert!(found.get("tools").is_none() && found.get("toolConfig").is_none(), "{found}"),
        }
    }
}

#[test]
fn p45_numbers_keep_their_digits() {
    let body = r#"{"model":"m","temperature":0.10,"messages":[{"role":"user","content":"x"},{"role":"assistant","tool_calls":[{"id":"a","type":"function","function":{"name":"f","arguments":"{\"id\":9007199254740993,\"p\":0.10}"}}]},{"role":"tool","tool_call_id":"a","content":"1"}]}"#;
    let doc = Doc::parse(body).unwrap();
    let request = OPENAI_CHAT.read_request(&doc).unwrap().value;
    for target in HOSTED {
        let written = target.write(&request, &WriteContext::default()).unwrap();
        let text = String::from_utf8(written.body.to_vec()).unwrap();
        assert!(text.contains("9007199254740993") && text.contains(":0.10"), "{}: {text}", target.id());
    }
}

/// Names that a target does not take are sent in another form; one that takes any gets them as they are.
#[test]
fn p09_names_of_tools_come_back_exactly() {
    let name = "mcp.files/read";
    let body = json!({"model": "m", "messages": [{"role": "user", "content": "go"}],
        "tools": [{"type": "function", "function": {"name": name, "parameters": {"type": "object"}}}]});
    let doc = Doc::parse(body.to_string()).unwrap();
    let request = OPENAI_CHAT.read_request(&doc).unwrap().value;
    for target in HOSTED {
        let written = target.write(&request, &WriteContext::default()).unwrap();
        let text = String::from_utf8(written.body.to_vec()).unwrap();
        let free = target.id() == "ollama";
        assert_eq!(text.contains(name), free, "{}: {text}", target.id());
        let Some(alias) = written.names.sent(name) else { continue };
        assert!(text.contains(alias) && written.names.own(alias) == Some(name), "{}", target.id());
    }
}

/// One turn with two calls: results in the order of the calls, objects as objects.
#[test]
fn p07_a_turn_with_two_calls() {
    let Some(bedrock) = bedrock() else { return };
    let call = |id: &str, city: &str| json!({"id": id, "type": "function", "function": {"name": "weather", "arguments": format!("{{\"city\":\"{city}\"}}")}});
    let body = json!({"model": "m", "messages": [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "Weather in Oslo and Rome?"},
        {"role": "assistant", "content": null, "tool_calls": [call("call_a", "Oslo"), call("call_b", "Rome")]},
        {"role": "tool", "tool_call_id": "call_b", "content": "{\"c\":24}"},
        {"role": "tool", "tool_call_id": "call_a", "content": "rain"}]});
    let (found, _) = written(OPENAI_CHAT, bedrock, &body);
    assert_eq!(found["system"], json!([{"text": "Be brief."}]));
    let wanted = json!([
        {"role": "user", "content": [{"text": "Weather in Oslo and Rome?"}]},
        {"role": "assistant", "content": [
            {"toolUse": {"toolUseId": "call_a", "name": "weather", "input": {"city": "Oslo"}}},
            {"toolUse": {"toolUseId": "call_b", "name": "weather", "input": {"city": "Rome"}}}]},
        {"role": "user", "content": [
            {"toolResult": {"toolUseId": "call_a", "content": [{"text": "rain"}]}},
            {"toolResult": {"toolUseId": "call_b", "content": [{"json": {"c": 24}}]}}]}]);
    assert_eq!(found["messages"], wanted);
}

#[test]
fn p32_at_most_four_cache_marks() {
    let Some(bedrock) = bedrock() else { return };
    let text = |t: &str| json!({"type": "text", "text": t, "cache_control": {"type": "ephemeral"}});
    let body = json!({"model": "m", "max_tokens": 9, "system": [text("one"), text("two")],
        "tools": [{"name": "f", "input_schema": {"type": "object"}, "cache_control": {"type": "ephemeral"}}],
        "messages": [{"role": "user", "content": [text("a"), text("b"), text("c")]}]});
    let (found, codes) = written(ANTHROPIC, bedrock, &body);
    assert_eq!(found.to_string().matches("cachePoint").count(), 4, "{found}");
    assert!(codes.contains(&"cache_mark_dropped"), "{codes:?}");
}

/// What `high` effort with a limit of 2 000 tokens becomes.
#[test]
fn effort_beside_a_limit() {
    let body = json!({"model": "m", "reasoning_effort": "high", "max_tokens": 2000, "messages": [{"role": "user", "content": "go"}]});
    let doc = Doc::parse(body.to_string()).unwrap();
    let request = OPENAI_CHAT.read_request(&doc).unwrap().value;
    let mut cx = WriteContext::default();
    cx.caps.reasoning = Some(omniroute_core::hub::ReasoningStyle::Effort);
    let found = OLLAMA.write(&request, &cx).unwrap();
    let found: Value = serde_json::from_slice(&found.body).unwrap();
    assert_eq!((&found["think"], &found["options"]["num_predict"]), (&json!("high"), &json!(2_000)));
}

/// A whole body where a stream was asked for: a call without a name is not told, and that is said.
#[test]
fn nameless_calls_of_whole_answers_are_noted() {
    let body = |wire: &str, text: &str| match wire {
        "ollama" => {
            json!({"model": "m", "done": true, "done_reason": "stop", "message": {"role": "assistant", "content": text,
            "tool_calls": [{"function": {"name": "", "arguments": {}}}]}})
        }
        "cohere" => {
            json!({"id": "r", "finish_reason": "TOOL_CALL", "message": {"role": "assistant", "content": [{"type": "text", "text": text}],
            "tool_calls": [{"id": "a", "type": "function", "function": {"name": "", "arguments": "{}"}}]}})
        }
        "bedrock-converse" => {
            json!({"stopReason": "tool_use", "output": {"message": {"role": "assistant", "content": [{"text": text},
            {"toolUse": {"toolUseId": "a", "name": "", "input": {}}}]}}})
        }
        _ => {
            json!({"id": "r", "choices": [{"index": 0, "finish_reason": "tool_calls", "message": {"role": "assistant", "content": text,
            "tool_calls": [{"id": "a", "type": "function", "function": {"name": "", "arguments": "{}"}}]}}]})
        }
    };
    for wire in HOSTED.iter().chain([&OPENAI_CHAT]) {
        for (text, ended) in [("hi", None), ("", Some("empty_reply"))] {
            let body = serde_json::to_string_pretty(&body(wire.id(), text)).unwrap(); // no line of it is JSON
            let (mut reader, mut found) = (wire.stream_reader().unwrap(), Vec::new());
            reader.feed(body.into(), &mut found);
            reader.end(&mut found);
            let codes: Vec<_> = reader.notes().iter().map(|n| n.code).collect();
            assert_eq!(codes, ["nameless_call_dropped"], "{}", wire.id());
            let error = match found.iter().flat_map(|i| &i.events).last() {
                Some(Event::Error(error)) => error.code.as_deref(),
                _ => None,
            };
            assert_eq!(error, ended, "{}: {found:?}", wire.id());
        }
    }
}

/// Every known fault has a test that is named after it, here or in the core, or stands in this list.
#[test]
fn every_number_has_a_test() {
    const SOURCES: [&str; 7] = [
        include_str!("pitfalls.rs"),
        include_str!("../http/pitfalls.rs"),
        include_str!("../http/restored.rs"),
        include_str!("../../../omniroute-core/tests/wire/pitfalls/calls.rs"),
        include_str!("../../../omniroute-core/tests/wire/pitfalls/history.rs"),
        include_str!("../../../omniroute-core/tests/wire/pitfalls/requests.rs"),
        include_str!("../../../omniroute-core/tests/wire/pitfalls/streams.rs"),
    ];
    let names: Vec<&str> = SOURCES
        .iter()
        .flat_map(|s| s.lines())
        .filter_map(|l| l.strip_prefix("fn pitfall_").or_else(|| l.strip_prefix("fn p")))
        .filter_map(|l| l.split('(').next())
        .collect();
    let named = |number: usize| {
        let word = format!("{number:02}_");
        names.iter().any(|n| n.starts_with(&word) || n.contains(&format!("_p{word}")))
    };
    let missing: Vec<usize> = (1..=45).filter(|number| !named(*number)).collect();
    assert_eq!(missing, [0usize; 0]);
    assert!(!named(46), "the search can fail");
}
