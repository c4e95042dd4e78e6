//! What a router remembers between requests: sessions, and who answered what, for feedback. Bounded.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use omniroute_core::route::TaskClass;
use omniroute_core::{Principal, SessionId, Target, UnixMs};

use super::slot::Slot;
use crate::bounded::Bounded;
use crate::classify::{Points, Steady};

/// Sessions that are remembered.
const SESSIONS: usize = 10_000;
/// Requests whose feedback is awaited.
const ASKED: usize = 10_000;
/// Turns older than this do not count.
const HALF_AN_HOUR: i64 = 30 * 60_000;
/// Turns that are counted at most.
const TURNS: usize = 64;

#[derive(Debug)]
pub(super) struct Memory {
    sessions: Mutex<Bounded<(Principal, SessionId), Session>>,
    asked: Mutex<Bounded<Arc<str>, Asked>>,
}

#[derive(Debug, Default)]
struct Session {
    last: Option<Target>,
    turns: Vec<i64>,
    steady: Steady,
}

/// A request that was answered.
#[derive(Debug, Clone)]
pub(super) struct Asked {
    pub(super) slot: Arc<Slot>,
    pub(super) target: Target,
    pub(super) class: TaskClass,
    pub(super) consumer: Principal,
    /// How it was judged before.
    pub(super) judged: Option<(f32, f32)>,
}

impl Default for Memory {
    fn default() -> Self {
        Memory { sessions: Mutex::new(Bounded::new(SESSIONS)), asked: Mutex::new(Bounded::new(ASKED)) }
    }
}

impl Memory {
    /// The class of a turn. `real`: the turn is taken; else it is only asked about.
    pub(super) fn class(
        &self,
        consumer: &Principal,
        session: &SessionId,
        points: &Points,
        real: bool,
    ) -> TaskClass {
        let mut sessions = lock(&self.sessions);
        let key = (consumer.clone(), session.clone());
        if !real {
            return sessions
                .get(&key)
                .map_or_else(|| points.class(), |known| known.steady.clone().turn(points));
        }
        let mut known = sessions.remove(&key).unwrap_or_default();
        let class = known.steady.turn(points);
        sessions.insert(key, known);
        class
    }

    /// Who answered a session last, and how many turns it had in the last half hour.
    pub(super) fn session(
        &self,
        consumer: &Principal,
        session: &SessionId,
        now: UnixMs,
    ) -> (Option<Target>, u32) {
        let sessions = lock(&self.sessions);
        let Some(known) = sessions.get(&(consumer.clone(), session.clone())) else { return (None, 0) };
        let young = known.turns.iter().filter(|at| now.0.saturating_sub(**at) <= HALF_AN_HOUR).count();
        (known.last.clone(), u32::try_from(young).unwrap_or(u32::MAX))
    }

    /// A session was answered.
    pub(super) fn answered(&self, consumer: &Principal, session: &SessionId, target: &Target, now: UnixMs) {
        let mut sessions = lock(&self.sessions);
        let key = (consumer.clone(), session.clone());
        let mut known = sessions.remove(&key).unwrap_or_default();
        known.last = Some(target.clone());
        if known.turns.len() >= TURNS {
            known.turns.remove(0);
        }
        known.turns.push(now.0);
        sessions.insert(key, known);
    }

    /// A request was answered: somebody may judge it.
    pub(super) fn remember(&self, request: Arc<str>, asked: Asked) {
        lock(&self.asked).insert(request, asked);
    }

    /// A request, and from now on how it was judged.
    pub(super) fn judge(&self, request: &Arc<str>, reward: f32, weight: f32) -> Option<Asked> {
        let mut asked = lock(&self.asked);
        let known = asked.get_mut(request)?;
        let before = known.clone();
        known.judged = Some((reward, weight));
        Some(before)
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
