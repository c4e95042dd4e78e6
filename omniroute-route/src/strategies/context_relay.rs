//! Rank order; the plan says when a session changes its account and the next one has to be told what happened.

use std::sync::Arc;

use omniroute_core::route::{
    Candidates, Plan, Reason, Relay, RouteContext, RouteError, RoutingStrategy, Sequence, StrategyTraits,
    Window,
};

use super::order::{by_rank, sequence};
use crate::combo::Handover;
use crate::registry::StrategyEntry;

/// Used share of the five-hour window at which it is too late for a summary.
const TOO_LATE: f32 = 0.95;

pub(crate) const ENTRY: StrategyEntry = StrategyEntry {
    id: "context-relay",
    summary: "the order of the steps; the plan says when a new account has to be told what happened",
    aliases: &[],
    for_accounts: false,
    options: &[
        ("threshold", "used share of the window at which a summary is made, 0.5 to 0.94; default 0.85"),
        ("relay_model", "who writes it: provider/model, a combo or an auto name; default auto/cheap"),
        ("relay_messages", "messages that are summed up at most, 5 to 100; default 30"),
        ("handover", "needed: if the client does not send its whole history, or always; default needed"),
    ],
    build: |options| {
        let _used = Handover::read(options);
        #[expect(clippy::cast_possible_truncation, reason = "a share")]
        let threshold = options.number("threshold", 0.85, 0.5, 0.94) as f32;
        Arc::new(ContextRelay { threshold })
    },
};

#[derive(Debug)]
struct ContextRelay {
    threshold: f32,
}

impl RoutingStrategy for ContextRelay {
    fn id(&self) -> &str {
        ENTRY.id
    }

    fn plan(&self, cx: &RouteContext<'_>, candidates: &Candidates<'_>) -> Result<Plan, RouteError> {
        sequence(ENTRY.id, candidates, || by_rank(cx, candidates, Reason::Rank))
    }

    fn settled(&self, cx: &RouteContext<'_>, candidates: &Candidates<'_>, sequence: &mut Sequence) {
        sequence.relay =
            sequence.picks.first().and_then(|pick| self.relay(cx, candidates, pick.candidate as usize));
    }

    fn traits(&self) -> StrategyTraits {
        StrategyTraits::STEPS
    }
}

impl ContextRelay {
    fn relay(&self, cx: &RouteContext<'_>, candidates: &Candidates<'_>, first: usize) -> Option<Relay> {
        let session = cx.session?;
        let target = &candidates.pool().entries()[first].target;
        let moved = session
            .last
            .as_ref()
            .is_some_and(|last| last.connection != target.connection || last.provider != target.provider);
        if moved {
            return session.relay_ready.then_some(Relay::Inject);
        }
        let used = candidates.columns().used[Window::Session as usize][first];
        (used >= self.threshold && used < TOO_LATE && !session.relay_ready).then_some(Relay::Prepare)
    }
}

#[cfg(test)]
mod tests {
    use omniroute_core::Target;
    use omniroute_core::route::Relay;

    use crate::strategies::bench::Bench;

    fn relay(bench: &Bench) -> Option<Relay> {
        let strategy = bench.strategy("context-relay");
        let mut sequence = bench.plan(&*strategy).unwrap().sequence().unwrap().clone();
        bench.with(|cx, candidates| strategy.settled(cx, candidates, &mut sequence));
        sequence.relay
    }

    #[test]
    fn a_summary_is_made_in_time_or_not_at_all() {
        let mut bench = Bench::named("a/1/m a/2/m");
        bench.session("s");
        for (used, expected) in
            [(0.84, None), (0.85, Some(Relay::Prepare)), (0.94, Some(Relay::Prepare)), (0.96, None)]
        {
            bench.facts("a/1/m", |facts| facts.used[0] = Some(used));
            assert_eq!(relay(&bench), expected, "{used}");
        }
    }

    #[test]
    fn the_next_account_is_told_once_there_is_something_to_tell() {
        let mut bench = Bench::named("a/1/m a/2/m");
        bench.session("s");
        bench.session.as_mut().unwrap().last = Some(Target::new("a", "1", "m"));
        bench.drop("a/1/m");
        assert_eq!(relay(&bench), None, "no summary");
        bench.session.as_mut().unwrap().relay_ready = true;
        assert_eq!(relay(&bench), Some(Relay::Inject));
    }
}
