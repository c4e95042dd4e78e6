//! `omniroute route`: the list of strategies, decisions told, and plays.
#![expect(clippy::unwrap_used, reason = "helpers of tests may panic")]

mod common;

use std::path::{Path, PathBuf};

use common::{Run, program, run, scratch, snapshot};
use serde_json::Value;

fn bundled(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("routes").join(name);
    path.to_str().unwrap().to_owned()
}

/// A file with this text.
fn file(name: &str, text: &str) -> PathBuf {
    let path = scratch().join(name);
    std::fs::write(&path, text).unwrap();
    path
}

/// Runs with the keys of the bundled configuration set to something.
fn with_keys(args: &[&str]) -> Run {
    let mut command = program();
    command.args(args).env("ANTHROPIC_API_KEY", "not-a-key").env("OPENAI_API_KEY", "not-a-key");
    let out = command.output().unwrap();
    Run { code: out.status.code(), out: out.stdout, err: String::from_utf8(out.stderr).unwrap() }
}

#[test]
fn help_and_strategies() {
    for (name, args) in [
        ("route-help.txt", vec!["route", "--help"]),
        ("route-explain-help.txt", vec!["route", "explain", "--help"]),
        ("route-simulate-help.txt", vec!["route", "simulate", "--help"]),
        ("route-strategies-help.txt", vec!["route", "strategies", "--help"]),
        ("route-strategies.txt", vec!["route", "strategies"]),
    ] {
        let ran = run(&args, b"");
        assert_eq!((ran.code, ran.err.as_str()), (Some(0), ""), "{args:?}");
        snapshot(name, ran.out_text());
    }
    let ran = run(&["route", "strategies", "--json"], b"");
    let list: Value = serde_json::from_slice(&ran.out).unwrap();
    assert_eq!(list["strategies"].as_array().unwrap().len(), 19);
}

#[test]
fn decisions_are_told_with_every_reason() {
    let config = bundled("omniroute.toml");
    let mut shown = String::new();
    for (keys, args) in [
        (false, vec!["daily"]),
        (true, vec!["daily"]),
        (true, vec!["daily", "--input-tokens", "40000"]),
        (true, vec!["picked"]),
        (true, vec!["fast"]),
    ] {
        let all = [&["route", "explain", "--config", &config], args.as_slice()].concat();
        let ran = if keys { with_keys(&all) } else { run(&all, b"") };
        assert_eq!(ran.code, Some(0), "{}", ran.err);
        let keys = if keys { "keys set, " } else { "" };
        shown.push_str(&format!("> {keys}explain {}\n{}{}\n", args.join(" "), ran.out_text(), ran.err));
    }
    snapshot("route-explain.txt", &shown);
}

/// Nobody is left: the reasons are still told one by one.
#[test]
fn nobody_left_is_told_with_every_reason() {
    let config = file(
        "disabled.toml",
        "connections = [{ id = \"openai/work\", disabled = true }, { id = \"openai/home\", key = { env = \"K\" } }]",
    );
    let args = ["route", "explain", "openai/gpt-5", "--config", config.to_str().unwrap()];
    let ran = run(&args, b"");
    assert_eq!(ran.code, Some(1));
    assert_eq!(
        ran.out_text(),
        "-  openai/work/gpt-5    dropped  disabled\n-  openai/home/gpt-5    dropped  no_credential\n"
    );
    assert!(ran.err.contains("unauthorized: openai/gpt-5 has no usable credential"), "{}", ran.err);
    let ran = run(&[&args[..], &["--json"]].concat(), b"");
    let told: Value = serde_json::from_slice(&ran.out).unwrap();
    let reasons: Vec<&str> =
        told["dropped"].as_array().unwrap().iter().map(|one| one["reason"].as_str().unwrap()).collect();
    assert_eq!(
        (told["error"].as_str(), reasons.as_slice()),
        (Some("unauthorized"), &["disabled", "no_credential"][..])
    );
}

/// Any wire, any model in it; and nothing of its text comes out.
#[test]
fn a_request_of_a_file_is_decided_about_and_not_shown() {
    let config = bundled("omniroute.toml");
    for body in [
        r#"{"model": "other", "messages": [{"role": "user", "content": "xyzzy-prompt"}]}"#,
        r#"{"messages": [{"role": "user", "content": "xyzzy-prompt"}]}"#,
        r#"{"contents": [{"role": "user", "parts": [{"text": "xyzzy-prompt"}]}]}"#,
        r#"{"model": "x", "system": "xyzzy-prompt", "max_tokens": 9, "messages": [{"role": "user", "content": "hi"}]}"#,
    ] {
        let request = file("request.json", body);
        let request = request.to_str().unwrap();
        for form in ["--top=3", "--json"] {
            let ran =
                with_keys(&["route", "explain", "daily", "--config", &config, "--request", request, form]);
            assert_eq!(ran.code, Some(0), "{body}\n{}", ran.err);
            assert!(
                ran.out_text().contains("anthropic/team/claude-sonnet-4-5"),
                "{body}\n{}",
                ran.out_text()
            );
            assert!(
                body.contains("xyzzy") && !ran.out_text().contains("xyzzy") && !ran.err.contains("xyzzy")
            );
        }
    }
}

#[test]
fn plays() {
    let (config, script) = (bundled("omniroute.toml"), bundled("outage.toml"));
    let mut shown = String::new();
    for args in [vec!["daily"], vec!["picked"], vec!["fast"]] {
        let all =
            [&["route", "simulate", "--config", &config, "--script", &script], args.as_slice()].concat();
        let ran = run(&all, b"");
        assert_eq!((ran.code, ran.err.as_str()), (Some(0), ""), "{args:?}");
        assert_eq!(ran.out, run(&all, b"").out, "a second run is the same");
        shown.push_str(&format!("> simulate {}\n{}\n", args.join(" "), ran.out_text()));
    }
    snapshot("route-simulate.txt", &shown);
    let all = ["route", "simulate", "daily", "--config", &config, "--script", &script];
    let lines = run(&[&all[..], &["--all"]].concat(), b"");
    assert_eq!(lines.out_text().lines().count(), 40 + 4);
    let ran = run(&[&all[..], &["--json"]].concat(), b"");
    let told: Value = serde_json::from_slice(&ran.out).unwrap();
    let turns = told["turns"].as_array().unwrap();
    let count = |by: &str| turns.iter().filter(|turn| turn["answered"] == by).count() as u64;
    let sums = told["answered"].as_object().unwrap();
    assert!(turns.len() == 40 && sums.len() == 3, "{sums:?}");
    for (by, sum) in sums {
        assert_eq!(sum.as_u64(), Some(count(by)), "{by}");
    }
    // The same table for another script, so that it is the script that decides.
    let calm = file("calm.toml", "requests = 40\nevery = \"10s\"\n");
    let ran =
        run(&["route", "simulate", "daily", "--config", &config, "--script", calm.to_str().unwrap()], b"");
    assert!(ran.out_text().contains("answered by anthropic/team/claude-sonnet-4-5 40"), "{}", ran.out_text());
}

/// What is explained is what is done.
#[test]
fn the_explained_order_is_the_played_one() {
    let config = bundled("omniroute.toml");
    let calm = file("one.toml", "requests = 1\nevery = \"1s\"\n");
    for (model, seed) in
        [("daily", "1"), ("picked", "2"), ("auto", "3"), ("auto/cheap", "4"), ("openai/gpt-5", "5")]
    {
        let told = with_keys(&["route", "explain", model, "--config", &config, "--seed", seed, "--json"]);
        let told: Value = serde_json::from_slice(&told.out).unwrap();
        let script = calm.to_str().unwrap();
        let args =
            ["route", "simulate", model, "--config", &config, "--seed", seed, "--script", script, "--json"];
        let played: Value = serde_json::from_slice(&with_keys(&args).out).unwrap();
        assert_eq!(told["picks"][0]["key"], played["turns"][0]["answered"], "{model}");
        assert!(told["picks"][0]["key"].is_string());
    }
}

#[test]
fn mistakes_are_named() {
    let good = bundled("omniroute.toml");
    let explain = |text: &str| {
        let config = file("wrong.toml", text);
        run(&["route", "explain", "auto", "--config", config.to_str().unwrap()], b"")
    };
    let mut shown = String::new();
    let mut told = |what: &str, code: i32, ran: Run| {
        assert_eq!((ran.code, ran.out_text()), (Some(code), ""), "{what}\n{}", ran.err);
        let folder = scratch();
        let routes = Path::new(env!("CARGO_MANIFEST_DIR")).join("routes");
        let said =
            ran.err.replace(folder.to_str().unwrap(), "TMP").replace(routes.to_str().unwrap(), "ROUTES");
        shown.push_str(&format!("> {what}\n{said}\n"));
    };
    for text in [
        "connections = [{ id = \"openai/work\" }]\nconection = 1",
        "connections = [{ id = \"openai/work\", billing = \"monthly\" }]",
        "connections = [\n  { id = \"openai\" },\n]",
        "connections = [{ id = \"openai/work\" }, { id = \"openai/work\" }]",
        "connections = [{ id = \"opena/work\" }]",
        "connections = [{ id = \"openai/work\", key = { env = \"sk-very-secret\" } }]",
        "connections = [{ id = \"openai/work\" }]\ncombos = [{ name = \"a\", strategy = \"priorty\", steps = [\"openai/gpt-5\"] }]",
        "connections = [{ id = \"openai/work\" }]\ncombos = [{ name = \"a\", strategy = \"priority\", steps = [{ modle = \"x\" }] }]",
        "connections = [",
    ] {
        told(text, 78, explain(text));
    }
    told("no connection", 2, run(&["route", "explain", "auto"], b""));
    told("no file", 3, run(&["route", "explain", "auto", "--config", "nowhere.toml"], b""));
    told("no such model", 3, run(&["route", "explain", "gpt-55", "--config", &good], b""));
    let text = file("text.txt", "some words");
    let args = ["route", "explain", "auto", "--config", &good, "--request", text.to_str().unwrap()];
    told("no request", 1, run(&args, b""));
    for text in [
        "requests = 0\nevery = \"1s\"",
        "requests = 5\nevery = \"1 s\"",
        "requests = 5\nevery = \"1s\"\nvendors = [{ connection = \"openai/home\" }]",
        "requests = 5\nevery = \"1s\"\nvendors = [{ connection = \"openai/work\", phases = [{ from = \"1s\", until = \"2s\", does = \"explode\" }] }]",
        "requests = 5\nevery = \"1s\"\nvendors = [{ connection = \"openai/work\", phases = [{ from = \"3s\", until = \"2s\", does = \"hang\" }] }]",
        "requests = 5",
    ] {
        let script = file("wrong-script.toml", text);
        let args = ["route", "simulate", "daily", "--config", &good, "--script", script.to_str().unwrap()];
        told(text, 1, run(&args, b""));
    }
    assert_eq!(shown.matches("very-secret").count(), 1, "in what was written, not in what is said: {shown}");
    snapshot("route-mistakes.txt", &shown);
}
