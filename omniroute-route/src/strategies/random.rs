//! Any order, each equally likely.

use std::sync::Arc;

use omniroute_core::route::{Candidates, Plan, Reason, RouteContext, RouteError, RoutingStrategy, Salt};

use super::order::{listed, sequence};
use crate::registry::StrategyEntry;

pub(crate) const ENTRY: StrategyEntry = StrategyEntry {
    id: "random",
    summary: "any order, each equally likely",
    aliases: &[],
    for_accounts: true,
    options: &[],
    build: |_| Arc::new(Random),
};

#[derive(Debug)]
struct Random;

impl RoutingStrategy for Random {
    fn id(&self) -> &str {
        ENTRY.id
    }

    fn plan(&self, cx: &RouteContext<'_>, candidates: &Candidates<'_>) -> Result<Plan, RouteError> {
        sequence(ENTRY.id, candidates, || {
            let mut order = cx.scratch.order.borrow_mut();
            order.clear();
            order.extend(0..u32::try_from(candidates.len()).unwrap_or(u32::MAX));
            cx.rng(Salt::RANDOM).shuffle(&mut order);
            listed(cx, candidates, order.iter().map(|at| *at as usize), Reason::Random)
        })
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use crate::strategies::bench::Bench;

    #[test]
    fn the_reference_order() {
        let mut bench = Bench::named("0/1/m 1/1/m 2/1/m 3/1/m 4/1/m");
        bench.seed = 42;
        assert_eq!(bench.order("random"), "2 4 0 1 3");
    }

    #[test]
    fn all_orders_are_equally_likely() {
        let mut bench = Bench::named("a/1/m b/1/m c/1/m d/1/m");
        let mut seen: BTreeMap<String, f64> = BTreeMap::new();
        for seed in 0..24_000 {
            bench.seed = seed;
            *seen.entry(bench.order("random")).or_default() += 1.0;
        }
        assert_eq!(seen.len(), 24);
        let chi: f64 = seen.values().map(|count| (count - 1_000.0).powi(2) / 1_000.0).sum();
        assert!(chi < 49.7, "chi-squared {chi} with 23 degrees of freedom, p > .001");
    }
}
