//! The operator's order, always.

use std::sync::Arc;

use omniroute_core::route::{
    Candidates, Plan, Reason, RouteContext, RouteError, RoutingStrategy, StrategyTraits,
};

use super::order::{by_rank, sequence};
use crate::registry::StrategyEntry;

pub(crate) const ENTRY: StrategyEntry = StrategyEntry {
    id: "priority",
    summary: "the order of the steps, always",
    aliases: &[],
    for_accounts: true,
    options: &[],
    build: |_| Arc::new(Priority),
};

#[derive(Debug)]
struct Priority;

impl RoutingStrategy for Priority {
    fn id(&self) -> &str {
        ENTRY.id
    }

    fn plan(&self, cx: &RouteContext<'_>, candidates: &Candidates<'_>) -> Result<Plan, RouteError> {
        sequence(ENTRY.id, candidates, || by_rank(cx, candidates, Reason::Rank))
    }

    fn traits(&self) -> StrategyTraits {
        StrategyTraits::STEPS
    }
}

#[cfg(test)]
mod tests {
    use crate::strategies::bench::Bench;

    #[test]
    fn ranks_decide() {
        let bench = Bench::ranked(&[("a/1/m", 2), ("b/1/m", 0), ("c/1/m", 1)]);
        assert_eq!(bench.order("priority"), "b c a");
    }
}
