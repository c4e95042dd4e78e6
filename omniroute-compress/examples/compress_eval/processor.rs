//! Processor time of the long session of the benches, with everything that a request can ask for.

use cpu_time::ProcessTime;
use omniroute_compress::ccr::TOOL;
use omniroute_compress::{CallOptions, Compress, Rewrite};
use omniroute_core::{ChatRequest, Moment};

use crate::common;

/// Runs of which the middle one counts.
const RUNS: usize = 15;

/// Prints one line a kind of call. Every run has a new compressor.
pub(crate) fn report() {
    let (session, _) = common::bench();
    println!("\n## Processor time of one call for the whole of {}, by a new compressor\n", session.name);
    println!("| call | milliseconds | tokens sent |\n| --- | ---: | ---: |");
    let plain = CallOptions::default();
    let tool = session.with_tool(TOOL);
    for (what, session, rewrite, options) in [
        ("`safe`", &session, Rewrite::ColdOnly, plain),
        ("`safe` with the retrieval tool", &tool, Rewrite::ColdOnly, plain),
        ("the same, the cache cold: older turns rewritten", &tool, Rewrite::ColdOnly, plain.cold(true)),
        ("the same, at thresholds", &tool, Rewrite::Threshold { every_tokens: 60_000 }, plain),
        (
            "the same, cold and cut to 60 000 tokens",
            &tool,
            Rewrite::ColdOnly,
            plain.cold(true).target_tokens(60_000),
        ),
    ] {
        let bytes = session.first(usize::MAX);
        let mut times = Vec::new();
        let mut tokens = 0;
        for _ in 0..RUNS {
            let compressor = Compress::builder().rewrite(rewrite).build().unwrap();
            let body = bytes.clone();
            let start = ProcessTime::now();
            let mut request = ChatRequest::parse(session.wire, body).unwrap();
            let out = compressor.compress_with(&mut request, options, Moment::default());
            times.push(start.elapsed());
            tokens = out.receipt.tokens_after;
        }
        times.sort_unstable();
        println!("| {what} | {:.1} | {tokens} |", times[RUNS / 2].as_secs_f64() * 1e3);
    }
}
