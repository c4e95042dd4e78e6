//! File statistics: `path | 12 +++--`, totals, and the lines on new, deleted and renamed files under them.

use std::fmt::Write as _;

use crate::rtk::kit::{Draft, Level, Output};

use super::bytes::{is_short, number};
use super::names::groups;

/// One row.
#[derive(Debug, Clone, Copy)]
pub(super) struct Row<'t> {
    path: &'t str,
    change: Change<'t>,
}

#[derive(Debug, Clone, Copy)]
enum Change<'t> {
    /// Lines changed, `+` and `-` of the bar.
    Lines(u64, u64, u64),
    /// `Bin`, `Unmerged`.
    Other(&'t str),
}

/// Reads ` path | 12 +++--` or `9<tab>3<tab>path`.
pub(super) fn row(line: &str) -> Option<Row<'_>> {
    let Some(line) = line.strip_prefix(' ') else { return numbers(line) };
    let bar = memchr::memrchr(b'|', line.as_bytes())?;
    let (path, change) = line.split_at_checked(bar)?;
    let (path, change) = (path.strip_suffix(' ')?.trim(), change.strip_prefix("| ")?.trim());
    if path.is_empty() || path.starts_with('|') || path.starts_with("* ") {
        return None;
    }
    if change.starts_with("Bin ") {
        return None; // sizes before and after: the line stays
    }
    if change.starts_with("Bin") || change == "Unmerged" {
        return Some(Row { path, change: Change::Other(change) });
    }
    let (count, bar) = number(change.as_bytes())?;
    let bar = bar.trim_ascii();
    let plus = bar.iter().take_while(|b| **b == b'+').count();
    let minus = bar.iter().skip(plus).take_while(|b| **b == b'-').count();
    let all = plus + minus == bar.len();
    all.then_some(Row { path, change: Change::Lines(count, plus as u64, minus as u64) })
}

/// Reads `9<tab>3<tab>path`; both numbers are `-` for a binary file.
fn numbers(line: &str) -> Option<Row<'_>> {
    let (plus, rest) = line.split_once('\t')?;
    let (minus, path) = rest.split_once('\t')?;
    if path.is_empty() || path.contains('\t') {
        return None;
    }
    if (plus, minus) == ("-", "-") {
        return Some(Row { path, change: Change::Other("Bin") });
    }
    let count = |text: &str| number(text.as_bytes()).filter(|(_, rest)| rest.is_empty()).map(|(n, _)| n);
    let (plus, minus) = (count(plus)?, count(minus)?);
    Some(Row { path, change: Change::Lines(plus + minus, plus, minus) })
}

/// ` 3 files changed, 4 insertions(+)`.
pub(super) fn is_total(line: &str) -> bool {
    let rest = number(line.trim_start().as_bytes()).map_or(&[][..], |(_, rest)| rest);
    line.starts_with(' ') && (rest.starts_with(b" file changed") || rest.starts_with(b" files changed"))
}

/// The rows from line `at` on; empty if none begins there.
pub(super) fn rows<'t>(out: &Output<'t>, at: usize) -> Vec<Row<'t>> {
    (at..out.len()).map_while(|i| row(out.line(i))).collect()
}

/// Appends rows, grouped by directory, every one with its counts.
pub(super) fn write(text: &mut String, rows: &[Row<'_>]) {
    groups(
        text,
        " ",
        rows,
        |r| r.path,
        |text, row, name| {
            text.push_str(name);
            text.push(' ');
            let _ = match row.change {
                Change::Other(what) => write!(text, "{what}"),
                Change::Lines(n, 0, 0) => write!(text, "{n}"),
                Change::Lines(n, _, 0) => write!(text, "+{n}"),
                Change::Lines(n, 0, _) => write!(text, "-{n}"),
                Change::Lines(n, plus, minus) if plus + minus == n => write!(text, "+{plus} -{minus}"),
                // The bar was scaled down: only the sum is exact.
                Change::Lines(n, ..) => write!(text, "{n} +-"),
            };
        },
    );
}

/// Marks the statistic that begins at line `at`; the line behind it.
pub(super) fn block(out: &Output<'_>, draft: &mut Draft, at: usize) -> Option<usize> {
    let rows = rows(out, at);
    if rows.is_empty() {
        return summary(out, draft, at);
    }
    let end = at + rows.len();
    if !is_short(out) && out.level != Level::Minimal {
        draft.insert_with(at, |text| write(text, &rows));
        (at..end).for_each(|i| draft.cover(i));
    }
    Some(end)
}

/// Groups ` create mode 100644 dir/name` lines.
fn summary(out: &Output<'_>, draft: &mut Draft, at: usize) -> Option<usize> {
    let (action, path) = mode(out.line(at))?;
    if !path.contains('/') {
        return None;
    }
    let of = |i: usize| mode(out.line(i)).filter(|(a, p)| *a == action && p.contains('/')).map(|(_, p)| p);
    let paths: Vec<&str> = (at..out.len()).map_while(of).collect();
    let end = at + paths.len();
    if paths.len() > 1 && !is_short(out) && out.level != Level::Minimal {
        draft
            .insert_with(at, |text| groups(text, action, &paths, |p| p, |text, _, name| text.push_str(name)));
        (at..end).for_each(|i| draft.cover(i));
    }
    Some(end)
}

/// ` create mode 100644 ` and the path.
fn mode(line: &str) -> Option<(&str, &str)> {
    const ACTIONS: [&str; 2] = [" create mode ", " delete mode "];
    let rest = ACTIONS.iter().find_map(|a| line.strip_prefix(a))?;
    let (bits, path) = rest.split_once(' ')?;
    let known = bits.len() == 6 && bits.bytes().all(|b| b.is_ascii_digit()) && !path.is_empty();
    known.then(|| line.split_at_checked(line.len() - path.len())).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(lines: &str) -> String {
        let rows: Vec<Row<'_>> = lines.lines().map_while(row).collect();
        let mut text = String::new();
        write(&mut text, &rows);
        text
    }

    #[test]
    fn bars_become_counts() {
        for (lines, expected) in [
            (" a.rs | 5 ++---\n", " a.rs +2 -3"),
            (" x/a.rs  |  15 +++++--\n x/b.rs | 3 +++\n y/c | 0\n", " x/: a.rs 15 +-, b.rs +3\n y/c 0"),
            (" x/{a => b}/c | 2 +-\n x/d | Unmerged\n", " x/{a => b}/c +1 -1\n x/d Unmerged"),
            (" .../long/name.rs | 400 ------\n", " .../long/name.rs -400"),
            (" a | b | 1 +\n", " a | b +1"),
            ("9\t3\tx/a\n0\t2\tx/b\n-\t-\tx/c\n0\t0\td\n", " x/: a +9 -3, b -2, c Bin\n d 0"),
        ] {
            assert_eq!(shown(lines), expected, "{lines}");
        }
        for line in [
            "a | 1 +",
            " a | 1 x",
            " a 1 +",
            " | 1 +",
            "",
            " x/d | Bin 0 -> 12 bytes",
            " 3 files changed",
            " | a | 1 +",
        ] {
            assert!(row(line).is_none(), "{line}");
        }
        assert!(
            is_total(" 1 file changed, 2 insertions(+)")
                && !is_total("1 file changed")
                && !is_total(" file changed")
        );
    }
}
