//! What a line of a stack trace looks like, language by language.

use super::library::{Origin, origin};

/// One frame: a line that names it, and lines that belong to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Frame {
    /// Its first line.
    pub(crate) start: usize,
    /// Behind its last line.
    pub(crate) end: usize,
    /// The line with the place, which is the one that is counted.
    pub(crate) place: usize,
    /// Whose code it is.
    pub(crate) origin: Origin,
    /// The innermost frame comes last (Python).
    pub(crate) inner_last: bool,
    /// A line that says how many frames were left out, or opens a block: it always stays.
    pub(crate) hold: bool,
    /// Equal for frames that differ only in addresses and arguments.
    pub(crate) key: u64,
}

/// The frame that begins at line `i`, if one does. `inside`: the line before was a frame too.
pub(crate) fn frame(lines: &[&str], i: usize, inside: bool) -> Option<Frame> {
    let line = lines.get(i)?.as_bytes();
    let body = body(line);
    let indented = body.len() < line.len();
    let first = *body.first()?;
    let found = match first {
        b'a' => dotted(body).map(|hold| single(i, hold)),
        b'F' => python(lines, i, line, body),
        b'#' => hash_number(body).then(|| single(i, false)),
        b'f' => (indented && body.starts_with(b"from ") && has_line_number(body)).then(|| single(i, false)),
        b'0'..=b'9' if indented => rust(lines, i, body, inside),
        b'.' | b'[' if inside => omission(body).then(|| single(i, true)),
        b'=' => valgrind(body).then(|| single(i, false)),
        b'(' if indented => beam(body).then(|| single(i, false)),
        b'/' if indented => go_place(body).then(|| single(i, false)),
        _ => None,
    };
    let found =
        found.or_else(|| go(lines, i, line)).or_else(|| perl(body, indented).then(|| single(i, false)));
    found.map(|f| finish(lines, f))
}

fn single(i: usize, hold: bool) -> Frame {
    Frame { start: i, end: i + 1, place: i, origin: Origin::User, inner_last: false, hold, key: 0 }
}

/// Fills in origin and key from the lines of the frame.
fn finish(lines: &[&str], mut f: Frame) -> Frame {
    let mut worst = Origin::User;
    let mut key = 0xcbf2_9ce4_8422_2325;
    for i in f.start..f.end {
        let line = lines.get(i).map_or(&[] as &[u8], |l| l.as_bytes());
        if i <= f.place || !f.inner_last {
            worst = worst.max(origin(line));
        }
        if !is_carets(line) {
            key = mix(key, body(line));
        }
    }
    f.origin = worst;
    f.key = key;
    f
}

/// Hashes a line without its number in the trace, its addresses and the arguments of a call.
fn mix(mut hash: u64, line: &[u8]) -> u64 {
    let line = line.strip_prefix(b"#").unwrap_or(line);
    let digits = line.iter().take_while(|b| b.is_ascii_digit()).count();
    let line = if digits > 0 { line.get(digits..).unwrap_or(&[]) } else { line };
    let mut at = 0;
    while let Some(&b) = line.get(at) {
        if b == b'0' && line.get(at + 1) == Some(&b'x') {
            at += 2;
            at += line.get(at..).unwrap_or(&[]).iter().take_while(|b| b.is_ascii_hexdigit()).count();
            continue;
        }
        hash = (hash ^ u64::from(b)).wrapping_mul(0x0000_0100_0000_01b3);
        at += 1;
    }
    hash
}

/// The line without indentation and the rails (`| `) of an exception group.
pub(super) fn body(line: &[u8]) -> &[u8] {
    let rails = line.iter().take_while(|b| matches!(b, b' ' | b'\t' | b'|' | b'+')).count();
    line.get(rails..).unwrap_or(&[])
}

/// Only `^` and `~` under a source line.
pub(crate) fn is_carets(line: &[u8]) -> bool {
    let body = body(line);
    !body.is_empty() && body.iter().all(|b| matches!(b, b'^' | b'~' | b' ')) && body.contains(&b'^')
}

/// `at f (x.js:1:2)`, `at a.b.C.d(E.java:3)`, `at N.T.M(T x) in C:\x.cs:line 3`, `at /x/y.js:1:2`. True if the line
/// opens a block and must stay.
fn dotted(body: &[u8]) -> Option<bool> {
    let rest = body.strip_prefix(b"at ")?.trim_ascii_end();
    let (rest, opens) = match rest.strip_suffix(b" {") {
        Some(rest) => (rest, true),
        None => (rest, false),
    };
    if ends_in_line(rest) {
        return Some(opens);
    }
    let rest = rest.strip_suffix(b")")?;
    let open = memchr::memrchr(b'(', rest)?;
    let (name, inner) = rest.split_at(open);
    let inner = inner.get(1..).unwrap_or(&[]);
    let known = ends_in_line(inner)
        || matches!(inner, b"Native Method" | b"Unknown Source" | b"native" | b"<anonymous>" | b"index 0")
        || inner.ends_with(b".java")
        || inner.ends_with(b".kt");
    let name =
        name.strip_prefix(b"async ").or_else(|| name.strip_prefix(b"new ")).unwrap_or(name).trim_ascii_end();
    let qualified = name.contains(&b'.') && !name.contains(&b' ');
    (known || qualified).then_some(opens)
}

/// Ends in `:12`, `:12:3` or `:line 12`.
fn ends_in_line(text: &[u8]) -> bool {
    let digits = text.iter().rev().take_while(|b| b.is_ascii_digit()).count();
    let head = text.get(..text.len() - digits).unwrap_or(&[]);
    digits > 0 && (head.ends_with(b":") || head.ends_with(b":line ") || head.ends_with(b":Zeile "))
}

/// `:12` anywhere.
fn has_line_number(text: &[u8]) -> bool {
    memchr::memchr_iter(b':', text).any(|at| text.get(at + 1).is_some_and(u8::is_ascii_digit))
}

/// `File "x.py", line 3, in f` with the source lines under it.
fn python(lines: &[&str], i: usize, line: &[u8], body: &[u8]) -> Option<Frame> {
    let rest = body.strip_prefix(b"File \"")?;
    let quote = memchr::memchr(b'"', rest)?;
    rest.get(quote..)?.strip_prefix(b"\", line ")?.first().filter(|b| b.is_ascii_digit())?;
    let indent = line.len() - body.len();
    let mut end = i + 1;
    while end < i + 12 {
        let Some(next) = lines.get(end) else { break };
        let next = next.as_bytes();
        let text = self::body(next);
        if text.is_empty() || next.len() - text.len() <= indent || text.starts_with(b"File \"") {
            break;
        }
        end += 1;
    }
    Some(Frame { end, inner_last: true, ..single(i, false) })
}

/// `#0 /x.php(3): f()`, `#1 0x55 in main x.c:3`, `#2      f (package:a/b.dart:3:5)`.
fn hash_number(body: &[u8]) -> bool {
    let rest = body.get(1..).unwrap_or(&[]);
    let digits = rest.iter().take_while(|b| b.is_ascii_digit()).count();
    let Some(text) =
        rest.get(digits..).filter(|_| (1..=5).contains(&digits)).and_then(|r| r.strip_prefix(b" "))
    else {
        return false;
    };
    let text = text.trim_ascii();
    let php = memchr::memmem::find(text, b"): ")
        .is_some_and(|at| text.get(at.wrapping_sub(1)).is_some_and(u8::is_ascii_digit));
    let called = text.ends_with(b")") && memchr::memchr(b'(', text).is_some();
    php || text.starts_with(b"0x")
        || text == b"{main}"
        || text.starts_with(b"[internal function]")
        || called
        || ends_in_line(text)
}

/// `12: 0x55 - name` or `12: name`, with `at path:1:2` under it.
fn rust(lines: &[&str], i: usize, text: &[u8], inside: bool) -> Option<Frame> {
    let digits = text.iter().take_while(|b| b.is_ascii_digit()).count();
    let rest = text.get(digits..)?.strip_prefix(b": ")?.trim_ascii_start();
    let below = lines.get(i + 1).map_or(&[] as &[u8], |l| body(l.as_bytes()));
    let place = below.strip_prefix(b"at ").is_some_and(|r| ends_in_line(r.trim_ascii_end()));
    let before = i.checked_sub(1).and_then(|p| lines.get(p)).is_some_and(|l| l.trim() == "stack backtrace:");
    if place {
        return Some(Frame { end: i + 2, place: i + 1, ..single(i, false) });
    }
    (inside || before || rest.starts_with(b"0x")).then(|| single(i, false))
}

/// `... 12 more`, `... 5 lines matching cause stack trace ...`, `[Previous line repeated 3 more times]`.
fn omission(body: &[u8]) -> bool {
    body.starts_with(b"[Previous line repeated ")
        || body.strip_prefix(b"... ").is_some_and(|r| r.first().is_some_and(u8::is_ascii_digit))
        || body.starts_with(b"...additional frames")
}

/// `==12==    at 0x40: f (x.c:3)`, `==12==    by 0x41: main (x.c:9)`.
fn valgrind(body: &[u8]) -> bool {
    let rest = body.strip_prefix(b"==").unwrap_or(&[]);
    let digits = rest.iter().take_while(|b| b.is_ascii_digit()).count();
    let rest = rest.get(digits..).and_then(|r| r.strip_prefix(b"==  ")).unwrap_or(&[]).trim_ascii_start();
    rest.starts_with(b"at 0x") || rest.starts_with(b"by 0x")
}

/// `(app 1.0.0) lib/x.ex:12: M.f/1`.
fn beam(body: &[u8]) -> bool {
    memchr::memmem::find(body, b") ").is_some_and(|at| body.get(at..).is_some_and(has_line_number))
        && (memchr::memmem::find(body, b".ex").is_some() || memchr::memmem::find(body, b".erl:").is_some())
}

/// `/x/y.go:12 +0x1d`.
fn go_place(body: &[u8]) -> bool {
    let place = |ext: &[u8]| {
        memchr::memmem::find(body, ext)
            .is_some_and(|at| body.get(at + ext.len()).is_some_and(u8::is_ascii_digit))
    };
    place(b".go:") || place(b".s:")
}

/// `pkg.f(0x1, ...)` over an indented place.
fn go(lines: &[&str], i: usize, line: &[u8]) -> Option<Frame> {
    if !line.ends_with(b")") && !line.starts_with(b"created by ")
        || line.starts_with(b" ")
        || line.starts_with(b"\t")
    {
        return None;
    }
    let below = lines.get(i + 1)?.as_bytes();
    let place = body(below);
    (below.starts_with(b"\t") || below.starts_with(b"    ")).then_some(())?;
    (place.starts_with(b"/") || place.get(1) == Some(&b':')).then_some(())?;
    go_place(place).then_some(Frame { end: i + 2, place: i + 1, ..single(i, false) })
}

/// `main::inner(1) called at trace.pl line 3`.
fn perl(body: &[u8], indented: bool) -> bool {
    indented
        && body.last().is_some_and(|b| b.is_ascii_digit() || *b == b'.')
        && memchr::memmem::find(body, b") called at ").is_some()
}
