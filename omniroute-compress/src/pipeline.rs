//! One pass over a request: read, look up, run the steps on what is new, splice, account.

mod account;
mod keys;
mod steps;

pub(crate) use keys::sha256_hex;

use std::sync::Arc;

use omniroute_core::{
    BlobStore, ChatRequest, CompressReceipt, CounterInfo, Diagnostic, Doc, DocError, EngineContext, Mono,
    SegmentKind, Tokenizer, Transcript,
};

use crate::guard;
use crate::memo::{Key, Memo};
use crate::plan::Steps;
use crate::result::SegmentResult;

/// Everything one pass needs.
pub(crate) struct Pipeline<'a> {
    pub(crate) steps: &'a Steps,
    pub(crate) tokenizer: &'a dyn Tokenizer,
    pub(crate) blobs: &'a dyn BlobStore,
    pub(crate) memo: &'a Memo,
    pub(crate) now: Mono,
}

/// The new document and the record of how it came about.
pub(crate) struct Passed {
    pub(crate) doc: Doc,
    pub(crate) receipt: CompressReceipt,
}

/// Texts that engines work on or look back at; their order is part of every key.
pub(crate) fn is_chained(kind: SegmentKind) -> bool {
    matches!(kind, SegmentKind::ToolCall | SegmentKind::ToolResult)
}

impl Pipeline<'_> {
    /// Compresses the request.
    ///
    /// # Errors
    /// [`DocError`] if the body is not a request of its wire.
    pub(crate) fn run(&self, request: &ChatRequest) -> Result<Passed, DocError> {
        let mut transcript = Transcript::of(request)?;
        let fingerprint = self.steps.fingerprint(self.tokenizer.id());
        let tools = transcript.tools().to_vec();
        let mut cx = EngineContext::new(self.tokenizer, self.blobs, request.principal());
        cx.session = request.session();
        cx.tools = &tools;
        cx.continues = transcript.continues();

        let seed = keys::seed(request, &fingerprint, transcript.continues());
        let keys = match self.memo.is_off() {
            true => vec![Key::default(); transcript.segments().len()], // nobody will look
            false => keys::of(&transcript, &seed),
        };
        let mut receipt = CompressReceipt::default();
        let results = self.results(&mut transcript, &keys, &cx, &mut receipt);

        receipt.plan = self.steps.name.clone();
        receipt.fingerprint = keys::hex(&fingerprint);
        receipt.wire = request.wire().id().to_owned();
        receipt.counter = CounterInfo::new(self.tokenizer.id(), self.tokenizer.exact());
        account::totals(&mut receipt, self.steps, &transcript, &results);
        let doc = self.splice(request, &transcript, &results, &mut receipt);
        receipt.bytes_before = request.doc().bytes().len() as u64;
        receipt.bytes_after = doc.bytes().len() as u64;
        Ok(Passed { doc, receipt })
    }

    /// The result for every segment: remembered, or worked out now in order.
    fn results(
        &self,
        transcript: &mut Transcript<'_>,
        keys: &[Key],
        cx: &EngineContext<'_>,
        receipt: &mut CompressReceipt,
    ) -> Vec<Arc<SegmentResult>> {
        let found = self.memo.find(keys, self.now);
        let chained: Vec<usize> = (0..keys.len())
            .filter(|i| transcript.segments().get(*i).is_some_and(|s| is_chained(s.kind)))
            .collect();
        // Chained texts depend on all chained texts before them: everything after the first miss is new.
        let known = chained.iter().take_while(|i| found.get(**i).is_some_and(Option::is_some)).count();
        let mut results: Vec<Option<Arc<SegmentResult>>> = found;
        let mut fresh = Vec::new();

        let (old, new) = chained.split_at(known);
        for &i in old {
            receipt.memo.hits += 1;
            if let (Some(Some(result)), Some(segment)) =
                (results.get(i), transcript.segments_mut().get_mut(i))
                && let Some(sent) = &result.sent
            {
                segment.set_sent(sent.text.clone(), &sent.edited_by);
            }
        }
        let chain_keys: Vec<Key> = old.iter().filter_map(|i| keys.get(*i).copied()).collect();
        let mut runner = steps::Runner::new(self.steps, cx);
        if !new.is_empty() {
            let settled = runner.restore(self.memo.take_tip(&chain_keys, self.now));
            for &i in old.get(settled..).unwrap_or(&[]) {
                receipt.engine_bytes += runner.settle(transcript.segments(), i);
            }
            for (n, &i) in new.iter().enumerate() {
                receipt.memo.misses += 1;
                let result = Arc::new(runner.work(transcript, i));
                // Nobody will look back at the last text of a call that nobody remembers.
                let settle = !self.memo.is_off() || n + 1 < new.len();
                receipt.engine_bytes += match transcript.segments().get(i) {
                    Some(_) if settle => runner.settle(transcript.segments(), i),
                    Some(last) => last.raw().len() as u64,
                    None => 0,
                };
                fresh.extend(keys.get(i).map(|key| (*key, result.clone())));
                if let Some(slot) = results.get_mut(i) {
                    *slot = Some(result);
                }
            }
            if let Some(tip) = chained.last().and_then(|i| keys.get(*i)) {
                self.memo.put_tip(*tip, runner.into_memories(), self.now);
            }
        }
        let mut all = Vec::with_capacity(keys.len());
        for ((slot, segment), key) in results.into_iter().zip(transcript.segments()).zip(keys) {
            let is_new = slot.is_none();
            let result = slot.unwrap_or_else(|| Arc::new(steps::counted(segment, self.tokenizer)));
            if is_new {
                fresh.push((*key, result.clone()));
            }
            all.push(result);
        }
        self.memo.store(fresh, self.now);
        all
    }

    /// Puts the new literals in place. A broken structure, which would be a bug of ours, takes all edits back. Whether
    /// an edit pays was judged for each text; a judgement over the whole body would change with what follows.
    fn splice(
        &self,
        request: &ChatRequest,
        transcript: &Transcript<'_>,
        results: &[Arc<SegmentResult>],
        receipt: &mut CompressReceipt,
    ) -> Doc {
        let mut edits = Vec::new();
        for (segment, result) in transcript.segments().iter().zip(results) {
            if let (Some(node), Some(sent)) = (segment.node(), &result.sent) {
                edits.push((node, sent.literal.clone()));
                receipt.edits.segments.push(sent.log.clone());
            }
        }
        if edits.is_empty() {
            return request.doc().clone();
        }
        let spliced = request.doc().replace_strings(edits).ok();
        let reason = match &spliced {
            Some(doc) if !guard::same_structure(request.doc(), doc) => "structure",
            Some(_) => "",
            None => "structure",
        };
        match spliced {
            Some(doc) if reason.is_empty() => {
                receipt.applied = true;
                doc
            }
            _ => {
                debug_assert!(reason != "structure", "an engine's edit changed the structure of the body");
                account::revert(receipt, reason);
                receipt.notes.push(Diagnostic::new(
                    "reverted",
                    "",
                    "all edits were taken back, the body is as it came",
                ));
                request.doc().clone()
            }
        }
    }
}
