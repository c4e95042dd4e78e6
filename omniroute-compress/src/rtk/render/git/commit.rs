//! Commits as `git log` and `git show` print them by default.

use crate::rtk::kit::Output;

use super::bytes::hex_len;

/// Where the parts of a printed commit stand.
#[derive(Debug, Clone, Copy)]
pub(super) struct Commit<'t> {
    pub(super) sha: &'t str,
    /// `(HEAD -> main)`, empty if there is none.
    pub(super) refs: &'t str,
    pub(super) merge: &'t str,
    pub(super) author: &'t str,
    pub(super) date: &'t str,
    /// Line of the subject; the end of the header if there is no message.
    pub(super) subject: usize,
    /// The line behind the message.
    pub(super) end: usize,
}

/// Whether a commit begins at the line: `commit <hash>`, perhaps with names in parentheses.
pub(super) fn head(line: &str) -> Option<(&str, &str)> {
    let rest = line.strip_prefix("commit ")?;
    let len = hex_len(rest.as_bytes());
    let (sha, refs) = rest.split_at_checked(len)?;
    let refs = refs.trim();
    let named = refs.is_empty() || refs.starts_with('(') && refs.ends_with(')');
    ((7..=64).contains(&len) && named).then_some((sha, refs))
}

/// Reads the commit at line `at`. `None` if its header holds a line of another kind.
pub(super) fn read<'t>(out: &Output<'t>, at: usize) -> Option<Commit<'t>> {
    let (sha, refs) = head(out.line(at))?;
    let mut commit = Commit { sha, refs, merge: "", author: "", date: "", subject: at, end: at };
    let mut i = at + 1;
    while i < out.len() && !out.line(i).is_empty() {
        let (key, value) = out.line(i).split_once(':')?;
        let value = value.trim();
        match key {
            "Merge" => commit.merge = value,
            "Author" => commit.author = value,
            "Date" | "AuthorDate" => commit.date = value,
            "Commit" | "CommitDate" | "Reflog" | "Reflog message" => {}
            _ => return None,
        }
        i += 1;
    }
    if commit.author.is_empty() {
        return None;
    }
    let is_message = |line: &str| line.starts_with("    ");
    commit.subject = i;
    commit.end = i;
    let mut found = false;
    while i < out.len() && (out.line(i).is_empty() || is_message(out.line(i))) {
        if is_message(out.line(i)) && !out.line(i).trim().is_empty() {
            if !found {
                commit.subject = i;
                found = true;
            }
            commit.end = i + 1;
        }
        i += 1;
    }
    if !found {
        commit.end = commit.subject;
    }
    Some(commit)
}

impl Commit<'_> {
    /// Whether the commit has a message.
    pub(super) fn has_message(&self) -> bool {
        self.subject < self.end
    }
}

/// The line of a message that ties the commit to something: a breaking change, else an issue, else a trailer of the
/// last paragraph.
pub(super) fn reference(out: &Output<'_>, message: std::ops::Range<usize>) -> Option<usize> {
    let text = |i: usize| out.line(i).trim();
    let breaking = message.clone().find(|i| text(*i).starts_with("BREAKING"));
    let issue = || message.clone().find(|i| is_issue(text(*i)));
    let trailer = || {
        let last = message.clone().rev().take_while(|i| !text(*i).is_empty()).min()?;
        (last..message.end).find(|i| is_trailer(text(*i)))
    };
    breaking.or_else(issue).or_else(trailer)
}

/// `Fixes #12`, `Closes: #3`, `see https://...`.
fn is_issue(line: &str) -> bool {
    const WORDS: [&str; 14] = [
        "fix",
        "fixes",
        "fixed",
        "close",
        "closes",
        "closed",
        "resolve",
        "resolves",
        "resolved",
        "ref",
        "refs",
        "references",
        "see",
        "pr",
    ];
    let len = line.bytes().take(11).take_while(u8::is_ascii_alphabetic).count();
    let (word, rest) = line.split_at_checked(len).unwrap_or((line, ""));
    if !WORDS.iter().any(|w| w.eq_ignore_ascii_case(word)) {
        return false;
    }
    let numbered = rest.as_bytes().windows(2).any(|w| w[0] == b'#' && w[1].is_ascii_digit());
    numbered || rest.contains("://")
}

/// `Key-Word: value`, except who signed and reviewed.
fn is_trailer(line: &str) -> bool {
    let Some((key, value)) = line.split_once(": ") else { return false };
    let formed = key.bytes().all(|b| b.is_ascii_alphabetic() || b == b'-')
        && key.bytes().next().is_some_and(|b| b.is_ascii_uppercase());
    let person = ["-by", "-By", "Cc", "Change-Id"].iter().any(|end| key.ends_with(end));
    formed && !person && !value.trim().is_empty()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rtk::kit::Level;

    #[test]
    fn reads_commits() {
        let text = "commit 0123456789abcdef0123456789abcdef01234567 (HEAD -> main)\nMerge: 1234567 89abcde\nAuthor:     A <a@b>\nAuthorDate: D\nCommit:     A\nCommitDate: D\n\n    subject\n    \n    body\n\ncommit 1\n";
        let out = Output::new(text, Level::Standard);
        let c = read(&out, 0).unwrap();
        assert_eq!(
            (c.refs, c.merge, c.author, c.date),
            ("(HEAD -> main)", "1234567 89abcde", "A <a@b>", "D")
        );
        assert_eq!((c.subject, c.end), (7, 10));
        for bad in [
            "commit xyz\n",
            "commit 01234567 is bad\nAuthor: x\n",
            "commit 01234567\ngpg: Signature\n",
            "commit 01234567\n",
        ] {
            assert!(read(&Output::new(bad, Level::Standard), 0).is_none(), "{bad}");
        }
    }

    #[test]
    fn finds_references() {
        for (message, expected) in [
            ("    a\n\n    Fixes #1\n    BREAKING CHANGE: x", Some(3)),
            ("    text\n    closes: #12\n", Some(1)),
            ("    Note: not in the last paragraph\n\n    end\n", None),
            ("    a\n\n    Signed-off-by: x <y>\n    Ticket: AB-1\n", Some(3)),
            ("    see the docs #x", None),
        ] {
            let out = Output::new(message, Level::Standard);
            assert_eq!(reference(&out, 0..out.len()), expected, "{message}");
        }
    }
}
