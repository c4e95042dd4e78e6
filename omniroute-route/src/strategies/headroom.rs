//! Who has most left of the tightest allowance.

use std::sync::Arc;

use omniroute_core::route::{
    Candidates, Columns, Plan, Reason, RouteContext, RouteError, RoutingStrategy, StrategyTraits,
};

use super::order::{best, sequence};
use crate::registry::StrategyEntry;

pub(crate) const ENTRY: StrategyEntry = StrategyEntry {
    id: "headroom",
    summary: "who has most left of the tightest allowance",
    aliases: &[],
    for_accounts: false,
    options: &[],
    build: |_| Arc::new(Headroom),
};

#[derive(Debug)]
struct Headroom;

impl RoutingStrategy for Headroom {
    fn id(&self) -> &str {
        ENTRY.id
    }

    fn plan(&self, cx: &RouteContext<'_>, candidates: &Candidates<'_>) -> Result<Plan, RouteError> {
        sequence(ENTRY.id, candidates, || {
            best(cx, candidates, Reason::Headroom, |index| left(candidates.columns(), index).unwrap_or(0.5))
        })
    }

    fn traits(&self) -> StrategyTraits {
        StrategyTraits::SCORED
    }
}

/// What is left of the tightest window, 0..1; none if nothing is known of any.
#[inline]
pub(crate) fn left(columns: &Columns, index: usize) -> Option<f32> {
    let used = columns.used.iter().map(|used| used[index]).filter(|used| used.is_finite());
    let by_windows = used.reduce(f32::max).map(|used| 1.0 - used);
    let known = columns.quota_left[index];
    match (by_windows, known.is_finite()) {
        (Some(left), true) => Some(left.min(known)),
        (Some(left), false) => Some(left),
        (None, true) => Some(known),
        (None, false) => None,
    }
}

#[cfg(test)]
mod tests {
    use crate::strategies::bench::Bench;

    #[test]
    fn the_tightest_window_counts_and_unknown_is_half() {
        let mut bench = Bench::named("a/1/m b/1/m c/1/m d/1/m");
        bench.facts("a/1/m", |facts| facts.used = [Some(0.3), Some(0.8), None]);
        bench.facts("b/1/m", |facts| facts.used = [Some(0.5), Some(0.4), None]);
        bench.facts("d/1/m", |facts| facts.used = [None, Some(0.1), None]);
        assert_eq!(bench.order("headroom"), "d b c a");
        bench.with(|_, candidates| {
            let left = |index| super::left(candidates.columns(), index);
            assert!((left(0).unwrap() - 0.2).abs() < 1e-6);
            assert_eq!((left(1), left(2)), (Some(0.5), None));
        });
    }
}
