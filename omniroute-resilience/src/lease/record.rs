//! What is stored of a lease: under its owner, under its connection, and when it has ended.

use omniroute_core::{ConnectionId, Key, ProviderId};

use crate::codec::{Reader, Value, Writer};

/// Why a lease ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, serde::Serialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum EndReason {
    /// The owner gave it back.
    #[default]
    OwnerExit,
    /// The owner's client went away.
    ClientCancelled,
    /// Nobody renewed it.
    TtlExpired,
    /// The connection ended or was removed.
    ConnectionIneligible,
    /// The connection cannot serve the model.
    ModelIneligible,
    /// The connection rests for longer than can be waited for.
    HealthOrCooldown,
    /// The connection's allowance is used up.
    QuotaUnavailable,
    /// The owner's key may not use it any more.
    AuthorizationChanged,
    /// The owner's key was revoked.
    ManagedKeyRevoked,
}

const REASONS: [EndReason; 9] = [
    EndReason::OwnerExit,
    EndReason::ClientCancelled,
    EndReason::TtlExpired,
    EndReason::ConnectionIneligible,
    EndReason::ModelIneligible,
    EndReason::HealthOrCooldown,
    EndReason::QuotaUnavailable,
    EndReason::AuthorizationChanged,
    EndReason::ManagedKeyRevoked,
];

/// Where a lease stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, serde::Serialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum LeaseState {
    /// It holds.
    Active,
    /// Its owner gave it back.
    Released,
    /// Nobody renewed it.
    Expired,
    /// It was taken away.
    Invalidated,
}

/// A lease, under its owner's hash; the record outlives it by `lease.keep_ended`. When the next one begins, it goes
/// to the owner's history.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Lease {
    pub(crate) consumer: String,
    pub(crate) provider: ProviderId,
    pub(crate) connection: ConnectionId,
    pub(crate) generation: u64,
    pub(crate) fence: u64,
    pub(crate) acquired_at: i64,
    pub(crate) renewed_at: i64,
    pub(crate) expires_at: i64,
    /// Present once it has ended.
    pub(crate) ended: Option<(i64, EndReason)>,
    /// How many the owner had before it, as far as is remembered.
    pub(crate) past: u64,
}

/// Leases of one owner that are remembered after their end.
const HISTORY: u64 = 100;

impl Lease {
    /// Where a lease goes in its owner's history, where the oldest makes room.
    pub(crate) fn place(lease: Option<&Lease>) -> u64 {
        lease.map_or(0, |lease| lease.past % HISTORY)
    }

    /// The record that says who holds its connection.
    pub(crate) fn connection_key(&self) -> Key {
        Key::LeaseConnection(self.provider.clone(), self.connection.clone())
    }
}

impl Default for Lease {
    fn default() -> Self {
        Lease {
            consumer: String::new(),
            provider: ProviderId::new(""),
            connection: ConnectionId::new(""),
            generation: 0,
            fence: 0,
            acquired_at: 0,
            renewed_at: 0,
            expires_at: 0,
            ended: None,
            past: 0,
        }
    }
}

impl Value for Lease {
    fn encode(&self, tail: &[u8]) -> Vec<u8> {
        let mut out = Writer::new();
        out.text(&self.consumer).text(self.provider.as_str()).text(self.connection.as_str());
        out.u(self.generation).u(self.fence).i(self.acquired_at).i(self.renewed_at).i(self.expires_at);
        match self.ended {
            None => out.u(0),
            Some((at, reason)) => {
                out.u(1 + REASONS.iter().position(|r| *r == reason).unwrap_or(0) as u64).i(at)
            }
        };
        out.u(self.past);
        out.finish(tail)
    }

    fn decode(bytes: &[u8]) -> Option<(Self, &[u8])> {
        let mut input = Reader::new(bytes)?;
        let mut lease = Lease {
            consumer: input.text()?.to_owned(),
            provider: ProviderId::new(input.text()?),
            connection: ConnectionId::new(input.text()?),
            generation: input.u()?,
            fence: input.u()?,
            acquired_at: input.i()?,
            renewed_at: input.i()?,
            expires_at: input.i()?,
            ended: None,
            past: 0,
        };
        if let Some(at) = input.small::<usize>()?.checked_sub(1) {
            lease.ended = Some((input.i()?, *REASONS.get(at)?));
        }
        lease.past = input.u()?;
        Some((lease, input.rest()))
    }
}

/// Who holds a connection, under the connection. The record ends when the lease does.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Holder {
    pub(crate) owner: [u8; 32],
    pub(crate) fence: u64,
    pub(crate) expires_at: i64,
}

impl Value for Holder {
    fn encode(&self, tail: &[u8]) -> Vec<u8> {
        let mut out = Writer::new();
        out.bytes(&self.owner).u(self.fence).i(self.expires_at);
        out.finish(tail)
    }

    fn decode(bytes: &[u8]) -> Option<(Self, &[u8])> {
        let mut input = Reader::new(bytes)?;
        let owner = input.bytes()?.try_into().ok()?;
        let holder = Holder { owner, fence: input.u()?, expires_at: input.i()? };
        Some((holder, input.rest()))
    }
}

/// A number that only grows: the fence, or an owner's generation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Counter(pub(crate) u64);

impl Value for Counter {
    fn encode(&self, tail: &[u8]) -> Vec<u8> {
        let mut out = Writer::new();
        out.u(self.0);
        out.finish(tail)
    }

    fn decode(bytes: &[u8]) -> Option<(Self, &[u8])> {
        let mut input = Reader::new(bytes)?;
        Some((Counter(input.u()?), input.rest()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_come_back() {
        let lease = Lease {
            consumer: "k".into(),
            generation: 3,
            fence: 9,
            ended: Some((5, EndReason::QuotaUnavailable)),
            past: 7,
            ..Lease::default()
        };
        let bytes = lease.encode(&[]);
        assert_eq!(Lease::decode(&bytes), Some((lease, &[][..])));
        let holder = Holder { owner: [3; 32], fence: 1, expires_at: -4 };
        let bytes = holder.encode(b"t");
        assert_eq!(Holder::decode(&bytes), Some((holder, &b"t"[..])));
        assert_eq!(Counter::decode(&Counter(7).encode(&[])).unwrap().0, Counter(7));
    }
}
