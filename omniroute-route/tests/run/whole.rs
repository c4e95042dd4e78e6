//! Whole answers: who answers when others fail, what the receipt says, what reaches whom.

use omniroute_core::{ChatRequest, FailureKind as K, Scope, wire};
use omniroute_route::{Hint, StepConfig};

use crate::script::*;

#[test]
fn the_first_answers_and_its_bytes_pass() {
    let world = world().with("a/1", vec![]).with("b/1", vec![]).build();
    let (text, receipt) = world.said(ask(false));
    assert_eq!(text, text_reply(wire::OPENAI_CHAT, "a/1"));
    assert_eq!((tried(&receipt).as_str(), receipt.answered.as_deref()), ("a/1", Some("a/1/m")));
    assert!(receipt.finished && receipt.committed && !receipt.streamed);
    assert_eq!((receipt.tokens.input, receipt.tokens.output, receipt.micro_usd), (10, 5, 20));
    assert!(world.of("a/1").seen.lock().unwrap()[0].body.contains(r#""model":"m""#));
    assert_eq!(world.of("b/1").calls(), 0);
    world.at_rest();
}

#[test]
fn failures_move_on_and_the_receipt_tells_each() {
    let world = world()
        .with("a/1", vec![unavailable()])
        .with("b/1", vec![Step::Fail(http(K::RateLimited, Scope::Connection, 429))])
        .with("c/1", vec![])
        .build();
    let (text, receipt) = world.said(ask(false));
    assert!(text.contains("c/1"));
    assert_eq!(tried(&receipt), "a/1 b/1 c/1");
    let kinds: Vec<_> = receipt.attempts.iter().map(|a| (a.kind, a.status)).collect();
    assert_eq!(kinds, [(Some(K::Unavailable), Some(503)), (Some(K::RateLimited), Some(429)), (None, None)]);
    // What failed rests now, and the next request does not ask it.
    let (_, receipt) = world.said(ask(false));
    assert_eq!(tried(&receipt), "c/1");
    let dropped: Vec<_> = receipt.plan.unwrap().dropped.iter().map(|d| d.key.to_string()).collect();
    assert_eq!(dropped, ["a/1/m", "b/1/m"]);
    world.at_rest();
}

#[test]
fn one_impossible_step_of_54_hides_none_of_the_others() {
    let mut plan = world();
    for n in 0..54 {
        let steps = match n {
            1 => vec![Step::Fail(http(K::ModelUnavailable, Scope::Model, 404))],
            53 => vec![],
            // Only the last one can take it: the others are full for a moment.
            _ => vec![Step::Fail(http(K::RateLimited, Scope::Connection, 429)); 9],
        };
        plan = plan.with(&format!("p{n}/1"), steps);
    }
    let world = plan.number("max_attempts", 30.0).build();
    // Eight attempts in all, by the budget that resilience keeps; what rests is a skip and costs nothing.
    for request in 0..7 {
        let (text, receipt) = world.said(ask(false));
        assert_eq!(receipt.attempts.len(), if request < 6 { 8 } else { 6 }, "{text}");
        if request == 0 {
            assert_eq!(tried(&receipt), "p0/1 p1/1 p2/1 p3/1 p4/1 p5/1 p6/1 p7/1");
        }
        if request == 6 {
            assert!(text.contains("p53/1"), "{text}");
        }
    }
}

#[test]
fn steps_of_a_combo_inside_share_one_budget() {
    use omniroute_route::ComboConfig;
    let mut plan = world();
    for name in ["a/1", "b/1", "c/1", "d/1"] {
        plan = plan.with(name, vec![unavailable()]);
    }
    let inner = ComboConfig {
        name: "inner".to_owned(),
        strategy: "priority".to_owned(),
        steps: vec![StepConfig::model("b/m"), StepConfig::model("c/m")],
        ..ComboConfig::default()
    };
    let world = plan
        .steps(|steps| {
            *steps = vec![StepConfig::model("a/m"), StepConfig::combo("inner"), StepConfig::model("d/m")]
        })
        .builder(|builder| builder.combo(inner))
        .number("max_attempts", 3.0)
        .build();
    let (text, receipt) = world.said(ask(false));
    assert_eq!((tried(&receipt).as_str(), text.as_str()), ("a/1 b/1 c/1", "503 upstream_failed"));
}

#[test]
fn errors_and_nothing_in_a_success_move_on() {
    let error = r#"{"error":{"message":"no","type":"server_error","code":null}}"#;
    let empty = r#"{"id":"x","object":"chat.completion","created":1,"model":"m","choices":[{"index":0,"message":{"role":"assistant","content":""},"finish_reason":"stop"}]}"#;
    let odd = r#"{"hello":"world"}"#;
    for body in [error, empty, odd] {
        let world = world().with("a/1", vec![Step::Whole(body.to_owned()); 3]).with("b/1", vec![]).build();
        let (text, receipt) = world.said(ask(false));
        assert!(text.contains("b/1"), "{body}: {text}");
        assert!(receipt.attempts[0].kind.is_some());
        world.at_rest();
    }
}

#[test]
fn nothing_after_a_tools_result_can_be_right() {
    let silent = r#"{"id":"msg_1","type":"message","role":"assistant","model":"m","content":[],"stop_reason":"end_turn","stop_sequence":null,"usage":{"input_tokens":10,"output_tokens":1}}"#;
    let body = r#"{"model":"daily","max_tokens":9,"messages":[{"role":"user","content":"go"},{"role":"assistant","content":[{"type":"tool_use","id":"t1","name":"x","input":{}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"t1","content":"done"}]}]}"#;
    let world = world()
        .speaking("a/1", wire::ANTHROPIC, 100_000, vec![Step::Whole(silent.to_owned()); 3])
        .with("b/1", vec![])
        .build();
    let request = ChatRequest::parse(wire::ANTHROPIC, body).unwrap();
    let (text, receipt) = world.said(request);
    assert_eq!((text.as_str(), tried(&receipt).as_str()), (silent, "a/1"));
    // The same without a tool's result is a failure.
    let (text, _) = world.said(ask_anthropic(false));
    assert!(text.contains("b/1"), "{text}");
}

#[test]
fn the_answer_is_in_the_clients_wire() {
    let world = world().speaking("a/1", wire::ANTHROPIC, 100_000, vec![]).build();
    let (text, _) = world.said(ask(false));
    assert!(text.contains(r#""object":"chat.completion""#) && text.contains("a/1"), "{text}");
    let sent = world.of("a/1").seen.lock().unwrap()[0].body.clone();
    assert!(sent.contains("max_tokens") && sent.contains(SECRET), "{sent}");
}

#[test]
fn a_tool_is_called_by_the_name_that_the_client_knows() {
    for stream in [false, true] {
        let world = world()
            .speaking("a/1", wire::ANTHROPIC, 100_000, vec![Step::Calls("mcp:files/read")])
            .with("b/1", vec![])
            .build();
        let body = format!(
            r#"{{"model":"daily","stream":{stream},"messages":[{{"role":"user","content":"x"}}],"tools":[{{"type":"function","function":{{"name":"mcp:files/read","parameters":{{"type":"object"}}}}}}]}}"#
        );
        let (text, receipt) = world.said(ChatRequest::parse(wire::OPENAI_CHAT, body).unwrap());
        assert_eq!(tried(&receipt), "a/1", "{text}");
        let sent = world.of("a/1").seen.lock().unwrap()[0].body.clone();
        assert!(!sent.contains("mcp:files/read"), "the target does not take such a name: {sent}");
        assert!(text.contains(r#""name":"mcp:files/read""#), "{text}");
    }
}

#[test]
fn errors_speak_the_clients_wire_and_say_when() {
    let mut limited = http(K::RateLimited, Scope::Connection, 429);
    limited.retry_at = Some(omniroute_core::UnixMs(1_700_000_090_000));
    limited.declared = true;
    let world = world().with("a/1", vec![Step::Fail(limited)]).build();
    let error = world.chat(ask_anthropic(false)).unwrap_err();
    assert_eq!((error.status, error.code.as_str(), error.hint), (429, "upstream_failed", Hint::Retry));
    assert_eq!(error.retry_after(omniroute_core::UnixMs(1_700_000_000_000)), Some(90));
    let body = String::from_utf8(error.body(wire::ANTHROPIC).to_vec()).unwrap();
    assert!(body.starts_with(r#"{"type":"error""#), "{body}");
    // Now it rests for longer than anybody waits: the plan says so, with the time.
    let error = world.chat(ask(false)).unwrap_err();
    assert_eq!((error.status, error.code.as_str()), (429, "all_connections_cooling"));
    assert!(error.retry_at.is_some() && error.message.contains("1 cooling"), "{error}");
    world.at_rest();
}

#[test]
fn one_models_400_and_one_accounts_402_hide_nobody() {
    let world = world()
        .with("a/1", vec![Step::Fail(http(K::Unsupported, Scope::Request, 400))])
        .with("b/1", vec![Step::Fail(http(K::CreditsExhausted, Scope::Connection, 402))])
        .with("b/2", vec![])
        .build();
    let (text, receipt) = world.said(ask(false));
    assert!(text.contains("b/2"), "{text}");
    assert_eq!(tried(&receipt), "a/1 b/1 b/2");
}

#[test]
fn an_overflow_never_falls_to_a_smaller_window() {
    let overflow = || Step::Fail(http(K::ContextTooLong, Scope::Request, 400));
    let world = world()
        .speaking("a/1", wire::OPENAI_CHAT, 128_000, vec![overflow()])
        .speaking("b/1", wire::OPENAI_CHAT, 128_000, vec![])
        .speaking("c/1", wire::OPENAI_CHAT, 200_000, vec![overflow()])
        .speaking("d/1", wire::OPENAI_CHAT, 64_000, vec![])
        .build();
    let (text, receipt) = world.said(ask(false));
    assert_eq!((text.as_str(), tried(&receipt).as_str()), ("400 context_length_exceeded", "a/1 c/1"));
    let skipped: Vec<_> = receipt.skipped.iter().map(|d| (&*d.key, d.reason.code())).collect();
    assert_eq!(skipped, [("b/1/m", "context"), ("d/1/m", "context")]);
}

#[test]
fn a_broken_request_stops_at_once() {
    let mut failure = http(K::InvalidRequest, Scope::Request, 400);
    failure.evidence = omniroute_core::Evidence::Structured;
    let world = world().with("a/1", vec![Step::Fail(failure)]).with("b/1", vec![]).build();
    let (text, receipt) = world.said(ask(false));
    assert_eq!((text.as_str(), tried(&receipt).as_str()), ("400 invalid_request", "a/1"));
}

#[test]
fn the_target_is_what_the_receipt_says() {
    let world = world().with("a/1", vec![unavailable()]).with("a/2", vec![]).with("b/1", vec![]).build();
    let (text, receipt) = world.said(ask(false));
    let answered = receipt.answered.clone().unwrap();
    assert!(text.contains(answered.trim_end_matches("/m")), "{answered}: {text}");
    for (name, provider) in &world.providers {
        for seen in provider.seen.lock().unwrap().iter() {
            assert_eq!(seen.model, "m", "{name}");
            assert!(!seen.body.contains("daily"), "the route's name stays here: {}", seen.body);
        }
    }
}

#[test]
fn receipts_and_explanations_hold_no_text_of_the_request() {
    let mut echo = http(K::Unavailable, Scope::Provider, 500);
    echo.message = format!("cannot serve {SECRET}");
    let world = world().with("a/1", vec![Step::Fail(echo)]).with("b/1", vec![]).build();
    let plan = world.router.explain(&ask(false)).unwrap();
    let (text, receipt) = world.said(ask(false));
    assert!(text.contains("b/1"));
    let told = format!("{plan} {} {receipt:?}", serde_json::to_string(&receipt).unwrap());
    assert!(!told.contains(SECRET) && !told.contains("hello"), "{told}");
    // The check sees it where it is.
    assert!(world.of("a/1").seen.lock().unwrap()[0].body.contains(SECRET));
}

#[test]
fn explain_is_what_happens() {
    for strategy in
        ["priority", "random", "round-robin", "weighted", "p2c", "strict-random", "least-used", "auto"]
    {
        let mut plan = world().strategy(strategy);
        for name in ["a/1", "a/2", "b/1", "c/1", "d/1"] {
            plan = plan.with(name, vec![]);
        }
        let world = plan.build();
        for _ in 0..130 {
            let told = world.router.explain(&ask(false)).unwrap();
            assert_eq!(told, world.router.explain(&ask(false)).unwrap(), "explaining changes nothing");
            let (_, receipt) = world.said(ask(false));
            let done = receipt.plan.unwrap();
            assert_eq!(told.picks, done.picks, "{strategy}");
            assert_eq!(Some(&*done.picks[0].key), receipt.answered.as_deref(), "{strategy}");
        }
    }
}

#[test]
fn explain_names_every_candidate() {
    let names: Vec<String> = (0..70).map(|n| format!("v{n}/1")).collect();
    let world = names.iter().fold(world(), |plan, name| plan.with(name, vec![])).build();
    assert_eq!(world.router.explain(&ask(false)).unwrap().picks.len(), 70);
    assert_eq!(world.said(ask(false)).1.plan.unwrap().picks.len(), 64, "a request has no use for more");
}

#[test]
fn names_that_mean_nothing_are_errors_with_help() {
    let world = world().with("a/1", vec![]).build();
    let error = world.chat(ask_for("dialy", false)).unwrap_err();
    assert_eq!((error.status, error.code.as_str()), (404, "unknown_model"));
    assert!(error.message.contains("daily"), "{error}");
    let (text, _) = world.said(ask_for("a/m", false));
    assert!(text.contains("a/1"), "a model by itself is a route too");
    let (text, _) = world.said(ask_for("auto", false));
    assert!(text.contains("a/1"));
}

#[test]
fn circles_are_found_and_weights_multiply() {
    use omniroute_route::{ComboConfig, Combos, combo_pool};
    let to = |name: &str, next: &str| ComboConfig::new(name, "priority", vec![StepConfig::combo(next)]);
    let host = omniroute_core::testing::host(&omniroute_core::testing::VirtualClock::default());
    let error =
        omniroute_route::Router::builder(host).combo(to("a", "b")).combo(to("b", "a")).build().unwrap_err();
    assert!(error.to_string().contains("a → b → a"), "{error}");
    let weighted = |name: &str, steps: Vec<(StepConfig, f64)>| {
        let weigh = |(mut step, weight): (StepConfig, f64)| {
            step.weight = Some(weight);
            step
        };
        ComboConfig::new(name, "weighted", steps.into_iter().map(weigh).collect())
    };
    let directory = ["p", "q", "r"].iter().fold(omniroute_route::Listed::new(), |listed, provider| {
        listed.connection(omniroute_route::Connection::new(*provider, "1"))
    });
    let step = StepConfig::model;
    let combos = Combos::load(
        vec![
            weighted("child", vec![(step("p/m"), 2.0), (step("q/m"), 1.0)]),
            weighted("parent", vec![(StepConfig::combo("child"), 30.0), (step("r/m"), 70.0)]),
        ],
        &directory,
    )
    .unwrap();
    let pool = combo_pool(1, combos.get("parent").unwrap(), &combos, &directory);
    let weights: Vec<f32> = pool.entries().iter().map(|entry| entry.weight).collect();
    assert_eq!(weights, [20.0, 10.0, 70.0]);
}

#[test]
fn a_dead_provider_in_a_rotation_hides_nobody() {
    let mut plan = world().strategy("round-robin").with("d/1", vec![unavailable(); 50]);
    for name in ["a/1", "b/1", "c/1"] {
        plan = plan.with(name, vec![]);
    }
    let world = plan.build();
    let mut counts = std::collections::BTreeMap::new();
    for _ in 0..90 {
        let (text, receipt) = world.said(ask(false));
        *counts.entry(receipt.answered.unwrap_or(text)).or_insert(0) += 1;
    }
    assert_eq!(counts.len(), 3, "{counts:?}");
    assert!(counts.values().all(|count| (28..=32).contains(count)), "{counts:?}");
}

#[test]
fn a_picture_never_reaches_a_model_that_is_not_known_to_see() {
    let world = world().with("a/1", vec![]).build();
    let body = r#"{"model":"daily","messages":[{"role":"user","content":[{"type":"image_url","image_url":{"url":"https://x.example/a.png"}}]},{"role":"assistant","content":"a cat"},{"role":"user","content":"and now?"}]}"#;
    let error = world.chat(ChatRequest::parse(wire::OPENAI_CHAT, body).unwrap()).unwrap_err();
    assert_eq!((error.status, error.code.as_str()), (400, "capability_mismatch"));
    assert_eq!(world.of("a/1").calls(), 0);
}

#[test]
fn a_page_instead_of_an_answer_moves_on() {
    let mut page = http(K::BadReply, Scope::Connection, 502);
    page.rule = "test.html".into();
    let world = world().with("a/1", vec![Step::Fail(page)]).with("b/1", vec![]).build();
    let (text, receipt) = world.said(ask(false));
    assert!(text.contains("b/1"), "{text}");
    assert_eq!(receipt.attempts[0].rule, "test.html");
}

/// Printed, never asserted: what the router itself costs, with a provider that answers at once.
#[test]
fn what_a_chat_costs() {
    for candidates in [1, 100] {
        let mut plan = world();
        for n in 0..candidates {
            plan = plan.with(&format!("p{n}/1"), vec![]);
        }
        let world = plan.build();
        let request = ask(false);
        let mut least = std::time::Duration::MAX;
        for _ in 0..5 {
            let start = cpu_time::ThreadTime::now();
            for _ in 0..200 {
                futures::executor::block_on(world.router.chat(request.clone())).unwrap();
            }
            least = least.min(start.elapsed() / 200);
        }
        eprintln!("{candidates} candidates: {:.1} us of CPU a chat", least.as_secs_f64() * 1e6);
    }
}
