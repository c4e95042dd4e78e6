//! Long texts of the user: whole while they are the newest, then once in another form, and only if that pays.
#![expect(clippy::unwrap_used, reason = "helpers of tests stop like tests")]

mod common;

use std::collections::HashSet;

use common::bodies::raw_messages;
use omniroute_compress::ccr::{Handle, TOOL};
use omniroute_compress::{Compress, Step, expand};
use omniroute_core::{ChatRequest, Moment, Principal, wire};
use serde_json::{Value, json};

fn pasted(seed: usize) -> String {
    (0..200).map(|n| format!("line {seed}.{n} of a long text that the user has pasted\n")).collect()
}

fn compressor(on: bool) -> Compress {
    Compress::builder().steps([Step::new("ccr").with("user_blocks", on)]).build().unwrap()
}

/// What the user says and what is answered, in turn.
fn body(said: &[String], answer: &str, with_tool: bool) -> Value {
    let mut list = Vec::new();
    for (n, text) in said.iter().enumerate() {
        list.push(json!({"role": "user", "content": text}));
        if n + 1 < said.len() {
            list.push(json!({"role": "assistant", "content": [{"type": "text", "text": answer}]}));
        }
    }
    let tools = if with_tool { json!([{"name": TOOL, "input_schema": {}}]) } else { json!([]) };
    json!({"model": "claude-sonnet-4-5", "system": "You help.", "tools": tools, "messages": list})
}

fn send(compressor: &Compress, body: &Value) -> (Vec<u8>, omniroute_core::CompressReceipt) {
    let bytes = serde_json::to_vec(body).unwrap();
    let out = compressor.compress_body(Some(wire::ANTHROPIC), bytes, Moment::default()).unwrap();
    (out.body.to_vec(), out.receipt)
}

#[test]
fn a_text_changes_once_and_only_when_a_later_one_is_there() {
    let said: Vec<String> = vec![pasted(1), "And now?".into(), pasted(2), "Go on.".into(), "Thanks.".into()];
    let remembering = compressor(true);
    let mut forms: Vec<HashSet<String>> = vec![HashSet::new(); 9];
    for n in 1..=said.len() {
        let (sent, receipt) = send(&remembering, &body(&said[..n], "Yes.", true));
        assert_eq!(sent, send(&compressor(true), &body(&said[..n], "Yes.", true)).0, "no memory is needed");
        let messages = raw_messages(&sent);
        assert!(
            messages.last().unwrap().contains(said[n - 1].lines().last().unwrap()),
            "the newest is whole"
        );
        for (at, message) in messages.into_iter().enumerate() {
            forms[at].insert(message);
        }
        let changed: usize = receipt.edits.segments.len();
        assert_eq!(changed, [0, 1, 1, 2, 2][n - 1], "{n}");
    }
    let counts: Vec<usize> = forms.iter().map(HashSet::len).collect();
    assert_eq!(counts, [2, 1, 1, 1, 2, 1, 1, 1, 1]);
}

#[test]
fn it_can_be_fetched_and_the_log_says_that_it_is_not_there() {
    let said = [pasted(1), "And now?".to_owned()];
    let compressor = compressor(true);
    let (sent, receipt) = send(&compressor, &body(&said, "Yes.", true));
    let text = String::from_utf8(sent.clone()).unwrap();
    let handle = Handle::all_in(&text).find(|h| h.chars == said[0].chars().count() as u64).unwrap();
    let arguments = json!({"hash": handle.to_string()}).to_string();
    assert_eq!(
        compressor.retrieve(&Principal::default(), &arguments, Moment::default()).unwrap().text,
        said[0]
    );
    let request = ChatRequest::parse(wire::ANTHROPIC, sent).unwrap();
    assert_eq!(expand(&request, &receipt.edits).unwrap().not_restored.len(), 1);
}

#[test]
fn nothing_happens_unless_asked_for_reachable_and_worth_it() {
    let said = [pasted(1), "And now?".to_owned()];
    let long_answer = "An answer of many words that would have to be sent again. ".repeat(400);
    for (on, with_tool, answer, changed) in [
        (true, true, "Yes.", 1),
        (false, true, "Yes.", 0),
        (true, false, "Yes.", 0),
        (true, true, long_answer.as_str(), 0),
    ] {
        let (_, receipt) = send(&compressor(on), &body(&said, answer, with_tool));
        assert_eq!(receipt.edits.segments.len(), changed, "{on} {with_tool} {}", answer.len());
    }
}
