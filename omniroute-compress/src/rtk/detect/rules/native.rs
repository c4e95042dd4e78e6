//! Compilers of native code: rustc through cargo, gcc and clang, make, ninja, cmake, go.

use crate::rtk::detect::board::{Board, FIRST, LAST, OWN_LAST, STRUCTURAL as S, rules};
use crate::rtk::detect::line::{Line, counted, digits, has, is_path, place_column, split, starts, word};

rules! {
    STATUS = CargoBuild 0 Header "status line" S | FIRST;
    FINISHED = CargoBuild 1 Summary "finished line" S | OWN_LAST;
    HEADLINE = CargoBuild 2 Line "diagnostic" S;
    ARROW = CargoBuild 3 Line "place of a diagnostic" S;
    NOT_COMPILED = CargoBuild 4 Summary "could not compile" S | LAST;
    GENERATED = CargoBuild 5 Summary "number of warnings" S;
    RUNS = CargoBuild 6 Summary "runs the program" S | OWN_LAST;
    SHORT = CargoBuild 7 Line "short diagnostic" S;
    FMT = CargoFmt 0 Header "file with changes" S | FIRST;
    FMT_PLUS = CargoFmt 1 Line "changed line" 0;
    DIAGNOSTIC = Gcc 0 Line "diagnostic" S;
    INSIDE = Gcc 1 Header "in function" S;
    CARET = Gcc 2 Line "caret" S;
    COLLECT = Gcc 3 Summary "linker result" S;
    UNDEFINED = Gcc 4 Line "undefined reference" S;
    GENERATED_BY = Gcc 5 Summary "number of diagnostics" S;
    INCLUDED = Gcc 6 Header "included from" S;
    ENTERING = Make 0 Header "directory" S;
    STARS = Make 1 Summary "failed target" S | LAST;
    COMPILES = Make 2 Line "compile command" S;
    NOTHING = Make 3 Summary "nothing to do" S;
    STEP = Ninja 0 Line "step" S;
    FAILED = Ninja 1 Line "failed step" S;
    STOPPED = Ninja 2 Summary "stopped" S | LAST;
    CHECK = Cmake 0 Line "check" S;
    DONE = Cmake 1 Summary "done line" S;
    PROBLEM = Cmake 2 Header "problem" S;
    PERCENT = Cmake 3 Line "step with percent" S;
    BUILT = Cmake 4 Summary "built target" S;
    PACKAGE = GoBuild 0 Header "package" 0;
    GO_PLACE = GoBuild 1 Line "diagnostic" S;
    GO_AFTER = GoBuild 2 Header "diagnostic under its package" S;
}

const STATUSES: &[&[u8]] = &[
    b"Compiling ",
    b"Checking ",
    b"Downloading crates",
    b"Downloaded ",
    b"Updating ",
    b"Locking ",
    b"Blocking waiting ",
    b"Documenting ",
    b"Installing ",
    b"Packaging ",
    b"Verifying ",
    b"Fresh ",
    b"Dirty ",
    b"Building [",
    b"Adding ",
    b"Removing ",
    b"Downgrading ",
    b"Upgrading ",
    b"Generated ",
    b"Executable ",
    b"Archiving ",
    b"Scraping ",
];

pub(super) fn scan(line: &Line<'_>, board: &mut Board) {
    let at = line.number;
    let Some(&first) = line.body.first() else { return };
    match first {
        b'A'..=b'Z' if line.indent > 0 => cargo_status(line, board),
        b'w' | b'e' if line.indent == 0 => rustc(line, board),
        b'-' if line.body.starts_with(b"--> ")
            && line.indent > 0
            && place_column(line.body.get(4..).unwrap_or_default()).is_some() =>
        {
            board.hit(&ARROW, at)
        }
        b'D' if line.raw.starts_with(b"Diff in ") && line.raw.ends_with(b":") => board.hit(&FMT, at),
        b'I' if line.raw.starts_with(b"In file included from ") => board.hit(&INCLUDED, at),
        b'|' if line.indent > 3 && caret(line.body) => board.hit(&CARET, at),
        b'c' if starts(
            line.raw,
            &[b"collect2: error: ", b"clang: error: linker", b"clang++: error: linker"],
        ) =>
        {
            board.hit(&COLLECT, at);
        }
        b'0'..=b'9'
            if line.indent == 0
                && digits(line.raw).is_some_and(|rest| {
                    starts(
                        rest,
                        &[
                            b" error generated.",
                            b" errors generated.",
                            b" warning generated.",
                            b" warnings generated.",
                            b" warning and ",
                            b" warnings and ",
                        ],
                    )
                }) =>
        {
            board.hit(&GENERATED_BY, at)
        }
        b'm' | b'g' if line.indent == 0 => make(line, board),
        b'n' if line.raw.starts_with(b"ninja: ") => {
            board.hit(if has(line.raw, b"Entering directory") { &STEP } else { &STOPPED }, at);
        }
        b'F' if line.raw.starts_with(b"FAILED: ") && !has(line.raw, b"::") => board.hit(&FAILED, at),
        b'[' if line.indent == 0 => bracketed(line, board),
        b'-' if line.raw.starts_with(b"-- ") => cmake(line, board),
        b'C' if starts(line.raw, &[b"CMake Error", b"CMake Warning", b"CMake Deprecation Warning"]) => {
            board.hit(&PROBLEM, at)
        }
        b'#' if line.raw.starts_with(b"# ") && is_package(line.raw.get(2..).unwrap_or_default()) => {
            board.hit(&PACKAGE, at)
        }
        b'+' | b'-' if line.indent == 0 && !starts(line.raw, &[b"+++", b"---"]) => board.hit(&FMT_PLUS, at),
        b'v' if line.raw.starts_with(b"vet: ") => board.hit(&GO_PLACE, at),
        _ => {}
    }
    if line.indent == 0 && (first.is_ascii_alphanumeric() || matches!(first, b'.' | b'/' | b'_')) {
        placed(line, board);
    }
    if first.is_ascii_alphabetic()
        && starts(line.raw, &[b"gcc ", b"g++ ", b"cc ", b"c++ ", b"clang ", b"clang++ ", b"/usr/bin/"])
        && has(line.raw, b" -")
    {
        board.hit(&COMPILES, at);
    }
}

/// The status words of cargo are right-aligned at column 12.
fn cargo_status(line: &Line<'_>, board: &mut Board) {
    let (word, rest) = word(line.body);
    if line.indent + word.len() != 12 || rest.is_empty() {
        return;
    }
    if word == b"Finished" {
        board.hit(&FINISHED, line.number);
    } else if word == b"Running" && rest.starts_with(b"`") {
        board.hit(&RUNS, line.number);
    } else if starts(line.body, STATUSES) {
        board.hit(&STATUS, line.number);
    }
}

/// `warning: text`, `error[E0308]: text`, and what closes them.
fn rustc(line: &Line<'_>, board: &mut Board) {
    let at = line.number;
    if starts(line.raw, &[b"error: could not compile `", b"error: could not document `"]) {
        board.hit(&NOT_COMPILED, at);
    } else if line.raw.starts_with(b"warning: `") && has(line.raw, b" generated ") {
        board.hit(&GENERATED, at);
    } else if line.raw.starts_with(b"error[E") {
        board.hit(&HEADLINE, at);
    }
}

/// A line `  --> path` follows a headline in the next line; here the place comes first: gcc, clang, go.
fn placed(line: &Line<'_>, board: &mut Board) {
    let at = line.number;
    let Some((path, rest)) = line.place else {
        if line.raw.ends_with(b":") && (has(line.raw, b": In ") || has(line.raw, b": At top level:")) {
            let path = split(line.raw, b": ").map_or(line.raw, |(path, _)| path);
            if is_path(path) {
                board.hit(&INSIDE, at);
            }
        } else if line.colon.is_some() && has(line.raw, b": undefined reference to ") {
            board.hit(&UNDEFINED, at);
        }
        return;
    };
    let column = rest.strip_prefix(b":").and_then(digits);
    let text = column.unwrap_or(rest).strip_prefix(b": ");
    let Some(text) = text else { return };
    if path.ends_with(b".go") {
        board.hit(&GO_PLACE, at);
        if line.before.starts_with(b"# ") {
            board.hit(&GO_AFTER, at);
        }
        return;
    }
    if path.ends_with(b".rs") && starts(text, &[b"error[", b"error: ", b"warning: "]) && column.is_some() {
        board.hit(&SHORT, at);
    }
    if column.is_some()
        && starts(text, &[b"error: ", b"warning: ", b"note: ", b"fatal error: "])
        && is_c(path)
    {
        board.hit(&DIAGNOSTIC, at);
    } else if starts(text, &[b"undefined reference to", b"multiple definition of"]) {
        board.hit(&UNDEFINED, at);
    }
}

fn is_c(path: &[u8]) -> bool {
    let end = path.rsplit(|byte| *byte == b'.').next().unwrap_or_default();
    matches!(
        end,
        b"c" | b"h"
            | b"cc"
            | b"cpp"
            | b"cxx"
            | b"hpp"
            | b"hh"
            | b"hxx"
            | b"m"
            | b"mm"
            | b"S"
            | b"s"
            | b"cu"
            | b"inl"
            | b"ipp"
            | b"tpp"
    ) || has(path, b"/include/")
}

/// `|     ^~~~`, `|  |`.
fn caret(body: &[u8]) -> bool {
    let rest = body.get(1..).unwrap_or_default().trim_ascii_start();
    rest.starts_with(b"^") && rest.iter().all(|byte| matches!(byte, b'^' | b'~' | b' ' | b'|' | b'-'))
}

/// `make[1]: Entering directory 'x'`, `make: *** [x] Error 1`.
fn make(line: &Line<'_>, board: &mut Board) {
    let raw = line.raw.strip_prefix(b"g").unwrap_or(line.raw);
    let rest = raw.strip_prefix(b"make: ").or_else(|| counted(raw, b"make[", b"]: "));
    let Some(rest) = rest else { return };
    if rest.starts_with(b"*** ") {
        board.hit(&STARS, line.number);
    } else if starts(rest, &[b"Entering directory ", b"Leaving directory "]) {
        board.hit(&ENTERING, line.number);
    } else {
        board.hit(&NOTHING, line.number);
    }
}

/// `[12/34] Building …`, `[ 12%] Building …`, `[100%] Built target x`.
fn bracketed(line: &Line<'_>, board: &mut Board) {
    let at = line.number;
    let inner = line.raw.get(1..).unwrap_or_default().trim_ascii_start();
    let Some(rest) = digits(inner) else { return };
    if let Some(rest) = rest.strip_prefix(b"%] ") {
        board.hit(if rest.starts_with(b"Built target ") { &BUILT } else { &PERCENT }, at);
    } else if let Some(rest) =
        rest.strip_prefix(b"/").and_then(digits).and_then(|rest| rest.strip_prefix(b"] "))
        && starts(
            rest,
            &[
                b"Building ",
                b"Linking ",
                b"Generating ",
                b"Compiling ",
                b"Re-running ",
                b"Running ",
                b"Install ",
                b"cc ",
                b"c++ ",
                b"gcc ",
                b"g++ ",
                b"clang",
                b"Creating ",
                b"Automatic ",
            ],
        )
    {
        board.hit(&STEP, at);
    }
}

fn cmake(line: &Line<'_>, board: &mut Board) {
    let at = line.number;
    let text = line.raw.get(3..).unwrap_or_default();
    if starts(
        text,
        &[
            b"Configuring done",
            b"Generating done",
            b"Build files have been written to: ",
            b"Configuring incomplete",
        ],
    ) {
        board.hit(&DONE, at);
    } else if starts(
        text,
        &[
            b"The C compiler ",
            b"The CXX compiler ",
            b"Detecting ",
            b"Check for working ",
            b"Looking for ",
            b"Performing Test ",
            b"Found ",
            b"Could NOT find ",
        ],
    ) {
        board.hit(&CHECK, at);
    }
}

/// A package path such as `example.com/shop [example.com/shop.test]`.
fn is_package(text: &[u8]) -> bool {
    let (path, rest) = word(text);
    (rest.is_empty() || rest.starts_with(b"["))
        && path.iter().all(|byte| byte.is_ascii_graphic())
        && (has(path, b"/") || has(path, b".") || path == b"command-line-arguments")
}
