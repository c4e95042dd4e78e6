//! The filter language: files in which users, projects and this library say which lines of a tool's output matter.
//!
//! ```text
//! bytes -> tree -> json | toml (+ toml2, legacy) -> model::FilterDef -> compile -> run (exact | guarded)
//!                                                      check, verify: tests, laws, samples
//!                                                      set, select: which filter an output gets
//! ```
//!
//! Patterns are linear-time regular expressions; a file that asks for more is refused with the place. Every limit is
//! counted, none is timed.

mod canaries;
mod catalogue;
mod check;
mod common;
mod compile;
mod diff;
mod entry;
mod error;
mod infer;
mod inspect;
mod json;
mod legacy;
mod limits;
mod literals;
mod model;
mod pattern;
mod reader;
mod replacement;
mod run;
mod select;
mod set;
mod spot;
#[cfg(test)]
mod tests;
mod toml;
mod toml2;
mod tree;
mod verify;

pub use catalogue::FilterInfo;
pub use error::{FilterError, FilterErrorKind, FilterFormat, FilterSource, FilterWarning};
pub(crate) use inspect::{FilterFacts, inspect};
pub use model::Category;
pub use set::{FilterSet, FilterSetBuilder, LoadedFilters};
pub use verify::{CategoryReport, TestOutcome, VerifyReport, verify};
