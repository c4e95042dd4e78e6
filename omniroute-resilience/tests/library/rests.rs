//! Rests and locks: how far they reach, how they end, and what the clock does to them.

use crate::common::*;
use futures::FutureExt;
use futures::executor::block_on;
use omniroute_core::{
    Clock, ConnectionId, Evidence, Failure, FailureKind, LimitSeen, Phase, ProviderId, QuotaWindow, Scope,
    Unit, Wider,
};
use omniroute_resilience::layers::breaker::State;
use omniroute_resilience::layers::connection::{Seen, Terminal};
use omniroute_resilience::{Blocked, Class, Config, ConnectionSpec, EventKind, ResetFilter, Span};

fn unavailable() -> Failure {
    failure(FailureKind::Unavailable, Scope::Provider, 503)
}

#[test]
fn locks_reach_as_far_as_the_answer_says() {
    let mut specs = vec![
        ConnectionSpec::new("codex", "a", Class::OAuth),
        ConnectionSpec::new("free", "b", Class::NoAuth),
    ];
    specs[0].quota_scopes = vec![("spark-".into(), "spark".into())].into();
    let world = World::with(specs, Config::default(), false);
    let target = |c: usize, model: &str| handles(&world.resilience, &world.specs[c..=c], model);
    let mut quota = failure(FailureKind::QuotaExhausted, Scope::Connection, 429);
    quota.wider = Wider::QuotaScope("spark".into());
    world.attempt(&target(0, "spark-1"), Some(quota)).unwrap();
    assert!(world.admit(&target(0, "spark-2")).is_err(), "the pool is locked");
    assert!(world.admit(&target(0, "normal")).is_ok());
    let broken = failure(FailureKind::Unavailable, Scope::Model, 500);
    world.attempt(&target(1, "x"), Some(broken)).unwrap();
    assert!(world.admit(&target(1, "x")).is_err(), "locks hold without a credential too");
    assert!(world.admit(&target(1, "y")).is_ok());
}

#[test]
fn r_3_4_no_capacity_at_two_connections_locks_the_model_everywhere_for_a_moment() {
    let world = World::new(3);
    let picks = world.targets("m");
    let full = || failure(FailureKind::Overloaded, Scope::Model, 529);
    world.attempt(&picks[..1], Some(full())).unwrap();
    assert!(world.admit(&picks[2..]).is_ok());
    world.attempt(&picks[1..2], Some(full())).unwrap();
    assert_eq!(world.admit(&picks[2..]).unwrap_err().code, "model_cooldown");
    world.wait(10_000);
    assert!(world.admit(&picks[2..]).is_ok());
}

#[test]
fn a_key_rests_alone_and_a_group_together() {
    let mut specs = keys("p", 3);
    specs[0].group = Some("org".into());
    specs[2].group = Some("org".into());
    let world = World::with(specs, Config::default(), false);
    let picks = world.targets("m");
    world.attempt(&picks, Some(rate_limited())).unwrap();
    assert_eq!(world.admit(&picks).unwrap().grant().position, 1);
    world.wait(10_000);
    let mut wide = declared(rate_limited(), &world.clock, 60_000);
    wide.wider = Wider::Group;
    world.attempt(&picks, Some(wide)).unwrap();
    let blocked: Vec<_> = picks.iter().map(|pick| world.resilience.look(*pick).blocked.is_some()).collect();
    assert_eq!(blocked, [true, false, true]);
}

#[test]
fn a_pulled_plug_opens_nothing_and_rests_nobody() {
    let specs: Vec<ConnectionSpec> = (0..10).flat_map(|n| keys(&format!("p{n}"), 1)).collect();
    let world = World::with(specs, Config::default(), false);
    let picks = world.targets("m");
    for pick in &picks {
        world.attempt(&[*pick], None).unwrap();
    }
    world.wait(11_000);
    let mut unplugged = Failure::new(FailureKind::Timeout, Scope::Provider, "connect");
    unplugged.phase = Phase::Transport;
    for _ in 0..60 {
        let permits: Vec<_> = picks.iter().filter_map(|pick| world.admit(&[*pick]).ok()).collect();
        for permit in permits {
            world.fail(permit, unplugged.clone());
        }
        world.wait(1_000);
    }
    let health = world.resilience.health();
    assert!(health.breakers.iter().all(|breaker| breaker.state == State::Closed));
    assert!(health.connections.is_empty(), "not even those that failed first rest: {health:?}");
    let suspects = world.resilience.events(0).events;
    assert!(suspects.iter().any(|event| matches!(event.kind, EventKind::EgressSuspect { .. })));
    for pick in &picks {
        world.attempt(&[*pick], None).unwrap();
    }
}

#[test]
fn when_our_guesses_block_everything_one_is_tried() {
    let world = World::new(3);
    let picks = world.targets("m");
    for pick in &picks {
        world.attempt(&[*pick], Some(rate_limited())).unwrap();
    }
    let permit = world.admit(&picks).unwrap();
    assert!(permit.grant().last_resort);
    assert!(world.admit(&picks).is_err(), "once");
    world.succeed(permit);
    assert!(!world.admit(&picks).unwrap().grant().last_resort, "its success clears it");
    // What a provider declared is not a guess, and a lone connection is not everything.
    let world = World::new(3);
    let picks = world.targets("m");
    for pick in &picks {
        let failure = declared(rate_limited(), &world.clock, 20_000);
        world.attempt(&[*pick], Some(failure)).unwrap();
    }
    assert!(world.admit(&picks).is_err());
}

#[test]
fn a_long_declared_rest_is_verified_once_an_hour() {
    let world = World::new(1);
    let picks = world.targets("m");
    world.attempt(&picks, Some(declared(rate_limited(), &world.clock, 7 * 86_400_000))).unwrap();
    world.wait(899_000);
    assert!(world.admit(&picks).is_err());
    world.wait(2_000);
    let permit = world.admit(&picks).unwrap();
    assert!(permit.grant().verification);
    assert!(world.admit(&picks).is_err(), "one at a time");
    let until = world.resilience.look(picks[0]).not_before;
    world.fail(permit, rate_limited());
    let moved = world.resilience.look(picks[0]).not_before.unwrap().since(until.unwrap());
    assert!(moved.as_millis() < 2, "a failure keeps the date");
    world.wait(3_500_000);
    assert!(world.admit(&picks).is_err());
    world.wait(200_000);
    let permit = world.admit(&picks).unwrap();
    world.succeed(permit);
    assert!(world.resilience.look(picks[0]).blocked.is_none(), "back after less than 65 more minutes");
    // The other two ways: a sight of headroom, an operator.
    world.attempt(&picks, Some(declared(rate_limited(), &world.clock, 7 * 86_400_000))).unwrap();
    let (provider, connection) = (ProviderId::new("p"), ConnectionId::new("p-0"));
    let now = world.clock.now().wall.0;
    let seen = Seen {
        window: QuotaWindow::Week,
        used_ppm: 1,
        resets_at: Some(now + 1_000_000),
        at: now,
        polled: true,
    };
    let epoch = world.resilience.epoch(&provider, &connection);
    assert!(!block_on(world.resilience.note_quota(&provider, &connection, &[seen], epoch - 1)).unwrap());
    assert!(block_on(world.resilience.note_quota(&provider, &connection, &[seen], epoch)).unwrap());
    assert!(world.admit(&picks).is_ok());
    world.attempt(&picks, Some(declared(rate_limited(), &world.clock, 7 * 86_400_000))).unwrap();
    let mut filter = ResetFilter::default();
    filter.cooldowns = true;
    assert_eq!(block_on(world.resilience.reset(&filter)).unwrap(), 1);
    assert!(world.admit(&picks).is_ok());
}

#[test]
fn after_a_long_rest_one_then_two_then_four() {
    let world = World::new(1);
    let picks = world.targets("m");
    world.attempt(&picks, Some(declared(rate_limited(), &world.clock, 30_000))).unwrap();
    world.wait(33_000);
    let mut sizes = Vec::new();
    for _ in 0..5 {
        let mut permits = Vec::new();
        while let Ok(permit) = world.admit(&picks) {
            permits.push(permit);
            if permits.len() > 40 {
                break;
            }
        }
        sizes.push(permits.len());
        let mut permits = permits.into_iter();
        world.succeed(permits.next().unwrap());
        drop(permits);
    }
    assert_eq!(sizes, [1, 2, 4, 8, 16]);
}

#[test]
fn full_windows_on_headers_block_until_they_end() {
    let world = World::new(1);
    let picks = world.targets("m");
    let permit = world.admit(&picks).unwrap();
    let mut outcome = permit.outcome(world.clock.now());
    let mut seen = LimitSeen::new(Unit::Requests, QuotaWindow::Day);
    seen.used_ppm = Some(1_000_000);
    seen.resets_at = Some(omniroute_core::UnixMs(START + 3_600_000));
    outcome.limits.push(seen);
    block_on(permit.report(outcome));
    let denial = world.admit(&picks).unwrap_err();
    assert_eq!((denial.reason, denial.retry_after), (Blocked::QuotaExhausted, Some(3_600)));
    world.wait(3_600_000);
    assert!(world.admit(&picks).is_ok());
}

#[test]
fn jumps_of_the_wall_clock_neither_stall_nor_free() {
    let clock = JumpyClock::default();
    let store =
        std::sync::Arc::new(omniroute_resilience::MemoryStore::new(std::sync::Arc::new(clock.clone())));
    let resilience = omniroute_resilience::Resilience::builder(store, std::sync::Arc::new(clock.clone()))
        .process(1)
        .build()
        .unwrap();
    let specs = keys("p", 1);
    resilience.configure(&specs);
    let picks = handles(&resilience, &specs, "m");
    for jump in [-3_600_000_i64, 3_600_000, -86_400_000, 86_400_000] {
        let permit = admit(&resilience, &picks).unwrap();
        let mut outcome = permit.outcome(clock.now());
        outcome.failure = Some(rate_limited());
        block_on(permit.report(outcome));
        clock.jump(jump);
        clock.pass(1_000);
        assert!(admit(&resilience, &picks).is_err(), "{jump}: it rests on our own clock");
        clock.pass(600_000);
        assert!(admit(&resilience, &picks).is_ok(), "{jump}: not for longer");
    }
    let jumps = resilience.events(0).events;
    assert_eq!(jumps.iter().filter(|event| matches!(event.kind, EventKind::ClockJump { .. })).count(), 4);
}

#[derive(Debug, Clone, Default)]
struct JumpyClock(std::sync::Arc<std::sync::Mutex<(u64, i64)>>);

impl JumpyClock {
    fn pass(&self, ms: u64) {
        let mut at = self.0.lock().expect("no test panics here");
        at.0 += ms * 1_000_000;
        at.1 += ms as i64;
    }
    fn jump(&self, ms: i64) {
        self.0.lock().expect("no test panics here").1 += ms;
    }
}

impl Clock for JumpyClock {
    fn now(&self) -> omniroute_core::Moment {
        let at = self.0.lock().expect("no test panics here");
        omniroute_core::Moment {
            mono: omniroute_core::Mono(at.0 + 1),
            wall: omniroute_core::UnixMs(START + at.1),
        }
    }
    fn sleep_until(&self, _: omniroute_core::Mono) -> futures::future::BoxFuture<'static, ()> {
        futures::future::pending().boxed()
    }
}

#[test]
fn a_dead_credential_needs_two_reports() {
    let world = World::new(1);
    let picks = world.targets("m");
    let mut refused = failure(FailureKind::Unauthorized, Scope::Connection, 401);
    refused.evidence = Evidence::Structured;
    world.attempt(&picks, Some(refused.clone())).unwrap();
    assert_eq!(world.resilience.look(picks[0]).blocked, Some(Blocked::AuthRetry));
    world.wait(31_000);
    world.attempt(&picks, Some(refused)).unwrap();
    assert_eq!(world.resilience.look(picks[0]).blocked, Some(Blocked::Terminal(Terminal::Expired)));
}

#[test]
fn errors_of_the_service_never_remove_more_than_half() {
    let mut config = Config::default();
    config.last_resort.enabled = false;
    let world = World::with(keys("p", 6), config, false);
    let picks = world.targets("m");
    let permits: Vec<_> = picks.iter().map(|pick| world.admit(&[*pick]).unwrap()).collect();
    for permit in permits {
        world.fail(permit, unavailable());
    }
    let resting = picks.iter().filter(|pick| world.resilience.look(**pick).blocked.is_some()).count();
    assert_eq!(resting, 3);
    let mut config = Config::default();
    config.mirror_max_age = Span::ms(0);
    assert!(config.validate().is_ok());
}

#[test]
fn an_old_success_does_not_make_its_permit_young() {
    let world = World::new(1);
    let picks = world.targets("m");
    let old = world.admit(&picks).unwrap();
    world.attempt(&picks, Some(rate_limited())).unwrap();
    block_on(old.first_content());
    assert!(
        world.resilience.look(picks[0]).blocked.is_some(),
        "it proves nothing about what came after it began"
    );
    world.wait(10);
    world.fail(old, rate_limited());
    assert_eq!(world.resilience.look(picks[0]).level, 1, "nor does its end");
    assert_eq!(world.resilience.counts().stale_failures, 1);
}

#[test]
fn nothing_holds_a_store_that_nobody_uses_any_more() {
    let clock = JumpyClock::default();
    let store =
        std::sync::Arc::new(omniroute_resilience::MemoryStore::new(std::sync::Arc::new(clock.clone())));
    let held = std::sync::Arc::downgrade(&store);
    let resilience = omniroute_resilience::Resilience::builder(store, std::sync::Arc::new(clock.clone()))
        .process(1)
        .build()
        .unwrap();
    let mut specs = keys("p", 2);
    specs[0].limits.max_concurrent = Some(2);
    resilience.configure(&specs);
    let picks = handles(&resilience, &specs, "m");
    let permit = admit(&resilience, &picks).unwrap();
    let outcome = permit.outcome(clock.now());
    block_on(permit.report(outcome));
    // Whoever hangs up leaves a place to be given back when the store is called next, which is never.
    drop(admit(&resilience, &picks).unwrap());
    assert_eq!(resilience.health().outbox, 1);
    let permit = admit(&resilience, &picks[1..]).unwrap();
    drop(resilience);
    assert!(held.upgrade().is_some(), "a permit still needs it");
    drop(permit);
    assert!(held.upgrade().is_none());
}
