//! What went wrong in other compressors, each by its number: the tests that are nowhere else, and a list of the places of all.

#![expect(clippy::unwrap_used, reason = "helpers of tests stop like tests")]

use omniroute_compress::{CallOptions, Compress, ToolOutput, compress};
use omniroute_core::wire::{self, Wire};
use omniroute_core::{ChatRequest, Estimator, Moment, Tokenizer, Transcript};
use serde_json::{Value, json};

mod common;

use common::agent::{Agent, WIRES, long};

const PLANS: [&str; 8] = ["lite", "rtk", "standard", "stacked", "aggressive", "ultra", "safe", "api-data"];

fn call(plan: &str, wire: Wire, body: &Value) -> omniroute_compress::Compressed {
    let compressor = Compress::builder().plan(plan).build().unwrap();
    let mut request = ChatRequest::parse(wire, body.to_string()).unwrap();
    compressor.compress(&mut request, None, Moment::default())
}

fn one_result(tool: &str, arguments: Value, text: &str) -> Value {
    let mut agent = Agent::new(wire::OPENAI_CHAT, &[tool], "Go on.");
    agent.call(tool, arguments, text);
    agent.body()
}

/// Pictures are neither counted nor changed as text.
#[test]
fn p12_pictures_are_no_text() {
    let data = "iVBORw0KGgoAAAANSUhEUgAA".repeat(4_000);
    let chat = json!({"model": "gpt-5", "messages": [{"role": "user", "content": [
        {"type": "text", "text": "what is this"},
        {"type": "image_url", "image_url": {"url": format!("data:image/png;base64,{data}")}}]}]});
    let claude = json!({"model": "claude-sonnet-4-5", "max_tokens": 9, "messages": [{"role": "user", "content": [
        {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": data}},
        {"type": "text", "text": "what is this"}]}]});
    for (wire, body) in [(wire::OPENAI_CHAT, &chat), (wire::ANTHROPIC, &claude)] {
        for plan in PLANS {
            let out = call(plan, wire, body);
            assert_eq!(out.body, body.to_string(), "{plan}");
            assert!(out.receipt.tokens_before < 3_000, "{plan}: {} tokens", out.receipt.tokens_before);
        }
    }
}

/// Nothing is cut by its length alone, and where a limit makes a cut it is counted and ends between characters.
#[test]
fn p13_no_cut_that_is_not_asked_for_and_none_that_is_not_counted() {
    let text = |of: usize| -> String {
        let line =
            |n: usize| format!("Zeile {of}.{n}: größer als {} — 測試 ünd so weiter\n", n * 37 + of * 1_009);
        (0..400).map(line).collect()
    };
    let body = one_result("lookup", json!({"q": 1}), &text(0));
    for plan in ["lite", "rtk", "safe"] {
        assert_eq!(call(plan, wire::OPENAI_CHAT, &body).body, body.to_string(), "{plan}");
    }
    let mut agent = Agent::new(wire::OPENAI_CHAT, &["lookup"], "Go on.");
    (0..12).for_each(|n| agent.call("lookup", json!({"q": n}), text(n)));
    let compressor = Compress::builder().build().unwrap();
    let mut request = ChatRequest::parse(wire::OPENAI_CHAT, agent.bytes()).unwrap();
    let options = CallOptions::default().target_tokens(20_000);
    let out = compressor.compress_with(&mut request, options, Moment::default());
    let sent: Value = serde_json::from_slice(&out.body).unwrap();
    let results = sent["messages"].as_array().unwrap().iter().filter(|m| m["role"] == "tool");
    let (mut cut, mut missing) = (0, 0);
    for (n, result) in results.enumerate() {
        let (now, before) = (result["content"].as_str().unwrap(), text(n));
        if now == before {
            continue;
        }
        cut += 1;
        let kept = |line: &&str| before.lines().any(|other| other == *line);
        missing += before.lines().count() - now.lines().filter(kept).count();
        let strange = now.lines().filter(|line| !kept(line)).collect::<Vec<_>>();
        assert!(strange.iter().all(|line| line.contains("omitted") || line.contains("lines")), "{strange:?}");
    }
    assert!(cut > 0);
    assert_eq!(out.receipt.dropped.lines, missing as u64, "what has gone is counted");
}

/// Nothing stands in for protected text, so nothing can leak or collide.
#[test]
fn p21_texts_that_look_like_placeholders_stay() {
    let signs = [
        "\u{e000}0\u{e001}",
        "__PROTECTED_0__",
        "⟦1⟧",
        "{{0}}",
        "<<CODE_0>>",
        "\u{1}3\u{1}",
        "§§0§§",
        "$1",
        "\\1",
    ];
    let prose = "I would really like you to please basically make sure that the very long sentence is rather shorter. ";
    let text = format!("{}{}{}", prose.repeat(5), signs.join(" and `code` "), prose.repeat(5));
    let body = json!({"model": "gpt-5", "messages": [
        {"role": "user", "content": text}, {"role": "assistant", "content": "ok"}, {"role": "user", "content": "go"}]});
    let out = call("standard", wire::OPENAI_CHAT, &body);
    let sent: Value = serde_json::from_slice(&out.body).unwrap();
    let now = sent["messages"][0]["content"].as_str().unwrap();
    assert!(now.len() < text.len(), "it was worked on");
    for sign in signs {
        assert_eq!(now.matches(sign).count(), text.matches(sign).count(), "{sign:?}");
    }
}

/// Short results keep their shape, and JSON stays JSON unless a table saves much.
#[test]
fn p25_short_results_keep_their_shape() {
    for text in [
        r#"[{"id": 1, "name": "a"}, {"id": 2, "name": "b"}]"#,
        r#"{"total": 2, "items": []}"#,
        "README.md\nsrc\n",
        "ok",
        "",
    ] {
        for plan in PLANS {
            let body = one_result("bash", json!({"command": "ls"}), text);
            assert_eq!(call(plan, wire::OPENAI_CHAT, &body).body, body.to_string(), "{plan}: {text}");
        }
    }
}

/// Every way in gives a receipt that says what was done or why not, on every wire.
#[test]
fn p26_every_way_in_works_and_tells() {
    let build: String = (0..200).map(|n| format!("   Compiling crate-{n} v1.0.{n}\n")).collect();
    for wire in WIRES {
        let mut agent = Agent::new(wire, &["bash"], "Build it.");
        agent.call("bash", json!({"command": "cargo build"}), build.clone());
        let bytes = agent.bytes();
        let compressor = Compress::builder().build().unwrap();
        let mut request = ChatRequest::parse(wire, bytes.clone()).unwrap();
        let outs = [
            compress(wire, bytes.clone()).unwrap(),
            compressor.compress(&mut request, None, Moment::default()),
            compressor.compress_body(None, bytes.clone(), Moment::default()).unwrap(),
        ];
        for (n, out) in outs.iter().enumerate() {
            assert!(out.receipt.applied && out.body.len() < bytes.len() / 2, "{wire:?} {n}");
            assert_eq!(out.body, outs[0].body, "{wire:?} {n}: all the same");
        }
        let off = Compress::builder().plan("off").build().unwrap();
        let out = off.compress_body(None, bytes.clone(), Moment::default()).unwrap();
        assert!(!out.receipt.applied && out.receipt.skipped.is_some(), "off says so");
        let out = compressor.compress_body(None, "no json", Moment::default()).unwrap();
        assert!(out.receipt.skipped.is_some() && out.body == "no json");
    }
    let text = Compress::builder().build().unwrap();
    let out =
        text.compress_output(ToolOutput::new(&build).command("cargo build"), Moment::default()).unwrap();
    assert!(out.text.len() < build.len() / 2);
}

/// The receipt tells of the bytes that are sent.
#[test]
fn p28_the_receipt_is_about_what_was_sent() {
    for session in common::own() {
        let body = session.first(usize::MAX);
        for plan in PLANS {
            let compressor = Compress::builder().plan(plan).build().unwrap();
            let mut request = ChatRequest::parse(session.wire, body.clone()).unwrap();
            let out = compressor.compress(&mut request, None, Moment::default());
            let raw = ChatRequest::parse(session.wire, body.clone()).unwrap();
            let (was, is) = (Transcript::of(&raw).unwrap(), Transcript::of(&request).unwrap());
            let pairs = was.segments().iter().zip(is.segments());
            let changed = pairs.filter(|(a, b)| a.raw() != b.raw()).count();
            assert_eq!(out.receipt.edits.segments.len(), changed, "{} {plan}", session.name);
            assert_eq!(out.receipt.applied, changed > 0, "{} {plan}", session.name);
            assert_eq!(out.receipt.bytes_after, out.body.len() as u64);
        }
    }
}

/// One counter for all figures, and it has a name.
#[test]
fn p30_all_figures_come_from_one_counter() {
    for session in common::own() {
        let body = session.first(usize::MAX);
        let out = compress(session.wire, body.clone()).unwrap();
        let raw = ChatRequest::parse(session.wire, body).unwrap();
        let model = raw.head().model.map(|m| m.decode().into_owned()).unwrap_or_default();
        let counter = Estimator::for_model(&model);
        assert_eq!(out.receipt.counter.name, counter.id(), "{}", session.name);
        let sent = ChatRequest::from_doc(session.wire, omniroute_core::Doc::parse(out.body.clone()).unwrap());
        for (request, told) in [(&raw, out.receipt.tokens_before), (&sent, out.receipt.tokens_after)] {
            let transcript = Transcript::of(request).unwrap();
            let sum: u64 = transcript.segments().iter().map(|s| u64::from(counter.count(s.original()))).sum();
            assert_eq!(sum, told, "{}", session.name);
        }
        let by_kind: u64 = out.receipt.by_kind.values().map(|kind| kind.tokens_after).sum();
        assert_eq!(by_kind, out.receipt.tokens_after);
    }
}

/// Nothing is added that costs more than it saves.
#[test]
fn p40_no_request_becomes_larger() {
    let mut bodies: Vec<(Wire, Vec<u8>)> = Vec::new();
    for session in common::own() {
        bodies.extend(session.cuts(6).into_iter().map(|n| (session.wire, session.first(n))));
    }
    for wire in WIRES {
        let mut agent = Agent::new(wire, &["lookup"], "Hi.");
        bodies.push((wire, agent.bytes()));
        agent.call("lookup", json!({"q": 1}), long(1, 40));
        bodies.push((wire, agent.bytes()));
    }
    for plan in PLANS {
        let compressor = Compress::builder().plan(plan).build().unwrap();
        for (wire, body) in &bodies {
            let mut request = ChatRequest::parse(*wire, body.clone()).unwrap();
            let out = compressor.compress(&mut request, None, Moment::default());
            assert!(out.body.len() <= body.len(), "{plan} {wire:?}");
            assert!(out.receipt.tokens_after <= out.receipt.tokens_before, "{plan} {wire:?}");
        }
    }
}

/// Where each fault is tested: number, file, test.
const PLACES: [(u8, &str, &str); 46] = [
    (1, "meaning", "these_stay_as_they_are_at_every_level"),
    (2, "examined", "what_must_stay_stays"),
    (3, "prefix_stability", "every_session_is_sent_append_only_with_memo_without_and_evicted"),
    (4, "recoverable_laws", "pairs_signed_and_opaque_blocks_never_change"),
    (5, "recoverable_laws", "pairs_signed_and_opaque_blocks_never_change"),
    (6, "recoverable_laws", "pairs_signed_and_opaque_blocks_never_change"),
    (7, "caveman", "a_signed_message_stays_even_where_texts_of_the_model_are_opened"),
    (8, "dedup_rules", "append_only_plans_touch_results_only_and_leave_files_alone"),
    (9, "rows", "null_and_absent_stay_apart"),
    (10, "ionizer", "telling_rows_stay_and_counts_are_exact"),
    (11, "rows", "number_spelling_is_kept"),
    (12, "pitfalls", "p12_pictures_are_no_text"),
    (13, "pitfalls", "p13_no_cut_that_is_not_asked_for_and_none_that_is_not_counted"),
    (14, "ccr", "what_was_fetched_stays_as_it_is"),
    (15, "guards", "texts_that_must_stay_are_not_even_offered"),
    (16, "ccr", "a_tool_that_comes_later_is_not_used_until_the_record_is_lost"),
    (17, "ccr", "only_the_owner_can_fetch_and_others_learn_nothing"),
    (18, "growth", "doubled_inputs_cost_at_most_twice"),
    (19, "preserve", "hard_patterns_take_linear_time"),
    (20, "prefix_stability", "moving_cache_markers_changes_no_text"),
    (21, "pitfalls", "p21_texts_that_look_like_placeholders_stay"),
    (22, "pitfalls", "p12_pictures_are_no_text"),
    (23, "rewrite", "a_stale_read_goes_only_if_it_can_be_fetched"),
    (24, "budget", "task_constraints_pairs_facts_and_the_latest_stay"),
    (25, "pitfalls", "p25_short_results_keep_their_shape"),
    (26, "pitfalls", "p26_every_way_in_works_and_tells"),
    (27, "secrets_and_mistakes", "unknown_names_are_errors_that_name_them"),
    (28, "pitfalls", "p28_the_receipt_is_about_what_was_sent"),
    (29, "caveman", "steps_that_did_nothing_have_figures_and_reasons"),
    (30, "pitfalls", "p30_all_figures_come_from_one_counter"),
    // There is no trigger by size: a request is worked on or the plan is `off`.
    (31, "pitfalls", "p26_every_way_in_works_and_tells"),
    (32, "caveman", "developer_texts_are_system_texts_and_odd_shapes_come_back"),
    (33, "caveman", "mixed_texts_get_no_blanks_and_lose_no_parts_of_words"),
    (34, "meaning", "long_runs_come_back"),
    (35, "guards", "a_failing_engine_stops_nobody_else"),
    (36, "rewrite", "structure_ids_and_errors_stay_and_everything_can_be_fetched"),
    (37, "ccr_loop", "what_is_left_out_is_fetched_and_stays_on_every_wire"),
    (38, "ccr", "tenants_stay_apart"),
    (39, "caveman", "only_the_users_long_text_changes_and_the_receipt_names_the_rules"),
    (40, "pitfalls", "p40_no_request_becomes_larger"),
    (41, "caveman", "only_the_users_long_text_changes_and_the_receipt_names_the_rules"),
    (42, "caveman", "white_space_and_line_ends_of_code_in_prose_stay"),
    (43, "caveman", "white_space_and_line_ends_of_code_in_prose_stay"),
    (44, "secrets_and_mistakes", "receipts_and_debug_forms_hold_no_text"),
    (45, "lossless_only", "every_recorded_session_comes_back_byte_for_byte"),
    (46, "caveman", "styles_stand_in_the_first_request_and_stay"),
];

#[test]
fn every_known_fault_has_its_test() {
    let files = [
        ("budget", include_str!("budget.rs")),
        ("caveman", include_str!("caveman.rs")),
        ("ccr", include_str!("ccr.rs")),
        ("ccr_loop", include_str!("ccr_loop.rs")),
        ("dedup_rules", include_str!("dedup_rules.rs")),
        ("examined", include_str!("../src/caveman/tests/examined.rs")),
        ("growth", include_str!("growth.rs")),
        ("guards", include_str!("guards.rs")),
        ("ionizer", include_str!("../src/engines/ionizer/mod.rs")),
        ("lossless_only", include_str!("lossless_only.rs")),
        ("meaning", include_str!("../src/caveman/tests/meaning.rs")),
        ("pitfalls", include_str!("pitfalls.rs")),
        ("prefix_stability", include_str!("prefix_stability.rs")),
        ("preserve", include_str!("../src/caveman/preserve.rs")),
        ("recoverable_laws", include_str!("recoverable_laws.rs")),
        ("rewrite", include_str!("rewrite.rs")),
        ("rows", include_str!("../src/engines/rows/tests.rs")),
        ("secrets_and_mistakes", include_str!("secrets_and_mistakes.rs")),
    ];
    let is_there = |name: &str, test: &str| {
        let (_, text) = files.iter().find(|(file, _)| *file == name).unwrap_or_else(|| panic!("{name}"));
        text.lines().any(|line| line.trim_start().starts_with(&format!("fn {test}(")))
    };
    for (number, file, test) in PLACES {
        assert!(is_there(file, test), "{number}: {file} has no test {test}");
    }
    assert!(!is_there("ccr", "a_test_that_is_nowhere"));
    assert!(PLACES.iter().map(|(number, ..)| *number).eq(1..=46));
}
