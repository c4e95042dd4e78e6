//! A simulated week of requests: is learning worth it, and does this implementation agree with the reference numbers?
#![expect(
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    clippy::cast_sign_loss,
    clippy::approx_constant,
    clippy::print_stdout,
    reason = "a simulation in floating point that prints its figures"
)]

mod gates;
#[expect(dead_code, reason = "the report has more policies")]
mod policy;
mod random_world;
mod run;
mod world;

use gates::{
    Means, REST, Restarting, beats_the_coin, coin, fixed, means, overrated, within_budget, worse_than_fixed,
};
use policy::{Clairvoyant, Learning, Parts, Policy, Priority, Random, Static, Trials};
use random_world::random_world;
use run::{Week, run};
use world::{scenario, u};

fn full(rate: f64) -> Learning {
    Learning::new(Parts::full(rate))
}

/// Hears no judgement: the broken twin of most checks.
fn deaf() -> Box<dyn Policy> {
    Box::new(Learning::new(Parts { listens: false, ..Parts::full(0.05) }))
}

#[test]
fn the_reference_draws() {
    let close = |a: f64, b: f64| assert!((a - b).abs() < 1e-12, "{a} {b}");
    close(u(1, &[1, 0]), 0.620_543_106_714_356);
    close(u(1, &[1, 1]), 0.490_454_187_837_426_9);
    close(u(2, &[60, 5, 3, 0]), 0.312_755_691_305_721);
    close(world::normal(1, &[2, 0]), -0.599_161_486_959_756_9);
}

/// Four digits.
const EXACT: f64 = 5e-4;
/// Where draws meet the budget and the newcomers, the reference takes another path; the decision about learning says which
/// readings were tried.
const NEAR: f64 = 6e-3;

fn compare(name: &str, make: impl Fn() -> Box<dyn Policy>, expected: [f64; 6], tolerance: f64) {
    let mut worst = Vec::new();
    for number in 1..=6 {
        let week = run(scenario(number), &mut *make(), 1, 0.30);
        let expected = expected[number - 1];
        let off = week.mean() - expected;
        println!("{name} S{number}: {:.4}, reference {expected:.4}", week.mean());
        if off.abs() > tolerance {
            worst.push(format!("S{number} {:.4} instead of {expected:.4}", week.mean()));
        }
    }
    assert!(worst.is_empty(), "{name}: {}", worst.join(", "));
}

#[test]
fn random_agrees_with_the_reference() {
    compare("random", || Box::new(Random), [0.6227, 0.6178, 0.6361, 0.6213, 0.6202, 0.6098], EXACT);
}

#[test]
fn priority_agrees_with_the_reference() {
    compare("priority", || Box::new(Priority), [0.7242, 0.7048, 0.7242, 0.7238, 0.7076, 0.6848], EXACT);
}

#[test]
fn clairvoyant_agrees_with_the_reference() {
    compare("clairvoyant", || Box::new(Clairvoyant), [0.7853, 0.7620, 0.8168, 0.8008, 0.7728, 0.7751], EXACT);
}

#[test]
fn epsilon_greedy_agrees_with_the_reference() {
    compare(
        "e 10 %",
        || Box::new(Learning::new(Parts::coin(0.10))),
        [0.7673, 0.7402, 0.7869, 0.7779, 0.7498, 0.7378],
        EXACT,
    );
}

#[test]
fn the_full_policy_comes_near_the_reference() {
    compare("full", || Box::new(full(0.05)), [0.7902, 0.7656, 0.8123, 0.8014, 0.7765, 0.7576], NEAR);
}

/// Few seeds here; the report runs more.
#[test]
fn learning_beats_the_coin_and_never_loses_to_a_fixed_order() {
    let coins: Means = means(&coin, 1..=2);
    let fixed: Means = means(&fixed, 1..=2);
    let own = means(&|| Box::new(full(0.05)), 1..=2);
    assert!(beats_the_coin(&own, &coins), "{own:?} against {coins:?}");
    assert_eq!(worse_than_fixed(&own, &fixed), [0; 0]);
    // Twins: one that hears nothing, one that tries anything for ever.
    let unheard = means(&deaf, 1..=2);
    assert!(!beats_the_coin(&unheard, &coins));
    let random = means(&|| Box::new(Random), 1..=2);
    assert_eq!(worse_than_fixed(&random, &fixed), [1, 2, 3, 4, 5, 6]);
}

/// An arm that the catalogue overrates loses its traffic soon.
#[test]
fn an_overrated_arm_falls_below_a_twentieth_of_the_traffic() {
    let learned = overrated(Box::new(full(0.05)), 5);
    let unheard = overrated(deaf(), 5);
    println!("of the traffic after sixty judgements: {learned:.4}, and {unheard:.4} for who hears none");
    assert!(learned < REST, "{learned}");
    assert!(unheard >= REST, "the check has to notice: {unheard}");
}

#[test]
fn trials_stay_within_their_budget() {
    for (number, seed) in [(1, 1), (3, 2), (8, 3)] {
        let week = run(scenario(number), &mut full(0.05), seed, 0.30);
        assert!(week.explored > 0, "S{number} tries nothing out");
        assert!(within_budget(&week, 0.05), "S{number}: {} of {}", week.explored, week.requests);
    }
    let unbounded = Parts { trials: Trials::Drawn, ..Parts::full(0.05) };
    let week = run(scenario(1), &mut Learning::new(unbounded), 1, 0.30);
    assert!(!within_budget(&week, 0.05), "the check has to notice: {}", week.explored);
    let none = run(scenario(1), &mut full(0.0), 1, 0.30);
    assert_eq!(none.explored, 0);
}

/// One unseen world; the report runs twenty.
#[test]
fn an_unseen_world_rewards_learning() {
    let seed = 101;
    let learned = run(random_world(seed), &mut full(0.05), seed, 0.30);
    let opinion = run(random_world(seed), &mut Static(0.10), seed, 0.30);
    let unheard = run(random_world(seed), &mut *deaf(), seed, 0.30);
    println!("full {:.4}, opinion {:.4}, deaf {:.4}", learned.mean(), opinion.mean(), unheard.mean());
    assert!(learned.mean() > opinion.mean() && learned.mean() > unheard.mean());
}

#[test]
fn the_same_seed_gives_the_same_week_and_another_seed_another() {
    let week = |seed| run(scenario(3), &mut full(0.05), seed, 0.30);
    let (one, again, other) = (week(4), week(4), week(5));
    let bits = |week: &Week| (week.utility.to_bits(), week.path, week.attempts, week.explored);
    assert_eq!(bits(&one), bits(&again));
    assert_ne!(one.path, other.path);
}

#[test]
fn a_process_that_starts_anew_decides_as_before() {
    let week = |forgets| run(scenario(3), &mut Restarting::new(forgets), 6, 0.30);
    let straight = run(scenario(3), &mut full(0.05), 6, 0.30);
    let restarted = week(false);
    assert_eq!((restarted.path, restarted.attempts), (straight.path, straight.attempts));
    assert_ne!(week(true).path, straight.path, "whoever forgets decides otherwise");
}

/// Every part of the policy is alive: without it other decisions are made.
#[test]
fn every_part_of_the_policy_changes_decisions() {
    let path = |parts| run(scenario(6), &mut Learning::new(parts), 1, 0.30).path;
    let whole = Parts::full(0.05);
    let without = [
        ("budget", Parts { trials: Trials::Budget(0.02), ..whole }),
        ("newcomers", Parts { newcomers: None, ..whole }),
        ("hope", Parts { hope: false, ..whole }),
        ("pacing", Parts { pacing: false, ..whole }),
        ("alarm", Parts { alarm: false, ..whole }),
        ("ageing", Parts { half_life: f64::INFINITY, ..whole }),
    ];
    assert_eq!(path(whole), path(whole));
    for (name, parts) in without {
        assert_ne!(path(parts), path(whole), "{name} changes nothing");
    }
}

/// Inside a session nothing is tried out, and the first request may be.
#[test]
fn a_session_is_left_alone() {
    let parts = Parts { between_sessions: true, ..Parts::full(0.20) };
    let count = |parts: Parts| -> u64 {
        (1..=20).map(|seed| run(scenario(8), &mut Learning::new(parts), seed, 0.30).explored).sum()
    };
    let (first_only, anywhere) = (count(parts), count(Parts::full(0.20)));
    assert!(first_only <= 20 && anywhere > 20 * 10, "{first_only}, {anywhere}");
}
