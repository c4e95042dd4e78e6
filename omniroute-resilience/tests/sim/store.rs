//! A store around a store: every host reaches it through its own handle; it can be slow, frozen, lose everything,
//! or be cut off from a host that died. Every change of a layer's record becomes a fact, read by [`super::peek`].

use std::collections::HashMap;
use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use futures::FutureExt;
use omniroute_core::{
    Change as Put, Commit, Durability, Key, Record, ResilienceStore, StoreError, StoreTraits, UnixMs,
};

use crate::sim::facts::{Change, Who};
use crate::sim::log::Log;
use crate::sim::peek;
use crate::sim::time::Time;

/// What a newer version appends to its records.
const NEWER: [u8; 6] = [0xde, 0xad, 0xbe, 0xef, 0x17, 0x71];

/// How a store is broken on purpose.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Breakage {
    /// Not at all.
    #[default]
    None,
    /// Versions of breakers are not compared: two processes may both take the probe.
    UnfencedBreakers,
    /// Versions of connections and locks are not compared.
    UnfencedAccounts,
    /// The store is whole; the library holds slots for ten minutes.
    LongSlots,
    /// Older versions of the library do not see what newer ones wrote behind their fields, and do not keep it.
    NewerForgotten,
}

/// Opens one and the same state, as every process does for itself.
pub(crate) type Opener = Arc<dyn Fn() -> Arc<dyn ResilienceStore> + Send + Sync>;

/// What all handles share.
pub(crate) struct Shared {
    /// Opens the store behind once more: another process's connection to the same state.
    open: Opener,
    /// The simulator's own.
    inner: Arc<dyn ResilienceStore>,
    log: Log,
    time: Time,
    /// Nothing answers.
    frozen: AtomicBool,
    /// Every call takes this long, ms.
    delay: AtomicI64,
    /// Commits and reads so far.
    pub(crate) commits: AtomicU64,
    pub(crate) reads: AtomicU64,
    /// Commits that touched a record of the three layers.
    pub(crate) layer_commits: AtomicU64,
    /// When the slots of a key were written last, ms since the start.
    slots: Mutex<HashMap<String, i64>>,
    /// How long a slot lives, ms.
    lease: i64,
    breakage: Breakage,
}

/// One host's way to the store.
#[derive(Clone)]
pub(crate) struct Handle {
    shared: Arc<Shared>,
    inner: Arc<dyn ResilienceStore>,
    alive: Arc<AtomicBool>,
    /// A newer version of the library, which writes more into its records.
    newer: bool,
}

impl fmt::Debug for Handle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Handle")
    }
}

impl Shared {
    /// Wraps a store.
    pub(crate) fn new(open: Opener, log: Log, time: Time, lease: i64, breakage: Breakage) -> Arc<Shared> {
        Arc::new(Shared {
            inner: open(),
            open,
            log,
            time,
            frozen: AtomicBool::new(false),
            delay: AtomicI64::new(0),
            commits: AtomicU64::new(0),
            reads: AtomicU64::new(0),
            layer_commits: AtomicU64::new(0),
            slots: Mutex::default(),
            lease,
            breakage,
        })
    }

    /// A new process's handle.
    pub(crate) fn handle(self: &Arc<Shared>, newer: bool) -> Handle {
        let inner = (self.open)();
        Handle { shared: Arc::clone(self), inner, alive: Arc::new(AtomicBool::new(true)), newer }
    }

    /// Commits to records of the three layers, and reads.
    pub(crate) fn traffic(&self) -> (u64, u64) {
        (self.layer_commits.load(Ordering::Relaxed), self.reads.load(Ordering::Relaxed))
    }

    /// Slots that are still in the store, long after the load. By the store's clock one may run on if that clock has
    /// gone back since it was written.
    pub(crate) fn held_slots(&self) -> Vec<String> {
        let written = self.slots.lock().unwrap_or_else(PoisonError::into_inner);
        let set_back = self.time.set_back();
        let mut held = Vec::new();
        let mut visit = |key: &Key, record: &Record| {
            let ends = peek::slots(&record.value).expect("a record of the library must be readable");
            let key = key.to_string();
            if set_back.is_none_or(|at| written.get(&key).is_none_or(|written| *written > at)) {
                let at = written.get(&key).copied();
                held.extend(ends.into_iter().map(|end| (key.clone(), at, end)));
            }
        };
        let scanned = self.inner.scan("sl/", &mut visit).now_or_never();
        let Some(Ok(now)) = scanned else { panic!("the store cannot be read: {scanned:?}") };
        let say = |(key, at, end)| {
            format!(
                "{key}, written at {at:?} ms, is held until {end}, at {now:?}; set back at {set_back:?} ms"
            )
        };
        held.into_iter().map(say).collect()
    }

    /// Slots were written: none of them may end later than one that is taken now.
    fn slots_written(&self, key: &Key, value: &[u8], now: UnixMs) {
        let ms = self.time.ms();
        self.slots.lock().unwrap_or_else(PoisonError::into_inner).insert(key.to_string(), ms);
        let ends = peek::slots(value).expect("a record of the library must be readable");
        let latest = now.0.saturating_add(self.lease);
        // The clock may go back between the reading of a commit's time and its writing.
        let just = self.time.set_back().is_some_and(|at| ms - at < 1_000);
        if let Some(end) = ends.into_iter().find(|end| *end > latest && !just) {
            let text = format!("{key} is held until {end}, at {now:?}, a lease is {} ms", self.lease);
            self.log.lock().watch.broke("I-5", ms, text);
        }
    }

    /// Stops or resumes answering.
    pub(crate) fn freeze(&self, frozen: bool) {
        self.frozen.store(frozen, Ordering::Relaxed);
    }

    /// Every call takes this long from now on.
    pub(crate) fn slow(&self, ms: i64) {
        self.delay.store(ms, Ordering::Relaxed);
    }

    /// The store comes back empty.
    pub(crate) fn wipe(&self) {
        empty(&*self.inner);
    }

    fn unfenced(&self, key: &Key) -> bool {
        match self.breakage {
            Breakage::None | Breakage::LongSlots | Breakage::NewerForgotten => false,
            Breakage::UnfencedBreakers => matches!(key, Key::Breaker { .. }),
            Breakage::UnfencedAccounts => matches!(key, Key::Connection(..) | Key::Lockout { .. }),
        }
    }

    fn changed(&self, key: &Key, old: Option<&Record>, new: Option<&[u8]>) {
        let Some(who) = peek::who(key) else { return };
        let broken = "a record of the library must be readable";
        let old = old.map(|record| record.value.clone());
        match who {
            Who::Breaker(number) => {
                let old = old.map_or_else(Default::default, |bytes| peek::breaker(&bytes).expect(broken));
                let new = new.map_or_else(Default::default, |bytes| peek::breaker(bytes).expect(broken));
                self.log.changed(Change::Breaker { who: number, old, new });
            }
            Who::Account(number) => {
                let old = old.map_or_else(Default::default, |bytes| peek::account(&bytes).expect(broken));
                let new = new.map_or_else(Default::default, |bytes| peek::account(bytes).expect(broken));
                self.log.changed(Change::Account { who: number, old, new });
            }
            Who::Lock(..) => {
                let old = old.map_or_else(Default::default, |bytes| peek::lock(&bytes).expect(broken));
                let new = new.map_or_else(Default::default, |bytes| peek::lock(bytes).expect(broken));
                self.log.changed(Change::Lock { who, old, new });
            }
        }
    }
}

/// Removes every record, at once: it is the simulator who asks.
pub(crate) fn empty(store: &dyn ResilienceStore) {
    let mut all = Vec::new();
    let mut visit = |key: &Key, record: &Record| all.push((key.clone(), record.version));
    let scanned = store.scan("", &mut visit).now_or_never();
    assert!(matches!(scanned, Some(Ok(_))), "the store cannot be read: {scanned:?}");
    for (key, expected) in all {
        let done = store.commit(&[Put::Delete { key, expected }], None, Durability::Relaxed).now_or_never();
        assert!(matches!(done, Some(Ok(_))), "the store cannot be emptied: {done:?}");
    }
}

impl Handle {
    /// The process behind this handle is dead: nothing it still does arrives.
    pub(crate) fn cut(&self) {
        self.alive.store(false, Ordering::Relaxed);
    }

    /// A newer version appends to what it writes.
    fn append(&self, value: &mut bytes::Bytes) {
        if self.newer && !value.ends_with(&NEWER) {
            let mut longer = value.to_vec();
            longer.extend_from_slice(&NEWER);
            *value = longer.into();
        }
    }

    /// An older version must keep what it does not know.
    fn kept(&self, value: &[u8], before: Option<&Record>) {
        let has = |value: &[u8]| value.ends_with(&NEWER);
        if before.is_some_and(|record| has(&record.value)) && !has(value) {
            let at = self.shared.time.ms();
            let text = "an older version dropped what a newer one wrote".to_owned();
            self.shared.log.lock().watch.broke("tail", at, text);
        }
    }

    async fn pass(&self) -> Result<(), StoreError> {
        if !self.alive.load(Ordering::Relaxed) {
            return Err(StoreError::Unavailable("this process is dead".to_owned()));
        }
        let delay = self.shared.delay.load(Ordering::Relaxed);
        if delay > 0 {
            self.shared.time.sleep(delay).await;
        }
        if self.shared.frozen.load(Ordering::Relaxed) {
            // A client gives up after 50 ms.
            self.shared.time.sleep(50).await;
            return Err(StoreError::Timeout(50));
        }
        Ok(())
    }
}

#[async_trait::async_trait]
impl ResilienceStore for Handle {
    fn traits(&self) -> StoreTraits {
        self.inner.traits()
    }

    async fn get(&self, keys: &[Key]) -> Result<(Vec<Option<Record>>, UnixMs), StoreError> {
        self.pass().await?;
        self.shared.reads.fetch_add(1, Ordering::Relaxed);
        let (mut records, time) = self.inner.get(keys).await?;
        self.shared.log.told(time);
        if self.shared.breakage == Breakage::NewerForgotten && !self.newer {
            for record in records.iter_mut().flatten() {
                let known = record.value.len() - if record.value.ends_with(&NEWER) { NEWER.len() } else { 0 };
                record.value.truncate(known);
            }
        }
        Ok((records, time))
    }

    async fn commit(
        &self,
        changes: &[Put],
        not_after: Option<UnixMs>,
        durability: Durability,
    ) -> Result<(Commit, UnixMs), StoreError> {
        self.pass().await?;
        let inner = &self.inner;
        let keys: Vec<Key> = changes.iter().map(|change| change.key().clone()).collect();
        let (before, _) = inner.get(&keys).await?;
        let mut changes = changes.to_vec();
        for (change, before) in changes.iter_mut().zip(&before) {
            if self.shared.unfenced(change.key())
                && let Put::Put { expected, .. } | Put::Check { expected, .. } = change
            {
                *expected = before.as_ref().map(|record| record.version);
            }
            if let Put::Put { key, value, .. } = change
                && peek::who(key).is_some()
            {
                self.append(value);
            }
        }
        let (done, time) = inner.commit(&changes, not_after, durability).await?;
        self.shared.log.told(time);
        if let Commit::Done(_) = done {
            self.shared.commits.fetch_add(1, Ordering::Relaxed);
            if keys.iter().any(|key| peek::who(key).is_some()) {
                self.shared.layer_commits.fetch_add(1, Ordering::Relaxed);
            }
            for (change, before) in changes.iter().zip(&before) {
                match change {
                    Put::Put { key, value, .. } if matches!(key, Key::Slots { .. }) => {
                        self.shared.slots_written(key, value, time);
                    }
                    Put::Put { key, value, .. } => {
                        // What lost a race was decided on what was there before, and is decided anew.
                        self.kept(value, before.as_ref().filter(|_| peek::who(key).is_some()));
                        self.shared.changed(key, before.as_ref(), Some(value));
                    }
                    Put::Delete { key, .. } => self.shared.changed(key, before.as_ref(), None),
                    Put::Check { .. } => {}
                }
            }
        }
        Ok((done, time))
    }

    async fn scan(
        &self,
        prefix: &str,
        visit: &mut (dyn for<'r> FnMut(&'r Key, &'r Record) + Send),
    ) -> Result<UnixMs, StoreError> {
        self.pass().await?;
        self.inner.scan(prefix, visit).await
    }
}
