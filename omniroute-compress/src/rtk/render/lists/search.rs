//! Search hits: the file once as a heading, then line numbers and texts. `grep`, `rg`, `ag`, `git grep`.

use crate::rtk::kit::{Draft, Level, Output, Verdict, What};

/// Longest line that is shown whole, in characters, and what is shown of a longer one.
const MAX_LINE: usize = 400;
const WINDOW: usize = 200;
/// What is shown of the beginning of such a line if the hit is further behind, and what stands before the hit then.
const HEAD: usize = 90;
const GAP: &str = " ... ";

/// Groups hits of the form `path:line:text` by file; context lines `path-line-text` stay with their file.
pub(crate) fn render(out: &Output<'_>, draft: &mut Draft) -> Verdict {
    if reshapes_nothing(out) {
        return Verdict::NotMine;
    }
    let hits: Vec<Option<Hit<'_>>> = hits(out);
    let found = hits.iter().flatten().count();
    let lines = out.lines.iter().filter(|l| !l.trim_ascii().is_empty() && **l != "--").count();
    if found * 10 < lines * 8 || found == 0 {
        return match under_headings(out, draft) {
            Verdict::Done => Verdict::Done,
            Verdict::NotMine => long_lines(out, draft),
        };
    }
    if out.level == Level::Minimal {
        return Verdict::Done;
    }
    let cap = out.level.pick(usize::MAX, 300, 150);
    let mut shown = 0;
    let mut i = 0;
    while i < out.len() {
        let Some(Some(hit)) = hits.get(i) else {
            i += 1;
            continue;
        };
        let mut end = i + 1;
        while hits.get(end).is_some_and(|h| h.as_ref().map_or(out.line(end) == "--", |h| h.path == hit.path))
        {
            end += 1;
        }
        while end > i + 1 && out.line(end - 1) == "--" {
            end -= 1;
        }
        group(out, draft, &hits, i..end, &mut shown, cap);
        i = end;
    }
    // Between two files the heading tells what the separator told.
    for i in 0..out.len() {
        if out.line(i) == "--" {
            draft.noise(i);
        }
    }
    Verdict::Done
}

/// Options whose output is counts, names or parts of lines.
fn reshapes_nothing(out: &Output<'_>) -> bool {
    let long =
        ["--count", "--files-with-matches", "--files-without-match", "--only-matching", "--json", "--null"];
    let rg = out.program() == "rg";
    long.iter().any(|o| out.has(o)) || "clLoZ".contains(|c| out.has_letter(c)) && !(rg && out.has_letter('L'))
}

/// One hit or context line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Hit<'t> {
    path: &'t str,
    /// Number, separator and text: `12:text` or `12-text`.
    rest: &'t str,
    /// Length of number and separator in `rest`.
    label: usize,
}

/// All lines read as hits. Context lines are read with the path of a hit near them.
fn hits<'t>(out: &Output<'t>) -> Vec<Option<Hit<'t>>> {
    let mut all: Vec<Option<Hit<'t>>> = out.lines.iter().map(|l| hit(l)).collect();
    let mut path = "";
    let mut fill = |i: usize, all: &mut Vec<Option<Hit<'t>>>| match all.get(i).copied().flatten() {
        Some(hit) => path = hit.path,
        None => {
            let found = out
                .line(i)
                .strip_prefix(path)
                .and_then(|rest| rest.strip_prefix('-'))
                .filter(|_| !path.is_empty());
            let label = found.and_then(|rest| label(rest, b'-'));
            if let (Some(rest), Some(label), Some(slot)) = (found, label, all.get_mut(i)) {
                *slot = Some(Hit { path, rest, label });
            }
        }
    };
    (0..out.len()).for_each(|i| fill(i, &mut all));
    let mut path = "";
    for i in (0..out.len()).rev() {
        match all.get(i).copied().flatten() {
            Some(hit) => path = hit.path,
            None => {
                let found = out
                    .line(i)
                    .strip_prefix(path)
                    .and_then(|rest| rest.strip_prefix('-'))
                    .filter(|_| !path.is_empty());
                if let (Some(rest), Some(label), Some(slot)) =
                    (found, found.and_then(|r| label(r, b'-')), all.get_mut(i))
                {
                    *slot = Some(Hit { path, rest, label });
                }
            }
        }
    }
    all
}

/// `path:12:text`. A path may hold colons if no number follows them; a drive letter is part of the path.
fn hit(line: &str) -> Option<Hit<'_>> {
    let bytes = line.as_bytes();
    let limit = bytes.get(..600).unwrap_or(bytes);
    for at in memchr::memchr_iter(b':', limit) {
        let (path, rest) = (line.get(..at)?, line.get(at + 1..)?);
        if let Some(label) = label(rest, b':') {
            let plain = !path.is_empty() && !path.contains("  ") && !path.starts_with([' ', '\t']);
            return plain.then_some(Hit { path, rest, label });
        }
    }
    None
}

/// Length of `12:` at the start.
fn label(rest: &str, separator: u8) -> Option<usize> {
    let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
    (digits > 0 && digits < 9 && rest.as_bytes().get(digits) == Some(&separator)).then_some(digits + 1)
}

/// The hits of one file.
fn group(
    out: &Output<'_>,
    draft: &mut Draft,
    hits: &[Option<Hit<'_>>],
    range: std::ops::Range<usize>,
    shown: &mut usize,
    cap: usize,
) {
    let of = |i: usize| hits.get(i).copied().flatten();
    let members: Vec<(usize, Hit<'_>)> = range.clone().filter_map(|i| of(i).map(|h| (i, h))).collect();
    let Some((first, head)) = members.first().copied() else { return };
    if *shown >= cap {
        for (i, _) in &members {
            draft.drop_known(*i, What::Matches);
        }
        return;
    }
    if members.len() == 1 {
        *shown += 1;
        if let Some(text) = cut(out, head.rest) {
            draft.replace(first, &format!("{}:{text}", head.path));
        }
        return;
    }
    let text = |h: &Hit<'_>| h.rest.len() - h.rest.get(h.label..).unwrap_or("").trim_start().len() - h.label;
    let indents = members.iter().filter(|(_, h)| !h.rest.get(h.label..).unwrap_or("").trim().is_empty());
    let indent = indents.map(|(_, h)| text(h)).min().unwrap_or(0);
    draft.insert(first, &format!("{}:", head.path));
    for (i, hit) in members {
        if *shown >= cap {
            draft.drop_known(i, What::Matches);
            continue;
        }
        *shown += 1;
        draft.cover(i);
        let body = hit.rest.get(hit.label..).unwrap_or("");
        let body = body.get(indent..).unwrap_or("").trim_end();
        let label = hit.rest.get(..hit.label).unwrap_or("");
        let line = format!("{label}{body}");
        draft.insert(i, cut(out, &line).as_deref().unwrap_or(&line));
    }
}

/// `rg --heading`: a path on a line of its own and `12:text` under it. The common indentation of a file's hits goes.
fn under_headings(out: &Output<'_>, draft: &mut Draft) -> Verdict {
    let number = |i: usize| label(out.line(i), b':').or_else(|| label(out.line(i), b'-'));
    let numbered = (0..out.len()).filter(|i| number(*i).is_some()).count();
    if numbered < 3 || numbered * 10 < out.lines.iter().filter(|l| !l.trim_ascii().is_empty()).count() * 6 {
        return Verdict::NotMine;
    }
    if out.level == Level::Minimal {
        return Verdict::Done;
    }
    let mut i = 0;
    while i < out.len() {
        let end = (i..out.len()).find(|j| number(*j).is_none() && out.line(*j) != "--").unwrap_or(out.len());
        let body = |j: usize| number(j).and_then(|n| out.line(j).get(n..)).unwrap_or("");
        let blanks = |j: &usize| body(*j).len() - body(*j).trim_start_matches(' ').len();
        let indent = (i..end).filter(|j| !body(*j).trim().is_empty()).map(|j| blanks(&j)).min().unwrap_or(0);
        for j in i..end {
            let Some(label) = number(j).and_then(|n| out.line(j).get(..n)) else { continue };
            let Some(text) = body(j).get(indent..) else { continue };
            if indent > 0 || text.len() > MAX_LINE {
                let line = format!("{label}{text}");
                draft.replace(j, cut(out, &line).as_deref().unwrap_or(&line));
            }
        }
        i = end.max(i + 1);
    }
    Verdict::Done
}

/// Hits without file names: only very long lines get shorter.
fn long_lines(out: &Output<'_>, draft: &mut Draft) -> Verdict {
    if out.words.is_empty() || out.level == Level::Minimal {
        return Verdict::NotMine;
    }
    for i in 0..out.len() {
        if let Some(text) = cut(out, out.line(i)) {
            draft.replace(i, &text);
        }
    }
    Verdict::Done
}

/// A part of a very long line around what was searched for, with the number of characters that are not shown.
fn cut(out: &Output<'_>, line: &str) -> Option<String> {
    if line.len() <= MAX_LINE || line.ends_with(" chars]") {
        return None;
    }
    let pattern = out.args().find(|a| !a.starts_with('-')).unwrap_or("");
    let literal = pattern
        .split(|c: char| !c.is_alphanumeric() && !matches!(c, '_' | ' ' | '-'))
        .max_by_key(|p| p.len())
        .unwrap_or("");
    let hit = line.find(literal).filter(|_| literal.len() > 1).unwrap_or(0);
    let total = line.chars().count();
    let hit = line.get(..hit).map_or(0, |s| s.chars().count());
    // Where the line begins is worth as much as what was searched for: both are shown.
    let (head, rest) = match hit < WINDOW * 3 / 4 {
        true => (between(line, 0, WINDOW), ""),
        false => (between(line, 0, HEAD), between(line, hit - WINDOW / 5, WINDOW - HEAD)),
    };
    let gap = if rest.is_empty() { "" } else { GAP };
    let shown = head.chars().count() + rest.chars().count();
    Some(format!("{head}{gap}{rest} [rtk: {shown} of {total} chars]"))
}

/// `count` characters from the character `from` on; a character and the marks on it are not torn apart.
fn between(line: &str, from: usize, count: usize) -> &str {
    let at = |n: usize| line.char_indices().nth(n).map_or(line.len(), |(at, _)| at);
    let start = if from == 0 { 0 } else { whole(line, at(from)) };
    let rest = line.get(start..).unwrap_or("");
    let end = rest.char_indices().nth(count).map_or(line.len(), |(at, _)| whole(line, start + at));
    line.get(start..end).unwrap_or("")
}

/// The next place from `at` on where no character is torn from its marks. What hangs together without end is cut
/// somewhere.
fn whole(line: &str, at: usize) -> usize {
    let mut joined = line.get(..at).is_some_and(|before| before.ends_with(JOINER));
    let mut end = at;
    for c in line.get(at..).unwrap_or("").chars().take(MAX_JOINED) {
        if !joined && !hangs_on(c) {
            break;
        }
        joined = c == JOINER;
        end += c.len_utf8();
    }
    end
}

/// Joins the characters around it.
const JOINER: char = '\u{200d}';
/// So many characters are looked at for the end of one that has marks.
const MAX_JOINED: usize = 16;

/// Whether a character belongs to the one before it.
fn hangs_on(c: char) -> bool {
    matches!(c, JOINER | '\u{300}'..='\u{36f}' | '\u{1ab0}'..='\u{1aff}' | '\u{20d0}'..='\u{20ff}'
        | '\u{fe00}'..='\u{fe0f}' | '\u{1f3fb}'..='\u{1f3ff}' | '\u{e0020}'..='\u{e007f}')
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rtk::kit::assemble;

    fn run(text: &str, words: &[&str]) -> (Verdict, String) {
        let out = Output { words, ..Output::new(text, Level::Standard) };
        let mut draft = Draft::new(out.len());
        let verdict = render(&out, &mut draft);
        (verdict, assemble(&out, &mut draft, &mut || None).text)
    }

    #[test]
    fn hits_are_grouped_by_file() {
        let text = "src/a.rs:3:    fn new() {\nsrc/a.rs:9:        fn new_in() {\nsrc/b.rs:1:fn new() {}\n";
        assert_eq!(
            run(text, &["grep", "-rn", "fn new", "src"]).1,
            "src/a.rs:\n3:fn new() {\n9:    fn new_in() {\nsrc/b.rs:1:fn new() {}\n"
        );
    }

    #[test]
    fn headings_stay_and_indentation_goes() {
        let text = "src/a.rs\n3:    fn new() {\n9:        fn new_in() {\n\nsrc/b.rs\n1:fn new() {}\n";
        let wanted = "src/a.rs\n3:fn new() {\n9:    fn new_in() {\n\nsrc/b.rs\n1:fn new() {}\n";
        assert_eq!(run(text, &["rg", "--heading", "-n", "fn"]).1, wanted);
    }

    #[test]
    fn context_stays_with_its_file() {
        let text = "a-b/x.c-4-int f() {\na-b/x.c:5:  unsafe();\na-b/x.c-6-}\n--\na-b/x.c:15:  unsafe();\n--\ny.c:1:unsafe\n";
        assert_eq!(
            run(text, &["grep", "-rn", "-C1", "unsafe"]).1,
            "a-b/x.c:\n4-int f() {\n5:  unsafe();\n6-}\n15:  unsafe();\ny.c:1:unsafe\n"
        );
    }

    #[test]
    fn other_shapes_pass() {
        for (text, words) in [
            ("a.rs:3\nb.rs:0\n", vec!["grep", "-rc", "x"]),
            ("a.rs\nb.rs\n", vec!["grep", "-rl", "x"]),
            ("10: note: it is 12:30:00\n11: x\n", vec!["grep", "-n", "x", "f"]),
        ] {
            assert_eq!(run(text, &words).1, text);
        }
        assert_eq!(hit("C:\\x\\a.cs:7:y").map(|h| h.path), Some("C:\\x\\a.cs"));
        assert_eq!(hit("grep: x: Is a directory"), None);
    }

    #[test]
    fn long_lines_of_one_file_are_cut_and_begin_as_they_did() {
        let line = |n: usize| format!("{n}:var a{n}={};needle({});\n", "b".repeat(500), "c".repeat(500));
        let text: String = (10..20).map(line).collect();
        let (_, shown) = run(&text, &["grep", "-n", "needle", "f.js"]);
        for (n, line) in (10..20).zip(shown.lines()) {
            let begins = line.starts_with(&format!("{n}:var a{n}=b"));
            assert!(begins && line.contains("needle") && line.len() < 300, "{line}");
        }
        assert_eq!(run(&shown, &["grep", "-n", "needle", "f.js"]).1, shown);
    }

    #[test]
    fn characters_are_not_torn() {
        let line = "e\u{301}".repeat(300);
        for from in 0..6 {
            let part = between(&line, from, 7);
            assert!(part.starts_with('e') && part.ends_with('\u{301}'), "{part:?}");
        }
        let joined = "\u{1f468}\u{200d}".repeat(100);
        assert!(between(&joined, 3, 4).chars().count() < 40);
    }

    #[test]
    fn long_lines_show_the_hit_and_what_is_missing() {
        let text = format!("{}needle{}\n", "x".repeat(900), "y".repeat(900));
        let (_, shown) = run(&text, &["grep", "-n", "needle", "f.js"]);
        assert!(
            shown.contains("needle") && shown.ends_with("[rtk: 200 of 1806 chars]\n") && shown.len() < 260,
            "{shown}"
        );
    }
}
