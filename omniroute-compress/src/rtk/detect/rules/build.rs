//! Bundlers and builders outside of native code: tsc, webpack, vite, javac, maven, gradle.

use crate::rtk::detect::board::{Board, FIRST, LAST, STRUCTURAL as S, rules};
use crate::rtk::detect::line::{Line, counted, digits, has, split, starts, word};

rules! {
    TSC_PLAIN = Tsc 0 Line "diagnostic" S;
    TSC_PRETTY = Tsc 1 Header "pretty diagnostic" S;
    TSC_FOUND = Tsc 2 Summary "number of errors" S;
    TSC_TABLE = Tsc 3 Summary "errors per file" S;
    TSC_WAVE = Tsc 4 Line "underline" 0;
    WP_DONE = Webpack 0 Summary "compiled line" S | LAST;
    WP_ASSET = Webpack 1 Line "asset" S;
    WP_ERROR = Webpack 2 Header "error block" S;
    WP_MODULES = Webpack 3 Line "modules" S;
    VITE_HEAD = Vite 0 Header "start line" S | FIRST;
    VITE_MODULES = Vite 1 Line "modules" S;
    VITE_ASSET = Vite 2 Line "asset" S;
    VITE_DONE = Vite 3 Summary "built line" S | LAST;
    VITE_ERROR = Vite 4 Line "build error" S;
    JAVAC = Javac 0 Line "diagnostic" S;
    JAVAC_SUM = Javac 1 Summary "number of diagnostics" S;
    MVN_SCAN = Maven 0 Header "scan line" S;
    MVN_BUILD = Maven 1 Summary "build result" S;
    MVN_GOAL = Maven 2 Line "goal" S;
    MVN_ERROR = Maven 3 Line "error" 0;
    MVN_TIME = Maven 4 Summary "total time" S;
    GRADLE_TASK = Gradle 0 Line "task" S;
    GRADLE_BUILD = Gradle 1 Summary "build result" S;
    GRADLE_COUNT = Gradle 2 Summary "number of tasks" S;
    GRADLE_WRONG = Gradle 3 Header "what went wrong" S;
}

pub(super) fn scan(line: &Line<'_>, board: &mut Board) {
    let at = line.number;
    let Some(&first) = line.body.first() else { return };
    match first {
        b'F' if line.raw.starts_with(b"Found ")
            && counted(line.raw, b"Found ", b" error")
                .is_some_and(|rest| starts(rest, &[b" in ", b"s in "]))
            && !has(line.raw, b"source file") =>
        {
            board.hit(&TSC_FOUND, at)
        }
        b'E' if line.raw == b"Errors  Files" => board.hit(&TSC_TABLE, at),
        b'E' | b'W' if starts(line.raw, &[b"ERROR in ", b"WARNING in "]) => board.hit(&WP_ERROR, at),
        b'~' if line.body.iter().all(|byte| *byte == b'~') => board.hit(&TSC_WAVE, at),
        b'w' if line.raw.starts_with(b"webpack ") && has(line.raw, b" compiled ") => board.hit(&WP_DONE, at),
        b'a' if line.raw.starts_with(b"asset ")
            && (has(line.raw, b"[") || has(line.raw, b" bytes") || has(line.raw, b"iB")) =>
        {
            board.hit(&WP_ASSET, at);
        }
        b'm' | b'r'
            if starts(
                line.body,
                &[b"modules by path ", b"runtime modules ", b"cacheable modules ", b"orphan modules "],
            ) =>
        {
            board.hit(&WP_MODULES, at);
        }
        b'v' if line.body.starts_with(b"vite v") && has(line.body, b"building ") => board.hit(&VITE_HEAD, at),
        b'e' if line.raw == b"error during build:" => board.hit(&VITE_ERROR, at),
        b'x' if line.raw.starts_with(b"x Build failed in ") => board.hit(&VITE_ERROR, at),
        0xe2 => checked(line, board),
        b'0'..=b'9'
            if line.indent == 0
                && digits(line.raw).is_some_and(|rest| {
                    matches!(rest, b" error" | b" errors" | b" warning" | b" warnings")
                }) =>
        {
            board.hit(&JAVAC_SUM, at)
        }
        b'[' if line.indent == 0 => maven(line, board),
        b'>' if line.raw.starts_with(b"> Task :") => board.hit(&GRADLE_TASK, at),
        b'B' if starts(line.raw, &[b"BUILD SUCCESSFUL in ", b"BUILD FAILED in "]) => {
            board.hit(&GRADLE_BUILD, at)
        }
        b'*' if line.raw == b"* What went wrong:" => board.hit(&GRADLE_WRONG, at),
        _ => {}
    }
    if line.indent == 0 {
        located(line, board);
    }
    if digits(line.raw).is_some_and(|rest| has(rest, b" actionable task")) {
        board.hit(&GRADLE_COUNT, at);
    }
    if line.raw.ends_with(b" kB") && (has(line.raw, "│ gzip: ".as_bytes()) || has(line.raw, b"dist/")) {
        board.hit(&VITE_ASSET, at);
    }
}

/// `a.ts(12,5): error TS2345: text`, `a.ts:12:5 - error TS2345: text`, `A.java:12: error: text`.
fn located(line: &Line<'_>, board: &mut Board) {
    let at = line.number;
    if line.colon.is_none() {
        return;
    }
    if let Some((head, text)) = split(line.raw, b"): error TS").or_else(|| split(line.raw, b"): warning TS"))
        && digits(text).is_some()
    {
        let plain = split(head, b"(").is_some_and(|(path, place)| {
            !path.is_empty()
                && digits(place)
                    .and_then(|rest| rest.strip_prefix(b","))
                    .and_then(digits)
                    .is_some_and(<[u8]>::is_empty)
        });
        if plain {
            board.hit(&TSC_PLAIN, at);
        }
        return;
    }
    if line.raw.starts_with(b"error TS") && digits(line.raw.get(8..).unwrap_or_default()).is_some() {
        board.hit(&TSC_PLAIN, at);
        return;
    }
    if let Some((_, rest)) = line.place
        && rest.strip_prefix(b":").and_then(digits).is_some_and(|rest| rest.starts_with(b" - error TS"))
    {
        board.hit(&TSC_PRETTY, at);
        return;
    }
    if let Some((path, rest)) = line.place
        && path.ends_with(b".java")
        && starts(rest, &[b": error: ", b": warning: "])
    {
        board.hit(&JAVAC, at);
    }
}

/// `✓ 12 modules transformed.`, `✓ built in 1.2s`.
fn checked(line: &Line<'_>, board: &mut Board) {
    let Some((b"\xe2\x9c\x93", rest)) = line.body.split_at_checked(3) else { return };
    let text = rest.trim_ascii_start();
    if digits(text).is_some_and(|rest| starts(rest, &[b" modules transformed", b" module transformed"])) {
        board.hit(&VITE_MODULES, line.number);
    } else if text.starts_with(b"built in ") {
        board.hit(&VITE_DONE, line.number);
    }
}

fn maven(line: &Line<'_>, board: &mut Board) {
    let at = line.number;
    if line.raw.starts_with(b"[ERROR] ") {
        board.hit(&MVN_ERROR, at);
        return;
    }
    let Some(text) = line.raw.strip_prefix(b"[INFO] ") else { return };
    if text == b"Scanning for projects..." {
        board.hit(&MVN_SCAN, at);
    } else if starts(text, &[b"BUILD SUCCESS", b"BUILD FAILURE"]) {
        board.hit(&MVN_BUILD, at);
    } else if text.starts_with(b"--- ") && text.ends_with(b" ---") {
        board.hit(&MVN_GOAL, at);
    } else if text.starts_with(b"Total time: ") {
        board.hit(&MVN_TIME, at);
    } else {
        let (head, _) = word(text);
        if head == b"Building" && has(text, b" from pom.xml") {
            board.hit(&MVN_SCAN, at);
        }
    }
}
