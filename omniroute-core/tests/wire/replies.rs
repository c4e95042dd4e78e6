//! Recorded replies, whole and streamed, read to the message that an independent aggregator finds, whatever way
//! their bytes are cut.

use bytes::Bytes;
use omniroute_core::Doc;
use omniroute_core::hub::{Assembler, Event, EventLaw, Reply, StreamItem};
use omniroute_core::wire::{Wire, WireError, by_id};

use crate::exchanges::{self, Exchange, ReplyKind};
use crate::neutral;

/// Reads `bytes` in pieces that end at `cuts`.
pub(crate) fn items(wire: Wire, bytes: &[u8], cuts: &[usize]) -> Vec<StreamItem> {
    let mut reader = wire.stream_reader().unwrap();
    let mut out = Vec::new();
    let mut from = 0;
    for to in cuts.iter().copied().chain([bytes.len()]) {
        reader.feed(Bytes::copy_from_slice(&bytes[from..to]), &mut out);
        from = to;
    }
    reader.end(&mut out);
    out
}

/// The reply that a stream tells; its events must be lawful and its bytes all there.
pub(crate) fn assemble(wire: Wire, items: &[StreamItem], label: &str) -> Result<Reply<'static>, String> {
    let mut law = EventLaw::default();
    let mut assembler = Assembler::new(wire.id());
    for event in items.iter().flat_map(|i| &i.events) {
        law.check(event).unwrap_or_else(|rule| panic!("{label}: {rule}: {event:?}"));
        assembler.push(event.clone());
    }
    law.end().unwrap_or_else(|rule| panic!("{label}: {rule}"));
    assembler.finish().map_err(|error| format!("{:?}: {}", error.code, error.message))
}

fn read_any(wire: Wire, exchange: &Exchange) -> Result<Reply<'static>, String> {
    let label = exchange.label();
    if exchange.kind == ReplyKind::Whole {
        let doc = Doc::parse(exchange.reply.clone()).unwrap();
        let whole = wire.read_reply(&doc).map(|read| read.value.into_owned()).map_err(|e| e.to_string());
        // A whole body where a stream was asked for gives the same.
        if let Some(mut reader) = wire.stream_reader() {
            let mut out = Vec::new();
            reader.feed(Bytes::from(exchange.reply.clone()), &mut out);
            reader.end(&mut out);
            let replayed = assemble(wire, &out, &label);
            assert_eq!(
                replayed.as_ref().map(neutral::of).ok(),
                whole.as_ref().map(neutral::of).ok(),
                "{label}"
            );
        }
        return whole;
    }
    let items = items(wire, &exchange.reply, &[]);
    let raw: Vec<u8> = items.iter().flat_map(|i| i.raw.iter().copied()).collect();
    assert!(raw == exchange.reply, "{label}: every byte is in one item");
    assemble(wire, &items, &label)
}

fn check(wire_id: &str) {
    let wire = by_id(wire_id).unwrap();
    let expected = neutral::expected(wire_id);
    let (mut whole, mut streamed, mut wrong) = (0, 0, Vec::new());
    for exchange in exchanges::of_wire(wire_id) {
        let label = exchange.label();
        let Some(wanted) = expected.get(&label) else { continue };
        match read_any(wire, exchange) {
            Ok(reply) => {
                let found = neutral::without_made_ids(neutral::of(&reply), wanted);
                if found != *wanted {
                    wrong.push(format!("{label}\n  found  {found}\n  wanted {wanted}"));
                }
            }
            // Some recorded answers really are empty.
            Err(error) if said_nothing(wanted) && error.contains("no content") => {}
            Err(error) => wrong.push(format!("{label}: {error}")),
        }
        if exchange.streamed() { streamed += 1 } else { whole += 1 }
    }
    println!("{wire_id}: {whole} whole and {streamed} streamed replies, {} wrong", wrong.len());
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

fn said_nothing(wanted: &serde_json::Value) -> bool {
    wanted["choices"].as_object().unwrap().values().all(|c| {
        let blank = |key: &str| c[key].as_str().is_none_or(str::is_empty);
        blank("text") && blank("refusal") && blank("reasoning") && c["calls"].as_array().unwrap().is_empty()
    })
}

#[test]
fn openai_chat_reads_as_aggregated() {
    check("openai-chat");
}

#[test]
fn anthropic_reads_as_aggregated() {
    check("anthropic-messages");
}

#[test]
fn openai_responses_reads_as_aggregated() {
    check("openai-responses");
}

#[test]
fn gemini_reads_as_aggregated() {
    check("gemini");
}

/// No stream of this vendor was recorded: whole replies are sent part by part, texts in two pieces.
#[test]
fn gemini_streams_made_from_whole_replies() {
    let wire = by_id("gemini").unwrap();
    let expected = neutral::expected("gemini");
    let mut count = 0;
    for exchange in exchanges::of_wire("gemini").iter().filter(|e| e.kind == ReplyKind::Whole) {
        let Some(wanted) = expected.get(&exchange.label()).filter(|w| !said_nothing(w)) else { continue };
        let bytes = pieces(&serde_json::from_slice(&exchange.reply).unwrap());
        let whole = items(wire, &bytes, &[]);
        let found = neutral::of(&assemble(wire, &whole, &exchange.label()).unwrap());
        assert_eq!(neutral::without_made_ids(found, wanted), *wanted, "{}", exchange.label());
        for at in (0..bytes.len()).step_by(7) {
            assert!(items(wire, &bytes, &[at]) == whole, "{} cut at {at}", exchange.label());
        }
        count += 1;
    }
    println!("gemini: {count} synthetic streams");
}

fn pieces(body: &serde_json::Value) -> Vec<u8> {
    let mut out = Vec::new();
    let mut send = |chunk: &serde_json::Value| out.extend(format!("data: {chunk}\r\n\r\n").into_bytes());
    let parts = body["candidates"][0]["content"]["parts"].as_array().cloned().unwrap_or_default();
    let chunk = |part: serde_json::Value| {
        let content = serde_json::json!({"role": "model", "parts": [part]});
        serde_json::json!({"responseId": body["responseId"], "candidates": [{"index": 0, "content": content}]})
    };
    for part in parts {
        let signed = part.get("thoughtSignature").is_some();
        match part["text"].as_str().filter(|t| t.is_ascii() && t.len() > 1 && !signed) {
            Some(text) => {
                for piece in <[&str; 2]>::from(text.split_at(text.len() / 2)) {
                    let mut half = part.clone();
                    half["text"] = piece.into();
                    send(&chunk(half));
                }
            }
            None => send(&chunk(part)),
        }
    }
    let mut last = body.clone();
    last["candidates"][0].as_object_mut().unwrap().remove("content");
    send(&last);
    out
}

/// Twin: an event that is lost shows in the comparison.
#[test]
fn a_lost_event_is_noticed() {
    let wire = by_id("openai-chat").unwrap();
    let Some(exchange) = exchanges::of_wire("openai-chat").into_iter().find(|e| e.streamed()) else {
        return;
    };
    let all = items(wire, &exchange.reply, &[]);
    let mut less = all.clone();
    let is_delta = |e: &Event| matches!(e, Event::Delta { .. });
    let item = less.iter_mut().find(|i| i.events.iter().any(is_delta)).unwrap();
    item.events.retain(|e| !is_delta(e));
    let read = |items: &[StreamItem]| neutral::of(&assemble(wire, items, "twin").unwrap());
    assert_ne!(read(&all), read(&less));
}

#[test]
fn a_cut_stream_is_a_failure() {
    let mut count = 0;
    for wire in streaming_wires() {
        for exchange in exchanges::of_wire(wire.id()).into_iter().filter(|e| e.streamed()).take(20) {
            let end = exchange.reply.len();
            for at in [end / 4, end / 2] {
                let items = items(wire, &exchange.reply[..at], &[]);
                let read = assemble(wire, &items, &exchange.label());
                assert!(read.is_err(), "{}: cut at {at} of {end} looks complete", exchange.label());
                count += 1;
            }
        }
    }
    println!("{count} cut streams end with an error");
}

pub(crate) fn streaming_wires() -> impl Iterator<Item = Wire> {
    omniroute_core::wire::WIRES.iter().copied().filter(|w| w.stream_reader().is_some())
}

/// Pseudo-random numbers from a seed.
fn next(seed: &mut u64) -> u64 {
    *seed ^= *seed << 13;
    *seed ^= *seed >> 7;
    *seed ^= *seed << 17;
    *seed
}

/// Every stream at random places, some at every byte. `OMNIROUTE_CUTS=all` cuts 50 streams of each wire at every
/// byte.
#[test]
fn any_cut_gives_the_same_items() {
    let every = if std::env::var("OMNIROUTE_CUTS").is_ok_and(|v| v == "all") { 50 } else { 5 };
    let mut seed = 0x5EED;
    for wire in streaming_wires() {
        let (mut random, mut bytes, mut streams) = (0, 0, 0);
        for exchange in exchanges::of_wire(wire.id()).into_iter().filter(|e| e.streamed()) {
            let whole = items(wire, &exchange.reply, &[]);
            let length = exchange.reply.len();
            for _ in 0..3 {
                let mut cuts: Vec<_> = (0..8).map(|_| next(&mut seed) as usize % length).collect();
                cuts.sort_unstable();
                assert_eq!(
                    items(wire, &exchange.reply, &cuts),
                    whole,
                    "{} cut at {cuts:?}",
                    exchange.label()
                );
                random += 1;
            }
            if streams < every && length < 8_000 {
                for at in 0..length {
                    let cut = items(wire, &exchange.reply, &[at]);
                    assert!(cut == whole, "{} cut at {at}", exchange.label());
                }
                let each: Vec<_> = (0..length).collect();
                assert!(items(wire, &exchange.reply, &each) == whole, "{} byte by byte", exchange.label());
                streams += 1;
                bytes += length;
            }
        }
        println!("{}: {random} random cuts, {streams} streams cut at each of {bytes} bytes", wire.id());
    }
}

#[test]
fn an_error_in_a_success_is_a_failure() {
    for (wire, body, code) in [
        ("openai-chat", r#"{"error":{"message":"m","code":"c"}}"#, "c"),
        (
            "openai-chat",
            r#"{"choices":[{"index":0,"message":{"role":"assistant","content":""},"finish_reason":"stop"}]}"#,
            "empty_reply",
        ),
    ] {
        let doc = Doc::parse(body).unwrap();
        let Err(WireError::Vendor(error)) = by_id(wire).unwrap().read_reply(&doc) else { panic!("{body}") };
        assert_eq!(error.code.as_deref(), Some(code));
    }
}
