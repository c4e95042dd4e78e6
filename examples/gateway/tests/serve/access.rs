//! Who may do what.

use serde_json::json;
use sha2::{Digest, Sha256};

use super::common::gateway::{Gateway, command, folder};
use super::common::http::call;
use super::{ask, config, willing};

/// Every scope.
const SCOPES: [&str; 11] = [
    "chat",
    "read:health",
    "read:routing",
    "read:usage",
    "read:compression",
    "read:catalog",
    "read:audit",
    "write:routing",
    "write:resilience",
    "write:compression",
    "lease:exclusive",
];

fn key(name: &str) -> String {
    format!("or_{}", name.replace(':', "-"))
}

/// A key for each scope.
fn keys() -> String {
    let line = |scope: &&str| {
        let hash: String =
            Sha256::digest(key(scope).as_bytes()).iter().map(|byte| format!("{byte:02x}")).collect();
        let connections = if *scope == "lease:exclusive" { "connections = [\"v1/a\"]\n" } else { "" };
        format!(
            "[[gateway.keys]]\nname = \"{scope}\"\nhash = \"sha256:{hash}\"\nscopes = [\"{scope}\"]\n{connections}"
        )
    };
    SCOPES.iter().map(line).collect()
}

#[test]
fn every_operation_needs_its_scope_and_no_other_will_do() {
    let vendor = willing();
    let gateway = Gateway::start(&(config(&[&vendor]) + &keys()));
    let document = gateway.get("/api/openapi.json").json();
    let mut checked = 0;
    for (path, methods) in document["paths"].as_object().unwrap() {
        for (method, operation) in methods.as_object().unwrap() {
            let sets = operation["x-scopes"].as_array().unwrap();
            let path = path.replace("{call}", "daily:generateContent").replace("{provider}", "v1");
            let path = path.replace("{id}", "x");
            let line = format!("{} {path}", method.to_uppercase());
            let body: &[u8] = if method == "post" { b"{}" } else { b"" };
            let none = call(gateway.port, &line, &[], body);
            if sets.is_empty() {
                assert!(matches!(none.status(), 200 | 503), "{line}: {}", none.status());
                continue;
            }
            assert_eq!(none.status(), 401, "{line}");
            assert_eq!(none.header("www-authenticate"), Some("Bearer realm=\"omniroute\""));
            for scope in SCOPES {
                if operation["operationId"].as_str().unwrap().starts_with("events") {
                    continue; // endless
                }
                let alone = sets.iter().any(|set| set.as_array().unwrap().iter().all(|one| one == scope));
                let shown = [("authorization", format!("Bearer {}", key(scope)))];
                let shown: Vec<(&str, &str)> =
                    shown.iter().map(|(name, value)| (*name, value.as_str())).collect();
                let answer = call(gateway.port, &line, &shown, body);
                assert_eq!(
                    answer.status() != 403,
                    alone,
                    "{line} with {scope}: {} {}",
                    answer.status(),
                    answer.text()
                );
                checked += 1;
            }
        }
    }
    assert!(checked > 200, "{checked}");
    assert!(vendor.heard().iter().all(|message| !message.all().contains("or_")));
    let wrong = call(gateway.port, "GET /v1/models", &[("x-api-key", "or_nobody")], b"");
    assert_eq!((wrong.status(), &wrong.json()["error"]["code"]), (401, &json!("invalid_api_key")));
    let two = [("x-api-key", "a"), ("authorization", "Bearer b")];
    assert_eq!(call(gateway.port, "GET /v1/models", &two, b"").status(), 400);
    let gemini = [("x-goog-api-key", key("chat"))];
    let gemini: Vec<(&str, &str)> = gemini.iter().map(|(name, value)| (*name, value.as_str())).collect();
    assert_eq!(call(gateway.port, "GET /v1beta/models", &gemini, b"").status(), 200);
}

#[test]
fn without_keys_this_machine_may_ask_and_look_but_change_nothing() {
    let vendor = willing();
    let gateway = Gateway::start(&config(&[&vendor]));
    assert_eq!(gateway.post("/v1/chat/completions", &ask("daily")).status(), 200);
    assert_eq!(gateway.get("/api/routing/decisions").status(), 200);
    assert_eq!(gateway.post("/api/resilience/reset", &json!({})).status(), 403);
    assert_eq!(gateway.post("/api/v1/session-leases", &json!({ "action": "status" })).status(), 403);
    // What an SDK sends because it has to send something counts for nothing.
    let sdk = [("authorization", "Bearer sk-anything")];
    assert_eq!(gateway.post_with("/v1/chat/completions", &sdk, &ask("daily")).status(), 200);
    assert!(vendor.heard().iter().all(|message| !message.all().contains("sk-anything")));
}

#[test]
fn no_other_machine_is_served_without_keys() {
    let folder = folder();
    let done = command(&folder, "[gateway]\nlisten = \"0.0.0.0:0\"\n").output().unwrap();
    let told = String::from_utf8(done.stderr).unwrap();
    assert_eq!(done.status.code(), Some(78), "{told}");
    assert!(told.contains("refusing to listen on 0.0.0.0:0 without a key"), "{told}");
}

#[test]
fn names_and_pages_of_others_are_turned_away() {
    let vendor = willing();
    let gateway = Gateway::start(&config(&[&vendor]));
    let body = ask("daily").to_string();
    let post =
        |headers: &[(&str, &str)]| call(gateway.port, "POST /v1/chat/completions", headers, body.as_bytes());
    assert_eq!(post(&[("host", "evil.example")]).status(), 421);
    assert_eq!(post(&[("origin", "https://evil.example")]).status(), 403);
    assert_eq!(post(&[("origin", "null")]).status(), 403);
    assert_eq!(post(&[("sec-fetch-site", "cross-site")]).status(), 403);
    // A form of another page cannot say that it is JSON.
    assert_eq!(post(&[("content-type", "text/plain")]).status(), 415);
    let preflight =
        call(gateway.port, "OPTIONS /v1/chat/completions", &[("origin", "https://evil.example")], b"");
    assert_eq!((preflight.status(), preflight.header("access-control-allow-origin")), (204, None));
    assert_eq!(call(gateway.port, "GET /v1/models?api_key=secret-value", &[], b"").status(), 400);
    assert!(vendor.heard().is_empty());

    let open = config(&[&vendor]) + "[gateway.cors]\norigins = [\"https://app.example\"]\n";
    let gateway = Gateway::start(&open);
    let origin = [("origin", "https://app.example")];
    let answer = call(gateway.port, "POST /v1/chat/completions", &origin, body.as_bytes());
    assert_eq!(answer.header("access-control-allow-origin"), Some("https://app.example"));
    assert!(answer.header("access-control-allow-credentials").is_none());
    assert_eq!(answer.header("vary"), Some("Origin"));
    assert_eq!(call(gateway.port, "GET /api/connections", &origin, b"").status(), 403);
    let preflight = call(gateway.port, "OPTIONS /v1/messages", &origin, b"");
    assert!(preflight.header("access-control-allow-headers").unwrap().contains("x-omniroute-session"));
}
