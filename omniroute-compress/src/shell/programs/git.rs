//! Version control: `git`, `gh`, `hg`, `svn`.

use super::Kind;
use crate::shell::args::Args;

const GIT_VALUES: &[&str] =
    &["-C", "-c", "--git-dir", "--work-tree", "--namespace", "--exec-path", "--config-env", "--super-prefix"];
/// Formats of a diff that name files and counts only.
const SUMMARY: &[&str] = &[
    "--stat",
    "--shortstat",
    "--numstat",
    "--name-only",
    "--name-status",
    "--summary",
    "--dirstat",
    "--no-patch",
    "-s",
];
const PATCH: &[&str] = &[
    "-p",
    "-u",
    "--patch",
    "--patch-with-stat",
    "--cc",
    "-c",
    "-m",
    "--word-diff",
    "--color-words",
    "-U",
    "--unified",
    "-W",
];
const VIEW: Kind = Kind::File { log: false };

/// The kind of a version control command, `None` when the program is none.
pub(super) fn kind(name: &str, args: Args<'_, '_>) -> Option<Kind> {
    let command = match name {
        "git" => args.subcommand(GIT_VALUES).map(|(sub, args)| git(sub, args)),
        "gh" => args.subcommand(&["-R", "--repo"]).map(|(sub, args)| gh(sub, args)),
        "hg" | "svn" | "jj" => {
            args.subcommand(&["-R", "--repository", "--config"]).map(|(sub, args)| other(sub, args))
        }
        _ => return None,
    };
    Some(command.unwrap_or(Kind::Command))
}

fn git(sub: &str, args: Args<'_, '_>) -> Kind {
    match sub {
        "diff" | "range-diff" | "diff-tree" | "diff-index" | "diff-files" => diff(args),
        "show" if args.operands(&["--format", "--pretty"]).any(|(_, text)| text.contains(':')) => VIEW,
        "show" => diff(args),
        "log" | "whatchanged" | "reflog" => {
            let lines = args.texts().any(|text| text.starts_with("-L") || text.starts_with("-U"));
            if patch(args) || lines { Kind::Diff } else { Kind::Command }
        }
        "stash" => match args.subcommand(&[]) {
            Some(("show", args)) if patch(args) => Kind::Diff,
            _ if args.flag('p') => Kind::Diff,
            _ => Kind::Command,
        },
        "format-patch" if args.has(&["--stdout"]) => Kind::Diff,
        "add" | "checkout" | "restore" | "reset" | "commit"
            if args.has(&["-p", "--patch", "-i", "--interactive"]) =>
        {
            Kind::Diff
        }
        "commit" | "status" if args.has(&["-v", "-vv", "--verbose"]) => Kind::Diff,
        "blame" | "annotate" | "grep" | "cat-file" | "archive" | "notes" => VIEW,
        "config" if args.has(&["-e", "--edit"]) => Kind::Unknown,
        "rebase" if args.has(&["-x", "--exec"]) => Kind::Unknown,
        "submodule" | "bisect" if args.texts().any(|text| matches!(text, "foreach" | "run")) => Kind::Unknown,
        "submodule" if args.texts().any(|text| text == "summary") => Kind::Command,
        "add" | "am" | "apply" | "bisect" | "branch" | "checkout" | "cherry-pick" | "clean" | "clone"
        | "commit" | "config" | "count-objects" | "describe" | "fetch" | "for-each-ref" | "format-patch"
        | "fsck" | "gc" | "init" | "lfs" | "ls-files" | "ls-remote" | "ls-tree" | "maintenance" | "merge"
        | "merge-base" | "mv" | "name-rev" | "prune" | "pull" | "push" | "rebase" | "remote" | "repack"
        | "reset" | "restore" | "rev-list" | "rev-parse" | "revert" | "rm" | "shortlog" | "show-ref"
        | "sparse-checkout" | "status" | "submodule" | "switch" | "symbolic-ref" | "tag" | "update-index"
        | "update-ref" | "version" | "worktree" | "check-ignore" | "show-branch" | "cherry"
        | "write-tree" | "commit-tree" | "hash-object" => Kind::Command,
        _ => Kind::Unknown,
    }
}

fn patch(args: Args<'_, '_>) -> bool {
    args.has(PATCH)
        || args.texts().any(|text| text.starts_with("--color-words") || text.starts_with("--word-diff"))
}

/// A patch, unless only names and counts were asked for.
fn diff(args: Args<'_, '_>) -> Kind {
    if args.has(&["--quiet"]) {
        return Kind::Silent;
    }
    let summary = args.has(SUMMARY)
        || args.texts().any(|text| text.starts_with("--stat") || text.starts_with("--dirstat"));
    if summary && !args.has(PATCH) { Kind::Command } else { Kind::Diff }
}

fn gh(sub: &str, args: Args<'_, '_>) -> Kind {
    let action = args.subcommand(&["-R", "--repo"]).map_or("", |(action, _)| action);
    match (sub, action) {
        _ if args.has(&["--json", "--jq", "-q", "--template", "-t"]) && action != "create" => Kind::Data,
        ("pr", "diff") => Kind::Diff,
        ("run", "view") if args.has(&["--log", "--log-failed"]) => Kind::Logs,
        (
            "pr" | "issue" | "run" | "workflow" | "release" | "repo" | "label" | "cache" | "secret"
            | "variable",
            "list",
        )
        | (
            "pr",
            "checks" | "status" | "create" | "merge" | "close" | "reopen" | "checkout" | "ready" | "edit"
            | "comment",
        )
        | ("issue", "status" | "create" | "close" | "reopen" | "edit" | "comment")
        | ("run", "watch" | "rerun" | "cancel" | "view" | "download")
        | ("workflow", "run" | "enable" | "disable")
        | ("release", "create" | "upload" | "delete" | "download")
        | ("repo", "clone" | "create" | "fork" | "sync")
        | ("auth", "status" | "login" | "logout" | "setup-git")
        | ("version", _) => Kind::Command,
        _ => Kind::Data,
    }
}

fn other(sub: &str, args: Args<'_, '_>) -> Kind {
    match sub {
        "diff" => diff(args),
        "log" if patch(args) || args.has(&["--diff"]) => Kind::Diff,
        "status" | "st" | "log" | "update" | "up" | "commit" | "ci" | "add" | "pull" | "push" | "branch"
        | "branches" | "info" | "merge" => Kind::Command,
        "cat" | "annotate" | "blame" | "file" | "grep" => VIEW,
        _ => Kind::Unknown,
    }
}
