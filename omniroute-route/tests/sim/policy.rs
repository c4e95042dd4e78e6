//! Who chooses in the simulated week.

use std::sync::Arc;

use omniroute_core::UnixMs;
use omniroute_core::route::Mode;
use omniroute_route::learn::{Bucket, Learner, Params, Prior, shadow};

use crate::world::{Scenario, normal, u};

/// One request, as a policy sees it.
pub(crate) struct Request<'a> {
    pub(crate) seed: u64,
    pub(crate) i: u64,
    pub(crate) t: f64,
    pub(crate) class: usize,
    pub(crate) tokens: (f64, f64),
    pub(crate) eligible: &'a [usize],
}

pub(crate) trait Policy {
    fn order(&mut self, scenario: &Scenario, request: &Request<'_>) -> Vec<usize>;
    fn feedback(&mut self, _arm: usize, _class: usize, _reward: f64, _t: f64) {}
    /// Requests that tried something out.
    fn explored(&self) -> u64 {
        0
    }
}

fn penalties(params: &Params, scenario: &Scenario, request: &Request<'_>, arm: usize) -> f64 {
    let cost = scenario.cost(arm, request.t, request.tokens);
    params.penalties(cost, scenario.seconds(arm, request.tokens.1), 0.0)
}

fn sorted(eligible: &[usize], index: impl Fn(usize) -> f64) -> Vec<usize> {
    let mut keyed: Vec<(f64, usize)> = eligible.iter().map(|arm| (index(*arm), *arm)).collect();
    keyed.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
    keyed.into_iter().map(|(_, arm)| arm).collect()
}

fn to_front(order: &mut [usize], arm: usize) {
    if let Some(at) = order.iter().position(|other| *other == arm) {
        order[..=at].rotate_right(1);
    }
}

pub(crate) struct Random;

impl Policy for Random {
    fn order(&mut self, _: &Scenario, request: &Request<'_>) -> Vec<usize> {
        sorted(request.eligible, |arm| u(request.seed, &[50, request.i, arm as u64]))
    }
}

pub(crate) struct Priority;

impl Policy for Priority {
    fn order(&mut self, _: &Scenario, request: &Request<'_>) -> Vec<usize> {
        [0, 4, 6, 2, 1, 3, 5, 7, 8].into_iter().filter(|arm| request.eligible.contains(arm)).collect()
    }
}

pub(crate) struct Clairvoyant;

impl Policy for Clairvoyant {
    fn order(&mut self, scenario: &Scenario, request: &Request<'_>) -> Vec<usize> {
        let params = Params::of(Mode::Default);
        sorted(request.eligible, |arm| {
            let worth =
                scenario.q(arm, request.class, request.t) - penalties(&params, scenario, request, arm);
            (1.0 - scenario.fails(arm, request.t)) * worth
        })
    }
}

/// The catalogue's opinion for ever; now and then anything.
pub(crate) struct Static(pub(crate) f64);

impl Policy for Static {
    fn order(&mut self, scenario: &Scenario, request: &Request<'_>) -> Vec<usize> {
        let params = Params::of(Mode::Default);
        let mut order = sorted(request.eligible, |arm| {
            scenario.arms[arm].fit[request.class] - penalties(&params, scenario, request, arm)
        });
        coin(self.0, request, &mut order);
        order
    }
}

fn coin(rate: f64, request: &Request<'_>, order: &mut [usize]) -> bool {
    let tossed = u(request.seed, &[53, request.i]) < rate;
    if tossed {
        let at = (u(request.seed, &[54, request.i]) * request.eligible.len() as f64) as usize;
        to_front(order, request.eligible[at]);
    }
    tossed
}

/// Means that are learned and never forgotten; now and then anything.
pub(crate) struct EpsilonGreedy {
    rate: f64,
    learner: Learner,
    explored: u64,
}

impl EpsilonGreedy {
    pub(crate) fn new(rate: f64) -> Self {
        let mut params = Params::of(Mode::Default);
        (params.half_life, params.alarm) = (f64::INFINITY, f64::INFINITY);
        EpsilonGreedy { rate, learner: Learner::new(params), explored: 0 }
    }
}

impl Policy for EpsilonGreedy {
    fn order(&mut self, scenario: &Scenario, request: &Request<'_>) -> Vec<usize> {
        let params = Params::of(Mode::Default);
        for arm in request.eligible {
            self.learner.meet(&key(*arm), scenario.arms[*arm].fit, true);
        }
        let mut order = sorted(request.eligible, |arm| {
            let prior = Prior { fit: scenario.arms[arm].fit[request.class], known: true };
            let (mean, _) = self.learner.belief(&key(arm), request.class, prior, 0.0, UnixMs(0));
            mean - penalties(&params, scenario, request, arm)
        });
        self.explored += u64::from(coin(self.rate, request, &mut order));
        order
    }

    fn feedback(&mut self, arm: usize, class: usize, reward: f64, _: f64) {
        self.learner.judge(&key(arm), class, (reward, 1.0), None, UnixMs(0));
    }

    fn explored(&self) -> u64 {
        self.explored
    }
}

/// The learning policy: beliefs, budget and pressure as they ship, draws as the reference has them.
pub(crate) struct Full {
    params: Params,
    learner: Learner,
    bucket: Bucket,
    explored: u64,
}

impl Full {
    pub(crate) fn new(rate: f64) -> Self {
        let mut params = Params::of(Mode::Default);
        (params.rate, params.failure) = (rate, 0.0);
        Full { params, learner: Learner::new(params), bucket: Bucket::new(&params), explored: 0 }
    }
}

impl Policy for Full {
    fn order(&mut self, scenario: &Scenario, request: &Request<'_>) -> Vec<usize> {
        let now = at(request.t);
        let existing: Vec<usize> =
            (0..scenario.arms.len()).filter(|arm| scenario.exists(*arm, request.t)).collect();
        for arm in &existing {
            self.learner.meet(&key(*arm), scenario.arms[*arm].fit, scenario.arms[*arm].known);
        }
        let prior = |arm: usize| Prior {
            fit: scenario.arms[arm].fit[request.class],
            known: scenario.arms[arm].known,
        };
        let keys: Vec<Arc<str>> = existing.iter().map(|arm| key(*arm)).collect();
        let offers = existing.iter().zip(&keys).map(|(arm, key)| (&**key, prior(*arm)));
        let hope = self.learner.upper_quartile(request.class, offers, now);
        let mut greedy = vec![f64::NEG_INFINITY; scenario.arms.len()];
        let mut drawn = greedy.clone();
        for arm in request.eligible {
            let (mean, spread) = self.learner.belief(&key(*arm), request.class, prior(*arm), hope, now);
            let lost = penalties(&self.params, scenario, request, *arm)
                + shadow(scenario.pace(*arm, request.t).into_iter());
            greedy[*arm] = mean - lost;
            let z = normal(request.seed, &[55, request.i, *arm as u64]);
            drawn[*arm] = (mean + spread * z).clamp(0.0, 1.0) - lost;
        }
        let mut order = sorted(request.eligible, |arm| greedy[arm]);
        let sampled = sorted(request.eligible, |arm| drawn[arm]);
        if self.params.rate <= 0.0 {
            return order;
        }
        let mut tried = false;
        if sampled[0] != order[0] && self.bucket.has_token() {
            self.bucket.spend();
            order = sampled;
            tried = true;
        }
        self.bucket.refill(&self.params);
        let newcomers: Vec<usize> = request
            .eligible
            .iter()
            .copied()
            .filter(|arm| !scenario.arms[*arm].known && self.learner.newcomer(&key(*arm), now))
            .collect();
        if !newcomers.is_empty() && u(request.seed, &[56, request.i]) < self.params.newcomers {
            let at = (u(request.seed, &[57, request.i]) * newcomers.len() as f64) as usize;
            to_front(&mut order, newcomers[at]);
            self.bucket.spend();
            tried = true;
        }
        self.explored += u64::from(tried);
        order
    }

    fn feedback(&mut self, arm: usize, class: usize, reward: f64, t: f64) {
        self.learner.judge(&key(arm), class, (reward, 1.0), None, at(t));
    }

    fn explored(&self) -> u64 {
        self.explored
    }
}

fn key(arm: usize) -> Arc<str> {
    ["a0", "a1", "a2", "a3", "a4", "a5", "a6", "a7", "a8"][arm].into()
}

fn at(t: f64) -> UnixMs {
    UnixMs((t * 1_000.0) as i64)
}
