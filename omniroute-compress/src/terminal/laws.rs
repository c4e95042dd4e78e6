//! Behaviour of the normaliser, and its laws with a broken twin for each.

use std::borrow::Cow;

use proptest::prelude::*;
use proptest::test_runner::{Config, RngAlgorithm, TestError, TestRng, TestRunner};

use super::{held, normalise};

type Twin = fn(&str) -> String;
type Law = fn(&[String], Twin) -> Result<(), TestCaseError>;

fn real(text: &str) -> String {
    normalise(text).text.into_owned()
}

/// Runs a law over generated pieces of text with a fixed seed.
fn check(pieces: &'static [&'static str], law: Law, twin: Twin) -> Result<(), TestError<Vec<String>>> {
    let config = Config { cases: 400, failure_persistence: None, ..Config::default() };
    let rng = TestRng::deterministic_rng(RngAlgorithm::ChaCha);
    let piece = proptest::sample::select(pieces).prop_map(str::to_owned);
    let texts = proptest::collection::vec(piece, 0..24);
    TestRunner::new_with_rng(config, rng).run(&texts, |pieces| law(&pieces, twin))
}

#[test]
fn shows_what_a_terminal_shows() {
    let rows = [
        ("10 %\r50 %\r100 %\n", "100 %\n"),
        ("loading foo.tar\rdone\n", "doneing foo.tar\n"),
        ("loading foo.tar\rdone\x1b[K\n", "done\n"),
        ("loading\r\x1b[2Kdone\n", "done\n"),
        ("last part empty\r\n", "last part empty\r\n"),
        ("last part empty\r", "last part empty"),
        ("last part empty\r\x1b[0m\nnext", "last part empty\nnext"),
        ("100%\r 99\n", " 99%\n"),
        ("a\r\r\nb\r\n", "a\r\r\nb\r\n"),
        ("x\r1\r\nb\r\r\n", "1\r\nb\r\r\n"),
        ("wait |\u{8}/\u{8}-\u{8} ok\n", "wait  ok\n"),
        ("N\u{8}NA\u{8}AME _\u{8}x y\u{8}_\n", "NAME x y\n"),
        ("\x1b[1;31mred\x1b[0m \x1b(B\x1b[mtext\x07\n", "red text\n"),
        ("\x1b]0;title\x07text\x1bPq\x1b\\!\n", "text!\n"),
        ("see \x1b]8;;http://a/1\x1b\\job\x1b]8;;\x1b\\.\n", "see job (http://a/1).\n"),
        ("\x1b]8;;http://a/1\x07http://a/1\x1b]8;;\x07\n", "http://a/1\n"),
        ("\x1b]8;;http://a/1\x07never closed", "never closed (http://a/1)"),
        ("\x1b[1G\x1b[0K-\x1b[1G\x1b[0K+\x1b[1G\x1b[0Kadded 3\n", "added 3\n"),
        ("one\ntwo\n\x1b[1A\x1b[2Ktwo done\n", "one\ntwo done\n"),
        ("a 1\nb 1\n\x1b[2Aa 2\n\x1b[1Bend\n", "a 2\nb 1\nend\n"),
        ("one\ntwo\nthree\n\x1b[2A\x1b[J", "one\n"),
        ("kept\n\x1b[9A\x1b[2Kabove\n", "above\nkept\n"),
        ("screen one\x1b[2J\x1b[Hscreen two\n", "screen one\nscreen two\n"),
        ("漢字 10\r漢字 20\n", "漢字 20\n"),
        ("漢字\rab\n", "ab字\n"),
        ("é\rè\u{301}x\n", "è\u{301}x\n"),
        ("cut \x1b[1mhere\x1b[", "cut here\x1b["),
        ("odd \x1b[\u{1b}[0mm \x1b[1mx\nnext \x1b[1mx\n", "odd \x1b[\u{1b}[0mm \x1b[1mx\nnext x\n"),
        ("a\0b\x1b[0m\n", "a\0b\n"),
        ("a\tb\x1b[1G\x1b[31mA\n", "A\tb\n"),
    ];
    for (text, expected) in rows {
        assert_eq!(real(text), expected, "{text:?}");
    }
}

#[test]
fn frames_with_an_error_stay() {
    let rows = [
        ("get a\rerror: disk 1\rget b  \x1b[K\n", "error: disk 1\nget b  \n", 1),
        ("x\nget failed\n\x1b[1A\x1b[2Kok\n", "x\nget failed\nok\n", 1),
        ("10% fatal: a\r20% fatal: a\r30% fatal: a\n", "30% fatal: a\n", 0),
        ("(1 FAILED) 10/90\r(2 FAILED) 20/90\r(2 FAILED) 90/90\n", "(2 FAILED) 90/90\n", 0),
        ("5 ok, 0 failed\r9 ok, 0 failed\n", "9 ok, 0 failed\n", 0),
        ("disk 1 failed\rdisk 2 failed\rall done\x1b[K\r\n", "disk 1 failed\ndisk 2 failed\nall done\r\n", 2),
        ("error: a long line\rok\n", "error: a long line\nok\n", 1),
        ("a\nwarning: b\nc\n\x1b[3A\x1b[Jend", "warning: b\nend", 1),
    ];
    for (text, expected, kept) in rows {
        let normal = normalise(text);
        assert_eq!((normal.text.as_ref(), normal.kept), (expected, kept), "{text:?}");
    }
}

#[test]
fn counts_frames_and_escapes() {
    let normal = normalise("1 %\r2 %\r3 %\x1b[0m\x1b[1m\nerror x\rfine   \n");
    assert_eq!((normal.escapes, normal.overwrites, normal.kept), (2, 2, 1));
    assert!(matches!(normalise("a\r\nb").text, Cow::Borrowed(_)));
    assert!(matches!(normalise("a\x1b[").text, Cow::Borrowed(_)));
}

#[test]
fn long_lines_lose_nothing_but_the_overwritten_cells() {
    let long = "0123456789".repeat(500);
    let text = format!("{long}\rX\n{long}\n\x1b[1AY\n");
    let shown = real(&text);
    assert_eq!(shown.len(), 2 * long.len() + 2 + 2);
    assert_eq!(shown.matches('X').count(), 1);
}

/// Overlay of frames by the simplest possible model.
fn overlay(text: &str) -> String {
    let line = |line: &str| {
        let mut cells: Vec<char> = Vec::new();
        for frame in line.split('\r') {
            for (at, c) in frame.chars().enumerate() {
                match cells.get_mut(at) {
                    Some(cell) => *cell = c,
                    None => cells.push(c),
                }
            }
        }
        cells.into_iter().collect::<String>()
    };
    text.split('\n').map(line).collect::<Vec<_>>().join("\n")
}

/// The known bug: only what follows the last carriage return stays.
fn last_part_wins(text: &str) -> String {
    let line = |line: &str| line.rsplit('\r').next().unwrap_or_default().to_owned();
    text.split('\n').map(line).collect::<Vec<_>>().join("\n")
}

const FRAMES: &[&str] = &["\r", "\r", "\n", "10 %", "get é.tar", "ok", " ", "done in 3", "x"];
const ERRORS: &[&str] =
    &["\r", "\r", "\n", "10 %", "error: a.b", "disk 1 failed", "warning (c)", "ok", "panic at x"];
const SOUP: &[&str] = &[
    "\r",
    "\n",
    "\r\n",
    "\u{8}",
    "\x1b[",
    "\x1b[0m",
    "m",
    "\x1b[2K",
    "\x1b[K",
    "\x1b[1A",
    "\x1b[2B",
    "\x1b[J",
    "\x1b[30G",
    "\x1b[3D",
    "\x1b[90C",
    "\x1b]8;;http://a\x07",
    "\x1b]8;;\x07",
    "\x1b]",
    "\u{9b}",
    "1m",
    "\t",
    "error x",
    "text",
    "漢",
    "_",
    "\x1b7",
    "\x1b8",
    "\x1b[H",
    "\x07",
    "\x1b",
    "[1m",
    "\x1b(",
    "\0",
];

const JOINS: &[&str] = &["\x1b[", "\x1b[0m", "m", "\x1b", "x", "\n", "\r"];

#[test]
fn overlay_equals_the_model() {
    let law: Law = |pieces, twin| {
        // A carriage return before a line feed is a line end of its own kind.
        let text = pieces.concat().replace("\r\n", "\n").replace("\r\n", "\n");
        prop_assume!(!text.contains("\r\n"));
        prop_assert_eq!(twin(&text), overlay(&text));
        Ok(())
    };
    assert_eq!(check(FRAMES, law, real), Ok(()));
    assert!(check(FRAMES, law, last_part_wins).is_err());
}

#[test]
fn every_error_frame_survives() {
    let law: Law = |pieces, twin| {
        let text = pieces.concat();
        let shown = twin(&text);
        for frame in text.split(['\r', '\n']).filter(|f| held::names_error(f)) {
            // Moving numbers may be those of a newer frame.
            let fact = frame.replace("10 %", " ");
            for word in fact.split_whitespace().filter(|w| w.len() > 2) {
                prop_assert!(shown.contains(word), "{:?} lost in {:?}", word, shown);
            }
        }
        Ok(())
    };
    assert_eq!(check(ERRORS, law, real), Ok(()));
    assert!(check(ERRORS, law, overlay).is_err());
}

#[test]
fn never_longer_and_idempotent() {
    let law: Law = |pieces, twin| {
        let text = pieces.concat();
        let once = twin(&text);
        prop_assert!(once.len() <= text.len(), "{:?} became {:?}", text, once);
        prop_assert_eq!(twin(&once), once);
        Ok(())
    };
    let joins: Twin = |text| text.replace("\x1b[0m", "").replace("\x1b[m", "");
    let pads: Twin = |text| text.replace("\x1b[90C", &" ".repeat(90));
    assert_eq!(check(SOUP, law, real), Ok(()));
    assert_eq!(check(JOINS, law, real), Ok(()));
    assert!(check(JOINS, law, joins).is_err());
    assert!(check(SOUP, law, pads).is_err());
}
