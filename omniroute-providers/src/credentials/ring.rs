//! Several keys of one connection, used in turn. One bad key does not stop the others.

use std::sync::{Mutex, MutexGuard, PoisonError};

use omniroute_core::{Env, Evidence, Failure, FailureKind, Scope, UnixMs};

use super::source::{CredentialError, CredentialSource, Held};

/// Refusals in a row after which a key is not used any more.
const REFUSALS: u32 = 2;

/// Shortest rest of a key that was told to slow down without a time, in milliseconds.
const REST: i64 = 3_000;

/// Which key comes next.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum RingOrder {
    /// Each in its turn.
    #[default]
    RoundRobin,
    /// The one that has not been used for longest.
    LeastRecent,
    /// The first that works, always.
    FirstHealthy,
}

/// Several keys.
#[derive(Debug)]
pub struct KeyRing {
    place: String,
    order: RingOrder,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    keys: Vec<Slot>,
    next: usize,
    turns: u64,
}

#[derive(Debug)]
struct Slot {
    held: Held,
    refusals: u32,
    rests_until: i64,
    used: u64,
}

impl KeyRing {
    /// The keys of a connection; `place` names it in errors. `start` is where the turn begins: a random number of the
    /// host keeps many processes from starting at the same key.
    pub fn new(place: impl Into<String>, keys: Vec<Held>, order: RingOrder, start: u64) -> Self {
        let count = u64::try_from(keys.len().max(1)).unwrap_or(1);
        let next = usize::try_from(start % count).unwrap_or(0);
        let slot = |held| Slot { held, refusals: 0, rests_until: i64::MIN, used: 0 };
        let keys = keys.into_iter().map(slot).collect();
        KeyRing { place: place.into(), order, state: Mutex::new(State { keys, next, turns: 0 }) }
    }

    /// Makes every key usable again.
    pub fn reset(&self) {
        for slot in &mut self.lock().keys {
            (slot.refusals, slot.rests_until) = (0, i64::MIN);
        }
    }

    /// How many keys are usable at this moment.
    pub fn usable(&self, now: UnixMs) -> usize {
        self.lock().keys.iter().filter(|slot| slot.is_usable(now)).count()
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn pick(&self, now: UnixMs, refused: Option<&Held>) -> Result<Held, CredentialError> {
        let mut state = self.lock();
        let count = state.keys.len();
        let fits = |slot: &Slot| slot.is_usable(now) && refused.is_none_or(|held| !slot.held.is_same(held));
        let found = match self.order {
            RingOrder::RoundRobin => {
                (0..count).map(|step| (state.next + step) % count).find(|at| fits(&state.keys[*at]))
            }
            RingOrder::LeastRecent => {
                (0..count).filter(|at| fits(&state.keys[*at])).min_by_key(|at| state.keys[*at].used)
            }
            RingOrder::FirstHealthy => (0..count).find(|at| fits(&state.keys[*at])),
        };
        if let Some(at) = found {
            state.turns += 1;
            state.next = (at + 1) % count;
            let turns = state.turns;
            let slot = &mut state.keys[at];
            slot.used = turns;
            return Ok(slot.held.clone());
        }
        if let Some(refused) = refused {
            return Ok(refused.clone()); // no other key: the same again, and the caller stops
        }
        let waiting = state.keys.iter().filter(|slot| slot.refusals < REFUSALS).map(|slot| slot.rests_until);
        match waiting.min() {
            Some(until) => {
                Err(CredentialError::AllResting { place: self.place.clone(), until: UnixMs(until) })
            }
            None => Err(CredentialError::AllRefused { place: self.place.clone(), count }),
        }
    }
}

impl Slot {
    fn is_usable(&self, now: UnixMs) -> bool {
        self.refusals < REFUSALS && self.rests_until <= now.0
    }
}

#[async_trait::async_trait]
impl CredentialSource for KeyRing {
    async fn get(&self, env: &Env, refused: Option<&Held>) -> Result<Held, CredentialError> {
        self.pick(env.clock.now().wall, refused)
    }

    fn heard(&self, held: &Held, failure: Option<&Failure>, now: UnixMs) {
        let mut state = self.lock();
        let Some(slot) = state.keys.iter_mut().find(|slot| slot.held.is_same(held)) else { return };
        let Some(failure) = failure else {
            (slot.refusals, slot.rests_until) = (0, i64::MIN);
            return;
        };
        match (failure.kind, failure.scope) {
            (FailureKind::Unauthorized, Scope::Connection | Scope::Provider) => slot.refusals += 1,
            (FailureKind::Banned | FailureKind::CreditsExhausted, Scope::Connection)
                if failure.evidence == Evidence::Structured =>
            {
                slot.refusals = REFUSALS;
            }
            (FailureKind::RateLimited | FailureKind::QuotaExhausted, Scope::Connection) => {
                let until = failure.retry_at.map_or(now.0.saturating_add(REST), |at| at.0);
                slot.rests_until = slot.rests_until.max(until);
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ring(order: RingOrder) -> KeyRing {
        let keys = ["key-number-one", "key-number-two", "key-number-three"].map(Held::key);
        KeyRing::new("acc-1", keys.to_vec(), order, 0)
    }

    fn number(ring: &KeyRing, now: i64) -> usize {
        let held = ring.pick(UnixMs(now), None).unwrap();
        ring.lock().keys.iter().position(|slot| slot.held.is_same(&held)).unwrap()
    }

    fn refusal() -> Failure {
        Failure::new(FailureKind::Unauthorized, Scope::Connection, "x")
    }

    #[test]
    fn keys_take_turns_and_a_bad_one_is_left_out() {
        let ring = ring(RingOrder::RoundRobin);
        assert_eq!([0; 4].map(|_| number(&ring, 0)), [0, 1, 2, 0]);
        let second = Held::key("key-number-two");
        ring.heard(&second, Some(&refusal()), UnixMs(0));
        assert_eq!(ring.usable(UnixMs(0)), 3, "one refusal proves nothing");
        ring.heard(&second, None, UnixMs(0));
        ring.heard(&second, Some(&refusal()), UnixMs(0));
        assert_eq!(ring.usable(UnixMs(0)), 3, "a success starts the count again");
        ring.heard(&second, Some(&refusal()), UnixMs(0));
        assert_eq!(ring.usable(UnixMs(0)), 2);
        assert_eq!([0; 3].map(|_| number(&ring, 0)), [2, 0, 2]);
        ring.reset();
        assert_eq!(ring.usable(UnixMs(0)), 3);
    }

    #[test]
    fn a_rate_limit_rests_one_key_until_its_time() {
        let ring = ring(RingOrder::FirstHealthy);
        let mut slow = Failure::new(FailureKind::RateLimited, Scope::Connection, "x");
        slow.retry_at = Some(UnixMs(5_000));
        ring.heard(&Held::key("key-number-one"), Some(&slow), UnixMs(0));
        assert_eq!((number(&ring, 4_999), number(&ring, 5_000)), (1, 0));
        let mut model = refusal();
        model.scope = Scope::Model;
        ring.heard(&Held::key("key-number-one"), Some(&model), UnixMs(0));
        ring.heard(&Held::key("key-number-one"), Some(&model), UnixMs(0));
        assert_eq!(ring.usable(UnixMs(5_000)), 3, "a refusal about a model says nothing about the key");
    }

    #[test]
    fn the_end_of_all_keys_is_told() {
        let ring = ring(RingOrder::LeastRecent);
        for key in ["key-number-one", "key-number-two", "key-number-three"] {
            ring.heard(&Held::key(key), Some(&refusal()), UnixMs(0));
            ring.heard(&Held::key(key), Some(&refusal()), UnixMs(0));
        }
        let error = ring.pick(UnixMs(0), None).unwrap_err();
        assert_eq!(error.to_string(), "acc-1: all 3 keys were refused");
        assert!(!format!("{ring:?}").contains("number"), "no key in debug output");
    }
}
