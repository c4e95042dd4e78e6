//! Inputs made to cost much: twice the input may cost twice the work, counted in bytes and allocations.
//!
//! One test in a program of its own, because the counters are the program's.
#![expect(clippy::unwrap_used, reason = "helpers of tests stop like tests")]

mod common;

use std::alloc::System;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use common::engines::Own;
use common::prefix::shuffled;
use cpu_time::ProcessTime;
use omniroute_compress::{Compress, CompressBuilder, MemoLimits, Step};
use omniroute_core::{Loss, Moment, Tokenizer, wire};
use serde_json::json;
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

/// What one body cost.
#[derive(Debug, Clone, Copy)]
struct Cost {
    allocated: u64,
    counted: u64,
    worked: u64,
}

fn cost(build: &Build, body: &[u8]) -> Cost {
    let counter = Arc::new(Counting::default());
    let compressor: Compress = build().tokenizer(counter.clone()).memo(MemoLimits::none()).build().unwrap();
    let region = Region::new(ALLOCATOR);
    let out = compressor.compress_body(Some(wire::OPENAI_CHAT), body.to_vec(), Moment::default()).unwrap();
    let allocated = region.change().bytes_allocated as u64;
    Cost { allocated, counted: counter.0.load(Ordering::Relaxed), worked: out.receipt.engine_bytes }
}

/// Two results, the second after the first.
fn body(first: &str, second: &str) -> Vec<u8> {
    let mut messages = Vec::new();
    for (n, text) in [first, second].into_iter().enumerate() {
        let arguments = json!({"path": format!("file{n}")}).to_string();
        let call = json!({"id": format!("c{n}"), "type": "function", "function": {"name": "read", "arguments": arguments}});
        messages.push(json!({"role": "assistant", "content": null, "tool_calls": [call]}));
        messages.push(json!({"role": "tool", "tool_call_id": format!("c{n}"), "content": text}));
    }
    serde_json::to_vec(&json!({"model": "gpt-4o", "messages": messages})).unwrap()
}

fn join(lines: impl Iterator<Item = String>) -> String {
    lines.map(|l| l + "\n").collect()
}

type Pair = (String, String);

/// Makes the builder of a plan.
type Build = dyn Fn() -> CompressBuilder;

/// Named inputs of about `bytes` a text.
fn inputs(bytes: usize) -> Vec<(&'static str, Pair)> {
    let n = bytes / 16;
    let line = |i: usize| format!("line {i:09}");
    let all = || join((0..n).map(line));
    let twice = |text: String| (text.clone(), text + "end\n");
    let numbered =
        |number: &dyn Fn(usize) -> usize| join((0..n).map(|i| format!("{}\t{}", number(i), line(i))));
    vec![
        ("one short line", twice("a\n".repeat(bytes / 2))),
        ("one long line", twice("the same line again\n".repeat(bytes / 20))),
        ("two lines in turn", twice("first line of two\nsecond line of two\n".repeat(bytes / 37))),
        ("seven lines in turn", twice(join((0..n).map(|i| line(i % 7))))),
        ("lines shuffled", (all(), join(shuffled(n, 5).into_iter().map(line)))),
        ("all lines backwards", (all(), join((0..n).rev().map(line)))),
        (
            "runs just too short",
            (all(), join((0..n).map(|i| if i % 6 == 5 { format!("other {i:08}") } else { line(i) }))),
        ),
        (
            "runs just long enough",
            (all(), join((0..n).map(|i| if i % 31 == 5 { format!("other {i:08}") } else { line(i) }))),
        ),
        ("line numbers that break", (numbered(&|i| i + 1), numbered(&|i| i + 1 + i / 11))),
        ("line numbers against none", (all(), numbered(&|i| i + 1))),
        (
            "the same start, other ends",
            (
                join((0..n).map(|i| if i % 4 == 3 { line(i) } else { line(i % 4) })),
                join((0..n).map(|i| if i % 4 == 3 { line(n + i) } else { line(i % 4) })),
            ),
        ),
        ("no line at all", twice("x".repeat(bytes))),
        ("empty lines", twice("\n".repeat(bytes))),
    ]
}

/// The cost of a doubled input, in relation.
fn grows_by(build: &Build, small: &Pair, large: &Pair) -> Result<Cost, String> {
    let (one, two) = (cost(build, &body(&small.0, &small.1)), cost(build, &body(&large.0, &large.1)));
    let figures = [(one.allocated, two.allocated), (one.counted, two.counted), (one.worked, two.worked)];
    match figures.into_iter().all(|(a, b)| b as f64 <= 2.3 * a as f64) {
        true => Ok(two),
        false => Err(format!("{one:?} became {two:?}")),
    }
}

#[test]
fn doubled_inputs_cost_at_most_twice() {
    let plans: [(&str, Box<Build>); 3] = [
        ("safe", Box::new(|| Compress::builder().plan("safe"))),
        ("session-dedup", Box::new(|| Compress::builder().plan("session-dedup"))),
        (
            "no run is long enough",
            Box::new(|| Compress::builder().steps([Step::new("session-dedup").with("min_lines", 100_000)])),
        ),
    ];
    for (plan, build) in &plans {
        for ((name, small), (_, large)) in inputs(160_000).into_iter().zip(inputs(320_000)) {
            let start = ProcessTime::now();
            let cost = grows_by(build, &small, &large).unwrap_or_else(|e| panic!("{plan}, {name}: {e}"));
            println!("{plan}, {name}: {cost:?}, {:?} of processor time", start.elapsed());
            assert!(cost.allocated < 64 << 20, "{plan}, {name}: {} bytes", cost.allocated);
        }
    }

    // The twin: an engine that copies everything before each line.
    let build = || {
        let quadratic = Own::says("quadratic", Loss::Lossless, |text| {
            let ends = text.match_indices('\n').map(|(at, _)| text.split_at(at).0.to_owned());
            ends.max_by_key(String::len).unwrap_or_default()
        });
        Compress::builder().engine(quadratic).plan("quadratic")
    };
    let (small, large) = (inputs(20_000).swap_remove(4).1, inputs(40_000).swap_remove(4).1);
    grows_by(&build, &small, &large).unwrap_err();
}
