//! Every check of the wires over every recorded exchange, counted by vendor: a page of the documentation.
//!
//! `cargo run --example wire_report --all-features -- PAGE DATE MACHINE`. Needs the recordings (`OMNIROUTE_DATA`) and
//! `python3`.

#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    dead_code,
    unused_imports,
    reason = "a tool over parts of the tests, which use more of themselves"
)]

#[path = "../../omniroute-core/tests/wire/crossing.rs"]
mod core_crossing;
#[path = "../../omniroute-core/tests/wire/requests.rs"]
mod core_requests;
#[path = "../tests/wires/crossing.rs"]
mod crossing;
#[path = "../../omniroute-core/tests/wire/exchanges.rs"]
mod exchanges;
#[path = "../../omniroute-core/tests/wire/kept.rs"]
mod kept;
#[path = "../../omniroute-core/tests/wire/matrix.rs"]
mod matrix;
#[path = "../../omniroute-core/tests/wire/neutral.rs"]
mod neutral;
#[path = "../tests/wires/replies.rs"]
mod replies;
#[path = "../tests/wires/requests.rs"]
mod requests;

use std::collections::BTreeMap;
use std::fmt::Write;

use omniroute_core::hub::WriteContext;
use omniroute_core::wire::{WIRES, Wire, translate};
use omniroute_core::{ChatRequest, Doc};
use omniroute_providers::wires::{HOSTED, by_id};
use serde_json::Value;

use exchanges::{Exchange, ReplyKind};

/// The checks, in the order of the columns.
const CHECKS: [&str; 7] = [
    "request read and written again",
    "request passed on, bytes",
    "request on another wire and back",
    "reply or error read",
    "stream cut",
    "reply on another wire and back",
    "stream on another wire and back",
];

#[derive(Default, Clone)]
struct Vendor {
    exchanges: usize,
    streams: usize,
    passed: [usize; 7],
    total: [usize; 7],
    refused: usize,
}

impl Vendor {
    fn add(&mut self, check: usize, ok: bool, label: &str) {
        self.total[check] += 1;
        self.passed[check] += usize::from(ok);
        if !ok {
            println!("failed: {}: {label}", CHECKS[check]);
        }
    }
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [page, date, machine] = arguments.as_slice() else {
        println!("usage: wire_report PAGE DATE MACHINE");
        return;
    };
    let rows: Vec<_> = matrix::rows().into_iter().filter(|r| r.area == "request").collect();
    let mut vendors: BTreeMap<String, Vendor> = BTreeMap::new();
    for wire in WIRES.iter().chain(HOSTED).copied() {
        let expected = neutral::expected(wire.id());
        for exchange in exchanges::of_wire(wire.id()) {
            let vendor = vendors.entry(exchange.provider.clone()).or_default();
            vendor.exchanges += 1;
            vendor.streams += usize::from(exchange.streamed());
            if let Some(body) = &exchange.request {
                request(wire, body, exchange, &rows, vendor);
            }
            reply(wire, exchange, &expected, vendor);
        }
    }
    std::fs::write(page, text(&vendors, date, machine)).unwrap();
    println!("wrote {page}");
}

fn request(wire: Wire, body: &str, exchange: &Exchange, rows: &[matrix::Row], vendor: &mut Vendor) {
    let label = exchange.label();
    let through = if WIRES.contains(&wire) {
        core_requests::same(wire, body).is_ok()
    } else {
        let mut wanted: Value = serde_json::from_str(body).unwrap();
        requests::normal(wire.id(), &mut wanted);
        requests::through(wire, body).is_ok_and(|mut found| {
            requests::normal(wire.id(), &mut found);
            found == wanted
        })
    };
    vendor.add(0, through, &label);
    if WIRES.contains(&wire) {
        let same = ChatRequest::parse(wire, body.to_owned())
            .is_ok_and(|r| translate(&r, wire, &WriteContext::default()).is_ok_and(|w| w.body == body));
        vendor.add(1, same, &label);
    }
    let doc = Doc::parse(body.to_owned()).unwrap();
    let Ok(read) = wire.read_request(&doc) else { return };
    for target in WIRES.iter().chain(HOSTED).copied().filter(|t| *t != wire) {
        let core = WIRES.contains(&wire) && WIRES.contains(&target);
        let found = match core {
            true => core_crossing::cross(rows, &read.value, target),
            false => crossing::cross(rows, &read.value, target),
        };
        match found {
            Ok(true) => vendor.add(2, true, &label),
            Ok(false) => vendor.refused += 1,
            // Sent broken on purpose, and refused by the vendor too.
            Err(error) if exchange.status != 200 && error.contains("no base64") => vendor.refused += 1,
            Err(error) => vendor.add(2, false, &format!("{label} -> {}: {error}", target.id())),
        }
    }
}

fn reply(wire: Wire, exchange: &Exchange, expected: &BTreeMap<String, Value>, vendor: &mut Vendor) {
    let label = exchange.label();
    if exchange.kind == ReplyKind::Error {
        let error = wire.read_error(exchange.status, &exchange.reply);
        return vendor.add(3, error.status == Some(exchange.status) && !error.message.is_empty(), &label);
    }
    let read = replies::read_any(wire, exchange);
    let Some(wanted) = expected.get(&label) else { return };
    let reply = match read {
        Ok(reply) => reply,
        Err(error) => {
            // Some recorded answers really are empty, and that is told.
            return vendor.add(3, error.contains("no content"), &format!("{label}: {error}"));
        }
    };
    vendor.add(3, neutral::without_made_ids(neutral::of(&reply), wanted) == *wanted, &label);
    let items = exchange.streamed().then(|| replies::items(wire, &exchange.reply, &[]));
    if let Some(items) = &items {
        let length = exchange.reply.len();
        for part in 1..8 {
            let cuts = [length * part / 8, length * part / 8 + 1, (length * part / 8 + 97).min(length)];
            vendor.add(4, replies::items(wire, &exchange.reply, &cuts) == *items, &label);
        }
    }
    if reply.choices.iter().all(|c| c.turn.parts.is_empty()) {
        return;
    }
    let mut cx = WriteContext::default();
    cx.options.stream_usage = true;
    for target in WIRES.iter().chain(HOSTED).copied().filter(|t| *t != wire) {
        let wanted = crossing::portable(&reply, wire, target);
        let back = target
            .write_reply(&reply, &cx)
            .map_err(|e| e.to_string())
            .and_then(|w| Doc::parse(w.body).map_err(|e| e.to_string()));
        let same = back.is_ok_and(|doc| {
            target.read_reply(&doc).is_ok_and(|back| crossing::portable(&back.value, wire, target) == wanted)
        });
        vendor.add(5, same, &format!("{label} -> {}", target.id()));
        let Some(items) = &items else { continue };
        let Some(mut writer) = target.stream_writer(&cx) else { continue };
        let mut bytes = Vec::new();
        items.iter().flat_map(|i| &i.events).for_each(|e| writer.write(e, &mut bytes));
        let back = replies::assemble(target, &replies::items(target, &bytes, &[]), &label);
        let same = back.is_ok_and(|back| crossing::portable(&back, wire, target) == wanted);
        vendor.add(6, same, &format!("{label} -> {}", target.id()));
    }
}

fn text(vendors: &BTreeMap<String, Vendor>, date: &str, machine: &str) -> String {
    let mut out = String::from("# Wires against recorded exchanges\n\n");
    let mut all = Vendor::default();
    for vendor in vendors.values() {
        all.exchanges += vendor.exchanges;
        all.streams += vendor.streams;
        all.refused += vendor.refused;
        for check in 0..CHECKS.len() {
            all.passed[check] += vendor.passed[check];
            all.total[check] += vendor.total[check];
        }
    }
    let wires = WIRES.len() + HOSTED.len();
    writeln!(
        out,
        "`make wire-report` makes this page: {} recorded chat exchanges with {} vendors, {} of them streamed, on {wires} wires, each \
         through every check that applies to it. Checks passed of checks made; what a target cannot take and refuses with a reason \
         ({} times) is no check. {date}, {machine}.\n",
        all.exchanges,
        vendors.len(),
        all.streams,
        all.refused
    )
    .unwrap();
    write!(out, "| vendor | exchanges |").unwrap();
    CHECKS.iter().for_each(|check| write!(out, " {check} |").unwrap());
    writeln!(out, "\n|---|--:|{}", "--:|".repeat(CHECKS.len())).unwrap();
    for (name, vendor) in vendors.iter().map(|(n, v)| (n.as_str(), v)).chain([("all", &all)]) {
        write!(out, "| {name} | {} |", vendor.exchanges).unwrap();
        for check in 0..CHECKS.len() {
            match vendor.total[check] {
                0 => write!(out, " – |").unwrap(),
                total => write!(out, " {}/{total} |", vendor.passed[check]).unwrap(),
            }
        }
        out.push('\n');
    }
    out.push_str(ENDING);
    out
}

const ENDING: &str = "
What the columns say:

- *request read and written again*: through the neutral form and back on its own wire it is the same JSON, but for a short list of
  ways to say one thing twice (`omniroute-core/tests/wire/requests.rs`).
- *request passed on, bytes*: for a target on the same wire not a byte changes.
- *request on another wire and back*: written to each other wire and read again it keeps what the matrix promises
  (`omniroute-core/src/wire/matrix.tsv`), and each loss has its remark.
- *reply or error read*: it reads to the message that an independent script finds in the same bytes
  (`omniroute-core/tests/wire/aggregate.py`); an error keeps its status and has a message.
- *stream cut*: cut in seven places, each into four pieces, the stream reads to the same events. `make test` cuts at every byte of
  a few streams of each wire, `OMNIROUTE_CUTS=all` of fifty.
- *reply on another wire and back*, *stream on another wire and back*: text, reasoning, calls and usage of the first choice are
  the same after both translations.

No recording holds a rate limit (429), an overload (503, 529), a stream that breaks off, a CRLF or a Gemini stream. Those are tested on
bytes that are cut or changed from recordings, or written by hand and called synthetic: the known faults in
`omniroute-core/tests/wire/pitfalls` and `omniroute-providers/tests`, and Gemini streams made from the recorded whole replies.
";
