//! A second, plainer breaker: both must agree on every sequence of events.

use proptest::prelude::*;

use super::step::permit_tag;
use super::tests::rules;
use super::*;
use crate::codec::Value;
use crate::config::Class;
use crate::rng::Rng;

/// A breaker written down a second time, as slowly and plainly as possible: a list of everything that happened.
#[derive(Clone)]
struct Model {
    marks: Vec<(i64, u16, u32)>,
    state: State,
    until: i64,
    cycle: u32,
    generation: u64,
    probe: Option<(PermitId, i64)>,
    inconclusive: u32,
    avoid: Option<(u16, i64)>,
}

/// What a broken twin does differently.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Twin {
    Right,
    UnfencedProbe,
    IgnoredGeneration,
}

impl Model {
    fn settle(&mut self, now: i64, rules: &Rules) {
        self.marks.retain(|mark| now - mark.0 <= rules.window);
        if self.state == State::Degraded && self.marks.len() <= rules.healthy_at() {
            self.turn(State::Closed, now);
        }
    }

    fn turn(&mut self, state: State, now: i64) {
        self.state = state;
        self.generation = (self.generation + 1).max(now as u64);
        self.probe = None;
    }

    fn ask(&mut self, permit: PermitId, connection: u16, now: i64, rules: &Rules) -> bool {
        self.settle(now, rules);
        match self.state {
            State::Closed | State::Degraded => return true,
            State::Open if now < self.until => return false,
            State::Open => {
                self.turn(State::HalfOpen, now);
                self.inconclusive = 0;
                self.avoid = None;
            }
            State::HalfOpen => match self.probe {
                Some((_, until)) if now < until => return false,
                Some(_) => {
                    self.generation = (self.generation + 1).max(now as u64);
                    self.probe = None;
                    self.inconclusive += 1;
                    if self.inconclusive >= rules.inconclusive {
                        self.until = now + rules.reset;
                        self.turn(State::Open, now);
                        return false;
                    }
                }
                None if self.avoid.is_some_and(|(c, until)| c == connection && now < until) => return false,
                None => {}
            },
        }
        self.probe = Some((permit, now + rules.probe_lease));
        true
    }

    fn tell(&mut self, report: &Report, now: i64, rules: &Rules, twin: Twin) {
        self.settle(now, rules);
        match self.state {
            State::Open => {}
            State::HalfOpen => {
                let mine = twin == Twin::UnfencedProbe
                    || self.probe.is_some_and(|(permit, until)| permit == report.permit && now < until);
                if !mine {
                    return;
                }
                match report.verdict {
                    Verdict::Success => {
                        self.marks.clear();
                        self.cycle = 0;
                        self.inconclusive = 0;
                        self.avoid = None;
                        self.turn(State::Closed, now);
                    }
                    Verdict::ProviderFailure => {
                        self.cycle += 1;
                        self.until = now + rules.timeout(self.cycle);
                        self.turn(State::Open, now);
                    }
                    Verdict::Alive => {
                        self.probe = None;
                        self.avoid = Some((report.connection, now + 1_000));
                        self.inconclusive += 1;
                        if self.inconclusive >= rules.inconclusive {
                            self.until = now + rules.reset;
                            self.turn(State::Open, now);
                        }
                    }
                    Verdict::Neutral => self.probe = None,
                }
            }
            _ if twin != Twin::IgnoredGeneration && report.generation != self.generation => {}
            _ => match report.verdict {
                Verdict::Success if !self.marks.is_empty() => {
                    self.marks.remove(0);
                    self.settle(now, rules);
                }
                Verdict::ProviderFailure => {
                    let tag = permit_tag(report.permit);
                    let last = self.marks.iter().rev().find(|mark| mark.1 == report.connection).copied();
                    let again = self.marks.iter().any(|mark| mark.1 == report.connection && mark.2 == tag);
                    let burst =
                        last.is_some_and(|mark| report.started <= mark.0 && now - mark.0 < rules.coalesce);
                    if again || burst {
                        return;
                    }
                    self.marks.push((now, report.connection, tag));
                    while self.marks.len() > rules.opens_at as usize {
                        self.marks.remove(0);
                    }
                    let others = self.marks.iter().any(|mark| mark.1 != report.connection);
                    if self.marks.len() == rules.opens_at as usize && (others || report.alone_may_open) {
                        self.until = now + rules.timeout(self.cycle);
                        self.turn(State::Open, now);
                    } else if self.marks.len() >= rules.degraded_at as usize && self.state == State::Closed {
                        self.turn(State::Degraded, now);
                    }
                }
                _ => {}
            },
        }
    }
}

#[derive(Debug, Clone)]
enum Step {
    Wait(i64),
    Ask(u16),
    Tell(usize, Verdict, bool),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        3 => (0_i64..40_000).prop_map(Step::Wait),
        1 => (40_000_i64..2_000_000).prop_map(Step::Wait),
        4 => (0_u16..3).prop_map(Step::Ask),
        8 => (0_usize..8, prop_oneof![
            5 => Just(Verdict::ProviderFailure), 2 => Just(Verdict::Success), 1 => Just(Verdict::Alive), 1 => Just(Verdict::Neutral)
        ], any::<bool>()).prop_map(|(i, v, b)| Step::Tell(i, v, b)),
    ];
    proptest::collection::vec(step, 1..300)
}

/// Runs both and says where they part. The jitter of the real one is taken over by the model.
fn agree(steps: &[Step], twin: Twin) -> Result<(), String> {
    let rules = rules(Class::Local);
    let rules = Rules { opens_at: 4, degraded_at: 3, ..rules };
    let rng = Rng::new(3);
    let mut real = Breaker::default();
    let mut model = Model {
        marks: vec![],
        state: State::Closed,
        until: 0,
        cycle: 0,
        generation: 0,
        probe: None,
        inconclusive: 0,
        avoid: None,
    };
    let (mut now, mut number) = (1_000_000, 0);
    let mut out: Vec<(PermitId, u16, u64, i64)> = Vec::new();
    for (i, step) in steps.iter().enumerate() {
        let before = real.clone();
        match step {
            Step::Wait(ms) => now += ms,
            Step::Ask(connection) => {
                number += 1;
                let permit = PermitId { process: 1, number };
                let asking = Asking { permit, connection: *connection, others: true };
                let (answer, _) = real.admit(&asking, now, &rules, &rng);
                let granted = !matches!(answer, Answer::Deny(_));
                if model.ask(permit, *connection, now, &rules) != granted {
                    return Err(format!("step {i}: {step:?} gave {answer:?}"));
                }
                if granted {
                    out.push((permit, *connection, real.generation, now));
                }
            }
            Step::Tell(at, verdict, alone) => {
                if out.is_empty() {
                    continue;
                }
                let (permit, connection, generation, started) = out.remove(at % out.len());
                let report = Report {
                    verdict: *verdict,
                    generation,
                    permit,
                    connection,
                    started,
                    alone_may_open: *alone,
                    single: false,
                    uncorroborated: false,
                };
                real.report(&report, now, &rules, &rng);
                model.tell(&report, now, &rules, twin);
            }
        }
        if real.state == State::Open && before.state != State::Open {
            let (real_wait, wait) = (real.open_until - now, model.until - now);
            if model.state == State::Open && !(wait * 9 / 10..=wait * 11 / 10).contains(&real_wait) {
                return Err(format!("step {i}: open for {real_wait}, not about {wait}"));
            }
            model.until = real.open_until;
        }
        if before.state == State::Open && real.state == State::Open && real.open_until != before.open_until {
            return Err(format!("step {i}: the deadline moved"));
        }
        let same = real.state == model.state
            && real.generation == model.generation
            && real.failures.len() == model.marks.len()
            && real.probe.map(|p| (p.permit, p.lease_until)) == model.probe;
        if !same && !matches!(step, Step::Wait(_)) {
            return Err(format!("step {i}: {step:?}: {:?} is not {:?}", real.state, model.state));
        }
        let bytes = real.encode(&[]);
        if Breaker::decode(&bytes) != Some((real.clone(), &[][..])) {
            return Err(format!("step {i}: does not survive storing"));
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]
    #[test]
    fn it_agrees_with_the_model(steps in steps()) {
        prop_assert_eq!(agree(&steps, Twin::Right), Ok(()));
    }
}

#[test]
fn broken_twins_are_caught_by_the_model() {
    use proptest::strategy::ValueTree;
    use proptest::test_runner::TestRunner;
    for twin in [Twin::UnfencedProbe, Twin::IgnoredGeneration] {
        let mut runner = TestRunner::deterministic();
        let caught = (0..400).any(|_| {
            let steps = steps().new_tree(&mut runner).unwrap().current();
            agree(&steps, twin).is_err()
        });
        assert!(caught, "{twin:?}");
    }
}
