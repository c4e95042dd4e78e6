//! Admit, permit, report: what the whole does, on the memory store and in virtual time.

use std::sync::atomic::Ordering::Relaxed;
use std::task::{Context, Poll};

use crate::common::*;
use futures::executor::block_on;
use omniroute_core::{
    Clock, ConnectionId, Evidence, Failure, FailureKind, Key, ProviderId, Purpose, ResilienceStore, Scope,
    Target,
};
use omniroute_resilience::{AdmitContext, Blocked, Budget, Class, Columns, Config, ConnectionSpec, advise};

pub(super) fn unavailable() -> Failure {
    failure(FailureKind::Unavailable, Scope::Provider, 503)
}

#[test]
fn healthy_requests_cost_no_call_of_a_shared_store_beyond_one_refresh() {
    let world = World::with(keys("p", 20), Config::default(), true);
    let picks = world.targets("m");
    world.attempt(&picks, None).unwrap();
    assert_eq!(world.store.calls(), (1, 0), "one batched read");
    for _ in 0..200 {
        world.attempt(&picks, None).unwrap();
    }
    assert_eq!(world.store.calls(), (1, 0), "nothing is reserved, nothing is asked");
    world.wait(60);
    world.attempt(&picks, None).unwrap();
    assert_eq!(world.store.calls(), (2, 0), "too old: read once");
    assert_eq!(world.resilience.counts().commits, 0, "s-01: not one write");
}

#[test]
fn a_herd_of_failures_counts_once() {
    let world = World::new(1);
    let picks = world.targets("m");
    let permits: Vec<_> = (0..1_000).map(|_| world.admit(&picks).unwrap()).collect();
    for (n, permit) in permits.into_iter().enumerate() {
        if n == 700 {
            let failure = declared(rate_limited(), &world.clock, 600_000);
            world.fail(permit, failure);
        } else if n == 900 {
            world.succeed(permit);
        } else {
            world.fail(permit, rate_limited());
        }
        world.wait(1);
        if n == 699 {
            assert_eq!(world.resilience.look(picks[0]).level, 1);
        }
    }
    let standing = world.resilience.look(picks[0]);
    assert_eq!((standing.level, standing.in_flight), (1, 0));
    let denial = world.admit(&picks).unwrap_err();
    assert_eq!((denial.status, denial.code), (429, "all_connections_cooling"));
    assert!((598..=602).contains(&denial.retry_after.unwrap()), "t_0_02, t_0_03: {denial:?}");
    assert_eq!(world.resilience.counts().stale_failures, 997);
}

#[test]
fn two_processes_on_one_store_count_once() {
    let mut world = World::with(keys("p", 1), Config::default(), true);
    let other = world.process();
    let picks = world.targets("m");
    let others = handles(&other, &world.specs, "m");
    let mut permits = Vec::new();
    for _ in 0..500 {
        permits.push(world.admit(&picks).unwrap());
        permits.push(admit(&other, &others).unwrap());
    }
    for permit in permits {
        world.fail(permit, rate_limited());
    }
    assert_eq!(world.resilience.look(picks[0]).level, 1);
    world.wait(251);
    assert!(admit(&other, &others).is_err(), "the other one sees it a quarter of a second later");
}

#[test]
fn every_local_error_fed_back_changes_nothing() {
    let world = World::new(2);
    let picks = world.targets("m");
    for reason in
        [FailureKind::Unavailable, FailureKind::RateLimited, FailureKind::Unauthorized, FailureKind::Timeout]
    {
        for scope in Scope::ALL {
            let mut failure = Failure::local(reason, "local_capacity", "queue is full");
            failure.scope = scope;
            failure.status = Some(503);
            world.attempt(&picks, Some(failure)).unwrap();
        }
    }
    world.attempt(&picks, Some(failure(FailureKind::Cancelled, Scope::None, 499))).unwrap();
    assert_eq!(world.store.inner.usage().records, 0);
    // The crate's own denials are such errors.
    world.attempt(&picks[..1], Some(rate_limited())).unwrap();
    let denial = world.admit(&picks[..1]).unwrap_err();
    let before = world.store.calls();
    world.attempt(&picks[1..], Some(denial.failure())).unwrap();
    assert_eq!(world.store.calls().1, before.1);
}

#[test]
fn slots_are_given_back_by_report_drop_and_time() {
    let mut specs = keys("p", 1);
    specs[0].limits.max_concurrent = Some(3);
    let world = World::with(specs, Config::default(), true);
    let picks = world.targets("m");
    let mut permits: Vec<_> = (0..3).map(|_| world.admit(&picks).unwrap()).collect();
    let denial = world.admit(&picks).unwrap_err();
    assert_eq!((denial.code, denial.reason), ("local_capacity", Blocked::Slots));
    world.succeed(permits.pop().unwrap());
    permits.push(world.admit(&picks).unwrap());
    drop(permits.pop());
    permits.push(world.admit(&picks).unwrap());
    // A process that dies leaves its slots to their ends.
    for permit in permits {
        std::mem::forget(permit);
    }
    world.wait(119_000);
    assert!(world.admit(&picks).is_err());
    world.wait(1_000);
    assert!(world.admit(&picks).is_ok());
}

#[test]
fn a_stream_that_is_polled_keeps_its_slot() {
    let mut specs = keys("p", 1);
    specs[0].limits.max_concurrent = Some(1);
    let world = World::with(specs, Config::default(), false);
    let picks = world.targets("m");
    let mut stream = world.admit(&picks).unwrap();
    let mut cx = Context::from_waker(std::task::Waker::noop());
    for _ in 0..30 {
        world.wait(20_000);
        stream.touch(&mut cx);
        assert!(world.admit(&picks).is_err());
    }
    world.succeed(stream);
    assert!(world.admit(&picks).is_ok());
}

#[test]
fn dropped_at_every_poll_nothing_stays_behind() {
    let mut specs = keys("p", 2);
    for spec in &mut specs {
        spec.limits.max_concurrent = Some(1);
        spec.limits.rpm = Some(6_000);
    }
    let mut finished = 0;
    for polls in 0..40 {
        let world = World::with(specs.clone(), Config::default(), true);
        let picks = world.targets("m");
        world.store.stall.store(true, Relaxed);
        let cx = AdmitContext::default();
        let resilience = world.resilience.clone();
        let clock = world.clock.clone();
        let mut whole = Box::pin(async {
            let permit = resilience.admit(&picks, &cx).await.unwrap();
            let mut outcome = permit.outcome(clock.now());
            outcome.failure = Some(unavailable());
            permit.report(outcome).await;
        });
        let mut task = Context::from_waker(std::task::Waker::noop());
        let mut done = false;
        for _ in 0..polls {
            if whole.as_mut().poll(&mut task) == Poll::Ready(()) {
                done = true;
                break;
            }
        }
        drop(whole);
        finished += u32::from(done);
        world.store.stall.store(false, Relaxed);
        block_on(world.resilience.flush());
        let target = Target::new("p", "p-0", "m");
        assert_eq!(world.resilience.in_flight(&target), 0, "{polls}");
        assert_eq!(world.resilience.health().outbox, 0, "{polls}");
        let key = Key::Slots { provider: Some(target.provider), connection: Some(target.connection) };
        let (records, _) = block_on(world.store.get(&[key])).unwrap();
        assert_eq!(records, [None], "{polls}: the slot is free");
        let failures = world.resilience.health().breakers[0].failures;
        assert!(failures <= 1, "{polls}: counted {failures} times");
        world.wait(5_000);
        let permits: Vec<_> = (0..2).map(|_| world.admit(&picks).unwrap()).collect();
        assert_eq!(permits.len(), 2);
    }
    assert!(finished > 0, "the last runs reach the end");
}

#[test]
fn other_purposes_change_nothing_and_only_an_operator_may_clear() {
    let world = World::new(1);
    let picks = world.targets("m");
    world.attempt(&picks, Some(declared(rate_limited(), &world.clock, 500_000))).unwrap();
    let attempt = |purpose, failed: Option<Failure>| {
        let mut cx = AdmitContext::default();
        cx.purpose = purpose;
        let permit = block_on(world.resilience.admit(&picks, &cx)).unwrap();
        let mut outcome = permit.outcome(world.clock.now());
        outcome.failure = failed;
        block_on(permit.report(outcome));
    };
    let mut banned = failure(FailureKind::Banned, Scope::Connection, 403);
    banned.evidence = Evidence::Structured;
    for purpose in
        [Purpose::HealthProbe, Purpose::QuotaFetch, Purpose::OperatorTest { clear_on_success: false }]
    {
        attempt(purpose, Some(banned.clone()));
        attempt(purpose, None);
        assert_eq!(world.resilience.look(picks[0]).blocked, Some(Blocked::RateLimited), "{purpose:?}");
    }
    attempt(Purpose::OperatorTest { clear_on_success: true }, None);
    assert_eq!(world.resilience.look(picks[0]).blocked, None);
}

#[test]
fn terminal_states_block_until_the_credential_changes() {
    let mut world = World::new(1);
    let picks = world.targets("m");
    let mut banned = failure(FailureKind::CreditsExhausted, Scope::Connection, 402);
    banned.evidence = Evidence::Structured;
    world.attempt(&picks, Some(banned)).unwrap();
    world.wait(100 * 86_400_000);
    let denial = world.admit(&picks).unwrap_err();
    assert_eq!((denial.status, denial.code, denial.retry_at), (401, "all_credentials_terminal", None));
    // p17: it outlasts a restart.
    let restarted = world.process();
    let again = handles(&restarted, &world.specs, "m");
    assert_eq!(admit(&restarted, &again).unwrap_err().status, 401);
    let connection = ConnectionId::new("p-0");
    block_on(restarted.credential_changed(&ProviderId::new("p"), &connection)).unwrap();
    assert!(admit(&restarted, &again).is_ok());
}

#[test]
fn rests_and_locks_outlast_a_restart() {
    let mut world = World::new(2);
    let picks = world.targets("m");
    world.attempt(&picks[..1], Some(declared(rate_limited(), &world.clock, 86_400_000))).unwrap();
    let gone = failure(FailureKind::ModelUnavailable, Scope::Model, 404);
    world.attempt(&picks[1..], Some(gone)).unwrap();
    let restarted = world.process();
    let again = handles(&restarted, &world.specs, "m");
    let denial = admit(&restarted, &again).unwrap_err();
    let reasons: Vec<_> = denial.refusals.iter().map(|refusal| refusal.reason).collect();
    assert_eq!(reasons, [Blocked::RateLimited, Blocked::ModelNotFound]);
    assert_eq!(denial.code, "model_cooldown", "p22: the one that is due first decides");
    let sibling = handles(&restarted, &world.specs[1..], "another");
    assert!(admit(&restarted, &sibling).is_ok(), "p12: only that model is locked");
}

#[test]
fn a_store_that_is_away_stops_nobody_and_hears_it_later() {
    let mut world = World::with(keys("p", 2), Config::default(), true);
    let picks = world.targets("m");
    world.attempt(&picks, None).unwrap();
    world.store.away.store(true, Relaxed);
    world.wait(300);
    world.attempt(&picks, Some(declared(rate_limited(), &world.clock, 600_000))).unwrap();
    assert_eq!(world.admit(&picks).unwrap().grant().position, 1, "what was learned holds here");
    assert!(world.resilience.health().store_degraded);
    assert!(world.resilience.health().outbox > 0);
    world.store.away.store(false, Relaxed);
    world.wait(1_300);
    world.attempt(&picks, None).unwrap();
    assert!(!world.resilience.health().store_degraded);
    assert_eq!(world.resilience.health().outbox, 0);
    let other = world.process();
    let picks = handles(&other, &world.specs, "m");
    assert_eq!(admit(&other, &picks).unwrap().grant().position, 1);
}

#[test]
fn i_10_a_request_has_eight_attempts_and_a_target_two() {
    let specs: Vec<ConnectionSpec> = (0..5).flat_map(|n| keys(&format!("p{n}"), 3)).collect();
    let world = World::with(specs, Config::default(), false);
    let picks = world.targets("m");
    let mut cx = AdmitContext::default();
    cx.budget = Some(Budget::new());
    let mut places = Vec::new();
    while let Ok(permit) = block_on(world.resilience.admit(&picks, &cx)) {
        places.push(permit.grant().position);
        world.wait(2_000);
    }
    assert_eq!(places, [0, 0, 1, 1, 3, 3, 4, 4]);
}

#[test]
fn looking_many_agrees_with_looking_and_reserves_nothing() {
    let world = World::new(3);
    let picks = world.targets("m");
    world.attempt(&picks[1..2], Some(rate_limited())).unwrap();
    let permit = world.admit(&picks[2..]).unwrap();
    let mut columns = Columns::default();
    world.resilience.look_many(&picks, world.clock.now().mono, &mut columns);
    assert_eq!((columns.health, columns.in_flight), (vec![10, 0, 10], vec![0, 0, 1]));
    let standing = world.resilience.look(picks[1]);
    assert_eq!(standing.not_before.unwrap().0, columns.blocked_until[1]);
    let advice = advise(
        &world.config.affinity,
        standing.blocked.map(|b| (b, standing.not_before)),
        0,
        true,
        world.clock.now().mono,
    );
    assert!(matches!(advice, omniroute_resilience::Advice::Wait(_)));
    drop(permit);
}

#[test]
fn connections_come_and_go_and_handles_of_the_gone_are_refused() {
    let mut world = World::new(3);
    let picks = world.targets("m");
    world.attempt(&picks[..1], Some(rate_limited())).unwrap();
    let mut specs = world.specs.clone();
    specs.remove(1);
    specs.push(ConnectionSpec::new("q", "new", Class::Local));
    world.resilience.configure(&specs);
    world.specs = specs;
    assert_eq!(world.admit(&picks[1..2]).unwrap_err().code, "no_connection_configured");
    assert!(world.admit(&picks[..1]).is_err(), "what was known is kept");
    assert!(world.admit(&picks[2..]).is_ok());
    let new = world.targets("m");
    assert_eq!(world.admit(&new[2..]).unwrap().target().provider.as_str(), "q");
    assert!(world.resilience.register(&[Target::new("p", "p-1", "m")])[0].is_none());
    for n in 0..200 {
        world.resilience.configure(&keys(&format!("x{}", n % 2), 50));
    }
    assert_eq!(world.resilience.health().configured, 50);
}
