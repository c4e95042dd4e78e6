//! The order among candidates that draw on a shared pool: by what each is owed. No configuration can name it.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use omniroute_core::route::{
    Candidates, Pick, Plan, Reason, RouteContext, RouteError, RoutingStrategy, Sequence, StrategyTraits, Why,
};
use omniroute_core::{Outcome, Purpose, Target};

use super::order::{depth, sequence};
use super::weighted::share;

/// Candidates by what they are owed of a shared pool. Full and spent ones come last and are never dropped.
#[derive(Debug, Default)]
pub struct QuotaShare {
    served: Mutex<HashMap<Target, u64>>,
}

impl RoutingStrategy for QuotaShare {
    fn id(&self) -> &str {
        "quota-share"
    }

    fn plan(&self, cx: &RouteContext<'_>, candidates: &Candidates<'_>) -> Result<Plan, RouteError> {
        sequence(self.id(), candidates, || self.order(cx, candidates))
    }

    fn observe(&self, outcome: &Outcome) {
        if outcome.purpose == Purpose::Production {
            let mut served = self.served.lock().unwrap_or_else(PoisonError::into_inner);
            *served.entry(outcome.target.clone()).or_default() += 1;
        }
    }

    fn traits(&self) -> StrategyTraits {
        StrategyTraits::SCORED
    }
}

impl QuotaShare {
    #[expect(clippy::cast_precision_loss, reason = "counts of requests are compared, not added up to money")]
    fn order(&self, cx: &RouteContext<'_>, candidates: &Candidates<'_>) -> Sequence {
        let (entries, columns) = (candidates.pool().entries(), candidates.columns());
        let served = self.served.lock().unwrap_or_else(PoisonError::into_inner);
        let count = |index: u32| served.get(&entries[index as usize].target).copied().unwrap_or(0) as f64;
        let weight = |index: u32| share(entries[index as usize].weight);
        let indices = candidates.indices();
        let rounds: f64 = indices.iter().map(|index| count(*index)).sum::<f64>() + 1.0;
        let sum: f64 = indices.iter().map(|index| weight(*index)).sum();
        let mut order: Vec<(u8, f64, u32)> = indices
            .iter()
            .map(|index| {
                let at = *index as usize;
                let share = if sum > 0.0 { weight(*index) / sum } else { 1.0 / indices.len() as f64 };
                let spent = columns.used.iter().any(|used| used[at] >= 1.0);
                let full = columns.in_flight[at] >= columns.cap[at];
                let owed = rounds * share - count(*index);
                let owed = if columns.over_share[at] && owed > 0.0 { owed * 0.7 } else { owed };
                (if spent { 2 } else { u8::from(full) }, owed, *index)
            })
            .collect();
        order.sort_by(|a, b| a.0.cmp(&b.0).then(b.1.total_cmp(&a.1)).then(a.2.cmp(&b.2)));
        if let [a, b, ..] = order.as_mut_slice()
            && a.0 == b.0
            && columns.in_flight[b.2 as usize] < columns.in_flight[a.2 as usize]
        {
            std::mem::swap(a, b);
        }
        let depth = depth(cx, candidates);
        #[expect(clippy::cast_possible_truncation, reason = "a score to show")]
        let picks = order
            .iter()
            .take(depth)
            .map(|(_, owed, index)| Pick::scored(*index, *owed as f32, Why::strategy(Reason::Share)));
        Sequence::new(picks.collect(), candidates.len() - depth)
    }
}

#[cfg(test)]
mod tests {
    use omniroute_core::route::RoutingStrategy;

    use super::QuotaShare;
    use crate::strategies::bench::Bench;

    #[test]
    fn three_to_one() {
        let mut bench = Bench::named("A/1/m B/1/m");
        bench.weights(&[3.0, 1.0]);
        let strategy = QuotaShare::default();
        let served: String = (0..8)
            .map(|_| {
                let name = ["A", "B"][bench.first(&strategy) as usize];
                strategy.observe(&bench.success(&format!("{name}/1/m")));
                name
            })
            .collect();
        assert_eq!(served, "AABAAABA");
    }

    #[test]
    fn full_and_spent_ones_are_last_and_never_lost() {
        let mut bench = Bench::named("A/1/m B/1/m C/1/m");
        bench.facts("A/1/m", |facts| facts.used[0] = Some(1.0));
        bench.facts("B/1/m", |facts| (facts.in_flight, facts.cap) = (3, Some(3)));
        assert_eq!(bench.order_of(&QuotaShare::default()), "C B A");
        bench.facts("B/1/m", |facts| facts.cap = Some(9));
        assert_eq!(
            bench.order_of(&QuotaShare::default()),
            "C B A",
            "of two, the one with fewer running attempts"
        );
    }
}
