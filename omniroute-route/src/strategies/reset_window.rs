//! Whose allowance starts anew soonest.

use std::sync::Arc;

use omniroute_core::UnixMs;
use omniroute_core::route::{
    Candidates, Columns, Plan, Reason, RouteContext, RouteError, RoutingStrategy, Window,
};

use super::order::{best_rotating, clamp01, sequence};
use crate::registry::StrategyEntry;

/// Seconds within which two resets are the same.
const BAND: f32 = 60.0;

pub(crate) const ENTRY: StrategyEntry = StrategyEntry {
    id: "reset-window",
    summary: "whose allowance starts anew soonest",
    aliases: &["weekly-reset", "reset-window-order"],
    for_accounts: false,
    options: &[("windows", "any of session, weekly, monthly; default weekly")],
    build: |options| {
        let chosen = options.words("windows", &[1], &["session", "weekly", "monthly"]);
        Arc::new(ResetWindow { windows: chosen.into_iter().map(|at| Window::ALL[at]).collect() })
    },
};

#[derive(Debug)]
struct ResetWindow {
    windows: Vec<Window>,
}

impl RoutingStrategy for ResetWindow {
    fn id(&self) -> &str {
        ENTRY.id
    }

    fn plan(&self, cx: &RouteContext<'_>, candidates: &Candidates<'_>) -> Result<Plan, RouteError> {
        sequence(ENTRY.id, candidates, || {
            let columns = candidates.columns();
            let score = |index| self.score(columns, index, cx.now.wall);
            best_rotating(cx, candidates, Reason::Reset, score, |best| best - BAND, true)
        })
    }
}

impl ResetWindow {
    /// Seconds to the nearest reset, less than zero so that the nearest is the largest.
    fn score(&self, columns: &Columns, index: usize, now: UnixMs) -> f32 {
        if columns.used.iter().any(|used| used[index] >= 1.0) {
            return f32::NEG_INFINITY;
        }
        let nearest = self.windows.iter().filter_map(|window| columns.until_reset(*window, index, now)).min();
        #[expect(clippy::cast_precision_loss, reason = "seconds of a month fit")]
        nearest.map_or(f32::NEG_INFINITY, |until| -((until / 1_000) as f32))
    }
}

/// How soon a window starts anew, 0..1; one half if unknown.
pub(crate) fn affinity(columns: &Columns, index: usize, window: Window, now: UnixMs) -> f32 {
    #[expect(clippy::cast_precision_loss, reason = "a share of a window")]
    let share = columns.until_reset(window, index, now).map(|until| until as f32 / window.millis() as f32);
    share.map_or(0.5, |share| clamp01(1.0 - share))
}

#[cfg(test)]
mod tests {
    use omniroute_core::UnixMs;
    use omniroute_core::route::Window;

    use super::affinity;
    use crate::strategies::bench::Bench;

    #[test]
    fn the_nearest_reset_leads_and_equal_ones_take_turns() {
        let mut bench = Bench::named("a/1/m b/1/m c/1/m d/1/m e/1/m");
        for (name, seconds) in [("a/1/m", 6 * 3_600), ("b/1/m", 3_600), ("c/1/m", 3_640), ("e/1/m", 60)] {
            bench.facts(name, |facts| facts.resets_at[1] = Some(UnixMs(seconds * 1_000)));
        }
        bench.facts("e/1/m", |facts| facts.used[1] = Some(1.0));
        bench.ticket = 0;
        assert_eq!(bench.order("reset-window"), "b c a d e");
        bench.ticket = 1;
        assert_eq!(bench.order("reset-window"), "c b a d e");
    }

    #[test]
    fn affinity_grows_towards_the_reset() {
        let mut bench = Bench::named("a/1/m");
        bench.facts("a/1/m", |facts| facts.resets_at[1] = Some(UnixMs(2 * 86_400_000)));
        bench.with(|cx, candidates| {
            let value = affinity(candidates.columns(), 0, Window::Weekly, cx.now.wall);
            assert!((value - 0.714_286).abs() < 1e-5);
            assert!(
                (affinity(candidates.columns(), 0, Window::Monthly, cx.now.wall) - 0.5).abs() < f32::EPSILON
            );
        });
    }
}
