//! The whole loop on every wire: something is left out, the model calls the retrieval tool, its call is answered, the
//! answer goes back with the next request and stays as it is from then on.
#![expect(clippy::unwrap_used, reason = "helpers of tests stop like tests")]

mod common;

use std::sync::Arc;

use common::agent::{Agent, WIRES, long, records};
use common::bodies::raw_messages;
use omniroute_compress::ccr::{Ask, Handle, Mode, TOOL, retrieve};
use omniroute_compress::{CallOptions, Compress};
use omniroute_core::{
    BlobLimits, BlobStore, ChatRequest, CompressReceipt, MemoryBlobs, Moment, Mono, Principal, SegmentKind,
    SessionId, Transcript, UnixMs, wire::Wire,
};
use serde_json::json;

const NOTE: &str = "Never guess what is left out.";

fn at(second: i64) -> Moment {
    Moment { mono: Mono(second as u64 * 1_000_000_000), wall: UnixMs(second * 1_000) }
}

/// What the model sees: the texts of all results, the whole body, its messages.
struct Sent {
    results: Vec<String>,
    body: String,
    receipt: CompressReceipt,
}

impl Sent {
    /// The handle of the newest result.
    fn handle(&self) -> Handle {
        Handle::all_in(self.results.last().unwrap()).next().unwrap()
    }
}

fn send(compressor: &Compress, agent: &Agent, options: CallOptions, second: i64) -> Sent {
    let request = ChatRequest::parse(agent.wire, agent.bytes()).unwrap().with_principal(Principal::new("me"));
    let mut request = request.with_session(SessionId::new("s"));
    let out = compressor.compress_with(&mut request, options, at(second));
    let transcript = Transcript::of(&request).unwrap();
    let results = transcript.segments().iter().filter(|s| s.kind == SegmentKind::ToolResult);
    Sent {
        results: results.map(|s| s.original().to_owned()).collect(),
        body: String::from_utf8(out.body.to_vec()).unwrap(),
        receipt: out.receipt,
    }
}

/// Whether each of these answers is among the results as it was given.
fn all_whole(sent: &Sent, answers: &[String]) -> Result<(), String> {
    match answers.iter().position(|answer| !sent.results.contains(answer)) {
        None => Ok(()),
        Some(n) => Err(format!("answer {n} is not as it was given")),
    }
}

/// One loop; `fetch` is the name under which the model calls the retrieval tool.
fn run(blobs: Arc<dyn BlobStore>, wire: Wire, tool: &str, fetch: &str) -> Result<(), String> {
    let compressor = Compress::builder().blobs(blobs).build().unwrap();
    let me = Principal::new("me");
    let mut agent = Agent::new(wire, &["lookup", tool], "Which are open?");
    let plain = CallOptions::default();
    let first = send(&compressor, &agent, plain, 100);
    assert_eq!(first.body.matches(NOTE).count(), 1, "told in the first request, before anything is left out");

    let whole = records(1, 300);
    agent.call("lookup", json!({"q": 1}), whole.clone());
    let mut last = send(&compressor, &agent, plain, 110);
    assert!(last.results[0].starts_with("[ionizer: kept "), "{}", last.results[0]);
    let handle = last.handle();

    // The model asks for a part, then for all of it, then for what is not there.
    let mut answers = Vec::new();
    for arguments in [
        json!({"hash": handle.to_string(), "mode": "grep", "pattern": "\"id\":100250\\b"}),
        json!({"id": handle.id.to_string()}),
        json!({"ref": "0123456789abcdef01234567"}),
    ] {
        let answer = compressor.retrieve(&me, &arguments.to_string(), at(120));
        let text = answer.map_or_else(|error| error.to_string(), |answer| answer.text);
        agent.call(fetch, arguments, text.clone());
        answers.push(text);
        let sent = send(&compressor, &agent, plain, 120);
        assert_eq!(sent.body.matches(NOTE).count(), 1, "{}", wire.id());
        let (before, now) = (raw_messages(last.body.as_bytes()), raw_messages(sent.body.as_bytes()));
        assert_eq!(now.get(..before.len()), Some(before.as_slice()), "what was sent stays as it was sent");
        all_whole(&sent, &answers)?;
        last = sent;
    }
    assert!(answers[0].starts_with("1:") && answers[1] == whole, "{}", answers[0]);
    assert!(answers[2].starts_with("nothing is kept under 0123456789abcdef01234567"), "{}", answers[2]);
    let steps = last.receipt.steps.iter();
    let frozen = steps.filter(|s| s.engine == "ionizer").map(|s| s.skips.get("retrieved")).next().flatten();
    assert_eq!(frozen, Some(&3));

    // Neither a rewrite of older turns nor a limit touches what was fetched; other old results change.
    for n in 0..12 {
        agent.call("lookup", json!({"q": 10 + n}), long(n, 260));
    }
    let cold = send(&compressor, &agent, plain, 10_000);
    assert!(
        cold.receipt.rewrite.as_ref().is_some_and(|r| r.done && r.texts > 0),
        "{:?}",
        cold.receipt.rewrite
    );
    all_whole(&cold, &answers)?;
    let cut = CallOptions::default().target_tokens(cold.receipt.tokens_after / 2);
    all_whole(&send(&compressor, &agent, cut, 10_010), &answers)?;

    // What a rewrite has left out can be fetched in the same way.
    let old = cold.results.iter().flat_map(|text| Handle::all_in(text)).find(|h| h.id != handle.id).unwrap();
    let asked = json!({"hash": old.to_string(), "mode": "stats"}).to_string();
    let stats = compressor.retrieve(&me, &asked, at(10_020)).unwrap().text;
    assert!(stats.starts_with(&format!("chars={}\n", old.chars)), "{stats}");
    Ok(())
}

#[test]
fn what_is_left_out_is_fetched_and_stays_on_every_wire() {
    for wire in WIRES {
        for tool in [TOOL, "mcp__omni__omniroute_ccr_retrieve"] {
            let blobs = Arc::new(MemoryBlobs::with_limits(BlobLimits::default()));
            run(blobs, wire, tool, tool).unwrap_or_else(|e| panic!("{} {tool}: {e}", wire.id()));
        }
    }
}

/// The twin: the answers come from a tool that is not known to be the retrieval tool, and the same check fails.
#[test]
fn an_answer_that_is_not_frozen_is_caught() {
    for wire in WIRES {
        let blobs = Arc::new(MemoryBlobs::default());
        run(blobs, wire, TOOL, "fetch_again").expect_err(wire.id());
    }
}

/// The same loop with the texts in a file, which another process has open, too.
#[cfg(feature = "store-sqlite")]
#[test]
fn the_loop_works_with_a_file() {
    let folder = std::path::PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("ccr-loop");
    let _ = std::fs::remove_dir_all(&folder);
    let open =
        || omniroute_compress::SqliteBlobs::open(folder.join("blobs.db"), BlobLimits::default()).unwrap();
    for wire in WIRES {
        run(Arc::new(open()), wire, TOOL, TOOL).unwrap_or_else(|e| panic!("{}: {e}", wire.id()));
    }
    let kept = open().list(&Principal::new("me"), 100).unwrap();
    assert!(kept.len() > 4, "{}", kept.len());
}

/// No note unless the request's own tools prove that retrieval is reachable.
#[test]
fn the_note_needs_a_tool_that_can_be_called() {
    for wire in WIRES {
        for (tools, notes) in [
            (vec![], 0),
            (vec!["lookup"], 0),
            (vec!["lookup", "omniroute_ccr_store", "my_omniroute_ccr_retrieve"], 0),
            (vec!["lookup", TOOL], 1),
        ] {
            // The name in texts of anybody proves nothing.
            let question = format!("What is {TOOL} and [CCR protocol]?");
            let mut agent = Agent::new(wire, &tools, &question);
            let compressor = Compress::builder().build().unwrap();
            for n in 0..4 {
                let sent = send(&compressor, &agent, CallOptions::default(), 100 + n);
                assert_eq!(sent.body.matches(NOTE).count(), notes, "{} {tools:?}", wire.id());
                assert_eq!(sent.receipt.added.len(), notes);
                agent.call("lookup", json!({"q": n}), records(n as usize, 220));
            }
        }
    }
}

/// A body that comes through twice, as behind two programs, is told once and keeps what the first one left.
#[test]
fn what_was_told_already_is_not_told_again() {
    for wire in WIRES {
        let mut agent = Agent::new(wire, &["lookup", TOOL], "Which are open?");
        agent.call("lookup", json!({"q": 1}), records(1, 300));
        let compress = |body: Vec<u8>| {
            let compressor = Compress::builder().build().unwrap();
            compressor.compress_body(Some(wire), body, Moment::default()).unwrap()
        };
        let once = compress(agent.bytes());
        assert!(!once.receipt.added.is_empty(), "{}", wire.id());
        let twice = compress(once.body.to_vec());
        assert_eq!(twice.body, once.body, "{}", wire.id());
        assert!(twice.receipt.added.is_empty() && !twice.receipt.applied);
    }
}

#[test]
fn the_note_is_short() {
    let agent = Agent::new(WIRES[0], &["lookup", TOOL], "Which are open?");
    let compressor = Compress::builder().build().unwrap();
    let sent = send(&compressor, &agent, CallOptions::default(), 100);
    let body: serde_json::Value = serde_json::from_str(&sent.body).unwrap();
    let note = body["messages"][1]["content"].as_str().unwrap();
    let tokens = tiktoken_rs::o200k_base().unwrap().encode_ordinary(note).len();
    assert!(note.starts_with("[CCR protocol] ") && tokens <= 90, "{tokens} tokens: {note}");
}

/// A list of records is one line more often than not.
#[test]
fn of_long_lines_only_the_matches_are_shown() {
    let rows: Vec<String> = (0..900).map(|n| format!("{{\"id\":{n},\"name\":\"caf\u{e9}\"}}")).collect();
    let text = format!("head\n[{}]\ntail", rows.join(","));
    let grep = |pattern: &str, context| {
        let (blobs, me) = (MemoryBlobs::default(), Principal::default());
        let id = blobs.put(&me, text.as_bytes()).unwrap();
        let ask = Ask::full(id).mode(Mode::Grep { pattern: pattern.into(), ignore_case: false, context });
        retrieve(&blobs, &me, &ask, at(1)).unwrap()
    };
    let one = grep("\"id\":450,", 0);
    assert!(!one.complete && one.text.len() < 600, "{}", one.text);
    let mut lines = one.text.lines();
    let shown = lines.next().unwrap();
    assert!(shown.starts_with("2:\u{2026}") && shown.ends_with('\u{2026}'), "{shown}");
    assert!(shown.contains("\"id\":449,") && shown.contains("\"id\":451,"));
    assert_eq!(lines.next(), Some("[cut: long lines are shown around their matches only]"));
    // Neighbours are shown together, a match of the whole line has an end, other lines are as ever.
    assert_eq!(grep("\"id\":45[0-3],", 0).text.lines().count(), 2);
    assert_eq!(grep("\"id\":(1|800),", 0).text.lines().count(), 3);
    assert!(grep("(?s).*", 0).text.len() < 4_000);
    assert!(grep("tail", 1).text.starts_with("2-[{\"id\":0,") && grep("tail", 1).text.ends_with("\n3:tail"));
    let all = grep("id", 0).text;
    assert!(all.lines().count() <= 3 && all.len() < text.len() + 200, "{}", all.len());
}
