//! What worked last goes first.

use std::sync::Arc;

use omniroute_core::route::{
    Candidates, Plan, Reason, RouteContext, RouteError, RoutingStrategy, StrategyTraits,
};
use omniroute_core::{Outcome, SessionId};

use super::order::{by_rank, first_then_rank, sequence};
use crate::last_good::LastGood;
use crate::registry::StrategyEntry;

pub(crate) const ENTRY: StrategyEntry = StrategyEntry {
    id: "lkgp",
    summary: "what worked last goes first",
    aliases: &[],
    for_accounts: false,
    options: &[],
    build: |_| Arc::new(Lkgp::default()),
};

#[derive(Debug, Default)]
struct Lkgp {
    last: LastGood,
}

impl RoutingStrategy for Lkgp {
    fn id(&self) -> &str {
        ENTRY.id
    }

    fn plan(&self, cx: &RouteContext<'_>, candidates: &Candidates<'_>) -> Result<Plan, RouteError> {
        sequence(ENTRY.id, candidates, || match self.last.position(cx, candidates) {
            Some(position) => first_then_rank(cx, candidates, position, Reason::LastGood),
            None => by_rank(cx, candidates, Reason::Rank),
        })
    }

    fn observe(&self, outcome: &Outcome) {
        self.last.observe(None, outcome);
    }

    fn observe_in(&self, session: &SessionId, outcome: &Outcome) {
        self.last.observe(Some(session), outcome);
    }

    fn traits(&self) -> StrategyTraits {
        StrategyTraits::STEPS
    }
}

#[cfg(test)]
mod tests {
    use omniroute_core::{FailureKind, SessionId};

    use crate::strategies::bench::Bench;

    #[test]
    fn the_very_account_that_worked_leads() {
        let mut bench = Bench::named("a/1/m a/2/m a/2/n b/1/m");
        let strategy = bench.strategy("lkgp");
        assert_eq!(bench.order_of(&*strategy), "a/1/m a/2/m a/2/n b/1/m");
        strategy.observe(&bench.success("a/2/m"));
        assert_eq!(bench.order_of(&*strategy), "a/2/m a/1/m a/2/n b/1/m");
        bench.drop("a/2/m");
        assert_eq!(bench.order_of(&*strategy), "a/1/m a/2/n b/1/m", "same model at the provider");
        bench.drop("a/1/m");
        assert_eq!(bench.order_of(&*strategy), "a/2/n b/1/m", "same provider");
        strategy.observe(&bench.success("b/1/m"));
        assert_eq!(bench.order_of(&*strategy), "b/1/m a/2/n");
        bench.later(24 * 3_600 + 1);
        assert_eq!(bench.order_of(&*strategy), "a/2/n b/1/m", "forgotten after a day");
    }

    #[test]
    fn trials_and_failures_are_not_remembered() {
        let bench = Bench::named("a/1/m b/1/m");
        let strategy = bench.strategy("lkgp");
        let mut trial = bench.success("b/1/m");
        trial.explored = true;
        strategy.observe(&trial);
        strategy.observe(&bench.failure("b/1/m"));
        assert_eq!(bench.order_of(&*strategy), "a b");
        strategy.observe(&bench.success("b/1/m"));
        strategy.observe(&bench.failure("b/1/m"));
        assert_eq!(bench.order_of(&*strategy), "b a", "one failure does not forget");
        strategy.observe(&bench.failed("b/1/m", FailureKind::CreditsExhausted));
        assert_eq!(bench.order_of(&*strategy), "a b", "the end of an account does");
    }

    #[test]
    fn a_session_has_its_own_memory() {
        let mut bench = Bench::named("a/1/m b/1/m c/1/m");
        let strategy = bench.strategy("lkgp");
        strategy.observe_in(&SessionId::new("s1"), &bench.success("b/1/m"));
        strategy.observe(&bench.success("c/1/m"));
        assert_eq!(bench.order_of(&*strategy), "c a b");
        bench.session("s1");
        assert_eq!(bench.order_of(&*strategy), "b a c");
        bench.session("s2");
        assert_eq!(bench.order_of(&*strategy), "c a b");
    }
}
