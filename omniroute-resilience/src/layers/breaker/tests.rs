//! The table of the breaker, row by row, and a second, naive breaker that must always agree with it.

use super::*;
use crate::codec::Value;
use crate::config::{Class, Config};
use crate::rng::Rng;

pub(super) fn rules(class: Class) -> Rules {
    let config = Config::default();
    Rules::new(config.classes.of(class), &config.breaker)
}

/// A breaker with a clock and permits that count up.
struct World {
    breaker: Breaker,
    rules: Rules,
    rng: Rng,
    now: i64,
    number: u64,
}

impl World {
    fn new(class: Class) -> World {
        World {
            breaker: Breaker::default(),
            rules: rules(class),
            rng: Rng::new(1),
            now: 1_000_000,
            number: 0,
        }
    }

    fn permit(&mut self) -> PermitId {
        self.number += 1;
        PermitId { process: 1, number: self.number }
    }

    fn ask(&mut self, connection: u16) -> (Answer, PermitId) {
        let permit = self.permit();
        let asking = Asking { permit, connection, others: true };
        (self.breaker.admit(&asking, self.now, &self.rules, &self.rng).0, permit)
    }

    fn tell(&mut self, verdict: Verdict, permit: PermitId, connection: u16) -> Reaction {
        let report = Report {
            verdict,
            generation: self.breaker.generation,
            permit,
            connection,
            started: self.now,
            alone_may_open: false,
            single: false,
            uncorroborated: false,
        };
        self.breaker.report(&report, self.now, &self.rules, &self.rng)
    }

    /// A whole attempt: a second passes, then it ends.
    fn attempt(&mut self, verdict: Verdict, connection: u16) -> State {
        self.now += 1_000;
        let (_, permit) = self.ask(connection);
        self.tell(verdict, permit, connection);
        self.breaker.state
    }

    fn open(&mut self) {
        for i in 0..self.rules.opens_at {
            self.attempt(Verdict::ProviderFailure, (i % 2) as u16);
        }
        assert_eq!(self.breaker.state, State::Open);
    }

    fn half_open(&mut self) -> PermitId {
        self.open();
        self.now = self.breaker.open_until;
        let (answer, permit) = self.ask(0);
        assert_eq!((answer, self.breaker.state), (Answer::Probe, State::HalfOpen));
        permit
    }
}

#[test]
fn thresholds_of_each_class() {
    for (class, degraded, opens) in [
        (Class::OAuth, 5, 8),
        (Class::ApiKey, 7, 12),
        (Class::Local, 1, 2),
        (Class::WebSession, 5, 8),
        (Class::NoAuth, 7, 12),
    ] {
        let mut world = World::new(class);
        for n in 1..=opens {
            let expected = match n {
                n if n >= opens => State::Open,
                n if n >= degraded => State::Degraded,
                _ => State::Closed,
            };
            assert_eq!(world.attempt(Verdict::ProviderFailure, (n % 2) as u16), expected, "{class:?} {n}");
        }
    }
}

#[test]
fn a_success_takes_back_one_failure() {
    let mut world = World::new(Class::ApiKey);
    for n in 0..11 {
        world.attempt(Verdict::ProviderFailure, n % 2);
    }
    world.attempt(Verdict::Success, 0);
    assert_eq!(world.attempt(Verdict::ProviderFailure, 1), State::Degraded);
    assert_eq!(world.attempt(Verdict::ProviderFailure, 0), State::Open);
}

#[test]
fn degraded_ends_two_below_where_it_began() {
    let mut world = World::new(Class::OAuth);
    for n in 0..5 {
        world.attempt(Verdict::ProviderFailure, n % 2);
    }
    assert_eq!(world.attempt(Verdict::Success, 0), State::Degraded, "4 left");
    assert_eq!(world.attempt(Verdict::Success, 0), State::Closed, "3 left");
}

#[test]
fn failures_grow_old() {
    let mut world = World::new(Class::OAuth);
    for n in 0..7 {
        world.attempt(Verdict::ProviderFailure, n % 2);
    }
    world.now += world.rules.window + 1;
    assert_eq!(world.attempt(Verdict::ProviderFailure, 0), State::Closed);
}

#[test]
fn other_answers_never_move_it() {
    let mut world = World::new(Class::ApiKey);
    for _ in 0..10_000 {
        world.attempt(Verdict::Alive, 0);
        world.attempt(Verdict::Neutral, 1);
    }
    assert_eq!(world.breaker, Breaker::default());
}

#[test]
fn one_bad_connection_of_two_does_not_open_it() {
    let mut world = World::new(Class::ApiKey);
    for _ in 0..50 {
        world.attempt(Verdict::ProviderFailure, 0);
    }
    assert_eq!(world.breaker.state, State::Degraded);
    assert_eq!(world.breaker.failures.len(), 12, "bounded");
    // The same with no sibling that works: it may.
    let report = Report {
        verdict: Verdict::ProviderFailure,
        generation: world.breaker.generation,
        permit: world.permit(),
        connection: 0,
        started: world.now + 1,
        alone_may_open: true,
        single: false,
        uncorroborated: false,
    };
    world.breaker.report(&report, world.now + 2, &world.rules, &world.rng);
    assert_eq!(world.breaker.state, State::Open);
}

#[test]
fn a_burst_counts_once_for_each_connection() {
    let mut world = World::new(Class::ApiKey);
    let permits: Vec<PermitId> = (0..12).map(|_| world.ask(0).1).collect();
    let started = world.now;
    for permit in permits {
        world.now += 50;
        let report = Report {
            verdict: Verdict::ProviderFailure,
            generation: world.breaker.generation,
            permit,
            connection: 0,
            started,
            alone_may_open: true,
            single: true,
            uncorroborated: false,
        };
        world.breaker.report(&report, world.now, &world.rules, &world.rng);
    }
    assert_eq!(world.breaker.failures.len(), 1);
}

#[test]
fn a_hung_probe_loses_its_lease() {
    let mut world = World::new(Class::ApiKey);
    let hung = world.half_open();
    world.now += world.rules.probe_lease - 1;
    assert!(matches!(world.ask(1).0, Answer::Deny(_)));
    world.now += 1;
    let generation = world.breaker.generation;
    assert_eq!(world.ask(1).0, Answer::Probe);
    assert!(world.breaker.generation > generation);
    assert!(world.tell(Verdict::Success, hung, 0).late, "its late result is ignored");
    assert_eq!(world.breaker.state, State::HalfOpen);
}

#[test]
fn many_ask_one_probes() {
    let mut world = World::new(Class::ApiKey);
    world.open();
    world.now = world.breaker.open_until;
    let granted = (0..10_000).filter(|_| !matches!(world.ask(1).0, Answer::Deny(_))).count();
    assert_eq!(granted, 1);
    let before = world.breaker.clone();
    assert!(world.breaker.blocked_until(world.now).is_some());
    assert_eq!(world.breaker, before, "looking reserves nothing");
}

#[test]
fn any_other_answer_frees_the_slot_at_once() {
    let mut world = World::new(Class::ApiKey);
    let probe = world.half_open();
    world.tell(Verdict::Alive, probe, 0);
    assert_eq!(world.breaker.state, State::HalfOpen);
    assert!(matches!(world.ask(0).0, Answer::Deny(_)), "another connection is preferred");
    assert_eq!(world.ask(1).0, Answer::Probe);
}

#[test]
fn three_probes_without_verdict_open_it_again() {
    let mut world = World::new(Class::ApiKey);
    let mut probe = world.half_open();
    for _ in 0..2 {
        world.tell(Verdict::Alive, probe, 0);
        world.now += 1_000;
        let (answer, permit) = world.ask(0);
        assert_eq!(answer, Answer::Probe);
        probe = permit;
    }
    world.tell(Verdict::Alive, probe, 0);
    assert_eq!((world.breaker.state, world.breaker.cycle), (State::Open, 0));
    let wait = world.breaker.open_until - world.now;
    assert!((27_000..=33_000).contains(&wait), "{wait}");
}

#[test]
fn an_aborted_probe_says_nothing() {
    let mut world = World::new(Class::ApiKey);
    let probe = world.half_open();
    world.tell(Verdict::Neutral, probe, 0);
    assert_eq!((world.breaker.state, world.breaker.inconclusive), (State::HalfOpen, 0));
    assert_eq!(world.ask(0).0, Answer::Probe);
}

#[test]
fn late_results_change_nothing() {
    let mut world = World::new(Class::ApiKey);
    let (_, early) = world.ask(3);
    let generation = world.breaker.generation;
    world.open();
    let open = world.breaker.clone();
    for verdict in [Verdict::Success, Verdict::ProviderFailure] {
        assert!(world.tell(verdict, early, 3).late);
        assert_eq!(world.breaker, open);
    }
    world.now = world.breaker.open_until;
    let (_, probe) = world.ask(0);
    let half_open = world.breaker.clone();
    for verdict in [Verdict::Success, Verdict::ProviderFailure, Verdict::Alive, Verdict::Neutral] {
        assert!(world.tell(verdict, early, 3).late);
        assert_eq!(world.breaker, half_open);
    }
    world.tell(Verdict::Success, probe, 0);
    assert_eq!(world.breaker.state, State::Closed);
    let report = Report {
        verdict: Verdict::ProviderFailure,
        generation,
        permit: early,
        connection: 3,
        started: world.now,
        alone_may_open: true,
        single: true,
        uncorroborated: false,
    };
    assert!(world.breaker.report(&report, world.now, &world.rules, &world.rng).late);
    assert!(world.breaker.failures.is_empty());
}

#[test]
fn reset_times() {
    for (class, seconds) in [
        (Class::OAuth, [60, 60, 60, 120, 240, 480, 480]),
        (Class::ApiKey, [30, 30, 30, 30, 60, 120, 120]),
        (Class::Local, [15, 15, 15, 15, 30, 60, 60]),
    ] {
        let rules = rules(class);
        let table: Vec<i64> = (0..7).map(|cycle| rules.timeout(cycle) / 1_000).collect();
        assert_eq!(table, seconds, "{class:?}");
    }
    let mut world = World::new(Class::OAuth);
    let mut probe = world.half_open();
    for cycle in 1..7 {
        world.tell(Verdict::ProviderFailure, probe, 0);
        assert_eq!((world.breaker.state, world.breaker.cycle), (State::Open, cycle));
        let (wait, base) = (world.breaker.open_until - world.now, world.rules.timeout(cycle));
        assert!(wait >= base * 9 / 10 && wait <= base * 11 / 10, "{cycle}: {wait}");
        world.now = world.breaker.open_until;
        probe = world.ask(0).1;
    }
}

#[test]
fn every_state_survives_a_restart() {
    let mut world = World::new(Class::ApiKey);
    let mut seen = vec![world.breaker.clone()];
    world.open();
    seen.push(world.breaker.clone());
    world.now = world.breaker.open_until;
    world.ask(0);
    seen.push(world.breaker.clone());
    for breaker in seen {
        let bytes = breaker.encode(b"newer");
        assert_eq!(Breaker::decode(&bytes), Some((breaker.clone(), b"newer".as_slice())));
        let mut later = breaker;
        let asking = Asking { permit: PermitId { process: 2, number: 1 }, connection: 1, others: false };
        let answer = later.admit(&asking, world.now + 10_000_000, &world.rules, &world.rng).0;
        assert_ne!(answer, Answer::Deny(0), "nothing is stranded");
        assert!(!matches!(answer, Answer::Deny(_)));
    }
    // A deadline that no clock of ours can have written is cut.
    let mut odd = Breaker { state: State::Open, open_until: i64::MAX, ..Breaker::default() };
    odd.settle(5, &world.rules);
    assert_eq!(odd.open_until, 5 + world.rules.longest());
    assert_eq!(Breaker::decode(&[1, 9, 0]), None, "an unknown state reads as absent");
}

#[test]
fn new_numbers_keep_the_current_deadline() {
    let mut world = World::new(Class::ApiKey);
    world.open();
    let until = world.breaker.open_until;
    world.rules.reset *= 4;
    assert_eq!(world.ask(0).0, Answer::Deny(until));
}

#[test]
fn operators_win() {
    let mut world = World::new(Class::ApiKey);
    world.open();
    world.breaker.force(Forced::Closed, world.now);
    assert_eq!(world.ask(0).0, Answer::Grant);
    world.breaker.force(Forced::Open, world.now);
    assert_eq!(world.ask(0).0, Answer::Deny(i64::MAX));
    let before = world.breaker.clone();
    world.attempt(Verdict::Success, 0);
    assert_eq!(world.breaker, before);
    world.breaker.reset(world.now);
    assert_eq!((world.ask(0).0, world.breaker.state), (Answer::Grant, State::Closed));
}

#[test]
fn uncorroborated_failures_open_it_briefly_and_never_longer() {
    let mut world = World::new(Class::OAuth);
    for _ in 0..8 {
        world.now += 6_000;
        let report = Report {
            verdict: Verdict::ProviderFailure,
            generation: world.breaker.generation,
            permit: world.permit(),
            connection: 0,
            started: world.now,
            alone_may_open: true,
            single: true,
            uncorroborated: true,
        };
        world.breaker.report(&report, world.now, &world.rules, &world.rng);
    }
    assert_eq!(world.breaker.state, State::Open);
    assert!(world.breaker.open_until - world.now <= 16_500);
}
