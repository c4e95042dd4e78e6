//! What compression did, in numbers: every change, every reason not to change, everything dropped.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::diagnostic::Diagnostic;
use crate::doc::DocError;
use crate::segment::{SegmentId, SegmentKind};

/// The record of one compression. Holds no text of the request.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[non_exhaustive]
pub struct CompressReceipt {
    /// Plan that was asked for, for instance `"safe"`.
    pub plan: String,
    /// Identity of the plan: engines, versions, settings and counter. Equal fingerprints give equal output.
    pub fingerprint: String,
    /// Wire the body was read as.
    pub wire: String,
    /// Whether the body was changed.
    pub applied: bool,
    /// Why nothing was attempted.
    pub skipped: Option<Skip>,
    /// Why all edits were taken back.
    pub reverted: Option<&'static str>,
    /// What counted the tokens.
    pub counter: CounterInfo,
    /// Tokens of the request as it came.
    pub tokens_before: u64,
    /// Tokens of the request as it is sent.
    pub tokens_after: u64,
    /// Bytes of the body as it came.
    pub bytes_before: u64,
    /// Bytes of the body as it is sent.
    pub bytes_after: u64,
    /// Totals per kind of text.
    pub by_kind: BTreeMap<SegmentKind, KindTotals>,
    /// One entry a step of the plan, in order.
    pub steps: Vec<StepReceipt>,
    /// What is not in the body any more.
    pub dropped: Dropped,
    /// How much was known from earlier calls.
    pub memo: MemoUse,
    /// Bytes of text handed to engines in this call: the measure of work.
    pub engine_bytes: u64,
    /// Remarks.
    pub notes: Vec<Diagnostic>,
    /// A rewrite of older turns, done or not worth it; none where the history stays as it was sent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rewrite: Option<Rewritten>,
    /// Texts of our own that were added, such as the note about the retrieval tool.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub added: Vec<Added>,
    /// How to restore what was changed.
    pub edits: EditLog,
}

impl CompressReceipt {
    /// Tokens saved.
    pub fn tokens_saved(&self) -> u64 {
        self.tokens_before.saturating_sub(self.tokens_after)
    }

    /// Engines that changed something and how many texts each changed.
    pub fn engines(&self) -> impl Iterator<Item = (&str, u32)> {
        self.steps.iter().filter(|s| s.segments_changed > 0).map(|s| (s.engine.as_str(), s.segments_changed))
    }
}

/// A text of our own in the body.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Added {
    /// What it is, for instance `"ccr_protocol"`.
    pub kind: &'static str,
    /// Its tokens; part of the tokens of the request as it is sent.
    pub tokens: u64,
}

impl Added {
    /// A text of this kind and length.
    pub const fn new(kind: &'static str, tokens: u64) -> Self {
        Added { kind, tokens }
    }
}

/// A rewrite of older turns: done or, where it would not have paid, only worked out.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Rewritten {
    /// Why the history could be rewritten: `"cold"`, `"no_cache"`, `"history_changed"`, `"threshold"`, `"always"`.
    pub reason: &'static str,
    /// Whether it was.
    pub done: bool,
    /// Texts in another form than before.
    pub texts: u32,
    /// Tokens that every further turn saves.
    pub tokens_saved: u64,
    /// Tokens that the provider had cached and has to take in again.
    pub tokens_resent: u64,
    /// What it costs now, in 1e-12 USD; negative if it saves at once.
    pub cost_now_pico: i64,
    /// What every further turn saves, in 1e-12 USD.
    pub saves_per_turn_pico: i64,
    /// Turns after which it has paid; none: never.
    pub pays_after_turns: Option<u64>,
}

impl Rewritten {
    /// A rewrite for a reason, done or not.
    pub fn new(reason: &'static str, done: bool) -> Self {
        Rewritten { reason, done, ..Rewritten::default() }
    }

    /// Sets the number of texts.
    #[must_use]
    pub fn texts(mut self, texts: u32) -> Self {
        self.texts = texts;
        self
    }

    /// Sets the tokens saved a turn and sent again once.
    #[must_use]
    pub fn tokens(mut self, saved: u64, resent: u64) -> Self {
        (self.tokens_saved, self.tokens_resent) = (saved, resent);
        self
    }

    /// Sets what it costs now and saves a turn.
    #[must_use]
    pub fn money(mut self, now_pico: i64, per_turn_pico: i64) -> Self {
        (self.cost_now_pico, self.saves_per_turn_pico) = (now_pico, per_turn_pico);
        self
    }

    /// Sets the turns after which it has paid.
    #[must_use]
    pub fn pays_after(mut self, turns: Option<u64>) -> Self {
        self.pays_after_turns = turns;
        self
    }
}

/// Why a body was left alone.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Skip {
    /// `"off"`, `"unparseable"`, `"body_too_large"` or `"unknown_wire"`.
    pub code: &'static str,
    /// For people: the rule that was broken.
    pub detail: String,
    /// The place in the body, if there is one.
    pub at: Option<Place>,
}

/// A place in a body.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Place {
    /// Byte offset from 0.
    pub offset: usize,
    /// Line from 1.
    pub line: u32,
    /// Column in characters from 1.
    pub column: u32,
}

impl Skip {
    /// A reason without a place.
    pub fn new(code: &'static str, detail: impl Into<String>) -> Self {
        Skip { code, detail: detail.into(), at: None }
    }

    /// The reason that a body could not be read.
    pub fn unreadable(error: &DocError) -> Self {
        let code = if error.rule() == crate::Rule::Size { "body_too_large" } else { "unparseable" };
        let at = Place { offset: error.offset(), line: error.line(), column: error.column() };
        Skip { code, detail: format!("{}: {}", error.rule().code(), error.detail()), at: Some(at) }
    }
}

/// What counted the tokens.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct CounterInfo {
    /// Name of the counter, for instance `"estimate:o200k"`.
    pub name: String,
    /// Whether its numbers are exact.
    pub exact: bool,
}

impl CounterInfo {
    /// Name and exactness.
    pub fn new(name: impl Into<String>, exact: bool) -> Self {
        CounterInfo { name: name.into(), exact }
    }
}

/// Totals over the texts of one kind.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct KindTotals {
    /// Number of texts.
    pub segments: u32,
    /// Tokens as they came.
    pub tokens_before: u64,
    /// Tokens as they are sent.
    pub tokens_after: u64,
}

/// What one step did over the whole request. Figures of a step that changed nothing are equal, not missing.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct StepReceipt {
    /// Id of the engine.
    pub engine: String,
    /// Version of the engine.
    pub version: u32,
    /// Texts it was offered.
    pub segments_seen: u32,
    /// Texts it changed.
    pub segments_changed: u32,
    /// Tokens of the texts it was offered.
    pub tokens_in: u64,
    /// Tokens of these texts after it.
    pub tokens_out: u64,
    /// Tokens of the whole request before it.
    pub request_tokens_in: u64,
    /// Tokens of the whole request after it.
    pub request_tokens_out: u64,
    /// What it did and how often.
    pub techniques: BTreeMap<&'static str, u32>,
    /// Why it left texts alone and how often.
    pub skips: BTreeMap<&'static str, u32>,
}

/// What is not in the body any more. Text that is still elsewhere in the same body does not count.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Dropped {
    /// Lines taken out.
    pub lines: u64,
    /// Table rows taken out.
    pub rows: u64,
    /// Bytes taken out: layout, escape sequences, repeated or overwritten lines.
    pub bytes: u64,
    /// Of these, bytes that can be fetched back from a store.
    pub recoverable_bytes: u64,
}

impl Dropped {
    /// Adds another count.
    pub fn add(&mut self, other: &Dropped) {
        self.lines += other.lines;
        self.rows += other.rows;
        self.bytes += other.bytes;
        self.recoverable_bytes += other.recoverable_bytes;
    }
}

/// How much was known from earlier calls.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct MemoUse {
    /// Texts whose result was known.
    pub hits: u32,
    /// Texts that were worked on.
    pub misses: u32,
}

/// How to restore the texts that were changed, in order. Needs the body that was sent.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct EditLog {
    /// One entry a changed text.
    pub segments: Vec<SegmentLog>,
    /// Bytes of our own in the body that was sent, in order. They are taken out before anything else.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub added: Vec<AddedBytes>,
}

/// Bytes in a body that was sent that were not in the body as it came.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct AddedBytes {
    /// Where they start in the body that was sent.
    pub at: u64,
    /// How many there are.
    pub bytes: u64,
}

impl AddedBytes {
    /// This many bytes at this place.
    pub const fn new(at: u64, bytes: u64) -> Self {
        AddedBytes { at, bytes }
    }
}

/// How to restore one text.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct SegmentLog {
    /// Where it stands.
    pub segment: SegmentId,
    /// SHA-256 of the original text, in hex.
    pub original_sha256: String,
    /// Whether the literal can be restored byte for byte, not only its text.
    pub exact_literal: bool,
    /// The steps that changed it, in the order in which they ran.
    pub steps: Vec<EditStep>,
}

/// One change of one text.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct EditStep {
    /// Id of the engine.
    pub engine: String,
    /// The engine's own instructions for taking the change back; none if it cannot be taken back.
    pub undo: Option<String>,
}

impl SegmentLog {
    /// An entry for one text.
    pub fn new(segment: SegmentId, original_sha256: String, exact_literal: bool) -> Self {
        SegmentLog { segment, original_sha256, exact_literal, steps: Vec::new() }
    }

    /// Adds a step.
    pub fn push(&mut self, engine: &str, undo: Option<String>) {
        self.steps.push(EditStep { engine: engine.to_owned(), undo });
    }
}
