//! Exclusive leases over HTTP.

use serde_json::json;
use sha2::{Digest, Sha256};

use super::common::gateway::Gateway;
use super::{ask, config, willing};

fn key(name: &str, key: &str, connections: &str) -> String {
    let hash: String = Sha256::digest(key.as_bytes()).iter().map(|byte| format!("{byte:02x}")).collect();
    format!(
        "[[gateway.keys]]\nname = \"{name}\"\nhash = \"sha256:{hash}\"\nscopes = [\"chat\", \"lease:exclusive\"]\nconnections = [{connections}]\n"
    )
}

fn owner(letter: &str) -> String {
    format!("vlo_{}", letter.repeat(43))
}

#[test]
fn a_connection_is_held_by_one_owner_at_a_time() {
    let vendor = willing();
    let folder = super::common::gateway::folder();
    let store = format!("[store]\nkind = \"sqlite\"\npath = \"{}\"\n", folder.join("state.db").display());
    let keys = key("one", "or_one", "\"v1/a\"") + &key("two", "or_two", "\"v1/a\"");
    let gateway = Gateway::start(&(config(&[&vendor]) + &keys + &store));
    let lease = |key: &str, owner: &str, body: serde_json::Value| {
        let bearer = format!("Bearer {key}");
        let headers = [("authorization", bearer.as_str()), ("x-omniroute-lease-owner", owner)];
        gateway.post_with("/api/v1/session-leases", &headers, &body)
    };
    let acquire = json!({ "action": "acquire", "model": "daily", "ttl_ms": 60_000 });
    let (a, b) = (owner("A"), owner("E"));
    let got = lease("or_one", &a, acquire.clone());
    assert_eq!((got.status(), &got.json()["state"]), (200, &json!("ACTIVE")), "{}", got.text());
    let generation = got.json()["generation"].as_u64().unwrap();
    let busy = lease("or_two", &b, acquire.clone());
    assert_eq!(
        (busy.status(), &busy.json()["state"]),
        (429, &json!("WAITING_FOR_CAPACITY")),
        "{}",
        busy.text()
    );
    assert!(busy.header("retry-after").is_some());
    // The owner is served, others are not, and a stale claim is not.
    let under = |key: &str, generation: u64| {
        let (bearer, generation) = (format!("Bearer {key}"), generation.to_string());
        let headers = [
            ("authorization", bearer.as_str()),
            ("x-omniroute-lease-owner", a.as_str()),
            ("x-omniroute-lease-generation", generation.as_str()),
        ];
        gateway.post_with("/v1/chat/completions", &headers, &ask("daily"))
    };
    assert_eq!(under("or_one", generation).status(), 200);
    assert_ne!(under("or_one", generation + 1).status(), 200);
    let plain = [("authorization", "Bearer or_two")];
    assert_ne!(gateway.post_with("/v1/chat/completions", &plain, &ask("daily")).status(), 200);
    let status = lease("or_one", &a, json!({ "action": "status", "generation": generation }));
    assert_eq!(status.json()["connection"]["provider"], "v1");
    // Whoever asks about another's lease learns nothing.
    for (key, owner, generation) in
        [("or_two", &a, generation), ("or_one", &b, generation), ("or_one", &a, generation + 1)]
    {
        let told = lease(key, owner, json!({ "action": "status", "generation": generation }));
        assert_eq!((told.status(), &told.json()["error"]["code"]), (409, &json!("LEASE_FENCE_STALE")));
    }
    let released = lease("or_one", &a, json!({ "action": "release", "generation": generation }));
    assert_eq!(released.status(), 200);
    assert_eq!(gateway.post_with("/v1/chat/completions", &plain, &ask("daily")).status(), 200);
    assert_eq!(lease("or_two", &b, acquire).status(), 200);
    // No token and no hash of one in anything that can be looked at.
    let heard: String = vendor.heard().iter().map(super::common::http::Message::all).collect();
    let looked = gateway.get("/api/openapi.json").text().to_owned() + &heard;
    assert!(!looked.contains(&a) && !looked.contains("lease-owner: "));
    let _ = std::fs::remove_dir_all(folder);
}

#[test]
fn wrong_requests_are_told_in_the_words_of_leases() {
    let vendor = willing();
    let gateway = Gateway::start(&(config(&[&vendor]) + &key("one", "or_one", "\"v1/a\"")));
    let code = |headers: &[(&str, &str)], body: serde_json::Value| {
        let told = gateway.post_with("/api/v1/session-leases", headers, &body);
        assert_eq!(told.json()["error"]["type"], "lease_error", "{}", told.text());
        (told.status(), told.json()["error"]["code"].as_str().unwrap().to_owned())
    };
    let told = |status: u16, code: &str| (status, code.to_owned());
    let bearer = ("authorization", "Bearer or_one");
    let a = owner("A");
    let good = [bearer, ("x-omniroute-lease-owner", a.as_str())];
    let acquire = json!({ "action": "acquire", "model": "daily" });
    assert_eq!(code(&[], acquire.clone()), told(401, "LEASE_AUTHENTICATION_REQUIRED"));
    assert_eq!(code(&[("authorization", "Bearer x")], acquire.clone()), told(401, "LEASE_API_KEY_INVALID"));
    assert_eq!(code(&[bearer], acquire.clone()), told(400, "LEASE_CONTEXT_REQUIRED"));
    let odd = [bearer, ("x-omniroute-lease-owner", "vlo_short")];
    assert_eq!(code(&odd, acquire.clone()), told(400, "LEASE_CONTEXT_INVALID"));
    let plain = [bearer, good[1], ("content-type", "text/plain")];
    assert_eq!(code(&plain, acquire.clone()), told(415, "LEASE_CONTENT_TYPE_REQUIRED"));
    assert_eq!(code(&good, json!({ "action": "steal" })), told(400, "LEASE_ACTION_INVALID"));
    assert_eq!(code(&good, json!({ "action": "renew", "generation": 0 })), told(400, "LEASE_ACTION_INVALID"));
    assert_eq!(
        code(&good, json!({ "action": "acquire", "model": "daily", "x": 1 })),
        told(400, "LEASE_ACTION_INVALID")
    );
    assert_eq!(
        code(&good, json!({ "action": "acquire", "model": "nobody" })),
        told(400, "LEASE_MODEL_INVALID")
    );
    // In memory a lease would not outlive the program.
    assert_eq!(code(&good, acquire), told(503, "LEASE_SERVICE_UNAVAILABLE"));
}
