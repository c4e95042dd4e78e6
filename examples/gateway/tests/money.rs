//! `compress --cost` and `gain --model`: what the input costs.

mod common;

use common::{run, session, snapshot};

/// What the input costs is one more line, and what cannot be said is said before anything is written.
#[test]
fn cost_of_the_input() {
    let mut shown = String::new();
    for (name, model) in [
        ("shopapi.openai.json", "claude-sonnet-4-5"),
        ("shardkv.anthropic.json", "anthropic/claude-opus-4-5"),
        ("ledger.openai.json", "gpt-4o"),
    ] {
        let file = session(name);
        let ran = run(&["compress", "--quiet", "--cost", "--model", model, file.to_str().unwrap()], b"");
        assert!(ran.code == Some(0) && ran.err.lines().count() == 1, "{}", ran.err);
        shown.push_str(&format!("{name}: {}", ran.err));
    }
    snapshot("compress-cost.txt", &shown);
    for (args, says) in [
        (vec!["--cost"], "--cost needs a model: a text names none, so name one with --model"),
        (vec!["--cost", "--model", "no-such-model"], "no prices of \"no-such-model\" are known"),
        (vec!["--cost", "--json", "--model", "gpt-4o"], "cannot be used with"),
    ] {
        let mut all = vec!["compress", "--as", "text"];
        all.extend(args);
        let ran = run(&all, &b"a line of a log\n".repeat(90));
        assert_eq!((ran.code, ran.out_text()), (Some(2), ""), "{all:?}");
        assert!(ran.err.contains(says), "{}", ran.err);
    }
    let unnamed = run(&["compress", "--cost"], br#"{"messages":[{"role":"user","content":"hi"}]}"#);
    assert!(unnamed.code == Some(2) && unnamed.err.contains("the request names none"), "{}", unnamed.err);
}

/// Two conversations at list prices, the second with a long rest.
#[test]
fn money() {
    let row = |before: u64, after: u64, at: u64| {
        format!("{{\"tokens_before\":{before},\"tokens_after\":{after},\"at_ms\":{at}}}\n")
    };
    let receipts: String = [
        row(20_000, 15_000, 1_000),
        row(30_000, 21_000, 61_000),
        row(4_000, 4_000, 70_000),
        row(40_000, 28_000, 80_000),
        row(41_000, 28_500, 900_000),
    ]
    .concat();
    let mut shown = String::new();
    for model in ["claude-sonnet-4-5", "openai/gpt-4o"] {
        let ran = run(&["gain", "--file", "-", "--model", model], receipts.as_bytes());
        assert_eq!((ran.code, ran.err.as_str()), (Some(0), ""), "{model}");
        shown.push_str(&format!("> gain --model {model}\n{}\n", ran.out_text()));
    }
    snapshot("gain-model.txt", &shown);
    for args in [vec!["--model", "no-such-model"], vec!["--model", "gpt-4o", "--json"]] {
        let mut all = vec!["gain", "--file", "-"];
        all.extend(args);
        let ran = run(&all, receipts.as_bytes());
        assert_eq!((ran.code, ran.out_text()), (Some(2), ""), "{}", ran.err);
    }
}
