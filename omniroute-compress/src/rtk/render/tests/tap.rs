//! The Test Anything Protocol: node, tap, tape, ava, mocha, vitest, bats and prove.

use super::detail::cap;
use super::lines::{after_number, has, indent, is_blank, is_number, is_short};
use super::trace::fold_frames;
use crate::rtk::kit::{Draft, Level, Output, Verdict, What};

/// Fewer passing cases than this stay: TAP has no other list of what ran.
const FEW: usize = 20;

/// Renders a TAP stream.
pub(crate) fn render(out: &Output<'_>, draft: &mut Draft) -> Verdict {
    let passing = (0..out.len()).filter(|i| point(out.line(*i)).is_some_and(|p| p.ok)).take(FEW).count();
    let mine = passing > 0
        || (0..out.len()).any(|i| {
            point(out.line(i)).is_some() || out.line(i).starts_with("TAP version ") || is_prove(out.line(i))
        });
    if !mine {
        return pretty(out, draft);
    }
    if is_short(out) {
        return Verdict::Done;
    }
    let terse = out.level != Level::Minimal;
    let few = passing < FEW;
    let mut subtest = None;
    let mut i = 0;
    while i < out.len() {
        let line = out.line(i);
        if let Some(point) = point(line) {
            let body = i + 1..end_of_yaml(out, i + 1, indent(line));
            if point.ok {
                if !few && !point.directive {
                    draft.drop_known(i, What::PassingTests);
                }
                if terse {
                    body.clone().for_each(|j| draft.noise(j));
                }
            } else {
                if terse {
                    trim(out, draft, body.clone());
                    fold_frames(out, draft, body.clone());
                }
                cap(out, draft, body.clone(), is_cause);
            }
            if let Some((at, _)) = subtest.take().filter(|(_, name)| terse && point.name == *name) {
                draft.cover(at);
            }
            i = body.end;
            continue;
        }
        if let Some(name) = line.trim_start().strip_prefix("# Subtest: ") {
            subtest = Some((i, name.trim_end()));
        } else if terse && indent(line) > 0 && is_plan(line.trim()) {
            draft.noise(i);
        } else if is_passed_file(line) {
            draft.drop_known(i, What::PassingSuites);
        }
        i += 1;
    }
    if terse {
        comments(out, draft, few);
    }
    Verdict::Done
}

/// The pretty form of bats: ` ✓ name`, then `9 tests, 3 failures, 2 skipped`.
fn pretty(out: &Output<'_>, draft: &mut Draft) -> Verdict {
    let is_total = |line: &str| {
        after_number(line)
            .is_some_and(|r| (r.starts_with(" tests, ") || r.starts_with(" test, ")) && has(r, " failure"))
    };
    if !(0..out.len()).any(|i| is_total(out.line(i))) {
        return Verdict::NotMine;
    }
    if !is_short(out) {
        (0..out.len())
            .filter(|i| out.line(*i).starts_with(" \u{2713} "))
            .for_each(|i| draft.drop_known(i, What::PassingTests));
    }
    Verdict::Done
}

/// A line `ok 1 - name` or `not ok 1 - name`.
struct Point<'t> {
    ok: bool,
    name: &'t str,
    /// Skipped or to do.
    directive: bool,
}

fn point(line: &str) -> Option<Point<'_>> {
    let text = line.trim_start();
    let (ok, rest) = match text.strip_prefix("not ok ") {
        Some(rest) => (false, rest),
        None => (true, text.strip_prefix("ok ")?),
    };
    let rest = after_number(rest)?;
    if !rest.is_empty() && !rest.starts_with(' ') {
        return None;
    }
    let name = rest.trim_start().strip_prefix("- ").unwrap_or(rest.trim_start()).trim_end();
    let comment = memchr::memchr(b'#', name.as_bytes()).and_then(|at| name.get(at..)).unwrap_or("");
    let directive = comment.split('#').any(|c| {
        c.trim_start()
            .as_bytes()
            .get(..4)
            .is_some_and(|w| w.eq_ignore_ascii_case(b"skip") || w.eq_ignore_ascii_case(b"todo"))
    });
    let name = if comment.is_empty() { name } else { name.split_once(" # ").map_or(name, |(n, _)| n) };
    Some(Point { ok, name, directive })
}

/// `1..12`.
fn is_plan(text: &str) -> bool {
    text.strip_prefix("1..").is_some_and(is_number)
}

/// The line behind the block `---` to `...` of a case and the `#` lines below it.
fn end_of_yaml(out: &Output<'_>, from: usize, depth: usize) -> usize {
    let mut i = from;
    let first = out.line(i);
    if first.trim() == "---" && indent(first) >= depth {
        let opened = indent(first);
        let stops = |j: &usize| {
            let line = out.line(*j);
            let (here, text) = (indent(line), line.trim());
            (text == "..." && here == opened)
                || (!text.is_empty() && here < opened)
                || (here <= depth && point(line).is_some())
        };
        let end = (i + 1..out.len()).find(stops).filter(|j| out.line(*j).trim() == "...");
        return end.map_or(from, |e| e + 1);
    }
    while i < out.len()
        && indent(out.line(i)) > depth
        && !is_blank(out.line(i))
        && point(out.line(i)).is_none()
        && !out.line(i).trim_start().starts_with('#')
    {
        i += 1;
    }
    i
}

/// Times and constants in the block of a failing case.
fn trim(out: &Output<'_>, draft: &mut Draft, body: std::ops::Range<usize>) {
    for i in body {
        let text = out.line(i).trim();
        if text.starts_with("duration_ms: ")
            || text == "---"
            || text == "..."
            || text == "failureType: 'testCodeFailure'"
        {
            draft.noise(i);
        }
    }
}

/// Headings of passing cases: `# name` of tape, `# Subtest: name` of node.
fn comments(out: &Output<'_>, draft: &mut Draft, few: bool) {
    let mut below = false;
    let mut next_total = true;
    for i in (0..out.len()).rev() {
        let line = out.line(i);
        let text = line.trim_start();
        if let Some(point) = point(line) {
            below |= draft.stays(i) || !point.ok;
            next_total = false;
        } else if text.starts_with("# ") && indent(line) == 0 && !next_total {
            if !below
                && !few
                && !has(text, "failed")
                && (i + 1..out.len())
                    .find(|j| !is_blank(out.line(*j)))
                    .is_some_and(|j| point_is_passing(out.line(j)) || text.starts_with("# Subtest: "))
            {
                draft.noise(i);
            }
            below = false;
        } else if draft.stays(i) && !is_blank(line) && indent(line) > 0 {
            below = true;
        }
    }
}

fn point_is_passing(line: &str) -> bool {
    point(line).is_some_and(|p| p.ok)
}

/// `t/03-ok.t .... ok` of prove.
fn is_passed_file(line: &str) -> bool {
    let dotted = line.rsplit_once(' ').filter(|(_, w)| *w == "ok").map(|(before, _)| before);
    dotted.is_some_and(|b| has(b, ".t ") && b.ends_with('.'))
}

fn is_prove(line: &str) -> bool {
    line.starts_with("Result: PASS")
        || line.starts_with("Result: FAIL")
        || line.starts_with("Test Summary Report")
}

fn is_cause(line: &str) -> bool {
    let text = line.trim_start();
    [
        "error:",
        "expected:",
        "actual:",
        "name:",
        "code:",
        "location:",
        "message:",
        "operator:",
        "got:",
        "wanted:",
        "found:",
        "at:",
    ]
    .iter()
    .any(|p| text.starts_with(p))
        || has(text, "Error: ")
}
