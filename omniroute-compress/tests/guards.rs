//! What every change must pass, and that receipts say what happened, in figures that fit together and without text.
#![expect(clippy::unwrap_used, reason = "helpers of tests stop like tests")]

mod common;

use std::sync::Arc;

use common::bodies::{paired, structure};
use common::engines::{Own, Words, compressor, only, run};
use common::random;
use omniroute_compress::{Compress, Compressed, ENGINES, MemoLimits};
use omniroute_core::{Edit, EngineError, EngineInfo, Loss, Replacement, wire};
use proptest::prelude::*;
use proptest::test_runner::{RngAlgorithm, TestRng, TestRunner};
use serde_json::{Value, json};

/// One result of a tool, on the wire that knows errors and sealed texts.
fn body(text: &str, is_error: bool, sealed: bool) -> Vec<u8> {
    let mut block = json!({"type": "text", "text": text});
    if sealed {
        block["citations"] = json!([{"type": "char_location"}]);
    }
    let result =
        json!({"type": "tool_result", "tool_use_id": "t1", "content": [block], "is_error": is_error});
    let call = json!({"type": "tool_use", "id": "t1", "name": "bash", "input": {"command": "make"}});
    let messages = json!([
        {"role": "user", "content": "go"},
        {"role": "assistant", "content": [call]},
        {"role": "user", "content": [result]},
    ]);
    serde_json::to_vec(&json!({"model": "claude-sonnet-4-5", "messages": messages})).unwrap()
}

/// What an engine makes of a text.
type Change = fn(&str) -> String;

const TEXT: &str = "step 1 of 9 is done and all of it went well\nstep 1 of 9 is done and all of it went well\nport 8080 is not open\n";

fn halve(text: &str) -> String {
    text.lines().skip(1).collect::<Vec<_>>().join("\n")
}

/// What the receipt says of the only step: the reason to keep the text, or nothing if it was changed.
fn reason(out: &Compressed) -> Option<&'static str> {
    let step = &out.receipt.steps[0];
    assert_eq!(step.segments_seen, 1);
    assert_eq!(out.receipt.applied, step.segments_changed == 1);
    assert_eq!(step.skips.len(), usize::from(!out.receipt.applied));
    step.skips.keys().next().copied()
}

#[test]
fn each_gate_passes_one_and_refuses_one() {
    let fewer = |text: &str| text.replace("8080", "");
    let table: [(&str, Loss, Change, Option<&str>); 10] = [
        ("shorter", Loss::Lossless, halve, None),
        ("larger", Loss::Lossless, |t| format!("{t}{t}"), Some("would_inflate")),
        ("as many tokens", Loss::Lossless, |t| t.replace("well", "fine"), Some("would_inflate")),
        ("empty", Loss::Lossless, |_| String::new(), Some("empty_result")),
        ("blank", Loss::Lossy, |_| " \n".to_owned(), Some("empty_result")),
        ("a number goes", Loss::Lossy, fewer, Some("fidelity_failed")),
        ("a number goes", Loss::Layout, fewer, Some("fidelity_failed")),
        ("a number goes", Loss::Lossless, fewer, None),
        ("no goes", Loss::Lossy, |t| t.replace("not ", ""), Some("fidelity_failed")),
        ("other words go", Loss::Lossy, |t| t.replace("all of it went well", ""), None),
    ];
    for (name, loss, change, wanted) in table {
        let out = run(
            &only(Own::says("own", loss, change), MemoLimits::none()),
            wire::ANTHROPIC,
            body(TEXT, false, false),
        );
        assert_eq!(reason(&out), wanted, "{name}, {loss:?}");
        assert_eq!(out.body != body(TEXT, false, false), wanted.is_none(), "{name}, {loss:?}");
    }
}

#[test]
fn texts_that_must_stay_are_not_even_offered() {
    let marked = format!("{TEXT}[same as bash make above, lines 1-20, 18 lines omitted]\n");
    let table = [
        (TEXT, true, false, Loss::Lossy, 0, Some("is_error")),
        (TEXT, true, false, Loss::Recoverable, 0, Some("is_error")),
        (TEXT, true, false, Loss::Lossless, 0, None),
        (TEXT, false, true, Loss::Lossless, 0, Some("frozen")),
        (TEXT, false, false, Loss::Lossless, TEXT.len() + 1, Some("below_min_bytes")),
        (TEXT, false, false, Loss::Lossless, TEXT.len(), None),
        (marked.as_str(), false, false, Loss::Lossless, 0, Some("already_compressed")),
    ];
    for (text, is_error, sealed, loss, min, wanted) in table {
        let info = EngineInfo::new("own", loss).min_bytes(min);
        let own = Own::new(info, |view, _| Ok(Edit::Replace(Replacement::new(halve(view.text())))));
        let out = run(&only(own.clone(), MemoLimits::none()), wire::ANTHROPIC, body(text, is_error, sealed));
        assert_eq!((reason(&out), own.calls()), (wanted, usize::from(wanted.is_none())), "{loss:?} {text}");
    }
}

/// The first step fails in some way; the text stays as it was for the second, which works.
#[test]
fn a_failing_engine_stops_nobody_else() {
    let fails = |id, error: fn() -> Result<Edit, EngineError>| {
        Own::new(EngineInfo::new(id, Loss::Lossless), move |_, _| error())
    };
    let table = [
        (fails("errs", || Err(EngineError::new("broken", "gave up"))), "engine_error", true),
        (fails("panics", || panic!("on purpose")), "engine_panic", true),
        (fails("keeps", || Ok(Edit::Keep("dislikes_it"))), "dislikes_it", false),
        (Own::says("grows", Loss::Lossless, |t| t.repeat(3)), "would_inflate", false),
    ];
    for (first, wanted, noted) in table {
        let id = first.info_id();
        let second = Own::says("halves", Loss::Lossless, halve);
        let compressor =
            Compress::builder().engine(first).engine(second).plan(format!("{id},halves")).build().unwrap();
        let out = run(&compressor, wire::ANTHROPIC, body(TEXT, false, false));
        assert_eq!(reason_of(&out, 0), [wanted]);
        assert!(out.receipt.applied && out.receipt.steps[1].segments_changed == 1, "{id}");
        assert_eq!(out.receipt.steps[0].tokens_in, out.receipt.steps[0].tokens_out);
        assert_eq!(out.receipt.notes.iter().any(|n| n.code == wanted), noted, "{id}");
        let alone = only(Own::says("halves", Loss::Lossless, halve), MemoLimits::none());
        assert_eq!(out.body, run(&alone, wire::ANTHROPIC, body(TEXT, false, false)).body);
    }
}

/// A request that is worked out in several forms tells of a failure as one does that is worked out once; and an engine that
/// looks at one text only is asked about each text once.
#[test]
fn what_went_wrong_is_told_in_every_form() {
    use common::agent::{Agent, long};
    use omniroute_core::{ChatRequest, Moment};
    use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
    for (fails, alone) in [(true, true), (false, true), (false, false)] {
        let asked = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&asked);
        let info = EngineInfo::new("own", Loss::Lossless);
        let own = Own::new(if alone { info.alone() } else { info }, move |_, _| {
            count.fetch_add(1, SeqCst);
            if fails { Err(EngineError::new("broken", "gave up")) } else { Ok(Edit::Keep("dislikes_it")) }
        });
        let mut agent = Agent::new(wire::OPENAI_CHAT, &["lookup"], "Go on.");
        (0..12).for_each(|n| agent.call("lookup", json!({"q": n}), long(n, 200)));
        let compressor = Compress::builder().engine(own).plan("own").build().unwrap();
        let mut request = ChatRequest::parse(agent.wire, agent.bytes()).unwrap();
        let options = omniroute_compress::CallOptions::default().target_tokens(15_000);
        let out = compressor.compress_with(&mut request, options, Moment::default());
        assert!(out.receipt.tokens_after < out.receipt.tokens_before, "there were two forms");
        assert_eq!(out.receipt.notes.iter().any(|note| note.code == "engine_error"), fails);
        let once = asked.load(SeqCst) == 12;
        assert_eq!(once, alone && !fails, "{fails} {alone}: asked {} times", asked.load(SeqCst));
    }
}

fn reason_of(out: &Compressed, step: usize) -> Vec<&'static str> {
    out.receipt.steps[step].skips.keys().copied().collect()
}

/// Escapes count: what is shorter as a text may be longer in the body, or as long.
#[test]
fn a_text_that_takes_as_much_room_in_the_body_stays() {
    let table: [(Change, Option<&str>); 3] = [
        (|t| "\u{1}".repeat(t.len()), Some("would_inflate")),
        (|t| "\t".repeat(t.len() / 2 + 3) + "x", Some("would_inflate")),
        (halve, None),
    ];
    for (change, wanted) in table {
        let (own, after) =
            (Own::says("own", Loss::Lossless, change), Own::says("after", Loss::Lossless, |t| t.into()));
        let build = Compress::builder().engine(own).engine(after).plan("own,after");
        let out = run(
            &build.tokenizer(Arc::new(Words)).build().unwrap(),
            wire::ANTHROPIC,
            body(TEXT, false, false),
        );
        assert_eq!(out.receipt.reverted, None);
        assert_eq!(reason_of(&out, 0).first().copied(), wanted);
        assert_eq!(out.receipt.applied, wanted.is_none());
        if wanted.is_some() {
            assert_eq!(out.body, body(TEXT, false, false));
            let step = &out.receipt.steps[0];
            assert_eq!((out.receipt.tokens_saved(), step.segments_changed), (0, 0));
            assert_eq!((step.tokens_in, step.tokens_out), (out.receipt.steps[1].tokens_in, step.tokens_in));
            assert!(out.receipt.edits.segments.is_empty());
        }
        identity(&out).unwrap();
        assert!(
            !out.receipt.counter.exact && out.receipt.counter.name == "words",
            "the counter says that it is not exact"
        );
    }
}

/// The savings of the steps compose to the saving of the whole, and nothing grew.
fn identity(out: &Compressed) -> Result<(), String> {
    let receipt = &out.receipt;
    let mut left = 1.0;
    let mut tokens = receipt.tokens_before;
    for step in &receipt.steps {
        // A figure that is off may be greater than the one it is taken from.
        let less = |from: u64, to: u64| i128::from(from) - i128::from(to);
        let saved = less(step.tokens_in, step.tokens_out);
        if step.request_tokens_in != tokens || saved != less(tokens, step.request_tokens_out) {
            return Err(format!("step {} does not go on where the one before ended", step.engine));
        }
        tokens = step.request_tokens_out;
        let saving = 1.0 - step.request_tokens_out as f64 / (step.request_tokens_in as f64).max(1.0);
        left *= 1.0 - saving;
    }
    let whole = receipt.tokens_after as f64 / (receipt.tokens_before as f64).max(1.0);
    let by_kind: u64 = receipt.by_kind.values().map(|k| k.tokens_after).sum();
    match () {
        () if receipt.tokens_before > 0 && !receipt.steps.is_empty() && (left - whole).abs() > 1e-9 => {
            Err(format!("steps leave {left}, the whole {whole}"))
        }
        () if tokens != receipt.tokens_after && !receipt.steps.is_empty() => {
            Err("the last step ends elsewhere".to_owned())
        }
        () if receipt.tokens_after > receipt.tokens_before => Err("more tokens than before".to_owned()),
        () if receipt.bytes_after > receipt.bytes_before => Err("more bytes than before".to_owned()),
        () if by_kind != receipt.tokens_after => Err("the kinds do not add up".to_owned()),
        () => Ok(()),
    }
}

fn deterministic(cases: u32) -> TestRunner {
    let config = ProptestConfig { cases, failure_persistence: None, ..ProptestConfig::default() };
    TestRunner::new_with_rng(config, TestRng::deterministic_rng(RngAlgorithm::ChaCha))
}

fn plans() -> impl Strategy<Value = String> {
    let ids: Vec<&'static str> = ENGINES.iter().map(|e| e.info.id).collect();
    let n = ids.len();
    prop::sample::subsequence(ids, 1..=n).prop_shuffle().prop_map(|ids| ids.join(","))
}

#[test]
fn figures_of_random_plans_fit_on_sessions_and_random_bodies() {
    let sessions = common::own();
    deterministic(24)
        .run(&(plans(), 0..sessions.len(), 1..40usize), |(plan, session, turn)| {
            let session = &sessions[session];
            let out = run(&compressor(&plan, MemoLimits::none()), session.wire, session.first(2 * turn));
            prop_assert_eq!(identity(&out), Ok(()), "{} {}", plan, session.name);
            Ok(())
        })
        .unwrap();
    // Never more tokens; structure and pairing as they were.
    deterministic(80)
        .run(&(plans(), random::talks(8)), |(plan, talk)| {
            for wire in random::WIRES {
                let session = random::session(wire, &talk);
                let body = session.first(session.messages().len());
                let out = run(&compressor(&plan, MemoLimits::none()), wire, body.clone());
                prop_assert_eq!(identity(&out), Ok(()), "{} {}", plan, session.name);
                prop_assert_eq!(structure(&out.body), structure(&body));
                prop_assert_eq!(paired(&out.body), paired(&body));
            }
            Ok(())
        })
        .unwrap();
    for session in common::all() {
        let body = session.first(session.messages().len());
        let out = run(&compressor("safe", MemoLimits::none()), session.wire, body.clone());
        assert_eq!(structure(&out.body), structure(&body), "{}", session.name);
        assert_eq!(identity(&out), Ok(()), "{}", session.name);
        assert!(
            paired(&body) > 0 || session.wire == wire::GEMINI || structure(&body) == structure(&out.body)
        );
    }
}

#[test]
fn the_checks_catch_figures_and_bodies_that_are_off() {
    let session = &common::own()[0];
    let body = session.first(60);
    let good = run(&compressor("safe", MemoLimits::none()), session.wire, body.clone());
    identity(&good).unwrap();
    let twins: [fn(&mut Compressed); 4] = [
        |out| out.receipt.steps[1].request_tokens_out += 1,
        |out| out.receipt.tokens_after -= 1,
        |out| out.receipt.steps.iter_mut().for_each(|s| s.tokens_out = s.tokens_in),
        |out| out.receipt.bytes_after = out.receipt.bytes_before + 1,
    ];
    for twin in twins {
        let mut out = good.clone();
        twin(&mut out);
        identity(&out).unwrap_err();
    }
    // A result that answers another call, a role that changed, a message that went.
    let text = String::from_utf8(body.clone()).unwrap();
    let id = text.split_once("\"tool_call_id\":\"").unwrap().1.split('"').next().unwrap();
    let other = text.replace(&format!("\"tool_call_id\":\"{id}\""), "\"tool_call_id\":\"other\"");
    assert!(paired(other.as_bytes()) < paired(&body) && structure(other.as_bytes()) != structure(&body));
    assert_ne!(
        structure(text.replacen("\"role\":\"tool\"", "\"role\":\"user\"", 1).as_bytes()),
        structure(&body)
    );
    let mut value: Value = serde_json::from_slice(&body).unwrap();
    value["messages"].as_array_mut().unwrap().pop();
    assert_ne!(structure(value.to_string().as_bytes()), structure(&body));
}
