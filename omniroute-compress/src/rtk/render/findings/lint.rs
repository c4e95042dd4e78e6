//! Linters and type checkers that write one finding a line, with or without code frames, and any tool that does.

use crate::rtk::kit::{Draft, Level, Output, Verdict};

use super::emit::{Policy, emit};
use super::model::{Kind, Parsed};
use super::parse::parse;

/// Outputs up to this size stay as they are: every line of them may matter, and there is little to gain.
const SHORT: usize = 600;

/// The level, one step gentler if the caller asked for details.
pub(crate) fn level(out: &Output<'_>) -> Level {
    if out.detail { out.level.gentler() } else { out.level }
}

/// A linter or type checker that is known to write such lines.
pub(crate) fn lint(out: &Output<'_>, draft: &mut Draft) -> Verdict {
    render(out, draft, 90)
}

/// Any tool: `path:line:col: severity: message`.
pub(crate) fn diagnostics(out: &Output<'_>, draft: &mut Draft) -> Verdict {
    render(out, draft, 94)
}

/// Whether a text looks like a finding and not like a line of a search: a severity or a code first, a rule last.
fn says_what(text: &str) -> bool {
    let first = text.split([' ', ':']).next().unwrap_or("").trim_matches(['[', ']']);
    let severity = [
        "error",
        "warning",
        "note",
        "info",
        "style",
        "fatal",
        "hint",
        "convention",
        "refactor",
        "performance",
    ];
    let is_code = first.len() >= 3
        && first.bytes().any(|b| b.is_ascii_digit())
        && first.bytes().any(|b| b.is_ascii_uppercase())
        && first.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'/'));
    severity.iter().any(|s| first.eq_ignore_ascii_case(s)) || is_code || text.ends_with([')', ']'])
}

/// Whether there is too little to gain.
pub(crate) fn is_short(out: &Output<'_>) -> bool {
    out.text.len() <= SHORT
}

fn render(out: &Output<'_>, draft: &mut Draft, percent: usize) -> Verdict {
    let parsed = parse(out);
    let said = parsed.findings.iter().filter(|f| says_what(f.pos.rest)).count();
    if parsed.findings.is_empty() || percent > 90 && said * 2 < parsed.findings.len() {
        return Verdict::NotMine;
    }
    finish(out, draft, &parsed, percent)
}

/// Marks the draft for a parsed output, if enough of it is understood.
pub(crate) fn finish(out: &Output<'_>, draft: &mut Draft, parsed: &Parsed<'_>, percent: usize) -> Verdict {
    if parsed.is_rendered || level(out) == Level::Minimal || is_short(out) {
        return Verdict::Done;
    }
    if !parsed.understands(percent) {
        for (i, kind) in parsed.kinds.iter().enumerate() {
            if *kind == Kind::Decoration {
                draft.noise(i);
            }
        }
        return if percent > 90 { Verdict::NotMine } else { Verdict::Done };
    }
    emit(out, draft, parsed, Policy { by_file: true, drop_frames: true, level: level(out) });
    Verdict::Done
}
