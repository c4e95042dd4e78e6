//! What limits calls before they are made: dates of used-up allowances, starts, slots.

#[expect(dead_code, reason = "other tests use more of it")]
mod common;

use common::*;
use futures::FutureExt;
use omniroute_core::{Clock, FailureKind, QuotaWindow, Scope};
use omniroute_resilience::{AdmitContext, Blocked, Config};

const DAY: i64 = 86_400_000;

#[test]
fn p32_a_short_hint_beside_a_daily_allowance_does_not_end_the_day() {
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
fn p35_calls_count_when_they_start_and_not_when_they_end() {
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
fn p39_a_full_queue_says_when_by_how_long_slots_are_held() {
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

fn target() -> omniroute_core::Target {
    omniroute_core::Target::new("p", "p-0", "m")
}
