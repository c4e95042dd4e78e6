//! Regret of routing policies over simulated weeks: `route_report [first seed] [last seed]`. One line per policy.
#![expect(
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    clippy::cast_sign_loss,
    clippy::print_stdout,
    reason = "a simulation in floating point that prints its table"
)]

#[path = "../tests/sim/policy.rs"]
mod policy;
#[path = "../tests/sim/random_world.rs"]
mod random_world;
#[path = "../tests/sim/run.rs"]
mod run;
#[path = "../tests/sim/world.rs"]
mod world;

use policy::{Clairvoyant, EpsilonGreedy, Full, Policy, Priority, Random, Static};
use world::Scenario;

type Make = fn() -> Box<dyn Policy>;

const POLICIES: [(&str, Make); 9] = [
    ("random", || Box::new(Random)),
    ("priority", || Box::new(Priority)),
    ("catalogue's opinion", || Box::new(Static(0.0))),
    ("catalogue's opinion, 10 % coin", || Box::new(Static(0.10))),
    ("coin 5 %", || Box::new(EpsilonGreedy::new(0.05))),
    ("coin 10 %", || Box::new(EpsilonGreedy::new(0.10))),
    ("learned, no trials", || Box::new(Full::new(0.0))),
    ("learned, trials 5 %", || Box::new(Full::new(0.05))),
    ("learned, trials 10 %", || Box::new(Full::new(0.10))),
];

fn main() {
    let mut arguments = std::env::args().skip(1).filter_map(|text| text.parse::<u64>().ok());
    let first = arguments.next().unwrap_or(1);
    let last = arguments.next().unwrap_or(first + 2);
    let seeds = (last - first + 1) as f64;
    println!(
        "mean regret over seeds {first} to {last}, 30 % of answers judged; in brackets the worst seed of S7"
    );
    println!("| policy | S1 | S2 | S3 | S4 | S5 | S6 | S7 | explored |");
    println!("| --- | --- | --- | --- | --- | --- | --- | --- | --- |");
    let best: Vec<Vec<f64>> = (first..=last)
        .map(|seed| {
            (1..=7)
                .map(|number| run::run(scenario(number, seed), &mut Clairvoyant, seed, 0.30).mean())
                .collect()
        })
        .collect();
    for (name, make) in POLICIES {
        let mut line = format!("| {name} |");
        let (mut tried, mut requests) = (0, 0.0);
        for number in 1..=7 {
            let mut regrets = Vec::new();
            for seed in first..=last {
                let week = run::run(scenario(number, seed), &mut *make(), seed, 0.30);
                regrets.push((best[(seed - first) as usize][number - 1] - week.mean()) * week.requests);
                tried += week.explored;
                requests += week.requests;
            }
            let mean = regrets.iter().sum::<f64>() / seeds;
            line.push_str(&format!(" {mean:.0}"));
            if number == 7 {
                line.push_str(&format!(" ({:.0})", regrets.iter().copied().fold(f64::MIN, f64::max)));
            }
            line.push_str(" |");
        }
        println!("{line} {:.1} % |", 100.0 * tried as f64 / requests);
    }
}

fn scenario(number: usize, seed: u64) -> Scenario {
    if number == 7 { random_world::random_world(seed) } else { world::scenario(number) }
}
