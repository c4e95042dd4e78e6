//! When the server is given up, when it is asked again: the store's own breaker. Pure.

use std::collections::VecDeque;
use std::time::Duration;

use omniroute_core::Mono;

/// Refusals within [`REFUSAL_WINDOW`] that give the server up.
const REFUSALS: usize = 3;
const REFUSAL_WINDOW: Duration = Duration::from_secs(1);
/// Slow answers must go on for this long; a blip is no outage.
const SLOW_FOR: Duration = Duration::from_secs(2);

/// What went wrong with one call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fault {
    /// Not reachable, or it refuses to work.
    Refused,
    /// No answer in time, or no free connection.
    Slow,
}

/// How things stand.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Mode {
    Connected,
    /// Working alone until a probe succeeds.
    Apart {
        since: Mono,
        next_probe: Mono,
        probing: bool,
    },
}

/// The state, with what led to it.
#[derive(Debug)]
pub(super) struct Health {
    pub(super) mode: Mode,
    refusals: VecDeque<Mono>,
    slow_since: Option<Mono>,
    pub(super) reason: Option<String>,
    pub(super) faults: u64,
    pub(super) outages: u64,
}

impl Health {
    pub(super) fn new() -> Health {
        Health {
            mode: Mode::Connected,
            refusals: VecDeque::with_capacity(REFUSALS),
            slow_since: None,
            reason: None,
            faults: 0,
            outages: 0,
        }
    }

    pub(super) fn connected(&self) -> bool {
        self.mode == Mode::Connected
    }

    /// Whether the last answers did not come in time.
    pub(super) fn slow(&self) -> bool {
        self.slow_since.is_some()
    }

    pub(super) fn ok(&mut self) {
        self.refusals.clear();
        self.slow_since = None;
    }

    /// Counts a failed call; may give the server up.
    pub(super) fn fault(&mut self, fault: Fault, reason: &str, now: Mono) {
        self.faults += 1;
        let give_up = match fault {
            Fault::Refused => {
                self.refusals.push_back(now);
                if self.refusals.len() > REFUSALS {
                    self.refusals.pop_front();
                }
                self.refusals.len() == REFUSALS
                    && self.refusals.front().is_some_and(|first| now.since(*first) <= REFUSAL_WINDOW)
            }
            Fault::Slow => now.since(*self.slow_since.get_or_insert(now)) >= SLOW_FOR,
        };
        if give_up {
            self.give_up(reason, now);
        }
    }

    /// Works alone from now on; the first probe is due at once.
    pub(super) fn give_up(&mut self, reason: &str, now: Mono) {
        if self.connected() {
            self.mode = Mode::Apart { since: now, next_probe: now, probing: false };
            self.reason = Some(reason.to_owned());
            self.outages += 1;
        }
    }

    /// Whether the caller must probe now; nobody else will until it tells the result.
    pub(super) fn take_probe(&mut self, now: Mono) -> bool {
        match &mut self.mode {
            Mode::Apart { next_probe, probing, .. } if !*probing && now >= *next_probe => {
                *probing = true;
                true
            }
            _ => false,
        }
    }

    pub(super) fn probe_failed(&mut self, next: Mono) {
        if let Mode::Apart { next_probe, probing, .. } = &mut self.mode {
            (*next_probe, *probing) = (next, false);
        }
    }

    pub(super) fn joined(&mut self) {
        self.mode = Mode::Connected;
        self.ok();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: u64) -> Mono {
        Mono(ms * 1_000_000)
    }

    #[test]
    fn three_refusals_within_a_second_give_up() {
        for (times, gives_up) in [
            (&[0, 500, 1_000][..], true),
            (&[0, 500, 1_001], false),
            (&[0, 600, 1_200, 1_500], true),
            (&[0, 1], false),
        ] {
            let mut health = Health::new();
            for ms in times {
                health.fault(Fault::Refused, "refused", at(*ms));
            }
            assert_eq!(!health.connected(), gives_up, "{times:?}");
        }
    }

    #[test]
    fn a_blip_is_no_outage_but_two_seconds_of_it_are() {
        let mut health = Health::new();
        for ms in (0..1_950).step_by(50) {
            health.fault(Fault::Slow, "slow", at(ms));
        }
        assert!(health.connected() && health.slow());
        health.ok();
        health.fault(Fault::Slow, "slow", at(2_000));
        assert!(health.connected(), "an answer in between starts anew");
        health.fault(Fault::Slow, "slow", at(4_000));
        assert!(!health.connected());
        assert_eq!((health.faults, health.outages), (41, 1));
    }

    #[test]
    fn one_probe_at_a_time() {
        let mut health = Health::new();
        assert!(!health.take_probe(at(0)));
        health.give_up("test", at(10));
        assert!(health.take_probe(at(10)));
        assert!(!health.take_probe(at(5_000)), "one is on its way");
        health.probe_failed(at(6_000));
        assert!(!health.take_probe(at(5_999)));
        assert!(health.take_probe(at(6_000)));
        health.joined();
        assert!(health.connected() && !health.take_probe(at(9_000)));
    }
}
