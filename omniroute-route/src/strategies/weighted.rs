//! Traffic in given shares: a step is drawn by its weight, the others follow by weight.

use std::sync::Arc;

use omniroute_core::Outcome;
use omniroute_core::route::{
    Candidates, Plan, Reason, RouteContext, RouteError, RoutingStrategy, Salt, Sequence, StrategyTraits,
};

use super::order::{listed, sequence};
use super::sticky::{Stay, Sticky};
use crate::registry::StrategyEntry;

pub(crate) const ENTRY: StrategyEntry = StrategyEntry {
    id: "weighted",
    summary: "traffic in the shares that the weights give",
    aliases: &[],
    for_accounts: true,
    options: &[("sticky", "successes in a row before the next draw, 1 to 1000; default 1")],
    build: |options| Arc::new(Weighted { sticky: Sticky::new(options.whole("sticky", 1, 1, 1_000)) }),
};

#[derive(Debug)]
struct Weighted {
    sticky: Sticky,
}

impl RoutingStrategy for Weighted {
    fn id(&self) -> &str {
        ENTRY.id
    }

    fn plan(&self, cx: &RouteContext<'_>, candidates: &Candidates<'_>) -> Result<Plan, RouteError> {
        sequence(ENTRY.id, candidates, || self.order(cx, candidates))
    }

    fn observe(&self, outcome: &Outcome) {
        self.sticky.observe(outcome);
    }

    fn traits(&self) -> StrategyTraits {
        StrategyTraits::STEPS
    }
}

impl Weighted {
    fn order(&self, cx: &RouteContext<'_>, candidates: &Candidates<'_>) -> Sequence {
        let entries = candidates.pool().entries();
        let step = |position: usize| entries[candidates.indices()[position] as usize].step;
        let weight = |position: usize| share(entries[candidates.indices()[position] as usize].weight);
        // Steps lie together, because candidates are in the order of ranks.
        let starts: Vec<usize> =
            (0..candidates.len()).filter(|at| *at == 0 || step(*at) != step(*at - 1)).collect();
        let (chosen, reason) = match self.sticky.stay(candidates) {
            Stay::Here(at) => (starts.partition_point(|start| *start <= at) - 1, Reason::Sticky),
            _ => (draw(cx, &starts, weight), Reason::Weight),
        };
        let mut groups: Vec<usize> = (0..starts.len()).filter(|group| *group != chosen).collect();
        groups.sort_by(|a, b| weight(starts[*b]).total_cmp(&weight(starts[*a])));
        let members = |group: usize| {
            let end = starts.get(group + 1).copied().unwrap_or(candidates.len());
            starts[group]..end
        };
        let all = std::iter::once(chosen).chain(groups).flat_map(members);
        listed(cx, candidates, all, reason)
    }
}

/// The group whose part of the line is hit. Without any weight all parts are equal.
fn draw(cx: &RouteContext<'_>, starts: &[usize], weight: impl Fn(usize) -> f64) -> usize {
    if starts.len() == 1 {
        return 0;
    }
    let unit = cx.rng(Salt::WEIGHTED).unit();
    let sum: f64 = starts.iter().map(|start| weight(*start)).sum();
    #[expect(clippy::cast_precision_loss, reason = "numbers of steps are small")]
    let count = starts.len() as f64;
    let (point, each) = if sum > 0.0 { (unit * sum, None) } else { (unit * count, Some(1.0)) };
    let mut passed = 0.0;
    let mut last = 0;
    for (group, start) in starts.iter().enumerate() {
        let part = each.unwrap_or_else(|| weight(*start));
        if part > 0.0 {
            last = group;
        }
        passed += part;
        if passed > point {
            return group;
        }
    }
    last
}

/// A weight as a number: 0 to 100, what is none is 0.
pub(super) fn share(weight: f32) -> f64 {
    if weight.is_finite() { f64::from(weight.clamp(0.0, 100.0)) } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use crate::strategies::bench::Bench;

    fn three() -> Bench {
        let mut bench = Bench::named("A/1/m B/1/m C/1/m");
        bench.weights(&[70.0, 20.0, 10.0]);
        bench
    }

    #[test]
    fn seeds_give_the_reference_draws() {
        let mut bench = three();
        let drawn: String = (0..10)
            .map(|seed| {
                bench.seed = seed;
                bench.order("weighted").chars().next().unwrap()
            })
            .collect();
        assert_eq!(drawn, "CAAABBBAAA");
        bench.seed = 4;
        assert_eq!(bench.order("weighted"), "B A C", "the others follow by weight");
    }

    #[test]
    fn the_shares_of_a_hundred_thousand_draws() {
        let mut bench = three();
        let strategy = bench.strategy("weighted");
        let mut counts = [0; 3];
        for seed in 0..100_000 {
            bench.seed = seed;
            counts[bench.first(&*strategy) as usize] += 1;
        }
        assert_eq!(counts, [70_096, 19_960, 9_944]);
    }

    #[test]
    fn weight_zero_is_the_last_resort() {
        let mut bench = three();
        bench.weights(&[0.0, 20.0, 10.0]);
        for seed in 0..200 {
            bench.seed = seed;
            assert!(bench.order("weighted").ends_with('A'), "seed {seed}");
        }
        bench.weights(&[0.0, 0.0, f32::NAN]);
        let mut seen: Vec<String> = (0..100)
            .map(|seed| {
                bench.seed = seed;
                bench.order("weighted")
            })
            .collect();
        seen.sort();
        seen.dedup();
        assert!(seen.len() >= 3, "without weights all are drawn: {seen:?}");
    }

    #[test]
    fn what_left_before_the_draw_leaves_its_share_to_the_others() {
        let mut bench = three();
        bench.drop("A/1/m");
        let strategy = bench.strategy("weighted");
        let mut counts = [0; 3];
        for seed in 0..3_000 {
            bench.seed = seed;
            counts[bench.first(&*strategy) as usize] += 1;
        }
        assert_eq!(counts[0], 0);
        assert!((1_900..2_100).contains(&counts[1]), "{counts:?}");
    }

    #[test]
    fn sticky_stays_until_it_has_served_often_enough() {
        let mut bench = three();
        let strategy = bench.configured("weighted", &[("sticky", 2.0)]);
        bench.seed = 0;
        assert_eq!(bench.first(&*strategy), 2);
        strategy.observe(&bench.success("B/1/m"));
        assert_eq!(bench.first(&*strategy), 1, "served once of two");
        strategy.observe(&bench.success("B/1/m"));
        assert_eq!(bench.first(&*strategy), 2, "served twice: drawn anew");
        strategy.observe(&bench.success("B/1/m"));
        strategy.observe(&bench.failure("B/1/m"));
        assert_eq!(bench.first(&*strategy), 2, "a failure ends it");
        strategy.observe(&bench.success("B/1/m"));
        bench.drop("B/1/m");
        assert_eq!(bench.first(&*strategy), 2, "not eligible: drawn among the others");
    }
}
