//! The steps: time passes, somebody asks, somebody reports, an operator decides.

use omniroute_core::PermitId;

use crate::layers::breaker::*;
use crate::layers::bump;
use crate::rng::Rng;

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

/// A short hash of a permit for marks.
pub(super) fn permit_tag(permit: PermitId) -> u32 {
    let mixed = crate::rng::mix(permit.process ^ permit.number.rotate_left(32));
    u32::try_from(mixed >> 32).unwrap_or(0)
}
