//! What is remembered between requests: sessions, allowances, times, judgements; and compression before the plan.

use std::sync::Arc;

use omniroute_core::*;
use omniroute_route::*;

use crate::script::*;

#[test]
fn a_session_stays_where_it_was_answered() {
    let mut plan = world().strategy("random");
    for name in ["a/1", "b/1", "c/1", "d/1"] {
        plan = plan.with(name, vec![]);
    }
    let world = plan.build();
    let session = |name: &str| ask(false).with_session(SessionId::new(name));
    for name in ["s1", "s2", "s3"] {
        let first = world.said(session(name)).1.answered;
        for _ in 0..5 {
            assert_eq!(world.said(session(name)).1.answered, first, "{name}");
        }
    }
    let all: std::collections::BTreeSet<_> = (0..30).map(|_| world.said(ask(false)).1.answered).collect();
    assert!(all.len() > 2, "without a session it wanders: {all:?}");
}

#[test]
fn times_of_attempts_move_later_plans() {
    let slow = Step::After(5_000, Box::new(Step::Answer));
    let world = world().strategy("p2c").with("a/1", vec![slow; 40]).with("b/1", vec![]).build();
    for _ in 0..40 {
        world.said(ask(false));
    }
    let late = (0..20).filter(|_| world.said(ask(false)).1.answered.as_deref() == Some("b/1/m")).count();
    assert!(late >= 15, "{late} of 20");
}

/// Says with every answer how much of an allowance is used.
#[derive(Debug)]
pub(crate) struct Limited(ProviderId, u32);

impl Limited {
    pub(crate) fn new(provider: &str, used_ppm: u32) -> Limited {
        Limited(ProviderId::new(provider), used_ppm)
    }
}

#[async_trait::async_trait]
impl Provider for Limited {
    fn id(&self) -> &ProviderId {
        &self.0
    }

    async fn chat(&self, _: &ChatRequest, _: CallContext<'_>) -> Result<ChatResponse, Failure> {
        let doc = Doc::parse(text_reply(wire::OPENAI_CHAT, "limited")).unwrap();
        let mut response = ChatResponse::new(wire::OPENAI_CHAT, ChatBody::Whole(doc));
        let mut seen = LimitSeen::new(Unit::Tokens, QuotaWindow::FiveHours);
        seen.used_ppm = Some(self.1);
        seen.resets_at = Some(UnixMs(1_700_000_000_000 + 3_600_000));
        response.limits.push(seen);
        Ok(response)
    }
}

#[test]
fn allowances_that_answers_tell_of_decide_the_next_plan() {
    let plan = world().strategy("headroom").with("b/1", vec![]);
    let world = plan
        .builder(|builder| {
            builder
                .model("q", "m", model(100_000))
                .connection(Connection::new("q", "1"), Arc::new(Limited::new("q", 900_000)))
        })
        .steps(|steps| steps.insert(0, StepConfig::model("q/m")))
        .build();
    let first = world.said(ask(false)).1;
    assert_eq!(first.answered.as_deref(), Some("q/1/m"));
    assert_eq!(
        world.said(ask(false)).1.answered.as_deref(),
        Some("b/1/m"),
        "a tenth left is less than unknown"
    );
    world.clock.advance(std::time::Duration::from_secs(3_601));
    let told = world.router.explain(&ask(false)).unwrap();
    assert_eq!(&*told.picks[0].key, "q/1/m", "the window has started anew");
}

#[test]
fn judgements_reach_the_strategy_and_replace_each_other() {
    let mut plan = world();
    for name in ["a/1", "b/1", "c/1"] {
        plan = plan.with(name, vec![]);
    }
    let world = plan.build();
    let (_, receipt) = world.said(ask_for("auto/smart", false));
    assert!(world.router.feedback(&receipt.request, 0.9, 1.0));
    assert!(world.router.feedback(&receipt.request, 0.1, 1.0), "a second one replaces the first");
    assert!(!world.router.feedback("nobody", 0.9, 1.0));
    assert!(!world.router.feedback(&receipt.request, f32::NAN, 1.0));
    let saved = world.router.save();
    assert!(saved.iter().any(|(name, state)| &**name == "auto/smart" && !state.is_empty()));
    assert_eq!(world.router.load(&saved), Vec::<Arc<str>>::new());
}

/// Puts another text in place of the last message.
#[derive(Debug)]
struct Shorter;

impl Compressor for Shorter {
    fn compress(&self, request: &mut ChatRequest, _: Option<&str>, _: Moment) -> CompressReceipt {
        let body = r#"{"model":"daily","messages":[{"role":"user","content":"short"}]}"#;
        request.replace_doc(Doc::parse(body).unwrap());
        let mut receipt = CompressReceipt::default();
        (receipt.tokens_before, receipt.tokens_after) = (100, 10);
        receipt
    }
}

#[test]
fn compression_comes_before_the_plan_and_only_for_requests_that_can_be_served() {
    let world = world().with("a/1", vec![]).builder(|builder| builder.compressor(Arc::new(Shorter))).build();
    let (_, receipt) = world.said(ask(false));
    assert_eq!(receipt.compressed, Some((100, 10)));
    assert!(world.of("a/1").seen.lock().unwrap()[0].body.contains("short"));
    let error = world.chat(ask_for("nobody/m", false)).unwrap_err();
    assert_eq!(error.status, 404);
}

#[test]
fn what_fits_only_when_it_is_compressed_is_compressed_and_keeps_its_class() {
    let world = world().with("a/1", vec![]).builder(|builder| builder.compressor(Arc::new(Shorter))).build();
    let trace = "thread 'main' panicked at src/main.rs:3: why does it crash";
    let body = format!(
        r#"{{"model":"daily","messages":[{{"role":"user","content":"{}{trace}"}}]}}"#,
        "word ".repeat(100_000)
    );
    let request = ChatRequest::parse(wire::OPENAI_CHAT, body).unwrap();
    let refused = world.router.explain(&request).unwrap_err();
    assert_eq!((refused.status, refused.code.as_str()), (400, "context_length_exceeded"));
    let (text, receipt) = world.said(request);
    assert!(text.contains("a/1"), "{text}");
    assert_eq!(receipt.class, route::TaskClass::Debugging, "the shortened text tells nothing of it");
}

#[test]
fn names_that_clients_make_up_for_one_auto_name_share_what_it_learns() {
    let world = world()
        .with("a/1", vec![])
        .with("b/1", vec![])
        .builder(|builder| builder.mapping("*-best", "auto/smart"))
        .build();
    for name in ["gpt-best", "claude-best", "Auto/Smart", "auto/smart"] {
        let (_, receipt) = world.said(ask_for(name, false));
        assert_eq!(receipt.route, "auto/smart");
        assert!(world.router.feedback(&receipt.request, 0.9, 1.0));
    }
    let names: Vec<String> = world.router.save().iter().map(|(name, _)| name.to_string()).collect();
    assert_eq!(names, ["auto/smart"]);
    assert_eq!(world.router.health().routes, 1);
}

#[test]
fn an_own_strategy_is_a_route() {
    use omniroute_core::route::*;
    /// The last first.
    #[derive(Debug)]
    struct Backwards;
    impl RoutingStrategy for Backwards {
        fn id(&self) -> &str {
            "backwards"
        }
        fn plan(&self, _: &RouteContext<'_>, candidates: &Candidates<'_>) -> Result<Plan, RouteError> {
            let pick = |index: &u32| Pick::new(*index, Why::strategy(Reason::Named));
            let picks = candidates.indices().iter().rev().map(pick).collect();
            Ok(Plan::Sequence(Sequence::new(picks, 0)))
        }
    }
    let world = world()
        .with("a/1", vec![])
        .with("b/1", vec![])
        .builder(|builder| {
            let steps = vec![StepConfig::model("a/m"), StepConfig::model("b/m")];
            builder.route("mine", Arc::new(Backwards), steps)
        })
        .build();
    let (_, receipt) = world.said(ask_for("mine", false));
    assert_eq!(receipt.answered.as_deref(), Some("b/1/m"));
    assert_eq!(receipt.plan.unwrap().strategy, "backwards");
}

#[test]
fn health_tells_what_is_wrong() {
    let world = world().with("a/1", vec![unavailable()]).with("b/1", vec![]).build();
    world.said(ask(false));
    let health = world.router.health();
    assert_eq!((health.requests, health.routes), (1, 1));
    assert_eq!(health.resilience.connections[0].provider.as_str(), "a");
    assert!(serde_json::to_string(&health).unwrap().contains("\"requests\":1"));
}

#[test]
fn the_same_script_and_seed_give_the_same_receipts() {
    let run = || {
        let mut plan = world().strategy("random");
        for name in ["a/1", "b/1", "c/1"] {
            plan = plan.with(name, vec![unavailable()]);
        }
        let world = plan.build();
        let receipts: Vec<String> =
            (0..20).map(|_| serde_json::to_string(&world.said(ask(false)).1).unwrap()).collect();
        receipts.join("\n")
    };
    assert_eq!(run(), run());
}

#[test]
fn a_strategy_that_answers_nonsense_breaks_nothing() {
    use omniroute_core::route::*;
    /// Names candidates that are none, and one that is.
    #[derive(Debug)]
    struct Confused(bool);
    impl RoutingStrategy for Confused {
        fn id(&self) -> &str {
            "confused"
        }
        fn plan(&self, _: &RouteContext<'_>, _: &Candidates<'_>) -> Result<Plan, RouteError> {
            let numbers: &[u32] = if self.0 { &[99, 1, 1, u32::MAX] } else { &[99] };
            let picks = numbers.iter().map(|n| Pick::new(*n, Why::strategy(Reason::Named))).collect();
            Ok(Plan::Sequence(Sequence::new(picks, 0)))
        }
    }
    let steps = || ["a/m", "b/m"].map(StepConfig::model).to_vec();
    let world = world()
        .with("a/1", vec![])
        .with("b/1", vec![unavailable()])
        .builder(|builder| {
            builder.route("odd", Arc::new(Confused(true)), steps()).route(
                "lost",
                Arc::new(Confused(false)),
                steps(),
            )
        })
        .build();
    let (text, receipt) = world.said(ask_for("odd", false));
    assert_eq!((text.as_str(), tried(&receipt).as_str()), ("503 upstream_failed", "b/1"));
    assert_eq!(receipt.plan.unwrap().notes, [Note::StrategyError]);
    assert_eq!(world.chat(ask_for("lost", false)).unwrap_err().code, "strategy_error");
}

#[test]
fn what_is_tried_out_is_counted_and_teaches() {
    let mut plan = world();
    for name in ["a/1", "b/1", "c/1", "d/1", "e/1"] {
        plan = plan.with(name, vec![]);
    }
    let world = plan.build();
    let mut explored = 0;
    let mut state = Vec::new();
    for n in 0..1_000 {
        let (_, receipt) = world.said(ask_for("auto/smart", false));
        explored += u32::from(receipt.explored);
        let reward = if receipt.answered.as_deref() == Some("c/1/m") { 1.0 } else { 0.2 };
        assert!(world.router.feedback(&receipt.request, reward, 1.0));
        world.clock.advance(std::time::Duration::from_secs(30));
        if n == 10 {
            state = world.router.save();
        }
    }
    assert!((1..=150).contains(&explored), "{explored} of 1000 were tried out");
    assert_ne!(world.router.save(), state, "judgements change what was learned");
    let late =
        (0..50).filter(|_| world.said(ask_for("auto/smart", false)).1.answered.as_deref() == Some("c/1/m"));
    let late = late.count();
    assert!(late >= 40, "{late} of 50 went to the best");
}
