//! `cargo nextest run`.

use std::collections::HashSet;

use super::cargo::{hints, is_cause};
use super::detail::cap;
use super::lines::{hash, indent, is_blank, is_ruler, is_short};
use super::trace::fold_frames;
use crate::rtk::kit::{Draft, Level, Output, Verdict, What};

/// Renders what `cargo nextest run` wrote.
pub(crate) fn render(out: &Output<'_>, draft: &mut Draft) -> Verdict {
    let mine =
        (0..out.len()).any(|i| status(out.line(i)).is_some() || out.line(i).starts_with("     Summary ["));
    if !mine {
        return Verdict::NotMine;
    }
    if is_short(out) {
        return Verdict::Done;
    }
    let terse = out.level != Level::Minimal;
    let mut told = HashSet::new();
    let mut detail = None;
    for i in 0..out.len() {
        let line = out.line(i);
        if let Some((word, id)) = status(line) {
            close(out, draft, detail.take(), i);
            match word {
                "PASS" => draft.drop_known(i, What::PassingTests),
                "SKIP" => draft.drop_known(i, What::SkippedTests),
                _ if !told.insert(hash(line)) && terse => draft.cover(i),
                _ => {
                    told.insert(hash(id));
                    detail = Some(i + 1);
                }
            }
        } else if is_ruler(line) && indent(line) == 0 {
            close(out, draft, detail.take(), i);
            if terse {
                draft.noise(i);
            }
        } else if terse && line.starts_with(" Nextest run ID ") {
            draft.noise(i);
        } else if is_step(line) {
            draft.drop(i, What::Steps);
        }
    }
    close(out, draft, detail, out.len());
    Verdict::Done
}

/// Word and id of `        PASS [   0.053s] (1/6) ledger tests::x`.
fn status(line: &str) -> Option<(&str, &str)> {
    let text = line.trim_start();
    let (words, rest) = text.split_once(" [")?;
    let (time, rest) = rest.split_once(']')?;
    let timed = time.ends_with('s') && time.bytes().any(|b| b.is_ascii_digit());
    let word = words.rsplit(' ').next().unwrap_or(words);
    if line.len() == text.len()
        || !timed
        || word.is_empty()
        || !word.bytes().all(|b| b.is_ascii_uppercase() || b == b'-' || b == b'+')
    {
        return None;
    }
    if words.starts_with("Summary") {
        return None;
    }
    let word = if words.starts_with("TRY") || words.starts_with("FLAKY") { "TRY" } else { word };
    let rest = rest.trim_start();
    let id = rest.strip_prefix('(').and_then(|r| r.split_once(") ")).map_or(rest, |(_, id)| id);
    Some((word, id.trim()))
}

fn is_step(line: &str) -> bool {
    line.starts_with("   Compiling ")
        || line.starts_with(" Downloading ")
        || line.starts_with("  Downloaded ")
        || line.starts_with("    Blocking ")
}

/// The captured output of a failing case, up to line `end`.
fn close(out: &Output<'_>, draft: &mut Draft, detail: Option<usize>, end: usize) {
    let Some(start) = detail else { return };
    if out.level != Level::Minimal {
        for i in start..end {
            if is_chatter(out.line(i)) {
                draft.cover(i);
            }
        }
        fold_frames(out, draft, start..end);
        hints(out, draft, start..end);
        drop_empty_streams(out, draft, start, end);
    }
    cap(out, draft, start..end, is_cause);
}

/// What libtest says around the one case it ran; the status line above says it all.
fn is_chatter(line: &str) -> bool {
    let text = line.trim();
    text == "running 1 test"
        || text == "failures:"
        || text.starts_with("test result: FAILED. 0 passed; 1 failed;")
        || (text.starts_with("test ") && text.ends_with(" ... FAILED"))
        || (text.starts_with("---- ") && text.ends_with(" stdout ----"))
        || (indent(line) >= 8 && !text.contains(' ') && text.contains("::"))
}

/// `stdout ───` without anything below it.
fn drop_empty_streams(out: &Output<'_>, draft: &mut Draft, start: usize, end: usize) {
    let mut empty = true;
    for i in (start..end).rev() {
        let line = out.line(i);
        if line.trim_end().ends_with("\u{2500}\u{2500}\u{2500}") && indent(line) == 2 {
            if empty {
                draft.noise(i);
            }
            empty = true;
        } else if draft.stays(i) && !is_blank(line) {
            empty = false;
        }
    }
}
