//! Programs that only run another program: `sudo`, `env`, `timeout`, `npx`, `uv run`, `bash -c`, `docker exec`, …

use super::args::{Args, is_assignment, program_name};
use super::script::{Expands, Word};
use super::wrapper_table::WRAPPERS;

/// Most wrappers around one command.
const MAX_WRAPPERS: usize = 16;

/// What is left when the wrappers are gone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Stripped<'a> {
    /// Program and arguments.
    Words(Vec<Word<'a>>),
    /// A command line that has to be lexed again.
    Script(String),
    /// A shell that reads its commands from the standard input.
    Stdin,
    /// Only assignments: nothing runs and nothing is printed.
    Nothing,
    /// It cannot be told what runs.
    Unknown,
}

/// Takes assignments and wrappers off the front of a command.
pub(crate) fn strip<'a>(words: &[Word<'a>]) -> Stripped<'a> {
    let mut rest = words;
    for _ in 0..MAX_WRAPPERS {
        while rest.first().is_some_and(is_assignment) {
            rest = rest.get(1..).unwrap_or_default();
        }
        let Some(first) = rest.first() else {
            return Stripped::Nothing;
        };
        let Some(name) = program_name(first) else {
            return Stripped::Unknown;
        };
        let args = rest.get(1..).unwrap_or_default();
        match name {
            "bash" | "sh" | "zsh" | "dash" | "ksh" | "ash" => return shell(Args(args)),
            "eval" if args.iter().all(|word| word.expands == Expands::No) => {
                return Stripped::Script(join(args));
            }
            "ssh" => return remote(Args(args)),
            "script" => {
                return Args(args)
                    .value(&["-c", "--command"])
                    .map_or(Stripped::Unknown, |text| Stripped::Script(text.to_owned()));
            }
            "command" if !Args(args).has(&["-v", "-V"]) => {
                rest = args;
                continue;
            }
            "-m" => {
                rest = args;
                continue;
            }
            _ if is_python(name) => match module(args) {
                Some(inner) => {
                    rest = inner;
                    continue;
                }
                None => return Stripped::Words(rest.to_vec()),
            },
            _ => {}
        }
        let Some(inner) = WRAPPERS.iter().find_map(|wrapper| wrapper.unwrap(name, args)) else {
            return Stripped::Words(rest.to_vec());
        };
        rest = inner;
    }
    Stripped::Unknown
}

/// Modules that are the program of the same name.
const MODULES: &[&str] = &[
    "pytest",
    "unittest",
    "pip",
    "mypy",
    "ruff",
    "black",
    "flake8",
    "pylint",
    "isort",
    "coverage",
    "tox",
    "nox",
    "build",
    "venv",
    "virtualenv",
    "compileall",
    "py_compile",
    "pyright",
    "bandit",
    "json.tool",
    "pyflakes",
    "pycodestyle",
    "pydocstyle",
    "vulture",
    "pre_commit",
    "poetry",
    "uv",
    "twine",
    "mkdocs",
    "sphinx",
];

fn is_python(name: &str) -> bool {
    let version = name.strip_prefix("python").or_else(|| name.strip_prefix("pypy"));
    name == "py"
        || version.is_some_and(|version| version.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.'))
}

/// The words from the module on, of `python -m module` with a known module.
fn module<'w, 'a>(args: &'w [Word<'a>]) -> Option<&'w [Word<'a>]> {
    let mut at = 0;
    loop {
        let text = args.get(at)?.text.as_ref();
        match text {
            "-m" => break,
            "-X" | "-W" => at += 2,
            _ if text.starts_with('-') && text.len() > 1 && !text.contains('c') => at += 1,
            _ => return None,
        }
    }
    args.get(at + 1..).filter(|rest| rest.first().is_some_and(|word| MODULES.contains(&word.text.as_ref())))
}

/// `bash -lc 'text'`, `bash < text`, `bash script`.
fn shell<'a>(args: Args<'_, 'a>) -> Stripped<'a> {
    let mut command = false;
    let mut at = 0;
    while let Some(word) = args.0.get(at) {
        let text = word.text.as_ref();
        match text.strip_prefix('-').or_else(|| text.strip_prefix('+')) {
            Some("-rcfile" | "-init-file") => at += 1,
            Some(long) if long.starts_with('-') && long.len() > 1 => {}
            Some(cluster) => {
                command |= cluster.contains('c');
                at += usize::from(cluster.ends_with(['o', 'O']));
            }
            // Variables inside the text stay as they are: the lexer of the text sees them again.
            None if command => return Stripped::Script(text.to_owned()),
            None => return Stripped::Unknown,
        }
        at += 1;
    }
    if command { Stripped::Unknown } else { Stripped::Stdin }
}

/// `ssh host 'command'`: the words behind the host, joined, are lexed by the remote shell.
fn remote<'a>(args: Args<'_, 'a>) -> Stripped<'a> {
    const VALUES: &[&str] = &[
        "-b", "-c", "-D", "-E", "-e", "-F", "-I", "-i", "-J", "-L", "-l", "-m", "-O", "-o", "-p", "-Q", "-R",
        "-S", "-W", "-w",
    ];
    if args.flag('v') {
        return Stripped::Unknown;
    }
    let Some((host, _)) = args.operands(VALUES).next() else {
        return Stripped::Unknown;
    };
    match args.0.get(host + 1..) {
        Some(words) if !words.is_empty() => Stripped::Script(join(words)),
        _ => Stripped::Stdin,
    }
}

fn join(words: &[Word<'_>]) -> String {
    words.iter().map(|word| word.text.as_ref()).collect::<Vec<_>>().join(" ")
}
