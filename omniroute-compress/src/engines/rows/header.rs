//! Reads a table's header line into a small program that writes one row.

use std::collections::HashSet;

use omniroute_core::Doc;

use super::json::{byte, container_end, part, string_end};
use super::strings::{is_bare_key, push_compact};

/// Names may have at most this many steps.
const MAX_STEPS: usize = 16;

/// Type of a column of cells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Number,
    Text,
    Bool,
    Json,
}

/// One step of writing a row. A piece with `soft` starts with a comma that is left out when nothing
/// stands before it in the object.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Op {
    /// Fixed text.
    Text { from: usize, to: usize, soft: bool },
    /// The next cell of the line.
    Cell(Kind),
    /// The next cell of the line, with its key unless the cell says that the key is absent.
    Optional { kind: Kind, from: usize, to: usize, soft: bool },
}

/// A header that has been read.
#[derive(Debug)]
pub(crate) struct Header {
    /// Number of rows as written.
    pub(crate) rows: u64,
    /// Bytes that every row has at least.
    pub(crate) least: usize,
    /// Number of cells in a line.
    pub(crate) cells: usize,
    pub(crate) ops: Vec<Op>,
    pool: Vec<u8>,
}

impl Header {
    pub(crate) fn piece(&self, from: usize, to: usize) -> &[u8] {
        part(&self.pool, from, to)
    }
}

/// Length of `[N rows] ` at the start of `line`, and N.
pub(crate) fn count(line: &[u8]) -> Option<(usize, u64)> {
    let rest = line.strip_prefix(b"[")?;
    let digits = rest.iter().take_while(|b| b.is_ascii_digit()).count();
    if digits == 0 || digits > 10 || (byte(rest, 0) == b'0' && digits > 1) {
        return None;
    }
    part(rest, digits, rest.len()).strip_prefix(b" rows] ")?;
    let n = std::str::from_utf8(part(rest, 0, digits)).ok()?.parse().ok()?;
    Some((1 + digits + 7, n))
}

/// Reads a header line that starts at its `[`.
///
/// # Errors
/// The rule that the header breaks.
pub(crate) fn read(line: &[u8]) -> Result<Header, &'static str> {
    let (mut at, rows) = count(line).ok_or("expected `[N rows] `")?;
    let mut program = Program::default();
    loop {
        let (names, end) = name(line, at)?;
        at = end;
        program.place(&names)?;
        match byte(line, at) {
            b'=' => {
                let end = constant_end(line, at + 1);
                program.constant(part(line, at + 1, end))?;
                at = end;
            }
            b':' => {
                let kind = match byte(line, at + 1) {
                    b'n' => Kind::Number,
                    b's' => Kind::Text,
                    b'b' => Kind::Bool,
                    b'j' => Kind::Json,
                    _ => return Err("unknown column type, expected one of n s b j"),
                };
                let optional = byte(line, at + 2) == b'?';
                if optional && names.len() > 1 {
                    return Err("a nested column cannot be absent");
                }
                program.cell(kind, optional);
                at += 2 + usize::from(optional);
            }
            _ => return Err("expected `:` or `=` after a column name"),
        }
        match part(line, at, line.len()) {
            [] | b" ; -=null" | b" ; ~=absent" | b" ; -=null ~=absent" => break,
            [b'|', ..] => at += 1,
            _ => return Err("expected `|` or the legend after a column"),
        }
    }
    Ok(program.finish(rows))
}

/// A column name as key literals, one a step, and its end.
fn name(line: &[u8], at: usize) -> Result<(Vec<Vec<u8>>, usize), &'static str> {
    if byte(line, at) == b'"' {
        let end = string_end(line, at);
        let mut key = Vec::new();
        push_json(part(line, at, end), &mut key)?;
        return Ok((vec![key], end));
    }
    let is_name = |b: &u8| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-' | b'.');
    let end = at + part(line, at, line.len()).iter().take_while(|b| is_name(b)).count();
    let steps: Vec<_> = part(line, at, end).split(|b| *b == b'.').collect();
    if steps.len() > MAX_STEPS || !steps.iter().all(|step| is_bare_key(step)) {
        return Err("a column name is neither bare nor a JSON string");
    }
    Ok((steps.iter().map(|step| [b"\"", *step, b"\""].concat()).collect(), end))
}

/// Appends one JSON value in canonical form.
pub(crate) fn push_json(value: &[u8], out: &mut Vec<u8>) -> Result<(), &'static str> {
    let text = std::str::from_utf8(value).map_err(|_| "a value is cut inside a character")?;
    if value.first().is_none_or(u8::is_ascii_whitespace) || Doc::check(text).is_err() {
        return Err("a value is not JSON");
    }
    push_compact(value, out);
    Ok(())
}

fn constant_end(line: &[u8], at: usize) -> usize {
    match byte(line, at) {
        b'"' => string_end(line, at),
        b'{' | b'[' => container_end(line, at),
        _ => at + part(line, at, line.len()).iter().take_while(|b| !matches!(b, b'|' | b' ')).count(),
    }
}

/// What is known about members written before, in the row's own object.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum Before {
    #[default]
    None,
    Maybe,
    Some,
}

#[derive(Debug, Default)]
struct Program {
    ops: Vec<Op>,
    pool: Vec<u8>,
    /// Start of the text that no op covers yet.
    pending: usize,
    soft: bool,
    /// Where the key that was placed last starts, with its comma if it has one.
    key: usize,
    before: Before,
    /// Nested objects that are open, as full path each.
    open: Vec<Vec<u8>>,
    /// Full paths of all names and nested objects.
    used: HashSet<Vec<u8>>,
    cells: usize,
    least: usize,
}

impl Program {
    /// Writes everything up to and including the key.
    fn place(&mut self, names: &[Vec<u8>]) -> Result<(), &'static str> {
        if self.pool.is_empty() {
            self.pool.push(b'{');
        }
        let (key, nest) = names.split_last().ok_or("a column has no name")?;
        let mut path = Vec::new();
        let mut shared = 0;
        for (step, open) in nest.iter().zip(&self.open) {
            let longer = join(&path, step);
            if longer != *open {
                break;
            }
            path = longer;
            shared += 1;
        }
        while self.open.len() > shared {
            self.open.pop();
            self.pool.push(b'}');
        }
        if shared == 0 && self.before == Before::Maybe {
            self.flush();
            self.soft = true;
        }
        self.key = self.pool.len();
        if shared > 0 || self.before != Before::None {
            self.pool.push(b',');
        }
        for step in nest.get(shared..).unwrap_or(&[]) {
            path = join(&path, step);
            if !self.used.insert(path.clone()) {
                return Err("a column name is used twice or its nested object is not in one piece");
            }
            self.open.push(path.clone());
            self.pool.extend_from_slice(step);
            self.pool.extend_from_slice(b":{");
        }
        if !self.used.insert(join(&path, key)) {
            return Err("a column name is used twice or its nested object is not in one piece");
        }
        self.pool.extend_from_slice(key);
        self.pool.push(b':');
        Ok(())
    }

    fn constant(&mut self, value: &[u8]) -> Result<(), &'static str> {
        self.before = Before::Some;
        match value {
            b"-" => self.pool.extend_from_slice(b"null"),
            value => push_json(value, &mut self.pool)?,
        }
        Ok(())
    }

    fn cell(&mut self, kind: Kind, optional: bool) {
        self.cells += 1;
        if !optional {
            self.before = Before::Some;
            self.flush();
            self.ops.push(Op::Cell(kind));
            return;
        }
        // What precedes the key is written in any case.
        let (from, soft) = (self.key, self.soft);
        self.flush_to(from);
        let to = self.pool.len();
        self.ops.push(Op::Optional { kind, from, to, soft });
        self.pending = to;
        self.soft = false;
        if self.before == Before::None {
            self.before = Before::Maybe;
        }
    }

    fn finish(mut self, rows: u64) -> Header {
        self.pool.extend(self.open.iter().map(|_| b'}'));
        self.pool.push(b'}');
        self.flush();
        Header { rows, least: self.least, cells: self.cells, ops: self.ops, pool: self.pool }
    }

    fn flush(&mut self) {
        self.flush_to(self.pool.len());
    }

    fn flush_to(&mut self, to: usize) {
        if self.pending < to {
            self.ops.push(Op::Text { from: self.pending, to, soft: self.soft });
            self.least += to - self.pending - usize::from(self.soft);
        }
        self.pending = to;
        self.soft = false;
    }
}

fn join(path: &[u8], step: &[u8]) -> Vec<u8> {
    [path, b".", step].concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refuses_headers() {
        for (line, rule) in [
            ("[x rows] a:n", "expected `[N rows] `"),
            ("[08 rows] a:n", "expected `[N rows] `"),
            ("[99999999999 rows] a:n", "expected `[N rows] `"),
            ("[8 rows] ", "a column name is neither bare nor a JSON string"),
            ("[8 rows] a..b:n", "a column name is neither bare nor a JSON string"),
            ("[8 rows] \"a:n", "a value is not JSON"),
            ("[8 rows] a", "expected `:` or `=` after a column name"),
            ("[8 rows] a:x", "unknown column type, expected one of n s b j"),
            ("[8 rows] a.b:n?", "a nested column cannot be absent"),
            ("[8 rows] a=tru", "a value is not JSON"),
            ("[8 rows] a= 1", "a value is not JSON"),
            ("[8 rows] a:n b:n", "expected `|` or the legend after a column"),
            ("[8 rows] a:n ; -=none", "expected `|` or the legend after a column"),
            ("[8 rows] a:n|\"a\":n", "a column name is used twice or its nested object is not in one piece"),
            ("[8 rows] a:n|a.b:n", "a column name is used twice or its nested object is not in one piece"),
            (
                "[8 rows] a.b:n|c:n|a.d:n",
                "a column name is used twice or its nested object is not in one piece",
            ),
        ] {
            assert_eq!(read(line.as_bytes()).unwrap_err(), rule, "{line}");
        }
    }

    #[test]
    fn programs() {
        for (line, expected) in [
            ("[8 rows] a:n|b=-|c.x=1|c.y:s", "{\"a\":# ,\"b\":null,\"c\":{\"x\":1,\"y\":# }} "),
            ("[8 rows] a:n?|b:n?|c=true", "{ \"a\":? ^,\"b\":? ^,\"c\":true} "),
            ("[8 rows] a:n|b:n?|c:n ; ~=absent", "{\"a\":# ,\"b\":? ,\"c\":# } "),
            ("[8 rows] a:n?", "{ \"a\":? } "),
        ] {
            let header = read(line.as_bytes()).unwrap();
            let mut shown = String::new();
            for op in &header.ops {
                let (from, to, soft, end) = match *op {
                    Op::Text { from, to, soft } => (from, to, soft, " "),
                    Op::Cell(_) => (0, 0, false, "# "),
                    Op::Optional { from, to, soft, .. } => (from, to, soft, "? "),
                };
                if matches!(op, Op::Cell(_)) {
                    shown.pop();
                }
                shown.push_str(if soft { "^" } else { "" });
                shown.push_str(std::str::from_utf8(header.piece(from, to)).unwrap());
                shown.push_str(end);
            }
            assert_eq!(shown, expected, "{line}");
        }
    }
}
