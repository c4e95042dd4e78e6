//! The step functions in a shell of a few lines: one process, one state, no store.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures::FutureExt;
use futures::future::{BoxFuture, LocalBoxFuture};
use omniroute_core::{Failure, Grant, Outcome, Permit, PermitId, PermitSink, Purpose, Target};
use omniroute_resilience::layers::breaker::{Answer, Asking, Breaker, Report, Verdict};
use omniroute_resilience::layers::connection::Connection;
use omniroute_resilience::layers::effect::{Effect, Facts, LockTarget, Trust, effect};
use omniroute_resilience::layers::lockout::{self, Lock};
use omniroute_resilience::layers::{breaker, connection};
use omniroute_resilience::{Class, Config, Rng};

use crate::sim::facts::{Change, Who, see_account, see_breaker, see_lock};
use crate::sim::log::Log;
use crate::sim::subject::{Ask, Refusal, Steps, Subject, ids};
use crate::sim::time::Time;

type LockKey = (usize, Option<usize>, usize);

#[derive(Default)]
struct State {
    breakers: BTreeMap<usize, Breaker>,
    accounts: BTreeMap<usize, Connection>,
    locks: BTreeMap<LockKey, Lock>,
    served: BTreeMap<usize, (i64, usize)>,
    next: u64,
}

impl State {
    /// Until when a target is blocked by layers 2 and 3, and whether it may be verified now.
    fn blocked(&self, target: &Target, now: i64) -> Option<(i64, bool)> {
        let (vendor, account, model) = ids(target);
        let known = self.accounts.get(&account);
        if known.is_some_and(|c| c.terminal.is_some()) {
            return Some((i64::MAX, false));
        }
        let locks = [(vendor, Some(account), model), (vendor, None, model)];
        let locked =
            locks.iter().filter_map(|key| self.locks.get(key)).map(|lock| lock.until).max().unwrap_or(0);
        let until = known.map_or(0, |c| c.until).max(locked);
        let due = known.is_some_and(|c| c.until > now && c.verify_at != 0 && c.verify_at <= now);
        (until > now).then_some((until, due))
    }
}

/// The step functions in a shell without store, mirror, limits and waiting: one process, one state.
#[derive(Clone)]
pub(crate) struct Direct {
    inner: Arc<DirectInner>,
}

struct DirectInner {
    state: Mutex<State>,
    steps: Box<dyn Steps>,
    config: Config,
    classes: Vec<Class>,
    accounts: usize,
    rng: Rng,
    log: Log,
    time: Time,
}

impl fmt::Debug for DirectInner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Direct")
    }
}

struct Sink {
    inner: Arc<DirectInner>,
    target: Target,
    purpose: Purpose,
    permit: PermitId,
    generation: u64,
    epoch: u64,
    lock_epoch: u64,
    started: i64,
    done: Mutex<(bool, bool)>,
}

impl fmt::Debug for Sink {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Sink")
    }
}

impl Direct {
    /// A shell over these steps.
    pub(crate) fn new(
        steps: Box<dyn Steps>,
        config: Config,
        classes: Vec<Class>,
        accounts: usize,
        seed: u64,
        log: Log,
        time: Time,
    ) -> Direct {
        let state = Mutex::default();
        let rng = Rng::new(seed);
        Direct { inner: Arc::new(DirectInner { state, steps, config, classes, accounts, rng, log, time }) }
    }
}

impl DirectInner {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wall(&self) -> i64 {
        self.time.moment(0).wall.0
    }

    fn class(&self, vendor: usize) -> Class {
        self.classes[vendor]
    }

    fn breaker_rules(&self, vendor: usize) -> breaker::Rules {
        breaker::Rules::new(self.config.classes.of(self.class(vendor)), &self.config.breaker)
    }

    fn rules(&self, vendor: usize) -> connection::Rules {
        connection::Rules::new(
            self.config.classes.of(self.class(vendor)),
            &self.config.cooldown,
            false,
            false,
        )
    }

    fn lock_rules(&self, vendor: usize) -> lockout::Rules {
        let class = self.config.classes.of(self.class(vendor));
        let window = i64::try_from(class.reset.as_ms()).unwrap_or(0);
        lockout::Rules::new(&self.config.lockout, window, 31 * 86_400_000, (900_000, 3_600_000))
    }

    fn facts(&self, vendor: usize) -> Facts {
        Facts { class: self.class(vendor), trust: Trust::Direct, per_model: false, now: self.wall() }
    }

    fn try_admit(self: &Arc<Self>, ask: &Ask) -> Result<Permit, Option<i64>> {
        let now = self.wall();
        let mut state = self.lock();
        let mut earliest: Option<i64> = None;
        let mut verify: Option<usize> = None;
        state.next += 1;
        let permit = PermitId { process: 1, number: state.next };
        for (position, target) in ask.targets.iter().enumerate() {
            let (vendor, account, _) = ids(target);
            let until = match state.blocked(target, now) {
                Some((until, may_verify)) => {
                    if may_verify {
                        verify = verify.or(Some(position));
                    }
                    until
                }
                None => {
                    let asking = Asking { permit, connection: tag(account), others: true };
                    let rules = self.breaker_rules(vendor);
                    let entry = state.breakers.entry(vendor).or_default();
                    let old = entry.clone();
                    let answer = self.steps.breaker_admit(entry, &asking, now, &rules, &self.rng);
                    let new = entry.clone();
                    self.note_breaker(vendor, &old, &new);
                    match answer {
                        Answer::Grant => {
                            return Ok(self.permit(&mut state, position, ask, permit, (false, false)));
                        }
                        Answer::Probe => {
                            return Ok(self.permit(&mut state, position, ask, permit, (true, false)));
                        }
                        Answer::Deny(until) => until,
                    }
                }
            };
            earliest = Some(earliest.map_or(until, |known| known.min(until)));
        }
        if let Some(position) = verify {
            let (_, account, _) = ids(&ask.targets[position]);
            let entry = state.accounts.entry(account).or_default();
            entry.verify_at = now + 3_600_000;
            return Ok(self.permit(&mut state, position, ask, permit, (false, true)));
        }
        Err(earliest.filter(|until| *until != i64::MAX).map(|until| until - now))
    }

    fn permit(
        self: &Arc<Self>,
        state: &mut State,
        position: usize,
        ask: &Ask,
        permit: PermitId,
        (probe, verification): (bool, bool),
    ) -> Permit {
        let target = ask.targets[position].clone();
        let (vendor, account, model) = ids(&target);
        let moment = self.time.moment(0);
        let mut grant = Grant::new(permit, target.clone(), moment);
        grant.position = position;
        grant.purpose = ask.purpose;
        grant.probe = probe;
        grant.verification = verification;
        let sink = Sink {
            inner: Arc::clone(self),
            target,
            purpose: ask.purpose,
            permit,
            generation: state.breakers.get(&vendor).map_or(0, |b| b.generation),
            epoch: state.accounts.get(&account).map_or(0, |c| c.epoch),
            lock_epoch: state.locks.get(&(vendor, Some(account), model)).map_or(0, |l| l.epoch),
            started: moment.wall.0,
            done: Mutex::default(),
        };
        Permit::new(grant, Arc::new(sink))
    }

    fn note_breaker(&self, vendor: usize, old: &Breaker, new: &Breaker) {
        if old != new {
            let (old, new) = (see_breaker(old), see_breaker(new));
            self.log.changed(Change::Breaker { who: vendor, old, new });
        }
    }

    fn apply(&self, sink: &Sink, what: Result<(), &Failure>) {
        let (vendor, account, model) = ids(&sink.target);
        let now = self.wall();
        let mut state = self.lock();
        let effect = match what {
            Ok(()) => None,
            Err(failure) => Some(effect(failure, &self.facts(vendor), &self.config)),
        };
        let verdict = effect.as_ref().map_or(Verdict::Success, |effect| effect.verdict);
        let siblings = self.accounts.div_ceil(self.classes.len());
        let sibling_served =
            state.served.get(&vendor).is_some_and(|(at, who)| *who != account && now - at < 60_000);
        if verdict == Verdict::Success {
            state.served.insert(vendor, (now, account));
        }
        let report = Report {
            verdict,
            generation: sink.generation,
            permit: sink.permit,
            connection: tag(account),
            started: sink.started,
            alone_may_open: siblings == 1 || !sibling_served,
            single: siblings == 1,
            uncorroborated: false,
        };
        let entry = state.breakers.entry(vendor).or_default();
        let old = entry.clone();
        self.steps.breaker_report(entry, &report, now, &self.breaker_rules(vendor), &self.rng);
        let new = entry.clone();
        self.note_breaker(vendor, &old, &new);

        let entry = state.accounts.entry(account).or_default();
        let old = entry.clone();
        let fresh = sink.epoch == old.epoch;
        let rules = self.rules(vendor);
        match &effect {
            None => self.steps.succeed(entry, fresh, now, &rules),
            Some(Effect { connection: Some(hit), .. }) => {
                self.steps.fail(entry, *hit, fresh, now, &rules, &self.rng);
            }
            Some(_) => {}
        }
        if old != *entry {
            let (old, new) = (see_account(&old), see_account(entry));
            self.log.changed(Change::Account { who: account, old, new });
        }
        self.apply_lock(&mut state, sink, (vendor, account, model), effect.as_ref(), now);
    }

    fn apply_lock(
        &self,
        state: &mut State,
        sink: &Sink,
        (vendor, account, model): (usize, usize, usize),
        effect: Option<&Effect>,
        now: i64,
    ) {
        let key = match effect.and_then(|effect| effect.lock.as_ref()) {
            Some(hit) if hit.target == LockTarget::Everywhere => (vendor, None, model),
            _ => (vendor, Some(account), model),
        };
        if effect.is_none() && !state.locks.contains_key(&key) {
            return;
        }
        let rules = self.lock_rules(vendor);
        let entry = state.locks.entry(key).or_default();
        let old = entry.clone();
        let fresh = sink.lock_epoch == old.epoch;
        match effect {
            None => self.steps.lock_succeed(entry, fresh, now),
            Some(effect) => {
                if let Some(hit) = &effect.lock {
                    self.steps.lock_fail(entry, hit.wait, hit.reason, fresh, now, &rules, &self.rng);
                }
            }
        }
        if old != *entry {
            let (old, new) = (see_lock(&old), see_lock(entry));
            self.log.changed(Change::Lock { who: Who::Lock(key.0, key.1, key.2), old, new });
        }
    }

    fn neutral(&self, sink: &Sink) {
        let (vendor, account, _) = ids(&sink.target);
        let report = Report {
            verdict: Verdict::Neutral,
            generation: sink.generation,
            permit: sink.permit,
            connection: tag(account),
            started: sink.started,
            alone_may_open: false,
            single: false,
            uncorroborated: false,
        };
        let mut state = self.lock();
        let entry = state.breakers.entry(vendor).or_default();
        let old = entry.clone();
        self.steps.breaker_report(entry, &report, self.wall(), &self.breaker_rules(vendor), &self.rng);
        let new = entry.clone();
        self.note_breaker(vendor, &old, &new);
    }
}

impl Subject for Direct {
    fn admit<'a>(&'a self, _: usize, ask: &'a Ask) -> LocalBoxFuture<'a, Result<Permit, Refusal>> {
        let answer = self.inner.try_admit(ask).map_err(|wait| Refusal { wait, reason: "blocked", waited: 0 });
        futures::future::ready(answer).boxed_local()
    }
}

impl Sink {
    /// True the first time. `content`: only the first content has come.
    fn once(&self, content: bool) -> bool {
        let mut done = self.done.lock().unwrap_or_else(PoisonError::into_inner);
        let first = if content { !done.0 } else { !done.1 };
        if content {
            done.0 = true
        } else {
            done.1 = true
        }
        first
    }

    fn had_content(&self) -> bool {
        self.done.lock().unwrap_or_else(PoisonError::into_inner).0
    }
}

impl PermitSink for Sink {
    fn first_content(self: Arc<Self>) -> BoxFuture<'static, ()> {
        if self.once(true) && self.purpose == Purpose::Production {
            self.inner.apply(&self, Ok(()));
        }
        futures::future::ready(()).boxed()
    }

    fn upkeep(self: Arc<Self>) -> Option<BoxFuture<'static, ()>> {
        None
    }

    fn check(self: Arc<Self>) -> BoxFuture<'static, Result<(), Failure>> {
        futures::future::ready(Ok(())).boxed()
    }

    fn report(self: Arc<Self>, outcome: Outcome) -> BoxFuture<'static, ()> {
        if self.once(false) {
            match &outcome.failure {
                _ if self.purpose != Purpose::Production => self.inner.neutral(&self),
                None if self.had_content() => {}
                None => self.inner.apply(&self, Ok(())),
                Some(failure) => self.inner.apply(&self, Err(failure)),
            }
        }
        futures::future::ready(()).boxed()
    }

    fn abandon(self: Arc<Self>) {
        if self.once(false) {
            self.inner.neutral(&self);
        }
    }
}

fn tag(account: usize) -> u16 {
    u16::try_from(account).unwrap_or(u16::MAX)
}
