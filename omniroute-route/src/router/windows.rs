//! Windows that answers named, where they are smaller than what is known of a model. Kept for a day.

use std::sync::{Mutex, MutexGuard, PoisonError};

use omniroute_core::route::{Columns, DropReason, Pool, RequestFacts};
use omniroute_core::{FailureKind, ModelId, Mono, Outcome, ProviderId, Target, UnixMs};

use crate::bounded::Bounded;
use crate::gates::required;

/// Models that are remembered.
const MOST: usize = 10_000;
const A_DAY: i64 = 24 * 3_600_000;
/// Less is no window: the answer spoke of something else.
const LEAST: u64 = 1_000;

/// Windows by model of a provider, and when they were named.
#[derive(Debug)]
pub(super) struct Windows(Mutex<Bounded<(ProviderId, ModelId), (u64, UnixMs)>>);

impl Default for Windows {
    fn default() -> Self {
        Windows(Mutex::new(Bounded::new(MOST)))
    }
}

impl Windows {
    /// Takes notice of how an attempt ended. `known`: what the catalogue says; `input`: tokens that were taken.
    pub(super) fn observe(&self, outcome: &Outcome, known: Option<u64>, input: Option<u64>) {
        let key = || (outcome.target.provider.clone(), outcome.target.model.clone());
        match &outcome.failure {
            Some(failure) if failure.kind == FailureKind::ContextTooLong => {
                let Some(most) = failure.limits.max.filter(|most| *most >= LEAST) else { return };
                let smaller = known.is_none_or(|known| most < known);
                let about_it = failure.limits.asked.is_none_or(|asked| asked > most);
                if smaller && about_it {
                    self.map().insert(key(), (most, outcome.at));
                }
            }
            None => {
                let Some(input) = input.filter(|input| *input >= LEAST) else { return };
                let mut map = self.map();
                if map.is_empty() {
                    return;
                }
                let key = key();
                // It takes more than somebody said.
                if map.get(&key).is_some_and(|(most, _)| input > *most) {
                    map.remove(&key);
                }
            }
            Some(_) => {}
        }
    }

    /// The window of a target, as far as answers named a smaller one.
    pub(super) fn of(&self, target: &Target, known: Option<u64>, now: UnixMs) -> Option<u64> {
        let map = self.map();
        if map.is_empty() {
            return known;
        }
        let learned = map.get(&(target.provider.clone(), target.model.clone()));
        learned.filter(|(_, at)| now.0.saturating_sub(at.0) < A_DAY).map(|(most, _)| *most).or(known)
    }

    /// Those that the request does not fit into are not asked.
    pub(super) fn fill(&self, pool: &Pool, request: &RequestFacts, now: UnixMs, columns: &mut Columns) {
        if self.map().is_empty() {
            return;
        }
        for (index, entry) in pool.entries().iter().enumerate() {
            let Some(most) = self.of(&entry.target, None, now) else { continue };
            if required(request, entry.model.max_output) > most {
                columns.blocked[index] = Some(DropReason::Context);
                columns.blocked_until[index] = Mono(u64::MAX);
            }
        }
    }

    fn map(&self) -> MutexGuard<'_, Bounded<(ProviderId, ModelId), (u64, UnixMs)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
