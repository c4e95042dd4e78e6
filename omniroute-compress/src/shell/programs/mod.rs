//! What a program prints: the table from program, subcommand and flags to [`Kind`].
//!
//! Only what is certain is `Command`. A program that can print file contents byte for byte, run another program, or
//! print what its caller stored, is not.

mod build;
mod git;
mod infra;
mod runners;
mod text;

use super::args::{Args, program_name};
use super::print::Input;
use super::script::{Expands, Word};

/// What one command prints.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Nothing, apart from error messages.
    Silent,
    /// Nothing by itself, but it runs a file that may print anything (`source`).
    Sourced,
    /// A short literal text between the outputs of other commands (`echo ---`).
    Separator,
    /// A tool's own output.
    Command,
    /// Contents of files; `log` when the whole lines stand at the start, so that it may be a log.
    File {
        /// Printed by `cat`, `head`, `tail`, `less` or `sed -n`.
        log: bool,
    },
    /// The log of a container or service: arbitrary text until it passes the log grammar.
    Logs,
    /// The log of the system: its own output even when it is short.
    Journal,
    /// A unified or plain diff.
    Diff,
    /// Data that may be JSON, and unknown otherwise.
    Data,
    /// A filter without a file: what it prints is what it was given.
    Pass(Pass),
    /// Not known.
    Unknown,
}

/// How a filter changes what passes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Pass {
    /// Whole lines, cut at the ends (`head`, `tail`, `cat`).
    Ends,
    /// Chosen or changed lines (`grep`, `sort`, `cut`).
    Lines,
    /// Only a count or a checksum (`wc -l`, `grep -c`).
    Count,
    /// Nothing (`grep -q`).
    Nothing,
}

/// What the command `words` prints to its standard output, given where its input comes from.
pub(crate) fn kind(words: &[Word<'_>], input: Input) -> Kind {
    let Some((first, args)) = words.split_first() else {
        return Kind::Unknown;
    };
    if first.expands == Expands::No && first.text.starts_with("((") {
        return Kind::Silent;
    }
    let Some(name) = program_name(first) else {
        return Kind::Unknown;
    };
    // A builtin has no directory: `bin/test` and `/opt/bin/set` are files.
    let bare = !first.text.contains('/');
    named(name, bare, Args(args), input)
}

fn named(name: &str, bare: bool, args: Args<'_, '_>, input: Input) -> Kind {
    if bare && let Some(kind) = builtin(name, args) {
        return kind;
    }
    match name {
        "mkdir" | "rm" | "rmdir" | "cp" | "mv" | "touch" | "chmod" | "chown" | "ln" | "sleep" | "true"
        | "false" | "kill" | "pkill" | "killall" => Kind::Silent,
        "find" | "fd" | "fdfind" => find(args, input),
        "xargs" | "parallel" => xargs(args),
        "ffmpeg" if args.texts().any(|text| text == "-" || text.starts_with("pipe:")) => Kind::Unknown,
        _ => text::kind(name, args, input)
            .or_else(|| git::kind(name, args))
            .or_else(|| build::kind(name, args))
            .or_else(|| infra::kind(name, args))
            .unwrap_or_else(|| plain(name)),
    }
}

/// Builtins of the shell that print nothing, or little.
fn builtin(name: &str, args: Args<'_, '_>) -> Option<Kind> {
    Some(match name {
        "cd" | "pushd" | "popd" | "unset" | "wait" | ":" | "test" | "[" | "[[" | "exit" | "return"
        | "break" | "continue" | "shift" | "local" | "read" | "trap" | "umask" | "shopt" | "setopt"
        | "disown" | "exec" | "let" | "getopts" | "mapfile" | "readarray" | "for" | "select" | "case"
        | "function" => Kind::Silent,
        // Without arguments they list every variable.
        "export" | "set" | "declare" | "typeset" | "readonly"
            if !args.0.is_empty() && !args.flag('p') && !args.flag('f') && !args.flag('F') =>
        {
            Kind::Silent
        }
        "source" | "." => Kind::Sourced,
        "echo" | "printf" => text::echo(args),
        "pwd" | "which" | "jobs" | "hash" | "times" | "ulimit" | "dirs" | "command" => Kind::Command,
        "type" => text::type_builtin(args),
        _ => return None,
    })
}

/// `find`: a listing, or what `-exec` runs.
fn find(args: Args<'_, '_>, input: Input) -> Kind {
    let exec = args.texts().position(|text| {
        matches!(text, "-exec" | "-execdir" | "-ok" | "-okdir" | "-x" | "-X" | "--exec" | "--exec-batch")
    });
    match exec.and_then(|at| args.0.get(at + 1..)) {
        Some(words) => {
            let end =
                words.iter().position(|word| matches!(word.text.as_ref(), ";" | "+")).unwrap_or(words.len());
            inner(words.get(..end).unwrap_or_default())
        }
        None if input == Input::Inline => Kind::Unknown,
        None => Kind::Command,
    }
}

/// `xargs`: what it runs, with operands.
fn xargs(args: Args<'_, '_>) -> Kind {
    const VALUES: &[&str] =
        &["-n", "-P", "-I", "-L", "-d", "-s", "-E", "-a", "-j", "--max-args", "--max-procs", "--delimiter"];
    match args.operands(VALUES).next().and_then(|(at, _)| args.0.get(at..)) {
        Some(words) => inner(words),
        None => Kind::Unknown,
    }
}

/// A command run by another one with file names behind it.
fn inner(words: &[Word<'_>]) -> Kind {
    match super::wrappers::strip(words) {
        super::wrappers::Stripped::Words(mut words) => {
            // Not through itself again: `xargs xargs xargs …` would recurse.
            let name = words.first().and_then(program_name);
            if name.is_none_or(|name| matches!(name, "xargs" | "parallel" | "find" | "fd" | "fdfind")) {
                return Kind::Unknown;
            }
            words.push(Word::literal("file"));
            match kind(&words, Input::None) {
                Kind::Separator | Kind::Sourced | Kind::Pass(_) => Kind::Unknown,
                kind => kind,
            }
        }
        _ => Kind::Unknown,
    }
}

/// Programs whose output is always their own.
fn plain(name: &str) -> Kind {
    match name {
        "ls" | "dir" | "vdir" | "tree" | "exa" | "eza" | "lsd" | "stat" | "file" | "du" | "df" | "ps"
        | "pgrep" | "top" | "free" | "uptime" | "uname" | "id" | "whoami" | "groups" | "hostname"
        | "date" | "cal" | "nproc" | "lscpu" | "lsblk" | "lsof" | "lspci" | "lsusb" | "ss" | "netstat"
        | "ip" | "ifconfig" | "ping" | "ping6" | "dig" | "nslookup" | "host" | "traceroute" | "mount"
        | "umount" | "env" | "printenv" | "where" | "whereis" | "locate" | "readlink" | "realpath"
        | "basename" | "dirname" | "mktemp" | "getconf" | "locale" | "tty" | "who" | "w" | "last" | "seq"
        | "expr" | "vmstat" | "iostat" | "nvidia-smi" | "sw_vers" | "diskutil" | "cmp" | "cksum"
        | "md5sum" | "md5" | "sha1sum" | "sha256sum" | "sha512sum" | "shasum" | "tokei" | "cloc" | "scc"
        | "identify" | "exiftool" | "ffmpeg" | "ffprobe" | "sips" | "rsync" | "scp" | "sftp" | "zip"
        | "gh-pages" | "yes" | "ldd" | "nm" | "size" | "readelf" | "Get-ChildItem" | "Get-Process"
        | "Get-Command" | "Get-Location" | "Test-Path" | "Remove-Item" | "Copy-Item" | "Move-Item"
        | "New-Item" => Kind::Command,
        _ => Kind::Unknown,
    }
}
