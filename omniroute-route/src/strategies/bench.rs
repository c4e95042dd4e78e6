//! For tests: a pool by names, facts by closures, orders as text.

use std::sync::Arc;
use std::time::Duration;

use omniroute_core::route::{
    Candidates, Columns, Entry, Facts, Plan, Pool, RequestFacts, RouteContext, RouteError, RouteOptions,
    RoutingStrategy, Scratch, SessionFacts, Step,
};
use omniroute_core::{Failure, FailureKind, Moment, Outcome, Scope, SessionId, Target, UnixMs};

use crate::options::{OptionMap, OptionValue};
use crate::registry;

/// Everything a plan needs.
#[derive(Debug)]
pub(crate) struct Bench {
    pub(crate) entries: Vec<Entry>,
    pub(crate) facts: Vec<Facts>,
    pub(crate) steps: Vec<Step>,
    pub(crate) gone: Vec<bool>,
    pub(crate) request: RequestFacts,
    pub(crate) session: Option<SessionFacts>,
    pub(crate) options: RouteOptions,
    pub(crate) now: Moment,
    pub(crate) seed: u64,
    pub(crate) ticket: u64,
}

impl Bench {
    /// Candidates `provider/connection/model`, ranks as given, a step each.
    pub(crate) fn named(names: &str) -> Bench {
        let ranked: Vec<(&str, u32)> = names.split(' ').zip(0..).collect();
        Bench::ranked(&ranked)
    }

    pub(crate) fn ranked(names: &[(&str, u32)]) -> Bench {
        let entries: Vec<Entry> = names
            .iter()
            .map(|(name, rank)| {
                let mut entry = Entry::new(target(name));
                (entry.rank, entry.step) = (*rank, *rank);
                entry
            })
            .collect();
        Bench {
            facts: vec![Facts::default(); entries.len()],
            steps: Vec::new(),
            gone: vec![false; entries.len()],
            entries,
            request: RequestFacts::default(),
            session: None,
            options: everything(),
            now: Moment::default(),
            seed: 0,
            ticket: 0,
        }
    }

    pub(crate) fn entry(&mut self, name: &str, change: impl FnOnce(&mut Entry)) {
        let at = self.at(name);
        change(&mut self.entries[at]);
    }

    pub(crate) fn facts(&mut self, name: &str, change: impl FnOnce(&mut Facts)) {
        let at = self.at(name);
        change(&mut self.facts[at]);
    }

    pub(crate) fn weights(&mut self, weights: &[f32]) {
        for (entry, weight) in self.entries.iter_mut().zip(weights) {
            entry.weight = *weight;
        }
    }

    pub(crate) fn steps(&mut self, steps: Vec<Step>) {
        self.steps = steps;
    }

    /// Takes one out of the eligible ones.
    pub(crate) fn drop(&mut self, name: &str) {
        let at = self.at(name);
        self.gone[at] = true;
    }

    pub(crate) fn session(&mut self, id: &str) {
        self.session = Some(SessionFacts::new(SessionId::new(id)));
    }

    pub(crate) fn later(&mut self, seconds: u64) {
        self.now.mono = self.now.mono.after(Duration::from_secs(seconds));
        self.now.wall = UnixMs(self.now.wall.0 + i64::try_from(seconds * 1_000).unwrap());
    }

    /// Pool and columns, in the order of ranks.
    pub(crate) fn pool(&self) -> (Pool, Columns, Vec<u32>) {
        let mut order: Vec<usize> = (0..self.entries.len()).collect();
        order.sort_by_key(|at| self.entries[*at].rank);
        let entries = order.iter().map(|at| self.entries[*at].clone()).collect();
        let pool = Pool::new(1, entries).with_steps(self.steps.clone());
        let mut columns = Columns::unknown(order.len());
        for (index, at) in order.iter().enumerate() {
            columns.set(index, &self.facts[*at]);
        }
        let eligible = (0..order.len())
            .filter(|index| !self.gone[order[*index]])
            .map(|i| u32::try_from(i).unwrap())
            .collect();
        (pool, columns, eligible)
    }

    pub(crate) fn with<T>(&self, run: impl FnOnce(&RouteContext<'_>, &Candidates<'_>) -> T) -> T {
        let (pool, columns, eligible) = self.pool();
        let candidates = Candidates::new(&pool, &columns, &eligible);
        let scratch = Scratch::default();
        let cx = RouteContext {
            request: &self.request,
            session: self.session.as_ref(),
            options: &self.options,
            now: self.now,
            seed: self.seed,
            ticket: self.ticket,
            scratch: &scratch,
        };
        run(&cx, &candidates)
    }

    pub(crate) fn strategy(&self, name: &str) -> Arc<dyn RoutingStrategy> {
        self.configured(name, &[])
    }

    pub(crate) fn configured(&self, name: &str, numbers: &[(&str, f64)]) -> Arc<dyn RoutingStrategy> {
        let map: OptionMap =
            numbers.iter().map(|(key, number)| ((*key).to_owned(), OptionValue::Number(*number))).collect();
        registry::strategy(name, "test").unwrap().with("test", &map).unwrap()
    }

    pub(crate) fn plan(&self, strategy: &dyn RoutingStrategy) -> Result<Plan, RouteError> {
        self.with(|cx, candidates| strategy.plan(cx, candidates))
    }

    /// Index of the first pick.
    pub(crate) fn first(&self, strategy: &dyn RoutingStrategy) -> u32 {
        self.plan(strategy).unwrap().first().unwrap().candidate
    }

    pub(crate) fn order(&self, strategy: &str) -> String {
        self.order_of(&*self.strategy(strategy))
    }

    /// Names in the order of the plan; as much of each name as tells the candidates apart.
    pub(crate) fn order_of(&self, strategy: &dyn RoutingStrategy) -> String {
        let plan = self.plan(strategy).unwrap();
        let (pool, ..) = self.pool();
        self.spell(
            &pool,
            &plan.sequence().unwrap().picks.iter().map(|pick| pick.candidate).collect::<Vec<_>>(),
        )
    }

    pub(crate) fn spell(&self, pool: &Pool, order: &[u32]) -> String {
        let distinct = |name: &dyn Fn(&Target) -> String| {
            let mut names: Vec<String> = self.entries.iter().map(|entry| name(&entry.target)).collect();
            names.sort();
            names.dedup();
            names.len() == self.entries.len()
        };
        let short = |target: &Target| target.provider.to_string();
        let middle = |target: &Target| format!("{}/{}", target.provider, target.connection);
        let alone = |target: &Target| {
            self.entries.iter().filter(|entry| entry.target.provider == target.provider).count() == 1
        };
        let names: Vec<String> = order
            .iter()
            .map(|index| {
                let target = &pool.entries()[*index as usize].target;
                if distinct(&short) || (distinct(&middle) && alone(target)) {
                    short(target)
                } else if distinct(&middle) {
                    middle(target)
                } else {
                    target.to_string()
                }
            })
            .collect();
        names.join(" ")
    }

    pub(crate) fn success(&self, name: &str) -> Outcome {
        self.outcome(name, None)
    }

    pub(crate) fn failure(&self, name: &str) -> Outcome {
        self.failed(name, FailureKind::Unavailable)
    }

    pub(crate) fn failed(&self, name: &str, kind: FailureKind) -> Outcome {
        self.outcome(name, Some(Failure::new(kind, Scope::Connection, "test")))
    }

    fn outcome(&self, name: &str, failure: Option<Failure>) -> Outcome {
        let mut outcome = Outcome::replayed(target(name), self.now.wall);
        outcome.failure = failure;
        outcome
    }

    fn at(&self, name: &str) -> usize {
        let target = target(name);
        self.entries.iter().position(|entry| entry.target == target).expect("a candidate of this name")
    }
}

/// Options that list all candidates.
pub(crate) fn everything() -> RouteOptions {
    let mut options = RouteOptions::default();
    options.depth = usize::MAX;
    options
}

pub(crate) fn target(name: &str) -> Target {
    let mut parts = name.split('/');
    let mut next = || parts.next().expect("provider/connection/model").to_owned();
    Target::new(next(), next(), next())
}
