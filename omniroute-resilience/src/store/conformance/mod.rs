//! Proof that a store keeps the promises of [`ResilienceStore`]. Run it against your own.
//!
//! A [`World`] opens stores and moves their time; [`check`] runs every case in it. The cases need no runtime: any
//! executor will do.
//!
//! ```
//! use omniroute_resilience::conformance::{self, Flaw, FlawedWorld};
//! let broken = futures::executor::block_on(conformance::check(&FlawedWorld::new(Flaw::None)));
//! assert!(broken.is_empty(), "{broken:?}");
//! ```

mod flawed;
mod keys;
mod random;
mod whole;

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures::future::BoxFuture;
use omniroute_core::{Change, Commit, Durability, Key, Record, ResilienceStore, StoreError, UnixMs};

pub use self::flawed::{Flaw, FlawedWorld};

/// Where stores of one kind live while they are checked.
#[async_trait::async_trait]
pub trait World: Send + Sync {
    /// New, empty records, and this many handles on them: as other processes would have them, where the kind can
    /// be shared, else the same one.
    async fn open(&self, handles: usize) -> Result<Vec<Arc<dyn ResilienceStore>>, StoreError>;

    /// Lets the time of all stores pass.
    fn advance(&self, by: Duration);
}

/// One promise.
#[derive(Clone)]
pub struct Case {
    name: String,
    run: Run,
    key: Key,
}

/// A promise that was not kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Broken {
    /// Name of the case.
    pub case: String,
    /// What was seen.
    pub what: String,
}

type Outcome = Result<(), String>;
type Run = for<'w> fn(&'w dyn World, Key) -> BoxFuture<'w, Outcome>;

/// All cases: those of one key for each kind of key, those of the whole store, random ones.
pub fn cases() -> Vec<Case> {
    let mut all = Vec::new();
    for (law, run) in keys::LAWS {
        for (kind, key) in keys::every_kind() {
            all.push(Case { name: format!("{law}: {kind}"), run: *run, key });
        }
    }
    let one = || Key::Meta("one".into());
    all.extend(whole::CASES.iter().map(|(name, run)| Case {
        name: (*name).to_owned(),
        run: *run,
        key: one(),
    }));
    // The key carries the seed.
    let seeded = |seed: u32| Key::Meta(seed.to_string().into());
    all.extend((0..random::SEEDS).map(|seed| Case {
        name: format!("random work, seed {seed}"),
        run: random::run,
        key: seeded(seed),
    }));
    all
}

/// Runs all cases, one after another. Gives those that failed.
pub async fn check(world: &dyn World) -> Vec<Broken> {
    let mut broken = Vec::new();
    for case in cases() {
        broken.extend(case.run(world).await.err());
    }
    broken
}

impl Case {
    /// What it is about.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Runs it.
    ///
    /// # Errors
    /// What was seen instead of what was promised.
    pub async fn run(&self, world: &dyn World) -> Result<(), Broken> {
        (self.run)(world, self.key.clone()).await.map_err(|what| Broken { case: self.name.clone(), what })
    }
}

impl std::fmt::Debug for Case {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Case({:?})", self.name)
    }
}

/// Short words for calls of one store.
#[derive(Debug, Clone)]
struct On(Arc<dyn ResilienceStore>);

impl On {
    async fn one(world: &dyn World) -> Result<On, String> {
        Ok(On::several(world, 1).await?.remove(0))
    }

    async fn several(world: &dyn World, handles: usize) -> Result<Vec<On>, String> {
        let stores = world.open(handles).await.map_err(|error| format!("cannot open: {error}"))?;
        want("handles", &stores.len(), &handles)?;
        Ok(stores.into_iter().map(On).collect())
    }

    async fn get(&self, key: &Key) -> Result<Option<Record>, String> {
        Ok(self.get_all(std::slice::from_ref(key)).await?.0.remove(0))
    }

    async fn get_all(&self, keys: &[Key]) -> Result<(Vec<Option<Record>>, UnixMs), String> {
        let (records, time) = self.0.get(keys).await.map_err(|error| format!("get: {error}"))?;
        want("records that get gives", &records.len(), &keys.len())?;
        Ok((records, time))
    }

    async fn now(&self) -> Result<UnixMs, String> {
        Ok(self.get_all(&[]).await?.1)
    }

    async fn commit(&self, changes: &[Change]) -> Result<Commit, String> {
        let done = self.0.commit(changes, None, Durability::Relaxed).await;
        Ok(done.map_err(|error| format!("commit: {error}"))?.0)
    }

    /// A commit that must happen. Gives its version.
    async fn must(&self, changes: &[Change]) -> Result<u64, String> {
        match self.commit(changes).await? {
            Commit::Done(version) => Ok(version),
            other => Err(format!("commit of {changes:?}: {other:?} instead of done")),
        }
    }

    /// A commit that must not happen. Gives what is there instead.
    async fn must_conflict(&self, changes: &[Change]) -> Result<Vec<(Key, Option<Record>)>, String> {
        match self.commit(changes).await? {
            Commit::Conflict(mut found) => {
                found.sort_by(|a, b| a.0.cmp(&b.0));
                Ok(found)
            }
            other => Err(format!("commit of {changes:?}: {other:?} instead of a conflict")),
        }
    }

    async fn scan(&self, prefix: &str) -> Result<Vec<(Key, Record)>, String> {
        let mut found = Vec::new();
        let mut visit = |key: &Key, record: &Record| found.push((key.clone(), record.clone()));
        self.0.scan(prefix, &mut visit).await.map_err(|error| format!("scan: {error}"))?;
        found.sort_by(|a, b| a.0.cmp(&b.0));
        Ok(found)
    }
}

fn put(key: &Key, expected: Option<u64>, value: &str) -> Change {
    put_until(key, expected, value, None)
}

fn put_until(key: &Key, expected: Option<u64>, value: &str, expires: Option<UnixMs>) -> Change {
    Change::Put { key: key.clone(), expected, value: Bytes::from(value.to_owned()), expires }
}

fn delete(key: &Key, expected: u64) -> Change {
    Change::Delete { key: key.clone(), expected }
}

fn checked(key: &Key, expected: Option<u64>) -> Change {
    Change::Check { key: key.clone(), expected }
}

fn record(version: u64, value: &str, expires: Option<UnixMs>) -> Record {
    Record { version, value: Bytes::from(value.to_owned()), expires }
}

fn want<T: PartialEq + std::fmt::Debug>(what: &str, seen: &T, wanted: &T) -> Outcome {
    if seen == wanted { Ok(()) } else { Err(format!("{what}: {seen:?} instead of {wanted:?}")) }
}

fn later(time: UnixMs, ms: i64) -> UnixMs {
    UnixMs(time.0 + ms)
}
