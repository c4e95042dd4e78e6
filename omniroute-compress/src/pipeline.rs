//! One pass over a request: read, look up, run the steps on what is new, splice, account.

mod account;
mod delayed;
mod epoch;
mod fit;
mod floor;
mod form;
mod keep;
mod keys;
mod rewrite;
mod session;
mod steps;
mod worked;

pub(crate) use keys::sha256_hex;

use omniroute_core::{
    Added, AddedBytes, BlobStore, ChatRequest, CompressReceipt, CounterInfo, Diagnostic, Doc, DocError,
    EngineContext, EngineInfo, Moment, SegmentKind, Tokenizer, Transcript,
};

use crate::ccr::Placement;
use crate::cost::{CachePolicy, Prices};
use crate::guard;
use crate::memo::{Key, Memo};
use crate::plan::Steps;
use crate::rewrite::Rewrite;
use crate::sessions::{SessionKey, SessionStore};
use epoch::Epoch;
pub(crate) use fit::Limit;
use form::Form;
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
    /// Whether no other request follows that starts like this one.
    pub(crate) one_shot: bool,
    /// How large the request may be.
    pub(crate) limit: Option<Limit>,
    pub(crate) now: Moment,
}

/// The new document and the record of how it came about.
pub(crate) struct Passed {
    pub(crate) doc: Doc,
    pub(crate) receipt: CompressReceipt,
}

/// All bytes that were added, in order, where `new` ones were put into a body that had `old` ones: those move, or are
/// split around what came between them.
fn together(old: Vec<AddedBytes>, new: Vec<AddedBytes>) -> Vec<AddedBytes> {
    let mut all = old;
    for new in new {
        let mut next = vec![new];
        for range in all {
            if new.at <= range.at {
                next.push(AddedBytes::new(range.at + new.bytes, range.bytes));
            } else if new.at < range.at + range.bytes {
                let head = new.at - range.at;
                next.push(AddedBytes::new(range.at, head));
                next.push(AddedBytes::new(new.at + new.bytes, range.bytes - head));
            } else {
                next.push(range);
            }
        }
        all = next;
    }
    all.sort_by_key(|range| range.at);
    all
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
        let transcript = Transcript::of(request)?;
        let mut session = self.session(request, &transcript);
        let reach = match &mut session {
            Some((.., record)) if self.wants_retrieval() => Reach::decide(request, &transcript, record),
            _ => Reach::default(),
        };
        let style = match (&mut session, &self.steps.style) {
            (Some((.., record)), Some(style)) => session::style(style, &transcript, record),
            _ => None,
        };
        let fingerprint = self.steps.fingerprint(self.tokenizer.id());
        let tools = transcript.tools().to_vec();
        let mut cx = EngineContext::new(self.tokenizer, self.blobs, request.principal());
        cx.session = request.session();
        cx.tools = &tools;
        cx.continues = transcript.continues();
        cx.reachable = reach.on;
        cx.lossless_only = self.steps.lossless_only;

        let once = self.one_shot || self.rewrite == Rewrite::Always;
        let goes_on = request.session().is_some() && !once;
        let rewriting = self.rewriting(session.as_ref().map(|(.., record)| record));
        let keys = match self.memo.is_off() && !rewriting {
            true => vec![Key::default(); transcript.segments().len()], // nobody will look
            false => {
                let seed = keys::seed(request, &fingerprint, &[transcript.continues(), reach.on, goes_on]);
                keys::of(&transcript, &seed)
            }
        };
        let mut receipt = CompressReceipt::default();
        let worked = worked::Worked::new(rewriting || self.limit.is_some());
        let here = Here { request, keys: &keys, fingerprint: &fingerprint, cx: &cx, goes_on, worked };
        let mut form = match &mut session {
            Some((.., record)) if rewriting => self.in_force(&here, transcript, record, &mut receipt)?,
            _ => self.form(&here, transcript, Epoch::default(), &mut receipt),
        };
        let delayed = self.delayed(&here, &form, &mut receipt);
        self.put_delayed(&here, &mut form, &delayed);
        let note = reach.note.as_ref().map_or(0, |note| u64::from(self.tokenizer.count(&note.text)));
        let form = self.fitted(&here, form, &delayed, note, &mut receipt)?;
        if let Some((key, before, record)) = &mut session {
            // One that does not fit may be that of another conversation that started alike.
            if rewriting && !form.epoch.pins.is_empty() {
                record.epoch = Some(form.epoch.clone());
            }
            if record != before {
                self.sessions.put(key, record.clone().write(), self.now.wall);
            }
        }
        keep::alive(self.blobs, request.principal(), &form, &mut receipt);

        receipt.plan = self.steps.name.clone();
        receipt.fingerprint = keys::hex(&fingerprint);
        receipt.wire = request.wire().id().to_owned();
        receipt.counter = CounterInfo::new(self.tokenizer.id(), self.tokenizer.exact());
        receipt.memo = form.memo;
        account::totals(&mut receipt, self.steps, &form);
        let doc = self.splice(request, &form, &mut receipt);
        let doc = match &reach.note {
            Some(placement) => self.with_note(doc, placement, ("ccr_protocol", note), &mut receipt),
            None => doc,
        };
        let doc = match style.and_then(|text| Placement::of(request.wire().id(), &doc, text)) {
            Some(placement) => {
                let tokens = u64::from(self.tokenizer.count(&placement.text));
                self.with_note(doc, &placement, ("output_style", tokens), &mut receipt)
            }
            None => doc,
        };
        receipt.bytes_before = request.doc().bytes().len() as u64;
        receipt.bytes_after = doc.bytes().len() as u64;
        Ok(Passed { doc, receipt })
    }

    /// Whether a step would leave out what the model can fetch.
    fn wants_retrieval(&self) -> bool {
        let uses = |info: &EngineInfo| info.retrieval || info.handles;
        self.retrieval && !self.steps.lossless_only && self.steps.engines.iter().any(|e| uses(e.info()))
    }

    /// Whether a step would work on older turns.
    fn wants_history(&self) -> bool {
        self.rewrite != Rewrite::Never && self.steps.engines.iter().any(|e| e.info().history)
    }

    /// Whether anything older could change in this request: it has, or a limit, a time or the caller may tell so.
    fn rewriting(&self, record: Option<&SessionRecord>) -> bool {
        let told = self.now.wall.0 > 0 || self.cold.is_some() || self.cache.is_some();
        let before = record.is_some_and(|record| record.epoch.is_some());
        before
            || self.limit.is_some()
            || (self.wants_history() && (told || self.rewrite != Rewrite::ColdOnly))
    }

    /// The session with its record as it was and as it will be; none if nothing has to be remembered.
    fn session(
        &self,
        request: &ChatRequest,
        transcript: &Transcript<'_>,
    ) -> Option<(SessionKey, SessionRecord, SessionRecord)> {
        let style = self.steps.style.is_some();
        if !self.wants_retrieval() && !self.wants_history() && self.limit.is_none() && !style {
            return None;
        }
        let key = session::key(request, transcript);
        let before = SessionRecord::read(self.sessions.get(&key, self.now.wall));
        Some((key, before.clone(), before))
    }

    /// The document with the note. What is no document then, which would be a bug of ours, goes without it.
    fn with_note(
        &self,
        doc: Doc,
        note: &Placement,
        (kind, tokens): (&'static str, u64),
        receipt: &mut CompressReceipt,
    ) -> Doc {
        let (bytes, added) = note.apply(&doc);
        let Ok(with) = Doc::parse_with_limit(bytes, usize::MAX) else {
            debug_assert!(false, "the note broke the body");
            receipt.notes.push(Diagnostic::new("reverted", "", "a note of ours was left out"));
            return doc;
        };
        receipt.added.push(Added::new(kind, tokens));
        receipt.tokens_after += tokens;
        receipt.edits.added = together(std::mem::take(&mut receipt.edits.added), added);
        receipt.applied = true;
        with
    }

    /// Puts the new literals in place. A broken structure, which would be a bug of ours, takes all edits back. Whether
    /// an edit pays was judged for each text; a judgement over the whole body would change with what follows.
    fn splice(&self, request: &ChatRequest, form: &Form<'_>, receipt: &mut CompressReceipt) -> Doc {
        let mut edits = Vec::new();
        for (segment, result) in form.transcript.segments().iter().zip(&form.results) {
            if let (Some(node), Some(sent)) = (segment.node(), &result.sent) {
                edits.push((node, sent.literal.clone()));
                receipt.edits.segments.push(sent.log.clone());
            }
        }
        if edits.is_empty() {
            return request.doc().clone();
        }
        match request.doc().replace_strings(edits) {
            Ok(doc) if guard::same_structure(request.doc(), &doc) => {
                receipt.applied = true;
                doc
            }
            _ => {
                debug_assert!(false, "an engine's edit changed the structure of the body");
                account::revert(receipt, "structure");
                let action = "all edits were taken back, the body is as it came";
                receipt.notes.push(Diagnostic::new("reverted", "", action));
                request.doc().clone()
            }
        }
    }
}
