//! The one terminal normaliser of the project: the text a terminal would show.
//!
//! `lite` and RTK both read command output through [`normalise`]. It replays
//! escape sequences, carriage returns and backspaces onto rows of cells and
//! gives back what stays visible.
//!
//! What is approximated, always on the side of keeping text:
//!
//! * Rows are 1,024 cells wide. Wide characters take two cells by a short
//!   table of ranges; a combining mark takes a cell of its own.
//! * Absolute cursor positions and "clear screen" start a new row instead of
//!   erasing; inserting or deleting cells, scrolling and screen modes are
//!   ignored. Moves up and down reach 128 rows; beyond the known rows they
//!   land on fresh ones, so that no visible row is overwritten by guess.
//! * A gap that only cursor moves made is written as at most four blanks.
//! * An escape sequence that is not complete on its line makes the rest of
//!   that line stay byte for byte, the escape included.
//! * NUL and the other control bytes stay: `find -print0` separates names
//!   with NUL, and joined names would be wrong facts.

mod escape;
mod held;
#[cfg(test)]
mod laws;
mod replay;
mod row;
mod scan;

use std::borrow::Cow;

/// What a terminal would show of a text, and what was taken away for it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Normalised<'a> {
    /// The visible text; borrowed when nothing had to change.
    pub(crate) text: Cow<'a, str>,
    /// Escape sequences and silent control bytes (BEL, SO, SI) removed.
    pub(crate) escapes: u32,
    /// Frames that were overwritten or erased and are not in `text`.
    pub(crate) overwrites: u32,
    /// Overwritten frames that stay as a line of their own, see [`normalise`].
    pub(crate) kept: u32,
}

/// Replays terminal control sequences and returns the visible text.
///
/// # Behavior
///
/// * Text without control sequences is borrowed after one scan.
/// * Line ends (`\n`, `\r\n`, `\r\r\n`) stay as they are.
/// * `\r`, backspace and cursor moves overlay cell by cell: the longer part of
///   an earlier text stays unless it is erased, and a final `\r` loses nothing.
/// * OSC-8 hyperlinks give their visible text and ` (url)` when the URL is not
///   that text. A plain terminal shows the text alone, but the URL may be the
///   fact that an agent acts on (the address of a failed job, a file), so it
///   stays.
/// * An overwritten frame with an error word (error, fail, warn, panic,
///   exception, fatal and the like) which the final state of its row does not
///   show stays as a line before that row, ended by `\n`. Frames that differ only in
///   percentages, sizes, times or counts of errors count as one; the newest
///   stays.
/// * The result is never longer than `text`: where it would be, gaps shrink to
///   one blank and a kept frame takes its cells along. Normalising twice
///   changes nothing.
#[must_use]
pub(crate) fn normalise(text: &str) -> Normalised<'_> {
    let unchanged = Normalised { text: Cow::Borrowed(text), escapes: 0, overwrites: 0, kept: 0 };
    let Some(first) = scan::next_control(text.as_bytes(), 0) else {
        return unchanged;
    };
    let mut done = replay::Replay::new(text, false).run(first);
    if done.out.len() > text.len() {
        done = replay::Replay::new(text, true).run(first);
    }
    if done.out.len() > text.len() || done.out == text {
        return unchanged;
    }
    Normalised {
        text: Cow::Owned(done.out),
        escapes: done.escapes,
        overwrites: done.overwrites.saturating_sub(done.kept),
        kept: done.kept,
    }
}
