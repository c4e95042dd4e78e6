//! Adds up the results of all texts. Every figure of a receipt comes from here.

use omniroute_core::{CompressReceipt, Dropped, EditLog, StepReceipt};

use super::fit::BUDGET;
use super::form::Form;
use crate::plan::Steps;

/// Totals before, after, per kind and per step.
pub(super) fn totals(receipt: &mut CompressReceipt, steps: &Steps, form: &Form<'_>) {
    for engine in &steps.engines {
        let mut step = StepReceipt::default();
        step.engine = engine.info().id.to_owned();
        step.version = engine.info().version;
        receipt.steps.push(step);
    }
    if form.results.iter().any(|result| result.steps.len() > steps.engines.len()) {
        let mut step = StepReceipt::default();
        step.engine = BUDGET.to_owned();
        step.version = 1;
        receipt.steps.push(step);
    }
    for (segment, result) in form.transcript.segments().iter().zip(&form.results) {
        receipt.tokens_before += u64::from(result.tokens_before);
        receipt.tokens_after += u64::from(result.tokens_after);
        let kind = receipt.by_kind.entry(segment.kind).or_default();
        kind.segments += 1;
        kind.tokens_before += u64::from(result.tokens_before);
        kind.tokens_after += u64::from(result.tokens_after);
        for (outcome, step) in result.steps.iter().zip(&mut receipt.steps) {
            if !outcome.seen {
                continue;
            }
            step.segments_seen += 1;
            step.tokens_in += u64::from(outcome.tokens_in);
            step.tokens_out += u64::from(outcome.tokens_out);
            step.segments_changed += u32::from(outcome.changed);
            for (name, count) in &outcome.techniques {
                *step.techniques.entry(name).or_default() += count;
            }
            if let Some(reason) = outcome.reason {
                *step.skips.entry(reason).or_default() += 1;
            }
            receipt.dropped.add(&outcome.dropped);
        }
        receipt.notes.extend(result.notes.iter().cloned());
    }
    // Steps run one after the other on each text, so over the request they compose by subtraction.
    let mut request = receipt.tokens_before;
    for step in &mut receipt.steps {
        step.request_tokens_in = request;
        request = request.saturating_sub(step.tokens_in - step.tokens_out);
        step.request_tokens_out = request;
    }
}

/// The figures of a request whose edits were all taken back.
pub(super) fn revert(receipt: &mut CompressReceipt, reason: &'static str) {
    receipt.reverted = Some(reason);
    receipt.applied = false;
    receipt.tokens_after = receipt.tokens_before;
    receipt.dropped = Dropped::default();
    receipt.edits = EditLog::default();
    for kind in receipt.by_kind.values_mut() {
        kind.tokens_after = kind.tokens_before;
    }
    for step in &mut receipt.steps {
        step.segments_changed = 0;
        step.tokens_out = step.tokens_in;
        step.request_tokens_in = receipt.tokens_before;
        step.request_tokens_out = receipt.tokens_before;
        step.techniques.clear();
    }
}
