//! What a learning policy has to reach, each as a check that takes any policy: what ships has to pass, and its broken twins
//! must not.

use crate::policy::{Learning, Parts, Policy, Priority, Request};
use crate::run::{Week, run};
use crate::world::{Scenario, scenario};

/// Judgements after which an overrated arm has to have lost its traffic.
pub(crate) const SOON: u64 = 60;
/// The share it may keep.
pub(crate) const REST: f64 = 0.05;

pub(crate) type Make<'a> = &'a dyn Fn() -> Box<dyn Policy>;

/// Mean utility, by scenario and seed.
pub(crate) type Means = Vec<Vec<f64>>;

/// All requests of the six tuned scenarios by one policy.
pub(crate) fn means(make: Make<'_>, seeds: impl Iterator<Item = u64> + Clone) -> Means {
    let week = |number, seed| run(scenario(number), &mut *make(), seed, 0.30).mean();
    (1..=6).map(|number| seeds.clone().map(|seed| week(number, seed)).collect()).collect()
}

/// More in sum than a coin of 5 % over plain means.
pub(crate) fn beats_the_coin(own: &Means, coin: &Means) -> bool {
    let sum = |means: &Means| means.iter().flatten().sum::<f64>();
    sum(own) > sum(coin)
}

/// The scenarios in which a fixed order does better.
pub(crate) fn worse_than_fixed(own: &Means, fixed: &Means) -> Vec<usize> {
    let mean = |seeds: &Vec<f64>| seeds.iter().sum::<f64>() / seeds.len() as f64;
    (0..own.len()).filter(|at| mean(&own[*at]) <= mean(&fixed[*at])).map(|at| at + 1).collect()
}

pub(crate) fn coin() -> Box<dyn Policy> {
    Box::new(Learning::new(Parts::coin(0.05)))
}

pub(crate) fn fixed() -> Box<dyn Policy> {
    Box::new(Priority)
}

/// The share that an arm of ability .1 and reputation .95 has once it was judged sixty times.
pub(crate) fn overrated(policy: Box<dyn Policy>, seed: u64) -> f64 {
    let mut one = scenario(1);
    (one.arms[BAD].q, one.arms[BAD].fit) = ([0.1; 7], [0.95; 7]);
    let mut watched = Watched { policy, judged: 0, after: 0, to_it: 0 };
    run(one, &mut watched, seed, 1.0);
    // Whoever is judged less often than that has lost its traffic before.
    if watched.after == 0 { 0.0 } else { watched.to_it as f64 / watched.after as f64 }
}

/// Trials are the rate, the start of the budget, and what newcomers may owe it at most.
pub(crate) fn within_budget(week: &Week, rate: f64) -> bool {
    (week.explored as f64) <= rate * week.requests + 100.0 * rate + 101.0
}

const BAD: usize = 3;

struct Watched {
    policy: Box<dyn Policy>,
    judged: u64,
    after: u64,
    to_it: u64,
}

impl Policy for Watched {
    fn order(&mut self, scenario: &Scenario, request: &Request<'_>) -> Vec<usize> {
        let order = self.policy.order(scenario, request);
        if self.judged >= SOON {
            self.after += 1;
            self.to_it += u64::from(order[0] == BAD);
        }
        order
    }

    fn feedback(&mut self, arm: usize, class: usize, reward: f64, t: f64) {
        self.judged += u64::from(arm == BAD);
        self.policy.feedback(arm, class, reward, t);
    }
}

/// As it ships, but the process starts anew every thousand requests, from what was saved; its broken twin from nothing.
pub(crate) struct Restarting {
    policy: Learning,
    requests: u64,
    forgets: bool,
}

impl Restarting {
    pub(crate) fn new(forgets: bool) -> Self {
        Restarting { policy: Learning::new(Parts::full(0.05)), requests: 0, forgets }
    }
}

impl Policy for Restarting {
    fn order(&mut self, scenario: &Scenario, request: &Request<'_>) -> Vec<usize> {
        self.requests += 1;
        if self.requests.is_multiple_of(1_000) {
            self.policy =
                if self.forgets { Learning::new(Parts::full(0.05)) } else { self.policy.restarted() };
        }
        self.policy.order(scenario, request)
    }

    fn feedback(&mut self, arm: usize, class: usize, reward: f64, t: f64) {
        self.policy.feedback(arm, class, reward, t);
    }
}
