//! What detection answers: the class of a text, how sure it is, and why.

use std::ops::Range;

/// Nothing recognised: lossless passes only.
pub(crate) const UNKNOWN: &str = "unknown";
/// The contents of a file, a page or search hits: every byte stays.
pub(crate) const FILE_VIEW: &str = "file-view";
/// Machine format (JSON, JSON lines, YAML, CSV, XML): lossless transforms only.
pub(crate) const STRUCTURED: &str = "structured";
/// Records of a logger, whoever printed them.
pub(crate) const LOG: &str = "log";
/// The trace of an exception, a panic or a sanitizer.
pub(crate) const TRACE: &str = "error-stacktrace";

#[cfg(test)]
/// Lowest confidence, in percent, at which a filter may drop lines.
pub(crate) const DROP: u8 = 70;
/// Lowest confidence, in percent, at which a filter may fold lines; below it lines are only kept.
pub(crate) const FOLD: u8 = 60;

/// What the class was found by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub(crate) enum By {
    /// The command line of the linked call.
    Command,
    /// Anchors in the text.
    Text,
    /// The name of a tool that is no shell.
    Tool,
    /// Nothing was found.
    #[default]
    None,
}

/// The kind of one piece of evidence.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Kind {
    /// Words of the command.
    Command,
    /// A line that opens an output or one of its parts.
    Header,
    /// A line in the tool's own grammar.
    Line,
    /// Totals or a verdict.
    Summary,
    /// The name of the tool.
    Tool,
}

/// One reason for a class.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Evidence {
    /// What kind of reason it is.
    pub(crate) kind: Kind,
    /// The name of the rule.
    pub(crate) rule: &'static str,
    /// The line it was found on, counted from 0 inside the text or section.
    pub(crate) line: Option<u32>,
}

/// The class of one text or section.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Detection {
    /// [`UNKNOWN`], [`FILE_VIEW`], [`STRUCTURED`], [`LOG`], [`TRACE`] or the id of a filter.
    pub(crate) class: &'static str,
    /// Program and arguments of the command that printed, wrappers and global options left out; empty when unknown.
    pub(crate) words: Vec<String>,
    /// Lines may be missing: the output went through `head`, `tail`, `grep` or lost one of its streams.
    pub(crate) partial: bool,
    /// The command asked for detail (`-v`, `--nocapture`, `-U5`): one step gentler.
    pub(crate) detail: bool,
    /// Percent, 0 to 100; see [`DROP`] and [`FOLD`].
    pub(crate) confidence: u8,
    /// Where the class comes from.
    pub(crate) by: By,
    /// At most four reasons.
    pub(crate) evidence: Vec<Evidence>,
}

impl Detection {
    /// A text about which nothing is known.
    pub(crate) fn unknown() -> Self {
        Self {
            class: UNKNOWN,
            words: Vec::new(),
            partial: false,
            detail: false,
            confidence: 0,
            by: By::None,
            evidence: Vec::new(),
        }
    }

    /// The same words and marks with the class taken away.
    pub(super) fn forget(self) -> Self {
        Self { class: UNKNOWN, confidence: 0, by: By::None, evidence: Vec::new(), ..self }
    }
}

/// The answer for one tool result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Detected {
    /// One class for the whole text.
    One(Detection),
    /// Parts in order; the byte ranges start and end at line starts and cover the text without a gap.
    Sections(Vec<(Range<usize>, Detection)>),
}

#[cfg(test)]
impl Detected {
    /// The detections in order.
    pub(super) fn all(&self) -> Vec<&Detection> {
        match self {
            Self::One(one) => vec![one],
            Self::Sections(all) => all.iter().map(|(_, one)| one).collect(),
        }
    }
}
