//! Random conversations from wire to wire and back; random damage to requests, streams and errors.

use omniroute_core::Doc;
use omniroute_core::hub::{ErrorBody, WriteContext};
use omniroute_core::wire::{OPENAI_CHAT, WIRES, Wire, by_id};
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::crossing::content;
use crate::snapshots::RICH;

/// So many cases, the same ones on each run.
fn cases(cases: u32) -> ProptestConfig {
    let rng_seed = proptest::test_runner::RngSeed::Fixed(7);
    ProptestConfig { cases, rng_seed, failure_persistence: None, ..ProptestConfig::default() }
}

/// A lawful chat body: every call has its result.
fn body() -> impl Strategy<Value = Value> {
    let text = || "[a-zA-Zé\"\\\\\n ]{1,12}[a-z]";
    let calls = prop::collection::vec(("[a-z]{1,8}", text()), 0..3);
    let turn = (text(), text(), calls);
    prop::collection::vec(turn, 1..5).prop_map(|turns| {
        let mut messages = vec![json!({"role": "system", "content": "Be brief."})];
        let mut made = 0;
        for (asked, said, calls) in turns {
            messages.push(json!({"role": "user", "content": format!("q{asked}")}));
            let mut listed = Vec::new();
            let mut results = Vec::new();
            for (name, argument) in calls {
                let id = format!("call_{made}");
                made += 1;
                let arguments = json!({"x": argument, "n": made}).to_string();
                listed.push(
                    json!({"id": id, "type": "function", "function": {"name": name, "arguments": arguments}}),
                );
                results.push(json!({"role": "tool", "tool_call_id": id, "content": format!("r{argument}")}));
            }
            let mut answer = json!({"role": "assistant", "content": format!("a{said}")});
            if !listed.is_empty() {
                answer["tool_calls"] = listed.into();
            }
            messages.push(answer);
            messages.append(&mut results);
        }
        messages.push(json!({"role": "user", "content": "end"}));
        json!({"model": "m", "max_tokens": 100, "messages": messages})
    })
}

/// Any small value.
fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        "[a-zé\"\\\\<{]{0,12}".prop_map(Value::from),
        Just(Value::from("é".repeat(6_000))),
    ];
    leaf.prop_recursive(2, 8, 3, |inner| {
        let list = prop::collection::vec(inner.clone(), 0..3).prop_map(Value::from);
        let names = prop::sample::select(&["type", "text", "name", "content", "parts", "role", "x"][..]);
        let members = prop::collection::btree_map(names.prop_map(str::to_owned), inner, 0..3);
        prop_oneof![list, members.prop_map(|m| Value::Object(m.into_iter().collect()))]
    })
}

/// Puts `new` in the place of the node with this number, counted from the root on.
fn damage(body: &mut Value, number: &mut usize, new: &Value) {
    if *number == 0 {
        *body = new.clone();
    }
    *number = number.wrapping_sub(1);
    match body {
        Value::Object(members) => members.values_mut().for_each(|v| damage(v, number, new)),
        Value::Array(elements) => elements.iter_mut().for_each(|v| damage(v, number, new)),
        _ => {}
    }
}

/// The body of an error as some vendor, or nobody, would write it.
fn failure() -> impl Strategy<Value = Value> {
    let names = [
        "error",
        "message",
        "type",
        "code",
        "param",
        "status",
        "details",
        "detail",
        "metadata",
        "__type",
        "id",
        "request_id",
        "n_ctx",
        "msg",
    ];
    let members = || {
        let name = prop::sample::select(names.to_vec()).prop_map(str::to_owned);
        prop::collection::btree_map(name, value(), 0..4)
    };
    let object = |m: std::collections::BTreeMap<String, Value>| Value::Object(m.into_iter().collect());
    prop_oneof![
        value(),
        members().prop_map(object),
        (members(), members()).prop_map(move |(mut outer, inner)| {
            outer.insert("error".into(), object(inner));
            object(outer)
        }),
        members().prop_map(move |m| Value::Array(vec![object(m)])),
    ]
}

/// What holds for every error that was read.
fn sound(error: &ErrorBody) -> Result<(), &'static str> {
    let rule = |holds: bool, words| if holds { Ok(()) } else { Err(words) };
    rule(!error.message.is_empty(), "an error says something")?;
    rule(error.message.len() <= ErrorBody::MAX, "a message is short")?;
    let words = [&error.kind, &error.code, &error.param, &error.request_id];
    rule(words.into_iter().flatten().all(|w| w.len() <= 256), "names are short")?;
    rule(error.status == Some(418), "the status is the answer's")
}

/// Twin: an error without words, or with too many, is found.
#[test]
fn unsound_errors_are_noticed() {
    let good = ErrorBody { status: Some(418), ..ErrorBody::own("code", "words") };
    assert_eq!(sound(&good), Ok(()));
    for bad in [
        ErrorBody { message: String::new(), ..good.clone() },
        ErrorBody { message: "x".repeat(9_000), ..good.clone() },
        ErrorBody { code: Some("x".repeat(300)), ..good.clone() },
        ErrorBody { status: None, ..good.clone() },
    ] {
        assert!(sound(&bad).is_err());
    }
}

proptest! {
    #![proptest_config(cases(256))]

    #[test]
    fn errors_are_read_whatever_they_are(body in failure(), cut in 0usize..400) {
        let bytes = body.to_string().into_bytes();
        let short = &bytes[..cut.min(bytes.len())];
        for wire in WIRES {
            for bytes in [&bytes[..], short] {
                let error = wire.read_error(418, bytes);
                prop_assert_eq!(sound(&error), Ok(()));
                // A client reads the same words.
                let told = wire.read_error(418, &wire.write_error(&error));
                prop_assert_eq!(told.message, error.message);
            }
        }
    }

    /// A damaged request is refused or written as JSON that its target reads.
    #[test]
    fn damaged_requests_never_become_broken_ones(which in 0usize..4, number in 1usize..120, new in value()) {
        let (source, body) = RICH[which];
        let mut body: Value = serde_json::from_str(body).unwrap();
        damage(&mut body, &mut number.clone(), &new);
        let doc = Doc::parse(body.to_string()).unwrap();
        if let Ok(read) = by_id(source).unwrap().read_request(&doc) {
            for target in WIRES {
                let Ok(written) = target.write(&read.value, &WriteContext::default()) else { continue };
                prop_assert_eq!(request_reads(*target, &written.body), Ok(()), "from {}", source);
            }
        }
    }

    /// A damaged reply, whole or as an event of a stream, is an error or told as JSON on each wire.
    #[test]
    fn damaged_replies_never_become_broken_ones(which in 0usize..4, number in 1usize..30, new in value()) {
        let (source, body) = replies()[which].clone();
        let source = by_id(source).unwrap();
        let mut body = body;
        damage(&mut body, &mut number.clone(), &new);
        let doc = Doc::parse(body.to_string()).unwrap();
        if let Ok(read) = source.read_reply(&doc) {
            for target in WIRES {
                // Some blocks are refused by a wire that has no form for them.
                let Ok(written) = target.write_reply(&read.value, &WriteContext::default()) else { continue };
                prop_assert_eq!(Doc::parse(written.body).err(), None, "{} -> {}", source.id(), target.id());
            }
        }
        let stream = format!("data: {body}\n\ndata: {body}\n\n").into_bytes();
        let _ = crate::replies::assemble(source, &crate::replies::items(source, &stream, &[]), "damaged");
        let whole = body.to_string().into_bytes();
        let _ = crate::replies::assemble(source, &crate::replies::items(source, &whole, &[]), "damaged");
    }
}

/// A small reply of each wire.
fn replies() -> [(&'static str, Value); 4] {
    let chat = json!({"id": "r", "model": "m", "choices": [{"index": 0, "finish_reason": "tool_calls", "message": {
        "role": "assistant", "content": "hi", "reasoning_content": "t", "refusal": "no",
        "tool_calls": [{"id": "a", "type": "function", "function": {"name": "f", "arguments": "{}"}}]}}],
        "usage": {"prompt_tokens": 1, "completion_tokens": 2}});
    let anthropic = json!({"type": "message", "id": "r", "model": "m", "stop_reason": "tool_use", "content": [
        {"type": "thinking", "thinking": "t", "signature": "c2ln"}, {"type": "text", "text": "hi"},
        {"type": "tool_use", "id": "a", "name": "f", "input": {}}], "usage": {"input_tokens": 1, "output_tokens": 2}});
    let gemini = json!({"responseId": "r", "candidates": [{"index": 0, "finishReason": "STOP", "content": {
        "role": "model", "parts": [{"text": "t", "thought": true}, {"text": "hi", "thoughtSignature": "c2ln"},
        {"inlineData": {"mimeType": "image/png", "data": "aQ=="}}, {"functionCall": {"name": "f", "args": {}}}]}}],
        "usageMetadata": {"promptTokenCount": 1, "candidatesTokenCount": 2}});
    let responses = json!({"id": "r", "object": "response", "status": "completed", "model": "m", "output": [
        {"type": "reasoning", "id": "rs", "summary": [{"type": "summary_text", "text": "t"}], "encrypted_content": "c2ln"},
        {"type": "message", "id": "msg", "role": "assistant", "content": [{"type": "output_text", "text": "hi"}]},
        {"type": "function_call", "id": "fc", "call_id": "a", "name": "f", "arguments": "{}"}],
        "usage": {"input_tokens": 1, "output_tokens": 2}});
    [
        ("openai-chat", chat),
        ("anthropic-messages", anthropic),
        ("gemini", gemini),
        ("openai-responses", responses),
    ]
}

/// Whether a body is a request of this wire.
fn request_reads(wire: Wire, body: &[u8]) -> Result<(), String> {
    let told = |e: String| format!("{}: {e}: {}", wire.id(), String::from_utf8_lossy(body));
    let doc = Doc::parse(body.to_vec()).map_err(|e| told(e.to_string()))?;
    wire.read_request(&doc).map(drop).map_err(|e| told(e.to_string()))
}

/// Twins: a body that was cut, one of the wrong shape, and a conversation that lost a message are noticed.
#[test]
fn broken_bodies_and_lost_messages_are_noticed() {
    let body = |rest: &str| format!(r#"{{"model":"m","messages":[{{"role":"user","content":"a"}}{rest}]}}"#);
    let (less, more) = (body(""), body(r#",{"role":"user","content":"b"}"#));
    assert_eq!(request_reads(OPENAI_CHAT, less.as_bytes()), Ok(()));
    assert!(request_reads(OPENAI_CHAT, &less.as_bytes()[..less.len() - 1]).is_err());
    assert!(request_reads(OPENAI_CHAT, br#"{"messages":[null]}"#).is_err());
    let [less, more] = [less, more].map(|body| Doc::parse(body).unwrap());
    let [less, more] = [&less, &more].map(|doc| content(&OPENAI_CHAT.read_request(doc).unwrap().value));
    assert_ne!(less, more);
}

proptest! {
    #![proptest_config(cases(64))]

    #[test]
    fn conversations_come_back(body in body()) {
        let doc = Doc::parse(body.to_string()).unwrap();
        let request = OPENAI_CHAT.read_request(&doc).unwrap().value;
        let wanted = content(&request);
        for through in WIRES {
            let written = through.write(&request, &WriteContext::default()).unwrap();
            let there = Doc::parse(written.body).unwrap();
            let other = through.read_request(&there).unwrap().value;
            let back = OPENAI_CHAT.write(&other, &WriteContext::default()).unwrap();
            let back = Doc::parse(back.body).unwrap();
            let back = OPENAI_CHAT.read_request(&back).unwrap().value;
            prop_assert_eq!(&content(&back), &wanted, "through {}", through.id());
            // Writing what was read changes nothing more.
            let again = through.write(&through.read_request(&there).unwrap().value, &WriteContext::default()).unwrap();
            let again: Value = serde_json::from_slice(&again.body).unwrap();
            let first: Value = serde_json::from_slice(there.bytes()).unwrap();
            prop_assert_eq!(again, first);
        }
    }

    /// Readers take anything: no panic, and streams end lawfully.
    #[test]
    fn readers_survive_anything(bytes in prop::collection::vec(any::<u8>(), 0..200), cut in 0usize..200) {
        let lines: Vec<u8> = [b"data: ".as_slice(), &bytes, b"\n\ndata: {\"choices\":[{\"delta\":{\"tool_calls\":[{\"index\":0}]}}]}\n\n"].concat();
        for wire in WIRES {
            let cut = cut.min(lines.len());
            let found = crate::replies::items(*wire, &lines, &[cut]);
            let _ = crate::replies::assemble(*wire, &found, "noise");
            let _ = wire.read_error(500, &bytes);
            if let Ok(doc) = Doc::parse(bytes.clone()) {
                let _ = wire.read_reply(&doc);
                let _ = wire.read_request(&doc);
            }
        }
    }
}
