//! A target that stays first until it has served a few requests in a row.

use std::sync::{Mutex, PoisonError};

use omniroute_core::route::Candidates;
use omniroute_core::{Outcome, Purpose, Target};

/// The last target that served, and how many times in a row.
#[derive(Debug, Default)]
pub(crate) struct Sticky {
    wanted: u32,
    last: Mutex<Option<(Target, u32)>>,
}

/// What the last target means for the next request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stay {
    /// Nothing.
    Free,
    /// It has not served often enough: this position again.
    Here(usize),
    /// It has: the position after it.
    After(usize),
}

impl Sticky {
    /// Stays for `wanted` successes; 1 never stays.
    pub(crate) fn new(wanted: u32) -> Self {
        Sticky { wanted, last: Mutex::new(None) }
    }

    /// Successes in a row that make it move on.
    pub(crate) fn wanted(&self) -> u32 {
        self.wanted
    }

    /// Where to go on.
    pub(crate) fn stay(&self, candidates: &Candidates<'_>) -> Stay {
        if self.wanted <= 1 {
            return Stay::Free;
        }
        let last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        let Some((target, served)) = last.as_ref() else { return Stay::Free };
        let entries = candidates.pool().entries();
        let at = candidates.indices().iter().position(|index| entries[*index as usize].target == *target);
        match at {
            None => Stay::Free,
            Some(at) if *served < self.wanted => Stay::Here(at),
            Some(at) => Stay::After(at),
        }
    }

    /// Counts a success, forgets at a failure.
    pub(crate) fn observe(&self, outcome: &Outcome) {
        if self.wanted <= 1 || outcome.purpose != Purpose::Production {
            return;
        }
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        let served = match last.as_ref() {
            Some((target, served)) if *target == outcome.target => *served,
            _ => 0,
        };
        if outcome.failure.is_some() {
            if served > 0 {
                *last = None;
            }
            return;
        }
        let served = if served >= self.wanted { 1 } else { served + 1 };
        *last = Some((outcome.target.clone(), served));
    }
}
