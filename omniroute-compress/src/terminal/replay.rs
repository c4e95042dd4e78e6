//! Replays a text onto rows of cells and writes out what stays visible.
//!
//! Text is appended to `out` as long as the cursor stands at its end. The
//! first move pulls the current line (for a move up, the lines above) into
//! `rows`; they go back to `out` when the cursor has left them for good.

mod emit;
mod moves;

use std::collections::VecDeque;

use emit::hold;

use super::escape::{self, Sequence};
use super::row::{End, Row, WIDTH, width};
use super::scan;

/// Rows that stay reachable for a move up.
const REACHABLE: usize = 128;

/// The state of one replay.
#[derive(Debug)]
pub(crate) struct Replay<'a> {
    text: &'a str,
    /// Write out as few bytes as possible, see [`hold`].
    tight: bool,
    /// The finished text; complete when the replay has run.
    pub(crate) out: String,
    /// Sequences and silent bytes taken away.
    pub(crate) escapes: u32,
    /// Frames overwritten or erased.
    pub(crate) overwrites: u32,
    /// Frames written out as lines of their own.
    pub(crate) kept: u32,
    /// Offset in `out` before which nothing may be pulled back.
    floor: usize,
    rows: VecDeque<Row>,
    row: usize,
    col: usize,
    /// Column at which the cursor was last placed.
    placed: usize,
    /// The current placement has already lost something.
    lost: bool,
    stepped_back: bool,
    /// New rows since the last vertical move; `None` without one.
    since_vertical: Option<usize>,
    saved: Option<(usize, usize)>,
    link: Option<(&'a str, String)>,
}

impl<'a> Replay<'a> {
    pub(crate) fn new(text: &'a str, tight: bool) -> Self {
        Self {
            text,
            tight,
            out: String::with_capacity(text.len()),
            escapes: 0,
            overwrites: 0,
            kept: 0,
            floor: 0,
            rows: VecDeque::new(),
            row: 0,
            col: 0,
            placed: 0,
            lost: false,
            stepped_back: false,
            since_vertical: None,
            saved: None,
            link: None,
        }
    }

    /// Replays the whole text, whose first control byte stands at `first`.
    pub(crate) fn run(mut self, first: usize) -> Self {
        let bytes = self.text.as_bytes();
        let (mut at, mut next) = (0, first);
        loop {
            self.print(slice(self.text, at, next));
            if next >= bytes.len() {
                break;
            }
            at = self.control(next);
            next = scan::next_control(bytes, at).unwrap_or(bytes.len());
        }
        self.close_link();
        self.finish();
        self
    }

    /// Acts on the control at `at` and returns the offset after it.
    fn control(&mut self, at: usize) -> usize {
        let bytes = self.text.as_bytes();
        match bytes[at] {
            b'\r' => {
                self.enter();
                self.place(0);
                at + scan::returns(bytes, at)
            }
            0x08 => {
                self.enter();
                self.place(self.col.saturating_sub(1));
                self.stepped_back = true;
                at + 1
            }
            0x1b | 0xc2 => match escape::read(self.text, at) {
                Some((sequence, end)) => {
                    self.escapes = self.escapes.saturating_add(1);
                    self.act(sequence);
                    end
                }
                None => self.keep_rest(at),
            },
            _ => {
                self.escapes = self.escapes.saturating_add(1);
                at + 1
            }
        }
    }

    /// Keeps the rest of the line as it is and returns its end.
    fn keep_rest(&mut self, at: usize) -> usize {
        let rest = self.text.as_bytes().get(at..).unwrap_or_default();
        let end = at + memchr::memchr(b'\n', rest).unwrap_or(rest.len());
        let rest = slice(self.text, at, end);
        match self.rows.get_mut(self.row) {
            Some(row) => row.raw.push_str(rest),
            None => {
                self.out.push_str(rest);
                self.floor = self.out.len();
            }
        }
        end
    }

    fn act(&mut self, sequence: Sequence<'a>) {
        match sequence {
            Sequence::Csi(params, last) if !matches!(params.first(), Some(b'<'..=b'?')) => {
                self.act_csi(params, last);
            }
            Sequence::Link(url) => {
                self.close_link();
                if !url.is_empty() {
                    self.link = Some((url, String::new()));
                }
            }
            Sequence::Save => {
                self.enter();
                self.saved = Some((self.row, self.col));
            }
            Sequence::Restore => match self.saved {
                Some((row, col)) if !self.rows.is_empty() && row == self.row => self.place(col),
                Some(_) => self.fresh_row(),
                None => {}
            },
            Sequence::Csi(..) | Sequence::Silent => {}
        }
    }

    fn act_csi(&mut self, params: &[u8], last: u8) {
        let count = escape::parameter(params, 0, 1);
        match last {
            b'K' => self.erase_line(escape::parameter(params, 0, 0)),
            b'G' | b'`' => {
                self.enter();
                self.place(count - 1);
            }
            b'C' | b'a' => {
                self.enter();
                self.place(self.col + count);
            }
            b'D' => {
                self.enter();
                self.place(self.col.saturating_sub(count));
            }
            b'A' => self.up(count),
            b'F' => {
                self.up(count);
                self.place(0);
            }
            b'B' | b'e' => self.down(count),
            b'E' => {
                self.down(count);
                self.place(0);
            }
            b'H' | b'f' | b'd' => self.fresh_row(),
            b'J' => match escape::parameter(params, 0, 0) {
                0 => self.erase_below(),
                2 | 3 => self.fresh_row(),
                _ => {}
            },
            b's' => self.act(Sequence::Save),
            b'u' => self.act(Sequence::Restore),
            _ => {}
        }
    }

    fn close_link(&mut self) {
        if let Some((url, shown)) = self.link.take()
            && shown.trim() != url
        {
            self.print(" (");
            self.print(url);
            self.print(")");
        }
    }

    /// Prints text that holds no control, only line ends.
    fn print(&mut self, text: &str) {
        if let Some((_, shown)) = &mut self.link {
            shown.push_str(text);
        }
        let mut rest = text;
        while !self.rows.is_empty() && !rest.is_empty() {
            let cut = memchr::memchr(b'\n', rest.as_bytes());
            let (line, after) = rest.split_at(cut.map_or(rest.len(), |at| at + 1));
            let body = line.strip_suffix('\n').unwrap_or(line);
            let shown = if cut.is_some() { body.trim_end_matches('\r') } else { body };
            rest = after;
            let mut chars = shown.chars();
            while let Some(c) = chars.next() {
                self.write(c);
                if self.rows.is_empty() {
                    self.out.push_str(chars.as_str());
                    break;
                }
            }
            if cut.is_some() {
                let returns = body.len() - shown.len();
                if self.rows.is_empty() {
                    self.out.push_str(line.split_at(shown.len()).1);
                } else {
                    self.line_end(End::Line(returns));
                }
            }
        }
        self.out.push_str(rest);
    }

    /// Writes one character at the cursor.
    fn write(&mut self, c: char) {
        if self.col + width(c) > WIDTH {
            self.line_end(End::Joined);
            if self.rows.is_empty() {
                self.out.push(c);
                return;
            }
        }
        let Some(row) = self.rows.get_mut(self.row) else {
            return;
        };
        let overstrike = std::mem::take(&mut self.stepped_back);
        if c != '\t' && row.would_lose(self.col, c) {
            let old = row.cells.get(self.col).copied();
            if overstrike && c == '_' {
                self.col += 1;
                return;
            }
            if !(overstrike && old == Some(u32::from('_'))) {
                self.lose();
            }
        }
        let (placed, col) = (self.placed, self.col);
        let Some(row) = self.rows.get_mut(self.row) else {
            return;
        };
        self.col = row.put(col, c);
        let (from, to) = row.fresh;
        row.fresh = if from >= to { (placed.min(col), self.col) } else { (from.min(col), to.max(self.col)) };
        row.passed = false;
    }

    /// Moves the cursor to a column of its row.
    fn place(&mut self, col: usize) {
        self.col = col.min(WIDTH - 1);
        self.placed = self.col;
        self.lost = false;
        self.stepped_back = false;
    }

    /// Something visible on the cursor's row is about to go.
    fn lose(&mut self) {
        if std::mem::replace(&mut self.lost, true) {
            return;
        }
        self.overwrites = self.overwrites.saturating_add(1);
        if let Some(row) = self.rows.get_mut(self.row) {
            hold(row, (self.placed, self.col), self.tight);
            row.fresh = (self.placed, self.placed);
        }
    }

    /// Ends the cursor's row and goes to the next.
    fn line_end(&mut self, end: End) {
        if let Some(row) = self.rows.get_mut(self.row) {
            row.passed = false;
            if !matches!(row.end, End::Line(_)) {
                row.end = end;
            }
        }
        self.row += 1;
        self.place(0);
        if self.row < self.rows.len() {
            return;
        }
        match &mut self.since_vertical {
            Some(rows) if *rows < REACHABLE => {
                *rows += 1;
                self.rows.push_back(Row::new(false));
                if self.row > 2 * REACHABLE {
                    self.flush(REACHABLE);
                }
            }
            _ => self.flush(self.rows.len()),
        }
    }

    fn erase_line(&mut self, mode: usize) {
        if mode == 0 && self.rows.is_empty() {
            return;
        }
        self.enter();
        let (from, to) = match mode {
            0 => (self.col, usize::MAX),
            1 => (0, self.col + 1),
            _ => (0, usize::MAX),
        };
        self.erase(from, to);
    }

    fn erase(&mut self, from: usize, to: usize) {
        if self.rows[self.row].shows(from, to) {
            self.lose();
        }
        self.rows[self.row].erase(from, to);
    }

    fn erase_below(&mut self) {
        if self.rows.is_empty() {
            return;
        }
        self.erase(self.col, usize::MAX);
        let mut below = self.rows.split_off(self.row + 1);
        for row in &mut below {
            if row.is_blank() {
                continue;
            }
            self.overwrites = self.overwrites.saturating_add(1);
            hold(row, (0, 0), self.tight);
            let here = &mut self.rows[self.row];
            here.raw.push_str(&row.raw);
        }
        for row in &below {
            self.rows[self.row].held.absorb(&row.held);
        }
    }
}

/// The part of a text between two offsets that lie on character boundaries.
fn slice(text: &str, from: usize, to: usize) -> &str {
    text.get(from..to).unwrap_or_default()
}
