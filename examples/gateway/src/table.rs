//! A table of messages that fits the terminal.

use console::{Alignment, measure_text_width, pad_str, truncate_str};

use crate::report::grouped;

/// One line of the table.
#[derive(Debug, Clone, serde::Serialize)]
pub(crate) struct Row {
    /// Place in the list of messages; none for what stands outside it.
    pub(crate) index: Option<u32>,
    /// Who speaks, or `tools` for the definitions of tools.
    pub(crate) role: &'static str,
    /// Tools called or answered, in order, each once.
    pub(crate) tools: Vec<String>,
    /// Characters of all its texts.
    pub(crate) characters: u64,
    /// Tokens of all its texts.
    pub(crate) tokens: u64,
}

/// The rows under a heading and the total under the rows. `estimated` marks the counts; with a `width` no line is
/// longer, as far as the tools can be shortened.
pub(crate) fn render(rows: &[Row], estimated: bool, width: Option<usize>) -> String {
    let total = |value: fn(&Row) -> u64| rows.iter().map(value).sum::<u64>();
    let heading = [
        "#".to_owned(),
        "role".to_owned(),
        "tool".to_owned(),
        "characters".to_owned(),
        if estimated { "~tokens" } else { "tokens" }.to_owned(),
    ];
    let last = [
        "".to_owned(),
        "total".to_owned(),
        "".to_owned(),
        grouped(total(|r| r.characters)),
        grouped(total(|r| r.tokens)),
    ];
    let mut lines = vec![heading];
    lines.extend(rows.iter().map(cells));
    lines.push(last);

    let mut widths = [0; 5];
    for line in &lines {
        for (width, cell) in widths.iter_mut().zip(line) {
            *width = measure_text_width(cell).max(*width);
        }
    }
    if let Some(width) = width {
        let others = widths.iter().sum::<usize>() - widths[TOOL] + GAP.len() * (widths.len() - 1);
        widths[TOOL] = widths[TOOL].min(width.saturating_sub(others)).max("tool".len());
    }
    lines.iter().map(|line| one(line, &widths)).collect()
}

const TOOL: usize = 2;
const GAP: &str = "  ";

fn cells(row: &Row) -> [String; 5] {
    [
        row.index.map_or("-".to_owned(), |index| index.to_string()),
        row.role.to_owned(),
        row.tools.join(", "),
        grouped(row.characters),
        grouped(row.tokens),
    ]
}

fn one(cells: &[String; 5], widths: &[usize; 5]) -> String {
    let mut line = String::new();
    for (column, (cell, width)) in cells.iter().zip(widths).enumerate() {
        let left = matches!(column, 1 | TOOL);
        let cell = truncate_str(cell, *width, "...");
        line.push_str(if column > 0 { GAP } else { "" });
        line.push_str(&pad_str(&cell, *width, if left { Alignment::Left } else { Alignment::Right }, None));
    }
    line.push('\n');
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fits_the_width_by_shortening_the_tools() {
        let row = |index, tools: &[&str]| Row {
            index,
            role: "assistant",
            tools: tools.iter().map(|t| (*t).to_owned()).collect(),
            characters: 12_345,
            tokens: 4000,
        };
        let rows = [row(None, &[]), row(Some(7), &["read_file", "search_in_files", "\u{8cc7}\u{6599}"])];
        assert_eq!(
            render(&rows, true, None),
            "\
#  role       tool                              characters  ~tokens
-  assistant                                        12 345    4 000
7  assistant  read_file, search_in_files, \u{8cc7}\u{6599}      12 345    4 000
   total                                            24 690    8 000
"
        );
        for width in [42, 50, 60, 80] {
            let table = render(&rows, false, Some(width));
            assert!(table.lines().all(|line| measure_text_width(line) <= width), "{width}\n{table}");
        }
        assert!(render(&rows, true, Some(1)).lines().all(|line| measure_text_width(line) < 50));
    }
}
