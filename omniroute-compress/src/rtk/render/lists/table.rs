//! Tables with aligned columns: the padding goes, every row and every cell stays.
//!
//! A table is a header line and rows under it in which the same columns begin at the same place. The columns are
//! read from the lines themselves, whatever the language of the header.

use crate::rtk::kit::{Draft, Level, Output, Verdict, What};

/// Rows from which on a column that is the same in all of them moves to a note.
const MIN_ROWS_FOR_NOTE: usize = 9;
/// Widest table, in characters.
const MAX_WIDTH: usize = 2_000;

/// Squeezes every table of the output. Lines outside tables stay.
pub(crate) fn render(out: &Output<'_>, draft: &mut Draft) -> Verdict {
    let mut found = false;
    let mut i = 0;
    while i < out.len() {
        match Table::at(out, i) {
            Some(table) => {
                i = table.end;
                found = true;
                if out.level > Level::Minimal {
                    table.write(out, draft);
                }
            }
            None => i += 1,
        }
    }
    if found { Verdict::Done } else { Verdict::NotMine }
}

/// A table: its lines and where its columns begin and end, in characters.
#[derive(Debug)]
struct Table {
    start: usize,
    body: usize,
    end: usize,
    columns: Vec<(usize, usize)>,
}

impl Table {
    /// The table whose header is line `start`.
    fn at(out: &Output<'_>, start: usize) -> Option<Table> {
        let header = out.line(start);
        if header.starts_with([' ', '\t'])
            || header.len() > MAX_WIDTH
            || header.contains('\t')
            || !header.contains("  ")
        {
            return None;
        }
        let is_row = |i: usize| {
            let line = out.line(i);
            let wide = line.contains(' ') || i == start + 1 && is_ruler(line);
            !line.trim_ascii().is_empty() && line.len() <= MAX_WIDTH && !line.contains('\t') && wide
        };
        let end = (start + 1..out.len()).find(|i| !is_row(*i)).unwrap_or(out.len());
        let body = if is_ruler(out.line(start + 1)) { start + 2 } else { start + 1 };
        if end < body + 2 {
            return None;
        }
        let columns = columns(out, start, body, end);
        (columns.len() >= 2 && aligned(out, body, end, &columns)).then_some(Table {
            start,
            body,
            end,
            columns,
        })
    }

    fn cells<'l>(&self, line: &'l str) -> Vec<&'l str> {
        cells(line, &self.columns)
    }

    fn write(&self, out: &Output<'_>, draft: &mut Draft) {
        let places: Vec<usize> = std::iter::once(self.start).chain(self.body..self.end).collect();
        let rows: Vec<Vec<&str>> = places.iter().map(|i| self.cells(out.line(*i))).collect();
        (self.start + 1..self.body).for_each(|i| draft.noise(i));
        let (Some(header), Some(body)) = (rows.first(), rows.get(1..)) else { return };
        // One blank parts two columns unless a cell of either holds a blank.
        let spaced: Vec<bool> = (0..header.len())
            .map(|c| rows.iter().any(|row| row.get(c).is_some_and(|cell| cell.contains(' '))))
            .collect();
        let wide = |c: usize| spaced.get(c).copied().unwrap_or(false);
        let same: Vec<usize> = match body.len() >= MIN_ROWS_FOR_NOTE {
            true => (1..header.len())
                .filter(|c| body.iter().all(|row| row.get(*c) == body.first().and_then(|r| r.get(*c))))
                .collect(),
            false => Vec::new(),
        };
        if !same.is_empty() {
            let value = |c: &usize| {
                let cell = body.first().and_then(|r| r.get(*c)).copied().unwrap_or("");
                match header.get(*c).copied().unwrap_or("") {
                    // A table without names: its first row says the same as the others.
                    name if name == cell => shown(cell).to_owned(),
                    name => format!("{name}={}", shown(cell)),
                }
            };
            let list: Vec<String> = same.iter().map(value).collect();
            draft.insert(self.start, &format!("[rtk: same in all rows: {}]", list.join(", ")));
        }
        let cap = out.level.pick(200, 120, 60);
        let skipped = omitted(body.len(), cap);
        for ((n, row), i) in rows.iter().enumerate().zip(places) {
            if n > 0 && skipped.contains(&(n - 1)) {
                draft.drop(i, What::Rows);
                continue;
            }
            draft.cover(i);
            draft.insert_with(i, |text| {
                let mut before = None;
                for (c, cell) in row.iter().enumerate().filter(|(c, _)| !same.contains(c)) {
                    if let Some(left) = before {
                        text.push_str(if wide(left) || wide(c) { "  " } else { " " });
                    }
                    text.push_str(shown(cell));
                    before = Some(c);
                }
                text.truncate(text.trim_end().len());
            });
        }
    }
}

/// A line under the header that only underlines it.
fn is_ruler(line: &str) -> bool {
    line.len() >= 3 && line.bytes().all(|b| matches!(b, b'-' | b'=' | b'+' | b'~' | b' '))
}

/// An empty cell is written so that the cells behind it keep their place.
fn shown(cell: &str) -> &str {
    if cell.is_empty() { "\"\"" } else { cell }
}

/// The rows between the first 60 % and the last 10 % of the cap.
pub(crate) fn omitted(rows: usize, cap: usize) -> std::ops::Range<usize> {
    if rows <= cap {
        return 0..0;
    }
    cap * 6 / 10..rows - cap / 10
}

/// The columns between gutters, that is between places where every line has a blank. Behind the start of the last
/// word of the header everything is one column.
fn columns(out: &Output<'_>, start: usize, body: usize, end: usize) -> Vec<(usize, usize)> {
    let mut used: Vec<bool> = Vec::new();
    for i in std::iter::once(start).chain(body..end) {
        for (n, c) in out.line(i).chars().enumerate() {
            if used.len() <= n {
                used.resize(n + 1, false);
            }
            if let Some(slot) = used.get_mut(n) {
                *slot |= c != ' ';
            }
        }
    }
    let header: Vec<char> = out.line(start).chars().collect();
    let last =
        (1..header.len()).rev().find(|n| header.get(n - 1) == Some(&' ') && header.get(*n) != Some(&' '));
    let mut columns: Vec<(usize, usize)> = Vec::new();
    let mut open: Option<usize> = None;
    for (n, is_used) in used.iter().chain([&false]).enumerate() {
        match (is_used, open) {
            (true, None) => open = Some(n),
            (false, Some(from)) => {
                // A column has a word of the header over it; two words of the header parted by one blank are one
                // name unless the rows tell otherwise.
                let named =
                    header.get(from..n.min(header.len())).is_some_and(|h| h.iter().any(|c| *c != ' '));
                match columns.last_mut() {
                    Some((_, to)) if !named || from == *to + 1 && !in_rows(out, body, end, from, n) => {
                        *to = n
                    }
                    _ => columns.push((from, n)),
                }
                open = None;
                if last.is_some_and(|last| n > last) {
                    break;
                }
            }
            _ => {}
        }
    }
    if let Some((_, to)) = columns.last_mut() {
        *to = usize::MAX;
    }
    columns
}

/// Whether a row has anything in the columns `from..to`.
fn in_rows(out: &Output<'_>, start: usize, end: usize, from: usize, to: usize) -> bool {
    (start..end).any(|i| out.line(i).chars().skip(from).take(to - from).any(|c| c != ' '))
}

/// Whether the columns are real: most rows have a cell in most of them and blanks that fill them up.
fn aligned(out: &Output<'_>, start: usize, end: usize, columns: &[(usize, usize)]) -> bool {
    let mut full = 0;
    let mut padded = 0;
    for i in start..end {
        let line = out.line(i);
        let row = cells(line, columns);
        full += usize::from(row.iter().filter(|c| !c.is_empty()).count() * 2 > columns.len());
        padded += usize::from(line.contains("  "));
    }
    let rows = end - start;
    full * 10 >= rows * 9 && padded * 2 >= rows
}

/// The cells of a line, trimmed.
fn cells<'l>(line: &'l str, columns: &[(usize, usize)]) -> Vec<&'l str> {
    let mut places = line.char_indices().map(|(at, _)| at).enumerate();
    let mut place = |column: usize| places.find(|(n, _)| *n == column).map_or(line.len(), |(_, at)| at);
    let starts: Vec<usize> = columns.iter().map(|(from, _)| place(*from)).chain([line.len()]).collect();
    starts
        .windows(2)
        .map(|w| match w {
            [from, to] => line.get(*from..*to).unwrap_or("").trim(),
            _ => "",
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rtk::kit::assemble;

    fn run(text: &str, level: Level) -> (Verdict, String) {
        let out = Output::new(text, level);
        let mut draft = Draft::new(out.len());
        let verdict = render(&out, &mut draft);
        (verdict, assemble(&out, &mut draft, &mut || None).text)
    }

    #[test]
    fn padding_goes_and_cells_stay() {
        let text = "NAME        READY   STATUS    AGE\nweb-1       1/1     Running   3d\nworker-22   0/1     Error     5m\n";
        let (verdict, shown) = run(text, Level::Standard);
        assert_eq!(verdict, Verdict::Done);
        assert_eq!(shown, "NAME READY STATUS AGE\nweb-1 1/1 Running 3d\nworker-22 0/1 Error 5m\n");
        assert_eq!(run(text, Level::Minimal).1, text);
    }

    #[test]
    fn cells_with_blanks_and_empty_cells_keep_their_place() {
        let text = "CONTAINER ID   IMAGE     STATUS         PORTS     NAMES\nab12           web:1     Up 2 hours     80/tcp    shop-web\nab13           job:1     Exited (1)               shop-job\n";
        let (_, shown) = run(text, Level::Standard);
        assert_eq!(
            shown,
            "CONTAINER ID  IMAGE  STATUS  PORTS NAMES\nab12  web:1  Up 2 hours  80/tcp shop-web\nab13  job:1  Exited (1)  \"\" shop-job\n"
        );
    }

    #[test]
    fn prose_and_code_are_no_tables() {
        for text in [
            "a sentence of words\nand another one\nand a third\n",
            "fn x() {\n    let a = 1;\n    b();\n}\n",
            "one  two\n",
        ] {
            assert_eq!(run(text, Level::Standard), (Verdict::NotMine, text.to_owned()));
        }
    }
}
