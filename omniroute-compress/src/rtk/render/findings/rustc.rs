//! Diagnostics of rustc and clippy, and what cargo prints around them.
//!
//! Every block keeps headline, places, source lines, labels, notes and help. What goes: gutter lines without text,
//! carets without a label (the place says the column), links to the lint's page, how to switch the lint off, and the
//! hash in paths of the standard library.

use std::collections::HashMap;
use std::ops::Range;

use crate::rtk::kit::{Draft, Level, Output, Verdict, What};

use super::groups::different;
use super::lint::{is_short, level};
use super::model::{Hash, masked};
use super::scan::{digits, is_blank, is_gutter, squeeze};

/// Fewest warnings of one text that are shown once.
const MIN_SAME: usize = 3;

/// Other checkers that write rustc's form (`ty`).
pub(crate) fn rustc_like(out: &Output<'_>, draft: &mut Draft) -> Verdict {
    if !mark_diagnostics(out, draft, 0..out.len()) {
        return super::lint::lint(out, draft);
    }
    Verdict::Done
}

/// Blocks up to this many lines are searched for a suggestion that repeats the source.
const MAX_SEARCHED: usize = 200;

/// `cargo build`, `check`, `clippy`, `doc`, `rustc`.
pub(crate) fn cargo(out: &Output<'_>, draft: &mut Draft) -> Verdict {
    if is_short(out) {
        return Verdict::Done;
    }
    let steps = mark_steps(out, draft);
    let blocks = blocks(out, 0..out.len());
    if steps == 0 && blocks.is_empty() {
        // `--message-format short` writes one line for each finding.
        return super::lint::lint(out, draft);
    }
    if level(out) != Level::Minimal && !is_short(out) {
        mark_blocks(out, draft, &blocks);
    }
    Verdict::Done
}

/// Shortens the diagnostics in a part of an output, also for `cargo test` and the like; whether there are any.
pub(crate) fn mark_diagnostics(out: &Output<'_>, draft: &mut Draft, range: Range<usize>) -> bool {
    let blocks = blocks(out, range);
    if level(out) != Level::Minimal && !is_short(out) {
        mark_blocks(out, draft, &blocks);
    }
    !blocks.is_empty()
}

const STEPS: &[&str] = &[
    "Compiling",
    "Checking",
    "Downloading",
    "Downloaded",
    "Updating",
    "Locking",
    "Adding",
    "Fresh",
    "Documenting",
    "Blocking",
    "Building",
    "Unpacking",
    "Scraping",
    "Dirty",
    "Packaging",
    "Verifying",
];

/// Counts `   Compiling x v1.0` and its kind; the number of such lines.
pub(crate) fn mark_steps(out: &Output<'_>, draft: &mut Draft) -> usize {
    let mut count = 0;
    for i in 0..out.len() {
        let text = out.line(i);
        let Some((verb, rest)) = text.trim_start().split_once(' ') else { continue };
        if text.starts_with("  ") && !rest.starts_with(' ') && STEPS.contains(&verb) {
            draft.drop_known(i, What::Steps);
            count += 1;
        }
    }
    count
}

/// One diagnostic.
struct Block {
    lines: Range<usize>,
    is_warning: bool,
    /// A hash of all lines.
    whole: u64,
}

/// A headline: `error[E0308]: x`, `warning: x`.
fn headline(line: &str) -> Option<bool> {
    let (rest, is_warning) = match line.strip_prefix("error") {
        Some(rest) => (rest, false),
        None => (line.strip_prefix("warning")?, true),
    };
    let rest = match rest.strip_prefix('[') {
        Some(code) => code.split_once(']')?.1,
        None => rest,
    };
    rest.starts_with(": ").then_some(is_warning)
}

/// `  --> src/lib.rs:3:5`.
fn arrow(line: &str) -> Option<&str> {
    line.trim_start().strip_prefix("--> ")
}

fn blocks(out: &Output<'_>, range: Range<usize>) -> Vec<Block> {
    let mut blocks = Vec::new();
    let mut i = range.start;
    while i < range.end {
        let is_block = headline(out.line(i))
            .filter(|_| (i + 1..range.end).take(4).any(|j| arrow(out.line(j)).is_some()));
        let Some(is_warning) = is_block else {
            i += 1;
            continue;
        };
        let start = i;
        let mut whole = Hash::new();
        i += 1;
        while i < range.end && !is_blank(out.line(i)) && headline(out.line(i)).is_none() {
            i += 1;
        }
        (start..i).for_each(|j| whole.text(out.line(j)));
        blocks.push(Block { lines: start..i, is_warning, whole: whole.0 });
    }
    blocks
}

fn mark_blocks(out: &Output<'_>, draft: &mut Draft, blocks: &[Block]) {
    let mut same: HashMap<u64, Same> = HashMap::new();
    let key = |block: &Block| match block.is_warning {
        true => masked(out.line(block.lines.start), false),
        false => block.whole,
    };
    for (n, block) in blocks.iter().enumerate() {
        let same = same.entry(key(block)).or_insert_with(|| Same { list: Vec::new(), is_equal: true });
        let first = same.list.first().and_then(|m| blocks.get(*m));
        same.is_equal &= first.is_none_or(|b| b.whole == block.whole);
        same.list.push(n);
    }
    for (n, block) in blocks.iter().enumerate() {
        let head = out.line(block.lines.start);
        let Some(Same { list, is_equal }) = same.get(&key(block)) else { continue };
        if list.len() < 2 || list.len() < MIN_SAME && !*is_equal {
            shorten(out, draft, block.lines.clone());
            continue;
        }
        let is_first = list.first() == Some(&n);
        if !is_first {
            hide(out, draft, block.lines.clone());
            continue;
        }
        shorten(out, draft, block.lines.clone());
        if *is_equal {
            draft.replace(block.lines.start, &format!("{head} (x{})", list.len()));
        } else {
            also(out, draft, blocks, list);
        }
    }
    for i in 0..out.len() {
        let line = out.line(i);
        let is_hint = line.starts_with("For more information about ")
            || line.starts_with("Some errors have detailed expl");
        if is_hint && !blocks.is_empty() {
            draft.cover(i);
        }
    }
}

/// Diagnostics of one text.
struct Same {
    /// Their numbers.
    list: Vec<usize>,
    /// Whether all their lines are equal.
    is_equal: bool,
}

/// The whole block and the blank line behind it.
fn hide(out: &Output<'_>, draft: &mut Draft, lines: Range<usize>) {
    let end = lines.end + usize::from(lines.end < out.len() && is_blank(out.line(lines.end)));
    (lines.start..end).for_each(|i| draft.cover(i));
}

/// The places of the other warnings of one text, behind the first one.
fn also(out: &Output<'_>, draft: &mut Draft, blocks: &[Block], list: &[usize]) {
    let Some(first) = list.first().and_then(|n| blocks.get(*n)) else { return };
    let head = out.line(first.lines.start);
    draft.insert_with(first.lines.end, |text| {
        text.push_str(&format!("  = same (x{}):", list.len() - 1));
        let mut path = "";
        for block in list.iter().skip(1).filter_map(|n| blocks.get(*n)) {
            let place = block.lines.clone().find_map(|i| arrow(out.line(i))).unwrap_or("");
            let (file, position) = place.split_once(':').unwrap_or((place, ""));
            text.push_str(if path.is_empty() { " " } else { ", " });
            if file == path {
                text.push_str(position);
            } else {
                text.push_str(place);
                path = file;
            }
            let part = different(head, out.line(block.lines.start));
            if !part.is_empty() {
                text.push(' ');
                squeeze(text, part);
            }
        }
    });
}

/// Takes out of a block what says nothing.
fn shorten(out: &Output<'_>, draft: &mut Draft, lines: Range<usize>) {
    let has_rule = lines.clone().any(|i| out.line(i).contains("clippy::"));
    let has_labels = lines
        .clone()
        .filter_map(|i| gutter_text(out.line(i)))
        .any(|t| t.bytes().any(|b| b.is_ascii_alphabetic()));
    let is_small = lines.len() <= MAX_SEARCHED;
    let is_removed = |code: &str| is_small && lines.clone().any(|i| numbered(out.line(i), '-') == Some(code));
    for i in lines.clone() {
        let line = out.line(i);
        let text = line.trim_start();
        if !has_labels && numbered(line, '|').is_some_and(is_removed) {
            // The suggestion shows the same line as the one to be removed.
            draft.cover(i);
        } else if let Some(after) = gutter_text(line) {
            if after.bytes().all(|b| matches!(b, b' ' | b'^' | b'-' | b'~' | b'_' | b'|' | b'/' | b'+')) {
                draft.cover(i);
            }
        } else if let Some(place) = text.strip_prefix("--> ").or_else(|| text.strip_prefix("::: ")) {
            if let Some((_, inner)) = place.strip_prefix("/rustc/").and_then(|p| p.split_once('/')) {
                let arrow = text.get(..4).unwrap_or("--> ");
                draft.replace(i, &format!("  {arrow}{inner}"));
            }
        } else if let Some(url) = text.strip_prefix("= help: for further information visit ") {
            match url.rsplit_once('#') {
                Some((_, lint)) if !has_rule => draft.replace(i, &format!("  = lint: {lint}")),
                _ => draft.cover(i),
            }
        } else if text.starts_with("= help: to override `") {
            draft.cover(i);
        } else if let Some(note) =
            text.strip_prefix("= note: `").filter(|n| n.starts_with("-W ") || n.starts_with("#[warn"))
        {
            let name = note.split('`').next().unwrap_or(note);
            draft.replace(i, &format!("  = note: `{name}`"));
        }
    }
}

/// The code of `12 | code` or `12 - code`.
fn numbered(line: &str, sign: char) -> Option<&str> {
    let (_, rest) = digits(line.trim_start())?;
    rest.trim_start().strip_prefix(sign).map(str::trim).filter(|code| !code.is_empty())
}

/// What stands behind the bar of a gutter line without a line number.
fn gutter_text(line: &str) -> Option<&str> {
    let text = line.trim_start();
    text.strip_prefix('|').filter(|_| is_gutter(line))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rtk::kit::assemble;

    fn run(text: &str) -> String {
        let out = Output::new(text, Level::Standard);
        let mut draft = Draft::new(out.len());
        mark_blocks(&out, &mut draft, &blocks(&out, 0..out.len()));
        assemble(&out, &mut draft, &mut || None).text
    }

    #[test]
    fn keeps_every_part_that_says_something() {
        let text = "error[E0308]: mismatched types\n --> src/a.rs:2:9\n  |\n2 |     x()\n  |     ^^^ expected `u32`\n  |\n\
                    note: defined here\n --> /rustc/0123abc/library/core/src/x.rs:1:2\n  |\n1 | y\n  | -\n  \
                    = help: try z\n\nerror: could not compile `a`\n";
        let shown = run(text);
        assert_eq!(
            shown,
            "error[E0308]: mismatched types\n --> src/a.rs:2:9\n2 |     x()\n  |     ^^^ expected `u32`\nnote: defined here\n  \
             --> library/core/src/x.rs:1:2\n1 | y\n  = help: try z\n\nerror: could not compile `a`\n"
        );
        assert_eq!(run(&shown), shown);
    }

    #[test]
    fn warnings_of_one_text_stand_once() {
        let block = |n: u32| {
            format!(
                "warning: unused variable: `v{n}`\n --> src/m.rs:{n}:9\n  |\n{n} | let v{n} = 1;\n  | ^^\n\n"
            )
        };
        let text: String = (1..=4).map(block).collect();
        let shown = run(&text);
        assert!(shown.contains("= same (x3): src/m.rs:2:9 v2, 3:9 v3, 4:9 v4"), "{shown}");
        assert_eq!(shown.matches("warning:").count(), 1);
        assert_eq!(run(&shown), shown);
        let errors = text.replace("warning", "error");
        assert_eq!(run(&errors).matches("error:").count(), 4);
        let twice = format!("{}{}", block(7), block(7));
        assert!(run(&twice).starts_with("warning: unused variable: `v7` (x2)\n"), "{}", run(&twice));
    }
}
