//! RTK: command output with fewer tokens and every fact an agent acts on.
//!
//! The way of one tool result: `detect` finds the class from the command or the text, `run` shows it as a
//! terminal would and lets the class's renderer (`render`) or declarative filter (`dsl`) mark a draft, and
//! `kit` puts protected lines back and writes what is sent.

mod detect;
pub(crate) mod dsl;
mod filters;
pub(crate) mod kit;
mod render;
pub(crate) mod run;
pub mod trust;

pub use dsl::{
    Category, CategoryReport, FilterError, FilterErrorKind, FilterFormat, FilterInfo, FilterSet,
    FilterSetBuilder, FilterSource, FilterWarning, LoadedFilters, TestOutcome, VerifyReport, verify,
};

/// What the filters of a file can do to an output, for [`trust::Preview::open`].
///
/// # Errors
/// What is wrong with the file, in one line.
pub fn risks(
    source: FilterSource,
    format: trust::Format,
    bytes: &[u8],
) -> Result<trust::RiskSummary, String> {
    let format = match format {
        trust::Format::Json => FilterFormat::Json,
        trust::Format::Toml => FilterFormat::Toml,
    };
    let (facts, errors) = dsl::inspect(source, format, "the file", bytes);
    if let Some(error) = errors.first() {
        return Err(error.to_string());
    }
    let ids = |wanted: fn(&dsl::FilterFacts) -> bool| {
        facts.iter().filter(|f| wanted(f)).map(|f| f.id.clone()).collect()
    };
    Ok(trust::RiskSummary {
        filters: facts.len(),
        uses_replace: ids(|f| f.replaces),
        uses_match_output: ids(|f| f.answers),
        matches_everything: ids(|f| f.is_for_everything),
        hides_error_canaries: ids(|f| f.hides_errors),
        on_empty_messages: facts.iter().filter_map(|f| f.on_empty.clone()).collect(),
    })
}

/// Classes whose records may be left out in great numbers, so that their original is worth keeping.
pub(crate) const LOG_CLASSES: &[&str] = &["log", "docker-logs", "journalctl", "ci-log"];
