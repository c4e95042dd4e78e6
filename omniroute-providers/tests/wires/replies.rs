//! Recorded replies, whole and streamed, read to the message that an independent aggregator finds, whatever way
//! their bytes are cut.

use bytes::Bytes;
use omniroute_core::Doc;
use omniroute_core::hub::{Assembler, Event, EventLaw, Reply, StreamItem};
use omniroute_core::wire::Wire;
use omniroute_providers::wires::HOSTED;

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

/// The reply that a stream tells; its events must be lawful.
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

pub(crate) fn read_any(wire: Wire, exchange: &Exchange) -> Result<Reply<'static>, String> {
    let label = exchange.label();
    let items = items(wire, &exchange.reply, &[]);
    let raw: Vec<u8> = items.iter().flat_map(|i| i.raw.iter().copied()).collect();
    assert!(raw == exchange.reply, "{label}: every byte is in one item");
    let told = assemble(wire, &items, &label);
    if exchange.kind != ReplyKind::Whole {
        return told;
    }
    // A whole body where a stream was asked for gives the same.
    let doc = Doc::parse(exchange.reply.clone()).unwrap();
    let whole = wire.read_reply(&doc).map(|read| read.value.into_owned()).map_err(|e| e.to_string());
    assert_eq!(told.as_ref().map(neutral::of).ok(), whole.as_ref().map(neutral::of).ok(), "{label}");
    whole
}

#[test]
fn recorded_replies_read_as_aggregated() {
    for wire in HOSTED {
        let expected = neutral::expected(wire.id());
        let (mut whole, mut streamed, mut wrong) = (0, 0, Vec::new());
        for exchange in exchanges::of_wire(wire.id()) {
            let label = exchange.label();
            let Some(wanted) = expected.get(&label) else { continue };
            match read_any(*wire, exchange) {
                Ok(reply) => {
                    let found = neutral::without_made_ids(neutral::of(&reply), wanted);
                    if found != *wanted {
                        wrong.push(format!("{label}\n  found  {found}\n  wanted {wanted}"));
                    }
                }
                Err(error) => wrong.push(format!("{label}: {error}")),
            }
            if exchange.streamed() { streamed += 1 } else { whole += 1 }
        }
        println!("{}: {whole} whole and {streamed} streamed replies, {} wrong", wire.id(), wrong.len());
        assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    }
}

/// Replies written for a client of the same wire tell the same, and keep what no type models.
#[test]
fn recorded_replies_come_through() {
    for wire in HOSTED {
        let mut count = 0;
        for exchange in exchanges::of_wire(wire.id()).into_iter().filter(|e| e.kind == ReplyKind::Whole) {
            let doc = Doc::parse(exchange.reply.clone()).unwrap();
            let reply = wire.read_reply(&doc).unwrap().value;
            let written = wire.write_reply(&reply, &Default::default()).unwrap();
            let wanted: serde_json::Value = serde_json::from_slice(&exchange.reply).unwrap();
            let mut found: serde_json::Value = serde_json::from_slice(&written.body).unwrap();
            // Content that is empty beside calls says nothing.
            if wanted["message"].get("content").is_none() && found["message"]["content"] == "" {
                found["message"].as_object_mut().unwrap().remove("content");
            }
            assert_eq!(found, wanted, "{}", exchange.label());
            count += 1;
        }
        println!("{}: {count} replies written again", wire.id());
    }
}

/// Twin: an event that is lost shows in the comparison.
#[test]
fn a_lost_event_is_noticed() {
    for wire in HOSTED {
        let streams = exchanges::of_wire(wire.id());
        let Some(exchange) = streams.into_iter().rev().find(|e| e.streamed()) else { continue };
        let all = items(*wire, &exchange.reply, &[]);
        let mut less = all.clone();
        let is_delta = |e: &Event| matches!(e, Event::Delta { .. });
        let item = less.iter_mut().find(|i| i.events.iter().any(is_delta)).unwrap();
        item.events.retain(|e| !is_delta(e));
        let read = |items: &[StreamItem]| neutral::of(&assemble(*wire, items, "twin").unwrap());
        assert_ne!(read(&all), read(&less), "{}", wire.id());
    }
}

#[test]
fn a_cut_stream_is_a_failure() {
    let mut count = 0;
    for wire in HOSTED {
        for exchange in exchanges::of_wire(wire.id()).into_iter().filter(|e| e.streamed()) {
            let end = exchange.reply.len();
            for at in [end / 4, end / 2, end - end / 10 - 250.min(end / 2)] {
                let read = assemble(*wire, &items(*wire, &exchange.reply[..at], &[]), &exchange.label());
                assert!(read.is_err(), "{}: cut at {at} of {end} looks complete", exchange.label());
                count += 1;
            }
        }
    }
    println!("{count} cut streams end with an error");
}

/// Pseudo-random numbers from a seed.
fn next(seed: &mut u64) -> u64 {
    *seed ^= *seed << 13;
    *seed ^= *seed >> 7;
    *seed ^= *seed << 17;
    *seed
}

/// Every stream at random places, some at every byte. `OMNIROUTE_CUTS=all` cuts all of them at every byte.
#[test]
fn any_cut_gives_the_same_items() {
    let every = if std::env::var("OMNIROUTE_CUTS").is_ok_and(|v| v == "all") { 50 } else { 4 };
    let mut seed = 0x5EED;
    for wire in HOSTED {
        let (mut random, mut bytes, mut streams) = (0, 0, 0);
        for exchange in exchanges::of_wire(wire.id()).into_iter().filter(|e| e.streamed()) {
            let whole = items(*wire, &exchange.reply, &[]);
            let length = exchange.reply.len();
            for _ in 0..3 {
                let mut cuts: Vec<_> = (0..8).map(|_| next(&mut seed) as usize % length).collect();
                cuts.sort_unstable();
                let cut = items(*wire, &exchange.reply, &cuts);
                assert!(cut == whole, "{} cut at {cuts:?}", exchange.label());
                random += 1;
            }
            if streams < every && (length < 10_000 || every > 4) {
                for at in 0..length {
                    let cut = items(*wire, &exchange.reply, &[at]);
                    assert!(cut == whole, "{} cut at {at}", exchange.label());
                }
                let each: Vec<_> = (0..length).collect();
                assert!(items(*wire, &exchange.reply, &each) == whole, "{} byte by byte", exchange.label());
                streams += 1;
                bytes += length;
            }
        }
        println!("{}: {random} random cuts, {streams} streams cut at each of {bytes} bytes", wire.id());
    }
}
