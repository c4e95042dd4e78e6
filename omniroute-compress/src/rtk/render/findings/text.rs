//! Formats of single tools: `tsc --pretty`, ShellCheck for terminals, lists of unformatted files, `cargo fmt --check`.

use crate::rtk::kit::{Draft, Level, Output, Verdict, What};

use super::lint::{is_short, level, lint};
use super::scan::{digits, is_blank, is_caret, position, squeeze};

/// `tsc`, plain and pretty. Error lines stay as they are; of the pretty form the underlines go, the column says it.
pub(crate) fn typescript(out: &Output<'_>, draft: &mut Draft) -> Verdict {
    let is_head = |line: &str| position(line).is_some_and(|p| p.dashed && p.rest.contains("TS"));
    if !out.lines.iter().any(|l| is_head(l)) {
        return lint(out, draft);
    }
    if level(out) == Level::Minimal || is_short(out) {
        return Verdict::Done;
    }
    for i in 0..out.len() {
        let line = out.line(i);
        let code = out.line(i.wrapping_sub(1));
        if is_caret(line) && is_numbered(code) {
            draft.cover(i);
            if level(out) == Level::Aggressive {
                draft.cover(i - 1);
            } else {
                draft.cover(i - 1);
                draft.insert_with(i - 1, |text| {
                    text.push_str("  ");
                    squeeze(text, code);
                });
            }
        } else if is_blank(line) && i + 1 < out.len() {
            // The blank line between headline and code, or the second of two.
            let next = out.line(i + 1);
            if is_numbered(next) && is_caret(out.line(i + 2)) || is_head(next) {
                draft.noise(i);
            }
        }
    }
    Verdict::Done
}

/// `12   code`.
fn is_numbered(line: &str) -> bool {
    digits(line.trim_start()).is_some_and(|(_, rest)| rest.starts_with(' '))
}

/// ShellCheck's form for terminals. Code, marks and suggestions stay; links to its pages go.
pub(crate) fn shellcheck(out: &Output<'_>, draft: &mut Draft) -> Verdict {
    let is_head = |line: &str| line.starts_with("In ") && line.ends_with(':') && line.contains(" line ");
    if !out.lines.iter().any(|l| is_head(l)) {
        return lint(out, draft);
    }
    if level(out) == Level::Minimal || is_short(out) {
        return Verdict::Done;
    }
    let mut links = false;
    for i in 0..out.len() {
        let line = out.line(i);
        links |= line == "For more information:";
        let is_link = links && (line == "For more information:" || line.trim_start().starts_with("https://"));
        if is_link || is_blank(line) && !out.line(i + 1).trim_start().starts_with('^') {
            draft.cover(i);
        } else if line.trim_end() == "Did you mean:" && i + 1 < out.len() {
            let suggestion = out.line(i + 1);
            draft.replace(i, "Did you mean:");
            if !is_blank(suggestion) && is_blank(out.line(i + 2)) {
                draft.cover(i + 1);
                draft.insert(i + 1, suggestion.trim_end());
            }
        } else if let Some(marks) = line.split("SC").next().filter(|m| line.len() > m.len() && is_caret(m)) {
            let start = marks.len() - marks.trim_start().len();
            if start > 40 {
                draft.insert_with(i, |text| squeeze(text, line));
                draft.cover(i);
            }
        }
    }
    Verdict::Done
}

/// Lists of files with one word before each: `[warn] src/a.ts` (prettier), `would reformat a.py` (black), `Would
/// reformat: a.py` (ruff).
pub(crate) fn file_list(out: &Output<'_>, draft: &mut Draft) -> Verdict {
    let found = out.lines.iter().any(|l| listed(l).is_some());
    if !found {
        return Verdict::NotMine;
    }
    if level(out) == Level::Minimal || is_short(out) {
        return Verdict::Done;
    }
    let mut i = 0;
    while i < out.len() {
        let Some((word, _)) = listed(out.line(i)) else {
            i += 1;
            continue;
        };
        let run = (i..out.len()).take_while(|j| listed(out.line(*j)).is_some_and(|(w, _)| w == word)).count();
        if run >= 3 {
            draft.insert_with(i, |text| {
                text.push_str(word);
                for j in i..i + run {
                    text.push(' ');
                    text.push_str(listed(out.line(j)).map_or("", |(_, path)| path));
                }
            });
            (i..i + run).for_each(|j| draft.cover(j));
        }
        i += run.max(1);
    }
    Verdict::Done
}

fn listed(line: &str) -> Option<(&str, &str)> {
    let word = ["[warn]", "would reformat", "Would reformat:"].into_iter().find(|w| line.starts_with(w))?;
    let path = line.get(word.len()..)?.strip_prefix(' ')?.trim_end();
    let plain = !path.contains(' ') && path.bytes().any(|b| matches!(b, b'.' | b'/'));
    plain.then_some((word, path))
}

/// `cargo fmt --check`: changed lines stay; at the strongest level they are counted, the tool makes the change itself.
pub(crate) fn rustfmt(out: &Output<'_>, draft: &mut Draft) -> Verdict {
    let is_head = |line: &str| line.starts_with("Diff in ") && line.ends_with(':');
    if !out.lines.iter().any(|l| is_head(l)) {
        return super::rustc::cargo(out, draft);
    }
    if level(out) == Level::Minimal || is_short(out) {
        return Verdict::Done;
    }
    let mut in_diff = false;
    let is_change = |i: usize| matches!(out.line(i).as_bytes().first(), Some(b'+' | b'-'));
    for i in 0..out.len() {
        let line = out.line(i);
        if is_head(line) {
            in_diff = true;
        } else if in_diff && (line.starts_with(' ') || line.is_empty()) {
            draft.cover(i);
        } else if !is_change(i) {
            in_diff = false;
        } else if in_diff && level(out) == Level::Aggressive {
            draft.drop_known(i, What::Lines);
        }
    }
    Verdict::Done
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rtk::kit::{Render, assemble};

    fn run(render: Render, text: &str) -> String {
        let out = Output::new(text, Level::Standard);
        let mut draft = Draft::new(out.len());
        if render(&out, &mut draft) == Verdict::NotMine {
            draft.reset();
        }
        assemble(&out, &mut draft, &mut || None).text
    }

    fn long() -> String {
        "some other line\n".to_owned() + &"-".repeat(700) + "\n"
    }

    #[test]
    fn pretty_typescript_keeps_code_without_underlines() {
        let text = format!(
            "{}src/a.ts:5:21 - error TS2322: Type 'x'.\n\n5   return x;\n             ~\n\nFound 1 error.\n",
            long()
        );
        let shown = run(typescript, &text);
        assert!(
            shown.ends_with("src/a.ts:5:21 - error TS2322: Type 'x'.\n  5 return x;\n\nFound 1 error.\n"),
            "{shown}"
        );
    }

    #[test]
    fn lists_of_files_are_joined() {
        let text = format!(
            "{}[warn] src/a.ts\n[warn] src/b.ts\n[warn] package.json\n[warn] Code style issues found in 3 files.\n",
            long()
        );
        let shown = run(file_list, &text);
        assert!(
            shown.ends_with(
                "[warn] src/a.ts src/b.ts package.json\n[warn] Code style issues found in 3 files.\n"
            ),
            "{shown}"
        );
        assert_eq!(run(file_list, &shown), shown);
    }

    #[test]
    fn shellcheck_loses_links_only() {
        let text = format!(
            "{}\nIn a.sh line 2:\ncd $1\n^---^ SC2164 (warning): Use x.\n   ^-- SC2086 (info): Double quote.\n\nDid you mean: \ncd \"$1\" || exit\n\n\
             For more information:\n  https://www.shellcheck.net/wiki/SC2164 -- Use x\n",
            long()
        );
        let shown = run(shellcheck, &text);
        let end = "In a.sh line 2:\ncd $1\n^---^ SC2164 (warning): Use x.\n   ^-- SC2086 (info): Double quote.\nDid you mean:\ncd \"$1\" || exit\n";
        assert!(shown.ends_with(end), "{shown}");
    }
}
