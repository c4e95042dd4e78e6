//! One replacement, and a text with all of them made.

/// Bytes `start..end` become `to`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Edit<'p> {
    pub(super) start: usize,
    pub(super) end: usize,
    pub(super) to: String,
    pub(super) rule: &'p str,
    /// Words that are kept elsewhere and that this rule may take.
    pub(super) takes: &'p [String],
    /// Words that are kept and that this rule may put in.
    pub(super) gives: &'p [String],
}

/// The text with the edits made, which are in order and do not overlap.
pub(super) fn apply(text: &str, edits: &[Edit<'_>]) -> String {
    let mut out = String::with_capacity(text.len());
    let mut at = 0;
    for edit in edits {
        out.push_str(text.get(at..edit.start).unwrap_or(""));
        out.push_str(&edit.to);
        at = edit.end;
    }
    out.push_str(text.get(at..).unwrap_or(""));
    out
}
