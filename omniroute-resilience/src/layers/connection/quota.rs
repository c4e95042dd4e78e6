//! Allowances as the provider shows them, and what they mean for a connection.

use omniroute_core::QuotaWindow;

use crate::config::QuotaConfig;
use crate::layers::bump;
use crate::layers::connection::Connection;

/// One allowance, as last seen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Seen {
    /// Over which span.
    pub window: QuotaWindow,
    /// Used share in millionths.
    pub used_ppm: u32,
    /// When it starts anew, if known.
    pub resets_at: Option<i64>,
    /// When it was seen.
    pub at: i64,
    /// From a usage request; else from an answer's headers.
    pub polled: bool,
}

impl Connection {
    /// Notes an allowance; the newest sight of a span wins. True if it says something new.
    pub fn note(&mut self, seen: Seen) -> bool {
        match self.seen.iter_mut().find(|known| known.window == seen.window) {
            Some(known) if known.at > seen.at => false,
            Some(known) => {
                *known = seen;
                true
            }
            None => {
                self.seen.push(seen);
                self.seen.sort_by_key(|known| known.window);
                true
            }
        }
    }

    /// Until when an allowance is used up, if one is. Old sights count as unknown.
    pub fn exhausted_until(&self, now: i64, quota: &QuotaConfig) -> Option<i64> {
        self.seen
            .iter()
            .filter(|seen| seen.used_ppm >= quota.cutoff_ppm)
            .filter_map(|seen| match seen.resets_at {
                Some(at) if at > now && seen.used_ppm >= 1_000_000 => Some(at),
                Some(at) if at > now => Some(at.min(seen.at.saturating_add(stale_after(seen, quota)))),
                Some(_) => None,
                None => {
                    let window = i64::try_from(seen.window.length().as_millis()).unwrap_or(i64::MAX);
                    Some(seen.at.saturating_add(window.min(quota.unknown_reset.signed())))
                }
            })
            .filter(|until| *until > now)
            .max()
    }

    /// A fresh sight with room in every known span ends a rest for a used-up allowance. True if it did.
    pub fn headroom_clears(&mut self, epoch_at_start: u64, now: i64, quota: &QuotaConfig) -> bool {
        let fresh = |seen: &Seen| {
            now.saturating_sub(seen.at) <= 30_000
                && seen.resets_at.is_some()
                && seen.used_ppm < quota.cutoff_ppm
        };
        let clears = self.until > now
            && self.declared
            && self.epoch == epoch_at_start
            && !self.seen.is_empty()
            && self.seen.iter().all(fresh);
        if clears {
            self.until = 0;
            self.declared = false;
            self.verify_at = 0;
            self.epoch = bump(self.epoch, now);
        }
        clears
    }
}

fn stale_after(seen: &Seen, quota: &QuotaConfig) -> i64 {
    if seen.polled { quota.polled_stale.signed() } else { quota.header_stale.signed() }
}
