//! Facts that were lost: verdicts nobody printed, failures behind green lines, repositories that looked clean.

use super::{at, capture, complete, lines, plan, rtk, with};

#[test]
fn pitfall_09_lists_do_not_outrank_protection() {
    for file in [
        "package/uv-sync.txt",
        "package/uv-add-fail.txt",
        "shell/rsync.txt",
        "shell/rsync-error.txt",
        "package/npm-eresolve.txt",
        "package/npm-install-404.txt",
        "build/ruff-concise.txt",
        "build/biome-check.txt",
    ] {
        complete(file);
    }
    let npm = lines(30, |n| format!("npm http fetch GET 200 pkg-{n} 12ms"))
        + "npm error code EINTEGRITY\nnpm error sha512-abc integrity checksum failed\n";
    rtk(&npm, "npm ci").keeps(&["npm error code EINTEGRITY", "integrity checksum failed"]);
}

#[test]
fn pitfall_10_a_suite_that_did_not_load_has_failed() {
    for file in [
        "test/pytest-fail-collect.txt",
        "test/pytest-fixture-error.txt",
        "test/jest-fail-notfound.txt",
        "test/vitest-suite-error.txt",
        "test/cargo-test-compile-error.txt",
        "test/pytest-no-tests.txt",
    ] {
        complete(file);
    }
    let passing = lines(40, |n| format!("ok  \texample.com/pump/pkg{n}\t0.0{n}s"));
    let go = format!(
        "# example.com/pump/store [example.com/pump/store.test]\nstore/store_test.go:14:9: undefined: Open\n{passing}FAIL\texample.com/pump/store [build failed]\nFAIL\n"
    );
    rtk(&go, "go test ./...").keeps(&["store/store_test.go:14:9: undefined: Open", "[build failed]"]);
    let mocha = lines(60, |n| format!("    \u{2714} adds {n}"))
        + "\nError: Cannot find module './missing'\nRequire stack:\n- /home/user/web/test/a.spec.js\n    at Module._resolveFilename (node:internal/modules/cjs/loader:1140:15)\n";
    let sent = rtk(&mocha, "npx mocha");
    sent.keeps(&["Cannot find module './missing'", "test/a.spec.js"]).has_none(&["0 failing", "60 passing"]);
}

#[test]
fn pitfall_11_green_totals_and_an_exit_code() {
    complete("test/vitest-fail-unhandled.txt");
    let cases = lines(80, |n| format!("tests/test_pump.py::test_case_{n} PASSED"));
    let text = format!(
        "============ test session starts ============\ncollected 80 items\n\n{cases}\n============ 80 passed in 0.52s ============\nsys:1: ResourceWarning\nworker 3 left the pool\n"
    );
    for level in ["minimal", "standard", "aggressive"] {
        let sent = at(level, &text, Some("pytest -v"), Some(3));
        sent.keeps(&["80 passed in 0.52s", "worker 3 left the pool"]);
    }
    let jest = lines(60, |n| format!("PASS src/case{n}.test.js"))
        + "\nTests:       60 passed, 60 total\n\n\u{25cf} Cannot log after tests are done. Did you forget to wait for something async?\n    Attempted to log \"late 17\".\n";
    at("standard", &jest, Some("npx jest"), Some(1)).keeps(&["Cannot log after tests are done", "late 17"]);
}

#[test]
fn pitfall_12_summaries_of_every_shape() {
    for file in [
        "test/pytest-xdist.txt",
        "test/pytest-collect-only.txt",
        "test/pytest-fail-rxX.txt",
        "test/pytest-fail-colour.txt",
        "test/pytest-pass-q.txt",
    ] {
        complete(file);
    }
    let dots = lines(30, |n| format!("{} [{:>3}%]", ".".repeat(72), n * 3));
    for total in [
        "2160 passed, 2 xfailed, 1 xpassed in 3.01s",
        "2158 passed, 2 xfailed in 3.01s",
        "\u{1b}[32m\u{1b}[1m2160 passed\u{1b}[0m, \u{1b}[33m3 skipped\u{1b}[0m in 3.01s",
        "1 failed, 2159 passed, 4 rerun in 3.01s",
    ] {
        let sent = rtk(&format!("{dots}{total}\n"), "pytest -q");
        let shown = total
            .replace("\u{1b}[32m", "")
            .replace("\u{1b}[1m", "")
            .replace("\u{1b}[0m", "")
            .replace("\u{1b}[33m", "");
        sent.keeps(&[&shown]);
        assert_eq!(sent.text.contains("failed"), shown.contains("failed"), "{}", sent.text);
    }
}

#[test]
fn pitfall_13_no_short_word_of_success_over_a_warning() {
    let satisfied = lines(40, |n| {
        format!("Requirement already satisfied: lib{n}>=1.{n} in /usr/lib/python3/site-packages (1.{n}.2)")
    });
    let pip = format!(
        "{satisfied}WARNING: pump 1.0 requires lib3<1.0, but you have lib3 1.3.2 which is incompatible.\n"
    );
    rtk(&pip, "pip install -r requirements.txt").keeps(&["requires lib3<1.0, but you have lib3 1.3.2"]);
    let bundle = lines(40, |n| format!("Using gem{n} 1.{n}.0"))
        + "Bundle complete! 12 Gemfile dependencies, 40 gems now installed.\nPost-install message from old:\nold is deprecated, use new before 2027\n";
    rtk(&bundle, "bundle install").keeps(&["Bundle complete!", "old is deprecated, use new before 2027"]);
    let vite = lines(50, |n| format!("dist/assets/chunk-{n}.js      {n}.12 kB \u{2502} gzip: 0.{n} kB"))
        + "(!) Some chunks are larger than 500 kB after minification.\n\u{2713} built in 3.41s\n";
    rtk(&vite, "vite build").keeps(&["Some chunks are larger than 500 kB", "built in 3.41s"]);
    let rsync = lines(60, |n| format!("src/file{n}.txt"))
        + "rsync: [sender] send_files failed to open \"/srv/secret.txt\": Permission denied (13)\ntotal size is 8,812  speedup is 1.00\nrsync error: some files could not be transferred (code 23)\n";
    rtk(&rsync, "rsync -av src/ host:/srv").keeps(&[
        "secret.txt\": Permission denied (13)",
        "(code 23)",
        "total size is 8,812",
    ]);
    // The tool did not start: nothing says that all was well.
    for (command, text) in [
        ("npx prettier --check .", "sh: 1: prettier: not found\n".to_owned()),
        ("golangci-lint run", "bash: golangci-lint: command not found\n".to_owned()),
        ("ruff check .", lines(40, |_| String::new()) + "error: No such file or directory (os error 2)\n"),
    ] {
        let sent = at("aggressive", &text, Some(command), Some(127));
        let last = text.lines().last().unwrap();
        sent.keeps(&[last]).has_none(&["ok", "All ", "No issues"]);
    }
}

#[test]
fn pitfall_14_a_status_is_whole() {
    for file in [
        "git/git-status-clean.txt",
        "git/git-status-rebase.txt",
        "git/git-status-conflict.txt",
        "git/git-status-merge-conflict.txt",
    ] {
        complete(file);
    }
    rtk(&capture("git/git-status-clean.txt").text, "git status").keeps(&["nothing to commit"]);
    let untracked = lines(60, |n| format!("\tnotes/draft {n}.md"));
    let text = format!(
        "On branch topic\nYour branch and 'origin/topic' have diverged,\nand have 3 and 17 different commits each, respectively.\n  (use \"git pull\" if you want to integrate the remote branch with yours)\n\nYou are currently bisecting, started from branch 'main'.\n  (use \"git bisect reset\" to get back to the original branch)\n\nChanges not staged for commit:\n  (use \"git add <file>...\" to update what will be committed)\n\tnew file:   intended.rs\n\tdeleted:    \"caf\\303\\251.txt\"\n\nUntracked files:\n  (use \"git add <file>...\" to include in what will be committed)\n{untracked}\nno changes added to commit (use \"git add\" and/or \"git commit -a\")\n"
    );
    for level in ["minimal", "standard", "aggressive"] {
        let sent = at(level, &text, Some("git status"), Some(0));
        sent.keeps(&["On branch topic", "3 and 17", "bisecting", "intended.rs", "caf\\303\\251.txt"]);
        for n in 0..60 {
            sent.keeps(&[&format!("draft {n}.md")]);
        }
        sent.has_none(&["clean"]);
    }
}

#[test]
fn pitfall_15_every_commit_is_there() {
    let commit = |n: usize| {
        let merge =
            if n.is_multiple_of(7) { format!("Merge: {n:07x} {:07x}\n", n + 1) } else { String::new() };
        format!(
            "commit {:040x}\n{merge}Author: Ada Example <ada@example.com>\nDate:   Mon Jan 5 10:{:02}:00 2026 +0000\n\n    Change number {n} of the pump controller, with a subject that is rather long for one line\n\n    The body tells why.\n",
            n as u64 * 7_919_777_000 + 0x0123_4567_89ab,
            n % 60
        )
    };
    let log = lines(120, commit);
    for level in ["minimal", "standard", "aggressive"] {
        let sent = at(level, &log, Some("git log"), Some(0));
        for n in 0..120 {
            let sha = format!("{:040x}", n as u64 * 7_919_777_000 + 0x0123_4567_89ab);
            sent.keeps(&[sha.get(..7).unwrap()]);
            sent.keeps(&[&format!(
                "Change number {n} of the pump controller, with a subject that is rather long for one line"
            )]);
        }
    }
    for file in ["git/git-log-stat.txt", "git/git-log-merges.txt", "git/git-log-graph.txt"] {
        complete(file);
    }
}

/// Whether the counts of every hunk header are those of its lines.
fn hunks_are_true(diff: &str) -> Result<usize, String> {
    let mut count = 0;
    let mut lines = diff.lines().peekable();
    while let Some(line) = lines.next() {
        let Some(head) = line.strip_prefix("@@ -") else { continue };
        let number = |part: &str| part.split_once(',').map_or(Ok(1), |(_, n)| n.parse::<usize>());
        let (old, rest) = head.split_once(" +").ok_or(line)?;
        let new = rest.split(' ').next().unwrap_or("");
        let (mut old, mut new) =
            (number(old).map_err(|e| e.to_string())?, number(new).map_err(|e| e.to_string())?);
        while old + new > 0 {
            let Some(body) = lines.next() else { return Err(format!("{line} ends early")) };
            match body.bytes().next() {
                Some(b'-') if old > 0 => old -= 1,
                Some(b'+') if new > 0 => new -= 1,
                Some(b' ') | None if old > 0 && new > 0 => (old, new) = (old - 1, new - 1),
                Some(b'\\') => {}
                _ => return Err(format!("{line}: {body:?} does not belong")),
            }
        }
        count += 1;
    }
    Ok(count)
}

#[test]
fn pitfall_16_a_diff_stays_a_diff() {
    let context = |n: usize| lines(12, |i| format!(" context {n} {i} with some words to have a length"));
    let mut diff = "diff --git \"a/my b/caf\\303\\251.sql\" \"b/my b/caf\\303\\251.sql\"\nindex 1234567..89abcde 100644\n--- \"a/my b/caf\\303\\251.sql\"\n+++ \"b/my b/caf\\303\\251.sql\"\n".to_owned();
    for n in 0..6 {
        // A removed SQL comment looks like a header, equal lines stand twice, a line of blanks is removed.
        diff += &format!("@@ -{0},28 +{0},28 @@ fn number_{n}()\n", 1 + n * 100);
        diff += &context(n);
        diff += "--- drop the old index\n-same\n-same\n-   \n+++ i\n+same\n+same\n+new\n";
        diff += &context(n + 50);
    }
    assert_eq!(hunks_are_true(&diff), Ok(6), "the sample is right");
    for level in ["minimal", "standard", "aggressive"] {
        let sent = at(level, &diff, Some("git diff"), Some(0));
        sent.keeps(&["my b/caf\\303\\251.sql"]);
        assert_eq!(hunks_are_true(&sent.text), Ok(6), "{level}:\n{}", sent.text);
        for (line, times) in
            [("--- drop the old index", 6), ("-same", 12), ("+same", 12), ("+new", 6), ("+++ i", 6)]
        {
            let there = sent.text.lines().filter(|l| *l == line).count();
            assert_eq!(there, times, "{line} at {level}:\n{}", sent.text);
        }
    }
    // Neither side may use up the other's share.
    let removed = lines(300, |n| format!("-old line {n}"));
    let added = lines(300, |n| format!("+new line {n}"));
    let big = format!(
        "diff --git a/x.rs b/x.rs\nindex 1234567..89abcde 100644\n--- a/x.rs\n+++ b/x.rs\n@@ -1,300 +1,300 @@\n{removed}{added}"
    );
    let sent = rtk(&big, "git diff");
    sent.keeps(&["-old line 0", "-old line 299", "+new line 0", "+new line 299"]);
    for file in [
        "git/git-diff-worddiff.txt",
        "git/git-diff-conflict.txt",
        "git/git-diff-combined-conflict.txt",
        "git/git-diff-big.txt",
    ] {
        complete(file);
    }
    let broken = diff.replacen("-same\n", "", 1);
    assert!(hunks_are_true(&broken).is_err(), "the check catches a line that is gone");
}

#[test]
fn pitfall_17_alike_is_not_equal() {
    let head = "a long line that begins like all the others do and goes on for more than a hundred characters before anything differs: ";
    let text = lines(20, |n| format!("{head}{n}"));
    for command in ["make all", "./deploy.sh", "cargo build"] {
        let sent = rtk(&text, command);
        for n in 0..20 {
            assert!(
                sent.text.lines().any(|l| l.ends_with(&format!(": {n}"))),
                "{n} is gone from {command}:\n{}",
                sent.text
            );
        }
    }
    let diff = "Files a/config.toml and b/config.toml differ\n".to_owned()
        + &lines(30, |n| format!("Files a/conf{n}.toml and b/conf{n}.toml differ"));
    rtk(&diff, "diff -rq a b").keeps(&["a/conf0.toml", "a/conf29.toml"]).has_none(&["identical"]);
}

#[test]
fn pitfall_24_nothing_goes_without_a_word() {
    let code =
        "def guard(user):\n    if not user.is_admin:\n        return None\n    return delete_all()\n\n\n"
            .repeat(40);
    for command in ["sed -n 1,240p app.py", "git show HEAD:app.py", "cat app.py"] {
        super::stays(&code, Some(command));
    }
    // Fewer lines than before: a marker says so, and the counts add up.
    let engine = plan("rtk");
    for (file, folded) in
        [("test/cargo-test-pass-long.txt", "omitted"), ("generic/repeated-lines-log.txt", "[rtk: ")]
    {
        let output = capture(file);
        let sent = with(&engine, &output.text, Some(&output.command), output.exit_code);
        assert!(sent.text.lines().count() < output.text.lines().count());
        sent.keeps(&[folded]);
    }
    let tests = lines(200, |n| format!("test store::case_{n} ... ok"));
    let text = format!(
        "running 200 tests\n{tests}\ntest result: ok. 200 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.1s\n"
    );
    let sent = rtk(&text, "cargo test");
    let shown = sent.text.lines().filter(|l| l.ends_with("... ok")).count();
    sent.keeps(&[&format!("[rtk: {} passing tests omitted]", 200 - shown)]);
}

#[test]
fn pitfall_25_every_destroyed_resource_is_named() {
    let block = |n: usize| match n % 8 {
        0 => format!(
            "  # aws_instance.old[{n}] will be destroyed\n  - resource \"aws_instance\" \"old\" {{\n      - ami = \"ami-{n}\" -> null\n      - id  = \"i-{n}\" -> null\n    }}\n"
        ),
        1 => format!(
            "  # aws_db.main[{n}] must be replaced\n-/+ resource \"aws_db\" \"main\" {{\n      ~ engine = \"11\" -> \"12\" # forces replacement\n      ~ id     = \"db-{n}\" -> (known after apply)\n    }}\n"
        ),
        _ => format!(
            "  # aws_s3_bucket.new[{n}] will be created\n  + resource \"aws_s3_bucket\" \"new\" {{\n      + arn    = (known after apply)\n      + bucket = \"b-{n}\"\n      + id     = (known after apply)\n    }}\n"
        ),
    };
    let body = lines(120, block);
    let text = format!(
        "Terraform used the selected providers to generate the following execution plan. Resource actions are indicated with the following symbols:\n  + create\n  - destroy\n-/+ destroy and then create replacement\n\nTerraform will perform the following actions:\n\n{body}\nPlan: 105 to add, 0 to change, 30 to destroy.\n"
    );
    for level in ["standard", "aggressive"] {
        let sent = at(level, &text, Some("terraform plan"), Some(0));
        for n in 0..120 {
            let (name, verb) = match n % 8 {
                0 => (format!("aws_instance.old[{n}]"), "destroy"),
                1 => (format!("aws_db.main[{n}]"), "replace"),
                _ => (format!("aws_s3_bucket.new[{n}]"), "create"),
            };
            let line = sent.text.lines().find(|l| l.contains(&name));
            assert!(line.is_some_and(|l| l.contains(verb)), "{name} {verb}: {line:?}");
        }
        sent.keeps(&["105 to add, 0 to change, 30 to destroy", "forces replacement"]);
    }
}
