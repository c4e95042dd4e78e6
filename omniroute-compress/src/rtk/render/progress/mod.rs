//! Progress text: lines that show the same step at a later state.
//!
//! A terminal draws such a line over itself; a file gets them all. In a block of progress lines only the last state
//! of each step stays. The lines of a training loop are measurements: its first and last ones stay, and those with a
//! best value or a value that is no number.

mod line;
mod meter;
mod train;

use std::ops::Range;

use crate::rtk::kit::{Draft, Output, Render, Verdict};

/// Renderers of this family by filter id.
pub(crate) const RENDERERS: &[(&str, Render)] = &[("progress", render)];

/// Folds the progress lines of an output.
pub(crate) fn render(out: &Output<'_>, draft: &mut Draft) -> Verdict {
    match fold_progress(out, draft, 0..out.len()) {
        0 => Verdict::NotMine,
        _ => Verdict::Done,
    }
}

/// Folds progress and training lines among the lines `range`; the number of lines left out.
pub(crate) fn fold_progress(out: &Output<'_>, draft: &mut Draft, range: Range<usize>) -> usize {
    let range = range.start..range.end.min(out.len());
    train::fold(out, draft, range.clone()) + meter::fold(out, draft, range)
}

#[cfg(test)]
mod tests;
