//! Moves of the cursor between rows, and pulling finished lines back for them.

use super::{REACHABLE, Replay, slice};
use crate::terminal::row::{End, Row, WIDTH, width};

impl Replay<'_> {
    /// Makes the cursor's line available as cells.
    pub(super) fn enter(&mut self) {
        if !self.rows.is_empty() {
            return;
        }
        let start = memchr::memrchr(b'\n', self.out.as_bytes()).map_or(0, |at| at + 1);
        let start = start.max(self.floor);
        // A line longer than a row keeps its full rows where they are.
        let (mut from, mut col) = (start, 0);
        for (at, c) in slice(&self.out, start, self.out.len()).char_indices() {
            let wide = if c == '\t' { 8 - col % 8 } else { width(c) };
            if col + wide > WIDTH {
                (from, col) = (start + at, 0);
            }
            col += wide;
        }
        if from > start {
            self.floor = from;
        }
        let row = Row::of(slice(&self.out, from, self.out.len()), End::Open);
        self.out.truncate(from);
        self.row = 0;
        self.place(row.cells.len());
        self.rows.push_back(row);
    }

    pub(super) fn up(&mut self, count: usize) {
        self.enter();
        let count = count.min(REACHABLE);
        while self.row < count {
            let row = self.pull().unwrap_or_else(|| Row::new(true));
            self.rows.push_front(row);
            self.row += 1;
            self.saved = self.saved.map(|(row, col)| (row + 1, col));
        }
        self.row -= count;
        self.since_vertical = Some(0);
        self.place(self.col);
    }

    pub(super) fn down(&mut self, count: usize) {
        self.enter();
        self.row += count.min(REACHABLE);
        while self.rows.len() <= self.row {
            self.rows.push_back(Row::new(true));
        }
        self.since_vertical = Some(0);
        self.place(self.col);
        if self.row > 4 * REACHABLE {
            self.flush(REACHABLE);
        }
    }

    /// Takes the last finished line back from `out`.
    fn pull(&mut self) -> Option<Row> {
        let line = self.out.strip_suffix('\n')?;
        let start = memchr::memrchr(b'\n', line.as_bytes()).map_or(0, |at| at + 1);
        let shown = slice(line, start, line.len()).trim_end_matches('\r');
        if start < self.floor || shown.len() > WIDTH / 2 {
            return None;
        }
        let returns = line.len() - start - shown.len();
        let row = Row::of(shown, End::Line(returns));
        self.out.truncate(start);
        Some(row)
    }

    /// Puts the cursor at the start of an unused row below everything.
    pub(super) fn fresh_row(&mut self) {
        self.enter();
        self.row = self.rows.len() - 1;
        self.place(0);
        if !self.rows[self.row].is_blank() {
            self.line_end(End::Line(0));
        }
    }
}
