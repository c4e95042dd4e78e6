//! Rows come and go: configuring connections and pools, registering targets.

use std::collections::HashSet;
use std::sync::{Arc, Mutex};

use omniroute_core::{Key, LockScope, ProviderId, Target};

use crate::config::Config;
use crate::layers::breaker;
use crate::shell::spec::{ConnectionSpec, PoolSpec, by_start};
use crate::shell::table::*;

impl Table {
    /// Replaces the set of connections. Rows of connections that stay keep their state.
    pub(crate) fn configure(&mut self, specs: &[ConnectionSpec], config: &Config) {
        self.version += 1;
        for conn in &self.conns {
            conn.word.mark(REMOVED, true);
        }
        for provider in &mut self.providers {
            provider.connections = 0;
        }
        self.profiles.clear();
        let new = specs.len().saturating_sub(self.conns.len() - self.free_conns.len());
        self.conns.reserve_exact(new.saturating_sub(self.free_conns.len()));
        for spec in specs {
            let provider = self.provider(&spec.provider);
            let breaker = self.breaker(provider, spec, config);
            let group = self.group(spec.group.as_ref());
            let profile = self.profile(spec, breaker, group);
            if let Some(row) = self.providers.get_mut(provider as usize) {
                row.connections += 1;
            }
            match self.connection(&spec.provider, &spec.connection) {
                Some(index) => {
                    if let Some(conn) = self.conns.get_mut(index as usize) {
                        conn.profile = profile;
                        conn.word.mark(REMOVED, false);
                    }
                }
                None => self.add(spec, provider, profile),
            }
        }
        self.forget_removed();
        if config.lease.enabled {
            self.leases.resize_with(self.conns.len(), LeaseRow::default);
        }
        self.find_pools();
    }

    /// Replaces the pools.
    pub(crate) fn configure_pools(&mut self, pools: Vec<PoolSpec>) {
        self.pools = pools.into_iter().map(|spec| Pool { spec, rows: Vec::new() }).collect();
        self.find_pools();
    }

    fn find_pools(&mut self) {
        self.pools_of.clear();
        for place in 0..self.pools.len() {
            let rows: Vec<Option<u32>> = self.pools[place]
                .spec
                .members
                .iter()
                .map(|member| self.connection(&member.provider, &member.connection))
                .collect();
            for row in rows.iter().flatten() {
                let of = self.pools_of.entry(*row).or_default();
                if !of.contains(&next_index(place)) {
                    of.push(next_index(place));
                }
            }
            self.pools[place].rows = rows;
        }
    }

    fn add(&mut self, spec: &ConnectionSpec, provider: u32, profile: Arc<Profile>) {
        let hash = conn_hash(spec.provider.as_str(), spec.connection.as_str());
        let conn = Conn::new(spec.connection.clone(), profile, provider);
        let index = match self.free_conns.pop() {
            Some(index) => {
                self.conns[index as usize] = conn;
                index
            }
            None => {
                self.conns.push(conn);
                next_index(self.conns.len() - 1)
            }
        };
        if let Some(lease) = self.leases.get_mut(index as usize) {
            *lease = LeaseRow::default();
        }
        let (conns, providers) = (&self.conns, &self.providers);
        self.conn_index.insert_unique(hash, index, |index| {
            let conn = at(conns, *index);
            conn_hash(at(providers, conn.provider).id.as_str(), conn.id.as_str())
        });
    }

    /// Frees the rows of connections that are gone, and of their targets.
    fn forget_removed(&mut self) {
        let gone: Vec<u32> = (0..next_index(self.conns.len()))
            .filter(|index| at(&self.conns, *index).word.has(REMOVED))
            .filter(|index| {
                let conn = at(&self.conns, *index);
                let hash = conn_hash(at(&self.providers, conn.provider).id.as_str(), conn.id.as_str());
                self.conn_index.find_entry(hash, |other| other == index).map(|found| found.remove()).is_ok()
            })
            .collect();
        if gone.is_empty() {
            return;
        }
        for index in &gone {
            self.forget(Spot::Conn(*index));
        }
        for index in 0..next_index(self.targets.len()) {
            let row = at(&self.targets, index);
            if row.conn == NONE || !at(&self.conns, row.conn).word.has(REMOVED) {
                continue;
            }
            let hash = target_hash(row.conn, row.model);
            if let Ok(found) = self.target_index.find_entry(hash, |other| *other == index) {
                found.remove();
            }
            self.forget(Spot::Own(index));
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
        self.providers.push(Provider { id: id.clone(), connections: 0, local: Mutex::default() });
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
        let dialled = spec.origin.clone().unwrap_or_else(|| Arc::from(spec.provider.as_str()));
        self.breakers.push(BreakerRow::new(provider, spec.origin.clone(), dialled, rules));
        self.breaker_index.insert(key, index);
        index
    }

    fn group(&mut self, group: Option<&Arc<str>>) -> u32 {
        let Some(group) = group else { return NONE };
        let next = next_index(self.groups.len());
        *self.groups.entry(Arc::clone(group)).or_insert(next)
    }

    fn profile(&mut self, spec: &ConnectionSpec, breaker: u32, group: u32) -> Arc<Profile> {
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
            breaker,
            group,
            egress,
            limits: spec.limits,
            model_limits: Arc::clone(&spec.model_limits),
            scopes: Arc::clone(&spec.quota_scopes),
        };
        if let Some(known) = self.profiles.get(&profile) {
            return Arc::clone(known);
        }
        let shared = Arc::new(profile.clone());
        self.profiles.insert(profile, Arc::clone(&shared));
        shared
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
        let quota = by_start(&scopes, &target.model).map_or(NONE, |scope| {
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
}
