//! Mistakes that other gateways were reported for, about HTTP, rights and errors: none of them is made here.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures::StreamExt;
use http::HeaderValue;
use omniroute_core::hub::Event;
use omniroute_core::{ChatBody, ChatRequest, Failure, FailureKind, Phase, Scope, UnixMs, wire};
use omniroute_providers::credentials::{CredentialSource, Fixed, Held, MemoryTokens, TokenSet, TokenStore};
use omniroute_providers::{Call, Catalog, HttpProvider, Secret};

use crate::recorded::drain;
use crate::samples::{CHAT, CLAUDE};
use crate::scripted::{NOW, Step, Vendor, env, run};
use crate::tokens::oauth;

const CONTENT: &str = "data: {\"id\":\"c\",\"object\":\"chat.completion.chunk\",\"created\":1,\"model\":\"m\",\"choices\":[{\"index\":0,\"delta\":{\"role\":\"assistant\",\"content\":\"h\u{e9}\"},\"finish_reason\":null}]}\n\n";
const STOP: &str = "data: {\"id\":\"c\",\"object\":\"chat.completion.chunk\",\"created\":1,\"model\":\"m\",\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n";
const USAGE: &str = "data: {\"id\":\"c\",\"object\":\"chat.completion.chunk\",\"created\":1,\"model\":\"m\",\"choices\":[],\"usage\":{\"prompt_tokens\":10,\"completion_tokens\":2,\"total_tokens\":12,\"prompt_tokens_details\":{\"cached_tokens\":8}}}\n\n";

fn openai() -> HttpProvider {
    let key = Fixed(Held::key("KEY-0123456789"));
    HttpProvider::builder(&Catalog::embedded(), "openai").credentials(key).build().unwrap()
}

fn request() -> ChatRequest {
    let body = r#"{"model":"m","stream":true,"messages":[{"role":"user","content":"hi"}]}"#;
    ChatRequest::parse(wire::OPENAI_CHAT, body).unwrap()
}

/// Items of an answer in these pieces, how it ended, and how often the vendor was asked.
fn streamed(pieces: Vec<Bytes>) -> (Vec<omniroute_core::hub::StreamItem>, Option<Failure>, usize) {
    let again = Step::stream(&[CONTENT, STOP].concat(), 99);
    let vendor = Vendor::new([Step::of(200, &[("content-type", "text/event-stream")], pieces), again]);
    let (env, _) = env(&vendor);
    let answer = run(openai().chat(&env, &request(), &Call::new("m"))).unwrap().unwrap();
    let (items, failure) = drain(answer.body);
    assert_eq!(vendor.open(), 0);
    (items, failure, vendor.seen().len())
}

fn whole(text: &str) -> Vec<Bytes> {
    vec![Bytes::copy_from_slice(text.as_bytes())]
}

fn text(items: &[omniroute_core::hub::StreamItem]) -> String {
    let deltas = items.iter().flat_map(|item| &item.events).filter_map(|event| match event {
        Event::Delta { delta: omniroute_core::hub::Delta::Text(text), .. } => Some(text.as_str()),
        _ => None,
    });
    deltas.collect()
}

#[test]
fn pitfall_20_usage_on_a_chunk_without_choices_is_kept() {
    let (items, failure, _) = streamed(whole(&[CONTENT, STOP, USAGE, "data: [DONE]\n\n"].concat()));
    assert_eq!(failure, None);
    let usage = items.iter().flat_map(|i| &i.events).find_map(|event| match event {
        Event::Usage(usage) => Some(usage.clone()),
        _ => None,
    });
    let usage = usage.expect("usage");
    assert_eq!((usage.input(), usage.cache_read), (10, Some(8)));
}

#[test]
fn pitfall_22_a_letter_may_be_split_between_pieces() {
    let all = [CONTENT, STOP].concat();
    for at in 0..all.len() {
        let (one, two) = all.as_bytes().split_at(at);
        let pieces = vec![Bytes::copy_from_slice(one), Bytes::copy_from_slice(two)];
        let (items, failure, _) = streamed(pieces);
        assert_eq!((text(&items).as_str(), failure), ("h\u{e9}", None), "cut at {at}");
    }
}

#[test]
fn pitfall_23_line_ends_and_missing_blanks() {
    for all in [
        [CONTENT, STOP].concat().replace('\n', "\r\n"),
        [CONTENT, STOP].concat().replace('\n', "\r"),
        [CONTENT, STOP].concat().replace("data: ", "data:"),
        format!("\u{feff}: hello\nretry: 5\nid: 1\n{CONTENT}{STOP}"),
    ] {
        for cut in [1, 2, 1000] {
            let pieces = all.as_bytes().chunks(cut).map(Bytes::copy_from_slice).collect();
            let (items, failure, _) = streamed(pieces);
            assert_eq!((text(&items).as_str(), failure), ("h\u{e9}", None), "{all:?}");
        }
    }
}

#[test]
fn pitfall_24_an_error_inside_a_success_is_an_error() {
    let busy = r#"{"error":{"message":"Rate limit reached","type":"tokens","code":"rate_limit_exceeded"}}"#;
    let broke = r#"{"error":{"message":"x","type":"insufficient_quota","code":"insufficient_quota"}}"#;
    let down = r#"{"error":{"message":"The server had an error","type":"server_error","code":null}}"#;
    let key = r#"{"error":{"message":"x","code":"invalid_api_key"}}"#;
    for (error, kind, scope) in [
        (busy, FailureKind::RateLimited, Scope::Connection),
        (key, FailureKind::Unauthorized, Scope::Connection),
        (broke, FailureKind::CreditsExhausted, Scope::Connection),
        (down, FailureKind::Unavailable, Scope::Provider),
    ] {
        for (before, phase) in [("", Phase::BeforeFirstContent), (CONTENT, Phase::MidStream)] {
            let (items, failure, asked) = streamed(whole(&format!("{before}data: {error}\n\n")));
            let failure = failure.expect("an error");
            assert_eq!((failure.phase, asked), (phase, 1));
            assert_eq!((failure.kind, failure.scope), (kind, scope), "{error}");
            assert!(!items.iter().any(|i| i.events.iter().any(|e| matches!(e, Event::Finish))));
        }
        // The whole answer says the same.
        let vendor = Vendor::new([Step::json(200, error)]);
        let (env, _) = env(&vendor);
        let mut call = Call::new("m");
        call.stream = Some(false);
        let failure = run(openai().chat(&env, &request(), &call)).unwrap().unwrap_err();
        assert_eq!((failure.kind, failure.scope), (kind, scope), "{error}");
    }
}

#[test]
fn pitfall_25_a_cut_stream_is_no_answer() {
    for end in [CONTENT, "", "data: {\"id\":\"c\",\"cho", ": ping\n\n"] {
        for before in ["", CONTENT] {
            let (_, failure, _) = streamed(whole(&format!("{before}{end}")));
            let failure = failure.expect("a failure");
            assert_eq!(failure.kind, FailureKind::BadReply, "{before}{end}");
        }
    }
}

#[test]
fn pitfall_26_a_missing_end_mark_after_a_real_end_is_fine() {
    for end in ["data: [DONE]\n\n", "data: [DONE]", "", "data: [DONE]\n\ndata: [DONE]\n\n"] {
        let (items, failure, _) = streamed(whole(&format!("{CONTENT}{STOP}{end}")));
        assert_eq!(failure, None, "{end:?}");
        let ends = items.iter().flat_map(|i| &i.events).filter(|e| matches!(e, Event::Finish)).count();
        assert_eq!(ends, 1, "{end:?}");
    }
    // A vendor that says the end and keeps the line open does not keep the caller waiting for more than a limit.
    let vendor = Vendor::new([Step::stream(&[CONTENT, STOP].concat(), 99).hanging()]);
    let (env, clock) = env(&vendor);
    let answer = run(openai().chat(&env, &request(), &Call::new("m"))).unwrap().unwrap();
    let ChatBody::Stream(mut items) = answer.body else { panic!("not streamed") };
    while run(items.next()).is_some_and(|item| item.is_some()) {}
    clock.advance(Duration::from_secs(90));
    assert!(run(items.next()).is_some(), "it ends");
    drop(items);
    assert_eq!(vendor.open(), 0);
}

#[test]
fn pitfall_27_nothing_is_asked_again_after_content() {
    let error = "data: {\"error\":{\"message\":\"no\",\"code\":\"invalid_api_key\"}}\n\n";
    for end in ["", error, "<html>", "data: {\"error\":\"overloaded\"}\n\n"] {
        let (items, failure, asked) = streamed(whole(&format!("{CONTENT}{end}")));
        assert!(failure.is_some(), "{end:?}");
        assert_eq!((asked, text(&items).as_str()), (1, "h\u{e9}"), "{end:?}");
    }
}

#[test]
fn pitfall_28_nothing_is_added_to_the_bytes() {
    let all = [": hello\n\n", CONTENT, STOP, USAGE, "data: [DONE]\n\n"].concat();
    let (items, failure, _) = streamed(all.as_bytes().chunks(3).map(Bytes::copy_from_slice).collect());
    assert_eq!(failure, None);
    let raw: Vec<u8> = items.iter().flat_map(|item| item.raw.to_vec()).collect();
    assert_eq!(raw, all.as_bytes());
}

#[test]
fn pitfall_36_beta_names_go_through_as_they_are() {
    let provider = HttpProvider::builder(&Catalog::embedded(), "anthropic")
        .credentials(Fixed(Held::key("KEY-0123456789")))
        .build()
        .unwrap();
    let body = r#"{"model":"m","max_tokens":5,"messages":[{"role":"user","content":"hi"}]}"#;
    let request = ChatRequest::parse(wire::ANTHROPIC, body).unwrap();
    let vendor = Vendor::new([Step::json(500, "{}")]);
    let (env, _) = env(&vendor);
    let mut call = Call::new("m");
    let beta = "fine-grained-tool-streaming-2025-05-14,  odd-Name-1";
    call.headers.insert("anthropic-beta", HeaderValue::from_static(beta));
    // What a client must never hand on.
    for name in
        ["authorization", "x-api-key", "cookie", "x-session-id", "x-omniroute-key", "connection", "host"]
    {
        call.headers.insert(name, HeaderValue::from_static("the-clients-own"));
    }
    let _ = run(provider.chat(&env, &request, &call)).unwrap();
    let sent = &vendor.seen()[0];
    assert_eq!(sent.headers()["anthropic-beta"], beta);
    assert!(sent.headers().values().all(|value| value != "the-clients-own"), "{:?}", sent.headers());
    assert_eq!(sent.body(), body, "same wire, same bytes");
}

fn tokens(access: &str, refresh: &str) -> TokenSet {
    TokenSet { access: Secret::new(access), refresh: Some(Secret::new(refresh)), expires_at: Some(UnixMs(0)) }
}

const BOUGHT: &str =
    r#"{"access_token":"access-token-new","refresh_token":"refresh-token-new","expires_in":3600}"#;

#[test]
fn pitfall_40_one_refresh_token_is_spent_once() {
    let vendor =
        Vendor::new([Step::json(200, BOUGHT), Step::json(400, r#"{"error":"refresh_token_reused"}"#)]);
    let (env, _) = env(&vendor);
    let source = oauth(Arc::new(MemoryTokens::new(Some(tokens("access-old", "refresh-token-old")))));
    let all = futures::future::join_all((0..20).map(|_| source.get(&env, None)));
    let new = Held::token("access-token-new", None);
    assert!(run(all).unwrap().into_iter().all(|held| held.unwrap().is_same(&new)));
    assert_eq!(vendor.seen().len(), 1);
}

#[test]
fn pitfall_40_an_ended_sign_in_is_not_tried_again_and_again() {
    let ended = Step::json(400, r#"{"error":"refresh_token_reused","error_description":"x"}"#);
    let vendor = Vendor::new(vec![ended; 9]);
    let (env, _) = env(&vendor);
    let source = oauth(Arc::new(MemoryTokens::new(Some(tokens("access-old", "refresh-token-old")))));
    for _ in 0..5 {
        let error = run(source.get(&env, None)).unwrap().unwrap_err();
        assert!(error.to_string().contains("refresh_token_reused"), "{error}");
    }
    assert_eq!(vendor.seen().len(), 1);
}

#[test]
fn pitfall_41_tokens_of_another_process_are_used_and_kept() {
    // It renewed while we waited: its tokens serve, nothing is asked.
    let store = Arc::new(MemoryTokens::new(Some(tokens("access-old", "refresh-token-old"))));
    let source = oauth(store.clone());
    let theirs =
        TokenSet { expires_at: Some(UnixMs(NOW.0 + 3_600_000)), ..tokens("access-theirs", "refresh-theirs") };
    let old = Secret::new("refresh-token-old");
    let vendor = Vendor::new([]);
    let (env, _) = env(&vendor);
    assert!(run(store.replace(Some(&old), &theirs)).unwrap().unwrap());
    let held = run(source.get(&env, None)).unwrap().unwrap();
    assert!(held.is_same(&Held::token("access-theirs", None)) && vendor.seen().is_empty());

    // It renewed while we asked: ours serves this call, theirs is kept.
    let store = Arc::new(MemoryTokens::new(Some(tokens("access-old", "refresh-token-old"))));
    let source = oauth(store.clone());
    let vendor = Vendor::new([Step::json(200, BOUGHT)]);
    let (env, _) = crate::scripted::env(&vendor);
    let mut asking = Box::pin(source.get(&env, None));
    let mut cx = std::task::Context::from_waker(futures::task::noop_waker_ref());
    assert!(asking.as_mut().poll(&mut cx).is_pending());
    assert_eq!(vendor.seen().len(), 1, "the question is out");
    assert!(run(store.replace(Some(&old), &theirs)).unwrap().unwrap());
    let held = run(asking).unwrap().unwrap();
    assert!(held.is_same(&Held::token("access-token-new", None)));
    let kept = run(store.load()).unwrap().unwrap().unwrap();
    assert!(Held::token("access-theirs", None).is_same(&Held::Token {
        secret: kept.access,
        origin: omniroute_providers::KeyOrigin::Connection,
        expires_at: None
    }));
}

fn refusal(message: &str) -> Step {
    let error = serde_json::json!({"error": {"message": message, "type": "invalid_request_error"}});
    Step::json(400, error.to_string())
}

#[test]
fn pitfall_12_foreign_signatures_are_left_out_once() {
    let provider = HttpProvider::builder(&Catalog::embedded(), "anthropic")
        .credentials(Fixed(Held::key("KEY-0123456789")))
        .build()
        .unwrap();
    let body = r#"{"model":"m","max_tokens":5,"messages":[{"role":"user","content":"hi"},{"role":"assistant","content":[{"type":"thinking","thinking":"t","signature":"of-another"},{"type":"text","text":"a"}]},{"role":"user","content":"go on"}]}"#;
    let request = ChatRequest::parse(wire::ANTHROPIC, body).unwrap();
    let no = || refusal("messages.1.content.0: Invalid `signature` in `thinking` block");
    let vendor = Vendor::new([no(), Step::json(200, CLAUDE)]);
    let (env, clock) = env(&vendor);
    let before = clock_reading(&clock);
    let answer = run(provider.chat(&env, &request, &Call::new("m"))).unwrap().unwrap();
    assert!(answer.resent && answer.notes.iter().any(|note| note.code == "signature_rectified"));
    assert_eq!(clock_reading(&clock), before, "nobody slept");
    let sent = vendor.seen();
    assert_eq!(sent[0].body(), body);
    let wanted = body.replace(r#"{"type":"thinking","thinking":"t","signature":"of-another"},"#, "");
    assert_eq!(sent[1].body(), &wanted, "only the reasoning is gone");

    // Refused again, or refused with nothing to leave out: that is the end.
    for (steps, body, asked) in [(2, body, 2), (2, wanted.as_str(), 1)] {
        let vendor = Vendor::new((0..steps).map(|_| no()));
        let (env, _) = crate::scripted::env(&vendor);
        let request = ChatRequest::parse(wire::ANTHROPIC, body.to_owned()).unwrap();
        let failure = run(provider.chat(&env, &request, &Call::new("m"))).unwrap().unwrap_err();
        assert_eq!((failure.status, vendor.seen().len()), (Some(400), asked));
    }
}

fn clock_reading(clock: &omniroute_core::testing::VirtualClock) -> UnixMs {
    use omniroute_core::Clock;
    clock.now().wall
}

#[test]
fn pitfall_30_a_host_teaches_its_name_of_the_limit() {
    let lessons = Arc::new(omniroute_providers::MemoryLessons::default());
    let provider = HttpProvider::builder(&Catalog::embedded(), "openai")
        .credentials(Fixed(Held::key("KEY-0123456789")))
        .lessons(lessons)
        .build()
        .unwrap();
    let body = r#"{"model":"my-deployment","max_tokens":5,"messages":[{"role":"user","content":"hi"}]}"#;
    let request = ChatRequest::parse(wire::OPENAI_CHAT, body).unwrap();
    let no = || {
        refusal(
            "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.",
        )
    };
    let ok = || Step::json(200, CHAT);
    let vendor = Vendor::new([no(), ok(), ok(), ok(), no(), ok()]);
    let (env, clock) = env(&vendor);
    let ask = |model: &str| run(provider.chat(&env, &request, &Call::new(model))).unwrap().unwrap();
    assert!(ask("my-deployment").resent);
    assert!(!ask("my-deployment").resent, "the lesson is kept");
    assert!(!ask("another-model").resent, "for that model only");
    clock.advance(Duration::from_secs(24 * 3_600));
    assert!(ask("my-deployment").resent, "for a day only");
    let named: Vec<bool> = vendor
        .seen()
        .iter()
        .map(|sent| String::from_utf8_lossy(sent.body()).contains("\"max_completion_tokens\":5"))
        .collect();
    assert_eq!(named, [false, true, true, false, false, true]);

    // A limit that is too large is not renamed, and a refusal after the change teaches nothing.
    for (steps, asked) in [
        (vec![refusal("max_tokens is too large: 5. This model supports at most 4 completion tokens")], 1),
        (vec![no(), refusal("no")], 2),
    ] {
        let vendor = Vendor::new(steps);
        let (env, _) = crate::scripted::env(&vendor);
        assert!(run(provider.chat(&env, &request, &Call::new("third"))).unwrap().is_err());
        assert_eq!(vendor.seen().len(), asked);
        let vendor = Vendor::new([ok()]);
        let (env, _) = crate::scripted::env(&vendor);
        assert!(!run(provider.chat(&env, &request, &Call::new("third"))).unwrap().unwrap().resent);
        assert!(vendor.seen()[0].body().starts_with(br#"{"model":"third","max_tokens":5"#));
    }
}

#[test]
fn pitfall_31_a_small_limit_is_never_raised() {
    let body = r#"{"model":"m","max_tokens":1,"tools":[{"type":"function","function":{"name":"f","parameters":{"type":"object"}}}],"messages":[{"role":"user","content":"hi"}]}"#;
    let request = ChatRequest::parse(wire::OPENAI_CHAT, body).unwrap();
    for (row, member) in [("openai", "max_tokens"), ("anthropic", "max_tokens"), ("cohere", "max_tokens")] {
        let key = Fixed(Held::key("KEY-0123456789"));
        let provider = HttpProvider::builder(&Catalog::embedded(), row).credentials(key).build().unwrap();
        let vendor = Vendor::new([Step::json(500, "{}")]);
        let (env, _) = env(&vendor);
        assert!(run(provider.chat(&env, &request, &Call::new("m"))).unwrap().is_err());
        let sent: serde_json::Value = serde_json::from_slice(vendor.seen()[0].body()).unwrap();
        assert_eq!(sent[member], 1, "{row}");
    }
}

#[test]
fn pitfall_45_numbers_keep_their_digits() {
    let body = r#"{"model":"m","temperature":0.10,"seed":9007199254740993,"messages":[{"role":"user","content":"hi"}]}"#;
    let request = ChatRequest::parse(wire::OPENAI_CHAT, body).unwrap();
    let vendor = Vendor::new([Step::json(200, CHAT.replace("\"created\":1", "\"created\":1.10"))]);
    let (env, _) = env(&vendor);
    let answer = run(openai().chat(&env, &request, &Call::new("other"))).unwrap().unwrap();
    assert_eq!(vendor.seen()[0].body(), &body.replace("\"m\"", "\"other\""));
    let ChatBody::Whole(doc) = answer.body else { panic!("not whole") };
    assert!(doc.source().contains("\"created\":1.10"));
}
