//! Everyone in turn, by the ticket of the request.

use std::sync::Arc;

use omniroute_core::Outcome;
use omniroute_core::route::{
    Candidates, Plan, Reason, RouteContext, RouteError, RoutingStrategy, StrategyTraits,
};

use super::order::{listed, sequence};
use super::sticky::{Stay, Sticky};
use crate::registry::StrategyEntry;

pub(crate) const ENTRY: StrategyEntry = StrategyEntry {
    id: "round-robin",
    summary: "everyone in turn",
    aliases: &[],
    for_accounts: true,
    options: &[("sticky", "successes before the next one's turn, 1 to 1000; default 1")],
    build: |options| Arc::new(RoundRobin { sticky: Sticky::new(options.whole("sticky", 1, 1, 1_000)) }),
};

#[derive(Debug)]
struct RoundRobin {
    sticky: Sticky,
}

impl RoutingStrategy for RoundRobin {
    fn id(&self) -> &str {
        ENTRY.id
    }

    fn plan(&self, cx: &RouteContext<'_>, candidates: &Candidates<'_>) -> Result<Plan, RouteError> {
        sequence(ENTRY.id, candidates, || {
            let n = candidates.len();
            let (start, reason) = match self.sticky.stay(candidates) {
                Stay::Here(at) => (at, Reason::Sticky),
                Stay::After(at) => ((at + 1) % n, Reason::Turn),
                Stay::Free => {
                    let turn = cx.ticket / u64::from(self.sticky.wanted().max(1));
                    (usize::try_from(turn % n as u64).unwrap_or(0), Reason::Turn)
                }
            };
            listed(cx, candidates, (start..n).chain(0..start), reason)
        })
    }

    fn observe(&self, outcome: &Outcome) {
        self.sticky.observe(outcome);
    }

    fn traits(&self) -> StrategyTraits {
        StrategyTraits::STEPS
    }
}

#[cfg(test)]
mod tests {
    use crate::strategies::bench::Bench;

    fn turns(bench: &mut Bench, strategy: &dyn omniroute_core::route::RoutingStrategy, count: u64) -> String {
        (0..count)
            .map(|ticket| {
                bench.ticket = ticket;
                ["A", "B", "C", "D"][bench.first(strategy) as usize]
            })
            .collect()
    }

    #[test]
    fn everyone_in_turn() {
        let mut bench = Bench::named("A/1/m B/1/m C/1/m");
        let strategy = bench.strategy("round-robin");
        assert_eq!(turns(&mut bench, &*strategy, 6), "ABCABC");
        let sticky = bench.configured("round-robin", &[("sticky", 2.0)]);
        assert_eq!(turns(&mut bench, &*sticky, 6), "AABBCC");
        bench.ticket = 1;
        assert_eq!(bench.order("round-robin"), "B C A");
    }

    #[test]
    fn sticky_counts_successes() {
        let mut bench = Bench::named("A/1/m B/1/m C/1/m");
        let strategy = bench.configured("round-robin", &[("sticky", 2.0)]);
        let mut served = String::new();
        for ticket in 0..6 {
            bench.ticket = ticket;
            let name = ["A", "B", "C"][bench.first(&*strategy) as usize];
            served.push_str(name);
            strategy.observe(&bench.success(&format!("{name}/1/m")));
        }
        assert_eq!(served, "AABBCC");
        bench.drop("C/1/m");
        assert_ne!(bench.first(&*strategy), 2, "one that left is dropped at once");
    }

    #[test]
    fn a_dead_one_does_not_stop_the_round() {
        let mut bench = Bench::named("A/1/m B/1/m C/1/m D/1/m");
        bench.drop("D/1/m");
        let strategy = bench.strategy("round-robin");
        let served = turns(&mut bench, &*strategy, 1_000);
        let count = |name| served.matches(name).count();
        assert_eq!(count("D"), 0);
        let (a, b, c) = (count("A"), count("B"), count("C"));
        assert!(a.abs_diff(b) <= 1 && b.abs_diff(c) <= 1 && a.abs_diff(c) <= 1, "{a} {b} {c}");
    }
}
