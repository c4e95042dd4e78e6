//! The outcome for one text: what is sent, what each step did, how to take it back.

use std::sync::Arc;

use omniroute_core::{BlobId, Diagnostic, Dropped, SegmentLog};

/// Outcome for one text. Shared between calls, never changed.
#[derive(Debug, Clone, Default)]
pub(crate) struct SegmentResult {
    pub(crate) tokens_before: u32,
    pub(crate) tokens_after: u32,
    pub(crate) steps: Vec<StepOutcome>,
    pub(crate) sent: Option<Sent>,
    pub(crate) notes: Vec<Diagnostic>,
}

/// The new form of a text.
#[derive(Debug, Clone)]
pub(crate) struct Sent {
    pub(crate) text: Arc<str>,
    /// The JSON literal that carries it.
    pub(crate) literal: Arc<str>,
    pub(crate) edited_by: Vec<&'static str>,
    pub(crate) log: SegmentLog,
    /// What was left out of it and is kept.
    pub(crate) recoverable: Vec<BlobId>,
}

/// What one step did with one text.
#[derive(Debug, Clone, Default)]
pub(crate) struct StepOutcome {
    /// Whether the step was offered the text at all.
    pub(crate) seen: bool,
    pub(crate) tokens_in: u32,
    pub(crate) tokens_out: u32,
    pub(crate) changed: bool,
    /// Why it changed nothing.
    pub(crate) reason: Option<&'static str>,
    pub(crate) techniques: Vec<(&'static str, u32)>,
    pub(crate) dropped: Dropped,
}

impl SegmentResult {
    /// Room it takes, roughly.
    pub(crate) fn bytes(&self) -> usize {
        let sent = self.sent.as_ref().map_or(0, |s| s.text.len() + s.literal.len() + 256);
        128 + self.steps.len() * size_of::<StepOutcome>() + sent
    }
}
