//! Calls and tokens per minute and day of one connection: one date for each limit, no queue.

use crate::codec::{Reader, Value, Writer};
use crate::limits::learned::{Kind, Learned, Sight};

/// What a connection may do. Zero or absent means no limit of that kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, serde::Serialize, serde::Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Limits {
    /// Attempts at once.
    pub max_concurrent: Option<u32>,
    /// Calls per minute.
    pub rpm: Option<u32>,
    /// Tokens per minute.
    pub tpm: Option<u64>,
    /// Calls per day (UTC).
    pub rpd: Option<u32>,
    /// Tokens per day (UTC).
    pub tpd: Option<u64>,
    /// Milliseconds between two starts.
    pub min_gap: Option<u32>,
}

impl Limits {
    /// Whether starts have to be counted.
    pub fn counts(&self) -> bool {
        some(self.rpm.map(u64::from)).is_some()
            || some(self.tpm).is_some()
            || some(self.rpd.map(u64::from)).is_some()
            || some(self.tpd).is_some()
            || some(self.min_gap.map(u64::from)).is_some()
    }

    /// These, and where they say nothing, those of `other`.
    #[must_use]
    pub fn or(&self, other: &Limits) -> Limits {
        Limits {
            max_concurrent: self.max_concurrent.or(other.max_concurrent),
            rpm: self.rpm.or(other.rpm),
            tpm: self.tpm.or(other.tpm),
            rpd: self.rpd.or(other.rpd),
            tpd: self.tpd.or(other.tpd),
            min_gap: self.min_gap.or(other.min_gap),
        }
    }

    /// Attempts at once, if limited.
    pub fn concurrent(&self) -> Option<u32> {
        self.max_concurrent.filter(|limit| *limit > 0)
    }
}

fn some(limit: Option<u64>) -> Option<u64> {
    limit.filter(|limit| *limit > 0)
}

/// State of the limits of one connection.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Rate {
    /// When the next call would be on time at an even pace, in microseconds.
    pub calls_at: i64,
    /// The same for tokens.
    pub tokens_at: i64,
    /// When the last attempt started, ms.
    pub last_start: i64,
    /// The day that is counted.
    pub day: i64,
    /// Calls on that day.
    pub day_calls: u64,
    /// Tokens on that day.
    pub day_tokens: u64,
    /// What answers told about the limits, each kind once.
    pub learned: Vec<Learned>,
}

const DAY: i64 = 86_400_000;

impl Rate {
    /// Counts the start of an attempt that may cost `tokens`, or says when it may start.
    ///
    /// # Errors
    /// The exact date, in milliseconds, before which it may not start. Nothing is counted then.
    pub fn start(&mut self, limits: &Limits, tokens: u64, now: i64) -> Result<(), i64> {
        let limits = &self.effective(limits);
        let today = now.div_euclid(DAY);
        if self.day != today {
            (self.day, self.day_calls, self.day_tokens) = (today, 0, 0);
        }
        let mut not_before = now;
        let mut later = |at: i64| not_before = not_before.max(at);
        if let Some(gap) = some(limits.min_gap.map(u64::from)) {
            later(self.last_start.min(now).saturating_add(gap.cast_signed()));
        }
        let midnight = (today + 1) * DAY;
        if some(limits.rpd.map(u64::from)).is_some_and(|limit| self.day_calls >= limit) {
            later(midnight);
        }
        // One call larger than a whole day's allowance may still go when the day is empty.
        let over = |limit: u64| self.day_tokens > 0 && self.day_tokens.saturating_add(tokens) > limit;
        if some(limits.tpd).is_some_and(over) {
            later(midnight);
        }
        let calls = some(limits.rpm.map(u64::from)).map(|limit| Pace::new(limit, (limit / 10).max(1)));
        let tokens_pace = some(limits.tpm).map(|limit| Pace::new(limit, (limit / 4).max(1)));
        if let Some(pace) = &calls {
            later(pace.not_before(self.calls_at, 1, now));
        }
        if let Some(pace) = &tokens_pace {
            later(pace.not_before(self.tokens_at, tokens, now));
        }
        for learned in &self.learned {
            later(learned.not_before(now));
        }
        if not_before > now {
            return Err(not_before);
        }
        if let Some(pace) = &calls {
            self.calls_at = pace.after(self.calls_at, 1, now);
        }
        if let Some(pace) = &tokens_pace {
            self.tokens_at = pace.after(self.tokens_at, tokens, now);
        }
        for learned in &mut self.learned {
            learned.started(if learned.kind.tokens() { tokens } else { 1 }, now);
        }
        self.last_start = now;
        self.day_calls += 1;
        self.day_tokens = self.day_tokens.saturating_add(tokens);
        Ok(())
    }

    /// Takes in what an answer told. Forgets what was told longer than `keep` ms ago.
    pub fn learn(&mut self, sights: &[Sight], keep: i64, now: i64) {
        self.settle(keep, now);
        for sight in sights {
            Learned::note(&mut self.learned, sight, now);
        }
    }

    /// Forgets what was told longer than `keep` ms ago. True if the last start lies in the future: the clock went
    /// back, and everything moves back with it.
    pub fn settle(&mut self, keep: i64, now: i64) -> bool {
        let back = self.last_start.saturating_sub(now);
        if back > 0 {
            self.last_start = now;
            self.calls_at = self.calls_at.saturating_sub(back.saturating_mul(1_000));
            self.tokens_at = self.tokens_at.saturating_sub(back.saturating_mul(1_000));
            self.learned.iter_mut().for_each(|learned| learned.set_back(back));
        }
        self.learned.retain(|learned| now.saturating_sub(learned.at) <= keep);
        back > 0
    }

    /// The settings, and where an answer told of a lower limit, or there are none, that one.
    fn effective(&self, limits: &Limits) -> Limits {
        let told = |kind: Kind| self.learned.iter().find(|learned| learned.kind == kind);
        let least = |set: Option<u64>, kind: Kind| {
            let told = told(kind).map(|learned| learned.limit);
            some(set).into_iter().chain(told).min()
        };
        let small = |set: Option<u32>, kind: Kind| {
            least(set.map(u64::from), kind).map(|limit| u32::try_from(limit).unwrap_or(u32::MAX))
        };
        Limits {
            rpm: small(limits.rpm, Kind::CallsMinute),
            tpm: least(limits.tpm, Kind::TokensMinute),
            rpd: small(limits.rpd, Kind::CallsDay),
            tpd: least(limits.tpd, Kind::TokensDay),
            ..*limits
        }
    }

    /// Corrects an estimate by what was really used.
    pub fn correct(&mut self, limits: &Limits, estimated: u64, real: u64) {
        let limits = &self.effective(limits);
        if let Some(limit) = some(limits.tpm) {
            let pace = Pace::new(limit, 1);
            self.tokens_at =
                self.tokens_at.saturating_add(pace.cost(real)).saturating_sub(pace.cost(estimated));
        }
        self.day_tokens = self.day_tokens.saturating_add(real).saturating_sub(estimated);
    }

    /// When nothing of it matters any more, ms.
    pub fn ends(&self) -> i64 {
        let learned = self.learned.iter().map(|learned| learned.at.saturating_add(DAY)).max().unwrap_or(0);
        let paces = self.calls_at.max(self.tokens_at) / 1_000;
        paces.max((self.day + 1) * DAY).max(learned).saturating_add(60_000)
    }
}

/// An even pace with some burst.
struct Pace {
    limit: u64,
    burst: u64,
}

impl Pace {
    fn new(limit: u64, burst: u64) -> Pace {
        Pace { limit, burst }
    }

    /// How long `amount` takes at this pace, microseconds.
    fn cost(&self, amount: u64) -> i64 {
        i64::try_from(u128::from(amount) * 60_000_000 / u128::from(self.limit)).unwrap_or(i64::MAX / 4)
    }

    /// Earliest date in ms at which `amount` fits; more than a whole burst fits when nothing is owed.
    fn not_before(&self, at: i64, amount: u64, now: i64) -> i64 {
        let room = self.cost(self.burst);
        let owed = at.saturating_add(self.cost(amount.min(self.burst))).saturating_sub(room);
        now.max(owed.div_euclid(1_000) + i64::from(owed.rem_euclid(1_000) > 0))
    }

    fn after(&self, at: i64, amount: u64, now: i64) -> i64 {
        at.max(now.saturating_mul(1_000)).saturating_add(self.cost(amount))
    }
}

impl Value for Rate {
    fn encode(&self, tail: &[u8]) -> Vec<u8> {
        let mut out = Writer::new();
        out.i(self.calls_at).i(self.tokens_at).i(self.last_start);
        out.i(self.day).u(self.day_calls).u(self.day_tokens).u(self.learned.len() as u64);
        for learned in &self.learned {
            learned.encode(&mut out);
        }
        out.finish(tail)
    }

    fn decode(bytes: &[u8]) -> Option<(Self, &[u8])> {
        let mut input = Reader::new(bytes)?;
        let mut rate = Rate {
            calls_at: input.i()?,
            tokens_at: input.i()?,
            last_start: input.i()?,
            day: input.i()?,
            day_calls: input.u()?,
            day_tokens: input.u()?,
            learned: Vec::new(),
        };
        for _ in 0..input.count()? {
            rate.learned.push(Learned::decode(&mut input)?);
        }
        Some((rate, input.rest()))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn zero_is_no_limit() {
        let limits = Limits { rpm: Some(0), max_concurrent: Some(0), ..Limits::default() };
        assert!(!limits.counts());
        assert_eq!(limits.concurrent(), None);
    }

    #[test]
    fn the_refusal_names_the_exact_date() {
        let limits = Limits { rpm: Some(60), ..Limits::default() };
        let mut rate = Rate::default();
        let now = 1_000_000;
        for _ in 0..6 {
            assert_eq!(rate.start(&limits, 0, now), Ok(()), "a burst of a tenth");
        }
        let at = rate.start(&limits, 0, now).unwrap_err();
        assert_eq!(at, now + 1_000);
        assert!(rate.start(&limits, 0, at - 1).is_err());
        assert_eq!(rate.start(&limits, 0, at), Ok(()));
    }

    #[test]
    fn days_gaps_and_corrections() {
        let mut rate = Rate::default();
        let limits = Limits { rpd: Some(2), min_gap: Some(350), ..Limits::default() };
        let now = 10 * DAY;
        assert_eq!(rate.start(&limits, 5, now), Ok(()));
        assert_eq!(rate.start(&limits, 5, now + 1), Err(now + 350));
        assert_eq!(rate.start(&limits, 5, now + 350), Ok(()));
        assert_eq!(rate.start(&limits, 5, now + 900), Err(11 * DAY));
        assert_eq!(rate.start(&limits, 5, 11 * DAY), Ok(()));
        let limits = Limits { tpm: Some(6_000), ..Limits::default() };
        let mut rate = Rate::default();
        rate.start(&limits, 1_500, now).unwrap();
        let late = rate.start(&limits, 1_000, now).unwrap_err();
        rate.correct(&limits, 1_500, 100);
        assert!(rate.start(&limits, 1_000, now).is_ok(), "was {late}");
        rate.learn(&[Sight { kind: Kind::TokensDay, limit: 9, left: 0, lasts: 50 }], 1_000, now);
        let bytes = rate.encode(&[]);
        assert_eq!(Rate::decode(&bytes), Some((rate, &[][..])));
    }

    #[test]
    fn the_lower_of_set_and_told_counts_for_a_day() {
        let set = Limits { rpm: Some(60), ..Limits::default() };
        let told = |limit| Sight { kind: Kind::CallsMinute, limit, left: limit, lasts: 60_000 };
        let burst =
            |rate: &mut Rate, now: i64| (0..1_000).take_while(|_| rate.start(&set, 0, now).is_ok()).count();
        for (limit, expected) in [(30, 3), (600, 6)] {
            let mut rate = Rate::default();
            rate.learn(&[told(limit)], DAY, 10 * DAY);
            assert_eq!(burst(&mut rate, 10 * DAY), expected, "told of {limit}");
            rate.settle(DAY, 11 * DAY + 1);
            assert_eq!(burst(&mut rate, 11 * DAY + 1), 6, "what was told is forgotten");
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]
        /// In no minute more calls than the limit and the burst together, and a patient caller gets the limit.
        #[test]
        fn never_more_than_the_limit_in_any_minute(rpm in 1_u32..300, waits in proptest::collection::vec(0_i64..3_000, 50..300)) {
            let limits = Limits { rpm: Some(rpm), ..Limits::default() };
            let mut rate = Rate::default();
            let mut now = 5_000_000;
            let mut starts: Vec<i64> = Vec::new();
            for wait in waits {
                now += wait;
                match rate.start(&limits, 0, now) {
                    Ok(()) => starts.push(now),
                    Err(at) => {
                        prop_assert!(at > now);
                        prop_assert_eq!(rate.clone().start(&limits, 0, at), Ok(()));
                    }
                }
            }
            let most = rpm + (rpm / 10).max(1) + 1;
            for from in &starts {
                let inside = starts.iter().filter(|at| (*from..*from + 60_000).contains(*at)).count();
                prop_assert!(inside <= most as usize, "{} of {}", inside, rpm);
            }
        }
    }
}
