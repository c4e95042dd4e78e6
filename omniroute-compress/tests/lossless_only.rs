//! With `lossless_only` what was taken out can be computed back from what was sent: the very same bytes.
#![expect(clippy::unwrap_used, reason = "helpers of tests stop like tests")]

mod common;

use omniroute_compress::{CallOptions, Compress, Rewrite, expand};
use omniroute_core::{ChatRequest, Moment, wire, wire::Wire};
use serde_json::json;

/// Sends a body with `lossless_only` and takes it back; says whether anything was changed.
fn round_trip(wire: Wire, bytes: &[u8], options: CallOptions) -> Result<bool, String> {
    sent_and_back(Rewrite::ColdOnly, "safe", wire, bytes, options)
}

fn sent_and_back(
    rewrite: Rewrite,
    plan: &str,
    wire: Wire,
    bytes: &[u8],
    options: CallOptions,
) -> Result<bool, String> {
    let compressor = Compress::builder().plan(plan).rewrite(rewrite).lossless_only(true).build().unwrap();
    let mut request = ChatRequest::parse(wire, bytes.to_vec()).unwrap();
    let sent = compressor.compress_with(&mut request, options, Moment::default());
    let back = expand(&request, &sent.receipt.edits).map_err(|e| e.to_string())?;
    match back.body == bytes && back.not_restored.is_empty() {
        true => Ok(sent.receipt.applied),
        false => Err(format!(
            "{} of {} bytes, not restored: {:?}",
            back.body.len(),
            bytes.len(),
            back.not_restored
        )),
    }
}

/// Those that lose something, too: the switch keeps them from acting.
fn every_engine() -> &'static str {
    "repeat,ionizer,lite,rtk,codex-responses,rows,session-dedup,read-lifecycle,ccr"
}

#[test]
fn every_recorded_session_comes_back_byte_for_byte() {
    let mut changed = 0;
    for session in common::all() {
        for cut in session.cuts(5) {
            let bytes = session.first(cut);
            let plain = CallOptions::default();
            for (rewrite, plan, options) in [
                (Rewrite::ColdOnly, "safe", plain),
                (Rewrite::ColdOnly, "safe", plain.cold(true).target_tokens(1_000)),
                (Rewrite::Threshold { every_tokens: 10_000 }, "safe", plain),
                (Rewrite::Always, every_engine(), plain),
            ] {
                let done = sent_and_back(rewrite, plan, session.wire, &bytes, options);
                let what = || format!("{} {cut} {plan} {rewrite:?}", session.name);
                changed += usize::from(done.unwrap_or_else(|e| panic!("{}: {e}", what())));
            }
        }
    }
    assert!(changed > 20, "{changed}");
}

/// Escapes that nobody writes by default and lists with a layout of their own are left alone.
#[test]
fn spellings_that_could_not_be_restored_stay() {
    let text = "let total = price; // caf\u{e9}\n".repeat(40);
    let list = format!(
        "[{}]",
        (0..40).map(|n| format!("{{\"id\" :{n},\"name\":  \"volume\"}}")).collect::<Vec<_>>().join(" ,")
    );
    for (text, expected) in [(text.clone(), true), (list, false)] {
        let call = |n: u8| json!({"role": "assistant", "tool_calls": [{"id": format!("c{n}"), "function": {"name": "lookup", "arguments": format!("{{\"n\":{n}}}")}}]});
        let result = |n: u8| json!({"role": "tool", "tool_call_id": format!("c{n}"), "content": text});
        let messages =
            if expected { vec![call(1), result(1), call(2), result(2)] } else { vec![call(1), result(1)] };
        let bytes = serde_json::to_string(&json!({"messages": messages})).unwrap();
        assert_eq!(round_trip(wire::OPENAI_CHAT, bytes.as_bytes(), CallOptions::default()), Ok(expected));
        // The same text with escapes that are not needed.
        let escaped = bytes.replace('\u{e9}', "\\u00e9").replace('/', "\\/");
        assert_eq!(round_trip(wire::OPENAI_CHAT, escaped.as_bytes(), CallOptions::default()), Ok(false));
    }
    // The twin: without the switch such a text is changed and does not come back.
    let bytes = format!(
        r#"{{"messages":[{{"role":"assistant","tool_calls":[{{"id":"c","function":{{"name":"bash","arguments":"{{\"command\":\"make\"}}"}}}}]}},{{"role":"tool","tool_call_id":"c","content":"{}"}}]}}"#,
        r"[31mred[0m\n".repeat(90).replace('[', r"\u001b[")
    );
    let mut request = ChatRequest::parse(wire::OPENAI_CHAT, bytes.clone()).unwrap();
    let sent = Compress::builder().build().unwrap().compress(&mut request, None, Moment::default());
    assert!(sent.receipt.applied);
    assert_ne!(expand(&request, &sent.receipt.edits).unwrap().body, bytes);
}
