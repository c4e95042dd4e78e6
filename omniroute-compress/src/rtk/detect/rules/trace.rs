//! Traces of exceptions, panics and sanitizers.

use crate::rtk::detect::board::{Board, STRUCTURAL as S, rules};
use crate::rtk::detect::line::{Line, counted, digits, ends, has, place_column, split, starts};

rules! {
    PY_HEAD = Trace 0 Header "python traceback" S;
    PY_FRAME = Trace 1 Line "python frame" S;
    ERROR = Trace 2 Summary "exception and message" 0;
    JS_FRAME = Trace 3 Line "javascript frame" S;
    JS_END = Trace 4 Summary "node version" S;
    JAVA_HEAD = Trace 5 Header "java exception" S;
    JAVA_FRAME = Trace 6 Line "java frame" S;
    CAUSED = Trace 7 Summary "cause" S;
    GO_HEAD = Trace 8 Header "go panic" S;
    GO_ROUTINE = Trace 9 Header "goroutine" S;
    GO_FRAME = Trace 10 Line "go frame" S;
    RUST_HEAD = Trace 11 Header "rust panic" S;
    RUST_NOTE = Trace 12 Summary "backtrace note" S;
    RUST_FRAME = Trace 13 Line "rust frame" S;
    RUBY_HEAD = Trace 14 Header "ruby error" S;
    RUBY_FRAME = Trace 15 Line "ruby frame" S;
    ASAN_HEAD = Trace 16 Header "sanitizer report" S;
    ASAN_FRAME = Trace 17 Line "sanitizer frame" S;
    ASAN_SUM = Trace 18 Summary "sanitizer summary" S;
    NET_HEAD = Trace 19 Header "dotnet exception" S;
    NET_FRAME = Trace 20 Line "dotnet frame" S;
    PHP_HEAD = Trace 21 Header "php error" S;
    PHP_FRAME = Trace 22 Line "php frame" S;
    CHAIN = Trace 23 Summary "chained exception" S;
    JS_PLACE = Trace 24 Header "place of an error" S;
}

pub(super) fn scan(line: &Line<'_>, board: &mut Board) {
    let at = line.number;
    let raw = line.raw;
    let Some(&first) = line.body.first() else { return };
    match first {
        b'T' if line.body.starts_with(b"Traceback (most recent call last):") => board.hit(&PY_HEAD, at),
        b'F' if line.indent >= 2 && line.body.starts_with(b"File \"") && has(line.body, b"\", line ") => {
            board.hit(&PY_FRAME, at)
        }
        b'|' | b'+' if line.indent > 0 => group(line, board),
        b'D' if raw.starts_with(b"During handling of the above exception,") => board.hit(&CHAIN, at),
        b'T' if raw.starts_with(b"The above exception was the direct cause") => board.hit(&CHAIN, at),
        b'a' if line.body.starts_with(b"at ") && line.indent > 0 => at_frame(line, board),
        b'N' if raw.starts_with(b"Node.js v") => board.hit(&JS_END, at),
        b'E' if raw.starts_with(b"Exception in thread \"") => board.hit(&JAVA_HEAD, at),
        b'C' if line.body.starts_with(b"Caused by: ") => board.hit(&CAUSED, at),
        b'p' if raw.starts_with(b"panic: ") => board.hit(&GO_HEAD, at),
        b'g' if counted(raw, b"goroutine ", b" [").is_some_and(|rest| rest.ends_with(b"]:")) => {
            board.hit(&GO_ROUTINE, at)
        }
        b't' if raw.starts_with(b"thread '") && has(raw, b"panicked at ") => board.hit(&RUST_HEAD, at),
        b'n' if raw.starts_with(b"note: run with `RUST_BACKTRACE=") => board.hit(&RUST_NOTE, at),
        b's' if raw == b"stack backtrace:" => board.hit(&RUST_NOTE, at),
        b'0'..=b'9'
            if line.indent > 0
                && (digits(line.body)
                    .is_some_and(|rest| rest.starts_with(b": ") && !rest.starts_with(b": "))
                    && (has(line.body, b"::") || has(line.body, b" 0x") || has(line.body, b" main"))) =>
        {
            board.hit(&RUST_FRAME, at)
        }
        b'f' if raw.starts_with(b"\tfrom ") && has(raw, b":in ") => board.hit(&RUBY_FRAME, at),
        b'=' if raw.starts_with(b"==") && has(raw, b"==ERROR: ") && has(raw, b"Sanitizer: ") => {
            board.hit(&ASAN_HEAD, at)
        }
        b'W' if raw.starts_with(b"WARNING: ThreadSanitizer: ") => board.hit(&ASAN_HEAD, at),
        b'S' if raw.starts_with(b"SUMMARY: ") && has(raw, b"Sanitizer: ") => board.hit(&ASAN_SUM, at),
        b'#' => hash_frame(line, board),
        b'U' if raw.starts_with(b"Unhandled exception. ") => board.hit(&NET_HEAD, at),
        b'P' if starts(raw, &[b"PHP Fatal error:  Uncaught ", b"PHP Fatal error: "]) => {
            board.hit(&PHP_HEAD, at)
        }
        _ => {}
    }
    if line.indent == 0 && (first.is_ascii_alphabetic() || first == b'_') {
        exception(line, board);
    }
    if raw.starts_with(b"\t") && has(raw, b".go:") && has(raw, b" +0x") {
        board.hit(&GO_FRAME, at);
    }
    if raw.ends_with(b")") && has(raw, b":in ") && has(raw, b".rb:") {
        board.hit(&RUBY_HEAD, at);
    }
    if line.indent == 0 && first == b'/' && is_script_place(raw) {
        board.hit(&JS_PLACE, at);
    }
}

/// Frames that start with `at`: JavaScript, Java, .NET, Rust.
fn at_frame(line: &Line<'_>, board: &mut Board) {
    let at = line.number;
    let text = line.body.get(3..).unwrap_or_default();
    let inner = text.strip_suffix(b")").and_then(|text| text.rsplit(|byte| *byte == b'(').next());
    if has(text, b"(node:internal/") || text.starts_with(b"node:internal/") {
        board.hit(&JS_FRAME, at);
    } else if let Some(inner) = inner
        && (split(inner, b".java:").is_some()
            || split(inner, b".kt:").is_some()
            || split(inner, b".scala:").is_some()
            || matches!(inner, b"Native Method" | b"Unknown Source"))
    {
        board.hit(&JAVA_FRAME, at);
    } else if has(text, b") in ") && has(text, b":line ") {
        board.hit(&NET_FRAME, at);
    } else if line.indent >= 13 && place_column(text).is_some() {
        board.hit(&RUST_FRAME, at);
    } else {
        let place = inner.unwrap_or(text);
        let place = place.strip_prefix(b"async ").unwrap_or(place);
        let place = place.strip_prefix(b"file://").unwrap_or(place);
        if place_column(place).is_some_and(|(_, rest)| rest.is_empty()) {
            board.hit(&JS_FRAME, at);
        }
    }
}

/// The margin of an exception group.
fn group(line: &Line<'_>, board: &mut Board) {
    let text = line.body.get(1..).unwrap_or_default().trim_ascii_start();
    if starts(
        text,
        &[b"Exception Group Traceback (most recent call last):", b"Traceback (most recent call last):"],
    ) {
        board.hit(&PY_HEAD, line.number);
    } else if text.starts_with(b"File \"") && has(text, b"\", line ") {
        board.hit(&PY_FRAME, line.number);
    }
}

/// `#0 0x55… in f a.c:1:2`, `#0 /a.php(12): f()`.
fn hash_frame(line: &Line<'_>, board: &mut Board) {
    let Some(rest) = counted(line.body, b"#", b" ") else { return };
    if line.indent > 0 && rest.starts_with(b"0x") {
        board.hit(&ASAN_FRAME, line.number);
    } else if line.indent == 0 && has(rest, b".php(") && has(rest, b"): ") {
        board.hit(&PHP_FRAME, line.number);
    }
}

/// `ValueError: text`, `java.lang.NullPointerException: text`, `Uncaught TypeError: text`.
fn exception(line: &Line<'_>, board: &mut Board) {
    let end = line.colon.unwrap_or(line.raw.len());
    let head = line.raw.get(..end).unwrap_or_default();
    let name = head.strip_prefix(b"Uncaught ").unwrap_or(head);
    let known = ends(name, &[b"Error", b"Exception", b"Interrupt", b"ExceptionGroup", b"Exit", b"Warning"]);
    let plain = known
        && name.len() > 5
        && name.len() < 120
        && name.iter().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'$'));
    if plain && name.first().is_some_and(|byte| byte.is_ascii_alphabetic() || *byte == b'_') {
        board.hit(&ERROR, line.number);
    }
}

/// `/home/user/a.js:12`, alone on its line.
fn is_script_place(raw: &[u8]) -> bool {
    let Some(at) = memchr::memrchr(b':', raw) else { return false };
    let path = raw.get(..at).unwrap_or_default();
    let script = [b".js".as_slice(), b".mjs", b".cjs", b".ts"].iter().any(|end| path.ends_with(end));
    script && raw.get(at + 1..).and_then(digits).is_some_and(<[u8]>::is_empty)
}
