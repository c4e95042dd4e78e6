//! Notices factors that are the same for everybody: they look as if they decided something.

use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use omniroute_core::route::{Candidates, RouteContext};

use super::factors::{FACTORS, Norms};
use super::weights::{COUNT, Weights};

/// Plans that are looked at.
const PLANS: u32 = 1_000;
/// Candidates of a plan that are looked at.
const SHOWN: usize = 8;

/// Which factors have told candidates apart so far.
#[derive(Debug, Default)]
pub(super) struct Varied {
    plans: AtomicU32,
    mask: AtomicU32,
}

impl Varied {
    /// Looks at a plan, unless enough have been seen.
    pub(super) fn look(&self, cx: &RouteContext<'_>, candidates: &Candidates<'_>, weights: &Weights) {
        let all = (1 << COUNT) - 1;
        if candidates.len() < 2 || self.plans.load(Relaxed) >= PLANS {
            return;
        }
        self.plans.fetch_add(1, Relaxed);
        let mask = self.mask.load(Relaxed);
        if mask == all {
            return;
        }
        let norms = Norms::new(cx, candidates, weights);
        let mut shown = candidates.indices().iter().take(SHOWN);
        let Some(first) = shown.next().map(|index| norms.values(cx, candidates, *index as usize)) else {
            return;
        };
        let mut seen = mask;
        for index in shown {
            let other = norms.values(cx, candidates, *index as usize);
            for (at, (one, other)) in first.iter().zip(other).enumerate() {
                seen |= u32::from((one - other).abs() > f32::EPSILON) << at;
            }
        }
        self.mask.fetch_or(seen, Relaxed);
    }

    /// Factors that have a weight and told nobody apart in all the plans that were looked at.
    pub(super) fn idle(&self, weights: &Weights) -> Vec<&'static str> {
        if self.plans.load(Relaxed) < PLANS {
            return Vec::new();
        }
        let mask = self.mask.load(Relaxed);
        let idle = |at: &usize| weights.values()[*at] > 0.0 && mask >> at & 1 == 0;
        (0..COUNT).filter(idle).map(|at| FACTORS[at].name).collect()
    }
}
