//! What the authors of a dialect expect: no failure guard, their own gap lines.

use super::super::model::Dialect;
use super::Ready;
use super::budget::Piece;
use super::lines::Lines;
use super::steps::{Scope, decide};
use crate::rtk::kit::{Level, Output, truncate};

/// How a cut line ends. Authors of TOML files write either.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ellipsis {
    /// One character.
    Single,
    /// Three dots.
    Dots,
}

/// The text after the filter, without a final line end.
pub(crate) fn exact(filter: Ready<'_>, text: &str, level: Level, ellipsis: Ellipsis) -> String {
    let out = Output::new(text, level);
    let mut lines = Lines::new(filter, text, &out.lines);
    lines.rewrite(filter, text.len());
    if let Some(rule) = output_hit(filter, text, &lines) {
        return filter.def.rules.match_output.get(rule).map_or_else(String::new, |r| r.message.clone());
    }
    let v1 = filter.def.dialect == Dialect::TomlV1;
    let scope = Scope { level, counted_only: false, default_budget: true };
    let mut result = Vec::new();
    for piece in decide(filter, &lines, scope).pieces {
        result.push(match piece {
            Piece::Lines { start, len } => shown(filter, lines.get(start), len, ellipsis),
            Piece::Omitted(n) if v1 => format!("... ({n} lines omitted)"),
            Piece::Truncated(n) => format!("... ({n} lines truncated)"),
            Piece::Omitted(n) => format!("[rtk: {n} lines omitted]"),
        });
    }
    let result = result.join("\n");
    match &filter.def.rules.on_empty {
        Some(message) if result.trim().is_empty() && (v1 || !text.trim().is_empty()) => message.clone(),
        _ => result,
    }
}

fn shown(filter: Ready<'_>, line: &str, count: usize, ellipsis: Ellipsis) -> String {
    let max = filter.def.rules.truncate_at;
    let end = if ellipsis == Ellipsis::Dots { "..." } else { "\u{2026}" };
    let mut line = match max {
        0 => line.to_owned(),
        max => truncate(line, max, end).unwrap_or_else(|| line.to_owned()),
    };
    if count > 1 && !line.trim().is_empty() {
        line.push_str(&format!(" (x{count})"));
    }
    line
}

/// The first rule for the whole text that holds.
pub(crate) fn output_hit(filter: Ready<'_>, text: &str, lines: &Lines<'_>) -> Option<usize> {
    let rules = &filter.compiled.outputs;
    if rules.is_empty() {
        return None;
    }
    let joined =
        (lines.any_changed() || memchr::memchr(b'\r', text.as_bytes()).is_some()).then(|| lines.joined());
    let text = joined.as_deref().unwrap_or(text).as_bytes();
    let holds = |rule: &super::super::compile::OutputCheck| {
        rule.pattern.is_match(text) && !rule.unless.as_ref().is_some_and(|u| u.is_match(text))
    };
    rules.iter().position(holds)
}

/// The lines of the output that the exact mode shows, by number; `None` if it shows a message instead.
#[cfg(test)]
pub(crate) fn exact_lines(filter: Ready<'_>, text: &str, level: Level) -> Option<Vec<usize>> {
    let out = Output::new(text, level);
    let mut lines = Lines::new(filter, text, &out.lines);
    lines.rewrite(filter, text.len());
    if output_hit(filter, text, &lines).is_some() {
        return None;
    }
    let decisions = decide(filter, &lines, Scope { level, counted_only: false, default_budget: true });
    let first = |p: Piece| match p {
        Piece::Lines { start, .. } => Some(start),
        _ => None,
    };
    Some(decisions.pieces.into_iter().filter_map(first).collect())
}
