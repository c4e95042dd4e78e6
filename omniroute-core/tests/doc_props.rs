//! Laws of `Doc`: what it accepts, what its index says, what a splice changes, how text is escaped.
//!
//! Every law is a check function; next to it a deliberately broken implementation is refused by the same function.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

#[path = "../../fuzz/checks/doc.rs"]
mod doc;
#[path = "support/fixtures.rs"]
mod fixtures;
#[path = "../../fuzz/checks/splice.rs"]
mod splice;

use omniroute_core::{Doc, DocError, PatchError, Rule, escape};
use proptest::prelude::*;
use proptest::sample::{Index, select};
use proptest::test_runner::{Config, RngAlgorithm, TestCaseError, TestRng, TestRunner};
use serde_json::Value;

use splice::{Edits, Random};

/// A small step away from a document.
#[derive(Debug, Clone)]
enum Mutation {
    Flip(Index, u8),
    Delete(Index, usize),
    Insert(Index, &'static str),
    Cut(Index),
    Graft { to: Index, other: Index, from: Index },
}

/// Pieces that decide about structure, numbers, strings and encodings.
const PIECES: [&str; 40] = [
    "{",
    "}",
    "[",
    "]",
    ",",
    ":",
    "\"",
    "\\",
    "\n",
    "\0",
    " ",
    "0",
    "-",
    ".",
    "e",
    "E+",
    "1e999",
    "-0",
    "01",
    "true",
    "nul",
    "\\u",
    "\\ud83c",
    "\\udf0a",
    "\\ud83c\\udf0a",
    "\\u0000",
    "\\/",
    "\\x",
    "\u{feff}",
    "é",
    "\u{7f}",
    "\u{2028}",
    "\u{c}",
    "\u{a0}",
    "{\"a\":",
    "[[[[[[[[",
    "]]]]]]]]",
    "\"k\":1,",
    "NaN",
    "/*",
];

fn run<S: Strategy>(cases: u32, strategy: S, test: impl Fn(S::Value) -> Result<(), String>) {
    let config = Config { cases, failure_persistence: None, ..Config::default() };
    let mut runner = TestRunner::new_with_rng(config, TestRng::deterministic_rng(RngAlgorithm::ChaCha));
    runner.run(&strategy, |input| test(input).map_err(TestCaseError::fail)).unwrap_or_else(|e| panic!("{e}"));
}

fn mutation() -> impl Strategy<Value = Mutation> {
    let at = any::<Index>;
    prop_oneof![
        2 => (at(), any::<u8>()).prop_map(|(at, mask)| Mutation::Flip(at, mask)),
        2 => (at(), 1usize..20).prop_map(|(at, len)| Mutation::Delete(at, len)),
        4 => (at(), select(&PIECES[..])).prop_map(|(at, piece)| Mutation::Insert(at, piece)),
        1 => at().prop_map(Mutation::Cut),
        1 => (at(), at(), at()).prop_map(|(to, other, from)| Mutation::Graft { to, other, from }),
    ]
}

impl Mutation {
    fn apply(&self, bytes: &mut Vec<u8>, bodies: &[Vec<u8>]) {
        let place = |at: &Index, bytes: &[u8]| at.index(bytes.len() + 1);
        match self {
            Mutation::Flip(at, mask) => {
                let at = place(at, bytes);
                bytes.iter_mut().skip(at).take(1).for_each(|b| *b ^= mask);
            }
            Mutation::Delete(at, len) => {
                let from = place(at, bytes);
                bytes.drain(from..bytes.len().min(from + len));
            }
            Mutation::Insert(at, piece) => {
                let at = place(at, bytes);
                bytes.splice(at..at, piece.bytes());
            }
            Mutation::Cut(at) => bytes.truncate(place(at, bytes)),
            Mutation::Graft { to, other, from } => {
                let other = other.get(bodies);
                bytes.truncate(place(to, bytes));
                bytes.extend(other.iter().skip(place(from, other)));
            }
        }
    }
}

/// JSON with spacing, escapes, duplicate keys and number spellings that a serialiser would not write.
fn json() -> impl Strategy<Value = String> {
    let blank = || select(&["", "", " ", "\n\t", "\r\n "][..]);
    let text = || {
        prop_oneof![any::<String>().prop_map(|t| escape(&t)), Just("\"\\u00e9\\/\\ud83c\\udf0a\"".to_owned())]
    };
    let key =
        move || prop_oneof![text(), select(&["\"a\"", "\"\\u0061\"", "\"\""][..]).prop_map(str::to_owned)];
    let number = select(&["0", "-0", "1.0", "1E5", "-2e-3", "12345678901234567890", "1e999", "0.10"][..]);
    let leaf = prop_oneof![
        text(),
        number.prop_map(str::to_owned),
        select(&["null", "true", "false", "[]", "{}", "[ ]", "{\n}"][..]).prop_map(str::to_owned)
    ];
    let value = leaf.prop_recursive(6, 60, 6, move |inner| {
        let spaced = (blank(), inner, blank()).prop_map(|(a, v, b)| format!("{a}{v}{b}"));
        let member =
            (blank(), key(), blank(), spaced.clone()).prop_map(|(a, k, b, v)| format!("{a}{k}{b}:{v}"));
        prop_oneof![
            prop::collection::vec(spaced, 1..6).prop_map(|items| format!("[{}]", items.join(","))),
            prop::collection::vec(member, 1..6).prop_map(|items| format!("{{{}}}", items.join(","))),
        ]
    });
    (blank(), value, blank()).prop_map(|(a, v, b)| format!("{a}{v}{b}"))
}

fn bodies() -> Vec<Vec<u8>> {
    fixtures::bodies().into_iter().map(|f| f.body).collect()
}

fn parse(bytes: &[u8]) -> Result<Doc, DocError> {
    Doc::parse(bytes.to_vec())
}

#[test]
fn agrees_with_serde_json_on_mutated_bodies() {
    let bodies = bodies();
    let cases = (any::<Index>(), prop::collection::vec(mutation(), 0..4));
    run(600, cases, |(body, mutations)| {
        let mut bytes = body.get(&bodies).clone();
        mutations.iter().for_each(|m| m.apply(&mut bytes, &bodies));
        splice::document(&bytes)
    });
}

#[test]
fn agrees_with_serde_json_on_mutated_small_documents() {
    let others: Vec<Vec<u8>> =
        ["[1,{\"a\":\"b\"}]", "{\"a\":[1.5e3,null]}"].map(|t| t.as_bytes().to_vec()).into();
    run(1500, (json(), prop::collection::vec(mutation(), 0..3)), |(text, mutations)| {
        let mut bytes = text.into_bytes();
        mutations.iter().for_each(|m| m.apply(&mut bytes, &others));
        splice::document(&bytes)
    });
}

#[test]
fn agrees_with_serde_json_on_arbitrary_bytes() {
    run(2000, prop::collection::vec(any::<u8>(), 0..40), |bytes| splice::document(&bytes));
    run(4000, prop::collection::vec(select(&PIECES[..]), 0..12), |pieces| {
        splice::document(pieces.concat().as_bytes())
    });
    run(2000, prop::collection::vec(select(&PIECES[..]), 0..8), |pieces| {
        splice::document(format!("\"{}\"", pieces.concat()).as_bytes())
    });
}

#[test]
fn agrees_with_serde_json_up_to_the_last_level() {
    for open in ["[", "{\"a\":", "[ {\"a\" :\n"] {
        for levels in [1, 60, 63, 64, 65, 126, 127, 128, 129, 130, 5000] {
            let text = format!("{}0{}", open.repeat(levels), closing(&open.repeat(levels)));
            splice::document(text.as_bytes()).unwrap_or_else(|e| panic!("{levels} of {open}: {e}"));
            let depth = open.bytes().filter(|b| matches!(b, b'[' | b'{')).count() * levels;
            match Doc::parse(text) {
                Ok(_) => assert!(depth <= 128, "{depth} levels"),
                Err(error) => assert!(depth > 128 && error.rule() == Rule::Depth, "{depth} levels: {error}"),
            }
        }
    }
}

fn closing(open: &str) -> String {
    let brackets = open.chars().rev().filter(|c| "[{".contains(*c));
    brackets.map(|c| if c == '[' { ']' } else { '}' }).collect()
}

#[test]
fn check_agrees_with_parse() {
    run(2000, prop::collection::vec(select(&PIECES[..]), 0..12), |pieces| {
        let text = pieces.concat();
        let (checked, parsed) = (Doc::check(&text), Doc::parse(text.clone()).map(|_| ()));
        if checked == parsed { Ok(()) } else { Err(format!("{checked:?}, parse says {parsed:?}")) }
    });
}

/// Twins: a scanner that forgives what follows the document, and one that also takes a comma before a bracket.
#[test]
fn twin_lenient_scanners_are_caught() {
    let trims = |bytes: &[u8]| match parse(bytes) {
        Err(e) if e.rule() == Rule::Trailing => parse(bytes.get(..e.offset()).unwrap_or(&[])),
        other => other,
    };
    assert!(doc::agreement(&trims, b"{} x").is_err());
    assert!(doc::agreement(&trims, b"{}").is_ok());
    let commas = |bytes: &[u8]| parse(String::from_utf8_lossy(bytes).replace(",]", "]").as_bytes());
    assert!(doc::agreement(&commas, b"[1,]").is_err());
    let picky = |bytes: &[u8]| parse(if bytes.contains(&b'E') { b"E" } else { bytes });
    assert!(doc::agreement(&picky, b"[1E5]").is_err(), "refusing too much is caught as well");
    let huge = |bytes: &[u8]| parse(bytes).or_else(|_| parse(b"[1e999]"));
    assert!(doc::agreement(&huge, b"[1e999,]").is_err(), "the exceptions do not excuse bad structure");
}

/// Twin: a reading in which the first of two equal keys counts, and one that loses an escape.
#[test]
fn twin_unfaithful_readings_are_caught() {
    for (text, wrong) in [
        (r#"{"a":1,"a":2}"#, r#"{"a":1}"#),
        (r#""caf\u00e9""#, r#""caf\\u00e9""#),
        ("[1,2]", "[2,1]"),
        ("[[1],2]", "[[1,2]]"),
        (r#"{"a":1}"#, r#"{"a":1,"b":2}"#),
    ] {
        let found = Doc::parse(text).unwrap();
        assert_eq!(doc::faithful(&found, &serde_json::from_str(text).unwrap()), Ok(()));
        assert!(doc::faithful(&found, &serde_json::from_str(wrong).unwrap()).is_err(), "{text} as {wrong}");
    }
}

#[test]
fn a_splice_changes_what_it_should_in_bodies() {
    let docs: Vec<Doc> = bodies().into_iter().map(|b| Doc::parse(b).unwrap()).collect();
    run(300, (any::<Index>(), any::<u64>(), 2usize..80), |(body, seed, sparse)| {
        let found = body.get(&docs);
        splice::check(found, &Edits::random(found, &mut Random(seed), sparse), &splice::real)
    });
}

#[test]
fn a_splice_changes_what_it_should_in_small_documents() {
    run(1500, (json(), any::<u64>(), 2usize..8), |(text, seed, sparse)| {
        let found = Doc::parse(text).map_err(|e| e.to_string())?;
        splice::check(&found, &Edits::random(&found, &mut Random(seed), sparse), &splice::real)
    });
}

#[test]
fn edits_inside_edits_are_refused() {
    let found = Doc::parse(r#"[ {"a": [1, 2]}, 3 ]"#).unwrap();
    let object = found.elements(found.root()).next().unwrap();
    let list = found.get(object, "a").unwrap();
    let inner = found.elements(list).next().unwrap();
    type Step = fn(&mut omniroute_core::Patch, omniroute_core::NodeId);
    let outer: [Step; 2] = [|p, n| p.set_str(n, "x"), |p, n| p.remove(n)];
    let steps: [Step; 3] =
        [|p, n| p.set_str(n, "x"), |p, n| p.remove(n), |p, n| p.insert_before(n, "1").unwrap()];
    for first in outer {
        for second in steps {
            for swap in [false, true] {
                let mut patch = omniroute_core::Patch::new();
                let mut both: [(Step, _); 2] = [(first, object), (second, inner)];
                if swap {
                    both.reverse();
                }
                both.into_iter().for_each(|(step, node)| step(&mut patch, node));
                assert!(matches!(found.splice(&patch), Err(PatchError::Overlap { .. })));
            }
        }
    }
}

/// Twins: a splice that goes through a value, and one that leaves the comma of a removed last element.
#[test]
fn twin_splices_are_caught() {
    let through_value = |doc: &Doc, edits: &Edits| {
        let value: Value = serde_json::from_slice(&splice::real(doc, edits)?).map_err(|e| e.to_string())?;
        Ok(value.to_string().into_bytes())
    };
    let found = Doc::parse(r#"{"b": "x", "a" : 1.0}"#).unwrap();
    let edits = Edits::default();
    assert_eq!(splice::check(&found, &edits, &splice::real), Ok(()));
    assert!(splice::check(&found, &edits, &through_value).is_err());
    let found = Doc::parse("[1, 2, 3, 4]").unwrap();
    let leaves_comma = |doc: &Doc, edits: &Edits| {
        let text = String::from_utf8(splice::real(doc, edits)?).map_err(|e| e.to_string())?;
        Ok(text.replace(']', ",]").into_bytes())
    };
    let caught = (0..50).filter(|seed| {
        let edits = Edits::random(&found, &mut Random(*seed), 2);
        assert_eq!(splice::check(&found, &edits, &splice::real), Ok(()));
        splice::check(&found, &edits, &leaves_comma).is_err()
    });
    assert!(caught.count() > 20);
}

/// The literal is a document that reads as the text, and escapes no more than JSON demands.
fn escapes(escape: &dyn Fn(&str) -> String, text: &str) -> Result<(), String> {
    let literal = escape(text);
    if literal != serde_json::to_string(text).unwrap() {
        return Err(format!("literal {literal}"));
    }
    let found = Doc::parse(literal).map_err(|e| e.to_string())?;
    let back = found.str(found.root()).map(|s| s.into_owned());
    if back.as_deref() == Some(text) { Ok(()) } else { Err(format!("reads as {back:?}")) }
}

#[test]
fn escaped_text_reads_back() {
    run(4000, any::<String>(), |text| escapes(&escape, &text));
    run(4000, "[\\x00-\\x7f\u{80}é🌊\u{2028}\u{ffff}\u{10ffff}]{0,40}", |text| escapes(&escape, &text));
}

/// Twin: control characters without a short escape are forgotten.
#[test]
fn twin_escape_without_control_characters_is_caught() {
    let broken = |text: &str| {
        let quoted =
            text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n").replace('\t', "\\t");
        format!("\"{}\"", quoted.replace('\r', "\\r").replace('\u{8}', "\\b").replace('\u{c}', "\\f"))
    };
    assert_eq!(escapes(&broken, "a \"b\"\n\t\\"), Ok(()));
    assert!(escapes(&broken, "\u{1b}[31m").is_err());
}
