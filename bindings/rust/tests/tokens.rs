//! Exact counts are those of the reference, for every text at hand, and cost no more than their length.
#![cfg(feature = "tokens-exact")]

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use omniroute::{Compressor, Config, Count, ExactTokens, Options, Vocabulary};
use omniroute_compress::Compress;
use omniroute_core::{Moment, Tokenizer};
use tiktoken_rs::CoreBPE;

fn reference(vocabulary: Vocabulary) -> CoreBPE {
    match vocabulary {
        Vocabulary::Cl100k => tiktoken_rs::cl100k_base().expect("the table is in the crate"),
        _ => tiktoken_rs::o200k_base().expect("the table is in the crate"),
    }
}

/// Texts that counters are known to stumble over.
fn hard() -> Vec<String> {
    let mut texts: Vec<String> = [
        "",
        " ",
        "\n",
        "a",
        "hello world",
        "<|endoftext|> is plain text, <|im_start|> too",
        "don't we'll I'VE they'd",
        "  leading\n\n\n  and trailing   \n",
        "\u{1f468}\u{200d}\u{1f469}\u{200d}\u{1f467} \u{1f1e9}\u{1f1ea} emoji",
        "\u{4f60}\u{597d}\u{ff0c}\u{4e16}\u{754c} \u{3053}\u{3093}\u{306b}\u{3061}\u{306f}",
        "caf\u{e9} na\u{ef}ve \u{130}\u{131} \u{e000}",
        "0123456789 12 345 6789012345",
        "{\"a\":[1,2,{\"b\":null}]}",
        "\r\n\r\n\t\t x",
    ]
    .map(str::to_owned)
    .to_vec();
    for unit in ["a", " ", "\n", "=", "ab1", "\u{e9}", "9"] {
        texts.push(unit.repeat(2_000));
    }
    texts
}

/// The recorded outputs and sessions of the repository, and those outside it if they are there.
fn recorded() -> Vec<String> {
    let ours = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../omniroute-compress");
    let mut folders: Vec<PathBuf> =
        ["benches/data", "tests/sessions", "tests/rtk-corpus"].map(|name| ours.join(name)).to_vec();
    if let Some(root) = std::env::var_os("OMNIROUTE_DATA").map(PathBuf::from) {
        folders.extend(["sessions", "dev-sessions"].map(|name| root.join(name)));
    }
    let mut files = Vec::new();
    for folder in &folders {
        collect(folder, &mut files);
    }
    files.sort();
    files.iter().filter_map(|file| std::fs::read_to_string(file).ok()).collect()
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        match entry.path() {
            path if path.is_dir() => collect(&path, files),
            path => files.push(path),
        }
    }
}

/// Texts of at most this size are compared whole; longer ones in pieces, because the reference is slow on them.
const PIECE: usize = 16 << 10;

fn pieces(text: &str) -> Vec<&str> {
    let mut out = Vec::new();
    let mut rest = text;
    while rest.len() > PIECE {
        let end = (0..=PIECE)
            .rev()
            .find(|at| rest.is_char_boundary(*at))
            .expect("a character has at most four bytes");
        let (head, tail) = rest.split_at(end);
        out.push(head);
        rest = tail;
    }
    out.push(rest);
    out
}

/// Texts on which the two differ.
fn differing(reference: &CoreBPE, count: impl Fn(&str) -> u32, texts: &[String]) -> usize {
    let pieces = texts.iter().flat_map(|text| pieces(text));
    pieces.filter(|text| count(text) as usize != reference.encode_ordinary(text).len()).count()
}

#[test]
fn counts_are_those_of_the_reference() {
    let texts: Vec<String> = hard().into_iter().chain(recorded()).collect();
    println!("{} texts, {} bytes", texts.len(), texts.iter().map(String::len).sum::<usize>());
    assert!(texts.len() > 200, "the recorded texts are not found");
    let exact = ExactTokens::new(Vocabulary::O200k);
    assert_eq!(differing(&reference(Vocabulary::O200k), |text| exact.count(text), &texts), 0);
    let exact = ExactTokens::new(Vocabulary::Cl100k);
    let cl100k = reference(Vocabulary::Cl100k);
    assert_eq!(differing(&cl100k, |text| exact.count(text), &hard()), 0);
    // A counter that is off by one on one text is seen.
    let off = |text: &str| exact.count(text) + u32::from(text == "hello world");
    assert_eq!(differing(&cl100k, off, &hard()), 1);
}

/// Steps that are quadratic in a megabyte would keep this test busy for hours: it only has to end. Times are printed.
#[test]
fn a_megabyte_without_spaces_is_counted() {
    for vocabulary in [Vocabulary::O200k, Vocabulary::Cl100k] {
        let exact = ExactTokens::new(vocabulary);
        for unit in ["a", "aB3", " ", "=", "9", "\n", "\u{4e16}"] {
            let mut line = format!("{} {unit:?}:", exact.id());
            let mut counts = Vec::new();
            for size in [1 << 17, 1 << 20] {
                let text = unit.repeat(size / unit.len());
                #[expect(clippy::disallowed_methods, reason = "printed only")]
                let start = std::time::Instant::now();
                counts.push(exact.count(&text));
                line += &format!(" {} KiB in {:.1} ms", size >> 10, start.elapsed().as_secs_f64() * 1e3);
            }
            println!("{line}");
            // Eight times the text is eight times the tokens, up to what the ends do.
            assert!(counts[1].abs_diff(8 * counts[0]) <= 16, "{unit:?}: {counts:?}");
        }
    }
}

#[test]
fn receipts_say_what_counted() {
    let compressor = Compressor::new(Config::default().with_count(Count::Exact)).unwrap();
    let body = |model: &str| {
        format!(r#"{{"model":"{model}","messages":[{{"role":"user","content":"hello world"}}]}}"#)
    };
    for (model, given, name, exact, tokens) in [
        ("gpt-5", None, "o200k", true, 2),
        ("gpt-4", None, "cl100k", true, 2),
        ("gpt-4", Some("gpt-5"), "o200k", true, 2),
        ("claude-sonnet-4-5", None, "estimate:claude", false, 3),
        ("some-model", None, "estimate:other", false, 2),
    ] {
        let options = Options { model: given, ..Options::default() };
        let receipt = compressor.compress_body(body(model), &options).unwrap().receipt;
        assert_eq!((receipt.counter.name.as_str(), receipt.counter.exact), (name, exact), "{model}");
        assert_eq!(receipt.tokens_before, tokens, "{model}");
    }
}

/// Counts the calls, and bytes, of a counter.
#[derive(Debug)]
struct Watched(Arc<AtomicUsize>);

impl Tokenizer for Watched {
    fn id(&self) -> &str {
        "watched"
    }

    fn count(&self, text: &str) -> u32 {
        self.0.fetch_add(1, Ordering::Relaxed);
        ExactTokens::new(Vocabulary::O200k).count(text)
    }
}

#[test]
fn a_text_is_counted_once_in_a_session() {
    let calls = Arc::new(AtomicUsize::new(0));
    let compress = Compress::builder().tokenizer(Arc::new(Watched(calls.clone()))).build().unwrap();
    let turn = |n: usize| {
        let messages: Vec<String> =
            (0..n).map(|i| format!(r#"{{"role":"user","content":"text number {i}"}}"#)).collect();
        format!(r#"{{"messages":[{}]}}"#, messages.join(","))
    };
    for n in 1..=20 {
        compress.compress_body(None, turn(n), Moment::default()).unwrap();
        assert_eq!(calls.load(Ordering::Relaxed), n, "each turn counts its new text only");
    }
}
