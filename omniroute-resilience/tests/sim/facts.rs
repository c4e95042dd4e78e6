//! What happened in a run, one fact after the other. Everything that is judged is judged on these.

use std::hash::{Hash, Hasher};

use omniroute_core::{FailureKind, PermitId};
use omniroute_resilience::layers::breaker::{self, Breaker};
use omniroute_resilience::layers::connection::Connection;
use omniroute_resilience::layers::lockout::Lock;

/// Who is meant: numbers of the world, not names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Who {
    /// The breaker of a vendor.
    Breaker(usize),
    /// A connection.
    Account(usize),
    /// A model (vendor, connection or all, model; a quota scope is a model from 1000 on).
    Lock(usize, Option<usize>, usize),
}

/// A breaker as the store has it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub(crate) struct BreakerSeen {
    /// 0 closed, 1 degraded, 2 open, 3 half open.
    pub(crate) state: u64,
    pub(crate) forced: u64,
    pub(crate) generation: u64,
    pub(crate) open_until: i64,
    pub(crate) cycle: u64,
    pub(crate) inconclusive: u64,
    /// Process, number, lease end.
    pub(crate) probe: Option<(u64, u64, i64)>,
}

/// A connection as the store has it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub(crate) struct AccountSeen {
    pub(crate) epoch: u64,
    pub(crate) until: i64,
    pub(crate) declared: bool,
    pub(crate) level: u64,
    /// 0 none, else 1 + which.
    pub(crate) terminal: u64,
    pub(crate) credential: u64,
}

/// A model lock as the store has it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub(crate) struct LockSeen {
    pub(crate) epoch: u64,
    pub(crate) until: i64,
    pub(crate) declared: bool,
    pub(crate) count: u64,
}

/// Old and new state of one record.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Change {
    Breaker { who: usize, old: BreakerSeen, new: BreakerSeen },
    Account { who: usize, old: AccountSeen, new: AccountSeen },
    Lock { who: Who, old: LockSeen, new: LockSeen },
}

/// Which step of which attempt ran when something happened.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub(crate) enum Cause {
    /// Nobody's attempt: upkeep, start-up, an operator.
    #[default]
    None,
    /// Someone asked for a permit.
    Admit,
    /// First content, or a report of success.
    Success(Attempt),
    /// A report of failure.
    Failure(Attempt, FailureKind, Blame),
    /// A permit was dropped.
    Drop(Attempt),
}

/// What a failure says about who is to blame, as far as invariants look at it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub(crate) struct Blame {
    /// HTTP status; 0 without.
    pub(crate) status: u16,
    /// Made by ourselves.
    pub(crate) local: bool,
}

/// One attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Attempt {
    pub(crate) permit: PermitId,
    pub(crate) account: usize,
    pub(crate) vendor: usize,
    pub(crate) model: usize,
    /// When it was granted, ms since the start.
    pub(crate) at: i64,
    /// Whether it may teach anything.
    pub(crate) production: bool,
}

/// Special rights of a grant.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub(crate) struct Special {
    pub(crate) probe: bool,
    pub(crate) verification: bool,
    pub(crate) last_resort: bool,
    pub(crate) fence: Option<u64>,
}

/// One thing that happened.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum What {
    /// A permit was given out, on a host, for a request.
    Granted { attempt: Attempt, host: usize, request: u64, special: Special },
    /// Nothing was eligible, and why; wait in ms if known.
    Refused { host: usize, request: u64, wait: Option<i64>, reason: &'static str },
    /// Bytes went to a vendor.
    Sent { attempt: Attempt, special: Special },
    /// The vendor answered: none is content.
    Answered { attempt: Attempt, failure: Option<FailureKind> },
    /// A permit ended: reported or dropped.
    Settled { attempt: Attempt, reported: bool },
    /// A record changed.
    Changed { change: Change, cause: Cause },
    /// A request is over.
    Done { request: u64, answered: bool },
    /// The shared store can be reached, or not.
    Store { up: bool },
    /// The shared store has lost everything.
    Wiped,
    /// A wall clock moved (host 0: the store's).
    Jumped { host: usize, by: i64 },
    /// A process died; what it held is gone with it.
    Killed { host: usize },
    /// A lease was acknowledged, by owner: connection, generation, end on the store's clock.
    Leased { owner: usize, account: usize, generation: u64, until: i64 },
    /// A lease was given back or is known to be gone.
    Unleased { owner: usize },
}

/// A fact and its time, ms since the start, with the time of the store, as far as it has told it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Fact {
    pub(crate) at: i64,
    pub(crate) wall: i64,
    pub(crate) what: What,
}

/// A hash that is the same everywhere: FNV over little-endian bytes.
#[derive(Debug)]
pub(crate) struct Trace(u64);

impl Default for Trace {
    fn default() -> Trace {
        Trace(0xcbf2_9ce4_8422_2325)
    }
}

impl Trace {
    /// Takes in a fact.
    pub(crate) fn add(&mut self, fact: &Fact) {
        fact.hash(self);
    }
}

impl Hasher for Trace {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = (self.0 ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3);
        }
    }

    fn write_u64(&mut self, n: u64) {
        // One step for eight bytes: the trace is long.
        self.0 = (self.0 ^ n).wrapping_mul(0x0000_0100_0000_01b3).rotate_left(29);
    }

    fn write_usize(&mut self, n: usize) {
        self.write_u64(n as u64);
    }

    fn write_isize(&mut self, n: isize) {
        self.write_u64(n as u64);
    }

    fn write_i64(&mut self, n: i64) {
        self.write_u64(n.cast_unsigned());
    }

    fn write_u8(&mut self, n: u8) {
        self.write_u64(u64::from(n));
    }

    fn write_u16(&mut self, n: u16) {
        self.write_u64(u64::from(n));
    }
}

/// A breaker of the library, as facts show it.
pub(crate) fn see_breaker(b: &Breaker) -> BreakerSeen {
    let state = match b.state {
        breaker::State::Closed => 0,
        breaker::State::Degraded => 1,
        breaker::State::Open => 2,
        breaker::State::HalfOpen => 3,
    };
    BreakerSeen {
        state,
        forced: 0,
        generation: b.generation,
        open_until: b.open_until,
        cycle: u64::from(b.cycle),
        inconclusive: u64::from(b.inconclusive),
        probe: b.probe.map(|probe| (probe.permit.process, probe.permit.number, probe.lease_until)),
    }
}

/// A connection of the library, as facts show it.
pub(crate) fn see_account(c: &Connection) -> AccountSeen {
    AccountSeen {
        epoch: c.epoch,
        until: c.until,
        declared: c.declared,
        level: u64::from(c.level),
        terminal: c.terminal.map_or(0, |(state, _)| 1 + state as u64),
        credential: c.credential,
    }
}

/// A lock of the library, as facts show it.
pub(crate) fn see_lock(l: &Lock) -> LockSeen {
    LockSeen { epoch: l.epoch, until: l.until, declared: l.declared, count: u64::from(l.count) }
}
