//! Speed of exact counters on texts that are counted for the first time and again, and on texts without a break.
//!
//! `cargo run --release -p omniroute --features tokens-exact --example exact_counts -- FOLDER...`
#![expect(clippy::print_stdout, reason = "a program that prints figures")]

use std::path::{Path, PathBuf};
use std::time::Instant;

use omniroute::core::Tokenizer;
use omniroute::{ExactTokens, Vocabulary};

fn main() {
    let mut files = Vec::new();
    for folder in std::env::args().skip(1) {
        collect(Path::new(&folder), &mut files);
    }
    files.sort();
    let texts: Vec<String> = files.iter().filter_map(|file| std::fs::read_to_string(file).ok()).collect();

    let start = now();
    let exact = ExactTokens::new(Vocabulary::O200k);
    let ours = move |text: &str| exact.count(text) as usize;
    ours("warm");
    println!("bpe-openai: ready in {:.0} ms", start.elapsed().as_secs_f64() * 1e3);
    report(&texts, &ours, &[1 << 17, 1 << 20, 1 << 22]);

    let start = now();
    let reference = tiktoken_rs::o200k_base().expect("the vocabulary is in the crate");
    let theirs = |text: &str| reference.encode_ordinary(text).len();
    theirs("warm");
    println!("tiktoken-rs: ready in {:.0} ms", start.elapsed().as_secs_f64() * 1e3);
    report(&texts, &theirs, &[1 << 17]); // more would take minutes
}

fn report(texts: &[String], count: &dyn Fn(&str) -> usize, sizes: &[usize]) {
    let bytes: usize = texts.iter().map(String::len).sum();
    for pass in ["first", "again"] {
        let start = now();
        let tokens: usize = texts.iter().map(|text| count(text)).sum();
        let speed = bytes as f64 / 1e6 / start.elapsed().as_secs_f64();
        println!("  {} texts, {bytes} bytes, {pass}: {tokens} tokens, {speed:.1} MB/s", texts.len());
    }
    for unit in ["a", "aB3", " ", "=", "9", "\n", "\u{4e16}"] {
        let mut line = format!("  {unit:?}:");
        for size in sizes {
            let text = unit.repeat(size / unit.len());
            let start = now();
            let tokens = count(&text);
            let ms = start.elapsed().as_secs_f64() * 1e3;
            line += &format!("  {} KiB {ms:.1} ms, {tokens} tokens", size >> 10);
        }
        println!("{line}");
    }
}

#[expect(clippy::disallowed_methods, reason = "a program that prints figures")]
fn now() -> Instant {
    Instant::now()
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        match entry.path() {
            path if path.is_dir() => collect(&path, files),
            path => files.push(path),
        }
    }
}
