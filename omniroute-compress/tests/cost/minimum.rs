//! A prompt is not made so short that the provider's cache no longer keeps it: no session costs more than without us.

#![expect(clippy::unwrap_used, reason = "helpers of tests stop like tests")]

use std::hash::{DefaultHasher, Hash, Hasher};

use omniroute_compress::cost::{Block, CachePolicy, Prices, Request, simulate};
use omniroute_compress::{CallOptions, Compress};
use omniroute_core::wire::Wire;
use omniroute_core::{ChatRequest, Estimator, Moment, SessionId, Tokenizer, Transcript};
use proptest::prelude::*;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use serde_json::json;

use crate::common::agent::{Agent, WIRES};

/// A body as its cache sees it: one block a text.
fn seen(wire: Wire, body: &[u8]) -> Request {
    let request = ChatRequest::parse(wire, body.to_vec()).unwrap();
    let transcript = Transcript::of(&request).unwrap();
    let tokens = Estimator::for_model(&request.head().model.map(|m| m.decode()).unwrap_or_default());
    let block = |segment: &omniroute_core::Segment<'_>| {
        let mut hasher = DefaultHasher::new();
        (segment.kind as u8, segment.raw()).hash(&mut hasher);
        Block::new(u64::from(tokens.count(segment.original())), hasher.finish())
    };
    Request::new(transcript.segments().iter().map(block).collect::<Vec<_>>(), 0)
}

/// Cost of the requests in 1e-12 USD, without us and with us, where writes are priced and where they are free.
fn bills(wire: Wire, bodies: &[Vec<u8>], one_shot: bool) -> [[u128; 2]; 2] {
    let compress = Compress::builder().plan("safe").build().unwrap();
    let session = SessionId::new("s");
    let with: Vec<Request> = bodies
        .iter()
        .map(|body| {
            let mut request = ChatRequest::parse(wire, body.clone()).unwrap().with_session(session.clone());
            let options = CallOptions::default().one_shot(one_shot);
            seen(wire, &compress.compress_with(&mut request, options, Moment::default()).body)
        })
        .collect();
    let without: Vec<Request> = bodies.iter().map(|body| seen(wire, body)).collect();
    let caches = [(CachePolicy::anthropic_5m(), "claude-sonnet-4-5"), (CachePolicy::automatic(), "gpt-4o")];
    caches.map(|(cache, model)| {
        let prices = Prices::of_model(model).unwrap();
        [&without, &with].map(|requests| simulate(requests, &prices, &cache).total.cost.pico())
    })
}

fn dearer(bills: &[[u128; 2]; 2]) -> bool {
    bills.iter().any(|[without, with]| with > without)
}

#[test]
fn no_recorded_session_costs_more() {
    let (mut short, mut saved) = (0, 0);
    for session in crate::common::all() {
        let bodies: Vec<Vec<u8>> = session.cuts(10).into_iter().map(|n| session.first(n)).collect();
        let bills = bills(session.wire, &bodies, false);
        assert!(!dearer(&bills), "{}: {bills:?}", session.name);
        short += usize::from(bodies.last().unwrap().len() < 12_000);
        saved += usize::from(bills.iter().all(|[without, with]| with < without));
    }
    assert!(saved >= 5, "{saved} sessions cost less");
    eprintln!("{short} sessions are short, {saved} cost less");
}

/// Lines of a build that say nothing, and one that does.
fn output(lines: usize, turn: usize) -> String {
    let line = |n: usize| match n {
        5 => format!("warning: unused variable `left_{turn}`\n  --> src/part_{turn}.rs:{}:9\n", turn + 11),
        _ => format!("   Compiling crate-{}-{turn} v1.{}.{n}\n", n % 7, n % 5),
    };
    (0..lines).map(line).collect::<String>() + "    Finished dev profile in 3.1s\n"
}

fn conversation(wire: Wire, question: usize, sizes: &[usize]) -> Vec<Vec<u8>> {
    let mut agent = Agent::new(wire, &["bash"], &"Please make the build pass again. ".repeat(question));
    let mut bodies = vec![agent.bytes()];
    for (turn, lines) in sizes.iter().enumerate() {
        agent.call("bash", json!({"command": "cargo build"}), output(*lines, turn));
        bodies.push(agent.bytes());
    }
    bodies
}

/// The twin takes every request for the last one and compresses it as if nothing followed.
#[test]
fn no_short_conversation_costs_more_and_the_twin_does() {
    let cases = (0..WIRES.len(), 1..90usize, prop::collection::vec(2..60usize, 1..10));
    let run = |one_shot: bool| {
        let config = Config { cases: 150, failure_persistence: None, ..Config::default() };
        let rng = TestRng::from_seed(RngAlgorithm::ChaCha, &[5; 32]);
        TestRunner::new_with_rng(config, rng).run(&cases, |(wire, question, sizes)| {
            let bills = bills(WIRES[wire], &conversation(WIRES[wire], question, &sizes), one_shot);
            prop_assert!(!dearer(&bills), "{:?}", bills);
            Ok(())
        })
    };
    run(false).unwrap();
    assert!(run(true).is_err(), "the twin costs more somewhere");
}

/// What the receipt says, and that the rule ends where the prompt is long enough.
#[test]
fn the_receipt_names_the_texts_that_stay() {
    let compress = Compress::builder().plan("safe").build().unwrap();
    let call = |options: CallOptions, session: Option<&str>, question| {
        let body = conversation(WIRES[0], question, &[25]).pop().unwrap();
        let mut request = ChatRequest::parse(WIRES[0], body).unwrap();
        if let Some(name) = session {
            request = request.with_session(SessionId::new(name));
        }
        let receipt = compress.compress_with(&mut request, options, Moment::default()).receipt;
        let kept: u32 = receipt.steps.iter().filter_map(|s| s.skips.get("below_cache_minimum")).sum();
        (receipt.tokens_after < receipt.tokens_before, kept > 0)
    };
    let default = CallOptions::default;
    assert_eq!(call(default(), Some("a"), 10), (false, true), "a short conversation that goes on");
    assert_eq!(call(default(), None, 10), (true, false), "nobody says that it goes on");
    assert_eq!(call(default().one_shot(true), Some("a"), 10), (true, false), "it does not go on");
    assert_eq!(call(default(), Some("b"), 300), (true, false), "long enough");
}
