//! Nothing we print holds text of a body; every mistake in a configuration is named at once.
#![expect(clippy::unwrap_used, reason = "helpers of tests stop like tests")]

mod common;

use common::agent::{Agent, Turn};
use common::engines::{Own, compressor, run};
use omniroute_compress::caveman::{Preserve, RulePacks};
use omniroute_compress::ccr::TOOL;
use omniroute_compress::cost::Prices;
use omniroute_compress::{
    CallOptions, Combo, Combos, Compress, CompressBuilder, CompressError, ConfigField, ENGINES, MemoLimits,
    OutputStyle, Plan, Rewrite, Step, Value, expand, settings_json,
};
use omniroute_core::{ChatRequest, Compressor, Loss, Moment, Mono, Transcript, UnixMs, wire};
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

/// What is wrong to say for a setting, as a value of its type out of range or of another type.
fn wrong(field: &ConfigField) -> Value {
    match &field.default {
        Value::Int(_) => Value::Int(field.min.saturating_sub(1)),
        Value::List(_) => Value::from(vec![String::new()]),
        _ => Value::Int(-1),
    }
}

/// Every setting of every engine and the page that lists them.
#[test]
fn every_setting_is_checked_and_listed() {
    let listed = settings_json();
    let page = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/src/settings.md"));
    let mut table = String::from(PAGE);
    for (n, entry) in ENGINES.iter().enumerate() {
        let id = entry.info.id;
        if !entry.fields.is_empty() {
            table += &format!(
                "\n## {id}\n\n{}.\n\n| key | default | allowed | what it does |\n| --- | --- | --- | --- |\n",
                entry.info.summary
            );
        }
        for (m, field) in entry.fields.iter().enumerate() {
            let key = field.key;
            table += &format!("| `{key}` | {} | {} | {} |\n", field.default, field.allowed(), field.summary);
            assert_eq!(listed[n]["settings"][m]["key"], key, "{id}");
            let errors = |step: Step| Compress::builder().steps([step]).build().unwrap_err().to_string();
            let value = wrong(field);
            assert_eq!(
                errors(Step::new(id).with(key, value.clone())),
                format!("configuration: engine \"{id}\": key \"{key}\": {value} is not {}", field.allowed())
            );
            let error = errors(Step::new(id).with(format!("{key}_of_none"), 1));
            let named = format!("configuration: engine \"{id}\": key \"{key}_of_none\" is not known");
            assert!(error.starts_with(&named), "{error}");
        }
    }
    if std::env::var_os("BLESS").is_some_and(|v| v == "1") {
        std::fs::write(concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/src/settings.md"), &table).unwrap();
    } else {
        assert_eq!(page.unwrap_or_default(), table, "BLESS=1 writes docs/src/settings.md anew");
    }
}

/// Values worth trying for a setting.
fn others(field: &ConfigField) -> Vec<Value> {
    match (&field.default, field.key) {
        (Value::Bool(on), _) => vec![Value::Bool(!on)],
        (Value::Int(n), _) => {
            let near =
                [1, 12, 40, 75, 95, 900_000].into_iter().filter(|v| (field.min..=field.max).contains(v));
            [field.min, field.max].into_iter().chain(near).filter(|v| v != n).map(Value::Int).collect()
        }
        (Value::Word(word), _) => {
            field.choices.iter().filter(|c| *c != word).map(|c| Value::from((*c).to_owned())).collect()
        }
        (Value::List(_), "skip_rules") => vec![Value::from(vec!["could-you".to_owned()])],
        (Value::List(_), "languages") => vec![Value::from(vec!["de".to_owned()])],
        (Value::List(_), _) => vec![Value::from(vec!["due to the [a-z]+".to_owned()])],
        _ => Vec::new(),
    }
}

const PROSE: &str = "Hi there,\n\nCould you please check the importer? It is basically a worker that reads the queue, but due to the fact that the queue is shared it has extremely slow workers. Here is some context. I started it with `drain --all` and 3 workers, and it did not stop if the disk was full. Furthermore, there is a worker that leaks memory. There is a worker that leaks memory. Look at old tables and their columns with care and patience. Look at old tables and their columns with care and patience. Never delete src/main.rs:10, even if the test asks for it. Thank you!";

/// A conversation with something for every engine.
fn all_kinds() -> Vec<u8> {
    let mut agent = Agent::new(wire::ANTHROPIC, &["read", TOOL], PROSE);
    let said = |agent: &mut Agent, model: &str, user: &str| {
        agent.turns.push(Turn::Said { model: model.to_owned(), user: user.to_owned() });
    };
    let ledger = "The retention of invoices is set by the ledger of the office in the city for the whole of the year.\n\n";
    let part = |n: usize, part: usize| {
        let said = format!(
            "The chapter about garden number {n} of the village tells a story of trees and of the people who were walking there in part {part}.\n\n"
        );
        if part > 20 && part.is_multiple_of(5) { said + ledger } else { said }
    };
    let prose = |n: usize| -> String { (0..60).map(|p| part(n, p)).collect() };
    let rows = |n: usize, count: usize| {
        json!((0..count).map(|row| json!({"id": n * 1000 + row, "state": "ok"})).collect::<Vec<_>>())
            .to_string()
    };
    let hits: String =
        (0..80).map(|hit| format!("src/file{}.rs:{hit}: let value = compute({hit});\n", hit % 4)).collect();
    let built: String = (0..200).map(|n| format!("   Compiling crate{n} v1.{n}.0\n")).collect();
    let layout = "\u{1b}[31mred\u{1b}[0m line   \n\n\n\n\nsame line here\nsame line here\nsame line here\nsame line here\n".repeat(12);
    let log: String = (0..300)
        .map(|n| format!("2026-01-02T03:04:{:02} INFO worker {} took {n} ms\n", n % 60, n % 7))
        .collect();
    let file: String =
        (0..40).map(|n| format!("    let value{n} = compute_something({n}, \"argument\");\n")).collect();
    let early: String =
        (0..40).map(|n| format!("let early{n} = look_at_something({n}, \"early\");\n")).collect();
    agent.call("lookup", json!({"n": 80}), early.clone());
    agent.call("lookup", json!({"n": 81}), early.replace("look_at", "see"));
    for n in 0..3 {
        agent.call("lookup", json!({"n": n}), prose(n));
        agent.call("lookup", json!({"n": n}), rows(n, 9));
        agent.call("lookup", json!({"n": n}), rows(n, 300));
        agent.call(
            "lookup",
            json!({"n": n}),
            "id,name\n".to_owned() + &(0..9).map(|r| format!("{r},n{r}\n")).collect::<String>(),
        );
        agent.call("grep", json!({"pattern": n.to_string()}), hits.replace("value", &format!("value{n}")));
        agent.call("bash", json!({"command": format!("./run {n}")}), prose(n + 40));
    }
    let many: String =
        (0..300).map(|hit| format!("src/file{}.rs:{hit}: let value = compute({hit});\n", hit % 4)).collect();
    agent.call("lookup", json!({"n": 94}), many.replace("src/file", "lib/part"));
    agent.call("grep", json!({"pattern": "compute"}), many);
    agent.call("lookup", json!({"n": 82}), early.replace("look_at", "see"));
    agent.call("lookup", json!({"n": 83}), format!("before\n{early}behind\n"));
    agent.call("bash", json!({"command": "cargo build"}), built);
    agent.call("bash", json!({"command": "make lint"}), layout.clone());
    agent.call("bash", json!({"command": "kubectl logs worker"}), log.clone());
    agent.call("bash", json!({"command": "make lint"}), layout);
    agent.call("write", json!({"path": "src/new.rs", "content": file}), "ok");
    agent.call("lookup", json!({"n": 90}), file.clone());
    agent.call("read", json!({"path": "src/a.rs"}), file.replace("argument", "other"));
    agent.call("lookup", json!({"n": 91}), "short line of a result\n".repeat(4));
    agent.call("lookup", json!({"n": 92}), "short line of a result\n".repeat(4));
    agent.call(
        "lookup",
        json!({"n": 93}),
        format!("{}tail", file.lines().take(12).map(|l| format!("{l}\n")).collect::<String>()),
    );
    said(&mut agent, PROSE, &prose(99));
    for n in 0..9 {
        agent.call("lookup", json!({"n": 100 + n}), format!("answer {n}"));
    }
    said(&mut agent, "Done.", "And now the retention of invoices in garden number 2?");
    agent.bytes()
}

/// What comes out: the body and the receipt without the fingerprint, which only says that something was set.
fn outcome(compressor: &Compress, options: CallOptions) -> String {
    let mut out = String::new();
    for _ in 0..2 {
        let mut request = ChatRequest::parse(wire::ANTHROPIC, all_kinds()).unwrap();
        let now = Moment { mono: Mono(1_000_000_000), wall: UnixMs(10_000) };
        let sent = compressor.compress_with(&mut request, options, now);
        let mut receipt = serde_json::to_value(&sent.receipt).unwrap();
        receipt.as_object_mut().unwrap().remove("fingerprint");
        out += &format!("{}\n{receipt}\n", String::from_utf8_lossy(&sent.body));
    }
    out
}

/// Settings that change nothing of what `run` gives for any value.
fn silent(run: &dyn Fn(&'static str, Option<(&'static str, Value)>) -> Vec<String>) -> Vec<String> {
    let mut silent = Vec::new();
    for entry in ENGINES {
        let plain = run(entry.info.id, None);
        for field in entry.fields {
            let changes = |value: Value| run(entry.info.id, Some((field.key, value))) != plain;
            if !others(field).into_iter().any(changes) {
                silent.push(format!("{}.{}", entry.info.id, field.key));
            }
        }
    }
    silent
}

fn with(id: &'static str, setting: Option<(&'static str, Value)>) -> Vec<String> {
    let mut step = Step::new(id);
    if id == "caveman" && setting.as_ref().is_none_or(|(key, _)| *key != "level") {
        step = step.with("level", "ultra");
    }
    // What the user's blocks become shows only where they may change.
    if id == "ccr" && setting.as_ref().is_some_and(|(key, _)| *key == "user_min_chars") {
        step = step.with("user_blocks", true);
    }
    if let Some((key, value)) = setting {
        step = step.with(key, value);
    }
    let compressor = Compress::builder().steps([step]).memo(MemoLimits::none()).build().unwrap();
    [true, false].map(|cold| outcome(&compressor, CallOptions::default().cold(cold))).into()
}

#[test]
fn every_setting_changes_what_comes_out() {
    assert_eq!(silent(&with), Vec::<String>::new());
}

/// The same check names a setting that nobody reads.
#[test]
fn a_setting_that_nobody_reads_is_seen() {
    let forgets = |id: &'static str, setting: Option<(&'static str, Value)>| {
        // Only the engine in question has to be run.
        if id != "ultra" {
            return vec![format!("{setting:?}")];
        }
        with(id, setting.filter(|(key, _)| *key != "rate"))
    };
    assert_eq!(silent(&forgets), ["ultra.rate"]);
}

/// The settings of a compressor and of a call.
#[test]
fn every_setting_of_the_builder_changes_what_comes_out() {
    type Change = fn(CompressBuilder) -> CompressBuilder;
    let base =
        || Compress::builder().plan("repeat,rtk,rows,caveman:full,ccr,aggressive").memo(MemoLimits::none());
    let cold = CallOptions::default().cold(true);
    let plain = outcome(&base().build().unwrap(), cold);
    let changes: [(&str, Change); 17] = [
        ("plan", |b| b.plan("rtk")),
        ("steps", |b| b.steps([Step::new("rows")])),
        ("tokenizer", |b| b.tokenizer(std::sync::Arc::new(common::engines::Words))),
        ("memo", |b| b.memo(MemoLimits::default())),
        ("retrieval", |b| b.retrieval(false)),
        ("lossless_only", |b| b.lossless_only(true)),
        ("rewrite", |b| b.rewrite(Rewrite::Never)),
        ("prices", |b| b.prices(Prices::from_pico(1, 2, 3, 4))),
        ("output_style", |b| b.output_style(OutputStyle::parse("less-code").unwrap())),
        ("combos", |b| {
            let mut combos = Combos::default();
            combos.add(Combo::new("mine", "mine", [Step::new("rows")])).unwrap();
            b.combos(combos).plan("mine")
        }),
        ("engine", |b| b.engine(Own::says("rows", Loss::Layout, |text| text.trim().to_owned()))),
        ("rule_packs", |b| {
            let text = "language = \"en\"\n[[rules]]\nid = \"mine\"\nclass = \"redundancy\"\nlevel = \"lite\"\nfrom = \"with care and patience\"\nto = \"well\"\nin = \"Do it with care and patience.\"\nout = \"Do it well.\"\n";
            b.rule_packs(RulePacks::of([("mine.toml", text)]).unwrap())
        }),
        ("defaults", |b| b.defaults("rtk", [("intensity", Value::from("minimal"))])),
        ("preserve", |b| b.preserve(Preserve::of(["due to the fact that"]).unwrap())),
        ("filters", |b| {
            b.filters(omniroute_compress::FilterSet::builder().without(["cargo-build", "cargo"]).build().set)
        }),
        ("max_body_bytes", |b| b.max_body_bytes(10)),
        ("strict", |b| b.strict(true)),
    ];
    let raw = |b: CompressBuilder, body: &[u8]| match b.build().unwrap().compress_body(
        None,
        body.to_vec(),
        Moment::default(),
    ) {
        Ok(out) => format!("{:?}", out.receipt.skipped),
        Err(error) => error.to_string(),
    };
    let mut same = Vec::new();
    for (name, change) in changes {
        let differs = match name {
            // Those are about bodies as bytes.
            "strict" => raw(change(base()), b"{") != raw(base(), b"{"),
            "max_body_bytes" => raw(change(base()), &all_kinds()) != raw(base(), &all_kinds()),
            _ => outcome(&change(base()).build().unwrap(), cold) != plain,
        };
        if !differs {
            same.push(name);
        }
    }
    let calls = [
        ("cold", CallOptions::default().cold(false)),
        ("context_limit", cold.context_limit(3_000)),
        ("target_tokens", cold.target_tokens(3_000)),
        ("texts_only", cold.texts_only(true)),
    ];
    let other = |options| outcome(&base().build().unwrap(), options) == plain;
    same.extend(calls.into_iter().filter(|(_, options)| other(*options)).map(|(name, _)| name));
    assert_eq!(same, Vec::<&str>::new());
    // Not those that say nothing.
    assert!(!other(cold.texts_only(true)) && other(CallOptions::default().cold(true)));
}

const PAGE: &str = "# Settings\n\nAll that can be set of a step, by engine. `Step::new(\"rows\").with(\"min_rows\", 20)` sets it in Rust,\n`[compression.engines.rows]` in a configuration file. A key that is not here and a value that is not allowed are errors.\nThe same list is `omniroute_compress::settings_json()`. This page is written by\n`BLESS=1 cargo test -p omniroute-compress --test secrets_and_mistakes`.\n";
