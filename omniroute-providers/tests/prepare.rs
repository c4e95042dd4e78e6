//! Requests against the tables written by hand, against recorded paths, and the counts of what is built.

use std::collections::{BTreeMap, BTreeSet};

use http::header::{ACCEPT, CONTENT_TYPE, USER_AGENT};
use omniroute_providers::{
    AuthKind, Availability, Catalog, Credential, Implement, KeyOrigin, PrepareError, ProviderRow, Secret,
    Settings, WireId, prepare,
};

const VALUES: &[(&str, &str)] = &[
    ("resource", "acme"),
    ("region", "eu-west-1"),
    ("account_id", "0a1b"),
    ("workspace", "team"),
    ("app", "chat"),
    ("project", "p-1"),
    ("account_root", "https://ai.example/v2"),
    ("AI_API_URL", "https://ai.example/v2"),
];

/// A smallest request of each wire.
fn body(wire: WireId) -> &'static str {
    match wire {
        WireId::OpenaiResponses => r#"{"model":"m-1","input":"hi"}"#,
        WireId::AnthropicMessages => {
            r#"{"model":"m-1","max_tokens":1,"messages":[{"role":"user","content":"hi"}]}"#
        }
        WireId::Gemini => r#"{"contents":[{"role":"user","parts":[{"text":"hi"}]}]}"#,
        WireId::BedrockConverse => r#"{"messages":[{"role":"user","content":[{"text":"hi"}]}]}"#,
        _ => r#"{"model":"m-1","messages":[{"role":"user","content":"hi"}]}"#,
    }
}

/// `address` and `key` of the table, or `-` and `refused`.
fn made(row: &ProviderRow<'_>, wire: WireId, stream: bool) -> Result<(String, String), String> {
    let (key, token) = (Secret::new("KEY"), Secret::new("TOKEN"));
    let origin = KeyOrigin::Connection;
    let kind = row.alt_wire(wire).and_then(|alt| alt.auth.as_ref()).map_or(row.auth.kind, |auth| auth.kind);
    let credential = match kind {
        AuthKind::Bearer | AuthKind::Header | AuthKind::None => Credential::Key { secret: &key, origin },
        _ => Credential::Token { secret: &token, origin },
    };
    let settings =
        Settings { model: "m-1", wire: Some(wire), stream, values: VALUES, credential, base_url: None };
    let request = match prepare(row, &settings, body(wire)) {
        Err(PrepareError::NotYet { .. } | PrepareError::Wire { .. }) => {
            return Ok(("-".into(), "refused".into()));
        }
        Err(other) => return Err(other.to_string()),
        Ok(request) => request,
    };
    assert_eq!(request.method(), "POST", "{}", row.id);
    assert_eq!(request.body(), body(wire), "{}: the body is sent as it is", row.id);
    let mut headers = request.headers().clone();
    assert_eq!(headers.remove(CONTENT_TYPE).as_deref_bytes(), Some(&b"application/json"[..]), "{}", row.id);
    assert!(headers.remove(USER_AGENT).is_some_and(|agent| agent.as_bytes().starts_with(b"omniroute/")));
    assert_eq!(
        headers.remove(ACCEPT).as_deref_bytes() != Some(&b"application/json"[..]),
        stream,
        "{}",
        row.id
    );
    let version = headers.remove("anthropic-version").as_deref_bytes().map(<[u8]>::to_vec);
    let vertex = row.id.starts_with("vertex");
    let wanted = (wire == WireId::AnthropicMessages && !vertex).then(|| b"2023-06-01".to_vec());
    assert_eq!(version, wanted, "{}: anthropic-version", row.id);
    let mut rights: Vec<String> = Vec::new();
    for (name, value) in &headers {
        assert!(value.is_sensitive(), "{}: {name} must be marked sensitive", row.id);
        rights.push(format!("{name}: {}", value.to_str().expect("ASCII")));
    }
    rights.sort();
    let rights = if rights.is_empty() { "-".to_owned() } else { rights.join(", ") };
    Ok((request.uri().to_string(), rights))
}

/// The rows that `import.py` wrote; a provider added by hand needs no line in the table.
fn imported(catalog: &Catalog) -> impl Iterator<Item = ProviderRow<'_>> {
    catalog.providers().filter(|row| !row.seen.is_empty())
}

trait Bytes {
    fn as_deref_bytes(&self) -> Option<&[u8]>;
}

impl Bytes for Option<http::HeaderValue> {
    fn as_deref_bytes(&self) -> Option<&[u8]> {
        self.as_ref().map(http::HeaderValue::as_bytes)
    }
}

fn lines(table: &str) -> impl Iterator<Item = Vec<&str>> {
    table.lines().filter(|line| !line.starts_with('#')).map(|line| line.split('\t').collect())
}

/// What differs between the table and what is made.
fn differences(table: &str) -> Vec<String> {
    let catalog = Catalog::embedded();
    let mut found = Vec::new();
    for line in lines(table) {
        let [id, wire, address, key] = line[..] else { panic!("{line:?}") };
        let row = catalog.provider(id).expect(id);
        if row.wire.word() != wire {
            found.push(format!("{id}: main wire {} {wire}", row.wire));
        }
        let (made_address, made_key) = made(&row, row.wire, false).expect(id);
        if (made_address.as_str(), made_key.as_str()) != (address, key) {
            found.push(format!("{id}: {made_address} {made_key}, the table says {address} {key}"));
        }
    }
    found
}

#[test]
fn each_row_with_an_address_is_as_the_table_says() {
    let table = include_str!("prepare_table.tsv");
    let found = differences(table);
    assert!(found.is_empty(), "{}", found.join("\n"));

    let listed: BTreeSet<&str> = lines(table).map(|line| line[0]).collect();
    let catalog = Catalog::embedded();
    let rows = imported(&catalog).filter(|row| row.implement == Implement::Yes && row.base_url.is_some());
    let ids: BTreeSet<String> = rows.map(|row| row.id.to_string()).collect();
    assert!(ids.iter().map(String::as_str).eq(listed), "the table has each row once");

    // Broken twins: the same check sees a wrong host, path, header and a missing key.
    for (right, wrong) in [
        ("https://api.groq.com/openai/v1/chat", "https://api.grok.com/openai/v1/chat"),
        ("/apps/anthropic/v1/messages\t", "/apps/anthropic/messages\t"),
        ("messages\tx-api-key: KEY", "messages\tauthorization: Bearer KEY"),
        (
            "https://pass.wafer.ai/v1/messages\tauthorization: Bearer KEY",
            "https://pass.wafer.ai/v1/messages\t-",
        ),
    ] {
        let twin = table.replacen(right, wrong, 1);
        assert_ne!(twin, table);
        assert_eq!(differences(&twin).len(), 1, "{wrong}");
    }
}

#[test]
fn each_second_wire_is_as_the_table_says() {
    let catalog = Catalog::embedded();
    let mut listed = BTreeSet::new();
    for line in lines(include_str!("prepare_alt_table.tsv")) {
        let [id, wire, how, address, key] = line[..] else { panic!("{line:?}") };
        let row = catalog.provider(id).expect(id);
        let wire = WireId::from_word(wire).expect(wire);
        assert_eq!(made(&row, wire, how == "stream"), Ok((address.into(), key.into())), "{id} {wire}");
        listed.insert((id.to_owned(), wire));
    }
    for row in catalog.providers().filter(|row| Availability::of(row) == Availability::Built) {
        for alt in &row.alt {
            assert!(
                listed.contains(&(row.id.to_string(), alt.wire)),
                "{} {} is in no line",
                row.id,
                alt.wire
            );
        }
    }
}

#[test]
fn what_is_built_and_what_refuses() {
    let catalog = Catalog::embedded();
    let mut counts = BTreeMap::new();
    for row in imported(&catalog) {
        let availability = Availability::of(&row);
        *counts.entry(availability.word()).or_insert(0) += 1;
        let settings = Settings { model: "m-1", values: VALUES, ..Settings::default() };
        let refusal = prepare(&row, &settings, "{}").err();
        match availability {
            Availability::ByPolicy(_) => {
                assert!(matches!(refusal, Some(PrepareError::ByPolicy { .. })), "{}", row.id);
            }
            Availability::NotYet(_) | Availability::ListedOnly(_) => {
                assert!(matches!(refusal, Some(PrepareError::NotYet { .. })), "{}", row.id);
            }
            Availability::NeedsBaseUrl => {
                assert!(matches!(refusal, Some(PrepareError::MissingBaseUrl { .. })), "{}", row.id);
            }
            _ => {
                let keyless = matches!(refusal, None | Some(PrepareError::MissingCredential { .. }));
                assert!(keyless, "{}: {refusal:?}", row.id);
            }
        }
        if let Some(refusal) = refusal {
            assert!(refusal.to_string().starts_with(&format!("provider {}: ", row.id)), "{refusal}");
        }
    }
    println!("{counts:?}");
    // 218 rows have an address: 217 are built, gitlab-duo is listed only.
    let wanted =
        [("built", 217), ("by-policy", 70), ("listed-only", 1), ("needs-base-url", 25), ("not-yet", 66)];
    assert_eq!(counts, BTreeMap::from(wanted));
    let placeholders = imported(&catalog).filter(|row| {
        row.implement == Implement::Yes && row.base_url.as_ref().is_some_and(|url| url.contains('{'))
    });
    assert_eq!(placeholders.count(), 12);
}

#[test]
fn policy_says_why() {
    let catalog = Catalog::embedded();
    for (id, part) in [
        ("chatgpt-web", "session of a browser"),
        ("cursor", "another vendor's client"),
        ("opencode", "its own client only"),
        ("zed", "another program's store"),
        ("hackclub", "is gone"),
    ] {
        let row = catalog.provider(id).expect(id);
        let refusal = prepare(&row, &Settings::default(), "{}").expect_err(id).to_string();
        assert!(refusal.contains(part) && refusal.contains("by policy"), "{refusal}");
    }
}

/// Recorded calls of real programs show the paths that vendors serve.
#[test]
fn recorded_paths_agree() {
    let here = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared/data");
    let folder = std::env::var_os("OMNIROUTE_DATA").map_or(here, Into::into).join("exchanges");
    if !folder.is_dir() {
        println!("skipped: needs recorded exchanges");
        return;
    }
    let catalog = Catalog::embedded();
    let mut compared = 0;
    // File, row, and what the vendor documents beside the recorded path.
    for (file, id, also) in [
        ("anthropic", "anthropic", None),
        ("bedrock", "bedrock", None),
        ("cohere", "cohere", None),
        ("copilot", "github", None),
        ("deepseek", "deepseek", Some("/v1/chat/completions")),
        ("gemini", "gemini", None),
        ("groq", "groq", None),
        ("llamacpp", "llama-cpp", None),
        ("mistral", "mistral", None),
        ("ollama", "ollama-local", None),
        ("openai", "openai", None),
        ("openrouter", "openrouter", None),
        ("perplexity", "perplexity", None),
        ("venice", "venice", None),
        ("xai", "xai", None),
    ] {
        let Ok(text) = std::fs::read_to_string(folder.join(format!("{file}.jsonl"))) else { continue };
        let row = catalog.provider(id).expect(id);
        for line in text.lines() {
            let exchange: serde_json::Value = serde_json::from_str(line).expect("JSON");
            let request = &exchange["request"];
            let path = request["path"].as_str().expect("path");
            if request["method"] != "POST" {
                continue;
            }
            let wire = if path.ends_with("/responses") {
                WireId::OpenaiResponses
            } else if path.ends_with("/api/chat") {
                WireId::Ollama
            } else {
                row.wire
            };
            let stream = path.ends_with("-stream");
            let model = match wire {
                WireId::Gemini => path.split('/').next_back().and_then(|step| step.split(':').next()),
                WireId::BedrockConverse => path.split('/').nth(2),
                _ => Some("m-1"),
            };
            let model = model.expect("model").replace("%3A", ":");
            let secret = Secret::new("KEY");
            let origin = KeyOrigin::Connection;
            let credential = match row.auth.kind {
                AuthKind::Oauth => Credential::Token { secret: &secret, origin },
                _ => Credential::Key { secret: &secret, origin },
            };
            let settings = Settings {
                model: &model,
                wire: Some(wire),
                stream,
                values: VALUES,
                credential,
                base_url: None,
            };
            let made = prepare(&row, &settings, "{}").expect(id);
            let agrees = made.uri().path() == path || also == Some(made.uri().path());
            assert!(agrees, "{id}: {} and recorded {path}", made.uri().path());
            compared += 1;
        }
    }
    println!("{compared} recorded requests have the path that is prepared");
    assert!(compared > 0);
}
