//! Listings of files: `ls`, `find`, `fd`, `git ls-files`, `tree`, `unzip -l`, `tar -tv`. Every name stays.

use super::entry::{Entry, entry, spelled};
use crate::rtk::kit::{Draft, Level, Output, Verdict, What, marker};

/// Beyond so many names, directories are counted instead.
const CAP: usize = 400;
const SHOWN: usize = 200;

/// `ls` in all its shapes, and `tar -tv`.
pub(crate) fn ls(out: &Output<'_>, draft: &mut Draft) -> Verdict {
    let long: Vec<Option<Entry<'_>>> = out.lines.iter().map(|l| entry(l)).collect();
    if long.iter().flatten().count() >= 3 {
        if out.level > Level::Minimal {
            long_blocks(out, draft, &long);
        }
        return Verdict::Done;
    }
    if out.words.is_empty() || "lsiZ1mx".contains(|c| c != '1' && out.has_letter(c)) {
        return Verdict::NotMine;
    }
    if out.lines.iter().filter(|l| l.contains('/') && !l.ends_with(':')).count() * 2 > out.len() {
        return find(out, draft);
    }
    if out.level > Level::Minimal {
        short_blocks(out, draft);
    }
    Verdict::Done
}

/// Blocks of long entries: name and size of each, what most have in common in a note.
fn long_blocks(out: &Output<'_>, draft: &mut Draft, long: &[Option<Entry<'_>>]) {
    let keep_dates = ["-t", "--sort=time", "--full-time", "--time"].iter().any(|o| out.has(o))
        || out.has_letter('t') && out.program() == "ls";
    let all: Vec<&Entry<'_>> = long.iter().flatten().collect();
    let owner = common(all.iter().map(|e| e.owner));
    if let Some(first) = long.iter().position(Option::is_some) {
        let owner = owner.filter(|o| !o.is_empty()).map(|o| format!("owner {} unless shown", spelled(o)));
        let dates =
            (!keep_dates && all.iter().any(|e| !e.date.is_empty())).then(|| "dates omitted".to_owned());
        let note = owner.into_iter().chain(dates).collect::<Vec<_>>().join(", ");
        if !note.is_empty() {
            draft.insert(first, &format!("[rtk: {note}]"));
        }
    }
    let mut heading = "";
    for (i, entry) in long.iter().enumerate() {
        match entry {
            Some(entry) => {
                let directory = entry.name.get(..entry.directory()).unwrap_or("");
                let next = long.get(i + 1).and_then(Option::as_ref);
                if directory != heading {
                    let more = next.is_some_and(|n| n.name.get(..n.directory()) == Some(directory));
                    heading = if more { directory } else { "" };
                    if more && !directory.is_empty() {
                        draft.insert(i, &format!("{directory}:"));
                    }
                }
                let grouped = if heading == directory { directory.len() } else { 0 };
                draft.cover(i);
                draft.insert_with(i, |text| entry.write(text, owner, keep_dates, grouped));
            }
            None if out
                .line(i)
                .strip_prefix("total ")
                .is_some_and(|n| n.starts_with(|c: char| c.is_ascii_digit())) =>
            {
                draft.noise(i)
            }
            None => {}
        }
    }
}

/// The value that most have, if at least three do.
fn common<'e>(values: impl Iterator<Item = &'e str> + Clone) -> Option<&'e str> {
    let count = |v: &str| values.clone().filter(|o| *o == v).count();
    let all = values.clone().count();
    values.clone().take(3).find(|v| count(v) >= 3 && count(v) * 2 > all)
}

/// Names one a line, under headings `dir:` when there are several directories.
fn short_blocks(out: &Output<'_>, draft: &mut Draft) {
    let is_name = |i: usize| {
        let line = out.line(i);
        !line.is_empty() && !line.ends_with(':') && !line.contains(": ") && !line.starts_with(' ')
    };
    let mut i = 0;
    while i < out.len() {
        let end = (i..out.len()).find(|j| !is_name(*j)).unwrap_or(out.len());
        if end - i >= 3 && (i..end).all(|j| !out.line(j).contains("  ")) {
            join(out, draft, i..end, "");
        }
        if end == i && out.line(i).is_empty() && out.line(i + 1).ends_with(':') {
            draft.noise(i);
        }
        i = end.max(i + 1);
    }
}

/// The names of a range on one line behind `head`.
fn join(out: &Output<'_>, draft: &mut Draft, range: std::ops::Range<usize>, head: &str) {
    draft.insert_with(range.start, |text| {
        text.push_str(head);
        for i in range.clone() {
            let name = out.line(i).trim_end();
            let name = name
                .get(
                    name.rfind('/')
                        .filter(|at| !head.is_empty() && at + 1 < name.len())
                        .map_or(0, |at| at + 1)..,
                )
                .unwrap_or(name);
            if i > range.start {
                text.push(' ');
            }
            quoted(name, text);
        }
    });
    range.for_each(|i| draft.cover(i));
}

/// A name with blanks is quoted.
fn quoted(name: &str, text: &mut String) {
    if name.contains(' ') && !name.starts_with(['"', '\'']) {
        text.push('"');
        text.push_str(name);
        text.push('"');
    } else {
        text.push_str(name);
    }
}

/// One path a line: runs of the same directory become `dir/: a b c`.
pub(crate) fn find(out: &Output<'_>, draft: &mut Draft) -> Verdict {
    let long: Vec<Option<Entry<'_>>> = out.lines.iter().map(|l| entry(l)).collect();
    if long.iter().flatten().count() * 10 >= out.len() * 9 && !out.lines.is_empty() {
        if out.level > Level::Minimal {
            long_blocks(out, draft, &long);
        }
        return Verdict::Done;
    }
    let is_path = |i: usize| is_path(out.line(i));
    let paths = (0..out.len()).filter(|i| is_path(*i)).count();
    let lines = out.lines.iter().filter(|l| !l.trim_ascii().is_empty()).count();
    if paths < 3 || paths * 10 < lines * 8 {
        return Verdict::NotMine;
    }
    if out.level == Level::Minimal {
        return Verdict::Done;
    }
    let mut left = if paths > CAP { SHOWN } else { usize::MAX };
    let mut counted: Vec<(&str, u64)> = Vec::new();
    let mut i = 0;
    while i < out.len() {
        if !is_path(i) {
            i += 1;
            continue;
        }
        let dir = directory(out.line(i));
        let end =
            (i..out.len()).find(|j| !is_path(*j) || directory(out.line(*j)) != dir).unwrap_or(out.len());
        let shown = (end - i).min(left);
        left -= if left == usize::MAX { 0 } else { shown };
        if shown >= 2 && !dir.is_empty() {
            join(out, draft, i..i + shown, &format!("{dir}: "));
        } else if shown >= 3 {
            join(out, draft, i..i + shown, "");
        }
        for j in i + shown..end {
            draft.cover(j);
        }
        if i + shown < end {
            let n = (end - i - shown) as u64;
            match counted.iter_mut().find(|(d, _)| *d == dir) {
                Some((_, count)) => *count += n,
                None => counted.push((dir, n)),
            }
        }
        i = end;
    }
    if !counted.is_empty() {
        let total = counted.iter().map(|(_, n)| n).sum();
        draft.insert(out.len(), &marker(total, What::Files, None));
        for (dir, n) in counted {
            draft.insert(out.len(), &format!("{dir}: {n} more"));
        }
    }
    Verdict::Done
}

/// The directory of a path, with its slash.
fn directory(path: &str) -> &str {
    let path = path.trim_end();
    let inner = path.strip_suffix('/').unwrap_or(path);
    inner.rfind('/').and_then(|at| path.get(..=at)).unwrap_or("")
}

/// A line that is one path: no message, no column.
fn is_path(line: &str) -> bool {
    let line = line.trim_end();
    let odd = |b: u8| matches!(b, b':' | b'\t' | b'|' | b'<' | b'>' | b'"' | b';' | b'(' | b')');
    !line.is_empty()
        && !line.starts_with([' ', '-', '['])
        && !line.contains("  ")
        && !line.bytes().any(odd)
        && line.split(' ').count() <= 3
        && line.contains(['/', '.'])
}

/// `tree`: the drawing becomes indentation.
pub(crate) fn tree(out: &Output<'_>, draft: &mut Draft) -> Verdict {
    let drawn = out
        .lines
        .iter()
        .filter(|l| l.contains("\u{2500}\u{2500} ") || l.contains("|-- ") || l.contains("`-- "))
        .count();
    if drawn < 3 || drawn * 2 < out.len() {
        return Verdict::NotMine;
    }
    if out.level == Level::Minimal {
        return Verdict::Done;
    }
    for i in 0..out.len() {
        let line = out.line(i);
        let Some((depth, name)) = branch(line) else { continue };
        draft.cover(i);
        draft.insert_with(i, |text| {
            (0..depth).for_each(|_| text.push(' '));
            text.push_str(name.trim_end());
        });
    }
    Verdict::Done
}

/// Depth and name of a drawn line.
fn branch(line: &str) -> Option<(usize, &str)> {
    let mark = ["\u{2500}\u{2500} ", "|-- ", "`-- "]
        .iter()
        .filter_map(|m| line.find(m).map(|at| (at, m.len())))
        .min()?;
    let (art, name) = (line.get(..mark.0)?, line.get(mark.0 + mark.1..)?);
    let is_art = |c: char| matches!(c, ' ' | '\u{a0}' | '|' | '\u{2502}' | '\u{251c}' | '\u{2514}');
    art.chars().all(is_art).then(|| (art.chars().count() / 4 + 1, name))
}

/// `unzip -l`: name and length.
pub(crate) fn unzip(out: &Output<'_>, draft: &mut Draft) -> Verdict {
    let row = |line: &str| {
        let mut fields = line.split_ascii_whitespace();
        let (size, date, time) = (fields.next()?, fields.next()?, fields.next()?);
        let ok = size.bytes().all(|b| b.is_ascii_digit())
            && date.len() == 10
            && date.contains('-')
            && time.contains(':');
        let name = line.get(line.find(time)? + time.len()..)?.trim();
        (ok && !name.is_empty()).then(|| format!("{name} {size}"))
    };
    let rows: Vec<Option<String>> = out.lines.iter().map(|l| row(l)).collect();
    if rows.iter().flatten().count() < 3 {
        return Verdict::NotMine;
    }
    if out.level == Level::Minimal {
        return Verdict::Done;
    }
    let first = rows.iter().position(Option::is_some).unwrap_or(0);
    draft.insert(first, "[rtk: name and length, dates omitted]");
    for (i, row) in rows.iter().enumerate() {
        let line = out.line(i).trim();
        match row {
            Some(text) => draft.replace(i, text),
            None if line.starts_with("---") || line.starts_with("Length ") => draft.noise(i),
            None => {}
        }
    }
    Verdict::Done
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rtk::kit::{Render, assemble};

    fn run(render: Render, text: &str, words: &[&str]) -> (Verdict, String) {
        let out = Output { words, ..Output::new(text, Level::Standard) };
        let mut draft = Draft::new(out.len());
        let verdict = render(&out, &mut draft);
        (verdict, assemble(&out, &mut draft, &mut || None).text)
    }

    #[test]
    fn long_listings_keep_names_sizes_and_what_is_odd() {
        let text = "total 20\ndrwxr-xr-x 2 dev dev 4096 Mar  1 10:00 .\n-rw-r--r-- 1 dev dev  812 Mar  2 10:00 a b.txt\n-rwxr-xr-x 1 dev dev   91 Mar  2 10:00 run\n-rw------- 1 root root  7 Mar  2 10:00 .key\nlrwxrwxrwx 1 dev dev   4 Mar  2 10:00 now -> a.1\n";
        let (_, shown) = run(ls, text, &["ls", "-la"]);
        assert_eq!(
            shown,
            "[rtk: owner dev:dev unless shown, dates omitted]\n./\na b.txt 812\nrun* 91\n.key 7 -rw------- root:root\nnow -> a.1\n"
        );
    }

    #[test]
    fn recursive_listings_keep_their_headings() {
        let text = "src:\na.rs\nb.rs\nc\n\nsrc/c:\nx.rs\ny.rs\nz.rs\n";
        assert_eq!(run(ls, text, &["ls", "-R"]).1, "src:\na.rs b.rs c\nsrc/c:\nx.rs y.rs z.rs\n");
    }

    #[test]
    fn paths_are_grouped_by_directory() {
        let text =
            "./a.rs\n./src/x.rs\n./src/y.rs\n./src/z z.rs\nfind: './no': Permission denied\n./src/n/q.rs\n";
        assert_eq!(
            run(find, text, &["find", "."]).1,
            "./a.rs\n./src/: x.rs y.rs \"z z.rs\"\nfind: './no': Permission denied\n./src/n/q.rs\n"
        );
        assert_eq!(run(find, "a sentence, that is prose\nand more: of it\n", &[]).0, Verdict::NotMine);
    }

    #[test]
    fn many_paths_are_counted_by_directory() {
        let text: String = (0..500).map(|n| format!("d{}/f{n}.c\n", n / 100)).collect();
        let (_, shown) = run(find, &text, &["find", "."]);
        assert!(
            shown.contains("[rtk: 300 files omitted]\nd2/: 100 more\n")
                && shown.contains("f199.c")
                && !shown.contains("f200.c")
        );
    }

    #[test]
    fn drawings_become_indentation() {
        let text = ".\n\u{251c}\u{2500}\u{2500} a\n\u{2502}\u{a0}\u{a0} \u{2514}\u{2500}\u{2500} b.rs\n\u{2514}\u{2500}\u{2500} c.rs\n\n1 directory, 2 files\n";
        assert_eq!(run(tree, text, &["tree"]).1, ".\n a\n  b.rs\n c.rs\n\n1 directory, 2 files\n");
    }
}
