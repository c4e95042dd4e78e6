//! Laws of what can be fetched back and of rewrites, on random conversations. Each has a twin that breaks it and that
//! the same check sees.
#![expect(clippy::unwrap_used, reason = "helpers of tests stop like tests")]

mod common;

use std::sync::Arc;

use bytes::Bytes;
use common::agent::{Agent, Turn, WIRES, long, records};
use common::bodies::raw_messages;
use omniroute_compress::ccr::{Ask, Handle, TOOL, retrieve};
use omniroute_compress::{
    CallOptions, Compress, CompressBuilder, MemorySessions, Rewrite, SessionKey, SessionStore, expand,
};
use omniroute_core::{
    BlobError, BlobId, BlobStore, ChatRequest, CompressReceipt, MemoryBlobs, Moment, Mono, Principal,
    SegmentKind, SessionId, Transcript, UnixMs,
};
use proptest::prelude::*;
use serde_json::{Value, json};

fn at(second: i64) -> Moment {
    Moment { mono: Mono(second as u64 * 1_000_000_000), wall: UnixMs(second * 1_000) }
}

fn config(cases: u32) -> ProptestConfig {
    ProptestConfig { cases, failure_persistence: None, ..ProptestConfig::default() }
}

/// What happens in a conversation, from small numbers.
fn turn(kind: u8, seed: usize) -> Turn {
    let call = |tool: &str, arguments: Value, text: String, is_error: bool| Turn::Call {
        tool: tool.to_owned(),
        arguments,
        text,
        is_error,
    };
    match kind {
        0 => call("lookup", json!({"q": seed}), records(seed, 205), false),
        1 => call("lookup", json!({"q": seed}), long(seed, 280), false),
        2 => call("read", json!({"path": format!("src/{}.rs", seed % 3)}), long(seed % 3, 40 + seed), false),
        3 => call("lookup", json!({"q": seed}), format!("error: {}", long(seed, 30)), true),
        4 => Turn::Said { model: long(seed, 3), user: format!("Never touch K{seed}. {}", long(seed, 40)) },
        5 => Turn::Opaque(format!("{seed}{}", "abcdefgh".repeat(60))),
        _ => call("lookup", json!({"q": seed}), format!("small {seed}"), false),
    }
}

fn turns(most: usize) -> impl Strategy<Value = Vec<(u8, usize)>> {
    prop::collection::vec((0..8_u8, 0..9_usize), 10..most)
}

fn agent(wire: usize, turns: &[(u8, usize)]) -> Agent {
    let mut agent =
        Agent::new(WIRES[wire], &["lookup", "read", TOOL], "Do it; keep the name of the service.");
    agent.turns = turns.iter().map(|(kind, seed)| turn(*kind, *seed)).collect();
    agent
}

fn send(
    compressor: &Compress,
    agent: &Agent,
    who: &str,
    options: CallOptions,
    second: i64,
) -> (ChatRequest, CompressReceipt) {
    let request = ChatRequest::parse(agent.wire, agent.bytes()).unwrap().with_principal(Principal::new(who));
    let mut request = request.with_session(SessionId::new("s"));
    let receipt = compressor.compress_with(&mut request, options, at(second)).receipt;
    (request, receipt)
}

// --- Two tenants -----------------------------------------------------------------------------------------------

/// A store that forgets whose text it is.
#[derive(Debug, Default)]
struct Shared(MemoryBlobs);

impl BlobStore for Shared {
    fn put(&self, _: &Principal, content: &[u8]) -> Result<BlobId, BlobError> {
        self.0.put(&Principal::default(), content)
    }

    fn get(&self, _: &Principal, id: BlobId) -> Result<Option<Arc<[u8]>>, BlobError> {
        self.0.get(&Principal::default(), id)
    }
}

/// Sends turns of two tenants through one compressor and asks for every text in both names.
fn tenants_apart(blobs: Arc<dyn BlobStore>, wire: usize, sent: &[(usize, usize)]) -> Result<(), String> {
    let compressor = Compress::builder().blobs(blobs).build().unwrap();
    let who = ["a", "b"];
    let mut kept: [Vec<(Handle, String)>; 2] = [Vec::new(), Vec::new()];
    for (owner, seed) in sent {
        let (request, _) =
            send(&compressor, &agent(wire, &[(0, *seed)]), who[*owner], CallOptions::default(), 10);
        let body = String::from_utf8(request.to_bytes().to_vec()).unwrap();
        // The note shows how a handle looks; it is none.
        kept[*owner].extend(Handle::all_in(&body).map(|handle| (handle, records(*seed, 205))));
    }
    for (owner, texts) in kept.iter().enumerate() {
        for (handle, text) in texts {
            let get = |n: usize| {
                retrieve(compressor.blobs().as_ref(), &Principal::new(who[n]), &Ask::full(handle.id), at(11))
            };
            if get(owner).map(|answer| answer.text).as_ref() != Ok(text) {
                return Err(format!("{} cannot fetch its own {}", who[owner], handle.id));
            }
            let both = kept[1 - owner].iter().any(|(other, _)| other.id == handle.id);
            if get(1 - owner).is_ok() != both {
                return Err(format!("{} can fetch {} of the other", who[1 - owner], handle.id));
            }
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(config(16))]
    #[test]
    fn two_tenants_never_see_each_others_texts(
        wire in 0..4_usize,
        sent in prop::collection::vec((0..2_usize, 0..4_usize), 1..6),
    ) {
        prop_assert_eq!(tenants_apart(Arc::new(MemoryBlobs::default()), wire, &sent), Ok(()));
        #[cfg(feature = "store-sqlite")]
        {
            let file = std::path::PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("laws").join("blobs.db");
            let _ = std::fs::remove_dir_all(file.parent().unwrap());
            let store = omniroute_compress::SqliteBlobs::open(file, Default::default()).unwrap();
            prop_assert_eq!(tenants_apart(Arc::new(store), wire, &sent), Ok(()));
        }
        // The twin: as soon as one of them has a text of its own.
        let one_has_more = (0..4).any(|seed| sent.contains(&(0, seed)) != sent.contains(&(1, seed)));
        prop_assert_eq!(tenants_apart(Arc::new(Shared::default()), wire, &sent).is_err(), one_has_more);
    }
}

// --- Pairs, signed and opaque blocks -----------------------------------------------------------------------------

/// A body without our note and without the texts of results: everything that must never change.
fn rest(body: &Bytes) -> Value {
    let mut value: Value = serde_json::from_slice(body).unwrap();
    blank(&mut value);
    value
}

fn blank(value: &mut Value) {
    match value {
        Value::Array(items) => {
            items.retain(|item| {
                let text = item["text"].as_str().or_else(|| item["content"].as_str()).unwrap_or_default();
                !text.starts_with("[CCR protocol]")
            });
            items.iter_mut().for_each(blank);
        }
        Value::Object(members) => {
            let result =
                members.get("type").is_some_and(|t| t == "tool_result" || t == "function_call_output")
                    || members.get("role").is_some_and(|role| role == "tool");
            for (key, member) in members.iter_mut() {
                match key.as_str() {
                    "content" | "output" if result => *member = Value::Null,
                    "functionResponse" => member["response"] = Value::Null,
                    // A text becomes a list with the note behind it, or the note follows an empty line.
                    "system" if member.is_string() => *member = json!([{"type": "text", "text": member}]),
                    "instructions" => {
                        let text = member.as_str().unwrap_or_default();
                        *member = text.split("\n\n[CCR protocol]").next().unwrap_or_default().into();
                    }
                    _ => {}
                }
                blank(member);
            }
        }
        _ => {}
    }
}

proptest! {
    #![proptest_config(config(24))]
    #[test]
    fn pairs_signed_and_opaque_blocks_never_change(wire in 0..4_usize, turns in turns(26), limit in 1..9_u64) {
        let agent = agent(wire, &turns);
        let before = Bytes::from(agent.bytes());
        let plain = CallOptions::default();
        let compressor = |rewrite| Compress::builder().rewrite(rewrite).build().unwrap();
        let total = send(&compressor(Rewrite::Never), &agent, "a", plain, 10).1.tokens_after;
        for (rewrite, options) in [
            (Rewrite::Never, plain),
            (Rewrite::ColdOnly, plain.cold(true)),
            (Rewrite::Always, plain),
            (Rewrite::Threshold { every_tokens: 5_000 }, plain),
            (Rewrite::ColdOnly, plain.target_tokens(total * limit / 10)),
        ] {
            let (request, receipt) = send(&compressor(rewrite), &agent, "a", options, 10);
            prop_assert_eq!(receipt.reverted, None);
            prop_assert_eq!(rest(&request.to_bytes()), rest(&before), "{:?} {:?}", rewrite, options);
        }
        // The twin: one character of what is signed, opaque or a call.
        let text = std::str::from_utf8(&before).unwrap();
        for (from, to) in [("abcdefgh", "abcdefgx"), ("sig-", "sik-"), ("c2ln", "c2lm"), ("\"c1\"", "\"c0\"")] {
            if text.contains(from) {
                let broken = Bytes::from(text.replacen(from, to, 1));
                prop_assert_ne!(rest(&broken), rest(&before), "{}", from);
            }
        }
    }
}

// --- Prefixes and lost records -----------------------------------------------------------------------------------

/// Sends a conversation turn by turn, one of them after a long rest. What was sent before may change only where the
/// receipt says that it was rewritten.
fn append_only(
    builder: impl Fn() -> CompressBuilder,
    whole: &Agent,
    rest_at: usize,
) -> Result<usize, String> {
    let compressor = builder().build().unwrap();
    let (mut last, mut rewrites): (Vec<String>, usize) = (Vec::new(), 0);
    let mut second = 100;
    for n in 0..=whole.turns.len() {
        second += if n == rest_at { 5_000 } else { 20 };
        let (request, receipt) = send(&compressor, &whole.first(n), "a", CallOptions::default(), second);
        let sent = raw_messages(&request.to_bytes());
        let rewritten = receipt.rewrite.is_some_and(|rewrite| rewrite.done);
        rewrites += usize::from(rewritten);
        if !rewritten && sent.get(..last.len()) != Some(last.as_slice()) {
            return Err(format!("turn {n} changed what was sent before"));
        }
        last = sent;
    }
    Ok(rewrites)
}

/// Keeps nothing.
#[derive(Debug)]
struct Nothing;

impl SessionStore for Nothing {
    fn get(&self, _: &SessionKey, _: UnixMs) -> Option<Bytes> {
        None
    }

    fn put(&self, _: &SessionKey, _: Bytes, _: UnixMs) {}
}

proptest! {
    #![proptest_config(config(12))]
    #[test]
    fn what_was_sent_changes_at_rewrite_points_only(wire in 0..4_usize, turns in turns(26), rest_at in 9..26_usize) {
        let whole = agent(wire, &turns);
        let rest_at = rest_at.min(turns.len());
        prop_assert!(append_only(Compress::builder, &whole, rest_at).unwrap() <= 1);
        let threshold = || Compress::builder().rewrite(Rewrite::Threshold { every_tokens: 6_000 });
        append_only(threshold, &whole, rest_at).unwrap();
        // Thresholds need no memory at all.
        append_only(|| threshold().sessions(Arc::new(Nothing)), &whole, rest_at).unwrap();
    }
}

/// The twin: a rewrite that is forgotten after each request changes the request after it, without a rewrite point.
#[test]
fn a_lost_record_is_seen_as_a_changed_prefix() {
    for wire in 0..4 {
        let whole = agent(wire, &(0..24).map(|n| (1, n)).collect::<Vec<_>>());
        assert_eq!(append_only(Compress::builder, &whole, 20), Ok(1));
        let sessions = Arc::new(Flaky { inner: MemorySessions::default(), lost: 2, broken: false });
        append_only(|| Compress::builder().sessions(sessions.clone()), &whole, 20).unwrap_err();
    }
}

/// Loses its records when the told time has passed so many turns of 20 seconds, or damages them.
#[derive(Debug)]
struct Flaky {
    inner: MemorySessions,
    lost: i64,
    broken: bool,
}

impl SessionStore for Flaky {
    fn get(&self, key: &SessionKey, now: UnixMs) -> Option<Bytes> {
        let record = self.inner.get(key, now)?;
        if (now.0 / 20_000) % 25 == self.lost % 25 {
            return None;
        }
        match self.broken {
            // Another address behind every handle.
            true => Some(String::from_utf8(record.to_vec()).unwrap().replace("hash=", "hash=f").into()),
            false => Some(record),
        }
    }

    fn put(&self, key: &SessionKey, record: Bytes, now: UnixMs) {
        self.inner.put(key, record, now);
    }
}

/// Whether every result that is sent is the original, or can be computed back from the request, or can be fetched.
fn nothing_lost(
    compressor: &Compress,
    agent: &Agent,
    request: &ChatRequest,
    receipt: &CompressReceipt,
) -> Result<(), String> {
    let texts = |request: &ChatRequest| -> Vec<String> {
        let transcript = Transcript::of(request).unwrap();
        let results = transcript.segments().iter().filter(|s| s.kind == SegmentKind::ToolResult);
        results.map(|s| s.original().to_owned()).collect()
    };
    let all = texts(&ChatRequest::parse(agent.wire, agent.bytes()).unwrap());
    let expanded = expand(request, &receipt.edits).map_err(|e| e.to_string())?;
    let back = texts(&ChatRequest::parse(agent.wire, expanded.body).unwrap());
    for (n, ((given, sent), back)) in all.iter().zip(texts(request)).zip(back).enumerate() {
        let fetched = |text: &str| {
            Handle::all_in(text).any(|handle| {
                let ask = Ask::full(handle.id);
                retrieve(compressor.blobs().as_ref(), &Principal::new("a"), &ask, at(1))
                    .is_ok_and(|answer| answer.text == *given)
            })
        };
        // A reference may name an equal result further up, which can be fetched itself.
        let referred =
            sent.starts_with("[unchanged: identical to ") && all.iter().take(n).any(|t| t == given);
        if back != *given && !fetched(&sent) && !fetched(&back) && !referred {
            return Err(format!("result {n}: {sent:.120}"));
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(config(12))]
    #[test]
    fn a_lost_record_costs_a_cache_miss_and_nothing_else(
        wire in 0..4_usize, turns in turns(26), rest_at in 9..26_usize, lost in 0..25_i64,
    ) {
        let whole = agent(wire, &turns);
        let sessions = Arc::new(Flaky { inner: MemorySessions::default(), lost, broken: false });
        let compressor = Compress::builder().sessions(sessions).build().unwrap();
        for n in 0..=turns.len() {
            let second = 100 + 20 * n as i64 + if n >= rest_at.min(turns.len()) { 5_000 } else { 0 };
            let part = whole.first(n);
            let (request, receipt) = send(&compressor, &part, "a", CallOptions::default(), second);
            prop_assert_eq!(nothing_lost(&compressor, &part, &request, &receipt), Ok(()), "turn {}", n);
            prop_assert_eq!(rest(&request.to_bytes()), rest(&Bytes::from(part.bytes())));
        }
    }
}

/// The twin: a store that damages its records, which no cache miss explains.
#[test]
fn wrong_content_is_caught() {
    for wire in 0..4 {
        let whole = agent(wire, &(0..24).map(|n| (1, n)).collect::<Vec<_>>());
        let mut seen = Vec::new();
        for broken in [false, true] {
            let sessions = Arc::new(Flaky { inner: MemorySessions::default(), lost: -1, broken });
            let compressor = Compress::builder().sessions(sessions).build().unwrap();
            send(&compressor, &whole.first(20), "a", CallOptions::default().cold(true), 100);
            let (request, receipt) = send(&compressor, &whole, "a", CallOptions::default(), 110);
            assert!(String::from_utf8_lossy(&request.to_bytes()).contains("[CCR retrieve hash="));
            seen.push(nothing_lost(&compressor, &whole, &request, &receipt).is_ok());
        }
        assert_eq!(seen, [true, false]);
    }
}
