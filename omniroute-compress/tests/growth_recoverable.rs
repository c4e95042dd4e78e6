//! Inputs made to cost much for what can be fetched back, rewritten or cut: twice the input may cost twice the work,
//! counted in bytes and allocations.
//!
//! One test in a program of its own, because the counters are the program's.
#![expect(clippy::unwrap_used, reason = "helpers of tests stop like tests")]

use std::alloc::System;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use omniroute_compress::ccr::TOOL;
use omniroute_compress::{CallOptions, Compress, CompressBuilder, MemoLimits, Rewrite};
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

/// Named inputs whose size is `n` times something.
fn inputs(n: usize) -> Vec<(&'static str, Vec<u8>)> {
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

fn grows_by(build: &Build, options: CallOptions, small: &[u8], large: &[u8]) -> Result<(), String> {
    let (one, two) = (cost(build, options, small), cost(build, options, large));
    let size = large.len() as f64 / small.len() as f64;
    // Vectors double their room, so a step more than the size is no sign of anything.
    match one.iter().zip(&two).all(|(a, b)| *b as f64 <= 1.3 * size * (*a as f64).max(50_000.0)) {
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

#[test]
fn doubled_inputs_cost_at_most_twice() {
    let safe: Box<Build> = Box::new(|| Compress::builder().plan("safe"));
    let threshold: Box<Build> =
        Box::new(|| Compress::builder().rewrite(Rewrite::Threshold { every_tokens: 50_000 }));
    let cases: [(&str, &Build, CallOptions); 4] = [
        ("at first sight", safe.as_ref(), CallOptions::default()),
        ("at a cold point", safe.as_ref(), CallOptions::default().cold(true)),
        ("at thresholds", threshold.as_ref(), CallOptions::default()),
        ("cut to a limit", safe.as_ref(), CallOptions::default().target_tokens(5_000)),
    ];
    for (what, build, options) in cases {
        for ((name, small), (_, large)) in inputs(2_000).into_iter().zip(inputs(4_000)) {
            // More thresholds lie in a longer history; they are few, and each is one pass.
            if what == "at thresholds" && name == "long results" {
                continue;
            }
            grows_by(build, options, &small, &large).unwrap_or_else(|e| panic!("{what}, {name}: {e}"));
        }
    }
    let quadratic: Box<Build> =
        Box::new(|| Compress::builder().engine(Arc::new(Quadratic)).plan("quadratic"));
    let (small, large) = (inputs(2_000).swap_remove(7).1, inputs(4_000).swap_remove(7).1);
    grows_by(quadratic.as_ref(), CallOptions::default().cold(true), &small, &large).unwrap_err();
}
