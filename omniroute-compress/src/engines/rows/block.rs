//! The grammar of a block: outer line, tables, rows, cells.

use omniroute_core::Doc;

use super::decode::{Sink, Step, Stop};
use super::header::{self, Header, Kind, Op};
use super::json::{bare, byte, container_end, is_number, part, separator, string_end};
use super::strings::{is_bare, is_bare_simple};

/// A rule with the place where it was broken.
pub(crate) struct Broken {
    pub(crate) at: usize,
    pub(crate) rule: &'static str,
}

fn broken<T>(at: usize, rule: &'static str) -> Result<T, Broken> {
    Err(Broken { at, rule })
}

/// Reads a whole block into `sink`. `max_bytes` bounds what a header may promise.
pub(crate) fn document(b: &[u8], max_bytes: usize, sink: &mut impl Sink) -> Result<(), Broken> {
    if header::count(b).is_some() {
        let end = table(b, 0, max_bytes, sink)?;
        return at_end(b, end);
    }
    let outer = part(b, 0, memchr::memchr(b'\n', b).unwrap_or(b.len()));
    let places = placeholders(outer);
    if places.is_empty() {
        return json(b, 0, b.len(), sink);
    }
    // The outer line must be JSON once something stands where the tables go.
    let mut stand_in = Vec::with_capacity(outer.len());
    let mut from = 0;
    for place in &places {
        stand_in.extend_from_slice(part(outer, from, place.start));
        stand_in.push(b'0');
        from = place.end;
    }
    stand_in.extend_from_slice(part(outer, from, outer.len()));
    if !std::str::from_utf8(&stand_in).is_ok_and(|text| Doc::check(text).is_ok()) {
        return broken(0, "the first line is neither a header nor JSON");
    }
    drop(stand_in);
    let (mut from, mut at) = (0, outer.len());
    for (k, place) in (1..).zip(&places) {
        step(at, sink.json(part(outer, from, place.start)))?;
        let mark = [b"@", k.to_string().as_bytes()].concat();
        if part(outer, place.start, place.end) != mark {
            return broken(0, "tables are not numbered 1, 2, 3 in the first line");
        }
        let head = [b"\n", mark.as_slice(), b" "].concat();
        if !part(b, at, b.len()).starts_with(&head) {
            return broken(at + 1, "expected the next table, `@k [N rows] `");
        }
        at = table(b, at + head.len(), max_bytes, sink)?;
        from = place.end;
    }
    step(at, sink.json(part(outer, from, outer.len())))?;
    at_end(b, at)
}

fn at_end(b: &[u8], at: usize) -> Result<(), Broken> {
    if at == b.len() { Ok(()) } else { broken(at + 1, "something follows the last row") }
}

fn step(at: usize, result: Step) -> Result<(), Broken> {
    result.or_else(|stop| match stop {
        Stop::TooLarge => broken(at, "the document is larger than the limit"),
        Stop::Differs => broken(at, "the document is not the one expected"),
    })
}

/// Where `@k` stands outside strings.
fn placeholders(outer: &[u8]) -> Vec<std::ops::Range<usize>> {
    let mut places = Vec::new();
    let mut at = 0;
    while let Some(found) = memchr::memchr2(b'"', b'@', part(outer, at, outer.len())) {
        at += found;
        if byte(outer, at) == b'"' {
            at = string_end(outer, at);
            continue;
        }
        let start = at;
        at += 1;
        while byte(outer, at).is_ascii_digit() {
            at += 1;
        }
        places.push(start..at);
    }
    places
}

/// One table whose header starts at `start`; returns the end of its last line, without line feed.
fn table(b: &[u8], start: usize, max_bytes: usize, sink: &mut impl Sink) -> Result<usize, Broken> {
    let mut at =
        start + memchr::memchr(b'\n', part(b, start, b.len())).unwrap_or(b.len() - start.min(b.len()));
    let header = header::read(part(b, start, at)).or_else(|rule| broken(start, rule))?;
    let promised = header.rows.saturating_mul(header.least as u64 + 1);
    if promised > max_bytes as u64 {
        return broken(start, "the document is larger than the limit");
    }
    step(at, sink.open())?;
    for row in 0..header.rows {
        if row > 0 {
            step(at, sink.next())?;
        }
        if header.cells > 0 {
            if byte(b, at) != b'\n' {
                return broken(at, "rows are missing");
            }
            at += 1;
        }
        at = line(b, at, &header, sink)?;
        if header.cells > 0 && !matches!(b.get(at), None | Some(b'\n')) {
            return broken(at, "the line has more cells than the header has columns");
        }
    }
    step(at, sink.close())?;
    Ok(at)
}

/// One row whose cells start at `at`; returns where they end.
#[inline]
fn line(b: &[u8], mut at: usize, header: &Header, sink: &mut impl Sink) -> Result<usize, Broken> {
    let mut fresh = true;
    let mut empty = true;
    for op in &header.ops {
        let (from, to, soft) = match *op {
            Op::Text { from, to, soft } => (from, to, soft),
            Op::Cell(kind) => {
                at = cell_start(b, at, &mut fresh)?;
                at = cell(b, at, kind, sink)?;
                continue;
            }
            Op::Optional { kind, from, to, soft } => {
                at = cell_start(b, at, &mut fresh)?;
                if byte(b, at) == b'~' && matches!(byte(b, at + 1), b'|' | b'\n' | 0) {
                    at += 1;
                    continue;
                }
                step(at, sink.text(header.piece(from + usize::from(soft && empty), to)))?;
                empty = false;
                at = cell(b, at, kind, sink)?;
                continue;
            }
        };
        step(at, sink.text(header.piece(from + usize::from(soft && empty), to)))?;
        empty &= !soft;
    }
    Ok(at)
}

#[inline]
fn cell_start(b: &[u8], at: usize, fresh: &mut bool) -> Result<usize, Broken> {
    if std::mem::replace(fresh, false) {
        return Ok(at);
    }
    if byte(b, at) == b'|' {
        Ok(at + 1)
    } else {
        broken(at, "the line has fewer cells than the header has columns")
    }
}

/// One cell at `at`; returns its end.
#[inline]
fn cell(b: &[u8], at: usize, kind: Kind, sink: &mut impl Sink) -> Result<usize, Broken> {
    let first = byte(b, at);
    if first == b'-' && matches!(byte(b, at + 1), b'|' | b'\n' | 0) {
        step(at, sink.text(b"null"))?;
        return Ok(at + 1);
    }
    match (kind, first) {
        (Kind::Text, b'"') => json(b, at, string_end(b, at), sink).map(|()| string_end(b, at)),
        (Kind::Text, _) => {
            let found = bare(b, at);
            let text = part(b, at, found.end);
            let fits = if found.simple {
                is_bare_simple(text)
            } else {
                std::str::from_utf8(text).is_ok_and(is_bare)
            };
            if !fits {
                return broken(at, "a text must be written as a JSON string");
            }
            step(at, sink.bare(text, found.simple))?;
            Ok(found.end)
        }
        (Kind::Json, b'"' | b'{' | b'[') => {
            let end = if first == b'"' { string_end(b, at) } else { container_end(b, at) };
            json(b, at, end, sink)?;
            Ok(end)
        }
        _ => {
            let end = separator(b, at);
            let text = part(b, at, end);
            let fits = match kind {
                Kind::Number => is_number(text),
                Kind::Bool => matches!(text, b"true" | b"false"),
                _ => matches!(text, b"true" | b"false") || is_number(text),
            };
            if !fits {
                return broken(at, "a cell does not fit the type of its column");
            }
            step(at, sink.text(text))?;
            Ok(end)
        }
    }
}

/// One JSON value from `at` to `end`.
fn json(b: &[u8], at: usize, end: usize, sink: &mut impl Sink) -> Result<(), Broken> {
    let value = part(b, at, end);
    let plain = byte(value, 0) == b'"' && end > at + 1 && is_plain_string(value);
    if !plain {
        let text = std::str::from_utf8(value).ok();
        if memchr::memchr(b'\n', value).is_some() || text.is_none_or(|text| Doc::check(text).is_err()) {
            return broken(at, "a value is not JSON");
        }
    }
    step(at, sink.json(value))
}

/// A string literal without escapes and control characters.
fn is_plain_string(literal: &[u8]) -> bool {
    match literal {
        [b'"', inner @ .., b'"'] => !inner.iter().any(|c| *c < 0x20 || matches!(c, b'"' | b'\\')),
        _ => false,
    }
}
