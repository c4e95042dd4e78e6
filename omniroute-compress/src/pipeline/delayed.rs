//! Long texts of the user change their form once: in the first request in which a later text of the user stands.
//!
//! The newest text is needed in full. Whether an older one changes is decided by what stood in that very request, so
//! every later turn comes to the same answer without any memory.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use omniroute_core::{CompressReceipt, History, SegmentKind};

use super::Pipeline;
use super::epoch::Pin;
use super::form::Form;
use super::rewrite::Here;
use super::steps::pinned;
use crate::rewrite::answers;

/// Turns in which the change must have paid.
const TURNS: u128 = 8;

impl Pipeline<'_> {
    /// The new forms of texts of the user.
    pub(super) fn delayed(
        &self,
        here: &Here<'_, '_>,
        form: &Form<'_>,
        receipt: &mut CompressReceipt,
    ) -> BTreeMap<usize, Pin> {
        let mut pins = BTreeMap::new();
        if !self.steps.user_blocks || !here.cx.reachable || here.cx.lossless_only {
            return pins;
        }
        let (segments, results) = (form.transcript.segments(), &form.results);
        let answers = answers(segments);
        let users: Vec<usize> = (0..segments.len())
            .filter(|n| segments.get(*n).is_some_and(|s| s.kind == SegmentKind::User))
            .collect();
        // For each text the end of the first request that has a later one, answered in between.
        let end_of = |index: usize| {
            let answer = answers.get(answers.partition_point(|start| *start <= index))?;
            let later = users.get(users.partition_point(|user| user <= answer))?;
            let next = answers.get(answers.partition_point(|start| start <= later));
            Some(next.copied().unwrap_or(segments.len()))
        };
        let ends: BTreeMap<usize, usize> = users.iter().filter_map(|n| Some((*n, end_of(*n)?))).collect();
        let open: BTreeSet<usize> = ends.keys().copied().collect();
        let mut past = History::new(segments, 0).open_user(open);
        self.work_on(&mut past, here.cx, receipt);
        // Sums of tokens as they came: what follows may have changed its form since.
        let mut sums = vec![0_u64];
        for result in results {
            sums.push(sums.last().copied().unwrap_or(0) + u64::from(result.tokens_before));
        }
        let market = self.market(here.request);
        for (index, (engine, new)) in past.into_edits() {
            let (Some(end), Some(result)) = (ends.get(&index), results.get(index)) else { continue };
            let tokens = self.tokenizer.count(&new.text);
            let saved = u64::from(result.tokens_before.saturating_sub(tokens));
            let sum = |at: usize| sums.get(at).copied().unwrap_or(0);
            let resent = sum(*end).saturating_sub(sum(index + 1)) + u64::from(tokens);
            let original = segments.get(index).map_or("", |s| s.original());
            let refused =
                || self.steps.refuse(original, &new.text, (result.tokens_before, tokens), false).is_some();
            if market.pays(saved, resent, TURNS) && !refused() {
                pins.insert(index, Pin::of(engine, &new));
            }
        }
        pins
    }

    /// Puts the new forms in place.
    pub(super) fn put_delayed(&self, here: &Here<'_, '_>, form: &mut Form<'_>, pins: &BTreeMap<usize, Pin>) {
        for (index, pin) in pins {
            let segment = form.transcript.segments().get(*index);
            let result = segment
                .and_then(|segment| pinned(self.steps, self.tokenizer, segment, pin, (&here.worked, *index)));
            if let (Some(result), Some(slot)) = (result, form.results.get_mut(*index)) {
                *slot = Arc::new(result);
            }
        }
    }
}
