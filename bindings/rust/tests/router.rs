//! The router that a host drives: jobs, time, giving up at every step, calls that wait for each other.

#![expect(clippy::unwrap_used, reason = "helpers of tests")]

use std::time::Duration;

use omniroute::core::UnixMs;
use omniroute::router::{
    Call, CallOptions, FAILURE_HEADER, HostProvider, Job, Parts, Progress, Router, RouterConfig,
};

const CONFIG: &str = r#"
[[connections]]
id = "openai/work"
key = "not-a-key"

[[connections]]
id = "anthropic/work"
key = "not-a-key-either"

[[combos]]
name = "daily"
strategy = "priority"
steps = ["openai/gpt-5", "anthropic/claude-sonnet-4-5"]

[routing]
same_target_retries = 0
"#;
const BODY: &str = r#"{"model":"daily","messages":[{"role":"user","content":"hello"}]}"#;
const OPENAI: &str = r#"{"id":"1","object":"chat.completion","created":1,"model":"gpt-5","choices":[{"index":0,"message":{"role":"assistant","content":"first"},"finish_reason":"stop"}]}"#;
const ANTHROPIC: &str = r#"{"id":"msg_1","type":"message","role":"assistant","model":"claude-sonnet-4-5","content":[{"type":"text","text":"second"}],"stop_reason":"end_turn","stop_sequence":null,"usage":{"input_tokens":9,"output_tokens":7}}"#;

fn router() -> Router {
    let config = RouterConfig::from_toml(CONFIG).unwrap();
    Router::on_told_time(&config, Parts::default(), UnixMs(1_800_000_000_000)).unwrap()
}

fn call(router: &Router) -> Call {
    router.chat(BODY, &CallOptions::default()).unwrap()
}

/// The exchange that was begun, and the host it goes to.
fn sent(jobs: &[Job]) -> (u64, String) {
    match jobs {
        [Job::Send { id, request }] => (*id, request.uri().host().unwrap().to_owned()),
        other => panic!("{other:?}"),
    }
}

fn text(progress: Progress) -> String {
    match progress {
        Progress::Reply(reply) => reply.told().unwrap().text,
        other => panic!("{other:?}"),
    }
}

#[test]
fn the_second_answers_in_the_format_of_the_first() {
    let router = router();
    let mut call = call(&router);
    let (id, host) = sent(&call.poll().jobs);
    assert_eq!(host, "api.openai.com");
    let busy = r#"{"error":{"message":"slow down","code":"rate_limit_exceeded"}}"#;
    call.teller().answered(id, 429, [("content-type", &b"application/json"[..])], busy, true);
    let (id, host) = sent(&call.poll().jobs);
    assert_eq!(host, "api.anthropic.com");
    call.teller().answered(id, 200, [], ANTHROPIC, true);
    let Progress::Reply(reply) = call.poll().progress else { panic!("an answer") };
    assert_eq!(reply.told().unwrap().text, "second");
    assert!(reply.body().starts_with(br#"{"id":"#) && reply.receipt_json().contains("anthropic/work"));
    // Nothing follows.
    assert!(matches!(call.poll().progress, Progress::End));
}

/// A call that is given up after any of its steps leaves nothing behind, and the next one is answered by the first.
#[test]
fn giving_up_at_every_step_blames_nobody() {
    for steps in 0..4 {
        let router = router();
        let before = router.health_json();
        let mut given_up = call(&router);
        for step in 0..steps {
            for job in given_up.poll().jobs {
                if let (Job::Send { id, .. }, true) = (job, step > 0) {
                    given_up.teller().answered(id, 200, [], "", false);
                }
            }
        }
        drop(given_up);
        let mut next = call(&router);
        let (id, host) = sent(&next.poll().jobs);
        assert_eq!(host, "api.openai.com", "after {steps} steps");
        next.teller().answered(id, 200, [], OPENAI, true);
        assert_eq!(text(next.poll().progress), "first");
        let blamed = |health: &str| health.matches("\"open\"").count();
        assert_eq!(blamed(&router.health_json()), blamed(&before));
    }
}

#[test]
fn the_callers_time_ends_the_exchange() {
    let router = router();
    let options = CallOptions { timeout: Some(Duration::from_secs(3)), ..CallOptions::default() };
    let mut call = router.chat(BODY, &options).unwrap();
    let polled = call.poll();
    let (sent_id, _) = sent(&polled.jobs);
    assert!(polled.wake_after.is_some_and(|after| after <= Duration::from_secs(3)));
    router.advance(Duration::from_millis(2_999));
    assert!(matches!(call.poll().progress, Progress::Waiting));
    router.advance(Duration::from_millis(1));
    let polled = call.poll();
    let Progress::Failed(error) = polled.progress else { panic!("{polled:?}") };
    assert_eq!((error.code(), error.class()), ("cancelled", "Cancelled"));
    assert!(matches!(polled.jobs.as_slice(), [Job::Abort { id }] if *id == sent_id));
}

/// A vendor that does not answer in time is left, and its connection closed.
#[test]
fn a_late_vendor_is_left() {
    let router = router();
    let mut call = call(&router);
    let polled = call.poll();
    let (first, _) = sent(&polled.jobs);
    let mut waited = polled.wake_after.unwrap();
    let (aborted, next) = loop {
        router.advance(waited);
        let polled = call.poll();
        if !polled.jobs.is_empty() {
            let aborted = polled.jobs.iter().any(|job| matches!(job, Job::Abort { id } if *id == first));
            let next = polled.jobs.iter().find_map(|job| match job {
                Job::Send { id, request } => Some((*id, request.uri().host().unwrap().to_owned())),
                _ => None,
            });
            break (aborted, next.unwrap());
        }
        waited = polled.wake_after.unwrap();
    };
    assert!(aborted);
    assert_eq!(next.1, "api.anthropic.com");
    // What the late vendor says after all is nobody's.
    call.teller().answered(first, 200, [], OPENAI, true);
    call.teller().answered(next.0, 200, [], ANTHROPIC, true);
    assert_eq!(text(call.poll().progress), "second");
}

#[test]
fn a_streamed_answer_is_read_piece_by_piece() {
    let router = router();
    let body = r#"{"model":"openai/gpt-5","stream":true,"messages":[{"role":"user","content":"hello"}]}"#;
    let mut call = router.chat(body, &CallOptions::default()).unwrap();
    let (id, _) = sent(&call.poll().jobs);
    let teller = call.teller();
    teller.answered(id, 200, [("content-type", &b"text/event-stream"[..])], "", false);
    let pieces = [
        r#"data: {"id":"1","object":"chat.completion.chunk","created":1,"model":"gpt-5","choices":[{"index":0,"delta":{"role":"assistant","content":"one"},"finish_reason":null}]}"#,
        r#"data: {"id":"1","object":"chat.completion.chunk","created":1,"model":"gpt-5","choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}"#,
        "data: [DONE]",
    ];
    let (mut sent, mut got, mut reads) = (pieces.iter(), Vec::new(), 0);
    loop {
        let polled = call.poll();
        match polled.progress {
            Progress::Piece(piece) => got.extend_from_slice(&piece),
            Progress::End => break,
            _ => {}
        }
        for job in polled.jobs {
            let Job::Read { id } = job else { panic!("{job:?}") };
            reads += 1;
            match sent.next() {
                Some(piece) => teller.piece(id, format!("{piece}\n\n")),
                None => teller.ended(id),
            }
        }
    }
    assert_eq!(String::from_utf8(got).unwrap(), pieces.map(|piece| format!("{piece}\n\n")).concat());
    assert_eq!(reads, 4, "no piece is asked for before the one before has come");
    assert!(call.receipt_json().unwrap().contains("\"finished\":true"));
}

#[test]
fn a_provider_of_the_host_answers_and_refuses() {
    let config = RouterConfig::from_toml("").unwrap();
    let parts =
        || Parts { providers: vec![HostProvider::new("mine", vec!["small".to_owned()])], ..Parts::default() };
    let router = Router::new(&config, parts()).unwrap();
    let body = r#"{"model":"mine/small","max_tokens":9,"messages":[{"role":"user","content":"hello"}]}"#;
    let ask = |router: &Router| {
        let options = CallOptions { wire: Some("anthropic"), ..CallOptions::default() };
        let mut call = router.chat(body, &options).unwrap();
        let jobs = call.poll().jobs;
        let [Job::Ask { id, provider, model, stream: false, body }] = jobs.as_slice() else {
            panic!("{jobs:?}")
        };
        assert_eq!((&**provider, model.as_str()), ("mine", "small"));
        assert!(body.starts_with(br#"{"model":"small""#));
        (*id, call)
    };
    let (id, mut call) = ask(&router);
    call.teller().answered(id, 200, [], OPENAI, true);
    let Progress::Reply(reply) = call.poll().progress else { panic!("an answer") };
    // In the wire of the request.
    assert!(reply.body().windows(11).any(|part| part == b"\"end_turn\"," || part == b"\"end_turn\"}"));
    let (id, mut call) = ask(&router);
    call.teller().answered(id, 200, [(FAILURE_HEADER, &b"filtered"[..])], "not that", true);
    let Progress::Failed(error) = call.poll().progress else { panic!("refused") };
    assert_eq!((error.code(), error.to_string().as_str()), ("filtered", "not that"));
}

#[test]
fn mistakes_are_told_all_at_once_and_no_key_is_shown() {
    let text = r#"
        connections = [
            { id = "openai", key = "secret-1", kye = "secret-2" },
            { id = "nobody/x", key = ["secret-3"] },
            { id = "openai/x", key = { evn = "secret-4" }, account = "gold" },
        ]
        routing = { max_attempts = 99, seed = -1 }
        combos = [{ name = "c" }]
    "#;
    let errors = RouterConfig::from_toml(text).unwrap_err();
    assert_eq!(errors.iter().count(), 8, "{errors}");
    assert!(!errors.to_string().contains("secret-3") && !errors.to_string().contains("secret-4"));
    let config = RouterConfig::from_toml(
        "connections = [{ id = \"opena/x\", key = \"secret-5\" }, { id = \"openai/x\", key = \"secret-6\", wire = \"soap\" }]\n\
         combos = [{ name = \"c\", strategy = \"priority\", steps = [\"nobody/x\"] }]",
    )
    .unwrap();
    assert!(!format!("{config:?}").contains("secret"));
    let error = Router::new(&config, Parts::default()).unwrap_err();
    assert_eq!(error.mistakes().len(), 3, "{error}");
    assert!(!error.to_string().contains("secret"));
}

/// What is sent to a vendor for a command's output, under a configuration of compression and a combo's own plan.
fn sent_under(compression: &str, plan: &str, asked: Option<&str>) -> (String, serde_json::Value) {
    let log = "   Compiling one v1.0.0\n   Compiling two v1.0.0\n   Compiling three v1.0.0\n".repeat(30);
    let body = serde_json::json!({"model": "daily", "messages": [
        {"role": "user", "content": "build it"},
        {"role": "assistant", "content": null, "tool_calls": [{"id": "c", "type": "function",
            "function": {"name": "bash", "arguments": "{\"command\":\"cargo build\"}"}}]},
        {"role": "tool", "tool_call_id": "c", "content": log}]});
    let text = CONFIG.replace("strategy = \"priority\"", &format!("strategy = \"priority\"\n{plan}"));
    let config = RouterConfig::from_toml(&format!("{text}{compression}")).unwrap();
    let router = Router::new(&config, Parts::default()).unwrap();
    let options = CallOptions { plan: asked, ..CallOptions::default() };
    let mut call = router.chat(body.to_string(), &options).unwrap();
    // So small a body is compressed at once.
    let jobs = call.poll().jobs;
    let [Job::Send { id, request }] = jobs.as_slice() else { panic!("{jobs:?}") };
    let sent = String::from_utf8(request.body().to_vec()).unwrap();
    call.teller().answered(*id, 200, [], OPENAI, true);
    let Progress::Reply(reply) = call.poll().progress else { panic!("answered") };
    (sent, serde_json::from_str(&reply.receipt_json()).unwrap())
}

#[test]
fn a_combo_has_a_plan_of_compression() {
    let short = |sent: &str| !sent.contains("Compiling two");
    let off = "[compression]\nplan = \"off\"\n";
    let own = "[compression]\nplan = \"off\"\n[[compression.combos]]\nname = \"mine\"\nsteps = [\"rtk\"]\n";
    let (sent, receipt) = sent_under(off, "", None);
    assert!(!short(&sent) && receipt.get("compression").is_none(), "{receipt}");
    for (compression, plan) in [(off, "compression = \"rtk\""), (own, "compression = \"mine\"")] {
        let (sent, receipt) = sent_under(compression, plan, None);
        assert!(short(&sent), "{sent}");
        assert_eq!(receipt["compression"]["source"], "route", "{receipt}");
        let (sent, receipt) = sent_under(compression, plan, Some("lite"));
        assert!(!short(&sent) && receipt["compression"]["source"] == "request", "{receipt}");
    }
    // Switched off altogether.
    let (sent, receipt) = sent_under("[compression]\nenabled = false\n", "compression = \"rtk\"", None);
    assert!(!short(&sent) && receipt.get("compression").is_none());
    // A name that there is not, also where it is said twice.
    let wrong = |plan: &str| {
        let combo = format!("strategy = \"priority\"\n{plan}");
        let text = CONFIG.replace("strategy = \"priority\"", &combo);
        RouterConfig::from_toml(&text).unwrap_err().to_string()
    };
    assert_eq!(
        wrong("compression = \"rkt\""),
        "line 13, column 15: combos[0].compression: \"rkt\" is not a plan, an engine or one of compression.combos; \
         did you mean \"rtk\"?"
    );
    let twice = wrong("compression = \"rtk\"\noptions = { compression = \"lite\" }");
    assert!(
        twice.contains("combos[0].compression: \"options.compression\" says the same; keep one"),
        "{twice}"
    );
}
