//! What later turns of real sessions made use of is still in the tool result that brought it, under plan `safe`.
#![expect(clippy::unwrap_used, reason = "helpers of tests stop like tests")]

mod common;

use std::path::Path;
use std::sync::Arc;

use omniroute_compress::{Compress, MemoLimits};
use omniroute_core::{BlobId, BlobStore, MemoryBlobs, Moment, Principal, wire};
use serde_json::Value;

/// A fact, the message that brought it, and what kind of text it stands in.
struct Needle {
    fact: String,
    message: usize,
}

fn needles(session: &str) -> Vec<Needle> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/sessions/queries.json");
    let all: Value = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    let list = all["sessions"][session].as_array().unwrap();
    let needle = |n: &Value| Needle {
        fact: n["fact"].as_str().unwrap().to_owned(),
        message: usize::try_from(n["first_message"].as_u64().unwrap()).unwrap(),
    };
    list.iter().map(needle).collect()
}

fn text(message: &Value) -> String {
    match &message["content"] {
        Value::String(text) => text.clone(),
        Value::Array(parts) => parts.iter().filter_map(|p| p["text"].as_str()).collect::<Vec<_>>().join("\n"),
        _ => String::new(),
    }
}

/// The originals behind the handles that a text names.
fn originals(text: &str, blobs: &MemoryBlobs) -> String {
    let ids = text.split("id=").skip(1).filter_map(|rest| BlobId::parse(rest.get(..24)?));
    let fetch =
        |id| blobs.get(&Principal::default(), id).unwrap().map(|b| String::from_utf8_lossy(&b).into_owned());
    ids.filter_map(fetch).collect()
}

/// Facts that are neither in the result that brought them nor behind a handle in it; and those behind a handle.
fn missing(
    body: &Value,
    offset: usize,
    session: &str,
    sent: &Value,
    blobs: &MemoryBlobs,
) -> (Vec<String>, usize) {
    let mut missing = Vec::new();
    let mut behind = 0;
    for needle in needles(session) {
        let at = needle.message + offset;
        assert!(text(&body["messages"][at]).contains(&needle.fact), "{session} {at} {}", needle.fact);
        let sent = text(&sent["messages"][at]);
        if sent.contains(&needle.fact) {
            continue;
        }
        if originals(&sent, blobs).contains(&needle.fact) {
            behind += 1;
        } else {
            missing.push(format!("{session} message {at}: {:?}", needle.fact));
        }
    }
    (missing, behind)
}

fn compressed(body: &Value) -> (Value, Arc<MemoryBlobs>, u64, u64) {
    let blobs = Arc::new(MemoryBlobs::default());
    let compressor = Compress::builder().blobs(blobs.clone()).memo(MemoLimits::none()).build().unwrap();
    let bytes = serde_json::to_vec(body).unwrap();
    let out = compressor.compress_body(Some(wire::OPENAI_CHAT), bytes, Moment::default()).unwrap();
    (serde_json::from_slice(&out.body).unwrap(), blobs, out.receipt.tokens_before, out.receipt.tokens_after)
}

fn read(path: &Path) -> Value {
    let session: Value = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    let mut body = serde_json::json!({"model": session["model"]});
    for key in ["tools", "messages"] {
        body[key] = session[key].clone();
    }
    body
}

#[test]
fn needles_of_our_sessions_stay_where_they_came() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/sessions");
    for session in ["ledger", "shardkv", "shopapi"] {
        let body = read(&folder.join(format!("{session}.openai.json")));
        let (sent, blobs, before, after) = compressed(&body);
        let (missing, behind) = missing(&body, 0, session, &sent, &blobs);
        assert!(missing.is_empty(), "{}", missing.join("\n"));
        assert!(behind <= 6, "{behind} facts of {session} stand behind handles only");
        assert!(after < before, "{session}");
    }
}

/// The long session of the benchmark: at least 30 % saved, and every needle.
#[test]
fn the_long_session_saves_a_third() {
    let body = read(&Path::new(env!("CARGO_MANIFEST_DIR")).join("benches/data/session-150k.json"));
    let (sent, blobs, before, after) = compressed(&body);
    let saved = 100.0 * (1.0 - after as f64 / before as f64);
    assert!(saved >= 30.0, "{saved:.1} % saved");
    for (session, offset) in [("ledger", 0), ("shardkv", 172)] {
        let (missing, _) = missing(&body, offset, session, &sent, &blobs);
        assert!(missing.is_empty(), "{}", missing.join("\n"));
    }
}

/// The check sees a fact that is gone.
#[test]
fn a_broken_twin_is_caught() {
    let body = read(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/sessions/ledger.openai.json"));
    let mut sent = body.clone();
    for needle in needles("ledger") {
        sent["messages"][needle.message]["content"] = Value::String("[rtk: 9 lines omitted]".into());
    }
    let (missing, _) = missing(&body, 0, "ledger", &sent, &MemoryBlobs::default());
    assert_eq!(missing.len(), needles("ledger").len());
}
