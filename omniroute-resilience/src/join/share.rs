//! What one process may use of a limit while all work apart: an equal part of what was left.

use std::borrow::Cow;

use omniroute_core::{Key, PermitId, ResilienceStore};

use crate::codec::Value;
use crate::limits::quota::Usage;
use crate::limits::rate::{Limits, Rate};
use crate::limits::slots::Slots;
use crate::shell::needs::QuotaNeed;

const DAY: i64 = 86_400_000;

/// This process's part of every limit.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Share<'s> {
    store: &'s dyn ResilienceStore,
    /// Among how many a limit is divided; 1: it holds as it is.
    among: u32,
}

impl<'s> Share<'s> {
    /// The whole, unless the store works apart.
    pub(crate) fn of(store: &'s dyn ResilienceStore) -> Share<'s> {
        let status = store.status();
        Share { store, among: if status.apart { status.processes.max(1) } else { 1 } }
    }

    /// A part although the store does not say that it works apart: it does not say anything.
    pub(crate) fn without(store: &'s dyn ResilienceStore) -> Share<'s> {
        Share { store, among: store.status().processes.max(1) }
    }

    /// Of a limit of attempts at once; never less than one.
    pub(crate) fn part(self, limit: u32) -> u32 {
        (limit / self.among).max(1.min(limit))
    }

    /// The same, where `slots` still names those of others: theirs are theirs.
    pub(crate) fn slots(self, limit: u32, slots: &Slots, permit: PermitId, now: i64) -> u32 {
        if self.among == 1 {
            return limit;
        }
        let others = slots.held.iter().filter(|(held, until)| held.process != permit.process && *until > now);
        self.part(limit).saturating_add(u32::try_from(others.count()).unwrap_or(u32::MAX))
    }

    /// Of calls and tokens; of a day, a part of what was left when the store went apart.
    pub(crate) fn rate(self, key: &Key, limits: Limits, now: i64) -> Limits {
        if self.among == 1 {
            return limits;
        }
        let rate: Rate = self.common(key);
        let today = rate.day == now.div_euclid(DAY);
        let (calls, tokens) = if today { (rate.day_calls, rate.day_tokens) } else { (0, 0) };
        let small = |limit: u64| u32::try_from(limit).unwrap_or(u32::MAX);
        Limits {
            rpm: limits.rpm.map(|limit| self.part(limit)),
            tpm: limits.tpm.map(|limit| self.rest(limit, 0)),
            rpd: limits.rpd.map(|limit| small(self.rest(limit.into(), calls))),
            tpd: limits.tpd.map(|limit| self.rest(limit, tokens)),
            min_gap: limits.min_gap.map(|gap| gap.saturating_mul(self.among)),
            ..limits
        }
    }

    /// Of a pool's allowance: a part of what was left of it, and of a consumer's cap.
    pub(crate) fn quota<'n>(
        self,
        key: Option<&Key>,
        need: &'n QuotaNeed,
        consumer: u64,
        now: i64,
    ) -> Cow<'n, QuotaNeed> {
        let Some(key) = key.filter(|_| self.among > 1) else { return Cow::Borrowed(need) };
        let mut before: Usage = self.common(key);
        before.settle(need.window, now);
        let mut need = need.clone();
        let own = before.sum(Some(consumer), need.window, now);
        match &mut need.allocation {
            Some(allocation) => {
                need.limit = self.rest(need.limit, before.sum(None, need.window, now));
                allocation.hard_cap = allocation.hard_cap.map(|cap| self.rest(cap, own));
            }
            None => need.limit = self.rest(need.limit, own),
        }
        Cow::Owned(need)
    }

    /// What was used, and a part of what was left; at least one.
    fn rest(self, limit: u64, used: u64) -> u64 {
        let left = limit.saturating_sub(used);
        used.min(limit).saturating_add((left / u64::from(self.among)).max(left.min(1)))
    }

    /// A record as all knew it.
    fn common<V: Value + Default>(self, key: &Key) -> V {
        let record = self.store.common(key);
        record.and_then(|record| V::decode(&record.value).map(|(value, _)| value)).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use omniroute_core::{Change, Commit, Durability, Record, StoreError, StoreStatus, StoreTraits, UnixMs};
    use proptest::prelude::*;

    use super::*;

    /// Works apart, one of several.
    #[derive(Debug)]
    struct Apart {
        processes: u32,
        common: Option<Rate>,
    }

    #[async_trait::async_trait]
    impl ResilienceStore for Apart {
        fn traits(&self) -> StoreTraits {
            StoreTraits::new("apart", false, true)
        }

        fn status(&self) -> StoreStatus {
            let mut status = StoreStatus::default();
            (status.apart, status.processes) = (true, self.processes);
            status
        }

        fn common(&self, _: &Key) -> Option<Record> {
            let value = self.common.as_ref()?.encode(&[]).into();
            Some(Record { version: 2, value, expires: None })
        }

        async fn get(&self, _: &[Key]) -> Result<(Vec<Option<Record>>, UnixMs), StoreError> {
            Err(StoreError::Unsupported("test"))
        }

        async fn commit(
            &self,
            _: &[Change],
            _: Option<UnixMs>,
            _: Durability,
        ) -> Result<(Commit, UnixMs), StoreError> {
            Err(StoreError::Unsupported("test"))
        }

        async fn scan(
            &self,
            _: &str,
            _: &mut (dyn for<'r> FnMut(&'r Key, &'r Record) + Send),
        ) -> Result<UnixMs, StoreError> {
            Err(StoreError::Unsupported("test"))
        }
    }

    /// What all processes together may use of what was left.
    fn together(processes: u32, limit: u32, used: u32, part: impl Fn(Share<'_>) -> u64) -> (u64, u64) {
        let store = Apart { processes, common: None };
        let each = part(Share::of(&store)).saturating_sub(used.into());
        (each * u64::from(processes), u64::from(limit.saturating_sub(used)))
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 256, failure_persistence: None, ..ProptestConfig::default() })]
        #[test]
        fn parts_are_no_more_than_the_whole_and_never_nothing(processes in 1_u32..9, limit in 0_u32..100, used in 0_u32..100) {
            let most = |whole: u64| whole.max(if whole > 0 { processes.into() } else { 0 });
            let (all, whole) = together(processes, limit, 0, |share| share.part(limit).into());
            prop_assert!(all <= most(whole) && (all > 0) == (whole > 0));
            let used = used.min(limit);
            let (all, left) = together(processes, limit, used, |share| share.rest(limit.into(), used.into()));
            prop_assert!(all <= most(left) && (all > 0) == (left > 0));
        }
    }

    #[test]
    fn a_part_that_is_rounded_up_is_caught() {
        let (all, whole) = together(4, 10, 0, |_| 10_u64.div_ceil(4));
        assert!(all > whole.max(4));
    }

    #[test]
    fn a_day_that_was_half_used_leaves_a_part_of_the_other_half() {
        let common = Rate { day: 3, day_calls: 60, ..Rate::default() };
        let store = Apart { processes: 4, common: Some(common) };
        let limits = Limits { rpm: Some(10), rpd: Some(100), min_gap: Some(5), ..Limits::default() };
        let key = Key::LeaseFence;
        let part = Share::of(&store).rate(&key, limits, 3 * DAY + 1);
        assert_eq!((part.rpm, part.rpd, part.min_gap), (Some(2), Some(70), Some(20)));
        let tomorrow = Share::of(&store).rate(&key, limits, 4 * DAY);
        assert_eq!(tomorrow.rpd, Some(25));
    }
}
