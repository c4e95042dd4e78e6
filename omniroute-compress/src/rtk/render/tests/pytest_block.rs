//! The failure blocks of pytest: `___ test_x[1] ___`, then arguments, source, `E` lines and the place.

use std::ops::Range;

use super::detail::{Repeats, cap};
use super::lines::{has, hide, indent, is_blank, is_number, is_ruler, ruled};
use super::trace::fold_frames;
use crate::rtk::kit::{Draft, Level, Output, What};

/// Renders the blocks of a part; its first line is the title of the part.
pub(crate) fn failures(out: &Output<'_>, draft: &mut Draft, range: Range<usize>) {
    let terse = out.level != Level::Minimal;
    let mut repeats = Repeats::default();
    let starts: Vec<usize> = range.clone().filter(|i| title(out.line(*i)).is_some()).collect();
    for (n, start) in starts.iter().enumerate() {
        let end = starts.get(n + 1).copied().unwrap_or(range.end);
        let body = start + 1..end;
        if terse {
            if let Some(name) = title(out.line(*start)) {
                draft.replace(*start, &format!("__ {name} __"));
            }
            if repeats.hide(out, draft, body.clone(), |i| owner(out, i)) {
                continue;
            }
            decoration(out, draft, body.clone());
            sources(out, draft, body.clone());
            fold_entries(out, draft, body.clone());
            fold_frames(out, draft, body.clone());
        }
        cap(out, draft, body, is_cause);
    }
}

/// The title of a case: `____ test_x ____`.
fn title(line: &str) -> Option<&str> {
    ruled(line, '_').filter(|t| !t.bytes().all(|b| matches!(b, b'_' | b' ')))
}

fn is_cause(line: &str) -> bool {
    line.starts_with("E ") || line.starts_with('>') || place(line).is_some() || line == "E"
}

/// The path in `path.py:12: KeyError` and `path.py:12: in load`.
fn place(line: &str) -> Option<&str> {
    if indent(line) > 0 {
        return None;
    }
    let (path, rest) = line.split_once(".py:").or_else(|| line.split_once(">:"))?;
    let (number, _) = rest.split_once(':')?;
    if is_number(number) { Some(path) } else { None }
}

fn is_library(path: &str) -> bool {
    has(path, "site-packages") || has(path, "lib/python") || path.starts_with("<frozen ")
}

/// The first line behind the arguments of a case.
fn source(out: &Output<'_>, body: Range<usize>) -> usize {
    let is_source = |i: &usize| {
        let line = out.line(*i);
        line.starts_with("    ") || line.starts_with('>') || line.starts_with('E') || place(line).is_some()
    };
    body.clone().find(is_source).unwrap_or(body.start)
}

/// The title of the case that line `i` belongs to.
fn owner<'t>(out: &Output<'t>, i: usize) -> &'t str {
    (0..i).rev().find_map(|i| title(out.line(i))).unwrap_or("above")
}

/// Rulers, worker names, underlining of the failing expression, and blanks around them.
fn decoration(out: &Output<'_>, draft: &mut Draft, body: Range<usize>) {
    for i in body {
        let line = out.line(i);
        let worker = line.starts_with("[gw") && has(line, "] ") && has(line, " -- Python ");
        if is_ruler(line) || worker || is_underline(line) {
            draft.noise(i);
        }
    }
}

/// Source lines that pytest does not mark with `>`: like `--tb=short`, the marked line and its place say where it
/// failed. Arguments, local variables and captured output stay.
fn sources(out: &Output<'_>, draft: &mut Draft, body: Range<usize>) {
    let long = body.clone().any(|i| out.line(i).starts_with('>'));
    let mut marked = false;
    for i in body {
        let line = out.line(i);
        if line.starts_with("-----") {
            return;
        }
        if is_blank(line) {
            draft.noise(i);
        } else if line.starts_with('>') {
            marked = true;
        } else if !line.starts_with("    ") {
            marked = false;
        } else if long && !marked && draft.stays(i) {
            hide(out, draft, i);
        }
    }
}

fn is_underline(line: &str) -> bool {
    let marks = line.trim();
    !marks.is_empty() && indent(line) >= 4 && marks.bytes().all(|b| matches!(b, b'^' | b'~'))
}

/// Entries of a traceback that lie in libraries fold, but for the last one and those that tell of an error. With
/// `--tb=long` the place stands behind the source, with `--tb=short` before it.
fn fold_entries(out: &Output<'_>, draft: &mut Draft, body: Range<usize>) {
    let places: Vec<usize> = body.clone().filter(|i| place(out.line(*i)).is_some()).collect();
    let mut start = source(out, body.clone());
    for (n, at) in places.iter().copied().enumerate() {
        let line = out.line(at);
        let leads = line.split_once(": in ").is_some();
        let next = places.get(n + 1).copied().unwrap_or(body.end);
        let entry = if leads { at..next } else { start..at + 1 };
        if leads {
            start = next;
        } else {
            start = at + 1;
        }
        if !place(line).is_some_and(is_library) || entry.clone().any(|i| is_told(out.line(i))) {
            continue;
        }
        draft.drop_known(at, What::LibraryFrames);
        for i in entry.filter(|i| *i != at && !is_blank(out.line(*i))) {
            hide(out, draft, i);
        }
    }
}

/// Lines for which an entry stays whole: the error itself, captured output, the joint of two traces.
fn is_told(line: &str) -> bool {
    line.starts_with('E')
        || line.starts_with("The above exception")
        || line.starts_with("During handling")
        || line.starts_with("-----")
}
