//! Random conversations from wire to wire and back.

use omniroute_core::Doc;
use omniroute_core::hub::WriteContext;
use omniroute_core::wire::{OPENAI_CHAT, WIRES};
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::crossing::content;

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

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

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
