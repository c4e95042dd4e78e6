//! Pools, facts and decisions for tests that use the public interface only.
#![expect(dead_code, clippy::unwrap_used, reason = "helpers of which every test uses a part")]

use std::sync::Arc;
use std::time::Duration;

use omniroute_core::route::{
    Columns, Entry, Facts, Pool, RequestFacts, RouteError, RouteOptions, RoutingStrategy, SessionFacts,
};
use omniroute_core::{Failure, FailureKind, Moment, Outcome, Scope, SessionId, Target, UnixMs};
use omniroute_route::{
    Ask, AutoName, Decision, OptionMap, OptionValue, Planner, Work, auto, auto_name, strategy,
};

/// A route with its candidates.
pub(crate) struct World {
    pub(crate) entries: Vec<Entry>,
    pub(crate) facts: Vec<Facts>,
    pub(crate) request: RequestFacts,
    pub(crate) session: Option<SessionFacts>,
    pub(crate) options: RouteOptions,
    pub(crate) now: Moment,
    pub(crate) seed: u64,
    pub(crate) planner: Planner,
}

impl World {
    /// Candidates `provider/connection/model`, one step each.
    pub(crate) fn new(strategy_name: &str, names: &[&str]) -> World {
        World::with(built(strategy_name, &[]), names)
    }

    pub(crate) fn auto(name: &str, names: &[&str]) -> World {
        let name: AutoName = auto_name(name).unwrap().unwrap();
        World::with(auto(&name, None), names)
    }

    pub(crate) fn with(strategy: Arc<dyn RoutingStrategy>, names: &[&str]) -> World {
        let mut entries = Vec::new();
        for (rank, name) in (0..).zip(names) {
            let mut entry = Entry::new(target(name));
            (entry.rank, entry.step) = (rank, rank);
            entry.model.context_window = Some(1_000_000);
            entry.fitness = Some([0.8; 7]);
            entries.push(entry);
        }
        let mut options = RouteOptions::default();
        options.depth = usize::MAX;
        World {
            facts: vec![Facts::default(); entries.len()],
            entries,
            request: RequestFacts::default(),
            session: None,
            options,
            now: Moment::default(),
            seed: 1,
            planner: Planner::new("route \"test\"", strategy),
        }
    }

    pub(crate) fn entry(&mut self, name: &str) -> &mut Entry {
        let at = self.at(name);
        &mut self.entries[at]
    }

    pub(crate) fn facts(&mut self, name: &str) -> &mut Facts {
        let at = self.at(name);
        &mut self.facts[at]
    }

    pub(crate) fn pool(&self) -> (Pool, Columns) {
        let mut order: Vec<usize> = (0..self.entries.len()).collect();
        order.sort_by_key(|at| self.entries[*at].rank);
        let pool = Pool::new(1, order.iter().map(|at| self.entries[*at].clone()).collect());
        let mut columns = Columns::unknown(order.len());
        for (index, at) in order.iter().enumerate() {
            columns.set(index, &self.facts[*at]);
        }
        (pool, columns)
    }

    pub(crate) fn ask(&self) -> Ask<'_> {
        Ask {
            request: &self.request,
            session: self.session.as_ref(),
            options: &self.options,
            now: self.now,
            seed: self.seed,
        }
    }

    pub(crate) fn decide(&self) -> Result<Decision, RouteError> {
        let (pool, columns) = self.pool();
        self.planner.plan(self.ask(), &pool, &columns, &mut Work::default())
    }

    pub(crate) fn explain(&self) -> Result<Decision, RouteError> {
        let (pool, columns) = self.pool();
        self.planner.explain(self.ask(), &pool, &columns, &mut Work::default())
    }

    /// Keys in the order of the plan, without a ticket being taken.
    pub(crate) fn order(&self) -> Vec<String> {
        self.spell(&self.explain().unwrap())
    }

    pub(crate) fn spell(&self, decision: &Decision) -> Vec<String> {
        let (pool, _) = self.pool();
        let picks = &decision.plan.sequence().expect("an order").picks;
        picks.iter().map(|pick| pool.key(pick.candidate as usize).to_string()).collect()
    }

    pub(crate) fn first(&self) -> String {
        self.order().swap_remove(0)
    }

    pub(crate) fn later(&mut self, seconds: u64) {
        self.now.mono = self.now.mono.after(Duration::from_secs(seconds));
        self.now.wall = UnixMs(self.now.wall.0 + i64::try_from(seconds).unwrap() * 1_000);
    }

    pub(crate) fn succeeded(&self, name: &str) {
        self.planner.observe(None, &Outcome::replayed(target(name), self.now.wall));
    }

    pub(crate) fn failed(&self, name: &str) {
        let mut outcome = Outcome::replayed(target(name), self.now.wall);
        outcome.failure = Some(Failure::new(FailureKind::Unavailable, Scope::Connection, "test"));
        self.planner.observe(None, &outcome);
    }

    pub(crate) fn session(&mut self) -> &mut SessionFacts {
        self.session.get_or_insert_with(|| SessionFacts::new(SessionId::new("s")))
    }

    fn at(&self, name: &str) -> usize {
        let target = target(name);
        self.entries.iter().position(|entry| entry.target == target).expect("a candidate of this name")
    }
}

pub(crate) fn built(name: &str, options: &[(&str, OptionValue)]) -> Arc<dyn RoutingStrategy> {
    let map: OptionMap = options.iter().map(|(key, value)| ((*key).to_owned(), value.clone())).collect();
    strategy(name, "test").unwrap().with("test", &map).unwrap()
}

pub(crate) fn target(name: &str) -> Target {
    let mut parts = name.split('/');
    let mut next = || parts.next().expect("provider/connection/model").to_owned();
    Target::new(next(), next(), next())
}
