//! Tables of names: branches, tags with their texts, remotes, authors.

use crate::rtk::kit::{Draft, Level, Output, Verdict};

use super::bytes::{hex_len, is_padded, is_short, squeeze};
use super::walk;

/// Characters of a subject behind a branch.
const SUBJECT: usize = 72;

/// Renders `git branch -vv`, `git tag -n` and what switching branches prints.
pub(super) fn render(out: &Output<'_>, draft: &mut Draft) -> Verdict {
    let other = walk::render(out, draft);
    let custom = out.has("--format");
    let mut padded = false;
    let mut remote = "";
    for i in 0..out.len() {
        let line = out.line(i);
        let fits = draft.stays(i) && is_row(line) && out.level != Level::Minimal && !custom;
        let next = if fits && !is_short(out) { group(out, i, remote) } else { "" };
        if next.is_empty() && !(fits && (is_padded(line) || line.len() > SUBJECT)) {
            remote = "";
            continue;
        }
        padded = true;
        draft.cover(i);
        draft.insert_with(i, |text| {
            if next != remote && !next.is_empty() {
                text.push_str(next);
                text.push_str(":\n");
            }
            let start = text.len();
            text.push_str(if next.is_empty() { "" } else { "    " });
            squeeze(text, line.strip_prefix(next).unwrap_or(line));
            if !is_short(out) {
                cut_subject(text, start);
            }
        });
        remote = next;
    }
    if padded { Verdict::Done } else { other }
}

/// The part `  remotes/origin/` that row `i` shares with the one before it or the next two.
fn group<'t>(out: &Output<'t>, i: usize, before: &str) -> &'t str {
    let part = |line: &'t str| {
        let rest = line.strip_prefix("  remotes/").filter(|l| !l.contains(" -> "))?;
        let name = rest.split_once('/')?.1;
        line.strip_suffix(name)
    };
    let Some(own) = part(out.line(i)) else { return "" };
    let shared = own == before || part(out.line(i + 1)) == Some(own) && part(out.line(i + 2)) == Some(own);
    if shared { own } else { "" }
}

/// A name in its column: `* main  1234567 subject`, `  topic`, `v1.0  text`.
fn is_row(line: &str) -> bool {
    let name = line.trim_start_matches(['*', '+']).trim_start();
    !line.starts_with('\t')
        && !line.starts_with("    ")
        && name.as_bytes().first().is_some_and(|b| b.is_ascii_alphanumeric() || *b == b'(')
}

/// Shortens the subject of a `-vv` row that begins at byte `start`, behind the hash and the upstream in brackets.
fn cut_subject(text: &mut String, start: usize) {
    let row = text.get(start..).unwrap_or("");
    let mut at = start;
    let Some(sha) = row.split(' ').position(|w| w.len() >= 7 && hex_len(w.as_bytes()) == w.len()) else {
        return;
    };
    for word in row.split(' ').take(sha + 1) {
        at += word.len() + 1;
    }
    let mut rest = text.get(at..).unwrap_or("");
    if rest.starts_with('[')
        && let Some(end) = rest.find("] ")
    {
        at += end + 2;
        rest = text.get(at..).unwrap_or("");
    }
    if let Some((cut, _)) = rest.char_indices().nth(SUBJECT)
        && rest.len() > cut + 3
    {
        text.truncate(at + cut);
        text.push_str("...");
    }
}

/// Renders `git remote -v`: one line where both directions are the same.
pub(super) fn render_remote(out: &Output<'_>, draft: &mut Draft) -> Verdict {
    let mut i = 0;
    while i < out.len() && !is_short(out) && out.level != Level::Minimal {
        let fetch = out.line(i).strip_suffix(" (fetch)");
        if fetch.is_some() && fetch == out.line(i + 1).strip_suffix(" (push)") {
            draft.insert_with(i, |text| {
                text.push_str(fetch.unwrap_or(""));
                text.push_str(" (fetch, push)");
            });
            draft.cover(i);
            draft.cover(i + 1);
            i += 1;
        }
        i += 1;
    }
    Verdict::Done
}

/// Renders `git shortlog`: counts without their padding.
pub(super) fn render_shortlog(out: &Output<'_>, draft: &mut Draft) -> Verdict {
    for i in 0..out.len() {
        let line = out.line(i);
        let bare = line.trim_start();
        let counted = bare
            .split_once('\t')
            .is_some_and(|(n, _)| !n.is_empty() && n.bytes().all(|b| b.is_ascii_digit()));
        if counted && bare.len() < line.len() && out.level != Level::Minimal {
            draft.replace(i, bare);
        }
    }
    Verdict::Done
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cuts_subjects_only() {
        let long = "word ".repeat(30);
        for (row, keeps) in [
            (format!("* main 1234567 [origin/main: ahead 1] {long}"), "[origin/main: ahead 1] word"),
            (format!("  topic 1234567 {long}"), "  topic 1234567 word"),
        ] {
            let mut text = format!("before\n{row}");
            cut_subject(&mut text, 7);
            assert!(text.ends_with("...") && text.contains(keeps) && text.len() < row.len(), "{text}");
        }
        let mut text = format!("  {long}");
        cut_subject(&mut text, 0);
        assert!(!text.ends_with("..."));
    }
}
