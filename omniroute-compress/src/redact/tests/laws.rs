//! Laws over random soups of secrets, near misses and noise, with a broken twin for each.

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;
use proptest::test_runner::{Config, RngAlgorithm, TestError, TestRng, TestRunner};

use super::super::redact;
use super::fixtures::{Fixture, SECRETS};

type Redact = fn(&str) -> String;

fn real(text: &str) -> String {
    redact(text).into_owned()
}

const NOISE: &[&str] = &[
    " ",
    "\n",
    "=",
    ": ",
    "\"",
    "'",
    "key",
    "token",
    "password",
    "secret=",
    "Authorization: ",
    "Bearer ",
    "Cookie: a=",
    "; b=",
    "https://u:",
    "@h/",
    "?sig=",
    "&key=",
    "--password ",
    "mysql -p",
    "machine h login l ",
    "kind: Secret\n",
    "data:\n",
    "  k: ",
    "-----BEGIN PRIVATE KEY-----",
    "-----END PRIVATE KEY-----",
    "sk-",
    "ghp_",
    "eyJ",
    ".",
    "AA",
    "12345678",
    "abc123",
    "x9Y8z7W6v5U4t3S2r1Q0",
    "é",
    "漢字",
    "\\n",
    "[REDACTED:",
    "[REDACTED:token]",
    "]",
    "<",
    "{",
    "0123456789abcdef0123456789abcdef01234567",
    "curl -u a:",
    "\u{0}",
    "\r\n",
    "%3D",
    "\x1b[0m",
    "…",
    "_",
    "-",
    ",",
];

fn soup() -> impl Strategy<Value = Vec<String>> {
    let secret = (select(SECRETS), 0..3usize, 1..40u64);
    let secret =
        secret.prop_map(|((kind, template), size, seed)| Fixture::new(kind, template, size, seed).text);
    let piece = prop_oneof![4 => select(NOISE).prop_map(str::to_owned), 1 => secret];
    vec(piece, 0..24)
}

fn check(
    law: impl Fn(&str, Redact) -> Result<(), TestCaseError>,
    twin: Redact,
) -> Result<(), TestError<Vec<String>>> {
    let config = Config { cases: 1500, failure_persistence: None, ..Config::default() };
    let rng = TestRng::deterministic_rng(RngAlgorithm::ChaCha);
    TestRunner::new_with_rng(config, rng).run(&soup(), |pieces| law(&pieces.concat(), twin))
}

/// Redacting again changes nothing.
fn idempotent(text: &str, redact: Redact) -> Result<(), TestCaseError> {
    let once = redact(text);
    prop_assert_eq!(redact(&once), once);
    Ok(())
}

/// Without its markers the result is made of pieces of the text, in order; between two markers nothing is changed.
fn only_takes_out(text: &str, redact: Redact) -> Result<(), TestCaseError> {
    let out = redact(text);
    let mut rest = text;
    for (n, piece) in split_markers(&out).into_iter().enumerate() {
        let at = rest.find(piece);
        prop_assert!(at.is_some_and(|at| n > 0 || at == 0), "{piece:?} is not in the text");
        rest = rest.get(at.unwrap_or(0) + piece.len()..).unwrap_or("");
    }
    Ok(())
}

/// The pieces between markers; those that the text had already are seen as markers too.
fn split_markers(text: &str) -> Vec<&str> {
    let mut pieces = Vec::new();
    let (mut from, mut at) = (0, 0);
    while let Some(open) = text[at..].find("[REDACTED:").map(|open| open + at) {
        at = open + 10;
        let kind = text[at..].bytes().take_while(|b| b.is_ascii_lowercase() || *b == b'-').count();
        if kind > 0 && text[at + kind..].starts_with(']') {
            pieces.push(&text[from..open]);
            from = at + kind + 1;
            at = from;
        }
    }
    pieces.push(&text[from..]);
    pieces
}

#[test]
fn redacting_twice_changes_nothing() {
    check(idempotent, real).unwrap();
    // Takes the value behind a name without looking whether it is a marker.
    let nested: Redact = |text| real(text).replace("token]", "token [REDACTED:token]]");
    assert!(check(idempotent, nested).is_err());
}

#[test]
fn nothing_is_changed_but_secrets() {
    check(only_takes_out, real).unwrap();
    let lossy: Redact = |text| real(text).replace("漢", "?");
    assert!(check(only_takes_out, lossy).is_err());
}

/// A secret in a line of its own goes, whatever stands in the lines around it.
fn lines_are_apart(text: &str, redact: Redact) -> Result<(), TestCaseError> {
    // What opens a block or a document reaches over lines.
    let text = &text.replace("-----BEGIN", "").replace("kind: Secret", "");
    let shaped =
        SECRETS.iter().filter(|(_, t)| t.starts_with('«') && !t.contains('\n') && !t.contains("BEGIN"));
    let (kind, template) = shaped.clone().nth(text.len() % shaped.count()).expect("in range");
    let fixture = Fixture::new(*kind, template, 1, text.len() as u64 + 1);
    let out = redact(&format!("{text}\n{}\n{text}", fixture.text));
    prop_assert!(!out.contains(&fixture.secret), "{} is left", fixture.secret);
    Ok(())
}

#[test]
fn secrets_go_whatever_stands_around_them() {
    check(lines_are_apart, real).unwrap();
    let first_only: Redact = |text| {
        let (head, tail) = text.split_at(text.find('\n').unwrap_or(text.len()));
        format!("{}{tail}", real(head))
    };
    assert!(check(lines_are_apart, first_only).is_err());
}

#[test]
fn adversarial_texts_end() {
    let pieces = [
        "key=",
        "key",
        "password: ",
        "://a:",
        "://a:b@",
        "sk-",
        " sk-",
        "ghp_",
        ".eyJ",
        "eyJaaaaaaaaaaaa.eyJ",
        ":AA",
        "SG.",
        "-----BEGIN PRIVATE KEY-----",
        "-----BEGIN PRIVATE KEY-----\n-----END",
        "kind: Secret\n",
        "kind: Secret\ndata:\n a: b\n",
        "authorization: ",
        "bearer ",
        "cookie: a=",
        "cookie: a=b; ",
        "cookie=a=b; ",
        "mysql ",
        "curl -u ",
        "token token ",
        "password ",
        "login password ",
        "\\\\\\\"token\\\"",
        "[REDACTED:",
        "MTA4",
        "s.a1",
        "?key=",
        "--token ",
        "secret=\"",
        "A1b2",
    ];
    for piece in pieces {
        for text in [piece.repeat(40_000 / piece.len()), format!("{}{}", piece, "a1B2".repeat(10_000))] {
            let once = real(&text);
            assert_eq!(real(&once), once, "{piece:?}");
        }
    }
}
