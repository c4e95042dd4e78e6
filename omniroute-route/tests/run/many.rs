//! Panels and chains.

use omniroute_core::{ChatRequest, FailureKind as K, wire};
use omniroute_route::StepConfig;

use crate::script::*;

fn says(text: &str, after: u64) -> Step {
    Step::After(after, Box::new(Step::Whole(text_reply(wire::OPENAI_CHAT, text))))
}

#[test]
fn a_panel_waits_a_little_after_enough_have_answered() {
    let world = world()
        .with("a/1", vec![says("one", 1_000)])
        .with("b/1", vec![says("two", 3_000)])
        .with("c/1", vec![says("three", 20_000)])
        .with("j/1", vec![says("judged", 0)])
        .strategy("fusion")
        .text("judge", "j/m")
        .steps(|steps| steps.truncate(3))
        .build();
    let (text, receipt) = world.said(ask(false));
    assert!(text.contains("judged"), "{text}");
    let judge = receipt.attempts.last().unwrap();
    assert!((11_000..11_100).contains(&judge.started_ms), "{judge:?}");
    assert!(receipt.attempts[2].ended_ms.is_none(), "the third was dropped");
    assert_eq!(receipt.answered.as_deref(), Some("j/1/m"));
    let asked = world.of("j/1").seen.lock().unwrap()[0].body.clone();
    assert!(asked.contains("one") && asked.contains("two") && !asked.contains("three"), "{asked}");
    assert!(asked.contains(SECRET) && !asked.contains("a/1"), "the judge knows the question and no names");
    assert!(world.router.health().resilience.connections.is_empty(), "nobody is blamed for being slow");
    world.at_rest();
}

#[test]
fn a_panels_limit_cuts_everything() {
    let world = world()
        .with("a/1", vec![says("one", 1_000)])
        .with("b/1", vec![says("two", 95_000)])
        .strategy("fusion")
        .build();
    let (text, receipt) = world.said(ask(false));
    assert!(text.contains("one"), "{text}");
    assert_eq!(receipt.attempts.len(), 2, "the only survivor is not asked again");
    assert_eq!(world.of("a/1").calls(), 1);
    world.at_rest();
    let world = crate::script::world()
        .with("a/1", vec![says("one", 0)])
        .with("b/1", vec![unavailable()])
        .strategy("fusion")
        .build();
    let (text, receipt) = world.said(ask(true));
    assert!(text.contains("chat.completion.chunk") && text.contains("one"), "{text}");
    assert!(receipt.finished && receipt.streamed && world.of("a/1").calls() == 1);
}

#[test]
fn a_panels_times_are_settings() {
    let three = || {
        world()
            .with("a/1", vec![says("one", 1_000)])
            .with("b/1", vec![says("two", 3_000)])
            .with("j/1", vec![says("judged", 0)])
            .strategy("fusion")
            .text("judge", "j/m")
            .steps(|steps| steps.truncate(2))
    };
    // One is enough and the other has a second more; then: nobody has more than two seconds.
    let judged = |plan: Plan| plan.build().said(ask(false)).1.attempts.last().unwrap().started_ms;
    let soon = judged(three().number("min_panel", 1.0).number("grace", 1.0));
    assert!((2_000..2_050).contains(&soon), "{soon}");
    let limited = judged(three().number("limit", 2.0));
    assert!((2_000..2_050).contains(&limited), "{limited}");
    assert!((3_000..3_050).contains(&judged(three())));
}

#[test]
fn tools_go_to_one_and_nobody_left_is_an_error_with_counts() {
    let body = r#"{"model":"daily","messages":[{"role":"user","content":"x"}],"tools":[{"type":"function","function":{"name":"f","parameters":{"type":"object"}}}]}"#;
    let world = world().with("a/1", vec![]).with("b/1", vec![]).strategy("fusion").build();
    let (_, receipt) = world.said(ChatRequest::parse(wire::OPENAI_CHAT, body).unwrap());
    assert_eq!(receipt.attempts.len(), 1, "what tools do must not happen twice");
    let world = crate::script::world()
        .with("a/1", vec![unavailable()])
        .with("b/1", vec![Step::Fail(http(K::RateLimited, omniroute_core::Scope::Connection, 429))])
        .strategy("fusion")
        .build();
    let error = world.chat(ask(false)).unwrap_err();
    assert_eq!((error.status, error.code.as_str()), (503, "panel_failed"));
    assert!(error.message.contains("1 unavailable") && error.message.contains("1 rate_limited"), "{error}");
}

#[test]
fn when_the_judge_fails_the_answer_most_alike_is_given() {
    let world = world()
        .with("a/1", vec![says("the sky is green", 0), unavailable()])
        .with("b/1", vec![says("the sea is blue", 0), unavailable()])
        .with("c/1", vec![says("the sky is blue", 0), unavailable()])
        .strategy("fusion")
        .number("min_panel", 3.0)
        .build();
    let (text, receipt) = world.said(ask(false));
    assert!(text.contains("the sky is blue"), "{text}");
    assert!(receipt.degraded);
    world.at_rest();
}

#[test]
fn a_chain_hands_answers_on() {
    let world = world()
        .with("a/1", vec![says("a plan", 0)])
        .with("b/1", vec![])
        .strategy("pipeline")
        .steps(|steps: &mut Vec<StepConfig>| steps[1].prompt = Some("Carry out the plan.".to_owned()))
        .build();
    let (text, receipt) = world.said(ask(true));
    assert!(text.contains("b/1") && text.contains("chat.completion.chunk"), "the last step streams: {text}");
    assert_eq!(tried(&receipt), "a/1 b/1");
    let first = world.of("a/1").seen.lock().unwrap()[0].body.clone();
    assert!(first.contains(SECRET) && first.contains("\"stream\":false"), "{first}");
    let second = world.of("b/1").seen.lock().unwrap()[0].body.clone();
    assert!(
        second.contains("a plan") && second.contains("Carry out") && !second.contains(SECRET),
        "{second}"
    );
    world.at_rest();
}

#[test]
fn a_chain_carries_the_request_on_if_told_to() {
    for carry in [false, true] {
        let world = world()
            .with("a/1", vec![says("a plan", 0)])
            .with("b/1", vec![])
            .strategy("pipeline")
            .flag("carry_input", carry)
            .build();
        world.said(ask(false));
        let second = world.of("b/1").seen.lock().unwrap()[0].body.clone();
        assert!(second.contains("a plan") && second.contains(SECRET) == carry, "{second}");
    }
}

#[test]
fn a_chain_says_which_step_failed() {
    let world = world()
        .with("a/1", vec![says("a plan", 0)])
        .with("b/1", vec![unavailable()])
        .strategy("pipeline")
        .build();
    let error = world.chat(ask(false)).unwrap_err();
    assert_eq!((error.status, error.code.as_str()), (502, "pipeline_step_failed"));
    assert!(error.message.starts_with("step 2 of the chain"), "{error}");
    world.at_rest();
}
