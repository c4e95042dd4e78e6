//! The record of a session, and what it decides: whether the model can fetch what is left out.

use omniroute_core::{ChatRequest, Segment, SegmentKind, Transcript};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::epoch::Epoch;
use super::keys::field;
use crate::ccr::{self, Placement, SENTINEL};
use crate::sessions::SessionKey;
use crate::style::OutputStyle;

/// Raised when records of an older version mean something else.
const VERSION: u32 = 1;

/// What is remembered of a session.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct SessionRecord {
    version: u32,
    /// Whether the model was told of the retrieval tool in the first request.
    pub(super) retrieval: Option<bool>,
    /// The style that answers were asked to have in the first request.
    #[serde(default)]
    pub(super) style: Option<String>,
    /// When it last asked, in milliseconds since 1970; 0 if no time was told.
    #[serde(default)]
    pub(super) last_ms: i64,
    /// How long the provider keeps what it was sent then.
    #[serde(default)]
    pub(super) ttl_ms: i64,
    /// Starts of the keys of its calls and results, to see when the client changes them.
    #[serde(default)]
    pub(super) trail: Vec<u32>,
    /// The rewrite in force.
    #[serde(default)]
    pub(super) epoch: Option<Epoch>,
}

impl SessionRecord {
    /// Reads a record; nothing if it is from another version or damaged.
    pub(super) fn read(bytes: Option<bytes::Bytes>) -> SessionRecord {
        let record: Option<SessionRecord> = bytes.and_then(|bytes| serde_json::from_slice(&bytes).ok());
        record.filter(|record| record.version == VERSION).unwrap_or_default()
    }

    /// The bytes of the record.
    pub(super) fn write(mut self) -> bytes::Bytes {
        self.version = VERSION;
        serde_json::to_vec(&self).unwrap_or_default().into()
    }
}

/// Who asks: the session that the caller names, or else how the conversation starts.
pub(super) fn key(request: &ChatRequest, transcript: &Transcript<'_>) -> SessionKey {
    let mut hash = Sha256::new();
    field(&mut hash, request.principal().as_str().as_bytes());
    field(&mut hash, request.wire().id().as_bytes());
    if let Some(session) = request.session() {
        hash.update([1]);
        field(&mut hash, session.as_str().as_bytes());
        return hash.finalize().into();
    }
    hash.update([0]);
    for segment in transcript.segments().iter().filter(|s| s.kind != SegmentKind::ToolDefinition) {
        hash.update([segment.kind as u8]);
        field(&mut hash, segment.raw());
        if segment.kind == SegmentKind::User {
            break;
        }
    }
    hash.finalize().into()
}

/// Whether the model can fetch what is left out, and has to be told how.
#[derive(Debug, Default)]
pub(super) struct Reach {
    /// It can, and it is told or has been told.
    pub(super) on: bool,
    /// Where the note goes; none if it is there already.
    pub(super) note: Option<Placement>,
}

impl Reach {
    /// Decides once a session, in its first request. Without a record of it the request's tools decide alone, so
    /// that every turn comes to the same answer.
    pub(super) fn decide(
        request: &ChatRequest,
        transcript: &Transcript<'_>,
        record: &mut SessionRecord,
    ) -> Reach {
        let tool = transcript.tools().iter().find(|name| ccr::is_tool(name));
        let before = if is_first(transcript.segments()) { None } else { record.retrieval };
        let wanted = before.unwrap_or_else(|| tool.is_some() && ccr::tool_choice_allows(request.doc()));
        record.retrieval = Some(wanted);
        let Some(tool) = tool.filter(|_| wanted) else { return Reach::default() };
        let told = |s: &Segment<'_>| s.kind == SegmentKind::System && is_told(s.original());
        if transcript.segments().iter().any(told) {
            return Reach { on: true, note: None };
        }
        let note = Placement::find(request.wire().id(), request.doc(), tool);
        Reach { on: note.is_some(), note }
    }
}

/// The text about the style of answers, if the session has one: as the first request had it, and only if the caller does
/// not say it already.
pub(super) fn style(
    style: &OutputStyle,
    transcript: &Transcript<'_>,
    record: &mut SessionRecord,
) -> Option<String> {
    let before = if is_first(transcript.segments()) { None } else { record.style.clone() };
    let wanted = before.unwrap_or_else(|| style.to_string());
    record.style = Some(wanted.clone());
    let told = |s: &Segment<'_>| s.kind == SegmentKind::System && OutputStyle::is_told(s.original());
    let style = OutputStyle::parse(&wanted).ok()?;
    (!transcript.segments().iter().any(told)).then(|| style.text())
}

/// Whether a system text is the note, or ends with it behind an empty line, as where there is one text only.
fn is_told(text: &str) -> bool {
    let note = text.rfind(SENTINEL).and_then(|at| text.get(..at));
    note.is_some_and(|before| before.is_empty() || before.ends_with("\n\n"))
}

/// Whether nobody has answered yet.
fn is_first(segments: &[Segment<'_>]) -> bool {
    let answered = |kind| {
        matches!(
            kind,
            SegmentKind::Assistant | SegmentKind::Reasoning | SegmentKind::ToolCall | SegmentKind::ToolResult
        )
    };
    !segments.iter().any(|s| answered(s.kind))
}
