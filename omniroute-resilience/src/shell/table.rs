//! Connections, models and breakers as dense rows that any thread may read without a lock for each.

use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicU8, AtomicU32, AtomicU64};
use std::sync::{Arc, Mutex};

use hashbrown::HashTable;
use omniroute_core::{ConnectionId, Key, LockScope, ModelId, ProviderId, Target};

use crate::config::Config;
use crate::layers::breaker::{self};
use crate::rng;
use crate::shell::egress::Egress;
pub(crate) use crate::shell::rows::*;
use crate::shell::spec::ConnectionSpec;

/// Names a registered target. Cheap to copy; outlives a reconfiguration as long as its connection does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Handle {
    pub(crate) index: u32,
    pub(crate) gen_: u32,
}

/// All rows.
#[derive(Debug, Default)]
pub(crate) struct Table {
    pub(crate) version: u64,
    pub(crate) providers: Vec<Provider>,
    pub(crate) provider_index: HashMap<ProviderId, u32>,
    pub(crate) breakers: Vec<BreakerRow>,
    pub(crate) breaker_index: HashMap<(u32, Option<Arc<str>>), u32>,
    pub(crate) conns: Vec<Conn>,
    pub(crate) conn_index: HashTable<u32>,
    pub(crate) free_conns: Vec<u32>,
    pub(crate) models: Vec<ModelId>,
    pub(crate) model_index: HashMap<ModelId, u32>,
    pub(crate) targets: Vec<TargetRow>,
    pub(crate) target_index: HashTable<u32>,
    pub(crate) free_targets: Vec<u32>,
    pub(crate) locks: Vec<(LockRow, Key)>,
    pub(crate) lock_index: HashMap<(u32, u32, Arc<str>), u32>,
    pub(crate) egresses: Vec<(Arc<str>, Mutex<Egress>)>,
    pub(crate) profiles: HashMap<Profile, Arc<Profile>>,
    pub(crate) groups: HashMap<Arc<str>, u32>,
}

pub(crate) fn at<T>(rows: &[T], index: u32) -> &T {
    &rows[index as usize]
}

pub(crate) fn conn_hash(provider: &str, connection: &str) -> u64 {
    rng::hash(connection.as_bytes()) ^ rng::hash(provider.as_bytes()).rotate_left(17)
}

pub(crate) fn target_hash(conn: u32, model: u32) -> u64 {
    rng::mix((u64::from(conn) << 32) | u64::from(model))
}

pub(crate) fn next_index(len: usize) -> u32 {
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
                        (conn.profile, conn.breaker, conn.group, conn.removed) =
                            (profile, breaker, group, false);
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
            success_at: AtomicU64::new(0),
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
            dialled_at: AtomicU64::new(0),
            answered_at: AtomicU64::new(0),
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
        if let Some(model) = self.model_index.get(&target.model)
            && let Some(found) = self.find_target(conn, *model)
        {
            return Some(found);
        }
        if self.targets.len() >= config.max_targets as usize && self.free_targets.is_empty() {
            return None;
        }
        let model = match self.model_index.get(&target.model) {
            Some(model) => *model,
            None => {
                let model = next_index(self.models.len());
                self.models.push(target.model.clone());
                self.model_index.insert(target.model.clone(), model);
                model
            }
        };
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
