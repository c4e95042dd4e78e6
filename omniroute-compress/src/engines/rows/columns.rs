//! Columns of a table: what the survey has learned about a key, and how the key is written.
//!
//! Nothing is copied. A column remembers slices of the source: its key and its first value.

use std::ops::Range;

use super::json::{byte, part, space, string_end};
use super::strings::{is_bare_key, same_text, unquote};

// Kinds of values that a column has shown, as bits.
pub(crate) const NULL: u8 = 1;
pub(crate) const NUMBER: u8 = 2;
pub(crate) const STRING: u8 = 4;
pub(crate) const BOOL: u8 = 8;
pub(crate) const OBJECT: u8 = 16;
pub(crate) const ARRAY: u8 = 32;

/// How a column is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Role {
    /// One cell a row.
    Varying,
    /// In the header, because it is the same in every row.
    Constant,
    /// Replaced by the columns of the nested object.
    Nested,
}

/// One key of a table.
#[derive(Debug)]
pub(crate) struct Column<'a> {
    /// Key literal with its quotes.
    pub(crate) key: &'a [u8],
    /// The value in the first row that has one, as written.
    pub(crate) first: &'a [u8],
    /// How it is written; final after the survey.
    pub(crate) role: Role,
    /// Columns of the nested object, when every row has one with the same keys.
    pub(crate) kids: Vec<Column<'a>>,
    /// Number of rows that have the key.
    pub(crate) present: u32,
    /// The last of them.
    pub(crate) last_row: u32,
    /// So far every value was an object with the keys of the first.
    pub(crate) whole: bool,
    /// So far every value was spelled like the first.
    same: bool,
    kinds: u8,
}

impl<'a> Column<'a> {
    pub(crate) fn new(key: &'a [u8]) -> Self {
        Column {
            key,
            first: &[],
            role: Role::Varying,
            kids: Vec::new(),
            present: 0,
            last_row: u32::MAX,
            kinds: 0,
            same: true,
            whole: true,
        }
    }

    /// Takes note of one more value.
    #[inline]
    pub(crate) fn note(&mut self, kind: u8, raw: &'a [u8], row: u32) {
        if self.present == 0 {
            self.first = raw;
        } else if self.same {
            self.same = raw == self.first;
        }
        self.whole &= kind == OBJECT;
        self.kinds |= kind;
        self.present += 1;
        self.last_row = row;
    }

    /// Type letter of the header.
    pub(crate) fn letter(&self) -> u8 {
        match self.kinds & !NULL {
            NUMBER => b'n',
            STRING => b's',
            BOOL => b'b',
            _ => b'j',
        }
    }

    /// Whether some row has no such key.
    pub(crate) fn optional(&self, rows: u32) -> bool {
        self.present < rows
    }

    /// Whether some row has the value null.
    pub(crate) fn has_null(&self) -> bool {
        self.kinds & NULL != 0
    }

    fn nested(&self, rows: u32) -> bool {
        !self.kids.is_empty() && self.whole && self.present == rows
    }

    /// Decides the role.
    pub(crate) fn settle(&mut self, rows: u32, nest: bool) {
        if nest && self.nested(rows) {
            self.role = Role::Nested;
            self.kids.iter_mut().for_each(|kid| kid.settle(rows, nest));
        } else {
            self.kids = Vec::new();
            self.role = if self.same && self.present == rows { Role::Constant } else { Role::Varying };
        }
    }

    /// Number of written columns if nested objects are replaced, or `None` if a key needs quotes.
    pub(crate) fn leaves(&self, rows: u32) -> Option<usize> {
        if !is_bare_key(part(self.key, 1, self.key.len() - 1)) {
            return None;
        }
        if !self.nested(rows) {
            return Some(1);
        }
        self.kids.iter().map(|kid| kid.leaves(rows)).sum()
    }
}

/// An array that becomes a table.
#[derive(Debug)]
pub(crate) struct Table<'a> {
    /// The array with its brackets; for JSON Lines all lines.
    pub(crate) span: Range<usize>,
    /// Number of rows.
    pub(crate) rows: u32,
    /// Columns in header order.
    pub(crate) columns: Vec<Column<'a>>,
}

/// Where the value of the key that ends at `end` starts.
#[inline]
pub(crate) fn value_start(src: &[u8], end: usize) -> usize {
    space(src, space(src, end) + 1)
}

/// Where the element after the one that ends at `end` starts, or the closing bracket, or the end.
#[inline]
pub(crate) fn next_element(src: &[u8], end: usize) -> usize {
    let at = space(src, end);
    if byte(src, at) == b',' { space(src, at + 1) } else { at }
}

/// Index of the column that the key at `at` names, from `next` on, and the end of the key.
#[inline]
pub(crate) fn locate_column(
    src: &[u8],
    columns: &[Column<'_>],
    next: usize,
    at: usize,
) -> Option<(usize, usize)> {
    let rest = src.get(at..)?;
    let mut later = columns.iter().enumerate().skip(next);
    if let Some((index, c)) = later.clone().find(|(_, c)| rest.starts_with(c.key)) {
        return Some((index, at + c.key.len()));
    }
    // Only another spelling of the same key is left.
    let end = string_end(src, at);
    let text = unquote(part(src, at, end));
    later.find(|(_, c)| same_text(&text, c.key)).map(|(index, _)| (index, end))
}
