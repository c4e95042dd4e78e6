//! Checks over all renderers of the family: samples of each format, hostile texts, and the laws of rendering.

use proptest::prelude::*;

use super::RENDERERS;
use crate::rtk::kit::{Draft, Level, Output, Render, Verdict, assemble};

fn apply(render: Render, text: &str, level: Level) -> (Verdict, String) {
    let out = Output::new(text, level);
    let mut draft = Draft::new(out.len());
    let verdict = render(&out, &mut draft);
    if verdict == Verdict::NotMine {
        draft.reset();
    }
    (verdict, assemble(&out, &mut draft, &mut || None).text)
}

fn renderer(id: &str) -> Render {
    RENDERERS.iter().find(|(name, _)| *name == id).expect("a known id").1
}

fn standard(id: &str, text: &str) -> String {
    let (verdict, shown) = apply(renderer(id), text, Level::Standard);
    assert_eq!(verdict, Verdict::Done, "{id}\n{text}");
    shown
}

/// `count` lines made by `line`.
fn many(count: usize, line: impl Fn(usize) -> String) -> String {
    (0..count).map(|n| line(n) + "\n").collect()
}

#[track_caller]
fn shows(shown: &str, wanted: &[&str], unwanted: &[&str]) {
    for part in wanted {
        assert!(shown.contains(part), "lost {part:?} in\n{shown}");
    }
    for part in unwanted {
        assert!(!shown.contains(part), "still has {part:?} in\n{shown}");
    }
}

#[test]
fn cargo_keeps_reason_and_values_of_one_failure_among_many() {
    let text = format!(
        "running 901 tests\n{}test parse::rounds ... FAILED\n\nfailures:\n\n---- parse::rounds stdout ----\n\nthread 'parse::rounds' panicked at src/parse.rs:88:9:\nassertion `left == right` failed: rounding of cents\n  left: 1514\n right: 1515\nnote: run with `RUST_BACKTRACE=1` environment variable to display a backtrace\n\n\nfailures:\n    parse::rounds\n\ntest result: FAILED. 900 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.42s\n",
        many(900, |n| format!("test parse::error_case_{n}_failed ... ok"))
    );
    let shown = standard("test-cargo", &text);
    shows(
        &shown,
        &[
            "[rtk: 900 passing tests omitted]",
            "---- parse::rounds stdout ----",
            "src/parse.rs:88:9",
            "rounding of cents",
            "left: 1514",
            "right: 1515",
            "test result: FAILED. 900 passed; 1 failed",
        ],
        &["error_case_7", "RUST_BACKTRACE", "failures:"],
    );
    let cut: String = text.lines().take(902).map(|l| format!("{l}\n")).collect();
    shows(&standard("test-cargo", &cut), &["test parse::rounds ... FAILED"], &["error_case_7"]);
}

#[test]
fn cargo_counts_binaries_apart_and_keeps_compiler_messages() {
    let text = format!(
        "   Compiling a v0.1.0 (/home/u/a)\nwarning: unused variable: `x`\n --> src/lib.rs:1:1\n     Running tests/many.rs (target/debug/deps/many-65c4)\n\nrunning 40 tests\n{}\ntest result: ok. 40 passed; 0 failed\n\n   Doc-tests a\n\nrunning 1 test\ntest src/lib.rs - f (line 3) ... FAILED\n\nfailures:\n\n---- src/lib.rs - f (line 3) stdout ----\nerror[E0425]: cannot find value `y` in this scope\n\ntest result: FAILED. 0 passed; 1 failed\nerror: doctest failed, to rerun pass `--doc`\n",
        many(40, |n| format!("test case_{n} ... ok"))
    );
    shows(
        &standard("test-cargo", &text),
        &[
            "warning: unused variable",
            "test result: ok. 40 passed",
            "Doc-tests a",
            "error[E0425]",
            "---- src/lib.rs - f (line 3) stdout ----",
        ],
        &["Running tests/many.rs", "running 40 tests", "case_3 "],
    );
}

#[test]
fn nextest_keeps_streams_of_failures() {
    let text = format!(
        "    Starting 31 tests across 1 binary\n{}        FAIL [   0.055s] (31/31) ledger tests::get\n  stdout \u{2500}\u{2500}\u{2500}\n\n    running 1 test\n    test tests::get ... FAILED\n\n    failures:\n\n    failures:\n        tests::get\n\n    test result: FAILED. 0 passed; 1 failed; 0 ignored; 0 measured; 6 filtered out; finished in 0.56s\n\n  stderr \u{2500}\u{2500}\u{2500}\n    thread 'tests::get' panicked at src/lib.rs:19:68:\n    no entry found for key\n\n\u{2500}\u{2500}\u{2500}\u{2500}\u{2500}\u{2500}\u{2500}\u{2500}\n     Summary [   1.118s] 31 tests run: 30 passed, 1 failed, 0 skipped\n        FAIL [   0.055s] (31/31) ledger tests::get\nerror: test run failed\n",
        many(30, |n| format!("        PASS [   0.053s] ({n:>2}/31) ledger tests::x{n}"))
    );
    let shown = standard("cargo-nextest", &text);
    shows(
        &shown,
        &[
            "[rtk: 30 passing tests omitted]",
            "FAIL [   0.055s] (31/31) ledger tests::get",
            "src/lib.rs:19:68",
            "no entry found",
            "Summary [",
            "error: test run failed",
        ],
        &["running 1 test", "tests::x3", "stdout"],
    );
    assert_eq!(shown.matches("FAIL [").count(), 1);
}

#[test]
fn go_reads_text_and_events() {
    let text = format!(
        "{}=== RUN   TestBad\n    a_test.go:12: got 4, want 5\n--- FAIL: TestBad (0.00s)\nFAIL\nFAIL\texample.com/a\t0.010s\nok  \texample.com/b\t0.009s\n?   \texample.com/c\t[no test files]\nFAIL\n",
        many(20, |n| format!("=== RUN   TestFails{n}\nnoise of {n}\n--- PASS: TestFails{n} (0.00s)"))
    );
    let shown = standard("test-go", &text);
    shows(
        &shown,
        &["a_test.go:12: got 4, want 5", "--- FAIL: TestBad", "FAIL\texample.com/a", "ok  \texample.com/b"],
        &["TestFails3", "noise of"],
    );
    let event = |action: &str, test: &str, output: &str| {
        format!(
            "{{\"Time\":\"2026-11-30T09:06:14Z\",\"Action\":\"{action}\",\"Package\":\"p\",\"Test\":\"{test}\"{output}}}"
        )
    };
    let mut events = many(8, |n| {
        let name = format!("T{n}");
        [
            event("run", &name, ""),
            event("output", &name, ",\"Output\":\"hello\\n\""),
            event("pass", &name, ",\"Elapsed\":0"),
        ]
        .join("\n")
    });
    events += &[
        event("output", "Bad", ",\"Output\":\"    a_test.go:12: \\u003cnil\\u003e\\n\""),
        event("output", "Bad", ",\"Output\":\"--- FAIL: Bad (0.00s)\\n\""),
        event("fail", "Bad", ",\"Elapsed\":0"),
    ]
    .join("\n");
    let shown = standard("test-go", &events);
    shows(
        &shown,
        &["    a_test.go:12: <nil>\n--- FAIL: Bad (0.00s)", "lines omitted]"],
        &["hello", "Action", "T3"],
    );
}

#[test]
fn pytest_keeps_causes_and_writes_equal_details_once() {
    let block = |n: usize| {
        format!(
            "____ test_rate[{n}] ____\n\nn = {n}\n\n    def test_rate(n):\n        x = load(n)\n>       assert div(4, 2) == 3\nE       assert 2.0 == 3\n\ntests/test_a.py:7: AssertionError\n"
        )
    };
    let text = format!(
        "==== test session starts ====\nplatform linux\nrootdir: /home/u\ncollected 203 items\n\n{}tests/test_b.py .FF [100%]\n\n==== FAILURES ====\n{}==== short test summary info ====\nFAILED tests/test_a.py::test_rate[1] - assert 2.0 == 3\nFAILED tests/test_a.py::test_rate[2] - assert 2.0 == 3\nSKIPPED [1] tests/test_a.py:3: needs network\n==== 2 failed, 200 passed, 1 xfailed in 0.10s ====\n",
        many(30, |n| format!("tests/test_g{n}.py .................... [ {n}%]")),
        block(1) + &block(2)
    );
    let shown = standard("test-pytest", &text);
    shows(
        &shown,
        &[
            "collected 203 items",
            "progress lines omitted]",
            "__ test_rate[1] __",
            "__ test_rate[2] __",
            "(as test_rate[1], but:)",
            "n = 2",
            "FAILED tests/test_a.py::test_rate[2]",
            "needs network",
            "1 xfailed in",
        ],
        &["def test_rate"],
    );
    assert_eq!(shown.matches("E       assert 2.0 == 3").count(), 1);
    let (_, minimal) = apply(renderer("test-pytest"), &text, Level::Minimal);
    shows(&minimal, &["def test_rate", "rootdir"], &["test_g3"]);
    let cut: String = text.lines().take(36).map(|l| format!("{l}\n")).collect();
    shows(&standard("test-pytest", &cut), &["tests/test_b.py .FF"], &[]);
}

#[test]
fn javascript_runners() {
    let jest = format!(
        "{}FAIL src/a.test.js\n  \u{25cf} cart \u{203a} sums\n\n    expect(received).toBe(expected)\n\n    Expected: 4\n    Received: 3\n\n      3 | a\n    > 4 |   test(x)\n        |   ^\n      5 | b\n\n      at Object.toBe (src/a.test.js:4:105)\n      at run (node_modules/x/y.js:1:2)\n      at again (node_modules/x/z.js:1:2)\n\nTest Suites: 1 failed, 30 passed, 31 total\nTests:       1 failed, 201 passed, 202 total\n",
        many(30, |n| format!("PASS src/errors/gen{n}.test.js"))
    );
    shows(
        &standard("test-jest", &jest),
        &[
            "[rtk: 30 passing suites omitted]",
            "FAIL src/a.test.js",
            "cart \u{203a} sums",
            "Expected: 4",
            "Received: 3",
            "> 4 |",
            "src/a.test.js:4:105",
            "Test Suites: 1 failed",
            "2 library frames",
        ],
        &["gen3", "3 | a", "5 | b"],
    );
    let vitest = format!(
        " RUN  v3.2.0 /home/u\n\n{} \u{276f} a.test.js (2 tests | 1 failed) 5ms\n   \u{d7} math > adds 3ms\n     \u{2192} expected 2 to be 3\n\n FAIL  a.test.js > math > adds\nAssertionError: expected 2 to be 3\n \u{276f} a.test.js:4:74\n\n\u{23af}\u{23af}\u{23af}\u{23af}[1/1]\u{23af}\n\n Test Files  1 failed | 30 passed (31)\n      Tests  1 failed | 60 passed (61)\n",
        many(30, |n| format!(" \u{2713} gen{n}.test.js (2 tests) 16ms"))
    );
    shows(
        &standard("test-vitest", &vitest),
        &[
            "[rtk: 30 passing suites omitted]",
            "\u{d7} math > adds",
            "FAIL  a.test.js > math > adds",
            "AssertionError: expected 2",
            "a.test.js:4:74",
            "Test Files  1 failed",
        ],
        &["gen3", "\u{2192}"],
    );
    let mocha = format!(
        "\n\n  cart\n{}    1) sums\n\n\n  40 passing (1s)\n  1 failing\n\n  1) cart\n       sums:\n     Error: boom\n      at Context.<anonymous> (test/a.js:5:76)\n",
        many(40, |n| format!("    \u{2714} handles case {n} of error"))
    );
    shows(
        &standard("test-mocha", &mocha),
        &[
            "[rtk: 40 passing tests omitted]",
            "  1) cart\n       sums:\n     Error: boom",
            "test/a.js:5:76",
            "1 failing",
        ],
        &["    1) sums"],
    );
    let node = format!(
        "{}\u{2716} eq failing name (1.5ms)\n  AssertionError: x\n\n\u{2139} tests 41\n\u{2139} pass 40\n\u{2139} fail 1\n\n\u{2716} failing tests:\n\ntest at a.js:3:1\n\u{2716} eq failing name (1.5ms)\n  AssertionError: x\n",
        many(40, |n| format!("\u{2714} case {n} (0.1ms)"))
    );
    let shown = standard("test-node", &node);
    shows(
        &shown,
        &[
            "[rtk: 40 passing tests omitted]",
            "test at a.js:3:1\n\u{2716} eq failing name",
            "AssertionError: x",
            "fail 1",
        ],
        &["case 3 "],
    );
    let tap = format!(
        "TAP version 13\n{}# Subtest: bad one\nnot ok 41 - bad one\n  ---\n  duration_ms: 6.9\n  error: '1 == 2'\n  expected: 2\n  actual: 1\n  ...\n1..41\n# pass 40\n# fail 1\n",
        many(40, |n| format!("# Subtest: c{n}\nok {n} - c{n}\n  ---\n  duration_ms: 1.5\n  ..."))
    );
    shows(
        &standard("test-node", &tap),
        &[
            "[rtk: 40 passing tests omitted]",
            "not ok 41 - bad one",
            "error: '1 == 2'",
            "expected: 2",
            "# fail 1",
        ],
        &["c7", "duration_ms"],
    );
    let playwright = format!(
        "Running 41 tests using 2 workers\n\n{}  \u{2718}  41 a.spec.js:2:1 \u{203a} adds (82ms)\n\n\n  1) a.spec.js:2:1 \u{203a} adds \u{2500}\u{2500}\u{2500}\n\n    Error: expect(received).toBe(expected)\n\n    Expected: 3\n    Received: 2\n\n  1 failed\n    a.spec.js:2:1 \u{203a} adds \u{2500}\u{2500}\n  40 passed (9.7s)\n",
        many(40, |n| format!("  \u{2713}  {n} b.spec.js:{n}:1 \u{203a} fine (3ms)"))
    );
    shows(
        &standard("playwright", &playwright),
        &[
            "[rtk: 40 passing tests omitted]",
            "  1) a.spec.js:2:1 \u{203a} adds",
            "Expected: 3",
            "1 failed",
            "40 passed",
        ],
        &["b.spec", "\u{2718}"],
    );
}

#[test]
fn other_runners() {
    let unittest = format!(
        "{}test_eq (m.T.test_eq) ... FAIL\n\n======================================================================\nFAIL: test_eq (m.T.test_eq)\n----------------------------------------------------------------------\nTraceback (most recent call last):\n  File \"/home/u/m.py\", line 3, in test_eq\n    self.assertEqual(1, 2)\nAssertionError: 1 != 2\n\n----------------------------------------------------------------------\nRan 31 tests in 0.009s\n\nFAILED (failures=1)\n",
        many(30, |n| format!("test_failed_{n} (m.T.test_failed_{n}) ... ok"))
    );
    shows(
        &standard("test-unittest", &unittest),
        &[
            "[rtk: 30 passing tests omitted]",
            "FAIL: test_eq (m.T.test_eq)",
            "line 3, in test_eq",
            "AssertionError: 1 != 2",
            "Ran 31 tests",
            "FAILED (failures=1)",
        ],
        &["... FAIL", "====="],
    );
    let gtest = format!(
        "[==========] Running 31 tests from 1 test suite.\n{}[ RUN      ] A.Bad\n/home/u/a.cpp:5: Failure\nExpected equality\n[  FAILED  ] A.Bad (0 ms)\n[  PASSED  ] 30 tests.\n[  FAILED  ] 1 test, listed below:\n",
        many(30, |n| format!("[ RUN      ] A.C{n}\n[       OK ] A.C{n} (0 ms)"))
    );
    shows(
        &standard("gtest", &gtest),
        &[
            "[rtk: 30 passing tests omitted]",
            "a.cpp:5: Failure",
            "[  FAILED  ] A.Bad",
            "[  PASSED  ] 30 tests.",
        ],
        &["A.C3", "[ RUN"],
    );
    let ctest = format!(
        "Test project /home/u/b\n{}      Start 31: bad\n31/31 Test #31: bad ...........***Failed    0.01 sec\n\n97% tests passed, 1 tests failed out of 31\n",
        many(30, |n| format!(
            "      Start {n}: c{n}\n{n}/31 Test #{n}: c{n} ..........   Passed    0.02 sec"
        ))
    );
    shows(
        &standard("ctest", &ctest),
        &["[rtk: 30 passing tests omitted]", "bad ...........***Failed", "97% tests passed"],
        &["Start 3", "c7 "],
    );
    let minitest = format!(
        "Run options: -v --seed 1\n\n{}T#test_bad = 0.00 s = F\n\n  1) Failure:\nT#test_bad [test/a.rb:10]:\nExpected: 1\n  Actual: 2\n\n31 runs, 31 assertions, 1 failures, 0 errors, 0 skips\n",
        many(30, |n| format!("T#test_n{n} = 0.00 s = ."))
    );
    shows(
        &standard("test-minitest", &minitest),
        &["[rtk: 30 passing tests omitted]", "test/a.rb:10", "Expected: 1", "  Actual: 2", "1 failures"],
        &["test_n3"],
    );
    let rspec = format!(
        "\nMoney\n{}  is broken (FAILED - 1)\n\nFailures:\n\n  1) Money is broken\n     Failure/Error: expect(1).to eq(2)\n     # ./spec/a_spec.rb:40:in `block'\n\nFinished in 0.1 seconds\n31 examples, 1 failure\n",
        many(30, |n| format!("  handles the failure number {n}"))
    );
    shows(
        &standard("test-rspec", &rspec),
        &[
            "[rtk: 30 passing tests omitted]",
            "  1) Money is broken",
            "Failure/Error",
            "a_spec.rb:40",
            "31 examples, 1 failure",
        ],
        &["number 3", "FAILED - 1"],
    );
}

/// A text that is of no runner stays as it is.
#[test]
fn other_texts_are_not_mine() {
    let text = many(60, |n| format!("{n}: some prose that talks of tests which passed or failed, at length"));
    for (id, render) in RENDERERS {
        for level in Level::ALL {
            let (verdict, shown) = apply(*render, &text, level);
            assert_eq!((verdict, shown.as_str()), (Verdict::NotMine, text.as_str()), "{id}");
        }
    }
}

/// Lines of all runners; `zq` lines are of none.
fn soup() -> impl Strategy<Value = String> {
    const LINES: [&str; 44] = [
        "running 3 tests",
        "test a::b ... ok",
        "test a::c ... FAILED",
        "failures:",
        "---- a::c stdout ----",
        "    a::c",
        "test result: FAILED. 1 passed; 1 failed",
        "        PASS [   0.053s] (1/6) a b",
        "        FAIL [   0.055s] (2/6) a c",
        "=== RUN   TestA",
        "--- PASS: TestA (0.00s)",
        "--- FAIL: TestB (0.00s)",
        "ok  \tp\t0.1s",
        "PASS",
        "==== FAILURES ====",
        "____ test_x[1] ____",
        ">       assert x",
        "E       assert x",
        "tests/a.py:7: KeyError",
        "==== 1 failed in 0.1s ====",
        "PASS a.test.js",
        "FAIL a.test.js",
        "  \u{25cf} a \u{203a} b",
        "    \u{2713} c (3 ms)",
        "Test Suites: 1 failed, 2 total",
        " \u{2713} a.test.js (3 tests) 5ms",
        " FAIL  a.test.js > b",
        "stdout | a.test.js > b",
        "\u{23af}\u{23af}\u{23af}[1/1]\u{23af}",
        " Test Files  1 failed (1)",
        "  3 passing (1s)",
        "  1 failing",
        "  1) a",
        "ok 1 - a",
        "not ok 2 - b",
        "  ---",
        "  ...",
        "\u{2714} a (1ms)",
        "\u{2716} b (1ms)",
        "\u{2139} tests 3",
        "[ RUN      ] A.B",
        "[       OK ] A.B (0 ms)",
        "======================================================================",
        "",
    ];
    let line = prop_oneof![
        6 => (0..LINES.len()).prop_map(|n| LINES[n].to_owned()),
        2 => (0..1000_u32).prop_map(|n| format!("zq text {n} of another program")),
        1 => (0..1000_u32).prop_map(|n| format!("error: zq{n} went wrong")),
        1 => "[ -~]{0,30}",
    ];
    proptest::collection::vec(line, 10..60).prop_map(|lines| lines.join("\n"))
}

/// What must hold for every renderer and text: error messages stay, a line that goes is counted.
fn check(render: Render, text: &str, level: Level) -> Result<(), String> {
    let (_, shown) = apply(render, text, level);
    let counted: usize = shown
        .lines()
        .filter_map(|l| l.strip_prefix("[rtk: ")?.split_once(' ')?.0.parse::<usize>().ok())
        .sum();
    let mut missing = 0;
    let mut seen = std::collections::HashSet::new();
    for line in text.lines().filter(|l| seen.insert(*l)) {
        if line.contains("zq") && !shown.contains(line.trim_end()) {
            if line.starts_with("error:") {
                return Err(format!("lost {line:?}"));
            }
            missing += 1;
        }
    }
    if missing > counted { Err(format!("{missing} lines are missing, {counted} counted")) } else { Ok(()) }
}

/// A renderer with the fault that the check is for.
fn broken(out: &Output<'_>, draft: &mut Draft) -> Verdict {
    (0..out.len()).filter(|i| out.line(*i).contains("zq")).for_each(|i| draft.cover(i));
    Verdict::Done
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, failure_persistence: None, rng_seed: proptest::test_runner::RngSeed::Fixed(7), ..ProptestConfig::default() })]

    #[test]
    fn soups_lose_nothing_unseen(text in soup()) {
        for (id, render) in RENDERERS {
            for level in Level::ALL {
                if let Err(fault) = check(*render, &text, level) {
                    prop_assert!(false, "{id} {level:?}: {fault}\n{text}");
                }
            }
        }
        if text.contains("zq") {
            prop_assert!(check(broken, &text, Level::Standard).is_err());
        }
    }
}
