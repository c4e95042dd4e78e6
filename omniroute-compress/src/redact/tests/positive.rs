//! Every kind is found at its shortest, a middling and its longest length, in the places where secrets stand.

use std::collections::BTreeSet;

use super::super::{Kind, redact, redact_counted};
use super::fixtures::{Fixture, SECRETS};

#[test]
fn every_kind_at_every_length() {
    let mut missed = Vec::new();
    for (kind, template) in SECRETS {
        for (size, seed) in (0..3).flat_map(|size| (1..9).map(move |seed| (size, seed))) {
            let fixture = Fixture::new(*kind, template, size, seed);
            let places = [
                (String::new(), String::new()),
                ("first line\n".to_owned(), "\nlast line\n".to_owned()),
                ("\u{e9}\u{2192} \n".to_owned(), "\n\u{6f22}".to_owned()),
            ];
            for (before, after) in places {
                let text = format!("{before}{}{after}", fixture.text);
                let out = redact_counted(&text);
                if out.text != format!("{before}{}{after}", fixture.clean) || out.counts.len() != 1 {
                    missed.push(format!("{} {template} {:?}", kind.name(), fixture.text));
                }
            }
        }
    }
    missed.dedup();
    assert!(
        missed.is_empty(),
        "{} missed, first ones:\n{}",
        missed.len(),
        missed[..missed.len().min(60)].join("\n")
    );
}

#[test]
fn tokens_with_a_shape_are_found_anywhere() {
    for (kind, template) in SECRETS.iter().filter(|(_, t)| t.starts_with('«') && t.ends_with('»')) {
        let fixture = Fixture::new(*kind, template, 1, 5);
        let places = [
            "",
            "see ",
            "(",
            "[",
            "<",
            "'",
            "x=",
            "https://h/",
            "`",
            "\u{201c}",
            "line\\n",
            "a%3D",
            "\x1b[32m",
            "-",
            "- ",
        ];
        for place in places {
            let close = if place == "\u{201c}" { "\u{201d}" } else { "" };
            let text = format!("{place}{}{close} end", fixture.text);
            assert_eq!(redact(&text), format!("{place}{}{close} end", fixture.clean), "{text}");
        }
    }
}

#[test]
fn no_kind_is_without_a_fixture() {
    let known: BTreeSet<Kind> = SECRETS.iter().map(|(kind, _)| *kind).collect();
    let all: BTreeSet<Kind> = Kind::ALL.iter().copied().collect();
    assert_eq!(all.difference(&known).collect::<Vec<_>>(), Vec::<&Kind>::new());
}

#[test]
fn several_in_one_text() {
    let rows = [
        ("Cookie: a=abcd1234; b=efgh5678; c=1", "Cookie: a=[REDACTED:cookie]; b=[REDACTED:cookie]; c=1"),
        ("password=abc123&token=def456", "password=[REDACTED:password]&token=[REDACTED:url-secret]"),
        (
            "kind: Secret\ndata:\n  a: YWJjZA==\n  b: ZWZnaA==\n---\nkind: ConfigMap\ndata:\n  c: aWprbA==\n",
            "kind: Secret\ndata:\n  a: [REDACTED:kubernetes-secret]\n  b: [REDACTED:kubernetes-secret]\n---\nkind: \
             ConfigMap\ndata:\n  c: aWprbA==\n",
        ),
        (
            "{\"apiVersion\": \"v1\",\n \"data\": {\n  \"pw\": \"YWJjZA==\"\n },\n \"kind\": \"Secret\"}",
            "{\"apiVersion\": \"v1\",\n \"data\": {\n  \"pw\": \"[REDACTED:kubernetes-secret]\"\n },\n \"kind\": \
             \"Secret\"}",
        ),
    ];
    for (text, expected) in rows {
        assert_eq!(redact(text), expected);
    }
    let counts = redact_counted("password=abc123\ndb_password: x9y8z7\nAPI_KEY=q1w2e3").counts;
    assert_eq!(counts.into_iter().collect::<Vec<_>>(), [(Kind::ApiKey, 1), (Kind::Password, 2)]);
}
