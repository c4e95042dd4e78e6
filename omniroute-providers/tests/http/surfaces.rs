//! Services beside chat: where they stand on each wire, that bodies go through untouched, that what is not there is
//! said before anything is sent.

use bytes::Bytes;
use omniroute_core::{Failure, FailureKind};
use omniroute_providers::credentials::{Fixed, Held};
use omniroute_providers::{Call, Catalog, HttpProvider, Surface, Upload, WireId, wires};

use crate::scripted::{Step, Vendor, env, run};

fn provider(row: &str, wire: WireId) -> Option<HttpProvider> {
    wires::by_id(wire.word())?;
    let held = if row.starts_with("vertex") {
        Held::token("TOKEN-0123456789", None)
    } else {
        Held::key("KEY-0123456789")
    };
    let builder = HttpProvider::builder(&Catalog::embedded(), row).wire(wire).credentials(Fixed(held));
    Some(
        builder
            .value("region", "us-east-1")
            .value("project", "p-1")
            .value("resource", "acme")
            .build()
            .unwrap(),
    )
}

/// Every service of every wire, at a row that offers it.
const PLACES: &[(&str, WireId, Surface, &str)] = &[
    ("openai", WireId::OpenaiChat, Surface::Models, "GET https://api.openai.com/v1/models"),
    ("openai", WireId::OpenaiChat, Surface::Embeddings, "POST https://api.openai.com/v1/embeddings"),
    ("openai", WireId::OpenaiChat, Surface::Images, "POST https://api.openai.com/v1/images/generations"),
    ("openai", WireId::OpenaiChat, Surface::ImageEdits, "POST https://api.openai.com/v1/images/edits"),
    ("openai", WireId::OpenaiChat, Surface::Speech, "POST https://api.openai.com/v1/audio/speech"),
    (
        "openai",
        WireId::OpenaiChat,
        Surface::Transcriptions,
        "POST https://api.openai.com/v1/audio/transcriptions",
    ),
    (
        "openai",
        WireId::OpenaiChat,
        Surface::AudioTranslations,
        "POST https://api.openai.com/v1/audio/translations",
    ),
    ("openai", WireId::OpenaiChat, Surface::Moderations, "POST https://api.openai.com/v1/moderations"),
    ("openai", WireId::OpenaiResponses, Surface::Models, "GET https://api.openai.com/v1/models"),
    ("openai", WireId::OpenaiResponses, Surface::Embeddings, "POST https://api.openai.com/v1/embeddings"),
    ("openai", WireId::OpenaiResponses, Surface::Images, "POST https://api.openai.com/v1/images/generations"),
    ("openai", WireId::OpenaiResponses, Surface::Speech, "POST https://api.openai.com/v1/audio/speech"),
    ("openai", WireId::OpenaiResponses, Surface::Moderations, "POST https://api.openai.com/v1/moderations"),
    ("openrouter", WireId::OpenaiChat, Surface::Rerank, "POST https://openrouter.ai/api/v1/rerank"),
    ("mistral", WireId::OpenaiChat, Surface::Moderations, "POST https://api.mistral.ai/v1/moderations"),
    (
        "groq",
        WireId::OpenaiChat,
        Surface::Transcriptions,
        "POST https://api.groq.com/openai/v1/audio/transcriptions",
    ),
    ("anthropic", WireId::AnthropicMessages, Surface::Models, "GET https://api.anthropic.com/v1/models"),
    (
        "anthropic",
        WireId::AnthropicMessages,
        Surface::CountTokens,
        "POST https://api.anthropic.com/v1/messages/count_tokens",
    ),
    (
        "gemini",
        WireId::Gemini,
        Surface::Models,
        "GET https://generativelanguage.googleapis.com/v1beta/models",
    ),
    (
        "gemini",
        WireId::Gemini,
        Surface::Embeddings,
        "POST https://generativelanguage.googleapis.com/v1beta/models/m-1:embedContent",
    ),
    (
        "gemini",
        WireId::Gemini,
        Surface::CountTokens,
        "POST https://generativelanguage.googleapis.com/v1beta/models/m-1:countTokens",
    ),
    (
        "vertex",
        WireId::Gemini,
        Surface::CountTokens,
        "POST https://us-east-1-aiplatform.googleapis.com/v1/projects/p-1/locations/us-east-1/publishers/google/models/m-1:countTokens",
    ),
    ("cohere", WireId::Cohere, Surface::Models, "GET https://api.cohere.com/compatibility/v1/models"),
    ("cohere", WireId::Cohere, Surface::Embeddings, "POST https://api.cohere.com/v2/embed"),
    ("cohere", WireId::Cohere, Surface::Rerank, "POST https://api.cohere.com/v2/rerank"),
    ("ollama-local", WireId::Ollama, Surface::Models, "GET http://localhost:11434/api/tags"),
    ("ollama-local", WireId::Ollama, Surface::Embeddings, "POST http://localhost:11434/api/embed"),
    ("ollama-local", WireId::OpenaiChat, Surface::Embeddings, "POST http://localhost:11434/v1/embeddings"),
    (
        "bedrock",
        WireId::BedrockConverse,
        Surface::CountTokens,
        "POST https://bedrock-runtime.us-east-1.amazonaws.com/model/m-1/count-tokens",
    ),
];

#[test]
fn services_stand_where_their_vendors_put_them() {
    let mut wrong = Vec::new();
    for (row, wire, surface, wanted) in PLACES {
        let Some(provider) = provider(row, *wire) else { continue };
        // No JSON: a body that nobody may look into.
        let answer = Bytes::from_static(b"\xff\xfb\x90sound");
        let vendor = Vendor::new([Step::of(200, &[("content-type", "audio/mpeg")], vec![answer.clone()])]);
        let (env, _) = env(&vendor);
        let form = "multipart/form-data; boundary=x";
        let upload =
            Upload { body: Bytes::from_static(b"--x\r\n\xff"), content_type: Some(form.parse().unwrap()) };
        let passed = run(provider.pass(&env, *surface, upload.clone(), &Call::new("m-1"))).unwrap();
        let passed = match passed {
            Ok(passed) => passed,
            Err(failure) => {
                wrong.push(format!("{row} {wire} {}: {failure}", surface.code()));
                continue;
            }
        };
        assert_eq!((passed.body, passed.content_type), (answer, Some("audio/mpeg".parse().unwrap())));
        let sent = &vendor.seen()[0];
        let found = format!("{} {}", sent.method(), sent.uri());
        if found != *wanted {
            wrong.push(format!("{row} {wire} {}: {found}", surface.code()));
        }
        if *surface == Surface::Models {
            assert!(sent.body().is_empty() && !sent.headers().contains_key("content-type"), "{row}");
        } else {
            assert_eq!(
                (sent.body(), &sent.headers()["content-type"]),
                (&upload.body, &form.parse().unwrap()),
                "{row}"
            );
        }
        assert_eq!(vendor.open(), 0);
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// What is not in the table is refused by us, with its name, before anything is sent.
#[test]
fn what_a_wire_has_not_is_a_typed_failure() {
    let mut count = 0;
    for (row, wire) in [
        ("openai", WireId::OpenaiChat),
        ("anthropic", WireId::AnthropicMessages),
        ("gemini", WireId::Gemini),
        ("vertex", WireId::Gemini),
        ("vertex-partner", WireId::AnthropicMessages),
        ("cohere", WireId::Cohere),
        ("ollama-local", WireId::Ollama),
        ("bedrock", WireId::BedrockConverse),
        ("deepseek", WireId::OpenaiChat),
    ] {
        let Some(provider) = provider(row, wire) else { continue };
        for surface in Surface::ALL {
            let listed = PLACES.iter().any(|(r, w, s, _)| (*r, *w, *s) == (row, wire, surface));
            let models = surface == Surface::Models && row == "deepseek";
            if listed || models {
                continue;
            }
            let vendor = Vendor::new([]);
            let (env, _) = env(&vendor);
            let failure: Failure = run(provider.pass(&env, surface, Upload::json("{}"), &Call::new("m-1")))
                .unwrap()
                .unwrap_err();
            assert_eq!(failure.kind, FailureKind::Unsupported, "{row} {}", surface.code());
            assert_eq!(failure.code.as_deref(), Some("unsupported_surface"), "{row}");
            assert_eq!(failure.message, format!("provider {row}: does not offer {}", surface.code()));
            assert!(failure.origin_local && vendor.seen().is_empty());
            count += 1;
        }
    }
    assert!(count >= 50, "{count}");
}

#[test]
fn failures_of_services_are_classified() {
    let provider = provider("openai", WireId::OpenaiChat).unwrap();
    let cases = [
        (
            429,
            r#"{"error":{"message":"x","code":"insufficient_quota","type":"insufficient_quota"}}"#,
            Some(FailureKind::CreditsExhausted),
        ),
        (200, r#"{"error":{"message":"slow","code":"rate_limit_exceeded"}}"#, Some(FailureKind::RateLimited)),
        (200, r#" {"base_resp":{"status_code":1002,"status_msg":"rate limit"}}"#, None),
        (502, "<html>", Some(FailureKind::Unavailable)),
    ];
    for (status, body, kind) in cases {
        for surface in [Surface::Embeddings, Surface::Images, Surface::Transcriptions, Surface::Moderations] {
            let vendor = Vendor::new([Step::json(status, body)]);
            let (env, _) = env(&vendor);
            let failure = run(provider.pass(&env, surface, Upload::json("{}"), &Call::new("m"))).unwrap();
            let failure = failure.expect_err(body);
            assert!(kind.is_none_or(|kind| kind == failure.kind), "{body} {failure:?}");
            assert!(!failure.origin_local);
        }
    }
}

#[test]
fn tokens_are_counted_as_each_vendor_wants() {
    let body =
        Bytes::from_static(br#"{"messages":[{"role":"user","content":[{"text":"hi"}]}],"max_tokens":5}"#);
    for (row, wire, answer, start) in [
        ("anthropic", WireId::AnthropicMessages, r#"{"input_tokens":14}"#, r#"{"model":"m-1","messages""#),
        (
            "gemini",
            WireId::Gemini,
            r#"{"totalTokens":14,"promptTokensDetails":[]}"#,
            r#"{"generateContentRequest":{"model":"models/m-1""#,
        ),
        ("vertex", WireId::Gemini, r#"{"totalTokens":14,"totalBillableCharacters":2}"#, r#"{"messages""#),
        ("bedrock", WireId::BedrockConverse, r#"{"inputTokens":14}"#, r#"{"input":{"converse":{"messages""#),
    ] {
        let Some(provider) = provider(row, wire) else { continue };
        let vendor = Vendor::new([Step::json(200, answer), Step::json(200, "{}")]);
        let (env, _) = env(&vendor);
        let call = Call::new("m-1");
        assert_eq!(run(provider.count_tokens(&env, body.clone(), &call)).unwrap(), Ok(14), "{row}");
        assert!(
            vendor.seen()[0].body().starts_with(start.as_bytes()),
            "{row}: {:?}",
            vendor.seen()[0].body()
        );
        let wrong = run(provider.count_tokens(&env, body.clone(), &call)).unwrap().unwrap_err();
        assert_eq!(wrong.kind, FailureKind::BadReply, "{row}");
    }
}

#[test]
fn lists_of_models_are_read_in_every_form() {
    for (row, wire, answer, wanted) in [
        (
            "openai",
            WireId::OpenaiChat,
            r#"{"object":"list","data":[{"id":"gpt-a"},{"id":"gpt-b"}]}"#,
            vec!["gpt-a", "gpt-b"],
        ),
        (
            "anthropic",
            WireId::AnthropicMessages,
            r#"{"data":[{"type":"model","id":"claude-a"}],"has_more":false}"#,
            vec!["claude-a"],
        ),
        (
            "gemini",
            WireId::Gemini,
            r#"{"models":[{"name":"models/gemini-a","displayName":"A"}]}"#,
            vec!["gemini-a"],
        ),
        (
            "ollama-local",
            WireId::Ollama,
            r#"{"models":[{"name":"a:latest","model":"a:latest"}]}"#,
            vec!["a:latest"],
        ),
        ("openai", WireId::OpenaiChat, r#"[{"id":"x"},"y"]"#, vec!["x", "y"]),
    ] {
        let vendor = Vendor::new([Step::json(200, answer), Step::of(200, &[], vec!["<html>".into()])]);
        let (env, _) = env(&vendor);
        let provider = provider(row, wire).unwrap();
        assert_eq!(run(provider.models(&env, &Call::default())).unwrap().unwrap(), wanted, "{row}");
        let failure = run(provider.models(&env, &Call::default())).unwrap().unwrap_err();
        assert_eq!(failure.kind, FailureKind::BadReply, "{row}");
    }
}
