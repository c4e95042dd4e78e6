//! Azure, Vertex, Bedrock and Ollama: addresses, rights and bodies of their own, as they are sent.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use omniroute_core::{ChatBody, ChatRequest, FailureKind, UnixMs, wire};
use omniroute_providers::credentials::{Callback, CredentialError, Fixed, Held};
use omniroute_providers::{Call, Catalog, HttpProvider, PrepareError, ProviderBuilder, WireId, wires};
use serde_json::Value;

use crate::samples::{CHAT, CLAUDE};
use crate::scripted::{NOW, Step, Vendor, env, run};

const GEMINI: &str = r#"{"candidates":[{"content":{"parts":[{"text":"hi"}],"role":"model"},"finishReason":"STOP","index":0}],"modelVersion":"m-1"}"#;

fn builder(row: &str) -> ProviderBuilder {
    HttpProvider::builder(&Catalog::embedded(), row)
}

fn request() -> ChatRequest {
    let body = r#"{"model":"x","max_tokens":9,"messages":[{"role":"user","content":"hi"}]}"#;
    ChatRequest::parse(wire::OPENAI_CHAT, body).unwrap()
}

/// Tokens one after the other: `token-0`, `token-1`, ...; a new one only when the last was refused.
fn tokens(asked: &Arc<AtomicUsize>) -> Callback {
    let asked = Arc::clone(asked);
    Callback::new(move |refused| {
        let before = asked.fetch_add(1, Ordering::SeqCst);
        let number = if refused.is_some() { before } else { 0 };
        async move { Ok(Held::token(format!("token-number-{number}"), Some(UnixMs(NOW.0 + 3_600_000)))) }
    })
}

/// Sends one call and gives what was sent.
fn sent(provider: &HttpProvider, model: &str, reply: &str) -> http::Request<bytes::Bytes> {
    let vendor = Vendor::new([Step::json(200, reply.to_owned())]);
    let (env, _) = env(&vendor);
    run(provider.chat(&env, &request(), &Call::new(model))).unwrap().unwrap();
    vendor.seen().remove(0)
}

#[test]
fn azure_has_two_forms_and_two_rights() {
    let key = Fixed(Held::key("KEY-0123456789"));
    let new = builder("azure").value("resource", "acme").credentials(key.clone()).build().unwrap();
    let request_ = sent(&new, "gpt-5", CHAT);
    assert_eq!(request_.uri(), "https://acme.openai.azure.com/openai/v1/chat/completions");
    assert_eq!(request_.headers()["api-key"], "KEY-0123456789");
    assert!(!request_.headers().contains_key("authorization"));

    let dated = || {
        builder("azure")
            .value("resource", "acme")
            .value("deployment", "my-gpt")
            .value("api_version", "2024-10-21")
    };
    let old = dated().credentials(key).build().unwrap();
    let request_ = sent(&old, "my-gpt", CHAT);
    assert_eq!(
        request_.uri(),
        "https://acme.openai.azure.com/openai/deployments/my-gpt/chat/completions?api-version=2024-10-21"
    );

    // Entra: a token of the host's own program, another one when it is refused.
    let asked = Arc::new(AtomicUsize::new(0));
    let entra = dated().credentials(tokens(&asked)).build().unwrap();
    let expired = r#"{"error":{"code":"401","message":"Unauthorized. Access token is missing, invalid, audience is incorrect, or have expired."}}"#;
    let vendor = Vendor::new([Step::json(401, expired), Step::json(200, CHAT)]);
    let (env, _) = env(&vendor);
    let answer = run(entra.chat(&env, &request(), &Call::new("my-gpt"))).unwrap().unwrap();
    assert!(answer.resent);
    let rights: Vec<_> = vendor.seen().iter().map(|r| r.headers()["authorization"].clone()).collect();
    assert_eq!(rights, ["Bearer token-number-0", "Bearer token-number-1"]);
    assert!(rights.iter().all(http::HeaderValue::is_sensitive));
    assert_eq!(asked.load(Ordering::SeqCst), 2);
}

#[test]
fn azure_answers_in_its_own_words() {
    let provider = builder("azure")
        .value("resource", "acme")
        .credentials(Fixed(Held::key("KEY-0123456789")))
        .build()
        .unwrap();
    let filtered = r#"{"error":{"message":"The response was filtered","type":null,"param":"prompt","code":"content_filter","status":400}}"#;
    let busy = r#"{"error":{"code":"429","message":"Requests have exceeded call rate limit. Please retry after 6 seconds."}}"#;
    let missing = r#"{"error":{"code":"DeploymentNotFound","message":"The API deployment for this resource does not exist."}}"#;
    for (status, body, kind) in [
        (400, filtered, FailureKind::Filtered),
        (429, busy, FailureKind::RateLimited),
        (404, missing, FailureKind::ModelUnavailable),
    ] {
        let vendor = Vendor::new([Step::of(status, &[("apim-request-id", "a-1")], vec![body.into()])]);
        let (env, _) = env(&vendor);
        let failure = run(provider.chat(&env, &request(), &Call::new("m"))).unwrap().unwrap_err();
        assert_eq!(failure.kind, kind, "{failure:?}");
    }
}

#[test]
fn vertex_takes_tokens_of_a_service_account() {
    let asked = Arc::new(AtomicUsize::new(0));
    let vertex = |row: &str, region: &str| {
        builder(row).value("project", "p-1").value("region", region).credentials(tokens(&asked))
    };
    for (region, host) in
        [("europe-west4", "europe-west4-aiplatform.googleapis.com"), ("global", "aiplatform.googleapis.com")]
    {
        let google = vertex("vertex", region).build().unwrap();
        let request_ = sent(&google, "gemini-2.5-pro", GEMINI);
        let path = format!(
            "/v1/projects/p-1/locations/{region}/publishers/google/models/gemini-2.5-pro:generateContent"
        );
        assert_eq!(request_.uri().to_string(), format!("https://{host}{path}"));
        assert_eq!(request_.headers()["authorization"], "Bearer token-number-0");
        assert!(!request_.headers().contains_key("x-goog-api-key"));
    }
    let claude = vertex("vertex-partner", "us-east5").wire(WireId::AnthropicMessages).build().unwrap();
    let request_ = sent(&claude, "claude-opus-4-5@20251101", CLAUDE);
    assert_eq!(
        request_.uri().path(),
        "/v1/projects/p-1/locations/us-east5/publishers/anthropic/models/claude-opus-4-5@20251101:rawPredict"
    );
    assert!(!request_.headers().contains_key("anthropic-version"));
    let body: Value = serde_json::from_slice(request_.body()).unwrap();
    assert_eq!((&body["anthropic_version"], body.get("model")), (&"vertex-2023-10-16".into(), None));

    // A source that has none says why, and nothing is sent.
    let broken = Callback::new(|_| async {
        Err(CredentialError::Failed { place: "vault".to_owned(), message: "is sealed".to_owned() })
    });
    let google =
        builder("vertex").value("project", "p-1").value("region", "global").credentials(broken).build();
    let vendor = Vendor::new([]);
    let (env, _) = env(&vendor);
    let failure = run(google.unwrap().chat(&env, &request(), &Call::new("m"))).unwrap().unwrap_err();
    assert_eq!((failure.message.as_str(), failure.origin_local), ("vault: is sealed", true));
    assert!(vendor.seen().is_empty());
}

#[test]
fn what_a_cloud_needs_is_asked_for_by_name() {
    let key = || Fixed(Held::key("KEY-0123456789"));
    for (provider, words) in [
        (builder("azure"), "address needs the setting \"resource\""),
        (
            builder("azure").value("resource", "acme").value("deployment", "d"),
            "address needs the setting \"api_version\"",
        ),
        (builder("vertex").value("region", "global"), "address needs the setting \"project\""),
        (builder("azure").value("resource", "a.evil.example"), "setting \"resource\" must be letters"),
    ] {
        let vendor = Vendor::new([]);
        let (env, _) = env(&vendor);
        let provider = provider.credentials(key()).build().unwrap();
        let failure = run(provider.chat(&env, &request(), &Call::new("m"))).unwrap().unwrap_err();
        assert!(failure.message.contains(words), "{failure}");
        assert!(failure.origin_local && vendor.seen().is_empty());
    }
    // A wire that is not switched on, or not spoken there.
    let refused = builder("cohere").wire(WireId::BedrockConverse).build();
    if wires::by_id("bedrock-converse").is_none() {
        assert!(matches!(refused, Err(PrepareError::Wire { .. })));
    }
    let no_aws = builder("openai").credentials(Fixed(Held::Aws(aws()))).build().unwrap();
    let vendor = Vendor::new([]);
    let (env, _) = env(&vendor);
    let failure = run(no_aws.chat(&env, &request(), &Call::new("m"))).unwrap().unwrap_err();
    assert_eq!((failure.kind, failure.origin_local), (FailureKind::Unauthorized, true), "{failure:?}");
}

fn aws() -> omniroute_providers::credentials::AwsKeys {
    use omniroute_providers::{KeyOrigin, Secret};
    omniroute_providers::credentials::AwsKeys {
        access_key: Secret::new("AKIDEXAMPLE"),
        secret_key: Secret::new("SECRET-0123456789"),
        session_token: None,
        origin: KeyOrigin::Connection,
    }
}

/// Ollama streams unless it is told not to, and needs no key.
#[test]
fn ollama_streams_unless_told_otherwise() {
    let ollama = wires::by_id("ollama").unwrap();
    let whole = r#"{"model":"m","created_at":"2026-01-15T12:00:00Z","message":{"role":"assistant","content":"hi"},"done":true,"done_reason":"stop"}"#;
    let provider = builder("ollama").wire(WireId::Ollama).build().unwrap();
    let ask = |body: &str, stream: Option<bool>| {
        let request = ChatRequest::parse(ollama, body.to_owned()).unwrap();
        let vendor = Vendor::new([Step::json(200, format!("{whole}\n"))]);
        let (env, _) = env(&vendor);
        let mut call = Call::new("m");
        call.stream = stream;
        let answer = run(provider.chat(&env, &request, &call)).unwrap().unwrap();
        let sent = vendor.seen().remove(0);
        assert_eq!(sent.uri(), "http://localhost:11434/api/chat");
        assert!(!sent.headers().contains_key("authorization"), "no key, no header");
        (matches!(answer.body, ChatBody::Stream(_)), String::from_utf8(sent.body().to_vec()).unwrap())
    };
    let silent = r#"{"model":"m","messages":[{"role":"user","content":"hi"}]}"#;
    assert_eq!(ask(silent, None), (true, silent.to_owned()), "same wire, same bytes");
    let told = silent.replace("}]}", "}],\"stream\":false}");
    assert_eq!(ask(silent, Some(false)), (false, told));
    // Another wire's silence means a whole answer, which has to be said here.
    let vendor = Vendor::new([Step::json(200, whole)]);
    let (env, _) = env(&vendor);
    run(provider.chat(&env, &request(), &Call::new("m"))).unwrap().unwrap();
    let body: Value = serde_json::from_slice(vendor.seen()[0].body()).unwrap();
    assert_eq!(body["stream"], false);
}

#[test]
fn wires_that_stream_by_address_are_told_by_the_call() {
    let gemini = wires::by_id("gemini").unwrap();
    let provider = builder("gemini").credentials(Fixed(Held::key("KEY-0123456789"))).build().unwrap();
    let request =
        ChatRequest::parse(gemini, r#"{"contents":[{"role":"user","parts":[{"text":"hi"}]}]}"#).unwrap();
    let vendor = Vendor::new([Step::stream(&format!("data: {GEMINI}\n\n"), 5), Step::json(200, GEMINI)]);
    let (env, _) = env(&vendor);
    let mut call = Call::new("gemini-2.5-flash");
    call.stream = Some(true);
    let answer = run(provider.chat(&env, &request, &call)).unwrap().unwrap();
    assert!(matches!(answer.body, ChatBody::Stream(_)));
    call.stream = None;
    let answer = run(provider.chat(&env, &request, &call)).unwrap().unwrap();
    assert!(matches!(answer.body, ChatBody::Whole(_)));
    let paths: Vec<String> =
        vendor.seen().iter().map(|r| r.uri().path_and_query().unwrap().to_string()).collect();
    assert_eq!(
        paths,
        [
            "/v1beta/models/gemini-2.5-flash:streamGenerateContent?alt=sse",
            "/v1beta/models/gemini-2.5-flash:generateContent"
        ]
    );
    assert_eq!(vendor.seen()[0].body(), &request.to_bytes());
}
