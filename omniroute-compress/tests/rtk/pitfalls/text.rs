//! Mechanics of text: characters of several bytes, terminals, repeats, cuts.

use super::{at, capture, lines, plan, rtk, with};

#[test]
fn pitfall_26_characters_of_several_bytes() {
    let words = "漢字の検索 ошибка: файл не найден ข้อผิดพลาด \u{1f468}\u{200d}\u{1f469} e\u{301} \u{1f600} ";
    for command in [
        "grep -rn x src",
        "git status",
        "git diff",
        "git log",
        "cargo test",
        "pytest",
        "ls -la",
        "docker ps",
        "npm install",
        "kubectl get pods",
        "terraform plan",
        "eslint .",
        "curl -v http://x",
        "journalctl",
    ] {
        let heads = [
            "src/漢.rs:3:",
            "M  ",
            "+",
            "commit ",
            "test 漢 ... ",
            "E   ",
            "-rw-r--r-- 1 ada ada 3 Jan 1 10:00 ",
            "",
        ];
        let text = lines(60, |n| format!("{}{words}{}", heads[n % heads.len()], words.repeat(n % 17)));
        for cut in (0..text.len()).step_by(211) {
            let mut end = cut;
            while !text.is_char_boundary(end) {
                end += 1;
            }
            let part = text.get(..end).unwrap();
            let sent = at("aggressive", part, Some(command), Some(1));
            assert!(!sent.skips.contains(&"engine_panic"), "{command} at {end}");
        }
        let whole = rtk(&text, command);
        assert!(!whole.skips.contains(&"engine_panic"), "{command}");
    }
}

#[test]
fn pitfall_27_cuts_are_between_characters() {
    let joined = "\u{1f468}\u{200d}\u{1f469}\u{200d}\u{1f467}";
    let accent = "e\u{301}";
    for shift in 0..12 {
        let pad = "x".repeat(shift);
        let text = lines(8, |n| {
            format!("src/data{n}.js:{n}:{pad}{}needle{}", joined.repeat(60), accent.repeat(400))
        });
        let sent = rtk(&text, "grep -rn needle src");
        assert!(sent.text.len() < text.len() && sent.text.contains("needle"));
        let cut: Vec<&str> = sent.text.lines().filter(|l| l.contains(" [rtk: ")).collect();
        assert_eq!(cut.len(), 8, "{}", sent.text);
        for line in cut {
            let (part, _) = line.rsplit_once(" [rtk: ").unwrap();
            for part in part.split(" ... ") {
                let start = text.find(part).unwrap_or_else(|| panic!("{part:?} is no part of the text"));
                let next = text.get(start + part.len()..).unwrap().chars().next();
                assert!(
                    !matches!(next, Some('\u{301}' | '\u{200d}')),
                    "cut before {next:?}, {shift}: {part}"
                );
                assert!(!part.ends_with('\u{200d}'), "cut behind a joiner, {shift}: {part}");
                assert!(!part.starts_with(['\u{301}', '\u{200d}']), "begins in the middle, {shift}: {part}");
            }
        }
    }
}

#[test]
fn pitfall_28_a_terminal_is_replayed() {
    let pad = lines(20, |n| format!("step {n} of the build goes on and on"));
    for (printed, shown) in [
        ("loading  10%\rloading  50%\rloading 100%\n", "loading 100%"),
        ("all is here\r\n", "all is here"),
        ("kept text\r", "kept text"),
        ("100%\r 99\n", " 99%"),
        ("old text\r\u{1b}[2Knew\n", "new"),
        (
            "see \u{1b}]8;;https://example.com/x\u{7}the link\u{1b}]8;;\u{7} there\n",
            "see the link (https://example.com/x) there",
        ),
        ("b\u{8}bo\u{8}ol\u{8}ld\u{8}d\n", "bold"),
        ("first\nsecond\n\u{1b}[1A\u{1b}[2Kthird\n", "third"),
        ("\u{1b}[38;5;196mcolour\u{1b}[0m\n", "colour"),
    ] {
        let text = format!(
            "{pad}{}{printed}",
            "\u{1b}[32mok\u{1b}[0m then \u{1b}[1mbold\u{1b}[0m again, which gains\n".repeat(8)
        );
        let sent = rtk(&text, "make all");
        assert!(sent.text.lines().any(|l| l == shown), "{printed:?} shows {shown:?}, not:\n{}", sent.text);
        assert!(!sent.text.contains('\u{1b}') && !sent.text.contains('\u{8}'));
    }
}

#[test]
fn pitfall_29_a_run_becomes_one_line() {
    for (count, mark) in [(3, "(x3)"), (4, "(x4)"), (50, "(x50)")] {
        let pad = lines(20, |n| format!("compiling unit {n} of the tool"));
        let text = format!(
            "{pad}{}{pad}{}",
            "retry\n".repeat(count),
            "waiting for the lock of the package cache\n".repeat(40)
        );
        let sent = rtk(&text, "make all");
        // Either the run as it was, or one line with the right number; never more than was there.
        let retries = sent.text.lines().filter(|l| l.starts_with("retry")).count();
        assert!(
            retries == count || retries == 1 && sent.text.contains(&format!("retry {mark}")),
            "{}",
            sent.text
        );
        sent.keeps(&["waiting for the lock of the package cache (x40)"]);
    }
    let short = "ab\nab\nab\n";
    assert_eq!(rtk(short, "make all").text, short);
}

#[test]
fn pitfall_30_lines_are_chosen_by_place() {
    let block = |n: usize| {
        format!(
            "---- case_{n} stdout ----\nthread 'case_{n}' panicked at src/lib.rs:{n}:5:\nassertion failed: pump.is_open()\n"
        )
    };
    let failing = lines(6, block);
    let text = format!(
        "running 86 tests\n{}{}\nfailures:\n\n{failing}\nfailures:\n{}\ntest result: FAILED. 80 passed; 6 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.2s\n",
        lines(80, |n| format!("test ok_{n} ... ok")),
        lines(6, |n| format!("test case_{n} ... FAILED")),
        lines(6, |n| format!("    case_{n}")),
    );
    for level in ["standard", "aggressive"] {
        let sent = at(level, &text, Some("cargo test"), Some(101));
        assert!(sent.text.len() < text.len());
        let mut rest = sent.text.as_str();
        for n in 0..6 {
            let place = format!("src/lib.rs:{n}:5");
            let found = rest
                .find(&place)
                .unwrap_or_else(|| panic!("{place} is out of order at {level}:\n{}", sent.text));
            rest = rest.get(found..).unwrap();
            assert!(
                rest.contains("assertion failed: pump.is_open()"),
                "the reason of case {n} at {level}:\n{}",
                sent.text
            );
        }
        let total = sent.text.find("test result: FAILED").unwrap();
        assert!(sent.text.rfind("src/lib.rs:5:5").unwrap() < total, "the total comes last:\n{}", sent.text);
    }
}

#[test]
fn pitfall_31_never_larger() {
    let all = super::corpus::read(&super::corpus::folder());
    for level in ["minimal", "standard", "aggressive"] {
        let engine = plan(&format!("rtk:{level}"));
        for output in &all {
            for count in [0, 1, 2, 3, 5, 8, 13] {
                let small: String = output.text.lines().take(count).map(|l| format!("{l}\n")).collect();
                // `with` compares the bytes; few words must not become many either.
                let sent = with(&engine, &small, Some(&output.command), output.exit_code);
                assert!(
                    super::judge::tokens(&sent.text) <= super::judge::tokens(&small),
                    "{} {count} lines",
                    output.file
                );
            }
        }
    }
}

#[test]
fn pitfall_32_repeats_are_judged_before_cuts() {
    let tail = |n: usize| format!("src/big.js:{n}:{}needle{}end {n}", "a".repeat(300), "b".repeat(600));
    let sent = rtk(&lines(12, tail), "grep -rn needle src");
    for n in 0..12 {
        assert!(
            sent.text
                .lines()
                .any(|l| l.trim_start().starts_with(&format!("{n}:")) || l.contains(&format!(":{n}:"))),
            "{n}:\n{}",
            sent.text
        );
    }
    sent.has_none(&["(x12)", "(x3)"]);
    let same = lines(12, |n| format!("{} {n}", "word ".repeat(400)));
    let sent = rtk(&same, "make all");
    sent.has_none(&["(x"]);
    for n in 0..12 {
        assert!(sent.text.lines().any(|l| l.ends_with(&format!(" {n}"))), "{n} is gone");
    }
    let again = capture("generic/repeated-lines-log.txt");
    let sent = with(&plan("rtk"), &again.text, Some(&again.command), again.exit_code);
    assert_eq!(super::judge::judge(&again, &sent.text).missing_to(2), 0);
}
