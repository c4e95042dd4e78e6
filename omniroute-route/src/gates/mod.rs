//! Who may be used at all. Gates drop, with a reason each; they never reorder.

mod candidate;
mod verdict;

use omniroute_core::Moment;
use omniroute_core::route::{Columns, DropReason, Pool, RequestFacts, RouteOptions};

use crate::cost::estimate;
pub(crate) use candidate::required;
use candidate::{behind, has_tags, permanent, temporary};

/// What the gates found, kept between requests so that none of them has to ask for memory.
#[derive(Debug, Default)]
pub(crate) struct Gates {
    /// Indices that passed, ascending.
    pub(crate) eligible: Vec<u32>,
    /// For each candidate, why it was dropped.
    pub(crate) reasons: Vec<Option<DropReason>>,
    /// For each candidate, whether it stands behind the others.
    pub(crate) behind: Vec<Behind>,
    /// Somebody stands behind others because it is full.
    pub(crate) some_full: bool,
    /// Somebody stands behind others because nobody knows whether it can.
    pub(crate) some_uncertain: bool,
    /// Nothing fits the budget and the cheapest is used.
    pub(crate) relaxed: bool,
    /// Nobody has the tags and they do not count.
    pub(crate) tags_ignored: bool,
    /// Only breakers were in the way, and the caller wants to try anyway.
    pub(crate) tried_anyway: bool,
}

/// Why a candidate stands behind others.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Behind {
    /// It does not.
    #[default]
    No,
    /// Nobody knows whether it can what the request needs.
    Uncertain,
    /// As many attempts run as may.
    Full,
}

/// What is asked of the gates.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Ask<'a> {
    pub(crate) request: &'a RequestFacts,
    pub(crate) options: &'a RouteOptions,
    pub(crate) now: Moment,
}

impl Gates {
    /// Judges all candidates of a pool; a second time without breakers and low scores if nobody passed and the caller
    /// wants to try anyway.
    pub(crate) fn run(&mut self, ask: Ask<'_>, pool: &Pool, columns: &Columns) {
        self.judge(ask, pool, columns, false);
        self.tried_anyway = self.eligible.is_empty() && ask.options.try_anyway;
        if self.tried_anyway {
            self.judge(ask, pool, columns, true);
        }
    }

    fn judge(&mut self, ask: Ask<'_>, pool: &Pool, columns: &Columns, anyway: bool) {
        self.eligible.clear();
        self.reasons.clear();
        self.behind.clear();
        (self.some_full, self.some_uncertain, self.relaxed) = (false, false, false);
        let tags = &ask.request.tags;
        self.tags_ignored = !tags.is_empty()
            && ask.options.tags_optional
            && !pool.entries().iter().any(|entry| has_tags(entry, ask));
        let by_tags = !tags.is_empty() && !self.tags_ignored;
        for index in 0..pool.len() {
            let reason =
                permanent(ask, pool, index, by_tags).or_else(|| temporary(ask, columns, index, anyway));
            let (reason, behind) = match (reason, behind(ask, pool, columns, index)) {
                (None, Behind::Full) if !ask.options.queue => (Some(DropReason::AtCapacity), Behind::No),
                (None, behind) => (None, behind),
                (reason, _) => (reason, Behind::No),
            };
            self.reasons.push(reason);
            self.behind.push(behind);
        }
        self.only_on_quota(pool);
        self.budget(ask, pool, columns);
        for (index, reason) in (0_u32..).zip(&self.reasons) {
            if reason.is_none() {
                self.eligible.push(index);
                self.some_full |= self.behind[index as usize] == Behind::Full;
                self.some_uncertain |= self.behind[index as usize] == Behind::Uncertain;
            }
        }
    }

    /// Opens what waits for others to run out only when all of them have.
    fn only_on_quota(&mut self, pool: &Pool) {
        if !pool.entries().iter().any(|entry| entry.only_on_quota) {
            return;
        }
        let mut step_start = 0;
        let mut all_out = true;
        let mut before = true;
        for index in 0..pool.len() {
            let entry = &pool.entries()[index];
            if entry.step != pool.entries()[step_start].step {
                before = all_out;
                step_start = index;
            }
            if entry.only_on_quota && !before && self.reasons[index].is_none() {
                self.reasons[index] = Some(DropReason::OnlyOnQuota);
            }
            let out = self.reasons[index]
                .is_some_and(|reason| reason.quota() || reason == DropReason::CredentialTerminal);
            all_out &= out;
        }
    }

    fn budget(&mut self, ask: Ask<'_>, pool: &Pool, columns: &Columns) {
        let Some(budget) = ask.options.budget else { return };
        let fits = |index: usize| f64::from(estimate(ask.request, pool, columns, index)) <= budget;
        let some = (0..pool.len()).any(|index| self.reasons[index].is_none() && fits(index));
        if !some && !ask.options.budget_strict {
            self.relaxed = self.reasons.iter().any(Option::is_none);
            return;
        }
        for index in 0..pool.len() {
            if self.reasons[index].is_none() && !fits(index) {
                self.reasons[index] = Some(DropReason::Budget);
            }
        }
    }

    /// Those that were dropped, with their reasons, in the order of ranks.
    pub(crate) fn drops(&self) -> impl Iterator<Item = (u32, DropReason)> + '_ {
        (0_u32..).zip(&self.reasons).filter_map(|(index, reason)| reason.map(|reason| (index, reason)))
    }
}

#[cfg(test)]
mod tests {
    use omniroute_core::route::{Health, Need, Needs};
    use omniroute_core::{Capability, Mono};

    use super::*;
    use crate::strategies::bench::Bench;

    pub(super) fn run(bench: &Bench) -> Gates {
        let (pool, columns, _) = bench.pool();
        let mut gates = Gates::default();
        gates.run(Ask { request: &bench.request, options: &bench.options, now: bench.now }, &pool, &columns);
        gates
    }

    #[test]
    fn each_gate_has_its_reason() {
        let mut bench = Bench::named("a/1/m b/1/m c/1/m d/1/m e/1/m f/1/m g/1/m h/1/m i/1/m j/1/m");
        bench.request.input_tokens = 10_000;
        bench.request.needs = Needs::NONE.with(Need::Vision);
        for name in ["a/1/m", "b/1/m", "c/1/m", "e/1/m", "f/1/m", "g/1/m", "h/1/m", "i/1/m"] {
            bench.entry(name, |entry| entry.model.capabilities.set(Capability::ImageInput, Some(true)));
        }
        bench.entry("a/1/m", |entry| entry.disabled = true);
        bench.entry("b/1/m", |entry| entry.excluded = true);
        bench.entry("c/1/m", |entry| entry.no_credential = true);
        bench.entry("j/1/m", |entry| entry.model.capabilities.set(Capability::ImageInput, Some(false)));
        bench.entry("e/1/m", |entry| entry.model.context_window = Some(12_000));
        bench.facts("f/1/m", |facts| {
            (facts.blocked, facts.blocked_until) = (Some(DropReason::Cooling), Some(Mono(9)))
        });
        bench.facts("g/1/m", |facts| facts.health = Health::Open);
        bench.facts("h/1/m", |facts| facts.used[1] = Some(1.0));
        let gates = run(&bench);
        use DropReason as D;
        let expected = [
            Some(D::Disabled),
            Some(D::Excluded),
            Some(D::NoCredential),
            Some(D::CapabilityVision),
            Some(D::Context),
            Some(D::Cooling),
            Some(D::BreakerOpen),
            Some(D::QuotaExhausted),
            None,
            Some(D::CapabilityVision),
        ];
        assert_eq!(gates.reasons, expected);
        assert_eq!(gates.eligible, [8]);
        bench.now.mono = Mono(9);
        assert_eq!(run(&bench).eligible, [5, 8], "what rested may be used when its time has come");
        bench.options.vision_unknown = true;
        assert!(run(&bench).eligible.contains(&3), "unknown sight may be tried when allowed");
    }

    #[test]
    fn a_limit_of_n_allows_exactly_n() {
        let mut bench = Bench::named("a/1/m");
        bench.options.queue = false;
        for (running, passes) in [(0, true), (1, true), (2, false)] {
            bench.facts("a/1/m", |facts| (facts.in_flight, facts.cap) = (running, Some(2)));
            assert_eq!(run(&bench).eligible.len(), usize::from(passes), "{running}");
        }
        for (used, passes) in [(0.79, true), (0.8, false)] {
            bench.options.quota_cutoff = 0.8;
            bench.facts("a/1/m", |facts| (facts.in_flight, facts.used[0]) = (0, Some(used)));
            assert_eq!(run(&bench).eligible.len(), usize::from(passes), "{used}");
        }
    }

    #[test]
    fn the_window_needs_room_for_the_answer_and_a_tenth() {
        let mut bench = Bench::named("a/1/m");
        bench.request.input_tokens = 10_000;
        for (window, output, passes) in [
            (12_024, None, true),
            (12_023, None, false),
            (11_200, Some(200), true),
            (11_199, Some(200), false),
        ] {
            bench.entry("a/1/m", |entry| {
                entry.model.context_window = Some(window);
                entry.model.max_output = output;
            });
            assert_eq!(run(&bench).eligible.len(), usize::from(passes), "{window}");
        }
    }

    #[test]
    fn the_last_resort_opens_only_when_allowances_are_used_up() {
        let mut bench = Bench::named("a/1/m b/1/m");
        bench.entry("b/1/m", |entry| entry.only_on_quota = true);
        assert_eq!(run(&bench).eligible, [0]);
        bench.facts("a/1/m", |facts| facts.health = Health::Open);
        assert!(run(&bench).eligible.is_empty(), "a failure does not open it");
        bench.facts("a/1/m", |facts| (facts.health, facts.used[0]) = (Health::Closed, Some(1.0)));
        assert_eq!(run(&bench).eligible, [1]);
    }

    #[test]
    fn tags_restrict_and_may_be_optional() {
        let mut bench = Bench::named("a/1/m b/1/m");
        bench.entry("b/1/m", |entry| entry.tags = vec!["eu".into(), "fast".into()]);
        bench.request.tags = vec!["eu".into()];
        assert_eq!(run(&bench).eligible, [1]);
        bench.request.tags = vec!["eu".into(), "slow".into()];
        assert_eq!(run(&bench).eligible, [1], "any of them");
        bench.options.tags_all = true;
        assert!(run(&bench).eligible.is_empty(), "all of them");
        bench.options.tags_optional = true;
        let gates = run(&bench);
        assert!(gates.tags_ignored);
        assert_eq!(gates.eligible, [0, 1]);
    }

    #[test]
    fn trying_anyway_opens_breakers_and_nothing_else() {
        let mut bench = Bench::named("dear/1/m spent/1/m full/1/m free/1/m");
        for name in ["dear/1/m", "spent/1/m", "full/1/m", "free/1/m"] {
            bench.facts(name, |facts| facts.health = Health::Open);
            bench.facts(name, |facts| (facts.price_in, facts.price_out) = (Some(0.1), Some(0.1)));
        }
        bench.request.input_tokens = 6_000;
        bench.facts("dear/1/m", |facts| facts.price_in = Some(300.0));
        bench.facts("spent/1/m", |facts| facts.used[0] = Some(1.0));
        bench.facts("full/1/m", |facts| (facts.in_flight, facts.cap) = (3, Some(3)));
        (bench.options.budget, bench.options.budget_strict) = (Some(0.01), true);
        assert!(run(&bench).eligible.is_empty());
        bench.options.try_anyway = true;
        let gates = run(&bench);
        assert_eq!(gates.eligible, [2, 3]);
        assert!(gates.tried_anyway && gates.some_full);
        bench.facts("free/1/m", |facts| facts.health = Health::Closed);
        let gates = run(&bench);
        assert_eq!((gates.eligible, gates.tried_anyway), (vec![3], false), "only if nobody passes without");
    }
}
