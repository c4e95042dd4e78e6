//! What happened, as values in a bounded ring. A slow reader misses events and is told so; nobody waits for it.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};

use omniroute_core::{ConnectionId, ModelId, ProviderId, Purpose, UnixMs};
use sha2::{Digest, Sha256};

use crate::layers::breaker::State;
use crate::layers::connection::Terminal;
use crate::shell::denial::Blocked;

/// One thing that happened. Names no credential and no text of a request.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
#[non_exhaustive]
pub struct Event {
    /// Version of this shape.
    pub v: u8,
    /// Counts up by one.
    pub seq: u64,
    /// When.
    pub at: UnixMs,
    /// Which provider, if one is meant.
    pub provider: Option<String>,
    /// Which connection: the first 8 hex digits of the SHA-256 of its name.
    pub connection_ref: Option<String>,
    /// Which model, if one is meant.
    pub model: Option<String>,
    /// What.
    #[serde(flatten)]
    pub kind: EventKind,
}

/// What happened.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
#[serde(tag = "kind")]
#[non_exhaustive]
pub enum EventKind {
    /// A breaker went from one state to another.
    #[serde(rename = "breaker.transition")]
    Breaker {
        /// From.
        from: State,
        /// To.
        to: State,
        /// Counted failures.
        failures: u32,
        /// Open until, if it is open.
        open_until: Option<UnixMs>,
        /// Failed probes in a row.
        cycle: u32,
    },
    /// A probe was handed out.
    #[serde(rename = "breaker.probe")]
    Probe {
        /// The one before it was lost.
        reclaimed: bool,
    },
    /// A connection rests.
    #[serde(rename = "cooldown.set")]
    CooldownSet {
        /// Until when.
        until: UnixMs,
        /// The provider named the date.
        declared: bool,
        /// How often it has doubled.
        level: u32,
    },
    /// A rest ended before its date.
    #[serde(rename = "cooldown.cleared")]
    CooldownCleared,
    /// A long rest is tried out.
    #[serde(rename = "cooldown.verify")]
    Verify,
    /// A connection ended.
    #[serde(rename = "connection.terminal")]
    Terminal {
        /// How.
        state: Terminal,
    },
    /// A terminal state was lifted.
    #[serde(rename = "connection.terminal_cleared")]
    TerminalCleared,
    /// An operator has to look at a connection.
    #[serde(rename = "connection.operator_action_needed")]
    OperatorActionNeeded {
        /// Which rule asked for it.
        rule: String,
    },
    /// A model was locked.
    #[serde(rename = "lockout.set")]
    LockoutSet {
        /// Until when.
        until: UnixMs,
        /// Failures that count.
        count: u32,
    },
    /// A lock ended before its date, or its count fell.
    #[serde(rename = "lockout.cleared")]
    LockoutCleared,
    /// A session got a connection.
    #[serde(rename = "affinity.created")]
    PinCreated,
    /// A session moved.
    #[serde(rename = "affinity.rebound")]
    PinRebound,
    /// A session lost its connection.
    #[serde(rename = "affinity.evicted")]
    PinEvicted,
    /// A lease began, went on, moved, ended, or was refused.
    #[serde(rename = "lease")]
    Lease {
        /// `acquired`, `renewed`, `transitioned`, `released`, `invalidated`, `fence_rejected`.
        what: &'static str,
        /// Of which generation.
        generation: u64,
    },
    /// A consumer met the fair-share gate.
    #[serde(rename = "quota.decision")]
    QuotaDecision {
        /// Of which pool.
        pool: String,
        /// What it had used.
        own: u64,
        /// What all had used.
        total: u64,
        /// Of how much.
        limit: u64,
        /// The word.
        result: crate::limits::quota::Gate,
    },
    /// An allowance was seen.
    #[serde(rename = "quota.observation")]
    QuotaSeen {
        /// Used share in millionths.
        used_ppm: u32,
        /// When it starts anew.
        resets_at: Option<UnixMs>,
    },
    /// A limit that an answer told of is nearly used up; what is left of it is spread.
    #[serde(rename = "limit.scarce")]
    LimitScarce {
        /// The whole of it.
        limit: u64,
        /// What is left.
        left: u64,
        /// Until when that has to last.
        until: UnixMs,
    },
    /// The store was away and a request went on without its part of a pool being counted, or was refused if
    /// money is capped.
    #[serde(rename = "quota.fail_open")]
    QuotaFailOpen,
    /// A request left a tier of pools because nothing there could start in time.
    #[serde(rename = "share.spilled")]
    TierSpilled {
        /// The tier it left.
        tier: u32,
        /// How long it waited for it, ms.
        waited_ms: u64,
    },
    /// A target of a pool was chosen.
    #[serde(rename = "share.pick")]
    SharePick {
        /// Of which pool.
        pool: String,
        /// Of which tier that pool is.
        tier: u32,
        /// What it was owed, in millionths of an attempt, before it paid.
        deficit: i64,
    },
    /// Somebody went on without a slot.
    #[serde(rename = "slot.bypass")]
    SlotBypass,
    /// Slots that nobody gave back have ended.
    #[serde(rename = "slot.leak_reclaimed")]
    SlotLeak {
        /// How many.
        slots: u32,
    },
    /// A request waited.
    #[serde(rename = "retry.wait")]
    Waited {
        /// How long, ms.
        ms: u64,
    },
    /// Nothing could be granted.
    #[serde(rename = "attempt.denied")]
    Denied {
        /// What decided.
        reason: Blocked,
        /// Candidates.
        candidates: u32,
    },
    /// Everything was blocked and one was tried all the same.
    #[serde(rename = "attempt.last_resort")]
    LastResort,
    /// Our own network seems to be down.
    #[serde(rename = "egress.suspect")]
    EgressSuspect {
        /// Which path.
        egress: String,
    },
    /// It is back.
    #[serde(rename = "egress.recovered")]
    EgressRecovered {
        /// Which path.
        egress: String,
    },
    /// The store does not answer.
    #[serde(rename = "store.degraded")]
    StoreDegraded {
        /// Why.
        error: String,
    },
    /// It answers again.
    #[serde(rename = "store.recovered")]
    StoreRecovered,
    /// A record could not be read and counts as absent.
    #[serde(rename = "store.corrupt_record")]
    Corrupt,
    /// The wall clock jumped.
    #[serde(rename = "clock.jump")]
    ClockJump {
        /// By how much, ms; positive is forward.
        ms: i64,
    },
    /// Connections were configured.
    #[serde(rename = "config.changed")]
    Configured {
        /// The new version.
        version: u64,
        /// How many there are.
        connections: u32,
    },
    /// Something was tried out for another purpose than a client's request.
    #[serde(rename = "probe.result")]
    OtherPurpose {
        /// Which.
        purpose: Purpose,
        /// Whether it worked.
        ok: bool,
    },
}

/// What a reader gets.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct Events {
    /// Events between the one asked for and the first here that are gone.
    pub dropped: u64,
    /// The events, oldest first.
    pub events: Vec<Event>,
    /// What to ask for next.
    pub next: u64,
}

/// Names are written out only when somebody reads.
#[derive(Debug)]
struct Kept {
    seq: u64,
    at: i64,
    about: About,
    kind: EventKind,
}

impl Kept {
    fn event(&self) -> Event {
        Event {
            v: 1,
            seq: self.seq,
            at: UnixMs(self.at),
            provider: self.about.provider.as_ref().map(|id| id.as_str().to_owned()),
            connection_ref: self.about.connection.as_ref().map(connection_ref),
            model: self.about.model.as_ref().map(|id| id.as_str().to_owned()),
            kind: self.kind.clone(),
        }
    }
}

#[derive(Debug)]
pub(crate) struct Ring {
    inner: Mutex<(u64, VecDeque<Kept>)>,
    capacity: usize,
}

/// The stand-in for a connection's name.
pub fn connection_ref(connection: &ConnectionId) -> String {
    let digest = Sha256::digest(connection.as_str().as_bytes());
    digest.iter().take(4).map(|byte| format!("{byte:02x}")).collect()
}

/// What an event is about.
#[derive(Debug, Clone, Default)]
pub(crate) struct About {
    pub(crate) provider: Option<ProviderId>,
    pub(crate) connection: Option<ConnectionId>,
    pub(crate) model: Option<ModelId>,
}

impl Ring {
    pub(crate) fn new(capacity: u32) -> Ring {
        Ring { inner: Mutex::new((0, VecDeque::new())), capacity: capacity.max(1) as usize }
    }

    pub(crate) fn push(&self, at: i64, about: About, kind: EventKind) {
        let mut inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        inner.0 += 1;
        let seq = inner.0;
        if inner.1.len() >= self.capacity {
            inner.1.pop_front();
        }
        inner.1.push_back(Kept { seq, at, about, kind });
    }

    pub(crate) fn since(&self, seq: u64) -> Events {
        let inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        let first = inner.1.front().map_or(inner.0 + 1, |event| event.seq);
        let dropped = first.saturating_sub(seq.max(1));
        let events = inner.1.iter().filter(|event| event.seq >= seq).map(Kept::event).collect();
        Events { dropped, events, next: inner.0 + 1 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slow_reader_is_told_what_it_missed() {
        let ring = Ring::new(3);
        for n in 0..5 {
            ring.push(n, About::default(), EventKind::StoreRecovered);
        }
        let events = ring.since(1);
        assert_eq!((events.dropped, events.events.len(), events.next), (2, 3, 6));
        let events = ring.since(events.next);
        assert_eq!((events.dropped, events.events.len()), (0, 0));
    }

    #[test]
    fn an_event_is_flat_json_without_names_of_connections() {
        let ring = Ring::new(3);
        let about = About {
            provider: Some(ProviderId::new("openai")),
            connection: Some(ConnectionId::new("me@example.org")),
            model: None,
        };
        ring.push(5, about, EventKind::Probe { reclaimed: true });
        let json = serde_json::to_string(&ring.since(0).events[0]).unwrap();
        assert!(json.contains(r#""kind":"breaker.probe","reclaimed":true"#), "{json}");
        assert!(!json.contains("example"), "{json}");
    }
}
