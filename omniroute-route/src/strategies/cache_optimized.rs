//! A prefix stays with its connection, where the vendor's cache knows it.

use std::sync::Arc;

use omniroute_core::route::{
    Candidates, Plan, Reason, RouteContext, RouteError, RoutingStrategy, StrategyTraits,
};

use super::headroom::left;
use super::order::{by_rank, listed, sequence};
use crate::registry::StrategyEntry;
use crate::rendezvous::Bids;

/// Left of the allowance below which a connection gets no more by its prefixes.
const LEAST_LEFT: f32 = 0.15;

pub(crate) const ENTRY: StrategyEntry = StrategyEntry {
    id: "cache-optimized",
    summary: "requests with the same beginning stay on one connection",
    aliases: &[],
    for_accounts: false,
    options: &[],
    build: |_| Arc::new(CacheOptimized),
};

#[derive(Debug)]
struct CacheOptimized;

impl RoutingStrategy for CacheOptimized {
    fn id(&self) -> &str {
        ENTRY.id
    }

    fn plan(&self, cx: &RouteContext<'_>, candidates: &Candidates<'_>) -> Result<Plan, RouteError> {
        sequence(ENTRY.id, candidates, || {
            let Some(key) = cx.request.prefix_key.as_deref() else {
                return by_rank(cx, candidates, Reason::Rank);
            };
            let columns = candidates.columns();
            let bids = Bids::new(key);
            let mut order: Vec<(bool, u128, usize)> = candidates
                .indices()
                .iter()
                .enumerate()
                .map(|(position, index)| {
                    let index = *index as usize;
                    (columns.warm[index], bids.of(candidates.pool(), index), position)
                })
                .collect();
            order.sort_unstable_by(|a, b| b.0.cmp(&a.0).then(b.1.cmp(&a.1)).then(a.2.cmp(&b.2)));
            let most = fair_load(candidates);
            let winner = order.iter().position(|(_, _, position)| {
                room(candidates, candidates.indices()[*position] as usize, most)
            });
            if let Some(winner) = winner {
                order[..=winner].rotate_right(1);
            }
            listed(cx, candidates, order.iter().map(|(_, _, position)| *position), Reason::Prefix)
        })
    }

    fn traits(&self) -> StrategyTraits {
        StrategyTraits::PREFIX
    }
}

/// Whose a prefix is among some candidates: warm ones first, then by bid. Those without room are passed over.
pub(crate) fn owner(
    key: &str,
    candidates: &Candidates<'_>,
    members: impl Iterator<Item = u32>,
) -> Option<u32> {
    let (bids, most, columns) = (Bids::new(key), fair_load(candidates), candidates.columns());
    members.filter(|index| room(candidates, *index as usize, most)).max_by_key(|index| {
        let at = *index as usize;
        (columns.warm[at], bids.of(candidates.pool(), at), std::cmp::Reverse(*index))
    })
}

/// Attempts that may run on one connection before others take its prefixes: a quarter more than usual, two at least.
fn fair_load(candidates: &Candidates<'_>) -> f32 {
    #[expect(clippy::cast_precision_loss, reason = "counts of running attempts are small")]
    let mean = {
        let sum: u64 = candidates
            .indices()
            .iter()
            .map(|index| u64::from(candidates.columns().in_flight[*index as usize]))
            .sum();
        sum as f32 / candidates.len().max(1) as f32
    };
    (1.25 * mean).max(2.0)
}

/// Whether a connection takes one more by its prefix.
fn room(candidates: &Candidates<'_>, index: usize, most: f32) -> bool {
    let columns = candidates.columns();
    #[expect(clippy::cast_precision_loss, reason = "counts of running attempts are small")]
    let running = columns.in_flight[index] as f32;
    running <= most && left(columns, index).is_none_or(|left| left >= LEAST_LEFT)
}

#[cfg(test)]
mod tests {
    use crate::strategies::bench::Bench;

    fn three() -> Bench {
        let mut bench = Bench::named("a/acct-1/m a/acct-2/m a/acct-3/m");
        bench.request.prefix_key = Some("omni-demo-key".into());
        bench
    }

    #[test]
    fn the_reference_order() {
        let mut bench = three();
        assert_eq!(bench.order("cache-optimized"), "a/acct-2 a/acct-3 a/acct-1");
        bench.request.prefix_key = None;
        assert_eq!(bench.order("cache-optimized"), "a/acct-1 a/acct-2 a/acct-3");
    }

    #[test]
    fn a_full_or_spent_winner_is_passed_over() {
        let mut bench = three();
        bench.facts("a/acct-2/m", |facts| facts.in_flight = 3);
        assert_eq!(bench.order("cache-optimized"), "a/acct-3 a/acct-2 a/acct-1");
        bench.facts("a/acct-2/m", |facts| (facts.in_flight, facts.quota_left) = (0, Some(0.1)));
        assert_eq!(bench.order("cache-optimized"), "a/acct-3 a/acct-2 a/acct-1");
    }

    #[test]
    fn real_warmth_beats_the_hash() {
        let mut bench = three();
        bench.facts("a/acct-1/m", |facts| facts.warm = true);
        assert_eq!(bench.order("cache-optimized"), "a/acct-1 a/acct-2 a/acct-3");
    }
}
