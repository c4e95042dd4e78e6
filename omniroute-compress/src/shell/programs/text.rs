//! Programs that show or filter text: viewers, search tools, line filters, encoders.

use super::{Kind, Pass};
use crate::shell::args::Args;
use crate::shell::print::Input;
use crate::shell::script::Expands;

/// Longest text of an `echo` that counts as a separator.
const MAX_SEPARATOR: usize = 120;

const GREP_VALUES: &[&str] = &[
    "-e",
    "-f",
    "-m",
    "-A",
    "-B",
    "-C",
    "-g",
    "-t",
    "-T",
    "-d",
    "-D",
    "-j",
    "-M",
    "-E",
    "--regexp",
    "--file",
    "--max-count",
    "--glob",
    "--type",
    "--after-context",
    "--before-context",
    "--context",
    "--type-not",
    "--max-columns",
    "--color",
    "--colour",
    "--sort",
    "--max-depth",
];

/// The kind of a text program, `None` when it is not one.
pub(super) fn kind(name: &str, args: Args<'_, '_>, input: Input) -> Option<Kind> {
    Some(match name {
        "cat" => through(files(args, &[]), input, !numbered(args), Pass::Ends),
        "head" | "tail" => {
            through(files(args, &["-n", "-c", "--lines", "--bytes", "-s", "--pid"]), input, true, Pass::Ends)
        }
        "less" | "more" | "most" => {
            through(files(args, &["-p", "-P", "-j", "-x", "-y"]), input, true, Pass::Ends)
        }
        "tee" => match input {
            Input::Pipe => Kind::Pass(Pass::Ends),
            _ => Kind::File { log: false },
        },
        "sed" => sed(args, input),
        "grep" | "egrep" | "fgrep" | "zgrep" => {
            grep(args, input, args.flag('r') || args.flag('R') || args.has(&["--recursive"]))
        }
        "rg" | "ripgrep" | "ag" | "ack" | "ugrep" => grep(args, input, args.has(&["--files"])),
        "awk" | "gawk" | "mawk" | "nawk" => script_filter(
            args,
            &["-F", "-v", "-f", "--field-separator", "--assign", "--file"],
            &["-f", "--file"],
            input,
        ),
        "wc" => Kind::Command,
        "sort" => through(
            files(args, &["-k", "-t", "-T", "-S", "-o", "--key", "--field-separator"]),
            input,
            false,
            Pass::Lines,
        ),
        "uniq" => through(files(args, &["-f", "-s", "-w"]), input, false, Pass::Lines),
        "cut" => through(
            files(args, &["-d", "-f", "-c", "-b", "--delimiter", "--fields"]),
            input,
            false,
            Pass::Lines,
        ),
        "tr" | "col" | "colrm" | "strip-ansi" => through(false, input, false, Pass::Lines),
        "nl" | "tac" | "rev" | "fold" | "fmt" | "paste" | "column" | "expand" | "unexpand" | "pr" => through(
            files(args, &["-b", "-w", "-s", "-d", "-t", "-v", "-i", "-n", "-c", "-l"]),
            input,
            false,
            Pass::Lines,
        ),
        "Select-Object" | "Out-String" | "Format-Table" | "Format-List" | "Out-Host" => match input {
            Input::Pipe => Kind::Pass(Pass::Lines),
            _ => Kind::Unknown,
        },
        "bat" | "batcat" | "zcat" | "gzcat" | "bzcat" | "xzcat" | "zstdcat" | "zless" | "zmore"
        | "strings" | "xxd" | "hexdump" | "hd" | "od" | "base64" | "base32" | "comm" | "join" | "look"
        | "iconv" | "envsubst" | "glow" | "mdcat" | "pygmentize" | "highlight" | "xmllint" | "pdftotext"
        | "pandoc" | "Get-Content" | "gc" | "Select-String" | "sls" => Kind::File { log: false },
        "gzip" | "gunzip" | "bzip2" | "xz" | "zstd"
            if args.flag('c') || args.has(&["--stdout", "--to-stdout"]) =>
        {
            Kind::File { log: false }
        }
        "gzip" | "gunzip" | "bzip2" | "xz" | "zstd" => Kind::Command,
        "tar" | "bsdtar" => unpack(args, args.flag('O') || args.has(&["--to-stdout"])),
        "unzip" => unpack(args, args.flag('p') || args.flag('c')),
        "jq" | "gojq" | "yq" | "json.tool" | "fx" | "dasel" => Kind::Data,
        "diff" if args.flag('q') || args.has(&["--brief"]) => Kind::Command,
        "diff" | "colordiff" | "sdiff" | "interdiff" | "delta" | "difft" => Kind::Diff,
        _ => return None,
    })
}

/// `echo` and `printf`: a separator when the text is short, literal and one line.
pub(super) fn echo(args: Args<'_, '_>) -> Kind {
    let known = args
        .0
        .iter()
        .all(|word| word.expands <= Expands::Status && !word.text.trim_end_matches('\n').contains('\n'));
    let length: usize = args.texts().map(str::len).sum();
    if known && length <= MAX_SEPARATOR { Kind::Separator } else { Kind::Unknown }
}

/// `type name` of the shell tells where a program is; `type file.txt` of the other shell prints a file.
pub(super) fn type_builtin(args: Args<'_, '_>) -> Kind {
    let file = args.texts().any(|text| text.contains(['.', '/', '\\']));
    if file { Kind::File { log: false } } else { Kind::Command }
}

/// A program that prints its files, or what it was given.
fn through(files: bool, input: Input, log: bool, pass: Pass) -> Kind {
    match input {
        Input::Pipe if !files => Kind::Pass(pass),
        Input::File if !files => Kind::File { log },
        Input::Inline if !files => Kind::File { log: false },
        _ => Kind::File { log },
    }
}

fn files(args: Args<'_, '_>, values: &[&str]) -> bool {
    args.operands(values).any(|(_, text)| text != "-")
}

fn numbered(args: Args<'_, '_>) -> bool {
    ['n', 'b', 'A', 'e', 't', 'v', 'E', 'T'].into_iter().any(|letter| args.flag(letter))
        || args.texts().any(|text| text.starts_with("--"))
}

/// `sed`: silent in place; with `-n` a range of lines.
fn sed(args: Args<'_, '_>, input: Input) -> Kind {
    let in_place = args.texts().any(|text| text.starts_with("--in-place") || text.starts_with("-i"))
        || args.texts().any(|text| {
            text.len() < 5 && text.starts_with('-') && !text.starts_with("--") && text.ends_with('i')
        });
    if in_place {
        return Kind::Silent;
    }
    let scripts = args.has(&["-e", "--expression", "-f", "--file"]);
    let operands =
        args.operands(&["-e", "-f", "--expression", "--file", "-l"]).filter(|(_, text)| *text != "-").count();
    let whole = args.flag('n') || args.has(&["--quiet", "--silent"]);
    through(operands > usize::from(!scripts), input, whole, if whole { Pass::Ends } else { Pass::Lines })
}

/// A filter whose first operand is a program text.
fn script_filter(args: Args<'_, '_>, values: &[&str], scripts: &[&str], input: Input) -> Kind {
    let operands = args.operands(values).filter(|(_, text)| *text != "-").count();
    let own = usize::from(!args.has(scripts));
    // The program itself can read files and run commands.
    let opens = args
        .texts()
        .any(|text| text.contains("getline") || text.contains("system(") || text.contains("BEGIN"));
    if opens && input == Input::Pipe && operands <= own {
        return Kind::Unknown;
    }
    through(operands > own, input, false, Pass::Lines)
}

/// Search tools: lines of files, or lines of what they were given.
fn grep(args: Args<'_, '_>, input: Input, recursive: bool) -> Kind {
    let given = args.has(&["-e", "-f", "--regexp", "--file"]) || args.flag('e') && !args.flag('E');
    let operands = args.operands(GREP_VALUES).filter(|(_, text)| *text != "-").count();
    let filter = input == Input::Pipe && !recursive && operands <= usize::from(!given);
    if args.flag('q') || args.has(&["--quiet", "--silent"]) {
        return if filter { Kind::Pass(Pass::Nothing) } else { Kind::Silent };
    }
    if args.flag('c') || args.has(&["--count"]) {
        return if filter { Kind::Pass(Pass::Count) } else { Kind::Command };
    }
    if filter { Kind::Pass(Pass::Lines) } else { Kind::File { log: false } }
}

/// Archives: names, unless the members go to the standard output.
fn unpack(args: Args<'_, '_>, contents: bool) -> Kind {
    // The old form has its letters without a dash: `tar xOf a b`.
    let contents = contents
        || args.texts().next().is_some_and(|first| !first.contains(['.', '/']) && first.contains('O'));
    let creates_on_stdout = args.has(&["-"]);
    if contents || creates_on_stdout { Kind::File { log: false } } else { Kind::Command }
}
