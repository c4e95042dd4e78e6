//! `free-tiers`, `models` and `providers`. Tables are compared with files; `BLESS=1` writes them anew.
#![expect(clippy::unwrap_used, reason = "helpers of tests stop like tests")]

mod common;

use common::{Run, run, snapshot};
use serde_json::Value;

/// Runs a command that must succeed.
fn ok(args: &[&str]) -> Run {
    let ran = run(args, b"");
    assert_eq!(ran.code, Some(0), "{args:?}: {}", ran.err);
    ran
}

fn json(args: &[&str]) -> Value {
    let ran = ok(args);
    assert_eq!(ran.err, "", "one document and nothing else");
    assert!(ran.out.ends_with(b"}\n") && ran.out_text().lines().count() == 1);
    serde_json::from_slice(&ran.out).unwrap()
}

#[test]
fn help() {
    for (name, command) in [
        ("free-tiers-help.txt", "free-tiers"),
        ("models-help.txt", "models"),
        ("providers-help.txt", "providers"),
    ] {
        let ran = ok(&[command, "--help"]);
        assert_eq!(ran.out_text().matches("\n  omniroute ").count(), 2, "two examples\n{}", ran.out_text());
        snapshot(name, ran.out_text());
    }
}

#[test]
fn free_tiers_tables() {
    let today = ["--today", "2026-09-20"];
    for (name, options) in [
        ("free-tiers.txt", vec![]),
        ("free-tiers.forecast.txt", vec!["--forecast"]),
        ("free-tiers.careful.txt", vec!["--exclude-avoid", "--without-largest", "--forecast=90"]),
        ("free-tiers.2026-08-20.txt", vec!["--snapshot", "2026-08-20"]),
    ] {
        let args = [&["free-tiers"], &today[..], &options].concat();
        let ran = ok(&args);
        assert_eq!(ran.err, "");
        assert!(!ran.out.contains(&0x1b), "no colour in a pipe");
        snapshot(name, ran.out_text());
    }
}

#[test]
fn free_tiers_figures() {
    let figure = |options: &[&str]| {
        let args = [&["free-tiers", "--json", "--today", "2026-09-27"], options].concat();
        let json = json(&args);
        assert_eq!((&json["as_of"], json["stale"].as_bool()), (&"2026-09-12".into(), Some(true)));
        assert_eq!(json["headline"]["steady"], 1_473_225_000, "means the same whatever is left out");
        json["monthly"].as_u64().unwrap()
    };
    for (options, tokens) in [
        (&[][..], 1_473_225_000),
        (&["--without-largest"], 473_225_000),
        (&["--exclude-avoid"], 1_473_200_000),
        (&["--exclude-avoid", "--without-largest"], 473_200_000),
    ] {
        assert_eq!(figure(options), tokens, "{options:?}");
    }
    let old =
        json(&["free-tiers", "--json", "--snapshot", "2026-08-20", "--today", "2026-08-21", "--forecast"]);
    assert_eq!(
        (&old["monthly"], &old["age_days"], &old["stale"]),
        (&1_508_225_000.into(), &1.into(), &false.into())
    );
    assert_eq!(old["forecast"]["horizon_days"], 30);
    // Without a day to count to, the clock is asked: the facts cannot be from a day to come.
    assert!(json(&["free-tiers", "--json"])["age_days"].is_u64());
}

#[test]
fn lists() {
    for (name, args) in [
        ("models.txt", vec!["models", "sonnet-4-5", "--provider", "anthropic"]),
        ("models.filtered.txt", vec!["models", "--provider", "groq", "--can", "tools,reasoning", "--priced"]),
        ("providers.txt", vec!["providers", "mistral"]),
        ("providers.filtered.txt", vec!["providers", "--wire", "anthropic-messages", "--built", "--free"]),
    ] {
        let ran = ok(&args);
        assert_eq!(ran.err.lines().count(), 1, "{}", ran.err);
        snapshot(name, &format!("{}{}", ran.out_text(), ran.err));
        let quiet = ok(&[&args[..], &["--quiet"]].concat());
        assert_eq!((quiet.out, quiet.err.as_str()), (ran.out, ""));
    }
}

#[test]
fn lists_as_json_hold_the_same_rows() {
    for (command, key) in [("models", "models"), ("providers", "providers")] {
        let document = json(&[command, "--free", "--json"]);
        let rows = document[key].as_array().unwrap();
        assert_eq!(document["count"], rows.len());
        let table = ok(&[command, "--free"]);
        assert_eq!(table.out_text().lines().count(), rows.len() + 1, "a heading and the rows");
        assert!(table.err.starts_with(&format!("{} of ", rows.len())), "{}", table.err);
    }
    let cheap = json(&["models", "--max-price", "0.10", "--json"]);
    let cheap = cheap["models"].as_array().unwrap();
    assert!(!cheap.is_empty() && cheap.iter().all(|m| m["input"].as_str().unwrap().starts_with("0.")));
    let none = ok(&["models", "no-such-model-anywhere"]);
    assert!(none.out_text().lines().count() == 1 && none.err.starts_with("0 of "), "{}", none.err);
}

#[test]
fn what_is_not_there_is_told() {
    for (args, code, words) in [
        (&["models", "--provider", "nobody"][..], 3, "there is no provider \"nobody\""),
        (&["free-tiers", "--snapshot", "2026-08-21"], 3, "there are 2026-08-20, 2026-09-12"),
        (&["free-tiers", "--snapshot", "yesterday"], 2, "is not a day"),
        (&["free-tiers", "--forecast=0"], 2, "0 is not in 1..=3650"),
        (&["models", "--can", "fly"], 2, "[possible values: tools,"),
        (&["models", "--max-price", "cheap"], 2, "a price is a number"),
        (&["providers", "--terms", "maybe"], 2, "[possible values: ok, caution, avoid]"),
    ] {
        let ran = run(args, b"");
        assert_eq!(ran.code, Some(code), "{args:?}: {}", ran.err);
        assert!(ran.out.is_empty() && ran.err.contains(words), "{args:?}: {}", ran.err);
    }
}
