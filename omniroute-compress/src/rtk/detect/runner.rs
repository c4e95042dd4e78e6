//! Programs that run another one: package scripts, make and its relatives, interpreters, containers.

use super::classes::{BUILDS, Class, LINTS, Set, TESTS};
use super::item::{Expect, Item, Need};
use super::words::{self, Lookup};
use crate::shell::args::program_name;
use crate::shell::script::Word;

/// Everything that text alone may be: hits of a search and counts are no tool's own.
pub(super) const ANY: Set = !(Class::Grep.bit() | Class::Wc.bit());

/// Subcommands of the package managers that are no scripts.
const OWN: &[&str] = &[
    "install",
    "i",
    "ci",
    "add",
    "remove",
    "rm",
    "uninstall",
    "un",
    "update",
    "up",
    "upgrade",
    "audit",
    "outdated",
    "ls",
    "list",
    "ll",
    "la",
    "publish",
    "pack",
    "prune",
    "dedupe",
    "link",
    "unlink",
    "login",
    "whoami",
    "ping",
    "config",
    "cache",
    "fund",
    "search",
    "version",
    "explain",
    "why",
    "doctor",
    "rebuild",
    "import",
    "store",
    "root",
    "bin",
    "prefix",
    "dist-tag",
    "owner",
    "deprecate",
    "set",
    "get",
    "fetch",
    "licenses",
    "info",
    "show",
    "view",
    "init",
    "create",
    "exec",
    "dlx",
    "x",
    "help",
    "pm",
    "plugin",
    "workspaces",
    "self-update",
    "env",
    "patch",
    "deploy",
];
/// Interpreters: what they print is the business of the script.
const INTERPRETERS: &[&str] = &[
    "node",
    "nodejs",
    "ruby",
    "perl",
    "php",
    "java",
    "deno",
    "ts-node",
    "tsx",
    "lua",
    "Rscript",
    "julia",
    "elixir",
    "groovy",
    "scala",
    "kotlin",
    "pwsh",
    "powershell",
    "bash",
    "sh",
    "zsh",
];
/// Runners of named tasks with a filter of their own.
const TASKS: &[&str] =
    &["make", "gmake", "just", "task", "rake", "invoke", "inv", "mage", "poe", "doit", "tox", "nox"];

/// The item of a command that could not be resolved at all.
pub(super) fn unresolved(partial: bool) -> Item {
    Item { expect: runner(ANY), partial, ..Item::opaque(Vec::new(), false) }
}

fn runner(allowed: Set) -> Expect {
    Expect::Runner { allowed, own: None, sure: false, script: None }
}

/// The items of a runner, `None` when the command is none. `tool` says that the tables call it a tool's own output.
pub(super) fn of(
    plain: &[String],
    raw: &[Word<'_>],
    is_command: &Lookup<'_>,
    tool: bool,
) -> Option<Vec<Item>> {
    let item =
        |expect: Expect| vec![Item { expect, words: plain.to_vec(), ..Item::opaque(Vec::new(), false) }];
    let program = plain.first().map_or("", String::as_str);
    let sub = plain.get(1).map_or("", String::as_str);
    if raw.first().is_none_or(|word| program_name(word).is_none()) {
        return Some(item(runner(ANY)));
    }
    match program {
        "npm" | "pnpm" | "yarn" | "bun" => {
            let script = script(plain)?;
            let allowed = allowed(&script);
            Some(item(Expect::Runner { allowed, own: None, sure: false, script: Some(script) }))
        }
        "cargo" if matches!(sub, "run" | "r") => {
            let mut build = plain.to_vec();
            if let Some(word) = build.get_mut(1) {
                "build".clone_into(word);
            }
            let built = words::find(&build, is_command).map(|(id, sub)| Expect::Known {
                id,
                sub,
                need: Need::Nothing,
            });
            let built = built.unwrap_or(Expect::Opaque { crash: false });
            let words = plain.to_vec();
            Some(vec![
                Item { expect: built, words: words.clone(), quiet: true, ..Item::opaque(Vec::new(), false) },
                Item { expect: runner(ANY), words, ..Item::opaque(Vec::new(), false) },
            ])
        }
        "go" | "dotnet" | "swift" | "zig" | "flutter" | "dart" | "deno" | "mix" if sub == "run" => {
            Some(item(runner(ANY)))
        }
        "docker"
            if sub == "run"
                || sub == "compose"
                    && matches!(plain.get(2).map(String::as_str), Some("run" | "up"))
                    && !detached(plain) =>
        {
            Some(item(runner(ANY)))
        }
        "kubectl" if sub == "run" => Some(item(runner(ANY))),
        "node" | "nodejs" if plain.iter().any(|word| word == "--test") => None,
        "node" | "nodejs" if packaged(plain).is_some() => {
            let words = packaged(plain)?;
            let found = words::find(&words, is_command);
            let expect =
                found.map_or_else(|| runner(ANY), |(id, sub)| Expect::Known { id, sub, need: Need::Nothing });
            Some(vec![Item { expect, words, ..Item::opaque(Vec::new(), false) }])
        }
        "php" if sub == "artisan" => None,
        "python" | "pypy" | "py" => Some(item(runner(ANY))),
        _ if program.starts_with("python") => Some(item(runner(ANY))),
        "deno" if matches!(sub, "test" | "lint" | "check" | "fmt") => None,
        _ if TASKS.contains(&program) => {
            let own = words::find(plain, is_command).map(|(id, _)| id);
            Some(item(Expect::Runner { allowed: ANY, own, sure: tool, script: None }))
        }
        _ if INTERPRETERS.contains(&program) && words::find(plain, is_command).is_none() => {
            Some(item(runner(ANY)))
        }
        _ => None,
    }
}

/// `node node_modules/x/bin/mocha.js args`: the tool and its arguments.
fn packaged(plain: &[String]) -> Option<Vec<String>> {
    let at = plain.iter().position(|word| word.contains("node_modules/"))?;
    let file = plain.get(at)?.rsplit('/').next()?;
    let name = file.split('.').next().filter(|name| !name.is_empty())?;
    let words = std::iter::once(name.to_owned()).chain(plain.iter().skip(at + 1).cloned()).collect();
    plain.iter().skip(1).take(at - 1).all(|word| word.starts_with('-')).then_some(words)
}

fn detached(plain: &[String]) -> bool {
    plain.iter().any(|word| matches!(word.as_str(), "-d" | "--detach" | "--wait" | "--no-start"))
}

/// The script that a package manager runs.
fn script(plain: &[String]) -> Option<String> {
    let args: Vec<&str> = plain.iter().skip(1).map(String::as_str).collect();
    let sub = *args.first()?;
    let name = match sub {
        "run" | "run-script" | "rum" | "urn" => *args.iter().skip(1).find(|word| !word.starts_with('-'))?,
        "t" | "tst" | "test" => "test",
        "start" | "stop" | "restart" => sub,
        _ if sub.starts_with('-') || OWN.contains(&sub) => return None,
        // `bun test` is bun's own runner.
        _ if plain.first().is_some_and(|program| program == "npm" || program == "bun") => return None,
        _ => sub,
    };
    (plain.first().is_none_or(|program| program != "bun") || sub == "run").then(|| name.to_owned())
}

/// The classes that the name of a script allows.
fn allowed(script: &str) -> Set {
    let head = script.split([':', '-', '_', '.']).next().unwrap_or(script);
    match head {
        "test" | "tests" | "unit" | "e2e" | "spec" | "coverage" => ANY,
        "lint" | "eslint" | "format" | "fmt" | "prettier" => LINTS,
        "build" | "compile" | "bundle" => BUILDS | LINTS | TESTS,
        "typecheck" | "types" | "tsc" => LINTS,
        _ => ANY,
    }
}

/// A command that a package manager announced.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Banner<'t> {
    /// Where its line starts.
    pub(super) at: usize,
    /// The script, where the line above names it.
    pub(super) script: &'t str,
    /// The command.
    pub(super) command: &'t str,
}

/// The commands that the banners of a package manager announce.
///
/// npm, pnpm: `> name@1.0.0 script` and `> command` below it; yarn: `yarn run v1.22.19` and `$ command`; bun: `$ command`.
pub(super) fn banners(text: &str) -> Vec<Banner<'_>> {
    /// Most banners that are followed.
    const MOST: usize = 32;
    let mut found = Vec::new();
    let (mut before, mut at, mut head) = ("", 0, true);
    for line in text.split_inclusive('\n') {
        let trimmed = line.trim_end();
        let npm = trimmed.strip_prefix("> ").filter(|_| is_title(before));
        let yarn = trimmed.strip_prefix("$ ").filter(|_| {
            head && (before.starts_with("yarn run v") || found.is_empty() && before.trim().is_empty())
        });
        if let Some(command) = npm.or(yarn) {
            let script = if npm.is_some() {
                before.split(' ').nth(2).or_else(|| before.split(' ').nth(1))
            } else {
                None
            };
            found.push(Banner { at, script: script.unwrap_or_default(), command });
            if found.len() >= MOST {
                break;
            }
        }
        head &= at < 2048;
        before = trimmed;
        at += line.len();
    }
    found
}

/// `> name@1.0.0 script`, `> name@1.0.0 script /path`, `> script`.
fn is_title(line: &str) -> bool {
    let Some(rest) = line.strip_prefix("> ") else { return false };
    let mut words = rest.split(' ');
    let first = words.next().unwrap_or_default();
    let named = first.get(1..).is_some_and(|tail| tail.contains('@'));
    named && words.next().is_some_and(|script| !script.is_empty()) && words.count() <= 1
        || rest == first
            && !first.is_empty()
            && first.bytes().all(|byte| byte.is_ascii_alphanumeric() || b":-_.".contains(&byte))
}

#[cfg(test)]
mod tests {
    use super::banners;

    #[test]
    fn announced_commands() {
        for (text, commands) in [
            ("\n> a@1.0.0 test\n> vitest run\n\nx\n", vec!["vitest run"]),
            ("> @x/a@1.0.0 build /home/a\n> tsc -p .\n", vec!["tsc -p ."]),
            ("yarn run v1.22.19\n$ jest --ci\nPASS a\n", vec!["jest --ci"]),
            ("$ vitest run\n", vec!["vitest run"]),
            ("\n> a@1 pretest\n> tsc\n\n\n> a@1 test\n> mocha\n", vec!["tsc", "mocha"]),
            ("> quoted text of a mail\n> and more of it\n", vec![]),
            ("x\n$ ls\n", vec![]),
        ] {
            let found: Vec<_> = banners(text).into_iter().map(|banner| banner.command).collect();
            assert_eq!(found, commands, "{text:?}");
        }
    }
}
