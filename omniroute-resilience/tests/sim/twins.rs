//! Broken step functions, each wrong in one way that has been seen in a real system. The simulator must see it too.

use omniroute_resilience::Rng;
use omniroute_resilience::layers::breaker::{self, Answer, Asking, Breaker, Report, State, Verdict};
use omniroute_resilience::layers::connection::{self, Connection, Hit};
use omniroute_resilience::layers::lockout::{self, Lock};

use crate::sim::subject::Steps;

/// Layer 1: a probe that is out does not keep the next one from going.
#[derive(Debug, Clone, Copy)]
pub(crate) struct UnfencedProbe;

impl Steps for UnfencedProbe {
    fn breaker_admit(
        &self,
        b: &mut Breaker,
        asking: &Asking,
        now: i64,
        rules: &breaker::Rules,
        rng: &Rng,
    ) -> Answer {
        if b.state == State::HalfOpen {
            b.probe = None;
        }
        b.admit(asking, now, rules, rng).0
    }
}

/// Layer 1: a success of an attempt that began before the outage closes the breaker.
#[derive(Debug, Clone, Copy)]
pub(crate) struct LateSuccess;

impl Steps for LateSuccess {
    fn breaker_report(&self, b: &mut Breaker, report: &Report, now: i64, rules: &breaker::Rules, rng: &Rng) {
        if b.state == State::Open && report.verdict == Verdict::Success {
            b.state = State::Closed;
            b.generation += 1;
            return;
        }
        b.report(report, now, rules, rng);
    }
}

/// Layer 1: what the provider refuses counts like what it cannot do.
#[derive(Debug, Clone, Copy)]
pub(crate) struct CountedRefusal;

impl Steps for CountedRefusal {
    fn breaker_report(&self, b: &mut Breaker, report: &Report, now: i64, rules: &breaker::Rules, rng: &Rng) {
        b.report(&counted(report, Verdict::Alive), now, rules, rng);
    }
}

/// Layer 1: what we did ourselves counts.
#[derive(Debug, Clone, Copy)]
pub(crate) struct CountedSelf;

impl Steps for CountedSelf {
    fn breaker_report(&self, b: &mut Breaker, report: &Report, now: i64, rules: &breaker::Rules, rng: &Rng) {
        b.report(&counted(report, Verdict::Neutral), now, rules, rng);
    }
}

fn counted(report: &Report, verdict: Verdict) -> Report {
    let mut report = *report;
    if report.verdict == verdict {
        report.verdict = Verdict::ProviderFailure;
    }
    report
}

/// Layer 1: a breaker that opens stays so for a day.
#[derive(Debug, Clone, Copy)]
pub(crate) struct OpenForADay;

impl Steps for OpenForADay {
    fn breaker_report(&self, b: &mut Breaker, report: &Report, now: i64, rules: &breaker::Rules, rng: &Rng) {
        let shut = b.state == State::Open;
        b.report(report, now, rules, rng);
        if !shut && b.state == State::Open {
            b.open_until += 86_400_000;
        }
    }
}

/// Layer 2: the first hint that an account is over ends it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct EndedAtOnce;

impl Steps for EndedAtOnce {
    fn fail(
        &self,
        c: &mut Connection,
        hit: Hit,
        fresh: bool,
        now: i64,
        rules: &connection::Rules,
        rng: &Rng,
    ) {
        let hit = match hit {
            Hit::Rest(_, connection::Reason::Forbidden) => Hit::End(connection::Terminal::Banned),
            hit => hit,
        };
        let credential = c.credential;
        c.fail(hit, fresh, credential, now, rules, rng);
    }
}

/// Layer 2: the last word wins, also when it is shorter.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ShortenedUntil;

impl Steps for ShortenedUntil {
    fn fail(
        &self,
        c: &mut Connection,
        hit: Hit,
        fresh: bool,
        now: i64,
        rules: &connection::Rules,
        rng: &Rng,
    ) {
        let (before, credential) = (c.until, c.credential);
        c.until = 0;
        c.fail(hit, fresh, credential, now, rules, rng);
        if c.until == 0 {
            c.until = before;
        }
    }
}

/// Layer 2: a success ends the rest and leaves the level.
#[derive(Debug, Clone, Copy)]
pub(crate) struct MissingHalving;

impl Steps for MissingHalving {
    fn succeed(&self, c: &mut Connection, fresh: bool, now: i64, rules: &connection::Rules) {
        let level = c.level;
        c.succeed(fresh, now, rules);
        c.level = level;
    }
}

/// Layer 2: every failure counts, whenever its attempt began.
#[derive(Debug, Clone, Copy)]
pub(crate) struct IgnoredEpoch;

impl Steps for IgnoredEpoch {
    fn fail(&self, c: &mut Connection, hit: Hit, _: bool, now: i64, rules: &connection::Rules, rng: &Rng) {
        let credential = c.credential;
        c.fail(hit, true, credential, now, rules, rng);
    }
}

/// Layer 2: every success counts, whenever its attempt began.
#[derive(Debug, Clone, Copy)]
pub(crate) struct StaleSuccess;

impl Steps for StaleSuccess {
    fn succeed(&self, c: &mut Connection, _: bool, now: i64, rules: &connection::Rules) {
        c.succeed(true, now, rules);
    }
}

/// Layer 3: every failure counts, whenever its attempt began.
#[derive(Debug, Clone, Copy)]
pub(crate) struct IgnoredLockEpoch;

impl Steps for IgnoredLockEpoch {
    fn lock_fail(
        &self,
        l: &mut Lock,
        wait: lockout::Wait,
        reason: lockout::Reason,
        _: bool,
        now: i64,
        rules: &lockout::Rules,
        rng: &Rng,
    ) {
        l.fail(wait, reason, true, now, rules, rng);
    }
}

/// Layer 3: a success ends the lock and forgets to halve its count.
#[derive(Debug, Clone, Copy)]
pub(crate) struct MissingLockHalving;

impl Steps for MissingLockHalving {
    fn lock_succeed(&self, l: &mut Lock, fresh: bool, now: i64) {
        let count = l.count;
        if l.succeed(fresh, now) {
            l.count = count;
        }
    }
}
