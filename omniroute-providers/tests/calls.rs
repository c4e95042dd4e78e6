//! Calls of providers against a scripted vendor: addresses and keys of every row, answers, limits of time, cancelling.

#[expect(dead_code, reason = "each test binary uses a part")]
mod scripted;

use std::time::Duration;

use bytes::Bytes;
use futures::StreamExt;
use omniroute_core::ChatBody;
use omniroute_core::{ChatRequest, FailureKind, Phase, Scope, wire};
use omniroute_providers::credentials::{Fixed, Held, KeyRing, RingOrder};
use omniroute_providers::{AuthKind, Call, Catalog, HttpProvider, Surface, Timeouts, Upload, WireId, wires};
use scripted::{NOW, Step, Vendor, env, run};

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

const CHAT: &str = r#"{"id":"c","object":"chat.completion","created":1,"model":"m-1","choices":[{"index":0,"message":{"role":"assistant","content":"hi"},"finish_reason":"stop"}]}"#;
const STREAM: &str = "data: {\"id\":\"c\",\"object\":\"chat.completion.chunk\",\"created\":1,\"model\":\"m\",\"choices\":[{\"index\":0,\"delta\":{\"role\":\"assistant\",\"content\":\"h\u{e9}\"},\"finish_reason\":null}]}\n\ndata: {\"id\":\"c\",\"object\":\"chat.completion.chunk\",\"created\":1,\"model\":\"m\",\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n";

fn reply(wire: WireId) -> &'static str {
    match wire {
        WireId::AnthropicMessages => {
            r#"{"id":"m","type":"message","role":"assistant","model":"m-1","content":[{"type":"text","text":"hi"}],"stop_reason":"end_turn","stop_sequence":null,"usage":{"input_tokens":1,"output_tokens":1}}"#
        }
        WireId::OpenaiResponses => {
            r#"{"id":"r","object":"response","created_at":1,"status":"completed","model":"m-1","output":[{"type":"message","id":"i","status":"completed","role":"assistant","content":[{"type":"output_text","text":"hi","annotations":[]}]}]}"#
        }
        WireId::Gemini => {
            r#"{"candidates":[{"content":{"parts":[{"text":"hi"}],"role":"model"},"finishReason":"STOP","index":0}],"modelVersion":"m-1"}"#
        }
        WireId::Cohere => {
            r#"{"id":"c","message":{"role":"assistant","content":[{"type":"text","text":"hi"}]},"finish_reason":"COMPLETE"}"#
        }
        WireId::Ollama => {
            r#"{"model":"m-1","created_at":"2026-01-15T12:00:00Z","message":{"role":"assistant","content":"hi"},"done":true,"done_reason":"stop"}"#
        }
        WireId::BedrockConverse => {
            r#"{"output":{"message":{"role":"assistant","content":[{"text":"hi"}]}},"stopReason":"end_turn","usage":{"inputTokens":1,"outputTokens":1,"totalTokens":2}}"#
        }
        _ => CHAT,
    }
}

fn request(stream: bool) -> ChatRequest {
    let body = format!(r#"{{"model":"x","stream":{stream},"messages":[{{"role":"user","content":"hi"}}]}}"#);
    ChatRequest::parse(wire::OPENAI_CHAT, body).expect("as scripted")
}

fn openai(timeouts: Timeouts) -> HttpProvider {
    let builder = HttpProvider::builder(&Catalog::embedded(), "openai").timeouts(timeouts);
    builder.credentials(Fixed(Held::key("KEY-0123456789"))).build().expect("as scripted")
}

#[test]
fn every_row_is_called_where_and_how_the_table_says() {
    let catalog = Catalog::embedded();
    let (mut called, mut waiting, mut refused, mut wrong) = (0, 0, 0, Vec::new());
    for line in include_str!("prepare_table.tsv").lines().filter(|line| !line.starts_with('#')) {
        let columns: Vec<&str> = line.split('\t').collect();
        let [id, wire, address, rights] = columns.as_slice() else { panic!("{line}") };
        let row = catalog.provider(id).unwrap_or_else(|| panic!("no row {id}"));
        if wires::by_id(row.wire.word()).is_none() {
            waiting += 1;
            continue;
        }
        assert_eq!(row.wire.to_string(), **wire, "{id}");
        let held = match row.auth.kind {
            AuthKind::Bearer | AuthKind::Header | AuthKind::None => Held::key("KEY"),
            _ => Held::token("TOKEN", None),
        };
        let mut builder = HttpProvider::builder(&catalog, *id).credentials(Fixed(held));
        for (name, value) in VALUES {
            builder = builder.value(*name, *value);
        }
        let provider = builder.build().unwrap();
        let answer =
            if row.force_stream { Step::stream(STREAM, 50) } else { Step::json(200, reply(row.wire)) };
        let vendor = Vendor::new([answer]);
        let (env, _) = env(&vendor);
        let result = run(provider.chat(&env, &request(false), &Call::new("m-1"))).unwrap();
        let seen = vendor.seen();
        if **rights == *"refused" {
            assert!(seen.is_empty() && result.is_err_and(|f| f.origin_local), "{id}: nothing is sent");
            refused += 1;
            continue;
        }
        let Some(sent) = seen.first() else {
            wrong.push(format!("{id}: {result:?}"));
            continue;
        };
        let mut shown: Vec<String> = sent
            .headers()
            .iter()
            .filter(|(_, value)| value.is_sensitive())
            .map(|(name, value)| format!("{name}: {}", value.to_str().unwrap()))
            .collect();
        shown.sort();
        let shown = if shown.is_empty() { "-".to_owned() } else { shown.join(", ") };
        // The one streaming host of another wire is only asked, not read.
        let lost = result.is_err() && !(row.force_stream && row.wire != WireId::OpenaiChat);
        if *sent.uri() != **address || shown != **rights || lost {
            wrong.push(format!("{id}: {} {shown} {:?}", sent.uri(), result.err()));
        }
        called += 1;
    }
    println!("{called} rows called, {refused} refused, {waiting} wait for their wire");
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
    assert!(called >= 190, "{called}");
}

#[test]
fn a_whole_answer_comes_as_it_is() {
    let vendor = Vendor::new([Step::of(
        200,
        &[("x-request-id", "req-1"), ("x-ratelimit-remaining-requests", "5")],
        CHAT.as_bytes().chunks(9).map(Bytes::copy_from_slice).collect(),
    )]);
    let (env, _) = env(&vendor);
    let answer =
        run(openai(Timeouts::default()).chat(&env, &request(false), &Call::new("m"))).unwrap().unwrap();
    let ChatBody::Whole(doc) = answer.body else { panic!("not whole") };
    assert_eq!(doc.bytes(), CHAT.as_bytes());
    assert_eq!((answer.request_id.as_deref(), answer.limits.len(), answer.resent), (Some("req-1"), 1, false));
    assert_eq!(vendor.open(), 0, "the exchange is closed");
    let sent = &vendor.seen()[0];
    assert!(sent.body().starts_with(br#"{"model":"m","stream":false"#), "only the model is another");
}

#[test]
fn a_success_that_is_none_is_a_failure() {
    let cases = [
        (r#"{"error":{"message":"Rate limit","code":"rate_limit_exceeded"}}"#, FailureKind::RateLimited),
        ("<!doctype html><html><title>Sign in</title>", FailureKind::BadReply),
        (r#"{"choices":[]}"#, FailureKind::BadReply),
        ("{\"choices\":[{\"index\":0", FailureKind::BadReply),
        ("", FailureKind::BadReply),
    ];
    for (body, kind) in cases {
        let vendor = Vendor::new([Step::json(200, body)]);
        let (env, _) = env(&vendor);
        let failure = run(openai(Timeouts::default()).chat(&env, &request(false), &Call::new("m")))
            .unwrap()
            .unwrap_err();
        assert_eq!(failure.kind, kind, "{body:?} {failure:?}");
        assert_eq!(failure.phase, Phase::BodyComplete, "{body:?}");
    }
}

/// An answer without content passes where the vendor itself ended it, and is a failure elsewhere.
#[test]
fn nothing_said_is_an_answer_where_the_vendor_ends_it() {
    let anthropic = |reason: &str| {
        format!(
            r#"{{"id":"m","type":"message","role":"assistant","content":[],"stop_reason":{reason},"usage":{{"input_tokens":1,"output_tokens":1}}}}"#
        )
    };
    let events = |reason: &str| {
        format!(
            "event: message_start\ndata: {{\"type\":\"message_start\",\"message\":{{\"id\":\"m\",\"role\":\"assistant\",\"content\":[],\"model\":\"m\"}}}}\n\nevent: message_delta\ndata: {{\"type\":\"message_delta\",\"delta\":{{\"stop_reason\":{reason}}}}}\n\nevent: message_stop\ndata: {{\"type\":\"message_stop\"}}\n\n"
        )
    };
    let catalog = Catalog::embedded();
    let held = Fixed(Held::key("k"));
    let provider = HttpProvider::builder(&catalog, "anthropic").credentials(held).build().unwrap();
    for (reason, passes) in
        [("\"end_turn\"", true), ("\"max_tokens\"", true), ("null", false), ("\"tool_use\"", false)]
    {
        for stream in [false, true] {
            let step = match stream {
                false => Step::json(200, anthropic(reason)),
                true => Step::stream(&events(reason), 40),
            };
            let vendor = Vendor::new([step]);
            let (env, _) = env(&vendor);
            let body = format!(
                r#"{{"model":"m","max_tokens":9,"stream":{stream},"messages":[{{"role":"user","content":"hi"}}]}}"#
            );
            let request = ChatRequest::parse(wire::ANTHROPIC, body).unwrap();
            let answered = run(provider.chat(&env, &request, &Call::new("m"))).unwrap();
            let failure = match answered.map(|response| response.body) {
                Ok(ChatBody::Stream(items)) => {
                    run(items.collect::<Vec<_>>()).unwrap().into_iter().find_map(Result::err)
                }
                Ok(_) => None,
                Err(failure) => Some(failure),
            };
            let rule = failure.as_ref().map(|failure| failure.rule.as_ref());
            // A stream of this wire that names no reason is no whole one.
            let wanted = if stream && reason == "null" { "ok.truncated" } else { "ok.empty" };
            assert_eq!(rule, (!passes).then_some(wanted), "{reason} streamed {stream}: {failure:?}");
        }
    }
}

/// One tool more than the vendor takes is refused before anything is sent; a caller may know better.
#[test]
fn too_many_tools_are_not_sent() {
    let body = |tools: usize| {
        let tools: Vec<_> = (0..tools)
            .map(|at| format!(r#"{{"type":"function","function":{{"name":"t{at}","parameters":{{}}}}}}"#))
            .collect();
        let body = format!(
            r#"{{"model":"m","messages":[{{"role":"user","content":"hi"}}],"tools":[{}]}}"#,
            tools.join(",")
        );
        ChatRequest::parse(wire::OPENAI_CHAT, body).unwrap()
    };
    for (tools, most, sent) in
        [(128, None, true), (129, None, false), (129, Some(200), true), (3, Some(2), false)]
    {
        let vendor = Vendor::new([Step::json(200, reply(WireId::OpenaiChat))]);
        let (env, _) = env(&vendor);
        let mut call = Call::new("m");
        call.context.quirks.max_tools = most;
        let answered = run(openai(Timeouts::default()).chat(&env, &body(tools), &call)).unwrap();
        assert_eq!(vendor.seen().len(), usize::from(sent), "{tools} of {most:?}");
        if let Err(failure) = answered {
            assert_eq!(
                (failure.kind, failure.code.as_deref()),
                (FailureKind::Unsupported, Some("too_many_tools"))
            );
        }
    }
}

#[test]
fn a_refused_key_is_replaced_once() {
    let refused = r#"{"error":{"message":"x","code":"invalid_api_key"}}"#;
    let ring = || {
        let keys = vec![Held::key("KEY-0123456789"), Held::key("KEY-9876543210")];
        KeyRing::new("acc", keys, RingOrder::RoundRobin, 0)
    };
    let provider = HttpProvider::builder(&Catalog::embedded(), "openai").credentials(ring()).build().unwrap();
    let vendor = Vendor::new([Step::json(401, refused), Step::json(200, CHAT)]);
    let (env, _) = env(&vendor);
    let answer = run(provider.chat(&env, &request(false), &Call::new("m"))).unwrap().unwrap();
    assert!(answer.resent);
    let keys: Vec<_> = vendor.seen().iter().map(|r| r.headers()["authorization"].clone()).collect();
    assert_eq!(keys, ["Bearer KEY-0123456789", "Bearer KEY-9876543210"]);

    for (provider, sent) in [
        (HttpProvider::builder(&Catalog::embedded(), "openai").credentials(ring()).build().unwrap(), 2),
        (openai(Timeouts::default()), 1),
    ] {
        let vendor = Vendor::new((0..5).map(|_| Step::json(401, refused)));
        let (env, _) = scripted::env(&vendor);
        let failure = run(provider.chat(&env, &request(false), &Call::new("m"))).unwrap().unwrap_err();
        assert_eq!((failure.kind, vendor.seen().len()), (FailureKind::Unauthorized, sent));
    }
}

#[test]
fn a_stream_is_the_same_however_it_is_cut() {
    for cut in [1, 2, 3, 7, 64, 4096] {
        let vendor = Vendor::new([Step::stream(STREAM, cut)]);
        let (env, _) = env(&vendor);
        let answer =
            run(openai(Timeouts::default()).chat(&env, &request(true), &Call::new("m"))).unwrap().unwrap();
        let ChatBody::Stream(items) = answer.body else { panic!("not streamed") };
        let items: Vec<_> = run(items.collect::<Vec<_>>()).unwrap();
        let raw: Vec<u8> = items.iter().flat_map(|item| item.as_ref().unwrap().raw.to_vec()).collect();
        assert_eq!(raw, STREAM.as_bytes(), "{cut}");
        assert_eq!(vendor.open(), 0);
    }
}

#[test]
fn streams_that_break_end_with_a_failure() {
    let (half, _) = STREAM.split_at(STREAM.find("data: {\"id\":\"c\",\"object\":\"chat.completion.chunk\",\"created\":1,\"model\":\"m\",\"choices\":[{\"index\":0,\"delta\":{}").unwrap());
    let error = "data: {\"error\":{\"message\":\"overloaded\",\"type\":\"overloaded_error\"}}\n\n";
    let cases = [
        (half.to_owned(), FailureKind::BadReply, Phase::MidStream),
        (format!("{half}{error}"), FailureKind::Overloaded, Phase::MidStream),
        (error.to_owned(), FailureKind::Overloaded, Phase::BeforeFirstContent),
        (String::new(), FailureKind::BadReply, Phase::BeforeFirstContent),
    ];
    for (text, kind, phase) in cases {
        let vendor = Vendor::new([Step::stream(&text, 11)]);
        let (env, _) = env(&vendor);
        let answer =
            run(openai(Timeouts::default()).chat(&env, &request(true), &Call::new("m"))).unwrap().unwrap();
        let ChatBody::Stream(items) = answer.body else { panic!("not streamed") };
        let items: Vec<_> = run(items.collect::<Vec<_>>()).unwrap();
        let failure = items.last().unwrap().as_ref().unwrap_err();
        assert_eq!((failure.kind, failure.phase), (kind, phase), "{text:?} {failure:?}");
        assert!(items.iter().rev().skip(1).all(Result::is_ok), "nothing follows a failure");
    }
}

#[test]
fn limits_of_time_are_the_clocks() {
    let provider = openai(Timeouts::default());
    let vendor = Vendor::new([Step::Hang]);
    let (env, clock) = env(&vendor);
    let body = request(true);
    let call = Call::new("m");
    let mut late = Box::pin(provider.chat(&env, &body, &call));
    assert!(run(&mut late).is_none());
    clock.advance(Duration::from_secs(59));
    assert!(run(&mut late).is_none());
    clock.advance(Duration::from_secs(1));
    let failure = run(&mut late).unwrap().unwrap_err();
    assert_eq!(
        (failure.kind, failure.scope, failure.rule.as_ref()),
        (FailureKind::Timeout, Scope::Provider, "net.first_byte")
    );
    assert_eq!(vendor.open(), 0, "the exchange was dropped");

    let vendor = Vendor::new([Step::stream(": ping\n\n", 99).hanging()]);
    let (env, clock) = scripted::env(&vendor);
    let answer = run(provider.chat(&env, &body, &call)).unwrap().unwrap();
    let ChatBody::Stream(mut items) = answer.body else { panic!("not streamed") };
    while run(items.next()).is_some_and(|item| item.is_some_and(|item| item.is_ok())) {}
    clock.advance(Duration::from_secs(80));
    let mut last = None;
    while let Some(Some(item)) = run(items.next()) {
        last = Some(item);
    }
    let failure = last.unwrap().unwrap_err();
    assert_eq!(failure.rule, "net.first_event", "a comment is no content");
    assert_eq!(vendor.open(), 0);

    // The caller's own time is nobody's fault.
    let vendor = Vendor::new([Step::Hang]);
    let (env, clock) = scripted::env(&vendor);
    let mut call = Call::new("m");
    call.deadline = Some(env.clock.now().mono.after(Duration::from_secs(5)));
    let mut late = Box::pin(provider.chat(&env, &body, &call));
    assert!(run(&mut late).is_none());
    clock.advance(Duration::from_secs(5));
    let failure = run(&mut late).unwrap().unwrap_err();
    assert!(failure.origin_local && failure.kind == FailureKind::Timeout);
}

#[test]
fn dropping_ends_the_call() {
    let provider = openai(Timeouts::default());
    let vendor = Vendor::new([Step::Hang, Step::stream(STREAM, 5).hanging()]);
    let (env, _) = env(&vendor);
    let (body, call) = (request(true), Call::new("m"));
    let mut waiting = Box::pin(provider.chat(&env, &body, &call));
    assert!(run(&mut waiting).is_none());
    assert_eq!(vendor.open(), 1);
    drop(waiting);
    assert_eq!(vendor.open(), 0);
    let answer = run(provider.chat(&env, &body, &call)).unwrap().unwrap();
    assert_eq!(vendor.open(), 1);
    drop(answer);
    assert_eq!(vendor.open(), 0);
}

#[test]
fn other_services_go_through_as_they_are() {
    let provider = openai(Timeouts::default());
    let vectors = r#"{"object":"list","data":[{"index":0,"embedding":[0.10]}]}"#;
    let vendor = Vendor::new([
        Step::json(200, vectors),
        Step::json(400, r#"{"error":{"message":"no such model","code":"model_not_found"}}"#),
        Step::json(200, r#"{"object":"list","data":[{"id":"a"},{"id":"models/b"}]}"#),
    ]);
    let (env, _) = env(&vendor);
    let call = Call::new("m");
    let passed = run(provider.pass(&env, Surface::Embeddings, Upload::json(r#"{"input":"x"}"#), &call))
        .unwrap()
        .unwrap();
    assert_eq!(passed.body, vectors);
    let failure = run(provider.pass(&env, Surface::Speech, Upload::json("{}"), &call)).unwrap().unwrap_err();
    assert_eq!(failure.kind, FailureKind::ModelUnavailable);
    let models = run(provider.models(&env, &call)).unwrap().unwrap();
    assert_eq!(models, ["a", "b"]);
    let addresses: Vec<String> =
        vendor.seen().iter().map(|r| format!("{} {}", r.method(), r.uri())).collect();
    assert_eq!(
        addresses,
        [
            "POST https://api.openai.com/v1/embeddings",
            "POST https://api.openai.com/v1/audio/speech",
            "GET https://api.openai.com/v1/models"
        ]
    );
    let failure = run(provider.pass(&env, Surface::Rerank, Upload::json("{}"), &call)).unwrap().unwrap_err();
    assert!(failure.origin_local && failure.kind == FailureKind::Unsupported);
    assert_eq!(failure.message, "provider openai: does not offer rerank");
}

#[test]
fn anthropic_counts_tokens() {
    let provider = HttpProvider::builder(&Catalog::embedded(), "anthropic")
        .credentials(Fixed(Held::key("KEY-0123456789")))
        .build()
        .unwrap();
    let vendor = Vendor::new([Step::json(200, r#"{"input_tokens":2095}"#)]);
    let (env, _) = env(&vendor);
    let body = Bytes::from_static(br#"{"model":"m","messages":[]}"#);
    assert_eq!(run(provider.count_tokens(&env, body, &Call::new("m"))).unwrap(), Ok(2095));
    assert_eq!(vendor.seen()[0].uri(), "https://api.anthropic.com/v1/messages/count_tokens");
    assert_eq!(env.clock.now().wall, NOW);
}

/// Some vendors answer whole although they were asked for a stream; others call a stream JSON.
#[test]
fn a_whole_answer_where_a_stream_was_asked_for_is_whole() {
    let whole = r#"{"id":"c","object":"chat.completion","created":1,"model":"m","choices":[{"index":0,"message":{"role":"assistant","content":"hello"},"finish_reason":"stop"}]}"#;
    let ask = |pieces: Vec<bytes::Bytes>| {
        let vendor =
            Vendor::new([Step::of(200, &[("content-type", "application/json; charset=utf-8")], pieces)]);
        let (env, _) = env(&vendor);
        run(openai(Timeouts::default()).chat(&env, &request(true), &Call::new("m"))).unwrap()
    };
    for cut in [1, 40, 4_000] {
        let pieces = |text: &str| text.as_bytes().chunks(cut).map(bytes::Bytes::copy_from_slice).collect();
        let ChatBody::Whole(doc) = ask(pieces(whole)).unwrap().body else { panic!("not whole: {cut}") };
        assert_eq!(doc.source(), whole);
        assert!(matches!(ask(pieces(STREAM)).unwrap().body, ChatBody::Stream(_)), "{cut}");
        let failed = r#"{"error":{"message":"no","type":"invalid_request_error"}}"#;
        assert!(ask(pieces(failed)).is_err(), "an error is none the less one");
    }
    // Silence has the limit of a stream's first event.
    let vendor = Vendor::new([Step::of(200, &[("content-type", "application/json")], Vec::new()).hanging()]);
    let (env, clock) = scripted::env(&vendor);
    let (provider, body, call) = (openai(Timeouts::default()), request(true), Call::new("m"));
    let mut late = Box::pin(provider.chat(&env, &body, &call));
    assert!(run(&mut late).is_none());
    clock.advance(Timeouts::default().first_event);
    assert_eq!(run(&mut late).unwrap().unwrap_err().rule, "net.first_event");
    drop(late);
    assert_eq!(vendor.open(), 0);
}

#[test]
fn a_host_that_only_streams_gives_whole_answers_too() {
    let provider = HttpProvider::builder(&Catalog::embedded(), "kimi")
        .credentials(Fixed(Held::token("TOKEN-0123456789", None)))
        .build()
        .unwrap();
    let vendor = Vendor::new([Step::stream(STREAM, 13)]);
    let (env, _) = env(&vendor);
    let answer = run(provider.chat(&env, &request(false), &Call::new("m"))).unwrap().unwrap();
    let ChatBody::Whole(doc) = answer.body else { panic!("not whole") };
    assert!(doc.source().contains("h\u{e9}"), "{}", doc.source());
    assert!(String::from_utf8_lossy(vendor.seen()[0].body()).contains("\"stream\":true"));

    // It has the limit of a whole answer, however long the stream goes on.
    let mut timeouts = Timeouts::default();
    (timeouts.idle, timeouts.idle_useful, timeouts.first_event) = Default::default();
    let builder = HttpProvider::builder(&Catalog::embedded(), "kimi").timeouts(timeouts);
    let provider = builder.credentials(Fixed(Held::token("TOKEN-0123456789", None))).build().unwrap();
    let vendor = Vendor::new([Step::stream(": ping\n\n", 13).hanging()]);
    let (env, clock) = scripted::env(&vendor);
    let (body, call) = (request(false), Call::new("m"));
    let mut late = Box::pin(provider.chat(&env, &body, &call));
    assert!(run(&mut late).is_none());
    clock.advance(Timeouts::default().total);
    let failure = run(&mut late).unwrap().unwrap_err();
    assert_eq!((failure.kind, failure.rule.as_ref()), (FailureKind::Timeout, "net.total"));
    assert_eq!(vendor.open(), 0);
}
