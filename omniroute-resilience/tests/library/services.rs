//! Pins, refresh, shared quotas and waiting: what stands beside the three layers.

use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::task::{Context, Poll};

use crate::common::*;
use futures::executor::block_on;
use omniroute_core::{ConnectionId, Principal, ProviderId, QuotaWindow, SessionId, Spend, Unit};
use omniroute_resilience::limits::quota::{Allocation, Policy};
use omniroute_resilience::{
    AdmitContext, Blocked, Budget, Config, Dimension, PoolSpec, Refresh, RefreshEnd, Span,
};

fn pinned() -> World {
    let mut config = Config::default();
    config.affinity.ttl = Span::minutes(30);
    World::with(keys("p", 10), config, true)
}

#[test]
fn sessions_that_start_at_once_end_on_one_connection() {
    let mut world = pinned();
    let (me, provider, session) = (Principal::new("me"), ProviderId::new("p"), SessionId::new("s"));
    let mut ends = Vec::new();
    for n in 0..100 {
        let process = if n % 25 == 0 { world.process() } else { world.resilience.clone() };
        let proposed = ConnectionId::new(format!("p-{}", n % 10));
        ends.push(block_on(process.bind(&me, &provider, &session, &proposed)).unwrap().unwrap().connection);
    }
    assert!(ends.iter().all(|end| *end == ends[0]));
    // Moving from an old version loses to whoever moved first.
    let pin = block_on(world.resilience.pin(&me, &provider, &session)).unwrap().unwrap();
    let other = world.process();
    let (x, y) = (ConnectionId::new("p-7"), ConnectionId::new("p-8"));
    let first = block_on(world.resilience.rebind(&me, &provider, &session, &pin, &x)).unwrap().unwrap();
    let second = block_on(other.rebind(&me, &provider, &session, &pin, &y)).unwrap().unwrap();
    assert_eq!((first.connection.clone(), second.connection), (x.clone(), x.clone()));
    assert!(!block_on(other.evict_pin(&me, &provider, &session, &y)).unwrap());
    assert!(block_on(other.evict_pin(&me, &provider, &session, &x)).unwrap());
}

#[test]
fn pins_live_as_long_as_they_are_used_and_are_written_seldom() {
    let world = pinned();
    let (me, provider, session) = (Principal::new("me"), ProviderId::new("p"), SessionId::new("s"));
    let to = ConnectionId::new("p-3");
    block_on(world.resilience.bind(&me, &provider, &session, &to)).unwrap();
    for _ in 0..120 {
        world.wait(60_000);
        block_on(world.resilience.touch_pin(&me, &provider, &session, false)).unwrap();
    }
    assert!(block_on(world.resilience.pin(&me, &provider, &session)).unwrap().is_some());
    assert!(world.store.calls().1 <= 42, "{:?}: not every time", world.store.calls());
    world.wait(30 * 60_000);
    assert!(block_on(world.resilience.pin(&me, &provider, &session)).unwrap().is_none());
    // t_5_02: off means that nobody is asked.
    let off = World::new(1);
    assert!(block_on(off.resilience.bind(&me, &provider, &session, &to)).unwrap().is_none());
    assert_eq!(off.store.calls(), (0, 0));
}

#[test]
fn one_refreshes_and_the_others_follow() {
    let mut world = World::with(keys("p", 1), Config::default(), true);
    let other = world.process();
    let (p, c) = (ProviderId::new("p"), ConnectionId::new("p-0"));
    // The vendor revokes everything when a token is used twice.
    let (mut version, used) = (0, AtomicU32::new(0));
    for round in 0..200 {
        let first = block_on(world.resilience.refresh_begin(&p, &c, version, None)).unwrap();
        let Refresh::Lead(lock) = first else { panic!("{round}: {first:?}") };
        assert!(matches!(block_on(other.refresh_begin(&p, &c, version, None)).unwrap(), Refresh::Follow(_)));
        used.fetch_add(1, Relaxed);
        let next = block_on(world.resilience.refresh_finish(&lock, RefreshEnd::Renewed)).unwrap();
        assert_eq!(
            block_on(other.refresh_begin(&p, &c, version, None)).unwrap(),
            Refresh::AlreadyNewer(next)
        );
        version = next;
    }
    assert_eq!((used.load(Relaxed), version), (200, 200));
    // t_8_07: the one that leads dies; another takes over after 45 s, and the late one renews nothing twice.
    let Refresh::Lead(dead) = block_on(world.resilience.refresh_begin(&p, &c, version, None)).unwrap() else {
        panic!()
    };
    world.wait(45_000);
    let Refresh::Lead(heir) = block_on(other.refresh_begin(&p, &c, version, None)).unwrap() else { panic!() };
    assert_eq!(block_on(other.refresh_finish(&heir, RefreshEnd::Renewed)).unwrap(), 201);
    assert_eq!(block_on(world.resilience.refresh_finish(&dead, RefreshEnd::Dead)).unwrap(), 201);
    let picks = world.targets("m");
    assert!(world.admit(&picks).is_ok(), "a late verdict does not end the new credential");
    for n in 0..5 {
        let Refresh::Lead(lock) = block_on(other.refresh_begin(&p, &c, 201, None)).unwrap() else {
            panic!("{n}")
        };
        block_on(other.refresh_finish(&lock, RefreshEnd::Failed)).unwrap();
    }
    assert!(matches!(block_on(other.refresh_begin(&p, &c, 201, None)).unwrap(), Refresh::Paused(_)));
    assert_eq!(world.resilience.look(picks[0]).blocked, None, "refreshing never rests a connection");
}

fn pool(world: &World, policy: Policy) {
    let members = world.specs.iter().map(|spec| (spec.provider.clone(), spec.connection.clone())).collect();
    let mut pool = PoolSpec::new("shared", members);
    pool.dimensions = vec![Dimension { unit: Unit::Requests, window: QuotaWindow::Hour, limit: 20 }];
    pool.allocations = ["a", "b"]
        .map(|consumer| Allocation { consumer: consumer.into(), weight: 50, hard_cap: None, policy })
        .to_vec();
    world.resilience.configure_pools(vec![pool]);
}

#[test]
fn parallel_reservations_never_exceed_a_pool_and_shares_hold() {
    let mut world = World::with(keys("p", 2), Config::default(), true);
    pool(&world, Policy::Hard);
    let other = world.process();
    let members = world.specs.iter().map(|spec| (spec.provider.clone(), spec.connection.clone())).collect();
    let mut same = PoolSpec::new("shared", members);
    same.dimensions = vec![Dimension { unit: Unit::Requests, window: QuotaWindow::Hour, limit: 20 }];
    other.configure_pools(vec![same]);
    let picks = world.targets("m");
    let others = handles(&other, &world.specs, "m");
    let mut permits = Vec::new();
    let a = AdmitContext::new(Principal::new("a"));
    while let Ok(permit) = block_on(world.resilience.admit(&picks, &a)) {
        permits.push(permit);
    }
    assert_eq!(permits.len(), 20, "half of two accounts' allowance");
    while let Ok(permit) = admit(&other, &others) {
        permits.push(permit);
    }
    assert_eq!(permits.len(), 40, "and never more than all of it");
    let denial = block_on(world.resilience.admit(&picks, &a)).unwrap_err();
    assert_eq!(denial.code, "quota_share_exceeded");
    assert!(denial.retry_after.unwrap() <= 3_660);
    for permit in permits {
        world.succeed(permit);
    }
    world.wait(3_700_000);
    assert!(block_on(world.resilience.admit(&picks, &a)).is_ok());
    let events = serde_json::to_string(&world.resilience.events(0)).unwrap();
    assert!(events.contains("quota.decision") && events.contains("share.pick"));
}

#[test]
fn shares_of_a_pool_are_paid_when_granted() {
    let world = World::with(keys("p", 3), Config::default(), false);
    pool(&world, Policy::Burst);
    let mut counts = std::collections::BTreeMap::new();
    for _ in 0..30 {
        let order = world.resilience.share_order("shared");
        let specs: Vec<_> = order
            .iter()
            .map(|(p, c)| {
                world.specs.iter().find(|s| (&s.provider, &s.connection) == (p, c)).unwrap().clone()
            })
            .collect();
        let picks = handles(&world.resilience, &specs, "m");
        let permit = world.admit(&picks).unwrap();
        *counts.entry(permit.target().connection.clone()).or_insert(0) += 1;
        world.succeed(permit);
    }
    assert_eq!(counts.into_values().collect::<Vec<_>>(), [10, 10, 10]);
}

#[test]
fn rates_are_corrected_by_what_was_really_used() {
    let mut specs = keys("p", 1);
    specs[0].limits.tpm = Some(8_000);
    let world = World::with(specs, Config::default(), false);
    let picks = world.targets("m");
    let mut cx = AdmitContext::default();
    cx.estimate = 2_000;
    let permit = block_on(world.resilience.admit(&picks, &cx)).unwrap();
    let denial = block_on(world.resilience.admit(&picks, &cx)).unwrap_err();
    assert_eq!((denial.reason, denial.retry_after), (Blocked::RateLimit, Some(15)));
    let mut outcome = permit.outcome(omniroute_core::Moment::default());
    outcome.spend = Some(Spend { tokens: 10, micro_usd: 0 });
    block_on(permit.report(outcome));
    world.wait(100);
    assert!(block_on(world.resilience.admit(&picks, &cx)).is_ok());
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
fn short_blocks_are_waited_for_and_others_not() {
    let mut config = Config::default();
    config.last_resort.enabled = false;
    let world = World::with(keys("p", 1), config, false);
    let picks = world.targets("m");
    world.attempt(&picks, Some(rate_limited())).unwrap();
    let mut cx = AdmitContext::default();
    cx.budget = Some(Budget::new());
    let mut waiting: std::pin::Pin<Box<dyn Future<Output = _>>> =
        Box::pin(world.resilience.admit_or_wait(&picks, &cx));
    assert!(poll(&mut waiting).is_none());
    assert_eq!(world.resilience.health().waiting, 1);
    world.wait(2_000);
    assert!(poll(&mut waiting).is_none());
    world.wait(2_000);
    let permit = poll(&mut waiting).unwrap().unwrap();
    assert_eq!(permit.grant().waited.as_secs(), 4);
    drop(waiting);
    world.fail(permit, declared(rate_limited(), &world.clock, 60_000));
    let mut hopeless: std::pin::Pin<Box<dyn Future<Output = _>>> =
        Box::pin(world.resilience.admit_or_wait(&picks, &cx));
    assert!(poll(&mut hopeless).unwrap().is_err(), "too long to wait for");
    drop(hopeless);
    assert_eq!(world.resilience.health().waiting, 0);
}

#[test]
fn waiters_for_a_slot_are_served_in_turn_and_may_leave() {
    let mut specs = keys("p", 1);
    specs[0].limits.max_concurrent = Some(1);
    let world = World::with(specs, Config::default(), false);
    let picks = world.targets("m");
    let running = world.admit(&picks).unwrap();
    let contexts: Vec<AdmitContext> =
        ["a", "a", "b"].map(|name| AdmitContext::new(Principal::new(name))).to_vec();
    let mut waiters: Vec<Option<std::pin::Pin<Box<dyn Future<Output = _>>>>> = contexts
        .iter()
        .map(|cx| {
            let waiter: std::pin::Pin<Box<dyn Future<Output = _>>> =
                Box::pin(world.resilience.admit_or_wait(&picks, cx));
            Some(waiter)
        })
        .collect();
    for waiter in waiters.iter_mut().flatten() {
        assert!(poll(waiter).is_none());
    }
    assert_eq!(world.resilience.health().waiting, 3);
    waiters[1] = None;
    assert_eq!(world.resilience.health().waiting, 2, "who goes away leaves at once");
    assert!(world.admit(&picks).is_err());
    world.succeed(running);
    assert!(world.admit(&picks).is_err(), "nobody passes those who wait");
    let mut served = Vec::new();
    for _ in 0..2 {
        let mut permit = None;
        for (n, slot) in waiters.iter_mut().enumerate() {
            if let Some(result) = slot.as_mut().and_then(poll) {
                assert!(permit.is_none(), "one slot, one permit");
                served.push(n);
                permit = Some(result.unwrap());
                *slot = None;
            }
        }
        world.succeed(permit.unwrap());
    }
    assert_eq!(served, [0, 2]);
    assert_eq!(world.resilience.health().waiting, 0);
    assert!(world.admit(&picks).is_ok());
}
