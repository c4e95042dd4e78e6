//! Breakers as the library moves them: one probe after an outage, whose place is never lost; what they do not count;
//! origins; operators.

use futures::executor::block_on;
use omniroute_core::{FailureKind, ProviderId, Scope};
use omniroute_resilience::layers::breaker::{Forced, State};
use omniroute_resilience::{Blocked, Config};

use super::admit::unavailable;
use crate::common::*;

/// Fails until the provider's breaker is open.
fn open(world: &World, provider: &str, picks: &[omniroute_resilience::Handle]) {
    for n in 0..200 {
        world.wait(4_000);
        let pick = picks[n % picks.len()];
        let _ = world.attempt(&[pick], Some(unavailable()));
        if breaker(world, provider) == State::Open {
            return;
        }
    }
    panic!("never opened");
}

fn breaker(world: &World, provider: &str) -> State {
    world
        .resilience
        .health()
        .breakers
        .iter()
        .find(|b| b.provider.as_str() == provider)
        .expect("configured")
        .state
}

#[test]
fn a_stampede_at_the_end_of_an_outage_is_one_probe() {
    let mut config = Config::default();
    config.last_resort.enabled = false;
    let mut world = World::with(keys("p", 2), config, true);
    let picks = world.targets("m");
    open(&world, "p", &picks);
    let denial = world.admit(&picks).unwrap_err();
    assert!(denial.refusals.iter().any(|refusal| refusal.reason == Blocked::Breaker) || denial.status == 429);
    world.wait(40_000);
    let processes: Vec<_> = (0..8).map(|_| world.process()).collect();
    let mut granted = Vec::new();
    for n in 0..10_000 {
        let process = &processes[n % 8];
        let picks = handles(process, &world.specs, "m");
        granted.extend(admit(process, &picks));
    }
    assert_eq!(granted.len(), 1);
    let probe = granted.pop().unwrap();
    assert!(probe.grant().probe);
    block_on(probe.first_content());
    assert!(world.store.calls().0 > 0);
    world.wait(251);
    world.attempt(&picks, None).unwrap();
    assert_eq!(breaker(&world, "p"), State::Closed);
    // The stream goes on and fails later: that is another event and undoes nothing.
    world.fail(probe, failure(FailureKind::BadReply, Scope::Request, 200));
    assert_eq!(breaker(&world, "p"), State::Closed);
}

#[test]
fn a_dropped_probe_frees_its_place_at_the_next_call() {
    let world = World::new(2);
    let picks = world.targets("m");
    open(&world, "p", &picks);
    world.wait(60_000);
    let probe = world.admit(&picks).unwrap();
    assert!(probe.grant().probe);
    assert_eq!(world.admit(&picks).unwrap_err().code, "provider_circuit_open");
    drop(probe);
    assert!(world.admit(&picks).unwrap().grant().probe);
}

#[test]
fn a_hung_probe_blocks_for_its_lease_at_most() {
    let world = World::new(2);
    let picks = world.targets("m");
    open(&world, "p", &picks);
    world.wait(60_000);
    let hung = world.admit(&picks).unwrap();
    let denial = world.admit(&picks).unwrap_err();
    assert!((1..=5).contains(&denial.retry_after.unwrap()));
    world.wait(90_000);
    let second = world.admit(&picks).unwrap();
    world.succeed(hung);
    assert_eq!(breaker(&world, "p"), State::HalfOpen, "too late to matter");
    world.succeed(second);
    assert_eq!(breaker(&world, "p"), State::Closed);
}

#[test]
fn refusals_of_one_account_never_reach_the_breaker() {
    let world = World::new(2);
    let picks = world.targets("m");
    for n in 0..300 {
        let kind = [
            FailureKind::RateLimited,
            FailureKind::Forbidden,
            FailureKind::QuotaExhausted,
            FailureKind::Overloaded,
        ][n % 4];
        world.wait(100_000);
        let _ = world.attempt(&picks[..1], Some(failure(kind, Scope::Connection, 429)));
    }
    let health = world.resilience.health();
    assert_eq!((health.breakers[0].state, health.breakers[0].failures), (State::Closed, 0));
}

#[test]
fn one_bad_origin_of_a_provider_leaves_the_others() {
    let mut specs = keys("p", 4);
    for (n, spec) in specs.iter_mut().enumerate() {
        spec.origin = Some(if n < 2 { "https://a".into() } else { "https://b".into() });
    }
    let world = World::with(specs, Config::default(), false);
    let picks = world.targets("m");
    for n in 0..60 {
        world.wait(7_000);
        let _ = world.attempt(&picks[n % 2..=n % 2], Some(unavailable()));
    }
    let health = world.resilience.health();
    assert_eq!(health.breakers.iter().map(|b| b.state).collect::<Vec<_>>(), [State::Open, State::Closed]);
    assert!(world.attempt(&picks[2..], None).is_ok());
}

#[test]
fn operators_force_breakers() {
    let world = World::new(1);
    let picks = world.targets("m");
    let provider = ProviderId::new("p");
    block_on(world.resilience.force_breaker(&provider, None, Forced::Open)).unwrap();
    assert_eq!(world.admit(&picks).unwrap_err().code, "provider_circuit_open");
    block_on(world.resilience.force_breaker(&provider, None, Forced::No)).unwrap();
    assert!(world.admit(&picks).is_ok());
}

#[test]
fn after_an_outage_attempts_at_once_ramp_up() {
    let mut config = Config::default();
    config.last_resort.enabled = false;
    let world = World::with(keys("p", 30), config, false);
    let picks = world.targets("m");
    // The first round degrades it, and what began before that counts no more.
    for _ in 0..2 {
        let before: Vec<_> = picks.iter().map(|pick| world.admit(&[*pick]).unwrap()).collect();
        before.into_iter().for_each(|permit| world.fail(permit, unavailable()));
        world.wait(10_000);
    }
    assert_eq!(breaker(&world, "p"), State::Open);
    world.wait(34_000);
    let probe = world.admit(&picks).unwrap();
    assert!(probe.grant().probe);
    world.succeed(probe);
    let mut running = Vec::new();
    // A tenth of what ran at once before, twice as many every five seconds.
    for (wait, most) in [(0, 3), (5_000, 6), (5_000, 12)] {
        world.wait(wait);
        let denial = loop {
            match world.admit(&picks) {
                Ok(permit) => running.push(permit),
                Err(denial) => break denial,
            }
        };
        assert_eq!((running.len(), denial.reason, denial.status), (most, Blocked::ProviderRamp, 503));
    }
    world.wait(20_000);
    for _ in 0..50 {
        running.push(world.admit(&picks).expect("the ramp is over"));
    }
}
