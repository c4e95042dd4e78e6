//! Where keys go, and that they show nowhere.

use http::Uri;
use omniroute_providers::{Catalog, Credential, KeyOrigin, PrepareError, Secret, Settings, prepare};
use proptest::prelude::*;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};

const SECRET: &str = "sk-do-not-show-0123456789";

fn attempt(id: &str, base_url: Option<&str>, origin: KeyOrigin) -> Result<String, PrepareError> {
    let catalog = Catalog::embedded();
    let row = catalog.provider(id).expect(id);
    let secret = Secret::new(SECRET);
    let values = [("resource", "acme"), ("region", "eu-west-1"), ("account_root", "https://ai.example/v2")];
    let settings = Settings {
        model: "m-1",
        base_url,
        values: &values,
        credential: Credential::Key { secret: &secret, origin },
        ..Settings::default()
    };
    let request = prepare(&row, &settings, "{}");
    let shown = format!("{request:?} {settings:?}");
    assert!(!shown.contains("do-not-show"), "{shown}");
    let request = request?;
    assert!(!request.uri().to_string().contains("do-not-show"));
    assert!(request.headers().values().any(|value| value.as_bytes().ends_with(SECRET.as_bytes())));
    Ok(request.uri().to_string())
}

#[test]
fn a_key_of_the_row_goes_to_the_host_of_the_row() {
    let row = KeyOrigin::RowVariable;
    for (id, base_url) in [
        ("openai", None),
        ("openai", Some("https://api.openai.com/v1")),
        ("openai", Some("https://api.openai.com:443/v1/")),
        ("azure-openai", None),
        ("azure-openai", Some("https://other.openai.azure.com")),
        ("bedrock", None),
    ] {
        assert!(attempt(id, base_url, row).is_ok(), "{id} {base_url:?}");
    }
    for (id, base_url) in [
        ("openai", "https://api.openai.com.evil.example/v1"),
        ("openai", "https://api.openai.com:8443/v1"),
        ("openai", "https://evil.example/api.openai.com/v1"),
        ("openai", "http://127.0.0.1:8080/v1"),
        ("azure-openai", "https://a.b.openai.azure.com"),
        ("azure-openai", "https://openai.azure.com"),
        ("azure-openai", "https://acme.openai.azure.com.evil.example"),
        ("arcee-ai", "https://api.arcee.example/v1"),
    ] {
        let refused = attempt(id, Some(base_url), row);
        assert!(
            matches!(refused, Err(PrepareError::KeyForAnotherHost { .. })),
            "{id} {base_url} {refused:?}"
        );
        // The same address with a key of its own is served: the rule is about the key.
        assert!(attempt(id, Some(base_url), KeyOrigin::Connection).is_ok(), "{id} {base_url}");
    }
    // A host that is nothing but a setting is no host of the row.
    assert!(matches!(attempt("datarobot", None, row), Err(PrepareError::KeyForAnotherHost { .. })));
    assert!(attempt("datarobot", None, KeyOrigin::Connection).is_ok());
}

#[test]
fn plain_http_stays_on_this_machine() {
    for url in ["http://localhost:1234/v1", "http://127.0.0.1/v1", "http://[::1]:9/v1"] {
        assert!(attempt("openai", Some(url), KeyOrigin::Connection).is_ok(), "{url}");
    }
    for url in
        ["http://api.openai.com/v1", "http://10.0.0.1/v1", "http://localhost.example/v1", "http://0.0.0.0/v1"]
    {
        let refused = attempt("openai", Some(url), KeyOrigin::Connection);
        assert!(matches!(refused, Err(PrepareError::PlainHttp { .. })), "{url} {refused:?}");
    }
}

#[test]
fn addresses_and_settings_cannot_lead_elsewhere() {
    for url in [
        "https://api.openai.com@evil.example/v1",
        "https://api.openai.com/../../x",
        "https://api.openai.com/v1?x=1",
        "https://api.openai.com/v1#x",
        "https://api.openai.com\\@evil.example/v1",
        "https://api.openai.com /v1",
        "https:///v1",
        "file:///etc/passwd",
        "api.openai.com/v1",
        "",
    ] {
        let refused = attempt("openai", Some(url), KeyOrigin::Connection);
        assert!(matches!(refused, Err(PrepareError::BadSetting { .. })), "{url} {refused:?}");
    }
    let catalog = Catalog::embedded();
    let secret = Secret::new(SECRET);
    let azure = catalog.provider("azure-openai").expect("row");
    for value in ["evil.example/", "a.b", "evil.example#", "evil@", "a b", "é", "{region}"] {
        let values = [("resource", value)];
        let credential = Credential::Key { secret: &secret, origin: KeyOrigin::RowVariable };
        let settings = Settings { model: "m", values: &values, credential, ..Settings::default() };
        let refused = prepare(&azure, &settings, "{}");
        assert!(matches!(refused, Err(PrepareError::BadSetting { .. })), "{value} {refused:?}");
    }
    let cloudflare = catalog.provider("cloudflare-ai").expect("row");
    for value in ["../x", "a/b", "a?b", "a%2fb", ".."] {
        let values = [("account_id", value)];
        let credential = Credential::Key { secret: &secret, origin: KeyOrigin::RowVariable };
        let settings = Settings { model: "m", values: &values, credential, ..Settings::default() };
        assert!(
            matches!(prepare(&cloudflare, &settings, "{}"), Err(PrepareError::BadSetting { .. })),
            "{value}"
        );
    }
}

#[test]
fn models_in_paths_stay_one_step() {
    let catalog = Catalog::embedded();
    let secret = Secret::new(SECRET);
    let credential = Credential::Key { secret: &secret, origin: KeyOrigin::RowVariable };
    let values = [("region", "eu-west-1")];
    for (id, model, path) in [
        ("gemini", "gemini-2.5-flash", "/v1beta/models/gemini-2.5-flash:generateContent"),
        ("gemini", "models/gemini-2.5-flash", "/v1beta/models/gemini-2.5-flash:generateContent"),
        ("gemini", "../../x?key=1", "/v1beta/models/..%2F..%2Fx%3Fkey%3D1:generateContent"),
        ("bedrock", "amazon.nova-lite-v1:0", "/model/amazon.nova-lite-v1%3A0/converse"),
        ("bedrock", "arn:aws:bedrock:x/y", "/model/arn%3Aaws%3Abedrock%3Ax%2Fy/converse"),
    ] {
        let row = catalog.provider(id).expect(id);
        let settings = Settings { model, credential, values: &values, ..Settings::default() };
        assert_eq!(prepare(&row, &settings, "{}").expect(id).uri().path(), path);
    }
    for (id, model) in [("bedrock", ".."), ("bedrock", "."), ("gemini", "..")] {
        let row = catalog.provider(id).expect(id);
        let settings = Settings { model, credential, values: &values, ..Settings::default() };
        assert!(
            matches!(prepare(&row, &settings, "{}"), Err(PrepareError::BadSetting { .. })),
            "{id} {model}"
        );
    }
    let gemini = catalog.provider("gemini").expect("row");
    let missing = prepare(&gemini, &Settings { credential, ..Settings::default() }, "{}");
    assert!(matches!(missing, Err(PrepareError::MissingSetting { .. })));
}

#[test]
fn azure_and_vertex_have_forms_of_their_own() {
    let catalog = Catalog::embedded();
    let secret = Secret::new(SECRET);
    let origin = KeyOrigin::RowVariable;
    let azure = catalog.provider("azure-openai").expect("row");
    let values = [("resource", "acme"), ("deployment", "my gpt"), ("api_version", "2025-04-01-preview")];
    let credential = Credential::Token { secret: &secret, origin };
    let settings = Settings { model: "m", values: &values, credential, ..Settings::default() };
    let request = prepare(&azure, &settings, "{}").expect("request");
    assert_eq!(
        request.uri(),
        "https://acme.openai.azure.com/openai/deployments/my%20gpt/chat/completions?api-version=2025-04-01-preview"
    );
    assert!(request.headers()["authorization"].as_bytes().starts_with(b"Bearer "));
    let two = &values[..2];
    let undated =
        prepare(&azure, &Settings { model: "m", values: two, credential, ..Settings::default() }, "{}");
    assert!(matches!(undated, Err(PrepareError::MissingSetting { name, .. }) if name == "api_version"));

    let vertex = catalog.provider("vertex").expect("row");
    let values = [("region", "global"), ("project", "p-1")];
    let settings = Settings { model: "gemini-2.5-pro", values: &values, credential, ..Settings::default() };
    let request = prepare(&vertex, &settings, "{}").expect("request");
    assert_eq!(request.uri().host(), Some("aiplatform.googleapis.com"));
    assert!(request.uri().path().starts_with("/v1/projects/p-1/locations/global/publishers/google/models/"));
    let key = Credential::Key { secret: &secret, origin };
    let request = prepare(&vertex, &Settings { credential: key, ..settings }, "{}").expect("request");
    assert!(request.headers().contains_key("x-goog-api-key"));

    let bedrock = catalog.provider("bedrock").expect("row");
    let values = [("region", "us-east-1")];
    let settings =
        Settings { model: "m", values: &values, credential: Credential::SignedLater, ..Settings::default() };
    let request = prepare(&bedrock, &settings, "{}").expect("request");
    assert!(!request.headers().contains_key("authorization"));
}

#[test]
fn keys_are_asked_for_by_name_and_kind() {
    let catalog = Catalog::embedded();
    let secret = Secret::new(SECRET);
    let origin = KeyOrigin::RowVariable;
    let voyage = Settings { model: "m", ..Settings::default() };
    let openai = catalog.provider("openai").expect("row");
    let missing = prepare(&openai, &voyage, "{}").expect_err("no key").to_string();
    assert_eq!(
        missing,
        "provider openai: no key or token, looked for OPENAI_API_KEY, OMNIROUTE_OPENAI_API_KEY"
    );
    // White space is no key.
    let blank = Secret::new(" \n");
    let credential = Credential::Key { secret: &blank, origin };
    let refused = prepare(&openai, &Settings { credential, ..voyage.clone() }, "{}");
    assert!(matches!(refused, Err(PrepareError::MissingCredential { .. })));
    // A key where a token is needed, a token where a key is needed, a signature where none is known.
    for (id, credential) in [
        ("github", Credential::Key { secret: &secret, origin }),
        ("anthropic", Credential::Token { secret: &secret, origin }),
        ("openai", Credential::SignedLater),
    ] {
        let row = catalog.provider(id).expect(id);
        let refused = prepare(&row, &Settings { credential, ..voyage.clone() }, "{}");
        assert!(matches!(refused, Err(PrepareError::WrongCredential { .. })), "{id}");
    }
    // Line breaks would be another header.
    let broken = Secret::new("sk-do-not-show\r\nx-evil: 1");
    let credential = Credential::Key { secret: &broken, origin };
    let refused = prepare(&openai, &Settings { credential, ..voyage.clone() }, "{}").expect_err("line break");
    assert!(matches!(refused, PrepareError::UnsendableCredential { .. }));
    assert!(!format!("{refused:?}{refused}").contains("do-not-show"));
    // Local servers and rows that say so are called without a key.
    for id in ["ollama-local", "vllm", "pollinations", "aihorde", "mlx-qwen"] {
        let row = catalog.provider(id).expect(id);
        assert!(prepare(&row, &voyage, "{}").is_ok(), "{id}");
    }
}

/// Addresses that somebody who wants the key would try.
fn addresses() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        Just("https://"),
        Just("http://"),
        Just("api.openai.com"),
        Just("evil.example"),
        Just("localhost"),
        Just("."),
        Just("@"),
        Just(":"),
        Just("443"),
        Just("/"),
        Just("/v1"),
        Just("?"),
        Just("#"),
        Just("\\"),
        Just("%2f"),
        Just("{x}"),
        Just(" "),
        Just("é"),
    ];
    let tail = proptest::collection::vec(piece, 0..6).prop_map(|pieces| pieces.concat());
    (prop_oneof![Just("https://api.openai.com"), Just("https://"), Just("http://")], tail)
        .prop_map(|(head, tail)| format!("{head}{tail}"))
}

/// Whether a rule lets the key of the row leave for another host in one of many tries.
fn leaks(sends: impl Fn(&str) -> Option<Uri>) -> bool {
    let rng = TestRng::from_seed(RngAlgorithm::ChaCha, &[9; 32]);
    let config = Config { cases: 4_000, failure_persistence: None, ..Config::default() };
    let stays = |address: String| match sends(&address) {
        Some(uri) if uri.host() != Some("api.openai.com") || uri.scheme_str() != Some("https") => {
            Err(TestCaseError::fail(address))
        }
        _ => Ok(()),
    };
    TestRunner::new_with_rng(config, rng).run(&addresses(), stays).is_err()
}

#[test]
fn no_address_takes_the_key_of_the_row_elsewhere() {
    let catalog = Catalog::embedded();
    let row = catalog.provider("openai").expect("row");
    let secret = Secret::new(SECRET);
    let credential = Credential::Key { secret: &secret, origin: KeyOrigin::RowVariable };
    let values = [("x", "evil")];
    let ours = |address: &str| {
        let settings =
            Settings { base_url: Some(address), values: &values, credential, ..Settings::default() };
        prepare(&row, &settings, "{}").ok().map(|request| request.uri().clone())
    };
    assert!(!leaks(ours));
    // Broken twin: comparing the beginning of the address looks right and is not.
    let by_prefix =
        |address: &str| address.starts_with("https://api.openai.com").then(|| address.parse().ok())?;
    assert!(leaks(by_prefix), "the twin must be caught");
}

/// Where secrets are kept and read: where they become headers, forms and signatures or the address of a proxy, are
/// compared, or are looked for in texts.
const READERS: &[&str] = &[
    "call/sigv4.rs",
    "credentials/oauth.rs",
    "credentials/source.rs",
    "credentials/tokens.rs",
    "prepare/auth.rs",
    "prepare/secret.rs",
    "redact.rs",
    "transport/proxy.rs",
];

#[test]
fn secrets_are_read_in_known_places() {
    fn sources(folder: &std::path::Path, found: &mut Vec<std::path::PathBuf>) {
        for entry in std::fs::read_dir(folder).expect("folder") {
            let path = entry.expect("entry").path();
            if path.is_dir() {
                sources(&path, found);
            } else {
                found.push(path);
            }
        }
    }
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut files = Vec::new();
    sources(&folder, &mut files);
    files.retain(|path| std::fs::read_to_string(path).is_ok_and(|text| text.contains("expose")));
    files.sort();
    let found: Vec<_> = files.iter().filter_map(|path| path.strip_prefix(&folder).ok()).collect();
    assert_eq!(found, READERS.iter().map(std::path::Path::new).collect::<Vec<_>>());
}
