//! Coverage tables: coverage.py and the tables of jest, vitest and c8.

use std::ops::Range;

use super::lines::{is_blank, is_ruler};
use crate::rtk::kit::{Draft, Level, Output, What};

/// Leaves out rulers and the rows of files that are covered completely. Totals, headings and all other rows stay.
pub(crate) fn table(out: &Output<'_>, draft: &mut Draft, range: Range<usize>) {
    if out.level == Level::Minimal {
        return;
    }
    for i in range {
        let line = out.line(i);
        if is_ruler(line) || is_cross(line) {
            draft.noise(i);
        } else if is_full(line) {
            draft.drop(i, What::Files);
        }
    }
}

/// `----------|---------|` of the tables with columns.
pub(crate) fn is_cross(line: &str) -> bool {
    line.len() > 8 && line.starts_with('-') && line.bytes().all(|b| matches!(b, b'-' | b'|' | b'+' | b' '))
}

/// A row of a single file with 100 % in every column that is a share.
fn is_full(line: &str) -> bool {
    if is_blank(line) || line.starts_with("TOTAL") || line.starts_with("All files") {
        return false;
    }
    if line.contains('|') {
        let mut cells = line.split('|').map(str::trim);
        let name = cells.next().unwrap_or("");
        let shares: Vec<&str> = cells.filter(|c| !c.is_empty()).collect();
        return !name.is_empty() && shares.len() >= 3 && shares.iter().all(|c| *c == "100");
    }
    line.trim_end().ends_with(" 100%")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_full_rows_go() {
        for (line, full) in [
            ("app/a.py   10   0   100%", true),
            ("app/a.py   10   1    90%   7", false),
            ("TOTAL      10   0   100%", false),
            (" d.js     |     100 |      100 |     100 |     100 |                   ", true),
            (" d.js     |     100 |       50 |     100 |     100 | 3 ", false),
            ("All files |     100 |      100 |     100 |     100 |", false),
            ("File      | % Stmts | % Branch | % Funcs | % Lines | Uncovered Line #s ", false),
        ] {
            assert_eq!(is_full(line), full, "{line}");
        }
        assert!(is_cross("----------|---------|-----") && !is_cross("- a | b"));
    }
}
