//! From a script to its items: what each printing command may have left in the text.

use std::rc::Rc;

use super::flags;
use super::item::{Expect, Item, Need};
use super::needle::{self, Needle};
use super::runner;
use super::words::{self, Lookup};
use crate::shell::args::{Args, program_name};
use crate::shell::class;
use crate::shell::print::{self, Input, Printed};
use crate::shell::programs::{self, Kind, Pass};
use crate::shell::script::{Script, Word};
use crate::shell::wrappers::{self, Stripped};

/// Most items of one script; a longer one is not resolved.
pub(super) const MAX_ITEMS: usize = 32;

/// Most commands that are looked at; loops and silent ones are among them.
const MAX_PRINTING: usize = 128;

/// Search programs: their hits are a listing, not a view.
const SEARCH: &[&str] = &["grep", "egrep", "fgrep", "zgrep", "rg", "ripgrep", "ag", "ack", "ugrep"];
/// Programs whose patches have their own filter.
const PATCHERS: &[&str] = &["git", "diff", "colordiff", "gh", "hg", "svn", "jj"];
/// Filters that show rows: choosing or sorting them leaves rows.
const ROWS: &[&str] = &[
    "shell-ls",
    "shell-find",
    "shell-grep",
    "kubectl",
    "docker-ps",
    "docker-images",
    "ps",
    "df",
    "du",
    "git-branch",
    "pip-list",
    "npm-ls",
    "dpkg",
    "apt-list",
    "wc",
];

/// The printing commands of a script, in order; `None` when there are too many.
pub(super) fn items(script: &Script<'_>, is_command: &Lookup<'_>) -> Option<Vec<Item>> {
    let mut items: Vec<Item> = Vec::new();
    let printing = print::printing(script);
    if printing.len() > MAX_PRINTING {
        return None;
    }
    for printed in &printing {
        for item in of(printed, is_command) {
            match items.last_mut() {
                Some(last) if last.alike(&item) && !item.quiet && !last.quiet => last.merge(item),
                _ => items.push(item),
            }
        }
        if items.len() > MAX_ITEMS {
            return None;
        }
    }
    Some(items)
}

/// What the filters of a pipeline leave of the lines of the first stage.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Lines {
    /// All of them.
    All,
    /// The head or the tail.
    Ends,
    /// Whole lines, chosen.
    Chosen,
    /// Whole lines in another order.
    Sorted,
    /// Parts of lines.
    Changed,
}

fn of(printed: &Printed<'_>, is_command: &Lookup<'_>) -> Vec<Item> {
    if printed.words.is_empty() {
        return vec![runner::unresolved(printed.is_partial())];
    }
    let own = programs::kind(&printed.words, printed.input);
    let first = printed.words.first().map_or("", |word| word.text.as_ref());
    if matches!(first, "echo" | "printf") && printed.out {
        return echo(printed);
    }
    match class::shown(printed) {
        Kind::Silent | Kind::Sourced => return Vec::new(),
        _ if matches!(own, Kind::Silent | Kind::Separator | Kind::Sourced) => return Vec::new(),
        _ => {}
    }
    let source = Source { words: Rc::new(printed.words.clone()), kind: own, lines: Lines::All };
    let Some(source) = filtered(source, printed) else {
        return vec![Item::opaque(words::plain(&printed.words), false)];
    };
    let partial = source.lines > Lines::All || printed.is_partial() || !printed.out;
    item(&source, partial, is_command)
}

/// A line that is known, a blank line, or a line of which nothing is known.
fn echo(printed: &Printed<'_>) -> Vec<Item> {
    if !printed.filters.is_empty() {
        return vec![Item::opaque(Vec::new(), false)];
    }
    match needle::echoed(&printed.words) {
        Ok(None) => Vec::new(),
        Ok(Some(needle)) => {
            vec![Item { expect: Expect::Separator(needle), ..Item::opaque(Vec::new(), false) }]
        }
        Err(()) => vec![Item::opaque(Vec::new(), false)],
    }
}

/// The command whose lines are shown at the end of a pipeline.
#[derive(Debug)]
struct Source<'a> {
    words: Rc<Vec<Word<'a>>>,
    kind: Kind,
    lines: Lines,
}

/// Follows a pipeline to its end; `None` when it cannot be followed.
fn filtered<'a>(mut source: Source<'a>, printed: &Printed<'a>) -> Option<Source<'a>> {
    if matches!(source.kind, Kind::Pass(_)) {
        // Its input is a group whose output is not followed.
        return None;
    }
    if let Some(inner) = inner(&source.words) {
        source =
            Source { kind: programs::kind(&inner, Input::None), words: Rc::new(inner), lines: Lines::All };
    }
    for filter in &printed.filters {
        let name = filter.first().and_then(program_name)?;
        match programs::kind(filter, Input::Pipe) {
            Kind::Pass(Pass::Ends) if matches!(name, "cat" | "tee") => {}
            Kind::Pass(Pass::Ends) => source.lines = source.lines.max(Lines::Ends),
            Kind::Pass(Pass::Lines) => source.lines = source.lines.max(kept(name, filter)),
            Kind::Pass(Pass::Nothing) | Kind::Silent | Kind::Separator | Kind::Sourced | Kind::Unknown => {
                return None;
            }
            Kind::Pass(Pass::Count)
            | Kind::Data
            | Kind::Command
            | Kind::File { .. }
            | Kind::Logs
            | Kind::Journal
            | Kind::Diff => {
                let words = inner(filter).map_or_else(|| Rc::clone(filter), Rc::new);
                let kind = if name == "xargs" {
                    programs::kind(&words, Input::None)
                } else {
                    programs::kind(filter, Input::Pipe)
                };
                let kind = if matches!(kind, Kind::Pass(Pass::Count)) { Kind::Command } else { kind };
                source = Source { words, kind, lines: Lines::All };
            }
        }
    }
    Some(source)
}

/// The command behind `xargs`.
fn inner<'a>(words: &[Word<'a>]) -> Option<Vec<Word<'a>>> {
    const VALUES: &[&str] =
        &["-n", "-P", "-I", "-L", "-d", "-s", "-E", "-a", "-j", "--max-args", "--max-procs", "--delimiter"];
    let (first, args) = words.split_first()?;
    if program_name(first)? != "xargs" {
        return None;
    }
    let (at, _) = Args(args).operands(VALUES).next()?;
    match wrappers::strip(args.get(at..)?) {
        Stripped::Words(mut words) => {
            words.push(Word::literal("file").into_owned());
            Some(words)
        }
        _ => None,
    }
}

/// What a line filter leaves.
fn kept(name: &str, filter: &[Word<'_>]) -> Lines {
    let args = Args(filter.get(1..).unwrap_or_default());
    match name {
        "grep" | "egrep" | "fgrep" | "rg" | "ag" => {
            let changes = ['o', 'n', 'b', 'H'].into_iter().any(|letter| args.flag(letter))
                || args.has(&["--only-matching", "--line-number", "--replace"]);
            if changes { Lines::Changed } else { Lines::Chosen }
        }
        "sort" => Lines::Sorted,
        "uniq" if !args.flag('c') && !args.has(&["--count"]) => Lines::Sorted,
        "tac" => Lines::Sorted,
        _ => Lines::Changed,
    }
}

fn item(source: &Source<'_>, partial: bool, is_command: &Lookup<'_>) -> Vec<Item> {
    let plain = words::plain(&source.words);
    let make = |expect: Expect| Item {
        detail: flags::detail(&plain),
        quiet: is_quiet(&plain),
        expect,
        words: plain.clone(),
        partial,
    };
    let opaque = |crash: bool| vec![make(Expect::Opaque { crash })];
    if source.lines == Lines::Changed {
        return match source.kind {
            Kind::File { .. } | Kind::Diff => vec![make(Expect::View { log: false })],
            _ => opaque(false),
        };
    }
    let program = plain.first().map_or("", String::as_str);
    if let Some(mut items) = runner::of(&plain, &source.words, is_command, source.kind == Kind::Command) {
        for item in &mut items {
            item.partial = partial;
            item.detail = flags::detail(&item.words);
        }
        return items;
    }
    let mut found = words::find(&plain, is_command);
    match words::changed(&plain, is_command) {
        Some(Some(id)) => found = Some((id, true)),
        Some(None) => found = None,
        None => {}
    }
    let rows = found.is_some_and(|(id, _)| ROWS.contains(&id));
    if source.lines == Lines::Sorted && !rows {
        return match source.kind {
            Kind::File { .. } | Kind::Diff => vec![make(Expect::View { log: false })],
            _ => opaque(false),
        };
    }
    let known = |need: Need| match found {
        Some((id, sub)) => {
            let need = if source.lines == Lines::Chosen && !rows && need != Need::Records {
                Need::Chosen
            } else {
                need
            };
            vec![make(Expect::Known { id, sub, need })]
        }
        None => opaque(source.kind == Kind::Unknown),
    };
    let search =
        SEARCH.contains(&program) || program == "git" && plain.get(1).is_some_and(|sub| sub == "grep");
    let machine = flags::machine(&plain) && words::changed(&plain, is_command).is_none_or(|id| id.is_none());
    match source.kind {
        Kind::File { .. } if search && machine => vec![make(Expect::Machine)],
        Kind::File { .. } if search && found.is_some() => known(Need::Nothing),
        // Nothing that shell tables call a view is filtered.
        Kind::File { log } => vec![make(Expect::View { log: log && source.lines <= Lines::Chosen })],
        Kind::Diff if source.lines == Lines::Chosen => vec![make(Expect::View { log: false })],
        Kind::Diff if found.is_some() && (PATCHERS.contains(&program) || program == "cargo") => {
            known(Need::Nothing)
        }
        Kind::Diff => vec![make(Expect::Patch)],
        _ if machine => vec![make(Expect::Machine)],
        Kind::Logs => match found {
            Some(_) => known(Need::Records),
            None => vec![make(Expect::View { log: true })],
        },
        Kind::Data => match found {
            Some(_) => known(Need::Anchor),
            None => vec![make(Expect::Machine)],
        },
        Kind::Unknown => known(Need::Anchor),
        _ => known(Need::Nothing),
    }
}

/// Commands that usually print nothing when they succeed.
fn is_quiet(words: &[String]) -> bool {
    let has = |flag: &str| words.iter().any(|word| word == flag);
    let cluster = |letter: char| {
        words.iter().skip(1).any(|word| {
            word.strip_prefix('-').is_some_and(|rest| !rest.starts_with('-') && rest.contains(letter))
        })
    };
    match (words.first().map_or("", String::as_str), words.get(1).map_or("", String::as_str)) {
        ("git", "add" | "mv" | "config" | "update-index" | "gc" | "prune" | "init") => true,
        ("git", "tag" | "worktree" | "remote" | "branch" | "stash") => {
            words.len() > 2
                && !matches!(
                    words.get(2).map(String::as_str),
                    Some("list" | "-v" | "-l" | "-a" | "show" | "push" | "pop")
                )
        }
        ("git", "commit") => has("--quiet") || cluster('q'),
        (
            "git",
            "checkout" | "switch" | "restore" | "reset" | "fetch" | "pull" | "push" | "clone" | "merge"
            | "rebase" | "rm",
        ) => has("--quiet") || has("-q") || words.get(1).is_some_and(|sub| sub == "restore"),
        ("cargo", "fmt") => !has("--check") && !has("-v"),
        ("pip" | "pip3", "install") => has("-q") || has("-qq") || has("--quiet"),
        ("rustfmt" | "gofmt" | "goimports", _) => true,
        ("wc", _) => false,
        _ => false,
    }
}

/// The banner of a script, as a line to look for.
pub(super) fn banner(item: &Item) -> Option<Needle> {
    match &item.expect {
        Expect::Runner { script: Some(script), .. } => Some(Needle::Banner(script.clone())),
        _ => None,
    }
}
