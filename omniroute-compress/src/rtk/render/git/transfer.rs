//! Pushes, pulls, fetches and clones: counters of objects go; refs, rejections and what the server says stay.

use crate::rtk::kit::{Draft, Level, Output, Verdict, What};

use super::bytes::{is_padded, is_short};
use super::walk;

/// Counters whose last state says nothing to act on.
const COUNTERS: [&str; 10] = [
    "Enumerating objects: ",
    "Counting objects: ",
    "Compressing objects: ",
    "Delta compression using ",
    "Writing objects: ",
    "Unpacking objects: ",
    "Finding sources: ",
    "Getting sizes: ",
    "Selecting bitmap commits: ",
    "Building bitmaps: ",
];

/// Counters whose last state stays.
const RESULTS: [&str; 6] = [
    "Receiving objects: ",
    "Resolving deltas: ",
    "Updating files: ",
    "Checking out files: ",
    "Filtering content: ",
    "Checking connectivity: ",
];

/// Renders what a transfer prints, and the merge, statistic or state behind it.
pub(super) fn render(out: &Output<'_>, draft: &mut Draft) -> Verdict {
    let verdict = walk::render(out, draft);
    let mut known = verdict == Verdict::Done;
    for i in 0..out.len() {
        let line = out.line(i);
        if !line.starts_with("remote:") || !draft.stays(i) {
            continue;
        }
        known = true;
        let said = line.split_at(7).1.trim();
        if said.is_empty() {
            draft.noise(i);
        } else if !is_short(out) && (is_counter(said) || is_result(said) || said.starts_with("Total ")) {
            draft.drop(i, What::Progress);
        }
    }
    if known { Verdict::Done } else { verdict }
}

/// A counter that this side prints.
pub(super) fn progress(out: &Output<'_>, draft: &mut Draft, at: usize) -> Option<usize> {
    let line = out.line(at);
    if let Some(path) = line.strip_prefix("Auto-merging ") {
        // The conflict names the file again.
        let next = out.line(at + 1);
        if next.starts_with("CONFLICT (")
            && next.ends_with(path)
            && !is_short(out)
            && out.level != Level::Minimal
        {
            draft.cover(at);
        }
        return Some(at + 1);
    }
    let result = is_result(line);
    if !result && !is_counter(line) {
        return None;
    }
    let phase = line.split(": ").next().unwrap_or("");
    let replaced = result && out.line(at + 1).starts_with(phase);
    if !is_short(out) && (!result || replaced) {
        draft.drop(at, What::Progress);
    }
    Some(at + 1)
}

/// A row on a ref without the padding of its columns: ` * [new branch] x -> origin/x`.
pub(super) fn row(out: &Output<'_>, draft: &mut Draft, at: usize) -> Option<usize> {
    let line = out.line(at);
    let [b' ', flag, b' ', rest @ ..] = line.as_bytes() else { return None };
    let named = rest.first() == Some(&b'[') || rest.windows(2).any(|w| w == b"..");
    if !matches!(flag, b' ' | b'*' | b'+' | b'-' | b't' | b'=' | b'!') || !named {
        return None;
    }
    let (head, tail) = line.split_at_checked(3)?;
    if !is_short(out)
        && out.level != Level::Minimal
        && is_padded(tail)
        && (line.contains(" -> ") || *flag == b'-')
    {
        draft.cover(at);
        draft.insert_with(at, |text| {
            text.push_str(head);
            for (n, word) in tail.split_ascii_whitespace().enumerate() {
                text.push_str(if n > 0 { " " } else { "" });
                text.push_str(word);
            }
        });
    }
    Some(at + 1)
}

fn is_counter(line: &str) -> bool {
    COUNTERS.iter().any(|c| line.starts_with(c))
}

fn is_result(line: &str) -> bool {
    RESULTS.iter().any(|c| line.starts_with(c))
}
