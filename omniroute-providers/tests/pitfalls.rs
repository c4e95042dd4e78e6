//! What goes wrong elsewhere and only shows in calls over HTTP: one test for each known fault, named after its number.
//! The others stand with the wires.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

#[expect(dead_code, reason = "each test binary uses a part")]
mod scripted;

use std::sync::Arc;

use futures::StreamExt;
use omniroute_core::hub::{Event, PartKind, StreamItem};
use omniroute_core::{ChatBody, ChatRequest, Failure, FailureKind, Phase, Scope, UnixMs, wire};
use omniroute_providers::credentials::{
    CredentialSource, Fixed, Grant, Held, MemoryTokens, OAuthClient, OAuthSource, TokenSet, TokenStore,
};
use omniroute_providers::{Call, Catalog, HttpProvider, Secret};
use scripted::{Step, Vendor, env, run};

fn provider(id: &str) -> HttpProvider {
    let builder = HttpProvider::builder(&Catalog::embedded(), id);
    builder.credentials(Fixed(Held::key("KEY-0123456789"))).build().unwrap()
}

fn request(stream: bool, more: &str) -> ChatRequest {
    let body =
        format!(r#"{{"model":"x","stream":{stream},"messages":[{{"role":"user","content":"hi"}}]{more}}}"#);
    ChatRequest::parse(wire::OPENAI_CHAT, body).unwrap()
}

fn items(
    vendor: &Arc<Vendor>,
    id: &str,
    request: &ChatRequest,
    call: &Call<'_>,
) -> Vec<Result<StreamItem, Failure>> {
    let (env, _) = env(vendor);
    let answer = run(provider(id).chat(&env, request, call)).unwrap().unwrap();
    let ChatBody::Stream(items) = answer.body else { panic!("not streamed") };
    run(items.collect::<Vec<_>>()).unwrap()
}

const HALF: &str = "data: {\"id\":\"c\",\"model\":\"m\",\"choices\":[{\"index\":0,\"delta\":{\"content\":\"hi\"},\"finish_reason\":null}]}\n\n";

/// The vendor calls a tool by the name it was told; the client hears its own.
#[test]
fn p09_names_of_tools_come_back_from_a_call() {
    let name = "mcp.files/read";
    let more = format!(
        r#","tools":[{{"type":"function","function":{{"name":"{name}","parameters":{{"type":"object"}}}}}}]"#
    );
    let vendor = Vendor::new([Step::json(500, "{}")]);
    let (env, _) = env(&vendor);
    _ = run(provider("anthropic").chat(&env, &request(true, &more), &Call::new("m"))).unwrap();
    let sent: serde_json::Value = serde_json::from_slice(vendor.seen()[0].body()).unwrap();
    let alias = sent["tools"][0]["name"].as_str().unwrap().to_owned();
    assert_ne!(alias, name);

    let event = |v: serde_json::Value| format!("event: {}\ndata: {v}\n\n", v["type"].as_str().unwrap());
    let block = serde_json::json!({"type": "tool_use", "id": "toolu_1", "name": alias, "input": {}});
    let stream = [
        event(
            serde_json::json!({"type": "message_start", "message": {"id": "m", "model": "m", "content": []}}),
        ),
        event(serde_json::json!({"type": "content_block_start", "index": 0, "content_block": block})),
        event(serde_json::json!({"type": "content_block_stop", "index": 0})),
        event(serde_json::json!({"type": "message_delta", "delta": {"stop_reason": "tool_use"}})),
        event(serde_json::json!({"type": "message_stop"})),
    ]
    .concat();
    let vendor = Vendor::new([Step::stream(&stream, 50)]);
    let told = items(&vendor, "anthropic", &request(true, &more), &Call::new("m"));
    let names: Vec<_> = told
        .iter()
        .flat_map(|item| &item.as_ref().unwrap().events)
        .filter_map(|e| match e {
            Event::PartStart { kind: PartKind::Call { name, .. }, .. } => Some(name.as_str()),
            _ => None,
        })
        .collect();
    assert_eq!(names, [name]);

    let whole = serde_json::json!({"id": "m", "type": "message", "role": "assistant", "model": "m", "content": [block], "stop_reason": "tool_use"});
    let vendor = Vendor::new([Step::json(200, whole.to_string())]);
    let (env, _) = scripted::env(&vendor);
    let answer =
        run(provider("anthropic").chat(&env, &request(false, &more), &Call::new("m"))).unwrap().unwrap();
    let ChatBody::Whole(doc) = &answer.body else { panic!("streamed") };
    let mut reply = answer.wire.read_reply(doc).unwrap().value;
    answer.names.restore(&mut reply);
    let told = wire::OPENAI_CHAT.write_reply(&reply, &Default::default()).unwrap().body;
    let told: serde_json::Value = serde_json::from_slice(&told).unwrap();
    assert_eq!(told["choices"][0]["message"]["tool_calls"][0]["function"]["name"], name);
}

/// Usage that only we asked for is read, and not shown.
#[test]
fn p20_usage_on_demand_stays_with_us() {
    let usage =
        "data: {\"id\":\"c\",\"choices\":[],\"usage\":{\"prompt_tokens\":4,\"completion_tokens\":9}}\n\n";
    let end = "data: {\"id\":\"c\",\"model\":\"m\",\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n";
    let stream = [HALF, end, usage, "data: [DONE]\n\n"].concat();
    for (more, shown) in [("", false), (r#","stream_options":{"include_usage":true}"#, true)] {
        let vendor = Vendor::new([Step::stream(&stream, 30)]);
        let mut call = Call::new("m");
        call.context.options.ask_usage = true;
        let told = items(&vendor, "openai", &request(true, more), &call);
        let raw: Vec<u8> = told.iter().flat_map(|item| item.as_ref().unwrap().raw.to_vec()).collect();
        assert_eq!(String::from_utf8(raw).unwrap().contains("usage"), shown);
        let read = |e: &Event| matches!(e, Event::Usage(usage) if usage.output == 9);
        assert!(told.iter().flat_map(|item| &item.as_ref().unwrap().events).any(read));
        let sent = String::from_utf8(vendor.seen()[0].body().to_vec()).unwrap();
        assert!(sent.contains(r#""stream_options":{"include_usage":true}"#), "{sent}");
    }
}

/// An error in a success has the kind and the scope that it would have with a status of its own.
#[test]
fn p24_errors_in_a_success_are_classified() {
    for (error, kind, scope) in [
        (r#"{"error":{"message":"overloaded","type":"overloaded_error"}}"#, FailureKind::Overloaded, None),
        (
            r#"{"error":{"message":"x","code":"invalid_api_key"}}"#,
            FailureKind::Unauthorized,
            Some(Scope::Connection),
        ),
    ] {
        let vendor = Vendor::new([Step::stream(&format!("data: {error}\n\n"), 9)]);
        let told = items(&vendor, "openai", &request(true, ""), &Call::new("m"));
        let failure = told.last().unwrap().as_ref().unwrap_err();
        assert_eq!((failure.kind, failure.phase), (kind, Phase::BeforeFirstContent), "{failure:?}");
        assert!(scope.is_none_or(|scope| failure.scope == scope), "{failure:?}");
    }
}

/// What broke after the first words is not tried again: the words would come twice.
#[test]
fn p27_nothing_is_repeated_after_the_first_words() {
    let vendor = Vendor::new([Step::stream(HALF, 20), Step::stream(HALF, 20), Step::stream(HALF, 20)]);
    let told = items(&vendor, "openai", &request(true, ""), &Call::new("m"));
    let failure = told.last().unwrap().as_ref().unwrap_err();
    assert_eq!((failure.kind, failure.phase), (FailureKind::BadReply, Phase::MidStream));
    assert_eq!(vendor.seen().len(), 1, "asked once");
}

#[test]
fn p36_the_callers_betas_go_along_as_they_are() {
    let betas = "interleaved-thinking-2025-05-14,fine-grained-tool-streaming-2025-05-14";
    for (told, wanted) in [(Some(betas), Some(betas)), (None, None)] {
        let vendor = Vendor::new([Step::json(500, "{}")]);
        let (env, _) = env(&vendor);
        let mut call = Call::new("m");
        if let Some(told) = told {
            call.headers.insert("anthropic-beta", told.parse().unwrap());
        }
        _ = run(provider("anthropic").chat(&env, &request(false, ""), &call)).unwrap();
        let seen = vendor.seen();
        let sent: Vec<_> =
            seen[0].headers().get_all("anthropic-beta").iter().map(|v| v.to_str().unwrap()).collect();
        assert_eq!(sent, wanted.into_iter().collect::<Vec<_>>());
    }
}

fn tokens(refresh: &str) -> TokenSet {
    TokenSet {
        access: Secret::new("old-access"),
        refresh: Some(Secret::new(refresh)),
        expires_at: Some(UnixMs(0)),
    }
}

fn source(store: Arc<MemoryTokens>) -> OAuthSource {
    let client = OAuthClient {
        token_url: "https://auth.example/token".to_owned(),
        client_id: "mine".to_owned(),
        client_secret: None,
        scope: String::new(),
        grant: Grant::Refresh,
        lead: std::time::Duration::from_secs(300),
        patience: std::time::Duration::from_secs(30),
    };
    OAuthSource::new(client, store).unwrap()
}

const RENEWED: &str = r#"{"access_token":"new-access","refresh_token":"new-refresh","expires_in":3600}"#;

/// A refresh token is used once, however many wait for what it gives.
#[test]
fn p40_one_renewal_serves_all_who_wait() {
    let vendor = Vendor::new([Step::json(200, RENEWED), Step::json(200, RENEWED)]);
    let (env, _) = env(&vendor);
    let source = source(Arc::new(MemoryTokens::new(Some(tokens("old-refresh")))));
    let all = futures::future::join_all((0..20).map(|_| source.get(&env, None)));
    let new = Held::token("new-access", None);
    assert!(run(all).unwrap().into_iter().all(|held| held.unwrap().is_same(&new)));
    assert_eq!(vendor.seen().len(), 1);
}

/// Two processes over one store: who is slower does not overwrite what the faster one kept.
#[test]
fn p41_a_store_keeps_what_came_first() {
    let store = Arc::new(MemoryTokens::new(Some(tokens("old-refresh"))));
    let old = Secret::new("old-refresh");
    assert!(run(store.replace(Some(&old), &tokens("first"))).unwrap().unwrap());
    assert!(!run(store.replace(Some(&old), &tokens("second"))).unwrap().unwrap());
    let first = Secret::new("first");
    assert!(run(store.replace(Some(&first), &tokens("third"))).unwrap().unwrap(), "the first one was kept");
}
