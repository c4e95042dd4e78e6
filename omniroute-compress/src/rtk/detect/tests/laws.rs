//! Laws for any input: never a panic, the same answer twice, ranges that cover the text, work that grows with the input.

use std::cell::Cell;

use proptest::prelude::*;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};

use super::{shell, table};
use crate::rtk::detect::{Call, Detected, detect};

/// Pieces from which commands are put together.
const PIECES: &[&str] = &[
    "cargo test",
    "git status",
    "git diff",
    "pytest -q",
    "npm test",
    "cat a",
    "ls -la",
    "echo ---",
    "echo \"exit $?\"",
    "make x",
    "kubectl get pods -o json",
    " && ",
    "; ",
    " | tail -5",
    " | grep x",
    " 2>&1",
    " > /dev/null",
    "$(",
    "'",
    "\"",
    "(",
    ")",
    "for f in a; do ",
    "; done",
    "\n",
    "bash -c '",
    "é",
    "xargs ",
];
/// Lines from which texts are put together.
const LINES: &[&str] = &[
    "On branch main",
    "running 3 tests",
    "test a ... ok",
    "test result: ok. 1 passed; 0 failed",
    "---",
    "exit 0",
    "diff --git a/a b/a",
    "@@ -1,4294967295 +1,9 @@",
    "@@ -1 +1 @@",
    "+x",
    "-y",
    " z",
    "> a@1.0.0 test",
    "> vitest run",
    "  12:5  error  x  y",
    "{\"a\":1}",
    "[main 1a2b3c4] x",
    "",
    "   ",
    "é中文🙂",
    "1 passed in 0.1s",
    "\u{0}",
    "a.rs:1:2: error: x",
    "│ │ ├── x",
    "[exit code 1]",
    "Output:",
    "    Finished `dev`",
    "1a2b3c4 x",
    "total 4",
    "drwxr-xr-x 2 a b 4 Nov 30 10:00 x",
];

/// Ranges start at 0, end at the end, touch, are not empty, and start where lines start.
fn covers(detected: &Detected, text: &str) -> Result<(), String> {
    let Detected::Sections(all) = detected else { return Ok(()) };
    let mut at = 0;
    for (range, _) in all {
        if range.start != at || range.end <= range.start {
            return Err(format!("gap or overlap at {at}: {range:?}"));
        }
        if at > 0 && text.as_bytes().get(at - 1) != Some(&b'\n') {
            return Err(format!("{at} is no line start"));
        }
        at = range.end;
    }
    if at == text.len() { Ok(()) } else { Err(format!("ends at {at} of {}", text.len())) }
}

fn joined(pieces: &'static [&'static str], glue: &'static str, most: usize) -> impl Strategy<Value = String> {
    proptest::collection::vec(0..pieces.len(), 0..most)
        .prop_map(move |picks| picks.iter().map(|pick| pieces[*pick]).collect::<Vec<_>>().join(glue))
}

#[test]
fn any_command_and_any_text() {
    let config = Config { cases: 400, failure_persistence: None, ..Config::default() };
    let mut runner = TestRunner::new_with_rng(config, TestRng::from_seed(RngAlgorithm::ChaCha, &[7; 32]));
    let inputs = (joined(PIECES, "", 12), joined(LINES, "\n", 40), ".{0,80}");
    runner
        .run(&inputs, |(command, text, noise)| {
            for (command, text) in [(&command, &text), (&noise, &text), (&command, &noise)] {
                let found = shell(command, text);
                prop_assert_eq!(covers(&found, text), Ok(()));
                prop_assert_eq!(&found, &shell(command, text));
                let alone = detect(None, text, &table::lookup);
                prop_assert!(matches!(alone, Detected::One(_)));
            }
            Ok(())
        })
        .unwrap();
}

#[test]
fn the_check_catches_a_gap() {
    let text = "On branch main\nnothing to commit\n---\nx\n";
    let Detected::Sections(mut all) = shell("git status; echo ---; cat a", text) else { panic!() };
    assert_eq!(covers(&Detected::Sections(all.clone()), text), Ok(()));
    all[0].0.end -= 3;
    assert!(covers(&Detected::Sections(all.clone()), text).is_err());
    all[1].0.start -= 3;
    assert!(covers(&Detected::Sections(all), text).is_err());
}

/// How often the registry is asked for a command of `count` parts.
fn asked(part: &str, count: usize) -> usize {
    let calls = Cell::new(0_usize);
    let lookup = |words: &[&str]| {
        calls.set(calls.get() + 1);
        table::lookup(words)
    };
    let command = part.repeat(count);
    let call = Call { tool: None, command: Some(&command), argv: None };
    let _ = detect(Some(call), "a\nb\n", &lookup);
    calls.get()
}

#[test]
fn long_commands_are_bounded_work() {
    for part in [
        "cargo test && ",
        "echo a; ",
        "xargs ",
        "a | ",
        "( ",
        "bash -c 'x'; ",
        "git status | tail -1; ",
        "'",
        "npm test; ",
    ] {
        let (short, long) = (asked(part, 100), asked(part, 20_000 / part.len()));
        assert!(long <= short.max(32) * 400, "{part}: {short} {long}");
        assert!(long < 20_000, "{part}: {long}");
    }
}

#[test]
fn long_texts_and_lines() {
    for text in [
        "x".repeat(300_000),
        "a\n".repeat(150_000),
        "@@ -1,9999999 +1,9999999 @@\n".repeat(9_000),
        "---\n".repeat(60_000),
        "> a@1 test\n> npm test\n".repeat(9_000),
    ] {
        for command in ["cat a; echo ---; git diff; npm test", "npm test", "git log -p", "make"] {
            let found = shell(command, &text);
            assert_eq!(covers(&found, &text), Ok(()), "{command}");
        }
    }
}
