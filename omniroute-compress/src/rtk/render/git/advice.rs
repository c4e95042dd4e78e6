//! Advice that git gives every time: hints, and the lecture on a detached `HEAD`.

use crate::rtk::kit::{Draft, Level, Output};

use super::bytes::is_short;

/// How the lecture on a detached `HEAD` begins.
pub(super) const DETACHED: &str = "You are in 'detached HEAD' state.";

/// Lines of the lecture, from their start.
const LECTURE: [&str; 9] = [
    "changes and commit them, and you can discard",
    "state without impacting any branches",
    "If you want to create a new branch to retain",
    "do so (now or later) by using -",
    "  git switch -c <new-branch-name>",
    "  git checkout -b <new-branch-name>",
    "Or undo this operation with:",
    "  git switch -",
    "Turn off this advice by setting config variable",
];

/// Whether a line says that a command did not do what it was to do.
pub(super) fn is_failure(line: &str) -> bool {
    match line.as_bytes().first() {
        Some(b'e') => line.starts_with("error: "),
        Some(b'f') => line.starts_with("fatal: "),
        Some(b'C') => line.starts_with("CONFLICT"),
        Some(b' ') => line.starts_with(" ! ["),
        _ => false,
    }
}

/// A hint stays if something failed, unless it says only how to switch it off.
pub(super) fn hint(out: &Output<'_>, draft: &mut Draft, at: usize, failed: bool) -> Option<usize> {
    let text = out.line(at).strip_prefix("hint:")?.trim_start();
    let empty = text.is_empty()
        || text.starts_with("Disable this message with")
        || text.starts_with("See the 'Note about");
    let tells = failed && (out.level != Level::Aggressive || text.starts_with("Updates"));
    if empty || !tells {
        draft.noise(at);
    }
    Some(at + 1)
}

/// The first sentence of the lecture stays.
pub(super) fn detached(out: &Output<'_>, draft: &mut Draft, at: usize) -> Option<usize> {
    if is_short(out) || out.level == Level::Minimal {
        return None;
    }
    let is_lecture = |line: &str| LECTURE.iter().any(|l| line.starts_with(l));
    let mut end = at + 1;
    while end < out.len() && (is_lecture(out.line(end)) || out.line(end).is_empty()) {
        end += 1;
    }
    if end == at + 1 {
        return None;
    }
    draft.replace(at, DETACHED);
    (at + 1..end).for_each(|i| draft.noise(i));
    Some(end)
}
