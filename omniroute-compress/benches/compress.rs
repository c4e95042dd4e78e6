//! Figures of compression: CPU time of one thread, growth over a session, lists of JSON, memory.
//!
//! `cargo bench -p omniroute-compress` prints the table; `-- --smoke` runs each line once.

#![expect(clippy::print_stdout, reason = "a benchmark prints its table")]

use std::hint::black_box;
use std::time::Duration;

use allocation_counter::measure;
use bytes::Bytes;
use cpu_time::ThreadTime;
use omniroute_compress::Compress;
use omniroute_core::{Doc, Moment, wire};

const SESSION: &str = include_str!("data/session-150k.json");
const TURNS: &str = include_str!("data/session-150k.turns.json");

fn main() {
    let smoke = std::env::args().any(|a| a == "--smoke" || a == "--test");
    let rounds = if smoke { 1 } else { 15 };
    println!("{:<52} {:>10} {:>10} {:>9}", "what", "median", "best", "MB/s");
    first_call(rounds);
    growing(rounds);
    lists(if smoke { 1 } else { 5 });
    parts(rounds);
}

/// The 150k session, plan `safe`, nothing remembered.
fn first_call(rounds: usize) {
    let cold = time(1, || run(&compressor(), &session()));
    line("150k session, first call in the process", &cold, SESSION.len());
    let receipt = compressor().compress_body(Some(wire::OPENAI_CHAT), session(), Moment::default());
    let receipt = receipt.expect("is a request").receipt;
    let saved = 100.0 * (1.0 - receipt.tokens_after as f64 / receipt.tokens_before as f64);
    println!("{:<52} {saved:>8.1} % of {} tokens (estimated)", "    saved", receipt.tokens_before);
    let warm = time(rounds, || run(&compressor(), &session()));
    line("150k session, new compressor", &warm, SESSION.len());
}

/// Its 23 turns, one call each.
fn growing(rounds: usize) {
    let bodies = turns();
    let mut last = Vec::new();
    let mut sums = Vec::new();
    let mut seen = 0;
    for _ in 0..rounds {
        let compressor = compressor();
        let mut sum = Duration::ZERO;
        seen = 0;
        for (i, body) in bodies.iter().enumerate() {
            let start = ThreadTime::now();
            let receipt = compressor.compress_body(Some(wire::OPENAI_CHAT), body.clone(), Moment::default());
            let took = start.elapsed();
            seen += receipt.expect("is a request").receipt.engine_bytes;
            sum += took;
            if i + 1 == bodies.len() {
                last.push(took);
            }
        }
        sums.push(sum);
    }
    let total: usize = bodies.iter().map(Bytes::len).sum();
    line("150k session, turn 23 on a seen history", &last, SESSION.len());
    line("150k session, 23 growing turns in all", &sums, total);
    println!("{:<52} {seen:>10} bytes", "    texts that engines looked at in the 23 turns");
    let again = compressor();
    run(&again, &session());
    let same = time(rounds, || run(&again, &session()));
    line("150k session, the same body again", &same, SESSION.len());
    memory("    extra memory of a first call", &session());
}

/// Most memory in use during one call, the body itself not counted.
fn memory(what: &str, body: &Bytes) {
    let compressor = compressor();
    let stats = measure(|| {
        let out = compressor.compress_body(Some(wire::OPENAI_CHAT), body.clone(), Moment::default());
        black_box(out.expect("is a request"));
    });
    let (peak, ratio) = (stats.bytes_max, stats.bytes_max as f64 / body.len() as f64);
    println!("{what:<52} {peak:>10} bytes, {ratio:.2} x input, {} allocations", stats.count_total);
}

/// Tool results that are one list of objects.
fn lists(rounds: usize) {
    for rows in [1_000, 10_000, 50_000] {
        let list = list(rows);
        let body = body_with(&list);
        let times = time(rounds, || run(&compressor(), &body));
        line(&format!("JSON list of {rows} rows"), &times, list.len());
        memory("    extra memory", &body);
    }
}

/// Where the time goes, each part alone.
fn parts(rounds: usize) {
    use omniroute_core::{ChatRequest, Estimator, Tokenizer, Transcript};
    let parse = time(rounds, || {
        black_box(Doc::parse(SESSION).expect("is JSON"));
    });
    line("part: scan and index", &parse, SESSION.len());
    let ignored = time(rounds, || {
        black_box(serde_json::from_str::<serde::de::IgnoredAny>(SESSION).expect("is JSON"));
    });
    line("peer: serde_json, check only", &ignored, SESSION.len());
    let value = time(rounds, || {
        black_box(serde_json::from_str::<serde_json::Value>(SESSION).expect("is JSON"));
    });
    line("peer: serde_json, tree of values", &value, SESSION.len());
    let request = ChatRequest::parse(wire::OPENAI_CHAT, SESSION).expect("is JSON");
    let read = time(rounds, || {
        black_box(Transcript::of(&request).expect("is a request"));
    });
    line("part: read into segments", &read, SESSION.len());
    let decode = time(rounds, || {
        let transcript = Transcript::of(&request).expect("is a request");
        black_box(transcript.segments().iter().map(|s| s.original().len()).sum::<usize>());
    });
    line("part: read and decode", &decode, SESSION.len());
    let transcript = Transcript::of(&request).expect("is a request");
    let estimator = Estimator::for_model("gpt-5");
    let count = time(rounds, || {
        black_box(
            transcript.segments().iter().map(|s| u64::from(estimator.count(s.original()))).sum::<u64>(),
        );
    });
    line("part: estimate tokens", &count, SESSION.len());
    for plan in ["repeat", "lite", "rows", "session-dedup"] {
        let compressor = || Compress::builder().plan(plan).build().expect("is a plan");
        let alone = time(rounds, || run(&compressor(), &session()));
        line(&format!("plan of one step: {plan}"), &alone, SESSION.len());
    }
}

/// The session; cloning it costs nothing.
fn session() -> Bytes {
    Bytes::from_static(SESSION.as_bytes())
}

fn compressor() -> Compress {
    Compress::builder().build().expect("the default plan builds")
}

fn run(compressor: &Compress, body: &Bytes) {
    let out = compressor.compress_body(Some(wire::OPENAI_CHAT), body.clone(), Moment::default());
    black_box(out.expect("is a request"));
}

fn time(rounds: usize, mut work: impl FnMut()) -> Vec<Duration> {
    (0..rounds)
        .map(|_| {
            let start = ThreadTime::now();
            work();
            start.elapsed()
        })
        .collect()
}

fn line(what: &str, times: &[Duration], bytes: usize) {
    let mut times = times.to_vec();
    times.sort();
    let median = times[times.len() / 2];
    let ms = |d: Duration| d.as_secs_f64() * 1e3;
    let speed = bytes as f64 / 1e6 / median.as_secs_f64();
    println!("{what:<52} {:>7.3} ms {:>7.3} ms {speed:>9.0}", ms(median), ms(times[0]));
}

/// The bodies of the 23 turns, cut out of the session's own bytes.
fn turns() -> Vec<Bytes> {
    let ends = Doc::parse(TURNS).expect("is JSON");
    let list = ends.get(ends.root(), "turn_ends").expect("is there");
    let session = Doc::parse(SESSION).expect("is JSON");
    let messages = session.get(session.root(), "messages").expect("is there");
    let nodes: Vec<_> = session.elements(messages).collect();
    let tail = &SESSION.as_bytes()[session.span(messages).end - 1..];
    ends.elements(list)
        .map(|n| ends.integer(n).expect("is a number") as usize)
        .map(|count| [&SESSION.as_bytes()[..session.span(nodes[count - 1]).end], tail].concat().into())
        .collect()
}

fn list(rows: usize) -> String {
    let row = |i: usize| {
        let (name, state) = (["ada", "bo", "cy", "di"][i % 4], ["open", "closed", "merged"][i % 3]);
        format!(
            "{{\"id\": {i}, \"name\": \"{name}-{i}\", \"email\": \"{name}{i}@example.com\", \"active\": {}, \"score\": {}.{:02}, \"state\": \"{state}\", \"owner\": {{\"login\": \"u{}\", \"id\": {}}}, \"note\": {}}}",
            i.is_multiple_of(2),
            i % 97,
            i % 100,
            i % 31,
            i % 31,
            if i.is_multiple_of(5) { "null".to_owned() } else { format!("\"item {i} of the list\"") },
        )
    };
    format!("[{}]", (0..rows).map(row).collect::<Vec<_>>().join(", "))
}

fn body_with(result: &str) -> Bytes {
    let text = omniroute_core::escape(result);
    format!(
        r#"{{"messages":[{{"role":"assistant","tool_calls":[{{"id":"c","function":{{"name":"list_items","arguments":"{{}}"}}}}]}},{{"role":"tool","tool_call_id":"c","content":{text}}}]}}"#
    )
    .into()
}
