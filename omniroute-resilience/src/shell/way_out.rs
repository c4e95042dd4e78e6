//! Everything is blocked: what may be tried all the same.

use std::sync::atomic::Ordering::Relaxed;

use omniroute_core::{Moment, Permit, Purpose};

use crate::Resilience;
use crate::shell::admit::{AdmitContext, AllUnhealthy};
use crate::shell::denial::{Blocked, Refusal};
use crate::shell::events::{About, EventKind};
use crate::shell::grant::*;
use crate::shell::table::{DECLARED, FORCED_OPEN, HALF_OPEN, Handle, Spot};

impl Resilience {
    /// Everything is blocked: a long declared block may be verified, a guess of ours may be overruled once.
    pub(crate) async fn way_out(
        &self,
        picks: &[Handle],
        refusals: &[Refusal],
        cx: &AdmitContext,
        now: Moment,
    ) -> Option<Permit> {
        let core = &self.core;
        if cx.purpose != Purpose::Production || cx.lease.is_some() || !core.store_here(now.mono) {
            return None;
        }
        for refusal in refusals {
            let due = {
                let table = core.table();
                let Some(pick) = picks.get(refusal.position) else { continue };
                let Some((row, conn, _)) = table.rows(*pick) else { continue };
                let due = |at: u64| at > 0 && at <= now.mono.0;
                match refusal.reason {
                    Blocked::RateLimited | Blocked::QuotaExhausted => {
                        conn.word.has(DECLARED) && due(table.verify_at(Spot::Conn(row.conn)))
                    }
                    Blocked::ModelLocked | Blocked::ModelQuota => due(table.verify_at(Spot::Own(pick.index))),
                    _ => false,
                }
            };
            if due
                && let Ok(ticket) = self.reserve(picks[refusal.position], cx, now, Extra::Verification).await
            {
                let permit =
                    granted(core, &core.table(), ticket, refusal.position, cx, now, Extra::Verification);
                core.events.push(now.wall.0, About::default(), EventKind::Verify);
                return Some(permit);
            }
        }
        if let Some(best) = self.last_resort(picks, refusals, now)
            && let Ok(ticket) = self.reserve(picks[best], cx, now, Extra::LastResort).await
        {
            core.events.push(now.wall.0, About::default(), EventKind::LastResort);
            return Some(granted(core, &core.table(), ticket, best, cx, now, Extra::LastResort));
        }
        if cx.all_unhealthy != AllUnhealthy::TryAnyway {
            return None;
        }
        let unhealthy = |refusal: &&Refusal| {
            matches!(refusal.reason, Blocked::Breaker | Blocked::ProviderRamp) && refusal.not_before.is_some()
        };
        let best = refusals.iter().filter(unhealthy).min_by_key(|refusal| refusal.not_before)?.position;
        let ticket = self.reserve(picks[best], cx, now, Extra::Anyway).await.ok()?;
        core.events.push(now.wall.0, About::default(), EventKind::LastResort);
        Some(granted(core, &core.table(), ticket, best, cx, now, Extra::Anyway))
    }

    /// The target that our own guesses block for the shortest time, if the settings let it be tried.
    fn last_resort(&self, picks: &[Handle], refusals: &[Refusal], now: Moment) -> Option<usize> {
        let config = &self.core.config.last_resort;
        let connections = {
            let table = self.core.table();
            let mut seen: Vec<u32> =
                picks.iter().filter_map(|pick| table.rows(*pick)).map(|(row, ..)| row.conn).collect();
            seen.sort_unstable();
            seen.dedup();
            seen.len()
        };
        if !config.enabled || connections < config.from as usize {
            return None;
        }
        let within = config.within.as_ms().saturating_mul(1_000_000);
        let best = refusals
            .iter()
            .filter(|refusal| refusal.reason.guess() && !self.declared(picks, refusal))
            .filter_map(|refusal| Some((refusal.not_before?, refusal)))
            .filter(|(at, refusal)| {
                let soon = at.0.saturating_sub(now.mono.0) <= within;
                soon || matches!(refusal.reason, Blocked::Breaker | Blocked::Transport)
            })
            .filter(|(at, _)| at.0 != u64::MAX)
            .min_by_key(|(at, refusal)| (*at, refusal.position))?
            .1;
        Some(best.position)
    }

    fn declared(&self, picks: &[Handle], refusal: &Refusal) -> bool {
        let table = self.core.table();
        let Some((row, conn, breaker)) = picks.get(refusal.position).and_then(|pick| table.rows(*pick))
        else {
            return true;
        };
        match refusal.reason {
            Blocked::ModelLocked => row.own.word.has(DECLARED),
            Blocked::Breaker => matches!(breaker.state.load(Relaxed), FORCED_OPEN | HALF_OPEN),
            _ => conn.word.has(DECLARED),
        }
    }
}
