//! Layer 1: stops sending to a provider that fails as a service. One leased probe finds out when it is back.

use omniroute_core::PermitId;

use crate::codec::{Reader, Value, Writer};
use crate::config::{BreakerConfig, ClassConfig};
use crate::layers::bump;
use crate::rng::Rng;

/// Where a breaker stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum State {
    /// All is well.
    #[default]
    Closed,
    /// Failures are piling up; still granted.
    Degraded,
    /// Nothing is sent until a date.
    Open,
    /// One probe at a time finds out.
    HalfOpen,
}

/// An operator's word, above everything the breaker sees.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Forced {
    /// None.
    #[default]
    No,
    /// Send nothing.
    Open,
    /// Send everything.
    Closed,
}

/// What an attempt says about its provider.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// Valid content came.
    Success,
    /// The provider failed as a service.
    ProviderFailure,
    /// The provider answered, with something else than success.
    Alive,
    /// Nothing is known about the provider.
    Neutral,
}

/// One counted failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Mark {
    /// When, in milliseconds of the store.
    pub at: i64,
    /// Which connection, as a short hash.
    pub connection: u16,
    /// Which permit, as a short hash: the same report never counts twice.
    pub permit: u32,
}

/// The attempt that decides.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Probe {
    /// Its permit.
    pub permit: PermitId,
    /// It holds the half-open state until then.
    pub lease_until: i64,
    /// Which connection, as a short hash.
    pub connection: u16,
}

/// State of one breaker.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Breaker {
    /// Where it stands.
    pub state: State,
    /// The operator's word.
    pub forced: Forced,
    /// Grows on every transition and every reclaimed probe.
    pub generation: u64,
    /// Counted failures, oldest first, at most as many as open it.
    pub failures: Vec<Mark>,
    /// When it opened.
    pub opened_at: i64,
    /// Until when it stays open. Set once at opening.
    pub open_until: i64,
    /// Failed probes in a row.
    pub cycle: u32,
    /// When `cycle` was last right, for its decay.
    pub cycle_at: i64,
    /// The probe that is out.
    pub probe: Option<Probe>,
    /// Probes in a row without a verdict.
    pub inconclusive: u32,
    /// The connection whose probe brought no verdict, and until when another one is preferred.
    pub avoid: Option<(u16, i64)>,
    /// Opened on transport failures that nothing could confirm: short and without escalation.
    pub uncorroborated: bool,
    /// When it last closed after a probe; the ramp starts here.
    pub recovered_at: i64,
}

/// The numbers a breaker works with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rules {
    /// Failures that open it.
    pub opens_at: u32,
    /// Failures that degrade it.
    pub degraded_at: u32,
    /// How long a failure counts, ms.
    pub window: i64,
    /// First reset time, ms.
    pub reset: i64,
    /// Failed probes before it doubles.
    pub escalate_after: u32,
    /// How far it grows.
    pub max_multiplier: u32,
    /// Bursts count once, ms.
    pub coalesce: i64,
    /// How long a probe may take, ms.
    pub probe_lease: i64,
    /// Probes without a verdict before it opens again.
    pub inconclusive: u32,
    /// Reset time without corroboration, ms.
    pub uncorroborated_reset: i64,
}

impl Rules {
    /// The rules of one class.
    pub fn new(class: &ClassConfig, config: &BreakerConfig) -> Rules {
        Rules {
            opens_at: class.opens_at,
            degraded_at: class.degraded(),
            window: class.failure_window.signed(),
            reset: class.reset.signed(),
            escalate_after: class.escalate_after,
            max_multiplier: class.max_multiplier,
            coalesce: config.coalesce.signed(),
            probe_lease: config.probe_lease.signed().max(class.reset.signed()),
            inconclusive: config.inconclusive,
            uncorroborated_reset: config.uncorroborated_reset.signed(),
        }
    }

    /// The count at or below which a degraded breaker closes.
    pub fn healthy_at(&self) -> usize {
        self.degraded_at.saturating_sub(2) as usize
    }

    /// Reset time after `cycle` failed probes, without jitter, ms.
    pub fn timeout(&self, cycle: u32) -> i64 {
        let doublings = cycle.saturating_sub(self.escalate_after).min(32);
        let longest = self.reset.saturating_mul(i64::from(self.max_multiplier));
        self.reset.saturating_mul(1_i64 << doublings).min(longest)
    }

    /// No deadline of an open breaker is further away, ms.
    pub fn longest(&self) -> i64 {
        let longest = self.reset.saturating_mul(i64::from(self.max_multiplier));
        longest.saturating_add(longest / 10)
    }
}

/// Who asks to be let through.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Asking {
    /// Under which permit.
    pub permit: PermitId,
    /// With which connection, as a short hash.
    pub connection: u16,
    /// Whether another connection could probe instead.
    pub others: bool,
}

/// The answer to [`Breaker::admit`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Answer {
    /// Go.
    Grant,
    /// Go; this attempt decides.
    Probe,
    /// Not before this date.
    Deny(i64),
}

/// What an attempt reports.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Report {
    /// What it says.
    pub verdict: Verdict,
    /// The generation its permit saw.
    pub generation: u64,
    /// Its permit.
    pub permit: PermitId,
    /// Its connection, as a short hash.
    pub connection: u16,
    /// When it started, on the store's clock.
    pub started: i64,
    /// Whether one connection alone may open the breaker: it is the only one, or no sibling succeeded lately.
    pub alone_may_open: bool,
    /// Whether there is only one eligible connection, so that breadth cannot be asked for.
    pub single: bool,
    /// A transport failure that nothing else confirms.
    pub uncorroborated: bool,
}

/// What a step did.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Reaction {
    /// Whether the record must be written.
    pub changed: bool,
    /// From where to where it went.
    pub transition: Option<(State, State)>,
    /// The report came too late to matter.
    pub late: bool,
    /// A hung probe lost its lease.
    pub reclaimed: bool,
}

/// A short hash of a permit for marks.
pub(crate) fn permit_tag(permit: PermitId) -> u32 {
    let mixed = crate::rng::mix(permit.process ^ permit.number.rotate_left(32));
    u32::try_from(mixed >> 32).unwrap_or(0)
}

impl Breaker {
    /// Corrects what time alone has changed, and deadlines that no clock of ours could have written.
    pub fn settle(&mut self, now: i64, rules: &Rules) -> Reaction {
        let before = self.clone();
        let mut reaction = Reaction::default();
        self.failures.retain(|mark| now.saturating_sub(mark.at) <= rules.window);
        for mark in &mut self.failures {
            mark.at = mark.at.min(now);
        }
        match self.state {
            State::Open => self.open_until = self.open_until.min(now.saturating_add(rules.longest())),
            State::HalfOpen => {
                if let Some(probe) = &mut self.probe {
                    probe.lease_until = probe.lease_until.min(now.saturating_add(rules.probe_lease));
                }
            }
            State::Degraded if self.failures.len() <= rules.healthy_at() => {
                reaction.transition = self.go(State::Closed, now);
            }
            State::Closed | State::Degraded => {}
        }
        if self.cycle > 0 && matches!(self.state, State::Closed | State::Degraded) {
            let period = rules.reset.saturating_mul(4).max(1);
            let last = self.failures.last().map_or(self.cycle_at, |mark| mark.at.max(self.cycle_at));
            let steps = now.saturating_sub(last) / period;
            if steps > 0 {
                self.cycle = self.cycle.saturating_sub(u32::try_from(steps).unwrap_or(u32::MAX));
                self.cycle_at = last.saturating_add(steps.saturating_mul(period));
            }
        }
        reaction.changed = *self != before;
        reaction
    }

    /// Lets through, hands out the probe, or refuses. The only function that reserves anything.
    pub fn admit(&mut self, asking: &Asking, now: i64, rules: &Rules, rng: &Rng) -> (Answer, Reaction) {
        let mut reaction = self.settle(now, rules);
        match self.forced {
            Forced::Closed => return (Answer::Grant, reaction),
            Forced::Open => return (Answer::Deny(i64::MAX), reaction),
            Forced::No => {}
        }
        let answer = match self.state {
            State::Closed | State::Degraded => Answer::Grant,
            State::Open if now < self.open_until => Answer::Deny(self.open_until),
            State::Open => {
                reaction.transition = self.go(State::HalfOpen, now);
                self.inconclusive = 0;
                self.avoid = None;
                self.hand_out(asking, now, rules)
            }
            State::HalfOpen => match self.probe {
                Some(probe) if now < probe.lease_until => {
                    Answer::Deny(now.saturating_add((probe.lease_until - now).clamp(1_000, 5_000)))
                }
                Some(_) => {
                    reaction.reclaimed = true;
                    self.generation = bump(self.generation, now);
                    self.no_verdict(now, rules, rng, &mut reaction);
                    match self.state {
                        State::Open => Answer::Deny(self.open_until),
                        _ => self.hand_out(asking, now, rules),
                    }
                }
                None => match self.avoid {
                    Some((connection, until))
                        if asking.others && connection == asking.connection && now < until =>
                    {
                        Answer::Deny(until)
                    }
                    _ => self.hand_out(asking, now, rules),
                },
            },
        };
        reaction.changed |= reaction.reclaimed || answer == Answer::Probe;
        (answer, reaction)
    }

    /// Takes in what an attempt says.
    pub fn report(&mut self, report: &Report, now: i64, rules: &Rules, rng: &Rng) -> Reaction {
        let mut reaction = self.settle(now, rules);
        if self.forced != Forced::No {
            return reaction;
        }
        match self.state {
            State::Open => reaction.late = true,
            State::HalfOpen => self.probe_report(report, now, rules, rng, &mut reaction),
            State::Closed | State::Degraded if report.generation != self.generation => {
                reaction.late = true;
            }
            State::Closed | State::Degraded => match report.verdict {
                Verdict::Success => {
                    if !self.failures.is_empty() {
                        self.failures.remove(0);
                        reaction.changed = true;
                        let settled = self.settle(now, rules);
                        reaction.transition = settled.transition.or(reaction.transition);
                    }
                }
                Verdict::ProviderFailure => self.count(report, now, rules, rng, &mut reaction),
                Verdict::Alive | Verdict::Neutral => {}
            },
        }
        reaction
    }

    /// An operator clears everything.
    pub fn reset(&mut self, now: i64) {
        *self = Breaker { generation: bump(self.generation, now), ..Breaker::default() };
    }

    /// An operator decides.
    pub fn force(&mut self, forced: Forced, now: i64) {
        self.forced = forced;
        self.generation = bump(self.generation, now);
    }

    /// Until when nothing is granted, if at all, without reserving anything.
    pub fn blocked_until(&self, now: i64) -> Option<i64> {
        match (self.forced, self.state) {
            (Forced::Closed, _) => None,
            (Forced::Open, _) => Some(i64::MAX),
            (Forced::No, State::Open) => Some(self.open_until).filter(|until| now < *until),
            (Forced::No, State::HalfOpen) => {
                self.probe.map(|probe| probe.lease_until).filter(|until| now < *until)
            }
            (Forced::No, State::Closed | State::Degraded) => None,
        }
    }

    fn go(&mut self, to: State, now: i64) -> Option<(State, State)> {
        let from = std::mem::replace(&mut self.state, to);
        self.generation = bump(self.generation, now);
        self.probe = None;
        Some((from, to))
    }

    fn hand_out(&mut self, asking: &Asking, now: i64, rules: &Rules) -> Answer {
        let lease_until = now.saturating_add(rules.probe_lease);
        self.probe = Some(Probe { permit: asking.permit, lease_until, connection: asking.connection });
        Answer::Probe
    }

    fn open(&mut self, now: i64, rules: &Rules, rng: &Rng) -> Option<(State, State)> {
        let timeout = if self.uncorroborated {
            rules.timeout(0).min(rules.uncorroborated_reset)
        } else {
            rules.timeout(self.cycle)
        };
        self.opened_at = now;
        self.open_until = now.saturating_add(rng.stretch(timeout, 900_000, 1_100_000));
        self.go(State::Open, now)
    }

    /// A probe that told nothing: the next one, or open again for one base timeout.
    fn no_verdict(&mut self, now: i64, rules: &Rules, rng: &Rng, reaction: &mut Reaction) {
        self.probe = None;
        self.inconclusive += 1;
        if self.inconclusive >= rules.inconclusive {
            self.opened_at = now;
            self.open_until = now.saturating_add(rng.stretch(rules.timeout(0), 900_000, 1_100_000));
            reaction.transition = self.go(State::Open, now);
        }
    }

    fn probe_report(&mut self, report: &Report, now: i64, rules: &Rules, rng: &Rng, reaction: &mut Reaction) {
        let held = self.probe.filter(|probe| probe.permit == report.permit && now < probe.lease_until);
        let Some(probe) = held else {
            reaction.late = true;
            return;
        };
        reaction.changed = true;
        match report.verdict {
            Verdict::Success => {
                self.failures.clear();
                self.cycle = 0;
                self.inconclusive = 0;
                self.avoid = None;
                self.uncorroborated = false;
                self.recovered_at = now;
                reaction.transition = self.go(State::Closed, now);
            }
            Verdict::ProviderFailure => {
                self.cycle = self.cycle.saturating_add(1);
                self.cycle_at = now;
                self.uncorroborated = report.uncorroborated;
                reaction.transition = self.open(now, rules, rng);
            }
            Verdict::Alive => {
                self.avoid = Some((probe.connection, now.saturating_add(1_000)));
                self.no_verdict(now, rules, rng, reaction);
            }
            Verdict::Neutral => self.probe = None,
        }
    }

    fn count(&mut self, report: &Report, now: i64, rules: &Rules, rng: &Rng, reaction: &mut Reaction) {
        let permit = permit_tag(report.permit);
        let mut same = self.failures.iter().filter(|mark| mark.connection == report.connection);
        if same.clone().any(|mark| mark.permit == permit) {
            return;
        }
        if let Some(last) = same.next_back()
            && report.started <= last.at
            && now.saturating_sub(last.at) < rules.coalesce
        {
            return;
        }
        if self.failures.len() >= rules.opens_at as usize {
            self.failures.remove(0);
        }
        self.failures.push(Mark { at: now, connection: report.connection, permit });
        self.cycle_at = now;
        reaction.changed = true;
        let n = self.failures.len();
        if n >= rules.opens_at as usize && self.broad(report, rules) {
            self.uncorroborated = report.uncorroborated;
            reaction.transition = self.open(now, rules, rng);
        } else if n >= rules.degraded_at as usize && self.state == State::Closed {
            reaction.transition = self.go(State::Degraded, now);
        }
    }

    /// One bad key must not close the shop: failures of two connections, or of one that alone may.
    fn broad(&self, report: &Report, rules: &Rules) -> bool {
        if report.single {
            return true;
        }
        let own = self.failures.iter().filter(|mark| mark.connection == report.connection).count();
        own < self.failures.len() || (own >= rules.opens_at as usize && report.alone_may_open)
    }
}

impl Value for Breaker {
    fn encode(&self, tail: &[u8]) -> Vec<u8> {
        let mut out = Writer::new();
        out.u(match self.state {
            State::Closed => 0,
            State::Degraded => 1,
            State::Open => 2,
            State::HalfOpen => 3,
        });
        out.u(match self.forced {
            Forced::No => 0,
            Forced::Open => 1,
            Forced::Closed => 2,
        });
        out.u(self.generation).i(self.opened_at).i(self.open_until);
        out.u(u64::from(self.cycle)).i(self.cycle_at).u(u64::from(self.inconclusive));
        out.bool(self.uncorroborated).i(self.recovered_at);
        match self.probe {
            None => out.u(0),
            Some(probe) => out
                .u(1)
                .u(probe.permit.process)
                .u(probe.permit.number)
                .i(probe.lease_until)
                .u(u64::from(probe.connection)),
        };
        match self.avoid {
            None => out.u(0),
            Some((connection, until)) => out.u(1).u(u64::from(connection)).i(until),
        };
        out.u(self.failures.len() as u64);
        for mark in &self.failures {
            out.i(mark.at).u(u64::from(mark.connection)).u(u64::from(mark.permit));
        }
        out.finish(tail)
    }

    fn decode(bytes: &[u8]) -> Option<(Self, &[u8])> {
        let mut input = Reader::new(bytes)?;
        let state = match input.u()? {
            0 => State::Closed,
            1 => State::Degraded,
            2 => State::Open,
            3 => State::HalfOpen,
            _ => return None,
        };
        let forced = match input.u()? {
            0 => Forced::No,
            1 => Forced::Open,
            2 => Forced::Closed,
            _ => return None,
        };
        let mut breaker = Breaker {
            state,
            forced,
            generation: input.u()?,
            opened_at: input.i()?,
            open_until: input.i()?,
            cycle: input.small()?,
            cycle_at: input.i()?,
            inconclusive: input.small()?,
            uncorroborated: input.bool()?,
            recovered_at: input.i()?,
            ..Breaker::default()
        };
        if input.u()? != 0 {
            breaker.probe = Some(Probe {
                permit: PermitId { process: input.u()?, number: input.u()? },
                lease_until: input.i()?,
                connection: input.small()?,
            });
        }
        if input.u()? != 0 {
            breaker.avoid = Some((input.small()?, input.i()?));
        }
        for _ in 0..input.count()? {
            breaker.failures.push(Mark {
                at: input.i()?,
                connection: input.small()?,
                permit: input.small()?,
            });
        }
        Some((breaker, input.rest()))
    }
}

#[cfg(test)]
mod tests;
