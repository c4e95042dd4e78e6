//! The cheapest for this request, its answer included.

use std::sync::Arc;

use omniroute_core::route::{
    Candidates, Plan, Reason, RouteContext, RouteError, RoutingStrategy, StrategyTraits,
};

use super::order::{best, sequence};
use crate::cost::estimate;
use crate::registry::StrategyEntry;

pub(crate) const ENTRY: StrategyEntry = StrategyEntry {
    id: "cost-optimized",
    summary: "the cheapest for this request, its answer included",
    aliases: &[],
    for_accounts: true,
    options: &[("shadow_price", "USD for a million tokens that a subscription is ranked with; default 0")],
    build: |options| {
        #[expect(clippy::cast_possible_truncation, reason = "a price")]
        let shadow = options.number("shadow_price", 0.0, 0.0, 10_000.0) as f32;
        Arc::new(CostOptimized { shadow })
    },
};

#[derive(Debug)]
struct CostOptimized {
    shadow: f32,
}

impl RoutingStrategy for CostOptimized {
    fn id(&self) -> &str {
        ENTRY.id
    }

    fn plan(&self, cx: &RouteContext<'_>, candidates: &Candidates<'_>) -> Result<Plan, RouteError> {
        sequence(ENTRY.id, candidates, || {
            let (pool, columns) = (candidates.pool(), candidates.columns());
            #[expect(clippy::cast_precision_loss, reason = "an estimate")]
            let tokens = (cx.request.input_tokens + cx.request.output_tokens()) as f32;
            best(cx, candidates, Reason::Cost, |index| {
                use omniroute_core::route::Billing;
                if pool.entries()[index].billing == Billing::Subscription && self.shadow > 0.0 {
                    return -(tokens * self.shadow / 1e6);
                }
                -estimate(cx.request, pool, columns, index)
            })
        })
    }

    fn traits(&self) -> StrategyTraits {
        StrategyTraits::SCORED
    }
}

#[cfg(test)]
mod tests {
    use omniroute_core::route::Billing;

    use crate::cost::estimate;
    use crate::strategies::bench::Bench;

    #[test]
    fn the_answer_counts_too() {
        let mut bench = Bench::named("Y/1/m X/1/m U/1/m S/1/m");
        bench.request.input_tokens = 6_000;
        bench.request.output_estimate = Some(1_024);
        bench.facts("X/1/m", |facts| (facts.price_in, facts.price_out) = (Some(3.0), Some(15.0)));
        bench.facts("Y/1/m", |facts| (facts.price_in, facts.price_out) = (Some(2.5), Some(20.0)));
        bench.entry("S/1/m", |entry| entry.billing = Billing::Subscription);
        bench.with(|cx, candidates| {
            for (index, expected) in [(1, 0.033_36), (0, 0.035_48)] {
                let usd = estimate(cx.request, candidates.pool(), candidates.columns(), index);
                assert!((usd - expected).abs() < 1e-7, "{usd}");
            }
        });
        assert_eq!(
            bench.order("cost-optimized"),
            "S X Y U",
            "unknown comes last, a subscription costs nothing more"
        );
        let shadow = bench.configured("cost-optimized", &[("shadow_price", 100.0)]);
        assert_eq!(bench.order_of(&*shadow), "X Y S U");
    }

    #[test]
    fn the_cached_part_has_its_own_price() {
        let mut bench = Bench::named("a/1/m b/1/m");
        bench.request.input_tokens = 100_000;
        bench.request.cached_tokens = 90_000;
        for name in ["a/1/m", "b/1/m"] {
            bench.facts(name, |facts| (facts.price_in, facts.price_out) = (Some(3.0), Some(15.0)));
        }
        bench.facts("b/1/m", |facts| facts.price_cache = Some(0.3));
        assert_eq!(bench.order("cost-optimized"), "b a");
    }
}
