//! Every key path that a vendor or client was seen to send has a row in the matrix.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use crate::exchanges::{self, Exchange, ReplyKind};
use crate::matrix::{COLUMNS, Known};

/// Paths per wire and area, each with one exchange that has it.
type Seen = BTreeMap<(&'static str, &'static str), BTreeMap<String, String>>;

#[test]
fn every_recorded_path_has_a_row() {
    let exchanges = exchanges::all();
    let seen = seen(exchanges);
    let mut missing = Vec::new();
    let mut count = 0;
    for ((wire, area), paths) in &seen {
        let known = Known::of(wire, area);
        count += paths.len();
        missing.extend(unknown(&known, paths).map(|(path, at)| format!("{wire} {area} {path} ({at})")));
    }
    println!("{} exchanges, {count} paths, {} without a row", exchanges.len(), missing.len());
    assert!(missing.is_empty(), "no row in the matrix for:\n{}", missing.join("\n"));
}

/// The twin: a path without a row is found by the same check, beside one that has a row.
#[test]
fn a_missing_row_is_noticed() {
    let paths = ["messages[].reasoning_content", "messages[].reasoning_contents"];
    let paths = paths.map(|path| (path.to_owned(), "twin".to_owned())).into();
    assert_eq!(unknown(&Known::of("openai-chat", "request"), &paths).count(), 1);
}

fn unknown<'a>(
    known: &'a Known,
    paths: &'a BTreeMap<String, String>,
) -> impl Iterator<Item = (&'a String, &'a String)> {
    paths.iter().filter(|(path, _)| !known.covers(path))
}

fn seen(exchanges: &[Exchange]) -> Seen {
    let mut seen = Seen::new();
    for exchange in exchanges {
        assert!(COLUMNS.contains(&exchange.wire));
        let label = exchange.label();
        let mut note = |area, name: Option<&str>, value: &Value| {
            let mut found = BTreeSet::new();
            walk(value, "", &mut found);
            let paths = seen.entry((exchange.wire, area)).or_default();
            for path in found {
                let path = name.map_or(path.clone(), |n| format!("{n}/{path}"));
                paths.entry(path).or_insert_with(|| label.clone());
            }
        };
        if let Some(body) = &exchange.request {
            note("request", None, &serde_json::from_str(body).unwrap());
        }
        let area = match exchange.kind {
            ReplyKind::Whole => "reply",
            ReplyKind::Error => "error",
            _ => "event",
        };
        for (name, payload) in exchanges::payloads(exchange) {
            let Ok(value) = serde_json::from_str::<Value>(&payload) else {
                assert!(payload == "[DONE]" || area == "error", "{label}: {payload}");
                continue;
            };
            let typed =
                (area == "event").then(|| name.or(value["type"].as_str().map(str::to_owned))).flatten();
            note(area, typed.as_deref(), &value);
        }
    }
    seen
}

fn walk(value: &Value, path: &str, out: &mut BTreeSet<String>) {
    match value {
        Value::Object(members) => {
            for (key, value) in members {
                let path = if path.is_empty() { key.clone() } else { format!("{path}.{key}") };
                walk(value, &path, out);
                out.insert(path);
            }
        }
        Value::Array(elements) => elements.iter().for_each(|e| walk(e, &format!("{path}[]"), out)),
        _ => {}
    }
}
