//! What a router remembers between requests: sessions, and who answered what, for feedback. Bounded.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use omniroute_core::route::TaskClass;
use omniroute_core::{Principal, SessionId, Target, UnixMs};

use super::handover::{Account, Note};
use super::relay::account;
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
/// Summaries that are kept of a session: of the account that has it and of the one before.
const NOTES: usize = 2;
/// A summary that failed is not tried again before.
const ONE_MINUTE: i64 = 60_000;

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
    /// How its first request began.
    start: Option<u64>,
    /// What may be told of it, the newest last.
    notes: Vec<Note>,
    /// When a summary was begun last.
    summary: Option<i64>,
}

impl Session {
    fn note(&mut self, to: &Account, now: UnixMs) -> Option<&mut Note> {
        let good =
            |note: &&mut Note| note.from != *to && (note.told.as_ref() == Some(to) || now.0 < note.until.0);
        self.notes.iter_mut().rev().find(good)
    }
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

    /// Who answered a session last, how many turns it had in the last half hour, and whether there is something to tell
    /// the next account.
    pub(super) fn session(
        &self,
        consumer: &Principal,
        session: &SessionId,
        now: UnixMs,
    ) -> (Option<Target>, u32, bool) {
        let sessions = lock(&self.sessions);
        let Some(known) = sessions.get(&(consumer.clone(), session.clone())) else {
            return (None, 0, false);
        };
        let young = known.turns.iter().filter(|at| now.0.saturating_sub(**at) <= HALF_AN_HOUR).count();
        let last = known.last.as_ref().map(account);
        let ready = known.notes.iter().any(|note| Some(&note.from) == last.as_ref() && now.0 < note.until.0);
        (known.last.clone(), u32::try_from(young).unwrap_or(u32::MAX), ready)
    }

    /// A session was answered.
    pub(super) fn answered(&self, consumer: &Principal, session: &SessionId, target: &Target, now: UnixMs) {
        let mut sessions = lock(&self.sessions);
        let key = (consumer.clone(), session.clone());
        let mut known = sessions.remove(&key).unwrap_or_default();
        known.last = Some(target.clone());
        let account = account(target);
        // Whoever has lost the session meanwhile is told anew, and only what is not too old.
        for note in &mut known.notes {
            note.told = note.told.take().filter(|told| *told == account);
        }
        if let Some(note) = known.note(&account, now) {
            note.told = Some(account);
        }
        if known.turns.len() >= TURNS {
            known.turns.remove(0);
        }
        known.turns.push(now.0);
        sessions.insert(key, known);
    }

    /// Whether a request of a session begins as its first one did.
    pub(super) fn begins_as_before(&self, consumer: &Principal, session: &SessionId, start: u64) -> bool {
        self.session_mut(consumer, session, |known| *known.start.get_or_insert(start) == start)
    }

    /// Whether a summary of a session may be begun: one at a time, and none right after one that failed.
    pub(super) fn begins_summary(&self, consumer: &Principal, session: &SessionId, now: UnixMs) -> bool {
        self.session_mut(consumer, session, |known| {
            let rests = known.summary.is_some_and(|at| now.0.saturating_sub(at) < ONE_MINUTE);
            if !rests {
                known.summary = Some(now.0);
            }
            !rests
        })
    }

    /// A summary is there. It replaces an older one of the same account.
    pub(super) fn keep_note(&self, consumer: &Principal, session: &SessionId, note: Note) {
        self.session_mut(consumer, session, |known| {
            known.summary = None;
            known.notes.retain(|old| old.from != note.from);
            known.notes.push(note);
            let over = known.notes.len().saturating_sub(NOTES);
            known.notes.drain(..over);
        });
    }

    /// What an account has to be told of a session: the newest that another one left. Once told it is told in the same
    /// way, however old, as long as the account has the session.
    pub(super) fn note_for(
        &self,
        consumer: &Principal,
        session: &SessionId,
        to: &Account,
        now: UnixMs,
    ) -> Option<Arc<str>> {
        self.session_mut(consumer, session, |known| known.note(to, now).map(|note| note.text.clone()))
    }

    fn session_mut<T>(
        &self,
        consumer: &Principal,
        session: &SessionId,
        change: impl FnOnce(&mut Session) -> T,
    ) -> T {
        let mut sessions = lock(&self.sessions);
        let key = (consumer.clone(), session.clone());
        if let Some(known) = sessions.get_mut(&key) {
            return change(known);
        }
        let mut known = Session::default();
        let done = change(&mut known);
        sessions.insert(key, known);
        done
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
