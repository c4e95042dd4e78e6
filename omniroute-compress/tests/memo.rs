//! What a compressor remembers changes the work and never the outcome, and no tenant sees another's.
#![expect(clippy::unwrap_used, reason = "helpers of tests stop like tests")]

mod common;

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use bytes::Bytes;
use common::engines::{Own, compressor, only, run};
use common::prefix::shuffled;
use common::{Session, random};
use omniroute_compress::{Compress, Compressed, MemoLimits, Step};
use omniroute_core::{
    ChatRequest, CompressReceipt, Compressor, Edit, EngineInfo, Loss, MemoUse, Moment, Mono, Principal,
    Replacement, SegmentId, SegmentKind, Tokenizer, Transcript,
};

/// Everything of a receipt but what tells how much was known.
fn outcome(out: &Compressed) -> (Bytes, CompressReceipt) {
    let mut receipt = out.receipt.clone();
    receipt.memo = MemoUse::default();
    receipt.engine_bytes = 0;
    (out.body.clone(), receipt)
}

/// Over some lengths of a session: `remembering` must give what `plain` gives.
fn same_outcome(
    session: &Session,
    cuts: &[usize],
    remembering: &mut dyn FnMut(Vec<u8>) -> Compressed,
    plain: &Compress,
) -> Result<(), String> {
    for &cut in cuts {
        let body = session.first(cut);
        let (with, without) = (outcome(&remembering(body.clone())), outcome(&run(plain, session.wire, body)));
        if with.0 != without.0 {
            return Err(format!("{}: other bytes at {cut}", session.name));
        }
        if with.1 != without.1 {
            return Err(format!(
                "{}: another receipt at {cut}: {:?} and {:?}",
                session.name, with.1, without.1
            ));
        }
    }
    Ok(())
}

#[test]
fn bytes_and_receipts_are_the_same_with_and_without_memo() {
    for session in common::all() {
        let cuts = session.cuts(4);
        let (with, without) =
            (compressor("safe", MemoLimits::default()), compressor("safe", MemoLimits::none()));
        let mut send = |body| run(&with, session.wire, body);
        same_outcome(&session, &cuts, &mut send, &without).unwrap();
        // Once more, now that all is known.
        let body = session.first(*cuts.last().unwrap());
        let again = run(&with, session.wire, body);
        assert_eq!((again.receipt.memo.misses, again.receipt.engine_bytes), (0, 0));
    }
}

#[test]
fn a_memo_that_keeps_too_little_of_a_result_is_caught() {
    // The twin: remembers every body as it was sent, and with it a receipt of the first time.
    let session = &common::own()[5];
    let cuts = session.cuts(3);
    let plain = compressor("safe", MemoLimits::none());
    let mut first: Option<CompressReceipt> = None;
    let mut forgetting = |body: Vec<u8>| {
        let mut out = run(&plain, session.wire, body);
        out.receipt = first.get_or_insert(out.receipt).clone();
        out
    };
    same_outcome(session, &cuts, &mut forgetting, &plain).unwrap_err();
}

/// An engine that writes down which texts it was asked about and halves them.
fn noting() -> (Arc<Own>, Arc<Mutex<Vec<SegmentId>>>) {
    let asked = Arc::new(Mutex::new(Vec::new()));
    let notes = asked.clone();
    let engine = Own::new(EngineInfo::new("notes", Loss::Lossless), move |view, _| {
        notes.lock().unwrap().push(view.this().id);
        let half = view.text().chars().take(view.text().chars().count() / 2).collect::<String>();
        Ok(Edit::Replace(Replacement::new(half)))
    });
    (engine, asked)
}

/// Places of the tool results of a body that are not among the first `known` messages.
fn results_after(session: &Session, body: Vec<u8>, known: usize) -> Vec<SegmentId> {
    let request = ChatRequest::parse(session.wire, body).unwrap();
    let transcript = Transcript::of(&request).unwrap();
    let fresh = |id: &SegmentId| id.message as usize >= known;
    transcript
        .segments()
        .iter()
        .filter(|s| s.kind == SegmentKind::ToolResult)
        .map(|s| s.id)
        .filter(fresh)
        .collect()
}

/// Each body asks only about results that the one before did not have.
fn asks_only_for_new(session: &Session, limits: MemoLimits) -> Result<(), String> {
    let (engine, asked) = noting();
    let compressor = only(engine, limits);
    let mut known = 0;
    for cut in session.cuts(12) {
        run(&compressor, session.wire, session.first(cut));
        let asked = std::mem::take(&mut *asked.lock().unwrap());
        if asked != results_after(session, session.first(cut), known) {
            return Err(format!("{}: {} questions at {cut} after {known}", session.name, asked.len()));
        }
        known = cut;
    }
    Ok(())
}

#[test]
fn engines_see_only_new_texts() {
    for session in common::own() {
        asks_only_for_new(&session, MemoLimits::default()).unwrap();
    }
    asks_only_for_new(&common::own()[0], MemoLimits::none()).unwrap_err();
}

#[test]
fn what_is_unused_for_its_time_is_forgotten() {
    let session = &common::own()[2];
    let (engine, _) = noting();
    let limits = MemoLimits::default().ttl(std::time::Duration::from_secs(60));
    let compressor = only(engine.clone(), limits);
    let at = |seconds: u64| {
        let now = Moment { mono: Mono(seconds * 1_000_000_000), ..Moment::default() };
        compressor.compress_body(Some(session.wire), session.first(8), now).unwrap().receipt.memo.misses
    };
    assert!(at(0) > 0);
    assert_eq!((at(50), at(100)), (0, 0), "in use all the time");
    assert!(at(200) > 0);
}

/// `send` must work for each tenant anew, and give each what its own settings say.
fn principals_are_apart(
    send: &mut dyn FnMut(&str, &[u8]) -> Bytes,
    flag: &AtomicBool,
    engine: &Own,
    body: &[u8],
) -> Result<(), String> {
    flag.store(false, Ordering::Relaxed);
    let first = send("first", body);
    let calls = engine.calls();
    flag.store(true, Ordering::Relaxed);
    let second = send("second", body);
    if first == second {
        return Err("the second tenant was sent what was worked out for the first".to_owned());
    }
    if engine.calls() != 2 * calls {
        return Err(format!("{} questions for the first tenant, {} for both", calls, engine.calls()));
    }
    (send("first", body) == first).then_some(()).ok_or_else(|| "the first tenant's own was lost".to_owned())
}

fn flagged() -> (Arc<Own>, Arc<AtomicBool>) {
    let flag = Arc::new(AtomicBool::new(false));
    let seen = flag.clone();
    let engine = Own::says("flagged", Loss::Lossless, move |text| {
        let half: String = text.chars().take(text.chars().count() / 2).collect();
        if seen.load(Ordering::Relaxed) { half.to_uppercase() } else { half }
    });
    (engine, flag)
}

fn sent_for(compressor: &Compress, session: &Session, principal: &str, body: &[u8]) -> Bytes {
    let request = ChatRequest::parse(session.wire, body.to_vec()).unwrap();
    let mut request = request.with_principal(Principal::new(principal));
    compressor.compress(&mut request, None, Moment::default()).body
}

#[test]
fn tenants_never_share() {
    for session in common::own() {
        let body = session.first(*session.cuts(3).last().unwrap());
        let (engine, flag) = flagged();
        let compressor = only(engine.clone(), MemoLimits::default());
        let mut send = |who: &str, body: &[u8]| sent_for(&compressor, &session, who, body);
        principals_are_apart(&mut send, &flag, &engine, &body).unwrap();

        // The twin: results are kept under the text alone.
        let (engine, flag) = flagged();
        let compressor = only(engine.clone(), MemoLimits::default());
        let mut kept: HashMap<Vec<u8>, Bytes> = HashMap::new();
        let mut by_text = |who: &str, body: &[u8]| {
            kept.entry(body.to_vec()).or_insert_with(|| sent_for(&compressor, &session, who, body)).clone()
        };
        principals_are_apart(&mut by_text, &flag, &engine, &body).unwrap_err();
    }
}

/// A counter whose name can change.
#[derive(Debug, Default)]
struct Renamed(AtomicUsize);

impl Tokenizer for Renamed {
    fn id(&self) -> &str {
        ["one", "two"][self.0.load(Ordering::Relaxed) % 2]
    }

    fn count(&self, text: &str) -> u32 {
        text.len().div_ceil(4 - self.0.load(Ordering::Relaxed) % 2) as u32
    }
}

#[test]
fn another_version_setting_plan_or_counter_is_another_key() {
    let session = &common::own()[3];
    let body = session.first(20);
    let print = |compressor: &Compress| run(compressor, session.wire, body.clone()).receipt.fingerprint;
    let versioned = |version| {
        let engine =
            Own::new(EngineInfo::new("own", Loss::Lossless).version(version), |_, _| Ok(Edit::Keep("no")));
        print(&only(engine, MemoLimits::default()))
    };
    assert_eq!(versioned(1), versioned(1));
    assert_ne!(versioned(1), versioned(2), "a version bump misses");
    let lines = |n: i64| {
        print(&Compress::builder().steps([Step::new("session-dedup").with("min_lines", n)]).build().unwrap())
    };
    assert_eq!((lines(6) == lines(6), lines(6) == lines(7)), (true, false));

    // One compressor: another plan for one call, and a counter that is suddenly another one.
    let counter = Arc::new(Renamed::default());
    let compressor = Compress::builder().plan("safe").tokenizer(counter.clone()).build().unwrap();
    let misses = |profile: Option<&str>| {
        let mut request = ChatRequest::parse(session.wire, body.clone()).unwrap();
        Compressor::compress(&compressor, &mut request, profile, Moment::default()).memo.misses
    };
    let all = misses(None);
    assert!(all > 0);
    assert_eq!((misses(None), misses(Some("lite")), misses(Some("lite")), misses(None)), (0, all, 0, 0));
    counter.0.store(1, Ordering::Relaxed);
    assert_eq!((misses(None), misses(None)), (all, 0));
    // Same steps under another name are the same work.
    assert_eq!(misses(Some("repeat,ionizer,rtk,rows,dedup,read-lifecycle,ccr")), 0);
}

#[test]
fn a_hundred_threads_share_one_compressor() {
    let sessions = common::own();
    let bodies: Vec<(&Session, Vec<u8>)> =
        sessions.iter().flat_map(|s| s.cuts(4).into_iter().take(2).map(move |k| (s, s.first(k)))).collect();
    let alone = compressor("safe", MemoLimits::none());
    let wanted: Vec<_> = bodies.iter().map(|(s, body)| outcome(&run(&alone, s.wire, body.clone()))).collect();
    for limits in [MemoLimits::default(), MemoLimits::default().entries(30).bytes(100_000)] {
        let shared = compressor("safe", limits);
        std::thread::scope(|scope| {
            for n in 0..100u64 {
                let (shared, bodies, wanted) = (&shared, &bodies, &wanted);
                scope.spawn(move || {
                    for i in shuffled(bodies.len(), n + 1).into_iter().take(3) {
                        let (session, body) = &bodies[i];
                        assert!(
                            outcome(&run(shared, session.wire, body.clone())) == wanted[i],
                            "{}",
                            session.name
                        );
                    }
                });
            }
        });
    }
}

#[test]
fn a_text_that_stays_and_its_surroundings_that_change_are_not_confused() {
    // The same result behind other calls, as an error, on another place: every outcome as if it were the first.
    let text: String = (0..30).map(|n| random::file_line(0, n) + "\n").collect();
    let turn = |tool, target, is_error| {
        let (text, written) = (text.clone(), "x".to_owned());
        random::Turn::Used { tool, target, text, written, is_error, in_two: false }
    };
    let talks = [
        vec![turn(0, 0, false), turn(0, 0, false)],
        vec![turn(1, 0, false), turn(0, 0, false)],
        vec![turn(0, 0, true), turn(0, 0, false)],
        vec![turn(0, 1, false), turn(0, 0, false)],
        vec![random::Turn::Said("and".into()), turn(0, 0, false), turn(1, 1, false)],
    ];
    for wire in random::WIRES {
        let (shared, plain) =
            (compressor("safe", MemoLimits::default()), compressor("safe", MemoLimits::none()));
        for talk in &talks {
            let session = random::session(wire, talk);
            let mut send = |body| run(&shared, wire, body);
            same_outcome(&session, &session.cuts(9), &mut send, &plain).unwrap();
        }
    }
}

/// An engine may look at everything before a text, so everything before is part of what is remembered under.
#[test]
fn what_an_engine_sees_of_other_texts_is_part_of_the_key() {
    let asks = |view: &omniroute_core::SegmentView<'_, '_>| {
        let wanted = view.earlier().iter().any(|s| s.original().contains("in full"));
        let half: String = view.text().chars().take(view.text().len() / 2).collect();
        if wanted { Ok(Edit::Keep("asked_for")) } else { Ok(Edit::Replace(Replacement::new(half))) }
    };
    let engine = || Own::new(EngineInfo::new("asks", Loss::Lossless), move |view, _| asks(view));
    let text: String = (0..30).map(|n| random::file_line(0, n) + "\n").collect();
    let used = random::Turn::Used {
        tool: 0,
        target: 0,
        text,
        written: String::new(),
        is_error: false,
        in_two: false,
    };
    for wire in random::WIRES {
        let (shared, plain) = (only(engine(), MemoLimits::default()), only(engine(), MemoLimits::none()));
        for said in ["show it", "show it in full", "show it"] {
            let session = random::session(wire, &[random::Turn::Said(said.to_owned()), used.clone()]);
            let mut send = |body| run(&shared, wire, body);
            same_outcome(&session, &session.cuts(9), &mut send, &plain).unwrap();
        }
    }
}
