//! A shared store that fails or does not answer: nobody hangs, nobody storms it, everybody hears of it once.

#[expect(dead_code, reason = "other tests use more of it")]
mod common;

use std::sync::atomic::Ordering::Relaxed;

use common::*;
use omniroute_resilience::{Config, EventKind};

#[test]
fn a_store_that_is_away_is_asked_once_a_second_and_named_once() {
    let mut world = World::with(keys("p", 4), Config::default(), true);
    let picks = world.targets("m");
    world.attempt(&picks, None).unwrap();
    let before = world.store.calls();
    world.store.away.store(true, Relaxed);
    // Ten seconds of traffic, half of it failing, so that there is something to write all the time.
    for n in 0..1_000 {
        let failure = (n % 2 == 0)
            .then(|| failure(omniroute_core::FailureKind::BadReply, omniroute_core::Scope::Connection, 200));
        let _denied = world.attempt(&picks, failure);
        world.wait(9);
    }
    let after = world.store.calls();
    let asked = after.0 + after.1 - before.0 - before.1;
    assert!((5..=40).contains(&asked), "{asked} calls of a store that was away for ten seconds");
    let counts = world.resilience.counts();
    assert_eq!(counts.store_errors, asked, "no error is swallowed");
    assert!(world.resilience.health().store_degraded);
    let told = |wanted: fn(&EventKind) -> bool| {
        world.resilience.events(0).events.iter().filter(|event| wanted(&event.kind)).count()
    };
    assert_eq!(told(|kind| matches!(kind, EventKind::StoreDegraded { .. })), 1, "one word for one outage");
    assert_eq!(told(|kind| matches!(kind, EventKind::StoreRecovered)), 0);

    // A process that starts now starts.
    let late = world.process();
    let theirs = handles(&late, &world.specs, "m");
    assert!(admit(&late, &theirs).is_ok());

    world.store.away.store(false, Relaxed);
    world.wait(1_300);
    let _denied = world.attempt(&picks, None);
    assert!(!world.resilience.health().store_degraded);
    assert_eq!(world.resilience.health().outbox, 0, "what was learned meanwhile has arrived");
    let events = world.resilience.events(0).events;
    assert_eq!(events.iter().filter(|event| matches!(event.kind, EventKind::StoreRecovered)).count(), 1);
}
