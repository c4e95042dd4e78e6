//! `node --test`: the spec reporter; its TAP reporter is read by `tap`.

use std::collections::HashMap;
use std::ops::Range;

use super::detail::cap;
use super::lines::{hash, indent, is_blank, is_short};
use super::trace::fold_frames;
use super::tree::drop_empty_headings;
use crate::rtk::kit::{Draft, Level, Output, Verdict, What};

/// Renders what `node --test` wrote.
pub(crate) fn render(out: &Output<'_>, draft: &mut Draft) -> Verdict {
    let totals = (0..out.len()).find(|i| is_total(out.line(*i)));
    let rows = (0..out.len()).filter(|i| sign(out.line(*i)).is_some()).take(2).count();
    if totals.is_none() && rows < 2 {
        return super::tap::render(out, draft);
    }
    if is_short(out) {
        return Verdict::Done;
    }
    let end = totals.unwrap_or(out.len());
    let section = (end..out.len()).find(|i| is_section(out.line(*i)));
    cases(out, draft, end, section);
    let mut start = None;
    for i in section.unwrap_or(out.len())..out.len() + 1 {
        let begins =
            i == out.len() || sign(out.line(i)) == Some('\u{2716}') || out.line(i).starts_with("test at ");
        if let Some(start) = begins.then(|| start.replace(i)).flatten() {
            detail(out, draft, start + 1..i);
        }
    }
    Verdict::Done
}

fn is_total(line: &str) -> bool {
    line.strip_prefix("\u{2139} ")
        .is_some_and(|l| l.starts_with("tests ") || l.starts_with("pass ") || l.starts_with("fail "))
}

/// `✖ failing tests:`.
fn is_section(line: &str) -> bool {
    line == "\u{2716} failing tests:"
}

/// The sign of a line of the tree.
fn sign(line: &str) -> Option<char> {
    let mut chars = line.trim_start().chars();
    let sign = chars.next()?;
    let known = matches!(sign, '\u{2714}' | '\u{2716}' | '\u{25b6}' | '\u{fe63}' | '\u{26a0}')
        && chars.next() == Some(' ');
    if known { Some(sign) } else { None }
}

/// The tree: passing cases go, a failure that the section behind the totals shows whole goes with its detail.
fn cases(out: &Output<'_>, draft: &mut Draft, end: usize, section: Option<usize>) {
    let terse = out.level != Level::Minimal;
    let shown: HashMap<u64, usize> = (section.unwrap_or(out.len())..out.len())
        .filter(|i| sign(out.line(*i)) == Some('\u{2716}'))
        .map(|i| (hash(out.line(i).trim_start()), i))
        .collect();
    let mut i = 0;
    while i < end {
        let line = out.line(i);
        match sign(line) {
            Some('\u{2714}') => draft.drop_known(i, What::PassingTests),
            Some('\u{2716}') if terse => {
                let depth = indent(line);
                let body = i + 1
                    ..(i + 1..end)
                        .find(|j| {
                            sign(out.line(*j)).is_some()
                                || (!is_blank(out.line(*j)) && indent(out.line(*j)) <= depth)
                        })
                        .unwrap_or(end);
                let there = shown.get(&hash(line.trim_start()));
                if there.is_some_and(|at| is_repeat(out, body.clone(), at + 1, depth)) {
                    for j in i..body.end {
                        draft.cover(j);
                    }
                } else {
                    detail(out, draft, body.clone());
                    if section.is_none() {
                        cap(out, draft, body.clone(), is_cause);
                    }
                }
                i = body.end;
                continue;
            }
            _ => {}
        }
        i += 1;
    }
    if terse {
        drop_empty_headings(out, draft, 0..end, |l| sign(l) == Some('\u{25b6}'));
        for i in (0..end).filter(|i| sign(out.line(*i)) == Some('\u{25b6}')) {
            let next = (i + 1..end).find(|j| !is_blank(out.line(*j)));
            if next.is_none_or(|j| indent(out.line(j)) <= indent(out.line(i)))
                && draft.stays(i)
                && super::lines::without_time(out.line(i)).len() < out.line(i).len()
            {
                draft.drop_known(i, What::PassingTests);
            }
        }
    }
}

/// Whether the lines of `body`, indented by `depth`, stand at `at` too.
fn is_repeat(out: &Output<'_>, body: Range<usize>, at: usize, depth: usize) -> bool {
    let lines = body.filter(|i| !is_blank(out.line(*i)));
    let there = (at..out.len()).filter(|i| !is_blank(out.line(*i)));
    let mut pairs = there.map(Some).chain(std::iter::repeat(None));
    lines
        .into_iter()
        .all(|i| pairs.next().flatten().is_some_and(|j| out.line(i).get(depth..) == Some(out.line(j))))
}

fn detail(out: &Output<'_>, draft: &mut Draft, body: Range<usize>) {
    if out.level != Level::Minimal {
        fold_frames(out, draft, body.clone());
    }
    cap(out, draft, body, is_cause);
}

fn is_cause(line: &str) -> bool {
    super::jest::is_cause(line)
        || line.trim_start().starts_with("actual:")
        || line.trim_start().starts_with("expected:")
}
