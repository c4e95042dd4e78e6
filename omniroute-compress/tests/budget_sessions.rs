//! Recorded sessions at a hard limit: whatever the limit is, the task, the constraints, pairs of call and result, errors,
//! the latest state of every file and the last answers stay.
#![expect(clippy::unwrap_used, reason = "helpers of tests stop like tests")]

mod common;

use std::collections::{BTreeSet, HashMap};

use bytes::Bytes;
use common::Session;
use common::bodies::{paired, structure};
use omniroute_compress::ccr::TOOL;
use omniroute_compress::{CallOptions, Compress, expand};
use omniroute_core::{ChatRequest, CompressReceipt, Moment, Segment, SegmentKind, Transcript};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use serde_json::Value;

/// A request with everything that is known of it.
struct Case {
    session: Session,
    given: Bytes,
    /// As it is sent without a limit.
    plain: Bytes,
    /// The texts of that with everything taken back that can be.
    plain_back: Vec<(SegmentKind, String)>,
    tokens: u64,
    /// Numbers of the texts that must stay.
    stay: BTreeSet<usize>,
}

fn send(session: &Session, body: &Bytes, options: CallOptions) -> (Bytes, CompressReceipt) {
    let compressor = Compress::builder().build().unwrap();
    let mut request = ChatRequest::parse(session.wire, body.clone()).unwrap();
    let out = compressor.compress_with(&mut request, options, Moment::default());
    (out.body, out.receipt)
}

/// All texts in order, our note aside.
fn texts(session: &Session, body: &Bytes) -> Vec<(SegmentKind, String)> {
    let request = ChatRequest::parse(session.wire, body.clone()).unwrap();
    let transcript = Transcript::of(&request).unwrap();
    let ours = |s: &&Segment<'_>| !s.original().starts_with("[CCR protocol]");
    let text = |s: &Segment<'_>| (s.kind, s.original().replace("\n\n[CCR protocol]", "[CCR protocol]"));
    let cut = |(kind, text): (SegmentKind, String)| match kind {
        SegmentKind::System => (kind, text.split("[CCR protocol]").next().unwrap_or_default().to_owned()),
        _ => (kind, text),
    };
    transcript.segments().iter().filter(ours).map(text).map(cut).collect()
}

/// Found without the library's own notion of a live tail or of reads: everything that is no result, errors, the last two
/// answers with what follows, and the last result of every call that names a file to read.
fn must_stay(session: &Session, body: &Bytes) -> BTreeSet<usize> {
    let request = ChatRequest::parse(session.wire, body.clone()).unwrap();
    let transcript = Transcript::of(&request).unwrap();
    let segments = transcript.segments();
    let mut stay = BTreeSet::new();
    let mut newest: HashMap<String, usize> = HashMap::new();
    for (n, segment) in segments.iter().enumerate() {
        if segment.kind != SegmentKind::ToolResult || segment.is_error {
            stay.insert(n);
            continue;
        }
        let Some(call) = segment.call.and_then(|at| segments.get(at)) else { continue };
        let name = call.tool_name().unwrap_or_default().to_lowercase();
        let arguments: Value = serde_json::from_str(call.original()).unwrap_or_default();
        let path =
            ["path", "file_path", "absolute_path", "filename"].iter().find_map(|k| arguments[*k].as_str());
        if let Some(path) = path.filter(|_| name.contains("read")) {
            newest.insert(path.to_owned(), n);
        }
    }
    stay.extend(newest.values());
    let mut answers = 0;
    for n in (0..segments.len()).rev() {
        let by_model = |n: usize| {
            segments.get(n).is_some_and(|s| {
                matches!(s.kind, SegmentKind::Assistant | SegmentKind::Reasoning | SegmentKind::ToolCall)
            })
        };
        stay.insert(n);
        answers += usize::from(by_model(n) && (n == 0 || !by_model(n - 1)));
        if answers == 2 {
            break;
        }
    }
    stay
}

/// Every text that must stay is as it is without a limit, or can be computed back from the request alone.
fn stays(case: &Case, sent: &Bytes, receipt: &CompressReceipt) -> Result<(), String> {
    let session = &case.session;
    let plain = texts(session, &case.plain);
    let now = texts(session, sent);
    if now.len() != plain.len() || structure(sent) != structure(&case.plain) {
        return Err("messages, roles or ids".to_owned());
    }
    if paired(sent) != paired(&case.given) {
        return Err("pairs of call and result".to_owned());
    }
    let request = ChatRequest::parse(session.wire, sent.clone()).unwrap();
    let back = expand(&request, &receipt.edits).map_err(|e| e.to_string())?;
    let (given, back) = (texts(session, &case.given), texts(session, &back.body));
    for n in &case.stay {
        // What was shortened by its filter is that in both; what it refers to may have moved.
        if now[*n] != plain[*n] && back[*n] != given[*n] && back[*n] != case.plain_back[*n] {
            return Err(format!("text {n}: {:.80} became {:.80}", plain[*n].1, now[*n].1));
        }
    }
    for (kind, text) in now.iter().zip(&given).filter(|(a, b)| a != b).map(|(a, _)| a) {
        if *kind != SegmentKind::ToolResult {
            return Err(format!("{kind:?} became {text:.80}"));
        }
    }
    Ok(())
}

fn cases() -> Vec<Case> {
    let mut out = Vec::new();
    for session in common::all() {
        for with_tool in [false, true] {
            let session = if with_tool { session.with_tool(TOOL) } else { session.clone() };
            let given = Bytes::from(serde_json::to_vec(&session.body).unwrap());
            let (plain, receipt) = send(&session, &given, CallOptions::default());
            let stay = must_stay(&session, &given);
            let request = ChatRequest::parse(session.wire, plain.clone()).unwrap();
            let plain_back = texts(&session, &expand(&request, &receipt.edits).unwrap().body);
            out.push(Case { session, given, plain, plain_back, tokens: receipt.tokens_after, stay });
        }
    }
    out
}

#[test]
fn no_limit_takes_away_what_must_stay() {
    let cases = cases();
    let mut runner = TestRunner::new(Config { cases: 60, failure_persistence: None, ..Config::default() });
    let cut = std::cell::Cell::new(0);
    let limits = (0..cases.len(), 1..100_u64, any::<bool>());
    let done = runner.run(&limits, |(n, percent, as_window)| {
        let case = &cases[n];
        let tokens = case.tokens * percent / 100;
        let options = match as_window {
            true => CallOptions::default().context_limit(tokens),
            false => CallOptions::default().target_tokens(tokens),
        };
        let (sent, receipt) = send(&case.session, &case.given, options);
        let name = &case.session.name;
        prop_assert_eq!(stays(case, &sent, &receipt), Ok(()), "{} at {} %", name, percent);
        prop_assert!(receipt.tokens_after <= case.tokens, "{} grew", name);
        let told = receipt.notes.iter().any(|note| note.code == "budget_unreachable");
        prop_assert_eq!(told, receipt.tokens_after > tokens, "{}: what cannot be done is said", name);
        cut.set(cut.get() + usize::from(receipt.tokens_after < case.tokens));
        Ok(())
    });
    done.unwrap_or_else(|e| panic!("{e}"));
    assert!(cut.get() > 20, "{}", cut.get());
}

/// The twins: one text that must stay is shortened, one that is no result, one answer goes with its call.
#[test]
fn a_text_that_must_stay_and_is_gone_is_caught() {
    for case in cases() {
        let name = case.session.name.clone();
        let receipt = CompressReceipt::default();
        assert_eq!(stays(&case, &case.plain, &receipt), Ok(()), "{name}");
        let lists = ["messages", "input", "contents"];
        let key = lists.iter().find(|k| case.session.body[**k].is_array()).unwrap();
        let broken = |change: &dyn Fn(&mut Vec<Value>)| {
            let mut body: Value = serde_json::from_slice(&case.plain).unwrap();
            change(body[*key].as_array_mut().unwrap());
            let bytes = Bytes::from(serde_json::to_vec(&body).unwrap());
            stays(&case, &bytes, &receipt).is_err()
        };
        assert!(broken(&|list| drop(list.pop())), "{name}: the last message");
        assert!(broken(&|list| drop(list.remove(list.len() / 2))), "{name}: a message in the middle");
        let shorten = |value: &mut Value| {
            let text = value.to_string();
            *value = serde_json::from_str(&text.replacen(" the ", " ", 1)).unwrap();
        };
        let sent: Value = serde_json::from_slice(&case.plain).unwrap();
        let last = sent[*key].as_array().unwrap().last().unwrap().to_string();
        if last.contains(" the ") {
            assert!(broken(&|list| shorten(list.last_mut().unwrap())), "{name}: a word of the last message");
        }
    }
}
