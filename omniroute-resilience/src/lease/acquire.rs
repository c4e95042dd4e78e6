//! Acquiring a lease: a new one, the one the owner has, or a move, in one commit over owner, connection,
//! generation, fence and history.

use omniroute_core::{ConnectionId, Key, ProviderId, UnixMs};

use crate::lease::api::*;
use crate::lease::record::{Counter, EndReason, Holder, Lease};
use crate::lease::token::OwnerHash;
use crate::lease::view::*;
use crate::shell::table::Handle;
use crate::shell::txn::{Draft, transact};
use crate::{Blocked, Span};

/// One candidate.
struct Candidate {
    index: u32,
    provider: ProviderId,
    connection: ConnectionId,
}

/// What an acquisition works with, and where each record is in its transaction.
struct Ask {
    owner: OwnerHash,
    consumer: String,
    candidates: Vec<Candidate>,
    /// Connections that would not do, and why; none: it is not configured.
    refused: Vec<(Option<Key>, Blocked)>,
    /// What the owner had when its record was read first.
    known: Option<Lease>,
    /// The connection it had, if that is none of the candidates.
    old_at: Option<usize>,
    ttl: i64,
    max_age: Option<i64>,
    keep_ended: i64,
    keep_generation: i64,
}

const OWNER: usize = 0;
const GENERATION: usize = 1;
const FENCE: usize = 2;
const ENDED: usize = 3;
const FIRST: usize = 4;

/// The answer, and which row is held until when.
type Word = (Acquired, Option<(u32, i64)>);

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
        let (candidates, refused) = self.eligible(&ask.candidates).await;
        let known = self.record(ask.owner).await?.0;
        let place = Lease::place(known.as_ref());
        let mut keys = vec![
            Key::LeaseOwner(ask.owner.0),
            Key::LeaseGeneration(ask.owner.0),
            Key::LeaseFence,
            Key::LeaseEnded(ask.owner.0, place),
        ];
        keys.extend(
            candidates.iter().map(|c| Key::LeaseConnection(c.provider.clone(), c.connection.clone())),
        );
        // The connection the owner holds now may not be among the candidates any more; its record must go too.
        let old = known.as_ref().map(Lease::connection_key);
        let old_at = old.map(|old| {
            keys.iter().position(|key| *key == old).unwrap_or_else(|| {
                keys.push(old);
                keys.len() - 1
            })
        });
        let config = &self.core.config.lease;
        let work = Ask {
            owner: ask.owner,
            consumer: ask.consumer.as_str().to_owned(),
            candidates,
            refused,
            known,
            old_at,
            ttl,
            max_age: config.max_age.map(Span::signed),
            keep_ended: config.keep_ended.signed(),
            keep_generation: config.keep_generation.signed(),
        };
        let result = transact(&*self.core.store, keys, |draft| (work.decide(draft), draft.now)).await;
        self.core.heard(&result);
        let ((answer, seen), store_now) = result?;
        if let Some((index, until)) = seen {
            let now = self.core.now();
            self.core.table().note_lease(index, Some(until), store_now, now);
        }
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

    /// Candidates that ordinary traffic could use, leases aside, and what blocks those that it could not.
    async fn eligible(&self, handles: &[Handle]) -> (Vec<Candidate>, Vec<(Option<Key>, Blocked)>) {
        let core = &self.core;
        let now = core.now();
        let stale = {
            let table = core.table();
            let mut stale = Vec::new();
            for handle in handles {
                if let Some((row, conn, _)) = table.rows(*handle)
                    && conn.fetched.stale(now.mono, core.max_age)
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
        let mut refused = Vec::new();
        let mut candidates: Vec<Candidate> = Vec::new();
        for handle in handles {
            let Some((row, conn, _)) = table.rows(*handle) else {
                refused.push((None, Blocked::NotConfigured));
                continue;
            };
            let reason = if conn.profile.disabled {
                Some(Blocked::Disabled)
            } else {
                conn.blocked(now.mono).or_else(|| row.own.blocked(now.mono)).map(|(reason, _)| reason)
            };
            match reason {
                Some(reason) => refused.push((Some(table.lease_key(row.conn)), reason)),
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
        (candidates, refused)
    }
}

impl Ask {
    fn decide(&self, draft: &mut Draft) -> Word {
        let now = draft.now;
        let (lease, exists) = draft.load::<Lease>(OWNER);
        let active = exists && lease.ended.is_none() && lease.expires_at > now;
        if active && lease.consumer != self.consumer {
            return (Acquired::OwnerActiveElsewhere, None);
        }
        if exists && self.known.as_ref().map(|known| known.fence) != Some(lease.fence) {
            // It moved between the two reads: the caller sees it as contention and asks again.
            return (self.busy(now), None);
        }
        draft.durable = true;
        draft.not_after = Some(now.saturating_add(self.ttl / 2));
        let same = |c: &Candidate| c.provider == lease.provider && c.connection == lease.connection;
        if active && let Some(at) = self.candidates.iter().position(same) {
            let lease = renewed(lease, self.ttl, self.max_age, now);
            write(draft, self.owner, &lease, (OWNER, FIRST + at), self.keep_ended);
            return (
                Acquired::Reused(view(&lease, now)),
                Some((self.candidates[at].index, lease.expires_at)),
            );
        }
        let mut earliest = i64::MAX;
        let free = self.candidates.iter().enumerate().find(|(at, _)| {
            let (holder, held) = draft.load::<Holder>(FIRST + at);
            if held {
                earliest = earliest.min(holder.expires_at);
            }
            !held
        });
        let Some((at, chosen)) = free else {
            draft.forget();
            let answer = if self.candidates.is_empty() {
                Acquired::NoEligible(self.refused.first().map(|(_, reason)| *reason))
            } else {
                self.busy(earliest)
            };
            return (answer, None);
        };
        let next = self.next(draft, &lease, active, chosen);
        if exists {
            // What the owner had goes to its history; it ends here, or had run out or been given back.
            let mut before = lease.clone();
            let here =
                if active { (now, self.moves(&lease)) } else { (lease.expires_at, EndReason::TtlExpired) };
            before.ended = before.ended.or(Some(here));
            draft.put(ENDED, &before, Some(now.saturating_add(self.keep_ended)));
        }
        if active && let Some(old_at) = self.old_at {
            draft.delete(old_at);
        }
        write(draft, self.owner, &next, (OWNER, FIRST + at), self.keep_ended);
        let view = view(&next, now);
        let seen = Some((chosen.index, next.expires_at));
        (if active { Acquired::Transitioned(view) } else { Acquired::Acquired(view) }, seen)
    }

    /// The lease that comes after what the owner had.
    fn next(&self, draft: &mut Draft, before: &Lease, active: bool, chosen: &Candidate) -> Lease {
        let now = draft.now;
        let (generation, _) = draft.load::<Counter>(GENERATION);
        let (fence, _) = draft.load::<Counter>(FENCE);
        draft.put(FENCE, &Counter(fence.0 + 1), None);
        let mut next = Lease {
            consumer: self.consumer.clone(),
            provider: chosen.provider.clone(),
            connection: chosen.connection.clone(),
            generation: before.generation,
            fence: fence.0 + 1,
            acquired_at: now,
            renewed_at: now,
            expires_at: now.saturating_add(self.ttl),
            ended: None,
            past: before.past + u64::from(before.generation > 0),
        };
        if active {
            next.acquired_at = before.acquired_at;
        } else {
            next.generation = generation.0.max(before.generation) + 1;
            let expires = now.saturating_add(self.keep_generation);
            draft.put(GENERATION, &Counter(next.generation), Some(expires));
        }
        next
    }

    /// Why a lease does not stay where it is.
    fn moves(&self, lease: &Lease) -> EndReason {
        let key = Some(lease.connection_key());
        match self.refused.iter().find(|(other, _)| *other == key).map(|(_, reason)| *reason) {
            None => EndReason::AuthorizationChanged,
            Some(Blocked::QuotaExhausted | Blocked::ModelQuota) => EndReason::QuotaUnavailable,
            Some(Blocked::Terminal(_) | Blocked::Disabled) => EndReason::ConnectionIneligible,
            Some(Blocked::ModelNotFound) => EndReason::ModelIneligible,
            Some(_) => EndReason::HealthOrCooldown,
        }
    }

    fn busy(&self, retry_at: i64) -> Acquired {
        Acquired::CapacityUnavailable { retry_at: UnixMs(retry_at), eligible: self.candidates.len() }
    }
}
