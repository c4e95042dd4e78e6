//! All answer, a judge writes the answer.

use std::sync::Arc;
use std::time::Duration;

use omniroute_core::route::{
    Candidates, Need, Pick, Plan, Reason, RouteContext, RouteError, RouteErrorKind, RoutingStrategy,
    StrategyTraits, Why,
};

use super::order::first_then_rank;
use crate::registry::StrategyEntry;

pub(crate) const ENTRY: StrategyEntry = StrategyEntry {
    id: "fusion",
    summary: "all steps answer together, a judge writes the final answer",
    aliases: &[],
    for_accounts: false,
    options: &[
        ("judge", "provider/model of the judge; default: the first that answers, by rank"),
        ("min_panel", "answers that are enough, 1 to 40; default 2"),
        ("grace", "seconds for the others after that, 0 to 600; default 8"),
        ("limit", "seconds for all, 1 to 600; default 90"),
        ("max_panel", "members at most, 1 to 40; default 40"),
    ],
    build: |options| {
        let _named = options.text("judge");
        Arc::new(Fusion {
            quorum: u8::try_from(options.whole("min_panel", 2, 1, 40)).unwrap_or(2),
            grace: Duration::from_secs_f64(options.number("grace", 8.0, 0.0, 600.0)),
            limit: Duration::from_secs_f64(options.number("limit", 90.0, 1.0, 600.0)),
            most: options.whole("max_panel", 40, 1, 40) as usize,
        })
    },
};

#[derive(Debug)]
struct Fusion {
    quorum: u8,
    grace: Duration,
    limit: Duration,
    most: usize,
}

impl RoutingStrategy for Fusion {
    fn id(&self) -> &str {
        ENTRY.id
    }

    fn plan(&self, cx: &RouteContext<'_>, candidates: &Candidates<'_>) -> Result<Plan, RouteError> {
        let pool = candidates.pool();
        let step = |index: u32| pool.entries()[index as usize].step;
        let judges = |index: u32| pool.steps().get(step(index) as usize).is_some_and(|step| step.judge);
        let indices = candidates.indices();
        let judge = indices.iter().position(|index| judges(*index));
        // One voice per step: the first of its accounts.
        let members: Vec<usize> = (0..indices.len())
            .filter(|at| !judges(indices[*at]) && (*at == 0 || step(indices[*at]) != step(indices[at - 1])))
            .collect();
        let Some(first) = judge.or_else(|| members.first().copied()) else {
            return Err(RouteError::new(
                RouteErrorKind::EmptyPanel,
                "the panel has no member that may be used",
            ));
        };
        // What calls tools must not happen several times.
        if cx.request.needs.has(Need::Tools) {
            return Ok(Plan::Sequence(first_then_rank(cx, candidates, first, Reason::Named)));
        }
        if members.is_empty() {
            return Err(RouteError::new(RouteErrorKind::EmptyPanel, "the panel has a judge and no member"));
        }
        if members.len() > self.most {
            let message = format!("the panel has {} members, allowed are {}", members.len(), self.most);
            return Err(RouteError::new(RouteErrorKind::PanelTooLarge, message));
        }
        let pick = |position: &usize| Pick::new(indices[*position], Why::strategy(Reason::Rank));
        Ok(Plan::Panel {
            quorum: self.quorum.min(u8::try_from(members.len()).unwrap_or(u8::MAX)),
            members: members.iter().map(pick).collect(),
            judge: judge.map(|position| Pick::new(indices[position], Why::strategy(Reason::Named))),
            grace: self.grace,
            limit: self.limit,
        })
    }

    fn traits(&self) -> StrategyTraits {
        StrategyTraits::MANY
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use omniroute_core::route::{Need, Needs, Plan, RouteErrorKind, Step};

    use crate::strategies::bench::Bench;

    #[test]
    fn one_voice_per_step_and_a_quorum_that_can_be_reached() {
        let mut bench = Bench::named("a/1/m a/2/m b/1/m j/1/m");
        for (name, step) in [("a/1/m", 0), ("a/2/m", 0), ("b/1/m", 1), ("j/1/m", 2)] {
            bench.entry(name, |entry| entry.step = step);
        }
        let mut judge = Step::default();
        judge.judge = true;
        bench.steps(vec![Step::default(), Step::default(), judge]);
        let strategy = bench.configured("fusion", &[("min_panel", 3.0)]);
        let Plan::Panel { members, judge, quorum, grace, limit } = bench.plan(&*strategy).unwrap() else {
            panic!("a panel");
        };
        let members: Vec<u32> = members.iter().map(|pick| pick.candidate).collect();
        assert_eq!((members, judge.map(|pick| pick.candidate), quorum), (vec![0, 2], Some(3), 2));
        assert_eq!((grace, limit), (Duration::from_secs(8), Duration::from_secs(90)));
        bench.request.needs = Needs::NONE.with(Need::Tools);
        assert_eq!(bench.order_of(&*strategy), "j a/1 a/2 b", "tools go straight to the judge");
    }

    #[test]
    fn too_many_and_none() {
        let mut bench = Bench::named("a/1/m b/1/m c/1/m");
        let strategy = bench.configured("fusion", &[("max_panel", 2.0)]);
        assert_eq!(bench.plan(&*strategy).unwrap_err().kind, RouteErrorKind::PanelTooLarge);
        for name in ["a/1/m", "b/1/m", "c/1/m"] {
            bench.drop(name);
        }
        assert_eq!(bench.plan(&*strategy).unwrap_err().kind, RouteErrorKind::EmptyPanel);
    }
}
