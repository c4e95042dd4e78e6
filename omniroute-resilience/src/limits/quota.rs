//! What consumers used of a shared allowance: sliding sums, reservations, and the fair-share gate.

use std::sync::Arc;

use omniroute_core::{PermitId, QuotaWindow};

use crate::codec::{Reader, Value, Writer};

/// What happens to a consumer beyond its fair share.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Policy {
    /// Refused while others need it.
    #[default]
    Hard,
    /// Allowed, and told that it should come later.
    Soft,
    /// Allowed.
    Burst,
}

/// One consumer's part in a pool.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Allocation {
    /// Who.
    pub consumer: Arc<str>,
    /// Its share in percent, 0 to 100.
    pub weight: u32,
    /// Never more than this, in the dimension's unit.
    pub hard_cap: Option<u64>,
    /// Beyond the share.
    pub policy: Policy,
}

/// The gate's word.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Gate {
    /// Go.
    Allow,
    /// Go, but others come first.
    Penalised,
    /// No.
    Block,
}

/// The fair-share gate: a consumer's own use and everybody's, against the limit.
pub fn gate(allocation: &Allocation, own: u64, total: u64, limit: u64, strict_from_ppm: u32) -> Gate {
    if allocation.hard_cap.is_some_and(|cap| own >= cap) || total >= limit {
        return Gate::Block;
    }
    let fair = u128::from(limit) * u128::from(allocation.weight) / 100;
    let strict = u128::from(total) * 1_000_000 >= u128::from(limit) * u128::from(strict_from_ppm);
    match (u128::from(own) >= fair, allocation.policy, strict) {
        (false, ..) | (true, Policy::Burst, _) | (true, Policy::Hard, false) => Gate::Allow,
        (true, Policy::Soft, _) => Gate::Penalised,
        (true, Policy::Hard, true) => Gate::Block,
    }
}

/// Buckets of a window: how many, and how long each is in ms. A sum is off by one bucket's content at most.
pub fn buckets(window: QuotaWindow) -> (i64, i64) {
    match window {
        QuotaWindow::Minute => (60, 1_000),
        QuotaWindow::Hour => (60, 60_000),
        QuotaWindow::FiveHours => (60, 300_000),
        QuotaWindow::Day => (48, 1_800_000),
        QuotaWindow::Week => (56, 10_800_000),
        _ => (60, 43_200_000),
    }
}

/// What one consumer used, by bucket.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Used {
    pub(crate) consumer: u64,
    pub(crate) buckets: Vec<(i64, u64)>,
}

impl Used {
    fn add(&mut self, bucket: i64, amount: u64) {
        match self.buckets.iter_mut().find(|(other, _)| *other == bucket) {
            Some((_, sum)) => *sum = sum.saturating_add(amount),
            None => self.buckets.push((bucket, amount)),
        }
    }
}

/// An amount set aside for an attempt that runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Held {
    pub(crate) permit: PermitId,
    pub(crate) consumer: u64,
    pub(crate) amount: u64,
    pub(crate) until: i64,
}

/// Use of one dimension of a pool. Consumers are told apart by a hash.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Usage {
    pub(crate) used: Vec<Used>,
    pub(crate) held: Vec<Held>,
}

/// The number a consumer has inside records.
pub fn consumer_number(consumer: &str) -> u64 {
    crate::rng::hash(consumer.as_bytes())
}

impl Usage {
    /// Forgets what has left the window; charges reservations that nobody came back for. True if something was used
    /// in the future: the clock went back, and it counts as used now.
    pub fn settle(&mut self, window: QuotaWindow, now: i64) -> bool {
        let (count, length) = buckets(window);
        let lost: Vec<Held> = self.held.iter().copied().filter(|held| held.until <= now).collect();
        self.held.retain(|held| held.until > now);
        for held in lost {
            self.add(held.consumer, held.amount, window, held.until);
        }
        let current = now.div_euclid(length);
        let mut moved = false;
        for used in &mut self.used {
            let mut ahead = 0_u64;
            used.buckets.retain(|(bucket, amount)| {
                if *bucket > current {
                    ahead = ahead.saturating_add(*amount);
                }
                (current - count..=current).contains(bucket)
            });
            if ahead > 0 {
                moved = true;
                used.add(current, ahead);
            }
        }
        self.used.retain(|used| !used.buckets.is_empty());
        moved
    }

    /// What a consumer used and has set aside; of everybody if none is named.
    pub fn sum(&self, consumer: Option<u64>, window: QuotaWindow, now: i64) -> u64 {
        let (count, length) = buckets(window);
        let current = now.div_euclid(length);
        let oldest = current - count;
        let part = u64::try_from(length - now.rem_euclid(length)).unwrap_or(0);
        let whole = u64::try_from(length).unwrap_or(1);
        let mine = |other: u64| consumer.is_none_or(|consumer| consumer == other);
        let used: u64 = self
            .used
            .iter()
            .filter(|used| mine(used.consumer))
            .flat_map(|used| &used.buckets)
            .map(|(bucket, amount)| match *bucket {
                bucket if bucket > oldest => *amount,
                bucket if bucket == oldest => {
                    u64::try_from(u128::from(*amount) * u128::from(part) / u128::from(whole)).unwrap_or(0)
                }
                _ => 0,
            })
            .sum();
        let held: u64 = self.held.iter().filter(|held| mine(held.consumer)).map(|held| held.amount).sum();
        used.saturating_add(held)
    }

    /// Sets an amount aside.
    pub fn reserve(&mut self, permit: PermitId, consumer: u64, amount: u64, until: i64) {
        if !self.held.iter().any(|held| held.permit == permit) {
            self.held.push(Held { permit, consumer, amount, until });
        }
    }

    /// Ends a reservation with what was really used; 0 gives it back. True if there was one: a second call, or
    /// one after it was charged for being late, changes nothing.
    pub fn finish(&mut self, permit: PermitId, real: u64, window: QuotaWindow, now: i64) -> bool {
        let Some(at) = self.held.iter().position(|held| held.permit == permit) else { return false };
        let held = self.held.remove(at);
        if real > 0 {
            self.add(held.consumer, real, window, now);
        }
        true
    }

    /// When a consumer's sum will have fallen below `below`, searched bucket by bucket. `now` if it has.
    pub fn falls_below(&self, consumer: Option<u64>, below: u64, window: QuotaWindow, now: i64) -> i64 {
        let (count, length) = buckets(window);
        (0..=count + 1)
            .map(|step| if step == 0 { now } else { (now.div_euclid(length) + step) * length })
            .find(|at| self.sum(consumer, window, *at) < below)
            .unwrap_or_else(|| now.saturating_add(count * length))
    }

    /// When nothing of it matters any more, ms.
    pub fn ends(&self, window: QuotaWindow, now: i64) -> i64 {
        let length = i64::try_from(window.length().as_millis()).unwrap_or(i64::MAX);
        let last = self.held.iter().map(|held| held.until).fold(now, i64::max);
        last.saturating_add(length).saturating_add(length / 4)
    }

    fn add(&mut self, consumer: u64, amount: u64, window: QuotaWindow, at: i64) {
        let bucket = at.div_euclid(buckets(window).1);
        let used = match self.used.iter().position(|used| used.consumer == consumer) {
            Some(position) => &mut self.used[position],
            None => {
                self.used.push(Used { consumer, buckets: Vec::new() });
                let last = self.used.len() - 1;
                &mut self.used[last]
            }
        };
        used.add(bucket, amount);
    }
}

impl Value for Usage {
    fn encode(&self, tail: &[u8]) -> Vec<u8> {
        let mut out = Writer::new();
        out.u(self.used.len() as u64);
        for used in &self.used {
            out.u(used.consumer).u(used.buckets.len() as u64);
            for (bucket, amount) in &used.buckets {
                out.i(*bucket).u(*amount);
            }
        }
        out.u(self.held.len() as u64);
        for held in &self.held {
            out.u(held.permit.process).u(held.permit.number).u(held.consumer).u(held.amount).i(held.until);
        }
        out.finish(tail)
    }

    fn decode(bytes: &[u8]) -> Option<(Self, &[u8])> {
        let mut input = Reader::new(bytes)?;
        let mut usage = Usage::default();
        for _ in 0..input.count()? {
            let mut used = Used { consumer: input.u()?, buckets: Vec::new() };
            for _ in 0..input.count()? {
                used.buckets.push((input.i()?, input.u()?));
            }
            usage.used.push(used);
        }
        for _ in 0..input.count()? {
            usage.held.push(Held {
                permit: PermitId { process: input.u()?, number: input.u()? },
                consumer: input.u()?,
                amount: input.u()?,
                until: input.i()?,
            });
        }
        Some((usage, input.rest()))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_gate_row_by_row() {
        let row = |policy, own, total, hard_cap| {
            let allocation = Allocation { consumer: "a".into(), weight: 25, hard_cap, policy };
            gate(&allocation, own, total, 1_000, 500_000)
        };
        for (policy, generous, strict) in [
            (Policy::Hard, Gate::Allow, Gate::Block),
            (Policy::Soft, Gate::Penalised, Gate::Penalised),
            (Policy::Burst, Gate::Allow, Gate::Allow),
        ] {
            assert_eq!(row(policy, 10, 10, Some(10)), Gate::Block, "own cap");
            assert_eq!(row(policy, 0, 1_000, None), Gate::Block, "nothing left");
            assert_eq!(row(policy, 250, 499, None), generous, "{policy:?} generous");
            assert_eq!(row(policy, 250, 500, None), strict, "{policy:?} strict");
            assert_eq!(row(policy, 249, 999, None), Gate::Allow, "below the share");
        }
    }

    #[test]
    fn reservations_count_and_lost_ones_are_charged() {
        let window = QuotaWindow::Minute;
        let mut usage = Usage::default();
        let permit = |number| PermitId { process: 1, number };
        usage.reserve(permit(1), 7, 100, 50_000);
        usage.reserve(permit(1), 7, 100, 50_000);
        usage.reserve(permit(2), 8, 30, 50_000);
        assert_eq!((usage.sum(Some(7), window, 0), usage.sum(None, window, 0)), (100, 130));
        assert!(usage.finish(permit(1), 40, window, 1_000));
        assert!(!usage.finish(permit(1), 40, window, 1_000), "once");
        assert_eq!(usage.sum(Some(7), window, 1_000), 40);
        usage.settle(window, 50_000);
        assert_eq!(usage.sum(Some(8), window, 50_000), 30, "a lost reservation is spent");
        assert!(!usage.finish(permit(2), 5, window, 50_001));
        let free = usage.falls_below(Some(7), 1, window, 2_000);
        assert!((60_000..=63_000).contains(&free), "{free}");
        let bytes = usage.encode(&[]);
        assert_eq!(Usage::decode(&bytes), Some((usage.clone(), &[][..])));
        usage.settle(window, 400_000);
        assert_eq!(usage, Usage::default(), "nothing is kept for ever");
    }

    #[test]
    fn a_record_outlives_what_is_set_aside_in_it() {
        let window = QuotaWindow::Minute;
        let mut usage = Usage::default();
        for number in [1, 2] {
            usage.reserve(PermitId { process: 1, number }, 7, 100, 600_000);
        }
        assert!(usage.finish(PermitId { process: 1, number: 1 }, 40, window, 1_000));
        assert_eq!(usage.ends(window, 1_000), 600_000 + 75_000);
        assert!(usage.finish(PermitId { process: 1, number: 2 }, 40, window, 2_000));
        assert_eq!(usage.ends(window, 2_000), 2_000 + 75_000);
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 100, failure_persistence: None, ..ProptestConfig::default() })]
        #[test]
        fn sums_are_off_by_one_bucket_at_most(events in proptest::collection::vec((0_i64..4_000, 1_u64..50), 1..100)) {
            let window = QuotaWindow::Minute;
            let mut usage = Usage::default();
            let mut now = 0;
            let mut all: Vec<(i64, u64)> = Vec::new();
            for (n, (wait, amount)) in events.into_iter().enumerate() {
                now += wait;
                let permit = PermitId { process: 1, number: n as u64 };
                usage.reserve(permit, 1, amount, now + 1);
                usage.finish(permit, amount, window, now);
                all.push((now, amount));
                usage.settle(window, now);
                let inside = |from: i64| all.iter().filter(|(at, _)| *at > from).map(|(_, a)| *a).sum::<u64>();
                let sum = usage.sum(None, window, now);
                prop_assert!(sum >= inside(now - 59_000) && sum <= inside(now - 61_001));
            }
        }
    }
}
