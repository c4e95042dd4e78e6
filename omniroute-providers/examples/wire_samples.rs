//! Replies of every wire, written for clients of each wire that has an official package, whole and as a stream: one JSON
//! object a line, with what a client has to find in it. Checked-in replies, and the recorded ones where they are.
//!
//! `cargo run --example wire_samples --all-features -- FILE`

#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    dead_code,
    reason = "a tool over parts of the tests, which use more of themselves"
)]

#[path = "../../omniroute-core/tests/wire/exchanges.rs"]
mod exchanges;
#[path = "../../omniroute-core/tests/wire/neutral.rs"]
mod neutral;

use std::io::Write;

use omniroute_core::Doc;
use omniroute_core::hub::{Assembler, ErrorBody, Event, Reply, StopReason, WriteContext, replay};
use omniroute_core::wire::{ANTHROPIC, OPENAI_CHAT, OPENAI_RESPONSES, Wire};
use omniroute_providers::wires::by_id;
use serde_json::{Value, json};

use exchanges::ReplyKind;

const CLIENTS: [Wire; 3] = [OPENAI_CHAT, OPENAI_RESPONSES, ANTHROPIC];

fn main() {
    let Some(path) = std::env::args().nth(1) else {
        println!("usage: wire_samples FILE");
        return;
    };
    let mut out = std::io::BufWriter::new(std::fs::File::create(path).unwrap());
    let mut count = [0; 2];
    let rich: Vec<Value> = serde_json::from_str(include_str!("../tests/wires/rich/replies.json")).unwrap();
    for sample in rich {
        let Some(wire) = by_id(sample["wire"].as_str().unwrap()) else { continue };
        let doc = Doc::parse(sample["body"].to_string()).unwrap();
        let reply = wire.read_reply(&doc).unwrap().value.into_owned();
        write(&reply, None, sample["name"].as_str().unwrap(), &mut out);
        count[0] += 1;
    }
    for exchange in exchanges::all().iter().filter(|e| e.kind != ReplyKind::Error) {
        let Some(wire) = by_id(exchange.wire) else { continue };
        let (reply, events) = if exchange.kind == ReplyKind::Whole {
            let doc = Doc::parse(exchange.reply.clone()).unwrap();
            let Ok(read) = wire.read_reply(&doc) else { continue };
            (read.value.into_owned(), None)
        } else {
            let mut reader = wire.stream_reader().unwrap();
            let mut items = Vec::new();
            reader.feed(exchange.reply.clone().into(), &mut items);
            reader.end(&mut items);
            let events: Vec<Event> = items.into_iter().flat_map(|i| i.events).collect();
            let mut assembler = Assembler::new(wire.id());
            events.iter().cloned().for_each(|event| assembler.push(event));
            let Ok(reply) = assembler.finish() else { continue };
            (reply, Some(events))
        };
        write(&reply, events, &exchange.label(), &mut out);
        count[1] += 1;
    }
    broken(&mut out);
    println!("{} checked-in and {} recorded replies, for {} clients", count[0], count[1], CLIENTS.len());
}

/// One line a client.
fn write(reply: &Reply<'static>, events: Option<Vec<Event>>, name: &str, out: &mut impl Write) {
    if reply.choices.iter().all(|c| c.turn.parts.is_empty()) {
        return; // said nothing, for a reason that only its own wire can tell
    }
    let events = events.unwrap_or_else(|| replay(reply.clone()));
    let mut cx = WriteContext::default();
    cx.options.stream_usage = true;
    for client in CLIENTS {
        let whole = client.write_reply(reply, &cx).unwrap();
        let line = json!({"wire": client.id(), "own": reply.wire == client.id(), "name": name, "whole": text(&whole.body),
            "stream": stream(client, &events, &cx), "found": found(reply)});
        writeln!(out, "{line}").unwrap();
    }
}

/// A stream that dies: the client must not take it for an answer.
fn broken(out: &mut impl Write) {
    let body = r#"{"id":"c","model":"m","choices":[{"index":0,"message":{"role":"assistant","content":"The answer is"},"finish_reason":"stop"}]}"#;
    let doc = Doc::parse(body).unwrap();
    let mut events = replay(OPENAI_CHAT.read_reply(&doc).unwrap().value.into_owned());
    let end = events.iter().position(|e| matches!(e, Event::PartEnd { .. })).unwrap();
    events.truncate(end + 1);
    events.push(Event::Error(ErrorBody::own("truncated_stream", "the stream ended before the answer did")));
    for client in CLIENTS {
        let stream = stream(client, &events, &WriteContext::default());
        writeln!(out, "{}", json!({"wire": client.id(), "name": "broken", "stream": stream})).unwrap();
    }
}

fn stream(client: Wire, events: &[Event], cx: &WriteContext) -> String {
    let mut writer = client.stream_writer(cx).unwrap();
    let mut bytes = Vec::new();
    events.iter().for_each(|event| writer.write(event, &mut bytes));
    text(&bytes)
}

/// What a client has to find in the first choice.
fn found(reply: &Reply<'_>) -> Value {
    let mut value = neutral::of(reply);
    let mut choice = value["choices"]["0"].take();
    for call in choice["calls"].as_array_mut().into_iter().flatten() {
        if call["arguments"].is_null() {
            call["arguments"] = json!({});
        }
    }
    let stop = reply.choices.first().and_then(|c| c.stop.as_ref());
    let cut = stop.is_some_and(|s| matches!(s.reason, StopReason::Length | StopReason::ContextFull));
    json!({"text": choice["text"], "refusal": choice["refusal"], "calls": choice["calls"], "cut": cut,
        "usage": value["usage"]})
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}
