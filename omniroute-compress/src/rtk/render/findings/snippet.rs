//! Findings in blocks: a headline `CODE message`, `  --> path:line:col`, a code frame, advice (ruff's full format).

use crate::rtk::kit::{Draft, Level, Output, Severity, Verdict, severity};

use super::lint::{finish, is_short, level, lint};
use super::model::{Bound, Finding, Hash, Kind, Parsed, masked};
use super::parse::MORE;
use super::scan::{Position, digits, is_blank, is_gutter, is_path};

/// `ruff check` in any of its formats.
pub(crate) fn ruff(out: &Output<'_>, draft: &mut Draft) -> Verdict {
    let parsed = parse(out);
    if parsed.findings.is_empty() {
        return lint(out, draft);
    }
    let verdict = finish(out, draft, &parsed, 90);
    if level(out) != Level::Minimal && !is_short(out) && !parsed.is_rendered {
        formatting(out, draft, &parsed);
    }
    verdict
}

/// Of a file that would be formatted otherwise the changed lines stay, the lines around them go.
fn formatting(out: &Output<'_>, draft: &mut Draft, parsed: &Parsed<'_>) {
    for (i, kind) in parsed.kinds.iter().enumerate() {
        let Kind::Frame(n) = kind else { continue };
        let Some(finding) =
            parsed.findings.get(*n as usize).filter(|f| f.pos.rest.starts_with("unformatted"))
        else {
            continue;
        };
        if i > finding.at + 1 && is_gutter(out.line(i)) {
            draft.cover(i);
        }
    }
}

fn parse<'t>(out: &Output<'t>) -> Parsed<'t> {
    let mut parsed = Parsed { kinds: vec![Kind::Other; out.len()], ..Parsed::default() };
    let mut run = 0;
    let mut i = 0;
    while i < out.len() {
        let line = out.line(i);
        parsed.is_rendered |= line.ends_with(MORE);
        let place = arrow(out.line(i + 1)).filter(|_| !line.starts_with([' ', '\t']) && !is_blank(line));
        let Some((path, number, col)) = place else {
            if is_blank(line) {
                set(&mut parsed, i, Kind::Blank);
            } else {
                run += 1;
            }
            i += 1;
            continue;
        };
        if parsed.findings.last().is_some_and(|f| f.pos.path != path) {
            run += 1;
        }
        let n = u32::try_from(parsed.findings.len()).unwrap_or(u32::MAX);
        let is_syntax = line.starts_with("unformatted")
            || line.starts_with("invalid-syntax")
            || line.starts_with("SyntaxError")
            || line.starts_with("E999");
        let is_error = is_syntax || severity(line) == Severity::Error;
        let pos = Position { path, line: number, col, rest: line.trim(), dashed: false, tag: "" };
        let mut finding = Finding {
            pos,
            at: i,
            bound: if is_error { Bound::Line } else { Bound::Free },
            is_row: false,
            is_note: false,
            details: 0,
            run,
            own: true,
        };
        set(&mut parsed, i, Kind::Finding(n));
        set(&mut parsed, i + 1, Kind::Frame(n));
        i += 2;
        while i < out.len() && !is_blank(out.line(i)) && arrow(out.line(i + 1)).is_none() {
            let text = out.line(i);
            if is_frame(text) {
                set(&mut parsed, i, Kind::Frame(n));
            } else {
                set(&mut parsed, i, Kind::Detail(n));
                add_detail(&mut finding, text);
            }
            i += 1;
        }
        parsed.findings.push(finding);
    }
    parsed
}

fn set(parsed: &mut Parsed<'_>, i: usize, kind: Kind) {
    if let Some(slot) = parsed.kinds.get_mut(i) {
        *slot = kind;
    }
}

/// Advice whose quoted words all stand in the message says nothing of its own.
fn add_detail(finding: &mut Finding<'_>, text: &str) {
    let quoted = text.split('`').skip(1).step_by(2);
    let is_derived = quoted.clone().all(|word| finding.pos.rest.contains(word));
    let mut hash = Hash(finding.details);
    if is_derived {
        hash.number(masked(text, true));
    } else {
        hash.text(text);
    }
    finding.details = hash.0;
}

/// A line of a code frame or of a suggested change: `12 | x`, `   - x`, `12 + x`, `12 ~ x`.
fn is_frame(line: &str) -> bool {
    let text = line.trim_start();
    let after = digits(text).map_or(text, |(_, rest)| rest).trim_start();
    is_gutter(line)
        || (line.starts_with([' ', '0', '1', '2', '3', '4', '5', '6', '7', '8', '9'])
            && (after.starts_with("- ")
                || after.starts_with("+ ")
                || after.starts_with("~ ")
                || matches!(after, "-" | "+" | "...")))
}

/// `  --> path:12:5`.
fn arrow(line: &str) -> Option<(&str, &str, &str)> {
    let place = line.trim_start().strip_prefix("--> ")?.trim_end();
    let (path, col) = place.rsplit_once(':')?;
    let (path, line) = path.rsplit_once(':')?;
    let is_number = |t: &str| digits(t).is_some_and(|(_, rest)| rest.is_empty());
    (is_number(line) && is_number(col) && (is_path(path) || !path.is_empty())).then_some((path, line, col))
}

#[cfg(test)]
mod tests {
    use super::super::emit::{Policy, emit};
    use super::*;
    use crate::rtk::kit::assemble;

    #[test]
    fn blocks_become_rows() {
        let text = "E401 [*] Multiple imports\n --> a.py:3:1\n  |\n3 | import os, sys\n  | ^^^^\nhelp: Split imports\n  |\n  \
                    - import os, sys\n3 + import os\n  |\n\nE711 Comparison\n --> a.py:9:4\n  |\n9 | x == None\n  |      ^^^^\n  |\n\n\
                    invalid-syntax: Expected x\n --> b.py:1:2\n  |\n1 | (\n  | ^\n\nFound 3 errors.\n";
        let out = Output::new(text, Level::Standard);
        let mut draft = Draft::new(out.len());
        let policy = Policy { by_file: true, drop_frames: true, level: Level::Standard };
        emit(&out, &mut draft, &parse(&out), policy);
        let shown = assemble(&out, &mut draft, &mut || None).text;
        assert_eq!(
            shown,
            "a.py:\n 3:1 E401 [*] Multiple imports\n  help: Split imports\n 9:4 E711 Comparison\n\
             invalid-syntax: Expected x\n --> b.py:1:2\n  |\n1 | (\n  | ^\n\nFound 3 errors.\n"
        );
    }
}
