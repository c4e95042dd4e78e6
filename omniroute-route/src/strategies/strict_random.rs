//! Everyone once per round, each round in another order, as if dealt from a deck.

use std::sync::Arc;

use omniroute_core::route::{
    Candidates, Plan, Reason, RouteContext, RouteError, RoutingStrategy, Salt, StrategyTraits, Stream, hash,
};

use super::order::{listed, sequence};
use crate::registry::StrategyEntry;

pub(crate) const ENTRY: StrategyEntry = StrategyEntry {
    id: "strict-random",
    summary: "everyone once per round, each round in another order",
    aliases: &[],
    for_accounts: true,
    options: &[],
    build: |_| Arc::new(StrictRandom),
};

#[derive(Debug)]
struct StrictRandom;

impl RoutingStrategy for StrictRandom {
    fn id(&self) -> &str {
        ENTRY.id
    }

    fn plan(&self, cx: &RouteContext<'_>, candidates: &Candidates<'_>) -> Result<Plan, RouteError> {
        sequence(ENTRY.id, candidates, || {
            let n = candidates.len();
            let mut order = cx.scratch.order.borrow_mut();
            let card = card(cx.seed, cx.ticket, n, &mut order);
            order.clear();
            order.extend((0..number(n)).filter(|at| *at != card));
            cx.rng(Salt::STRICT_RANDOM_REST).shuffle(&mut order);
            let all = std::iter::once(card).chain(order.iter().copied());
            listed(cx, candidates, all.map(|at| at as usize), Reason::Turn)
        })
    }

    fn traits(&self) -> StrategyTraits {
        StrategyTraits::DECK
    }
}

/// The card that is dealt to a ticket. The first of a deck is never the last of the deck before.
fn card(seed: u64, ticket: u64, n: usize, deck: &mut Vec<u32>) -> u32 {
    if n < 2 {
        return 0;
    }
    let (cycle, at) = (ticket / n as u64, usize::try_from(ticket % n as u64).unwrap_or(0));
    if n == 2 {
        deal(seed, 0, n, deck);
        return deck[at];
    }
    let before = (cycle > 0).then(|| {
        deal(seed, cycle - 1, n, deck);
        deck[n - 1]
    });
    deal(seed, cycle, n, deck);
    if before == Some(deck[0]) {
        deck.swap(0, 1);
    }
    deck[at]
}

fn deal(seed: u64, cycle: u64, n: usize, deck: &mut Vec<u32>) {
    deck.clear();
    deck.extend(0..number(n));
    Stream::new(hash(seed, &[cycle]), Salt::STRICT_RANDOM).shuffle(deck);
}

fn number(n: usize) -> u32 {
    u32::try_from(n).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use crate::strategies::bench::Bench;

    fn dealt(names: &str, seed: u64, tickets: u64) -> Vec<u32> {
        let mut bench = Bench::named(names);
        bench.seed = seed;
        let strategy = bench.strategy("strict-random");
        (0..tickets)
            .map(|ticket| {
                bench.ticket = ticket;
                bench.first(&*strategy)
            })
            .collect()
    }

    #[test]
    fn the_reference_decks() {
        assert_eq!(dealt("A/1/m B/1/m C/1/m", 7, 12), [0, 1, 2, 0, 2, 1, 0, 2, 1, 2, 0, 1]);
    }

    #[test]
    fn every_round_has_everyone_and_none_twice_in_a_row() {
        for (names, n) in [("A/1/m B/1/m", 2), ("A/1/m B/1/m C/1/m D/1/m E/1/m", 5)] {
            for seed in 0..20 {
                let dealt = dealt(names, seed, 20 * n);
                for round in dealt.chunks(usize::try_from(n).unwrap()) {
                    let mut round = round.to_vec();
                    round.sort_unstable();
                    assert!(round.into_iter().eq(0..u32::try_from(n).unwrap()), "seed {seed}");
                }
                assert!(dealt.windows(2).all(|pair| pair[0] != pair[1]), "seed {seed}: {dealt:?}");
            }
        }
    }
}
