//! Random work on a few keys through several handles, compared with what should happen.

use std::collections::BTreeMap;
use std::time::Duration;

use bytes::Bytes;
use futures::FutureExt;
use futures::future::BoxFuture;
use omniroute_core::{Change, Commit, Durability, Key, Record, UnixMs};

use super::{On, Outcome, World, want};
use crate::rng;

pub(super) const SEEDS: u32 = 12;
const STEPS: u32 = 60;
const KEYS: u64 = 4;

pub(super) fn run(world: &dyn World, seed: Key) -> BoxFuture<'_, Outcome> {
    let seed = rng::hash(seed.encode().as_bytes());
    async move { Work::new(seed).run(world).await }.boxed()
}

#[derive(Debug)]
struct Work {
    draws: u64,
    records: BTreeMap<Key, Record>,
    /// Versions that were true once, to be offered again.
    old: Vec<u64>,
    last: u64,
}

impl Work {
    fn new(seed: u64) -> Work {
        Work { draws: seed, records: BTreeMap::new(), old: vec![1], last: 0 }
    }

    /// A number below `n`.
    fn draw(&mut self, n: u64) -> u64 {
        self.draws = self.draws.wrapping_add(0x9e37_79b9_7f4a_7c15);
        rng::mix(self.draws) % n
    }

    async fn run(mut self, world: &dyn World) -> Outcome {
        let all = On::several(world, 3).await?;
        for step in 0..STEPS {
            let on = &all[usize::try_from(self.draw(3)).unwrap_or(0)];
            let told = match self.draw(10) {
                0..=1 => {
                    world.advance(Duration::from_millis(self.draw(30)));
                    Ok(())
                }
                2..=3 => self.compare(on).await,
                _ => self.commit(on).await,
            };
            told.map_err(|what| format!("step {step}: {what}"))?;
        }
        for on in &all {
            self.compare(on).await?;
        }
        Ok(())
    }

    /// What should be there at this time.
    fn live(&self, key: &Key, now: UnixMs) -> Option<Record> {
        self.records.get(key).filter(|record| record.expires.is_none_or(|at| at > now)).cloned()
    }

    async fn compare(&mut self, on: &On) -> Outcome {
        let keys: Vec<Key> = (0..KEYS).map(key).collect();
        let (found, now) = on.get_all(&keys).await?;
        let wanted: Vec<_> = keys.iter().map(|key| self.live(key, now)).collect();
        want("records", &found, &wanted)?;
        let wanted: Vec<_> =
            keys.iter().filter_map(|key| Some((key.clone(), self.live(key, now)?))).collect();
        want("a scan", &on.scan("me/").await?, &wanted)
    }

    async fn commit(&mut self, on: &On) -> Outcome {
        let now = on.now().await?;
        let changes = self.changes(now);
        let not_after = (self.draw(8) == 0).then(|| UnixMs(now.0 + i64::from(self.draw(2) == 0) * 2 - 1));
        let result = on.0.commit(&changes, not_after, Durability::Relaxed).await;
        let (commit, at) = result.map_err(|error| format!("commit: {error}"))?;
        want("the time of the commit", &at, &now)?;
        if not_after.is_some_and(|limit| now > limit) {
            return want("a late commit", &commit, &Commit::TooLate);
        }
        let found = |change: &Change| self.live(change.key(), now);
        let mut conflicts: Vec<_> = changes
            .iter()
            .filter(|change| found(change).map(|record| record.version) != change.expected())
            .map(|change| (change.key().clone(), found(change)))
            .collect();
        conflicts.sort_by(|a, b| a.0.cmp(&b.0));
        match commit {
            Commit::Conflict(mut found) => {
                found.sort_by(|a, b| a.0.cmp(&b.0));
                want(&format!("conflicts of {changes:?}"), &found, &conflicts)
            }
            Commit::Done(version) => {
                want(&format!("conflicts of {changes:?}"), &vec![], &conflicts)?;
                want("whether the version grew", &(version > self.last), &true)?;
                self.last = version;
                self.old.push(version);
                self.apply(changes, version);
                Ok(())
            }
            Commit::TooLate => Err("too late without a limit".to_owned()),
        }
    }

    fn changes(&mut self, now: UnixMs) -> Vec<Change> {
        let mut changes: Vec<Change> = Vec::new();
        for n in 0..KEYS {
            if self.draw(2) == 0 {
                continue;
            }
            let key = key(n);
            let mut expected = self.live(&key, now).map(|record| record.version);
            if self.draw(6) == 0 {
                let old = usize::try_from(self.draw(self.old.len() as u64)).unwrap_or(0);
                expected = (self.draw(3) > 0).then(|| self.old[old]);
            }
            let value = Bytes::from(self.draw(1_000).to_string());
            let expires =
                (self.draw(2) == 0).then(|| UnixMs(now.0 + i64::try_from(self.draw(60)).unwrap_or(0)));
            changes.push(match (self.draw(5), expected) {
                (0, Some(expected)) => Change::Delete { key, expected },
                (1, expected) => Change::Check { key, expected },
                (_, expected) => Change::Put { key, expected, value, expires },
            });
        }
        if self.draw(2) == 0 {
            changes.reverse();
        }
        changes
    }

    fn apply(&mut self, changes: Vec<Change>, version: u64) {
        for change in changes {
            match change {
                Change::Put { key, value, expires, .. } => {
                    self.records.insert(key, Record { version, value, expires });
                }
                Change::Delete { key, .. } => {
                    self.records.remove(&key);
                }
                Change::Check { .. } => {}
            }
        }
    }
}

fn key(n: u64) -> Key {
    Key::Meta(n.to_string().into())
}
