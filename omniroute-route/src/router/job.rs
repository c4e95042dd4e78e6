//! One list of one request: who is admitted, who is tried, who answers.

use std::sync::Arc;
use std::time::Duration;

use http::HeaderMap;
use omniroute_core::route::{DropReason, Plan, RequestFacts, RouteOptions, SessionFacts};
use omniroute_core::wire::Wire;
use omniroute_core::{ChatRequest, Failure, FailureKind, Moment, Mono, Phase, Scope, SessionId};
use omniroute_resilience::{AdmitContext, AllUnhealthy, Budget, Handle, LeaseClaim};

use super::Inner;
use super::attempt::Answer;
use super::chat::Turn;
use super::relay::Relaying;
use super::slot::{Slot, reason};
use crate::attempts::{Allowance, Attempts, Ending, Next, PickId, Spot};
use crate::explain::ToldDrop;
use crate::planner::Ask;
use crate::receipt::{Receipt, Role};

/// A request on its way.
#[derive(Debug)]
pub(super) struct Job {
    pub(super) inner: Arc<Inner>,
    pub(super) slot: Arc<Slot>,
    pub(super) receipt: Receipt,
    pub(super) request: Arc<str>,
    pub(super) facts: RequestFacts,
    pub(super) options: RouteOptions,
    pub(super) session: Option<SessionId>,
    pub(super) lease: Option<LeaseClaim>,
    /// The wire of the client.
    pub(super) client: Wire,
    pub(super) tool_tail: bool,
    pub(super) headers: HeaderMap,
    /// Ids that have to be made up come from it.
    pub(super) ids: u64,
    pub(super) began: Moment,
    pub(super) deadline: Option<Mono>,
    /// The candidate that is tried to learn about it.
    pub(super) explored: Option<u32>,
    /// How its session is handed over; none: it is not.
    pub(super) relay: Option<Relaying>,
    pub(super) session_facts: Option<SessionFacts>,
    /// The plan does not list everybody.
    pub(super) more: bool,
}

/// What one list is for.
#[derive(Debug)]
pub(super) struct Errand {
    pub(super) role: Role,
    pub(super) budget: Budget,
    /// A first target that rests for a moment is waited for.
    pub(super) patient: bool,
    /// What was said is wanted as text.
    pub(super) text: bool,
}

impl Job {
    /// Tries candidates in this order until one answers.
    ///
    /// # Errors
    /// How it ended if nobody did.
    pub(super) async fn run(
        &self,
        request: &ChatRequest,
        picks: &[u32],
        errand: &Errand,
    ) -> Result<Answer, Box<Ending>> {
        let mode = self.slot.execution.error_mode;
        let (spots, mut handles, mut candidates) = self.spots(picks, &[]);
        let mut attempts = Attempts::new(spots, self.allowance(errand));
        let clock = &self.inner.env.clock;
        // A list that was cut goes on where it ends as soon as somebody on it does not answer.
        let mut more = self.more && errand.role == Role::Answer;
        let mut go_on = |attempts: &mut Attempts, handles: &mut Vec<Handle>, candidates: &mut Vec<u32>| {
            if std::mem::take(&mut more) {
                let (spots, more_handles, more_candidates) = self.spots(&self.rest(), candidates);
                attempts.extend(spots);
                handles.extend(more_handles);
                candidates.extend(more_candidates);
                return true;
            }
            false
        };
        let mut harder: Option<(PickId, ChatRequest)> = None;
        let mut squeezed = false;
        loop {
            let ids = match attempts.next(clock.now().mono) {
                Next::Stop => return Err(Box::new(attempts.ending(mode))),
                Next::WaitUntil(at) => {
                    let before = clock.now().mono;
                    clock.sleep_until(self.deadline.map_or(at, |end| end.min(at))).await;
                    self.waited(clock.now().mono.since(before));
                    continue;
                }
                Next::Try(ids) => ids,
            };
            let asked: Vec<Handle> = ids.iter().map(|id| handles[*id]).collect();
            let cx = self.admit_context(errand);
            let admitted = if self.more && attempts.made() == 0 {
                match self.inner.resilience.admit(&asked, &cx).await {
                    // Nobody is waited for while there are others.
                    Err(_) if go_on(&mut attempts, &mut handles, &mut candidates) => continue,
                    Err(_) => self.inner.resilience.admit_or_wait(&asked, &cx).await,
                    Ok(permit) => Ok(permit),
                }
            } else {
                self.inner.resilience.admit_or_wait(&asked, &cx).await
            };
            let permit = match admitted {
                Ok(permit) => permit,
                Err(denial) => {
                    for refusal in &denial.refusals {
                        if let Some(id) = ids.get(refusal.position) {
                            self.skip(candidates[*id], reason(refusal.reason));
                        }
                    }
                    attempts.denied(denial);
                    continue;
                }
            };
            let position = permit.grant().position.min(ids.len() - 1);
            self.passed(&ids[..position], &handles, &candidates);
            let id: PickId = ids[position];
            attempts.admitted(id);
            let strict = !attempts
                .failures()
                .iter()
                .any(|failed| failed.failure.code.as_deref() == Some("bad_tool_arguments"));
            let body = harder.as_ref().filter(|(whose, _)| *whose == id).map_or(request, |(_, body)| body);
            let tried = Box::pin(self.attempt(body, permit, candidates[id], errand, strict)).await;
            match tried {
                Ok(answer) => {
                    attempts.answered();
                    return Ok(answer);
                }
                Err(failure) => {
                    let profile = self.slot.execution.overflow_profile.as_deref();
                    if let Some(profile) = profile.filter(|_| {
                        !squeezed && attempts.made() < self.slot.execution.max_attempts && too_long(&failure)
                    }) {
                        squeezed = true;
                        let body = self.inner.squeezed(request, profile, self.began, &self.receipt).await;
                        if let Some(body) = body {
                            harder = Some((id, body));
                            attempts.corrected(failure);
                            continue;
                        }
                    }
                    attempts.failed(failure, clock.now().mono);
                    go_on(&mut attempts, &mut handles, &mut candidates);
                    let untried = |id| attempts.failures().iter().all(|failed| failed.id != id);
                    for (other, candidate) in candidates.iter().enumerate() {
                        if let Some(reason) = attempts.gone(other).filter(|_| untried(other)) {
                            self.skip(*candidate, reason);
                        }
                    }
                }
            }
        }
    }

    /// The candidates that can be tried at all, with what admission and the machine need of each.
    fn spots(&self, picks: &[u32], listed: &[u32]) -> (Vec<Spot>, Vec<Handle>, Vec<u32>) {
        let (mut spots, mut handles, mut candidates) = (Vec::new(), Vec::new(), Vec::new());
        let mut known = vec![false; self.slot.pool.len()];
        listed.iter().for_each(|candidate| known[*candidate as usize] = true);
        for candidate in picks {
            let index = *candidate as usize;
            let Some(entry) = self.slot.pool.entries().get(index) else {
                self.receipt.note("strategy_error");
                continue;
            };
            if std::mem::replace(&mut known[index], true) {
                continue;
            }
            let Some(handle) = self.slot.handles[index] else {
                self.skip(*candidate, DropReason::NoCredential);
                continue;
            };
            let window = self.inner.windows.of(&entry.target, entry.model.context_window, self.began.wall);
            spots.push(Spot { target: entry.target.clone(), window });
            handles.push(handle);
            candidates.push(*candidate);
        }
        (spots, handles, candidates)
    }

    /// Everybody who may be used now, in order.
    fn rest(&self) -> Vec<u32> {
        let mut options = self.options.clone();
        options.depth = usize::MAX;
        options.explore = false;
        let now = self.inner.env.clock.now();
        let session = self.session_facts.as_ref();
        let ask = Ask { request: &self.facts, session, options: &options, now, seed: self.ids };
        match self.inner.plan(&self.slot, ask, Turn::Rest).map(|decided| decided.decision.plan) {
            Ok(Plan::Sequence(sequence)) => sequence.picks.iter().map(|pick| pick.candidate).collect(),
            _ => Vec::new(),
        }
    }

    fn allowance(&self, errand: &Errand) -> Allowance {
        let execution = &self.slot.execution;
        let retry = &self.inner.resilience.config().retry;
        Allowance {
            attempts: execution.max_attempts,
            per_provider: retry.per_provider,
            per_target: retry.per_target,
            same_target: execution.same_target_retries,
            passes: execution.set_retries,
            delay: execution.fallback_delay,
            deadline: self.deadline,
            patient: errand.patient,
            filtered_next: execution.filtered_next,
        }
    }

    fn admit_context(&self, errand: &Errand) -> AdmitContext {
        let mut cx = AdmitContext::new(self.facts.consumer.clone());
        cx.session = self.session.clone();
        cx.lease = self.lease;
        cx.deadline = self.deadline;
        cx.estimate = self.facts.input_tokens.saturating_add(self.facts.output_tokens());
        cx.budget = Some(errand.budget.clone());
        if self.options.try_anyway {
            cx.all_unhealthy = AllUnhealthy::TryAnyway;
        }
        cx
    }

    /// Those before the one that was let through could not be used.
    fn passed(&self, ids: &[PickId], handles: &[Handle], candidates: &[u32]) {
        for id in ids {
            let blocked = self.inner.resilience.look(handles[*id]).blocked;
            self.skip(candidates[*id], blocked.map_or(DropReason::AtCapacity, reason));
        }
    }

    pub(super) fn skip(&self, candidate: u32, reason: DropReason) {
        let key = self.slot.pool.key(candidate as usize).clone();
        self.receipt.skip(ToldDrop { key, reason });
    }

    fn waited(&self, waited: Duration) {
        let ms = u64::try_from(waited.as_millis()).unwrap_or(u64::MAX);
        self.receipt.with(|receipt| receipt.waited_ms = receipt.waited_ms.saturating_add(ms));
    }

    /// When an attempt that begins now has to be there, and whether that is the end of the request.
    pub(super) fn limit(&self, now: Mono) -> (Mono, bool) {
        let own = now.after(self.slot.execution.target_timeout);
        match self.deadline {
            Some(end) if end <= own => (end, true),
            _ => (own, false),
        }
    }

    /// An attempt that was not there in time. If the request had less time than an attempt may take, nobody is blamed.
    pub(super) fn late(&self, request_over: bool) -> Failure {
        if request_over {
            return Failure::local(FailureKind::Timeout, "deadline_exceeded", "the request's time is up");
        }
        let seconds = self.slot.execution.target_timeout.as_secs();
        let message = format!("no answer within {seconds} s");
        let mut failure = Failure::new(FailureKind::Timeout, Scope::Provider, message);
        failure.phase = Phase::Headers;
        failure.rule = "router.target_timeout".into();
        failure
    }
}

/// Whether a shorter request may do.
fn too_long(failure: &Failure) -> bool {
    matches!(failure.kind, FailureKind::ContextTooLong | FailureKind::TooLarge)
}
