//! Survey: one pass over a checked document that finds the arrays worth a table and their columns.
//!
//! Duplicate keys and nesting are checked on the way, everywhere in the document.

use super::columns::{ARRAY, BOOL, Column, NULL, NUMBER, OBJECT, STRING, Table, next_element, value_start};
use super::json::{byte, number_end, part, space, string_end, value_end};
use super::strings::{has_duplicate, same_string, same_text, unquote};
use super::{Options, Refusal};

/// Arrays are looked for under at most this many keys.
const MAX_PATH: usize = 6;
/// Names of nested columns have at most this many steps.
const MAX_STEPS: usize = 3;
/// Documents nested deeper are refused.
const MAX_DEPTH: usize = 32;
/// Columns must be present in this share of the rows on average.
const MIN_PRESENCE_PERCENT: u64 = 60;

/// Why an array or the whole document is left alone.
enum Stop {
    /// This array is not a table.
    Array(Refusal),
    /// The document is refused.
    Document(Refusal),
}

impl From<Refusal> for Stop {
    fn from(refusal: Refusal) -> Self {
        Stop::Document(refusal)
    }
}

/// Finds the tables of a checked document; `lines` says that it is a sequence of objects.
///
/// # Errors
/// The reason of the largest array that did not qualify, when none did; duplicate keys and depth.
pub(crate) fn survey<'a>(src: &'a [u8], lines: bool, options: &Options) -> Result<Vec<Table<'a>>, Refusal> {
    let mut survey = Survey {
        src,
        options,
        keys: Vec::new(),
        tables: Vec::new(),
        cells: 0,
        why: (0, Refusal::TooFewRows),
    };
    let at = space(src, 0);
    match byte(src, at) {
        _ if lines => survey.array(at, at, 1)?,
        b'[' => survey.array(at, at + 1, 1)?,
        b'{' => survey.outer(at, 1, 0)?,
        _ => return Err(Refusal::NotObjects),
    };
    if survey.tables.is_empty() { Err(survey.why.1) } else { Ok(survey.tables) }
}

struct Survey<'a, 'o> {
    src: &'a [u8],
    options: &'o Options,
    /// Keys of the open objects, innermost last.
    keys: Vec<(u32, u32)>,
    tables: Vec<Table<'a>>,
    cells: u64,
    /// Size of the largest array that did not qualify, and why.
    why: (usize, Refusal),
}

impl<'a> Survey<'a, '_> {
    /// An object outside tables: looks into objects and arrays at its keys. Returns its end.
    fn outer(&mut self, open: usize, depth: usize, path: usize) -> Result<usize, Refusal> {
        self.members(open, depth, |survey, at| match byte(survey.src, at) {
            b'{' if path + 1 < MAX_PATH => survey.outer(at, depth + 1, path + 1),
            b'[' => survey.array(at, at + 1, depth + 1),
            _ => survey.value(at, depth),
        })
    }

    /// Walks the members of an object and refuses duplicate keys; `value` returns the end of a value.
    fn members(
        &mut self,
        open: usize,
        depth: usize,
        mut value: impl FnMut(&mut Self, usize) -> Result<usize, Refusal>,
    ) -> Result<usize, Refusal> {
        if depth > MAX_DEPTH {
            return Err(Refusal::TooDeep);
        }
        let src = self.src;
        let frame = self.keys.len();
        let mut at = space(src, open + 1);
        while byte(src, at) == b'"' {
            let end = string_end(src, at);
            self.keys.push((at as u32, end as u32));
            at = space(src, value(self, value_start(src, end))?);
            if byte(src, at) == b',' {
                at = space(src, at + 1);
            }
        }
        if self.keys.get_mut(frame..).is_some_and(|keys| has_duplicate(src, keys)) {
            return Err(Refusal::DuplicateKey);
        }
        self.keys.truncate(frame);
        Ok(at + 1)
    }

    /// Any value, inside a container of `depth`. Returns its end.
    fn value(&mut self, at: usize, depth: usize) -> Result<usize, Refusal> {
        let src = self.src;
        match byte(src, at) {
            b'{' => self.members(at, depth + 1, |survey, at| survey.value(at, depth + 1)),
            b'[' if depth >= MAX_DEPTH => Err(Refusal::TooDeep),
            b'[' => {
                let mut at = space(src, at + 1);
                while !matches!(byte(src, at), b']' | 0) {
                    at = next_element(src, self.value(at, depth + 1)?);
                }
                Ok(at + 1)
            }
            _ => Ok(value_end(src, at)),
        }
    }

    /// An array that may become a table; `first` is where its first element may start.
    fn array(&mut self, open: usize, first: usize, depth: usize) -> Result<usize, Refusal> {
        if depth > MAX_DEPTH {
            return Err(Refusal::TooDeep);
        }
        let src = self.src;
        let mut columns = Vec::new();
        let mut failed = None;
        let mut rows = 0u32;
        let mut at = space(src, first);
        while !matches!(byte(src, at), b']' | 0) {
            let end = match failed {
                Some(_) => self.value(at, depth)?,
                None => match self.row(&mut columns, at, rows, depth + 1) {
                    Ok(end) => end,
                    Err(Stop::Document(refusal)) => return Err(refusal),
                    Err(Stop::Array(refusal)) => {
                        failed = Some(refusal);
                        columns.clear();
                        self.value(at, depth)?
                    }
                },
            };
            rows += 1;
            at = next_element(src, end);
        }
        let end = src.len().min(at + usize::from(byte(src, at) == b']'));
        let few = (rows < self.options.min_rows).then_some(Refusal::TooFewRows);
        let refusal = few.or(failed).or_else(|| self.settle(&mut columns, rows));
        match refusal {
            None => self.tables.push(Table { span: open..end, rows, columns }),
            Some(refusal) if end - open > self.why.0 => self.why = (end - open, refusal),
            Some(_) => {}
        }
        Ok(end)
    }

    /// Decides the role of each column, or why the array is no table.
    fn settle(&mut self, columns: &mut [Column<'a>], rows: u32) -> Option<Refusal> {
        let present: u64 = columns.iter().map(|c| u64::from(c.present)).sum();
        let full = u64::from(rows) * columns.len() as u64;
        if columns.is_empty() || present * 100 < full * MIN_PRESENCE_PERCENT {
            return Some(Refusal::SparseColumns);
        }
        let leaves: Option<usize> = columns.iter().map(|c| c.leaves(rows)).sum();
        let nest = leaves.is_some_and(|n| n <= self.options.max_columns);
        let written = if nest { leaves.unwrap_or(0) } else { columns.len() };
        let cells = u64::from(rows) * written as u64;
        if self.cells + cells > self.options.max_cells {
            return Some(Refusal::TooManyCells);
        }
        self.cells += cells;
        columns.iter_mut().for_each(|c| c.settle(rows, nest));
        None
    }

    /// One row of a table. Returns its end.
    fn row(
        &mut self,
        columns: &mut Vec<Column<'a>>,
        open: usize,
        row: u32,
        depth: usize,
    ) -> Result<usize, Stop> {
        let src = self.src;
        if byte(src, open) != b'{' {
            return Err(Stop::Array(Refusal::NotObjects));
        }
        if depth > MAX_DEPTH {
            return Err(Refusal::TooDeep.into());
        }
        let mut next = 0;
        let mut at = space(src, open + 1);
        while byte(src, at) == b'"' {
            let (index, end) = match columns.get(next).filter(|c| starts(src, at, c.key)) {
                Some(c) => (next, at + c.key.len()),
                None => self.find(columns, next, at, row)?,
            };
            let Some(column) = columns.get_mut(index) else {
                break;
            };
            at = space(src, self.cell(column, value_start(src, end), row, depth, 1)?);
            next = index + 1;
            if byte(src, at) == b',' {
                at = space(src, at + 1);
            }
        }
        Ok(at + 1)
    }

    /// Column of the key at `at`, which is not the expected one; an unknown key gets a new column.
    fn find(
        &self,
        columns: &mut Vec<Column<'a>>,
        next: usize,
        at: usize,
        row: u32,
    ) -> Result<(usize, usize), Stop> {
        let end = string_end(self.src, at);
        let key = part(self.src, at, end);
        let ahead = columns.iter().skip(next).position(|c| c.key == key).map(|ahead| next + ahead);
        let anywhere = || {
            let text = unquote(key);
            columns.iter().position(|c| same_text(&text, c.key))
        };
        if let Some(index) = ahead.or_else(anywhere) {
            return match columns.get(index) {
                Some(c) if c.last_row == row => Err(Refusal::DuplicateKey.into()),
                _ if index < next => Err(Stop::Array(Refusal::KeyOrder)),
                _ => Ok((index, end)),
            };
        }
        if columns.len() >= self.options.max_columns {
            return Err(Stop::Array(Refusal::TooManyColumns));
        }
        columns.insert(next, Column::new(key));
        Ok((next, end))
    }

    /// One value of `column`. Returns its end.
    fn cell(
        &mut self,
        column: &mut Column<'a>,
        at: usize,
        row: u32,
        depth: usize,
        steps: usize,
    ) -> Result<usize, Refusal> {
        let src = self.src;
        let (kind, end) = match byte(src, at) {
            b'"' => (STRING, string_end(src, at)),
            b'{' => {
                let nested = match column.whole && steps < MAX_STEPS {
                    true => self.nested(column, at, row, depth + 1, steps + 1)?,
                    false => None,
                };
                match nested {
                    Some(end) => (OBJECT, end),
                    None => {
                        column.whole = false;
                        (OBJECT, self.value(at, depth)?)
                    }
                }
            }
            b'[' => (ARRAY, self.value(at, depth)?),
            b't' => (BOOL, at + 4),
            b'f' => (BOOL, at + 5),
            b'n' => (NULL, at + 4),
            _ => (NUMBER, number_end(src, at)),
        };
        column.note(kind, part(src, at, end), row);
        Ok(end)
    }

    /// A nested object whose keys must be those of the first row. `None`: it is not such an object.
    fn nested(
        &mut self,
        column: &mut Column<'a>,
        open: usize,
        row: u32,
        depth: usize,
        steps: usize,
    ) -> Result<Option<usize>, Refusal> {
        if depth > MAX_DEPTH {
            return Err(Refusal::TooDeep);
        }
        let src = self.src;
        let first = row == 0 && column.kids.is_empty();
        let mut index = 0;
        let mut at = space(src, open + 1);
        while byte(src, at) == b'"' {
            let end = string_end(src, at);
            let key = part(src, at, end);
            if first {
                if column.kids.iter().any(|kid| same_string(kid.key, key)) {
                    return Err(Refusal::DuplicateKey);
                }
                if column.kids.len() >= self.options.max_columns {
                    return Ok(None);
                }
                column.kids.push(Column::new(key));
            }
            let Some(kid) = column.kids.get_mut(index).filter(|kid| kid.key == key) else {
                return Ok(None);
            };
            at = space(src, self.cell(kid, value_start(src, end), row, depth, steps)?);
            index += 1;
            if byte(src, at) == b',' {
                at = space(src, at + 1);
            }
        }
        Ok((index > 0 && index == column.kids.len()).then_some(at + 1))
    }
}

#[inline]
fn starts(src: &[u8], at: usize, key: &[u8]) -> bool {
    src.get(at..).is_some_and(|rest| rest.starts_with(key))
}

#[cfg(test)]
mod tests {
    use super::super::columns::Role;
    use super::*;

    fn shape(columns: &[Column<'_>], rows: u32) -> String {
        let one = |c: &Column<'_>| {
            let key = std::str::from_utf8(c.key).unwrap().trim_matches('"').to_owned();
            match c.role {
                Role::Nested => format!("{key}({})", shape(&c.kids, rows)),
                Role::Constant => format!("{key}="),
                Role::Varying => {
                    format!("{key}:{}{}", c.letter() as char, if c.optional(rows) { "?" } else { "" })
                }
            }
        };
        columns.iter().map(one).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn columns_of_rows() {
        let options = Options { min_rows: 2, ..Options::default() };
        for (source, expected) in [
            (r#"[{"a":1,"b":"x"},{"a":2,"b":"x"}]"#, "a:n b="),
            (r#"[{"a":1,"c":1},{"a":2,"b":"x","c":1}]"#, "a:n b:s? c="),
            (r#"[{"a":null},{"a":null}]"#, "a="),
            (r#"[{"a":null,"b":1},{"b":true}]"#, "a:j? b:j"),
            (r#"[{"a":{"x":1,"y":null}},{"a":{"x":2,"y":null}}]"#, "a(x:n y=)"),
            (r#"[{"a":{"x":1}},{"a":{"y":2}}]"#, "a:j"),
            (r#"[{"a":{"x":1}},{"a":null}]"#, "a:j"),
            (r#"[{"a":{"x":1}},{"a":{}}]"#, "a:j"),
            (r#"[{"a":{"x":{"y":{"z":1}}}},{"a":{"x":{"y":{"z":2}}}}]"#, "a(x(y:j))"),
            (r#"[{"a":{"x":1},"b.c":1},{"a":{"x":2},"b.c":2}]"#, "a:j b.c:n"),
            (r#"[{"a":{"x y":1}},{"a":{"x y":2}}]"#, "a:j"),
        ] {
            let tables = survey(source.as_bytes(), false, &options).unwrap();
            assert_eq!(shape(&tables[0].columns, tables[0].rows), expected, "{source}");
        }
    }

    #[test]
    fn arrays_at_object_paths() {
        let options = Options { min_rows: 1, ..Options::default() };
        let nested = |depth: usize| format!("{}[{{\"x\":1}}]{}", "{\"k\":".repeat(depth), "}".repeat(depth));
        assert_eq!(survey(nested(6).as_bytes(), false, &options).unwrap().len(), 1);
        assert_eq!(survey(nested(7).as_bytes(), false, &options).unwrap_err(), Refusal::TooFewRows);
        let two = r#"{"a":[{"x":1}],"b":[[{"x":1}]],"c":{"d":[{"y":2}]}}"#;
        let tables = survey(two.as_bytes(), false, &options).unwrap();
        let spans: Vec<_> = tables.iter().map(|t| two.get(t.span.clone()).unwrap()).collect();
        assert_eq!(spans, [r#"[{"x":1}]"#, r#"[{"y":2}]"#]);
    }
}
