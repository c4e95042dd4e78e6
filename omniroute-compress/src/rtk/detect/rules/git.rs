//! git: status, log, patches, statistics, commits, pushes and pulls; plain unified diffs.

use crate::rtk::detect::board::{Board, EVERY, FIRST, LAST, STRUCTURAL as S, rules};
use crate::rtk::detect::line::{Line, counted, digits, has, is_hex, is_path, run, split, starts, word};

rules! {
    BRANCH = GitStatus 0 Header "branch line" S | FIRST;
    HEADING = GitStatus 1 Line "section heading" S;
    ENTRY = GitStatus 2 Line "labelled path" S;
    CLEAN = GitStatus 3 Summary "closing line" S | LAST;
    TRACKING = GitStatus 4 Line "tracking line" 0;
    SHORT_HEAD = GitStatus 5 Header "short branch line" S | FIRST;
    SHORT = GitStatus 6 Line "short status" EVERY;
    STATE = GitStatus 7 Line "operation in progress" S;
    COMMIT = GitLog 0 Header "commit line" S | FIRST;
    AUTHOR = GitLog 1 Line "author line" S;
    DATE = GitLog 2 Line "date line" S;
    GRAPH = GitLog 3 Line "graph commit" S | EVERY;
    RAIL = GitLog 4 Header "graph rail" S | EVERY;
    ONELINE = GitLog 5 Line "one-line commit" EVERY;
    DIFF_GIT = GitDiff 0 Header "diff header" S | FIRST;
    HUNK = GitDiff 2 Line "hunk header" S;
    COMBINED = GitDiff 3 Header "combined diff header" S | FIRST;
    PAIR = Diff 0 Header "file header pair" S;
    PLAIN_HUNK = Diff 1 Line "hunk header" S;
    NORMAL = Diff 2 Header "change command" S;
    SIDE = Diff 3 Line "line of one side" 0;
    ONLY = Diff 4 Line "only in" S;
    CALL = Diff 5 Header "compared files" S | FIRST;
    STAT_ROW = GitStat 0 Line "row of a diffstat" S | EVERY;
    STAT_SUM = GitStat 1 Summary "total of a diffstat" S | EVERY;
    COMMITTED = GitCommit 0 Header "commit summary" S | FIRST | EVERY;
    MODES = GitCommit 1 Line "mode line" EVERY;
    COMMIT_SUM = GitCommit 2 Summary "files changed" EVERY;
    TO = GitPush 0 Header "remote" S;
    REF = GitPush 1 Line "ref update" S;
    UP_TO_DATE = GitPush 2 Summary "everything up to date" S | EVERY;
    REMOTE = GitPush 3 Line "remote message" 0;
    TRACKS = GitPush 4 Summary "branch set up" S;
    FROM = GitPull 0 Header "remote" S;
    UPDATING = GitPull 1 Header "range" S;
    CONFLICT = GitPull 2 Line "conflict" S;
    MERGE_END = GitPull 3 Summary "merge result" S | LAST;
    FETCHED = GitPull 4 Line "fetched ref" S;
    FAST = GitPull 5 Line "fast-forward" S;
    SWITCHED = GitBranch 0 Line "switched" S;
}

const HEADINGS: &[&[u8]] = &[
    b"Changes to be committed:",
    b"Changes not staged for commit:",
    b"Untracked files:",
    b"Unmerged paths:",
    b"Ignored files:",
];
const ENTRIES: &[&[u8]] = &[
    b"modified:",
    b"new file:",
    b"deleted:",
    b"renamed:",
    b"copied:",
    b"typechange:",
    b"both modified:",
    b"both added:",
    b"both deleted:",
    b"deleted by us:",
    b"deleted by them:",
    b"added by us:",
    b"added by them:",
];

pub(super) fn scan(line: &Line<'_>, board: &mut Board) {
    let at = line.number;
    let Some(&first) = line.raw.first() else { return };
    match first {
        b'O' if line.raw.starts_with(b"On branch ") => board.hit(&BRANCH, at),
        b'H' if line.raw.starts_with(b"HEAD detached ") => board.hit(&BRANCH, at),
        b'i' if line.raw.starts_with(b"interactive rebase in progress; onto ") => board.hit(&BRANCH, at),
        b'Y' if line.raw.starts_with(b"Your branch ") => board.hit(&TRACKING, at),
        b'Y' if starts(line.raw, &[b"You are currently ", b"You have unmerged paths"]) => {
            board.hit(&STATE, at);
        }
        b'C' | b'U' | b'I' if HEADINGS.contains(&line.raw) => board.hit(&HEADING, at),
        b'n' if starts(
            line.raw,
            &[b"nothing to commit", b"no changes added to commit", b"nothing added to commit"],
        ) =>
        {
            board.hit(&CLEAN, at);
        }
        b'\t' if starts(line.body, ENTRIES) => board.hit(&ENTRY, at),
        b'#' if line.raw.starts_with(b"# branch.") => board.hit(&SHORT_HEAD, at),
        b'#' if line.raw.starts_with(b"## ") && (has(line.raw, b"...") || is_ref(line.raw.get(3..))) => {
            board.hit(&SHORT_HEAD, at);
        }
        b'c' => commit(line, board),
        b'A' => {
            if line.raw.starts_with(b"Author: ") && has(line.raw, b" <") {
                board.hit(&AUTHOR, at);
            } else if line.raw.starts_with(b"Already up to date.")
                || line.raw.starts_with(b"Automatic merge failed;")
            {
                board.hit(&MERGE_END, at);
            }
        }
        b'D' if starts(line.raw, &[b"Date:   ", b"CommitDate: "]) => board.hit(&DATE, at),
        b'*' | b'|' | b'\\' => graph(line, board),
        b'd' if line.raw.starts_with(b"diff -") && !line.raw.starts_with(b"diff --") => board.hit(&CALL, at),
        b'O' if line.raw.starts_with(b"Only in ") && has(line.raw, b": ") => board.hit(&ONLY, at),
        b'<' | b'>' if line.raw.get(1) == Some(&b' ') => board.hit(&SIDE, at),
        b'd' if line.raw.starts_with(b"diff --git ") => board.hit(&DIFF_GIT, at),
        b'd' if starts(line.raw, &[b"diff --cc ", b"diff --combined "]) => board.hit(&COMBINED, at),
        b'@' => hunk(line, board),
        b'+' if line.raw.starts_with(b"+++ ") && line.before.starts_with(b"--- ") => board.hit(&PAIR, at),
        b' ' => spaced(line, board),
        b'T' if line.raw.starts_with(b"To ") && remote(line.raw.get(3..)) => board.hit(&TO, at),
        b'E' if line.raw == b"Everything up-to-date" => board.hit(&UP_TO_DATE, at),
        b'b' if line.raw.starts_with(b"branch '") && has(line.raw, b"' set up to track ") => {
            board.hit(&TRACKS, at)
        }
        b'r' if line.raw.starts_with(b"remote: ") => board.hit(&REMOTE, at),
        b'F' if line.raw.starts_with(b"From ") && remote(line.raw.get(5..)) => board.hit(&FROM, at),
        b'F' if line.raw == b"Fast-forward" => board.hit(&FAST, at),
        b'U' if line.raw.starts_with(b"Updating ") && has(line.raw, b"..") => board.hit(&UPDATING, at),
        b'C' if line.raw.starts_with(b"CONFLICT (") && has(line.raw, b"): ") => board.hit(&CONFLICT, at),
        b'S' if starts(line.raw, &[b"Switched to branch '", b"Switched to a new branch '"]) => {
            board.hit(&SWITCHED, at);
        }
        b'[' if committed(line.raw) => board.hit(&COMMITTED, at),
        b'1'..=b'9' if change(line.raw) => board.hit(&NORMAL, at),
        b'0'..=b'9' | b'a' | b'b' | b'e' | b'f' => oneline(line, board),
        _ => {}
    }
    if is_short(line.raw) {
        board.hit(&SHORT, at);
    }
}

fn commit(line: &Line<'_>, board: &mut Board) {
    match line.raw.strip_prefix(b"commit ") {
        Some(rest) => {
            let (sha, rest) = word(rest);
            if is_hex(sha, 7) && (rest.is_empty() || rest.starts_with(b"(")) {
                board.hit(&COMMIT, line.number);
            }
        }
        None => oneline(line, board),
    }
}

/// `1a2b3c4 subject` or `1a2b3c4 (refs) subject`.
fn oneline(line: &Line<'_>, board: &mut Board) {
    let (sha, rest) = word(line.raw);
    let mixed = sha.iter().any(u8::is_ascii_digit) && sha.len() <= 12;
    if mixed && is_hex(sha, 7) && rest.len() > 2 {
        board.hit(&ONELINE, line.number);
    }
}

/// `12,14c12`, `3a4,5`, `7d6`.
fn change(raw: &[u8]) -> bool {
    let pair = |bytes: &[u8]| -> Option<usize> {
        let rest = digits(bytes)?;
        let rest = rest.strip_prefix(b",").and_then(digits).unwrap_or(rest);
        Some(bytes.len() - rest.len())
    };
    let Some(rest) = pair(raw).and_then(|length| raw.get(length..)) else { return false };
    let Some(rest) =
        rest.strip_prefix(b"a").or_else(|| rest.strip_prefix(b"c")).or_else(|| rest.strip_prefix(b"d"))
    else {
        return false;
    };
    pair(rest) == Some(rest.len())
}

fn graph(line: &Line<'_>, board: &mut Board) {
    let rails =
        line.raw.iter().take_while(|byte| matches!(byte, b'*' | b'|' | b'/' | b'\\' | b' ' | b'_')).count();
    let rest = line.raw.get(rails..).unwrap_or_default();
    if rest.is_empty() {
        if rails > 1
            && line.raw.iter().any(|byte| matches!(byte, b'/' | b'\\'))
            && line.raw.first() == Some(&b'|')
        {
            board.hit(&RAIL, line.number);
        }
        return;
    }
    let (sha, rest) = word(rest);
    let star = line.raw.get(..rails).is_some_and(|rails| rails.contains(&b'*'));
    if star && is_hex(sha, 7) && sha.len() <= 40 && !rest.is_empty() && sha.iter().any(u8::is_ascii_digit) {
        board.hit(&GRAPH, line.number);
    }
}

fn hunk(line: &Line<'_>, board: &mut Board) {
    let ats = run(line.raw, b'@');
    let rest = line.raw.get(ats..).unwrap_or_default();
    let range = |rest: &[u8], sign: u8| -> bool { rest.strip_prefix(&[sign]).and_then(digits).is_some() };
    if ats >= 2
        && rest.starts_with(b" -")
        && rest.get(1..).is_some_and(|rest| range(rest, b'-'))
        && has(rest, b" +")
    {
        board.hit(&HUNK, line.number);
        board.hit(&PLAIN_HUNK, line.number);
    }
}

/// Lines that start with one or more blanks.
fn spaced(line: &Line<'_>, board: &mut Board) {
    let at = line.number;
    if line.indent == 1 {
        if digits(line.body).is_some_and(|rest| starts(rest, &[b" file changed", b" files changed"])) {
            board.hit(&STAT_SUM, at);
            board.hit(&COMMIT_SUM, at);
        } else if starts(
            line.body,
            &[b"create mode ", b"delete mode ", b"mode change ", b"rename ", b"copy ", b"rewrite "],
        ) && has(line.body, b" ")
        {
            board.hit(&MODES, at);
        } else if stat_row(line.body) {
            board.hit(&STAT_ROW, at);
        }
    }
    if matches!(line.body.first(), Some(b'*' | b'!' | b'+' | b'-' | b'=' | b't')) || line.indent == 3 {
        ref_update(line, board);
    }
}

/// `path | 12 ++--` or `path | Bin 0 -> 5 bytes`.
fn stat_row(body: &[u8]) -> bool {
    let Some((path, rest)) = split(body, b" | ") else { return false };
    let rest = rest.trim_ascii_start();
    let bar = digits(rest).is_some_and(|rest| {
        rest.is_empty()
            || rest.first() == Some(&b' ') && rest.iter().skip(1).all(|byte| matches!(byte, b'+' | b'-'))
    });
    !path.is_empty() && (bar || rest.starts_with(b"Bin"))
}

/// ` * [new branch]      a -> b`, `   1a2b3c4..5d6e7f8  a -> b`, ` ! [rejected]  a -> b (why)`.
fn ref_update(line: &Line<'_>, board: &mut Board) {
    if !has(line.body, b" -> ") {
        return;
    }
    let (head, _) = word(line.body);
    let range =
        split(head, b"..").is_some_and(|(a, b)| is_hex(a, 6) && is_hex(b.strip_prefix(b".").unwrap_or(b), 6));
    let marked = line.indent == 1
        && line.body.get(1) == Some(&b' ')
        && (line.body.get(2) == Some(&b'[') || line.body.get(2).is_some_and(u8::is_ascii_hexdigit));
    if range || marked {
        board.hit(&REF, line.number);
        board.hit(&FETCHED, line.number);
    }
}

/// `[main 1a2b3c4] subject`, `[main (root-commit) 1a2b3c4] subject`, `[detached HEAD 1a2b3c4] subject`.
fn committed(raw: &[u8]) -> bool {
    let Some((head, _)) = split(raw, b"] ") else { return false };
    let sha = head.rsplit(|byte| *byte == b' ').next().unwrap_or_default();
    head.len() > sha.len() + 1 && is_hex(sha, 7) && sha.len() <= 40
}

/// An address or a path, as `To` and `From` show it.
fn remote(rest: Option<&[u8]>) -> bool {
    let rest = rest.unwrap_or_default();
    !rest.contains(&b' ') && rest.iter().any(|byte| matches!(byte, b'/' | b':'))
}

fn is_ref(rest: Option<&[u8]>) -> bool {
    rest.is_some_and(|rest| rest.starts_with(b"HEAD (no branch)") || rest.starts_with(b"No commits yet on "))
}

/// ` M path`, `?? path`, `A  path`, `R  a -> b`, `UU path`.
fn is_short(raw: &[u8]) -> bool {
    const CODES: &[u8] = b" MADRCUT?!";
    let (Some(x), Some(y)) = (raw.first(), raw.get(1)) else { return false };
    if !CODES.contains(x) || !CODES.contains(y) || (*x == b' ' && *y == b' ') || raw.get(2) != Some(&b' ') {
        return false;
    }
    if (*x == b'?' || *x == b'!') && x != y {
        return false;
    }
    let path = raw.get(3..).unwrap_or_default();
    path.first().is_some_and(|byte| *byte != b' ')
        && (is_path(path) || !path.contains(&b' ') || path.starts_with(b"\"") || has(path, b" -> "))
}

/// The old and new line counts of `@@ -a,b +c,d @@`; a missing count is 1.
pub(in crate::rtk::detect) fn hunk_counts(raw: &[u8]) -> Option<(u32, u32)> {
    let rest = raw.strip_prefix(b"@@ -")?;
    let (_, old, rest) = range(rest)?;
    let (_, new, rest) = range(rest.strip_prefix(b" +")?)?;
    rest.starts_with(b" @@").then_some((old, new))
}

fn range(bytes: &[u8]) -> Option<(u32, u32, &[u8])> {
    let (start, rest) = number(bytes)?;
    match rest.strip_prefix(b",") {
        Some(rest) => number(rest).map(|(count, rest)| (start, count, rest)),
        None => Some((start, 1, rest)),
    }
}

fn number(bytes: &[u8]) -> Option<(u32, &[u8])> {
    let rest = counted(bytes, b"", b"")?;
    let text = bytes.get(..bytes.len() - rest.len())?;
    let value =
        text.iter().fold(0_u32, |sum, byte| sum.saturating_mul(10).saturating_add(u32::from(byte - b'0')));
    Some((value, rest))
}
