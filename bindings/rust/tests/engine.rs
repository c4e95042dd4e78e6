//! The compressor as the bindings use it.
#![expect(clippy::unwrap_used, reason = "helpers of tests stop like tests")]

use omniroute::{Compressor, Config, Options, TextOptions};
use omniroute_core::{Doc, Kind, NodeId};

fn safe() -> Compressor {
    Compressor::new(Config::default()).unwrap()
}

/// An agent that reads the same file twice.
fn twice() -> String {
    let file: String = (1..=80).map(|n| format!("let total_{n} = price_{n} * quantity_{n};\n")).collect();
    let read = |id: &str| {
        let arguments = serde_json::json!({"path": "a.rs"}).to_string();
        [
            serde_json::json!({"role": "assistant", "tool_calls": [{"id": id, "type": "function",
                "function": {"name": "read", "arguments": arguments}}]}),
            serde_json::json!({"role": "tool", "tool_call_id": id, "content": file}),
        ]
    };
    let messages: Vec<_> = read("a").into_iter().chain(read("b")).collect();
    serde_json::json!({"model": "gpt-5", "messages": messages}).to_string()
}

#[test]
fn edits_carried_into_the_body_give_the_compressed_body() {
    let (body, options) = (twice(), Options::default());
    let whole = safe().compress_body(body.clone(), &options).unwrap();
    let edited = safe().compress_edits(body.clone(), &options).unwrap();
    assert!(whole.receipt.applied);
    assert_eq!(whole.receipt, edited.receipt);
    assert_eq!(edited.edits.len(), 1);
    let mut value: serde_json::Value = serde_json::from_str(&body).unwrap();
    for edit in &edited.edits {
        let mut at = &mut value;
        for step in &edit.path {
            at = match step {
                omniroute::Step::Key(key) => &mut at[key.as_str()],
                omniroute::Step::Index(index) => &mut at[*index],
            };
        }
        *at = edit.text.clone().into();
    }
    let sent: serde_json::Value = serde_json::from_slice(&whole.body).unwrap();
    assert_eq!(value, sent);
}

#[test]
fn what_cannot_be_read_comes_back_or_is_an_error_in_strict_mode() {
    let strict = Compressor::new(Config::default().with_strict(true)).unwrap();
    for (body, skip, code) in [
        ("{", "unparseable", "bad_body"),
        ("{\"a\":1}", "unknown_wire", "unknown_wire"),
        ("{\"messages\":3}", "unparseable", "bad_body"),
    ] {
        let out = safe().compress_body(body, &Options::default()).unwrap();
        assert_eq!((out.body.as_ref(), out.receipt.skipped.unwrap().code), (body.as_bytes(), skip));
        assert_eq!(strict.compress_body(body, &Options::default()).unwrap_err().code(), code, "{body}");
    }
}

#[test]
fn names_of_a_call_are_checked() {
    let call = |options: &Options<'_>| safe().compress_body(twice(), options).unwrap_err();
    let error = call(&Options { wire: Some("openai-chatt"), ..Options::default() });
    assert_eq!(error.code(), "unknown_wire");
    assert_eq!(error.to_string(), "wire \"openai-chatt\" is not known; did you mean \"openai-chat\"?");
    let error = call(&Options { plan: Some("liite"), ..Options::default() });
    assert_eq!((error.code(), error.class()), ("unknown_plan", "RequestError"));
    let what = TextOptions { kind: Some("poem"), ..TextOptions::default() };
    assert_eq!(safe().compress_text("x", &what, &Options::default()).unwrap_err().code(), "bad_argument");
}

#[test]
fn a_plan_can_be_chosen_for_one_call_and_keeps_the_settings() {
    let config = "[compression]\nplan = \"off\"\n[compression.engines.session-dedup]\nmin_lines = 500\n";
    let compressor = Compressor::new(Config::from_toml(config).unwrap()).unwrap();
    let run = |plan| compressor.compress_body(twice(), &Options { plan, ..Options::default() }).unwrap();
    assert_eq!(run(None).receipt.skipped.unwrap().code, "off");
    assert!(run(Some("safe")).receipt.applied);
    assert!(!run(Some("session-dedup")).receipt.applied); // 80 lines are fewer than the setting asks for
    assert_eq!(compressor.stats().calls, 3);
    assert_eq!(compressor.stats().changed, 1);
}

#[test]
fn a_preview_leaves_nothing_behind() {
    let compressor = safe();
    let first = compressor.preview_body(twice(), &Options::default()).unwrap();
    let second = compressor.preview_body(twice(), &Options::default()).unwrap();
    assert_eq!(first.receipt, second.receipt);
    assert_eq!(second.receipt.memo.hits, 0);
    assert_eq!(compressor.stats(), omniroute::Stats::default());
}

#[test]
fn text_of_a_command() {
    let printed: String = (0..60).map(|n| format!("test store::case_{n} ... ok\n")).collect();
    let printed = format!(
        "running 60 tests\n{printed}\ntest result: ok. 60 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.1s\n"
    );
    let what = TextOptions { command: Some("cargo test"), exit_code: Some(0), ..TextOptions::default() };
    let out = safe().compress_text(&printed, &what, &Options::default()).unwrap();
    assert!(out.receipt.applied && out.text.contains("60 passed"), "{}", out.text);
    let line = omniroute::receipt_line(&out.receipt);
    assert!(line.starts_with("safe: about ") && line.ends_with(" % of the request saved)"), "{line}");
    assert!(omniroute::receipt_json(&out.receipt).contains("\"wire\":\"text\""));
}

/// Edits only ever name strings of the body.
#[test]
fn paths_of_edits_lead_to_strings() {
    let body = twice();
    let doc = Doc::parse(body.clone()).unwrap();
    for edit in safe().compress_edits(body, &Options::default()).unwrap().edits {
        let mut at: NodeId = doc.root();
        for step in &edit.path {
            at = match step {
                omniroute::Step::Key(key) => doc.get(at, key).unwrap(),
                omniroute::Step::Index(index) => doc.elements(at).nth(*index).unwrap(),
            };
        }
        assert_eq!(doc.kind(at), Kind::String);
    }
}

#[test]
fn one_compressor_serves_many_threads() {
    let compressor = safe();
    let expected = safe().compress_body(twice(), &Options::default()).unwrap().body;
    std::thread::scope(|scope| {
        for n in 0..16 {
            let (compressor, expected) = (&compressor, &expected);
            scope.spawn(move || {
                let session = format!("s{}", n % 4);
                let options = Options { session: Some(&session), ..Options::default() };
                assert_eq!(compressor.compress_body(twice(), &options).unwrap().body, *expected);
            });
        }
    });
    assert_eq!(compressor.stats().calls, 16);
}
