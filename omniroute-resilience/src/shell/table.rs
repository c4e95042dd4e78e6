//! Connections, models and breakers as dense rows of numbers that any thread may read without a lock per row.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU32, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex};

use hashbrown::HashTable;
use omniroute_core::{ConnectionId, Key, LockScope, ModelId, Moment, Mono, ProviderId, Target};

use crate::config::{Class, Config};
use crate::layers::breaker::{self, Breaker, State};
use crate::layers::connection::{self, Connection};
use crate::layers::effect::Trust;
use crate::layers::lockout::{self, Lock};
use crate::limits::rate::Limits;
use crate::rng;
use crate::shell::budget::Retries;
use crate::shell::denial::Blocked;
use crate::shell::egress::Egress;
use crate::shell::spec::ConnectionSpec;

/// Names a registered target. Cheap to copy; outlives a reconfiguration as long as its connection does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Handle {
    pub(crate) index: u32,
    pub(crate) gen_: u32,
}

/// What connections have in common, shared by all that have it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Profile {
    pub(crate) class: Class,
    pub(crate) trust: Trust,
    pub(crate) per_model: bool,
    pub(crate) no_cooldown: bool,
    pub(crate) disabled: bool,
    pub(crate) limits: Limits,
    pub(crate) egress: u32,
    pub(crate) scopes: Arc<[(Arc<str>, Arc<str>)]>,
}

pub(crate) const FLAG_DIRTY: u8 = 1;
pub(crate) const FLAG_REENTRY: u8 = 2;
pub(crate) const FLAG_DECLARED: u8 = 4;

/// Reasons as small numbers, for the rows.
const REASONS: [Blocked; 17] = [
    Blocked::RateLimited,
    Blocked::QuotaExhausted,
    Blocked::Overloaded,
    Blocked::AuthRetry,
    Blocked::Forbidden,
    Blocked::Transport,
    Blocked::ServerError,
    Blocked::Manual,
    Blocked::Terminal(connection::Terminal::Banned),
    Blocked::Terminal(connection::Terminal::Expired),
    Blocked::Terminal(connection::Terminal::CreditsExhausted),
    Blocked::ModelNotFound,
    Blocked::ModelLocked,
    Blocked::ModelQuota,
    Blocked::Breaker,
    Blocked::Disabled,
    Blocked::LeaseHeld,
];

fn number(reason: Blocked) -> u8 {
    REASONS.iter().position(|r| *r == reason).and_then(|at| u8::try_from(at).ok()).unwrap_or(0)
}

pub(crate) fn reason(number: u8) -> Blocked {
    REASONS.get(usize::from(number)).copied().unwrap_or(Blocked::RateLimited)
}

/// When and until when a row repeats what the store said.
#[derive(Debug, Default)]
pub(crate) struct Seen {
    /// Nanoseconds plus one; 0: never.
    fetched: AtomicU64,
    expires: AtomicU64,
}

impl Seen {
    pub(crate) fn stale(&self, now: Mono, max_age: Option<u64>) -> bool {
        let fetched = self.fetched.load(Relaxed);
        fetched == 0 || max_age.is_some_and(|age| now.0.saturating_sub(fetched - 1) > age)
    }

    fn forget(&self) {
        self.fetched.store(0, Relaxed);
    }

    fn note(&self, now: Mono, expires: u64) {
        self.fetched.store(now.0.saturating_add(1), Relaxed);
        self.expires.store(expires, Relaxed);
    }

    fn gone(&self, now: Mono) -> bool {
        self.expires.load(Relaxed) <= now.0
    }
}

/// A date of the store on our monotonic clock.
pub(crate) fn mono(now: Moment, store_now: i64, at: i64) -> u64 {
    if at == i64::MAX {
        return u64::MAX;
    }
    let ms = u64::try_from(at.saturating_sub(store_now)).unwrap_or(0);
    now.mono.0.saturating_add(ms.saturating_mul(1_000_000))
}

/// One connection.
#[derive(Debug)]
pub(crate) struct Conn {
    pub(crate) id: ConnectionId,
    pub(crate) profile: Arc<Profile>,
    pub(crate) provider: u32,
    pub(crate) breaker: u32,
    pub(crate) group: u32,
    pub(crate) gen_: u32,
    pub(crate) tag: u16,
    pub(crate) removed: bool,
    pub(crate) seen: Seen,
    pub(crate) lease_seen: Seen,
    pub(crate) epoch: AtomicU64,
    pub(crate) until: AtomicU64,
    pub(crate) quota_until: AtomicU64,
    pub(crate) verify_at: AtomicU64,
    pub(crate) lease_until: AtomicU64,
    pub(crate) credential: AtomicU64,
    pub(crate) in_flight: AtomicU32,
    pub(crate) level: AtomicU8,
    pub(crate) why: AtomicU8,
    pub(crate) flags: AtomicU8,
}

/// One lock of models.
#[derive(Debug, Default)]
pub(crate) struct LockRow {
    pub(crate) seen: Seen,
    pub(crate) epoch: AtomicU64,
    pub(crate) until: AtomicU64,
    pub(crate) verify_at: AtomicU64,
    pub(crate) why: AtomicU8,
    pub(crate) flags: AtomicU8,
}

/// One model at one connection.
#[derive(Debug)]
pub(crate) struct TargetRow {
    pub(crate) conn: u32,
    pub(crate) gen_: u32,
    pub(crate) model: u32,
    /// Lock of the shared quota; `NONE`: it shares none.
    pub(crate) quota: u32,
    /// Lock of the model everywhere.
    pub(crate) wide: u32,
    pub(crate) own: LockRow,
}

pub(crate) const NONE: u32 = u32::MAX;

/// One breaker.
#[derive(Debug)]
pub(crate) struct BreakerRow {
    pub(crate) provider: u32,
    pub(crate) origin: Option<Arc<str>>,
    pub(crate) dialled: Arc<str>,
    pub(crate) rules: breaker::Rules,
    pub(crate) seen: Seen,
    pub(crate) state: AtomicU8,
    pub(crate) generation: AtomicU64,
    pub(crate) until: AtomicU64,
    pub(crate) failures: AtomicU32,
    pub(crate) pending: AtomicU32,
    pub(crate) flushed: AtomicU64,
    pub(crate) recovered_at: AtomicU64,
    pub(crate) in_flight: AtomicU32,
    /// Highest number in flight in this and the last half minute.
    pub(crate) peak: [AtomicU32; 2],
    pub(crate) peak_at: AtomicU64,
    /// Highest number before the breaker last opened.
    pub(crate) peak_before: AtomicU32,
    /// A probe of this process while the store is away runs until then.
    pub(crate) local_probe: AtomicU64,
}

pub(crate) const CLOSED: u8 = 0;
pub(crate) const DEGRADED: u8 = 1;
pub(crate) const OPEN: u8 = 2;
pub(crate) const HALF_OPEN: u8 = 3;
pub(crate) const FORCED_OPEN: u8 = 4;

/// One provider.
#[derive(Debug)]
pub(crate) struct Provider {
    pub(crate) id: ProviderId,
    pub(crate) connections: u32,
    pub(crate) in_flight: AtomicU32,
    pub(crate) local: Mutex<Local>,
}

/// What only this process knows of a provider.
#[derive(Debug, Default)]
pub(crate) struct Local {
    pub(crate) retries: Retries,
    /// The last successes of two different connections.
    pub(crate) successes: [Option<(u32, Mono)>; 2],
    /// Connections that rest after errors of service or network, and until when.
    pub(crate) ejected: BTreeMap<u32, u64>,
    /// Where a model last had no capacity.
    pub(crate) capacity: HashMap<u32, (u32, Mono)>,
}

impl Local {
    pub(crate) fn success(&mut self, conn: u32, now: Mono) {
        match &mut self.successes {
            [Some((first, at)), _] if *first == conn => *at = now,
            [first, second] => {
                *second = *first;
                *first = Some((conn, now));
            }
        }
    }

    /// Whether another connection succeeded within `span` nanoseconds.
    pub(crate) fn sibling(&self, conn: u32, now: Mono, span: u64) -> bool {
        self.successes
            .iter()
            .flatten()
            .any(|(other, at)| *other != conn && now.0.saturating_sub(at.0) <= span)
    }
}

/// All rows.
#[derive(Debug, Default)]
pub(crate) struct Table {
    pub(crate) version: u64,
    pub(crate) providers: Vec<Provider>,
    provider_index: HashMap<ProviderId, u32>,
    pub(crate) breakers: Vec<BreakerRow>,
    breaker_index: HashMap<(u32, Option<Arc<str>>), u32>,
    pub(crate) conns: Vec<Conn>,
    conn_index: HashTable<u32>,
    free_conns: Vec<u32>,
    pub(crate) models: Vec<ModelId>,
    model_index: HashMap<ModelId, u32>,
    pub(crate) targets: Vec<TargetRow>,
    target_index: HashTable<u32>,
    free_targets: Vec<u32>,
    pub(crate) locks: Vec<(LockRow, Key)>,
    lock_index: HashMap<(u32, u32, Arc<str>), u32>,
    pub(crate) egresses: Vec<(Arc<str>, Mutex<Egress>)>,
    profiles: HashMap<Profile, Arc<Profile>>,
    groups: HashMap<Arc<str>, u32>,
}

fn at<T>(rows: &[T], index: u32) -> &T {
    &rows[index as usize]
}

fn conn_hash(provider: &str, connection: &str) -> u64 {
    rng::hash(connection.as_bytes()) ^ rng::hash(provider.as_bytes()).rotate_left(17)
}

fn target_hash(conn: u32, model: u32) -> u64 {
    rng::mix((u64::from(conn) << 32) | u64::from(model))
}

fn next_index(len: usize) -> u32 {
    u32::try_from(len).unwrap_or(NONE)
}

impl Table {
    /// Replaces the set of connections. Rows of connections that stay keep their state.
    pub(crate) fn configure(&mut self, specs: &[ConnectionSpec], config: &Config) {
        self.version += 1;
        for conn in &mut self.conns {
            conn.removed = true;
        }
        for provider in &mut self.providers {
            provider.connections = 0;
        }
        self.profiles.clear();
        for spec in specs {
            let provider = self.provider(&spec.provider);
            let breaker = self.breaker(provider, spec, config);
            let group = self.group(spec.group.as_ref());
            let profile = self.profile(spec);
            if let Some(row) = self.providers.get_mut(provider as usize) {
                row.connections += 1;
            }
            match self.connection(&spec.provider, &spec.connection) {
                Some(index) => {
                    if let Some(conn) = self.conns.get_mut(index as usize) {
                        (conn.profile, conn.breaker, conn.group, conn.removed) = (profile, breaker, group, false);
                    }
                }
                None => self.add(spec, provider, breaker, group, profile),
            }
        }
        self.forget_removed();
    }

    fn add(&mut self, spec: &ConnectionSpec, provider: u32, breaker: u32, group: u32, profile: Arc<Profile>) {
        let hash = conn_hash(spec.provider.as_str(), spec.connection.as_str());
        let reused = self.free_conns.pop();
        let gen_ = reused.map_or(0, |index| at(&self.conns, index).gen_ + 1);
        let conn = Conn {
            id: spec.connection.clone(),
            profile,
            provider,
            breaker,
            group,
            gen_,
            tag: u16::try_from(hash >> 48).unwrap_or(0),
            removed: false,
            seen: Seen::default(),
            lease_seen: Seen::default(),
            epoch: AtomicU64::new(0),
            until: AtomicU64::new(0),
            quota_until: AtomicU64::new(0),
            verify_at: AtomicU64::new(0),
            lease_until: AtomicU64::new(0),
            credential: AtomicU64::new(0),
            in_flight: AtomicU32::new(0),
            level: AtomicU8::new(0),
            why: AtomicU8::new(0),
            flags: AtomicU8::new(0),
        };
        let index = match reused {
            Some(index) => {
                self.conns[index as usize] = conn;
                index
            }
            None => {
                self.conns.push(conn);
                next_index(self.conns.len() - 1)
            }
        };
        let (conns, providers) = (&self.conns, &self.providers);
        self.conn_index.insert_unique(hash, index, |index| {
            let conn = at(conns, *index);
            conn_hash(at(providers, conn.provider).id.as_str(), conn.id.as_str())
        });
    }

    /// Frees the rows of connections that are gone, and of their targets.
    fn forget_removed(&mut self) {
        let gone: Vec<u32> = (0..next_index(self.conns.len()))
            .filter(|index| at(&self.conns, *index).removed)
            .filter(|index| {
                let conn = at(&self.conns, *index);
                let hash = conn_hash(at(&self.providers, conn.provider).id.as_str(), conn.id.as_str());
                self.conn_index.find_entry(hash, |other| other == index).map(|found| found.remove()).is_ok()
            })
            .collect();
        if gone.is_empty() {
            return;
        }
        for index in 0..next_index(self.targets.len()) {
            let row = at(&self.targets, index);
            if row.conn == NONE || !at(&self.conns, row.conn).removed {
                continue;
            }
            let hash = target_hash(row.conn, row.model);
            if let Ok(found) = self.target_index.find_entry(hash, |other| *other == index) {
                found.remove();
            }
            if let Some(row) = self.targets.get_mut(index as usize) {
                row.conn = NONE;
                row.gen_ += 1;
            }
            self.free_targets.push(index);
        }
        let gone: HashSet<u32> = gone.into_iter().collect();
        self.lock_index.retain(|(kind, row, _), _| *kind != 0 || !gone.contains(row));
        let mut gone: Vec<u32> = gone.into_iter().collect();
        gone.sort_unstable();
        self.free_conns.extend(gone);
    }

    fn provider(&mut self, id: &ProviderId) -> u32 {
        if let Some(index) = self.provider_index.get(id) {
            return *index;
        }
        let index = next_index(self.providers.len());
        self.providers.push(Provider {
            id: id.clone(),
            connections: 0,
            in_flight: AtomicU32::new(0),
            local: Mutex::default(),
        });
        self.provider_index.insert(id.clone(), index);
        index
    }

    fn breaker(&mut self, provider: u32, spec: &ConnectionSpec, config: &Config) -> u32 {
        let rules = breaker::Rules::new(config.classes.of(spec.class), &config.breaker);
        let key = (provider, spec.origin.clone());
        if let Some(index) = self.breaker_index.get(&key) {
            if let Some(row) = self.breakers.get_mut(*index as usize) {
                row.rules = rules;
            }
            return *index;
        }
        let index = next_index(self.breakers.len());
        self.breakers.push(BreakerRow {
            provider,
            origin: spec.origin.clone(),
            dialled: spec.origin.clone().unwrap_or_else(|| Arc::from(spec.provider.as_str())),
            rules,
            seen: Seen::default(),
            state: AtomicU8::new(CLOSED),
            generation: AtomicU64::new(0),
            until: AtomicU64::new(0),
            failures: AtomicU32::new(0),
            pending: AtomicU32::new(0),
            flushed: AtomicU64::new(0),
            recovered_at: AtomicU64::new(0),
            in_flight: AtomicU32::new(0),
            peak: [AtomicU32::new(0), AtomicU32::new(0)],
            peak_at: AtomicU64::new(0),
            peak_before: AtomicU32::new(0),
            local_probe: AtomicU64::new(0),
        });
        self.breaker_index.insert(key, index);
        index
    }

    fn group(&mut self, group: Option<&Arc<str>>) -> u32 {
        let Some(group) = group else { return NONE };
        let next = next_index(self.groups.len());
        *self.groups.entry(Arc::clone(group)).or_insert(next)
    }

    fn profile(&mut self, spec: &ConnectionSpec) -> Arc<Profile> {
        let egress = match self.egresses.iter().position(|(name, _)| *name == spec.egress) {
            Some(index) => next_index(index),
            None => {
                self.egresses.push((Arc::clone(&spec.egress), Mutex::default()));
                next_index(self.egresses.len() - 1)
            }
        };
        let profile = Profile {
            class: spec.class,
            trust: spec.trust,
            per_model: spec.per_model_quota,
            no_cooldown: spec.no_cooldown,
            disabled: spec.disabled,
            limits: spec.limits,
            egress,
            scopes: Arc::clone(&spec.quota_scopes),
        };
        if let Some(known) = self.profiles.get(&profile) {
            return Arc::clone(known);
        }
        let shared = Arc::new(profile.clone());
        self.profiles.insert(profile, Arc::clone(&shared));
        shared
    }

    /// The row of a connection.
    pub(crate) fn connection(&self, provider: &ProviderId, connection: &ConnectionId) -> Option<u32> {
        let hash = conn_hash(provider.as_str(), connection.as_str());
        self.conn_index
            .find(hash, |index| {
                let conn = at(&self.conns, *index);
                conn.id == *connection && at(&self.providers, conn.provider).id == *provider
            })
            .copied()
    }

    /// The row of a breaker.
    pub(crate) fn breaker_of(&self, provider: &ProviderId, origin: Option<&Arc<str>>) -> Option<u32> {
        let provider = self.provider_index.get(provider)?;
        self.breaker_index.get(&(*provider, origin.cloned())).copied()
    }

    /// The handle of a target, new or old. None if its connection is not configured or the table is full.
    pub(crate) fn register(&mut self, target: &Target, config: &Config) -> Option<Handle> {
        let conn = self.connection(&target.provider, &target.connection)?;
        let model = match self.model_index.get(&target.model) {
            Some(model) => *model,
            None => {
                let model = next_index(self.models.len());
                self.models.push(target.model.clone());
                self.model_index.insert(target.model.clone(), model);
                model
            }
        };
        if let Some(found) = self.find_target(conn, model) {
            return Some(found);
        }
        if self.targets.len() >= config.max_targets as usize && self.free_targets.is_empty() {
            return None;
        }
        let scopes = Arc::clone(&at(&self.conns, conn).profile.scopes);
        let scope = scopes
            .iter()
            .filter(|(start, _)| target.model.as_str().starts_with(&**start))
            .max_by_key(|(start, _)| start.len())
            .map(|(_, scope)| scope);
        let quota = scope.map_or(NONE, |scope| {
            let key = Key::Lockout {
                provider: target.provider.clone(),
                connection: Some(target.connection.clone()),
                scope: LockScope::Quota(Arc::clone(scope)),
            };
            self.lock((0, conn, Arc::clone(scope)), key)
        });
        let provider = at(&self.conns, conn).provider;
        let key = Key::Lockout {
            provider: target.provider.clone(),
            connection: None,
            scope: LockScope::Model(target.model.clone()),
        };
        let wide = self.lock((1, provider, Arc::from(target.model.as_str())), key);
        let reused = self.free_targets.pop();
        let gen_ = reused.map_or(0, |index| at(&self.targets, index).gen_);
        let row = TargetRow { conn, gen_, model, quota, wide, own: LockRow::default() };
        let index = match reused {
            Some(index) => {
                self.targets[index as usize] = row;
                index
            }
            None => {
                self.targets.push(row);
                next_index(self.targets.len() - 1)
            }
        };
        let targets = &self.targets;
        self.target_index.insert_unique(target_hash(conn, model), index, |index| {
            let row = at(targets, *index);
            target_hash(row.conn, row.model)
        });
        Some(Handle { index, gen_ })
    }

    fn lock(&mut self, name: (u32, u32, Arc<str>), key: Key) -> u32 {
        if let Some(index) = self.lock_index.get(&name) {
            return *index;
        }
        let index = next_index(self.locks.len());
        self.locks.push((LockRow::default(), key));
        self.lock_index.insert(name, index);
        index
    }

    fn find_target(&self, conn: u32, model: u32) -> Option<Handle> {
        let found = self.target_index.find(target_hash(conn, model), |index| {
            let row = at(&self.targets, *index);
            row.conn == conn && row.model == model
        });
        found.map(|index| Handle { index: *index, gen_: at(&self.targets, *index).gen_ })
    }

    /// A handle of a target that is registered already.
    pub(crate) fn registered(&self, target: &Target) -> Option<Handle> {
        let conn = self.connection(&target.provider, &target.connection)?;
        self.find_target(conn, *self.model_index.get(&target.model)?)
    }

    /// The rows behind a handle; none if its connection is gone.
    pub(crate) fn rows(&self, handle: Handle) -> Option<(&TargetRow, &Conn, &BreakerRow)> {
        let row = self.targets.get(handle.index as usize)?;
        if row.gen_ != handle.gen_ || row.conn == NONE {
            return None;
        }
        let conn = self.conns.get(row.conn as usize)?;
        Some((row, conn, self.breakers.get(conn.breaker as usize)?))
    }

    pub(crate) fn target(&self, row: &TargetRow) -> Target {
        let conn = at(&self.conns, row.conn);
        Target {
            provider: at(&self.providers, conn.provider).id.clone(),
            connection: conn.id.clone(),
            model: at(&self.models, row.model).clone(),
        }
    }

    pub(crate) fn conn_key(&self, index: u32) -> Key {
        let conn = at(&self.conns, index);
        Key::Connection(at(&self.providers, conn.provider).id.clone(), conn.id.clone())
    }

    pub(crate) fn lease_key(&self, index: u32) -> Key {
        let conn = at(&self.conns, index);
        Key::LeaseConnection(at(&self.providers, conn.provider).id.clone(), conn.id.clone())
    }

    pub(crate) fn breaker_key(&self, index: u32) -> Key {
        let row = at(&self.breakers, index);
        Key::Breaker { provider: at(&self.providers, row.provider).id.clone(), origin: row.origin.clone() }
    }

    pub(crate) fn own_lock_key(&self, row: &TargetRow) -> Key {
        let target = self.target(row);
        Key::Lockout {
            provider: target.provider,
            connection: Some(target.connection),
            scope: LockScope::Model(target.model),
        }
    }
}

impl Conn {
    /// Takes over what the store says.
    pub(crate) fn note(&self, record: Option<(&Connection, Option<i64>)>, quota: Option<i64>, store_now: i64, now: Moment) {
        let Some((state, expires)) = record else {
            self.seen.note(now.mono, u64::MAX);
            for cell in [&self.epoch, &self.until, &self.quota_until, &self.verify_at] {
                cell.store(0, Relaxed);
            }
            self.flags.store(0, Relaxed);
            self.level.store(0, Relaxed);
            return;
        };
        self.seen.note(now.mono, expires.map_or(u64::MAX, |at| mono(now, store_now, at)));
        self.epoch.store(state.epoch, Relaxed);
        self.credential.store(state.credential, Relaxed);
        let (until, why) = match state.terminal {
            Some((terminal, _)) => (u64::MAX, Blocked::Terminal(terminal)),
            None if state.until > store_now => (mono(now, store_now, state.until), rest_reason(state.reason)),
            None => (0, Blocked::RateLimited),
        };
        self.until.store(until, Relaxed);
        self.why.store(number(why), Relaxed);
        self.quota_until.store(quota.map_or(0, |at| mono(now, store_now, at)), Relaxed);
        let verify = if state.verify_at > 0 { mono(now, store_now, state.verify_at) } else { 0 };
        self.verify_at.store(verify, Relaxed);
        self.level.store(u8::try_from(state.level).unwrap_or(u8::MAX), Relaxed);
        let mut flags = 0;
        flags |= if state.clean() { 0 } else { FLAG_DIRTY };
        flags |= if state.reentry.is_some() { FLAG_REENTRY } else { 0 };
        flags |= if state.declared { FLAG_DECLARED } else { 0 };
        self.flags.store(flags, Relaxed);
    }

    pub(crate) fn note_lease(&self, until: Option<i64>, store_now: i64, now: Moment) {
        self.lease_seen.note(now.mono, u64::MAX);
        self.lease_until.store(until.map_or(0, |at| mono(now, store_now, at)), Relaxed);
    }

    pub(crate) fn epoch_at(&self, now: Mono) -> u64 {
        if self.seen.gone(now) { 0 } else { self.epoch.load(Relaxed) }
    }

    pub(crate) fn flag(&self, flag: u8) -> bool {
        self.flags.load(Relaxed) & flag != 0
    }

    pub(crate) fn blocked(&self, now: Mono) -> Option<(Blocked, u64)> {
        let until = self.until.load(Relaxed);
        if until > now.0 {
            return Some((reason(self.why.load(Relaxed)), until));
        }
        None
    }
}

pub(crate) fn rest_reason(reason: connection::Reason) -> Blocked {
    use connection::Reason as R;
    match reason {
        R::RateLimited => Blocked::RateLimited,
        R::QuotaExhausted => Blocked::QuotaExhausted,
        R::Overloaded => Blocked::Overloaded,
        R::AuthRetry => Blocked::AuthRetry,
        R::Forbidden | R::GeoBlocked => Blocked::Forbidden,
        R::Transport => Blocked::Transport,
        R::HtmlPage | R::ServerError => Blocked::ServerError,
        R::Manual => Blocked::Manual,
    }
}

impl LockRow {
    /// The next look reads it anew.
    pub(crate) fn forget(&self) {
        self.until.store(0, Relaxed);
        self.seen.forget();
    }

    pub(crate) fn note(&self, record: Option<(&Lock, Option<i64>)>, store_now: i64, now: Moment) {
        let Some((state, expires)) = record else {
            self.seen.note(now.mono, u64::MAX);
            for cell in [&self.epoch, &self.until, &self.verify_at] {
                cell.store(0, Relaxed);
            }
            self.flags.store(0, Relaxed);
            return;
        };
        self.seen.note(now.mono, expires.map_or(u64::MAX, |at| mono(now, store_now, at)));
        self.epoch.store(state.epoch, Relaxed);
        let until = if state.until > store_now { mono(now, store_now, state.until) } else { 0 };
        self.until.store(until, Relaxed);
        let why = match state.reason {
            lockout::Reason::NotFound | lockout::Reason::Forbidden => Blocked::ModelNotFound,
            lockout::Reason::QuotaExhausted => Blocked::ModelQuota,
            _ => Blocked::ModelLocked,
        };
        self.why.store(number(why), Relaxed);
        let verify = if state.verify_at > 0 { mono(now, store_now, state.verify_at) } else { 0 };
        self.verify_at.store(verify, Relaxed);
        let declared = if state.declared { FLAG_DECLARED } else { 0 };
        self.flags.store(declared | if state.clean() { 0 } else { FLAG_DIRTY }, Relaxed);
    }

    pub(crate) fn epoch_at(&self, now: Mono) -> u64 {
        if self.seen.gone(now) { 0 } else { self.epoch.load(Relaxed) }
    }

    pub(crate) fn blocked(&self, now: Mono) -> Option<(Blocked, u64)> {
        let until = self.until.load(Relaxed);
        (until > now.0).then(|| (reason(self.why.load(Relaxed)), until))
    }

    pub(crate) fn dirty(&self, now: Mono) -> bool {
        self.flags.load(Relaxed) & FLAG_DIRTY != 0 && !self.seen.gone(now)
    }
}

impl BreakerRow {
    pub(crate) fn note(&self, record: Option<&Breaker>, store_now: i64, now: Moment) {
        self.seen.note(now.mono, u64::MAX);
        let absent = Breaker::default();
        let state = record.unwrap_or(&absent);
        let shown = match (state.forced, state.state) {
            (breaker::Forced::Open, _) => FORCED_OPEN,
            (breaker::Forced::Closed, _) | (_, State::Closed) => CLOSED,
            (_, State::Degraded) => DEGRADED,
            (_, State::Open) => OPEN,
            (_, State::HalfOpen) => HALF_OPEN,
        };
        let until = match state.blocked_until(store_now) {
            Some(until) => mono(now, store_now, until),
            None => 0,
        };
        let before = self.state.swap(shown, Relaxed);
        if before < OPEN && shown == OPEN {
            self.peak_before.store(self.highest(now.mono), Relaxed);
        }
        self.until.store(until, Relaxed);
        self.generation.store(state.generation, Relaxed);
        self.failures.store(next_index(state.failures.len()), Relaxed);
        let recovered = if state.recovered_at > 0 {
            let ago = u64::try_from(store_now.saturating_sub(state.recovered_at)).unwrap_or(0);
            now.mono.0.saturating_sub(ago.saturating_mul(1_000_000)).max(1)
        } else {
            0
        };
        self.recovered_at.store(recovered, Relaxed);
    }

    /// Another attempt runs. Keeps the peak of the last minute.
    pub(crate) fn started(&self, now: Mono) {
        let running = self.in_flight.fetch_add(1, Relaxed) + 1;
        let half_minute = now.0 / 30_000_000_000;
        let at = self.peak_at.swap(half_minute, Relaxed);
        let [current, last] = &self.peak;
        if at != half_minute {
            last.store(if half_minute == at + 1 { current.load(Relaxed) } else { 0 }, Relaxed);
            current.store(running, Relaxed);
        } else {
            current.fetch_max(running, Relaxed);
        }
    }

    fn highest(&self, now: Mono) -> u32 {
        let fresh = now.0 / 30_000_000_000 <= self.peak_at.load(Relaxed) + 2;
        if fresh { self.peak[0].load(Relaxed).max(self.peak[1].load(Relaxed)) } else { 0 }
    }

    /// The most attempts at once while the provider comes back, and when that next grows.
    pub(crate) fn ramp(&self, now: Mono, config: &crate::config::BreakerConfig) -> Option<(u32, u64)> {
        let (from, peak) = (self.recovered_at.load(Relaxed), self.peak_before.load(Relaxed));
        if from == 0 || peak < config.ramp_from {
            return None;
        }
        let (ramp, step) = (config.ramp.as_ms() * 1_000_000, config.ramp_step.as_ms() * 1_000_000);
        let since = now.0.saturating_sub(from);
        if since >= ramp {
            return None;
        }
        let doublings = u32::try_from(since / step.max(1)).unwrap_or(31).min(31);
        let limit = u64::from(peak.div_ceil(10).max(1)) << doublings;
        let next = from + (u64::from(doublings) + 1) * step;
        Some((u32::try_from(limit).unwrap_or(u32::MAX), next))
    }
}

/// Whether somebody already wakes waiters; kept here for rows that share it.
#[derive(Debug, Default)]
pub(crate) struct Once(AtomicBool);

impl Once {
    /// True the first time.
    pub(crate) fn first(&self) -> bool {
        !self.0.swap(true, Relaxed)
    }

    pub(crate) fn again(&self) {
        self.0.store(false, Relaxed);
    }

    pub(crate) fn set(&self) -> bool {
        self.0.load(Relaxed)
    }
}
