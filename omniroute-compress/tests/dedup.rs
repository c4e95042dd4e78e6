//! What `repeat`, `rows` and `session-dedup` take out can be put back, and what their markers claim is true.
#![expect(clippy::unwrap_used, reason = "helpers of tests stop like tests")]

mod common;

use std::collections::BTreeMap;

use common::engines::{compressor, run};
use common::markers::{self, Found};
use common::{Session, random};
use omniroute_compress::{Compress, MemoLimits, expand};
use omniroute_core::{ChatRequest, SegmentId, wire};
use proptest::prelude::*;
use proptest::test_runner::{RngAlgorithm, TestRng, TestRunner};
use serde_json::{Value, json};

/// Plans without any loss.
const LOSSLESS: [&str; 4] = ["repeat,rows,session-dedup", "repeat,session-dedup", "session-dedup", "rows"];

/// Expands what was sent for one body. Gives the texts that came back with another wording, which only tables with a printing of
/// their own may, and whether anything was changed.
fn comes_back(
    compressor: &Compress,
    wire: wire::Wire,
    body: &[u8],
) -> Result<(Vec<SegmentId>, bool), String> {
    let out = run(compressor, wire, body.to_vec());
    let sent = ChatRequest::parse(wire, out.body).unwrap();
    returns(&sent, &out.receipt.edits, body).map(|ids| (ids, out.receipt.applied))
}

fn returns(sent: &ChatRequest, log: &omniroute_core::EditLog, body: &[u8]) -> Result<Vec<SegmentId>, String> {
    let back = expand(sent, log).map_err(|e| e.to_string())?;
    for segment in &log.segments {
        let by_rows = segment
            .steps
            .iter()
            .any(|s| s.engine == "rows" && s.undo.as_deref().is_some_and(|u| u.ends_with(" -")));
        let restored = back.restored.contains(&segment.segment);
        if !restored && !by_rows {
            return Err(format!("segment {} did not come back: {:?}", segment.segment, segment.steps));
        }
    }
    let inexact = log.segments.iter().any(|s| !s.exact_literal);
    if back.not_restored.is_empty() && !inexact && back.body != body {
        return Err("all texts came back and the bytes differ".to_owned());
    }
    let parse = |b: &[u8]| serde_json::from_slice::<Value>(b).unwrap();
    if back.not_restored.is_empty() && parse(&back.body) != parse(body) {
        return Err("the texts differ".to_owned());
    }
    Ok(back.not_restored)
}

#[test]
fn every_session_comes_back() {
    for plan in LOSSLESS {
        let compressor = compressor(plan, MemoLimits::none());
        let (mut changed, mut reworded) = (0, Vec::new());
        for session in common::all() {
            let body = session.first(session.messages().len());
            let (other, applied) = comes_back(&compressor, session.wire, &body)
                .unwrap_or_else(|e| panic!("{}, {plan}: {e}", session.name));
            changed += usize::from(applied);
            reworded.extend(other.into_iter().map(|id| format!("{} {id}", session.name)));
        }
        println!("{plan}: {changed} sessions changed; tables printed in a way of their own: {reworded:?}");
        assert!(changed > 0 || plan == "rows");
    }
}

#[test]
fn the_check_catches_an_edit_log_with_another_line() {
    let session = &common::own()[1];
    let body = session.first(session.messages().len());
    let out = run(&compressor("session-dedup", MemoLimits::none()), session.wire, body.clone());
    let sent = ChatRequest::parse(session.wire, out.body).unwrap();
    let mut log = out.receipt.edits;
    returns(&sent, &log, &body).unwrap();
    let undo = log.segments.last_mut().unwrap().steps.last_mut().unwrap();
    let mut fields: Vec<String> = undo.undo.as_deref().unwrap().split(',').map(str::to_owned).collect();
    fields[6] = (fields[6].parse::<usize>().unwrap() + 1).to_string();
    undo.undo = Some(fields.join(","));
    returns(&sent, &log, &body).unwrap_err();
}

fn deterministic(cases: u32) -> TestRunner {
    let config = ProptestConfig { cases, failure_persistence: None, ..ProptestConfig::default() };
    TestRunner::new_with_rng(config, TestRng::deterministic_rng(RngAlgorithm::ChaCha))
}

#[test]
fn random_conversations_come_back_and_their_markers_are_true() {
    let compressors = LOSSLESS.map(|plan| compressor(plan, MemoLimits::none()));
    let rows = compressor("rows", MemoLimits::none());
    let mut found = Found::default();
    let run_cases = |found: &mut Found| {
        let found = std::cell::RefCell::new(found);
        deterministic(120).run(&random::talks(10), |talk| {
            for wire in random::WIRES {
                let session = random::session(wire, &talk);
                let body = session.first(session.messages().len());
                for (compressor, body) in
                    compressors.iter().flat_map(|c| [(c, body.clone()), (c, random::escaped(&body))])
                {
                    let back = comes_back(compressor, wire, &body);
                    prop_assert!(back.is_ok(), "{}: {back:?}", session.name);
                }
                let (sent, plain) =
                    (run(&compressors[0], wire, body.clone()), run(&rows, wire, body.clone()));
                let more = markers::check(wire, &sent.body, &plain.body, &body);
                prop_assert!(more.is_ok(), "{}: {more:?}", session.name);
                found.borrow_mut().add(more.unwrap());
            }
            Ok(())
        })
    };
    run_cases(&mut found).unwrap();
    println!("{found:?}");
    assert!(found.unchanged > 20 && found.runs > 100 && found.inputs > 20, "{found:?}");
}

/// What a session is sent as by `safe`, as by `safe` without the engines that refer back, and as it is.
fn three_forms(session: &Session) -> [Vec<u8>; 3] {
    forms_by(session, "safe", "rtk,rows")
}

/// The same for another plan and its part that does not refer back.
fn forms_by(session: &Session, plan: &str, part: &str) -> [Vec<u8>; 3] {
    let body = session.first(session.messages().len());
    let by = |plan| run(&compressor(plan, MemoLimits::none()), session.wire, body.clone()).body.to_vec();
    [by(plan), by(part), body]
}

/// Follows every marker of one session, with what is sent in place of what the compressor made.
fn true_markers(session: &Session, sent: &[u8]) -> Result<Found, String> {
    let [_, plain, body] = three_forms(session);
    follow(session, sent, &plain, &body)
}

fn follow(session: &Session, sent: &[u8], plain: &[u8], body: &[u8]) -> Result<Found, String> {
    markers::check(session.wire, sent, plain, body).map_err(|e| format!("{}: {e}", session.name))
}

#[test]
fn markers_of_every_session_name_one_text_that_has_these_lines() {
    let mut found = Found::default();
    let mut by_session = BTreeMap::new();
    for session in common::all() {
        let more = true_markers(&session, &three_forms(&session)[0]).unwrap();
        found.add(more);
        if more != Found::default() {
            by_session.insert(session.name, more);
        }
    }
    println!("{by_session:?}");
    assert!(found.runs > 10 && found.inputs > 5, "{found:?}");
}

#[test]
fn the_check_catches_markers_that_are_off() {
    let session = common::own().into_iter().find(|s| s.name.contains("ledger")).unwrap();
    let [sent, ..] = three_forms(&session);
    true_markers(&session, &sent).unwrap();
    let text = String::from_utf8(sent).unwrap();
    let at = text.find("[same as ").unwrap();
    let (head, tail) = text.split_at(at);
    let end = tail.find(']').unwrap();
    let (marker, rest) = tail.split_at(end);
    let lines = marker.rsplit_once(", lines ").unwrap().1.split_once('-').unwrap().0;
    let next = (lines.parse::<usize>().unwrap() + 1).to_string();
    for broken in [
        marker.replace(&format!("lines {lines}-"), &format!("lines {next}-")),
        marker.replace("same as ", "same as other "),
        marker.replace(" above", " (result 9 of 9) above"),
    ] {
        let body = format!("{head}{broken}{rest}");
        true_markers(&session, body.as_bytes()).expect_err(&broken);
    }
}

#[test]
fn what_the_provider_keeps_is_not_referred_to() {
    for session in common::all().into_iter().filter(|s| s.wire == wire::OPENAI_RESPONSES) {
        // The first half is kept by the provider; the second half is all that can be seen.
        let mut half = session.clone();
        let items = half.body["input"].as_array_mut().unwrap();
        let kept = items.len() / 2;
        items.drain(..kept);
        half.body["previous_response_id"] = json!("resp_1");
        true_markers(&half, &three_forms(&half)[0]).unwrap();
        // With whole outputs there is more to refer to.
        let forms = |session: &Session| forms_by(session, "repeat,lite,rows,session-dedup", "lite,rows");
        let [sent, plain, body] = forms(&half);
        follow(&half, &sent, &plain, &body).unwrap();

        // The twin: the whole session's markers over the half body speak of what is not there.
        let whole: Value = serde_json::from_slice(&forms(&session)[0]).unwrap();
        let mut twin = half.body.clone();
        twin["input"] = Value::Array(whole["input"].as_array().unwrap()[kept..].to_vec());
        let twin = serde_json::to_vec(&twin).unwrap();
        follow(&half, &twin, &plain, &body).expect_err(&half.name);
    }
}

#[test]
fn savings_on_the_large_session() {
    let Some(session) = common::all().into_iter().find(|s| s.name.starts_with("agent_large_session")) else {
        eprintln!("skipped: 1 session (agent_large_session)");
        return;
    };
    let body = session.first(session.messages().len());
    let out = run(&compressor("repeat,session-dedup", MemoLimits::none()), session.wire, body);
    let results = out.receipt.by_kind[&omniroute_core::SegmentKind::ToolResult];
    let saved = 100 * (results.tokens_before - results.tokens_after);
    println!("{} of {} tokens of tool results", saved / 100, results.tokens_before);
    assert!(saved >= 12 * results.tokens_before, "less than 12 % of tool results");
}
