//! pytest: session header, progress, failures, warnings, coverage, short summary, totals.

use std::collections::HashSet;
use std::ops::Range;

use super::coverage;
use super::lines::{has, hash, indent, is_blank, is_number, is_ruler, is_short, ruled};
use super::pytest_block;
use crate::rtk::kit::{Draft, Level, Output, Verdict, What};

/// What a part of the output between two `=== title ===` lines is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Part {
    /// Before the first title, the session header and the progress.
    Session,
    Failures,
    /// Captured output of passing cases (`-rA`, `-rP`).
    Passes,
    Warnings,
    Coverage,
    Summary,
    Other,
}

/// Renders what `pytest` wrote.
pub(crate) fn render(out: &Output<'_>, draft: &mut Draft) -> Verdict {
    let parts = parts(out);
    if !parts.iter().any(|(part, range)| is_mine(out, *part, range)) {
        return Verdict::NotMine;
    }
    if is_short(out) {
        return Verdict::Done;
    }
    let told = told(out, &parts);
    let has_details = parts.iter().any(|(part, _)| matches!(part, Part::Failures | Part::Summary));
    for (part, range) in parts {
        match part {
            Part::Session => session(out, draft, range, &told, has_details),
            Part::Failures => pytest_block::failures(out, draft, range),
            Part::Passes => passes(out, draft, range),
            Part::Warnings => warnings(out, draft, range),
            Part::Coverage => coverage::table(out, draft, range),
            Part::Summary => summary(out, draft, range),
            Part::Other => {}
        }
    }
    Verdict::Done
}

/// The parts of the output; a title belongs to the part it begins.
fn parts(out: &Output<'_>) -> Vec<(Part, Range<usize>)> {
    let mut parts = Vec::new();
    let (mut part, mut start) = (Part::Session, 0);
    for i in 0..out.len() {
        let line = out.line(i);
        let next = if let Some(title) = ruled(line, '=') {
            named(title)
        } else if line.starts_with("------") && has(line, " coverage: ") {
            Part::Coverage
        } else {
            continue;
        };
        if start < i {
            parts.push((part, start..i));
        }
        (part, start) = (next, i);
    }
    if start < out.len() {
        parts.push((part, start..out.len()));
    }
    parts
}

fn named(title: &str) -> Part {
    match title {
        "test session starts" => Part::Session,
        "FAILURES" | "ERRORS" | "XFAILURES" | "XPASSES" | "RERUNS" => Part::Failures,
        "PASSES" => Part::Passes,
        "short test summary info" => Part::Summary,
        "tests coverage" => Part::Coverage,
        _ if title.starts_with("warnings summary") => Part::Warnings,
        _ => Part::Other,
    }
}

fn is_mine(out: &Output<'_>, part: Part, range: &Range<usize>) -> bool {
    match part {
        Part::Failures | Part::Passes | Part::Summary => true,
        Part::Warnings => true,
        Part::Session => range.clone().any(|i| {
            let line = out.line(i);
            ruled(line, '=') == Some("test session starts")
                || is_total(line)
                || outcome(line).is_some()
                || is_collected(line)
        }),
        Part::Other => ruled(out.line(range.start), '=').is_some_and(is_total),
        Part::Coverage => false,
    }
}

/// `4 failed, 304 passed in 2.46s`, `no tests ran in 0.01s`.
fn is_total(line: &str) -> bool {
    let counted = line.split_once(' ').is_some_and(|(n, _)| is_number(n)) || line.starts_with("no tests ran");
    counted
        && has(line, " in ")
        && line.ends_with(['s', ')'])
        && [
            "passed",
            "failed",
            "error",
            "skipped",
            "deselected",
            "no tests ran",
            "xfailed",
            "tests collected",
        ]
        .iter()
        .any(|w| has(line, w))
}

fn is_collected(line: &str) -> bool {
    let rest = line.strip_prefix("collecting ... ").unwrap_or(line).strip_prefix("collected ");
    rest.and_then(|r| r.split_once(' ')).is_some_and(|(n, r)| is_number(n) && r.starts_with("item"))
}

/// The id and outcome of a line of `-v`: `path::name PASSED [ 10%]`, `[gw0] [ 10%] PASSED path::name`.
fn outcome(line: &str) -> Option<(&str, &str, &str)> {
    let line = line.trim_end();
    if let Some(rest) = line.strip_prefix("[gw") {
        let (_, rest) = rest.split_once("] ")?;
        let rest =
            rest.trim_start().strip_prefix('[').and_then(|r| r.split_once("] ")).map_or(rest, |(_, r)| r);
        let (word, id) = rest.split_once(' ')?;
        return if is_outcome(word) && has(id, "::") { Some((id.trim(), word, "")) } else { None };
    }
    let separator = memchr::memmem::find(line.as_bytes(), b"::")?;
    let mut from = separator;
    while let Some(at) = line.get(from..).and_then(|l| memchr::memchr(b' ', l.as_bytes())) {
        let (id, rest) = (line.get(..from + at)?, line.get(from + at + 1..)?);
        let word = rest.split_once(' ').map_or(rest, |(w, _)| w);
        if is_outcome(word) {
            let reason = rest.get(word.len()..).unwrap_or("").trim();
            return Some((id, word, reason));
        }
        from += at + 1;
    }
    None
}

fn is_outcome(word: &str) -> bool {
    matches!(
        word,
        "PASSED" | "FAILED" | "ERROR" | "SKIPPED" | "XFAIL" | "XPASS" | "RERUN" | "SUBPASSED" | "SUBFAIL"
    )
}

/// Hashes of the ids that the short summary names.
fn told(out: &Output<'_>, parts: &[(Part, Range<usize>)]) -> HashSet<u64> {
    let mut ids = HashSet::new();
    for (_, range) in parts.iter().filter(|(part, _)| *part == Part::Summary) {
        for line in range.clone().map(|i| out.line(i)) {
            if let Some(rest) = line.strip_prefix("FAILED ").or_else(|| line.strip_prefix("ERROR ")) {
                ids.insert(hash(rest.split_once(" - ").map_or(rest, |(id, _)| id)));
            }
        }
    }
    ids
}

fn session(out: &Output<'_>, draft: &mut Draft, range: Range<usize>, told: &HashSet<u64>, has_details: bool) {
    let terse = out.level != Level::Minimal;
    let mut reasons = HashSet::new();
    let mut file = "";
    let mut dots = Vec::new();
    for i in range {
        let line = out.line(i);
        if let Some((id, word, reason)) = outcome(line) {
            match word {
                "PASSED" | "SUBPASSED" => draft.drop_known(i, What::PassingTests),
                "FAILED" | "ERROR" if told.contains(&hash(id)) => draft.cover(i),
                "SKIPPED" | "XFAIL" if terse && !reasons.insert(hash(without_percent(reason))) => {
                    draft.drop_known(i, What::SkippedTests)
                }
                _ => {}
            }
        } else if line == "PASSED" {
            draft.drop_known(i, What::PassingTests);
        } else if let Some(failing) = glyphs(line) {
            if !failing || has_details {
                dots.push(i);
            }
        } else if line == "bringing up nodes..."
            || line.starts_with("scheduling tests via ")
            || is_workers(line)
        {
            draft.drop(i, What::Progress);
        } else if terse && (is_setting(line) || ruled(line, '=') == Some("test session starts")) {
            draft.noise(i);
        } else if let Some((path, name)) = collected(line).filter(|_| terse) {
            if path == file {
                draft.cover(i);
                draft.insert_with(i, |text| {
                    text.push_str("::");
                    text.push_str(name);
                });
            }
            file = path;
        } else if !is_blank(line) {
            file = "";
        }
    }
    if dots.len() > 1 {
        dots.into_iter().for_each(|i| draft.drop_known(i, What::Progress));
    }
}

/// `path.py::name` alone on its line: the list of `--collect-only -q`.
fn collected(line: &str) -> Option<(&str, &str)> {
    let (path, name) = line.split_once("::")?;
    let plain = path.ends_with(".py") && !path.contains(' ') && !path.contains('[') && !name.is_empty();
    if plain { Some((path, name)) } else { None }
}

fn without_percent(reason: &str) -> &str {
    match reason.rsplit_once('[') {
        Some((before, share)) if share.ends_with("%]") => before.trim_end(),
        _ => reason,
    }
}

/// Whether one of the dots of a progress line is a failure; none for another line.
fn glyphs(line: &str) -> Option<bool> {
    let line = line.trim_end();
    let (before, share) = match line.strip_suffix(']').and_then(|l| l.rsplit_once('[')) {
        Some((before, share)) if share.ends_with('%') || has(share, "/") => (before.trim_end(), true),
        _ => (line, false),
    };
    let dots = match before.rsplit_once(' ') {
        Some((path, dots))
            if path.ends_with(".py")
                || path.ends_with(".txt")
                || path.ends_with(".md")
                || path.ends_with(".rst") =>
        {
            dots
        }
        Some(_) => return None,
        None => before,
    };
    let fits = dots
        .bytes()
        .all(|b| matches!(b, b'.' | b'F' | b'E' | b's' | b'x' | b'X' | b'R' | b',' | b'u' | b'-'));
    if !fits
        || (dots.is_empty() && !share)
        || (dots.len() < 2 && !share && before.len() < 2)
        || is_ruler(line) && !dots.contains('.')
    {
        return None;
    }
    Some(dots.bytes().any(|b| matches!(b, b'F' | b'E' | b'X')))
}

/// `gw0 [310] / gw1 [310]`, `2 workers [310 items]`, `created: 2/2 workers`.
fn is_workers(line: &str) -> bool {
    (line.starts_with("gw") && has(line, " [") && line.ends_with(']'))
        || (line.starts_with("created: ") && line.ends_with(" workers"))
        || (line.split_once(" workers [").is_some_and(|(n, r)| is_number(n) && r.ends_with(" items]")))
}

/// Lines of the session header that say where things are.
fn is_setting(line: &str) -> bool {
    const NAMES: [&str; 8] = [
        "cachedir: ",
        "rootdir: ",
        "plugins: ",
        "configfile: ",
        "testpaths: ",
        "asyncio: mode=",
        "hypothesis profile ",
        "benchmark: ",
    ];
    NAMES.iter().any(|n| line.starts_with(n))
}

fn passes(out: &Output<'_>, draft: &mut Draft, range: Range<usize>) {
    if out.level == Level::Minimal {
        return;
    }
    if range.clone().any(|i| out.line(i).trim_start().starts_with("File \"")) {
        return;
    }
    draft.noise(range.start);
    draft.drop_range(range.start + 1..range.end, What::Lines);
}

/// Warnings: pytest groups them; of the cases under which one came up, the first two are shown.
fn warnings(out: &Output<'_>, draft: &mut Draft, range: Range<usize>) {
    if out.level == Level::Minimal {
        return;
    }
    let mut cases = 0;
    for i in range.start + 1..range.end {
        let line = out.line(i);
        let before = out.line(i - 1);
        let source = indent(line) >= 4 && indent(before) == 2 && has(before, "Warning: ");
        if source || line.starts_with("-- Docs: ") {
            draft.noise(i);
        } else if is_blank(line) || indent(line) > 0 {
            cases = 0;
        } else {
            cases += 1;
            if cases > 2 {
                draft.drop(i, What::Lines);
            }
        }
    }
}

fn summary(out: &Output<'_>, draft: &mut Draft, range: Range<usize>) {
    let mut reasons = HashSet::new();
    for i in range {
        let line = out.line(i);
        if line.starts_with("PASSED ") {
            draft.drop_known(i, What::PassingTests);
        } else if out.level != Level::Minimal
            && skip_reason(line).is_some_and(|reason| !reasons.insert(hash(reason)))
        {
            draft.drop_known(i, What::SkippedTests);
        }
    }
}

/// The reason in `SKIPPED [1] tests/a.py:35: needs network` and `XFAIL id - reason`.
fn skip_reason(line: &str) -> Option<&str> {
    if let Some(rest) = line.strip_prefix("SKIPPED [") {
        return rest.split_once("] ").and_then(|(_, r)| r.split_once(": ")).map(|(_, reason)| reason);
    }
    line.strip_prefix("XFAIL ").and_then(|r| r.split_once(" - ")).map(|(_, reason)| reason)
}
