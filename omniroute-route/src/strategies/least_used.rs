//! Who was used least of late, running attempts included.

use std::sync::Arc;

use omniroute_core::route::{
    Candidates, Plan, Reason, RouteContext, RouteError, RoutingStrategy, StrategyTraits,
};

use super::order::{best, known, sequence};
use crate::registry::StrategyEntry;

pub(crate) const ENTRY: StrategyEntry = StrategyEntry {
    id: "least-used",
    summary: "who was used least of late",
    aliases: &["usage"],
    for_accounts: true,
    options: &[],
    build: |_| Arc::new(LeastUsed),
};

#[derive(Debug)]
struct LeastUsed;

impl RoutingStrategy for LeastUsed {
    fn id(&self) -> &str {
        ENTRY.id
    }

    fn plan(&self, cx: &RouteContext<'_>, candidates: &Candidates<'_>) -> Result<Plan, RouteError> {
        sequence(ENTRY.id, candidates, || {
            let columns = candidates.columns();
            best(cx, candidates, Reason::Usage, |index| {
                #[expect(clippy::cast_precision_loss, reason = "counts of running attempts are small")]
                let running = columns.in_flight[index] as f32;
                -(known(columns.usage[index], 0.0).max(0.0) + running)
            })
        })
    }

    fn traits(&self) -> StrategyTraits {
        StrategyTraits::SCORED
    }
}

#[cfg(test)]
mod tests {
    use crate::strategies::bench::Bench;

    #[test]
    fn usage_and_running_attempts_count() {
        let mut bench = Bench::named("A/1/m B/1/m C/1/m");
        for (name, usage, running) in [("A/1/m", 12.0, 1), ("B/1/m", 12.5, 0), ("C/1/m", 3.0, 0)] {
            bench.facts(name, |facts| (facts.usage, facts.in_flight) = (Some(usage), running));
        }
        assert_eq!(bench.order("least-used"), "C B A");
    }

    #[test]
    fn two_accounts_of_one_model_are_two() {
        let mut bench = Bench::named("a/1/m a/2/m");
        bench.facts("a/1/m", |facts| facts.usage = Some(5.0));
        bench.facts("a/2/m", |facts| facts.usage = Some(4.0));
        assert_eq!(bench.order("least-used"), "a/2 a/1");
    }
}
