//! Who may be used at all. Gates drop, with a reason each; they never reorder.

use omniroute_core::UnixMs;
use omniroute_core::route::{
    Columns, DropReason, Entry, Health, Need, Needs, Pool, RequestFacts, RouteError, RouteErrorKind,
    RouteOptions, Window,
};
use omniroute_core::{Moment, Mono};

use crate::cost::estimate;

/// Needs that have to be confirmed: sending them to a model that has not got them loses what was sent.
const CONFIRMED: Needs =
    Needs::NONE.with(Need::Vision).with(Need::AudioIn).with(Need::AudioOut).with(Need::Video);

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
    /// Judges all candidates of a pool.
    pub(crate) fn run(&mut self, ask: Ask<'_>, pool: &Pool, columns: &Columns) {
        self.eligible.clear();
        self.reasons.clear();
        self.behind.clear();
        (self.some_full, self.some_uncertain, self.relaxed) = (false, false, false);
        (self.tags_ignored, self.tried_anyway) = (false, false);
        let tags = &ask.request.tags;
        let tagged = |entry: &Entry| has_tags(entry, ask);
        self.tags_ignored =
            !tags.is_empty() && ask.options.tags_optional && !pool.entries().iter().any(tagged);
        let by_tags = !tags.is_empty() && !self.tags_ignored;
        for index in 0..pool.len() {
            let entry = &pool.entries()[index];
            let (reason, behind) = match permanent(ask, pool, entry, index, by_tags) {
                Some(reason) => (Some(reason), Behind::No),
                None => temporary(ask, columns, index).map_or_else(
                    || (None, behind(ask, pool, columns, index)),
                    |reason| (Some(reason), Behind::No),
                ),
            };
            let (reason, behind) = match (reason, behind) {
                (None, Behind::Full) if !ask.options.queue => (Some(DropReason::AtCapacity), Behind::No),
                found => found,
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

    /// Lets those through that only a breaker or a low score held back.
    pub(crate) fn try_anyway(&mut self) {
        for (index, reason) in (0_u32..).zip(&mut self.reasons) {
            if matches!(reason, Some(DropReason::BreakerOpen | DropReason::ScoreFloor | DropReason::SelfHeal))
            {
                *reason = None;
                self.eligible.push(index);
                self.tried_anyway = true;
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

    /// The error for when nobody passed.
    pub(crate) fn error(&self, route: &str, ask: Ask<'_>, pool: &Pool, columns: &Columns) -> RouteError {
        let mut counts: Vec<(DropReason, u32)> = Vec::new();
        for reason in self.reasons.iter().flatten() {
            match counts.iter_mut().find(|(known, _)| known == reason) {
                Some((_, count)) => *count += 1,
                None => counts.push((*reason, 1)),
            }
        }
        counts.sort_unstable();
        let (kind, message, retry_at) = self.verdict(route, ask, pool, columns, &counts);
        let mut error = RouteError::new(kind, message);
        error.retry_at = retry_at;
        error.dropped = counts;
        error
    }

    fn verdict(
        &self,
        route: &str,
        ask: Ask<'_>,
        pool: &Pool,
        columns: &Columns,
        counts: &[(DropReason, u32)],
    ) -> (RouteErrorKind, String, Option<UnixMs>) {
        use DropReason as D;
        use RouteErrorKind as K;
        let none = |kind, message: String| (kind, message, None);
        let temporary: Vec<D> =
            counts.iter().map(|(reason, _)| *reason).filter(|reason| !reason.permanent()).collect();
        if temporary.is_empty() {
            let serious = |reason: &D| !matches!(reason, D::Disabled | D::Excluded | D::Filtered | D::Tag);
            let left: Vec<D> = counts.iter().map(|(reason, _)| *reason).filter(serious).collect();
            if !left.is_empty() && left.iter().all(|reason| reason.capability()) {
                let needs: Vec<&str> = left.iter().filter_map(|reason| need(*reason)).collect();
                let message = format!("{route} has no model that can {}", needs.join(" or "));
                return none(K::CapabilityMismatch, message);
            }
            if !left.is_empty() && left.iter().all(|reason| *reason == D::Context || reason.capability()) {
                let largest = pool.windows().iter().max().copied().unwrap_or(0);
                let message = format!(
                    "the request needs {} tokens, the largest window of {route} has {largest}",
                    required(ask.request, None)
                );
                return none(K::ContextLengthExceeded, message);
            }
            if left.iter().any(|reason| matches!(reason, D::NoCredential | D::CredentialTerminal)) {
                return none(K::Unauthorized, format!("{route} has no usable credential"));
            }
            return none(K::NoExecutableTargets, format!("{route} has no target that may be used"));
        }
        if temporary.iter().all(|reason| reason.quota() || *reason == D::OnlyOnQuota) {
            let retry_at = (0..pool.len())
                .filter(|index| self.reasons[*index].is_some_and(D::quota))
                .filter_map(|index| reset_of(columns, index, ask))
                .min();
            return (K::QuotaCutoff, format!("every allowance of {route} is used up"), retry_at);
        }
        if temporary.iter().all(|reason| *reason == D::Budget) {
            let cheapest = (0..pool.len())
                .filter(|index| self.reasons[*index] == Some(D::Budget))
                .map(|index| estimate(ask.request, pool, columns, index))
                .filter(|usd| usd.is_finite())
                .fold(f32::INFINITY, f32::min);
            let budget = ask.options.budget.unwrap_or(0.0);
            let message = if cheapest.is_finite() {
                format!(
                    "the budget is {budget} USD, the cheapest target of {route} costs about {cheapest:.6} USD"
                )
            } else {
                format!("the budget is {budget} USD and no target of {route} has a known price")
            };
            return none(K::BudgetExceeded, message);
        }
        // The one that can be used soonest decides.
        let soonest = (0..pool.len())
            .filter_map(|index| {
                let reason =
                    self.reasons[index].filter(|reason| !reason.permanent() && *reason != D::Budget)?;
                Some((columns.blocked_until[index], index, reason))
            })
            .min();
        let Some((until, _, reason)) = soonest else {
            return none(K::NoExecutableTargets, format!("{route} has no target that may be used"));
        };
        let (kind, what) = match reason {
            D::BreakerOpen | D::NoProbeSlot => (K::ProviderCircuitOpen, "providers are down"),
            D::AtCapacity | D::QueueFull => (K::LocalCapacity, "connections have no room"),
            D::QuotaCutoff | D::QuotaExhausted | D::OnlyOnQuota => (K::QuotaCutoff, "allowances are used up"),
            _ => (K::AllConnectionsCooling, "connections rest"),
        };
        (kind, format!("{route} has no target that may be used now: {what}"), wall(until, ask.now))
    }
}

fn need(reason: DropReason) -> Option<&'static str> {
    Some(match reason {
        DropReason::CapabilityTools => "call tools",
        DropReason::CapabilityVision => "read images",
        DropReason::CapabilityAudioIn => "hear",
        DropReason::CapabilityAudioOut => "speak",
        DropReason::CapabilityVideo => "watch video",
        DropReason::CapabilityDocument => "read documents",
        DropReason::CapabilityStructured => "hold to a schema",
        _ => return None,
    })
}

fn permanent(ask: Ask<'_>, pool: &Pool, entry: &Entry, index: usize, by_tags: bool) -> Option<DropReason> {
    if entry.disabled {
        return Some(DropReason::Disabled);
    }
    if entry.excluded {
        return Some(DropReason::Excluded);
    }
    if ask.request.connection.as_ref().is_some_and(|connection| *connection != entry.target.connection) {
        return Some(DropReason::Filtered);
    }
    if by_tags && !has_tags(entry, ask) {
        return Some(DropReason::Tag);
    }
    if entry.no_credential {
        return Some(DropReason::NoCredential);
    }
    capability(ask, pool.can()[index], pool.cannot()[index]).or_else(|| {
        let window = pool.windows()[index];
        let too_long = window > 0 && required(ask.request, entry.model.max_output) > window;
        let input = with_margin(ask.request.input_tokens);
        (too_long || entry.model.max_input.is_some_and(|most| input > most)).then_some(DropReason::Context)
    })
}

fn capability(ask: Ask<'_>, can: u8, cannot: u8) -> Option<DropReason> {
    let needs = ask.request.needs.bits();
    if needs == 0 {
        return None;
    }
    let unconfirmed =
        if ask.options.vision_unknown { CONFIRMED.bits() & !Need::Vision.bit() } else { CONFIRMED.bits() };
    let missing = needs & (cannot | (unconfirmed & !can));
    let first = Need::ALL.into_iter().find(|need| missing & need.bit() != 0)?;
    Some(match first {
        Need::Vision => DropReason::CapabilityVision,
        Need::AudioIn => DropReason::CapabilityAudioIn,
        Need::AudioOut => DropReason::CapabilityAudioOut,
        Need::Video => DropReason::CapabilityVideo,
        Need::Document => DropReason::CapabilityDocument,
        Need::Structured => DropReason::CapabilityStructured,
        _ => DropReason::CapabilityTools,
    })
}

fn temporary(ask: Ask<'_>, columns: &Columns, index: usize) -> Option<DropReason> {
    if let Some(reason) = columns.blocked[index]
        && columns.blocked_until[index] > ask.now.mono
    {
        return Some(reason);
    }
    if columns.health[index] == Health::Open {
        return Some(DropReason::BreakerOpen);
    }
    let most_used = columns.used.iter().map(|used| used[index]).fold(0.0, f32::max);
    let used = most_used.max(1.0 - crate::strategies::order::known(columns.quota_left[index], 1.0));
    if used >= 1.0 {
        return Some(DropReason::QuotaExhausted);
    }
    (used >= ask.options.quota_cutoff).then_some(DropReason::QuotaCutoff)
}

fn behind(ask: Ask<'_>, pool: &Pool, columns: &Columns, index: usize) -> Behind {
    if columns.in_flight[index] >= columns.cap[index] {
        return Behind::Full;
    }
    let unknown = ask.request.needs.bits() & !pool.can()[index];
    if unknown != 0 || pool.windows()[index] == 0 { Behind::Uncertain } else { Behind::No }
}

fn has_tags(entry: &Entry, ask: Ask<'_>) -> bool {
    let mut wanted = ask.request.tags.iter();
    if ask.options.tags_all {
        wanted.all(|tag| entry.tags.contains(tag))
    } else {
        wanted.any(|tag| entry.tags.contains(tag))
    }
}

/// Tokens of the window that a request needs.
pub(crate) fn required(request: &RequestFacts, most_output: Option<u64>) -> u64 {
    let reserve = most_output.map_or(request.reserve(), |most| most.min(request.reserve()));
    with_margin(request.input_tokens).saturating_add(reserve)
}

/// An estimate of tokens, and a tenth.
fn with_margin(tokens: u64) -> u64 {
    tokens.saturating_add(tokens.div_ceil(10))
}

fn reset_of(columns: &Columns, index: usize, ask: Ask<'_>) -> Option<UnixMs> {
    let spent = |window: &Window| {
        let used = columns.used[*window as usize][index];
        used >= 1.0 || used >= ask.options.quota_cutoff
    };
    let latest = Window::ALL
        .into_iter()
        .filter(spent)
        .filter_map(|window| columns.until_reset(window, index, ask.now.wall))
        .max()
        .map(|until| UnixMs(ask.now.wall.0.saturating_add(until)));
    latest.or_else(|| wall(columns.blocked_until[index], ask.now))
}

fn wall(until: Mono, now: Moment) -> Option<UnixMs> {
    if until.0 == u64::MAX {
        return None;
    }
    let ms = i64::try_from(until.since(now.mono).as_millis()).ok()?;
    Some(UnixMs(now.wall.0.saturating_add(ms)))
}

#[cfg(test)]
mod tests {
    use omniroute_core::Capability;

    use super::*;
    use crate::strategies::bench::Bench;

    fn run(bench: &Bench) -> Gates {
        let (pool, columns, _) = bench.pool();
        let mut gates = Gates::default();
        gates.run(Ask { request: &bench.request, options: &bench.options, now: bench.now }, &pool, &columns);
        gates
    }

    fn error(bench: &Bench) -> RouteError {
        let (pool, columns, _) = bench.pool();
        let mut gates = Gates::default();
        let ask = Ask { request: &bench.request, options: &bench.options, now: bench.now };
        gates.run(ask, &pool, &columns);
        assert!(gates.eligible.is_empty());
        gates.error("combo \"x\"", ask, &pool, &columns)
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
    fn the_budget_drops_or_is_relaxed() {
        let mut bench = Bench::named("dear/1/m cheap/1/m unknown/1/m");
        bench.request.input_tokens = 6_000;
        bench.request.output_estimate = Some(1_024);
        bench.facts("dear/1/m", |facts| (facts.price_in, facts.price_out) = (Some(3.0), Some(15.0)));
        bench.facts("cheap/1/m", |facts| (facts.price_in, facts.price_out) = (Some(0.3), Some(1.5)));
        bench.options.budget = Some(0.01);
        assert_eq!(run(&bench).eligible, [1]);
        bench.options.budget = Some(0.001);
        assert!(run(&bench).relaxed);
        bench.options.budget_strict = true;
        let error = error(&bench);
        assert_eq!((error.kind.status(), error.kind.code()), (402, "budget_exceeded"));
        assert_eq!(
            error.to_string(),
            "the budget is 0.001 USD, the cheapest target of combo \"x\" costs about 0.003336 USD; dropped: 3 budget"
        );
    }

    #[test]
    fn the_answer_says_what_is_in_the_way() {
        let mut bench = Bench::named("a/1/m b/1/m");
        let mut blocked = |a: (DropReason, u64), b: (DropReason, u64)| {
            for (name, (reason, until)) in [("a/1/m", a), ("b/1/m", b)] {
                bench.facts(name, |facts| {
                    (facts.blocked, facts.blocked_until) = (Some(reason), Some(Mono(until * 1_000_000)));
                });
            }
            let error = error(&bench);
            (error.kind.code(), error.kind.status(), error.retry_at)
        };
        use DropReason as D;
        let at = |ms| Some(UnixMs(ms));
        assert_eq!(blocked((D::Cooling, 500), (D::Cooling, 300)), ("all_connections_cooling", 429, at(300)));
        assert_eq!(
            blocked((D::BreakerOpen, 100), (D::Cooling, 300)),
            ("provider_circuit_open", 503, at(100))
        );
        assert_eq!(
            blocked((D::BreakerOpen, 900), (D::Cooling, 300)),
            ("all_connections_cooling", 429, at(300))
        );
        assert_eq!(blocked((D::QuotaExhausted, 70), (D::QuotaCutoff, 60)), ("quota_cutoff", 429, at(60)));
        assert_eq!(blocked((D::CredentialTerminal, 70), (D::NoCredential, 60)), ("unauthorized", 401, None));
        let mut bench = Bench::named("a/1/m b/1/m");
        bench.request.needs = Needs::NONE.with(Need::Vision);
        let said = error(&bench);
        assert_eq!(
            said.to_string(),
            "combo \"x\" has no model that can read images; dropped: 2 capability:vision"
        );
        bench.request.needs = Needs::NONE;
        bench.request.input_tokens = 100_000;
        bench.entry("a/1/m", |entry| entry.model.context_window = Some(8_000));
        bench.entry("b/1/m", |entry| entry.model.context_window = Some(64_000));
        assert_eq!(
            error(&bench).to_string(),
            "the request needs 111024 tokens, the largest window of combo \"x\" has 64000; dropped: 2 context"
        );
    }
}
