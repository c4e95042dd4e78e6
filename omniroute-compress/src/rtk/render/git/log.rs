//! `git log` and `git show`: one line per commit, what ties it to an issue, its files; diffs by their own rules.

use crate::rtk::kit::{Draft, Level, Output, Severity, Verdict, What, severity};

use super::bytes::{head, hex_len, is_short};
use super::commit::{self, Commit};
use super::walk::Parts;
use super::{names, stat};

/// Digits of a hash that are shown.
const SHA: usize = 9;
/// Up to so many commits show author and date.
const FEW: usize = 5;

/// Renders a history. Other formats than the default one stay as they are, apart from diffs in them.
pub(super) fn render(out: &Output<'_>, draft: &mut Draft) -> Verdict {
    run(out, draft, false)
}

/// Renders one object; messages stay.
pub(super) fn render_show(out: &Output<'_>, draft: &mut Draft) -> Verdict {
    // `git show rev:path` prints a file.
    if out.args().skip(1).any(|w| !w.starts_with('-') && w.contains(':')) {
        return Verdict::NotMine;
    }
    run(out, draft, true)
}

fn run(out: &Output<'_>, draft: &mut Draft, show: bool) -> Verdict {
    let first = out.lines.iter().find(|l| !l.is_empty()).copied().unwrap_or("");
    let digits = hex_len(first.as_bytes());
    let short = digits >= 7 && first.as_bytes().get(digits) == Some(&b' ');
    let starts = short || ["commit ", "tag ", "diff --", "tree "].iter().any(|s| first.starts_with(s));
    if show && !starts {
        return Verdict::NotMine;
    }
    let count = out.lines.iter().filter(|l| commit::head(l).is_some()).count();
    let mut log = Log {
        fold: out.level != Level::Minimal && !is_short(out),
        details: show || count <= FEW || asks_for_people(out),
        whole: count <= FEW,
        bodies: out.level != Level::Aggressive && (show || count == 1),
        names_only: out.has("--name-only"),
        block: None,
        text: String::new(),
    };
    let mut parts = Parts::new(out);
    let (mut at, mut known) = (0, false);
    while at < out.len() {
        let line = out.line(at);
        if let (true, Some(read)) = (line.starts_with("commit "), commit::read(out, at)) {
            known = true;
            at = log.commit(out, draft, at, &read);
        } else if log.block.is_some() && (line.is_empty() || line == "---") {
            draft.noise(at);
            at += 1;
        } else if let Some(end) = log.files(out, draft, at) {
            at = end;
        } else {
            log.flush(draft);
            match parts.part(out, draft, at) {
                Some(end) => {
                    known = true;
                    at = end.max(at + 1);
                }
                None => at += 1,
            }
        }
    }
    log.flush(draft);
    if known && !parts.patches.foreign { Verdict::Done } else { Verdict::NotMine }
}

/// Whether the command picks commits by who made them or when.
fn asks_for_people(out: &Output<'_>) -> bool {
    const OPTIONS: [&str; 6] = ["--author", "--committer", "--since", "--after", "--until", "--before"];
    OPTIONS.iter().any(|o| out.has(o))
}

/// Commits and their files one after the other, written as one text. The messages that are left out lie together
/// behind it, so that one marker counts them.
struct Log {
    fold: bool,
    /// Whether author and date are shown.
    details: bool,
    /// Whether the author's address and the parents of a merge are shown.
    whole: bool,
    /// Whether messages stay.
    bodies: bool,
    /// Whether bare paths follow a message.
    names_only: bool,
    /// Where the text begins that is being written.
    block: Option<usize>,
    text: String,
}

impl Log {
    /// Marks a commit up to the end of its message.
    fn commit(&mut self, out: &Output<'_>, draft: &mut Draft, at: usize, commit: &Commit<'_>) -> usize {
        if !self.fold {
            return commit.end;
        }
        self.open(at);
        self.text.push_str(head(commit.sha, SHA));
        for part in [commit.refs, out.line(commit.subject).trim()] {
            if !part.is_empty() {
                self.text.push(' ');
                self.text.push_str(part);
            }
        }
        if self.details {
            self.details(commit);
        }
        self.text.push('\n');
        let body = commit.subject + usize::from(commit.has_message());
        (at..body).for_each(|i| draft.cover(i));
        if self.bodies && body < commit.end {
            self.flush(draft);
            return commit.end;
        }
        let shown = match out.level {
            Level::Aggressive => None,
            _ => commit::reference(out, body..commit.end),
        };
        for i in body..commit.end {
            // What the guard would put back stands with its commit.
            if Some(i) == shown || severity(out.line(i)) == Severity::Error {
                self.text.push_str(out.line(i));
                self.text.push('\n');
                draft.cover(i);
            } else {
                draft.drop_known(i, What::Lines);
            }
        }
        commit.end
    }

    fn details(&mut self, commit: &Commit<'_>) {
        let author = match commit.author.split_once(" <") {
            Some((name, _)) if !self.whole => name,
            _ => commit.author,
        };
        self.text.push_str(" -- ");
        self.text.push_str(author);
        if !commit.date.is_empty() {
            self.text.push_str(", ");
            self.text.push_str(commit.date);
        }
        if self.whole && !commit.merge.is_empty() {
            self.text.push_str(", merge ");
            self.text.push_str(commit.merge);
        }
    }

    /// Marks a statistic or list of files inside a written text.
    fn files(&mut self, out: &Output<'_>, draft: &mut Draft, at: usize) -> Option<usize> {
        self.block?;
        let line = out.line(at);
        let (stats, names) = (stat::rows(out, at), names::rows(out, at));
        let end = if !stats.is_empty() {
            stat::write(&mut self.text, &stats);
            at + stats.len()
        } else if stat::is_total(line) {
            self.text.push_str(line.trim_end());
            at + 1
        } else if !names.is_empty() {
            names::write(&mut self.text, &names);
            at + names.len()
        } else if self.names_only && !line.starts_with("diff ") {
            let end = (at..out.len()).find(|i| out.line(*i).is_empty()).unwrap_or(out.len());
            names::write_bare(&mut self.text, out, at..end);
            end
        } else {
            return None;
        };
        self.text.push('\n');
        (at..end).for_each(|i| draft.cover(i));
        Some(end)
    }

    fn open(&mut self, at: usize) {
        self.block.get_or_insert(at);
    }

    /// Puts the text where it began.
    fn flush(&mut self, draft: &mut Draft) {
        if let Some(at) = self.block.take() {
            draft.insert(at, self.text.trim_end_matches('\n'));
            self.text.clear();
        }
    }
}
