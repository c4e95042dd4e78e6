//! No secret shows in any error, debug output or receipt, whatever the vendor echoes.

#[expect(dead_code, reason = "each test binary uses a part")]
mod scripted;

use std::sync::Arc;

use bytes::Bytes;
use futures::StreamExt;
use omniroute_core::ChatBody;
use omniroute_core::{ChatRequest, UnixMs, wire};
use omniroute_providers::credentials::{
    Callback, CredentialSource, Fixed, Grant, Held, KeyRing, MemoryTokens, OAuthClient, OAuthSource,
    RingOrder, TokenSet,
};
use omniroute_providers::{Call, Catalog, Dialect, HttpProvider, Scene, Secret, classify};
use scripted::{Step, Vendor, env, run};

/// Of no known shape, with characters that addresses and JSON write in another way.
const KEY: &str = "q7/Zx+9\"wV4tR2mN8pL3";
const TOKEN: &str = "ZXhhbXBsZS10b2tlbi4xMjM0NTY3ODkw";
const REFRESH: &str = "rt-0a9b8c7d6e5f4a3b2c1d";
const CLIENT: &str = "client/secret+with=signs&more";

/// Parts of the secrets, as any encoding would leave them.
const TRACES: [&str; 4] = ["wV4tR2mN8pL3", "ZXhhbXBsZS10b2tlbi4", "0a9b8c7d6e5f4a3b", "with=signs&more"];

fn leaks(text: &str) -> Vec<&'static str> {
    let odd = ["signs%26more", "client%2Fsecret"];
    TRACES.into_iter().chain(odd).filter(|trace| text.contains(trace)).collect()
}

fn request(stream: bool) -> ChatRequest {
    let body = format!(r#"{{"model":"m","stream":{stream},"messages":[{{"role":"user","content":"hi"}}]}}"#);
    ChatRequest::parse(wire::OPENAI_CHAT, body).expect("as scripted")
}

/// Everything a call shows.
fn shown(source: impl CredentialSource, step: Step, stream: bool) -> String {
    let catalog = Catalog::embedded();
    let provider =
        HttpProvider::builder(&catalog, "openai").credentials(source).build().expect("as scripted");
    let vendor = Vendor::new([step.clone(), step]);
    let (env, _) = env(&vendor);
    let mut out = format!("{provider:?} {env:?}");
    match run(provider.chat(&env, &request(stream), &Call::new("m"))).expect("as scripted") {
        Err(failure) => out += &format!("{failure} {failure:?}"),
        Ok(mut response) => {
            out += &format!("{response:?} {:?} {:?}", response.limits, response.request_id);
            if let ChatBody::Stream(items) = &mut response.body {
                while let Some(item) = run(items.next()).expect("as scripted") {
                    match item {
                        Ok(item) => out += &format!("{:?}", item.events),
                        Err(failure) => out += &format!("{failure} {failure:?}"),
                    }
                }
            }
        }
    }
    for sent in vendor.seen() {
        out += &format!("{sent:?}");
        assert!(!sent.uri().to_string().contains("wV4tR2mN8pL3"), "no key in an address");
    }
    out
}

fn echoes(secret: &str) -> Vec<(&'static str, Step, bool)> {
    let json = serde_json::to_string(secret).expect("as scripted");
    let inner = json.trim_matches('"');
    let address: String = secret
        .bytes()
        .map(|b| if b.is_ascii_alphanumeric() { char::from(b).to_string() } else { format!("%{b:02X}") })
        .collect();
    let text = |s: String| Bytes::from(s);
    let header = secret.to_owned();
    vec![
        (
            "body",
            Step::json(
                401,
                format!(r#"{{"error":{{"message":"bad key {inner}","code":"{inner}","type":"{inner}"}}}}"#),
            ),
            false,
        ),
        (
            "slashes",
            Step::json(401, format!(r#"{{"error":{{"message":"bad key {}"}}}}"#, inner.replace('/', "\\/"))),
            false,
        ),
        (
            "address",
            Step::json(403, format!(r#"{{"error":{{"message":"GET /v1?key={address} refused"}}}}"#)),
            false,
        ),
        ("text", Step::of(500, &[], vec![text(format!("Bearer {secret} failed"))]), false),
        ("page", Step::of(502, &[], vec![text(format!("<html><title>{secret}</title>"))]), false),
        ("header", Step::of(429, &[("x-request-id", &header), ("retry-after", &header)], vec![]), false),
        ("success", Step::json(200, format!(r#"{{"error":{{"message":"key {inner}"}}}}"#)), false),
        ("not json", Step::json(200, format!("oops {secret}")), false),
        ("transport", Step::Refuse("connect", format!("cannot reach host with {secret}")), false),
        (
            "stream error",
            Step::stream(
                &format!(
                    "data: {{\"error\":{{\"message\":\"key {inner} is bad\",\"code\":\"{inner}\"}}}}\n\n"
                ),
                7,
            ),
            true,
        ),
        ("stream page", Step::stream(&format!("<html><title>{secret}</title>"), 7), true),
    ]
}

#[test]
fn echoed_secrets_do_not_show() {
    for secret in [KEY, TOKEN] {
        for (what, step, stream) in echoes(secret) {
            let held = if secret == KEY { Held::key(secret) } else { Held::token(secret, None) };
            let ring = KeyRing::new("acc", vec![held.clone()], RingOrder::RoundRobin, 0);
            let again = held.clone();
            let callback = Callback::new(move |_| {
                let held = again.clone();
                async move { Ok(held) }
            });
            for out in [
                shown(Fixed(held.clone()), step.clone(), stream),
                shown(ring, step.clone(), stream),
                shown(callback, step.clone(), stream),
            ] {
                assert!(leaks(&out).is_empty(), "{what}: {:?}\n{out}", leaks(&out));
            }
        }
    }
}

#[test]
fn without_the_redactor_the_same_search_finds_it() {
    let body = format!(r#"{{"error":{{"message":"bad key {}"}}}}"#, KEY.replace('"', "\\\""));
    let failure = classify(401, body.as_bytes(), &Scene { dialect: Dialect::OpenAi, ..Scene::default() });
    assert!(!leaks(&format!("{failure:?}")).is_empty(), "the search can fail");
}

fn oauth(tokens: TokenSet) -> OAuthSource {
    let client = OAuthClient {
        token_url: "https://auth.example/token".to_owned(),
        client_id: "mine".to_owned(),
        client_secret: Some(Secret::new(CLIENT)),
        scope: String::new(),
        grant: Grant::Refresh,
        lead: std::time::Duration::from_secs(300),
        patience: std::time::Duration::from_secs(30),
    };
    OAuthSource::new(client, Arc::new(MemoryTokens::new(Some(tokens)))).expect("as scripted")
}

fn old() -> TokenSet {
    TokenSet { access: Secret::new(TOKEN), refresh: Some(Secret::new(REFRESH)), expires_at: Some(UnixMs(0)) }
}

#[test]
fn oauth_errors_do_not_show_what_was_sent() {
    for body in [
        format!(r#"{{"error":"{REFRESH}","error_description":"{CLIENT}"}}"#),
        format!(r#"{{"error":"invalid_grant","error_description":"{REFRESH}"}}"#),
        format!("<html>{REFRESH}"),
    ] {
        let vendor = Vendor::new([Step::json(400, body)]);
        let (env, _) = env(&vendor);
        let source = oauth(old());
        let error = run(source.get(&env, None)).unwrap().unwrap_err();
        let out = format!("{error} {error:?} {source:?}");
        assert!(leaks(&out).is_empty(), "{out}");
        let sent = String::from_utf8_lossy(vendor.seen()[0].body()).into_owned();
        assert!(sent.contains(REFRESH), "it was sent: {sent}");
    }
}

#[test]
fn one_renewal_serves_all_who_wait() {
    let answer =
        r#"{"access_token":"new-access-token","refresh_token":"new-refresh-token","expires_in":3600}"#;
    let vendor = Vendor::new([Step::json(200, answer), Step::json(200, answer)]);
    let (env, _) = env(&vendor);
    let source = oauth(old());
    let calls =
        futures::future::join3(source.get(&env, None), source.get(&env, None), source.get(&env, None));
    let (a, b, c) = run(calls).unwrap();
    let new = Held::token("new-access-token", None);
    for held in [a, b, c] {
        assert!(held.unwrap().is_same(&new));
    }
    assert_eq!(vendor.seen().len(), 1);
    // A refusal of what is already old is answered with the new one, without asking.
    assert!(run(source.get(&env, Some(&Held::token(TOKEN, None)))).unwrap().unwrap().is_same(&new));
    assert_eq!(vendor.seen().len(), 1);
    assert!(run(source.get(&env, Some(&new))).unwrap().is_ok(), "a refusal of the new one asks again");
    assert_eq!(vendor.seen().len(), 2);
}

#[test]
fn waiters_share_an_error_and_a_dropped_renewal_frees_the_way() {
    let vendor = Vendor::new([Step::json(400, r#"{"error":"invalid_grant"}"#)]);
    let (env, _) = env(&vendor);
    let source = oauth(old());
    let (a, b) = run(futures::future::join(source.get(&env, None), source.get(&env, None))).unwrap();
    assert_eq!(a.unwrap_err(), b.unwrap_err());
    assert_eq!(vendor.seen().len(), 1);

    let answer = r#"{"access_token":"new-access-token"}"#;
    let vendor = Vendor::new([Step::Hang, Step::json(200, answer)]);
    let (env, _) = scripted::env(&vendor);
    let source = oauth(old());
    assert!(run(source.get(&env, None)).is_none(), "it hangs and is dropped");
    assert!(run(source.get(&env, None)).unwrap().is_ok());
}
