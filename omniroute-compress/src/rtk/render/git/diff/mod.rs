//! Unified and combined diffs: `git diff`, `git show`, `git log -p`, `gh pr diff`, `diff -u`, patches.
//!
//! Every changed line stays with its sign, and so does every line that is not understood. `index` lines go; from
//! standard on fewer unchanged lines stay, under headers that are true (see [`context`]). What results still applies.

mod context;
mod generated;
mod hunk;
mod plain;

use crate::rtk::kit::{Draft, Level, Output, What};

use super::bytes::is_short;
use generated::is_generated;
use hunk::End;

pub(super) use plain::render as render_plain;

/// So many changed lines are shown in any case, even of deleted and generated files.
const ALWAYS: usize = 400;

/// How the diffs of one output are shown, and what was seen of them.
#[derive(Debug)]
pub(super) struct Patches {
    /// Unchanged lines at either side of a change; `None` leaves hunks as they are.
    context: Option<usize>,
    /// Whether lines of deleted and generated files beyond [`ALWAYS`] may be left out.
    omit: bool,
    /// Whether `index` lines stay, too.
    verbatim: bool,
    /// Whether anything but `index` lines changes.
    rewrite: bool,
    /// The file before had no hunk. Tools read on from its header to the next `diff --git`, which then must stay.
    open: bool,
    /// Changed lines so far.
    changed: usize,
    /// A hunk that is not made of signed lines: a word diff.
    pub(super) foreign: bool,
}

impl Patches {
    /// What the level allows; the context the command asked for stays.
    pub(super) fn new(out: &Output<'_>) -> Patches {
        let asked = out.args().any(|w| {
            w.strip_prefix("-U").is_some_and(|n| n.as_bytes().first().is_some_and(u8::is_ascii_digit))
                || matches!(w, "-U" | "-W" | "--function-context" | "--inter-hunk-context" | "-C")
                || w.starts_with("--unified=")
                || w.starts_with("--inter-hunk-context=")
        });
        // A stash lies beside the tree: its context cannot be looked up elsewhere.
        let stash = out.subcommand() == "stash";
        let verbatim = is_short(out) && (stash || out.words.is_empty());
        let level = if stash || verbatim {
            Level::Minimal
        } else if asked {
            out.level.gentler()
        } else {
            out.level
        };
        Patches {
            context: level.pick(None, Some(1), Some(0)),
            omit: level == Level::Aggressive,
            verbatim,
            rewrite: level != Level::Minimal,
            open: false,
            changed: 0,
            foreign: out.args().any(|w| w.starts_with("--word-diff") || w.starts_with("--color-words")),
        }
    }
}

/// What stands before the hunks of a file.
#[derive(Debug, Default)]
struct Files<'t> {
    git: Option<usize>,
    index: Option<usize>,
    old: Option<usize>,
    new: Option<usize>,
    /// Lines on modes, renames, a new or a deleted file.
    extended: bool,
    deleted: bool,
    path: &'t str,
}

/// Marks the diff of one file that begins at line `at`; the line behind it. `None` if no diff begins there.
pub(super) fn file(out: &Output<'_>, draft: &mut Draft, at: usize, patches: &mut Patches) -> Option<usize> {
    let (files, mut i) = head(out, at)?;
    let binary = out.line(i) == "GIT binary patch";
    if let (Some(index), false) = (files.index, binary || patches.verbatim) {
        draft.cover(index);
    }
    let open = std::mem::replace(&mut patches.open, !is_hunk(out.line(i)));
    if binary {
        return Some(payload(out, draft, i + 1, patches));
    }
    if let (Some(git), true) = (files.git, patches.rewrite && !open && is_repeated(out, &files, i)) {
        draft.cover(git);
    }
    while i < out.len() {
        if let Some(end) = hunk::combined(out, i) {
            (i..end).for_each(|j| draft.pin(j));
            i = end;
            continue;
        }
        let Some(header) = hunk::header(out.line(i)) else { break };
        let (end, how) = hunk::body(out, i + 1, &header);
        match (how, patches.context) {
            (End::Broken, _) => {
                patches.foreign |= (i + 1..=end).any(|j| is_word_diff(out.line(j)));
                (i..end).for_each(|j| draft.pin(j));
            }
            (_, None) => (i..end).for_each(|j| draft.pin(j)),
            (_, Some(context)) => context::reduce(out, draft, i, end, &header, context, how == End::Cut),
        }
        if how == End::Whole && patches.omit {
            omit(out, draft, i + 1..end, &files, patches);
        }
        i = end.max(i + 1);
    }
    Some(i)
}

/// Renders an output that is a diff.
pub(super) fn render(out: &Output<'_>, draft: &mut Draft) -> crate::rtk::kit::Verdict {
    super::walk::render(out, draft)
}

/// Reads what stands before the first hunk; the line of that hunk.
fn head<'t>(out: &Output<'t>, at: usize) -> Option<(Files<'t>, usize)> {
    let mut files = Files::default();
    let mut i = at;
    let line = out.line(at);
    if line.starts_with("diff ") {
        files.git = line.starts_with("diff --git ").then_some(at);
        files.path = line.rsplit(' ').next().unwrap_or("");
        i += 1;
    }
    let mut any = line.starts_with("diff --");
    loop {
        let line = out.line(i);
        match line.as_bytes().first() {
            Some(b'i') if line.starts_with("index ") && i > at => files.index = Some(i),
            Some(b'-')
                if line.starts_with("--- ")
                    && out.line(i + 1).starts_with("+++ ")
                    && is_hunk(out.line(i + 2)) =>
            {
                files.old = Some(i);
                files.new = Some(i + 1);
                files.deleted |= out.line(i + 1).starts_with("+++ /dev/null");
                if !files.deleted {
                    files.path = out.line(i + 1).get(4..).and_then(|p| p.split('\t').next()).unwrap_or("");
                }
                return Some((files, i + 2));
            }
            _ if i > at && is_extended(line) => {
                files.extended = true;
                files.deleted |= line.starts_with("deleted file mode ");
            }
            _ => break,
        }
        any = true;
        i += 1;
    }
    any.then_some((files, i))
}

fn is_hunk(line: &str) -> bool {
    line.starts_with("@@ -") || line.starts_with("@@@")
}

fn is_extended(line: &str) -> bool {
    const STARTS: [&str; 13] = [
        "old mode ",
        "new mode ",
        "deleted file mode ",
        "new file mode ",
        "copy from ",
        "copy to ",
        "rename from ",
        "rename to ",
        "similarity index ",
        "dissimilarity index ",
        "mode ",
        "Binary files ",
        "Files ",
    ];
    STARTS.iter().any(|s| line.starts_with(s))
}

/// Whether `diff --git a/x b/x` says only what `--- a/x` and `+++ b/x` say.
fn is_repeated(out: &Output<'_>, files: &Files<'_>, hunk: usize) -> bool {
    let (Some(git), Some(old), Some(new)) = (files.git, files.old, files.new) else { return false };
    let part = |i: usize| out.line(i).get(4..).unwrap_or("");
    let same = out.line(git).strip_prefix("diff --git ").and_then(|l| l.split_once(' '));
    !files.extended
        && is_hunk(out.line(hunk))
        && same.is_some_and(|(a, b)| a == part(old) && b == part(new) && !a.contains('"'))
}

/// `[-removed-]` or `{+added+}`.
fn is_word_diff(line: &str) -> bool {
    line.contains("{+") && line.contains("+}") || line.contains("[-") && line.contains("-]")
}

/// The data of a binary patch goes; the lines with its sizes stay.
fn payload(out: &Output<'_>, draft: &mut Draft, start: usize, patches: &Patches) -> usize {
    let mut i = start;
    while out.line(i).starts_with("literal ") || out.line(i).starts_with("delta ") {
        i += 1;
        while out.line(i).as_bytes().first().is_some_and(u8::is_ascii_alphabetic)
            && !out.line(i).contains(' ')
        {
            if patches.rewrite {
                draft.drop_known(i, What::Lines);
            }
            i += 1;
        }
        i += usize::from(i < out.len() && out.line(i).is_empty());
    }
    i
}

/// Counts changed lines and leaves those of deleted and generated files out, once enough were shown.
fn omit(
    out: &Output<'_>,
    draft: &mut Draft,
    body: std::ops::Range<usize>,
    files: &Files<'_>,
    patches: &mut Patches,
) {
    let what = if files.deleted { What::RemovedLines } else { What::Lines };
    let may = files.deleted || is_generated(files.path);
    for i in body {
        if matches!(out.line(i).as_bytes().first(), Some(b'-' | b'+')) {
            patches.changed += 1;
            if may && patches.changed > ALWAYS {
                draft.drop_known(i, what);
            }
        }
    }
}

#[cfg(test)]
mod tests;
