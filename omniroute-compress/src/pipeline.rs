//! One pass over a request: read, look up, run the steps on what is new, splice, account.

mod account;
mod delayed;
mod epoch;
mod fit;
mod keep;
mod keys;
mod rewrite;
mod session;
mod steps;

pub(crate) use keys::sha256_hex;

use std::collections::BTreeMap;
use std::sync::Arc;

use omniroute_core::{
    Added, BlobStore, ChatRequest, CompressReceipt, CounterInfo, Diagnostic, Doc, DocError, EngineContext,
    Moment, SegmentKind, Tokenizer, Transcript,
};

use crate::ccr::Placement;
use crate::cost::{CachePolicy, Prices};
use crate::guard;
use crate::memo::{Key, Memo};
use crate::plan::Steps;
use crate::result::SegmentResult;
use crate::rewrite::Rewrite;
use crate::sessions::{SessionKey, SessionStore};
use epoch::{Epoch, Pin};
pub(crate) use fit::Limit;
use rewrite::Here;
use session::{Reach, SessionRecord};

/// Everything one pass needs.
pub(crate) struct Pipeline<'a> {
    pub(crate) steps: &'a Steps,
    pub(crate) tokenizer: &'a dyn Tokenizer,
    pub(crate) blobs: &'a dyn BlobStore,
    pub(crate) memo: &'a Memo,
    pub(crate) sessions: &'a dyn SessionStore,
    /// Whether the note about the retrieval tool may be added.
    pub(crate) retrieval: bool,
    /// When older turns may be rewritten.
    pub(crate) rewrite: Rewrite,
    /// Prices and the rules of the cache; by default what is known of the model.
    pub(crate) prices: Option<Prices>,
    pub(crate) cache: Option<CachePolicy>,
    /// Whether the cache is known to be cold or warm.
    pub(crate) cold: Option<bool>,
    /// How large the request may be.
    pub(crate) limit: Option<Limit>,
    pub(crate) now: Moment,
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
        self.blobs.tick(self.now.wall);
        let mut transcript = Transcript::of(request)?;
        let mut session = self.session(request, &transcript);
        let reach = match &mut session {
            Some((.., record)) if self.wants_retrieval() => Reach::decide(request, &transcript, record),
            _ => Reach::default(),
        };
        let fingerprint = self.steps.fingerprint(self.tokenizer.id());
        let tools = transcript.tools().to_vec();
        let mut cx = EngineContext::new(self.tokenizer, self.blobs, request.principal());
        cx.session = request.session();
        cx.tools = &tools;
        cx.continues = transcript.continues();
        cx.reachable = reach.on;
        cx.lossless_only = self.steps.lossless_only;

        let seed = keys::seed(request, &fingerprint, transcript.continues(), reach.on);
        let rewriting = self.rewriting(session.as_ref().map(|(.., record)| record));
        let base_keys = match self.memo.is_off() && !rewriting {
            true => vec![Key::default(); transcript.segments().len()], // nobody will look
            false => keys::of(&transcript, &seed),
        };
        let mut keys = base_keys.clone();
        let mut receipt = CompressReceipt::default();
        let mut epoch = Epoch::default();
        let here = Here { request, keys: &base_keys, seed: &seed, fingerprint: &fingerprint, cx: &cx };
        if let Some((.., record)) = &mut session
            && rewriting
        {
            epoch = self.epoch(&here, transcript.segments(), record, &mut receipt)?;
            keys = rewrite::epoch_keys(&here, &transcript, &epoch);
        }
        let mut results = self.results(&mut transcript, &keys, &cx, &mut receipt, &epoch.pins);
        let delayed = self.delayed(request, &transcript, &results, &cx);
        self.put_delayed(&transcript, &delayed, &mut results);
        let note = reach.note.as_ref().map_or(0, |note| u64::from(self.tokenizer.count(&note.text)));
        let total = |results: &[Arc<SegmentResult>]| {
            results.iter().map(|result| u64::from(result.tokens_after)).sum::<u64>() + note
        };
        // What is cut may have been the source of a reference: the next round sees the texts without it.
        for _ in 0..3 {
            let cuts = self.fit(&transcript, &results, &cx, total(&results));
            if cuts.is_empty() {
                break;
            }
            let mut cut = self.blank(&here, transcript.segments(), transcript.segments().len());
            cut.passed = epoch.passed;
            cut.pins = epoch.pins.clone();
            cut.pins.extend(cuts);
            let mut next = Transcript::of(request)?;
            let next_keys = rewrite::epoch_keys(&here, &next, &cut);
            let mut after = self.results(&mut next, &next_keys, &cx, &mut receipt, &cut.pins);
            self.put_delayed(&next, &delayed, &mut after);
            if total(&after) >= total(&results) {
                break;
            }
            (epoch, transcript, results) = (cut, next, after);
        }
        if let Some(limit) = self.limit.filter(|limit| total(&results) > limit.most) {
            let action = format!(
                "{} tokens are left, {} were wanted: what must stay is longer",
                total(&results),
                limit.target
            );
            receipt.notes.push(Diagnostic::new("budget_unreachable", "", action));
        }
        if let Some((key, before, record)) = &mut session {
            // One that does not fit may be that of another conversation that started alike.
            if rewriting && !epoch.pins.is_empty() {
                record.epoch = Some(epoch.clone());
            }
            if record != before {
                self.sessions.put(key, record.clone().write(), self.now.wall);
            }
        }
        keep::alive(self.blobs, request.principal(), &transcript, &results, &mut receipt);

        receipt.plan = self.steps.name.clone();
        receipt.fingerprint = keys::hex(&fingerprint);
        receipt.wire = request.wire().id().to_owned();
        receipt.counter = CounterInfo::new(self.tokenizer.id(), self.tokenizer.exact());
        account::totals(&mut receipt, self.steps, &transcript, &results);
        let doc = self.splice(request, &transcript, &results, &mut receipt);
        let doc = match &reach.note {
            Some(note) => self.with_note(doc, note, &mut receipt),
            None => doc,
        };
        receipt.bytes_before = request.doc().bytes().len() as u64;
        receipt.bytes_after = doc.bytes().len() as u64;
        Ok(Passed { doc, receipt })
    }

    /// Whether a step would leave out what the model can fetch.
    fn wants_retrieval(&self) -> bool {
        self.retrieval && !self.steps.lossless_only && self.steps.engines.iter().any(|e| e.info().retrieval)
    }

    /// Whether a step would work on older turns.
    fn wants_history(&self) -> bool {
        self.rewrite != Rewrite::Never && self.steps.engines.iter().any(|e| e.info().history)
    }

    /// Whether anything older could change in this request: it has, or a time, a limit or the caller may tell so.
    fn rewriting(&self, record: Option<&SessionRecord>) -> bool {
        let told = self.now.wall.0 > 0 || self.cold.is_some() || self.cache.is_some() || self.limit.is_some();
        let before = record.is_some_and(|record| record.epoch.is_some());
        self.wants_history() && (told || before || self.rewrite != Rewrite::ColdOnly)
    }

    /// The session with its record as it was and as it will be; none if nothing has to be remembered.
    fn session(
        &self,
        request: &ChatRequest,
        transcript: &Transcript<'_>,
    ) -> Option<(SessionKey, SessionRecord, SessionRecord)> {
        if !self.wants_retrieval() && !self.wants_history() {
            return None;
        }
        let key = session::key(request, transcript);
        let before = SessionRecord::read(self.sessions.get(&key, self.now.wall));
        Some((key, before.clone(), before))
    }

    /// The document with the note. What is no document then, which would be a bug of ours, goes without it.
    fn with_note(&self, doc: Doc, note: &Placement, receipt: &mut CompressReceipt) -> Doc {
        let (bytes, added) = note.apply(&doc);
        let Ok(with) = Doc::parse_with_limit(bytes, usize::MAX) else {
            debug_assert!(false, "the note broke the body");
            receipt.notes.push(Diagnostic::new(
                "reverted",
                "",
                "the note about the retrieval tool was left out",
            ));
            return doc;
        };
        let tokens = u64::from(self.tokenizer.count(&note.text));
        receipt.added.push(Added::new("ccr_protocol", tokens));
        receipt.tokens_after += tokens;
        receipt.edits.added = added;
        receipt.applied = true;
        with
    }

    /// The result for every segment: remembered, or worked out now in order.
    fn results(
        &self,
        transcript: &mut Transcript<'_>,
        keys: &[Key],
        cx: &EngineContext<'_>,
        receipt: &mut CompressReceipt,
        pins: &BTreeMap<usize, Pin>,
    ) -> Vec<Arc<SegmentResult>> {
        let found = self.memo.find(keys, self.now.mono);
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
        let mut runner = steps::Runner::new(self.steps, cx, pins);
        if !new.is_empty() {
            let settled = runner.restore(self.memo.take_tip(&chain_keys, self.now.mono));
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
                self.memo.put_tip(*tip, runner.into_memories(), self.now.mono);
            }
        }
        let prose: Vec<usize> = (0..keys.len())
            .filter(|i| results.get(*i).is_some_and(Option::is_none))
            .filter(|i| transcript.segments().get(*i).is_some_and(|s| steps::wants_prose(self.steps, s.kind)))
            .collect();
        if !prose.is_empty() {
            let mut runner = steps::Runner::new(self.steps, cx, pins);
            for i in prose {
                let result = Arc::new(runner.work(transcript, i));
                fresh.extend(keys.get(i).map(|key| (*key, result.clone())));
                if let Some(slot) = results.get_mut(i) {
                    *slot = Some(result);
                }
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
        self.memo.store(fresh, self.now.mono);
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
