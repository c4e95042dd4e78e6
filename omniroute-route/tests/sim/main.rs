//! A simulated week of requests: is learning worth it, and does this implementation agree with the reference numbers?
#![expect(
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    clippy::cast_sign_loss,
    clippy::approx_constant,
    clippy::print_stdout,
    reason = "a simulation in floating point that prints its figures"
)]

mod policy;
mod random_world;
mod run;
mod world;

use policy::{Clairvoyant, EpsilonGreedy, Full, Policy, Priority, Random, Static};
use random_world::random_world;
use run::run;
use world::{scenario, u};

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
/// The learning policy takes another path of trials than the reference, and comes out near it.
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
        || Box::new(EpsilonGreedy::new(0.10)),
        [0.7673, 0.7402, 0.7869, 0.7779, 0.7498, 0.7378],
        EXACT,
    );
}

#[test]
fn the_full_policy_comes_near_the_reference() {
    compare("full", || Box::new(Full::new(0.05)), [0.7902, 0.7656, 0.8123, 0.8014, 0.7765, 0.7576], NEAR);
}

/// Few seeds here; the report runs more.
#[test]
fn learning_beats_the_coin_and_never_loses_to_a_fixed_order() {
    let (mut full_sum, mut coin_sum) = (0.0, 0.0);
    for number in 1..=6 {
        let (mut full, mut priority) = (0.0, 0.0);
        for seed in 1..=2 {
            let week = run(scenario(number), &mut Full::new(0.05), seed, 0.30);
            assert!(week.explored as f64 / week.requests < 0.11, "explored {}", week.explored);
            full += week.mean();
            coin_sum += run(scenario(number), &mut EpsilonGreedy::new(0.05), seed, 0.30).mean();
            priority += run(scenario(number), &mut Priority, seed, 0.30).mean();
        }
        assert!(full > priority, "S{number}: {full} against {priority}");
        full_sum += full;
    }
    assert!(full_sum > coin_sum, "{full_sum} against {coin_sum}");
}

/// A policy that does not learn is what the gate above has to notice.
#[test]
fn the_gate_notices_what_does_not_learn() {
    let mut stays = 0.0;
    let mut learns = 0.0;
    for number in [1, 6] {
        stays += run(scenario(number), &mut Static(0.10), 1, 0.30).mean();
        learns += run(scenario(number), &mut Full::new(0.05), 1, 0.30).mean();
    }
    assert!(learns > stays + 0.01, "{learns} against {stays}");
}

/// An arm that the catalogue overrates loses its traffic soon.
#[test]
fn an_overrated_arm_falls_below_a_twentieth_of_the_traffic() {
    let mut one = scenario(1);
    one.arms[3].q = [0.1; 7];
    one.arms[3].fit = [0.95; 7];
    let share = |policy: &mut dyn Policy| {
        let attempts = run(one.clone(), policy, 5, 1.0).attempts;
        attempts[3] as f64 / attempts.iter().sum::<u64>() as f64
    };
    let (learned, believed) = (share(&mut Full::new(0.05)), share(&mut Static(0.0)));
    println!("of the traffic: {learned:.4}, and {believed:.4} for who does not learn");
    assert!(learned < 0.05 && believed > 0.05, "{learned} {believed}");
}

/// One unseen world; the report runs twenty.
#[test]
fn an_unseen_world_rewards_learning() {
    let seed = 101;
    let full = run(random_world(seed), &mut Full::new(0.05), seed, 0.30);
    let fixed = run(random_world(seed), &mut Static(0.10), seed, 0.30);
    println!("full {:.4}, fixed opinion {:.4}", full.mean(), fixed.mean());
    assert!(full.mean() > fixed.mean());
}
