//! Streams: what commits, what moves on before that, what the client is told after it.

use futures::StreamExt;
use omniroute_core::{FailureKind as K, Scope, wire};
use omniroute_route::ReplyBody;
use proptest::prelude::*;

use crate::script::*;

fn broken() -> Piece {
    Piece::Fail(fail(K::Unavailable, Scope::Provider))
}

#[test]
fn bytes_of_the_same_wire_pass_unchanged() {
    let pieces = vec![comment(), role(), delta("hi"), comment(), delta(" there"), stop(), done()];
    let world = world().with("a/1", vec![Step::Stream(pieces.clone())]).build();
    let (text, receipt) = world.said(ask(true));
    assert_eq!(text, bytes_of(&pieces));
    assert!(receipt.streamed && receipt.committed && receipt.finished, "{receipt:?}");
    world.at_rest();
}

#[test]
fn an_error_after_keep_alives_is_never_seen() {
    let world = world()
        .with("a/1", vec![Step::Stream(vec![comment(), role(), comment(), broken()])])
        .with("b/1", vec![])
        .build();
    let (text, receipt) = world.said(ask(true));
    assert_eq!(text, bytes_of(&text_stream(wire::OPENAI_CHAT, "b/1")), "one clean stream");
    assert_eq!(tried(&receipt), "a/1 b/1");
    assert!(!receipt.attempts[0].committed && receipt.attempts[1].committed);
    world.at_rest();
}

#[test]
fn an_error_after_text_is_told_and_nobody_else_is_asked() {
    let world = world()
        .with("a/1", vec![Step::Stream(vec![role(), delta("half an ans"), broken()])])
        .with("b/1", vec![])
        .build();
    let (text, receipt) = world.said(ask(true));
    assert!(text.starts_with(&bytes_of(&[role(), delta("half an ans")])), "{text}");
    assert!(text.contains("upstream_interrupted"), "{text}");
    assert!(!text.contains("\"finish_reason\":\"stop\""), "it looks nothing like success: {text}");
    assert_eq!(tried(&receipt), "a/1");
    assert!(receipt.committed && !receipt.finished);
    assert_eq!(receipt.attempts[0].kind, Some(K::Unavailable));
    assert_eq!(world.of("b/1").calls(), 0);
    world.at_rest();
}

#[test]
fn a_client_of_another_wire_hears_of_it_in_its_own() {
    let cut = vec![role(), delta("half"), broken()];
    let world = world().with("a/1", vec![Step::Stream(cut)]).build();
    let (text, _) = world.said(ask_anthropic(true));
    assert!(text.contains("event: message_start") && text.contains("half"), "{text}");
    assert!(text.contains("event: error") && text.contains("interrupted"), "{text}");
}

#[test]
fn the_stream_is_in_the_clients_wire() {
    let world = world().speaking("a/1", wire::ANTHROPIC, 100_000, vec![]).build();
    let (text, receipt) = world.said(ask(true));
    assert!(text.contains("chat.completion.chunk") && text.contains("a/1"), "{text}");
    assert!(text.trim_end().ends_with("data: [DONE]"), "{text}");
    assert_eq!((receipt.tokens.input, receipt.tokens.output), (10, 5));
}

#[test]
fn error_objects_cuts_and_silence_before_content_move_on() {
    let error =
        Piece::Bytes("data: {\"error\":{\"message\":\"no\",\"type\":\"server_error\"}}\n\n".to_owned());
    for pieces in [
        vec![error],
        vec![role(), stop(), done()],
        vec![role(), done()],
        vec![role()],
        vec![],
        vec![Piece::Bytes(r#"{"error":{"message":"overloaded","type":"server_error"}}"#.to_owned())],
        vec![Piece::Bytes("<html><body>bad gateway</body></html>".to_owned())],
        vec![Piece::Bytes("data: {not json\n\n".to_owned())],
    ] {
        let world = world().with("a/1", vec![Step::Stream(pieces.clone()); 2]).with("b/1", vec![]).build();
        let (text, receipt) = world.said(ask(true));
        assert_eq!(text, bytes_of(&text_stream(wire::OPENAI_CHAT, "b/1")), "{pieces:?}");
        assert!(receipt.attempts.iter().rev().skip(1).all(|a| a.kind.is_some() && !a.committed));
        world.at_rest();
    }
}

#[test]
fn what_breaks_after_the_end_takes_nothing_from_the_answer() {
    let mut pieces = text_stream(wire::OPENAI_CHAT, "a/1");
    let all = bytes_of(&pieces);
    pieces.push(broken());
    // Also where it is held back to its end.
    for world in [world(), world().text("strict_stream", "full")] {
        let world = world.with("a/1", vec![Step::Stream(pieces.clone())]).build();
        let (text, receipt) = world.said(ask(true));
        assert_eq!(text, all);
        assert!(receipt.finished && receipt.attempts[0].kind.is_none(), "{receipt:?}");
        assert!(world.router.health().resilience.connections.is_empty(), "nobody is blamed");
        world.at_rest();
    }
}

#[test]
fn a_stream_that_ends_without_its_end_is_an_interruption() {
    let world = world().with("a/1", vec![Step::Stream(vec![role(), delta("half")])]).build();
    let (text, receipt) = world.said(ask(true));
    assert!(text.contains("upstream_interrupted"), "{text}");
    assert!(!receipt.finished);
    assert_eq!(receipt.attempts[0].kind, Some(K::BadReply));
}

#[test]
fn a_client_that_goes_while_nothing_is_there_blames_nobody() {
    let pieces = vec![comment(), role(), Piece::Hang];
    let world = world().with("a/1", vec![Step::Stream(pieces)]).with("b/1", vec![]).build();
    {
        let mut chat = Box::pin(world.router.chat(ask(true)));
        for _ in 0..20 {
            let mut cx = std::task::Context::from_waker(std::task::Waker::noop());
            assert!(chat.as_mut().poll(&mut cx).is_pending());
        }
        assert_eq!(world.of("a/1").open.load(std::sync::atomic::Ordering::SeqCst), 1);
    }
    world.at_rest();
    let health = world.router.health().resilience;
    assert!(health.connections.is_empty() && health.breakers.iter().all(|breaker| breaker.failures == 0));
    assert_eq!(health.counts.abandoned, 1);
    let (_, receipt) = world.said(ask(true));
    assert_eq!(tried(&receipt), "a/1", "it is asked again");
}

#[test]
fn a_client_that_leaves_a_stream_ends_the_call() {
    let pieces = vec![role(), delta("x"), Piece::Hang];
    let world = world().with("a/1", vec![Step::Stream(pieces)]).build();
    let reply = world.chat(ask(true)).unwrap();
    let ReplyBody::Stream(mut stream) = reply.body else { panic!("a stream") };
    assert!(world.drive(stream.next()).is_some());
    drop(stream);
    world.at_rest();
    assert!(world.router.health().resilience.connections.is_empty());
}

/// Some clients stop at the mark of the end and never read on.
#[test]
fn a_client_that_stops_at_the_end_has_the_whole_answer() {
    for stops_at in ["[DONE]", "\"stop\""] {
        let world = world().with("a/1", vec![Step::Stream(text_stream(wire::OPENAI_CHAT, "a/1"))]).build();
        let reply = world.chat(ask(true)).unwrap();
        let receipt = reply.receipt_handle();
        let ReplyBody::Stream(mut stream) = reply.body else { panic!("a stream") };
        while let Some(piece) = world.drive(stream.next()) {
            if String::from_utf8_lossy(&piece).contains(stops_at) {
                break;
            }
        }
        drop(stream);
        // The twin: who leaves one piece earlier does not know that it was the end.
        assert_eq!(receipt.now().finished, stops_at == "[DONE]", "{stops_at}");
        world.at_rest();
    }
}

#[test]
fn whole_where_a_stream_was_asked_for_and_the_other_way_round() {
    let whole = Step::Whole(text_reply(wire::OPENAI_CHAT, "all at once"));
    let world =
        world().with("a/1", vec![whole, Step::Stream(text_stream(wire::OPENAI_CHAT, "in pieces"))]).build();
    let (text, _) = world.said(ask(true));
    assert!(text.contains("chat.completion.chunk") && text.contains("all at once"), "{text}");
    let (text, _) = world.said(ask(false));
    assert!(text.contains("\"object\":\"chat.completion\"") && text.contains("in pieces"), "{text}");
    world.at_rest();
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, failure_persistence: None, rng_seed: proptest::test_runner::RngSeed::Fixed(3), ..ProptestConfig::default() })]

    /// However streams are cut and wherever they break: what the client reads comes from exactly one target.
    #[test]
    fn one_stream_has_one_author(
        cuts in prop::collection::vec(1_usize..40, 1..30),
        breaks in prop::collection::vec(0_usize..12, 3),
        anthropic: bool,
    ) {
        let mut plan = world();
        for (n, at) in breaks.iter().enumerate() {
            let name = format!("{}/1", ["a", "b", "c"][n]);
            let mut pieces = vec![comment(), role(), comment()];
            pieces.extend((0..5).map(|part| delta(&format!("<{name}:{part}>"))));
            pieces.extend([stop(), done()]);
            pieces.truncate((*at).min(pieces.len()));
            let complete = *at >= 10;
            // Cut anew: any sizes of pieces.
            let all = bytes_of(&pieces);
            let (mut rest, mut sizes) = (all.as_str(), cuts.iter().cycle());
            let mut again = Vec::new();
            while !rest.is_empty() {
                let (piece, after) = rest.split_at((*sizes.next().unwrap()).min(rest.len()));
                again.push(Piece::Bytes(piece.to_owned()));
                rest = after;
            }
            if !complete {
                again.push(broken());
            }
            plan = plan.with(&name, vec![Step::Stream(again)]);
        }
        let world = plan.build();
        let request = if anthropic { ask_anthropic(true) } else { ask(true) };
        let (text, receipt) = world.said(request);
        let authors = ["<a/1:", "<b/1:", "<c/1:"].iter().filter(|mark| text.contains(**mark)).count();
        prop_assert!(authors <= 1, "{text}");
        let committed = receipt.attempts.iter().filter(|attempt| attempt.committed).count();
        prop_assert_eq!(committed, usize::from(receipt.committed));
        // The broken twin: two streams one after the other are caught by the same count.
        let twin = format!("{}{}", bytes_of(&[delta("<a/1:0>")]), bytes_of(&[delta("<b/1:0>")]));
        prop_assert_eq!(["<a/1:", "<b/1:"].iter().filter(|mark| twin.contains(**mark)).count(), 2);
        world.at_rest();
    }
}
