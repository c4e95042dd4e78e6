//! What is too long: windows that answers name, a second, stronger compression; and streams that are held back.

use std::sync::Arc;
use std::time::Duration;

use omniroute_core::*;
use omniroute_route::{OptionMap, RouteReceipt, Router};

use crate::script::*;

/// An answer that says how long the request was and what is allowed.
fn overflow(limits: Option<(u64, u64)>) -> Step {
    let mut failure = http(FailureKind::ContextTooLong, Scope::Request, 400);
    if let Some((asked, most)) = limits {
        (failure.limits.asked, failure.limits.max) = (Some(asked), Some(most));
    }
    Step::Fail(failure)
}

/// A request of about so many tokens.
fn long(tokens: usize) -> ChatRequest {
    let text = "word ".repeat(tokens * 4 / 5);
    let body = format!(r#"{{"model":"daily","messages":[{{"role":"user","content":"{text}"}}]}}"#);
    ChatRequest::parse(wire::OPENAI_CHAT, body).unwrap()
}

fn two(a: Vec<Step>) -> Plan {
    world().speaking("a/1", wire::OPENAI_CHAT, 200_000, a).speaking(
        "b/1",
        wire::OPENAI_CHAT,
        1_000_000,
        vec![],
    )
}

#[test]
fn a_window_that_an_answer_named_is_remembered_for_a_day() {
    let world = two(vec![overflow(Some((150_000, 131_072)))]).build();
    assert_eq!(tried(&world.said(long(140_000)).1), "a/1 b/1");
    assert_eq!(tried(&world.said(long(140_000)).1), "b/1", "not asked in vain again");
    let told = world.router.explain(&long(140_000)).unwrap();
    assert_eq!(&*told.picks[0].key, "b/1/m");
    assert!(
        told.dropped.iter().any(|drop| &*drop.key == "a/1/m" && drop.reason == route::DropReason::Context)
    );
    assert_eq!(tried(&world.said(long(100_000)).1), "a/1", "what fits is asked");
    world.clock.advance(Duration::from_secs(24 * 3_600));
    assert_eq!(tried(&world.said(long(140_000)).1), "a/1");
}

#[test]
fn what_names_no_smaller_window_teaches_nothing() {
    // No number, no smaller one, one that the request does not exceed, one that is no window.
    for limits in [None, Some((250_000, 200_000)), Some((100, 131_072)), Some((150_000, 16))] {
        let world = two(vec![overflow(limits)]).build();
        assert_eq!(tried(&world.said(long(140_000)).1), "a/1 b/1");
        assert_eq!(tried(&world.said(long(140_000)).1), "a/1", "{limits:?}");
    }
}

#[test]
fn who_takes_more_than_was_said_is_believed() {
    let took = text_reply(wire::OPENAI_CHAT, "took it")
        .replace(r#""prompt_tokens":10"#, r#""prompt_tokens":140000"#);
    let world = two(vec![overflow(Some((150_000, 131_072))), Step::Whole(took)]).build();
    world.said(long(140_000));
    assert_eq!(tried(&world.said(long(1_000)).1), "a/1");
    assert_eq!(tried(&world.said(long(140_000)).1), "a/1");
}

#[test]
fn a_window_that_was_learned_is_not_called_large_enough() {
    let world =
        world().speaking("a/1", wire::OPENAI_CHAT, 200_000, vec![overflow(Some((150_000, 131_072)))]).build();
    assert_eq!(world.chat(long(140_000)).unwrap_err().status, 400);
    let error = world.chat(long(140_000)).unwrap_err();
    assert_eq!((error.status, error.code.as_str()), (400, "context_length_exceeded"));
    assert!(error.message.contains("more than any window") && !error.message.contains("200000"), "{error}");
    assert_eq!(world.of("a/1").calls(), 1);
}

/// Shortens only when it is asked for the stronger plan.
#[derive(Debug)]
struct Stronger(&'static str);

impl Compressor for Stronger {
    fn compress(&self, request: &mut ChatRequest, profile: Option<&str>, _: Moment) -> CompressReceipt {
        let mut receipt = CompressReceipt::default();
        (receipt.tokens_before, receipt.tokens_after) = (100, 90);
        if profile == Some(self.0) {
            let body = r#"{"model":"daily","messages":[{"role":"user","content":"short"}]}"#;
            request.replace_doc(Doc::parse(body).unwrap());
            receipt.tokens_after = 10;
        }
        receipt
    }
}

fn squeezing(a: Vec<Step>, plan: &'static str) -> Plan {
    two(a).text("on_overflow", "compress").builder(|builder| builder.compressor(Arc::new(Stronger(plan))))
}

fn sent(world: &World, name: &str, call: usize) -> String {
    world.of(name).seen.lock().unwrap()[call].body.clone()
}

fn notes(receipt: &RouteReceipt) -> String {
    receipt.notes.join(" ")
}

#[test]
fn what_is_too_long_is_compressed_harder_and_sent_there_once_more() {
    let world = squeezing(vec![overflow(None)], "aggressive").build();
    let (text, receipt) = world.said(long(1_000));
    assert!(text.contains("a/1"), "{text}");
    assert_eq!((tried(&receipt).as_str(), notes(&receipt).as_str()), ("a/1 a/1", "compressed_harder"));
    assert_eq!(receipt.compressed, Some((100, 10)));
    assert!(sent(&world, "a/1", 0).contains("word") && sent(&world, "a/1", 1).contains("short"));
    // Once: then a larger window, and that one has room for the whole request.
    let world = squeezing(vec![overflow(None), overflow(None)], "aggressive").build();
    let (_, receipt) = world.said(long(1_000));
    assert_eq!(tried(&receipt), "a/1 a/1 b/1");
    assert!(sent(&world, "b/1", 0).contains("word"));
    // Where that helps nothing, or nobody asked for it, the larger window is next.
    let world = squeezing(vec![overflow(None)], "another").build();
    let (_, receipt) = world.said(long(1_000));
    assert_eq!((tried(&receipt).as_str(), notes(&receipt).as_str()), ("a/1 b/1", "no_shorter"));
    let plan = squeezing(vec![overflow(None)], "another").text("overflow_profile", "another");
    assert_eq!(tried(&plan.build().said(long(1_000)).1), "a/1 a/1");
    let plan = squeezing(vec![overflow(None)], "aggressive").text("on_overflow", "next");
    assert_eq!(tried(&plan.build().said(long(1_000)).1), "a/1 b/1");
    // No third attempt at one target.
    let plan = squeezing(vec![overflow(None)], "aggressive").number("max_attempts", 1.0);
    assert_eq!(tried(&plan.build().said(long(1_000)).1), "a/1");
}

#[test]
fn what_fits_into_no_window_is_compressed_harder_before_it_is_refused() {
    let plan = || world().speaking("a/1", wire::OPENAI_CHAT, 8_000, vec![]);
    let squeezing = plan()
        .text("on_overflow", "compress")
        .builder(|builder| builder.compressor(Arc::new(Stronger("aggressive"))));
    let world = squeezing.build();
    let (_, receipt) = world.said(long(20_000));
    assert_eq!((tried(&receipt).as_str(), notes(&receipt).as_str()), ("a/1", "compressed_harder"));
    assert!(sent(&world, "a/1", 0).contains("short"));
    let world = plan().builder(|builder| builder.compressor(Arc::new(Stronger("aggressive")))).build();
    assert_eq!(world.chat(long(20_000)).unwrap_err().status, 400);
}

/// A route has a plan of compression of its own; a request that names one goes before it, and a name that the compressor
/// does not know is told.
#[test]
fn the_plan_of_a_route_holds_where_the_request_names_none() {
    /// Says by which plan it was asked.
    #[derive(Debug)]
    struct Named;
    impl Compressor for Named {
        fn compress(&self, _: &mut ChatRequest, profile: Option<&str>, _: Moment) -> CompressReceipt {
            let mut receipt = CompressReceipt::default();
            receipt.plan = match profile {
                Some("nobody's") => {
                    receipt.notes.push(omniroute_core::Diagnostic::new(
                        "ignored_unknown",
                        "",
                        "used another",
                    ));
                    "usual".to_owned()
                }
                other => other.unwrap_or("usual").to_owned(),
            };
            receipt
        }
    }
    let world = |plan: Option<&str>| {
        let start = two(vec![]).builder(|builder| builder.compressor(Arc::new(Named)));
        match plan {
            Some(plan) => start.text("compression", plan).build(),
            None => start.build(),
        }
    };
    let told = |world: &World, asked: Option<&str>| {
        let mut options = omniroute_route::ChatOptions::default();
        options.profile = asked.map(str::to_owned);
        let reply = world.drive(world.router.chat_with(ask(false), &options)).unwrap();
        let (_, receipt) = world.read(reply);
        let by = receipt.compression.clone().unwrap();
        format!("{} {} {}", by.plan, by.source.word(), notes(&receipt))
    };
    assert_eq!(told(&world(None), None), "usual default ");
    assert_eq!(told(&world(Some("rtk")), None), "rtk route ");
    assert_eq!(told(&world(Some("rtk")), Some("safe")), "safe request ");
    assert_eq!(told(&world(Some("nobody's")), None), "usual default compression_ignored");
    assert_eq!(world(Some("rtk")).router.compression_of("daily").as_deref(), Some("rtk"));
    assert_eq!(world(None).router.compression_of("daily"), None);
}

#[test]
fn compression_that_nobody_does_is_refused_when_it_is_configured() {
    let options = |pairs: &[(&str, &str)]| -> OptionMap {
        let pair = |(key, value): &(&str, &str)| {
            ((*key).to_owned(), omniroute_route::OptionValue::Text((*value).to_owned()))
        };
        pairs.iter().map(pair).collect()
    };
    let build = |options: OptionMap| {
        let host = omniroute_core::testing::host(&omniroute_core::testing::VirtualClock::default());
        let mut combo = omniroute_route::ComboConfig::new("x", "priority", Vec::new());
        combo.options = options;
        Router::builder(host).combo(combo).build().unwrap_err().to_string()
    };
    let error = build(options(&[("on_overflow", "compress")]));
    assert!(error.contains("combo.x.on_overflow is \"compress\", which needs a compressor"), "{error}");
    let error = build(options(&[("compression", "rtk")]));
    assert!(error.contains("combo.x.compression is \"rtk\", which needs a compressor"), "{error}");
    let error = build(options(&[("overflow_profile", "ultra")]));
    assert!(error.contains("combo.x.overflow_profile is \"ultra\", which is only used with"), "{error}");
}

fn streams(pieces: Vec<Piece>, strict: bool) -> (String, RouteReceipt, World) {
    let world = world()
        .with("a/1", vec![Step::Stream(pieces)])
        .with("b/1", vec![])
        .flag("strict_stream", strict)
        .build();
    let (text, receipt) = world.said(ask(true));
    world.at_rest();
    (text, receipt, world)
}

#[test]
fn a_strict_stream_fails_over_after_its_first_words_too() {
    let breaks = || vec![role(), delta("hel"), Piece::Fail(fail(FailureKind::Unavailable, Scope::Provider))];
    let (text, receipt, _) = streams(breaks(), false);
    assert!(tried(&receipt) == "a/1" && text.contains("upstream_interrupted"), "{text}");
    let (text, receipt, _) = streams(breaks(), true);
    assert_eq!(tried(&receipt), "a/1 b/1");
    assert!(!text.contains("hel") && text.contains("b/1") && !text.contains("interrupted"), "{text}");
}

#[test]
fn a_strict_stream_is_held_for_two_seconds_or_two_hundred_characters() {
    let pieces = |text: &str| vec![role(), delta(text), Piece::Wait(5_000), delta("end"), stop(), done()];
    let first = |text: &str, strict| {
        let (text, receipt, _) = streams(pieces(text), strict);
        assert!(receipt.finished && text.ends_with("[DONE]\n\n"), "{text}");
        receipt.attempts[0].first_ms.unwrap()
    };
    assert!(first("few", false) < 50);
    assert!((2_000..2_050).contains(&first("few", true)));
    assert!(first(&"ü".repeat(200), true) < 50);
    let short = vec![role(), delta("all"), stop(), done()];
    let (text, receipt, _) = streams(short.clone(), true);
    assert_eq!((text, receipt.attempts[0].first_ms), (bytes_of(&short), Some(0)), "an end is enough");
}
