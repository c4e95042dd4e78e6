//! Allowance that is plentiful, or that would go unused because it starts anew soon.

use std::sync::Arc;

use omniroute_core::UnixMs;
use omniroute_core::route::{
    Candidates, Columns, Plan, Reason, RouteContext, RouteError, RoutingStrategy, Window,
};

use super::order::{best_rotating, clamp01, sequence};
use super::reset_window::affinity;
use crate::registry::StrategyEntry;

pub(crate) const ENTRY: StrategyEntry = StrategyEntry {
    id: "reset-aware",
    summary: "allowance that is plentiful or would go unused",
    aliases: &[],
    for_accounts: false,
    options: &[
        ("session_weight", "weight of the five-hour window, 0 to 1; default 0.35"),
        ("weekly_weight", "weight of the weekly window, 0 to 1; default 0.65"),
        ("tie_band", "percent below the best that takes turns with it, 0 to 100; default 5"),
        ("guard", "percent left of the five-hour window below which it is spared, 0 to 100; default 10"),
    ],
    build: |options| {
        let session = options.number("session_weight", 0.35, 0.0, 1.0);
        let weekly = options.number("weekly_weight", 0.65, 0.0, 1.0);
        let sum = if session + weekly > 0.0 {
            session + weekly
        } else {
            options.wrong("weekly_weight", "and session_weight are both 0, one has to be more");
            1.0
        };
        #[expect(clippy::cast_possible_truncation, reason = "shares")]
        Arc::new(ResetAware {
            session: (session / sum) as f32,
            weekly: (weekly / sum) as f32,
            band: (options.number("tie_band", 5.0, 0.0, 100.0) / 100.0) as f32,
            guard: (options.number("guard", 10.0, 0.0, 100.0) / 100.0) as f32,
        })
    },
};

#[derive(Debug)]
struct ResetAware {
    session: f32,
    weekly: f32,
    band: f32,
    guard: f32,
}

impl RoutingStrategy for ResetAware {
    fn id(&self) -> &str {
        ENTRY.id
    }

    fn plan(&self, cx: &RouteContext<'_>, candidates: &Candidates<'_>) -> Result<Plan, RouteError> {
        sequence(ENTRY.id, candidates, || {
            let columns = candidates.columns();
            let score = |index| self.score(columns, index, cx.now.wall);
            best_rotating(cx, candidates, Reason::Reset, score, |best| best * (1.0 - self.band), true)
        })
    }
}

impl ResetAware {
    fn score(&self, columns: &Columns, index: usize, now: UnixMs) -> f32 {
        let session = window(columns, index, Window::Session, (0.45, 0.55), now);
        let weekly = window(columns, index, Window::Weekly, (0.25, 0.75), now);
        if columns.used.iter().any(|used| used[index] >= 1.0) {
            return f32::NEG_INFINITY;
        }
        let score = match (session, weekly) {
            (Some((session, _)), Some((weekly, _))) => self.session * session + self.weekly * weekly,
            (Some((one, _)), None) | (None, Some((one, _))) => one,
            (None, None) => return 0.5,
        };
        match session {
            Some((_, left)) if left < self.guard => score * (left / self.guard).max(0.05),
            _ => score,
        }
    }
}

/// Score and what is left of one window, if anything is known of it.
fn window(
    columns: &Columns,
    index: usize,
    window: Window,
    (by_left, by_pressure): (f32, f32),
    now: UnixMs,
) -> Option<(f32, f32)> {
    let used = columns.used[window as usize][index];
    if !used.is_finite() {
        return None;
    }
    let left = clamp01(1.0 - used);
    let urgency = affinity(columns, index, window, now);
    Some((by_left * left + by_pressure * urgency * (1.0 - left), left))
}

#[cfg(test)]
mod tests {
    use omniroute_core::UnixMs;

    use super::{ENTRY, ResetAware};
    use crate::options::{OptionMap, OptionValue};
    use crate::strategies::bench::Bench;

    const HOUR: i64 = 3_600_000;

    fn four() -> Bench {
        let mut bench = Bench::named("A/1/m B/1/m C/1/m D/1/m");
        let mut set = |name: &str, session, session_in, weekly, weekly_in| {
            bench.facts(name, |facts| {
                facts.used = [Some(session), Some(weekly), None];
                facts.resets_at = [Some(UnixMs(session_in)), Some(UnixMs(weekly_in)), None];
            });
        };
        set("A/1/m", 0.3, HOUR, 0.8, 12 * HOUR);
        set("B/1/m", 0.3, HOUR, 0.2, 144 * HOUR);
        set("C/1/m", 0.95, HOUR / 6, 0.2, 144 * HOUR);
        bench
    }

    #[test]
    fn the_reference_scores() {
        let bench = four();
        let strategy = ResetAware { session: 0.35, weekly: 0.65, band: 0.05, guard: 0.1 };
        bench.with(|cx, candidates| {
            for (index, expected) in [0.551_093, 0.300_379, 0.164_291, 0.5].into_iter().enumerate() {
                let score = strategy.score(candidates.columns(), index, cx.now.wall);
                assert!((score - expected).abs() < 1e-5, "{index}: {score}");
            }
        });
        assert_eq!(bench.order("reset-aware"), "A D B C");
    }

    #[test]
    fn near_ties_take_turns_and_a_spent_one_is_last() {
        let mut bench = four();
        bench.facts("D/1/m", |facts| facts.used = [Some(0.3), Some(0.79), None]);
        bench.facts("D/1/m", |facts| facts.resets_at = [Some(UnixMs(HOUR)), Some(UnixMs(12 * HOUR)), None]);
        let firsts: Vec<String> = (0..4)
            .map(|ticket| {
                bench.ticket = ticket;
                bench.order("reset-aware").chars().take(1).collect()
            })
            .collect();
        assert_eq!(firsts, ["A", "D", "A", "D"]);
        bench.facts("A/1/m", |facts| facts.used[1] = Some(1.0));
        assert!(bench.order("reset-aware").ends_with('A'));
    }

    #[test]
    fn weights_are_shares() {
        let map: OptionMap = [
            ("session_weight".to_owned(), OptionValue::Number(0.0)),
            ("weekly_weight".to_owned(), OptionValue::Number(0.0)),
        ]
        .into();
        assert!(ENTRY.with("x", &map).is_err());
    }
}
