//! Offerings that did badly are left out for a while, then tried a few times before they are trusted again.

use std::collections::HashMap;
use std::sync::Arc;

use omniroute_core::UnixMs;

const MINUTE: i64 = 60_000;
/// Score below which an offering is left out.
pub(crate) const FLOOR: f32 = 0.20;
/// Score it needs to come back.
pub(crate) const RETURN: f32 = 0.30;
/// Good attempts in a row that end the trial.
const PROBES: u8 = 3;
/// Of so many requests, one goes to an offering on trial.
const PROBE_EVERY: u64 = 8;
/// Candidates below which nothing is left out.
pub(crate) const SMALLEST_POOL: usize = 3;

/// How an offering may be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Trust {
    /// As any other.
    Full,
    /// Behind the others, now and then in front.
    Trial,
    /// Not at all.
    Out,
}

/// What is remembered about offerings that did badly.
#[derive(Debug, Default)]
pub(crate) struct Heal {
    rows: HashMap<Arc<str>, Row>,
    /// Most providers are down.
    pub(crate) incident: bool,
}

#[derive(Debug, Clone, Copy, Default)]
struct Row {
    streak: u32,
    until: i64,
    length: i64,
    probes: u8,
    out: bool,
}

impl Heal {
    /// True if nobody did badly.
    pub(crate) fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// How an offering may be used now.
    pub(crate) fn trust(&self, offering: &str, score: f32, now: UnixMs) -> Trust {
        match self.rows.get(offering) {
            Some(row) if row.out && (now.0 < row.until || score < RETURN) => Trust::Out,
            Some(row) if row.out => Trust::Trial,
            _ => Trust::Full,
        }
    }

    /// Whether this request is one that goes to an offering on trial.
    pub(crate) fn probes(ticket: u64) -> bool {
        ticket % PROBE_EVERY == PROBE_EVERY - 1
    }

    /// Counts an attempt.
    pub(crate) fn observe(&mut self, offering: &str, success: bool, now: UnixMs) {
        if success {
            let Some(row) = self.rows.get_mut(offering) else { return };
            row.streak = 0;
            if row.out && now.0 >= row.until {
                row.probes += 1;
            }
            if !row.out || row.probes >= PROBES {
                self.rows.remove(offering);
            }
            return;
        }
        let row = self.row(offering);
        row.streak += 1;
        if row.out && now.0 >= row.until {
            // A failed trial: twice as long.
            row.length = (row.length * 2).min(60 * MINUTE);
            row.until = now.0 + row.length;
            row.probes = 0;
        }
        let minutes = match row.streak {
            3 => 5,
            6 => 15,
            9 => 60,
            _ => return,
        };
        row.out = true;
        row.probes = 0;
        row.length = row.length.max(minutes * MINUTE);
        row.until = row.until.max(now.0 + minutes * MINUTE);
    }

    /// Leaves out an offering whose score is too low: five minutes, then twice as long, half an hour at most.
    pub(crate) fn exclude(&mut self, offering: &Arc<str>, now: UnixMs) {
        let row = self.rows.entry(offering.clone()).or_default();
        if row.out && now.0 < row.until {
            return;
        }
        row.length = if row.length == 0 { 5 * MINUTE } else { (row.length * 2).min(30 * MINUTE) };
        row.until = now.0 + row.length;
        row.out = true;
        row.probes = 0;
    }

    /// Notes how many providers are down: more than half starts an incident, two fifths end it.
    pub(crate) fn providers(&mut self, down: usize, all: usize) {
        if all == 0 {
            return;
        }
        if down * 2 > all {
            self.incident = true;
        } else if down * 5 <= all * 2 {
            self.incident = false;
        }
    }

    fn row(&mut self, offering: &str) -> &mut Row {
        if !self.rows.contains_key(offering) {
            self.rows.insert(offering.into(), Row::default());
        }
        self.rows.get_mut(offering).expect("put there if it was missing")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(minutes: i64) -> UnixMs {
        UnixMs(minutes * MINUTE)
    }

    #[test]
    fn three_failures_then_a_pause_then_three_trials() {
        let mut heal = Heal::default();
        for _ in 0..2 {
            heal.observe("a/m", false, at(0));
        }
        assert_eq!(heal.trust("a/m", 1.0, at(0)), Trust::Full);
        heal.observe("a/m", false, at(0));
        assert_eq!(heal.trust("a/m", 1.0, at(4)), Trust::Out);
        assert_eq!(heal.trust("a/m", 1.0, at(5)), Trust::Trial);
        assert_eq!(heal.trust("a/m", 0.25, at(5)), Trust::Out, "its score has to be better, too");
        for probe in 0..3 {
            assert_eq!(heal.trust("a/m", 1.0, at(5)), Trust::Trial, "{probe}");
            heal.observe("a/m", true, at(5));
        }
        assert_eq!(heal.trust("a/m", 1.0, at(5)), Trust::Full);
        assert!(heal.is_empty());
    }

    #[test]
    fn a_failed_trial_doubles_the_pause() {
        let mut heal = Heal::default();
        for _ in 0..3 {
            heal.observe("a/m", false, at(0));
        }
        heal.observe("a/m", false, at(6));
        assert_eq!(heal.trust("a/m", 1.0, at(15)), Trust::Out);
        assert_eq!(heal.trust("a/m", 1.0, at(16)), Trust::Trial);
    }

    #[test]
    fn longer_streaks_pause_longer() {
        let mut heal = Heal::default();
        for (failures, minutes) in [(3, 5), (6, 15), (9, 60)] {
            while heal.rows.get("a/m").is_none_or(|row| row.streak < failures) {
                heal.observe("a/m", false, at(0));
            }
            assert_eq!(heal.trust("a/m", 1.0, at(minutes - 1)), Trust::Out, "{failures}");
            assert_eq!(heal.trust("a/m", 1.0, at(minutes)), Trust::Trial, "{failures}");
        }
    }

    #[test]
    fn an_incident_ends_later_than_it_begins() {
        let mut heal = Heal::default();
        for (down, expected) in [(5, false), (6, true), (5, true), (4, false), (5, false)] {
            heal.providers(down, 10);
            assert_eq!(heal.incident, expected, "{down}");
        }
    }
}
