//! Programs that run scripts, targets and tasks of a project: known names are tools, the rest may print anything.

use super::Kind;
use crate::shell::args::Args;

/// Scripts of a project whose name says that a tool runs: test, build, lint, type check, install.
const SCRIPTS: &[&str] = &[
    "test",
    "tests",
    "unit",
    "e2e",
    "coverage",
    "build",
    "compile",
    "lint",
    "eslint",
    "typecheck",
    "types",
    "tsc",
    "check",
    "install",
    "ci",
    "vitest",
    "jest",
    "pytest",
    "clippy",
];

/// `npm` and its relatives: own subcommands, or a script of the project.
pub(super) fn npm(args: Args<'_, '_>, sub: &str) -> Kind {
    match sub {
        "" | "install" | "i" | "ci" | "add" | "remove" | "rm" | "uninstall" | "un" | "update" | "up"
        | "upgrade" | "audit" | "outdated" | "ls" | "list" | "ll" | "la" | "publish" | "pack" | "prune"
        | "dedupe" | "link" | "unlink" | "login" | "whoami" | "ping" | "config" | "cache" | "fund"
        | "search" | "test" | "t" | "tst" | "version" | "explain" | "why" | "doctor" | "rebuild"
        | "install-test" | "import" | "store" | "root" | "bin" | "prefix" | "dist-tag" | "owner"
        | "deprecate" | "set" | "get" | "fetch" | "licenses" | "info" | "show" | "view" => {
            // `npm view x readme` prints a document.
            if matches!(sub, "info" | "show" | "view") && args.texts().any(|text| text.contains("readme")) {
                Kind::Unknown
            } else {
                Kind::Command
            }
        }
        "run" | "run-script" => {
            let name = args
                .texts()
                .skip_while(|text| !text.starts_with("run"))
                .skip(1)
                .find(|text| !text.starts_with('-'));
            if name.is_some_and(is_script) { Kind::Command } else { Kind::Unknown }
        }
        _ if is_script(sub) => Kind::Command,
        _ => Kind::Unknown,
    }
}

/// `test:unit`, `check-types`, `build`: the first part of the name decides.
fn is_script(name: &str) -> bool {
    name == "type-check"
        || name.split([':', '-', '_', '.']).next().is_some_and(|first| SCRIPTS.contains(&first))
}

/// `turbo run build test`: every named task must be known.
pub(super) fn scripts(args: Args<'_, '_>) -> Kind {
    const PLAIN: &[&str] = &["run", "run-many", "affected", "exec"];
    let mut names = args
        .operands(&["--filter", "-F", "-p", "--projects", "-c", "--scope"])
        .map(|(_, text)| text)
        .filter(|text| !PLAIN.contains(text));
    let target = args.value(&["-t", "--target", "--targets"]);
    let known = names.next().or(target).is_some_and(is_script)
        && names.all(|name| is_script(name) || !name.contains(char::is_whitespace) && name.contains('@'));
    if known { Kind::Command } else { Kind::Unknown }
}

/// `make` and its relatives: known targets only.
pub(super) fn targets(name: &str, args: Args<'_, '_>) -> Kind {
    let values = ["-C", "-f", "-I", "-o", "-W", "-k", "--directory", "--file", "-j", "--justfile", "-d"];
    let values =
        if name.starts_with("ninja") { values.as_slice() } else { values.get(..5).unwrap_or_default() };
    let mut all = args.operands(values).map(|(_, text)| text).filter(|text| !text.contains('='));
    let known = |target: &str| {
        is_script(target) || matches!(target, "all" | "clean" | "distclean" | "deps" | "fmt" | "format")
    };
    let lists = matches!(name, "just" | "task" | "rake" | "invoke" | "mage") && args.0.is_empty();
    if !lists && all.all(|target| known(target) || target.bytes().all(|byte| byte.is_ascii_digit())) {
        Kind::Command
    } else {
        Kind::Unknown
    }
}

/// Maven, Gradle, sbt: known tasks only, a task of the project may print anything.
pub(super) fn jvm(args: Args<'_, '_>) -> Kind {
    const TASKS: &[&str] = &[
        "test",
        "build",
        "check",
        "assemble",
        "compile",
        "clean",
        "lint",
        "install",
        "verify",
        "package",
        "dependenc",
        "tasks",
        "jar",
        "publish",
        "deploy",
        "validate",
        "spotless",
        "ktlint",
        "detekt",
        "checkstyle",
        "connected",
        "bundle",
        "projects",
        "integrationTest",
        "process",
    ];
    const VALUES: &[&str] = &[
        "-p",
        "-b",
        "-f",
        "-pl",
        "-P",
        "--project-dir",
        "--tests",
        "--file",
        "-x",
        "--init-script",
        "-I",
        "-s",
        "--settings",
    ];
    let mut tasks = args.operands(VALUES).map(|(_, text)| text.trim_start_matches(':'));
    let known = |task: &str| {
        let last = task.rsplit(':').next().unwrap_or(task);
        TASKS.iter().any(|known| last.starts_with(known) || task.starts_with(known))
    };
    if tasks.all(known) { Kind::Command } else { Kind::Unknown }
}
