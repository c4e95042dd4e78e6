//! Hands a session over: has a summary written while its account still answers, and tells the account that comes next.

use std::sync::Arc;
use std::time::Duration;

use futures::future::{BoxFuture, Either, FutureExt, select};
use memchr::memmem;
use omniroute_core::route::{Plan, RouteError, RouteOptions};
use omniroute_core::{ChatRequest, Moment, Mono, Principal, Target};
use omniroute_resilience::{Budget, LeaseClaim};

use super::Inner;
use super::attempt::{Answer, AnswerBody, within};
use super::chat::Turn;
use super::handover::{Account, History, Note, marker, note, question, question_there, told};
use super::job::{Errand, Job};
use super::look::look;
use super::slot::Slot;
use super::stream::Side;
use crate::attempts::Ending;
use crate::combo::Handover;
use crate::planner::Ask;
use crate::receipt::{Receipt, Role};

/// Time for a summary.
const TIME: Duration = Duration::from_secs(30);
/// How long an answer that is complete waits for the summary.
pub(super) const PATIENCE: Duration = Duration::from_secs(10);
/// Who writes summaries if nobody is named.
const CHEAP: &str = "auto/cheap";
/// A summary whose window tells no end is good for five hours.
const HOURS: i64 = 5 * 3_600_000;

/// How one request is handed over.
#[derive(Debug, Clone)]
pub(super) struct Relaying {
    pub(super) settings: Handover,
    pub(super) history: History,
    /// Who answered the session last.
    pub(super) last: Option<Account>,
}

impl Relaying {
    fn needed(&self) -> bool {
        self.settings.always || self.history != History::Whole
    }
}

pub(super) fn account(target: &Target) -> Account {
    (target.provider.clone(), target.connection.clone())
}

/// The request for which something else is asked.
#[derive(Debug)]
pub(super) struct Origin {
    pub(super) inner: Arc<Inner>,
    pub(super) receipt: Receipt,
    pub(super) request: Arc<str>,
    pub(super) consumer: Principal,
    pub(super) lease: Option<LeaseClaim>,
    pub(super) ids: u64,
    pub(super) began: Moment,
    pub(super) deadline: Option<Mono>,
}

impl Origin {
    /// A request beside this one, in the same receipt, in the same time and at the same consumer's cost.
    pub(super) fn aside(&self, asked: &ChatRequest, slot: Arc<Slot>, what: &str) -> Option<Job> {
        let mut facts = look(asked).ok()?.facts;
        facts.consumer = self.consumer.clone();
        let mut options = RouteOptions::default();
        options.explore = false;
        Some(Job {
            inner: Arc::clone(&self.inner),
            slot,
            receipt: self.receipt.clone(),
            request: format!("{}-{what}", self.request).into(),
            facts,
            options,
            lease: self.lease,
            session: None,
            client: asked.wire(),
            tool_tail: false,
            headers: http::HeaderMap::new(),
            ids: self.ids ^ 1,
            began: self.began,
            deadline: self.deadline,
            explored: None,
            relay: None,
            session_facts: None,
            more: false,
        })
    }
}

impl Job {
    /// The request as this target has to see it; none: as it is.
    pub(super) fn handed(&self, request: &ChatRequest, target: &Target, role: Role) -> Option<ChatRequest> {
        let relay = self.relay.as_ref().filter(|_| role == Role::Answer)?;
        let session = self.session.as_ref()?;
        let account = account(target);
        let moved = relay.last.as_ref().is_some_and(|last| *last != account);
        if !relay.needed() {
            if moved {
                self.receipt.note("history_is_whole");
            }
            return None;
        }
        let kept = relay.history == History::Kept;
        if kept && !moved {
            // It was told when it took over, and keeps what it was told.
            return None;
        }
        let now = self.inner.env.clock.now().wall;
        let changed = match self.inner.memory.note_for(&self.facts.consumer, session, &account, now) {
            None if !moved => return None,
            None => None,
            Some(_) if memmem::find(request.doc().bytes(), marker(session).as_bytes()).is_some() => {
                return None;
            }
            Some(text) => told(request, &text, kept),
        };
        self.receipt.note(if changed.is_some() { "handed_over" } else { "no_handover" });
        changed
    }

    /// The writing of a summary about the session of this request, whose account is nearly used up.
    pub(super) fn prepare(&self, request: &ChatRequest, first: u32) -> Option<BoxFuture<'static, ()>> {
        let relay = self.relay.as_ref()?;
        if !relay.needed() {
            self.receipt.note("history_is_whole");
            return None;
        }
        let session = self.session.clone()?;
        let consumer = self.facts.consumer.clone();
        let from = account(&self.slot.pool.entries().get(first as usize)?.target);
        let now = self.inner.env.clock.now();
        if !self.inner.memory.begins_summary(&consumer, &session, now.wall) {
            return None;
        }
        let there = relay.history == History::Kept;
        let asked = if there {
            question_there(request)
        } else {
            let before = self.inner.memory.note_for(&consumer, &session, &from, now.wall);
            question(request, relay.settings.messages, before.as_deref())
        };
        let Some((asked, covered)) = asked else {
            self.receipt.note("no_summary");
            return None;
        };
        let until = self.inner.quotas.session_resets(&from).filter(|at| at.0 > now.wall.0);
        let until = until.unwrap_or(omniroute_core::UnixMs(now.wall.0.saturating_add(HOURS)));
        let end = self.deadline.map_or(now.mono.after(TIME), |end| end.min(now.mono.after(TIME)));
        let inner = Arc::clone(&self.inner);
        let receipt = self.receipt.clone();
        let writer = if there {
            self.origin().aside(&asked, self.slot.clone(), "summary").map(|job| (job, vec![first]))
        } else {
            let name = relay.settings.model.clone().unwrap_or_else(|| CHEAP.into());
            inner.slot(&name).ok().and_then(|slot| {
                let job = self.origin().aside(&asked, slot, "summary")?;
                let picks = job.picks(now).ok()?;
                Some((job, picks))
            })
        };
        let Some((job, picks)) = writer else {
            self.receipt.note("no_summary");
            return None;
        };
        let write = async move {
            let errand = Errand { role: Role::Summary, budget: Budget::new(), patient: false, text: true };
            let clock = Arc::clone(&inner.env.clock);
            let answer = within(&*clock, end, job.run(&asked, &picks, &errand)).await;
            let text = match answer {
                Some(Ok(Answer { body: AnswerBody::Whole(_, said), .. })) => note(&said, &session, covered),
                _ => None,
            };
            match text {
                Some(text) => {
                    let note = Note { from, text: text.into(), until, told: None };
                    inner.memory.keep_note(&consumer, &session, note);
                    receipt.note("summary_ready");
                }
                None => receipt.note("no_summary"),
            }
        };
        Some(write.boxed())
    }

    fn origin(&self) -> Origin {
        Origin {
            inner: Arc::clone(&self.inner),
            receipt: self.receipt.clone(),
            request: self.request.clone(),
            consumer: self.facts.consumer.clone(),
            lease: self.lease,
            ids: self.ids,
            began: self.began,
            deadline: self.deadline,
        }
    }

    /// Who may do it, in order.
    pub(super) fn picks(&self, now: Moment) -> Result<Vec<u32>, RouteError> {
        let ask = Ask { request: &self.facts, session: None, options: &self.options, now, seed: self.ids };
        let decision = self.inner.plan(&self.slot, ask, Turn::Real)?.decision;
        Ok(match decision.plan {
            Plan::Sequence(sequence) => sequence.picks.iter().map(|pick| pick.candidate).collect(),
            _ => Vec::new(),
        })
    }

    /// Does both; the answer waits a little for the other at most, a stream takes it along.
    pub(super) async fn beside(
        &self,
        answer: impl Future<Output = Result<Answer, Box<Ending>>>,
        side: BoxFuture<'static, ()>,
    ) -> Result<Answer, Box<Ending>> {
        let (mut done, side) = match select(Box::pin(answer), side).await {
            Either::Left((done, side)) => (done, side),
            Either::Right(((), answer)) => return answer.await,
        };
        match &mut done {
            Ok(Answer { body: AnswerBody::Stream(stream), .. }) => {
                let clock = Arc::clone(&self.inner.env.clock);
                stream.beside(Side { work: side, clock, receipt: self.receipt.clone(), patience: None });
            }
            Ok(_) => {
                let clock = &self.inner.env.clock;
                if within(&**clock, clock.now().mono.after(PATIENCE), side).await.is_none() {
                    self.receipt.note("no_summary");
                }
            }
            Err(_) => {}
        }
        done
    }
}

impl Inner {
    /// How much of its conversation a request holds; it takes a turn.
    pub(super) fn history(&self, request: &ChatRequest) -> History {
        let Some((kept, start)) = super::handover::survey(request) else { return History::Whole };
        let Some(session) = request.session() else { return History::Whole };
        if kept {
            History::Kept
        } else if self.memory.begins_as_before(request.principal(), session, start) {
            History::Whole
        } else {
            History::Cut
        }
    }
}
