//! `git status` in its long form: sections of paths become one line each; hints and blank lines go.

use crate::rtk::kit::{Draft, Level, Output, Verdict};

use super::bytes::is_short;
use super::{short_status, walk};

/// Headings, the names of their sections, and whether rows carry a label.
const SECTIONS: [(&str, &str, bool); 7] = [
    ("Changes to be committed:", "staged", true),
    ("Changes not staged for commit:", "unstaged", true),
    ("Changed but not updated:", "unstaged", true),
    ("Unmerged paths:", "unmerged", true),
    ("Untracked files:", "untracked", false),
    ("Ignored files:", "ignored", false),
    ("Submodules changed but not updated:", "submodules", false),
];

/// Labels of one file and their letters; other labels are written out.
const LABELS: [(&str, &str); 6] = [
    ("modified", "M"),
    ("new file", "A"),
    ("deleted", "D"),
    ("renamed", "R"),
    ("copied", "C"),
    ("typechange", "T"),
];

/// Renders `git status`: long, short, both porcelain forms.
pub(super) fn render(out: &Output<'_>, draft: &mut Draft) -> Verdict {
    if short_status::render(out, draft) == Verdict::Done {
        return Verdict::Done;
    }
    let verdict = walk::render(out, draft);
    let mut patch = false;
    for i in 0..out.len() {
        patch |= out.line(i).starts_with("diff --");
        if !patch && out.line(i).is_empty() && verdict == Verdict::Done && out.level != Level::Minimal {
            draft.noise(i);
        }
    }
    if verdict == Verdict::Done || is_status(out) { Verdict::Done } else { Verdict::NotMine }
}

fn is_status(out: &Output<'_>) -> bool {
    out.lines.iter().any(|l| {
        l.starts_with("On branch ") || l.starts_with("HEAD detached ") || l.starts_with("nothing to commit")
    })
}

/// A hint in parentheses, in any language: `  (use "git add <file>..." to update what will be committed)`.
pub(super) fn hint(out: &Output<'_>, draft: &mut Draft, at: usize) -> Option<usize> {
    if is_hint(out.line(at), is_short(out)) {
        draft.noise(at);
        return Some(at + 1);
    }
    None
}

/// In a short output only the one kind of hint that says nothing on the state.
fn is_hint(line: &str, short: bool) -> bool {
    let Some(text) = line.strip_prefix("  (").and_then(|l| l.strip_suffix(')')) else { return false };
    text.starts_with("use \"git ")
        || !short
            && (text.starts_with("fix conflicts and")
                || text.starts_with("commit or discard the untracked or modified content")
                || text.contains("\"git ") && !text.starts_with("all conflicts"))
}

/// Marks a section with its heading at line `at`, or the closing line; the line behind it.
pub(super) fn section(out: &Output<'_>, draft: &mut Draft, at: usize) -> Option<usize> {
    let heading = out.line(at);
    if let Some(end) = closing(out, draft, at) {
        return Some(end);
    }
    let (_, name, labelled) = SECTIONS.iter().find(|s| s.0 == heading)?;
    let short = is_short(out);
    let mut first = at + 1;
    while is_hint(out.line(first), short)
        || first > at + 1 && out.line(first).is_empty() && out.line(first + 1).starts_with('\t')
    {
        draft.noise(first);
        first += 1;
    }
    let end = (first..out.len()).take_while(|i| out.line(*i).starts_with('\t')).count() + first;
    if end == first {
        return Some(first);
    }
    let rows = first..end;
    let fits = |i: usize| if *labelled { label(out.line(i)).is_some() } else { true };
    if !short && out.level != Level::Minimal && rows.clone().all(fits) {
        draft.cover(at);
        rows.clone().for_each(|i| draft.cover(i));
        draft.insert_with(at, |text| {
            text.push_str(name);
            text.push_str(": ");
            let mut before = "";
            for i in rows {
                let (label, path) =
                    label(out.line(i)).filter(|_| *labelled).unwrap_or(("", out.line(i).trim()));
                if i > first {
                    text.push_str(if letter(label).is_none() && label != before { "; " } else { ", " });
                }
                match letter(label) {
                    Some(letter) => {
                        text.push_str(letter);
                        text.push(' ');
                    }
                    None if label != before => {
                        text.push_str(label);
                        text.push_str(": ");
                    }
                    None => {}
                }
                before = label;
                quoted(text, path);
            }
        });
    }
    Some(end)
}

fn letter(label: &str) -> Option<&'static str> {
    LABELS.iter().find(|l| l.0 == label).map(|l| l.1)
}

/// Appends a path; in quotes if a comma in it could end it.
fn quoted(text: &mut String, path: &str) {
    let quote = if memchr::memchr(b',', path.as_bytes()).is_some()
        && path.contains(", ")
        && !path.starts_with('"')
        && !path.ends_with(')')
    {
        "\""
    } else {
        ""
    };
    text.push_str(quote);
    text.push_str(path);
    text.push_str(quote);
}

/// `<tab>both modified:   path`.
fn label(line: &str) -> Option<(&str, &str)> {
    let (label, path) = line.strip_prefix('\t')?.split_once(':')?;
    let path = path.trim_start();
    let known = LABELS.iter().any(|l| l.0 == label)
        || label.starts_with("both ")
        || matches!(label, "deleted by us" | "deleted by them" | "added by us" | "added by them");
    (known && !path.is_empty()).then_some((label, path))
}

/// `no changes added to commit (use "git add" and/or "git commit -a")` loses its hint.
fn closing(out: &Output<'_>, draft: &mut Draft, at: usize) -> Option<usize> {
    const ENDS: [&str; 3] = [
        "no changes added to commit",
        "nothing added to commit but untracked files present",
        "nothing to commit",
    ];
    let line = out.line(at);
    let end = ENDS.iter().find(|e| line.starts_with(**e))?;
    let hint = line.strip_prefix(end)?.trim_start();
    if hint.starts_with('(') && hint.ends_with(')') && !is_short(out) && out.level != Level::Minimal {
        draft.replace(at, end);
    }
    Some(at + 1)
}
