//! Several commands in one call.

use super::{classes, shell};
use crate::rtk::detect::{Detected, FILE_VIEW, UNKNOWN};

const CARGO: &str =
    "   Compiling a v0.1.0 (/a)\n    Finished `dev` profile [unoptimized + debuginfo] target(s) in 0.5s\n";
const TESTS: &str = "    Finished `test` profile [unoptimized] target(s) in 0.5s\n     Running unittests src/lib.rs (target/debug/deps/a-1)\n\nrunning 1 test\ntest a ... ok\n\ntest result: ok. 1 passed; 0 failed; 0 ignored\n\n";
const PYTEST: &str = "..F                                      [100%]\n=================================== FAILURES ===================================\nE   assert 1 == 2\n1 failed, 2 passed in 0.03s\n";
const STATUS: &str = "On branch main\nnothing to commit, working tree clean\n";
const DIFF: &str = "diff --git a/a b/a\nindex 1..2 100644\n--- a/a\n+++ b/a\n@@ -1,2 +1,2 @@\n On branch x\n-running 2 tests\n+test result: ok. 2 passed; 0 failed\n";
const COMMIT: &str = "[main 1a2b3c4] fix it\n 1 file changed, 2 insertions(+)\n create mode 100644 a\n";
const LOG: &str = "1a2b3c4 fix it\n5d6e7f8 first\n";

/// Texts of the sections and their classes.
fn split(command: &str, text: &str) -> Vec<(&'static str, String)> {
    match shell(command, text) {
        Detected::One(one) => vec![(one.class, text.to_owned())],
        Detected::Sections(all) => {
            all.iter().map(|(range, one)| (one.class, text.get(range.clone()).unwrap().to_owned())).collect()
        }
    }
}

/// Checks that `parts` joined are told apart again.
fn check(command: &str, parts: &[(&'static str, &str)]) {
    let text: String = parts.iter().map(|(_, text)| *text).collect();
    let found = split(command, &text);
    let expected: Vec<_> = parts.iter().map(|(class, text)| (*class, (*text).to_owned())).collect();
    assert_eq!(found, expected, "{command}");
}

#[test]
fn banners_and_summaries_are_edges() {
    check("pytest -q; git status", &[("test-pytest", PYTEST), ("git-status", STATUS)]);
    check("cargo test 2>&1; git status", &[("test-cargo", TESTS), ("git-status", STATUS)]);
    check("git diff && pytest -q", &[("git-diff", DIFF), ("test-pytest", PYTEST)]);
    check("git add -A && git commit -m x && git log --oneline", &[("git-commit", COMMIT), ("git-log", LOG)]);
    check(
        "git commit -m x && git status && git diff HEAD~1",
        &[("git-commit", COMMIT), ("git-status", STATUS), ("git-diff", DIFF)],
    );
    check("cargo build && ./target/debug/bench 80", &[("cargo-build", CARGO), (UNKNOWN, "a 1\nb 2\n")]);
    check(
        "git diff; pytest -q; git diff",
        &[("git-diff", DIFF), ("test-pytest", PYTEST), ("git-diff", DIFF)],
    );
}

#[test]
fn echoed_lines_are_edges() {
    check(
        "cargo test 2>&1 | tail -40; echo ---; cat a.txt",
        &[("test-cargo", TESTS), (UNKNOWN, "---\n"), (FILE_VIEW, "some text\nmore\n")],
    );
    check(
        "ls; echo '=== x ==='; cat a; echo \"exit $?\"",
        &[("shell-ls", "a\nb\n"), (UNKNOWN, "=== x ===\n"), (FILE_VIEW, "text\n"), (UNKNOWN, "exit 0\n")],
    );
    check(
        "ls; echo ---; find .; echo ---; cat a",
        &[
            ("shell-ls", "a\n"),
            (UNKNOWN, "---\n"),
            ("shell-find", "./a\n"),
            (UNKNOWN, "---\n"),
            (FILE_VIEW, "x\n"),
        ],
    );
}

#[test]
fn views_between_known_edges() {
    check(
        "sed -n 1,9p a.py && python -m pytest -v",
        &[
            (FILE_VIEW, "def a():\n    return 1\n"),
            (
                "test-pytest",
                "============================= test session starts ==============================\ncollected 1 item\n\n============================== 1 passed in 0.01s ===============================\n",
            ),
        ],
    );
    check("git status; cat a", &[("git-status", STATUS), (FILE_VIEW, "On top of it\n")]);
}

#[test]
fn package_scripts_are_edges() {
    let test = "\n> a@1.0.0 test\n> vitest run\n\n RUN  v1.2.3 /a\n\n ✓ test/a.test.ts (3 tests) 5ms\n\n Test Files  1 passed (1)\n      Tests  3 passed (3)\n   Duration  200ms\n\n";
    let lint = "> a@1.0.0 lint\n> eslint src\n\n\n/a/src/b.js\n  1:2  error  Unexpected var  no-var\n\n✖ 1 problem (1 error, 0 warnings)\n";
    check("npm test && npm run lint", &[("test-vitest", test), ("build-eslint", lint)]);
}

#[test]
fn what_cannot_be_told_apart_is_unknown() {
    for (command, text) in [
        ("cat a; ./x", "one\ntwo\n"),
        ("ls; cat a", "a\nb\nc\n"),
        // One more line like the separator than the command printed.
        ("cat a; echo ---; ls", "a\n---\nb\n---\nc\n"),
    ] {
        assert_eq!(classes(&shell(command, text)), [UNKNOWN], "{command}");
    }
}

#[test]
fn one_class_covers_both() {
    let both = format!("{CARGO}{TESTS}");
    assert_eq!(classes(&shell("cargo build && cargo test", &both)), ["test-cargo"]);
    assert_eq!(
        classes(&shell("for f in a b; do kubectl get pod $f; done", "NAME READY STATUS\na 1/1 Running\n")),
        ["kubectl"]
    );
}

#[test]
fn lines_of_a_harness_stand_apart() {
    check(
        "git status",
        &[(UNKNOWN, "Exit code: 0\nWall time: 1 seconds\nOutput:\n"), ("git-status", STATUS)],
    );
    check("pytest -q", &[("test-pytest", PYTEST), (UNKNOWN, "[exit code 1]\n")]);
}

#[test]
fn the_check_catches_a_moved_edge() {
    let found = split("pytest -q; git status", &format!("{PYTEST}{STATUS}"));
    let moved = [
        ("test-pytest", format!("{PYTEST}On branch main\n")),
        ("git-status", STATUS.replace("On branch main\n", "")),
    ];
    assert_ne!(found, moved);
}
