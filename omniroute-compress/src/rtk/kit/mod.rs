//! What every renderer and filter works with: the output it is given, the draft it marks, and how the draft becomes
//! the text that is sent.
//!
//! A renderer never writes the result itself. It marks lines of a [`Draft`]: keep (the default), drop with a counted
//! marker, cover by a text of its own. [`assemble`] then puts protected lines back, folds repeats and writes the
//! markers, the same way for all.

mod assemble;
mod draft;
mod fold;
mod guard;
mod level;
mod output;
mod template;
mod truncate;
mod what;

pub(crate) use assemble::{Assembled, assemble};
pub(crate) use draft::{Draft, Verdict};
pub(crate) use guard::{Severity, hides, severity};
pub(crate) use level::Level;
pub(crate) use output::Output;
pub(crate) use truncate::{location_len, truncate};
pub(crate) use what::{What, marker};

/// A dedicated renderer: marks the draft, or says that the output is not of its grammar.
pub(crate) type Render = fn(&Output<'_>, &mut Draft) -> Verdict;
