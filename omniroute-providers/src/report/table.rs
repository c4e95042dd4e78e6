//! Tables that fit a screen.

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// A column of a table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Column {
    title: &'static str,
    right: bool,
    shrinks: bool,
}

impl Column {
    /// Text, from the left.
    pub const fn left(title: &'static str) -> Column {
        Column { title, right: false, shrinks: false }
    }

    /// Numbers, from the right.
    pub const fn right(title: &'static str) -> Column {
        Column { title, right: true, shrinks: false }
    }

    /// May be cut where the screen is too narrow.
    #[must_use]
    pub const fn shrinks(self) -> Column {
        Column { shrinks: true, ..self }
    }
}

/// Rows of cells under a heading.
#[derive(Debug, Clone)]
pub struct Table {
    columns: Vec<Column>,
    rows: Vec<Vec<String>>,
}

impl Table {
    /// An empty table.
    pub fn new(columns: impl IntoIterator<Item = Column>) -> Table {
        Table { columns: columns.into_iter().collect(), rows: Vec::new() }
    }

    /// Adds a row. Missing cells are empty, further ones are left out.
    pub fn row(&mut self, cells: impl IntoIterator<Item = String>) {
        let cells = cells.into_iter().map(|cell| harmless(&cell)).take(self.columns.len());
        self.rows.push(cells.collect());
    }

    /// The text: heading, if any column has one, and rows, two blanks between columns, none at the end of a line. With a
    /// `width` no line is longer, as far as the columns that shrink allow it.
    pub fn text(&self, width: Option<usize>) -> String {
        let heading: Vec<String> = self.columns.iter().map(|c| c.title.to_owned()).collect();
        let titled = heading.iter().any(|title| !title.is_empty());
        let lines = || titled.then_some(&heading).into_iter().chain(&self.rows);

        let mut widths = vec![0; self.columns.len()];
        for line in lines() {
            for (width, cell) in widths.iter_mut().zip(line) {
                *width = cell.width().max(*width);
            }
        }
        if let Some(width) = width {
            self.shrink(&mut widths, width);
        }
        let mut out = String::new();
        for line in lines() {
            let start = out.len();
            for (at, (column, width)) in self.columns.iter().zip(&widths).enumerate() {
                let cell = cut(line.get(at).map_or("", String::as_str), *width);
                let gap = if at > 0 { GAP.len() } else { 0 };
                let blanks = width.saturating_sub(cell.width());
                let (before, after) = if column.right { (gap + blanks, 0) } else { (gap, blanks) };
                out.extend(std::iter::repeat_n(' ', before));
                out.push_str(&cell);
                out.extend(std::iter::repeat_n(' ', after));
            }
            let end = out.trim_end_matches(' ').len().max(start);
            out.truncate(end);
            out.push('\n');
        }
        out
    }

    /// Takes what is too much from the widest columns that shrink, down to their titles or four columns.
    fn shrink(&self, widths: &mut [usize], most: usize) {
        let sum = widths.iter().sum::<usize>() + GAP.len() * widths.len().saturating_sub(1);
        let mut excess = sum.saturating_sub(most);
        while excess > 0 {
            let least = |column: &Column| column.title.width().max(4);
            let wide = self.columns.iter().zip(widths.iter_mut());
            let widest = wide.filter(|(c, w)| c.shrinks && **w > least(c)).max_by_key(|(_, w)| **w);
            let Some((column, width)) = widest else { return };
            // As far as needed; the next round looks at the others again.
            let step = excess.min(*width - least(column)).min((*width / 4).max(1));
            *width -= step;
            excess -= step;
        }
    }
}

const GAP: &str = "  ";

/// Without characters that move the cursor, hide text or turn its direction.
pub(crate) fn harmless(text: &str) -> String {
    let steers = |c: char| {
        c.is_control()
            || matches!(c, '\u{ad}' | '\u{61c}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}')
    };
    text.chars().map(|c| if steers(c) { '?' } else { c }).collect()
}

/// `text` in at most `width` columns, with dots where something is missing.
pub(crate) fn cut(text: &str, width: usize) -> String {
    if text.width() <= width {
        return text.to_owned();
    }
    let dots = if width > 3 { "..." } else { "" };
    let mut left = width - dots.len();
    let mut out = String::new();
    for c in text.chars() {
        let wide = c.width().unwrap_or(0);
        if wide > left {
            break;
        }
        left -= wide;
        out.push(c);
    }
    out.push_str(dots);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table() -> Table {
        let mut table =
            Table::new([Column::left("name").shrinks(), Column::right("tokens"), Column::left("terms")]);
        table.row(["mistral", "1 000", "caution"].map(str::to_owned));
        table.row(["\u{8cc7}\u{6599}\u{5eab} and a long name", "7"].map(str::to_owned));
        table.row(["a\u{1b}[2J\u{202e}b", "", "avoid", "more"].map(str::to_owned));
        table
    }

    #[test]
    fn lines_up_by_the_width_of_characters() {
        assert_eq!(
            table().text(None),
            "\
name                    tokens  terms
mistral                  1 000  caution
\u{8cc7}\u{6599}\u{5eab} and a long name       7
a?[2J?b                         avoid
"
        );
    }

    #[test]
    fn fits_the_width() {
        assert_eq!(
            table().text(Some(30)),
            "\
name           tokens  terms
mistral         1 000  caution
\u{8cc7}\u{6599}\u{5eab} and...       7
a?[2J?b                avoid
"
        );
        for width in 0..60 {
            let text = table().text(Some(width));
            let longest = text.lines().map(UnicodeWidthStr::width).max().unwrap();
            assert!(longest <= width.max(21), "{width}\n{text}");
            assert!(text.lines().all(|line| !line.ends_with(' ')));
        }
        let mut plain = Table::new([Column::left(""), Column::right("")]);
        plain.row(["a".to_owned(), "1".to_owned()]);
        assert_eq!(plain.text(None), "a  1\n");
        assert_eq!(Table::new([]).text(Some(3)), "");
    }

    #[test]
    fn cuts_between_characters() {
        for (width, text) in [
            (9, "\u{8cc7}\u{6599}\u{5eab}abc"),
            (8, "\u{8cc7}\u{6599}..."),
            (4, "..."),
            (3, "\u{8cc7}"),
            (1, ""),
            (0, ""),
        ] {
            let full = "\u{8cc7}\u{6599}\u{5eab}abc";
            assert_eq!(cut(full, width), text, "{width}");
        }
    }
}
