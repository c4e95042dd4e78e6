//! Rules of a combo that answers have to keep.

use omniroute_core::wire;
use omniroute_route::{OptionValue, RouteReceipt};

use crate::script::*;

fn says(text: &str) -> Step {
    Step::Whole(text_reply(wire::OPENAI_CHAT, text))
}

fn ruled(a: Vec<Step>, without: &str) -> Plan {
    let list = OptionValue::List(vec![OptionValue::Text(without.to_owned())]);
    world().with("a/1", a).with("b/1", vec![]).option("reply_without", list)
}

fn notes(receipt: &RouteReceipt) -> String {
    receipt.notes.join(" ")
}

#[test]
fn an_answer_that_breaks_a_rule_is_none_and_nobody_is_blamed() {
    let world = ruled(vec![says("so sorry"), says("sorry"), says("sorry"), says("sorry")], "sorry").build();
    let (text, receipt) = world.said(ask(false));
    assert!(text.contains("b/1"), "{text}");
    assert_eq!(tried(&receipt), "a/1 a/1 b/1", "once more there, then the next");
    assert_eq!(receipt.attempts[0].rule, "router.reply_without");
    assert!(world.router.health().resilience.connections.is_empty(), "the rule is ours");
    let (text, receipt) = world.said(ask(false));
    assert!(text.contains("b/1") && tried(&receipt).starts_with("a/1"), "no lock: {text}");
    // The same answers without the rule, and another answer with it.
    assert_eq!(tried(&ruled(vec![says("so sorry")], "glad").build().said(ask(false)).1), "a/1");
    assert_eq!(tried(&ruled(vec![says("glad")], "sorry").build().said(ask(false)).1), "a/1");
    world.at_rest();
}

#[test]
fn a_stream_is_ruled_only_where_it_is_held_back_to_its_end() {
    let sorry = || Step::Stream(text_stream(wire::OPENAI_CHAT, "so sorry"));
    let (text, receipt) = ruled(vec![sorry()], "sorry").build().said(ask(true));
    assert!(text.contains("so sorry"), "{text}");
    assert_eq!(notes(&receipt), "rules_not_checked");
    let world = ruled(vec![sorry(), sorry()], "sorry").text("strict_stream", "full").build();
    let (text, receipt) = world.said(ask(true));
    assert!(!text.contains("sorry") && text.contains("b/1"), "{text}");
    assert_eq!((tried(&receipt).as_str(), notes(&receipt).as_str()), ("a/1 a/1 b/1", ""));
    assert!(receipt.finished && receipt.streamed);
    world.at_rest();
    let good = text_stream(wire::OPENAI_CHAT, "glad");
    let world = ruled(vec![Step::Stream(good.clone())], "sorry").text("strict_stream", "full").build();
    assert_eq!(world.said(ask(true)).0, bytes_of(&good), "it passes as it came");
}

#[test]
fn a_stream_that_is_held_back_to_its_end_may_break_off_anywhere() {
    let breaks = vec![role(), delta("hel"), delta("lo"), Piece::Wait(9_000)];
    let world = world()
        .with("a/1", vec![Step::Stream(breaks)])
        .with("b/1", vec![])
        .text("strict_stream", "full")
        .build();
    let (text, receipt) = world.said(ask(true));
    assert!(!text.contains("hel") && text.contains("b/1"), "{text}");
    assert_eq!(tried(&receipt), "a/1 b/1");
    world.at_rest();
}

#[test]
fn answers_that_call_tools_are_not_ruled() {
    let body = r#"{"model":"daily","messages":[{"role":"user","content":"x"}],"tools":[{"type":"function","function":{"name":"f","parameters":{"type":"object"}}}]}"#;
    let request = omniroute_core::ChatRequest::parse(wire::OPENAI_CHAT, body).unwrap();
    let world = world()
        .speaking("a/1", wire::ANTHROPIC, 100_000, vec![Step::Calls("f")])
        .number("reply_least", 1_000.0)
        .build();
    let (text, receipt) = world.said(request);
    assert!(text.contains("tool_calls") && tried(&receipt) == "a/1", "{text}");
}
