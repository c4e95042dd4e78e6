//! Tables drawn with bars: `psql`, `sqlite3 -box`, `mysql`, Markdown. The drawing goes, every cell stays.

use super::table::omitted;
use crate::rtk::kit::{Draft, Level, Output, Verdict, What};

/// What stands between cells.
const BARS: [char; 3] = ['|', '\u{2502}', '\u{2551}'];

/// Squeezes every drawn table of the output. Lines outside tables stay.
pub(crate) fn render(out: &Output<'_>, draft: &mut Draft) -> Verdict {
    let mut found = expanded(out, draft);
    let mut i = 0;
    while i < out.len() {
        if !is_ruler(out.line(i)) {
            i += 1;
            continue;
        }
        // The ruler under the header, or the frame above it.
        let start = if i > 0 && is_row(out.line(i - 1)) { i - 1 } else { i };
        let mut end = i + 1;
        while end < out.len() && (is_row(out.line(end)) || is_ruler(out.line(end))) {
            end += 1;
        }
        if (i + 1..end).any(|i| is_row(out.line(i))) {
            found = true;
            if out.level > Level::Minimal {
                write(out, draft, start, end);
            }
        }
        i = end;
    }
    if found { Verdict::Done } else { Verdict::NotMine }
}

/// Records one under the other, as `psql -x` shows them: `-[ RECORD 1 ]---` and `column | value`.
fn expanded(out: &Output<'_>, draft: &mut Draft) -> bool {
    let mut inside = false;
    let mut found = false;
    for i in 0..out.len() {
        let line = out.line(i);
        if line.starts_with("-[ RECORD ") {
            (inside, found) = (true, true);
            if out.level > Level::Minimal {
                draft.replace(i, line.split_inclusive(']').next().unwrap_or(line));
            }
        } else if inside && out.level > Level::Minimal {
            match line.split_once('|') {
                Some((column, value)) => draft.replace(i, &format!("{}={}", column.trim_end(), value.trim())),
                None => inside = false,
            }
        }
    }
    found
}

fn write(out: &Output<'_>, draft: &mut Draft, start: usize, end: usize) {
    let rows = (start..end).filter(|i| is_row(out.line(*i))).count().saturating_sub(1);
    let skipped = omitted(rows, out.level.pick(200, 120, 60));
    let mut row = 0_usize;
    for i in start..end {
        let line = out.line(i);
        if is_ruler(line) {
            draft.noise(i);
            continue;
        }
        if row > 0 && skipped.contains(&(row - 1)) {
            draft.drop(i, What::Rows);
        } else {
            draft.cover(i);
            draft.insert_with(i, |text| squeeze(line, text));
        }
        row += 1;
    }
}

/// Cells trimmed, one bar between them, none at the ends. A `+` that marks a wrapped cell stays.
fn squeeze(line: &str, text: &mut String) {
    let inner = line.trim();
    let framed = inner.strip_prefix(BARS).map(|inner| inner.strip_suffix(BARS).unwrap_or(inner));
    let inner = framed.unwrap_or(line);
    for (n, cell) in inner.split(BARS).enumerate() {
        if n > 0 {
            text.push('|');
        }
        text.push_str(cell.trim());
    }
}

/// A line of dashes, crossings and frame characters, with a crossing or a frame in it.
fn is_ruler(line: &str) -> bool {
    let line = line.trim();
    if line.starts_with("-[ ") {
        return false;
    }
    let drawn =
        |c: char| matches!(c, '-' | '+' | '=' | '|' | ':' | ' ') || ('\u{2500}'..='\u{257f}').contains(&c);
    let long = |c: char| matches!(c, '-' | '=' | '\u{2500}' | '\u{2550}');
    line.len() >= 3
        && line.chars().all(drawn)
        && line.chars().filter(|c| long(*c)).count() * 2 >= line.chars().count()
        && line.contains(|c: char| {
            matches!(c, '+' | '|')
                || ('\u{250c}'..='\u{254b}').contains(&c)
                || ('\u{2552}'..='\u{256c}').contains(&c)
        })
}

fn is_row(line: &str) -> bool {
    !is_ruler(line) && line.contains(BARS)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rtk::kit::assemble;

    fn run(text: &str) -> (Verdict, String) {
        let out = Output::new(text, Level::Standard);
        let mut draft = Draft::new(out.len());
        let verdict = render(&out, &mut draft);
        (verdict, assemble(&out, &mut draft, &mut || None).text)
    }

    #[test]
    fn drawings_go_and_cells_stay() {
        for (text, wanted) in [
            (
                " id | state | note \n----+-------+------\n  1 | open  | a b\n  2 |       | \n(2 rows)\n",
                "id|state|note\n1|open|a b\n2||\n(2 rows)\n",
            ),
            (
                "+----+------+\n| id | name |\n+----+------+\n|  1 | ab   |\n+----+------+\n1 row in set\n",
                "id|name\n1|ab\n1 row in set\n",
            ),
            (
                "\u{250c}\u{2500}\u{2500}\u{2500}\u{2500}\u{252c}\u{2500}\u{2500}\u{2500}\u{2500}\u{2510}\n\u{2502} id \u{2502} n  \u{2502}\n\u{251c}\u{2500}\u{2500}\u{2500}\u{2500}\u{253c}\u{2500}\u{2500}\u{2500}\u{2500}\u{2524}\n\u{2502} 1  \u{2502} ab \u{2502}\n\u{2514}\u{2500}\u{2500}\u{2500}\u{2500}\u{2534}\u{2500}\u{2500}\u{2500}\u{2500}\u{2518}\n",
                "id|n\n1|ab\n",
            ),
        ] {
            assert_eq!(run(text), (Verdict::Done, wanted.to_owned()));
        }
        assert_eq!(run("a | b\nc | d\n").0, Verdict::NotMine);
    }
}
