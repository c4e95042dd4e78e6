//! A request that would not fit: old results are cut until it does, or until only what must stay is left.

use std::collections::{BTreeMap, HashSet};

use omniroute_core::{CompressReceipt, Diagnostic, DocError, Dropped, EngineContext, History, Segment};

use super::Pipeline;
use super::epoch::{Epoch, Pin};
use super::form::Form;
use super::rewrite::{Here, chained};
use crate::budget::cut;
use crate::ccr::{Handle, is_tool, keep};
use crate::engines::{is_whole, newest_reads};
use crate::rewrite::answers;

/// The name under which cuts stand in receipts.
pub(super) const BUDGET: &str = "budget";
/// Answers with their results at the end of a history that are never cut.
const LIVE_ANSWERS: usize = 2;
/// Shorter texts are not cut.
const MIN_TOKENS: u32 = 60;

/// How large a request may be, in tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Limit {
    /// More than this does not fit.
    pub(crate) most: u64,
    /// What does not fit is cut to this.
    pub(crate) target: u64,
}

impl Pipeline<'_> {
    /// The request cut to the limit, as far as that is possible; `form` if it fits as it is. `delayed` are forms of
    /// texts of the user, `note` the tokens of what is added.
    ///
    /// # Errors
    /// [`DocError`] as for the request itself.
    pub(super) fn fitted<'d>(
        &self,
        here: &Here<'_, 'd>,
        mut form: Form<'d>,
        delayed: &BTreeMap<usize, Pin>,
        note: u64,
        receipt: &mut CompressReceipt,
    ) -> Result<Form<'d>, DocError> {
        let Some(limit) = self.limit else { return Ok(form) };
        // What is cut may have been the source of a reference: the next round sees the texts without it.
        for _ in 0..3 {
            let cuts = match form.tokens() + note > limit.most && !here.cx.lossless_only {
                true => self.cuts(&form, here.cx, form.tokens() + note - limit.target),
                false => break,
            };
            if cuts.is_empty() {
                break;
            }
            let mut epoch = Epoch { passed: form.epoch.passed, ..self.blank(here) };
            epoch.pins = form.epoch.pins.clone();
            epoch.pins.extend(cuts);
            let epoch = epoch.anchored(here.keys, chained(form.transcript.segments(), usize::MAX));
            let mut next = self.form_anew(here, epoch, receipt)?;
            self.put_delayed(here, &mut next, delayed);
            if next.tokens() >= form.tokens() {
                break;
            }
            form = next;
        }
        let left = form.tokens() + note;
        if left > limit.most {
            let wanted = limit.target;
            let action = format!("{left} tokens are left, {wanted} were wanted: what must stay is longer");
            receipt.notes.push(Diagnostic::new("budget_unreachable", "", action));
        }
        Ok(form)
    }

    /// New forms of old texts that have `over` tokens fewer, or as many as may go.
    fn cuts(&self, form: &Form<'_>, cx: &EngineContext<'_>, mut over: u64) -> BTreeMap<usize, Pin> {
        let segments = form.transcript.segments();
        let answers = answers(segments);
        let end =
            answers.len().checked_sub(LIVE_ANSWERS).and_then(|at| answers.get(at)).copied().unwrap_or(0);
        let past = History::new(segments, end);
        let newest: HashSet<usize> = newest_reads(&past);
        let mut open: Vec<Open<'_, '_>> = Vec::new();
        for (index, (segment, result)) in segments.iter().zip(&form.results).enumerate() {
            let fetched = past.call_of(index).is_some_and(|call| is_tool(&call.tool));
            if past.is_open(index)
                && is_whole(segment.edited_by())
                && !fetched
                && !newest.contains(&index)
                && result.tokens_after >= MIN_TOKENS
            {
                open.push(Open { index, segment, tokens: u64::from(result.tokens_after), handle: None });
            }
        }
        let all: u64 = open.iter().map(|text| text.tokens).sum();
        // First everybody's share, then from the oldest on all that may go.
        let wanted = over;
        let mut pins = BTreeMap::new();
        for round in 0..2 {
            for text in &mut open {
                if over == 0 {
                    return pins;
                }
                let share = (text.segment.sent().len() as u64).saturating_mul(wanted).checked_div(all);
                let bytes = if round == 0 { share.unwrap_or(0) as usize + 1 } else { usize::MAX };
                let Some((pin, now)) = self.cut_one(text, bytes, cx) else { continue };
                if now < text.tokens {
                    over = over.saturating_sub(text.tokens - now);
                    text.tokens = now;
                    pins.insert(text.index, pin);
                }
            }
        }
        pins
    }

    /// One text with `bytes` fewer, and its tokens.
    fn cut_one(&self, text: &mut Open<'_, '_>, bytes: usize, cx: &EngineContext<'_>) -> Option<(Pin, u64)> {
        let original = text.segment.original();
        // Kept once, whatever the number of rounds. A store that fails is no reason to send what does not fit.
        let handle = *text.handle.get_or_insert_with(|| match cx.reachable {
            true => keep(cx, original).ok().and_then(Result::ok),
            false => None,
        });
        let cut = cut(text.segment.sent(), bytes, handle.map(|handle| handle.inner()).as_deref())?;
        let mut dropped = Dropped::default();
        (dropped.lines, dropped.bytes) = (cut.lines, cut.bytes);
        if handle.is_some() {
            dropped.recoverable_bytes = cut.bytes;
        }
        if self.steps.loses(original, &cut.text) {
            return None;
        }
        let tokens = u64::from(self.tokenizer.count(&cut.text));
        let pin = Pin {
            engine: BUDGET.to_owned(),
            text: cut.text,
            undo: None,
            kept: handle.iter().map(|handle| handle.id.to_string()).collect(),
            dropped,
            techniques: vec!["cut".to_owned()],
        };
        Some((pin, tokens))
    }
}

/// A text that may be cut.
struct Open<'a, 'd> {
    index: usize,
    segment: &'a Segment<'d>,
    /// Tokens in the form it has by now.
    tokens: u64,
    /// Where the whole text is kept, once that was tried.
    handle: Option<Option<Handle>>,
}
