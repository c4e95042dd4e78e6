//! Stack traces of every language, alone or inside any other text.
//!
//! A trace is a run of frames. Its exception lines, causes and messages are not frames and always stay; of the frames
//! stay the first ones of the program itself, its last one and the source lines under them. Library frames fold into
//! counted markers where they stood, cycles of a recursion are written once, and the frames of a trace that was shown
//! before are left out.

mod frame;
mod library;
mod sanitizer;
mod trace;

pub(crate) use trace::{Traces, fold_traces};

use crate::rtk::kit::{Draft, Output, Render, Verdict};

/// Renderers of this family by filter id.
pub(crate) const RENDERERS: &[(&str, Render)] = &[("error-stacktrace", render)];

/// Outputs of at most this many bytes stay whole.
const SHORT: usize = 600;

/// Folds the traces of an output that is a stack trace.
pub(crate) fn render(out: &Output<'_>, draft: &mut Draft) -> Verdict {
    if out.text.len() <= SHORT || fold_traces(out, draft, 0..out.len()) == 0 {
        return Verdict::NotMine;
    }
    Verdict::Done
}

#[cfg(test)]
mod tests;
