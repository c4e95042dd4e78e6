//! Throughput of the engine for command output, by kind of output and on large and odd texts.
//!
//! `cargo bench -p omniroute-compress --bench rtk [-- --smoke]`. CPU time of one thread in the engine, without the
//! request around the text; the best of several runs.
#![expect(clippy::print_stdout, clippy::unwrap_used, reason = "a benchmark")]

#[path = "../tests/rtk/corpus.rs"]
#[expect(dead_code, reason = "the report uses the rest")]
mod corpus;
#[path = "../tests/rtk/oracle.rs"]
#[expect(dead_code, reason = "the report uses the rest")]
mod oracle;

use std::fmt::Write as _;

use corpus::{GROUPS, Output, group};
use cpu_time::ThreadTime;
use omniroute_compress::{Parts, Settings};
use omniroute_core::{
    ChatRequest, CompressionEngine, EngineContext, Estimator, MemoryBlobs, Principal, SegmentView,
    Transcript, wire,
};

/// Seconds in the engine for one output: class, terminal, renderer, assembly.
fn once(engine: &dyn CompressionEngine, output: &Output) -> f64 {
    let command = serde_json::json!({ "command": output.command }).to_string();
    let body = serde_json::json!({"messages": [
        {"role": "assistant", "tool_calls": [{"id": "c", "type": "function", "function": {"name": "bash", "arguments": command}}]},
        {"role": "tool", "tool_call_id": "c", "content": output.text},
    ]});
    let request = ChatRequest::parse(wire::OPENAI_CHAT, body.to_string()).unwrap();
    let transcript = Transcript::of(&request).unwrap();
    let segments = transcript.segments();
    let text = segments.last().unwrap().original();
    let view = SegmentView::new(segments, text, None).unwrap();
    let (counter, blobs, principal) =
        (Estimator::for_model(""), MemoryBlobs::default(), Principal::default());
    let cx = EngineContext::new(&counter, &blobs, &principal);
    let start = ThreadTime::now();
    let edit = engine.segment(&view, &cx);
    let took = start.elapsed().as_secs_f64();
    drop(edit.unwrap());
    took
}

fn best(runs: usize, engine: &dyn CompressionEngine, output: &Output) -> f64 {
    (0..runs).map(|_| once(engine, output)).fold(f64::MAX, f64::min)
}

fn row(name: &str, bytes: usize, seconds: f64) {
    println!(
        "| {name} | {:.2} | {:.2} | {:.0} |",
        bytes as f64 / 1e6,
        seconds * 1e3,
        bytes as f64 / 1e6 / seconds
    );
}

fn log(bytes: usize) -> String {
    let mut text = String::with_capacity(bytes + 200);
    let mut n = 0_u64;
    while text.len() < bytes {
        n += 1;
        let second = n / 20 % 60;
        let level = if n.is_multiple_of(997) { "WARN" } else { "INFO" };
        let _ = writeln!(
            text,
            "2026-01-15T10:{:02}:{second:02}.{:03}Z {level} worker-{} handled request id={n} in {} ms",
            n / 1200 % 60,
            n % 1000,
            n % 7,
            n % 311
        );
        if n.is_multiple_of(40_009) {
            let _ = writeln!(text, "2026-01-15T10:00:00.000Z ERROR worker-1 lost connection to db-{n}");
        }
    }
    text
}

fn output(text: String, command: &str) -> Output {
    Output {
        file: String::new(),
        command: command.into(),
        exit_code: Some(0),
        class: String::new(),
        facts: oracle::Facts::Verbatim,
        text,
    }
}

fn measure(engine: &dyn CompressionEngine, name: &str, outputs: &[Output], runs: usize) {
    let bytes = outputs.iter().map(|o| o.text.len()).sum();
    row(name, bytes, outputs.iter().map(|o| best(runs, engine, o)).sum());
}

fn main() {
    let smoke = std::env::args().any(|a| a == "--smoke");
    let runs = if smoke { 1 } else { 7 };
    let entry = omniroute_compress::engine("rtk").unwrap();
    let engine = (entry.build)(&Settings::default(), &Parts::default());
    let engine = engine.as_ref();
    let outputs = corpus::read(&corpus::folder());
    println!("| what | MB | ms | MB/s |\n| --- | ---: | ---: | ---: |");
    measure(engine, "whole corpus", &outputs, runs);
    for (n, (name, _, _)) in GROUPS.iter().enumerate() {
        let own: Vec<Output> = outputs.iter().filter(|o| group(&o.class) == n).cloned().collect();
        if !own.is_empty() {
            measure(engine, name, &own, runs);
        }
    }
    let large: &[usize] = if smoke { &[1] } else { &[1, 10] };
    for mb in large {
        measure(
            engine,
            &format!("log of {mb} MB"),
            &[output(log(mb * 1_000_000), "docker logs api")],
            runs.min(3),
        );
    }
    let lines = |line: &str, n: usize| format!("{line}\n").repeat(n);
    for (name, text) in [
        ("1 MB in one line", "x".repeat(1_000_000)),
        ("empty lines", "\n".repeat(1_000_000)),
        ("carriage returns", "frame 12 %\r".repeat(100_000)),
        ("distinct warnings", (0..20_000).map(|n| format!("warning: name_{n} is not used\n")).collect()),
        ("brackets", "(".repeat(1_000_000)),
        ("equal lines", lines("waiting for the database to come up", 30_000)),
    ] {
        measure(engine, name, &[output(text, "make all")], runs.min(3));
    }
    let small: Vec<Output> =
        outputs.iter().filter(|o| (3_500..4_600).contains(&o.text.len())).cloned().collect();
    let mut times: Vec<f64> = small.iter().map(|o| best(runs, engine, o) * 1e6).collect();
    times.sort_by(f64::total_cmp);
    println!(
        "\nresults of about 4 KB: p50 {:.0} us, max {:.0} us",
        times[times.len() / 2],
        times.last().unwrap()
    );
}
