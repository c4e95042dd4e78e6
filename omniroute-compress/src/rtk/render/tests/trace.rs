//! Stack traces inside test output: frames of libraries fold, the first and the outermost frames of the program stay.

use std::ops::Range;

use super::lines::{has, hide, indent, is_blank, is_number};
use crate::rtk::kit::{Draft, Level, Output, What};

/// One frame: the line that names it and the lines that belong to it.
struct Frame {
    lines: Range<usize>,
    library: bool,
}

/// Folds the frames of every trace in `range`. At minimal all stay.
pub(crate) fn fold_frames(out: &Output<'_>, draft: &mut Draft, range: Range<usize>) {
    if out.level == Level::Minimal {
        return;
    }
    let mut trace: Vec<Frame> = Vec::new();
    let mut i = range.start;
    while i < range.end {
        match frame(out, i, range.end) {
            Some(found) => {
                i = found.lines.end;
                trace.push(found);
            }
            None => {
                if !trace.is_empty() {
                    fold(out, draft, &trace);
                    trace.clear();
                }
                i += 1;
            }
        }
    }
    fold(out, draft, &trace);
}

fn fold(out: &Output<'_>, draft: &mut Draft, trace: &[Frame]) {
    let users = trace.iter().filter(|f| !f.library).count();
    if users == 0 {
        for (n, frame) in trace.iter().enumerate() {
            if n >= 6 && n + 2 < trace.len() {
                drop(out, draft, frame, What::LibraryFrames);
            }
        }
        return;
    }
    let limit = out.level.pick(usize::MAX, 5, 4);
    let mut seen = 0;
    for frame in trace {
        if frame.library {
            drop(out, draft, frame, What::LibraryFrames);
        } else {
            seen += 1;
            if seen > limit && seen < users {
                drop(out, draft, frame, What::Frames);
            }
        }
    }
}

/// Counts a frame once, whatever number of lines it has. Its longest line is the one that is counted: a gap that is
/// shorter than its marker comes back, and must not come back in part.
fn drop(out: &Output<'_>, draft: &mut Draft, frame: &Frame, what: What) {
    let stays: Vec<usize> = frame.lines.clone().filter(|i| draft.stays(*i)).collect();
    let longest = stays.iter().copied().max_by_key(|i| out.line(*i).len());
    for i in stays {
        if Some(i) == longest {
            draft.drop_known(i, what);
        } else {
            hide(out, draft, i);
        }
    }
}

/// The frame that begins at line `i`.
fn frame(out: &Output<'_>, i: usize, end: usize) -> Option<Frame> {
    let line = out.line(i);
    let text = line.trim_start();
    let one = |library| Some(Frame { lines: i..i + 1, library });
    match text.as_bytes().first()? {
        b'a' if text.starts_with("at ") => one(is_library_js(text) || is_library_java(text)),
        b'#' if text.starts_with("# /") || text.starts_with("# ./") => one(is_library_ruby(text)),
        b'/' if has(text, ":in `") || has(text, ":in '") => one(is_library_ruby(text)),
        b'/' if is_php(text) => one(has(text, "/vendor/")),
        0xe2 if text.starts_with("\u{276f} ") && is_place(text) => one(is_library_js(text)),
        b'F' if text.starts_with("File \"") => Some(python(out, i, end, text)),
        b'0'..=b'9' => rust(out, i, end, text),
        _ if is_call(text) => one(is_library_js(text)),
        _ => go(out, i, end),
    }
}

fn is_library_js(text: &str) -> bool {
    has(text, "node_modules/")
        || has(text, "node_modules\\")
        || has(text, "(node:")
        || has(text, " node:")
        || has(text, "(internal/")
        || text.ends_with(" (<anonymous>)")
        || (has(text, " (index ") && text.ends_with(')'))
}

/// `Test.run (node:internal/test_runner/test:796:25)`: a frame in the YAML block of a TAP stream.
fn is_call(text: &str) -> bool {
    let place = text.strip_suffix(')').and_then(|t| t.rsplit_once(" (")).map(|(_, place)| place);
    place.is_some_and(|p| is_place(p) && !p.contains(' '))
}

fn is_library_java(text: &str) -> bool {
    let name = text.strip_prefix("at ").unwrap_or(text);
    let name = name.strip_prefix("app//").unwrap_or(name);
    const NAMES: [&str; 11] = [
        "org.junit.",
        "java.",
        "jdk.",
        "sun.",
        "javax.",
        "org.gradle.",
        "org.apache.maven.",
        "worker.org.gradle.",
        "com.sun.",
        "org.opentest4j.",
        "kotlin.",
    ];
    NAMES.iter().any(|n| name.starts_with(n))
}

fn is_library_ruby(text: &str) -> bool {
    has(text, "/gems/") || has(text, "/lib/ruby/") || has(text, "/rubies/")
}

/// `/path/file.php:12`.
fn is_php(text: &str) -> bool {
    text.rsplit_once(".php:").is_some_and(|(_, n)| is_number(n))
}

/// Ends in `:12:3`.
fn is_place(text: &str) -> bool {
    let mut parts = text.rsplitn(3, ':');
    parts.next().is_some_and(is_number) && parts.next().is_some_and(is_number) && parts.next().is_some()
}

/// `File "path", line 3, in f` and the lines indented deeper: the source and its marks.
fn python(out: &Output<'_>, i: usize, end: usize, text: &str) -> Frame {
    let depth = indent(out.line(i));
    let mut next = i + 1;
    while next < end && next < i + 5 && indent(out.line(next)) > depth && !is_blank(out.line(next)) {
        next += 1;
    }
    let library = has(text, "site-packages") || has(text, "lib/python") || has(text, "\"<frozen ");
    Frame { lines: i..next, library }
}

/// `  3: core::panicking::panic_fmt` with `at path:3:1` below it.
fn rust(out: &Output<'_>, i: usize, end: usize, text: &str) -> Option<Frame> {
    let (number, name) = text.split_once(": ")?;
    if !is_number(number) || indent(out.line(i)) == 0 || name.is_empty() {
        return None;
    }
    let place = Some(out.line(i + 1).trim_start()).filter(|l| i + 1 < end && l.starts_with("at "));
    let library = match place {
        Some(place) => {
            has(place, "/rustc/")
                || has(place, "/.cargo/registry/")
                || has(place, "/.rustup/")
                || has(place, "/library/std/")
        }
        None => ["std::", "core::", "test::", "<core::", "__rust", "rust_begin", "alloc::"]
            .iter()
            .any(|n| name.starts_with(n)),
    };
    Some(Frame { lines: i..i + 1 + usize::from(place.is_some()), library })
}

/// `pkg.Func(args)` with `\t/path/file.go:12 +0x1f` below it.
fn go(out: &Output<'_>, i: usize, end: usize) -> Option<Frame> {
    let place = out.line(i + 1).trim_start();
    if i + 1 >= end || indent(out.line(i + 1)) <= indent(out.line(i)) || !has(place, ".go:") {
        return None;
    }
    let name = out.line(i).trim_start();
    let is_frame = name.ends_with(')') || name.starts_with("created by ") || name.ends_with("()");
    let path = place.split_once(".go:")?.0;
    if !is_frame || path.contains(' ') || !(path.starts_with('/') || path.as_bytes().get(1) == Some(&b':')) {
        return None;
    }
    let library = has(path, "/src/testing/")
        || has(path, "/src/runtime/")
        || has(path, "/usr/lib/go")
        || has(path, "/usr/local/go/")
        || has(path, "/pkg/mod/")
        || has(path, "/libexec/src/");
    Some(Frame { lines: i..i + 2, library })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rtk::kit::assemble;

    fn run(text: &str, level: Level) -> String {
        let out = Output::new(text, level);
        let mut draft = Draft::new(out.len());
        fold_frames(&out, &mut draft, 0..out.len());
        assemble(&out, &mut draft, &mut || None).text
    }

    #[test]
    fn library_frames_of_every_language_fold() {
        let rust = "stack backtrace:\n   0: __rustc::rust_begin_unwind\n             at /rustc/ab/library/std/src/panicking.rs:689:5\n   1: core::panicking::panic_fmt\n             at /rustc/ab/library/core/src/panicking.rs:80:14\n   2: app::get\n             at ./src/lib.rs:19:68\nnote: x\n";
        assert_eq!(
            run(rust, Level::Standard),
            "stack backtrace:\n[rtk: 2 library frames omitted]\n   2: app::get\n             at ./src/lib.rs:19:68\nnote: x\n"
        );
        assert_eq!(run(rust, Level::Minimal), rust);
        let js = "Error: x\n    at f (/home/u/a.js:1:2)\n    at Module._compile (node:internal/modules/cjs/loader:1521:14)\n    at g (/home/u/node_modules/x/y.js:1:2)\n";
        assert_eq!(
            run(js, Level::Standard),
            "Error: x\n    at f (/home/u/a.js:1:2)\n[rtk: 2 library frames omitted]\n"
        );
        let python = "Traceback (most recent call last):\n  File \"/home/u/a.py\", line 3, in f\n    g()\n  File \"/usr/lib/python3.11/json/x.py\", line 9, in g\n    raise KeyError\n  File \"/usr/lib/python3.11/json/y.py\", line 9, in h\n    return more_of_it(x)\nKeyError: 1\n";
        assert_eq!(
            run(python, Level::Standard),
            "Traceback (most recent call last):\n  File \"/home/u/a.py\", line 3, in f\n    g()\n[rtk: 1 library frame omitted]\n    raise KeyError\n[rtk: 1 library frame omitted]\nKeyError: 1\n"
        );
        let go = "goroutine 6 [running]:\ntesting.tRunner.func1()\n\t/usr/lib/go-1.19/src/testing/testing.go:1399 +0x39f\na.TestX(0x0?)\n\t/home/u/a_test.go:5 +0x2e\n";
        assert_eq!(
            run(go, Level::Standard),
            "goroutine 6 [running]:\n[rtk: 1 library frame omitted]\na.TestX(0x0?)\n\t/home/u/a_test.go:5 +0x2e\n"
        );
    }

    #[test]
    fn a_trace_of_libraries_only_keeps_both_ends() {
        let text: String = (0..20).map(|n| format!("    at f{n} (node:internal/x:1:{n})\n")).collect();
        let shown = run(&text, Level::Standard);
        assert_eq!(shown.lines().count(), 9);
        assert!(shown.contains("[rtk: 12 library frames omitted]") && shown.contains("f19 "));
    }

    #[test]
    fn frames_of_the_program_are_limited() {
        let text: String =
            (0..20).map(|n| format!("    at function{n} (/home/u/source.js:1:{n})\n")).collect();
        let shown = run(&text, Level::Standard);
        assert!(
            shown.contains("[rtk: 14 frames omitted]")
                && shown.contains("function19")
                && shown.contains("function4 ")
        );
    }
}
