//! Connections, models and breakers as dense rows that any thread may read without a lock for each.

use std::collections::HashMap;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use hashbrown::HashTable;
use omniroute_core::{ConnectionId, Key, LockScope, ModelId, Moment, Mono, ProviderId, Target};

use crate::layers::connection::Connection;
use crate::layers::lockout::{self, Lock};
use crate::limits::rate::Limits;
use crate::rng;
pub(crate) use crate::shell::breakers::*;
use crate::shell::core::lock;
use crate::shell::denial::Blocked;
use crate::shell::egress::Egress;
pub(crate) use crate::shell::rows::*;
use crate::shell::spec::{PoolSpec, by_start};

/// Names a registered target. Cheap to copy; outlives a reconfiguration as long as its connection does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Handle {
    pub(crate) index: u32,
    pub(crate) gen_: u32,
}

/// A pool and the rows of its members; none where a member is not configured.
#[derive(Debug)]
pub(crate) struct Pool {
    pub(crate) spec: PoolSpec,
    pub(crate) rows: Vec<Option<u32>>,
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
    /// As many as connections while leases are on, else none.
    pub(crate) leases: Vec<LeaseRow>,
    pub(crate) rare: Mutex<HashMap<Spot, Rare>>,
    /// About the median time that slots of a connection were held lately, ms.
    held_for: Mutex<HashMap<u32, u32>>,
    pub(crate) egresses: Vec<(Arc<str>, Mutex<Egress>)>,
    pub(crate) profiles: HashMap<Profile, Arc<Profile>>,
    pub(crate) groups: HashMap<Arc<str>, u32>,
    pub(crate) pools: Vec<Pool>,
    /// In which pools a connection is; those in none are left out.
    pub(crate) pools_of: HashMap<u32, Vec<u32>>,
}

pub(crate) fn at<T>(rows: &[T], index: u32) -> &T {
    &rows[index as usize]
}

pub(crate) fn conn_hash(provider: &str, connection: &str) -> u64 {
    rng::quick(connection.as_bytes()) ^ rng::quick(provider.as_bytes()).rotate_left(17)
}

pub(crate) fn target_hash(conn: u32, model: u32) -> u64 {
    rng::mix((u64::from(conn) << 32) | u64::from(model))
}

pub(crate) fn next_index(len: usize) -> u32 {
    u32::try_from(len).unwrap_or(NONE)
}

impl Table {
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

    pub(crate) fn find_target(&self, conn: u32, model: u32) -> Option<Handle> {
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
        Some((row, conn, self.breakers.get(conn.profile.breaker as usize)?))
    }

    /// The names behind a row.
    pub(crate) fn target(&self, row: &TargetRow) -> Target {
        let conn = at(&self.conns, row.conn);
        Target {
            provider: at(&self.providers, conn.provider).id.clone(),
            connection: conn.id.clone(),
            model: at(&self.models, row.model).clone(),
        }
    }

    /// A short name of a connection for marks inside records.
    pub(crate) fn tag(&self, conn: &Conn) -> u16 {
        let (provider, connection) = (at(&self.providers, conn.provider).id.as_str(), conn.id.as_str());
        let hash = rng::hash(connection.as_bytes()) ^ rng::hash(provider.as_bytes()).rotate_left(17);
        u16::try_from(hash >> 48).unwrap_or(0)
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

    pub(crate) fn rate_key(&self, conn: u32, scope: Option<LockScope>) -> Key {
        let conn = at(&self.conns, conn);
        let provider = at(&self.providers, conn.provider).id.clone();
        Key::Rate { provider, connection: conn.id.clone(), scope }
    }

    /// The models that a target is counted with: those of its quota, or itself alone.
    pub(crate) fn own_scope(&self, row: &TargetRow) -> LockScope {
        match self.locks.get(row.quota as usize) {
            Some((_, Key::Lockout { scope, .. })) => scope.clone(),
            _ => LockScope::Model(at(&self.models, row.model).clone()),
        }
    }

    /// What the settings allow a target: for the connection as a whole, and for its model alone.
    pub(crate) fn rates(&self, row: &TargetRow, conn: &Conn) -> (Limits, Limits) {
        let profile = &conn.profile;
        let own = by_start(&profile.model_limits, at(&self.models, row.model)).copied().unwrap_or_default();
        if profile.per_model { (Limits::default(), own.or(&profile.limits)) } else { (profile.limits, own) }
    }

    /// Until when the connection's allowance is used up; 0: it is not.
    pub(crate) fn quota_until(&self, index: u32) -> u64 {
        if !at(&self.conns, index).word.has(QUOTA) {
            return 0;
        }
        lock(&self.rare).get(&Spot::Conn(index)).map_or(0, |rare| rare.quota_until)
    }

    /// When a long block may be tried out; 0: never.
    pub(crate) fn verify_at(&self, spot: Spot) -> u64 {
        let word = match spot {
            Spot::Conn(index) => self.conns.get(index as usize).map(|conn| &conn.word),
            Spot::Own(index) => self.targets.get(index as usize).map(|target| &target.own.word),
            Spot::Lock(index) => self.locks.get(index as usize).map(|(lock, _)| &lock.word),
        };
        if !word.is_some_and(|word| word.has(VERIFY)) {
            return 0;
        }
        lock(&self.rare).get(&spot).map_or(0, |rare| rare.verify_at)
    }

    /// Takes over what the store says about a connection; `quota`: until when an allowance is used up.
    pub(crate) fn note_conn(
        &self,
        index: u32,
        record: Option<&Connection>,
        quota: Option<i64>,
        store_now: i64,
        now: Moment,
    ) {
        let Some(conn) = self.conns.get(index as usize) else { return };
        conn.fetched.note(now.mono);
        let had = conn.word.has(QUOTA | VERIFY);
        let Some(state) = record else {
            conn.until.store(0, Relaxed);
            conn.word.set(0, 0, Blocked::RateLimited, 0);
            if had {
                self.forget_rare(Spot::Conn(index));
            }
            return;
        };
        conn.credential.store(u32::try_from(state.credential).unwrap_or(u32::MAX), Relaxed);
        let (until, why) = match state.terminal {
            Some((terminal, _)) => (u64::MAX, Blocked::Terminal(terminal)),
            None if state.until > store_now => (mono(now, store_now, state.until), rest_reason(state.reason)),
            None => (0, Blocked::RateLimited),
        };
        let rare = Rare {
            quota_until: quota.map_or(0, |at| mono(now, store_now, at)),
            verify_at: if state.verify_at > 0 { mono(now, store_now, state.verify_at) } else { 0 },
        };
        let flags = flag(!state.clean(), DIRTY)
            | flag(state.reentry.is_some(), REENTRY)
            | flag(state.declared, DECLARED)
            | self.note_rare(Spot::Conn(index), had, rare);
        conn.until.store(until, Relaxed);
        conn.word.set(state.epoch, state.level, why, flags);
    }

    /// Takes over what the store says about a lock.
    pub(crate) fn note_lock(&self, spot: Spot, record: Option<&Lock>, store_now: i64, now: Moment) {
        let row = match spot {
            Spot::Own(index) => self.targets.get(index as usize).map(|target| &target.own),
            Spot::Lock(index) => self.locks.get(index as usize).map(|(lock, _)| lock),
            Spot::Conn(_) => None,
        };
        let Some(row) = row else { return };
        row.fetched.note(now.mono);
        let had = row.word.has(VERIFY);
        let Some(state) = record else {
            row.until.store(0, Relaxed);
            row.word.set(0, 0, Blocked::RateLimited, 0);
            if had {
                self.forget_rare(spot);
            }
            return;
        };
        let until = if state.until > store_now { mono(now, store_now, state.until) } else { 0 };
        let why = match state.reason {
            lockout::Reason::NotFound | lockout::Reason::Forbidden => Blocked::ModelNotFound,
            lockout::Reason::QuotaExhausted => Blocked::ModelQuota,
            _ => Blocked::ModelLocked,
        };
        let verify_at = if state.verify_at > 0 { mono(now, store_now, state.verify_at) } else { 0 };
        let rare = self.note_rare(spot, had, Rare { quota_until: 0, verify_at });
        let flags = flag(!state.clean(), DIRTY) | flag(state.declared, DECLARED) | rare;
        row.until.store(until, Relaxed);
        row.word.set(state.epoch, 0, why, flags);
    }

    /// Takes over who holds a connection exclusively.
    pub(crate) fn note_lease(&self, index: u32, until: Option<i64>, store_now: i64, now: Moment) {
        if let Some(lease) = self.leases.get(index as usize) {
            lease.fetched.note(now.mono);
            lease.until.store(until.map_or(0, |at| mono(now, store_now, at)), Relaxed);
        }
    }

    /// Until when somebody holds the connection exclusively; 0: nobody does.
    pub(crate) fn leased_until(&self, index: u32) -> u64 {
        self.leases.get(index as usize).map_or(0, |lease| lease.until.load(Relaxed))
    }

    /// A slot was held for so long. The estimate moves by a sixteenth towards each sample: about the median.
    pub(crate) fn occupied(&self, conn: u32, held: Duration) {
        let held = u32::try_from(held.as_millis()).unwrap_or(u32::MAX);
        let mut all = lock(&self.held_for);
        let known = all.entry(conn).or_insert(0);
        let step = (*known / 16).max(1).min(known.abs_diff(held));
        *known = match *known {
            0 => held.max(1),
            known if held > known => known.saturating_add(step),
            known => known.saturating_sub(step).max(1),
        };
    }

    /// When whoever has this place in the queue (from 1) may expect a slot: 1 s to a minute from now.
    pub(crate) fn slot_due(&self, conn: u32, place: usize, now: Mono) -> u64 {
        let place = u64::try_from(place).unwrap_or(u64::MAX);
        // Nothing has ended yet: a guess.
        let held = lock(&self.held_for).get(&conn).copied().map_or(5_000, u64::from);
        let ms = place.saturating_mul(held).clamp(1_000, 60_000);
        now.0.saturating_add(ms * 1_000_000)
    }

    fn note_rare(&self, spot: Spot, had: bool, rare: Rare) -> u16 {
        let flags = flag(rare.quota_until > 0, QUOTA) | flag(rare.verify_at > 0, VERIFY);
        if flags != 0 {
            lock(&self.rare).insert(spot, rare);
        } else if had {
            self.forget_rare(spot);
        }
        flags
    }

    fn forget_rare(&self, spot: Spot) {
        lock(&self.rare).remove(&spot);
    }

    /// A row is free: nothing of it stays.
    pub(crate) fn forget(&self, spot: Spot) {
        self.forget_rare(spot);
        if let Spot::Conn(conn) = spot {
            lock(&self.held_for).remove(&conn);
        }
    }
}

fn flag(on: bool, flag: u16) -> u16 {
    if on { flag } else { 0 }
}
