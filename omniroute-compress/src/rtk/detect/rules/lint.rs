//! Linters, formatters and type checkers.

use crate::rtk::detect::board::{Board, EVERY, FIRST, LAST, STRUCTURAL as S, rules};
use crate::rtk::detect::line::{
    Line, counted, digits, has, is_name, is_path, place_column, run, starts, word,
};

rules! {
    ES_ROW = Eslint 0 Line "finding" S;
    ES_SUM = Eslint 1 Summary "problems" S;
    ES_FIX = Eslint 2 Summary "fixable" S | LAST;
    ES_FILE = Eslint 3 Header "file" FIRST;
    RUFF_LINE = Ruff 0 Line "concise finding" EVERY;
    RUFF_HEAD = Ruff 1 Line "finding" 0;
    RUFF_FOUND = Ruff 2 Summary "number of errors" S;
    RUFF_FIX = Ruff 3 Summary "fixable" S | LAST;
    RUFF_CLEAN = Ruff 4 Summary "all passed" S | EVERY;
    RUFF_FORMAT = Ruff 5 Line "file to format" S | EVERY;
    RUFF_FORMATTED = Ruff 6 Summary "files formatted" EVERY;
    RUFF_STAT = Ruff 7 Line "statistics row" EVERY;
    RUFF_UNDER = Ruff 8 Header "place under its finding" S;
    FLAKE = Flake8 0 Line "finding" EVERY;
    FLAKE_STAT = Flake8 1 Line "statistics row" EVERY;
    ES_COMPACT = Eslint 4 Line "compact finding" S | EVERY;
    ES_UNIX = Eslint 5 Line "unix finding" S | EVERY;
    ES_CRASH = Eslint 6 Header "version of a crash" S;
    PT_ERROR = Prettier 3 Line "syntax error" S;
    SC_GCC = Shellcheck 3 Line "finding with code" S | EVERY;
    PL_MODULE = Pylint 0 Header "module" S;
    PL_ROW = Pylint 1 Line "finding" S;
    PL_RATE = Pylint 2 Summary "rating" S | LAST;
    MYPY_ROW = Mypy 0 Line "finding" S;
    MYPY_SUM = Mypy 1 Summary "result" S | LAST | EVERY;
    MYPY_NOTE = Mypy 2 Line "note" 0;
    PR_ROW = Pyright 0 Line "finding" S;
    PR_SUM = Pyright 1 Summary "counts" S | LAST;
    BI_RULE = Biome 0 Header "finding" S;
    BI_MARK = Biome 1 Line "message" S;
    BI_SUM = Biome 2 Summary "checked files" S;
    BI_FRAME = Biome 3 Line "marked line" 0;
    PT_HEAD = Prettier 0 Header "start line" S | FIRST;
    PT_WARN = Prettier 1 Line "file" S;
    PT_SUM = Prettier 2 Summary "result" S | LAST;
    SC_HEAD = Shellcheck 0 Header "place" S;
    SC_ROW = Shellcheck 1 Line "finding" S;
    SC_WIKI = Shellcheck 2 Summary "wiki page" S;
    GL_ROW = Golangci 0 Line "finding" S;
    GL_SUM = Golangci 1 Summary "number of issues" S;
    RB_HEAD = Rubocop 0 Header "start line" S;
    RB_ROW = Rubocop 1 Line "finding" S;
    RB_SUM = Rubocop 2 Summary "counts" S;
}

pub(super) fn scan(line: &Line<'_>, board: &mut Board) {
    let at = line.number;
    let Some(&first) = line.body.first() else { return };
    match first {
        b'0'..=b'9' => numbered(line, board),
        b'F' if line.raw.starts_with(b"Found ") => found(line, board),
        b'A' if line.raw == b"All checks passed!" => board.hit(&RUFF_CLEAN, at),
        b'A' if line.raw.starts_with(b"All matched files use Prettier code style!") => board.hit(&PT_SUM, at),
        b'N' if line.raw.starts_with(b"No fixes available (") => board.hit(&RUFF_FIX, at),
        b'[' if line.indent == 0 => bracketed(line, board),
        b'W' if line.raw.starts_with(b"Would reformat: ") => board.hit(&RUFF_FORMAT, at),
        b'*' if line.raw.starts_with(b"************* Module ") => board.hit(&PL_MODULE, at),
        b'Y' if line.raw.starts_with(b"Your code has been rated at ") => board.hit(&PL_RATE, at),
        b'S' if counted(line.raw, b"Success: no issues found in ", b" source file").is_some() => {
            board.hit(&MYPY_SUM, at)
        }
        b'C' if counted(line.raw, b"Checked ", b" file").is_some_and(|rest| has(rest, b" in ")) => {
            board.hit(&BI_SUM, at)
        }
        b'C' if line.raw == b"Checking formatting..." => board.hit(&PT_HEAD, at),
        b'I' if counted(line.raw, b"Inspecting ", b" file").is_some() => board.hit(&RB_HEAD, at),
        b'E' if line.raw.starts_with(b"ESLint: ") => board.hit(&ES_CRASH, at),
        b'I' if line.raw.starts_with(b"In ") && line.raw.ends_with(b":") && has(line.raw, b" line ") => {
            board.hit(&SC_HEAD, at)
        }
        b'^' if line.indent > 0 && has(line.body, b" SC") && has(line.body, b"): ") => board.hit(&SC_ROW, at),
        b'h' if line.indent == 2 && line.body.starts_with(b"https://www.shellcheck.net/wiki/SC") => {
            board.hit(&SC_WIKI, at)
        }
        b'-' if line.body.starts_with(b"--> ")
            && line.indent <= 6
            && is_code(word(line.before).0)
            && place_column(line.body.get(4..).unwrap_or_default()).is_some() =>
        {
            board.hit(&RUFF_UNDER, at)
        }
        b'>' if line.indent == 4 && has(line.body, " │ ".as_bytes()) => board.hit(&BI_FRAME, at),
        b'i' if line.indent == 2 && line.body.starts_with(b"i ") => board.hit(&BI_MARK, at),
        0xc3 if line.indent == 2 && line.body.starts_with("× ".as_bytes()) => board.hit(&BI_MARK, at),
        0xe2 if line.indent == 0 && counted(line.raw, "✖ ".as_bytes(), b" problem").is_some() => {
            board.hit(&ES_SUM, at)
        }
        b'A'..=b'Z' if line.indent == 0 => {
            let (code, rest) = word(line.raw);
            if is_code(code) && !rest.is_empty() {
                board.hit(&RUFF_HEAD, at);
            }
        }
        b'/' if line.indent == 0 && is_path(line.raw) && !has(line.raw, b":") && js(line.raw) => {
            board.hit(&ES_FILE, at)
        }
        _ => {}
    }
    located(line, board);
}

/// `12:5  error  text  rule`, `3 issues:`, `12  F401 [*] text`, counts.
fn numbered(line: &Line<'_>, board: &mut Board) {
    let at = line.number;
    let Some(rest) = digits(line.body) else { return };
    if let Some(rest) = rest.strip_prefix(b":").and_then(digits) {
        let text = rest.trim_ascii_start();
        if line.indent >= 2
            && rest.starts_with(b"  ")
            && starts(text, &[b"error  ", b"warning  "])
            && !line.raw.ends_with(b")")
        {
            board.hit(&ES_ROW, at);
        }
        return;
    }
    if line.indent == 0 {
        if starts(rest, &[b" issues:", b" issues."]) {
            board.hit(&GL_SUM, at);
        } else if starts(rest, &[b" error, ", b" errors, "])
            && has(rest, b" warning")
            && has(rest, b"information")
        {
            board.hit(&PR_SUM, at);
        } else if starts(rest, &[b" file inspected, ", b" files inspected, "]) {
            board.hit(&RB_SUM, at);
        } else if starts(
            rest,
            &[
                b" file already formatted",
                b" files already formatted",
                b" file would be reformatted",
                b" files would be reformatted",
                b" file reformatted",
                b" files reformatted",
                b" file left unchanged",
                b" files left unchanged",
            ],
        ) {
            board.hit(&RUFF_FORMATTED, at);
        } else {
            let code = word(rest.trim_ascii_start()).0;
            if rest.starts_with(b"\t") && is_code(code) {
                board.hit(&RUFF_STAT, at);
            } else if rest.starts_with(b"  ") && is_code(code) {
                board.hit(&FLAKE_STAT, at);
            }
        }
    } else if starts(rest, &[b" error and ", b" errors and "]) && has(rest, b"potentially fixable with the ")
    {
        board.hit(&ES_FIX, at);
    }
}

fn found(line: &Line<'_>, board: &mut Board) {
    let at = line.number;
    let Some(rest) = counted(line.raw, b"Found ", b" error") else { return };
    if has(rest, b"source file") {
        board.hit(&MYPY_SUM, at);
    } else if starts(rest, &[b".", b"s.", b" (", b"s ("]) {
        board.hit(&RUFF_FOUND, at);
        board.hit(&BI_SUM, at);
    }
}

fn bracketed(line: &Line<'_>, board: &mut Board) {
    let at = line.number;
    if line.raw.starts_with(b"[*] ") && has(line.raw, b" fixable with the `--fix` option") {
        board.hit(&RUFF_FIX, at);
    } else if line.raw.starts_with(b"[error] ") && has(line.raw, b": SyntaxError: ") {
        board.hit(&PT_ERROR, at);
    } else if let Some(rest) = line.raw.strip_prefix(b"[warn] ") {
        if starts(rest, &[b"Code style issues "]) {
            board.hit(&PT_SUM, at);
        } else if is_path(rest) {
            board.hit(&PT_WARN, at);
        }
    }
}

/// Lines that start with a place in a file.
fn located(line: &Line<'_>, board: &mut Board) {
    let at = line.number;
    if line.indent > 2
        || !line
            .body
            .first()
            .is_some_and(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'/' | b'_' | b'@'))
    {
        return;
    }
    if line.raw.first() == Some(&b'/')
        && has(line.raw, b": line ")
        && has(line.raw, b", col ")
        && (has(line.raw, b", Error - ") || has(line.raw, b", Warning - "))
    {
        board.hit(&ES_COMPACT, at);
        return;
    }
    let Some((path, rest)) = line.place else { return };
    let Some(column) = rest.strip_prefix(b":").and_then(digits) else {
        // Without a column: mypy.
        if let Some(text) = rest.strip_prefix(b": ") {
            mypy(path, text, at, board);
        }
        return;
    };
    if let Some(text) = column.strip_prefix(b": ") {
        if line.raw.ends_with(b"]") {
            if has(text, b"[Error") || has(text, b"[Warning") {
                board.hit(&ES_UNIX, at);
            } else if has(text, b"[SC") {
                board.hit(&SC_GCC, at);
            }
        }
        let (code, message) = word(text);
        if is_code(code) && !message.is_empty() {
            board.hit(&RUFF_LINE, at);
            board.hit(&FLAKE, at);
        } else if code.len() == 6
            && code.ends_with(b":")
            && code.first().is_some_and(|byte| b"CRWEFI".contains(byte))
            && digits(code.get(1..).unwrap_or_default()) == Some(b":")
        {
            board.hit(&PL_ROW, at);
        } else if matches!(code, b"C:" | b"W:" | b"E:" | b"F:" | b"R:") && has(message, b"/") {
            board.hit(&RB_ROW, at);
        } else if line.raw.ends_with(b")") && path.ends_with(b".go") {
            let name = text.rsplit(|byte| *byte == b'(').next().unwrap_or_default();
            if is_name(name.strip_suffix(b")").unwrap_or_default()) {
                board.hit(&GL_ROW, at);
            }
        } else {
            mypy(path, text, at, board);
        }
    } else if starts(column, &[b" - error: ", b" - warning: "]) {
        board.hit(&PR_ROW, at);
    } else if let Some(text) = column.strip_prefix(b" ")
        && (starts(text, &[b"lint/", b"parse ", b"format ", b"assist/", b"suppressions/"])
            || run(text, b' ') > 0)
        && has(text, "━━".as_bytes())
    {
        board.hit(&BI_RULE, at);
    }
}

/// `a.py:12: error: text  [code]`.
fn mypy(path: &[u8], text: &[u8], at: u32, board: &mut Board) {
    if !(path.ends_with(b".py") || path.ends_with(b".pyi")) {
        return;
    }
    if starts(text, &[b"error: ", b"warning: "]) {
        board.hit(&MYPY_ROW, at);
    } else if text.starts_with(b"note: ") {
        board.hit(&MYPY_NOTE, at);
    }
}

/// `F401`, `PLR2004`, `UP035`: one to six capitals, three or four digits.
fn is_code(word: &[u8]) -> bool {
    let letters = word.iter().take_while(|byte| byte.is_ascii_uppercase()).count();
    let rest = word.get(letters..).unwrap_or_default();
    (1..=6).contains(&letters)
        && !word.starts_with(b"TS")
        && (3..=4).contains(&rest.len())
        && rest.iter().all(u8::is_ascii_digit)
}

fn js(path: &[u8]) -> bool {
    let end = path.rsplit(|byte| *byte == b'.').next().unwrap_or_default();
    matches!(end, b"js" | b"jsx" | b"ts" | b"tsx" | b"mjs" | b"cjs" | b"mts" | b"cts" | b"vue" | b"svelte")
}
