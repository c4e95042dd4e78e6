//! Engines that leave parts of older results out: where they may act, what stays, what a receipt says, every setting.
#![expect(clippy::unwrap_used, reason = "helpers of tests stop like tests")]

mod common;

use std::sync::Arc;

use common::agent::{Agent, Turn, WIRES};
use common::bodies::{raw_messages, structure};
use omniroute_compress::ccr::TOOL;
use omniroute_compress::{
    CallOptions, Compress, Compressed, ENGINES, MemorySessions, Rewrite, Step, Value as Setting,
};
use omniroute_core::{
    ChatRequest, Moment, Mono, UnixMs,
    wire::{self, Wire},
};
use serde_json::json;

const ENGINES_HERE: [&str; 3] = ["aggressive", "relevance", "ultra"];

/// Lines that nothing may lose.
const MUST: [&str; 3] =
    ["it failed with code 7 at step four", "do not restart the worker", "TODO check the ledger"];

fn prose(n: usize) -> String {
    let mut out = String::new();
    for part in 0..40 {
        out += &format!(
            "The chapter about garden number {n} of the village tells a story of trees and of the people who were walking there in the morning of that day in part {part}.\n\n"
        );
        if part > 20 && part % 5 == 0 {
            out += "The retention of invoices is set by the ledger of the office in the city for the whole of the year.\n\n";
        }
        if part == 20 {
            MUST.iter().for_each(|line| out += &format!("{line}\n\n"));
            out += "The retention of invoices is set by the ledger of the office in the city for the whole of the year.\n\n";
        }
    }
    out
}

fn rows(n: usize) -> String {
    let rows: Vec<_> = (0..120)
        .map(|row| json!({"id": n * 100 + row, "state": if row == 30 { "failed" } else { "ok" }}))
        .collect();
    serde_json::to_string(&rows).unwrap()
}

fn hits(n: usize) -> String {
    (0..80).map(|hit| format!("src/file{}.rs:{hit}: let value{n} = compute({hit});\n", hit % 4)).collect()
}

/// Every kind of result, again and again.
fn agent(wire: Wire, count: usize) -> Agent {
    let mut agent = Agent::new(wire, &["read", TOOL], "How long is the retention of invoices?");
    for n in 0..count {
        match n % 6 {
            0 => agent.call("lookup", json!({"n": n}), prose(n)),
            1 => agent.call("lookup", json!({"n": n}), rows(n)),
            2 => agent.call("grep", json!({"pattern": n.to_string()}), hits(n)),
            3 => agent.call("bash", json!({"command": format!("./run {n}")}), prose(n)),
            4 => agent.call("read", json!({"path": format!("src/f{n}.rs")}), prose(n)),
            _ => agent.turns.push(Turn::Call {
                tool: "lookup".into(),
                arguments: json!({}),
                text: prose(n),
                is_error: true,
            }),
        }
    }
    agent
}

fn at(second: i64) -> Moment {
    Moment { mono: Mono(second as u64 * 1_000_000_000), wall: UnixMs(second * 1_000) }
}

fn cold(compressor: &Compress, agent: &Agent) -> Compressed {
    let mut request = ChatRequest::parse(agent.wire, agent.bytes()).unwrap();
    compressor.compress_with(&mut request, CallOptions::default().cold(true), at(10))
}

fn plan(name: &str) -> Compress {
    Compress::builder().plan(name).build().unwrap()
}

fn text(sent: &Compressed) -> String {
    String::from_utf8(sent.body.to_vec()).unwrap()
}

/// Lines of results that must stay and do not, over the whole body.
fn lost(before: &str, after: &str) -> Vec<&'static str> {
    MUST.into_iter().filter(|line| before.matches(line).count() != after.matches(line).count()).collect()
}

#[test]
fn only_at_a_rewrite_point_and_then_append_only() {
    for wire in WIRES {
        for name in ENGINES_HERE {
            let sessions = Arc::new(MemorySessions::default());
            let compressor = Compress::builder().plan(name).sessions(sessions).build().unwrap();
            let never = Compress::builder().plan(name).rewrite(Rewrite::Never).build().unwrap();
            let send = |c: &Compress, n: usize, s: i64| {
                c.compress_body(Some(wire), agent(wire, n).bytes(), at(s)).unwrap()
            };
            assert_eq!(send(&compressor, 30, 100).body, send(&never, 30, 100).body, "{name} {}", wire.id());
            let rewritten = send(&compressor, 31, 10_000);
            assert!(rewritten.receipt.rewrite.clone().is_some_and(|r| r.done), "{name} {}", wire.id());
            let messages = raw_messages(&rewritten.body);
            let later = raw_messages(&send(&compressor, 34, 10_050).body);
            let kept = messages.iter().zip(&later).filter(|(a, b)| a == b).count();
            assert_eq!(kept, messages.len(), "{name} {}", wire.id());
            // The same check sees a history that changes its form outside of such a point.
            let unchanged = raw_messages(&send(&never, 34, 10_050).body);
            assert!(messages.iter().zip(&unchanged).any(|(a, b)| a != b));
        }
    }
}

#[test]
fn what_must_stay_stays_and_the_receipt_counts_what_has_gone() {
    for wire in WIRES {
        for name in ENGINES_HERE {
            let agent = agent(wire, 30);
            let before = String::from_utf8(agent.bytes()).unwrap();
            let sent = cold(&plan(name), &agent);
            let after = text(&sent);
            assert_eq!(lost(&before, &after), [""; 0], "{name} {}", wire.id());
            assert!(!lost(&before, &after.replacen(MUST[1], "do restart the worker", 1)).is_empty());
            let (given, sent_shapes) = (shapes(before.as_bytes()), shapes(&sent.body));
            // All but the system text, where the note may stand.
            assert_eq!(given[..given.len() - 1], sent_shapes[..given.len() - 1], "{name} {}", wire.id());
            let step = sent.receipt.steps.iter().find(|s| s.engine == name).unwrap();
            assert!(step.segments_changed > 0 && !step.techniques.is_empty(), "{name}: {step:?}");
            let dropped = sent.receipt.dropped;
            assert!(dropped.bytes > 0 && sent.receipt.tokens_after < sent.receipt.tokens_before);
            assert_eq!(
                dropped.bytes,
                dropped.recoverable_bytes,
                "{name} {}: the tool is there: all of it can be fetched",
                wire.id()
            );
            assert!(after.contains("[CCR retrieve hash="), "{name}");
        }
    }
}

/// The messages with every text blanked, from the last to the first; the note may stand before them.
fn shapes(body: &[u8]) -> Vec<serde_json::Value> {
    let messages = raw_messages(body);
    messages.iter().rev().map(|message| structure(message.as_bytes())).collect()
}

#[test]
fn without_the_tool_each_cut_is_counted_in_its_place() {
    for name in ["aggressive", "relevance"] {
        let mut agent = agent(wire::ANTHROPIC, 30);
        agent.tools.clear();
        let sent = cold(&plan(name), &agent);
        let after = text(&sent);
        assert!(after.contains("[omitted: ") && !after.contains("[CCR retrieve"), "{name}");
        assert!(sent.receipt.dropped.bytes > 0 && sent.receipt.dropped.recoverable_bytes == 0);
        let number = |rest: &str| rest.split(' ').next()?.parse::<u64>().ok();
        let counted: u64 = after.split("[omitted: ").skip(1).filter_map(number).sum();
        assert!(counted > 0);
        assert_eq!(counted, sent.receipt.dropped.lines + sent.receipt.dropped.rows, "{name}");
    }
}

#[test]
fn nobody_is_sent_to_a_text_that_lost_parts() {
    let mut agent = agent(wire::ANTHROPIC, 30);
    agent.call("bash", json!({"command": "./run 9"}), prose(9));
    for name in ENGINES_HERE {
        let both = Compress::builder().steps([Step::new("repeat"), Step::new(name)]).build().unwrap();
        assert!(!text(&cold(&both, &agent)).contains("[unchanged: identical"), "{name}");
    }
    assert!(
        text(&cold(&plan("repeat"), &agent)).contains("[unchanged: identical"),
        "the same check sees one"
    );
}

#[test]
fn nothing_of_it_where_only_lossless_steps_may() {
    for name in ENGINES_HERE {
        let agent = agent(wire::ANTHROPIC, 30);
        let lossless = Compress::builder().plan(name).lossless_only(true).build().unwrap();
        assert_eq!(cold(&lossless, &agent).body, agent.bytes(), "{name}");
        assert_ne!(cold(&plan(name), &agent).body, agent.bytes(), "the same check sees a change");
    }
}

#[test]
fn every_setting_changes_what_is_sent() {
    for name in ENGINES_HERE {
        let entry = ENGINES.iter().find(|e| e.info.id == name).unwrap();
        let agent = agent(wire::ANTHROPIC, 30);
        let send = |step: Step| cold(&Compress::builder().steps([step]).build().unwrap(), &agent).body;
        let plain = send(Step::new(name));
        for field in entry.fields {
            let Setting::Int(_) = field.default else { panic!("{} has no test", field.key) };
            let step = || Step::new(name);
            let changed = match field.key {
                // Far from its default in the direction that shows.
                "boilerplate" => send(step().with(field.key, 100)) != plain,
                "overlap" => send(step().with(field.key, 100)) != plain,
                "min_score" => send(step().with(field.key, 75)) != plain,
                key if key.starts_with("min_") || key == "json_chars" => {
                    send(step().with(field.key, 900_000)) != plain
                }
                "budget" => send(step().with(field.key, 90)) != plain,
                "rate" => send(step().with(field.key, 10)) != plain,
                _ => send(step().with(field.key, 12)) != plain,
            };
            assert!(changed, "{name}: {}", field.key);
            let error =
                Compress::builder().steps([step().with(field.key, -1)]).build().unwrap_err().to_string();
            let rule = format!("engine \"{name}\": key \"{}\": -1 is not a whole number from", field.key);
            assert!(error.contains(&rule), "{error}");
            let error =
                Compress::builder().steps([step().with(format!("{}x", field.key), 1)]).build().unwrap_err();
            assert!(error.to_string().contains(&format!("key \"{}x\" is not known", field.key)), "{error}");
        }
    }
}

/// Parts of texts that a pattern finds, each once.
fn found(pattern: &str, text: &str) -> std::collections::BTreeSet<String> {
    regex::Regex::new(pattern).unwrap().find_iter(text).map(|m| m.as_str().to_owned()).collect()
}

#[test]
fn what_patterns_of_the_caller_find_stays_in_every_lossy_step_and_cut() {
    use omniroute_compress::caveman::Preserve;
    // Parts that each of them would take away.
    let cases = [
        ("aggressive", "part 3[0-9]\\b", None),
        ("relevance", "in part 1[0-9]\\b", None),
        ("ultra", "a story of trees and of the people", None),
        ("ccr", "in part 3[0-9]\\b", None),
        ("lite", "in part 2[0-9]\\b", Some(9_000)),
    ];
    for wire in WIRES {
        let agent = agent(wire, 30);
        let before = String::from_utf8(agent.bytes()).unwrap();
        for (name, pattern, limit) in cases {
            let send = |patterns: &[&str]| {
                let step = Step::new(name);
                let step = if name == "ccr" { step.with("min_chars", 2_000) } else { step };
                let builder = Compress::builder().steps([step]).preserve(Preserve::of(patterns).unwrap());
                let compressor = builder.build().unwrap();
                let mut request = ChatRequest::parse(wire, agent.bytes()).unwrap();
                let mut options = CallOptions::default().cold(true);
                if let Some(limit) = limit {
                    options = options.context_limit(limit);
                }
                text(&compressor.compress_with(&mut request, options, at(10)))
            };
            let kept = send(&[pattern]);
            // A note of ours may stand before them.
            let in_texts = |body: &str| -> Vec<_> {
                let all = raw_messages(body.as_bytes());
                all.iter().map(|m| found(pattern, m)).filter(|found| !found.is_empty()).collect()
            };
            assert_eq!(in_texts(&kept), in_texts(&before), "{name} {}", wire.id());
            // Without the pattern they go, and with it other texts still get shorter.
            assert_ne!(in_texts(&send(&[])), in_texts(&before), "{name} {}", wire.id());
            assert!(kept.len() < before.len() || name != "aggressive", "{name}");
        }
    }
}
