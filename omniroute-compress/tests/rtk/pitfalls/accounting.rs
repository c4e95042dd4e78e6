//! Figures and documents that say what is done.

use std::collections::BTreeSet;
use std::path::Path;

use omniroute_compress::gain::{By, Gain, HARNESS_CAP, SavingsEvent};
use omniroute_compress::{Compress, FilterSet, MemoLimits};

use super::{at, capture, lines, plan, rtk, with};

fn file(path: &str) -> String {
    std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(path)).unwrap()
}

#[test]
fn pitfall_44_savings_add_up_and_are_not_borrowed() {
    let count = |text: &str| text.len().div_ceil(4) as u64;
    let mut gain = Gain::new();
    let (mut sum, mut uncapped) = (0, 0);
    for (class, size, after) in
        [("log", 400_000, 2_000), ("test-pytest", 9_000, 900), ("log", 50_000, 40_000), ("lint", 800, 800)]
    {
        let (before, after) = ("x".repeat(size), "x".repeat(after));
        let event = SavingsEvent::new(class, &before, &after, HARNESS_CAP, count);
        sum += event.saved();
        uncapped += i64::try_from(count(&before) - count(&after)).unwrap();
        gain.add(&event);
    }
    // What the harness cuts off anyway is not saved: 400,000 bytes count as 30,000, and 50,000 to 40,000 as nothing.
    assert_eq!(sum, 7_500 - 500 + 2_250 - 225);
    assert!(uncapped > 10 * sum);
    assert_eq!(gain.total().saved(), sum);
    for by in [By::Class, By::Filter, By::Day] {
        let rows = gain.rows(by);
        assert_eq!(rows.iter().map(|(_, row)| row.saved()).sum::<i64>(), sum, "{by:?}");
    }
}

#[test]
fn pitfall_45_documents_say_what_is_there() {
    let set = FilterSet::builtin();
    let ids: BTreeSet<String> = set.ids().map(|(id, _)| id.to_owned()).collect();
    let files = std::fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("src/rtk/filters")).unwrap();
    let toml: BTreeSet<String> = files
        .filter_map(|entry| {
            entry.unwrap().file_name().into_string().unwrap().strip_suffix(".toml").map(str::to_owned)
        })
        .collect();
    assert_eq!(toml.difference(&ids).next(), None, "a file that is no filter");
    assert_eq!(ids.difference(&toml).next(), None, "a filter without a file");
    // The three levels differ, in this order.
    let tokens = |level: &str| -> usize {
        [
            "build/mypy-strict-many.txt",
            "git/git-diff-big.txt",
            "git/git-log-full.txt",
            "build/make-many-warnings.txt",
        ]
        .map(|name| capture(name))
        .iter()
        .map(|o| super::judge::tokens(&at(level, &o.text, Some(&o.command), o.exit_code).text))
        .sum()
    };
    let [minimal, standard, aggressive] = ["minimal", "standard", "aggressive"].map(tokens);
    assert!(minimal > standard && standard > aggressive, "{minimal} {standard} {aggressive}");
    // The page says: outputs up to 600 bytes keep every line, except those of git.
    let page = file("../docs/src/rtk.md");
    assert!(page.contains("600 bytes") && page.contains("aggressive") && page.contains("minimal"));
    let small = lines(10, |n| format!("checking the package number {n} of ten ... ok"));
    assert!(small.len() < 600);
    assert_eq!(rtk(&small, "cargo test").text, small);
}

#[test]
fn pitfall_46_a_filter_that_is_off_leaves_the_rest_on() {
    let output = capture("test/cargo-test-pass-long.txt");
    let set = FilterSet::builder().without(["test-cargo"]).build().set;
    let engine = Compress::builder().plan("rtk").filters(set).memo(MemoLimits::none()).build().unwrap();
    let off = with(&engine, &output.text, Some("cargo test"), None);
    let on = rtk(&output.text, "cargo test");
    assert!(off.text.len() > on.text.len(), "the filter is off");
    let noisy = format!("{}{}", output.text, "waiting for file lock on build directory\n".repeat(60));
    let off = with(&engine, &noisy, Some("cargo test"), None);
    off.keeps(&["waiting for file lock on build directory (x60)"]);
    // Others are as they were.
    let other = capture("test/pytest-fail-full.txt");
    let same = with(&engine, &other.text, Some(&other.command), None);
    assert_eq!(same.text, with(&plan("rtk"), &other.text, Some(&other.command), None).text);
}

#[test]
fn pitfall_47_nothing_optional_is_needed() {
    let manifest = file("Cargo.toml");
    let optional: Vec<&str> = manifest.lines().filter(|l| l.contains("optional = true")).collect();
    assert_eq!(optional.len(), 1, "{optional:?}");
    assert!(optional[0].starts_with("rusqlite"));
    let mut folders = vec![Path::new(env!("CARGO_MANIFEST_DIR")).join("src/rtk")];
    let mut seen = 0;
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|e| e == "rs") {
                let text = std::fs::read_to_string(&path).unwrap();
                assert!(!text.contains("cfg(feature"), "{} depends on a feature", path.display());
                seen += 1;
            }
        }
    }
    assert!(seen > 100, "{seen} files");
}

#[test]
fn pitfall_48_details_that_were_asked_for_come() {
    let locals = capture("test/pytest-long-locals.txt");
    let sent = with(&plan("rtk"), &locals.text, Some("pytest -l"), Some(1));
    assert_eq!(super::judge::judge(&locals, &sent.text).missing_to(2), 0);
    // What the tests print is what --nocapture is for.
    let text = format!(
        "running 60 tests\n{}\ntest result: ok. 60 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.2s\n",
        lines(60, |n| format!("measured value {n}: {}\ntest store::case_{n} ... ok", n * 37))
    );
    let sent = rtk(&text, "cargo test -- --nocapture");
    for n in 0..60 {
        sent.keeps(&[&format!("measured value {n}: {}", n * 37)]);
    }
    // The same warning in many places: all of them when asked for in detail.
    let warnings = capture("build/make-many-warnings.txt");
    let plain = with(&plan("rtk"), &warnings.text, Some("make"), None);
    let detail = with(&plan("rtk"), &warnings.text, Some("make --debug=v"), None);
    assert!(detail.text.len() > plain.text.len());
    let verbose = lines(80, |n| format!("removed 'build/out_{n}.o'"));
    let sent = rtk(&verbose, "rm -rv build");
    for n in 0..80 {
        sent.keeps(&[&format!("out_{n}.o")]);
    }
}
