//! Test runners outside of JavaScript: cargo, nextest, pytest, unittest, go, JUnit, RSpec, ctest.

use crate::rtk::detect::board::{Board, EVERY, FIRST, LAST, STRUCTURAL as S, WEAK, rules};
use crate::rtk::detect::line::{Line, counted, decimal, digits, ends, has, run, split, starts, word};

rules! {
    RUNNING = CargoTest 0 Header "running tests" S;
    CASE = CargoTest 1 Line "test case" S;
    RESULT = CargoTest 2 Summary "test result" S | LAST;
    BINARY = CargoTest 3 Header "test binary" S;
    BLOCK = CargoTest 4 Line "output of a failing test" S;
    TO_RERUN = CargoTest 5 Summary "how to run again" S | LAST;
    NEXT_START = CargoNextest 0 Header "start line" S;
    NEXT_CASE = CargoNextest 1 Line "test case" S;
    NEXT_SUM = CargoNextest 2 Summary "summary line" S;
    SESSION = Pytest 0 Header "session line" S | FIRST;
    TOTALS = Pytest 1 Summary "totals line" S | LAST;
    QUIET_TOTALS = Pytest 2 Summary "quiet totals" S | LAST;
    COLLECTED = Pytest 3 Line "collected items" 0;
    PART = Pytest 4 Header "part heading" S;
    CASE_RULER = Pytest 5 Line "failing test" S;
    E_LINE = Pytest 6 Line "error detail" 0;
    SHORT = Pytest 7 Line "short summary row" S;
    DOTS = Pytest 8 Line "progress of a file" S;
    QUIET_DOTS = Pytest 9 Line "progress" FIRST;
    ROOTDIR = Pytest 10 Line "root folder" 0;
    VERBOSE = Pytest 11 Line "test with percent" S;
    USAGE = Pytest 12 Line "usage error" S;
    UNIT_BLOCK = Unittest 0 Line "failing test" S;
    RAN = Unittest 1 Summary "number of tests" S;
    UNIT_CASE = Unittest 2 Line "test case" S;
    UNIT_END = Unittest 3 Summary "verdict" LAST;
    GO_CASE = GoTest 0 Line "test case" S;
    GO_RUN = GoTest 1 Line "start of a test" S;
    GO_PACKAGE = GoTest 2 Summary "package result" S;
    GO_BENCH = GoTest 3 Line "benchmark" S;
    GO_NONE = GoTest 4 Line "package without tests" S;
    GO_END = GoTest 5 Summary "verdict" 0;
    JUNIT_HEAD = Junit 0 Header "version line" S | FIRST;
    JUNIT_COUNT = Junit 1 Summary "counts" S;
    JUNIT_THERE = Junit 2 Line "list of failures" S;
    JUNIT_OK = Junit 3 Summary "green line" S;
    RSPEC_SUM = Rspec 0 Summary "counts" S;
    RSPEC_TIME = Rspec 1 Line "times" S;
    RSPEC_AGAIN = Rspec 2 Line "how to run again" S;
    CTEST_HEAD = Ctest 0 Header "project line" S;
    CTEST_CASE = Ctest 1 Line "test case" S;
    CTEST_SUM = Ctest 2 Summary "counts" S;
    GO_FIRST = GoTest 6 Line "first result" WEAK | EVERY;
}

const OUTCOMES: &[&[u8]] = &[
    b" passed",
    b" failed",
    b" error",
    b" skipped",
    b" deselected",
    b" xfailed",
    b" xpassed",
    b" warning",
    b" rerun",
    b"no tests ran",
    b"no tests collected",
    b" tests collected",
    b" test collected",
];

/// Ends of lines that show the progress of a file or test.
const ENDS: &[&[u8]] = &[b"%]", b" PASSED", b" FAILED", b" ERROR", b" SKIPPED", b" XFAIL", b" XPASS"];

pub(super) fn scan(line: &Line<'_>, board: &mut Board) {
    let at = line.number;
    let Some(&first) = line.raw.first() else { return };
    match first {
        b'r' => running(line, board),
        b't' => test_line(line, board),
        b' ' => spaced(line, board),
        b'-' if line.raw.starts_with(b"---- ") && starts_ends(line.raw, b" stdout ----", b" stderr ----") => {
            board.hit(&BLOCK, at);
        }
        b'-' if starts(line.raw, &[b"--- FAIL: ", b"--- PASS: ", b"--- SKIP: "]) => {
            board.hit(&GO_CASE, at);
            board.hit(&GO_FIRST, at);
        }
        b'e' if line.raw.starts_with(b"error: ") => {
            if has(line.raw, b"to rerun pass `") || line.raw.ends_with(b"targets failed:") {
                board.hit(&TO_RERUN, at);
            } else if line.raw == b"error: test run failed" {
                board.hit(&NEXT_SUM, at);
            }
        }
        b'=' => ruled(line, board),
        b'_' if run(line.raw, b'_') >= 3 && line.raw.ends_with(b"___") && line.raw.contains(&b' ') => {
            board.hit(&CASE_RULER, at);
        }
        b'E' if starts(
            line.raw,
            &[b"ERROR: usage: ", b"ERROR: file or directory not found: ", b"ERROR: not found: "],
        ) =>
        {
            board.hit(&USAGE, at)
        }
        b'E' if line.raw.starts_with(b"E   ") => board.hit(&E_LINE, at),
        b'E' | b'F' if unit_block(line) => board.hit(&UNIT_BLOCK, at),
        b'F' | b'E' if starts(line.raw, &[b"FAILED ", b"ERROR "]) && pytest_row(line.raw) => {
            board.hit(&SHORT, at)
        }
        b'F' if starts(line.raw, &[b"FAIL\t"]) => board.hit(&GO_PACKAGE, at),
        b'F' if line.raw == b"FAIL" => board.hit(&GO_END, at),
        b'F' if line.raw.starts_with(b"FAILED (") => board.hit(&UNIT_END, at),
        b'F' if line.raw.starts_with(b"Finished in ") && has(line.raw, b"(files took ") => {
            board.hit(&RSPEC_TIME, at)
        }
        b'P' if line.raw == b"PASS" => board.hit(&GO_END, at),
        b'o' if line.raw.starts_with(b"ok  \t") => board.hit(&GO_PACKAGE, at),
        b'?' if line.raw.starts_with(b"?   \t") && line.raw.ends_with(b"[no test files]") => {
            board.hit(&GO_NONE, at)
        }
        b'\t' if line.raw.ends_with(b"coverage: 0.0% of statements") => board.hit(&GO_NONE, at),
        b'B' if line.raw.starts_with(b"Benchmark") && has(line.raw, b" ns/op") => board.hit(&GO_BENCH, at),
        b'c' if counted(line.raw, b"collected ", b" item").is_some() => board.hit(&COLLECTED, at),
        b'R' if counted(line.raw, b"Ran ", b" test").is_some_and(|rest| has(rest, b" in ")) => {
            board.hit(&RAN, at)
        }
        b'O' if line.raw == b"OK" || line.raw.starts_with(b"OK (skipped=") => board.hit(&UNIT_END, at),
        b'O' if counted(line.raw, b"OK (", b" test").is_some() => board.hit(&JUNIT_OK, at),
        b'J' if line.raw.starts_with(b"JUnit version ") => board.hit(&JUNIT_HEAD, at),
        b'T' if line.raw.starts_with(b"Tests run: ") && has(line.raw, b"Failures: ") => {
            board.hit(&JUNIT_COUNT, at)
        }
        b'T' if starts(line.raw, &[b"There was 1 failure:", b"There were "])
            && starts_ends(line.raw, b" failures:", b" failure:") =>
        {
            board.hit(&JUNIT_THERE, at);
        }
        b'T' if line.raw.starts_with(b"Test project ") => board.hit(&CTEST_HEAD, at),
        b'0'..=b'9' => numbered(line, board),
        b'.' | b's' | b'x' | b'X' => dots(line, board),
        _ => {}
    }
    if matches!(first, b'.' | b'F' | b'E') {
        dots(line, board);
    }
    if line.indent == 0 && ends(line.raw, ENDS) {
        file_progress(line, board);
    }
    if line.indent == 0 && (first == b't' || first.is_ascii_lowercase() && line.raw.ends_with(b"ok")) {
        unit_case(line, board);
    }
}

fn starts_ends(raw: &[u8], one: &[u8], other: &[u8]) -> bool {
    raw.ends_with(one) || raw.ends_with(other)
}

fn running(line: &Line<'_>, board: &mut Board) {
    let at = line.number;
    if counted(line.raw, b"running ", b" test").is_some_and(|rest| rest.is_empty() || rest == b"s") {
        board.hit(&RUNNING, at);
    } else if line.raw.starts_with(b"rootdir: ") {
        board.hit(&ROOTDIR, at);
    } else if line.raw.starts_with(b"rspec ./") && has(line.raw, b" # ") {
        board.hit(&RSPEC_AGAIN, at);
    }
}

/// `test a::b ... ok`, `test result: ok. 3 passed; …`.
fn test_line(line: &Line<'_>, board: &mut Board) {
    let Some(rest) = line.raw.strip_prefix(b"test ") else { return };
    if starts(rest, &[b"result: ok. ", b"result: FAILED. "]) {
        board.hit(&RESULT, line.number);
    } else if let Some((_, outcome)) = split(rest, b" ... ")
        && (starts(outcome, &[b"ok", b"FAILED", b"ignored", b"bench:"]))
    {
        board.hit(&CASE, line.number);
    }
}

fn spaced(line: &Line<'_>, board: &mut Board) {
    let at = line.number;
    match (line.indent, line.body.first()) {
        (5, Some(b'R'))
            if starts(line.body, &[b"Running unittests ", b"Running tests/", b"Running benches/"]) =>
        {
            board.hit(&BINARY, at);
        }
        (3, Some(b'D')) if line.body.starts_with(b"Doc-tests ") => board.hit(&BINARY, at),
        (4, Some(b'S')) if counted(line.body, b"Starting ", b" test").is_some() => board.hit(&NEXT_START, at),
        (5, Some(b'S')) if line.body.starts_with(b"Summary [") => board.hit(&NEXT_SUM, at),
        (1, Some(b'N')) if line.body.starts_with(b"Nextest run ID ") => board.hit(&NEXT_START, at),
        (_, Some(b'P' | b'F' | b'S' | b'T' | b'L' | b'A')) if next_case(line.body) => {
            board.hit(&NEXT_CASE, at)
        }
        (4, Some(b'-')) if starts(line.body, &[b"--- FAIL: ", b"--- PASS: ", b"--- SKIP: "]) => {
            board.hit(&GO_CASE, at);
        }
        (_, Some(b'0'..=b'9')) => ctest_case(line, board),
        _ => {}
    }
}

/// `PASS [   0.004s] crate test`.
fn next_case(body: &[u8]) -> bool {
    let (head, rest) = word(body);
    head.iter().all(u8::is_ascii_uppercase)
        && head.len() >= 3
        && rest
            .strip_prefix(b"[")
            .map(<[u8]>::trim_ascii_start)
            .and_then(|rest| decimal(rest.strip_prefix(b">").unwrap_or(rest)))
            .is_some_and(|rest| rest.starts_with(b"s]"))
}

fn ctest_case(line: &Line<'_>, board: &mut Board) {
    let rest = digits(line.body).and_then(|rest| rest.strip_prefix(b"/")).and_then(digits);
    if rest.is_some_and(|rest| rest.trim_ascii_start().starts_with(b"Test ")) && has(line.body, b" sec") {
        board.hit(&CTEST_CASE, line.number);
    }
}

/// Lines between `=` rulers, and go's `=== RUN`.
fn ruled(line: &Line<'_>, board: &mut Board) {
    let at = line.number;
    if starts(line.raw, &[b"=== RUN ", b"=== PAUSE ", b"=== CONT ", b"=== NAME "]) {
        board.hit(&GO_RUN, at);
        board.hit(&GO_FIRST, at);
        return;
    }
    let count = run(line.raw, b'=');
    let inner = line.raw.get(count..).unwrap_or_default();
    let tail = inner.iter().rev().take_while(|byte| **byte == b'=').count();
    let Some(inner) = inner.get(..inner.len() - tail).map(<[u8]>::trim_ascii) else { return };
    if count < 3 || inner.is_empty() {
        return;
    }
    if inner == b"test session starts" {
        board.hit(&SESSION, at);
    } else if matches!(
        inner,
        b"FAILURES"
            | b"ERRORS"
            | b"short test summary info"
            | b"warnings summary"
            | b"PASSES"
            | b"XFAILURES"
            | b"XPASSES"
    ) || inner.starts_with(b"slowest ")
        || inner.starts_with(b"warnings summary")
        || has(inner, b"tests coverage")
    {
        board.hit(&PART, at);
    } else if has_outcome(inner) && (has(inner, b" in ") || inner.starts_with(b"no tests ")) {
        board.hit(&TOTALS, at);
    }
}

fn has_outcome(text: &[u8]) -> bool {
    text.len() < 512 && OUTCOMES.iter().any(|outcome| has(text, outcome))
}

/// `FAILED tests/a.py::test_x - why`, `ERROR tests/a.py`.
fn pytest_row(raw: &[u8]) -> bool {
    let (_, rest) = word(raw);
    let (node, _) = word(rest);
    has(node, b".py")
}

/// A heading of unittest between its two rulers.
fn unit_block(line: &Line<'_>) -> bool {
    starts(line.raw, &[b"FAIL: ", b"ERROR: ", b"UNEXPECTED SUCCESS: "]) && run(line.before, b'=') >= 60
}

/// `test_x (mod.Class.test_x) ... ok`.
fn unit_case(line: &Line<'_>, board: &mut Board) {
    let Some((head, outcome)) = split(line.raw, b" ... ") else { return };
    let known =
        starts(outcome, &[b"ok", b"FAIL", b"ERROR", b"skipped ", b"expected failure", b"unexpected success"]);
    if known && (head.ends_with(b")") && has(head, b" (") && has(head, b".")) {
        board.hit(&UNIT_CASE, line.number);
    }
}

/// `3 passed in 0.01s`, `2 examples, 0 failures`, `100% tests passed`.
fn numbered(line: &Line<'_>, board: &mut Board) {
    let at = line.number;
    let Some(rest) = digits(line.raw) else { return };
    if starts(rest, &[b" example, ", b" examples, "]) && has(rest, b" failure") {
        board.hit(&RSPEC_SUM, at);
    } else if starts(rest, &[b"% tests passed, "]) {
        board.hit(&CTEST_SUM, at);
    } else if OUTCOMES.iter().any(|outcome| rest.starts_with(outcome))
        && (has(rest, b" in ") || rest.ends_with(b" collected"))
        && rest.ends_with(b"s")
        || rest.starts_with(b" tests collected in ")
        || rest.starts_with(b" passed") && has(rest, b" in ") && rest.ends_with(b")")
    {
        board.hit(&QUIET_TOTALS, at);
    }
}

/// `..F..  [ 42%]`.
fn dots(line: &Line<'_>, board: &mut Board) {
    let count =
        line.raw.iter().take_while(|byte| matches!(byte, b'.' | b'F' | b'E' | b's' | b'x' | b'X')).count();
    let rest = line.raw.get(count..).unwrap_or_default().trim_ascii_start();
    if count > 0 && rest.starts_with(b"[") && rest.ends_with(b"%]") {
        board.hit(&QUIET_DOTS, line.number);
    }
}

/// `tests/a.py ..F.  [ 42%]`, `tests/a.py::test_x PASSED [ 10%]`.
fn file_progress(line: &Line<'_>, board: &mut Board) {
    let (head, rest) = word(line.raw);
    if !has(head, b".py") {
        return;
    }
    if has(head, b"::") && starts(rest, &[b"PASSED", b"FAILED", b"ERROR", b"SKIPPED", b"XFAIL", b"XPASS"]) {
        board.hit(&VERBOSE, line.number);
    } else if rest.first().is_some_and(|byte| matches!(byte, b'.' | b'F' | b'E' | b's' | b'x' | b'X'))
        && rest.ends_with(b"%]")
    {
        board.hit(&DOTS, line.number);
    }
}
