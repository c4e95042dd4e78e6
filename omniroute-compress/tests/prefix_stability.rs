//! Law 1: a growing body is sent append-only, whatever the compressor remembers and in whichever process it runs.
#![expect(clippy::unwrap_used, reason = "helpers of tests stop like tests")]

mod common;

use std::collections::BTreeMap;
use std::hash::{BuildHasher, RandomState};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use bytes::Bytes;
use common::caching::{first_marked, marked};
use common::engines::{Own, Words, compressor, only, run};
use common::prefix::{append_only, append_only_texts, check, outputs, shuffled};
use common::{Session, bodies, random};
use omniroute_compress::{Compress, MemoLimits};
use omniroute_core::{ChatRequest, Loss, SegmentKind, Transcript};
use proptest::prelude::*;
use proptest::test_runner::{RngAlgorithm, TestRng, TestRunner};
use serde_json::Value;
use sha2::{Digest, Sha256};

/// Plans that only append.
const PLANS: [&str; 4] = ["safe", "lite", "session-dedup", "stacked"];
/// Lengths tried of each session (the number of the fast run).
const CUTS: usize = 25;

fn send<'a>(compressor: &'a Compress, session: &Session) -> impl FnMut(Vec<u8>) -> Bytes + 'a {
    let wire = session.wire;
    move |body| run(compressor, wire, body).body
}

#[test]
fn every_session_is_sent_append_only_with_memo_without_and_evicted() {
    for session in common::all() {
        let cuts = session.cuts(CUTS);
        for plan in PLANS {
            let remembering = compressor(plan, MemoLimits::default());
            let grown = check(&session, &cuts, &mut send(&remembering, &session)).unwrap();

            let same = |how: &str, limits: MemoLimits, order: &[usize]| {
                let other = compressor(plan, limits);
                let outputs = outputs(&cuts, order, |k| session.first(k), &mut send(&other, &session));
                assert!(outputs == grown, "{}, {plan}: other bytes with {how}", session.name);
            };
            let rising: Vec<usize> = (0..cuts.len()).collect();
            same("no memo", MemoLimits::none(), &rising);
            let order = shuffled(cuts.len(), 7 + cuts.len() as u64);
            same("lengths in another order", MemoLimits::default(), &order);
            if plan == "safe" {
                same("a memo of 3 texts", MemoLimits::default().entries(3), &order);
                same(
                    "a memo of 40 texts and 64 KiB",
                    MemoLimits::default().entries(40).bytes(64 << 10),
                    &order,
                );
            }
        }
    }
}

#[test]
fn the_check_catches_rules_that_look_at_the_end_and_engines_with_a_state() {
    let session = &common::own()[1];
    let cuts = session.cuts(8);

    // Results older than the last four messages are cut.
    let honest = compressor("safe", MemoLimits::default());
    let mut by_distance = |body: Vec<u8>| {
        let sent = run(&honest, session.wire, body).body;
        let mut value: Value = serde_json::from_slice(&sent).unwrap();
        let list = value[session.list()].as_array_mut().unwrap();
        let old = list.len().saturating_sub(4);
        list[..old].iter_mut().for_each(truncate_results);
        serde_json::to_vec(&value).unwrap().into()
    };
    check(session, &cuts, &mut by_distance).unwrap_err();

    // An engine that counts how often it was asked. With a memo luck hides it, without one it shows.
    let state = AtomicUsize::new(0);
    let counting = Own::says("counts", Loss::Lossless, move |text| {
        let n = state.fetch_add(1, Ordering::Relaxed);
        format!("{} {n}", text.get(..text.len() / 2).unwrap_or("short"))
    });
    let impure = only(counting, MemoLimits::none());
    check(session, &cuts, &mut send(&impure, session)).unwrap_err();

    // Something is added at the end each time.
    let mut adding = |body: Vec<u8>| {
        let mut value: Value = serde_json::from_slice(&body).unwrap();
        let list = value[session.list()].as_array_mut().unwrap();
        let last = list.last().unwrap().clone();
        list.push(last);
        serde_json::to_vec(&value).unwrap().into()
    };
    check(session, &cuts, &mut adding).unwrap_err();
}

/// A whole body that shrinks or grows decides nothing about one text: the next body would decide otherwise.
#[test]
fn no_text_depends_on_what_the_whole_body_weighs() {
    let turn = |text: String| random::Turn::Used {
        tool: 3,
        target: 0,
        text,
        written: String::new(),
        is_error: false,
        in_two: false,
    };
    let talk = [turn("few words ".repeat(20)), turn("many words here ".repeat(400))];
    let session = random::session(random::WIRES[0], &talk);
    // Fewer words each time, but the first result takes more room in the body, or just as much.
    for (control, count) in [("\u{1}", 200), ("\t", 101)] {
        let engine = Own::says("escapes", Loss::Lossless, move |text| match text.len() {
            0..1000 => control.repeat(count - 1) + "x",
            _ => "short".to_owned(),
        });
        let compressor =
            Compress::builder().engine(engine).plan("escapes").tokenizer(Arc::new(Words)).build().unwrap();
        let outputs = check(&session, &session.cuts(9), &mut send(&compressor, &session)).unwrap();
        assert!(outputs.last().unwrap().len() < 1500, "the second result is short");
    }
}

fn truncate_results(message: &mut Value) {
    let cut = |text: &mut String| text.truncate(text.char_indices().nth(40).map_or(text.len(), |(i, _)| i));
    match message {
        Value::String(text) => cut(text),
        Value::Array(items) => items.iter_mut().for_each(truncate_results),
        Value::Object(members) => {
            let keys = ["content", "output", "parts", "functionResponse", "response", "text"];
            members
                .iter_mut()
                .filter(|(k, _)| keys.contains(&k.as_str()))
                .for_each(|(_, v)| truncate_results(v));
        }
        _ => {}
    }
}

#[test]
fn random_conversations_are_sent_append_only_on_all_wires() {
    let config = ProptestConfig { cases: 150, failure_persistence: None, ..ProptestConfig::default() };
    let mut runner = TestRunner::new_with_rng(config, TestRng::deterministic_rng(RngAlgorithm::ChaCha));
    let changed = AtomicUsize::new(0);
    runner
        .run(&random::talks(14), |talk| {
            for wire in random::WIRES {
                let session = random::session(wire, &talk);
                let cuts = session.cuts(6);
                for plan in PLANS {
                    let remembering = compressor(plan, MemoLimits::default());
                    let grown = check(&session, &cuts, &mut send(&remembering, &session)).unwrap();
                    let other = compressor(plan, MemoLimits::default().entries(3));
                    let order = shuffled(cuts.len(), 3);
                    let again = outputs(&cuts, &order, |k| session.first(k), &mut send(&other, &session));
                    prop_assert_eq!(&again, &grown);
                    let last = session.first(*cuts.last().unwrap());
                    prop_assert_eq!(bodies::structure(grown.last().unwrap()), bodies::structure(&last));
                    changed.fetch_add(usize::from(*grown.last().unwrap() != last), Ordering::Relaxed);
                }
            }
            Ok(())
        })
        .unwrap();
    assert!(changed.into_inner() > 200, "the texts hardly give anything to do");
}

#[test]
fn moving_cache_markers_changes_no_text() {
    for session in common::all() {
        let cuts = session.cuts(CUTS);
        let order: Vec<usize> = (0..cuts.len()).collect();
        let honest = compressor("safe", MemoLimits::default());
        let with = outputs(&cuts, &order, |k| marked(&session, k), &mut send(&honest, &session));
        append_only_texts(&cuts, &with).unwrap_or_else(|e| panic!("{}: {e}", session.name));
        let plain = run(&honest, session.wire, session.first(*cuts.last().unwrap())).body;
        let same = bodies::literals(&plain) == bodies::literals(with.last().unwrap());
        assert!(same, "{}: markers change what is sent", session.name);
    }
}

#[test]
fn the_check_catches_text_frozen_behind_a_marker() {
    let session = common::own().into_iter().find(|s| s.name.contains("shardkv.anthropic")).unwrap();
    let cuts = session.cuts(CUTS);
    let order: Vec<usize> = (0..cuts.len()).collect();
    let honest = compressor("safe", MemoLimits::none());
    let mut freezing = |body: Vec<u8>| {
        let before: Value = serde_json::from_slice(&body).unwrap();
        let frozen = first_marked(&before).map_or(0, |i| i + 1);
        let mut after: Value = serde_json::from_slice(&run(&honest, session.wire, body).body).unwrap();
        for i in 0..frozen {
            after["messages"][i] = before["messages"][i].clone();
        }
        serde_json::to_vec(&after).unwrap().into()
    };
    let outputs = outputs(&cuts, &order, |k| marked(&session, k), &mut freezing);
    append_only_texts(&cuts, &outputs).unwrap_err();
    append_only(&cuts, &outputs).unwrap_err();
}

/// Lines of `hash <name> <digest>` for [`another_process_sends_the_same_bytes`]; does nothing in an ordinary run.
#[test]
fn print_hashes() {
    if std::env::var_os("OMNIROUTE_PRINT_HASHES").is_some() {
        for (name, digest) in hashes() {
            println!("hash {name} {digest}");
        }
    }
}

fn hashes() -> BTreeMap<String, String> {
    let mut out = BTreeMap::new();
    let mut put = |name: String, body: &[u8]| {
        out.insert(name.replace(' ', "_"), Sha256::digest(body).iter().map(|b| format!("{b:02x}")).collect());
    };
    for session in common::all() {
        for plan in PLANS {
            let compressor = compressor(plan, MemoLimits::default());
            for k in session.cuts(2) {
                put(
                    format!("{}/{plan}/{k}", session.name),
                    &run(&compressor, session.wire, session.first(k)).body,
                );
            }
        }
    }
    // The twin: an engine whose answer hangs on the seed that each process draws for its hash maps.
    let session = &common::own()[0];
    let seeded = Own::says("seeded", Loss::Lossless, |text| {
        let order = RandomState::new().hash_one(text);
        format!("{order} {}", text.get(..text.len() / 2).unwrap_or("short"))
    });
    let body = session.first(session.messages().len());
    put("twin".to_owned(), &run(&only(seeded, MemoLimits::none()), session.wire, body).body);
    out
}

#[test]
fn another_process_sends_the_same_bytes() {
    let own = hashes();
    let child = Command::new(std::env::current_exe().unwrap())
        .args(["print_hashes", "--exact", "--nocapture", "--test-threads=1"])
        .env("OMNIROUTE_PRINT_HASHES", "1")
        .output()
        .unwrap();
    let text = String::from_utf8(child.stdout).unwrap();
    let words = text.lines().filter_map(|l| l.split_once("hash ")).filter_map(|(_, l)| l.split_once(' '));
    let other: BTreeMap<String, String> = words.map(|(n, d)| (n.to_owned(), d.to_owned())).collect();
    assert_eq!(own.len(), other.len());
    let differ: Vec<&String> = own.keys().filter(|k| own[*k] != other[*k]).collect();
    assert_eq!(differ, ["twin"], "the twin must differ and nothing else");
}

#[test]
fn a_growing_session_costs_its_new_text_once() {
    let (session, ends) = common::bench();
    let compressor = compressor("safe", MemoLimits::default());
    let (mut worked, mut known) = (0, 0);
    for &end in &ends {
        let body = session.first(end);
        let first = run(&compressor, session.wire, body.clone()).receipt;
        let chained = texts_of_tools(&session, &body);
        assert_eq!(first.memo.hits, known, "all texts of the turn before are known at {end}");
        assert_eq!((first.memo.hits + first.memo.misses) as usize, chained.len());
        known = chained.len() as u32;
        worked += first.engine_bytes;

        let again = run(&compressor, session.wire, body).receipt;
        assert_eq!(
            (again.engine_bytes, again.memo.misses, again.memo.hits),
            (0, 0, known),
            "a retry is free"
        );
    }
    let body = session.first(*ends.last().unwrap());
    let all: usize = texts_of_tools(&session, &body).iter().sum();
    println!("{worked} bytes of work for {all} bytes of tool text in {} turns", ends.len());
    assert!(worked as f64 <= 1.05 * all as f64, "{worked} bytes of work for {all} bytes of text");

    // The twin: a compressor that remembers nothing does the history again each turn.
    let forgetful = common::engines::compressor("safe", MemoLimits::none());
    let redone: u64 =
        ends.iter().map(|e| run(&forgetful, session.wire, session.first(*e)).receipt.engine_bytes).sum();
    assert!(redone as f64 > 1.05 * all as f64, "the bound would not notice: {redone} for {all}");
}

/// Sizes of all tool calls and results as they stand in the body.
fn texts_of_tools(session: &Session, body: &[u8]) -> Vec<usize> {
    let request = ChatRequest::parse(session.wire, body.to_vec()).unwrap();
    let transcript = Transcript::of(&request).unwrap();
    let chained = |k| matches!(k, SegmentKind::ToolCall | SegmentKind::ToolResult);
    transcript.segments().iter().filter(|s| chained(s.kind)).map(|s| s.raw().len()).collect()
}
