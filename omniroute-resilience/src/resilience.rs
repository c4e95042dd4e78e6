//! The entry: configuration and store in, permits out.

use std::sync::Arc;

use omniroute_core::{Clock, ConnectionId, Key, ProviderId, ResilienceStore, StoreError, Target};

use crate::config::{Config, ConfigError};
use crate::layers::breaker::{Breaker, Forced};
use crate::layers::connection::{Connection, Seen};
use crate::shell::apply::{breaker_expires, conn_expires, flush_successes};
use crate::shell::core::Core;
use crate::shell::events::{About, EventKind, Events};
use crate::shell::spec::{ConnectionSpec, PoolSpec};
use crate::shell::table::Handle;
use crate::shell::txn::transact;

/// Decides for every attempt whether its target may be used now, and learns from how it went. Cloning shares.
#[derive(Debug, Clone)]
pub struct Resilience {
    pub(crate) core: Arc<Core>,
    _open: Arc<Open>,
}

/// Goes with the last [`Resilience`]: what waits for a store that nobody will call again belongs to permits that hold
/// the core, and would keep it, and the store, for ever.
#[derive(Debug)]
struct Open(Arc<Core>);

impl Drop for Open {
    fn drop(&mut self) {
        self.0.close();
    }
}

/// Puts a [`Resilience`] together.
#[derive(Debug)]
pub struct Builder {
    config: Config,
    store: Arc<dyn ResilienceStore>,
    clock: Arc<dyn Clock>,
    seed: u64,
    process: Option<u64>,
}

impl Builder {
    /// All numbers; the documented ones by default.
    #[must_use]
    pub fn config(mut self, config: Config) -> Self {
        self.config = config;
        self
    }

    /// Where jitter starts; 0 by default.
    #[must_use]
    pub fn seed(mut self, seed: u64) -> Self {
        self.seed = seed;
        self
    }

    /// A number no other process on the same store has. By default made from the process id, the time and where
    /// this object lies in memory.
    #[must_use]
    pub fn process(mut self, process: u64) -> Self {
        self.process = Some(process);
        self
    }

    /// Checks the configuration and builds.
    ///
    /// # Errors
    /// Every value that is not allowed, with key and range.
    pub fn build(self) -> Result<Resilience, Vec<ConfigError>> {
        self.config.validate()?;
        let process = self.process.unwrap_or_else(|| {
            let here = Arc::as_ptr(&self.store).cast::<u8>().addr() as u64;
            let now = self.clock.now();
            let parts = [u64::from(std::process::id()), now.wall.0.cast_unsigned(), now.mono.0, here];
            parts.into_iter().fold(0, |mixed, part| crate::rng::mix(mixed ^ part))
        });
        let core = Core::new(self.config, self.store, self.clock, self.seed, process);
        let core = Arc::new(core);
        Ok(Resilience { _open: Arc::new(Open(Arc::clone(&core))), core })
    }
}

/// What an operator wants cleared. Nothing named means all connections.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct ResetFilter {
    /// Breakers.
    pub breakers: bool,
    /// Rests.
    pub cooldowns: bool,
    /// Locks of models.
    pub lockouts: bool,
    /// Terminal states too; only with a connection named.
    pub terminal: bool,
    /// Only of this provider.
    pub provider: Option<ProviderId>,
    /// Only of this connection.
    pub connection: Option<ConnectionId>,
    /// Only count.
    pub dry_run: bool,
}

impl Resilience {
    /// Starts to build over a store and a clock.
    pub fn builder(store: Arc<dyn ResilienceStore>, clock: Arc<dyn Clock>) -> Builder {
        Builder { config: Config::default(), store, clock, seed: 0, process: None }
    }

    /// Replaces the set of connections; what is known of those that stay is kept. The new version.
    pub fn configure(&self, specs: &[ConnectionSpec]) -> u64 {
        let (version, connections) = {
            let mut table = self.core.table_mut();
            table.configure(specs, &self.core.config);
            (table.version, specs.len())
        };
        let connections = u32::try_from(connections).unwrap_or(u32::MAX);
        let kind = EventKind::Configured { version, connections };
        self.core.events.push(self.core.now().wall.0, About::default(), kind);
        self.core.waiting.changed();
        version
    }

    /// Replaces the pools whose allowance consumers share.
    pub fn configure_pools(&self, pools: Vec<PoolSpec>) {
        self.core.table_mut().configure_pools(pools);
        self.core.waiting.changed();
    }

    /// Handles for targets, in their order. None where the connection is not configured.
    pub fn register(&self, targets: &[Target]) -> Vec<Option<Handle>> {
        {
            let table = self.core.table();
            let known: Vec<Option<Handle>> = targets.iter().map(|target| table.registered(target)).collect();
            if known.iter().all(Option::is_some) {
                return known;
            }
        }
        let mut table = self.core.table_mut();
        targets.iter().map(|target| table.register(target, &self.core.config)).collect()
    }

    /// The configuration.
    pub fn config(&self) -> &Config {
        &self.core.config
    }

    /// Events from `seq` on; start with 0 and go on with [`Events::next`].
    pub fn events(&self, seq: u64) -> Events {
        self.core.events.since(seq)
    }

    /// Notes what a usage request said about a connection's allowances. Room in every known span ends a declared
    /// rest that has not changed since `epoch` (see [`Resilience::epoch`]). True if it did.
    ///
    /// # Errors
    /// [`StoreError`] if it could not be written.
    pub async fn note_quota(
        &self,
        provider: &ProviderId,
        connection: &ConnectionId,
        seen: &[Seen],
        epoch: u64,
    ) -> Result<bool, StoreError> {
        let key = Key::Connection(provider.clone(), connection.clone());
        let now = self.core.now();
        let quota = &self.core.config.quota;
        let result = transact(&*self.core.store, vec![key], |draft| {
            let shift = draft.now.saturating_sub(now.wall.0);
            let (mut conn, _) = draft.load::<Connection>(0);
            let mut news = false;
            for seen in seen {
                news |= conn.note(Seen {
                    at: seen.at.saturating_add(shift).min(draft.now),
                    resets_at: seen.resets_at.map(|at| at.saturating_add(shift)),
                    ..*seen
                });
            }
            let cleared = conn.headroom_clears(epoch, draft.now, quota);
            if news || cleared {
                let expires = conn_expires(&conn, draft.now);
                draft.put(0, &conn, expires);
            }
            (cleared, conn, draft.now)
        })
        .await;
        self.core.heard(&result);
        let (cleared, conn, store_now) = result?;
        self.show_connection(provider, connection, &conn, store_now);
        for seen in seen {
            let about = About { connection: Some(connection.clone()), ..About::default() };
            let kind = EventKind::QuotaSeen {
                used_ppm: seen.used_ppm,
                resets_at: seen.resets_at.map(omniroute_core::UnixMs),
            };
            self.core.events.push(now.wall.0, about, kind);
        }
        if cleared {
            self.core.events.push(now.wall.0, About::default(), EventKind::CooldownCleared);
            self.core.waiting.changed();
        }
        Ok(cleared)
    }

    /// The epoch of a connection as remembered, for [`Resilience::note_quota`].
    pub fn epoch(&self, provider: &ProviderId, connection: &ConnectionId) -> u64 {
        let table = self.core.table();
        let index = table.connection(provider, connection);
        index.and_then(|index| table.conns.get(index as usize)).map_or(0, |conn| conn.word.epoch())
    }

    /// A connection has a new credential: what was said about the old one is void. Its new version.
    ///
    /// # Errors
    /// [`StoreError`] if it could not be written.
    pub async fn credential_changed(
        &self,
        provider: &ProviderId,
        connection: &ConnectionId,
    ) -> Result<u64, StoreError> {
        let key = Key::Connection(provider.clone(), connection.clone());
        let result = transact(&*self.core.store, vec![key], |draft| {
            let (mut conn, _) = draft.load::<Connection>(0);
            let version = conn.credential + 1;
            conn.credential_changed(version, draft.now);
            draft.durable = true;
            let expires = conn_expires(&conn, draft.now);
            draft.put(0, &conn, expires);
            (conn, draft.now)
        })
        .await;
        self.core.heard(&result);
        let (conn, store_now) = result?;
        self.show_connection(provider, connection, &conn, store_now);
        self.core.waiting.changed();
        Ok(conn.credential)
    }

    /// An operator holds a breaker open or closed, or lets it go.
    ///
    /// # Errors
    /// [`StoreError`] if it could not be written.
    pub async fn force_breaker(
        &self,
        provider: &ProviderId,
        origin: Option<&Arc<str>>,
        forced: Forced,
    ) -> Result<(), StoreError> {
        self.change_breaker(provider, origin, |breaker, now| breaker.force(forced, now)).await
    }

    /// An operator clears what `filter` names. How many records it meant.
    ///
    /// # Errors
    /// [`StoreError`] if the store stopped answering; some may be cleared then.
    pub async fn reset(&self, filter: &ResetFilter) -> Result<u32, StoreError> {
        let mut keys: Vec<Key> = Vec::new();
        for (wanted, prefix) in
            [(filter.breakers, "br/"), (filter.cooldowns || filter.terminal, "cn/"), (filter.lockouts, "lk/")]
        {
            if wanted {
                self.core.store.scan(prefix, &mut |key, _| keys.push(key.clone())).await?;
            }
        }
        keys.retain(|key| {
            let (provider, connection) = match key {
                Key::Breaker { provider, .. } => (provider, None),
                Key::Connection(provider, connection) => (provider, Some(connection)),
                Key::Lockout { provider, connection, .. } => (provider, connection.as_ref()),
                _ => return false,
            };
            filter.provider.as_ref().is_none_or(|wanted| wanted == provider)
                && (filter.connection.is_none() || filter.connection.as_ref() == connection)
        });
        keys.sort();
        let terminal = filter.terminal && filter.connection.is_some();
        let mut count = 0;
        for key in keys {
            count += 1;
            if filter.dry_run {
                continue;
            }
            match &key {
                Key::Breaker { provider, origin } => {
                    self.change_breaker(provider, origin.as_ref(), Breaker::reset).await?;
                }
                Key::Connection(provider, connection) => {
                    let (conn, store_now) = transact(&*self.core.store, vec![key.clone()], |draft| {
                        let (mut conn, _) = draft.load::<Connection>(0);
                        if conn.clear(terminal, draft.now) {
                            draft.durable = terminal;
                            let expires = conn_expires(&conn, draft.now);
                            draft.put(0, &conn, expires);
                        }
                        (conn, draft.now)
                    })
                    .await?;
                    self.show_connection(provider, connection, &conn, store_now);
                    let about = About { connection: Some(connection.clone()), ..About::default() };
                    let kind = if terminal { EventKind::TerminalCleared } else { EventKind::CooldownCleared };
                    self.core.events.push(store_now, about, kind);
                }
                _ => transact(&*self.core.store, vec![key.clone()], |draft| draft.delete(0)).await?,
            }
        }
        if filter.lockouts && !filter.dry_run {
            self.core.forget_locks();
        }
        self.core.waiting.changed();
        Ok(count)
    }

    /// Writes down what dropped permits, failed calls and successes left, as far as the store takes it.
    pub async fn flush(&self) {
        self.core.flush(usize::MAX).await;
        if self.core.store_here(self.core.now().mono) {
            flush_successes(&self.core).await;
        }
    }

    /// [`Resilience::flush`], then closes the store.
    ///
    /// # Errors
    /// [`StoreError`] of the store.
    pub async fn close(&self) -> Result<(), StoreError> {
        self.flush().await;
        self.core.store.close().await
    }

    async fn change_breaker(
        &self,
        provider: &ProviderId,
        origin: Option<&Arc<str>>,
        change: impl Fn(&mut Breaker, i64) + Send + Sync,
    ) -> Result<(), StoreError> {
        let key = Key::Breaker { provider: provider.clone(), origin: origin.cloned() };
        let rules = {
            let table = self.core.table();
            table.breaker_of(provider, origin).map(|index| table.breakers[index as usize].rules.clone())
        };
        let result = transact(&*self.core.store, vec![key], |draft| {
            let (mut breaker, _) = draft.load::<Breaker>(0);
            change(&mut breaker, draft.now);
            let expires = rules.as_ref().and_then(|rules| breaker_expires(&breaker, draft.now, rules));
            draft.put(0, &breaker, expires);
            (breaker, draft.now)
        })
        .await;
        self.core.heard(&result);
        let (breaker, store_now) = result?;
        let now = self.core.now();
        {
            let table = self.core.table();
            if let Some(index) = table.breaker_of(provider, origin) {
                table.breakers[index as usize].note(Some(&breaker), store_now, now);
            }
        }
        self.core.waiting.changed();
        Ok(())
    }

    pub(crate) fn show_connection(
        &self,
        provider: &ProviderId,
        connection: &ConnectionId,
        state: &Connection,
        store_now: i64,
    ) {
        let now = self.core.now();
        let table = self.core.table();
        if let Some(index) = table.connection(provider, connection) {
            let quota = state.exhausted_until(store_now, &self.core.config.quota);
            table.note_conn(index, Some(state), quota, store_now, now);
        }
    }
}
