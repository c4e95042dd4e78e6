//! Acquire, renew, release, move: each one commit over owner, connection, generation and fence together.

use std::sync::Arc;

use omniroute_core::{ConnectionId, Key, Principal, ProviderId, StoreError, UnixMs};

use crate::lease::record::{Counter, EndReason, Holder, Lease, LeaseState};
use crate::lease::token::OwnerHash;
use crate::shell::core::Core;
use crate::shell::events::{About, EventKind};
use crate::shell::table::{Handle, mono};
use crate::shell::txn::{Draft, transact};
use crate::{Blocked, Resilience, Span};

/// What an owner asks for.
#[derive(Debug, Clone)]
pub struct AcquireLease {
    /// Who asks.
    pub owner: OwnerHash,
    /// Under which key.
    pub consumer: Principal,
    /// Connections (with the model) that would do, best first. Empty is an error, never "any".
    pub candidates: Vec<Handle>,
    /// How long it should live without renewal; none: the configured time.
    pub ttl: Option<Span>,
}

/// What an owner may see of its lease. Names no connection, no hash, no fence.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
#[non_exhaustive]
pub struct LeaseView {
    /// Where it stands.
    pub state: LeaseState,
    /// Grows with every acquisition of this owner.
    pub generation: u64,
    /// When it began.
    pub acquired_at: UnixMs,
    /// When it was last renewed.
    pub renewed_at: UnixMs,
    /// When it ends unless renewed.
    pub expires_at: UnixMs,
}

/// How an acquisition ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Acquired {
    /// A new lease.
    Acquired(LeaseView),
    /// The owner had one; it was renewed.
    Reused(LeaseView),
    /// The owner had one on a connection that does not do any more; it moved.
    Transitioned(LeaseView),
    /// Connections would do, but others hold them all.
    CapacityUnavailable {
        /// When the first of them ends unless renewed.
        retry_at: UnixMs,
        /// Connections that would do.
        eligible: usize,
    },
    /// No connection would do, and why the first does not.
    NoEligible(Option<Blocked>),
    /// The owner holds a lease under another key.
    OwnerActiveElsewhere,
}

/// How a renewal or release ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Renewed {
    /// It holds, or was given back.
    Done(LeaseView),
    /// Not this owner's, not this generation, or over.
    Stale,
}

/// What an owner asked about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Status {
    /// It holds, on this connection of this provider.
    Active(LeaseView, ProviderId, ConnectionId),
    /// Not this owner's, not this generation, or over.
    Stale,
}

/// Why a lease operation could not be done at all.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FenceError {
    /// Leases are switched off.
    #[error("leases are off: set lease.enabled")]
    Off,
    /// The store forgets on a crash, and that was not allowed.
    #[error("leases need a durable store; {0} is not, and lease.allow_volatile is off")]
    Volatile(&'static str),
    /// The list of candidates is empty.
    #[error("a lease needs at least one allowed connection")]
    NoConnections,
    /// The asked time is outside of 1 s to lease.ttl_max.
    #[error("lease ttl {0} is not between 1s and {1}")]
    Ttl(Span, Span),
    /// The store did not answer: nothing is granted.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// The leases of one [`Resilience`].
#[derive(Debug, Clone)]
pub struct Leases {
    core: Arc<Core>,
}

impl Resilience {
    /// Exclusive leases.
    pub fn leases(&self) -> Leases {
        Leases { core: Arc::clone(&self.core) }
    }
}

/// One candidate with the keys it needs.
struct Candidate {
    index: u32,
    provider: ProviderId,
    connection: ConnectionId,
}

const OWNER: usize = 0;
const GENERATION: usize = 1;
const FENCE: usize = 2;
const FIRST: usize = 3;

impl Leases {
    /// Acquires, reuses or moves an owner's lease.
    ///
    /// # Errors
    /// [`FenceError`]: leases are off or not safe here, or the store is away. Nothing is granted then.
    pub async fn acquire(&self, ask: &AcquireLease) -> Result<Acquired, FenceError> {
        let ttl = self.ttl(ask.ttl)?;
        if ask.candidates.is_empty() {
            return Err(FenceError::NoConnections);
        }
        let (candidates, blocked) = self.eligible(&ask.candidates).await;
        let mut keys = vec![Key::LeaseOwner(ask.owner.0), Key::LeaseGeneration(ask.owner.0), Key::LeaseFence];
        keys.extend(
            candidates.iter().map(|c| Key::LeaseConnection(c.provider.clone(), c.connection.clone())),
        );
        // The connection the owner holds now may not be among the candidates any more; its record must go too.
        let held = self.held(ask.owner).await?;
        let old = held
            .as_ref()
            .map(|(provider, connection)| Key::LeaseConnection(provider.clone(), connection.clone()));
        let old_at = old.as_ref().and_then(|old| keys.iter().position(|key| key == old));
        let old_at = match (old, old_at) {
            (Some(old), None) => {
                keys.push(old);
                Some(keys.len() - 1)
            }
            (_, at) => at,
        };
        let consumer = ask.consumer.as_str().to_owned();
        let keep = self.core.config.lease.keep_generation.signed();
        let max_age = self.core.config.lease.max_age.map(Span::signed);
        let result = transact(&*self.core.store, keys, |draft| {
            let now = draft.now;
            let (lease, exists) = draft.load::<Lease>(OWNER);
            let active = exists && lease.ended.is_none() && lease.expires_at > now;
            if active && lease.consumer != consumer {
                return (Acquired::OwnerActiveElsewhere, None, now);
            }
            if active && held.as_ref() != Some(&(lease.provider.clone(), lease.connection.clone())) {
                // It moved between the two reads: the caller sees it as contention and asks again.
                return (
                    Acquired::CapacityUnavailable { retry_at: UnixMs(now), eligible: candidates.len() },
                    None,
                    now,
                );
            }
            draft.durable = true;
            draft.not_after = Some(now.saturating_add(ttl / 2));
            let same = |c: &Candidate| c.provider == lease.provider && c.connection == lease.connection;
            if active && let Some(at) = candidates.iter().position(same) {
                let lease = renewed(lease, ttl, max_age, now);
                write(draft, ask.owner, &lease, FIRST + at);
                return (
                    Acquired::Reused(view(&lease, now)),
                    Some((candidates[at].index, lease.expires_at)),
                    now,
                );
            }
            let mut earliest = i64::MAX;
            let free = candidates.iter().enumerate().find(|(at, _)| {
                let (holder, held) = draft.load::<Holder>(FIRST + at);
                if held {
                    earliest = earliest.min(holder.expires_at);
                }
                !held
            });
            let Some((at, chosen)) = free else {
                draft.forget();
                let answer = if candidates.is_empty() {
                    Acquired::NoEligible(blocked)
                } else {
                    Acquired::CapacityUnavailable { retry_at: UnixMs(earliest), eligible: candidates.len() }
                };
                return (answer, None, now);
            };
            let (generation, _) = draft.load::<Counter>(GENERATION);
            let (fence, _) = draft.load::<Counter>(FENCE);
            let fence = Counter(fence.0 + 1);
            draft.put(FENCE, &fence, None);
            let mut next = Lease {
                consumer: consumer.clone(),
                provider: chosen.provider.clone(),
                connection: chosen.connection.clone(),
                generation: lease.generation,
                fence: fence.0,
                acquired_at: now,
                renewed_at: now,
                expires_at: now.saturating_add(ttl),
                ended: None,
            };
            if active {
                if let Some(old_at) = old_at {
                    draft.delete(old_at);
                }
                next.acquired_at = lease.acquired_at;
            } else {
                next.generation = generation.0.max(lease.generation) + 1;
                draft.put(GENERATION, &Counter(next.generation), Some(now.saturating_add(keep)));
            }
            write(draft, ask.owner, &next, FIRST + at);
            let seen = Some((chosen.index, next.expires_at));
            let view = view(&next, now);
            (if active { Acquired::Transitioned(view) } else { Acquired::Acquired(view) }, seen, now)
        })
        .await;
        self.core.heard(&result);
        let (answer, seen, store_now) = result?;
        self.show(seen, store_now);
        let what = match &answer {
            Acquired::Acquired(view) => Some(("acquired", view.generation)),
            Acquired::Reused(view) => Some(("renewed", view.generation)),
            Acquired::Transitioned(view) => Some(("transitioned", view.generation)),
            _ => None,
        };
        if let Some((what, generation)) = what {
            self.event(what, generation);
        }
        Ok(answer)
    }

    /// Prolongs a lease.
    ///
    /// # Errors
    /// As [`Leases::acquire`].
    pub async fn renew(
        &self,
        owner: OwnerHash,
        consumer: &Principal,
        generation: u64,
        ttl: Option<Span>,
    ) -> Result<Renewed, FenceError> {
        let ttl = self.ttl(ttl)?;
        let max_age = self.core.config.lease.max_age.map(Span::signed);
        self.change(owner, consumer, generation, "renewed", move |draft, lease| {
            let lease = renewed(lease, ttl, max_age, draft.now);
            write(draft, owner, &lease, 1);
            view(&lease, draft.now)
        })
        .await
    }

    /// Gives a lease back. Doing it again gives the same answer.
    ///
    /// # Errors
    /// As [`Leases::acquire`].
    pub async fn release(
        &self,
        owner: OwnerHash,
        consumer: &Principal,
        generation: u64,
        reason: EndReason,
    ) -> Result<Renewed, FenceError> {
        let keep = self.core.config.lease.keep_ended.signed();
        let done = self
            .change(owner, consumer, generation, "released", move |draft, lease| {
                end(draft, lease, reason, keep)
            })
            .await?;
        if done != Renewed::Stale {
            self.core.waiting.changed();
            return Ok(done);
        }
        let (records, now) = self.core.store.get(&[Key::LeaseOwner(owner.0)]).await?;
        let ended = records
            .first()
            .and_then(Option::as_ref)
            .and_then(|record| <Lease as crate::codec::Value>::decode(&record.value).map(|(lease, _)| lease));
        Ok(match ended {
            Some(lease)
                if lease.ended.is_some()
                    && lease.generation == generation
                    && lease.consumer == consumer.as_str() =>
            {
                Renewed::Done(view(&lease, now.0))
            }
            _ => Renewed::Stale,
        })
    }

    /// Takes a lease away, whoever holds it. True if it held.
    ///
    /// # Errors
    /// As [`Leases::acquire`].
    pub async fn invalidate(
        &self,
        provider: &ProviderId,
        connection: &ConnectionId,
        reason: EndReason,
    ) -> Result<bool, FenceError> {
        self.usable()?;
        let key = Key::LeaseConnection(provider.clone(), connection.clone());
        let (records, _) = self.core.store.get(std::slice::from_ref(&key)).await?;
        let holder = records.first().and_then(Option::as_ref).and_then(|record| {
            <Holder as crate::codec::Value>::decode(&record.value).map(|(holder, _)| holder)
        });
        let Some(holder) = holder else { return Ok(false) };
        let keep = self.core.config.lease.keep_ended.signed();
        let result = transact(&*self.core.store, vec![Key::LeaseOwner(holder.owner), key], |draft| {
            let (lease, exists) = draft.load::<Lease>(0);
            let (now_holder, held) = draft.load::<Holder>(1);
            let same = exists && held && now_holder.fence == holder.fence && lease.fence == holder.fence;
            if !same {
                return None;
            }
            Some(end(draft, lease, reason, keep))
        })
        .await;
        self.core.heard(&result);
        let view = result?;
        if let Some(view) = &view {
            self.event("invalidated", view.generation);
            self.core.waiting.changed();
        }
        Ok(view.is_some())
    }

    /// Whether an owner's lease holds, and where.
    ///
    /// # Errors
    /// As [`Leases::acquire`].
    pub async fn status(
        &self,
        owner: OwnerHash,
        consumer: &Principal,
        generation: u64,
    ) -> Result<Status, FenceError> {
        self.usable()?;
        let result = self.core.store.get(&[Key::LeaseOwner(owner.0)]).await;
        self.core.heard(&result);
        let (records, now) = result?;
        let lease = records
            .first()
            .and_then(Option::as_ref)
            .and_then(|record| <Lease as crate::codec::Value>::decode(&record.value).map(|(lease, _)| lease));
        Ok(match lease {
            Some(lease) if holds(&lease, consumer.as_str(), generation, now.0) => {
                Status::Active(view(&lease, now.0), lease.provider, lease.connection)
            }
            _ => Status::Stale,
        })
    }

    fn usable(&self) -> Result<(), FenceError> {
        let config = &self.core.config.lease;
        let traits = self.core.store.traits();
        match (config.enabled, traits.durable || config.allow_volatile) {
            (false, _) => Err(FenceError::Off),
            (true, false) => Err(FenceError::Volatile(traits.name)),
            (true, true) => Ok(()),
        }
    }

    fn ttl(&self, ttl: Option<Span>) -> Result<i64, FenceError> {
        self.usable()?;
        let config = &self.core.config.lease;
        let ttl = ttl.unwrap_or(config.ttl);
        if ttl < Span::seconds(1) || ttl > config.ttl_max {
            return Err(FenceError::Ttl(ttl, config.ttl_max));
        }
        Ok(ttl.signed())
    }

    /// Candidates that ordinary traffic could use, leases aside, and what blocks the first that it could not.
    async fn eligible(&self, handles: &[Handle]) -> (Vec<Candidate>, Option<Blocked>) {
        let core = &self.core;
        let now = core.now();
        let stale = {
            let table = core.table();
            let mut stale = Vec::new();
            for handle in handles {
                if let Some((row, conn, _)) = table.rows(*handle)
                    && conn.seen.stale(now.mono, core.max_age)
                {
                    stale.push((table.conn_key(row.conn), crate::shell::core::Row::Conn(row.conn)));
                }
            }
            stale.sort_by(|a, b| a.0.cmp(&b.0));
            stale.dedup_by(|a, b| a.0 == b.0);
            stale
        };
        if !stale.is_empty() {
            core.refresh(stale).await;
        }
        let table = core.table();
        let mut blocked = None;
        let mut candidates: Vec<Candidate> = Vec::new();
        for handle in handles {
            let Some((row, conn, _)) = table.rows(*handle) else {
                blocked = blocked.or(Some(Blocked::NotConfigured));
                continue;
            };
            let reason = if conn.profile.disabled {
                Some(Blocked::Disabled)
            } else {
                conn.blocked(now.mono).or_else(|| row.own.blocked(now.mono)).map(|(reason, _)| reason)
            };
            match reason {
                Some(reason) => blocked = blocked.or(Some(reason)),
                None if candidates.iter().any(|c| c.index == row.conn) => {}
                None => {
                    let target = table.target(row);
                    candidates.push(Candidate {
                        index: row.conn,
                        provider: target.provider,
                        connection: target.connection,
                    });
                }
            }
        }
        (candidates, blocked)
    }

    async fn held(&self, owner: OwnerHash) -> Result<Option<(ProviderId, ConnectionId)>, StoreError> {
        let (records, now) = self.core.store.get(&[Key::LeaseOwner(owner.0)]).await?;
        let lease = records
            .first()
            .and_then(Option::as_ref)
            .and_then(|record| <Lease as crate::codec::Value>::decode(&record.value).map(|(lease, _)| lease));
        Ok(lease
            .filter(|lease| lease.ended.is_none() && lease.expires_at > now.0)
            .map(|lease| (lease.provider, lease.connection)))
    }

    /// Changes a lease that holds, under the connection it is on.
    async fn change(
        &self,
        owner: OwnerHash,
        consumer: &Principal,
        generation: u64,
        what: &'static str,
        change: impl Fn(&mut Draft, Lease) -> LeaseView + Send + Sync,
    ) -> Result<Renewed, FenceError> {
        self.usable()?;
        for _ in 0..3 {
            let Some((provider, connection)) = self.held(owner).await? else { return Ok(Renewed::Stale) };
            let keys =
                vec![Key::LeaseOwner(owner.0), Key::LeaseConnection(provider.clone(), connection.clone())];
            let consumer = consumer.as_str().to_owned();
            let result = transact(&*self.core.store, keys, |draft| {
                let (lease, exists) = draft.load::<Lease>(0);
                if !exists || !holds(&lease, &consumer, generation, draft.now) {
                    return Some(Renewed::Stale);
                }
                if (&lease.provider, &lease.connection) != (&provider, &connection) {
                    return None;
                }
                draft.durable = true;
                draft.not_after = Some(lease.expires_at.saturating_sub(1));
                Some(Renewed::Done(change(draft, lease)))
            })
            .await;
            self.core.heard(&result);
            match result? {
                Some(Renewed::Done(view)) => {
                    self.event(what, view.generation);
                    return Ok(Renewed::Done(view));
                }
                Some(Renewed::Stale) => {
                    self.event("fence_rejected", generation);
                    return Ok(Renewed::Stale);
                }
                // It moved meanwhile: look where it is now.
                None => {}
            }
        }
        Ok(Renewed::Stale)
    }

    fn show(&self, seen: Option<(u32, i64)>, store_now: i64) {
        if let Some((index, until)) = seen {
            let now = self.core.now();
            let table = self.core.table();
            if let Some(conn) = table.conns.get(index as usize) {
                conn.note_lease(Some(until), store_now, now);
                debug_assert!(mono(now, store_now, until) >= now.mono.0);
            }
        }
    }

    fn event(&self, what: &'static str, generation: u64) {
        let at = self.core.now().wall.0;
        self.core.events.push(at, About::default(), EventKind::Lease { what, generation });
    }
}

fn holds(lease: &Lease, consumer: &str, generation: u64, now: i64) -> bool {
    lease.ended.is_none()
        && lease.consumer == consumer
        && lease.generation == generation
        && lease.expires_at > now
}

fn renewed(mut lease: Lease, ttl: i64, max_age: Option<i64>, now: i64) -> Lease {
    lease.renewed_at = now;
    lease.expires_at = now.saturating_add(ttl);
    if let Some(max_age) = max_age {
        lease.expires_at = lease.expires_at.min(lease.acquired_at.saturating_add(max_age).max(now + 1));
    }
    lease
}

fn write(draft: &mut Draft, owner: OwnerHash, lease: &Lease, connection_at: usize) {
    draft.put(OWNER, lease, Some(lease.expires_at));
    let holder = Holder { owner: owner.0, fence: lease.fence, expires_at: lease.expires_at };
    draft.put(connection_at, &holder, Some(lease.expires_at));
}

fn end(draft: &mut Draft, mut lease: Lease, reason: EndReason, keep: i64) -> LeaseView {
    draft.durable = true;
    lease.ended = Some((draft.now, reason));
    draft.put(0, &lease, Some(draft.now.saturating_add(keep)));
    draft.delete(1);
    view(&lease, draft.now)
}

fn view(lease: &Lease, now: i64) -> LeaseView {
    let state = match lease.ended {
        Some((_, EndReason::OwnerExit | EndReason::ClientCancelled)) => LeaseState::Released,
        Some((_, EndReason::TtlExpired)) => LeaseState::Expired,
        Some(_) => LeaseState::Invalidated,
        None if lease.expires_at <= now => LeaseState::Expired,
        None => LeaseState::Active,
    };
    LeaseView {
        state,
        generation: lease.generation,
        acquired_at: UnixMs(lease.acquired_at),
        renewed_at: UnixMs(lease.renewed_at),
        expires_at: UnixMs(lease.expires_at),
    }
}
