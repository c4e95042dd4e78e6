//! What git prints and what is left of it, and laws over any text.

use proptest::prelude::*;
use proptest::test_runner::{Config, RngAlgorithm, TestError, TestRng, TestRunner};

use super::RENDERERS;
use crate::rtk::kit::{Draft, Level, Output, Verdict, assemble};

/// The text after the renderer `id`.
pub(super) fn shown(id: &str, text: &str, level: Level) -> String {
    with(id, text, level, &[])
}

fn with(id: &str, text: &str, level: Level, words: &[&str]) -> String {
    let render = RENDERERS.iter().find(|r| r.0 == id).unwrap().1;
    let words = if words.is_empty() { &["git", "diff"] } else { words };
    let out = Output { words, ..Output::new(text, level) };
    let mut draft = Draft::new(out.len());
    if render(&out, &mut draft) == Verdict::NotMine {
        draft.reset();
    }
    assemble(&out, &mut draft, &mut || None).text
}

const STATUS: &str = "On branch topic\nYour branch is ahead of 'origin/topic' by 2 commits.\n  (use \"git push\" to publish your local commits)\n\n\
    You have unmerged paths.\n  (fix conflicts and run \"git commit\")\n  (use \"git merge --abort\" to abort the merge)\n\n\
    Changes to be committed:\n  (use \"git restore --staged <file>...\" to unstage)\n\tmodified:   src/a.rs\n\trenamed:    src/b.rs -> src/c.rs\n\n\
    Unmerged paths:\n  (use \"git add <file>...\" to mark resolution)\n\tboth modified:   db.sql\n\tboth modified:   x, y.sql\n\tdeleted by us:   gone\n\n\
    Changes not staged for commit:\n  (use \"git add/rm <file>...\" to update what will be committed)\n  (commit or discard the untracked or modified content in submodules)\n\
    \tmodified:   lib (new commits, modified content)\n\tnew file:   later.rs\n\n\
    Untracked files:\n  (use \"git add <file>...\" to include in what will be committed)\n\tnotes.md\n\t\"caf\\303\\251\"\n\n";

#[test]
fn sections_of_a_state_become_lines() {
    let text = format!("{STATUS}no changes added to commit (use \"git add\" and/or \"git commit -a\")\n");
    let expected = "On branch topic\nYour branch is ahead of 'origin/topic' by 2 commits.\nYou have unmerged paths.\n\
        staged: M src/a.rs, R src/b.rs -> src/c.rs\nunmerged: both modified: db.sql, \"x, y.sql\"; deleted by us: gone\n\
        unstaged: M lib (new commits, modified content), A later.rs\nuntracked: notes.md, \"caf\\303\\251\"\nno changes added to commit\n";
    assert_eq!(shown("git-status", &text, Level::Standard), expected);
    let foreign =
        text.replace("Changes to be committed:", "Zum Commit vorgemerkt:").replace("(use", "(benutzen Sie");
    let result = shown("git-status", &foreign, Level::Standard);
    assert!(result.contains("\tmodified:   src/a.rs\n") && !result.contains("(benutzen"), "{result}");
    let odd = text.replace("\tdeleted by us:", "\tlost by all:");
    assert!(
        shown("git-status", &odd, Level::Standard).contains("Unmerged paths:\n\tboth modified:   db.sql\n")
    );
    let clean = "On branch main\nnothing to commit, working tree clean\n";
    assert_eq!(shown("git-status", clean, Level::Standard), clean);
    let minimal = shown("git-status", &text, Level::Minimal);
    assert!(
        minimal.contains("\tmodified:   src/a.rs\n") && !minimal.contains("(use \"git push"),
        "{minimal}"
    );
}

#[test]
fn short_states_are_grouped_by_letters() {
    let many: String = (0..60).map(|n| format!("?? file-{n}.txt\n M src/{n}.rs\n")).collect();
    let result =
        shown("git-status", &format!("## main...origin/main [ahead 1]\n{many}R  a -> b\n"), Level::Standard);
    assert!(result.starts_with("## main...origin/main [ahead 1]\n?? file-0.txt, file-1.txt, "), "{result}");
    assert!(result.contains("\n M src/0.rs, src/1.rs, ") && result.ends_with("\nR  a -> b\n"), "{result}");
    let comma = format!("?? a, b\n{many}");
    assert_eq!(shown("git-status", &comma, Level::Standard), comma);
    let hash = "79617fed00570cb51c1a9a9503907d6a088ca7d4";
    let second = format!(
        "# branch.oid {hash}\n{}",
        format!("1 M. N... 100644 100644 100644 {hash} {hash} a b\n").repeat(2)
    )
    .repeat(3);
    assert!(
        shown("git-status", &second, Level::Standard)
            .contains("\n1 M. N... 100644 100644 100644 79617fed0 79617fed0 a b\n")
    );
}

fn history(commits: usize, body: &str) -> String {
    (0..commits)
        .map(|n| {
            format!(
                "commit {n:040x} (tag: v{n})\nMerge: 1234567 89abcde\nAuthor: A U Thor <a@example.com>\nDate:   Tue Aug 4 10:00:0{n} 2026 -0400\n\n    subject {n}\n{body}\n"
            )
        })
        .collect()
}

#[test]
fn commits_become_lines() {
    let many = history(9, "\n    some words on this\n    more words\n    Fixes #12\n");
    let result = shown("git-log", &many, Level::Standard);
    assert!(
        result.starts_with("000000000 (tag: v0) subject 0\n    Fixes #12\n000000000 (tag: v1) subject 1\n"),
        "{result}"
    );
    assert!(result.trim_end().ends_with("[rtk: 18 lines omitted]"), "{result}");
    let named = with("git-log", &many, Level::Standard, &["git", "log", "--since=yesterday"]);
    assert!(
        named.starts_with("000000000 (tag: v0) subject 0 -- A U Thor, Tue Aug 4 10:00:00 2026 -0400\n"),
        "{named}"
    );
    let few = shown("git-log", &history(4, ""), Level::Standard);
    assert!(
        few.contains(
            "subject 3 -- A U Thor <a@example.com>, Tue Aug 4 10:00:03 2026 -0400, merge 1234567 89abcde\n"
        ),
        "{few}"
    );
    let one = history(1, &"    a line of the message that tells why\n".repeat(20));
    assert!(!shown("git-log", &one, Level::Standard).contains("[rtk:"));
    let error = history(9, "    error: cannot find it\n    plain words\n    plain words\n    plain words\n");
    let result = shown("git-log", &error, Level::Standard);
    assert!(result.contains("subject 8\n    error: cannot find it\n[rtk: 27 lines omitted]"), "{result}");
    let graph = "* commit 0123456789abcdef\n| Author: x\n|\n|     subject\n".repeat(9);
    assert_eq!(shown("git-log", &graph, Level::Standard), graph);
    assert_eq!(shown("git-log", &many, Level::Minimal), many);
}

#[test]
fn files_stand_under_their_commits() {
    let files = "\n src/a.rs | 5 ++---\n src/b.rs | 200 ++--\n 2 files changed, 105 insertions(+), 100 deletions(-)\n";
    let result = shown("git-log", &history(9, files), Level::Standard);
    assert!(result.contains("subject 0\n src/: a.rs +2 -3, b.rs 200 +-\n 2 files changed, 105 insertions(+), 100 deletions(-)\n000"), "{result}");
    let names = history(9, "\nM\tsrc/a.rs\nR100\tx\ty\n");
    assert!(shown("git-log", &names, Level::Standard).contains("subject 0\nM src/a.rs\nR100 x\ty\n000"));
    let bare = with(
        "git-log",
        &history(9, "\nsrc/a.rs\nsrc/b.rs\n"),
        Level::Standard,
        &["git", "log", "--name-only"],
    );
    assert!(bare.contains("subject 0\nsrc/: a.rs, b.rs\n000"), "{bare}");
    let patch =
        history(9, "\ndiff --git a/x b/x\nindex 1..2 100644\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n");
    assert!(
        shown("git-log", &patch, Level::Standard)
            .contains("subject 8\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n")
    );
}

#[test]
fn shown_objects_keep_their_messages_and_files_stay_as_they_are() {
    let text = history(1, "\n    why it is so\n\ndiff --git a/x b/x\nindex 1..2 100644\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n").repeat(3);
    let result = with("git-show", &text, Level::Standard, &["git", "show"]);
    assert!(result.contains("    why it is so\n\n--- a/x\n"), "{result}");
    assert_eq!(with("git-show", &text, Level::Standard, &["git", "show", "HEAD:notes"]), text);
    let file = format!("# notes\n{text}");
    assert_eq!(with("git-show", &file, Level::Standard, &["git", "show", "1234567"]), file);
}

#[test]
fn transfers_lose_counters_only() {
    let mut text = String::from(
        "Enumerating objects: 5, done.\nCounting objects: 100% (5/5), done.\nDelta compression using up to 8 threads\n",
    );
    text += "Compressing objects: 100% (3/3), done.\nWriting objects: 100% (3/3), 300 bytes | 300.00 KiB/s, done.\n";
    text += "Total 3 (delta 2), reused 0 (delta 0), pack-reused 0\nremote: Resolving deltas: 100% (2/2), completed with 2 local objects.\n";
    text += "remote: \nremote: Create a pull request for 'x' on GitHub by visiting:\nremote:      https://git.example.com/acme/x/pull/new/x\nremote: \n";
    text += "To git.example.com:acme/x.git\n   1234567..89abcde  main       -> main\n * [new branch]      topic/with-a-name -> topic/with-a-name\n";
    text += " ! [rejected]        old -> old (fetch first)\nerror: failed to push some refs to 'git.example.com:acme/x.git'\n";
    text += "hint: Updates were rejected because the remote contains work\nhint: See the 'Note about fast-forwards' for details.\n";
    let expected = "[rtk: 5 progress lines omitted]\nTotal 3 (delta 2), reused 0 (delta 0), pack-reused 0\n\
        [rtk: 1 progress line omitted]\nremote: Create a pull request for 'x' on GitHub by visiting:\n\
        remote:      https://git.example.com/acme/x/pull/new/x\nTo git.example.com:acme/x.git\n   1234567..89abcde main -> main\n\
        \x20* [new branch] topic/with-a-name -> topic/with-a-name\n ! [rejected] old -> old (fetch first)\n\
        error: failed to push some refs to 'git.example.com:acme/x.git'\nhint: Updates were rejected because the remote contains work\n";
    assert_eq!(shown("git-push", &text, Level::Standard), expected);
    assert!(shown("git-push", &text, Level::Minimal).contains("Total 3 "));
    let good = "hint: Using 'master' as the name for the initial branch.\nInitialized empty Git repository in /x/.git/\n";
    assert_eq!(shown("git-commit", good, Level::Standard), "Initialized empty Git repository in /x/.git/\n");
}

#[test]
fn tables_lose_their_padding() {
    let long = "words ".repeat(20);
    let rows: String = (0..9).map(|n| format!("  remotes/origin/topic-{n}      1234567 {long}\n")).collect();
    let text = format!(
        "* main                        1234567 [origin/main: gone] short\n  remotes/origin/HEAD           -> origin/main\n{rows}"
    );
    let result = shown("git-branch", &text, Level::Standard);
    let start = "* main 1234567 [origin/main: gone] short\n  remotes/origin/HEAD -> origin/main\n  remotes/origin/:\n    topic-0 1234567 words words";
    assert!(result.starts_with(start) && result.contains(" words ...\n    topic-1 "), "{result}");
    assert_eq!(shown("git-branch", &result, Level::Standard), result);
    let remotes: String = (0..9).map(|n| format!("r{n}\thttps://git.example.com/acme/repository-{n}.git (fetch)\nr{n}\thttps://git.example.com/acme/repository-{n}.git (push)\n")).collect();
    assert!(
        shown("git-remote", &remotes, Level::Standard)
            .starts_with("r0\thttps://git.example.com/acme/repository-0.git (fetch, push)\nr1\t")
    );
    assert_eq!(shown("git-shortlog", "   120\tA\n     3\tB\n", Level::Standard), "120\tA\n3\tB\n");
}

const LINES: &[&str] = &[
    "diff --git a/x b/x",
    "index 1111111..2222222 100644",
    "--- a/x",
    "+++ b/x",
    "@@ -1,2 +1,2 @@ fn",
    "@@@ -1,2 -1,2 +1,3 @@@",
    " context",
    "-gone",
    "+come",
    "++both",
    "\\ No newline at end of file",
    "commit 0123456789abcdef0123456789abcdef01234567",
    "Author: A <a@b>",
    "Date:   now",
    "",
    "    subject",
    "    Fixes #1",
    " src/a.rs | 2 +-",
    " 1 file changed, 1 insertion(+)",
    " create mode 100644 src/x",
    "M\tsrc/a.rs",
    "1\t2\tsrc/a.rs",
    "Changes to be committed:",
    "Untracked files:",
    "  (use \"git add\" to track)",
    "\tmodified:   a",
    "\tnew.txt",
    "no changes added to commit (use \"git add\")",
    "?? x",
    " M y",
    "## main",
    "hint: do it",
    "You are in 'detached HEAD' state. You can look around",
    "Turn off this advice by setting config variable x",
    "Receiving objects:  10% (1/10)",
    "Receiving objects: 100% (10/10), done.",
    "Counting objects: 100% (5/5), done.",
    "remote: Counting objects: 3",
    "   1234567..89abcde  main -> main",
    "Auto-merging a",
    "CONFLICT (content): Merge conflict in a",
    "^9d1e619 (A 2016-02-27 11:07:26 -0500   1) x",
    "a744ec13 (B 2016-02-27 11:07:26 -0500   2) y -> z",
    "  remotes/origin/a   1234567 s",
    "* main   1234567 s",
    "GIT binary patch",
    "literal 12",
    "zcmZ?wbhEHbRAFFb",
    "error: it broke",
    "漢字 (x",
];

type Twin = fn(&str, &str, Level) -> String;

/// No line without a place in a grammar is lost, and a second run changes nothing.
fn check(twin: Twin) -> Result<(), TestError<Vec<(&'static str, u8)>>> {
    let config = Config { cases: 300, failure_persistence: None, ..Config::default() };
    let rng = TestRng::deterministic_rng(RngAlgorithm::ChaCha);
    let lines = prop::collection::vec((prop::sample::select(LINES), 0u8..8), 0..60);
    TestRunner::new_with_rng(config, rng).run(&lines, |lines| {
        let mut text = String::new();
        let mut foreign = Vec::new();
        for (n, (line, dice)) in lines.iter().enumerate() {
            text += line;
            text.push('\n');
            if *dice == 0 {
                foreign.push(format!("zz line {n} of something else"));
                text += &format!("zz line {n} of something else\n");
            }
        }
        for (id, _) in RENDERERS {
            for level in Level::ALL {
                let result = twin(id, &text, level);
                for line in &foreign {
                    prop_assert!(
                        result.contains(line.as_str()),
                        "{} {:?}: {} is lost in\n{}",
                        id,
                        level,
                        line,
                        result
                    );
                }
                if !result.contains("[rtk: ") {
                    prop_assert_eq!(&twin(id, &result, level), &result, "{} {:?}", id, level);
                }
            }
        }
        Ok(())
    })
}

#[test]
fn any_text_keeps_what_is_not_understood() {
    check(shown).unwrap();
}

#[test]
fn a_twin_that_drops_lines_is_caught() {
    let forgets: Twin = |id, text, level| shown(id, text, level).replacen("zz line 7 ", "", 1);
    assert!(check(forgets).is_err());
    let restless: Twin = |id, text, level| shown(id, text, level) + "again\n";
    assert!(check(restless).is_err());
}
