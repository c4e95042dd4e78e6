//! Each step works on the answer of the one before.

use std::sync::Arc;

use omniroute_core::route::{
    Candidates, Pick, Plan, Reason, RouteContext, RouteError, RouteErrorKind, RoutingStrategy, Sequence,
    Stage, StrategyTraits, Why,
};

use crate::registry::StrategyEntry;

/// Steps at most.
const MOST: usize = 8;

pub(crate) const ENTRY: StrategyEntry = StrategyEntry {
    id: "pipeline",
    summary: "each step works on the answer of the one before",
    aliases: &[],
    for_accounts: false,
    options: &[("carry_input", "later steps see the request too; default false")],
    build: |options| Arc::new(Pipeline { carry_input: options.flag("carry_input", false) }),
};

#[derive(Debug)]
struct Pipeline {
    carry_input: bool,
}

impl RoutingStrategy for Pipeline {
    fn id(&self) -> &str {
        ENTRY.id
    }

    fn plan(&self, cx: &RouteContext<'_>, candidates: &Candidates<'_>) -> Result<Plan, RouteError> {
        if candidates.is_empty() {
            let message = "the chain has no step that may be used";
            return Err(RouteError::new(RouteErrorKind::EmptyPipeline, message));
        }
        let entries = candidates.pool().entries();
        let depth = cx.options.depth.max(1);
        let why = Why::strategy(Reason::Rank);
        let same_step = |a: &u32, b: &u32| entries[*a as usize].step == entries[*b as usize].step;
        let stages: Vec<Stage> = candidates
            .indices()
            .chunk_by(same_step)
            .enumerate()
            .map(|(number, members)| {
                let picks = members.iter().take(depth).map(|index| Pick::new(*index, why)).collect();
                let sequence = Sequence::new(picks, members.len().saturating_sub(depth));
                Stage::new(sequence, entries[members[0] as usize].step, self.carry_input && number > 0)
            })
            .collect();
        if stages.len() > MOST {
            let message = format!("the chain has {} steps, allowed are {MOST}", stages.len());
            return Err(RouteError::new(RouteErrorKind::PanelTooLarge, message));
        }
        Ok(Plan::Chain(stages))
    }

    fn traits(&self) -> StrategyTraits {
        StrategyTraits::MANY
    }
}

#[cfg(test)]
mod tests {
    use omniroute_core::route::{Plan, RouteErrorKind};

    use crate::strategies::bench::Bench;

    #[test]
    fn steps_follow_each_other_with_their_accounts() {
        let mut bench = Bench::named("a/1/m a/2/m b/1/m");
        bench.entry("b/1/m", |entry| entry.step = 1);
        bench.entry("a/2/m", |entry| entry.step = 0);
        let strategy = bench.strategy("pipeline");
        let Plan::Chain(stages) = bench.plan(&*strategy).unwrap() else { panic!("a chain") };
        let picks: Vec<Vec<u32>> =
            stages.iter().map(|s| s.sequence.picks.iter().map(|pick| pick.candidate).collect()).collect();
        assert_eq!(picks, [vec![0, 1], vec![2]]);
        for name in ["a/1/m", "a/2/m", "b/1/m"] {
            bench.drop(name);
        }
        assert_eq!(bench.plan(&*strategy).unwrap_err().kind, RouteErrorKind::EmptyPipeline);
    }
}
