//! Random records of every kind, for the laws.

use omniroute_core::{ConnectionId, LockScope, ModelId, PermitId, ProviderId, QuotaWindow, Unit};

use super::*;
use crate::layers::breaker::{Forced, Mark, Probe, State};
use crate::layers::connection::{Reason, Seen, Terminal};
use crate::lease::EndReason;
use crate::limits::quota::{Held, Used};
use crate::rng::Rng;

pub(super) fn keys() -> Vec<Key> {
    let (p, c) = (|| ProviderId::new("p"), || ConnectionId::new("c"));
    vec![
        Key::Breaker { provider: p(), origin: None },
        Key::Connection(p(), c()),
        Key::Lockout { provider: p(), connection: None, scope: LockScope::Model(ModelId::new("m")) },
        Key::Slots { provider: None, connection: None },
        Key::Rate { provider: p(), connection: c(), scope: None },
        Key::Quota { pool: "q".into(), unit: Unit::Tokens, window: QuotaWindow::Day, model: None },
        Key::Affinity([1; 32]),
        Key::LeaseOwner([1; 32]),
        Key::LeaseConnection(p(), c()),
        Key::LeaseGeneration([1; 32]),
        Key::LeaseFence,
        Key::LeaseEnded([1; 32], 1),
        Key::Refresh("r".into()),
        Key::LastResort(p(), ModelId::new("m")),
        Key::Meta("m".into()),
    ]
}

/// Draws values. Numbers are small, so that ties and gaps are frequent.
pub(super) struct Draw(pub(super) Rng);

impl Draw {
    pub(super) fn small(&self, most: u32) -> u32 {
        u32::try_from(self.0.between(0, most.into())).unwrap()
    }

    pub(super) fn date(&self) -> i64 {
        i64::from(self.small(4)) * 10
    }

    pub(super) fn some<T>(&self, value: T) -> Option<T> {
        (self.small(2) > 0).then_some(value)
    }

    pub(super) fn of<T: Copy>(&self, all: &[T]) -> T {
        all[self.small(u32::try_from(all.len() - 1).unwrap()) as usize]
    }

    pub(super) fn permit(&self) -> PermitId {
        PermitId { process: self.small(2).into(), number: self.small(3).into() }
    }

    pub(super) fn breaker(&self) -> Breaker {
        let mark = |_| Mark { at: self.date(), connection: 1, permit: self.small(3) };
        let mut failures: Vec<_> = (0..self.small(4)).map(mark).collect();
        failures.sort_by_key(|mark| (mark.at, mark.connection, mark.permit));
        failures.dedup();
        let probe = Probe { permit: self.permit(), lease_until: self.date(), connection: 1 };
        Breaker {
            state: self.of(&[State::Closed, State::Degraded, State::Open, State::HalfOpen]),
            forced: self.of(&[Forced::No, Forced::No, Forced::Open, Forced::Closed]),
            generation: self.small(3).into(),
            failures,
            opened_at: self.date(),
            open_until: self.date(),
            cycle: self.small(1),
            probe: self.some(probe),
            recovered_at: self.date(),
            avoid: self.some((1, self.date())),
            ..Breaker::default()
        }
    }

    pub(super) fn connection(&self) -> Connection {
        let terminal = self.of(&[Terminal::Banned, Terminal::Expired, Terminal::CreditsExhausted]);
        let sight = |window| Seen {
            window,
            used_ppm: self.small(2),
            resets_at: self.some(self.date()),
            at: self.date(),
            polled: self.small(1) > 0,
        };
        let seen = [QuotaWindow::Hour, QuotaWindow::Day].into_iter().filter_map(|w| self.some(sight(w)));
        Connection {
            epoch: self.small(3).into(),
            until: self.date(),
            declared: self.small(1) > 0,
            level: self.small(3),
            touched: self.date(),
            last_rest: self.date(),
            reason: self.of(&[Reason::RateLimited, Reason::Overloaded, Reason::Manual]),
            terminal: self.some((terminal, self.date())),
            credential: self.small(2).into(),
            reentry: self.some(self.small(3)),
            verify_at: self.date(),
            suspect: self.some((terminal, self.small(2), self.date(), self.date())),
            row: self.small(2),
            error: self.some((429, self.date())),
            seen: seen.collect(),
            refresh_failures: self.small(2),
            refresh_after: self.date(),
        }
    }

    pub(super) fn lock(&self) -> Lock {
        Lock {
            epoch: self.small(3).into(),
            until: self.date(),
            declared: self.small(1) > 0,
            count: self.small(3),
            last_at: self.date(),
            last_ms: self.date(),
            verify_at: self.date(),
            row: self.small(2),
            row_at: self.date(),
            ..Lock::default()
        }
    }

    pub(super) fn slots(&self) -> Slots {
        let held = (0..self.small(4)).map(|_| (self.permit(), self.date())).collect();
        Slots { held }.join(Slots::default())
    }

    pub(super) fn usage(&self) -> Usage {
        let used = (0..self.small(4)).map(|_| Used {
            consumer: self.small(2).into(),
            buckets: vec![(self.small(2).into(), u64::from(self.small(5)) + 1)],
        });
        let held = (0..self.small(3)).map(|_| Held {
            permit: self.permit(),
            consumer: self.small(2).into(),
            amount: self.small(3).into(),
            until: self.date(),
        });
        Usage { used: used.collect(), held: held.collect() }.join(Usage::default())
    }

    pub(super) fn rate(&self) -> Rate {
        Rate {
            calls_at: self.date(),
            tokens_at: self.date(),
            last_start: self.date(),
            day: self.small(1).into(),
            day_calls: self.small(5).into(),
            day_tokens: self.small(5).into(),
            learned: Vec::new(),
        }
    }

    pub(super) fn lease(&self) -> Lease {
        Lease {
            generation: self.small(1).into(),
            fence: self.small(2).into(),
            expires_at: self.date(),
            ended: self.some((self.date(), EndReason::OwnerExit)),
            ..Lease::default()
        }
    }

    pub(super) fn value(&self, key: &Key) -> Vec<u8> {
        match key {
            Key::Breaker { .. } => self.breaker().encode(&[]),
            Key::Connection(..) => self.connection().encode(&[]),
            Key::Lockout { .. } => self.lock().encode(&[]),
            Key::Slots { .. } => self.slots().encode(&[]),
            Key::Rate { .. } => self.rate().encode(&[]),
            Key::Quota { .. } => self.usage().encode(&[]),
            Key::LeaseOwner(_) | Key::LeaseEnded(..) => self.lease().encode(&[]),
            Key::LeaseConnection(..) => {
                let owner = [u8::try_from(self.small(1)).unwrap(); 32];
                Holder { owner, fence: self.small(2).into(), expires_at: self.date() }.encode(&[])
            }
            Key::LeaseGeneration(_) | Key::LeaseFence => Counter(self.small(5).into()).encode(&[]),
            _ => vec![u8::try_from(self.small(3)).unwrap()],
        }
    }

    /// Sometimes one that a newer version wrote, or nobody can read.
    pub(super) fn joined(&self, key: &Key) -> Joined {
        let mut value = self.value(key);
        match self.small(12) {
            0 => value = vec![9, 9, u8::try_from(self.small(2)).unwrap()],
            1 => value.push(u8::try_from(self.small(2)).unwrap()),
            _ => {}
        }
        Joined { expires: self.some(UnixMs(self.date())), value: value.into() }
    }
}
