//! Members that nobody knows, in requests and replies: each is sent, or named by one remark. The tests of other crates
//! share this.

use omniroute_core::hub::WriteContext;
use omniroute_core::wire::{GEMINI, OPENAI_CHAT, Wire};
use omniroute_core::{Diagnostic, Doc};
use serde_json::{Value, json};

use crate::replies::items;

/// A chat request with a member `new_N` that nobody knows in each object that may have one, and how many there are.
pub(crate) fn chat() -> (Value, usize) {
    let schema = json!({"type": "object", "properties": {}});
    let body = json!({"model": "m", "new_0": 1, "reasoning": {"effort": "low", "new_1": 1},
        "tools": [{"type": "function", "function": {"name": "f", "parameters": schema, "new_2": 1}}],
        "messages": [{"role": "user", "new_3": 1, "content": [{"type": "text", "text": "x", "new_4": 1}]},
            {"role": "assistant", "new_5": 1, "tool_calls": [{"id": "a", "type": "function", "new_6": 1, "function": {"name": "f", "arguments": "{}"}}]},
            {"role": "tool", "tool_call_id": "a", "content": "1", "new_7": 1}]});
    (body, 8)
}

/// The numbers of the unknown members that neither the body nor exactly one remark names.
fn unheard(count: usize, body: &[u8], notes: &[Diagnostic]) -> Vec<usize> {
    let body = String::from_utf8_lossy(body);
    let told = |name: &str| match body.contains(name) {
        true => true,
        false => notes.iter().filter(|n| n.pointer.ends_with(name)).count() == 1,
    };
    (0..count).filter(|n| !told(&format!("new_{n}"))).collect()
}

/// A request of one wire as each of the others sends it.
pub(crate) fn requests(source: Wire, (body, count): &(Value, usize), targets: impl Iterator<Item = Wire>) {
    let doc = Doc::parse(body.to_string()).unwrap();
    let request = source.read_request(&doc).unwrap().value;
    for target in targets {
        let written = target.write(&request, &WriteContext::default()).unwrap();
        let lost = unheard(*count, &written.body, &written.notes);
        let text = String::from_utf8_lossy(&written.body);
        let label = format!("{} -> {}", source.id(), target.id());
        assert!(lost.is_empty(), "{label}: {lost:?} {:?} {text}", written.notes);
        assert_eq!(
            text.contains("new_"),
            target == source,
            "{label}: extras go only to their own wire: {text}"
        );
    }
}

/// What a stream or a whole reply says beyond its message, on other wires. Each is noted once.
pub(crate) fn replies(targets: &[Wire]) {
    let choice = json!({"index": 0, "delta": {"content": "hi"}, "finish_reason": "stop", "new_1": 1});
    let stream = format!(
        "data: {}\n\ndata: [DONE]\n\n",
        json!({"id": "c", "model": "m", "new_0": 1, "choices": [choice]})
    );
    let events = items(OPENAI_CHAT, stream.as_bytes(), &[]);
    let message = json!({"role": "assistant", "content": "hi", "new_2": 1});
    let whole = json!({"id": "c", "model": "m", "new_0": 1,
        "choices": [{"index": 0, "message": message, "finish_reason": "stop", "new_1": 1}]});
    let doc = Doc::parse(whole.to_string()).unwrap();
    let reply = OPENAI_CHAT.read_reply(&doc).unwrap().value;
    for target in targets {
        let mut writer = target.stream_writer(&WriteContext::default()).unwrap();
        let mut bytes = Vec::new();
        for _ in 0..2 {
            events.iter().flat_map(|i| &i.events).for_each(|e| writer.write(e, &mut bytes));
        }
        let notes = writer.notes();
        assert_eq!(unheard(2, &bytes, &notes), [0usize; 0], "{} streamed", target.id());
        assert_eq!(notes.len(), 2, "{}: {notes:?}", target.id());
        let written = target.write_reply(&reply, &WriteContext::default()).unwrap();
        assert_eq!(unheard(3, &written.body, &written.notes), [0usize; 0], "{} whole", target.id());
    }
}

/// Twins: without a remark, or with one too many, a member is found.
#[test]
fn a_member_without_its_one_remark_is_found() {
    let (body, count) = chat();
    let doc = Doc::parse(body.to_string()).unwrap();
    let request = OPENAI_CHAT.read_request(&doc).unwrap().value;
    let written = GEMINI.write(&request, &WriteContext::default()).unwrap();
    assert_eq!(unheard(count, &written.body, &[]).len(), count);
    let last = written.notes.iter().rposition(|n| n.pointer.contains("new_")).unwrap();
    let mut less = written.notes.clone();
    let doubled = [written.notes.clone(), vec![less.remove(last)]].concat();
    for notes in [less, doubled] {
        assert_eq!(unheard(count, &written.body, &notes).len(), 1, "{notes:?}");
    }
}
