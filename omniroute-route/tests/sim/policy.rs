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
    fn outcome(&mut self, _arm: usize, _answered: bool) {}
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

/// The same, sparing what allowances are used ahead of time.
pub(crate) struct PacedClairvoyant;

impl Policy for PacedClairvoyant {
    fn order(&mut self, scenario: &Scenario, request: &Request<'_>) -> Vec<usize> {
        let params = Params::of(Mode::Default);
        sorted(request.eligible, |arm| {
            let lost = penalties(&params, scenario, request, arm);
            let worth = scenario.q(arm, request.class, request.t) - lost;
            (1.0 - scenario.fails(arm, request.t)) * worth - shadow(scenario.pace(arm, request.t).into_iter())
        })
    }
}

#[derive(Default)]
pub(crate) struct RoundRobin(usize);

impl Policy for RoundRobin {
    fn order(&mut self, scenario: &Scenario, request: &Request<'_>) -> Vec<usize> {
        let arms = (0..scenario.arms.len()).filter(|arm| scenario.exists(*arm, request.t)).count();
        let counter = self.0;
        self.0 += 1;
        let mut order = request.eligible.to_vec();
        order.sort_by_key(|arm| (arm + arms - counter % arms) % arms);
        order
    }
}

/// The better one of two that are drawn, by success and time.
pub(crate) struct Pairs([f64; 9]);

impl Pairs {
    pub(crate) fn new() -> Self {
        Pairs([1.0; 9])
    }
}

impl Policy for Pairs {
    fn order(&mut self, scenario: &Scenario, request: &Request<'_>) -> Vec<usize> {
        let mut order = request.eligible.to_vec();
        let n = order.len();
        if n > 1 {
            let first = (u(request.seed, &[51, request.i]) * n as f64) as usize;
            let second = (u(request.seed, &[52, request.i]) * (n - 1) as f64) as usize;
            let second = if second >= first { second + 1 } else { second };
            let score = |at: usize| {
                let ms = 1_000.0 * scenario.seconds(order[at], request.tokens.1);
                self.0[order[at]] + 1.0 / libm::log10(ms + 10.0)
            };
            let winner = order[if score(second) > score(first) { second } else { first }];
            to_front(&mut order, winner);
        }
        order
    }

    fn outcome(&mut self, arm: usize, answered: bool) {
        self.0[arm] += 0.005 * (f64::from(u8::from(answered)) - self.0[arm]);
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

/// When something else than the best is tried.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Trials {
    /// A coin; anything.
    Coin(f64),
    /// Whenever a draw from the beliefs prefers something else.
    Drawn,
    /// The same, while a budget of this share of the requests lasts.
    Budget(f64),
}

/// What a learning policy is made of. As it ships: [`Parts::full`].
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Parts {
    pub(crate) trials: Trials,
    /// Hope, doubt and trials for who is not known; otherwise the catalogue's guess is an opinion like any other.
    pub(crate) newcomers: Option<f64>,
    pub(crate) hope: bool,
    pub(crate) pacing: bool,
    pub(crate) alarm: bool,
    pub(crate) half_life: f64,
    /// Trials only in the first request of a session.
    pub(crate) between_sessions: bool,
    /// Judgements are heard.
    pub(crate) listens: bool,
}

impl Parts {
    /// As it ships.
    pub(crate) fn full(rate: f64) -> Parts {
        Parts {
            trials: Trials::Budget(rate),
            newcomers: Some(0.05),
            hope: true,
            pacing: true,
            alarm: true,
            half_life: 168.0,
            between_sessions: false,
            listens: true,
        }
    }

    /// Draws without budget and without coin for newcomers.
    pub(crate) fn drawn() -> Parts {
        Parts { trials: Trials::Drawn, newcomers: None, ..Parts::full(0.0) }
    }

    /// Plain means that are never forgotten, and a coin.
    pub(crate) fn coin(rate: f64) -> Parts {
        Parts {
            trials: Trials::Coin(rate),
            newcomers: None,
            hope: false,
            pacing: false,
            alarm: false,
            half_life: f64::INFINITY,
            ..Parts::full(0.0)
        }
    }
}

/// A learning policy: beliefs, budget and pressure as they ship, draws as the reference has them.
pub(crate) struct Learning {
    parts: Parts,
    params: Params,
    learner: Learner,
    bucket: Bucket,
    keys: [Arc<str>; 9],
    explored: u64,
}

impl Learning {
    pub(crate) fn new(parts: Parts) -> Self {
        let mut params = Params::of(Mode::Default);
        params.failure = 0.0;
        params.half_life = parts.half_life;
        if let Trials::Budget(rate) = parts.trials {
            params.rate = rate;
        }
        if !parts.alarm {
            params.alarm = f64::INFINITY;
        }
        let keys = ["a0", "a1", "a2", "a3", "a4", "a5", "a6", "a7", "a8"].map(Arc::from);
        let (learner, bucket) = (Learner::new(params), Bucket::new(&params));
        Learning { parts, params, learner, bucket, keys, explored: 0 }
    }

    /// The same beliefs, but from now on with other parts.
    pub(crate) fn with(self, parts: Parts) -> Self {
        let params = Learning::new(parts).params;
        Learning { parts, params, bucket: Bucket::new(&params), ..self }
    }

    /// What a process that starts anew has: what was saved, and what is left of the budget.
    pub(crate) fn restarted(&self) -> Self {
        let saved = self.learner.save(&self.bucket);
        let (learner, bucket) = Learner::load(self.params, &saved).expect("what was just saved");
        Learning { learner, bucket, keys: self.keys.clone(), ..*self }
    }

    fn knows(&self, scenario: &Scenario, arm: usize) -> bool {
        scenario.arms[arm].known || !self.parts.hope
    }
}

impl Policy for Learning {
    fn order(&mut self, scenario: &Scenario, request: &Request<'_>) -> Vec<usize> {
        let now = at(request.t);
        let existing: Vec<usize> =
            (0..scenario.arms.len()).filter(|arm| scenario.exists(*arm, request.t)).collect();
        for arm in &existing {
            let known = self.knows(scenario, *arm);
            self.learner.meet(&self.keys[*arm], scenario.arms[*arm].fit, known);
        }
        let prior = |arm: usize| Prior {
            fit: scenario.arms[arm].fit[request.class],
            known: self.knows(scenario, arm),
        };
        let offers = request.eligible.iter().map(|arm| (&*self.keys[*arm], prior(*arm)));
        let hope = self.learner.upper_quartile(request.class, offers, now);
        let draws = matches!(self.parts.trials, Trials::Drawn | Trials::Budget(_));
        let mut greedy = [f64::NEG_INFINITY; 9];
        let mut drawn = greedy;
        for arm in request.eligible.iter().copied() {
            let (mean, spread) = self.learner.belief(&self.keys[arm], request.class, prior(arm), hope, now);
            let mut lost = penalties(&self.params, scenario, request, arm);
            if self.parts.pacing {
                lost += shadow(scenario.pace(arm, request.t).into_iter());
            }
            greedy[arm] = mean - lost;
            if draws {
                let z = normal(request.seed, &[55, request.i, arm as u64]);
                drawn[arm] = (mean + spread * z).clamp(0.0, 1.0) - lost;
            }
        }
        let mut order = sorted(request.eligible, |arm| greedy[arm]);
        if self.parts.between_sessions && scenario.warm.is_some() {
            return order;
        }
        let mut tried = false;
        match self.parts.trials {
            Trials::Budget(0.0) => return order,
            Trials::Coin(rate) => tried = coin(rate, request, &mut order),
            Trials::Drawn | Trials::Budget(_) => {
                let sampled = sorted(request.eligible, |arm| drawn[arm]);
                let may = self.parts.trials == Trials::Drawn || self.bucket.has_token();
                if sampled[0] != order[0] && may {
                    self.bucket.spend();
                    order = sampled;
                    tried = true;
                }
                self.bucket.refill(&self.params);
            }
        }
        if let Some(rate) = self.parts.newcomers {
            let newcomers: Vec<usize> = request
                .eligible
                .iter()
                .copied()
                .filter(|arm| !scenario.arms[*arm].known && self.learner.newcomer(&self.keys[*arm], now))
                .collect();
            if !newcomers.is_empty() && u(request.seed, &[56, request.i]) < rate {
                let at = (u(request.seed, &[57, request.i]) * newcomers.len() as f64) as usize;
                to_front(&mut order, newcomers[at]);
                self.bucket.spend();
                tried = true;
            }
        }
        self.explored += u64::from(tried);
        order
    }

    fn feedback(&mut self, arm: usize, class: usize, reward: f64, t: f64) {
        if self.parts.listens {
            self.learner.judge(&self.keys[arm], class, (reward, 1.0), None, at(t));
        }
    }

    fn explored(&self) -> u64 {
        self.explored
    }
}

fn at(t: f64) -> UnixMs {
    UnixMs((t * 1_000.0) as i64)
}
