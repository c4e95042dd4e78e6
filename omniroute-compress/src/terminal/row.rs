//! One row of the replayed screen: cells, what was written last, its line end.

use super::held::Held;

/// Width of a row in cells; longer lines continue on a joined row.
pub(crate) const WIDTH: usize = 1024;
/// A cell nothing was written to, or that was erased.
const GAP: u32 = 0x11_0000;
/// A cell covered by the tab or the wide character before it.
const FILL: u32 = 0x11_0001;
const TAB: u32 = 9;
const TAB_STOP: usize = 8;
/// Most blanks that stand for a gap.
pub(crate) const WIDEST_GAP: usize = 4;

/// How a row ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum End {
    /// Nothing has ended it yet.
    Open,
    /// It was full; the next row belongs to the same line.
    Joined,
    /// That many carriage returns and a line feed.
    Line(usize),
}

/// One row.
#[derive(Debug)]
pub(crate) struct Row {
    pub(crate) cells: Vec<u32>,
    /// Cells written since the last loss: first and one past the last.
    pub(crate) fresh: (usize, usize),
    pub(crate) held: Held,
    /// Bytes from an incomplete escape sequence to the end of the line.
    pub(crate) raw: String,
    pub(crate) end: End,
    /// Exists only because the cursor passed; not shown until written.
    pub(crate) passed: bool,
}

impl Row {
    pub(crate) fn new(passed: bool) -> Self {
        Self {
            cells: Vec::new(),
            fresh: (0, 0),
            held: Held::default(),
            raw: String::new(),
            end: End::Open,
            passed,
        }
    }

    /// A row that shows `text`, which holds no line end.
    pub(crate) fn of(text: &str, end: End) -> Self {
        let mut row = Self::new(false);
        for c in text.chars() {
            row.put(row.cells.len(), c);
        }
        row.fresh = (0, row.cells.len());
        row.end = end;
        row
    }

    /// True when nothing is visible on the row.
    pub(crate) fn is_blank(&self) -> bool {
        self.raw.is_empty() && !self.shows(0, usize::MAX)
    }

    /// True when a cell of the range shows something.
    pub(crate) fn shows(&self, from: usize, to: usize) -> bool {
        let to = to.min(self.cells.len());
        let cells = self.cells.get(from..to).unwrap_or_default();
        cells.iter().any(|&cell| visible(cell))
    }

    /// True when a cell of the range is an ASCII letter.
    pub(crate) fn has_letters(&self, from: usize, to: usize) -> bool {
        let cells = self.cells.get(from..to.min(self.cells.len())).unwrap_or_default();
        cells.iter().any(|&cell| matches!(cell, 0x41..=0x5a | 0x61..=0x7a))
    }

    /// True when writing `c` at `col` would take away something visible.
    pub(crate) fn would_lose(&self, col: usize, c: char) -> bool {
        let old = self.cells.get(col).copied().unwrap_or(GAP);
        if old == FILL {
            return self.head(col).is_some_and(|h| self.cells[h] != TAB);
        }
        if visible(old) && old != u32::from(c) {
            return true;
        }
        width(c) == 2 && self.shows(col + 1, col + 2) && old != u32::from(c)
    }

    /// Writes `c` at `col` and returns the column after it.
    pub(crate) fn put(&mut self, col: usize, c: char) -> usize {
        if self.cells.len() < col {
            self.cells.resize(col, GAP);
        }
        if c == '\t' {
            let stop = (col / TAB_STOP + 1) * TAB_STOP;
            if col == self.cells.len() {
                self.cells.push(TAB);
                self.cells.resize(stop, FILL);
            }
            return stop;
        }
        let end = col + width(c);
        if self.cells.get(col) == Some(&u32::from(c)) {
            return end;
        }
        for at in col..end {
            self.free(at);
        }
        self.cells[col] = u32::from(c);
        if end > col + 1 {
            self.cells[col + 1] = FILL;
        }
        end
    }

    /// Erases the cells of a range.
    pub(crate) fn erase(&mut self, from: usize, to: usize) {
        let to = to.min(self.cells.len());
        if from >= to {
            return;
        }
        self.free(from);
        self.free(to - 1);
        self.cells[from..to].fill(GAP);
        if to == self.cells.len() {
            self.cells.truncate(from);
        }
    }

    /// Appends the visible text of the cells in a range.
    pub(crate) fn render(&self, from: usize, to: usize, out: &mut String) {
        self.render_gaps(from, to, WIDEST_GAP, out);
    }

    /// The same with at most `widest` blanks for a gap; true when one was
    /// shortened, so that columns of the text are not those of the cells.
    pub(crate) fn render_gaps(&self, from: usize, to: usize, widest: usize, out: &mut String) -> bool {
        let to = to.min(self.cells.len());
        let mut gap = 0;
        let mut shortened = false;
        for &cell in self.cells.get(from..to).unwrap_or_default() {
            if cell == GAP {
                gap += 1;
            } else if let Some(c) = char::from_u32(cell) {
                for _ in 0..gap.min(widest) {
                    out.push(' ');
                }
                shortened |= gap > widest;
                gap = 0;
                out.push(c);
            }
        }
        shortened
    }

    /// Makes the cell at `at` exist and belong to no tab or wide character.
    fn free(&mut self, at: usize) {
        if at >= self.cells.len() {
            self.cells.resize(at + 1, GAP);
            return;
        }
        let old = self.cells[at];
        let follows = self.cells.get(at + 1) == Some(&FILL);
        if old == FILL {
            if let Some(head) = self.head(at) {
                let tab = self.cells[head] == TAB;
                self.cells[head..at].fill(GAP);
                if follows && tab {
                    self.cells[at + 1] = TAB;
                }
            }
        } else if follows {
            self.cells[at + 1] = if old == TAB { TAB } else { GAP };
        }
        self.cells[at] = GAP;
    }

    /// The cell whose tab or wide character covers `at`.
    fn head(&self, at: usize) -> Option<usize> {
        let cells = self.cells.get(..at)?;
        cells.iter().rposition(|&cell| cell != FILL)
    }
}

fn visible(cell: u32) -> bool {
    cell != GAP && cell != FILL && cell != TAB && cell != u32::from(' ')
}

/// Cells of a character: 2 for the wide blocks of East Asian scripts and for
/// most pictographs, else 1.
pub(crate) fn width(c: char) -> usize {
    let code = u32::from(c);
    if code < 0x1100 {
        return 1;
    }
    let wide = matches!(code,
        0x1100..=0x115f | 0x2e80..=0x303e | 0x3041..=0x4dbf | 0x4e00..=0xa4cf
        | 0xac00..=0xd7a3 | 0xf900..=0xfaff | 0xfe30..=0xfe6f | 0xff00..=0xff60
        | 0xffe0..=0xffe6 | 0x1f300..=0x1f64f | 0x1f680..=0x1f6ff
        | 0x1f900..=0x1f9ff | 0x20000..=0x3fffd);
    if wide { 2 } else { 1 }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(row: &Row) -> String {
        let mut out = String::new();
        row.render(0, usize::MAX, &mut out);
        out
    }

    #[test]
    fn tabs_and_wide_characters_give_way_cell_by_cell() {
        let mut row = Row::of("a\tb", End::Open);
        assert_eq!((row.cells.len(), shown(&row)), (9, "a\tb".into()));
        row.put(1, 'x');
        assert_eq!(shown(&row), "ax\tb");
        row.put(4, 'y');
        assert_eq!(shown(&row), "ax  y\tb");
        let mut wide = Row::of("漢字", End::Open);
        assert!(wide.would_lose(1, 'x'));
        wide.put(1, 'x');
        assert_eq!(shown(&wide), " x字");
        wide.put(0, 'a');
        wide.put(1, '漢');
        assert_eq!(shown(&wide), "a漢");
    }

    #[test]
    fn erasing_keeps_what_is_outside() {
        let mut row = Row::of("abcdef", End::Open);
        row.erase(1, 3);
        assert_eq!(shown(&row), "a  def");
        row.erase(3, usize::MAX);
        assert_eq!(shown(&row), "a");
        row.erase(0, 9);
        assert!(row.is_blank() && row.cells.is_empty());
    }

    #[test]
    fn gaps_are_short() {
        let mut row = Row::of("a", End::Open);
        row.put(40, 'b');
        assert_eq!(shown(&row), "a    b");
    }
}
