//! Figures of the wires: CPU and wall time of requests written for another vendor and for the same one, and of events
//! of streams, passed and written anew.
//!
//! `cargo bench -p omniroute-core --bench wire` prints the table; `-- --smoke` runs each line a few times.

#![expect(clippy::print_stdout, reason = "a benchmark prints its table")]
#![expect(clippy::disallowed_methods, reason = "a benchmark looks at the clock")]

use std::hint::black_box;
use std::path::Path;
use std::time::{Duration, Instant};

use bytes::Bytes;
use cpu_time::ThreadTime;
use omniroute_core::hub::WriteContext;
use omniroute_core::wire::{self, Wire, translate};
use omniroute_core::{ChatRequest, Doc};
use serde_json::Value;

/// Runs of each line; the table shows the fastest, the middle and the slowest.
const RUNS: usize = 41;
/// Size of the request, in bytes.
const SIZE: usize = 422_000;
/// Events of the stream.
const EVENTS: usize = 1_000;

fn main() {
    let smoke = std::env::args().any(|a| a == "--smoke" || a == "--test");
    let (runs, long) = if smoke { (1, 1) } else { (RUNS, 20) };
    println!("{:<48} {:>29} {:>29}", "microseconds: fastest, middle, slowest", "CPU", "wall");
    requests(runs, long);
    streams(runs, long);
}

/// A long request of the chat API, from its bytes to the bytes that are sent.
fn requests(runs: usize, long: usize) {
    let body = body();
    let kilobytes = body.len() / 1_000;
    let mut cx = WriteContext::default();
    cx.model = Some("another-model".to_owned());
    let read = || ChatRequest::parse(wire::OPENAI_CHAT, body.clone()).expect("the body is a request");
    line(&format!("index of {kilobytes} kB"), runs, long, 1, || drop(black_box(read())));
    let targets: [(&str, Wire); 4] = [
        ("passed, with another model", wire::OPENAI_CHAT),
        ("for anthropic", wire::ANTHROPIC),
        ("for openai-responses", wire::OPENAI_RESPONSES),
        ("for gemini", wire::GEMINI),
    ];
    let request = read();
    for (what, target) in targets {
        line(&format!("{kilobytes} kB openai-chat {what}"), runs, long, 1, || {
            drop(black_box(translate(&request, target, &cx).expect("every target can")));
        });
    }
    line("  the same for anthropic, index included", runs, long, 1, || {
        drop(black_box(translate(&read(), wire::ANTHROPIC, &cx).expect("every target can")));
    });
}

/// One event of a stream: read for what it says, and passed or written for another wire.
fn streams(runs: usize, long: usize) {
    let pieces: Vec<Bytes> = (0..EVENTS)
        .map(|n| {
            let event = format!(
                "data: {{\"id\":\"chatcmpl-1\",\"object\":\"chat.completion.chunk\",\"created\":1700000000,\"model\":\"m\",\"choices\":[{{\"index\":0,\"delta\":{{\"content\":\" word{n}\"}},\"logprobs\":null,\"finish_reason\":null}}]}}\n\n"
            );
            Bytes::from(event)
        })
        .collect();
    let mut items = Vec::new();
    line("one event of openai-chat, read and passed", runs, long, EVENTS, || {
        let mut reader = wire::OPENAI_CHAT.stream_reader().expect("it streams");
        for piece in &pieces {
            reader.feed(piece.clone(), &mut items);
            items.drain(..).for_each(|item| drop(black_box(item.raw)));
        }
    });
    for (what, target) in [("anthropic", wire::ANTHROPIC), ("openai-responses", wire::OPENAI_RESPONSES)] {
        let mut out = Vec::new();
        line(&format!("one event of openai-chat for {what}"), runs, long, EVENTS, || {
            let mut reader = wire::OPENAI_CHAT.stream_reader().expect("it streams");
            let mut writer = target.stream_writer(&WriteContext::default()).expect("it streams");
            for piece in &pieces {
                reader.feed(piece.clone(), &mut items);
                for item in items.drain(..) {
                    item.events.iter().for_each(|event| writer.write(event, &mut out));
                }
                black_box(&out);
                out.clear();
            }
        });
    }
}

/// Recorded sessions one after the other, cut behind an answer without open calls.
fn body() -> Bytes {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../omniroute-compress/tests/sessions");
    let read = |name: &str| -> Value {
        let text = std::fs::read_to_string(folder.join(name)).expect("the session is checked in");
        serde_json::from_str(&text).expect("the session is JSON")
    };
    let mut body = read("ledger.openai.json");
    let more = read("shopapi.openai.json");
    let whole = |value: &Value| value.to_string().len();
    let mut size = whole(&body);
    let messages = body["messages"].as_array_mut().expect("a list of messages");
    for message in more["messages"].as_array().expect("a list of messages").iter().skip(1) {
        let closed = message["role"] == "user";
        if closed && size > SIZE {
            break;
        }
        if size > SIZE && message.get("tool_calls").is_none() && message["role"] == "assistant" {
            break;
        }
        size += whole(message) + 1;
        messages.push(message.clone());
    }
    let bytes = Bytes::from(body.to_string());
    Doc::parse(bytes.clone()).expect("is JSON");
    bytes
}

/// `runs` times the mean of `long` calls of `parts` things each.
fn line(what: &str, runs: usize, long: usize, parts: usize, mut work: impl FnMut()) {
    work();
    let (mut cpu, mut wall) = (Vec::new(), Vec::new());
    for _ in 0..runs {
        let (ours, all) = (ThreadTime::now(), Instant::now());
        (0..long).for_each(|_| work());
        cpu.push(ours.elapsed());
        wall.push(all.elapsed());
    }
    #[expect(clippy::cast_precision_loss, reason = "small numbers")]
    let each = |time: Duration| time.as_secs_f64() * 1e6 / (long * parts) as f64;
    let told = |times: &mut Vec<Duration>| {
        times.sort();
        let (first, middle, last) = (times[0], times[times.len() / 2], times[times.len() - 1]);
        format!("{:>9.2} {:>9.2} {:>9.2}", each(first), each(middle), each(last))
    };
    println!("{what:<48} {} {}", told(&mut cpu), told(&mut wall));
}
