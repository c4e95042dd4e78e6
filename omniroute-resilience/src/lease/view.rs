//! What an owner asks for and what it is answered. Nothing here names a connection that is not its own.

use omniroute_core::{ConnectionId, Principal, ProviderId, StoreError, UnixMs};

use crate::lease::record::{EndReason, Lease, LeaseState};
use crate::lease::token::OwnerHash;
use crate::shell::table::Handle;
use crate::{Blocked, Span};

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
    /// When it ended and why, if it did.
    pub ended: Option<(UnixMs, EndReason)>,
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

/// A lease as its owner sees it. One that nobody renewed ended when it ran out.
pub(crate) fn view(lease: &Lease, now: i64) -> LeaseView {
    let ran_out = (lease.ended.is_none() && lease.expires_at <= now)
        .then_some((lease.expires_at, EndReason::TtlExpired));
    let ended = lease.ended.or(ran_out);
    let state = match ended {
        None => LeaseState::Active,
        Some((_, EndReason::OwnerExit | EndReason::ClientCancelled)) => LeaseState::Released,
        Some((_, EndReason::TtlExpired)) => LeaseState::Expired,
        Some(_) => LeaseState::Invalidated,
    };
    LeaseView {
        state,
        generation: lease.generation,
        acquired_at: UnixMs(lease.acquired_at),
        renewed_at: UnixMs(lease.renewed_at),
        expires_at: UnixMs(lease.expires_at),
        ended: ended.map(|(at, reason)| (UnixMs(at), reason)),
    }
}
