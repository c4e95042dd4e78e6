//! Laws of the engine for command output on texts that nobody has seen: soups of recorded lines, odd characters,
//! cut outputs. Never larger, stable, deterministic, in order, nothing made up, never a panic.
#![expect(clippy::unwrap_used, reason = "helpers of tests stop like tests")]

#[path = "rtk/corpus.rs"]
#[expect(dead_code, reason = "the report uses the rest")]
mod corpus;
#[path = "rtk/judge.rs"]
#[expect(dead_code, reason = "the recall gate uses the rest")]
mod judge;
#[path = "rtk/oracle.rs"]
#[expect(dead_code, reason = "the recall gate uses the rest")]
mod oracle;

use corpus::Output;
use judge::{engine, sent};
use omniroute_compress::Compress;
use proptest::prelude::*;
use proptest::test_runner::{RngAlgorithm, TestRng, TestRunner};

fn runner(cases: u32) -> TestRunner {
    let config = ProptestConfig { cases, failure_persistence: None, ..ProptestConfig::default() };
    TestRunner::new_with_rng(config, TestRng::from_seed(RngAlgorithm::ChaCha, &[7; 32]))
}

fn outputs() -> Vec<Output> {
    corpus::read(&corpus::folder())
}

/// Characters that have broken others: wide, combining, joined, control, escapes.
const ODD: [&str; 12] = [
    "\u{1f600}",
    "e\u{301}",
    "\u{1f468}\u{200d}\u{1f469}",
    "\u{202e}",
    "\u{feff}",
    "\u{1b}[31m",
    "\u{1b}[0m",
    "\r",
    "\u{8}",
    "\u{0}",
    "\u{e0041}",
    "漢字",
];

/// Lines of several outputs one after the other, some changed, with a command of one of them or none.
fn soup(outputs: &[Output]) -> impl Strategy<Value = Output> + use<> {
    let lines: Vec<String> =
        outputs.iter().flat_map(|o| o.text.lines().take(60).map(str::to_owned)).collect();
    let commands: Vec<String> = outputs.iter().map(|o| o.command.clone()).collect();
    let odd = proptest::option::weighted(0.05, (any::<prop::sample::Index>(), 0..ODD.len()));
    let start = any::<prop::sample::Index>();
    let piece = (start, 1..30_usize, odd);
    let text = proptest::collection::vec(piece, 1..8).prop_map(move |pieces| {
        let mut text = String::new();
        for (start, count, odd) in pieces {
            let start = start.index(lines.len());
            for line in lines.iter().skip(start).take(count) {
                text.push_str(line);
                if let Some((at, n)) = &odd {
                    let at = at.index(text.len() + 1);
                    if text.is_char_boundary(at) {
                        text.insert_str(at, ODD[*n]);
                    }
                }
                text.push('\n');
            }
        }
        text
    });
    let code = proptest::option::of(0..3_i32);
    (text, any::<prop::sample::Index>(), code).prop_map(move |(text, command, exit_code)| Output {
        file: String::new(),
        command: commands[command.index(commands.len())].clone(),
        exit_code,
        class: String::new(),
        facts: oracle::Facts::Verbatim,
        text,
    })
}

/// What must hold for one output, whatever it is.
fn laws(engine: &Compress, output: &Output, known: bool) -> Result<(), TestCaseError> {
    let first = once(engine, output, known)?;
    let again = Output { text: first.clone(), ..output.clone() };
    let second = sent(engine, &again, known);
    prop_assert!(second == first, "changes again:\n{first}\n---\n{second}");
    Ok(())
}

/// The laws of one pass; what is sent.
fn once(engine: &Compress, output: &Output, known: bool) -> Result<String, TestCaseError> {
    let first = sent(engine, output, known);
    prop_assert!(first.len() <= output.text.len(), "{} bytes became {}", output.text.len(), first.len());
    prop_assert_eq!(&sent(engine, output, known), &first, "the same text twice");
    // Markers and words: nothing that says success is made up.
    for word in ["passed", "success", "succeeded", "All checks", "up to date", "clean"] {
        let made_up = first.contains(word) && !output.text.contains(word);
        prop_assert!(!made_up, "{word:?} is not in the text");
    }
    Ok(first)
}

#[test]
fn soups_keep_the_laws() {
    let outputs = outputs();
    for (level, known, cases) in
        [("standard", true, 60), ("aggressive", true, 30), ("minimal", true, 20), ("standard", false, 30)]
    {
        let engine = engine(level);
        runner(cases).run(&soup(&outputs), |output| laws(&engine, &output, known)).unwrap();
    }
}

/// An output that was cut anywhere is no reason to fail or to lose an error line.
#[test]
fn cut_outputs_keep_the_laws() {
    let engine = engine("standard");
    for output in outputs().iter().step_by(5) {
        for part in [3, 2] {
            let mut at = output.text.len() / part;
            while !output.text.is_char_boundary(at) {
                at += 1;
            }
            let (head, tail) = output.text.split_at(at);
            for text in [head, tail] {
                let cut = Output { text: text.to_owned(), ..output.clone() };
                laws(&engine, &cut, true).unwrap_or_else(|e| panic!("{} cut at {at}: {e}", output.file));
            }
        }
    }
}

/// Every recorded output with its own command, its lines in disorder: some gone, some twice, some swapped, some cut.
/// So each renderer meets the grammar it knows, broken.
#[test]
fn every_renderer_keeps_the_laws_on_broken_grammar() {
    let mut all = outputs();
    all.extend(corpus::read(&corpus::folder().with_file_name("rtk-captures")));
    let engines = [engine("standard"), engine("aggressive")];
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut next = |below: usize| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(state >> 33).unwrap() % below.max(1)
    };
    let mut changing = Vec::new();
    for (n, output) in all.iter().enumerate() {
        let mut lines: Vec<&str> = output.text.split_inclusive('\n').take(150).collect();
        for _ in 0..lines.len() / 8 + 1 {
            if lines.is_empty() {
                break;
            }
            let (at, to) = (next(lines.len()), next(lines.len()));
            match next(4) {
                0 => _ = lines.remove(at),
                1 => lines.insert(to.min(lines.len()), lines[at]),
                2 => lines.swap(at, to),
                _ => {
                    let line = lines[at];
                    let cut =
                        (0..=next(line.len() + 1)).rev().find(|i| line.is_char_boundary(*i)).unwrap_or(0);
                    lines[at] = line.get(cut..).unwrap();
                }
            }
        }
        let broken = Output { text: lines.concat(), ..output.clone() };
        let first = once(&engines[n % 2], &broken, true)
            .unwrap_or_else(|e| panic!("{} in disorder: {e}\n--- was\n{}", output.file, broken.text));
        // A second pass may find a form that the first one only made; it is a pass like any other.
        let again = Output { text: first.clone(), ..broken };
        let second =
            once(&engines[n % 2], &again, true).unwrap_or_else(|e| panic!("{} again: {e}", output.file));
        if second != first {
            changing.push(output.file.clone());
        }
    }
    assert!(changing.len() * 50 < all.len(), "{} change in a second pass: {changing:?}", changing.len());
}

/// The same laws catch an engine that adds a verdict of its own.
#[test]
fn a_broken_twin_is_caught() {
    let twin = |text: &str| format!("All checks passed\n{}", text.lines().next().unwrap_or(""));
    let outputs = outputs();
    let caught = outputs.iter().filter(|o| {
        let made = twin(&o.text);
        made.len() > o.text.len() || made.contains("All checks") && !o.text.contains("All checks")
    });
    assert!(caught.count() > 200);
}
