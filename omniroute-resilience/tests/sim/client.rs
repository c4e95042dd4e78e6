//! One client request, from its arrival to its end: a simple router in front, attempts one after the other.

mod attempt;

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures::FutureExt;
use futures::future::{Either, poll_fn, select};
use omniroute_core::{Mono, Permit, Purpose, Target};
use omniroute_resilience::{Budget, OwnerHash};

use crate::sim::client::attempt::Ended;
use crate::sim::dice::Dice;
use crate::sim::facts::{Cause, What};
use crate::sim::log::Log;
use crate::sim::plan::{Plan, Routing};
use crate::sim::subject::{Ask, Refusal, Subject, ids};
use crate::sim::time::Time;
use crate::sim::world::World;

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
    pub(crate) host: usize,
    pub(crate) consumer: usize,
    pub(crate) session: Option<u64>,
    /// Who answered.
    pub(crate) account: Option<usize>,
    /// Nobody else might have answered, and it was no mere test of the account.
    pub(crate) only: Option<usize>,
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

    pub(crate) fn world(&self) -> MutexGuard<'_, World> {
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
        if request.lease.is_none() {
            order.truncate(self.plan.offer);
        }
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
            host: request.host,
            consumer: request.consumer,
            session: request.session,
            account,
            only: request.only.filter(|_| request.purpose == Purpose::Production),
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
                    if !moved && request.lease.is_some() {
                        // From now on it is known where it is once its owner has asked again.
                        self.log.note(What::Unleased { owner: request.consumer });
                    }
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
        let began = self.time.ms();
        let admit = self.caused(Cause::Admit, self.subject.admit(request.host, ask)).boxed_local();
        let late = self.time.sleep_until(request.deadline);
        match select(admit, late).await {
            Either::Left((answer, _)) => {
                let took = self.time.ms() - began;
                if self.plan.prompt.is_some_and(|prompt| took > prompt) {
                    let text = format!("request {} was kept waiting for {took} ms", request.number);
                    self.log.lock().watch.broke("hang", self.time.ms(), text);
                }
                Some(answer)
            }
            Either::Right(_) => None,
        }
    }

    /// Runs a future so that changes of records during its steps carry this cause.
    pub(crate) fn caused<'a, T: 'a>(
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
