//! Takes compression back: from the body that was sent and the edit log of its receipt.

use std::borrow::Cow;
use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use bytes::Bytes;
use omniroute_core::{
    ApplyError, ChatRequest, CompressionEngine, Doc, DocError, EditLog, Patch, Segment, SegmentId,
    SegmentKind, SegmentLog, Sources, Transcript,
};

use crate::ccr;
use crate::entry::Parts;
use crate::pipeline::sha256_hex;
use crate::registry::ENGINES;

/// A body with compression taken back.
#[derive(Clone)]
#[non_exhaustive]
pub struct Expanded {
    /// The body.
    pub body: Bytes,
    /// Texts that have their original wording again.
    pub restored: Vec<SegmentId>,
    /// Texts that could not be brought back to the original: a layout step changed them, or a document was
    /// printed in a way of its own. They are as close as the log allows.
    pub not_restored: Vec<SegmentId>,
}

impl fmt::Debug for Expanded {
    /// The size of the body only: it may hold secrets.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut out = f.debug_struct("Expanded");
        out.field("bytes", &self.body.len()).field("restored", &self.restored);
        out.field("not_restored", &self.not_restored).finish()
    }
}

/// Why a body cannot be expanded.
#[non_exhaustive]
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ExpandError {
    /// The body is not a request.
    #[error("bad body: {0}")]
    BadBody(#[from] DocError),
    /// The log speaks of a text that the body does not have: it belongs to another body.
    #[error("the edit log names segment {0}, which the body does not have")]
    NoSuchSegment(SegmentId),
    /// The log names bytes of ours that the body does not have: it belongs to another body.
    #[error("the edit log names added bytes that the body does not have")]
    NoSuchBytes,
    /// The edits did not fit together.
    #[error(transparent)]
    Apply(#[from] ApplyError),
}

/// Restores what compression changed, text by text, and checks each against the hash of the original.
///
/// ```
/// use omniroute_compress::{compress, expand};
/// use omniroute_core::{ChatRequest, wire};
/// let file = (1..60).map(|n| format!("line {n} of the file")).collect::<Vec<_>>().join("\\n");
/// let call = |id: u8| format!(r#"{{"role":"assistant","tool_calls":[{{"id":"c{id}","function":{{"name":"read","arguments":"{{\"path\":\"a.txt\"}}"}}}}]}}"#);
/// let result = |id: u8| format!(r#"{{"role":"tool","tool_call_id":"c{id}","content":"{file}"}}"#);
/// let body = format!(r#"{{"messages":[{},{},{},{}]}}"#, call(1), result(1), call(2), result(2));
///
/// let out = compress(wire::OPENAI_CHAT, body.clone())?;
/// assert!(out.receipt.applied);
/// let sent = ChatRequest::parse(wire::OPENAI_CHAT, out.body).expect("is JSON");
/// assert_eq!(expand(&sent, &out.receipt.edits).expect("fits").body, body);
/// # Ok::<(), omniroute_compress::CompressError>(())
/// ```
///
/// # Errors
/// [`ExpandError`] if body and log do not belong together.
pub fn expand(request: &ChatRequest, log: &EditLog) -> Result<Expanded, ExpandError> {
    expand_with(request, log, &[])
}

/// As [`expand`], for plans with engines of the caller.
///
/// # Errors
/// As [`expand`].
pub fn expand_with(
    request: &ChatRequest,
    log: &EditLog,
    own: &[Arc<dyn CompressionEngine>],
) -> Result<Expanded, ExpandError> {
    let bare;
    let request = match log.added.is_empty() {
        true => request,
        false => {
            let bytes = ccr::without(request.doc().bytes(), &log.added).ok_or(ExpandError::NoSuchBytes)?;
            let mut without = request.clone();
            without.replace_doc(Doc::parse_with_limit(bytes, usize::MAX)?);
            bare = without;
            &bare
        }
    };
    let transcript = Transcript::of(request)?;
    let mut engines: HashMap<&str, Arc<dyn CompressionEngine>> = HashMap::new();
    for entry in ENGINES {
        let settings = crate::Step::new(entry.info.id).resolve(entry.fields, &mut Vec::new());
        engines.insert(entry.info.id, (entry.build)(&settings, &Parts::default()));
    }
    engines.extend(own.iter().map(|e| (e.info().id, e.clone())));

    let mut sources = Restored::of(&transcript);
    let mut patch = Patch::new();
    let mut out = Expanded { body: Bytes::new(), restored: Vec::new(), not_restored: Vec::new() };
    // What was put away at a rewrite point refers to texts further down: these come first.
    let later = |entry: &&SegmentLog| {
        let engine = entry.steps.last().and_then(|step| engines.get(step.engine.as_str()));
        engine.is_some_and(|engine| engine.info().history)
    };
    let order = log.segments.iter().filter(|e| !later(e)).chain(log.segments.iter().filter(later));
    for entry in order {
        let Some(segment) = sources.segment(entry.segment) else {
            return Err(ExpandError::NoSuchSegment(entry.segment));
        };
        let text = undo(segment.original(), entry, &engines, &sources);
        let exact = sha256_hex(&text) == entry.original_sha256;
        let list = if exact { &mut out.restored } else { &mut out.not_restored };
        list.push(entry.segment);
        if let Some(node) = segment.node() {
            patch.set_escaped(node, segment.literal_for(&text).into());
        }
        sources.originals.insert(entry.segment, text);
    }
    out.restored.sort_unstable();
    out.not_restored.sort_unstable();
    let mut expanded = request.clone();
    expanded.apply(&patch)?;
    out.body = expanded.to_bytes();
    Ok(out)
}

/// Undoes the steps of one text from the last to the first, as far as they can be undone.
fn undo(
    sent: &str,
    log: &SegmentLog,
    engines: &HashMap<&str, Arc<dyn CompressionEngine>>,
    sources: &dyn Sources,
) -> String {
    let mut text = sent.to_owned();
    for step in log.steps.iter().rev() {
        let before = engines.get(step.engine.as_str()).zip(step.undo.as_deref());
        match before.and_then(|(engine, undo)| engine.undo(&text, undo, sources)) {
            Some(before) => text = before,
            None => break,
        }
    }
    text
}

/// The texts of the body and those restored so far.
struct Restored<'a, 'd> {
    segments: HashMap<SegmentId, &'a Segment<'d>>,
    originals: HashMap<SegmentId, String>,
}

impl<'a, 'd> Restored<'a, 'd> {
    fn of(transcript: &'a Transcript<'d>) -> Self {
        let edited = |s: &&Segment<'_>| {
            matches!(s.kind, SegmentKind::ToolCall | SegmentKind::ToolResult | SegmentKind::User)
        };
        let segments = transcript.segments().iter().filter(edited).map(|s| (s.id, s)).collect();
        Restored { segments, originals: HashMap::new() }
    }

    fn segment(&self, id: SegmentId) -> Option<&'a Segment<'d>> {
        self.segments.get(&id).copied()
    }
}

impl Sources for Restored<'_, '_> {
    fn sent(&self, id: SegmentId) -> Option<Cow<'_, str>> {
        self.segment(id).map(|s| Cow::Borrowed(s.original()))
    }

    fn original(&self, id: SegmentId) -> Option<Cow<'_, str>> {
        match self.originals.get(&id) {
            Some(text) => Some(Cow::Borrowed(text)),
            None => self.sent(id),
        }
    }

    fn argument(&self, id: SegmentId, n: usize) -> Option<Cow<'_, str>> {
        self.segment(id)?.argument_leaves().into_iter().nth(n).map(Cow::Owned)
    }
}
