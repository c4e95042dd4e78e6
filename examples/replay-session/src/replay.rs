//! One session through one compressor, call by call, with the bill of both sides.

use std::collections::BTreeMap;
use std::sync::Arc;

use omniroute_compress::Compress;
use omniroute_compress::cost::{Block, Request, Simulation, Usd, simulate};
use omniroute_core::{ChatRequest, CompressReceipt, Estimator, Moment, Tokenizer, Transcript};

use crate::Failure;
use crate::market::Market;
use crate::session::Session;
use crate::transmission::Transmission;
use crate::untouched::Untouched;

/// Reads the time in microseconds from any fixed point.
pub(crate) type Clock<'a> = dyn Fn() -> u64 + 'a;

/// The outcome of a replay.
#[derive(Debug)]
pub(crate) struct Replay {
    pub(crate) plan: String,
    /// Model, cache and currency of the bills.
    pub(crate) terms: String,
    /// One a user turn.
    pub(crate) rows: Vec<Row>,
    /// Tokens of all requests together, without and with compression.
    pub(crate) tokens: (u64, u64),
    pub(crate) without: Simulation,
    pub(crate) with: Simulation,
    pub(crate) untouched: Untouched,
    pub(crate) timed: bool,
}

/// A user turn: the calls from a user's message to the next one.
#[derive(Debug, Default)]
pub(crate) struct Row {
    pub(crate) calls: u64,
    /// Tokens of the last call's request, without and with compression.
    pub(crate) tokens: (u64, u64),
    /// Engines that changed texts which are new in this turn, and how many each, in the order of the plan.
    pub(crate) engines: Vec<(String, u32)>,
    pub(crate) without: Usd,
    pub(crate) with: Usd,
    /// Microseconds in the compressor: all calls, and the longest.
    pub(crate) micros: (u64, u64),
}

impl Replay {
    /// Replays `session`. Without a clock no time is taken.
    ///
    /// # Errors
    /// [`Failure::Usage`] for a bad plan; [`Failure::Broken`] if a request does not extend the one before it, or
    /// the receipt's tokens are not those of the request.
    pub(crate) fn of(
        session: &Session,
        plan: &str,
        market: &Market,
        clock: Option<&Clock<'_>>,
    ) -> Result<Replay, Failure> {
        let tokenizer = Estimator::for_model(&market.model);
        let built =
            Compress::builder().plan(plan).tokenizer(Arc::new(tokenizer)).max_body_bytes(usize::MAX).build();
        let compressor = built.map_err(|e| Failure::Usage(format!("--plan {plan:?}: {e}")))?;
        let wire = session.request.wire();
        let mut plain = Transmission::new(&tokenizer);
        let mut packed = Transmission::new(&tokenizer);
        let (mut without, mut with) = (Vec::new(), Vec::new());
        let mut rows: Vec<Row> = std::iter::repeat_with(Row::default).take(session.turns).collect();
        let replies = message_tokens(session, &tokenizer)?;
        let (mut all, mut old) = ((0, 0), 0);

        for (number, call) in session.calls.iter().enumerate() {
            let body = session.body(call.sent);
            let original = ChatRequest::parse(wire, body.clone())
                .map_err(|e| Failure::Input(format!("{}, call {number}: {e}", session.name)))?;
            let start = clock.map_or(0, |now| now());
            let out = compressor.compress_body(Some(wire), body.clone(), Moment::default());
            let took = clock.map_or(0, |now| now()).saturating_sub(start);
            let out = out.map_err(|e| Failure::Broken(format!("call {number}: {e}")))?;

            let at_call = |failure| match failure {
                Failure::Broken(what) => Failure::Broken(format!("call {number} (from 0): {what}")),
                other => other,
            };
            let (before, after) =
                (plain.send(&original, &body)?, packed.send(&original, &out.body).map_err(at_call)?);
            let tokens = (total(before), total(after));
            if out.receipt.skipped.is_none()
                && tokens != (out.receipt.tokens_before, out.receipt.tokens_after)
            {
                let told = (out.receipt.tokens_before, out.receipt.tokens_after);
                return Err(at_call(Failure::Broken(format!(
                    "the receipt says {told:?} tokens, the bodies {tokens:?}"
                ))));
            }
            let reply = replies.get(call.sent..call.replied).unwrap_or_default().iter().sum();
            without.push(Request::new(before.iter().copied(), reply));
            with.push(Request::new(after.iter().copied(), reply));
            all = (all.0 + tokens.0, all.1 + tokens.1);

            if let Some(row) = rows.get_mut(call.turn) {
                row.calls += 1;
                row.tokens = tokens;
                add_engines(&mut row.engines, &out.receipt, old);
                row.micros = (row.micros.0 + took, row.micros.1.max(took));
            }
            old = call.sent;
        }
        let without = simulate(&without, &market.prices, &market.policy);
        let with = simulate(&with, &market.prices, &market.policy);
        for (call, (plain, packed)) in session.calls.iter().zip(without.rows.iter().zip(&with.rows)) {
            if let Some(row) = rows.get_mut(call.turn) {
                row.without = row.without + plain.cost;
                row.with = row.with + packed.cost;
            }
        }
        let bodies = plain.last_body().zip(packed.last_body());
        let untouched = bodies.map(|(plain, packed)| Untouched::between(wire, plain, packed)).transpose()?;
        Ok(Replay {
            plan: plan.to_owned(),
            terms: format!("{} with {}", market.model, market.cache),
            rows,
            tokens: all,
            without,
            with,
            untouched: untouched.unwrap_or_default(),
            timed: clock.is_some(),
        })
    }
}

/// Tokens of every message of the recording.
fn message_tokens(session: &Session, tokenizer: &dyn Tokenizer) -> Result<Vec<u64>, Failure> {
    let transcript =
        Transcript::of(&session.request).map_err(|e| Failure::Input(format!("{}: {e}", session.name)))?;
    let mut tokens = vec![0; session.messages()];
    for segment in transcript.segments() {
        let slot = usize::try_from(segment.id.message).ok().and_then(|index| tokens.get_mut(index));
        if let Some(sum) = slot {
            *sum += u64::from(tokenizer.count(segment.original()));
        }
    }
    Ok(tokens)
}

fn total(blocks: &[Block]) -> u64 {
    blocks.iter().map(|block| block.tokens).sum()
}

/// Adds the engines that changed a text of message `old` or a later one.
fn add_engines(engines: &mut Vec<(String, u32)>, receipt: &CompressReceipt, old: usize) {
    let mut counts: BTreeMap<&str, u32> = BTreeMap::new();
    let is_new =
        |message: u32| message != u32::MAX && usize::try_from(message).is_ok_and(|index| index >= old);
    for segment in receipt.edits.segments.iter().filter(|s| is_new(s.segment.message)) {
        segment.steps.iter().for_each(|step| *counts.entry(&step.engine).or_default() += 1);
    }
    let mut merged = Vec::new();
    for step in &receipt.steps {
        let before = engines.iter().find(|(name, _)| *name == step.engine).map_or(0, |(_, count)| *count);
        let count = before + counts.get(step.engine.as_str()).copied().unwrap_or(0);
        if count > 0 {
            merged.push((step.engine.clone(), count));
        }
    }
    *engines = merged;
}
