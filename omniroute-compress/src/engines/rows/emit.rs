//! Writes the block of a surveyed document: outer line, headers, rows.

use super::columns::{Column, Role, Table, locate_column, next_element, value_start};
use super::json::{byte, literal, part, space, value_end};
use super::strings::{is_bare, is_bare_key, is_bare_simple, push_compact, push_literal, push_unescaped};

/// Appends the block to `out`; `None` when it grows over `limit` bytes or a row does not fit its table.
pub(crate) fn block(src: &[u8], tables: &[Table<'_>], limit: usize, out: &mut Vec<u8>) -> Option<()> {
    let limit = out.len() + limit;
    let root =
        matches!(tables, [table] if part(src, 0, table.span.start).iter().all(u8::is_ascii_whitespace));
    if !root {
        let mut from = 0;
        for (k, table) in (1..).zip(tables) {
            push_compact(part(src, from, table.span.start), out);
            out.push(b'@');
            push_count(k, out);
            from = table.span.end;
        }
        push_compact(part(src, from, src.len()), out);
    }
    for (k, table) in (1..).zip(tables) {
        if !root {
            out.extend_from_slice(b"\n@");
            push_count(k, out);
            out.push(b' ');
        }
        header(table, out);
        rows(src, table, limit, out)?;
    }
    Some(())
}

fn push_count(n: u32, out: &mut Vec<u8>) {
    out.extend_from_slice(n.to_string().as_bytes());
}

/// `[N rows] id:n|name:s|state="open" ; -=null ~=absent`
fn header(table: &Table<'_>, out: &mut Vec<u8>) {
    out.push(b'[');
    push_count(table.rows, out);
    out.extend_from_slice(b" rows] ");
    let mut legend = Legend::default();
    let mut path = Vec::new();
    let mut fresh = true;
    names(&table.columns, table.rows, &mut path, &mut fresh, &mut legend, out);
    out.extend_from_slice(match (legend.null, legend.absent) {
        (true, true) => b" ; -=null ~=absent",
        (true, false) => b" ; -=null",
        (false, true) => b" ; ~=absent",
        (false, false) => b"",
    });
}

#[derive(Default)]
struct Legend {
    null: bool,
    absent: bool,
}

fn names(
    columns: &[Column<'_>],
    rows: u32,
    path: &mut Vec<u8>,
    fresh: &mut bool,
    legend: &mut Legend,
    out: &mut Vec<u8>,
) {
    for column in columns {
        let inner = part(column.key, 1, column.key.len() - 1);
        if column.role == Role::Nested {
            let length = path.len();
            path.extend_from_slice(inner);
            path.push(b'.');
            names(&column.kids, rows, path, fresh, legend, out);
            path.truncate(length);
            continue;
        }
        if !std::mem::replace(fresh, false) {
            out.push(b'|');
        }
        out.extend_from_slice(path);
        if is_bare_key(inner) {
            out.extend_from_slice(inner);
        } else {
            push_literal(column.key, out);
        }
        legend.null |= column.has_null();
        if column.role == Role::Constant {
            out.push(b'=');
            if column.first == b"null" {
                out.push(b'-');
            } else {
                push_compact(column.first, out);
            }
        } else {
            out.extend_from_slice(&[b':', column.letter()]);
            if column.optional(rows) {
                out.push(b'?');
                legend.absent = true;
            }
        }
    }
}

fn rows(src: &[u8], table: &Table<'_>, limit: usize, out: &mut Vec<u8>) -> Option<()> {
    if table.columns.iter().all(is_fixed) {
        return Some(());
    }
    let open = table.span.start;
    let mut at = if byte(src, open) == b'[' { space(src, open + 1) } else { open };
    for _ in 0..table.rows {
        out.push(b'\n');
        let mut fresh = true;
        at = next_element(src, row(src, &table.columns, at, &mut fresh, out)?);
        if out.len() > limit {
            return None;
        }
    }
    Some(())
}

/// Whether the column needs no cell.
fn is_fixed(column: &Column<'_>) -> bool {
    match column.role {
        Role::Constant => true,
        Role::Varying => false,
        Role::Nested => column.kids.iter().all(is_fixed),
    }
}

/// The cells of one object; `fresh` until the first cell of the line. Returns the end of the object.
fn row(
    src: &[u8],
    columns: &[Column<'_>],
    open: usize,
    fresh: &mut bool,
    out: &mut Vec<u8>,
) -> Option<usize> {
    let mut next = 0;
    let mut at = space(src, open + 1);
    while byte(src, at) == b'"' {
        let expected =
            columns.get(next).filter(|c| src.get(at..).is_some_and(|rest| rest.starts_with(c.key)));
        let (index, end) = match expected {
            Some(c) => (next, at + c.key.len()),
            None => locate_column(src, columns, next, at)?,
        };
        absent(columns.get(next..index)?, fresh, out);
        let column = columns.get(index)?;
        let start = value_start(src, end);
        at = match column.role {
            Role::Constant => start + column.first.len(),
            Role::Nested => row(src, &column.kids, start, fresh, out)?,
            Role::Varying => {
                if !std::mem::replace(fresh, false) {
                    out.push(b'|');
                }
                cell(src, start, column, out)
            }
        };
        next = index + 1;
        at = next_element(src, at);
    }
    absent(columns.get(next..)?, fresh, out);
    Some(at + 1)
}

fn absent(columns: &[Column<'_>], fresh: &mut bool, out: &mut Vec<u8>) {
    for column in columns {
        if column.role == Role::Varying {
            if !std::mem::replace(fresh, false) {
                out.push(b'|');
            }
            out.push(b'~');
        }
    }
}

/// One cell; returns the end of the value.
#[inline]
fn cell(src: &[u8], at: usize, column: &Column<'_>, out: &mut Vec<u8>) -> usize {
    match byte(src, at) {
        b'"' if column.letter() == b's' => text(src, at, out),
        b'n' => {
            out.push(b'-');
            at + 4
        }
        b'"' => {
            let end = literal(src, at).end;
            push_literal(part(src, at, end), out);
            end
        }
        b'{' | b'[' => {
            let end = value_end(src, at);
            push_compact(part(src, at, end), out);
            end
        }
        _ => {
            let end = value_end(src, at);
            out.extend_from_slice(part(src, at, end));
            end
        }
    }
}

/// A cell of a column of strings.
#[inline]
fn text(src: &[u8], open: usize, out: &mut Vec<u8>) -> usize {
    let found = literal(src, open);
    let whole = part(src, open, found.end);
    if found.simple {
        let inner = part(whole, 1, whole.len() - 1);
        out.extend_from_slice(if is_bare_simple(inner) { inner } else { whole });
        return found.end;
    }
    let from = out.len();
    push_unescaped(part(whole, 1, whole.len() - 1), out);
    let text = std::str::from_utf8(out.get(from..).unwrap_or(&[])).unwrap_or("");
    if !is_bare(text) {
        out.truncate(from);
        push_literal(whole, out);
    }
    found.end
}
