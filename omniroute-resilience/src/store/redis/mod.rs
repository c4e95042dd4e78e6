//! State in a Redis or Valkey server, shared by many hosts; goes on without it for a while.

mod config;
mod health;
mod join;
mod link;
mod local;
mod script;
mod work;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use omniroute_core::{
    Change, Clock, Commit, Durability, Key, Offload, Record, ResilienceStore, StoreError, StoreTraits, UnixMs,
};

pub use self::config::RedisConfig;
pub use self::join::{Join, Joined, LaterEnd};
use crate::rng::Rng;
use crate::store::blocking::Blocking;
use crate::store::time::Seen;

/// A store in a Redis or Valkey server (6.2 or 7.2 at least), one script for everything.
///
/// # Behavior
/// - All records of a namespace live under one hash tag: they are not spread over a cluster. The server must not
///   evict them: `maxmemory-policy noeviction`.
/// - The time is the server's, but never earlier than any it has acknowledged; if its clock stays more than a
///   minute behind for ten minutes, it is believed. The server's own expiry only removes what has been absent
///   for an hour.
/// - When the server refuses three times within a second, or is too slow for two seconds on end, this process
///   goes on **apart**: with the records it remembers and commits of its own. Leases cannot be taken, given back
///   or confirmed then, nor money counted. Calls try the server about once a second. When it is back, what was
///   written apart is [joined](Join) with what it holds, in any order with other processes.
/// - A server that comes back without its memory is told everything this process remembers, but for who holds a
///   lease.
/// - A commit that met an error may have happened. Its versions tell.
/// - With failover to a replica the last acknowledged writes may be lost. Fences of leases still only grow.
#[derive(Debug)]
pub struct RedisStore {
    shared: Arc<Shared>,
    blocking: Blocking,
}

/// How a [`RedisStore`] is doing.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct RedisHealth {
    /// Whether the server is in use.
    pub connected: bool,
    /// Why it was given up the last time.
    pub reason: Option<String>,
    /// Calls that failed.
    pub faults: u64,
    /// How often it was given up.
    pub outages: u64,
    /// How often it came back without its memory.
    pub rebirths: u64,
    /// Records that it must still hear of.
    pub unsettled: usize,
    /// Records remembered for the time without it.
    pub remembered: usize,
    /// Records forgotten because there were too many.
    pub dropped: u64,
}

#[derive(Debug)]
struct Shared {
    config: RedisConfig,
    names: script::Names,
    clock: Arc<dyn Clock>,
    link: link::Link,
    join: Arc<dyn Join>,
    seen: Seen,
    rng: Rng,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    health: health::Health,
    local: local::Local,
    /// The server's store as we know it; empty: never seen.
    id: String,
    rebirths: u64,
    /// The server will not take our calls until somebody changes its setup or ours.
    setup: bool,
    closed: bool,
}

impl RedisStore {
    /// Connects; without a server it starts apart, unless one is required.
    ///
    /// # Errors
    /// [`StoreError::Invalid`] for a value that is not allowed, or an offload that runs jobs inline although
    /// calls may block for more than 50 ms; [`StoreError::SchemaTooNew`]; [`StoreError::Unsupported`] in a
    /// cluster; [`StoreError::Unavailable`] if the server refuses the user or the script, or, as
    /// [`StoreError::Timeout`], if a server is required.
    pub async fn open(
        config: RedisConfig,
        clock: Arc<dyn Clock>,
        offload: Arc<dyn Offload>,
    ) -> Result<RedisStore, StoreError> {
        RedisStore::open_with(config, clock, offload, Arc::new(LaterEnd)).await
    }

    /// As [`RedisStore::open`], with a way to join values that were written apart. Default [`LaterEnd`].
    ///
    /// # Errors
    /// As of [`RedisStore::open`].
    pub async fn open_with(
        config: RedisConfig,
        clock: Arc<dyn Clock>,
        offload: Arc<dyn Offload>,
        join: Arc<dyn Join>,
    ) -> Result<RedisStore, StoreError> {
        config.validate()?;
        let blocking = Blocking::new(offload, config.limits().whole())?;
        let client = redis::Client::open(config.url.as_str())
            .map_err(|error| config::wrong("url", &"..", &format!("an address ({})", error.category())))?;
        let state = State {
            health: health::Health::new(),
            local: local::Local::new(config.remembered as usize),
            id: String::new(),
            rebirths: 0,
            setup: false,
            closed: false,
        };
        let shared = Arc::new(Shared {
            names: script::Names::new(&config.namespace),
            link: link::Link::new(client, config.limits(), config.connections as usize),
            rng: Rng::new(config.seed),
            state: Mutex::new(state),
            seen: Seen::new(),
            config,
            clock,
            join,
        });
        let first = shared.clone();
        blocking.run(move || first.first_contact()).await?;
        Ok(RedisStore { shared, blocking })
    }

    /// How it is doing.
    pub fn health(&self) -> RedisHealth {
        let state = self.shared.lock();
        RedisHealth {
            connected: state.health.connected(),
            reason: state.health.reason.clone(),
            faults: state.health.faults,
            outages: state.health.outages,
            rebirths: state.rebirths,
            unsettled: state.local.unsettled(),
            remembered: state.local.len(),
            dropped: state.local.dropped,
        }
    }

    /// Whether this call must do without the server. Tries the server on the side if that is due.
    fn apart(&self) -> Result<bool, StoreError> {
        self.blocking.same_process()?;
        let now = self.shared.clock.now().mono;
        let mut state = self.shared.lock();
        if state.closed {
            return Err(StoreError::Unavailable("the store is closed".to_owned()));
        }
        let probe = state.health.take_probe(now);
        drop(state);
        if probe {
            let probe = Probe(self.shared.clone());
            self.blocking.start(move || probe.run());
        }
        Ok(!self.shared.lock().health.connected())
    }

    /// Runs a job with a bounded wait, which counts as a slow answer when it ends first.
    async fn bounded<T: Send + 'static>(
        &self,
        job: impl FnOnce(&Shared) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let shared = self.shared.clone();
        let limit = shared.patience();
        let result = self.blocking.run_within(&*self.shared.clock, limit, move || job(&shared)).await;
        if result.as_ref().is_err_and(|error| *error == crate::store::blocking::timed_out(limit)) {
            self.shared.too_slow();
        }
        result
    }
}

#[async_trait::async_trait]
impl ResilienceStore for RedisStore {
    fn traits(&self) -> StoreTraits {
        let durable = self.shared.config.durable && self.shared.lock().health.connected();
        StoreTraits::new("redis", durable, true)
    }

    async fn get(&self, keys: &[Key]) -> Result<(Vec<Option<Record>>, UnixMs), StoreError> {
        if self.apart()? {
            return self.shared.get_apart(keys);
        }
        let keys = keys.to_vec();
        self.bounded(move |shared| shared.get(&keys)).await
    }

    async fn commit(
        &self,
        changes: &[Change],
        not_after: Option<UnixMs>,
        _durability: Durability,
    ) -> Result<(Commit, UnixMs), StoreError> {
        work::sound(changes)?;
        if self.apart()? {
            return self.shared.commit_apart(changes, not_after);
        }
        let changes = changes.to_vec();
        self.bounded(move |shared| shared.commit(&changes, not_after)).await
    }

    async fn scan(
        &self,
        prefix: &str,
        visit: &mut (dyn for<'r> FnMut(&'r Key, &'r Record) + Send),
    ) -> Result<UnixMs, StoreError> {
        if self.apart()? {
            let (found, time) = self.shared.scan_apart(prefix)?;
            found.iter().for_each(|(key, record)| visit(key, record));
            return Ok(time);
        }
        let mut scan = work::Scan::new(self.shared.names.pattern(prefix));
        loop {
            let (next, page) = self.bounded(move |shared| shared.scan(scan)).await?;
            page.records.iter().for_each(|(key, record)| visit(key, record));
            match next {
                Some(next) => scan = next,
                None => return Ok(page.time),
            }
        }
    }

    /// Tells the server what it has not heard of, if it can be reached.
    async fn close(&self) -> Result<(), StoreError> {
        let shared = self.shared.clone();
        self.blocking.run(move || shared.close()).await
    }
}

/// One try to come back to the server. Thrown away unused, it lets another one follow.
#[derive(Debug)]
struct Probe(Arc<Shared>);

impl Probe {
    fn run(self) {
        // A failure is counted inside; the next try comes by itself.
        let _ = self.0.rejoin();
    }
}

impl Drop for Probe {
    fn drop(&mut self) {
        self.0.end_probe();
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// How long a caller waits for its job.
    fn patience(&self) -> Duration {
        let limits = self.config.limits();
        // While answers are late, a new connection gets no more time than a command.
        if self.lock().health.slow() { limits.command + limits.queue } else { limits.whole() }
    }
}
