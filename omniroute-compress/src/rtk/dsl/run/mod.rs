//! Runs a filter over an output, in two modes that share every decision.
//!
//! * [`exact`] writes what the authors of the dialect expect. Inline tests of files from elsewhere run in it.
//! * [`guarded`] marks a draft. It starts from the lines that the exact mode keeps and only adds: lines that match
//!   `preserve`, continuations of kept lines, everything the failure guard of the engine puts back.

mod budget;
mod exact;
mod guarded;
#[cfg(test)]
mod laws;
mod lines;
mod steps;

#[cfg(test)]
pub(crate) use exact::exact_lines;
pub(crate) use exact::{Ellipsis, exact};
pub(crate) use guarded::guarded;

use super::compile::Compiled;
use super::model::FilterDef;

/// A filter that is ready to run.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Ready<'f> {
    pub(crate) def: &'f FilterDef,
    pub(crate) compiled: &'f Compiled,
}
