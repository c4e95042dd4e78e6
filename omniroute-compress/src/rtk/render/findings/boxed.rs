//! Findings with a frame drawn around the code: `,-[path:6:20]`, a line below the headline (oxlint, typos and other
//! tools with the same reporters), and biome's blocks below a ruler.

use std::collections::HashSet;

use crate::rtk::kit::{Draft, Level, Output, Severity, Verdict, What, severity};

use super::lint::{finish, is_short, level, lint};
use super::model::{Bound, Finding, Hash, Kind, Parsed, hash};
use super::parse::MORE;
use super::scan::{Position, digits, is_blank};

/// `oxlint`, `typos` and their kind.
pub(crate) fn boxed(out: &Output<'_>, draft: &mut Draft) -> Verdict {
    let parsed = parse(out);
    if parsed.findings.is_empty() {
        return lint(out, draft);
    }
    let verdict = finish(out, draft, &parsed, 90);
    if level(out) != Level::Minimal && !is_short(out) && !parsed.is_rendered {
        // Of the box around an error that stays the edges and marks go.
        for (i, kind) in parsed.kinds.iter().enumerate() {
            let is_edge = !out.line(i).chars().any(char::is_alphanumeric) && is_frame(out.line(i));
            if matches!(kind, Kind::Frame(_)) && is_edge {
                draft.cover(i);
            }
        }
    }
    verdict
}

fn parse<'t>(out: &Output<'t>) -> Parsed<'t> {
    let mut parsed = Parsed { kinds: vec![Kind::Other; out.len()], ..Parsed::default() };
    let mut run = 0;
    let mut i = 0;
    while i < out.len() {
        let line = out.line(i);
        parsed.is_rendered |= line.ends_with(MORE);
        let place = place(out.line(i + 1)).filter(|_| !is_blank(line));
        let Some((path, number, col)) = place else {
            if is_blank(line) {
                set(&mut parsed, i, Kind::Blank);
            } else {
                run += 1;
            }
            i += 1;
            continue;
        };
        if parsed.findings.last().is_some_and(|f| f.pos.path != path) {
            run += 1;
        }
        let bound = if severity(line) == Severity::Error { Bound::Line } else { Bound::Free };
        let pos = Position { path, line: number, col, rest: line.trim(), dashed: false, tag: "" };
        let mut finding =
            Finding { pos, at: i, bound, is_row: false, is_note: false, details: 0, run, own: true };
        let n = u32::try_from(parsed.findings.len()).unwrap_or(u32::MAX);
        set(&mut parsed, i, Kind::Finding(n));
        set(&mut parsed, i + 1, Kind::Frame(n));
        i += 2;
        while i < out.len() && !is_blank(out.line(i)) && self::place(out.line(i + 1)).is_none() {
            let text = out.line(i);
            let is_plain = is_frame(text) && !has_label(text);
            set(&mut parsed, i, if is_plain { Kind::Frame(n) } else { Kind::Detail(n) });
            if !is_plain {
                let mut hash = Hash(finding.details);
                hash.text(text.trim());
                finding.details = hash.0;
            }
            i += 1;
        }
        parsed.findings.push(finding);
    }
    parsed
}

fn set(parsed: &mut Parsed<'_>, i: usize, kind: Kind) {
    if let Some(slot) = parsed.kinds.get_mut(i) {
        *slot = kind;
    }
}

/// The place at the upper edge of a box.
fn place(line: &str) -> Option<(&str, &str, &str)> {
    let text = line.trim_start();
    let inner =
        [",-[", "\u{256d}\u{2500}["].iter().find_map(|p| text.strip_prefix(p)?.trim_end().strip_suffix(']'));
    let inner = inner.or_else(|| text.strip_prefix("\u{256d}\u{25b8} "))?;
    let (path, col) = inner.trim_end().rsplit_once(':')?;
    let (path, line) = path.rsplit_once(':')?;
    let is_number = |t: &str| digits(t).is_some_and(|(_, rest)| rest.is_empty());
    (is_number(line) && is_number(col) && !path.is_empty()).then_some((path, line, col))
}

/// A line of the box: ` 5 | code`, `   : ^^^`, `   ----`, with ASCII or drawn edges.
fn is_frame(line: &str) -> bool {
    let text = line.trim_start();
    let after = digits(text).map_or(text, |(_, rest)| rest).trim_start();
    let edges = ["|", ":", "`-", "\u{2502}", "\u{b7}", "\u{2570}", "\u{2575}", "\u{250a}", "\u{2506}"];
    edges.iter().any(|edge| after.starts_with(edge))
}

/// A line below code that says something: `:   ^-- here`.
fn has_label(line: &str) -> bool {
    let text = line.trim_start();
    let is_mark = text.starts_with(':') || text.starts_with('\u{b7}');
    is_mark && text.bytes().any(|b| b.is_ascii_alphabetic())
}

/// `biome check`, `lint`, `format`, `ci`.
pub(crate) fn biome(out: &Output<'_>, draft: &mut Draft) -> Verdict {
    if !out.lines.iter().any(|l| ruled(l).is_some()) {
        return Verdict::NotMine;
    }
    if level(out) == Level::Minimal || is_short(out) {
        return Verdict::Done;
    }
    let mut shown = HashSet::new();
    let mut in_block = false;
    let (mut removed, mut added) = (false, false);
    for i in 0..out.len() {
        let line = out.line(i);
        if let Some(head) = ruled(line) {
            in_block = true;
            (removed, added) = (false, false);
            draft.replace(i, head);
        } else if is_blank(line) {
            if in_block {
                draft.noise(i);
            }
        } else if !line.starts_with(' ') {
            in_block = false;
        } else if in_block {
            frame(out, draft, i, &mut removed, &mut added, &mut shown);
        }
    }
    Verdict::Done
}

/// The head of a block, without its ruler.
fn ruled(line: &str) -> Option<&str> {
    let head = line.trim_end().trim_end_matches('\u{2501}');
    (line.trim_end().len() >= head.len() + 9).then(|| head.trim_end())
}

/// A line inside a block: code goes, of a change the first line on each side stays, advice stands once.
fn frame(
    out: &Output<'_>,
    draft: &mut Draft,
    i: usize,
    removed: &mut bool,
    added: &mut bool,
    shown: &mut HashSet<u64>,
) {
    let line = out.line(i);
    let text = line.trim_start();
    if let Some((gutter, code)) = line.split_once('\u{2502}')
        && gutter.bytes().all(|b| matches!(b, b' ' | b'>' | b'0'..=b'9'))
    {
        let code = code.trim_start();
        let seen = match code.get(..2) {
            Some("- ") => removed,
            Some("+ ") => added,
            _ => {
                draft.cover(i);
                return;
            }
        };
        if std::mem::replace(seen, true) {
            draft.drop_known(i, What::Lines);
        } else {
            draft.replace(i, &format!("    {}", code.replace('\u{b7}', " ").replace("\u{2192} ", "\t")));
        }
    } else if (text.starts_with("i ") || text.starts_with("\u{2139} ")) && !shown.insert(hash(text)) {
        draft.cover(i);
    }
}

#[cfg(test)]
mod tests {
    use super::super::emit::{Policy, emit};
    use super::*;
    use crate::rtk::kit::assemble;

    #[test]
    fn boxes_become_rows() {
        let text = "  ! eslint(a): Bad x\n   ,-[src/p.js:6:20]\n 5 |   let\n 6 |   if\n   :     ^|^\n   :      `-- here\n   `----\n  \
                    help: Do y\n\n  ! eslint(b): Bad z\n   ,-[src/p.js:7:1]\n 7 | x\n   : ^\n   `----\n\n  \
                    \u{d7} Unexpected\n   \u{256d}\u{2500}[src/q.js:1:2]\n 1 \u{2502} (\n   \u{2570}\u{2500}\u{2500}\u{2500}\u{2500}\n";
        let out = Output::new(text, Level::Standard);
        let mut draft = Draft::new(out.len());
        emit(
            &out,
            &mut draft,
            &parse(&out),
            Policy { by_file: true, drop_frames: true, level: Level::Standard },
        );
        let shown = assemble(&out, &mut draft, &mut || None).text;
        assert_eq!(
            shown,
            "src/p.js:\n 6:20 ! eslint(a): Bad x\n  : `-- here\n  help: Do y\n 7:1 ! eslint(b): Bad z\n  \u{d7} Unexpected\n   \
             \u{256d}\u{2500}[src/q.js:1:2]\n 1 \u{2502} (\n   \u{2570}\u{2500}\u{2500}\u{2500}\u{2500}\n"
        );
    }

    #[test]
    fn biome_keeps_message_advice_and_the_first_change() {
        let rule = "\u{2501}".repeat(40);
        let block = |p: &str| {
            format!(
                "src/{p}.ts:8:45 lint/a  FIXABLE  {rule}\n\n  \u{d7} This is bad.\n  \n  > 8 \u{2502} x\n      \u{2502} ^\n  \n  i See docs.\n  \n    \
             8   \u{2502} - a\u{b7}b\n      8 \u{2502} + c\u{b7}d\n  \n\n"
            )
        };
        let text = format!("{}{}{}Checked 5 files.\n", block("a"), block("b"), block("c"));
        let out = Output::new(&text, Level::Standard);
        let mut draft = Draft::new(out.len());
        assert_eq!(biome(&out, &mut draft), Verdict::Done);
        let shown = assemble(&out, &mut draft, &mut || None).text;
        let head = "src/a.ts:8:45 lint/a  FIXABLE\n  \u{d7} This is bad.\n  i See docs.\n    - a b\n    + c d\nsrc/b.ts:8:45";
        assert!(shown.starts_with(head), "{shown}");
        assert!(shown.ends_with("Checked 5 files.\n"));
    }
}
