//! The rich requests of the core's wires, written to the wires of this crate. `BLESS=1` writes what is found; a
//! person looks at it.

use std::path::PathBuf;

use omniroute_core::Doc;
use omniroute_core::hub::{Request, ToolKind, WriteContext};
use omniroute_core::wire::Wire;
use omniroute_providers::wires::{HOSTED, by_id};
use serde_json::Value;

const RICH: [(&str, &str); 4] = [
    ("openai-chat", include_str!("../../../omniroute-core/tests/wire/rich/openai-chat.json")),
    ("openai-responses", include_str!("../../../omniroute-core/tests/wire/rich/openai-responses.json")),
    ("anthropic-messages", include_str!("../../../omniroute-core/tests/wire/rich/anthropic-messages.json")),
    ("gemini", include_str!("../../../omniroute-core/tests/wire/rich/gemini.json")),
];

#[test]
fn rich_requests_on_every_wire() {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/wires/snapshots");
    let mut wrong = Vec::new();
    for (source, body) in RICH {
        for target in HOSTED {
            let name = format!("{source}-to-{}.json", target.id());
            let found = on(source, body, *target);
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

/// The written request and its remarks, readable. What a vendor's own tool makes impossible is tried again without.
fn on(source: &str, body: &str, target: Wire) -> String {
    let doc = Doc::parse(body.to_owned()).unwrap();
    let mut request = by_id(source).unwrap().read_request(&doc).unwrap().value;
    let mut found = told(&request, target);
    if found["error"] == "unsupported_tool" {
        request.tools.retain(|t| matches!(t.kind, ToolKind::Function | ToolKind::Custom(_)));
        found["without_those_tools"] = told(&request, target);
    }
    format!("{}\n", serde_json::to_string_pretty(&found).unwrap())
}

fn told(request: &Request<'_>, target: Wire) -> Value {
    match target.write(request, &WriteContext::default()) {
        Ok(written) => {
            let notes: Vec<_> = written.notes.iter().map(|n| format!("{} {}", n.code, n.pointer)).collect();
            let body: Value = serde_json::from_slice(&written.body).unwrap();
            serde_json::json!({"body": body, "notes": notes})
        }
        Err(error) => serde_json::json!({"error": error.code(), "message": error.to_string()}),
    }
}

/// Longer sessions extend the bytes of shorter ones up to the end of the last message.
#[test]
fn prefixes_are_stable() {
    let mut checked = 0;
    for (source, body) in RICH {
        let doc = Doc::parse(body.to_owned()).unwrap();
        let request = by_id(source).unwrap().read_request(&doc).unwrap().value;
        for target in HOSTED {
            let written = |turns: usize| {
                let mut part = request.clone();
                part.turns.truncate(turns);
                let written = target.write(&part, &WriteContext::default()).ok()?;
                String::from_utf8(written.body.to_vec()).ok()
            };
            let mut last: Option<String> = None;
            for turns in 1..=request.turns.len() {
                // A turn that waits for results, or stands alone, is completed by what follows.
                let open = request.turns[..turns]
                    .last()
                    .is_some_and(|t| t.role != omniroute_core::Role::User || t.item);
                let Some(now) = written(turns).filter(|_| !open) else { continue };
                if let Some(before) = last.filter(|_| turns > 2) {
                    let shared = before.trim_end_matches(['}', ']']);
                    let label = format!("{source} -> {}: turn {turns}", target.id());
                    assert!(now.starts_with(shared), "{label}\n{shared}\n{now}");
                    checked += 1;
                }
                last = Some(now);
            }
        }
    }
    println!("{checked} longer sessions");
}
