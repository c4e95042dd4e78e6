//! One rich request of each wire, written to each wire. `BLESS=1` writes what is found; a person looks at it.

use std::path::PathBuf;

use omniroute_core::Doc;
use omniroute_core::hub::WriteContext;
use omniroute_core::wire::{WIRES, by_id};
use serde_json::Value;

pub(crate) const RICH: [(&str, &str); 4] = [
    ("openai-chat", include_str!("rich/openai-chat.json")),
    ("openai-responses", include_str!("rich/openai-responses.json")),
    ("anthropic-messages", include_str!("rich/anthropic-messages.json")),
    ("gemini", include_str!("rich/gemini.json")),
];

#[test]
fn rich_requests_on_every_wire() {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/wire/snapshots");
    let mut wrong = Vec::new();
    for (source, body) in RICH {
        for target in WIRES {
            let name = format!("{source}-to-{}.json", target.id());
            let found = on(source, body, target.id());
            let path = folder.join(&name);
            if std::env::var_os("BLESS").is_some() {
                std::fs::create_dir_all(&folder).unwrap();
                std::fs::write(&path, &found).unwrap();
            }
            if std::fs::read_to_string(&path).unwrap_or_default() != found {
                wrong.push(name);
            }
        }
    }
    assert!(wrong.is_empty(), "changed (look, then run with BLESS=1): {wrong:?}");
}

/// The written request and its remarks, readable.
fn on(source: &str, body: &str, target: &str) -> String {
    let doc = Doc::parse(body.to_owned()).unwrap();
    let request = by_id(source).unwrap().read_request(&doc).unwrap().value;
    let found = match by_id(target).unwrap().write(&request, &WriteContext::default()) {
        Ok(written) => {
            let notes: Vec<_> = written.notes.iter().map(|n| format!("{} {}", n.code, n.pointer)).collect();
            let body: Value = serde_json::from_slice(&written.body).unwrap();
            serde_json::json!({"body": body, "notes": notes})
        }
        Err(error) => serde_json::json!({"error": error.code(), "message": error.to_string()}),
    };
    format!("{}\n", serde_json::to_string_pretty(&found).unwrap())
}

/// Longer sessions extend the bytes of shorter ones up to the end of the last message.
#[test]
fn prefixes_are_stable() {
    for (source, body) in RICH {
        let wire = by_id(source).unwrap();
        let doc = Doc::parse(body.to_owned()).unwrap();
        let request = wire.read_request(&doc).unwrap().value;
        for target in WIRES {
            let written = |turns: usize| {
                let mut part = request.clone();
                part.turns.truncate(turns);
                target
                    .write(&part, &WriteContext::default())
                    .ok()
                    .map(|w| String::from_utf8(w.body.to_vec()).unwrap())
            };
            let (mut last, mut checked): (Option<String>, _) = (None, 0);
            for turns in 1..=request.turns.len() {
                // A turn of the assistant or of tools is completed by what follows.
                let open =
                    request.turns[..turns].last().is_some_and(|t| t.role != omniroute_core::Role::User);
                let Some(now) = written(turns).filter(|_| !open) else { continue };
                if let Some(before) = last {
                    assert!(
                        extends(&before, &now),
                        "{source} -> {}: turn {turns}\n{before}\n{now}",
                        target.id()
                    );
                    checked += 1;
                }
                last = Some(now);
            }
            assert!(checked > 0, "{source} -> {}: nothing to compare", target.id());
        }
    }
}

/// Whether a longer body goes on where a shorter one ends.
fn extends(before: &str, now: &str) -> bool {
    now.starts_with(before.trim_end_matches(['}', ']']))
}

/// Twin: a session whose first message changed does not extend the one before.
#[test]
fn a_changed_prefix_is_noticed() {
    let body = |first: &str, more: &str| format!(r#"{{"messages":[{{"content":"{first}"}}{more}]}}"#);
    assert!(extends(&body("a", ""), &body("a", r#",{"content":"b"}"#)));
    assert!(!extends(&body("a", ""), &body("c", r#",{"content":"b"}"#)));
}
