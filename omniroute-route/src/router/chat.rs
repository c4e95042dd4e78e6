//! One request from its bytes to its answer: what is meant, what is seen, what is planned, what is done.

use std::collections::BTreeMap;
use std::mem;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use futures::channel::oneshot;
use omniroute_core::route::{
    DropReason, Plan, Reason, Relay, RequestFacts, RouteError, RouteErrorKind, RouteOptions, SessionFacts,
};
use omniroute_core::{ChatRequest, Moment};
use omniroute_resilience::Budget;

use super::attempt::{Answer, AnswerBody};
use super::bridge::has_media;
use super::error::ChatError;
use super::job::{Errand, Job};
use super::look::{Seen, look, look_again};
use super::relay::{Origin, Relaying, account};
use super::slot::{Desk, Slot};
use super::{ChatOptions, ChatReply, Inner, ReplyBody, Router};
use crate::attempts::Ending;
use crate::explain::{Explanation, ToldDrop};
use crate::planner::{Ask, Decision};
use crate::receipt::{CompressedBy, PlanSource, Receipt, Role};

/// Candidates that a plan lists, so that a long list can be tried to its end.
const DEPTH: usize = 64;
/// Bodies from this size on are compressed where the host has its heavy work done.
const HEAVY: usize = 64 << 10;

/// A decision, and the error that stands behind it if it was made although everybody rests.
pub(super) struct Decided {
    pub(super) decision: Decision,
    resting: Option<RouteError>,
}

/// What a plan is made for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Turn {
    /// A request takes its turn.
    Real,
    /// Somebody who has had his turn needs more candidates.
    Rest,
}

/// What is known before a plan is made.
pub(super) struct Known {
    pub(super) facts: RequestFacts,
    pub(super) session: Option<SessionFacts>,
    pub(super) tool_tail: bool,
}

impl Known {
    pub(super) fn ask<'a>(&'a self, options: &'a RouteOptions, now: Moment, seed: u64) -> Ask<'a> {
        Ask { request: &self.facts, session: self.session.as_ref(), options, now, seed }
    }

    /// The request has become another one. What it is about has not changed.
    fn changed(&mut self, request: &ChatRequest) -> Result<(), Box<ChatError>> {
        let facts = look_again(request).map_err(|error| ChatError::of_wire(&error))?;
        let RequestFacts { class, tags, connection, .. } = mem::replace(&mut self.facts, facts);
        (self.facts.class, self.facts.tags, self.facts.connection) = (class, tags, connection);
        Ok(())
    }
}

impl Router {
    /// Answers a request, whole or streamed as it says.
    ///
    /// # Behavior
    /// - A stream is given away when its first content is there; until then the next target may answer, from then on
    ///   nobody else.
    /// - At most as many attempts and as much time as the route allows.
    /// - Dropping the future ends the call at the vendor and blames nobody.
    ///
    /// # Errors
    /// One status and one code, with what was tried in the receipt.
    pub async fn chat(&self, request: ChatRequest) -> Result<ChatReply, Box<ChatError>> {
        self.chat_with(request, &ChatOptions::default()).await
    }

    /// [`Router::chat`] for a request that asks for something.
    ///
    /// # Errors
    /// As [`Router::chat`].
    pub async fn chat_with(
        &self,
        request: ChatRequest,
        options: &ChatOptions,
    ) -> Result<ChatReply, Box<ChatError>> {
        Box::pin(self.inner.chat(request, options)).await
    }
}

impl Inner {
    async fn chat(
        self: &Arc<Self>,
        mut request: ChatRequest,
        options: &ChatOptions,
    ) -> Result<ChatReply, Box<ChatError>> {
        let began = self.env.clock.now();
        let number = self.number.fetch_add(1, Relaxed);
        let seed = self.seed ^ number;
        let name = options.request.clone().unwrap_or_else(|| format!("{:x}-{number}", self.seed).into());
        let slot = self.named(&request).map_err(|error| ChatError::of_route(&error))?;
        let receipt = Receipt::new(&name, slot.name.to_string());
        let route = self.route_options(options);
        let client = request.wire();
        let told = |error: Box<ChatError>| error.with(&receipt);
        let mut known = self.known(&request, options, began, true).map_err(told)?;
        self.find_pin(&request, &mut known).await;
        let relay = slot.handover.clone().filter(|_| request.session().is_some()).map(|settings| Relaying {
            settings,
            history: self.history(&request),
            last: known.session.as_ref().and_then(|session| session.last.as_ref()).map(account),
        });
        let deadline = slot.execution.deadline.map(|time| began.mono.after(time));
        if has_media(known.facts.needs) {
            let origin = Origin {
                inner: Arc::clone(self),
                receipt: receipt.clone(),
                request: name.clone(),
                consumer: known.facts.consumer.clone(),
                lease: options.lease,
                ids: seed,
                began,
                deadline,
            };
            let bridged = self.bridged(&request, &slot, known.ask(&route, began, seed), &origin);
            if let Some(described) = Box::pin(bridged).await.map_err(told)? {
                request = described;
                known.changed(&request).map_err(told)?;
            }
        }
        if let Some(compressor) = self.compressor.clone() {
            // A request that nobody can serve, however short, is not worth compressing.
            match self.refused(&slot, known.ask(&route, began, seed)) {
                Some(error) if hopeless(&error) => return Err(told(ChatError::of_route(&error))),
                _ => {}
            }
            let before = request.doc().bytes().clone();
            let profile = match (&options.profile, slot.execution.compression.as_deref()) {
                (Some(name), _) => (Some(name.clone()), PlanSource::Request),
                (None, Some(name)) => (Some(name.to_owned()), PlanSource::Route),
                (None, None) => (None, PlanSource::Default),
            };
            request = self.compress(request, compressor, profile, began, &receipt).await;
            if *request.doc().bytes() != before {
                known.changed(&request).map_err(told)?;
            }
        }
        receipt.with(|receipt| receipt.class = known.facts.class);
        let now = self.env.clock.now();
        let mut decided = self.plan(&slot, known.ask(&route, now, seed), Turn::Real);
        let overflows = |error: &RouteError| error.kind == RouteErrorKind::ContextLengthExceeded;
        if let Some(profile) = slot.execution.overflow_profile.as_deref()
            && decided.as_ref().is_err_and(overflows)
            && let Some(shorter) = self.squeezed(&request, profile, began, &receipt).await
        {
            request = shorter;
            known.changed(&request).map_err(told)?;
            decided = self.plan(&slot, known.ask(&route, self.env.clock.now(), seed), Turn::Real);
        }
        let Decided { decision, resting } = decided.map_err(|error| told(ChatError::of_route(&error)))?;
        if resting.is_some() {
            receipt.note("everybody_rests");
        }
        let explored = decision.plan.first().filter(|pick| pick.why.reason == Reason::Explored);
        let explored = explored.map(|pick| pick.candidate);
        let more = decision.plan.sequence().is_some_and(|sequence| sequence.unlisted > 0);
        let (plan, behind) = (decision.plan.clone(), decision.behind.clone());
        receipt.planned(decision, &slot);
        let job = Job {
            inner: Arc::clone(self),
            receipt: receipt.clone(),
            request: name,
            facts: known.facts,
            options: route,
            session: request.session().cloned(),
            lease: options.lease,
            client,
            tool_tail: known.tool_tail,
            headers: options.headers.clone(),
            ids: seed,
            began,
            deadline,
            explored,
            relay,
            session_facts: known.session,
            more,
            slot,
        };
        let answered = match plan {
            Plan::Sequence(sequence) => {
                let side = match (sequence.relay, sequence.picks.first()) {
                    // A strategy of the host's own asks for what only `context-relay` has settings for.
                    (Some(_), _) if job.relay.is_none() => {
                        receipt.note("no_handover");
                        None
                    }
                    (Some(Relay::Prepare), Some(first)) => job.prepare(&request, first.candidate),
                    _ => None,
                };
                let picks: Vec<u32> = sequence.picks.iter().map(|pick| pick.candidate).collect();
                let errand = Errand {
                    role: Role::Answer,
                    budget: Budget::new(),
                    patient: job.slot.planner.strategy().traits().patient,
                    text: false,
                };
                let answer = job.run(&request, &picks, &errand);
                let answered = match side {
                    Some(side) => job.beside(answer, side).await,
                    None => answer.await,
                };
                answered.map_err(|ending| ended(*ending, resting))
            }
            Plan::Panel { members, judge, quorum, grace, limit } => {
                let panel = super::panel::Panel { members, judge, quorum, grace, limit, behind };
                Box::pin(job.panel(&request, panel)).await
            }
            Plan::Chain(stages) => Box::pin(job.stages(&request, stages)).await,
            _ => Err(ChatError::own(
                500,
                "strategy_error",
                "the strategy made a plan of a kind that nobody carries out".to_owned(),
                crate::attempts::Hint::SwitchCombo,
            )),
        };
        let Answer { target, body } = answered.map_err(told)?;
        receipt.with(|receipt| receipt.answered = Some(target.to_string()));
        let body = match body {
            AnswerBody::Whole(body, _) => ReplyBody::Whole(body),
            AnswerBody::Stream(stream) => ReplyBody::Stream(stream),
        };
        Ok(ChatReply { wire: client, body, receipt })
    }

    pub(super) fn explain(
        &self,
        request: &ChatRequest,
        options: &ChatOptions,
    ) -> Result<Explanation, Box<ChatError>> {
        let now = self.env.clock.now();
        let seed = self.seed ^ self.number.load(Relaxed);
        let slot = self.named(request).map_err(|error| ChatError::of_route(&error))?;
        let mut route = self.route_options(options);
        route.depth = usize::MAX;
        let mut known = self.known(request, options, now, false)?;
        for (_, need) in self.described(&slot, known.ask(&route, now, seed))? {
            known.facts.needs = known.facts.needs.without(need);
        }
        let mut desk = Desk::default();
        slot.fill(&mut desk, &self.resilience, &self.stats, &self.quotas, now);
        self.windows.fill(&slot.pool, &known.facts, now.wall, &mut desk.columns);
        let ask = Ask { request: &known.facts, session: known.session.as_ref(), options: &route, now, seed };
        match slot.planner.explain(ask, &slot.pool, &desk.columns, &mut desk.work) {
            Ok(decision) => Ok(Explanation::whole(&decision, slot.planner.strategy().id(), &slot.pool)),
            Err(error) => {
                let receipt = Receipt::new("", slot.name.to_string());
                let key = |index: u32| slot.pool.key(index as usize).clone();
                let dropped = desk.work.drops().map(|(index, reason)| ToldDrop { key: key(index), reason });
                receipt.with(|receipt| receipt.skipped = dropped.collect());
                Err(ChatError::of_route(&error).with(&receipt))
            }
        }
    }

    fn named(&self, request: &ChatRequest) -> Result<Arc<Slot>, RouteError> {
        let model = request.model();
        let slot = self.slot(&model)?;
        if slot.pool.is_empty() && slot.left_out > 0 {
            let message = format!("{model:?} has no offer; its filter left out {}", slot.left_out);
            return Err(RouteError::new(RouteErrorKind::NoExecutableTargets, message));
        }
        Ok(slot)
    }

    fn route_options(&self, options: &ChatOptions) -> RouteOptions {
        let mut route = options.route.clone().unwrap_or_else(|| self.options.clone());
        route.depth = route.depth.max(DEPTH);
        route
    }

    /// What this process knows of a request. `real`: its conversation takes a turn; else it is only asked about.
    fn known(
        &self,
        request: &ChatRequest,
        options: &ChatOptions,
        now: Moment,
        real: bool,
    ) -> Result<Known, Box<ChatError>> {
        let seen = look(request).map_err(|error| ChatError::of_wire(&error))?;
        let Seen { mut facts, points, tool_tail } = seen;
        facts.tags.clone_from(&options.tags);
        facts.connection.clone_from(&options.connection);
        facts.class = match request.session() {
            Some(session) => self.memory.class(request.principal(), session, &points, real),
            None => points.class(),
        };
        let session = request.session().map(|id| self.session(request, id, now, tool_tail));
        Ok(Known { facts, session, tool_tail })
    }

    fn session(
        &self,
        request: &ChatRequest,
        id: &omniroute_core::SessionId,
        now: Moment,
        tool_tail: bool,
    ) -> SessionFacts {
        let mut facts = SessionFacts::new(id.clone());
        (facts.last, facts.turns, facts.relay_ready) = self.memory.session(request.principal(), id, now.wall);
        facts.pin = facts.last.as_ref().map(|last| (last.provider.clone(), last.connection.clone()));
        facts.tool_result_tail = tool_tail;
        facts
    }

    /// Where other processes have seen the session; without a store it goes on with what this one knows.
    async fn find_pin(&self, request: &ChatRequest, known: &mut Known) {
        let Some(session) = known.session.as_mut().filter(|_| self.pins()) else { return };
        let Some(last) = &session.last else { return };
        let pinned = self.resilience.pin(request.principal(), &last.provider, &session.id).await;
        if let Ok(pin) = pinned {
            session.pin = pin.map(|pin| (last.provider.clone(), pin.connection));
        }
    }

    /// Whether resilience keeps pins; else this process remembers who answered a session last.
    fn pins(&self) -> bool {
        self.resilience.config().affinity.ttl.as_ms() > 0
    }

    /// The plan of compression that a name's route has of its own.
    pub(super) fn compression_of(&self, model: &str) -> Option<Arc<str>> {
        self.slot(model).ok()?.execution.compression.clone()
    }

    pub(super) fn plan(&self, slot: &Slot, ask: Ask<'_>, turn: Turn) -> Result<Decided, RouteError> {
        self.at_desk(slot, ask, |desk| {
            let planner = &slot.planner;
            let once = |desk: &mut Desk| match turn {
                Turn::Real => planner.plan(ask, &slot.pool, &desk.columns, &mut desk.work),
                Turn::Rest => planner.explain(ask, &slot.pool, &desk.columns, &mut desk.work),
            };
            match once(desk) {
                Ok(decision) => Ok(Decided { decision, resting: None }),
                // Everybody rests: whether one is due soon, or is tried as the last, admission says.
                Err(error) if passing(error.kind) && Slot::forgive(&mut desk.columns) => once(desk)
                    .map(|decision| Decided { decision, resting: Some(error.clone()) })
                    .map_err(|_| error),
                Err(error) => Err(error),
            }
        })
    }

    /// Why nobody may be used, if nobody may; who would be is not asked.
    pub(super) fn refused(&self, slot: &Slot, ask: Ask<'_>) -> Option<RouteError> {
        self.at_desk(slot, ask, |desk| {
            slot.planner.check(ask, &slot.pool, &desk.columns, &mut desk.work).err()
        })
    }

    /// Does something where everything about the candidates of a route is written down.
    fn at_desk<T>(&self, slot: &Slot, ask: Ask<'_>, work: impl FnOnce(&mut Desk) -> T) -> T {
        let mut desk = {
            let mut desks = self.desks.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
            desks.pop().unwrap_or_default()
        };
        slot.fill(&mut desk, &self.resilience, &self.stats, &self.quotas, ask.now);
        self.windows.fill(&slot.pool, ask.request, ask.now.wall, &mut desk.columns);
        let done = work(&mut desk);
        self.desks.lock().unwrap_or_else(std::sync::PoisonError::into_inner).push(desk);
        done
    }

    /// A request that is too long, compressed once more by a stronger plan; none: it did not become shorter.
    pub(super) async fn squeezed(
        &self,
        request: &ChatRequest,
        profile: &str,
        now: Moment,
        receipt: &Receipt,
    ) -> Option<ChatRequest> {
        let compressor = self.compressor.clone()?;
        let kept = receipt.with(|receipt| (receipt.compressed, receipt.compression.clone()));
        let profile = (Some(profile.to_owned()), PlanSource::Overflow);
        let shorter = self.compress(request.clone(), compressor, profile, now, receipt).await;
        let shrank = shorter.doc().bytes().len() < request.doc().bytes().len();
        receipt.note(if shrank { "compressed_harder" } else { "no_shorter" });
        if !shrank {
            receipt.with(|receipt| (receipt.compressed, receipt.compression) = kept);
        }
        shrank.then_some(shorter)
    }

    async fn compress(
        &self,
        mut request: ChatRequest,
        compressor: Arc<dyn omniroute_core::Compressor>,
        (profile, source): (Option<String>, PlanSource),
        now: Moment,
        receipt: &Receipt,
    ) -> ChatRequest {
        let (request, told) = if request.doc().bytes().len() < HEAVY {
            let told = compressor.compress(&mut request, profile.as_deref(), now);
            (request, told)
        } else {
            let (send, receive) = oneshot::channel();
            let mut copy = request.clone();
            self.env.offload.run(Box::new(move || {
                let told = compressor.compress(&mut copy, profile.as_deref(), now);
                let _gone = send.send((copy, told));
            }));
            match receive.await {
                Ok(done) => done,
                Err(_) => {
                    receipt.note("not_compressed");
                    return request;
                }
            }
        };
        receipt.with(|receipt| {
            let before = receipt.compressed.map_or(told.tokens_before, |(before, _)| before);
            receipt.compressed = Some((before, told.tokens_after));
            let rules = told.steps.iter().flat_map(|step| {
                step.techniques.iter().map(|(name, count)| (format!("{}/{name}", step.engine), *count))
            });
            // A name that the compressor does not know is no name of a plan that was used.
            let ignored = told.notes.iter().any(|note| note.code == "ignored_unknown");
            receipt.compression = Some(CompressedBy {
                rules: if told.applied { rules.collect() } else { BTreeMap::new() },
                source: if ignored { PlanSource::Default } else { source },
                plan: told.plan,
            });
            if ignored {
                receipt.notes.push("compression_ignored");
            }
        });
        request
    }
}

/// Whether nothing helps: neither time, nor a last attempt, nor fewer tokens.
fn hopeless(error: &RouteError) -> bool {
    let shrinks = |reason| matches!(reason, DropReason::Context | DropReason::Budget);
    !passing(error.kind) && !error.dropped.iter().any(|(reason, _)| shrinks(*reason))
}

/// Whether time or a last attempt may help.
fn passing(kind: RouteErrorKind) -> bool {
    matches!(
        kind,
        RouteErrorKind::AllConnectionsCooling
            | RouteErrorKind::ProviderCircuitOpen
            | RouteErrorKind::LocalCapacity
    )
}

/// An ending without attempts is what the plan said first, with the time that admission knows.
fn ended(ending: Ending, resting: Option<RouteError>) -> Box<ChatError> {
    match resting {
        Some(mut error) if ending.failure.is_none() && ending.code != "combo_timeout" => {
            error.retry_at = ending.retry_at.or(error.retry_at);
            ChatError::of_route(&error)
        }
        _ => ChatError::of_ending(ending),
    }
}
