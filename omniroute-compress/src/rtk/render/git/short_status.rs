//! `git status --short` and `--porcelain`: paths with the same two letters on one line.

use crate::rtk::kit::{Draft, Level, Output, Verdict};

use super::bytes::{head, hex_len, is_short};

/// Marks a short status; not if a line is none of its rows.
pub(super) fn render(out: &Output<'_>, draft: &mut Draft) -> Verdict {
    // Paths by their letters, in the order in which the letters appear first.
    let mut codes: Vec<(&str, usize, Vec<&str>)> = Vec::new();
    for (i, line) in out.lines.iter().enumerate() {
        match row(line) {
            // The paths could not be told apart.
            Some((_, path)) if path.contains(", ") => return Verdict::Done,
            Some((code, path)) => match codes.iter_mut().find(|c| c.0 == code) {
                Some((_, _, paths)) => paths.push(path),
                None => codes.push((code, i, vec![path])),
            },
            None if line.is_empty() || line.starts_with("## ") => {}
            None => return second(out, draft),
        }
    }
    if codes.is_empty() {
        return second(out, draft);
    }
    if is_short(out) || out.level == Level::Minimal || out.has("-z") {
        return Verdict::Done;
    }
    for (i, line) in out.lines.iter().enumerate() {
        if !line.is_empty() && !line.starts_with("## ") {
            draft.cover(i);
        }
    }
    for (code, first, paths) in codes {
        draft.insert_with(first, |text| {
            text.push_str(code);
            for (n, path) in paths.iter().enumerate() {
                text.push_str(if n == 0 { " " } else { ", " });
                text.push_str(path);
            }
        });
    }
    Verdict::Done
}

/// Two letters and the path.
fn row(line: &str) -> Option<(&str, &str)> {
    let (code, rest) = line.split_at_checked(2)?;
    let letters = code
        .bytes()
        .all(|b| matches!(b, b' ' | b'M' | b'A' | b'D' | b'R' | b'C' | b'T' | b'U' | b'?' | b'!' | b'm'));
    let path = rest.strip_prefix(' ')?;
    (letters && code != "  " && !path.is_empty() && !path.starts_with(' ')).then_some((code, path))
}

/// Porcelain form 2: hashes are cut to nine digits.
fn second(out: &Output<'_>, draft: &mut Draft) -> Verdict {
    let is = |l: &&str| {
        let mut words = l.split(' ');
        let kind = words.next().unwrap_or("");
        matches!(kind, "#" | "1" | "2" | "u" | "?" | "!") && words.next().is_some()
    };
    let told =
        out.lines.iter().any(|l| l.starts_with("1 ") || l.starts_with("2 ") || l.starts_with("# branch."));
    if !told || !out.lines.iter().all(is) {
        return Verdict::NotMine;
    }
    for i in 0..out.len() {
        let line = out.line(i);
        if is_short(out) || out.level == Level::Minimal || !line.starts_with(['1', '2', 'u']) {
            continue;
        }
        draft.cover(i);
        draft.insert_with(i, |text| {
            for (n, word) in line.split(' ').enumerate() {
                let hash = n < 11 && matches!(word.len(), 40 | 64) && hex_len(word.as_bytes()) == word.len();
                text.push_str(if n > 0 { " " } else { "" });
                text.push_str(if hash { head(word, 9) } else { word });
            }
        });
    }
    Verdict::Done
}
