//! The closed vocabulary of omission markers.

use std::fmt::Write as _;

/// What was left out at a gap.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub(crate) enum What {
    /// Anything without a name of its own.
    Lines,
    /// Tests that passed.
    PassingTests,
    /// Tests that were skipped.
    SkippedTests,
    /// Stack frames of libraries.
    LibraryFrames,
    /// Stack frames of the program beyond the first ones.
    Frames,
    /// Files of a listing.
    Files,
    /// Hits of a search.
    Matches,
    /// Rows of a table.
    Rows,
    /// Removed lines of a diff.
    RemovedLines,
    /// Unchanged lines of a diff.
    ContextLines,
    /// States of a progress display.
    Progress,
    /// Records of a log.
    Records,
    /// Warnings that were shown before.
    Warnings,
    /// Steps of a build, an installation or a deployment that went well.
    Steps,
    /// Packages of an installation.
    Packages,
    /// Lines that repeat others.
    Repeats,
    /// Files of tests that passed.
    PassingSuites,
}

impl What {
    /// All words, in the order of their numbers.
    pub(crate) const ALL: [What; 17] = [
        What::Lines,
        What::PassingTests,
        What::SkippedTests,
        What::LibraryFrames,
        What::Frames,
        What::Files,
        What::Matches,
        What::Rows,
        What::RemovedLines,
        What::ContextLines,
        What::Progress,
        What::Records,
        What::Warnings,
        What::Steps,
        What::Packages,
        What::Repeats,
        What::PassingSuites,
    ];

    /// The word for `count` of them.
    pub(crate) fn noun(self, count: u64) -> &'static str {
        let (one, many) = match self {
            What::Lines => ("line", "lines"),
            What::PassingTests => ("passing test", "passing tests"),
            What::SkippedTests => ("skipped test", "skipped tests"),
            What::LibraryFrames => ("library frame", "library frames"),
            What::Frames => ("frame", "frames"),
            What::Files => ("file", "files"),
            What::Matches => ("match", "matches"),
            What::Rows => ("row", "rows"),
            What::RemovedLines => ("removed line", "removed lines"),
            What::ContextLines => ("context line", "context lines"),
            What::Progress => ("progress line", "progress lines"),
            What::Records => ("log record", "log records"),
            What::Warnings => ("repeated warning", "repeated warnings"),
            What::Steps => ("step", "steps"),
            What::Packages => ("package", "packages"),
            What::Repeats => ("repeat", "repeats"),
            What::PassingSuites => ("passing suite", "passing suites"),
        };
        if count == 1 { one } else { many }
    }
}

/// The marker for a gap: `[rtk: 12 passing tests omitted]`, with `, id=<handle>` where the original is kept.
pub(crate) fn marker(count: u64, what: What, handle: Option<&str>) -> String {
    let mut text = format!("[rtk: {count} {} omitted", what.noun(count));
    if let Some(id) = handle {
        let _ = write!(text, ", id={id}");
    }
    text.push(']');
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markers_are_single_ascii_lines() {
        for (n, what) in What::ALL.into_iter().enumerate() {
            assert_eq!(what as usize, n);
            let text = marker(3, what, Some("0123456789abcdef01234567"));
            assert!(text.is_ascii() && !text.contains('\n') && text.starts_with("[rtk: 3 "), "{text}");
        }
        assert_eq!(marker(1, What::Matches, None), "[rtk: 1 match omitted]");
    }
}
