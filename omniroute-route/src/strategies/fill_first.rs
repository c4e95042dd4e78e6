//! One subscription is used up before the next is touched.

use std::sync::Arc;

use omniroute_core::route::{
    Candidates, Plan, Reason, RouteContext, RouteError, RoutingStrategy, StrategyTraits,
};

use super::order::{by_rank, sequence};
use crate::registry::StrategyEntry;

pub(crate) const ENTRY: StrategyEntry = StrategyEntry {
    id: "fill-first",
    summary: "uses up one allowance before the next is touched",
    aliases: &[],
    for_accounts: true,
    options: &[("patient", "wait for the first when it rests only for a moment; default false")],
    build: |options| Arc::new(FillFirst { patient: options.flag("patient", false) }),
};

#[derive(Debug)]
struct FillFirst {
    patient: bool,
}

impl RoutingStrategy for FillFirst {
    fn id(&self) -> &str {
        ENTRY.id
    }

    fn plan(&self, cx: &RouteContext<'_>, candidates: &Candidates<'_>) -> Result<Plan, RouteError> {
        sequence(ENTRY.id, candidates, || by_rank(cx, candidates, Reason::Rank))
    }

    fn traits(&self) -> StrategyTraits {
        StrategyTraits::STEPS.with_patience(self.patient)
    }
}

#[cfg(test)]
mod tests {
    use crate::options::{OptionMap, OptionValue};
    use crate::strategies::bench::Bench;

    #[test]
    fn the_first_is_filled_and_patience_is_an_option() {
        let bench = Bench::named("a/1/m a/2/m b/1/m");
        assert_eq!(bench.order("fill-first"), "a/1 a/2 b");
        let patient: OptionMap = [("patient".to_owned(), OptionValue::Flag(true))].into();
        assert!(super::ENTRY.with("x", &patient).unwrap().traits().patient);
        assert!(!super::ENTRY.with("x", &OptionMap::new()).unwrap().traits().patient);
    }
}
