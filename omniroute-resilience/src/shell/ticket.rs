//! What stands behind one permit, and the work that its end leaves.

use std::sync::Arc;
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering::Relaxed};

use futures::future::{BoxFuture, FutureExt};
use omniroute_core::{
    Failure, FailureKind, Key, Moment, Outcome, PermitId, PermitSink, Principal, Purpose, QuotaWindow,
    SessionId, Unit,
};

use crate::layers::breaker::Verdict;
use crate::layers::connection::Seen;
use crate::layers::effect::Effect;
use crate::limits::rate::Limits;
use crate::shell::core::Core;
use crate::shell::learn::Lesson;
use crate::shell::report;
use crate::shell::table::Handle;

pub(crate) const CONTENT: u8 = 1;
pub(crate) const SETTLED: u8 = 2;

/// What an attempt took from the store and must give back.
#[derive(Debug, Clone, Default)]
pub(crate) struct Held {
    pub(crate) slots: Vec<Key>,
    pub(crate) rates: Vec<(Key, Limits)>,
    pub(crate) quota: Vec<(Key, Unit, QuotaWindow)>,
}

impl Held {
    pub(crate) fn nothing(&self) -> bool {
        self.slots.is_empty() && self.rates.is_empty() && self.quota.is_empty()
    }
}

/// One permit's memory.
#[derive(Debug)]
pub(crate) struct Ticket {
    pub(crate) core: Arc<Core>,
    pub(crate) id: PermitId,
    pub(crate) handle: Handle,
    pub(crate) conn: u32,
    /// The one it is counted at, whatever its connection belongs to when it ends.
    pub(crate) breaker: u32,
    pub(crate) model: u32,
    pub(crate) purpose: Purpose,
    pub(crate) consumer: Principal,
    pub(crate) session: Option<SessionId>,
    pub(crate) started: Moment,
    pub(crate) estimate: u64,
    pub(crate) credential: u64,
    pub(crate) probe: bool,
    pub(crate) verification: bool,
    pub(crate) lease: Option<crate::shell::admit::LeaseClaim>,
    pub(crate) fence: Option<u64>,
    pub(crate) held: Held,
    pub(crate) conn_epoch: AtomicU64,
    pub(crate) lock_epochs: [AtomicU64; 3],
    pub(crate) generation: AtomicU64,
    pub(crate) state: AtomicU8,
    pub(crate) renewed: AtomicU64,
}

/// What is to be written down about an attempt. Decided already; only the writing is left.
#[derive(Debug, Clone)]
pub(crate) struct Work {
    pub(crate) ticket: Arc<Ticket>,
    pub(crate) verdict: Verdict,
    pub(crate) effect: Option<Effect>,
    pub(crate) success: bool,
    pub(crate) uncorroborated: bool,
    /// Gives back slots and reservations.
    pub(crate) release: bool,
    /// What was really used; none: nothing is known.
    pub(crate) spend: Option<omniroute_core::Spend>,
    pub(crate) failed: bool,
    /// How long ago, on our clock, the report came; the store's time is reckoned from it.
    pub(crate) at: Moment,
    pub(crate) status: Option<u16>,
    pub(crate) clear: bool,
    /// Allowances worth writing down; `resets_at` and `at` are on our wall clock still.
    pub(crate) seen: Vec<Seen>,
    /// Limits worth writing down.
    pub(crate) lessons: Vec<Lesson>,
}

impl Work {
    /// Work that says nothing and gives back everything.
    pub(crate) fn release(ticket: Arc<Ticket>, at: Moment) -> Work {
        Work {
            ticket,
            verdict: Verdict::Neutral,
            effect: None,
            success: false,
            uncorroborated: false,
            release: true,
            spend: None,
            failed: true,
            at,
            status: None,
            clear: false,
            seen: Vec::new(),
            lessons: Vec::new(),
        }
    }
}

/// Work on its way: if the future that carries it is dropped, it goes to the outbox.
pub(crate) struct Carrier {
    core: Arc<Core>,
    work: Option<Work>,
}

impl Carrier {
    pub(crate) fn new(core: &Arc<Core>, work: Work) -> Carrier {
        Carrier { core: Arc::clone(core), work: Some(work) }
    }

    pub(crate) fn work(&self) -> Option<&Work> {
        self.work.as_ref()
    }

    pub(crate) fn arrived(mut self) {
        self.work = None;
    }
}

impl Drop for Carrier {
    fn drop(&mut self) {
        if let Some(work) = self.work.take() {
            self.core.later(work);
        }
    }
}

impl Ticket {
    /// Sets a bit. True if it was not set before.
    pub(crate) fn first(&self, bit: u8) -> bool {
        self.state.fetch_or(bit, Relaxed) & bit == 0
    }

    pub(crate) fn is(&self, bit: u8) -> bool {
        self.state.load(Relaxed) & bit != 0
    }
}

impl PermitSink for Ticket {
    fn first_content(self: Arc<Self>) -> BoxFuture<'static, ()> {
        let now = self.core.now();
        match report::content(&self, now) {
            Some(work) => carry(&self.core, work),
            None => std::future::ready(()).boxed(),
        }
    }

    fn upkeep(self: Arc<Self>) -> Option<BoxFuture<'static, ()>> {
        let now = self.core.now();
        if !self.core.store_here(now.mono) {
            return None;
        }
        let every = self.core.config.slots.renew.as_ms() * 1_000_000;
        let renew = !self.held.slots.is_empty()
            && now.mono.0.saturating_sub(self.renewed.load(Relaxed)) >= every
            && !self.is(SETTLED);
        if renew {
            self.renewed.store(now.mono.0, Relaxed);
        } else if self.core.outbox_length() == 0 {
            return None;
        }
        Some(
            async move {
                if renew {
                    crate::shell::show::renew(&self).await;
                }
                self.core.flush(64).await;
            }
            .boxed(),
        )
    }

    fn check(self: Arc<Self>) -> BoxFuture<'static, Result<(), Failure>> {
        if self.is(SETTLED) {
            let failure =
                Failure::local(FailureKind::Forbidden, "permit_settled", "the permit has been reported");
            return std::future::ready(Err(failure)).boxed();
        }
        match &self.lease {
            None => std::future::ready(Ok(())).boxed(),
            Some(_) => async move { crate::shell::decide::recheck_lease(&self).await }.boxed(),
        }
    }

    fn report(self: Arc<Self>, outcome: Outcome) -> BoxFuture<'static, ()> {
        let now = self.core.now();
        match report::settle(&self, outcome, now) {
            Some(work) => carry(&self.core, work),
            None => std::future::ready(()).boxed(),
        }
    }

    fn abandon(self: Arc<Self>) {
        if self.first(SETTLED) {
            report::abandoned(self);
        }
    }
}

/// The future that writes work down. The work is safe from the moment this returns.
fn carry(core: &Arc<Core>, work: Work) -> BoxFuture<'static, ()> {
    let carrier = Carrier::new(core, work);
    let core = Arc::clone(core);
    async move {
        report::see(&core, carrier).await;
        core.flush(64).await;
    }
    .boxed()
}
