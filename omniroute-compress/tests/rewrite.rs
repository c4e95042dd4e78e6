//! Rewrite points: where older turns change their form, that they do it there only, and that it pays.
#![expect(clippy::unwrap_used, reason = "helpers of tests stop like tests")]

mod common;

use std::collections::HashSet;
use std::sync::Arc;

use bytes::Bytes;
use common::agent::{Agent, Turn, WIRES, long};
use common::bodies::{raw_messages, structure};
use omniroute_compress::ccr::{Ask, Handle, TOOL, retrieve};
use omniroute_compress::cost::{CachePolicy, Prices};
use omniroute_compress::{
    CallOptions, Compress, CompressBuilder, Compressed, MemoLimits, MemorySessions, Rewrite, expand,
};
use omniroute_core::{
    ChatRequest, CompressionEngine, EngineContext, EngineError, EngineInfo, History, Loss, Moment, Mono,
    Principal, Replacement, SegmentKind, SessionId, Transcript, UnixMs,
    wire::{self, Wire},
};
use serde_json::{Value, json};

/// One call: tool, arguments, result, whether it is an error.
#[derive(Debug, Clone)]
struct Call {
    tool: &'static str,
    arguments: Value,
    text: String,
    is_error: bool,
}

fn read(path: &str, text: String) -> Call {
    Call { tool: "read", arguments: json!({"path": path}), text, is_error: false }
}

fn ask(n: usize, text: String) -> Call {
    Call { tool: "lookup", arguments: json!({"n": n}), text, is_error: false }
}

/// A conversation of an agent on a wire.
fn body(wire: Wire, with_tool: bool, calls: &[Call]) -> Value {
    let tools: &[&str] = if with_tool { &["read", TOOL] } else { &["read"] };
    let mut agent = Agent::new(wire, tools, "Find it.");
    agent.turns = calls
        .iter()
        .map(|call| Turn::Call {
            tool: call.tool.to_owned(),
            arguments: call.arguments.clone(),
            text: call.text.clone(),
            is_error: call.is_error,
        })
        .collect();
    agent.body()
}

fn at(second: i64) -> Moment {
    Moment { mono: Mono(second as u64 * 1_000_000_000), wall: UnixMs(second * 1_000) }
}

fn builder() -> CompressBuilder {
    Compress::builder()
}

fn send(compressor: &Compress, wire: Wire, body: &Value, second: i64) -> Compressed {
    compressor.compress_body(Some(wire), serde_json::to_vec(body).unwrap(), at(second)).unwrap()
}

fn text(body: &Bytes) -> &str {
    std::str::from_utf8(body).unwrap()
}

/// Twenty long answers.
fn calls(count: usize) -> Vec<Call> {
    (0..count).map(|n| ask(n, long(n, 300))).collect()
}

/// Messages without the note.
fn messages(body: &Bytes) -> Vec<String> {
    raw_messages(body).into_iter().filter(|message| !message.contains("[CCR protocol]")).collect()
}

#[test]
fn without_a_cold_cache_nothing_older_changes() {
    for wire in WIRES {
        let never = builder().rewrite(Rewrite::Never).build().unwrap();
        let cold_only = builder().build().unwrap();
        for (n, second) in [(5, 100), (12, 200), (20, 350), (21, 640)] {
            let body = body(wire, true, &calls(n));
            let sent = send(&cold_only, wire, &body, second);
            assert_eq!(sent.body, send(&never, wire, &body, second).body, "{} {n}", wire.id());
            assert_eq!(sent.receipt.rewrite, None);
        }
    }
}

#[test]
fn a_cold_cache_is_used_once_and_everything_after_it_is_append_only() {
    for wire in WIRES {
        let sessions = Arc::new(MemorySessions::default());
        let compressor = builder().sessions(sessions.clone()).build().unwrap();
        let never = builder().rewrite(Rewrite::Never).build().unwrap();
        let before = send(&compressor, wire, &body(wire, true, &calls(20)), 1_000);
        assert!(!text(&before.body).contains("[CCR retrieve hash=") || before.receipt.rewrite.is_none());
        let rewritten = send(&compressor, wire, &body(wire, true, &calls(21)), 2_000);
        let report = rewritten.receipt.rewrite.clone().unwrap();
        assert!(report.done && report.reason == "cold" && report.texts == 13, "{report:?}");
        assert!(
            report.tokens_saved > 10_000 && report.cost_now_pico < 0 && report.pays_after_turns == Some(0)
        );
        assert!(rewritten.receipt.tokens_after < before.receipt.tokens_after);
        // The next turns keep the form, with what is remembered and without the memo.
        let whole = send(&compressor, wire, &body(wire, true, &calls(30)), 2_100);
        assert_eq!(whole.receipt.rewrite, None);
        let forgetful = builder().sessions(sessions.clone()).memo(MemoLimits::none()).build().unwrap();
        for compressor in [&compressor, &forgetful] {
            for n in 21..30 {
                let part = messages(&send(compressor, wire, &body(wire, true, &calls(n)), 2_200).body);
                assert_eq!(part, messages(&whole.body)[..part.len()], "{} {n}", wire.id());
            }
        }
        // The last answers are as they came.
        let tail = messages(&rewritten.body);
        let given = messages(&Bytes::from(serde_json::to_vec(&body(wire, true, &calls(21))).unwrap()));
        assert_eq!(tail[tail.len() - 16..], given[given.len() - 16..]);
        // A lost record costs a cache miss and nothing else.
        sessions.clear();
        let lost = send(&compressor, wire, &body(wire, true, &calls(30)), 2_300);
        assert_eq!(lost.body, send(&never, wire, &body(wire, true, &calls(30)), 2_300).body, "{}", wire.id());
    }
}

#[test]
fn structure_ids_and_errors_stay_and_everything_can_be_fetched() {
    let wire = wire::ANTHROPIC;
    let mut calls = calls(24);
    calls[3].is_error = true;
    calls[5] = read("src/a.rs", long(99, 300));
    let body = body(wire, true, &calls);
    let compressor = builder().build().unwrap();
    let mut request = ChatRequest::parse(wire, serde_json::to_vec(&body).unwrap()).unwrap();
    let sent = compressor.compress_with(&mut request, CallOptions::default().cold(true), at(10));
    assert!(sent.receipt.rewrite.clone().unwrap().done);
    let (before, after) = (serde_json::to_vec(&body["messages"]).unwrap(), &sent.body);
    let after: Value = serde_json::from_slice(after).unwrap();
    let wrapped = |list: &[u8]| format!("{{\"messages\":{}}}", std::str::from_utf8(list).unwrap());
    assert_eq!(
        structure(wrapped(&before).as_bytes()),
        structure(wrapped(&serde_json::to_vec(&after["messages"]).unwrap()).as_bytes()),
        "messages, roles, ids and pairs"
    );
    let result = |n: usize| {
        after["messages"][2 + 2 * n]["content"][0]["content"][0]["text"].as_str().unwrap().to_owned()
    };
    assert_eq!(result(3), calls[3].text, "an error stays");
    assert_eq!(result(5), calls[5].text, "the latest state of a file stays");
    for n in [0, 1, 2, 4, 6, 15] {
        let handle = Handle::all_in(&result(n)).next().unwrap();
        let fetched =
            retrieve(compressor.blobs().as_ref(), &Principal::default(), &Ask::full(handle.id), at(11));
        let full = compressor
            .retrieve(&Principal::default(), &json!({"hash": handle.to_string()}).to_string(), at(11))
            .unwrap();
        assert!(fetched.is_ok() && full.text == calls[n].text);
        assert!(result(n).starts_with("entry "), "first words stay in sight");
    }
    assert_eq!(result(16), calls[16].text, "the live tail stays");
}

/// Without the tool nothing is taken out that could not be computed back.
#[test]
fn older_reads_go_where_a_newer_one_contains_them() {
    for wire in WIRES {
        for lossless_only in [false, true] {
            let part: String = long(1, 60);
            let whole = long(7, 10) + &part + &long(8, 10);
            let mut calls = vec![
                read("src/a.rs", part.clone()),
                read("./src/b.rs", long(2, 60)),
                ask(0, "edited".to_owned()),
                read("src/./a.rs", whole.clone()),
                read("src/c.rs", long(3, 60)),
                read("src/c.rs", long(4, 60)),
            ];
            calls.extend((0..8).map(|n| ask(n, format!("small {n}"))));
            let body = body(wire, false, &calls);
            let bytes = serde_json::to_vec(&body).unwrap();
            let compressor = builder().plan("read-lifecycle").lossless_only(lossless_only).build().unwrap();
            let mut request = ChatRequest::parse(wire, bytes.clone()).unwrap();
            let sent = compressor.compress_with(&mut request, CallOptions::default().cold(true), at(10));
            let shown = text(&sent.body);
            assert_eq!(shown.matches("superseded by a later read below]").count(), 1, "{}", wire.id());
            assert!(shown.contains("[older read of src/a.rs, 60 lines: superseded by a later read below]"));
            let back = expand(&request, &sent.receipt.edits).unwrap();
            assert_eq!(back.body, bytes, "{}", wire.id());
            assert!(back.not_restored.is_empty());
        }
    }
}

#[test]
fn a_stale_read_goes_only_if_it_can_be_fetched() {
    let wire = wire::OPENAI_CHAT;
    let mut calls = vec![read("a.rs", long(1, 60)), ask(0, "edited".to_owned()), read("a.rs", long(2, 60))];
    calls.extend((0..8).map(|n| ask(n, format!("small {n}"))));
    for (with_tool, count) in [(false, 0), (true, 1)] {
        let compressor = builder().plan("read-lifecycle,ccr").build().unwrap();
        let body = body(wire, with_tool, &calls);
        let mut request = ChatRequest::parse(wire, serde_json::to_vec(&body).unwrap()).unwrap();
        let sent = compressor.compress_with(&mut request, CallOptions::default().cold(true), at(10));
        assert_eq!(text(&sent.body).matches("[older read of a.rs, 60 lines").count(), count);
    }
    // Only edited, never read again: kept.
    let mut calls = vec![read("a.rs", long(1, 60)), ask(0, "edited".to_owned())];
    calls.extend((0..9).map(|n| ask(n, format!("small {n}"))));
    let body = body(wire, true, &calls);
    let compressor = builder().build().unwrap();
    let mut request = ChatRequest::parse(wire, serde_json::to_vec(&body).unwrap()).unwrap();
    let sent = compressor.compress_with(&mut request, CallOptions::default().cold(true), at(10));
    assert!(!text(&sent.body).contains("older read"));
}

/// At thresholds the same history is rewritten at the same places, whoever asks and whatever is remembered; each text
/// changes its form at most once.
#[test]
fn thresholds_need_no_memory() {
    for wire in WIRES {
        let make = |memo: MemoLimits| {
            let rewrite = Rewrite::Threshold { every_tokens: 20_000 };
            builder().rewrite(rewrite).cache(CachePolicy::openai()).prices(half()).memo(memo).build().unwrap()
        };
        let remembering = make(MemoLimits::default());
        let mut forms: Vec<HashSet<String>> = Vec::new();
        let mut done = 0;
        for n in 1..26 {
            let body = body(wire, true, &calls(n));
            let sent = send(&remembering, wire, &body, 10);
            done += usize::from(sent.receipt.rewrite.as_ref().is_some_and(|r| r.done));
            assert_eq!(
                sent.body,
                send(&make(MemoLimits::none()), wire, &body, 99_999).body,
                "{} {n}",
                wire.id()
            );
            for (at, message) in messages(&sent.body).into_iter().enumerate() {
                if forms.len() <= at {
                    forms.push(HashSet::new());
                }
                forms[at].insert(message);
            }
        }
        assert!(done >= 2, "{} {done}", wire.id());
        assert!(forms.iter().all(|forms| forms.len() <= 2), "{}", wire.id());
        assert!(forms.iter().any(|forms| forms.len() == 2));
    }
}

fn half() -> Prices {
    Prices::from_pico(2_500_000, 10_000_000, 1_250_000, 2_500_000)
}

#[test]
fn what_does_not_pay_is_not_done() {
    let wire = wire::OPENAI_CHAT;
    // One long answer at the start, then a long rest that would have to be sent again.
    let mut calls = vec![ask(0, long(0, 260))];
    calls.extend((1..60).map(|n| ask(n, long(n, 100))));
    let rewrite = Rewrite::Threshold { every_tokens: 50_000 };
    let dear = Prices::from_pico(3_000_000, 15_000_000, 30_000, 3_750_000);
    let compressor = builder().rewrite(rewrite).prices(dear).build().unwrap();
    let never = builder().rewrite(Rewrite::Never).build().unwrap();
    let mut refused = 0;
    for n in 1..60 {
        let body = body(wire, true, &calls[..n]);
        let sent = send(&compressor, wire, &body, 10);
        assert_eq!(sent.body, send(&never, wire, &body, 10).body);
        if let Some(report) = sent.receipt.rewrite {
            assert!(!report.done && report.cost_now_pico > 0, "{report:?}");
            refused += 1;
        }
    }
    assert!(refused > 0, "the forecast is in the receipt also where nothing is done");
}

/// The twin: a rewrite on every turn breaks what was sent, and the same comparison shows it.
#[test]
fn a_rewrite_on_every_turn_is_caught() {
    let wire = wire::ANTHROPIC;
    let compressor = builder().rewrite(Rewrite::Always).build().unwrap();
    let whole = messages(&send(&compressor, wire, &body(wire, true, &calls(30)), 10).body);
    let broken = (9..30).any(|n| {
        let part = messages(&send(&compressor, wire, &body(wire, true, &calls(n)), 10).body);
        part != whole[..part.len()]
    });
    assert!(broken);
}

#[test]
fn sessions_and_tenants_do_not_share_a_rewrite() {
    let wire = wire::ANTHROPIC;
    let compressor = builder().build().unwrap();
    let bytes = serde_json::to_vec(&body(wire, true, &calls(20))).unwrap();
    let send = |principal: &str, session: &str, cold: bool| {
        let request =
            ChatRequest::parse(wire, bytes.clone()).unwrap().with_principal(Principal::new(principal));
        let mut request = request.with_session(SessionId::new(session));
        let options = CallOptions::default().cold(cold);
        compressor.compress_with(&mut request, options, at(10)).body
    };
    let plain = send("a", "other", false);
    let rewritten = send("a", "s", true);
    assert_ne!(plain, rewritten);
    assert_eq!(send("a", "s", false), rewritten, "kept while warm");
    assert_eq!(send("a", "third", false), plain);
    assert_eq!(send("b", "s", false), plain);
}

#[test]
fn a_client_that_changes_its_history_frees_what_follows() {
    let wire = wire::ANTHROPIC;
    let compressor = builder().build().unwrap();
    let send = |calls: &[Call], second| {
        let request =
            ChatRequest::parse(wire, serde_json::to_vec(&body(wire, true, calls)).unwrap()).unwrap();
        let mut request = request.with_session(SessionId::new("s"));
        compressor.compress_with(&mut request, CallOptions::default(), at(second)).receipt.rewrite
    };
    let mut calls = calls(24);
    assert_eq!(send(&calls[..20], 100), None);
    assert_eq!(send(&calls[..22], 110), None);
    calls[0].text = "changed by the client".to_owned();
    let report = send(&calls, 120).unwrap();
    assert!(report.done && report.reason == "history_changed" && report.tokens_resent == 0, "{report:?}");
}

/// Every recorded session at a cold point and at half of its size: results change, nothing else does.
#[test]
fn rewrites_and_cuts_touch_results_only() {
    for session in common::all() {
        for with_tool in [false, true] {
            // On the other wires the note becomes part of a text.
            if with_tool && !matches!(session.wire.id(), "openai-chat" | "anthropic-messages") {
                continue;
            }
            let session = if with_tool { session.with_tool(TOOL) } else { session.clone() };
            let bytes = serde_json::to_vec(&session.body).unwrap();
            let compressor = builder().build().unwrap();
            let mut given = ChatRequest::parse(session.wire, bytes.clone()).unwrap();
            let before = others(&given);
            let plain =
                compressor.compress_with(&mut given, CallOptions::default().cold(false), at(5)).receipt;
            for options in [
                CallOptions::default().cold(true),
                CallOptions::default().cold(false).target_tokens(plain.tokens_after / 2),
            ] {
                let mut request = ChatRequest::parse(session.wire, bytes.clone()).unwrap();
                let sent = builder().build().unwrap().compress_with(&mut request, options, at(10));
                assert_eq!(others(&request), before, "{} {options:?}", session.name);
                assert_eq!(sent.receipt.reverted, None);
                assert!(sent.receipt.tokens_after <= plain.tokens_after, "{}", session.name);
                assert_eq!(common::bodies::paired(&sent.body), common::bodies::paired(&bytes));
            }
        }
    }
}

/// Kind and bytes of every text that is no result, the note aside.
fn others(request: &ChatRequest) -> Vec<(SegmentKind, Vec<u8>)> {
    let transcript = Transcript::of(request).unwrap();
    let other = |s: &&omniroute_core::Segment<'_>| {
        s.kind != SegmentKind::ToolResult && !s.original().starts_with("[CCR protocol]")
    };
    transcript.segments().iter().filter(other).map(|s| (s.kind, s.raw().to_vec())).collect()
}

/// An engine that would replace everything.
#[derive(Debug)]
struct Greedy;

const GREEDY: EngineInfo = EngineInfo::new("greedy", Loss::Lossy).targets(&[]).rewrites_history();

impl CompressionEngine for Greedy {
    fn info(&self) -> &EngineInfo {
        &GREEDY
    }

    fn history(&self, past: &mut History<'_, '_>, _: &EngineContext<'_>) -> Result<(), EngineError> {
        for index in 0..past.segments().len() {
            past.replace("greedy", index, Replacement::new("gone".to_owned()));
        }
        Ok(())
    }
}

/// Signed, opaque and other texts are out of reach of any engine; the comparison that says so sees a changed one.
#[test]
fn nothing_but_old_results_can_be_replaced() {
    let mut calls = calls(12);
    calls[1].is_error = true;
    let mut body = body(wire::ANTHROPIC, false, &calls);
    let thinking =
        json!({"type": "thinking", "thinking": "a long thought that is signed", "signature": "abc"});
    body["messages"][5]["content"].as_array_mut().unwrap().insert(0, thinking);
    let opaque = json!({"type": "server_tool_use", "id": "s1", "name": "web", "input": {"q": "long words"}});
    body["messages"][7]["content"].as_array_mut().unwrap().insert(0, opaque);
    let bytes = serde_json::to_vec(&body).unwrap();
    let compressor = builder().engine(Arc::new(Greedy)).plan("greedy").build().unwrap();
    let mut request = ChatRequest::parse(wire::ANTHROPIC, bytes.clone()).unwrap();
    let before = others(&request);
    let sent = compressor.compress_with(&mut request, CallOptions::default().cold(true), at(10));
    assert_eq!(others(&request), before);
    let value: Value = serde_json::from_slice(&sent.body).unwrap();
    for at in [5, 7] {
        assert_eq!(value["messages"][at], body["messages"][at]);
    }
    let result =
        |n: usize| value["messages"][2 + 2 * n]["content"][0]["content"][0]["text"].as_str().unwrap();
    assert_eq!((result(0), result(2), result(3)), ("gone", "gone", "gone"));
    assert!(result(1) == calls[1].text && result(4) == calls[4].text, "an error and the live tail stay");
    // The twin.
    let changed = text(&Bytes::from(bytes)).replace("Find it.", "Lose it.");
    assert_ne!(others(&ChatRequest::parse(wire::ANTHROPIC, changed).unwrap()), before);
}

#[test]
fn conversations_that_start_alike_keep_their_rewrites() {
    let wire = wire::ANTHROPIC;
    let compressor = builder().build().unwrap();
    let (one, other) = (calls(20), (0..20).map(|n| ask(n, long(n + 500, 300))).collect::<Vec<_>>());
    send(&compressor, wire, &body(wire, true, &one), 1_000);
    let rewritten = send(&compressor, wire, &body(wire, true, &one), 2_000);
    assert!(rewritten.receipt.rewrite.clone().unwrap().done);
    assert_eq!(send(&compressor, wire, &body(wire, true, &other), 2_010).receipt.rewrite, None);
    assert_eq!(send(&compressor, wire, &body(wire, true, &one), 2_020).body, rewritten.body);
}

/// A search in a file is not its latest state.
#[test]
fn a_search_does_not_take_the_place_of_a_read() {
    for wire in WIRES {
        let mut calls = vec![
            read("src/a.rs", long(1, 300)),
            Call {
                tool: "grep",
                arguments: json!({"pattern": "entry", "path": "src/a.rs"}),
                text: long(2, 300),
                is_error: false,
            },
        ];
        calls.extend((0..9).map(|n| ask(n, format!("small {n}"))));
        let body = body(wire, true, &calls);
        let mut request = ChatRequest::parse(wire, serde_json::to_vec(&body).unwrap()).unwrap();
        let compressor = builder().build().unwrap();
        compressor.compress_with(&mut request, CallOptions::default().cold(true), at(10));
        let transcript = Transcript::of(&request).unwrap();
        let results = transcript.segments().iter().filter(|s| s.kind == SegmentKind::ToolResult);
        let shown: Vec<bool> =
            results.map(|s| s.original().contains("[CCR retrieve hash=")).take(2).collect();
        assert_eq!(shown, [false, true], "{}", wire.id());
    }
}
