//! Which tool printed it: words are no evidence, a known command is, wrappers and pipes are looked through.

use super::{capture, lines, rtk, stays, with};

/// Classes that single words have been taken for.
const BY_WORDS: &[&str] = &[
    "npm-audit",
    "git-branch",
    "du",
    "docker-logs",
    "playwright",
    "golangci-lint",
    "bundle-install",
    "build-eslint",
    "json",
];

#[test]
fn pitfall_01_words_choose_no_filter() {
    let engine = super::plan("rtk");
    for (file, right) in [
        ("shell/openssl-cert.txt", ""),
        ("package/dpkg-l.txt", ""),
        ("git/git-blame.txt", "git-blame"),
        ("build/cargo-clippy.txt", ""),
        ("shell/cat-markdown.txt", ""),
        ("shell/prose-not-a-log.txt", ""),
        ("shell/cjk-emoji.txt", ""),
        ("shell/tree.txt", ""),
        ("shell/ip-addr.txt", ""),
        ("build/mvn-pom-error.txt", ""),
        ("package/npm-ls.txt", ""),
        ("git/git-pull-conflict.txt", ""),
        ("git/git-push-rejected.txt", ""),
        ("shell/find-ls.txt", ""),
        ("build/cmake-configure.txt", ""),
    ] {
        let output = capture(file);
        for command in [Some(output.command.as_str()), None] {
            let sent = with(&engine, &output.text, command, None);
            let class = sent.class();
            assert!(!BY_WORDS.contains(&class), "{file} {command:?} was taken for {class}");
            assert!(right.is_empty() || command.is_none() || class == right, "{file} is {class}");
        }
    }
    let rust = lines(80, |n| {
        format!("{:>6}\tlet level_{n} = if low < high {{ \"critical\" }} else {{ \"info\" }};", n + 1)
    });
    stays(&rust, Some("cat -n src/main.rs"));
    stays(&rust, None);
    let readme = format!(
        "# Pump\n\n{}",
        lines(60, |n| format!("* feature {n}: works with branches and failed uploads"))
    );
    stays(&readme, None);
}

#[test]
fn pitfall_02_a_known_command_keeps_its_own_class() {
    let engine = super::plan("rtk");
    for (command, file, wrong) in [
        ("openssl x509 -in cert.pem -text", "test/pytest-pass-v.txt", "test-pytest"),
        ("gpg --list-keys", "git/git-branch-vv.txt", "git-branch"),
        ("git status", "test/pytest-fail-full.txt", "test-pytest"),
        ("git log -5", "build/gcc-errors.txt", "build-gcc"),
        ("kubectl get pods", "test/vitest-fail.txt", "test-vitest"),
    ] {
        let sent = with(&engine, &capture(file).text, Some(command), None);
        assert_ne!(sent.class(), wrong, "{command}");
    }
    // The same text without a command is recognised: the command made the difference.
    let sent = with(&engine, &capture("test/pytest-fail-full.txt").text, None, None);
    assert_eq!(sent.class(), "test-pytest");
}

#[test]
fn pitfall_03_a_script_of_npm_is_not_a_certain_runner() {
    let output = capture("test/npm-test-vitest.txt");
    let sent = with(&super::plan("rtk"), &output.text, Some("npm test"), Some(1));
    assert_eq!(sent.class(), "test-vitest");
    sent.keeps(&["test/math.test.js", "add is not a function", "src/m60.js:2:20"]);
    for (script, file) in [
        ("oxlint", "build/oxlint-findings.txt"),
        ("biome check .", "build/biome-check.txt"),
        ("eslint .", "build/eslint-errors.txt"),
    ] {
        let output = capture(file);
        for banner in [format!("\n> web@1.0.0 lint\n> {script}\n\n"), String::new()] {
            let sent = rtk(&format!("{banner}{}", output.text), "npm run lint");
            let recall = super::judge::judge(&output, &sent.text);
            assert_eq!(recall.missing_to(1), 0, "{script}, banner {banner:?}: {:?}", recall.missing);
        }
    }
}

#[test]
fn pitfall_04_wrappers_are_looked_through() {
    for (file, bare, wrapped) in [
        (
            "test/pytest-fail-full.txt",
            "pytest",
            &[
                "uv run pytest",
                "uv run --with x pytest",
                "uvx pytest",
                "python3 -m pytest",
                "python3.12 -m pytest",
                "FOO=1 pytest",
                "env FOO=1 pytest",
                "/usr/bin/pytest",
                "sudo -E pytest",
                "timeout 60 pytest",
                "timeout -k 5 60 pytest",
                "nice -n 5 pytest",
                "bash -lc 'pytest'",
                "poetry run pytest",
                "cd app && pytest",
                "docker compose exec web pytest",
                "ssh build 'pytest'",
            ][..],
        ),
        (
            "test/vitest-fail.txt",
            "vitest run",
            &[
                "npx vitest run",
                "npx -y vitest run",
                "pnpm exec vitest run",
                "./node_modules/.bin/vitest run",
                "bunx vitest run",
            ],
        ),
        (
            "git/git-status-rebase.txt",
            "git status",
            &[
                "git -C sub status",
                "git -c color.ui=always --no-pager status",
                "/usr/bin/git status",
                "LC_ALL=C git status",
            ],
        ),
        (
            "build/eslint-many-files.txt",
            "eslint .",
            &["./node_modules/.bin/eslint .", "npm exec -- eslint .", "yarn dlx eslint ."],
        ),
    ] {
        let text = capture(file).text;
        let plain = rtk(&text, bare);
        assert_ne!(plain.text, text, "{bare} gains");
        for command in wrapped {
            let sent = rtk(&text, command);
            assert!(sent.text == plain.text, "{command} is not taken for {bare}:\n{}", sent.text);
        }
    }
}

#[test]
fn pitfall_05_only_what_printed_counts() {
    let cargo = capture("test/cargo-test-pass-long.txt").text;
    let sent = rtk(&format!("{cargo}done\n"), "cargo test; echo done");
    assert_eq!(sent.class(), "test-cargo");
    assert!(sent.text.len() * 4 < cargo.len() && sent.text.contains("done"));
    // A second tool behind the tests: its word is the only one on how it ended.
    let clippy = "    Checking pump v0.1.0 (/home/user/pump)\n    Finished `dev` profile [unoptimized + debuginfo] target(s) in 1.11s\n";
    let sent =
        rtk(&format!("{cargo}{clippy}"), "cargo test 2>&1 | grep -v '^$' && cargo clippy 2>&1 | tail -n 3");
    sent.keeps(&["Finished `dev` profile"]);
    assert!(sent.text.len() * 4 < cargo.len());
    // What grep lets through is no test run any more: every line was asked for.
    let hits = lines(40, |n| format!("FAILED tests/test_{n}.py::test_total - assert {n} == {}", n + 1));
    let sent = rtk(&hits, "pytest -q | grep FAILED");
    for n in 0..40 {
        sent.keeps(&[&format!("tests/test_{n}.py::test_total"), &format!("assert {n} == {}", n + 1)]);
    }
    // A file that is printed after another command stays byte for byte.
    let file = lines(60, |n| format!("key_{} = same", n % 3));
    let both = format!("On branch main\nnothing to commit, working tree clean\n{file}");
    let sent = rtk(&both, "git status && cat settings.toml");
    sent.keeps(&[&file, "nothing to commit"]);
    // The left side of a pipe is cut: nothing may be said about its end.
    let head: String = cargo.lines().take(40).map(|l| format!("{l}\n")).collect();
    let sent = rtk(&head, "cargo test | head -40");
    sent.has_none(&["test result: ok"]);
}

#[test]
fn pitfall_06_every_name_of_a_shell_is_one() {
    let text = capture("test/cargo-test-pass-long.txt").text;
    for tool in [
        "run_terminal_cmd",
        "local_shell",
        "shell_command",
        "container.exec",
        "functions.shell",
        "execute_command",
        "Bash",
        "mcp__srv__run_shell",
    ] {
        for input in [
            serde_json::json!({"command": "cargo test"}),
            serde_json::json!({"cmd": "cargo test"}),
            serde_json::json!({"command": ["bash", "-lc", "cargo test"]}),
        ] {
            let body = super::protocol::anthropic(tool, &input, &text, serde_json::json!({}));
            let sent = super::protocol::result(&body);
            assert!(sent.len() * 4 < text.len(), "{tool} {input} was not linked");
            assert!(sent.contains("test result: ok"));
        }
    }
    // A tool that is no shell and tells of no command is left alone.
    let body = super::protocol::anthropic(
        "read_file",
        &serde_json::json!({"path": "log.txt"}),
        &text,
        serde_json::json!({}),
    );
    assert_eq!(super::protocol::result(&body), text);
}

#[test]
fn pitfall_07_prose_and_messages_are_no_errors() {
    let prose = lines(30, |n| {
        format!(
            "In chapter {n} the ERROR level is explained, and why a WARN that failed is not an INFO line at all."
        )
    });
    stays(&prose, None);
    // Levels are read from the level field; a message that speaks of errors is none.
    let log = lines(300, |n| match n {
        150 => "2026-01-05T10:02:30.000Z ERROR db: connection to 10.0.0.7:5432 refused".to_owned(),
        _ => format!(
            "2026-01-05T10:{:02}:{:02}.000Z INFO sync: pass {n} done, errors=0, no error, 0 Error(s)",
            n / 60,
            n % 60
        ),
    });
    let sent = rtk(&log, "cat service.log");
    sent.keeps(&["connection to 10.0.0.7:5432 refused"]);
    let sent = rtk(&log, "journalctl -u sync");
    sent.keeps(&["connection to 10.0.0.7:5432 refused"]);
    assert!(sent.text.matches("INFO").count() < 60, "{}", sent.text);
    let jsonl = lines(200, |n| match n {
        90 => r#"{"level":"error","time":1767607350000,"msg":"payment 88213 declined"}"#.to_owned(),
        _ => format!(
            r#"{{"level":"info","time":{},"msg":"scan {n} found 0 errors"}}"#,
            1_767_607_200_000_u64 + n as u64
        ),
    });
    let sent = rtk(&jsonl, "docker logs api");
    sent.keeps(&["payment 88213 declined"]);
    assert!(sent.text.matches("0 errors").count() < 60, "{}", sent.text);
}

#[test]
fn pitfall_08_files_are_never_folded() {
    let config = lines(714, |n| match n % 6 {
        0 => format!("  service_{n}:"),
        1 | 2 => "    restart: always".to_owned(),
        3 => "    }".to_owned(),
        4 => String::new(),
        _ => "    error: failed".to_owned(),
    });
    for command in [
        "cat compose.yml",
        "head -714 compose.yml",
        "sed -n '1,714p' compose.yml",
        "bat -p compose.yml",
        "nl -ba compose.yml",
        "git show HEAD:compose.yml",
        "cd app && cat compose.yml",
        "cat compose.yml | head -1000",
    ] {
        stays(&config, Some(command));
    }
    let code = lines(300, |_| "        return Err(error);\n    }".to_owned());
    stays(&code, Some("cat src/lib.rs"));
}
