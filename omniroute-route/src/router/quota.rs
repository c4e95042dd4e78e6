//! What answers said about allowances, kept for the columns of the next plans.

use std::sync::{Mutex, PoisonError};

use omniroute_core::route::{Columns, Pool, Window};
use omniroute_core::{ConnectionId, LimitSeen, Moment, Outcome, ProviderId, QuotaWindow, UnixMs};

use crate::bounded::Bounded;

/// Connections that are remembered.
const MOST: usize = 10_000;

/// Allowances by connection.
#[derive(Debug)]
pub(super) struct Quotas(Mutex<Bounded<(ProviderId, ConnectionId), Row>>);

/// By window.
type Row = [Option<Used>; 3];

#[derive(Debug, Clone, Copy)]
struct Used {
    ppm: u32,
    resets_at: Option<UnixMs>,
    at: UnixMs,
}

impl Default for Quotas {
    fn default() -> Self {
        Quotas(Mutex::new(Bounded::new(MOST)))
    }
}

impl Quotas {
    /// Takes notice of what an answer said.
    pub(super) fn observe(&self, outcome: &Outcome) {
        let known: Vec<(Window, &LimitSeen, u32)> = outcome
            .limits
            .iter()
            .filter(|seen| seen.scope.is_none())
            .filter_map(|seen| Some((window(seen.window)?, seen, seen.used()?)))
            .collect();
        if known.is_empty() {
            return;
        }
        let key = (outcome.target.provider.clone(), outcome.target.connection.clone());
        let mut map = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let mut row = map.get(&key).copied().unwrap_or_default();
        for (window, seen, ppm) in known {
            let slot = &mut row[window as usize];
            // Of several limits over one span the tightest counts.
            let same = slot.filter(|old| old.at == outcome.at).map_or(0, |old| old.ppm);
            if ppm >= same {
                *slot = Some(Used { ppm, resets_at: seen.resets_at, at: outcome.at });
            }
        }
        map.insert(key, row);
    }

    /// When the five-hour window of a connection starts anew, as far as answers told.
    pub(super) fn session_resets(&self, account: &(ProviderId, ConnectionId)) -> Option<UnixMs> {
        let map = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        map.get(account)?[Window::Session as usize]?.resets_at
    }

    /// Writes what is known into the columns. A window that has started anew is empty.
    pub(super) fn fill(&self, pool: &Pool, now: Moment, columns: &mut Columns) {
        let map = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        for (index, entry) in pool.entries().iter().enumerate() {
            let key = (entry.target.provider.clone(), entry.target.connection.clone());
            let Some(row) = map.get(&key) else { continue };
            let mut most: f32 = 0.0;
            for window in Window::ALL {
                let Some(used) = row[window as usize] else { continue };
                let over = match used.resets_at {
                    Some(at) => at <= now.wall,
                    None => now.wall.0.saturating_sub(used.at.0) >= window.millis(),
                };
                #[expect(clippy::cast_precision_loss, reason = "a share")]
                let share = if over { 0.0 } else { (used.ppm as f32 / 1e6).clamp(0.0, 1.0) };
                columns.used[window as usize][index] = share;
                if let (Some(at), false) = (used.resets_at, over) {
                    columns.resets_at[window as usize][index] = at;
                }
                most = most.max(share);
            }
            columns.quota_left[index] = 1.0 - most;
        }
    }
}

/// Allowances by the minute and the hour belong to resilience, which spaces calls by them.
fn window(window: QuotaWindow) -> Option<Window> {
    match window {
        QuotaWindow::FiveHours => Some(Window::Session),
        QuotaWindow::Week => Some(Window::Weekly),
        QuotaWindow::Month => Some(Window::Monthly),
        _ => None,
    }
}
