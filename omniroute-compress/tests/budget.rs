//! A hard limit on the size of a request: what is cut, what never is, and that the next turns keep the form.
#![expect(clippy::unwrap_used, reason = "helpers of tests stop like tests")]

mod common;

use common::bodies::{paired, raw_messages, structure};
use omniroute_compress::{CallOptions, Compress, Rewrite};
use omniroute_core::{ChatRequest, Moment, SessionId, wire};
use serde_json::{Value, json};

fn prose(seed: usize, lines: usize) -> String {
    (0..lines)
        .map(|n| {
            format!("Some words about matter {seed}.{n} that an agent has read and may not need again.\n")
        })
        .collect()
}

/// A conversation of `count` long answers; the fourth tells of an error, one is the only read of a file.
fn body(count: usize) -> Value {
    let mut list = vec![
        json!({"role": "system", "content": "Never touch module K9."}),
        json!({"role": "user", "content": "Port the service; do not change its name."}),
    ];
    for n in 0..count {
        let (name, arguments) =
            if n == 2 { ("read", json!({"path": "src/a.rs"})) } else { ("lookup", json!({"n": n})) };
        let function = json!({"name": name, "arguments": arguments.to_string()});
        list.push(json!({"role": "assistant", "tool_calls": [{"id": format!("c{n}"), "type": "function", "function": function}]}));
        let fact = format!("\nerror: port {n} is taken, see src/net/port{n}.rs\n\n");
        list.push(json!({"role": "tool", "tool_call_id": format!("c{n}"), "content": prose(n, 40) + &fact + &prose(n + 1000, 40)}));
    }
    json!({"model": "gpt-4o", "messages": list})
}

fn send(
    compressor: &Compress,
    body: &Value,
    options: CallOptions,
) -> (Vec<u8>, omniroute_core::CompressReceipt) {
    let request = ChatRequest::parse(wire::OPENAI_CHAT, serde_json::to_vec(body).unwrap()).unwrap();
    let mut request = request.with_session(SessionId::new("s"));
    let out = compressor.compress_with(&mut request, options, Moment::default());
    (out.body.to_vec(), out.receipt)
}

#[test]
fn a_request_that_fits_is_sent_as_ever() {
    let compressor = Compress::builder().build().unwrap();
    let plain = send(&compressor, &body(8), CallOptions::default());
    let limited = send(&compressor, &body(8), CallOptions::default().context_limit(plain.1.tokens_after));
    assert!(plain.0 == limited.0 && plain.1.steps.len() == limited.1.steps.len());
}

#[test]
fn task_constraints_pairs_facts_and_the_latest_stay() {
    let given = body(12);
    let compressor = Compress::builder().build().unwrap();
    let (plain, receipt) = send(&compressor, &given, CallOptions::default());
    let limit = receipt.tokens_after * 6 / 10;
    let (sent, receipt) = send(&compressor, &given, CallOptions::default().target_tokens(limit));
    assert!(receipt.tokens_after <= limit, "{} of {limit}", receipt.tokens_after);
    assert!(receipt.notes.is_empty(), "{:?}", receipt.notes);
    assert_eq!(structure(&sent), structure(&plain), "messages, roles and ids");
    assert_eq!(paired(&sent), paired(&plain));
    let (before, after) = (raw_messages(&plain), raw_messages(&sent));
    assert_eq!(after[..2], before[..2], "task and constraints");
    assert_eq!(after[7], before[7], "the latest state of a file");
    assert_eq!(after[before.len() - 4..], before[before.len() - 4..], "the last answers");
    let text = String::from_utf8(sent).unwrap();
    for n in 0..12 {
        assert!(text.contains(&format!("error: port {n} is taken, see src/net/port{n}.rs")), "fact {n}");
    }
    assert!(text.contains("[omitted: ") && text.contains("not recoverable]"));
    let step = receipt.steps.last().unwrap();
    assert!(step.engine == "budget" && step.segments_changed > 0);
    assert_eq!(step.request_tokens_out, receipt.tokens_after, "steps compose to the total");
    assert!(receipt.dropped.lines > 0);
}

#[test]
fn what_must_stay_is_kept_and_said() {
    let compressor = Compress::builder().build().unwrap();
    let (_, receipt) = send(&compressor, &body(6), CallOptions::default().target_tokens(10));
    assert!(receipt.tokens_after > 10);
    assert!(receipt.notes.iter().any(|note| note.code == "budget_unreachable"), "{:?}", receipt.notes);
}

/// After a cut the following turns are sent as the one before, until the limit is passed again; also where nothing but
/// the limit changes older turns.
#[test]
fn a_session_at_its_limit_is_not_cut_on_every_turn() {
    for (plan, rewrite) in [
        ("safe", Rewrite::ColdOnly),
        ("safe", Rewrite::Never),
        ("rtk", Rewrite::ColdOnly),
        ("rtk", Rewrite::Threshold { every_tokens: 10_000 }),
    ] {
        let compressor = Compress::builder().plan(plan).rewrite(rewrite).build().unwrap();
        let (_, plain) = send(&compressor, &body(20), CallOptions::default());
        let options = CallOptions::default().context_limit(plain.tokens_after - 200);
        let mut last: Vec<String> = Vec::new();
        let mut changes = 0;
        for count in 19..23 {
            let (sent, receipt) = send(&compressor, &body(count), options);
            let messages = raw_messages(&sent);
            changes += usize::from(messages.get(..last.len()) != Some(last.as_slice()));
            assert!(receipt.tokens_after <= plain.tokens_after - 200);
            last = messages;
        }
        assert_eq!(changes, 1, "{plan} {rewrite:?}");
    }
}
