//! Limits that answers tell: what is scarce is spread, what a configured limit should know is written now and then.

use std::collections::HashMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use omniroute_core::{LimitSeen, LockScope, Moment, Mono, Purpose, UnixMs};

use crate::limits::learned::Sight;
use crate::shell::core::{Core, lock};
use crate::shell::events::EventKind;
use crate::shell::show::about_row;
use crate::shell::table::{LEARNED, Table, TargetRow, due};
use crate::shell::ticket::Ticket;

/// What an answer told about the limits of a connection, or of one scope of its models.
#[derive(Debug, Clone)]
pub(crate) struct Lesson {
    pub(crate) scope: Option<LockScope>,
    pub(crate) sights: Vec<Sight>,
}

/// What this process has learned and when it wrote it down.
#[derive(Debug, Default)]
pub(crate) struct Learning {
    known: Mutex<HashMap<(u32, Option<LockScope>), Known>>,
    /// Until when anything is scarce anywhere, to look without a lock.
    scarce: AtomicU64,
    /// When it was last looked through for what may be forgotten.
    swept: AtomicU64,
}

#[derive(Debug, Clone, Copy)]
struct Known {
    written: Mono,
    /// What is left has to last until then; 0: there is enough.
    scarce_until: u64,
}

impl Learning {
    /// Whether attempts at a connection, or at a scope of its models, have to be spread now.
    pub(crate) fn scarce(&self, conn: u32, scope: Option<LockScope>, now: Mono) -> bool {
        self.scarce.load(Relaxed) > now.0
            && lock(&self.known).get(&(conn, scope)).is_some_and(|known| known.scarce_until > now.0)
    }
}

/// What is worth writing down of the limits an answer told.
pub(crate) fn lessons(ticket: &Ticket, table: &Table, limits: &[LimitSeen], now: Moment) -> Vec<Lesson> {
    let core = &ticket.core;
    let config = &core.config.quota;
    if limits.is_empty() || !config.learn || ticket.purpose != Purpose::Production {
        return Vec::new();
    }
    let Some((row, conn, _)) = table.rows(ticket.handle) else { return Vec::new() };
    let mut lessons: Vec<Lesson> = Vec::new();
    for seen in limits {
        let Some(sight) = Sight::read(seen, now.wall.0) else { continue };
        let Some(scope) = scope_of(table, row, conn.profile.per_model, seen) else { continue };
        match lessons.iter_mut().find(|lesson| lesson.scope == scope) {
            Some(lesson) => lesson.sights.push(sight),
            None => lessons.push(Lesson { scope, sights: vec![sight] }),
        }
    }
    let (whole, own) = table.rates(row, conn);
    lessons.retain(|lesson| {
        let counted = if lesson.scope.is_none() { whole.counts() } else { own.counts() };
        worth(core, table, ticket, lesson, counted, now)
    });
    if !lessons.is_empty() {
        conn.word.mark(LEARNED, true);
    }
    lessons
}

/// The scope a header speaks of, if it is about this target at all.
fn scope_of(table: &Table, row: &TargetRow, per_model: bool, seen: &LimitSeen) -> Option<Option<LockScope>> {
    let own = || table.own_scope(row);
    let Some(name) = &seen.scope else { return Some(per_model.then(own)) };
    let model = table.models.get(row.model as usize)?;
    match own() {
        LockScope::Quota(quota) if quota == *name || model.as_str() == &**name => {
            Some(Some(LockScope::Quota(quota)))
        }
        LockScope::Model(model) if model.as_str() == &**name => Some(Some(LockScope::Model(model))),
        _ => None,
    }
}

fn worth(core: &Core, table: &Table, ticket: &Ticket, lesson: &Lesson, counted: bool, now: Moment) -> bool {
    let config = &core.config.quota;
    let every = config.learn_every.as_ms().saturating_mul(1_000_000);
    let scarce = lesson.sights.iter().filter(|sight| sight.scarce()).max_by_key(|sight| sight.lasts);
    let plenty = lesson.sights.iter().all(Sight::plenty);
    let mut known = lock(&core.learning.known);
    let key = (ticket.conn, lesson.scope.clone());
    let before = known.get(&key).copied();
    let was = before.is_some_and(|known| known.scarce_until > now.mono.0);
    let ago = before.map_or(u64::MAX, |known| now.mono.0.saturating_sub(known.written.0));
    let write = match scarce {
        Some(_) => !was || ago >= 1_000_000_000,
        None if was => plenty,
        None => counted && ago >= every,
    };
    if !write {
        return false;
    }
    let most = config.learned_max as usize;
    if before.is_none() && known.len() >= most {
        // Looking through all of it is work: not more often than once a second.
        if !due(&core.learning.swept, now.mono) {
            return false;
        }
        known.retain(|_, known| {
            known.scarce_until > now.mono.0 || now.mono.0.saturating_sub(known.written.0) < every
        });
        if known.len() >= most {
            return false;
        }
    }
    let scarce_until = scarce.map_or(0, |sight| {
        now.mono.0.saturating_add(u64::try_from(sight.lasts).unwrap_or(0).saturating_mul(1_000_000))
    });
    core.learning.scarce.fetch_max(scarce_until, Relaxed);
    known.insert(key, Known { written: now.mono, scarce_until });
    drop(known);
    if let Some(sight) = scarce
        && !was
    {
        let kind = EventKind::LimitScarce {
            limit: sight.limit,
            left: sight.left,
            until: UnixMs(now.wall.0.saturating_add(sight.lasts)),
        };
        core.events.push(now.wall.0, about_row(table, ticket), kind);
    }
    true
}
