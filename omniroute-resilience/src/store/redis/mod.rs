//! State in a Redis or Valkey server, shared by many hosts; goes on without it for a while.

mod apart;
mod config;
mod health;
mod join;
mod lanes;
mod link;
mod local;
mod script;
mod work;

use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use omniroute_core::{
    Change, Clock, Commit, Durability, Key, Offload, Record, ResilienceStore, StoreError, StoreStatus,
    StoreTraits, UnixMs,
};
use redis::IntoConnectionInfo;

pub use self::config::RedisConfig;
use self::script::{Answer, Request};
use crate::join::{ByKind, Join};
use crate::rng::Rng;
use crate::store::blocking::{Blocking, timed_out, within};
use crate::store::time::Seen;

/// A store in a Redis or Valkey server (6.2 or 7.2 at least), one script for everything.
///
/// # Behavior
/// - All records of a namespace live under one hash tag: they are not spread over a cluster. The server must not
///   evict them: `maxmemory-policy noeviction`.
/// - The time is the server's, but never earlier than any it has acknowledged; if its clock stays more than a
///   minute behind for ten minutes, it is believed. The server's own expiry only removes what has been absent
///   for an hour.
/// - Calls that come while all connections are busy share exchanges, 128 at most in each; reading calls with
///   reading ones. Each is answered for itself. None takes longer than [`RedisConfig::command`].
/// - When the server refuses three times within a second, or is too slow for two seconds on end, this process
///   goes on **apart**: with the records it remembers and commits of its own. Leases cannot be taken, given back
///   or confirmed then, nor money counted, and limits are divided by the number of processes that were in touch
///   with the server within a minute. Calls try the server about once a second. When it is back, it is told what
///   was written apart, each change once even if answers are lost, and that is [joined](Join) with what it holds,
///   in any order with other processes.
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
    /// Changes made apart that gave way to those of others, and leases that a server without memory ended.
    pub overruled: u64,
    /// Processes that were in touch with the server within a minute, when it last said so.
    pub processes: u32,
}

#[derive(Debug)]
struct Shared {
    config: RedisConfig,
    names: script::Names,
    clock: Arc<dyn Clock>,
    link: link::Link,
    join: Arc<dyn Join>,
    lanes: lanes::Lanes,
    /// Our name among the processes that use the server.
    process: u64,
    /// When the server is next told that we are there.
    beat_at: AtomicU64,
    mark: Mutex<join::Mark>,
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
    overruled: u64,
    processes: u32,
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
        RedisStore::open_with(config, clock, offload, Arc::new(ByKind)).await
    }

    /// As [`RedisStore::open`], with a way to join values that were written apart. Default [`ByKind`].
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
        // An answer is waited for after each call: no piece of it may wait for more.
        let tcp = redis::io::tcp::TcpSettings::default().set_nodelay(true);
        let client = config
            .url
            .as_str()
            .into_connection_info()
            .and_then(|info| redis::Client::open(info.set_tcp_settings(tcp)))
            .map_err(|error| config::wrong("url", &"..", &format!("an address ({})", error.category())))?;
        let state = State {
            health: health::Health::new(),
            local: local::Local::new(config.remembered as usize),
            id: String::new(),
            rebirths: 0,
            overruled: 0,
            processes: 1,
            setup: false,
            closed: false,
        };
        let now = clock.now();
        // Where this store's own name lies: no other one of this process has it there.
        let here = config.namespace.as_ptr().addr() as u64;
        let parts =
            [u64::from(std::process::id()), now.wall.0.cast_unsigned(), now.mono.0, here, config.seed];
        let process = parts.into_iter().fold(0, |mixed, part| crate::rng::mix(mixed ^ part));
        let shared = Arc::new(Shared {
            process,
            lanes: lanes::Lanes::default(),
            beat_at: AtomicU64::new(0),
            mark: Mutex::new(join::Mark::new(process)),
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
            overruled: state.overruled,
            processes: state.processes,
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

    /// Asks the server together with others that ask at the same time. Waits as long as a command may take, all
    /// in all; waiting longer counts as a slow answer.
    async fn ask(&self, request: Request) -> Result<(Answer, UnixMs), StoreError> {
        let limit = self.shared.config.command.into();
        let answer = lanes::ask(&self.shared, &self.blocking, request);
        match within(&*self.shared.clock, limit, answer).await {
            Some(answer) => answer.unwrap_or_else(|_| Err(crate::store::blocking::dropped())),
            None => {
                self.shared.too_slow();
                Err(timed_out(limit))
            }
        }
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
        let (mut all, mut time) = (Vec::with_capacity(keys.len()), None);
        // Without keys it is the time that is asked for.
        let parts = keys.chunks(work::READ).chain(keys.is_empty().then_some(keys));
        for part in parts {
            let (answer, at) = self.ask(Request::Get(part.iter().map(Key::encode).collect())).await?;
            all.extend(self.shared.learn_read(part, answer)?);
            time.get_or_insert(at);
        }
        Ok((all, time.ok_or_else(work::forgot)?))
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
        let (answer, time) = self.ask(Request::Commit(changes.to_vec(), not_after)).await?;
        Ok((self.shared.learn_commit(changes, answer)?, time))
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
            let shared = self.shared.clone();
            let (next, page) = self.blocking.run(move || shared.scan(scan)).await?;
            page.records.iter().for_each(|(key, record)| visit(key, record));
            match next {
                Some(next) => scan = next,
                None => return Ok(page.time),
            }
        }
    }

    fn status(&self) -> StoreStatus {
        let state = self.shared.lock();
        let mut status = StoreStatus::default();
        status.apart = !state.health.connected() && self.shared.config.fallback;
        status.processes = state.processes;
        status.unsettled = state.local.unsettled() as u64;
        status.outages = state.health.outages;
        status.overruled = state.overruled;
        status.dropped = state.local.dropped;
        status
    }

    fn common(&self, key: &Key) -> Option<Record> {
        self.shared.common(key)
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
}
