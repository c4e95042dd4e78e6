//! A vocabulary is unpacked by the first text that is counted with it, not before. In a process of its own: one test only.
#![cfg(all(feature = "tokens-exact", target_os = "linux"))]

use omniroute::{Compressor, Config, Count, Options};

/// Memory of this process in bytes.
fn resident() -> u64 {
    let fields = std::fs::read_to_string("/proc/self/statm").expect("the kernel tells");
    let pages = fields.split(' ').nth(1).and_then(|pages| pages.parse::<u64>().ok());
    pages.expect("the second field is a number of pages") * 4096
}

/// An unpacked vocabulary is larger than this many bytes, everything else is smaller.
const VOCABULARY: u64 = 8 << 20;

#[test]
fn nothing_is_unpacked_before_a_count_needs_it() {
    let start = resident();
    let compressor = Compressor::new(Config::default().with_count(Count::Exact)).unwrap();
    let run = |model: &str| {
        let body = format!(r#"{{"model":"{model}","messages":[{{"role":"user","content":"hello world"}}]}}"#);
        compressor.compress_body(body, &Options::default()).unwrap();
        let grown = resident().saturating_sub(start);
        println!("after {model}: {grown} bytes more");
        grown
    };
    assert!(run("claude-sonnet-4-5") < VOCABULARY);
    // The same measure sees a vocabulary.
    let one = run("gpt-5");
    assert!(one > VOCABULARY);
    assert!(run("gpt-5") - one < VOCABULARY);
    assert!(run("gpt-4") - one > VOCABULARY / 2);
}
