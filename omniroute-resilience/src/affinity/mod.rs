//! Sessions that stay on one connection. Pins are kept here; what they may override is the router's contract.

mod api;
mod pins;

use omniroute_core::{ConnectionId, Mono, Principal, ProviderId, SessionId};
pub(crate) use pins::Pins;
use sha2::{Digest, Sha256};

use crate::config::AffinityConfig;
use crate::shell::denial::Blocked;

/// Where a session stays.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Pin {
    /// The connection.
    pub connection: ConnectionId,
    /// Grows with every move; a move from an older number loses.
    pub version: u64,
    /// Requests in a row that were served elsewhere.
    pub diversions: u32,
    /// When it was made, on the store's clock, ms.
    pub created_at: i64,
}

/// What to do about a pin, from what is known of its connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Advice {
    /// Use it.
    Use,
    /// Wait for it until then.
    Wait(Mono),
    /// Use another connection for this request and keep the pin.
    Divert,
    /// Move the pin.
    Rebind,
    /// Remove the pin, then choose anew.
    Delete,
}

/// The table of what to do: by what blocks the pinned connection and for how long.
pub fn advise(
    config: &AffinityConfig,
    blocked: Option<(Blocked, Option<Mono>)>,
    diversions: u32,
    may_wait: bool,
    now: Mono,
) -> Advice {
    use Blocked as B;
    let Some((reason, until)) = blocked else { return Advice::Use };
    match reason {
        B::Terminal(_) | B::Disabled | B::NotConfigured => return Advice::Delete,
        B::Breaker | B::ProviderRamp => return Advice::Divert,
        B::QuotaExhausted => return Advice::Rebind,
        _ => {}
    }
    let left = until.map(|at| at.since(now));
    match left {
        Some(left) if left <= config.grace.into() && may_wait => Advice::Wait(until.unwrap_or(now)),
        _ if diversions + 1 >= config.diversions => Advice::Rebind,
        Some(left) if left <= config.keep.into() => Advice::Divert,
        None if matches!(reason, B::Slots | B::Attempts | B::RetryBudget) => Advice::Divert,
        _ => Advice::Rebind,
    }
}

/// What a pin is stored under: consumer, provider and session, hashed together.
pub fn session_key(consumer: &Principal, provider: &ProviderId, session: &SessionId) -> [u8; 32] {
    let mut hash = Sha256::new();
    hash.update(consumer.as_str());
    hash.update([0]);
    hash.update(provider.as_str());
    hash.update([0]);
    hash.update(session.as_str());
    hash.finalize().into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::layers::connection::Terminal;

    #[test]
    fn the_table_row_by_row() {
        use Blocked as B;
        let config = AffinityConfig::default();
        let now = Mono(1_000_000_000);
        let at = |seconds: u64| Some(Mono(now.0 + seconds * 1_000_000_000));
        for (blocked, diversions, may_wait, expected) in [
            (None, 0, true, Advice::Use),
            (Some((B::RateLimited, at(10))), 0, true, Advice::Wait(Mono(11_000_000_000))),
            (Some((B::RateLimited, at(10))), 0, false, Advice::Divert),
            (Some((B::ModelLocked, at(60))), 0, true, Advice::Divert),
            (Some((B::ModelLocked, at(60))), 1, true, Advice::Rebind),
            (Some((B::RateLimited, at(61))), 0, true, Advice::Rebind),
            (Some((B::QuotaExhausted, at(1))), 0, true, Advice::Rebind),
            (Some((B::Terminal(Terminal::Banned), None)), 0, true, Advice::Delete),
            (Some((B::NotConfigured, None)), 0, true, Advice::Delete),
            (Some((B::Breaker, at(900))), 5, true, Advice::Divert),
            (Some((B::Slots, None)), 0, true, Advice::Divert),
        ] {
            assert_eq!(
                advise(&config, blocked, diversions, may_wait, now),
                expected,
                "{blocked:?} {diversions}"
            );
        }
    }

    #[test]
    fn two_consumers_never_share_a_pin() {
        let (provider, session) = (ProviderId::new("p"), SessionId::new("session-1"));
        let key = |consumer: &str| session_key(&Principal::new(consumer), &provider, &session);
        assert_ne!(key("a"), key("b"));
    }
}
