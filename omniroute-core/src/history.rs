//! Older turns at a rewrite point: what an engine may look at and replace there.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use crate::call::Call;
use crate::engine::Replacement;
use crate::segment::{Segment, SegmentKind};

/// The texts of a request at a rewrite point, with the form in which each would be sent.
///
/// Texts before [`History::end`] are old enough to be replaced; later ones are there to be looked at. Nothing can be
/// added, moved or removed, and no text but a tool's result can be replaced; of the user's texts those that the caller
/// has opened.
pub struct History<'a, 'd> {
    segments: &'a [Segment<'d>],
    end: usize,
    user: BTreeSet<usize>,
    edits: BTreeMap<usize, (&'static str, Replacement)>,
}

impl fmt::Debug for History<'_, '_> {
    /// Counts only: texts may hold secrets.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("History")
            .field("segments", &self.segments.len())
            .field("end", &self.end)
            .field("edits", &self.edits.len())
            .finish()
    }
}

impl<'a, 'd> History<'a, 'd> {
    /// A history of which the first `end` texts may be replaced.
    pub fn new(segments: &'a [Segment<'d>], end: usize) -> Self {
        History { segments, end: end.min(segments.len()), user: BTreeSet::new(), edits: BTreeMap::new() }
    }

    /// Opens texts of the user, wherever they stand.
    #[must_use]
    pub fn open_user(mut self, texts: BTreeSet<usize>) -> Self {
        self.user = texts;
        self
    }

    /// All texts; [`Segment::sent`] is the form in which one would be sent.
    pub fn segments(&self) -> &'a [Segment<'d>] {
        self.segments
    }

    /// Texts from here on stay as they are.
    pub fn end(&self) -> usize {
        self.end
    }

    /// Whether this text may be replaced: an old result that is not sealed, is no error and was not replaced yet, or
    /// a text of the user that was opened.
    pub fn is_open(&self, index: usize) -> bool {
        let open = |s: &Segment<'_>| {
            let kind = match s.kind {
                SegmentKind::ToolResult => index < self.end && !s.is_error,
                SegmentKind::User => self.user.contains(&index),
                _ => false,
            };
            kind && s.frozen.is_none() && s.node().is_some()
        };
        !self.edits.contains_key(&index) && self.segments.get(index).is_some_and(open)
    }

    /// The call that a result answers.
    pub fn call_of(&self, index: usize) -> Option<&'a Call> {
        let call = self.segments.get(index)?.call?;
        self.segments.get(call).and_then(|s| s.as_call())
    }

    /// Replaces a text for the engine `by`; false if it may not be replaced.
    pub fn replace(&mut self, by: &'static str, index: usize, replacement: Replacement) -> bool {
        let open = self.is_open(index);
        if open {
            self.edits.insert(index, (by, replacement));
        }
        open
    }

    /// Takes everything back that `by` did.
    pub fn take_back(&mut self, by: &str) {
        self.edits.retain(|_, (engine, _)| *engine != by);
    }

    /// What was replaced, in order, and by which engine.
    pub fn into_edits(self) -> BTreeMap<usize, (&'static str, Replacement)> {
        self.edits
    }
}
