//! One route of a router: its candidates, its planner, and how its targets stand right now.

use std::sync::Arc;

use omniroute_core::route::{Columns, DropReason, Health, Pool};
use omniroute_core::{Moment, Target};
use omniroute_resilience::{Blocked, Handle, Resilience};

use super::quota::Quotas;
use crate::combo::{Execution, Handover};
use crate::planner::{Planner, Work};
use crate::stats::{Stats, fill_prices};

/// A route, ready.
#[derive(Debug)]
pub(crate) struct Slot {
    /// For receipts and errors, for instance `combo "daily"`.
    pub(super) name: Arc<str>,
    pub(crate) pool: Pool,
    pub(crate) planner: Planner,
    pub(super) handles: Vec<Option<Handle>>,
    pub(super) caps: Vec<Option<u32>>,
    pub(super) execution: Execution,
    /// How sessions are handed over; none: they are not.
    pub(super) handover: Option<Handover>,
    /// Candidates that the filter of an `auto` name left out.
    pub(super) left_out: usize,
}

/// Memory for one plan, kept between requests.
#[derive(Debug, Default)]
pub(super) struct Desk {
    pub(super) work: Work,
    pub(super) columns: Columns,
}

impl Slot {
    pub(super) fn targets(pool: &Pool) -> Vec<Target> {
        pool.entries().iter().map(|entry| entry.target.clone()).collect()
    }

    /// Writes down how all candidates stand.
    pub(super) fn fill(
        &self,
        desk: &mut Desk,
        resilience: &Resilience,
        stats: &Stats,
        quotas: &Quotas,
        now: Moment,
    ) {
        let columns = &mut desk.columns;
        columns.reset(self.pool.len());
        stats.fill(&self.pool, now.wall, columns);
        fill_prices(&self.pool, columns);
        quotas.fill(&self.pool, now, columns);
        for (index, handle) in self.handles.iter().enumerate() {
            let Some(handle) = handle else {
                columns.blocked[index] = Some(DropReason::NoCredential);
                columns.blocked_until[index] = omniroute_core::Mono(u64::MAX);
                continue;
            };
            let standing = resilience.look(*handle);
            columns.in_flight[index] = standing.in_flight;
            if let Some(cap) = self.caps[index] {
                columns.cap[index] = cap;
            }
            columns.health[index] = match standing.blocked {
                Some(Blocked::Breaker) => Health::Open,
                Some(Blocked::ProviderRamp) => Health::HalfOpen,
                _ if standing.degraded => Health::Degraded,
                _ => Health::Closed,
            };
            // A full connection stands behind the others; it is not dropped for that.
            if let Some(blocked) = standing.blocked.filter(|blocked| *blocked != Blocked::Slots) {
                columns.blocked[index] = Some(reason(blocked));
                columns.blocked_until[index] = standing.not_before.unwrap_or(omniroute_core::Mono(u64::MAX));
            }
        }
    }

    /// Forgets what time or a last attempt may change: for a plan when everybody rests.
    pub(super) fn forgive(columns: &mut Columns) -> bool {
        let mut any = false;
        for index in 0..columns.len() {
            let passing = matches!(
                columns.blocked[index],
                Some(
                    DropReason::Cooling
                        | DropReason::ModelLocked
                        | DropReason::BreakerOpen
                        | DropReason::NoProbeSlot
                        | DropReason::AtCapacity
                )
            );
            if passing {
                columns.blocked[index] = None;
                columns.health[index] = Health::Degraded;
                any = true;
            }
        }
        any
    }
}

/// Why resilience would not let somebody through, in the words of receipts.
pub(super) fn reason(blocked: Blocked) -> DropReason {
    use Blocked as B;
    match blocked {
        B::NotConfigured => DropReason::NoCredential,
        B::Terminal(_) => DropReason::CredentialTerminal,
        B::Disabled => DropReason::Disabled,
        B::RateLimited
        | B::Overloaded
        | B::AuthRetry
        | B::Forbidden
        | B::Transport
        | B::ServerError
        | B::Manual => DropReason::Cooling,
        B::ModelNotFound | B::ModelLocked => DropReason::ModelLocked,
        B::QuotaExhausted | B::ModelQuota | B::QuotaShare => DropReason::QuotaExhausted,
        // Whose lease it is shows at admission.
        B::RateLimit | B::Slots | B::LeaseHeld => DropReason::AtCapacity,
        B::Breaker => DropReason::BreakerOpen,
        B::ProviderRamp => DropReason::NoProbeSlot,
        B::Attempts | B::RetryBudget => DropReason::RequestExhausted,
        _ => DropReason::Excluded,
    }
}
