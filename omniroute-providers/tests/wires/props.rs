//! Random conversations to the wires of this crate and back; longer sessions extend the bytes of shorter ones; random
//! damage and random bytes.

use omniroute_core::Doc;
use omniroute_core::hub::{Event, Request, StreamItem, WriteContext};
use omniroute_core::wire::{OPENAI_CHAT, Wire};
use omniroute_providers::wires::HOSTED;
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::crossing::content;
use crate::replies::{assemble, items};

/// So many cases, the same ones on each run.
fn cases(cases: u32) -> ProptestConfig {
    let rng_seed = proptest::test_runner::RngSeed::Fixed(7);
    ProptestConfig { cases, rng_seed, failure_persistence: None, ..ProptestConfig::default() }
}

/// A lawful chat body: every call has its result.
fn body() -> impl Strategy<Value = Value> {
    let text = || "[a-zA-Zé\"\\\\\n ]{1,12}[a-z]";
    let calls = prop::collection::vec(("[a-z]{1,8}", text()), 0..3);
    prop::collection::vec((text(), text(), calls), 1..5).prop_map(|turns| {
        let mut messages = vec![json!({"role": "system", "content": "Be brief."})];
        let mut made = 0;
        for (asked, said, calls) in turns {
            messages.push(json!({"role": "user", "content": format!("q{asked}")}));
            let (mut listed, mut results) = (Vec::new(), Vec::new());
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

fn written(wire: Wire, request: &Request<'_>) -> String {
    String::from_utf8(wire.write(request, &WriteContext::default()).unwrap().body.to_vec()).unwrap()
}

/// Whether a longer body goes on where a shorter one ends.
fn extends(before: &str, now: &str) -> bool {
    now.starts_with(before.trim_end_matches(['}', ']']))
}

/// What a stream says, and its bytes. After what cannot be read, the bytes come in the pieces that were fed.
fn said(items: &[StreamItem]) -> (Vec<&Event>, Vec<u8>) {
    let raw = items.iter().flat_map(|i| i.raw.iter().copied()).collect();
    (items.iter().flat_map(|i| &i.events).collect(), raw)
}

/// Twins: a session whose first message changed, and a conversation that lost a message.
#[test]
fn changed_and_lost_messages_are_noticed() {
    let of = |first: &str, more: &str| {
        let body = format!(r#"{{"model":"m","messages":[{{"role":"user","content":"{first}"}}{more}]}}"#);
        let doc = Doc::parse(body).unwrap();
        let request = OPENAI_CHAT.read_request(&doc).unwrap().value;
        (written(HOSTED[0], &request), content(&request, true))
    };
    let more = r#",{"role":"assistant","content":"b"},{"role":"user","content":"c"}"#;
    assert!(extends(&of("a", "").0, &of("a", more).0));
    assert!(!extends(&of("z", "").0, &of("a", more).0));
    assert_ne!(of("a", "").1, of("a", more).1);
}

proptest! {
    #![proptest_config(cases(64))]

    #[test]
    fn conversations_come_back(body in body()) {
        let doc = Doc::parse(body.to_string()).unwrap();
        let request = OPENAI_CHAT.read_request(&doc).unwrap().value;
        for through in HOSTED {
            let ids = through.id() != "ollama"; // it has none
            let first = written(*through, &request);
            let there = Doc::parse(first.clone()).unwrap();
            let other = through.read_request(&there).unwrap().value;
            let back = Doc::parse(written(OPENAI_CHAT, &other)).unwrap();
            let back = OPENAI_CHAT.read_request(&back).unwrap().value;
            prop_assert_eq!(content(&back, ids), content(&request, ids), "through {}", through.id());
            // Writing what was read changes nothing more.
            let again: Value = serde_json::from_str(&written(*through, &other)).unwrap();
            prop_assert_eq!(again, serde_json::from_str::<Value>(&first).unwrap(), "{}", through.id());
        }
    }

    /// What was sent once is sent the same way again.
    #[test]
    fn longer_sessions_extend_shorter_ones(body in body()) {
        let doc = Doc::parse(body.to_string()).unwrap();
        let request = OPENAI_CHAT.read_request(&doc).unwrap().value;
        for target in HOSTED {
            let mut last: Option<String> = None;
            for turns in 1..=request.turns.len() {
                // A turn of the assistant or of tools is completed by what follows.
                if request.turns[turns - 1].role != omniroute_core::Role::User {
                    continue;
                }
                let mut part = request.clone();
                part.turns.truncate(turns);
                let now = written(*target, &part);
                if let Some(before) = last {
                    prop_assert!(extends(&before, &now), "{}:\n{}\n{}", target.id(), before, now);
                }
                last = Some(now);
            }
        }
    }

    /// Readers take anything: no panic, and streams end lawfully.
    #[test]
    fn readers_survive_anything(bytes in prop::collection::vec(any::<u8>(), 0..200), cut in 0usize..200) {
        for wire in HOSTED {
            for framed in [
                bytes.clone(),
                [b"data: ".as_slice(), &bytes, b"\n\ndata: {\"type\":\"message-end\",\"delta\":{}}\n\n"].concat(),
                [b"{\"message\":{\"content\":\"x\"},\"done\":false}\n".as_slice(), &bytes, b"\n"].concat(),
            ] {
                let cut = cut.min(framed.len());
                let found = items(*wire, &framed, &[cut]);
                prop_assert!(said(&found) == said(&items(*wire, &framed, &[])), "{} cut at {}", wire.id(), cut);
                let _ = assemble(*wire, &found, "noise");
            }
            let _ = wire.read_error(500, &bytes);
            if let Ok(doc) = Doc::parse(bytes.clone()) {
                let _ = wire.read_reply(&doc);
                let _ = wire.read_request(&doc);
            }
        }
    }
}
