//! A small store that keeps every promise, or breaks exactly one: proof that the cases look.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::Poll;
use std::time::Duration;

use futures::future::poll_fn;
use omniroute_core::{
    Change, Commit, Durability, Key, Record, ResilienceStore, StoreError, StoreTraits, UnixMs,
};

use super::World;

/// A promise that a [`FlawedWorld`] breaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Flaw {
    /// None at all.
    None,
    /// Writes whatever version was expected.
    IgnoresVersions,
    /// Does not look at checks.
    IgnoresChecks,
    /// Writes the part of a commit that met no conflict.
    HalfCommits,
    /// Reads records after their end.
    ReturnsExpired,
    /// Reads records at the millisecond of their end.
    EndsLate,
    /// Lets expired records stand in the way of a commit.
    ExpiredConflicts,
    /// Names records in a scan after their end.
    ScansExpired,
    /// Names records twice in a scan.
    ScansTwice,
    /// Names records outside the prefix.
    ScansAll,
    /// Starts versions anew for every key.
    ReusesVersions,
    /// Names the first conflict only.
    NamesOneConflict,
    /// Does what came too late.
    IgnoresNotAfter,
    /// Keeps the first end of a record.
    KeepsOldEnd,
    /// Each handle has its own time.
    OwnTime,
    /// Does half of a commit when the future is polled, the rest later.
    StopsHalfway,
}

impl Flaw {
    /// All of them but [`Flaw::None`].
    pub const ALL: [Flaw; 15] = [
        Flaw::IgnoresVersions,
        Flaw::IgnoresChecks,
        Flaw::HalfCommits,
        Flaw::ReturnsExpired,
        Flaw::EndsLate,
        Flaw::ExpiredConflicts,
        Flaw::ScansExpired,
        Flaw::ScansTwice,
        Flaw::ScansAll,
        Flaw::ReusesVersions,
        Flaw::NamesOneConflict,
        Flaw::IgnoresNotAfter,
        Flaw::KeepsOldEnd,
        Flaw::OwnTime,
        Flaw::StopsHalfway,
    ];
}

/// Where flawed stores live.
#[derive(Debug)]
pub struct FlawedWorld {
    flaw: Flaw,
    time: Arc<AtomicI64>,
}

impl FlawedWorld {
    /// All its stores have this flaw.
    pub fn new(flaw: Flaw) -> FlawedWorld {
        FlawedWorld { flaw, time: Arc::new(AtomicI64::new(1_700_000_000_000)) }
    }
}

#[async_trait::async_trait]
impl World for FlawedWorld {
    async fn open(&self, handles: usize) -> Result<Vec<Arc<dyn ResilienceStore>>, StoreError> {
        let records = Arc::new(Mutex::new(Records::default()));
        let open = |handle| {
            let (records, time) = (records.clone(), self.time.clone());
            Arc::new(FlawedStore { flaw: self.flaw, handle, records, time }) as Arc<dyn ResilienceStore>
        };
        Ok((0..).take(handles).map(open).collect())
    }

    fn advance(&self, by: Duration) {
        self.time.fetch_add(i64::try_from(by.as_millis()).unwrap_or(0), Ordering::Relaxed);
    }
}

#[derive(Debug, Default)]
struct Records {
    all: BTreeMap<Key, Record>,
    version: u64,
}

#[derive(Debug)]
struct FlawedStore {
    flaw: Flaw,
    handle: i64,
    records: Arc<Mutex<Records>>,
    time: Arc<AtomicI64>,
}

impl FlawedStore {
    fn has(&self, flaw: Flaw) -> bool {
        self.flaw == flaw
    }

    fn now(&self) -> UnixMs {
        let own = if self.has(Flaw::OwnTime) { self.handle } else { 0 };
        UnixMs(self.time.load(Ordering::Relaxed) + own)
    }

    fn with<T>(&self, act: impl FnOnce(&mut Records) -> T) -> T {
        act(&mut self.records.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn live(&self, records: &Records, key: &Key, now: UnixMs, shows_expired: bool) -> Option<Record> {
        let late = i64::from(self.has(Flaw::EndsLate));
        let record = records.all.get(key)?;
        let live = record.expires.is_none_or(|at| at.0 + late > now.0);
        (live || shows_expired).then(|| record.clone())
    }

    fn apply(&self, records: &mut Records, change: &Change, version: u64) -> u64 {
        match change {
            Change::Put { key, value, expires, .. } => {
                let old = records.all.get(key);
                let version = if self.has(Flaw::ReusesVersions) {
                    old.map_or(0, |record| record.version) + 1
                } else {
                    version
                };
                let expires = match old {
                    Some(old) if self.has(Flaw::KeepsOldEnd) => old.expires,
                    _ => *expires,
                };
                records.all.insert(key.clone(), Record { version, value: value.clone(), expires });
                version
            }
            Change::Delete { key, .. } => {
                records.all.remove(key);
                version
            }
            Change::Check { .. } => version,
        }
    }
}

#[async_trait::async_trait]
impl ResilienceStore for FlawedStore {
    fn traits(&self) -> StoreTraits {
        StoreTraits::new("flawed", false, true)
    }

    async fn get(&self, keys: &[Key]) -> Result<(Vec<Option<Record>>, UnixMs), StoreError> {
        let now = self.now();
        let shows_expired = self.has(Flaw::ReturnsExpired);
        let read = |records: &mut Records| {
            keys.iter().map(|key| self.live(records, key, now, shows_expired)).collect()
        };
        Ok((self.with(read), now))
    }

    async fn commit(
        &self,
        changes: &[Change],
        not_after: Option<UnixMs>,
        _: Durability,
    ) -> Result<(Commit, UnixMs), StoreError> {
        let now = self.now();
        if not_after.is_some_and(|limit| now > limit) && !self.has(Flaw::IgnoresNotAfter) {
            return Ok((Commit::TooLate, now));
        }
        if self.has(Flaw::StopsHalfway) && changes.len() > 1 {
            let (first, rest) = changes.split_at(1);
            let none = first.iter().all(|change| change.expected().is_none());
            if none && self.with(|records| first.iter().all(|c| !records.all.contains_key(c.key()))) {
                self.with(|records| {
                    records.version += 1;
                    let version = records.version;
                    first.iter().for_each(|change| {
                        self.apply(records, change, version);
                    });
                });
                once_later().await;
                return self.commit(rest, not_after, Durability::Relaxed).await;
            }
        }
        let commit = self.with(|records| {
            let mut conflicts = Vec::new();
            let mut fine = Vec::new();
            for change in changes {
                let found = self.live(records, change.key(), now, self.has(Flaw::ExpiredConflicts));
                let same = found.as_ref().map(|record| record.version) == change.expected();
                let ignored = self.has(Flaw::IgnoresVersions)
                    || self.has(Flaw::IgnoresChecks) && matches!(change, Change::Check { .. });
                if same || ignored {
                    fine.push(change);
                } else {
                    conflicts.push((change.key().clone(), found));
                }
            }
            if conflicts.is_empty() || self.has(Flaw::HalfCommits) {
                records.version += 1;
                let version = records.version;
                let written = fine.iter().map(|change| self.apply(records, change, version)).max();
                if conflicts.is_empty() {
                    return Commit::Done(written.unwrap_or(version));
                }
            }
            if self.has(Flaw::NamesOneConflict) {
                conflicts.truncate(1);
            }
            Commit::Conflict(conflicts)
        });
        Ok((commit, now))
    }

    async fn scan(
        &self,
        prefix: &str,
        visit: &mut (dyn for<'r> FnMut(&'r Key, &'r Record) + Send),
    ) -> Result<UnixMs, StoreError> {
        let now = self.now();
        let found: Vec<(Key, Record)> = self.with(|records| {
            let keys = records.all.keys();
            let keys = keys.filter(|key| self.has(Flaw::ScansAll) || key.encode().starts_with(prefix));
            keys.filter_map(|key| {
                Some((key.clone(), self.live(records, key, now, self.has(Flaw::ScansExpired))?))
            })
            .collect()
        });
        for (key, record) in &found {
            visit(key, record);
            if self.has(Flaw::ScansTwice) {
                visit(key, record);
            }
        }
        Ok(now)
    }
}

/// Ready at the second poll.
async fn once_later() {
    let mut polled = false;
    poll_fn(move |cx| {
        if polled {
            return Poll::Ready(());
        }
        polled = true;
        cx.waker().wake_by_ref();
        Poll::Pending
    })
    .await;
}

#[cfg(test)]
mod tests {
    use futures::executor::block_on;

    use super::super::{cases, check};
    use super::*;

    fn broken(flaw: Flaw) -> Vec<super::super::Broken> {
        let world = FlawedWorld::new(flaw);
        block_on(check(&world))
    }

    #[test]
    fn a_store_without_flaw_passes_all_cases() {
        assert!(cases().len() >= 120, "{}", cases().len());
        assert_eq!(broken(Flaw::None), []);
    }

    #[test]
    fn every_flaw_is_caught() {
        for flaw in Flaw::ALL {
            assert_ne!(broken(flaw), [], "{flaw:?}");
        }
    }
}
