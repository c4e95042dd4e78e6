//! A decision, told: who would be asked and why, who was dropped and why. No text of requests, no credentials.

use std::fmt;
use std::sync::Arc;

use omniroute_core::route::{DropReason, Layer, Note, Pick, Plan, Pool, Reason};
use serde::{Serialize, Serializer};

use crate::auto::factors::FACTORS;
use crate::planner::Decision;

/// Candidates that are told one by one; the others are counted.
const MOST: usize = 64;

/// A decision for people and programs.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Explanation {
    /// The strategy.
    pub strategy: String,
    /// What kind of plan.
    pub kind: &'static str,
    /// The rule that decided about the first place.
    pub layer: Layer,
    /// The seed, to repeat it.
    pub seed: u64,
    /// The ticket, to repeat it.
    pub ticket: u64,
    /// Who would be asked, in order.
    pub picks: Vec<ToldPick>,
    /// Candidates after those.
    pub unlisted: u32,
    /// Who was dropped.
    pub dropped: Vec<ToldDrop>,
    /// Dropped candidates that are not listed.
    pub dropped_more: u32,
    /// What else is to be known.
    pub notes: Vec<Note>,
}

/// One candidate of a plan.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct ToldPick {
    /// Provider, connection and model.
    #[serde(serialize_with = "text")]
    pub key: Arc<str>,
    /// The operator's rank.
    pub rank: u32,
    /// The score, where the strategy has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub score: Option<f32>,
    /// Who decided.
    pub layer: Layer,
    /// By what.
    pub reason: Reason,
    /// The factors that added most to the score.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub factors: Vec<(&'static str, f32)>,
}

/// One candidate that was dropped.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct ToldDrop {
    /// Provider, connection and model.
    #[serde(serialize_with = "text")]
    pub key: Arc<str>,
    /// Why.
    pub reason: DropReason,
}

impl Explanation {
    /// Tells a decision about candidates of a pool: the first 64 of each list, the others are counted.
    pub fn of(decision: &Decision, strategy: &str, pool: &Pool) -> Explanation {
        Explanation::up_to(MOST, decision, strategy, pool)
    }

    /// [`Explanation::of`] with every candidate of the decision.
    pub fn whole(decision: &Decision, strategy: &str, pool: &Pool) -> Explanation {
        Explanation::up_to(usize::MAX, decision, strategy, pool)
    }

    fn up_to(most: usize, decision: &Decision, strategy: &str, pool: &Pool) -> Explanation {
        let (kind, picks, unlisted, notes): (_, Vec<&Pick>, u32, &[Note]) = match &decision.plan {
            Plan::Sequence(sequence) => {
                ("sequence", sequence.picks.iter().collect(), sequence.unlisted, &sequence.notes)
            }
            Plan::Panel { members, judge, .. } => ("panel", members.iter().chain(judge).collect(), 0, &[]),
            Plan::Chain(stages) => {
                ("chain", stages.iter().flat_map(|stage| &stage.sequence.picks).collect(), 0, &[])
            }
            _ => ("other", Vec::new(), 0, &[]),
        };
        let more = |len: usize| u32::try_from(len.saturating_sub(most)).unwrap_or(u32::MAX);
        let told = |pick: &&Pick| {
            let factors = pick.why.top.iter().filter_map(|(number, added)| {
                FACTORS.get(usize::from(*number)).map(|factor| (factor.name, *added))
            });
            let factors: Vec<_> = factors.collect();
            let index = pick.candidate as usize;
            ToldPick {
                key: pool.key(index).clone(),
                rank: pool.entries()[index].rank,
                score: (!factors.is_empty() || pick.score != 0.0)
                    .then_some(pick.score)
                    .filter(|s| *s > f32::MIN),
                layer: pick.why.layer,
                reason: pick.why.reason,
                factors,
            }
        };
        let dropped = decision
            .drops
            .iter()
            .take(most)
            .map(|(index, reason)| ToldDrop { key: pool.key(*index as usize).clone(), reason: *reason });
        Explanation {
            strategy: strategy.to_owned(),
            kind,
            layer: decision.layer,
            seed: decision.seed,
            ticket: decision.ticket,
            unlisted: unlisted.saturating_add(more(picks.len())),
            picks: picks.iter().take(most).map(told).collect(),
            dropped: dropped.collect(),
            dropped_more: more(decision.drops.len()),
            notes: notes.to_vec(),
        }
    }
}

impl fmt::Display for Explanation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{} by {}, seed {}, ticket {}", self.kind, self.strategy, self.seed, self.ticket)?;
        for (place, pick) in (1..).zip(&self.picks) {
            write!(
                f,
                "{place:3}. {}  rank {}, {}: {}",
                pick.key,
                pick.rank,
                code(&pick.layer),
                code(&pick.reason)
            )?;
            if let Some(score) = pick.score {
                write!(f, ", score {score:.4}")?;
            }
            for (name, added) in &pick.factors {
                write!(f, ", {name} {added:.4}")?;
            }
            writeln!(f)?;
        }
        if self.unlisted > 0 {
            writeln!(f, "     and {} more", self.unlisted)?;
        }
        for dropped in &self.dropped {
            writeln!(f, "  -  {}  {}", dropped.key, dropped.reason.code())?;
        }
        if self.dropped_more > 0 {
            writeln!(f, "     and {} more dropped", self.dropped_more)?;
        }
        for note in &self.notes {
            writeln!(f, "note: {}", code(note))?;
        }
        Ok(())
    }
}

pub(crate) fn text<S: Serializer>(text: &Arc<str>, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(text)
}

/// The stable name of something that has one when it is serialised.
fn code(value: &impl Serialize) -> String {
    serde_json::to_value(value).ok().and_then(|value| value.as_str().map(str::to_owned)).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use omniroute_core::route::Health;

    use super::*;
    use crate::planner::{Ask, Planner, Work};
    use crate::strategies::bench::Bench;

    #[test]
    fn a_decision_is_told_with_every_reason() {
        let mut bench = Bench::named("a/1/m b/1/m c/1/m");
        bench.facts("b/1/m", |facts| facts.health = Health::Open);
        bench.facts("c/1/m", |facts| facts.quota_left = Some(0.25));
        bench.options.depth = 1;
        let (pool, columns, _) = bench.pool();
        let planner = Planner::new("x", bench.strategy("headroom"));
        let ask =
            Ask { request: &bench.request, session: None, options: &bench.options, now: bench.now, seed: 7 };
        let decision = planner.explain(ask, &pool, &columns, &mut Work::default()).unwrap();
        let told = Explanation::of(&decision, "headroom", &pool);
        assert_eq!(
            told.to_string(),
            "sequence by headroom, seed 7, ticket 0\n  1. a/1/m  rank 0, strategy: headroom, score 0.5000\n     and 1 more\n  -  b/1/m  breaker_open\n"
        );
        let json = serde_json::to_string(&told).unwrap();
        assert!(json.contains(r#""dropped":[{"key":"b/1/m","reason":"breaker_open"}]"#), "{json}");
    }
}
