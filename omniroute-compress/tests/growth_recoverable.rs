//! Inputs made to cost much for what can be fetched back, rewritten or cut, and for every engine alone: twice the input
//! may cost twice the work, counted in bytes and allocations.
//!
//! One test in a program of its own, because the counters are the program's.
#![expect(clippy::unwrap_used, reason = "helpers of tests stop like tests")]

use std::alloc::System;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use omniroute_compress::ccr::TOOL;
use omniroute_compress::{CallOptions, Compress, CompressBuilder, ENGINES, MemoLimits, Rewrite};
use omniroute_core::{
    ChatRequest, CompressionEngine, EngineContext, EngineError, EngineInfo, History, Loss, Moment,
    Replacement, Tokenizer, wire,
};
use serde_json::{Value, json};
use stats_alloc::{INSTRUMENTED_SYSTEM, Region, StatsAlloc};

#[global_allocator]
static ALLOCATOR: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

/// Counts the bytes it is asked about.
#[derive(Debug, Default)]
struct Counting(AtomicU64);

impl Tokenizer for Counting {
    fn id(&self) -> &'static str {
        "counting"
    }

    fn count(&self, text: &str) -> u32 {
        self.0.fetch_add(text.len() as u64, Ordering::Relaxed);
        text.len().div_ceil(4) as u32
    }
}

type Build = dyn Fn() -> CompressBuilder;

/// Bytes allocated, bytes counted, bytes worked on.
fn cost(build: &Build, options: CallOptions, body: &[u8]) -> [u64; 3] {
    let counter = Arc::new(Counting::default());
    let compressor = build().tokenizer(counter.clone()).memo(MemoLimits::none()).build().unwrap();
    let mut request = ChatRequest::parse(wire::OPENAI_CHAT, body.to_vec()).unwrap();
    let region = Region::new(ALLOCATOR);
    let out = compressor.compress_with(&mut request, options, Moment::default());
    let allocated = region.change().bytes_allocated as u64;
    [allocated, counter.0.load(Ordering::Relaxed), out.receipt.engine_bytes]
}

/// A conversation of one result after the other, of a tool and a path each.
fn body(results: &[(&str, String, String)]) -> Vec<u8> {
    let mut messages = vec![json!({"role": "user", "content": "what of needle-4711 and all the others"})];
    for (n, (tool, path, text)) in results.iter().enumerate() {
        let arguments = json!({"path": path}).to_string();
        let call = json!({"id": format!("c{n}"), "type": "function", "function": {"name": tool, "arguments": arguments}});
        messages.push(json!({"role": "assistant", "content": null, "tool_calls": [call]}));
        messages.push(json!({"role": "tool", "tool_call_id": format!("c{n}"), "content": text}));
    }
    let tool = json!({"type": "function", "function": {"name": TOOL}});
    serde_json::to_vec(&json!({"model": "gpt-4o", "tools": [tool], "messages": messages})).unwrap()
}

fn list(rows: usize, row: impl Fn(usize) -> Value) -> String {
    Value::Array((0..rows).map(row).collect()).to_string()
}

fn lines(seed: usize, count: usize) -> String {
    (0..count).map(|n| format!("{seed}: entry {n} of a text without any news\n")).collect()
}

/// A body with what is bad about it.
type Named = (&'static str, Vec<u8>);

/// The same at one, two and four times a size.
type Growing = (&'static str, [Vec<u8>; 3]);

/// Named inputs whose size is `n` times something.
fn inputs(n: usize) -> Vec<Named> {
    let one = |text: String| body(&[("lookup", "x".to_owned(), text)]);
    let reads = |text: &dyn Fn(usize) -> String| {
        let all: Vec<_> = (0..n / 20).map(|k| ("read", "src/a.rs".to_owned(), text(k))).collect();
        body(&all)
    };
    vec![
        ("equal rows", one(list(n, |_| json!({"state": "same", "n": 1})))),
        ("a new key in every row", one(list(n, |k| json!({(format!("key{k}")): k, "n": 1})))),
        ("rows that all tell of errors", one(list(n, |k| json!({"error": format!("failed {k}"), "n": k})))),
        ("rows that are all asked for", one(list(n, |k| json!({"id": k, "name": "needle-4711"})))),
        (
            "one record a line",
            one((0..n).map(|k| format!("{}\n", json!({"id": k, "text": "abc"}))).collect()),
        ),
        ("brackets that end nowhere", one("[{\"a\":".repeat(n))),
        ("one file, read in growing parts", reads(&|k| lines(1, 20 + k % 7))),
        ("one file, always another text", reads(&|k| lines(k, 20))),
        (
            "long results",
            body(&(0..n / 100).map(|k| ("lookup", String::new(), lines(k, 250))).collect::<Vec<_>>()),
        ),
    ]
}

/// Outputs of commands that are `n` times something.
fn outputs(n: usize) -> Vec<Named> {
    let one = |command: &str, line: &dyn Fn(usize) -> String| {
        let arguments = json!({"command": command}).to_string();
        let call =
            json!({"id": "c", "type": "function", "function": {"name": "bash", "arguments": arguments}});
        let text: String = (0..n).map(line).collect();
        serde_json::to_vec(&json!({"model": "gpt-4o", "messages": [
            {"role": "assistant", "content": null, "tool_calls": [call]},
            {"role": "tool", "tool_call_id": "c", "content": text},
        ]}))
        .unwrap()
    };
    vec![
        ("hits in one file", one("grep -rn x src", &|k| format!("src/a.rs:{k}: let x = {k};\n"))),
        ("a hit in every file", one("grep -rn x src", &|k| format!("src/f{k}.rs:1: let x = {k};\n"))),
        ("tests that pass", one("cargo test", &|k| format!("test some::test_{k} ... ok\n"))),
        ("lines that all tell of errors", one("make", &|k| format!("error: no rule for target {k}\n"))),
        ("one line again and again", one("make", &|_| "the same line\n".to_owned())),
        ("progress in one line", one("npm install", &|k| format!("\r\u{1b}[2Kfetching {k} of many"))),
        ("colours that never end", one("make", &|k| format!("\u{1b}[3{}mword\n", k % 8))),
        ("paths of a tree", one("find .", &|k| format!("./a{}/b{}/c{k}.txt\n", k % 7, k % 31))),
        ("frames of a stack", one("python x.py", &|k| format!("  File \"m{k}.py\", line {k}, in f\n"))),
    ]
}

fn grows_by(build: &Build, options: CallOptions, small: &[u8], large: &[u8]) -> Result<(), String> {
    let (one, two) = (cost(build, options, small), cost(build, options, large));
    let size = large.len() as f64 / small.len() as f64;
    // Vectors double their room and a cut takes one to three rounds, so a step more than the size is no sign of
    // anything; what is quadratic takes twice as much.
    match one.iter().zip(&two).all(|(a, b)| *b as f64 <= 1.5 * size * (*a as f64).max(50_000.0)) {
        true => Ok(()),
        false => Err(format!("{one:?} became {two:?} for {size:.2} times the input")),
    }
}

/// The twin: at a rewrite point it copies everything before each text.
#[derive(Debug)]
struct Quadratic;

const QUADRATIC: EngineInfo = EngineInfo::new("quadratic", Loss::Lossless).targets(&[]).rewrites_history();

impl CompressionEngine for Quadratic {
    fn info(&self) -> &EngineInfo {
        &QUADRATIC
    }

    fn history(&self, past: &mut History<'_, '_>, _: &EngineContext<'_>) -> Result<(), EngineError> {
        for index in 0..past.end() {
            let all: String = past.segments().iter().take(index).map(|s| s.original()).collect();
            past.replace("quadratic", index, Replacement::new(format!("{} bytes", all.len())));
        }
        Ok(())
    }
}

/// The same inputs at one, two and four times a size.
fn doubled(make: fn(usize) -> Vec<Named>, size: usize) -> Vec<Growing> {
    let [one, two, four] = [size, 2 * size, 4 * size].map(make);
    one.into_iter().zip(two).zip(four).map(|((a, b), c)| (a.0, [a.1, b.1, c.1])).collect()
}

fn all_grow(what: &str, build: &Build, options: CallOptions, inputs: &[Growing]) {
    for (name, [one, two, four]) in inputs {
        for (small, large) in [(one, two), (two, four)] {
            grows_by(build, options, small, large).unwrap_or_else(|e| panic!("{what}, {name}: {e}"));
        }
    }
}

#[test]
fn doubled_inputs_cost_at_most_twice() {
    let safe: Box<Build> = Box::new(|| Compress::builder().plan("safe"));
    let threshold: Box<Build> =
        Box::new(|| Compress::builder().rewrite(Rewrite::Threshold { every_tokens: 50_000 }));
    let all = doubled(inputs, 2_000);
    all_grow("at first sight", safe.as_ref(), CallOptions::default(), &all);
    all_grow("at a cold point", safe.as_ref(), CallOptions::default().cold(true), &all);
    all_grow("cut to a limit", safe.as_ref(), CallOptions::default().target_tokens(5_000), &all);
    // More thresholds lie in a longer history: each is one pass, beside two for the request itself.
    for (name, body) in all.iter().flat_map(|(name, sizes)| sizes.iter().map(move |body| (name, body))) {
        let plain = cost(safe.as_ref(), CallOptions::default(), body);
        let passes = (3 + body.len() / 4 / 50_000) as f64;
        let costs = cost(threshold.as_ref(), CallOptions::default(), body);
        let linear = |(a, b): (&u64, &u64)| *b as f64 <= 1.6 * passes * (*a as f64).max(50_000.0);
        assert!(plain.iter().zip(&costs).all(linear), "at thresholds, {name}: {plain:?} became {costs:?}");
    }

    let outputs = doubled(outputs, 2_000);
    for engine in ENGINES {
        let id = engine.info.id;
        let alone: Box<Build> = Box::new(move || Compress::builder().plan(id));
        all_grow(id, alone.as_ref(), CallOptions::default().cold(true), &outputs);
        all_grow(id, alone.as_ref(), CallOptions::default().cold(true), &all);
    }

    let quadratic: Box<Build> =
        Box::new(|| Compress::builder().engine(Arc::new(Quadratic)).plan("quadratic"));
    let (_, [_, small, large]) = &all[7];
    grows_by(quadratic.as_ref(), CallOptions::default().cold(true), small, large).unwrap_err();
}
