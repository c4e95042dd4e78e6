//! Time: an attempt's, a request's, waits; and permits, whatever is dropped when.

use std::time::Duration;

use omniroute_core::{FailureKind as K, Scope, UnixMs};
use omniroute_resilience::{Class, ConnectionSpec};

use crate::script::*;

#[test]
fn an_attempt_that_takes_too_long_is_dropped_and_blamed() {
    for stream in [false, true] {
        let world =
            world().with("a/1", vec![Step::Hang]).with("b/1", vec![]).number("target_timeout", 2.0).build();
        let (text, receipt) = world.said(ask(stream));
        assert!(text.contains("b/1"), "{text}");
        let late = &receipt.attempts[0];
        assert_eq!((late.kind, late.rule.as_str()), (Some(K::Timeout), "router.target_timeout"));
        assert!((2_000..2_050).contains(&late.ended_ms.unwrap()), "{late:?}");
        world.at_rest();
    }
}

#[test]
fn a_stream_without_content_takes_too_long_as_well() {
    let silent = Step::Stream(vec![role(), comment(), Piece::Wait(60_000), delta("late"), done()]);
    let world = world().with("a/1", vec![silent]).with("b/1", vec![]).number("target_timeout", 5.0).build();
    let (text, receipt) = world.said(ask(true));
    assert!(text.contains("b/1") && !text.contains("late"), "{text}");
    assert_eq!(receipt.attempts[0].kind, Some(K::Timeout));
    world.at_rest();
}

#[test]
fn the_requests_time_ends_everything_and_blames_nobody() {
    let world = world()
        .with("a/1", vec![Step::After(2_500, Box::new(unavailable()))])
        .with("b/1", vec![Step::Hang])
        .with("c/1", vec![])
        .number("deadline", 4.0)
        .build();
    let (text, receipt) = world.said(ask(false));
    assert_eq!((text.as_str(), tried(&receipt).as_str()), ("504 combo_timeout", "a/1 b/1"));
    assert!((4_000..4_050).contains(&receipt.attempts[1].ended_ms.unwrap()));
    world.at_rest();
    let resting: Vec<_> =
        world.router.health().resilience.connections.iter().map(|c| c.provider.to_string()).collect();
    assert_eq!(resting, ["a"], "b had no time and is not to blame");
}

#[test]
fn less_than_a_second_starts_nothing() {
    let world = world()
        .with("a/1", vec![Step::After(3_500, Box::new(unavailable()))])
        .with("b/1", vec![])
        .number("deadline", 4.0)
        .build();
    let (text, receipt) = world.said(ask(false));
    assert_eq!((text.as_str(), tried(&receipt).as_str()), ("504 combo_timeout", "a/1"));
}

#[test]
fn everybody_rests_for_a_moment_and_the_wait_is_worth_it() {
    let mut limited = http(K::RateLimited, Scope::Connection, 429);
    limited.retry_at = Some(UnixMs(1_700_000_000_000 + 3_000));
    limited.declared = true;
    let world = world().with("a/1", vec![Step::Fail(limited)]).build();
    assert_eq!(world.said(ask(false)).0, "429 upstream_failed");
    let (text, receipt) = world.said(ask(false));
    assert!(text.contains("a/1"), "{text}");
    assert!((2_900..3_200).contains(&receipt.waited_ms), "{}", receipt.waited_ms);
    world.at_rest();
}

#[test]
fn a_full_connection_is_passed_over_and_at_last_waited_for() {
    let mut spec = ConnectionSpec::new("a", "1", Class::ApiKey);
    spec.limits.max_concurrent = Some(1);
    let slow = || Step::After(1_000, Box::new(Step::Answer));
    let plan = world().with("a/1", vec![slow(), slow()]).with("b/1", vec![]);
    let world = plan.builder(|builder| builder.spec(spec.clone())).build();
    let (one, two) =
        world.drive(futures::future::join(world.router.chat(ask(false)), world.router.chat(ask(false))));
    let ((one, _), (two, receipt)) = (world.read(one.unwrap()), world.read(two.unwrap()));
    assert!(one.contains("a/1") && two.contains("b/1"), "{one} {two}");
    assert_eq!(tried(&receipt), "b/1");
    let world = crate::script::world()
        .with("a/1", vec![slow(), slow()])
        .builder(|builder| builder.spec(spec))
        .build();
    let (one, two) =
        world.drive(futures::future::join(world.router.chat(ask(false)), world.router.chat(ask(false))));
    let (_, receipt) = world.read(two.unwrap());
    assert!(receipt.finished && receipt.waited_ms >= 990, "{}", receipt.waited_ms);
    drop(one);
    world.at_rest();
}

#[test]
fn whoever_failed_rests_at_the_very_next_request() {
    let world = world().with("a/1", vec![unavailable()]).with("b/1", vec![]).build();
    world.said(ask(false));
    for _ in 0..3 {
        assert_eq!(tried(&world.said(ask(false)).1), "b/1");
    }
    world.clock.advance(Duration::from_secs(60));
    assert_eq!(tried(&world.said(ask(false)).1), "a/1", "and comes back by itself");
}

#[test]
fn dropped_at_any_moment_nothing_stays_behind() {
    use std::task::{Context, Waker};
    for stream in [false, true] {
        for polls in 0..60 {
            let slow = |step| Step::After(40, Box::new(step));
            let world = world()
                .with("a/1", vec![slow(Step::Fail(http(K::RateLimited, Scope::Connection, 429)))])
                .with("b/1", vec![slow(Step::Answer)])
                .build();
            {
                let mut chat = Box::pin(world.router.chat(ask(stream)));
                for _ in 0..polls {
                    if chat.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_ready() {
                        break;
                    }
                    world.clock.advance(Duration::from_millis(10));
                }
            }
            world.at_rest();
            let counts = world.router.health().resilience.counts;
            assert!(counts.abandoned <= 1, "{counts:?}");
            let (text, _) = world.said(ask(false));
            assert!(text.contains("chat.completion"), "the next request is answered: {text}");
        }
    }
}
