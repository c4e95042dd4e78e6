//! Logs: records of loggers, servers, journals and CI jobs.
//!
//! Every error stays, and every warning that says something new; so do the first and last records, the ones before an
//! error, starts and stops. The rest is folded by template: the text without numbers, identifiers and durations, with
//! an exact count and the first and last time.

mod choose;
mod emit;
mod head;
mod json;
mod level;
mod loud;
mod mask;
mod scan;
mod stamp;
mod table;
mod values;

use crate::rtk::kit::{Draft, Output, Render, Verdict};
use crate::rtk::render::stack::fold_traces;

/// Renderers of this family by filter id.
pub(crate) const RENDERERS: &[(&str, Render)] =
    &[("docker-logs", render), ("log", render), ("journalctl", render), ("ci-log", render)];

/// Fewest records of a log.
const MIN_RECORDS: usize = 8;
/// Outputs of at most this many bytes stay whole.
const SHORT: usize = 600;

/// Folds a log.
pub(crate) fn render(out: &Output<'_>, draft: &mut Draft) -> Verdict {
    if out.text.len() <= SHORT {
        return Verdict::NotMine;
    }
    let scan = scan::scan(out);
    let all = scan.records.len();
    // Of a command that prints logs, half of the records may have no head.
    let enough = if out.words.is_empty() { scan.headed * 5 >= all * 4 } else { scan.headed * 2 >= all };
    if scan.headed < MIN_RECORDS || !enough {
        return Verdict::NotMine;
    }
    if !emit::folds(out.level) {
        fold_traces(out, draft, 0..out.len());
        return Verdict::Done;
    }
    let fates = choose::choose(out, &scan);
    emit::emit(out, draft, &scan, &fates);
    Verdict::Done
}

#[cfg(test)]
mod tests;
