//! What can be done with a lease that is there: renew, give back, take away, look. Each one commit over owner and
//! connection together.

use std::sync::Arc;

use omniroute_core::{ConnectionId, Key, Principal, ProviderId, StoreError};

use crate::codec::Value;
use crate::lease::record::{EndReason, Holder, Lease};
use crate::lease::token::OwnerHash;
use crate::lease::view::*;
use crate::shell::core::Core;
use crate::shell::events::{About, EventKind};
use crate::shell::txn::{Draft, transact};
use crate::{Resilience, Span};

/// The leases of one [`Resilience`].
#[derive(Debug, Clone)]
pub struct Leases {
    pub(crate) core: Arc<Core>,
}

impl Resilience {
    /// Exclusive leases.
    pub fn leases(&self) -> Leases {
        Leases { core: Arc::clone(&self.core) }
    }
}

impl Leases {
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
        let keep = self.core.config.lease.keep_ended.signed();
        self.change(owner, consumer, generation, "renewed", move |draft, lease| {
            let lease = renewed(lease, ttl, max_age, draft.now);
            write(draft, owner, &lease, (0, 1), keep);
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
        let (record, now) = self.record(owner).await?;
        let again = record.filter(|lease| {
            lease.ended.is_some() && lease.generation == generation && lease.consumer == consumer.as_str()
        });
        Ok(again.map_or(Renewed::Stale, |lease| Renewed::Done(view(&lease, now))))
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
        let holder = records
            .first()
            .and_then(Option::as_ref)
            .and_then(|record| Holder::decode(&record.value).map(|(holder, _)| holder));
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
            self.freed(provider, connection);
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
        let (lease, now) = self.record(owner).await?;
        Ok(match lease {
            Some(lease) if holds(&lease, consumer.as_str(), generation, now) => {
                Status::Active(view(&lease, now), lease.provider, lease.connection)
            }
            _ => Status::Stale,
        })
    }

    /// An owner's leases under one key that have ended, oldest first: those of the last `keep_ended`, at most the
    /// last hundred.
    ///
    /// # Errors
    /// As [`Leases::acquire`].
    pub async fn history(
        &self,
        owner: OwnerHash,
        consumer: &Principal,
    ) -> Result<Vec<LeaseView>, FenceError> {
        self.usable()?;
        let (last, now) = self.record(owner).await?;
        let mut leases: Vec<Lease> = Vec::new();
        let prefix = format!("le/{}/", owner.hex());
        let result = self
            .core
            .store
            .scan(&prefix, &mut |_, record| {
                leases.extend(Lease::decode(&record.value).map(|(lease, _)| lease));
            })
            .await;
        self.core.heard(&result);
        result?;
        leases.extend(last);
        leases.sort_by_key(|lease| lease.fence);
        let own = leases.iter().filter(|lease| lease.consumer == consumer.as_str());
        Ok(own.map(|lease| view(lease, now)).filter(|view| view.ended.is_some()).collect())
    }

    /// Nobody holds the connection any more; this process need not ask the store to know.
    fn freed(&self, provider: &ProviderId, connection: &ConnectionId) {
        let (now, table) = (self.core.now(), self.core.table());
        if let Some(index) = table.connection(provider, connection) {
            table.note_lease(index, None, 0, now);
        }
    }

    pub(crate) fn usable(&self) -> Result<(), FenceError> {
        let config = &self.core.config.lease;
        let traits = self.core.store.traits();
        match (config.enabled, traits.durable || config.allow_volatile) {
            (false, _) => Err(FenceError::Off),
            (true, false) => Err(FenceError::Volatile(traits.name)),
            (true, true) => Ok(()),
        }
    }

    pub(crate) fn ttl(&self, ttl: Option<Span>) -> Result<i64, FenceError> {
        self.usable()?;
        let config = &self.core.config.lease;
        let ttl = ttl.unwrap_or(config.ttl);
        if ttl < Span::seconds(1) || ttl > config.ttl_max {
            return Err(FenceError::Ttl(ttl, config.ttl_max));
        }
        Ok(ttl.signed())
    }

    /// What is stored of an owner's last lease, and the store's time.
    pub(crate) async fn record(&self, owner: OwnerHash) -> Result<(Option<Lease>, i64), StoreError> {
        let result = self.core.store.get(&[Key::LeaseOwner(owner.0)]).await;
        self.core.heard(&result);
        let (records, now) = result?;
        let record = records.first().and_then(Option::as_ref);
        Ok((record.and_then(|record| Lease::decode(&record.value)).map(|(lease, _)| lease), now.0))
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
            let Some(known) = self.record(owner).await?.0 else { return Ok(Renewed::Stale) };
            let keys = vec![Key::LeaseOwner(owner.0), known.connection_key()];
            let consumer = consumer.as_str().to_owned();
            let result = transact(&*self.core.store, keys, |draft| {
                let (lease, exists) = draft.load::<Lease>(0);
                if !exists || !holds(&lease, &consumer, generation, draft.now) {
                    return Some(Renewed::Stale);
                }
                if lease.connection_key() != known.connection_key() {
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
                    if view.ended.is_some() {
                        self.freed(&known.provider, &known.connection);
                    }
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

    pub(crate) fn event(&self, what: &'static str, generation: u64) {
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

pub(crate) fn renewed(mut lease: Lease, ttl: i64, max_age: Option<i64>, now: i64) -> Lease {
    lease.renewed_at = now;
    lease.expires_at = now.saturating_add(ttl);
    if let Some(max_age) = max_age {
        lease.expires_at = lease.expires_at.min(lease.acquired_at.saturating_add(max_age).max(now + 1));
    }
    lease
}

/// Writes a lease under its owner, where it is kept for a while after its end, and under its connection.
pub(crate) fn write(
    draft: &mut Draft,
    owner: OwnerHash,
    lease: &Lease,
    (owner_at, connection_at): (usize, usize),
    keep: i64,
) {
    draft.put(owner_at, lease, Some(lease.expires_at.saturating_add(keep)));
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
