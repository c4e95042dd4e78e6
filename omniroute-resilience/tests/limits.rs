//! What limits calls before they are made: dates of used-up allowances, starts, slots.

#[expect(dead_code, reason = "other tests use more of it")]
mod common;

use common::*;
use futures::FutureExt;
use futures::executor::block_on;
use omniroute_core::{
    Change, Clock, Durability, FailureKind, Key, QuotaWindow, Record, ResilienceStore, Scope, Unit, UnixMs,
};
use omniroute_resilience::{AdmitContext, Blocked, Config, Dimension, PoolSpec, Refresh};

const DAY: i64 = 86_400_000;

#[test]
fn a_short_hint_beside_a_daily_allowance_does_not_end_the_day() {
    // The reader of answers knows whose midnight counts and names the end of the day; an answer of the same moment
    // that repeats the hint of 22 s, and any later one, must not shorten that.
    let spent = || {
        let mut failure = failure(FailureKind::QuotaExhausted, Scope::Connection, 429);
        failure.window = Some(QuotaWindow::Day);
        failure
    };
    for (first, second) in [(DAY / 4, 22_000), (22_000, DAY / 4)] {
        let world = World::new(1);
        let picks = world.targets("m");
        let (a, b) = (world.admit(&picks).unwrap(), world.admit(&picks).unwrap());
        world.fail(a, declared(spent(), &world.clock, first));
        world.fail(b, declared(spent(), &world.clock, second));
        let denial = world.admit(&picks).unwrap_err();
        let seconds = u32::try_from(DAY / 4_000).unwrap();
        assert_eq!(denial.reason, Blocked::QuotaExhausted);
        assert!(
            denial.retry_after.is_some_and(|after| after >= seconds && after <= seconds + 2),
            "{denial:?}"
        );
        world.wait(23_000);
        assert!(world.admit(&picks).is_err(), "the hint was not the reset");
    }
    // Without any date: not the growing seconds of a rate, but as long as such an allowance lasts.
    let world = World::new(1);
    let picks = world.targets("m");
    world.attempt(&picks, Some(spent())).unwrap();
    let after = world.admit(&picks).unwrap_err().retry_after.unwrap();
    assert!(after > 3_600 && i64::from(after) <= DAY / 1_000, "{after}");
}

#[test]
fn calls_count_when_they_start_and_not_when_they_end() {
    let mut specs = keys("p", 1);
    specs[0].limits.rpm = Some(60);
    let world = World::with(specs, Config::default(), false);
    let picks = world.targets("m");
    // Nothing has ended yet, and no call is short: the burst is used up all the same.
    let mut running = Vec::new();
    let denial = loop {
        match world.admit(&picks) {
            Ok(permit) => running.push(permit),
            Err(denial) => break denial,
        }
    };
    assert_eq!((denial.reason, running.len()), (Blocked::RateLimit, 6));
    assert_eq!(denial.retry_after, Some(1));
    assert_eq!(world.resilience.in_flight(&target()), 6);
    // A minute later all of them end at once. That was a minute's worth of starts ago: they are not counted again.
    world.wait(60_000);
    running.into_iter().for_each(|permit| world.succeed(permit));
    let burst = (0..10).map_while(|_| world.admit(&picks).ok()).count();
    assert_eq!(burst, 6);
}

#[test]
fn a_full_queue_says_when_by_how_long_slots_are_held() {
    let mut specs = keys("p", 1);
    specs[0].limits.max_concurrent = Some(1);
    let mut config = Config::default();
    config.slots.queue_size = 2;
    let world = World::with(specs, config, false);
    let picks = world.targets("m");
    for held in [20_000_u64; 8] {
        let permit = world.admit(&picks).unwrap();
        world.wait(held);
        world.succeed(permit);
    }
    let _running = world.admit(&picks).unwrap();
    let alone = world.admit(&picks).unwrap_err();
    assert_eq!((alone.reason, alone.retry_after), (Blocked::Slots, Some(20)), "the first in the queue");
    let cx = AdmitContext::default();
    let mut waiters: Vec<_> = (0..2).map(|_| world.resilience.admit_or_wait(&picks, &cx).boxed()).collect();
    for waiter in &mut waiters {
        assert!(waiter.now_or_never().is_none());
    }
    let denial = world.resilience.admit_or_wait(&picks, &cx).now_or_never().unwrap().unwrap_err();
    assert_eq!((denial.reason, denial.status, denial.retry_after), (Blocked::Slots, 429, Some(60)));
    assert!(denial.not_before.is_some_and(|at| at > world.clock.now().mono));
}

#[test]
fn whoever_waits_for_a_slot_waits_as_long_as_its_deadline_lets_it() {
    let mut specs = keys("p", 1);
    specs[0].limits.max_concurrent = Some(1);
    let mut world = World::with(specs, Config::default(), true);
    let picks = world.targets("m");
    let other = world.process();
    let theirs = handles(&other, &world.specs, "m");
    let running = admit(&other, &theirs).unwrap();
    // Less time than the queue allows, and the slot comes back in another process, which tells nobody.
    let mut cx = AdmitContext::default();
    cx.deadline = Some(world.clock.now().mono.after(std::time::Duration::from_secs(10)));
    let mut waiter = world.resilience.admit_or_wait(&picks, &cx).boxed();
    assert!((&mut waiter).now_or_never().is_none());
    world.wait(3_000);
    assert!((&mut waiter).now_or_never().is_none());
    world.succeed(running);
    world.wait(1_000);
    assert!((&mut waiter).now_or_never().is_some_and(|result| result.is_ok()));
}

#[test]
fn what_was_written_before_the_clock_went_back_holds_no_longer_than_usual() {
    const HOUR: u64 = 3_600_000;
    let mut limited = keys("p", 1);
    limited[0].limits.max_concurrent = Some(1);
    let mut paced = keys("p", 1);
    paced[0].limits.rpm = Some(1);
    let mut pool = PoolSpec::new("pool", vec![(target().provider, target().connection)]);
    pool.dimensions.push(Dimension { unit: Unit::Requests, window: QuotaWindow::Minute, limit: 1 });
    for (specs, reason, holds) in [
        (limited, Blocked::Slots, 120_000),
        (paced, Blocked::RateLimit, 60_000),
        (keys("p", 1), Blocked::QuotaShare, 62_000),
    ] {
        let world = |specs| World::with(specs, Config::default(), false);
        let (mut ahead, right) = (world(specs.clone()), world(specs));
        let other = ahead.process();
        if reason == Blocked::QuotaShare {
            other.configure_pools(vec![pool.clone()]);
            right.resilience.configure_pools(vec![pool.clone()]);
        }
        ahead.wait(HOUR);
        let permit = admit(&other, &handles(&other, &ahead.specs, "m")).unwrap();
        if reason == Blocked::QuotaShare {
            ahead.succeed(permit);
        } else {
            std::mem::forget(permit);
        }
        carry_over(&ahead, &right);
        let picks = right.targets("m");
        assert_eq!(right.admit(&picks).unwrap_err().reason, reason, "what runs still counts");
        right.wait(holds / 2);
        assert_eq!(right.admit(&picks).unwrap_err().reason, reason);
        right.wait(holds / 2);
        assert!(right.admit(&picks).is_ok(), "{reason:?} must have ended by itself");
    }
}

#[test]
fn a_lock_of_a_refresh_from_before_the_clock_went_back_ends_as_usual() {
    let (ahead, right) = (World::new(1), World::new(1));
    let begin = |world: &World| {
        block_on(world.resilience.refresh_begin(&target().provider, &target().connection, 0, None)).unwrap()
    };
    ahead.wait(3_600_000);
    assert!(matches!(begin(&ahead), Refresh::Lead(_)));
    carry_over(&ahead, &right);
    assert_eq!(begin(&right), Refresh::Follow(UnixMs(START + 45_000)));
    right.wait(20_000);
    assert_eq!(begin(&right), Refresh::Follow(UnixMs(START + 45_000)));
    right.wait(25_000);
    assert!(matches!(begin(&right), Refresh::Lead(_)));
}

/// The records of a store whose clock was ahead, in one whose clock is right.
fn carry_over(ahead: &World, right: &World) {
    let mut puts = Vec::new();
    let mut visit = |key: &Key, record: &Record| {
        let (value, expires) = (record.value.clone(), record.expires);
        puts.push(Change::Put { key: key.clone(), expected: None, value, expires });
    };
    block_on(ahead.store.scan("", &mut visit)).expect("a store in memory is read");
    assert!(!puts.is_empty());
    block_on(right.store.commit(&puts, None, Durability::Relaxed)).expect("nothing else writes");
}

#[test]
fn a_full_slot_that_is_passed_leaves_the_others_to_be_given_back() {
    let mut specs = keys("p", 1);
    specs[0].limits.max_concurrent = Some(1);
    let mut config = Config::default();
    (config.slots.fail_open, config.slots.global) = (true, Some(2));
    let world = World::with(specs, config, false);
    let picks = world.targets("m");
    let first = world.admit(&picks).unwrap();
    world.succeed(world.admit(&picks).unwrap());
    assert_eq!(world.resilience.health().counts.slot_bypasses, 1);
    world.succeed(first);
    let (records, _) = block_on(world.store.get(&[Key::Slots { provider: None, connection: None }])).unwrap();
    assert_eq!(records, [None], "whoever went on without one slot has given the other back");
}

#[test]
fn attempts_end_where_they_began_whatever_is_configured_meanwhile() {
    let world = World::new(2);
    let mut pool = PoolSpec::new(
        "pool",
        world.specs.iter().map(|s| (s.provider.clone(), s.connection.clone())).collect(),
    );
    pool.dimensions.push(Dimension { unit: Unit::Tokens, window: QuotaWindow::Hour, limit: 100 });
    world.resilience.configure_pools(vec![pool]);
    let picks = world.targets("m");
    let mut cx = AdmitContext::default();
    cx.estimate = 150;
    let admit = |at: usize| block_on(world.resilience.admit(&picks[at..=at], &cx));
    let running = || world.resilience.health().breakers.iter().map(|b| b.in_flight).collect::<Vec<_>>();
    let (first, mut specs) = (admit(0).unwrap(), world.specs.clone());
    assert_eq!(running(), [1]);
    specs[0].origin = Some("elsewhere".into());
    world.resilience.configure(&specs);
    world.fail(first, failure(FailureKind::Cancelled, Scope::Connection, 499));
    assert_eq!(running(), [0, 0], "it began at the other breaker");

    let first = admit(0).unwrap();
    assert_eq!(running(), [0, 1]);
    world.resilience.configure(&specs[1..]);
    assert_eq!(admit(1).unwrap_err().reason, Blocked::QuotaShare);
    world.fail(first, failure(FailureKind::Cancelled, Scope::Connection, 499));
    assert_eq!(running(), [0, 0], "its connection is gone");
    assert!(admit(1).is_ok(), "what it had set aside is back");
}

fn target() -> omniroute_core::Target {
    omniroute_core::Target::new("p", "p-0", "m")
}
