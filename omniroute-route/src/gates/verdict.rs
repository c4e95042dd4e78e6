//! Nobody passed: what to answer, and when trying again makes sense.

use omniroute_core::route::{Columns, DropReason, Pool, RouteError, RouteErrorKind, Window};
use omniroute_core::{Moment, Mono, UnixMs};

use super::candidate::required;
use super::{Ask, Gates};
use crate::cost::estimate;

impl Gates {
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
                // A window of which answers said that it is smaller is not the one that is listed.
                let listed = |index: &usize| columns.blocked[*index] != Some(D::Context);
                let windows = (0..pool.len()).filter(listed).map(|index| pool.windows()[index]);
                let largest = windows.max().unwrap_or(0);
                if largest == 0 {
                    let needed = required(ask.request, None);
                    let message =
                        format!("the request needs {needed} tokens, more than any window of {route} has");
                    return none(K::ContextLengthExceeded, message);
                }
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
                let at = if reason.quota() {
                    reset_of(columns, index, ask)
                } else {
                    wall(columns.blocked_until[index], ask.now)
                };
                Some((at.map_or(i64::MAX, |at| at.0), at, reason))
            })
            .min_by_key(|(at, ..)| *at);
        let Some((_, at, reason)) = soonest else {
            return none(K::NoExecutableTargets, format!("{route} has no target that may be used"));
        };
        let (kind, what) = match reason {
            D::BreakerOpen | D::NoProbeSlot => (K::ProviderCircuitOpen, "providers are down"),
            D::AtCapacity | D::QueueFull => (K::LocalCapacity, "connections have no room"),
            D::QuotaCutoff | D::QuotaExhausted | D::OnlyOnQuota => (K::QuotaCutoff, "allowances are used up"),
            _ => (K::AllConnectionsCooling, "connections rest"),
        };
        (kind, format!("{route} has no target that may be used now: {what}"), at)
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
    use omniroute_core::route::{Health, Need, Needs};

    use super::*;
    use crate::gates::tests::run;
    use crate::strategies::bench::Bench;

    fn error(bench: &Bench) -> RouteError {
        let (pool, columns, _) = bench.pool();
        let ask = Ask { request: &bench.request, options: &bench.options, now: bench.now };
        let gates = run(bench);
        assert!(gates.eligible.is_empty());
        gates.error("combo \"x\"", ask, &pool, &columns)
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
        bench.facts("a/1/m", |facts| facts.health = Health::Open);
        bench.facts("b/1/m", |facts| {
            (facts.used[0], facts.resets_at[0]) = (Some(1.0), Some(UnixMs(60_000)));
        });
        let waits = error(&bench);
        assert_eq!((waits.kind.code(), waits.retry_at), ("quota_cutoff", at(60_000)), "known before unknown");
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
