//! `cargo test` and libtest: all binaries in one count, failures whole, compiler messages as of a build.

use std::collections::HashSet;
use std::ops::Range;

use super::detail::cap;
use super::lines::{has, hash, is_blank, is_number, is_short};
use super::trace::fold_frames;
use crate::rtk::kit::{Draft, Level, Output, Verdict, What};
use crate::rtk::render::findings::mark_diagnostics;

/// Renders what `cargo test` wrote.
pub(crate) fn render(out: &Output<'_>, draft: &mut Draft) -> Verdict {
    let mine = (0..out.len()).any(|i| {
        let line = out.line(i);
        line.starts_with("test result: ") || case(line).is_some() || is_running(line)
    });
    let built =
        (0..out.len()).any(|i| is_step(out.line(i)) || out.line(i).starts_with("error: could not compile"));
    if !mine && !built {
        return Verdict::NotMine;
    }
    if is_short(out) {
        return Verdict::Done;
    }
    let shown: HashSet<u64> = (0..out.len()).filter_map(|i| block(out.line(i))).map(hash).collect();
    let listed: HashSet<u64> =
        (0..out.len()).filter_map(|i| out.line(i).strip_prefix("    ")).map(hash).collect();
    if built {
        mark_diagnostics(out, draft, 0..out.len());
    }
    cases(out, draft, &shown, &listed);
    details(out, draft);
    if out.level != Level::Minimal {
        headings(out, draft, &shown);
    }
    Verdict::Done
}

/// Name and outcome of `test name ... ok`.
fn case(line: &str) -> Option<(&str, &str)> {
    line.strip_prefix("test ").and_then(|rest| rest.rsplit_once(" ... ")).map(|(n, o)| (n, o.trim_end()))
}

fn is_running(line: &str) -> bool {
    let rest = line.strip_prefix("running ").and_then(|r| r.split_once(' '));
    rest.is_some_and(|(n, unit)| is_number(n) && matches!(unit.trim_end(), "test" | "tests"))
}

/// The name in `---- name stdout ----`.
fn block(line: &str) -> Option<&str> {
    let inner = line.strip_prefix("---- ")?.trim_end().strip_suffix(" ----")?;
    inner.strip_suffix(" stdout").or_else(|| inner.strip_suffix(" stderr"))
}

/// `Compiling x v1` and its relatives: right-aligned verbs of cargo.
fn is_step(line: &str) -> bool {
    const VERBS: [&str; 11] = [
        "Compiling",
        "Checking",
        "Downloading",
        "Downloaded",
        "Fresh",
        "Locking",
        "Updating",
        "Blocking",
        "Adding",
        "Building",
        "Dirty",
    ];
    let text = line.trim_start();
    line.len() > text.len() && text.split_once(' ').is_some_and(|(verb, _)| VERBS.contains(&verb))
}

fn is_target(line: &str) -> bool {
    line.starts_with("     Running ") || line.starts_with("   Doc-tests ")
}

fn cases(out: &Output<'_>, draft: &mut Draft, shown: &HashSet<u64>, listed: &HashSet<u64>) {
    let terse = out.level != Level::Minimal;
    let mut reasons = HashSet::new();
    for i in 0..out.len() {
        let line = out.line(i);
        if let Some((name, outcome)) = case(line) {
            let plain = name.rsplit_once(" - ").map_or(name, |(n, _)| n);
            if outcome == "ok" || outcome.starts_with("ok <") || outcome.starts_with("ok (") {
                draft.drop_known(i, What::PassingTests);
            } else if terse
                && (outcome == "ignored"
                    || (outcome.starts_with("ignored, ") && !reasons.insert(hash(outcome))))
            {
                draft.drop_known(i, What::SkippedTests);
            } else if terse
                && outcome.starts_with("FAILED")
                && [name, plain].iter().any(|n| shown.contains(&hash(n)) || listed.contains(&hash(n)))
            {
                draft.cover(i);
            }
        } else if is_step(line) {
            draft.drop(i, What::Steps);
        } else if is_dots(line) {
            draft.drop_known(i, What::Progress);
        }
    }
}

/// `.....F..i 88/240` of `--quiet`.
fn is_dots(line: &str) -> bool {
    let line = line.trim_end();
    let dots = match line.rsplit_once(' ') {
        Some((dots, share)) if share.split_once('/').is_some_and(|(a, b)| is_number(a) && is_number(b)) => {
            dots
        }
        Some(_) => return false,
        None => line,
    };
    dots.len() > 20 && dots.bytes().all(|b| matches!(b, b'.' | b'i'))
}

/// The blocks of failing cases: backtraces fold, long ones are cut.
fn details(out: &Output<'_>, draft: &mut Draft) {
    let mut i = 0;
    while i < out.len() {
        if block(out.line(i)).is_none() {
            i += 1;
            continue;
        }
        let start = i + 1;
        let ends = |i: &usize| {
            let line = out.line(*i);
            block(line).is_some()
                || line == "failures:"
                || line == "successes:"
                || line.starts_with("test result: ")
        };
        let end = (start..out.len()).find(ends).unwrap_or(out.len());
        if out.level != Level::Minimal {
            fold_frames(out, draft, start..end);
            hints(out, draft, start..end);
        }
        cap(out, draft, start..end, is_cause);
        i = end;
    }
}

/// Advice on how to get another backtrace.
pub(crate) fn hints(out: &Output<'_>, draft: &mut Draft, range: Range<usize>) {
    for i in range {
        let line = out.line(i).trim_start();
        if line.starts_with("note: ") && has(line, "RUST_BACKTRACE=") {
            draft.noise(i);
        }
    }
}

/// Lines that say why a case failed.
pub(crate) fn is_cause(line: &str) -> bool {
    let text = line.trim_start();
    has(text, "panicked at")
        || has(text, "assertion ")
        || text.starts_with("left:")
        || text.starts_with("right:")
        || text.starts_with("Error:")
        || text.starts_with("error")
        || text.starts_with("note: ")
}

/// Whether tests follow: then their totals say that the build is done. A build behind the tests has no other word.
fn leads_to_tests(out: &Output<'_>, finished: usize) -> bool {
    let next = (finished + 1..out.len()).map(|i| out.line(i)).find(|l| !is_blank(l));
    next.is_some_and(|l| is_target(l) || is_running(l))
}

/// Headings of binaries that are all right, and lists that repeat the names of the blocks.
fn headings(out: &Output<'_>, draft: &mut Draft, shown: &HashSet<u64>) {
    let mut target = None;
    let mut list = None;
    for i in 0..out.len() {
        let line = out.line(i);
        if is_target(line) {
            target = Some(i);
        } else if is_running(line) || line.starts_with("    Finished ") && leads_to_tests(out, i) {
            draft.noise(i);
        } else if line.starts_with("test result: ok") {
            if let Some(at) = target.take() {
                draft.noise(at);
            }
        } else if line == "failures:" {
            list = Some((i, 0, 0));
        } else if let Some((at, names, known)) = list {
            match line.strip_prefix("    ") {
                Some(name) => {
                    let told = shown.contains(&hash(name));
                    if told {
                        draft.cover(i);
                    }
                    list = Some((at, names + 1, known + usize::from(told)));
                }
                None if is_blank(line) && names == 0 => {}
                None => {
                    if names == known || block(line).is_some() {
                        draft.noise(at);
                    }
                    list = None;
                }
            }
        }
    }
}
