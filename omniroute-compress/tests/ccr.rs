//! Texts that can be fetched back: when they are left out, what the model is told, who may fetch them, and that none
//! of it depends on what comes later.
#![expect(clippy::unwrap_used, reason = "helpers of tests stop like tests")]

mod common;

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use common::agent::{Agent, WIRES, records};
use common::bodies::raw_messages;
use omniroute_compress::ccr::{Ask, Handle, RetrieveError, TOOL, retrieve};
use omniroute_compress::{Compress, Compressed, MemoLimits, MemorySessions, expand};
use omniroute_core::{
    BlobLimits, BlobStore, ChatRequest, MemoryBlobs, Moment, Mono, Principal, SessionId, UnixMs,
    wire::{self, Wire},
};
use proptest::prelude::*;
use serde_json::{Value, json};

const SENTINEL: &str = "[CCR protocol]";

/// A conversation: a question, then one call and its result after the other.
fn body(wire: Wire, tools: &[&str], question: &str, results: &[String]) -> Value {
    let mut agent = Agent::new(wire, tools, question);
    results.iter().for_each(|text| agent.call("lookup", json!({}), text.as_str()));
    agent.body()
}

fn send(compressor: &Compress, wire: Wire, body: &Value) -> Compressed {
    compressor.compress_body(Some(wire), serde_json::to_vec(body).unwrap(), Moment::default()).unwrap()
}

fn text(body: &Bytes) -> &str {
    std::str::from_utf8(body).unwrap()
}

fn safe() -> Compress {
    Compress::builder().build().unwrap()
}

/// Everything that comes before the messages.
fn head(wire: Wire, body: &Bytes) -> String {
    let value: Value = serde_json::from_slice(body).unwrap();
    match wire.id() {
        "openai-chat" => format!("{}{}", value["messages"][0], value["messages"][1]),
        "anthropic-messages" => value["system"].to_string(),
        "openai-responses" => value["instructions"].to_string(),
        _ => value["systemInstruction"].to_string(),
    }
}

#[test]
fn each_shape_of_a_tool_lets_it_happen_and_none_does_not() {
    let results = [records(1, 300)];
    for wire in WIRES {
        for name in [TOOL, "mcp__store__omniroute_ccr_retrieve"] {
            let sent = send(&safe(), wire, &body(wire, &["lookup", name], "Which are open?", &results));
            let shown = text(&sent.body);
            assert!(shown.contains("[ionizer: kept ") && shown.contains(SENTINEL), "{} {name}", wire.id());
            assert!(shown.contains(&format!("call {name} with that hash")), "the note names the tool");
            assert_eq!(sent.receipt.added.len(), 1);
            assert!(Handle::all_in(shown).any(|h| h.chars == results[0].len() as u64));
        }
        for tools in [&["lookup"][..], &[], &["lookup", "omniroute_ccr_store"]] {
            let sent = send(&safe(), wire, &body(wire, tools, "Which are open?", &results));
            assert!(!text(&sent.body).contains("CCR"), "{} {tools:?}", wire.id());
            let ionizer = sent.receipt.steps.iter().find(|step| step.engine == "ionizer").unwrap();
            assert_eq!(ionizer.skips.get("ccr_unreachable"), Some(&1));
        }
    }
}

#[test]
fn a_choice_that_rules_the_tool_out_keeps_everything() {
    let mut request = body(wire::ANTHROPIC, &["lookup", TOOL], "Which?", &[records(1, 300)]);
    request["tool_choice"] = json!({"type": "none"});
    assert!(!text(&send(&safe(), wire::ANTHROPIC, &request).body).contains("CCR"));
}

/// The note is there once on every turn, and the head of the prompt never changes.
#[test]
fn the_note_is_placed_once_and_the_head_stays() {
    for wire in WIRES {
        let compressor = safe();
        let question = format!("What is \"{SENTINEL} x\"? And which are open?");
        let mut results = Vec::new();
        let mut heads = Vec::new();
        for turn in 0..50 {
            // Only later turns bring something to leave out.
            results.push(if turn < 5 { format!("small {turn}") } else { records(turn, 210) });
            let shown = if turn == 0 { &results[..0] } else { &results[..] };
            let sent = send(&compressor, wire, &body(wire, &["lookup", TOOL], &question, shown));
            let notes = text(&sent.body).matches("Never guess what is left out.").count();
            assert_eq!(notes, 1, "{} turn {turn}", wire.id());
            heads.push(head(wire, &sent.body));
        }
        assert!(heads.iter().all(|h| *h == heads[0]), "{}", wire.id());
    }
}

/// What was sent once is sent so again, with and without memory, in any order.
#[test]
fn growing_conversations_are_append_only() {
    for wire in WIRES {
        let results: Vec<String> = (0..6).map(|n| records(n / 2, 200 + n)).collect();
        let whole = body(wire, &["lookup", TOOL], "Which are open?", &results);
        let remembering = safe();
        let last = raw_messages(&send(&remembering, wire, &whole).body);
        for n in (0..=results.len()).rev() {
            let part = body(wire, &["lookup", TOOL], "Which are open?", &results[..n]);
            for compressor in [&remembering, &safe()] {
                let sent = raw_messages(&send(compressor, wire, &part).body);
                assert_eq!(sent, last[..sent.len()], "{} {n}", wire.id());
            }
        }
    }
}

/// The recorded sessions, their agents given the tool: the same law.
#[test]
fn recorded_sessions_with_the_tool_are_append_only() {
    for session in common::all() {
        let session = session.with_tool(TOOL);
        let compressor = safe();
        let mut last: Vec<String> = Vec::new();
        for cut in session.cuts(12) {
            let sent =
                compressor.compress_body(Some(session.wire), session.first(cut), Moment::default()).unwrap();
            assert_eq!(
                text(&sent.body).matches("Never guess what is left out.").count(),
                1,
                "{}",
                session.name
            );
            let messages = raw_messages(&sent.body);
            assert_eq!(messages.get(..last.len()), Some(last.as_slice()), "{} {cut}", session.name);
            last = messages;
        }
    }
}

#[test]
fn a_tool_that_comes_later_is_not_used_until_the_record_is_lost() {
    let sessions = Arc::new(MemorySessions::default());
    let compressor = Compress::builder().sessions(sessions.clone()).build().unwrap();
    let wire = wire::OPENAI_CHAT;
    let first = send(&compressor, wire, &body(wire, &["lookup"], "Which?", &[]));
    assert!(first.receipt.added.is_empty());
    let later = body(wire, &["lookup", TOOL], "Which?", &[records(1, 300)]);
    let sent = send(&compressor, wire, &later);
    assert!(!text(&sent.body).contains("CCR"), "the head stays as it was sent");
    assert_eq!(sent.receipt.steps[1].skips.get("ccr_unreachable"), Some(&1));
    // The twin: nobody remembers the first request, so its tools are taken for those it had.
    sessions.clear();
    assert!(text(&send(&compressor, wire, &later).body).contains("CCR"));
    // Two named sessions decide for themselves.
    let named = |name: &str, body: &Value| {
        let request = ChatRequest::parse(wire, serde_json::to_vec(body).unwrap()).unwrap();
        let mut request = request.with_session(SessionId::new(name));
        compressor.compress(&mut request, None, Moment::default()).receipt.added.len()
    };
    assert_eq!(named("a", &body(wire, &["lookup"], "Which?", &[])), 0);
    assert_eq!(named("b", &body(wire, &["lookup", TOOL], "Which?", &[])), 1);
    assert_eq!((named("a", &later), named("b", &later)), (0, 1));
}

#[test]
fn only_the_owner_can_fetch_and_others_learn_nothing() {
    let wire = wire::ANTHROPIC;
    let results = [records(1, 300)];
    let compressor = safe();
    let asked = serde_json::to_vec(&body(wire, &["lookup", TOOL], "Which?", &results)).unwrap();
    let (a, b) = (Principal::new("a"), Principal::new("b"));
    let mut request = ChatRequest::parse(wire, asked).unwrap().with_principal(a.clone());
    let sent = compressor.compress(&mut request, None, Moment::default());
    let handle = Handle::all_in(text(&sent.body)).last().unwrap();
    let arguments = json!({"hash": handle.to_string()}).to_string();
    let fetched = compressor.retrieve(&a, &arguments, Moment::default()).unwrap();
    assert!(fetched.text == results[0] && fetched.complete);
    let refused = compressor.retrieve(&b, &arguments, Moment::default()).unwrap_err();
    let made_up = json!({"hash": "0123456789abcdef01234567"}).to_string();
    let unknown = compressor.retrieve(&b, &made_up, Moment::default()).unwrap_err();
    let same =
        |error: &RetrieveError| error.to_string().replace(&handle.id.to_string(), "0123456789abcdef01234567");
    assert_eq!(same(&refused), same(&unknown), "no one can tell whether another has it");
    assert_eq!(refused.code(), "not_found");
}

#[test]
fn what_a_live_session_needs_is_kept_or_put_back() {
    let limits = BlobLimits::default().ttl(Duration::from_secs(60));
    let blobs = Arc::new(MemoryBlobs::with_limits(limits));
    let compressor = Compress::builder().blobs(blobs.clone()).build().unwrap();
    let wire = wire::OPENAI_RESPONSES;
    let request = serde_json::to_vec(&body(wire, &["lookup", TOOL], "Which?", &[records(1, 300)])).unwrap();
    let at = |second: i64| Moment { mono: Mono(second as u64 * 1_000_000_000), wall: UnixMs(second * 1000) };
    let send = |second| compressor.compress_body(Some(wire), request.clone(), at(second)).unwrap();
    let first = send(100);
    let id = Handle::all_in(text(&first.body)).last().unwrap().id;
    let me = Principal::default();
    for second in [150, 200, 250] {
        send(second);
    }
    assert!(blobs.get(&me, id).unwrap().is_some(), "each request starts its time anew");
    blobs.tick(at(400).wall);
    assert_eq!(retrieve(blobs.as_ref(), &me, &Ask::full(id), at(400)), Err(RetrieveError::Expired(id)));
    assert_eq!(send(401).body, first.body, "the same bytes, nothing worked out anew");
    assert!(retrieve(blobs.as_ref(), &me, &Ask::full(id), at(402)).is_ok(), "put back from the body");
}

#[test]
fn what_was_fetched_stays_as_it_is() {
    let wire = wire::OPENAI_CHAT;
    let mut request = body(wire, &["lookup", TOOL], "Which?", &[records(1, 300), records(2, 300)]);
    request["messages"][2]["tool_calls"][0]["function"]["name"] = json!(TOOL);
    let sent = send(&safe(), wire, &request);
    let value: Value = serde_json::from_slice(&sent.body).unwrap();
    assert_eq!(value["messages"][4]["content"], request["messages"][3]["content"]);
    assert_ne!(
        value["messages"][6]["content"], request["messages"][5]["content"],
        "the other one is shortened"
    );
}

#[test]
fn errors_secrets_and_file_contents_are_never_sampled() {
    let wire = wire::ANTHROPIC;
    let secret = records(1, 300).replacen("user3", &format!("AKIA{}", "ABCDEFGHIJKLMNOP"), 1);
    let mut error = body(wire, &["lookup", TOOL], "Which?", &[records(1, 300)]);
    error["messages"][2]["content"][0]["is_error"] = json!(true);
    let mut view = body(wire, &["lookup", TOOL], "Which?", &[records(1, 300)]);
    view["messages"][1]["content"][0]["name"] = json!("read_file");
    let secret = body(wire, &["lookup", TOOL], "Which?", &[secret]);
    for (request, reason) in [(error, "is_error"), (view, "file_view"), (secret, "holds_secret")] {
        let sent = send(&safe(), wire, &request);
        let ionizer = sent.receipt.steps.iter().find(|step| step.engine == "ionizer").unwrap();
        assert_eq!(ionizer.skips.get(reason), Some(&1), "{:?}", ionizer.skips);
        assert!(!text(&sent.body).contains("[ionizer"));
    }
}

#[test]
fn the_note_is_taken_out_before_anything_is_expanded() {
    let again = "line of a file that is read twice\n".repeat(30) + "end";
    for wire in WIRES {
        let request = body(wire, &["lookup", TOOL], "Read it.", &[again.clone(), again.clone()]);
        let bytes = serde_json::to_vec(&request).unwrap();
        let sent = send(&safe(), wire, &request);
        assert!(text(&sent.body).contains(SENTINEL) && text(&sent.body).contains("[unchanged: "));
        let parsed = ChatRequest::parse(wire, sent.body.clone()).unwrap();
        assert_eq!(expand(&parsed, &sent.receipt.edits).unwrap().body, bytes, "{}", wire.id());
        let elsewhere = ChatRequest::parse(wire, r#"{"messages":[],"input":[],"contents":[]}"#).unwrap();
        assert!(expand(&elsewhere, &sent.receipt.edits).is_err());
    }
}

#[test]
fn nothing_is_left_out_when_all_must_be_computed_back() {
    let again = "line of a file that is read twice\n".repeat(30) + "end";
    for wire in WIRES {
        let results = [again.clone(), records(1, 300), again.clone(), "\u{1b}[31mred\u{1b}[0m\n".repeat(90)];
        let request = body(wire, &["lookup", TOOL], "Read it.", &results);
        let compressor = Compress::builder().lossless_only(true).build().unwrap();
        let sent = send(&compressor, wire, &request);
        assert!(!text(&sent.body).contains("CCR") && sent.receipt.applied);
        let parsed = ChatRequest::parse(wire, sent.body.clone()).unwrap();
        let back = expand(&parsed, &sent.receipt.edits).unwrap();
        assert_eq!(back.body, serde_json::to_vec(&request).unwrap(), "{}", wire.id());
        let off = Compress::builder().retrieval(false).build().unwrap();
        assert!(!text(&send(&off, wire, &request).body).contains("CCR"));
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, failure_persistence: None, ..ProptestConfig::default() })]
    /// Whatever two tenants send, neither can fetch a text that only the other has sent.
    #[test]
    fn tenants_stay_apart(
        sizes in prop::collection::vec((0..2_usize, 0..4_usize, 200..260_usize), 1..6),
        on in 0..4_usize,
    ) {
        let compressor = Compress::builder().memo(MemoLimits::default()).build().unwrap();
        let who = [Principal::new("a"), Principal::new("b")];
        let mut handles = [Vec::new(), Vec::new()];
        for (owner, seed, size) in sizes {
            let asked = body(WIRES[on], &["lookup", TOOL], "Which?", &[records(seed, size)]);
            let request = ChatRequest::parse(WIRES[on], serde_json::to_vec(&asked).unwrap()).unwrap();
            let mut request = request.with_principal(who[owner].clone());
            let sent = compressor.compress(&mut request, None, Moment::default());
            handles[owner].extend(Handle::all_in(text(&sent.body)));
        }
        for (owner, own) in handles.iter().enumerate() {
            for handle in own {
                let get = |p: &Principal| retrieve(compressor.blobs().as_ref(), p, &Ask::full(handle.id), Moment::default());
                prop_assert_eq!(get(&who[owner]).unwrap().text.chars().count() as u64, handle.chars);
                prop_assert_eq!(get(&who[1 - owner]).is_ok(), handles[1 - owner].contains(handle));
            }
        }
    }
}
