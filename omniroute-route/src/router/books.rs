//! One attempt from its permit to its end: what is written down, who learns from it. Dropped, it says nothing about the
//! target and frees what was held.

use std::sync::Arc;

use futures::future::{BoxFuture, FutureExt};
use omniroute_core::hub::Usage;
use omniroute_core::route::{Billing, TaskClass};
use omniroute_core::{Failure, LimitSeen, Mono, Permit, SessionId, Spend};

use super::Inner;
use super::memory::Asked;
use super::reply::RULE;
use super::slot::Slot;
use crate::receipt::{AttemptReceipt, Receipt, Role, Tokens};

/// The books of one attempt.
#[derive(Debug)]
pub(super) struct Books {
    pub(super) inner: Arc<Inner>,
    pub(super) slot: Arc<Slot>,
    pub(super) receipt: Receipt,
    pub(super) request: Arc<str>,
    pub(super) session: Option<SessionId>,
    pub(super) class: TaskClass,
    pub(super) explored: bool,
    pub(super) role: Role,
    /// When the request came.
    pub(super) began: Mono,
    /// Index of the candidate in the pool.
    pub(super) candidate: u32,
    pub(super) permit: Permit,
    pub(super) limits: Vec<LimitSeen>,
    pub(super) usage: Option<Usage>,
    pub(super) first: Option<Mono>,
    /// Its place among the attempts of the receipt.
    pub(super) at: usize,
}

impl Books {
    /// Writes down that the attempt has begun.
    pub(super) fn open(&mut self) {
        let key = self.slot.pool.key(self.candidate as usize).clone();
        let started_ms = ms(self.permit.grant().started.mono, self.began);
        let waited = u64::try_from(self.permit.grant().waited.as_millis()).unwrap_or(u64::MAX);
        let (role, explored) = (self.role, self.explored);
        self.at = self.receipt.with(|receipt| {
            receipt.waited_ms = receipt.waited_ms.saturating_add(waited);
            receipt.explored |= explored;
            receipt.attempts.push(AttemptReceipt {
                key,
                role,
                started_ms,
                first_ms: None,
                ended_ms: None,
                kind: None,
                scope: None,
                status: None,
                rule: String::new(),
                committed: false,
                explored,
                tokens: None,
                micro_usd: None,
            });
            receipt.attempts.len() - 1
        });
    }

    /// The first content is there: for the provider this is success, and the caller may see it.
    pub(super) async fn content(&mut self, commits: bool) {
        let now = self.inner.env.clock.now().mono;
        self.first = Some(now);
        let (at, first_ms) = (self.at, ms(now, self.began));
        self.receipt.with(|receipt| {
            receipt.committed |= commits;
            if let Some(attempt) = receipt.attempts.get_mut(at) {
                attempt.first_ms = Some(first_ms);
                attempt.committed = commits;
            }
        });
        self.permit.first_content().await;
    }

    /// The attempt is over. Everything is written at once; the future sees it through.
    pub(super) fn close(self, failure: Option<Failure>) -> BoxFuture<'static, ()> {
        let Books { inner, slot, receipt, request, session, class, explored, role, began, .. } = self;
        let (candidate, permit, usage) = (self.candidate, self.permit, self.usage);
        let now = inner.env.clock.now();
        let tokens = usage.as_ref().map(|usage| Tokens {
            input: usage.input(),
            cached: usage.cache_read.unwrap_or(0),
            output: usage.output,
        });
        let micro_usd = usage.as_ref().and_then(|usage| price(&slot, candidate, usage));
        let mut outcome = permit.outcome(now);
        outcome.request = Some(request.clone());
        outcome.class = Some(class.name().into());
        outcome.explored = explored;
        outcome.first_content = self.first.map(|first| first.since(permit.grant().started.mono));
        outcome.spend =
            usage.as_ref().map(|usage| Spend { tokens: usage.total(), micro_usd: micro_usd.unwrap_or(0) });
        outcome.limits = self.limits;
        outcome.failure = failure;
        let at = self.at;
        receipt.with(|receipt| {
            if let Some(tokens) = tokens {
                receipt.tokens.input += tokens.input;
                receipt.tokens.cached += tokens.cached;
                receipt.tokens.output += tokens.output;
            }
            receipt.micro_usd += micro_usd.unwrap_or(0);
            let Some(attempt) = receipt.attempts.get_mut(at) else { return };
            attempt.ended_ms = Some(ms(now.mono, began));
            (attempt.tokens, attempt.micro_usd) = (tokens, micro_usd);
            if let Some(failure) = &outcome.failure {
                attempt.kind = Some(failure.kind);
                attempt.scope = Some(failure.scope);
                attempt.status = failure.status;
                attempt.rule = failure.rule.to_string();
            } else if matches!(role, Role::Answer | Role::Judge) {
                receipt.finished = true;
            }
        });
        // A voice of a panel is no answer of the route.
        if role != Role::Member {
            slot.planner.observe_at(candidate, session.as_ref(), &outcome);
        }
        // A rule of one combo says nothing about the target in others.
        if outcome.failure.as_ref().is_none_or(|failure| failure.code.as_deref() != Some(RULE)) {
            inner.stats.observe(&outcome);
        }
        inner.quotas.observe(&outcome);
        let window = slot.pool.entries().get(candidate as usize).and_then(|entry| entry.model.context_window);
        inner.windows.observe(&outcome, window, tokens.map(|tokens| tokens.input));
        let target = outcome.target.clone();
        let consumer = outcome.consumer.clone();
        let answered = outcome.failure.is_none() && matches!(role, Role::Answer | Role::Judge);
        let report = permit.report(outcome);
        if !answered {
            return report;
        }
        let asked = Asked { slot, target: target.clone(), class, consumer: consumer.clone(), judged: None };
        inner.memory.remember(request, asked);
        let Some(session) = session else { return report };
        inner.memory.answered(&consumer, &session, &target, now.wall);
        async move {
            report.await;
            // A session stays where it was answered. If the store is away it goes on without.
            let pinned = inner.resilience.bind(&consumer, &target.provider, &session, &target.connection);
            if pinned.await.is_err() {
                receipt.note("session_not_pinned");
            }
        }
        .boxed()
    }
}

/// Milliseconds from the start of the request.
fn ms(at: Mono, began: Mono) -> u64 {
    u64::try_from(at.since(began).as_millis()).unwrap_or(u64::MAX)
}

/// Millionths of a US dollar by the catalogue's prices; none: one that is needed is not known.
fn price(slot: &Slot, candidate: u32, usage: &Usage) -> Option<u64> {
    let entry = slot.pool.entries().get(candidate as usize)?;
    if entry.billing != Billing::Metered {
        return Some(0);
    }
    let model = &entry.model;
    let part = |tokens: u64, price: Option<u64>| match (tokens, price) {
        (0, _) => Some(0),
        (tokens, price) => Some(u128::from(tokens) * u128::from(price?)),
    };
    // What was written to a cache costs at least what was read from nowhere.
    let written = usage.cache_write.unwrap_or(0);
    let pico = part(usage.uncached.saturating_add(written), model.input_price)?
        + part(usage.cache_read.unwrap_or(0), model.cache_read_price.or(model.input_price))?
        + part(usage.output, model.output_price)?;
    u64::try_from(pico / 1_000_000).ok()
}
