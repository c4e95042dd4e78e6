//! Test runners of JavaScript: Jest, Vitest, Mocha, node:test, Playwright.

use crate::rtk::detect::board::{Board, FIRST, LAST, STRUCTURAL as S, rules};
use crate::rtk::detect::line::{Line, counted, decimal, digits, has, place_column, run, starts, word};

rules! {
    JEST_FILE = Jest 0 Line "file result" S;
    JEST_TESTS = Jest 1 Summary "totals" S;
    JEST_SUITES = Jest 2 Summary "suites" S;
    JEST_BULLET = Jest 3 Line "failing test" S;
    JEST_RAN = Jest 4 Summary "closing line" S | LAST;
    JEST_NONE = Jest 5 Line "no tests found" S;
    VI_RUN = Vitest 0 Header "start line" S | FIRST;
    VI_FILES = Vitest 1 Summary "files" S;
    VI_TESTS = Vitest 2 Summary "tests" S;
    VI_TIME = Vitest 3 Summary "duration" S | LAST;
    VI_FILE = Vitest 4 Line "file result" S;
    VI_BANNER = Vitest 5 Line "part heading" S;
    VI_FAIL = Vitest 6 Line "failing test" S;
    MOCHA_PASS = Mocha 0 Summary "passing" S;
    MOCHA_FAIL = Mocha 1 Summary "failing" S;
    MOCHA_CASE = Mocha 2 Line "test case" 0;
    MOCHA_PENDING = Mocha 3 Summary "pending" S;
    TAP = NodeTest 0 Header "version line" S | FIRST;
    TAP_CASE = NodeTest 1 Line "test point" S;
    TAP_SUM = NodeTest 2 Summary "counts" S;
    TAP_TIME = NodeTest 3 Line "duration" S;
    SPEC_SUM = NodeTest 4 Summary "counts of the spec reporter" S;
    SPEC_CASE = NodeTest 5 Line "test of the spec reporter" S;
    PW_RUN = Playwright 0 Header "start line" S | FIRST;
    PW_CASE = Playwright 1 Line "test case" S;
    PW_BLOCK = Playwright 2 Line "failing test" S;
    PW_SUM = Playwright 3 Summary "counts" S;
}

pub(super) fn scan(line: &Line<'_>, board: &mut Board) {
    let at = line.number;
    let Some(&first) = line.body.first() else { return };
    match first {
        b'P' | b'F' if line.indent == 0 => jest_file(line, board),
        b'F' if line.indent == 1 && line.body.starts_with(b"FAIL ") => board.hit(&VI_FAIL, at),
        b'T' => totals(line, board),
        b'S' if line.indent == 0 && line.raw.starts_with(b"Snapshots: ") && has(line.raw, b" total") => {
            board.hit(&JEST_SUITES, at);
        }
        b'R' if line.indent == 0 && line.raw.starts_with(b"Ran all test suites") => board.hit(&JEST_RAN, at),
        b'R' if line.indent == 0
            && counted(line.raw, b"Running ", b" test")
                .is_some_and(|rest| has(rest, b" using ") && has(rest, b" worker")) =>
        {
            board.hit(&PW_RUN, at);
        }
        b'R' if line.body.starts_with(b"RUN  v") => board.hit(&VI_RUN, at),
        b'D' if line.indent >= 3 && line.body.starts_with(b"Duration  ") => board.hit(&VI_TIME, at),
        b'N' if line.raw.starts_with(b"No tests found, exiting with code ") => board.hit(&JEST_NONE, at),
        b'n' if line.body.starts_with(b"not ok ") => tap(line, board),
        b'o' if line.body.starts_with(b"ok ") => tap(line, board),
        b'd' if line.indent > 0 && line.body.starts_with(b"duration_ms: ") => board.hit(&TAP_TIME, at),
        b'#' if line.indent == 0 => tap_sum(line, board),
        b'0'..=b'9' => counts(line, board),
        0xe2 => marked(line, board),
        _ => {}
    }
}

fn jest_file(line: &Line<'_>, board: &mut Board) {
    let Some(rest) = line.raw.strip_prefix(b"PASS ").or_else(|| line.raw.strip_prefix(b"FAIL ")) else {
        return;
    };
    let (path, rest) = word(rest.trim_ascii_start());
    let timed = rest.is_empty() || rest.starts_with(b"(") && rest.ends_with(b")");
    if timed && has(path, b".") && has(path, b"s") && !has(path, b"::") {
        board.hit(&JEST_FILE, line.number);
    }
}

fn totals(line: &Line<'_>, board: &mut Board) {
    let at = line.number;
    let known = |text: &[u8]| {
        [b" passed".as_slice(), b" failed", b" skipped", b" todo"].iter().any(|word| has(text, word))
    };
    if line.indent == 0 {
        if line.raw.starts_with(b"Tests: ") && has(line.raw, b" total") {
            board.hit(&JEST_TESTS, at);
        } else if line.raw.starts_with(b"Test Suites: ") && has(line.raw, b" total") {
            board.hit(&JEST_SUITES, at);
        } else if line.raw.starts_with(b"TAP version ") {
            board.hit(&TAP, at);
        }
    } else if line.body.starts_with(b"Test Files  ") && known(line.body) {
        board.hit(&VI_FILES, at);
    } else if line.body.starts_with(b"Tests  ")
        && (known(line.body) || line.body.starts_with(b"Tests  no tests"))
    {
        board.hit(&VI_TESTS, at);
    }
}

/// `ok 1 - name`, `not ok 2 - name`.
fn tap(line: &Line<'_>, board: &mut Board) {
    let rest = line.body.strip_prefix(b"not ").unwrap_or(line.body);
    if counted(rest, b"ok ", b" - ").is_some() {
        board.hit(&TAP_CASE, line.number);
    }
}

/// `# pass 3`.
fn tap_sum(line: &Line<'_>, board: &mut Board) {
    let Some(rest) = line.raw.strip_prefix(b"# ") else { return };
    let (name, count) = word(rest);
    let known = matches!(
        name,
        b"tests" | b"suites" | b"pass" | b"fail" | b"cancelled" | b"skipped" | b"todo" | b"duration_ms"
    );
    if known && decimal(count).is_some_and(<[u8]>::is_empty) {
        board.hit(&TAP_SUM, line.number);
    }
}

/// `2 passing (12ms)`, `1 failing`, `1 passed (9.7s)`, `1) title`.
fn counts(line: &Line<'_>, board: &mut Board) {
    let at = line.number;
    let Some(rest) = digits(line.body) else { return };
    if line.indent == 0 {
        return;
    }
    if rest.starts_with(b" passing (") {
        board.hit(&MOCHA_PASS, at);
    } else if rest == b" failing" {
        board.hit(&MOCHA_FAIL, at);
    } else if rest == b" pending" {
        board.hit(&MOCHA_PENDING, at);
    } else if line.indent == 2
        && (rest.starts_with(b" passed (")
            || matches!(rest, b" failed" | b" flaky" | b" skipped" | b" did not run" | b" interrupted"))
    {
        board.hit(&PW_SUM, at);
    } else if rest.starts_with(b") ") && has(rest, " › ".as_bytes()) {
        board.hit(&PW_BLOCK, at);
    }
}

/// Lines that start with a mark: `✓ ✔ ✗ × ❯ ● ▶ ℹ ⎯ ✘`.
fn marked(line: &Line<'_>, board: &mut Board) {
    let at = line.number;
    let Some((mark, rest)) = line.body.split_at_checked(3) else { return };
    let text = rest.trim_ascii_start();
    match mark {
        b"\xe2\x97\x8f" if line.indent == 2 && !text.is_empty() => board.hit(&JEST_BULLET, at), // ●
        b"\xe2\x8e\xaf" if run(line.body, 0xe2) > 0 && vi_heading(line.body) => board.hit(&VI_BANNER, at), // ⎯
        // ✓ ✗ ❯ ×(c3) ✔
        b"\xe2\x9c\x93" | b"\xe2\x9d\xaf" | b"\xe2\x86\x93" if line.indent <= 1 && vi_file(text) => {
            board.hit(&VI_FILE, at);
        }
        b"\xe2\x9c\x93" | b"\xe2\x9c\x94" | b"\xe2\x9c\x98" | b"\xe2\x9c\x97" | b"\xe2\x9c\x96" => {
            let located = digits(text).is_some_and(|rest| has(rest, " › ".as_bytes()));
            if located {
                board.hit(&PW_CASE, at);
            } else if text.ends_with(b"ms)") && mark != b"\xe2\x9c\x93" {
                board.hit(&SPEC_CASE, at);
            } else if line.indent >= 2 && !text.is_empty() {
                board.hit(&MOCHA_CASE, at);
            }
        }
        b"\xe2\x84\xb9" => {
            let (name, count) = word(text);
            let known = matches!(
                name,
                b"tests"
                    | b"suites"
                    | b"pass"
                    | b"fail"
                    | b"cancelled"
                    | b"skipped"
                    | b"todo"
                    | b"duration_ms"
            );
            if known && decimal(count).is_some() {
                board.hit(&SPEC_SUM, at);
            }
        }
        b"\xe2\x96\xb6" if !text.is_empty() && line.indent == 0 => board.hit(&SPEC_CASE, at),
        _ => {}
    }
}

/// `⎯⎯⎯ Failed Tests 3 ⎯⎯⎯`.
fn vi_heading(body: &[u8]) -> bool {
    [
        b" Failed Tests ".as_slice(),
        b" Failed Suites ",
        b" Unhandled Errors ",
        b" Unhandled Rejection ",
        b" Uncaught Exception ",
    ]
    .iter()
    .any(|heading| has(body, heading))
}

/// `test/a.test.ts (3 tests) 5ms`, `test/a.test.ts > case 3ms`.
fn vi_file(text: &[u8]) -> bool {
    let text = text
        .strip_prefix(b"|")
        .and_then(|rest| rest.iter().position(|byte| *byte == b'|').and_then(|at| rest.get(at + 1..)))
        .unwrap_or(text)
        .trim_ascii_start();
    let (path, rest) = word(text);
    let file = has(path, b".test.") || has(path, b".spec.") || has(path, b"/") && has(path, b".");
    file && (starts(rest, &[b"(", b"> "]) || rest.is_empty() || place_column(path).is_some())
}
