//! A request that would not fit: old results are cut until it does, or until only what must stay is left.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use omniroute_core::{Dropped, EngineContext, History, Transcript};

use super::Pipeline;
use super::epoch::Pin;
use crate::budget::cut;
use crate::ccr::{Handle, is_tool};
use crate::engines::{is_stub, newest_reads};
use crate::redact::redact;
use crate::result::SegmentResult;
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
    /// New forms of texts that bring `total` tokens down to the target, as far as that is possible; nothing if the
    /// request fits as it is.
    pub(super) fn fit(
        &self,
        transcript: &Transcript<'_>,
        results: &[Arc<SegmentResult>],
        cx: &EngineContext<'_>,
        total: u64,
    ) -> BTreeMap<usize, Pin> {
        let mut pins: BTreeMap<usize, Pin> = BTreeMap::new();
        let mut left: BTreeMap<usize, u64> = BTreeMap::new();
        let Some(limit) = self.limit.filter(|limit| total > limit.most && !cx.lossless_only) else {
            return pins;
        };
        let segments = transcript.segments();
        let answers = answers(segments);
        let end =
            answers.len().checked_sub(LIVE_ANSWERS).and_then(|at| answers.get(at)).copied().unwrap_or(0);
        let past = History::new(segments, end);
        let newest: HashSet<usize> = newest_reads(&past);
        let open: Vec<(usize, u64)> = results
            .iter()
            .enumerate()
            .filter(|(index, result)| {
                let whole = segments.get(*index).is_some_and(|s| is_whole(s.edited_by()));
                let fetched = past.call_of(*index).is_some_and(|call| is_tool(&call.tool));
                past.is_open(*index)
                    && whole
                    && !fetched
                    && !newest.contains(index)
                    && result.tokens_after >= MIN_TOKENS
            })
            .map(|(index, result)| (index, u64::from(result.tokens_after)))
            .collect();
        let all: u64 = open.iter().map(|(_, tokens)| tokens).sum();
        let mut over = total.saturating_sub(limit.target);
        // First everybody's share, then from the oldest on all that may go.
        let wanted = over;
        let share = |index: &usize| {
            let length = segments.get(*index).map_or(0, |s| s.sent().len() as u64);
            length.saturating_mul(wanted).checked_div(all).unwrap_or(0) as usize + 1
        };
        for round in 0..2 {
            for (index, tokens) in &open {
                if over == 0 {
                    return pins;
                }
                let bytes = if round == 0 { share(index) } else { usize::MAX };
                let Some((pin, now)) = self.cut_one(transcript, *index, bytes, cx) else { continue };
                let before = left.get(index).copied().unwrap_or(*tokens);
                if now < before {
                    over = over.saturating_sub(before - now);
                    pins.insert(*index, pin);
                    left.insert(*index, now);
                }
            }
        }
        pins
    }

    /// One text with `bytes` fewer, and its tokens.
    fn cut_one(
        &self,
        transcript: &Transcript<'_>,
        index: usize,
        bytes: usize,
        cx: &EngineContext<'_>,
    ) -> Option<(Pin, u64)> {
        let segment = transcript.segments().get(index)?;
        let (original, text) = (segment.original(), segment.sent());
        let keep = cx.reachable && matches!(redact(original), Cow::Borrowed(_));
        let id = if keep { cx.blobs.put(cx.principal, original.as_bytes()).ok() } else { None };
        let handle = id.map(|id| Handle::new(id, original).inner());
        let cut = cut(text, bytes, handle.as_deref())?;
        let mut dropped = Dropped::default();
        (dropped.lines, dropped.bytes) = (cut.lines, cut.bytes);
        if id.is_some() {
            dropped.recoverable_bytes = cut.bytes;
        }
        let tokens = u64::from(self.tokenizer.count(&cut.text));
        let pin = Pin {
            engine: BUDGET.to_owned(),
            text: cut.text,
            undo: None,
            kept: id.iter().map(ToString::to_string).collect(),
            dropped,
            techniques: vec!["cut".to_owned()],
        };
        Some((pin, tokens))
    }
}

/// Whether a text stands there itself: no stub, no reference to another text, no table.
fn is_whole(edited_by: &[&str]) -> bool {
    let other = |id: &&str| matches!(*id, "repeat" | "session-dedup" | "rows" | "ionizer");
    !is_stub(edited_by) && !edited_by.iter().any(other)
}
