//! Nothing we print holds text of a body; every mistake in a configuration is named at once.
#![expect(clippy::unwrap_used, reason = "helpers of tests stop like tests")]

mod common;

use common::engines::{Own, compressor, run};
use omniroute_compress::{Compress, CompressError, MemoLimits, Plan, Step, expand};
use omniroute_core::{ChatRequest, Compressor, Loss, Moment, Transcript, wire};
use serde_json::json;

const SECRET: &str = "hunter2-4711";

/// Every place that may hold the secret, in results of several tools, one of them twice.
fn body() -> Vec<u8> {
    let lines: String = (0..40).map(|n| format!("line {n} of the log has {SECRET} in it\n")).collect();
    let rows: Vec<_> = (0..30).map(|n| json!({"id": n, "token": SECRET, "state": "ready"})).collect();
    let coloured = format!("\u{1b}[31m{lines}\u{1b}[0m\n\n\n\n");
    let mut messages = vec![json!({"role": "user", "content": "look"})];
    let texts =
        [lines.clone(), json!(rows).to_string(), coloured, lines.clone(), format!("{lines}and more\n")];
    for (n, text) in texts.iter().enumerate() {
        let arguments = json!({"command": format!("cargo test {SECRET} {n}")}).to_string();
        let call = json!({"id": format!("c{n}"), "type": "function", "function": {"name": "bash", "arguments": arguments}});
        messages.push(json!({"role": "assistant", "content": null, "tool_calls": [call]}));
        messages.push(json!({"role": "tool", "tool_call_id": format!("c{n}"), "content": text}));
    }
    serde_json::to_vec(&json!({"model": "gpt-4o", "messages": messages})).unwrap()
}

/// The printed forms that hold the secret.
fn leaks(printed: &[(&'static str, String)]) -> Vec<&'static str> {
    printed.iter().filter(|(_, text)| text.contains("hunter2")).map(|(name, _)| *name).collect()
}

#[test]
fn receipts_and_debug_forms_hold_no_text() {
    for plan in ["safe", "repeat,rows,session-dedup", "lite"] {
        let compressor = compressor(plan, MemoLimits::default());
        let request = ChatRequest::parse(wire::OPENAI_CHAT, body()).unwrap();
        let transcript = Transcript::of(&request).unwrap();
        let out = run(&compressor, wire::OPENAI_CHAT, body());
        assert!(out.receipt.applied, "{plan}");
        let sent = ChatRequest::parse(wire::OPENAI_CHAT, out.body.clone()).unwrap();
        let mut printed = vec![
            ("receipt", format!("{:?}", out.receipt)),
            ("receipt as JSON", serde_json::to_string(&out.receipt).unwrap()),
            ("result", format!("{out:?}")),
            ("expanded", format!("{:?}", expand(&sent, &out.receipt.edits).unwrap())),
            ("request", format!("{request:?}")),
            ("transcript", format!("{transcript:?}")),
            ("segments", format!("{:?}", transcript.segments())),
            ("compressor", format!("{compressor:?}")),
        ];
        assert_eq!(leaks(&printed), Vec::<&str>::new(), "{plan}");
        // The twin: a receipt that quotes.
        printed.push(("twin", String::from_utf8_lossy(&out.body).into_owned()));
        assert_eq!(leaks(&printed), ["twin"]);
    }
}

#[test]
fn an_engine_that_quotes_in_its_error_is_not_quoted() {
    let own = Own::new(omniroute_core::EngineInfo::new("own", Loss::Lossless), |view, _| {
        Err(omniroute_core::EngineError::new("quotes", view.text().to_owned()))
    });
    let out = run(&common::engines::only(own, MemoLimits::none()), wire::OPENAI_CHAT, body());
    assert!(out.receipt.notes.iter().any(|n| n.code == "engine_error"));
    assert!(!serde_json::to_string(&out.receipt).unwrap().contains("hunter2"));
}

#[test]
fn bodies_that_cannot_be_read_are_not_quoted_either() {
    let bodies = [
        format!("{{\"messages\":[{{\"role\":\"user\",\"content\":\"{SECRET}\"}} {SECRET}]}}"),
        SECRET.to_owned(),
        format!("{{\"messages\":[{{\"role\":[\"{SECRET}\"],\"content\":\"{SECRET}\"}}]}}"),
        format!(
            "{{\"messages\":[{{\"role\":\"user\",\"content\":{{\"a\":\"{SECRET}\"}},\"content\":\"{SECRET}\"}}]}}"
        ),
        format!("{{\"messages\":\"{SECRET}\",\"messages\":[]}}"),
        format!("{{\"text\":\"{SECRET}\"}}"),
        format!("{{\"messages\":[\"{SECRET}\"]}}"),
        format!("{{\"messages\":[{{\"role\":\"user\",\"content\":\"{SECRET}\\ud800\"}}]}}"),
    ];
    let (lenient, strict) = (Compress::builder(), Compress::builder().strict(true));
    let (lenient, strict) = (lenient.build().unwrap(), strict.build().unwrap());
    for body in bodies {
        for named in [None, Some(wire::ANTHROPIC), Some(wire::OPENAI_CHAT)] {
            let out = lenient.compress_body(named, body.clone(), Moment::default()).unwrap();
            assert_eq!(out.body, body);
            let json = serde_json::to_string(&out.receipt).unwrap();
            assert!(!json.contains("hunter2"), "{json}");
            if let Err(error) = strict.compress_body(named, body.clone(), Moment::default()) {
                let printed = format!("{error} {error:?}");
                assert!(!printed.contains("hunter2"), "{printed}");
                assert!(["bad_body", "unknown_wire"].contains(&error.code()));
            }
        }
    }
}

#[test]
fn every_mistake_is_named_at_once() {
    let steps = [
        Step::new("rwos"),
        Step::new("rows").with("min_row", 9).with("min_rows", 0).with("verify", 3),
        Step::new("headroom"),
        Step::new("session-dedup").with("min_lines", true),
        Step::new("lite:max"),
    ];
    let error = Compress::builder().steps(steps).build().unwrap_err();
    assert_eq!(error.code(), "config");
    let text = error.to_string();
    for part in [
        "engine \"rwos\" is not known; did you mean \"rows\"?",
        "key \"min_row\" is not known; did you mean \"min_rows\"?",
        "key \"min_rows\": 0 is not a whole number from",
        "key \"verify\": 3 is not true or false",
        "engine \"rows\" is named twice",
        "key \"min_lines\": true is not a whole number from",
        "level \"max\" is not known",
    ] {
        assert!(text.contains(part), "{part} is missing in: {text}");
    }
    let CompressError::Config(errors) = error else { panic!("{error}") };
    assert_eq!(errors.iter().count(), 7, "{errors}");
}

/// The ways plans are named.
#[test]
fn unknown_names_are_errors_that_name_them() {
    for (plan, part) in [
        ("sfae", "\"sfae\" is not known; did you mean \"safe\"?"),
        ("repeat,rtkk", "engine \"rtkk\" is not known"),
        ("repeat,", "an engine name is empty"),
        ("dedup,session-dedup", "named twice"),
    ] {
        let error = Compress::builder().plan(plan).build().unwrap_err().to_string();
        assert!(error.contains(part), "{plan}: {error}");
        assert!(Plan::parse(plan).is_err());
    }
    // For one call: the compressor's own plan, and a note that says so.
    let compressor = compressor("safe", MemoLimits::none());
    let mut request = ChatRequest::parse(wire::OPENAI_CHAT, body()).unwrap();
    let receipt = Compressor::compress(&compressor, &mut request, Some("sfae"), Moment::default());
    assert_eq!(receipt.plan, "safe");
    let note = receipt.notes.iter().find(|n| n.code == "ignored_unknown").unwrap();
    assert!(note.action.contains("did you mean \"safe\"?") && receipt.applied);
}

#[test]
fn every_setting_is_checked_and_part_of_the_fingerprint() {
    for entry in omniroute_compress::ENGINES {
        for field in entry.fields {
            let wrong = Step::new(entry.info.id).with(field.key, field.min.saturating_sub(1));
            let error = Compress::builder().steps([wrong]).build().unwrap_err().to_string();
            let rule = match &field.default {
                omniroute_compress::Value::Bool(_) => "true or false".to_owned(),
                omniroute_compress::Value::Word(_) => format!("one of {}", field.choices.join(", ")),
                _ => format!("a whole number from {} to {}", field.min, field.max),
            };
            let (id, key, value) = (entry.info.id, field.key, field.min.saturating_sub(1));
            assert_eq!(
                error,
                format!("configuration: engine \"{id}\": key \"{key}\": {value} is not {rule}")
            );
            let unknown = Step::new(id).with(format!("{key}_of_none"), value);
            let error = Compress::builder().steps([unknown]).build().unwrap_err().to_string();
            assert!(
                error.starts_with(&format!(
                    "configuration: engine \"{id}\": key \"{key}_of_none\" is not known"
                )),
                "{error}"
            );
            let other = match &field.default {
                omniroute_compress::Value::Bool(on) => Step::new(entry.info.id).with(field.key, !on),
                omniroute_compress::Value::Word(word) => {
                    let other = field.choices.iter().find(|c| *c != word).unwrap();
                    Step::new(entry.info.id).with(field.key, *other)
                }
                _ => Step::new(entry.info.id).with(field.key, field.min + 1),
            };
            let print = |steps: Step| {
                let compressor = Compress::builder().steps([steps]).memo(MemoLimits::none()).build().unwrap();
                run(&compressor, wire::OPENAI_CHAT, body()).receipt.fingerprint
            };
            assert_ne!(print(other), print(Step::new(entry.info.id)), "{} {}", entry.info.id, field.key);
        }
    }
}
