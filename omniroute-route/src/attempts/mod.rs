//! Which target is tried next: a machine without clock, network or randomness. It is told what happened and says what
//! to do.

mod answer;
mod rule;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::time::Duration;

use omniroute_core::route::DropReason;
use omniroute_core::{Failure, Mono, ProviderId, Target};
use omniroute_resilience::Denial;

pub use answer::{Ending, ErrorMode, Hint, status};
pub use rule::{Consequence, Leaves, Onward, consequence};

/// A place in the list of a request.
pub type PickId = usize;

/// Below this no new attempt starts.
const TOO_LATE: Duration = Duration::from_secs(1);
/// Before the whole list is tried anew.
const BETWEEN_PASSES: Duration = Duration::from_secs(2);

/// One that may be tried.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Spot {
    /// Where it goes.
    pub target: Target,
    /// Its window in tokens, if known.
    pub window: Option<u64>,
}

/// How much one request may cost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Allowance {
    /// Attempts at most. Default: 8.
    pub attempts: u32,
    /// Attempts at one provider. Default: 4.
    pub per_provider: u32,
    /// Attempts at one target. Default: 2.
    pub per_target: u32,
    /// More attempts at a target right after one that failed, where its failure allows that. Default: 1.
    pub same_target: u32,
    /// Further passes over the list. Default: 0.
    pub passes: u32,
    /// Time between two targets. Default: none.
    pub delay: Duration,
    /// When the request ends; none: never.
    pub deadline: Option<Mono>,
    /// A first target that rests for a moment is waited for before others are tried.
    pub patient: bool,
    /// A refusal of a content filter lets the next target try.
    pub filtered_next: bool,
}

impl Default for Allowance {
    fn default() -> Self {
        Allowance {
            attempts: 8,
            per_provider: 4,
            per_target: 2,
            same_target: 1,
            passes: 0,
            delay: Duration::ZERO,
            deadline: None,
            patient: false,
            filtered_next: false,
        }
    }
}

/// What to do next.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Next {
    /// Ask whether one of these may be used, in this order, and try the first that may.
    Try(Vec<PickId>),
    /// Ask again at this time.
    WaitUntil(Mono),
    /// It is over; [`Attempts::ending`] says how.
    Stop,
}

/// One attempt that failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failed {
    /// Whose.
    pub id: PickId,
    /// How.
    pub failure: Failure,
}

/// The attempts of one request.
///
/// # Behavior
/// - Never more attempts than allowed: in all, at one provider, at one target.
/// - A target that left the list is not tried again; [`Allowance::passes`] bring back those that time may have helped.
/// - After an overflow only windows that are strictly larger, and known.
/// - Providers that were not tried at all come first for the last half of the attempts, if there are as many of them.
/// - Ends, whatever is reported.
#[derive(Debug, Clone)]
pub struct Attempts {
    spots: Vec<Spot>,
    gone: Vec<Option<Gone>>,
    allowance: Allowance,
    made: u32,
    by_target: Vec<u32>,
    by_provider: BTreeMap<ProviderId, u32>,
    again: Option<(PickId, u32)>,
    running: Option<PickId>,
    wait: Option<Mono>,
    patient: bool,
    failed: Vec<Failed>,
    over: Option<Over>,
    denied: Option<Denial>,
}

/// Why it is over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Over {
    Answered,
    Stopped,
    Tried,
    Deadline,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Gone {
    passes: bool,
    window: bool,
}

impl Attempts {
    /// For a list, in the order of the plan.
    pub fn new(spots: Vec<Spot>, allowance: Allowance) -> Self {
        Attempts {
            gone: vec![None; spots.len()],
            by_target: vec![0; spots.len()],
            by_provider: BTreeMap::new(),
            spots,
            allowance,
            made: 0,
            again: None,
            running: None,
            wait: None,
            patient: allowance.patient,
            failed: Vec::new(),
            over: None,
            denied: None,
        }
    }

    /// What to do.
    pub fn next(&mut self, now: Mono) -> Next {
        if self.over.is_some() {
            return Next::Stop;
        }
        if self.allowance.deadline.is_some_and(|end| end.since(now) < TOO_LATE) {
            return self.end(Over::Deadline);
        }
        if let Some(until) = self.wait {
            if until > now {
                return Next::WaitUntil(until);
            }
            self.wait = None;
        }
        let mut open: Vec<PickId> = (0..self.spots.len()).filter(|id| self.open(*id)).collect();
        if let Some((id, _)) = self.again.filter(|(id, _)| open.contains(id)) {
            open.retain(|other| *other != id);
            open.insert(0, id);
        }
        self.keep_for_others(&mut open);
        if open.is_empty() || self.made >= self.allowance.attempts {
            if self.made < self.allowance.attempts && self.another_pass(now) {
                return self.wait.map_or(Next::Stop, Next::WaitUntil);
            }
            return self.end(Over::Tried);
        }
        if self.patient {
            open.truncate(1);
        }
        Next::Try(open)
    }

    /// One of them was let through: an attempt begins.
    pub fn admitted(&mut self, id: PickId) {
        let Some(spot) = self.spots.get(id) else { return };
        self.made += 1;
        self.by_target[id] += 1;
        *self.by_provider.entry(spot.target.provider.clone()).or_default() += 1;
        self.running = Some(id);
        self.patient = false;
        if self.again.is_some_and(|(again, _)| again != id) {
            self.again = None;
        }
    }

    /// None of those that were to be tried may be used now.
    pub fn denied(&mut self, denial: Denial) {
        if self.patient {
            // The first one is not worth the wait; the others may do.
            self.patient = false;
        } else {
            self.end(Over::Tried);
        }
        self.denied = Some(denial);
    }

    /// The attempt that runs has failed.
    pub fn failed(&mut self, failure: Failure, now: Mono) {
        let Some(id) = self.running.take() else { return };
        let rule = consequence(&failure, self.allowance.filtered_next);
        let before = self.again.take().filter(|(again, _)| *again == id).map_or(0, |(_, count)| count);
        let retries = if rule.again { before } else { u32::MAX };
        if retries < self.allowance.same_target && self.by_target[id] < self.allowance.per_target {
            self.again = Some((id, before + 1));
        } else {
            self.leave(id, &rule, &failure);
        }
        self.failed.push(Failed { id, failure });
        match rule.onward {
            Onward::Stop => {
                self.end(Over::Stopped);
            }
            Onward::TwoProviders if self.refused_by() >= 2 => {
                self.end(Over::Stopped);
            }
            _ if !self.allowance.delay.is_zero() => self.wait = Some(now.after(self.allowance.delay)),
            _ => {}
        }
    }

    /// The attempt that runs has failed, and what the target will be sent has changed since: it may be tried once more.
    pub fn corrected(&mut self, failure: Failure) {
        let Some(id) = self.running.take() else { return };
        if self.by_target[id] < self.allowance.per_target {
            self.again = Some((id, u32::MAX));
        } else {
            let rule = consequence(&failure, self.allowance.filtered_next);
            self.leave(id, &rule, &failure);
        }
        self.failed.push(Failed { id, failure });
    }

    /// The attempt that runs has answered. Nothing else is tried.
    pub fn answered(&mut self) {
        self.running = None;
        self.end(Over::Answered);
    }

    /// Further places behind those of the list. What has failed so far holds for them, too.
    pub fn extend(&mut self, more: Vec<Spot>) {
        let from = self.spots.len();
        self.spots.extend(more);
        self.gone.resize(self.spots.len(), None);
        self.by_target.resize(self.spots.len(), 0);
        for failed in self.failed.clone() {
            if self.gone[failed.id].is_some() {
                let rule = consequence(&failed.failure, self.allowance.filtered_next);
                self.leave_from(from, failed.id, &rule, &failed.failure);
            }
        }
    }

    /// Attempts so far.
    pub fn made(&self) -> u32 {
        self.made
    }

    /// What failed so far, in order.
    pub fn failures(&self) -> &[Failed] {
        &self.failed
    }

    /// Why a place will not be tried any more; none: it may be.
    pub fn gone(&self, id: PickId) -> Option<DropReason> {
        let gone = (*self.gone.get(id)?)?;
        Some(if gone.window { DropReason::Context } else { DropReason::RequestExhausted })
    }

    /// How it ended, for the caller.
    pub fn ending(&self, mode: ErrorMode) -> Ending {
        let deadline = self.over == Some(Over::Deadline);
        let stopped = self.over == Some(Over::Stopped);
        let overflow = !stopped && self.gone.iter().all(Option::is_some) && !self.spots.is_empty();
        Ending::of(
            &self.spots,
            &self.failed,
            self.denied.as_ref(),
            mode,
            answer::How { deadline, stopped, overflow },
        )
    }

    fn end(&mut self, over: Over) -> Next {
        self.over = Some(over);
        Next::Stop
    }

    fn open(&self, id: PickId) -> bool {
        let provider = self.by_provider.get(&self.spots[id].target.provider).copied().unwrap_or(0);
        self.gone[id].is_none()
            && self.by_target[id] < self.allowance.per_target
            && provider < self.allowance.per_provider
    }

    /// The last attempts are for providers that were not tried at all: many targets of one that is down must not use up
    /// what the others could have answered. At most half of the attempts are kept so.
    fn keep_for_others(&self, open: &mut Vec<PickId>) {
        let left = self.allowance.attempts.saturating_sub(self.made) as usize;
        if self.made == 0 || left > self.allowance.attempts as usize / 2 {
            return;
        }
        let mut untried: Vec<&ProviderId> = Vec::new();
        for id in open.iter() {
            let provider = &self.spots[*id].target.provider;
            if !self.by_provider.contains_key(provider) && !untried.contains(&provider) {
                untried.push(provider);
                if untried.len() >= left {
                    open.retain(|id| !self.by_provider.contains_key(&self.spots[*id].target.provider));
                    return;
                }
            }
        }
    }

    fn leave(&mut self, id: PickId, rule: &Consequence, failure: &Failure) {
        self.leave_from(0, id, rule, failure);
    }

    /// The same for the places from one on.
    fn leave_from(&mut self, from: PickId, id: PickId, rule: &Consequence, failure: &Failure) {
        let failed = self.spots[id].clone();
        let smallest = self.smallest(&failed, failure);
        for (other, spot) in self.spots.iter().enumerate().skip(from) {
            let (a, b) = (&spot.target, &failed.target);
            let leaves = other == id
                || match rule.leaves {
                    Leaves::Target => a == b,
                    Leaves::Connection => a.provider == b.provider && a.connection == b.connection,
                    Leaves::Offering => a.provider == b.provider && a.model == b.model,
                    Leaves::Provider => a.provider == b.provider,
                    // Nobody knows whether an unknown window is larger.
                    Leaves::Smaller => match (spot.window, smallest) {
                        (Some(window), Some(smallest)) => window < smallest,
                        (None, _) | (_, None) => a.model == b.model || spot.window.is_none(),
                    },
                };
            if leaves && self.gone[other].is_none() {
                self.gone[other] = Some(Gone { passes: rule.passes, window: rule.leaves == Leaves::Smaller });
            }
        }
    }

    /// The smallest window that may still do after an overflow.
    fn smallest(&self, failed: &Spot, failure: &Failure) -> Option<u64> {
        let larger = failed.window.or(failure.limits.max).map(|window| window.saturating_add(1));
        match (larger, failure.limits.asked) {
            (Some(larger), Some(asked)) => Some(larger.max(asked)),
            (larger, asked) => larger.or(asked),
        }
    }

    /// Providers that refused the request with words nobody knows.
    fn refused_by(&self) -> usize {
        let mut seen: Vec<&ProviderId> = Vec::new();
        for failed in &self.failed {
            let rule = consequence(&failed.failure, self.allowance.filtered_next);
            let provider = &self.spots[failed.id].target.provider;
            if rule.onward == Onward::TwoProviders && !seen.contains(&provider) {
                seen.push(provider);
            }
        }
        seen.len()
    }

    fn another_pass(&mut self, now: Mono) -> bool {
        if self.allowance.passes == 0 || !self.gone.iter().flatten().any(|gone| gone.passes) {
            return false;
        }
        self.allowance.passes -= 1;
        for gone in &mut self.gone {
            if gone.is_some_and(|gone| gone.passes) {
                *gone = None;
            }
        }
        self.again = None;
        let any = (0..self.spots.len()).any(|id| self.open(id));
        if any {
            self.wait = Some(now.after(BETWEEN_PASSES));
        }
        any
    }
}
