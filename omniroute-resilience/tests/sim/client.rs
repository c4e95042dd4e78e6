//! One client request, from its arrival to its end: a simple router in front, attempts one after the other.

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::Poll;

use futures::FutureExt;
use futures::future::{Either, poll_fn, select};
use omniroute_core::{Failure, FailureKind, Grant, Mono, Permit, Phase, Purpose, Scope, Target};

use omniroute_resilience::{Budget, OwnerHash};

use crate::sim::dice::Dice;
use crate::sim::facts::{Attempt, Blame, Cause, Special, What};
use crate::sim::log::Log;
use crate::sim::plan::{Plan, Routing};
use crate::sim::subject::{Ask, Refusal, Subject, ids};
use crate::sim::time::Time;
use crate::sim::world::{Reply, World};

/// What one client wants. Everything about it is drawn at its arrival, so that the oracle meets the same request.
#[derive(Debug, Clone)]
pub(crate) struct Request {
    pub(crate) number: u64,
    pub(crate) host: usize,
    pub(crate) model: usize,
    pub(crate) consumer: usize,
    pub(crate) session: Option<u64>,
    /// Its prompt is full of sentences that end accounts.
    pub(crate) hostile: bool,
    /// The exclusive lease it runs under.
    pub(crate) lease: Option<(OwnerHash, u64)>,
    /// What an oracle with queues says, where capacity matters.
    pub(crate) possible: Option<bool>,
    pub(crate) purpose: Purpose,
    /// Only this account will do.
    pub(crate) only: Option<usize>,
    /// ms since the start.
    pub(crate) arrives: i64,
    pub(crate) deadline: i64,
    /// The client hangs up then.
    pub(crate) cancels: Option<i64>,
    /// From the send to the first token.
    pub(crate) first_token: i64,
    /// From the first token to the end.
    pub(crate) rest: i64,
    pub(crate) stream: bool,
}

impl Request {
    /// How long a vendor needs until the client has what counts as an answer.
    pub(crate) fn service(&self) -> i64 {
        if self.stream { self.first_token } else { self.first_token + self.rest }
    }
}

/// How requests ended.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Score {
    /// Requests that the oracle can answer and that did not hang up.
    pub(crate) possible: u64,
    /// Of those, answered in time.
    pub(crate) answered: u64,
    pub(crate) attempts: u64,
    pub(crate) failed: u64,
}

/// What clients share.
pub(crate) struct Scene {
    pub(crate) subject: Rc<dyn Subject>,
    pub(crate) world: Arc<Mutex<World>>,
    pub(crate) log: Log,
    pub(crate) time: Time,
    pub(crate) plan: Plan,
    pub(crate) seed: u64,
    pub(crate) dice: RefCell<Dice>,
    pub(crate) turns: RefCell<Vec<usize>>,
    pub(crate) score: RefCell<Score>,
    pub(crate) done: RefCell<Vec<Done>>,
}

/// What is known about a request that is over.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Done {
    pub(crate) arrives: i64,
    pub(crate) possible: bool,
    pub(crate) answered: bool,
    pub(crate) waited: i64,
    pub(crate) consumer: usize,
    pub(crate) session: Option<u64>,
    pub(crate) account: Option<usize>,
}

impl Scene {
    /// How many accounts there are.
    pub(crate) fn accounts(&self) -> usize {
        self.world().accounts.len()
    }

    /// Whether this account alone could serve a request in time.
    pub(crate) fn serves_within(&self, account: usize, request: &Request) -> bool {
        let latest = request.deadline - request.service();
        latest >= request.arrives
            && self.world().some_serves(&[account], request.model, (request.arrives, latest))
    }

    /// The target of an account and a model.
    pub(crate) fn target(&self, account: usize, model: usize) -> Target {
        self.world().target(account, model)
    }

    fn world(&self) -> MutexGuard<'_, World> {
        self.world.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The accounts a router would offer, best first.
    pub(crate) fn order(&self, request: &Request) -> Vec<usize> {
        if let Some(only) = request.only {
            return vec![only];
        }
        let count = self.world().accounts.len();
        let mut order: Vec<usize> = (0..count).collect();
        match self.plan.routing {
            Routing::Priority => {}
            Routing::RoundRobin => {
                let mut turns = self.turns.borrow_mut();
                let turn = &mut turns[request.host];
                order.rotate_left(*turn % count);
                *turn += 1;
            }
            Routing::TwoChoices => {
                let mut dice = self.dice.borrow_mut();
                dice.shuffle(&mut order);
                let world = self.world();
                if let [first, second, ..] = order.as_mut_slice()
                    && world.accounts[*second].running < world.accounts[*first].running
                {
                    std::mem::swap(first, second);
                }
            }
        }
        order.truncate(self.plan.offer);
        order
    }

    /// Serves a request and notes how it went.
    pub(crate) async fn serve(self: Rc<Self>, request: Request) {
        let cancels = request.cancels.unwrap_or(i64::MAX);
        let gives_up = self.time.sleep_until(cancels.min(self.plan.seconds * 10_000));
        let work = self.attempts(&request).boxed_local();
        let outcome = match select(work, gives_up).await {
            Either::Left((outcome, _)) => Some(outcome),
            Either::Right(((), work)) => {
                drop(work);
                None
            }
        };
        let answered = outcome.flatten();
        self.log.note(What::Done { request: request.number, answered: answered.is_some() });
        self.finish(&request, outcome.is_some(), answered);
    }

    fn finish(&self, request: &Request, stayed: bool, account: Option<usize>) {
        let answered = account.is_some();
        let counts = request.purpose == Purpose::Production
            && !request.hostile
            && stayed
            && request.cancels.is_none()
            && request.arrives >= self.plan.measure_from * 1_000;
        let possible = answered || request.possible.unwrap_or_else(|| self.oracle(request));
        if counts && possible {
            let mut score = self.score.borrow_mut();
            score.possible += 1;
            score.answered += u64::from(answered);
        }
        self.done.borrow_mut().push(Done {
            arrives: request.arrives,
            possible: possible && counts,
            answered,
            waited: self.time.ms() - request.arrives,
            consumer: request.consumer,
            session: request.session,
            account,
        });
    }

    /// Whether perfect choice and knowledge of the future would have served the request, capacity aside.
    fn oracle(&self, request: &Request) -> bool {
        let world = self.world();
        let all: Vec<usize> = match request.only {
            Some(only) => vec![only],
            None => (0..world.accounts.len()).collect(),
        };
        let latest = request.deadline - request.service();
        latest >= request.arrives && world.some_serves(&all, request.model, (request.arrives, latest))
    }

    /// The account that answered in time.
    async fn attempts(&self, request: &Request) -> Option<usize> {
        let mut tried: Vec<usize> = Vec::new();
        let mut sent = 0;
        let mut waits = 0;
        let mut moved = false;
        let budget = Budget::new();
        loop {
            let order = self.order(request);
            let fresh: Vec<usize> =
                order.iter().copied().filter(|account| !tried.contains(account)).collect();
            // A lease is on one connection: another one is no way out.
            let offered = if fresh.is_empty() || request.lease.is_some() { order } else { fresh };
            let targets: Vec<Target> = {
                let world = self.world();
                offered.iter().map(|account| world.target(*account, request.model)).collect()
            };
            let ask = Ask {
                targets,
                purpose: request.purpose,
                deadline: Mono(u64::try_from(request.deadline).unwrap_or(0) * 1_000_000),
                consumer: request.consumer,
                session: request.session,
                budget: budget.clone(),
                lease: request.lease,
                tried: tried.clone(),
            };
            let permit = match self.admit(request, &ask).await {
                Some(Ok(permit)) => permit,
                Some(Err(refusal)) => {
                    let Refusal { wait, reason, .. } = refusal;
                    self.log.note(What::Refused {
                        host: request.host,
                        request: request.number,
                        wait,
                        reason,
                    });
                    if !moved && self.subject.moved(request.host, &ask).await {
                        moved = true;
                        continue;
                    }
                    let wait = refusal.wait.filter(|_| waits < self.plan.client_waits)?;
                    waits += 1;
                    // The header is in whole seconds, rounded up; a client that comes back again is more patient.
                    let patience = 2_000 * i64::from(waits).min(8);
                    let wait = ((wait.max(1) + 999) / 1_000 * 1_000).max(patience);
                    if self.time.ms() + wait >= request.deadline {
                        return None;
                    }
                    self.time.sleep(wait).await;
                    continue;
                }
                None => return None,
            };
            sent += 1;
            let target = permit.target().clone();
            let (_, account, _) = ids(&target);
            tried.push(account);
            match self.attempt(request, permit, account).await {
                Ended::Content => {
                    self.subject.answered(request.host, &ask, &target).await;
                    return Some(account);
                }
                // Who only looks, looks once.
                Ended::Failed if request.hostile || request.purpose != Purpose::Production => return None,
                Ended::Failed if sent < 8 && self.time.ms() < request.deadline => {}
                Ended::Failed | Ended::Late => return None,
            }
        }
    }

    async fn admit(&self, request: &Request, ask: &Ask) -> Option<Result<Permit, Refusal>> {
        let admit = self.caused(Cause::Admit, self.subject.admit(request.host, ask)).boxed_local();
        let late = self.time.sleep_until(request.deadline);
        match select(admit, late).await {
            Either::Left((answer, _)) => Some(answer),
            Either::Right(_) => None,
        }
    }

    async fn attempt(&self, request: &Request, permit: Permit, account: usize) -> Ended {
        let (attempt, special) = describe(permit.grant(), self.time.ms());
        self.log.note(What::Granted { attempt, host: request.host, request: request.number, special });
        let mut guard =
            Running { scene: self, host: request.host, attempt, permit: Some(permit), called: false };
        let allowed = {
            let permit = guard.permit.as_ref().expect("the permit is there until it is reported");
            permit.check().await.is_ok()
        };
        if !allowed {
            return Ended::Failed;
        }
        self.log.note(What::Sent { attempt, special });
        let at = self.time.ms();
        let wall = self.time.moment(request.host).wall.0 - at;
        let reply = {
            let mut dice = self.dice.borrow_mut();
            self.world().call(
                (account, request.model),
                (request.hostile, attempt.production),
                at,
                wall,
                &mut dice,
            )
        };
        guard.called = true;
        let teaches = request.purpose == Purpose::Production && !request.hostile;
        self.score.borrow_mut().attempts += u64::from(teaches);
        let (ends, failure) = match reply {
            Reply::Content => (self.world().arrives(account, at, at + request.service()), None),
            Reply::Fails(after, failure) => (at + after, Some(failure)),
            Reply::Nothing => (at + self.plan.readiness, Some(silence())),
        };
        if ends > request.deadline {
            self.time.sleep_until(request.deadline).await;
            let failure =
                Failure::local(FailureKind::Timeout, "deadline_exceeded", "the caller's time is up");
            if self.dice.borrow_mut().chance(500_000) {
                guard.report(Some(failure)).await;
            }
            return Ended::Late;
        }
        self.time.sleep_until(ends).await;
        if let Some(failure) = failure {
            self.log.note(What::Answered { attempt, failure: Some(failure.kind) });
            self.score.borrow_mut().failed += u64::from(teaches);
            guard.report(Some(failure)).await;
            return Ended::Failed;
        }
        self.log.note(What::Answered { attempt, failure: None });
        guard.first_content().await;
        if request.stream {
            let now = self.time.ms();
            let end = self.world().arrives(account, now, now + request.rest);
            guard.stream(end - now).await;
        }
        guard.report(None).await;
        Ended::Content
    }

    /// Runs a future so that changes of records during its steps carry this cause.
    fn caused<'a, T: 'a>(
        &'a self,
        cause: Cause,
        work: impl Future<Output = T> + 'a,
    ) -> impl Future<Output = T> + 'a {
        let mut work = work.boxed_local();
        poll_fn(move |cx| {
            let before = self.log.cause(cause);
            let answer = work.as_mut().poll(cx);
            self.log.cause(before);
            answer
        })
    }
}

enum Ended {
    Content,
    Failed,
    Late,
}

/// An attempt that runs. Dropped without a report, its permit is dropped too, and that is noted.
struct Running<'a> {
    scene: &'a Scene,
    host: usize,
    attempt: Attempt,
    permit: Option<Permit>,
    called: bool,
}

impl Running<'_> {
    async fn first_content(&mut self) {
        let permit = self.permit.as_ref().expect("the permit is there until it is reported");
        self.scene.caused(Cause::Success(self.attempt), permit.first_content()).await;
    }

    /// Pieces arrive until the end; the permit hears of each.
    async fn stream(&mut self, ms: i64) {
        let end = self.scene.time.ms() + ms;
        let mut piece = self.scene.time.sleep(5_000.min(ms)).boxed_local();
        loop {
            poll_fn(|cx| {
                let before = self.scene.log.cause(Cause::None);
                if let Some(permit) = self.permit.as_mut() {
                    permit.touch(cx);
                }
                self.scene.log.cause(before);
                match piece.as_mut().poll(cx) {
                    Poll::Ready(()) => Poll::Ready(()),
                    Poll::Pending => Poll::Pending,
                }
            })
            .await;
            let now = self.scene.time.ms();
            if now >= end {
                return;
            }
            piece = self.scene.time.sleep(5_000.min(end - now)).boxed_local();
        }
    }

    async fn report(mut self, failure: Option<Failure>) {
        let permit = self.permit.take().expect("the permit is there until it is reported");
        let host_moment = self.scene.time.moment(self.host);
        let mut outcome = permit.outcome(host_moment);
        let cause = match &failure {
            None => Cause::Success(self.attempt),
            Some(failure) => {
                let blame = Blame { status: failure.status.unwrap_or(0), local: failure.origin_local };
                if self.attempt.production
                    && failure.declared
                    && failure.scope == Scope::Connection
                    && let Some(until) = failure.retry_at
                    && until.0 > host_moment.wall.0
                {
                    let until = until.0.min(host_moment.wall.0 + 31 * 86_400_000);
                    self.scene.log.lock().watch.expect_rest(self.attempt.permit, until);
                }
                Cause::Failure(self.attempt, failure.kind, blame)
            }
        };
        outcome.failure = failure;
        self.end_call(outcome.failure.is_none());
        // What the report began is finished by others if this future is dropped; the fact is the same.
        let attempt = self.attempt;
        let work = self.scene.caused(cause, async move { permit.report(outcome).await });
        let mut noted = Noted { scene: self.scene, attempt, done: false };
        work.await;
        noted.note();
    }

    fn end_call(&mut self, content: bool) {
        if std::mem::replace(&mut self.called, false) {
            self.scene.world().over(self.attempt.account, self.scene.time.ms(), content);
        }
    }
}

impl Drop for Running<'_> {
    fn drop(&mut self) {
        self.end_call(false);
        if let Some(permit) = self.permit.take() {
            let before = self.scene.log.cause(Cause::Drop(self.attempt));
            drop(permit);
            self.scene.log.cause(before);
            self.scene.log.note(What::Settled { attempt: self.attempt, reported: false });
        }
    }
}

/// Notes the end of a report exactly once, also if its future is dropped on the way.
struct Noted<'a> {
    scene: &'a Scene,
    attempt: Attempt,
    done: bool,
}

impl Noted<'_> {
    fn note(&mut self) {
        self.done = true;
        self.scene.log.note(What::Settled { attempt: self.attempt, reported: true });
    }
}

impl Drop for Noted<'_> {
    fn drop(&mut self) {
        if !self.done {
            self.scene.log.note(What::Settled { attempt: self.attempt, reported: false });
        }
    }
}

fn describe(grant: &Grant, at: i64) -> (Attempt, Special) {
    let (vendor, account, model) = ids(&grant.target);
    let production = grant.purpose == Purpose::Production;
    let attempt = Attempt { permit: grant.id, account, vendor, model, at, production };
    let special = Special {
        probe: grant.probe,
        verification: grant.verification,
        last_resort: grant.last_resort,
        fence: grant.fence,
    };
    (attempt, special)
}

/// Headers came, then nothing until our patience ended.
fn silence() -> Failure {
    let mut failure = Failure::new(FailureKind::Timeout, Scope::Provider, "no content in time");
    failure.status = Some(504);
    failure.phase = Phase::BeforeFirstContent;
    failure
}
