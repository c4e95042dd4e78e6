//! Two are drawn, the better one is used.

use std::sync::Arc;

use omniroute_core::route::{
    Candidates, Health, Plan, Reason, RouteContext, RouteError, RoutingStrategy, Salt,
};

use super::order::{by_rank, first_then_rank, known, sequence, usual_cap};
use crate::registry::StrategyEntry;

pub(crate) const ENTRY: StrategyEntry = StrategyEntry {
    id: "p2c",
    summary: "the better one of two that are drawn",
    aliases: &[],
    for_accounts: true,
    options: &[("signal", "auto, score or in_flight; default auto: in_flight among accounts of one model")],
    build: |options| {
        let signal = [Signal::Auto, Signal::Score, Signal::InFlight]
            [options.word("signal", 0, &["auto", "score", "in_flight"])];
        Arc::new(P2c { signal })
    },
};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Signal {
    Auto,
    Score,
    InFlight,
}

#[derive(Debug)]
struct P2c {
    signal: Signal,
}

impl RoutingStrategy for P2c {
    fn id(&self) -> &str {
        ENTRY.id
    }

    fn plan(&self, cx: &RouteContext<'_>, candidates: &Candidates<'_>) -> Result<Plan, RouteError> {
        sequence(ENTRY.id, candidates, || {
            if candidates.len() == 1 {
                return by_rank(cx, candidates, Reason::Rank);
            }
            let (a, b) = pair(cx, candidates.len());
            let at = |position: usize| candidates.indices()[position] as usize;
            let by_load = match self.signal {
                Signal::Auto => candidates.pool().offerings().len() == 1,
                Signal::Score => false,
                Signal::InFlight => true,
            };
            let second = if by_load {
                load(candidates, at(b)) < load(candidates, at(a))
            } else {
                score(candidates, at(b)) > score(candidates, at(a))
            };
            first_then_rank(cx, candidates, if second { b } else { a }, Reason::BetterOfTwo)
        })
    }
}

/// Two different positions.
fn pair(cx: &RouteContext<'_>, n: usize) -> (usize, usize) {
    let mut rng = cx.rng(Salt::P2C);
    let a = rng.below(n);
    let b = rng.below(n - 1);
    (a, b + usize::from(b >= a))
}

/// Success plus speed, less for a breaker that is not closed.
fn score(candidates: &Candidates<'_>, index: usize) -> f32 {
    let columns = candidates.columns();
    let success = known(1.0 - columns.error_rate[index], 0.5).clamp(0.0, 1.0);
    let latency = columns.mean_ms[index];
    let speed = if latency.is_finite() { 1.0 / libm::log10f(latency.max(0.0) + 10.0) } else { 0.25 };
    let health = match columns.health[index] {
        Health::Closed => 0.0,
        Health::Degraded => -0.10,
        Health::HalfOpen => -0.25,
        Health::Open => f32::MIN,
    };
    success + speed + health
}

/// Attempts that run, for each that may.
fn load(candidates: &Candidates<'_>, index: usize) -> f32 {
    let columns = candidates.columns();
    #[expect(clippy::cast_precision_loss, reason = "counts of running attempts are small")]
    let load = columns.in_flight[index] as f32 / usual_cap(columns, index).max(1) as f32;
    load
}

#[cfg(test)]
mod tests {
    use omniroute_core::route::Health;

    use super::{pair, score};
    use crate::strategies::bench::Bench;

    #[test]
    fn the_reference_scores() {
        let mut bench = Bench::named("a/1/m b/1/m c/1/m d/1/m e/1/m");
        bench.facts("a/1/m", |facts| (facts.error_rate, facts.mean_ms) = (Some(0.02), Some(900.0)));
        bench.facts("b/1/m", |facts| (facts.error_rate, facts.mean_ms) = (Some(0.10), Some(300.0)));
        bench.facts("c/1/m", |facts| {
            (facts.error_rate, facts.mean_ms, facts.health) = (Some(0.02), Some(900.0), Health::HalfOpen);
        });
        bench.facts("e/1/m", |facts| {
            (facts.error_rate, facts.mean_ms, facts.health) = (Some(0.02), Some(900.0), Health::Degraded);
        });
        bench.with(|_, candidates| {
            for (index, expected) in [1.317_95, 1.301_39, 1.067_95, 0.75, 1.217_95].into_iter().enumerate() {
                assert!((score(candidates, index) - expected).abs() < 1e-5, "{index}");
            }
        });
    }

    #[test]
    fn the_reference_pairs() {
        let mut bench = Bench::named("a/1/m b/1/m c/1/m d/1/m");
        for (seed, expected) in [(0, (3, 0)), (1, (2, 3)), (2, (1, 0)), (3, (3, 0))] {
            bench.seed = seed;
            bench.with(|cx, _| assert_eq!(pair(cx, 4), expected, "seed {seed}"));
        }
    }

    #[test]
    fn the_better_one_leads_and_ranks_follow() {
        let mut bench = Bench::named("a/1/m b/1/m c/1/m d/1/m");
        bench.seed = 0;
        assert_eq!(bench.order("p2c"), "d a b c", "the second wins only if it is better");
        bench.facts("a/1/m", |facts| facts.error_rate = Some(0.0));
        assert_eq!(bench.order("p2c"), "a b c d");
    }

    #[test]
    fn accounts_of_one_model_are_told_apart_by_load() {
        let mut bench = Bench::named("a/1/m a/2/m");
        bench.facts("a/1/m", |facts| (facts.in_flight, facts.error_rate) = (2, Some(0.0)));
        bench.facts("a/2/m", |facts| (facts.in_flight, facts.error_rate) = (1, Some(0.9)));
        for seed in 0..10 {
            bench.seed = seed;
            assert_eq!(bench.order("p2c"), "a/2 a/1");
        }
    }

    #[test]
    fn all_pairs_are_drawn_alike() {
        let mut bench = Bench::named("a/1/m b/1/m c/1/m d/1/m");
        let mut seen = std::collections::BTreeMap::<_, f64>::new();
        for seed in 0..12_000 {
            bench.seed = seed;
            bench.with(|cx, _| *seen.entry(pair(cx, 4)).or_default() += 1.0);
        }
        let chi: f64 = seen.values().map(|count| (count - 1_000.0).powi(2) / 1_000.0).sum();
        assert!(seen.len() == 12 && chi < 31.2, "chi-squared {chi} with 11 degrees of freedom");
    }
}
