//! What a run puts to the test: the library, or the step functions in a shell of a few lines, or a rival.

use std::fmt;

use futures::FutureExt;
use futures::future::LocalBoxFuture;
use omniroute_core::{Mono, Permit, Purpose, Target};
use omniroute_resilience::layers::breaker::{Answer, Asking, Breaker, Report};
use omniroute_resilience::layers::connection::{Connection, Hit};
use omniroute_resilience::layers::lockout::{self, Lock};
use omniroute_resilience::layers::{breaker, connection};
use omniroute_resilience::{Budget, OwnerHash, Rng};

use crate::sim::peek::number;

/// Who asks for what.
#[derive(Debug, Clone)]
pub(crate) struct Ask {
    /// In the order of preference.
    pub(crate) targets: Vec<Target>,
    /// Why.
    pub(crate) purpose: Purpose,
    /// When the caller gives up.
    pub(crate) deadline: Mono,
    /// The consumer's number.
    pub(crate) consumer: usize,
    /// The session's number.
    pub(crate) session: Option<u64>,
    /// What the client request may spend, shared by its attempts.
    pub(crate) budget: Budget,
    /// The exclusive lease it runs under.
    pub(crate) lease: Option<(OwnerHash, u64)>,
    /// Accounts that have failed this request.
    pub(crate) tried: Vec<usize>,
}

/// Nothing was eligible.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Refusal {
    /// Try again after this many ms, if that would help.
    pub(crate) wait: Option<i64>,
    /// Stable code.
    pub(crate) reason: &'static str,
    /// How long it took to be refused, ms.
    pub(crate) waited: i64,
}

/// What is tested.
pub(crate) trait Subject {
    /// Asks for a permit on a host.
    fn admit<'a>(&'a self, host: usize, ask: &'a Ask) -> LocalBoxFuture<'a, Result<Permit, Refusal>>;

    /// A request under a lease was refused: true if its lease moved to another connection.
    fn moved<'a>(&'a self, _host: usize, _ask: &'a Ask) -> LocalBoxFuture<'a, bool> {
        futures::future::ready(false).boxed_local()
    }

    /// A request was answered at a target.
    fn answered<'a>(&'a self, _host: usize, _ask: &'a Ask, _target: &'a Target) -> LocalBoxFuture<'a, ()> {
        futures::future::ready(()).boxed_local()
    }
}

/// The step functions, replaceable one by one.
pub(crate) trait Steps: Send + Sync + fmt::Debug {
    fn breaker_admit(
        &self,
        b: &mut Breaker,
        asking: &Asking,
        now: i64,
        rules: &breaker::Rules,
        rng: &Rng,
    ) -> Answer {
        b.admit(asking, now, rules, rng).0
    }

    fn breaker_report(&self, b: &mut Breaker, report: &Report, now: i64, rules: &breaker::Rules, rng: &Rng) {
        b.report(report, now, rules, rng);
    }

    fn fail(
        &self,
        c: &mut Connection,
        hit: Hit,
        fresh: bool,
        now: i64,
        rules: &connection::Rules,
        rng: &Rng,
    ) {
        let credential = c.credential;
        c.fail(hit, fresh, credential, now, rules, rng);
    }

    fn succeed(&self, c: &mut Connection, fresh: bool, now: i64, rules: &connection::Rules) {
        c.succeed(fresh, now, rules);
    }

    #[expect(clippy::too_many_arguments, reason = "the step function takes them one by one")]
    fn lock_fail(
        &self,
        l: &mut Lock,
        wait: lockout::Wait,
        reason: lockout::Reason,
        fresh: bool,
        now: i64,
        rules: &lockout::Rules,
        rng: &Rng,
    ) {
        l.fail(wait, reason, fresh, now, rules, rng);
    }

    fn lock_succeed(&self, l: &mut Lock, fresh: bool, now: i64) {
        l.succeed(fresh, now);
    }
}

/// The real ones.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Real;

impl Steps for Real {}

/// The numbers of a target: vendor, account, model.
pub(crate) fn ids(target: &Target) -> (usize, usize, usize) {
    (number(target.provider.as_str()), number(target.connection.as_str()), number(target.model.as_str()))
}
