//! A request in one form: the texts under one rewrite, or under none, and what came of each.

use std::sync::Arc;

use omniroute_core::{CompressReceipt, MemoUse, Transcript};

use super::epoch::Epoch;
use super::floor::Floor;
use super::rewrite::Here;
use super::{Pipeline, is_chained, steps};
use crate::memo::Key;
use crate::result::SegmentResult;

/// What came of each text, in order.
pub(super) type Results = Vec<Arc<SegmentResult>>;

/// The texts of a request as they would be sent.
pub(super) struct Form<'d> {
    /// Which old texts stand in a form of their own.
    pub(super) epoch: Epoch,
    pub(super) transcript: Transcript<'d>,
    pub(super) results: Results,
    /// How many of the results were known.
    pub(super) memo: MemoUse,
}

impl Form<'_> {
    /// Tokens of all texts.
    pub(super) fn tokens(&self) -> u64 {
        sum(&self.results)
    }
}

/// Tokens of texts as they would be sent.
pub(super) fn sum(results: &[Arc<SegmentResult>]) -> u64 {
    results.iter().map(|result| u64::from(result.tokens_after)).sum()
}

impl Pipeline<'_> {
    /// The request under an epoch: the result for every text, remembered or worked out now in order. `transcript` is
    /// that of the request as it came.
    pub(super) fn form<'d>(
        &self,
        here: &Here<'_, 'd>,
        mut transcript: Transcript<'d>,
        epoch: Epoch,
        receipt: &mut CompressReceipt,
    ) -> Form<'d> {
        let (cx, keys) = (here.cx, here.keys_under(&epoch));
        let mut memo = MemoUse::default();
        let found = self.memo.find(&keys, self.now.mono);
        let chained: Vec<usize> = (0..keys.len())
            .filter(|i| transcript.segments().get(*i).is_some_and(|s| is_chained(s.kind)))
            .collect();
        // Chained texts depend on all chained texts before them: everything after the first miss is new.
        let known = chained.iter().take_while(|i| found.get(**i).is_some_and(Option::is_some)).count();
        let mut results: Vec<Option<Arc<SegmentResult>>> = found;
        let mut fresh = Vec::new();

        let (old, new) = chained.split_at(known);
        for &i in old {
            memo.hits += 1;
            if let (Some(Some(result)), Some(segment)) =
                (results.get(i), transcript.segments_mut().get_mut(i))
                && let Some(sent) = &result.sent
            {
                segment.set_sent(sent.text.clone(), &sent.edited_by);
            }
        }
        let chain_keys: Vec<Key> = old.iter().filter_map(|i| keys.get(*i).copied()).collect();
        let anew = || steps::Runner::new(self.steps, cx, &epoch.pins, &here.worked);
        let mut runner = (!new.is_empty()).then(anew);
        if let Some(runner) = &mut runner {
            let settled = runner.restore(self.memo.take_tip(&chain_keys, self.now.mono));
            for &i in old.get(settled..).unwrap_or(&[]) {
                receipt.engine_bytes += runner.settle(transcript.segments(), i);
            }
        }
        let mut floor = Floor::new(if here.goes_on { self.market(here.request).minimum() } else { 0 });
        let (first_new, last_new) = (new.first().copied(), new.last().copied());
        let mut prose: Option<steps::Runner<'_>> = None;
        for (i, key) in keys.iter().enumerate() {
            let Some(kind) = transcript.segments().get(i).map(|segment| segment.kind) else { continue };
            let wanted = steps::wants_prose(self.steps, kind);
            // What prose becomes depends on its place as long as the prompt is too short, and its key does not tell.
            let by_place = wanted && floor.is_open();
            let now = is_chained(kind) && first_new.is_some_and(|first| first <= i);
            let result = match (results.get(i), runner.as_mut().filter(|_| now)) {
                (_, Some(runner)) => {
                    memo.misses += 1;
                    let result = runner.work(&mut transcript, i, &floor);
                    // Nobody will look back at the last text of a call that nobody remembers.
                    let settle = !self.memo.is_off() || Some(i) != last_new;
                    receipt.engine_bytes += match transcript.segments().get(i) {
                        Some(_) if settle => runner.settle(transcript.segments(), i),
                        Some(last) => last.raw().len() as u64,
                        None => 0,
                    };
                    result
                }
                (Some(Some(result)), None) if !by_place => {
                    floor.pass(result.tokens_after);
                    continue;
                }
                _ if wanted => prose.get_or_insert_with(anew).work(&mut transcript, i, &floor),
                _ => match transcript.segments().get(i) {
                    Some(segment) => steps::counted(segment, self.tokenizer, (&here.worked, i)),
                    None => continue,
                },
            };
            let result = Arc::new(result);
            if !by_place {
                fresh.push((*key, result.clone()));
            }
            floor.pass(result.tokens_after);
            if let Some(slot) = results.get_mut(i) {
                *slot = Some(result);
            }
        }
        if let Some(runner) = runner
            && let Some(tip) = chained.last().and_then(|i| keys.get(*i))
        {
            self.memo.put_tip(*tip, runner.into_memories(), self.now.mono);
        }
        self.memo.store(fresh, self.now.mono);
        let results = results.into_iter().flatten().collect();
        Form { epoch, transcript, results, memo }
    }
}
