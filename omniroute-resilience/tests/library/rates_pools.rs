//! Limits: what answers tell of them, limits of single models, pools with weights, caps and tiers.

use std::task::{Context, Poll};

use crate::common::*;
use futures::executor::block_on;
use omniroute_core::{
    Clock, LimitSeen, ModelId, Permit, Principal, ProviderId, QuotaWindow, Spend, Unit, UnixMs,
};
use omniroute_resilience::limits::quota::{Allocation, Policy};
use omniroute_resilience::limits::rate::Limits;
use omniroute_resilience::{AdmitContext, Blocked, Config, Dimension, EventKind, ModelCap, PoolSpec};

/// Ends an attempt whose answer told of a limit of calls per minute.
fn told(world: &World, permit: Permit, limit: u64, left: u64, lasts: i64) {
    let mut outcome = permit.outcome(world.clock.now());
    let mut seen = LimitSeen::new(Unit::Requests, QuotaWindow::Minute);
    (seen.limit, seen.remaining) = (Some(limit), Some(left));
    seen.resets_at = Some(UnixMs(world.clock.now().wall.0 + lasts));
    outcome.limits.push(seen);
    block_on(permit.report(outcome));
}

#[test]
fn a_scarce_limit_is_spread_and_plenty_costs_nothing() {
    let world = World::with(keys("p", 1), Config::default(), true);
    let picks = world.targets("m");
    let permit = world.admit(&picks).unwrap();
    told(&world, permit, 60, 30, 30_000);
    assert_eq!(world.store.calls(), (1, 0), "enough is left: nothing is written, nothing is counted");
    // Five calls are left for thirty seconds.
    let permit = world.admit(&picks).unwrap();
    told(&world, permit, 60, 5, 30_000);
    let mut starts = Vec::new();
    let began = world.clock.now().wall.0;
    while starts.len() < 4 {
        match world.admit(&picks) {
            Ok(permit) => {
                starts.push(world.clock.now().wall.0 - began);
                world.succeed(permit);
            }
            Err(denial) => {
                assert_eq!((denial.status, denial.code), (429, "local_capacity"));
                assert_eq!(denial.reason, Blocked::RateLimit);
                let at = denial.retry_at.unwrap().0;
                world.wait(u64::try_from(at - world.clock.now().wall.0).unwrap());
            }
        }
    }
    assert_eq!(starts, [6_000, 12_000, 18_000, 24_000]);
    let events = world.resilience.events(0).events;
    let scarce = |kind: &EventKind| matches!(kind, EventKind::LimitScarce { limit: 60, left: 5, .. });
    assert_eq!(events.iter().filter(|event| scarce(&event.kind)).count(), 1);
    // More than half is left: nothing is held back any more.
    world.wait(6_000);
    let permit = world.admit(&picks).unwrap();
    told(&world, permit, 60, 5, 60_000);
    assert!(world.admit(&picks).is_err());
    world.wait(12_000);
    let permit = world.admit(&picks).unwrap();
    told(&world, permit, 60, 59, 60_000);
    let (_, before) = world.store.calls();
    for _ in 0..5 {
        let permit = world.admit(&picks).unwrap();
        world.succeed(permit);
    }
    assert_eq!(world.store.calls().1, before);
}

#[test]
fn a_learned_limit_lowers_a_set_one_for_a_day_and_never_raises_it() {
    let burst = |limit: u64, wait: u64| {
        let mut specs = keys("p", 1);
        specs[0].limits.rpm = Some(100);
        let world = World::with(specs, Config::default(), false);
        let picks = world.targets("m");
        let permit = world.admit(&picks).unwrap();
        told(&world, permit, limit, limit, 60_000);
        world.wait(wait);
        let mut permits = Vec::new();
        while let Ok(permit) = world.admit(&picks) {
            permits.push(permit);
        }
        permits.len()
    };
    assert_eq!(burst(50, 60_000), 5, "a tenth of what was told");
    assert_eq!(burst(10_000, 60_000), 10, "a tenth of what was set");
    assert_eq!(burst(50, 25 * 3_600_000), 10, "what was told is forgotten");
}

#[test]
fn learned_limits_are_shared_between_processes_and_written_seldom() {
    let mut specs = keys("p", 1);
    specs[0].limits.rpm = Some(6_000);
    let mut world = World::with(specs, Config::default(), true);
    let other = world.process();
    let (picks, others) = (world.targets("m"), handles(&other, &world.specs, "m"));
    let (_, before) = world.store.calls();
    for n in 0..50 {
        let permit = world.admit(&picks).unwrap();
        told(&world, permit, 100, 100 - n, 60_000);
        world.wait(1_000);
    }
    let written = world.store.calls().1 - before - 50;
    assert_eq!(written, 1, "each attempt counts itself; what is learned is written once a minute");
    let mut permits = Vec::new();
    while let Ok(permit) = admit(&other, &others) {
        permits.push(permit);
    }
    assert_eq!(permits.len(), 10, "the other one holds to it");
}

#[test]
fn what_is_learned_is_bounded() {
    let mut config = Config::default();
    config.quota.learned_max = 3;
    let world = World::with(keys("p", 10), config, false);
    let picks = world.targets("m");
    for pick in &picks {
        let permit = world.admit(&[*pick]).unwrap();
        told(&world, permit, 60, 1, 30_000);
    }
    let spread = |at: usize| world.admit(&picks[at..=at]).is_err();
    let held = (0..10).filter(|at| spread(*at)).count();
    assert_eq!(held, 3, "more are not learned");
    world.wait(61_000);
    let permit = world.admit(&picks[9..]).unwrap();
    told(&world, permit, 60, 1, 30_000);
    assert!(spread(9), "what is over makes room");
}

#[test]
fn a_model_has_limits_of_its_own() {
    let mut specs = keys("p", 1);
    specs[0].model_limits = vec![
        ("big".into(), Limits { rpm: Some(10), ..Limits::default() }),
        ("big-fast".into(), Limits { rpm: Some(40), ..Limits::default() }),
    ]
    .into();
    let world = World::with(specs, Config::default(), false);
    let burst = |model: &str| {
        let picks = world.targets(model);
        let mut permits = Vec::new();
        while let Ok(permit) = world.admit(&picks) {
            permits.push(permit);
            if permits.len() == 50 {
                break;
            }
        }
        permits.len()
    };
    assert_eq!([burst("big-1"), burst("big-2"), burst("big-fast"), burst("small")], [1, 1, 4, 50]);
    // Allowances counted for each model: so are the connection's limits, and those of a shared quota together.
    let mut specs = keys("q", 1);
    specs[0].per_model_quota = true;
    specs[0].limits.rpm = Some(20);
    specs[0].quota_scopes = vec![("spark-".into(), "spark".into())].into();
    let world = World::with(specs, Config::default(), false);
    let burst = |model: &str| {
        let picks = world.targets(model);
        let mut permits = Vec::new();
        while let Ok(permit) = world.admit(&picks) {
            permits.push(permit);
        }
        permits.len()
    };
    assert_eq!([burst("a"), burst("b"), burst("spark-1"), burst("spark-2")], [2, 2, 2, 0]);
}

#[test]
fn what_a_header_tells_of_one_model_holds_for_that_model() {
    let mut specs = keys("p", 1);
    specs[0].per_model_quota = true;
    let world = World::with(specs, Config::default(), false);
    let (a, b) = (world.targets("a"), world.targets("b"));
    let permit = world.admit(&a).unwrap();
    told(&world, permit, 60, 0, 30_000);
    assert_eq!(world.admit(&a).unwrap_err().retry_after, Some(30), "nothing is left");
    assert!(world.admit(&b).is_ok());
}

fn pool(id: &str, world: &World, members: &[usize]) -> PoolSpec {
    let members = members.iter().map(|n| &world.specs[*n]);
    PoolSpec::new(id, members.map(|spec| (spec.provider.clone(), spec.connection.clone())).collect())
}

#[test]
fn members_of_a_pool_serve_by_their_weights() {
    let world = World::with(keys("p", 3), Config::default(), false);
    let mut pool = pool("shared", &world, &[0, 1, 2]);
    for (member, weight) in pool.members.iter_mut().zip([3, 2, 1]) {
        member.weight = weight;
    }
    world.resilience.configure_pools(vec![pool]);
    let mut counts = std::collections::BTreeMap::new();
    for _ in 0..60 {
        let permit =
            block_on(world.resilience.admit_pools(&["shared"], &ModelId::new("m"), &AdmitContext::default()))
                .unwrap();
        *counts.entry(permit.target().connection.clone()).or_insert(0) += 1;
        world.succeed(permit);
    }
    assert_eq!(counts.into_values().collect::<Vec<_>>(), [30, 20, 10]);
}

#[test]
fn a_cap_on_a_model_holds_for_its_consumer_alone() {
    let world = World::with(keys("p", 1), Config::default(), false);
    let mut pool = pool("shared", &world, &[0]);
    pool.dimensions = vec![Dimension { unit: Unit::Requests, window: QuotaWindow::Day, limit: 1_000 }];
    pool.allocations = ["a", "b"]
        .map(|consumer| Allocation {
            consumer: consumer.into(),
            weight: 50,
            hard_cap: None,
            policy: Policy::Burst,
        })
        .to_vec();
    pool.caps = vec![
        ModelCap::new("a", ModelId::new("big"), Unit::Requests, 3),
        ModelCap::new("b", ModelId::new("big"), Unit::Tokens, 1_000),
    ];
    world.resilience.configure_pools(vec![pool]);
    let attempt = |consumer: &str, model: &str, tokens: u64| {
        let mut cx = AdmitContext::new(Principal::new(consumer));
        cx.estimate = tokens;
        let permit = block_on(world.resilience.admit(&world.targets(model), &cx))?;
        let mut outcome = permit.outcome(world.clock.now());
        outcome.spend = Some(Spend { tokens, micro_usd: 0 });
        block_on(permit.report(outcome));
        Ok::<(), omniroute_resilience::Denial>(())
    };
    for _ in 0..3 {
        attempt("a", "big", 400).unwrap();
    }
    let denial = attempt("a", "big", 400).unwrap_err();
    assert_eq!((denial.status, denial.code), (429, "quota_share_exceeded"));
    assert!((3_500..=3_700).contains(&denial.retry_after.unwrap()), "{denial:?}");
    attempt("a", "small", 400).unwrap();
    attempt("b", "big", 400).unwrap();
    attempt("b", "big", 400).unwrap();
    assert!(attempt("b", "big", 400).is_err(), "another consumer, another cap");
    world.wait(3_700_000);
    attempt("a", "big", 400).unwrap();
}

/// Polls a future until it stands still.
fn poll<T>(future: &mut std::pin::Pin<Box<dyn Future<Output = T> + '_>>) -> Option<T> {
    let mut cx = Context::from_waker(std::task::Waker::noop());
    match future.as_mut().poll(&mut cx) {
        Poll::Ready(value) => Some(value),
        Poll::Pending => None,
    }
}

#[test]
fn a_tier_that_is_only_busy_is_waited_for_before_the_next_is_used() {
    let mut specs = keys("cheap", 1);
    specs[0].limits.max_concurrent = Some(1);
    specs.extend(keys("dear", 1));
    let world = World::with(specs, Config::default(), false);
    let mut second = pool("paid", &world, &[1]);
    second.tier = 1;
    world.resilience.configure_pools(vec![second, pool("plan", &world, &[0])]);
    let (model, cx) = (ModelId::new("m"), AdmitContext::default());
    let ask = || -> std::pin::Pin<Box<dyn Future<Output = _>>> {
        Box::pin(world.resilience.admit_pools(&["paid", "plan"], &model, &cx))
    };
    let running = poll(&mut ask()).unwrap().unwrap();
    assert_eq!(running.target().provider, ProviderId::new("cheap"));
    // Busy for 300 ms: the request waits, and stays in its tier.
    let mut waits = ask();
    assert!(poll(&mut waits).is_none());
    world.wait(300);
    world.succeed(running);
    let running = poll(&mut waits).unwrap().unwrap();
    assert_eq!(running.target().provider, ProviderId::new("cheap"));
    // Busy for longer than its patience: it spills.
    let mut waits = ask();
    assert!(poll(&mut waits).is_none());
    world.wait(1_999);
    assert!(poll(&mut waits).is_none());
    world.wait(1);
    let spilled = poll(&mut waits).unwrap().unwrap();
    assert_eq!(spilled.target().provider, ProviderId::new("dear"));
    let events = world.resilience.events(0).events;
    let spills: Vec<_> = events
        .iter()
        .filter_map(|event| match event.kind {
            EventKind::TierSpilled { tier, waited_ms } => Some((tier, waited_ms)),
            _ => None,
        })
        .collect();
    assert_eq!(spills, [(0, 2_000)]);
    drop(waits);
    // Nobody home for long: at once.
    drop(running);
    world
        .attempt(
            &handles(&world.resilience, &world.specs[..1], "m"),
            Some(declared(rate_limited(), &world.clock, 60_000)),
        )
        .unwrap();
    assert_eq!(poll(&mut ask()).unwrap().unwrap().target().provider, ProviderId::new("dear"));
    let nobody = block_on(world.resilience.admit_pools(&["other"], &model, &cx));
    assert_eq!(nobody.unwrap_err().code, "no_connection_configured");
}
