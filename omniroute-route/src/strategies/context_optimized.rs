//! The largest window first, or the smallest that fits.

use std::sync::Arc;

use omniroute_core::route::{
    Candidates, Plan, Reason, RouteContext, RouteError, RoutingStrategy, StrategyTraits,
};

use super::order::{best, sequence};
use crate::registry::StrategyEntry;

pub(crate) const ENTRY: StrategyEntry = StrategyEntry {
    id: "context-optimized",
    summary: "the largest window first, or the smallest that fits",
    aliases: &["context"],
    for_accounts: false,
    options: &[("fit", "largest or smallest; default largest")],
    build: |options| {
        Arc::new(ContextOptimized { smallest: options.word("fit", 0, &["largest", "smallest"]) == 1 })
    },
};

#[derive(Debug)]
struct ContextOptimized {
    smallest: bool,
}

impl RoutingStrategy for ContextOptimized {
    fn id(&self) -> &str {
        ENTRY.id
    }

    #[expect(clippy::cast_precision_loss, reason = "windows are compared, not added")]
    fn plan(&self, cx: &RouteContext<'_>, candidates: &Candidates<'_>) -> Result<Plan, RouteError> {
        sequence(ENTRY.id, candidates, || {
            let windows = candidates.pool().windows();
            // A fifth more than the request needs.
            let needed = (cx.request.input_tokens + cx.request.reserve()).saturating_mul(6) / 5;
            best(cx, candidates, Reason::Window, |index| match windows[index] {
                0 => f32::NEG_INFINITY,
                window if self.smallest && window >= needed => 1e12 - window as f32,
                window => window as f32,
            })
        })
    }

    fn traits(&self) -> StrategyTraits {
        StrategyTraits::SCORED
    }
}

#[cfg(test)]
mod tests {
    use crate::options::{OptionMap, OptionValue};
    use crate::strategies::bench::Bench;

    fn four() -> Bench {
        let mut bench = Bench::named("8k/1/m 200k/1/m unknown/1/m 1M/1/m");
        for (name, window) in [("8k/1/m", 8_000), ("200k/1/m", 200_000), ("1M/1/m", 1_000_000)] {
            bench.entry(name, |entry| entry.model.context_window = Some(window));
        }
        bench
    }

    #[test]
    fn the_largest_window_leads() {
        assert_eq!(four().order("context-optimized"), "1M 200k 8k unknown");
        assert_eq!(Bench::named("a/1/m b/1/m").order("context"), "a b");
    }

    #[test]
    fn the_smallest_that_fits_with_room_to_spare() {
        let mut bench = four();
        let map: OptionMap = [("fit".to_owned(), OptionValue::Text("smallest".to_owned()))].into();
        let strategy = super::ENTRY.with("x", &map).unwrap();
        bench.request.input_tokens = 7_000;
        assert_eq!(bench.order_of(&*strategy), "200k 1M 8k unknown");
        bench.request.input_tokens = 1_000;
        assert_eq!(bench.order_of(&*strategy), "8k 200k 1M unknown");
    }
}
