//! Laws of rendered diffs, each with broken twins that the same check catches, and a trial with git itself.

use std::path::Path;
use std::process::Command;

use proptest::prelude::*;
use proptest::test_runner::{Config, RngAlgorithm, TestError, TestRng, TestRunner};

use super::super::tests::shown;
use super::hunk;
use crate::rtk::kit::Level;

/// Lines that look like parts of a diff once they have a sign.
const LINES: &[&str] = &[
    "a",
    "b",
    "b",
    "",
    "- x",
    "-- comment",
    "++ y",
    "  indented",
    "@@ -1 +1 @@",
    "diff --git a/x b/x",
    "error: broken",
    "same",
    "same",
    "same",
];

/// One edit: lines that stay, lines that go, lines that come.
type Edit = (Vec<&'static str>, Vec<&'static str>, Vec<&'static str>);

/// A patch with three lines of context, the text before it and the text behind it.
fn patch(edits: &[Edit]) -> (String, Vec<&'static str>, Vec<&'static str>) {
    let mut script: Vec<(char, &str)> = Vec::new();
    for (stay, go, come) in edits {
        script.extend(stay.iter().map(|l| (' ', *l)));
        script.extend(go.iter().map(|l| ('-', *l)));
        script.extend(come.iter().map(|l| ('+', *l)));
    }
    let old: Vec<&str> = script.iter().filter(|l| l.0 != '+').map(|l| l.1).collect();
    let new: Vec<&str> = script.iter().filter(|l| l.0 != '-').map(|l| l.1).collect();
    let near = |i: usize| script[i.saturating_sub(3)..(i + 4).min(script.len())].iter().any(|l| l.0 != ' ');
    let mut text = String::from("diff --git a/x b/x\nindex 1..2 100644\n--- a/x\n+++ b/x\n");
    let (mut from, mut to, mut i) = (1, 1, 0);
    while i < script.len() {
        if !near(i) {
            (from, to, i) = (from + 1, to + 1, i + 1);
            continue;
        }
        let end = (i..script.len()).find(|j| !near(*j)).unwrap_or(script.len());
        let minus = script[i..end].iter().filter(|l| l.0 != '+').count();
        let plus = script[i..end].iter().filter(|l| l.0 != '-').count();
        let start = |at: usize, count: usize| if count == 0 { at - 1 } else { at };
        text += &format!("@@ -{},{minus} +{},{plus} @@ fn x\n", start(from, minus), start(to, plus));
        for (sign, line) in &script[i..end] {
            text += &format!("{sign}{line}\n");
        }
        (from, to, i) = (from + minus, to + plus, end);
    }
    (text, old, new)
}

/// Changed lines with their signs, by the counts of the headers.
fn changed(text: &str) -> Vec<String> {
    let mut left = (0, 0);
    let mut lines = Vec::new();
    for line in text.lines() {
        if left == (0, 0) {
            left = hunk::header(line).map_or((0, 0), |h| (h.old.count, h.new.count));
            continue;
        }
        match line.as_bytes().first() {
            Some(b'-') => left.0 -= 1,
            Some(b'+') => left.1 -= 1,
            Some(b'\\') => {}
            _ => left = (left.0 - 1, left.1 - 1),
        }
        if line.starts_with(['-', '+']) {
            lines.push(line.to_owned());
        }
    }
    lines
}

/// Applies a patch at the places its headers name, without any tolerance.
fn apply(patch: &str, old: &[&str]) -> Option<Vec<String>> {
    let (mut result, mut at, mut left) = (Vec::new(), 0, (0, 0));
    for line in patch.lines() {
        if left == (0, 0) {
            let Some(h) = hunk::header(line) else { continue };
            let start = h.old.start as usize - usize::from(h.old.count > 0);
            result.extend(old.get(at..start)?.iter().map(|l| (*l).to_owned()));
            let place = h.new.start as usize - usize::from(h.new.count > 0);
            if result.len() != place {
                return None;
            }
            (at, left) = (start, (h.old.count, h.new.count));
            continue;
        }
        let body = line.get(1..).unwrap_or("");
        let (minus, plus) = match line.as_bytes().first() {
            Some(b'-') => (1, 0),
            Some(b'+') => (0, 1),
            _ => (1, 1),
        };
        left = (u64::checked_sub(left.0, minus)?, u64::checked_sub(left.1, plus)?);
        if minus == 1 && *old.get(at)? != body {
            return None;
        }
        at += minus as usize;
        if plus == 1 {
            result.push(body.to_owned());
        }
    }
    result.extend(old.get(at..)?.iter().map(|l| (*l).to_owned()));
    Some(result)
}

type Twin = fn(&str, Level) -> String;

fn check(twin: Twin) -> Result<(), TestError<Vec<Edit>>> {
    let config = Config { cases: 400, failure_persistence: None, ..Config::default() };
    let rng = TestRng::deterministic_rng(RngAlgorithm::ChaCha);
    let lines = |max: usize| prop::collection::vec(prop::sample::select(LINES), 0..max);
    let edits = prop::collection::vec((lines(12), lines(4), lines(4)), 1..6);
    TestRunner::new_with_rng(config, rng).run(&edits, |edits| {
        let (text, old, new) = patch(&edits);
        prop_assume!(old != new);
        for level in Level::ALL {
            let result = twin(&text, level);
            prop_assert!(result.len() <= text.len() + 12, "{result}");
            prop_assert_eq!(changed(&result), changed(&text), "{}", result);
            let applied = apply(&result, &old);
            prop_assert_eq!(
                applied.as_deref(),
                Some(&new.iter().map(|l| (*l).to_owned()).collect::<Vec<_>>()[..]),
                "{}",
                result
            );
            prop_assert_eq!(twin(&result, level), result);
        }
        Ok(())
    })
}

fn real(text: &str, level: Level) -> String {
    shown("git-diff", text, level)
}

#[test]
fn patches_apply_and_keep_every_signed_line() {
    check(real).unwrap();
}

#[test]
fn broken_twins_are_caught() {
    let no_context: Twin =
        |text, _| text.lines().filter(|l| !l.starts_with(' ')).map(|l| format!("{l}\n")).collect();
    let wrong_sign: Twin = |text, level| real(text, level).replacen("\n-b\n", "\n+b\n", 1);
    let equal_once: Twin = |text, level| {
        let mut before = String::new();
        real(text, level)
            .lines()
            .filter(|l| std::mem::replace(&mut before, (*l).to_owned()) != *l)
            .map(|l| format!("{l}\n"))
            .collect()
    };
    for twin in [no_context, wrong_sign, equal_once] {
        assert!(check(twin).is_err());
    }
}

const SAMPLE: &str = "diff --git a/x b/x\nindex 1111111..2222222 100644\n--- a/x\n+++ b/x\n\
    @@ -10,9 +10,9 @@ fn main() {\n one line of text\n two line of text\n three\n-old\n+new\n four\n five\n six\n seven\n\\ No newline at end of file\n";

#[test]
fn context_shrinks_under_true_headers() {
    assert_eq!(
        shown("git-diff", &SAMPLE.replace("9 +10,9", "8 +10,8"), Level::Standard),
        "--- a/x\n+++ b/x\n@@ -12,6 +12,6 @@ (@@ -10) fn main() {\n three\n-old\n+new\n four\n five\n six\n seven\n\\ No newline at end of file\n"
    );
    let minimal = shown("git-diff", SAMPLE, Level::Minimal);
    assert_eq!(minimal, SAMPLE.replace("index 1111111..2222222 100644\n", ""));
}

#[test]
fn the_old_start_can_be_found() {
    let text =
        "--- a/x\n+++ b/x\n@@ -1,3 +1,4 @@\n+b\n a line that stays\n a line that stays\n a line that stays\n";
    assert_eq!(shown("git-diff", text, Level::Aggressive), "--- a/x\n+++ b/x\n@@ -0,0 +1 @@ (@@ -1)\n+b\n");
}

#[test]
fn headers_that_say_more_stay() {
    let text = "diff --git a/old.sh b/new.sh\nold mode 100644\nnew mode 100755\nsimilarity index 90%\nrename from old.sh\nrename to new.sh\n\
        index 1111111..2222222\n--- a/old.sh\n+++ b/new.sh\n@@ -1 +1 @@\n-a\n+b\ndiff --git a/l.png b/l.png\nindex 1111111..2222222 100644\n\
        Binary files a/l.png and b/l.png differ\ndiff --git a/with space b/with space\nindex 1..2 100644\n--- a/with space\n+++ b/with space\n\
        @@ -1 +1 @@\n-a\n+b\ndiff --git a/gone b/gone\ndeleted file mode 100644\nindex 1..0\n--- a/gone\n+++ /dev/null\n@@ -1 +0,0 @@\n-x\n";
    let result = shown("git-diff", text, Level::Standard);
    let index = |l: &&str| !l.starts_with("index ");
    assert!(result.lines().eq(text.lines().filter(index)), "{result}");
}

#[test]
fn what_is_no_diff_by_lines_stays() {
    let words =
        "diff --git a/x b/x\nindex 1..2 100644\n--- a/x\n+++ b/x\n@@ -1,2 +1,2 @@\n a [-b-]{+c+}\n d\n";
    assert_eq!(shown("git-diff", words, Level::Standard), words);
    let cut = "--- a/x\n+++ b/x\n@@ -1,9 +1,9 @@\n a long line of context\n a long line of context\n a long line of context\n-b\n+c\n d\n";
    assert_eq!(
        shown("git-diff", cut, Level::Standard),
        "--- a/x\n+++ b/x\n@@ -3,7 +3,7 @@ (@@ -1)\n a long line of context\n-b\n+c\n d\n"
    );
    let torn = "--- a/x\n+++ b/x\n@@ -1,4 +1,4 @@\n a\n-b\n... 12 lines skipped ...\n+c\nerror: x\n";
    assert_eq!(shown("git-diff", torn, Level::Standard), torn);
    let plain = "1,2c1\n< a\n< a\n---\n> b\n> b\n> b\n> b\n";
    assert_eq!(shown("diff", plain, Level::Standard), plain);
    let combined =
        "diff --cc x\nindex 1,2..3\n--- a/x\n+++ b/x\n@@@ -1,2 -1,2 +1,3 @@@ f\n  a\n+ b\n +b\ndone\n";
    assert_eq!(shown("git-diff", combined, Level::Aggressive), combined.replace("index 1,2..3\n", ""));
}

#[test]
fn only_the_end_of_long_deletions_goes_and_only_when_asked() {
    let body: String = (0..900).map(|n| format!("-line number {n}\n")).collect();
    let text = format!(
        "diff --git a/x b/x\ndeleted file mode 100644\nindex 1..0\n--- a/x\n+++ /dev/null\n@@ -1,900 +0,0 @@\n{body}"
    );
    assert_eq!(changed(&shown("git-diff", &text, Level::Standard)).len(), 900);
    let result = shown("git-diff", &text, Level::Aggressive);
    assert!(result.ends_with("-line number 399\n[rtk: 500 removed lines omitted]\n"), "{result}");
}

/// Runs git in `dir`; its output if it went well.
fn git(dir: &Path, args: &[&str]) -> Option<String> {
    let quiet = [
        "-c",
        "user.name=a",
        "-c",
        "user.email=a@b",
        "-c",
        "core.autocrlf=false",
        "-c",
        "commit.gpgsign=false",
    ];
    let out = Command::new("git")
        .current_dir(dir)
        .args(quiet)
        .args(args)
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .output()
        .ok()?;
    out.status.success().then(|| String::from_utf8_lossy(&out.stdout).into_owned())
}

#[test]
fn git_itself_applies_what_is_left() {
    let dir = std::env::temp_dir().join(format!("omniroute-git-diff-{}", std::process::id()));
    std::fs::create_dir_all(&dir).unwrap();
    if git(&dir, &["init", "-q"]).is_none() {
        return; // No git here.
    }
    let long: String = (0..60).map(|n| format!("this is the line with number {n}\n")).collect();
    let files = [
        ("long", long.as_str()),
        ("a b.txt", "-- comment\n-- other\nx\n"),
        ("no-end", "one\ntwo"),
        ("gone", "1\n2\n3\n"),
        ("aa", "1\n"),
        ("mode", "2\n"),
        ("much", "3\n"),
    ];
    for (name, text) in files {
        std::fs::write(dir.join(name), text).unwrap();
    }
    assert!(git(&dir, &["add", "."]).is_some() && git(&dir, &["commit", "-qm", "first"]).is_some());
    let edited = long
        .replace("number 7\n", "number seven\n")
        .replace("number 12\n", "number 12\n++ added\n")
        .replace("number 40\n", "@@\n");
    std::fs::write(dir.join("long"), edited).unwrap();
    std::fs::write(dir.join("a b.txt"), "-- other\nx\n\n\n").unwrap();
    std::fs::write(dir.join("no-end"), "one\ntwo\nthree").unwrap();
    std::fs::remove_file(dir.join("gone")).unwrap();
    std::fs::write(dir.join("much"), "4\n").unwrap();
    std::fs::write(dir.join("new"), "++ plus\n").unwrap();
    git(&dir, &["mv", "aa", "ab"]).unwrap();
    git(&dir, &["add", "-A"]).unwrap();
    git(&dir, &["update-index", "--chmod=+x", "mode"]).unwrap();
    let tree = git(&dir, &["write-tree"]).unwrap();
    let text = git(&dir, &["diff", "--cached", "-M"]).unwrap();
    for level in Level::ALL {
        let result = real(&text, level);
        assert_eq!(changed(&result), changed(&text));
        std::fs::write(dir.join(".git/patch"), &result).unwrap();
        git(&dir, &["reset", "-q", "--hard"]).unwrap();
        git(&dir, &["apply", "--index", "--unidiff-zero", ".git/patch"])
            .unwrap_or_else(|| panic!("{result}"));
        assert_eq!(git(&dir, &["write-tree"]).unwrap(), tree, "{result}");
    }
    std::fs::remove_dir_all(&dir).unwrap();
}
