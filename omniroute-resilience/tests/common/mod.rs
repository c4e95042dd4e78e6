//! A small world for tests: virtual time, stores that count, stall or fail, and connections that cost nothing.

#![expect(unreachable_pub, clippy::unwrap_used, reason = "helpers of tests")]

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::task::Poll;
use std::time::Duration;

use futures::executor::block_on;
use futures::future::poll_fn;
use omniroute_core::testing::VirtualClock;
use omniroute_core::{
    Change, Clock, Commit, Durability, Failure, FailureKind, Key, Permit, Record, ResilienceStore, Scope,
    StoreError, StoreTraits, Target, UnixMs,
};
use omniroute_resilience::{
    AdmitContext, Class, Config, ConnectionSpec, Denial, Handle, MemoryStore, Resilience,
};

/// A store around the memory store that counts its calls, stalls each of them, takes its time, or fails.
#[derive(Debug)]
pub struct Probe {
    pub inner: MemoryStore,
    clock: VirtualClock,
    /// How long a call takes, ms.
    pub slow: AtomicU64,
    pub gets: AtomicU64,
    pub commits: AtomicU64,
    pub stall: AtomicBool,
    pub away: AtomicBool,
}

impl Probe {
    pub fn calls(&self) -> (u64, u64) {
        (self.gets.load(Relaxed), self.commits.load(Relaxed))
    }

    async fn before(&self) -> Result<(), StoreError> {
        self.stall().await;
        self.clock.advance(Duration::from_millis(self.slow.load(Relaxed)));
        if self.away.load(Relaxed) { Err(StoreError::Unavailable("test".to_owned())) } else { Ok(()) }
    }

    async fn stall(&self) {
        let mut waits = u32::from(self.stall.load(Relaxed));
        poll_fn(|cx| {
            if waits == 0 {
                return Poll::Ready(());
            }
            waits -= 1;
            cx.waker().wake_by_ref();
            Poll::Pending
        })
        .await;
    }
}

#[async_trait::async_trait]
impl ResilienceStore for Probe {
    fn traits(&self) -> StoreTraits {
        self.inner.traits()
    }

    async fn get(&self, keys: &[Key]) -> Result<(Vec<Option<Record>>, UnixMs), StoreError> {
        self.gets.fetch_add(1, Relaxed);
        self.before().await?;
        self.inner.get(keys).await
    }

    async fn commit(
        &self,
        changes: &[Change],
        not_after: Option<UnixMs>,
        durability: Durability,
    ) -> Result<(Commit, UnixMs), StoreError> {
        self.commits.fetch_add(1, Relaxed);
        self.before().await?;
        let done = self.inner.commit(changes, not_after, durability).await;
        self.stall().await;
        done
    }

    async fn scan(
        &self,
        prefix: &str,
        visit: &mut (dyn for<'r> FnMut(&'r Key, &'r Record) + Send),
    ) -> Result<UnixMs, StoreError> {
        self.before().await?;
        self.inner.scan(prefix, visit).await
    }
}

pub struct World {
    pub clock: VirtualClock,
    pub store: Arc<Probe>,
    pub config: Config,
    pub specs: Vec<ConnectionSpec>,
    pub resilience: Resilience,
    processes: u64,
}

pub const START: i64 = 1_800_000_000_000;

impl World {
    /// A provider `p` with this many keys, on a store that only this process writes.
    pub fn new(connections: usize) -> World {
        World::with(keys("p", connections), Config::default(), false)
    }

    pub fn with(specs: Vec<ConnectionSpec>, config: Config, shared: bool) -> World {
        let clock = VirtualClock::at(UnixMs(START));
        let memory = MemoryStore::new(Arc::new(clock.clone()));
        let store = Arc::new(Probe {
            inner: if shared { memory.shared() } else { memory },
            clock: clock.clone(),
            slow: AtomicU64::new(0),
            gets: AtomicU64::new(0),
            commits: AtomicU64::new(0),
            stall: AtomicBool::new(false),
            away: AtomicBool::new(false),
        });
        let resilience = build(&store, &clock, &config, &specs, 1);
        World { clock, store, config, specs, resilience, processes: 1 }
    }

    /// Another process, or the same one after a restart, on the same store.
    pub fn process(&mut self) -> Resilience {
        self.processes += 1;
        build(&self.store, &self.clock, &self.config, &self.specs, self.processes)
    }

    pub fn wait(&self, ms: u64) {
        self.clock.advance(Duration::from_millis(ms));
    }

    pub fn targets(&self, model: &str) -> Vec<Handle> {
        handles(&self.resilience, &self.specs, model)
    }

    pub fn admit(&self, picks: &[Handle]) -> Result<Permit, Denial> {
        admit(&self.resilience, picks)
    }

    pub fn fail(&self, permit: Permit, failure: Failure) {
        fail(&self.clock, permit, failure);
    }

    pub fn succeed(&self, permit: Permit) {
        let outcome = permit.outcome(self.clock.now());
        block_on(permit.report(outcome));
    }

    /// An attempt from beginning to end, a millisecond long.
    pub fn attempt(&self, picks: &[Handle], failure: Option<Failure>) -> Result<(), Denial> {
        let permit = self.admit(picks)?;
        self.wait(1);
        match failure {
            Some(failure) => self.fail(permit, failure),
            None => self.succeed(permit),
        }
        Ok(())
    }
}

fn build(
    store: &Arc<Probe>,
    clock: &VirtualClock,
    config: &Config,
    specs: &[ConnectionSpec],
    process: u64,
) -> Resilience {
    let dynamic: Arc<dyn ResilienceStore> = store.clone();
    let resilience = Resilience::builder(dynamic, Arc::new(clock.clone()))
        .config(config.clone())
        .seed(7)
        .process(process)
        .build()
        .unwrap();
    resilience.configure(specs);
    resilience
}

pub fn keys(provider: &str, count: usize) -> Vec<ConnectionSpec> {
    (0..count).map(|n| ConnectionSpec::new(provider, format!("{provider}-{n}"), Class::ApiKey)).collect()
}

pub fn handles(resilience: &Resilience, specs: &[ConnectionSpec], model: &str) -> Vec<Handle> {
    let targets: Vec<Target> = specs
        .iter()
        .map(|spec| Target::new(spec.provider.as_str(), spec.connection.as_str(), model))
        .collect();
    resilience.register(&targets).into_iter().map(Option::unwrap).collect()
}

pub fn admit(resilience: &Resilience, picks: &[Handle]) -> Result<Permit, Denial> {
    block_on(resilience.admit(picks, &AdmitContext::default()))
}

pub fn fail(clock: &VirtualClock, permit: Permit, failure: Failure) {
    let mut outcome = permit.outcome(clock.now());
    outcome.failure = Some(failure);
    block_on(permit.report(outcome));
}

pub fn failure(kind: FailureKind, scope: Scope, status: u16) -> Failure {
    let mut failure = Failure::new(kind, scope, "test");
    failure.status = Some(status);
    failure
}

pub fn rate_limited() -> Failure {
    failure(FailureKind::RateLimited, Scope::Connection, 429)
}

pub fn declared(mut failure: Failure, clock: &VirtualClock, ms: i64) -> Failure {
    failure.retry_at = Some(UnixMs(clock.now().wall.0 + ms));
    failure.declared = true;
    failure
}
