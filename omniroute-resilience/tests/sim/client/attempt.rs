//! One attempt: send, wait, hear the answer, report; or be dropped on the way.

use std::task::Poll;

use futures::FutureExt;
use futures::future::poll_fn;
use omniroute_core::{Failure, FailureKind, Grant, Permit, Phase, Purpose, Scope};
use omniroute_resilience::Class;

use crate::sim::client::{Request, Scene};
use crate::sim::facts::{Attempt, Blame, Cause, Special, What};
use crate::sim::subject::ids;
use crate::sim::world::Reply;

impl Scene {
    /// The longest date of a vendor that counts, ms from now.
    fn believed(&self, vendor: usize) -> i64 {
        let cooldown = &self.plan.config.cooldown;
        let longest = match self.world().classes[vendor] {
            Class::Local => return 0,
            Class::WebSession | Class::NoAuth => cooldown.declared_max_proxy,
            _ => cooldown.declared_max,
        };
        i64::try_from(longest.as_ms()).unwrap_or(i64::MAX)
    }

    pub(crate) async fn attempt(&self, request: &Request, permit: Permit, account: usize) -> Ended {
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
        if attempt.production {
            self.world().accounts[account].heard.push(at);
        }
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
}

pub(crate) enum Ended {
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
                    && self.scene.believed(self.attempt.vendor) > 0
                    && failure.declared
                    && failure.scope == Scope::Connection
                    && let Some(until) = failure.retry_at
                    && until.0 > host_moment.wall.0
                {
                    // The date is by this host's clock, the record's by the store's.
                    let wait = (until.0 - host_moment.wall.0).min(self.scene.believed(self.attempt.vendor));
                    let until = self.scene.time.moment(0).wall.0 + wait;
                    self.scene.log.lock().watch.expect_rest(self.attempt.permit, until);
                }
                Cause::Failure(self.attempt, failure.kind, blame)
            }
        };
        let failed = failure.as_ref().is_some_and(|failure| !failure.origin_local);
        outcome.failure = failure;
        self.end_call(outcome.failure.is_none());
        // What the report began is finished by others if this future is dropped; the fact is the same.
        let attempt = self.attempt;
        let work = self.scene.caused(cause, async move { permit.report(outcome).await });
        let mut noted = Noted { scene: self.scene, attempt, failed, done: false };
        work.await;
        noted.note(true);
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
    /// It told of a failure that is not our own.
    failed: bool,
    done: bool,
}

impl Noted<'_> {
    fn note(&mut self, reported: bool) {
        self.done = true;
        if self.failed {
            self.scene.log.lock().watch.failed(self.scene.time.ms(), &self.attempt, reported);
        }
        self.scene.log.note(What::Settled { attempt: self.attempt, reported });
    }
}

impl Drop for Noted<'_> {
    fn drop(&mut self) {
        if !self.done {
            self.note(false);
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
