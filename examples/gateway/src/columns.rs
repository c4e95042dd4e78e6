//! Text in columns that fits the terminal.

use console::{Alignment, measure_text_width, pad_str, truncate_str};

const GAP: &str = "  ";
/// No column is made narrower than this.
const LEAST: usize = 8;

/// Lines of cells, one below the other. Columns in `right` end at their right edge. With a `width`, the columns in
/// `flexible` are cut, the first one first, until the lines fit or all are as narrow as they get.
pub(crate) fn columns<const N: usize>(
    lines: &[[String; N]],
    right: &[usize],
    flexible: &[usize],
    width: Option<usize>,
) -> String {
    let mut widths = [0; N];
    for line in lines {
        for (width, cell) in widths.iter_mut().zip(line) {
            *width = measure_text_width(cell).max(*width);
        }
    }
    let whole = widths.iter().sum::<usize>() + GAP.len() * N.saturating_sub(1);
    let mut excess = width.map_or(0, |width| whole.saturating_sub(width));
    for column in flexible {
        if let Some(width) = widths.get_mut(*column) {
            let cut = excess.min(width.saturating_sub(LEAST));
            *width -= cut;
            excess -= cut;
        }
    }
    lines.iter().map(|line| one(line, &widths, right)).collect()
}

fn one<const N: usize>(cells: &[String; N], widths: &[usize; N], right: &[usize]) -> String {
    let mut line = String::new();
    for (column, (cell, width)) in cells.iter().zip(widths).enumerate() {
        let alignment = if right.contains(&column) { Alignment::Right } else { Alignment::Left };
        let cell = truncate_str(cell, *width, "...");
        line.push_str(if column > 0 { GAP } else { "" });
        line.push_str(&pad_str(&cell, *width, alignment, None));
    }
    line.truncate(line.trim_end().len());
    line.push('\n');
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cuts_in_the_order_given() {
        let lines = [["id", "n", "words"], ["a", "12", "some words, and more of them"]]
            .map(|line| line.map(str::to_owned));
        let whole = "id   n  words\na   12  some words, and more of them\n";
        assert_eq!(columns(&lines, &[1], &[2], None), whole);
        assert_eq!(columns(&lines, &[1], &[2], Some(80)), whole);
        assert_eq!(columns(&lines, &[1], &[2], Some(20)), "id   n  words\na   12  some word...\n");
        assert_eq!(columns(&lines, &[1], &[2], Some(1)), "id   n  words\na   12  some ...\n");
    }
}
