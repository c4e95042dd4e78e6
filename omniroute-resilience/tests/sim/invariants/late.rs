//! Reports of probes that reach the store in somebody else's step, and what they may do there.

use omniroute_core::{FailureKind, PermitId};

use crate::sim::facts::{Attempt, BreakerSeen, Fact};
use crate::sim::invariants::Watch;

/// What a probe was told before its report got lost on the way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Late {
    /// Content: the vendor is back.
    Content,
    /// It failed.
    Failed(FailureKind),
    /// It was given up, or ended by ourselves.
    Nothing,
}

impl Late {
    /// Whether a breaker may leave half open for this state because of it.
    fn leads_to(self, state: u64) -> bool {
        match self {
            Late::Content => state < 2,
            Late::Failed(FailureKind::Unavailable | FailureKind::Timeout) | Late::Nothing => state == 2,
            // What the vendor refuses shows that it is there.
            Late::Failed(_) => true,
        }
    }
}

impl Watch {
    /// A vendor answered. While the store is away the report of it waits there.
    pub(crate) fn answered(&mut self, fact: &Fact, attempt: &Attempt, failure: Option<FailureKind>) {
        let away = !self.steady(fact.at);
        let Some(live) = self.live.get_mut(&attempt.permit) else { return };
        let answer = failure.map_or(Late::Content, Late::Failed);
        live.answer = Some(answer);
        if live.probe && away {
            self.late.insert(attempt.permit, answer);
        }
    }

    /// Whether a breaker left half open by the report of its own probe, which somebody else brought.
    pub(crate) fn late_probe(&mut self, old: &BreakerSeen, new: &BreakerSeen) -> bool {
        let Some((process, number, _)) = old.probe else { return false };
        let permit = PermitId { process, number };
        let late = self.late.get(&permit).is_some_and(|late| late.leads_to(new.state));
        self.counts.tolerated += u64::from(late);
        late
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sim::facts::{AccountSeen, Blame, Cause, Change, Special, What};
    use crate::sim::invariants::Numbers;

    const NUMBERS: Numbers =
        Numbers { longest_open: 480_000, probe_lease: 90_000, max_level: 5, longest_rest: 96_000 };

    fn attempt(number: u64) -> Attempt {
        let permit = PermitId { process: 1, number };
        Attempt { permit, account: 0, vendor: 0, model: 0, at: 1_000, production: true }
    }

    /// Rules that are broken when a probe goes out, the store is away or not, the probe is answered and reported or
    /// not, and then another attempt's step brings the breaker into this state.
    fn broken(
        away: bool,
        answer: Option<Option<FailureKind>>,
        reported: bool,
        state: u64,
    ) -> Vec<&'static str> {
        let mut watch = Watch::new(vec![NUMBERS], vec![0]);
        let (probe, other) = (attempt(7), attempt(8));
        let half = BreakerSeen { state: 3, probe: Some((1, 7, 91_000)), ..BreakerSeen::default() };
        let open_until = if state == 2 { 60_000 } else { 0 };
        let new = BreakerSeen { state, open_until, ..BreakerSeen::default() };
        let cause = Cause::Failure(other, FailureKind::Timeout, Blame::default());
        let mut see = |at, what| watch.see(&Fact { at, wall: at, what });
        for (attempt, probe) in [(probe, true), (other, false)] {
            let special = Special { probe, ..Special::default() };
            see(1_000, What::Granted { attempt, host: 1, request: attempt.permit.number, special });
        }
        if away {
            see(2_000, What::Store { up: false });
        }
        if let Some(failure) = answer {
            see(3_000, What::Answered { attempt: probe, failure });
        }
        see(3_000, What::Settled { attempt: probe, reported });
        if away {
            see(4_000, What::Store { up: true });
        }
        see(5_000, What::Changed { change: Change::Breaker { who: 0, old: half, new }, cause });
        watch.violations.iter().map(|violation| violation.rule).collect()
    }

    #[test]
    fn a_probe_may_be_heard_late_but_not_as_something_else() {
        let (failed, refused) = (Some(FailureKind::Timeout), Some(FailureKind::RateLimited));
        let fine = [
            (true, Some(failed), true, 2),
            (true, Some(None), true, 0),
            (true, Some(refused), true, 0),
            (true, None, true, 2),
            (false, Some(failed), false, 2),
            (false, Some(None), false, 0),
        ];
        for (away, answer, reported, state) in fine {
            assert!(broken(away, answer, reported, state).is_empty(), "{away} {answer:?} {reported} {state}");
        }
        let wrong = [
            // It was heard at once: whoever comes later does not speak for it.
            (false, Some(failed), true, 2),
            (false, Some(None), true, 0),
            // It was heard as something else.
            (true, Some(failed), true, 0),
            (true, Some(None), true, 2),
            (true, None, true, 0),
            (false, Some(failed), false, 0),
            (false, None, false, 0),
        ];
        for (away, answer, reported, state) in wrong {
            assert_eq!(
                broken(away, answer, reported, state),
                ["path"],
                "{away} {answer:?} {reported} {state}"
            );
        }
    }

    /// Rules that are broken by a failure of our own whose step ends an account as often as this, when as many
    /// reports wait for the store.
    fn ended(waiting: usize, times: usize) -> Vec<&'static str> {
        let mut watch = Watch::new(vec![NUMBERS], vec![0, 0]);
        watch.see(&Fact { at: 2_000, wall: 2_000, what: What::Store { up: false } });
        for number in 0..waiting {
            watch.failed(3_000, &attempt(number as u64), true);
        }
        let ours = Attempt { account: 1, ..attempt(9) };
        let cause = Cause::Failure(ours, FailureKind::Timeout, Blame { status: 0, local: true });
        let (old, new) = (AccountSeen::default(), AccountSeen { terminal: 1, ..AccountSeen::default() });
        for _ in 0..times {
            let change = Change::Account { who: 0, old, new };
            watch.see(&Fact { at: 9_000, wall: 9_000, what: What::Changed { change, cause } });
        }
        watch.violations.iter().map(|violation| violation.rule).collect()
    }

    #[test]
    fn a_report_that_waited_explains_one_change_to_all_who_ask() {
        assert!(ended(1, 1).is_empty());
        assert!(ended(2, 2).is_empty());
        assert_eq!(ended(1, 2), ["terminal", "I-12"]);
        assert_eq!(ended(0, 1), ["terminal", "I-12"]);
    }
}
