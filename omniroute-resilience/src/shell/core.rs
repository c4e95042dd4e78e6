//! Everything that permits, waiters and readers share: configuration, store, clock, rows, events, outbox.

use std::collections::{BTreeMap, VecDeque};
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crossbeam_utils::CachePadded;
use crossbeam_utils::sync::{ShardedLock, ShardedLockReadGuard, ShardedLockWriteGuard};
use omniroute_core::{Clock, Key, Moment, Mono, PermitId, Record, ResilienceStore, StoreError, UnixMs};

use crate::affinity::Pins;
use crate::codec::Value;
use crate::config::Config;
use crate::layers::breaker::Breaker;
use crate::layers::connection::Connection;
use crate::layers::lockout::Lock;
use crate::lease::record::Holder;
use crate::limits::share::Deficits;
use crate::rng::Rng;
use crate::shell::events::{About, EventKind, Ring};
use crate::shell::learn::Learning;
use crate::shell::table::{Once, Spot, Table};
use crate::shell::ticket::Work;
use crate::shell::wait::Waiting;

/// What is counted, for health and tests.
#[derive(Debug, Default)]
pub(crate) struct Counters {
    /// Numbers of permits that were taken and never became one.
    pub(crate) unused: AtomicU64,
    pub(crate) denied: AtomicU64,
    pub(crate) abandoned: AtomicU64,
    pub(crate) stale_failures: AtomicU64,
    pub(crate) late_reports: AtomicU64,
    pub(crate) refreshes: AtomicU64,
    pub(crate) commits: AtomicU64,
    pub(crate) store_errors: AtomicU64,
    pub(crate) corrupt: AtomicU64,
    pub(crate) outbox_dropped: AtomicU64,
    pub(crate) slot_bypasses: AtomicU64,
}

/// A wall clock that never goes back, on a monotonic one.
#[derive(Debug, Default)]
struct Hybrid {
    started: bool,
    mono: Mono,
    wall: i64,
    shown: i64,
    behind_since: Option<Mono>,
}

#[derive(Debug)]
pub(crate) struct Core {
    pub(crate) config: Config,
    pub(crate) store: Arc<dyn ResilienceStore>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) rng: Rng,
    pub(crate) process: u64,
    /// Written by every admission; alone on its cache line.
    permits: CachePadded<AtomicU64>,
    /// Readers lock one shard of it, so that threads do not meet.
    table: ShardedLock<Table>,
    pub(crate) learning: Learning,
    pub(crate) shares: Mutex<BTreeMap<Arc<str>, Deficits>>,
    pub(crate) events: Ring,
    outbox: Mutex<VecDeque<Work>>,
    outbox_length: AtomicU64,
    closed: AtomicBool,
    pub(crate) waiting: Waiting,
    pub(crate) pins: Pins,
    pub(crate) counters: CachePadded<Counters>,
    store_away_until: AtomicU64,
    degraded: Once,
    hybrid: Mutex<Hybrid>,
    /// Wall minus monotonic clock in ms as last looked at, while the wall clock may be shown as it is.
    steady: AtomicI64,
    /// How old what is remembered may be; none: nobody else writes to the store.
    pub(crate) max_age: Option<u64>,
}

/// Which row a record belongs to.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Row {
    Conn(u32),
    Own(u32),
    Lock(u32),
    Breaker(u32),
    Lease(u32),
}

impl Core {
    pub(crate) fn new(
        config: Config,
        store: Arc<dyn ResilienceStore>,
        clock: Arc<dyn Clock>,
        seed: u64,
        process: u64,
    ) -> Core {
        let max_age = store.traits().shared.then(|| config.mirror_max_age.as_ms() * 1_000_000);
        Core {
            events: Ring::new(config.events),
            waiting: Waiting::new(&config),
            pins: Pins::new(&config.affinity),
            rng: Rng::new(seed),
            config,
            store,
            clock,
            process,
            permits: CachePadded::default(),
            table: ShardedLock::default(),
            learning: Learning::default(),
            shares: Mutex::default(),
            outbox: Mutex::default(),
            outbox_length: AtomicU64::new(0),
            closed: AtomicBool::new(false),
            counters: CachePadded::default(),
            store_away_until: AtomicU64::new(0),
            degraded: Once::default(),
            hybrid: Mutex::default(),
            steady: AtomicI64::new(i64::MIN),
            max_age,
        }
    }

    pub(crate) fn table(&self) -> ShardedLockReadGuard<'_, Table> {
        self.table.read().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn table_mut(&self) -> ShardedLockWriteGuard<'_, Table> {
        self.table.write().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn next_permit(&self) -> PermitId {
        PermitId { process: self.process, number: self.permits.fetch_add(1, Relaxed) + 1 }
    }

    /// Permits granted so far.
    pub(crate) fn granted(&self) -> u64 {
        self.permits.load(Relaxed).saturating_sub(self.counters.unused.load(Relaxed))
    }

    /// A number was taken for nothing.
    pub(crate) fn unused(&self) {
        self.counters.unused.fetch_add(1, Relaxed);
    }

    /// Now, with a wall clock that does not go back. A jump is told; behind for ten minutes, it is believed.
    pub(crate) fn now(&self) -> Moment {
        let read = self.clock.now();
        let offset = read.wall.0.saturating_sub(i64::try_from(read.mono.0 / 1_000_000).unwrap_or(i64::MAX));
        if offset.abs_diff(self.steady.load(Relaxed)) <= 50 {
            return read;
        }
        let mut hybrid = lock(&self.hybrid);
        if !hybrid.started {
            *hybrid = Hybrid {
                started: true,
                mono: read.mono,
                wall: read.wall.0,
                shown: read.wall.0,
                behind_since: None,
            };
            self.steady.store(offset, Relaxed);
            return read;
        }
        let passed = i64::try_from(read.mono.since(hybrid.mono).as_millis()).unwrap_or(0);
        let jump = read.wall.0.saturating_sub(hybrid.wall.saturating_add(passed));
        let mut shown = read.wall.0.max(hybrid.shown.saturating_add(passed));
        if shown.saturating_sub(read.wall.0) > 60_000 {
            let since = *hybrid.behind_since.get_or_insert(read.mono);
            if read.mono.since(since).as_secs() >= 600 {
                shown = read.wall.0;
                hybrid.behind_since = None;
            }
        } else {
            hybrid.behind_since = None;
        }
        if passed > 0 {
            hybrid.mono = Mono(hybrid.mono.0 + passed.cast_unsigned() * 1_000_000);
            hybrid.wall = read.wall.0;
            hybrid.shown = shown;
        } else if jump.abs() > 5_000 {
            hybrid.wall = read.wall.0;
            hybrid.shown = shown;
        }
        self.steady.store(if shown == read.wall.0 { offset } else { i64::MIN }, Relaxed);
        drop(hybrid);
        if jump.abs() > 5_000 {
            self.events.push(shown, About::default(), EventKind::ClockJump { ms: jump });
        }
        Moment { mono: read.mono, wall: UnixMs(shown) }
    }

    /// Whether the store may be asked, or was away a moment ago.
    pub(crate) fn store_here(&self, now: Mono) -> bool {
        now.0 >= self.store_away_until.load(Relaxed)
    }

    /// Notes how a call of the store ended.
    pub(crate) fn heard<T>(&self, result: &Result<T, StoreError>) {
        let at = || self.now();
        match result {
            Ok(_) | Err(StoreError::Contended(_)) => {
                if self.store.status().apart {
                    if self.degraded.first() {
                        let error = "it goes on without what it shares with other processes".to_owned();
                        self.events.push(at().wall.0, About::default(), EventKind::StoreDegraded { error });
                    }
                } else if self.degraded.set() {
                    self.degraded.again();
                    self.events.push(at().wall.0, About::default(), EventKind::StoreRecovered);
                }
            }
            Err(error) => {
                self.counters.store_errors.fetch_add(1, Relaxed);
                let now = at();
                // One that works apart refuses what it cannot confirm, and is there for the rest.
                if !self.store.status().apart {
                    let retry = self.config.store_retry.as_ms().saturating_mul(1_000_000);
                    let retry = self.rng.between(retry / 10 * 8, retry / 10 * 12);
                    self.store_away_until.store(now.mono.0.saturating_add(retry), Relaxed);
                }
                if self.degraded.first() {
                    let error = error.to_string();
                    self.events.push(now.wall.0, About::default(), EventKind::StoreDegraded { error });
                }
            }
        }
    }

    pub(crate) fn degraded(&self) -> bool {
        self.degraded.set()
    }

    /// Reads records and shows them in the rows, in one call of the store.
    pub(crate) async fn refresh(&self, wanted: Vec<(Key, Row)>) {
        let (keys, rows): (Vec<Key>, Vec<Row>) = wanted.into_iter().unzip();
        self.counters.refreshes.fetch_add(1, Relaxed);
        let result = self.store.get(&keys).await;
        self.heard(&result);
        if let Ok((records, store_now)) = result {
            let now = self.now();
            let table = self.table();
            for (row, record) in rows.into_iter().zip(records) {
                self.show(&table, row, record.as_ref(), store_now.0, now);
            }
        }
    }

    fn show(&self, table: &Table, row: Row, record: Option<&Record>, store_now: i64, now: Moment) {
        match row {
            Row::Conn(index) => {
                let state = self.read::<Connection>(record);
                let quota =
                    state.as_ref().and_then(|state| state.exhausted_until(store_now, &self.config.quota));
                table.note_conn(index, state.as_ref(), quota, store_now, now);
            }
            Row::Own(index) => {
                table.note_lock(Spot::Own(index), self.read::<Lock>(record).as_ref(), store_now, now);
            }
            Row::Lock(index) => {
                table.note_lock(Spot::Lock(index), self.read::<Lock>(record).as_ref(), store_now, now);
            }
            Row::Breaker(index) => {
                if let Some(breaker) = table.breakers.get(index as usize) {
                    let mut state = self.read::<Breaker>(record);
                    if let Some(state) = &mut state {
                        state.settle(store_now, &breaker.rules);
                    }
                    breaker.note(state.as_ref(), store_now, now);
                }
            }
            Row::Lease(index) => {
                let until = self.read::<Holder>(record).map(|holder| holder.expires_at);
                table.note_lease(index, until, store_now, now);
            }
        }
    }

    fn read<V: Value>(&self, record: Option<&Record>) -> Option<V> {
        let record = record?;
        let value = V::decode(&record.value).map(|(value, _)| value);
        if value.is_none() {
            self.corrupt(1);
        }
        value
    }

    pub(crate) fn corrupt(&self, count: u32) {
        if count > 0 {
            self.counters.corrupt.fetch_add(u64::from(count), Relaxed);
            self.events.push(self.now().wall.0, About::default(), EventKind::Corrupt);
        }
    }

    /// All locks count as never read.
    pub(crate) fn forget_locks(&self) {
        let table = self.table();
        for row in
            table.targets.iter().map(|target| &target.own).chain(table.locks.iter().map(|(row, _)| row))
        {
            row.forget();
        }
    }

    /// Keeps work for the next call of the store, if there will be one.
    pub(crate) fn later(&self, work: Work) {
        let mut outbox = lock(&self.outbox);
        if self.closed.load(Relaxed) {
            self.counters.outbox_dropped.fetch_add(1, Relaxed);
            return;
        }
        if outbox.len() >= self.config.outbox as usize {
            outbox.pop_front();
            self.counters.outbox_dropped.fetch_add(1, Relaxed);
        }
        outbox.push_back(work);
        self.outbox_length.store(outbox.len() as u64, Relaxed);
    }

    /// Nobody asks for permits any more.
    pub(crate) fn close(&self) {
        let left = {
            let mut outbox = lock(&self.outbox);
            self.closed.store(true, Relaxed);
            self.outbox_length.store(0, Relaxed);
            std::mem::take(&mut *outbox)
        };
        self.counters.outbox_dropped.fetch_add(left.len() as u64, Relaxed);
    }

    pub(crate) fn outbox_length(&self) -> u64 {
        self.outbox_length.load(Relaxed)
    }

    /// Does what dropped permits and failed calls left, at most `most` pieces.
    pub(crate) async fn flush(self: &Arc<Self>, most: usize) {
        for _ in 0..most {
            if self.outbox_length() == 0 || !self.store_here(self.now().mono) {
                return;
            }
            let work = {
                let mut outbox = lock(&self.outbox);
                let work = outbox.pop_front();
                self.outbox_length.store(outbox.len() as u64, Relaxed);
                work
            };
            let Some(work) = work else { return };
            crate::shell::report::see_through(self, work).await;
        }
    }
}

pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
