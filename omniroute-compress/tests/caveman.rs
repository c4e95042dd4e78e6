//! Prose of the user in a request: condensed when it is first seen, on every wire, and nothing else.
#![expect(clippy::unwrap_used, reason = "helpers of tests stop like tests")]

mod common;

use common::engines::{Own, run};
use omniroute_compress::{Compress, ENGINES, Step, Value as Setting};
use omniroute_core::{CompressReceipt, Loss, Moment, SegmentKind, wire};
use serde_json::{Value, json};

/// A request of over 400 characters with something for every class of rules.
const ASKED: &str = "Hi there,\n\nCould you please check the importer? It is basically a worker that reads the queue, but due to the fact that the queue is shared it has extremely slow workers. Here is some context. I started it with `drain --all` and 3 workers, and it did not stop if the disk was full. Furthermore, there is a worker that leaks memory. There is a worker that leaks memory. Look at old tables and their columns with care and patience. Look at old tables and their columns with care and patience. Never delete src/main.rs:10, even if the test asks for it. Thank you!";

fn body(asked: &str) -> Value {
    json!({"model": "claude-sonnet-4-5", "system": ASKED, "tools": [{"name": "bash", "description": ASKED, "input_schema": {}}],
        "messages": [
        {"role": "user", "content": [{"type": "text", "text": asked}]},
        {"role": "assistant", "content": [{"type": "text", "text": ASKED}, {"type": "tool_use", "id": "t", "name": "bash", "input": {"command": ASKED}}]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t", "content": ASKED}, {"type": "text", "text": "Please go on, thanks."}]},
    ]})
}

fn send(compressor: &Compress, body: &Value) -> (Value, CompressReceipt) {
    let out = compressor
        .compress_body(Some(wire::ANTHROPIC), serde_json::to_vec(body).unwrap(), Moment::default())
        .unwrap();
    (serde_json::from_slice(&out.body).unwrap(), out.receipt)
}

fn plan(name: &str) -> Compress {
    Compress::builder().plan(name).build().unwrap()
}

#[test]
fn only_the_users_long_text_changes_and_the_receipt_names_the_rules() {
    for name in ["standard", "stacked", "caveman:full", "caveman:lite", "caveman:ultra"] {
        let before = body(ASKED);
        let (mut after, receipt) = send(&plan(name), &before);
        let text = after["messages"][0]["content"][0]["text"].as_str().unwrap().to_owned();
        assert!(text.len() < ASKED.len() && !text.contains("Could you please"), "{name}: {text}");
        for kept in [
            "did not stop if the disk was full",
            "`drain --all` and 3 workers",
            "Never delete src/main.rs:10",
        ] {
            assert!(text.contains(kept), "{name}: {kept} in {text}");
        }
        after["messages"][0]["content"][0]["text"] = ASKED.into();
        if name != "stacked" {
            assert_eq!(after, before, "{name}");
        }
        let step = receipt.steps.iter().find(|s| s.engine == "caveman").unwrap();
        assert_eq!(step.segments_changed, 1);
        assert_eq!(step.techniques.get("could-you"), Some(&1));
        assert_eq!(step.techniques.get("due-to-the-fact-that"), Some(&1));
        assert!(step.skips.contains_key("below_min_chars") || step.skips.contains_key("below_min_bytes"));
        let kind = receipt.by_kind[&SegmentKind::User];
        assert!(kind.tokens_after < kind.tokens_before);
    }
}

#[test]
fn nothing_of_it_runs_by_default_and_where_only_lossless_steps_may() {
    for compressor in [
        Compress::builder().build().unwrap(),
        plan("lite"),
        plan("rtk"),
        Compress::builder().plan("standard").lossless_only(true).build().unwrap(),
    ] {
        let (after, _) = send(&compressor, &body(ASKED));
        assert_eq!(after["messages"][0], body(ASKED)["messages"][0]);
    }
}

#[test]
fn every_wire_has_users() {
    for (wire, body) in [
        (
            wire::OPENAI_CHAT,
            json!({"messages": [{"role": "system", "content": ASKED}, {"role": "user", "content": ASKED}]}),
        ),
        (
            wire::OPENAI_RESPONSES,
            json!({"instructions": ASKED, "input": [{"role": "user", "content": [{"type": "input_text", "text": ASKED}]}]}),
        ),
        (wire::OPENAI_RESPONSES, json!({"instructions": ASKED, "input": ASKED})),
        (
            wire::GEMINI,
            json!({"systemInstruction": {"parts": [{"text": ASKED}]}, "contents": [{"role": "user", "parts": [{"text": ASKED}]}]}),
        ),
    ] {
        let out = run(&plan("standard"), wire, serde_json::to_vec(&body).unwrap());
        let text = String::from_utf8(out.body.to_vec()).unwrap();
        assert_eq!(
            text.matches("Could you please").count() + 1,
            body.to_string().matches("Could you please").count()
        );
    }
}

#[test]
fn what_was_sent_once_is_sent_the_same_way_again() {
    let compressor = plan("stacked");
    let mut whole = body(ASKED);
    let messages = whole["messages"].as_array().unwrap().clone();
    let mut first = None;
    for n in 1..=messages.len() {
        whole["messages"] = messages[..n].into();
        for sender in [&compressor, &plan("stacked")] {
            let (sent, _) = send(sender, &whole);
            let text = sent["messages"][0].clone();
            assert_eq!(first.get_or_insert(text.clone()), &text);
        }
    }
    // A text that is condensed already stays.
    let text = first.unwrap()["content"][0]["text"].as_str().unwrap().to_owned();
    let (again, _) = send(&compressor, &body(&text));
    assert_eq!(again["messages"][0]["content"][0]["text"], text.as_str());
}

#[test]
fn a_signed_message_stays_even_where_texts_of_the_model_are_opened() {
    let step = || Step::new("caveman").with("assistant_text", "first_sight");
    let compressor = Compress::builder().steps([step()]).build().unwrap();
    let mut signed = body(ASKED);
    signed["messages"][1]["content"]
        .as_array_mut()
        .unwrap()
        .insert(0, json!({"type": "thinking", "thinking": "a", "signature": "b"}));
    for body in [body(ASKED), signed.clone(), body(ASKED)] {
        let (after, _) = send(&compressor, &body);
        let is_signed = body == signed;
        assert_eq!(after["messages"][1] == body["messages"][1], is_signed, "the memo tells them apart");
        assert_ne!(after["messages"][0], body["messages"][0]);
    }
}

#[test]
fn every_setting_changes_what_is_sent() {
    let entry = ENGINES.iter().find(|e| e.info.id == "caveman").unwrap();
    let build = |step: Step| Compress::builder().steps([step]).build().unwrap();
    let base = || Step::new("caveman").with("level", "ultra");
    let plain = send(&build(base()), &body(ASKED)).0;
    for field in entry.fields {
        let step = match &field.default {
            Setting::Bool(on) => base().with(field.key, !on),
            Setting::Int(_) => base().with(field.key, 10_000),
            _ => match field.key {
                "level" => base().with("level", "lite"),
                "language" => base().with("language", "de"),
                "user_text" => base().with("user_text", "never"),
                "assistant_text" => base().with("assistant_text", "first_sight"),
                other => panic!("{other} has no test"),
            },
        };
        assert_ne!(send(&build(step), &body(ASKED)).0, plain, "{}", field.key);
    }
    let error = Compress::builder().steps([Step::new("caveman").with("level", "max")]).build().unwrap_err();
    assert!(
        error.to_string().contains("engine \"caveman\": key \"level\": max is not one of lite, full, ultra")
    );
}

/// Two steps on the same tokens leave (1-a)(1-b) of them. Steps on different texts do not: a receipt measures.
#[test]
fn savings_compose_only_where_steps_act_on_the_same_tokens() {
    let half = |id| {
        Own::says(id, Loss::Layout, |text: &str| {
            let lines: Vec<&str> = text.lines().collect();
            lines[..lines.len() / 2].join("\n")
        })
    };
    let printed = "only words in this line of text\n".repeat(64);
    let body = json!({"messages": [
        {"role": "assistant", "tool_calls": [{"id": "c", "function": {"name": "x", "arguments": "{}"}}]},
        {"role": "tool", "tool_call_id": "c", "content": printed}]});
    let body = serde_json::to_vec(&body).unwrap();
    let compressor = Compress::builder().engine(half("one")).engine(half("two")).plan("one,two");
    let compressor = compressor.tokenizer(std::sync::Arc::new(common::engines::Words)).build().unwrap();
    let receipt = run(&compressor, wire::OPENAI_CHAT, body).receipt;
    let share = |before: u64, after: u64| 1.0 - after as f64 / before as f64;
    let own: Vec<f64> = receipt.steps.iter().map(|s| share(s.tokens_in, s.tokens_out)).collect();
    let results = receipt.by_kind[&SegmentKind::ToolResult];
    let total = share(results.tokens_before, results.tokens_after);
    assert!((total - (1.0 - (1.0 - own[0]) * (1.0 - own[1]))).abs() < 1e-9, "{total} {own:?}");

    // Different texts: the rule over the steps' own tokens would promise far more than was saved.
    let (_, receipt) = send(&plan("stacked"), &self::body(ASKED));
    let own = |s: &omniroute_core::StepReceipt| share(s.tokens_in.max(1), s.tokens_out.max(1));
    let promised = 1.0 - receipt.steps.iter().map(|s| 1.0 - own(s)).product::<f64>();
    let measured = share(receipt.tokens_before, receipt.tokens_after);
    assert!(measured > 0.0 && promised > measured * 1.5, "{promised} {measured}");
    // Over the whole request the steps' shares do compose, by definition.
    let whole = |s: &omniroute_core::StepReceipt| 1.0 - share(s.request_tokens_in, s.request_tokens_out);
    let composed = 1.0 - receipt.steps.iter().map(whole).product::<f64>();
    assert!((composed - measured).abs() < 1e-9);
}
