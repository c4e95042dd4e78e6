//! The trait of compression engines and what they are given.

use std::any::Any;
use std::borrow::Cow;
use std::fmt::Debug;

use crate::blob::{BlobId, BlobStore};
use crate::call::Call;
use crate::clock::Moment;
use crate::history::History;
use crate::ids::{Principal, SessionId};
use crate::receipt::{CompressReceipt, Dropped};
use crate::request::ChatRequest;
use crate::segment::{Segment, SegmentId, SegmentKind};
use crate::tokens::Tokenizer;

/// What a change loses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, serde::Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Loss {
    /// Everything is still in the request: the original can be computed from it.
    Lossless,
    /// Same meaning, other layout: white space, escape sequences, repeats counted.
    Layout,
    /// What is missing can be fetched back.
    Recoverable,
    /// Something is gone.
    Lossy,
}

/// What an engine is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct EngineInfo {
    /// Unique name: lower-case letters, digits and dashes.
    pub id: &'static str,
    /// Goes up whenever the output for some input changes.
    pub version: u32,
    /// One line for people.
    pub summary: &'static str,
    /// Plans made from a set of engines run low numbers first.
    pub priority: u16,
    /// The worst it does.
    pub loss: Loss,
    /// Kinds of text it wants to see.
    pub targets: &'static [SegmentKind],
    /// Texts with fewer bytes are not offered to it.
    pub min_bytes: usize,
    /// It knows the grammar of what it shortens: it decides itself which facts stay and how results that tell of
    /// an error are treated. The general gates for these two are not applied to it.
    pub own_gates: bool,
    /// It leaves out what the model can only fetch with the retrieval tool; it is not asked where that tool cannot
    /// be called.
    pub retrieval: bool,
    /// What it leaves out can be fetched with the retrieval tool, where that can be called; it works without it too.
    pub handles: bool,
    /// It works on older turns at rewrite points, see [`CompressionEngine::history`].
    pub history: bool,
    /// It looks at the one text and the call that belongs to it, at nothing before and at no memory: its answer may be
    /// used again for the same text in the same request.
    pub alone: bool,
}

impl EngineInfo {
    /// An engine for tool results without a minimum size, version 1, priority 50.
    pub const fn new(id: &'static str, loss: Loss) -> Self {
        let targets = &[SegmentKind::ToolResult];
        EngineInfo {
            id,
            version: 1,
            summary: "",
            priority: 50,
            loss,
            targets,
            min_bytes: 0,
            own_gates: false,
            retrieval: false,
            handles: false,
            history: false,
            alone: false,
        }
    }

    /// Sets the version.
    #[must_use]
    pub const fn version(mut self, version: u32) -> Self {
        self.version = version;
        self
    }

    /// Sets the line for people.
    #[must_use]
    pub const fn summary(mut self, summary: &'static str) -> Self {
        self.summary = summary;
        self
    }

    /// Sets the priority.
    #[must_use]
    pub const fn priority(mut self, priority: u16) -> Self {
        self.priority = priority;
        self
    }

    /// Sets the kinds of text.
    #[must_use]
    pub const fn targets(mut self, targets: &'static [SegmentKind]) -> Self {
        self.targets = targets;
        self
    }

    /// Sets the minimum size in bytes.
    #[must_use]
    pub const fn min_bytes(mut self, min_bytes: usize) -> Self {
        self.min_bytes = min_bytes;
        self
    }

    /// Says that what the engine leaves out can only be fetched with the retrieval tool.
    #[must_use]
    pub const fn needs_retrieval(mut self) -> Self {
        self.retrieval = true;
        self
    }

    /// Says that the engine leaves handles for the retrieval tool where that can be called.
    #[must_use]
    pub const fn offers_retrieval(mut self) -> Self {
        self.handles = true;
        self
    }

    /// Says that the engine works on older turns at rewrite points.
    #[must_use]
    pub const fn rewrites_history(mut self) -> Self {
        self.history = true;
        self
    }

    /// Says that the engine looks at nothing but the one text and its call.
    #[must_use]
    pub const fn alone(mut self) -> Self {
        self.alone = true;
        self
    }

    /// Says that the engine applies the gates for facts and errors itself.
    #[must_use]
    pub const fn own_gates(mut self) -> Self {
        self.own_gates = true;
        self
    }
}

/// One text and everything before it. Later texts cannot be reached: append-only by type.
#[derive(Clone, Copy)]
pub struct SegmentView<'a, 'd> {
    upto: &'a [Segment<'d>],
    text: &'a str,
    memory: Option<&'a dyn EngineMemory>,
}

impl Debug for SegmentView<'_, '_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "SegmentView({:?} of {})", self.upto.last(), self.upto.len())
    }
}

impl<'a, 'd> SegmentView<'a, 'd> {
    /// The view of the last of `upto`, whose text stands at `text` now. `None` if there is no segment.
    pub fn new(upto: &'a [Segment<'d>], text: &'a str, memory: Option<&'a dyn EngineMemory>) -> Option<Self> {
        upto.last()?;
        Some(SegmentView { upto, text, memory })
    }

    /// The segment. Its [`Segment::original`] is the text as it came.
    pub fn this(&self) -> &'a Segment<'d> {
        self.upto.last().expect("a view has at least one segment")
    }

    /// The text as it stands before this step.
    pub fn text(&self) -> &'a str {
        self.text
    }

    /// Everything before, with what was sent for it.
    pub fn earlier(&self) -> &'a [Segment<'d>] {
        self.upto.split_last().map_or(&[], |(_, rest)| rest)
    }

    /// Position of the segment in the request.
    pub fn index(&self) -> usize {
        self.upto.len() - 1
    }

    /// For a tool result: the call it answers.
    pub fn call(&self) -> Option<&'a Call> {
        self.call_of(self.this())
    }

    /// The call that an earlier tool result answers.
    pub fn call_of(&self, segment: &Segment<'d>) -> Option<&'a Call> {
        self.upto.get(segment.call?).and_then(|s| s.as_call())
    }

    /// What the engine remembers of the earlier segments.
    pub fn memory<T: EngineMemory>(&self) -> Option<&'a T> {
        let memory: &'a dyn Any = self.memory?;
        memory.downcast_ref()
    }
}

/// What an engine remembers of the segments so far, so that it need not look at them again.
///
/// # Behavior
/// A pure function of the segments that [`CompressionEngine::settle`] has seen: it may be dropped and built
/// again at any time without a change of any output.
pub trait EngineMemory: Any + Send + Sync + Debug {
    /// Room it takes, in bytes.
    fn bytes(&self) -> usize;
}

/// An engine's answer.
#[derive(Debug)]
#[non_exhaustive]
pub enum Edit {
    /// Nothing to do; the reason is counted in the receipt.
    Keep(&'static str),
    /// Send this instead.
    Replace(Replacement),
}

/// A new text.
#[derive(Default)]
#[non_exhaustive]
pub struct Replacement {
    /// The text.
    pub text: String,
    /// What was done and how often; static names only.
    pub techniques: Vec<(&'static str, u32)>,
    /// What is not in the body any more.
    pub dropped: Dropped,
    /// Instructions for [`CompressionEngine::undo`]; none if the change cannot be taken back.
    pub undo: Option<String>,
    /// Where the original can be fetched.
    pub recoverable: Vec<BlobId>,
}

impl Debug for Replacement {
    /// The size of the text only: it may hold secrets.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut out = f.debug_struct("Replacement");
        out.field("bytes", &self.text.len()).field("techniques", &self.techniques).finish_non_exhaustive()
    }
}

impl Replacement {
    /// A new text that cannot be taken back.
    pub fn new(text: String) -> Self {
        Replacement { text, ..Replacement::default() }
    }

    /// Adds a technique.
    #[must_use]
    pub fn technique(mut self, name: &'static str, count: u32) -> Self {
        if count > 0 {
            self.techniques.push((name, count));
        }
        self
    }

    /// Sets the instructions for taking it back.
    #[must_use]
    pub fn undo(mut self, undo: String) -> Self {
        self.undo = Some(undo);
        self
    }
}

/// Why an engine gave up on a text. The text is kept and the code is counted.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
#[error("{code}: {message}")]
pub struct EngineError {
    /// Stable code.
    pub code: &'static str,
    /// For people; no text of the request.
    pub message: Cow<'static, str>,
}

impl EngineError {
    /// An error with a stable code.
    pub fn new(code: &'static str, message: impl Into<Cow<'static, str>>) -> Self {
        EngineError { code, message: message.into() }
    }
}

/// What an engine may use.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct EngineContext<'a> {
    /// Counts tokens.
    pub tokenizer: &'a dyn Tokenizer,
    /// Keeps originals.
    pub blobs: &'a dyn BlobStore,
    /// The tenant.
    pub principal: &'a Principal,
    /// The session, if the caller named one.
    pub session: Option<&'a SessionId>,
    /// Names of the tools the model may call.
    pub tools: &'a [Cow<'a, str>],
    /// Earlier content is kept by the provider and not visible in this body.
    pub continues: bool,
    /// The model can fetch what is kept in [`EngineContext::blobs`] and has been told how.
    pub reachable: bool,
    /// Only what can be computed back from the request may be taken out of it.
    pub lossless_only: bool,
}

impl<'a> EngineContext<'a> {
    /// A context without tools and session.
    pub fn new(tokenizer: &'a dyn Tokenizer, blobs: &'a dyn BlobStore, principal: &'a Principal) -> Self {
        EngineContext {
            tokenizer,
            blobs,
            principal,
            session: None,
            tools: &[],
            continues: false,
            reachable: false,
            lossless_only: false,
        }
    }
}

/// Finds the texts that an undo instruction refers to.
pub trait Sources {
    /// The text that is sent for a segment.
    fn sent(&self, id: SegmentId) -> Option<Cow<'_, str>>;
    /// The original text of an earlier segment.
    fn original(&self, id: SegmentId) -> Option<Cow<'_, str>>;
    /// The `n`-th string in the arguments of a tool call.
    fn argument(&self, id: SegmentId, n: usize) -> Option<Cow<'_, str>>;
}

/// Makes texts shorter. Three scopes; an engine implements those it needs.
pub trait CompressionEngine: Send + Sync + Debug + 'static {
    /// What it is.
    fn info(&self) -> &EngineInfo;

    /// A new text for one segment.
    ///
    /// # Behavior
    /// - Same view and settings, same answer, whatever follows later: no clock, no randomness.
    /// - An error keeps the text and is counted.
    ///
    /// # Errors
    /// [`EngineError`] with a stable code.
    fn segment(&self, view: &SegmentView<'_, '_>, cx: &EngineContext<'_>) -> Result<Edit, EngineError> {
        let _ = (view, cx);
        Ok(Edit::Keep("not_applicable"))
    }

    /// An empty memory, for engines that look at earlier segments.
    fn memory(&self) -> Option<Box<dyn EngineMemory>> {
        None
    }

    /// Takes notice of a segment whose sent text ([`SegmentView::text`]) is settled. Called once for every tool
    /// call and tool result, in order.
    fn settle(&self, view: &SegmentView<'_, '_>, memory: &mut dyn EngineMemory) {
        let _ = (view, memory);
    }

    /// Takes a change back: `after` is the text this engine produced.
    fn undo(&self, after: &str, undo: &str, sources: &dyn Sources) -> Option<String> {
        let _ = (after, undo, sources);
        None
    }

    /// Work on older turns, only where the provider's prefix cache is cold or the caller asked for it. Asked of
    /// engines whose [`EngineInfo::history`] is set.
    ///
    /// # Behavior
    /// - Same history, same answer: no clock, no randomness.
    /// - What it replaces stays so on every later turn; everything else is worked out anew from there.
    ///
    /// # Errors
    /// [`EngineError`]; everything it did is rolled back then.
    fn history(&self, past: &mut History<'_, '_>, cx: &EngineContext<'_>) -> Result<(), EngineError> {
        let _ = (past, cx);
        Ok(())
    }

    /// Last, on the provider's own wire.
    ///
    /// # Errors
    /// [`EngineError`]; the request is left as it was then.
    fn wire(&self, request: &mut ChatRequest, cx: &EngineContext<'_>) -> Result<(), EngineError> {
        let _ = (request, cx);
        Ok(())
    }
}

/// What a router needs of a compressor. Infallible: problems are in the receipt.
pub trait Compressor: Send + Sync + Debug + 'static {
    /// Compresses `request` in place. `profile` names a plan; the compressor's own if absent or unknown (then
    /// the receipt says so). `now` ages what is remembered and changes no output.
    fn compress(&self, request: &mut ChatRequest, profile: Option<&str>, now: Moment) -> CompressReceipt;
}
