//! The known ways to pick the wrong filter, each with its test.

use super::{bare, classes, shell, table};
use crate::rtk::detect::{By, Call, DROP, Detected, FILE_VIEW, LOG, STRUCTURED, UNKNOWN, detect};

fn one(command: &str, text: &str) -> (&'static str, u8) {
    match shell(command, text) {
        Detected::One(one) => (one.class, one.confidence),
        Detected::Sections(all) => panic!("{command}: {all:?}"),
    }
}

const STATUS: &str =
    "On branch main\nChanges not staged for commit:\n\tmodified:   a.rs\n\nno changes added to commit\n";
const PYTEST: &str = "============================= test session starts ==============================\ncollected 1 item\n\na.py .   [100%]\n\n============================== 1 passed in 0.01s ===============================\n";
const VITEST: &str = "\n> a@1.0.0 test\n> vitest run\n\n\n RUN  v1.2.3 /a\n\n ✓ test/a.test.ts (3 tests) 5ms\n\n Test Files  1 passed (1)\n      Tests  3 passed (3)\n   Duration  200ms\n";

#[test]
fn p1_words_are_no_anchors() {
    for (command, text) in [
        ("cat -n main.rs", "     1\tlow\n     2\thigh\n     3\tcritical\n"),
        ("dpkg -S x", "low: high\nmoderate: critical\n"),
        ("ip addr", "1: lo: <UP> mtu 65536\n    inet 127.0.0.1/8\n"),
        ("openssl x509 -text", "Certificate:\n    Data:\n        Version: 3\n"),
        ("frob", "ERROR INFO WARN failed low high vitest biome\n* text\nkey: value\n123 word\n"),
    ] {
        assert!(matches!(one(command, text).0, UNKNOWN | FILE_VIEW), "{command}");
        assert!(matches!(classes(&bare(text))[..], [UNKNOWN | FILE_VIEW]), "{text}");
    }
    let failed = "error: failed to push some refs\nhint: failed\n";
    assert_eq!(one("git push", failed).0, "git-push");
}

#[test]
fn p2_a_known_command_keeps_its_own_class() {
    assert_eq!(one("frobctl list", PYTEST).0, UNKNOWN);
    assert_eq!(one("dpkg -S x", STATUS).0, UNKNOWN);
    assert_eq!(one("terraform output", PYTEST).0, UNKNOWN);
    // A status that printed an error loses its certainty.
    let (class, sure) = one("git status", "fatal: a\nb\nc\nd\ne\n");
    assert!(class == "git-status" && sure < DROP, "{class} {sure}");
}

#[test]
fn p3_the_banner_tells_what_ran() {
    assert_eq!(one("npm test", VITEST).0, "test-vitest");
    let pnpm = VITEST.replace("> a@1.0.0 test\n", "> a@1.0.0 test /home/a\n");
    assert_eq!(one("pnpm test", &pnpm).0, "test-vitest");
    let lint = "\n> a@1.0.0 lint\n> oxlint src\n\nFound 0 warnings and 0 errors.\n";
    assert_eq!(one("npm run lint", lint).0, UNKNOWN);
    // Without a banner the text decides.
    let silent = VITEST.split_once("vitest run\n").map(|(_, rest)| rest).unwrap();
    assert_eq!(one("npm test --silent", silent).0, "test-vitest");
    assert_eq!(one("make test", PYTEST).0, "test-pytest");
    assert_eq!(one("./run.sh", PYTEST).0, "test-pytest");
}

#[test]
fn p4_wrappers_are_seen_through() {
    for command in [
        "npx vitest run",
        "pnpm exec vitest",
        "FOO=1 npx --yes vitest",
        "./node_modules/.bin/vitest run",
        "timeout 60 npx vitest",
        "bash -lc 'npx vitest run'",
    ] {
        assert_eq!(one(command, VITEST).0, "test-vitest", "{command}");
    }
    for command in [
        "uv run pytest -q",
        "python3 -m pytest",
        ".venv/bin/pytest",
        "sudo -E pytest",
        "poetry run python -m pytest",
    ] {
        assert_eq!(one(command, PYTEST).0, "test-pytest", "{command}");
    }
    for command in
        ["git -C d status", "/usr/bin/git status", "ssh host 'git status'", "git -c a.b=c --no-pager status"]
    {
        assert_eq!(one(command, STATUS).0, "git-status", "{command}");
    }
}

#[test]
fn p5_composites_and_pipes() {
    assert_eq!(one("cd x && git status", STATUS).0, "git-status");
    let done = format!("{STATUS}done\n");
    assert_eq!(classes(&shell("git status; echo done", &done)), ["git-status", UNKNOWN]);
    assert_eq!(one("git status | wc -l", "5\n").0, "wc");
    assert_eq!(one("git status | awk '{print $1}'", "On\nChanges\n").0, UNKNOWN);
    let Detected::One(tail) =
        shell("git status | tail -n 3", "\tmodified:   a.rs\n\nno changes added to commit\n")
    else {
        panic!()
    };
    assert!(tail.partial && tail.class == "git-status");
    assert_eq!(one("cat x | grep y", "a y\n").0, FILE_VIEW);
    assert_eq!(one("find . | xargs grep -n x", "a:1:x\n").0, "shell-grep");
    assert_eq!(one("cat x > y", "").0, UNKNOWN);
}

#[test]
fn p6_every_shell_tool_counts() {
    let argv = ["bash".to_owned(), "-lc".to_owned(), "git status".to_owned()];
    for tool in
        ["run_terminal_cmd", "local_shell", "shell_command", "container.exec", "mcp__srv__run_shell", "Bash"]
    {
        let call = Call { tool: Some(tool), command: None, argv: Some(&argv) };
        assert_eq!(classes(&detect(Some(call), STATUS, &table::lookup)), ["git-status"], "{tool}");
    }
    for (tool, class) in [("read_file", FILE_VIEW), ("Grep", FILE_VIEW), ("search_flights", UNKNOWN)] {
        let call = Call { tool: Some(tool), command: Some("git status"), argv: None };
        assert_eq!(classes(&detect(Some(call), STATUS, &table::lookup)), [class], "{tool}");
    }
}

#[test]
fn p7_prose_is_no_log() {
    let notes = "INFO is what we want to see here, not an ERROR of the parser.\n".repeat(20);
    assert_eq!(classes(&bare(&notes)), [UNKNOWN]);
    let log = "2026-01-15T10:00:00Z INFO waiting\n".repeat(20);
    assert_eq!(classes(&bare(&log)), [LOG]);
    assert_eq!(one("cat app.log", &log), (LOG, 90));
    assert_eq!(one("cat -n app.log", &log).0, FILE_VIEW);
    assert_eq!(one("docker logs a", &log).0, "docker-logs");
}

#[test]
fn p8_views_stay_views() {
    for command in [
        "cat a.toml",
        "sed -n '1,20p' a.rs",
        "head -50 a",
        "bat a.py",
        "nl -ba a",
        "git show HEAD:a.rs",
        "git blame a",
        "cat a b",
    ] {
        assert_eq!(one(command, PYTEST).0, FILE_VIEW, "{command}");
    }
    let sections = shell("cat a; echo ---; cat b", "x\n---\ny\n");
    assert_eq!(classes(&sections), [FILE_VIEW]);
}

#[test]
fn p12_quiet_and_localised_totals() {
    assert_eq!(
        classes(&bare("..x.                                     [100%]\n3 passed, 1 xfailed in 0.02s\n")),
        ["test-pytest"]
    );
    assert_eq!(one("pytest -q", "no tests ran in 0.01s\n").0, "test-pytest");
    let (class, sure) = one(
        "git status",
        "Auf Branch main\nZum Commit vorgemerkt:\n\tneue Datei:     a\n\tgeändert:       b\n",
    );
    assert!(class == "git-status" && sure < DROP);
}

#[test]
fn p48_asked_for_detail() {
    let detail = |command: &str| shell(command, PYTEST).all()[0].detail;
    assert!(
        detail("pytest -vv")
            && !detail("pytest -v")
            && detail("pytest -l")
            && detail("cargo test -- --nocapture")
            && detail("grep -C3 x a")
    );
    assert!(!detail("pytest") && !detail("grep -v x a"));
}

#[test]
fn flags_that_make_machine_formats() {
    assert_eq!(one("kubectl get pods -o json", "{\"a\": 1}\n").0, STRUCTURED);
    assert_eq!(
        one("kubectl get pods -o yaml", "apiVersion: v1\nkind: Pod\nmetadata:\n  name: a\n").0,
        STRUCTURED
    );
    assert_eq!(one("kubectl get pods -o json", "Error from server: x\n").0, UNKNOWN);
    assert_eq!(one("cargo build --message-format=json", "{\"a\":1}\n{\"b\":2}\n").0, STRUCTURED);
    assert_eq!(one("curl -s x", "{\"a\": [1, 2]}").0, STRUCTURED);
    assert_eq!(
        one("git diff --stat", " a | 2 +-\n 1 file changed, 1 insertion(+), 1 deletion(-)\n").0,
        "git-stat"
    );
    let Detected::One(found) = shell("git status", STATUS) else { panic!() };
    assert!(found.by == By::Command && found.confidence == 100 && !found.evidence.is_empty());
}
